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
CC, FLAGS = (os.environ.get("CC") or "cc").split(), os.environ.get("FLAGS", "").split()
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


def require(right, message):
    if not right:
        sys.exit(message)


def run(words, settings=None, **more):
    """The output of a command, which has to succeed; `settings` are added to its environment."""
    done = subprocess.run(words, env={**os.environ, **(settings or {})}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    require(done.returncode == 0, f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def read(path):
    with open(path) as f:
        return f.read()


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


def any_python():
    return find_python("numpy") or "python3"


def install(prefix, destination="", python=None):
    return run(["sh", "reference/program/install.sh", BUILD, destination, prefix, "1.0", python or any_python()])


def run_readme(scratch, python, settings):
    """Run the lines of README's "Use it as a library": those with python3 if `python`, or the others."""
    section = re.search(r"^## Use it as a library\n(.*?)(?=^## |\Z)", read("README.md"), re.M | re.S)[1]
    lines = [line for line in re.findall(r"^    (.*)", section, re.M) if ("python3" in line) == python]
    return run(["sh", "-ec", "\n".join([README_SHELL, *lines])], {"TOP": TOP, **settings}, cwd=scratch)


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
    require(read(usr + "/share/man/man1/twicetold.1").startswith(".TH TWICETOLD 1"),
            "the manual page does not start with its title")
    for name in LIBRARIES:
        require(scratch not in read(f"{usr}/lib/pkgconfig/{name}.pc"), f"{name}.pc knows where it was staged")
        prefix = name.replace("-", "_") + "_"
        for file, kind in (f"{usr}/lib/lib{name}.a", "-g"), (f"{usr}/lib/lib{name}.so.1", "-D"):
            found = re.findall(r"^\S+ \S+ (\S+)$", run(["nm", kind, "--defined-only", file]), re.M)
            require(prefix + "plan_run" in found, f"{file}: no {prefix}plan_run")
            others = [each for each in found if not each.startswith(prefix)]
            require(not others, f"{file}: these names have not its prefix: {' '.join(others)}")
        require(os.readlink(f"{usr}/lib/lib{name}.so") == f"lib{name}.so.1", f"lib{name}.so: leads elsewhere")
    for language in ("c", "c++"):
        run([*CC, *WARNINGS, f"-I{usr}/include", "-x", language, "-fsyntax-only", "-"], input=HEADER_ALONE)


def readme_lines(scratch):
    os.symlink(TOP + "/tests/installed/program.c", scratch + "/program.c")
    said = run_readme(scratch, False, {"CC": " ".join(CC), "PYTHON": any_python()})
    small_distance(said.rstrip("\n").split("\n")[-1] + "\n")


def static_too(scratch):
    install(scratch + "/here")
    words = run(["pkg-config", "--static", "--cflags", "--libs", *LIBRARIES],
                {"PKG_CONFIG_PATH": scratch + "/here/lib/pkgconfig"}).split()
    words = [re.sub(r"^-l(twicetold[a-z-]*)", r"-l:lib\1.a", word) for word in words]
    program = scratch + "/program"
    run([*CC, *FLAGS, "tests/installed/program.c", *words, "-o", program])
    require("twicetold" not in run(["ldd", program]), "a shared library was linked")
    small_distance(run([program]))


def python_line(scratch):
    """README's Python line with the installed module."""
    python = need_python("numpy")
    found = re.search(r"PYTHONPATH=(.*)", install(os.environ["HOME"] + "/.local", python=python))
    path = {"PYTHONPATH": found[1]} if found else {}
    said = run_readme(scratch, True, {"PYTHON": python, "PAGER": "cat", **path})
    require("w_qkv [3C, C]" in said, "README's line: " + said)


def sudo_said(scratch):
    """depend.sh with programs that only print their names, on a machine without packages."""
    os.mkdir(scratch + "/bin")
    for name in ("apt-get", "apt-cache", "dpkg-query", "sudo", "id"):
        with open(f"{scratch}/bin/{name}", "w") as f:
            f.write("#!/bin/sh\n" + ("echo 1000\n" if name == "id" else f'echo "called: {name} $*"\n'))
        os.chmod(f"{scratch}/bin/{name}", 0o755)
    said = run(["sh", "-c", "sh reference/program/depend.sh install </dev/null || :"],
               {"PATH": f"{scratch}/bin:{os.environ['PATH']}"})
    calls = [at.start() for at in re.finditer("called: sudo", said)]
    told = re.search(r"^installing.*by sudo apt-get -y:", said, re.M)
    require(calls and told and told.start() < calls[0], "depend.sh calls sudo before it names it: " + said)
    asked = run(["make", "-s", "help"], {"MAKEFLAGS": ""})
    require(re.search("^make deps .*sudo", asked, re.M), "make help: deps does not name sudo")


def rename(scratch):
    sys.exit(subprocess.run([need_python("torch"), "tests/pytorch/_check_rename.py", scratch]).returncode)


def check(scratch, question, precision):
    """A question of check.py.  Bits of a product depend on the threads that BLAS sees, and clang's OpenMP is not that
    of NumPy's BLAS."""
    settings = {"TWICETOLD_LIBRARY": BUILD + "/lib", "PYTHONPATH": TOP + "/reference/library", "SCRATCH": scratch}
    threads = {"agree": "1", "wheel": "1", "faults": "2", "fork": "2"}
    if question in threads:
        settings["OMP_NUM_THREADS"] = threads[question]
    if question == "faults":
        settings["LD_PRELOAD"] = BUILD + ("" if precision == "float32" else "/double") + "/tests/refusing.so"
    if question == "fork":
        run([*CC, "-fopenmp", "-fPIC", "-shared", "-x", "c", "-", "-o", scratch + "/loop.so"], input=LOOP)
    python = need_python(*(["numpy", "torch"] if question == "lazy" else ["numpy"]))
    sys.exit(subprocess.run([python, "tests/installed/check.py", question, precision],
                            env={**os.environ, **settings}).returncode)


QUESTIONS = {each.__name__: each for each in (names, readme_lines, static_too, python_line, sudo_said, rename)}


def main(question, precision):
    os.environ.pop("TWICETOLD_LIBRARY", None)
    with tempfile.TemporaryDirectory(prefix="installed-", dir=BUILD) as scratch:
        os.mkdir(scratch + "/home")
        os.environ.update(OMP_WAIT_POLICY="passive", HOME=scratch + "/home", PYTHONDONTWRITEBYTECODE="1", BUILD=BUILD)
        if question in QUESTIONS:
            QUESTIONS[question](scratch)
        else:
            check(scratch, question, precision)


if __name__ == "__main__":
    main(*sys.argv[1:])
