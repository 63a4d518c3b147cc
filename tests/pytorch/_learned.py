"""The tiny network that train.py trains, with one of the five operators.

28 x 28 grey pixels; patches of 2 x 2 become C = 32 channels on 14 x 14 tokens; a table of positions; two blocks
x += mixer(norm1 x), x += mlp(norm2 x) with an MLP of 2 C; norm, mean over tokens, ten classes.  Weights are a
dictionary by path, as in reference/networks/.  StructSA, ELSA and ChoP'D use cheaper or differentiable forms, which
agrees() compares with the literal ones.
"""

import torch
import torch.nn.functional as F

import chopd as of_chopd
import elsa as of_elsa
import hilo as of_hilo
import lisa as of_lisa
import structsa as of_structsa
from _golden import planes, project, tokens

GRID, TOKENS, C, BLOCKS, RATIO, CLASSES = (14, 14), 196, 32, 2, 2, 10


# ---- LiSA, Eq. 10 ----

LISA = dict(heads=2, latent=4)


def lisa(t, x):
    return of_lisa.lisa({**t, "x": x}, 10, GRID, LISA["heads"])


def lisa_start(draw):
    c, d = C // LISA["heads"], LISA["latent"]
    return {"w_qkv": draw(3 * C, C), "b_qkv": draw(3 * C, scale=0), "wa": draw(TOKENS, c, d, scale=0.02),
            "wb": draw(TOKENS, d, scale=0.02), "ba": draw(c, d, scale=c ** -0.5), "bb": draw(c, d, scale=c ** -0.5),
            "w_o": draw(C, C), "b_o": draw(C, scale=0)}


# ---- StructSA, Eq. 16 by convolutions ----

STRUCTSA = dict(heads=2, patterns=4, kernel=3, stride=2)
STRUCTSA_SCALE = (C // STRUCTSA["heads"]) ** -0.5


def structsa(t, x):
    strides = (STRUCTSA["stride"],) * 2
    return of_structsa.by_convolutions(t, x, GRID, (3, 3), strides, STRUCTSA["heads"], STRUCTSA_SCALE)


def structsa_start(draw):
    d, m = STRUCTSA["patterns"], STRUCTSA["kernel"] ** 2
    return {"w_qkv": draw(3 * C, C), "b_qkv": draw(3 * C, scale=0), "hk": draw(d, m, C, scale=m ** -0.5),
            "hv": draw(d, m, C, scale=m ** -0.5), "w_o": draw(C, C), "b_o": draw(C, scale=0)}


# ---- ELSA, Eq. 7 with a ghost head ----

ELSA = dict(heads=4, kernel=5)
ELSA_CASE = dict(ELSA, equation=7, grid=GRID, dilation=1, C=C, Q=C, scale=C ** -0.5, map="modulo", gamma=1,
                 **{"lambda": 1})


def elsa(t, x):
    q, k, v = (planes(a, GRID) for a in of_elsa.projected({**t, "x": x}, ELSA_CASE))
    shift = of_elsa.shifts(ELSA["heads"], ELSA["kernel"]).to(x.dtype)
    maps = of_elsa.algorithm_4(t, ELSA_CASE["scale"] * q * k, of_elsa.both_maps(t), shift).softmax(2)
    return project(t, tokens(of_elsa.algorithm_1(t, maps, v)))


def elsa_start(draw):
    h, taps = ELSA["heads"], ELSA["kernel"] ** 2
    return {"w_qkv": draw(3 * C, C), "b_qkv": draw(3 * C, scale=0), "rk": draw(C, h, taps, scale=1),
            "rq": draw(C, h, taps, scale=1), "rb": draw(h, taps, scale=0.02), "ghost_mul": 1 + draw(C, taps, scale=0.1),
            "ghost_add": draw(C, taps, scale=0.02), "w_o": draw(C, C), "b_o": draw(C, scale=0)}


# ---- ChoP'D, Eq. 10, differentiable in the edges of boxes ----

CHOPD = dict(components=32, boxes=4, gate=8, size=7)


def chopd(t, x):
    image = planes(x, GRID)
    pooled = of_chopd.matrices(t["boxes"], t["mix"], GRID)(F.conv2d(image, t["u4"].t()[:, :, None, None]))
    pooled = pooled * of_chopd.phi(t, image, GRID, CHOPD["size"])
    return F.gelu(F.linear(tokens(pooled), t["u5"], t["b"]))


def chopd_start(draw):
    """Boxes have sides of 1 to 7 tokens and centres up to 3 tokens away."""
    r, g, s = (CHOPD[key] for key in ("components", "boxes", "gate"))
    middle, side = 3 * draw.uniform(r, g, 2), 4 + 3 * draw.uniform(r, g, 2)
    return {"u4": draw(C, r, scale=C ** -0.5), "boxes": torch.cat([middle - side / 2, middle + side / 2], dim=-1),
            "mix": draw(r, g), "phi_w1": draw(s, C, 3, 3, scale=(9 * C) ** -0.5), "phi_b1": draw(s, scale=0),
            "phi_w2": draw(r, s), "phi_b2": draw(r, scale=0), "u5": draw(C, r), "b": draw(C, scale=0)}


# ---- HiLo ----

HILO = {**of_hilo.DEFAULT, "grid": GRID, "C": C, "heads": 4}


def hilo(t, x):
    return of_hilo.hilo({**t, "x": x}, HILO)


def hilo_start(draw):
    return {name: draw(*shape, scale=0 if name.endswith("_b") else None) for name, shape, _ in of_hilo.rows(HILO)[1:]}


MIXERS = {"lisa": (lisa, lisa_start), "structsa": (structsa, structsa_start), "elsa": (elsa, elsa_start),
          "chopd": (chopd, chopd_start), "hilo": (hilo, hilo_start)}


def agrees(operator, t, x):
    """The relative difference of the operator here from its literal form."""
    chopd_case = dict(grid=GRID, size=CHOPD["size"], activation="gelu")
    sizes = GRID, (3, 3), (3, 3), (STRUCTSA["stride"],) * 2, 16, STRUCTSA_SCALE, STRUCTSA["heads"]
    literal = {"lisa": lambda a: of_lisa.lisa(a, 10, GRID, LISA["heads"]),
               "structsa": lambda a: of_structsa.structsa(a, *sizes), "elsa": lambda a: of_elsa.elsa(a, ELSA_CASE),
               "chopd": lambda a: of_chopd.chopd(a, chopd_case), "hilo": lambda a: of_hilo.hilo(a, HILO)}
    if operator == "chopd":         # the literal form needs edges on eighths of a token
        t = {**t, "boxes": (8 * t["boxes"]).round() / 8}
    y = literal[operator]({**t, "x": x})
    return float((MIXERS[operator][0](t, x) - y).abs().max() / y.abs().max())


# ---- the network ----

class Draw:
    """Normal random numbers; the default scale is fan-in^(-1/2)."""
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
