"""HiLo ("Fast Vision Transformers with HiLo Attention"), literally (Sec. 4.1, App. A.4) and as timed.

See _golden.py."""

import math

import torch
import torch.nn.functional as F

from _golden import LIBRARY, attention, axes, cut, glue, heads_of, inputs, rows_of, with_attentions, write


def linear(t, name, rows):
    return t[name](rows) if callable(t[name]) else F.linear(rows, t[name], t.get(name + "_b"))


def high(t, plane, s, count, attend):
    """[B, H, W, C] -> [B, H, W, hd], in windows."""
    q, k, v = (heads_of(p, count) for p in linear(t, "h_qkv", cut(plane, s)).chunk(3, dim=-1))
    return glue(linear(t, "h_proj", rows_of(attend(q, k, v))), plane.shape[1:3], s)


def low(t, plane, s, count, pooled_queries, attend):
    """[B, H, W, C] -> [B, H, W, ld]"""
    means = plane if s == 1 else F.avg_pool2d(plane.permute(0, 3, 1, 2), s).permute(0, 2, 3, 1)
    asking = means if pooled_queries else plane
    q = heads_of(linear(t, "l_q", asking.flatten(1, 2)), count)
    k, v = (heads_of(p, count) for p in linear(t, "l_kv", means.flatten(1, 2)).chunk(2, dim=-1))
    answers = linear(t, "l_proj", rows_of(attend(q, k, v))).unflatten(1, asking.shape[1:3])
    if pooled_queries:
        answers = F.interpolate(answers.permute(0, 3, 1, 2), plane.shape[1:3], mode="bilinear", align_corners=False)
        answers = answers.permute(0, 2, 3, 1)
    return answers


def shares(case):
    """The numbers of heads of Hi-Fi and Lo-Fi."""
    far = case["heads"] if case["window"] == 1 else math.floor(case["alpha"] * case["heads"])
    return case["heads"] - far, far


def hilo(t, case, attend=attention):
    (height, width), s = case["grid"], case["window"]
    near, far = shares(case)
    plane = t["x"].unflatten(1, (height, width))
    if height % s or width % s:
        plane = F.pad(plane, (0, 0, 0, -width % s, 0, -height % s))
    parts = [high(t, plane, s, near, attend)] if near else []
    parts += [low(t, plane, s, far, case["pooled"], attend)] if far else []
    return torch.cat(parts, dim=-1)[:, :height, :width].flatten(1, 2)


PLAIN = dict(grid=(14, 14), C=768, options={"heads": 12, "window": 2, "alpha": 0.9},
             without="h_qkv_b,h_proj_b,l_q_b,l_kv_b,l_proj_b")
TIMED = {"hilo": PLAIN, "hilo-64": dict(PLAIN, batch=64)}


def as_golden(case):
    return {**DEFAULT, **case, **case["options"], "biases": ()}


def timed_inputs(case, draw):
    return draw(rows(as_golden(case)))


