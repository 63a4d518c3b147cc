"""fits.py -- numbers from measured tables: exponents, estimates, ratios; and the placing of labels

Table reads a TSV file.  Sweep cuts one column of a table into series.  The tables of the gap and of the goals are
functions that return lines.
"""
import math
import re


class Table:
    """Rows of a TSV file as {column: text}, and its comments `# key: value` as notes.  A comment without a colon is a
    note called by itself.  `sections` has the rows after each head line, and the note above that."""

    def __init__(self, path):
        self.path, self.notes, self.rows, self.sections = path, {}, [], []
        columns, note = [], ""
        with open(path, encoding="utf-8") as file:
            for line in file.read().splitlines():
                if "\t" in line and (line.startswith("#") or not columns):
                    columns = line.lstrip("#").split("\t")
                    self.sections.append((note, []))
                elif line.startswith("#"):
                    key, _, note = line[2:].partition(": ")
                    self.notes.setdefault(key, note)
                elif line and columns:
                    self.rows.append(dict(zip(columns, line.split("\t"))))
                    self.sections[-1][1].append(self.rows[-1])

    def where(self, **cells):
        return [row for row in self.rows if all(row[column] == text for column, text in cells.items())]

    def points(self, x, y, **cells):
        """Two columns as numbers, of the rows that have these cells."""
        return [(float(row[x]), float(row[y])) for row in self.where(**cells)]

    def range(self, column):
        values = [float(row[column]) for row in self.rows]
        return min(values), max(values)

    def measured(self):
        """Where and when, without what no reader needs to know the machine by."""
        machine = re.sub(r"\((R|TM|C)\)| CPU| Processor", "", self.notes.get("machine", ""))
        machine = re.sub(r" *@ *", " at ", machine)
        machine = machine[:79] + "…" if len(machine) > 80 else machine
        day = self.notes.get("measured", "")[:10]
        return f"Measured on {machine}{', ' + day if day else ''}."


FITTED = "Exponents of N are fitted over the last factor of 16 in N, where four sizes or more lie in it."

# ---- least squares ------------------------------------------------------------------------------

def last_factor_of_16(N):
    """Index of the first size of a fit: what a form tends to, not how it begins."""
    return next(n for n in range(len(N)) if N[n] * 16 >= N[-1])


def slope(N, values):
    """The exponent of N in the values, over the last factor of 16 in N, and its standard error.  The error says how
    straight the line is, and nothing of the machine's noise."""
    first = last_factor_of_16(N)
    x, y = [math.log(v) for v in N[first:]], [math.log(v) for v in values[first:]]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    sxx = sum((a - mx) ** 2 for a in x)
    sxy = sum((a - mx) * (b - my) for a, b in zip(x, y))
    syy = sum((b - my) ** 2 for b in y)
    b = sxy / sxx
    return b, math.sqrt((syy - b * sxy) / (len(x) - 2) / sxx) if len(x) > 2 and syy > b * sxy else 0.0


def exponent(N, values):
    """As a label has it; nothing below four sizes."""
    return f"  N^{{{slope(N, values)[0]:.2f}}}" if N and len(N) - last_factor_of_16(N) >= 4 else ""


# ---- series of a sweep --------------------------------------------------------------------------

class Series:
    """One line: sizes N and values, and the rows they are from."""

    def __init__(self, rows, column):
        self.rows, self.N, self.value = rows, [int(row["tokens"]) for row in rows], [float(row[column]) for row in rows]

    def column(self, name):
        return [float(row[name]) for row in self.rows]

    def exponent(self):
        return exponent(self.N, self.value)


