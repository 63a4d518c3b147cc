"""panels.py -- layouts that are lines or bars: scaling, panels, counts

A layout returns (template, settings, blocks) for sheet.render.  Positions are pixels from the upper left corner.
"""
import math

import fits
from sheet import FAINT, GRID, INK, WRITTEN, plain


def thousands(n):
    return f"{n:,.0f}".replace(",", " ")


def tics(values, text=lambda v: thousands(v) if v % 1 == 0 else str(v)):
    return {value: text(value) for value in values}


TIMES = {1e-5: "10 µs", 1e-4: "100 µs", 1e-3: "1 ms", 1e-2: "10 ms", 0.1: "100 ms"} | tics(
    (10.0 ** n for n in range(8)), lambda v: f"{v:.0f} s" if v < 1e3 else f"10^{math.log10(v):.0f} s")
BYTES = tics((2.0 ** n for n in range(12, 48, 4)), fits.amount)
FINE_BYTES = tics((2.0 ** n for n in range(10, 48, 2)), fits.amount)
POWERS = tics((10.0 ** n for n in range(3, 20)), lambda v: f"10^{{{math.log10(v):.0f}}}")


class Panel:
    """Axes at a place in the sheet, and the lines in them.  x and y: the ends of the axes; tics: {value: text}; bare:
    nothing is written at the y axis, which is that of the panel to the left."""

    def __init__(self, left, top, right, bottom, x, y, xtics, ytics, log="xy", bare=False):
        self.left, self.top, self.right, self.bottom = left, top, right, bottom
        self.x, self.y, self.xtics, self.ytics, self.log = x, y, xtics, dict.fromkeys(ytics, "") if bare else ytics, log
        self.lines, self.bars, self.points = [], [], []

    def at(self, x, y):
        """A place in pixels."""
        def share(value, ends, log):
            value, low, high = (math.log(v) if log else v for v in (value, *ends))
            return (value - low) / (high - low)
        return (self.left + share(x, self.x, "x" in self.log) * (self.right - self.left),
                self.bottom - share(y, self.y, "y" in self.log) * (self.bottom - self.top))

    def line(self, points, colour, weight=2.0, dash=1, dot=0.5, point=7, quartiles=()):
        """A line with a dot at each point; dot 0: without, weight 0: dots only.  Dash 2 is dashed, 3 dotted."""
        if weight:
            self.lines.append((points, colour, weight, dash))
        if dot:
            self.points += [(x, y, dot, point, colour) for x, y in points]
        self.bars += [(x, low, 0, high - low, colour) for (x, _), (low, high) in zip(points, quartiles)]

    def upright(self, x):
        self.line([(x, self.y[0]), (x, self.y[1])], FAINT, 1, 2, 0)


