#!/bin/sh
# proofread.sh -- is the book true to the sources and to the proofs?
#
#     proofread.sh TAP_FOLDER PAGE...
#
# Per page: its excerpts and tables are those of the files they name; its
# relative links lead somewhere, also those that only the built book has (their
# line numbers may lie beyond the page's end); the tests in its table of claims passed, in
# the reports of the last run (TAP_FOLDER/float, TAP_FOLDER/double).  Prints
# one line per question, "ok - ..." or "not ok - ...", each failure with the
# place above it.

export LC_ALL=C.UTF-8         # awk writes numbers as the locale has them
reports=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

verdict() {
    if [ -s "$scratch/wrong" ]; then
        cat "$scratch/wrong"
        echo "not ok - $1"
    else
        echo "ok - $1"
    fi
    : >"$scratch/wrong"
}

# Every relative link of a page as LINE, PATH, FRAGMENT; code is not looked at.
links() {
    awk '
    /^```/ { fenced = !fenced; next }
    fenced { next }
    {
        text = $0
        gsub(/`[^`]*`/, "", text)
        while (match(text, /\]\([^) ]+|(src|href)="[^"]+/)) {
            link = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
            sub(/^(\]\(|[a-z]+=")/, "", link)
            if (link ~ /^[a-z]+:/) continue
            at = index(link, "#")
            if (!at) at = length(link) + 1
            print FNR "|" substr(link, 1, at - 1) "|" substr(link, at + 1)
        }
    }' "$1"
}

# The anchors that the headings of a page get.
anchors() {
    awk '
    /^```/ { fenced = !fenced; next }
    !fenced && /^#+ / {
        text = tolower($0)
        sub(/^#+ +/, "", text)
        gsub(/\]\([^)]*\)/, "", text)
        gsub(/[]!-,.\/:-@[\\^`{|}~]/, "", text)
        gsub(/ /, "-", text)
        print text
    }' "$1"
}

links_lead_somewhere() {
    page=$1
    folder=$(dirname "$page")
    { links "$page"; links "$scratch/bound"; } | awk '!seen[$0]++' >"$scratch/links"
    while IFS='|' read -r number path fragment; do
        target=${path:+$folder/$path}
        target=${target:-$page}
        if [ ! -e "$target" ]; then
            echo "$page:$number: there is no $target"
        elif [ -n "$fragment" ]; then
            case $target in
            *.md)
                anchors "$target" | grep -qxF -e "$fragment" ||
                    echo "$page:$number: no heading of $target makes #$fragment" ;;
            *)
                last=$(awk 'END { print NR }' "$target")
                [ "${fragment#L}" -le "$last" ] 2>/dev/null ||
                    echo "$page:$number: $target has $last lines and no #$fragment" ;;
            esac
        fi
    done <"$scratch/links" >"$scratch/wrong"
    verdict "$page: its $(awk 'END { print NR }' "$scratch/links") relative links lead somewhere"
}

# Also leaves the page as the built book has it in $scratch/bound.
excerpts_are_fresh() {
    page=$1
    : >"$scratch/bound"
    if awk -f chapters/weave.awk "$page" >"$scratch/woven" 2>"$scratch/wrong" &&
        awk -v here=figures -f chapters/weave.awk "$page" >"$scratch/bound" 2>"$scratch/wrong"; then
        diff "$page" "$scratch/woven" >"$scratch/diff" ||
            { sed -n '1,10p' "$scratch/diff"; echo "stale: run 'make weave'"; } >"$scratch/wrong"
    fi
    verdict "$page: its $(grep -c '^<!-- \(code\|table\):' "$page") excerpts and tables are fresh"
}

# A claim's tests are the words in backticks of its third column, as TEST or SUITE/TEST.  Each must
# have passed wherever it ran; only a claim that is not checkable names none.
claims_are_proved() {
    page=$1
    awk -v page="$page" -v count="$scratch/count" '
    BEGIN { claims = 0 }
    FILENAME ~ /\.tap$/ {
        suite = FILENAME
        sub(/.*\/(test|exact)_/, "", suite)
        sub(/\.tap$/, "", suite)
        at = split($0, part, ":")
        if (at >= 4 && $0 ~ /^ok /) passed[part[3]] = passed[suite "/" part[3]] = 1
        if (at >= 4 && $0 ~ /^not ok /) failed[part[3]] = failed[suite "/" part[3]] = 1
        next
    }
    /^## / { inside = /^## Claims[ \t]*$/ }
    !inside || !/^[ \t]*\|/ { next }
    {
        text = $0
        gsub(/\\\|/, "\001", text)
        n = split(text, cell, "|")
        heading = !rows++
        if (heading && text !~ /^\| *Claim *\| *Paper *\| *Test *\| *How *\| *Verdict *\|$/)
            print page ":" FNR ": expected the columns Claim | Paper | Test | How | Verdict"
        if (heading || text ~ /^[|: -]*$/) next
        claims++
        if (n != 7) print page ":" FNR ": expected five columns, found " n - 2
        if (cell[6] !~ /[a-z]/) print page ":" FNR ": a claim without a verdict"
        tests = 0
        while (match(cell[4], /`[^`]*`/)) {
            name = substr(cell[4], RSTART + 1, RLENGTH - 2)
            cell[4] = substr(cell[4], RSTART + RLENGTH)
            tests++
            if (name in failed) print page ":" FNR ": the test " name " failed"
            else if (!(name in passed)) print page ":" FNR ": no test " name " has run"
        }
        if (!tests && cell[6] !~ /not checkable/) print page ":" FNR ": a claim without a test"
    }
    END { print claims >count }' $(ls "$reports"/*/*.tap 2>/dev/null) "$page" >"$scratch/wrong"
    claims=$(cat "$scratch/count")
    case $page in
    chapters/[1-9]*-*) [ "$claims" -gt 0 ] || echo "$page: no table of claims" >>"$scratch/wrong" ;;
    *) [ "$claims" -gt 0 ] || return ;;
    esac
    verdict "$page: its $claims claims are proved by tests that passed"
}

for page in "$@"; do
    excerpts_are_fresh "$page"
    links_lead_somewhere "$page"
    case $page in
    chapters/*)
        claims_are_proved "$page"
        grep -qF "($page" book.md || echo "book.md: $page is not in the contents" >"$scratch/wrong"
        verdict "$page: is in the contents" ;;
    esac
done
