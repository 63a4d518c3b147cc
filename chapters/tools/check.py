"""check.py -- are the pages true to the sources, to the tests and to each other?

Of a page: its excerpts and tables are those of their files; its relative links lead somewhere, also in the bound book,
and those that set a live figure name its controls; the figures that it mentions exist; book.md lists it.  The tests in
the tables of claims passed in the last run.  Of a statement table: columns and verdicts are complete, no statement
stands twice, and each test exists; so do those of chapters/errata.md.  Each question is one line, "ok - ..." or
"not ok - ...", below the places where it failed.
"""
import difflib, glob, os, re
import deck
from weave import CLAIMS, Wrong, cells_of, claim_rows, lines_of, suite_of, suites, test_addresses, tests_of, text_of, woven

COLUMNS = ['Claim', 'Paper', 'Test', 'How', 'Verdict']
VERDICTS = ['proved', 'counted', 'does not hold', 'left open', 'out of reach']


def answer(question, wrong):
    """Print the places, then the question; returns whether there is no place."""
    print(*wrong, f'{"not " if wrong else ""}ok - {question}', sep='\n', flush=True)
    return not wrong


def unfenced(lines):
    """(number, line) of a page without its blocks of code."""
    fenced = False
    for number, text in enumerate(lines, 1):
        if text.startswith('```'):
            fenced = not fenced
        elif not fenced:
            yield number, text


def excerpts_are_fresh(page):
    marks = sum(bool(re.match('<!-- (code|table):', text)) for text in lines_of(page))
    try:
        change = list(difflib.unified_diff(lines_of(page), woven(page).splitlines(), page, 'woven', lineterm='', n=0))
        wrong = change[:10] + ['stale: run "make weave"'] if change else []
    except Wrong as found:
        wrong = [str(found)]
    return answer(f'{page}: its {marks} excerpts and tables are fresh', wrong)


def links_of(lines):
    """{(path, fragment): line} of the relative links."""
    found = {}
    for number, text in unfenced(lines):
        for link in re.findall(r'(?:\]\(|(?:src|href)=")([^)" ]+)', re.sub('`[^`]*`', '', text)):
            if not re.match('[a-z]+:', link):
                path, _, fragment = link.partition('#')
                found.setdefault((path, fragment), number)
    return found


def anchors(lines):
    for _, text in unfenced(lines):
        if re.match('#+ ', text):
            text = re.sub(r'\]\([^)]*\)', '', text.lower().lstrip('#').strip())
            yield re.sub(r'[^\w -]', '', text).replace(' ', '-')


def broken_setting(page, words):
    """A sentence about the mistake in a link that sets the live figure of a page (#live?alpha=1&i=3,5), or None."""
    scene = re.search(r'^<!-- live: (\w+) -->', '\n'.join(lines_of(page)), re.M)
    if not scene:
        return f'{page} has no live figure'
    code = re.search(rf'^const {scene[1]} = {{.*?^}};', '\n'.join(lines_of('chapters/live/scenes.js')), re.M | re.S)
    keys = re.findall(r'\b(?:range|choice|flag)\("(\w+)"', code[0]) if code else []
    keys += ['form', 'picture', 'step', 'i'] if code and ' maps' in code[0] else []
    unknown = [key for key in re.findall('(?:^|&)([^=&]*)', words) if key not in keys]
    return f'#live: found {", ".join(unknown)}, expected {", ".join(keys)}' if unknown else None


def broken(target, fragment):
    """A sentence about the mistake in a link, or None."""
    if not os.path.exists(target):
        return f'there is no {target}'
    if not fragment:
        return None
    lines = lines_of(target)
    if fragment.startswith('live?'):
        return broken_setting(target, fragment[len('live?'):])
    if target.endswith('.md'):
        return None if fragment in anchors(lines) else f'no heading of {target} makes #{fragment}'
    if re.fullmatch('L[0-9]+', fragment) and int(fragment[1:]) <= len(lines):
        return None
    return f'{target} has {len(lines)} lines and no #{fragment}'


def links_lead_somewhere(page):
    links = links_of(lines_of(page))
    try:
        links = links_of(woven(page, 'figures').splitlines()) | links
    except Wrong:
        pass                                # excerpts_are_fresh has said so
    wrong = []
    for (path, fragment), number in links.items():
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if what := broken(target, fragment):
            wrong.append(f'{page}:{number}: {what}')
    return answer(f'{page}: its {len(links)} relative links lead somewhere', wrong)


def mentioned_figures_exist(page):
    """Images that are paragraphs are numbered in each chapter, as pages.py does."""
    wrong, seen = [], 0
    for number, text in unfenced(lines_of(page)):
        for chapter, figure in re.findall(r'\bFigures? (\d+)\.(\d+)', text):
            seen += 1
            lines = [line for path in glob.glob(f'chapters/{chapter}-*.md') for _, line in unfenced(lines_of(path))]
            count = sum(bool(re.fullmatch(r'!\[.*\]\(\S*\)', line)) for line in lines)
            if not 1 <= int(figure) <= count:
                wrong.append(f'{page}:{number}: found Figure {chapter}.{figure}, expected at most {count}')
    return answer(f'{page}: the {seen} figures that it mentions exist', wrong)


