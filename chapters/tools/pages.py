"""pages.py -- the book as HTML: a page per chapter, per suite of tests, and per source that these link to

    bind(FOLDER, PAGES, sources=True)

Writes FOLDER/index.html and everything next to it.  FOLDER/figures has the drawings and tables of this machine; a page
shows them where they differ from the committed ones.  Next to FOLDER may be tap/{float,double,exact}, the output of the
suites, and live/module.js, the library for the live figures.  book.md's contents give the order of the chapters.
"""
import glob, html, json, os, pathlib, posixpath, re, shutil, string, subprocess, textwrap, time
from concurrent.futures import ThreadPoolExecutor

from weave import (BATTERY, Wrong, battery_tests, learn_hows, read_table, replace, suite_of, suites, test_addresses,
                   tests_of, text_of, woven)

BOOK = 'Attention, Twice Told'
NEXT_PAGE = '<!-- next page -->'
MATH_FONTS = ['/usr/share/texmf/fonts/opentype/public/tex-gyre-math/texgyrepagella-math.otf',
              '/usr/share/fonts/truetype/dejavu/DejaVuMathTeXGyre.ttf']
LANGUAGE = {'c': 'c', 'h': 'c', 'cc': 'c', 'cu': 'cpp', 'py': 'python', 'sh': 'bash', 'run': 'bash',
            'js': 'javascript', 'css': 'css', 'Makefile': 'makefile'}


# ---- Pandoc and its trees

def pandoc(text, *options):
    done = subprocess.run(['pandoc', *options], input=text, stdout=subprocess.PIPE, encoding='utf-8')
    if done.returncode:
        raise Wrong('pandoc failed')
    return done.stdout


def parsed(markdown):
    return json.loads(pandoc(markdown, '--from=gfm+tex_math_dollars', '--to=json'))['blocks']


