#!/usr/bin/env python3
"""Time our fast forms against PyTorch, both sides in one run.

    python3 figures/bench/versus.py [CASE ...] [--threads 1,2] [--rounds 15] [--runs 7] [--minutes 20] [--build build]
                              [--eager] [--goals FILE]

tests/pytorch/OPERATOR.py has the cases and PyTorch's ways to compute them.  Each way is timed stock and tuned (TUNED)
and, without --eager, also through torch.compile if it is not slow.  Both sides get the same tensors and must agree to
1e-4, before and during timing; no run gets an x that was used before.  The sides alternate, since the speed of a core
changes.  A row is the median over the rounds of a side's medians.  Cases with goals come first and get three times the
minutes of the others.

FILE gets the goals: our form against PyTorch's fastest way and against the floor of this machine, max((multiply-adds +
11 exponentials) / peak, bytes of x, y and parameters / bandwidth).  figures/bench/roofline measures both rates for one
core before and after all cases; they and the caches are multiplied by the number of threads.
"""
import argparse
import importlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True          # builds write only to build/
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "tests" / "pytorch"), str(TREE / "figures")]

import torch                                            # noqa: E402

from _golden import read, safetensors                   # noqa: E402
from draw import measured                               # noqa: E402

SIDES = [importlib.import_module(name) for name in "chopd elsa hilo lisa msa networks sra structsa".split()]

# The allocator keeps large blocks, in large pages, like ours; AVX-512 kernels if the processor has them.
TUNED = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "17179869184", "MALLOC_TOP_PAD_": "268435456",
         "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "THP_MEM_ALLOC_ENABLE": "1"}
CPUINFO = pathlib.Path("/proc/cpuinfo")
if CPUINFO.exists() and " avx512vl " in CPUINFO.read_text():
    TUNED["ATEN_CPU_CAPABILITY"] = "avx512"         # PyTorch does not check this

SLOW, FAR = 3, 1.5                      # a way this many times slower than the best is dropped after 1, FEWEST rounds
FEWEST = 3                              # rounds, for any time limit
LEAST, MOST = 0.1, 301                  # seconds that a way runs in a round, since clocks rise slowly; largest runs
COMPILED = ", compiled"

# Lower bound of the operations of the multiply-add units for an exponential of a softmax: subtraction of the maximum,
# rounding, a difference, five terms of a polynomial that is exact to a float, scaling; one each for maximum and sum.
EXPONENTIAL = 11

# Case, our side, wanted speedup over PyTorch's best way, description.
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

# Our side of a case is build/measure with the fast form, and with that of the cases named in `beside`.  The form
# `judge` checks it, by default the naive one; None if no other can run.  A case with `programs` (label: program and
# arguments) runs those instead; they check themselves.
DEFAULT = {"sizes": {}, "batch": 1, "without": "", "judge": "naive", "beside": []}
CASES = {name: {**DEFAULT, "side": side, "operator": side.__name__, **case}
         for side in SIDES for name, case in side.TIMED.items()}


# ---- PyTorch's side -----------------------------------------------------------

def draw(case):
    """Random x and parameters, float32, by name."""
    generator = torch.Generator().manual_seed(1)
    return case["side"].timed_inputs(case, lambda rows: {
        name: torch.randn(*shape, generator=generator) / fan ** 0.5 for name, shape, fan in rows})


def given(case, x):
    """The argument of a way: x, or the case's untimed conversion of x."""
    return case["side"].given(case, x) if hasattr(case["side"], "given") else x


def forms(case, tensors, eager):
    """PyTorch's ways, name -> function of given(x); each again through torch.compile."""
    ways = case["side"].timed(case, tensors)
    if hasattr(torch, "compile") and not eager:
        torch._dynamo.reset()           # it limits the number of compilations of a function
        ways.update({name + COMPILED: torch.compile(way) for name, way in ways.items()})
    return ways


def attempt(name, label, way, x):
    """The result and the seconds of a second run; None if this way does not run here."""
    try:
        way(x)
        start = time.perf_counter()
        return way(x), time.perf_counter() - start
    except Exception as error:
        print(f"{name}: {label}: left out: {str(error).strip().splitlines()[0]}", file=sys.stderr)
        return None


def repeats(few, seconds):
    """The number of runs of a way that takes this long."""
    return max(few, min(MOST, math.ceil(LEAST / seconds)))


