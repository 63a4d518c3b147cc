#!/bin/sh
# layout.sh -- does every page of the bound book hold what stands on it?
#
#     layout.sh FOLDER
#
# Binds the book into FOLDER, without sources, and asks: does each proof that ran (../tap
# has what it printed) tell what came of it?  Then lets Chromium lay the pages out, in
# windows as wide as a desk's, half of that, and a phone's: no page is wider than its window;
# formulas stand within their column or can be scrolled, and nothing of them is cut off;
# pictures are drawn; the signs of formulas are in the font that goes with the book; the words
# of our figures lie within them, and none on another.  This machine's figures are on the pages
# where a book beside FOLDER has them.  Prints a line per question, "ok - ..." or "not ok - ...",
# each failure with its places above it; "skipped: ..." where there is no Chromium, or no pandoc.

folder=$1
reports=$(dirname "$folder")/tap
command -v pandoc >/dev/null || { echo "skipped: the book bound: pandoc is missing (make deps)"; exit; }

rm -rf "$folder"
mkdir -p "$folder/figures"
cp "$(dirname "$folder")"/book/figures/* "$folder/figures" 2>/dev/null ||
    cp figures/*.svg figures/*.tsv "$folder/figures"
python3 chapters/tools/pages.py --no-sources "$folder" book.md chapters/*.md >"$folder/said" 2>&1 ||
    { cat "$folder/said"; echo "not ok - the book is bound"; exit 1; }

ran=0 silent=
for tap in "$reports"/float/*.tap "$reports"/exact/test_*.tap; do
    test -s "$tap" || continue
    suite=$(basename "$tap" .tap)
    ran=$((ran + 1))
    ! grep -q 'Not run on this machine' "$folder/$suite.html" || silent="$silent $suite"
done
test -z "$silent" || { echo "$folder: these ran, and not all of their proofs say so:$silent"; printf 'not '; }
echo "ok - the book bound: the proofs of $ran suites tell what came of them"

reason=$(sh chapters/browse.sh 2>&1) || { echo "skipped: the layout of the book: $reason"; exit; }

pages=$(cd "$folder" && printf '"%s", ' *.html)
drawings=$(cd "$folder" && printf '"%s", ' ours/*.svg)
cat >"$folder/layout.html" <<END
<!DOCTYPE html>
<title>Layout</title>
<style>
@font-face { font-family: "Once"; src: url(math.font); }
@font-face { font-family: "Twice"; src: url(math.font); size-adjust: 200%; }
iframe { border: 0; height: 900px; }
</style>
<pre id="report"></pre>
<script>
const pages = [$pages], drawings = [$drawings];
$(cat chapters/layout.js)
</script>
END
sh chapters/browse.sh "$folder/layout.html" --dump-dom | awk '
    /<pre id="report">begin$/ { inside = 1; next }
    /^end<\/pre>/ { inside = 0; whole = 1 }
    !inside { next }
    $2 == "seen" { seen[$1] = $3; next }
    { kind = $1; what = $2; sub(/^[a-z]+ [a-z]+ /, ""); gsub(/&lt;/, "<"); gsub(/&gt;/, ">"); gsub(/&amp;/, "\\&") }
    what == "skipped" { skipped[kind] = $0; next }
    wrong[kind] < 12 { places[kind] = places[kind] $0 "\n" }
    { wrong[kind]++ }
    function say(kind, question) {
        printf "%s", places[kind]
        if (wrong[kind] > 12) print "and " wrong[kind] - 12 " more"
        if (skipped[kind] != "") print "skipped: the layout of the book: " skipped[kind]
        else print (whole && seen[kind] && !wrong[kind] ? "ok" : "not ok") " - the book laid out: " question
    }
    END {
        say("page", "none of its " seen["page"] + 0 " pages is wider than a window of 1280, 684 or 360 px")
        say("formula", "its " seen["formula"] + 0 " formulas stand within their lines, or scroll")
        say("picture", "its " seen["picture"] + 0 " pictures are drawn")
        say("drawing", "the words of its " seen["drawing"] + 0 " figures lie within them, none on another")
        say("sign", "its font has all " seen["sign"] + 0 " signs of its formulas")
    }'
