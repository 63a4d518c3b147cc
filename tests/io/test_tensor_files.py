"""test_tensor_files.py -- the format of safetensors files that the program reads and writes

test_safetensors.c tests the C interface, damaged files and memory.
"""
import io
import os
import struct
import subprocess
import sys
import zipfile
from unittest import mock

sys.path[0] += "/.."                       # tests/
from support import suite
from support.suite import read, write

COPY = "resample position --from 2 --to 2 --by bicubic"
X = '"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'


def only_x(shape, offsets="[0,8]", dtype='"F32"'):
    """A header of one tensor."""
    return f'{{"x":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}}}'


def write_header(path, header, data=b""):
    """Each character of the header is a byte, since some headers are not UTF-8."""
    write(path, suite.raw_tensors(header.encode("latin-1"), data))


# Header, bytes of data, message.  Each has one error.
WRONG = [
    # Not strict JSON, or not in UTF-8
    ('[]', 0, "header byte 0: 0x5b, expected {"),
    (' {' + X + '}', 8, "header byte 0: 0x20, expected {"),
    ('\xef\xbb\xbf{' + X + '}', 8, "header byte 0: 0xef, expected {"),
    ('{' + X + '} x', 8, "0x78 after the JSON, expected only spaces"),
    ('{' + X + '}\n', 8, "0x0a after the JSON, expected only spaces"),
    ('{' + X + '}\0\0', 8, "byte 0x00, expected JSON"),
    ('{' + X, 8, "expected JSON"),
    ('{' + X + ',', 8, "expected JSON"),
    ('{' + X + ',}', 8, "expected JSON"),
    ('{"x":nul}', 0, "expected JSON"),
    ('{\x01' + X + '}', 8, "header byte 1: byte 0x01, expected JSON"),
    ('{\0' + X + '}', 8, "header byte 1: byte 0x00, expected JSON"),
    ('{"x', 0, "header byte 1: a string begins and does not end"),
    ('{"x\\', 0, "an escape that JSON does not have"),
    (r'{"x\q":1}', 0, "an escape that JSON does not have"),
    (r'{"x\u12":1}', 0, r"header byte 3: \u, expected four hexadecimal digits"),
    (r'{"x\ud800":1}', 0, "expected JSON"),
    (r'{"x\u0000y":1}', 0, r"\u0000 in a string, expected no zero byte"),
    ('{"x\0y":1}', 0, "byte 0x00 in a string, expected it escaped"),
    ('{"x\ny":1}', 0, "byte 0x0a in a string, expected it escaped"),
    ('{"\x80":1}', 0, "header byte 2: 0x80 is not UTF-8"),
    ('{"\xc0\xaf":1}', 0, "0xc0 is not UTF-8"),
    ('{"\xe0\x80\xaf":1}', 0, "0xe0 is not UTF-8"),
    ('{"\xed\xa0\x80":1}', 0, "0xed is not UTF-8"),
    ('{"\xf0\x8f\xbf\xbf":1}', 0, "0xf0 is not UTF-8"),
    ('{"\xf4\x90\x80\x80":1}', 0, "0xf4 is not UTF-8"),
    ('{"\xf5\x80\x80\x80":1}', 0, "0xf5 is not UTF-8"),
    ('{"\xe2\x88":1}', 0, "0xe2 is not UTF-8"),
    ('{"x":1}\xe2\x88', 0, "0xe2 is not UTF-8"),
    ('{"x":{"shape":[[1]]}}', 0, "nested 4 deep, expected at most 3"),
    ('{"x":' + 32 * '[', 0, "nested 4 deep, expected at most 3"),

    # Names
    ('{' + X + ',' + X + '}', 8, "tensor x: named twice"),
    ('{' + X + r',"\u0078":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}', 12, "tensor x: named twice"),
    ('{"__metadata__":{},' + X + ',"__metadata__":{}}', 8, "__metadata__: named twice"),
    ('{"__metadata__":[]}', 0, "__metadata__: an array, expected an object of strings"),
    ('{"__metadata__":{"a":"b","c":1}}', 0, "__metadata__: c is a number, expected a string"),
    ('{"__metadata__":{"a":null}}', 0, "__metadata__: a is null, expected a string"),

    # Fields
    ('{"x":[]}', 0, "tensor x: an array, expected an object"),
    ('{"x":true}', 0, "tensor x: true or false, expected an object"),
    ('{"x":{"shape":[2],"data_offsets":[0,8]}}', 8, "tensor x: dtype is missing"),
    ('{"x":{"dtype":"F32","data_offsets":[0,8]}}', 8, "tensor x: shape is missing"),
    ('{"x":{"dtype":"F32","shape":[2]}}', 8, "tensor x: data_offsets is missing"),
    ('{"x":{"Dtype":"F32","shape":[2],"data_offsets":[0,8]}}', 8, "tensor x: field Dtype, expected dtype"),
    ('{"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}', 8, "tensor x: dtype given twice"),
    ('{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}}', 8,
     "tensor x: field more, expected dtype, shape and data_offsets"),

    # Types
    (only_x("[4]", dtype='"F16"'), 8, "tensor x: dtype F16, expected F32 or F64"),
    (only_x("[2]", dtype='"f32"'), 8, "tensor x: dtype f32, expected F32 or F64"),
    (only_x("[2]", dtype="32"), 8, "tensor x: dtype is a number, expected a string"),

    # Shapes
    (only_x("2"), 8, "tensor x: shape is a number, expected an array"),
    (only_x('{"0":2}'), 8, "tensor x: shape is an object, expected an array"),
    (only_x('["2"]'), 8, "tensor x: shape holds a string, expected whole numbers"),
    (only_x("[2,null]"), 8, "tensor x: shape holds null, expected whole numbers"),
    (only_x("[-2]"), 8, "tensor x: number -2, expected a whole number"),
    (only_x("[1.5]"), 8, "tensor x: number 1.5, expected a whole number"),
    (only_x("[02]"), 8, "tensor x: number 02, expected a whole number"),
    (only_x("[NaN]"), 8, "expected JSON"),
    (only_x("[18446744073709551618]"), 8, "tensor x: number 18446744073709551618, expected"),
    (only_x("[9007199254740992]"), 8, "tensor x: shape holds a number beyond 2^53"),
    (only_x("[2,0]"), 8, "tensor x: axis 1 has size 0, expected at least 1"),
    (only_x("[1,1,1,1,1,1,1,1,2]"), 8, "tensor x: 9 axes, expected at most 8"),
    (only_x("[4294967296,4294967296]"), 8, "tensor x: its size overflows"),
    (only_x("[4294967296,1073741824]", "[0,0]"), 8, "tensor x: its size overflows"),
    (only_x("[1000000000]"), 8, "tensor x: data_offsets [0, 8], expected 4000000000 bytes"),

    # Offsets
    (only_x("[2]", "8"), 8, "tensor x: data_offsets is a number, expected an array"),
    (only_x("[2]", "[8]"), 8, "tensor x: data_offsets has 1 numbers, expected 2"),
    (only_x("[2]", '[0,"8"]'), 8, "tensor x: data_offsets holds a string, expected whole numbers"),
    (only_x("[2]", "[8,0]"), 8, "tensor x: data_offsets [8, 0], expected them in order and within 8 bytes"),
    (only_x("[2]", "[4,12]"), 8, "tensor x: data_offsets [4, 12], expected them in order and within 8 bytes"),
    (only_x("[4503599627370496]", "[0,9007199254740991]"), 8,
     "tensor x: data_offsets [0, 9007199254740991], expected them in order and within 8 bytes"),
    (only_x("[1]"), 8, "tensor x: data_offsets [0, 8], expected 4 bytes for F32 [1]"),
    (only_x("[2]", dtype='"F64"'), 8, "tensor x: data_offsets [0, 8], expected 16 bytes for F64 [2]"),
    (only_x("[1]", "[0,0]"), 8, "tensor x: data_offsets [0, 0], expected 4 bytes for F32 [1]"),
    (only_x("[1]", "[4,8]"), 8, "tensor x: begins at 4 and leaves a gap, expected 0"),
    (only_x("[1]", "[0,4]"), 8, "4 bytes of data belong to no tensor"),
    ('{}', 8, "8 bytes of data belong to no tensor"),
    ('{' + X + ',"y":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}', 16,
     "tensor y: begins at 12 and leaves a gap, expected 8"),
    ('{"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},' + X + '}', 12,
     "tensor y: begins at 4 and overlaps tensor x, which ends at 8"),
    ('{' + X + ',"y":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}', 8, "and overlaps tensor"),
]

