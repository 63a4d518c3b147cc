"""The tiny network that train.py trains, with one of the five operators.

28 x 28 grey pixels; patches of 2 x 2 to C = 32 channels on 14 x 14 tokens; a table of positions; two blocks x +=
mixer(norm1 x), x += mlp(norm2 x), whose MLP is twice as wide; norm, mean over tokens, ten classes.  Weights are a
dictionary by path, as reference/networks/ reads them.  StructSA, ELSA and ChoP'D are cheaper here than in their
scripts, or differentiable; agrees() compares both.
"""

import torch
import torch.nn.functional as F

import chopd as chopd_script
import elsa as elsa_script
import hilo as hilo_script
import lisa as lisa_script
import structsa as structsa_script
from _golden import join_heads, split_heads

GRID, TOKENS, C, BLOCKS, RATIO, CLASSES = (14, 14), 196, 32, 2, 2, 10


def plane(tokens):
    return tokens.transpose(1, 2).reshape(tokens.shape[0], -1, *GRID)


def tokens(planes):
    return planes.flatten(2).transpose(1, 2)


# ---- LiSA, Eq. 10 ----

LISA = dict(heads=2, latent=4)


def lisa(t, x):
    return lisa_script.lisa({**t, "x": x}, 10, GRID, LISA["heads"])


def lisa_start(draw):
    c, d = C // LISA["heads"], LISA["latent"]
    return {"w_qkv": draw(3 * C, C), "b_qkv": draw(3 * C, scale=0), "wa": draw(TOKENS, c, d, scale=0.02),
            "wb": draw(TOKENS, d, scale=0.02), "ba": draw(c, d, scale=c ** -0.5), "bb": draw(c, d, scale=c ** -0.5),
            "w_o": draw(C, C), "b_o": draw(C, scale=0)}


# ---- StructSA, Eq. 16: depth-wise convolutions make a key and a value for each centre and pattern ----

STRUCTSA = dict(heads=2, patterns=4, kernel=3, stride=2)