class Sheet:
    """A drawing of panels and texts."""

    def __init__(self, title, wide=720, high=540, foot=(), **settings):
        self.settings = {"wide": wide, "high": high, "title": title, "foot": list(foot)} | settings
        self.letters = settings.get("letters", 15)
        self.panels, self.texts, self.strokes, self.blocks = [], [], [], {}

    def panel(self, left, top, right, bottom=0, heading="", xlabel="", **axes):
        """Adds a panel, down to what its tics and label need above the foot."""
        above_foot = self.settings["high"] - 18 * len(self.settings["foot"]) - 4.8 * self.letters
        panel = Panel(left, top, right, bottom or above_foot, **axes)
        self.panels.append(panel)
        middle = (panel.left + panel.right) / 2
        self.text(panel.left + 2, panel.top - 16, heading, INK)
        self.text(middle, panel.bottom + 3.5 * self.letters, xlabel, INK, "center")
        return panel

    def text(self, x, y, text, colour=INK, anchor="left", size=0):
        if text:
            self.texts.append((x, y, text, WRITTEN.get(colour, colour), anchor, size))

    def legend(self, names, y, x=16, gap=26):
        """Names in the colours of their lines, side by side: [(name, colour)]."""
        for name, colour in names:
            self.text(x, y, name, colour)
            x += fits.width(name, self.letters) + gap

    def label_ends(self, panel, ends, size=0):
        """Names to the right of a panel, next to the ends of their lines and apart from each other.  ends: [(x, y,
        name, colour)] of values.  A thin stroke goes from the end to a name that was moved or is far."""
        size, x = size or min(self.letters, 14), panel.right + 12
        places = [panel.at(*end[:2]) for end in ends]
        heights = fits.apart([y for _, y in places], 1.3 * size)
        for (from_x, from_y), y, (_, _, name, colour) in zip(places, heights, ends):
            self.text(x, y, name, colour, "left", size)
            if abs(y - from_y) > 0.6 * size or from_x < panel.right - 30:
                self.strokes.append((from_x + 6, from_y, x - 4 - from_x - 6, y - from_y, colour))

    def curves(self, panel, lines, points, quartiles=lambda key: (), size=0, named=True, fitted=False, **style):
        """Lines, and their names at their ends, perhaps with exponents.  lines: {key: (name, colour)}; points and
        quartiles: functions of the key, [(x, y)] and [(low, high)]."""
        ends = []
        for key, (name, colour) in lines.items():
            found = points(key)
            panel.line(found, colour, quartiles=quartiles(key), **style)
            if named and name and found:
                ends.append((*found[-1], name + (fits.exponent(*zip(*found)) if fitted else ""), colour))
        self.label_ends(panel, ends, size)

    def drawing(self, bars=None):
        """Template, settings and blocks; with bars (left, right, top, bottom, colour) instead of panels."""
        s, blocks = self.settings, self.blocks | {"texts": self.texts, "strokes": self.strokes}
        if bars:
            return "bars", s, blocks | {"bars": bars}
        lines = [line for panel in self.panels for line in panel.lines]
        for n, (points, *_) in enumerate(lines, 1):
            blocks[f"line {n}."] = points
        for n, panel in enumerate(self.panels, 1):
            blocks[f"bars {n}."] = panel.bars or [(None,) * 5]
            blocks[f"points {n}."] = panel.points or [(None,) * 5]
        for edge in ("left", "right", "top", "bottom"):
            s[edge] = [float(getattr(panel, edge)) for panel in self.panels]
        for axis in ("x", "y"):
            s[axis + "range"] = ["[%.9g:%.9g]" % getattr(panel, axis) for panel in self.panels]
            s[axis + "tics"] = [", ".join(f'"{text}" {float(value):.9g}' for value, text in getattr(
                panel, axis + "tics").items()).replace("%", "%%") for panel in self.panels]
        last = [sum(len(panel.lines) for panel in self.panels[:n]) for n in range(len(self.panels) + 1)]
        s |= {"wide": float(s["wide"]), "high": float(s["high"]), "log_axes": [panel.log for panel in self.panels],
              "first": [n + 1 for n in last[:-1]], "last": last[1:], "colour": [line[1] for line in lines],
              "weight": [float(line[2]) for line in lines], "dash": [line[3] for line in lines]}
        return "lines", s, blocks


# ---- a layer against the number of tokens ---------------------------------------------------------

QUANTITIES = {"time": ("median_seconds", "Time of one layer", TIMES),
              "memory": ("peak_bytes", "Memory of one layer, beside input, output and parameters", BYTES),
              "work": ("multiply_adds", "Multiply-adds of one layer, by formula", POWERS)}


