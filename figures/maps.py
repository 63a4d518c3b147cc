#!/usr/bin/env python3
"""maps.py -- the pictures and curves of chapters 0 to 5 that are computed, not timed

    python3 figures/maps.py NAME [ARGUMENT...]

Each figure is a function, which names the equation that it evaluates and prints tables for figures/draw.py: rows of
numbers, or matrices separated by two blank lines, each below a comment with its title.  Operators run through the
Python module (reference/library); intermediate values are computed from the equations, in double.  Needs numpy and the
libraries in build (or the folder BUILD).
"""
import gzip
import inspect
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

script = pathlib.Path(sys.argv[0]).name          # maps.py, or network_maps.py, which imports this
top = pathlib.Path(__file__).resolve().parent.parent
build = pathlib.Path(os.environ.get("BUILD", top / "build")).resolve()
sys.path.insert(0, str(top / "reference" / "library"))
os.environ.setdefault("TWICETOLD_LIBRARY", str(build / "lib"))
try:
    import numpy as np
    import twicetold
except ImportError as error:
    sys.exit(f"{script}: {error}; expected numpy (Debian: python3-numpy) and the libraries that make builds")

IMAGES = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"
EDGE = 28                               # of an image in the data set


def give_up(message):
    """Print one line about a bad argument and exit with status 2."""
    print(f"{script}: {message}", file=sys.stderr)
    sys.exit(2)


# ---- Printing

def remark(text):
    print(f"# {text}")


def row(*fields):
    print("\t".join(map(str, fields)))


def matrix(title, values, form=".3f"):
    remark(title)
    for line in values:
        row(*(format(float(v), form) for v in line))
    print("\n")


def over_largest(values):
    largest = np.abs(values).max()
    return values / largest if largest > 0 else values


def rms(values):
    return np.sqrt(np.mean(np.square(values)))


# ---- Random numbers: each stream of a seed has its own

def normal(stream, *shape, deviation=1.0):
    return deviation * np.random.default_rng([1, stream]).standard_normal(shape)


def uniform(stream, *shape, low=0.0, high=1.0, seed=1):
    return np.random.default_rng([seed, stream]).uniform(low, high, shape)


# ---- Tokens and images

def call(program, *words):
    """Run a program of the build folder; return what it prints."""
    try:
        ran = subprocess.run([build / program, *map(str, words)], capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"{script}: {build / program}: {error.strerror}; run make first")
    if ran.returncode:
        print(f"{script}: {ran.stderr.strip()}", file=sys.stderr)
        sys.exit(ran.returncode)
    return ran.stdout


def read_tensors(path):
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + size:][slice(*tensor["data_offsets"])],
                                {"F32": "<f4", "F64": "<f8"}[tensor["dtype"]]).reshape(tensor["shape"])
            for name, tensor in header.items()}


