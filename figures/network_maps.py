#!/usr/bin/env python3
"""network_maps.py -- computed tables and pictures of chapters 6 and 7; networks-share also takes times

    python3 figures/network_maps.py NAME [ARGUMENT...]      (needs numpy and build/; BUILD names another folder)

Works as maps.py.  Networks run in `twicetold network`; its option --before writes the input and the parameters of a
step.  Tiny networks are those of reference/networks/learned.c; most figures show their second mixer.
"""

import functools
import gzip
import math
import pathlib
import sys
import tempfile

import maps
import numpy as np
import twicetold
from maps import (IMAGES, call, magnitudes, matrix, numbers, over_largest, parameters, picture, program_tensors,
                  read_tensors, remark, ring_energies, row, softmax)

sys.path.append(str(maps.top / "tests"))
from support.suite import GREY, png, write_tensors  # noqa: E402

LEARNED = maps.top / "tests/golden/learned"
SIDE, N, C = 14, 196, 32                # tokens of a side, tokens and channels of the tiny networks
SHOWN = 28                              # the image of the test set that is shown
block = functools.partial(matrix, form=".4f")


def network(name, *words, photo=None, images=None):
    """Run `twicetold network` on one picture as a PNG (`photo`) or on a tensor of `images`; return what it writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "given")
        if images is None:
            lines = b"".join(b"\0" + line.tobytes() for line in np.rint(photo * 255).astype(np.uint8))
            path.write_bytes(png(*photo.shape, GREY, 8, lines))
        else:
            x = np.reshape(images, (len(images), -1, 1))
            write_tensors(path, {"x": (x.shape, x.ravel().tolist())}, "F32")
            words = *words, "--input"
        return program_tensors("network", name, *words, path)[0]


def weights(operator, kind):
    """The options of `twicetold network` for the weights of a tiny network."""
    return ("--random", 1) if kind == "random" else ("--weights", LEARNED / f"{operator}.safetensors")


def meet(operator, kind, images):
    """The input x and the parameters of the second block's mixer."""
    return network(f"learned-{operator}", *weights(operator, kind), "--before", "stage1.block2.mixer", images=images)


def count_kinds(name, grid=None, runs=0):
    """The rows of networks-profile by kind of step: dictionaries of its columns."""
    lines = call("figures/bench/networks-profile", runs, name, "fast", *([grid] if grid else [])).splitlines()
    head, *rows = [line.lstrip("#").split("\t") for line in lines if not line.startswith("# ")]
    return {fields[2]: dict(zip(head, fields)) for fields in rows}


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
    """Print x after each step: the output of a stage, or the input of the following step.  Shows the three channels
    that vary most, less their means, in percent of their largest magnitude."""
    made = run("--stages")
    for number, (step, following) in enumerate(steps):
        x = (made[following] if following in made else run("--before", following)["x"])[0].astype(float)
        side = math.isqrt(len(x))
        remark(f"{kind} {number}: {step}, {side} x {side} tokens of {x.shape[1]} channels")
        for shown, c in enumerate(np.argsort(-x.var(axis=0), kind="stable")[:3]):
            block(f"{kind} {number} {shown}", 100 * over_largest(x[:, c] - x[:, c].mean()).reshape(side, side),
                  form=".0f")
    return made


def networks_maps():
    """Stations of LITv2-S, with random weights, and of HiLo's tiny trained network; then its class probabilities."""
    pixels, origin = picture(SHOWN)
    remark(f"networks-maps: image {SHOWN} of {origin}, through LITv2-S with random weights and a tiny trained HiLo")
    block("image", pixels)
    stations("litv2", LITV2_STATIONS, lambda *words: network("litv2-s", "--random", 1, *words, photo=pixels))
    tiny = stations("learned", TINY_STATIONS,
                    lambda *words: network("learned-hilo", *weights("hilo", "trained"), *words, images=[pixels]))
    remark("answers")
    for c, share in enumerate(softmax(tiny["logits"][0].astype(float))):
        row(c, f"{share:.4f}", CLASSES[c])
    print("\n")


