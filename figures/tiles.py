"""tiles.py -- where everything stands in the figures that are pictures of matrices

    settings, blocks = tiles.layout("lisa-kernels", "figures/lisa-kernels.tsv")

figures/draw.py gives both to plot/tiles.gp, which draws tiles (matrices), fills, lines, dots and texts where they are
told to be, in pixels from the upper left corner of the sheet.  The table is one that maps.py or network_maps.py has
written: titled matrices and remarks.  LAYOUTS has a function for each figure.
"""
import math
import re
import textwrap

from sheet import BLUE, FAINT, GREEN, GRID, INK, PURPLE, SKY, VERMILION, WRITTEN

FRAME, GRAY = 0xbbbbbb, 0x999999
# On pictures, which look the same in a dark page: no other colour of the sheet has these values.
MARK, DARK, LIGHT = 0xffb000, 0x000001, 0xfffffe

WIDE, MARGIN = 760, 16
SIGNED = "Red is positive, white zero, blue negative; each picture is divided by its largest magnitude."


class Table:
    """Matrices by their titles, and remarks; as text, since gnuplot reads them next."""

    def __init__(self, path):
        self.path, self.matrices, self.remarks = path, {}, {}
        rows = self.matrices.setdefault("", [])
        with open(path) as file:
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
        if not self.matrices.get(title):
            raise LookupError(f"{self.path}: expected a matrix titled '{title}', found none: compute the table anew")
        return self.matrices[title]

    def numbers(self, remark):
        if remark not in self.remarks:
            raise LookupError(f"{self.path}: expected a remark '{remark}', found none: compute the table anew")
        return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", self.remarks[remark])]

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
    """Axes on the sheet: pixels of a point, and lines and dots through points."""

    def __init__(self, sheet, x, y, wide, high, across, up, log=False):
        self.sheet, self.x, self.y, self.wide, self.high = sheet, x, y, wide, high
        self.across, self.log = across, log
        self.up = [math.log10(end) for end in up] if log else up

    def at(self, right, up):
        (left, end), (bottom, top) = self.across, self.up
        up = math.log10(up) if self.log else up
        return (self.x + self.wide * (right - left) / (end - left),
                self.y + self.high * (1 - (up - bottom) / (top - bottom)))

    def axes(self, across, up, caption):
        """Tics of both axes, as pairs of number and text; a caption below.  Call it before anything else is drawn."""
        sheet, bottom = self.sheet, self.y + self.high
        for number, text in up:
            y = self.at(self.across[0], number)[1]
            sheet.line([(self.x, y), (self.x + self.wide, y)], GRID)
            sheet.line([(self.x - 6, y), (self.x, y)], INK)
            sheet.write(text, self.x - 14, y, anchor="right")
        for number, text in across:
            x = self.x + self.wide * (number - self.across[0]) / (self.across[1] - self.across[0])
            sheet.line([(x, bottom), (x, bottom + 6)], INK)
            sheet.write(text, x, bottom + 20, anchor="center")
        sheet.line([(self.x, self.y), (self.x, bottom), (self.x + self.wide, bottom)], INK)
        sheet.write(caption, self.x + self.wide / 2, bottom + 45, anchor="center")

    def curve(self, points, colour, name="", written=None, radius=2.4, lower=0):
        """Points, joined by a line; its name stands after the last one, this many pixels lower."""
        points = [self.at(*point) for point in points]
        self.sheet.line(points, colour, 2)
        self.dots(points, colour, radius)
        self.sheet.write(name, points[-1][0] + 9, points[-1][1] + lower, colour=written or colour)

    def dots(self, points, colour, radius):
        for x, y in points:
            self.sheet.dot(x, y, radius, colour)

    def upright(self, right):
        """A dashed line from the lower axis to the top."""
        x = self.x + self.wide * (right - self.across[0]) / (self.across[1] - self.across[0])
        self.sheet.line([(x, self.y), (x, self.y + self.high)], FAINT, dash=2)


