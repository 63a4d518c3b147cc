#!/usr/bin/env python3
"""The exercises of chapters/exercises.

    BUILD=build exercise.py exercise        go on: open the next exercise that is not done
    BUILD=build exercise.py exercise list   list the exercises, and which are done
    BUILD=build exercise.py exercise N      make a scratch copy and print the task
    BUILD=build exercise.py check N [TEXT]  check the scratch copy, or the answer TEXT
    BUILD=build exercise.py watch N         check the scratch copy whenever it is saved, until it is right
    BUILD=build exercise.py hint N          print the next hint

Exit status: 0 right, 1 not yet, 2 bad usage, 130 interrupted.
"""

# An exercise is a page N.md: a title, lines "key: value", the task, and sections.  Its kind determines the check.
#
#     hole      `cut: FILE FUNCTION [Step n]` is cut out of a source.  The scratch copy (for a header, the file
#               `source:` that includes it) is compiled and linked into `suite:`; its case `case:` runs (default all).
#               Suites of tests/exact compute in the field.  Section "Instead" is the initial text of the hole, "When
#               TEST" the message if that test fails, "Wrong: NAME" an answer that must not pass.  With `counts:
#               OPERATOR CHANNELS SIZES OPTIONS`, a solution may not multiply more often on this problem than the
#               formula; one wrong answer must pass the tests and multiply more often.
#     predict   The command of section "Command" prints the answer last.  A number may differ by the factor `within:`.
#               The test requires `truth:`, to a factor of at most 1.05.
#     measure   The same, without `truth:`.
#     break     Section "Change" has two blocks: text of the file `cut:`, and its replacement.  The answer names tests
#               of `suite:` that then fail.  `falls:` names all that fail in its case `case:`.

import glob
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from typing import NamedTuple

sys.path.insert(0, "chapters/tools")
import weave  # noqa: E402
from weave import Wrong  # noqa: E402

BUILD = os.environ.get("BUILD") or "build"
PAGES = "chapters/exercises"
HERE = BUILD + "/exercises"         # scratch copies, hints given, exercises done
SOURCES = ("chapters", "reference", "naive", "fast", "tests", "figures")
os.environ.update(LC_ALL="C", BUILD=BUILD)
for variable in ("CK_TAP_LOG_FILE_NAME", "CK_FORK", "CK_RUN_CASE"):
    os.environ.pop(variable, None)


def read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def numbers():
    """The numbers of all exercises, in order."""
    names = [os.path.basename(path)[:-3] for path in glob.glob(PAGES + "/*.md")]
    return sorted(names, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])


# LaTeX of the pages as plain text.  A name that is not listed loses its backslash: log, min.
SYMBOLS = {",": "", "cdot": "·", "times": "×", "sum": "Σ", "bmod": "mod", "lfloor": "⌊", "rfloor": "⌋",
           "pm": "±", "infty": "∞", "in": "∈", "dots": "…", "circ": "∘", "approx": "≈", "le": "≤", "ge": "≥", "ne": "≠",
           "ell": "l", "alpha": "α", "kappa": "κ", "lambda": "λ", "mu": "μ", "pi": "π", "sigma": "σ", "epsilon": "ε",
           "sqrt": "√", "tilde": "~", "text": "", "mathrm": "", "bigl": "", "bigr": "", "quad": " "}


def plain_formula(text):
    text = re.sub(r"\\frac(?:(\w)(\w)|\{([^{}]*)\}\{([^{}]*)\})", r"\1\3/\2\4", text.replace(r"\sqrt[4]", "∜"))
    text = re.sub(r"\\([A-Za-z]+|.)", lambda found: SYMBOLS.get(found[1], found[1]), text)
    text = re.sub(r"(?<=[⌊~]) | (?=⌋)", "", text)
    text = re.sub(r"(?<![√∜^])\{(\w*)\}|(?<=\^)\{(\d+)\}", r"\1\2", text)
    return re.sub(r"([√∜^])\{([^{}]*)\}", r"\1(\2)", text)


