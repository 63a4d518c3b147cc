"""test_notebooks.py -- the notebooks of the chapters (chapters/tools/notebooks.py), run without Jupyter"""
import contextlib
import glob
import io
import json
import os
import re
import subprocess
import sys

sys.path[0] += "/.."                       # tests/
from support import suite

os.environ |= {"BUILD": suite.BUILD, "MPLBACKEND": "agg"}
os.chdir(suite.TREE)
from tools import exercise  # noqa: E402

FOLDER = os.path.join(suite.BUILD, "notebooks")


class Notebooks(suite.Case):
    """self.cells: {page: cells} of the chapters."""

    def setUp(self):
        super().setUp()
        os.chdir(suite.TREE)
        subprocess.run([sys.executable, "chapters/tools/book.py", "notebooks", FOLDER], check=True)
        self.cells = {page: json.loads(suite.read(f"{FOLDER}/{page[9:-3]}.ipynb"))["cells"]
                      for page in sorted(glob.glob("chapters/[0-9]*.md"))}

    def test_notebooks_have_the_commands_of_chapter_and_exercises(self):
        """Links lead somewhere, too."""
        for page, cells in self.cells.items():
            with self.subTest(page):
                text = "".join(cell["source"] for cell in cells)
                commands = re.findall(r"(?:^    |`)((?:build/|cc )[^`\n]* -[^`\n]*)", exercise.read(page), re.M)
                commands += [line for n in exercise.numbers() if n[0] == page[9]
                             for line in exercise.Exercise(n).block("Command")]
                self.assertEqual([line for line in commands if line not in text], [])
                links = re.findall(r"\]\((?![a-z]+:)([^)#]*)", text)
                self.assertEqual([link for link in links if not os.path.exists(f"{FOLDER}/{link}")], [])

    def test_notebooks_run(self):
        """Exercises of kind "predict" print their `truth:`, and the two forms of six operators agree."""
        applied = 0
        for cells in self.cells.values():
            os.chdir(FOLDER)
            names, heading = {}, ""
            for cell in cells:
                if cell["cell_type"] == "markdown":
                    heading = cell["source"].split()[1]
                    continue
                with self.subTest(cell["source"]), contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(cell["source"], names)                             # pylint: disable=exec-used
                    if truth := heading in exercise.numbers() and exercise.Exercise(heading).key("truth"):
                        self.assertTrue(exercise.near(truth, out.getvalue().split()[-1], 1.05), out.getvalue())
            if "fast" in names:
                applied += 1
                self.assertLess(abs(names["fast"] - names["naive"]).max(), 1e-3 * names["naive"].std())
        self.assertEqual(applied, 6)


if __name__ == "__main__":
    suite.main()
