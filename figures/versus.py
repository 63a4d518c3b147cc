#!/usr/bin/env python3
"""Our fast forms against PyTorch, both sides in one run.

    python3 figures/versus.py [CASE ...] [--threads 1,2] [--rounds 5] [--build build] [--eager]

Needs PyTorch and NumPy, those of the Python that runs it.  Each case is first checked:
the same tensors go through `twicetold apply` and through PyTorch, and must agree.
Each of PyTorch's ways is there once more through torch.compile, where this PyTorch has
it and unless --eager is said (compiling takes minutes); a way that does not run here is
left out, and said on stderr.
Then the two sides take turns for a number of rounds; what is printed is the
median over the rounds of each side's median, and the ratio of the medians.
No run of PyTorch gets an x that it has had before, and what its last timed run of each round
has made is checked as before; our side has figures/judge.h, and in the last round the naive form
to compare with.

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

EAGER = False

# PyTorch's side of every operator is a file of its own, versus-OPERATOR.py, or
# versus-SIDE.py where a case says so: its CASES, draw(case, normal) for the
# operator's own parameters (None for one that it has not), and forms(case,
# tensors), which gives PyTorch's ways to compute it, name -> function of nothing, and leaves
# tensors["again"] where those read what was made of x beforehand; and
# asked(case, tensors) where our side is more than twicetold apply.
# Our side is build/measure with the fast form, and with that of other cases where one
# names them as `beside`; or the case's programs: label -> program and arguments, to
# which threads and repeats are added.
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
    """PyTorch's ways, name -> function of nothing, and each once more through torch.compile."""
    ways = side_of(case).forms(case, tensors)
    if hasattr(torch, "compile") and not EAGER:
        for name, way in list(ways.items()):
            ways[f"{name}, compiled"] = torch.compile(way)
    return ways


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


def torch_side(name, threads, names, rounds_wanted):
    """A child process: answers each line on stdin with the medians of these ways."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    case = CASES[name]
    tensors = draw(case)
    x, drawn = tensors["x"], tensors["x"].clone()
    ways = forms(case, tensors)
    ways = [ways[way] for way in names]
    for way in ways:
        way()
        way()
    for line in sys.stdin:
        number, folder = line.split(None, 1)
        row = []
        for index, way in enumerate(ways):
            times = []
            for run in range(rounds_wanted):
                x.copy_(drawn)
                exchange(x, int(number) * rounds_wanted + run)
                tensors.get("again", bool)()            # where a form is timed on what was made of x
                start = time.perf_counter()
                y = way()
                times.append(time.perf_counter() - start)
            row.append(statistics.median(times))
            write_safetensors(os.path.join(folder.strip(), f"y{index}"), {"y": y})
        write_safetensors(os.path.join(folder.strip(), "x"), {"x": x})
        print(*row, flush=True)


def exchange(x, run):
    """In place: one number of every token for that of the token as far from the end."""
    rows = x.view(-1, x.shape[-1])
    generator = torch.Generator().manual_seed(run + 2)
    at = torch.randint(rows.shape[1], (rows.shape[0] // 2,), generator=generator)
    first, last = torch.arange(len(at)), rows.shape[0] - 1 - torch.arange(len(at))
    rows[first, at], rows[last, at] = rows[last, at], rows[first, at]


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


def ours_of(case, tensors, build):
    """What our program makes of these tensors."""
    files, words, made = asked(case, tensors)
    with tempfile.TemporaryDirectory() as folder:
        for file, held in files.items():
            write_safetensors(os.path.join(folder, file), held)
        subprocess.run([os.path.abspath(os.path.join(build, "twicetold")), *words, "-o", "out"], check=True, cwd=folder)
        return torch.from_numpy(read(os.path.join(folder, "out"), made).copy())


def alike(name, ours, results, when):
    """The largest difference between the two sides, over the largest entry."""
    worst = 0.0
    for theirs in results:
        difference = float((ours - theirs).abs().max() / theirs.abs().max())
        worst = difference if not difference <= worst else worst
    if not worst < 1e-4:
        sys.exit(f"{name}: the two sides differ by {worst:.1e} {when}")
    return worst


def check(name, build):
    """Both sides on the tensors that are drawn, before anything is timed; and the ways that run."""
    torch.set_grad_enabled(False)
    case = CASES[name]
    tensors = draw(case)
    results = {}
    for way, run in forms(case, tensors).items():
        try:
            results[way] = run()
        except Exception as refusal:
            print(f"{name}: {way}: left out: {str(refusal).strip().splitlines()[0]}", file=sys.stderr)
    return alike(name, ours_of(case, tensors, build), results.values(), "before timing"), list(results)


def check_timed(name, build, folder, ways):
    """What PyTorch has made while it was timed, and what our program makes of the same x."""
    case = CASES[name]
    tensors = draw(case)
    tensors["x"] = torch.from_numpy(read(os.path.join(folder, "x"), "x").copy())
    results = (torch.from_numpy(read(os.path.join(folder, f"y{index}"), "y").copy()) for index in range(ways))
    return alike(name, ours_of(case, tensors, build), results, "while it was timed")


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
        beside = {f"ours, {name}": measure(CASES[name], threads, build) for name in case.get("beside", [])}
        return {"ours": measure(case, threads, build), **beside}
    return {label: [os.path.join(build, program), *arguments, str(threads), "101"]
            for label, (program, *arguments) in case["programs"].items()}


def ours_once(command, threads):
    lines = subprocess.run(command, check=True, capture_output=True, text=True,
                           env=environment(threads, False)).stdout.splitlines()
    head, row = lines[0].lstrip("#").split(), lines[-1].split()
    return float(row[head.index("median_seconds")])


def versus(name, threads, rounds, build):
    case = CASES[name]
    difference, ways = check(name, build)
    sides = {}
    for label, tuned in (("stock", False), ("tuned", True)):
        command = [sys.executable, __file__, name, "--child", str(threads), "--ways", json.dumps(ways)]
        sides[label] = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment(threads, tuned))
    seen = {"ours": []}
    for number in range(rounds):
        for label, command in commands(case, threads, build).items():
            judged = ["--judge", "naive"] if "--form" in command and number == rounds - 1 else []
            seen.setdefault(label, []).append(ours_once(command + judged, threads))
        for label, side in sides.items():
            with tempfile.TemporaryDirectory() as folder:
                side.stdin.write(f"{number} {folder}\n")
                side.stdin.flush()
                for way, seconds in zip(ways, map(float, side.stdout.readline().split())):
                    seen.setdefault(f"{label} {way}", []).append(seconds)
                difference = max(difference, check_timed(name, build, folder, len(ways)))
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
    parser.add_argument("--ways", type=json.loads)
    parser.add_argument("--eager", action="store_true")
    a = parser.parse_args()
    global EAGER
    EAGER = a.eager
    if a.child:
        return torch_side(a.cases[0], a.child, a.ways, 7)
    about = subprocess.run([os.path.join(a.build, "figures", "machine")], check=True, capture_output=True, text=True,
                           env=environment(1, False)).stdout
    print(about, end="")
    print(f"# PyTorch {torch.__version__}; milliseconds are medians, both sides in one run")
    print("#case\tthreads\tside\tmilliseconds\tratio_to_ours\tlargest_relative_difference")
    for name in a.cases or CASES:
        for threads in map(int, a.threads.split(",")):
            versus(name, threads, a.rounds, a.build)


main()