def rendered(documents):
    """The HTML of each list of blocks.  Pandoc is slow to start: each run gets ten."""
    version = json.loads(pandoc('', '--to=json'))['pandoc-api-version']

    def run(batch):
        blocks = [block for document in batch for block in [*document, raw_block(NEXT_PAGE)]]
        tree = {'pandoc-api-version': version, 'meta': {}, 'blocks': blocks}
        return pandoc(json.dumps(tree), '--from=json', '--to=html5', '--mathml', '--wrap=none').split(NEXT_PAGE)[:-1]
    batches = [documents[n:n + 10] for n in range(0, len(documents), 10)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [page for pages in pool.map(run, batches) for page in pages]


def raw_block(text):
    return {'t': 'RawBlock', 'c': ['html', text]}


def code_block(text, identifier, classes):
    return {'t': 'CodeBlock', 'c': [[identifier, classes, []], text]}


def header(level, text, identifier):
    return {'t': 'Header', 'c': [level, [identifier, [], []], [{'t': 'Str', 'c': text}]]}


def box(kind, content, classes, attributes=()):
    return {'t': kind, 'c': [['', classes, list(attributes)], content]}


def plain(node):
    if isinstance(node, list):
        return ''.join(map(plain, node))
    kind = kind_of(node)
    if kind == 'Str':
        return node['c']
    if kind in ('Code', 'Math'):
        return node['c'][1]
    if kind == 'RawInline':
        return html.unescape(re.sub('<[^>]*>', '', node['c'][1]))
    if kind in ('Space', 'SoftBreak', 'LineBreak'):
        return ' '
    return plain(node.get('c', [])) if kind else ''


def kind_of(node):
    return node.get('t') if isinstance(node, dict) else None


def sole(block, kind):
    """Is it a paragraph with a single element, of this kind?"""
    return kind_of(block) in ('Para', 'Plain') and len(block['c']) == 1 and kind_of(block['c'][0]) == kind


# ---- Files

def content_of(path):
    """The text of a file; None if it is not text, empty, or not there."""
    try:
        text = text_of(path)
    except Wrong:
        return None
    return text if '\0' not in text and text else None


def save(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    replace(path, text)


def leaf_of(path):
    kind = 'appendix-' if path.startswith('chapters/appendices/') else ''
    return 'index.html' if path == 'book.md' else kind + suite_of(path) + '.html'


# ---- The book

# What the index lists.  A term is defined where a chapter first sets it in italics or bold.
TERMS = """aggregator; aliasing; banks; butterfly; circulant; core; CP decomposition; detectors; dynamic fully connected;
    fast; fibers; field; filter norm; form; frequency; ghost head; Hadamard attention; heads; Hi-Fi;
    integral image; keys; lane; Lo-Fi; mixer; naive; offset; plain; proof; query; reading;
    relative position embedding; residual; safe; seam; sectors; shared memory; span; spectrum; statistical; strip;
    tensor cores; tiles; Toeplitz; tuned; twiddle factors; vectors; virtual token; window"""
TERMS = {term.lower(): term for term in re.split(r';\s+', TERMS)}


class Book:
    """State that all pages share."""

    def __init__(self, folder):
        self.folder, self.build = folder, os.path.dirname(folder) or '.'
        self.live = os.path.exists(self.build + '/live/module.js')
        self.sources = {'tests/index'}      # paths that pages link to; a folder's ends in /index
        self.claims = {}                    # for the address of a test: links to the rows that name it, one for a page
        self.found = []                     # what a search can find: words, address, page, and a section's text
        self.terms = {}                     # of each term: what a search finds, the place that defines it
        listed = text_of('book.md').partition('## Contents')[2]
        contents = dict.fromkeys(re.findall(r'\]\((chapters/[^)#]*\.md)', listed))
        self.titles = {path: re.search('^# (.*)', text_of(path), re.M)[1] for path in ['book.md', *contents]}
        self.template = string.Template(text_of('chapters/book.html'))

    def source(self, path):
        """The page of a file or folder of the project; None if it has none."""
        path += '/index' if os.path.isdir(path) else ''
        if not path.endswith('/index') and not content_of(path):
            return None
        self.sources.add(path)
        return f'source/{path}.html'


class Page:
    def __init__(self, book, path, blocks):
        self.book, self.path, self.leaf = book, path, leaf_of(path)
        self.seen, self.figures, self.live = set(), 0, False
        self.title = plain(blocks[0]['c'][2])
        section = [self.title, self.leaf, '', '']
        book.found.append(section)
        for block in blocks[1:]:
            if kind_of(block) == 'Header':
                section = [plain(block['c'][2]), f'{self.leaf}#{block["c"][1][0]}', self.title, '']
                book.found.append(section)
            elif path in book.titles:
                section[3] = ' '.join([section[3], *paragraphs(block)]).strip()
                if section[0] != 'In this chapter' and re.match(r'chapters/(\d|appendices)', path):
                    self.define(block, section)
        self.blocks = self.bound(blocks)

    def define(self, node, section):
        """Gives the first place of each term an anchor."""
        term = TERMS.get(plain(node['c']).lower()) if kind_of(node) in ('Emph', 'Strong') else None
        if term and term not in self.book.terms:
            anchor = 'term-' + term.lower().replace(' ', '-')
            where = ': '.join(dict.fromkeys([self.title, section[0]]))
            self.book.terms[term] = [term, f'{self.leaf}#{anchor}', where]
            self.book.found.append(self.book.terms[term])
            node['c'] = [{'t': 'Span', 'c': [[anchor, [], []], node['c']]}]
        elif isinstance(node, (dict, list)) and kind_of(node) != 'Link':
            for part in node if isinstance(node, list) else node.values():
                self.define(part, section)

    def bound(self, node, proof=None):
        """A tree as it is bound.  `proof` makes links of the names of tests; in headings and links they are plain."""
        kind = kind_of(node)
        if kind in ('Header', 'Link'):
            proof = code
        if kind == 'Code':
            return (proof or self.proof)(node)
        if kind == 'Math':
            return formula(node)
        if kind == 'Table' and not proof:
            return self.table(node)
        if isinstance(node, list):
            return glued(marked(self.boxed([self.bound(part, proof) for part in node])))
        if isinstance(node, dict):
            node = {key: self.bound(part, proof) for key, part in node.items()}
        if kind == 'Link':
            node['c'][2][0] = self.resolved(node['c'][2][0])
        return node

    def resolved(self, target):
        if re.match(r'[a-z]+:|#', target):
            return target
        path, mark, fragment = target.partition('#')
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.path), path))
        if path == 'book.md' or re.fullmatch(r'chapters/(appendices/)?[^/]+\.md', path):
            return leaf_of(path) + mark + fragment
        if re.fullmatch(r'figures/.*\.svg', path):
            return 'ours/' + os.path.basename(path)
        if path in suites() and not mark:
            return leaf_of(path)
        if path == 'tests':
            return 'proofs.html'
        page = self.book.source(path)
        return page + mark + fragment.replace('L', 'L-', 1) if page else target

    def proof(self, node, named=None):
        """Code, as a link if it names a test.  `named` collects those of a row of a table; the test leads back to the
        first place of a page that names it."""
        name, anchor = node['c'][1], ''
        address = test_addresses().get(name)
        if not address:
            return code(node)
        if named is not None:
            named.append(name)
        if name not in self.seen and self.leaf != 'index.html':
            self.seen.add(name)
            anchor = 'claim-' + name
            link = f'<a href="{self.leaf}#{anchor}">{html.escape(self.title, False)}</a>'
            self.book.claims.setdefault(address, {}).setdefault(self.leaf, link)
        return {'t': 'Link', 'c': [[anchor, ['proof'], [['title', name]]], [code(node)], [address, '']]}

    def table(self, node):
        """A table in a box that scrolls, with its tests as links."""
        heads = [plain(cell[4]) for _, row in node['c'][3][1] for cell in row]
        claim = next((n for n, head in enumerate(heads) if head in ('Claim', 'As printed', 'statement')), None)
        node['c'][3] = self.bound(node['c'][3])
        for row in (row for body in node['c'][4] for row in body[3]):
            words, named = plain(row[1][claim][4]) if claim is not None else '', []
            row[1] = self.bound(row[1], lambda part: self.proof(part, named))
            if words and named:
                self.book.found.append([words, f'{self.leaf}#claim-{named[0]}', self.title])
        cards = claim is not None or heads and heads[-1] in ('by', 'Test')
        if cards:                           # on a phone a row becomes a card, whose lines need the heads
            for cell, head in ((cell, head) for body in node['c'][4] for row in body[3]
                               for cell, head in list(zip(row[1], heads))[1:]):
                cell[0][2].append(['data-head', head])
        return box('Div', [node], ['table'] + ['claims'] * (claim == 0) + ['cards'] * bool(cards), [['tabindex', '0']])

    def boxed(self, blocks):
        """An excerpt and the link to its origin become one box, an image a figure; marks of the weaver go."""
        out = []
        for block in blocks:
            mark = block['c'][1] if kind_of(block) == 'RawBlock' else ''
            scene = re.match(r'<!-- live: (\w+) -->', mark)
            if scene and self.book.live:
                self.live = True
                times = f' data-times="{html.escape(json.dumps(gap_times()))}"' * (scene[1] == 'gap')
                out.append(raw_block(f'<figure class="live" data-scene="{scene[1]}"{times} hidden></figure>'))
            elif sole(block, 'Link') and out and kind_of(out[-1]) == 'CodeBlock':
                out[-1] = box('Div', [out[-1], block], ['excerpt'])
            elif sole(block, 'Image'):
                out.append(raw_block(self.figure(block['c'][0])))
            elif sole(block, 'Emph') and re.match(r'On \w+ machines?: ', plain(block['c'])):
                out.append(box('Div', [block], ['machine']))
            elif not mark.startswith('<!--'):
                out.append(block)
        return out

    def figure(self, image):
        _, caption, (source, _) = image['c']
        name, words = os.path.basename(source)[:-len('.svg')], html.escape(plain(caption))
        self.figures += 1
        number = re.match(r'(\w\.(?= )|)', self.title)[0] + str(self.figures)    # that of a chapter or an appendix
        ours, yours = origin(os.path.dirname(drawing_of(name)), name), origin(self.book.folder + '/figures', name)
        machine = f' <span class="machine">Our machine: {ours}.</span>' if ours else ''
        end = '' if words[-1:] in '.!?' else '.'
        out = f'<figure id="figure-{number.replace(".", "-")}">{picture(f"ours/{name}.svg", words)}' \
              f'<figcaption><b>Figure {number}.</b> {words}{end}{machine}</figcaption>'
        drawn = content_of(f'{self.book.folder}/figures/{name}.svg')
        if drawn and drawn != text_of(drawing_of(name)):
            out += '<details class="yours" open><summary>Your machine' + (f': {yours}' if yours else '') + \
                f'</summary>{picture(f"figures/{name}.svg", words + " (your machine)")}</details>'
        return out + '</figure>'