def program_tensors(command, *words):
    """The tensors that a command of twicetold writes, and the line that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "out.safetensors"
        said = call("twicetold", command, *words, "-o", path)
        return read_tensors(path), said.strip()


def tokens(grid, channels, *words):
    """x [B, N, C] of real images, or of noise if there is no data set; and their source."""
    tensors, origin = program_tensors("tokens", "--grid", grid, "--channels", channels, *words)
    return tensors["x"], origin


def parameters(operator, grid, channels, *words, **options):
    words += tuple(word for name, value in options.items() for word in (f"--{name}", value))
    tensors = program_tensors("parameters", operator, "--grid", grid, "--channels", channels, *words)[0]
    del tensors["x"]
    return tensors


def picture(number, disc=(13.5, 13.5, 9)):
    """One image of the data set, 0 to 1; without the data set a disc (row, column, radius)."""
    try:
        with gzip.open(IMAGES) as file:
            pixels = np.frombuffer(file.read(16 + (number + 1) * EDGE ** 2)[-EDGE ** 2:], np.uint8)
        return pixels.reshape(EDGE, EDGE) / 255, "Fashion-MNIST (test)"
    except FileNotFoundError:
        y, x = np.indices((EDGE, EDGE))
        return (np.hypot(y - disc[0], x - disc[1]) < disc[2]).astype(float), "a disc, for want of the data set"


def tents(to, size):
    """[to, size]: the weights of bilinear interpolation.  Tents are wider if an axis shrinks; each row sums to 1."""
    scale = to / size
    centre = (np.arange(to) + 0.5) / scale - 0.5
    weights = np.maximum(0, 1 - np.abs(np.arange(size) - centre[:, None]) * min(scale, 1))
    return weights / weights.sum(1, keepdims=True)


def unfold(plane, window):
    """[N, M]: the numbers in a window around each token, 0 off the grid."""
    padded = np.pad(plane, [(w // 2, w // 2) for w in window])
    return np.lib.stride_tricks.sliding_window_view(padded, window).reshape(plane.size, -1)


def surroundings(pixels, length_one=False):
    """x [N, 9]: the 3 x 3 pixels around each pixel of a frame, less the mean of the image or video."""
    frames = pixels.reshape(-1, *pixels.shape[-2:])
    x = np.concatenate([unfold(frame, (3, 3)) for frame in frames]) - pixels.mean()
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) if length_one else x


def magnitudes(a):
    """[B, n, n, c]: magnitudes of the Fourier transform of tokens [B, n n, c], frequency zero in the middle."""
    edge = math.isqrt(a.shape[1])
    planes = a.reshape(-1, edge, edge, a.shape[2]).astype(float)
    return np.abs(np.fft.fftshift(np.fft.fft2(planes, axes=(1, 2)), axes=(1, 2)))


def ring_energies(found):
    """Energy of all frequencies whose larger component is r = 0, 1, ... cycles across the image, averaged over images
    and channels."""
    cycles = np.abs(np.arange(found.shape[1]) - found.shape[1] // 2)
    return np.bincount(np.maximum.outer(cycles, cycles).ravel(), np.square(found).mean((0, 3)).ravel())


def softmax(scores, axis=None):
    weights = np.exp(scores - scores.max(axis, keepdims=True))
    return weights / weights.sum(axis, keepdims=True)


# ---- Chapter 0: rounding errors of self-attention

UNIT = {np.float32: ("float", 2.0 ** -24, np.float64), np.float64: ("double", 2.0 ** -53, np.longdouble)}
ATTENDED = 48                           # queries of a head that are compared


def attention_error(*words):
    """Rounding error of our forms of LiSA's Eq. 1-3 and of PyTorch, by number of keys: NAIVE_KEYS KEYS...  The error is
    rms(output - exact) / rms(exact); exact is in the next wider type.  Forms other than fast run up to NAIVE_KEYS."""
    if len(words) < 2:
        give_up("attention-error: expected NAIVE_KEYS KEYS...")
    most, *counts = numbers(words, 1, 10 ** 6)
    row("#series", "form", "tokens", "error", "error_in_u")
    for real, (name, unit, wide) in UNIT.items():
        for N in counts:
            x, w, q, k, v = exact_heads(N, real)
            exact = attention(*(a.astype(wide) for a in (q, k, v)))
            for form in twicetold.forms("msa"):
                if form == "fast" or N <= most:
                    y = twicetold.msa(x, w_qkv=w, grid=N, heads=2, form=form, threads=1)[0, :ATTENDED]
                    row(name, form, N, *error_fields(parted(y), exact, unit))
    torch_error(counts)


def exact_heads(N, real):
    """x [1, N, 2c] and w_qkv [6c, 2c] whose products need no rounding; q [2, ATTENDED, c]; k, v [2, N, c]; c is 64.
    Tokens have few digits.  Query and key multiply half of x by a Hadamard matrix, each with its own signs; the value
    is the other half."""
    c, hadamard = 64, np.ones((1, 1))
    while len(hadamard) < c:
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    digits = 2.0 ** (16 if real == np.float32 else 44)
    x = (np.round(normal(0, N, 2 * c) * digits) / digits).astype(real)
    maps = hadamard * np.sign(normal(1, 2, 1, c)) / np.sqrt(c)
    w = np.concatenate([np.kron(np.eye(2), maps[0]), np.kron(np.eye(2), maps[1]), np.kron([[0, 1], [1, 0]], np.eye(c))])
    q, k, v = (parted(a) for a in np.split(x @ w.T.astype(real), 3, axis=1))
    return x[None], w, q[:, :ATTENDED], k, v


def parted(rows):
    return rows.reshape(len(rows), 2, -1).transpose(1, 0, 2)


def attention(q, k, v):
    return softmax(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2]), axis=2) @ v


def error_fields(y, exact, unit):
    error = float(rms(y - exact) / rms(exact))
    return f"{error:.3g}", f"{error / unit:.3g}"


def torch_error(counts):
    try:
        import torch
    except ImportError:
        print("maps.py: no PyTorch: its lines are left out", file=sys.stderr)
        return
    attend = {"plain": lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v,
              "sdpa": getattr(torch.nn.functional, "scaled_dot_product_attention", None)}     # from 2.0 on
    torch.set_num_threads(1)
    remark(f"PyTorch {torch.__version__.split('+')[0]}, on one thread")
    for N in counts:
        given = exact_heads(N, np.float32)[2:]
        exact = attention(*(a.astype(float) for a in given))
        for name, attended in attend.items():
            if attended:
                y = attended(*(torch.from_numpy(np.ascontiguousarray(a))[None] for a in given))
                row("pytorch", name, N, *error_fields(y.numpy()[0], exact, 2.0 ** -24))


# ---- Chapter 1: LiSA

def lisa_border(grid="56x56"):
    """Eq. 10 against Eq. 7 with the same tables, token by token.  For each distance i - n, the circular kernel has the
    entry of the shortest way around.  Tables are normal, once as they are, once times a Gaussian four tokens wide."""
    size = grid_sizes(grid, axes=2)
    N, C, h, D = int(np.prod(size)), 96, 6, 16
    c = C // h
    offsets = np.meshgrid(*(np.arange(2 * n - 1) - (n - 1) for n in size), indexing="ij")
    square = sum(o ** 2 for o in offsets).ravel()
    around = [n - 1 - np.where(np.arange(n) <= n // 2, np.arange(n), np.arange(n) - n) for n in size]
    around = np.add.outer(around[0] * (2 * size[1] - 1), around[1]).ravel()         # entry of each circular distance
    x, w = tokens(grid, C)[0], normal(0, 3 * C, C, deviation=C ** -0.5)
    zero = np.zeros((c, D))

    remark(f"lisa-border: |Eq. 10 - Eq. 7| per token over the rms of Eq. 7; grid {grid}, C {C}, heads {h}, D {D}, "
           "real-image tokens")
    for name, width in (("wide", 0), ("narrow", 4)):
        near = np.exp(-square / (2 * width ** 2)) if width else np.ones(len(square))
        deviation = (np.pi * width ** 2 if width else N) ** -0.5
        ea = normal(3, len(square), c, D, deviation=deviation) * near[:, None, None]
        eb = normal(4, len(square), D, deviation=deviation) * near[:, None]
        shared = {"grid": grid, "heads": h, "w_qkv": w, "ba": zero, "bb": zero}
        straight = twicetold.lisa(x, equation=7, ea=ea, eb=eb, **shared)[0].astype(float)
        circular = twicetold.lisa(x, equation=10, wa=ea[around], wb=eb[around], **shared)[0]
        difference = np.sqrt(np.mean((circular - straight) ** 2, axis=1)) / rms(straight)
        matrix(name, difference.reshape(size), ".3g")


def lisa_error(*words):
    """Rounding error of the forms of Eq. 10 and 7 by tokens, in both precisions: NAIVE_TOKENS GRID...  Compares eight
    tokens with sums in the next wider type.  The naive form runs up to NAIVE_TOKENS."""
    if len(words) < 2:
        give_up("lisa-error: expected NAIVE_TOKENS GRID...")
    most, grids = numbers(words[:1], 1, 10 ** 9)[0], words[1:]
    for grid in grids:
        grid_sizes(grid)
    row("#series", "form", "grid", "tokens", "error", "error_in_u")
    for real, (name, unit, wide) in UNIT.items():
        for equation in (10, 7):
            for grid in grids:
                x, tensors = error_tensors(grid, equation, real)
                N = x.shape[1]
                sampled = N * np.arange(8) // 8
                exact = lisa_exactly(x[0], tensors, grid, equation, sampled, wide)
                for form in twicetold.forms("lisa"):
                    if form == "naive" and N > most:
                        continue
                    y = twicetold.lisa(x, grid=grid, equation=equation, form=form, threads=1, **tensors)[0, sampled]
                    row(f"eq{equation}-{name}", form, grid, N, *error_fields(y, exact, unit))


def error_tensors(grid, equation, real, C=16, D=16):
    size = grid_sizes(grid)
    N = int(np.prod(size))
    entries, most = N if equation == 10 else int(np.prod([2 * n - 1 for n in size])), (3 / N) ** 0.5
    a, b = ("wa", "wb") if equation == 10 else ("ea", "eb")
    tensors = {"w_qkv": normal(0, 3 * C, C, deviation=C ** -0.5),
               "ba": normal(1, C, D, deviation=C ** -0.5), "bb": normal(2, C, D, deviation=C ** -0.5),
               a: uniform(3, entries, C, D, low=-most, high=most), b: uniform(4, entries, D, low=-most, high=most)}
    return tokens(grid, C)[0].astype(real), {name: tensor.astype(real) for name, tensor in tensors.items()}


def lisa_exactly(x, tensors, grid, equation, sampled, wide):
    """y_i [samples, C] by Eq. 7 or 10, which differ in where a table is read."""
    size = np.array(grid_sizes(grid))[:, None]
    at = np.indices(size.ravel()).reshape(len(size), -1)
    q, k, v = np.split(x.astype(wide) @ tensors["w_qkv"].astype(wide).T, 3, axis=1)
    q, k = (a / np.sqrt((a ** 2).sum(1, keepdims=True)) for a in (q, k))
    ta, tb = (tensors[name] for name in (("wa", "wb") if equation == 10 else ("ea", "eb")))
    outputs = []
    for i in sampled:
        here = at[:, i:i + 1]
        offset, sizes = ((here - at) % size, size) if equation == 10 else (at - here + size - 1, 2 * size - 1)
        entry = np.ravel_multi_index(tuple(offset), tuple(sizes.ravel()))
        ga, gb = tensors["ba"].astype(wide), tensors["bb"].astype(wide)
        for first in range(0, len(entry), 4096):
            near = slice(first, first + 4096)
            ga = ga + (k[near, :, None] * ta[entry[near]]).sum(0)
            gb = gb + v[near].T @ tb[entry[near]].astype(wide)
        outputs.append(gb @ (q[i] @ ga))
    return np.stack(outputs)


# ---- Chapter 2: StructSA

def structsa_query(similarity, window, detectors, aggregators):
    """From one query's map of similarities: windows of the map, weights a_ijd (Eq. 3), kernels kappa_ij (Eq. 5) and
    their merged map (Eq. 21)."""
    windows, size = unfold(similarity, window), similarity.shape
    a = softmax(windows @ detectors.T)
    kernels = a @ aggregators
    reach = [w // 2 for w in window]
    merged = np.pad(np.zeros(size), [(r, r) for r in reach])
    for m, corner in enumerate(np.ndindex(*window)):
        merged[tuple(slice(o, o + n) for o, n in zip(corner, size))] += kernels[:, m].reshape(size)
    return windows, a, kernels, merged[tuple(slice(r, r + n) for r, n in zip(reach, size))]


def structsa_kernels():
    """Dynamic kernels of one query, like StructSA's Fig. 2 and 4: self-attention (a window of one token), ConvSA (D =
    1) and StructSA (D = 8).  Detectors and aggregators are Sobel's mask in eight directions."""
    query, keys, scale = (16, 14), ((14, 4), (11, 12), (5, 20), (11, 26), (22, 13)), 7
    pixels, origin = picture(28)
    ring = [5, 8, 7, 6, 3, 0, 1, 2]                         # entries around the middle, clockwise from the right
    sobel = np.zeros((8, 9))
    for d in range(8):
        sobel[d, ring] = np.roll([2, 1, 0, -1, -2, -1, 0, 1], d) / 8.0
    remark(f"structsa_kernels: dynamic kernels, image 28 of {origin}; nothing is trained")
    remark(f"scale: {scale}")
    remark("query (row, column): {} {}".format(*query))
    remark("keys (row, column): " + " ".join(f"{y} {x}" for y, x in keys))
    matrix("image 0", over_largest(pixels))
    for d in range(8):
        matrix(f"detector {d}", over_largest(sobel[d]).reshape(3, 3))

    x = surroundings(pixels, length_one=True)
    similarity = (scale * x[query[0] * EDGE + query[1]] @ x.T).reshape(EDGE, EDGE)
    matrix("similarity 0", over_largest(similarity))
    matrix("self 0", over_largest(structsa_query(similarity, (1, 1), np.ones((1, 1)), np.ones((1, 1)))[3]))
    for name, D in (("conv", 1), ("struct", 8)):
        kernels, merged = structsa_query(similarity, (3, 3), sobel[:D], sobel[:D])[2:]
        shown = kernels[[y * EDGE + x for y, x in keys]]
        shares = np.abs(shown).max(1) / np.abs(kernels).max()
        remark(f"largest entry of the kernels, {name}: " + " ".join(f"{share:.6f}" for share in shares))
        matrix(f"{name} 0", over_largest(merged))
        for t, kernel in enumerate(shown):
            matrix(f"{name} {t + 1}", over_largest(kernel).reshape(3, 3))


