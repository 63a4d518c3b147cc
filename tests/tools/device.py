#!/usr/bin/env python3
"""Test and time the kernels on a GPU, in nine minutes.

    [BUILD=build] [BUDGET=540] device.py OUTPUT

Writes into the folder OUTPUT:

    device.txt      the device, its driver, the toolkit
    proofs.txt      every CUDA version against naive, in float and in double
    memcheck.txt, racecheck.txt, synccheck.txt
                    the same in float under compute-sanitizer, if it is installed
    OPERATOR.tsv    measure: every CUDA version, with and without copies, and fast

Uses the first of CUDA_VISIBLE_DEVICES.  Cuts short parts that exceed the rest of BUDGET seconds.  The exit status is 0
if nothing failed, also without a device.
"""

import os
import re
import shutil
import subprocess
import sys
import time

BUILD, BUDGET = os.environ.get("BUILD") or "build", float(os.environ.get("BUDGET") or 540)
CASE = "every version, on the device"
TIMED = [
    "msa --grid 14x14 28x28 56x56 --channels 192 --heads 6 --batch 8",
    "lisa --grid 14x14 28x28 56x56 --channels 192 --heads 6 --batch 8 --sizes D=16",
    "structsa --grid 14x14 28x28 --channels 192 --heads 6 --batch 8 --kernel 3x3 --sizes D=16",
    "elsa --grid 14x14 28x28 56x56 --channels 192 --heads 6 --batch 8 --kernel 7",
    "sra --grid 16x16 32x32 64x64 --channels 192 --heads 6 --batch 8 --reduction 2",
    "hilo --grid 14x14 28x28 56x56 --channels 192 --heads 6 --batch 8",
    "fc --grid 14x14 --channels 32 --batch 8 --sizes N=196,D=32",
    "dfc-cp --grid 14x14 28x28 --channels 192 --batch 8 --sizes N=196,R=96,D=192",
    "chopd --grid 14x14 28x28 56x56 --channels 192 --batch 8 --sizes R=192,S=8,D=192,G=4",
]
BEGUN = time.monotonic()
CUT_SHORT = 124     # exit status of timeout


def left():
    return BUDGET - time.monotonic() + BEGUN


def said(*words):
    """The output of a command, "" if it cannot be started."""
    try:
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    except OSError:
        return ""


def within(seconds, words, out, err=subprocess.STDOUT, **settings):
    """Run a command for at most `seconds`, within the time left; return its exit status."""
    most = min(seconds, left())
    if most <= 0:
        return CUT_SHORT
    settings = {**os.environ, **settings}
    return subprocess.run(["timeout", str(most), *words], stdout=out, stderr=err, env=settings).returncode


def report(file, status, what):
    """Print the result of a part; return true if it failed."""
    print(f"  passed: {what}" if status == 0 else f"  cut short: {what}" if status == CUT_SHORT
          else f"  FAILED: {what} ({file})", flush=True)
    if status == CUT_SHORT:
        with open(file, "a") as f:
            print("cut short", file=f)
    return status not in (0, CUT_SHORT)


def describe(output):
    """Write device.txt and return its first line, the device; exit if none can be used."""
    if not os.path.exists(BUILD + "/libtwicetold-cuda.so"):
        print(f"skipped: no plug-in: {BUILD} was built without CUDA")
        sys.exit(0)
    if "device)" not in said(BUILD + "/twicetold", "list"):
        print("skipped: no CUDA device")
        sys.exit(0)
    words = [BUILD + "/measure", *"msa --form cuda1 --device 0 --grid 4 --channels 4 --repeats 1".split()]
    tried = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    found = re.search(r"^measure: on (.*)", tried, re.M)
    if not found:
        sys.exit("the device cannot be used")
    with open(output + "/device.txt", "w") as f:
        f.write(found[1] + "\n")
        facts = "name,driver_version,memory.total,clocks.max.sm,power.limit"
        f.write(said("nvidia-smi", "--query-gpu=" + facts, "--format=csv"))
        f.write("".join(said("nvcc", "--version").splitlines(True)[-2:]))
    print(found[1], flush=True)
    return found[1]


def test(output):
    """Every CUDA version against naive; return the number of failures."""
    failed, file = 0, output + "/proofs.txt"
    open(file, "w").close()
    for folder in (BUILD, BUILD + "/double"):
        program = folder + "/tests/cuda/test_cuda"
        with open(file, "a") as out:
            status = within(60, [program], out, CK_RUN_CASE=CASE)
        with open(file) as f:
            status = 1 if re.search("^skipped", f.read(), re.M) else status
        failed += report(file, status, program + " on the device")
    if not shutil.which("compute-sanitizer"):
        print("  skipped: compute-sanitizer is not installed")
        return failed
    for tool in ("memcheck", "racecheck", "synccheck"):
        file, program = f"{output}/{tool}.txt", BUILD + "/tests/cuda/test_cuda"
        with open(file, "w") as out:
            status = within(60, ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", program], out,
                            CK_FORK="no", CK_RUN_CASE=CASE)
        failed += report(file, status, "compute-sanitizer --tool " + tool)
    return failed


def time_operator(output, device, operator, words):
    """Time every CUDA version of an operator, and fast; return true if that failed."""
    versions = re.findall(rf"^{operator} .*", said(BUILD + "/twicetold", "list"), re.M)
    versions = re.findall(r"\bcuda\S*", versions[0]) if versions else []
    if not versions:
        print(f"  skipped: {operator} has no CUDA version")
        return False
    file, log = f"{output}/{operator}.tsv", f"{output}/{operator}.log"
    with open(file + ".new", "w") as out, open(log, "w") as err:
        print("#", device, file=out, flush=True)
        status = within(26, [BUILD + "/measure", operator, "--form", "fast", *versions, "--device", "0", "--threads",
                             str(os.cpu_count()), "--seconds", "0.4", "--max-seconds", "1", *words], out, err)
    os.replace(file + ".new", file)
    with open(file) as f:
        rows = sum(not line.startswith("#") for line in f)
    return report(log, status, f"measure {operator}: {rows} rows")


def main(output):
    os.makedirs(output, exist_ok=True)
    os.environ["OMP_WAIT_POLICY"] = "passive"
    device = describe(output)
    failed = test(output)
    for operator, *words in map(str.split, TIMED):
        failed += time_operator(output, device, operator, words)
    print(f"{failed} failed, {left():.0f} of {BUDGET:.0f} seconds left; written to {output}")
    return failed > 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("device: expected a folder to write to", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1]))
