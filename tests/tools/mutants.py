#!/usr/bin/env python3
"""Apply each mutation of tests/tools/mutations.tsv to a copy of the sources, and require that a suite detects it.

    make mutants [ONLY=pattern]

Columns: path, old text (occurs exactly once; \\n, \\t and \\\\ as in C), new text, build (float, double, exact,
address), suites, why.  Suite arena is tests/runtime/test_arena.c, program tests/cli/test_program.py; cuda@lisa sets
OPERATOR=lisa.  Suites run in order until a failure, signal or time limit detects the mutation; "equivalent" instead
of suites marks a mutation that no suite can detect.  Only objects that depend on the path are compiled, by make's
commands, and linked before the archives.  Errors: a row that does not apply, a mutation that does not compile or
changes no object, a suite that fails without a mutation.
"""
import concurrent.futures
import glob
import os
import queue
import re
import select
import shutil
import signal
import subprocess
import sys
import time

BUILD, ONLY = sys.argv[1], sys.argv[2]
FOLDER = {"float": BUILD, "double": BUILD + "/double", "exact": BUILD + "/exact", "address": BUILD + "/sanitize/double"}
SETTINGS = {"address": ["BUILD=" + BUILD + "/sanitize", "WERROR=", "CFLAGS=" + os.environ.get("CHECKED", "")]}
LOGS = {"address": "sanitize/tap/double"}
JOBS, LIMIT, TOP = os.cpu_count(), 300, os.getcwd()
RULES, SOURCES = {}, {}         # by target: the command that makes it; by object: all files it is compiled from


def program(build, suite):
    path = glob.glob(f"tests/*/test_{suite.split('@')[0]}.*")[0]
    return f"{FOLDER[build]}/{path if path.endswith('.py') else os.path.splitext(path)[0]}"