def exchange(x, run):
    """Swap, in place, one number of each token with that of the mirrored token (counted from the end)."""
    rows = x.view(-1, x.shape[-1])
    generator = torch.Generator().manual_seed(run + 2)
    at = torch.randint(rows.shape[1], (rows.shape[0] // 2,), generator=generator)
    first, last = torch.arange(len(at)), rows.shape[0] - 1 - torch.arange(len(at))
    rows[first, at], rows[last, at] = rows[last, at], rows[first, at]


def child(name, threads, names, warm, few, eager):
    """Answer each line on stdin (round, numbers of ways, folder) with the medians of these ways."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    case, runs = CASES[name], {}
    tensors = draw(case)
    x, drawn, ways = tensors["x"], tensors["x"].clone(), forms(case, tensors, eager)
    for index in warm:
        done = attempt(name, names[index], ways[names[index]], given(case, x))
        runs[index] = repeats(few, done[1]) if done else 0          # 0: it ran in the check, but fails here
    print("ready", flush=True)
    for line in sys.stdin:
        number, wanted, folder = line.rstrip("\n").split(" ", 2)
        row, folder = [], pathlib.Path(folder)
        for index in map(int, wanted.split(",")):
            times = []
            for run in range(MOST - runs[index], MOST):             # all ways end with the same x
                x.copy_(drawn)
                exchange(x, int(number) * MOST + run)
                entry = given(case, x)
                start = time.perf_counter()
                y = ways[names[index]](entry)
                times.append(time.perf_counter() - start)
            row.append(statistics.median(times) if times else math.inf)
            if times:
                (folder / f"y{index}").write_bytes(safetensors({"y": y}, {}))
        (folder / "x").write_bytes(safetensors({"x": x}, {}))
        print(*row, flush=True)


class PyTorch:
    """A process that times PyTorch's ways, stock or tuned."""

    def __init__(self, label, name, threads, ways, a):
        self.label, self.name, self.ways = label, name, ways
        self.left = [i for i, way in enumerate(ways) if label == "tuned" or not way.endswith(COMPILED)]
        command = [sys.executable, __file__, name, "--child", str(threads), "--ways", json.dumps(ways),
                   "--warm", json.dumps(self.left), "--runs", str(a.runs), *["--eager"] * a.eager]
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment(threads, label == "tuned"))
        self.process.stdout.readline()      # wait until it has compiled: nothing is timed next to that

    def time(self, number, folder):
        """Number of a way -> seconds, for the ways left; drops the slow ones after the first round."""
        self.process.stdin.write(f"{number} {','.join(map(str, self.left))} {folder}\n")
        self.process.stdin.flush()
        row = list(map(float, self.process.stdout.readline().split()))
        if len(row) != len(self.left):
            sys.exit(f"{self.name}: PyTorch's side ended ({self.label})")
        seconds = {index: value for index, value in zip(self.left, row) if value < math.inf}
        self.left = [i for i, value in seconds.items() if number or value <= SLOW * min(seconds.values())]
        return seconds

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def environment(threads, tuned):
    """The environment without the variables that make OpenBLAS choose slower kernels."""
    e = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    e.update(OMP_NUM_THREADS=str(threads), **(TUNED if tuned else {}))
    return e


# ---- our side -------------------------------------------------------------------

def layer(case):
    """A case as arguments of our programs: operator, options, grid, channels, batch, sizes, tensors left out."""
    return [case["operator"], " ".join(f"--{name} {value}" for name, value in case["options"].items()),
            "x".join(map(str, case["grid"])), str(case["C"]), str(case["batch"]),
            ",".join(f"{letter}={size}" for letter, size in case["sizes"].items()), case["without"]]


def measure(case, threads, build):
    """The command that times the fast form, without the number of runs."""
    operator, options, grid, channels, batch, sizes, without = layer(case)
    return [f"{build}/measure", operator, "--grid", grid, *options.split(), "--channels", channels, "--batch", batch,
            "--form", "fast", "--threads", str(threads), *(["--without", without] if without else []),
            *(["--sizes", sizes] if sizes else []), "--repeats"]


def commands(case, threads, build):
    """Our side, label -> command without the number of runs."""
    if "programs" in case:
        return {label: f"{build}/{words} {threads}".split() for label, words in case["programs"].items()}
    return {"ours": measure(case, threads, build),
            **{f"ours, {name}": measure(CASES[name], threads, build) for name in case["beside"]}}


def case_of(label, case):
    """The case of this label: "ours, NAME" belongs to another case."""
    return CASES.get(label.removeprefix("ours, "), case)


def ours_once(command, threads, times, *words):
    """The row that our program prints, by column."""
    done = subprocess.run([*command, str(times), *words], capture_output=True, text=True,
                          env=environment(threads, False))
    if done.returncode or ("--judge" in words and "timed but not compared" in done.stderr):
        sys.exit(done.stderr)
    lines = done.stdout.splitlines()
    return dict(zip(lines[0].lstrip("#").split("\t"), lines[-1].split("\t")))


# ---- both must agree --------------------------------------------------------------

def compare(name, ours, results, when):
    """way -> the largest difference from our side, relative to the largest entry; results are pairs (way, y)."""
    apart = {}
    for way, theirs in results:
        apart[way] = float((ours - theirs).abs().max() / theirs.abs().max())
        if not apart[way] < 1e-4:                                   # also if it is NaN
            sys.exit(f"{name}: the two sides differ by {apart[way]:.1e} {when} ({way})")
    return apart


def ours_of(case, tensors, build):
    """The result of our program for these tensors."""
    _, options, grid, *_ = layer(case)
    files, made = {"in": tensors}, "y"
    words = ["apply", case["operator"], "--grid", grid, *options.split(), "in"]
    if hasattr(case["side"], "asked"):
        files, words, made = case["side"].asked(case, tensors)
    with tempfile.TemporaryDirectory() as folder:
        for file, held in files.items():
            pathlib.Path(folder, file).write_bytes(safetensors(held, {}))
        subprocess.run([os.path.abspath(f"{build}/twicetold"), *words, "-o", "out"], check=True, cwd=folder)
        return read(pathlib.Path(folder, "out"))[0][made]


def check(name, threads, a, until):
    """Compare both sides before timing; return the ways that run here.  Compiles the fast ones, while there is time."""
    torch.set_grad_enabled(False)
    torch.set_num_threads(threads)
    case = CASES[name]
    tensors = draw(case)
    ways, x = forms(case, tensors, a.eager), given(case, tensors["x"])
    done = {way: attempt(name, way, ways[way], x) for way in ways if not way.endswith(COMPILED)}
    done = {way: result for way, result in done.items() if result}
    fastest = min((seconds for _, seconds in done.values()), default=0)
    for way, (_, seconds) in sorted(done.items(), key=lambda item: item[1][1]):
        if way + COMPILED in ways and seconds <= SLOW * fastest and time.monotonic() < until:
            result = attempt(name, way + COMPILED, ways[way + COMPILED], x)
            done.update({way + COMPILED: result} if result else {})
    results = [(way, y) for way, (y, _) in done.items()]
    return compare(name, ours_of(case, tensors, a.build), results, "before timing")


def check_timed(name, build, folder, ways):
    """Compare the results of PyTorch's timed runs (ways: number -> name) with our program's for the same x."""
    case = CASES[name]
    tensors = {**draw(case), **read(folder / "x")[0]}
    results = ((way, read(folder / f"y{index}")[0]["y"]) for index, way in ways.items())
    return compare(name, ours_of(case, tensors, build), results, "while it was timed")


def ours_judged(command, label, case, threads, times):
    """Our row, checked by another form if one can run; and the difference of its result from PyTorch's first way."""
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder, "kept")
        row = ours_once(command, threads, times, "--keep", str(kept),
                        *(["--judge", case["judge"]] if case["judge"] else []))
        tensors = read(kept)[0]
    way, run = next(iter(case["side"].timed(case, tensors).items()))
    return row, compare(label, tensors["y"], [(way, run(given(case, tensors["x"])))], "while ours was timed")[way]


