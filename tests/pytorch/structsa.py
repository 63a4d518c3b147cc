"""StructSA ("Learning Correlation Structures for Vision Transformers"), literally and as timed; see _golden.py.

The literal form of Eq. 4, 5 and 16 correlates first, as in Eq. 2 and 11; windows are slices of a padded map.  The timed
forms follow Eq. 15: convolutions make a key and a value for each centre and pattern.
"""

import itertools
import math

import torch
import torch.nn.functional as F

from _golden import LIBRARY, around, axes, inputs, join_heads, planes, split_heads, write

# ---- literal form ----


def windows(rows, grid, kernel, strides):
    """[..., N, c] -> [..., J, M, c]: tokens around every stride-th one of each axis; zeros outside the grid."""
    plane = rows.reshape(*rows.shape[:-2], *grid, rows.shape[-1])
    padding = [0, 0]
    for size in reversed(kernel):
        padding += [size // 2, size // 2]
    plane = F.pad(plane, padding)
    taps = []
    for corner in itertools.product(*map(range, kernel)):
        cut = tuple(slice(c, c + n, s) for c, n, s in zip(corner, grid, strides))
        tap = plane[(...,) + cut + (slice(None),)]
        taps.append(tap.reshape(*rows.shape[:-2], -1, rows.shape[-1]))
    assert len(grid) == len(kernel)
    return torch.stack(taps, dim=-2)


def structsa(t, grid, kernel, values, strides, equation, scale, heads):
    q, k, v = split_heads(t, t["x"], heads)
    q = scale * q
    c = q.shape[-1]

    # The map of every query, [B, h, N(i), N(n), 1 or c], and its windows.
    if equation == 16:
        near = windows(q[:, :, :, None] * k[:, :, None], grid, kernel, strides)
        detectors = t["hk"].reshape(*t["hk"].shape[:2], heads, c)
        scores = torch.einsum("bhijmc,dmhc->bhijd", near, detectors)
    else:
        near = windows((q @ k.transpose(2, 3))[..., None], grid, kernel, strides)
        scores = torch.einsum("bhijmx,md->bhijd", near, t["uk"])

    # One softmax over all (j, d) of a query.
    attention = scores.flatten(3).softmax(dim=-1).reshape(scores.shape)

    # Dynamic kernels, applied to windows of the value.
    if equation == 4:
        near = windows(v, grid, [1] * len(grid), strides)[..., 0, :]
        y = torch.einsum("bhij,bhjc->bhic", attention @ t["uv"], near)
    elif equation == 5:
        kernels = torch.einsum("bhijd,md->bhijm", attention, t["uv"])
        y = torch.einsum("bhijm,bhjmc->bhic", kernels, windows(v, grid, values, strides))
    else:
        aggregators = t["hv"].reshape(*t["hv"].shape[:2], heads, c)
        kernels = torch.einsum("bhijd,dmhc->bhijmc", attention, aggregators)
        y = torch.einsum("bhijmc,bhjmc->bhic", kernels, windows(v, grid, values, strides))
    return join_heads(t, y)


# ---- Eq. 15, on planes: one odd kernel for keys and values ----

def filters(h, kernel):
    """[D, M, C] -> [C D, 1, ...kernel]"""
    return h.permute(2, 0, 1).reshape(-1, 1, *kernel)


def virtual(t, x, grid, strides, heads, hk, hv):
    """Unscaled queries [B, h, N, c]; keys and values [B, h, c, D J], convolved with hk and hv."""
    q, k, v = planes(F.linear(x, t["w_qkv"], t.get("b_qkv")), grid).chunk(3, 1)
    padding = tuple(n // 2 for n in hk.shape[2:])
    key, value = (F.conv2d(plane.contiguous(), h, stride=strides, padding=padding, groups=plane.shape[1])
                  for plane, h in ((k, hk), (v, hv)))
    q, key, value = (a.reshape(len(x), heads, q.shape[1] // heads, -1) for a in (q, key, value))
    return q.transpose(2, 3), key, value


def by_convolutions(t, x, grid, kernel, strides, heads, scale):
    q, k, v = virtual(t, x, grid, strides, heads, filters(t["hk"], kernel), filters(t["hv"], kernel))
    return join_heads(t, (scale * q @ k).softmax(-1) @ v.transpose(2, 3))


# ---- timed forms ----

TIMED = {"structsa": dict(grid=(28, 28), C=384, sizes={"D": 8}, options={"kernel": "3x3", "heads": 6}, judge="permuted",
                          without="b_qkv,b_o")}


def timed_inputs(case, draw):
    return draw(rows(case["grid"], (3, 3), (3, 3), 16, 6, 1, case["C"] // 6, case["sizes"]["D"], False, True))


def exponentials(case):
    return case["options"]["heads"] * case["sizes"]["D"] * math.prod(case["grid"]) ** 2


def timed(case, t):
    heads = case["options"]["heads"]
    sizes = case["grid"], (1, 1), heads, filters(t["hk"], (3, 3)), filters(t["hv"], (3, 3))

    def plain(x):
        q, k, v = virtual(t, x, *sizes)
        return join_heads(t, (q @ k).softmax(-1) @ v.transpose(2, 3))

    def library(x):     # PyTorch's attention divides scores by the root of c
        q, k, v = virtual(t, x, *sizes)
        k, v = (a.transpose(2, 3).contiguous() for a in (k, v))
        return join_heads(t, LIBRARY(q * q.shape[-1] ** 0.5, k, v))

    return {"plain": plain, **({"library": library} if LIBRARY else {})}


# ---- golden vectors ----

def rows(grid, kernel, values, equation, heads, batch, c, patterns, biases, projection):
    tokens, taps, gathered = map(math.prod, (grid, kernel, values))
    C = heads * c
    if equation == 16:
        extra = [("hk", (patterns, taps, C), taps * c / 4), ("hv", (patterns, gathered, C), gathered)]
    else:
        extra = [("uk", (taps, patterns), taps * c / 4),
               ("uv", (patterns,) if equation == 4 else (gathered, patterns), gathered)]
    return around(tokens, C, extra, biases, projection, batch)


#        name           grid       kernel     stride eq  scale  heads batch c  D  biases projection
# A single stride holds for all axes.  Of two kernels, the first is for keys, the second for values.
CASES = [("eq4_line",   (9,),      (3,),      1,     4,  1,     2,    2,    3, 3, True,  True),
         ("eq4_plane",  (4, 5),    (3, 3),    1,     4,  0.5,   1,    1,    4, 2, False, False),
         ("eq5_line",   (7,),      (5,),      2,     5,  1,     1,    2,    4, 2, False, True),
         ("eq5_plane",  (5, 6),    (3, 3),    1,     5,  -1.5,  2,    1,    3, 4, True,  False),
         ("eq16_line",  (8,),      (3,),      1,     16, 1,     2,    1,    3, 1, True,  True),
         ("eq16_plane", (5, 4),    (3, 5),    1,     16, 1,     2,    2,    4, 3, True,  True),
         ("eq16_stride", (6, 7),   (3, 3),    2,     16, 2,     3,    1,    2, 4, False, True),
         ("eq16_block", (3, 4, 3), (3, 3, 3), 1,     16, 1,     1,    2,    3, 2, True,  False),
         ("eq16_paper", (14, 14),  (3, 3),    1,     16, 1,     2,    1,    4, 8, True,  True),
         ("eq4_video",  (3, 5, 4), (3, 3, 1), (1, 2, 3), 4, 1,  2,    1,    3, 2, True,  True),
         ("eq5_windows", (5, 6), ((3, 3), (5, 1)), (2, 1), 5, 1, 2,   2,    3, 3, True,  True),
         ("eq16_windows", (6, 5), ((1, 1), (3, 5)), 1, 16, 1,   2,    1,    3, 3, False, True),
         ("eq16_video", (4, 5, 6), ((3, 3, 3), (3, 1, 3)), (1, 2, 2), 16, 1, 2, 1, 3, 2, True, True)]


def main():
    for seed, (name, grid, kernel, stride, equation, scale, heads, *rest) in enumerate(CASES, 1):
        kernel, values = kernel if isinstance(kernel[0], tuple) else (kernel, kernel)
        strides = stride if isinstance(stride, tuple) else (stride,) * len(grid)
        tensors = inputs(seed, rows(grid, kernel, values, equation, heads, *rest))
        tensors["y_expected"] = structsa(tensors, grid, kernel, values, strides, equation, scale, heads)
        text = axes(stride) if isinstance(stride, tuple) else stride
        extra = "" if values == kernel else f" --value-kernel {axes(values)}"
        write("structsa", name, tensors, f"--grid {axes(grid)} --kernel {axes(kernel)} --stride {text} "
              f"--equation {equation} --scale {scale} --heads {heads}{extra}")


if __name__ == "__main__":
    main()
