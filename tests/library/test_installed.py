"""test_installed.py -- the installed library, linked and used from Python

Skips tests of the Python module without NumPy or PyTorch, and for a library with sanitizers, which Python cannot load.
"""
import glob
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest

sys.path[0] += "/.."                       # tests/
from support import suite
from support.suite import BUILD, TREE

BOTH = os.path.dirname(BUILD) if suite.DOUBLE else BUILD       # the build folder of both precisions
PRECISION = "float64" if suite.DOUBLE else "float32"
LIBRARIES = ("twicetold", "twicetold-double")
PROGRAM = TREE + "/tests/library/installed_program.c"
CC = shlex.split(os.environ.get("CC") or "cc")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")

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
CONSUMER = """
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(twicetold 1.0 REQUIRED)
find_package(twicetold REQUIRED)
add_executable(consumer PROGRAM)
target_link_libraries(consumer twicetold::twicetoldKIND twicetold::doubleKIND m)
"""
# README's commands use the existing build, its compiler and flags.
README_SHELL = """
make() {
    test "$1" = install && (cd "$TREE" &&
        sh reference/cli/install.sh "$BUILD" "" "${2#PREFIX=}" 1.0 "$PYTHON")
}
cc() { command $CC $FLAGS "$@"; }
python3() { command "$PYTHON" "$@"; }
"""


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


FLAGS = sorted({word for word in read(BOTH + "/flags").split() if word.startswith("-fsanitize=")})
os.environ.update(OMP_WAIT_POLICY="passive", PYTHONDONTWRITEBYTECODE="1", TREE=TREE, BUILD=BOTH, PYTHON=sys.executable,
                  CC=" ".join(CC), FLAGS=" ".join(FLAGS))
os.environ.pop("TWICETOLD_LIBRARY", None)

needs_numpy = unittest.skipUnless(importlib.util.find_spec("numpy"), "this Python has no NumPy")
needs_pytorch = unittest.skipUnless(importlib.util.find_spec("torch"), "this Python has no PyTorch")


class Case(suite.Case):
    def setUp(self):
        super().setUp()
        self.here = os.environ["HOME"] = os.getcwd()

    def run_command(self, words, settings=None, **more):
        """The output of a command that must succeed, with `settings` added to its environment."""
        done = subprocess.run(words, env={**os.environ, **(settings or {})}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=suite.SECONDS, **more)
        self.assertEqual(done.returncode, 0, f"{shlex.join(words)}: {done.stdout}")
        return done.stdout

    def install(self, prefix, destination=""):
        words = ["sh", "reference/cli/install.sh", BOTH, destination, prefix, "1.0", sys.executable]
        return self.run_command(words, cwd=TREE)

    def run_readme(self, python, settings=None):
        """Run the commands of README's "Use it as a library": if `python`, those with python3, otherwise the rest."""
        section = re.search(r"^## Use it as a library\n(.*?)(?=^## |\Z)", read(TREE + "/README.md"), re.M | re.S)[1]
        lines = [line for line in re.findall(r"^    (.*)", section, re.M) if ("python3" in line) == python]
        return self.run_command(["sh", "-ec", "\n".join([README_SHELL, *lines])], settings)

    def check_distance(self, report):
        """The difference that installed_program.c prints is small but not 0."""
        distance = float(report.split()[4])
        self.assertGreater(distance, 0, report)
        self.assertLess(distance, 5e-3, report)
        print(report)


