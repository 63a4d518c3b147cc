#!/usr/bin/env python3
"""Time our fast forms against PyTorch, both sides in one run.

    python3 figures/bench/versus.py [CASE ...] [--threads 1,2] [--minutes 14] [--build build] [--goals FILE]
                                    [--way FILE]

tests/pytorch/OPERATOR.py has the cases and PyTorch's ways to compute them.  Each way is also timed through
torch.compile if it is not slow.  Both sides get the same tensors and must agree to 1e-4, before and during timing; no
run gets an x that was used before.  The sides and the numbers of threads alternate, since the speed of a core changes.
Milliseconds are medians over the rounds of a side's medians.  A ratio is the median of the ratios of each round.  Cases
with goals come first and get three times the minutes of the others.

--way adds your ways, from a file that defines CASE, the name of a case, and ways(tensors), a dictionary of functions
from x to y.  They are timed next to the others.

--goals FILE writes a table of goals: to be faster than PyTorch's fastest way.  Its column `reached` is the floor of our
form over its time, in percent.  A goal is met if the 95 % interval of the ratio (by bootstrap over the rounds) lies
above 1, missed if it lies below, and open otherwise.  If two threads are more than 2.05 times as fast as one, a case
with a goal is measured again; after three times the tables are rejected.

The floor is the longer of two times: that of the arithmetic, at the rates of figures/bench/roofline, and that of x, y
and parameters, at the bandwidth of the nearest level that holds them.  Rates are those of one core, times the threads.
"""
import argparse
import importlib.util
import json
import math
import os
import pathlib
import random
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

SLOW, FAR = 3, 1.1                      # times the best, over which a way is dropped after 1, FEWEST rounds
FEWEST, ROUNDS = 3, 31                  # rounds: at least, whatever the time limit; at most
LEAST, FEW, MOST = 0.1, 3, 301          # seconds of a way in a round, as clocks rise slowly; least and most runs
COMPILED = ", compiled"
FASTEST, TRIES = 2.05, 3                # credible speed-up of two threads; times to measure a case
EXPONENTIAL = 5                         # multiply-adds of its polynomial, the least for a float

# Case, our side, description.
GOALS = [
    ("msa", "ours", "self-attention, 56×56, 64 channels"),
    ("lisa", "ours", "LiSA, 56×56, 96 channels, D = 16"),
    ("structsa", "ours", "StructSA, 28×28, 384 channels, D = 8"),
    ("elsa", "ours", "ELSA, 56×56, 96 channels, K = 7"),
    ("window", "ours, elsa", "ELSA against self-attention in 7×7 windows"),
    ("chopd", "ours", "ChoP'D's layer, 56×56, 96 channels"),
    ("chopd-pool-whole", "ours", "its pooling, whole tokens"),
    ("chopd-pool-edges", "ours", "its pooling, edges inside tokens"),
    ("hilo", "ours", "HiLo, 14×14, 768 channels"),
    ("hilo-64", "ours", "HiLo, a batch of 64"),
]

# Our side of a case is build/measure with its fast form, and with those of the cases named in `beside`.  The form
# `judge` checks it, by default the naive one; None if no other can run.  A case with `programs` (label: program and
# arguments) runs those instead; they check themselves.
DEFAULT = {"sizes": {}, "batch": 1, "without": "", "judge": "naive", "beside": []}
CASES = {name: {**DEFAULT, "side": side, "operator": side.__name__, **case}
         for side in SIDES for name, case in side.TIMED.items()}


# ---- PyTorch's side -----------------------------------------------------------

