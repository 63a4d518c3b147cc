"""Golden vectors for "Learning Correlation Structures for Vision Transformers": Eq. 4, 5 and 16; see _golden.py.

The correlation comes first, as in Eq. 2 and 11.  Windows are slices of a padded map.
"""

import itertools
import math

import torch

from _golden import around, axes, inputs, join_heads, split_heads, write


def windows(rows, grid, kernel, strides):
    """[..., N, c] -> [..., J, M, c]: the tokens around every stride-th one of each axis, zeros off the grid."""
    plane = rows.reshape(*rows.shape[:-2], *grid, rows.shape[-1])
    padding = [0, 0]
    for size in reversed(kernel):
        padding += [size // 2, size // 2]
    plane = torch.nn.functional.pad(plane, padding)
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
    batch, _, tokens, c = q.shape

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


def structsa_inputs(seed, grid, kernel, values, equation, heads, batch, c, patterns, biases, projection):
    tokens, taps, gathered = map(math.prod, (grid, kernel, values))
    C = heads * c
    if equation == 16:
        own = [("hk", (patterns, taps, C), taps * c / 4), ("hv", (patterns, gathered, C), gathered)]
    else:
        own = [("uk", (taps, patterns), taps * c / 4),
               ("uv", (patterns,) if equation == 4 else (gathered, patterns), gathered)]
    return inputs(seed, around(tokens, C, own, biases, projection, batch))


#        name           grid       kernel     stride eq  scale  heads batch c  D  biases projection
# A single stride is that of all axes.  Of two kernels, the first is the window of keys, the second that of values.
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
        tensors = structsa_inputs(seed, grid, kernel, values, equation, heads, *rest)
        tensors["y_expected"] = structsa(tensors, grid, kernel, values, strides, equation, scale, heads)
        text = axes(stride) if isinstance(stride, tuple) else stride
        own = "" if values == kernel else f" --value-kernel {axes(values)}"
        write("structsa", name, tensors, f"--grid {axes(grid)} --kernel {axes(kernel)} --stride {text} "
              f"--equation {equation} --scale {scale} --heads {heads}{own}")


if __name__ == "__main__":
    main()
