"""chapters.py -- what each chapter measures and draws

CHAPTERS: by name, a Chapter with
    tables    measures its sweeps and maps, for as long as the budget allows
    counts    the layers on which the CUDA ladders' requests are counted
    derived   works out tables of others, without measuring
    drawings  by the figure's name, its layout: a function of the run, which reads tables
    files     how its files begin
"""
import math
import os

import fits
import tiles
from fits import Table
from panels import (BYTES, POWERS, TIMES, Sheet, counts, quarters, scaled, scaling, seconds, thousands, tics)
from sheet import (BLACK, BLUE, FAINT, GREEN, HERE, INK, ORANGE, PURPLE, SKY, VERMILION, WHITE, plain)

PUBLISHED = os.path.join(HERE, "..", "reference", "published", "hilo.tsv")


class Chapter:
    def __init__(self, tables, drawings, layers=(), derived=lambda run: None, files=()):
        self.tables, self.drawings, self.counts, self.derived, self.files = tables, drawings, layers, derived, files


def pictures(*names):
    """Figures of tiles.py, each from the table of its name."""
    return {name: lambda run, name=name: ("tiles", *tiles.layout(name, run.table_path(name))) for name in names}


def scalings(chapter, quantities, lines, layer, remarks=None, work=None, **options):
    """A chapter's time, memory and work against N; time has the chapter's name."""
    return {chapter if quantity == "time" else f"{chapter}-{quantity}":
            lambda run, quantity=quantity: scaling(run.read(chapter), quantity, work if work and quantity == "work" else lines,
                                                   layer, (remarks or {}).get(quantity, ""), **options)
            for quantity in quantities}


def requests(chapter):
    """The chapter's counts of what CUDA versions ask of the memory."""
    def layout(run):
        columns = [("sectors", "sectors", BLUE, scaled), ("bytes asked for", "asked", BLUE, scaled),
                   ("bytes touched", "touched", BLUE, scaled), ("shared cycles", "wavefronts", ORANGE, scaled)]
        groups = [(note, [(row["rung"], row) for row in rows]) for note, rows in run.read(chapter + "-cuda").sections]
        return counts("What each version asks of the memory", columns, groups,
                      ["Counted in one run, in float: the same on every machine.  Cycles of shared memory by a model.",
                       "Sectors: of 32 bytes, as often as warps ask.  Touched: each sector once a launch.",
                       "Not counted: the library's products and transforms.  Lines: factors of 10."], 172, 134, 640)
    return {chapter + "-cuda": layout}


# ---- 0: ground ------------------------------------------------------------------------------------

def ground_tables(run):
    """Rounding errors in both precisions; and PyTorch's, where it is there."""
    keys = "64 256 1024 3136 12544 50176 200704".split() if run.full else "64 256 1024 3136 12544".split()
    run.map("ground-error", *keys)
    double = run.program("figures/ground-error", *keys[:-1], double=True)
    run.write("ground-error", [line for line in double if not line.startswith("#")], "a")
    try:
        run.write("ground-error", run.program("ground-error.py", *keys), "a")
    except run.failure:
        run.say("no PyTorch 2 or later: its lines are left out")


SIZES = {n: thousands(n) for n in (64, 256, 1024, 4096, 16384, 65536)}


def ground_error(run):
    table = run.read("ground-error")
    sweep = fits.Sweep(table, "error_in_u")
    torch = next((key.split("+")[0].split(",")[0] for key in table.notes if key.startswith("PyTorch")), "")
    sheet = Sheet("Rounding error, in units of u:  rms error / rms output / u", high=475, foot=[
        "Filled: float, u = 2^{-24}.  Open: our forms in double, u = 2^{-53}.  96 queries, 64 channels, normal numbers.",
        "Dashed: √N." + (f"  {torch} in float, one thread." if torch else "")])
    panel = sheet.panel(54, 56, 560, sheet.above_foot(), x=(50, sweep.sizes[-1] * 1.12), y=(3, 250), xtics=SIZES,
                        ytics=tics((5, 10, 20, 50, 100, 200)), xlabel="keys N")
    panel.line([(N, 0.4 * math.sqrt(N)) for N in (57, sweep.sizes[-1])], FAINT, 1, 2, 0)
    lines = {"double/naive": ("", VERMILION), "double/fast": ("", BLUE), "float/naive": ("naive", VERMILION),
             "pytorch/plain": ("PyTorch, plain", ORANGE), "pytorch/sdpa": ("PyTorch, SDPA", PURPLE), "float/fast": ("tiled", BLUE)}
    error_lines(sheet, panel, sweep, lines)
    return sheet.drawing()


def error_lines(sheet, panel, sweep, lines):
    """Lines of rounding errors, those in double with open dots."""
    ends = []
    for key, (name, colour) in lines.items():
        if key in sweep.series:
            s, double = sweep.series[key], "double" in key
            panel.line(list(zip(s.N, s.value)), colour, 1.2 if double else 2, dot=0.65 if double else 0.6, point=6 if double else 7)
            if name:
                ends.append((s.N[-1], s.value[-1], name + s.exponent(), colour))
    sheet.label_ends(panel, ends)


# ---- 1: LiSA --------------------------------------------------------------------------------------

def lisa_tables(run):
    """Time, memory and work against N; the naive forms, which also vouch for the fast ones, in the first half only."""
    layer = "--channels 96 --heads 6 --without b_qkv,w_o,b_o"
    small, large, fast = "8x8 16x16 24x24 32x32 48x48 64x64", "128x128", "fast"
    naive, sides = 600, "8x8 16x16 24x24 32x32 64x64"
    if run.full:
        small, large = "8x8 16x16 24x24 32x32 40x40 48x48 56x56 64x64", "80x80 96x96 112x112 128x128 160x160 192x192 256x256"
        naive, sides, fast = 1100, "8x8 12x12 16x16 24x24 32x32 48x48 64x64 96x96 128x128 192x192 256x256", "fast fftw"
    run.table("lisa")
    for grids, forms, attention in ((small, "naive " + fast, "naive fast"), (large, fast, "fast")):
        if grids == large and run.half_spent():
            run.say("half of the time is spent: no larger grids")
            break
        run.sweep("eq10", f"lisa --equation 10 --sizes D=16 {layer} --form {forms} --grid {grids}")
        run.sweep("eq7", f"lisa --equation 7 --sizes D=16 {layer} --form {forms} --grid {grids}")
        run.sweep("msa", f"msa {layer},rpe --form {attention} --grid {grids}")
        run.sweep("window", f"msa --window 8 {layer},rpe --form {attention} --grid {grids}")
    run.map("lisa-border")
    run.map("lisa-kernels")
    # Rounding errors, in both precisions, up to so many tokens of the naive forms.
    rows = []
    for double in (False, True):
        for equation in (10, 7):
            run.say(f"compute lisa-error, Eq. {equation}, {'double' if double else 'float'}")
            lines = run.program("figures/lisa-error", equation, naive, *sides.split(), double=double)
            rows += [line for line in lines if not rows or not line.startswith("#")]
    run.write("lisa-error", run.about() + rows)


def lisa_error(run):
    sweep = fits.Sweep(run.read("lisa-error"), "error_in_u")
    sheet = Sheet("Rounding error, in units of u:  rms error / rms output / u", high=475, foot=[
        "u is 2^{-24} in float, 2^{-53} in double.  One head, c = 16, D = 16, real-image tokens.",
        "Dashed: √N, the steeper, and log_2 N."])
    for n, precision in enumerate(("float", "double")):
        panel = sheet.panel(54 + 262 * n, 78, 282 + 262 * n, sheet.above_foot(), x=(50, sweep.sizes[-1] * 1.2), y=(1, 130),
                            xtics=tics((64, 1024, 16384)), ytics=tics((1, 2, 5, 10, 20, 50, 100), str if n == 0 else lambda v: ""),
                            heading=precision, xlabel="tokens N")
        sizes = [60 * 2 ** (k / 2) for k in range(30) if 60 * 2 ** (k / 2) < sweep.sizes[-1]]
        panel.line([(N, math.sqrt(N)) for N in sizes if N < 130 ** 2], FAINT, 1, 2, 0)
        panel.line([(N, math.log2(N)) for N in sizes], FAINT, 1, 2, 0)
        error_lines(sheet, panel, sweep, {f"{key}-{precision}/{form}": (name if n else "", colour) for key, form, name, colour in (
            ("eq7", "naive", "Eq. 7, naive", VERMILION), ("eq10", "naive", "Eq. 10, naive", ORANGE),
            ("eq7", "fast", "Eq. 7, FFT", PURPLE), ("eq10", "fast", "Eq. 10, FFT", BLUE))})
    return sheet.drawing()


