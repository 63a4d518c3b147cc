#!/usr/bin/env python3
"""Run libFuzzer on the targets of fuzz.h.

    [RUNS=20000] [TARGET=forms] [SEED=1] fuzz.py BUILD      run BUILD/fuzzer and BUILD/double/fuzzer

RUNS is the number of executions of `forms` in each precision; TARGETS has multiples for the others.  BUILD/corpus keeps
inputs that reach new code, BUILD/finds inputs that find a defect.  A run with SEED is reproducible: it starts from
tests/fuzz, with one thread and without the operands of comparisons, which may be addresses.  Each run adds a line to
BUILD/runs.tsv: target, precision, seconds, executions, edges reached.  The exit status is 0 if nothing is found.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

# Target, precision, executions per run of RUNS, largest input in bytes.
TARGETS = [("safetensors", "float", 20, 4096), ("images", "float", 8, 4096), ("command", "float", 8, 2048),
           ("forms", "float", 1, 200), ("forms", "double", 1, 200)]


def write_words(path):
    """Write the dictionary: words.dict and all names in declarations."""
    names = set()
    for file in glob.glob("reference/**/*.[ch]", recursive=True) + glob.glob("naive/*.[ch]") \
            + glob.glob("fast/**/*.[ch]", recursive=True):
        with open(file) as f:
            names.update(re.findall(r'\.name = "([a-z-]+)"', f.read()))
    with open("tests/fuzz/words.dict") as f, open(path, "w") as out:
        out.write(f.read())
        out.writelines(f'"\\x0a{name}"\n"\\x0a--{name}"\n' for name in sorted(names))


def run(build, corpus, target, precision, runs, most, seed):
    """Run one target; return true if nothing was found."""
    program = build + ("/double" if precision == "double" else "") + "/fuzzer"
    finds, log = f"{build}/finds/{target}-{precision}-", f"{build}/{target}-{precision}.log"
    os.makedirs(f"{corpus}/{target}", exist_ok=True)
    for old in glob.glob(finds + "*"):
        os.remove(old)
    with open(log, "w") as out:
        status = subprocess.run(
            [program, *(["-use_cmp=0"] if seed else []), f"-runs={runs}", f"-max_len={most}", "-timeout=60",
             "-rss_limit_mb=3000", f"-dict={build}/words.dict", f"-artifact_prefix={finds}", "-print_final_stats=1",
             f"-seed={seed or 0}", f"{corpus}/{target}", f"tests/fuzz/{target}"],
            env={**os.environ, "TARGET": target}, stdin=subprocess.DEVNULL, stdout=out, stderr=out).returncode
    with open(log, errors="replace") as f:
        said = f.read()

    def last(pattern):
        return (["0"] + re.findall(pattern, said, re.M))[-1]
    seconds, edges = last(r"^Done \d+ runs in (\d+) second"), last(r" cov: (\d+) ")
    executions = last(r"^stat::number_of_executed_units: *(\d+)")
    with open(build + "/runs.tsv", "a") as f:
        print(target, precision, seconds, executions, edges, sep="\t", file=f)
    print(f"{target}, {precision}: {executions} executions, {edges} edges", flush=True)
    if status:
        print(*[line for line in said.rstrip("\n").split("\n") if not re.match("#|INFO", line)][-40:], sep="\n")
        print("found:", *glob.glob(finds + "*"))
        print(f"    again: TARGET={target} {program} FILE", flush=True)
    return status == 0


def fuzz(build):
    wanted, seed, runs = os.environ.get("TARGET"), os.environ.get("SEED"), int(os.environ.get("RUNS") or 20000)
    if wanted and wanted not in [row[0] for row in TARGETS]:
        print(f"TARGET: found '{wanted}', expected one of safetensors, images, command, forms", file=sys.stderr)
        sys.exit(2)
    corpus = build + "/corpus"
    if seed:
        corpus = build + "/seeded"
        shutil.rmtree(corpus, ignore_errors=True)
        os.environ["OMP_THREAD_LIMIT"] = "1"
    os.environ.update(ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1", UBSAN_OPTIONS="print_stacktrace=1")
    os.makedirs(build + "/finds", exist_ok=True)
    write_words(build + "/words.dict")
    found = [run(build, corpus, target, precision, runs * times, most, seed)
             for target, precision, times, most in TARGETS if target == (wanted or target)]
    return not all(found)


if __name__ == "__main__":
    for name, value in ("OMP_NUM_THREADS", "2"), ("OMP_WAIT_POLICY", "passive"):
        os.environ[name] = os.environ.get(name) or value
    sys.exit(fuzz(sys.argv[1]))
