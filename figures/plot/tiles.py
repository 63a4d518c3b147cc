"""tiles.py -- layouts of the figures that are pictures of matrices

Each figure has a function of its name, which returns the sheet.  maps.py or network_maps.py writes the table.
"""
import math

from panels import tics
from sheet import BLUE, EDGE, FAINT, LIGHT, MARK, SKY, VERMILION, Sheet

WIDE, MARGIN = 760, 16
SIGNED = "Red is positive, white zero, blue negative; each picture is divided by its largest magnitude."


def lisa_border(table):
    sheet = Sheet("Eq. 10 against Eq. 7, token by token: rms difference / rms output", WIDE, table=table)
    largest = max(map(max, table.vectors("wide")))
    for title, x, caption in ("wide", 16, "tables that reach everywhere"), ("narrow", 352, "tables four tokens wide"):
        sheet.tile(title, x, 80, 316, palette="viridis", ends=(0, largest), caption=caption)
    sheet.colour_bar(684, 80, 15, 316, 0, largest, 0.5)
    return sheet.remark("Same tables in both. 56×56 tokens of real images, C = 96, 6 heads, D = 16; random "
                        "parameters.", 424)


def structsa_kernels(table):
    """Above, the image, its similarities and self-attention; below, a row for ConvSA and one for StructSA."""
    sheet = Sheet("Dynamic kernels of one query on a real image", WIDE, letters=16, table=table)
    keys, [query] = table.places("keys (row, column)"), table.places("query (row, column)")
    beside = [(0, -2.9), (-2.6, -0.6), (0, -2.9), (-2.6, 0), (0, 3.1)]      # columns and rows from a key to its number
    maps = [("image 0", "image, query and keys", 16, 82), ("similarity 0", "similarity to the query", 266, 82),
            ("self 0", "self-attention", 516, 82), ("conv 0", "ConvSA, kernels merged", 16, 350),
            ("struct 0", "StructSA, kernels merged", 16, 618)]
    for title, caption, x, y in maps:
        tile = sheet.tile(title, x, y, 228, palette="gray" if title == "image 0" else "signed", caption=caption)
        for number, ((row, column), (aside, below)) in enumerate(zip(keys, beside), 1):
            colour = MARK if title == "image 0" else EDGE
            tile.mark(column, row, 3, colour=colour)
            if title == "similarity 0" or (title == "self 0" and number == 4):
                colour = LIGHT
            elif title == "image 0" and number == 4:
                colour = EDGE
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
    return sheet.remark("Nothing is trained. " + SIGNED + " ×: the largest entry of a kernel, over the operator’s "
                        "largest. Dot: the query. Squares: windows of the keys.", 874)


def structsa_motion(table):
    """The video forwards; below it the query's similarity, detectors and kernels.  The same for the video backwards."""
    sheet = Sheet("Dynamic kernels of a moving object", WIDE, letters=16, table=table)
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
    return sheet.remark("Nothing is trained. The aggregator of the right is its detector; that of the left is its "
                        "detector, negated. Slices through windows of 5×3×5 tokens. " + SIGNED, 744)


def elsa_border(table):
    sheet = Sheet("Share of a token’s attention, K = 7", WIDE, table=table)
    for x, title, caption, step in ((16, "weight moved by a second bias", "moved by a second bias", 5),
                                    (392, "weight off the grid", "lost to neighbours off the grid", 10)):
        largest = max(map(max, table.vectors(title)))
        sheet.tile(title, x, 80, 284, palette="viridis", ends=(0, largest), caption=caption)
        sheet.colour_bar(x + 291, 80, 12, 284, 0, 100 * largest, step, " %")
    return sheet.remark("28×28 tokens of real images, 24 channels, 3 heads, random parameters. Nothing is trained: "
                        "the draw decides which borders weigh more. Each map has its own scale.", 394)


