"""sheet.py -- one drawing: colours, plain columns for gnuplot, and what the SVG needs afterwards

    render("lisa", "lines", settings, blocks, "work/lisa.svg")
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# Okabe and Ito's colours, distinct to colour-blind eyes; some a little darker, for a contrast of 3:1 on white.
INK, FAINT, GRID, WHITE = 0x333333, 0x6b6b6b, 0xe6e6e6, 0xffffff
BLUE, SKY, GREEN, ORANGE, VERMILION, PURPLE, BLACK = 0x0072b2, 0x4699c8, 0x009e73, 0xc78300, 0xd55e00, 0xb8558a, 0
# Letters are thinner than lines: text in a colour has 4.5:1.
WRITTEN = {SKY: 0x3a7698, GREEN: 0x00805d, ORANGE: 0x996300, VERMILION: 0xb95100, PURPLE: 0xa94d7e}
# The colours on a dark page.  White that belongs to a picture is fffffe.
DARK = {INK: 0xddd8cd, FAINT: 0xa0988a, GRID: 0x3d3a34, WHITE: 0x1b1a18, BLACK: 0xf2efe8, BLUE: 0x4fa8e8,
        SKY: 0xa3d5f5, GREEN: 0x35c79c, ORANGE: 0xe5a52e, VERMILION: 0xff8b4d, PURPLE: 0xe08fc0,
        0xb0b0b0: 0x5a564e, 0xbbbbbb: 0x5a564e}
DARK |= {written: DARK[colour] for colour, written in WRITTEN.items()}


def render(name, template, settings, blocks, out):
    """Draws figures/plot/TEMPLATE.gp into the file `out`; NAME.data and NAME.set go next to it.

    settings: wide, high (pixels), title, foot (list of lines, from above) and what the template wants.  letters is 15
        unless set; heading is what is written at the top, the title unless set.  A list becomes a gnuplot array; an
        empty one is not written.
    blocks: {title: rows} of plain columns; no title may begin like another.  Of all templates: "texts", rows (x, y,
        text, colour, anchor, size) in pixels from the upper left, where the anchor is left, right, center or the angle
        of a slanted text, and size 0 is the sheet's; "strokes", rows (x, y, dx, dy, colour).
    """
    folder = os.path.dirname(os.path.abspath(out))
    settings = {"letters": 15, "here": os.path.join(HERE, "plot"), "data": name + ".data",
                "out": name + ".drawn"} | settings
    with open(os.path.join(folder, name + ".set"), "w", encoding="utf-8") as file:
        file.writelines(assignment(key, value) for key, value in settings.items())
    with open(os.path.join(folder, name + ".data"), "w", encoding="utf-8") as file:
        for title, rows in (blocks | words(settings, blocks)).items():
            file.write(f"# {title}\n" + "".join("\t".join(map(column, row)) + "\n" for row in rows) + "\n\n")
    said = subprocess.run(["gnuplot", "-e", f"settings='{name}.set'", os.path.join(HERE, "plot", template + ".gp")],
                          cwd=folder, capture_output=True, text=True)
    if said.returncode:
        raise RuntimeError(f"gnuplot cannot draw {name}:\n{said.stderr}")
    sys.stderr.write(said.stderr)
    drawn = os.path.join(folder, name + ".drawn")
    with open(drawn, encoding="utf-8") as file:
        svg = finish(file.read(), settings["title"])
    os.remove(drawn)
    with open(out, "w", encoding="utf-8") as file:
        file.write(svg)


def words(settings, blocks):
    """The blocks of texts by their anchor, title and foot among them, and of strokes; never empty."""
    foot = settings.get("foot", [])
    texts = [(16, 24, settings.get("heading", settings["title"]), INK, "left", 17)] + list(blocks.get("texts", []))
    for n, line in enumerate(foot):
        texts.append((14, settings["high"] - 12 - 18 * (len(foot) - 1 - n), line, FAINT, "left", 12))
    groups = {"text left": [], "text right": [], "text center": [], "text slanted": []}
    for x, y, text, colour, anchor, size in texts:
        slanted = not isinstance(anchor, str)
        groups["text slanted" if slanted else "text " + anchor].append(
            (x, y, f"{{/={size} {text}}}" if size else text, *([anchor] if slanted else []), colour))
    return {"texts": [], "strokes": list(blocks.get("strokes", [])) or [(-9, -9, 0, 0, 0)]} | {
        title: rows or [(-9, -9, "", 0, 0)] for title, rows in groups.items()}


def column(value):
    return "NaN" if value is None else f"{value:.9g}" if isinstance(value, float) else str(value)


def assignment(key, value):
    """key = value for gnuplot.  Single quotes: nothing in a text is expanded."""
    def literal(one):
        return "'" + one.replace("'", "''") + "'" if isinstance(one, str) else repr(one)
    if isinstance(value, (list, tuple)):
        return f"array {key}[{len(value)}] = [{', '.join(map(literal, value))}]\n" if value else ""
    return f"{key} = {literal(value)}\n"


def plain(text):
    """A text without what gnuplot's enhanced text takes for commands; a data file halves backslashes."""
    return re.sub(r"([{}_^@&~])", r"\\\\\1", text)


def finish(svg, title):
    """The drawing is named by its title and its parts by nothing; the pixels of matrices stay sharp when enlarged;
    groups that hold nothing, half of what gnuplot writes, are left out; and a dark page gets other colours."""
    title = re.sub(r"[{}_^|\\]", "", title).replace("&", "&amp;").replace("<", "&lt;")
    svg = re.sub(r"rgb\(\s*(\d+),\s*(\d+),\s*(\d+)\)", lambda m: "#%02x%02x%02x" % tuple(map(int, m.groups())), svg)
    svg = re.sub(r" ?= ?'([^']*)'", r'="\1"', svg).replace(' stroke-linecap="butt" stroke-linejoin="miter"', "")
    svg = svg.replace("<image ", '<image style="image-rendering:pixelated" ')
    svg = re.sub(r"<desc>.*?</desc>\s*|<title>.*?</title>\s*", "", svg, flags=re.S)
    empty = re.compile(r"\t*<g [^>]*>\s*</g>\n?")
    while empty.search(svg):
        svg = empty.sub("", svg)
    used = {int(colour, 16) for colour in re.findall(r'(?:fill|stroke|color)="#([0-9a-f]{6})"', svg)}
    rules = "".join(f'[{which}="#{light:06x}"]{{{which}:#{dark:06x}}}' for light, dark in DARK.items() if light in used
                    for which in ("fill", "stroke", "color"))
    head = f'<title>{title}</title>\n<style>@media (prefers-color-scheme:dark){{{rules}}}</style>\n'
    return re.sub(r"(<svg[^>]*)>\s*", lambda m: m[1].rstrip() + ' role="img">\n' + head, svg, count=1)