LISA = {"eq7/naive": ("LiSA Eq. 7, naive", VERMILION, 2), "eq10/naive": ("LiSA Eq. 10, naive", ORANGE, 2),
        "eq7/fast": ("LiSA Eq. 7, FFT", PURPLE, 2), "eq10/fast": ("LiSA Eq. 10, FFT", BLUE, 2),
        "msa/fast": ("self-attention", BLACK, 2), "window/fast": ("8×8 windows", GREEN, 2)}


# ---- 2: StructSA ----------------------------------------------------------------------------------

def structsa_tables(run):
    layer = "--channels 192 --heads 3 --kernel 3x3 --without b_qkv,w_o,b_o"
    head = "--grid 14x14 --channels 64 --without b_qkv,w_o,b_o"
    small, large, windows, each = "8x8 14x14 20x20 28x28", "40x40", "1x1 3x3 5x5 7x7", 200
    if run.full:
        small, large = "8x8 12x12 16x16 20x20 24x24 28x28 32x32 40x40 48x48", "56x56 64x64 80x80 96x96"
        windows, each = "1x1 3x3 5x5 7x7 9x9", 150
    run.table("structsa")
    for D in (1, 4, 8):
        run.sweep(f"d{D}", f"structsa {layer} --sizes D={D} --form naive permuted fast --grid {small}", each)
    run.sweep("msa", f"msa --channels 192 --heads 3 --without b_qkv,w_o,b_o,rpe --form fast --grid {small} {large}", each)
    # Time enough that the first run is never the only one: it is the first to touch a map of up to gigabytes, and takes
    # twice as long.
    for D in (1, 4, 8):
        run.sweep(f"d{D}", f"structsa {layer} --sizes D={D} --form permuted fast --grid {large}", 25, 3)

    # Against the number of patterns, the window and the stride, on one head.
    run.table("structsa-shape")
    for name, words in [(f"D={D}", f"--kernel 3x3 --sizes D={D}") for D in (1, 2, 4, 8, 16)] + \
            [(f"M={window}", f"--kernel {window} --sizes D=4") for window in windows.split()] + \
            [(f"s={stride}", f"--kernel 3x3 --stride {stride} --sizes D=4") for stride in (1, 2, 4)]:
        run.sweep(name, f"structsa {head} {words} --form naive permuted fast", each)
    run.map("structsa-kernels")
    run.map("structsa-motion")


STRUCTSA_FORMS = {"naive": ("explicit", VERMILION), "permuted": ("permuted", GREEN), "fast": ("tiled", BLUE)}
# D = 4 lies between the others, and permuted with D = 1 on tiled: six lines are enough.
STRUCTSA = {"d8/naive": ("explicit, D = 8", VERMILION, 3), "d1/naive": ("explicit, D = 1", VERMILION, 1),
            "d8/permuted": ("permuted, D = 8", GREEN, 3), "d8/fast": ("tiled, D = 8", BLUE, 3),
            "d1/fast": ("tiled, D = 1", BLUE, 1), "msa/fast": ("self-attention", BLACK, 2)}
# By their formulas permuted and tiled form multiply alike.
STRUCTSA_WORK = {key: (name.replace("tiled", "permuted, tiled"), *rest) for key, (name, *rest) in STRUCTSA.items()
                 if key != "d8/permuted"}


def structsa_shape(run):
    table = run.read("structsa-shape")
    rows = [(*row["series"].split("="), row) for row in table.rows]
    times = [float(row["median_seconds"]) for row in table.rows]
    sheet = Sheet("Time of one head, 14×14 tokens, 64 channels", high=430, letters=14, foot=[
        "One thread, float.  Bars: quartiles.", plain(table.measured())])
    sheet.legend(STRUCTSA_FORMS.values(), 56)
    for n, (letter, xlabel, x, ticks) in enumerate((
            ("D", "patterns D  (windows 3×3)", (0.9, 18), (1, 2, 4, 8, 16)), ("M", "window |M|  (D = 4)", (0.9, 90), (1, 9, 25, 81)),
            ("s", "stride  (3×3, D = 4)", (0.93, 4.3), (1, 2, 4)))):
        panel = sheet.panel(76 + 214 * n, 92, 262 + 214 * n, sheet.above_foot(), x=x, y=(min(times) / 1.5, max(times) * 2),
                            xtics=tics(ticks), ytics=TIMES if n == 0 else dict.fromkeys(TIMES, ""), xlabel=xlabel)
        for form, (_, colour) in STRUCTSA_FORMS.items():
            found = [(math.prod(map(int, word.split("x"))) if letter == "M" else int(word), row) for kind, word, row in rows
                     if kind == letter and row["form"] == form]
            panel.line([(at, float(row["median_seconds"])) for at, row in found], colour, 1.6,
                       quartiles=[(float(row["q1_seconds"]), float(row["q3_seconds"])) for _, row in found])
            if letter == "s" and form == "naive":
                for at, row in found:
                    place = panel.at(at, float(row["median_seconds"]))
                    text = f"{math.ceil(14 / at) ** 2}" + (" keys" if at == 1 else "")
                    sheet.text(place[0] - 2 if at == 1 else place[0] + 2, place[1] - 13, text, FAINT, "left" if at == 1 else "center", 12)
    return sheet.drawing()


# ---- 3: ELSA --------------------------------------------------------------------------------------

def elsa_tables(run):
    layer = "--channels 96 --heads 3 --without b_qkv,w_o,b_o"
    grids, kernels = "14x14 28x28 56x56", (1, 3, 7, 11)
    if run.full:
        grids, kernels = "14x14 28x28 42x42 56x56 84x84 112x112", (1, 3, 5, 7, 9, 11)
    run.table("elsa")
    for K in (3, 7):
        run.sweep(f"k{K}", f"elsa {layer} --kernel {K} --form naive fast --grid {grids}", 100)
    run.sweep("dense", f"elsa {layer} --kernel 7 --equation 4 --form naive --grid {grids}", 100)
    run.sweep("window", f"msa {layer},rpe --window 7 --form fast --grid {grids}", 100)
    run.table("elsa-kernel")
    for K in kernels:
        run.sweep(f"K={K}", f"elsa {layer} --kernel {K} --form naive fast --grid 28x28", 100)
    run.map("elsa-border")
    run.map("elsa-filters")


ELSA = {"dense/naive": ("N×N (Eq. 4), K = 7", VERMILION, 2), "k7/naive": ("unfolded, K = 7", ORANGE, 2),
        "k3/naive": ("unfolded, K = 3", ORANGE, 1), "k7/fast": ("not unfolded, K = 7", BLUE, 2),
        "k3/fast": ("not unfolded, K = 3", SKY, 1), "window/fast": ("7×7 windows", BLACK, 2)}


def elsa_kernel(run):
    table = run.read("elsa-kernel")
    sheet = Sheet("One layer, 28×28 tokens, 96 channels, 3 heads, with a ghost head", high=430, letters=14, foot=[
        "One thread, float.  Bars: quartiles.", plain(table.measured())])
    for n, (column, heading, ytics) in enumerate((("median_seconds", "time", TIMES),
                                                  ("peak_bytes", "memory beside input and output", BYTES))):
        values = [float(row[column]) for row in table.rows]
        panel = sheet.panel(76 + 300 * n, 84, 290 + 300 * n, sheet.above_foot(), x=(0, 12), y=(min(values) / 1.5, max(values) * 1.5),
                            xtics=tics((1, 3, 5, 7, 9, 11)), ytics=ytics if n == 0 else {2.0 ** k: fits.amount(2.0 ** k).replace(".0", "") for k in range(16, 34, 2)},
                            log="y", heading=heading, xlabel="K")
        ends = []
        for form, name, colour in (("naive", "unfolded", ORANGE), ("fast", "not unfolded", BLUE)):
            rows = [row for row in table.rows if row["form"] == form]
            points = [(int(row["series"][2:]), float(row[column])) for row in rows]
            panel.line(points, colour, quartiles=[(float(r["q1_seconds"]), float(r["q3_seconds"])) for r in rows] if n == 0 else ())
            ends.append((*points[-1], name, colour))
    sheet.label_ends(panel, ends)
    return sheet.drawing()


