"""ChoP'D ("Chopping Formers"), literally (Eq. 2, Eq. 3, Eq. 3 with Eq. 5, Eq. 10) and as timed; see _golden.py.

The literal form divides each token into 8 x 8 cells, and edges of boxes lie between cells.
"""

import torch
import torch.nn.functional as F

from _golden import inputs, planes, tokens, write

# ---- literal form ----

CELLS = 8       # per token and axis


def fc(t, case):
    """Eq. 2: one matrix for all tokens and channels."""
    tokens, channels = t["w"].shape[1], t["w"].shape[3]
    matrix = t["w"].permute(1, 3, 0, 2).flatten(2).flatten(0, 1)
    return F.linear(t["x"].flatten(1), matrix).reshape(-1, tokens, channels)


def finish(y, case):
    return F.gelu(y) if case["activation"] == "gelu" else y


def dfc(t, case):
    """Eq. 3, with a bias or without."""
    return finish(torch.einsum("imc,imncd->ind", t["x"], t["w"]) + t.get("b", 0), case)


def dfc_cp(t, case):
    """Eq. 5 in Eq. 3, with the whole tensor of each image; relative: Eq. 6 with a depth-wise convolution."""
    if "grid" in case:
        z, (height, width) = planes(t["x"] @ t["u4"], case["grid"]), case["grid"]
        kernel = t["u2"].t().reshape(-1, 1, 2 * height - 1, 2 * width - 1)
        z = tokens(F.conv2d(z, kernel, padding=(height - 1, width - 1), groups=len(kernel)))
        return finish((z * t["u3"] * t["u1"][:, None]) @ t["u5"].t() + t["b"], case)
    w = torch.einsum("ir,mr,nr,cr,dr->imncd", *(t[f"u{k}"] for k in range(1, 6)))
    return finish(torch.einsum("imc,imncd->ind", t["x"], w) + t["b"], case)


def mean_over(box, plane):
    """[B, H, W] -> [B, H, W]: the mean over the box around each token; zeros outside the grid."""
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


def mean_over_boxes(z, boxes, mix):
    """[B, R, H, W] -> [B, R, H, W]: the mixed means over each component's boxes."""
    return torch.stack([sum(weight * mean_over(box, z[:, r]) for box, weight in zip(boxes[r], mix[r]))
                        for r in range(z.shape[1])], 1)


def chopd(t, case):
    """Eq. 10, on planes."""
    x = planes(t["x"], case["grid"])
    z = F.conv2d(x, t["u4"].t()[:, :, None, None])
    pooled = mean_over_boxes(z, t["boxes"], t["mix"]) * phi(t, x, case["grid"], case["size"])
    return finish(tokens(F.conv2d(pooled, t["u5"][:, :, None, None], t["b"])), case)


# ---- timed forms: pooling of planes [B, R, H, W] over the boxes ----

def positions(low, high, size):
    """Both edges around each token of an axis, as positions in a table of running sums, [R, G, size] each."""
    at = torch.arange(size, dtype=low.dtype) + 0.5
    return (low[..., None] + at).clamp(0, size), (high[..., None] + at).clamp(0, size)


def overlaps(low, high, size):
    """[R, G, n, m]: the share of token m in the box around token n."""
    left, right = positions(low, high, size)
    m = torch.arange(size, dtype=low.dtype)
    return (torch.minimum(right[..., None], m + 1) - torch.maximum(left[..., None], m)).clamp(min=0)


def weights_of(boxes, mix):
    """Each box's weight in the mix, divided by its area."""
    y0, x0, y1, x1 = boxes.unbind(-1)
    return mix / ((y1 - y0) * (x1 - x0))


def corners(boxes, mix, grid):
    """Crow's four corners; grid_sample interpolates for edges inside tokens.  One image."""
    (height, width), (R, G) = grid, mix.shape
    y0, x0, y1, x1 = boxes.unbind(-1)
    rows, columns = positions(y0, y1, height), positions(x0, x1, width)
    places = torch.stack([torch.stack([(2 * column / width - 1)[:, :, None, :].expand(R, G, height, width),
                                       (2 * row / height - 1)[:, :, :, None].expand(R, G, height, width)], -1)
                          for row in rows for column in columns], 1).reshape(R, 4 * G * height, width, 2)
    signs = torch.tensor([1.0, -1.0, -1.0, 1.0])
    signed = (signs[:, None] * weights_of(boxes, mix)[:, None]).reshape(R, 1, 4 * G)

    def run(z):
        table = F.pad(z[0], (1, 0, 1, 0)).cumsum(1).cumsum(2)
        corner = F.grid_sample(table[:, None], places, align_corners=True, padding_mode="border")
        return (signed @ corner.reshape(R, 4 * G, -1)).reshape(1, R, height, width)
    return run


