#!/bin/sh
# bind.sh -- make the book: a page per chapter, a page per suite of proofs, and the sources they point to
#
#     bind.sh FOLDER PAGE...
#
# FOLDER gets index.html and all beside it.  FOLDER/figures holds drawings and
# numbers as this machine has them: where they differ from the committed ones,
# they stand below those.  ../tap, beside FOLDER, holds what the suites printed
# when they last ran.  ../live/module.js, where there is one, is the library for the
# live figures (chapters/live); without it no page has any.  The order of the chapters is that of book.md's contents.
# SOURCES=no leaves the sources out.

set -e
export LC_ALL=C.UTF-8
folder=$1
reports=$(dirname "$1")/tap
shift
notes=$folder/chapters          # what one step leaves for the next
mkdir -p "$notes" "$folder/ours"
cp chapters/book.css chapters/book.js "$folder"
cp figures/*.svg "$folder/ours"
live=
rm -rf "$folder/live"
if test -f "$(dirname "$folder")/live/module.js"; then
    live=yes
    mkdir "$folder/live"
    cp chapters/live/*.js chapters/live/*.css "$(dirname "$folder")/live/module.js" "$folder/live"
fi
for note in sources claimed found; do : >"$notes/$note"; done

title() { sed -n 's/^# //p' "$1" | sed 1q; }
leaf() { case $1 in book.md) echo index.html ;; *) basename "$1" .md | sed 's/$/.html/' ;; esac; }

# MathML as TeX would set it.  Pandoc lets every bracket grow, not only those of
# matrices, gives those of \bigl and \Big a size without a unit, which browsers do
# not honour, puts wide spaces around the names of functions, makes a sign that
# follows a bracket, a comma or another sign an operation, and takes an overline,
# which few fonts have, for a bar.
sized() {
    sed -e 's/stretchy="true" \(form="prefix">[^<]*<\/mo><mtable\)/stretchy="TRUE" \1/g' \
        -e 's/\(<\/mtable><mo stretchy=\)"true"/\1"TRUE"/g' \
        -e 's/<mo stretchy="true" form="\(p[a-z]*fix\)">/<mo stretchy="false" form="\1">/g' \
        -e 's/stretchy="TRUE"/stretchy="true"/g' \
        -e 's/\(m[a-z]*size="[0-9.]*\)" \(m[a-z]*size="[0-9.]*\)" stretchy="false"/\1em" \2em" stretchy="true"/g' \
        -e 's/<mo>\([A-Za-z][A-Za-z]*\)<\/mo>/<mo lspace="0.167em" rspace="0.167em">\1<\/mo>/g' \
        -e 's/rspace="0.167em">\([A-Za-z]*<\/mo><mrow><mo [^>]*>[([]\)/rspace="0em">\1/g' \
        -e 's/\([([,=]<\/mo>\)<mo>−<\/mo>/\1<mo form="prefix">−<\/mo>/g' \
        -e 's/<mo accent="true">‾</<mo accent="true">¯</g'
}

# The font of the formulas goes with the book, so that a phone shows them too.
carry_font() {
    for font in /usr/share/texmf/fonts/opentype/public/tex-gyre-math/texgyrepagella-math.otf \
        /usr/share/fonts/truetype/dejavu/DejaVuMathTeXGyre.ttf; do
        test ! -f "$font" || { cp "$font" "$folder/math.font"; return; }
    done
}

# The list of chapters beside a page.
beside() {
    for chapter in $contents; do
        echo "<li><a href=\"$(leaf "$chapter")\">$(title "$chapter")</a></li>"
    done
    echo '<li><a href="proofs.html">Proofs</a></li>'
}

# page MARKDOWN NAME LEAF [PANDOC_ARGUMENT...]: what all pages have in common.
page() {
    from=$1 name=$2 leaf=$3
    shift 3
    pandoc "$from" --to=html5 --standalone --mathml --toc --template=chapters/book.html --lua-filter=chapters/book.lua \
        -M page="$name" -M folder="$folder" ${live:+-M live=yes} -V top= \
        -V list="$(echo "$list" | sed "s/href=\"$leaf\"/& aria-current=\"page\"/")" "$@" --output=- |
        sized >"$folder/$leaf"
}

# bind PAGE BEFORE AFTER: the two neighbours may be empty.
bind() {
    woven=$notes/$(basename "$1")
    awk -v here="$folder/figures" -f chapters/weave.awk "$1" >"$woven"
    page "$woven" "$1" "$(leaf "$1")" --from=gfm+tex_math_dollars --toc-depth=2 \
        ${2:+-V before="$(leaf "$2")" -V before_title="$(title "$2")"} \
        ${3:+-V after="$(leaf "$3")" -V after_title="$(title "$3")"}
}

# The verdicts of a suite in one precision, or over the field: how many tests, how many failed.
# Nothing where it does not run there.
counted() {
    tap=$reports/$1/$2.tap
    case $1/$3 in
    float/tests/exact/* | double/tests/exact/*) return ;;
    exact/tests/test_*) test -e "$tap" || return ;;
    esac
    test -s "$tap" || { echo "not run"; return; }
    awk '/^ok /{ n++ } /^not ok /{ n++; f++ } END { printf f ? "%d of %d failed" : "passed", f, n }' "$tap"
}

# bind_suite SUITE BEFORE AFTER: a suite as a page, and its line in the list of all.
bind_suite() {
    suite=$(basename "${1%.c*}")
    case $1 in
    tests/exact/*) field=$suite log=$reports/exact/$suite.log ;;
    *) field=exact_${suite#test_} log=$reports/float/$suite.log ;;
    esac
    test ! -f "$log" || ran="Last run here on $(date -r "$log" +%Y-%m-%d)${machine:+, on $machine}."
    awk -v names="$notes/tests" -v claimed="$notes/claimed" -v shown=6 -v ran="$ran" \
        -v float="$reports/float/$suite.log" -v double="$reports/double/$suite.log" \
        -v exact="$reports/exact/$field.log" -f chapters/proofs.awk "$1" >"$notes/$suite.md"
    page "$notes/$suite.md" "$1" "$suite.html" --from=markdown --toc-depth=3 -V proof=yes \
        -V before="$2.html" -V before_title="${2#test_}" ${3:+-V after="$3.html" -V after_title="${3#test_}"}
    echo "| [$suite]($suite.html) | $(title "$notes/$suite.md") | $(grep -c '^START_TEST' "$1") |" \
        "$(counted float "$suite" "$1") | $(counted double "$suite" "$1") | $(counted exact "$field" "$1") |" >>"$notes/proofs.md"
}

bind_suites() {
    machine=$("${reports%tap}figures/machine" 2>/dev/null | sed -n 's/^# machine: //p')
    ran=
    cat >"$notes/proofs.md" <<'END'
# Proofs

Every claim of the book names a test, and every test stands here: what it claims, where the paper says so, what it
measures, how much error it allows and why, and whether it would fail; then its code; then what it measured when the
suites last ran on this machine. `make test` runs them all; some of them a second time over a field of numbers that do
not round, where nothing is allowed ([chapter 8](8-exact.html)). What they share lies in [tests/](source/tests/index.html).

<p class="paper">On paper they are told in words. Their code, and all that they measured, would fill more pages than the
book: they are in tests/, and in the built book on the screen.</p>

| Suite | What it proves | Tests | In float | In double | Over the field |
|---|---|---:|---|---|---|
END
    echo "tests/index" >>"$notes/sources"
    before=proofs page=
    for next in tests/test_*.c tests/exact/test_*.cc ''; do
        test -z "$page" || { bind_suite "$page" $before "$(basename "${next%.c*}")"; before=$(basename "${page%.c*}"); }
        page=$next
    done
    page "$notes/proofs.md" proofs.md proofs.html --from=gfm+tex_math_dollars -V proof=yes
}

# What can be a page: the seeds of tests/fuzz are bytes that no encoding has.
is_text() { grep -Iq . "$1" && iconv -f UTF-8 -t UTF-8 "$1" >/dev/null 2>&1; }

# A source file as a page whose lines can be pointed at; a folder as the list of what lies in it.
bind_source() {
    page=$folder/source/$1.html
    from=$1
    top=$(dirname "source/$1" | sed 's,[^/]*,..,g')/
    case $1 in
    */index) from=${1%/index} ;;
    *) test "$page" -nt "$1" && test "$page" -nt chapters/book.html && return ;;
    esac
    mkdir -p "$(dirname "$page")"
    reader=markdown
    case $1 in
    */index) reader=gfm ;;
    *.c | *.h | *.cc) kind=c ;;
    *.cu) kind=cpp ;;
    *.py) kind=python ;;
    *.sh | *.ci/run) kind=bash ;;
    *.awk) kind=awk ;;
    *.js) kind=javascript ;;
    *.css) kind=css ;;
    Makefile) kind=makefile ;;
    *) kind=default ;;
    esac
    if test -d "$from"; then
        printf '| | |\n|---|---|\n'
        for entry in "$from"/*; do
            name=$(basename "$entry")
            what=$(sed -n '1,2s/^[^a-zA-Z]*[^ ]* -- //p' "$entry" 2>/dev/null | sed 's, *\*/$,,; s,[|<$_`\],\\&,g; 1q')
            if test -d "$entry"; then echo "| [$name/]($name/index.html) | |"
            elif is_text "$entry"; then echo "| [$name]($name.html) | $what |"
            else echo "| $name | |"; fi
        done
    else
        printf '~~~~~~~~~~~~ {#L .%s .numberLines .lineAnchors}\n' $kind
        cat "$1"
        printf '\n~~~~~~~~~~~~\n'
    fi | pandoc --from=$reader --to=html5 --standalone --template=chapters/book.html \
        -V source=yes -V top="$top" -M title="$from" --output="$page"
}

# What the folders that are pointed to hold is pointed to as well.
closure() {
    sort -u "$notes/sources" | while read -r source; do
        echo "$source"
        case $source in */index) find "${source%/index}" -type f | while read -r file; do
            is_text "$file" && echo "$file"
            echo "$(dirname "$file")/index"
        done ;; esac
    done | sort -u
}

contents=$(grep -o '](chapters/[^)#]*\.md' book.md | sed 's/^](//' | awk '!seen[$0]++')
list=$(beside)
# A name that two suites share is that of the row's own, not of the promises that all rows make.
grep -H '^START_TEST(' tests/test_promises.c $(ls tests/test_*.c tests/exact/test_*.cc | grep -v promises) |
    sed 's,^tests/\(exact/\)*\([^.]*\)\.cc*:START_TEST(\([a-z0-9_]*\)).*,\3 \2,' >"$notes/tests"
carry_font
for page in "$@"; do
    before= after= last=book.md
    for chapter in $contents; do
        test "$chapter" = "$page" && before=$last
        test "$last" = "$page" && after=$chapter
        last=$chapter
    done
    bind "$page" "$before" "$after"
done
bind_suites
test "$SOURCES" = no || closure | while read -r source; do bind_source "$source"; done
{ echo 'const book = ['; cat "$notes/found"; echo '];'; } >"$folder/found.js"
echo "$folder/index.html"
