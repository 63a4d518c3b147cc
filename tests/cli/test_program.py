"""test_program.py -- the programs of a build: `twicetold`, `measure`, and every program that computes a figure"""
import collections
import glob
import json
import math
import os
import random
import re
import resource
import shlex
import signal
import struct
import subprocess
import sys

sys.path[0] += "/.."                       # tests/
from support import suite
from support.suite import BUILD, DOUBLE, TREE, read, read_tensors, run, write, write_tensors

NARROW = read(os.path.join(BUILD, "twicetold"))[4] == 1     # 32-bit addresses (ELF)

PRECISION = "double" if DOUBLE else "float"
ROUNDOFF = 2.0 ** -53 if DOUBLE else 2.0 ** -24     # the largest relative error of one rounding
SHIM = os.path.join(BUILD, "tests", "cli", "failing_io.so")
PYTHON = shlex.split(os.environ.get("PYTHON") or sys.executable)


class Case(suite.Case):
    """Each test has the file `in`: a 2x2 grid, one channel, query and key 0, value x = 0, 1, 4, 9.  All scores are
    equal, so every output is exactly the mean, 3.5."""

    def setUp(self):
        super().setUp()
        write_tensors("in", {"x": ([1, 4, 1], [0, 1, 4, 9]), "w_qkv": ([3, 1], [0, 0, 1])})

    def prints_and_is_killed(self, words, text, out):
        """Kill the program as soon as its stderr contains the text."""
        said = b""
        with subprocess.Popen(suite.command(words), stdout=out, stderr=subprocess.PIPE) as process:
            while text.encode() not in said and (more := os.read(process.stderr.fileno(), 4096)):
                said += more
            process.kill()
        self.assertIn(text, said.decode(), words)

    def assert_close(self, found, expected, tolerance):
        differences = [abs(a - b) for a, b in zip(found, expected, strict=True)]
        self.assertTrue(all(d <= tolerance for d in differences), f"{max(differences)}, allowed are {tolerance}")


# ---- bad input

UNCOUNTED = "its size overflows"        # the message with 32-bit addresses