class Sheet:
    """Collects what a figure consists of; y grows downwards."""

    def __init__(self, title):
        self.title, self.high = title, 0
        self.tiles, self.lines, self.fills, self.dots, self.texts, self.blocks = [], [], [], [], [], {}

    def tile(self, rows, x, y, wide, high=None, palette="signed", ends=None, caption="", frame=FRAME):
        """A matrix; `ends`, the values at the ends of the palette.  Square if it has no height."""
        high = high or wide
        low, top = ends or ((-1, 1) if palette == "signed" else (0, 1))
        tile = Tile(self, x, y, wide / len(rows[0]), high / len(rows))
        self.tiles.append({"x": x, "y": y, "wide": tile.cell_wide, "high": tile.cell_high, "palette": palette,
                           "low": low, "top": top})
        self.blocks[f"tile {len(self.tiles):03d}"] = rows
        if frame is not None:
            self.outline(x, y, wide, high, frame)
        if caption:
            self.write(caption, x, y - 16)
        return tile

    def line(self, points, colour, width=1.0, dash=1):
        self.lines.append({"colour": colour, "width": width, "dash": dash})
        self.blocks[f"line {len(self.lines):03d}"] = [tuple(map(float, point)) for point in points]

    def outline(self, x, y, wide, high, colour, width=1.0):
        self.line([(x, y), (x + wide, y), (x + wide, y + high), (x, y + high), (x, y)], colour, width)

    def fill(self, x, y, wide, high, colour):
        self.fills.append((x, y, x + wide, y + high, colour))

    def dot(self, x, y, radius, colour):
        self.dots.append((x, y, radius, colour))

    def write(self, text, x, y, size=15, colour=INK, anchor="left"):
        """A text whose middle has this height."""
        if text:
            self.texts.append((x, y, text, WRITTEN.get(colour, colour), anchor, size))

    def foot(self, text, y):
        """The remark at the foot, in lines of 102 letters; the sheet ends below it."""
        lines = textwrap.wrap(text, 102)
        for number, line in enumerate(lines):
            self.write(line, MARGIN, y + 19 * number, 14, FAINT)
        self.high = y + 19 * len(lines) - 3

    def colour_bar(self, x, y, wide, high, palette, low, top, tics):
        """The colours from `low` to `top`, with pairs of number and text beside them."""
        steps = [(top - (top - low) * n / 127,) * 2 for n in range(128)]
        self.tile(steps, x, y, wide, high, palette, (low, top))
        for number, text in tics:
            place = y + high * (top - number) / (top - low)
            self.line([(x + wide, place), (x + wide + 4, place)], INK)
            self.write(text, x + wide + 9, place)

    def result(self):
        """Settings and blocks of plot/tiles.gp."""
        settings = {"title": self.title, "wide": WIDE, "high": self.high, "tiles": len(self.tiles), "lines": len(self.lines)}
        for kind, items in ("tile", self.tiles), ("line", self.lines):
            settings |= {f"{kind}_{key}": [item[key] for item in items] for key in (items[0] if items else ())}
        nowhere = -9                                # a block that holds nothing draws off the sheet
        return settings, self.blocks | {
            "fills": self.fills or [(nowhere, nowhere, nowhere, nowhere, 0)],
            "dots": self.dots or [(nowhere, nowhere, 1, 0)], "texts": self.texts}


