"""test_faults.py -- request n = 0, 1, ... for memory of a command and its libraries fails, alone or with all later ones
(tests/cli/failing_io.c)
"""
import os
import signal
import sys
import unittest

sys.path[0] += "/.."                       # tests/
from support import suite
from support.suite import read, write

SHIM = os.path.join(suite.BUILD, "tests", "cli", "failing_io.so")

# Commands, and the step by which n grows after 60 requests.
COMMANDS = [
    ("twicetold apply msa msa.npz --grid 3x4 --heads 2 -o y", 1),
    ("twicetold apply lisa lisa-in --grid 3x4 --heads 2 --form naive -o y", 1),
    ("twicetold apply lisa lisa-in --grid 3x4 --heads 2 --form fast -o y", 1),
    ("twicetold apply lisa lisa-in --grid 3x4 --heads 2 --form fftw -o y", 23),
    ("twicetold apply hilo hilo-in --grid 4x4 --heads 2 --alpha 0.5 --form fast -o y", 1),
    ("twicetold parameters msa --grid 3x4 --heads 2 --channels 8 --images p.png -o y", 1),
    ("twicetold tokens --grid 3x4 --channels 5 --images p.png -o y", 1),
    ("twicetold tokens --grid 3x4 --channels 5 --images p.jpg -o y", 1),
    ("twicetold tokens --grid 3x4 --channels 5 --images i.idx -o y", 1),
    ("twicetold spectrum f -o y", 23),
    ("twicetold compare f f", 1),
    ("twicetold network learned-lisa --random 3 --grid 8x8 --depths 1 --widths 4 -o y p.png", 1),
    ("measure msa --grid 3x3 --channels 4 --form naive", 1),
]
INPUTS = [
    "twicetold parameters msa --grid 3x4 --heads 2 --channels 8 --images p.png -o msa.npz",
    "twicetold parameters lisa --grid 3x4 --heads 2 --channels 8 --sizes D=4 --images p.png -o lisa-in",
    "twicetold parameters hilo --grid 4x4 --heads 2 --alpha 0.5 --channels 8 --images p.png -o hilo-in",
]


def by_onednn(report):
    return report.startswith(("libdnnl", "libstdc++"))


def ended_by_a_library(status, report):
    """Without memory, FFTW aborts; oneDNN throws an uncaught exception, or jumps to code that it could not generate."""
    return (status == -signal.SIGABRT and (by_onednn(report) or report.startswith("libfftw3"))
            or status == -signal.SIGSEGV and by_onednn(report))


@unittest.skipIf("ASAN_OPTIONS" in os.environ, "sanitizers have their own malloc")
@unittest.skipIf(suite.WRAPPER, "only programs that run by themselves preload a library")
class Memory(suite.Case):
    def setUp(self):
        super().setUp()
        for seed, to in ("png-colour", "p.png"), ("jpeg-colour", "p.jpg"), ("idx", "i.idx"):
            seed = read(f"{suite.TREE}/tests/fuzz/images/{seed}")
            write(to, seed[2:])                         # without the two bytes for the fuzz target
        suite.write_tensors("f", {"y": ([1, 2, 3, 1], 6 * (0.5,))}, "F32")
        for words in INPUTS:
            self.succeeds(words)
        self.files = {*os.listdir(), "report", "y"}

    def run_without(self, words, n, every):
        """Run a command whose request n (-1: none), or n and all later ones, fail; return its result and the report."""
        more = {"LD_PRELOAD": SHIM, "FAIL_AT": str(n), "FAIL_REPORT": "report", "OMP_NUM_THREADS": "1"}
        if every:
            more["FAIL_ALL"] = "1"
        done = suite.run(words, env={**os.environ, **more})
        return done, read("report").decode()

    def check(self, done, report, words, expected):
        """The command succeeds, or prints one line, exits with status 1 and keeps the old output.  It frees all memory
        and leaves no file.  FFTW and oneDNN may end the process."""
        self.assertTrue("\nleft" not in report or "\nleft 0 " in report, "leaks")
        self.assertEqual(read("y"), b"old" if done.status else expected)
        if ended_by_a_library(done.status, report):
            return
        self.assertIn(done.status, (0, 1))
        self.assertEqual({*os.listdir()}, self.files)
        if done.status and not words.startswith("measure"):
            lines = [line for line in done.err.splitlines() if line and not line.startswith("network ")]
            self.assertEqual(len(lines), 1)
        if done.status and report.startswith(("libpng", "libjpeg", "libz")):
            self.assertIn("not enough memory", done.err)

    def fail_requests(self, words, every, step):
        """Run a command once for each n, with request n failing (with `every`, all later ones too); return how many.
        From n = 60 on, n grows by `step`; after a request by oneDNN, by 997."""
        write("y", b"old")
        done, report = self.run_without(words, -1, False)
        self.assertEqual(done.status, 0, done.err)
        self.assertTrue(report.startswith("left 0 of "), report)
        expected = read("y")
        n = failures = 0
        while True:
            write("y", b"old")
            done, report = self.run_without(words, n, every)
            if report.startswith("left"):               # there is no request n
                return failures
            with self.subTest(f"{words}, request {n}{' and later' if every else ''} of {report}: {done}"):
                self.check(done, report, words, expected)
            failures += 1
            n += 997 if by_onednn(report) else step if n >= 60 else 1

    def test_any_request_may_fail(self):
        for words, step in COMMANDS:
            if "has no libjpeg" in suite.run(words).err:
                continue
            for every in False, True:
                failures = self.fail_requests(words, every, step)
                self.assertGreater(failures, 5, words)
            print(f"    {words}: {failures} requests failed, and as many with all later ones", flush=True)


if __name__ == "__main__":
    suite.main()
