#!/usr/bin/env python3
"""Plant mistakes in naive/, fast/ and reference/, one at a time, and see which proofs fall.

    python3 tests/plant.py [--seed 1] [--count 60] [--only fast/lisa] [--build build] [--quick]
                           [--jobs 2] [--patience 120] [--bar 95] [--minutes 5] [--make CXXFLAGS=-O1] [--list]

`make mutants COUNT=60 SEED=1 [QUICK=1]` is the same.

A mistake is one of six: an arithmetic operator, an index, a bound, a sign, a constant, a missing line.
They are drawn by the seed, spread evenly over the files, from code alone: no comment, no string, no
preprocessor line, and nothing before a file's first function.  An edit moves only what is drawn from the
lines it touches.  Each is planted in a copy of the tree and built with the tree's own flags.  Two kinds are
not counted: what the compiler refuses, and what gives the same object files to the last bit, which the
compiler has then proved equivalent (in float and in double; --quick looks at float alone for what is in fast/).

The others meet the suites of the float build that execute their line, as tests/reach.py has seen it: first
those that are called by words of the file and its folder alone, however long they take (test_lisa, for what is in
fast/lisa), then those that promise most for a second of theirs, by their name, by what they reached, and by what
has fallen before them of this file and this folder.  The first failure ends it, within the suite too.  Without
build/reach.json (a --quick run makes none) every suite may meet every mistake.  What is met is bounded:
suites that together take more than PATIENCE seconds are left out, and said to be.  A mistake that all pass is
met by the double build, by the proofs over a field, and last by the sanitizers; not so with --quick, which is
float alone.  Exercises and live figures are not asked.

A survivor may be equivalent (a larger workspace, a hint to the cache, a remainder that another loop would
do): that is for a person to judge, and tests/survivors.tsv is where: what stands there as equivalent is
planted no more, and named so.

Prints a line for each mistake, and appends it to planted.tsv in the build folder, from which a run that
was stopped goes on: what that seed drew before comes first, as far as the sources still have it; what did not
fall is met again where --quick or the patience is another.  The last line says how many fell.  Exit status 0
when they are at least BAR percent of those not known to be equivalent: 95, or 80 with --quick, whose survivors
meet little and nobody has judged.
"""
import argparse
import filecmp
import hashlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

sys.dont_write_bytecode = True          # what is built lies under build/
from reach import digest, digest_of_suite

CODE = ("naive", "fast", "reference")
ENDINGS = (".c", ".h", ".cu", ".cc")
UNBUILT = ("_gpu.cu",)                  # for a device alone
BROWSERS = "reference/live/"            # for a page alone
LIMIT = 6                               # times a suite's own time, and 20 seconds
LEFT_OUT = {"test_exercises", "test_live"}
LAST = {"test_installed", "test_library", "test_program", "test_faults"}     # they want all programs
CHECKS = "-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"


