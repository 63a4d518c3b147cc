"""chapters.py -- what each chapter measures and draws

CHAPTERS: by name, a Chapter with
    tables    measures its sweeps and maps, for as long as the budget allows
    layers    on which the requests of its CUDA versions are counted
    drawings  by the figure's name, its layout: a function of the run, which reads tables
    derived   works out tables of others, without measuring
    files     how its files begin
SLIDES: by name, layouts in letters for the last row of a lecture hall, without titles and remarks.
"""
import math
import os
import statistics

import fits
import tiles
from fits import Table
from panels import BYTES, TIMES, counts, scaled, scaling, seconds, thousands, tics
from sheet import BLACK, BLUE, FAINT, FIGURES, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION, WHITE, WRITTEN, Sheet

CHAPTERS, SLIDES = {}, {}
BOTH = (("median_seconds", "time", TIMES), ("peak_bytes", "peak memory", BYTES))
PUBLISHED = Table(os.path.join(FIGURES, "..", "reference", "published", "hilo.tsv"))


class Chapter:
    def __init__(self, name, tables, layers, *drawings, derived=lambda run: None, files=()):
        self.tables, self.layers, self.derived, self.files = tables, layers, derived, files or (name,)
        self.drawings = {figure: layout for group in drawings for figure, layout in group.items()}
        if layers:
            self.drawings[name + "-cuda"] = lambda run: requests(run.read(name + "-cuda"))
        CHAPTERS[name] = self


def pictures(*names):
    """Figures of tiles.py, each from the table of its name."""
    return {name: lambda run, name=name: getattr(tiles, name.replace("-", "_"))(run.read(name)) for name in names}


def scalings(chapter, quantities, lines, layer, remarks, work=None, **options):
    """A chapter's time, memory and work against N; time has the chapter's name."""
    def drawn(quantity):
        chosen = work if work and quantity == "work" else lines
        return lambda run: scaling(run.read(chapter), quantity, chosen, layer, remarks.get(quantity, ""), **options)
    return {chapter + f"-{quantity}" * (quantity != "time"): drawn(quantity) for quantity in quantities.split()}


def requests(table):
    """A chapter's counts of what CUDA versions ask of the memory."""
    columns = [("sectors", "sectors", BLUE, scaled), ("bytes asked for", "asked", BLUE, scaled),
               ("bytes touched", "touched", BLUE, scaled), ("shared cycles", "wavefronts", ORANGE, scaled)]
    groups = [(note, [(row["version"], row) for row in rows]) for note, rows in table.sections]
    return counts("What each version asks of the memory", columns, groups, [
        "Counted in one run, in float: the same on every machine.  Cycles of shared memory by a model.",
        "Sectors: of 32 bytes, as often as warps ask.  Touched: each sector once a launch.",
        "Not counted: the library's products and transforms.  Lines: factors of 10."], 172, 640)


# ---- 0: attention ----------------------------------------------------------------------------------------------------

def attention_tables(run):
    """Rounding errors in both precisions; and PyTorch's, where it is there."""
    naive, keys = (12544, (64, 256, 1024, 3136, 12544, 50176)) if run.full else (3136, (64, 256, 1024, 3136, 12544))
    run.map("attention-error", naive, *keys)


def attention_error(run):
    table = run.read("attention-error")
    sweep = fits.Sweep(table, "error_in_u")
    torch = [note.split(",")[0].split("+")[0] for note in table.notes if note.startswith("PyTorch")]
    sheet = Sheet("Rounding error, in units of u:  rms error / rms output / u", high=475, foot=[
        "Filled: float, u = 2^{-24}.  Open: our forms in double, u = 2^{-53}.  96 queries, 64 channels, normal tokens.",
        "Dashed: √N." + "".join(f"  {name} in float, one thread." for name in torch)])
    panel = sheet.panel(54, 56, 560, x=(50, sweep.sizes[-1] * 1.12), y=(3, 250), xlabel="keys N",
                        xtics=tics(4 ** n for n in range(3, 9)), ytics=tics((5, 10, 20, 50, 100, 200)))
    panel.guide(*((N, 0.4 * math.sqrt(N)) for N in (57, sweep.sizes[-1])))
    sheet.curves(panel, {"double/naive": ("", VERMILION), "double/fast": ("", BLUE)}, sweep.points,
                 weight=1.2, dot=0.65, point=6)
    sheet.curves(panel, {"float/naive": ("naive", VERMILION), "pytorch/plain": ("PyTorch, plain", ORANGE),
                         "pytorch/sdpa": ("PyTorch, SDPA", PURPLE), "float/fast": ("tiled", BLUE)}, sweep.points)
    return sheet


Chapter("attention", attention_tables, ["msa --grid 8x8 --channels 32 --heads 2 --without rpe,w_o,b_o,b_qkv"],
        {"attention-error": attention_error})


# ---- 1: LiSA ---------------------------------------------------------------------------------------------------------

def lisa_tables(run):
    """Time, memory and work against N; the naive forms, which also vouch for the fast ones, in the first half only."""
    layer = "--channels 96 --heads 6 --without b_qkv,w_o,b_o"
    small, large, fast = "8x8 16x16 24x24 32x32 48x48 64x64", "128x128", "fast"
    errors = "600 8x8 16x16 24x24 32x32 64x64"
    if run.full:
        small = "8x8 16x16 24x24 32x32 40x40 48x48 56x56 64x64"
        large, fast = "80x80 96x96 112x112 128x128 160x160 192x192 256x256", "fast fftw"
        errors = "1100 8x8 12x12 16x16 24x24 32x32 48x48 64x64 96x96 128x128 192x192 256x256"
    run.table("lisa")
    for grids, forms, attention in ((small, "naive " + fast, "naive fast"), (large, fast, "fast")):
        if grids == large and run.half_spent():
            run.say("half of the time is spent: no larger grids")
            break
        for equation in (10, 7):
            run.sweep(f"eq{equation}", f"lisa --equation {equation} --sizes D=16 {layer} --form {forms} --grid {grids}")
        for series, window in (("msa", ""), ("window", "--window 8")):
            run.sweep(series, f"msa {window} {layer},rpe --form {attention} --grid {grids}")
    run.map("lisa-border")
    run.map("lisa-kernels")
    run.map("lisa-error", *errors.split())


LISA = {"eq7/naive": ("LiSA Eq. 7, naive", VERMILION, 2), "eq10/naive": ("LiSA Eq. 10, naive", ORANGE, 2),
        "eq7/fast": ("LiSA Eq. 7, FFT", PURPLE, 2), "eq10/fast": ("LiSA Eq. 10, FFT", BLUE, 2),
        "msa/fast": ("self-attention", BLACK, 2), "window/fast": ("8×8 windows", GREEN, 2)}
LISA_REMARKS = {
    "time": lambda sweep: f"Self-attention is faster than Eq. 10 by FFT {sweep.ahead('msa/fast', 'eq10/fast')}, "
                          f"Eq. 7 {sweep.ahead('msa/fast', 'eq7/fast')}.",
    "memory": "Self-attention never holds N×N here, and runs with windows on one line.  The FFT forms hold spectra."}