# ---- 4: ChoP'D ------------------------------------------------------------------------------------

def chopd_tables(run):
    """Dense tensors on the smallest grids only.  Pooling alone: time against the box, errors against the grid."""
    layer = "--channels 96 --sizes D=96,R=96"
    dense, grids, edges, seconds, sweeps = "4x4 6x6", "14x14 28x28 56x56", "8 16 32 64 128 256", 0.05, 40
    sides, ranks = "1 3 7 15 31 55 111", "1 8 32 64 96 112 128 160 192 224"
    if run.full:
        dense, grids, seconds, sweeps = "4x4 6x6 8x8 10x10", "14x14 28x28 56x56 84x84 112x112", 0.3, 300
        edges, sides = "8 16 24 32 48 64 96 128 192 256 384 512 768 1024", "1 3 5 7 9 11 15 21 31 43 55 81 111"
        ranks = "1 2 4 8 16 32 48 64 80 96 112 128 160 192 224 256 320"
    run.table("chopd")
    run.sweep("dfc", f"dfc-cp {layer} --form naive fast --grid {dense}")
    run.sweep("dfc", f"dfc-cp {layer} --form fast --grid {grids}")
    run.sweep("chopd", f"chopd {layer},G=4,S=24 --form naive fast --grid {dense}")
    run.sweep("chopd", f"chopd {layer},G=4,S=24 --form fast --grid {grids}")
    run.map("chopd-boxes", seconds, *sides.split())
    run.map("chopd-error", *edges.split())
    run.map("chopd-tensor")
    run.map("chopd-rank", sweeps, *ranks.split())


CHOPD = {"dfc/naive": ("DFC, dense", VERMILION, 4), "chopd/naive": ("ChoP'D, dense", ORANGE, 2),
         "dfc/fast": ("CP factors", BLACK, 2), "chopd/fast": ("ChoP'D", BLUE, 2)}


def chopd_boxes(run):
    table = run.read("chopd-boxes")
    sheet = Sheet("Time of the means over one box a channel", high=490, foot=[
        "96 planes of 56×56 tokens, one thread, float.  Bars: quartiles.",
        "Loops leave out what lies off the grid, so they grow more slowly once boxes are as large as it is.", plain(table.measured())])
    top = max(float(row["median_seconds"]) for row in table.rows)
    panel = sheet.panel(76, 56, 512, sheet.above_foot(), x=(0.9, 130), y=(3e-5, top * 2), ytics=TIMES, xlabel="box of w×w tokens",
                        xtics=tics((1, 3, 7, 15, 31), lambda w: f"{w}×{w}"))
    panel.upright(56)
    sheet.text(panel.at(56, 1)[0] - 6, panel.bottom - 12, "the grid", FAINT, "right", 12)
    ends = []
    for key, name, colour in (("direct", "loops, w^2", VERMILION), ("axes", "loops by axes, w", ORANGE),
                              ("fractional", "sums, edges in tokens", SKY), ("whole", "sums, whole tokens", BLUE)):
        rows = [row for row in table.rows if row["way"] == key]
        points = [(int(row["side"]), float(row["median_seconds"])) for row in rows]
        panel.line(points, colour, quartiles=[(float(row["lower_quartile"]), float(row["upper_quartile"])) for row in rows])
        ends.append((*points[-1], name, colour))
    sheet.label_ends(panel, ends)
    return sheet.drawing()


def chopd_error(run):
    """An error of 0 is drawn at the floor, below a gap in the axis."""
    table, floor = run.read("chopd-error"), 2e-9
    largest = max(int(row["edge"]) for row in table.rows)
    sheet = Sheet("A mean over a box, in float: relative error", wide=820, high=430, foot=[
        "Numbers between 0 and 1; root mean square at 1000 boxes on the grid.  Dashed: u, one rounding."])
    errors = {floor: "0"} | {10.0 ** n: f"10^{{{n}}}" for n in range(-8, -1)}
    for n, side in enumerate(("1", "3", "9", "half")):
        panel = sheet.panel(66 + 154 * n, 86, 206 + 154 * n, sheet.above_foot(), x=(6.5, largest * 1.3), y=(floor, 3e-2),
                            xtics=tics((8, 32, 128, 512)), ytics=errors if n == 0 else dict.fromkeys(errors, ""),
                            heading="half the grid" if side == "half" else f"{side}×{side}")
        panel.line([(6.5, 2.0 ** -24), (largest * 1.3, 2.0 ** -24)], FAINT, 1, 2, 0)
        gap = panel.at(6.5, floor * 2.3)[1]
        sheet.strokes += [(panel.left - 5, gap + at, 10, -5, INK) for at in (0, 5)]
        ends = []
        for way, name, colour in (("float", "integral image", VERMILION), ("double", "table in double", BLACK), ("axes", "the fast form", BLUE)):
            points = [(int(row["edge"]), max(float(row["error"]), floor)) for row in table.rows if (row["way"], row["side"]) == (way, side)]
            panel.line(points, colour, dot=0.4)
            ends.append((*points[-1], name, colour))
    sheet.label_ends(panel, ends, 14)
    sheet.text(374, panel.bottom + 52, "side of the grid, in tokens", INK, "center")
    return sheet.drawing()


def chopd_rank(run):
    """Curves end at the floor or at the right; names stand where theirs is alone."""
    table, floor = run.read("chopd-rank"), 1e-3
    last = max(int(row["rank"]) for row in table.rows)
    first = table.rows[0]
    share = {percent: percent / 100 * int(first["dense"]) / (int(first["factors"]) / int(first["rank"])) for percent in range(0, 30, 5)}
    sheet = Sheet("W_{imncd}  as a sum of R terms: relative error", wide=760, high=500, foot=[
        f"W is {table.notes['size'].replace(' ', '×')}: 4 images, 4×4 tokens, 8 channels.  Nothing is trained.  "
        "Convolutions: the same W for all images.", "Scores ×4: self-attention that is four times as sure of its keys."])
    percents = {v / 100: f"{v:g} %" for v in (100, 30, 10, 3, 1, 0.3, 0.1)}
    panel = sheet.panel(76, 104, 680, sheet.above_foot(), x=(0, last), y=(floor, 1.15), xtics=tics(range(0, last + 1, 64)),
                        ytics=percents, log="y", xlabel="rank R")
    sheet.text((panel.left + panel.right) / 2, 60, "numbers in the factors, of those in W", INK, "center")
    for percent, rank in share.items():
        if rank <= last:
            x, y = panel.at(rank, 1.15)
            sheet.text(x, y - 18, f"{percent} %" if percent else "0", INK, "center")
            sheet.strokes.append((x, y, 0, -7, INK))
    sheet.strokes.append((panel.left, panel.top, panel.right - panel.left, 0, INK))
    panel.upright(128)
    errors = {}
    for key, colour in (("attention", BLUE), ("sharp", SKY), ("convolution", VERMILION), ("depthwise", ORANGE), ("pointwise", GREEN), ("noise", FAINT)):
        errors[key] = [(int(row["rank"]), float(row["error"])) for row in table.rows if row["tensor"] == key]
        panel.line(cut(errors[key], floor), colour)

    def name(text, rank, error, colour, anchor="right", down=0):
        x, y = panel.at(rank, error)
        sheet.text(x, y + down, text, colour, anchor, 13)
    at = {key: lambda rank, key=key: [e for r, e in errors[key] if r <= rank][-1] for key in errors}
    name("self-attention", 58, at["attention"](64), BLUE, down=4)
    name("scores ×4", 217, 0.0026, SKY, "left")
    name("3×3 convolution", 196, at["convolution"](192), VERMILION, "left", -10)
    name("noise", last * 1.01, at["noise"](last), FAINT, "left")
    name("depth-wise 3×3", 112, 0.0033, ORANGE)
    name("point-wise", 112, 0.0021, GREEN)
    name("rank of both: 128", 112, 0.0014, FAINT)
    return sheet.drawing()


