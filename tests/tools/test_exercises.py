"""test_exercises.py -- tests each page of chapters/exercises by its kind (tests/tools/exercise.py)"""
import contextlib
import glob
import io
import os
import re
import signal
import subprocess
import sys
from unittest import mock

sys.path[0] += "/.."                       # tests/
from support import suite

os.environ["BUILD"] = suite.BUILD
os.chdir(suite.TREE)
from tools import exercise  # noqa: E402
import derive  # noqa: E402
import weave  # noqa: E402

EXERCISE = "tests/tools/exercise.py"


class Exercises(suite.Case):
    """The scratch copy is in the test's folder; commands run in the top folder."""

    def setUp(self):
        super().setUp()
        self.copy = exercise.HERE = os.path.abspath("copy")
        os.chdir(suite.TREE)

    def for_each_page(self, kind, check):
        pages = [exercise.Exercise(number) for number in exercise.numbers()]
        chosen = [page for page in pages if page.kind == kind]
        self.assertTrue(chosen)
        for page in chosen:
            with self.subTest(page.number):
                check(page)

    def reject(self, page, name, lines):
        """Put a wrong answer into the hole; return true if its result is right but it multiplies too often."""
        exercise.fill(self.copy, page, lines)
        result = exercise.solve(self.copy, page)
        with self.subTest(f"{page.number}, {name}"):
            self.assertFalse(result.passed, "it passes")
            self.assertTrue(result.failed or result.counts, "it does not compile, or does not end: " + result.said)
        return bool(result.counts)

    def check_hole(self, page):
        exercise.make_tree(self.copy, page)
        result = exercise.solve(self.copy, page)
        self.assertTrue(result.passed, "the solution does not pass: " + result.said)
        self.reject(page, "the skeleton", exercise.skeleton(page))
        wrong = [name for name, _ in page.sections if name.startswith("Wrong: ")]
        too_often = [self.reject(page, name, page.block(name)) for name in wrong]
        self.assertGreaterEqual(len(wrong), 2, "wrong answers")
        self.assertTrue(any(too_often) or not page.key("counts"), "no wrong answer is right and multiplies too often")
        tests = "".join(map(exercise.read, [*glob.glob(f"tests/*/{page.suite}.c*"), "tests/support/battery.c"]))
        named = [name[5:] for name, _ in page.sections if name.startswith("When ")]
        unknown = [name for name in named if not re.search(rf"TESTS?\({name}\b", tests)]
        self.assertEqual(unknown, [], "no test has this name")

    def test_holes_are_closed_by_the_solution_alone(self):
        """The source's own lines pass; the hole and at least two wrong answers compile and fail.  If multiplications
        are counted, one wrong answer is right but multiplies too often."""
        self.for_each_page("hole", self.check_hole)

    def check_prediction(self, page):
        found, expected = exercise.truth(page), page.key("truth")
        within = min(float(page.key("within") or 1.05), 1.05)
        if ": " in expected:
            file, text = expected.split(": ", 1)
            lines = [line.strip() for line in exercise.read(f"{self.copy}/{page.number}/{file}").split("\n")]
            self.assertEqual(lines.count(text), 1, text)
            expected, within = str(lines.index(text) + 1), float(page.key("within") or 1)
        self.assertTrue(exercise.near(expected, found, within), f"prints '{found}', not {expected}")

    def test_predictions_are_what_the_commands_say(self):
        """The command prints the page's `truth:`, a word, a number or the number of this line.

        Tolerance: that of the page, at most 1/20, since bytes depend on the length of vectors."""
        self.for_each_page("predict", self.check_prediction)

    def check_measurement(self, page):
        found = exercise.truth(page)
        if found.endswith("nan"):
            self.skipTest(f"{page.number}: other programs disturbed its runs")
        self.assertTrue(found, "prints nothing, expected a number or a word")

    def test_measurements_have_an_answer(self):
        self.for_each_page("measure", self.check_measurement)

    def check_mistake(self, page):
        exercise.make_mistake(self.copy, page)
        result = exercise.solve(self.copy, page)
        self.assertFalse(result.passed, "no test fails")
        self.assertEqual([*result.failed], sorted(page.key("falls").split()), "" if result.failed else result.said)

    def test_mistakes_fail_the_named_tests(self):
        """Exactly the tests that the page names fail."""
        self.for_each_page("break", self.check_mistake)

    def check_derivation(self, page):
        names, known, empty = [step[0] for step in derive.steps(page)], derive.checks(page), {}
        right = {name: known[name][1] for name in names}
        wrong = [(n, name, answer) for n, name in enumerate(names, 1) for answer in known[name][2:]]
        self.assertIsNone(derive.error(page, right))
        self.assertGreaterEqual(len(wrong), 2, "wrong answers")
        self.assertEqual(len(names), [name for name, _ in page.sections].count("Hint"), "hints")
        exec("\n".join(derive.skeleton(page)), empty)
        self.assertRegex(derive.error(page, empty)[1], "(?s)^Step 1, .*found None")
        for n, name, answer in wrong:
            self.assertEqual((derive.error(page, {**right, name: answer}) or [0])[0], n, name)

    def test_derivations_are_checked_step_by_step(self):
        """The solution passes, and each wrong answer fails at its step.  An equation has too many products."""
        self.for_each_page("derive", self.check_derivation)
        page = exercise.Exercise("4.9")
        self.assertIn("is right. Found 96 products", derive.error(page, {"apply": derive.checks(page)["apply"][0]})[1])

    def test_pages_are_complete(self):
        """Each has one of the five kinds, an answer and a hint, and shows no LaTeX and no link in a terminal."""
        for number in exercise.numbers():
            page = exercise.Exercise(number)
            with self.subTest(number):
                self.assertIn(page.kind, [*exercise.CHECK])
                self.assertTrue(page.section("Answer"), "no answer")
                self.assertTrue(page.section("Hint"), "no hint")
                shown = [text for name, text in page.sections if re.match("Hint|When|Answer", name)]
                self.assertNotRegex("\n".join(map(exercise.plain, [page.task, *shown])), r"[$\\]|\]\(")

    def test_formulas_are_plain_text(self):
        self.for_each(lambda text, expected: self.assertEqual(exercise.plain(text), expected), [
            (r"$G^a_{icd} = \sum_n k_{nc}\, w^a_{i-n,c}$", "G^a_icd = Σ_n k_nc w^a_{i-n,c}"),
            (r"$e^{\text{old} - x_j} / \sqrt{v + \epsilon}$ and $2 \times 2^{10}$", "e^(old - x_j) / √(v + ε) and 2 × 2^10"),
            ("[naive/a.c](../naive/a.c), [the map](3-elsa.md)", "naive/a.c, the map (3-elsa.md)"),
            ("x" * 96 + " `a b`", "x" * 96 + "\n`a b`")])

    def test_holes_are_not_printed(self):
        """No chapter or appendix prints a line of the solution."""
        printed = []
        for page in glob.glob("chapters/**/*.md", recursive=True):
            marks = re.findall("^<!-- code: (.*) -->", exercise.read(page), re.M)
            code = [mark.replace("Step ", "").split() for mark in marks]
            printed += [(page, words[0], *weave.definition(*words)[1:]) for words in code]

        def check(hole):
            _, first, last = weave.hole(hole.key("cut"))
            found = [page for page, file, start, end in printed if file == hole.file and start <= last and first <= end]
            self.assertEqual(found, [])
        self.for_each_page("hole", check)

    def do(self, *words):
        """Run a command with its scratch copies in this test's folder; return its status and output."""
        with mock.patch.object(exercise, "HERE", self.copy), contextlib.redirect_stdout(io.StringIO()) as out:
            return exercise.main(*words), out.getvalue()

    def test_wrong_answers_get_hints(self):
        """A wrong answer is told the next hint, not the truth.  A right one is told the next exercise."""
        page = exercise.Exercise("8.1")
        for answer, expected in ("10", "Not 10, which is too large.\nHint 1 of 1"), ("8", "too small.\nHint 1 of 1"):
            status, said = self.do("check", page.number, answer)
            self.assertIn(expected, said)
            self.assertEqual((status, "There are no more hints" in said), (1, answer != "10"))
            self.assertNotRegex(said, r"\b9\b|awk")
        status, said = self.do("check", page.number, "9")
        self.assertEqual(status, 0)
        self.assertRegex(said, r"(?s)awk.*Right.*63 = 2 · 31.*Next: 8.2 ")
        self.assertRegex(self.do("exercise")[1], "^8.2 ")
        self.assertRegex(self.do("exercise", "list")[1], r"8.1 .*\[done\]")
        failing = exercise.Result(False, "", ("sqrt_is_a_root_up_to_sign",))
        with mock.patch.object(exercise, "solve", return_value=failing):
            said = self.do("check", "8.7", "sums_and_products_obey_the_laws")[1]
            self.assertNotIn("sqrt_is", said)
            self.assertIn("sqrt (no proof of this name)", self.do("check", "8.7", "sqrt")[1])
            self.assertEqual(self.do("check", "8.7", "sqrt_is_a_root_up_to_sign")[0], 0)

    def test_endless_answers_are_ended(self):
        page, said = exercise.Exercise("8.6"), "error: the proofs did not end within 0.001 seconds"
        exercise.make_tree(self.copy, page)
        with mock.patch.object(exercise, "LIMIT", 0.001):
            self.assertEqual(exercise.solve(self.copy, page), exercise.Result(False, said))

    def test_crashes_get_no_advice(self):
        """A "When" section explains wrong numbers, not a crash."""
        page, test = exercise.Exercise("0.1"), "weights_sum_to_one"
        for kind in "FE":
            failing = exercise.Result(False, f"a.c:1:{kind}:tests:{test}:0: (after this point) signal 11", (test,))
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exercise.explain(self.copy, page, failing)
            self.assertEqual("do not sum" in out.getvalue(), kind == "F")

    def test_skeletons_are_not_judged(self):
        page = exercise.Exercise("0.1")
        self.do("exercise", page.number)
        with mock.patch.object(exercise, "solve", side_effect=AssertionError):
            self.assertRegex(self.do("check", page.number)[1], r"^Nothing is written yet: .*/steps.c:\d+\n$")
            exercise.fill(f"{self.copy}/{page.number}", page, [])
            self.assertEqual(self.do("check", page.number)[0], 1)

    def test_watch_checks_each_saved_copy(self):
        """It checks once for each change, until the copy is right."""
        page, saved, checked = exercise.Exercise("0.1"), [], []

        def save(_):
            saved.append(1 + len(saved) // 2)
            os.utime(f"{self.copy}/0.1/{page.file}", (0, saved[-1]))

        with mock.patch.object(exercise.time, "sleep", save), \
             mock.patch.dict(exercise.CHECK, hole=lambda *_: checked.append(len(saved)) or len(checked) == 3):
            self.do("watch", page.number)
        self.assertEqual(checked, [0, 1, 3])

    def test_interrupts_end_watching(self):
        """Status 130, and no traceback."""
        with subprocess.Popen([sys.executable, "-u", EXERCISE, "watch", "0.1"], env={**os.environ, "BUILD": self.copy},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
            self.assertTrue(any("Nothing is written yet" in line for line in watching.stdout))
            watching.send_signal(signal.SIGINT)
            self.assertEqual((watching.communicate(timeout=suite.SECONDS)[1], watching.returncode), ("", 130))

    def test_closed_pipes_are_no_error(self):
        """`make exercise N=list | head` ends without a message."""
        with subprocess.Popen([sys.executable, EXERCISE, "exercise", "list"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as listing:
            listing.stdout.close()
            self.assertEqual((listing.stderr.read(), listing.wait(suite.SECONDS)), (b"", 0))

    def check_error(self, *words):
        done = subprocess.run([sys.executable, EXERCISE, *words], capture_output=True, text=True, timeout=suite.SECONDS)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aexercise: .+\n\Z")

    def test_invalid_exercises_are_rejected(self):
        """One line and status 2."""
        self.for_each(self.check_error, [
            ("exercise", "9.99"), ("check", ""), ("solve", "1.1"), ("hint", "../README"), ("watch", "8.1"),
            ("check", "8.1", "nine")])


if __name__ == "__main__":
    suite.main()