def lisa_error(run):
    sweep = fits.Sweep(run.read("lisa-error"), "error_in_u")
    sheet = Sheet("Rounding error, in units of u:  rms error / rms output / u", high=475, foot=[
        "u is 2^{-24} in float, 2^{-53} in double.  One head, c = 16, D = 16, real-image tokens.",
        "Dashed: √N, the steeper, and log_2 N."])
    sizes = [60 * 2 ** (k / 2) for k in range(30) if 60 * 2 ** (k / 2) < sweep.sizes[-1]]
    for n, precision in enumerate(("double", "float")):
        panel = sheet.panel(54 + 262 * n, 78, 282 + 262 * n, x=(50, sweep.sizes[-1] * 1.2), y=(1, 130), bare=n > 0,
                            xtics=tics((64, 1024, 16384)), ytics=tics((1, 2, 5, 10, 20, 50, 100)),
                            heading=precision, xlabel="tokens N")
        panel.guide(*((N, math.sqrt(N)) for N in sizes if N < 130 ** 2))
        panel.guide(*((N, math.log2(N)) for N in sizes))
        names = {key.replace("/", f"-{precision}/"): (name.replace("LiSA ", ""), colour)
                 for key, (name, colour, _) in LISA.items() if "LiSA" in name}
        sheet.curves(panel, names, sweep.points, named=n > 0, fitted=True)
    return sheet


Chapter("lisa", lisa_tables, ["lisa --grid 14x14 --channels 32 --heads 2 --sizes D=8 --without b_qkv,w_o,b_o"],
        scalings("lisa", "time memory work", LISA, "C = 96, 6 heads, D = 16, batch 1", LISA_REMARKS, guides=True,
                 reasons={"eq7/naive": "above", "eq10/naive": "below"}),
        {"lisa-error": lisa_error}, pictures("lisa-border", "lisa-kernels"))


# ---- 2: StructSA -----------------------------------------------------------------------------------------------------

def structsa_tables(run):
    """Time, memory and work against N; then one head against the number of patterns, the window and the stride."""
    layer, forms = "--channels 192 --heads 3 --without b_qkv,w_o,b_o", "--form naive permuted fast"
    head = f"--grid 14x14 --channels 64 --without b_qkv,w_o,b_o {forms}"
    small, large, windows, each = "8x8 14x14 20x20 28x28", "40x40", "1x1 3x3 5x5 7x7", 200
    if run.full:
        small, large = "8x8 12x12 16x16 20x20 24x24 28x28 32x32 40x40 48x48", "56x56 64x64 80x80 96x96"
        windows, each = "1x1 3x3 5x5 7x7 9x9", 150
    run.table("structsa")
    for D in (1, 4, 8):
        run.sweep(f"d{D}", f"structsa --kernel 3x3 --sizes D={D} {layer} {forms} --grid {small}", each)
    run.sweep("msa", f"msa {layer},rpe --form fast --grid {small} {large}", each)
    # Time enough that the first run is never the only one: it is the first to touch a map of up to gigabytes, and takes
    # twice as long.
    for D in (1, 4, 8):
        run.sweep(f"d{D}", f"structsa --kernel 3x3 --sizes D={D} {layer} --form permuted fast --grid {large}", 25, 3)

    run.table("structsa-shape")
    for D in (1, 2, 4, 8, 16):
        run.sweep(f"D={D}", f"structsa {head} --kernel 3x3 --sizes D={D}", each)
    for window in windows.split():
        run.sweep(f"M={window}", f"structsa {head} --kernel {window} --sizes D=4", each)
    for stride in (1, 2, 4):
        run.sweep(f"s={stride}", f"structsa {head} --kernel 3x3 --stride {stride} --sizes D=4", each)
    run.map("structsa-kernels")
    run.map("structsa-motion")


# D = 4 lies between the others, and permuted with D = 1 on tiled: six lines are enough.
STRUCTSA = {"d8/naive": ("explicit, D = 8", VERMILION, 3), "d1/naive": ("explicit, D = 1", VERMILION, 1),
            "d8/permuted": ("permuted, D = 8", GREEN, 3), "d8/fast": ("tiled, D = 8", BLUE, 3),
            "d1/fast": ("tiled, D = 1", BLUE, 1), "msa/fast": ("self-attention", BLACK, 2)}
# The permuted and the tiled form have the same formula.
STRUCTSA_WORK = {key: (name.replace("tiled", "permuted, tiled"), *rest) for key, (name, *rest) in STRUCTSA.items()
                 if key != "d8/permuted"}
STRUCTSA_REMARKS = {"time": "Thin and thick: D = 1 and 8.",
                    "memory": "Thin and thick: D = 1 and 8; the tiled ones meet, and so do the explicit ones.",
                    "work": "Thin and thick: D = 1 and 8; permuted with D = 1 costs what self-attention costs."}


def structsa_shape(run):
    """A panel for each letter of the series D=n, M=nxn and s=n."""
    table = run.read("structsa-shape")
    for row in table.rows:
        row["kind"], size = row["series"].split("=")
        row["x"] = math.prod(map(int, size.split("x"))) if row["kind"] == "M" else size
    low, high = table.range("median_seconds")
    forms = {"naive": ("explicit", VERMILION), "permuted": ("permuted", GREEN), "fast": ("tiled", BLUE)}
    sheet = Sheet("Time of one head, 14×14 tokens, 64 channels", high=430, letters=14, foot=[
        "One thread, float.  Bars: quartiles.", table.measured()])
    sheet.legend(forms.values())
    for n, (kind, xlabel, x, ticks) in enumerate((
            ("D", "patterns D  (windows 3×3)", (0.9, 18), (1, 2, 4, 8, 16)),
            ("M", "window |M|  (D = 4)", (0.9, 90), (1, 9, 25, 81)),
            ("s", "stride  (3×3, D = 4)", (0.93, 4.3), (1, 2, 4)))):
        panel = sheet.panel(76 + 214 * n, 92, 262 + 214 * n, x=x, y=(low / 1.5, high * 2), xtics=tics(ticks),
                            ytics=TIMES, bare=n > 0, xlabel=xlabel)
        sheet.curves(panel, forms, lambda form: table.points("x", "median_seconds", kind=kind, form=form),
                     lambda form: table.points("q1_seconds", "q3_seconds", kind=kind, form=form), named=False)
    for stride, time in table.points("x", "median_seconds", kind="s", form="naive"):
        x, y = panel.at(stride, time)
        sheet.write(f"{math.ceil(14 / stride) ** 2}" + " keys" * (stride == 1), x + 2, y - 13, 12, FAINT)
    return sheet


Chapter("structsa", structsa_tables,
        ["structsa --grid 4x8 --channels 16 --heads 2 --kernel 3x3 --sizes D=4 --without b_qkv,w_o,b_o"],
        scalings("structsa", "time memory work", STRUCTSA, "C = 192, 3 heads, windows 3×3, batch 1", STRUCTSA_REMARKS,
                 STRUCTSA_WORK),
        {"structsa-shape": structsa_shape}, pictures("structsa-kernels", "structsa-motion"))


