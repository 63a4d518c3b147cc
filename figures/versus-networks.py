"""Whole networks in PyTorch, as versus.py times them: one image of 224 x 224 pixels.

The tables are those of tests/pytorch/networks.py.  `literal` has the layers as the
authors' public modules have them: ELSA unfolds its values and makes all filters,
Swin cuts windows, LITv2 merges by grid_sample.  `best` has what we found faster in
PyTorch: ELSA adds up neighbours one at a time, depth-wise convolutions stay
in one layout, linear maps of a token are never turned into convolutions.
"""
import functools
import math
import pathlib
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "pytorch"))
import networks                                                         # noqa: E402
from networks import planes, tokens                                     # noqa: E402

def case(name):
    return dict(side="networks", operator="network", network=name, grid=(224, 224), channels=3,
                programs={"ours": ["figures/network-seconds", name, "fast", "-", "1"]})


CASES = {name: case(name) for name in ("litv2-s", "elsa-swin-t", "swin-t")}


# ---- layers -----------------------------------------------------------------

def heads_of(rows, count):
    return rows.unflatten(-1, (count, -1)).transpose(-2, -3)


def attend(q, k, v, count, bias=None):
    """Rows of all heads in and out, [..., n, C]; a bias is [..., h, n, m]."""
    q, k, v = (heads_of(rows, count) for rows in (q, k, v))
    scores = q * q.shape[-1] ** -0.5 @ k.transpose(-1, -2)
    scores = scores if bias is None else scores + bias
    return (scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2)


