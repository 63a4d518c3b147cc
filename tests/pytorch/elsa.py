"""ELSA, literally (Algorithms 1 and 2, the final module, and Eq. 4) and as timed; see _golden.py."""

import math

import torch
import torch.nn.functional as F

from _golden import around, inputs, planes, project, tokens, write


# ---- literal form ----

def unfold(plane, kernel, dilation):
    """[B, C, H, W] -> [B, C, K*K, H, W]; zeros outside the grid."""
    batch, channels, height, width = plane.shape
    return F.unfold(plane, kernel, dilation=dilation, padding=kernel // 2 * dilation).reshape(
        batch, channels, kernel * kernel, height, width)


def algorithm_2(t, q, k, kernel, dilation, equation, scale):
    """[B, G, K*K, H, W]: the logits of Eq. 7, or of Eq. 6."""
    own, other = (scale * q * k,) * 2 if equation == 7 else (scale * q, scale * k)
    own = torch.einsum("bchw,cgk->bgkhw", own, t["rk"])
    other = torch.einsum("cgk,bckhw->bgkhw", t["rq"], unfold(other, kernel, dilation))
    return own + other + t["rb"][None, :, :, None, None]


def final(t, q, k, kernel, dilation, heads, scale):
    """The authors' module: group convolution, GELU, 1 x 1 convolution."""
    z = q * k if scale == 1 else scale * q * k
    g = F.conv2d(z, t["conv_w"], t["conv_b"], padding=kernel // 2 * dilation, dilation=dilation,
                 groups=z.shape[1] // t["conv_w"].shape[1])
    logits = F.conv2d(F.gelu(g), t["mix_w"][:, :, None, None], t["mix_b"])
    return logits.reshape(logits.shape[0], heads, kernel * kernel, *logits.shape[2:])


def algorithm_1(t, attention, v, dilation=1, power=1, gamma=1, by_block=False):
    """[B, C, H, W]: makes the channels' filters from the heads' attention, and applies them to the values."""
    heads = attention.shape[1]
    head = lambda a, axis: a.unflatten(axis, (heads, -1) if by_block else (-1, heads))
    filters = attention.unsqueeze(2 if by_block else 1)         # [B, h, 1, ...] or [B, 1, h, ...]
    if "ghost_mul" in t:
        filters = head(t["ghost_mul"] ** power, 0)[..., None, None] * filters
    if "ghost_add" in t:
        filters = filters + gamma * head(t["ghost_add"], 0)[..., None, None]
    kernel = math.isqrt(attention.shape[2])
    return (filters * head(unfold(v, kernel, dilation), 1)).sum(3).flatten(1, 2)


def unified(t, q, k, v, grid, kernel, dilation, heads, terms, norm, area, scale):
    """Eq. 4 with all tokens against all tokens."""
    height, width = grid
    tokens = height * width
    row, column = torch.arange(tokens) // width, torch.arange(tokens) % width
    dy, dx = row[None] - row[:, None], column[None] - column[:, None]           # of j from i
    if area == "window":
        inside = (row[None] // kernel == row[:, None] // kernel) & (column[None] // kernel == column[:, None] // kernel)
        offset = (dy + kernel - 1) * (2 * kernel - 1) + dx + kernel - 1
    else:
        reach = kernel // 2 * dilation
        inside = (dy.abs() <= reach) & (dx.abs() <= reach) & (dy % dilation == 0) & (dx % dilation == 0)
        down, across = (torch.div(step, dilation, rounding_mode="floor") + kernel // 2 for step in (dy, dx))
        offset = down * kernel + across
    offset = torch.where(inside, offset, torch.zeros_like(offset))
    split = [a.reshape(*a.shape[:2], heads, -1).transpose(1, 2) for a in (q, k, v)]
    scores = torch.zeros(q.shape[0], heads, tokens, tokens, dtype=q.dtype)
    if "qk" in terms:
        scores = scores + scale * split[0] @ split[1].transpose(2, 3)
    if "qr" in terms:
        scores = scores + torch.einsum("bic,chij->bhij", q, t["rk"][:, :, offset])
    if "rk" in terms:
        scores = scores + torch.einsum("bjc,chij->bhij", k, t["rq"][:, :, offset])
    if "b" in terms:
        scores = scores + t["rb"][:, offset]
    # A neighbour outside the grid has no key, but its other terms enter Norm.
    y = torch.zeros_like(split[0])
    for i in range(tokens):
        mates = inside[i].nonzero()[:, 0]
        row_scores = scores[:, :, i, mates]
        if area == "neighbourhood":
            missing = sorted(set(range(kernel * kernel)) - set(offset[i, mates].tolist()))
            extra = torch.zeros(q.shape[0], heads, len(missing), dtype=q.dtype)
            if "qr" in terms:
                extra = extra + torch.einsum("bc,chm->bhm", q[:, i], t["rk"][:, :, missing])
            if "b" in terms:
                extra = extra + t["rb"][:, missing]
            row_scores = torch.cat([row_scores, extra], dim=-1)
        if norm == "softmax":
            row_scores = row_scores.softmax(-1)
        elif norm == "filter":
            centred = row_scores - row_scores.mean(-1, keepdim=True)
            row_scores = centred / (centred.square().mean(-1, keepdim=True) + 1e-10).sqrt()
        y[:, :, i] = torch.einsum("bhj,bhjc->bhc", row_scores[:, :, :len(mates)], split[2][:, :, mates])
    return y.transpose(1, 2).flatten(2)


def projected(t, case):
    """Query and key of Q channels, value of C."""
    return F.linear(t["x"], t["w_qkv"], t.get("b_qkv")).split([case["Q"], case["Q"], case["C"]], dim=-1)


def elsa(t, case, apply=algorithm_1):
    q, k, v = projected(t, case)
    grid, kernel, dilation, heads, scale = (case[key] for key in ("grid", "kernel", "dilation", "heads", "scale"))
    if case["equation"] == 4:
        return project(t, unified(t, q, k, v, grid, kernel, dilation, heads, case["terms"], case["norm"],
                                  case["area"], scale))
    q, k, v = (planes(a, grid) for a in (q, k, v))
    if case["equation"] == 0:
        logits = final(t, q, k, kernel, dilation, heads, scale)
    else:
        logits = algorithm_2(t, q, k, kernel, dilation, case["equation"], scale)
    y = apply(t, logits.softmax(2), v, dilation, case["lambda"], case["gamma"], case["map"] == "block")
    return project(t, tokens(y))


# ---- cheaper: weights by a corrected Algorithm 4, Algorithm 1 one neighbour at a time ----

def both_maps(t):
    """rk and rq as one 1 x 1 convolution, [2 h K K, C, 1, 1]: the token's term of a logit, then its neighbour's."""
    both = torch.stack([t["rk"].flatten(1), t["rq"].flatten(1)], -1)
    return both.flatten(1).t().contiguous()[:, :, None, None]


def shifts(heads, kernel):
    """[h K K, 2, K, K]: a convolution that adds the token's term and its neighbour's."""
    near = torch.eye(kernel * kernel).reshape(-1, kernel, kernel)
    here = near[kernel * kernel // 2].expand_as(near)
    return torch.stack([here, near], 1).repeat(heads, 1, 1, 1)


def algorithm_4(t, z, maps, shift):
    """The logits of Eq. 7, [B, h, K*K, H, W], from z = q k."""
    heads, kernel = t["rb"].shape[0], shift.shape[-1]
    logits = F.conv2d(F.conv2d(z, maps), shift, t["rb"].flatten(), padding=kernel // 2, groups=len(shift))
    return logits.unflatten(1, (heads, -1))


def neighbours(t, attention, v, by_block=False):
    """As algorithm_1; without ghost_mul, ghost_add is a depth-wise convolution."""
    channels, (height, width), heads = v.shape[1], v.shape[2:], attention.shape[1]
    kernel = math.isqrt(attention.shape[2])
    head = lambda a, axis: a.unflatten(axis, (heads, -1) if by_block else (-1, heads))
    attention = attention.unsqueeze(2 if by_block else 1)
    mul, add = t.get("ghost_mul"), t["ghost_add"]
    if mul is None:
        y = head(F.conv2d(v, add.reshape(channels, 1, kernel, kernel), padding=kernel // 2, groups=channels), 1)
    else:
        y, mul, add = head(torch.zeros(v.shape), 1), head(mul, 0), head(add, 0)
    padded = head(F.pad(v, (kernel // 2,) * 4), 1)
    for n in range(kernel * kernel):
        dy, dx = divmod(n, kernel)
        filters = attention[:, :, :, n]
        if mul is not None:
            filters = torch.addcmul(add[..., n, None, None], mul[..., n, None, None], filters)
        y.addcmul_(filters, padded[..., dy:dy + height, dx:dx + width])
    return y.flatten(1, 2)


# ---- timed forms ----

TIMED = {"elsa": dict(grid=(56, 56), C=96, options={"kernel": 7, "heads": 3}, without="b_qkv,b_o")}


def timed_inputs(case, draw):
    return draw(rows({**DEFAULT, **case, **case["options"], "equation": 7, "Q": case["C"], "ghost": True,
                      "projection": True}))


def exponentials(case):
    return case["options"]["heads"] * math.prod(case["grid"]) * case["options"]["kernel"] ** 2


def view(plane, kernel, shape, *axes):
    """A strided view of planes padded with zeros.  An axis of the view steps along the planes' axes in `axes`."""
    padded = F.pad(plane, (kernel // 2,) * 4)
    return padded.as_strided(shape, [sum(padded.stride(a) for a in steps) for steps in axes])


def timed(case, t):
    heads, kernel = case["options"]["heads"], case["options"]["kernel"]
    maps, shift, near = both_maps(t), shifts(heads, kernel), (kernel, kernel, *case["grid"])
    rk_rq = torch.cat([t["rk"].flatten(1), t["rq"].flatten(1)], 1).t().contiguous()
    mul, add = (t[name].reshape(-1, heads, kernel, kernel, 1, 1) for name in ("ghost_mul", "ghost_add"))
    rb = t["rb"].reshape(heads, kernel, kernel, 1, 1)

    def literal(x):     # Algorithms 4 and 1 with all filters and unfolded values
        q, k, v = planes(F.linear(x, t["w_qkv"]), case["grid"]).chunk(3, 1)
        return project(t, tokens(algorithm_1(t, algorithm_4(t, q * k, maps, shift).softmax(2), v)))

    def views(x):       # neighbourhoods are views; torch.compile makes loops that read them while they sum
        q, k, v = F.linear(x[0], t["w_qkv"]).t().reshape(3, -1, len(x[0]))
        own, other = (rk_rq @ (q * k)).reshape(2, heads, *near)
        logits = own + rb + view(other, kernel, (heads, *near), (0,), (1, 3), (2, 4), (3,), (4,))
        weights = logits.flatten(1, 2).softmax(1).unflatten(1, near[:2])
        v = v.reshape(-1, heads, *case["grid"])
        values = view(v, kernel, (*v.shape[:2], *near), (0,), (1,), (2,), (3,), (2,), (3,))
        y = ((mul * weights + add) * values).sum((2, 3))
        return project(t, y.reshape(-1, len(x[0])).t()[None])

    return {"literal": literal, "views": views}


# ---- golden vectors ----

def rows(case):
    C, Q, h, K = (case[key] for key in ("C", "Q", "heads", "kernel"))
    taps = K * K
    offsets = (2 * K - 1) ** 2 if case["area"] == "window" else taps
    if case["equation"] == 0:
        extra = [("conv_w", (Q, 8, K, K), 8 * taps), ("conv_b", (Q,), 8), ("mix_w", (h * taps, Q), Q),
               ("mix_b", (h * taps,), 2)]
    else:
        extra = [(name, shape, fan) for name, term, shape, fan in
               [("rk", "qr", (C, h, offsets), C), ("rq", "rk", (C, h, offsets), C), ("rb", "b", (h, offsets), 1)]
               if case["equation"] != 4 or term in case["terms"]]
    if case["ghost"]:
        extra += [("ghost_mul", (C, taps), 1), ("ghost_add", (C, taps), taps)]
    tokens = case["grid"][0] * case["grid"][1]
    return around(tokens, C, extra, case["biases"], case["projection"], case["batch"], 2 * Q + C)


DEFAULT = {"dilation": 1, "heads": 1, "batch": 1, "ghost": False, "lambda": 1, "gamma": 1, "map": "modulo", "scale": 1,
           "biases": False, "projection": False, "terms": "qk+qr+rk+b", "norm": "softmax", "area": "neighbourhood"}
CASES = {
    "eq7": dict(equation=7, grid=(5, 6), kernel=3, C=4, heads=2, batch=2, biases=True, projection=True),
    "eq7_ghost": dict(equation=7, grid=(6, 5), kernel=5, C=6, heads=3, ghost=True, scale=0.5, projection=True),
    "eq7_block": dict(equation=7, grid=(4, 7), kernel=3, C=6, heads=2, ghost=True, map="block", gamma=-0.5,
                      biases=True),
    "eq7_dilated": dict(equation=7, grid=(7, 8), kernel=3, C=4, heads=2, dilation=3, ghost=True, projection=True,
                        **{"lambda": 2}),
    "eq7_root": dict(equation=7, grid=(4, 4), kernel=3, C=4, heads=1, ghost=True, **{"lambda": 0.5}),
    "eq7_paper": dict(equation=7, grid=(14, 14), kernel=7, C=6, heads=3, ghost=True, biases=True, projection=True),
    "eq6": dict(equation=6, grid=(5, 5), kernel=3, C=4, heads=2, batch=2, scale=-1.5, biases=True, projection=True),
    "final": dict(equation=0, grid=(5, 6), kernel=3, C=6, Q=16, heads=2, batch=2, biases=True, projection=True),
    "final_ghost": dict(equation=0, grid=(6, 4), kernel=5, C=8, Q=8, heads=4, dilation=2, ghost=True),
    "eq4_window": dict(equation=4, grid=(6, 9), kernel=3, C=6, heads=2, area="window", scale=0.5, biases=True,
                       projection=True),
    "eq4_neighbours": dict(equation=4, grid=(5, 4), kernel=3, C=6, heads=3, batch=2),
    "eq4_convolution": dict(equation=4, grid=(5, 6), kernel=5, C=4, heads=4, terms="b", norm="identity",
                            projection=True),
    "eq4_dynamic": dict(equation=4, grid=(4, 5), kernel=3, C=4, heads=2, dilation=2, terms="qr", norm="identity"),
    "eq4_filter": dict(equation=4, grid=(5, 5), kernel=3, C=4, heads=2, terms="qk+rk+b", norm="filter", biases=True),
}


def main():
    for seed, (name, given) in enumerate(CASES.items(), 1):
        case = {**DEFAULT, "Q": given["C"], **given}
        tensors = inputs(seed, rows(case))
        if case["ghost"] and case["lambda"] != int(case["lambda"]):
            tensors["ghost_mul"] = tensors["ghost_mul"].abs() + 0.125
        tensors["y_expected"] = elsa(tensors, case)
        options = [f"--grid {case['grid'][0]}x{case['grid'][1]} --kernel {case['kernel']} --heads {case['heads']}"]
        options += ["--variant final" if case["equation"] == 0 else f"--equation {case['equation']}"]
        options += [f"--{key} {case[key]}" for key in ("dilation", "scale", "lambda", "gamma")
                    if case[key] != DEFAULT[key]]
        options += ["--head-map block"] if case["map"] == "block" else []
        if case["equation"] == 4:
            options += [f"--{key} {case[key]}" for key in ("terms", "norm", "area")]
        write("elsa", name, tensors, " ".join(options))


if __name__ == "__main__":
    main()
