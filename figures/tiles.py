"""tiles.py -- where everything stands in the figures that are pictures of matrices

    settings, blocks = tiles.layout("lisa-kernels", "figures/lisa-kernels.tsv")

figures/draw.py passes both to plot/tiles.gp, which draws tiles (matrices), lines, fills, dots and texts.  Positions are
pixels from the upper left corner of the sheet.  maps.py or network_maps.py has written the table: titled matrices and
remarks.  LAYOUTS has a function for each figure.
"""
import math
import re
import textwrap

from sheet import BLUE, FAINT, GREEN, GRID, INK, PURPLE, SKY, VERMILION, WRITTEN

FRAME = 0xbbbbbb
# On pictures, which look the same in a dark page: no other colour of the sheet has these values.
MARK, DARK, LIGHT, GAP = 0xffb000, 0x000001, 0xfffffe, 0xb8b8b8

WIDE, MARGIN = 760, 16
SIGNED = "Red is positive, white zero, blue negative; each picture is divided by its largest magnitude."


class Table:
    """Matrices by their titles, and remarks; as text, since gnuplot reads them next."""

    def __init__(self, path):
        self.path, self.matrices, self.remarks = path, {}, {}
        rows = self.matrices.setdefault("", [])
        with open(path, encoding="utf-8") as file:
            for line in file.read().splitlines():
                if line.startswith("# "):
                    title, colon, remark = line[2:].partition(": ")
                    if colon:
                        self.remarks[title] = remark
                    else:
                        rows = self.matrices.setdefault(title, [])
                elif line and line[0] != "#":
                    rows.append(line.split("\t"))

    def matrix(self, title):
        return self.found(self.matrices, title)

    def points(self, title):
        """The rows of a matrix, as numbers."""
        return [tuple(map(float, row)) for row in self.matrix(title)]

    def numbers(self, remark):
        return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", self.found(self.remarks, remark))]

    def found(self, what, title):
        if not what.get(title):
            raise RuntimeError(f"{self.path}: expected a matrix or remark '{title}', found none: compute the table anew")
        return what[title]

    def places(self, remark):
        """The pairs (row, column) of a remark."""
        numbers = self.numbers(remark)
        return list(zip(numbers[::2], numbers[1::2]))


class Tile:
    """A matrix on the sheet; places in it are given by column and row, fractions allowed."""

    def __init__(self, sheet, x, y, cell_wide, cell_high):
        self.sheet, self.x, self.y, self.cell_wide, self.cell_high = sheet, x, y, cell_wide, cell_high

    def at(self, column, row):
        return self.x + (column + 0.5) * self.cell_wide, self.y + (row + 0.5) * self.cell_high

    def mark(self, column, row, columns=1, rows=None, colour=DARK, width=1.6):
        """An outline of this many cells around a place."""
        x, y = self.at(column, row)
        wide, high = columns * self.cell_wide, (rows or columns) * self.cell_high
        self.sheet.outline(x - wide / 2, y - high / 2, wide, high, colour, width)

    def query(self, column, row, radius):
        """A filled circle with a dark edge."""
        x, y = self.at(column, row)
        self.sheet.dot(x, y, radius + 0.5, DARK)
        self.sheet.dot(x, y, radius - 0.5, MARK)


