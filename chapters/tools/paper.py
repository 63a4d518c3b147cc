"""paper.py -- the bound book as one PDF, and the figures as slides

book() joins the pages of a bound book into one, and Chromium prints it twice: the page numbers of anchors in the first
print stand in the contents of the second, and next to the tests that claims name.  The suites are an appendix without
their code.  slides() writes one figure or table a page, from the committed tables in figures/."""
import glob, html, os, re, shutil, subprocess, sys
from browser import print_pdf
from weave import Wrong, read_table, replace, shown, text_of

HEAD = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{}'


# ---- The book

def is_suite(name):
    return name.startswith('test_')


class Print:
    """The pages as one: the cover, the chapters, the suites; `numbers` has the page of each anchor, once known."""

    def __init__(self, folder, numbers):
        chapters = re.search('<nav class="book".*?</nav>', text_of(folder + '/index.html'), re.S)[0]
        self.names = ['index', *re.findall(r'<li><a href="([^"]*)\.html"', chapters),
                      *re.findall(r'<td><a href="(test_\w+)\.html"', text_of(folder + '/proofs.html'))]
        self.texts = {name: text_of(f'{folder}/{name}.html') for name in self.names}
        self.numbers = numbers

    def title(self, name):
        return bare(re.search('<h1>(.*?)</h1>', self.texts[name], re.S)[1])

    def target(self, link, name):
        """Where a link leads in print; None if nowhere, as those that set a live figure."""
        if re.match('[a-z]+:', link):
            return link
        page, _, fragment = link.partition('#')
        page = '' if fragment.startswith('live?') else page.removesuffix('.html') or name
        return '#' + '--'.join(filter(None, (page, fragment))) if page in self.names else None

    def anchored(self, text, name):
        """Text whose anchors carry the name of their page; links between pages lead within the one."""
        in_table = text.startswith('<table')

        def link(found):
            target = self.target(found[2], name)
            where = f' href="{target}"' if target else ''
            number = ''
            if (in_table or 'class="mark"' in found[0]) and re.match('#test_.*--', target or '') or \
                    name == 'terms' and target:
                number = f'<span class="page">{self.numbers.get(target[1:], "")}</span>'
            return f'<a{found[1]}{where}{found[3]}>{found[4]}</a>{number}'

        text = re.sub(r'\sid="', f' id="{name}--', text)
        return re.sub(r'<a\b([^>]*?)\shref="([^"]*)"([^>]*)>(.*?)</a>', link, text, flags=re.S)

    def body(self, name):
        text = re.search('<main>\n(.*)</main>', self.texts[name], re.S)[1]
        text = re.sub(r'<a href="#cb[0-9]+-[0-9]+"[^>]*></a>|\sid="cb[0-9]+(-[0-9]+)?"', '', text)
        if name == 'index':
            text = re.sub(r'<h2[^>]*\sid="contents".*?(?=<h2|\Z)', '', text, flags=re.S)
        if is_suite(name):
            text = re.sub('<div class="(sourceCode|table)".*?</div>|<details.*?</details>', '', text, flags=re.S)
            text = re.sub('<p class="result">Not run.*?</p>', '', text, flags=re.S)
            text = re.sub(r'<h2\b((?!</h2>).)*</h2>\s*(?=<h2\b|\Z)', '', text, flags=re.S)
        return ''.join(self.anchored(part, name) for part in re.split('(<table.*?</table>)', text, flags=re.S))

    def contents(self):
        out = ['<section class="toc">\n<h2>Contents</h2>\n<ol>']
        for name in self.names[1:]:
            out.append(self.entry('section' if is_suite(name) else 'chapter', name, self.title(name)))
            if not is_suite(name):
                sections = re.findall(r'<h2[^>]*?\sid="([^"]*)"[^>]*>(.*?)</h2>', self.texts[name], re.S)
                out += [self.entry('section', f'{name}--{anchor}', bare(words)) for anchor, words in sections]
        return '\n'.join([*out, '</ol>\n</section>'])

    def entry(self, kind, anchor, words):
        number = self.numbers.get(anchor, '')
        return f'<li class="{kind}"><a href="#{anchor}"><span>{words}</span><span>{number}</span></a></li>'

    def head(self):
        """A chapter's title stands at the head of its pages."""
        out = [HEAD.format('<title>Attention, Twice Told</title>'), '<link rel="stylesheet" href="book.css">\n<style>']
        for n, name in enumerate(self.names):
            if n and not is_suite(name):
                title = html.unescape(self.title(name)).replace('"', r'\"')
                out.append(f'@page p{n} {{ @top-right {{ content: "{title}"; }} }}')
                page = f'p{n}'
            if n:
                out.append(f'section[id="{name}"] {{ page: {page}; }}')
        return '\n'.join([*out, '</style>\n</head>\n<body class="print">'])

    def whole(self):
        out = [self.head()]
        for name in self.names:
            kind = 'title' if name == 'index' else 'appendix' if is_suite(name) else 'chapter'
            heading = re.search('<h1>.*?</h1>', self.texts[name], re.S)[0]
            out.append(f'<section class="{kind}" id="{name}">\n{heading}\n{self.body(name)}</section>')
            if name == 'index':
                out.append(self.contents())
        return '\n'.join([*out, '</body>\n</html>\n'])


