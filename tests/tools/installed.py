#!/usr/bin/env python3
"""Tests of the installed library; the exit status is the result, 77 if there is no suitable Python.

    BUILD=... installed.py QUESTION float32|float64

Installs into a temporary folder under $BUILD.  FLAGS are the compiler's, for a sanitized library.  Questions that have
no function here are those of tests/installed/check.py, which needs NumPy; `rename` needs PyTorch.
"""

import os
import re
import subprocess
import sys
import tempfile

TOP, BUILD = os.getcwd(), os.path.abspath(os.environ["BUILD"])
CC, FLAGS = os.environ.get("CC") or "cc", os.environ.get("FLAGS", "").split()
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
LIBRARIES = ("twicetold", "twicetold-double")

HEADER_ALONE = """
#include <twicetold/twicetold.h>
#include <memory.h>
#include <string.h>
int main(void) { return twicetold_operator(0) ? (int)strlen("") : 0; }
"""
LOOP = """
int loop(void)
{
    int sum = 0;
    _Pragma("omp parallel reduction(+ : sum)")
    sum += 1;
    return sum;
}
"""
# README's lines install the existing build, and link it as it was built.
README_SHELL = """
make() {
    test "$1" = install && (cd "$TOP" &&
        sh reference/program/install.sh "$BUILD" "" "${2#PREFIX=}" 1.0 "$PYTHON")
}
cc() { command "$CC" $FLAGS "$@"; }
python3() { command "$PYTHON" "$@"; }
"""


class Failure(Exception):
    pass


def require(right, message):
    if not right:
        raise Failure(message)


def run(words, **more):
    """The output of a command, which has to succeed."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    require(done.returncode == 0, f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def find_python(*modules):
    """The first Python that imports these modules, or None."""
    for python in filter(None, (os.environ.get("PYTHON"), "/usr/bin/python3", "python3")):
        try:
            if subprocess.run([python, "-c", "import " + ",".join(modules)], stderr=subprocess.DEVNULL).returncode == 0:
                return python
        except OSError:
            pass
    return None


def need_python(*modules):
    return find_python(*modules) or sys.exit(77)


def install(prefix, destination="", python=None):
    python = python or find_python("numpy") or "python3"
    return run(["sh", "reference/program/install.sh", BUILD, destination, prefix, "1.0", python], cwd=TOP)


def readme(with_python):
    """Lines of code of README under "Use it as a library": those with python3, or the others."""
    with open(TOP + "/README.md") as f:
        section = re.search(r"^## Use it as a library\n(.*?)(?=^## |\Z)", f.read(), re.M | re.S)[1]
    lines = re.findall(r"^    (.*)", section, re.M)
    return "\n".join(line for line in lines if ("python3" in line) == with_python)


def small_distance(said):
    """The distance that program.c prints is small, and not 0."""
    require(0 < float(said.split()[4]) < 5e-3, "program.c: " + said)
    print(said, end="")


# ---- questions

def names(scratch):
    install("/usr", scratch + "/staged")
    usr = scratch + "/staged/usr"
    headers = [f"{folder}/{file}" for folder, _, files in os.walk(usr + "/include") for file in files]
    require(headers == [usr + "/include/twicetold/twicetold.h"], f"headers: {headers}")
    with open(usr + "/share/man/man1/twicetold.1") as f:
        require(f.read().startswith(".TH TWICETOLD 1"), "the manual page does not start with its title")
    for name in LIBRARIES:
        with open(f"{usr}/lib/pkgconfig/{name}.pc") as f:
            require(scratch not in f.read(), f"{name}.pc knows where it was staged")
        prefix = name.replace("-", "_") + "_"
        for file, kind in (f"{usr}/lib/lib{name}.a", "-g"), (f"{usr}/lib/lib{name}.so.1", "-D"):
            found = [line.split()[2] for line in run(["nm", kind, "--defined-only", file]).split("\n")
                     if len(line.split()) == 3]
            require(prefix + "plan_run" in found, f"{file}: no {prefix}plan_run")
            others = [each for each in found if not each.startswith(prefix)]
            require(not others, f"{file}: these names have not its prefix: {' '.join(others)}")
        require(os.readlink(f"{usr}/lib/lib{name}.so") == f"lib{name}.so.1", f"lib{name}.so: leads elsewhere")
    for language in ("c", "c++"):
        run([*CC.split(), *WARNINGS, f"-I{usr}/include", "-x", language, "-fsyntax-only", "-"], input=HEADER_ALONE)


def readme_lines(scratch):
    os.symlink(TOP + "/tests/installed/program.c", scratch + "/program.c")
    settings = {"TOP": TOP, "CC": CC, "PYTHON": find_python("numpy") or "python3"}
    said = run(["sh", "-ec", README_SHELL + readme(False)], cwd=scratch, env={**os.environ, **settings})
    small_distance(said.rstrip("\n").split("\n")[-1] + "\n")


def static_too(scratch):
    install(scratch + "/here")
    settings = {"PKG_CONFIG_PATH": scratch + "/here/lib/pkgconfig"}
    words = run(["pkg-config", "--static", "--cflags", "--libs", *LIBRARIES], env={**os.environ, **settings}).split()
    words = [re.sub(r"^-l(twicetold[a-z-]*)", r"-l:lib\1.a", word) for word in words]
    program = scratch + "/program"
    run([*CC.split(), *FLAGS, TOP + "/tests/installed/program.c", *words, "-o", program])
    require("twicetold" not in run(["ldd", program]), "a shared library was linked")
    small_distance(run([program]))


def python_line(scratch):
    """README's Python line with the installed module."""
    python = need_python("numpy")
    found = re.search(r"PYTHONPATH=(.*)", install(os.environ["HOME"] + "/.local", python=python))
    settings = {"PYTHON": python, "PAGER": "cat", **({"PYTHONPATH": found[1]} if found else {})}
    said = run(["sh", "-ec", README_SHELL + readme(True)], cwd=scratch, env={**os.environ, **settings})
    require("w_qkv [3C, C]" in said, "README's line: " + said)


