"""test_program.py -- the programs on the command line

Runs the `twicetold` and `measure` of a build, and every program that computes a figure.
Bad input must give exit status 2, one line on stderr, and no file.
"""
import cmath
import collections
import glob
import math
import os
import pty
import random
import re
import resource
import shlex
import signal
import struct
import subprocess
import sys
import unittest
import zlib

from support import suite
from support.suite import BUILD, DOUBLE, TREE, read_tensors, write_tensors

with open(os.path.join(BUILD, "twicetold"), "rb") as elf:
    NARROW = elf.read(5)[4] == 1                    # addresses of 32 bits

ROUNDOFF = 2.0 ** -53 if DOUBLE else 2.0 ** -24     # the largest relative error of one rounding


def with_program(words):
    """The words of `twicetold`, unless they begin with another program."""
    return words if words.startswith(("measure ", "figures/")) else "twicetold " + words


def run(words, **settings):
    return suite.run(with_program(words), **settings)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def largest_difference(a, b):
    """The largest |a - b|; infinite if any of them is NaN."""
    differences = [abs(x - y) for x, y in zip(a, b, strict=True)]
    return math.inf if any(map(math.isnan, differences)) else max(differences)


class Case(suite.Case):
    """Each folder has msa.safetensors: a 2x2 grid, one channel, query and key 0, value x.  All scores are equal, so
    every output is the mean of x = 0, 1, 4, 9: exactly 3.5."""

    def setUp(self):
        super().setUp()
        write_tensors("msa.safetensors", {"x": ([1, 4, 1], [0, 1, 4, 9]), "w_qkv": ([3, 1], [0, 0, 1])})

    def succeeds(self, words, **settings):
        return super().succeeds(with_program(words), **settings)

    def fails(self, words, message, status=2, **settings):
        super().fails(with_program(words), message, status, **settings)

    def assert_same_bytes(self, a, b):
        self.assertTrue(read(a) == read(b), f"{a} and {b} differ")

    def assert_other_bytes(self, a, b):
        self.assertTrue(read(a) != read(b), f"{a} and {b} are the same")

    def start(self, words, **settings):
        """Start a program that the test stops, or whose output it reads from a terminal."""
        settings = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, **settings}
        return subprocess.Popen(suite.command(with_program(words)), **settings)

    def terminal(self):
        """Both ends of a new terminal."""
        try:
            return pty.openpty()
        except OSError as error:
            return self.skipTest(f"there is no terminal: {error.strerror}")     # a chroot without /dev/pts

    def run_on_terminal(self, words):
        """As run, with a terminal as the program's output."""
        out, (master, terminal) = b"", self.terminal()
        with self.start(words, stdout=terminal) as process:
            os.close(terminal)
            try:
                while more := os.read(master, 4096):
                    out += more
            except OSError:                         # the program has closed its end
                pass
            os.close(master)
            err = process.stderr.read()
        return suite.Result(process.returncode, out.decode(), err.decode())

    def says_and_is_stopped(self, words, text, **settings):
        """Kill the program as soon as its stderr contains the text."""
        said = b""
        with self.start(words, **settings) as process:
            while text.encode() not in said and (more := os.read(process.stderr.fileno(), 4096)):
                said += more
            process.kill()
        self.assertIn(text, said.decode(), words)


# ---- bad input

UNCOUNTED = "its size overflows"        # of larger tensors, with addresses of 32 bits