class Panel:
    """A plot of lines: where its points are on the sheet."""

    def __init__(self, sheet, x, y, wide, high, across, up, log=False):
        self.sheet, self.x, self.y, self.wide, self.high = sheet, x, y, wide, high
        self.across, self.log = across, log
        self.up = [math.log10(end) for end in up] if log else up

    def at(self, right, up):
        (left, end), (bottom, top) = self.across, self.up
        up = math.log10(up) if self.log else up
        return (self.x + self.wide * (right - left) / (end - left),
                self.y + self.high * (1 - (up - bottom) / (top - bottom)))

    def axes(self, across, up, caption, unit=""):
        """Tics of both axes and a caption below; `unit` follows the numbers at the left, None leaves them out.  Call it
        before drawing what lies over the grid."""
        sheet, bottom = self.sheet, self.y + self.high
        for number in up:
            x, y = self.at(self.across[0], number)
            sheet.line([(x, y), (x + self.wide, y)], GRID)
            sheet.line([(x - 6, y), (x, y)], INK)
            if unit is not None:
                sheet.write(f"{number:g}{unit}".replace("-", "−"), x - 14, y, anchor="right")
        for number in across:
            x = self.at(number, up[0])[0]
            sheet.line([(x, bottom), (x, bottom + 6)], INK)
            sheet.write(str(number), x, bottom + 20, anchor="center")
        sheet.line([(self.x, self.y), (self.x, bottom), (self.x + self.wide, bottom)], INK)
        sheet.write(caption, self.x + self.wide / 2, bottom + 45, anchor="center")

    def curve(self, points, colour, name):
        """Points, joined by a line; its name stands after the last one."""
        points = [self.at(*point) for point in points]
        self.sheet.line(points, colour, 2)
        for x, y in points:
            self.sheet.dot(x, y, 2, colour)
        self.sheet.write(name, points[-1][0] + 9, points[-1][1], colour=colour)

    def upright(self, right):
        """A dashed line from the lower axis to the top."""
        x = self.at(right, 1)[0]
        self.sheet.line([(x, self.y), (x, self.y + self.high)], FAINT, dash=2)


class Sheet:
    """Collects what a figure consists of; y grows downwards."""

    letters = 15                                    # their size, unless a text has its own

    def __init__(self, table, title):
        self.table, self.title, self.high = table, title, 0
        self.tiles, self.lines, self.fills, self.dots, self.texts, self.blocks = [], {}, [], [], [], {}

    def tile(self, matrix, x, y, wide, high=None, palette="signed", ends=None, caption=""):
        """A matrix: its rows or their title.  `ends`: values at the ends of the palette.  Without `high`: a square."""
        rows = self.table.matrix(matrix) if isinstance(matrix, str) else matrix
        high = high or wide
        low, top = ends or ((-1, 1) if palette == "signed" else (0, 1))
        tile = Tile(self, x, y, wide / len(rows[0]), high / len(rows))
        self.tiles.append({"x": x, "y": y, "wide": tile.cell_wide, "high": tile.cell_high, "palette": palette,
                           "low": low, "top": top})
        self.blocks[f"tile {len(self.tiles):03d}"] = rows
        self.outline(x, y, wide, high, FRAME)
        self.write(caption, x, y - 16)
        return tile

    def line(self, points, colour, width=1.0, dash=1):
        points = [tuple(map(float, point)) for point in points]
        self.lines.setdefault((colour, width, dash), []).extend(points + [()])

    def outline(self, x, y, wide, high, colour, width=1.0):
        self.line([(x, y), (x + wide, y), (x + wide, y + high), (x, y + high), (x, y)], colour, width)

    def fill(self, x, y, wide, high, colour):
        self.fills.append((x, y, x + wide, y + high, colour))

    def dot(self, x, y, radius, colour):
        self.dots.append((x, y, radius, colour))

    def write(self, text, x, y, size=None, colour=INK, anchor="left"):
        """A text whose middle has this height."""
        if text:
            self.texts.append((x, y, text, WRITTEN.get(colour, colour), anchor, size or self.letters))

    def foot(self, text, y):
        """The remark at the foot, in lines of 98 letters; the sheet ends below it."""
        lines = textwrap.wrap(text, 98)
        for number, line in enumerate(lines):
            self.write(line, MARGIN, y + 19 * number, 14, FAINT)
        self.high = y + 19 * len(lines) - 3

    def colour_bar(self, x, y, wide, high, low, top, step, unit=""):
        """The colours of viridis from `low` to `top`, with numbers at multiples of `step` beside them."""
        self.tile([(top - (top - low) * n / 127,) * 2 for n in range(128)], x, y, wide, high, "viridis", (low, top))
        for number in (n * step for n in range(math.ceil(low / step), math.floor(top / step) + 1)):
            place = y + high * (top - number) / (top - low)
            self.line([(x + wide, place), (x + wide + 4, place)], INK)
            self.write(f"{number:g}{unit}", x + wide + 9, place)

    def result(self):
        """Settings and blocks of plot/tiles.gp."""
        settings = {"title": self.title, "wide": WIDE, "high": self.high}
        settings |= {"tiles": len(self.tiles), "lines": len(self.lines)}
        for key in self.tiles[0] if self.tiles else ():
            settings["tile_" + key] = [tile[key] for tile in self.tiles]
        for key, values in zip(("colour", "width", "dash"), zip(*self.lines)):
            settings["line_" + key] = list(values)
        blocks = self.blocks | {f"line {n:03d}": points for n, points in enumerate(self.lines.values(), 1)}
        nowhere = -9                                # a block that holds nothing draws off the sheet
        return settings, blocks | {
            "fills": self.fills or [(nowhere, nowhere, nowhere, nowhere, 0)],
            "dots": self.dots or [(nowhere, nowhere, 1, 0)], "texts": self.texts}


