"""Self-attention in PyTorch, as versus.py times it: of the whole grid, and in windows, beside which ELSA's
7 x 7 neighbours are another function of the same sizes."""
import torch
import torch.nn.functional as F

CASES = {
    "msa": dict(operator="msa", grid=(56, 56), channels=64, sizes={}, options=[], without=["rpe"]),
    "msa-96": dict(operator="msa", grid=(56, 56), channels=96, sizes={}, options=[], without=["rpe"]),
    "window": dict(operator="msa", grid=(56, 56), channels=96, sizes={}, options=["--heads", "3", "--window", "7"],
                   without=["rpe"], beside=["elsa"]),
}


def draw(case, normal):
    return {}


def exponentials(case, tokens, heads):
    return heads * tokens ** 2


def forms(case, t):
    return windows(case, t) if "--window" in case["options"] else whole(case, t)


def windows(case, t, edge=7, heads=3):
    height, width = case["grid"]
    channels = case["channels"]

    def cut(x):         # [1, N, 3 C] -> q, k, v [windows, h, 49, c]
        x = x.reshape(height // edge, edge, width // edge, edge, 3, heads, channels // heads)
        return x.permute(4, 0, 2, 5, 1, 3, 6).reshape(3, -1, heads, edge * edge, channels // heads)

    def glue(y):
        y = y.reshape(height // edge, width // edge, heads, edge, edge, channels // heads)
        return F.linear(y.permute(0, 3, 1, 4, 2, 5).reshape(1, height * width, channels), t["w_o"])

    def plain():
        q, k, v = cut(F.linear(t["x"], t["w_qkv"]))
        return glue(F.softmax(q * (channels // heads) ** -0.5 @ k.transpose(-2, -1), dim=-1) @ v)

    def library():
        return glue(F.scaled_dot_product_attention(*cut(F.linear(t["x"], t["w_qkv"]))))

    return {"plain": plain, **({"library": library} if hasattr(F, "scaled_dot_product_attention") else {})}


def whole(case, t):
    channels = case["channels"]

    def project():
        return F.linear(t["x"], t["w_qkv"]).chunk(3, dim=-1)

    def plain():
        q, k, v = project()
        return F.linear(F.softmax(q @ k.transpose(1, 2) * channels ** -0.5, dim=-1) @ v, t["w_o"])

    def chunked():      # 256 queries at a time, so that scores stay in the cache
        q, k, v = project()
        keys = k[0].t().contiguous()
        parts = [F.softmax((part * channels ** -0.5) @ keys, dim=-1) @ v[0] for part in q[0].split(256)]
        return F.linear(torch.cat(parts)[None], t["w_o"])

    ways = {"plain": plain, "chunked": chunked}
    if hasattr(F, "scaled_dot_product_attention"):
        def library():
            return F.linear(F.scaled_dot_product_attention(*(a[:, None] for a in project()))[:, 0], t["w_o"])
        ways["library"] = library
    try:
        from torch.nn.attention.flex_attention import flex_attention
        compiled = torch.compile(flex_attention)

        def flex():
            return F.linear(compiled(*(a[:, None].contiguous() for a in project()))[:, 0], t["w_o"])
        ways["flex"] = flex
    except (ImportError, AttributeError):
        pass
    return ways