def project(t, part):
    """Row block `part` of the mixer's projection: 0 queries, 1 keys."""
    rows = slice(part * C, (part + 1) * C)
    return t["x"][0] @ t["w_qkv"][rows].T + t["b_qkv"][rows]


def windows(rows, size, stride=1):
    """[N, c] -> [J, size^2, c]: the neighbourhood of each centre, zeros off the grid."""
    plane = np.pad(rows.reshape(SIDE, SIDE, -1), ((size // 2,) * 2, (size // 2,) * 2, (0, 0)))
    seen = np.lib.stride_tricks.sliding_window_view(plane, (size, size), (0, 1))[::stride, ::stride]
    return seen.reshape(-1, rows.shape[1], size * size).transpose(0, 2, 1)


def draw_lisa(kind, t, queries):
    """The D kernels wb, offset zero in the middle; for each query i and head the kernel kappa_in = sum_d a_id
    wb_{i-n,d} (Eq. 10).  If values are zero and bb is the identity, the operator's output is a."""
    heads, d = 2, t["wb"].shape[1]
    width = C // heads
    bare = dict(w_qkv=np.vstack([t["w_qkv"][:2 * C], np.zeros((C, C), "f")]), wa=t["wa"], wb=t["wb"], ba=t["ba"],
                b_qkv=np.append(t["b_qkv"][:2 * C], np.zeros(C, "f")), bb=np.eye(width, d, dtype="f"))
    y = twicetold.lisa(t["x"], grid=(SIDE, SIDE), heads=heads, **bare)
    a = y.reshape(SIDE, SIDE, heads, width)[..., :d]
    wb = t["wb"].reshape(SIDE, SIDE, d)
    for k in range(d):
        block(f"{kind} wb {k}", over_largest(np.roll(wb[..., k], (SIDE // 2, SIDE // 2), (0, 1))))
    for number, (top, left) in enumerate(queries):
        offsets = np.ix_((top - np.arange(SIDE)) % SIDE, (left - np.arange(SIDE)) % SIDE)
        for head in range(heads):
            block(f"{kind} {number} {head}", over_largest(wb[offsets] @ a[top, left, head]))


def networks_lisa():
    """LiSA's attention kernels, as its Fig. 5: the picture, queries, and kernels with random and trained weights."""
    (pixels, origin), queries = picture(SHOWN), ((3, 10), (8, 5), (11, 12))
    remark(f"networks-lisa: the second block of a tiny network, image {SHOWN} of {origin}")
    remark(f"queries (row, column): {' '.join(str(at) for place in queries for at in place)}")
    block("image", pixels)
    for kind in "random", "trained":
        draw_lisa(kind, meet("lisa", kind, [pixels]), queries)


def structsa_attention(t, head):
    """Attention [N, J D] of a head by Eq. 16, with a centre at every second token."""
    own = slice(head * C // 2, (head + 1) * C // 2)
    q, k = project(t, 0)[:, own] / 4, project(t, 1)[:, own]
    found = np.einsum("jmc,dmc->jdc", windows(k, 3, 2), t["hk"][..., own])
    return softmax(np.einsum("ic,jdc->ijd", q, found).reshape(N, -1), 1)


def elsa_filters(t):
    """Filters [N, C, 25] of all tokens: maps of the heads (Eq. 7) and the ghost head (Eq. 8)."""
    z = project(t, 0) * project(t, 1) / math.sqrt(C)
    logits = np.einsum("ic,can->ian", z, t["rk"]) + np.einsum("inc,can->ian", windows(z, 5), t["rq"]) + t["rb"]
    return t["ghost_mul"] * softmax(logits, 2)[:, np.arange(C) % len(t["rb"])] + t["ghost_add"]


def networks_learned():
    """Numbers of the second blocks' mixers, before training and after.  Before is random weights, but for ChoP'D the
    boxes from which training began."""
    pixels, origin = picture(SHOWN)
    remark(f"networks-learned: the second block of tiny networks, image {SHOWN} of {origin}")
    row("#operator", "number", "before", "trained")

    def numbers_of(operator, title, form, number, *found):
        row(operator, title, *(format(number(each), form) for each in found))
    structsa, elsa = ([meet(operator, kind, [pixels]) for kind in ("random", "trained")]
                      for operator in ("structsa", "elsa"))
    for head in range(2):
        numbers_of("StructSA", f"queries of {N} with the same largest weight, head {head + 1}", "d",
                   lambda a: np.bincount(a.argmax(1)).max(), *(structsa_attention(t, head) for t in structsa))
    numbers_of("ELSA", "percent of the filters that is the same for all tokens", ".0f",
               lambda f: 100 * N * np.square(f.mean(0)).sum() / np.square(f).sum(), *map(elsa_filters, elsa))
    began = read_tensors(LEARNED / "chopd-answers.safetensors")["start.boxes"]
    ended = read_tensors(LEARNED / "chopd.safetensors")["stage1.block2.mixer.boxes"]
    numbers_of("ChoP'D", "mean distance of an edge from where it began, in tokens", ".2f",
               lambda boxes: np.abs(boxes - began).mean(), began, ended)
    numbers_of("ChoP'D", "median of the longer sides of boxes, in tokens", ".2f",
               lambda boxes: np.median((boxes[..., 2:] - boxes[..., :2]).max(-1)), began, ended)


def networks_spectrum():
    """Frequencies that Hi-Fi and Lo-Fi let through, as HiLo's Fig. 5, 8 and 9: logarithms of magnitudes, averaged over
    100 images, of six channels of each branch.  Then the percent of the energy in rings of frequencies whose larger
    part is r cycles across the image: r, input, Hi-Fi, Lo-Fi."""
    count = 100
    pixels, (origin, *_) = zip(*(picture(number) for number in range(count)))
    remark(f"networks-spectrum: the second block of a tiny network, {count} images of {origin}")
    for kind in "random", "trained":
        t = meet("hilo", kind, pixels)
        y = twicetold.hilo(t["x"], grid=(SIDE, SIDE), heads=4, window=2, alpha=0.5,
                           **{name: a for name, a in t.items() if name != "x"})
        parts = {"x": magnitudes(t["x"]), "Hi-Fi": magnitudes(y[..., :C // 2]), "Lo-Fi": magnitudes(y[..., C // 2:])}
        energies = map(ring_energies, parts.values())
        rings = np.column_stack([100 * energy / energy.sum() for energy in energies])
        beyond = " ".join(f"{share:.1f}" for share in rings[4:].sum(axis=0))
        remark(f"percent beyond half the band in {', '.join(parts)}, {kind}: {beyond}")
        for branch in "Hi-Fi", "Lo-Fi":
            for c, plane in enumerate(np.log(parts[branch]).mean(axis=0).transpose(2, 0, 1)[:6]):
                block(f"{kind} {branch} {c}", plane)
        matrix(f"{kind} rings", np.column_stack([np.arange(len(rings)), rings]), ".4g")


def networks_accuracy(pictures="10000"):
    """The trained networks on the test set: pictures with the right class here and in PyTorch (tests/pytorch/train.py),
    and pictures whose two classes differ."""
    [count], batch = numbers([pictures], 1, 10000, "PICTURES"), 1000
    try:
        images, label = (np.frombuffer(gzip.open(path).read(), np.uint8) for path in
                         (IMAGES, IMAGES.replace("images-idx3", "labels-idx1")))
    except FileNotFoundError:
        remark(f"no data set at {IMAGES}, and 0 pictures\n0")
        return
    images, label = images[16:].reshape(-1, 28, 28)[:count] / 255, label[8:8 + count]
    remark(f"pictures: {count}")
    row("#network", "parameters", "mixers", "multiply_adds", "right", "pytorch", "differ")
    for operator in "lisa", "structsa", "elsa", "chopd", "hilo":
        name, trained = f"learned-{operator}", read_tensors(LEARNED / f"{operator}.safetensors")
        told = read_tensors(LEARNED / f"{operator}-answers.safetensors")["predictions"].ravel()[:count]
        logits = [network(name, *weights(operator, "trained"), images=images[b:b + batch])["logits"]
                  for b in range(0, count, batch)]
        found = np.concatenate(logits).argmax(axis=1)
        mixers = sum(a.size for path, a in trained.items() if ".mixer." in path)
        row(name, sum(a.size for a in trained.values()), mixers, count_kinds(name)["all"]["multiply_adds"],
            (found == label).sum(), (told == label).sum(), (found != told).sum())


def networks_share(runs="0", *sides):
    """The operator's share of four networks' multiply-adds, by the side of the image.  If RUNS > 0, for the named SIDES
    also its share of the time of one image, and the seconds of all steps, each step the fastest of RUNS.  In LITv2-S
    the attention of stage 4 counts as HiLo.  ELSA-Swin has only sides that the windows of its stage 4 divide."""
    [runs], sides = numbers([runs], 0, 100, "RUNS"), sides and numbers(sides, 160, 768, "SIDE")
    if runs:
        remark(f"of each step the least of {runs} runs")
    row("#network", "operator", "side", "multiply_adds", "time", "seconds")
    for name, operator in (("litv2-s", "hilo"), ("elsa-swin-t", "elsa"), ("structvit-s-4-1", "structsa"),
                           ("lisanet-i-t", "lisa")):
        for side in range(160, 769, 32):
            if operator == "elsa" and side > 224 and side % 224:
                continue
            counted = count_kinds(name, f"{side}x{side}")
            share = float(counted[operator]["multiply_adds"]) / float(counted["all"]["multiply_adds"])
            time, seconds = -1, "-1"
            if runs and side in sides:
                timed = count_kinds(name, f"{side}x{side}", runs)
                seconds = timed["all"]["time_seconds"]
                time = float(timed[operator]["time_seconds"]) / float(seconds)
            row(name, operator, side, f"{share:.4f}", f"{time:.4f}", seconds)


ATTENTIONS = {"s2": ("hilo", {"window": 2, "alpha": 0.9}), "s4": ("hilo", {"window": 4, "alpha": 0.9}),
              "msa": ("msa", {}), "window": ("msa", {"window": 7}), "sra": ("sra", {"reduction": 2})}


def gap_resolution():
    """Multiply-adds of LITv2-S on larger images, by the attention of its third stage, as HiLo's Fig. 3.  All by
    formula, without norms: six layers of another attention replace those of HiLo."""
    channels, heads, layers = 384, 12, 6
    drawn = {}
    for key, (operator, options) in ATTENTIONS.items():
        bare = ("--without", "rpe") if operator == "msa" else ()
        drawn[key] = parameters(operator, "14x14", channels, *bare, heads=heads, **options)
    row("#attention", "pixels", "tokens", "layer_multiply_adds", "multiply_adds")
    for pixels in 224, 448, 672, 896, 1344, 1792:
        edge, kinds = pixels // 16, count_kinds("litv2-s", f"{pixels}x{pixels}")
        x = np.broadcast_to(np.float32(0), (1, edge * edge, channels))
        layer = {key: twicetold.plan(operator, x, grid=(edge, edge), heads=heads, **options, **drawn[key]).multiply_adds
                 for key, (operator, options) in ATTENTIONS.items()}
        rest = float(kinds["all"]["multiply_adds"]) - float(kinds["norm"]["multiply_adds"]) - layers * layer["s2"]
        for key, cost in layer.items():
            row(key, pixels, edge * edge, f"{cost:.0f}", f"{rest + layers * cost:.0f}")


MAPS = (networks_maps, networks_lisa, networks_learned, networks_spectrum, networks_accuracy, networks_share,
        gap_resolution)

if __name__ == "__main__":
    maps.main(MAPS, *sys.argv[1:])
