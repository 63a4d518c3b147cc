"""Golden vectors for "Chopping Formers": Eq. 2, Eq. 3 with Eq. 5, and Eq. 10; see _golden.py.

Edges of boxes lie on eighths of a token.  Each token is cut into 8 x 8 cells, so a box is a whole number of cells.
"""

import torch
import torch.nn.functional as F

from _golden import inputs, write

CELLS = 8       # of a token, along each axis


def fc(t, case):
    """Eq. 2: one matrix from all tokens and channels to all."""
    tokens, channels = t["w"].shape[1], t["w"].shape[3]
    matrix = t["w"].permute(1, 3, 0, 2).flatten(2).flatten(0, 1)
    return F.linear(t["x"].flatten(1), matrix).reshape(-1, tokens, channels)


def finish(y, case):
    return F.gelu(y) if case["activation"] == "gelu" else y


def dfc_cp(t, case):
    """Eq. 5 in Eq. 3: the whole tensor of each image."""
    w = torch.einsum("ir,mr,nr,cr,dr->imncd", *(t[f"u{k}"] for k in range(1, 6)))
    return finish(torch.einsum("imc,imncd->ind", t["x"], w) + t["b"], case)


def mean_over(box, plane):
    """[B, H, W] -> [B, H, W]: at every token, the mean over the box around it, zero off the grid."""
    height, width = plane.shape[1:]
    top, left, bottom, right = (round(CELLS * float(edge)) for edge in box)
    far = CELLS * 2 * max(height, width) + max(map(abs, (top, left, bottom, right)))
    cells = plane.repeat_interleave(CELLS, 1).repeat_interleave(CELLS, 2)
    cells = F.pad(cells, (far, far, far, far))
    row, column = far + CELLS // 2 + top, far + CELLS // 2 + left       # the box of the first token
    cells = cells[:, row:row + CELLS * (height - 1) + bottom - top]
    cells = cells[:, :, column:column + CELLS * (width - 1) + right - left]
    return F.avg_pool2d(cells, (bottom - top, right - left), CELLS)


def phi(t, x, grid, size):
    """Eq. 9: [B, C, H, W] -> [B, R, H, W]"""
    small = F.gelu(F.conv2d(F.adaptive_avg_pool2d(x, size), t["phi_w1"], t["phi_b1"], padding=1))
    small = torch.sigmoid(F.conv2d(small, t["phi_w2"][:, :, None, None], t["phi_b2"]))
    return F.interpolate(small, grid, mode="bilinear", align_corners=False)


def chopd(t, case):
    """Eq. 10, on planes."""
    x = t["x"].transpose(1, 2).reshape(case["B"], case["C"], *case["grid"])
    z = F.conv2d(x, t["u4"].t()[:, :, None, None])
    pooled = torch.stack([sum(weight * mean_over(box, z[:, r]) for box, weight in zip(t["boxes"][r], t["mix"][r]))
                          for r in range(case["R"])], 1)
    pooled = pooled * phi(t, x, case["grid"], case["size"])
    return finish(F.conv2d(pooled, t["u5"][:, :, None, None], t["b"]).flatten(2).transpose(1, 2), case)


def fc_inputs(seed, case):
    B, M, N, C, D = (case[letter] for letter in "BMNCD")
    return inputs(seed, [("x", (B, M, C), 1), ("w", (M, N, C, D), M * C)])


def dfc_cp_inputs(seed, case):
    B, M, N, C, D, R = (case[letter] for letter in "BMNCDR")
    return inputs(seed, [("x", (B, M, C), 1), ("u1", (B, R), 1), ("u2", (M, R), M), ("u3", (N, R), 1),
                         ("u4", (C, R), C), ("u5", (D, R), R), ("b", (N, D), 1)])