def plain(text):
    """Text of a page as a terminal shows it: no LaTeX, links as `text (path)`, lines of at most 100 characters."""
    text = re.sub(r"\$+([^$]+)\$+", lambda found: plain_formula(found[1]), text)
    text = re.sub(r"\[([^]]+)\]\((?:\.\./)*([^)]+)\)",
                  lambda found: found[2] if found[1] == found[2] else f"{found[1]} ({found[2]})", text)
    return "\n\n".join(part if part.startswith(("`" * 3, " ", "-", "|")) else
                       textwrap.fill(part, 100, break_on_hyphens=False) for part in text.split("\n\n"))


class Exercise:
    def __init__(self, number):
        self.number = number
        self.title, self.keys, (task, *self.sections) = weave.exercise(f"{PAGES}/{number}.md")
        self.task = task[1]
        self.kind, self.suite = self.key("kind"), self.key("suite")
        self.file = self.key("cut").split(" ")[0]

    def key(self, name):
        return self.keys.get(name, "")

    def section(self, name):
        return next((text for each, text in self.sections if each == name), "")

    def block(self, name, nth=0):
        """Lines of the nth block of code in a section."""
        found = re.findall(r"^```.*\n((?:.*\n)*?)```", self.section(name), re.M)
        return found[nth].split("\n")[:-1] if nth < len(found) else []


class Result(NamedTuple):
    """passed: all tests pass, at the formula's cost; said: the output; failed: tests; counts: multiplications made, and
    the formula's.  A failure without the last two does not compile or end."""
    passed: bool
    said: str
    failed: tuple = ()
    counts: tuple = ()


# ---- the scratch copy

def make_tree(folder, exercise):
    """Make a tree of links to all sources; the exercise's file and `source:` are copies."""
    shutil.rmtree(folder, ignore_errors=True)
    for each in SOURCES:
        shutil.copytree(os.path.abspath(each), f"{folder}/{each}", copy_function=os.symlink)
    for real in filter(None, {exercise.file, exercise.key("source")}):
        os.remove(f"{folder}/{real}")
        shutil.copy(real, f"{folder}/{real}")


def filled(exercise, lines):
    """The text of the exercise's file with these lines in the hole, with its indentation."""
    try:
        source, first, last = weave.hole(exercise.key("cut"))
    except Wrong as wrong:
        raise Wrong(f"{exercise.number}: nothing to cut: {wrong}") from None
    indent = re.match(" *", source[first])[0]
    source[first:last + 1] = [indent + text if text else "" for text in lines]
    return "".join(text + "\n" for text in source)


def fill(folder, exercise, lines):
    write(f"{folder}/{exercise.file}", filled(exercise, lines))


def skeleton(exercise):
    n = exercise.number
    return [f"/* Exercise {n}: write this.  make check N={n} checks it. */", *exercise.block("Instead")]


def make_mistake(folder, exercise):
    """Apply the change of a `break` to a new copy."""
    make_tree(folder, exercise)
    lines = read(exercise.file).split("\n")
    bare, old, new = ([text.strip(" ") for text in each]
                      for each in (lines, exercise.block("Change"), exercise.block("Change", 1)))
    found = [i for i in range(len(lines)) if bare[i:i + len(old)] == old]
    if len(found) != 1:
        raise Wrong(f"{exercise.number}: the line to change is not found, or more than once")
    indent = re.match(" *", lines[found[0]])[0]
    lines[found[0]:found[0] + len(old)] = [indent + text for text in new]
    write(f"{folder}/{exercise.file}", "\n".join(lines))


# ---- compiling and testing

def commands():
    """make's commands to compile and link, by name."""
    pairs = (line.partition("=") for line in read(BUILD + "/exercises.txt").split("\n"))
    return {name: words.split() for name, _, words in pairs}


