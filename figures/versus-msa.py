"""Self-attention in PyTorch, as versus.py times it."""
import torch
import torch.nn.functional as F

CASES = {
    "msa": dict(operator="msa", grid=(56, 56), channels=64, sizes={}, options=[], without=["rpe"]),
}


def draw(case, normal):
    return {}


def forms(case, t):
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

    return {"plain": plain, "chunked": chunked}