# Bytes of a file, message.
NO_HEADER = [
    (b"", "a: found 0 bytes, expected a safetensors file, at least 8"),
    (b"\2\0\0\0\0\0\0", "a: found 7 bytes, expected a safetensors file, at least 8"),
    (b"\0\0\0\0\0\0\0\0{}", "a header of 0 bytes, expected 1 to 2"),
    (b"\3\0\0\0\0\0\0\0{}", "a header of 3 bytes, expected 1 to 2"),
    (b"\2\0\0\0\0\0\0\0", "a header of 2 bytes, expected 1 to 0"),
    (b"\xff\xff\xff\xff\xff\xff\xff\xff{}", "a header of 18446744073709551615 bytes, expected 1 to 2"),
    (b"\0\0\0\0\0\0\0\2{}", "a header of 144115188075855872 bytes, expected 1 to 2"),
]

# Header, data, the tensors of the file.
F32, F64 = struct.pack("<2f", 1.5, -0.25), struct.pack("<d", 2.5)
TWO = {"x": ([2], [1.5, -0.25])}
VALID = [
    ('{' + X + '}', F32, TWO),
    ('{' + X + '}      ', F32, TWO),
    ('{}', b"", {}),
    ('{"__metadata__":{}}', b"", {}),
    ('{"__metadata__":{"format":"pt","1":"-1e5"},' + X + '}', F32, TWO),
    ('{' + X + r',"__met\u0061data__":{"[[[[":"}}}}"}}', F32, TWO),
    ('{\t"x" : {\r\n"shape" : [ 2 ] , "data_offsets":[ 0, 8],\n"dtype":"F32" } }', F32, TWO),
    (only_x("[]", dtype='"F64"'), F64, {"x": ([], [2.5])}),
    (only_x("[1,1,1,1,1,1,1,1]", dtype=r'"\u0046\u0036\u0034"'), F64, {"x": (8 * [1], [2.5])}),
    (r'{"\ud83d\ude00":{"dtype":"F32","shape":[],"data_offsets":[4,8]},'
     '"":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}', F32, {"\U0001f600": ([], [-0.25]), "": ([], [1.5])}),
    ('{"__metadata__":{"":"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x80\xbf\xee\x80\x80\xef\xbf\xbf'
     '\xf0\x90\x80\x80\xf1\x80\xbf\xbf\xf4\x8f\xbf\xbf"}}', b"", {}),
]