def paragraphs(node):
    """The texts of the paragraphs in a tree, without displayed formulas and tables of claims."""
    kind = kind_of(node)
    if kind in ('Para', 'Plain'):
        inline = [part for part in node['c'] if kind_of(part) != 'Math' or part['c'][0]['t'] == 'InlineMath']
        return [' '.join(plain(inline).split())]
    if kind == 'Table' and re.search('claim|as printed|statement|test', plain(node['c'][3]), re.I):
        return []
    parts = node if isinstance(node, list) else node.values() if isinstance(node, dict) else []
    return [text for part in parts for text in paragraphs(part)]


def index_of(book):
    terms = sorted(book.terms.values(), key=lambda entry: entry[0].lower())
    return '# Index\n\nEach link leads to the definition of the term.\n\n' + ''.join(
        f'- **{term}**: [{escaped(where)}]({target})\n' for term, target, where in terms)


def with_links(text):
    """Markdown whose "Figure 1.2" and "Figures 1.2 and 1.3" are links to the figures."""
    def link(found):
        before, word, chapter, figure = found.groups('')
        leaf = leaf_of(glob.glob(f'chapters/{chapter}-*.md')[0])
        return f'{before}[{word}{chr(160) * bool(word)}{chapter}.{figure}]({leaf}#figure-{chapter}-{figure})'
    return re.sub(r'(?<!\[)\b(?:(?<=Figures \d\.\d )(and |to )|(Figures?)\s)(\d)\.(\d+)', link, text)


