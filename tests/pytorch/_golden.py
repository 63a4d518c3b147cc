"""What the golden vectors of all operators share: reproducible inputs, and files.

Everything is computed in float64 from inputs that float32 holds exactly, so
one file serves both precisions.  Tensors carry the names of the operator's
table; y_expected is the answer, __metadata__ says how to ask for it.  Of a
network tensors carry their paths, and the answers are the output of every
stage and the logits.

A file whose inputs are the same and whose answers agree to 1e-13 is left as it
is: libraries differ in the last bits, and that is no news.
"""

import json
import pathlib
import struct
import sys

import numpy
import torch

torch.set_num_threads(1)


def drawn(seed, shape, scale):
    """Sums of three uniform draws from a 64-bit congruential generator, rounded to 2^-16."""
    count = int(numpy.prod(shape))
    state, values = seed * 2654435761 + 12345, []
    for _ in range(count):
        total = 0
        for _ in range(3):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            total += (state >> 40) / 2**24 - 0.5
        values.append(round(2 * total * scale * 65536) / 65536)
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def split_heads(t, x, heads):
    """Query, key, value as [B, h, N, c]."""
    qkv = torch.nn.functional.linear(x, t["w_qkv"], t.get("b_qkv"))
    return [p.reshape(*p.shape[:2], heads, -1).transpose(1, 2) for p in qkv.chunk(3, dim=-1)]


def join_heads(t, y):
    return project(t, y.transpose(1, 2).flatten(2))


def project(t, y):
    return torch.nn.functional.linear(y, t["w_o"], t.get("b_o")) if "w_o" in t else y


def safetensors(tensors, metadata, answers=("y_expected",)):
    """The bytes of a safetensors file: inputs F32, the answers F64."""
    header, data = {"__metadata__": metadata}, b""
    for name, value in tensors.items():
        kind, word = ("F64", "<f8") if name in answers else ("F32", "<f4")
        raw = value.numpy().astype(word).tobytes()
        header[name] = {"dtype": kind, "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def read(path):
    """The tensors of a safetensors file."""
    data = memoryview(pathlib.Path(path).read_bytes())
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header, tensors = json.loads(bytes(data[8:start])), {}
    for name, tensor in header.items():
        if name != "__metadata__":
            word = {"F32": "<f4", "F64": "<f8"}[tensor["dtype"]]
            value = numpy.frombuffer(data[start:][slice(*tensor["data_offsets"])], word)
            tensors[name] = torch.from_numpy(value.copy()).reshape(tensor["shape"])
    return tensors


def same(old, new):
    """Whether two files differ in nothing but the last bits of the answers."""
    start = 8 + struct.unpack("<Q", new[:8])[0]
    if len(old) != len(new) or old[:start] != new[:start]:
        return False
    for name, tensor in json.loads(new[8:start]).items():
        if name != "__metadata__":
            a, b = (file[start:][slice(*tensor["data_offsets"])] for file in (old, new))
            if tensor["dtype"] == "F64":
                a, b = (numpy.frombuffer(bits, "<f8") for bits in (a, b))
                if not numpy.all(numpy.abs(a - b) <= 1e-13 * numpy.abs(b).max()):
                    return False
            elif a != b:
                return False
    return True


def folder():
    return pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden")


def write(operator, name, tensors, options, answers=("y_expected",)):
    """One file, unless it is there already; and a line that says so."""
    path = folder() / f"{operator}_{name}.safetensors"
    new = safetensors(tensors, {"operator": operator, "options": options}, answers)
    keep = path.exists() and same(path.read_bytes(), new)
    if not keep:
        path.write_bytes(new)
    print(f"{path}  {len(new)} bytes  {options}{'  (unchanged)' if keep else ''}")
