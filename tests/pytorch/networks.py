"""Whole networks, literally and as timed; see _golden.py.

LITv2 (HiLo, Tab. 7), ELSA-Swin, LiSANet (LiSA, Tab. 2, 7 and 8), StructViT (StructSA, Tab. 2), a ChoP'D Former with
our widths (the paper's are not available), and Swin-T.  A network is a table of steps; tensors have the paths of the C
code.  The literal form optimizes nothing: batch norms are not folded, and sampling follows its formula.
"""

import functools
import itertools
import math
from collections import namedtuple
from fractions import Fraction

import torch
import torch.nn.functional as F

import chopd as of_chopd
import elsa as of_elsa
import hilo as of_hilo
import lisa as of_lisa
import msa as of_msa
import structsa as of_structsa
from _golden import LIBRARY, around, attention, axes, planes, random_numbers, scaled_queries, tokens, write

# ---- layers -----------------------------------------------------------------
#
# A layer on tokens [B, N, C] of a grid: tensors (name, shape, fan-in), function, channels and grid of the result.

Layer = namedtuple("Layer", "tensors run C grid")


def convolve(grid, *given, **options):
    return (F.conv1d, F.conv2d, F.conv3d)[len(grid) - 1](*given, **options)


def per_axis(number, grid):
    return tuple(number) if isinstance(number, (tuple, list)) else (number,) * len(grid)


def rows(weight, weight_shape, bias, fan):
    """A weight and its bias."""
    return [(weight, weight_shape, fan), (bias, weight_shape[:1], fan)]


