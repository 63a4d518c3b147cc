"""chapters.py -- what each chapter measures and draws

CHAPTERS: by name, a Chapter with
    tables    measures its sweeps and maps, for as long as the budget allows
    layers    the layers on which the memory requests of its CUDA versions are counted
    drawings  by the figure's name, its layout: a function of the run, which reads tables
    derived   computes tables from other tables, without timing
    files     prefixes of its files
"""
import math
import os
import statistics

import fits
import tiles
from fits import Table
from panels import BYTES, CHAIN, FORMS, SCALAR, TIMES, counts, scaled, scaling, seconds, steps, thousands, tics
from sheet import (BLACK, BLUE, EDGE, FAINT, FIGURES, GREEN, GRID, INK, LIGHT, ORANGE, PURPLE, SKY, VERMILION, WHITE,
                   WRITTEN, Sheet)

CHAPTERS = {}
BOTH = (("median_seconds", "time", TIMES), ("peak_bytes", "peak memory", BYTES))
PUBLISHED = Table(os.path.join(FIGURES, "..", "reference", "published", "hilo.tsv"))


class Chapter:
    def __init__(self, name, tables, layers, *drawings, derived=lambda run: None, files=()):
        self.tables, self.layers, self.derived, self.files = tables, layers, derived, files or (name,)
        self.drawings = {figure: layout for group in drawings for figure, layout in group.items()}
        CHAPTERS[name] = self


def pictures(*names):
    """Figures of tiles.py, each from the table of the same name."""
    return {name: lambda run, name=name: getattr(tiles, name.replace("-", "_"))(run.read(name)) for name in names}


def scalings(chapter, quantities, lines, layer, remarks, **options):
    """A figure for each quantity against N.  The figure of time has the chapter's name."""
    def drawn(quantity):
        return lambda run: scaling(run.read(chapter), quantity, lines, layer, remarks.get(quantity, ""), **options)
    return {chapter + f"-{quantity}" * (quantity != "time"): drawn(quantity) for quantity in quantities.split()}


def requests(table):
    """The memory requests of a chapter's CUDA versions."""
    columns = [("sectors", "sectors", BLUE, scaled), ("bytes asked for", "asked", BLUE, scaled),
               ("bytes touched", "touched", BLUE, scaled), ("shared cycles", "wavefronts", ORANGE, scaled)]
    groups = [(note, [(row["version"], row) for row in rows]) for note, rows in table.sections]
    return counts("What each version asks of the memory", columns, groups, [
        "Counted in one run, in float: the same on every machine.  Cycles of shared memory by a model.",
        "Sectors: of 32 bytes, as often as warps ask.  Touched: each sector once a launch.",
        "Not counted: the library's products and transforms.  Lines: factors of 10."], 172, 640)


# ---- 0: attention ----------------------------------------------------------------------------------------------------

def attention_tables(run):
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
        {"attention-error": attention_error,
         "attention-cuda": lambda run: requests(run.read("attention-cuda"))})


# ---- 1: LiSA ---------------------------------------------------------------------------------------------------------

def lisa_tables(run):
    """Time and memory against N.  Naive forms run on small grids only."""
    layer = "--channels 96 --heads 6 --without b_qkv,w_o,b_o"
    small, large, fftw = "4x4 6x6 8x8 12x12 16x16 24x24 32x32", "64x64 128x128", ""
    errors = "600 8x8 16x16 24x24 32x32 64x64"
    if run.full:
        small = "4x4 6x6 7x7 8x8 12x12 16x16 24x24 32x32 40x40 48x48 64x64"
        large, fftw = "96x96 128x128 192x192 256x256", "fftw"
        errors = "1100 8x8 12x12 16x16 24x24 32x32 48x48 64x64 96x96 128x128 192x192 256x256"
    run.table("lisa")
    for grids, eq10, eq7, attention in ((small, f"naive plain fast {fftw}", "naive fast", "naive plain fast"),
                                        (large, "plain fast", "fast", "fast")):
        if grids == large and run.half_spent():
            run.step("half of the time is spent: no larger grids")
            break
        for equation, forms in ((10, eq10), (7, eq7)):
            run.sweep(f"eq{equation}", f"lisa --equation {equation} --sizes D=16 {layer} --form {forms} --grid {grids}",
                      each=150)
        for series, window in (("msa", ""), ("window", "--window 8")):
            fitting = [grid for grid in grids.split() if series == "msa" or int(grid.split("x")[0]) % 8 == 0]
            run.sweep(series, f"msa {window} {layer},rpe --form {attention} --grid {' '.join(fitting)}", each=150)
    run.map("lisa-border")
    run.map("lisa-error", *errors.split())


LISA = {"eq7/naive": ("Eq. 7, naive", VERMILION, 1), "eq10/naive": ("Eq. 10, naive", VERMILION, 2.5),
        "eq10/plain": ("Eq. 10, plain FFT", GREEN, 2.5), "eq7/fast": ("Eq. 7, fast FFT", BLUE, 1),
        "eq10/fast": ("Eq. 10, fast FFT", BLUE, 2.5), "msa/fast": ("self-attention", BLACK, 1.5),
        "window/fast": ("8×8 windows", FAINT, 1.5)}
