"""fits.py -- works on measured tables: exponents, estimates, and the tables of the gap and of the goals"""
import itertools
import math
import re


class Table:
    """A TSV file.  rows: a dictionary {column: text} each; notes: its comments `# key: value`; sections: for each head
    line, the note above it and its rows; matrices: rows of cells, by the comment without a colon above them."""

    def __init__(self, path):
        self.path, self.notes, self.rows, self.sections, self.matrices = path, {}, [], [], {}
        columns, note, matrix = [], "", []
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        for line in lines:
            cells = line.lstrip("#").split("\t")
            if len(cells) > 1 and (line.startswith("#") or not columns):
                columns = cells
                self.sections.append((note, []))
            elif line.startswith("#"):
                key, colon, note = line[2:].partition(": ")
                self.notes.setdefault(key, note)
                matrix = matrix if colon else self.matrices.setdefault(key, [])
            elif line and columns:
                self.rows.append(dict(zip(columns, cells)))
                self.sections[-1][1].append(self.rows[-1])
            if line and not line.startswith("#"):
                matrix.append(cells)

    def where(self, **cells):
        return [row for row in self.rows if all(row[column] == text for column, text in cells.items())]

    def points(self, x, y, **cells):
        """Two columns as numbers, for the rows that have these cells."""
        return [(float(row[x]), float(row[y])) for row in self.where(**cells)]

    def range(self, column):
        values = [float(row[column]) for row in self.rows]
        return min(values), max(values)

    def matrix(self, title):
        return self.found(self.matrices, title)

    def vectors(self, title):
        """The rows of a matrix, as numbers."""
        return [tuple(map(float, row)) for row in self.matrix(title)]

    def numbers(self, key):
        """The numbers in a note."""
        return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", self.found(self.notes, key))]

    def places(self, key):
        """The pairs (row, column) in a note."""
        numbers = self.numbers(key)
        return list(zip(numbers[::2], numbers[1::2]))

    def found(self, what, key):
        if not what.get(key):
            raise RuntimeError(f"{self.path}: expected a matrix or remark '{key}', found none: compute the table anew")
        return what[key]

    def measured(self):
        """A sentence with the machine, its name shortened, and the day."""
        machine = re.sub(r"\((R|TM|C)\)| CPU| Processor", "", self.notes.get("machine", ""))
        machine = re.sub(r" *@ *", " at ", machine)
        machine = machine[:79] + "…" if len(machine) > 80 else machine
        day = self.notes.get("measured", "")[:10]
        return plain(f"Measured on {machine}{', ' + day if day else ''}.")


def plain(text):
    """Escape what gnuplot's enhanced text takes for commands; a data file halves backslashes."""
    return re.sub(r"([{}_^@&~])", r"\\\\\1", text)


FITTED = "Exponents of N are fitted over the last factor of 16 in N, where four sizes or more lie in it."


def tail(points):
    """The points in the last factor of 16 in N."""
    return [point for point in points if point[0] * 16 >= points[-1][0]]


def slope(points):
    """The exponent of N over the last factor of 16, by least squares, and its standard error."""
    points = tail(points)
    x, y = [math.log(N) for N, _ in points], [math.log(value) for _, value in points]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    sxx = sum((a - mx) ** 2 for a in x)
    sxy = sum((a - mx) * (b - my) for a, b in zip(x, y))
    syy = sum((b - my) ** 2 for b in y)
    b = sxy / sxx
    return b, math.sqrt((syy - b * sxy) / (len(x) - 2) / sxx) if len(x) > 2 and syy > b * sxy else 0.0


def exponent(points):
    """The exponent as the end of a label; empty if tail() has fewer than four sizes."""
    return f"  N^{{{slope(points)[0]:.2f}}}" if len(tail(points)) >= 4 else ""


