#!/usr/bin/env python3
"""network_maps.py -- the tables and pictures of chapters 6 and 7 that are computed, not measured

    python3 figures/network_maps.py NAME [ARGUMENT...]      (needs numpy and build/; BUILD names another folder)

One function below for each NAME; it prints comments, and matrices or rows under their titles.  Networks run in
`twicetold network`; its option --before stops them and writes the input and the parameters of a step.

The tiny networks are those of reference/networks/learned.c.  Most pictures show the mixer of the second block twice:
with random weights, and with the trained ones in tests/golden/learned/."""

import gzip
import inspect
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
LEARNED = ROOT / "tests/golden/learned"
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz")

EDGE, SIDE, N, C = 28, 14, 196, 32      # pixels and tokens of a side, tokens and channels of the tiny networks
PICTURE = 28                            # the image of the test set that is shown


class Failure(Exception):
    """A message and an exit status."""


# ---- images and tensors ----

def images(first, count):
    """[count, 28, 28] from 0 to 1, and where they are from: without the data set a disc, which has edges of all
    directions."""
    if DATA.exists():
        with gzip.open(DATA) as file:
            file.seek(16 + first * EDGE * EDGE)
            pixels = np.frombuffer(file.read(count * EDGE * EDGE), np.uint8)
        return pixels.reshape(count, EDGE, EDGE) / np.float32(255), "Fashion-MNIST (test)"
    y, x = np.mgrid[:EDGE, :EDGE] - 13.5
    return np.tile((np.hypot(y, x) < 9).astype("f"), (count, 1, 1)), "a disc, for want of the data set"


def write_png(path, pixels):
    """Grey pixels, 8 bits each."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows, columns = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in np.rint(pixels * 255).astype(np.uint8))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def read_tensors(path):
    """The tensors of a safetensors file by name."""
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(raw[start + t["data_offsets"][0]:start + t["data_offsets"][1]],
                                {"F32": "<f4", "F64": "<f8"}[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items()}


def write_x(path, x):
    x = np.ascontiguousarray(x, "<f4")
    header = json.dumps({"x": {"dtype": "F32", "shape": x.shape, "data_offsets": [0, x.nbytes]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + x.tobytes())


# ---- the programs ----

def call(program, *words):
    """What a program of the build folder prints."""
    try:
        done = subprocess.run([BUILD / program, *map(str, words)], capture_output=True, text=True)
    except OSError as error:
        raise Failure(f"{BUILD / program}: {error.strerror}; run make first", 1) from None
    if done.returncode:
        raise Failure(done.stderr.strip(), max(done.returncode, 1))
    return done.stdout


def network(name, *words, x=None, picture=None):
    """The tensors that `twicetold network` writes for these pixels: of networks x [B, N, 1], or a picture."""
    with tempfile.TemporaryDirectory() as folder:
        given, output = pathlib.Path(folder, "given"), pathlib.Path(folder, "output.safetensors")
        if picture is None:
            write_x(given, x.reshape(len(x), -1, 1))
        else:
            write_png(given, picture)
        call("twicetold", "network", name, *words, *(["--input"] if picture is None else []), given, "-o", output)
        return read_tensors(output)


def weights(operator, kind):
    """The words that give a tiny network its weights."""
    return ("--random", 1) if kind == "random" else ("--weights", LEARNED / f"{operator}.safetensors")


def meet(operator, kind, pixels):
    """The input x of the mixer of the second block, and its parameters."""
    return network(f"learned-{operator}", *weights(operator, kind), "--before", "stage1.block2.mixer", x=pixels)


def library():
    """Our Python module."""
    os.environ.setdefault("TWICETOLD_LIBRARY", str(BUILD / "lib"))
    sys.path.insert(0, str(ROOT / "reference/library"))
    import twicetold
    return twicetold


def count_kinds(name, grid=None, runs=0):
    """The rows of networks-profile by kind of step: dictionaries of its columns."""
    lines = call("figures/networks-profile", runs, name, "fast", *([grid] if grid else [])).splitlines()
    head, *rows = [line.lstrip("#").split("\t") for line in lines if not line.startswith("# ")]
    return {row[2]: dict(zip(head, row)) for row in rows}


# ---- printing ----

def block(title, matrix, form="%.4f"):
    print(f"# {title}", *("\t".join(form % v for v in row) for row in np.atleast_2d(matrix)), sep="\n", end="\n\n\n")


def scaled(a):
    """Over its largest magnitude."""
    most = np.abs(a).max()
    return a / (most if most > 0 else 1)


def before_and_after(name, operator, called, places, draw):
    """The picture and the places on the grid of tokens; then what `draw` prints of the mixer with random weights and
    with trained ones."""
    pixels, origin = images(PICTURE, 1)
    print(f"# {name}: the second block of a tiny network, image {PICTURE} of {origin}")
    print(f"# {called} (row, column):", *(at for place in places for at in place))
    block("image", pixels[0])
    for kind in "random", "trained":
        draw(kind, meet(operator, kind, pixels), places)


def project(t, part):
    """Row block `part` of the mixer's projection: 0 queries, 1 keys."""
    rows = slice(part * C, (part + 1) * C)
    return t["x"][0] @ t["w_qkv"][rows].T + t["b_qkv"][rows]