def exponentials(case):
    (near, far), N, taps = shares(case["options"]), math.prod(case["grid"]), case["options"]["window"] ** 2
    return (near * taps + far * N // taps) * N


def merged(t, x, case, attend, first):
    """h_qkv and l_q are one projection; windows use sums instead of products of matrices; means add slices."""
    (near, far), s, heads = shares(case), case["window"], case["heads"]
    (height, width), c = case["grid"], case["C"] // heads
    hd, split = near * c, (-1, height // s, s, width // s, s)
    both = F.linear(x, first)
    windows = both[..., :3 * hd].reshape(*split, 3, near, c)
    q, k, v = windows.permute(5, 0, 1, 3, 6, 2, 4, 7).reshape(3, -1, s * s, c)
    scores = torch.stack([(q * k[:, j:j + 1]).sum(-1) for j in range(s * s)], -1)
    weights = (scores * c ** -0.5).softmax(-1)
    y = sum(weights[..., j:j + 1] * v[:, j:j + 1] for j in range(s * s))
    y = y.reshape(-1, height // s, width // s, near, s, s, c).permute(0, 1, 4, 2, 5, 3, 6)
    y = F.linear(y.reshape(-1, height * width, hd), t["h_proj"])
    plane = x.reshape(*split, x.shape[-1])
    means = sum(plane[:, :, dy, :, dx] for dy in range(s) for dx in range(s)) / (s * s)
    k, v = (heads_of(p, far) for p in F.linear(means.flatten(1, 2), t["l_kv"]).chunk(2, dim=-1))
    answers = rows_of(attend(heads_of(both[..., 3 * hd:], far), k, v))
    return torch.cat([y, F.linear(answers, t["l_proj"])], -1)


def packed(w, rows):
    """A function that multiplies about this many rows by w, repacked now.  torch.compile rejects it."""
    ready = torch.ops.mkldnn._reorder_linear_weight(w, rows)
    return lambda x: torch.ops.mkldnn._linear_pointwise(x, ready, None, "none", [], "")


def timed(case, t):
    case, first = as_golden(case), torch.cat([t["h_qkv"], t["l_q"]]).contiguous()
    ways = {"literal": lambda x: hilo({**t, "x": x}, case),
            **with_attentions(lambda attend: {"merged": lambda x: merged(t, x, case, attend, first)})}
    if hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):
        ready = {name: packed(w, t["x"][..., 0].numel()) for name, w in t.items() if w.dim() == 2}
        ways["packed, library's attention"] = lambda x: hilo({**ready, "x": x}, case, LIBRARY)
    return ways


def rows(case):
    C, (near, far) = case["C"], shares(case)
    hd, ld = (count * C // case["heads"] for count in (near, far))
    found = [("x", (case["batch"], case["grid"][0] * case["grid"][1], C), 1)]
    for name, out, fan in [("h_qkv", 3 * hd, C), ("h_proj", hd, hd), ("l_q", ld, C), ("l_kv", 2 * ld, C),
                           ("l_proj", ld, ld)]:
        if out:
            found += [(name, (out, fan), fan)]
            found += [(name + "_b", (out,), fan)] if name in case["biases"] else []
    return found


ALL = ("h_qkv", "h_proj", "l_q", "l_kv", "l_proj")
DEFAULT = {"window": 2, "alpha": 0.5, "batch": 1, "pooled": False, "biases": ALL}
CASES = {
    "both": dict(grid=(4, 6), C=8, heads=2, batch=2),
    "paper": dict(grid=(14, 14), C=10, heads=10, alpha=0.9, biases=("h_proj", "l_proj")),
    "padded": dict(grid=(5, 7), C=9, heads=3, window=3, alpha=0.7),
    "padded_bare": dict(grid=(3, 5), C=6, heads=2, window=4, batch=2, biases=()),
    "high": dict(grid=(5, 4), C=6, heads=3, alpha=0, biases=("h_qkv",)),
    "low": dict(grid=(4, 6), C=6, heads=2, alpha=1, biases=("l_kv", "l_proj")),
    "plain": dict(grid=(3, 4), C=6, heads=3, window=1, alpha=0),
    "pooled_queries": dict(grid=(6, 8), C=6, heads=3, alpha=0.7, pooled=True),
    "pooled_padded": dict(grid=(7, 5), C=6, heads=3, window=3, pooled=True, batch=2),
}


def main():
    for seed, (name, given) in enumerate(CASES.items(), 1):
        case = {**DEFAULT, **given}
        tensors = inputs(seed, rows(case))
        tensors["y_expected"] = hilo(tensors, case)
        options = f"--grid {axes(case['grid'])} --heads {case['heads']} --window {case['window']}"
        options += f" --alpha {case['alpha']}"
        write("hilo", name, tensors, options + (" --pooled-queries" if case["pooled"] else ""))


if __name__ == "__main__":
    main()
