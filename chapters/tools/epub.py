"""epub.py -- the bound book as an EPUB 3: its pages without those of the suites, scripts and live figures

A link leads to a place in the EPUB or to the Web; the text of any other link stays."""
import mimetypes, re, time, zipfile
from pages import BOOK, contents_of
from weave import text_of

XHTML = '''<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en">
<head><title>{}</title><link rel="stylesheet" href="book.css"/></head>
<body>{}</body></html>'''
CONTAINER = '''<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'''
PACKAGE = '''<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">attention-twice-told-{}</dc:identifier>
<dc:title>{}</dc:title><dc:language>en</dc:language><dc:creator>Twice Told contributors</dc:creator>
<meta property="dcterms:modified">{}</meta></metadata>
<manifest>{}</manifest><spine>{}</spine></package>'''
CSS = '''img { max-width: 100% } figcaption, .machine, .excerpt > p, table, code { font-size: .85em }
pre { white-space: pre-wrap; border-left: 2px solid; padding-left: .7em } table { border-collapse: collapse }
th, td { text-align: left; vertical-align: top; padding: .3em .8em .3em 0; border-bottom: 1px solid #999 }
.equation { display: flex; align-items: center; margin: 1em 0 } .equation math { flex: 1 } td code { font-size: 1em }
nav ol { list-style: none; padding-left: 1em } .mark { font-size: .7em; vertical-align: super }'''
AS_XHTML = [        # what needs a script or a screen goes
    (r'<figure class="live".*?</figure>', '<p><em>Here the book in a browser has its live figure.</em></p>'),
    (r'<a class="permalink".*?</a>|<a href="#cb\d+-\d+"[^>]*></a>| id="cb\d[^"]*"| tabindex="0"', ''),
    (r'<a href="[^"]*\.svg">(<img[^>]*>)</a>', r'\1'), (r'<(img|br|hr|wbr|col)\b([^>]*?) ?/?>', r'<\1\2/>'),
    ('(?<=<details class="yours" open)', '="open"')]


def linked(name, bodies):
    def link(found):
        page, mark, fragment = found[2].partition('#')
        page = page.removesuffix('.html') or name
        known = page in bodies and (not mark or f' id="{fragment}"' in bodies[page])
        return f'<a{found[1]}' + f' href="{page}.xhtml{mark}{fragment}"' * known + f'{found[3]}>'
    return re.sub(r'<a\b([^>]*?) href="(?!https?:)([^"]*)"([^>]*)>', link, bodies[name])


def heading(text):
    return re.sub('<[^>]*>', '', re.search('<h1>(.*?)</h1>', text, re.S)[1])


def pack(folder, out, version, cover):
    """Writes the EPUB file OUT of the book bound in FOLDER, with a PNG for its cover."""
    sidebar = re.search('<nav class="book".*?</nav>', text_of(folder + '/index.html'), re.S)[0]
    names = [name for name in re.findall(r'href="([^"]*)\.html"', sidebar) if name != 'proofs']
    bodies = {name: text_of(f'{folder}/{name}.html') for name in names}
    for name, page in bodies.items():
        text = re.search('<h1>.*?</h1>', page, re.S)[0] + re.search('<main>\n(.*)</main>', page, re.S)[1]
        for pattern, replacement in AS_XHTML:
            text = re.sub(pattern, replacement, text, flags=re.S)
        bodies[name] = text
    files = {name + '.xhtml': XHTML.format(heading(text), linked(name, bodies)) for name, text in bodies.items()}
    below = {name: contents_of(text, 2).replace('ul>', 'ol>').replace('href="', f'href="{name}.xhtml') * ('<h2' in text)
             for name, text in bodies.items()}
    parts = ''.join(f'<li><a href="{name}.xhtml">{heading(bodies[name])}</a>{below[name]}</li>\n' for name in names)
    files['contents.xhtml'] = XHTML.format('Contents', f'<nav epub:type="toc"><h1>Contents</h1><ol>{parts}</ol></nav>')
    spine = ''.join(f'<itemref idref="file{n}"/>\n' for n in range(len(files)))
    for path in re.findall('<img src="([^"]*)"', ''.join(bodies.values())):     # several plots of one repeat names
        files[path] = re.sub(r'\sid="gnuplot_plot_\w*"', '', text_of(f'{folder}/{path}'))
    with open(cover, 'rb') as picture:
        files |= {'book.css': CSS, 'cover.png': picture.read()}
    properties = {'contents.xhtml': ' properties="nav"', 'cover.png': ' properties="cover-image"'}
    items = ''.join(f'<item id="file{n}" href="{path}" media-type="{mimetypes.guess_type(path)[0]}"' +
                    properties.get(path, ' properties="mathml"' * ('<math' in str(content))) + '/>\n'
                    for n, (path, content) in enumerate(files.items()))
    now = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())
    with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr('mimetype', 'application/epub+zip', zipfile.ZIP_STORED)
        archive.writestr('META-INF/container.xml', CONTAINER)
        archive.writestr('book/package.opf', PACKAGE.format(version, BOOK, now, items, spine))
        for path, content in files.items():
            archive.writestr('book/' + path, content)
