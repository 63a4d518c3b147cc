"""What the depth-wise 3 x 3 convolutions of LITv2-S take in PyTorch: the network with them and without.

    python3 figures/networks-depthwise.py >figures/networks-depthwise.tsv

The committed table has a row for each of two PyTorches.  The network is that of
versus-networks.py, one image of 224 x 224, one thread, eager; without means that
what enters a convolution leaves it.  The least processor time of so many runs, both
in turn.  Refuses to be a benchmark: it shows one share.  Needs torch and numpy.
"""

import importlib
import pathlib
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch
import torch.nn.functional as F

RUNS = 9
side = importlib.import_module("versus-networks")
torch.set_num_threads(1)
convolve = F.conv2d


def passing(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return x if groups > 1 else convolve(x, weight, bias, stride, padding, dilation, groups)


def main():
    generator = torch.Generator().manual_seed(1)

    def normal(fan, *shape):
        return torch.randn(*shape, generator=generator) / fan ** 0.5

    case = side.CASES["litv2-s"]
    t = {**side.draw(case, normal), "x": normal(1, 1, 224 * 224, 3)}
    run, least = side.forms(case, t)["literal"], {convolve: float("inf"), passing: float("inf")}
    with torch.inference_mode():
        for _ in range(RUNS + 1):
            for way in least:
                F.conv2d = way
                start = time.process_time()
                run()
                least[way] = min(least[way], time.process_time() - start)
    print(f"# one image, eager, one thread; the least of {RUNS} runs, processor time")
    print("#network\tpytorch\tall_seconds\twithout_seconds\tshare")
    whole, bare, version = least[convolve], least[passing], torch.__version__.split("+")[0]
    print(f"litv2-s\t{version}\t{whole:.4g}\t{bare:.4g}\t{100 * (1 - bare / whole):.0f} %")


main()
