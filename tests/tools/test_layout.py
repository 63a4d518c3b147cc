"""test_layout.py -- which folder may include which; a file belongs to the innermost folder of MAY_INCLUDE"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from support import suite

CONTRACTS, RUNTIME, IO = "reference", "reference/runtime", "reference/io"
NETWORKS, CLI, LIBRARY = "reference/networks", "reference/cli", "reference/library"
LISA_CIRCLES = "fast/circulant.h", "fast/tuned/lisa/fft.h"

# The folders and single files that a folder may include besides itself.  naive and fast never include each other.
MAY_INCLUDE = {
    CONTRACTS: (RUNTIME,),
    RUNTIME: (),
    IO: (RUNTIME,),
    NETWORKS: (CONTRACTS, RUNTIME, IO, "fast/tuned/packed_linear.h", "fast/tuned/gelu.h", "fast/tuned/activations.h"),
    CLI: (CONTRACTS, RUNTIME, IO, NETWORKS, "fast/cuda", "reference/library/describe.h"),
    LIBRARY: (CONTRACTS, RUNTIME, IO, NETWORKS),
    "naive": (CONTRACTS, RUNTIME),
    "fast": (CONTRACTS, RUNTIME),
    "fast/cuda": (CONTRACTS, RUNTIME, *LISA_CIRCLES),
}
EVERYTHING = CONTRACTS, RUNTIME, IO, NETWORKS, CLI, LIBRARY, "naive", "fast", "fast/cuda"
MAY_INCLUDE |= {"figures": EVERYTHING, "tests": (*EVERYTHING, "figures")}

FILES = {os.path.relpath(os.path.join(folder, name), suite.TREE)
         for top in ("reference", "naive", "fast", "tests", "figures")
         for folder, _, names in os.walk(os.path.join(suite.TREE, top))
         for name in names if name.endswith((".c", ".h", ".cc", ".cu"))}


def text_of(path):
    with open(os.path.join(suite.TREE, path)) as f:
        return f.read()


INCLUDES = {file: [os.path.normpath(os.path.join(os.path.dirname(file), path))
                   for path in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text_of(file), re.M)] for file in FILES}


def folder_of(file):
    return max((folder for folder in MAY_INCLUDE if file.startswith(folder + "/")), key=len)


def module_of(file):
    """A header and its source are one module.  emulator.h and requests.h are parts of device.h."""
    return re.sub(r"^fast/cuda/(emulator|requests)$", "fast/cuda/device", os.path.splitext(file)[0])


class Layout(unittest.TestCase):
    def test_every_include_is_found(self):
        self.assertGreater(sum(map(len, INCLUDES.values())), 500)
        self.assertEqual([(file, path) for file in FILES for path in INCLUDES[file] if path not in FILES], [])

    def test_folders_include_what_they_may(self):
        def may(file, path):
            folder = folder_of(file)
            return {folder_of(path), path} & {folder, *MAY_INCLUDE[folder]}

        self.assertEqual([(file, path) for file in FILES for path in INCLUDES[file]
                          if path in FILES and not may(file, path)], [])

    def test_no_includes_form_a_circle(self):
        """Remove modules that include none or that none includes until nothing changes: only circles stay."""
        left = {module_of(file): set() for file in FILES}
        for file in FILES:
            left[module_of(file)] |= {module_of(path) for path in INCLUDES[file]} - {module_of(file)}
        while ends := left.keys() - ({m for m in left if left[m] & left.keys()} & set().union(*left.values())):
            left = {module: left[module] - ends for module in left.keys() - ends}
        self.assertEqual(left, {})

    def test_reference_holds_contracts_alone(self):
        for file in os.scandir(os.path.join(suite.TREE, "reference")):
            if file.is_file():
                header = os.path.splitext(f"reference/{file.name}")[0] + ".h"
                contract = header in FILES and "extern const struct declaration " in text_of(header)
                self.assertTrue(contract, file.name)


class Runner(unittest.TestCase):
    def test_nvcc_is_found_and_gets_each_architecture(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/nvcc", "w") as f:
                f.write('#!/bin/sh\n[ $1 = --list-gpu-arch ] && echo compute_80 compute_90 || { echo "$@"; exit 1; }\n')
            os.chmod(folder + "/nvcc", 0o755)
            settings = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
            settings["PATH"] = folder + ":" + settings["PATH"]
            said = subprocess.run(["make", "-n", "all", f"BUILD={folder}/build"], cwd=suite.TREE, env=settings, text=True,
                                  stdout=subprocess.PIPE, check=True).stdout
        tried = re.search("^built without CUDA: (.*)", said, re.M)
        self.assertIn(" -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90"
                      " -gencode arch=compute_90,code=compute_90 ", tried[1] if tried else said[-200:])
        self.assertIn(" -shared ", tried[1])

    def test_run_says_what_was_proved(self):
        """A form that a failed test compared is not counted; a reason to skip is printed with its count."""
        compared = "    --grid 7, {}, 1 thread       error  0.0e+00 of  1.5e-05 allowed"
        said = ["msa --grid 7", compared.format("naive"), "ok 1 - a: Passed", "sra", compared.format("plain"),
                "not ok 2 - b: Failed", "skipped: no device", "ok 3 - c: Passed", "66%: Checks: 3, Failures: 1, Errors: 0"]
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/test_some", "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\ncat <<END\n" + "\n".join(said) + "\nEND\nexit 1\n")
            os.chmod(folder + "/test_some", 0o755)
            done = subprocess.run([sys.executable, suite.TREE + "/tests/tools/run.py", folder + "/test_some"],
                                  env=os.environ | {"BUILD": folder, "TAP": folder + "/tap", "RUN": ""},
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.splitlines()[-3:], [
            "proved, float: 1 forms of 1 operators agree within derived bounds (naive)",
            "skipped, 1: no device", "1 passed, 1 failed, 1 skipped"])


if __name__ == "__main__":
    suite.main()