def scale(largest, text):
    """Tics from 0, at most eight, at multiples of 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(largest))
    step = next(step for step in (power / 10, power / 5, power / 2, power, 2 * power) if largest / step < 8)
    return [(n * step, text % (n * step)) for n in range(int(largest / step + 1e-9) + 1)]


def entries(rows):
    return [float(entry) for row in rows for entry in row]


# ---- chapters 1 to 5 ------------------------------------------------------

def lisa_border(table):
    """Two maps under one scale."""
    sheet = Sheet("Eq. 10 against Eq. 7, token by token: rms difference / rms output")
    wide, narrow = table.matrix("wide"), table.matrix("narrow")
    largest = max(entries(wide))
    for rows, x, caption in (wide, 16, "tables that reach everywhere"), (narrow, 352, "tables four tokens wide"):
        sheet.tile(rows, x, 80, 316, palette="viridis", ends=(0, largest), caption=caption)
    sheet.colour_bar(684, 80, 15, 316, "viridis", 0, largest, scale(largest, "%.1f"))
    sheet.foot("Both operators have the same tables. 56×56 tokens of real images, C = 96, 6 heads, D = 16; "
               "random parameters.", 424)
    return sheet


def lisa_kernels(table):
    """A row for each query."""
    sheet = Sheet("Attention kernels of three tokens on a real image")
    captions = {"image": "query and image", "self": "self-attention", "hand": "LiSA, tables by hand",
                "random": "LiSA, random tables"}
    for number, (row, column) in enumerate(table.places("queries (row, column)")):
        for position, (name, caption) in enumerate(captions.items()):
            image = name == "image"
            tile = sheet.tile(table.matrix(f"{name} {0 if image else number}"), 16 + 186 * position, 80 + 186 * number, 170,
                              palette="gray" if image else "signed")
            tile.mark(column, row, 3, colour=MARK if image else DARK, width=2)
            if number == 0:
                sheet.write(caption, tile.x, 64, 14)
    sheet.foot("Nothing is trained: query and key are 3×3 pixels. " + SIGNED, 646)
    return sheet


def structsa_kernels(table):
    """Above, what all operators begin with; below, a row for ConvSA and one for StructSA: the merged map, the kernels
    at the keys and the detectors."""
    sheet = Sheet("Dynamic kernels of one query on a real image")
    keys, [query] = table.places("keys (row, column)"), table.places("query (row, column)")
    beside = [(0, -2.9), (-2.6, -0.6), (0, -2.9), (-2.6, 0), (0, 3.1)]      # columns and rows from a key to its number
    maps = [("image 0", "image, query and keys", 16, 82), ("similarity 0", "similarity to the query", 266, 82),
            ("self 0", "self-attention", 516, 82), ("conv 0", "ConvSA, kernels merged", 16, 350),
            ("struct 0", "StructSA, kernels merged", 16, 618)]
    for title, caption, x, y in maps:
        tile = sheet.tile(table.matrix(title), x, y, 228, palette="gray" if title == "image 0" else "signed")
        sheet.write(caption, x, y - 16, 16)
        for number, ((row, column), (aside, below)) in enumerate(zip(keys, beside), 1):
            colour = MARK if title == "image 0" else DARK
            tile.mark(column, row, 3, colour=colour)
            if title == "similarity 0" or (title == "self 0" and number == 4):
                colour = LIGHT
            elif title == "image 0" and number == 4:
                colour = DARK
            sheet.write(str(number), *tile.at(column + aside, row + below), 16, colour, "center")
        tile.query(query[1], query[0], 6)

    def times(size):
        return "< 0.001" if size < 0.001 else f"× {size:.3f}" if size < 0.1 else f"× {size:.2f}"
    rows = [("conv", 350, "the kernels κ_{ij}: one pattern", "one detector and aggregator, D = 1", 1),
            ("struct", 618, "the kernels κ_{ij}: a pattern for each key", "eight detectors and aggregators, D = 8", 8)]
    for name, y, kernels, detectors, patterns in rows:
        sheet.write(kernels, 266, y - 16, 16)
        for number, size in enumerate(table.numbers("largest entry of the kernels, " + name)):
            x = 266 + 97.5 * number
            sheet.tile(table.matrix(f"{name} {number + 1}"), x, y, 88)
            sheet.write(str(number + 1), x + 44, y + 103, 16, anchor="center")
            sheet.write(times(size), x + 44, y + 123, 14, FAINT, "center")
        sheet.write(detectors, 266, y + 168, 16)
        for number in range(patterns):
            sheet.tile(table.matrix(f"detector {number}"), 266 + 62 * number, y + 184, 44)
    sheet.foot("Nothing is trained. " + SIGNED + " ×: the largest entry of a kernel, over the operator’s largest. "
               "Dot: the query. Squares: windows of the keys.", 874)
    return sheet


def structsa_motion(table):
    """The video forwards, and below it what its query sees and makes; the same for the video backwards."""
    sheet = Sheet("Dynamic kernels of a thing that moves")
    _, row, column = table.numbers("query (frame, row, column)")
    for top, way, played, frames in ((80, "right", "forwards: it moves to the right", range(5)),
                                     (410, "left", "backwards: it moves to the left", range(4, -1, -1))):
        sheet.write(played, MARGIN, top - 16, 16)
        for number, frame in enumerate(frames):
            tile = sheet.tile(table.matrix(f"frame {frame}"), 16 + 148 * number, top, 136, 95.2, palette="gray")
            tile.mark(column, row, 5, 3, colour=MARK)
            if number == 2:
                tile.query(column, row, 3.4)

        # Slices of one row of tokens, in time; the query is in the middle.
        y = top + 141
        kernel, weight = table.matrix("kernel " + way), table.numbers("weight of the query itself, " + way)[0]
        only = [[float(i == j == 2) for j in range(5)] for i in range(5)]
        for rows, x, caption in ((table.matrix("similarity " + way), 34, "similarity"), (kernel, 420, "StructSA, κ_{ii}"),
                                 (only, 602, "self-attention")):
            sheet.tile(rows, x, y, 118).mark(2, 2)
            sheet.write(caption, x, y - 16, 16)
        sheet.write("x →", 93, y + 131, 14, FAINT, "center")
        sheet.write("t", 23, y + 50, 14, FAINT, "center")
        sheet.write("↓", 23, y + 67, 14, FAINT, "center")
        sheet.write(f"one number, {weight:.3f}", 661, y + 131, 14, FAINT, "center")
        sheet.write("detectors, shares", 200, y - 16, 16)
        shares = table.numbers(f"shares of right and left, {way}")
        for detector, share, up in zip(("right", "left"), shares, (y, y + 64)):
            sheet.tile(table.matrix("detector " + detector), 200, up, 54)
            sheet.fill(264, up + 18, 88 * share, 18, BLUE)
            sheet.write(f"{100 * share:.0f} %", 270 + 88 * share, up + 27, 16)
    sheet.write("Backwards, self-attention’s output y is the same; StructSA’s is the negative.", MARGIN, 718, 16)
    sheet.foot("Nothing is trained. The aggregator of the right is its detector; that of the left is its detector, negated. "
               "Slices through windows of 5×3×5 tokens. " + SIGNED, 744)
    return sheet


def elsa_border(table):
    """Two maps, each with its own scale from 0."""
    sheet = Sheet("Share of a token’s attention, K = 7")
    for x, title, caption in ((16, "weight moved by a second bias", "moved by a second bias"),
                              (392, "weight off the grid", "lost to neighbours off the grid")):
        rows = table.matrix(title)
        largest = max(entries(rows))
        sheet.tile(rows, x, 80, 284, palette="viridis", ends=(0, largest), caption=caption)
        sheet.colour_bar(x + 291, 80, 12, 284, "viridis", 0, 100 * largest, scale(100 * largest, "%.0f %%"))
    sheet.foot("28×28 tokens of real images, 24 channels, 3 heads, random parameters. Nothing is trained: the draw decides "
               "which borders weigh more. Each map has its own scale.", 394)
    return sheet


def elsa_filters(table):
    """The image; for every token the filter of its head and of four channels."""
    sheet = Sheet("One head’s filter, and what the ghost head makes of it for four channels")
    image = sheet.tile(table.matrix("image"), 16, 80, 271, palette="gray")
    for number, (row, column) in enumerate(table.places("tokens (row, column)"), 1):
        image.mark(column, row, 7, colour=MARK, width=2)
        corner_x, corner_y = image.at(column - 6.2, row - 3.5)
        sheet.fill(corner_x, corner_y, 2.7 * image.cell_wide, 2.7 * image.cell_high, DARK)
        sheet.write(str(number), *image.at(column - 4.85, row - 2.15), 16, MARK, "center")
        y = 80 + 96 * (number - 1)
        sheet.write(str(number), 298, y + 40, anchor="center")
        for channel, name in enumerate(("the head", "right−left", "below−above", "centre", "diagonal")):
            title = f"channel {number} {channel}" if channel else f"head {number}"
            tile = sheet.tile(table.matrix(title), 310 + 89 * channel, y, 79)
            if number == 1:
                sheet.write(name, tile.x + 39.5, 68, 12, anchor="center")
    sheet.foot("7×7 neighbours of three tokens. " + SIGNED + " Nothing is trained: the head compares each neighbour with "
               "its surroundings, and the factors of the channels are made by hand.", 382)
    return sheet


def chopd_tensor(table):
    """The dense tensor, and the factors of its three terms.  In pictures of pictures, lines part what belongs to one
    token."""
    sheet = Sheet("A dense layer, and the three terms that make it")

    def of_tokens(title, x, y, side):
        tile = sheet.tile(table.matrix(title), x, y, side, frame=None)
        for n in range(7):
            sheet.line([(x + side * n / 6, y), (x + side * n / 6, y + side)], FRAME)
            sheet.line([(x, y + side * n / 6), (x + side, y + side * n / 6)], FRAME)
        return tile
    sheet.write("W_{mncd}", 162, 80, anchor="center")
    for c in (1, 2):
        for d in (1, 2):
            tile = of_tokens(f"tensor {c} {d}", 16 + 150 * (d - 1), 130 + 200 * (c - 1), 142)
            sheet.write(f"c = {c}, d = {d}", tile.x + 71, tile.y - 12, 12, anchor="center")
    sheet.write("=  Σ", 340, 302, 18, anchor="center")
    for x, name, factor in (477, "pooling", "u2_{mnr}"), (618, "gate", "u13_{nr}"), (714, "channels", "u4_{cr} u5_{dr}"):
        sheet.write(name, x, 64, anchor="center")
        sheet.write(factor, x, 86, anchor="center")
    for r in (1, 2, 3):
        middle = 170 + 142 * (r - 1)
        sheet.write(f"r = {r}", 404, middle, anchor="right")
        of_tokens(f"pooling {r}", 414, middle - 63, 126)
        sheet.write("⊙", 556, middle, 18, anchor="center")
        sheet.tile(table.matrix(f"gate {r}"), 573, middle - 45, 90, palette="gray")
        sheet.write("⊗", 674, middle, 18, anchor="center")
        sheet.tile(table.matrix(f"channels {r}"), 688, middle - 26, 52)
    sheet.foot("6×6 tokens, two channels in and out. A square within a square is an n, at its place on the grid; its 6×6 cells "
               f"are the weights of all m. Red is positive, white zero, blue negative. {table.remarks['numbers']}. Boxes and "
               "channels are made by hand, the gate is random.", 546)
    return sheet


def hilo_spectrum(table):
    """Eight channels of each branch on one scale; below, what a branch lets through of each frequency."""
    sheet = Sheet("Frequencies in eight channels of either branch, before any training")
    ends = (-0.5, 4.5)
    for y, branch, colour in (70, "Hi-Fi"), (159, "Lo-Fi", BLUE):
        sheet.write(branch, 57, y + 34, colour=colour, anchor="right")
        for channel in range(8):
            sheet.tile(table.matrix(f"{branch} {channel}"), 65 + 74.5 * channel, y, 69, palette="viridis", ends=ends)
    sheet.write("log |·|", 673, 56, 12)
    sheet.colour_bar(673, 70, 12, 158, "viridis", *ends, [(0, "0"), (2, "2"), (4, "4")])
    sheet.write("energy that leaves a channel, over energy that enters one", 65, 270, 13)
    panel = Panel(sheet, 65, 285, 595, 180, (0.8, 7.2), (0, 1))
    panel.axes([(n, str(n)) for n in range(1, 8)], [(n / 4, f"{n / 4:g}") for n in range(5)],
               "cycles across the image, along the axis with more of them")
    panel.upright(3.5)
    sheet.write("half the band", panel.at(3.58, 0)[0], 299, 12, FAINT)
    rings = [tuple(map(float, row)) for row in table.matrix("rings")]
    panel.curve([(n, high) for n, high, _ in rings], VERMILION, "Hi-Fi")
    panel.curve([(n, low) for n, _, low in rings], BLUE, "Lo-Fi")
    sheet.foot("14×14 tokens of 100 real images, 384 channels, 12 heads, s = 2, α = 0.9, random weights. Zero frequency is in "
               "the middle; colours are natural logarithms of magnitudes, averaged over the images, on one scale.", 544)
    return sheet


def hilo_alias(table):
    """A wave in tokens and in their means; how much of each wave is left."""
    sheet = Sheet("The mean of two tokens lets fine waves through as coarser ones")
    panel = Panel(sheet, 54, 92, 342, 156, (-0.5, 13.5), (-1.1, 1.1))
    panel.axes([(n, str(n)) for n in range(0, 13, 2)], [(-1, "−1"), (0, "0"), (1, "1")], "token")
    means = [tuple(map(float, row)) for row in table.matrix("means")]
    left = means[5][1]

    def five(x):
        return math.cos(2 * math.pi * 5 * x / 14)

    def two(x):
        return left * math.cos(2 * math.pi * 2 * (x - 0.5) / 14 - 5 * math.pi / 14)
    sheet.write("5 periods", 54, 74, colour=SKY)
    sheet.write("their means: 2 periods", 396, 74, colour=VERMILION, anchor="right")
    steps = [-0.5 + n / 20 for n in range(281)]
    sheet.line([panel.at(x, five(x)) for x in steps], SKY)
    sheet.line([panel.at(x, two(x)) for x in steps], VERMILION, 1.4, dash=2)
    for title, colour, radius in ("tokens", SKY, 3.5), ("windows", VERMILION, 6):
        panel.dots([panel.at(*map(float, row)) for row in table.matrix(title)], colour, radius)

    panel = Panel(sheet, 472, 92, 266, 156, (-0.3, 7.5), (0, 1.1))
    panel.axes([(n, str(n)) for n in range(8)], [(0, "0"), (0.5, "0.5"), (1, "1")], "periods of the wave")
    sheet.write("amplitude left, and periods", 472, 74)
    panel.upright(3.5)
    for periods, amplitude, seen in means:
        x, y = panel.at(periods, amplitude)
        sheet.fill(x - 3, y, 6, 248 - y, BLUE if periods < 3.5 else VERMILION)
        if periods > 3.5 and amplitude > 0:
            sheet.write(f"{amplitude:.2f} as {seen:.0f}", x - 12, y - 16, 12, VERMILION)
    sheet.foot("14 tokens in a row, windows of 2, by formula. Seven means hold waves of 3 periods at most.", 324)
    return sheet


# ---- chapter 7 ------------------------------------------------------------

KINDS = {"random": "random weights", "trained": "trained"}


def networks_maps(table):
    """A column for each station, three channels below each other; the tiny network's answer at the right."""
    sheet = Sheet("A picture on its way through two networks")
    merged = [("embedded", 56, 96), ("stage 1", 56, 96), ("merged", 28, 192), ("stage 2", 28, 192), ("merged", 14, 384),
              ("stage 3", 14, 384), ("merged", 7, 768), ("stage 4", 7, 768)]
    blocks = [(name, 14, 32) for name in ("embedded", "+ position", "+ HiLo", "+ MLP", "+ HiLo", "+ MLP")]
    for network, top, head, size, stations in (("litv2", 108, "LITv2-S, random weights", "its middle: 224×224", merged),
                                               ("learned", 390, "two blocks of HiLo, trained", "28×28", blocks)):
        sheet.write(head, MARGIN, top - 50, 16)
        sheet.tile(table.matrix("image"), MARGIN, top, 104, palette="gray")
        sheet.write(size, MARGIN, top + 116, 11, FAINT)
        for number, (name, side, channels) in enumerate(stations):
            x = 144 + 76 * number
            sheet.write(name, x + 33, top - 24, 12, anchor="center")
            sheet.write(f"{side}×{side}×{channels}", x + 33, top - 9, 11, FAINT, "center")
            for shown in range(3):
                sheet.tile(table.matrix(f"{network} {number} {shown}"), x, top + 70 * shown, 66, ends=(-100, 100))
    sheet.write("its answer", 675, 375, 12, anchor="right")
    for number, share, name in table.matrix("answers"):
        y = 400 + 21 * int(number)
        sheet.write(name, 675, y, 12, anchor="right")
        sheet.fill(680, y - 6, 62 * float(share), 12, BLUE)
    sheet.foot("Of each station the three channels that vary most. Red is above the channel’s mean, blue below, over the largest "
               "of each. LITv2-S has random weights: its maps show sizes, borders and merging, not what it would recognise. The "
               "tiny network was trained; each of its two blocks adds HiLo and an MLP to x.", 622)
    return sheet


