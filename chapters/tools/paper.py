"""paper.py -- the chapters of the bound book as one PDF, and slides for a lecture

book() joins the pages that one reads into one, and Chromium prints it twice: the page numbers of anchors in the first
print stand in the contents and the index of the second.  slides() prints what deck.py collects."""
import html, os, re, shutil
import deck, pages
from browser import address, chromium, missing, print_pdf, run
from check import answer
from weave import Wrong, replace, text_of

HEAD = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{}'


# ---- The book

PRINTED = r'\d-.*|symbols|bibliography|answers|terms'
NOT_PRINTED = r'''<h2[^>]* id="contents".*?(?=<h2|\Z)|<a href="#cb[0-9]+-[0-9]+"[^>]*></a>| id="cb[0-9]+(-[0-9]+)?"'''


class Print:
    """The pages as one: the cover, the chapters and what a reader of them looks up; `numbers` has the page of each
    anchor, once known."""

    def __init__(self, folder, numbers):
        chapters = re.search('<nav class="book".*?</nav>', text_of(folder + '/index.html'), re.S)[0]
        self.names = ['index', *re.findall(rf'<li><a href="({PRINTED})\.html"', chapters)]
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

    def link(self, found, name):
        target = self.target(found[2], name)
        number = f'<span class="page">{self.numbers.get(target[1:], "")}</span>' if target and name == 'terms' else ''
        return f'<a{found[1]}' + f' href="{target}"' * bool(target) + f'{found[3]}>{found[4]}</a>{number}'

    def body(self, name):
        """A page whose anchors carry its name; links between pages lead within the one."""
        text = re.search('<main>\n(.*)</main>', self.texts[name], re.S)[1]
        text = re.sub(r'\sid="', f' id="{name}--', re.sub(NOT_PRINTED, '', text, flags=re.S))
        text = re.sub('(<h2[^>]*--exercises".*)', r'<div class="exercises">\n\1</div>\n', text, flags=re.S)
        return re.sub(r'<a\b([^>]*?)\shref="([^"]*)"([^>]*)>(.*?)</a>', lambda found: self.link(found, name), text,
                      flags=re.S)

    def contents(self):
        """Chapters, and the sections that no other chapter has.  The outline of the PDF has all."""
        out = ['<section class="toc">\n<h2>Contents</h2>\n<ol>']
        sections = {name: re.findall(r'<h2[^>]*?\sid="([^"]*)"[^>]*>(.*?)</h2>', self.texts[name], re.S)
                    for name in self.names[1:]}
        seen = [anchor for name in sections for anchor, _ in sections[name]]
        for name in sections:
            out.append(self.entry('chapter', name, self.title(name)))
            out += [self.entry('section', f'{name}--{anchor}', bare(words)) for anchor, words in sections[name]
                    if seen.count(anchor) == 1]
        return '\n'.join([*out, '</ol>\n</section>'])

    def entry(self, kind, anchor, words):
        page = f'<span>{self.numbers.get(anchor, "")}</span>'
        return f'<li class="{kind}"><a href="#{anchor}"><span>{words}</span>{page}</a></li>'

    def head(self):
        """A chapter's title stands at the head of its pages."""
        out = [HEAD.format('<title>Attention, Twice Told</title>'), '<link rel="stylesheet" href="book.css">\n<style>']
        for n, name in enumerate(self.names[1:]):
            title = html.unescape(self.title(name)).replace('"', r'\"')
            out.append(f'@page p{n} {{ @top-right {{ content: "{title}"; }} }}\nsection[id="{name}"] {{ page: p{n}; }}')
        return '\n'.join([*out, '</style>\n</head>\n<body class="print">'])

    def whole(self):
        out = [self.head()]
        for name in self.names:
            kind = 'title' if name == 'index' else 'chapter'
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
@font-face { font-family: "Book Math"; src: url(math.font) }
body { margin: 0; font: 26px/1.35 sans-serif; color: #222 }
section { box-sizing: border-box; width: 1280px; height: 720px; padding: 24px 26px 14px; break-after: page;
    display: flex; flex-direction: column; position: relative }
section:first-child { justify-content: center; font-size: 36px }
section:first-child * { margin: 12px 0 }
h1 { font-size: 1.25em; line-height: 1.15; margin: 0 0 10px }
p { margin: 10px 0 } math { font-family: "Book Math", math }
.quote, .code { margin: auto 0 }
pre { margin: 0; line-height: 23px; white-space: pre-wrap }
pre code { font-size: 18.7px }      /* 14 points, of 540 for the height */
.code > p, footer { font-size: 16px; margin: 2px 0; color: #666 }
.co { color: #666; font-style: italic } .kw, .cf { color: #7c2d1f } .dt { color: #2f5d50 } .dv { color: #8a5a00 }
.figure, .chart { flex: 1; min-height: 0; overflow: hidden; text-align: center }
:is(.figure, .chart) p { height: 100%; margin: 0 }
.chart { margin-bottom: 24px }
img { width: 100%; height: 100%; object-fit: contain }
.sweep { width: auto; position: relative; top: -9% }        /* without its title and, by its height, remarks */
footer { position: absolute; bottom: 8px }'''
FULL = '''<script>for (const slide of document.querySelectorAll("section"))
    if ([...slide.querySelectorAll("*")].some(part => part.getBoundingClientRect().right > 1270) ||
        slide.scrollHeight > 720) slide.querySelector("h1").id = "full"</script>'''


def too_full(folder):
    """Writes FOLDER/slides.html, and lists the slides whose content does not fit."""
    page = folder + '/slides.html'
    os.makedirs(folder, exist_ok=True)
    for font in filter(os.path.exists, pages.MATH_FONTS[::-1]):
        shutil.copy(font, folder + '/math.font')
    text = '\n'.join(deck.slides())
    body = pages.pandoc(text, '--from=gfm+tex_math_dollars', '--to=html5', '--mathml', '--wrap=none')
    body = pages.set_as_tex(body.replace(' src="', f' src="{os.path.relpath(".", folder)}/'))
    replace(page, '\n'.join([HEAD.format('<title>Attention, Twice Told: slides</title>'), f'<style>\n{STYLE}\n</style>',
                             '</head>\n<body>', body, FULL]))
    return re.findall('<h1 id="full">(.*?)</h1>', run(chromium(), '--dump-dom', address(page))[0])


def slides_fit(folder):
    if reason := missing():
        print(f'skipped: the slides: {reason}')
        return True
    return answer('the slides: each has room for its content', too_full(folder))


def slides(build):
    """BUILD/slides.pdf; what it is printed from is in BUILD/slides."""
    if full := too_full(build + '/slides'):
        raise Wrong(f'chapters/slides.tsv: found too much for a slide: {"; ".join(full)}')
    print_pdf(build + '/slides/slides.html', build + '/slides.pdf')
    print(build + '/slides.pdf')