# ---- chapters 1 to 5 ------------------------------------------------------

def lisa_border(sheet, table):
    """Two maps under one scale."""
    largest = max(map(max, table.points("wide")))
    for title, x, caption in ("wide", 16, "tables that reach everywhere"), ("narrow", 352, "tables four tokens wide"):
        sheet.tile(title, x, 80, 316, palette="viridis", ends=(0, largest), caption=caption)
    sheet.colour_bar(684, 80, 15, 316, 0, largest, 0.5)
    sheet.foot("Same tables in both. 56×56 tokens of real images, C = 96, 6 heads, D = 16; random parameters.", 424)


def lisa_kernels(sheet, table):
    """A row for each query."""
    captions = {"image": "query and image", "self": "self-attention", "hand": "LiSA, tables by hand",
                "random": "LiSA, random tables"}
    for number, (row, column) in enumerate(table.places("queries (row, column)")):
        for position, (name, caption) in enumerate(captions.items()):
            image = name == "image"
            tile = sheet.tile(f"{name} {0 if image else number}", 16 + 186 * position, 80 + 186 * number, 170,
                              palette="gray" if image else "signed")
            tile.mark(column, row, 3, colour=MARK if image else DARK, width=2)
            if number == 0:
                sheet.write(caption, tile.x, 64, 14)
    sheet.foot("Nothing is trained: query and key are 3×3 pixels. " + SIGNED, 646)


def structsa_kernels(sheet, table):
    """Above, what all operators begin with; below, a row for ConvSA and one for StructSA: the merged map, the kernels
    at the keys and the detectors."""
    sheet.letters = 16
    keys, [query] = table.places("keys (row, column)"), table.places("query (row, column)")
    beside = [(0, -2.9), (-2.6, -0.6), (0, -2.9), (-2.6, 0), (0, 3.1)]      # columns and rows from a key to its number
    maps = [("image 0", "image, query and keys", 16, 82), ("similarity 0", "similarity to the query", 266, 82),
            ("self 0", "self-attention", 516, 82), ("conv 0", "ConvSA, kernels merged", 16, 350),
            ("struct 0", "StructSA, kernels merged", 16, 618)]
    for title, caption, x, y in maps:
        tile = sheet.tile(title, x, y, 228, palette="gray" if title == "image 0" else "signed", caption=caption)
        for number, ((row, column), (aside, below)) in enumerate(zip(keys, beside), 1):
            colour = MARK if title == "image 0" else DARK
            tile.mark(column, row, 3, colour=colour)
            if title == "similarity 0" or (title == "self 0" and number == 4):
                colour = LIGHT
            elif title == "image 0" and number == 4:
                colour = DARK
            sheet.write(str(number), *tile.at(column + aside, row + below), colour=colour, anchor="center")
        tile.query(query[1], query[0], 6)

    def times(size):
        return "< 0.001" if size < 0.001 else f"× {size:.3f}" if size < 0.1 else f"× {size:.2f}"
    rows = [("conv", 350, "the kernels κ_{ij}: one pattern", "one detector and aggregator, D = 1", 1),
            ("struct", 618, "the kernels κ_{ij}: a pattern for each key", "eight detectors and aggregators, D = 8", 8)]
    for name, y, kernels, detectors, patterns in rows:
        sheet.write(kernels, 266, y - 16)
        for number, size in enumerate(table.numbers("largest entry of the kernels, " + name)):
            x = 266 + 97.5 * number
            sheet.tile(f"{name} {number + 1}", x, y, 88)
            sheet.write(str(number + 1), x + 44, y + 103, anchor="center")
            sheet.write(times(size), x + 44, y + 123, 14, FAINT, "center")
        sheet.write(detectors, 266, y + 168)
        for number in range(patterns):
            sheet.tile(f"detector {number}", 266 + 62 * number, y + 184, 44)
    sheet.foot("Nothing is trained. " + SIGNED + " ×: the largest entry of a kernel, over the operator’s largest. "
               "Dot: the query. Squares: windows of the keys.", 874)