def networks_lisa(table):
    """A row for each query: its kernel in either head, before training and after; below, the kernels of the values."""
    sheet = Sheet("LiSA’s attention kernels of three tokens")
    sheet.write("a token", MARGIN, 60)
    for number, (row, column) in enumerate(table.places("queries (row, column)")):
        y = 78 + 136 * number
        sheet.tile(table.matrix("image"), MARGIN, y, 122, palette="gray").mark(2 * column + 0.5, 2 * row + 0.5, 2, colour=MARK,
                                                                               width=2)
        for kind, left in ("random", 186), ("trained", 488):
            for head in (0, 1):
                sheet.tile(table.matrix(f"{kind} {number} {head}"), left + 134 * head, y, 122).mark(column, row)
    for kind, left in ("random", 186), ("trained", 488):
        sheet.write(KINDS[kind] + ", two heads", left, 60)
        sheet.write("their four kernels w^b", left, 502)
        for kernel in range(4):
            sheet.tile(table.matrix(f"{kind} wb {kernel}"), left + 66 * kernel, 518, 58)
    sheet.foot("The second block of a tiny network of 14×14 tokens. " + SIGNED + " A token’s own place is in the middle of the "
               "w^b. Both heads mix the same four, by what each finds.", 606)
    return sheet


def networks_structsa(table):
    """For two queries the attention of each pattern and the merged kernels of four channels; below, detectors and
    aggregators."""
    sheet = Sheet("StructSA’s attention, kernels and filters")
    sheet.write("a query", MARGIN, 60)
    for number, (row, column) in enumerate(table.places("queries (row, column)")):
        y = 78 + 168 * number
        sheet.tile(table.matrix("image"), MARGIN, y, 128, palette="gray").mark(2 * column + 0.5, 2 * row + 0.5, 2, colour=MARK,
                                                                               width=2)
        for kind, left in ("random", 170), ("trained", 470):
            shares = table.numbers(f"percent of the patterns, {kind} {number}")
            for position, share in enumerate(shares):
                x = left + 70 * position
                rows = table.matrix(f"{kind} attention {number} {position}")
                sheet.tile(rows, x, y, 62, palette="viridis")
                sheet.write(f"{share:.0f} %", x + 31, y + 74, 14, FAINT, "center")
                sheet.tile(table.matrix(f"{kind} merged {number} {position}"), x, y + 84, 62).mark(column, row, width=1.4)
    for kind, left in ("random", 170), ("trained", 470):
        sheet.write(KINDS[kind] + ": four patterns", left, 60)
        for top, short, name in (442, "hk", "detectors h^K"), (538, "hv", "aggregators h^V"):
            sheet.write(name, left, top - 14, 13)
            for pattern in range(4):
                rows = table.matrix(f"{kind} {short} {pattern}")        # four filters, parted by a row and a column
                for down in (0, 4):
                    for right in (0, 4):
                        part = [line[right:right + 3] for line in rows[down:down + 3]]
                        sheet.tile(part, left + 70 * pattern + 8 * right, top + 8 * down, 24)
    sheet.foot("The second block of a tiny network, its first head. For each query: the attention a_{ijd} of the patterns, their "
               "shares, and the merged kernels (Eq. 21) of four channels. At the foot: the filters of each pattern for those "
               "channels. " + SIGNED, 626)
    return sheet


