"""panels.py -- layouts that several figures share: a layer against the number of tokens, and numbers with bars"""
import math

import fits
from sheet import BLUE, FAINT, GREEN, GRID, INK, PURPLE, Sheet, VERMILION, WHITE, width


def thousands(n):
    return f"{n:,.0f}".replace(",", " ")


def tics(values, text=lambda v: thousands(v) if v % 1 == 0 else str(v)):
    return {value: text(value) for value in values}


TIMES = {1e-5: "10 µs", 1e-4: "100 µs", 1e-3: "1 ms", 1e-2: "10 ms", 0.1: "100 ms"} | tics(
    (10.0 ** n for n in range(8)), lambda v: f"{v:.0f} s" if v < 1e3 else f"10^{math.log10(v):.0f} s")
BYTES = tics((2.0 ** n for n in range(10, 48, 2)), fits.amount)
POWERS = tics((10.0 ** n for n in range(3, 20)), lambda v: f"10^{{{math.log10(v):.0f}}}")


# Naive to plain (ChoP'D: by way of direct) is the algorithm's part, plain to fast the machine's.
FORMS = {"naive": VERMILION, "direct": PURPLE, "plain": GREEN, "fast": BLUE}
CHAIN = ("naive", "plain", "fast")
SCALAR = "Naive and plain are compiled without vectorisation, since the compiler vectorises some loops and not others."


QUANTITIES = {"time": ("median_seconds", "Time of one layer", TIMES),
              "memory": ("peak_bytes", "Memory of one layer, without input, output and parameters",
                         tics((2.0 ** n for n in range(12, 48, 4)), fits.amount)),
              "work": ("multiply_adds", "Multiply-adds of one layer, by formula", POWERS)}


def steps(sheet, panel, table, column, series, chain, curves):
    """At the largest size where all forms of a chain were measured, draw a stroke from each to the next.  The factor
    stands next to it, where the fewest curves pass."""
    drawn = [panel.at(*point) for curve in curves for point in fits.dense(curve)]

    def passing(left, y, wide):
        return sum(left - 3 < x < left + wide + 3 and abs(y - at) < 9 for x, at in drawn)
    rows = fits.together(table, series, chain)[-1]
    for pair in zip(rows, rows[1:]):
        (x, above), (_, below) = (panel.at(int(row["tokens"]), float(row[column])) for row in pair)
        if abs(above - below) > 12:
            text = fits.three(fits.factor(pair, column)) + "×"
            sheet.line([(x, above), (x, below)], INK, 1.2)
            wide = width(text, 13)
            sides = [x + 4] * (x < panel.right - 40) + [x - wide - 6]               # right of the panel are line names
            left, y = min(((left, above + part * (below - above)) for part in (0.5, 0.35, 0.65, 0.2, 0.8)
                           for left in sides), key=lambda place: passing(*place, wide))
            sheet.fill(left - 1, y - 8, wide + 2, 16, WHITE)
            sheet.write(text, left, y, 13)


