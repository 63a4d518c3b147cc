"""HiLo in PyTorch, as versus.py times it, and three more rows of its Table 10: one attention layer
of 12 heads of 64 channels on 14 x 14 tokens."""
import torch
import torch.nn.functional as F

LAYER = dict(side="hilo", grid=(14, 14), channels=768, sizes={})
HILO = dict(LAYER, operator="hilo", options=["--heads", "12", "--window", "2", "--alpha", "0.9"],
            biases=["h_qkv_b", "h_proj_b", "l_q_b", "l_kv_b", "l_proj_b"])
MSA = dict(LAYER, operator="msa", options=["--heads", "12"], without=["rpe"])
WINDOW = dict(MSA, options=["--heads", "12", "--window", "7"])
SRA = dict(LAYER, operator="sra", options=["--heads", "12", "--reduction", "2"], biases=["b_q", "b_kv", "sr_b", "b_o"])

CASES = {
    "hilo": HILO,
    "hilo-64": dict(HILO, batch=64),
    "layer-msa": MSA,
    "layer-window": WINDOW,
    "layer-sra": SRA,
}

WIDTH = 64                      # of every head; 12 heads
HIGH, LOW = 2 * 64, 10 * 64     # channels of Hi-Fi and Lo-Fi: floor(0.9 * 12) heads are Lo-Fi's
EDGE = 2                        # of Hi-Fi's windows, of Lo-Fi's pools and of SRA's patches
IMAGES = 4                      # that stay in the cache together


def draw(case, normal):
    channels = case["channels"]
    if case["operator"] == "hilo":
        return dict(w_qkv=None, w_o=None, h_qkv=normal(channels, 3 * HIGH, channels), h_proj=normal(HIGH, HIGH, HIGH),
                    l_q=normal(channels, LOW, channels), l_kv=normal(channels, 2 * LOW, channels), l_proj=normal(LOW, LOW, LOW))
    if case["operator"] == "sra":
        return dict(w_qkv=None, w_q=normal(channels, channels, channels), w_kv=normal(channels, 2 * channels, channels),
                    sr_w=normal(channels * EDGE ** 2, channels, channels, EDGE, EDGE),
                    norm_g=normal(1, channels), norm_b=normal(channels, channels))
    return {}


