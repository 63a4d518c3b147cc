"""Self-attention (Vaswani et al. 2017), literally and as timed; see _golden.py.

Windows and their shift: Liu et al. 2021; the ghost head: Zhou et al. 2021, App. C.  In the cases "public" y_expected
comes from a table as Swin's public code stores it, and rpe is this table in reverse, as in rename.py.
"""

import math

import torch

from _golden import around, attention, axes, cut, glue, inputs, join_heads, random_numbers, split_heads
from _golden import with_attentions, write
from lisa import toeplitz

# ---- literal form -------------------------------------------------------------


def bias(t, grid, heads, window=None, shift=0):
    """[1 or windows, 1 or h, M, M]: the table's entry for each offset, and -inf across a seam; None without both."""
    parts = []
    if "rpe" in t:
        table, near = t["rpe"].expand(-1, heads), grid
        if window:                      # the table of a window, or the middle of the plane's
            near = (window, window)
            if len(table) != (2 * window - 1) ** 2:
                rows, columns = (slice(n - window, n + window - 1) for n in grid)
                table = table.unflatten(0, [2 * n - 1 for n in grid])[rows, columns].flatten(0, 1)
        parts.append(toeplitz(table, near).permute(2, 0, 1)[None])
    if shift:                           # the last rows and columns of the rolled plane are separate regions
        late = [(torch.arange(n) >= n - shift).long() for n in grid]
        side = cut((late[0][:, None] + 2 * late[1])[None, :, :, None], window)
        parts.append(torch.zeros(()).masked_fill(side != side.transpose(1, 2), -torch.inf)[:, None])
    return sum(parts[1:], parts[0]) if parts else None


def msa(t, x, grid, heads, window=None, shift=0, attend=attention, ready=None):
    """All tokens attend to all, or within windows of a rolled plane; `ready` is a precomputed bias."""
    added = bias(t, grid, heads, window, shift) if ready is None else ready
    if not window:
        return join_heads(t, attend(*split_heads(t, x, heads), added))
    if added is not None and len(added) > 1:
        added = added.repeat(len(x), 1, 1, 1)
    plane = rolled(x.unflatten(1, grid), -shift)
    y = join_heads(t, attend(*split_heads(t, cut(plane, window), heads), added))
    return rolled(glue(y, grid, window), shift).flatten(1, 2)


def rolled(plane, by):
    return plane.roll((by, by), (1, 2)) if by else plane


def ghosted(t, x, grid, heads, power, gamma, by_block):
    """The heads' weights become channels' weights, [B, C, N, N], by the ghost head."""
    q, k, v = split_heads(t, x, heads)
    c = q.shape[-1]
    logits = q @ k.transpose(-1, -2) / c ** 0.5
    added = bias(t, grid, heads)
    weights = (logits if added is None else logits + added).softmax(-1)
    weights = weights[:, [ch // c if by_block else ch % heads for ch in range(heads * c)]]
    if "ghost_mul" in t:
        weights = weights * toeplitz(t["ghost_mul"].T, grid).permute(2, 0, 1) ** power
    weights = weights + gamma * toeplitz(t["ghost_add"].T, grid).permute(2, 0, 1)
    values = v.transpose(1, 2).flatten(2).transpose(1, 2)              # [B, C, N]
    y = torch.einsum("bcij,bcj->bci", weights, values)
    return join_heads(t, y.reshape(-1, heads, c, y.shape[-1]).transpose(2, 3))


# ---- Swin's public tables -------------------------------------------------------


def public_windows(t, x, table, grid, heads, edge, shift):
    """Swin's windows pair by pair, with entries by query minus key and masks of -100, as in its code."""
    q, k, v = split_heads(t, x, heads)
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
    return join_heads(t, y)


# ---- timed forms ----------------------------------------------------------------

PLAIN = dict(C=64, grid=(56, 56), options={}, without="b_qkv,b_o,rpe")
LAYER = dict(PLAIN, C=768, grid=(14, 14), options={"heads": 12})       # rows of HiLo's Tab. 10
TIMED = {
    "msa": PLAIN,
    "msa-96": dict(PLAIN, C=96),
    "window": dict(PLAIN, C=96, options={"heads": 3, "window": 7}, beside=["elsa"]),
    "layer-msa": LAYER,
    "layer-window": dict(LAYER, options={"heads": 12, "window": 7}),
}


def timed_inputs(case, draw):
    return draw(around(math.prod(case["grid"]), case["C"], [], biases=False))


def exponentials(case):
    return case["options"].get("heads", 1) * math.prod(case["grid"]) ** 2


def timed(case, t):
    options = {"heads": 1, **case["options"]}
    return with_attentions(lambda attend: {"plain": lambda x: msa(t, x, case["grid"], **options, attend=attend)})


# ---- golden vectors -------------------------------------------------------------

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


def rows(grid, heads, batch, c, columns, how, options):
    tokens, C = math.prod(grid), heads * c
    table = (2 * options["window"] - 1) ** 2 if how == "public" else math.prod(2 * n - 1 for n in grid)
    extra = [("rpe", (table, columns), 1)] if columns else []
    if how == "ghost":
        extra += [("ghost_add", (C, table), tokens)] + [("ghost_mul", (C, table), 1)] * bool(options["lambda"])
    return around(tokens, C, extra, batch=batch)


def main():
    for seed, (name, grid, heads, *more, how, options) in [*enumerate(CASES, 71), *enumerate(PUBLIC, 171)]:
        t = inputs(seed, rows(grid, heads, *more, how, options))
        if how == "public":
            edge = options["window"]
            public = random_numbers(1000 * seed + 999, ((2 * edge - 1) ** 2, heads), 1)
            t["rpe"] = public.flip(0)
            y = public_windows(t, t["x"], public, grid, heads, edge, options.get("shift", 0))
        elif how == "ghost":
            power, gamma = options["lambda"], options["gamma"]
            y = ghosted(t, t["x"], grid, heads, power, gamma, options.get("head-map") == "block")
        else:
            y = msa(t, t["x"], grid, heads, **options)
        words = "".join(f" --{option} {value}" for option, value in options.items())
        write("msa", name, {**t, "y_expected": y}, f"--grid {axes(grid)} --heads {heads}{words}")


if __name__ == "__main__":
    main()