def elsa_filters(table):
    """The image; for each of three tokens, the filters of a head and of four channels."""
    sheet = Sheet("One head’s filter, and what the ghost head makes of it for four channels", WIDE, table=table)
    image = sheet.tile("image", 16, 80, 271, palette="gray")
    for number, (row, column) in enumerate(table.places("tokens (row, column)"), 1):
        image.mark(column, row, 7, colour=MARK, width=2)
        sheet.fill(*image.at(column - 6.3, row - 3.5), 25, 26, EDGE)
        sheet.write(str(number), *image.at(column - 5, row - 2.15), 16, MARK, "center")
        y = 80 + 96 * (number - 1)
        sheet.write(str(number), 298, y + 40, anchor="center")
        for channel, name in enumerate(("the head", "right−left", "below−above", "centre", "diagonal")):
            title = f"channel {number} {channel}" if channel else f"head {number}"
            tile = sheet.tile(title, 310 + 89 * channel, y, 79)
            if number == 1:
                sheet.write(name, tile.left + 39.5, 68, 12, anchor="center")
    return sheet.remark("7×7 neighbours of three tokens. " + SIGNED + " Nothing is trained: the head looks for "
                        "contrast among its neighbours, and the factors of the channels are made by hand.", 382)


def hilo_spectrum(table):
    """Eight channels of each branch on one scale; below, the share of each frequency that a branch lets through."""
    sheet = Sheet("Frequencies in eight channels of either branch, before any training", WIDE, table=table)
    ends = (-0.5, 4.5)
    for y, branch, colour in (70, "Hi-Fi", VERMILION), (159, "Lo-Fi", BLUE):
        sheet.write(branch, 57, y + 34, colour=colour, anchor="right")
        for channel in range(8):
            sheet.tile(f"{branch} {channel}", 65 + 74.5 * channel, y, 69, palette="viridis", ends=ends)
    sheet.write("log |·|", 673, 56, 12)
    sheet.colour_bar(673, 70, 12, 158, *ends, 2)
    sheet.write("energy that leaves a channel, over energy that enters one", 65, 270, 13)
    panel = sheet.panel(65, 285, 660, 465, x=(0.8, 7.2), y=(0, 1), xtics=tics(range(1, 8)),
                        ytics=tics((0, 0.25, 0.5, 0.75, 1)), log="",
                        xlabel="cycles across the image, along the axis with more of them")
    panel.upright(3.5)
    sheet.write("half the band", panel.at(3.58, 0)[0], 299, 12, FAINT)
    rings = table.vectors("rings")
    sheet.curves(panel, {1: ("Hi-Fi", VERMILION), 2: ("Lo-Fi", BLUE)}, lambda n: [(row[0], row[n]) for row in rings])
    return sheet.remark("14×14 tokens of 100 real images, 384 channels, 12 heads, s = 2, α = 0.9, random weights. "
                        "Colours are natural logarithms of magnitudes, averaged over the images; zero frequency is "
                        "in the middle.", 544)


def hilo_alias(table):
    """Left, a wave in tokens and in their means; right, the amplitude that each wave keeps."""
    sheet = Sheet("The mean of two tokens lets fine waves through as coarser ones", WIDE, table=table)
    panel = sheet.panel(54, 92, 396, 248, x=(-0.5, 13.5), y=(-1.1, 1.1), xtics=tics(range(0, 13, 2)),
                        ytics={-1: "−1", 0: "0", 1: "1"}, log="", xlabel="token")
    means = table.vectors("means")
    sheet.write("5 periods", 54, 74, colour=SKY)
    sheet.write("their means: 2 periods", 396, 74, colour=VERMILION, anchor="right")
    for periods, amplitude, right, colour, dash in (5, 1, 0, SKY, 1), (2, means[5][1], 1.75, VERMILION, 2):
        wave = [(n / 20, amplitude * math.cos(2 * math.pi * periods * (n / 20 - right) / 14)) for n in range(-10, 271)]
        panel.line(wave, colour, dash, dash, 0)
    panel.line(table.vectors("tokens"), SKY, 0, dot=0.6)
    panel.line(table.vectors("windows"), VERMILION, 0, dot=1)

    panel = sheet.panel(472, 92, 738, 248, x=(-0.3, 7.5), y=(0, 1.1), xtics=tics(range(8)), ytics=tics((0, 0.5, 1)),
                        log="", xlabel="periods of the wave")
    sheet.write("amplitude left, and periods", 472, 74)
    panel.upright(3.5)
    for periods, amplitude, seen in means:
        x, y = panel.at(periods, amplitude)
        colour = BLUE if periods < 3.5 else VERMILION
        sheet.fill(x - 3, y, 6, 248 - y, colour)
        if periods > 3.5 and amplitude > 0:
            sheet.write(f"{amplitude:.2f} as {seen:.0f}", x - 12, y - 16, 12, colour)
    return sheet.remark("14 tokens in a row, windows of 2, by formula. Seven means hold waves of 3 periods at most.",
                        324)