class Sweep:
    """A column of a measured table, by key SERIES/FORM."""

    def __init__(self, table, column):
        self.column, self.series = column, {}
        self.limit = float(table.notes["limits"].split()[0]) if "limits" in table.notes else None
        self.grids = {int(row["tokens"]): row.get("grid", "") for row in table.rows}
        self.sizes = sorted(self.grids)
        for row in table.rows:
            self.series.setdefault(f"{row['series']}/{row['form']}", []).append(row)

    def points(self, key, column=""):
        return [(int(row["tokens"]), float(row[column or self.column])) for row in self.series.get(key, ())]

    def estimate(self, key):
        """If a quadratic series ends before the largest size: its last point, and estimates for the next and the
        largest size.  Time is assumed to grow like N^2, bytes and operations like a N^2 + b N."""
        points = self.points(key)
        if self.limit is None or not re.search(r"/naive$|^msa", key) or points[-1][0] == self.sizes[-1]:
            return []
        following = next(size for size in self.sizes if size > points[-1][0])
        extended = square if self.column == "median_seconds" else quadratic
        return points[-1:] + [(size, extended(points, size)) for size in (following, self.sizes[-1])]

    def end(self, key):
        """Where a line ends, estimate included."""
        return (self.estimate(key) or self.points(key))[-1]

    def cross(self, key):
        """The first size beyond a limit, (N, estimate); None if there is none."""
        estimate = self.estimate(key)
        stopped = self.column == "median_seconds" or estimate and 0 < self.limit < quadratic(self.points(key),
                                                                                             estimate[1][0])
        return estimate[1] if estimate and stopped and self.column != "multiply_adds" else None

    def ahead(self, key, other):
        """The last measured size up to which one series stays at or below another, in words."""
        theirs, last = dict(self.points(other)), 0
        for N, value in self.points(key):
            if value > theirs.get(N, value):
                return f"up to N = {last}" if last else "nowhere"
            last = N if N in theirs else last
        return "at every N"

    def overtakes(self, series):
        """The size from which plain is faster than naive, in words."""
        naive, plain = dict(self.points(series + "/naive")), self.points(series + "/plain")
        both = [(N, value) for N, value in plain[::-1] if N in naive]
        faster = list(itertools.takewhile(lambda point: point[1] < naive[point[0]], both))
        if not faster or faster == both:
            return "Plain is faster than naive at every size." if faster else "Plain is not faster than naive."
        return f"Plain is faster than naive from {self.grids[faster[-1][0]].replace('x', '×')} tokens on."


def square(points, size):
    N, value = points[-1]
    return value * (size / N) ** 2


def quadratic(points, size):
    if len(points) < 2:
        return square(points, size)
    (N0, value0), (N, value) = points[-2:]
    a = (value / N - value0 / N0) / (N - N0)
    if a < 0:
        return value * size / N                     # so far it grows more slowly than N
    return a * size * size + (value / N - a * N) * size


def amount(b):
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if b < 1024 or unit == "TiB":
            return f"{b:.{1 if b < 10 and b % 1 else 0}f} {unit}"
        b /= 1024


def four(x):
    return f"{x:.0f}" if x >= 9999.5 else f"{x:.4g}"


def three(x):
    return f"{x:.0f}" if x >= 999.5 else f"{x:.3g}"


def cells(*values):
    return "\t".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values)


def head(*tables):
    """Comments with the machines of the tables, each once, and the latest day."""
    machines = dict.fromkeys(t.notes["machine"] for t in tables if "machine" in t.notes)
    return ["# machine: " + "; ".join(machines), "# measured: " + max(t.notes.get("measured", "")[:10] for t in tables)]


def together(table, series, forms):
    """The rows of these forms, [[row of each form] of each size], at the sizes where all of them were measured."""
    at = [{row["tokens"]: row for row in table.where(series=series, form=form)} for form in forms]
    return [[rows[size] for rows in at] for size in at[0] if all(size in rows for rows in at)]


def dense(points):
    """A curve on log-log axes with seven more points between any two."""
    return [tuple(a ** (1 - part / 8) * b ** (part / 8) for a, b in zip(*pair))
            for pair in zip(points or (), (points or ())[1:]) for part in range(9)]


def factor(rows, column):
    return float(rows[0][column]) / float(rows[1][column])


FACTORS = (("median_seconds", "time"), ("multiply_adds", "multiply-adds"), ("peak_bytes", "memory"))


def factors_in_words(table, series, chain, timed=True):
    """A sentence with the factors between successive forms, at the largest size where all were measured."""
    rows, steps = together(table, series, chain)[-1], []
    for pair in zip(rows, rows[1:]):
        to = pair[1]["form"]
        shown = FACTORS[0 if timed else 1 + (to == "fast"):1 if timed and to == "fast" else 3]
        steps.append(f"{pair[0]['form']} to {to}: " +
                     ", ".join(f"{name} {three(factor(pair, column))}×" for column, name in shown))
    return f"{rows[0]['grid'].replace('x', '×')} tokens, " + "; ".join(steps) + "."


