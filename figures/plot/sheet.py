"""sheet.py -- lays out panels, matrices and texts in pixels, and lets gnuplot make the SVG

    sheet = Sheet("Time of one layer", wide=720, high=540)
    panel = sheet.panel(84, 52, 600, x=(8, 1000), y=(1, 100), xtics=..., ytics=...)
    panel.line([(10, 2), (100, 30)], BLUE)
    sheet.draw("work/lisa.svg")

Positions are pixels from the upper left corner.
"""
import itertools
import math
import os
import re
import subprocess
import sys
import textwrap

import fits

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = os.path.dirname(HERE)

# Okabe and Ito's colours, distinct to colour-blind eyes; some a little darker, for a contrast of 3:1 on white.
INK, FAINT, GRID, WHITE = 0x333333, 0x6b6b6b, 0xe6e6e6, 0xffffff
BLUE, SKY, GREEN, ORANGE, VERMILION, PURPLE, BLACK = 0x0072b2, 0x4699c8, 0x009e73, 0xc78300, 0xd55e00, 0xb8558a, 0
FRAME = 0xbbbbbb                                    # around matrices
# Letters are thinner than lines, so text in a colour has a contrast of 4.5:1.
WRITTEN = {SKY: 0x3a7698, GREEN: 0x00805d, ORANGE: 0x996300, VERMILION: 0xb95100, PURPLE: 0xa94d7e}
# The colours on a dark page.  Those over matrices (MARK, EDGE, LIGHT) stay.
DARK = {INK: 0xddd8cd, FAINT: 0xa0988a, GRID: 0x3d3a34, WHITE: 0x1b1a18, BLACK: 0xf2efe8, BLUE: 0x4fa8e8,
        SKY: 0xa3d5f5, GREEN: 0x35c79c, ORANGE: 0xe5a52e, VERMILION: 0xff8b4d, PURPLE: 0xe08fc0, FRAME: 0x5a564e}
DARK |= {written: DARK[colour] for colour, written in WRITTEN.items()}
MARK, EDGE, LIGHT = 0xffb000, 0x000001, 0xfffffe


class Panel:
    """A part of the sheet with its own axes, from x[0] to x[1] and y[0] to y[1]; `log` names the logarithmic axes."""

    def __init__(self, sheet, left, top, right, bottom, x, y, log=""):
        self.sheet, self.left, self.top, self.right, self.bottom = sheet, left, top, right, bottom
        self.x, self.y, self.log = x, y, log

    def at(self, x, y):
        def share(value, ends, log):
            value, low, high = (math.log(v) if log else v for v in (value, *ends))
            return (value - low) / (high - low)
        return (self.left + share(x, self.x, "x" in self.log) * (self.right - self.left),
                self.bottom - share(y, self.y, "y" in self.log) * (self.bottom - self.top))

    def line(self, points, colour, weight=2, dash=1, dot=0.5, point=7, quartiles=()):
        """A line with dots, cut where it leaves the panel at top or bottom.  Dot 0: no dots; weight 0: only dots.  Dash
        2 is dashed, 3 dotted; point 7 is filled, 6 a ring, 2 a cross."""
        places = [self.at(*place) for place in points]
        inside = list(itertools.takewhile(lambda place: self.top - 0.1 < place[1] < self.bottom + 0.1, places))
        if dot:
            self.sheet.points += [(x, y, dot, point, colour) for x, y in inside]
        if len(inside) < len(places):
            (x0, y0), (x1, y1) = inside[-1], places[len(inside)]
            edge = self.top if y1 < self.top else self.bottom
            inside.append((x0 + (x1 - x0) * (edge - y0) / (y1 - y0), edge))
        if weight and inside:
            self.sheet.line(inside, colour, weight, dash)
        for (x, _), ends in zip(points, quartiles):
            self.sheet.line([self.at(x, end) for end in ends], colour)

    def guide(self, *points):
        self.line(points, FAINT, 1, 2, 0)

    def upright(self, x):
        self.guide((x, self.y[0]), (x, self.y[1]))

    def mark(self, column, row, columns=1, rows=0, colour=EDGE, width=1.6):
        """Outlines cells of a matrix around a place; rows 0: as many as columns."""
        high = rows or columns
        left, top = self.at(column - columns / 2, row - high / 2)
        right, bottom = self.at(column + columns / 2, row + high / 2)
        self.sheet.outline(left, top, right - left, bottom - top, colour, width)

    def query(self, column, row, radius):
        """Marks a place of a matrix by a circle."""
        self.sheet.dot(*self.at(column, row), radius + 0.5, EDGE)
        self.sheet.dot(*self.at(column, row), radius - 0.5, MARK)


