"""LiSA ("Lightweight Structure-Aware Attention"), literally (Fig. 6 and 7) and as timed; see _golden.py."""

import math

import torch
import torch.nn.functional as F

from _golden import around, axes, inputs, join_heads, split_heads, write


# ---- literal form: both figures ----

def offsets(grid):
    """[N, N]: the index of query i and key j in the table of a grid."""
    at_axes = torch.meshgrid(*[torch.arange(n) for n in grid], indexing="ij")
    place = torch.zeros(at_axes[0].numel(), at_axes[0].numel(), dtype=torch.long)
    for axis, n in zip(at_axes, grid):
        at = axis.reshape(-1)
        place = place * (2 * n - 1) + (at[None, :] - at[:, None]) + n - 1
    return place


def toeplitz(table, grid):
    """[P, ...] -> [N, N, ...], Eq. 2 on a grid of any number of axes."""
    return table[offsets(grid)]


def unit_heads(t, x, heads):
    """Query, key, value as [B, h, N, c]; query and key of unit length."""
    q, k, v = split_heads(t, x, heads)
    return *(F.normalize(p, dim=-1, eps=1e-12) for p in (q, k)), v


def gather(query, key_side, value_side):
    """The last sums of both figures; key_side and value_side are [B, h, N, c, D]."""
    structure = torch.einsum("bhnc,bhncd->bhnd", query, key_side)
    return torch.einsum("bhnd,bhnkd->bhnk", structure, value_side)


# ---- Fig. 6 ----

def equation_4(t, q, k, v, grid):
    table = t["e"].expand(-1, q.shape[1])                         # [P, h]
    rpe = toeplitz(table, grid).permute(2, 0, 1)                  # [h, N, N]
    return (q @ k.transpose(-1, -2) * rpe) @ v


def equation_5_to_7(t, q, k, v, grid):
    """From Eq. 6 on, the key has a table per channel; ba is optional."""
    tables = toeplitz(t["ea"], grid)
    k_ra = torch.einsum(f"bhmc,nm{'c' * (tables.dim() == 4)}d->bhncd", k, tables)
    rb_v = torch.einsum("nmd,bhmv->bhnvd", toeplitz(t["eb"], grid), v)
    return gather(q, k_ra + t.get("ba", 0.0), rb_v + t["bb"])


# ---- Tab. 3c: Eq. 10 with kernels of a few tokens ----