# ---- rounds -----------------------------------------------------------------------

def versus(name, threads, a, until):
    """Print a row for each side; return the milliseconds by side, as printed, and our rows."""
    case, now = CASES[name], time.monotonic()
    apart = check(name, threads, a, now + (until - now) / 2)
    ways, seen, counts, differences = list(apart), {"ours": []}, {}, {"ours": max(apart.values())}

    def note(label, seconds, far):
        seen.setdefault(label, []).append(seconds)
        if far is not None:
            differences[label] = max(far, differences.get(label, 0))

    sides = [PyTorch(label, name, threads, ways, a) for label in ("stock", "tuned")]
    ours = {label: (command, repeats(a.runs, float(ours_once(command, threads, a.runs)["median_seconds"])))
            for label, command in commands(case, threads, a.build).items()}
    for number in range(a.rounds):
        if number >= FEWEST and time.monotonic() > until:
            break
        for label, (command, times) in ours.items():
            judged = number == 0 and "--form" in command
            counts[label], far = ours_judged(command, label, case_of(label, case), threads, times) if judged else \
                (ours_once(command, threads, times), None)
            note(label, float(counts[label]["median_seconds"]), far)
        for side in filter(lambda side: side.left, sides):
            with tempfile.TemporaryDirectory() as folder:
                row = side.time(number, folder)
                timed = check_timed(name, a.build, pathlib.Path(folder), {index: ways[index] for index in row})
            for index, seconds in row.items():
                note(f"{side.label} {ways[index]}", seconds, max(apart[ways[index]], timed[ways[index]]))
        if number + 1 == FEWEST:
            near = FAR * min(min(times) for label, times in seen.items() if not label.startswith("ours"))
            for side in sides:
                side.left = [index for index in side.left if min(seen[f"{side.label} {ways[index]}"]) <= near]
    for side in sides:
        side.close()
    # Rounded as printed, so that ratios are those of printed numbers.
    milliseconds = {label: round(1e3 * statistics.median(times), 3) for label, times in seen.items()}
    for label, median in milliseconds.items():
        far = f"{differences[label]:.1e}" if label in differences else "-"
        print(name, threads, label, f"{median:.3f}", f"{median / milliseconds['ours']:.2f}", far, len(seen[label]),
              sep="\t", flush=True)
    return milliseconds, counts