class Sweep:
    """A column of a measured table, by series, which are called SERIES/FORM."""

    def __init__(self, table, column):
        self.column = column
        self.memory = float(table.notes.get("limits", "0").split()[0])
        self.limited = "limits" in table.notes
        keys = dict.fromkeys((row["series"], row["form"]) for row in table.rows)
        self.series = {f"{name}/{form}": Series(table.where(series=name, form=form), column) for name, form in keys}
        self.grids = {int(row["tokens"]): row.get("grid", "") for row in table.rows}
        self.sizes = sorted(self.grids)
        self.least = min(s.value[0] for s in self.series.values() if s.N[0] == self.sizes[0])
        self.top = max(max(*s.value, self.end(key)[1]) for key, s in self.series.items())

    def points(self, key):
        return list(zip(self.series[key].N, self.series[key].value)) if key in self.series else []

    def stopped(self, key):
        """True if a quadratic form did not reach the largest size."""
        return self.limited and bool(re.search(r"/naive$|^msa", key)) and self.series[key].N[-1] < self.sizes[-1]

    def following(self, key):
        return next(size for size in self.sizes if size > self.series[key].N[-1])

    def beyond(self, key, size):
        """A quadratic series extended: as N^2 in time, in bytes and operations as a N^2 + b N, their formula."""
        s = self.series[key]
        return square(s.N, s.value, size) if self.column == "median_seconds" else quadratic(s.N, s.value, size)

    def estimate(self, key):
        """The dotted line: from the last point to the largest size."""
        s = self.series[key]
        sizes = self.following(key), self.sizes[-1]
        return [(s.N[-1], s.value[-1])] + [(size, self.beyond(key, size)) for size in sizes]

    def end(self, key):
        """Where a line ends, estimate included."""
        s = self.series[key]
        return (self.sizes[-1], self.beyond(key, self.sizes[-1])) if self.stopped(key) else (s.N[-1], s.value[-1])

    def why(self, key):
        """Why a series did not reach its next size; nothing where no limit stopped it, or for a formula."""
        if self.column == "multiply_adds" or not self.stopped(key):
            return ""
        s, size = self.series[key], self.following(key)
        need = quadratic(s.N, s.column("peak_bytes"), size)
        if 0 < self.memory < need:
            return amount(need)
        return duration(square(s.N, s.column("median_seconds"), size)) if self.column == "median_seconds" else ""

    def cross(self, key):
        """The first size that was not run, for a cross: N, value and reason; or None."""
        if not self.why(key):
            return None
        size = self.following(key)
        return size, self.beyond(key, size), f"{self.grids[size].replace('x', '×')}: {self.why(key)}"

    def ahead(self, key, other):
        """The last measured size up to which one series stays at or below another, in words."""
        ours, theirs, last = self.series[key], self.series[other], 0
        for N, value in zip(ours.N, ours.value):
            if N in theirs.N:
                if value > theirs.value[theirs.N.index(N)]:
                    return f"up to N = {last}" if last else "nowhere"
                last = N
        return "at every N"


def square(N, values, size):
    return values[-1] * (size / N[-1]) ** 2


def quadratic(N, values, size):
    if len(N) < 2:
        return square(N, values, size)
    a = (values[-1] / N[-1] - values[-2] / N[-2]) / (N[-1] - N[-2])
    if a < 0:
        return values[-1] * size / N[-1]            # grown more slowly than N: no square is seen yet
    return a * size * size + (values[-1] / N[-1] - a * N[-1]) * size


def duration(s):
    return f"{s:.0f} s" if s < 90 else f"{s / 60:.0f} min" if s < 5400 else f"{s / 3600:.0f} h"


def amount(b):
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if b < 1024 or unit == "TiB":
            return f"{b:.{1 if b < 10 and b % 1 else 0}f} {unit}"
        b /= 1024


# ---- the gap: naive over fast -------------------------------------------------------------------

def four(x):
    """Four digits, without a power of ten."""
    return f"{x:.0f}" if x >= 9999.5 else f"{x:.4g}"


def three(x):
    return f"{x:.0f}" if x >= 999.5 else f"{x:.3g}"


def cells(*values):
    return "\t".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values)


def head(tables):
    """The machines of all tables, the same ones once, and the latest day."""
    machines = dict.fromkeys(t.notes["machine"] for t in tables if "machine" in t.notes)
    return ["# machine: " + "; ".join(machines), "# measured: " + max(t.notes.get("measured", "")[:10] for t in tables)]