def cut(points, floor):
    """A curve up to where it meets the floor, on a logarithmic axis."""
    kept = []
    for (a, high), (b, low) in zip(points, points[1:] + [(0, 1)]):
        kept.append((a, high))
        if low < floor:
            share = math.log(high / floor) / math.log(high / max(low, 1e-30))
            return kept + [(a + share * (b - a), floor)]
    return kept


# ---- 5: HiLo --------------------------------------------------------------------------------------

def hilo_tables(run):
    bare = "h_qkv_b,h_proj_b,l_q_b,l_kv_b,l_proj_b"
    stage, layer = "--channels 384 --heads 12", "--channels 768 --heads 12 --grid 14x14"       # LITv2-S's third; of Table 10
    grids, rounds, each, planes, lows = "14x14 28x28 56x56", 1, 400, "14x14 28x28", range(0, 13, 2)
    if run.full:
        grids, rounds, each, planes, lows = "14x14 28x28 42x42 56x56 84x84 112x112", 9, 800, "14x14 56x56", range(13)
    run.table("hilo")
    run.sweep("s2", f"hilo {stage} --without {bare} --window 2 --form naive fast --grid {grids}", 90)
    run.sweep("s4", f"hilo {stage} --without {bare} --window 4 --form fast --grid {grids}", 90)
    run.sweep("msa", f"msa {stage} --without b_qkv,b_o,rpe --form fast --grid {grids}", 90)
    run.sweep("window", f"msa {stage} --without b_qkv,b_o,rpe --window 7 --form fast --grid {grids}", 90)
    run.sweep("sra", f"sra {stage} --without b_q,b_kv,sr_b,b_o --reduction 2 --form fast --grid {grids}", 90)

    # The layers of Table 10, alternately.
    run.table("hilo-layers")
    for _ in range(rounds):
        run.sweep("hilo", f"hilo {layer} --without {bare} --form fast", each)
        run.sweep("window", f"msa {layer} --without b_qkv,b_o,rpe --window 7 --form fast", each)
        run.sweep("sra", f"sra {layer} --without b_q,b_kv,sr_b,b_o --reduction 2 --form fast", each)
        run.sweep("msa", f"msa {layer} --without b_qkv,b_o,rpe --form fast", each)

    # Heads of Lo-Fi from none to all; a little is added so that rounding down finds them.
    run.table("hilo-alpha")
    for low in lows:
        alpha = f"{(low + 0.01) / 12 if low < 12 else 1:.4f}"
        run.sweep(str(low), f"hilo --channels 768 --heads 12 --without {bare} --alpha {alpha} --form fast --grid {planes}", 400)
    run.map("hilo-cost")
    run.map("hilo-spectrum")
    run.map("hilo-alias")


HILO = {"s2/naive": ("as N×N, s = 2", VERMILION, 1.5), "msa/fast": ("self-attention", BLACK, 1.5),
        "window/fast": ("7×7 windows", ORANGE, 1.5), "sra/fast": ("SRA", GREEN, 1.5),
        "s2/fast": ("HiLo, s = 2", BLUE, 2.5), "s4/fast": ("HiLo, s = 4", SKY, 1.5)}


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def hilo_layers(run):
    """Images a second over HiLo's: here, in the paper, and by arithmetic.  The table has every series once a round."""
    table = run.read("hilo-layers")
    paper = {row["row"]: float(row["value"]) for row in Table(PUBLISHED).rows if (row["table"], row["quantity"]) == ("10", "cpu")}
    took = {key: median([float(r["median_seconds"]) for r in table.rows if r["series"] == key]) for key in ("msa", "window", "sra", "hilo")}
    work = {row["series"]: int(row["multiply_adds"]) for row in table.rows}
    sheet = Sheet("Images per second of one layer, HiLo's being 1", high=430, foot=[
        "14×14 tokens, 768 channels, 12 heads, one image, one thread, float.", plain(table.measured())])
    sheet.legend([("measured here", BLUE), ("in the paper, on a Core i9-10900X", ORANGE), ("│ by multiply-adds alone", INK)], 56)
    left, unit, bars = 130, 500, []
    for n, (key, name, printed) in enumerate((("msa", "self-attention", "MSA"), ("window", "7×7 windows", "Local Window"), ("sra", "SRA", "SRA"),
                                              ("hilo", "HiLo", "HiLo"))):
        y = 96 + 72 * n
        ours, theirs, sums = took["hilo"] / took[key], paper[printed] / paper["HiLo"], work["hilo"] / work[key]
        bars += [(left, left + unit * ours, y, y + 22, BLUE), (left, left + unit * theirs, y + 24, y + 46, 0x996300)]
        sheet.text(left - 10, y + 23, name, INK, "right")
        sheet.text(left + 8, y + 11, f"{ours:.2f}   {took[key] * 1e3:.2f} ms", WHITE, "left", 13)
        sheet.text(left + 8, y + 35, f"{theirs:.2f}", WHITE, "left", 13)
        bars.append((left + unit * sums - 1, left + unit * sums + 1, y - 5, y + 51, INK))
    sheet.strokes.append((left, 84, 0, 290, INK))
    sheet.blocks["bars"] = bars
    return "bars", *sheet.drawing()[1:]


def hilo_alpha(run):
    """Time and multiply-adds against Lo-Fi's heads; a panel for each grid, its numbers over those of no head at all."""
    table = run.read("hilo-alpha")
    sheet = Sheet("One layer against the share of its heads, over that of windows alone", high=450, foot=[
        "768 channels, s = 2, batch 1, one thread, float.  Bars: quartiles.", plain(table.measured())])
    sheet.legend([("time", BLUE), ("multiply-adds, by formula", ORANGE)], 56)
    for n, grid in enumerate(dict.fromkeys(row["grid"] for row in table.rows if row["series"] == "0")):
        rows = [row for row in table.rows if row["grid"] == grid]
        none = float(rows[0]["median_seconds"])
        times = [[float(row[c]) / none for c in ("median_seconds", "q1_seconds", "q3_seconds")] for row in rows]
        panel = sheet.panel(50 + 346 * n, 104, 354 + 346 * n, sheet.above_foot(), x=(-0.3, 12.6), y=(0, 1.15 * max(t[2] for t in times)),
                            xtics=tics(range(0, 13, 2)), ytics=tics((0, 0.5, 1), str), log="", heading=f"{grid.replace('x', '×')} tokens",
                            xlabel="heads of Lo-Fi, of 12")
        sheet.text(panel.right, panel.top - 16, f"1 is {none * 1e3:.3g} ms", FAINT, "right", 12)
        panel.upright(10)
        sheet.text(panel.at(9.8, 0)[0], panel.bottom - 16, "α = 0.9", FAINT, "right", 13)
        heads = [int(row["series"]) for row in rows]
        work = [int(row["multiply_adds"]) for row in rows]
        panel.line([(h, w / work[0]) for h, w in zip(heads, work)], ORANGE, dot=0.35)
        panel.line([(h, t[0]) for h, t in zip(heads, times)], BLUE, quartiles=[t[1:] for t in times])
    return sheet.drawing()


