"""wheel.py -- pack the Python module and both libraries

    cc -march=native -dM -E -x c /dev/null | python3 wheel.py BUILD VERSION FOLDER [ROOT]

Writes FOLDER/twicetold-VERSION-py3-none-PLATFORM.whl: the module, the libraries and the files of the format
(packaging.python.org, "Binary distribution format").  The same input gives the same file.  The compiler's macros name
the features of an x86 processor that the module checks for.  ROOT has Debian 11's OpenMP and the licences of what is
linked statically; without it, the wheel is for this machine, which provides all other libraries.
"""

import base64
import hashlib
import re
import sys
import sysconfig
import zipfile

build, version, folder, *root = sys.argv[1:]
tag = "py3-none-" + ("manylinux_2_31_x86_64" if root else re.sub("[-.]", "_", sysconfig.get_platform()))
path = f"{folder}/twicetold-{version}-{tag}.whl"
info = f"twicetold-{version}.dist-info"


def read(file):
    with open(file, "rb") as opened:
        return opened.read()


# Macros of features that a compiler uses by itself.  /proc/cpuinfo has them in lower case, except those in NAMES.
MACROS = """SSE3 SSSE3 SSE4_1 SSE4_2 POPCNT MOVBE BMI BMI2 LZCNT AVX AVX2 FMA FMA4 XOP TBM F16C GFNI AVXVNNI AVX512F
            AVX512CD AVX512BW AVX512DQ AVX512VL AVX512IFMA AVX512VBMI AVX512VBMI2 AVX512VNNI AVX512BITALG
            AVX512VPOPCNTDQ AVX512BF16 AVX512FP16""".split()
NAMES = {"SSE3": "pni", "BMI": "bmi1", "LZCNT": "abm", "AVXVNNI": "avx_vnni",
         **{"AVX512" + rest: "avx512_" + rest.lower() for rest in "VBMI2 VNNI BITALG VPOPCNTDQ BF16 FP16".split()}}
defined = re.findall(r"^#define __(\w+)__ 1$", sys.stdin.read(), re.M)
needs = " ".join(NAMES.get(macro, macro.lower()) for macro in MACROS if macro in defined)
module, count = re.subn(rb'^_NEEDS = ""', f'_NEEDS = "{needs}"'.encode(), read("reference/library/twicetold.py"),
                        flags=re.M)
assert count == 1, "twicetold.py: no line _NEEDS"

licences = {"LICENSE": "LICENSE"}
if root:
    licences.update({"LICENSE." + name: f"{root[0]}/usr/share/doc/{package}/copyright"
                     for name, package in (("openblas", "libopenblas-openmp-dev"), ("libgomp", "libgomp1"))})
files = {
    "twicetold/__init__.py": module,
    "twicetold/libtwicetold.so.1": read(f"{build}/lib/libtwicetold.so.1"),
    "twicetold/libtwicetold-double.so.1": read(f"{build}/lib/libtwicetold-double.so.1"),
    **{f"{info}/{name}": read(file) for name, file in licences.items()},
    f"{info}/METADATA": f"""Metadata-Version: 2.1
Name: twicetold
Version: {version}
Summary: Attention operators of five papers, each naive and fast
License: {"MIT AND BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1" if root else "MIT"}
{"".join(f"License-File: {name}{chr(10)}" for name in licences)}Requires-Python: >=3.8
Requires-Dist: numpy>=1.22
""".encode(),
    f"{info}/WHEEL": f"""Wheel-Version: 1.0
Generator: twicetold
Root-Is-Purelib: false
Tag: {tag}
""".encode(),
}


if root:        # with another SONAME of the same length, since newer libraries may need a newer libgomp.so.1
    files["twicetold/libgomp.so"] = read(f"{root[0]}/usr/lib/x86_64-linux-gnu/libgomp.so.1").replace(
        b"\0libgomp.so.1\0", b"\0libgomp_tt.1\0")


def record():
    """One line for each file: name, digest and length.  The record itself has only its name."""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        yield f"{name},sha256={digest},{len(data)}\n"
    yield f"{info}/RECORD,,\n"


files[f"{info}/RECORD"] = "".join(record()).encode()
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, data in files.items():
        entry = zipfile.ZipInfo(name)           # dated 1980, so that the file depends on its content alone
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
        wheel.writestr(entry, data)
print(path)