def gap(operators, identities, tables):
    """The gap, from naive to plain (the algorithm) and from plain to fast (the machine), as lines of three tables:
    factors at each size where all forms were measured; at the largest of these; exponents of each form in N.
    operators: (key, name, table, series, {form: (formula of multiply-adds, of memory)}); identities, the steps of a
    chapter that has two: (key, name, table, series, forms)."""
    columns = cells("#series", "operator", "grid", "tokens", "from", "to", "from_seconds", "to_seconds", "fast_seconds",
                    "algorithm", "machine", "less_work", "less_memory", "from_bytes", "to_bytes", "fast_bytes")
    pairs, factors, exponents = [columns], [columns], [
        cells("#operator", "form", "sizes", "from", "to", "work", "work_exponent", "time_exponent", "memory",
              "memory_exponent")]
    for key, name, table, series, forms in (*operators, *identities):
        lines = []
        for rows in together(tables[table], series, tuple(forms)):
            first, second = rows[:2]
            third = rows[2] if rows[2:] else {"median_seconds": "", "peak_bytes": ""}
            of = [four(factor(rows, column)) for column, _ in FACTORS]
            of.insert(1, four(factor(rows[1:], "median_seconds")) if rows[2:] else "")
            lines.append(cells(key, name, first["grid"], first["tokens"], first["form"], second["form"],
                               *(row["median_seconds"] for row in (first, second, third)), *of,
                               *(row["peak_bytes"] for row in (first, second, third))))
        pairs += lines
        factors += lines[-1:]
    for _, name, table, series, formulas in operators:
        for form, (work, memory) in formulas.items():
            rows = tables[table].where(series=series, form=form)
            lines = {column: tail([(int(row["tokens"]), float(row[column])) for row in rows]) for column, _ in FACTORS}
            N = [size for size, _ in lines["peak_bytes"]]
            if len(N) >= 3:                         # fewer are too few for a fit
                fit = {column: slope(points) for column, points in lines.items()}
                exponents.append(cells(name, form, len(N), N[0], N[-1], work, f"{fit['multiply_adds'][0]:.3f}",
                                       "%.2f ± %.2f" % fit["median_seconds"], memory, f"{fit['peak_bytes'][0]:.3f}"))
    return pairs, factors, exponents


def runs(more, saved):
    """Runs after which the fast form has repaid its longer preparation."""
    return "never" if saved <= 0 else str(max(1, math.ceil(more / saved)))


# RATIOS take all three forms, AMOUNTS only the fast one; a form is (seconds, bytes, seconds to prepare).
RATIOS = {"algorithm": lambda naive, plain, fast: three(naive[0] / plain[0]),
          "machine": lambda naive, plain, fast: three(plain[0] / fast[0]),
          "memory": lambda naive, plain, fast: three(naive[1] / fast[1]),
          "runs": lambda naive, plain, fast: runs(fast[2] - naive[2], naive[0] - fast[0])}
AMOUNTS = {"milliseconds": lambda fast: three(1e3 * fast[0]), "mebibytes": lambda fast: three(fast[1] / 2 ** 20)}


def by_grid(table, quantities):
    """The lines of a table with a row for each quantity and series, and a column for each grid."""
    names, grids = (dict.fromkeys(row[column] for row in table.rows) for column in ("series", "grid"))
    columns = ("median_seconds", "peak_bytes", "prepare_seconds")
    at = {(row["series"], row["form"], row["grid"]): [float(row[column]) for column in columns] for row in table.rows}

    def cell(quantity, name, grid):
        forms = [at.get((name, form, grid)) for form in (("naive", "plain", "fast") if quantity in RATIOS
                                                    else ("fast",))]
        return (RATIOS | AMOUNTS)[quantity](*forms) if all(forms) else ""
    return [cells("#what", "operator", *(grid.replace("x", "×") for grid in grids))] + [
        cells(quantity, name, *(cell(quantity, name, grid) for grid in grids))
        for quantity in quantities for name in names]