def windows(rows, size, stride=1):
    """[N, c] -> [J, size^2, c]: the neighbourhood of each centre, zeros off the grid."""
    plane = np.pad(rows.reshape(SIDE, SIDE, -1), ((size // 2,) * 2, (size // 2,) * 2, (0, 0)))
    seen = np.lib.stride_tricks.sliding_window_view(plane, (size, size), (0, 1))[::stride, ::stride]
    return seen.reshape(-1, rows.shape[1], size * size).transpose(0, 2, 1)


def softmax(a, axes):
    e = np.exp(a - a.max(axis=axes, keepdims=True))
    return e / e.sum(axis=axes, keepdims=True)


# ---- a picture on its way through two networks ----

LITV2_STATIONS = (
    ("stage1.embed_norm", "stage1.block1.norm2"), ("stage1.block2.mlp", "stage1"),
    ("stage2.deform", "stage2.block1.norm2"), ("stage2.block2.mlp", "stage2"),
    ("stage3.deform", "stage3.block1.norm1"), ("stage3.block6.mlp", "stage3"),
    ("stage4.deform", "stage4.block1.norm1"), ("stage4.block2.mlp", "stage4"))
TINY_STATIONS = (
    ("stage1.embed", "stage1.position"), ("stage1.position", "stage1.block1.norm1"),
    ("stage1.block1.mixer", "stage1.block1.norm2"), ("stage1.block1.mlp", "stage1.block2.norm1"),
    ("stage1.block2.mixer", "stage1.block2.norm2"), ("stage1.block2.mlp", "stage1"))
CLASSES = ("T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


def stations(kind, steps, run):
    """x behind some steps, as the output of a stage or the input of the step that follows: the three channels that vary
    most, less their means, in percent of their largest magnitude."""
    made = run("--stages")
    for number, (step, following) in enumerate(steps):
        x = (made[following] if following in made else run("--before", following)["x"])[0].astype(float)
        side = math.isqrt(len(x))
        print(f"# {kind} {number}: {step}, {side} x {side} tokens of {x.shape[1]} channels")
        for shown, c in enumerate(np.argsort(-x.var(axis=0), kind="stable")[:3]):
            block(f"{kind} {number} {shown}", 100 * scaled(x[:, c] - x[:, c].mean()).reshape(side, side), "%.0f")
    return made


def networks_maps():
    """Stations of LITv2-S, with random weights and the picture enlarged, and of the tiny network of HiLo, trained; then
    the share of each class by softmax."""
    pixels, origin = images(PICTURE, 1)
    print(f"# networks-maps: image {PICTURE} of {origin}, through LITv2-S with random weights and a tiny trained HiLo")
    block("image", pixels[0])
    stations("litv2", LITV2_STATIONS, lambda *words: network("litv2-s", "--random", 1, *words, picture=pixels[0]))
    tiny = stations("learned", TINY_STATIONS,
                    lambda *words: network("learned-hilo", *weights("hilo", "trained"), *words, x=pixels))
    print("# answers")
    for c, share in enumerate(softmax(tiny["logits"][0].astype(float), 0)):
        print(f"{c}\t{share:.4f}\t{CLASSES[c]}")
    print("\n")


# ---- mixers before and after training ----

def draw_lisa(kind, t, queries):
    """The D kernels wb, offset zero in the middle; for each query i and head the kernel kappa_in = sum_d a_id wb_{i-n,d}
    (Eq. 10).  a is read through the operator itself: values of zero, bb the identity, no output projection."""
    heads, d = 2, t["wb"].shape[1]
    width = C // heads
    bare = dict(w_qkv=np.vstack([t["w_qkv"][:2 * C], np.zeros((C, C), "f")]), wa=t["wa"], wb=t["wb"], ba=t["ba"],
                b_qkv=np.append(t["b_qkv"][:2 * C], np.zeros(C, "f")), bb=np.eye(width, d, dtype="f"))
    y = library().lisa(t["x"], grid=(SIDE, SIDE), heads=heads, **bare)
    a = y.reshape(SIDE, SIDE, heads, width)[..., :d]
    wb = t["wb"].reshape(SIDE, SIDE, d)
    for k in range(d):
        block(f"{kind} wb {k}", scaled(np.roll(wb[..., k], (SIDE // 2, SIDE // 2), (0, 1))))
    for number, (row, column) in enumerate(queries):
        offsets = np.ix_((row - np.arange(SIDE)) % SIDE, (column - np.arange(SIDE)) % SIDE)
        for head in range(heads):
            block(f"{kind} {number} {head}", scaled(wb[offsets] @ a[row, column, head]))


def networks_lisa():
    """LiSA's attention kernels, as its Fig. 5."""
    before_and_after("networks-lisa", "lisa", "queries", ((3, 10), (8, 5), (11, 12)), draw_lisa)


def structsa_head(t, head):
    """Attention [N, J, D] of a head by Eq. 16, and its filters hk and hv [D, M, c]: a centre at every second token."""
    own = slice(head * C // 2, (head + 1) * C // 2)
    q, k = project(t, 0)[:, own] / 4, project(t, 1)[:, own]
    hk, hv = t["hk"][..., own], t["hv"][..., own]
    found = np.einsum("jmc,dmc->jdc", windows(k, 3, 2), hk)
    return softmax(np.einsum("ic,jdc->ijd", q, found), (1, 2)), hk, hv


def print_filters(title, filters):
    """The 3 x 3 filters of four channels in one matrix, each over its largest magnitude, with zeros between them."""
    for d, of_pattern in enumerate(filters):
        four = np.zeros((7, 7))
        for channel in range(4):
            top, left = channel // 2 * 4, channel % 2 * 4
            four[top:top + 3, left:left + 3] = scaled(of_pattern[:, channel]).reshape(3, 3)
        block(f"{title} {d}", four)


def merged(a, hv):
    """Eq. 21 for one query, [N, c]: each token meets the kernels of all windows that it lies in."""
    kernels = np.einsum("jd,dmc->jmc", a, hv)
    tokens = windows(np.arange(1., N + 1)[:, None], 3, 2)[..., 0].astype(int)       # 0 off the grid
    sums = np.zeros((N + 1, hv.shape[2]))
    np.add.at(sums, tokens, kernels)
    return sums[1:]


def draw_structsa(kind, t, queries):
    """Comments say how many queries have their largest entry in common; the pictures are of the first head."""
    for head in 1, 0:
        a, hk, hv = structsa_head(t, head)
        flat = a.reshape(N, -1)
        common = np.bincount(flat.argmax(axis=1)).max()
        print(f"# {kind}, head {head + 1}: {common} of {N} queries have their largest entry in common, "
              f"the mean of the largest is {flat.max(axis=1).mean():.3f}")
    print_filters(f"{kind} hk", hk)
    print_filters(f"{kind} hv", hv)
    for number, (row, column) in enumerate(queries):
        attention = a[row * SIDE + column]
        for d, plane in enumerate(scaled(attention).T):
            block(f"{kind} attention {number} {d}", plane.reshape(SIDE // 2, SIDE // 2))
        print(f"# percent of the patterns, {kind} {number}:", *(f"{100 * share:.0f}" for share in attention.sum(axis=0)))
        for channel, plane in enumerate(merged(attention, hv).T[:4]):
            block(f"{kind} merged {number} {channel}", scaled(plane).reshape(SIDE, SIDE))


def networks_structsa():
    """StructSA's attention, merged kernels and filters, as its Fig. 4."""
    before_and_after("networks-structsa", "structsa", "queries", ((3, 10), (11, 4)), draw_structsa)


def draw_elsa(kind, t, tokens):
    """For each token the 5 x 5 map of each head (Eq. 7) and the filter that the ghost head makes of it for one channel
    (Eq. 8); the ghost head's factors and summands of eight channels.  The comment says what part of all filters' energy
    is left when each is replaced by its mean over the tokens: 100 % if filters do not look at the image."""
    heads = t["rb"].shape[0]
    z = project(t, 0) * project(t, 1) / math.sqrt(C)
    logits = np.einsum("ic,can->ian", z, t["rk"]) + np.einsum("inc,can->ian", windows(z, 5), t["rq"]) + t["rb"]
    maps = softmax(logits, 2)
    filters = t["ghost_mul"] * maps[:, np.arange(C) % heads] + t["ghost_add"]
    same = 100 * N * np.square(filters.mean(axis=0)).sum() / np.square(filters).sum()
    print(f"# percent of the filters that is the same for all tokens, {kind}: {same:.0f}")

    def square(title, entries):
        block(f"{kind} {title}", scaled(entries).reshape(5, 5))

    for number, (row, column) in enumerate(tokens):
        for head in range(heads):
            square(f"map {number} {head}", maps[row * SIDE + column, head])
            square(f"filter {number} {head}", filters[row * SIDE + column, head])
    for c in range(8):
        square(f"factor {c}", t["ghost_mul"][c])
        square(f"summand {c}", t["ghost_add"][c])


def networks_elsa():
    """ELSA's maps and filters."""
    before_and_after("networks-elsa", "elsa", "tokens", ((3, 10), (8, 5), (11, 12)), draw_elsa)


def networks_boxes():
    """ChoP'D's boxes: edges before training and after, and the weight after training over the largest of its component.
    Comments: the mean distance of an edge from where it began, and medians of the longer side, in tokens."""
    tensors = read_tensors(LEARNED / "chopd.safetensors")
    before = read_tensors(LEARNED / "chopd-answers.safetensors")["start.boxes"]
    after, mix = (tensors[f"stage1.block2.mixer.{name}"] for name in ("boxes", "mix"))
    longer = [np.median((boxes[..., 2:] - boxes[..., :2]).max(axis=-1)) for boxes in (before, after)]
    components, boxes = mix.shape
    print(f"# networks-boxes: {components} components of {boxes} boxes, the second block of a tiny network")
    print(f"# mean distance of an edge from where it began: {np.abs(after - before).mean():.2f}")
    print(f"# median of the longer sides, before and after: {longer[0]:.2f} {longer[1]:.2f}")
    print("#component\tbox\ty0\tx0\ty1\tx1\tY0\tX0\tY1\tX1\tweight")
    for r in range(components):
        for g, weight in enumerate(scaled(mix[r])):
            print(r, g, *(f"{v:.3f}" for v in (*before[r, g], *after[r, g], weight)), sep="\t")


def spectra(a):
    """[B, N, c] -> magnitudes [B, 14, 14, c] of the Fourier transform, frequency zero at (7, 7)."""
    return np.abs(np.fft.fftshift(np.fft.fft2(a.reshape(-1, SIDE, SIDE, a.shape[2]), axes=(1, 2)), axes=(1, 2)))


def networks_spectrum():
    """Frequencies that Hi-Fi and Lo-Fi let through, as HiLo's Fig. 5, 8 and 9: logarithms of magnitudes, averaged over
    100 images, of six channels of each branch.  Then the percent of the energy in rings of frequencies whose larger
    part is r cycles across the image: r, what enters, Hi-Fi, Lo-Fi."""
    pixels, origin = images(0, 100)
    print(f"# networks-spectrum: the second block of a tiny network, {len(pixels)} images of {origin}")
    cycles = np.abs(np.arange(SIDE) - SIDE // 2)
    ring = np.maximum.outer(cycles, cycles)
    for kind in "random", "trained":
        t = meet("hilo", kind, pixels)
        y = library().hilo(t["x"], grid=(SIDE, SIDE), heads=4, window=2, alpha=0.5,
                           **{name: a for name, a in t.items() if name != "x"})
        parts = {"x": spectra(t["x"]), "Hi-Fi": spectra(y[..., :C // 2]), "Lo-Fi": spectra(y[..., C // 2:])}
        energy = [np.bincount(ring.ravel(), np.square(part).sum(axis=(0, 3)).ravel()) for part in parts.values()]
        rings = 100 * np.array([e / e.sum() for e in energy]).T
        print(f"# percent beyond half the band in {', '.join(parts)}, {kind}:", *(f"{v:.1f}" for v in rings[4:].sum(axis=0)))
        for branch in "Hi-Fi", "Lo-Fi":
            for c, plane in enumerate(np.log(parts[branch]).mean(axis=0).transpose(2, 0, 1)[:6]):
                block(f"{kind} {branch} {c}", plane)
        print(f"# {kind} rings", *("\t".join([str(r), *(f"{v:.4g}" for v in row)]) for r, row in enumerate(rings)),
              sep="\n", end="\n\n\n")


# ---- tables ----

def networks_accuracy(pictures="10000"):
    """How many pictures of the test set the trained networks know: right here, and by PyTorch (tests/pytorch/train.py);
    for how many the two classes differ."""
    count, batch = whole(pictures, "PICTURES", 1, 10000), 1000
    if not DATA.exists():
        print(f"# no data set at {DATA}, and 0 pictures\n0")
        return
    labels = DATA.with_name(DATA.name.replace("images-idx3", "labels-idx1"))
    label = np.frombuffer(gzip.decompress(labels.read_bytes())[8:8 + count], np.uint8)
    pixels = images(0, count)[0]
    print(f"# pictures: {count}\n#network\tparameters\tmixers\tmultiply_adds\tright\tpytorch\tdiffer")
    for operator in "lisa", "structsa", "elsa", "chopd", "hilo":
        name, trained = f"learned-{operator}", read_tensors(LEARNED / f"{operator}.safetensors")
        told = read_tensors(LEARNED / f"{operator}-answers.safetensors")["predictions"].ravel()[:count]
        logits = [network(name, *weights(operator, "trained"), x=pixels[b:b + batch])["logits"]
                  for b in range(0, count, batch)]
        found = np.concatenate(logits).argmax(axis=1)
        mixers = sum(a.size for path, a in trained.items() if ".mixer." in path)
        print(name, sum(a.size for a in trained.values()), mixers, count_kinds(name)["all"]["multiply_adds"],
              (found == label).sum(), (told == label).sum(), (found != told).sum(), sep="\t")


def networks_share(runs="0", *sides):
    """The share of its operator in four networks by the side of the image, in the multiply-adds; and for the sides that
    are named in the time of one image on one thread, every step the fastest of so many runs, and the seconds of all.
    In LITv2-S the operator is HiLo, of which the attention of stage 4 is a case."""
    runs, sides = whole(runs, "RUNS", 0, 100), [whole(side, "SIDE", 1, 10000) for side in sides]
    if runs:
        print(f"# of each step the least of {runs} runs, processor time")
    print("#network\toperator\tside\tmultiply_adds\ttime\tseconds")
    for name, operator in (("litv2-s", "hilo"), ("elsa-swin-t", "elsa"), ("structvit-s-4-1", "structsa"),
                           ("lisanet-i-t", "lisa")):
        for side in range(160, 769, 32):
            def share(column, measured):
                kinds = count_kinds(name, f"{side}x{side}", measured)
                return float(kinds[operator][column]) / float(kinds["all"][column]), kinds["all"][column]

            time, seconds = share("time_seconds", runs) if runs and side in sides else (-1, "-1")
            print(f"{name}\t{operator}\t{side}\t{share('multiply_adds', 0)[0]:.4f}\t{time:.4f}\t{seconds}")


ATTENTIONS = {
    "s2": ("hilo", {"window": 2, "alpha": 0.9}), "s4": ("hilo", {"window": 4, "alpha": 0.9}), "msa": ("msa", {}),
    "window": ("msa", {"window": 7}), "sra": ("sra", {"reduction": 2})}


def gap_resolution():
    """What LITv2-S costs on larger images, by the attention of its third stage, as HiLo's Fig. 3; all by formula.  The
    bare network's count, without norms, less six layers of HiLo, and six times the other; stage 4 stays as it is."""
    channels, heads, layers = 384, 12, 6
    parameters = {}
    for key, (operator, options) in ATTENTIONS.items():
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        bare = ["--without", "rpe"] if operator == "msa" else []
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "given")
            call("twicetold", "parameters", operator, "--grid", "14x14", "--channels", channels, "--heads", heads, *words,
                 *bare, "-o", path)
            parameters[key] = read_tensors(path)
        parameters[key].pop("x")
    print("#attention\tpixels\ttokens\tlayer_multiply_adds\tmultiply_adds")
    for pixels in 224, 448, 672, 896, 1344, 1792:
        edge, kinds = pixels // 16, count_kinds("litv2-s", f"{pixels}x{pixels}")
        x = np.broadcast_to(np.float32(0), (1, edge * edge, channels))
        layer = {key: library().plan(operator, x, grid=(edge, edge), heads=heads, **options,
                                     **parameters[key]).multiply_adds
                 for key, (operator, options) in ATTENTIONS.items()}
        rest = float(kinds["all"]["multiply_adds"]) - float(kinds["norm"]["multiply_adds"]) - layers * layer["s2"]
        for key, cost in layer.items():
            print(f"{key}\t{pixels}\t{edge * edge}\t{cost:.0f}\t{rest + layers * cost:.0f}")


# ---- the command line ----

def whole(text, name, low, high):
    """A whole number from an argument."""
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise Failure(f"{name}: found '{text}', expected a whole number from {low} to {high}", 2)
    return int(text)


MAPS = {function.__name__.replace("_", "-"): function for function in (
    networks_maps, networks_lisa, networks_structsa, networks_elsa, networks_boxes, networks_spectrum, networks_accuracy,
    networks_share, gap_resolution)}


def main(name="", *arguments):
    if name not in MAPS:
        raise Failure(f"found '{name}', expected one of {' '.join(MAPS)}", 2)
    try:
        inspect.signature(MAPS[name]).bind(*arguments)
    except TypeError as error:
        raise Failure(f"{name}: {error}", 2) from None
    MAPS[name](*arguments)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failure as failure:
        print(f"network_maps.py: {failure.args[0]}", file=sys.stderr)
        sys.exit(failure.args[1])
