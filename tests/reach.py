#!/usr/bin/env python3
"""Which suites execute which line: what tests/plant.py asks, answered by gcov.

    python3 tests/reach.py [--build build] [--jobs 2] [--exact]

Builds the tree once more under build/reach, at -O1 with counters, runs each suite alone, and writes
build/reach.json: for each source its text's digest, its functions' first and last lines, and for each line
that is code the suites that ran it, of the float build, with --exact also those over the field; for each suite
the digest of its text, and how many seconds it took.  A run that was stopped goes on where it was, while no
source changes; a suite that changed runs again.

What it cannot say: a line that is only a macro counts where the macro is used, and one that ran in a process
that died (a signal, _exit) counts as never run.  The exercises and the live figures are left out.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

CODE = ("naive/", "fast/", "reference/")
LEFT_OUT = {"test_exercises", "test_live"}      # they build programs of their own
LIMIT = 900


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha1(f.read()).hexdigest()


def digest_of_suite(suite):
    """Of tests/NAME.c; those over the field are read from other files too, and are theirs who ask for them."""
    return digest(suite + ".c") if os.path.exists(suite + ".c") else ""


def suites_of(exact):
    """Names as below build/: tests/test_msa, exact/exact_msa."""
    names = sorted(n[:-2] for n in os.listdir("tests") if re.fullmatch(r"test_\w+\.c", n))
    found = [f"tests/{n}" for n in names if n not in LEFT_OUT]
    if exact:
        text = subprocess.run(["make", "-pn", "help"], capture_output=True, text=True).stdout
        line = re.search(r"^EXACT_SUITES := (.*)", text, flags=re.M).group(1)
        found += sorted("exact/" + os.path.basename(w) for w in line.split() if not w.endswith("test_mistakes"))
    return found


def run_one(folder, suite):
    """Runs a suite; its seconds, and for each source the lines that ran and all lines that are code."""
    counters = os.path.join(folder, "ran", suite.replace("/", "-"))
    shutil.rmtree(counters, ignore_errors=True)
    environment = {**os.environ, "GCOV_PREFIX": os.path.abspath(counters), "OMP_NUM_THREADS": "2", "DRAWS": "1",
                   "OMP_WAIT_POLICY": "passive"}
    start = time.monotonic()
    try:
        ended = subprocess.run([os.path.join(folder, suite)], env=environment, timeout=LIMIT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    except subprocess.TimeoutExpired:
        ended = "time"
    seconds = time.monotonic() - start

    here, data = os.path.abspath(counters), []
    for where, _, names in os.walk(counters):
        for name in names:
            if name.endswith(".gcda"):
                path = os.path.join(where, name)
                notes = "/" + os.path.relpath(path, here)[:-4] + "gcno"
                if os.path.exists(notes):
                    os.symlink(notes, path[:-4] + "gcno")
                    data.append(path)
    lines, functions = {}, {}
    for n in range(0, len(data), 40):
        said = subprocess.run(["gcov", "--json-format", "--stdout", *data[n:n + 40]], capture_output=True,
                              text=True).stdout
        for told in said.splitlines():
            for source in json.loads(told)["files"] if told.startswith("{") else []:
                path = os.path.normpath(source["file"])
                if os.path.isabs(path):
                    path = os.path.relpath(path)
                if not path.startswith(CODE):
                    continue
                of = lines.setdefault(path, {})
                for line in source["lines"]:
                    of[line["line_number"]] = of.get(line["line_number"], False) or line["count"] > 0
                functions.setdefault(path, set()).update((f["start_line"], f["end_line"]) for f in source["functions"])
    shutil.rmtree(counters, ignore_errors=True)
    print(f"{seconds:6.1f} s  {suite}{'' if ended == 0 else f'  (ended with {ended})'}", file=sys.stderr, flush=True)
    return suite, seconds, lines, functions


class Table:
    """build/reach.json, written after each suite.  One of another tree lends its seconds alone."""

    def __init__(self, path):
        self.path, self.seconds, self.files, self.suites, self.before = path, {}, {}, {}, {}
        if os.path.exists(path):
            with open(path) as f:
                said = json.load(f)
            self.before = said["seconds"]
            if all(os.path.exists(p) and digest(p) == known["digest"] for p, known in said["files"].items()):
                self.seconds, self.files, self.suites = said["seconds"], said["files"], said.get("suites", {})
                for suite in [s for s, known in self.suites.items() if digest_of_suite(s) != known]:
                    self.forget(suite)

    def forget(self, suite):
        """A suite that is another by now is measured anew."""
        del self.suites[suite], self.seconds[suite]
        for known in self.files.values():
            for by in known["lines"].values():
                by[:] = [s for s in by if s != suite]

    def add(self, suite, seconds, lines, functions):
        self.seconds[suite] = round(seconds, 2)
        self.suites[suite] = digest_of_suite(suite)
        for path, of in lines.items():
            known = self.files.setdefault(path, {"digest": digest(path), "functions": [], "lines": {}})
            known["functions"] = sorted(set(map(tuple, known["functions"])) | functions[path])
            for number, ran in of.items():
                by = known["lines"].setdefault(str(number), [])
                if ran:
                    by.append(suite)
        with open(self.path + ".new", "w") as f:
            json.dump({"seconds": self.seconds, "suites": self.suites, "files": self.files}, f)
        os.rename(self.path + ".new", self.path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--exact", action="store_true")
    arguments = parser.parse_args()
    folder = os.path.join(arguments.build, "reach")
    suites = suites_of(arguments.exact)
    clean = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    if subprocess.run(["make", "CUDA=", f"BUILD={folder}", "CFLAGS=-O1 --coverage", f"-j{arguments.jobs}",
                       *(os.path.join(folder, s) for s in suites)], env=clean, stdout=subprocess.DEVNULL).returncode:
        sys.exit("reach: the tree with counters cannot be built")

    table = Table(os.path.join(arguments.build, "reach.json"))
    suites = sorted((s for s in suites if s not in table.seconds), key=lambda s: (table.before.get(s, 5), s))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for done in as_completed([pool.submit(run_one, folder, s) for s in suites]):
            table.add(*done.result())


if __name__ == "__main__":
    main()
