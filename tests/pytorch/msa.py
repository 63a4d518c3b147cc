"""Golden vectors for self-attention (Vaswani et al. 2017); see _golden.py.

Windows and their shift are those of Liu et al. 2021, the ghost head that of Zhou et al. 2021, App. C.  In the cases
"public" y_expected comes from a table as Swin's public code stores it, and rpe is this table as rename.py converts
it.
"""

import math

import torch

from _golden import around, axes, drawn, inputs, join_heads, split_heads, write
from lisa import toeplitz


def scores(t, q, k, grid):
    """[B, h, N, N], with the bias of each offset."""
    logits = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if "rpe" in t:
        logits = logits + toeplitz(t["rpe"].expand(-1, q.shape[1]), grid).permute(2, 0, 1)
    return logits


def of_windows(table, grid, edge):
    """Convert Swin's table of a window [(2s-1)^2, h], by query minus key, to a table of the plane, by key minus query.

    It is reversed along both axes.  Windows do not read the zeros around it."""
    inner, (rows, columns) = 2 * edge - 1, grid
    whole = table.new_zeros(2 * rows - 1, 2 * columns - 1, table.shape[-1])
    whole[rows - edge:rows + edge - 1, columns - edge:columns + edge - 1] = \
        table.reshape(inner, inner, -1).flip((0, 1))
    return whole.flatten(0, 1)