def structsa_motion(sheet, table):
    """The video forwards, and below it what its query sees and makes; the same for the video backwards."""
    sheet.letters = 16
    _, row, column = table.numbers("query (frame, row, column)")
    for top, way, played, frames in ((80, "right", "forwards: it moves to the right", range(5)),
                                     (410, "left", "backwards: it moves to the left", range(4, -1, -1))):
        sheet.write(played, MARGIN, top - 16)
        for number, frame in enumerate(frames):
            tile = sheet.tile(f"frame {frame}", 16 + 148 * number, top, 136, 95.2, palette="gray")
            tile.mark(column, row, 5, 3, colour=MARK)
            if number == 2:
                tile.query(column, row, 3.4)

        # Slices of one row of tokens, in time; the query is in the middle.
        y = top + 141
        only = [[int(i == j == 2) for j in range(5)] for i in range(5)]
        for matrix, x, caption in (("similarity " + way, 34, "similarity"), ("kernel " + way, 420, "StructSA, κ_{ii}"),
                                   (only, 602, "self-attention")):
            sheet.tile(matrix, x, y, 118, caption=caption).mark(2, 2)
        sheet.write("x →", 93, y + 131, 14, FAINT, "center")
        sheet.write("t", 23, y + 50, 14, FAINT, "center")
        sheet.write("↓", 23, y + 67, 14, FAINT, "center")
        [weight] = table.numbers("weight of the query itself, " + way)
        sheet.write(f"one number, {weight:.3f}", 661, y + 131, 14, FAINT, "center")
        sheet.write("detectors, shares", 200, y - 16)
        shares = table.numbers(f"shares of right and left, {way}")
        for detector, share, up in zip(("right", "left"), shares, (y, y + 64)):
            sheet.tile("detector " + detector, 200, up, 54)
            sheet.fill(264, up + 18, 88 * share, 18, BLUE)
            sheet.write(f"{100 * share:.0f} %", 270 + 88 * share, up + 27)
    sheet.write("Backwards, self-attention’s output y is the same; StructSA’s is the negative.", MARGIN, 718)
    sheet.foot("Nothing is trained. The aggregator of the right is its detector; that of the left is its detector, "
               "negated. Slices through windows of 5×3×5 tokens. " + SIGNED, 744)


def elsa_border(sheet, table):
    """Two maps, each with its own scale from 0."""
    for x, title, caption, step in ((16, "weight moved by a second bias", "moved by a second bias", 5),
                                    (392, "weight off the grid", "lost to neighbours off the grid", 10)):
        largest = max(map(max, table.points(title)))
        sheet.tile(title, x, 80, 284, palette="viridis", ends=(0, largest), caption=caption)
        sheet.colour_bar(x + 291, 80, 12, 284, 0, 100 * largest, step, " %")
    sheet.foot("28×28 tokens of real images, 24 channels, 3 heads, random parameters. Nothing is trained: the draw "
               "decides which borders weigh more. Each map has its own scale.", 394)


def elsa_filters(sheet, table):
    """The image; for every token the filter of its head and of four channels."""
    image = sheet.tile("image", 16, 80, 271, palette="gray")
    for number, (row, column) in enumerate(table.places("tokens (row, column)"), 1):
        image.mark(column, row, 7, colour=MARK, width=2)
        corner_x, corner_y = image.at(column - 6.3, row - 3.5)
        sheet.fill(corner_x, corner_y, 2.6 * image.cell_wide, 2.7 * image.cell_high, DARK)
        sheet.write(str(number), *image.at(column - 5, row - 2.15), 16, MARK, "center")
        y = 80 + 96 * (number - 1)
        sheet.write(str(number), 298, y + 40, anchor="center")
        for channel, name in enumerate(("the head", "right−left", "below−above", "centre", "diagonal")):
            title = f"channel {number} {channel}" if channel else f"head {number}"
            tile = sheet.tile(title, 310 + 89 * channel, y, 79)
            if number == 1:
                sheet.write(name, tile.x + 39.5, 68, 12, anchor="center")
    sheet.foot("7×7 neighbours of three tokens. " + SIGNED + " Nothing is trained: the head looks for contrast among "
               "its neighbours, and the factors of the channels are made by hand.", 382)