def hilo_cost(run):
    """Nothing here is measured.  Circles: where Lo-Fi costs as much as Hi-Fi, N = s^2 (C (1 - 1/s^2) + s^2)."""
    rows = [{key: float(value) for key, value in row.items()} for row in run.read("hilo-cost").rows]
    sheet = Sheet("Multiply-adds of one layer, in 10^9, by the edge of the image in pixels", wide=760, high=430, foot=[
        "384 channels, 12 heads, half of them Hi-Fi's; 16×16 pixels a token.  By formula."])
    for n, s in enumerate((2, 4, 0)):
        panel = sheet.panel(40 + 232 * n, 86, 224 + 232 * n, sheet.above_foot(), x=(256, 1280), y=(0, 6.6), xtics=tics((512, 1024), str),
                            ytics=tics((0, 2, 4, 6), str if n == 0 else lambda v: ""), log="", heading=f"windows of {s}×{s}" if s else "both", xlabel="edge, in pixels")
        columns = [(f"high_{s}", "Hi-Fi", VERMILION), (f"low_{s}", "Lo-Fi", BLUE)] if s else \
            [("msa", "self-attention", BLACK), ("both_2", "s = 2", PURPLE), ("both_4", "s = 4", GREEN), ("both_8", "s = 8", ORANGE)]
        for column, _, colour in columns:
            panel.line([(row["pixels"], row[column]) for row in rows], colour, dot=0)
        if s:
            N = s * s * (384 * (1 - 1 / s ** 2) + s * s)
            cost = N * 384 * (1.75 * 384 + s * s) / 1e9
            panel.line([(16 * math.sqrt(N), cost)], INK, 0, dot=1, point=6)
            x, y = panel.at(16 * math.sqrt(N), cost)
            sheet.text(x - 6, y - (24 if s == 2 else 16), f"N = {N:.0f}", FAINT, "center" if s == 2 else "right", 12)
            for name, pixels, height, colour in (("Lo-Fi", 1090, 4.1, BLUE), ("Hi-Fi", 1270, 0.85, VERMILION)) if s == 2 else \
                    (("Lo-Fi", 1270, 0.5, BLUE), ("Hi-Fi", 870, 1.5, VERMILION)):
                sheet.text(*panel.at(pixels, height), name, colour, "right")
        else:
            sheet.label_ends(panel, [(1280, rows[-1][column], name, colour) for column, name, colour in columns[1:]], 14)
            sheet.text(*panel.at(755, 6.15), "self-attention", BLACK, "right", 13)
    return sheet.drawing()


# ---- 6: the gap -----------------------------------------------------------------------------------

# The forms whose exponents and ratios are taken: key, name, table, series, and by form the formulas of multiply-adds and
# of memory in reals that are printed beside the exponents.
OPERATORS = [
    ("msa", "self-attention", "lisa", "msa", {"naive": ("$2 N^2 C$", "$N^2$"), "fast": ("the same", "$N C$")}),
    ("lisa", "LiSA, Eq. 10", "lisa", "eq10", {"naive": ("$2 N^2 C D$", "$N C D / h$"), "fast": (r"$N C D \log N$", "$N C D / h$")}),
    ("structsa", "StructSA, D = 4", "structsa", "d4", {"naive": ("$N^2 C (1 + 2 D M + M)$", "$N^2 (C / h + D)$"),
                                                       "fast": ("$2 N^2 C D$", "$N C$")}),
    ("elsa", "ELSA, K = 7", "elsa", "k7", {"naive": ("$N K^2 (2 h + 2) C$", "$N K^2 (3 C + h)$"),
                                           "fast": ("the same, on the grid", "$N C$")}),
    ("chopd", "ChoP'D", "chopd", "chopd", {"naive": ("$3 N^2 C D R$", "$N^2 C D$"),
                                           "fast": (r"$N R (C + D + 6 G) + \varphi$", r"$N R + \varphi$")}),
    ("hilo", "HiLo, s = 2", "hilo", "s2", {"naive": ("$2 N^2 C$", "$2 N^2$"),
                                           "fast": ("$2 N^2 D_L / s^2 + 2 N s^2 D_H$", "$N C$")})]


def gap_tables(run):
    """The gap itself is worked out of the chapters' tables.  The chapter's own tables name these planes as columns."""
    bare, qkv = "--without b_qkv,b_o,rpe", "--without b_qkv,w_o,b_o"
    hilo, pooled = "--without h_qkv_b,h_proj_b,l_q_b,l_kv_b,l_proj_b", "--without l_q_b,l_kv_b,l_proj_b"
    tiny, dense = "--form naive fast --grid 1x1 2x2 3x3 4x4 6x6 8x8 14x14", "--form naive fast --grid 1x1 2x2 3x3 4x4 6x6 8x8"
    run.table("gap-small")
    for series, words in (("self-attention", f"msa --channels 96 --heads 6 {qkv},rpe {tiny}"),
                          ("LiSA, Eq. 10", f"lisa --channels 96 --heads 6 --sizes D=16 {qkv} {tiny}"),
                          ("StructSA, D = 4", f"structsa --channels 192 --heads 3 --kernel 3x3 --sizes D=4 {qkv} {tiny}"),
                          ("ELSA, K = 7", f"elsa --channels 96 --heads 3 --kernel 7 {qkv} {tiny}"),
                          ("ChoP'D", f"chopd --channels 96 --sizes D=96,R=96,G=4,S=24 {dense}"),
                          ("HiLo, s = 2", f"hilo --channels 384 --heads 12 {hilo} {tiny}")):
        run.sweep(series, words, 300)

    # All of them as one layer of 96 channels.
    run.table("gap-choice")
    planes = "--form fast --grid 7x7 14x14 28x28 56x56 112x112"
    layer = f"--channels 96 --heads 3 {planes}"
    for series, words in (("7×7 windows", f"msa --window 7 {layer} {bare}"), ("ELSA, K = 7", f"elsa --kernel 7 {layer} --without b_qkv,b_o"),
                          ("ChoP'D", f"chopd --channels 96 --sizes D=96,R=96,G=4,S=24 {planes}"),
                          ("LiSA, D = 16", f"lisa --channels 96 --heads 6 --sizes D=16 {planes} --without b_qkv,b_o"),
                          ("HiLo, s = 2", f"hilo {layer} {hilo}"), ("self-attention", f"msa {layer} {bare}"),
                          ("StructSA, D = 4", f"structsa --kernel 3x3 --sizes D=4 {layer} --without b_qkv,b_o")):
        run.sweep(series, words, 300)

    # LiSA's Fig. 4: 96 channels; windows of N/4 tokens, keys and values pooled by 2 x 2.
    run.table("gap-blocks")
    layer = "--channels 96 --heads 6 --form fast"
    for edge in (8, 12, 16, 24, 32, 48, 64, 96, 128) if run.full else (8, 16, 32, 64):
        grid = f"--grid {edge}x{edge}"
        run.sweep("msa", f"msa {layer} {bare} {grid}", 300)
        run.sweep("quarter", f"msa --window {edge // 2} {layer} {bare} {grid}", 300)
        run.sweep("pooled", f"hilo --alpha 1 --window 2 {layer} {pooled} {grid}", 300)
        run.sweep("lisa", f"lisa {layer} --sizes D=16 --without b_qkv,b_o {grid}", 300)

    # The roofs, and the dots below them.
    run.say("compute roofline")
    lines, about = run.program("figures/roofline", 1 if run.full else 0.1), run.about()
    about += [line for line in lines if line.startswith("#")]
    run.write("roofline", about + ["#operator options sizes form grid channels without multiply_adds x_bytes weights_bytes y_bytes "
                                   "workspace_bytes intensity level roof best_seconds reached share".replace(" ", "\t")] +
              [line.partition("\t")[2] for line in lines if line.startswith("form\t")])
    run.write("roofline-levels", about + ["#level\tread_through_bytes\tG_a_second"] +
              ["\t".join(line.split("\t")[1:4]) for line in lines if line.startswith("level\t")])


def gap_derived(run):
    """Tables worked out of others; nothing is timed."""
    gap = fits.Gap(OPERATORS, {name: run.read(name) for name in ("lisa", "structsa", "elsa", "chopd", "hilo")})
    head = fits.head(gap.tables.values())
    run.write("gap", head + list(gap.pairs()))
    run.write("gap-factors", head + list(gap.factors()))
    run.write("gap-fits", head + list(gap.fits()))
    for name, source, quantities in (("gap-loses", "gap-small", ("time", "memory", "runs")),
                                     ("gap-choices", "gap-choice", ("milliseconds", "mebibytes"))):
        table = run.read(source)
        run.write(name, fits.head([table]) + list(fits.by_grid(table, quantities)))
    run.write("gap-goals", fits.goals([Table(os.path.join(HERE, f"versus-goals{machine}.tsv")) for machine in ("", "-zen4", "-zen3")]))
    run.say("count gap-resolution")
    run.write("gap-resolution", run.program("figures/gap-resolution"))
    run.write("gap-resolutions", resolutions(run.read("gap-resolution"), Table(PUBLISHED)))


