"""ELSA in PyTorch, as versus.py times it: Algorithm 4, mended, and the ghost head."""
import torch
import torch.nn.functional as F

CASES = {
    "elsa": dict(operator="elsa", grid=(56, 56), channels=96, sizes={}, options=["--kernel", "7", "--heads", "3"]),
}


def draw(case, normal):
    channels = case["channels"]
    return dict(rk=normal(channels, channels, 3, 49), rq=normal(channels, channels, 3, 49), rb=normal(1, 3, 49),
                ghost_mul=normal(1, channels, 49), ghost_add=normal(49, channels, 49))


def exponentials(case, tokens, heads):
    return heads * tokens * 7 ** 2


def forms(case, t):
    height, width = case["grid"]
    channels, heads, kernel = case["channels"], 3, 7
    maps = heads * kernel * kernel

    # One 1 x 1 convolution to both halves, interleaved as the grouped convolution wants them.
    both = torch.stack([t["rk"].reshape(channels, maps), t["rq"].reshape(channels, maps)], -1)
    weight = both.reshape(channels, 2 * maps).t().contiguous()[:, :, None, None]
    shift = torch.zeros(maps, 2, kernel, kernel)
    for i in range(maps):
        n = i % (kernel * kernel)
        shift[i, 0, kernel // 2, kernel // 2] = 1
        shift[i, 1, n // kernel, n % kernel] = 1
    bias = t["rb"].reshape(maps)
    pads = [(n // kernel, n % kernel) for n in range(kernel * kernel)]

    def project():
        return F.linear(t["x"][0], t["w_qkv"]).t().reshape(3, channels, height, width)

    def apply(attention, v):
        """Filters [h, K K, H, W] bent for every channel and applied, a neighbour at a time."""
        padded = F.pad(v, (3, 3, 3, 3)).reshape(channels // heads, heads, height + 6, width + 6)
        mul = t["ghost_mul"].reshape(channels // heads, heads, -1)
        add = t["ghost_add"].reshape(channels // heads, heads, -1)
        y = torch.zeros(channels // heads, heads, height, width)
        for n, (dy, dx) in enumerate(pads):
            filters = torch.addcmul(add[:, :, n, None, None], mul[:, :, n, None, None], attention[None, :, n])
            y.addcmul_(filters, padded[:, :, dy:dy + height, dx:dx + width])
        return F.linear(y.reshape(channels, -1).t()[None], t["w_o"])

    def attention_4(q, k):
        halves = F.conv2d((q * k)[None], weight)
        logits = F.conv2d(halves, shift, bias, padding=kernel // 2, groups=maps)
        return logits.reshape(heads, -1, height, width).softmax(1)

    def algorithm_4():
        q, k, v = project()
        return apply(attention_4(q, k), v)

    def literal():      # Algorithms 4 and 1 as printed: all filters, and the values unfolded
        q, k, v = project()
        attention = attention_4(q, k).reshape(1, heads, kernel * kernel, -1)
        filters = (t["ghost_mul"].reshape(channels // heads, heads, -1, 1) * attention
                   + t["ghost_add"].reshape(channels // heads, heads, -1, 1))
        values = F.unfold(v[None], kernel, padding=kernel // 2).reshape(channels // heads, heads, kernel * kernel, -1)
        return F.linear((filters * values).sum(2).reshape(channels, -1).t()[None], t["w_o"])

    def sliced():       # the shift by slices in place of a convolution
        q, k, v = project()
        z = (q * k).reshape(channels, -1)
        own = (t["rk"].reshape(channels, maps).t() @ z).reshape(heads, -1, height, width)
        other = F.pad((t["rq"].reshape(channels, maps).t() @ z).reshape(heads, -1, height, width), (3, 3, 3, 3))
        own += t["rb"][:, :, None, None]
        for n, (dy, dx) in enumerate(pads):
            own[:, n] += other[:, n, dy:dy + height, dx:dx + width]
        return apply(own.softmax(1), v)

    return {"literal": literal, "algorithm 4": algorithm_4, "sliced": sliced}
