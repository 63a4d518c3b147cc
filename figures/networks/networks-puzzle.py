#!/usr/bin/env python3
"""Which single layers learn to put a puzzle of four patches together.

    /usr/bin/python3 figures/networks/networks-puzzle.py [LAYER ...] >figures/networks/networks-puzzle.tsv

ChoP'D's first experiment, made small.  Images of Fashion-MNIST, averaged to 14 x 14 pixels, are cut into four patches
of 7 x 7 and shuffled by one of 24 orders, another each time.  A patch is a token of a 2 x 2 grid:

    patch -> 128 -> 64 channels, + a table of positions, norm -> LAYER -> 128 -> patch

Only LAYER moves anything between patches.  The loss is the squared error of the pixels.  Columns: the layer; its
parameters, and those of all; root mean square error of a pixel; PSNR in decibels; the share of places whose output is
nearer to the patch that belongs there than to the other three; seconds of processor time.  Rows without training:
shuffled, the input; mean, the mean image; best-static, the best fixed linear map (chapter 4).  ordered: trained without
shuffling and without a layer.  Needs torch, numpy and dataset-fashion-mnist."""
import pathlib
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/pytorch"))

import torch
import torch.nn.functional as F

import _learned
import chopd as chopd_script
import elsa as elsa_script
import hilo as hilo_script
import lisa as lisa_script
import structsa as structsa_script
import train
from _golden import attention, join_heads, planes, split_heads, tokens

GRID, PATCHES, PIXELS, HIDDEN, C = (2, 2), 4, 49, 128, 64
HEADS, COMPONENTS, BOXES, GATE = 4, 128, 4, 16
SEED, PASSES, BATCH, RATE = 1, 4, 256, 3e-3


# ---- the layers: what they begin with, and y of x [B, 4, C] ----

def linear(draw, name, outputs, inputs, bias):
    return {name: draw(outputs, inputs), bias: draw(outputs, scale=0)}


def projections(draw):
    return {**linear(draw, "w_qkv", 3 * C, C, "b_qkv"), **linear(draw, "w_o", C, C, "b_o")}


def lisa_start(draw):
    c, d = C // HEADS, 8
    return {**projections(draw), "wa": draw(PATCHES, c, d, scale=0.5), "wb": draw(PATCHES, d, scale=0.5),
            "ba": draw(c, d, scale=c ** -0.5), "bb": draw(c, d, scale=c ** -0.5)}


def structsa_start(draw):
    return {**projections(draw), "hk": draw(8, 9, C, scale=1 / 3), "hv": draw(8, 9, C, scale=1 / 3)}


ELSA = dict(_learned.ELSA_CASE, grid=GRID, kernel=3, heads=HEADS, C=C, Q=C, scale=C ** -0.5)


def elsa_start(draw):
    return {**projections(draw), "rk": draw(C, HEADS, 9, scale=1), "rq": draw(C, HEADS, 9, scale=1),
            "rb": draw(HEADS, 9, scale=0.02), "ghost_mul": 1 + draw(C, 9, scale=0.1),
            "ghost_add": draw(C, 9, scale=0.02)}


HILO = {**hilo_script.DEFAULT, "grid": GRID, "C": C, "heads": HEADS}


def hilo_start(draw):
    return {name: draw(*shape, scale=0 if name.endswith("_b") else None)
            for name, shape, _ in hilo_script.rows(HILO)[1:]}


def chopd(t, x):
    """Without a gate if it has no phi."""
    image = planes(x, GRID)
    pooled = _learned.box_means(F.conv2d(image, t["u4"].t()[:, :, None, None]), t["boxes"], t["mix"], GRID)
    if "phi_w1" in t:
        pooled = pooled * chopd_script.phi(t, image, GRID, 2)
    return F.gelu(F.linear(tokens(pooled), t["u5"], t["b"]))


def chopd_start(draw):
    middle, side = draw.uniform(COMPONENTS, BOXES, 2), 1.5 + draw.uniform(COMPONENTS, BOXES, 2)
    return {"u4": draw(C, COMPONENTS, scale=C ** -0.5),
            "boxes": torch.cat([middle - side / 2, middle + side / 2], dim=-1), "mix": draw(COMPONENTS, BOXES),
            "phi_w1": draw(GATE, C, 3, 3, scale=(4 * C) ** -0.5), "phi_b1": draw(GATE, scale=0),
            **linear(draw, "phi_w2", COMPONENTS, GATE, "phi_b2"), **linear(draw, "u5", C, COMPONENTS, "b")}


def without_gate(draw):
    return {name: tensor for name, tensor in chopd_start(draw).items() if not name.startswith("phi")}


def convolution(groups):
    """The starting parameters of a convolution, and the function that computes y."""
    inputs = C // groups
    return (lambda draw: {"w": draw(C, inputs, 3, 3, scale=(4 * inputs) ** -0.5), "b": draw(C, scale=0)},
            lambda t, x: tokens(F.conv2d(planes(x, GRID), t["w"], t["b"], padding=1, groups=groups)))