def gathered(boxes, mix, grid):
    """Running sums along the height, a table per component, then along the width, a table per box.  Gathers whole rows:
    one per edge if all edges lie between tokens, otherwise two.  One image."""
    (height, width), (R, G) = grid, mix.shape
    y0, x0, y1, x1 = boxes.unbind(-1)
    whole = bool((boxes == boxes.floor() + 0.5).all())
    weight = weights_of(boxes, mix)[:, :, None, None]

    def pick(place, size, table):
        low = place.floor().long().clamp(max=size - 1)
        part = place - low
        return (table * (size + 1) + low + (part.round().long() if whole else 0)).flatten(), part.reshape(-1, 1)

    def edge(table, picked):
        rows, part = picked
        low = table.index_select(0, rows)
        return low if whole else torch.lerp(low, table.index_select(0, rows + 1), part)

    component, box = torch.arange(R)[:, None, None], torch.arange(R * G).reshape(R, G, 1)
    top, bottom = (pick(place, height, component) for place in positions(y0, y1, height))
    left, right = (pick(place, width, box) for place in positions(x0, x1, width))

    def run(z):
        table = F.pad(z[0], (0, 0, 1, 0)).cumsum(1).reshape(-1, width)
        tall = edge(table, bottom).sub_(edge(table, top)).reshape(R, G, height, width).mul_(weight)
        table = F.pad(tall.transpose(2, 3), (0, 0, 1, 0)).cumsum(2).reshape(-1, height)
        wide = edge(table, right).sub_(edge(table, left))
        return wide.reshape(R, G, width, height).sum(1).transpose(1, 2)[None]
    return run


def matrices(boxes, mix, grid):
    """Means along each axis as a product with a matrix; the cost per token grows with the side of the grid."""
    (height, width), (R, G) = grid, mix.shape
    y0, x0, y1, x1 = boxes.unbind(-1)
    down = weights_of(boxes, mix)[:, :, None, None] * overlaps(y0, y1, height)
    down = down.transpose(1, 2).reshape(R, height, G * height)
    across = overlaps(x0, x1, width).reshape(R, G * width, width).transpose(1, 2).contiguous()       # [R, W, G W]

    def run(z):
        wide = (z @ across).unflatten(-1, (G, width)).transpose(-2, -3)
        return down @ wide.flatten(-3, -2)
    return run


WAYS = {"literal": corners, "gathered": gathered, "matrices": matrices}
LAYER = dict(grid=(56, 56), C=96, sizes={"D": 96, "R": 96, "G": 4, "S": 24}, options={}, without="", edges="fractional",
             judge=None)                        # the naive form's tensor would take 362 GB


def alone(edges):
    """A layer that only pools: u4 and u5 are the identity, the gate is 1.  Inputs and outputs are planes."""
    return dict(LAYER, options={"activation": "none"}, edges=edges,
                programs={"ours": f"figures/bench/chopd-boxes {edges} 56 96 4"})


TIMED = {"chopd": LAYER, "chopd-pool-whole": alone("whole"), "chopd-pool-edges": alone("fractional")}


def timed_inputs(case, draw):
    (before, after), R, G = rows({**case, **case["sizes"], "B": 1}), case["sizes"]["R"], case["sizes"]["G"]
    middle, half = draw([("middle", (R, G, 2), 1 / 9), ("half", (R, G, 2), 1 / 9)]).values()
    low, high = middle - half.abs() - 0.25, middle + half.abs() + 0.25
    if case["edges"] == "whole":
        low = low.floor() + 0.5
        high = torch.maximum(high.floor() + 0.5, low + 1)
    t = {**draw(before + after), "boxes": torch.cat([low, high], -1)}
    if "programs" in case:
        ones = torch.eye(case["C"])
        t.update(u4=ones, u5=ones, b=torch.zeros(R), phi_w2=0 * t["phi_w2"], phi_b2=torch.full((R,), 40.0))
    return t


def given(case, x):
    """x as the argument of a timed form; made before timing."""
    return planes(x, case["grid"]).contiguous() if "programs" in case else x


def timed(case, t):
    def layer(pool):
        def run(x):
            x, z = planes(x, case["grid"]), u4 @ x[0].t()
            pooled = pool(z.reshape(1, -1, *case["grid"])) * phi(t, x, case["grid"], 7)
            return F.gelu(F.linear(tokens(pooled), t["u5"], t["b"]))
        return run

    ways, u4 = {name: way(t["boxes"], t["mix"], case["grid"]) for name, way in WAYS.items()}, t["u4"].t().contiguous()
    if "programs" in case:
        return {name: lambda z, pool=pool: tokens(pool(z)) for name, pool in ways.items()}
    return {name: layer(pool) for name, pool in ways.items()}