def escaped(text):
    return re.sub(r'([][*_`\\$<>|])', r'\\\1', text)


def drawing_of(name):
    return glob.glob(f'figures/*/{name}.svg')[0]


def picture(path, words):
    return f'<a href="{path}"><img src="{path}" alt="{words}"></a>'


def origin(folder, name):
    """Machine and day of the table a figure is drawn from, the one that has most of its name.  A drawing of times names
    its day; one without was counted, or drawn by hand, and is the same on every machine."""
    drawing, data, table = content_of(f'{folder}/{name}.svg'), None, name
    while drawing and table and not data:
        data = content_of(f'{folder}/{table}.tsv')
        table = table.rpartition('-')[0]
    machine = data and re.search(r'# machine: (.*)', data)
    day = data and re.search(r'# measured: ([\d-]*)', data)
    return html.escape(f'{machine[1]}, {day[1]}') if machine and day and day[1] in drawing else None


def gap_times():
    """For the live figure of all operators: machine, day, sides of the grids and milliseconds of the fast forms."""
    names, rows, about = read_table('figures/gap/gap-choices.tsv')
    return {**about, 'sides': [int(name.partition('×')[0]) for name in names[2:]],
            'milliseconds': {row[1]: [float(cell) for cell in row[2:]] for row in rows if row[0] == 'milliseconds'}}


def code(node):
    """Code that no later step takes for the name of a test.  A long name may break after an underscore."""
    name = html.escape(node['c'][1])
    return {'t': 'RawInline', 'c': ['html', f'<code>{name.replace("_", "_<wbr>") if len(name) >= 16 else name}</code>']}


def marked(inlines):
    """The names of tests in brackets after a statement, "(`name`, `name`)", become small marks that lead to them."""
    out = []
    while inlines:
        proofs, n = [], 1
        while is_string(inlines[0], '(') and kind_of(inlines[n] if n < len(inlines) else None) == 'Link' and \
                'proof' in inlines[n]['c'][0][1]:
            proofs.append(inlines[n])
            n += 3 if is_string(inlines[n + 1], ',') else 1
        if proofs and is_string(inlines[n], ')'):
            out = out[:-1] if out and kind_of(out[-1]) in ('Space', 'SoftBreak') else out
            for proof in proofs:
                proof['c'][0][1], proof['c'][1] = ['mark'], [{'t': 'Str', 'c': '✓'}]
            inlines[n]['c'] = inlines[n]['c'][1:]
            out, inlines = out + proofs, inlines[n:]
        else:
            out, inlines = out + inlines[:1], inlines[1:]
    return out


def is_string(inline, start):
    return kind_of(inline) == 'Str' and inline['c'].startswith(start)


AFTER_NUMBER = r'(\d{3}|ns|µs|ms|s|bytes|[KMG]i?B|[MG]|%)(\W|$)'


def glued(inlines):
    """A formula in the text keeps the punctuation after it; a number keeps its next three digits, and its unit."""
    out = []
    for inline in inlines:
        if kind_of(inline) == 'Str' and re.match(r'[.,;:!?)]', inline['c']) and out and kind_of(out[-1]) == 'Math':
            out[-1] = box('Span', [out[-1], inline], ['glued'])
        elif len(out) > 1 and kind_of(inline) == 'Str' and kind_of(out[-1]) == 'Space' and \
                kind_of(out[-2]) == 'Str' and re.search(r'\d$', out[-2]['c']) and re.match(AFTER_NUMBER, inline['c']):
            out[-1:] = [{'t': 'Str', 'c': '\u202f'}, inline]
        else:
            out.append(inline)
    return out