def structsa_motion():
    """Dynamic kernels of one query in a video that is played forwards and backwards (Eq. 3, 5 and 21), like StructSA's
    Fig. 3.  One image moves by a token a frame.  Each way has a detector: positive on its path, negative next to it,
    with sum 0 in a frame."""
    ways, size, window, scale, query = ("right", "left"), (5, 14, 20), (5, 3, 5), 12, (2, 5, 9)
    image, origin = picture(28, disc=(12.5, 20.5, 7.2))
    video = np.zeros(size)
    for t in range(5):
        video[t, :, 1 + t:15 + t] = tents(14, EDGE) @ image @ tents(14, EDGE).T
    t, y, x = np.indices(window) - np.array([2, 1, 2])[:, None, None, None]
    paths = np.stack([np.where(x == step * t, 4, -1) * np.where(y == 0, 2, 1) / 160 for step in (1, -1)])
    detectors, aggregators = paths.reshape(2, -1), paths.reshape(2, -1) * [[1], [-1]]

    remark(f"structsa_motion: a video of image 28 of {origin}; nothing is trained")
    remark(f"scale: {scale}")
    remark("query (frame, row, column): {} {} {}".format(*query))
    for way, path in zip(ways, paths):
        matrix(f"detector {way}", over_largest(path[:, 1]))
    for t in range(5):
        matrix(f"frame {t}", video[t])
    outputs = {"self-attention": [], "StructSA": []}
    at = np.ravel_multi_index(query, size)
    for way, played in zip(ways, (video, video[::-1])):
        x = surroundings(played, length_one=True)
        similarity = (scale * x[at] @ x.T).reshape(size)
        kernels, merged = structsa_query(similarity, (1, 1, 1), np.ones((1, 1)), np.ones((1, 1)))[2:]
        outputs["self-attention"].append(merged.ravel() @ x)
        remark(f"weight of the query itself, {way}: {kernels[at, 0]:.6f}")
        windows, a, kernels, merged = structsa_query(similarity, window, detectors, aggregators)
        outputs["StructSA"].append(merged.ravel() @ x)
        remark("shares of right and left, {}: {:.3f} {:.3f}".format(way, *a[at] / a[at].sum()))
        matrix(f"similarity {way}", (windows[at] / scale).reshape(window)[:, 1])
        matrix(f"kernel {way}", over_largest(kernels[at]).reshape(window)[:, 1])
    for name, sign in (("self-attention", -1), ("StructSA", -1), ("StructSA", 1)):
        right, left = outputs[name]
        apart = np.linalg.norm(right + sign * left) / np.linalg.norm(right)
        remark(f"{name}, y right {'-' if sign < 0 else '+'} y left: {apart:.2g} of y")