class Sheet:
    """Collects a figure.  foot: lines at the lower edge; table: holds the matrices."""

    def __init__(self, title, wide=720, high=540, foot=(), letters=15, table=None):
        self.title, self.wide, self.high, self.foot = title, wide, high, foot
        self.letters, self.table = letters, table
        # gnuplot rejects empty blocks: the first fill and point are off the sheet.
        self.tiles, self.lines = [], {}
        self.fills, self.points, self.texts = [(-9, -9, -9, -9, 0)], [(-9, -9, 1, 7, 0)], {}
        self.write(title, 16, 24, 17)
        for n, line in enumerate(reversed(foot)):
            self.write(line, 14, high - 12 - 18 * n, 12, FAINT)

    def line(self, points, colour, width=1, dash=1):
        self.lines.setdefault((colour, float(width), dash), []).extend([*points, ()])

    def outline(self, x, y, wide, high, colour, width=1):
        self.line([(x, y), (x + wide, y), (x + wide, y + high), (x, y + high), (x, y)], colour, width)

    def fill(self, x, y, wide, high, colour):
        self.fills.append((x, y, x + wide, y + high, colour))

    def dot(self, x, y, radius, colour):
        self.points.append((x, y, radius / 4.5, 7, colour))

    def write(self, text, x, y, size=0, colour=INK, anchor="left"):
        """A text, vertically centred at y.  The anchor is left, right, center or the angle of a slanted text."""
        if not text:
            return
        slant = () if isinstance(anchor, str) else (anchor,)
        self.texts.setdefault("slanted" if slant else anchor, []).append(
            (x, y, f"{{/={size} {text}}}" if size else text, WRITTEN.get(colour, colour), *slant))

    def panel(self, left, top, right, bottom=0, *, x, y, xtics, ytics, log="xy", heading="", xlabel="", bare=False):
        """Draws axes.  bottom 0: as low as tics and label above the foot allow.  tics: {value: text}; bare: no text at
        the y axis."""
        size = self.letters
        bottom = bottom or self.high - 18 * len(self.foot) - 4.8 * size
        panel = Panel(self, left, top, right, bottom, x, y, log)
        for value, text in ytics.items():
            if y[0] <= value <= y[1]:
                place = panel.at(x[0], value)[1]
                self.line([(left, place), (right, place)], GRID)
                self.line([(left - 0.45 * size, place), (left, place)], INK)
                self.write("" if bare else text, left - 1.15 * size, place, anchor="right")
        for value, text in xtics.items():
            if x[0] <= value <= x[1]:
                place = panel.at(value, y[0])[0]
                self.line([(place, bottom), (place, bottom + 0.45 * size)], INK)
                self.write(text, place, bottom + 1.95 * size, anchor="center")
        self.line([(left, top), (left, bottom), (right, bottom)], INK)
        self.write(heading, left + 2, top - 16)
        self.write(xlabel, (left + right) / 2, bottom + 3.5 * size, anchor="center")
        return panel

    def legend(self, names):
        """Names in the colours of their lines, side by side below the heading: [(name, colour)]."""
        x = 16
        for name, colour in names:
            self.write(name, x, 56, colour=colour)
            x += width(name, self.letters) + 26

    def label_ends(self, panel, ends, size=0):
        """Names to the right of a panel, next to the ends of their lines.  A name that was moved or is far gets a
        stroke.  ends: [(x, y, name, colour)], in units of the axes."""
        size, x = size or min(self.letters, 14), panel.right + 12
        places = [panel.at(*end[:2]) for end in ends]
        heights = apart([y for _, y in places], 1.3 * size)
        for (from_x, from_y), y, (_, _, name, colour) in zip(places, heights, ends):
            self.write(name, x, y, size, colour)
            if abs(y - from_y) > 0.6 * size or from_x < panel.right - 30:
                self.line([(from_x + 6, from_y), (x - 4, y)], colour, 0.7)

    def curves(self, panel, lines, points, quartiles=lambda key: (), size=0, named=True, fitted=False, **style):
        """Lines with names at their ends; if `fitted`, with exponents.  lines: {key: (name, colour)}; points and
        quartiles: functions of the key."""
        ends = []
        for key, (name, colour) in lines.items():
            found = points(key)
            panel.line(found, colour, quartiles=quartiles(key), **style)
            if named and name and found:
                ends.append((*found[-1], name + (fits.exponent(found) if fitted else ""), colour))
        self.label_ends(panel, ends, size)

    def tile(self, matrix, x, y, wide, high=None, palette="signed", ends=None, caption=""):
        """A matrix, given as rows or by its title.  `ends`: values at the ends of the palette.  No `high`: a square."""
        rows = self.table.matrix(matrix) if isinstance(matrix, str) else matrix
        high, columns = high or wide, len(rows[0])
        low, top = ends or ((-1, 1) if palette == "signed" else (0, 1))
        self.tiles.append({"rows": rows, "x": x, "y": y, "wide": wide / columns, "high": high / len(rows),
                           "palette": palette, "low": low, "top": top})
        self.outline(x, y, wide, high, FRAME)
        self.write(caption, x, y - 16)
        return Panel(self, x, y, x + wide, y + high, (-0.5, columns - 0.5), (len(rows) - 0.5, -0.5))

    def colour_bar(self, x, y, wide, high, low, top, step, unit=""):
        """The colours of viridis from `low` to `top`, with numbers at multiples of `step` to the right."""
        self.tile([(top - (top - low) * n / 127,) * 2 for n in range(128)], x, y, wide, high, "viridis", (low, top))
        for number in (n * step for n in range(math.ceil(low / step), math.floor(top / step) + 1)):
            place = y + high * (top - number) / (top - low)
            self.line([(x + wide, place), (x + wide + 4, place)], INK)
            self.write(f"{number:g}{unit}", x + wide + 9, place)

    def remark(self, text, y):
        """Ends the sheet with a remark, in lines of 98 letters.  Returns the sheet."""
        lines = textwrap.wrap(text, 98)
        for n, line in enumerate(lines):
            self.write(line, 16, y + 19 * n, 14, FAINT)
        self.high = y + 19 * len(lines) - 3
        return self

    def draw(self, out):
        """Draws the SVG.  The input files of plot.gp are written next to it.  A figure has at least one line."""
        if not self.lines:
            raise ValueError("no line to draw")
        base = os.path.splitext(os.path.abspath(out))[0]
        settings = {"data": base + ".data", "out": base + ".drawn", "wide": self.wide, "high": self.high,
                    "letters": self.letters, "tiles": len(self.tiles), "lines": len(self.lines)}
        for key in ("x", "y", "wide", "high", "palette", "low", "top") if self.tiles else ():
            settings["tile_" + key] = [tile[key] for tile in self.tiles]
        for key, values in zip(("colour", "width", "dash"), zip(*self.lines)):
            settings["line_" + key] = list(values)
        blocks = {f"tile {n:03d}": tile["rows"] for n, tile in enumerate(self.tiles, 1)}
        blocks |= {f"line {n:03d}": points for n, points in enumerate(self.lines.values(), 1)}
        blocks |= {"fills": self.fills, "points": self.points}
        blocks |= {f"text {anchor}": self.texts.get(anchor, [(-9, -9, "", 0, 0)])
                   for anchor in ("left", "right", "center", "slanted")}
        with open(base + ".set", "w", encoding="utf-8") as file:
            file.writelines(assignment(key, value) for key, value in settings.items())
        with open(base + ".data", "w", encoding="utf-8") as file:
            for title, rows in blocks.items():
                file.write(f"# {title}\n" + "".join("\t".join(map(column, row)) + "\n" for row in rows) + "\n\n")
        said = subprocess.run(["gnuplot", "-c", os.path.join(HERE, "plot.gp"), base + ".set"],
                              capture_output=True, text=True)
        if said.returncode:
            raise RuntimeError(f"gnuplot cannot draw {out}:\n{said.stderr}")
        sys.stderr.write(said.stderr)
        with open(base + ".drawn", encoding="utf-8") as file:
            svg = finish(file.read(), self.title)
        with open(out, "w", encoding="utf-8") as file:
            file.write(svg)