def blanked(text):
    """The text with comments, strings and preprocessor lines turned into blanks, place by place."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', blank, text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


KINDS = {
    "arithmetic": [(r"(?<=[\w)\]]) ([+*/-]) (?=[\w(*&])",
                    lambda m: {"+": " - ", "-": " + ", "*": " + ", "/": " * "}[m.group(1)])],
    "index": [(r"(?<=\w)\[([^\[\]=]+)\](?! *=[^=]* *\{)", lambda m: f"[{m.group(1)} + 1]")],
    "bound": [(r" (<=|>=|<|>) ", lambda m: {"<": " <= ", "<=": " < ", ">": " >= ", ">=": " > "}[m.group(1)])],
    "sign": [(r" ([+-]=) ", lambda m: {"+=": " -= ", "-=": " += "}[m.group(1)]),
             (r"(?<=[=(,] )-(?=\w)", lambda m: "")],
    "constant": [(r"(?<![\w.])([0-9]+)(?![\w.])", lambda m: str(int(m.group(1)) + 1))],
    "missing line": [(r"^[ \t]+(?!return|break|continue|case|default|struct|const|size_t|real|lanes|static|int|bool|"
                      r"double|enum)"
                      r"[a-zA-Z_*(][^;{}\n]*;[ \t]*$", lambda m: "")],
}


def mistakes(folder, only):
    """Every mistake that could be planted: file -> list of (kind, start, end, replacement)."""
    found = {}
    for top in CODE:
        for where, _, names in sorted(os.walk(os.path.join(folder, top))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(where, name), folder)
                if not name.endswith(ENDINGS) or name.endswith(UNBUILT) or path.startswith(BROWSERS):
                    continue
                if only and not path.startswith(only):
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


def draw(found, folder, seed, count, before=()):
    """What was drawn before; then files in turn, of each a kind by the seed, of that a place by the seed.

    Of those that read alike in a file, as two loops over the same may, one is drawn.
    """
    def dice(*words):
        return hashlib.sha1("\t".join(map(str, (seed, *words))).encode()).digest()

    files, drawn, seen = {}, [], set()
    for path, places in found.items():
        with open(os.path.join(folder, path)) as f:
            text = f.read()
        files[path] = [Mistake(path, place, text) for place in places]
    for line, *row in before:
        same = [m for m in files.get(row[0], ()) if m.row == tuple(row) and m.row not in seen]
        if same:
            seen.add(tuple(row))
            drawn.append(min(same, key=lambda m: abs(m.line - int(line))))

    order, kinds, queues = sorted(files, key=dice), list(KINDS), {}
    for path in order:
        for kind in kinds:
            queues[path, kind] = sorted((m for m in files[path] if m.place[0] == kind), key=lambda m: dice(*m.row),
                                        reverse=True)
    for n in range(100 * count):
        if len(drawn) >= count:
            break
        path, turn = order[n % len(order)], n // len(order)
        queue = queues[path, kinds[dice(path, turn)[0] % len(kinds)]]
        if queue and (mistake := queue.pop()) and mistake.row not in seen:
            seen.add(mistake.row)
            drawn.append(mistake)
    return drawn


class Mistake:
    """One mistake: the file with it and without, and how it is told in tables."""

    def __init__(self, path, place, text):
        self.path, self.place, self.text = path, place, text
        kind, start, end, new = place
        stripped = start + len(text[start:end]) - len(text[start:end].lstrip())
        self.line = text.count("\n", 0, stripped) + 1
        begin, stop = text.rfind("\n", 0, stripped) + 1, (text + "\n").index("\n", end)
        was, became = (line.split("\n")[0].strip() for line in
                       (text[begin:stop], text[begin:max(start, begin)] + new + text[end:stop]))
        self.row = (path, kind, was, became or "(nothing)")

    def changed(self):
        """The file with the mistake."""
        _, start, end, new = self.place
        return self.text[:start] + new + self.text[end:]

    def __str__(self):
        path, kind, was, became = self.row
        return f"{path}:{self.line}: {kind}: {was}  ->  {became}"


# ---- Suites, and which of them execute a line

PASSED, FAILED, STOPPED = "passed", "failed", "stopped"


def end_session(leader):
    """Kills a suite and all that it has started: Check gives every test a process group of its own."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(name)) == leader:
                os.kill(int(name), signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def run_suite(folder, suite, limit, alone):
    """Runs a suite up to its first failure; how it ended, and its seconds."""
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "DRAWS": "1",
                   "CK_TAP_LOG_FILE_NAME": "-", "CK_TIMEOUT_MULTIPLIER": "5", "CK_FORK": "no" if alone else "yes",
                   "ASAN_OPTIONS": "detect_leaks=1"}
    start = time.monotonic()
    terminal, theirs = os.openpty()                         # on which lines are not held back
    process = subprocess.Popen([suite], cwd=folder, env=environment, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    ended, begun = None, b"\n"
    while ended is None:
        left = start + limit - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            ended = STOPPED
            break
        try:
            said = os.read(terminal, 65536)
        except OSError:                                     # the other end is closed
            said = b""
        begun += said
        if not said:
            ended = FAILED if process.wait() else PASSED
        elif b"\nnot ok " in begun:
            ended = FAILED
        begun = begun[begun.rfind(b"\n"):]
    if process.returncode is None:
        end_session(process.pid)
    process.wait()
    os.close(terminal)
    return ended, time.monotonic() - start


def words(name):
    """What a suite or a file is called by: test_dfc_cp is dfc and cp."""
    return set(os.path.splitext(os.path.basename(name))[0].split("_")) - {"test", "exact"}


def namesake(own, suite):
    """How many words a suite is called by, if all of them are a file's own."""
    return len(words(suite)) if words(suite) <= own else 0


def short(suite):
    """A suite's name, in whichever build: tests/test_msa."""
    return re.sub(r"^build/(double/|checked/)?", "", suite.split(" ")[0])


class Reach:
    """build/reach.json: the suites that execute a line, of those that are as they were when they were measured."""

    def __init__(self, path, folder):
        self.files, self.measured = {}, set()
        if os.path.exists(path):
            with open(path) as f:
                said = json.load(f)
            self.measured = {suite for suite, known in said.get("suites", {}).items()
                             if digest_of_suite(os.path.join(folder, suite)) == known}
            for source, known in said["files"].items():
                path = os.path.join(folder, source)
                if os.path.exists(path) and digest(path) == known["digest"]:
                    self.files[source] = known

    def ran(self, path, line):
        """The suites that execute a line, of those measured; None where that is not known."""
        known = self.files.get(path)
        if not known:
            return None
        lines = known["lines"]
        around = [(first, last) for first, last in known["functions"] if first <= line <= last]
        if not around:                                              # a table: whoever executes the file
            return set().union(*map(set, lines.values()))
        first = max(around)[0]
        while line > first and str(line) not in lines:              # a statement on several lines
            line -= 1
        return set(lines[str(line)]) if str(line) in lines else None


# ---- Copies of the tree

def clean_environment():
    return {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")} | LINKER


def quick_linker(folder):
    """Where the compiler finds the linker: gold takes a third of the time."""
    gold = shutil.which("ld.gold")
    if not gold:
        return {}
    os.makedirs(folder, exist_ok=True)
    if not os.path.lexists(os.path.join(folder, "ld")):
        os.symlink(gold, os.path.join(folder, "ld"))
    return {"COMPILER_PATH": os.path.abspath(folder)}


LINKER = {}
GIVEN = []                              # what --make says


class Tree:
    """A copy of the tree, in which one mistake is planted at a time."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder, jobs

    def make(self, targets, *variables):
        return subprocess.run(["make", "CUDA=", f"-j{self.jobs}", *GIVEN, *variables, *targets], cwd=self.folder,
                              env=clean_environment(), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0

    def write(self, path, text):
        with open(os.path.join(self.folder, path), "w") as f:
            f.write(text)

    def objects(self):
        """For each source the objects that depend on it, but for those of tests and programs that draw."""
        found = {}
        for where, _, names in os.walk(os.path.join(self.folder, "build")):
            top = os.path.relpath(where, self.folder)
            if re.match(r"build/(double/)?(tests|figures|device|live|lib)|build/(exact|checked)", top):
                continue
            for name in names:
                if name.endswith(".d"):
                    with open(os.path.join(where, name)) as f:
                        told = f.read().replace("\\\n", " ").split("\n")[0]
                    for source in told.split(":", 1)[1].split():
                        path = os.path.relpath(os.path.normpath(os.path.join(self.folder, source)), self.folder)
                        found.setdefault(path, set()).add(os.path.join(top, name[:-2] + ".o"))
        return {path: sorted(of) for path, of in found.items()}

    def digests(self, objects):
        said = []
        for name in objects:
            with open(os.path.join(self.folder, name), "rb") as f:
                said.append(hashlib.sha1(f.read()).digest())
        return said


class Ground:
    """The tree as it should be, of which the others are copies: what each object is, and how long each suite takes."""

    def __init__(self, build, jobs, quick):
        self.build, self.quick = build, quick
        self.tree = Tree(os.path.abspath(os.path.join(build, "planted", "0")), jobs)
        self.times, self.lock, self.accepting = {}, threading.Lock(), threading.Lock()
        self.failing, self.history = set(), {}
        self.accepted = os.path.join(build, "planted", "seconds")
        if self.copy() and os.path.exists(self.accepted):
            os.remove(self.accepted)
        self.times = {suite: float(seconds) for seconds, suite in self.rows_of_seconds(self.accepted)}
        self.keep_objects()
        self.suites = sorted(os.path.basename(p)[:-2] for p in os.listdir(os.path.join(self.tree.folder, "tests"))
                             if p.startswith("test_") and p.endswith(".c") and p[:-2] not in LEFT_OUT)
        folders = ["build"] if quick else ["build", "build/double"]
        targets = [f"{f}/{t}" for f in folders for t in ("libtwicetold.a", "libcounting.a", "twicetold", "measure",
                                                       "reference/library/library.o", "reference/library/describe.o")]
        if not self.tree.make([*targets, "build/wider.o", *(f"build/tests/{s}.o" for s in self.suites)]):
            sys.exit(f"plant: {self.tree.folder} cannot be built")
        self.objects = self.tree.objects()
        for path, of in self.objects.items() if quick else ():
            if path.startswith("fast/"):
                of[:] = [o for o in of if not o.startswith("build/double/")]
        self.digests = {path: self.tree.digests(of) for path, of in self.objects.items() if path.startswith(CODE)}
        self.reach = Reach(os.path.join(build, "reach.json"), self.tree.folder)
        self.before = dict(self.seconds_before())

    def keep_objects(self):
        """Objects that were copied are as good as made here, where at most -Werror parts their flags from ours."""
        if not self.tree.make(["build/flags", "build/sources"]):
            sys.exit(f"plant: {self.tree.folder}: no Makefile that works")
        for name in ("flags", "sources"):
            ours, theirs = (os.path.join(top, name) for top in (os.path.join(self.tree.folder, "build"), self.build))
            if os.path.exists(theirs):
                with open(ours) as one, open(theirs) as other:
                    if one.read().replace(" -Werror", "") == other.read().replace(" -Werror", ""):
                        os.utime(ours, (0, 0))

    def copy(self):
        """The tracked files as they are, the first time with the objects built from them; whether any changed."""
        changed = False
        tracked = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split("\n")
        names = [p for p in tracked if p and os.path.exists(p)]
        if not os.path.exists(os.path.join(self.tree.folder, "Makefile")):
            for top in (self.build, os.path.join(self.build, "double")):
                for part in (*CODE, "counting", "tests", "figures"):
                    for where, _, files in os.walk(os.path.join(top, part)):
                        names += [os.path.join(where, n) for n in files if n.endswith((".o", ".d"))]
        for path in names:
            below = os.path.relpath(path, self.build)
            to = os.path.join(self.tree.folder, path if below.startswith("..") else os.path.join("build", below))
            os.makedirs(os.path.dirname(to), exist_ok=True)
            if not os.path.exists(to):
                shutil.copy2(path, to)                      # as old as it is, for make
                changed = True
            elif below.startswith("..") and not filecmp.cmp(path, to, shallow=False):
                shutil.copy(path, to)
                changed = True
        for top in (*CODE, "tests"):                        # what is gone since the last run
            for where, _, files in os.walk(os.path.join(self.tree.folder, top)):
                for name in files:
                    path = os.path.relpath(os.path.join(where, name), self.tree.folder)
                    if path not in names and name.endswith(ENDINGS):
                        os.remove(os.path.join(self.tree.folder, path))
        return changed

    @staticmethod
    def rows_of_seconds(path):
        """Pairs of a table of seconds and suites, where there is one."""
        if os.path.exists(path):
            with open(path) as f:
                yield from (line.split() for line in f)

    def seconds_before(self):
        """Seconds of each suite as tests/run.sh saw them, for the order in which they are met."""
        for seconds, suite in self.rows_of_seconds(os.path.join(self.build, "seconds")):
            yield re.sub(r"^.*?(double/tests/|exact/|tests/)", r"build/\1", suite), float(seconds)

    def fallen(self, path, suite):
        """A suite that fell, in whichever build, for the order in which others of this file and folder meet it."""
        with self.lock:
            for place in (path, os.path.dirname(path)):
                of = self.history.setdefault(place, {})
                of[short(suite)] = of.get(short(suite), 0) + 1

    def share(self, place, suite):
        """The part of the falls at a file or a folder that was this suite's."""
        of = self.history.get(place, {})
        return of.get(short(suite), 0) / (sum(of.values()) + 2)

    def usual(self, suite):
        """How long a suite takes, as far as that is known."""
        return self.before.get(suite) or self.times.get(suite, 5)

    def passed(self, suite, seconds):
        """A suite that passed, with a mistake or without, passes in this tree."""
        with self.lock:
            if suite not in self.times:
                with open(self.accepted, "a") as f:
                    f.write(f"{seconds:.2f} {suite}\n")
            self.times[suite] = max(seconds, self.times.get(suite, 0))

    def accept(self, suite, variables):
        """Whether a suite that has failed passes without the mistake: it must."""
        with self.accepting:
            if suite in self.failing:
                return False
            if suite not in self.times:
                if not self.tree.make([suite], *variables):
                    raise RuntimeError(f"plant: {suite} cannot be built")
                ended, seconds = run_suite(self.tree.folder, suite, 1800, bool(variables))
                if ended != PASSED:                             # a busy machine may have been too slow
                    ended, seconds = run_suite(self.tree.folder, suite, 1800, bool(variables))
                if ended != PASSED:
                    print(f"plant: {suite} fails before any mistake is planted, and is not asked", file=sys.stderr)
                    self.failing.add(suite)
                    return False
                self.passed(suite, seconds)
        return True


class Planter(Tree):
    """A copy in which mistakes are planted."""

    def __init__(self, ground, folder, jobs, patience):
        super().__init__(folder, jobs)
        self.ground, self.patience = ground, patience
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(["cp", "-a", ground.tree.folder, folder], check=True)

    def outcome(self, mistake):
        """What becomes of a mistake: a suite that falls, or why none does."""
        began = time.time() - 0.01
        self.write(mistake.path, mistake.changed())
        try:
            return self.met(mistake)
        finally:
            self.restore(mistake.path, began)

    def restore(self, path, began):
        """The source as it was, and all that was built since then, without compiling again."""
        clean = self.ground.tree.folder
        shutil.copy2(os.path.join(clean, path), os.path.join(self.folder, path))
        for where, _, names in os.walk(os.path.join(self.folder, "build")):
            for name in names:
                made = os.path.join(where, name)
                if os.lstat(made).st_mtime >= began:
                    kept = os.path.join(clean, os.path.relpath(made, self.folder))
                    os.remove(made)
                    if name.endswith((".o", ".d", ".a")) and os.path.exists(kept):
                        shutil.copy2(kept, made)

    def met(self, mistake):
        path, ground = mistake.path, self.ground
        objects = ground.objects.get(path, [])
        if not objects:
            return "refused (in no object)"
        if not self.make(objects):
            return "refused"
        if self.digests(objects) == ground.digests[path]:
            return "same object"
        reached = ground.reach.ran(path, mistake.line)
        if reached is not None and not reached and {f"tests/{s}" for s in ground.suites} <= ground.reach.measured:
            return "SURVIVED, no suite reaches it"

        rounds = [([f"build/tests/{s}" for s in ground.suites], ())]
        if not ground.quick:
            rounds += [([f"build/double/tests/{s}" for s in ground.suites], ()), (self.exact(), ()),
                       ([f"build/checked/tests/{s}" for s in ground.suites],
                        ("BUILD=build/checked", f"CFLAGS={CHECKS}"))]
        own, left = self.rows_of(path), 0
        for suites, variables in rounds:
            spent = 0
            for suite in self.order(path, own, suites, reached):
                seconds = ground.usual(suite)
                if suite in ground.failing:
                    continue
                if spent and not namesake(own, suite) and spent + seconds > self.patience:
                    left += 1
                    continue
                spent += seconds + 1                    # to link it
                kept = ["-o", "build/wider.o"] if path.startswith("fast/") and not variables else []
                if not self.make([*kept, suite], *variables):
                    return suite + " (link)"
                limit = LIMIT * max(seconds, ground.times.get(suite, 0)) + 20
                ended, seconds = run_suite(self.folder, suite, limit, bool(variables))
                if ended == PASSED:
                    ground.passed(suite, seconds)
                elif ground.accept(suite, variables):
                    ground.fallen(path, suite)
                    return suite + (" (time)" if ended == STOPPED else "")
        return "SURVIVED" + (f", {left} left out" if left else "")

    def exact(self):
        said = subprocess.run(["make", "-pn", "help"], cwd=self.folder, env=clean_environment(), capture_output=True,
                              text=True).stdout
        line = re.search(r"^EXACT_SUITES := (.*)", said, flags=re.M).group(1)
        return [s for s in line.split() if not s.endswith("test_mistakes")]

    def order(self, path, own, suites, reached):
        """Those that may execute the line: its namesakes, however long, then what promises most for its seconds."""
        ground = self.ground

        def may(suite):
            return reached is None or short(suite) not in ground.reach.measured or short(suite) in reached

        def promise(suite):
            hope = 0.02 + 0.2 * len(own & words(suite)) + 0.1 * (reached is not None and short(suite) in reached)
            hope += ground.share(path, suite) + ground.share(os.path.dirname(path), suite)
            return hope / (ground.usual(suite) + (10 if os.path.basename(suite) in LAST else 2))

        return sorted(filter(may, suites), key=lambda suite: (namesake(own, suite), promise(suite)), reverse=True)

    def rows_of(self, path):
        """The words of a file's name, its folder's, and the folder of fast/ that holds a file of that name."""
        parts = os.path.dirname(path).split("/")[1:] + [os.path.basename(path)]
        for folder, _, names in os.walk(os.path.join(self.folder, "fast")):
            if os.path.basename(path) in names and folder != os.path.join(self.folder, "fast"):
                parts.append(os.path.basename(folder))
        return set().union(*map(words, parts))


# ---- What was done before, and what is known

def table(path):
    """The rows of a table, without its heading lines."""
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]


def report(outcomes, seed, known):
    """The last line, and the percentage that fell of those that count."""
    counted = [o for o in outcomes if not o.startswith(("refused", "same"))]
    fell = sum(not o.startswith(("SURVIVED", "equivalent")) for o in counted)
    equivalent = sum(o.startswith("equivalent") for o in counted)
    share = 100 * fell / max(len(counted) - equivalent, 1)
    same = sum(o.startswith("same") for o in outcomes)
    print(f"{fell} of {len(counted)} mistakes fell, {equivalent} are known to be equivalent: {share:.1f} % of the "
          f"others (seed {seed}; beside them {same} that change no object)", flush=True)
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--patience", type=float, help="seconds of suites for one mistake: 120; 20 with --quick")
    parser.add_argument("--bar", type=float, help="percent that must fall: 95; 80 with --quick")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="plant no more after so long")
    parser.add_argument("--make", action="append", default=[], help="a setting for make, such as CXXFLAGS=-O1")
    parser.add_argument("--list", action="store_true", help="what would be planted, and no more")
    arguments = parser.parse_args()
    arguments.patience = arguments.patience or (20 if arguments.quick else 120)
    arguments.bar = arguments.bar or (80 if arguments.quick else 95)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):   # suites do not inherit that nohup ignores them
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    began = time.monotonic()
    kept = os.path.join(arguments.build, "planted.tsv")
    rows = table(kept)
    drawn = draw(mistakes(".", arguments.only), ".", arguments.seed, 3 * arguments.count,
                 [row[2:] for row in rows if row[1].split()[2:] == [str(arguments.seed)]])
    if arguments.list:
        print("\n".join(map(str, drawn[:arguments.count])))
        return

    said = f"{'float' if arguments.quick else 'all'} {arguments.patience:g} {arguments.seed}"
    known = {tuple(r[:4]): r[4] for r in table("tests/survivors.tsv")}
    before = {}
    for outcome, how, *row in rows:
        as_far = how.split()[0] in ("all", said.split()[0]) and float(how.split()[1]) >= arguments.patience
        if as_far or not outcome.startswith(("SURVIVED", "same")):
            before[tuple(row[1:])] = outcome

    GIVEN.extend(arguments.make)
    LINKER.update(quick_linker(os.path.join(arguments.build, "planted", "linker")))
    ground = Ground(arguments.build, arguments.jobs, arguments.quick)
    for outcome, _, _, path, *_ in rows:
        if outcome.startswith("build/"):
            ground.fallen(path, outcome)
    planters = [Planter(ground, os.path.join(os.path.dirname(ground.tree.folder), str(n + 1)), 1, arguments.patience)
                for n in range(arguments.jobs)]
    outcomes, running, free, queue = [], {}, list(planters), iter(drawn)

    def tell(mistake, outcome):
        outcomes.append(outcome)
        print(f"{outcome:44} {mistake}", flush=True)

    with ThreadPoolExecutor(len(planters)) as pool:
        exhausted = False
        while not exhausted or running:
            counted = sum(not o.startswith(("refused", "same")) for o in outcomes)
            exhausted = exhausted or time.monotonic() - began > 60 * arguments.minutes
            while free and not exhausted and counted + len(running) < arguments.count:
                mistake = next(queue, None)
                if mistake is None:
                    exhausted = True
                elif known.get(mistake.row) == "equivalent":
                    tell(mistake, "equivalent")
                    counted += 1
                elif mistake.row in before:
                    tell(mistake, before[mistake.row])
                    counted += not before[mistake.row].startswith(("refused", "same"))
                else:
                    planter = free.pop()
                    running[pool.submit(planter.outcome, mistake)] = planter, mistake
            if not running:
                break
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                planter, mistake = running.pop(done)
                free.append(planter)
                outcome = done.result()
                tell(mistake, outcome)
                with open(kept, "a") as f:
                    f.write("\t".join((outcome, said, str(mistake.line), *mistake.row)) + "\n")
    sys.exit(report(outcomes, arguments.seed, known) < arguments.bar)


if __name__ == "__main__":
    main()