def networks_elsa(table):
    """For three tokens the maps of four heads and the filters of a channel of each; below, the ghost head's factors and
    summands."""
    sheet = Sheet("ELSA’s maps and filters of three tokens")
    sheet.write("a token", MARGIN, 60)
    for number, (row, column) in enumerate(table.places("tokens (row, column)")):
        y = 78 + 128 * number
        sheet.tile(table.matrix("image"), MARGIN, y, 106, palette="gray").mark(2 * column + 0.5, 2 * row + 0.5, 10, colour=MARK,
                                                                               width=2)
        for kind, left in ("random", 150), ("trained", 460):
            for head in range(4):
                sheet.tile(table.matrix(f"{kind} map {number} {head}"), left + 72 * head, y, 50)
                sheet.tile(table.matrix(f"{kind} filter {number} {head}"), left + 72 * head, y + 56, 50)
    for kind, left in ("random", 150), ("trained", 460):
        sheet.write(KINDS[kind] + ": four heads", left, 60)
        for channel in range(5):
            sheet.tile(table.matrix(f"{kind} factor {channel}"), left + 57 * channel, 470, 50)
            sheet.tile(table.matrix(f"{kind} summand {channel}"), left + 57 * channel, 534, 50)
    sheet.write("factors", 140, 495, anchor="right")
    sheet.write("summands", 140, 559, anchor="right")
    sheet.foot("The second block of a tiny network, 5×5 neighbours of three tokens. Above: the map of a head; below it: the "
               "filter that the ghost head makes of it for one channel. At the foot: the ghost head’s factors and summands for "
               "five channels. " + SIGNED, 614)
    return sheet