def formula(node):
    r"""A displayed formula gets its number, for which MathML has no place; pandoc knows \Big, not \Bigl."""
    kind, text = node['c']
    text = re.sub(r'\\(Bigg?)[lr]', r'\\\1', text)
    number = re.search(r'\\tag\{([^{}]*)\}', text)
    node = {'t': 'Math', 'c': [kind, re.sub(r'\\tag\{[^{}]*\}', '', text)]}
    if kind['t'] == 'InlineMath':
        return node
    span = box('Span', [{'t': 'Str', 'c': f'({number[1]})'}], ['number']) if number else None
    return box('Span', [node] + [span] * bool(span), ['equation'])


def set_as_tex(text):
    """MathML as TeX would set it."""
    text = re.sub(r'<mstyle mathvariant="bold"><mn>(\d)</mn></mstyle>',
                  lambda digit: f'<mn>{chr(0x1d7ce + int(digit[1]))}</mn>', text)
    for pattern, replacement in [
            # Browsers know mathvariant on a letter only.
            (r'<mstyle mathvariant="normal"><mi>(\w)</mi></mstyle>', r'<mi mathvariant="normal">\1</mi>'),
            # Pandoc lets every bracket grow; only those of matrices should.
            (r'(?<!</mtable>)<mo stretchy="true" (form="(?:pre|post)fix">[^<]*</mo>)(?!<mtable)',
             r'<mo stretchy="false" \1'),
            # \bigl and \Big have sizes without a unit, which browsers ignore.
            (r'(m[a-z]*size="[0-9.]*)" (m[a-z]*size="[0-9.]*)" stretchy="false"', r'\1em" \2em" stretchy="true"'),
            # Names of functions have less space around them, and none before a bracket.
            (r'<mo>([A-Za-z]+)</mo>', r'<mo lspace="0.167em" rspace="0.167em">\1</mo>'),
            (r'rspace="0.167em">([A-Za-z]*</mo><mrow><mo [^>]*>[(\[])', r'rspace="0em">\1'),
            # A minus after a bracket, a comma or another sign is a sign, no operation.
            (r'([(\[,=]</mo>)<mo>−</mo>', r'\1<mo form="prefix">−</mo>'),
            # Few fonts have an overline for an accent; all have a macron.
            ('<mo accent="true">‾<', '<mo accent="true">¯<')]:
        text = re.sub(pattern, replacement, text)
    return text


# ---- Suites