def column(value):
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def assignment(key, value):
    """key = value for gnuplot.  Single quotes: nothing in a text is expanded."""
    if isinstance(value, list):
        return f"array {key}[{len(value)}] = [{', '.join(map(repr, value))}]\n"
    return f"{key} = {value!r}\n"


def finish(svg, title):
    """Adds title and dark colours, keeps the pixels of matrices sharp, and removes empty groups."""
    title = re.sub(r"[{}_^|\\]", "", title).replace("&", "&amp;").replace("<", "&lt;")
    svg = re.sub(r"rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)", lambda m: "#%02x%02x%02x" % tuple(map(int, m.groups())), svg)
    svg = re.sub(r" ?= ?'([^']*)'", r'="\1"', svg).replace(' stroke-linecap="butt" stroke-linejoin="miter"', "")
    svg = svg.replace("<image ", '<image style="image-rendering:pixelated" ')
    svg = re.sub(r"<desc>.*?</desc>\s*|<title>.*?</title>\s*", "", svg, flags=re.S)
    empty = re.compile(r"\t*<g [^>]*>\s*</g>\n?")
    while empty.search(svg):
        svg = empty.sub("", svg)
    used = {int(colour, 16) for colour in re.findall(r'(?:fill|stroke|color)="#([0-9a-f]{6})"', svg)}
    rules = "".join(f'[{which}="#{light:06x}"]{{{which}:#{dark:06x}}}' for light, dark in DARK.items() if light in used
                    for which in ("fill", "stroke", "color"))
    head = f'<title>{title}</title>\n<style>@media (prefers-color-scheme:dark){{{rules}}}</style>\n'
    return re.sub(r"(<svg[^>]*)>\s*", lambda m: m[1].rstrip() + ' role="img">\n' + head, svg, count=1)


def width(text, size):
    """Width of a text in DejaVu Sans, which is wider than most fonts."""
    raised = re.findall(r"[_^]\{(.*?)\}", text)
    text = re.sub(r"\{/=\d+ |[_^]\{.*?\}|[{}\\]", "", text)

    def em(letters):
        return sum(0.32 if c in " .,:;'’|!iljtfI()/-" else 0.9 if c in "mwMW×" else 0.65 for c in letters)
    return size * (em(text) + 0.8 * sum(map(em, raised)))


def apart(heights, gap):
    """Heights of labels, moved until they are `gap` from each other and in the same order."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    heights = list(heights)
    for _ in range(500):
        for a, b in zip(order, order[1:]):
            move = (gap - (heights[b] - heights[a])) / 2
            if move > 0:
                heights[a], heights[b] = heights[a] - move, heights[b] + move
    return heights