def chopd_inputs(seed, case):
    B, C, D, R, S = (case[letter] for letter in "BCDRS")
    G = len(case["boxes"][0])
    boxes = torch.tensor([case["boxes"][r % len(case["boxes"])] for r in range(R)], dtype=torch.float64)
    before = [("x", (B, case["grid"][0] * case["grid"][1], C), 1), ("u4", (C, R), C)]
    after = [("mix", (R, G), G), ("phi_w1", (S, C, 3, 3), 9 * C), ("phi_b1", (S,), 9 * C), ("phi_w2", (R, S), S),
             ("phi_b2", (R,), S), ("u5", (D, R), R), ("b", (D,), 1)]
    first, second = inputs(seed, before), inputs(seed + 500, after)
    return {**first, "boxes": boxes, **second}


# Boxes (y0, x0, y1, x1) from the middle of the token.
WHOLE = [(-0.5, -0.5, 0.5, 0.5), (-1.5, -2.5, 1.5, 0.5)]           # whole tokens
EDGES = [(-1.25, -0.625, 0.875, 2.375), (-2.125, 0.25, 3.0, 1.875)]
NARROW = [(-0.25, -0.375, 0.125, 0.25), (0.375, -1.0, 0.625, 1.0)]  # within a token, and across its border
OUTSIDE = [(2.5, -4.0, 4.25, -1.625), (-40.0, -40.0, -20.5, -30.0)]    # past the border for some tokens, for all
HUGE = [(-30.0, -30.0, 30.0, 30.0), (-3.125, -30.0, -1.0, 0.5)]

DEFAULT = {"B": 1, "activation": "gelu", "size": 7}
FC = {
    "square": dict(B=2, M=3, N=3, C=4, D=4),
    "oblong": dict(B=2, M=5, N=2, C=3, D=4),
    "one": dict(B=3, M=1, N=1, C=1, D=1),
}
DFC_CP = {
    "gelu": dict(B=2, M=6, N=4, C=3, D=5, R=7),
    "none": dict(B=2, M=4, N=7, C=5, D=2, R=3, activation="none"),
    "term": dict(B=1, M=5, N=5, C=1, D=3, R=1),
}
CHOPD = {
    "plane": dict(grid=(8, 7), B=2, C=3, R=4, D=5, S=3, boxes=[WHOLE, EDGES]),
    "edges": dict(grid=(9, 5), C=4, R=3, D=2, S=2, boxes=[EDGES, EDGES[::-1], NARROW], activation="none"),
    "narrow": dict(grid=(5, 6), C=2, R=2, D=3, S=4, size=3, boxes=[NARROW], activation="none"),
    "outside": dict(grid=(6, 8), B=2, C=2, R=3, D=2, S=2, size=3, activation="none",
                    boxes=[[OUTSIDE[1], OUTSIDE[0]], [HUGE[1], WHOLE[0]], [OUTSIDE[0], EDGES[1]]]),
    "small_grid": dict(grid=(3, 2), B=2, C=3, R=5, D=2, S=3, boxes=[WHOLE, NARROW, OUTSIDE, EDGES, HUGE]),
    "one_cell": dict(grid=(5, 7), C=3, R=2, D=3, S=2, size=1, boxes=[[box] for box in (EDGES[0], NARROW[1])]),
    "line": dict(grid=(1, 11), C=2, R=3, D=4, S=1, size=3, boxes=[WHOLE + EDGES, NARROW + HUGE, EDGES + OUTSIDE]),
    "wide": dict(grid=(4, 37), C=2, R=2, D=2, S=2, size=3, boxes=[EDGES, HUGE], activation="none"),
}


def main():
    layers = [("fc", fc, fc_inputs, FC), ("dfc-cp", dfc_cp, dfc_cp_inputs, DFC_CP),
              ("chopd", chopd, chopd_inputs, CHOPD)]
    for operator, layer, made, cases in layers:
        for seed, (name, given) in enumerate(cases.items(), 1):
            case = {**DEFAULT, **given}
            tensors = made(seed, case)
            tensors["y_expected"] = layer(tensors, case)
            options = [f"--grid {case['grid'][0]}x{case['grid'][1]}"] if operator == "chopd" else []
            options += [f"--gate-size {case['size']}"] if case["size"] != DEFAULT["size"] else []
            options += [f"--activation {case['activation']}"] if case["activation"] != DEFAULT["activation"] else []
            write(operator, name, tensors, " ".join(options))


if __name__ == "__main__":
    main()