BAD = [
    ("", "found no command, expected list, help"),
    ("frobnicate", "command frobnicate: not known, expected list, help, apply, "),
    ("lst", "resample or network; did you mean list?"),
    ("LiSA --grid 4", "found the operator lisa, expected a command first: twicetold apply lisa ..."),
    ("mlp", "found the layer mlp, expected a command first: twicetold apply mlp ..."),
    ("litv2-s no.png", "found the network litv2-s, expected a command first: twicetold network litv2-s ..."),
    ("help msa lisa", "help: found a second input 'lisa', expected one"),
    ("help nothing", "found 'nothing', expected a command or a name that 'twicetold list' prints"),
    ("help lissa", "'twicetold list' prints; did you mean lisa?"), ("help litv2", "; did you mean litv2-s?"),
    ("help verfy", "; did you mean verify?"), ("help norms", "; did you mean norm?"),
    ("apply", "found no operator"),
    ("apply nothing --grid 4 in -o y", "apply: operator nothing: not known, expected one of msa, "),
    ("apply lissa", "or a layer; did you mean lisa?"), ("apply linaer", "or a layer; did you mean linear?"),
    ("network litv2s", "'twicetold list' names; did you mean litv2-s?"),
    ("apply msa --gird 2x2 in -o y", "found '--gird', expected an option ('twicetold help msa'); did you mean --grid?"),
    ("apply msa --thread 2 in -o y", "('twicetold help msa'); did you mean --threads?"),
    ("measure msa --gird 2x2", "('twicetold help msa'); did you mean --grid?"),
    ("measure msa --grid 2x2 --image in", "('twicetold help msa'); did you mean --images?"),
    ("measure msa a.png --grid 2x2 b.png", "msa: found 'b.png' and the picture 'a.png', expected one"),
    ("measure nothing --grid 4 --channels 4", "operator nothing: not known, expected one of msa, "),
    ("apply msa --grid 2x2 in", "msa: option -o: missing"),
    ("apply msa --grid 2x2 in -o", "msa: option -o: found no value"),
    ("apply msa --grid 2x2 -o y", "msa: input: missing"),
    ("apply msa --grid 2x2 in other -o y", "second input 'other'"),
    ("apply msa --grid 2x2 in -o y -o y", "option -o: given twice"),
    ("apply msa --grid 2x2 in -oy --output y", "option -o: given twice"),
    ("apply msa --grid 2x2 in --output", "option -o: found no value"),
    ("apply msa --grid 2x2 in -p y", "msa: found '-p', expected an option"),
    ("apply msa --grid 2x2 --threads 0 in -o y", "option --threads: found '0'"),
    ("verify msa --threads 1025", "option --threads: found '1025'"),
    ("apply msa --grid 2x2 --form cuba in -o y", "form 'cuba': not known, expected one of naive, plain, fast"),
    ("apply msa --grid=2x2 --form= in -o y", "option --form: found '', expected a value"),
    ("apply hilo --grid=2x2 --pooled-queries=no in -o y", "option --pooled-queries: found a value, expected none"),
    ("measure msa --grid 2x2 --channels 4 --form cuba", "form 'cuba': not known, expected one of naive, plain, fast"),
    ("measure msa --grid 2x2 --channels 4 --form fast naive --keep y",
     "option --keep: expected one form, one grid and one number of threads"),
    ("measure msa --grid 2x2 --channels 4 --form fast --judge cuba",
     "form 'cuba': not known, expected one of naive, plain, fast"),
    ("apply msa --grid 2x2 --form fast --device 0 in -o y",
     "--device: found '0' beside --form fast, which runs on the processor"),
    ("apply msa --grid 2x2 --device host in -o y", "--device: found 'host' beside --form fast"),
    ("apply msa --grid 2x2 --form cuda --device gpu in -o y",
     "--device: found 'gpu', expected a number from 0, "
     "or host, host:sm_75, host:sm_80, host:sm_86, host:sm_90, host:sm_120"),
    ("apply msa --grid 2x2 --form cuda --device host:sm_61 in -o y",
     "--device: found 'host:sm_61', expected a number from 0, or host, host:sm_75"),
    ("apply msa --grid 2x2 --form cuda99 --device host in -o y",
     "form 'cuda99': not known, expected one of naive, plain, fast, cuda1"),
    ("apply msa --grid 2x2 --form cuda1 --device 999 in -o y", "; apply --device host emulates one"),
    ("apply msa --grid 2x2 --form cuda --device host --max-memory 64 in -o y", "msa: needs "),
    ("measure msa --grid 2x2 --channels 4 --form cuda --device host",
     "--device: found 'host', expected a number: the time of an emulated device says nothing"),
    ("measure msa --grid 2x2 --channels 4 --form cuda1 --device 999", "form cuda1: needs a CUDA device: "),
    ("measure msa --grid 2x2 --channels 4 --form fast --device 0",
     "--device: found '0', but no form that runs on a device"),
    ("apply msa --grid --heads 2 in -o y", "msa: option --grid: found no value"),
    ("measure msa --form --grid 2x2 --channels 4", "option --form: found no value"),
    ("apply msa in -o y", "--grid: missing"),
    ("apply msa --grid 2x3 in -o y", "tensor x: found [1, 4, 1], expected [B, N, C] = [B, 6, C]"),
    ("apply msa --grid 2x2 --heads 2 in -o y", "--heads: found 2"),
    ("apply lisa --grid 2x2 in -o y", "lisa: tensor wa: missing"),
    ("apply msa --grid 2x2 lie -o y", "msa: "),
    ("apply msa --grid 2x2 absent -o y", "msa: "),
    ("apply msa --grid 2x2 in -o in", "the input's own path"),
    ("tokens --grid 2x2 --channels 4 --images in -o ./in", "the input's own path"),
    ("parameters msa --grid 2x2 --channels 4 --images in -o twin", "the input's own path"),
    ("network learned-lisa --random 1 --input in -o in", "the input's own path"),
    ("network learned-lisa --weights in -o twin lie", "the input's own path"),
    ("tokens --grid 4x4 -o x", "tokens: option --channels: missing"),
    ("tokens --grid 4x4 --channels 8 stray -o x", "tokens: stray: cannot be opened"),
    ("tokens --grid 4x4 --channels 8 --images lie in -o x", "found 'in' with --images, expected one or the other"),
    ("parameters msa --grid 2x2 --channels 4 in -o twin", "the input's own path"),
    ("spectrum in -o z", "spectrum: tensor y"),
    ("spectrum --batch 3 in -o z", "spectrum: found '--batch'"),
    ("spectrum --max-memory 1G y -o z", "spectrum: found '--max-memory'"),
    ("resample", "resample: found no operator"),
    ("resample msa --from 2x2 --to 3x3 in -o z", "msa: option --by: missing"),
    ("resample msa --from 2x2 --to 3 --by bicubic in -o z", "msa: option --to: found 1 axes, expected 2 as --from has"),
    ("resample msa --from 2x2 --to 3x3 --by linear in -o z",
     "option --by: found 'linear', expected one of zeros|spectrum|bicubic"),
    ("resample msa --grid 2x2 --from 2x2 --to 3x3 --by bicubic in -o z",
     "msa: option --grid: found, expected --from and --to"),
    ("resample msa --from 2x2 --to 3x3 --by bicubic in -o z",
     "msa: found no tensor with an entry for each token or offset"),
    ("resample mlp --from 2x2 --to 3x3 --by bicubic in -o z", "mlp: tensor w_qkv: not of mlp"),
    ("resample msa --from 2x2 --to 3x3 --by bicubic in -o in", "the input's own path"),

    # Parameters and comparisons.
    ("parameters msa --grid 2x2 -o y", "msa: option --channels: missing"),
    ("parameters msa --grid 2x2 --channels 5 --heads 2 -o y", "msa: option --heads: found 2"),
    ("parameters chopd --grid 2x2 --channels 4 --sizes G=2 -o y",
     "chopd: size R is not known, expected --sizes R=n,S=n,D=n"),
    ("measure chopd --grid 2x2 --channels 4 --sizes G=2", "chopd: size R is not known, expected --sizes R=n,S=n,D=n"),
    ("parameters fc --channels 4 --sizes M=3 -o y", "fc: size N is not known, expected --sizes N=n,D=n"),
    ("parameters lisa --grid 2x2 --channels 4 --sizes D -o y", "--sizes: found 'D', expected LETTER=n"),
    ("parameters lisa --grid 2x2 --channels 4 --sizes D=4,Z=2 -o y", "--sizes: found 'Z=2', expected LETTER"),
    ("parameters lisa --grid 2x2 --channels 4 --sizes D=4,D=5 -o y", "--sizes: size D: found 5, expected 4"),
    ("parameters lisa --grid 2x2 --channels 4 --sizes D=4 --without wa -o y",
     "--without: found 'wa', expected an optional tensor of lisa"),
    ("parameters msa --grid 2x2 --channels 4 in -o y", "msa: in: "),
    ("parameters msa --grid 2x2 --channels 4 --max-memory 100 -o y", "msa: needs "),
    ("parameters fc --channels 60000 --sizes M=60000,N=60000,D=60000 -o y", "fc: "),
    ("verify", "verify: found no operator"),
    ("verify linear", "linear: has one form, expected an operator with several"),
    ("verify msa in", "msa: in: "),
    ("verify msa -o y", "msa: found '-o', expected an option"),
    ("verify msa --form cuba", "form 'cuba': not known, expected one of naive, plain, fast, cuda1"),
    ("verify msa --form fast --form", "option --form: found no value"),
    ("verify msa --form fast --device host", "option --device: found 'host', but no form that runs on a device"),
    ("verify msa --device gpu", "option --device: found 'gpu', expected a number from 0, or host"),
    ("verify msa --form fast --form cuda1 --device 999", "form cuda1: needs a CUDA device: "),
    ("verify msa --heads 5", "option --heads: found 5"),
    ("verify lisa --sizes Z=2", "option --sizes: found 'Z=2', expected LETTER=n"),
    ("verify msa --max-memory 1K", "bytes of memory, allowed are 1024 (option"),
    ("verify msa --max-work 10", "msa: naive: makes 3.42e+05 multiply-adds, allowed are 10 (option --max-work)"),
    ("compare", "compare: input: missing, expected A.safetensors"),
    ("compare in", "compare: input: missing, expected B.safetensors"),
    ("compare in twin twin", "third input 'twin'"),
    ("compare in absent", "compare: B: absent cannot be opened"),
    ("compare lie in", "compare: A: "),
    ("compare in twin --tolerance -1", "--tolerance: found '-1'"),
    ("compare in vast", "tensor x: found [1, 4, 1] in A, expected [1, 400000000, 1] as in B"),

    # Sizes that do not fit, and work that takes too long.
    ("apply msa --grid 2x2 --max-work 10 in -o y", "msa: makes 44 multiply-adds, allowed are 10 (option --max-work)"),
    ("apply msa --grid 2x2 --max-work 0 in -o y", "option --max-work: found '0'"),
    ("apply msa --grid 2x2 --max-memory 1K in -o y", "bytes of memory, allowed are 1024 (option"),
    ("apply msa --grid 2x2 --form naive --max-memory 64 in -o y", "msa: needs "),
    ("apply msa --grid 400000000 --form naive vast -o y", "msa: needs "),
    ("apply msa --grid 20000x20000 --max-memory 2G vast -o y", "allowed are 2147483648 (option"),
    ("apply msa --grid 40000x50000 vast -o y", "--grid: grid too large"),
    ("tokens --grid 40000x50000 --channels 3 -o x", "tokens: option --grid: grid too large"),
    ("tokens --grid 11000x11000 --channels 65536 --batch 60000 -o x", "tokens: needs "),
    ("tokens --grid 64x64 --channels 64 --max-memory 1M -o x", "bytes of memory, allowed are 1048576 (option"),
    ("parameters structsa --grid 1 --channels 1024 --kernel 16777215 --value-kernel 16777217 --sizes D=536870912 -o y",
     UNCOUNTED if NARROW else "structsa: needs more than 18446744073709551615 bytes"),
    ("tokens --grid 8x8 --channels 8 --max-memory 1X -o x", "--max-memory: found '1X'"),
    ("network litv2-s --depths 0,0,0,0 --random 1 no.png -o z",
     "option --depths: found '0,0,0,0', expected 4 whole numbers from 1 to 65536"),
    ("network litv2-s no.png -o z", "litv2-s: expected one of --weights FILE and --random SEED"),
    ("network litv2-s --weights in --random 1 no.png -o z",
     "litv2-s: expected one of --weights FILE and --random SEED"),
    ("network litv2-s --random 1 --input in no.png -o z",
     "litv2-s: found images beside --input, expected one or the other"),
    ("network litv2-s --random 1 --before block2 no.png -o z",
     "litv2-s: option --before: found 'block2', expected the path of a step: from stage1.embed to head"),
    ("network litv2-s --random 1 --before head --stages no.png -o z",
     "litv2-s: found --stages with --before, expected one or the other"),
    ("network litv2-s --random 1 no.png --max-work 3.7e9 -o z",
     "litv2-s: makes 3.73e+09 multiply-adds, allowed are 3.7e+09 (option --max-work)"),
    ("network litv2-s --random 1 no.png --profile --max-work 4e10 -o z", "makes 4.11e+10 multiply-adds"),
    ("network litv2-s --random 1 -o z", "litv2-s: input: missing, expected images, or --input"),
    ("network litv2-s --random 1 --input in -o z", "litv2-s: --input: found 2 tensors, expected one, x"),
    ("network structvit-s-4-2-video --grid 4x32x32 --random 1 no.png no.png no.png -o z",
     "structvit-s-4-2-video: found 3 images, expected a multiple of 4 frames"),
    ("network litv2-s --grid 64 --random 1 no.png -o z",
     "option --grid: found '64', a grid of 1 axes, expected two, HxW, or three, TxHxW"),
    ("network litv2-s --depths 65536,65536,65536,65536 --random 1 --max-memory 64M no.png -o z",
     "bytes of memory, allowed are 67108864 (option"),
    ("measure msa --grid 40000x50000 --channels 3", "msa: option --grid: grid too large"),
    ("measure msa --grid 11000x11000 --channels 1 --form naive", "measure: msa: needs "),
    ("measure msa --grid 11000x11000 --channels 1 --form naive --threads 1024",
     "needs more than 4294967295 bytes" if NARROW else "needs more than 18446744073709551615 bytes"),
    ("measure msa --grid 8x8 9x9 --channels 64 --max-memory 100K", "bytes of memory, allowed are 102400 (option"),
    ("measure msa --grid 8x8 --channels 1000000 --batch 1000", UNCOUNTED if NARROW else "measure: msa: needs "),
]
BAD += [
    ("apply msa --grid 2x2 --form cuda-tf32 --device host in -o y",
     "form 'cuda-tf32': not known, expected one of naive, plain, fast, cuda1"),
] if DOUBLE else [
    ("apply msa --grid 2x2 --scale 1e39 in -o y", "--scale: found '1e39', expected a finite"),
]


