#!/usr/bin/env python3
"""Our fast forms against PyTorch, both sides in one run.

    python3 figures/versus.py [CASE ...] [--threads 1,2] [--rounds 15] [--runs 7] [--minutes 20] [--build build]
                              [--eager] [--unjudged] [--goals FILE]

Needs PyTorch and NumPy, those of the Python that runs it.  Each case is first checked:
the same tensors go through `twicetold apply` and through PyTorch, and must agree.
Each of PyTorch's ways that is not slow as it is is there once more through torch.compile,
tuned, where this PyTorch has it and unless --eager is said, and while half of the case's share
of the minutes lasts; a way that does not run here is left out, and said on stderr.
Then the two sides take turns for a number of rounds, neither while the other still
compiles; what is printed is the median over the rounds of each side's median, and the
ratio of the medians.  A core may be half as fast again in one second as in the next, so
rounds are short and many.  A way that took three times the best of its side in the first
round is not timed again, nor one whose best of the first three is more than half as much
again as the best of PyTorch's; and no fourth round is begun after a case has had its share of the
minutes: the cases with goals come first and have three times the share of the others, and
what one leaves over is for those that follow.
No run of either side gets an x that it has had before.  What PyTorch's last timed run of each round
has made is checked as before; and unless --unjudged is said, what a timed run of ours has made in the first
round is compared with PyTorch's ways on the same tensors, and with another form of ours, where one can
run.  The programs that time a pooling or a whole network check themselves (chopd-pooling.c, network-seconds.c).

FILE gets the goals: our form against the best of PyTorch's ways, tuned or not, compiled or
not, and against the floor below which no code gets on this machine,

    floor = max((multiply-adds + 11 exponentials) / peak, bytes / bandwidth)

with the multiply-adds of our form's formula, the exponentials of its softmaxes (EXPONENTIAL
says what 11 are), the bytes of x, y and the parameters, each once,
and peak and bandwidth as figures/roofline measures them before and after all cases, on one
core: more threads are granted so many times both, and the caches of as many cores.  The most that could be had is
PyTorch over the floor; where that is less than the goal, the floor stops it.

PyTorch is timed twice: stock, and tuned as a user in earnest would (its allocator
keeps large blocks, and in large pages; AVX-512 kernels, where the processor has them).
Environment variables that make OpenBLAS choose slower kernels are taken out for both
sides.
"""
import argparse
import datetime
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

TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184", "MALLOC_TOP_PAD_": "268435456",
         "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "THP_MEM_ALLOC_ENABLE": "1"}       # large pages, as ours
CPUINFO = pathlib.Path("/proc/cpuinfo")
if CPUINFO.exists() and " avx512vl " in CPUINFO.read_text():
    TUNED["ATEN_CPU_CAPABILITY"] = "avx512"                     # PyTorch believes it, on a processor without, too

EAGER, JUDGED = False, True
SLOW, FAR = 3, 1.5                      # times the best: not timed again after one round, after the fewest
FEWEST = 3                              # rounds, whatever the time
LEAST, MOST = 0.1, 301                  # seconds that a way is timed for in a round, as clocks rise slowly; and runs

# What an exponential of a softmax takes of the units that do multiply-adds, at the least: a product less the
# maximum, a rounding, a difference, five terms of a polynomial that is true to a float, a scaling; and its part in
# the maximum and in the sum.
EXPONENTIAL = 11

# Case, whose side of ours, how many times as fast as PyTorch's best way it is to be, and what is compared.
GOALS = [
    ("msa", "ours", 1.5, "self-attention, 56×56, 64 channels"),
    ("lisa", "ours", 10, "LiSA, 56×56, 96 channels, D = 16"),
    ("structsa", "ours", 2.2, "StructSA, 28×28, 384 channels, D = 8"),
    ("elsa", "ours", 18, "ELSA, 56×56, 96 channels, K = 7"),
    ("window", "ours, elsa", 1.1, "ELSA against self-attention in 7×7 windows"),
    ("chopd", "ours", 5, "ChoP'D's layer, 56×56, 96 channels"),
    ("chopd-pool-whole", "ours", 12, "its pooling, whole tokens"),
    ("chopd-pool-edges", "ours", 12, "its pooling, edges inside tokens"),
    ("hilo", "ours", 1.5, "HiLo, 14×14, 768 channels"),
    ("hilo-64", "ours", 1.3, "HiLo, a batch of 64"),
]

