#!/usr/bin/env python3
"""book.py -- weave, check, bind and print the book

    book.py weave [PAGE...]                 fill the blocks of the committed pages
    book.py check REPORTS [PAGE...]         check pages against sources and the reports of suites (build/tap)
    book.py bind FOLDER                     bind the book: FOLDER/index.html (see pages.py)
    book.py epub FOLDER OUT VERSION         pack the book that is bound in FOLDER as an EPUB
    book.py pdf FOLDER                      print the book that is bound in FOLDER: FOLDER/attention-twice-told.pdf
    book.py site FOLDER OUT [ADDRESS]       copy it for a static host, which has it at ADDRESS
    book.py slides BUILD                    print BUILD/slides.pdf
    book.py notebooks FOLDER                write a notebook for each chapter (see notebooks.py)
    book.py browse FOLDER                   bind the book without sources, and look at it in Chromium

Run in the top folder.  The exit status is 1 if a tool fails or something is "not ok", and 2 for bad arguments."""
import glob, re, sys
import browser, check, notebooks, pages, paper, weave

PAGES = ['book.md', *sorted(glob.glob('chapters/*.md') + glob.glob('chapters/appendices/*.md'))]
COMMANDS = {    # name: what it does; how many arguments it takes, from and to
    'weave': (lambda *named: weave.weave(named or PAGES), 0, 100),
    'check': (lambda reports, *named: check.check(reports, named or ['README.md', *PAGES]), 1, 100),
    'bind': (lambda folder: pages.bind(folder, PAGES), 1, 1),
    'pdf': (paper.book, 1, 1),
    'site': (browser.site, 2, 3),
    'epub': (browser.make_epub, 3, 3),
    'slides': (paper.slides, 1, 1),
    'notebooks': (notebooks.notebooks, 1, 1),
    'browse': (lambda folder: browser.browse(folder, PAGES) & paper.slides_fit(folder + '/slides'), 1, 1)}


def main(words):
    name = words[0] if words else None
    if name not in COMMANDS:
        print(f'book.py: found {name or "no command"}, expected {", ".join(COMMANDS)}', file=sys.stderr)
        return 2
    command, least, most = COMMANDS[name]
    if not least <= len(words) - 1 <= most:
        usage = re.search(rf'book.py {name}( [A-Z.[\]]+)*', __doc__)[0]
        print(f'book.py: found {len(words) - 1} arguments, expected {usage}', file=sys.stderr)
        return 2
    try:
        return 1 if command(*words[1:]) is False else 0
    except weave.Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
