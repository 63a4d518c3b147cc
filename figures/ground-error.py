#!/usr/bin/env python3
"""The rounding error of PyTorch's self-attention, against the keys: lines for ground-error.tsv.

    python3 figures/ground-error.py KEYS...

As figures/ground-error.c: 96 queries of 64 channels meet so many keys, all numbers standard normal, in
float; the error is the root mean square difference from the same in double, over the root mean square of that.
"""
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_grad_enabled(False)
torch.set_num_threads(1)


def plain(q, k, v):
    return F.softmax(q @ k.transpose(-1, -2) * 64 ** -0.5, dim=-1) @ v


print(f"# PyTorch {torch.__version__.split('+')[0]}, on one thread")
for keys in map(int, sys.argv[1:]):
    q, k, v = torch.randn(1, 1, 96, 64), torch.randn(1, 1, keys, 64), torch.randn(1, 1, keys, 64)
    exact = plain(q.double(), k.double(), v.double())
    for name, way in (("plain", plain), ("sdpa", F.scaled_dot_product_attention)):
        error = float(((way(q, k, v).double() - exact).square().mean() / exact.square().mean()).sqrt())
        print(f"pytorch\t{name}\t{keys}\t{error:.3g}\t{error * 2 ** 24:.3g}")
