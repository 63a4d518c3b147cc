"""deck.py -- slides for a lecture, in Markdown, from chapters/slides.tsv

They quote the chapters and the sources, and show the figures.  A chart names the machine of its table."""
import html, itertools, re, textwrap
from pages import drawing_of
from weave import Wrong, excerpt, read_table, text_of

TABLE = 'chapters/slides.tsv'


def figure(name):
    """A drawing.  Of a sweep, whose axes end at 462, the remarks below are left out."""
    sweep = re.search(r'<svg\s+width="720" height="(5\d\d)"', text_of(drawing_of(name)))
    style = f' class="sweep" style="height: {int(sweep[1]) / 4.22:.0f}%"' if sweep else ''
    return f'<img src="{drawing_of(name)}" alt=""{style}>'


def chart(name):
    """A drawing that says where and when its table was measured."""
    about = read_table(drawing_of(name).replace('.svg', '.tsv'))[2]
    machine = re.sub(r'\([RTMC]*\)| CPU| Processor', '', about.get('machine', 'no machine')).replace(' @ ', ' at ')
    foot = f'Measured on {machine}, {about.get("measured", "no day")[:10]}.'
    if foot not in html.unescape(text_of(drawing_of(name))):
        raise Wrong(f'{drawing_of(name)}: expected "{foot}", as its table says')
    return f'{figure(name)}<footer>{html.escape(foot)}</footer>'


def quote(what):
    """The only paragraph of a page that contains the words, without the end of a proof."""
    page, words = what.split(' ', 1)
    text = re.sub('^> ?', '', re.sub('^```.*?^```', '', text_of(page), flags=re.M | re.S), flags=re.M)
    found = [part for part in re.split(r'\n\s*\n', text) if words in part]
    if len(found) != 1:
        raise Wrong(f'{TABLE}: found {len(found)} paragraphs of {page} with {words}, expected one')
    text = re.sub(r'\\tag\{([^{}]*)\}', r'\\qquad \\text{(\1)}', found[0].replace(r'\qquad \square', ''))
    return re.sub(r'\\(Bigg?)[lr]', r'\\\1', text)


def code(what):
    """An excerpt, without the brace of a loop around it; below, its file and line."""
    text = re.sub(r'^```c\n((?:    .*\n)+)}\n```', lambda found: f'```c\n{textwrap.dedent(found[1])}```',
                  excerpt('', *what.replace(' Step', '').split()))
    return re.sub(r'\[(.*)\]\(.*#L(\d+)\)$', r'*\1, line \2*', text)


def slides():
    names, rows, _ = read_table('figures/gap/gap-factors.tsv')
    gap = {(row[0], name): cell.replace('x', '×') if name == 'grid' else f'{float(cell or 0):,.0f}'.replace(',', ' ')
           for row in rows for name, cell in zip(names, row) if name in ('grid', 'algorithm', 'machine')}
    for title, rows in itertools.groupby(read_table(TABLE)[1], lambda row: row[0]):
        title = re.sub(r'\{(\w+) (\w+)\}', lambda cell: gap[cell.groups()], title)
        out = f'<section>\n\n# {title}\n\n'
        for part, rows in itertools.groupby(rows, lambda row: row[1]):
            texts = [{'figure': figure, 'chart': chart, 'quote': quote, 'code': code, 'text': str}[part](what)
                     for *_, what in rows]
            out += f'<div class="{part}">\n\n' + '\n\n'.join(texts) + '\n\n</div>\n\n'
        yield out + '</section>\n'