# ---- 3: ELSA ---------------------------------------------------------------------------------------------------------

def elsa_tables(run):
    """Time and memory against N; then against the size of the neighbourhood."""
    layer = "--channels 96 --heads 3 --without b_qkv,w_o,b_o"
    grids = "14x14 28x28 42x42 56x56 84x84 112x112" if run.full else "14x14 28x28 56x56"
    run.table("elsa")
    for K in (3, 7):
        run.sweep(f"k{K}", f"elsa {layer} --kernel {K} --form naive fast --grid {grids}", 100)
    run.sweep("dense", f"elsa {layer} --kernel 7 --equation 4 --form naive --grid {grids}", 100)
    run.sweep("window", f"msa {layer},rpe --window 7 --form fast --grid {grids}", 100)
    run.table("elsa-kernel")
    for K in (1, 3, 5, 7, 9, 11) if run.full else (1, 3, 7, 11):
        run.sweep(f"K={K}", f"elsa {layer} --kernel {K} --form naive fast --grid 28x28", 100)
    run.map("elsa-border")
    run.map("elsa-filters")


ELSA = {"dense/naive": ("N×N (Eq. 4), K = 7", VERMILION, 2), "k7/naive": ("unfolded, K = 7", ORANGE, 2),
        "k3/naive": ("unfolded, K = 3", ORANGE, 1), "k7/fast": ("not unfolded, K = 7", BLUE, 2),
        "k3/fast": ("not unfolded, K = 3", SKY, 1), "window/fast": ("7×7 windows", BLACK, 2)}


def elsa_kernel(run):
    table = run.read("elsa-kernel")
    for row in table.rows:
        row["K"] = row["series"][2:]
    sheet = Sheet("One layer, 28×28 tokens, 96 channels, 3 heads, with a ghost head", high=430, letters=14, foot=[
        "One thread, float.  Bars: quartiles.  Memory is beside input and output.", table.measured()])
    for n, (column, heading, ytics) in enumerate(BOTH):
        low, high = table.range(column)
        panel = sheet.panel(76 + 300 * n, 84, 290 + 300 * n, x=(0, 12), y=(low / 1.5, high * 1.5), log="y", ytics=ytics,
                            xtics=tics((1, 3, 5, 7, 9, 11)), heading=heading, xlabel="K")
        sheet.curves(panel, {"naive": ("unfolded", ORANGE), "fast": ("not unfolded", BLUE)},
                     lambda form: table.points("K", column, form=form),
                     lambda form: table.points("q1_seconds", "q3_seconds", form=form) if n == 0 else (), named=n > 0)
    return sheet


Chapter("elsa", elsa_tables, ["elsa --grid 16x16 --channels 24 --heads 3 --kernel 7"],
        scalings("elsa", "time memory", ELSA, "C = 96, 3 heads, with a ghost head, batch 1",
                 {"time": "Thin lines: K = 3.", "memory": "Thin lines: K = 3."}),
        {"elsa-kernel": elsa_kernel}, pictures("elsa-border", "elsa-filters"))


# ---- 4: ChoP'D -------------------------------------------------------------------------------------------------------

def chopd_tables(run):
    """Dense tensors on the smallest grids only.  Pooling alone: time against the box, errors against the grid."""
    layer = "--channels 96 --sizes D=96,R=96"
    dense, grids, edges, boxes = "4x4 6x6", "14x14 28x28 56x56", "8 16 32 64 128 256", "0.05 1 3 7 15 31 55 111"
    ranks = "20 1 8 32 64 96 128"
    if run.full:
        dense, grids = "4x4 6x6 8x8 10x10", "14x14 28x28 56x56 84x84 112x112"
        edges, boxes = "8 16 24 32 48 64 96 128 192 256 384 512 768 1024", "0.3 1 3 5 7 9 11 15 21 31 43 55 81 111"
        ranks = "200 1 2 4 8 16 32 48 64 80 96 112 128 160 192 224 256 320"
    run.table("chopd")
    for series, words in (("dfc", f"dfc-cp {layer}"), ("chopd", f"chopd {layer},G=4,S=24")):
        run.sweep(series, f"{words} --form naive fast --grid {dense}")
        run.sweep(series, f"{words} --form fast --grid {grids}")
    run.map("chopd-boxes", *boxes.split())
    run.map("chopd-error", *edges.split())
    run.map("chopd-tensor")
    run.map("chopd-rank", *ranks.split())


CHOPD = {"dfc/naive": ("DFC, dense", VERMILION, 4), "chopd/naive": ("ChoP'D, dense", ORANGE, 2),
         "dfc/fast": ("CP factors", BLACK, 2), "chopd/fast": ("ChoP'D", BLUE, 2)}
CHOPD_REMARKS = {"time": "Dense forms compute W_{imncd} first.  ChoP'D pays its gate, the same for every N.",
                 "memory": "Dense forms hold W_{imncd}: N^2 C D numbers.",
                 "work": "Dense forms compute W_{imncd} from its factors, then apply it."}


def chopd_boxes(run):
    table = run.read("chopd-boxes")
    sheet = Sheet("Time of the means over one box a channel", high=490, foot=[
        "96 planes of 56×56 tokens, one thread, float.  Bars: quartiles.",
        "Loops leave out what lies off the grid, so they grow more slowly once boxes are as large as it is.",
        table.measured()])
    panel = sheet.panel(76, 56, 512, x=(0.9, 130), y=(3e-5, table.range("median_seconds")[1] * 2), ytics=TIMES,
                        xtics=tics((1, 3, 7, 15, 31), "{0}×{0}".format), xlabel="box of w×w tokens")
    panel.upright(56)
    sheet.write("the grid", panel.at(56, 1)[0] - 6, panel.bottom - 12, 12, FAINT, "right")
    sheet.curves(panel, {"direct": ("loops, w^2", VERMILION), "axes": ("loops by axes, w", ORANGE),
                         "fractional": ("sums, edges in tokens", SKY), "whole": ("sums, whole tokens", BLUE)},
                 lambda way: table.points("side", "median_seconds", way=way),
                 lambda way: table.points("lower_quartile", "upper_quartile", way=way))
    return sheet


def chopd_error(run):
    """An error of 0 is drawn at the floor, below a gap in the axis."""
    table, floor = run.read("chopd-error"), 2e-9
    largest = table.range("edge")[1]
    sheet = Sheet("A mean over a box, in float: relative error", wide=820, high=430, foot=[
        "Numbers between 0 and 1; root mean square at 1000 boxes on the grid.  Dashed: u, one rounding."])
    errors = {floor: "0"} | {10.0 ** k: f"10^{{{k}}}" for k in range(-8, -1)}
    for n, (side, heading) in enumerate((("1", "1×1"), ("3", "3×3"), ("9", "9×9"), ("half", "half the grid"))):
        panel = sheet.panel(66 + 154 * n, 86, 206 + 154 * n, x=(6.5, largest * 1.3), y=(floor, 3e-2), bare=n > 0,
                            xtics=tics((8, 32, 128, 512)), ytics=errors, heading=heading)
        panel.guide((6.5, 2.0 ** -24), (largest * 1.3, 2.0 ** -24))
        for gap in (0, 5):
            y = panel.at(6.5, floor * 2.3)[1] + gap
            sheet.line([(panel.left - 5, y), (panel.left + 5, y - 5)], INK, 0.7)
        sheet.curves(panel, {"float": ("integral image", VERMILION), "double": ("table in double", BLACK),
                             "axes": ("the fast form", BLUE)}, lambda way: [
            (x, max(y, floor)) for x, y in table.points("edge", "error", way=way, side=side)], named=n == 3, dot=0.4)
    sheet.write("side of the grid, in tokens", 374, panel.bottom + 52, anchor="center")
    return sheet