def chopd_tensor(sheet, table):
    """The dense tensor, and the factors of its three terms.  In pictures of pictures, lines part what belongs to one
    token."""

    def of_tokens(title, x, y, side):
        tile = sheet.tile(title, x, y, side)
        for n in range(1, 6):
            sheet.line([(x + side * n / 6, y), (x + side * n / 6, y + side)], GAP)
            sheet.line([(x, y + side * n / 6), (x + side, y + side * n / 6)], GAP)
        return tile
    sheet.write("W_{mncd}", 162, 80, anchor="center")
    for c in (1, 2):
        for d in (1, 2):
            tile = of_tokens(f"tensor {c} {d}", 16 + 150 * (d - 1), 130 + 200 * (c - 1), 142)
            sheet.write(f"c = {c}, d = {d}", tile.x + 71, tile.y - 12, 12, anchor="center")
    sheet.write("=  Σ", 334, 302, 18, anchor="center")
    for x, name, factor in ((477, "pooling", "u2_{mnr}"), (618, "gate", "u13_{nr}"),
                            (714, "channels", "u4_{cr} u5_{dr}")):
        sheet.write(name, x, 64, anchor="center")
        sheet.write(factor, x, 86, anchor="center")
    for r in (1, 2, 3):
        middle = 170 + 142 * (r - 1)
        sheet.write(f"r = {r}", 404, middle, anchor="right")
        of_tokens(f"pooling {r}", 414, middle - 63, 126)
        sheet.write("⊙", 556, middle, 18, anchor="center")
        sheet.tile(f"gate {r}", 573, middle - 45, 90, palette="gray")
        sheet.write("⊗", 674, middle, 18, anchor="center")
        sheet.tile(f"channels {r}", 688, middle - 26, 52)
    sheet.foot(f"6×6 tokens, two channels in and out. A square within a square is an n, at its place on the grid; its "
               f"6×6 cells are the weights of all m. Red is positive, white zero, blue negative. "
               f"{table.found(table.remarks, 'numbers')}. Boxes and channels are by hand, the gate is random.", 546)


def hilo_spectrum(sheet, table):
    """Eight channels of each branch on one scale; below, what a branch lets through of each frequency."""
    ends = (-0.5, 4.5)
    for y, branch, colour in (70, "Hi-Fi", VERMILION), (159, "Lo-Fi", BLUE):
        sheet.write(branch, 57, y + 34, colour=colour, anchor="right")
        for channel in range(8):
            sheet.tile(f"{branch} {channel}", 65 + 74.5 * channel, y, 69, palette="viridis", ends=ends)
    sheet.write("log |·|", 673, 56, 12)
    sheet.colour_bar(673, 70, 12, 158, *ends, 2)
    sheet.write("energy that leaves a channel, over energy that enters one", 65, 270, 13)
    panel = Panel(sheet, 65.5, 285.5, 595, 180, (0.8, 7.2), (0, 1))
    panel.axes(range(1, 8), (0, 0.25, 0.5, 0.75, 1), "cycles across the image, along the axis with more of them")
    panel.upright(3.5)
    sheet.write("half the band", panel.at(3.58, 0)[0], 299, 12, FAINT)
    rings = table.points("rings")
    panel.curve([(n, high) for n, high, _ in rings], VERMILION, "Hi-Fi")
    panel.curve([(n, low) for n, _, low in rings], BLUE, "Lo-Fi")
    sheet.foot("14×14 tokens of 100 real images, 384 channels, 12 heads, s = 2, α = 0.9, random weights. Colours are "
               "natural logarithms of magnitudes, averaged over the images; zero frequency is in the middle.", 544)