class Gap:
    """Both forms of each operator, from the tables of the chapters.

    operators: (key, name, table, series, {form: (formula of multiply-adds, of memory)})."""

    def __init__(self, operators, tables):
        self.operators, self.tables = operators, tables

    def rows(self, operator, form):
        return {int(r["tokens"]): r for r in self.tables[operator[2]].where(series=operator[3], form=form)}

    def pairs(self):
        """A line for each operator and size that both forms were measured at."""
        yield cells("#series", "operator", "form", "grid", "tokens", "naive_seconds", "fast_seconds", "times_faster",
                    "naive_bytes", "fast_bytes", "times_smaller")
        for operator in self.operators:
            fast = self.rows(operator, "fast")
            for N, naive in self.rows(operator, "naive").items():
                if N in fast:
                    slow, quick = float(naive["median_seconds"]), float(fast[N]["median_seconds"])
                    large, small = int(naive["peak_bytes"]), int(fast[N]["peak_bytes"])
                    yield cells(operator[0], operator[1], "gap", naive["grid"], N, slow, quick, four(slow / quick),
                                large, small, four(large / small))

    def factors(self):
        """The largest size of each operator, and the ratio of times as two: less work, and more of it a second."""
        yield cells("#operator", "grid", "naive_seconds", "fast_seconds", "times_faster", "less_work", "more_a_second")
        for operator in self.operators:
            naive, fast = self.rows(operator, "naive"), self.rows(operator, "fast")
            both = [N for N in naive if N in fast]
            if both:
                a, b = naive[both[-1]], fast[both[-1]]
                slow, quick = float(a["median_seconds"]), float(b["median_seconds"])
                less = int(a["multiply_adds"]) / int(b["multiply_adds"])
                faster = slow / quick
                yield cells(operator[1], a["grid"], slow, quick, four(faster), four(less), four(faster / less))

    def fits(self):
        """A line for each form: the exponents of N in its multiply-adds, its time and its memory."""
        yield cells("#operator", "form", "sizes", "from", "to", "work", "work_exponent", "time_exponent", "memory",
                    "memory_exponent")
        for operator in self.operators:
            for form, (work, memory) in operator[4].items():
                rows = self.rows(operator, form)
                N = list(rows)
                first = last_factor_of_16(N) if N else 0
                if len(N) - first < 3:              # too few were measured to say anything
                    continue
                fit = {c: slope(N, [float(r[c]) for r in rows.values()]) for c in
                       ("multiply_adds", "median_seconds", "peak_bytes")}
                yield cells(operator[1], form, len(N) - first, N[first], N[-1], work, f"{fit['multiply_adds'][0]:.3f}",
                            "%.2f ± %.2f" % fit["median_seconds"], memory, f"{fit['peak_bytes'][0]:.3f}")


def runs(more, saved):
    """Runs after which what the fast form prepares is paid for."""
    return "never" if saved <= 0 else str(max(1, math.ceil(more / saved)))


def by_grid(table, quantities):
    """A line for each quantity and operator of a sweep, a column for each grid."""
    names = list(dict.fromkeys(r["series"] for r in table.rows))
    grids = list(dict.fromkeys(r["grid"] for r in table.rows))
    columns = ("median_seconds", "peak_bytes", "prepare_seconds")
    at = {(r["series"], r["form"], r["grid"]): [float(r[column]) for column in columns] for r in table.rows}

    def cell(quantity, name, grid):
        naive, fast = at.get((name, "naive", grid)), at.get((name, "fast", grid))
        if not fast or (not naive and quantity in ("time", "memory", "runs")):
            return ""
        return {"milliseconds": lambda: three(1e3 * fast[0]), "mebibytes": lambda: three(fast[1] / 2 ** 20),
                "time": lambda: three(naive[0] / fast[0]), "memory": lambda: three(naive[1] / fast[1]),
                "runs": lambda: runs(fast[2] - naive[2], naive[0] - fast[0])}[quantity]()
    yield cells("#what", "operator", *(grid.replace("x", "×") for grid in grids))
    for quantity in quantities:
        for name in names:
            yield cells(quantity, name, *(cell(quantity, name, grid) for grid in grids))


def goals(tables):
    """The goals against PyTorch, a column for each machine: how many times as fast as PyTorch's best way ours is, and
    after "of" how many times as fast anything could be by the floor; bold where that meets the goal."""
    names, machines, rows = [], [], {}
    for n, table in enumerate(tables):
        machine = table.notes["machine"]
        peer = re.split("[+;]", next(key for key in table.notes if re.match(r"PyTorch \d", key)))[0]
        machines.append(f"{machine} ({table.notes['measured'][:10]}, {peer})")
        names.append(re.sub(r",.*, ", ", ", machine))
        for r in table.rows:
            cell = f"{r['ratio']} of {r['most']}"
            cell = f"**{cell}**" if r["verdict"] == "met" else cell
            rows.setdefault((r["what"], r["threads"], r["goal"]), ["—"] * len(tables))[n] = cell
    return ["# machine: " + "; ".join(machines), cells("#what", "threads", "goal", *names)] + \
        [cells(*key, *row) for key, row in rows.items()]


# ---- placing of labels, in pixels ---------------------------------------------------------------

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
