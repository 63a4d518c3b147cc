"""The ChoP'D layer in PyTorch, as versus.py times it; and its pooling alone, on planes, with boxes of whole
tokens and with edges inside tokens."""
import torch
import torch.nn.functional as F

LAYER = dict(operator="chopd", grid=(56, 56), channels=96, biases=[], sizes={"D": 96, "R": 96, "G": 4, "S": 24},
             judge=None)                        # the naive form's tensor would take 362 GB


def alone(edges):
    """A case whose twicetold apply pools and does nothing else: u4 and u5 of ones, a gate of 1."""
    program = {f"ours{'' if layout == 'planes' else ', by token'}":
               ["figures/chopd-pooling", layout, edges, "56", "96", "4"] for layout in ("planes", "tokens")}
    return dict(LAYER, options=["--activation", "none"], edges=edges, programs=program)


CASES = {
    "chopd": dict(LAYER, options=[], edges="fractional"),
    "chopd-pool-whole": alone("whole"),
    "chopd-pool-edges": alone("fractional"),
}


def draw(case, normal):
    channels, (D, R, G, S) = case["channels"], (case["sizes"][letter] for letter in "DRGS")
    middle, half = 3 * normal(1, R, G, 2), 0.25 + 3 * normal(1, R, G, 2).abs()
    low, high = middle - half, middle + half
    if case["edges"] == "whole":
        low = low.floor() + 0.5
        high = torch.maximum(high.floor() + 0.5, low + 1)
    t = dict(w_qkv=None, w_o=None, boxes=torch.cat([low, high], -1), mix=normal(G, R, G),
             phi_w1=normal(9 * channels, S, channels, 3, 3), phi_b1=normal(9 * channels, S),
             phi_w2=normal(S, R, S), phi_b2=normal(S, R))
    if "programs" in case:
        return dict(t, u4=torch.eye(channels), u5=torch.eye(channels), b=torch.zeros(D),
                    phi_w2=torch.zeros(R, S), phi_b2=torch.full((R,), 40.0))
    return dict(t, u4=normal(channels, channels, R), u5=normal(R, D, R), b=normal(1, D))


# ---- ways to pool [R, H, W] over the boxes ------------------------------------

def positions(low, high, size):
    """Edges around every token of an axis as places in a table of running sums, [R, G, size] each."""
    at = torch.arange(size) + 0.5
    return (low[..., None] + at).clamp(0, size), (high[..., None] + at).clamp(0, size)


def overlaps(low, high, size):
    """[R, G, size, size]: how much of token m (last) the box around token n holds."""
    left, right = positions(low, high, size)
    m = torch.arange(size).float()
    return (torch.minimum(right[..., None], m + 1) - torch.maximum(left[..., None], m)).clamp(min=0)


def poolings(case, t):
    """name -> function of planes; what depends on the boxes alone is made beforehand."""
    height, width = case["grid"]
    boxes, mix = t["boxes"], t["mix"]
    R, G = mix.shape
    y0, x0, y1, x1 = boxes.unbind(-1)
    weight = mix / ((y1 - y0) * (x1 - x0))
    whole = case["edges"] == "whole"

    # Crow's four corners, bilinear where edges lie inside tokens: the sampler's own work.
    def literal():
        rows, columns = positions(y0, y1, height), positions(x0, x1, width)
        places = torch.stack([torch.stack([(2 * column / width - 1)[:, :, None, :].expand(R, G, height, width),
                                           (2 * row / height - 1)[:, :, :, None].expand(R, G, height, width)], -1)
                              for row in rows for column in columns], 1).reshape(R, 4 * G * height, width, 2)
        signed = (torch.tensor([1.0, -1.0, -1.0, 1.0])[None, :, None] * weight[:, None]).reshape(R, 1, 4 * G)

        def run(planes):
            table = F.pad(planes, (1, 0, 1, 0)).cumsum(1).cumsum(2)
            corner = F.grid_sample(table[:, None], places, align_corners=True, padding_mode="border")
            return (signed @ corner.reshape(R, 4 * G, -1)).reshape(R, height, width)
        return run

    # One axis after the other, so that what is gathered are whole rows: one for an edge between tokens, two for
    # one inside a token.  Every box has a table of its own along the second axis.
    def gathered():
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

        def run(planes):
            table = F.pad(planes, (0, 0, 1, 0)).cumsum(1).reshape(-1, width)
            tall = edge(table, bottom).sub_(edge(table, top)).reshape(R, G, height, width)
            tall.mul_(weight[:, :, None, None])
            table = F.pad(tall.transpose(2, 3), (0, 0, 1, 0)).cumsum(2).reshape(-1, height)
            wide = edge(table, right).sub_(edge(table, left))
            return wide.reshape(R, G, width, height).sum(1).transpose(1, 2)
        return run

    # No running sums: the means along an axis are a matrix, and BLAS multiplies.  What a token costs grows with
    # the side of the grid.
    def matrices():
        down = (weight[:, :, None, None] * overlaps(y0, y1, height)).transpose(1, 2).reshape(R, height, G * height)
        across = overlaps(x0, x1, width).reshape(R, G * width, width).transpose(1, 2).contiguous()      # [R, W, G W]

        def run(planes):
            wide = torch.bmm(planes, across).reshape(R, height, G, width)
            return torch.bmm(down, wide.transpose(1, 2).reshape(R, G * height, width))
        return run

    return {"literal": literal(), "gathered": gathered(), "matrices": matrices()}


def forms(case, t):
    height, width = case["grid"]
    ways = poolings(case, t)
    if "programs" in case:
        planes = t["x"][0].t().reshape(-1, height, width).contiguous()
        t["again"] = lambda: planes.copy_(t["x"][0].t().reshape(-1, height, width))
        return {name: (lambda pool: lambda: pool(planes).flatten(1).t()[None])(pool) for name, pool in ways.items()}

    u4 = t["u4"].t().contiguous()

    def layer(pool):
        def run():
            x = t["x"].transpose(1, 2)                                          # [1, C, N]
            z = (u4 @ x[0]).reshape(-1, height, width)
            small = F.adaptive_avg_pool2d(x.reshape(1, -1, height, width), 7)
            small = F.gelu(F.conv2d(small, t["phi_w1"], t["phi_b1"], padding=1))
            small = torch.sigmoid(F.conv2d(small, t["phi_w2"][:, :, None, None], t["phi_b2"]))
            gate = F.interpolate(small, (height, width), mode="bilinear", align_corners=False)[0]
            y = F.linear((pool(z) * gate).flatten(1).t(), t["u5"], t["b"])
            return F.gelu(y)[None]
        return run

    return {name: layer(pool) for name, pool in ways.items()}