class BadInput(Case):
    def test_bad_input_is_one_line_and_status_two(self):
        write("lie", b"not a file of tensors")
        os.link("in", "twin")
        header = suite.raw_tensors('{"w_qkv":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]},'
                                   '"x":{"dtype":"F32","shape":[1,400000000,1],"data_offsets":[12,1600000012]}}')
        write("vast", header)
        os.truncate("vast", len(header) + 1600000012)       # a sparse file of zeros
        self.for_each(self.fails, BAD)

    # HiLo pads 5 x 7 tokens to one window of 1800 x 1800, whose attention costs 2 M s^2 hd = 8.4 10^13 multiply-adds,
    # too many to run here: measure is killed after its warning.
    HOURS = "measure hilo --grid 5x7 --heads 4 --alpha 0.5 --window 1800 --channels 8 --form fast --repeats 1"
    WARNING = "a run of 8.4e+13 multiply-adds may take hours"

    def test_long_work_needs_permission(self):
        hilo = "hilo --grid 5x7 --heads 4 --alpha 0.5 --window"
        self.succeeds(f"parameters {hilo} 2 --channels 8 -o y")
        self.for_each(self.fails, (
            (f"apply {hilo} 1800 y -o z", "hilo: makes 8.4e+13 multiply-adds, allowed are 1e+13 (option --max-work)"),
            (f"apply {hilo} 1800 --max-work 8e13 y -o z", "allowed are 8e+13"),
            (f"apply {hilo} 160 --form cuda --device host y -o z",
             "makes 5.25e+09 multiply-adds, allowed are 1e+09 (option --max-work)"),
            (f"apply {hilo} 160 --form cuda --device host:sm_75 y -o z", "allowed are 1e+09 (option --max-work)"),
            ("apply msa --grid 2x2 --form cuda --device host --max-work 43 in -o z",
             "makes 44 multiply-adds, allowed are 43 (option --max-work)")))
        self.succeeds("apply msa --grid 2x2 --max-work 44 in -o z")
        self.prints_and_is_killed(self.HOURS, self.WARNING + "\n", subprocess.DEVNULL)

    def test_long_work_on_a_terminal_needs_yes(self):
        done = self.run_on_terminal(self.HOURS)
        self.assertEqual(done.status, 0, done.err)
        self.assertIn(f"left out, {self.WARNING}; --yes", done.err)
        _, terminal = self.open_terminal()
        self.prints_and_is_killed(self.HOURS + " --yes", self.WARNING + "\n", terminal)


# ---- output files

def limit_files():
    """Limit files to 4096 bytes, to simulate a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def leave_folder():
    """Change to a folder that no longer exists."""
    os.mkdir("vanishing")
    os.chdir("vanishing")
    os.rmdir("../vanishing")


class Output(Case):
    STDBUF = "/usr/libexec/coreutils/libstdbuf.so"

    def setUp(self):
        super().setUp()
        here = os.getcwd()
        self.succeeds("parameters msa --grid 32x32 --channels 4 -o in")
        write_tensors("map", {"y": ([1, 32, 32, 4], [i % 7 for i in range(4096)])})
        write("y", b"old")
        # Commands, still without -o, that write more than 4096 bytes.  On a full disk the last one fails only when it
        # closes the file: its data alone are shorter, and its header is buffered.
        self.writers = (f"apply msa --grid 32x32 {here}/in", f"spectrum {here}/map", "tokens --grid 32x32 --channels 4",
                        "parameters msa --grid 32x32 --channels 4",
                        f"tokens --grid {505 if DOUBLE else 1010} --channels 1")

    def test_no_output_is_half_written(self):
        """After an error the old file is unchanged and no other is left.  If the output is a link, its target is
        replaced."""
        os.mkdir("inner")
        os.symlink("nowhere", "dangling")
        os.symlink("loop", "loop")
        os.symlink("y", "link")
        write("old", b"old")
        for writer in self.writers:
            write("y", b"old")
            for path, message, first, status in (
                    ("''", "'' does not name a file", None, 2),
                    ("inner", "is a folder, expected a file", None, 2),
                    ("inner/", "does not name a file", None, 2),
                    ("inner/.", "is a folder, expected a file", None, 2),
                    ("inner/..", "is a folder, expected a file", None, 2),
                    (399 * "n", "cannot be written: File name too long", None, 2),
                    ("/dev/full", "cannot be written: No space left", None, 1),
                    ("y.pt", "option -o: y.pt: found ending .pt, expected .safetensors, .npy or .npz; in Python, ",
                     None, 2),
                    ("y.csv", "option -o: y.csv: found ending .csv, expected .safetensors, .npy, .npz or none", None, 2),
                    ("dangling", "cannot be written: No such file", None, 2),
                    ("loop", "cannot be written: Too many levels", None, 2),
                    ("absent/y", "cannot be written: No such file", None, 2),
                    ("old/y", "cannot be written: Not a directory", None, 2),
                    ("y", "No such file", leave_folder, 2),
                    ("old", "cannot be written: File too large", limit_files, 1),
                    ("new", "cannot be written: File too large", limit_files, 1)):
                with self.subTest(writer=writer, path=path):
                    self.fails(f"{writer} -o {path}", message, status, preexec_fn=first)
                    self.assertEqual((read("old"), read("y")), (b"old", b"old"))
            self.succeeds(f"{writer} -o link")
            read_tensors("y")
            self.assertTrue(os.path.islink("link"))

    def test_an_interrupted_command_leaves_no_file(self):
        """The signal arrives when the command syncs its complete temporary file.  SIGKILL leaves that file, and the
        next command removes it."""
        if suite.WRAPPER or "ASAN_OPTIONS" in os.environ:
            self.skipTest("no other library may be loaded first")
        before = sorted(os.listdir())
        preload = {**os.environ, "LD_PRELOAD": SHIM}
        for writer in self.writers:
            for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGKILL:
                with self.subTest(writer=writer, signal=number):
                    write("y", b"old")
                    done = run(f"{writer} -o y", env={**preload, "SIGNAL_AT_FSYNC": str(int(number))})
                    self.assertEqual((done.status, read("y")), (-number, b"old"), done.err)
                    self.assertEqual(sorted({*os.listdir()} - {*before}), ["y.tmp"] if number == signal.SIGKILL else [])
            killed = read("y.tmp")
            self.succeeds(f"{writer} -o y")
            self.assertTrue(read_tensors("y") and read("y") == killed)
            self.assertEqual(sorted(os.listdir()), before)

    def output_is_lost(self, **settings):
        for words in f"{self.writers[2]} -o y", "measure msa --grid 2x2 --channels 4 --repeats 1":
            with self.subTest(words), open("/dev/full", "wb") as full:
                done = run(words, stdout=full, **settings)
                self.assertEqual(done.status, 1, done.err)
                self.assertIn("standard output: cannot be written", done.err)

    def test_output_that_is_lost_is_a_failure(self):
        self.output_is_lost()

    def test_a_line_of_output_that_is_lost_is_a_failure(self):
        """With line buffering nothing is left to write at exit: only the stream's error flag shows the loss."""
        if "ASAN_OPTIONS" in os.environ or not os.access(self.STDBUF, os.R_OK):
            self.skipTest(f"no {self.STDBUF}, or sanitizers must be loaded first")
        self.output_is_lost(env={**os.environ, "_STDBUF_O": "L", "LD_PRELOAD": self.STDBUF})


# ---- what the commands print and write