# ---- Chapter 3: ELSA

def elsa_border():
    """Weight that a second bias moves (Algorithm 3 against 2), and weight off the grid (Eq. 7), for 28 x 28 tokens, K =
    7.  Off the grid, Algorithm 3's padding replaces the shifted branch's bias by 0.  The first map is half the sum of
    the weights' absolute differences, mean over heads."""
    C, h, K = 24, 3, 7
    x, origin = tokens(f"{EDGE}x{EDGE}", C)
    z = x[0].astype(float) ** 2
    rk, rq = normal(0, 2, C, h * K * K, deviation=C ** -0.5)
    bias_own, bias_shifted = normal(1, 2, h, K * K)
    own = (z @ rk).reshape(-1, h, K * K)
    met = (z @ rq).reshape(EDGE, EDGE, h, K * K)
    shifted = np.stack([unfold(met[:, :, a, n], (K, K))[:, n] for a, n in np.ndindex(h, K * K)], 1).reshape(own.shape)
    off = unfold(np.ones((EDGE, EDGE)), (K, K))[:, None] == 0
    logits = own + shifted + bias_own + bias_shifted
    weights, moved = softmax(logits, axis=2), softmax(logits - off * bias_shifted, axis=2)

    remark(f"elsa_border: 28x28 tokens, K = 7; {origin}")
    matrix("weight moved by a second bias", np.abs(moved - weights).sum(2).mean(1).reshape(EDGE, EDGE) / 2, ".5f")
    matrix("weight off the grid", (weights * off).sum(2).mean(1).reshape(EDGE, EDGE), ".5f")


