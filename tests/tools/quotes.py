"""Check that statements, errata, chapters 1 to 7 and comments of tests quote the papers literally.

    python3 tests/tools/quotes.py PAPERS

PAPERS is a folder with the texts lisa.md, structsa.md, elsa.md, chopd.md and hilo.md; without it nothing is checked.
Compares letters and digits, without case and numbers of references; an ellipsis splits a quotation.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = {"LiSA": "lisa", "StructSA": "structsa", "ELSA": "elsa", "ChoP'D": "chopd", "HiLo": "hilo"}

# Errors of the scans, as (printed, scanned).
VARIANTS = {"lisa": [], "structsa": [], "elsa": [], "chopd": [], "hilo": []}
# Names, titles and our own words in quotation marks.
OURS = {
    "5x6", "asked", "the grid has been read", "touched",
}


def plain(text):
    """Letters and digits, since scans split words and formulas."""
    text = re.sub(r"\[\d[\d, ]*\]|</?[a-z]+>", "", text)
    text = re.sub(r"\\(mathcal|mathbf|mathrm|mathsf|text|bar|hat|operatorname|left|right)\b", "", text)
    for scanned, letters in ("\\times", "x"), ("×", "x"), ("α", "alpha"), ("\\geq", ""):
        text = text.replace(scanned, letters)
    return re.sub(r"[^a-z0-9]", "", text.lower())


def quotations(text):
    """Each quotation of a text, except headings of our chapters."""
    text = re.sub(r'chapter \d+,\s+"[^"]+"', "", text, flags=re.I)
    for quoted in re.findall(r'"([^"]+)"|“([^”]+)”', text):
        yield quoted[0] or quoted[1]


def of_tables():
    for paper in NAMES.values():
        path = f"reference/published/{paper}-statements.tsv"
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
            if not line.startswith("#"):
                yield f"{path}:{number}", [paper], line


def of_pages():
    """Paragraphs of the errata and of chapters, without code, tags and URLs."""
    pages = {"errata": None, "1-lisa": "lisa", "2-structsa": "structsa", "3-elsa": "elsa", "4-chopd": "chopd",
             "5-hilo": "hilo", "6-the-gap": None, "7-networks": None}
    for page, paper in pages.items():
        path = f"chapters/{page}.md"
        text = (ROOT / path).read_text(encoding="utf-8")
        blank = lambda found: re.sub(r"[^\n]", " ", found.group())
        for pattern in (r"<!-- code:.*?<!-- /code -->", r"```.*?```", r"^    .*$", r"`[^`\n]*`", r"<[^<>\n]*>",
                        r"\]\([^)]*\)"):
            text = re.sub(pattern, blank, text, flags=re.S if "code" in pattern or "```" in pattern else re.M)
        section, number = paper, 1
        for block in re.split(r"(\n[ \t]*\n|\n(?=\|))", text):
            heading = re.match(r"\s*## (\S+)", block)
            if page == "errata" and heading:
                section = NAMES.get(heading.group(1), section)
            yield f"{path}:{number}", \
                [section] if section else list(NAMES.values()), block
            number += block.count("\n")


def of_claims():
    """Comments of tests that name a paper, or whose suite does."""
    for path in sorted([*ROOT.glob("tests/*/*.c"), *ROOT.glob("tests/exact/*.cc")]):
        text = path.read_text(encoding="utf-8")
        for comment in re.finditer(r"/\*((?:(?!\*/).)*)\*/\n(?:START_)?TESTS?\(", text, flags=re.S):
            words = re.sub(r"\n \* ?", "\n", comment.group(1))
            papers = [paper for name, paper in NAMES.items() if re.search(rf"\b{name}\b", words)] or \
                     [paper for paper in NAMES.values() if path.name.startswith(f"test_{paper}_")]
            if papers:
                yield f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, comment.start()) + 1}", papers, words


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] else None
    if not folder:
        print("quotes: skipped, no PAPERS=folder with the papers' texts")
        return 0
    texts = {}
    for paper in NAMES.values():
        texts[paper] = plain((folder / f"{paper}.md").read_text(encoding="utf-8"))
        for printed, scanned in VARIANTS[paper]:
            texts[paper] += plain(printed) if plain(scanned) in texts[paper] else ""
    found = missing = 0
    for where, papers, text in [*of_tables(), *of_pages(), *of_claims()]:
        for quoted in quotations(text):
            if quoted in OURS:
                continue
            pieces = [plain(piece) for piece in re.split(r"\.\.\.|…", quoted)]
            here = any(all(piece in texts[paper] for piece in pieces) for paper in papers)
            found += here
            missing += not here
            if not here:
                print(f"{where}: not in {' or '.join(papers)}: \"{' '.join(quoted.split())}\"")
    print(f"{'not ok' if missing else 'ok'} - {found} quotations found, {missing} not")
    return 1 if missing else 0


sys.exit(main())