def hilo_alias(sheet, table):
    """A wave in tokens and in their means; how much of each wave is left."""
    panel = Panel(sheet, 54.5, 92.5, 342, 156, (-0.5, 13.5), (-1.1, 1.1))
    panel.axes(range(0, 13, 2), (-1, 0, 1), "token")
    means = table.points("means")
    sheet.write("5 periods", 54, 74, colour=SKY)
    sheet.write("their means: 2 periods", 396, 74, colour=VERMILION, anchor="right")
    for periods, amplitude, right, colour, dash in (5, 1, 0, SKY, 1), (2, means[5][1], 1.75, VERMILION, 2):
        sheet.line([panel.at(n / 20, amplitude * math.cos(2 * math.pi * periods * (n / 20 - right) / 14))
                    for n in range(-10, 271)], colour, dash, dash)
    for title, colour, radius in ("tokens", SKY, 2.7), ("windows", VERMILION, 4.5):
        for point in table.points(title):
            sheet.dot(*panel.at(*point), radius, colour)

    panel = Panel(sheet, 472.5, 92.5, 266, 156, (-0.3, 7.5), (0, 1.1))
    panel.axes(range(8), (0, 0.5, 1), "periods of the wave")
    sheet.write("amplitude left, and periods", 472, 74)
    panel.upright(3.5)
    for periods, amplitude, seen in means:
        x, y = panel.at(periods, amplitude)
        sheet.fill(x - 3, y, 6, 248.5 - y, BLUE if periods < 3.5 else VERMILION)
        if periods > 3.5 and amplitude > 0:
            sheet.write(f"{amplitude:.2f} as {seen:.0f}", x - 12, y - 16, 12, VERMILION)
    sheet.foot("14 tokens in a row, windows of 2, by formula. Seven means hold waves of 3 periods at most.", 324)


# ---- chapter 7 ------------------------------------------------------------

def photographs(sheet, places, caption, side, step, pixels):
    """The image for each place, below each other, with a mark of this many pixels around a token of 2x2 pixels."""
    sheet.write(caption, MARGIN, 60)
    for number, (row, column) in enumerate(places):
        image = sheet.tile("image", MARGIN, 78 + step * number, side, palette="gray")
        image.mark(2 * column + 0.5, 2 * row + 0.5, pixels, colour=MARK, width=2)


def networks_maps(sheet, table):
    """A column for each station, three channels below each other; the tiny network's answer at the right."""
    merged = [("embedded", 56, 96), ("stage 1", 56, 96), ("merged", 28, 192), ("stage 2", 28, 192), ("merged", 14, 384),
              ("stage 3", 14, 384), ("merged", 7, 768), ("stage 4", 7, 768)]
    blocks = [(name, 14, 32) for name in ("embedded", "+ position", "+ HiLo", "+ MLP", "+ HiLo", "+ MLP")]
    for network, top, head, size, stations in (("litv2", 108, "LITv2-S, random weights", "its middle: 224×224", merged),
                                               ("learned", 390, "two blocks of HiLo, trained", "28×28", blocks)):
        sheet.write(head, MARGIN, top - 50, 16)
        sheet.tile("image", MARGIN, top, 104, palette="gray")
        sheet.write(size, MARGIN, top + 116, 11, FAINT)
        for number, (name, side, channels) in enumerate(stations):
            x = 144 + 76 * number
            sheet.write(name, x + 33, top - 24, 12, anchor="center")
            sheet.write(f"{side}×{side}×{channels}", x + 33, top - 9, 11, FAINT, "center")
            for shown in range(3):
                sheet.tile(f"{network} {number} {shown}", x, top + 70 * shown, 66, ends=(-100, 100))
    sheet.write("its answer", 675, 375, 12, anchor="right")
    for number, share, name in table.matrix("answers"):
        y = 400 + 21 * int(number)
        sheet.write(name, 675, y, 12, anchor="right")
        sheet.fill(680, y - 6, 62 * float(share), 12, BLUE)
    sheet.foot("The three channels of each station that vary most. Red is above the channel’s mean, blue below, over "
               "the largest of each. LITv2-S has random weights: its maps show sizes, borders and merging, not "
               "objects. The tiny network was trained; each of its blocks adds HiLo and an MLP to x.", 622)