def bare(words):
    return ' '.join(re.sub('</?(a|code|span)[^>]*>', '', words).split())


def page_numbers(pdf):
    """{anchor: page}: the destinations of a PDF name page objects, and its tree of pages orders those."""
    with open(pdf, 'rb') as stream:
        data = stream.read().decode('latin-1')
    kids, places = {}, {}
    for number, content in re.findall(r'^(\d+) 0 obj\b(.*?)^endobj', data, re.M | re.S):
        if re.search(r'/Type /Pages\b', content):
            kids[number] = re.findall(r'(\d+) 0 R', re.search(r'/Kids \[(.*?)\]', content, re.S)[1])
        places.update(re.findall(r'/([^ /<>]+) \[(\d+) 0 R /XYZ', content))
    below = {kid for group in kids.values() for kid in group}

    def leaves(number):
        return [leaf for kid in kids[number] for leaf in leaves(kid)] if number in kids else [number]
    order = [leaf for root in kids if root not in below for leaf in leaves(root)]
    return {anchor: order.index(place) + 1 for anchor, place in places.items() if place in order}


def book(folder):
    """FOLDER/attention-twice-told.pdf, of the book bound in FOLDER."""
    joined, pdf, numbers = folder + '/print.html', folder + '/attention-twice-told.pdf', {}
    try:
        for _ in range(2):
            replace(joined, Print(folder, numbers).whole())
            print_pdf(joined, pdf)
            numbers = page_numbers(pdf)
    finally:
        if os.path.exists(joined):
            os.remove(joined)
    print(pdf)


# ---- Slides

STYLE = '''@page { size: 1280px 720px; margin: 0 }
body { margin: 0; font: 26px/1.35 sans-serif; color: #222; background: #fff }
section { box-sizing: border-box; width: 1280px; height: 720px; padding: 24px 36px 10px; break-after: page;
    display: flex; flex-direction: column }
h1 { font-size: 32px; font-weight: 600; line-height: 1.15; margin: 0 0 10px }
div { flex: 1; min-height: 0; display: flex; justify-content: center; align-items: center }
img { width: 100%; height: 100%; object-fit: contain }
footer { font-size: 17px; color: #666 }
table { border-collapse: collapse; font-size: 25px; white-space: nowrap }
th { text-align: left; font-weight: 400; color: #666; padding: 3px 18px; border-bottom: 2px solid #666 }
td { padding: 3px 18px; border-bottom: 1px solid #ddd }
td.number { text-align: right; font-variant-numeric: tabular-nums }
.first { justify-content: center }
.first h1 { font-size: 72px }
.first p { font-size: 34px; max-width: 1080px; margin: 12px 0 }'''

FIRST = '''<section class="first"><h1>Attention, Twice Told</h1>
<p>Five operators of vision attention, each as its equation reads, and fast; and proofs that both are the same
function</p></section>'''

CALLED = {'msa': 'self-attention', 'sra': 'SRA', 'lisa': 'LiSA', 'structsa': 'StructSA', 'elsa': 'ELSA',
          'chopd': 'ChoP’D', 'dfc-cp': 'CP factors', 'hilo': 'HiLo'}
GAPS = {
    'lisa': 'Eq. 10, 96 channels, D = 16, by Fourier transforms.',
    'structsa': '192 channels, D = 4, convolutions first, then tiles.',
    'elsa': '96 channels, 7×7 neighbours, nothing unfolded.',
    'chopd': '96 channels, the dense tensor or its factors.',
    'hilo': '384 channels, windows of 2×2, fewer keys and the same mean.'}


def table_of(name):
    return glob.glob(f'figures/*/{name}.tsv')[0]


def records(name, **only):
    names, rows, _ = read_table(table_of(name))
    rows = [dict(zip(names, row)) for row in rows]
    return [row for row in rows if all(row[key] == value for key, value in only.items())]


def slide(title, body, measured, text=''):
    """Its foot has the text and the machine that the table MEASURED was measured on."""
    machine = read_table(table_of(measured))[2].get('machine')
    if not machine:
        raise Wrong(f'{table_of(measured)}: found no machine, expected a line "# machine: ..."')
    foot = f'{text}  {re.sub(r"[(][RTMC]*[)]", "", machine)}'.strip()
    return f'<section><h1>{html.escape(title)}</h1>\n<div>{body}</div>\n<footer>{html.escape(foot)}</footer></section>'