class Linked(Case):
    def test_no_name_leaves_the_library_without_its_prefix(self):
        """Libraries export only names that begin with twicetold_ or twicetold_double_.  There is one header, in its own
        folder, valid as C and C++, and a manual page."""
        usr = self.here + "/staged/usr"
        self.install("/usr", self.here + "/staged")
        headers = [f"{folder}/{file}" for folder, _, files in os.walk(usr + "/include") for file in files]
        self.assertEqual(headers, [usr + "/include/twicetold/twicetold.h"])
        self.assertIn("twicetold measure", self.run_command([usr + "/bin/twicetold", "measure", "--help"]))
        self.assertRegex(read(usr + "/share/man/man1/twicetold.1"), r"\A\.TH TWICETOLD 1")
        for name in LIBRARIES:
            self.assertNotIn(self.here, read(f"{usr}/lib/pkgconfig/{name}.pc"))
            prefix = name.replace("-", "_") + "_"
            for file, kind in (f"{usr}/lib/lib{name}.a", "-g"), (f"{usr}/lib/lib{name}.so.1", "-D"):
                listed = self.run_command(["nm", kind, "--defined-only", file])
                names = re.findall(r"^\S+ \S+ (\S+)$", listed, re.M)
                self.assertIn(prefix + "plan_run", names, file)
                self.assertEqual([each for each in names if not each.startswith(prefix)], [], file)
            self.assertEqual(os.readlink(f"{usr}/lib/lib{name}.so"), f"lib{name}.so.1")
        for language in ("c", "c++"):
            self.run_command([*CC, *WARNINGS, f"-I{usr}/include", "-x", language, "-fsyntax-only", "-"],
                             input=HEADER_ALONE)

    def test_readme_lines_work_as_printed(self):
        """They install, and compile and run installed_program.c.

        Tolerance 5e-3: (1 + 2 L) 32 sqrt(T) u as in test_properties.c, T = 584 products, logits L up to 50, times the
        largest entry, at most 8."""
        os.symlink(PROGRAM, "program.c")
        self.check_distance(self.run_readme(python=False).splitlines()[-1])

    def test_static_libraries_link_together(self):
        """Both precisions in one program."""
        self.install(self.here)
        words = self.run_command(["pkg-config", "--static", "--cflags", "--libs", *LIBRARIES],
                                 {"PKG_CONFIG_PATH": self.here + "/lib/pkgconfig"}).split()
        words = [re.sub(r"^-l(twicetold[a-z-]*)", r"-l:lib\1.a", word) for word in words]
        self.run_command([*CC, *FLAGS, PROGRAM, *words, "-o", "program"])
        self.assertNotIn("twicetold", self.run_command(["ldd", "program"]))
        self.check_distance(self.run_command(["./program"]).strip())
        words = self.run_command(["pkg-config", "--static", "--cflags", "--libs", "twicetold-double"],
                                 {"PKG_CONFIG_PATH": self.here + "/lib/pkgconfig"}).split()
        if FLAGS:
            return      # sanitizers have no static program
        self.run_command([*CC, "-static", "-x", "c", "-", "-x", "none", *words, "-o", "static"],
                         input=HEADER_ALONE.replace("twicetold_op", "twicetold_double_op"))
        self.run_command(["./static"])

    def test_uninstall_removes_what_install_wrote(self):
        """Also after a second installation and an import.  Folders and files of others stay."""
        os.makedirs("to/usr/lib/empty")
        os.makedirs("to/usr/share/man")
        for _ in range(2):
            self.install("/usr", self.here + "/to")
        module, = (folder for folder, _, files in os.walk("to") if "twicetold.py" in files)
        self.run_command([sys.executable, "-m", "py_compile", module + "/twicetold.py"])
        self.run_command(["sh", "reference/cli/install.sh", "--remove", self.here + "/to", "/usr"], cwd=TREE)
        self.assertEqual(sorted(folder for folder, _, _ in os.walk("to")),
                         ["to", "to/usr", "to/usr/lib", "to/usr/lib/empty", "to/usr/share", "to/usr/share/man"])
        self.assertEqual([files for _, _, files in os.walk("to") if files], [])

    @unittest.skipUnless(shutil.which("cmake"), "cmake is missing")
    @unittest.skipIf(FLAGS, "CMake's own test program has no sanitizers")
    def test_cmake_finds_the_package(self):
        """Both precisions in a program, shared and static.  Another major version is not found."""
        self.install(self.here + "/prefix")
        settings = {"CMAKE_PREFIX_PATH": self.here + "/prefix", "CC": CC[0]}
        for kind in ("", "-static"):
            with open("CMakeLists.txt", "w", encoding="utf-8") as f:
                f.write(CONSUMER.replace("KIND", kind).replace("PROGRAM", PROGRAM))
            self.run_command(["cmake", "-S", ".", "-B", "at" + kind], settings)
            self.run_command(["cmake", "--build", "at" + kind], settings)
            self.check_distance(self.run_command([f"./at{kind}/consumer"]).strip())
        with open("CMakeLists.txt", "w", encoding="utf-8") as f:
            f.write(CONSUMER.replace("twicetold 1.0", "twicetold 2.0"))
        with self.assertRaisesRegex(AssertionError, "requested version .2.0"):
            self.run_command(["cmake", "-S", ".", "-B", "other"], settings)

    def test_other_systems_get_a_command(self):
        """Without apt, depend.sh names what is missing, and the system's command to install it."""
        os.mkdir("bin")
        for tool in ("sh", "uname", "cat", "grep", "tr", "awk"):
            os.symlink(shutil.which(tool), "bin/" + tool)
        for system, command in (("fedora", "sudo dnf install gcc gcc-c++ glibc-devel make"), ("arch", "sudo pacman -S"),
                                ("alpine", "apk add gcc g++ musl-dev"), ("opensuse-leap", "sudo zypper install gcc")):
            with open("release", "w", encoding="utf-8") as f:
                f.write(f"ID={system}\n")
            said = self.run_command(["sh", "-c", "sh reference/cli/depend.sh install 2>&1 || echo $?"],
                                    {"PATH": self.here + "/bin", "OS_RELEASE": self.here + "/release"}, cwd=TREE)
            self.assertIn("missing: openblas (Debian's libopenblas-openmp-dev; https://www.openblas.net)", said)
            self.assertRegex(said, rf"(?m)^not tried: {re.escape(command)}.*\n1$")

    def test_sudo_is_announced(self):
        """depend.sh prints its use of sudo before it calls it, and `make help` mentions it."""
        os.mkdir("bin")
        for name in ("apt-get", "apt-cache", "dpkg-query", "sudo", "id"):
            with open("bin/" + name, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\n" + ("echo 1000\n" if name == "id" else f'echo "called: {name} $*"\n')
                        + ("case $* in *pandoc*lld*) exit 100; esac\n" if name == "sudo" else ""))
            os.chmod("bin/" + name, 0o755)
        said = self.run_command(["sh", "-c", "sh reference/cli/depend.sh install </dev/null || :"],
                                {"PATH": f"{self.here}/bin:{os.environ['PATH']}"}, cwd=TREE)
        self.assertRegex(said.split("called: sudo")[0], r"(?m)^installing.*by sudo apt-get -y:")
        # One update and one installation; if apt fails, another one without the packages that are not needed.
        calls = [line for line in said.splitlines() if line.startswith("called: sudo")]
        self.assertEqual([" lld " in call for call in calls], [False, True, False])
        self.assertRegex(self.run_command(["make", "-s", "help"], {"MAKEFLAGS": ""}, cwd=TREE), "(?m)^make deps .*sudo")


