"""test_exercises.py -- tests each page of chapters/exercises by its kind (tests/tools/exercise.py)"""
import glob
import os
import re
import subprocess
import sys

sys.path[0] += "/.."                       # tests/
from support import suite

os.environ["BUILD"] = suite.BUILD
os.chdir(suite.TREE)
from tools import exercise  # noqa: E402

EXERCISE = "tests/tools/exercise.py"


class Exercises(suite.Case):
    """The scratch copy is in the test's folder; commands run in the top folder."""

    def setUp(self):
        super().setUp()
        self.copy = os.path.abspath("copy")
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
        self.assertTrue(exercise.near(expected, found, within), f"prints '{found}', not {expected}")

    def test_predictions_are_what_the_commands_say(self):
        """The command prints the page's `truth:`.

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

    def test_pages_are_complete(self):
        """Each has one of the four kinds, an answer and a hint."""
        for number in exercise.numbers():
            page = exercise.Exercise(number)
            with self.subTest(number):
                self.assertIn(page.kind, [*exercise.CHECK])
                self.assertTrue(page.section("Answer"), "no answer")
                self.assertTrue(page.section("Hint"), "no hint")

    def check_error(self, *words):
        done = subprocess.run([sys.executable, EXERCISE, *words], capture_output=True, text=True, timeout=suite.SECONDS)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aexercise: .+\n\Z")

    def test_invalid_exercises_are_rejected(self):
        """One line and status 2."""
        self.for_each(self.check_error, [("exercise", "9.9"), ("check", ""), ("solve", "1.1"), ("hint", "../README")])


if __name__ == "__main__":
    suite.main()