class Reading(suite.Case):
    def rejects(self, path, message):
        self.fails(["compare", path, path], message)

    def test_valid_files_are_read(self):
        for header, data, tensors in VALID:
            with self.subTest(header):
                write_header("a", header, data)
                suite.write_tensors("b", tensors, "F64")
                if tensors:
                    self.succeeds("compare a b --tolerance 0")
                else:
                    self.rejects("a", "compare: A holds no tensor")

    def test_wrong_headers_are_rejected(self):
        for header, count, message in WRONG:
            with self.subTest(header):
                write_header("a", header, bytes(count))
                self.rejects("a", message)

    def test_missing_headers_are_rejected(self):
        for data, message in NO_HEADER:
            with self.subTest(data):
                write("a", data)
                self.rejects("a", message)

    def test_long_headers_are_rejected(self):
        """The format allows 100 000 000 bytes."""
        write("a", struct.pack("<Q", 100000001) + b"{}")
        os.truncate("a", 200000000)
        self.rejects("a", "a header of 100000001 bytes, expected 1 to 100000000")

    def test_only_regular_files_are_read(self):
        """/dev/zero has no end."""
        os.mkdir("folder")
        write("file", b"")
        for path, message in [
                ("/dev/zero", "/dev/zero is no regular file"),
                ("folder", "is a folder, expected a file"), ("absent", "cannot be opened: No such file"),
                ("", "cannot be opened: No such file"), ("file/file", "cannot be opened: Not a directory")]:
            with self.subTest(path):
                self.rejects(path, message)

    def test_either_precision_is_converted(self):
        """F32 and F64 in one file, data in another order than the header."""
        wide, narrow = (0.1, -1e300, 1 + 2 ** -30, 3.0), struct.unpack("<2f", struct.pack("<2f", 0.1, -7))
        write_header("a", '{"x":{"dtype":"F64","shape":[1,4,1],"data_offsets":[8,40]},'
                          '"table":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}',
                     struct.pack("<2f4d", *narrow, *wide))
        self.succeeds(f"{COPY} a -o b")
        expected = wide if suite.DOUBLE else (narrow[0], -float("inf"), 1.0, 3.0)
        self.assertEqual(suite.read_tensors("b"), {"x": ([1, 4, 1], expected), "table": ([2, 1], narrow)})

    def test_doubles_are_read_in_pieces(self):
        """compare reads 4096 numbers at a time, the library 4096 of F32 or 2048 of F64."""
        sizes = 1, 7, 511, 512, 513, 1024, 1025, 1500, 4096, 4097, 10000
        tensors = {str(size): ([size], [size + n + 0.5 for n in range(size)]) for size in sizes}
        tensors["ones"] = [9000], 9000 * [1]
        for dtype in "F32", "F64":
            suite.write_tensors(dtype, tensors, dtype)
        self.succeeds("compare F32 F64 --tolerance 0")
        tensors["ones"][1][8191] = tensors["ones"][1][8999] = 2                 # rms: sqrt(2 / 9000)
        suite.write_tensors("F32", tensors, "F32")
        done = suite.run("compare F32 F64 --tolerance 0")
        self.assertEqual(done.status, 1)
        self.assertIn("           1       0.0149            0  beyond\n", done.out)
        self.assertIn("1 of 12 tensors is further apart", done.err)


