"""draw.py -- measures on this machine and draws the figures

    python3 figures/draw.py [--output FOLDER] [--build FOLDER] [--full] [--budget SECONDS] [--tables FOLDER]
                            [--max-memory 8G] [--resume] [CHAPTER...]
    python3 figures/draw.py commit FOLDER [CHAPTER...]

chapters.py defines what each chapter measures and draws.  Files appear in the output folder (figures) when the whole
chapter has succeeded.  --full measures the long sweeps of the committed data.  The budget is in seconds per chapter,
roughly kept (30; 100 with --full); 0 times nothing and draws the tables of --tables (the output folder).  --max-memory
limits each form (1536M; 8G with --full), to at most three quarters of the machine's.  `commit` copies
tables and drawings from FOLDER to figures/, and redraws chapter gap.  --resume continues an interrupted run: it skips
chapters that the output folder has from the same programs and settings.
"""
import argparse
import datetime
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REMARKS = {}        # by their words without numbers: the first as it was printed, and how many there were
sys.path.insert(0, os.path.join(HERE, "plot"))
import chapters  # noqa: E402
import fits  # noqa: E402


def place(folder, name):
    """The path of a table or drawing: figures/ has a folder for each chapter, other folders have none."""
    if os.path.realpath(folder) != HERE:
        return os.path.join(folder, name)
    start = re.match(r"\w+", name)[0]
    return os.path.join(HERE, {"roofline": "gap", "versus": "gap", "ladder": "ladders"}.get(start, start), name)


def measured():
    """A table's comment with date and commit of its measurement."""
    def git(*words):
        return subprocess.run(["git", "-C", HERE, *words], capture_output=True, text=True, check=False)
    commit = ""
    # Not the commit of somebody else's repository that this tree was unpacked into.
    if git("ls-files", "--error-unmatch", "draw.py").returncode == 0:
        commit = ", commit " + git("describe", "--always").stdout.strip()
        if git("diff", "--quiet", "HEAD", "--", "../reference", "../naive", "../fast", "*.[ch]").returncode:
            commit += " and changes"
    return f"# measured: {datetime.datetime.now(datetime.timezone.utc).date()}{commit}"


class Run:
    """One chapter being measured and drawn: its settings, and the work folder that holds its files until the end."""

    def __init__(self, options, work):
        self.work, self.start = work, time.time()
        self.full, self.budget, self.memory = options.full, options.budget, options.max_memory
        self.build, self.output, self.tables = options.build, options.output, options.tables or options.output

    @staticmethod
    def say(what):
        print("  " + what, file=sys.stderr)

    @staticmethod
    def step(what):
        """On a terminal, a line that the next one overwrites."""
        if sys.stderr.isatty():
            print(f"\r\033[K  {what}\r", end="", file=sys.stderr, flush=True)

    @staticmethod
    def remark(line):
        """Keeps it for the end.  An agreement is what anyone expects."""
        words = re.sub(r"[\d.]+(e[+-]?\d+)?", "#", line.split(": ", 2)[-1])
        first, count = REMARKS.get(words, (line, 0))
        if "agrees to" not in line:
            REMARKS[words] = first, count + 1

    def read(self, name):
        """A table of any chapter, from this run, an earlier run or the repository."""
        for folder in (self.work, self.tables if self.budget == 0 else self.output, HERE):
            if os.path.exists(place(folder, name + ".tsv")):
                return fits.Table(place(folder, name + ".tsv"))
        raise RuntimeError(f"{name}.tsv is missing: run the figures of all chapters first")

    def write(self, name, lines, mode="w"):
        with open(os.path.join(self.work, name + ".tsv"), mode, encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)

    # ---- for tables

    def share(self, parts):
        """1/`parts` of the budget, as a word of a command line."""
        return f"{self.budget / parts:.4g}"

    def half_spent(self):
        return not self.full and time.time() - self.start >= self.budget / 2

    def program(self, name, *words):
        """Run a Python file in figures/, or a program in the build folder; return the lines that it prints."""
        ours = name.endswith(".py")
        command = [sys.executable, os.path.join(HERE, name)] if ours else [os.path.join(self.build, name)]
        threads = {"OMP_NUM_THREADS": "1"} if name == "maps.py" else {}         # its matrices are small
        said = subprocess.run(command + [str(word) for word in words], capture_output=True, text=True, check=False,
                              env=os.environ | threads | {"BUILD": self.build})
        for line in said.stderr.splitlines():
            print(line, file=sys.stderr) if said.returncode else self.remark(line)
        if said.returncode:
            raise RuntimeError(f"{name} {' '.join(map(str, words))}: exit status {said.returncode}")
        return list(self.undisturbed(said.stdout.splitlines()))

    def undisturbed(self, lines):
        """All lines except rows whose time is NaN because other programs disturbed most runs."""
        columns = []
        for line in lines:
            cells = line.lstrip("#").split("\t")
            if line.startswith("#"):
                columns = cells
            if dict(zip(columns, cells)).get("median_seconds") != "nan":
                yield line
            else:
                self.remark("a time is left out: other programs disturbed it")

    def about(self):
        """The comments at the head of most tables: machine, compiler, date, commit."""
        return self.program("figures/bench/machine") + [measured()]

    def table(self, name):
        """Begin a table of measurements; sweep() adds its rows."""
        self.name, self.headed = name, False
        self.write(name, self.about() + [f"# limits: {self.memory} bytes, {self.share(15)} seconds a run"])

    def sweep(self, series, words, each=75, repeats=50):
        """Add the rows of a series to the table: at most `repeats` runs in 1/`each` of the budget."""
        self.step(f"measure {series}")
        rows = self.program("measure", *words.split(), *f"--threads 1 --repeats {repeats} --seconds {self.share(each)} "
                            f"--max-seconds {self.share(15)} --max-memory {self.memory}".split())
        for row in rows:
            if not row.startswith("#"):
                self.write(self.name, [f"{series}\t{row}"], "a")
            elif not self.headed:
                self.write(self.name, [f"#series\t{row[1:]}"], "a")
                self.headed = True

    def map(self, name, *words):
        """Write a table that a program prints: one in C for chopd-boxes and networks-profile, which are timed."""
        self.step(f"compute {name}")
        if name in ("chopd-boxes", "networks-profile"):
            lines = self.program("figures/bench/" + name, *words)
        else:
            lines = self.program("network_maps.py" if name.startswith("networks") else "maps.py", name, *words)
        self.write(name, self.about() + lines)

    # ---- for drawings

    def draw(self, name, layout):
        """Draw a layout.  If this run measured too little, leave the figure out."""
        try:
            layout(self).draw(os.path.join(self.work, name + ".svg"))
        except (ValueError, LookupError, StopIteration, ZeroDivisionError) as problem:
            if self.budget == 0:
                raise RuntimeError(f"{name} cannot be drawn: {problem!r}") from problem
            self.say(f"{name} is not drawn: too little could be measured")
            if os.path.exists(place(self.output, name + ".svg")):
                os.remove(place(self.output, name + ".svg"))