def patch(C, grid, channels, size, stride, pad=0, kind="learned"):
    size, stride, pad = (per_axis(n, grid) for n in (size, stride, pad))
    behind = tuple((n + 2 * p - k) // s + 1 for n, p, k, s in zip(grid, pad, size, stride))
    M, steps = math.prod(size), dict(stride=stride, padding=pad)
    run = lambda t, x: tokens(convolve(grid, planes(x, grid), t["w"].unflatten(2, size), t["b"], **steps))
    if kind == "mean":
        mean = lambda t, x: F.linear(tokens(F.avg_pool2d(planes(x, grid), size, stride, pad)), t["w"], t["b"])
        return Layer(rows("w", (channels, C), "b", C), mean, channels, behind)
    return Layer(rows("w", (channels, C, M), "b", C * M), run, channels, behind)


def norm(C, grid, kind="layer", epsilon=1e-5):
    if kind == "layer":
        run = lambda t, x: F.layer_norm(x, (C,), t["g"], t["b"], eps=epsilon)
    else:
        run = lambda t, x: tokens(F.batch_norm(planes(x, grid), t["mean"], t["var"], t["g"], t["b"], eps=epsilon))
    names = ("g", "b") if kind == "layer" else ("g", "b", "mean", "var")
    return Layer([(name, (C,), 1) for name in names], run, C, grid)


def mlp(C, grid, ratio=4, depthwise=False):
    H = ratio * C
    middle = rows("conv_w", (H, 3, 3), "conv_b", 9) if depthwise else []

    def run(t, x):
        h = F.linear(x, t["w_1"], t["b_1"])
        if depthwise:
            h = tokens(F.conv2d(planes(h, grid), t["conv_w"][:, None], t["conv_b"], padding=1, groups=H))
        return F.linear(F.gelu(h), t["w_2"], t["b_2"])
    return Layer(rows("w_1", (H, C), "b_1", C) + middle + rows("w_2", (C, H), "b_2", H), run, C, grid)


def mean_of(C, grid, size):
    """The mean of a window, with zeros outside the grid."""
    size = per_axis(size, grid)
    run = lambda t, x: tokens(F.avg_pool2d(planes(x, grid), size, 1, tuple(k // 2 for k in size)))
    return Layer([], run, C, grid)


def depthwise(C, grid, size):
    size = per_axis(size, grid)
    each = dict(padding=tuple(k // 2 for k in size), groups=C)
    run = lambda t, x: tokens(convolve(grid, planes(x, grid), t["w"].reshape(C, 1, *size), t["b"], **each))
    return Layer(rows("w", (C, math.prod(size)), "b", math.prod(size)), run, C, grid)


def linear(C, grid, channels=None, gelu=False):
    D = channels or C
    run = lambda t, x: F.linear(x, t["w"], t["b"])
    return Layer(rows("w", (D, C), "b", C), (lambda t, x: F.gelu(run(t, x))) if gelu else run, D, grid)


def merge(C, grid):
    def run(t, x):
        plane = x.unflatten(1, grid)
        four = torch.cat([plane[:, y::2, z::2] for y, z in [(0, 0), (1, 0), (0, 1), (1, 1)]], dim=-1)
        four = F.layer_norm(four.flatten(1, 2), (4 * C,), t["norm_g"], t["norm_b"])
        return F.linear(four, t["w"])
    return Layer([("norm_g", (4 * C,), 1), ("norm_b", (4 * C,), 1), ("w", (2 * C, 4 * C), 4 * C)], run, 2 * C,
                 tuple(n // 2 for n in grid))


def sampled(plane, y, x):
    """Bilinear samples of [B, C, H, W] at real positions [B, h, w]; zeros outside."""
    B, C, H, W = plane.shape
    value = torch.zeros(B, C, *y.shape[1:], dtype=plane.dtype)
    for near_y, near_x in [(y.floor() + a, x.floor() + b) for a in (0, 1) for b in (0, 1)]:
        weight = (1 - (y - near_y).abs()) * (1 - (x - near_x).abs())
        inside = (near_y >= 0) & (near_y < H) & (near_x >= 0) & (near_x < W)
        place = (near_y.clamp(0, H - 1) * W + near_x.clamp(0, W - 1)).long().flatten(1)
        corner = plane.flatten(2).gather(2, place[:, None].expand(-1, C, -1)).unflatten(2, y.shape[1:])
        value = value + (weight * inside)[:, None] * corner
    return value


def deform(C, grid):
    behind = tuple(n // 2 for n in grid)

    def run(t, x):
        plane = planes(x, grid)
        offset = F.conv2d(plane, t["offset_w"], t["offset_b"], stride=2)
        y, z = torch.meshgrid(*(2.0 * torch.arange(n, dtype=x.dtype) for n in behind), indexing="ij")
        value = t["b"][None, :, None, None]
        for tap, (a, b) in enumerate(itertools.product((0, 1), (0, 1))):
            at = sampled(plane, y + a + offset[:, 2 * tap], z + b + offset[:, 2 * tap + 1])
            value = value + torch.einsum("bchw,dc->bdhw", at, t["w"][:, :, a, b])
        normal = F.batch_norm(value, t["norm_mean"], t["norm_var"], t["norm_g"], t["norm_b"], eps=1e-5)
        return tokens(F.gelu(normal))
    # This fan gives offsets of a token or two, also outside the grid.
    tensors = rows("w", (2 * C, C, 2, 2), "b", 4 * C) + rows("offset_w", (8, C, 2, 2), "offset_b", 4 * C)
    return Layer(tensors + [("norm_" + name, (2 * C,), 1) for name in ("g", "b", "mean", "var")], run, 2 * C, behind)


def position(C, grid):
    N = math.prod(grid)
    return Layer([("table", (N, C), 1)], lambda t, x: x + t["table"], C, grid)


def head(C, grid, classes):
    return Layer(rows("w", (classes, C), "b", C), lambda t, x: F.linear(x.mean(1), t["w"], t["b"]), classes, ())


# ---- operators: all tensors except x ----------------------------------------------

def hilo(C, grid, heads, window=2, alpha=0.9):
    case = {**of_hilo.DEFAULT, "C": C, "grid": grid, "heads": heads, "window": window, "alpha": alpha}
    run = lambda t, x, attend=attention: of_hilo.hilo({**t, "x": x}, case, attend)
    return Layer(of_hilo.rows(case)[1:], run, C, grid)


def elsa(C, grid, heads, group_width, kernel=7):
    """The authors' final module, with the additive part of the ghost head."""
    Q, taps = math.ceil(C // 3 * 2 / group_width) * group_width, kernel * kernel
    case = {**of_elsa.DEFAULT, "grid": grid, "C": C, "Q": Q, "heads": heads, "kernel": kernel, "equation": 0,
            "lambda": 0, "map": "block"}
    extra = rows("conv_w", (Q, group_width, kernel, kernel), "conv_b", group_width * taps)
    extra += rows("mix_w", (heads * taps, Q), "mix_b", Q) + [("ghost_add", (C, taps), taps)]
    run = lambda t, x, apply=of_elsa.algorithm_1: of_elsa.elsa({**t, "x": x}, case, apply)
    return Layer(around(0, C, extra, maps=2 * Q + C)[1:], run, C, grid)


def lisa(C, grid, heads, latent):
    tensors = of_lisa.rows(10, grid, heads, 1, C // heads, latent, True, True, True)[1:]
    return Layer(tensors, lambda t, x: of_lisa.lisa({**t, "x": x}, 10, grid, heads), C, grid)


def structsa(C, grid, heads, patterns, stride, scale, kernel=3):
    M, strides = per_axis(kernel, grid), per_axis(stride, grid)
    taps = math.prod(M)
    extra = [("hk", (patterns, taps, C), taps), ("hv", (patterns, taps, C), taps)]
    run = lambda t, x: of_structsa.structsa({**t, "x": x}, grid, M, M, strides, 16, scale, heads)
    return Layer(around(0, C, extra)[1:], run, C, grid)


def swin_windows(grid, heads, shift):
    """Swin's rule: windows of at most 7, and no shift if they are as wide as the shorter side."""
    edge = min(7, *grid)
    return dict(heads=heads, window=edge, shift=shift if edge < min(grid) else 0)


def msa(C, grid, heads, shift):
    """Self-attention in windows, with a bias per offset and head."""
    how = swin_windows(grid, heads, shift)
    run = lambda t, x, **more: of_msa.msa(t, x, grid, **how, **more)
    return Layer(of_msa.rows(grid, heads, 1, C // heads, heads, "public", how)[1:], run, C, grid)


def chopd(C, grid, components, boxes, hidden):
    R, G, S = components, boxes, hidden
    tensors = [("u4", (C, R), C), ("boxes", (R, G, 4), 1), ("mix", (R, G), G), ("phi_w1", (S, C, 3, 3), 9 * C),
               ("phi_b1", (S,), 1), ("phi_w2", (R, S), S), ("phi_b2", (R,), 1), ("u5", (C, R), R), ("b", (C,), 1)]
    case = {**of_chopd.DEFAULT, "grid": grid}
    return Layer(tensors, lambda t, x: of_chopd.chopd({**t, "x": x}, case), C, grid)


def fc_cp(C, grid, components):
    """Eq. 5 without the factor for the image: a static layer."""
    N, R = math.prod(grid), components
    tensors = [("u2", (N, R), N), ("u3", (N, R), 1), ("u4", (C, R), C), ("u5", (C, R), R), ("b", (N, C), 1)]

    def run(t, x):
        return of_chopd.dfc_cp({**t, "x": x, "u1": torch.ones(len(x), R, dtype=x.dtype)}, {"activation": "gelu"})
    return Layer(tensors, run, C, grid)


# ---- tables -----------------------------------------------------------------
#
# A stage has an entry and `depth` blocks; block(j), from 1, is a list of steps.  A step is ON: x = f(x); INTO:
# h = f(x); ALONG: h = f(h); JOIN: x += f(h); or ADD: x += f(x).

ON, INTO, ALONG, JOIN, ADD = "on", "into", "along", "join", "add"
Step = namedtuple("Step", "name move layer options")
Stage = namedtuple("Stage", "entry block depth")
Network = namedtuple("Network", "stages end")


def step(name, move, layer, **options):
    return Step(name, move, layer, options)


def residual(mixer, **norms):
    """x += mixer(norm1 x); x += mlp(norm2 x)."""
    return [step("norm1", INTO, norm, **norms), mixer, step("norm2", INTO, norm, **norms), step("mlp", JOIN, mlp)]


def always(block):
    return lambda j: block


def end(classes, **norms):
    return [step("norm", ON, norm, **norms), step("head", ON, head, classes=classes)]


def stages(entry, block, depths, classes, **norms):
    return Network([Stage(entry(s), block(s), depth) for s, depth in enumerate(depths)], end(classes, **norms))


def embedded(channels, size, stride, pad=0, **kind):
    return [step("embed", ON, patch, channels=channels, size=size, stride=stride, pad=pad, **kind),
            step("embed_norm", ON, norm)]


def merged(C, how):
    """Patches of 4 x 4 before the first stage, layer `how` before the others."""
    return lambda s: [step(how.__name__, ON, how)] if s else embedded(C, 4, 4)


def litv2(widths, depths, heads, classes):
    def block(s):
        feed = [step("norm2", INTO, norm), step("mlp", JOIN, mlp, depthwise=True)]
        mixer = step("mixer", JOIN, hilo, heads=heads[s], window=2 if s == 2 else 1)
        return always(feed if s < 2 else [step("norm1", INTO, norm), mixer] + feed)
    return stages(merged(widths[0], deform), block, depths, classes)


def elsa_swin(widths, depths, heads, classes, group_width):
    local = lambda s: always(residual(step("mixer", JOIN, elsa, heads=heads[s], group_width=group_width)))
    return stages(merged(widths[0], merge), lambda s: local(s) if s < 3 else shifted(heads[s]), depths, classes)


def shifted(heads):
    """Windows, shifted in every second block."""
    return lambda j: residual(step("mixer", JOIN, msa, heads=heads, shift=0 if j % 2 else 3))


def swin(widths, depths, heads, classes):
    return stages(merged(widths[0], merge), lambda s: shifted(heads[s]), depths, classes)


def lisanet_i(widths, depths, heads, classes, latent):
    entry = [step("embed", ON, patch, channels=widths[0], size=16, stride=16), step("position", ON, position)]
    mixer = step("mixer", JOIN, lisa, heads=heads[0], latent=latent)
    return stages(lambda s: entry, lambda s: always(residual(mixer)), depths, classes)


def lisanet_h(widths, depths, heads, classes, latent, overlap):
    def entry(s):
        k = (4 if s == 0 else 2) + (3 if s == 0 else 1) * overlap
        return [step("embed", ON, patch, channels=widths[s], size=k, stride=4 if s == 0 else 2, pad=k // 2 * overlap)]
    block = lambda s: always(residual(step("mixer", JOIN, lisa, heads=heads[s], latent=latent)))
    return stages(entry, block, depths, classes)


def structvit(widths, depths, heads, classes, patterns, stride, video=False):
    """Two stages of convolutions, two of StructSA; for images or video."""

    def entry(s):
        size, steps, pad = (4, 4, 0) if s == 0 else (2, 2, 0)
        if video:
            size, steps, pad = ((3, 4, 4), (2, 4, 4), (1, 0, 0)) if s == 0 else ((1, 2, 2), (1, 2, 2), 0)
        return embedded(widths[s], size, steps, pad)

    def block(s):
        local = step("local", ADD, depthwise, size=3)
        if s < 2:
            return always([local, step("norm1", INTO, norm, kind="batch"), step("in", ALONG, linear),
                           step("mixer", ALONG, depthwise, size=5), step("out", JOIN, linear),
                           step("norm2", INTO, norm, kind="batch"), step("mlp", JOIN, mlp)])
        strides = (1,) * video + (stride,) * 2
        mixer = step("mixer", JOIN, structsa, heads=heads[s], patterns=patterns, stride=strides,
                     scale=(widths[s] // heads[s]) ** -0.5)
        return always([local] + residual(mixer, epsilon=1e-6))
    return stages(entry, block, depths, classes, kind="batch")


def chopd_former(widths, depths, heads, classes, kind="chopd", components=Fraction(35, 8)):
    """The five kinds of layer in Tab. 1; widths, components (by C), boxes and gates are ours."""
    def entry(s):
        k = 4 if s == 0 else 2
        return embedded(widths[s], k, k, kind="mean")

    def block(s):
        C, R = widths[s], int(components * widths[s])
        mixers = {"chopd": [step("mixer", JOIN, chopd, components=R, boxes=8, hidden=16)],
                  "fc": [step("mixer", JOIN, fc_cp, components=R)],
                  "depthwise": [step("mixer", ALONG, depthwise, size=3)],
                  "pool": [step("mixer", ALONG, mean_of, size=3)], "linear": []}[kind]
        if kind not in ("chopd", "fc"):
            mixers = [step("in", ALONG, linear, channels=R), *mixers,
                      step("out", JOIN, linear, channels=C, gelu=True)]
        return always([step("norm1", INTO, norm), *mixers])
    return stages(entry, block, depths, classes)


# ---- from a table to steps, parameters and numbers ---------------------------

# `grid` is that of the step's input; `stage` is the number of the stage that ends with the step, or 0.
Placed = namedtuple("Placed", "path move layer stage step grid")


def placed(network, grid=(224, 224), C=3):
    """The steps for an image of this grid, in order."""
    x, h, steps = (C, tuple(grid)), None, []

    def place(prefix, each):
        nonlocal x, h
        met = h if each.move in (ALONG, JOIN) else x
        layer = each.layer(*met, **each.options)
        steps.append(Placed(prefix + each.name, each.move, layer, 0, each, met[1]))
        if each.move in (INTO, ALONG):
            h = layer.C, layer.grid
        else:
            x = layer.C, layer.grid
    for i, stage in enumerate(network.stages, 1):
        for each in stage.entry:
            place(f"stage{i}.", each)
        for j in range(1, stage.depth + 1):
            for each in stage.block(j):
                place(f"stage{i}.block{j}.", each)
        steps[-1] = steps[-1]._replace(stage=i)
    for each in network.end:
        place("", each)
    return steps


def shapes(steps):
    return {f"{each.path}.{name}": shape for each in steps for name, shape, _ in each.layer.tensors}


def parameters(steps):
    """Counts learned numbers: all but a batch norm's mean and variance."""
    return sum(math.prod(shape) for path, shape in shapes(steps).items() if not path.endswith(("mean", "var")))


def tensors_of(each, t):
    return {name: t[f"{each.path}.{name}"] for name, _, _ in each.layer.tensors}


def run_all(steps, t, x):
    """The logits and the output of each stage."""
    outputs, h = {}, None
    for each in steps:
        y = each.layer.run(tensors_of(each, t), h if each.move in (ALONG, JOIN) else x)
        if each.move in (INTO, ALONG):
            h = y
        else:
            x = y if each.move == ON else x + y
        if each.stage:
            outputs[f"stage{each.stage}"] = x
    return {**outputs, "logits": x}


def weights(steps, draw):
    """Tensors by path, from draw(number, shape, fan); gains near one, valid variances and boxes."""
    t = {}
    for each in steps:
        for name, shape, fan in each.layer.tensors:
            value = draw(len(t), shape, fan)
            last = name.split("_")[-1]
            if last == "g":
                value = 1 + value / 4
            elif last == "var":
                value = value.abs() + 0.25
            elif last == "boxes":       # edges on eighths of a token
                value = (8 * value).round() / 8
                value = torch.cat([value[..., :2], value[..., :2] + value[..., 2:].abs() + 0.125], -1)
            t[f"{each.path}.{name}"] = value
    return t


def doubled(C):
    return [C << s for s in range(4)]


# Name: table, widths, depths, channels of a head, other arguments of the table, image.
SQUARE, FRAMES, SMALL, MEDIUM = (224, 224), (16, 224, 224), (2, 2, 6, 2), (2, 2, 18, 2)
UNIFORMER = {"s": ([64, 128, 320, 512], (3, 4, 8, 3)), "b": ([64, 128, 320, 512], (5, 8, 20, 7)),
             "l": ([128, 192, 448, 640], (5, 10, 24, 7))}
NETWORKS = {
    "litv2-s": (litv2, doubled(96), SMALL, 32, {}, SQUARE),
    "litv2-m": (litv2, doubled(96), MEDIUM, 32, {}, SQUARE),
    "litv2-b": (litv2, doubled(128), MEDIUM, 32, {}, SQUARE),
    "elsa-swin-t": (elsa_swin, doubled(96), SMALL, 32, dict(group_width=4), SQUARE),
    "elsa-swin-s": (elsa_swin, doubled(96), MEDIUM, 32, dict(group_width=8), SQUARE),
    "elsa-swin-b": (elsa_swin, doubled(128), MEDIUM, 32, dict(group_width=8), SQUARE),
    "swin-t": (swin, doubled(96), SMALL, 32, {}, SQUARE),
    **{f"lisanet-i-t{end}": (lisanet_i, [192], (12,), 16, dict(latent=D), SQUARE)
       for end, D in [("", 16), ("-d1", 1), ("-d4", 4), ("-d8", 8)]},
    "lisanet-h-t": (lisanet_h, doubled(64), (1, 2, 5, 2), 16, dict(latent=8, overlap=False), SQUARE),
    "lisanet-h-s": (lisanet_h, doubled(64), (1, 2, 11, 2), 16, dict(latent=16, overlap=True), SQUARE),
    "lisanet-h-b": (lisanet_h, doubled(96), (2, 3, 16, 3), 16, dict(latent=16, overlap=True), SQUARE),
    **{f"structvit-{size}-{D}-{s}": (structvit, *UNIFORMER[size], 64, dict(patterns=D, stride=s), SQUARE)
       for size, D, s in [("s", 4, 1), ("s", 4, 2), ("s", 8, 1), ("b", 4, 1), ("b", 4, 2), ("b", 8, 1), ("l", 4, 1)]},
    **{f"structvit-{size}-{D}-{s}-video":
       (structvit, *UNIFORMER[size], 64, dict(patterns=D, stride=s, video=True), FRAMES)
       for size, D, s in [("s", 4, 1), ("s", 4, 2), ("s", 8, 1), ("b", 4, 1), ("b", 4, 2)]},
    **{f"chopd-former-{kind}{size}m": (chopd_former, doubled(64), (n, n, 3 * n, n), math.inf,
                                       dict(kind=kind.strip("-") or "chopd", components=Fraction(R)), SQUARE)
       for kind, *both in (("", "35/8", "33/8"), ("fc-", "9/4", "17/8"), ("depthwise-", "5", "19/4"),
                           ("pool-", "5", "19/4"), ("linear-", "41/8", "77/16"))
       for (size, n), R in zip(((15, 3), (28, 6)), both)},
}


def network(name, widths=None, depths=None, heads=None, classes=1000):
    table, own_widths, own_depths, c, more, _ = NETWORKS[name]
    widths = widths or own_widths
    heads = heads or [max(1, int(width // c)) for width in widths]
    return table(widths, depths or own_depths, heads, classes, **more)


# ---- timed forms: one image of 224 x 224 pixels ----------------------------------
#
# literal: as the authors' public modules: ELSA unfolds its values and makes all filters, Swin cuts windows, LITv2
# merges by grid_sample.  best (ELSA only): the fastest that we found in PyTorch.

TIMED = {name: dict(operator="network", network=name, grid=SQUARE, C=3, options={},
                    programs={"ours": f"figures/bench/networks-profile seconds {name} fast - 1"})
         for name in ("litv2-s", "elsa-swin-t", "swin-t")}


def timed_inputs(case, draw):
    x = draw([("x", (1, math.prod(case["grid"]), 3), 1)])
    weight = lambda number, shape, fan: draw([("w", shape, fan)])["w"]
    return {**x, **weights(placed(network(case["network"])), weight)}


def asked(case, t):
    """Files for our program, its arguments, and the tensor that it writes."""
    weights = {path: value for path, value in t.items() if path != "x"}
    return ({"weights": weights, "x": {"x": t["x"]}},
            ["network", case["network"], "--weights", "weights", "--input", "x"], "logits")


def deform_by_library(t, grid):
    """deform by grid_sample, where -1 and 1 are the centres of the first and last token; the map includes the norm."""
    tap = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    first = torch.stack(torch.meshgrid(*(2.0 * torch.arange(n // 2) for n in grid), indexing="ij"), -1)
    first, scale = first + tap[:, None, None], torch.tensor([2 / (n - 1) for n in grid[::-1]])
    gain = t["norm_g"] / (t["norm_var"] + 1e-5).sqrt()
    w, b = t["w"].flatten(1) * gain[:, None], (t["b"] - t["norm_mean"]) * gain + t["norm_b"]

    def run(t, x):
        plane = planes(x, grid)
        offset = F.conv2d(plane, t["offset_w"], t["offset_b"], stride=2)
        at = first + offset.unflatten(1, (4, 2)).permute(0, 1, 3, 4, 2)
        samples = F.grid_sample(plane, at.flip(-1).flatten(1, 2) * scale - 1, align_corners=True)
        return F.gelu(F.linear(samples.unflatten(2, (4, -1)).flatten(1, 2).flatten(2).transpose(1, 2), w, b))
    return run


def timed(case, t):
    def way(attend, apply=of_elsa.algorithm_1):
        steps = []
        for each in placed(network(case["network"])):
            run, given, layer = each.layer.run, tensors_of(each, t), each.step.layer
            if layer is deform:
                run = deform_by_library(given, each.grid)
            elif layer is hilo:
                run = functools.partial(run, attend=attend)
            elif layer is msa:
                how = swin_windows(each.grid, **each.step.options)
                run = functools.partial(run, attend=attend, ready=of_msa.bias(given, each.grid, **how))
            elif layer is elsa:
                run = functools.partial(run, apply=apply)
            steps.append(each._replace(layer=each.layer._replace(run=run)))
        return lambda x: run_all(steps, t, x)["logits"]

    neighbours = lambda t, attention, v, *_: of_elsa.neighbours(t, attention, v, by_block=True)
    ways = {"literal": way(scaled_queries)}
    if "elsa" in case["network"]:
        ways["best"] = way(scaled_queries, neighbours)
    return {**ways, **({"library's attention": way(LIBRARY, neighbours)} if LIBRARY else {})}


# ---- golden vectors -----------------------------------------------------------
#
# The same tables with few channels and blocks, mostly on oblong images.

CASES = {
    "litv2-s": dict(grid=(64, 32), widths=(4, 8, 16, 32), depths=(1, 1, 2, 1), heads=(1, 1, 4, 2)),
    "elsa-swin-t": dict(grid=(64, 128), widths=(4, 8, 16, 32), depths=(1, 1, 1, 1), heads=(1, 2, 4, 2)),
    "lisanet-i-t": dict(grid=(48, 32), widths=(16,), depths=(2,), heads=(2,), batch=2),
    "lisanet-h-t": dict(grid=(32, 64), widths=(8, 8, 16, 16), depths=(1, 1, 1, 1), heads=(2, 4, 4, 2)),
    "lisanet-h-b": dict(grid=(64, 32), widths=(8, 8, 16, 16), depths=(1, 1, 1, 1), heads=(4, 4, 2, 4)),
    "structvit-s-4-2": dict(grid=(64, 32), widths=(8, 8, 16, 16), depths=(2, 1, 1, 1), heads=(1, 1, 2, 4)),
    "structvit-s-4-2-video": dict(grid=(4, 32, 32), widths=(4, 8, 8, 16), depths=(1, 1, 1, 1), heads=(1, 1, 2, 2)),
    "chopd-former-15m": dict(grid=(64, 32), widths=(8, 8, 16, 16), depths=(1, 1, 1, 1)),
    "chopd-former-fc-15m": dict(grid=(32, 32), widths=(8, 8, 16, 16), depths=(1, 1, 2, 1)),
    "chopd-former-depthwise-15m": dict(grid=(32, 32), widths=(4, 4, 8, 8), depths=(1, 1, 1, 1), batch=2),
    "chopd-former-pool-15m": dict(grid=(64, 32), widths=(4, 4, 8, 8), depths=(1, 1, 1, 1)),
    "chopd-former-linear-15m": dict(grid=(32, 32), widths=(4, 4, 8, 8), depths=(1, 1, 1, 1)),
    "swin-t": dict(grid=(224, 224), widths=(2, 4, 8, 16), depths=(1, 1, 1, 2), heads=(1, 2, 4, 2)),
    "swin-t 224x448": dict(grid=(224, 448), widths=(2, 4, 8, 16), depths=(2, 1, 2, 2), heads=(1, 2, 4, 2)),
    "elsa-swin-t 224x448": dict(grid=(224, 448), widths=(4, 8, 16, 32), depths=(1, 1, 1, 2), heads=(1, 2, 4, 2)),
}


def main():
    for seed, (title, case) in enumerate(CASES.items(), 1):
        name = title.split()[0]
        steps = placed(network(name, case["widths"], case["depths"], case.get("heads"), classes=5), case["grid"])
        x = random_numbers(1000 * seed + 999, (case.get("batch", 1), math.prod(case["grid"]), 3), 1)
        if x.numel() > 100000:
            x = (2 * x).round() / 2         # compresses well
        t = weights(steps, lambda number, shape, fan: random_numbers(1000 * seed + number, shape, fan ** -0.5))
        answers = run_all(steps, t, x)
        options = [f"{name} --grid {axes(case['grid'])}"]
        options += [f"--{key} {','.join(map(str, case[key]))}" for key in ("depths", "widths", "heads") if key in case]
        options += ["--classes 5"]
        write("network", title.replace(" ", "_"), {"x": x, **t, **answers}, " ".join(options), answers)


if __name__ == "__main__":
    main()