LISA_REMARKS = {
    "time": lambda sweep: f"{sweep.overtakes('eq10')}  Self-attention is faster than Eq. 10, fast, "
                          f"{sweep.ahead('msa/fast', 'eq10/fast')}.",
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
        names = {f"eq{number}-{precision}/{form}": (f"Eq. {number}, {'FFT' if form == 'fast' else form}", colour)
                 for number, form, colour in ((7, "naive", VERMILION), (10, "naive", ORANGE), (7, "fast", PURPLE),
                                              (10, "fast", BLUE))}
        sheet.curves(panel, names, sweep.points, named=n > 0, fitted=True)
    return sheet


Chapter("lisa", lisa_tables, (),
        scalings("lisa", "time memory", LISA, "C = 96, 6 heads, D = 16, batch 1", LISA_REMARKS, guides=True,
                 chains=[("eq10", CHAIN)]),
        {"lisa-error": lisa_error}, pictures("lisa-border"))


# ---- 2: StructSA -----------------------------------------------------------------------------------------------------

def structsa_tables(run):
    layer, forms = "--channels 192 --heads 3 --without b_qkv,w_o,b_o", "--form naive plain fast"
    head = f"--grid 14x14 --channels 64 --without b_qkv,w_o,b_o {forms}"
    small, large, windows, each = "4x4 6x6 8x8 12x12 16x16 20x20", "28x28 40x40", "1x1 3x3 5x5 7x7", 200
    if run.full:
        small, large = "4x4 6x6 8x8 12x12 16x16 20x20 28x28", "40x40 56x56 80x80 96x96"
        windows, each = "1x1 3x3 5x5 7x7 9x9", 150
    run.table("structsa")
    for D in (1, 4, 8):
        run.sweep(f"d{D}", f"structsa --kernel 3x3 --sizes D={D} {layer} {forms} --grid {small}", each)
    run.sweep("msa", f"msa {layer},rpe --form fast --grid {small} {large}", each)
    # Time for a second run: the first one also allocates the pages of a map of up to gigabytes, and takes twice as
    # long.
    for D in (1, 4, 8):
        run.sweep(f"d{D}", f"structsa --kernel 3x3 --sizes D={D} {layer} --form plain fast --grid {large}", 50, 3)

    run.table("structsa-shape")
    each = 60
    for D in (1, 2, 4, 8, 16):
        run.sweep(f"D={D}", f"structsa {head} --kernel 3x3 --sizes D={D}", each)
    for window in windows.split():
        run.sweep(f"M={window}", f"structsa {head} --kernel {window} --sizes D=4", each)
    for stride in (1, 2, 4):
        run.sweep(f"s={stride}", f"structsa {head} --kernel 3x3 --stride {stride} --sizes D=4", each)
    run.map("structsa-kernels")
    run.map("structsa-motion")


# D = 4 lies between the others.
STRUCTSA = {"d8/naive": ("naive, D = 8", VERMILION, 2.5), "d1/naive": ("naive, D = 1", VERMILION, 1),
            "d8/plain": ("plain, D = 8", GREEN, 2.5), "d1/plain": ("plain, D = 1", GREEN, 1),
            "d8/fast": ("fast, D = 8", BLUE, 2.5), "d1/fast": ("fast, D = 1", BLUE, 1),
            "msa/fast": ("self-attention", BLACK, 1.5)}
STRUCTSA_REMARKS = {"time": lambda sweep: sweep.overtakes("d8") + "  Thin: D = 1; thick: D = 8.",
                    "memory": "Thin: D = 1; thick: D = 8."}


def structsa_shape(run):
    """A panel for each letter of the series D=n, M=nxn and s=n."""
    table = run.read("structsa-shape")
    for row in table.rows:
        row["kind"], size = row["series"].split("=")
        row["x"] = math.prod(map(int, size.split("x"))) if row["kind"] == "M" else size
    low, high = table.range("median_seconds")
    forms = {form: (form, FORMS[form]) for form in CHAIN}
    sheet = Sheet("Time of one head, 14×14 tokens, 64 channels", high=430, letters=14, foot=[
        "One thread, float.  Bars: quartiles.", SCALAR, table.measured()])
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
        scalings("structsa", "time memory", STRUCTSA, "C = 192, 3 heads, windows 3×3, batch 1", STRUCTSA_REMARKS,
                 chains=[("d8", CHAIN)]),
        {"structsa-shape": structsa_shape}, pictures("structsa-kernels", "structsa-motion"))


# ---- 3: ELSA ---------------------------------------------------------------------------------------------------------

def elsa_tables(run):
    layer = "--channels 96 --heads 3 --without b_qkv,w_o,b_o"
    grids = "7x7 14x14 28x28 42x42 56x56 84x84 112x112" if run.full else "7x7 14x14 28x28 56x56"
    run.table("elsa")
    for K in (3, 7):
        run.sweep(f"k{K}", f"elsa {layer} --kernel {K} --form naive plain fast --grid {grids}", 100)
    run.sweep("dense", f"elsa {layer} --kernel 7 --equation 4 --form naive --grid {grids}", 100)
    run.sweep("window", f"msa {layer},rpe --window 7 --form fast --grid {grids}", 100)
    run.table("elsa-kernel")
    for K in (1, 3, 5, 7, 9, 11) if run.full else (1, 3, 7, 11):
        run.sweep(f"K={K}", f"elsa {layer} --kernel {K} --form naive plain fast --grid 28x28", 100)
    run.map("elsa-border")
    run.map("elsa-filters")