def exponentials(case, tokens, heads):
    return (HIGH * EDGE ** 2 + LOW * tokens // EDGE ** 2) // WIDTH * tokens


def forms(case, t):
    tell = {"hilo": hilo, "sra": sra}.get(case["operator"], windows if "--window" in case["options"] else msa)
    ways = tell(case, t, attend)
    if hasattr(F, "scaled_dot_product_attention"):
        library = tell(case, t, F.scaled_dot_product_attention)
        ways.update({f"{name}, library's attention": way for name, way in library.items()})
    if case.get("batch", 1) == 1:
        return ways

    def by(way):        # a few images at a time, so that nothing leaves the cache
        return lambda x: torch.cat([way(part) for part in x.split(IMAGES)])

    last = list(ways)[-1]
    return {**ways, f"{last}, {IMAGES} images": lambda: by(ways[last])(t["x"])}


def attend(q, k, v):
    """Softmax attention of [..., tokens, WIDTH]."""
    return (q * WIDTH ** -0.5 @ k.transpose(-2, -1)).softmax(-1) @ v


def split(x, parts):
    """[B, N, parts h WIDTH] as parts of [B, h, N, WIDTH]."""
    return x.reshape(*x.shape[:2], parts, -1, WIDTH).permute(2, 0, 3, 1, 4)


def join(y):
    return y.transpose(1, 2).flatten(2)


def cut(x, grid, edge):
    """[B, N, C] -> [B windows, edge edge, C]"""
    height, width = grid
    x = x.reshape(-1, height // edge, edge, width // edge, edge, x.shape[-1])
    return x.transpose(2, 3).reshape(-1, edge * edge, x.shape[-1])


def glue(x, grid, edge):
    height, width = grid
    x = x.reshape(-1, height // edge, width // edge, edge, edge, x.shape[-1])
    return x.transpose(2, 3).reshape(-1, height * width, x.shape[-1])


def msa(case, t, attend):

    def plain(x=t["x"]):
        q, k, v = split(F.linear(x, t["w_qkv"]), 3)
        return F.linear(join(attend(q, k, v)), t["w_o"])

    return {"plain": plain}


def windows(case, t, attend):

    def plain(x=t["x"]):
        q, k, v = split(F.linear(cut(x, case["grid"], 7), t["w_qkv"]), 3)
        return glue(F.linear(join(attend(q, k, v)), t["w_o"]), case["grid"], 7)

    return {"plain": plain}


def sra(case, t, attend):
    height, width = case["grid"]
    channels = case["channels"]
    rows = t["sr_w"].permute(0, 2, 3, 1).reshape(channels, -1).contiguous()

    def answer(x, reduced):
        reduced = F.layer_norm(reduced, (channels,), t["norm_g"], t["norm_b"], 1e-5)
        (q,), (k, v) = split(F.linear(x, t["w_q"]), 1), split(F.linear(reduced, t["w_kv"]), 2)
        return F.linear(join(attend(q, k, v)), t["w_o"])

    def literal(x=t["x"]):      # as PVT's module: a convolution of the plane
        plane = x.transpose(1, 2).reshape(-1, channels, height, width)
        return answer(x, F.conv2d(plane, t["sr_w"], stride=EDGE).flatten(2).transpose(1, 2))

    def patches(x=t["x"]):      # the same as one matrix product
        cut = x.reshape(-1, height // EDGE, EDGE, width // EDGE, EDGE * channels).transpose(2, 3)
        return answer(x, F.linear(cut.reshape(x.shape[0], -1, EDGE * EDGE * channels), rows))

    return {"literal": literal, "patches": patches}


def hilo(case, t, attend):
    height, width = case["grid"]
    tall, wide, taps = height // EDGE, width // EDGE, EDGE * EDGE
    first = torch.cat([t["h_qkv"], t["l_q"]]).contiguous()

    def literal(x=t["x"]):      # two branches as the authors' module has them
        q, k, v = split(F.linear(cut(x, case["grid"], EDGE), t["h_qkv"]), 3)
        high = F.linear(glue(join(attend(q, k, v)), case["grid"], EDGE), t["h_proj"])
        pooled = F.avg_pool2d(x.transpose(1, 2).reshape(-1, x.shape[-1], height, width), EDGE).flatten(2).transpose(1, 2)
        (q,), (k, v) = split(F.linear(x, t["l_q"]), 1), split(F.linear(pooled, t["l_kv"]), 2)
        return torch.cat([high, F.linear(join(attend(q, k, v)), t["l_proj"])], -1)

    def merged(x=t["x"]):       # one projection for all that every token needs, 4 x 4 scores as sums, pools of slices
        both = F.linear(x, first)
        heads = both[..., :3 * HIGH].reshape(-1, tall, EDGE, wide, EDGE, 3, HIGH // WIDTH, WIDTH)
        q, k, v = heads.permute(5, 0, 1, 3, 6, 2, 4, 7).reshape(3, -1, taps, WIDTH)
        scores = torch.stack([(q * k[:, j:j + 1]).sum(-1) for j in range(taps)], -1)
        weights = (scores * WIDTH ** -0.5).softmax(-1)
        high = sum(weights[..., j:j + 1] * v[:, j:j + 1] for j in range(taps))
        high = high.reshape(-1, tall, wide, HIGH // WIDTH, EDGE, EDGE, WIDTH)
        high = F.linear(high.permute(0, 1, 4, 2, 5, 3, 6).reshape(-1, height * width, HIGH), t["h_proj"])
        plane = x.reshape(-1, tall, EDGE, wide, EDGE, x.shape[-1])
        pooled = sum(plane[:, :, dy, :, dx] for dy in range(EDGE) for dx in range(EDGE)) / taps
        (q,), (k, v) = split(both[..., 3 * HIGH:], 1), split(F.linear(pooled.flatten(1, 2), t["l_kv"]), 2)
        return torch.cat([high, F.linear(join(attend(q, k, v)), t["l_proj"])], -1)

    return {"literal": literal, "merged": merged}
