#!/usr/bin/env python3
"""Plant mistakes in naive/, fast/ and reference/, one at a time, and see which proofs fall.

    python3 tests/plant.py [--seed 1] [--count 60] [--only fast/lisa] [--build build] [--quick]

`make mutants COUNT=60 SEED=1` is the same.

A mistake is one of six: an arithmetic operator, an index, a bound, a sign, a
constant, a missing line.  They are drawn by the seed, spread evenly over the
files, from code alone: no comment, no string, no preprocessor line.  Each is
planted in a copy of the tree, built in float, and met by the suites, those of
its own row first and the quick before the slow; the first failure ends it, and a suite
is linked when its turn comes.  One that all suites pass is met by the double build, and
last by the sanitizers; not so with --quick, which is float alone.

Prints a line for each mistake, and appends it to planted.tsv in the build folder: what fell, or SURVIVED; "(time)" behind a suite
that no longer ended, and was stopped by the clock.  Exit status 0 when
none survived.  A survivor may be equivalent (a larger workspace, a hint to the
cache, a remainder that another loop would do): that is for a person to judge.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time

CODE = ("naive", "fast", "reference")
LIMIT = 20                              # times a suite's own time, and seconds added to it
LAST = {"test_exercises", "test_installed", "test_library", "test_program", "test_faults"}     # they want all programs


def blanked(text):
    """The text with comments, strings and preprocessor lines turned into blanks, place by place."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    text = re.sub(r"/\*.*?\*/", blank, text, flags=re.S)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', blank, text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


KINDS = {
    "arithmetic": [(r"(?<=[\w)\]]) ([+*/-]) (?=[\w(*&])", lambda m: {"+": " - ", "-": " + ", "*": " + ", "/": " * "}[m.group(1)])],
    "index": [(r"(?<=\w)\[([^\[\]=]+)\](?! *=[^=]* *\{)", lambda m: f"[{m.group(1)} + 1]")],
    "bound": [(r" (<=|>=|<|>) ", lambda m: {"<": " <= ", "<=": " < ", ">": " >= ", ">=": " > "}[m.group(1)])],
    "sign": [(r" ([+-]=) ", lambda m: {"+=": " -= ", "-=": " += "}[m.group(1)]), (r"(?<=[=(,] )-(?=\w)", lambda m: "")],
    "constant": [(r"(?<![\w.])([0-9]+)(?![\w.])", lambda m: str(int(m.group(1)) + 1))],
    "missing line": [(r"^[ \t]+(?!return|break|continue|case|default|struct|const|size_t|real|lanes|static|int|bool|double|enum)"
                      r"[a-zA-Z_*(][^;{}\n]*;[ \t]*$", lambda m: "")],
}


def mistakes(folder, only):
    """Every mistake that could be planted: file -> list of (kind, start, end, replacement)."""
    found = {}
    for top in CODE:
        for where, _, names in sorted(os.walk(os.path.join(folder, top))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(where, name), folder)
                if not name.endswith((".c", ".h")) or (only and not path.startswith(only)):
                    continue
                with open(os.path.join(folder, path)) as f:
                    text = f.read()
                code = blanked(text)
                begin = re.search(r"^\w[^;]*\)\n\{", code, flags=re.M)      # the first function
                places = []
                for kind, patterns in KINDS.items():
                    for pattern, change in patterns:
                        for m in re.finditer(pattern, code, flags=re.M):
                            if begin and m.start() > begin.start():
                                places.append((kind, m.start(), m.end(), change(m)))
                if places:
                    found[path] = places
    return found


def draw(found, seed, count):
    """Files in turn, of each a kind in turn, of each a place by the seed."""
    dice = random.Random(seed)
    files, drawn, seen = sorted(found), [], set()
    dice.shuffle(files)
    kinds = list(KINDS)
    for n in range(100 * count):
        if len(drawn) == count:
            break
        path, kind = files[n % len(files)], dice.choice(kinds)
        places = [p for p in found[path] if p[0] == kind]
        if not places:
            continue
        place = dice.choice(places)
        if (path, place) not in seen:
            seen.add((path, place))
            drawn.append((path, place))
    return drawn


PASSED, FAILED, STOPPED = 0, 1, 2       # how a suite ends


def words(name):
    """What a suite or a file is called by: test_dfc_cp is dfc and cp."""
    return set(os.path.splitext(os.path.basename(name))[0].split("_")) - {"test"}