def add_ways(path):
    """Add the ways of a reader's file to its case; return the name of the case."""
    spec = importlib.util.spec_from_file_location("way", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.CASE not in CASES:
        sys.exit(f"{path}: found the case {module.CASE}, expected one of {', '.join(CASES)}")
    CASES[module.CASE]["more"] = module.ways
    return module.CASE


def draw(case):
    """Random x and parameters, float32, by name."""
    generator = torch.Generator().manual_seed(1)
    return case["side"].timed_inputs(case, lambda rows: {
        name: torch.randn(*shape, generator=generator) / fan ** 0.5 for name, shape, fan in rows})


def given(case, x):
    """The argument of a way: x, or the case's untimed conversion of x."""
    return case["side"].given(case, x) if hasattr(case["side"], "given") else x


def forms(case, tensors):
    """PyTorch's ways, name -> function of given(x); each again through torch.compile."""
    ways = case["side"].timed(case, tensors)
    ways.update(case["more"](tensors) if "more" in case else {})
    torch._dynamo.reset()               # it limits the number of compilations of a function
    return {**ways, **{name + COMPILED: torch.compile(way) for name, way in ways.items()}}


def attempt(name, label, way, x):
    """The result and the seconds of a second run; None if this way does not run here."""
    try:
        way(x)
        start = time.perf_counter()
        return way(x), time.perf_counter() - start
    except Exception as error:
        print(f"{name}: {label}: left out: {str(error).strip().splitlines()[0]}", file=sys.stderr)
        return None


def repeats(seconds):
    """The number of runs of a way that takes this long."""
    return max(FEW, min(MOST, math.ceil(LEAST / seconds)))


def exchange(x, run):
    """Swap, in place, one number of each token with that of the mirrored token (counted from the end)."""
    rows = x.view(-1, x.shape[-1])
    generator = torch.Generator().manual_seed(run + 2)
    at = torch.randint(rows.shape[1], (rows.shape[0] // 2,), generator=generator)
    first, last = torch.arange(len(at)), rows.shape[0] - 1 - torch.arange(len(at))
    rows[first, at], rows[last, at] = rows[last, at], rows[first, at]


def child(name, threads, names):
    """Answer each line on stdin, [round, ways, folder], with the medians of these ways; leave x and y in the folder."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    case, runs = CASES[name], {}
    tensors = draw(case)
    x, drawn, ways = tensors["x"], tensors["x"].clone(), forms(case, tensors)
    for way in names:
        done = attempt(name, way, ways[way], given(case, x))
        runs[way] = repeats(done[1]) if done else 0            # 0: it ran in the check, but fails here
    print("ready", flush=True)
    for line in sys.stdin:
        number, wanted, folder = json.loads(line)
        row = {}
        for way in filter(runs.get, wanted):
            times = []
            for run in range(MOST - runs[way], MOST):               # all ways end with the same x
                x.copy_(drawn)
                exchange(x, number * MOST + run)
                entry = given(case, x)
                start = time.perf_counter()
                y = ways[way](entry)
                times.append(time.perf_counter() - start)
            row[way] = statistics.median(times)
            pathlib.Path(folder, f"y{len(row)}").write_bytes(safetensors({"y": y}, {}))
        pathlib.Path(folder, "x").write_bytes(safetensors({"x": x}, {}))
        print(json.dumps(row), flush=True)


class PyTorch:
    """A process that times PyTorch's ways with this many threads."""

    def __init__(self, name, threads, ways, a):
        self.name, self.left = name, ways
        command = [sys.executable, __file__, name, "--child", str(threads), "--ways", json.dumps(ways),
                   *(["--way", a.way] if a.way else [])]
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment(threads, True))

    def time(self, number, build):
        """Way -> seconds and the difference of its y from ours, for the ways that are left."""
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps([number, self.left, folder]), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"{self.name}: PyTorch's side ended")
            row, case = json.loads(line), CASES[self.name]
            file = lambda name: read(pathlib.Path(folder, name))[0]
            results = ((way, file(f"y{n}")["y"]) for n, way in enumerate(row, 1))
            ours = ours_of(case, {**draw(case), **file("x")}, build)
            apart = compare(self.name, ours, results, "while it was timed")
        return {way: (seconds, apart[way]) for way, seconds in row.items()}

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
    """Run our program and return its row, by column.  Repeat a run that was disturbed."""
    for _ in range(5):
        done = subprocess.run([*command, str(times), *words], capture_output=True, text=True,
                              env=environment(threads, False))
        if done.returncode or ("--judge" in words and "timed but not compared" in done.stderr):
            sys.exit(done.stderr)
        lines = done.stdout.splitlines()
        row = dict(zip(lines[0].lstrip("#").split("\t"), lines[-1].split("\t")))
        if not math.isnan(float(row["median_seconds"])):
            return row
    return reject(f"{' '.join(command)}: the times are disturbed")


def reject(why):
    """End without a table."""
    print(f"{why}: close other programs and measure again", file=sys.stderr)
    sys.exit(2)


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


def check(name, a, until):
    """Compare both sides before timing; return the ways that run here.  Compiles the fast ones, while there is time."""
    case = CASES[name]
    tensors = draw(case)
    ways, x = forms(case, tensors), given(case, tensors["x"])
    done = {way: attempt(name, way, ways[way], x) for way in ways if not way.endswith(COMPILED)}
    done = {way: result for way, result in done.items() if result}
    fastest = min((seconds for _, seconds in done.values()), default=0)
    for way, (_, seconds) in sorted(done.items(), key=lambda item: item[1][1]):
        if seconds <= SLOW * fastest and time.monotonic() < until:
            result = attempt(name, way + COMPILED, ways[way + COMPILED], x)
            done.update({way + COMPILED: result} if result else {})
    results = [(way, y) for way, (y, _) in done.items()]
    return compare(name, ours_of(case, tensors, a.build), results, "before timing")


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

def rounds(name, threads, a, until):
    """Time a case.  Return the seconds of each round, our rows and the largest difference, by (threads, side)."""
    case, now = CASES[name], time.monotonic()
    ways = check(name, a, now + (until - now) / 2)
    sides = {n: PyTorch(name, n, list(ways), a) for n in threads}
    for side in sides.values():
        side.process.stdout.readline()  # wait until all have compiled: nothing is timed next to that
    ours = {(n, label): (command, repeats(float(ours_once(command, n, FEW)["median_seconds"])))
            for n in threads for label, command in commands(case, n, a.build).items()}
    seen, rows, apart = {}, {}, {(n, "ours"): max(ways.values()) for n in threads}

    def note(key, seconds, far):
        seen.setdefault(key, []).append(seconds)
        apart[key] = max(far, apart.get(key, 0))

    for number in range(ROUNDS):
        if number >= FEWEST and time.monotonic() > until:
            break
        for n, side in sides.items():
            for key, (command, times) in ours.items():
                if key[0] == n:
                    judged = number == 0 and "--form" in command
                    rows[key], far = ours_judged(command, key[1], case_of(key[1], case), n, times) if judged else \
                        (ours_once(command, n, times), 0)
                    note(key, float(rows[key]["median_seconds"]), far)
            row = side.time(number, a.build)
            for way, (seconds, far) in row.items():
                note((n, way), seconds, max(far, ways[way]))
            if number in (0, FEWEST - 1):
                least = {way: min(seen[n, way]) for way in row}
                near = (FAR if number else SLOW) * min(least.values())
                side.left = [way for way in row if least[way] <= near]
    for side in sides.values():
        side.close()
    return seen, rows, apart


def median_ms(times):
    """Milliseconds as printed, so that speed-ups are those of printed numbers."""
    return round(1e3 * statistics.median(times), 3)


def paired(times, ours):
    """The median over the rounds of the ratio of two sides, and the ends of its 95 % interval; as printed."""
    ratios, generator = [a / b for a, b in zip(times, ours)], random.Random(1)
    medians = sorted(statistics.median(generator.choices(ratios, k=len(ratios))) for _ in range(2000))
    return [round(ratio, 2) for ratio in (statistics.median(ratios), medians[50], medians[1949])]


def best_way(seen, threads):
    """PyTorch's fastest way."""
    return min((way for n, way in seen if n == threads and not way.startswith("ours")),
               key=lambda way: statistics.median(seen[threads, way]))


def impossible_speedup(seen, threads):
    """A message if two threads are more than FASTEST times as fast as one, as on a busy machine; or None."""
    ours = [label for n, label in seen if n == 1 and label.startswith("ours")]
    for label in ours + ["PyTorch"] if {1, 2} <= set(threads) else []:
        one, two = (median_ms(seen[n, label if label in ours else best_way(seen, n)]) for n in (1, 2))
        if one / two > FASTEST:
            return f"{label}: two threads are {one / two:.2f} times as fast as one, expected at most {FASTEST}"
    return None


def print_sides(name, seen, apart):
    for (n, label), times in sorted(seen.items(), key=lambda item: item[0][0]):
        print(name, n, label, f"{median_ms(times):.3f}", f"{paired(times, seen[n, 'ours'])[0]:.2f}",
              f"{apart[n, label]:.1e}" if apart[n, label] else "-", len(times), sep="\t", flush=True)


# ---- goals and floors ---------------------------------------------------------------

def machine_rates(build):
    """Rates of one core: port -> G operations per second; [(level, capacity in bytes, G bytes per second)]."""
    done = subprocess.run([f"{build}/figures/bench/roofline", "0.3", str(1 << 28), "alone"], capture_output=True,
                          text=True, env=environment(1, False))
    if done.returncode:
        sys.exit(done.stderr)
    cells = [row.split("\t") for row in done.stdout.splitlines()]
    return ({name: float(rate) for kind, name, _, rate, *_ in cells if kind == "port"},
            [(name, float(holds), float(rate)) for kind, name, _, rate, holds, *_ in cells
             if kind == "level" and name != "multiply-adds"])


def arithmetic(work, additions, powers, ports):
    """Seconds on one core, the largest of: products at the rate of a product in cache plus exponentials at that of fma;
    additions outside products at that of add; all of these at that of fma+add."""
    return 1e-9 * max(work / ports["product"] + EXPONENTIAL * powers / ports["fma"], additions / ports["add"],
                      (work + EXPONENTIAL * powers + additions) / ports["fma+add"])


def goal_row(goal, threads, seen, rows, machine):
    name, label, what = goal
    case, (ports, levels), row = case_of(label, CASES[name]), machine, rows[threads, label]
    way = best_way(seen, threads)
    ratio, least, most = paired(seen[threads, way], seen[threads, label])
    its, ours = (median_ms(seen[threads, key]) for key in (way, label))
    work, additions = float(row["multiply_adds"]), 0
    if hasattr(case["side"], "transforms"):
        counted, work_done, additions = case["side"].transforms(case)
        work += work_done - counted
    powers = case["batch"] * case["side"].exponentials(case) if hasattr(case["side"], "exponentials") else 0
    # y is as large as x in all of these layers.
    traffic = 4.0 * (2 * case["batch"] * math.prod(case["grid"]) * case["C"] + int(row["parameters"]))
    level, _, rate = next(each for each in levels if traffic <= threads * each[1])
    by_work, by_traffic = 1e3 * arithmetic(work, additions, powers, ports) / threads, 1e-6 * traffic / rate / threads
    floor = max(by_work, by_traffic)
    verdict = "met" if least > 1 else "missed" if most < 1 else "open"
    return [what, name, threads, way, f"{its:.3f}", label, f"{ours:.3f}", f"{ratio:.2f}", f"{least:.2f}",
            f"{most:.2f}", verdict, f"{floor:.4g}", "arithmetic" if by_work >= by_traffic else level,
            f"{100 * floor / ours:.0f}", *layer(case), f"{work:.0f}", f"{additions:.0f}", powers, f"{traffic:.0f}",
            *(f"{ports[port]:.5g}" for port in ("product", "fma", "add", "fma+add")), f"{rate:.5g}"]


def write_goals(path, about, cases, machine):
    """Write the goals whose case was measured; cases is name -> (seconds, rows), as rounds returns them."""
    columns = ("what case threads PyTorch's_best its_ms our_form our_ms ratio least most verdict floor_ms floor_of "
               "reached operator options grid channels batch sizes without multiply_adds additions exponentials "
               "given_bytes product fma add fma+add bandwidth")
    with open(path, "w", encoding="utf-8") as file:
        print(about, end="", file=file)
        print("#" + "\t".join(columns.split()), file=file)
        for goal in (goal for goal in GOALS if goal[0] in cases):
            seen, rows = cases[goal[0]]
            for threads in sorted({n for n, _ in seen}):
                print(*goal_row(goal, threads, seen, rows, machine), sep="\t", file=file)


def about_all(build):
    """The comments at the head of both tables: machine, day, commit, PyTorch."""
    machine = subprocess.run([f"{build}/figures/bench/machine"], check=True, capture_output=True, text=True,
                             env=environment(1, False)).stdout
    return f"{machine}{measured()}\n# PyTorch {torch.__version__}; milliseconds are medians, both sides in one run\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--minutes", type=float, default=14)
    parser.add_argument("--build", default="build")
    parser.add_argument("--goals", metavar="FILE")
    parser.add_argument("--way", metavar="FILE")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--ways", type=json.loads, help=argparse.SUPPRESS)
    a = parser.parse_args()
    for name in set(a.cases) - set(CASES):
        parser.error(f"{name}: no such case, expected one of {', '.join(CASES)}")
    more = [add_ways(a.way)] if a.way else []
    if a.child:
        return child(a.cases[0], a.child, a.ways)
    threads = [int(n) for n in a.threads.split(",")]
    torch.set_grad_enabled(False)
    torch.set_num_threads(max(threads))
    about, machine = about_all(a.build), machine_rates(a.build) if a.goals else None
    print(about, end="")
    print("#case\tthreads\tside\tmilliseconds\tratio_to_ours\tlargest_relative_difference\trounds", flush=True)
    with_goals = [goal[0] for goal in GOALS]
    names = a.cases or more or with_goals + [name for name in CASES if name not in with_goals]
    end, cases = time.monotonic() + 60 * a.minutes, {}
    weights = [3 if name in with_goals else 1 for name in names]
    for done, name in enumerate(names):
        now = time.monotonic()
        until = now + (end - now) * weights[done] / sum(weights[done:])
        for attempt in range(TRIES):
            seen, rows, apart = rounds(name, threads, a, until)
            wrong = name in with_goals and impossible_speedup(seen, threads)
            if not wrong:
                break
            print(f"{name}: {wrong}", file=sys.stderr)
        if wrong:
            reject(f"{name}: no possible times in {TRIES} tries")
        print_sides(name, seen, apart)
        cases[name] = seen, rows
    if a.goals:
        write_goals(a.goals, about, cases, machine)


if __name__ == "__main__":
    main()