def learn(build, suites):
    """Build the suites; record make's command for each object, archive and program."""
    def make(*words):
        done = subprocess.run(["make", "CUDA=", *SETTINGS.get(build, ()), *words, *(program(build, s) for s in suites)],
                              capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else sys.exit(f"mutants: {build}: {done.stderr}")
    make(f"-j{JOBS}")
    for line in make("-nB", "V=1").replace("\\\n", " ").split("\n"):
        line = re.sub(r"^if \[.*?; fi && ", "", line)           # what make would announce
        made = re.search(r"-c \S+ -o (\S+)$|ar rcs (\S+)|-o (\S+)", line)
        if not made or "echo" in line:
            continue
        target = made[1] or made[2] or made[3]
        RULES[target] = re.sub(r" -Werror\b", "", line)
        if made[1]:
            with open(target[:-2] + ".d") as f:
                words = f.read().replace("\\\n", " ").split("\n")[0].split(":", 1)[1]
            SOURCES[target] = {os.path.normpath(word) for word in words.split()}


class Mutant:
    """A copy of the sources with one mutation, and the objects and programs made from it."""

    def __init__(self, copy, path):
        self.copy, self.path, self.made = copy, path, set()

    def depends(self, target):
        # naive_in_double.o contains naive forms only.
        if target in SOURCES or target.endswith("naive_in_double.o") and self.path.startswith("fast/"):
            return self.path in SOURCES.get(target, ())
        words = RULES.get(target, "").split()
        return any(self.depends(word) for word in words if word != target and word.endswith((".o", ".a")))

    def word(self, word, target):
        """A word of a link command, with changed objects from the copy and all others from TOP."""
        if word == target or word not in RULES:
            return word
        members = RULES[word].split() if word.endswith(".a") else [word]
        changed = [self.make(name) for name in members if name != target and name.endswith(".o") and self.depends(name)]
        return " ".join(changed + [os.path.join(TOP, word)] * (word.endswith(".a") or not changed))

    def make(self, target):
        if target in self.made:
            return target
        command, to = RULES[target], os.path.join(self.copy, target)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if target not in SOURCES:
            command = re.sub(r"\S+", lambda m: self.word(m[0], target), command)
        done = subprocess.run(["sh", "-c", command], cwd=self.copy, capture_output=True, text=True)
        if done.returncode:
            errors = re.findall("error.*|undefined.*", done.stderr)[:2]
            raise ValueError("; ".join([f"{target} cannot be made", *errors]))
        self.made.add(target)
        return target

    def place(self, target):
        to = os.path.join(self.copy, target)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if os.path.exists(to):
            os.remove(to)
        if self.depends(target):
            self.make(target)
        elif target.endswith(".py"):                            # the link leads the suite to the copied sources
            os.symlink(os.path.join(self.copy, target[target.index("tests/"):]), to)
        else:
            os.link(target, to)

    def changes(self):
        """True if the mutation changed an object."""
        def content(folder, name):
            with open(os.path.join(folder, name), "rb") as f:
                return f.read()
        return any(content(self.copy, name) != content(TOP, name) for name in self.made & SOURCES.keys())


def failure(build, suite, path):
    """Run a suite; return the first test that fails, or ""."""
    settings = {"DRAWS": "1", "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "CK_TAP_LOG_FILE_NAME": "-",
                "CK_TIMEOUT_MULTIPLIER": "3", "CK_FORK": "no" if build == "address" else "yes",
                **({"OPERATOR": suite.split("@")[1]} if "@" in suite else {})}
    terminal, theirs = os.openpty()                         # a terminal gets each line immediately
    command = [sys.executable, path] if path.endswith(".py") else [path]
    process = subprocess.Popen(command, env={**os.environ, **settings}, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    said, end, failed = b"", time.monotonic() + LIMIT, None
    while failed is None:
        try:
            late = not select.select([terminal], [], [], max(0, end - time.monotonic()))[0]
            said += b"\nnot ok 0 - ::its time limit: " if late else os.read(terminal, 65536)
        except OSError:                                     # the other end is closed
            failed = f"exit status {process.returncode}" if process.wait() else ""
        found = re.search(rb"(?m)^not ok \d+ - [^:]*:[^:]*:([^:]*):", said)
        failed = found[1].decode() if found else failed
    process.terminate()                                     # the suite then ends the test that runs
    process.wait()
    os.close(terminal)
    return failed


def baseline(build, suite):
    """Like failure(), without a mutation; runs nothing if the suite's log says that it passed."""
    path = program(build, suite)
    log = f"{BUILD}/{LOGS.get(build, 'tap/' + build)}/{os.path.basename(path).removesuffix('.py')}.log"
    programs = [path, f"{FOLDER[build]}/twicetold"] if path.endswith(".py") else [path]
    if os.path.exists(log) and os.path.getmtime(log) > max(map(os.path.getmtime, programs)):
        with open(log, errors="replace") as f:
            if re.search(r"(?m)^100%: Checks: ", f.read()):
                return ""
    return failure(build, suite, os.path.abspath(path))


def meet(row, copies):
    """Apply a row; return a line of the report, and true if a suite detects it."""
    path, old, new, build, suites, why = row
    copy, began, said = copies.get(), time.monotonic(), "is not detected"
    source = os.path.join(copy, path)
    try:
        with open(path) as f:
            text = f.read()
        if text.count(old) != 1:
            raise ValueError(f"the old text occurs {text.count(old)} times, expected once")
        with open(source, "w") as f:
            f.write(text.replace(old, new))
        mutant = Mutant(copy, path)
        for suite in suites.split():
            targets = [program(build, suite)]
            if targets[0].endswith(".py"):                     # a Python suite runs the programs of its build
                targets += [name for part in ("", "figures/*/", "tests/cli/", "lib/")
                            for name in glob.glob(f"{FOLDER[build]}/{part}*")
                            if os.path.isfile(name) and os.access(name, os.X_OK) and "/test_" not in name]
            for target in targets:
                mutant.place(target)
            if not mutant.changes():
                raise ValueError(f"no object of {suite} changes")
            failed = failure(build, suite, os.path.join(copy, targets[0]))
            if failed:
                return f"{time.monotonic() - began:5.1f} s  {path}: {why}: {suite}: {failed}", True
    except (OSError, ValueError) as error:
        said = error
    finally:
        if os.path.exists(path):
            shutil.copy2(path, source)
        copies.put(copy)
    return f"not ok   {path}: {why}: {said}", False


def main():
    for number in (signal.SIGINT, signal.SIGHUP):           # so that suites do not inherit nohup's settings
        signal.signal(number, lambda *_: os._exit(130))
    with open("tests/tools/mutations.tsv") as f:
        rows = [line.rstrip("\n").split("\t") for line in f][1:]
    for number, row in enumerate(rows, 2):
        if len(row) != 6 or row[3] not in FOLDER:
            sys.exit(f"tests/tools/mutations.tsv:{number}: expected six columns, the fourth one of: {' '.join(FOLDER)}")
        row[1:3] = (re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text) for text in row[1:3])
    rows = [row for row in rows if re.search(ONLY, " ".join((row[0], *row[3:])))]
    met = [row for row in rows if row[4] != "equivalent"]
    asked = sorted({(row[3], suite) for row in met for suite in row[4].split()})
    for build in sorted({build for build, _ in asked}):
        learn(build, [suite for each, suite in asked if each == build])
    copies = queue.Queue()
    for job in range(JOBS):
        copy = os.path.abspath(f"{BUILD}/mutants/{job}")
        shutil.rmtree(copy, ignore_errors=True)
        for folder in ("naive", "fast", "reference", "tests", "figures"):
            shutil.copytree(folder, os.path.join(copy, folder))
        copies.put(copy)
    passed = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for (build, suite), failed in zip(asked, pool.map(lambda pair: baseline(*pair), asked)):
            if failed:
                sys.exit(f"mutants: {suite}, {build}, fails without a mutation: {failed}")
        for done in concurrent.futures.as_completed([pool.submit(meet, row, copies) for row in met]):
            print(done.result()[0], flush=True)
            passed += done.result()[1]
    print(f"{passed} passed, {len(met) - passed} failed, {len(rows) - len(met)} skipped")
    sys.exit(passed < len(met) or not met)


main()