def elsa_filters():
    """The filter of one head (Eq. 7) at three tokens, and those that a ghost head makes of it (Eq. 8).  Factors: right
    less left, bottom less top, centre less surround, a diagonal."""
    K, at = 7, ((8, 14), (15, 21), (20, 8))
    pixels, origin = picture(28)
    y, x = np.indices((K, K)) - K // 2
    factors = np.stack([x / 3, y / 3, np.where(np.hypot(x, y) < 1.5, 1, -0.3), np.exp(-(x - y) ** 2 / 2)])
    contrast = (6 * surroundings(pixels) ** 2).sum(1).reshape(EDGE, EDGE)
    weights = softmax(unfold(contrast, (K, K)) - ((y ** 2 + x ** 2) / 8).ravel(), axis=1)

    remark(f"elsa_filters: {origin}; nothing is trained")
    remark("tokens (row, column): " + " ".join(f"{row} {column}" for row, column in at))
    matrix("image", pixels)
    for k, (row_at, column) in enumerate(at, 1):
        head = weights[row_at * EDGE + column].reshape(K, K)
        matrix(f"head {k}", over_largest(head), ".4f")
        for c, factor in enumerate(factors, 1):
            matrix(f"channel {k} {c}", over_largest(factor * head), ".4f")


# ---- Chapter 4: ChoP'D Former