def array(text, data=F32, version=1, length=None):
    """The bytes of a .npy file: one array of NumPy."""
    length = len(text) if length is None else length
    return b"\x93NUMPY" + struct.pack("<BBH" if version == 1 else "<BBI", version, 0, length) + text.encode() + data


def described(shape="(2,)", descr="'<f4'", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def archive(members, method=zipfile.ZIP_STORED):
    """The bytes of an .npz file with {name: bytes of a .npy file}."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as out:
        for name, data in members.items():
            with out.open(f"{name}.npy", "w", force_zip64=True) as member:          # as NumPy does
                member.write(data)
    return file.getvalue()


# Bytes of a .npy file, message.
WRONG_ARRAYS = [
    (b"", "found no array of NumPy, expected version 1.0 to 3.0"),
    (array(described(), version=4), "found no array of NumPy, expected version 1.0 to 3.0"),
    (array(described(), length=60000), "a header of 60000 bytes, expected fewer"),
    (array(described(), version=2, length=4294967295), "a header of 4294967295 bytes, expected fewer"),
    (array(described(), length=len(described()) + 9), "a header of 67 bytes, expected fewer"),
    (array("{'descr': "), "expected descr, fortran_order and shape in its header"),
    (array("'fortran_order': False, 'shape': (2,), 'descr': ", b""), "type , expected f4 or f8"),
    (array(described(descr="'<i8'")), "type '<i8', expected f4 or f8"),
    (array(described(descr="'<f2'")), "type '<f2', expected f4 or f8"),
    (array(described(descr="'=f4'")), "type '=f4', expected f4 or f8"),
    (array(described(descr="[('a', '<f4')]")), "type [('a', expected f4 or f8"),
    (array(described("(1, 2)", order="True")), "Fortran order, expected C order"),
    (array(described("2")), "shape '2, }"),
    (array(described("(-2,)")), "expected sizes"),
    (array(described("(2, 0)"), b""), "axis 1 has size 0"),
    (array(described("(1, 1, 1, 1, 1, 1, 1, 1, 2)")), "expected at most 8 axes"),
    (array(described("(4294967296, 4294967296)")), "its size overflows"),
    (array(described("(9000000000000000000,)")), "expected sizes"),
    (array(described("(3,)")), "found 8 bytes of data, expected 3 numbers of 4 bytes"),
    (array(described("(1,)")), "found 8 bytes of data, expected 1 numbers of 4 bytes"),
]


class Arrays(suite.Case):
    def test_arrays_are_read(self):
        """Each byte order, width and version; one array, or archives as NumPy and large files have them."""
        for descr, layout in ("<f4", "<2f"), (">f4", ">2f"), ("<f8", "<2d"), (">f8", ">2d"):
            for version in 1, 2, 3:
                data = array(described(descr=f"'{descr}'"), struct.pack(layout, 1.5, -0.25), version)
                write("a.npy", data)
                write("a.npz", archive({"x": data, "table": data}, zipfile.ZIP_DEFLATED))
                suite.write_tensors("x", TWO, "F64")
                suite.write_tensors("both", {"table": TWO["x"], **TWO}, "F64")
                self.succeeds("compare x a.npy --tolerance 0")
                self.succeeds("compare a.npz both --tolerance 0")
        with mock.patch("zipfile.ZIP64_LIMIT", 10):                 # all sizes and places in 64 bits
            write("a.npz", archive({"x": data}))
        self.fails("compare a.npz both", "tensor x: found zip64, expected an archive below 4 GiB")
        whole = archive({"x": data})
        for at, wide in (12, b"\xff\xff"), (6, b"\xff" * 4):            # members; place of the directory
            write("a.npz", whole[:-at] + wide + whole[len(whole) - at + len(wide):])
            self.fails("compare a.npz both", "A: a.npz: found zip64")
        write("a.npy", array(described("()", order="True"), F32[:4]))
        suite.write_tensors("x", {"x": ([], [1.5])})
        self.succeeds("compare x a.npy --tolerance 0")

    def test_wrong_arrays_are_rejected(self):
        for data, message in WRONG_ARRAYS:
            with self.subTest(data):
                write("a.npy", data)
                write("a.npz", archive({"x": data}))
                self.fails("compare a.npy a.npy", "A: a.npy: tensor y: ")
                self.fails("compare a.npy a.npy", message)
                self.fails("compare a.npz a.npz", message)

    def test_wrong_archives_are_rejected(self):
        """Also each archive that is cut off, or has one bit changed in a number, a name or the data."""
        good = array(described())
        for method in zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED:
            whole = archive({"x": good}, method)
            for size in range(0, len(whole), 7):
                write("a.npz", whole[:size])
                self.fails("compare a.npz a.npz", "A: a.npz: found")
            for at in range(0, len(whole), 3):
                write("a.npz", whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1:])
                done = suite.run("compare a.npz a.npz")
                self.assertIn(done.status, (0, 2), at)
            data = whole.index(b"NUMPY") if method == zipfile.ZIP_STORED else whole.index(b"x.npy") + 40
            write("a.npz", whole[:data + 20] + bytes([whole[data + 20] ^ 1]) + whole[data + 21:])
            self.fails("compare a.npz a.npz", "tensor x: its data ")
        for members, method, message in [
                ({"x": good}, zipfile.ZIP_LZMA, "tensor x: encrypted, or compressed by method 14, expected 0 or 8"),
                ({257 * "n": good}, zipfile.ZIP_STORED, "expected names of arrays, NAME.npy"),
                ({"x": good, "\xe4": good, "__metadata__": good}, zipfile.ZIP_STORED, "tensor __metadata__: the format"),
                ({"x": good, "more/x": good, "y": b""}, zipfile.ZIP_STORED, "tensor y: found no array")]:
            write("a.npz", archive(members, method))
            self.fails("compare a.npz a.npz", message)
        whole = archive({"x": good, "y": good})
        write("a.npz", whole.replace(b"y.npy", b"x.npy"))
        self.fails("compare a.npz a.npz", "tensor x: named twice")
        lie = archive({"x": good}, zipfile.ZIP_DEFLATED)
        entry = lie.index(b"PK\1\2")
        write("a.npz", lie[:entry + 24] + struct.pack("<I", 2 ** 32 - 2) + lie[entry + 28:])
        self.fails("compare a.npz a.npz", "tensor x: broken archive, 4294967294 bytes of")

    def test_numpy_reads_what_is_written(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("no NumPy")
        tensors = {"x": numpy.ones((1, 2, 1)), "table": numpy.arange(2.0).reshape(2, 1).astype("f4")}
        for save in numpy.savez, numpy.savez_compressed:
            save("in.npz", **tensors)
            self.succeeds(f"{COPY} in.npz -o out.npz")
            with numpy.load("out.npz") as out:
                self.assertEqual([*out], [*tensors])
                self.assertTrue(all(numpy.array_equal(out[name], tensors[name]) for name in out))
                self.assertEqual({out[name].dtype.str for name in out}, {"<f8" if suite.DOUBLE else "<f4"})
        self.assertIsNone(zipfile.ZipFile("out.npz").testzip())
        numpy.save("x.npy", numpy.ones((1, 2, 3, 4)))
        self.succeeds("spectrum x.npy -o y.npy")
        self.assertEqual(numpy.load("y.npy").shape, (4, 2, 3))
        self.fails(f"{COPY} in.npz -o out.npy", "found 2 tensors, expected one; .npz and .safetensors hold several")


class Streams(suite.Case):
    def test_tensors_pass_through_pipes(self):
        """More than a pipe holds.  With tensors on standard output, text is on stderr."""
        suite.write_tensors("file", {"x": ([1, 40000, 1], range(40000)), "table": ([2, 1], (1, 2))})
        for source in "-", "/dev/stdin":
            for target in "-", "/dev/stdout":
                with self.subTest((source, target)), \
                        subprocess.Popen(["cat", "file"], stdout=subprocess.PIPE) as cat, \
                        subprocess.Popen(suite.command([*COPY.split(), source, "-o", target]), stdin=cat.stdout,
                                         stdout=subprocess.PIPE) as copy:
                    write("out", copy.stdout.read())
                self.assertEqual(suite.read_tensors("out"), suite.read_tensors("file"))
        for lines, command in enumerate(["tokens --channels 1 --grid 2", "parameters msa --channels 2 --grid 2"], 1):
            with open("out", "wb") as out:
                done = suite.run(f"{command} -o -", stdout=out)
            self.assertEqual((done.status, done.err.count("\n")), (0, lines))
            self.assertIn("x", suite.read_tensors("out"))
        with open("file", "rb") as file:
            self.succeeds("compare - file --tolerance 0", stdin=file)
        self.fails("compare - file", "A: standard input: found 0 bytes, expected a safetensors file")

    def test_a_stream_counts_as_memory(self):
        suite.write_tensors("x", {"x": ([1, 40000, 1], range(40000))})
        with open("x", "rb") as file:
            self.fails("apply msa --grid 2 --max-memory 100K - -o y", "needs 131072 bytes of memory, allowed are 102400", stdin=file)


class Checkpoints(suite.Case):
    def test_tensors_that_nobody_asks_for_are_ignored(self):
        """Those that are no floats, and those without numbers; a float may be a misspelt parameter."""
        self.succeeds("parameters msa --grid 2 --channels 2 --without b_qkv,b_o -o in")
        self.succeeds("apply msa --grid 2 in -o y")
        header, data = (in_ := read("in"))[8:8 + (size := struct.unpack("<Q", in_[:8])[0])].decode(), in_[8 + size:]
        for dtype, width in [(name, 2 ** n) for n, names in enumerate(
                ("BOOL U8 I8 F8_E4M3 F8_E5M2", "U16 I16 F16 BF16", "U32 I32", "U64 I64")) for name in names.split()]:
            more = (f'"steps":{{"dtype":"{dtype}","shape":[],"data_offsets":[{len(data)},{len(data) + width}]}},'
                    f'"none":{{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]}}')
            write("more", suite.raw_tensors(f"{header.rstrip()[:-1]},{more}}}", data + bytes(width)))
            done = suite.run("apply msa --grid 2 more -o z")
            self.assertEqual((done.status, done.err), (
                0, "twicetold: more: ignored 2 tensors that nothing needs, first 'steps'\n"))
            self.assertEqual(read("z"), read("y"))
        tensors = suite.read_tensors("in")
        suite.write_tensors("more", {**tensors, "w_qkw": ([2], [1, 2])})
        self.fails("apply msa --grid 2 more -o z", "tensor w_qkw: not of this operator with these options, expected x, ")
        self.fails("apply msa --grid 2 more -o z", "; did you mean w_qkv?")
        suite.write_tensors("more", {"x": tensors["x"], **{f"module.{name}": tensors[name] for name in tensors}})
        self.fails("apply msa --grid 2 more -o z",
                   "tensor w_qkv: missing; found 'module.w_qkv', expected names without 'module.'")


class Writing(suite.Case):
    def setUp(self):
        super().setUp()
        suite.write_tensors("in", {"x": ([1, 2, 1], (1, -2)), "table": ([2, 1], (0.5, 3))})

    def copies(self, path, **settings):
        self.succeeds([*COPY.split(), "in", "-o", path], **settings)
        self.assertEqual(suite.read_tensors(path), suite.read_tensors("in"))
        self.assertFalse(os.path.lexists(path + ".tmp"))

    def test_links_are_followed(self):
        """A link in the place of the temporary file is replaced: it may be malicious."""
        write("file", b"old")
        os.symlink("file", "link")
        os.symlink("victim", "file.tmp")
        self.copies("link")
        self.assertTrue(os.path.islink("link") and not os.path.islink("file"))
        self.assertEqual(sorted(os.listdir()), ["file", "in", "link"])

    def test_a_leftover_temporary_file_is_overwritten(self):
        for path in "new", 251 * "n":           # the longest name: 255 bytes with .tmp
            write(path + ".tmp", 1000 * b"left by a killed process")
            self.copies(path)

    def test_a_replaced_file_keeps_its_permissions(self):
        self.copies("new", umask=0o27)
        self.assertEqual(os.stat("new").st_mode & 0o7777, 0o640)
        for mode in 0o600, 0o664:
            os.chmod("new", mode)
            self.copies("new", umask=0o27)
            self.assertEqual(os.stat("new").st_mode & 0o7777, mode)

    def test_a_file_without_write_permission_is_kept(self):
        write("old", b"old")
        os.chmod("old", 0o444)
        os.chmod(".", 0o777)
        other = {"user": 1234, "group": 1234} if os.geteuid() == 0 else {}          # root may write any file
        try:
            self.fails(f"{COPY} in -o old", "old cannot be written: Permission denied", **other)
        except PermissionError:
            self.skipTest("another user cannot run the program here")
        self.assertEqual(read("old"), b"old")

    def test_an_input_is_not_overwritten(self):
        os.symlink("in", "soft")
        os.link("in", "hard")
        os.symlink(".", "here")
        expected = read("in")
        for first, second in [("in", "in"), ("in", "soft"), ("soft", "in"), ("in", "hard"), ("in", "here/./hard"),
                              ("in.tmp", "in"), ("absent", "absent")]:
            with self.subTest((first, second)):
                self.fails(f"{COPY} {first} -o {second}", f"found the input's own path '{second}'")
        self.fails(f"{COPY} absent -o other", "absent cannot be opened: No such file")
        self.assertEqual(read("in"), expected)


if __name__ == "__main__":
    suite.main()