# PyTorch's side of every operator is a file of its own, versus-OPERATOR.py, or
# versus-SIDE.py where a case says so: its CASES, draw(case, normal) for the
# operator's own parameters (None for one that it has not), and forms(case,
# tensors), which gives PyTorch's ways to compute it, name -> function of nothing, and leaves
# tensors["again"] where those read what was made of x beforehand;
# exponentials(case, tokens, heads), of all softmaxes of an image, where a case with a goal has any;
# and asked(case, tensors) where our side is more than twicetold apply.
# Our side is build/measure with the fast form, and with that of other cases where one
# names them as `beside`, judged by the form that is called `judge`, or the naive one (None: none can run); or the
# case's programs: label -> program and arguments, to which threads and repeats are added.
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


COMPILED = ", compiled"


def forms(case, tensors):
    """PyTorch's ways, name -> function of nothing, and each once more through torch.compile."""
    ways = side_of(case).forms(case, tensors)
    if hasattr(torch, "compile") and not EAGER:
        torch._dynamo.reset()                   # it compiles one function for a few cases only
        for name, way in list(ways.items()):
            ways[name + COMPILED] = torch.compile(way)
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


def read(path):
    """name -> tensor"""
    with open(path, "rb") as f:
        raw = f.read()
    n, = struct.unpack("<Q", raw[:8])

    def tensor(entry):
        first, end = (8 + n + at for at in entry["data_offsets"])
        return torch.from_numpy(numpy.frombuffer(raw[first:end], dtype="<f4").reshape(entry["shape"]).copy())
    return {name: tensor(entry) for name, entry in json.loads(raw[8:8 + n]).items() if name != "__metadata__"}


def torch_side(name, threads, names, warm, few):
    """A child process: answers each line on stdin with the medians of the ways that it numbers."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    case = CASES[name]
    tensors = draw(case)
    x, drawn = tensors["x"], tensors["x"].clone()
    ways = forms(case, tensors)
    ways = [ways[way] for way in names]
    broken = set()                              # what ran when it was checked, and does not here
    runs = {}                                   # of each way in a round
    for index in warm:
        try:
            ways[index]()
            start = time.perf_counter()
            ways[index]()
            runs[index] = repeats(few, time.perf_counter() - start)
        except Exception as refusal:
            print(f"{name}: {names[index]}: left out: {str(refusal).strip().splitlines()[0]}", file=sys.stderr)
            broken.add(index)
    print("ready", flush=True)
    for line in sys.stdin:
        number, wanted, folder = line.split(None, 2)
        row = []
        for index in map(int, wanted.split(",")):
            if index in broken:
                row.append(math.inf)
                continue
            times = []
            for run in range(MOST - runs[index], MOST):         # all ways end with the same x
                x.copy_(drawn)
                exchange(x, int(number) * MOST + run)
                tensors.get("again", bool)()            # where a form is timed on what was made of x
                start = time.perf_counter()
                y = ways[index]()
                times.append(time.perf_counter() - start)
            row.append(statistics.median(times))
            write_safetensors(os.path.join(folder.strip(), f"y{index}"), {"y": y})
        write_safetensors(os.path.join(folder.strip(), "x"), {"x": x})
        print(*row, flush=True)


def repeats(few, seconds):
    """How often to run what takes so long."""
    return max(few, min(MOST, math.ceil(LEAST / seconds)))


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
        return read(os.path.join(folder, "out"))[made]


def alike(name, ours, results, when):
    """way -> the largest difference from our side, over the largest entry; results are of (way, y)."""
    apart = {}
    for way, theirs in results:
        apart[way] = float((ours - theirs).abs().max() / theirs.abs().max())
        if not apart[way] < 1e-4:                               # nor if it is NaN
            sys.exit(f"{name}: the two sides differ by {apart[way]:.1e} {when} ({way})")
    return apart


def check(name, threads, build, until):
    """Both sides on the tensors that are drawn, before anything is timed; and the ways that run.

    Compiled are those that are not slow as they are, while there is time.
    """
    torch.set_grad_enabled(False)
    torch.set_num_threads(threads)
    case = CASES[name]
    tensors = draw(case)
    results, seconds = {}, {}
    ways = forms(case, dict(tensors))                           # where they leave what is no tensor
    plainly = [way for way in ways if not way.endswith(COMPILED)]

    def first(way):
        try:
            ways[way]()
            start = time.perf_counter()
            results[way] = ways[way]()
            seconds[way] = time.perf_counter() - start
        except Exception as refusal:
            print(f"{name}: {way}: left out: {str(refusal).strip().splitlines()[0]}", file=sys.stderr)

    for way in plainly:
        first(way)
    for way in sorted(seconds, key=seconds.get):                # the fastest first
        if way + COMPILED in ways and seconds[way] <= SLOW * min(seconds.values()) and time.monotonic() < until:
            first(way + COMPILED)
    return alike(name, ours_of(case, tensors, build), results.items(), "before timing")


def check_timed(name, build, folder, ways):
    """What PyTorch's ways, number -> name, have made while they were timed, and our program of the same x."""
    case = CASES[name]
    tensors = draw(case)
    tensors["x"] = read(os.path.join(folder, "x"))["x"]
    results = ((way, read(os.path.join(folder, f"y{index}"))["y"]) for index, way in ways.items())
    return alike(name, ours_of(case, tensors, build), results, "while it was timed")


