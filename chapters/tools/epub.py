"""epub.py -- the bound book as an EPUB 3: its pages without those of the suites, scripts and live figures

A link leads to a place in the EPUB or to the Web; the text of any other link stays."""
import re, time, zipfile
from pages import BOOK
from weave import text_of

XHTML = '''<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en">
<head><title>{}</title><link rel="stylesheet" href="book.css"/></head>
<body>
{}
</body>
</html>
'''
CONTAINER = '''<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
'''
PACKAGE = '''<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">attention-twice-told-{}</dc:identifier>
<dc:title>{}</dc:title>
<dc:language>en</dc:language>
<dc:creator>Twice Told contributors</dc:creator>
<meta property="dcterms:modified">{}</meta>
</metadata>
<manifest>
{}
</manifest>
<spine>
{}
</spine>
</package>
'''
CSS = '''h1, h2, h3, h4 { font-weight: normal; line-height: 1.2; page-break-after: avoid }
img { max-width: 100% }
figure, .excerpt { margin: 1.5em 0 }
figcaption, .machine, .excerpt > p, .number { font-size: .85em }
code { font-size: .85em }
pre { font-size: .8em; white-space: pre-wrap; margin: 1em 0; border-left: 2px solid #999; padding-left: .7em }
table { border-collapse: collapse; font-size: .85em }
th, td { text-align: left; vertical-align: top; padding: .3em .8em .3em 0; border-bottom: 1px solid #999 }
.mark { font-size: .7em; vertical-align: super }
.equation { display: flex; align-items: center; margin: 1em 0 }
.equation math { flex: 1 }
nav ol { list-style: none; padding-left: 1em }
.kw, .cf { font-weight: bold }
.co { font-style: italic }
'''
MEDIA = {'xhtml': 'application/xhtml+xml', 'css': 'text/css', 'svg': 'image/svg+xml', 'png': 'image/png'}


def names_of(folder):
    """The pages in the order of the sidebar, first the cover."""
    listed = re.search('<nav class="book".*?</nav>', text_of(folder + '/index.html'), re.S)[0]
    return [name for name in re.findall(r'href="([^"]*)\.html"', listed) if name != 'proofs']


def body_of(page):
    """A page's heading and text as XHTML, without what needs a script or a screen."""
    text = re.search('<h1>.*?</h1>', page, re.S)[0] + re.search('<main>\n(.*)</main>', page, re.S)[1]
    for pattern, replacement in [
            (r'<figure class="live".*?</figure>', '<p><em>Here the book in a browser has its live figure.</em></p>'),
            (r'<a class="permalink".*?</a>|<a href="#cb\d+-\d+"[^>]*></a>| id="cb\d[^"]*"| tabindex="0"', ''),
            (r'<a href="[^"]*\.svg">(<img[^>]*>)</a>', r'\1'),
            (r'<(img|br|hr|wbr|col)\b([^>]*?) ?/?>', r'<\1\2/>'),
            ('<details class="yours" open>', '<details class="yours" open="open">')]:
        text = re.sub(pattern, replacement, text, flags=re.S)
    return text


def linked(name, bodies, ids):
    def link(found):
        page, _, fragment = found[2].partition('#')
        page = page.removesuffix('.html') or name
        if not re.match('https?:', found[2]):
            if page not in bodies or fragment and fragment not in ids[page]:
                return f'<a{found[1]}{found[3]}>'
            found = [0, found[1], page + '.xhtml' + f'#{fragment}' * bool(fragment), found[3]]
        return f'<a{found[1]} href="{found[2]}"{found[3]}>'
    return re.sub(r'<a\b([^>]*?) href="([^"]*)"([^>]*)>', link, bodies[name])


def contents(bodies):
    """The navigation document: each page and its sections."""
    out = ''
    for name, text in bodies.items():
        parts = [(f'{name}.xhtml', re.search('<h1>(.*?)</h1>', text, re.S)[1])]
        parts += [(f'{name}.xhtml#{anchor}', words) for anchor, words in re.findall(
            '<h2 id="([^"]*)">(.*?)</h2>', text, re.S)]
        page, *sections = [f'<a href="{target}">{re.sub("<[^>]*>", "", words).strip()}</a>' for target, words in parts]
        below = ''.join(f'<li>{section}</li>\n' for section in sections)
        out += f'<li>{page}' + f'\n<ol>\n{below}</ol>' * bool(below) + '</li>\n'
    return XHTML.format('Contents', f'<nav epub:type="toc">\n<h1>Contents</h1>\n<ol>\n{out}</ol>\n</nav>')


def pack(folder, out, version, cover):
    """Writes the EPUB file OUT of the book bound in FOLDER, with a PNG for its cover."""
    names = names_of(folder)
    bodies = {name: body_of(text_of(f'{folder}/{name}.html')) for name in names}
    ids = {name: set(re.findall(r'\sid="([^"]*)"', text)) for name, text in bodies.items()}
    files = {'contents.xhtml': contents(bodies), 'book.css': CSS}
    for name, text in bodies.items():
        title = re.sub('<[^>]*>', '', re.search('<h1>(.*?)</h1>', text, re.S)[1])
        files[name + '.xhtml'] = XHTML.format(title, linked(name, bodies, ids))
        for path in re.findall('<img src="([^"]*)"', text):     # a drawing of several plots repeats their names
            files[path] = re.sub(r'\sid="gnuplot_plot_\w*"', '', text_of(f'{folder}/{path}'))
    with open(cover, 'rb') as picture:
        files['cover.png'] = picture.read()
    properties = {'contents.xhtml': ' properties="nav"', 'cover.png': ' properties="cover-image"'}
    items = [f'<item id="file{n}" href="{path}" media-type="{MEDIA[path.rpartition(".")[2]]}"' +
             properties.get(path, ' properties="mathml"' * ('<math' in str(content))) + '/>'
             for n, (path, content) in enumerate(files.items())]
    spine = [f'<itemref idref="file{n}"/>' for n, path in enumerate(files) if path.endswith('.xhtml')]
    files['package.opf'] = PACKAGE.format(version, BOOK, time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
                                          '\n'.join(items), '\n'.join([spine[1], spine[0], *spine[2:]]))
    with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr('mimetype', 'application/epub+zip', zipfile.ZIP_STORED)
        archive.writestr('META-INF/container.xml', CONTAINER)
        for path, content in files.items():
            archive.writestr('book/' + path, content)