# ---- golden vectors ----

def dfc_rows(case, *image):
    """`image`: the batch, if each image has its own weights."""
    B, M, N, C, D = (case[letter] for letter in "BMNCD")
    return [("x", (B, M, C), 1), ("w", (*image, M, N, C, D), M * C),
            *[("b", (N, D), 1)] * (bool(image) and case["activation"] == "gelu")]


def dfc_cp_rows(case):
    B, M, N, C, D, R = (case[letter] for letter in "BMNCDR")
    P = (2 * case["grid"][0] - 1) * (2 * case["grid"][1] - 1) if "grid" in case else M
    return [("x", (B, M, C), 1), ("u1", (B, R), 1), ("u2", (P, R), M), ("u3", (N, R), 1), ("u4", (C, R), C),
            ("u5", (D, R), R), ("b", (N, D), 1)]


def rows(case):
    """Tensors before the boxes, and after them."""
    B, C, D, R, S, G = (case[letter] for letter in "BCDRSG")
    return ([("x", (B, case["grid"][0] * case["grid"][1], C), 1), ("u4", (C, R), C)],
            [("mix", (R, G), G), ("phi_w1", (S, C, 3, 3), 9 * C), ("phi_b1", (S,), 9 * C), ("phi_w2", (R, S), S),
             ("phi_b2", (R,), S), ("u5", (D, R), R), ("b", (D,), 1)])


def chopd_inputs(seed, case):
    before, after = rows({**case, "G": len(case["boxes"][0])})
    boxes = torch.tensor([case["boxes"][r % len(case["boxes"])] for r in range(case["R"])], dtype=torch.float64)
    return {**inputs(seed, before), "boxes": boxes, **inputs(seed + 500, after)}


# Boxes (y0, x0, y1, x1), relative to the token's centre.
WHOLE = [(-0.5, -0.5, 0.5, 0.5), (-1.5, -2.5, 1.5, 0.5)]           # whole tokens
EDGES = [(-1.25, -0.625, 0.875, 2.375), (-2.125, 0.25, 3.0, 1.875)]
NARROW = [(-0.25, -0.375, 0.125, 0.25), (0.375, -1.0, 0.625, 1.0)]  # inside a token, and across its border
OUTSIDE = [(2.5, -4.0, 4.25, -1.625), (-40.0, -40.0, -20.5, -30.0)]    # off the grid for some tokens; for all
HUGE = [(-30.0, -30.0, 30.0, 30.0), (-3.125, -30.0, -1.0, 0.5)]

DEFAULT = {"B": 1, "activation": "gelu", "size": 7}
FC = {
    "square": dict(B=2, M=3, N=3, C=4, D=4),
    "oblong": dict(B=2, M=5, N=2, C=3, D=4),
    "one": dict(B=3, M=1, N=1, C=1, D=1),
}
DFC = {
    "gelu": dict(B=2, M=5, N=3, C=2, D=4),
    "none": dict(B=3, M=2, N=4, C=3, D=3, activation="none"),
}
DFC_CP = {
    "gelu": dict(B=2, M=6, N=4, C=3, D=5, R=7),
    "none": dict(B=2, M=4, N=7, C=5, D=2, R=3, activation="none"),
    "term": dict(B=1, M=5, N=5, C=1, D=3, R=1),
    "relative": dict(B=2, M=6, N=6, C=3, D=4, R=5, grid=(2, 3)),
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
    layers = [("fc", fc, lambda seed, case: inputs(seed, dfc_rows(case)), FC),
              ("dfc", dfc, lambda seed, case: inputs(seed, dfc_rows(case, case["B"])), DFC),
              ("dfc-cp", dfc_cp, lambda seed, case: inputs(seed, dfc_cp_rows(case)), DFC_CP),
              ("chopd", chopd, chopd_inputs, CHOPD)]
    for operator, layer, made, cases in layers:
        for seed, (name, given) in enumerate(cases.items(), 1):
            case = {**DEFAULT, **given}
            tensors = made(seed, case)
            tensors["y_expected"] = layer(tensors, case)
            options = [f"--grid {case['grid'][0]}x{case['grid'][1]}"] if "grid" in case else []
            options += ["--positions relative"] if operator == "dfc-cp" and "grid" in case else []
            options += [f"--gate-size {case['size']}"] if case["size"] != DEFAULT["size"] else []
            options += [f"--activation {case['activation']}"] if case["activation"] != DEFAULT["activation"] else []
            write(operator, name, tensors, " ".join(options))


if __name__ == "__main__":
    main()
