"""The share of the depth-wise 3 x 3 convolutions in the time of LITv2-S in PyTorch: the network with and without them.

    python3 figures/bench/networks-depthwise.py >figures/networks/networks-depthwise.tsv

Prints one row, for the installed version of PyTorch.  The network is that of versus.py: one image of 224 x 224, one
thread, eager.  In the second network each depth-wise convolution returns its input.  Each time is the minimum wall time
of RUNS runs; the two networks alternate.  The committed table has rows of two versions, in processor time.
"""
import time

import versus               # first: it sets sys.path
import torch
import torch.nn.functional as F

RUNS = 9
convolve = F.conv2d


def passing(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return x if groups > 1 else convolve(x, weight, bias, stride, padding, dilation, groups)


def main():
    torch.set_num_threads(1)
    case = versus.CASES["litv2-s"]
    t = versus.draw(case)
    run, least = case["side"].timed(case, t)["literal"], {convolve: float("inf"), passing: float("inf")}
    with torch.inference_mode():
        for _ in range(RUNS):
            for way in least:
                F.conv2d = way
                start = time.perf_counter()
                run(t["x"])
                least[way] = min(least[way], time.perf_counter() - start)
    print(f"# one image, eager, one thread; the least of {RUNS} runs")
    print("#network\tpytorch\tall_seconds\twithout_seconds\tshare")
    whole, bare, version = least[convolve], least[passing], torch.__version__.split("+")[0]
    print(f"litv2-s\t{version}\t{whole:.4g}\t{bare:.4g}\t{100 * (1 - bare / whole):.0f} %")


main()
