"""test_image_files.py -- image files: formats and pixels; test_images.c tests what is computed from them"""
import gzip
import itertools
import os
import random
import struct
import sys

sys.path[0] += "/.."                       # tests/
from support import suite
from support.suite import GREY, GREY_ALPHA, PALETTE, RGB, RGB_ALPHA, chunk, read, write

DATA_SET = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz"

ENCODINGS = [(GREY, 1), (GREY, 2), (GREY, 4), (GREY, 8), (GREY, 16), (RGB, 8), (RGB, 16), (PALETTE, 1), (PALETTE, 2),
             (PALETTE, 4), (PALETTE, 8), (GREY_ALPHA, 8), (GREY_ALPHA, 16), (RGB_ALPHA, 8), (RGB_ALPHA, 16)]
SAMPLES = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGB_ALPHA: 4}
ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]

GAMMA = chunk(b"gAMA", struct.pack(">I", 100000))
PRIMARIES = chunk(b"cHRM", struct.pack(">8I", 30000, 30000, 70000, 30000, 20000, 70000, 10000, 10000))
CURVES = [b"", GAMMA, chunk(b"sRGB", b"\0"), GAMMA + PRIMARIES]


def packed(samples, depth):
    """A row of samples as bytes, with its filter byte."""
    bits = "".join(f"{sample:0{depth}b}" for sample in samples)
    bits += -len(bits) % 8 * "0"
    return b"\0" + int(bits, 2).to_bytes(len(bits) // 8, "big")


def png(pixels, rows, columns, kind, depth, interlaced=0, chunks=b""):
    """A PNG file; a pixel is a tuple of samples."""
    data = b""
    for top, left, down, across in ADAM7 if interlaced else [(0, 0, 1, 1)]:
        for y in range(top, rows, down):
            row = [s for x in range(left, columns, across) for s in pixels[y * columns + x]]
            data += packed(row, depth) if row else b""
    return suite.png(rows, columns, kind, depth, data, interlaced, chunks)


def random_picture(rows, columns, kind, depth, transparent):
    """Random pixels, their chunks PLTE and tRNS, and the visible colours on black.  Samples of 16 bits are two equal
    bytes.  With tRNS, the colour of pixel 0 is transparent in grey and RGB."""
    draw = random.Random(f"{kind} {depth}")
    levels, wide = 2 ** min(depth, 8), 257 if depth == 16 else 1
    pixels = [tuple(draw.randrange(levels) for _ in range(SAMPLES[kind])) for _ in range(rows * columns)]
    palette = [[*draw.randbytes(3), draw.randrange(256) if transparent else 255] for _ in range(levels)]
    chunks, seen = b"", []
    if kind == PALETTE:
        chunks = chunk(b"PLTE", bytes(value for colour in palette for value in colour[:3]))
    if transparent:
        chunks += chunk(b"tRNS", bytes(colour[3] for colour in palette) if kind == PALETTE
                        else b"".join(struct.pack(">H", sample * wide) for sample in pixels[0]))
    for pixel in pixels:
        colour, alpha = [sample * 255 // (levels - 1) for sample in pixel], 255
        if kind == PALETTE:
            *colour, alpha = palette[pixel[0]]
        elif kind in (GREY_ALPHA, RGB_ALPHA):
            *colour, alpha = colour
        elif transparent and pixel == pixels[0]:
            alpha = 0
        shown = [(2 * value * alpha + 255) // 510 for value in colour]
        seen.append(shown if len(shown) == 3 else 3 * shown)
    return [tuple(sample * wide for sample in pixel) for pixel in pixels], chunks, seen


SET = 7, 5, 6                   # images, rows, columns
PIXELS = random.Random(1).randbytes(7 * 5 * 6)


def idx_header(type_and_axes, count, rows, columns):
    return struct.pack(">4I", type_and_axes, count, rows, columns)


def mosaic(first, rows, columns):
    """Images from number `first`, row by row, as one PNG file."""
    count, height, width = SET
    across = -(-columns // width)
    pixels = []
    for y in range(rows):
        for x in range(columns):
            image = (first + y // height * across + x // width) % count
            pixels.append((PIXELS[(image * height + y % height) * width + x % width],))
    return png(pixels, rows, columns, GREY, 8)


# The first 16 bytes of a file, message.
WRONG_SETS = [
    (b"\1\0\x08\3" + idx_header(0, *SET)[4:], "begins with 0x0100"),
    (b"\0\1\x08\3" + idx_header(0, *SET)[4:], "begins with 0x0001"),
    (b"GIF89a".ljust(16, b"\0"), "is a GIF image, expected PNG, JPEG or IDX"),
    (b"BM\x46".ljust(16, b"\0"), "is a BMP image"),
    (b"RIFF\x09\x09\0\0WEBP".ljust(16, b"\0"), "is a WebP image"),
    (b"II*".ljust(16, b"\0"), "is a TIFF image"),
    (b"\0\0\0\x18ftypheic".ljust(16, b"\0"), "is a HEIF image"),
    (idx_header(0xd03, 7, 5, 6), "type 0x0d"),
    (idx_header(0x801, 7, 5, 6), "1 axes"),
    (idx_header(0x804, 7, 5, 6), "4 axes"),
    (idx_header(0x803, 0, 5, 6), "0 images"),
    (idx_header(0x803, 7, 0, 6), "at least 1"),
    (idx_header(0x803, 7, 5, 0), "at least 1"),
    (idx_header(0x803, 1, 2 ** 32 - 1, 2 ** 32 - 1), "at most"),
    (idx_header(0x803, 2 ** 32 - 1, 5, 6), "at most"),
    (idx_header(0x803, 2 ** 31, 2, 2 ** 31), "at most"),
    (idx_header(0x803, 1, 8192, 8192), "holds 210 bytes of pixels, expected 67108864"),
    (idx_header(0x803, 1, 8192, 8193), "expected at most 67108864 pixels"),
    (idx_header(0x803, 2 ** 31 - 1, 1, 1), "holds 210 bytes of pixels, expected 2147483647"),
    (idx_header(0x803, 2 ** 31, 1, 1), "and 2147483647 in all"),
    (idx_header(0x803, 7, 5, 7), "holds 210 bytes of pixels, expected 245"),
    (idx_header(0x803, 7, 5, 5), "goes on after the 175 bytes"),
    (idx_header(0x803, 6, 5, 6), "goes on after the 180 bytes"),
]


def real(value):
    """A number rounded to the build's precision."""
    letter = "<" + suite.LETTER[suite.DTYPE]
    return struct.unpack(letter, struct.pack(letter, value))[0]


def normalised(value, c):
    """A byte of colour c, normalised for a network."""
    mean, deviation = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)][c]
    return real((real(value / 255) - mean) / deviation)


class Images(suite.Case):
    def tokens(self, words, path=None):
        """Run `tokens`; return its output and the tokens."""
        said = self.succeeds(f"tokens {words} -o y" + (f" --images {path}" if path else ""))
        return said, suite.read_tensors("y")["x"][1]

    def rejects(self, path, message):
        self.fails(f"tokens --grid 2x2 --patch 1 --channels 1 --images {path} -o none", message)

    def inputs(self, paths, grid):
        """A network's input for each image: scaled to cover 8/7 of the grid, then cropped to its middle."""
        words = f"network lisanet-i-t --random 1 --depths 1 --widths 4 --grid {grid} --before stage1.embed"
        self.succeeds([*words.split(), *paths, "-o", "y"])
        shape, numbers = suite.read_tensors("y")["x"]
        self.assertEqual(shape[0], len(paths))
        each = len(numbers) // len(paths)
        return [numbers[at:at + each] for at in range(0, len(numbers), each)]

    def test_png_pixels_are_exact(self):
        """0x10ff of 16 bits is 17, where truncation gives 16."""
        side = 24
        for kind, depth in ENCODINGS:
            with self.subTest((kind, depth)):
                pixels, chunks, seen = random_picture(side, side, kind, depth, False)
                if (kind, depth) == (GREY, 16):
                    pixels[side + 1], seen[side + 1] = (0x10ff,), 3 * [17]
                write("p.png", png(pixels, side, side, kind, depth, 0, chunks))
                middle = [seen[y * side + x] for y in range(1, 22) for x in range(1, 22)]
                expected = [normalised(value, c) for colour in middle for c, value in enumerate(colour)]
                self.assertEqual(self.inputs(["p.png"], "21x21"), [tuple(expected)])

    def test_png_of_every_encoding_is_read(self):
        """15 encodings in 5 sizes, interlaced or not, with and without tRNS, with 4 choices of gAMA, sRGB and cHRM,
        give the pixels of 8-bit RGB."""
        for rows, columns, grid in [(3, 1, "63x21"), (1, 1, "21x21"), (1, 9, "21x189"), (8, 8, "56x56"),
                                    (13, 6, "91x42")]:
            same = {}           # path: path of the plain picture
            for (kind, depth), transparent in itertools.product(ENCODINGS, (0, 1)):
                if transparent and kind in (GREY_ALPHA, RGB_ALPHA):
                    continue
                pixels, chunks, seen = random_picture(rows, columns, kind, depth, transparent)
                name = f"{kind}-{depth}-{transparent}"
                write(name, png(seen, rows, columns, RGB, 8))
                same[name] = name
                for interlaced, curve in itertools.product((0, 1), CURVES):
                    path = f"{name}-{interlaced}-{CURVES.index(curve)}"
                    write(path, png(pixels, rows, columns, kind, depth, interlaced, curve + chunks))
                    same[path] = name
            found = dict(zip(same, self.inputs(same, grid)))
            for path, name in same.items():
                self.assertTrue(found[path] == found[name], f"{rows} x {columns}: {path}")

    def test_wrong_png_files_are_rejected(self):
        for rows, columns, message in [
                (8192, 8192, "is a broken PNG"), (8192, 8193, "expected at most 67108864 in all"),
                (8193, 8192, "states 8193 x 8192 pixels"), (1000000, 1000000, "states 1000000 x 1000000 pixels"),
                (2 ** 31 - 1, 2 ** 31 - 1, "is not a PNG"), (0, 5, "is not a PNG"), (2, 2, "is a broken PNG")]:
            with self.subTest((rows, columns)):
                write("wrong.png", suite.png(rows, columns, GREY, 8, b"\0\7\x09"))
                self.rejects("wrong.png", message)
        write("pgm", b"P5 2 2 255\n....\0")
        self.rejects("pgm", "begins with 0x5035, expected a PNG")
        self.fails("network learned-lisa --random 1 pgm -o none", "found neither PNG nor JPEG, expected one")

    def jpeg(self, name):
        """A seed of the fuzz target, without its two bytes; skips the test if the build has no libjpeg."""
        write("p.jpg", read(f"{suite.TREE}/tests/fuzz/images/{name}")[2:])
        if "no libjpeg" in suite.run("network learned-lisa --random 1 p.jpg -o y").err:
            self.rejects("p.jpg", "is a JPEG image, and this build has no libjpeg: convert it to PNG")
            self.skipTest("this build has no libjpeg")
        return read("p.jpg")

    def test_jpeg_pixels_are_exact(self):
        """Baseline in colour, progressive in grey: each four blocks of equal pixels, with the values of Pillow."""
        for name, colours in [("jpeg-colour", [(254, 0, 0), (0, 255, 1), (255, 176, 168), (0, 0, 254)]),
                              ("jpeg-grey", [3 * (value,) for value in (10, 100, 201, 255)])]:
            self.jpeg(name)
            write("p.png", png([colours[y // 8 * 2 + x // 8] for y in range(11) for x in range(13)], 11, 13, RGB, 8))
            self.assertEqual(*self.inputs(["p.jpg", "p.png"], "21x35"))

    def test_wrong_jpeg_files_are_rejected(self):
        whole = self.jpeg("jpeg-colour")
        at = whole.index(b"\xff\xc0") + 4                 # of precision, rows, columns
        for data, message in [
                *((whole[:length], "wrong.jpg: cannot be read as a JPEG (") for length in range(3, len(whole), 6)),
                (whole[:-1], "(Premature end of JPEG file)"), (whole[:2], "ends after 2 bytes"),
                (whole[:at] + b"\x0c" + whole[at + 1:], "Unsupported JPEG data precision 12"),
                (whole[:at + 1] + struct.pack(">HH", 8193, 8192) + whole[at + 5:], "states 8193 x 8192 pixels"),
                (self.jpeg("jpeg-cmyk"), "has 4 channels (CMYK has 4), expected grey or RGB"),
                (gzip.compress(whole), "begins with 0xffd8, expected a PNG, a JPEG")]:
            with self.subTest(data):
                write("wrong.jpg", data)
                self.rejects("wrong.jpg", message)

    def test_images_are_regular_files(self):
        os.mkfifo("pipe")
        os.mkdir("folder")
        for path, message in [("pipe", "is not a regular file"), ("folder", "is not a regular file"),
                              ("/dev/zero", "is not a regular file"), ("absent", "cannot be opened: No such file"),
                              ("pipe/file", "cannot be opened: Not a directory")]:
            with self.subTest(path):
                self.rejects(path, message)
                self.fails(f"network learned-lisa --random 1 {path} -o none", message)

    def test_mosaics_are_the_images_of_a_set(self):
        """Images of a set, row by row and cyclically, give the tokens of the same picture.  Each entry of a batch
        continues after the images of the previous one."""
        data = idx_header(0x803, *SET) + PIXELS
        write("set", data)
        write("set.gz", gzip.compress(data))
        for grid, rows, columns, first, tiles, origin in [
                ("2x3", 4, 6, 2, 1, "images 2 ... 2 of "), ("4x3x5", 6, 16, 1, 6, "images 1 ... 6 of "),
                ("7x5", 14, 10, 4, 6, "images 4 ... 9 (from 0 again after the last) of "),
                ("13", 8, 8, 0, 4, "images 0 ... 3 of ")]:
            with self.subTest(grid):
                words, expected = f"--grid {grid} --channels 5 --patch 2", ()
                for entry in range(9):
                    write("mosaic.png", mosaic(first + entry * tiles, rows, columns))
                    expected += self.tokens(words, "mosaic.png")[1]
                for path in "set", "set.gz":
                    said, found = self.tokens(f"{words} --first {first}", path)
                    self.assertTrue(said.startswith(origin), said)
                    self.assertEqual(found, expected[:len(found)])
                    self.assertEqual(self.tokens(f"{words} --first {first} --batch 9", path)[1], expected)
        self.fails("tokens --grid 2x3 --channels 5 --images set --first 7 -o none",
                   "image 7 asked for, the file has 7")

    def test_wrong_idx_files_are_rejected(self):
        for header, message in WRONG_SETS:
            with self.subTest(header):
                write("set", header + PIXELS)
                self.rejects("set", message)
                write("set.gz", gzip.compress(header + PIXELS))
                self.rejects("set.gz", message)

    def test_idx_files_end_after_their_pixels(self):
        """Also if the pixels fill whole read buffers: 4096 bytes, and four times that."""
        for side in 32, 64:
            data = idx_header(0x803, 4, side, side) + bytes(4 * side * side)
            write("set", data)
            self.tokens("--grid 2x2 --channels 1", "set")
            write("set", data + b"\0")
            self.rejects("set", "goes on after the")

    def test_lines_and_videos_are_cut_from_the_mosaic(self):
        """N tokens in a line and a video of one frame equal the image.  Each frame of a video shows the previous one,
        moved by one token."""
        write("set", idx_header(0x803, *SET) + PIXELS)
        plane, line, frame, video = (self.tokens(f"--grid {grid} --channels 4 --patch 2", "set")[1]
                                     for grid in ("3x4", "12", "1x3x4", "3x3x4"))
        self.assertEqual(line, plane)
        self.assertEqual(frame, plane)
        rows = [video[at:at + 16] for at in range(0, len(video), 16)]
        for row, next_row in zip(rows[:6], rows[3:]):
            self.assertEqual(next_row[:12], row[4:])
            self.assertGreater(max(abs(a - b) for a, b in zip(row, next_row)), 0.1)

    def test_constant_channels_become_zeros(self):
        """One colour, or a single token: rounding errors are not standardised."""
        write("flat.png", png(81 * [(51, 102, 153)], 9, 9, RGB, 8))
        said, tokens = self.tokens("--grid 5x7 --channels 8 --patch 3", "flat.png")
        self.assertEqual(said, "flat.png, scaled to cover 15x21 pixels, 3x3 patches\n")
        self.assertEqual(tokens, 35 * 8 * (0,))
        self.assertEqual(self.tokens("--grid 1 --channels 8")[1], 8 * (0,))

    def test_the_default_data_set_is_fashion_mnist(self):
        if not os.path.exists(DATA_SET):
            self.skipTest(f"no data set at {DATA_SET}")
        said, _ = self.tokens("--grid 14x14 --channels 3 --batch 2")
        self.assertEqual(said, "images 0 ... 7 of Fashion-MNIST (test), mosaics of 2x2, 4x4 patches\n")
        self.fails("tokens --grid 1 --channels 1 --first 10000 -o none", "the file has 10000")


if __name__ == "__main__":
    suite.main()