def check_ours(label, case, kept):
    """What our side has made while it was timed, and PyTorch of the same tensors."""
    tensors = read(kept)
    made = tensors.pop("y")
    ways = side_of(case).forms(case, tensors)
    return max(alike(label, made, ((way, ways[way]()) for way in list(ways)[:1]), "while ours was timed").values())


def measure(case, threads, build):
    """The command that times the fast form, but for how often."""
    command = [os.path.join(build, "measure"), case["operator"], *options(case), "--channels", str(case["channels"]),
               "--batch", str(case.get("batch", 1)), "--form", "fast", "--threads", str(threads)]
    without = case.get("biases", ["b_qkv", "b_o"]) + case.get("without", [])
    if without:
        command += ["--without", ",".join(without)]
    if case["sizes"]:
        command += ["--sizes", ",".join(f"{letter}={size}" for letter, size in case["sizes"].items())]
    return command + ["--repeats"]


def commands(case, threads, build):
    """Our side of a case, label -> command, to which the number of runs is added."""
    if "programs" not in case:
        beside = {f"ours, {name}": measure(CASES[name], threads, build) for name in case.get("beside", [])}
        return {"ours": measure(case, threads, build), **beside}
    return {label: [os.path.join(build, program), *arguments, str(threads)]
            for label, (program, *arguments) in case["programs"].items()}


def case_of(label, case):
    """The case whose form of ours this is: "ours, NAME" is that of another."""
    return CASES.get(label.removeprefix("ours, "), case)


def ours_once(command, threads, times, *words):
    """The row that our program prints, by its columns."""
    done = subprocess.run([*command, str(times), *words], capture_output=True, text=True,
                          env=environment(threads, False))
    if done.returncode or ("--judge" in words and "timed but not compared" in done.stderr):
        sys.exit(done.stderr)
    lines = done.stdout.splitlines()
    return dict(zip(lines[0].lstrip("#").split("\t"), lines[-1].split("\t")))


def ours_judged(command, label, case, threads, times):
    """The same, with another form beside it where one can run; and how far what was timed is from PyTorch."""
    judge = case.get("judge", "naive")
    with tempfile.TemporaryDirectory() as folder:
        kept = os.path.join(folder, "kept")
        row = ours_once(command, threads, times, "--keep", kept, *(["--judge", judge] if judge else []))
        return row, check_ours(label, case, kept)