def sudo_said(scratch):
    """depend.sh with programs that only print their names, on a machine without packages."""
    os.mkdir(scratch + "/bin")
    for name in ("apt-get", "apt-cache", "dpkg-query", "sudo", "id"):
        with open(f"{scratch}/bin/{name}", "w") as f:
            f.write("#!/bin/sh\n" + ("echo 1000\n" if name == "id" else f'echo "called: {name} $*"\n'))
        os.chmod(f"{scratch}/bin/{name}", 0o755)
    settings = {**os.environ, "PATH": f"{scratch}/bin:{os.environ['PATH']}"}
    said = subprocess.run(["sh", "reference/program/depend.sh", "install"], env=settings, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    calls = [at.start() for at in re.finditer("called: sudo", said)]
    told = re.search(r"^installing.*by sudo apt-get -y:", said, re.M)
    require(calls and told and told.start() < calls[0], "depend.sh calls sudo before it names it: " + said)
    asked = run(["make", "-s", "help"], env={**os.environ, "MAKEFLAGS": ""})
    require(re.search("^make deps .*sudo", asked, re.M), "make help: deps does not name sudo")


def rename(scratch):
    sys.exit(subprocess.run([need_python("torch"), "tests/pytorch/_check_rename.py", scratch]).returncode)


def check(scratch, question, precision):
    """A question of check.py.  Bits of a product depend on the threads that BLAS sees, and clang's OpenMP is not that
    of NumPy's BLAS."""
    settings = {"TWICETOLD_LIBRARY": BUILD + "/lib", "PYTHONPATH": TOP + "/reference/library", "SCRATCH": scratch}
    if question in ("agree", "wheel"):
        settings["OMP_NUM_THREADS"] = "1"
    if question in ("faults", "fork"):
        settings["OMP_NUM_THREADS"] = "2"
    if question == "faults":
        settings["LD_PRELOAD"] = BUILD + ("" if precision == "float32" else "/double") + "/tests/refusing.so"
    if question == "fork":
        run([*CC.split(), "-fopenmp", "-fPIC", "-shared", "-x", "c", "-", "-o", scratch + "/loop.so"], input=LOOP)
    python = need_python(*(["numpy", "torch"] if question == "lazy" else ["numpy"]))
    sys.exit(subprocess.run([python, "tests/installed/check.py", question, precision],
                            env={**os.environ, **settings}).returncode)


def main(question, precision):
    os.environ.pop("TWICETOLD_LIBRARY", None)
    with tempfile.TemporaryDirectory(prefix="installed-", dir=BUILD) as scratch:
        os.mkdir(scratch + "/home")
        os.environ.update(OMP_WAIT_POLICY="passive", HOME=scratch + "/home", PYTHONDONTWRITEBYTECODE="1", BUILD=BUILD)
        asked = {each.__name__: each for each in (names, readme_lines, static_too, python_line, sudo_said, rename)}
        try:
            if question in asked:
                asked[question](scratch)
            else:
                check(scratch, question, precision)
        except Failure as failure:
            sys.exit(str(failure))


if __name__ == "__main__":
    main(*sys.argv[1:])
