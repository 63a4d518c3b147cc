"""weave.py -- fill the blocks of a page from the files they name

    <!-- code: FILE NAME [Step n] --> ... <!-- /code -->
        A definition in C with the comment above it.  NAME may be HEAD, the file's first comment, or ALL, the whole
        file.  Step n runs from the comment "Step n" to the next blank line.
    <!-- table: FILE.tsv [COLUMN | COLUMN=VALUE]... --> ... <!-- /table -->
        These columns of the rows with these values; "_" stands for a space.
    <!-- bound: answers | exercises CHAPTER | FILE.tsv [COLUMN...] -->
        Filled in the bound book only: all answers, the questions of chapters/exercises/CHAPTER.n.md, or a table.  The
        PDF leaves these tables out.

C is not parsed: a definition starts in the first column and ends at a "}" there; a comment's lines start with " *".
"""
import functools, glob, os, re, textwrap

LANGUAGE = {'h': 'c', 'cu': 'cpp', 'cc': 'cpp'}
NUMBER = re.compile(r'[-+]?[0-9.]+([eE][-+]?[0-9]+)?')
MARK = re.compile(r'<!-- (/?)(code|table|bound)(?:: (.*?))? ?-->')
BATTERY = 'tests/support/battery.c'         # the tests of every operator
CLAIMS = 'chapters/claims.md'
KIND = {'predict': 'predict', 'measure': 'measure', 'hole': 'fill the hole', 'break': 'break it', 'derive': 'derive'}


class Wrong(Exception):
    """A mistake in a page or in a file that it names."""


def text_of(file):
    try:
        with open(file, encoding='utf-8') as stream:
            return stream.read()
    except (OSError, UnicodeDecodeError):
        raise Wrong(f'cannot read {file}')


def lines_of(file):
    return text_of(file).splitlines()


def replace(file, text):
    """Write a file completely or not at all."""
    with open(file + '.new', 'w', encoding='utf-8') as stream:
        stream.write(text)
    os.replace(file + '.new', file)


# ---- Tests

@functools.cache
def suites():
    return sorted(glob.glob('tests/*/test_*.c') + glob.glob('tests/*/test_*.py') + glob.glob('tests/*/test_*.cc'), key=suite_of)


def suite_of(path):
    """The name of a suite, which its program and its page have too."""
    return os.path.basename(path).rsplit('.', 1)[0]


def tests_of(file):
    start = r'^    def test_(\w+)\(self' if file.endswith('.py') else r'^(?:START_)?TESTS?\((\w+)'
    return re.findall(start, text_of(file), re.M)


def battery_tests(suite):
    """The tests that add_battery() adds to a suite: {test: names of its tables in the suite}."""
    text = text_of(suite)
    if not re.search(r'\b(add|run)_battery\(', text):
        return {}
    calls = re.findall(r'tcase_add_loop_test\(\w+, (\w+), .*?(\w+)\)+;', text_of(BATTERY))
    tables = {test: re.findall(rf'\.{field} = (\w+)', text) for test, field in calls}
    if '.golden = true' in text:
        tables['golden_vectors'] = ['tests/golden']
    return {test: names for test, names in tables.items() if names}


@functools.cache
def test_addresses():
    """{TEST or SUITE/TEST: its place in the bound book}.  A test of the battery needs its suite's name.
    If two suites share a name, TEST is the operator's own test, not that of test_properties.c."""
    addresses = {}
    for path in sorted(suites(), key=lambda path: 'test_properties' not in path):
        suite, own = suite_of(path), tests_of(path)
        addresses.update({name: f'{suite}.html#{name}' for name in own})
        addresses.update({f'{suite[5:]}/{name}': f'{suite}.html#{name}' for name in [*own, *battery_tests(path)]})
    return addresses


# ---- Code

def definition_end(lines, i, name, in_header):
    """The last line of the definition of a name that starts at line i, or None.  Prototypes count only in headers."""
    text, n = lines[i], re.escape(name)
    if re.match(rf'#\s*define\s+{n}\b', text):
        return next(j for j in range(i, len(lines)) if not lines[j].endswith('\\'))
    if not re.match('[A-Za-z_]', text):
        return None
    if re.match(rf'(START_)?(TESTS?|CORRECT)\({n}[,)]', text):
        return lines.index('}', i)
    is_object = re.match(rf'typedef .*[ *]{n}[\];,\[)(].*;$|(typedef )?(struct|enum|union) {n}( \{{|$)', text) \
        or re.search(rf'[ *]{n}(\[.*\])? = ', text)
    if not is_object and not re.search(rf'(^|[ *(]){n} *\(', text):
        return None
    for j in range(i, len(lines)):
        if re.search(r'(;|\{.*\})\s*(/\*.*)?$', lines[j]):
            return j if is_object or in_header or '{' in lines[j] else None
        if '{' in lines[j]:
            return next((k for k in range(j, len(lines)) if lines[k].startswith('}')), None)
        if not lines[j].strip():
            return None
    return None


