"""Golden vectors for "Fast Vision Transformers with HiLo Attention", Sec. 4.1 and App. A.4; see _golden.py."""

import math

import torch
import torch.nn.functional as F

from _golden import axes, inputs, write


def heads_of(rows, count):
    """[..., n, count c] -> [..., count, n, c]"""
    return rows.unflatten(-1, (count, -1)).transpose(-2, -3)


def attention(q, k, v, count):
    """Rows of all heads in, rows of all heads out."""
    q, k, v = (heads_of(rows, count) for rows in (q, k, v))
    weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), dim=-1)
    return (weights @ v).transpose(-2, -3).flatten(-2)


def linear(t, name, rows):
    return F.linear(rows, t[name], t.get(name + "_b"))


def high(t, plane, s, count):
    """[B, H, W, C] -> [B, H, W, hd]: windows are a second batch axis."""
    batch, height, width, _ = plane.shape
    windows = plane.unflatten(1, (height // s, s)).unflatten(3, (width // s, s)).transpose(2, 3)
    q, k, v = linear(t, "h_qkv", windows.flatten(3, 4)).chunk(3, dim=-1)
    mixed = linear(t, "h_proj", attention(q, k, v, count))
    return mixed.unflatten(3, (s, s)).transpose(2, 3).reshape(batch, height, width, -1)


def low(t, plane, s, count, pooled_queries):
    """[B, H, W, C] -> [B, H, W, ld]"""
    means = F.avg_pool2d(plane.permute(0, 3, 1, 2), s).permute(0, 2, 3, 1)
    asking = means if pooled_queries else plane
    k, v = linear(t, "l_kv", means).flatten(1, 2).chunk(2, dim=-1)
    answers = linear(t, "l_proj", attention(linear(t, "l_q", asking).flatten(1, 2), k, v, count))
    answers = answers.unflatten(1, asking.shape[1:3])
    if pooled_queries:
        answers = F.interpolate(answers.permute(0, 3, 1, 2), plane.shape[1:3], mode="bilinear", align_corners=False)
        answers = answers.permute(0, 2, 3, 1)
    return answers


def shares(case):
    """Heads of Hi-Fi and of Lo-Fi."""
    far = case["heads"] if case["window"] == 1 else math.floor(case["alpha"] * case["heads"])
    return case["heads"] - far, far


def hilo(t, case):
    (height, width), s = case["grid"], case["window"]
    near, far = shares(case)
    plane = t["x"].unflatten(1, (height, width))
    plane = F.pad(plane, (0, 0, 0, -width % s, 0, -height % s))
    parts = [high(t, plane, s, near)] if near else []
    parts += [low(t, plane, s, far, case["pooled"])] if far else []
    return torch.cat(parts, dim=-1)[:, :height, :width].flatten(1, 2)


def hilo_inputs(seed, case):
    C, (near, far) = case["C"], shares(case)
    hd, ld = (count * C // case["heads"] for count in (near, far))
    rows = [("x", (case["batch"], case["grid"][0] * case["grid"][1], C), 1)]
    for name, out, fan in [("h_qkv", 3 * hd, C), ("h_proj", hd, hd), ("l_q", ld, C), ("l_kv", 2 * ld, C),
                           ("l_proj", ld, ld)]:
        if out:
            rows += [(name, (out, fan), fan)]
            rows += [(name + "_b", (out,), fan)] if name in case["biases"] else []
    return inputs(seed, rows)


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
        tensors = hilo_inputs(seed, case)
        tensors["y_expected"] = hilo(tensors, case)
        options = f"--grid {axes(case['grid'])} --heads {case['heads']} --window {case['window']}"
        options += f" --alpha {case['alpha']}"
        write("hilo", name, tensors, options + (" --pooled-queries" if case["pooled"] else ""))


if __name__ == "__main__":
    main()
