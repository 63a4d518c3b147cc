#!/usr/bin/env python3
"""Plant mistakes in naive/ and fast/, one at a time, and see which proofs fall.

    python3 tests/plant.py [--seed 1] [--count 60] [--only fast/lisa] [--build build]

A mistake is one of six: an arithmetic operator, an index, a bound, a sign, a
constant, a missing line.  They are drawn by the seed, spread evenly over the
files, from code alone: no comment, no string, no preprocessor line.  Each is
planted in a copy of the tree, built in float, and met by the suites, those of
its own row first; the first failure ends it.  One that all suites pass is met
by the double build, and last by the sanitizers.

Prints a line for each mistake: what fell, or SURVIVED; "(time)" behind a suite
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

CODE = ("naive", "fast")
LIMIT = 20                              # times a suite's own time, and seconds added to it


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
    """A copy of the tree with its suites built; times[suite] is how long each takes."""

    def __init__(self, folder, targets, variables):
        self.folder, self.variables, self.times = folder, variables, {}
        self.suites = targets
        if not self.make(targets):
            sys.exit(f"plant: {folder} cannot be built")
        for suite in targets:
            start = time.monotonic()
            if self.outcome(suite, 900) != PASSED:
                sys.exit(f"plant: {suite} fails before any mistake is planted")
            self.times[suite] = time.monotonic() - start

    def make(self, targets):
        return subprocess.run(["make", f"-j{os.cpu_count()}", *self.variables, *targets], cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def outcome(self, suite, limit):
        environment = {**os.environ, "OMP_NUM_THREADS": "2", "CK_FORK": "no" if self.variables else "yes",
                       "ASAN_OPTIONS": "detect_leaks=1"}
        try:
            return subprocess.run([suite], cwd=self.folder, timeout=limit, env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode and FAILED
        except subprocess.TimeoutExpired:
            return STOPPED

    def first_to_fall(self, path):
        """The first suite that fails, own row first, the quick before the slow; None if all pass."""
        own = self.rows_of(path)
        for suite in sorted(self.suites, key=lambda s: (own.isdisjoint(words(s)), self.times[s])):
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
    with open(name, "w") as f:
        f.write(text[:start] + new + text[end:])
    line = text.count("\n", 0, start)
    return text, line + 1, text.split("\n")[line].strip()


def restore(folder, path, text):
    with open(os.path.join(folder, path), "w") as f:
        f.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--build", default="build")
    arguments = parser.parse_args()

    here = os.path.abspath(os.path.join(arguments.build, "planted"))
    shutil.rmtree(here, ignore_errors=True)
    for path in subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n"):
        if path:
            os.makedirs(os.path.dirname(os.path.join(here, path)), exist_ok=True)
            shutil.copy2(path, os.path.join(here, path))

    suites = sorted(os.path.basename(p)[:-2] for p in os.listdir(os.path.join(here, "tests"))
                    if p.startswith("test_") and p.endswith(".c"))
    checks = ("-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all",)
    float_build = Tree(here, [f"build/tests/{s}" for s in suites], [])
    later = [([f"build/double/tests/{s}" for s in suites], []),
             ([f"build/checked/tests/{s}" for s in suites], ["BUILD=build/checked", f"CFLAGS={checks[0]}"])]
    others = []

    survivors = planted = 0
    for path, place in draw(mistakes(here, arguments.only), arguments.seed, 3 * arguments.count):
        if planted == arguments.count:
            break
        text, number, line = plant(here, path, place)
        if not float_build.make(float_build.suites):        # a mistake that the compiler refuses is none
            restore(here, path, text)
            continue
        planted += 1
        fallen = float_build.first_to_fall(path)
        if not fallen:
            restore(here, path, text)
            others = others or [Tree(here, targets, variables) for targets, variables in later]
            plant(here, path, place)
            fallen = next((f for f in (t.make(t.suites) and t.first_to_fall(path) for t in others) if f), None)
        restore(here, path, text)
        survivors += not fallen
        print(f"{fallen or 'SURVIVED':44} {path}:{number}: {place[0]}: {line}  ->  {place[3].strip() or '(nothing)'}", flush=True)
    print(f"{planted - survivors} of {planted} mistakes fell (seed {arguments.seed})")
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