def comment_start(lines, i):
    """The first line of the attributes and the comment right above line i."""
    ends = r'(\*/|[;}]|^#(include|if|else|endif|define|undef).*)$'
    while i > 0 and lines[i - 1].strip() and not re.search(ends, lines[i - 1]):
        i -= 1
    if i > 0 and re.search(r'\*/\s*$', lines[i - 1]):
        return next(j for j in range(i - 1, -1, -1) if '/*' in lines[j])
    return i


def step_of(lines, first, last, step, where):
    """The first and the last line of a step within the lines of a definition."""
    found = [i for i in range(first, last + 1) if re.search(rf'/\* Step {step}[:.]', lines[i])]
    if len(found) != 1:
        raise Wrong(f'{len(found) or "no"} Step {step} in {where}')
    ends = (i for i in range(found[0] + 1, last) if not lines[i].strip() or re.search(r'/\* Step [0-9]', lines[i]))
    return found[0], next(ends, last) - 1


def definition(file, name, step=None):
    """(lines, first, last): the lines of a file, and where the definition (or its step) starts and ends, from 0."""
    lines = lines_of(file)
    if name == 'ALL':
        return lines, 0, len(lines) - 1
    if name == 'HEAD':
        last = next((i for i, text in enumerate(lines) if '*/' in text), None)
        if last is None:
            raise Wrong(f'no comment heads {file}')
        return lines, next(i for i, text in enumerate(lines) if '/*' in text), last
    found = []
    for i, text in enumerate(lines):
        if name in text and not (found and i <= found[-1][1]):
            end = definition_end(lines, i, name, file.endswith('.h'))
            found += [(i, end)] if end is not None else []
    if len(found) != 1:
        raise Wrong(f'{len(found) or "no"} definition{"s" * (len(found) > 1)} of {name} in {file}')
    first, last = found[0]
    if step:
        return lines, *step_of(lines, first, last, step, f'{name} of {file}')
    return lines, comment_start(lines, first), last


def excerpt(up, file, name, step=None):
    lines, first, last = definition(file, name, step)
    code = textwrap.dedent('\n'.join(lines[first:last + 1]))
    ending = file.rsplit('.', 1)[-1]
    return f'```{LANGUAGE.get(ending, ending)}\n{code}\n```\n[{file}]({up}{file}#L{first + 1})'


# ---- Tables

def scaled(x, units, step):
    """A number to three digits, with the largest unit that leaves it at least 1."""
    while len(units) > 1 and x >= 999.5 * step / 1000:
        x, units = x / step, units[1:]
    return f'{x:.0f} {units[0]}' if x >= 999.5 else f'{x:.3g} {units[0]}'


def shown(column, value):
    """A cell of a table of measurements as a reader sees it."""
    if not NUMBER.fullmatch(value):
        return value
    if column.endswith('_seconds'):
        return scaled(float(value) * 1e9, ['ns', 'µs', 'ms', 's'], 1000)
    if column.endswith('_bytes'):
        return scaled(float(value), ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024)
    if column == 'multiply_adds':
        return scaled(float(value), ['', 'k', 'M', 'G', 'T', 'P'], 1000).strip()
    return value


def read_table(file):
    """(names, rows, about) of a TSV file.  The last comment above the rows names the columns, unless it has another
    number of them: then the first row does.  `about` has what the comments say: machine, measured, peer."""
    head, rows, about = '', [], {}
    for text in lines_of(file):
        if found := re.match(r'# (machine|measured): (.*)', text):
            about[found[1]] = found[2]
        if re.match(r'# PyTorch [0-9]', text):
            about['peer'] = re.sub(r'[+;].*', '', text[2:])
        if text.startswith('#'):
            head = head if rows else re.sub('^# *', '', text)
        elif text.strip():
            rows.append(text.split('\t'))
    if not rows:
        raise Wrong(f'cannot read a table from {file}')
    names = head.split('\t')
    if len(names) != len(rows[0]):
        names, rows = rows[0], rows[1:]
    for row in rows:
        if len(row) != len(names):
            raise Wrong(f'{file}: a row of {len(row)} fields under {len(names)} names')
    return names, rows, about


def machine_line(about, whose):
    if 'machine' not in about:
        return ''
    plural = 's' if '; ' in about['machine'] else ''
    parts = [f'*On {whose} machine{plural}: {about["machine"]}', about.get('measured', '')[:10], about.get('peer')]
    return ', '.join(filter(None, parts))