class Suite:
    """A suite of tests, and what came of each when it last ran."""

    def __init__(self, book, path):
        self.book, self.path, self.name, self.text = book, path, suite_of(path), text_of(path)
        precisions = ['exact'] if path.startswith('tests/exact/') else ['float', 'double', 'exact']
        self.logs = {precision: f'{book.build}/tap/{precision}/{self.name}.log' for precision in precisions}
        if len(precisions) > 1 and not os.path.exists(self.logs['exact']):
            del self.logs['exact']
        self.results = {precision: results(log) for precision, log in self.logs.items()}
        self.battery = battery_tests(path)
        self.language = 'python' if path.endswith('.py') else 'c'
        self.title, *self.about = comment_paragraphs(re.match(r'/\*.*?\*/|""".*?"""', self.text, re.S)[0])
        self.title = sentence(re.sub(r'^\S+ -- ', '', self.title))

    def blocks(self):
        when = 'Not run here yet: <code>make test</code> runs it, and then <code>make book</code> shows the results.'
        ran = [log for log in self.logs.values() if os.path.exists(log)]
        if ran:
            when = f'Last run here on {time.strftime("%Y-%m-%d", time.localtime(os.path.getmtime(ran[0])))}.'
        out = [header(1, self.title, ''),
               raw_block(f'<p class="suite"><a href="{self.book.source(self.path)}">{self.path}</a>. {when}</p>'),
               *self.paragraphs(self.about)]
        section = []                        # a section without tests has no heading
        heading, test = r'^(?:/\*|#) -{2,} (.*?)(?: -* ?\*/)?$', r'^(?:(?:START_)?TESTS?\(|    def test_)(\w+)'
        for part in re.finditer(f'{heading}|{test}', self.text, re.M):
            if part[1]:
                words = re.findall(r'[\w.]+', part[1].lower().replace("'", ''))
                section = [header(2, sentence(part[1]), '-'.join(words))]
            else:
                out += section + self.test(part[2], self.path)
                section = []
        if self.battery:
            out.append(header(2, 'Tests of every operator', 'battery'))
        for test, tables in self.battery.items():
            over = ', '.join(self.link(self.path, rf'^.*\b{table}\[\]', table) for table in tables)
            out += self.test(test, BATTERY, f', over {over} of this suite')
        return out

    def link(self, path, pattern, name):
        """A name as a link to the line of a source that has the pattern."""
        text = text_of(path)
        place = re.search(pattern, text, re.M)
        line = text.count('\n', 0, place.start()) + 1 if place else 1
        return f'<a href="{self.book.source(path)}#L-{line}"><code>{name}</code></a>'

    def test(self, name, path, over=''):
        """A test: its comment as text, its code and what stands between both, what came of it, who claims it."""
        place = rf'^((?:START_)?TESTS?.|    def test_){name}\b'
        comment, code = (method if self.language == 'python' else function)(text_of(path), name)
        claims = self.book.claims.get(f'{self.name}.html#{name}')
        return [header(3, sentence(name.replace('_', ' ')), name),
                raw_block(f'<p class="at">{self.link(path, place, name)}{over}</p>'),
                *self.paragraphs(comment), code_block(code, '', [self.language]),
                raw_block(f'<p class="result">{self.result(name)}</p>' +
                          (f'<p class="claimed">Claimed in {", ".join(claims.values())}.</p>' if claims else ''))]

    def paragraphs(self, texts):
        """Text of a comment, with links to the tests and to the files of tests/ that it names."""
        def linked(match):
            word = match[0]
            if word in test_addresses():
                return f'<a href="{test_addresses()[word]}"><code>{word}</code></a>'
            source = self.book.source('tests/' + word) if '.' in word else None
            return f'<a href="{source}">{word}</a>' if source else word
        name = re.compile(r'([a-z]\w*/)?[a-z][a-z0-9]*_[a-z0-9_]+(\.[ch]\b)?')
        return [raw_block(f'<p>{name.sub(linked, html.escape(text, False))}</p>') for text in texts]

    def result(self, test):
        out, never = {}, 'not run here yet'
        for precision, tests in self.results.items():
            runs, failed, skipped, reason = tests.get(test, (0, 0, 0, ''))
            out[precision] = 'passed' + (f', {runs} cases' if runs > 1 else '') if runs else never
            if failed:
                out[precision] = f'<strong>{failed} of {runs} failed</strong>'
            elif runs and skipped == runs:
                out[precision] = f'skipped, {html.escape(reason, False)}'
        if set(out.values()) == {never}:
            return f'{sentence(never)}. <a href="claims.html">How it judges</a>: {learn_hows()[test]}.'
        return '; '.join(f'{precision}: {what}' for precision, what in out.items()) + '.'

    def row(self):
        cells = []
        for precision in ('float', 'double', 'exact'):
            tests = self.results.get(precision)
            runs, failed = (sum(test[n] for test in (tests or {}).values()) for n in (0, 1))
            cells.append('passed' if runs else '' if tests is None else 'not run')
            if failed:
                cells[-1] = f'{failed} of {runs} failed'
        tests = len(tests_of(self.path)) + len(self.battery)
        name, cells = self.name.replace('_', '_<wbr>'), ' | '.join(cells)
        return f'| [{name}]({self.name}.html) | {escaped(self.title)} | {tests} | {cells} |'


def results(log):
    """Of each test in the output of a suite: how often it ran, failed and was skipped, and the reason for that."""
    tests, reason = {}, ''
    for line in (content_of(log) or '').splitlines():
        if skip := re.match(r'skipped: (.*)|    \w+ \d+: not here: (.*)', line):
            reason = skip[1] or skip[2]
        elif ended := re.match(r'(not )?ok \d+ - [^:]*:[^:]*:(\w+)', line):
            runs, failed, skipped, why = tests.get(ended[2], (0, 0, 0, ''))
            tests[ended[2]] = runs + 1, failed + bool(ended[1]), skipped + bool(reason), reason or why
            reason = ''
    return tests


def function(text, test):
    """A test in C: the paragraphs of its comment, and its code with what stands between both."""
    code = re.search(rf'^(?:START_)?TESTS?\({test}[,)].*?^}}', text, re.M | re.S)
    before = re.split(r'^(?:START_)?TESTS?\((?s:.*?)^}|^/\* --.*\*/$', text[:code.start()], flags=re.M)[-1]
    comment, between = [], ''
    for found in re.finditer(r'^/\*.*?\*/\n', before, re.M | re.S):
        comment, between = comment_paragraphs(found[0]), before[found.end():].strip('\n')
    return comment, (between + '\n\n' if between else '') + code[0]