def chopd_rank(run):
    """Curves end at the floor or at the right; names stand where theirs is alone."""
    table, floor = run.read("chopd-rank"), 1e-3
    last = int(table.range("rank")[1])
    sheet = Sheet("W_{imncd}  as a sum of R terms: relative error", wide=760, high=500, foot=[
        f"W is {table.notes['size'].replace(' ', '×')}: 4 images, 4×4 tokens, 8 channels.  Nothing is trained.  "
        "Convolutions: the same W for all images.",
        "Scores ×4: self-attention that is four times as sure of its keys."])
    panel = sheet.panel(76, 104, 680, x=(0, last), y=(floor, 1.15), xtics=tics(range(0, last + 1, 64)), log="y",
                        ytics={v / 100: f"{v:g} %" for v in (100, 30, 10, 3, 1, 0.3, 0.1)}, xlabel="rank R")
    # The upper axis: numbers in the factors.
    sheet.write("numbers in the factors, of those in W", (panel.left + panel.right) / 2, 60, anchor="center")
    sheet.line([(panel.left, panel.top), (panel.right, panel.top)], INK, 0.7)
    rank, factors, dense = (int(table.rows[0][column]) for column in ("rank", "factors", "dense"))
    for percent in range(0, 30, 5):
        x, y = panel.at(percent / 100 * dense * rank / factors, 1.15)
        if x <= panel.right:
            sheet.write(f"{percent} %" if percent else "0", x, y - 18, anchor="center")
            sheet.line([(x, y), (x, y - 7)], INK, 0.7)
    panel.upright(128)
    for key, colour, name, rank, error, anchor in (
            ("attention", BLUE, "self-attention", 58, 0.12, "right"), ("sharp", SKY, "scores ×4", 229, 0.0037, "left"),
            ("convolution", VERMILION, "3×3 convolution", 200, 0.055, "left"),
            ("depthwise", ORANGE, "depth-wise 3×3", 112, 0.0033, "right"),
            ("pointwise", GREEN, "point-wise", 112, 0.0021, "right"), ("noise", FAINT, "noise", last * 1.01, 0, "left"),
            ("", FAINT, "rank of both: 128", 112, 0.0014, "right")):
        points = [(x, max(y, 1e-30)) for x, y in table.points("rank", "error", tensor=key)]
        panel.line(points, colour)
        sheet.write(name, *panel.at(rank, error or points[-1][1]), 13, colour, anchor)
    return sheet


Chapter("chopd", chopd_tables,
        ["chopd --grid 14x14 --channels 8 --batch 2 --sizes R=8,D=8,G=4,S=2",
         "fc --channels 8 --batch 8 --sizes M=16,N=16,D=32",
         "dfc-cp --channels 4 --batch 2 --sizes M=19,N=100,D=3,R=40"],
        scalings("chopd", "time memory work", CHOPD, "C = D = R = 96, G = 4, gate of 7×7 and S = 24, batch 1",
                 CHOPD_REMARKS),
        {"chopd-boxes": chopd_boxes, "chopd-error": chopd_error, "chopd-rank": chopd_rank}, pictures("chopd-tensor"))


# ---- 5: HiLo ---------------------------------------------------------------------------------------------------------

HILO_BARE = "--without h_qkv_b,h_proj_b,l_q_b,l_kv_b,l_proj_b"


def hilo_tables(run):
    """Time and memory against N; the layers of Table 10, alternately; heads of Lo-Fi from none to all."""
    grids, rounds, each, planes, lows = "14x14 28x28 56x56", 1, 400, "14x14 28x28", range(0, 13, 2)
    if run.full:
        grids, rounds, each, planes, lows = "14x14 28x28 42x42 56x56 84x84 112x112", 9, 800, "14x14 56x56", range(13)
    layers = {"hilo": f"hilo {HILO_BARE}", "window": "msa --window 7 --without b_qkv,b_o,rpe",
              "sra": "sra --reduction 2 --without b_q,b_kv,sr_b,b_o", "msa": "msa --without b_qkv,b_o,rpe"}
    run.table("hilo")
    layer = f"--grid {grids} --channels 384 --heads 12"                 # LITv2-S's third stage
    run.sweep("s2", f"{layers['hilo']} --window 2 {layer} --form naive fast", 90)
    run.sweep("s4", f"{layers['hilo']} --window 4 {layer} --form fast", 90)
    for series in ("msa", "window", "sra"):
        run.sweep(series, f"{layers[series]} {layer} --form fast", 90)
    run.table("hilo-layers")
    layer = "--channels 768 --heads 12 --form fast"
    for _ in range(rounds):
        for series, words in layers.items():
            run.sweep(series, f"{words} --grid 14x14 {layer}", each)
    run.table("hilo-alpha")
    for low in lows:
        alpha = f"{(low + 0.01) / 12 if low < 12 else 1:.4f}"       # a little more, so that rounding down finds them
        run.sweep(str(low), f"{layers['hilo']} --alpha {alpha} --grid {planes} {layer}", 400)
    run.map("hilo-cost")
    run.map("hilo-spectrum")
    run.map("hilo-alias")


HILO = {"s2/naive": ("as N×N, s = 2", VERMILION, 1.5), "msa/fast": ("self-attention", BLACK, 1.5),
        "window/fast": ("7×7 windows", ORANGE, 1.5), "sra/fast": ("SRA", GREEN, 1.5),
        "s2/fast": ("HiLo, s = 2", BLUE, 2.5), "s4/fast": ("HiLo, s = 4", SKY, 1.5)}


def hilo_layers(run):
    """Images a second over HiLo's: here, in the paper, and by arithmetic.  The table has every series once a round."""
    table, left, unit = run.read("hilo-layers"), 130, 500
    work = {row["series"]: int(row["multiply_adds"]) for row in table.rows}
    took = {key: statistics.median(float(row["median_seconds"]) for row in table.where(series=key)) for key in work}
    paper = {row["row"]: float(row["value"]) for row in PUBLISHED.where(table="10", quantity="cpu")}
    sheet = Sheet("Images per second of one layer, HiLo's being 1", high=430, foot=[
        "14×14 tokens, 768 channels, 12 heads, one image, one thread, float.", table.measured()])
    sheet.legend([("measured here", BLUE), ("in the paper, on a Core i9-10900X", ORANGE),
                  ("│ by multiply-adds alone", INK)])
    sheet.line([(left, 84), (left, 374)], INK, 0.7)
    for n, (key, name, printed) in enumerate((
            ("msa", "self-attention", "MSA"), ("window", "7×7 windows", "Local Window"), ("sra", "SRA", "SRA"),
            ("hilo", "HiLo", "HiLo"))):
        y = 96 + 72 * n
        ours, theirs, sums = took["hilo"] / took[key], paper[printed] / paper["HiLo"], work["hilo"] / work[key]
        sheet.fill(left, y, unit * ours, 22, BLUE)
        sheet.fill(left, y + 24, unit * theirs, 22, WRITTEN[ORANGE])
        sheet.fill(left + unit * sums - 1, y - 5, 2, 56, INK)
        sheet.write(name, left - 10, y + 23, anchor="right")
        sheet.write(f"{ours:.2f}   {took[key] * 1e3:.2f} ms", left + 8, y + 11, 13, WHITE)
        sheet.write(f"{theirs:.2f}", left + 8, y + 35, 13, WHITE)
    return sheet