def resolutions(table, published):
    """What HiLo's Table 4 prints beside what is counted, G of the network by pixels of a side."""
    printed = {row["row"]: row["value"] for row in published.rows if (row["table"], row["quantity"]) == ("4", "flops")}

    def giga(n):
        return f"{n / 1e9:.{2 if n < 1e10 else 1 if n < 1e11 else 0}f}"
    G = {(row["attention"], row["pixels"]): giga(int(row["multiply_adds"])) for row in table.rows}
    yield fits.cells("#attention", "printed, 224", "224", "448", "896", "1792")
    for key, name, row in (("msa", "self-attention", "MSA"), ("window", "windows of 7", "W-MSA"), ("sra", "SRA, s = 2", "SRA"),
                           ("s2", "HiLo, s = 2", "HiLo"), ("s4", "HiLo, s = 4", "")):
        yield fits.cells(name, printed.get(row, ""), *(G.get((key, side), "") for side in ("224", "448", "896", "1792")))


GAP = {"msa": ("self-attention", BLACK), "lisa": ("LiSA", BLUE), "structsa": ("StructSA", GREEN), "elsa": ("ELSA", PURPLE),
       "chopd": ("ChoP'D", VERMILION), "hilo": ("HiLo", ORANGE)}
TIMES_AS = {10.0 ** n: f"{thousands(10 ** n)}×" if n < 4 else f"10^{n}×" for n in range(6)}
GAP_PANELS = {"time": ("times_faster", (0.5, 3e5), "time"), "memory": ("times_smaller", (0.4, 5e3), "peak memory")}


def gap_panel(sheet, table, quantity, place, size, last=True, weight=2.0, dot=0.5):
    """Naive over fast against N.  Nothing is estimated: a line is as long as both forms were measured."""
    column, y, heading = GAP_PANELS[quantity]
    sizes = {n: thousands(n) if last else "" for n in (16, 64, 256, 1024, 4096, 12544)}
    panel = sheet.panel(*place, x=(14, 15000), y=y, xtics=sizes, ytics=TIMES_AS, xlabel="tokens N, on square grids" if last else "")
    sheet.text(panel.left + 10, panel.top + 1.2 * size, heading)
    panel.line([(14, 1), (15000, 1)], INK, 1, 2, 0)
    sheet.text(panel.left + 8, panel.at(14, 1)[1] - 0.75 * size, "even", FAINT, "left", size - 2)
    ends = []
    for key, (name, colour) in GAP.items():
        points = [(int(row["tokens"]), float(row[column])) for row in table.rows if row["series"] == key]
        panel.line(points, colour, weight, dot=dot)
        if points:
            ends.append((*points[-1], name + fits.exponent(*zip(*points)), colour))
    sheet.label_ends(panel, ends, size)


def gap(run):
    table = run.read("gap")
    sheet = Sheet("How many times as fast the fast form is, and how many times smaller", high=800, foot=[
        "The layers of chapters 1 to 5, one thread, float.  Lines end where the naive form would take too long or too much.",
        "Exponents of N in the ratio are fitted over the last factor of 16 in N, where four sizes or more lie in it.",
        plain(table.measured())])
    gap_panel(sheet, table, "time", (84, 58, 530, 366), 14, False)
    gap_panel(sheet, table, "memory", (84, 396, 530, sheet.above_foot()), 14)
    return sheet.drawing()


def gap_slide(quantity):
    """One panel, in letters for the last row of a lecture hall; title and remarks are the slide's."""
    def layout(run):
        sheet = Sheet(GAP_PANELS[quantity][2], 1240, 590, heading="", letters=23)
        gap_panel(sheet, run.read("gap"), quantity, (130, 18, 910, 480), 22, True, 4, 0.8)
        return sheet.drawing()
    return layout