ELSA = {"dense/naive": ("N×N (Eq. 4), K = 7", ORANGE, 1.5), "k7/naive": ("naive, K = 7", VERMILION, 2.5),
        "k3/naive": ("naive, K = 3", VERMILION, 1), "k7/plain": ("plain, K = 7", GREEN, 2.5),
        "k7/fast": ("fast, K = 7", BLUE, 2.5), "k3/fast": ("fast, K = 3", BLUE, 1),
        "window/fast": ("7×7 windows", BLACK, 1.5)}
ELSA_REMARKS = {"time": lambda sweep: sweep.overtakes("k7") + "  Thin lines: K = 3.",
                "memory": "The naive form unfolds the neighbours, the others read them in place.  Thin lines: K = 3."}


def elsa_kernel(run):
    table = run.read("elsa-kernel")
    for row in table.rows:
        row["K"] = row["series"][2:]
    sheet = Sheet("One layer, 28×28 tokens, 96 channels, 3 heads, with a ghost head", high=430, letters=14, foot=[
        "One thread, float.  Bars: quartiles.  Memory is without input and output.", SCALAR, table.measured()])
    for n, (column, heading, ytics) in enumerate(BOTH):
        low, high = table.range(column)
        panel = sheet.panel(76 + 300 * n, 84, 290 + 300 * n, x=(0, 12), y=(low / 1.5, high * 1.5), log="y", ytics=ytics,
                            xtics=tics((1, 3, 5, 7, 9, 11)), heading=heading, xlabel="K")
        sheet.curves(panel, {form: (form, FORMS[form]) for form in CHAIN},
                     lambda form: table.points("K", column, form=form),
                     lambda form: table.points("q1_seconds", "q3_seconds", form=form) if n == 0 else (), named=n > 0)
    return sheet


Chapter("elsa", elsa_tables, ["elsa --grid 16x16 --channels 24 --heads 3 --kernel 7"],
        scalings("elsa", "time memory", ELSA, "C = 96, 3 heads, with a ghost head, batch 1", ELSA_REMARKS,
                 chains=[("k7", CHAIN)]),
        {"elsa-kernel": elsa_kernel}, pictures("elsa-border", "elsa-filters"))


# ---- 4: ChoP'D -------------------------------------------------------------------------------------------------------

def chopd_tables(run):
    layer = "--channels 96 --sizes D=96,R=96"
    dense, grids, edges, boxes = "4x4 6x6", "14x14 28x28 56x56", "8 16 32 64 128 256", "0.05 1 3 7 15 31 55 111"
    if run.full:
        dense, grids = "4x4 5x5 6x6 8x8 10x10", "14x14 28x28 56x56 84x84 112x112"
        edges, boxes = "8 16 24 32 48 64 96 128 192 256 384 512 768 1024", "0.3 1 3 5 7 9 11 15 21 31 43 55 81 111"
    run.table("chopd")
    for series, words, forms in (("dfc", f"dfc-cp {layer}", "plain fast"),
                                 ("chopd", f"chopd {layer},G=4,S=24", "direct plain fast")):
        run.sweep(series, f"{words} --form naive {forms} --grid {dense}")
        run.sweep(series, f"{words} --form {forms} --grid {grids}")
    count_direct(run, f"{dense} {grids}")
    run.map("chopd-boxes", *boxes.split())
    run.map("chopd-error", *edges.split())


def count_direct(run, grids):
    """Replace form direct's formula, which assumes boxes that cover the grid, by the count for the random boxes."""
    read = dict(line.split("\t") for line in run.program("maps.py", "chopd-direct", *grids.split()))
    with open(os.path.join(run.work, "chopd.tsv"), encoding="utf-8") as file:
        lines = [line.split("\t") for line in file.read().splitlines()]
    column = next(row.index("multiply_adds") for row in lines if "multiply_adds" in row)
    for row in lines:
        if row[2:3] == ["direct"]:
            row[column] = str(int(row[column]) + 2 * (int(read[row[3]]) - 96 * 4 * int(row[4]) ** 2))
    run.write("chopd", map("\t".join, lines))


CHOPD = {"dfc/naive": ("DFC, naive", VERMILION, 1), "chopd/naive": ("ChoP'D, naive", VERMILION, 2.5),
         "chopd/direct": ("direct", PURPLE, 2.5), "chopd/plain": ("plain", GREEN, 2.5),
         "dfc/fast": ("CP factors, fast", BLUE, 1), "chopd/fast": ("ChoP'D, fast", BLUE, 2.5)}
CHOPD_REMARKS = {"time": "Naive to direct: in factors.  Direct to plain: the integral image.",
                 "memory": "Naive forms hold W_{imncd}: N^2 C D numbers.  Direct and plain lie on each other."}