def networks_maps(table):
    """A column for each station, three channels below each other; the tiny network's answer at the right."""
    sheet = Sheet("A picture on its way through two networks", WIDE, table=table)
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
    return sheet.remark("The three channels of each station that vary most. Red is above the channel’s mean, blue "
                        "below, over the largest of each. LITv2-S has random weights: its maps show sizes, borders "
                        "and merging, not objects. The tiny network was trained; each of its blocks adds HiLo and an "
                        "MLP to x.", 622)


def networks_lisa(table):
    """A row for each query: its kernel in either head, before training and after; below, the kernels of the values."""
    sheet = Sheet("LiSA’s attention kernels of three tokens", WIDE, table=table)
    queries = table.places("queries (row, column)")
    sheet.write("a token", MARGIN, 60)
    for number, (row, column) in enumerate(queries):
        image = sheet.tile("image", MARGIN, 78 + 136 * number, 122, palette="gray")
        image.mark(2 * column + 0.5, 2 * row + 0.5, 2, colour=MARK, width=2)        # a token has 2 x 2 pixels
    for kind, heading, left in ("random", "random weights, two heads", 186), ("trained", "trained, two heads", 488):
        sheet.write(heading, left, 60)
        for number, (row, column) in enumerate(queries):
            for head in (0, 1):
                sheet.tile(f"{kind} {number} {head}", left + 134 * head, 78 + 136 * number, 122).mark(column, row)
        sheet.write("their four kernels w^b", left, 502)
        for kernel in range(4):
            sheet.tile(f"{kind} wb {kernel}", left + 66 * kernel, 518, 58)
    return sheet.remark("The second block of a tiny network of 14×14 tokens. " + SIGNED + " A token’s own place is "
                        "in the middle of the w^b. Both heads mix the same four, by what each finds.", 606)


def networks_spectrum(table):
    """Six channels of each branch; below, the energy of input and branches by frequency."""
    sheet = Sheet("Frequencies in the outputs of Hi-Fi and Lo-Fi", WIDE, table=table)
    for kind, heading, left in ("random", "random weights", 84), ("trained", "trained", 426):
        sheet.write(heading, left, 60)
        for y, branch, colour in (76, "Hi-Fi", VERMILION), (132, "Lo-Fi", BLUE):
            if kind == "random":
                sheet.write(branch, 70, y + 25, colour=colour, anchor="right")
            for channel in range(6):
                sheet.tile(f"{kind} {branch} {channel}", left + 54 * channel, y, 50, palette="viridis",
                           ends=(-3, 4))
        panel = sheet.panel(left, 230, left + 276, 455, x=(-0.2, 7.2), y=(0.01, 100), xtics=tics(range(8)), log="y",
                            ytics={n: f"{n:g} %" for n in (0.01, 0.1, 1, 10, 100)}, bare=kind == "trained",
                            xlabel="cycles across the image")
        panel.upright(3.5)
        rings = table.vectors(f"{kind} rings")
        sheet.curves(panel, {1: ("x", FAINT), 2: ("Hi-Fi", VERMILION), 3: ("Lo-Fi", BLUE)},
                     lambda n, rings=rings: [(row[0], row[n]) for row in rings])
    sheet.write("share of the energy", 84, 212, 13)
    return sheet.remark("The second block of a tiny network, four heads, s = 2, α = ½; 100 images of 14×14 tokens. "
                        "Above: logarithms of magnitudes, zero frequency in the middle, one scale. Below: the energy "
                        "by frequency, along the axis with more of it, of what enters (x) and of both branches.", 536)