def image(folder, name, file=None, cut=None):
    """A drawing; cut = (above, below) leaves out its own title and foot.  Below None: the foot of a sweep."""
    drawing = text_of(file or f'{folder}/{name}.svg')
    if cut:
        width, height = re.search(r'viewBox="0 0 (\d+) (\d+)"', drawing).groups()
        above, below = cut[0], cut[1] or int(height) - 462
        box = f'viewBox="0 {above} {width} {int(height) - above - below}"'
        drawing = re.sub(r'\swidth="\d+" height="\d+"\s+viewBox="[^"]*"', ' ' + box, drawing, count=1)
    replace(f'{folder}/{name}.svg', drawing)
    return f'<img src="{name}.svg" alt="">'


def ratio(x):
    if x < 1000:
        return f'{x:.1f}' if x < 10 else f'{x:.0f}'
    return f'{round(x, -1 if x < 10000 else -2):,.0f}'.replace(',', ' ')


def cell(row, column):
    text = shown(column, row[column])
    if column == 'grid':
        text = text.replace('x', '×')
    if column == 'operator' and 'options' in row:
        text = '7×7 windows' if 'window' in row['options'] else CALLED.get(text, text)
    kind = ' class="number"' if re.fullmatch(r'[0-9.]+( [a-zµ]+)?( ±.*)?', text) else ''
    return f'<td{kind}>{html.escape(text)}</td>'


def table(name, columns, **only):
    columns = columns.split()
    heads = [f'<th>{column.removesuffix("_seconds").replace("_", " ")}</th>' for column in columns]
    rows = [[cell(row, column) for column in columns] for row in records(name, **only)]
    return '<table>\n' + ''.join(f'<tr>{"".join(row)}</tr>\n' for row in [heads, *rows]) + '</table>'


def gap_slides(folder):
    """Each operator's times, and its gap at the largest grid that all three forms were measured at."""
    for chapter, text in GAPS.items():
        last = records('gap', series=chapter)[-1]
        algorithm, machine = ratio(float(last['algorithm'])), ratio(float(last['machine']))
        yield slide(f'{CALLED[chapter]} at {last["grid"].replace("x", "×")} tokens: {algorithm} times as fast by the '
                    f'algorithm, {machine} by the machine',
                    image(folder, chapter, f'figures/{chapter}/{chapter}.svg', (40, None)), chapter, text)


def all_slides(folder):
    one = 'One thread, float.'
    planes = 'operator 1×1 2×2 3×3 4×4 6×6 8×8 14×14'
    yield FIRST
    yield slide('How much faster: the algorithm’s part and the machine’s', image(folder, 'gap-factors'), 'gap', one)
    yield slide('The algorithm: time, naive over plain', image(folder, 'gap-algorithm'), 'gap', one)
    yield slide('The machine: time, plain over fast', image(folder, 'gap-machine'), 'gap', one)
    yield slide('The algorithm: memory, naive over plain', image(folder, 'gap-memory'), 'gap', one)
    yield from gap_slides(folder)
    yield slide('A gap has two parts: the algorithm and the machine', table(
        'gap-factors', 'operator grid from to algorithm machine less_work less_memory'), 'gap-factors')
    yield slide('Exponents of N, over the range that was fitted', table(
        'gap-fits', 'operator form from to work_exponent time_exponent memory_exponent'), 'gap-fits',
        'Work by formula, time and memory measured.')
    yield slide('On small planes the gap closes: naive time over plain', table('gap-loses', planes, what='algorithm'),
                'gap-loses')
    yield slide('There the fast form takes more memory: naive over fast', table('gap-loses', planes, what='memory'),
                'gap-loses')
    yield slide('Which one? Milliseconds of a layer of 96 channels', table(
        'gap-choices', 'operator 7×7 14×14 28×28 56×56 112×112', what='milliseconds'), 'gap-choices',
        'Fast forms, one image, one thread, float.')
    yield slide('How near to what the machine allows: full dots fast, hollow naive', image(folder, 'roofline'),
                'roofline', one + '  Slopes: levels of memory, and GB/s read from them.')
    yield slide('Shares of the roof, in percent of G multiply-adds a second', table(
        'roofline', 'operator grid intensity roof reached share', form='fast'), 'roofline',
        'Multiply-adds by formula, intensity in multiply-adds for each byte.')
    yield slide('The four blocks of LiSA’s Fig. 4, by fast forms',
                image(folder, 'blocks', 'figures/gap/gap-blocks-time.svg', (40, 78)), 'gap-blocks')
    yield slide('LITv2-S on larger images, by its attention',
                image(folder, 'resolution', 'figures/gap/gap-resolution.svg', (32, 40)), 'hilo',
                'Rings: what HiLo’s Table 4 prints.')


def slides(build):
    """BUILD/slides.pdf; what it is printed from is in BUILD/slides."""
    folder = build + '/slides'
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if subprocess.run([sys.executable, 'figures/draw.py', 'slides', folder]).returncode:
        raise Wrong('the drawings of the slides failed')
    page = folder + '/slides.html'
    replace(page, '\n'.join([HEAD.format('<title>Attention, Twice Told: the figures</title>'),
                             f'<style>\n{STYLE}\n</style>\n</head>\n<body>', *all_slides(folder)]))
    print_pdf(page, build + '/slides.pdf')
    print(build + '/slides.pdf')