def hilo_alpha(run):
    """Time and multiply-adds against Lo-Fi's heads; a panel for each grid, its numbers over those of no head at all."""
    table = run.read("hilo-alpha")
    sheet = Sheet("One layer against the share of its heads, over that of windows alone", high=450, foot=[
        "768 channels, s = 2, batch 1, one thread, float.  Bars: quartiles.", table.measured()])
    sheet.legend([("time", BLUE), ("multiply-adds, by formula", ORANGE)])
    for n, none in enumerate(table.where(series="0")):
        rows = table.where(grid=none["grid"])
        time = float(none["median_seconds"])
        quartiles = [(float(row["q1_seconds"]) / time, float(row["q3_seconds"]) / time) for row in rows]
        top = 1.15 * max(high for _, high in quartiles)
        panel = sheet.panel(50 + 346 * n, 104, 354 + 346 * n, x=(-0.3, 12.6), y=(0, top), xtics=tics(range(0, 13, 2)),
                            ytics=tics((0, 0.5, 1)), log="", xlabel="heads of Lo-Fi, of 12",
                            heading=f"{none['grid'].replace('x', '×')} tokens")
        sheet.write(f"1 is {time * 1e3:.3g} ms", panel.right, panel.top - 16, 12, FAINT, "right")
        panel.upright(10)
        sheet.write("α = 0.9", panel.at(9.8, 0)[0], panel.bottom - 16, 13, FAINT, "right")
        work = int(none["multiply_adds"])
        panel.line([(int(row["series"]), int(row["multiply_adds"]) / work) for row in rows], ORANGE, dot=0.35)
        panel.line([(int(row["series"]), float(row["median_seconds"]) / time) for row in rows], BLUE,
                   quartiles=quartiles)
    return sheet


def hilo_cost(run):
    """Nothing here is measured.  Circles: where Lo-Fi costs as much as Hi-Fi, N = s^2 (C (1 - 1/s^2) + s^2)."""
    table = run.read("hilo-cost")
    sheet = Sheet("Multiply-adds of one layer, in 10^9, by the edge of the image in pixels", wide=760, high=430, foot=[
        "384 channels, 12 heads, half of them Hi-Fi's; 16×16 pixels a token.  By formula."])
    axes = {"x": (256, 1280), "y": (0, 6.6), "xtics": tics((512, 1024), str), "ytics": tics((0, 2, 4, 6)), "log": "",
            "xlabel": "edge, in pixels"}
    for n, (s, low, high) in enumerate(((2, (1090, 4.1), (1270, 0.85)), (4, (1270, 0.5), (870, 1.5)))):
        panel = sheet.panel(40 + 232 * n, 86, 224 + 232 * n, heading=f"windows of {s}×{s}", bare=n > 0, **axes)
        panel.line(table.points("pixels", f"high_{s}"), VERMILION, dot=0)
        panel.line(table.points("pixels", f"low_{s}"), BLUE, dot=0)
        sheet.write("Lo-Fi", *panel.at(*low), 0, BLUE, "right")
        sheet.write("Hi-Fi", *panel.at(*high), 0, VERMILION, "right")
        N = s * s * (384 * (1 - 1 / s ** 2) + s * s)
        cross = 16 * math.sqrt(N), N * 384 * (1.75 * 384 + s * s) / 1e9
        panel.line([cross], INK, 0, dot=1, point=6)
        x, y = panel.at(*cross)
        sheet.write(f"N = {N:.0f}", x - 6, y - 48 / s, 12, FAINT, "center" if s == 2 else "right")
    panel = sheet.panel(504, 86, 688, heading="both", bare=True, **axes)
    panel.line(table.points("pixels", "msa"), BLACK, dot=0)
    sheet.write("self-attention", *panel.at(755, 6.15), 13, BLACK, "right")
    sheet.curves(panel, {"both_2": ("s = 2", PURPLE), "both_4": ("s = 4", GREEN), "both_8": ("s = 8", ORANGE)},
                 lambda column: table.points("pixels", column), dot=0)
    return sheet


Chapter("hilo", hilo_tables,
        ["hilo --grid 9x15 --window 2 --heads 4 --alpha 0.5 --batch 2 --channels 32",
         "sra --grid 16x10 --reduction 2 --heads 2 --batch 2 --channels 16 --without w_o,b_o"],
        scalings("hilo", "time memory", HILO, "384 channels, 12 heads, α = 0.9, batch 1", {
            "time": "Bars at the points: quartiles.", "memory": "Self-attention runs with windows on one line."}),
        {"hilo-layers": hilo_layers, "hilo-alpha": hilo_alpha, "hilo-cost": hilo_cost},
        pictures("hilo-spectrum", "hilo-alias"))


# ---- 6: the gap ------------------------------------------------------------------------------------------------------

# The forms whose exponents and ratios are taken: key, name, table, series, and by form the formulas of multiply-adds
# and of memory in reals that are printed beside the exponents.
OPERATORS = [
    ("msa", "self-attention", "lisa", "msa", {"naive": ("$2 N^2 C$", "$N^2$"), "fast": ("the same", "$N C$")}),
    ("lisa", "LiSA, Eq. 10", "lisa", "eq10", {
        "naive": ("$2 N^2 C D$", "$N C D / h$"), "fast": (r"$N C D \log N$", "$N C D / h$")}),
    ("structsa", "StructSA, D = 4", "structsa", "d4", {
        "naive": ("$N^2 C (1 + 2 D M + M)$", "$N^2 (C / h + D)$"), "fast": ("$2 N^2 C D$", "$N C$")}),
    ("elsa", "ELSA, K = 7", "elsa", "k7", {
        "naive": ("$N K^2 (2 h + 2) C$", "$N K^2 (3 C + h)$"), "fast": ("the same, on the grid", "$N C$")}),
    ("chopd", "ChoP'D", "chopd", "chopd", {
        "naive": ("$3 N^2 C D R$", "$N^2 C D$"), "fast": (r"$N R (C + D + 6 G) + \varphi$", r"$N R + \varphi$")}),
    ("hilo", "HiLo, s = 2", "hilo", "s2", {
        "naive": ("$2 N^2 C$", "$2 N^2$"), "fast": ("$2 N^2 D_L / s^2 + 2 N s^2 D_H$", "$N C$")})]


