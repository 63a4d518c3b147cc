"""StructSA in PyTorch, as versus.py times it: Eq. 15, convolutions first."""
import torch
import torch.nn.functional as F

CASES = {
    "structsa": dict(operator="structsa", grid=(28, 28), channels=384, sizes={"D": 8},
                     options=["--kernel", "3x3", "--heads", "6"], judge="permuted"),
}


def draw(case, normal):
    channels, patterns = case["channels"], case["sizes"]["D"]
    return dict(hk=normal(9 * channels // 6, patterns, 9, channels), hv=normal(9, patterns, 9, channels))


def exponentials(case, tokens, heads):
    return heads * case["sizes"]["D"] * tokens ** 2


def forms(case, t):
    height, width = case["grid"]
    tokens, channels, heads, patterns = height * width, case["channels"], 6, case["sizes"]["D"]
    head = channels // heads

    def filters(h):                             # [D, M, C] as grouped kernels [C D, 1, 3, 3]
        return h.permute(2, 0, 1).reshape(channels * patterns, 1, 3, 3).contiguous()

    hk, hv = filters(t["hk"]), filters(t["hv"])

    def virtual():
        """Queries [h, N, c]; virtual keys and values [h, c, D N]."""
        q, k, v = F.linear(t["x"][0], t["w_qkv"]).t().reshape(3, 1, channels, height, width)
        key = F.conv2d(k, hk, padding=1, groups=channels).reshape(heads, head, patterns * tokens)
        value = F.conv2d(v, hv, padding=1, groups=channels).reshape(heads, head, patterns * tokens)
        return q.reshape(heads, head, tokens).transpose(1, 2), key, value

    def join(y):                                # [h, N, c]
        return F.linear(y.transpose(0, 1).reshape(1, tokens, channels), t["w_o"])

    def plain():
        q, key, value = virtual()
        return join(F.softmax(q @ key, dim=-1) @ value.transpose(1, 2))

    def chunked():      # one head and 98 queries at a time, so that scores stay in the cache
        q, key, value = virtual()
        value = value.transpose(1, 2).contiguous()
        y = [torch.cat([F.softmax(part @ key[a], dim=-1) @ value[a] for part in q[a].contiguous().split(98)])
             for a in range(heads)]
        return join(torch.stack(y))

    ways = {"plain": plain, "chunked": chunked}
    if hasattr(F, "scaled_dot_product_attention"):
        def library():                          # which divides scores by the root of c
            q, key, value = (a[None] for a in virtual())
            y = F.scaled_dot_product_attention(q * head ** 0.5, key.transpose(2, 3).contiguous(),
                                               value.transpose(2, 3).contiguous())
            return join(y[0])
        ways["library"] = library
    return ways
