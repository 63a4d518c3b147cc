#!/bin/sh
# ledger.sh -- is every statement of the papers accounted for?
#
#     chapters/ledger.sh [LEDGER.tsv | PAGE.md]...   (default: all ledgers, and the errata)
#
# Of a ledger: four columns, none left blank; a verdict that is one of five; at
# least one test behind proved and counted, a reason behind left open and out of
# reach, and either behind does not hold; no statement twice.  Of a page: the tests named in the
# last column of its tables.  Every test named stands in tests/ as START_TEST.
# Prints one line per file, "ok - ..." or "not ok - ...", failures above it.

test $# -gt 0 || set -- reference/published/*-statements.tsv chapters/errata.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat tests/*.c tests/exact/*.cc | sed -n 's/^START_TEST(\([a-z0-9_]*\)).*/\1/p' >"$scratch/written"
# The tests of tests/support/battery.c run in each suite that has its tables, and are named SUITE/TEST.
for suite in $(grep -l '^    add_battery(' tests/test_*.c | sed 's/.*test_\(.*\)\.c/\1/'); do
    sed -n "s,^START_TEST(\\([a-z0-9_]*\\)).*,$suite/\\1,p" tests/support/battery.c
done >>"$scratch/written"

failed=0
for file in "$@"; do
    awk -v file="$file" -v written="$scratch/written" '
    function wrong(what) { print file ":" FNR ": " what; bad = 1 }

    # The tests that a cell names; returns how many, and leaves what is not a name in rest.
    function tests(cell,    name, n) {
        rest = ""
        while (match(cell, /`[^`]*`/)) {
            name = substr(cell, RSTART, RLENGTH)
            rest = rest substr(cell, 1, RSTART - 1)
            cell = substr(cell, RSTART + RLENGTH)
            gsub(/`/, "", name)
            n++
            if (!(name in old)) wrong("no START_TEST(" name ")")
        }
        rest = rest cell
        return n + 0
    }
    BEGIN {
        while ((getline line < written) > 0) old[line] = 1
        split("proved|counted|does not hold|left open|out of reach", order, "|")
        for (v = 1; v <= 5; v++) count[order[v]] = 0
    }
    file ~ /\.md$/ {
        if ($0 !~ /^\|/ || $0 ~ /^\|[-|: ]*$/) next
        text = $0
        sub(/[ \t]*\|[ \t]*$/, "", text)
        sub(/^.*[^\\]\|/, "", text)
        rows += tests(text)
        next
    }
    /^#/ { next }
    !header++ {
        if ($0 != "place\tstatement\tverdict\tby") wrong("expected the columns place, statement, verdict, by")
        next
    }
    {
        n = split($0, cell, "\t")
        if (n != 4) { wrong("expected four columns, found " n); next }
        for (c = 1; c <= 4; c++) if (cell[c] !~ /[^ ]/ || cell[c] ~ /^ | $/) wrong("column " c " is blank, or has blanks around it")
        rows++
        if (!(cell[3] in count)) { wrong("no verdict: " cell[3]); next }
        count[cell[3]]++
        if (seen[cell[1], cell[2]]++) wrong("told twice: " cell[2])
        n = tests(cell[4])
        if (!n && cell[3] ~ /^(proved|counted)$/) wrong(cell[3] ", by no test")
        if (rest !~ /[a-z].*[a-z].*[a-z]/ && (cell[3] ~ /^(left open|out of reach)$/ || !n)) wrong(cell[3] ", for no reason")
    }
    END {
        text = ""
        if (file !~ /\.md$/) for (v = 1; v <= 5; v++) text = text ", " count[order[v]] " " order[v]
        print (bad ? "not ok - " : "ok - ") file ": " rows (file ~ /\.md$/ ? " tests named" : " statements") text
        exit bad
    }' "$file" || failed=1
done

exit $failed