def local_kernels(t, q, k, v, grid, kernel):
    """Convolutions padded with zeros.  Flips the kernel, since conv1d, conv2d and conv3d do not."""
    batch, heads, tokens, c = q.shape
    convolve = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(grid)]
    ends = tuple(range(-len(grid), 0))

    def convolved(a, filters):
        """[B, h, N, c] by [M, c, D] into [B, h, N, c, D], depth-wise."""
        latent = filters.shape[-1]
        plane = a.transpose(2, 3).reshape(-1, c, *grid)
        weight = filters.permute(1, 2, 0).reshape(c * latent, 1, *kernel).flip(ends)
        out = convolve(plane, weight, padding=tuple(n // 2 for n in kernel), groups=c)
        return out.reshape(batch, heads, c, latent, tokens).permute(0, 1, 4, 2, 3)

    ga = convolved(k, t["wa"])
    gb = convolved(v, t["wb"][:, None, :].expand(-1, c, -1))
    return gather(q, ga + t["ba"], gb + t["bb"])


# ---- Fig. 7, on the axes of the grid ----

def equation_10(t, q, k, v, grid, size=None):
    """Tables have the grid's size or a larger `size`.  irfftn needs it, or would drop a token of an odd last axis."""
    size, middle = size or grid, tuple(range(2, 2 + len(grid)))

    def spectrum(a, grid=grid):
        """[lead, N, ...] -> [lead, 1, bins..., ...]"""
        return torch.fft.rfftn(a.reshape(a.shape[0], 1, *grid, *a.shape[2:]), s=size, dim=middle)

    def tokens(a):
        a = torch.fft.irfftn(a, s=size, dim=middle)[(slice(None),) * 2 + tuple(map(slice, grid))]
        return a.reshape(q.shape[0], q.shape[1], q.shape[2], *a.shape[2 + len(grid):])

    fold = lambda a: a.reshape(-1, *a.shape[2:])                  # merges batch and heads
    wa, wb = spectrum(t["wa"][None], size), spectrum(t["wb"][None], size)
    ga = tokens(spectrum(fold(k))[..., None] * wa)
    gb = tokens(spectrum(fold(v))[..., None] * wb[..., None, :])
    return gather(q, ga + t["ba"], gb + t["bb"])


EQUATIONS = {4: equation_4, 5: equation_5_to_7, 6: equation_5_to_7, 7: equation_5_to_7, 10: equation_10}


def lisa(t, equation, grid, heads, kernel=None):
    q, k, v = unit_heads(t, t["x"], heads)
    if kernel:
        return join_heads(t, local_kernels(t, q, k, v, grid, kernel))
    return join_heads(t, EQUATIONS[equation](t, q, k, v, grid))


# ---- timed forms ----

PLAIN = dict(grid=(56, 56), C=96, sizes={"D": 16}, judge="fftw", without="b_qkv,b_o")
TIMED = {
    "lisa": dict(PLAIN, options={"equation": 10}),
    "lisa-7": dict(PLAIN, options={"equation": 7}),
}


def timed_inputs(case, draw):
    return draw(rows(case["options"]["equation"], case["grid"], 1, 1, case["C"], case["sizes"]["D"], True, False, True))


def transforms(case):
    """The transforms' multiply-adds by the fast form's formula; their true multiply-adds and additions for sides of 56
    = 7 x 8.  A transform of 7 numbers takes 36 and 30, one of 8 takes 8 and 44."""
    C, N, lines = case["C"], math.prod(case["grid"]), sum(case["grid"])
    planes = 2 * C * (1 + case["sizes"]["D"] // 2)
    return planes * 2.5 * N * math.log2(N), planes * lines * (8 * 36 + 7 * 8), planes * lines * (8 * 30 + 7 * 44)


def as_kernel(table, grid):
    """Eq. 7's table of offsets as a kernel of twice the grid, flipped, since Eq. 7 correlates and Eq. 10 convolves."""
    height, width = grid
    table = table.unflatten(0, (2 * height - 1, 2 * width - 1)).flip(0, 1)
    edges = (0, 0) * (table.dim() - 2) + (0, 1, 0, 1)
    return F.pad(table, edges).roll((1 - height, 1 - width), (0, 1)).flatten(0, 1)


def timed(case, t):
    grid, C, D, size = case["grid"], case["C"], case["sizes"]["D"], case["grid"]
    if case["options"]["equation"] == 7:
        size = tuple(2 * n for n in grid)
        t = {**t, "wa": as_kernel(t["ea"], grid), "wb": as_kernel(t["eb"], grid)}
    height, width = grid

    def literal(x):
        return join_heads(t, equation_10(t, *unit_heads(t, x, 1), grid, size))

    def spectra(table):
        """[points, ..., D] -> [D / 2, ..., *size]: two latents are the real and the imaginary part of one."""
        pairs = torch.view_as_complex(table.unflatten(-1, (-1, 2)).contiguous()).unflatten(0, size)
        return torch.fft.fft2(pairs.movedim(-1, 0).movedim((1, 2), (-2, -1)))

    # The last sums weigh all channels of a token equally, so W_o may come first.
    through = torch.cat([t["w_qkv"][:2 * C], t["w_o"] @ t["w_qkv"][2 * C:]])
    wa, wb = spectra(t["wa"]), spectra(t["wb"])
    ba, bb = (bias.unflatten(1, (-1, 2)).transpose(0, 1)[:, :, None, None] for bias in (t["ba"], t["w_o"] @ t["bb"]))

    def paired(x):
        """Channels come first, spectra are precomputed, W_o is in the value's map, two latents share a transform."""
        q, k, v = F.linear(x[0], through).t().reshape(3, C, height, width)
        q, k = F.normalize(q, dim=0), F.normalize(k, dim=0)
        k, v = torch.fft.fft2(k, s=size), torch.fft.fft2(v, s=size)
        two = lambda spectrum: torch.view_as_real(torch.fft.ifft2(spectrum)[:, :height, :width])
        y = torch.zeros(C, height, width)
        for d in range(D // 2):
            a = (q[..., None] * (two(k * wa[d]) + ba[d])).sum(0)
            y = y + (a * (two(v * wb[d]) + bb[d])).sum(-1)
        return y.flatten(1).t()[None]

    return {"literal": literal, "paired": paired}


# ---- golden vectors ----

def rows(equation, grid, heads, batch, c, latent, shared_rpe, biases, projection, kernel=None, with_ba=False):
    tokens, table, taps = math.prod(grid), math.prod(2 * n - 1 for n in grid), math.prod(kernel or grid)
    if equation == 4:
        extra = [("e", (table, 1 if shared_rpe else heads), tokens)]
    elif equation == 10:
        extra = [("wa", (taps, c, latent), taps), ("wb", (taps, latent), taps)]
    else:
        extra = [("ea", (table, latent) if equation == 5 else (table, c, latent), tokens),
               ("eb", (table, latent), tokens)]
    if equation in (7, 10) or with_ba:
        extra += [("ba", (c, latent), c)]
    if equation != 4:
        extra += [("bb", (c, latent), c)]
    return around(tokens, heads * c, extra, biases, projection, batch)


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
        tensors = inputs(seed, rows(equation, grid, heads, *rest))
        tensors["y_expected"] = lisa(tensors, equation, grid, heads, kernel)
        words = f" --kernel {axes(kernel)}" if kernel else ""
        write("lisa", name, tensors, f"--grid {axes(grid)} --equation {equation}{words} --heads {heads}")


if __name__ == "__main__":
    main()