def chopd_error(*words):
    """Error of the mean over a box, by the side of the grid: EDGE...  Three ways: four corners of an integral image in
    float, in double, and the operator (Eq. 10 with open gate), which sums one axis after the other."""
    edges = numbers(words, 4, 4096)
    row("#way", "side", "edge", "error")
    for edge in edges:
        x = uniform(0, edge, edge, seed=8).astype(np.float32)
        images = {real: np.pad(x.astype(real), ((1, 0), (1, 0))).cumsum(1).cumsum(0) for real in UNIT}
        half = edge // 2 - 1 + edge // 2 % 2                # odd
        for name, side in (("1", 1), ("3", 3), ("9", 9), ("half", half)):
            if side > edge:
                continue
            corner = (uniform(1, 1000, 2, seed=8) * (edge - side + 1)).astype(int)
            y, x0 = corner.T
            exact = np.array([x[i:i + side, j:j + side].sum(dtype=float) for i, j in corner]) / side ** 2
            for real, image in images.items():
                sums = image[y + side, x0 + side] - image[y, x0 + side] - image[y + side, x0] + image[y, x0]
                means = (sums / real(side ** 2)).astype(np.float32)
                row(UNIT[real][0], name, edge, f"{rms(means - exact) / rms(exact):.3g}")
            means = box_means(x, side)[y + side // 2, x0 + side // 2]
            row("axes", name, edge, f"{rms(means - exact) / rms(exact):.3g}")


def box_means(plane, side):
    """Means over side x side tokens around each, by an operator of one channel, one box and a gate of 1."""
    half, one, none = side / 2, np.ones((1, 1)), np.zeros((1, 1))
    y = twicetold.chopd(plane.reshape(1, -1, 1), grid=plane.shape, gate_size=1, activation="none", threads=1,
                        boxes=np.array([[[-half, -half, half, half]]]), mix=one, u4=one, u5=one, b=none[0],
                        phi_w1=np.zeros((1, 1, 3, 3)), phi_b1=none[0], phi_w2=none, phi_b2=np.array([100.0]))
    return y.reshape(plane.shape)


def chopd_direct(*grids):
    """Tokens that form direct reads for all boxes of the layer that chopd_tables measures."""
    edges = {grid: grid_sizes(grid, 2) for grid in grids or ("nothing",)}
    for grid in grids:
        box = parameters("chopd", grid, 96, "--sizes", "R=96,D=96,G=4,S=24")["boxes"].reshape(-1, 2, 2)
        low, high, read = np.floor(box[:, 0] + 0.5), np.ceil(box[:, 1] - 0.5), 1
        for axis, edge in enumerate(edges[grid]):
            at = np.arange(edge)[:, None]
            read = read * (np.clip(at + high[:, axis] + 1, 0, edge) - np.clip(at + low[:, axis], 0, edge)).sum(0)
        row(grid, int(read.sum()))


# ---- Chapter 5: HiLo

def hilo_cost():
    """Multiply-adds of a layer (Eq. 7-12), in 1e9, by pixels of a side; half of the channels are Hi-Fi's."""
    D = 384
    row("#pixels", *(f"{part}_{s}" for s in (2, 4, 8) for part in ("high", "low", "both")), "msa")
    for pixels in range(256, 1281, 64):
        edge, counts = pixels // 16, []
        for s in (2, 4, 8):
            N, windows = edge ** 2, (-(-edge // s)) ** 2                            # a last window is padded
            high = N * (3 * D * D / 2 + D * D / 4) + 2 * windows * s ** 4 * D / 2   # Eq. 7 and 9; 8
            low = N * (D * D / 2 + D * D / 4) + windows * D * D + 2 * N * windows * D / 2   # Eq. 10 and 12; 10; 11
            counts += [high, low, high + low]
        counts.append(4 * N * D * D + 2 * N * N * D)
        row(pixels, *(f"{count / 1e9:.5g}" for count in counts))


def hilo_spectrum():
    """Frequencies that Hi-Fi and Lo-Fi let through, untrained, as HiLo's Fig. 8 and 9 (Algorithm 1): logarithms of
    magnitudes, averaged over 100 images, of eight channels of each branch of LITv2-S's third stage.  Then the energy
    that leaves a channel over the energy that enters, for each ring but zero, since tokens have mean 0."""
    C, given = 384, {"heads": 12, "window": 2, "alpha": 0.9}
    bare = "h_qkv_b,h_proj_b,l_q_b,l_kv_b,l_proj_b"
    weights = parameters("hilo", "14x14", C, "--without", bare, **given)
    x, origin = tokens("14x14", C, "--batch", 100, "--patch", 2)
    y = twicetold.hilo(x, grid="14x14", **given, **weights)
    high = weights["h_proj"].shape[0]
    entering, hi, lo = (ring_energies(magnitudes(a)) for a in (x, y[..., :high], y[..., high:]))
    shares = [100 * energy[4:].sum() / energy.sum() for energy in (entering, hi, lo)]
    remark(f"hilo-spectrum: 14x14 tokens, {C} channels, 12 heads, s = 2; {origin}")
    remark("percent beyond half the band in x, Hi-Fi, Lo-Fi: " + " ".join(f"{share:.1f}" for share in shares))
    remark(f"Lo-Fi's energy there over Hi-Fi's: {lo[4:].sum() / hi[4:].sum():.2f}")
    for name, first in (("Hi-Fi", 0), ("Lo-Fi", high)):
        logarithms = np.log(magnitudes(y[..., first:first + 8])).mean(0)
        for c in range(8):
            matrix(f"{name} {c}", logarithms[..., c], ".4f")
    remark("rings")
    for r in range(1, len(hi)):
        row(r, f"{hi[r] / entering[r]:.4g}", f"{lo[r] / entering[r]:.4g}")


def hilo_alias():
    """Waves after the mean of a window (Sec. 4.1): 14 tokens in a row, windows of 2.  For each number of periods the
    amplitude after the mean and the periods that 7 means show; then the tokens of one wave, and its means."""
    edge, shown = 14, 5

    def wave(periods, turn=0.0):
        return np.cos(2 * np.pi * periods * np.arange(edge) / edge - turn)

    def means(row_of_tokens):
        return row_of_tokens.reshape(-1, 2).mean(1)

    remark("means")
    for k in range(edge // 2 + 1):
        amplitude = np.hypot(means(wave(k))[0], means(wave(k, np.pi / 2))[0])
        row(k, f"{amplitude:.4f}", k if 2 * k < edge // 2 else edge // 2 - k)
    print("\n")
    matrix("tokens", enumerate(wave(shown)), ".4f")
    remark("windows")
    for w, mean in enumerate(means(wave(shown))):
        row(f"{2 * w + 0.5:.1f}", f"{mean:.4f}")


# ---- The command line

def numbers(words, low, high, name=""):
    """Parse at least one whole number."""
    for word in words or ("nothing",):
        if not word.isdecimal() or not low <= int(word) <= high:
            give_up(f"{name}{': ' * bool(name)}found {word}, expected whole numbers from {low} to {high}")
    return [int(word) for word in words]


def grid_sizes(grid, axes=None):
    sizes = grid.split("x")
    if not all(s.isdecimal() and int(s) > 0 for s in sizes) or len(sizes) > 3 or axes and len(sizes) != axes:
        give_up(f"found {grid}, expected a grid as {'56x56' if axes == 2 else '64, 8x8 or 4x8x8'}")
    return [int(s) for s in sizes]


MAPS = (attention_error, lisa_border, lisa_error, structsa_kernels, structsa_motion, elsa_border,
        elsa_filters, chopd_error, chopd_direct, hilo_cost, hilo_alias, hilo_spectrum)


def main(computed, name="", *words):
    maps = {compute.__name__.replace("_", "-"): compute for compute in computed}
    if name not in maps:
        give_up(f"found {name or 'no name'}, expected one of: {' '.join(maps)}")
    try:
        inspect.signature(maps[name]).bind(*words)
    except TypeError as error:
        give_up(f"{name}: {error}")
    try:
        maps[name](*words)
    except twicetold.Error as error:
        print(f"{script}: {error}", file=sys.stderr)
        sys.exit(error.code)


if __name__ == "__main__":
    main(MAPS, *sys.argv[1:])
