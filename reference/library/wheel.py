"""wheel.py -- pack the Python module and both libraries

    python3 wheel.py BUILD VERSION FOLDER

Writes FOLDER/twicetold-VERSION-py3-none-PLATFORM.whl, which pip installs without a
compiler: a folder twicetold/ of the module and the libraries, and what the format of
wheels asks for (packaging.python.org, "Binary distribution format").  The same input
gives the same file.  FFTW, oneDNN (where it was built with), OpenBLAS and OpenMP are not in
it: they are the system's.
"""

import base64
import hashlib
import sys
import sysconfig
import zipfile

build, version, folder = sys.argv[1:]
tag = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
path = f"{folder}/twicetold-{version}-{tag}.whl"
info = f"twicetold-{version}.dist-info"


def read(file):
    with open(file, "rb") as opened:
        return opened.read()


files = {
    "twicetold/__init__.py": read("reference/library/twicetold.py"),
    "twicetold/libtwicetold.so.1": read(f"{build}/lib/libtwicetold.so.1"),
    "twicetold/libtwicetold-double.so.1": read(f"{build}/lib/libtwicetold-double.so.1"),
    f"{info}/LICENSE": read("LICENSE"),
    f"{info}/METADATA": f"""Metadata-Version: 2.1
Name: twicetold
Version: {version}
Summary: Attention operators of five papers, each naive and fast
License: MIT
License-File: LICENSE
Requires-Python: >=3.8
Requires-Dist: numpy>=1.22
""".encode(),
    f"{info}/WHEEL": f"""Wheel-Version: 1.0
Generator: twicetold
Root-Is-Purelib: false
Tag: {tag}
""".encode(),
}


def record():
    """Every file with its digest and its length, and the record itself without."""
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