BAD = [
    ("", "found no command, expected list, help"),
    ("frobnicate", "command frobnicate: not known, expected list, help, version, apply, "),
    ("list all", "list: found 'all', expected nothing more"),
    ("help msa lisa", "help: found 'lisa'"),
    ("help nothing", "operator nothing: not known, expected one of msa, "),
    ("apply", "found no operator"),
    ("apply nothing --grid 4 msa.safetensors -o y.safetensors",
     "apply: operator nothing: not known, expected one of msa, "),
    ("parameters nothing --channels 4 -o y.safetensors",
     "parameters: operator nothing: not known, expected one of msa, "),
    ("measure nothing --grid 4 --channels 4", "operator nothing: not known, expected one of msa, "),
    ("apply msa --grid 2x2 msa.safetensors", "msa: option -o: missing"),
    ("apply msa --grid 2x2 msa.safetensors -o", "msa: option -o: found no value"),
    ("apply msa --grid 2x2 -o y.safetensors", "msa: input: missing"),
    ("apply msa --grid 2x2 msa.safetensors other -o y.safetensors", "second input 'other'"),
    ("apply msa --grid 2x2 msa.safetensors -o y.safetensors -o y.safetensors", "option -o: given twice"),
    ("apply msa --grid 2x2 --form cuba msa.safetensors -o y.safetensors",
     "form 'cuba': not known, expected one of naive, fast"),
    ("apply msa --grid=2x2 --form= msa.safetensors -o y.safetensors", "option --form: found '', expected a value"),
    ("apply hilo --grid=2x2 --pooled-queries=no msa.safetensors -o y.safetensors",
     "option --pooled-queries: found a value, expected none"),
    ("measure msa --grid 2x2 --channels 4 --form cuba", "form 'cuba': not known, expected one of naive, fast"),
    ("measure msa --grid 2x2 --channels 4 --form fast naive --keep y.safetensors",
     "option --keep: expected one form, one grid and one number of threads"),
    ("measure msa --grid 2x2 --channels 4 --form fast --judge cuba",
     "form 'cuba': not known, expected one of naive, fast"),
    ("apply msa --grid 2x2 --form fast --form fast msa.safetensors -o y.safetensors", "--form: given twice"),
    ("apply msa --grid 2x2 --form fast --device 0 msa.safetensors -o y.safetensors",
     "--device: found '0' beside --form fast, which runs on the processor"),
    ("apply msa --grid 2x2 --device host msa.safetensors -o y.safetensors",
     "--device: found 'host' beside --form fast"),
    ("apply msa --grid 2x2 --form cuda --device gpu msa.safetensors -o y.safetensors",
     "--device: found 'gpu', expected a number from 0, "
     "or host, host:sm_75, host:sm_80, host:sm_86, host:sm_90, host:sm_120"),
    ("apply msa --grid 2x2 --form cuda --device host:sm_61 msa.safetensors -o y.safetensors",
     "--device: found 'host:sm_61', expected a number from 0, or host, host:sm_75"),
    ("apply msa --grid 2x2 --form cuda --device host: msa.safetensors -o y.safetensors", "--device: found 'host:'"),
    ("apply msa --grid 2x2 --form cuda --device hosts msa.safetensors -o y.safetensors", "--device: found 'hosts'"),
    ("apply msa --grid 2x2 --form cuda99 --device host msa.safetensors -o y.safetensors",
     "form 'cuda99': not known, expected one of naive, fast, cuda1"),
    ("apply msa --grid 2x2 --form cuda --device 999 msa.safetensors -o y.safetensors",
     "form cuda: needs a CUDA device: "),
    ("apply msa --grid 2x2 --form cuda1 --device 999 msa.safetensors -o y.safetensors",
     "; apply --device host emulates one"),
    ("apply msa --grid 2x2 --form cuda-fp8 --device host msa.safetensors -o y.safetensors",
     "form 'cuda-fp8': not known"),
    ("apply msa --grid 2x2 --form cuda --device host --max-memory 64 msa.safetensors -o y.safetensors", "msa: needs "),
    ("measure msa --grid 2x2 --channels 4 --form cuda --device host",
     "--device: found 'host', expected a number: the time of an emulated device says nothing"),
    ("measure msa --grid 2x2 --channels 4 --form cuda --device host:sm_75",
     "--device: found 'host:sm_75', expected a number: the time of an emulated device says nothing"),
    ("measure msa --grid 2x2 --channels 4 --form cuda1 --device 999", "form cuda1: needs a CUDA device: "),
    ("measure msa --grid 2x2 --channels 4 --form fast --device 0",
     "--device: found '0', but no form that runs on a device"),
    ("apply msa --grid 2x2 --form", "--form: found no value"),
    ("apply msa --grid --heads 2 msa.safetensors -o y.safetensors", "msa: option --grid: found no value"),
    ("apply msa --grid 2x2 msa.safetensors -o --heads 2", "msa: option -o: found no value"),
    ("tokens --grid --channels 8 -o y.safetensors", "tokens: option --grid: found no value"),
    ("measure msa --form --grid 2x2 --channels 4", "option --form: found no value"),
    ("measure msa --grid --channels 4", "option --grid: found no value"),
    ("measure msa --channels --grid 2x2", "option --channels: found no value"),
    ("apply msa msa.safetensors -o y.safetensors", "--grid: missing"),
    ("apply msa --grid 2x3 msa.safetensors -o y.safetensors",
     "tensor x: found [1, 4, 1], expected [B, N, C] = [B, 6, C]"),
    ("apply msa --grid 2x2 --heads 2 msa.safetensors -o y.safetensors", "--heads: found 2"),
    ("apply msa --grid 2x2 --equation 4 msa.safetensors -o y.safetensors", "found '--equation'"),
    ("apply lisa --grid 2x2 msa.safetensors -o y.safetensors", "lisa: tensor wa: missing"),
    ("apply msa --grid 2x2 lie.safetensors -o y.safetensors", "msa: "),
    ("apply msa --grid 2x2 absent.safetensors -o y.safetensors", "msa: "),
    ("apply msa --grid 2x2 msa.safetensors -o msa.safetensors", "the input's own path"),
    ("apply msa --grid 2x2 msa.safetensors -o ./msa.safetensors", "the input's own path"),
    ("apply msa --grid 2x2 msa.safetensors -o twin.safetensors", "the input's own path"),
    ("tokens --grid 2x2 --channels 4 --images msa.safetensors -o ./msa.safetensors", "the input's own path"),
    ("parameters msa --grid 2x2 --channels 4 --images msa.safetensors -o twin.safetensors", "the input's own path"),
    ("network learned-lisa --random 1 --input msa.safetensors -o msa.safetensors", "the input's own path"),
    ("network learned-lisa --weights msa.safetensors -o twin.safetensors lie.safetensors", "the input's own path"),
    ("apply msa --grid 2x2 msa.safetensors -o absent/y.safetensors", "msa: "),
    ("tokens --grid 4x4 -o x.safetensors", "tokens: option --channels: missing"),
    ("tokens --grid 4x4 --channels 8 stray -o x.safetensors", "found 'stray'"),
    ("tokens --grid 4x4 --channels 8", "option -o: missing"),
    ("tokens --grid 4x4 --channels 8 --images absent.gz -o x.safetensors", "tokens: "),
    ("spectrum msa.safetensors -o z.safetensors", "spectrum: tensor y"),
    ("spectrum --batch 3 msa.safetensors -o z.safetensors", "spectrum: found '--batch'"),
    ("spectrum --form fast y.safetensors -o z.safetensors", "spectrum: found '--form'"),
    ("spectrum --max-memory 1G y.safetensors -o z.safetensors", "spectrum: found '--max-memory'"),
    ("resample", "resample: found no operator"),
    ("resample msa --from 2x2 --to 3x3 msa.safetensors -o z.safetensors", "msa: option --by: missing"),
    ("resample msa --from 2x2 --to 3 --by bicubic msa.safetensors -o z.safetensors",
     "msa: option --to: found 1 axes, expected 2 as --from has"),
    ("resample msa --from 2x2 --to 3x3 --by linear msa.safetensors -o z.safetensors",
     "option --by: found 'linear', expected one of zeros|spectrum|bicubic"),
    ("resample msa --grid 2x2 --from 2x2 --to 3x3 --by bicubic msa.safetensors -o z.safetensors",
     "msa: option --grid: found, expected --from and --to"),
    ("resample msa --from 2x2 --to 3x3 --by bicubic msa.safetensors -o z.safetensors",
     "msa: found no tensor with an entry for each token or offset"),
    ("resample mlp --from 2x2 --to 3x3 --by bicubic msa.safetensors -o z.safetensors", "mlp: tensor w_qkv: not of mlp"),
    ("resample msa --from 2x2 --to 3x3 --by bicubic msa.safetensors -o msa.safetensors", "the input's own path"),

    # Parameters and comparisons.
    ("parameters msa --grid 2x2 -o y.safetensors", "msa: option --channels: missing"),
    ("parameters msa --grid 2x2 --channels 4", "msa: option -o: missing"),
    ("parameters msa --channels 4 -o y.safetensors", "msa: option --grid: missing"),
    ("parameters msa --grid 2x2 --channels 5 --heads 2 -o y.safetensors", "msa: option --heads: found 2"),
    ("parameters chopd --grid 2x2 --channels 4 --sizes G=2 -o y.safetensors",
     "chopd: size R is not known, expected --sizes R=n,S=n,D=n"),
    ("measure chopd --grid 2x2 --channels 4 --sizes G=2", "chopd: size R is not known, expected --sizes R=n,S=n,D=n"),
    ("parameters fc --channels 4 --sizes M=3 -o y.safetensors", "fc: size N is not known, expected --sizes N=n,D=n"),
    ("parameters lisa --grid 2x2 --channels 4 --sizes D=0 -o y.safetensors", "--sizes: found 'D=0', expected a whole"),
    ("parameters lisa --grid 2x2 --channels 4 --sizes D -o y.safetensors", "--sizes: found 'D', expected LETTER=n"),
    ("parameters lisa --grid 2x2 --channels 4 --sizes D=4,Z=2 -o y.safetensors",
     "--sizes: found 'Z=2', expected LETTER"),
    ("parameters lisa --grid 2x2 --channels 4 --sizes D=4,D=5 -o y.safetensors",
     "--sizes: size D: found 5, expected 4"),
    ("parameters lisa --grid 2x2 --channels 4 --sizes D=4 --without wa -o y.safetensors",
     "--without: found 'wa', expected an optional tensor of lisa"),
    ("parameters msa --grid 2x2 --channels 4 msa.safetensors -o y.safetensors", "found 'msa.safetensors'"),
    ("parameters msa --grid 2x2 --channels 4 --max-memory 100 -o y.safetensors", "msa: needs "),
    ("parameters fc --channels 60000 --sizes M=60000,N=60000,D=60000 -o y.safetensors", "fc: "),
    ("compare", "compare: input: missing, expected A.safetensors"),
    ("compare msa.safetensors", "compare: input: missing, expected B.safetensors"),
    ("compare msa.safetensors twin.safetensors twin.safetensors", "third input 'twin.safetensors'"),
    ("compare msa.safetensors twin.safetensors -o y.safetensors", "found a third input"),
    ("compare msa.safetensors absent.safetensors", "compare: B: absent.safetensors cannot be opened"),
    ("compare lie.safetensors msa.safetensors", "compare: A: "),
    ("compare msa.safetensors twin.safetensors --tolerance -1", "--tolerance: found '-1'"),
    ("compare msa.safetensors twin.safetensors --floor -1", "--floor: found '-1'"),
    ("compare msa.safetensors vast.safetensors", "tensor x: found [1, 4, 1] in A, expected [1, 400000000, 1] as in B"),

    # Sizes that do not fit, and work that takes too long.
    ("apply msa --grid 2x2 --max-work 10 msa.safetensors -o y.safetensors",
     "msa: makes 44 multiply-adds, allowed are 10 (option --max-work)"),
    ("apply msa --grid 2x2 --max-work 0 msa.safetensors -o y.safetensors", "option --max-work: found '0'"),
    ("apply msa --grid 2x2 --max-work many msa.safetensors -o y.safetensors", "option --max-work: found 'many'"),
    ("apply msa --grid 2x2 --max-memory 1G --max-memory 1G msa.safetensors -o y.safetensors",
     "--max-memory: given twice"),
    ("apply msa --grid 2x2 --max-memory many msa.safetensors -o y.safetensors", "--max-memory: found 'many'"),
    ("apply msa --grid 2x2 --max-memory 1K msa.safetensors -o y.safetensors",
     "bytes of memory, allowed are 1024 (option"),
    ("apply msa --grid 2x2 --form naive --max-memory 64 msa.safetensors -o y.safetensors", "msa: needs "),
    ("apply msa --grid 400000000 --form naive vast.safetensors -o y.safetensors", "msa: needs "),
    ("apply msa --grid 20000x20000 --max-memory 2G vast.safetensors -o y.safetensors",
     "allowed are 2147483648 (option"),
    ("apply msa --grid 40000x50000 vast.safetensors -o y.safetensors", "--grid: grid too large"),
    ("tokens --grid 40000x50000 --channels 3 -o x.safetensors", "tokens: option --grid: grid too large"),
    ("tokens --grid 11000x11000 --channels 65536 --batch 60000 -o x.safetensors", "tokens: needs "),
    ("tokens --grid 64x64 --channels 64 --max-memory 1M -o x.safetensors",
     "bytes of memory, allowed are 1048576 (option"),
    ("parameters structsa --grid 1 --channels 1024 --kernel 16777215 --value-kernel 16777217 "
     "--sizes D=536870912 -o y.safetensors",
     UNCOUNTED if NARROW else "structsa: needs more than 18446744073709551615 bytes"),
    ("tokens --grid 8x8 --channels 8 --max-memory 1X -o x.safetensors", "--max-memory: found '1X'"),
    ("network litv2-s --depths 0,0,0,0 --random 1 no.png -o z.safetensors",
     "option --depths: found '0,0,0,0', expected 4 whole numbers from 1 to 65536"),
    ("tokens --grid 8x8 --channels 8 --max-memory= -o x.safetensors", "--max-memory: found '', expected a value"),
    ("tokens --grid 8x8 --channels 8 --images= -o x.safetensors", "--images: found '', expected a value"),
    ("network litv2-s no.png -o z.safetensors", "litv2-s: expected one of --weights FILE and --random SEED"),
    ("network litv2-s --weights msa.safetensors --random 1 no.png -o z.safetensors",
     "litv2-s: expected one of --weights FILE and --random SEED"),
    ("network litv2-s --random 1 --input msa.safetensors no.png -o z.safetensors",
     "litv2-s: found images beside --input, expected one or the other"),
    ("network litv2-s --random 1 --before block2 no.png -o z.safetensors",
     "litv2-s: option --before: found 'block2', expected the path of a step: from stage1.embed to head"),
    ("network litv2-s --random 1 --before head --stages no.png -o z.safetensors",
     "litv2-s: found --stages with --before, expected one or the other"),
    ("network litv2-s --random 1 -o z.safetensors", "litv2-s: input: missing, expected images, or --input"),
    ("network litv2-s --random 1 --input msa.safetensors -o z.safetensors",
     "litv2-s: --input: found 2 tensors, expected one, x"),
    ("network structvit-s-4-2-video --grid 4x32x32 --random 1 no.png no.png no.png -o z.safetensors",
     "structvit-s-4-2-video: found 3 images, expected a multiple of 4 frames"),
    ("network litv2-s --grid 64 --random 1 no.png -o z.safetensors",
     "option --grid: found '64', a grid of 1 axes, expected two, HxW, or three, TxHxW"),
    ("network litv2-s --depths 65536,65536,65536,65536 --random 1 --max-memory 64M no.png -o z.safetensors",
     "bytes of memory, allowed are 67108864 (option"),
    ("measure msa --grid 40000x50000 --channels 3", "msa: option --grid: grid too large"),
    ("measure msa --grid 11000x11000 --channels 1 --form naive", "measure: msa: needs "),
    ("measure msa --grid 11000x11000 --channels 1 --form naive --threads 1024",
     "needs more than 4294967295 bytes" if NARROW else "needs more than 18446744073709551615 bytes"),
    ("measure msa --grid 8x8 9x9 --channels 64 --max-memory 100K", "bytes of memory, allowed are 102400 (option"),
    ("measure msa --grid 8x8 --channels 1000000 --batch 1000", UNCOUNTED if NARROW else "measure: msa: needs "),
    ("measure lisa --grid 3000x3000 --channels 512 --sizes D=16 --max-memory 4G",
     UNCOUNTED if NARROW else "measure: lisa: needs "),
    ("measure structsa --grid 2000x2000 --kernel 31x31 --channels 512 --sizes D=16 --form naive", "structsa: needs "),
    ("measure elsa --grid 8x8 --channels 8 --kernel 16383 --max-memory 4G", "measure: elsa: needs "),
    ("measure fc --grid 100x100 --channels 512 --sizes D=512", UNCOUNTED if NARROW else "measure: fc: needs "),
    ("measure hilo --grid 8x8 --channels 8 --heads 2 --window 40000 --max-memory 4G", "measure: hilo: needs "),
]
BAD += [
    ("apply msa --grid 2x2 --form cuda-tf32 --device host msa.safetensors -o y.safetensors",
     "form 'cuda-tf32': not known, expected one of naive, fast, cuda1"),
] if DOUBLE else [
    ("apply msa --grid 2x2 --scale 1e39 msa.safetensors -o y.safetensors", "--scale: found '1e39', expected a finite"),
]


