#!/usr/bin/env python3
"""Run suites in parallel and count their tests.

    BUILD=build [TAP=folder] [JOBS=2] [RUN=wrapper] [LIMIT=seconds] run.py PROGRAM... [book] [browser]

Prints a line per suite, its failures and its skipped tests, and at the end what was proved, by the logs of this run,
and "N passed, N failed, N skipped".  The exit status is 0 if nothing failed.  $TAP/{float,double,exact} (default
$BUILD/tap/...) has the output (.log) and the results (.tap) of each suite.  `book` checks the pages against the
results, `browser` their layout.  A suite also fails without its closing line, with a bad exit status, or after LIMIT
seconds.  JOBS suites run at a time, the slowest of the last run ($BUILD/seconds) first.
"""

import collections
import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

BUILD = os.environ.get("BUILD") or "build"
TAP = os.environ.get("TAP") or BUILD + "/tap"
JOBS = int(os.environ.get("JOBS") or os.cpu_count() or 2)
LIMIT = float(os.environ.get("LIMIT") or 600)
WRAPPER = shlex.split(os.environ.get("RUN", ""))
SECONDS = BUILD + "/seconds"

# The checks of the book.  Each prints lines "ok - ", "not ok - " and "skipped: ".
BOOK = {"book": [sys.executable, "chapters/tools/book.py", "check", TAP],
        "browser": [sys.executable, "chapters/tools/book.py", "browse", BUILD + "/layout"]}

CLOSING = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", re.M)
GRACE = 10      # seconds for a suite to end after SIGTERM


class Runner:
    """Runs programs, each in its own process group; stop() ends all of them."""

    def __init__(self):
        self.running, self.stopped, self.lock = set(), False, threading.Lock()

    def run(self, command, log, limit=None):
        """Run a command and append its output to a file; return its exit status, as a shell does, and seconds."""
        started = time.monotonic()
        with open(log, "a") as out:
            try:
                with self.lock:
                    if self.stopped:
                        return 130, 0
                    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                               start_new_session=True)
                    self.running.add(process)
            except OSError as error:
                print(error, file=out)
                return 127, 0
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            end(process)
            status = 124
        with self.lock:
            self.running.discard(process)
        return 128 - status if status < 0 else status, round(time.monotonic() - started)

    def stop(self):
        with self.lock:
            self.stopped, running = True, list(self.running)
        for process in running:
            send(process, signal.SIGTERM)
        for process in running:
            end(process)