LAYERS = {
    "none": (lambda draw: {}, lambda t, x: x),
    "linear": (lambda draw: linear(draw, "w", C, C, "b"), lambda t, x: F.linear(x, t["w"], t["b"])),
    "pooling": (lambda draw: {}, lambda t, x: tokens(F.avg_pool2d(planes(x, GRID), 3, 1, 1))),
    "depthwise": convolution(C),
    "convolution": convolution(1),
    "fc": (lambda draw: linear(draw, "w", PATCHES * C, PATCHES * C, "b"),
           lambda t, x: F.linear(x.flatten(1), t["w"], t["b"]).reshape(x.shape)),
    "chopd-ungated": (without_gate, chopd),
    "chopd": (chopd_start, chopd),
    "msa": (projections, lambda t, x: join_heads(t, attention(*split_heads(t, x, HEADS)))),
    "lisa": (lisa_start, lambda t, x: lisa_script.lisa({**t, "x": x}, 10, GRID, HEADS)),
    "structsa": (structsa_start, lambda t, x: structsa_script.structsa({**t, "x": x}, GRID, (3, 3), (3, 3), (1, 1), 16,
                                                                       (C // HEADS) ** -0.5, HEADS)),
    "elsa": (elsa_start, lambda t, x: elsa_script.elsa({**t, "x": x}, ELSA)),
    "hilo": (hilo_start, lambda t, x: hilo_script.hilo({**t, "x": x}, HILO)),
}


# ---- the puzzle ----

def cut(images):
    """[B, 28, 28] -> [B, 4, 49]"""
    return F.avg_pool2d(images, 2).unfold(1, 7, 7).unfold(2, 7, 7).reshape(-1, PATCHES, PIXELS)


def shuffle(patches, generator):
    order = torch.rand(patches.shape[:2], generator=generator).argsort(1)
    return patches.gather(1, order[:, :, None].expand_as(patches))


def network(w, layer, x):
    x = F.linear(F.gelu(F.linear(x, w["in_1"], w["in_1b"])), w["in_2"], w["in_2b"]) + w["position"]
    x = layer(w, F.layer_norm(x, (C,)))
    return F.linear(F.gelu(F.linear(x, w["out_1"], w["out_1b"])), w["out_2"], w["out_2b"])


def scores(outputs, patches):
    """Error, PSNR, places."""
    error = float((outputs - patches).square().mean()) ** 0.5
    apart = torch.cdist(outputs, patches)
    right = float((apart.argmin(2) == torch.arange(PATCHES)).float().mean())
    return error, -20 * torch.log10(torch.tensor(error)).item(), right


def learn(name, patches, generator, shuffled=True):
    start, layer = LAYERS[name]
    draw = _learned.Draw(SEED)
    own = start(draw)
    w = {**linear(draw, "in_1", HIDDEN, PIXELS, "in_1b"), **linear(draw, "in_2", C, HIDDEN, "in_2b"),
         "position": draw(PATCHES, C, scale=0.5), **linear(draw, "out_1", HIDDEN, C, "out_1b"),
         **linear(draw, "out_2", PIXELS, HIDDEN, "out_2b"), **own}
    sizes = [sum(a.numel() for a in tensors.values()) for tensors in (own, w)]
    w = {key: a.requires_grad_() for key, a in w.items()}
    steps = PASSES * (len(patches) // BATCH)
    adam = torch.optim.Adam(w.values(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, RATE, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        if step % (steps // PASSES) == 0:
            order = torch.randperm(len(patches), generator=generator)
        right = patches[order[step % (steps // PASSES) * BATCH:][:BATCH]]
        loss = (network(w, layer, shuffle(right, generator) if shuffled else right) - right).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        schedule.step()
        if "boxes" in w:
            boxes = w["boxes"].data
            middle, half = (boxes[..., :2] + boxes[..., 2:]) / 2, (boxes[..., 2:] - boxes[..., :2]) / 2
            half = half.clamp(min=0.25)
            boxes[:] = torch.cat([middle - half, middle + half], dim=-1)
    return lambda x: network(w, layer, x).detach(), sizes


def best_static(patches, tested):
    """Least squares from the sum of an image's patches, pixel by pixel of a place from all pixels of the sum."""
    def sums(a):
        return torch.cat([a.sum(1), torch.ones(len(a), 1)], dim=1).double()

    seen, wanted = sums(patches), patches.flatten(1).double()
    fitted = torch.linalg.solve(seen.t() @ seen + 1e-6 * torch.eye(PIXELS + 1), seen.t() @ wanted)
    return (sums(tested) @ fitted).float().reshape(tested.shape)


def main():
    torch.set_num_threads(1)
    patches, tested = (cut(train.read(part)[0].float()) for part in ("train", "t10k"))
    mixed = shuffle(tested, torch.Generator().manual_seed(SEED + 1))
    print(f"# networks-puzzle: {PASSES} passes, batches of {BATCH}, {C} channels, PyTorch {torch.__version__}")
    print("#layer\tparameters\tall\terror\tpsnr\tplaces\tseconds")

    def show(name, own, whole, outputs, seconds):
        print(name, own, whole, "%.4f\t%.2f\t%.4f" % scores(outputs, tested), f"{seconds:.0f}", sep="\t", flush=True)

    if not sys.argv[1:]:
        show("shuffled", 0, 0, mixed, 0)
        show("mean", 0, 0, patches.mean(0).expand_as(tested), 0)
        show("best-static", 0, 0, best_static(patches, mixed), 0)
    for name in sys.argv[1:] or ["ordered", *LAYERS]:
        begin = time.process_time()
        ordered = name == "ordered"
        generator = torch.Generator().manual_seed(SEED)
        run, (own, whole) = learn("none" if ordered else name, patches, generator, not ordered)
        show(name, own, whole, run(tested if ordered else mixed), time.process_time() - begin)


if __name__ == "__main__":
    main()