def gap_tables(run):
    """The gap itself is worked out of the chapters' tables.  Here: both forms where N is small; all fast forms as one
    layer of 96 channels; LiSA's Fig. 4, with windows of N/4 tokens and keys pooled by 2 x 2; the roofline."""
    bare, qkv = "--without b_qkv,b_o,rpe", "--without b_qkv,w_o,b_o"
    run.table("gap-small")
    tiny = "--form naive fast --grid 1x1 2x2 3x3 4x4 6x6 8x8"          # planes that are columns of the chapter's tables
    run.sweep("self-attention", f"msa --channels 96 --heads 6 {qkv},rpe {tiny} 14x14", 300)
    run.sweep("LiSA, Eq. 10", f"lisa --channels 96 --heads 6 --sizes D=16 {qkv} {tiny} 14x14", 300)
    run.sweep("StructSA, D = 4", f"structsa --channels 192 --heads 3 --kernel 3x3 --sizes D=4 {qkv} {tiny} 14x14", 300)
    run.sweep("ELSA, K = 7", f"elsa --channels 96 --heads 3 --kernel 7 {qkv} {tiny} 14x14", 300)
    run.sweep("ChoP'D", f"chopd --channels 96 --sizes D=96,R=96,G=4,S=24 {tiny}", 300)
    run.sweep("HiLo, s = 2", f"hilo --channels 384 --heads 12 {HILO_BARE} {tiny} 14x14", 300)
    run.table("gap-choice")
    layer = "--channels 96 --form fast --grid 7x7 14x14 28x28 56x56 112x112"
    run.sweep("7×7 windows", f"msa --window 7 --heads 3 {layer} {bare}", 300)
    run.sweep("ELSA, K = 7", f"elsa --kernel 7 --heads 3 {layer} --without b_qkv,b_o", 300)
    run.sweep("ChoP'D", f"chopd --sizes D=96,R=96,G=4,S=24 {layer}", 300)
    run.sweep("LiSA, D = 16", f"lisa --heads 6 --sizes D=16 {layer} --without b_qkv,b_o", 300)
    run.sweep("HiLo, s = 2", f"hilo --heads 3 {layer} {HILO_BARE}", 300)
    run.sweep("self-attention", f"msa --heads 3 {layer} {bare}", 300)
    run.sweep("StructSA, D = 4", f"structsa --kernel 3x3 --sizes D=4 --heads 3 {layer} --without b_qkv,b_o", 300)
    run.table("gap-blocks")
    for edge in (8, 12, 16, 24, 32, 48, 64, 96, 128) if run.full else (8, 16, 32, 64):
        layer = f"--channels 96 --heads 6 --form fast --grid {edge}x{edge}"
        run.sweep("msa", f"msa {layer} {bare}", 300)
        run.sweep("quarter", f"msa --window {edge // 2} {layer} {bare}", 300)
        run.sweep("pooled", f"hilo --alpha 1 --window 2 {layer} --without l_q_b,l_kv_b,l_proj_b", 300)
        run.sweep("lisa", f"lisa {layer} --sizes D=16 --without b_qkv,b_o", 300)
    run.say("compute roofline")
    lines, notes = run.program("figures/bench/roofline", 1 if run.full else 0.1), run.about()
    for name, kind, columns in (
            ("roofline", "form", "operator options sizes form grid channels without multiply_adds x_bytes weights_bytes"
                                 " y_bytes workspace_bytes intensity level roof best_seconds reached share"),
            ("roofline-levels", "level", "level read_through_bytes G_a_second")):
        cells = [line.split("\t")[1:1 + len(columns.split())] for line in lines if line.startswith(kind + "\t")]
        notes += [line for line in lines if line.startswith("#") and line not in notes]
        run.write(name, notes + ["#" + columns.replace(" ", "\t")] + ["\t".join(row) for row in cells])


def gap_derived(run):
    """Tables worked out of others; nothing is timed."""
    tables = {name: run.read(name) for name in ("lisa", "structsa", "elsa", "chopd", "hilo")}
    for name, lines in zip(("gap", "gap-factors", "gap-fits"), fits.gap(OPERATORS, tables)):
        run.write(name, fits.head(*tables.values()) + lines)
    for name, source, quantities in (("gap-loses", "gap-small", ("time", "memory", "runs")),
                                     ("gap-choices", "gap-choice", ("milliseconds", "mebibytes"))):
        table = run.read(source)
        run.write(name, fits.head(table) + fits.by_grid(table, quantities))
    machines = [Table(os.path.join(FIGURES, "gap", f"versus-goals{machine}.tsv")) for machine in ("", "-zen4", "-zen3")]
    run.write("gap-goals", fits.goals(machines))
    run.say("count gap-resolution")
    run.write("gap-resolution", run.program("network_maps.py", "gap-resolution"))
    run.write("gap-resolutions", resolutions(run.read("gap-resolution")))


def resolutions(table):
    """HiLo's Table 4 as printed and as counted: G of the network, by pixels of a side."""
    printed = {row["row"]: row["value"] for row in PUBLISHED.where(table="4", quantity="flops")}
    G = {(row["attention"], row["pixels"]): int(row["multiply_adds"]) / 1e9 for row in table.rows}
    sides = ("224", "448", "896", "1792")
    yield fits.cells("#attention", "printed, 224", *sides)
    for key, name, row in (("msa", "self-attention", "MSA"), ("window", "windows of 7", "W-MSA"),
                           ("sra", "SRA, s = 2", "SRA"), ("s2", "HiLo, s = 2", "HiLo"), ("s4", "HiLo, s = 4", "")):
        found = [G[key, side] for side in sides]
        yield fits.cells(name, printed.get(row, ""), *(f"{g:.{(g < 10) + (g < 100)}f}" for g in found))


GAP = {"msa": ("self-attention", BLACK), "lisa": ("LiSA", BLUE), "structsa": ("StructSA", GREEN),
       "elsa": ("ELSA", PURPLE), "chopd": ("ChoP'D", VERMILION), "hilo": ("HiLo", ORANGE)}
GAP_PANELS = {"time": ("times_faster", (0.5, 3e5), "time"), "memory": ("times_smaller", (0.4, 5e3), "peak memory")}


def gap_panel(sheet, table, quantity, left, top, right, bottom=0, size=14, last=True, **style):
    """Naive over fast against N.  Nothing is estimated: a line is as long as both forms were measured."""
    column, y, heading = GAP_PANELS[quantity]
    panel = sheet.panel(left, top, right, bottom, x=(14, 15000), y=y, xlabel="tokens N, on square grids" * last,
                        xtics=tics((16, 64, 256, 1024, 4096, 12544), thousands if last else lambda n: ""),
                        ytics={10.0 ** n: f"{thousands(10 ** n)}×" if n < 4 else f"10^{n}×" for n in range(6)})
    sheet.write(heading, panel.left + 10, panel.top + 1.2 * size)
    panel.line([(14, 1), (15000, 1)], INK, 1, 2, 0)
    sheet.write("even", panel.left + 8, panel.at(14, 1)[1] - 0.75 * size, size - 2, FAINT)
    sheet.curves(panel, GAP, lambda key: table.points("tokens", column, series=key), size=size, fitted=True, **style)


