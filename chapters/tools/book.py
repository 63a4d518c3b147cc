#!/usr/bin/env python3
"""book.py -- weave, check, bind and print the book

    book.py weave [PAGE...]                 fill the blocks of the committed pages
    book.py check REPORTS [PAGE...]         check pages against the sources, and against REPORTS (build/tap)

Pages are all by default."""
import glob, sys
import check, weave


def main(words):
    pages = [word for word in words[1:] if word.endswith('.md')] or ['book.md', 'README.md', *sorted(glob.glob('chapters/*.md'))]
    if words[0] == 'weave':
        weave.weave(pages)
    if words[0] == 'check':
        return 0 if check.check(words[1], pages) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