CHOPD_CHAINS = ("naive", "direct"), ("direct", "plain", "fast")


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


Chapter("chopd", chopd_tables, (),
        scalings("chopd", "time memory", CHOPD, "C = D = R = 96, G = 4, gate of 7×7 and S = 24, batch 1",
                 CHOPD_REMARKS, chains=[("chopd", chain) for chain in CHOPD_CHAINS]),
        {"chopd-boxes": chopd_boxes, "chopd-error": chopd_error})


# ---- 5: HiLo ---------------------------------------------------------------------------------------------------------

HILO_BARE = "--without h_qkv_b,h_proj_b,l_q_b,l_kv_b,l_proj_b"


def hilo_tables(run):
    grids, rounds, each, planes, lows = "14x14 28x28 56x56", 1, 400, "14x14 28x28", range(0, 13, 2)
    if run.full:
        grids, rounds, each = "14x14 20x20 28x28 42x42 56x56 84x84 112x112", 9, 800
        planes, lows = "14x14 56x56", range(13)
    layers = {"hilo": f"hilo {HILO_BARE}", "window": "msa --window 7 --without b_qkv,b_o,rpe",
              "sra": "sra --reduction 2 --without b_q,b_kv,sr_b,b_o", "msa": "msa --without b_qkv,b_o,rpe"}
    run.table("hilo")
    layer = "--channels 384 --heads 12 --grid"                          # LITv2-S's third stage
    for series, share in (("s2", ""), ("windows", "--alpha 0"), ("pooled", "--alpha 1")):
        run.sweep(series, f"{layers['hilo']} --window 2 {share} --form naive plain fast {layer} 4x4 8x8 {grids}", 150)
    run.sweep("s4", f"{layers['hilo']} --window 4 --form fast {layer} {grids}", 150)
    for series in ("msa", "window", "sra"):
        run.sweep(series, f"{layers[series]} --form fast {layer} {grids.replace(' 20x20', '')}", 150)
    run.table("hilo-layers")
    layer = "--channels 768 --heads 12 --form fast"
    for _ in range(rounds):
        for series, words in layers.items():
            run.sweep(series, f"{words} --grid 14x14 {layer}", each)
    run.table("hilo-alpha")
    for low in lows:
        alpha = f"{(low + 0.01) / 12 if low < 12 else 1:.4f}"       # alpha times 12, rounded down, must be `low`
        run.sweep(str(low), f"{layers['hilo']} --alpha {alpha} --grid {planes} {layer}", 80)
    run.map("hilo-cost")
    run.map("hilo-spectrum")
    run.map("hilo-alias")


HILO = {"s2/naive": ("naive, s = 2", VERMILION, 2.5), "s2/plain": ("plain, s = 2", GREEN, 2.5),
        "msa/fast": ("self-attention", BLACK, 1.5), "window/fast": ("7×7 windows", ORANGE, 1.5),
        "sra/fast": ("SRA", PURPLE, 1.5), "s2/fast": ("fast, s = 2", BLUE, 2.5), "s4/fast": ("fast, s = 4", BLUE, 1)}


def hilo_parts(run):
    """The two identities, each alone: all heads in windows, all heads with pooled keys."""
    table = run.read("hilo")
    parts = (("windows", "windows of 2×2 alone, α = 0"), ("pooled", "pooled keys alone, α = 1"))
    sheet = Sheet("Time of one layer whose heads are all Hi-Fi’s, or all Lo-Fi’s", high=520, letters=14, foot=[
        "384 channels, 12 heads, s = 2, batch 1, one thread, float.", SCALAR,
        *(f"α = {n}, {fits.factors_in_words(table, key, CHAIN)}" for n, (key, _) in enumerate(parts)),
        table.measured()])
    sheet.legend((form, FORMS[form]) for form in CHAIN)
    rows = [row for row in table.rows if row["series"] in dict(parts)]
    last, times = (max(float(row[column]) for row in rows) for column in ("tokens", "median_seconds"))
    for n, (key, heading) in enumerate(parts):
        panel = sheet.panel(76 + 326 * n, 112, 356 + 326 * n, x=(13, last * 1.15), y=(3e-5, times * 2), ytics=TIMES,
                            xtics=tics((16, 196, 3136)), bare=n > 0, heading=heading, xlabel="tokens N")
        sheet.curves(panel, {form: (form, FORMS[form]) for form in CHAIN},
                     lambda form: table.points("tokens", "median_seconds", series=key, form=form), named=False)
        steps(sheet, panel, table, "median_seconds", key, CHAIN,
              [table.points("tokens", "median_seconds", series=key, form=form) for form in CHAIN])
    return sheet


def hilo_layers(run):
    """Images a second relative to HiLo: measured, in the paper, and by multiply-adds.  The table has each series once
    per round; the median counts."""
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
    """Time and multiply-adds against the number of Lo-Fi heads, relative to none; a panel for each grid."""
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