def gap(run):
    table = run.read("gap")
    sheet = Sheet("How many times as fast the fast form is, and how many times smaller", high=800, foot=[
        "The layers of chapters 1 to 5, one thread, float.  Lines end where the naive form takes too long or too much.",
        fits.FITTED.replace("N are", "N in the ratio are"), table.measured()])
    gap_panel(sheet, table, "time", 84, 58, 530, 366, last=False)
    gap_panel(sheet, table, "memory", 84, 396, 530)
    return sheet


def gap_slide(run, quantity):
    sheet = Sheet(GAP_PANELS[quantity][2], 1240, 590, heading="", letters=23)
    gap_panel(sheet, run.read("gap"), quantity, 130, 18, 910, size=22, weight=4, dot=0.8)
    return sheet


def operator_slide(run, name, series):
    """Seconds and bytes of the naive form and of the fast one against the number of tokens."""
    table = run.read(name)
    table.rows = table.where(series=series, form="naive") + table.where(series=series, form="fast")
    first, last = (int(end) for end in table.range("tokens"))
    sheet = Sheet("time and peak memory", 1240, 560, heading="", letters=24)
    sizes = [last // 8 ** k for k in range(5) if last % 8 ** k == 0 and last // 8 ** k >= first]
    for n, (column, heading, ytics) in enumerate(BOTH):
        low, high = table.range(column)
        panel = sheet.panel(134 + 640 * n, 64, 576 + 620 * n, x=(first / 1.2, last * 1.2), y=(low / 2, high * 6),
                            xtics=tics(sizes), ytics=dict(list(ytics.items())[::2]),
                            heading=heading, xlabel="tokens N")
        for form, colour in (("naive", VERMILION), ("fast", BLUE)):
            points = table.points("tokens", column, form=form)
            panel.line(points, colour, 4, dot=0.8)
            x, y = panel.at(*points[-1])
            sheet.write(form, x - 8, y - 24, 0, colour, "right")
    return sheet


BLOCKS = {"msa/fast": ("self-attention", BLACK, 2), "quarter/fast": ("windows of N/4", ORANGE, 2),
          "pooled/fast": ("keys pooled 2×2", GREEN, 2), "lisa/fast": ("LiSA", BLUE, 2)}


def gap_blocks(quantity, title):
    """LiSA's Fig. 4 by our fast forms."""
    def remark(sweep):
        if quantity == "memory":
            return "No fast form holds a map, so that nothing here is quadratic."
        return f"Windows of N/4 tokens cost less than LiSA {sweep.ahead('quarter/fast', 'lisa/fast')}, " \
               f"pooled keys {sweep.ahead('pooled/fast', 'lisa/fast')}."
    return lambda run: scaling(run.read("gap-blocks"), quantity, BLOCKS, title=title, guides=quantity == "time",
                               layer="C = 96, 6 heads, D = 16 in LiSA, batch 1, fast forms", remark=remark)


def gap_resolution(run):
    """HiLo's Fig. 3: multiply-adds of the network, counted, with the paper's Table 4 as rings; time and memory of one
    layer of that stage, measured for chapter 5."""
    table, layers = run.read("gap-resolution"), run.read("hilo")
    for row in layers.rows:
        row["pixels"] = 16 * math.sqrt(int(row["tokens"]))
    for row in table.rows:
        row["G"] = int(row["multiply_adds"]) / 1e9
    printed = [float(row["value"]) for row in PUBLISHED.where(table="4", quantity="flops")]
    lines = {"msa": ("self-attention", BLACK), "sra": ("SRA, 2×2", GREEN), "s2": ("HiLo, s = 2", BLUE),
             "s4": ("HiLo, s = 4", SKY), "window": ("7×7 windows", ORANGE)}
    sheet = Sheet("LITv2-S on larger images, by the attention of its third stage", 760, 470, letters=14, foot=[
        "Rings: Table 4 of the paper, at 224 pixels; its Fig. 3 gives no numbers.  One image, one thread, fast forms.",
        layers.measured()])
    sheet.legend(lines.values())
    for n, (column, heading, y, ytics) in enumerate((
            ("G", "G multiply-adds, network", (2, 2000), tics((4, 10, 100, 1000), str)),
            ("median_seconds", "time, one layer", (3e-4, 4), TIMES),
            ("peak_bytes", "peak memory, one layer", (2 ** 20, 2 ** 27), BYTES))):
        panel = sheet.panel(58 + 252 * n, 100, 236 + 252 * n, x=(200, 2050), y=y, ytics=ytics, heading=heading,
                            xtics=tics((224, 448, 896, 1792), str), xlabel="pixels of a side")
        sheet.curves(panel, lines, lambda key: layers.points("pixels", column, series=key, form="fast") if n else
                     table.points("pixels", column, attention=key), named=False, dot=0.4)
        if n == 0:
            panel.line([(224, value) for value in printed], INK, 0, dot=1.1, point=6)
    return sheet


CALLED = {"msa": "self-attention", "msa-window": "7×7 windows", "lisa": "LiSA", "structsa": "StructSA", "elsa": "ELSA",
          "chopd": "ChoP'D", "dfc-cp": "CP factors", "hilo": "HiLo", "sra": "SRA"}


def roofline(run, slide=False):
    """Multiply-adds a second against multiply-adds for each byte.  Slopes are levels of memory, the roof the
    vectors."""
    table = run.read("roofline")
    rates = {row["level"]: float(row["G_a_second"]) for row in run.read("roofline-levels").rows}
    peak, lowest = rates.pop("multiply-adds"), 0.6 * table.range("reached")[0]
    title, small = "How near to what the machine allows", 18 if slide else 12
    sheet = Sheet(title, 1240, 590, heading="", letters=22) if slide else Sheet(title, high=660, foot=[
        "One thread, float.  Full: fast forms, and how much of their roof they reach; hollow: naive ones.",
        "Slopes: levels of memory, and GB/s read from them.", table.measured()])
    panel = sheet.panel(*((100, 76, 960) if slide else (66, 84, 560)), x=(0.05, 1000), y=(lowest, peak * 1.7),
                        xtics={0.0625: "1/16", 0.25: "1/4"} | tics(4 ** n for n in range(5)),
                        ytics=tics((0.1, 1, 10, 100, 1000)), heading="G multiply-adds a second",
                        xlabel="multiply-adds for each byte of input, weights, output and workspace")
    roof = panel.at(1, peak)[1]
    sheet.write(f"vectors from registers: {peak:.0f}", panel.left + 8, roof - small - 4, small, FAINT)
    (x0, y0), (x1, y1) = panel.at(1, 1), panel.at(10, 10)
    slant, x, before = math.degrees(math.atan2(y0 - y1, x1 - x0)), 0.058, math.inf
    for level, rate in rates.items():
        start = max(0.05, lowest / rate)
        panel.line([(start, rate * start), (peak / rate, peak), (1000, peak)], FAINT, 1.2, dot=0)
        x, before = 2.5 * x if before < 2 * rate else 0.058, rate           # further on where the slope before is near
        at = panel.at(x, rate * x)
        sheet.write(f"{level}  {rate:.0f}", at[0] - small * 0.2, at[1] - small * 1.3, small, FAINT, slant)
    dots = []
    for row in table.rows:
        fast = row["form"] == "fast"
        name = CALLED[row["operator"] + "-window" * ("window" in row["options"])]
        name, colour, point = (name + f"  {float(row['share']):.0f} %", BLUE, 7) if fast else (name, VERMILION, 6)
        dots.append((float(row["intensity"]), float(row["reached"]), name, colour))
        panel.line([dots[-1][:2]], colour, 0, dot=0.9, point=point)
    sheet.label_ends(panel, dots, small)
    return sheet


Chapter("gap", gap_tables, (), {
    "gap": gap, "roofline": roofline, "gap-resolution": gap_resolution,
    "gap-blocks-work": gap_blocks("work", "LiSA’s Fig. 4a by our forms: multiply-adds of one layer"),
    "gap-blocks-time": gap_blocks("time", "LiSA’s Fig. 4b by our forms: time of one layer"),
    "gap-blocks-memory": gap_blocks("memory", "LiSA’s Fig. 4c by our forms: memory of one layer")},
        derived=gap_derived, files=("gap", "roofline"))
SLIDES |= {"gap-time": lambda run: gap_slide(run, "time"), "gap-memory": lambda run: gap_slide(run, "memory"),
           "roofline": lambda run: roofline(run, slide=True)}
SLIDES |= {f"gap-{key}": lambda run, table=table, series=series: operator_slide(run, table, series)
           for key, _, table, series, _ in OPERATORS if key != "msa"}


# ---- 7: networks -----------------------------------------------------------------------------------------------------

def networks_tables(run):
    """Whole networks with random weights: where the time goes, by kinds of steps and by resolution; images a second.
    Trained networks: accuracy and maps."""
    runs, sides, images = (9, "224 320 448 576 768", 10000) if run.full else (1, "224 448", 1000)
    run.map("networks-profile", runs)
    run.map("networks-share", (runs + 1) // 2, *sides.split())
    rates(run, runs)
    run.map("networks-maps")
    run.map("networks-accuracy", images)
    for name in ("lisa", "structsa", "elsa", "boxes", "spectrum"):
        run.map("networks-" + name)


def rates(run, runs):
    """Images a second of LITv2 on one thread, and as printed; ratios of time and of multiply-adds to LITv2-S's."""
    run.say("measure networks-rate")
    printed = {row["row"]: int(row["value"]) for row in PUBLISHED.where(table="1", quantity="throughput")}
    rows = []
    for size, side, row in (("s", 224, "LITv2-S"), ("m", 224, "LITv2-M"), ("b", 224, "LITv2-B"),
                            ("b", 384, "LITv2-B up384")):
        lines = run.program("figures/bench/networks-profile", runs, f"litv2-{size}", "fast", f"{side}x{side}")
        total = next(cells for cells in (line.split("\t") for line in lines) if cells[2:3] == ["all"])
        rows.append((total[0], f"{side}x{side}", 1 / float(total[4]), printed[row], total[6]))
    _, _, images, paper, cost = rows[0]
    columns = "network grid images_a_second ratio printed printed_ratio multiply_adds its_ratio"
    run.write("networks-rate", run.about() + ["#" + columns.replace(" ", "\t")] + [
        fits.cells(network, grid, f"{rate:.4g}", f"{rate / images:.2f}", prints, f"{prints / paper:.2f}", work,
                   f"{float(cost) / float(work):.2f}") for network, grid, rate, prints, work in rows])


def networks_share(run):
    """Lines are multiply-adds, by formula; dots are time, where it was measured."""
    table = run.read("networks-share")
    sheet = Sheet("How much of a network its operator is", wide=760, high=460, foot=[
        "Lines: its share of the multiply-adds, by formula.  Dots: its share of the time, one image, one thread.",
        "LiSA’s peaks are sides of 11, 13, 17, 19 and 23 times 2 or 4 tokens, whose transforms take more.",
        table.measured()])
    panel = sheet.panel(68, 60, 520, x=(150, 790), y=(0, 1), xtics=tics((160, 224, 320, 448, 576, 672, 768)), log="",
                        ytics=tics((n / 5 for n in range(6)), lambda v: f"{100 * v:.0f} %"),
                        xlabel="side of the image, in pixels")
    networks = {"litv2-s": ("HiLo in LITv2-S", BLUE), "elsa-swin-t": ("ELSA in ELSA-Swin-T", VERMILION),
                "structvit-s-4-1": ("StructSA in StructViT-S-4-1", GREEN),
                "lisanet-i-t": ("LiSA in LiSANet-I-T", PURPLE)}
    sheet.curves(panel, networks, lambda key: table.points("side", "multiply_adds", network=key), size=14, dot=0)
    sheet.curves(panel, networks, lambda key: [(x, y) for x, y in table.points("side", "time", network=key) if y >= 0],
                 named=False, weight=0, dot=0.8)
    return sheet


Chapter("networks", networks_tables, (), {"networks-share": networks_share}, pictures(
    "networks-maps", "networks-lisa", "networks-structsa", "networks-elsa", "networks-boxes", "networks-spectrum"))


# ---- ladders of chapters 0 and 1 -------------------------------------------------------------------------------------

def ladder_tables(run):
    for layer in ("msa --grid 56x56 --channels 64 --without rpe,b_qkv,w_o,b_o",
                  "lisa --grid 28x28 --channels 96 --heads 6 --sizes D=16 --without b_qkv,w_o,b_o"):
        operator = layer.split()[0]
        run.say(f"climb {operator}")
        steps = run.program("figures/ladders/ladder", *layer.split(), "--repeats", 200, "--seconds", run.share(30))
        run.write("ladder-" + operator, run.about() + steps)


def ladder(name, start):
    def called(row):
        if row["threads"] == "1":
            return row["step"]
        return f"fast, {row['threads']} threads" if row["step"] == "fast" else f"{row['step']} ({row['threads']})"

    def layout(run):
        table = run.read(name)
        steps = [(called(row), row) for row in table.rows if row["step"] not in ("projections", "fast")]
        fast = [(called(row), row) for row in table.where(step="fast")]
        columns = [("multiply-adds", "multiply_adds", BLUE, scaled), ("bytes asked for", "asked_bytes", BLUE, scaled),
                   ("bytes moved", "moved_bytes", BLUE, scaled), ("time", "median_seconds", ORANGE, seconds)]
        layer = table.notes["ladder"].split(" --without")[0]
        return counts(f"{start} to nearly the fast form", columns, [("", steps), ("", fast)], [
            table.measured(), f"Layer: {layer}; projections are in it, not in the bytes.",
            "Asked for: by loops, of the caches.  Moved: into the first cache, or out of it.  Lines: factors of 10."],
            240, 720)
    return layout


Chapter("ladder", ladder_tables, (), {"ladder-msa": ladder("ladder-msa", "Self-attention, from the equation"),
                                      "ladder-lisa": ladder("ladder-lisa", "LiSA, from the plain form")})