def table(file, asked, whose):
    names, rows, about = read_table(file)
    for word in asked:
        if word.split('=')[0] not in names:
            raise Wrong(f'no column {word.split("=")[0]} in {file}')
    only = {names.index(key): value for key, value in (word.split('=', 1) for word in asked if '=' in word)}
    picks = [names.index(word) for word in asked if '=' not in word]
    picks = picks or [j for j in range(len(names)) if j not in only]
    cells = [[shown(names[j], row[j]) for j in picks] for row in rows
             if all(value in (row[j], row[j].replace(' ', '_')) for j, value in only.items())]
    machine = machine_line(about, whose)
    if not cells and whose == 'your':
        return machine + ': not measured in the time that was given.*'
    if not cells:
        raise Wrong(f'no such row in {file}')
    plain = re.compile(rf'{NUMBER.pattern}( [^ ]+)?|[-–—]*')
    rule = ''.join('|---:' if all(map(plain.fullmatch, column)) else '|---' for column in zip(*cells))
    titles = [re.sub('_(seconds|bytes)$', '', names[j]).replace('_', ' ') for j in picks]
    body = ['| ' + ' | '.join(cell.replace('|', r'\|') for cell in row) + ' |' for row in cells]
    return '\n'.join(([machine + '.*', ''] if machine else []) + ['| ' + ' | '.join(titles) + ' |', rule + '|', *body])


def tables(here, file, *asked):
    """Our table and, if the folder `here` has another one of that name, the reader's."""
    ours = table(file, asked, 'our')
    other = here and file.startswith('figures') and f'{here}/{os.path.basename(file)}'
    if not other or not os.path.exists(other):
        return ours
    yours = table(other, asked, 'your')
    return ours if yours.replace('*On your', '*On our', 1) == ours else f'{ours}\n\n{yours}'


# ---- Claims

APPROXIMATE = re.compile(r'\b(within|beyond|alike|worse|[a-z_]*holds|property_one_function|'
                         r'property_every_tensor_counts|promise_rung)\(')
COUNTED = re.compile(r'(multiplications|fixture_peak|multiply_adds|fixture_cores|problem_parameters)\(')
ONE_FUNCTION = re.compile(r'^forms_(of_the_layers_)?are_one_function$|_forms_are_one_function$|^forms_agree$')


def how_judged(file, test, tolerance, body):
    if ONE_FUNCTION.search(test) or 'exact' in file and not tolerance:
        return 'exact'
    if re.search(r'_(counts|published)\.c|_cuda_', file) or test.endswith('_multiplies_as_its_formula_says'):
        return 'counted'
    if tolerance or any(APPROXIMATE.search(text) and not text.endswith(', 0);') for text in body):
        return 'measured'
    return 'counted' if any(map(COUNTED.search, body)) else 'kept'


@functools.cache
def learn_hows():
    """How each test judges: exactly, over the field of tests/exact; within a tolerance that its comment
    states or its code asks for (measured); by counting; or by a property that holds or does not (kept)."""
    how = {text.split('\t')[1]: 'exact' for text in lines_of('tests/exact/claims.tsv') if not text.startswith('#')}
    for file in sorted([*suites(), BATTERY]):
        if file.endswith('.py'):
            for test in re.findall(r'^    def test_.*?(?=^    def |\Z)', text_of(file), re.M | re.S):
                how[re.search(r'test_(\w+)', test)[1]] = 'measured' if 'Tolerance' in test else 'kept'
            continue
        tolerance = False
        for part in re.split(r'^(?=/\*|(?:START_)?TESTS?\()', text_of(file), flags=re.M):
            if part.startswith('/*'):
                stated = re.findall(r'^[/ ]\*.*(?:Tolerance|Measure,? (?:and )?tolerance).*', part, re.M)
                tolerance = bool(stated) and not re.search('Tolerance:? +([Nn]one|[Zz]ero)', stated[-1])
            test = re.match(r'(?:START_)?TESTS?\((\w+)(.*?)^}', part, re.M | re.S)
            if test and test[1] not in how:
                how[test[1]] = how_judged(file, test[1], tolerance, test[2].splitlines())
    return how


def cells_of(row):
    row = re.sub(r'^\s*\||(?<!\\)\|\s*$', '', row)
    return [cell.strip() for cell in re.split(r'(?<!\\)\|', row)]


def claim_cells(row):
    """Claim, paper, test, how it was judged, verdict; the committed "how" is ignored."""
    cells = cells_of(row)
    if len(cells) not in (4, 5):
        raise Wrong(f'a row of its claims has {len(cells)} cells: {row}')
    found = {learn_hows().get(re.sub('^[a-z_]*/', '', name)) for name in re.findall('`([^`]*)`', cells[2])}
    how = next((each for each in ('exact', 'measured', 'counted', 'kept') if each in found), '')
    return [*cells[:3], how, cells[-1]]