def method(text, test):
    """A test in Python: the paragraphs of its docstring, and its code without it."""
    code = re.search(rf'^    def test_{test}\(self.*?(?=\n+(?:    )?\S|\Z)', text, re.M | re.S)[0]
    found = re.search(r'^ *""".*?"""\n', code, re.M | re.S)
    if found:
        code = code.replace(found[0], '', 1)
    return comment_paragraphs(found[0].strip()) if found else [], textwrap.dedent(code)


def comment_paragraphs(comment):
    """The paragraphs of a comment or a docstring."""
    text = re.sub(r'^ \* ?', '', re.sub(r'^(/\*+ ?|""")|\s*(\*/|""")\s*$', '', comment), flags=re.M)
    return [' '.join(part.split()) for part in re.split(r'\n\s*\n', text) if part.strip()]


def sentence(text):
    text = re.sub(r'\bnan\b', 'NaN', text)
    return text[:1].upper() + text[1:]


PROOFS = '''# Proofs

Every claim of the book names a test. Each test has its place here: what it states, its code, what came of it when the
suites last ran on this machine, and which pages claim it. `make test` runs all of them, and some a second time over a
field of numbers that do not round, where no tolerance is allowed ([chapter 8](8-exact.html)). What the suites share is
in [tests/](source/tests/index.html).

| Suite | What it proves | Tests | In float | In double | Over the field |
|---|---|---:|---|---|---|
'''


# ---- Sources

def with_contents(sources):
    """The sources and, of each folder among them, all that it holds."""
    out = set(sources)
    for source in sources:
        if source.endswith('/index'):
            for folder, folders, files in os.walk(source[:-len('/index')]):
                folders[:] = [name for name in folders if name != '__pycache__']
                out.add(folder + '/index')
                out.update(f'{folder}/{name}' for name in files if content_of(f'{folder}/{name}'))
    return sorted(out)


def source_blocks(path):
    if path.endswith('/index'):
        return [raw_block(folder_table(path[:-len('/index')]))]
    language = LANGUAGE.get(os.path.basename(path).rsplit('.', 1)[-1], 'default')
    return [code_block(text_of(path).rstrip('\n'), 'L', [language, 'numberLines', 'lineAnchors'])]


def folder_table(folder):
    rows = []
    for name in sorted(name for name in os.listdir(folder) if name[0] not in '._'):
        text, what = content_of(f'{folder}/{name}'), None
        if os.path.isdir(f'{folder}/{name}'):
            link = f'<a href="{name}/index.html">{name}/</a>'
        else:
            link = f'<a href="{name}.html">{name}</a>' if text else name
            what = text and re.match(r'(?:#!.*\n)?[^a-zA-Z\n]*\S+ -- (.*)', text)
        what = re.sub(r' *\*/$', '', what[1]) if what else ''
        rows.append(f'<tr><td>{link}</td><td>{html.escape(what)}</td></tr>\n')
    return f'<table>\n<tbody>\n{"".join(rows)}</tbody>\n</table>'


# ---- HTML

def contents_of(body, deepest):
    """The nested list of the headings on a page.  Those before the first h2 are no part of one."""
    out, level, first = '', 1, body.find('<h2')
    for part in re.finditer(rf'<h([2-{deepest}]) id="([^"]*)">(.*?)</h\1>', body, re.S):
        depth = int(part[1]) if -1 < first <= part.start() else 2
        if depth > level:
            out += '<ul>\n'
        else:
            out += '</li>\n' + '</ul>\n</li>\n' * (level - depth)
        level = depth
        words = re.sub(r'</?a\b[^>]*>', '', part[3])
        out += f'<li><a href="#{part[2]}">{words}</a>'
    return out + '</li>\n</ul>\n' * (level - 1)


