"""Golden vectors for LiSA: the pseudo-code of Fig. 6 and 7, told again in PyTorch.

    /usr/bin/python3 tests/pytorch/lisa.py [FOLDER]      (default: tests/golden)

H. Kwon et al., "Lightweight Structure-Aware Attention for Visual Understanding",
2022.  _golden.py says what is in the files.  Needs torch and numpy; nothing of
the C code.
"""

import sys

sys.dont_write_bytecode = True

import numpy
import torch

from _golden import drawn, join_heads, split_heads, write


# ---- what both figures share ----

def offsets(grid):
    """[N, N]: where the table of a grid holds the pair (i, j), i asking for j."""
    axes = torch.meshgrid(*[torch.arange(n) for n in grid], indexing="ij")
    place = torch.zeros(axes[0].numel(), axes[0].numel(), dtype=torch.long)
    for axis, n in zip(axes, grid):
        at = axis.reshape(-1)
        place = place * (2 * n - 1) + (at[None, :] - at[:, None]) + n - 1
    return place


def toeplitz(table, grid):
    """[P, ...] -> [N, N, ...], Eq. 2 on a grid of any number of axes."""
    return table[offsets(grid)]


def unit_heads(t, x, heads):
    """Query, key, value as [B, h, N, c]; query and key of unit length."""
    q, k, v = split_heads(t, x, heads)
    return *(torch.nn.functional.normalize(p, dim=-1, eps=1e-12) for p in (q, k)), v


def gather(query, key_side, value_side):
    """Both sides [B, h, N, c, D] meet the query, as the last einsum of both figures."""
    structure = torch.einsum("bhnc,bhncd->bhnd", query, key_side)
    return torch.einsum("bhnd,bhnkd->bhnk", structure, value_side)


# ---- Fig. 6 ----

def equation_4(t, q, k, v, grid):
    table = t["e"].expand(-1, q.shape[1])                         # [P, h]
    rpe = toeplitz(table, grid).permute(2, 0, 1)                  # [h, N, N]
    return (q @ k.transpose(-1, -2) * rpe) @ v


def equation_5(t, q, k, v, grid):
    k_ra = torch.einsum("bhmc,nmd->bhncd", k, toeplitz(t["ea"], grid))
    rb_v = torch.einsum("nmd,bhmv->bhnvd", toeplitz(t["eb"], grid), v)
    return gather(q, k_ra + t.get("ba", 0.0), rb_v + t["bb"])


def equation_6_or_7(t, q, k, v, grid):
    """Fig. 6 with an RPE for every channel; ba, as in Eq. 5, where it is given."""
    k_ra = torch.einsum("bhmc,nmcd->bhncd", k, toeplitz(t["ea"], grid))
    rb_v = torch.einsum("nmd,bhmv->bhnvd", toeplitz(t["eb"], grid), v)
    return gather(q, k_ra + t.get("ba", 0.0), rb_v + t["bb"])


# ---- Tab. 3c: Eq. 10 with kernels of a few tokens ----