@unittest.skipIf(FLAGS, "Python cannot load a library with sanitizers")
@needs_numpy
class Module(Case):
    def check(self, test, **settings):
        """Run a test of installed_check.py in its own process."""
        settings.update(TWICETOLD_LIBRARY=BOTH + "/lib", PYTHONPATH=TREE + "/reference/library")
        words = [sys.executable, TREE + "/tests/library/installed_check.py", test, BUILD, PRECISION]
        print(self.run_command(words, settings), end="")

    def test_python_finds_what_was_installed(self):
        """The module finds the libraries in its prefix, and README's line prints its help."""
        found = re.search(r"PYTHONPATH=(.*)", self.install(self.here + "/.local"))
        settings = {"PAGER": "cat", **({"PYTHONPATH": found[1]} if found else {})}
        self.assertIn("w_qkv [3C, C]", self.run_readme(python=True, settings=settings))

    def test_python_equals_the_program(self):
        """To the bit, for each golden vector and form.  One thread, since bits of a product depend on BLAS's threads,
        and NumPy's BLAS does not use clang's OpenMP."""
        self.check("agree", OMP_NUM_THREADS="1")

    def test_python_errors_are_those_of_the_program(self):
        """An exception has the message that the program prints, with names as in Python."""
        self.check("errors")

    def test_arrays_of_any_kind_are_accepted(self):
        """Strided, read-only, byte-swapped, DLPack; x determines the precision.  Other types, masks and unaligned
        numbers are errors."""
        self.check("arrays")

    @needs_pytorch
    def test_lazy_tensors_are_resolved(self):
        """PyTorch tensors whose memory differs from their values (negative, conjugate, zero) give the right result.
        Tensors without memory (sparse, meta, quantized, nested, wrapped) are errors."""
        self.check("lazy")

    def test_plans_are_used_again(self):
        """After right and wrong loads, with several threads of its own or of Python."""
        self.check("plans")

    def test_networks_equal_the_program(self):
        """To the bit, with weights of a file, given or random; near PyTorch's logits."""
        self.check("networks", OMP_NUM_THREADS="1")

    def test_calls_keep_no_numbers(self):
        """With parameters changed in place, fewer parameters or two threads of Python, calls equal new plans."""
        self.check("calls")

    def test_a_child_of_fork_computes(self):
        """With default threads, although C, NumPy or PyTorch ran OpenMP in the parent."""
        self.run_command([*CC, "-fopenmp", "-fPIC", "-shared", "-x", "c", "-", "-o", "loop.so"], input=LOOP)
        self.check("fork", OMP_NUM_THREADS="2")

    def test_functions_are_documented(self):
        """The signature and docstring of each operator's function name all options and tensors."""
        self.check("documented")

    def test_the_chapter_runs_in_python(self):
        """Runs each block under "Use it from Python" whose imports are installed.

        Tolerance: as in forms_are_one_function, for two sides in float."""
        self.check("chapter")

    def test_the_wheel_is_complete(self):
        """It holds what its record lists, and computes.  Without a needed processor feature, the import names it."""
        self.check("wheel", OMP_NUM_THREADS="1")

    @unittest.skipUnless(glob.glob(BOTH + "/*-manylinux_*.whl"), "`make wheel` was not run")
    def test_the_wheel_travels(self):
        """It needs glibc 2.31 at most.  There is one OpenMP, in both orders of import with PyTorch or scikit-learn.

        Tolerance: 64 roundings, for products of 6 terms by another library."""
        self.check("travels")

    @needs_pytorch
    def test_authors_weights_are_renamed(self):
        """HiLo, Tab. 7; ELSA, Sec. 6; Swin's public code.  rename.py moves each number of a checkpoint in the authors'
        layout.  It names missing, extra and misshapen tensors; two sets of weights need an option."""
        print(self.run_command([sys.executable, "tests/pytorch/_check_rename.py", self.here], cwd=TREE), end="")


if __name__ == "__main__":
    suite.main()