def networks_lisa(sheet, table):
    """A row for each query: its kernel in either head, before training and after; below, the kernels of the values."""
    queries = table.places("queries (row, column)")
    photographs(sheet, queries, "a token", 122, 136, 2)
    for kind, heading, left in ("random", "random weights, two heads", 186), ("trained", "trained, two heads", 488):
        sheet.write(heading, left, 60)
        for number, (row, column) in enumerate(queries):
            for head in (0, 1):
                sheet.tile(f"{kind} {number} {head}", left + 134 * head, 78 + 136 * number, 122).mark(column, row)
        sheet.write("their four kernels w^b", left, 502)
        for kernel in range(4):
            sheet.tile(f"{kind} wb {kernel}", left + 66 * kernel, 518, 58)
    sheet.foot("The second block of a tiny network of 14×14 tokens. " + SIGNED + " A token’s own place is in the "
               "middle of the w^b. Both heads mix the same four, by what each finds.", 606)


def networks_structsa(sheet, table):
    """For two queries the attention of each pattern and the merged kernels of four channels; below, detectors and
    aggregators."""
    queries = table.places("queries (row, column)")
    photographs(sheet, queries, "a query", 128, 168, 2)
    for kind, heading, left in (("random", "random weights: four patterns", 170),
                                ("trained", "trained: four patterns", 470)):
        sheet.write(heading, left, 60)
        for number, (row, column) in enumerate(queries):
            y = 78 + 168 * number
            for position, share in enumerate(table.numbers(f"percent of the patterns, {kind} {number}")):
                x = left + 70 * position
                sheet.tile(f"{kind} attention {number} {position}", x, y, 62, palette="viridis")
                sheet.write(f"{share:.0f} %", x + 31, y + 74, 14, FAINT, "center")
                sheet.tile(f"{kind} merged {number} {position}", x, y + 84, 62).mark(column, row, width=1.4)
        for y, short, name in (442, "hk", "detectors h^K"), (538, "hv", "aggregators h^V"):
            sheet.write(name, left, y - 14, 13)
            for pattern in range(4):
                rows = table.matrix(f"{kind} {short} {pattern}")        # four filters with gaps
                for down in (0, 4):
                    for right in (0, 4):
                        part = [line[right:right + 3] for line in rows[down:down + 3]]
                        sheet.tile(part, left + 70 * pattern + 8 * right, y + 8 * down, 24)
    sheet.foot("The second block of a tiny network, its first head. For each query: the attention a_{ijd} of the "
               "patterns, their shares, and the merged kernels (Eq. 21) of four channels. At the foot: the filters of "
               "each pattern for those channels. " + SIGNED, 626)


def networks_elsa(sheet, table):
    """For three tokens the maps of four heads and the filters of a channel of each; below, the ghost head's factors and
    summands."""
    tokens = table.places("tokens (row, column)")
    photographs(sheet, tokens, "a token", 106, 128, 10)
    for kind, heading, left in ("random", "random weights: four heads", 150), ("trained", "trained: four heads", 460):
        sheet.write(heading, left, 60)
        for number in range(len(tokens)):
            for head in range(4):
                sheet.tile(f"{kind} map {number} {head}", left + 72 * head, 78 + 128 * number, 50)
                sheet.tile(f"{kind} filter {number} {head}", left + 72 * head, 134 + 128 * number, 50)
        for channel in range(5):
            sheet.tile(f"{kind} factor {channel}", left + 57 * channel, 470, 50)
            sheet.tile(f"{kind} summand {channel}", left + 57 * channel, 534, 50)
    sheet.write("factors", 140, 495, anchor="right")
    sheet.write("summands", 140, 559, anchor="right")
    sheet.foot("The second block of a tiny network, 5×5 neighbours of three tokens. Above: the map of a head; below "
               "it: the filter that the ghost head makes of it for one channel. At the foot: the ghost head’s factors "
               "and summands for five channels. " + SIGNED, 614)


