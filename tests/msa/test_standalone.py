"""test_standalone.py -- naive/standalone.c compiles alone and equals the naive form of msa"""
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path[0] += "/.."                       # tests/
from support import suite
from support.suite import TREE, WRAPPER, read, read_tensors, write_tensors

N, H, C = 4, 2, 8
WARNINGS = "-Wall -Wextra -Wpedantic -Werror"


def numbers(count, step):
    """The numbers that fill() of standalone.c writes."""
    return [(step * n % 11 - 5) / 8 for n in range(count)]


class Standalone(suite.Case):
    def compiled(self):
        """Compile a copy of the file in an empty folder, with the command in its first comment; return its output."""
        os.mkdir("naive")
        source = shutil.copy(TREE + "/naive/standalone.c", "naive")
        line = re.search(r"^ \* +cc (.*)$", read(source).decode(), re.M)[1]
        words = [*shlex.split(os.environ.get("CC") or "cc"), *WARNINGS.split(), *line.split()]
        for command in words, [*WRAPPER, "./standalone"]:
            done = subprocess.run(command, capture_output=True, text=True, timeout=suite.SECONDS)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def test_standalone_is_the_naive_form(self):
        """It prints what `apply msa --form naive` computes from the same numbers.

        Tolerance: half a unit of the fourth decimal printed, and 21 roundings of float.  The numbers are multiples of
        1/8 and sqrt(c) is 2, so queries, keys, values and scores are exact.  The softmax rounds 8 times, the mean N and
        the projection C + 1, each relative to at most 5: a row of |w_o| sums to at most 3, |v| < 1.4, |b_o| < 0.7.
        With these steps the test detects an error of one unit in any printed number."""
        x = numbers(N * C, 10)
        x[-C:] = x[:C]
        tensors = {"x": ([1, N, C], x), "w_qkv": ([3 * C, C], numbers(3 * C * C, 5)),
                   "b_qkv": ([3 * C], numbers(3 * C, 9)), "w_o": ([C, C], numbers(C * C, 6)),
                   "b_o": ([C], numbers(C, 3))}
        write_tensors("in", tensors)
        self.succeeds(f"apply msa --grid 2x2 --heads {H} --form naive in -o out")
        expected = read_tensors("out")["y"][1]

        rows = [row.split() for row in self.compiled().splitlines()]
        self.assertEqual([row[0] for row in rows], [f"y_{i}" for i in range(N)])
        printed = [float(word) for row in rows for word in row[1:]]
        tolerance = 0.5e-4 + 21 * 5 * 2 ** -24
        for found, right in zip(printed, expected, strict=True):
            self.assertLessEqual(abs(found - right), tolerance)


if __name__ == "__main__":
    suite.main()