def page_html(book, kind, leaf, title, body, neighbours=(None, None), deepest=2, live=False):
    """A page around its body, whose first heading, if there is one, goes to the top."""
    heading = re.match(r'\s*<h1[^>]*>(.*?)</h1>', body, re.S)
    if heading:
        body = body[heading.end():]
    contents = contents_of(body, deepest)
    if kind != 'source':
        body = re.sub(r'(<h[2-4] id="([^"]+)">.*?)(</h)', r'\1<a class="permalink" href="#\2" aria-label="Link to this '
                      r'section"></a>\3', body, flags=re.S)
    top, aside, head = '../' * leaf.count('/'), '', ''
    if kind != 'source':
        scripts = ['book.js']
        scripts += [f'live/{name}.js' for name in ('library', 'scenes', 'bars', 'figure')] * live
        head = '<link rel="stylesheet" href="live/live.css">\n' * live
        head += ''.join(f'<script src="{script}" defer></script>\n' for script in scripts)
        pages = {leaf_of(path): name for path, name in book.titles.items() if path != 'book.md'}
        links = [f'<li><a href="{page}"{" aria-current=page" * (page == leaf)}>{html.escape(name, False)}</a></li>\n'
                 for page, name in (pages | {'proofs.html': 'Proofs', 'terms.html': 'Index'}).items()]
        aside = '<aside>\n<nav class="book" aria-label="The book">\n' \
            f'<a href="index.html">{BOOK}</a>\n<ul>\n{"".join(links)}</ul>\n</nav>\n' \
            f'<nav class="contents" aria-label="On this page">\n{contents}</nav>\n</aside>'
    return book.template.substitute(
        title=html.escape(title, False) + f' · {BOOK}' * (kind != 'cover'), top=top, head=head, kind=kind,
        home=f'<a href="{top}index.html">{BOOK}</a>' * (kind != 'cover'),
        heading=heading[1] if heading else html.escape(title, False), aside=aside, body=body.strip('\n'),
        links='\n'.join(f'<a rel="{rel}" href="{other[0]}">{html.escape(other[1], False)}</a>'
                        for rel, other in zip(('prev', 'next'), neighbours) if other))


def copy_parts(book):
    """Style, scripts, drawings, the font of the formulas, and the live figures."""
    folder = book.folder
    os.makedirs(folder + '/ours', exist_ok=True)
    shutil.rmtree(folder + '/live', ignore_errors=True)
    for path in ['chapters/book.css', 'chapters/book.js']:
        shutil.copy(path, folder)
    for path in glob.glob('figures/*/*.svg'):
        shutil.copy(path, folder + '/ours')
    shutil.rmtree(folder + '/figures', ignore_errors=True)
    os.makedirs(folder + '/figures')
    for path in glob.glob('figures/*/*.[st][vs][gv]') + glob.glob(folder + '/here/*.[st][vs][gv]'):
        shutil.copy(path, folder + '/figures')
    if book.live:
        os.mkdir(folder + '/live')
        for path in glob.glob('chapters/live/*.*') + [book.build + '/live/module.js']:
            shutil.copy(path, folder + '/live')
    for font in filter(os.path.exists, MATH_FONTS[::-1]):
        shutil.copy(font, folder + '/math.font')


def bind(folder, pages, sources=True):
    if not shutil.which('pandoc'):
        raise Wrong('pandoc is missing (make deps)')
    folder = folder.rstrip('/')
    book = Book(folder)
    copy_parts(book)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        trees = pool.map(parsed, [with_links(woven(path, folder + '/figures')) for path in pages])
        written = [Page(book, path, tree) for path, tree in zip(pages, trees)]
    listed = [Suite(book, path) for path in suites()]
    bound = [Page(book, suite.path, suite.blocks()) for suite in listed]
    bound.append(Page(book, 'proofs.md', parsed(PROOFS + '\n'.join(suite.row() for suite in listed))))
    bound.append(Page(book, 'terms.md', parsed(index_of(book))))
    undefined = [term for term in TERMS.values() if term not in book.terms]
    if undefined:
        raise Wrong(f'pages.py: found the terms {undefined}, expected a chapter that sets each in italics or bold')
    files = with_contents(book.sources) if sources else []
    bodies = iter(rendered([page.blocks for page in written + bound] + [source_blocks(path) for path in files]))

    chapters = [(leaf_of(path), title) for path, title in book.titles.items()]
    proofs = [('proofs.html', 'proofs')] + [(suite.name + '.html', suite.name[5:]) for suite in listed]
    neighbours = {page[0]: (before, after) for order in (chapters, proofs)
                  for before, page, after in zip([None] + order, order, order[1:] + [None])}
    for page in written + bound:
        kind = 'proofs' if page in bound else 'cover' if page.leaf == 'index.html' else 'chapter'
        around = neighbours.get(page.leaf, (None, None))
        text = page_html(book, kind, page.leaf, page.title, next(bodies), around, 2 + (page in bound), page.live)
        save(f'{folder}/{page.leaf}', set_as_tex(text))
    if sources:
        shutil.rmtree(folder + '/source', ignore_errors=True)
    for path in files:
        leaf = f'source/{path}.html'
        save(f'{folder}/{leaf}', page_html(book, 'source', leaf, path.removesuffix('/index'), next(bodies)))
    found = ''.join(json.dumps(entry, ensure_ascii=False).replace('</', '<\\/') + ',\n' for entry in book.found)
    save(folder + '/found.js', f'const book = [\n{found}];\n')
    print('the book: ' + pathlib.Path(folder, 'index.html').absolute().as_uri())