def write_vast_file(path):
    """4 10^8 tokens of one channel: a sparse file of zeros."""
    header = suite.raw_tensors('{"w_qkv":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]},'
                               '"x":{"dtype":"F32","shape":[1,400000000,1],"data_offsets":[12,1600000012]}}')
    write(path, header)
    os.truncate(path, len(header) + 1600000012)


class BadInput(Case):
    def test_bad_input_is_one_line_and_status_two(self):
        write("lie.safetensors", b"not a file of tensors")
        write_vast_file("vast.safetensors")
        os.link("msa.safetensors", "twin.safetensors")
        for words, message in BAD:
            with self.subTest(words):
                self.fails(words, message)

    # HiLo pads 5 x 7 tokens to one window of 1800 x 1800, whose attention costs 2 M s^2 hd = 8.4 10^13 multiply-adds.
    # That cannot be run here: a smaller limit shows what --max-work lifts, and measure is stopped after its message.
    HOURS = "measure hilo --grid 5x7 --heads 4 --alpha 0.5 --window 1800 --channels 8 --form fast --repeats 1"
    WARNING = "a run of 8.4e+13 multiply-adds may take hours"

    def test_work_of_hours_is_asked_about(self):
        hilo = "apply hilo --grid 5x7 --heads 4 --alpha 0.5 --window"
        self.succeeds("parameters hilo --grid 5x7 --heads 4 --alpha 0.5 --window 2 --channels 8 -o y.safetensors")
        for words, message in (
                (f"{hilo} 1800 y.safetensors -o z.safetensors",
                 "hilo: makes 8.4e+13 multiply-adds, allowed are 1e+13 (option --max-work)"),
                (f"{hilo} 1800 --max-work 8e13 y.safetensors -o z.safetensors", "allowed are 8e+13"),
                (f"{hilo} 160 --form cuda --device host y.safetensors -o z.safetensors",
                 "makes 5.25e+09 multiply-adds, allowed are 1e+09 (option --max-work)"),
                (f"{hilo} 160 --form cuda --device host:sm_75 y.safetensors -o z.safetensors",
                 "allowed are 1e+09 (option --max-work)"),
                ("apply msa --grid 2x2 --form cuda --device host --max-work 43 msa.safetensors -o z.safetensors",
                 "makes 44 multiply-adds, allowed are 43 (option --max-work)")):
            with self.subTest(words):
                self.fails(words, message)
        self.succeeds("apply msa --grid 2x2 --max-work 44 msa.safetensors -o z.safetensors")
        self.says_and_is_stopped(self.HOURS, self.WARNING + "\n", stdout=subprocess.DEVNULL)

    def test_on_a_terminal_work_of_hours_needs_yes(self):
        done = self.run_on_terminal(self.HOURS)
        self.assertEqual(done.status, 0, done.err)
        self.assertIn(f"left out, {self.WARNING}; --yes", done.err)
        master, terminal = self.terminal()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, terminal)
        self.says_and_is_stopped(self.HOURS + " --yes", self.WARNING + "\n", stdout=terminal)


# ---- output files

