#!/bin/sh
# print.sh -- the bound book as one PDF, its contents with page numbers
#
#     print.sh FOLDER
#
# Joins FOLDER's pages into one and lets Chromium print it twice: the first
# print tells on which page each section begins, the second has that in its
# contents, and beside the tests that claims name.  The proofs are an appendix in words:
# with their code and all that they measured it would be longer than the book.  That,
# and the sources, stay on the screen.

set -e
export LC_ALL=C.UTF-8
folder=$1
book=$folder/attention-twice-told.pdf
sh chapters/browse.sh || exit

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"; rm -f "$folder/print.html"' EXIT
trap 'exit 130' INT TERM

pages="index.html
    $(sed -n '/<nav class="book"/,/<\/nav>/s/.*<li><a href="\([^"]*\)".*/\1/p' "$folder/index.html")
    $(sed -n 's/^<td><a href="\(test_[a-z0-9_]*\.html\)".*/\1/p' "$folder/proofs.html")"
pages=$(echo $pages)

# join PAGE_NUMBERS: all pages in one; PAGE_NUMBERS has lines "ANCHOR PAGE".
join() {
    (cd "$folder" && awk -v order="$pages" -v numbers="$1" -f "$OLDPWD/chapters/print.awk" $pages $pages) \
        >"$folder/print.html"
}

print_pdf() {
    sh chapters/browse.sh "$folder/print.html" --no-pdf-header-footer --print-to-pdf="$scratch/book.pdf"
    test -s "$scratch/book.pdf" || { echo "Chromium printed nothing" >&2; exit 1; }
}

# Where each anchor of the PDF is: its destinations name page objects, and the tree of pages orders those.
page_numbers() {
    LC_ALL=C grep -a -o -E '^[0-9]+ 0 obj|/Type /Pages|/Kids \[[^]]*\]|/[^ /<>]+ \[[0-9]+ 0 R /XYZ' \
        "$scratch/book.pdf" | LC_ALL=C awk '
    / obj$/ { object = $1; tree = 0; next }
    /^\/Type/ { tree = 1; next }
    /^\/Kids/ {
        if (!tree) next
        gsub(/\/Kids \[|\]| 0 R/, "")
        kids[object] = $0
        n = split($0, part, " ")
        for (i = 1; i <= n; i++) above[part[i]] = object
        next
    }
    { name = substr($1, 2); sub(/^\[/, "", $2); page[name] = $2 }
    function walk(object,    part, n, i) {
        if (!(object in kids)) { rank[object] = ++last; return }
        n = split(kids[object], part, " ")
        for (i = 1; i <= n; i++) walk(part[i])
    }
    END {
        for (object in kids) if (!(object in above)) walk(object)
        for (name in page) if (page[name] in rank) print name, rank[page[name]]
    }'
}

: >"$scratch/numbers"
join "$scratch/numbers"
print_pdf
page_numbers >"$scratch/numbers"
join "$scratch/numbers"
print_pdf
mv "$scratch/book.pdf" "$book"
echo "$book"