def is_listed(page):
    listed = f'({page}' in text_of('book.md').partition('## Contents')[2]
    return answer(f'{page}: is in the contents', [] if listed else [f'book.md: {page} is not in the contents'])


def results(reports):
    """{TEST or SUITE/TEST: whether it passed wherever it ran}; tests of suites that only FULL=1 runs count as passed."""
    passed = {}
    for path in suites():
        if not glob.glob(f'{reports}/*/{suite_of(path)}.tap'):
            passed.update(dict.fromkeys(tests_of(path), True))
    for file in glob.glob(f'{reports}/*/*.tap'):
        suite = re.sub(r'^(test|exact)_|\.tap$', '', os.path.basename(file))
        for text in lines_of(file):
            parts = text.split(':')
            if len(parts) >= 4 and (result := re.match('(not )?ok ', text)):
                for name in (parts[2], f'{suite}/{parts[2]}'):
                    passed[name] = passed.get(name, True) and not result[1]
    return passed


def claim_mistakes(cells, passed):
    if len(cells) != 5:
        return [f'expected five columns, found {len(cells)}']
    tests, wrong = re.findall('`([^`]*)`', cells[2]), []
    if not re.search('[a-z]', cells[4]):
        wrong.append('a claim without a verdict')
    if not tests and 'not checkable' not in cells[4]:
        wrong.append('a claim without a test')
    wrong += [f'no test {name} has run' for name in tests if name not in passed]
    return wrong + [f'the test {name} failed' for name in tests if not passed.get(name, True)]


def claims_are_proved(passed):
    rows = [(f'{CLAIMS}:{number}', cells_of(text)) for number, text in claim_rows(CLAIMS).items()]
    rows = [(place, cells) for place, cells in rows if cells != COLUMNS and set(cells) != {'---'}]
    wrong = [f'{place}: {what}' for place, cells in rows for what in claim_mistakes(cells, passed)]
    return answer(f'{CLAIMS}: its {len(rows)} claims are proved by tests that passed', wrong)


def unwritten(cell):
    return [f'no test {name}' for name in re.findall('`([^`]*)`', cell) if name not in test_addresses()]


def statement_mistakes(cells, seen):
    if len(cells) != 4:
        return [f'expected four columns, found {len(cells)}']
    _, statement, verdict, by = cells
    wrong = [f'column {c} is blank, or has blanks around it' for c, cell in enumerate(cells, 1)
             if not cell or cell != cell.strip(' ')]
    if verdict not in VERDICTS:
        return wrong + [f'no verdict: {verdict}']
    if (cells[0], statement) in seen:
        wrong.append(f'stands twice: {statement}')
    reason = re.search('[a-z].*[a-z].*[a-z]', re.sub('`[^`]*`', '', by))
    if verdict in ('proved', 'counted') and '`' not in by:
        wrong.append(f'{verdict}, by no test')
    if not reason and (verdict in ('left open', 'out of reach') or '`' not in by):
        wrong.append(f'{verdict}, for no reason')
    return wrong + unwritten(by)


def statements_are_accounted_for(file):
    (first, head), *rows = [(n, text) for n, text in enumerate(lines_of(file), 1) if not text.startswith('#')]
    wrong, seen, found = [], set(), []
    if head != 'place\tstatement\tverdict\tby':
        wrong.append(f'{file}:{first}: expected the columns place, statement, verdict, by')
    for number, text in rows:
        cells = text.split('\t')
        wrong += [f'{file}:{number}: {what}' for what in statement_mistakes(cells, seen)]
        seen.add(tuple(cells[:2]))
        found += cells[2:3]
    verdicts = ', '.join(f'{found.count(verdict)} {verdict}' for verdict in VERDICTS)
    return answer(f'{file}: {len(rows)} statements, {verdicts}', wrong)


def errata_name_tests(file):
    rows = [(n, cells_of(text)[-1]) for n, text in enumerate(lines_of(file), 1) if text.startswith('|')]
    wrong = [f'{file}:{n}: {what}' for n, cell in rows for what in unwritten(cell)]
    return answer(f'{file}: {sum(cell.count("`") // 2 for _, cell in rows)} tests named', wrong)


def slides_are_complete():
    try:
        slides, wrong = list(deck.slides()), []
    except Wrong as found:
        slides, wrong = [], [found]
    return answer(f'{deck.TABLE}: {len(slides)} slides, their quotes, excerpts and machines', wrong)


def check(reports, pages):
    """Ask everything; returns whether all is well."""
    good, passed = [], results(reports)
    for page in pages:
        good += [excerpts_are_fresh(page), links_lead_somewhere(page)]
        if page.startswith('chapters/'):
            good += [is_listed(page), mentioned_figures_exist(page)]
    good.append(claims_are_proved(passed))
    for file in sorted(glob.glob('reference/published/*-statements.tsv')):
        good.append(statements_are_accounted_for(file))
    return all([*good, slides_are_complete(), errata_name_tests('chapters/errata.md')])