def public_windows(table, q, k, v, grid, edge, shift):
    """Swin's windows pair by pair: query minus key in the window gives the entry; masks are -100, as in its code."""
    rows, columns = grid
    y = torch.zeros_like(v)
    place = [(r, c) for r in range(rows) for c in range(columns)]
    moved = {(r, c): ((r - shift) % rows, (c - shift) % columns) for r, c in place}     # after the roll
    window = {at: (moved[at][0] // edge, moved[at][1] // edge) for at in place}
    part = {at: tuple((m >= n - edge) + (m >= n - shift) for m, n in zip(moved[at], grid)) for at in place}
    for i, query in enumerate(place):
        keys = [j for j, key in enumerate(place) if window[key] == window[query]]
        entries, masks = [], []
        for key in (place[j] for j in keys):
            down, across = (moved[query][axis] % edge - moved[key][axis] % edge + edge - 1 for axis in (0, 1))
            entries.append(down * (2 * edge - 1) + across)
            masks.append(-100. if shift and part[key] != part[query] else 0.)
        logits = (q[:, :, i, None] * k[:, :, keys]).sum(-1) / q.shape[-1] ** 0.5
        weights = (logits + table[entries].T + torch.tensor(masks, dtype=table.dtype)).softmax(-1)
        y[:, :, i] = (weights[..., None] * v[:, :, keys]).sum(2)
    return y


def plain(t, q, k, v, grid):
    return scores(t, q, k, grid).softmax(-1) @ v


def ghosted(t, q, k, v, grid, power, gamma, by_block):
    """Weights of heads become weights of channels, [B, C, N, N]."""
    heads, c = q.shape[1], q.shape[-1]
    channels = heads * c
    weights = scores(t, q, k, grid).softmax(-1)
    of = [ch // c if by_block else ch % heads for ch in range(channels)]
    weights = weights[:, of]
    if "ghost_mul" in t:
        weights = weights * toeplitz(t["ghost_mul"].T, grid).permute(2, 0, 1) ** power
    weights = weights + gamma * toeplitz(t["ghost_add"].T, grid).permute(2, 0, 1)
    values = v.transpose(1, 2).flatten(2).transpose(1, 2)              # [B, C, N]
    y = torch.einsum("bcij,bcj->bci", weights, values)
    return y.reshape(-1, heads, c, y.shape[-1]).transpose(2, 3)


def in_windows(t, q, k, v, grid, edge, shift):
    """Roll the plane, cut it into windows, roll it back.  Pairs across a seam have a score of -inf."""
    rows, columns = grid
    batch, heads, _, c = q.shape

    def cut(a):
        a = a.reshape(batch, heads, rows // edge, edge, columns // edge, edge, -1)
        return a.permute(0, 1, 2, 4, 3, 5, 6).reshape(batch, heads, -1, edge * edge, a.shape[-1])

    def rolled(a):
        return cut(a.reshape(batch, heads, rows, columns, -1).roll((-shift, -shift), (2, 3)))

    # The last `shift` rows and columns of the plane are regions of their own.
    side = torch.zeros(rows, columns, dtype=torch.long)
    if shift:
        side[rows - shift:, :] += 1
        side[:, columns - shift:] += 2
    side = cut(side.expand(batch, heads, rows, columns)[..., None])[..., 0]
    apart = side[..., :, None] != side[..., None, :]

    logits = rolled(q) @ rolled(k).transpose(-1, -2) / c ** 0.5
    if "rpe" in t:                  # the middle of the plane's table is the table of a window
        table = t["rpe"].reshape(2 * rows - 1, 2 * columns - 1, -1)
        middle = table[rows - edge:rows + edge - 1, columns - edge:columns + edge - 1].flatten(0, 1)
        bias = toeplitz(middle.expand(-1, heads), (edge, edge)).permute(2, 0, 1)
        logits = logits + bias[None, :, None]
    y = logits.masked_fill(apart, -torch.inf).softmax(-1) @ rolled(v)
    y = y.reshape(batch, heads, rows // edge, columns // edge, edge, edge, c).permute(0, 1, 2, 4, 3, 5, 6)
    return y.reshape(batch, heads, rows, columns, c).roll((shift, shift), (2, 3)).flatten(2, 3)


#        name             grid       heads batch c  columns of rpe, how
CASES = [("plain_line",    (7,),      2, 2, 3, 1, "plain", {}),
         ("plain_block",   (2, 3, 2), 2, 1, 4, 2, "plain", {}),
         ("windows",       (6, 4),    2, 2, 4, 2, "windows", {"window": 2}),
         ("shifted",       (6, 9),    2, 2, 4, 2, "windows", {"window": 3, "shift": 1}),
         ("shifted_wide",  (5, 10),   3, 1, 2, 1, "windows", {"window": 5, "shift": 3}),
         ("shifted_whole", (4, 4),    1, 1, 5, 0, "windows", {"window": 4, "shift": 2}),
         ("shifted_swin",  (14, 14),  2, 1, 4, 2, "windows", {"window": 7, "shift": 3}),
         ("ghost",         (4, 3),    2, 2, 3, 2, "ghost", {"lambda": 1, "gamma": 1}),
         ("ghost_line",    (6,),      3, 1, 2, 1, "ghost", {"lambda": 2, "gamma": -0.5, "head-map": "block"}),
         ("ghost_added",   (3, 4),    2, 1, 4, 0, "ghost", {"lambda": 0, "gamma": 0.25}),
         ("shifted_rows",  (9, 6),    2, 1, 2, 2, "windows", {"window": 3, "shift": 1})]
PUBLIC = [("public",        (4, 4),   2, 2, 4, 2, "public", {"window": 2}),
          ("public_shift",  (6, 9),   2, 1, 4, 2, "public", {"window": 3, "shift": 1})]


def msa_inputs(seed, grid, heads, batch, c, columns, how, options):
    tokens, table, C = math.prod(grid), math.prod(2 * n - 1 for n in grid), heads * c
    own = [("rpe", (table, columns), 1)] if columns else []
    if how == "ghost":
        own += [("ghost_add", (C, table), tokens)] + [("ghost_mul", (C, table), 1)] * bool(options["lambda"])
    return inputs(seed, around(tokens, C, own, batch=batch))


def main():
    cases = [*enumerate(CASES, 71), *enumerate(PUBLIC, 171)]
    for seed, (name, grid, heads, batch, c, columns, how, options) in cases:
        tensors = msa_inputs(seed, grid, heads, batch, c, columns, how, options)
        q, k, v = split_heads(tensors, tensors["x"], heads)
        if how == "public":
            edge = options["window"]
            public = drawn(1000 * seed + 999, ((2 * edge - 1) ** 2, heads), 1)
            tensors["rpe"] = of_windows(public, grid, edge)
            y = public_windows(public, q, k, v, grid, edge, options.get("shift", 0))
        elif how == "plain":
            y = plain(tensors, q, k, v, grid)
        elif how == "windows":
            y = in_windows(tensors, q, k, v, grid, options["window"], options.get("shift", 0))
        else:
            y = ghosted(tensors, q, k, v, grid, options["lambda"], options["gamma"], options.get("head-map") == "block")
        tensors["y_expected"] = join_heads(tensors, y)
        words = "".join(f" --{option} {value}" for option, value in options.items())
        write("msa", name, tensors, f"--grid {axes(grid)} --heads {heads}{words}")


if __name__ == "__main__":
    main()
