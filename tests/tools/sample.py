"""Print random statements of the papers from the tables of statements: place, statement, result, tests.

    python3 tests/tools/sample.py SEED [COUNT]        (default: 20)

Compare each with the paper and with the tests that it names.  A change of a table changes little of the sample.
"""

import hashlib
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = sorted((ROOT / "reference/published").glob("*-statements.tsv"))


def statements():
    """(paper, line, place, statement, result, by) of every row."""
    for table in TABLES:
        paper = table.name.removesuffix("-statements.tsv")
        for number, line in enumerate(table.read_text(encoding="utf-8").splitlines(), 1):
            if line and not line.startswith(("#", "place\t")):
                yield paper, number, *line.split("\t")


def lot(seed, row):
    return hashlib.sha256("\t".join([seed, row[0], *row[2:4]]).encode()).digest()


def main():
    if len(sys.argv) not in (2, 3) or not all(word.isdigit() for word in sys.argv[1:]):
        sys.exit("sample.py: expected SEED [COUNT], whole numbers (make sample SEED=1)")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    drawn = sorted(statements(), key=lambda row: lot(sys.argv[1], row))[:count]
    for number, (paper, line, place, statement, result, by) in enumerate(sorted(drawn), 1):
        print(f"{number}. {paper}, {place}  (reference/published/{paper}-statements.tsv:{line})")
        for label, text in ("statement", statement), ("result", result), ("test", by):
            print(textwrap.fill(text, 110, initial_indent=f"   {label:9}  ", subsequent_indent=" " * 14,
                                break_long_words=False, break_on_hyphens=False))
        print()


main()