Chapter("hilo", hilo_tables, (),
        scalings("hilo", "time memory", HILO, "384 channels, 12 heads, α = 0.9, batch 1", {
            "time": lambda sweep: sweep.overtakes("s2"),
            "memory": "Self-attention runs with windows on one line."}, chains=[("s2", CHAIN)]),
        {"hilo-parts": hilo_parts, "hilo-layers": hilo_layers, "hilo-alpha": hilo_alpha, "hilo-cost": hilo_cost},
        pictures("hilo-spectrum", "hilo-alias"))


# ---- 6: the gap ------------------------------------------------------------------------------------------------------

# Operators of the gap: key, name, table, series; by form, the formulas of multiply-adds and of memory (in reals) that
# are printed next to the exponents.
SAME, SPECTRA, SMALL = "the same", "$N C D / h$", "$N C$"
OPERATORS = [(*names, dict(zip(CHAIN, formulas))) for *names, formulas in (
    ("msa", "self-attention", "lisa", "msa", (("$2 N^2 C$", "$N^2$"), (SAME, SMALL), (SAME, SMALL))),
    ("lisa", "LiSA, Eq. 10", "lisa", "eq10", (
        ("$2 N^2 C D$", SPECTRA), (r"$N C D \log N$", SPECTRA), (SAME, SPECTRA))),
    ("structsa", "StructSA, D = 4", "structsa", "d4", (
        ("$N^2 C (1 + 2 D M + M)$", "$N^2 (C / h + D)$"), ("$2 N^2 C D$", SPECTRA), (SAME, SMALL))),
    ("elsa", "ELSA, K = 7", "elsa", "k7", (
        ("$N K^2 (2 h + 2) C$", "$N K^2 (3 C + h)$"), ("the same, on the grid", SMALL), (SAME, SMALL))),
    ("chopd", "ChoP'D", "chopd", "chopd", (
        ("$3 N^2 C D R$", "$N^2 C D$"), (r"$N R (C + D + 5 G) + \varphi$", r"$N R + \varphi$"),
        (r"$N R (C + D + 6 G) + \varphi$", r"$N R + \varphi$"))),
    ("hilo", "HiLo, s = 2", "hilo", "s2", (
        ("$2 N^2 C$", "$2 N^2$"), ("$2 N^2 D_L / s^2 + 2 N s^2 D_H$", SMALL), (SAME, SMALL))))]
IDENTITIES = [("factors", "ChoP'D, in factors", "chopd", "chopd", CHOPD_CHAINS[0]),
              ("integral", "ChoP'D, integral image", "chopd", "chopd", CHOPD_CHAINS[1]),
              ("windows", "HiLo, windows", "hilo", "windows", CHAIN),
              ("pooled", "HiLo, pooled keys", "hilo", "pooled", CHAIN)]


def gap_tables(run):
    """gap_derived computes the gap from the chapters' tables.  This measures forms where N is small; all fast forms on
    96 channels; LiSA's Fig. 4, with windows of N/4 tokens and keys pooled by 2 x 2; the roofline."""
    bare, qkv = "--without b_qkv,b_o,rpe", "--without b_qkv,w_o,b_o"
    run.table("gap-small")
    tiny = "--form naive plain fast --grid 1x1 2x2 3x3 4x4 6x6 8x8"    # grids of gap-loses
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
    try:
        lines, notes = run.program("figures/bench/roofline", 1 if run.full else 0.1), run.about()
    except RuntimeError as problem:             # its readings differ too much: the figure shows the last table
        return run.say(f"left out: {problem}")
    for name, kind, columns in (
            ("roofline", "form", "operator options sizes form grid channels without multiply_adds x_bytes weights_bytes"
                                 " y_bytes workspace_bytes intensity level roof best_seconds reached share"),
            ("roofline-levels", "level", "level read_through_bytes G_a_second")):
        cells = [line.split("\t")[1:1 + len(columns.split())] for line in lines if line.startswith(kind + "\t")]
        notes += [line for line in lines if line.startswith("#") and line not in notes]
        run.write(name, notes + ["#" + columns.replace(" ", "\t")] + ["\t".join(row) for row in cells])


def gap_derived(run):
    tables = {name: run.read(name) for name in ("lisa", "structsa", "elsa", "chopd", "hilo")}
    for name, lines in zip(("gap", "gap-factors", "gap-fits"), fits.gap(OPERATORS, IDENTITIES, tables)):
        run.write(name, fits.head(*tables.values()) + lines)
    for name, source, quantities in (("gap-loses", "gap-small", ("algorithm", "machine", "memory", "runs")),
                                     ("gap-choices", "gap-choice", ("milliseconds", "mebibytes"))):
        table = run.read(source)
        run.write(name, fits.head(table) + fits.by_grid(table, quantities))
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
GAP_PANELS = (("algorithm", "time, naive over plain: the algorithm"),
              ("machine", "time, plain over fast: the machine"),
              ("less_work", "multiply-adds, naive over plain"),
              ("less_memory", "memory, naive over plain"))