def quarters(smallest, largest):
    """The largest size has a tick, and those of half its side, a quarter, ..."""
    sizes = [largest // 4 ** n for n in range(10) if largest % 4 ** n == 0 and largest / 4 ** n >= smallest / 1.12]
    return tics(sizes)


def scaling(table, quantity, lines, layer, remark="", reasons=(), guides=False, title=""):
    """One quantity of a table that measure.c made.  Names and fitted exponents stand at the ends of the lines,
    quartiles of times as bars on the points.  Dotted lines are estimates, a cross is the first size that was not run.

    lines: {SERIES/FORM: (name, colour, weight)}, the last on top.  reasons: keys whose cross says why, above or below.
    remark: a line at the foot, as text or as a function of the sweep."""
    column, heading, ytics = QUANTITIES[quantity]
    sweep = fits.Sweep(table, column)
    lines = {key: line for key, line in lines.items() if key in sweep.series}
    crossed, dotted = any(map(sweep.why, lines)), any(map(sweep.stopped, lines))
    fitted = any(sweep.series[key].exponent() for key in lines)
    remark = remark(sweep) if callable(remark) else remark
    foot = [layer + ("." if quantity == "work" else ", one thread, float.") + "  Dotted: estimated." * dotted +
            "  Crosses: not run." * crossed]
    if fitted:
        foot.append(fits.FITTED)
    foot += [remark] * bool(remark) + [plain(table.measured())] * (quantity != "work")
    ends = [(*sweep.end(key), name + sweep.series[key].exponent(), colour) for key, (name, colour, _) in lines.items()]
    sheet = Sheet(title or heading, foot=foot)
    low, high = sweep.least / (12 if guides else 3), sweep.top * 4
    panel = sheet.panel(84, 52, 720 - 20 - max(fits.width(end[2], 14) for end in ends),
                        x=(sweep.sizes[0] / 1.12, sweep.sizes[-1] * 1.12), y=(low, high),
                        xtics=quarters(sweep.sizes[0], sweep.sizes[-1]), ytics=ytics,
                        xlabel="tokens N, on square grids")
    if guides:
        fan(sheet, panel, sweep.sizes[-1] / 16, low * 1.4)
    for key, (_, colour, weight) in lines.items():
        if sweep.stopped(key):
            panel.line(sweep.estimate(key), colour, 0.75 * weight, 3, 0)
    for key, (_, colour, weight) in lines.items():
        s = sweep.series[key]
        quartiles = zip(s.column("q1_seconds"), s.column("q3_seconds")) if quantity == "time" else ()
        panel.line(list(zip(s.N, s.value)), colour, weight, dot=min(0.25 + 0.12 * weight, 0.6), quartiles=quartiles)
        cross = sweep.cross(key)
        if cross:
            panel.line([cross[:2]], colour, 0, dot=0.9, point=2)
            if key in reasons:
                x, y = panel.at(*cross[:2])
                above = reasons[key] == "above"
                sheet.text(x - 12 if above else x + 12, y - 10 if above else y + 11, cross[2], colour,
                           "right" if above else "left", 12)
    sheet.label_ends(panel, ends, 14)
    return sheet.drawing()


def fan(sheet, panel, x, y):
    """Guides from the empty corner below all lines: N, N log N, and N^2 for two octaves."""
    for name, at, up in (("N", 16, lambda n: n), ("N log N", 16, lambda n: n * math.log(x * n) / math.log(x)),
                         ("N^2", 4, lambda n: n * n)):
        sizes = [2 ** (k / 2) for k in range(int(2 * math.log2(at)) + 1)]
        panel.line([(x * n, y * up(n)) for n in sizes], FAINT, 1, 2, 0)
        end = panel.at(x * at, y * up(at))
        sheet.text(end[0] + 6, end[1] + {"N": 4, "N log N": -8, "N^2": -6}[name], name, FAINT, "left", 12)


# ---- numbers and bars -----------------------------------------------------------------------------

def scaled(n):
    """Three digits, and what they are to be multiplied with."""
    for unit in ("", " k", " M", " G", " T", " P"):
        if n < 999.5:
            return f"{n:.{0 if not unit or n >= 99.95 else 1 if n >= 9.995 else 2}f}{unit}"
        n /= 1000


def seconds(s):
    for unit in (" s", " ms"):
        if s >= 0.9995:
            return f"{s:.{0 if s >= 99.5 else 1 if s >= 9.95 else 2}f}{unit}"
        s *= 1000
    return f"{s:.0f} µs"


def counts(title, columns, groups, foot, left, pitch, wide):
    """Numbers with bars whose lengths are logarithms.

    columns: (heading, key, colour, how a number is written).  groups: (remark above, [(name, row)]).  A cell that is no
    number has no bar."""
    texts, lines, y = [], [], 54
    for remark, rows in groups:
        y += 32 if remark else 10 if lines else 0
        texts.append((16, y, plain(remark), FAINT, "left", 12))
        for name, row in rows:
            y += 25
            lines.append((y, row))
            texts.append((16, y, name))
    sheet, bars = Sheet(title, wide, y + 32 + 18 * len(foot), foot), []
    for text in texts:
        sheet.text(*text)
    for n, (heading, key, colour, written) in enumerate(columns):
        at = left + pitch * n
        sheet.text(at - 60, 54, heading)
        cells = [(at_y, float(row[key])) for at_y, row in lines if row[key] != "–"]
        found = [v for _, v in cells if v]
        low, high = math.log10(min(found, default=1) / 2), math.log10(max(found, default=1))
        for ten in range(math.ceil(low), math.ceil(high)):
            sheet.strokes.append((at + 57 * (ten - low) / (high - low), 66, 0, y - 50, GRID))
        for at_y, v in cells:
            sheet.text(at - 8, at_y, written(v) if v else "–", INK, "right")
            if v:
                bars.append((at, at + 57 * (math.log10(v) - low) / (high - low), at_y - 4.5, at_y + 4.5, colour))
    return sheet.drawing(bars)