def claim_rows(page):
    """{line number: row} of the tables of claims, with their heads and rules; other pages have none."""
    if page != CLAIMS:
        return {}
    return {number: text for number, text in enumerate(lines_of(page), 1) if text.startswith('|')}


def claimed(row):
    if re.fullmatch('[|: -]*', row):
        return '|---|---|---|---|---|'
    cells = claim_cells(row)
    if cells[0] == 'Claim':
        cells[3] = 'How'
    return '| ' + ' | '.join(cells) + ' |'


# ---- Exercises

def exercise(file):
    """(title, keys, parts) of an exercise; parts are (name, text), first ("Question", text before any heading)."""
    head, *rest = re.split(r'^## (.*)\n', '\n'.join(lines_of(file)) + '\n', flags=re.M)
    title, keys, question = re.fullmatch(r'# (.*)\n((?:\n|[a-z]+: .*\n)*)((?:.*\n)*)', head).groups()
    parts = zip(['Question', *rest[::2]], [question, *rest[1::2]])
    return title, dict(re.findall('^([a-z]+): *(.*)', keys, re.M)), [(name, text.strip('\n')) for name, text in parts]


def hole(cut):
    """(lines, first, last) of the lines that `cut:` names: a step without its comment, or a function's body."""
    file, name, *step = cut.replace('Step ', '').split()
    lines, first, last = definition(file, name, *step)
    while '*/' not in lines[first] if step else not lines[first].startswith('{'):
        first += 1
    return lines, first + 1, last if step else last - 1


def hole_place(keys):
    """FILE:LINE of an exercise's solution."""
    return f'{keys["cut"].split()[0]}:{hole(keys["cut"])[1] + 1}'


def exercises(chapter, part='Question'):
    """The questions of a chapter's exercises, or their answers."""
    out, n = [], 1
    while os.path.exists(file := f'chapters/exercises/{chapter}.{n}.md'):
        title, keys, parts = exercise(file)
        parts = dict(parts)
        if not parts.get(part):
            raise Wrong(f'{file}: the part "{part}" is empty')
        title = f'{chapter}.{n} {title}'
        head = f'**{title}** ({KIND[keys["kind"]]}, {keys["minutes"]} minutes). ' if part == 'Question' else \
            f'### {title}\n\n'
        out.append(head + parts[part])
        if part == 'Answer' and keys['kind'] == 'hole':
            place = hole_place(keys)
            out.append(f'The code is [{place}](../{place.replace(":", "#L")}).')
        n += 1
    if not out:
        raise Wrong(f'chapter {chapter} has no exercises')
    return '\n\n'.join(out)


def answers():
    pages = [*sorted(glob.glob('chapters/[0-9]*-*.md')), 'chapters/appendices/cuda.md']
    return '\n\n'.join(f'#{lines_of(page)[0]}\n\n{exercises(n, "Answer")}' for n, page in enumerate(pages))


# ---- The page

def filled(page, here, kind, words):
    """The contents of a block; those of "bound" are empty in the committed page."""
    if kind == 'code':
        if not (len(words) == 2 or len(words) == 4 and words[2] == 'Step'):
            raise Wrong('not <!-- code: FILE NAME [Step n] -->')
        return excerpt('../' * page.count('/'), *words[:2], *words[3:])
    if not words or kind == 'bound' and not re.fullmatch(r'answers|exercises|.*\.tsv', words[0]):
        raise Wrong(f'not a block of kind {kind}: {" ".join(words)}')
    if kind == 'bound' and here is None:
        return ''
    if words[0] == 'exercises':
        return exercises(words[1])
    if words[0] == 'answers':
        return answers()
    return f'<div class="bound">\n\n{tables(here, *words)}\n\n</div>' if kind == 'bound' else tables(here, *words)


def woven(page, here=None):
    """The text of a page with its blocks filled: as it is committed or, with the folder of this machine's figures
    `here`, as it is bound."""
    out, numbered = [], enumerate(lines_of(page), 1)
    rows = claim_rows(page)
    for number, text in numbered:
        try:
            out.append(claimed(text) if number in rows else text)
            mark = MARK.match(text)
            if mark and mark[1]:
                raise Wrong('nothing is open here')
            if mark:
                contents = filled(page, here, mark[2], (mark[3] or '').split())
                out += [contents] if contents else []
            if mark and mark[2] != 'bound':
                closing = next((MARK.match(each) for _, each in numbered if MARK.match(each)), None)
                if not closing or closing.groups()[:2] != ('/', mark[2]):
                    raise Wrong('this block is not closed')
                out.append(closing.string)
        except Wrong as wrong:
            raise Wrong(f'{page}:{number}: {wrong}')
    return '\n'.join(out) + '\n'


def weave(pages):
    """Fill the blocks of committed pages in place."""
    for page in pages:
        text = woven(page)
        if text != text_of(page):
            replace(page, text)
            print(f'  woven {page}')