def patterned(rows, filters):
    """[B, N, C], [D, M, C] -> [B, J, D, C]: each pattern on the window around each centre."""
    d, k = filters.shape[0], STRUCTSA["kernel"]
    weights = filters.permute(2, 0, 1).reshape(C * d, 1, k, k)
    made = F.conv2d(plane(rows), weights, stride=STRUCTSA["stride"], padding=k // 2, groups=C)
    return made.flatten(2).reshape(rows.shape[0], C, d, -1).permute(0, 3, 2, 1)


def structsa(t, x):
    h, scale = STRUCTSA["heads"], (C // STRUCTSA["heads"]) ** -0.5
    q, k, v = F.linear(x, t["w_qkv"], t["b_qkv"]).chunk(3, dim=-1)
    heads = lambda a: a.reshape(a.shape[0], -1, h, C // h).transpose(1, 2)
    q, k, v = heads(scale * q), heads(patterned(k, t["hk"])), heads(patterned(v, t["hv"]))
    return join_heads(t, torch.softmax(q @ k.transpose(2, 3), dim=-1) @ v)


def structsa_start(draw):
    d, m = STRUCTSA["patterns"], STRUCTSA["kernel"] ** 2
    return {"w_qkv": draw(3 * C, C), "b_qkv": draw(3 * C, scale=0), "hk": draw(d, m, C, scale=m ** -0.5),
            "hv": draw(d, m, C, scale=m ** -0.5), "w_o": draw(C, C), "b_o": draw(C, scale=0)}


# ---- ELSA, Eq. 7 with a ghost head ----

ELSA = dict(heads=4, kernel=5)
ELSA_CASE = dict(ELSA, equation=7, grid=GRID, dilation=1, C=C, Q=C, scale=C ** -0.5, map="modulo", gamma=1,
                 **{"lambda": 1})


def apart():
    """[K K, 1, K, K]: filters that each pick one neighbour."""
    k = ELSA["kernel"]
    return torch.eye(k * k).reshape(k * k, 1, k, k)


def elsa(t, x):
    h, k = ELSA["heads"], ELSA["kernel"]
    q, key, v = (plane(a) for a in F.linear(x, t["w_qkv"], t["b_qkv"]).chunk(3, dim=-1))
    z = ELSA_CASE["scale"] * q * key
    own = torch.einsum("bchw,cgk->bgkhw", z, t["rk"])
    other = torch.einsum("bchw,cgk->bgkhw", z, t["rq"])
    other = F.conv2d(other.flatten(1, 2), apart().to(x.dtype).repeat(h, 1, 1, 1), padding=k // 2, groups=h * k * k)
    other = other.reshape(own.shape)
    maps = (own + other + t["rb"][None, :, :, None, None]).softmax(2)
    # Ghost head: ghost_mul multiplies each neighbour's value; ghost_add is a depth-wise convolution.
    factors = (t["ghost_mul"][:, :, None, None, None] * apart().to(x.dtype)).flatten(0, 1)
    around = F.conv2d(v, factors, padding=k // 2, groups=C).reshape(-1, C // h, h, k * k, *GRID)
    moved = (around * maps[:, None]).sum(3).reshape(v.shape)
    y = moved + F.conv2d(v, t["ghost_add"].reshape(C, 1, k, k), padding=k // 2, groups=C)
    return F.linear(tokens(y), t["w_o"], t["b_o"])


def elsa_start(draw):
    h, taps = ELSA["heads"], ELSA["kernel"] ** 2
    return {"w_qkv": draw(3 * C, C), "b_qkv": draw(3 * C, scale=0), "rk": draw(C, h, taps, scale=1),
            "rq": draw(C, h, taps, scale=1), "rb": draw(h, taps, scale=0.02), "ghost_mul": 1 + draw(C, taps, scale=0.1),
            "ghost_add": draw(C, taps, scale=0.02), "w_o": draw(C, C), "b_o": draw(C, scale=0)}


# ---- ChoP'D, Eq. 10: the mean over a box must be differentiable in its edges ----

CHOPD = dict(components=32, boxes=4, gate=8, size=7)


def shares(low, high, count):
    """[R, G] edges from the middle of a token -> [R, G, n, m]: the part of token m in an interval around token n."""
    at = torch.arange(count, dtype=low.dtype)
    begin, end = (at[:, None] + edge[..., None, None] for edge in (low, high))
    return (torch.minimum(end, at + 0.5) - torch.maximum(begin, at - 0.5)).clamp(min=0)


def box_means(planes, boxes, mix, grid=GRID):
    """[B, R, H, W] -> the same: the sum over boxes of mix times the mean over the box."""
    y0, x0, y1, x1 = boxes.unbind(-1)
    down, across = shares(y0, y1, grid[0]), shares(x0, x1, grid[1])
    down = down * (mix / ((y1 - y0) * (x1 - x0)))[..., None, None]
    rows = torch.einsum("rgnm,brmw->brgnw", down, planes)
    return torch.einsum("rgnm,brghm->brhn", across, rows)


def chopd(t, x):
    image = plane(x)
    pooled = box_means(F.conv2d(image, t["u4"].t()[:, :, None, None]), t["boxes"], t["mix"])
    pooled = pooled * chopd_script.phi(t, image, GRID, CHOPD["size"])
    return F.gelu(F.linear(tokens(pooled), t["u5"], t["b"]))


def chopd_start(draw):
    """Boxes have sides of 1 to 7 tokens and centres up to 3 tokens away."""
    r, g, s = (CHOPD[key] for key in ("components", "boxes", "gate"))
    middle, side = 3 * draw.uniform(r, g, 2), 4 + 3 * draw.uniform(r, g, 2)
    return {"u4": draw(C, r, scale=C ** -0.5), "boxes": torch.cat([middle - side / 2, middle + side / 2], dim=-1),
            "mix": draw(r, g), "phi_w1": draw(s, C, 3, 3, scale=(9 * C) ** -0.5), "phi_b1": draw(s, scale=0),
            "phi_w2": draw(r, s), "phi_b2": draw(r, scale=0), "u5": draw(C, r), "b": draw(C, scale=0)}


# ---- HiLo ----

HILO = dict(grid=GRID, C=C, heads=4, window=2, alpha=0.5, pooled=False)


def hilo(t, x):
    return hilo_script.hilo({**t, "x": x}, HILO)


def hilo_start(draw):
    near, far = (count * C // HILO["heads"] for count in hilo_script.shares(HILO))
    sizes = [("h_qkv", 3 * near, C), ("h_proj", near, near), ("l_q", far, C), ("l_kv", 2 * far, C),
             ("l_proj", far, far)]
    return {name: tensor for weight, rows, columns in sizes
            for name, tensor in ((weight, draw(rows, columns)), (weight + "_b", draw(rows, scale=0)))}


MIXERS = {"lisa": (lisa, lisa_start), "structsa": (structsa, structsa_start), "elsa": (elsa, elsa_start),
          "chopd": (chopd, chopd_start), "hilo": (hilo, hilo_start)}


def agrees(operator, t, x):
    """The relative difference between the operator here and that of its own script."""
    chopd_case = dict(B=x.shape[0], C=C, R=CHOPD["components"], grid=GRID, size=CHOPD["size"], activation="gelu")
    scripts = {"lisa": lambda a: lisa_script.lisa(a, 10, GRID, LISA["heads"]),
               "structsa": lambda a: structsa_script.structsa(a, GRID, (3, 3), (3, 3), (STRUCTSA["stride"],) * 2, 16,
                                                              (C // STRUCTSA["heads"]) ** -0.5, STRUCTSA["heads"]),
               "elsa": lambda a: elsa_script.elsa(a, ELSA_CASE),
               "chopd": lambda a: chopd_script.chopd(a, chopd_case),
               "hilo": lambda a: hilo_script.hilo(a, HILO)}
    if operator == "chopd":         # its script needs edges on eighths of a token
        t = {**t, "boxes": (8 * t["boxes"]).round() / 8}
    y = scripts[operator]({**t, "x": x})
    return float((MIXERS[operator][0](t, x) - y).abs().max() / y.abs().max())


# ---- the network ----

class Draw:
    """Normal draws; the default scale is fan-in^(-1/2)."""
    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, *shape, scale=None):
        return torch.randn(*shape, generator=self.generator) * (shape[-1] ** -0.5 if scale is None else scale)

    def uniform(self, *shape):
        return 2 * torch.rand(*shape, generator=self.generator) - 1


def start(operator, seed):
    """The weights before training, by path."""
    draw = Draw(seed)
    w = {"stage1.embed.w": draw(C, 1, 4, scale=0.5), "stage1.embed.b": draw(C, scale=0),
         "stage1.position.table": draw(TOKENS, C, scale=0.02)}
    norm = lambda name: {name + ".g": torch.ones(C), name + ".b": torch.zeros(C)}
    for j in range(1, BLOCKS + 1):
        at = f"stage1.block{j}."
        w.update(norm(at + "norm1"))
        w.update({at + "mixer." + name: tensor for name, tensor in MIXERS[operator][1](draw).items()})
        w.update(norm(at + "norm2"))
        w.update({at + "mlp.w_1": draw(RATIO * C, C), at + "mlp.b_1": draw(RATIO * C, scale=0),
                  at + "mlp.w_2": draw(C, RATIO * C), at + "mlp.b_2": draw(C, scale=0)})
    w.update(norm("norm"))
    w.update({"head.w": draw(CLASSES, C), "head.b": draw(CLASSES, scale=0)})
    return w


def below(w, path):
    return {name[len(path):]: tensor for name, tensor in w.items() if name.startswith(path)}


def norm(w, path, x):
    return F.layer_norm(x, (C,), w[path + ".g"], w[path + ".b"], 1e-5)


def network(w, operator, pixels, mixed=None):
    """[B, 28, 28] -> logits [B, 10]; appends the input of each mixer to the list `mixed`."""
    embed = w["stage1.embed.w"].reshape(C, 1, 2, 2)
    x = tokens(F.conv2d(pixels[:, None], embed, w["stage1.embed.b"], stride=2)) + w["stage1.position.table"]
    for j in range(1, BLOCKS + 1):
        at = f"stage1.block{j}."
        met = norm(w, at + "norm1", x)
        if mixed is not None:
            mixed.append(met)
        x = x + MIXERS[operator][0](below(w, at + "mixer."), met)
        hidden = F.linear(norm(w, at + "norm2", x), w[at + "mlp.w_1"], w[at + "mlp.b_1"])
        x = x + F.linear(F.gelu(hidden), w[at + "mlp.w_2"], w[at + "mlp.b_2"])
    return F.linear(norm(w, "norm", x).mean(1), w["head.w"], w["head.b"])