def send(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def end(process):
    """End a process group by SIGTERM, which Check forwards to its test, then by SIGKILL."""
    send(process, signal.SIGTERM)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        pass
    send(process, signal.SIGKILL)
    process.wait()


def place(program):
    """The path of a suite's output, without suffix."""
    precision = "double" if "/double/tests/" in program else "exact" if "/exact/" in program else "float"
    return f"{TAP}/{precision}/{os.path.basename(program).removesuffix('.py')}"


def command(program):
    """The command of a suite; a Python suite uses the wrapper for the programs that it runs."""
    return [sys.executable, program] if program.endswith(".py") else [*WRAPPER, program]


def last_seconds():
    """Seconds of each program in its last run."""
    try:
        with open(SECONDS) as f:
            return {program: float(seconds) for seconds, program in map(str.split, f)}
    except OSError:
        return {}


def remember(program, seconds):
    known = last_seconds()
    known.pop(program, None)
    with open(SECONDS + ".new", "w") as f:
        f.writelines(f"{took:g} {name}\n" for name, took in [*known.items(), (program, seconds)])
    os.replace(SECONDS + ".new", SECONDS)


def report(program, status, seconds):
    """Print the results of a suite; return the numbers of tests that passed, failed and were skipped."""
    to = place(program)
    with open(to + ".log", errors="replace") as f:
        said = f.read()
    with open(to + ".tap", "w") as f:
        f.writelines(line + "\n" for line in re.findall(r"^(?:not )?ok \d+ - .*", said, re.M))
    closing = [None, *CLOSING.finditer(said)][-1]
    checks, failures, errors = map(int, closing.groups()) if closing else (0, 0, 0)
    failed, skips = failures + errors, re.findall(r"^skipped: .*", said, re.M)
    passed = checks - failed - len(skips)
    print(f"{os.path.basename(program)}, {to.split('/')[-2]}, {seconds} s: {passed} passed"
          + (f", {failed} failed" if failed else "") + (f", {len(skips)} skipped" if skips else ""))
    for line in skips + re.findall(r"^[^ \n]+:\d+:[FE]:.*", said, re.M):
        print(line)
    if checks == 0 or (status != 0 and failed == 0):
        print("\n".join(said.rstrip("\n").split("\n")[-40:]))
        print(f"{program}: exit status {status}, {closing[0] if closing else 'no closing line'}")
        failed += 1
    remember(program, seconds)
    return passed, failed, len(skips)


def check_book(runner, commands):
    """Run the checks of the book, with their output in book.log."""
    print("the book", flush=True)
    log, said, broken = TAP + "/book.log", "", 0
    for command in commands:
        status, _ = runner.run(command, log)
        with open(log, errors="replace") as f:
            text = f.read()[len(said):]
        print(text, end="", flush=True)
        if status and not re.search(r"^not ok - ", text, re.M):
            print(f"{shlex.join(command[:2])}: exit status {status}")
            broken += 1
        said += text
    starts = ("ok - ", "not ok - ", "skipped: ")
    passed, failed, skipped = (len(re.findall("^" + start, said, re.M)) for start in starts)
    return passed, failed + broken, skipped


def proved():
    """Lines that say what the passed tests compared, and why others were skipped."""
    forms, skips = collections.defaultdict(set), collections.Counter()
    for path in glob.glob(TAP + "/*/*.log") + glob.glob(TAP + "/book.log"):
        precision, operator, found = path.split("/")[-2], "", set()
        with open(path, errors="replace") as f:
            for line in f:
                if said := re.match(r"([a-z][a-z-]*)(?: --.*)?$", line):
                    operator = said[1]
                elif said := re.match(r"    .*, (\w+), \d+ threads? +error |    (equal) in \d+ draws", line):
                    found.add((operator, said[1] or said[2]))
                elif line.startswith("skipped: "):
                    skips[line[9:].strip()] += 1
                elif re.match(r"(not )?ok \d+ - ", line):
                    forms[precision] |= found if line.startswith("ok") else set()
                    found = set()
    for precision, pairs in sorted(forms.items()):
        operators, names = ({pair[n] for pair in pairs} for n in (0, 1))
        if pairs and precision == "exact":
            yield f"proved, exact: the forms of {len(operators)} operators are equal in a finite field"
        elif pairs:
            yield (f"proved, {precision}: {len(pairs)} forms of {len(operators)} operators agree within derived bounds "
                   f"({', '.join(sorted(names))})")
    for reason, count in skips.items():
        yield f"skipped, {count}: {reason}"


def main(tasks):
    suites = [task for task in tasks if task not in BOOK]
    # Spinning threads would slow each other down.
    for name, value in ("OMP_NUM_THREADS", "2"), ("OMP_WAIT_POLICY", "passive"):
        os.environ[name] = os.environ.get(name) or value
    os.environ["CK_TAP_LOG_FILE_NAME"] = "-"
    os.environ.setdefault("PYTHON", sys.executable)             # suites call tools in Python
    shutil.rmtree(TAP, ignore_errors=True)
    for precision in ("float", "double", "exact"):
        os.makedirs(f"{TAP}/{precision}")
    known, runner, counts = last_seconds(), Runner(), []
    suites.sort(key=lambda suite: -known.get(suite, 1e9))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    pool = concurrent.futures.ThreadPoolExecutor(JOBS)
    try:
        started = {pool.submit(runner.run, command(suite), place(suite) + ".log", LIMIT): suite for suite in suites}
        for done in concurrent.futures.as_completed(started):
            counts.append(report(started[done], *done.result()))
            sys.stdout.flush()
        counts.append(check_book(runner, [BOOK[task] for task in tasks if task in BOOK]))
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        runner.stop()
        pool.shutdown(cancel_futures=True)
    passed, failed, skipped = (sum(column) for column in zip((0, 0, 0), *counts))
    print(*proved(), f"{passed} passed, {failed} failed, {skipped} skipped", sep="\n")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