def versus(name, threads, rounds, runs, build, until):
    """Prints a row for each side; returns milliseconds by side, as printed, and the counts of ours."""
    case = CASES[name]
    now = time.monotonic()
    apart = check(name, threads, build, now + (until - now) / 2)
    ways = list(apart)
    sides, counts, differences = {}, {}, {"ours": max(apart.values())}
    left = {"stock": [index for index, way in enumerate(ways) if not way.endswith(COMPILED)],
            "tuned": list(range(len(ways)))}
    for label, tuned in (("stock", False), ("tuned", True)):
        command = [sys.executable, __file__, name, "--child", str(threads), "--ways", json.dumps(ways),
                   "--warm", json.dumps(left[label]), "--runs", str(runs)]
        sides[label] = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment(threads, tuned))
        sides[label].stdout.readline()      # it has compiled, and counted its runs, which is not to be beside others
    seen, ours_by = {"ours": []}, {}
    for label, command in commands(case, threads, build).items():
        once = float(ours_once(command, threads, runs)["median_seconds"])
        ours_by[label] = command, repeats(runs, once)
    for number in range(rounds):
        if number >= FEWEST and time.monotonic() > until:
            break
        for label, (command, times) in ours_by.items():
            if "--form" in command and not number and JUDGED:
                counts[label], far = ours_judged(command, label, case_of(label, case), threads, times)
                differences[label] = max(far, differences.get(label, 0))
            else:
                counts[label] = ours_once(command, threads, times)
            seen.setdefault(label, []).append(float(counts[label]["median_seconds"]))
        for label, side in sides.items():
            if not (wanted := left[label]):
                continue
            with tempfile.TemporaryDirectory() as folder:
                side.stdin.write(f"{number} {','.join(map(str, wanted))} {folder}\n")
                side.stdin.flush()
                row = list(map(float, side.stdout.readline().split()))
                if len(row) != len(wanted):
                    sys.exit(f"{name}: PyTorch's side ended ({label})")
                wanted, row = zip(*((index, seconds) for index, seconds in zip(wanted, row) if seconds < math.inf))
                timed = check_timed(name, build, folder, {index: ways[index] for index in wanted})
                for index, seconds in zip(wanted, row):
                    way = f"{label} {ways[index]}"
                    seen.setdefault(way, []).append(seconds)
                    differences[way] = max(apart[ways[index]], timed[ways[index]], differences.get(way, 0))
            left[label] = [index for index, seconds in zip(wanted, row) if number or seconds <= SLOW * min(row)]
        if number + 1 == FEWEST:
            near = FAR * min(min(times) for label, times in seen.items() if not label.startswith("ours"))
            for label in sides:
                left[label] = [index for index in left[label] if min(seen[f"{label} {ways[index]}"]) <= near]
    for side in sides.values():
        side.stdin.close()
        side.wait()
    # As they are printed, so that every ratio is that of two printed numbers.
    milliseconds = {label: round(1e3 * statistics.median(times), 3) for label, times in seen.items()}
    for label, median in milliseconds.items():
        far = f"{differences[label]:.1e}" if label in differences else "-"
        print(f"{name}\t{threads}\t{label}\t{median:.3f}\t{median / milliseconds['ours']:.2f}\t{far}\t{len(seen[label])}",
              flush=True)
    return milliseconds, counts


# ---- goals and floors -------------------------------------------------------

def roofs(build):
    """G multiply-adds a second, and [(level, bytes that it holds, G bytes a second)], of one core."""
    rows = subprocess.run([os.path.join(build, "figures", "roofline"), "0.3", str(1 << 28), "alone"], check=True,
                          capture_output=True, text=True, env=environment(1, False)).stdout.splitlines()
    cells = [row.split("\t") for row in rows]
    return float(cells[0][3]), [(name, float(holds), float(rate)) for _, name, _, rate, holds in cells[1:]]


def higher(a, b):
    return max(a[0], b[0]), [(name, holds, max(rate, other)) for (name, holds, rate), (_, _, other) in zip(a[1], b[1])]


def counted(case, row):
    """Multiply-adds, exponentials, and bytes of x, y and the parameters; y is as large as x in all of these layers."""
    exponentials, words = getattr(side_of(case), "exponentials", None), case["options"]
    heads = int(words[words.index("--heads") + 1]) if "--heads" in words else 1
    powers = case.get("batch", 1) * exponentials(case, math.prod(case["grid"]), heads) if exponentials else 0
    numbers = 2 * case.get("batch", 1) * math.prod(case["grid"]) * case["channels"] + int(row["parameters"])
    return float(row["multiply_adds"]), powers, 4.0 * numbers


def layer(case):
    """What our program is told of a case: operator, options, grid, channels, batch, sizes, tensors left out."""
    without = case.get("biases", ["b_qkv", "b_o"]) + case.get("without", [])
    sizes = (f"{letter}={size}" for letter, size in case["sizes"].items())
    return [case["operator"], " ".join(case["options"]), "x".join(map(str, case["grid"])), case["channels"],
            case.get("batch", 1), ",".join(sizes), ",".join(without)]


