"""Shared by the operators in PyTorch: inputs, layouts, attention, safetensors files.

    python3 tests/pytorch/OPERATOR.py [FOLDER]      writes golden vectors (default: into tests/golden)

OPERATOR.py has an operator's literal form, by the equations of the paper, and the forms that figures/bench/versus.py
times (TIMED, timed_inputs, timed).  A golden vector holds inputs and the literal form's result, in float64.
float32 represents the inputs exactly, so one file serves both precisions.  Tensors have the names of the operator's
table (in a network, their paths); y_expected is the result; __metadata__ has the operator and its options.  An existing
file is kept if its inputs are equal and its results agree to 1e-13, since libraries differ in the last bits.
"""

import json
import pathlib
import struct
import sys

import numpy
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
WORDS = {"F32": "<f4", "F64": "<f8"}


def random_numbers(seed, shape, scale):
    """Sums of three uniform numbers from a 64-bit congruential generator, rounded to 2^-16."""
    count = int(numpy.prod(shape))
    state, values = seed * 2654435761 + 12345, []
    for _ in range(count):
        total = 0
        for _ in range(3):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            total += (state >> 40) / 2**24 - 0.5
        values.append(round(2 * total * scale * 65536) / 65536)
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def inputs(seed, rows):
    """Tensors of rows (name, shape, fan-in)."""
    return {name: random_numbers(1000 * seed + r, shape, fan ** -0.5) for r, (name, shape, fan) in enumerate(rows)}


def around(tokens, C, extra, biases=True, projection=True, batch=1, maps=None):
    """Rows (name, shape, fan-in) of x, w_qkv and b_qkv, an operator's extra tensors, w_o and b_o."""
    out = maps or 3 * C
    return [("x", (batch, tokens, C), 1), ("w_qkv", (out, C), C), *[("b_qkv", (out,), C)] * biases, *extra,
            *[("w_o", (C, C), C)] * projection, *[("b_o", (C,), C)] * (projection and biases)]


def axes(sizes):
    return "x".join(map(str, sizes))


# ---- layouts ----

def planes(x, grid):
    """[B, N, C] -> [B, C, ...grid]"""
    return x.transpose(1, 2).reshape(x.shape[0], -1, *grid)


def tokens(plane):
    """[B, C, ...grid] -> [B, N, C]"""
    return plane.flatten(2).transpose(1, 2)


def heads_of(rows, heads):
    """[..., N, h c] -> [..., h, N, c]"""
    return rows.unflatten(-1, (heads, -1)).transpose(-2, -3)


def rows_of(y):
    """[..., h, N, c] -> [..., N, h c]"""
    return y.transpose(-2, -3).flatten(-2)


def cut(plane, edge):
    """[B, H, W, C] -> [B windows, edge edge, C]"""
    batch, height, width, channels = plane.shape
    windows = plane.reshape(batch, height // edge, edge, width // edge, edge, channels).transpose(2, 3)
    return windows.reshape(-1, edge * edge, channels)


def glue(windows, grid, edge):
    """[B windows, edge edge, C] -> [B, H, W, C]"""
    height, width = grid
    plane = windows.reshape(-1, height // edge, width // edge, edge, edge, windows.shape[-1]).transpose(2, 3)
    return plane.reshape(-1, height, width, windows.shape[-1])


# ---- attention ----

def split_heads(t, x, heads):
    """Query, key, value as [B, h, N, c]."""
    return [heads_of(p, heads) for p in F.linear(x, t["w_qkv"], t.get("b_qkv")).chunk(3, dim=-1)]


def join_heads(t, y):
    return project(t, rows_of(y))


def project(t, y):
    return F.linear(y, t["w_o"], t.get("b_o")) if "w_o" in t else y


def attention(q, k, v, bias=None):
    """softmax(q k^T / sqrt(c) + bias) v."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return (scores if bias is None else scores + bias).softmax(-1) @ v


def scaled_queries(q, k, v, bias=None):
    """The same, but scales the queries, which are fewer numbers than the scores."""
    scores = q * q.shape[-1] ** -0.5 @ k.transpose(-1, -2)
    return (scores if bias is None else scores + bias).softmax(-1) @ v


LIBRARY = getattr(F, "scaled_dot_product_attention", None)      # not in every PyTorch


def with_attentions(forms):
    """Joins the dictionaries forms(attend) for scaled queries and for PyTorch's attention."""
    library = forms(LIBRARY).items() if LIBRARY else ()
    return {**forms(scaled_queries), **{f"{name}, library's attention": way for name, way in library}}


# ---- files ----

def safetensors(tensors, metadata, answers=("y_expected",)):
    """The bytes of a safetensors file: inputs F32, answers F64."""
    header, data = {"__metadata__": metadata}, b""
    for name, value in tensors.items():
        kind = "F64" if name in answers else "F32"
        raw = value.numpy().astype(WORDS[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def parts(data):
    """The metadata in a file's bytes; type, shape and numbers of each tensor."""
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header, rest = json.loads(data[8:start]), memoryview(data)[start:]
    metadata = header.pop("__metadata__", {})
    numbers = lambda t: numpy.frombuffer(rest[slice(*t["data_offsets"])], WORDS[t["dtype"]])
    return metadata, {name: (t["dtype"], t["shape"], numbers(t)) for name, t in header.items()}


def read(path):
    """The tensors and metadata of a safetensors file."""
    metadata, tensors = parts(path.read_bytes())
    return {name: torch.tensor(value.reshape(shape)) for name, (_, shape, value) in tensors.items()}, metadata


def same(old, new):
    """True if two files are equal, except that answers differ by at most 1e-13 of the largest."""
    start = 8 + struct.unpack("<Q", new[:8])[0]
    if len(old) != len(new) or old[:start] != new[:start]:
        return False
    before = parts(old)[1]
    return all(numpy.all(numpy.abs(before[name][2] - value) <= 1e-13 * numpy.abs(value).max()) if kind == "F64"
               else before[name][2].tobytes() == value.tobytes() for name, (kind, _, value) in parts(new)[1].items())


def folder():
    return pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden")


def renew(path, new, remark):
    """Write a file, unless it exists with the same content, and print a line."""
    keep = path.exists() and same(path.read_bytes(), new)
    if not keep:
        path.write_bytes(new)
    print(f"{path}  {len(new)} bytes  {remark}{'  (unchanged)' if keep else ''}", flush=True)


def write(operator, name, tensors, options, answers=("y_expected",)):
    renew(folder() / f"{operator}_{name}.safetensors",
          safetensors(tensors, {"operator": operator, "options": options}, answers), options)
