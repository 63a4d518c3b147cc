"""Golden vectors for kernels and tables on another grid, by PyTorch's interpolation; see _golden.py.

x is a kernel or a table [entries, channels]; y_expected is the same on another grid.
"""

import torch
import torch.nn.functional as F

from _golden import folder, random_numbers, write


def bicubic(x, old, new, aligned=False):
    """F.interpolate of x [old, channels] on a plane."""
    plane = x.reshape(1, *old, -1).permute(0, 3, 1, 2)
    return F.interpolate(plane, size=new, mode="bicubic", align_corners=aligned).permute(0, 2, 3, 1).reshape(
        new[0] * new[1], -1)


def spectrum(x, old, new):
    """Half spectra interpolated along their bins, as in GFNet's main_gfnet.py."""
    half = torch.view_as_real(torch.fft.rfft2(x.reshape(*old, -1), dim=(0, 1)))
    bins = bicubic(half.reshape(old[0] * (old[1] // 2 + 1), -1), half.shape[:2], (new[0], new[1] // 2 + 1), True)
    bins = torch.view_as_complex(bins.reshape(new[0], new[1] // 2 + 1, -1, 2).contiguous())
    return torch.fft.irfft2(bins, s=new, dim=(0, 1)).reshape(new[0] * new[1], -1)


def offsets(grid):
    return tuple(2 * n - 1 for n in grid)


CASES = {
    "spectrum": (spectrum, (6, 5), (9, 8)),
    "spectrum_even": (spectrum, (4, 6), (7, 11)),
    "spectrum_smaller": (spectrum, (6, 8), (5, 4)),
    "tokens": (bicubic, (4, 3), (6, 7)),
    "tokens_smaller": (bicubic, (7, 4), (3, 4)),
    "offsets": (bicubic, offsets((3, 2)), offsets((4, 5))),
}


def main():
    (folder() / "resample").mkdir(exist_ok=True)
    for seed, (name, (rule, old, new)) in enumerate(CASES.items(), 1):
        x = random_numbers(seed, (old[0] * old[1], 2), 1)
        write("resample/plane", name, {"x": x, "y_expected": rule(x, old, new)},
              "--from %dx%d --to %dx%d" % (old + new))


main()