# ---- goals and floors ---------------------------------------------------------------

def roofs(build):
    """G multiply-adds per second, and [(level, capacity in bytes, G bytes per second)], of one core."""
    rows = subprocess.run([f"{build}/figures/bench/roofline", "0.3", str(1 << 28), "alone"], check=True,
                          capture_output=True, text=True, env=environment(1, False)).stdout.splitlines()
    cells = [row.split("\t") for row in rows]
    return float(cells[0][3]), [(name, float(holds), float(rate)) for _, name, _, rate, holds in cells[1:]]


def higher(a, b):
    return max(a[0], b[0]), [(name, holds, max(rate, other)) for (name, holds, rate), (_, _, other) in zip(a[1], b[1])]


def goal_row(goal, threads, milliseconds, counts, machine):
    name, label, wanted, what = goal
    case, ours = case_of(label, CASES[name]), milliseconds[label]
    way, pytorch = min(((side, ms) for side, ms in milliseconds.items() if not side.startswith("ours")),
                       key=lambda item: item[1])
    powers = case["batch"] * case["side"].exponentials(case) if hasattr(case["side"], "exponentials") else 0
    work, given_numbers = float(counts[label]["multiply_adds"]), int(counts[label]["parameters"])
    # y is as large as x in all of these layers.
    traffic = 4.0 * (2 * case["batch"] * math.prod(case["grid"]) * case["C"] + given_numbers)
    peak, levels = machine
    level, _, rate = next(row for row in levels if traffic <= threads * row[1])
    by_work, by_traffic = (1e3 * amount / (threads * 1e9 * speed)
                           for amount, speed in ((work + EXPONENTIAL * powers, peak), (traffic, rate)))
    floor = max(by_work, by_traffic)
    most = pytorch / floor
    verdict = "met" if pytorch / ours >= wanted else "stopped by the floor" if most < wanted else "missed"
    return [what, name, threads, way, f"{pytorch:.3f}", label, f"{ours:.3f}", f"{pytorch / ours:.2f}", f"{wanted:g}",
            f"{floor:.4g}", "arithmetic" if by_work >= by_traffic else level, f"{most:.3g}", verdict,
            f"{100 * floor / ours:.0f}", *layer(case), f"{work:.0f}", powers, f"{traffic:.0f}", f"{peak:.5g}",
            f"{rate:.5g}"]


def write_goals(path, about, seen, machine):
    """Write the table of goals, those whose case was measured."""
    columns = ("what case threads PyTorch's_best its_ms our_form our_ms ratio goal floor_ms floor_of most verdict "
               "reached operator options grid channels batch sizes without multiply_adds exponentials given_bytes peak "
               "bandwidth")
    with open(path, "w", encoding="utf-8") as file:
        print(about, end="", file=file)
        print("#" + "\t".join(columns.split()), file=file)
        for goal in GOALS:
            for (name, threads), (milliseconds, counts) in sorted(seen.items()):
                if name == goal[0]:
                    print(*goal_row(goal, threads, milliseconds, counts, machine), sep="\t", file=file)


def about_all(build):
    """The comments at the head of both tables: machine, day, commit, PyTorch."""
    machine = subprocess.run([f"{build}/figures/bench/machine"], check=True, capture_output=True, text=True,
                             env=environment(1, False)).stdout
    return f"{machine}{measured()}\n# PyTorch {torch.__version__}; milliseconds are medians, both sides in one run\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--build", default="build")
    parser.add_argument("--goals", metavar="FILE")
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--ways", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--warm", type=json.loads, help=argparse.SUPPRESS)
    a = parser.parse_args()
    for name in set(a.cases) - set(CASES):
        parser.error(f"{name}: no such case, expected one of {', '.join(CASES)}")
    if a.child:
        return child(a.cases[0], a.child, a.ways, a.warm, a.runs, a.eager)
    about = about_all(a.build)
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
        seen[name, threads] = versus(name, threads, a, until)
    if a.goals:
        write_goals(a.goals, about, seen, higher(machine, roofs(a.build)))


if __name__ == "__main__":
    main()