def library(q, k, v, count, bias=None):
    """The same by PyTorch's own attention."""
    q, k, v = (heads_of(rows, count) for rows in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(-2, -3).flatten(-2)


def cut(plane, s):
    """[B, H, W, C] -> [B, windows, s s, C]"""
    return plane.unflatten(1, (-1, s)).unflatten(3, (-1, s)).transpose(2, 3).flatten(3, 4).flatten(1, 2)


def glue(windows, grid, s):
    B, _, _, C = windows.shape
    return windows.reshape(B, grid[0] // s, grid[1] // s, s, s, C).transpose(2, 3).reshape(B, *grid, C)


def hilo(t, x, grid, heads, window=2, alpha=0.9, attend=attend):
    if window == 1:
        k, v = F.linear(x, t["l_kv"], t["l_kv_b"]).chunk(2, -1)
        return F.linear(attend(F.linear(x, t["l_q"], t["l_q_b"]), k, v, heads), t["l_proj"], t["l_proj_b"])
    low = math.floor(alpha * heads)
    plane = x.unflatten(1, grid)
    q, k, v = F.linear(cut(plane, window), t["h_qkv"], t["h_qkv_b"]).chunk(3, -1)
    high = glue(F.linear(attend(q, k, v, heads - low), t["h_proj"], t["h_proj_b"]), grid, window).flatten(1, 2)
    pooled = F.avg_pool2d(plane.permute(0, 3, 1, 2), window).flatten(2).transpose(1, 2)
    k, v = F.linear(pooled, t["l_kv"], t["l_kv_b"]).chunk(2, -1)
    low = F.linear(attend(F.linear(x, t["l_q"], t["l_q_b"]), k, v, low), t["l_proj"], t["l_proj_b"])
    return torch.cat([high, low], -1)


def deform(t, x, grid):
    """Samples by grid_sample, in its coordinates: -1 and 1 are the middles of the first and the last token."""
    plane = planes(x, grid)
    offset = F.conv2d(plane, t["offset_w"], t["offset_b"], stride=2)
    B, _, h, w = offset.shape
    at = t["ready_at"] + offset.reshape(B, 4, 2, h, w).permute(0, 1, 3, 4, 2)
    samples = F.grid_sample(plane, (at.flip(-1) * t["ready_scale"] - 1).reshape(B, 4 * h, w, 2), align_corners=True)
    rows = samples.reshape(B, -1, 4, h * w).flatten(1, 2).transpose(1, 2)
    return F.gelu(F.linear(rows, t["ready_w"], t["ready_b"]))


def ready_deform(t, grid):
    """Where samples would be without offsets, and the norm folded into the map."""
    tap = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    first = torch.stack(torch.meshgrid(2.0 * torch.arange(grid[0] // 2), 2.0 * torch.arange(grid[1] // 2),
                                       indexing="ij"), -1)
    gain = t["norm_g"] / (t["norm_var"] + 1e-5).sqrt()
    return {**t, "ready_at": first + tap[:, None, None],
            "ready_scale": torch.tensor([2 / (grid[1] - 1), 2 / (grid[0] - 1)]),
            "ready_w": t["w"].flatten(1) * gain[:, None], "ready_b": (t["b"] - t["norm_mean"]) * gain + t["norm_b"]}


def elsa_front(t, x, grid, heads, group_width, kernel=7):
    """Softmaxed maps [B, h, K K, H, W], and the values as planes."""
    Q = t["conv_w"].shape[0]
    plane = F.conv2d(planes(x, grid), t["w_qkv"][:, :, None, None], t["b_qkv"])
    q, k, v = plane.split([Q, Q, plane.shape[1] - 2 * Q], 1)
    z = F.gelu(F.conv2d(q * k, t["conv_w"], t["conv_b"], padding=kernel // 2, groups=Q // group_width))
    maps = F.conv2d(z, t["mix_w"][:, :, None, None], t["mix_b"])
    return maps.reshape(maps.shape[0], heads, -1, *grid).softmax(2), v


def elsa_unfolded(t, x, grid, heads, group_width, kernel=7):
    maps, v = elsa_front(t, x, grid, heads, group_width)
    B, C = v.shape[:2]
    values = F.unfold(v, kernel, padding=kernel // 2).reshape(B * heads, C // heads, kernel * kernel, -1)
    added = t["ghost_add"].reshape(heads, C // heads, kernel * kernel, 1)
    filters = maps.reshape(B * heads, 1, kernel * kernel, -1) + added.repeat(B, 1, 1, 1)
    return F.linear((values * filters).sum(2).reshape(B, C, -1).transpose(1, 2), t["w_o"], t["b_o"])


def elsa_neighbours(t, x, grid, heads, group_width, kernel=7):
    """The ghost's sum is a depth-wise convolution; the rest a neighbour at a time."""
    maps, v = elsa_front(t, x, grid, heads, group_width)
    B, C = v.shape[:2]
    y = F.conv2d(v, t["ghost_add"].reshape(C, 1, kernel, kernel), padding=kernel // 2, groups=C)
    y = y.reshape(B, heads, C // heads, *grid)
    padded = F.pad(v, (kernel // 2,) * 4).reshape(B, heads, C // heads, grid[0] + kernel - 1, grid[1] + kernel - 1)
    for n in range(kernel * kernel):
        dy, dx = divmod(n, kernel)
        y.addcmul_(maps[:, :, n, None], padded[:, :, :, dy:dy + grid[0], dx:dx + grid[1]])
    return F.linear(tokens(y.reshape(B, C, *grid)), t["w_o"], t["b_o"])


def window_attention(t, x, grid, heads, window=None, shift=0, attend=attend):
    """Swin's: the plane rolled, windows cut, those of both sides of the seam masked."""
    s = window or grid[0]
    plane = rolled(F.linear(x, t["w_qkv"], t["b_qkv"]).unflatten(1, grid), -shift)
    q, k, v = (cut(part, s) for part in plane.chunk(3, -1))
    y = glue(attend(q, k, v, heads, t["ready_bias"]), grid, s)
    return F.linear(rolled(y, shift).flatten(1, 2), t["w_o"], t["b_o"])


def rolled(plane, by):
    return plane.roll((by, by), (1, 2)) if by else plane


def ready(t, grid, heads, window=None, shift=0):
    """What of windows depends on parameters and sizes alone, as the authors' modules keep it."""
    s = window or grid[0]
    at = torch.stack(torch.meshgrid(torch.arange(s), torch.arange(s), indexing="ij")).flatten(1)
    y, z = (at[:, None, :] - at[:, :, None]) + torch.tensor(grid)[:, None, None] - 1        # key less query
    bias = t["rpe"][y * (2 * grid[1] - 1) + z].permute(2, 0, 1)
    side = torch.zeros(1, *grid, 1)
    for axis in (1, 2):
        late = torch.arange(grid[axis - 1]) >= grid[axis - 1] - shift
        side = side + (axis * late).reshape([-1 if a == axis else 1 for a in range(4)])
    side = cut(side, s)[..., 0]
    mask = torch.zeros(()).masked_fill((side[..., :, None] != side[..., None, :]), -math.inf) if shift else 0
    return {**t, "ready_bias": (bias + mask[:, :, None] if shift else bias).contiguous()}


# ---- networks ---------------------------------------------------------------

LITERAL = {networks.hilo: hilo, networks.deform: deform, networks.elsa: elsa_unfolded, networks.msa: window_attention}
BEST = {**LITERAL, networks.elsa: elsa_neighbours}
READY = {networks.deform: ready_deform, networks.msa: ready}
LIBRARY = {**BEST, networks.hilo: functools.partial(hilo, attend=library),
           networks.msa: functools.partial(window_attention, attend=library)}


def draw(case, normal):
    """One image, and the weights by path: norms near one, all else by its fan."""
    steps = networks.placed(networks.network(case["network"]))
    drawn = {}
    for path, (shape, fan) in {f"{s.path}.{name}": row for s in steps for name, *row in s.layer.tensors}.items():
        value = normal(fan, *shape)
        last = path.split(".")[-1].split("_")[-1]
        drawn[path] = 1 + value / 4 if last == "g" else value.abs() + 0.25 if last == "var" else value
    return dict(w_qkv=None, w_o=None, **drawn)


def asked(case, t):
    weights = {path: value for path, value in t.items() if path != "x"}
    return ({"weights": weights, "x": {"x": t["x"]}},
            ["network", case["network"], "--weights", "weights", "--input", "x"], "logits")


def forms(case, t):
    steps = networks.placed(networks.network(case["network"]))

    def way(table):
        parts = []
        for each in steps:
            run, own = each.layer.run, networks.own(each, t)
            if each.step.layer in table:
                other, grid, options = table[each.step.layer], each.grid, each.step.options
                own = READY.get(each.step.layer, lambda t, grid, **_: t)(own, grid, **options)
                run = lambda t, x, other=other, grid=grid, options=options: other(t, x, grid, **options)
            parts.append((each, run, own))

        def whole():
            x = h = t["x"]
            for each, run, own in parts:
                y = run(own, h if each.move in (networks.ALONG, networks.JOIN) else x)
                if each.move in (networks.INTO, networks.ALONG):
                    h = y
                else:
                    x = y if each.move == networks.ON else x + y
            return x
        return whole
    ways = {"literal": way(LITERAL)}
    if "elsa" in case["network"]:
        ways["best"] = way(BEST)
    if hasattr(F, "scaled_dot_product_attention"):
        ways["library's attention"] = way(LIBRARY)
    return ways