def gap(run):
    """Factors between two forms against N.  Each line ends with its last value."""
    table = run.read("gap")
    sheet = Sheet("From naive to plain, the algorithm; from plain to fast, the machine", 900, 760, foot=[
        "The layers of chapters 1 to 5, one thread, float.  Lines end where the naive form is too slow.  Dashed: even.",
        SCALAR, table.measured()])
    for n, (column, heading) in enumerate(GAP_PANELS):
        left, top = 76 + 446 * (n % 2), 76 + 316 * (n // 2)
        panel = sheet.panel(left, top, left + 220, top + 220, x=(14, 15000), y=(0.2, 3e4),
                            xlabel="tokens N, on square grids", xtics=tics((16, 128, 1024, 8192)),
                            ytics={10.0 ** n: f"{thousands(10 ** n)}×" if n < 4 else f"10^{n}×" for n in range(6)})
        sheet.write(heading, panel.left + 4, panel.top - 14.3, 15)
        panel.line([(14, 1), (15000, 1)], INK, 1, 2, 0)
        lines = {key: table.points("tokens", column, series=key) for key in GAP if table.where(series=key)}
        names = {key: (f"{GAP[key][0]} {fits.three(lines[key][-1][1])}×", GAP[key][1]) for key in lines}
        sheet.curves(panel, names, lines.get, size=13, dot=0.35)
    return sheet


def gap_factors(run):
    """For each operator, and for each identity of those with two, a bar of two parts on a logarithmic axis."""
    table, left, unit, top = run.read("gap-factors"), 236, 62, 92
    rows = [row for key in GAP for row in table.rows
            if row["series"] in (key, *{"chopd": ("factors", "integral"), "hilo": ("windows", "pooled")}.get(key, ()))]
    sheet = Sheet("How much faster: the algorithm’s part and the machine’s", 930, top + 84 + 34 * len(rows), foot=[
        "Time of one layer, at the largest grid that was measured, one thread, float.  Algorithm: naive over plain, or "
        "one step of it.", "Machine: plain over fast.  Multiply-adds and memory: naive over plain.", SCALAR,
        table.measured()])
    for n in range(6):
        x = left + n * unit
        sheet.line([(x, top - 12), (x, top + 34 * len(rows) - 12)], GRID)
        sheet.write(f"{thousands(10 ** n)}×" if n < 4 else f"10^{n}×", x, top - 24, 12, FAINT, "center")
    for x, column, name, colour in ((640, "algorithm", "algorithm", GREEN), (720, "machine", "machine", BLUE),
                                    (828, "less_work", "multiply-adds", INK), (906, "less_memory", "memory", INK)):
        sheet.write(name, x, top - 24, 13, colour, "right")
        for n, row in enumerate(rows):
            if row[column]:
                sheet.write(f"{fits.three(float(row[column]))}×", x, top + 34 * n, 14, colour, "right")
    for n, row in enumerate(rows):
        y, step = top + 34 * n, row["series"] not in GAP
        sheet.write(row["operator"].split(", ")[1] if step else row["operator"], 16 + 16 * step, y, 14 - step)
        sheet.write(row["grid"].replace("x", "×"), left - 12, y, 12, FAINT, "right")
        end = left + unit * math.log10(float(row["algorithm"]))
        sheet.fill(left, y - 9 + 3 * step, end - left, 18 - 6 * step, GREEN)
        sheet.fill(end, y - 9 + 3 * step, unit * math.log10(float(row["machine"] or 1)), 18 - 6 * step, BLUE)
    return sheet


def viridis(share):
    """The colour of a share of the palette, from 0 to 1, as plot.gp has it."""
    stops = (0x440154, 0x46327e, 0x365c8d, 0x277f8e, 0x1fa187, 0x4ac16d, 0xa0da39, 0xfde725)
    at = max(0, min(1, share)) * (len(stops) - 1)
    n = min(int(at), len(stops) - 2)
    return sum(round((stops[n] >> bits & 255) * (n + 1 - at) + (stops[n + 1] >> bits & 255) * (at - n)) << bits
               for bits in (16, 8, 0))


def gap_heat(run):
    """Time of each operator's layer on each grid.  The colour is the ratio to the fastest of the column."""
    table = run.read("gap-choices")
    rows = table.where(what="milliseconds")
    grids = [column for column in rows[0] if "×" in column]
    left, top, wide, high, most = 176, 112, 112, 50, 100
    sheet = Sheet("Time of one layer in milliseconds, by operator and grid", 760, top + high * len(rows) + 130, foot=[
        "Small numbers and colours: how many times as long as the fastest operator of the column, which has a frame.",
        "96 channels with projections, 3 heads (LiSA: 6), one image, one thread, float, fast forms.", table.measured()])
    for n, grid in enumerate(grids):
        x, fastest = left + wide * n, min(float(row[grid]) for row in rows)
        sheet.write(grid, x + wide / 2 - 2, top - 36, anchor="center")
        N = math.prod(map(int, grid.split("×")))
        sheet.write(f"N = {N:,}".replace(",", " "), x + wide / 2 - 2, top - 15, 12, FAINT, "center")
        for m, row in enumerate(rows):
            y, ratio = top + high * m, float(row[grid]) / fastest
            share = 1 - math.log(ratio) / math.log(most)
            letters = EDGE if share > 0.55 else LIGHT
            sheet.fill(x, y, wide - 4, high - 4, viridis(share))
            sheet.write(row[grid], x + wide / 2 - 2, y + 16, 15, letters, "center")
            sheet.write(f"{ratio:.1f}×" if 1 < ratio < 9.95 else f"{ratio:.0f}×", x + wide / 2 - 2, y + 34, 11, letters,
                        "center")
            if ratio == 1:
                sheet.outline(x - 1, y - 1, wide - 2, high - 2, INK, 5)
    for m, row in enumerate(rows):
        sheet.write(row["operator"], 16, top + high * m + high / 2 - 2)
    x, y, step = left, top + high * len(rows) + 22, 2
    for n in range(0, 100, step):
        sheet.fill(x + 3 * n, y, 3 * step + 0.5, 14, viridis(1 - n / 100))
    for ratio in (1, 3, 10, 30, 100):
        sheet.write(f"{ratio}×" + " and more" * (ratio == most), x + 300 * math.log(ratio) / math.log(most), y + 26, 12,
                    FAINT, "left" if ratio == most else "center")
    return sheet


BLOCKS = {"msa/fast": ("self-attention", BLACK, 2), "quarter/fast": ("windows of N/4", ORANGE, 2),
          "pooled/fast": ("keys pooled 2×2", GREEN, 2), "lisa/fast": ("LiSA", BLUE, 2)}


def gap_blocks(quantity, title):
    """LiSA's Fig. 4 for our fast forms."""
    def remark(sweep):
        if quantity == "memory":
            return "No fast form holds a map, so that nothing here is quadratic."
        return f"Windows of N/4 tokens cost less than LiSA {sweep.ahead('quarter/fast', 'lisa/fast')}, " \
               f"pooled keys {sweep.ahead('pooled/fast', 'lisa/fast')}."
    return lambda run: scaling(run.read("gap-blocks"), quantity, BLOCKS, title=title, guides=quantity == "time",
                               layer="C = 96, 6 heads, D = 16 in LiSA, batch 1, fast forms", remark=remark)


def gap_resolution(run):
    """HiLo's Fig. 3: counted multiply-adds of the network, with the paper's Table 4 as rings; then time and memory of
    one layer of its third stage, measured for chapter 5."""
    table, layers = run.read("gap-resolution"), run.read("hilo")
    layers.rows = [row | {"pixels": 16 * math.sqrt(int(row["tokens"]))} for row in layers.rows
                   if int(row["tokens"]) >= 196]
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


def roofline(run):
    """Multiply-adds a second against multiply-adds for each byte.  Slopes are bandwidths of memory levels, the roof is
    the rate of vectors."""
    table = run.read("roofline")
    rates = {row["level"]: float(row["G_a_second"]) for row in run.read("roofline-levels").rows}
    peak, lowest = rates.pop("multiply-adds"), 0.6 * table.range("reached")[0]
    sheet = Sheet("How near to what the machine allows", high=660, foot=[
        "One thread, float.  Full: fast forms, and how much of their roof they reach; hollow: naive ones.",
        "Slopes: levels of memory, and GB/s read from them.", table.measured()])
    panel = sheet.panel(66, 84, 560, x=(0.05, 1000), y=(lowest, peak * 1.7),
                        xtics={0.0625: "1/16", 0.25: "1/4"} | tics(4 ** n for n in range(5)),
                        ytics=tics((0.1, 1, 10, 100, 1000)), heading="G multiply-adds a second",
                        xlabel="multiply-adds for each byte of input, weights, output and workspace")
    roof = panel.at(1, peak)[1]
    sheet.write(f"vectors from registers: {peak:.0f}", panel.left + 8, roof - 16, 12, FAINT)
    (x0, y0), (x1, y1) = panel.at(1, 1), panel.at(10, 10)
    slant, x, before = math.degrees(math.atan2(y0 - y1, x1 - x0)), 0.058, math.inf
    for level, rate in rates.items():
        start = max(0.05, lowest / rate)
        panel.line([(start, rate * start), (peak / rate, peak), (1000, peak)], FAINT, 1.2, dot=0)
        x, before = 2.5 * x if before < 2 * rate else 0.058, rate           # staggers labels of similar slopes
        at = panel.at(x, rate * x)
        sheet.write(f"{level}  {rate:.0f}", at[0] - 2.4, at[1] - 15.6, 12, FAINT, slant)
    dots = []
    for row in table.rows:
        fast = row["form"] == "fast"
        name = CALLED[row["operator"] + "-window" * ("window" in row["options"])]
        name, colour, point = (name + f"  {float(row['share']):.0f} %", BLUE, 7) if fast else (name, VERMILION, 6)
        dots.append((float(row["intensity"]), float(row["reached"]), name, colour))
        panel.line([dots[-1][:2]], colour, 0, dot=0.9, point=point)
    sheet.label_ends(panel, dots, 12)
    return sheet


Chapter("gap", gap_tables, (), {
    "gap": gap, "gap-factors": gap_factors, "gap-heat": gap_heat, "roofline": roofline,
    "gap-resolution": gap_resolution,
    "gap-blocks-work": gap_blocks("work", "LiSA’s Fig. 4a by our forms: multiply-adds of one layer"),
    "gap-blocks-time": gap_blocks("time", "LiSA’s Fig. 4b by our forms: time of one layer"),
    "gap-blocks-memory": gap_blocks("memory", "LiSA’s Fig. 4c by our forms: memory of one layer")},
        derived=gap_derived, files=("gap", "roofline"))


# ---- 7: networks -----------------------------------------------------------------------------------------------------

def networks_tables(run):
    runs, sides, images = (9, "224 320 448 576 768", 10000) if run.full else (1, "224 448", 1000)
    run.map("networks-profile", runs)
    run.map("networks-share", (runs + 1) // 2, *sides.split())
    rates(run, runs)
    run.map("networks-maps")
    run.map("networks-accuracy", images)
    for name in ("lisa", "learned", "spectrum"):
        run.map("networks-" + name)


def rates(run, runs):
    """Images a second of LITv2-S, -M and -B, on one thread and as printed, with ratios to LITv2-S, also of work."""
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


PROFILED = {"litv2-s": ("LITv2-S", "hilo", "HiLo"), "elsa-swin-t": ("ELSA-Swin-T", "elsa", "ELSA"),
            "lisanet-i-t": ("LiSANet-I-T", "lisa", "LiSA"),
            "structvit-s-4-1": ("StructViT-S-4-1", "structsa", "StructSA"),
            "chopd-former-15m": ("ChoP’D Former", "chopd", "ChoP’D")}


def networks_profile(run):
    """Stacked bars: shares of a network's steps in the time, and below in the multiply-adds."""
    table, left, unit = run.read("networks-profile"), 190, 520
    colours = {"operator": BLUE, "mlp": WRITTEN[ORANGE], "others": FAINT}
    sheet = Sheet("Where the time of a network goes, and its multiply-adds", high=514, foot=[
        "Thick: share of the time.  Thin: share of the multiply-adds.  One image of 224×224 pixels, one thread, float.",
        "Naive and fast: form of the operator.  ChoP’D is token mixer and MLP in one.", table.measured()])
    sheet.legend([("the operator", BLUE), ("MLPs", ORANGE), ("all other steps", FAINT)])
    rows = [(name, form, operator) for name, (_, operator, _) in PROFILED.items() for form in ("fast", "naive")
            if table.where(network=name, form=form)]
    sheet.line([(left, 78), (left, 80 + 52 * len(rows))], INK, 0.7)
    for n, (name, form, operator) in enumerate(rows):
        y = 84 + 52 * n
        steps = {row["step"]: row for row in table.where(network=name, form=form)}
        sheet.write(PROFILED[name][0], left - 10, y + 13, 14, anchor="right")
        took = seconds(float(steps["all"]["time_seconds"]))
        sheet.write(f"{PROFILED[name][2]} {form}, {took}", left - 10, y + 31, 12, FAINT, "right")
        for k, column in enumerate(("time_seconds", "multiply_adds")):
            whole, x = float(steps["all"][column]), left
            shares = {"operator": float(steps[operator][column]) / whole,
                      "mlp": float(steps["mlp"][column]) / whole if "mlp" in steps else 0}
            shares["others"] = 1 - sum(shares.values())
            for part, share in shares.items():
                high = 26 if k == 0 else 12
                sheet.fill(x, y + 28 * k, unit * share, high, colours[part])
                if k == 0 and share > 0.06:
                    sheet.write(f"{100 * share:.0f} %", x + 8, y + 13, 13, WHITE)
                x += unit * share
    return sheet


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


Chapter("networks", networks_tables, (), {"networks-profile": networks_profile, "networks-share": networks_share},
        pictures("networks-maps", "networks-lisa", "networks-spectrum"))


# ---- the ladder of chapter 0 ---------------------------------------------------------------------------------------

def ladder_tables(run):
    run.say("climb the ladder")
    steps = run.program("figures/ladders/ladder", *"msa --grid 56x56 --channels 64 --without rpe,b_qkv,w_o,b_o".split(),
                        "--repeats", 200, "--seconds", run.share(30))
    run.write("ladder-msa", run.about() + steps)


def ladder(run):
    def called(row):
        if row["threads"] == "1":
            return row["step"]
        return f"fast, {row['threads']} threads" if row["step"] == "fast" else f"{row['step']} ({row['threads']})"
    table = run.read("ladder-msa")
    steps = [(called(row), row) for row in table.rows if row["step"] not in ("projections", "fast")]
    fast = [(called(row), row) for row in table.where(step="fast")]
    columns = [("multiply-adds", "multiply_adds", BLUE, scaled), ("bytes asked for", "asked_bytes", BLUE, scaled),
               ("bytes moved", "moved_bytes", BLUE, scaled), ("time", "median_seconds", ORANGE, seconds)]
    layer = table.notes["ladder"].split(" --without")[0]
    return counts("Self-attention, from the plain form to nearly the fast form", columns, [("", steps), ("", fast)], [
        table.measured(), f"Layer: {layer}; projections are in it, not in the bytes.",
        "Asked for: by loops, of the caches.  Moved: into the first cache, or out of it.  Lines: factors of 10.",
        SCALAR], 240, 720)


Chapter("ladder", ladder_tables, (), {"ladder-msa": ladder})