def redraw(name, options, share):
    """Make all files of one chapter in the output folder."""
    chapter, start = chapters.CHAPTERS[name], time.time()
    print(f"{share} figures of {name}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as work:
        run = Run(options, work)
        if options.budget == 0:
            for own in chapter.files:
                for path in glob.glob(place(run.tables, own + "*.tsv")):
                    shutil.copy(path, work)
        else:
            chapter.tables(run)
        if chapter.layers:
            run.step("count requests of the CUDA versions")
            run.write(name + "-cuda", [line for words in chapter.layers
                                       for line in run.program("figures/bench/cuda", *words.split())])
        chapter.derived(run)
        for figure, layout in chapter.drawings.items():
            run.draw(figure, layout)
        os.makedirs(options.output, exist_ok=True)
        for path in glob.glob(os.path.join(work, "*.tsv")) + glob.glob(os.path.join(work, "*.svg")):
            target = place(options.output, os.path.basename(path))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(path, target + ".new")
            os.replace(target + ".new", target)
    return time.time() - start


def commit(folder, names):
    for name in names or chapters.CHAPTERS:
        for own in chapters.CHAPTERS[name].files:
            for path in glob.glob(os.path.join(folder, own + "*.[ts][sv][vg]")):
                shutil.copyfile(path, place(HERE, os.path.basename(path)))
    main(["--budget", "0", "gap"])


def size(word):
    """Bytes of a word such as 512M, at most three quarters of the machine's."""
    found = re.fullmatch(r"([0-9.]+)([KMGT]?)", word)
    if not found:
        raise argparse.ArgumentTypeError(f"found '{word}', expected bytes, as 512M or 8G")
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4
    return min(most, int(float(found[1]) * 1024 ** " KMGT".index(found[2] or " ")))


def usage(message):
    print(f"draw.py: {message}", file=sys.stderr)
    sys.exit(2)


def main(words):
    if words[:1] == ["commit"] and len(words) > 1:
        return commit(words[1], words[2:])
    parser = argparse.ArgumentParser(prog="draw.py", description="Measures on this machine and draws the figures.")
    parser.add_argument("--output", default="figures")
    parser.add_argument("--build", default="build")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--budget", type=int)
    parser.add_argument("--tables")
    parser.add_argument("--max-memory", type=size)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("chapters", nargs="*")
    parser.error = usage
    options = parser.parse_args(words)
    if options.budget is None:
        options.budget = 100 if options.full else 30
    if options.budget < 0:
        usage(f"--budget: found '{options.budget}', expected whole seconds")
    options.max_memory = options.max_memory or size("8G" if options.full else "1536M")
    for name in options.chapters:
        if name not in chapters.CHAPTERS:
            usage(f"chapter: found '{name}', expected one of: {' '.join(chapters.CHAPTERS)}")
    if not shutil.which("gnuplot"):
        raise RuntimeError("gnuplot is missing (Debian: gnuplot-nox)")
    if not os.path.exists(os.path.join(options.build, "measure")):
        raise RuntimeError(f"{options.build}/measure is missing: run make first")
    settings = f"{options.full} {options.budget} {options.max_memory}\n"
    names, seconds = options.chapters or list(chapters.CHAPTERS), []
    for number, name in enumerate(names, 1):
        done = os.path.join(options.output, name + ".done")
        if options.resume and os.path.exists(done):
            with open(done) as f:
                newer = os.path.getmtime(done) > os.path.getmtime(os.path.join(options.build, "measure"))
                if newer and f.read() == settings:
                    continue
        each = max([options.budget, sum(seconds) / max(1, len(seconds))])
        left = each * (len(names) - number + 1) / 60
        seconds.append(redraw(name, options, f"[{number}/{len(names)}, about {left:.0f} min left]" if left >= 0.5 else
                              f"[{number}/{len(names)}]"))
        if options.resume:
            with open(done, "w") as f:
                f.write(settings)
    for first, count in REMARKS.values():
        print("  " + first + (f" (and {count - 1} like it)" if count > 1 else ""), file=sys.stderr)


if __name__ == "__main__":
    for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):      # they choose slow kernels
        os.environ.pop(variable, None)
    try:
        main(sys.argv[1:])
    except (RuntimeError, OSError) as problem:
        print(f"draw.py: {problem}", file=sys.stderr)
        sys.exit(1)
