#!/usr/bin/env python3
"""Our fast forms against PyTorch, both sides in one run.

    python3 figures/versus.py [CASE ...] [--threads 1,2] [--rounds 5] [--build build]

Needs python3-torch and python3-numpy.  Each case is first checked: the same
tensors go through `twicetold apply` and through PyTorch, and must agree.
Then the two sides take turns for a number of rounds; what is printed is the
median over the rounds of each side's median, and the ratio of the medians.

PyTorch is timed twice: stock, and tuned as a user in earnest would (its
allocator keeps large blocks, AVX-512 kernels).  Environment variables that
make OpenBLAS choose slower kernels are taken out for both sides.
"""
import argparse
import importlib
import json
import math
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy
import torch

sys.dont_write_bytecode = True          # what is built lies under build/

TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184",
         "MALLOC_TOP_PAD_": "268435456", "ATEN_CPU_CAPABILITY": "avx512"}

# PyTorch's side of every operator is a file of its own, versus-OPERATOR.py, or
# versus-SIDE.py where a case says so: its CASES, draw(case, normal) for the
# operator's own parameters (None for one that it has not), and forms(case,
# tensors), which gives PyTorch's ways to compute it, name -> function of nothing; and
# asked(case, tensors) where our side is more than twicetold apply.
# Our side is build/measure with the fast form, or the case's programs: label ->
# program and arguments, to which threads and repeats are added.
SIDES = {path.stem[len("versus-"):]: importlib.import_module(path.stem)
         for path in sorted(pathlib.Path(__file__).parent.glob("versus-*.py"))}
CASES = {name: case for side in SIDES.values() for name, case in side.CASES.items()}


def side_of(case):
    return SIDES[case.get("side", case["operator"])]


def draw(case):
    """Random x and parameters of a case, float32, as a dict of tensors."""
    generator = torch.Generator().manual_seed(1)

    def normal(fan, *shape):
        return torch.randn(*shape, generator=generator) / fan ** 0.5

    tokens, channels = math.prod(case["grid"]), case["channels"]
    drawn = {"x": normal(1, case.get("batch", 1), tokens, channels), "w_qkv": normal(channels, 3 * channels, channels),
             "w_o": normal(channels, channels, channels), **side_of(case).draw(case, normal)}
    return {name: tensor for name, tensor in drawn.items() if tensor is not None}


def forms(case, tensors):
    return side_of(case).forms(case, tensors)


def write_safetensors(path, tensors):
    header, data, at = {}, [], 0
    for name, tensor in tensors.items():
        block = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(block)]}
        data.append(block)
        at += len(block)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def read(path, name):
    with open(path, "rb") as f:
        raw = f.read()
    n, = struct.unpack("<Q", raw[:8])
    entry = json.loads(raw[8:8 + n])[name]
    return numpy.frombuffer(raw[8 + n:], dtype="<f4").reshape(entry["shape"])


def torch_side(name, threads, rounds_wanted):
    """A child process: answers each line on stdin with its forms' medians."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    case = CASES[name]
    ways = forms(case, draw(case))
    for way in ways.values():
        way()
    for _ in sys.stdin:
        row = []
        for way in ways.values():
            times = []
            for _ in range(rounds_wanted):
                start = time.perf_counter()
                way()
                times.append(time.perf_counter() - start)
            row.append(statistics.median(times))
        print(*row, flush=True)


def environment(threads, tuned):
    e = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    e.update(OMP_NUM_THREADS=str(threads), **(TUNED if tuned else {}))
    return e


def options(case):
    grid = "x".join(map(str, case["grid"]))
    return ["--grid", grid] + case["options"]


def asked(case, tensors):
    """The files that our program is given, its words, and the tensor that it makes."""
    own = getattr(side_of(case), "asked", None)
    return own(case, tensors) if own else ({"in": tensors}, ["apply", case["operator"], *options(case), "in"], "y")


def check(name, build):
    """The largest difference between the two sides, over the largest entry."""
    torch.set_grad_enabled(False)
    case = CASES[name]
    tensors = draw(case)
    files, words, made = asked(case, tensors)
    with tempfile.TemporaryDirectory() as folder:
        for file, held in files.items():
            write_safetensors(os.path.join(folder, file), held)
        subprocess.run([os.path.abspath(os.path.join(build, "twicetold")), *words, "-o", "out"], check=True, cwd=folder)
        ours = torch.from_numpy(read(os.path.join(folder, "out"), made).copy())
    worst = 0.0
    for way in forms(case, tensors).values():
        theirs = way()
        worst = max(worst, float((ours - theirs).abs().max() / theirs.abs().max()))
    if not worst < 1e-4:
        sys.exit(f"{name}: the two sides differ by {worst:.1e}; not timed")
    return worst


def measure(case, threads, build):
    """The command that times the fast form."""
    command = [os.path.join(build, "measure"), case["operator"], *options(case), "--channels", str(case["channels"]),
               "--batch", str(case.get("batch", 1)), "--form", "fast", "--threads", str(threads), "--repeats", "15"]
    without = case.get("biases", ["b_qkv", "b_o"]) + case.get("without", [])
    if without:
        command += ["--without", ",".join(without)]
    if case["sizes"]:
        command += ["--sizes", ",".join(f"{letter}={size}" for letter, size in case["sizes"].items())]
    return command


def commands(case, threads, build):
    """Our side of a case, label -> command."""
    if "programs" not in case:
        return {"ours": measure(case, threads, build)}
    return {label: [os.path.join(build, program), *arguments, str(threads), "101"]
            for label, (program, *arguments) in case["programs"].items()}


def ours_once(command, threads):
    lines = subprocess.run(command, check=True, capture_output=True, text=True,
                           env=environment(threads, False)).stdout.splitlines()
    head, row = lines[0].lstrip("#").split(), lines[-1].split()
    return float(row[head.index("median_seconds")])


def versus(name, threads, rounds, build):
    case = CASES[name]
    difference = check(name, build)
    sides = {}
    for label, tuned in (("stock", False), ("tuned", True)):
        sides[label] = subprocess.Popen([sys.executable, __file__, name, "--child", str(threads)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(threads, tuned))
    seen = {"ours": []}
    ways = list(forms(case, draw(case)))
    for _ in range(rounds):
        for label, command in commands(case, threads, build).items():
            seen.setdefault(label, []).append(ours_once(command, threads))
        for label, side in sides.items():
            side.stdin.write("go\n")
            side.stdin.flush()
            for way, seconds in zip(ways, map(float, side.stdout.readline().split())):
                seen.setdefault(f"{label} {way}", []).append(seconds)
    for side in sides.values():
        side.stdin.close()
        side.wait()
    ours = statistics.median(seen["ours"])
    for label, times in seen.items():
        median = statistics.median(times)
        print(f"{name}\t{threads}\t{label}\t{1e3 * median:.3f}\t{median / ours:.2f}\t{difference:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default="build")
    parser.add_argument("--child", type=int)
    a = parser.parse_args()
    if a.child:
        return torch_side(a.cases[0], a.child, 7)
    about = subprocess.run([os.path.join(a.build, "figures", "machine")], check=True, capture_output=True, text=True,
                           env=environment(1, False)).stdout
    print(about, end="")
    print(f"# PyTorch {torch.__version__}; milliseconds are medians, both sides in one run")
    print("#case\tthreads\tside\tmilliseconds\tratio_to_ours\tlargest_relative_difference")
    for name in a.cases or CASES:
        for threads in map(int, a.threads.split(",")):
            versus(name, threads, a.rounds, a.build)


main()