def networks_boxes(table):
    """The four boxes of eight components, around a token."""
    sheet = Sheet("ChoP’D’s boxes of eight components, before training and after")
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
                    y0, x0, y1, x1 = (side / 2 * (1 + max(-1, min(1, float(edge) / reach))) for edge in row[first:first + 4])
                    sheet.outline(x + x0, y + y0, x1 - x0, y1 - y0, colours[int(row[1])], 1.6)
            sheet.dot(x + side / 2, y + side / 2, 1.6, INK)
    moved = table.numbers("mean distance of an edge from where it began")[0]
    before, after = table.numbers("median of the longer sides, before and after")
    sheet.foot("Eight of 32 components, second block of a tiny network, 14×14 tokens. Each has four boxes; the dot is the token. "
               f"An edge has moved by {moved:g} tokens on average; the median of the longer sides was {before:g} tokens before "
               f"and is {after:g} after.", 278)
    return sheet


def networks_spectrum(table):
    """Six channels of each branch; below, how the energy of what enters and of both branches is spread over the
    frequencies."""
    sheet = Sheet("Frequencies in the outputs of Hi-Fi and Lo-Fi")
    for kind, left in ("random", 84), ("trained", 430):
        sheet.write(KINDS[kind], left, 60)
        for y, branch, colour in (76, "Hi-Fi"), (132, "Lo-Fi", BLUE):
            if kind == "random":
                sheet.write(branch, 70, y + 25, colour=colour, anchor="right")
            for channel in range(6):
                sheet.tile(table.matrix(f"{kind} {branch} {channel}"), left + 54 * channel, y, 50, palette="viridis",
                           ends=(-3, 4))
        panel = Panel(sheet, left, 230, 316, 225, (-0.2, 7.9), (0.01, 100), log=True)
        panel.axes([(n, str(n)) for n in range(8)],
                   [(share, f"{share:g} %" if kind == "random" else "") for share in (0.01, 0.1, 1, 10, 100)],
                   "cycles across the image")
        panel.upright(3.5)
        rings = [tuple(map(float, row)) for row in table.matrix(f"{kind} rings")]
        panel.curve([(row[0], row[1]) for row in rings], GRAY, "x", FAINT)
        panel.curve([(row[0], row[2]) for row in rings], VERMILION, "Hi-Fi")
        panel.curve([(row[0], row[3]) for row in rings], BLUE, "Lo-Fi")
    sheet.write("share of the energy", 84, 212, 13)
    sheet.foot("The second block of a tiny network, four heads, s = 2, α = ½; 100 images of 14×14 tokens. Above: logarithms of "
               "magnitudes, zero frequency in the middle, one scale. Below: the energy by frequency, along the axis with more of "
               "it, of what enters (x) and of both branches.", 536)
    return sheet


LAYOUTS = {function.__name__.replace("_", "-"): function for function in (
    lisa_border, lisa_kernels, structsa_kernels, structsa_motion, elsa_border, elsa_filters, chopd_tensor, hilo_spectrum,
    hilo_alias, networks_maps, networks_lisa, networks_structsa, networks_elsa, networks_boxes, networks_spectrum)}


def layout(name, table):
    """Settings and blocks that draw.py's `render` takes; `table` is the path of the figure's TSV file."""
    return LAYOUTS[name](Table(table)).result()