def networks_boxes(sheet, table):
    """The four boxes of eight components, around a token."""
    side, reach = 79, 6.8                           # pixels, and tokens from the middle to the edge
    colours = (BLUE, VERMILION, GREEN, PURPLE)
    for top, time, first in (78, "before", 2), (170, "after", 6):
        sheet.write(time, 66, top + side / 2, anchor="right")
        for component in range(8):
            x, y = 78 + 84 * component, top
            sheet.outline(x, y, side, side, FRAME)
            if time == "before":
                sheet.write(str(component + 1), x + side / 2, 62, colour=FAINT, anchor="center")
            for row in table.matrix(""):
                if int(row[0]) == component:
                    y0, x0, y1, x1 = (side / 2 * (1 + max(-1, min(1, float(edge) / reach)))
                                      for edge in row[first:first + 4])
                    sheet.outline(x + x0, y + y0, x1 - x0, y1 - y0, colours[int(row[1])], 1.6)
            sheet.dot(x + side / 2, y + side / 2, 1.6, INK)
    [moved] = table.numbers("mean distance of an edge from where it began")
    before, after = table.numbers("median of the longer sides, before and after")
    sheet.foot(f"Eight of 32 components, second block of a tiny network, 14×14 tokens. Each has four boxes; the dot "
               f"is the token. An edge has moved by {moved:g} tokens on average; the median of the longer sides was "
               f"{before:g} tokens before and is {after:g} after.", 278)


def networks_spectrum(sheet, table):
    """Six channels of each branch; below, how the energy of what enters and of both branches is spread over the
    frequencies."""
    for kind, heading, left in ("random", "random weights", 84), ("trained", "trained", 426):
        sheet.write(heading, left, 60)
        for y, branch, colour in (76, "Hi-Fi", VERMILION), (132, "Lo-Fi", BLUE):
            if kind == "random":
                sheet.write(branch, 70, y + 25, colour=colour, anchor="right")
            for channel in range(6):
                sheet.tile(f"{kind} {branch} {channel}", left + 54 * channel, y, 50, palette="viridis",
                           ends=(-3, 4))
        panel = Panel(sheet, left + 0.5, 230.5, 316, 225, (-0.2, 7.9), (0.01, 100), log=True)
        panel.axes(range(8), (0.01, 0.1, 1, 10, 100), "cycles across the image", " %" if kind == "random" else None)
        panel.upright(3.5)
        rings = table.points(f"{kind} rings")
        for number, (colour, name) in enumerate(((FAINT, "x"), (VERMILION, "Hi-Fi"), (BLUE, "Lo-Fi")), 1):
            panel.curve([(row[0], row[number]) for row in rings], colour, name)
    sheet.write("share of the energy", 84, 212, 13)
    sheet.foot("The second block of a tiny network, four heads, s = 2, α = ½; 100 images of 14×14 tokens. Above: "
               "logarithms of magnitudes, zero frequency in the middle, one scale. Below: the energy by frequency, "
               "along the axis with more of it, of what enters (x) and of both branches.", 536)


# Name, title and function of each figure.
LAYOUTS = {
    "lisa-border": ("Eq. 10 against Eq. 7, token by token: rms difference / rms output", lisa_border),
    "lisa-kernels": ("Attention kernels of three tokens on a real image", lisa_kernels),
    "structsa-kernels": ("Dynamic kernels of one query on a real image", structsa_kernels),
    "structsa-motion": ("Dynamic kernels of a moving object", structsa_motion),
    "elsa-border": ("Share of a token’s attention, K = 7", elsa_border),
    "elsa-filters": ("One head’s filter, and what the ghost head makes of it for four channels", elsa_filters),
    "chopd-tensor": ("A dense layer, and the three terms that make it", chopd_tensor),
    "hilo-spectrum": ("Frequencies in eight channels of either branch, before any training", hilo_spectrum),
    "hilo-alias": ("The mean of two tokens lets fine waves through as coarser ones", hilo_alias),
    "networks-maps": ("A picture on its way through two networks", networks_maps),
    "networks-lisa": ("LiSA’s attention kernels of three tokens", networks_lisa),
    "networks-structsa": ("StructSA’s attention, kernels and filters", networks_structsa),
    "networks-elsa": ("ELSA’s maps and filters of three tokens", networks_elsa),
    "networks-boxes": ("ChoP’D’s boxes of eight components, before training and after", networks_boxes),
    "networks-spectrum": ("Frequencies in the outputs of Hi-Fi and Lo-Fi", networks_spectrum),
}


def layout(name, path):
    """Settings and blocks that `render` in sheet.py takes; `path` is the figure's table."""
    title, function = LAYOUTS[name]
    sheet = Sheet(Table(path), title)
    function(sheet, sheet.table)
    return sheet.result()
