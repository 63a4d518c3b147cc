"""Spatial-reduction attention (Wang et al., ICCV 2021, Sec. 3.3), literally and as timed; see _golden.py."""

import torch.nn.functional as F

from _golden import cut, scaled_queries, heads_of, inputs, join_heads, planes, tokens, with_attentions, write


def reduced(t, x, grid, reduction):
    """[B, M, C]: a convolution with stride equal to its size."""
    return tokens(F.conv2d(planes(x, grid), t["sr_w"], t.get("sr_b"), stride=reduction))


def sra(t, x, grid, reduction, heads, attend=scaled_queries, reduce=reduced):
    short = x
    if reduction > 1:
        short = reduce(t, x, grid, reduction)
        short = F.layer_norm(short, short.shape[-1:], t["norm_g"], t["norm_b"], eps=1e-5)
    q = heads_of(F.linear(x, t["w_q"], t.get("b_q")), heads)
    k, v = (heads_of(p, heads) for p in F.linear(short, t["w_kv"], t.get("b_kv")).chunk(2, dim=-1))
    return join_heads(t, attend(q, k, v))


TIMED = {"layer-sra": dict(grid=(14, 14), C=768, options={"heads": 12, "reduction": 2}, without="b_q,b_kv,sr_b,b_o")}


def timed_inputs(case, draw):
    without = case["without"].split(",")
    return draw([row for row in rows({**DEFAULT, **case, **case["options"]}) if row[0] not in without])


def timed(case, t):
    s, kernels = case["options"]["reduction"], t["sr_w"].permute(0, 2, 3, 1).flatten(1).contiguous()

    def patches(t, x, grid, reduction):         # the convolution as one matrix product
        return F.linear(cut(x.unflatten(1, grid), s).reshape(len(x), -1, kernels.shape[1]), kernels)

    def way(attend, reduce):
        return lambda x: sra(t, x, case["grid"], s, case["options"]["heads"], attend, reduce)

    # literal: as PVT's module
    return with_attentions(lambda attend: {"literal": way(attend, reduced), "patches": way(attend, patches)})


def rows(case):
    s, C = case["reduction"], case["C"]
    found = [("x", (case["batch"], case["grid"][0] * case["grid"][1], C), 1), ("w_q", (C, C), C), ("b_q", (C,), C)]
    if s > 1:
        found += [("sr_w", (C, C, s, s), C * s * s), ("sr_b", (C,), C), ("norm_g", (C,), 1), ("norm_b", (C,), C)]
    found += [("w_kv", (2 * C, C), C), ("b_kv", (2 * C,), C), ("w_o", (C, C), C), ("b_o", (C,), C)]
    return found


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
        tensors = {name: value for name, value in inputs(seed, rows(case)).items() if name not in case["without"]}
        attend = scaled_queries if case["scale"] is None else \
            lambda q, k, v: (case["scale"] * q @ k.transpose(2, 3)).softmax(-1) @ v
        tensors["y_expected"] = sra(tensors, tensors["x"], case["grid"], case["reduction"], case["heads"], attend)
        options = f"--grid {case['grid'][0]}x{case['grid'][1]} --heads {case['heads']} --reduction {case['reduction']}"
        options += "" if case["scale"] is None else f" --scale {case['scale']}"
        write("sra", name, tensors, options)


if __name__ == "__main__":
    main()