def run(words, **more):
    """Run a command; return its exit status and output."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)
    return done.returncode, done.stdout


def run_suite(folder, exercise, case):
    """Compile the copy, link it into the suite, and run the suite."""
    how, suite, source = commands(), exercise.suite, exercise.key("source") or exercise.file
    path = os.path.splitext(glob.glob(f"tests/*/{suite}.c*")[0])[0]
    objects, rest = f"{BUILD}/{path}.o", how["with"]
    if path.startswith("tests/exact/"):
        by, objects, rest = [*how["exact"], "-x", "c++"], f"{BUILD}/exact/{path}.o", how["exact_with"]
    elif source.endswith(".c"):
        by = how["compile"]
    else:
        by = [*how["emulate"], "-x", "c++"]
    program, work = f"{folder}/{suite}", folder + "/work.o"
    for words in ([*by, "-O1", "-c", f"{folder}/{source}", "-o", work],
                  [*how["link"], objects, work, *rest, "-o", program]):
        status, said = run(words)
        if status:
            return Result(False, said)
    chosen = ["CK_RUN_CASE=" + case] if case else []
    status, said = run(["env", "CK_TIMEOUT_MULTIPLIER=0.2", *chosen, "timeout", "300", program])
    if re.search(r"Checks: 0\b", said):
        raise Wrong(f"{exercise.number}: no test of {suite} ran")
    failed = re.findall(r"^[^:\n]*:\d*:[FE]:[^:\n]*:([a-z0-9_]*):", said, re.M) if status else []
    return Result(status == 0, said, tuple(sorted(set(failed))))


def count(folder, exercise):
    """Count multiplications of the solution on the problem of `counts:`."""
    how, program = commands(), os.path.abspath(folder + "/count")
    source = f'namespace counting {{\n#include "{exercise.file}"\n}}'
    compiling = [*how["count"], "-x", "c++", "-c", "-", "-o", "counted.o"]
    objects = f"{BUILD}/tests/tools/exercise_count.o", f"{folder}/counted.o"
    linking = [*how["link"], *objects, *how["with"], "-o", program]
    counting = [program, *exercise.key("counts").split(" ", 3)]
    for words, more in (compiling, {"cwd": folder, "input": source}), (linking, {}), (counting, {}):
        status, said = run(words, **more)
        if status:
            return Result(False, said)
    if not re.fullmatch(r"\d+ [1-9]\d*\n", said):
        raise Wrong(f"{exercise.number}: counted '{said.strip()}', expected two numbers: multiplications, and those of "
                    "the formula")
    made, expected = map(int, said.split())
    return Result(made <= expected, said, counts=(made, expected))


def solve(folder, exercise, case=None):
    """Run the tests and, if they pass, count; return the result."""
    result = run_suite(folder, exercise, exercise.key("case") if case is None else case)
    if result.passed and exercise.key("counts"):
        counted = count(folder, exercise)
        result = counted._replace(said=result.said) if counted.passed else counted
    write(folder + "/said", result.said)
    return result


def explain(folder, exercise, result):
    """Print why a solution fails."""
    if result.counts:
        made, expected = result.counts
        print(f"The result is right but costs too much: {made} multiplications, expected {expected} "
              f"({exercise.key('counts')}).")
    elif result.failed:
        print("Not yet. Failed:", *result.failed)
        said = "\n".join(re.findall(r"^[^:\n]*:\d+:[FE]:.*", result.said, re.M)[:3])
        print(re.sub(r"([0-9A-Fa-f]{16})[0-9A-Fa-f]{8,}", r"\1...", said))
        for test in result.failed:      # a test that crashes or does not end says nothing about the numbers
            if exercise.section("When " + test) and re.search(rf":F:[^:]*:{test}:", result.said):
                print("\n" + plain(f"{test}: {exercise.section('When ' + test)}"))
    else:
        wrong = re.findall(".*(?:error|undefined).*", result.said)
        print(*(line.replace(folder + "/", "") for line in wrong[:5]), sep="\n")
        print("It does not compile or end yet.")


# ---- answers

def truth(exercise):
    """Run the page's command; return the last word that it prints."""
    path = f"{BUILD}:{BUILD}/figures/bench:{BUILD}/figures/ladders:{os.environ['PATH']}"
    said = subprocess.run(["sh", "-c", "\n".join(exercise.block("Command"))], env={**os.environ, "PATH": path},
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return ([""] + said.rstrip("\n").split("\n")[-1].split())[-1]


NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def near(a, b, factor):
    """Equal words, or numbers within the factor.  NaN is not near any number."""
    if re.fullmatch("[-+]?nan", a.lower()):
        return False
    if not NUMBER.fullmatch(a) or not NUMBER.fullmatch(b):
        return a == b
    a, b, most = float(a), float(b), factor * 1.000001
    return a == b or a * b > 0 and a / b <= most and b / a <= most


def check_answer(exercise, answer):
    n = exercise.number
    if not answer:
        raise Wrong(f"{n} wants an answer: make check N={n} ANSWER=...")
    found = truth(exercise)
    if not found or not near(found, found, 1):
        raise Wrong(f"{n}: the command prints '{found}', perhaps because other programs are running; try again")
    if near(answer, found, float(exercise.key("within") or 1)):
        print("$", "\n".join(exercise.block("Command")) + f"\n{found}\nRight.")
        return True
    if NUMBER.fullmatch(found) and not NUMBER.fullmatch(answer):
        raise Wrong(f"{n}: found '{answer}', expected a number")
    far = ""
    if NUMBER.fullmatch(answer) and NUMBER.fullmatch(found):
        far = ", which is too large" if float(answer) > float(found) else ", which is too small"
    print(f"Not {answer}{far}.")
    return False


def check_break(exercise, answer):
    n, folder = exercise.number, f"{HERE}/{exercise.number}"
    if not answer:
        raise Wrong(f"{n} wants the names of proofs: make check N={n} ANSWER='name name'")
    make_mistake(folder, exercise)
    result = solve(folder, exercise, case="")
    if result.passed:
        raise Wrong(f"{n}: no proof fails")
    if not result.failed:
        explain(folder, exercise, result)
        return False
    wrong = [name for name in answer.split() if name not in result.failed]
    print(*[f"Not failing, or not a test of {exercise.suite}:", *wrong] if wrong else
          [f"Right. Failed in {exercise.suite}:", *result.failed], sep="\n    ")
    return not wrong


def check_hole(exercise, _):
    folder, copy = f"{HERE}/{exercise.number}", copy_of(exercise)
    if not os.path.exists(copy):
        raise Wrong(f"{exercise.number} is not open: make exercise N={exercise.number}")
    if read(copy) in [filled(exercise, lines) for lines in (skeleton(exercise), exercise.block("Instead"), [])]:
        print(f"Nothing is written yet: {folder}/{weave.hole_place(exercise.keys)}")
        return False
    result = solve(folder, exercise)
    if not result.passed:
        explain(folder, exercise, result)
        return False
    checks = re.findall(r"Checks: (\d+)", result.said)[-1]
    counted = f" with the {result.counts[1]} multiplications of {exercise.key('counts')}" if result.counts else ""
    print(f"Right: {checks} proofs of {exercise.suite} hold{counted}.")
    print("The book's own:", weave.hole_place(exercise.keys))
    return True


CHECK = {"hole": check_hole, "predict": check_answer, "measure": check_answer, "break": check_break}


# ---- commands

def next_number():
    """The first exercise after the last one done that is not done itself; empty if all are."""
    done, order = read(HERE + "/done").split(), numbers()
    start = order.index(done[-1]) if done and done[-1] in order else 0
    return next((number for number in order[start:] + order[:start] if number not in done), "")


def show_list():
    done = read(HERE + "/done").split()
    for number in numbers():
        e = Exercise(number)
        print(f"{number:6} {e.kind:8} {e.key('minutes'):>3} min  {'[done]' if number in done else '[    ]'} {e.title}")
    print("make exercise N=1.1 opens one, make exercise the next one")


def copy_of(exercise):
    """The file that the reader writes."""
    return f"{HERE}/{exercise.number}/{exercise.file}"


def show_task(exercise):
    n, folder = exercise.number, f"{HERE}/{exercise.number}"
    print(f"{n}  {exercise.title} ({exercise.kind}, {exercise.key('minutes')} minutes)\n\n{plain(exercise.task)}\n")
    if exercise.kind == "hole":
        if os.path.exists(copy_of(exercise)):
            print(f"Open already: {copy_of(exercise)} (remove {folder} to begin again)")
        else:
            make_tree(folder, exercise)
            fill(folder, exercise, skeleton(exercise))
            print(f"Write into {folder}/{weave.hole_place(exercise.keys)}")
    answer = {"hole": f", or make watch N={n}", "break": " ANSWER='name name'"}.get(exercise.kind, " ANSWER=...")
    print(f"Then: make check N={n}{answer}\nA hint: make hint N={n}")


def show_hint(exercise):
    given, hints = f"{HERE}/{exercise.number}.hints", [text for name, text in exercise.sections if name == "Hint"]
    nth = min(int(read(given) or 0), len(hints)) + 1
    write(given, f"{nth}\n")
    last = min(nth, len(hints))
    print(plain(f"Hint {last} of {len(hints)}: {hints[last - 1]}"))
    if nth > last:
        print(f"There are no more hints. The answer is in the book, and at the end of {PAGES}/{exercise.number}.md.")


def check(exercise, answer):
    """Check an answer; note that it is right, or give the next hint of what cannot be tried out."""
    if not CHECK[exercise.kind](exercise, answer):
        if exercise.kind in ("predict", "measure", "break"):
            show_hint(exercise)
        return False
    if exercise.number not in read(HERE + "/done").split():
        write(HERE + "/done", f"{read(HERE + '/done')}{exercise.number}\n")
    print("\n" + plain(exercise.section("Answer")))
    following = next_number()
    print("\n" + (f"Next: {following}  {Exercise(following).title} (make exercise)" if following else "All are done."))
    return True


def watch(exercise):
    """Check the scratch copy whenever it is saved, until it is right."""
    if exercise.kind != "hole":
        raise Wrong(f"watch: found {exercise.number}, of kind {exercise.kind}, expected a hole")
    show_task(exercise)
    copy, seen, right = copy_of(exercise), None, False
    while not right:
        saved = os.path.getmtime(copy) if os.path.exists(copy) else seen    # some editors replace the file
        if saved != seen:
            seen = saved
            right = check(exercise, "")
            print(end="", flush=True)
        time.sleep(0.3)


def main(verb="", number="", answer="", *_):
    if verb not in ("exercise", "check", "watch", "hint"):
        raise Wrong(f"found '{verb}', expected one of: exercise, check, watch, hint")
    os.makedirs(HERE, exist_ok=True)
    number = number or verb == "exercise" and next_number() or ""
    if verb == "exercise" and number in ("", "list"):
        return show_list()
    if number not in numbers():
        raise Wrong(f"N: found '{number}', expected one of: {' '.join(numbers())}")
    exercise = Exercise(number)
    if verb == "check":
        return 0 if check(exercise, answer) else 1
    return {"exercise": show_task, "hint": show_hint, "watch": watch}[verb](exercise)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")
    try:
        status = main(*sys.argv[1:])
        sys.stdout.flush()
        sys.exit(status)
    except BrokenPipeError:             # the reader has seen enough: `| head`
        os._exit(0)
    except Wrong as wrong:
        print("exercise:", wrong, file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