class Commands(Case):
    def test_apply_writes_y(self):
        """Fast is the default form: on 64 tokens of 12 channels its bytes differ from naive's."""
        for words in ("--grid 2x2 in -o y",
                      "-oy --form naive in --grid 4 --threads 2",
                      "--output=y in --grid 4",
                      "--window 2 --grid 2x2 -o y --scale -3 --form fast in",
                      "--grid 2x2 --form cuda --device host in -o y",
                      "--grid=2x2 --form=cuda1 --device=host --scale=-3 in -o y",
                      "--grid 2x2 --form cuda --device host:sm_75 in -o y",
                      "--grid 2x2 --form cuda --device host:sm_120 in -o y"):
            with self.subTest(words):
                self.succeeds(f"apply msa {words}")
                self.assertEqual(read_tensors("y"), {"y": ([1, 4, 1], (3.5,) * 4)})
                os.remove("y")
        self.succeeds("parameters msa --grid 8x8 --channels 12 -o w")
        self.succeeds("apply msa --grid 8x8 w -o x")
        self.succeeds("apply msa --grid 8x8 --form fast w -o y")
        self.succeeds("apply msa --grid 8x8 --form naive w -o z")
        self.assertTrue(read("x") == read("y"))
        self.assertTrue(read("x") != read("z"))

    def test_help_and_version_are_printed(self):
        self.for_each(lambda words, answer: self.assertIn(answer, self.succeeds(words), words), (
            ("list", "lisa       naive plain fast"), ("list", "msa        naive plain fast cuda1 cuda2"),
            ("list", " (host"), ("help measure", "twicetold measure OPERATOR --channels C"),
            ("twicetold measure --help", "twicetold measure OPERATOR"), ("help --man", "\n.SS measure\n"),
            ("help apply", "--device N"), ("help msa", "[--device N]"), ("help", "usage: twicetold COMMAND"),
            ("--help", "usage: twicetold COMMAND"), ("-h", "usage: twicetold COMMAND"),
            ("list --help", "twicetold list"),
            ("help lisa", "--equation 4|5|6|7|10"), ("help lisa", "[M, c, D]"),
            ("help apply", "twicetold apply OPERATOR"), ("apply --help", "twicetold apply OPERATOR"),
            ("apply lisa --grid 4 -h", "twicetold apply lisa --grid GRID"),
            ("parameters lisa --help", "twicetold parameters lisa --grid GRID --channels C"),
            ("help parameters", "[--without NAME,...]"),
            ("help compare", "[--tolerance T] [--floor VALUE] A.safetensors B.safetensors"),
            ("help tokens", "twicetold tokens --grid GRID --channels C"),
            ("tokens -h", "twicetold tokens --grid GRID"),
            ("help spectrum", "twicetold spectrum INPUT.safetensors -o OUTPUT.safetensors"),
            ("help verify", "twicetold verify OPERATOR [options of the operator] [--channels C]"),
            ("verify lisa --help", "options of verify\n"), ("help --man", "\n.SS verify\n"),
            ("help resample", "twicetold resample OPERATOR --from GRID --to GRID --by zeros|spectrum|bicubic"),
            ("measure --help", "twicetold measure OPERATOR"), ("measure lisa -h", "twicetold measure lisa"),
            ("help --man", "\n.SS network\n"), ("help --man", "\n.BI \\-\\-max\\-memory \" BYTES\"\n"),
            ("help --man", "\n.TP\n.B dfc\\-cp\n"), ("help --man", "\n.SH EXIT STATUS\n"),
            ("--version", "twicetold 1"), ("tokens --version", PRECISION), ("-V", PRECISION),
            ("measure --version", "measure 1")))

    def test_list_prints_json(self):
        """Its operators are those of `list`, and have the options that help prints."""
        listed = json.loads(self.succeeds("list --json"))
        self.assertEqual([each["name"] for each in listed["operators"]], list(dict(self.operators())))
        self.assertIn("grid", [option["name"] for option in listed["operators"][0]["options"]])
        self.assertIn("mlp", [each["name"] for each in listed["layers"]])
        network = listed["networks"][-1]
        self.assertIn(f"{network['parameters']} parameters", self.succeeds(f"help {network['name']}"))
        self.assertGreater(network["multiply_adds"], network["parameters"])

    def test_threads_are_limited(self):
        """The memory that a form needs grows with the number of threads."""
        self.succeeds("parameters msa --grid 64x64 --channels 8 -o w")
        for words in "apply msa w -o y", "verify msa --channels 8":
            one, many = (int(re.search(r"needs (\d+) bytes", run(words + end).err)[1]) for end in (
                f" --grid 64x64 --form naive --max-memory 3M --threads {threads}" for threads in (1, 64)))
            self.assertLess(one, many, words)

    def operators(self):
        """Name and forms of each operator that `list` names."""
        lines = self.succeeds("list").split("\n\n")[0].splitlines()
        return [(name, forms) for name, *forms in (line.split(" (")[0].split() for line in lines)]

    def test_every_letter_is_defined(self):
        """help defines exactly the letters of an operator's shapes, each once; no heading is empty."""
        def letters_are_defined(operator, _):
            text = self.succeeds(f"help {operator}")
            shapes = re.findall(r"^  \w+ +(\[.*\])", text.partition("\ntensors that ")[2], re.M)
            letters = set(re.findall(r"[A-Za-z]+'?", " ".join(shapes).replace("] or [", " ")))
            below = text.partition("\nletters\n")[2]
            defined = re.findall(r"^  (\S{1,3}) +\S", below, re.M)
            self.assertEqual(sorted(defined), sorted(letters), text)
            self.assertEqual(len(defined), below.count("\n"), below)
            self.assertNotIn("as the file has it", below)
            for line in re.findall(r"^options of .*\n(.*)", text, re.M):
                self.assertEqual(line[:4], "  --", text)

        self.for_each(letters_are_defined, self.operators())

    def test_completions_are_offered(self):
        def offers(words, offered, other):
            out = self.succeeds(f"complete {words}")
            self.assertIn(offered, out, words)
            self.assertNotIn(other, out, words)

        self.for_each(offers, (
            ("a", "apply\n", "lisa"), ("apply l", "lisa\n", "tokens"), ("help l", "lisa\n", "--grid"),
            ("help --m", "--man\n", "--grid"), ("apply lisa --", "--equation\n", "--window"),
            ("apply lisa --equation 1", "10\n", "--grid"), ("apply lisa --equation=1", "10\n", "--grid"),
            ("apply lisa --form = n", "naive\n", "--grid"), ("parameters elsa --without g", "ghost_mul\n", "rk"),
            ("parameters chopd --sizes R", "R=\n", "--"), ("tokens --", "--images\n", "--equation"),
            ("compare --", "--tolerance\n", "-o"), ("compare --", "--floor\n", "-o"),
            ("resample lisa --by s", "spectrum\n", "--from"), ("verify l", "lisa\n", "tokens"),
            ("verify lisa --form f", "fftw\n", "--grid"),
            ("measure lisa --form f", "fftw\n", "--grid"), ("verify lisa --", "--batch\n", "-o"),
            ("apply msa --form c", "cuda\n", "--grid"),
            ("apply msa --device h", "host\n", "cuda")))
        self.assertEqual(self.succeeds("complete apply lisa m"), "")

    def test_parameters_apply_and_compare_make_a_chain(self):
        self.for_each(self.parameters_apply_and_compare, self.operators())

    def parameters_apply_and_compare(self, operator, forms):
        # Step 1: required options, two heads, and sizes for the open letters.
        text, values = self.succeeds(f"help {operator}"), {"GRID": "4x4", "KERNEL": "3x3"}
        options = " --heads 2" if "[--heads N]" in text else ""
        for name, value in re.findall(r"^  --(\S+) (\S+) +required", text, re.M):
            options += f" --{name} {values.get(value, 3)}"
        draw = f"parameters {operator}{options} --channels 6 --batch 2"
        sizes = "".join(re.findall(r"is not known, expected( --sizes \S+)", run(f"{draw} -o w").err))
        for number in range(2, 2 + sizes.count("=n")):
            sizes = sizes.replace("=n", f"={number}", 1)

        # Step 2: a seed gives the same bytes with any number of threads.
        for more, path, threads in ("", "x", "1"), (" --seed=1", "y", "4"), (" --seed 2", "z", "1"):
            self.succeeds(f"{draw}{sizes}{more} -o {path}", env={**os.environ, "OMP_NUM_THREADS": threads})
        self.assertTrue(read("x") == read("y"))
        self.assertTrue(read("x") != read("z"))
        done = run("compare x z")
        self.assertEqual(done.status, 1, done.err)
        for line in done.out.splitlines()[1:]:
            self.assertTrue(line.endswith("beyond"), f"equal with another seed: {line}")

        # Step 3: every form and every emulated kernel version equals naive, within compare's tolerance, or within 64
        # roundings of the factors if a version rounds them (properties.h).
        self.assertEqual(forms[:2], ["naive", "plain"])
        self.succeeds(f"apply {operator}{options} --form naive x -o y")
        for form in forms[1:]:
            device = " --device host" if form.startswith("cuda") else ""
            rounding = {"tf32": 2.0 ** -11, "bf16": 2.0 ** -8}.get(form.rpartition("-")[2])
            self.succeeds(f"apply {operator}{options} --form {form}{device} x -o z")
            self.succeeds("compare z y" + (f" --tolerance {64 * rounding}" if rounding else ""))

    def verified(self, words, status=0, **settings):
        """Run verify; return its table by form: largest error, bound, rms, bound, and perhaps "beyond"."""
        done = run(f"verify {words}", **settings)
        self.assertEqual(done.status, status, f"{words}: {done.out}{done.err}")
        return {form: entries for form, *entries in map(str.split, done.out.splitlines()[3:])}

    def test_verify_holds_for_every_form(self):
        def verify(operator, forms):
            table = self.verified(operator)
            self.assertEqual(list(table), [form for form in forms[1:] if not form.startswith("cuda")])
            for largest, bound, rms, rms_bound in table.values():
                self.assertTrue(float(largest) <= float(bound) and float(rms) <= float(rms_bound), table)

        self.for_each(verify, self.operators())
        kernels = [form for form in dict(self.operators())["lisa"] if form.startswith("cuda")]
        for words, forms in (("lisa --device host", ["plain", "fast", "fftw", *kernels]),
                             ("lisa --equation 4 --form fftw", ["fftw"]),
                             ("lisa --form cuda1 --form fast --form naive --device host", ["cuda1", "fast", "naive"]),
                             ("elsa --variant final --heads 2", ["plain", "fast"]),
                             ("structsa --grid 4x3x5", ["plain", "fast"]),
                             ("dfc-cp --grid 3x4", ["plain", "fast"]),
                             ("dfc-cp --positions relative --grid 3x4", ["plain", "fast"]),
                             ("fc --grid 3x4 --sizes D=2 --channels 5 --batch 1", ["plain", "fast"])):
            table = self.verified(words)
            self.assertEqual(list(table), forms, words)
            if not words.startswith("fc "):         # its forms may sum in one order
                self.assertEqual([form for form in table if table[form][0] == "0"], [f for f in forms if f == "naive"])

    def test_verify_draws_what_parameters_draws(self):
        """Its error is the difference of two results of apply."""
        sizes = "msa --grid 5x7 --channels 6 --batch 3 --seed 4 --without w_o,b_o"
        self.succeeds(f"parameters {sizes} -o w")
        for form in "fast", "naive":
            self.succeeds(f"apply msa --grid 5x7 --form {form} w -o {form}")
        rms = self.succeeds("compare fast naive").splitlines()[1].split()[2]
        self.assertEqual(self.verified(sizes)["fast"][2], rms)

    def test_verify_finds_a_wrong_form(self):
        """A wrong exponential in the naive softmax: the smallest change exceeds only the bound of the rms.  NaN is
        beyond, in one form or in both.  The bounds are 32 sqrt(T) u and an eighth of it, T multiply-adds for each of
        the 2 x 72 x 12 entries of y."""
        work = float(re.search(r"makes (\S+) multiply-adds", run("verify msa --max-work 1").err)[1])
        bound = 32 * math.sqrt(work / (2 * 72 * 12)) * ROUNDOFF
        for entries in self.verified("msa").values():
            self.assertAlmostEqual(float(entries[1]), bound, delta=0.01 * bound)
            self.assertAlmostEqual(float(entries[3]), bound / 8, delta=0.01 * bound / 8)
        large = 1e308 if DOUBLE else 3e38
        most, _, rms, _, word = self.verified(f"msa --scale {large}", 1)["fast"]
        self.assertTrue(math.isnan(float(most)) and math.isnan(float(rms)) and word == "beyond")
        if suite.WRAPPER or "ASAN_OPTIONS" in os.environ:
            self.skipTest("no other library may be loaded first")
        preload = {**os.environ, "LD_PRELOAD": SHIM}
        for exponent, status in (1, 0), (1 + (2e-14 if DOUBLE else 1e-5), 1), (2, 1), (math.nan, 1):
            entries = self.verified("msa", status, env={**preload, "EXPONENT": repr(exponent)})["fast"]
            self.assertEqual(entries[4:], ["beyond"] * status)

    def test_tokens_depend_on_the_seed(self):
        """The seed determines the projection of images, or the noise."""
        write("shades", struct.pack(">IIII", 0x803, 1, 12, 20) + random.Random(1).randbytes(240))
        for images, origin in ((" --images shades", "images 0 ... 0 of shades, mosaics of 1x1, 4x4 patches$"),
                               (" shades", "images 0 ... 0 of shades, mosaics of 1x1, 4x4 patches$"),
                               ("", "(1/f noise of seed {}|images 0) ")):
            for options, path, seed in ("", "x", 1), (" --seed 1", "y", 1), (" --seed 5", "z", 5):
                out = self.succeeds(f"tokens --grid 3x5 --channels 8{images}{options} -o {path}")
                self.assertRegex(out, "^" + origin.format(seed))
            self.assertTrue(read("x") == read("y"))
            self.assertTrue(read("x") != read("z"))

    def test_spectrum_of_an_impulse_is_flat(self):
        """Impulses of two images: 1 and e^2 in channel 0, e and e^3 in channel 1.  The mean logarithms are 1 and 2."""
        y = [math.exp(2 * image + channel) * (token == 0)
             for image in range(2) for token in range(30) for channel in range(2)]
        write_tensors("y", {"y": ([2, 6, 5, 2], y)})
        self.succeeds("spectrum y -o z")
        (_, (shape, made)), = read_tensors("z").items()
        self.assertEqual(shape, [2, 6, 5])
        self.assert_close(made, [1] * 30 + [2] * 30, 64 * ROUNDOFF)