def scaling(table, quantity, lines, layer, remark="", guides=False, title="", chains=()):
    """One quantity of a table that `measure` made.  Names and fitted exponents stand at the ends of the lines; bars of
    times are quartiles.  Dotted lines are estimates, a cross is the first size that was not run.  lines: {SERIES/FORM:
    (name, colour, weight)}, the last on top; remark: a line at the foot, or a function of the sweep; chains: (series,
    forms) whose factors are drawn, and written at the foot."""
    column, heading, ytics = QUANTITIES[quantity]
    sweep = fits.Sweep(table, column)
    lines = {key: line for key, line in lines.items() if key in sweep.series}
    ends = [(*sweep.end(key), name + fits.exponent(sweep.points(key)), colour)
            for key, (name, colour, _) in lines.items()]
    dotted, crossed = any(map(sweep.estimate, lines)), any(map(sweep.cross, lines))
    foot = [layer + ("." if quantity == "work" else ", one thread, float.") + "  Dotted: estimated." * dotted +
            "  Crosses: not run." * crossed,
            fits.FITTED * any("N^" in name for _, _, name, _ in ends), SCALAR * bool(chains and quantity == "time"),
            *(fits.factors_in_words(table, *chain, quantity == "time") for chain in chains),
            remark(sweep) if callable(remark) else remark, table.measured() * (quantity != "work")]
    foot = [line for line in foot if line]
    sheet = Sheet(title or heading, high=468 + 18 * len(foot), foot=foot)

    first, last = sweep.sizes[0], sweep.sizes[-1]
    starts = [sweep.points(key)[0] for key in sweep.series]
    low = min(value for N, value in starts if N == first) / (12 if guides else 3)
    high = max(value for key in sweep.series for _, value in sweep.points(key) + [sweep.end(key)]) * 4
    # The largest size has a tick, and those of half its side, a quarter, ...
    sizes = [last // 4 ** n for n in range(10) if last % 4 ** n == 0 and last / 4 ** n >= first / 1.12]
    panel = sheet.panel(84, 52, 720 - 20 - max(width(end[2], 14) for end in ends), x=(first / 1.12, last * 1.12),
                        y=(low, high), xtics=tics(sizes), ytics=ytics, xlabel="tokens N, on square grids")
    if guides:
        fan(sheet, panel, last / 16, low * 1.4)
    for key, (_, colour, weight) in lines.items():
        panel.line(sweep.estimate(key), colour, 0.75 * weight, 3, 0)
    for key, (_, colour, weight) in lines.items():
        quartiles = zip(*([value for _, value in sweep.points(key, end)] for end in ("q1_seconds", "q3_seconds")))
        panel.line(sweep.points(key), colour, weight, dot=min(0.25 + 0.12 * weight, 0.6),
                   quartiles=quartiles if quantity == "time" else ())
        if sweep.cross(key):
            panel.line([sweep.cross(key)], colour, 0, dot=0.9, point=2)
    for series, chain in chains:
        steps(sheet, panel, table, column, series, chain,
              [curve for key in lines for curve in (sweep.points(key), sweep.estimate(key))])
    sheet.label_ends(panel, ends, 14)
    return sheet


def fan(sheet, panel, x, y):
    """Guides from the empty corner below all lines: N, N log N, and N^2 for two octaves."""
    for name, octaves, above, up in (("N", 4, 4, lambda n: n), ("N^2", 2, -6, lambda n: n * n),
                                     ("N log N", 4, -8, lambda n: n * math.log(x * n) / math.log(x))):
        points = [(x * n, y * up(n)) for n in (2 ** (k / 2) for k in range(2 * octaves + 1))]
        panel.guide(*points)
        right, end = panel.at(*points[-1])
        sheet.write(name, right + 6, end + above, 12, FAINT)


def scaled(n):
    """Three digits and an SI prefix."""
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


def counts(title, columns, groups, foot, left, wide):
    """Numbers with bars of logarithmic length; a zero or a dash has no bar.  columns: (heading, key, colour, function
    that writes a number); groups: (remark above, [(name, row)])."""
    y, names, lines = 54, [], []
    for remark, rows in groups:
        y += 32 if remark else 10 if lines else 0
        names.append((fits.plain(remark), 16, y, 12, FAINT))
        for name, row in rows:
            y += 25
            names.append((name, 16, y))
            lines.append((y, row))
    if not lines:
        raise ValueError("no row to draw")
    sheet = Sheet(title, wide, y + 32 + 18 * len(foot), foot)
    for name in names:
        sheet.write(*name)
    for at, (heading, key, colour, written) in zip(range(left, wide, 134), columns):
        sheet.write(heading, at - 60, 54)
        cells = [(middle, float(row[key])) for middle, row in lines if row[key] != "–"]
        found = [math.log10(value) for _, value in cells if value] or [0]
        low, high = min(found) - math.log10(2), max(found)
        for ten in range(math.ceil(low), math.ceil(high)):
            x = at + 57 * (ten - low) / (high - low)
            sheet.line([(x, 66), (x, y + 16)], GRID, 0.7)
        for middle, value in cells:
            sheet.write(written(value) if value else "–", at - 8, middle, anchor="right")
            if value:
                sheet.fill(at, middle - 4.5, 57 * (math.log10(value) - low) / (high - low), 9, colour)
    return sheet