def limit_files():
    """Writing more than 4096 bytes to a file fails, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def leave_folder():
    """Make a folder, go there, and remove it."""
    os.mkdir("vanishing")
    os.chdir("vanishing")
    os.rmdir("../vanishing")


class Output(Case):
    STDBUF = "/usr/libexec/coreutils/libstdbuf.so"

    def setUp(self):
        super().setUp()
        inputs = os.getcwd()
        self.succeeds("parameters msa --grid 32x32 --channels 4 -o in.safetensors")
        write_tensors("map.safetensors", {"y": ([1, 32, 32, 4], [i % 7 for i in range(4096)])})
        # Every command that writes, without its output, of more than 4096 bytes.
        self.writers = [f"apply msa --grid 32x32 {inputs}/in.safetensors", f"spectrum {inputs}/map.safetensors",
                        "tokens --grid 32x32 --channels 4", "parameters msa --grid 32x32 --channels 4"]

    def test_no_output_is_half_written(self):
        """After an error the old file is as it was and no other is left.  If the output is a link, the file that it
        names is replaced."""
        places = (
            ("inner", "is a folder, expected a file", None, 2),
            ("pipe", "is no regular file", None, 2),
            ("/dev/full", "is no regular file", None, 2),
            ("dangling", "cannot be written: No such file", None, 2),
            ("loop", "cannot be written: Too many levels", None, 2),
            ("absent/y", "cannot be written: No such file", None, 2),
            ("old/y", "cannot be written: Not a directory", None, 2),
            ("y.safetensors", "No such file", leave_folder, 2),
            ("old", "cannot be written: File too large", limit_files, 1),
            ("new", "cannot be written: File too large", limit_files, 1))
        os.mkdir("inner")
        os.mkfifo("pipe")
        os.symlink("nowhere", "dangling")
        os.symlink("loop", "loop")
        os.symlink("y.safetensors", "link")
        write("old", b"old")
        for writer in self.writers:
            write("y.safetensors", b"old")
            for path, message, first, status in places:
                with self.subTest(writer=writer, path=path):
                    self.fails(f"{writer} -o {path}", message, status, preexec_fn=first)
                    self.assertEqual((read("old"), read("y.safetensors")), (b"old", b"old"))
            run(f"{writer} -o link")
            read_tensors("y.safetensors")
            self.assertTrue(os.path.islink("link"))

    def test_an_interrupted_command_leaves_nothing_beside(self):
        """The signal comes when the command syncs its temporary file.  What a killed command leaves, the next one
        removes."""
        if suite.WRAPPER or "ASAN_OPTIONS" in os.environ:
            self.skipTest("no other library may be loaded first")
        refusing = os.path.join(BUILD, "tests", "refusing.so")
        write("y.safetensors", b"old")
        before = sorted(os.listdir())
        for writer in self.writers:
            for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL:
                with self.subTest(writer=writer, signal=number):
                    write("y.safetensors", b"old")
                    done = run(f"{writer} -o y.safetensors",
                               env={**os.environ, "LD_PRELOAD": refusing, "SIGNAL_AT_FSYNC": str(int(number))})
                    self.assertEqual((done.status, read("y.safetensors")), (-number, b"old"), done.err)
                    left = len(os.listdir()) - len(before)
                    self.assertEqual(left, number == signal.SIGKILL)
            run(f"{writer} -o y.safetensors")
            read_tensors("y.safetensors")
            self.assertEqual(sorted(os.listdir()), before)

    def output_is_lost(self, **settings):
        """A message that cannot be printed is a failure."""
        write("y.safetensors", b"old")
        for words in f"{self.writers[2]} -o y.safetensors", "measure msa --grid 2x2 --channels 4 --repeats 1":
            with self.subTest(words), open("/dev/full", "wb") as full:
                done = run(words, stdout=full, **settings)
                self.assertEqual(done.status, 1, done.err)
                self.assertIn("standard output: cannot be written", done.err)

    def test_output_that_is_lost_is_a_failure(self):
        self.output_is_lost()

    def test_a_line_of_output_that_is_lost_is_a_failure(self):
        """Line buffering, as with stdbuf -oL: at exit nothing is left to write, and only the stream's error flag shows
        the loss."""
        if "ASAN_OPTIONS" in os.environ:
            self.skipTest("the sanitizers want to be loaded first")
        if not os.access(self.STDBUF, os.R_OK):
            self.skipTest(f"there is no {self.STDBUF}")
        self.output_is_lost(env={**os.environ, "_STDBUF_O": "L", "LD_PRELOAD": self.STDBUF})


# ---- what the commands compute and print

class Commands(Case):
    def test_apply_writes_y(self):
        """Fast is the default form: on 64 tokens of 12 channels its bytes differ from those of naive."""
        for words in (
                "apply msa --grid 2x2 msa.safetensors -o y.safetensors",
                "apply msa -o y.safetensors --form naive msa.safetensors --grid 4",
                "apply msa --window 2 --grid 2x2 -o y.safetensors --scale -3 --form fast msa.safetensors",
                "apply msa --grid 2x2 --form cuda --device host msa.safetensors -o y.safetensors",
                "apply msa --grid 2x2 --form=cuda1 --device=host msa.safetensors -o y.safetensors",
                "apply msa --grid 2x2 --form cuda --device host:sm_75 msa.safetensors -o y.safetensors",
                "apply msa --grid 2x2 --form cuda --device host:sm_120 msa.safetensors -o y.safetensors"):
            with self.subTest(words):
                self.succeeds(words)
                self.assertEqual(read_tensors("y.safetensors"), {"y": ([1, 4, 1], (3.5,) * 4)})
                os.remove("y.safetensors")
        self.succeeds("parameters msa --grid 8x8 --channels 12 -o w.safetensors")
        self.succeeds("apply msa --grid 8x8 w.safetensors -o x.safetensors")
        self.succeeds("apply msa --grid 8x8 --form fast w.safetensors -o y.safetensors")
        self.succeeds("apply msa --grid 8x8 --form naive w.safetensors -o z.safetensors")
        self.assert_same_bytes("x.safetensors", "y.safetensors")
        self.assert_other_bytes("x.safetensors", "z.safetensors")

    def test_a_value_may_stand_behind_an_equals_sign(self):
        self.succeeds("parameters msa --grid=2x2 --channels=4 --seed=1 -o any.safetensors")
        self.succeeds("parameters msa --grid 2x2 --channels 4 --seed 1 -o same.safetensors")
        self.succeeds("apply msa --grid=2x2 --form=naive --scale=-3 any.safetensors -o y.safetensors")
        self.succeeds("apply msa --grid 2x2 --form naive --scale -3 same.safetensors -o z.safetensors")
        self.succeeds("apply msa --grid 2x2 --form naive any.safetensors -o x.safetensors")
        self.assert_same_bytes("any.safetensors", "same.safetensors")
        self.assert_same_bytes("y.safetensors", "z.safetensors")
        self.assert_other_bytes("y.safetensors", "x.safetensors")
        done = run("measure msa --grid=4x4 --channels=4 --form=naive --repeats=1")
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("msa\tnaive\t4x4\t16\t4\t", done.out)

    def test_the_program_explains_itself(self):
        real = "double" if DOUBLE else "float"
        for words, answer in (
                ("list", "lisa       naive fast"), ("list", "msa        naive fast cuda1 cuda2"), ("list", " (host"),
                ("help apply", "--device N"), ("help msa", "[--device N]"), ("help", "usage: twicetold COMMAND"),
                ("--help", "usage: twicetold COMMAND"), ("-h", "usage: twicetold COMMAND"),
                ("list --help", "usage: twicetold COMMAND"),
                ("help lisa", "--equation 4|5|6|7|10"), ("help lisa", "[M, c, D]"),
                ("help apply", "twicetold apply OPERATOR"), ("apply --help", "twicetold apply OPERATOR"),
                ("apply lisa --grid 4 -h", "twicetold apply lisa --grid GRID"),
                ("parameters lisa --help", "twicetold parameters lisa --grid GRID --channels C"),
                ("help parameters", "[--without NAME,...]"),
                ("help compare", "[--tolerance T] [--floor VALUE] A.safetensors B.safetensors"),
                ("help tokens", "twicetold tokens --grid GRID --channels C"),
                ("tokens -h", "twicetold tokens --grid GRID"),
                ("help spectrum", "twicetold spectrum INPUT.safetensors -o OUTPUT.safetensors"),
                ("help resample", "twicetold resample OPERATOR --from GRID --to GRID --by zeros|spectrum|bicubic"),
                ("measure --help", "usage: measure"), ("measure lisa -h", "usage: measure"),
                ("help --man", "\n.SS network\n"), ("help --man", "\n.BI \\-\\-max\\-memory \" BYTES\"\n"),
                ("help --man", "\n.TP\n.B dfc\\-cp\n"), ("help --man", "\n.SH EXIT STATUS\n"),
                ("version", real), ("--version", "twicetold 1"), ("tokens --version", real),
                ("measure --version", "measure 1")):
            with self.subTest(words, answer=answer):
                self.assertIn(answer, self.succeeds(words), words)

    def operators(self):
        """{name: forms} of `list`."""
        lines = self.succeeds("list").split("\n\n")[0].splitlines()
        return {name: forms for name, *forms in (line.split(" (")[0].split() for line in lines)}

    def test_every_letter_is_defined(self):
        """help defines each letter of an operator's shapes once, and no other; no heading is empty."""
        for operator in self.operators():
            with self.subTest(operator):
                text = self.succeeds(f"help {operator}")
                above, below = text.split("\nletters\n")
                shapes = re.findall(r"^  \w+ +(\[.*\])", above.split("\ntensors that ")[1], re.M)
                letters = set(re.findall(r"[A-Za-z]+'?", " ".join(shapes).replace(" or ", " ")))
                defined = re.findall(r"^  (\S{1,3}) +\S", below, re.M)
                self.assertEqual(sorted(defined), sorted(letters), text)
                self.assertEqual(len(defined), below.count("\n"), below)
                self.assertNotIn("as the file has it", below)
                for following in re.findall(r"^options of .*\n(.{4})", text, re.M):
                    self.assertEqual(following, "  --", text)

    def test_the_shell_is_told_what_may_come_next(self):
        for words, offered, other in (
                ("complete a", "apply\n", "lisa"), ("complete apply l", "lisa\n", "tokens"),
                ("complete help l", "lisa\n", "--grid"), ("complete help --m", "--man\n", "--grid"),
                ("complete apply lisa --", "--equation\n", "--window"),
                ("complete apply lisa --equation 1", "10\n", "--grid"),
                ("complete apply lisa --equation=1", "10\n", "--grid"),
                ("complete apply lisa --form = n", "naive\n", "--grid"),
                ("complete parameters elsa --without g", "ghost_mul\n", "rk"),
                ("complete parameters chopd --sizes R", "R=\n", "--"),
                ("complete tokens --", "--images\n", "--equation"),
                ("complete compare --", "--tolerance\n", "-o"), ("complete compare --", "--floor\n", "-o"),
                ("complete resample lisa --by s", "spectrum\n", "--from"),
                ("complete apply msa --form c", "cuda\n", "--grid"),
                ("complete apply msa --device h", "host\n", "cuda")):
            with self.subTest(words):
                out = self.succeeds(words)
                self.assertIn(offered, out, words)
                self.assertNotIn(other, out, words)
        self.assertEqual(self.succeeds("complete apply lisa m"), "")

    def test_parameters_apply_and_compare_make_a_chain(self):
        for operator, forms in self.operators().items():
            with self.subTest(operator):
                self.chain(operator, forms)

    def chain(self, operator, forms):
        # Step 1: the required options, two heads, and sizes for the letters that are open.
        text = self.succeeds(f"help {operator}")
        values = {"GRID": "4x4", "KERNEL": "3x3"}
        options = "".join(f" --{name} {values.get(value, 3)}"
                          for name, value in re.findall(r"^  --(\S+) (\S+) +required", text, re.M))
        options += " --heads 2" if "[--heads N]" in text else ""
        draw, sizes = f"parameters {operator}{options} --channels 6 --batch 2", []
        while open_letter := re.search(r"size (\S+) is not known",
                                       run(f"{draw}{' --sizes ' if sizes else ''}{','.join(sizes)} -o w").err):
            sizes.append(f"{open_letter[1]}={len(sizes) + 2}")
        draw += f" --sizes {','.join(sizes)}" if sizes else ""

        # Step 2: inputs.  The same seed gives the same bytes with any number of threads.
        for more, path, threads in ("", "x", "1"), (" --seed=1", "y", "4"), (" --seed 2", "z", "1"):
            self.succeeds(f"{draw}{more} -o {path}", env={**os.environ, "OMP_NUM_THREADS": threads})
        self.assert_same_bytes("x", "y")
        self.assert_other_bytes("x", "z")
        done = run("compare x z")
        self.assertEqual(done.status, 1, done.err)
        for line in done.out.splitlines()[1:]:
            self.assertTrue(line.endswith("beyond"), f"the same with another seed: {line}")

        # Step 3: every form, and every kernel version emulated, against naive.  compare uses its own tolerance, or 64
        # times the rounding of the factors if a kernel version rounds them (test_promises.c).
        roundings = {"tf32": 2.0 ** -11, "bf16": 2.0 ** -8}
        self.assertEqual(forms[:2], ["naive", "fast"])
        self.succeeds(f"apply {operator}{options} --form naive x -o y")
        for form in forms[1:]:
            self.succeeds(f"apply {operator}{options} --form {form}"
                          f"{' --device host' if form.startswith('cuda') else ''} x -o z")
            rounding = roundings.get(form.rpartition("-")[2])
            self.succeeds(f"compare z y{f' --tolerance {64 * rounding}' if rounding else ''}")

    def test_tokens_are_of_the_images_that_were_asked_for(self):
        """The pixels of a patch are equal, so a channel is one factor times them: its tokens are the pixels,
        standardised, with one sign."""
        shades = [random.Random(image).choices(range(256), k=15) for image in range(6)]
        for more, patch, first in ("", 4, 0), (" --first 3", 4, 3), (" --patch 2", 2, 0), (" --first 5", 4, 5):
            with self.subTest(more):
                pixels = bytes(shades[image][y // patch * 5 + x // patch]
                               for image in range(6) for y in range(3 * patch) for x in range(5 * patch))
                write("shades", struct.pack(">IIII", 0x803, 6, 3 * patch, 5 * patch) + pixels)
                said = self.succeeds(f"tokens --grid 3x5 --channels 8 --batch 2 --images shades{more} -o x")
                self.assertRegex(said, rf"^images {first} \.\.\. .* of shades, mosaics of 1x1, {patch}x{patch} patches")
                (name, (shape, x)), = read_tensors("x").items()
                self.assertEqual((name, shape), ("x", [2, 15, 8]))
                for image in range(2):
                    seen = shades[(first + image) % 6]
                    mean = sum(seen) / 15
                    deviation = math.sqrt(sum((shade - mean) ** 2 for shade in seen) / 15)
                    for channel in range(8):
                        made = x[image * 120 + channel:(image + 1) * 120:8]
                        sign = math.copysign(1, made[0] * (seen[0] - mean))
                        expected = [sign * (shade - mean) / deviation for shade in seen]
                        self.assertLess(largest_difference(made, expected), 1024 * ROUNDOFF, f"channel {channel}")

    def test_tokens_depend_on_the_seed(self):
        """Of an image the seed makes the projection; without images, the noise."""
        write("shades", struct.pack(">IIII", 0x803, 1, 12, 20) + random.Random(1).randbytes(240))
        for images, origin in (" --images shades", "images 0 "), ("", "1/f noise of seed {}|^images 0 "):
            for more, path, seed in ("", "x", 1), (" --seed 1", "y", 1), (" --seed 5", "z", 5):
                out = self.succeeds(f"tokens --grid 3x5 --channels 8{images}{more} -o {path}")
                self.assertRegex(out, "^" + origin.format(seed))
            self.assert_same_bytes("x", "y")
            self.assert_other_bytes("x", "z")

    def test_spectrum_is_the_explicit_sum(self):
        """Two images of 6x5 pixels and two channels; tolerance: 2^10 roundings."""
        B, H, W, C = 2, 6, 5, 2
        noise = random.Random(1)
        y = [noise.gauss(0, 1) for _ in range(B * H * W * C)]
        expected = [0.0] * (C * H * W)
        for b in range(B):
            for c in range(C):
                for u in range(H):
                    for v in range(W):
                        term = sum(y[((b * H + i) * W + j) * C + c] * cmath.exp(-2j * math.pi * (u * i / H + v * j / W))
                                   for i in range(H) for j in range(W))
                        expected[(c * H + (u + H // 2) % H) * W + (v + W // 2) % W] += math.log(abs(term)) / B
        write_tensors("y.safetensors", {"y": ([B, H, W, C], y)})
        self.succeeds("spectrum y.safetensors -o z.safetensors")
        (_, (shape, made)), = read_tensors("z.safetensors").items()
        self.assertEqual(shape, [C, H, W])
        self.assertLess(largest_difference(made, expected), 1024 * ROUNDOFF)


# ---- resample

def cubic(line, size):
    """A line of numbers on another size, as F.interpolate(mode="bicubic") has it: a = -0.75, both ends repeated."""
    def weight(d):
        d, a = abs(d), -0.75
        return ((a + 2) * d - (a + 3)) * d * d + 1 if d <= 1 else ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    result = []
    for i in range(size):
        at = (i + 0.5) * len(line) / size - 0.5
        taps = [math.floor(at) + tap for tap in (-1, 0, 1, 2)]
        result.append(sum(weight(at - tap) * line[min(max(tap, 0), len(line) - 1)] for tap in taps))
    return result


def bicubic(plane, rows, columns):
    """A plane, row by row, on another grid."""
    wide = [cubic(row, columns) for row in plane]
    return list(zip(*(cubic(column, rows) for column in zip(*wide))))


def wave(rows, columns):
    """One period along each axis, whose sum with 1 everywhere is 1."""
    return [[(1 + math.cos(2 * math.pi * (i / rows + j / columns))) / (rows * columns) for j in range(columns)]
            for i in range(rows)]


def impulse(rows, columns):
    return [[float(i == j == 0) for j in range(columns)] for i in range(rows)]


class Resample(Case):
    def test_resample_fits_tensors_to_another_grid(self):
        """From 4x3 to 6x5: LiSA's kernels by both rules, an RPE, the ghost matrices [C, P] of msa, a position table.
        By zeros a wave becomes a wave, and by spectrum an impulse an impulse.  All other tensors are copied."""
        lisa = "lisa --grid 4x3 --heads 2 --channels 4 --sizes D=3"
        for made, command, tensor, outer, inner, expected in (
                (lisa, "lisa --heads 2 --by zeros", "wa", 1, 6, wave),
                (lisa, "lisa --by spectrum", "wb", 1, 3, impulse),
                ("lisa --grid 4x3 --equation 6 --channels 4 --sizes D=3", "lisa --equation 6 --by bicubic", "ea", 1, 12,
                 None),
                ("msa --grid 4x3 --channels 4 --lambda 1", "msa --by bicubic", "ghost_add", 4, 1, None),
                ("position --grid 4x3 --channels 5", "position --by bicubic", "table", 1, 5, None)):
            with self.subTest(command):
                self.succeeds(f"parameters {made} -o w.safetensors")
                before = read_tensors("w.safetensors")
                (rows, columns), (more_rows, more_columns) = ((7, 5), (11, 9)) if tensor in ("ea", "ghost_add") \
                    else ((4, 3), (6, 5))
                if expected:
                    plane = expected(rows, columns)
                    before[tensor] = before[tensor][0], [(i + 1) * value for row in plane for value in row
                                                         for i in range(inner)]
                    write_tensors("w.safetensors", before)
                self.succeeds(f"resample {command} --from 4x3 --to 6x5 w.safetensors -o z.safetensors")
                after = read_tensors("z.safetensors")
                self.assertEqual(list(after), list(before))
                for name, (shape, numbers) in after.items():
                    self.assertEqual(len(shape), len(before[name][0]), name)
                    if shape == before[name][0] and name != tensor:
                        self.assertEqual(numbers, tuple(before[name][1]), name)
                    self.assertTrue(name != "x" or shape == before[name][0])

                found, start = after[tensor][1], before[tensor][1]
                self.assertEqual(len(found), outer * more_rows * more_columns * inner)
                for at in range(outer * inner):
                    place = at // inner * rows * columns * inner + at % inner
                    plane = [start[place + r * columns * inner:place + (r + 1) * columns * inner:inner]
                             for r in range(rows)]
                    plane[-1] = plane[-1][:columns]
                    fitted = [[(at + 1) * value for value in row] for row in expected(more_rows, more_columns)] \
                        if expected else bicubic(plane, more_rows, more_columns)
                    place = at // inner * more_rows * more_columns * inner + at % inner
                    self.assertLess(largest_difference(
                        found[place:place + more_rows * more_columns * inner:inner][:more_rows * more_columns],
                        [value for row in fitted for value in row]), 16 * ROUNDOFF * max(map(abs, start)), command)

    def test_resample_rejects_other_rules_and_grids(self):
        for made, words, message in (
                ("position --grid 4x3 --channels 5", "resample position --from 4x3 --to 6x5 --by zeros",
                 "position: tensor table: found --by zeros, expected bicubic"),
                ("position --grid 4x3 --channels 5", "resample position --from 4x4 --to 6x5 --by bicubic",
                 "position: tensor table: found [12, 5], expected 16 entries along axis 1 of 2"),
                ("lisa --grid 4x3 --channels 4 --kernel 3x3 --sizes D=3",
                 "resample lisa --kernel 3x3 --from 4x3 --to 6x5 --by zeros",
                 "lisa: found no tensor with an entry for each token"),
                ("lisa --grid 4x3 --channels 4 --sizes D=3", "resample lisa --from 4x3 --to 6x5 --by bicubic",
                 "lisa: tensor wa: found --by bicubic, expected zeros or spectrum"),
                ("lisa --grid 4x3 --channels 4 --sizes D=3", "resample lisa --from 4x3 --to 4x2 --by zeros",
                 "lisa: tensor wa: found 2 tokens along axis 2 for 3, expected no fewer")):
            with self.subTest(words):
                self.succeeds(f"parameters {made} -o w.safetensors")
                self.fails(f"{words} w.safetensors -o z.safetensors", message)


# ---- compare

class Compare(Case):
    def test_compare_measures_against_b(self):
        """compare prints the largest and the root mean square difference over the root mean square of B: 1 and 0.5 for
        B = (3, 1, 1, 5), A with 6 in place of 3, sqrt(36/4) = 3.  Times `tiny`, B is smaller than rounding of ones."""
        tiny, small, root, more, usual = (2.0 ** -40, 2.0 ** -30, "2.7e-12", "2.8e-12", "        1e-10") if DOUBLE \
            else (2.0 ** -27, 2.0 ** -13, "2.2e-08", "2.3e-08", "       0.0001")
        nan, inf, zero, ones = math.nan, math.inf, (0, 0, 0, 0), (0, 1, 0, 0)
        a, b = (6, 1, 1, 5), (3, 1, 1, 5)
        tiny_a, tiny_b, small_a, small_b, much_a, much_b, little_a, little_b = (
            [scale * value for value in values] for scale in (tiny, small, 1e37, 1e-37) for values in (a, b))
        for first, second, options, line, status in (
                (a, b, " --tolerance 1", "1          0.5            1\n", 0),
                (a, b, " --tolerance 0.999", "1          0.5        0.999  beyond\n", 1),
                (a, b, "", "  beyond\n", 1),
                (b, b, " --tolerance 0", "0            0            0\n", 0),
                (zero, zero, " --tolerance 0", "0            0            0\n", 0),
                (ones, zero, " --tolerance 1e300", "inf          inf", 1),
                ((nan, 1, 1, 5), b, " --tolerance 1e300", "beyond", 1),
                (b, (3, 1, nan, 5), " --tolerance 1e300", "beyond", 1),
                ((nan, 1, 1, 5), (nan, 1, 1, 5), " --tolerance 1e300", "beyond", 1),
                ((inf, 1, 1, 5), (inf, 1, 1, 5), " --tolerance 1e300", "beyond", 1),
                (tiny_a, tiny_b, "",
                 f"1          0.5{usual}  beyond; B is {root}: if its terms cancel, allow a --floor\n", 1),
                (tiny_a, tiny_b, f" --floor {root}", f"1          0.5{usual}  beyond; B is {root}", 1),
                (tiny_a, tiny_b, f" --floor {more}", f"1          0.5{usual}  below the floor\n", 0),
                (tiny_a, tiny_b, f" --tolerance 1 --floor {more}", "1          0.5            1\n", 0),
                (small_a, small_b, "", "  beyond\n", 1),
                (a, b, " --floor 2.9", "  beyond\n", 1),
                (a, b, " --floor 3", "  below the floor\n", 0),
                (ones, zero, " --floor 1", "  below the floor\n", 0),
                (ones, zero, " --floor 0.9", "  beyond; B is 0: if its terms cancel", 1),
                ((nan, 1, 1, 5), b, " --floor 1e300", "  beyond\n", 1),
                (b, (3, 1, nan, 5), " --floor 1e300", "  beyond\n", 1),
                ((inf, 1, 1, 5), (inf, 1, 1, 5), " --floor 1e300", "  beyond\n", 1),
                (much_a, much_b, " --tolerance 1.0001", "1          0.5", 0),
                (little_a, little_b, " --tolerance 1.0001", "1          0.5", 0)):
            with self.subTest(a=first, b=second, options=options):
                write_tensors("a", {"t": ([4], first)})
                write_tensors("b", {"t": ([4], second)})
                done = run(f"compare a b{options}")
                self.assertEqual(done.status, status, f"{first} {second}{options}: {done.out}{done.err}")
                self.assertIn(line, done.out)

    def test_compare_reads_long_tensors_in_pieces(self):
        """9000 ones, the last of A a two: differences of 1 and of sqrt(1 / 9000)."""
        write_tensors("a", {"t": ([9000], [1] * 8999 + [2])})
        write_tensors("b", {"t": ([9000], [1] * 9000)})
        self.assertIn("           1       0.0105            1\n", self.succeeds("compare a b --tolerance 1"))

    def test_compare_finds_tensors_by_name(self):
        """Control characters in a name must not reach the terminal."""
        def write_named(path, *names):
            write_tensors(path, {name: ([1], [1 + ord(name[0])]) for name in names})

        write_named("a", "a\x1b[31m\n", "b", "c")
        write_named("b", "b", "a\x1b[31m\n", "c")
        self.assertIn("a?[31m?                     0            0", self.succeeds("compare a b"))
        write_named("b", "b", "a", "c")
        self.assertIn("tensor a: in B and not in A", self.error_of("compare a b"))
        write_named("b", "b", "c")
        self.assertIn("tensor a?[31m?: in A and not in B", self.error_of("compare a b"))

    def error_of(self, words):
        done = run(words)
        self.assertEqual(done.status, 2, words)
        return done.err

    def test_compare_sees_what_float_does_not(self):
        """Both builds compare F64 as double: 1e-9 in one of four ones exceeds the 1e-10 allowed to two files of F64."""
        write_tensors("a", {"t": ([4], [1, 1, 1, 1 + 1e-9])}, "F64")
        write_tensors("b", {"t": ([4], [1, 1, 1, 1])}, "F64")
        done = run("compare a b")
        self.assertEqual(done.status, 1, done.err)
        self.assertIn("1e-09        5e-10        1e-10  beyond", done.out)
        self.succeeds("compare a b --tolerance 1e-4")


# ---- measure

class Measure(Case):
    MEASURED = "measure msa --grid 8x8 --channels 4 --form naive --repeats 1"

    def test_measure_leaves_out_what_does_not_fit(self):
        done = run("measure msa --grid 8x8 64x64 256x256 --channels 8 --form naive fast --repeats 1 --max-memory 6M")
        self.assertEqual(done.status, 0, done.err)
        for message in "naive 64x64, 1 thread: left out: needs ", "msa 256x256: left out: needs ":
            self.assertIn(message, done.err)
        for row in "msa\tnaive\t8x8", "msa\tfast\t8x8", "msa\tfast\t64x64":
            self.assertIn(row, done.out)
        for row in "naive\t64x64", "256x256":
            self.assertNotIn(row, done.out)

    def test_measure_does_as_its_options_say(self):
        """No run takes less than 1e-300 s, and no thousand runs take 10^6 s."""
        two, three = "fast\t2x2\t4\t4\t1\t1\t1\t", "fast\t3x3\t9\t4\t1\t1\t1\t"
        for options, rows, message, other in (
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
                 [f"{form}\t2x2\t4\t4\t1\t1\t{threads}\t2\t" for form in ("naive", "fast") for threads in (1, 2)],
                 "2 threads: beside naive: agrees to ", "hours")):
            with self.subTest(options):
                done = run(f"measure msa --channels 4 {options}")
                self.assertEqual(done.status, 0, done.err)
                for row in rows:
                    self.assertIn(row, done.out, options)
                self.assertEqual(done.out.count("\nmsa\t"), len(rows), done.out)
                self.assertIn(message, done.err, options)
                self.assertNotIn(other, done.err, options)

    def test_measure_keeps_what_it_timed(self):
        """The file's last tensor, y, is to the bit what apply makes of the others."""
        done = run("measure msa --grid 3x4 --channels 8 --form fast --repeats 20 --keep kept.safetensors")
        self.assertEqual(done.status, 0, done.err)
        kept = read_tensors("kept.safetensors")
        self.assertGreater(len(kept), 2)
        name, (_, expected) = kept.popitem()
        write_tensors("x.safetensors", kept)
        self.succeeds("apply msa --grid 3x4 x.safetensors -o y.safetensors")
        made = read_tensors("y.safetensors")["y"][1]
        self.assertEqual((name, len(made)), ("y", 12 * 8))
        self.assertEqual(made, expected)

    def test_measure_prints_columns_of_tabs(self):
        done = run(self.MEASURED)
        self.assertEqual(done.status, 0, done.err)
        self.assertIn("#operator\tform\tgrid", done.out)

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

Step = collections.namedtuple("Step", "path stage move operator options")

# A small network, of images or of video.  `pictures` make two inputs; `covered` pixels are what an edge is scaled to.
Little = collections.namedtuple("Little", "name grid depths widths heads pictures covered")
LITTLE = (Little("litv2-s", "32x32", [1, 1, 2, 1], [6, 12, 24, 48], [1, 2, 4, 4], 2, 36),
          Little("structvit-b-4-1-video", "2x32x32", [1, 1, 1, 1], [4, 6, 8, 20], [1, 1, 2, 4], 4, 36),
          Little("elsa-swin-t", "64x64", [1, 1, 1, 1], [6, 12, 24, 48], [1, 2, 4, 4], 2, 71))


def words_of(little, more):
    depths, widths, heads = (",".join(map(str, numbers)) for numbers in (little.depths, little.widths, little.heads))
    return (f"network {little.name} --grid {little.grid} --classes 7 --depths {depths} --widths {widths} "
            f"--heads {heads} --threads 1 {more}")


def noise(seed, count):
    numbers = random.Random(seed)
    return [numbers.gauss(0, 1) for _ in range(count)]


def write_png(path, height, width, pixels):
    """Write a PNG file of bytes: red, green and blue of each pixel, row by row."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + pixels[3 * width * y:3 * width * (y + 1)] for y in range(height))
    write(path, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
          + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Networks(Case):
    def steps(self, little):
        """The steps of a network, as help lists them, in the order in which they run."""
        steps = []
        parts = re.split(r"\nstage \d.*\n|\nthe end\n", self.succeeds(f"help {little.name}"))[1:]
        for stage, part in enumerate(parts):
            entry, *block = part.split("  and ")
            before = f"stage{stage + 1}." if block else ""
            for path, text in (before, entry), *((f"{before}block{n + 1}.", "".join(block))
                                                 for n in range(little.depths[stage] if block else 0)):
                for name, move, operator, options in re.findall(
                        r"^    (\w+) +([xh] \+?= f\([xh]\)) +(\S+)(.*)$", text, re.M):
                    steps.append(Step(path + name, min(stage, 3), move, operator, options))
        return steps

    def write_input(self, little, images):
        tokens = math.prod(map(int, little.grid.split("x")))
        write_tensors("x", {"x": ([images, tokens, 3], noise(7, images * tokens * 3))})

    def write_before(self, little, step):
        """Write `before`: the input of a step and its parameters, which are returned."""
        self.succeeds(words_of(little, f"--random 3 --before {step.path} --input x -o before"))
        return read_tensors("before")

    def apply_words(self, little, step, tokens):
        """The command that applies a step to the file `before`.  After the first step a video has one frame."""
        C, h = little.widths[step.stage], little.heads[step.stage]
        options = re.split(r" with(?:out)? ", step.options)[0]
        for letter, value in ("%C", C), ("%h", h), ("%s", 1 / math.sqrt(C / h)), ("%K", 7):
            options = options.replace(letter, str(value))
        side = math.isqrt(tokens)
        grid = little.grid if step.path == "stage1.embed" else f"{'1x' if little.grid.count('x') == 2 else ''}{side}x{side}"
        at = f" --grid {grid}" if "--grid GRID" in self.succeeds(f"help {step.operator}") else ""
        return f"apply {step.operator}{at}{options} before -o y"

    def test_networks_run_on_pixels_of_a_file(self):
        pixels, words = 28 * 28, "network learned-lisa --random 1 --threads 1 --input x -o z"
        values = [random.Random(7).randint(-2, 2) for _ in range(2 * pixels)]
        values[pixels:] = reversed(noise(8, pixels))
        logits = []
        for numbers in values[:pixels], values[pixels:], values:
            images = len(numbers) // pixels
            write_tensors("x", {"x": ([images, pixels, 1], numbers)})
            self.succeeds(words)
            made = read_tensors("z")
            self.assertEqual((list(made), made["logits"][0]), (["logits"], [images, 10]))
            logits.append(made["logits"][1])
        self.assertNotEqual(logits[0], logits[1])
        self.assertEqual(logits[0] + logits[1], logits[2])
        os.remove("z")
        for tokens, channels in (pixels - 1, 1), (pixels, 3), (pixels // 2, 2):
            write_tensors("x", {"x": ([1, tokens, channels], [0] * (tokens * channels))})
            self.fails(words, f"tensor x: found [1, {tokens}, {channels}], expected [B, 784, 1], the pixels of the grid")

    def test_a_network_takes_its_weights_from_a_file(self):
        """The weights are the parameters of all steps.  The first of them, one in the middle and the last are renamed."""
        little = LITTLE[0]
        self.write_input(little, 1)
        weights = {f"{step.path}.{name}": tensor for step in self.steps(little)
                   for name, tensor in self.write_before(little, step).items() if name != "x"}
        write_tensors("w", weights)
        self.succeeds(words_of(little, "--random 3 --input x -o y"))
        self.succeeds(words_of(little, "--weights w --input x -o z"))
        self.assert_same_bytes("y", "z")
        self.succeeds(words_of(little, "--random 4 --input x -o z"))
        self.assert_other_bytes("y", "z")
        os.remove("z")
        for index in 0, (len(weights) - 1) // 2, len(weights) - 1:
            name = list(weights)[index]
            write_tensors("w", {"nobody" if key == name else key: tensor for key, tensor in weights.items()})
            self.fails(words_of(little, "--weights w --input x -o z"), f"{little.name}: w: tensor {name}: missing")

    def test_before_a_step_its_input_and_parameters_are_written(self):
        """Runs the steps one by one, with apply on what --before writes.  Their outputs are the inputs of the next
        steps, the outputs of the stages and the logits, to the bit."""
        for little in LITTLE:
            with self.subTest(little.name):
                self.step_by_step(little)

    def step_by_step(self, little):
        self.write_input(little, 2)
        self.succeeds(words_of(little, "--random 3 --stages --input x -o z"))
        outputs, steps = read_tensors("z"), self.steps(little)
        self.assertEqual(list(outputs), ["logits", "stage1", "stage2", "stage3", "stage4"])
        held = {"x": read_tensors("x")["x"][1], "h": None}
        for step, following in zip(steps, [*steps[1:], None]):
            tensors = self.write_before(little, step)
            (batch, tokens, _), found = tensors["x"]
            target, source = step.move[0], step.move[-2]
            self.assertEqual(batch, 2)
            self.assertTrue(found == held[source], step.path)
            self.succeeds(self.apply_words(little, step, tokens), env={**os.environ, "OMP_NUM_THREADS": "1"})
            y = read_tensors("y")["y"][1]
            letter = suite.REAL
            held[target] = struct.unpack(f"<{len(y)}{letter}", struct.pack(f"<{len(y)}{letter}", *(
                a + b for a, b in zip(held["x"], y, strict=True)))) if "+=" in step.move else y
            if following and following.path.split(".")[0] != step.path.split(".")[0] and step.path.startswith("stage"):
                self.assertTrue(outputs[step.path.split(".")[0]][1] == held["x"], step.path)
        self.assertEqual(outputs["logits"], ([2, 7], held["x"]))

    def test_a_network_sees_its_pictures_in_order(self):
        for little in LITTLE:
            with self.subTest(little.name):
                self.see_pictures(little)

    def see_pictures(self, little):
        """Pictures are as high as they are scaled to, so that only their middle is taken and normalised."""
        *frames, H, W = map(int, little.grid.split("x"))
        height, width = little.covered, little.covered + 8
        colours = ((0.485, 0.229), (0.456, 0.224), (0.406, 0.225))
        top, left, expected = (height - H) // 2, (width - W) // 2, []
        for p in range(little.pictures):
            pixels = random.Random(p).randbytes(3 * height * width)
            write_png(f"{p}.png", height, width, pixels)
            expected += [(pixels[3 * ((top + i) * width + left + j) + c] / 255 - mean) / deviation
                         for i in range(H) for j in range(W) for c, (mean, deviation) in enumerate(colours)]
        half = little.pictures // 2
        names = [f"{p}.png" for p in range(little.pictures)]
        pictures, swapped = " ".join(names), " ".join(names[half:] + names[:half])
        self.succeeds(words_of(little, f"--random 3 --before stage1.embed -o before {pictures}"))
        shape, x = read_tensors("before")["x"]
        self.assertEqual(shape, [2, math.prod(frames) * H * W, 3])
        self.assertLess(largest_difference(x, expected), 16 * ROUNDOFF)

        # Step 1: stages.
        write_tensors("x", {"x": (shape, x)})
        self.assertEqual(self.succeeds(words_of(little, f"--random 3 --stages -o y {pictures}")), "")
        self.assertEqual(self.succeeds(words_of(little, f"--random 3 --stages -o w {swapped}")), "")
        self.succeeds(words_of(little, "--random 3 --stages --input x -o z"))
        self.assert_same_bytes("y", "z")
        made, others = read_tensors("y"), read_tensors("w")
        self.assertEqual({name: shape for name, (shape, _) in made.items()}, {
            "logits": [2, 7], **{f"stage{i + 1}": [2, H * W >> 2 * (i + 2), little.widths[i]] for i in range(4)}})
        for name, (shape, numbers) in made.items():
            middle = len(numbers) // 2
            self.assertNotEqual(numbers[:middle], numbers[middle:], name)
            self.assertTrue(others[name] == (shape, numbers[middle:] + numbers[:middle]), name)

        # Step 2: logits alone, and a profile.
        for more in "", " --profile":
            out = self.succeeds(words_of(little, f"--random 3{more} -o y {pictures}"))
            self.assertEqual(read_tensors("y"), {"logits": made["logits"]})
            self.assertEqual(bool(out), bool(more))

    def test_a_profile_has_every_kind_of_step(self):
        """Steps are counted by help, and their multiply-adds by apply, with three digits each.  Times are only checked
        to be numbers."""
        little, units = LITTLE[0], {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
        self.write_input(little, 2)
        counts, costs = collections.Counter({"x + f": 0}), collections.Counter()
        for step in self.steps(little):
            (_, tokens, _), _ = self.write_before(little, step)["x"]
            error = run(self.apply_words(little, step, tokens) + " --max-work 1").err
            for kind in step.operator, "all":
                counts[kind] += 1
                costs[kind] += float(re.search(r"makes (\S+) multiply-adds", error)[1])
        head, *lines = self.succeeds(words_of(little, "--random 3 --profile --input x -o y")).splitlines()
        self.assertTrue(head.startswith("step "), head)
        self.assertEqual(len(lines), len(counts))
        self.assertTrue(lines[-1].startswith("all "), lines[-1])
        for line in lines:
            kind, steps, cost, unit = re.match(
                r"(.{10}) +(\d+)  +\S+ \S+ +\S+ %  +([\d.]+) ?(\w?) +\S+ %  ", line).groups()
            kind = kind.rstrip()
            self.assertEqual(int(steps), counts.pop(kind, None), line)
            self.assertAlmostEqual(float(cost) * units[unit], costs[kind], delta=0.005 * costs[kind], msg=line)
            self.assertNotIn("nan", line)

    def test_a_profile_costs_what_help_says(self):
        write_tensors("x", {"x": ([1, 784, 1], [0] * 784)})
        cost, = re.findall(r"\), (\S+ \w) multiply-adds", self.succeeds("help learned-lisa"))
        last = self.succeeds("network learned-lisa --random 1 --profile --input x -o y").splitlines()[-1]
        self.assertIn(f" {cost} ", last)


# ---- figures

class Figures(Case):
    # Arguments of the programs and the scripts that need some.
    ARGUMENTS = {
        "figures/chopd-boxes": "0.001 5 7",
        "figures/chopd-pooling": "planes fractional 14 4 2 1 1",
        "figures/network-seconds": "lisanet-i-t fast 32x32 1 1 1",
        "figures/cuda": "msa --grid 3x3 --channels 4",
        "figures/ladder": "lisa --grid 3x4 --channels 4 --sizes D=2 --threads 2 --repeats 2",
        "figures/roofline": "0.001 1048576",
        "figures/networks-profile": "1 lisanet-i-t fast",
        "ground-error": "49 7 49 64", "lisa-border": "8x6", "lisa-error": "49 7x7 12x12", "chopd-error": "14",
        "chopd-rank": "2 1 2 5", "networks-accuracy": "100"}

    def numbers(self, words, done):
        """How many numbers the program of a figure has printed, all of them finite."""
        self.assertEqual(done.status, 0, f"{words}: {done.err}")
        count = 0
        for line in done.out.splitlines():
            for field in [] if line.startswith("#") else line.split():
                try:
                    number = float(field)
                except ValueError:
                    continue
                self.assertTrue(math.isfinite(number), f"{words} prints {field}")
                count += 1
        return count

    def test_figures_are_computed(self):
        programs = sorted(os.path.basename(path)[:-2] for path in glob.glob(f"{TREE}/figures/*.c"))
        self.assertIn("measure", programs)
        for name in programs:
            if name in ("measure", "judge"):
                continue
            with self.subTest(name):
                words = f"figures/{name} {self.ARGUMENTS.get('figures/' + name, '')}"
                count = self.numbers(words, run(words))
                self.assertTrue(count > 0 or name == "machine", f"{words} prints no number")


class FiguresOfFloat(Figures):
    test_figures_are_computed = None

    def run_script(self, script, *words):
        """Run a script of figures/; its libraries are those of this build."""
        done = subprocess.run([*self.python, f"{TREE}/figures/{script}", *words], env={**os.environ, "BUILD": BUILD},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=suite.SECONDS)
        return suite.Result(done.returncode, done.stdout, done.stderr)

    def test_maps_are_computed(self):
        """Every figure that a script lists when it is given no name; an argument more is an error."""
        self.python = shlex.split(os.environ.get("PYTHON") or sys.executable)
        if subprocess.run([*self.python, "-c", "import numpy"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("NumPy is missing")
        for script, least in ("maps.py", 14), ("network_maps.py", 9):
            done = self.run_script(script)
            self.assertEqual((done.status, done.err.count("\n"), done.err[-1:]), (2, 1, "\n"), done.err)
            names = done.err.partition("expected one of: ")[2].split()
            self.assertGreaterEqual(len(names), least, done.err)
            for name in names:
                with self.subTest(name):
                    words = [name, *self.ARGUMENTS.get(name, "").split()]
                    self.assertGreater(self.numbers(name, self.run_script(script, *words)), 0, f"{name} prints no number")
                    done = self.run_script(script, *words, "none")
                    self.assertEqual((done.status, done.out, done.err.count("\n"), done.err[-1:]), (2, "", 1, "\n"),
                                     f"{name}: {done.err}")

    def test_drawn_counts_are_those_of_the_kernels(self):
        """Counts every line of figures/[a-z]*-cuda.tsv again; no kernel version may be missing there.  First versions
        would take a minute.  tests/cuda/counts.tsv has the counts at other sizes, first versions included
        (test_cuda_counts.c)."""
        lines = versions = 0
        for path in sorted(glob.glob(f"{TREE}/figures/[a-z]*-cuda.tsv")):
            counted = ""
            for line in read(path).decode().splitlines(keepends=True):
                if line.startswith("# counted: "):
                    counted = self.succeeds(f"figures/cuda {line[11:]} --from 2")
                    versions += counted.count("\tcuda")
                elif not line.startswith("#") and "\tcuda1\t" not in line:
                    self.assertIn(line, counted, path)
                    lines += 1
        self.assertEqual(lines, versions)
        self.assertGreaterEqual(lines, 24)


if DOUBLE:
    del FiguresOfFloat

if __name__ == "__main__":
    suite.main()
