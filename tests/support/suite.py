"""suite.py -- Python suites that run the programs of a build

A suite is a file tests/FOLDER/test_NAME.py.  `make` links it below build/tests and build/double/tests, and the folder of
the link determines the build under test.  Its output is that of a Check suite: a line of TAP per test, failures as
FILE:LINE:F:..., and counts.  Method test_CLAIM is reported as CLAIM.  Arguments select tests as unittest's -k does.

$RUN (qemu, valgrind) is a prefix of each command; $CK_TIMEOUT_MULTIPLIER multiplies the time limit.
"""
import collections
import json
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
import unittest
import zlib

SCRIPT = os.path.abspath(sys.argv[0])
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(SCRIPT)))
TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
DOUBLE = os.path.basename(BUILD) == "double"
LETTER = {"F32": "f", "F64": "d"}       # for module struct
DTYPE = "F64" if DOUBLE else "F32"
WRAPPER = shlex.split(os.environ.get("RUN", ""))
SECONDS = 120 * float(os.environ.get("CK_TIMEOUT_MULTIPLIER") or 1)

Result = collections.namedtuple("Result", "status out err")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def command(words):
    """The command line of "measure ...", "figures/bench/cuda ..." or else a command of twicetold, in this build."""
    words = shlex.split(words) if isinstance(words, str) else words
    if not words or not words[0].startswith(("twicetold", "measure", "figures/")):
        words = ["twicetold", *words]
    return [*WRAPPER, os.path.join(BUILD, words[0]), *words[1:]]


def run(words, **settings):
    """Run a program; settings as for subprocess.run.  A status of -N means signal N."""
    settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    done = subprocess.run(command(words), timeout=SECONDS, **settings)
    out, err = ((text or b"").decode(errors="replace") for text in (done.stdout, done.stderr))
    return Result(done.returncode, out, err)


class Case(unittest.TestCase):
    """Each test runs in its own empty folder."""
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="twicetold-")
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def succeeds(self, words, **settings):
        """Run a program that must succeed with nothing on stderr but what a network announces; return its output."""
        done = run(words, **settings)
        self.assertEqual((done.status, re.sub(r"\Anetwork .* threads?\n", "", done.err)), (0, ""), words)
        return done.out

    def fails(self, words, message, status=2, **settings):
        """Run a program that must fail, print only one line, with this message, on stderr, and leave no new file."""
        before = sorted(os.listdir())
        done = run(words, **settings)
        self.assertEqual(done.status, status, f"{words}: {done.err}")
        self.assertIn(message, done.err, words)
        self.assertEqual((done.err.count("\n"), done.err[-1:], done.out), (1, "\n", ""), words)
        self.assertEqual(sorted(os.listdir()), before, words)

    def for_each(self, check, rows):
        """Call check(*row) for each row, also after a failure."""
        for row in rows:
            with self.subTest(row):
                check(*row)

    def open_terminal(self):
        """Both ends of a new pseudoterminal; skips the test if the system has none (a chroot without /dev/pts)."""
        try:
            ends = [open(end, "r+b", buffering=0) for end in pty.openpty()]
        except OSError as error:
            raise unittest.SkipTest(f"no terminal: {error.strerror}") from error
        for end in ends:
            self.addCleanup(end.close)
        return ends

    def run_on_terminal(self, words):
        """As run, with a terminal as stdout; the output must fit into the terminal's buffer."""
        master, terminal = self.open_terminal()
        done, out = run(words, stdout=terminal), b""
        terminal.close()
        try:
            while more := master.read(4096):
                out += more
        except OSError:                             # all has been read
            pass
        return done._replace(out=out.decode())


# ---- safetensors files: 8 bytes of length, a header in JSON, the data

def raw_tensors(header, data=b""):
    """The bytes of a file with this header, valid or not."""
    header = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(header)) + header + data


def write_tensors(path, tensors, dtype=DTYPE):
    """Write {name: (shape, numbers)}."""
    header, data = {}, b""
    for name, (shape, numbers) in tensors.items():
        more = struct.pack(f"<{len(numbers)}{LETTER[dtype]}", *numbers)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(more)]}
        data += more
    write(path, raw_tensors(json.dumps(header), data))


def read_tensors(path):
    """Read {name: (shape, numbers)}, in the order of the file."""
    bytes_ = read(path)
    start = 8 + struct.unpack_from("<Q", bytes_)[0]
    header, tensors = json.loads(bytes_[8:start]), {}
    header.pop("__metadata__", None)
    for name, entry in header.items():
        first, end = entry["data_offsets"]
        letter = LETTER[entry["dtype"]]
        count = (end - first) // struct.calcsize(letter)
        tensors[name] = entry["shape"], struct.unpack_from(f"<{count}{letter}", bytes_, start + first)
    return tensors


# ---- PNG files

GREY, RGB, PALETTE, GREY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(rows, columns, kind, depth, data, interlaced=0, chunks=b""):
    """The bytes of a file with this data, uncompressed."""
    header = struct.pack(">IIBBBBB", columns, rows, depth, kind, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunks + chunk(b"IDAT", zlib.compress(data))
            + chunk(b"IEND", b""))


# ---- the report

class Report(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.failed = 0

    def startTest(self, test):
        super().startTest(test)
        self.wrong = []

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            kind, value, trace = error
            row = subtest.id().removeprefix(test.id()).strip()
            self.wrong.append((kind, f"{row}: {value}", trace))

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.wrong.append(error)

    addError = addFailure

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        whole = not isinstance(test, unittest.case._SubTest)
        print(f"{'skipped' if whole else 'left out'}: {name_of(test) if whole else 'a part'}: {reason}")

    def stopTest(self, test):
        super().stopTest(test)
        self.failed += bool(self.wrong)
        place = f"{os.path.basename(SCRIPT)}:{type(test).__name__}:{name_of(test)}"
        print(f"{'not ' if self.wrong else ''}ok {self.testsRun} - {place}: {'Failed' if self.wrong else 'Passed'}")
        for kind, error, trace in self.wrong:
            script = sys.modules["__main__"].__file__
            lines = [n for frame, n in traceback.walk_tb(trace) if frame.f_code.co_filename == script]
            what = " ".join(str(error).split())
            print(f"{os.path.basename(SCRIPT)}:{lines[-1] if lines else 0}:F:{place}:0: {kind.__name__}: {what}")
        sys.stdout.flush()


def name_of(test):
    return test.id().split(".")[-1].removeprefix("test_")


def main():
    """Run the suite.  SIGTERM acts as SIGINT: it ends programs and removes folders."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{word}*" for word in sys.argv[1:] if word != "-k"] or None
    report = Report()
    loader.loadTestsFromModule(sys.modules["__main__"]).run(report)
    passed = report.testsRun - report.failed
    percent = 100 * passed // max(report.testsRun, 1)
    print(f"{percent}%: Checks: {report.testsRun}, Failures: {report.failed}, Errors: 0")
    sys.exit(report.failed > 0)