# ---- resample

def golden(name):
    """A plane of two channels, before and after resampling by PyTorch (tests/pytorch/resample.py)."""
    tensors = read_tensors(f"{TREE}/tests/golden/resample/plane_{name}.safetensors")
    return tensors["x"][1], tensors["y_expected"][1]


def wave(H, W):
    """One period along each axis, in two equal channels.  Divided by H W, since resampling keeps sums."""
    return [math.cos(2 * math.pi * (i // W / H + i % W / W)) / (H * W) for i in range(H * W) for _ in range(2)]


def repeated(plane, channels, as_rows):
    """The two channels of a plane, alternately: [channels][entries] if as_rows, else [entries][channels]."""
    rows = [plane[channel % 2::2] for channel in range(channels)]
    return [value for row in (rows if as_rows else zip(*rows)) for value in row]


class Resample(Case):
    def test_resample_fits_tensors_to_another_grid(self):
        """LiSA's kernels, an RPE, msa's ghost matrices [C, P], a position table; other tensors are copied.

        Tolerance: 64 u of the largest entry, for sums of at most 30 products with weights of about 1."""
        kernels = "lisa --grid 6x5 --heads 2 --channels 4 --sizes D=3", "lisa --heads 2 --from 6x5 --to 9x8 --by"
        for made, command, tensor, channels, as_rows, (plane, expected) in (
                (kernels[0], f"{kernels[1]} zeros", "wa", 6, False, (wave(6, 5), wave(9, 8))),
                (kernels[0], f"{kernels[1]} spectrum", "wa", 6, False, golden("spectrum")),
                ("lisa --grid 3x2 --equation 6 --channels 4 --sizes D=3",
                 "lisa --equation 6 --from 3x2 --to 4x5 --by bicubic", "ea", 12, False, golden("offsets")),
                ("msa --grid 3x2 --channels 4 --lambda 1", "msa --from 3x2 --to 4x5 --by bicubic", "ghost_add", 4, True,
                 golden("offsets")),
                ("position --grid 4x3 --channels 5", "position --from 4x3 --to 6x7 --by bicubic", "table", 5, False,
                 golden("tokens"))):
            with self.subTest(command):
                self.succeeds(f"parameters {made} -o w")
                before = read_tensors("w")
                before[tensor] = before[tensor][0], repeated(plane, channels, as_rows)
                write_tensors("w", before)
                self.succeeds(f"resample {command} w -o z")
                before, after = read_tensors("w"), read_tensors("z")
                self.assertEqual(list(after), list(before))
                self.assertEqual(after["x"], before["x"])
                for name, (shape, numbers) in after.items():
                    old_shape, old_numbers = before[name]
                    self.assertEqual(len(shape), len(old_shape), name)
                    self.assertTrue(shape != old_shape or numbers == old_numbers, name)
                self.assert_close(after[tensor][1], repeated(expected, channels, as_rows),
                                  64 * ROUNDOFF * max(map(abs, expected)))

    def test_resample_rejects_other_rules_and_grids(self):
        lisa = "lisa --grid 4x3 --channels 4 --sizes D=3"
        for made, words, message in (
                ("position --grid 4x3 --channels 5", "position --from 4x3 --to 6x5 --by zeros",
                 "position: tensor table: found --by zeros, expected bicubic"),
                ("position --grid 4x3 --channels 5", "position --from 4x4 --to 6x5 --by bicubic",
                 "position: tensor table: found [12, 5], expected 16 entries along axis 1 of 2"),
                (f"{lisa} --kernel 3x3", "lisa --kernel 3x3 --from 4x3 --to 6x5 --by zeros",
                 "lisa: found no tensor with an entry for each token"),
                (lisa, "lisa --from 4x3 --to 6x5 --by bicubic",
                 "lisa: tensor wa: found --by bicubic, expected zeros or spectrum"),
                (lisa, "lisa --from 4x3 --to 4x2 --by zeros",
                 "lisa: tensor wa: found 2 tokens along axis 2 for 3, expected no fewer")):
            with self.subTest(words):
                self.succeeds(f"parameters {made} -o w")
                self.fails(f"resample {words} w -o z", message)


# ---- compare

class Compare(Case):
    def compare(self, a, b, options, text, status):
        write_tensors("a", a)
        write_tensors("b", b)
        done = run(f"compare a b{options}")
        self.assertEqual(done.status, status, f"{a} {b}{options}: {done.out}{done.err}")
        self.assertIn(text, done.err if status == 2 else done.out, f"{a} {b}{options}")

    def test_compare_measures_against_b(self):
        """compare divides the largest and the root mean square difference by B's root mean square: 1 and 0.5 for
        A = (6, 1, 1, 5), B = (3, 1, 1, 5), whose rms is 3.  That of `tiny` B is below the usual tolerance."""
        tiny, small, root, more, usual = (2.0 ** -40, 2.0 ** -30, "2.7e-12", "2.8e-12", "        1e-10") if DOUBLE \
            else (2.0 ** -27, 2.0 ** -13, "2.2e-08", "2.3e-08", "       0.0001")
        nan, inf, zero = math.nan, math.inf, (0, 0, 0, 0)

        def compare(scale, a, b, *expected):
            self.compare({"t": ([4], [scale * value for value in a])}, {"t": ([4], [scale * value for value in b])},
                         *expected)

        self.for_each(compare, (
            (1, (6, 1, 1, 5), (3, 1, 1, 5), " --tolerance 1", "1          0.5            1\n", 0),
            (1, (6, 1, 1, 5), (3, 1, 1, 5), " --tolerance 0.999", "1          0.5        0.999  beyond\n", 1),
            (1, (6, 1, 1, 5), (3, 1, 1, 5), "", "  beyond\n", 1),
            (1, (3, 1, 1, 5), (3, 1, 1, 5), " --tolerance 0", "0            0            0\n", 0),
            (1, zero, zero, " --tolerance 0", "0            0            0\n", 0),
            (1, (0, 1, 0, 0), zero, " --tolerance 1e300", "inf          inf", 1),
            (1, (nan, 1, 1, 5), (3, 1, 1, 5), " --tolerance 1e300", "beyond", 1),
            (1, (3, 1, 1, 5), (3, 1, nan, 5), " --tolerance 1e300", "beyond", 1),
            (1, (nan, 1, 1, 5), (nan, 1, 1, 5), " --tolerance 1e300", "beyond", 1),
            (1, (inf, 1, 1, 5), (inf, 1, 1, 5), " --tolerance 1e300", "beyond", 1),
            (tiny, (6, 1, 1, 5), (3, 1, 1, 5), "",
             f"1          0.5{usual}  beyond; B is {root}: if its terms cancel, allow a --floor\n", 1),
            (tiny, (6, 1, 1, 5), (3, 1, 1, 5), f" --floor {root}", f"1          0.5{usual}  beyond; B is {root}", 1),
            (tiny, (6, 1, 1, 5), (3, 1, 1, 5), f" --floor {more}", f"1          0.5{usual}  below the floor\n", 0),
            (tiny, (6, 1, 1, 5), (3, 1, 1, 5), f" --tolerance 1 --floor {more}", "1          0.5            1\n", 0),
            (small, (6, 1, 1, 5), (3, 1, 1, 5), "", "  beyond\n", 1),
            (1, (6, 1, 1, 5), (3, 1, 1, 5), " --floor 2.9", "  beyond\n", 1),
            (1, (6, 1, 1, 5), (3, 1, 1, 5), " --floor 3", "  below the floor\n", 0),
            (1, (0, 1, 0, 0), zero, " --floor 1", "  below the floor\n", 0),
            (1, (0, 1, 0, 0), zero, " --floor 0.9", "  beyond; B is 0: if its terms cancel", 1),
            (1, (nan, 1, 1, 5), (3, 1, 1, 5), " --floor 1e300", "  beyond\n", 1),
            (1, (3, 1, 1, 5), (3, 1, nan, 5), " --floor 1e300", "  beyond\n", 1),
            (1, (inf, 1, 1, 5), (inf, 1, 1, 5), " --floor 1e300", "  beyond\n", 1),
            (1e37, (6, 1, 1, 5), (3, 1, 1, 5), " --tolerance 1.0001", "1          0.5", 0),
            (1e-37, (6, 1, 1, 5), (3, 1, 1, 5), " --tolerance 1.0001", "1          0.5", 0)))

    def test_compare_finds_tensors_by_name(self):
        """Control characters in names do not reach the terminal."""
        a, b, c = ([1], [1]), ([1], [2]), ([1], [3])
        first = {"a\x1b[31m\n": a, "b": b, "c": c}
        self.compare(first, {"b": b, "a\x1b[31m\n": a, "c": c}, "", "a?[31m?                     0            0", 0)
        self.compare(first, {"b": b, "a": a, "c": c}, "", "tensor a: in B and not in A", 2)
        self.compare(first, {"b": b, "c": c}, "", "tensor a?[31m?: in A and not in B", 2)

    def test_compare_uses_double(self):
        """Both builds compare F64 in double: an error of 1e-9 exceeds the tolerance 1e-10 of two F64 files."""
        write_tensors("a", {"t": ([4], [1, 1, 1, 1 + 1e-9])}, "F64")
        write_tensors("b", {"t": ([4], [1, 1, 1, 1])}, "F64")
        done = run("compare a b")
        self.assertEqual(done.status, 1, done.err)
        self.assertIn("1e-09        5e-10        1e-10  beyond", done.out)
        self.succeeds("compare a b --tolerance 1e-4")


# ---- measure

class Measure(Case):
    MEASURED = "measure msa --grid 8x8 --channels 4 --form naive --repeats 1"

    def assert_measures(self, words, rows, messages, others=()):
        """The table has exactly these rows, stderr these messages; no output has a text in `others`."""
        done = run(words)
        self.assertEqual(done.status, 0, f"{words}: {done.err}")
        for row in rows:
            self.assertIn(f"\n{row}", done.out, words)
        self.assertTrue(done.out.startswith("#operator\tform\tgrid"), done.out)
        self.assertEqual(done.out.count("\nmsa\t"), len(rows), done.out)
        head, *lines = (line.split("\t") for line in done.out.lstrip("#").splitlines())
        for row in (dict(zip(head, line)) for line in lines):       # without times if most runs were disturbed
            self.assertEqual(math.isnan(float(row["median_seconds"])), float(row["disturbed"]) > 0.5, row)
        for message in messages:
            self.assertIn(message, done.err, words)
        for text in others:
            self.assertNotIn(text, done.out + done.err, words)

    def test_measure_leaves_out_what_does_not_fit(self):
        self.assert_measures(
            "measure msa --grid 8x8 64x64 256x256 --channels 8 --form naive fast --repeats 1 --max-memory 6M",
            ["msa\tnaive\t8x8", "msa\tfast\t8x8", "msa\tfast\t64x64"],
            ["naive 64x64, 1 thread: left out: needs ", "msa 256x256: left out: needs "])

    def test_measure_follows_its_options(self):
        """A run takes more than 1e-300 s; a thousand runs take less than 10^6 s."""
        two, three = "msa\tfast\t2x2\t4\t4\t1\t1\t1\t", "msa\tfast\t3x3\t9\t4\t1\t1\t1\t"

        def measures(options, rows, message, other):
            self.assert_measures(f"measure msa --channels 4 {options}", rows, [message], [other])

        self.for_each(measures, (
            ("--form fast --grid 2x2 3x3 --repeats 2 --max-seconds 1e-300", [two + "2\t"],
             "fast 3x3, 1 thread: left out, a run is expected to take ", "2x2, 1 thread: left out"),
            ("--form fast --grid 2x2 3x3 --repeats 2 --max-seconds 1e6", [two + "2\t", three + "2\t"],
             "timed but not compared", "left out"),
            ("--form fast --grid 2x2 --seconds 1e-300", [two + "1\t"], "not compared", "left out"),
            ("--form fast --grid 2x2 --seconds 1e6", [two + "1000\t"], "not compared", "left out"),
            ("--form fast --grid 2x2", [two + "9\t"], "not compared", "left out"),
            ("--form fast --judge naive --grid 2x2 --repeats 3", [two + "3\t"],
             "msa fast 2x2, 1 thread: beside naive: agrees to ", "not compared"),
            ("--form naive fast --grid 2x2 --threads 1 2 --repeats 2 --yes",
             [f"msa\t{form}\t2x2\t4\t4\t1\t1\t{threads}\t2\t" for form in ("naive", "fast") for threads in (1, 2)],
             "2 threads: beside naive: agrees to ", "hours")))

    def test_measure_keeps_what_it_timed(self):
        """The file's last tensor, y, equals to the bit what apply computes from the others."""
        self.assert_measures("measure msa --grid 3x4 --channels 8 --form fast --repeats 20 --keep kept",
                             ["msa\tfast\t3x4\t"], [])
        kept = read_tensors("kept")
        self.assertGreater(len(kept), 2)
        name, (_, numbers) = kept.popitem()
        write_tensors("x", kept)
        self.succeeds("apply msa --grid 3x4 x -o y")
        self.assertEqual((name, len(numbers)), ("y", 12 * 8))
        self.assertEqual(read_tensors("y")["y"][1], numbers)

    def test_measure_prints_a_table_on_a_terminal(self):
        done = self.run_on_terminal(self.MEASURED)
        self.assertEqual(done.status, 0, done.err)
        for part in "8x8         naive      1 ", "s ", " KiB ":
            self.assertIn(part, done.out)
        for part in "\t", "multiply":
            self.assertNotIn(part, done.out)
        self.assertLessEqual(max(map(len, done.out.splitlines())), 100, done.out)
        done = self.run_on_terminal(self.MEASURED + " --tsv")
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("msa\tnaive\t8x8\t64", done.out)


# ---- whole networks

Step = collections.namedtuple("Step", "path stage target source adds operator options")

# Small networks of images and video; `pictures` make two inputs, whose shorter edge is scaled to `covered` pixels.
Little = collections.namedtuple("Little", "name grid depths widths heads pictures covered")
LITTLE = (Little("litv2-s", "32x32", (1, 1, 2, 1), (6, 12, 24, 48), (1, 2, 4, 4), 2, 36),
          Little("structvit-b-4-1-video", "2x32x32", (1, 1, 1, 1), (4, 6, 8, 20), (1, 1, 2, 4), 4, 36),
          Little("elsa-swin-t", "64x64", (1, 1, 1, 2), (6, 12, 24, 48), (1, 2, 4, 4), 2, 71))


def words_of(little, words):
    """The command that runs a network."""
    depths, widths, heads = (",".join(map(str, numbers)) for numbers in (little.depths, little.widths, little.heads))
    return (f"network {little.name} --grid {little.grid} --classes 7 --depths {depths} --widths {widths} "
            f"--heads {heads} --threads 1 {words}")


def gaussian(seed, count):
    numbers = random.Random(seed)
    return [numbers.gauss(0, 1) for _ in range(count)]


class Networks(Case):
    def steps(self, little):
        """The steps of a network in running order, as help lists them."""
        steps = []
        parts = re.split(r"\nstage \d.*\n|\nthe end\n", self.succeeds(f"help {little.name}"))[1:]
        for stage, part in enumerate(parts):
            entry, _, block = part.partition("  and ")
            start = f"stage{stage + 1}." if block else ""
            turns = [re.sub(f".*, blocks {other}, .*", "", block) for other in (2, 1)]
            blocks = [(f"{start}block{n + 1}.", turns[n % 2]) for n in range(little.depths[stage] if block else 0)]
            for path, text in [(start, entry), *blocks]:
                for name, target, adds, source, operator, options in re.findall(
                        r"^    (\w+) +([xh]) (\+?)= f\(([xh])\) +(\S+)(.*)$", text, re.M):
                    steps.append(Step(path + name, stage, target, source, adds, operator, options))
        return steps

    def apply_words(self, little, step, tokens):
        """The command that applies a step to the file `before`.  A video has one frame after the first step."""
        options = re.split(r" with(?:out)? ", step.options)[0].replace("%K", "7")
        if step.stage < 4:
            C, h = little.widths[step.stage], little.heads[step.stage]
            side = math.isqrt(tokens)
            for letter, value in (("%C", C), ("%h", h), ("%s", 1 / math.sqrt(C / h)), ("%7w", min(7, side)),
                                  ("%7t", 3 if side > 7 else 0)):
                options = options.replace(letter, str(value))
        if "--grid GRID" in self.succeeds(f"help {step.operator}"):
            side = math.isqrt(tokens)
            later = f"1x{side}x{side}" if little.grid.count("x") == 2 else f"{side}x{side}"
            options += f" --grid {little.grid if step.path == 'stage1.embed' else later}"
        return f"apply {step.operator}{options} before -o y"

    def test_networks_run_on_pixels_of_a_file(self):
        pixels, words = 28 * 28, "network learned-lisa --random 1 --input x -o z"
        write_tensors("x", {"x": ([2, pixels, 1], gaussian(7, 2 * pixels))})
        self.succeeds(words)
        (name, (shape, logits)), = read_tensors("z").items()
        self.assertEqual((name, shape), ("logits", [2, 10]))
        self.assertNotEqual(logits[:10], logits[10:])
        os.remove("z")
        for tokens, channels in (pixels - 1, 1), (pixels, 3), (pixels // 2, 2):
            write_tensors("x", {"x": ([1, tokens, channels], [0] * (tokens * channels))})
            self.fails(words, f"tensor x: found [1, {tokens}, {channels}], expected [B, 784, 1], the pixels of")

    def test_a_network_is_its_steps(self):
        """From the input and parameters of each step, which --before writes, apply computes the input of the next step,
        the outputs of stages and the logits, to the bit.  All parameters are the network's weights."""
        self.for_each(self.run_step_by_step, zip(LITTLE))

    def see_pictures(self, little):
        """Write x, the pixels, and z, the outputs of all stages."""
        # Step 1: pictures that need no scaling; test_image_files.py has their pixels.
        *frames, H, W = map(int, little.grid.split("x"))
        height, width, half = little.covered, little.covered + 8, little.pictures // 2
        for p in range(little.pictures):
            pixels = random.Random(p).randbytes(3 * height * width)
            rows = b"".join(b"\0" + pixels[start:start + 3 * width] for start in range(0, len(pixels), 3 * width))
            write(f"{p}.png", suite.png(height, width, suite.RGB, 8, rows))
        names = [f"{p}.png" for p in range(little.pictures)]
        pictures, swapped = " ".join(names), " ".join(names[half:] + names[:half])
        self.succeeds(words_of(little, f"--random 3 --before stage1.embed -o before {pictures}"))
        x = read_tensors("before")["x"]
        self.assertEqual(x[0], [2, math.prod(frames) * H * W, 3])

        # Step 2: the stages depend on the order of pictures.
        write_tensors("x", {"x": x})
        self.succeeds(words_of(little, "--random 3 --stages --input x -o z"))
        for order, path in (pictures, "y"), (swapped, "w"):
            self.succeeds(words_of(little, f"--random 3 --stages -o {path} {order}"))
        self.assertTrue(read("y") == read("z"))
        made, others = read_tensors("y"), read_tensors("w")
        self.assertEqual({name: shape for name, (shape, _) in made.items()}, {
            "logits": [2, 7], **{f"stage{i + 1}": [2, H * W >> 2 * (i + 2), little.widths[i]] for i in range(4)}})
        for name, (shape, numbers) in made.items():
            first, second = numbers[:len(numbers) // 2], numbers[len(numbers) // 2:]
            self.assertNotEqual(first, second, name)
            self.assertTrue(others[name] == (shape, second + first), name)

        # Step 3: logits alone, without and with a profile.
        for option in "", " --profile":
            out = self.succeeds(words_of(little, f"--random 3{option} -o y {pictures}"))
            self.assertEqual(read_tensors("y"), {"logits": made["logits"]})
            self.assertEqual(out.splitlines()[-1], "logits [2, 7]")
            self.assertEqual(len(out.splitlines()) > 1, option != "")

    def run_step_by_step(self, little):
        self.see_pictures(little)
        outputs, held, stages, weights = read_tensors("z"), {"x": read_tensors("x")["x"][1]}, {}, {}
        for step in self.steps(little):
            self.succeeds(words_of(little, f"--random 3 --before {step.path} --input x -o before"))
            parameters = read_tensors("before")
            (batch, tokens, _), x = parameters.pop("x")
            self.assertEqual(batch, 2)
            self.assertTrue(x == held[step.source], step.path)
            weights |= {f"{step.path}.{name}": tensor for name, tensor in parameters.items()}
            self.succeeds(self.apply_words(little, step, tokens), env={**os.environ, "OMP_NUM_THREADS": "1"})
            y = read_tensors("y")["y"][1]
            if step.adds:
                write_tensors("y", {"y": ([len(y)], [a + b for a, b in zip(held["x"], y, strict=True)])})
                y = read_tensors("y")["y"][1]
            held[step.target] = y
            stages[f"stage{step.stage + 1}" if step.stage < 4 else "logits"] = held["x"]
        self.assertEqual(sorted(stages), sorted(outputs))
        for name, (_, numbers) in outputs.items():
            self.assertTrue(stages[name] == numbers, name)
        self.check_weights(little, weights)

    def check_weights(self, little, weights):
        """The collected weights, in a file, equal those of seed 3."""
        write_tensors("w", weights)
        self.succeeds(words_of(little, "--weights w --stages --input x -o y"))
        self.assertTrue(read("y") == read("z"))
        self.succeeds(words_of(little, "--random 4 --stages --input x -o y"))
        self.assertTrue(read("y") != read("z"))
        write_tensors("w", weights | {"ema.more": ([1], [1]), f"ema.{[*weights][0]}": ([1], [1])})
        done = run(words_of(little, "--weights w --stages --input x -o y"))
        _, _, said = done.err.partition("\n")       # the first line is the announcement
        self.assertEqual((done.status, said, read("y")), (
            0, "twicetold: w: ignored 2 tensors that nothing needs, first 'ema.more'\n", read("z")))
        write_tensors("w", {f"model.{name}": tensor for name, tensor in weights.items()} | {"more": ([1], [1])})
        self.fails(words_of(little, "--weights w --input x -o y"),
                   f"w: tensor {[*weights][0]}: missing; found 'model.{[*weights][0]}', expected names without 'model.'")
        missing, _ = weights.popitem()
        write_tensors("w", weights)
        self.fails(words_of(little, "--weights w --input x -o y"), f"{little.name}: w: tensor {missing}: missing")

    def test_a_network_says_what_it_does(self):
        words = "network learned-lisa --random 1 --threads 1 --input x -o z"
        write_tensors("x", {"x": ([1, 784, 1], gaussian(7, 784))})
        help_text = self.succeeds("help learned-lisa")
        (parameters, cost), = re.findall(r"parameters \((.*)\), (\S+ \w) multiply-adds", help_text)
        done = run(words)
        self.assertEqual(done.err, f"network learned-lisa: {parameters} parameters, {cost} multiply-adds, 1 input of "
                                   "28x28 pixels, 1 thread\n")
        logits = read_tensors("z")["logits"][1]
        total, best = sum(map(math.exp, logits)), sorted(range(10), key=lambda k: -logits[k])[:5]
        self.assertEqual(done.out, "class  probability\n" + "".join(
            f"{k:5}  {math.exp(logits[k]) / total:.4f}\n" for k in best))
        self.assertEqual(self.succeeds(words + " --stages"), done.out + "stage1 [1, 196, 32]\n")
        self.assertEqual(self.succeeds(words + " --before head"), "x [1, 196, 32]\n")

    def test_a_long_run_shows_a_bar_on_a_terminal(self):
        for side, shown in (8, False), (84, True):          # 11 runs in milliseconds, and in some seconds
            master, terminal = self.open_terminal()
            write_tensors("x", {"x": ([1, side * side, 1], [0] * side * side)})
            run(f"network learned-lisa --random 1 --grid {side}x{side} --form naive --threads 1 --profile --input x "
                "-o z", stderr=terminal)
            self.assertEqual(b" left  after step " in master.read(65536), shown)

    def test_a_profile_costs_what_help_says(self):
        write_tensors("x", {"x": ([1, 784, 1], [0] * 784)})
        cost, = re.findall(r"\), (\S+ \w) multiply-adds", self.succeeds("help learned-lisa"))
        table, _ = self.succeeds("network learned-lisa --random 1 --profile --input x -o y").split("class ")
        self.assertIn(f" {cost} ", table.splitlines()[-1])


# ---- figures

class Figures(Case):
    # Arguments of the programs and scripts that need some.
    ARGUMENTS = {
        "chopd-boxes": "0.001 5 7", "cuda": "msa --grid 3x3 --channels 4",
        "ladder": "msa --grid 3x4 --channels 4 --without rpe --threads 2 --repeats 2", "roofline": "0.001 1048576",
        "networks-profile": "1 lisanet-i-t fast", "attention-error": "49 7 49 64", "lisa-border": "8x6",
        "lisa-error": "49 7x7 12x12", "chopd-error": "14", "chopd-direct": "4x4",
        "networks-accuracy": "100"}

    def assert_finite(self, name, done):
        """A figure's program succeeds and prints finite numbers.  If other programs disturb it, times may be NaN, and
        roofline may fail."""
        timed = name in ("chopd-boxes", "ladder", "networks-profile")
        if name == "roofline" and done.status:
            return self.assertRegex(done.err, r"^roofline: .*, expected at most 5 %")
        self.assertEqual(done.status, 0, f"{name}: {done.err}")
        numbers = []
        for field in " ".join(line for line in done.out.splitlines() if not line.startswith("#")).split():
            try:
                numbers.append(float(field))
            except ValueError:
                pass
        self.assertTrue(all(math.isfinite(n) or (timed and math.isnan(n)) for n in numbers),
                        f"{name} prints {done.out}")
        self.assertTrue(numbers or name == "machine", f"{name} prints no number")

    def test_figures_are_computed(self):
        names = {os.path.basename(path)[:-2] for path in glob.glob(f"{TREE}/figures/bench/*.c")} | {"ladder"}
        self.assertLess(self.ARGUMENTS.keys() & {"cuda", "ladder"}, names)
        modes = {"chopd-boxes": "fractional 14 4 2 1 1",
                 "networks-profile": "seconds lisanet-i-t fast 32x32 1 1 1"}
        for name, words in [*((name, self.ARGUMENTS.get(name, "")) for name in names), *modes.items()]:
            with self.subTest(name, words=words):
                self.assert_finite(name, run(f"figures/{'ladders' if name == 'ladder' else 'bench'}/{name} {words}"))

    def run_script(self, *words):
        """Run a script of figures/ with the libraries of this build."""
        done = subprocess.run([*PYTHON, *words], env={**os.environ, "BUILD": BUILD}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=suite.SECONDS)
        return suite.Result(done.returncode, done.stdout, done.stderr)

    def test_maps_are_computed(self):
        """Each script computes all figures that it lists; an additional argument is an error."""
        if self.run_script("-c", "import numpy").status:
            self.skipTest("NumPy is missing")
        for script, least in (f"{TREE}/figures/maps.py", 12), (f"{TREE}/figures/network_maps.py", 7):
            done = self.run_script(script)
            self.assertEqual((done.status, done.err.count("\n"), done.err[-1:]), (2, 1, "\n"), done.err)
            names = done.err.partition("expected one of: ")[2].split()
            self.assertGreaterEqual(len(names), least, done.err)
            for name in names:
                with self.subTest(name):
                    words = [script, name, *self.ARGUMENTS.get(name, "").split()]
                    self.assert_finite(name, self.run_script(*words))
                    done = self.run_script(*words, "none")
                    self.assertEqual((done.status, done.out, done.err.count("\n")), (2, "", 1), f"{name}: {done.err}")

    def test_counts_in_figures_are_those_of_the_kernels(self):
        """Counts all lines of figures/*/*-cuda.tsv again, except those of first versions, which would take a minute
        (tests/cuda/counts.tsv has them).  No other version is missing."""
        lines = versions = 0
        for path in glob.glob(f"{TREE}/figures/*/*-cuda.tsv"):
            counted = ""
            for line in read(path).decode().splitlines(keepends=True):
                if line.startswith("# counted: "):
                    counted = self.succeeds(f"figures/bench/cuda {line[11:]} --from 2")
                    versions += counted.count("\tcuda")
                elif not line.startswith("#") and "\tcuda1\t" not in line:
                    self.assertIn(line, counted, path)
                    lines += 1
        self.assertEqual(lines, versions)
        self.assertGreaterEqual(lines, 13)


if DOUBLE:          # figures show the float build
    del Figures

if __name__ == "__main__":
    suite.main()
