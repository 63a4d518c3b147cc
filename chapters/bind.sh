#!/bin/sh
# bind.sh -- make the book: one HTML page per chapter, index.html, and the sources they point to
#
#     bind.sh FOLDER PAGE...
#
# FOLDER/figures holds the drawings and numbers to show.  Pages are woven into
# FOLDER/chapters first, so that their tables are of those numbers.  The order
# of the chapters is that of book.md's contents.

set -e
export LC_ALL=C.UTF-8
folder=$1
shift
mkdir -p "$folder/chapters"
cp chapters/book.css "$folder"
: >"$folder/chapters/sources"
root=$(realpath --relative-to="$folder" .)/

title() { sed -n 's/^# //p' "$1" | sed 1q; }
leaf() { case $1 in book.md) echo index.html ;; *) basename "$1" .md | sed 's/$/.html/' ;; esac; }

# bind PAGE BEFORE AFTER: the two neighbours may be empty.
bind() {
    woven=$folder/chapters/$(basename "$1")
    awk -v figures="$folder/figures" -f chapters/weave.awk "$1" >"$woven"
    pandoc "$woven" --from=gfm+tex_math_dollars --to=html5 --standalone --mathml --toc --toc-depth=2 \
        --template=chapters/book.html --lua-filter=chapters/book.lua \
        -M page="$1" -M root="$root" -M sources="$folder/chapters/sources" -V top= \
        ${2:+-V before="$(leaf "$2")" -V before_title="$(title "$2")"} \
        ${3:+-V after="$(leaf "$3")" -V after_title="$(title "$3")"} \
        --output="$folder/$(leaf "$1")"
}

# A source file as a page whose lines can be pointed at.
bind_source() {
    page=$folder/source/$1.html
    test "$page" -nt "$1" && test "$page" -nt chapters/book.html && return
    mkdir -p "$(dirname "$page")"
    case $1 in
    *.c | *.h) kind=c ;;
    *.cu) kind=cpp ;;
    *.py) kind=python ;;
    *.sh | *.ci/run) kind=bash ;;
    *.awk) kind=awk ;;
    Makefile) kind=makefile ;;
    *) kind=default ;;
    esac
    { printf '~~~~~~~~~~~~ {#L .%s .numberLines .lineAnchors}\n' $kind; cat "$1"; printf '\n~~~~~~~~~~~~\n'; } |
        pandoc --from=markdown --to=html5 --standalone --template=chapters/book.html \
            -V source=yes -V top="$(dirname "source/$1" | sed 's,[^/]*,..,g')/" \
            -M title="$1" --output="$page"
}

contents=$(grep -o '](chapters/[^)#]*\.md' book.md | sed 's/^](//' | awk '!seen[$0]++')
for page in "$@"; do
    before= after= last=book.md
    for chapter in $contents; do
        test "$chapter" = "$page" && before=$last
        test "$last" = "$page" && after=$chapter
        last=$chapter
    done
    bind "$page" "$before" "$after"
done
sort -u "$folder/chapters/sources" | while read -r source; do bind_source "$source"; done
echo "$folder/index.html"