class Tree:
    """A copy of the tree; times[suite] is how long a suite takes there with no mistake, once it was wanted."""

    def __init__(self, folder, targets, variables, seconds):
        self.folder, self.variables, self.seconds, self.times = folder, variables, seconds, {}
        self.suites = targets

    def make(self, targets):
        environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
        return subprocess.run(["make", "CUDA=", f"-j{os.cpu_count()}", *self.variables, *targets], cwd=self.folder, env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def accept(self, suite):
        """Builds a suite of the tree as it should be, and sees it pass."""
        if not self.make([suite]):
            sys.exit(f"plant: {suite} cannot be built")
        start = time.monotonic()
        if self.outcome(suite, 1800) != PASSED:
            sys.exit(f"plant: {suite} fails before any mistake is planted")
        self.times[suite] = time.monotonic() - start

    def outcome(self, suite, limit):
        environment = {**os.environ, "OMP_NUM_THREADS": "2", "CK_FORK": "no" if self.variables else "yes",
                       "ASAN_OPTIONS": "detect_leaks=1"}
        try:
            return subprocess.run([suite], cwd=self.folder, timeout=limit, env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode and FAILED
        except subprocess.TimeoutExpired:
            return STOPPED

    def order(self, path):
        """Suites of the file's own row first, those that want all programs last, the quick before the slow."""
        own = self.rows_of(path)
        return sorted(self.suites, key=lambda s: (os.path.basename(s) in LAST, own.isdisjoint(words(s)),
                                                  self.times.get(s, self.seconds.get(os.path.basename(s), 5))))

    def first_to_fall(self, path):
        """The first suite that fails; None if all pass.  The mistake is planted, and stays so."""
        for suite in self.order(path):
            if suite not in self.times:
                changed = swap(self.folder, path)
                self.accept(suite)
                restore(self.folder, path, changed)
            if not self.make([suite]):
                return suite + " (link)"
            outcome = self.outcome(suite, self.times[suite] * LIMIT + LIMIT)
            if outcome != PASSED:
                return suite + (" (time)" if outcome == STOPPED else "")
        return None

    def rows_of(self, path):
        """The words of a file's name, its folder's, and the folder of fast/ that holds a file of that name."""
        parts = os.path.dirname(path).split("/")[1:] + [os.path.basename(path)]
        for folder, _, names in os.walk(os.path.join(self.folder, "fast")):
            if os.path.basename(path) in names and folder != os.path.join(self.folder, "fast"):
                parts.append(os.path.basename(folder))
        return set().union(*map(words, parts))


def plant(folder, path, place):
    _, start, end, new = place
    name = os.path.join(folder, path)
    with open(name) as f:
        text = f.read()
    ORIGINAL[path] = text
    with open(name, "w") as f:
        f.write(text[:start] + new + text[end:])
    line = text.count("\n", 0, start)
    return text, line + 1, text.split("\n")[line].strip()


ORIGINAL = {}                           # the file that the mistake is planted in, as it was


def swap(folder, path):
    """Takes the mistake out for a while; the text with it."""
    name = os.path.join(folder, path)
    with open(name) as f:
        changed = f.read()
    restore(folder, path, ORIGINAL[path])
    return changed


def restore(folder, path, text):
    with open(os.path.join(folder, path), "w") as f:
        f.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()

    here = os.path.abspath(os.path.join(arguments.build, "planted"))
    shutil.rmtree(here, ignore_errors=True)
    for path in subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n"):
        if path:
            os.makedirs(os.path.dirname(os.path.join(here, path)), exist_ok=True)
            shutil.copy2(path, os.path.join(here, path))

    suites = sorted(os.path.basename(p)[:-2] for p in os.listdir(os.path.join(here, "tests"))
                    if p.startswith("test_") and p.endswith(".c"))
    seconds = {}
    if os.path.exists(os.path.join(arguments.build, "seconds")):
        with open(os.path.join(arguments.build, "seconds")) as f:
            seconds = {os.path.basename(line.split()[1]): float(line.split()[0]) for line in f}
    checks = "-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
    trees = [Tree(here, [f"build/tests/{s}" for s in suites], [], seconds)]
    if not arguments.quick:
        trees += [Tree(here, [f"build/double/tests/{s}" for s in suites if s != "test_exercises"], [], seconds),
                  Tree(here, [f"build/checked/tests/{s}" for s in suites], ["BUILD=build/checked", f"CFLAGS={checks}"], seconds)]
    if not trees[0].make(["build/libtwicetold.a"]):
        sys.exit(f"plant: {here} cannot be built")

    survivors = planted = 0
    for path, place in draw(mistakes(here, arguments.only), arguments.seed, 3 * arguments.count):
        if planted == arguments.count:
            break
        text, number, line = plant(here, path, place)
        fallen = None
        if trees[0].make(["build/libtwicetold.a", "build/libcounting.a"]):      # a mistake that the compiler refuses is none
            planted += 1
            fallen = next((f for f in (t.first_to_fall(path) for t in trees) if f), None)
            survivors += not fallen
            said = f"{path}:{number}: {place[0]}: {line}  ->  {place[3].strip() or '(nothing)'}"
            print(f"{fallen or 'SURVIVED':44} {said}", flush=True)
            with open(os.path.join(arguments.build, "planted.tsv"), "a") as f:
                f.write(f"{arguments.seed}\t{fallen or 'SURVIVED'}\t{said}\n")
        restore(here, path, text)
    print(f"{planted - survivors} of {planted} mistakes fell (seed {arguments.seed})")
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