def local_kernels(t, q, k, v, grid, kernel):
    """A convolution turns the kernel round; conv1d, conv2d and conv3d do not, and pad with zeros."""
    batch, heads, tokens, c = q.shape
    convolve = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}[len(grid)]
    axes = tuple(range(-len(grid), 0))

    def convolved(a, filters):
        """[B, h, N, c] by [M, c, D] into [B, h, N, c, D]: filters of each channel apart."""
        latent = filters.shape[-1]
        plane = a.transpose(2, 3).reshape(-1, c, *grid)
        weight = filters.permute(1, 2, 0).reshape(c * latent, 1, *kernel).flip(axes)
        out = convolve(plane, weight, padding=tuple(n // 2 for n in kernel), groups=c)
        return out.reshape(batch, heads, c, latent, tokens).permute(0, 1, 4, 2, 3)

    ga = convolved(k, t["wa"])
    gb = convolved(v, t["wb"][:, None, :].expand(-1, c, -1))
    return gather(q, ga + t["ba"], gb + t["bb"])


# ---- Fig. 7, on the grid's own axes ----

def equation_10(t, q, k, v, grid):
    """The length given to the inverse keeps the last token of odd grids."""
    axes = tuple(range(2, 2 + len(grid)))

    def spectrum(a):
        """Of [lead, N, ...], the grid unfolded; [lead, bins..., ...]."""
        return torch.fft.rfftn(a.reshape(a.shape[0], 1, *grid, *a.shape[2:]), dim=axes)

    def tokens(a):
        a = torch.fft.irfftn(a, s=grid, dim=axes)
        return a.reshape(q.shape[0], q.shape[1], q.shape[2], *a.shape[2 + len(grid):])

    fold = lambda a: a.reshape(-1, *a.shape[2:])                  # batch and heads together
    wa, wb = spectrum(t["wa"][None]), spectrum(t["wb"][None])
    ga = tokens(spectrum(fold(k))[..., None] * wa)
    gb = tokens(spectrum(fold(v))[..., None] * wb[..., None, :])
    return gather(q, ga + t["ba"], gb + t["bb"])


EQUATIONS = {4: equation_4, 5: equation_5, 6: equation_6_or_7, 7: equation_6_or_7, 10: equation_10}


def lisa(t, equation, grid, heads, kernel=None):
    q, k, v = unit_heads(t, t["x"], heads)
    if kernel:
        return join_heads(t, local_kernels(t, q, k, v, grid, kernel))
    return join_heads(t, EQUATIONS[equation](t, q, k, v, grid))


def inputs(seed, equation, grid, heads, batch, c, latent, shared_rpe, biases, projection, kernel=None, with_ba=False):
    tokens = int(numpy.prod(grid))
    table = int(numpy.prod([2 * n - 1 for n in grid]))
    channels = heads * c
    rows = [("x", (batch, tokens, channels), 1), ("w_qkv", (3 * channels, channels), channels)]
    if biases:
        rows += [("b_qkv", (3 * channels,), channels)]
    if equation == 4:
        rows += [("e", (table, 1 if shared_rpe else heads), tokens)]
    elif equation == 10:
        taps = int(numpy.prod(kernel or grid))
        rows += [("wa", (taps, c, latent), taps), ("wb", (taps, latent), taps)]
    else:
        rows += [("ea", (table, latent) if equation == 5 else (table, c, latent), tokens),
                 ("eb", (table, latent), tokens)]
    if equation in (7, 10) or with_ba:
        rows += [("ba", (c, latent), c)]
    if equation != 4:
        rows += [("bb", (c, latent), c)]
    if projection:
        rows += [("w_o", (channels, channels), channels)]
    if projection and biases:
        rows += [("b_o", (channels,), channels)]
    return {name: drawn(1000 * seed + r, shape, fan ** -0.5) for r, (name, shape, fan) in enumerate(rows)}


#        name             equation  grid    heads batch c  D  shared  biases projection
CASES = [("eq4_line",           4, (7,),       2, 2, 3, 0, True,  True,  True),
         ("eq4_plane",          4, (3, 5),     3, 1, 4, 0, False, False, True),
         ("eq5_line",           5, (6,),       1, 2, 5, 3, True,  False, False),
         ("eq5_plane",          5, (4, 3),     2, 1, 4, 2, True,  True,  True),
         ("eq6_plane",          6, (3, 4),     2, 2, 3, 2, True,  False, True),
         ("eq7_line",           7, (9,),       2, 1, 4, 3, True,  True,  True),
         ("eq7_plane",          7, (4, 5),     2, 2, 4, 2, True,  True,  False),
         ("eq7_block",          7, (2, 3, 2),  1, 1, 3, 2, True,  False, True),
         ("eq10_odd_line",     10, (7,),       2, 2, 4, 3, True,  True,  True),
         ("eq10_even_line",    10, (8,),       1, 1, 5, 1, True,  False, False),
         ("eq10_odd_plane",    10, (6, 5),     2, 2, 4, 3, True,  True,  True),
         ("eq10_even_plane",   10, (5, 6),     3, 1, 4, 2, True,  False, True),
         ("eq10_block",        10, (2, 3, 4),  2, 1, 3, 2, True,  True,  False),
         ("eq10_paper",        10, (14, 14),   2, 1, 4, 2, True,  True,  True),
         ("eq10_local_line",   10, (9,),       2, 2, 4, 3, True,  True,  True,  (3,)),
         ("eq10_local_plane",  10, (6, 5),     2, 1, 4, 2, True,  True,  False, (3, 5)),
         ("eq10_local_block",  10, (2, 4, 3),  1, 2, 3, 2, True,  False, True,  (3, 3, 1)),
         ("eq10_local_beyond", 10, (3, 2),     2, 1, 3, 2, True,  True,  True,  (7, 5)),
         ("eq5_bias",           5, (3, 5),     2, 2, 4, 3, True,  True,  True,  None, True)]


def main():
    for seed, (name, equation, grid, heads, *rest) in enumerate(CASES, 1):
        kernel = rest[6] if len(rest) > 6 else None
        tensors = inputs(seed, equation, grid, heads, *rest)
        tensors["y_expected"] = lisa(tensors, equation, grid, heads, kernel)
        words = f" --kernel {'x'.join(map(str, kernel))}" if kernel else ""
        write("lisa", name, tensors, f"--grid {'x'.join(map(str, grid))} --equation {equation}{words} --heads {heads}")


if __name__ == "__main__":
    main()
