"""Golden vectors for spatial-reduction attention (Wang et al., ICCV 2021, Sec. 3.3); see _golden.py."""

import torch.nn.functional as F

from _golden import inputs, join_heads, write


def reduced(t, grid, reduction):
    """[B, M, C]: a convolution as wide as its stride, and a layer norm."""
    x = t["x"]
    if reduction == 1:
        return x
    plane = x.transpose(1, 2).reshape(x.shape[0], -1, *grid)
    tokens = F.conv2d(plane, t["sr_w"], t.get("sr_b"), stride=reduction).flatten(2).transpose(1, 2)
    return F.layer_norm(tokens, tokens.shape[-1:], t["norm_g"], t["norm_b"], eps=1e-5)


def sra(t, grid, reduction, heads, scale):
    def split(z):
        return z.reshape(*z.shape[:2], heads, -1).transpose(1, 2)
    q = split(F.linear(t["x"], t["w_q"], t.get("b_q")))
    k, v = map(split, F.linear(reduced(t, grid, reduction), t["w_kv"], t.get("b_kv")).chunk(2, dim=-1))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return join_heads(t, (scale * q @ k.transpose(2, 3)).softmax(-1) @ v)


def rows_of(case):
    s, C = case["reduction"], case["C"]
    rows = [("x", (case["batch"], case["grid"][0] * case["grid"][1], C), 1), ("w_q", (C, C), C), ("b_q", (C,), C)]
    if s > 1:
        rows += [("sr_w", (C, C, s, s), C * s * s), ("sr_b", (C,), C), ("norm_g", (C,), 1), ("norm_b", (C,), C)]
    rows += [("w_kv", (2 * C, C), C), ("b_kv", (2 * C,), C), ("w_o", (C, C), C), ("b_o", (C,), C)]
    return rows


DEFAULT = {"batch": 1, "heads": 1, "scale": None, "without": ()}
CASES = {
    "plane": dict(grid=(4, 6), reduction=2, C=6, heads=2, batch=2),
    "three": dict(grid=(6, 9), reduction=3, C=4, heads=1, scale=-0.75, without=("b_q", "b_kv", "sr_b", "b_o")),
    "patch": dict(grid=(4, 8), reduction=4, C=8, heads=4, without=("w_o", "b_o")),
    "none": dict(grid=(3, 5), reduction=1, C=6, heads=3, batch=2),
    "paper": dict(grid=(14, 14), reduction=2, C=24, heads=12),
}


def main():
    for seed, (name, given) in enumerate(CASES.items(), 1):
        case = {**DEFAULT, **given}
        tensors = {name: value for name, value in inputs(seed, rows_of(case)).items() if name not in case["without"]}
        tensors["y_expected"] = sra(tensors, case["grid"], case["reduction"], case["heads"], case["scale"])
        options = f"--grid {case['grid'][0]}x{case['grid'][1]} --heads {case['heads']} --reduction {case['reduction']}"
        options += "" if case["scale"] is None else f" --scale {case['scale']}"
        write("sra", name, tensors, options)


if __name__ == "__main__":
    main()