def goal_row(goal, threads, milliseconds, counts, machine):
    name, label, wanted, what = goal
    case = case_of(label, CASES[name])
    theirs = {side: ms for side, ms in milliseconds.items() if not side.startswith("ours")}
    way = min(theirs, key=theirs.get)
    pytorch, ours = theirs[way], milliseconds[label]
    work, powers, traffic = counted(case, counts[label])
    peak, levels = machine
    level, _, rate = next(row for row in levels if traffic <= threads * row[1])
    by_work, by_traffic = (1e3 * amount / (threads * 1e9 * speed)
                           for amount, speed in ((work + EXPONENTIAL * powers, peak), (traffic, rate)))
    floor, most = max(by_work, by_traffic), pytorch / max(by_work, by_traffic)
    verdict = "met" if pytorch / ours >= wanted else "stopped by the floor" if most < wanted else "missed"
    return [what, name, threads, way, f"{pytorch:.3f}", label, f"{ours:.3f}", f"{pytorch / ours:.2f}", f"{wanted:g}",
            f"{floor:.4g}", "arithmetic" if by_work >= by_traffic else level, f"{most:.3g}", verdict,
            f"{100 * floor / ours:.0f}", *layer(case), f"{work:.0f}", powers, f"{traffic:.0f}", f"{peak:.5g}",
            f"{rate:.5g}"]


def write_goals(path, about, seen, machine):
    """The table of goals, those whose case was measured."""
    columns = ("what case threads PyTorch's_best its_ms our_form our_ms ratio goal floor_ms floor_of most verdict reached "
               "operator options grid channels batch sizes without multiply_adds exponentials given_bytes peak bandwidth")
    with open(path, "w", encoding="utf-8") as file:
        print(about, end="", file=file)
        print("#" + "\t".join(columns.split()), file=file)
        for goal in GOALS:
            for (name, threads), (milliseconds, counts) in sorted(seen.items()):
                if name == goal[0]:
                    print(*goal_row(goal, threads, milliseconds, counts, machine), sep="\t", file=file)


def measured(build):
    """The comments at the head of both tables: machine, day, PyTorch."""
    about = subprocess.run([os.path.join(build, "figures", "machine")], check=True, capture_output=True, text=True,
                           env=environment(1, False)).stdout
    here = pathlib.Path(__file__).parent

    def git(*words):
        return subprocess.run(["git", "-C", here, *words], capture_output=True, text=True)

    own = git("ls-files", "--error-unmatch", "versus.py").returncode == 0       # and not what it was unpacked into
    commit = git("describe", "--always").stdout.strip() if own else ""
    if commit and git("diff", "--quiet", "HEAD", "--", "../reference", "../naive", "../fast", "*.[ch]").returncode:
        commit += " and changes"
    today = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"
    return (f"{about}# measured: {today}{', commit ' * bool(commit)}{commit}\n"
            f"# PyTorch {torch.__version__}; milliseconds are medians, both sides in one run\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--unjudged", action="store_true")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--build", default="build")
    parser.add_argument("--goals", metavar="FILE")
    parser.add_argument("--child", type=int)
    parser.add_argument("--ways", type=json.loads)
    parser.add_argument("--warm", type=json.loads)
    parser.add_argument("--eager", action="store_true")
    a = parser.parse_args()
    global EAGER, JUDGED
    EAGER, JUDGED = a.eager, not a.unjudged
    if a.child:
        return torch_side(a.cases[0], a.child, a.ways, a.warm, a.runs)
    about = measured(a.build)
    print(about, end="")
    print("#case\tthreads\tside\tmilliseconds\tratio_to_ours\tlargest_relative_difference\trounds", flush=True)
    with_goals = [goal[0] for goal in GOALS]
    names = a.cases or with_goals + [name for name in CASES if name not in with_goals]
    runs = [(name, threads) for name in names for threads in map(int, a.threads.split(","))]
    end, seen, machine = time.monotonic() + 60 * a.minutes, {}, roofs(a.build)
    weights = [3 if name in with_goals else 1 for name, _ in runs]
    for done, (name, threads) in enumerate(runs):
        now = time.monotonic()
        until = now + (end - now) * weights[done] / sum(weights[done:])
        seen[name, threads] = versus(name, threads, a.rounds, a.runs, a.build, until)
    if a.goals:
        write_goals(a.goals, about, seen, higher(machine, roofs(a.build)))


main()