def operator_slide(table_name, series):
    """Seconds and bytes of the naive form and of the fast one against the number of tokens."""
    def layout(run):
        table = run.read(table_name)
        sheet = Sheet("time and peak memory", 1240, 560, heading="", letters=24)
        for n, (column, heading, ytics) in enumerate((("median_seconds", "time", {v: text if k % 2 == 0 else "" for k, (v, text) in enumerate(TIMES.items())}),
                                                      ("peak_bytes", "peak memory", {2.0 ** k: fits.amount(2.0 ** k).replace(".0", "") for k in range(10, 40, 4)}))):
            points = {form: [(int(row["tokens"]), float(row[column])) for row in table.rows if (row["series"], row["form"]) == (series, form)]
                      for form in ("naive", "fast")}
            values = [value for line in points.values() for _, value in line]
            first, last = points["naive"][0][0], points["fast"][-1][0]
            panel = sheet.panel(134 + 640 * n, 64, 576 + 620 * n, 440, x=(first / 1.2, last * 1.2), y=(min(values) / 2, max(values) * 6),
                                xtics=tics(last // 8 ** k for k in range(5) if last % 8 ** k == 0 and last // 8 ** k >= first), ytics=ytics,
                                heading=heading, xlabel="tokens N")
            for form, colour in (("naive", VERMILION), ("fast", BLUE)):
                panel.line(points[form], colour, 4, dot=0.8)
                x, y = panel.at(*points[form][-1])
                sheet.text(x - 8, y - 24, form, colour, "right")
        return sheet.drawing()
    return layout


BLOCKS = {"msa/fast": ("self-attention", BLACK, 2), "quarter/fast": ("windows of N/4", ORANGE, 2),
          "pooled/fast": ("keys pooled 2×2", GREEN, 2), "lisa/fast": ("LiSA", BLUE, 2)}


def gap_blocks(quantity):
    """LiSA's Fig. 4 by our fast forms."""
    title = "LiSA’s Fig. 4" + {"work": "a by our forms: multiply-adds of one layer", "time": "b by our forms: time of one layer",
                               "memory": "c by our forms: memory of one layer"}[quantity]

    def remark(sweep):
        if quantity == "memory":
            return "No fast form holds a map, so that nothing here is quadratic."
        return f"Windows of N/4 tokens cost less than LiSA {sweep.ahead('quarter/fast', 'lisa/fast')}, " \
               f"pooled keys {sweep.ahead('pooled/fast', 'lisa/fast')}."
    return lambda run: scaling(run.read("gap-blocks"), quantity, BLOCKS, "C = 96, 6 heads, D = 16 in LiSA, batch 1, fast forms", remark,
                               guides=quantity == "time", title=title)


def gap_resolution(run):
    """What HiLo's Fig. 3 asks: multiply-adds of the network, counted, with the paper's Table 4 at 224 pixels as rings; time
    and memory of one layer of that stage, measured for chapter 5."""
    table, layers = run.read("gap-resolution"), run.read("hilo")
    lines = {"msa": ("self-attention", BLACK), "sra": ("SRA, 2×2", GREEN), "s2": ("HiLo, s = 2", BLUE), "s4": ("HiLo, s = 4", SKY),
             "window": ("7×7 windows", ORANGE)}
    sheet = Sheet("LITv2-S on larger images, by the attention of its third stage", wide=760, high=470, letters=14, foot=[
        "Rings: Table 4 of the paper, at 224 pixels; its Fig. 3 gives no numbers.  One image, one thread, float, fast forms.",
        plain(layers.measured())])
    sheet.legend(lines.values(), 56)
    for n, (column, heading, y, ytics) in enumerate((
            ("multiply_adds", "G multiply-adds, network", (2, 2000), tics((4, 10, 100, 1000), str)), ("median_seconds", "time, one layer", (3e-4, 4), TIMES),
            ("peak_bytes", "peak memory, one layer", (2 ** 21, 2 ** 27), {2.0 ** k: f"{2 ** (k - 20)} MiB" for k in range(21, 29, 2)}))):
        panel = sheet.panel(52 + 256 * n, 100, 232 + 256 * n, sheet.above_foot(), x=(200, 2050), y=y, xtics=tics((224, 448, 896, 1792), str),
                            ytics=ytics, heading=heading, xlabel="pixels of a side")
        for key, (_, colour) in lines.items():
            points = [(int(row["pixels"]), int(row[column]) / 1e9) for row in table.rows if row["attention"] == key] if n == 0 else \
                [(16 * math.sqrt(int(row["tokens"])), float(row[column])) for row in layers.rows if (row["series"], row["form"]) == (key, "fast")]
            panel.line(points, colour, dot=0.4)
        if n == 0:
            panel.line([(224, float(row["value"])) for row in Table(PUBLISHED).rows if (row["table"], row["quantity"]) == ("4", "flops")],
                       INK, 0, dot=1.1, point=6)
    return sheet.drawing()


CALLED = {"msa": "self-attention", "msa-window": "7×7 windows", "lisa": "LiSA", "structsa": "StructSA", "elsa": "ELSA", "chopd": "ChoP'D",
          "dfc-cp": "CP factors", "hilo": "HiLo", "sra": "SRA"}


def roofline(slide=False):
    """Multiply-adds a second against multiply-adds for each byte: a level of memory is a slope, the vectors of the
    processor are the flat roof.  Full dots are fast forms, hollow ones naive."""
    def layout(run):
        table = run.read("roofline")
        rates = {row["level"]: float(row["G_a_second"]) for row in run.read("roofline-levels").rows}
        peak = rates.pop("multiply-adds")
        sheet = Sheet("How near to what the machine allows", 1240, 590, heading="", letters=22) if slide else \
            Sheet("How near to what the machine allows", high=660, foot=[
                "One thread, float.  Full: fast forms, and how much of their roof they reach; hollow: naive ones.",
                "Slopes: levels of memory, and GB/s read from them.", plain(table.measured())])
        small = 18 if slide else 12
        above = 3                   # times the roof: some names stand there
        lowest = 0.6 * min(float(row["reached"]) for row in table.rows)
        place = (100, 40, 1210, 490) if slide else (66, 84, 700, sheet.above_foot())
        panel = sheet.panel(*place, x=(0.05, 6000), y=(lowest, peak * above), ytics=tics((1, 10, 100, 1000)) | {0.1: "0.1"},
                            xtics={4.0 ** n: f"1/{4 ** -n}" if n < 0 else thousands(4 ** n) for n in range(-2, 7)},
                            heading="G multiply-adds a second", xlabel="multiply-adds for each byte of input, weights, output and workspace")
        sheet.text(panel.left + 8, panel.at(1, peak)[1] - small - 4, f"vectors from registers: {peak:.0f}", FAINT, "left", small + 1)
        slant = math.degrees(math.atan2((panel.bottom - panel.top) / math.log(peak * above / lowest), (panel.right - panel.left) / math.log(6000 / 0.05)))
        x, before = 0.058, math.inf
        for level, rate in rates.items():
            knee = peak / rate
            panel.line([(0.05, rate * 0.05), (knee, peak), (6000, peak)], FAINT, 1.2, dot=0)
            x = 2.5 * x if before < 2 * rate else 0.058             # further on where the slope before is near
            before = rate
            at = panel.at(x, rate * x)
            sheet.text(at[0] - small * 0.2, at[1] - small * 1.3, f"{level}  {rate:.0f}", FAINT, slant, small)
        dots = []
        for row in table.rows:
            fast = row["form"] == "fast"
            name = CALLED[row["operator"] + ("-window" if "window" in row["options"] else "")]
            colour = BLUE if fast else VERMILION
            dots.append((float(row["intensity"]), float(row["reached"]), name + (f"  {float(row['share']):.0f} %" if fast else ""), colour, 7 if fast else 6))
        for x, y, _, colour, point in dots:
            panel.line([(x, y)], colour, 0, dot=0.9, point=point)
        names = fits.Names([(*panel.at(x, y), name) for x, y, name, _, _ in dots], small, 14 if slide else 10, (panel.left, panel.top, panel.right, panel.bottom),
                           panel.at(1, peak)[1])
        for (_, _, name, colour, _), (left, middle, stroke) in zip(dots, names.place()):
            sheet.text(left, middle, name, colour, "left", small)
            sheet.strokes += [(*stroke, FAINT)] if stroke else []
        return sheet.drawing()
    return layout


# ---- 7: networks ----------------------------------------------------------------------------------

def networks_tables(run):
    """Whole networks with random weights: where the time goes, by kinds of steps and by resolution; images a second.
    Trained networks: accuracy on a tenth of the test set, or all of it, and maps."""
    runs, sides, images = (9, "224 320 448 576 768", 10000) if run.full else (1, "224 448", 1000)
    run.map("networks-profile", runs)
    run.map("networks-share", (runs + 1) // 2, *sides.split())
    rates(run, runs)
    run.map("networks-maps")
    run.map("networks-accuracy", images)
    for name in ("lisa", "structsa", "elsa", "boxes", "spectrum"):
        run.map("networks-" + name)


def rates(run, runs):
    """Images a second of LITv2, one by one on one thread, beside those that its paper prints; of time and of multiply-adds
    the ratio to LITv2-S's."""
    run.say("measure networks-rate")
    printed = {row["row"]: int(row["value"]) for row in Table(PUBLISHED).rows if (row["table"], row["quantity"]) == ("1", "throughput")}
    rows = []
    for size, side, row in (("s", 224, "LITv2-S"), ("m", 224, "LITv2-M"), ("b", 224, "LITv2-B"), ("b", 384, "LITv2-B up384")):
        grid = f"{side}x{side}"
        for line in run.program("figures/networks-profile", runs, f"litv2-{size}", "fast", grid):
            cell = line.split("\t")
            if cell[2:3] == ["all"]:
                rows.append((cell[0], grid, float(f"{1 / float(cell[4]):.4g}"), printed[row], cell[6]))
    images, paper, cost = rows[0][2], rows[0][3], float(rows[0][4])
    run.write("networks-rate", run.about() + ["#network\tgrid\timages_a_second\tratio\tprinted\tprinted_ratio\tmultiply_adds\tits_ratio"] + [
        fits.cells(network, grid, f"{rate:.4g}", f"{rate / images:.2f}", prints, f"{prints / paper:.2f}", work, f"{cost / float(work):.2f}")
        for network, grid, rate, prints, work in rows])


def networks_share(run):
    """Lines are multiply-adds, by formula; dots are time, where it was measured."""
    table = run.read("networks-share")
    sheet = Sheet("How much of a network its operator is", wide=760, high=460, foot=[
        "Lines: its share of the multiply-adds, by formula.  Dots: its share of the time, one image, one thread.",
        "LiSA’s peaks are sides of 11, 13, 17, 19 and 23 times 2 or 4 tokens, whose transforms take more.", plain(table.measured())])
    panel = sheet.panel(68, 60, 520, sheet.above_foot(), x=(150, 790), y=(0, 100), xtics=tics((160, 224, 320, 448, 576, 672, 768), str),
                        ytics=tics(range(0, 101, 20), "{} %".format), log="", xlabel="side of the image, in pixels")
    ends = []
    for key, name, colour in (("litv2-s", "HiLo in LITv2-S", BLUE), ("elsa-swin-t", "ELSA in ELSA-Swin-T", VERMILION),
                              ("structvit-s-4-1", "StructSA in StructViT-S-4-1", GREEN), ("lisanet-i-t", "LiSA in LiSANet-I-T", PURPLE)):
        rows = [row for row in table.rows if row["network"] == key]
        points = [(int(row["side"]), 100 * float(row["multiply_adds"])) for row in rows]
        panel.line(points, colour, dot=0)
        panel.line([(int(row["side"]), 100 * float(row["time"])) for row in rows if float(row["time"]) >= 0], colour, 0, dot=0.8)
        ends.append((*points[-1], name, colour))
    sheet.label_ends(panel, ends, 14)
    return sheet.drawing()


def networks_spectrum(run):
    """Frequencies of six channels of Hi-Fi and of Lo-Fi, and below how the energy of what enters and of both branches is
    spread over them."""
    blocks = fits.blocks(run.table_path("networks-spectrum"))
    sheet = Sheet("Frequencies of Hi-Fi and Lo-Fi, with random weights and with trained ones", wide=760, high=610, foot=[
        "The second block of a tiny network, four heads, s = 2, α = ½; 100 images of 14×14 tokens.  Above: logarithms of",
        "magnitudes, zero frequency in the middle, one scale for all.  Below: the energy by frequency, along the axis with",
        "more of it, of what enters (x) and of both branches."], picture_low=-3, picture_high=4, picture_side=50.0, picture_cells=14)
    x_of, pictures_at = [84, 430], []
    for n, (weights, heading) in enumerate((("random", "random weights"), ("trained", "trained"))):
        sheet.text(x_of[n], 58, heading)
        for b, branch in enumerate(("Hi-Fi", "Lo-Fi")):
            for c in range(6):
                pictures_at.append((x_of[n] + 53 * c, 72.0 + 55 * b))
                sheet.blocks[f"picture {len(pictures_at)}."] = blocks[f"{weights} {branch} {c}"]
        rings = blocks[f"{weights} rings"]
        shares = {v: f"{v:g} %" for v in (0.01, 0.1, 1, 10, 100)}
        panel = sheet.panel(x_of[n], 222, x_of[n] + 262, sheet.above_foot(), x=(-0.2, 7.4), y=(0.01, 100), xtics=tics(range(8), str),
                            ytics=shares if n == 0 else dict.fromkeys(shares, ""), log="y", heading="share of the energy" if n == 0 else "",
                            xlabel="cycles across the image")
        panel.upright(3.5)
        ends = []
        for column, name, colour in ((1, "x", FAINT), (2, "Hi-Fi", VERMILION), (3, "Lo-Fi", BLUE)):
            points = [(row[0], row[column]) for row in rings]
            panel.line(points, colour, dot=0.4)
            ends.append((*points[-1], name, colour))
        sheet.label_ends(panel, ends, 14)
    for b, (branch, colour) in enumerate((("Hi-Fi", VERMILION), ("Lo-Fi", BLUE))):
        sheet.text(74, 97 + 55 * b, branch, colour, "right")
    sheet.settings |= {"picture_x": [float(x) for x, _ in pictures_at], "picture_y": [y for _, y in pictures_at]}
    return sheet.drawing()


# ---- ladders of chapters 0 and 1 ------------------------------------------------------------------

LADDERS = {"msa": ("Self-attention", "--grid 56x56 --channels 64 --without rpe,b_qkv,w_o,b_o"),
           "lisa": ("LiSA", "--grid 28x28 --channels 96 --heads 6 --sizes D=16 --without b_qkv,w_o,b_o")}


def ladder_tables(run):
    for operator, (_, layer) in LADDERS.items():
        run.map("ladder", operator, *layer.split(), "--repeats", 200, "--seconds", run.share(30), name="ladder-" + operator)


def ladder(operator):
    def layout(run):
        table = run.read("ladder-" + operator)

        def name(row):
            return row["rung"] if row["threads"] == "1" else f"fast, {row['threads']} threads" if row["rung"] == "fast" else f"{row['rung']} ({row['threads']})"
        rows = [(name(row), row) for row in table.rows if row["rung"] != "projections"]
        words = table.notes["ladder"].split(" --without")[0]
        columns = [("multiply-adds", "multiply_adds", BLUE, scaled), ("bytes asked for", "asked_bytes", BLUE, scaled),
                   ("bytes moved", "moved_bytes", BLUE, scaled), ("time", "median_seconds", ORANGE, seconds)]
        return counts(f"{LADDERS[operator][0]}, from the equation to nearly the fast form", columns,
                      [("", [line for line in rows if line[1]["rung"] != "fast"]), ("", [line for line in rows if line[1]["rung"] == "fast"])],
                      [plain(table.measured()), f"Layer: {words}; projections are in it, not in the bytes.",
                       "Asked for: by loops, of the caches.  Moved: into the first cache, or out of it.  Lines: factors of 10."], 240, 134, 720)
    return layout


CHAPTERS = {
    "ground": Chapter(ground_tables, {"ground-error": ground_error} | requests("ground"),
                      ["msa --grid 8x8 --channels 32 --heads 2 --without rpe,w_o,b_o,b_qkv"]),
    "lisa": Chapter(lisa_tables, scalings("lisa", ("time", "memory", "work"), LISA, "C = 96, 6 heads, D = 16, batch 1", {
        "time": lambda sweep: f"Self-attention is faster than Eq. 10 by FFT {sweep.ahead('msa/fast', 'eq10/fast')}, "
                              f"Eq. 7 {sweep.ahead('msa/fast', 'eq7/fast')}.",
        "memory": "Self-attention never holds N×N here, and runs with windows on one line.  The FFT forms hold spectra."},
        reasons={"eq7/naive": "above", "eq10/naive": "below"}, guides=True) |
        pictures("lisa-border", "lisa-kernels") | {"lisa-error": lisa_error} | requests("lisa"),
        ["lisa --grid 14x14 --channels 32 --heads 2 --sizes D=8 --without b_qkv,w_o,b_o"]),
    "structsa": Chapter(structsa_tables, scalings("structsa", ("time", "memory", "work"), STRUCTSA, "C = 192, 3 heads, windows 3×3, batch 1", {
        "time": "Thin and thick: D = 1 and 8.", "memory": "Thin and thick: D = 1 and 8; the tiled ones meet, and so do the explicit ones.",
        "work": "Thin and thick: D = 1 and 8; permuted with D = 1 costs what self-attention costs."}, work=STRUCTSA_WORK) |
        {"structsa-shape": structsa_shape} | pictures("structsa-kernels", "structsa-motion") | requests("structsa"),
        ["structsa --grid 4x8 --channels 16 --heads 2 --kernel 3x3 --sizes D=4 --without b_qkv,w_o,b_o"]),
    "elsa": Chapter(elsa_tables, scalings("elsa", ("time", "memory"), ELSA, "C = 96, 3 heads, with a ghost head, batch 1", {
        "time": "Thin lines: K = 3.", "memory": "Thin lines: K = 3."}) |
        {"elsa-kernel": elsa_kernel} | pictures("elsa-border", "elsa-filters") | requests("elsa"),
        ["elsa --grid 16x16 --channels 24 --heads 3 --kernel 7"]),
    "chopd": Chapter(chopd_tables, scalings("chopd", ("time", "memory", "work"), CHOPD, "C = D = R = 96, G = 4, gate of 7×7 and S = 24, batch 1", {
        "time": "Dense forms compute W_{imncd} first.  ChoP'D pays its gate, the same for every N.",
        "memory": "Dense forms hold W_{imncd}: N^2 C D numbers.", "work": "Dense forms compute W_{imncd} from its factors, then apply it."}) |
        {"chopd-boxes": chopd_boxes, "chopd-error": chopd_error, "chopd-rank": chopd_rank} | pictures("chopd-tensor") | requests("chopd"),
        ["chopd --grid 14x14 --channels 8 --batch 2 --sizes R=8,D=8,G=4,S=2", "fc --channels 8 --batch 8 --sizes M=16,N=16,D=32",
         "dfc-cp --channels 4 --batch 2 --sizes M=19,N=100,D=3,R=40"]),
    "hilo": Chapter(hilo_tables, scalings("hilo", ("time", "memory"), HILO, "384 channels, 12 heads, α = 0.9, batch 1", {
        "time": "Bars at the points: quartiles.", "memory": "Self-attention runs with windows on one line."}) |
        {"hilo-layers": hilo_layers, "hilo-alpha": hilo_alpha, "hilo-cost": hilo_cost} | pictures("hilo-spectrum", "hilo-alias") | requests("hilo"),
        ["hilo --grid 9x15 --window 2 --heads 4 --alpha 0.5 --batch 2 --channels 32",
         "sra --grid 16x10 --reduction 2 --heads 2 --batch 2 --channels 16 --without w_o,b_o"]),
    "gap": Chapter(gap_tables, {"gap": gap, "roofline": roofline(), "gap-resolution": gap_resolution} |
                   {f"gap-blocks-{quantity}": gap_blocks(quantity) for quantity in ("work", "time", "memory")},
                   derived=gap_derived, files=("gap", "roofline")),
    "networks": Chapter(networks_tables, {"networks-share": networks_share, "networks-spectrum": networks_spectrum} |
                        pictures("networks-maps", "networks-lisa", "networks-structsa", "networks-elsa", "networks-boxes")),
    "ladder": Chapter(ladder_tables, {"ladder-msa": ladder("msa"), "ladder-lisa": ladder("lisa")}),
}
for name, chapter in CHAPTERS.items():
    chapter.files = chapter.files or (name,)

SLIDES = {"gap-time": gap_slide("time"), "gap-memory": gap_slide("memory"), "roofline": roofline(slide=True)} | {
    f"gap-{key}": operator_slide(table, series) for key, _, table, series, _ in OPERATORS if key != "msa"}
