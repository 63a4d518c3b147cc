"""LiSA in PyTorch, as versus.py times it."""
import torch
import torch.nn.functional as F

CASES = {
    "lisa": dict(operator="lisa", grid=(56, 56), channels=96, sizes={"D": 16}, options=["--equation", "10"], judge="fftw"),
    "lisa-7": dict(operator="lisa", grid=(56, 56), channels=96, sizes={"D": 16}, options=["--equation", "7"], judge="fftw"),
}


def draw(case, normal):
    height, width = case["grid"]
    tokens, channels, latent = height * width, case["channels"], case["sizes"]["D"]
    if "10" in case["options"]:
        tensors = dict(wa=normal(tokens, tokens, channels, latent), wb=normal(tokens, tokens, latent))
    else:
        offsets = (2 * height - 1) * (2 * width - 1)
        tensors = dict(ea=normal(tokens, offsets, channels, latent), eb=normal(tokens, offsets, latent))
    tensors.update(ba=normal(channels, channels, latent), bb=normal(channels, channels, latent))
    return tensors


def forms(case, t):
    height, width = case["grid"]
    tokens, channels = height * width, case["channels"]

    def project():
        return F.linear(t["x"], t["w_qkv"]).chunk(3, dim=-1)

    if "10" not in case["options"]:
        height, width = 2 * height, 2 * width   # a fast size above 2n - 1

        def flip(table):                        # a correlation in e is a convolution with e flipped
            rows, columns = case["grid"]
            table = table.reshape(2 * rows - 1, 2 * columns - 1, -1).flip(0, 1)
            return F.pad(table, (0, 0, 0, 1, 0, 1)).roll((1 - rows, 1 - columns), (0, 1))

        wa = flip(t["ea"]).reshape(height, width, channels, -1)
        wb = flip(t["eb"])
    else:
        wa, wb = t["wa"].reshape(height, width, channels, -1), t["wb"].reshape(height, width, -1)
    rows, columns = case["grid"]

    def literal():
        """Fig. 7, on the grid's two axes; [N, C, D] is really there."""
        q, k, v = (a.reshape(rows, columns, channels) for a in project())
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        wa_hat, wb_hat = torch.fft.rfft2(wa, dim=(0, 1)), torch.fft.rfft2(wb, dim=(0, 1))
        k_hat, v_hat = (torch.fft.rfft2(a, s=(height, width), dim=(0, 1)) for a in (k, v))
        ga = torch.fft.irfft2(k_hat[..., None] * wa_hat, s=(height, width), dim=(0, 1))[:rows, :columns]
        gb = torch.fft.irfft2(v_hat[..., None] * wb_hat[:, :, None], s=(height, width), dim=(0, 1))[:rows, :columns]
        a = torch.einsum("yxc,yxcd->yxd", q, ga + t["ba"])
        y = torch.einsum("yxd,yxkd->yxk", a, gb + t["bb"])
        return F.linear(y.reshape(1, tokens, channels), t["w_o"])

    wa_cached = torch.fft.rfft2(wa.permute(3, 2, 0, 1).contiguous())
    wb_cached = torch.fft.rfft2(wb.permute(2, 0, 1).contiguous())
    # What a weighs are tokens, all channels alike: W_o may go before the sums.
    w_through = torch.cat([t["w_qkv"][:2 * channels], t["w_o"] @ t["w_qkv"][2 * channels:]])
    bb_through = t["w_o"] @ t["bb"]

    def streamed():
        """Channels first, spectra cached, the output projected with the value, one latent at a time."""
        q, k, v = F.linear(t["x"][0], w_through).t().contiguous().reshape(3, channels, rows, columns)
        q, k = F.normalize(q, dim=0), F.normalize(k, dim=0)
        k_hat, v_hat = torch.fft.rfft2(k, s=(height, width)), torch.fft.rfft2(v, s=(height, width))
        y = torch.zeros(channels, rows, columns)
        for d in range(case["sizes"]["D"]):
            ga = torch.fft.irfft2(k_hat * wa_cached[d], s=(height, width))[:, :rows, :columns]
            a = (q * (ga + t["ba"][:, d, None, None])).sum(0)
            gb = torch.fft.irfft2(v_hat * wb_cached[d], s=(height, width))[:, :rows, :columns]
            y.addcmul_(a.expand_as(gb), gb + bb_through[:, d, None, None])
        return y.reshape(channels, tokens).t().contiguous()[None]

    return {"literal": literal, "streamed": streamed}
