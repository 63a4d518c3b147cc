#!/bin/sh
# exercise.sh -- the exercises of chapters/exercises
#
#     BUILD=build exercise.sh list            list the exercises, and which are done
#     BUILD=build exercise.sh open N          make a scratch copy and print the task
#     BUILD=build exercise.sh check N [TEXT]  check the scratch copy, or the answer TEXT
#     BUILD=build exercise.sh hint N          print the next hint
#     BUILD=build exercise.sh prove N         test the exercise itself
#
# Exit status: 0 right, 1 not yet, 2 bad usage.
#
# An exercise is a page N.md: a title, lines "key: value", the task, and sections.  Its kind decides how it is checked.
#
#     hole      `cut: FILE FUNCTION [Step n]` is cut out of a source.  The scratch copy is compiled (for a header, the
#               file `source:` that includes it) and linked into `suite:`, of which the case `case:` runs (default all).
#               A suite exact/NAME is over the field.  Section "Instead" is the initial text of the hole, "When TEST" the
#               message if that test fails, "Wrong: NAME" an answer that must not pass.  With `counts: OPERATOR CHANNELS
#               SIZES OPTIONS`, a solution must not multiply more often on this problem than the formula says, and one of
#               the wrong answers passes the tests but does.
#     predict   The command of section "Command" prints the answer last.  A number may differ by the factor `within:`.
#     measure   `truth:` is our answer; `prove` requires it of a prediction, to 1/20 at most.
#     break     Section "Change" has two blocks: text of the file `cut:`, and its replacement.  The answer names tests
#               of `suite:` that then fail.  `falls:` are all of those in its case `case:`.

set -u
export LC_ALL=C
: "${BUILD:=build}"
pages=chapters/exercises
here=$BUILD/exercises
verb=${1-} N=${2-} answer=${3-}

refuse() { echo "exercise: $*" >&2; exit 2; }
page() { echo "$pages/$N.md"; }
key() { sed -n "s/^$1: *//p" "$(page)" | sed 1q; }
title() { sed -n 's/^# //p' "$(page)" | sed 1q; }

# The task: the text between the keys and the first section.
asked() { awk '/^## / { exit } /^# / || /^[a-z]+: / { next } { text = text $0 "\n" } END { gsub(/^\n+|\n+$/, "", text); print text }' "$(page)"; }

# section NAME [NTH]: the text of the NTH section of that name.
section() {
    awk -v name="$1" -v nth="${2:-1}" '
        /^## / { inside = substr($0, 4) == name && ++n == nth; next }
        inside { text = text $0 "\n" } END { gsub(/^\n+|\n+$/, "", text); if (text != "") print text }' "$(page)"
}

# Of a section on standard input: its NTH block of code; its text without blocks.
block() { awk -v nth="${1:-1}" '/^```/ { if (inside) inside = 0; else if (++n == nth) inside = 1; else inside = 2; next } inside == 1'; }
words() { awk '/^```/ { inside = !inside; next } !inside'; }

# ---- the scratch copy -------------------------------------------------------------

# tree FOLDER FILE: links to the sources; the file, `source:` and the folders above them are copies.
tree() {
    rm -rf "$1"
    mkdir -p "$1"
    for each in chapters reference naive fast tests figures; do ln -s "$PWD/$each" "$1/$each"; done
    for real in "$2" $(key source); do
        path= rest=$real
        while case $rest in */*) ;; *) false ;; esac; do
            path=$path${path:+/}${rest%%/*} rest=${rest#*/}
            [ -L "$1/$path" ] || continue
            rm "$1/$path"
            mkdir "$1/$path"
            for each in "$path"/*; do ln -s "$PWD/$each" "$1/$path/"; done
        done
        rm "$1/$real"
        cp "$real" "$1/$real"
    done
}

# The lines of the hole, "FIRST LAST": the weaver's excerpt without the comment of a step, or without the head and the
# closing brace of a function.
region() {
    # shellcheck disable=SC2086
    printf '<!-- code: %s -->\n<!-- /code -->\n' "$(key cut)" | awk -f chapters/weave.awk - | awk '
        /^\[/ && match($0, /#L[0-9]+/) { at = substr($0, RSTART + 2, RLENGTH - 2); exit }
        /^```/ { next } !/^<!--/ { line[++n] = $0 }
        END {
            first = 1; last = n
            if (line[1] ~ /\/\* Step/) { while (first < n && line[first] !~ /\*\//) first++; first++ }
            else { while (first < n && line[first] !~ /^\{/) first++; first++; last-- }
            if (at && first <= last) print at + first - 1, at + last - 1
        }'
}

# fill FOLDER FILE: put standard input into the hole, with its indentation.
fill() {
    where=$(region)
    [ "$where" ] || { cat >/dev/null; refuse "$N: nothing to cut at $(key cut)"; }
    awk -v first="${where% *}" -v last="${where#* }" '
        NR == FNR { with[++n] = $0; next }
        FNR == first { match($0, /^ */); for (i = 1; i <= n; i++) print (with[i] == "" ? "" : substr($0, 1, RLENGTH) with[i]) }
        FNR < first || FNR > last' - "$2" >"$1/$2.new" && mv "$1/$2.new" "$1/$2"
}

skeleton() { { echo "/* Exercise $N: write this.  make check N=$N judges. */"; section Instead | block; } | fill "$1" "$2"; }

# proofs FOLDER FILE: 0 if all tests pass; else 1, with the names of failed tests in $1/fell, or the compiler's errors
# in $1/said.
proofs() {
    . "$BUILD/exercises.sh"
    rm -f "$1/fell" "$1/said"
    suite=$(key suite)
    source=$(key source)
    source=${source:-$2}
    object=$BUILD/tests/$suite.o
    case $suite,$source in
    exact/*) by="$exact -x c++" object=$BUILD/exact/tests/$suite.cc.o suite=${suite#exact/} with=$exact_with ;;
    *.c) by=$compile ;;
    *) by="$emulate -x c++" ;;
    esac
    if ! $by -O1 -c "$1/$source" -o "$1/work.o" 2>"$1/said"; then return 1; fi
    if ! $link "$object" "$1/work.o" $with -o "$1/$suite" 2>"$1/said"; then return 1; fi
    case=$(key case)
    [ "$verb/$(key kind)" != check/break ] || case=
    env -u CK_TAP_LOG_FILE_NAME -u CK_FORK CK_TIMEOUT_MULTIPLIER=0.2 ${case:+CK_RUN_CASE="$case"} \
        timeout 300 "$1/$suite" >"$1/said" 2>&1 && return 0
    sed -n 's/^[^:]*:[0-9]*:[FE]:[^:]*:\([a-z0-9_]*\):.*/\1/p' "$1/said" | sort -u >"$1/fell"
    return 1
}

# counted FOLDER FILE: 0 if the solution multiplies no more often than the formula says; else 1, with both numbers in
# $1/many, or the compiler's errors in $1/said.
counted() {
    problem=$(key counts)
    [ "$problem" ] || return 0
    # shellcheck disable=SC2086
    (cd "$1" && { printf '#include "%s"\n' $before; printf 'namespace counting {\n#include "%s"\n}' "$2"; } |
        $count -I. -x c++ -c - -o counted.o) 2>"$1/compiled" &&
        $link "$BUILD/tests/exercise_count.o" "$1/counted.o" $with -o "$1/count" 2>"$1/compiled" ||
        { mv "$1/compiled" "$1/said"; return 1; }
    # shellcheck disable=SC2046
    env -u CK_TAP_LOG_FILE_NAME -u CK_RUN_CASE "$1/count" $(echo "$problem" | cut -d" " -f1-3) \
        "$(echo "$problem" | cut -d" " -f4-)" >"$1/many" || return 1
    grep -qxE '[0-9]+ [1-9][0-9]*' "$1/many" ||
        refuse "$N: counted '$(cat "$1/many")', expected two numbers: multiplications, and those of the formula"
    awk '{ few = $1 <= $2 } END { exit !few }' "$1/many"
}

# solved FOLDER FILE: all tests pass, with no more multiplications than the formula.
solved() { rm -f "$1/many"; proofs "$1" "$2" && counted "$1" "$2"; }

# The message about failed tests.
comment() {
    if [ -s "$1/many" ]; then
        echo "The result is right, and the price is not: $(cut -d' ' -f1 "$1/many") multiplications where" \
            "$(cut -d' ' -f2 "$1/many") do ($(key counts))."
        return
    fi
    if [ ! -s "$1/fell" ]; then
        grep -m 5 -E 'error|undefined' "$1/said" | sed "s|$1/||"
        echo "It does not compile yet, or does not end."
        return
    fi
    for test in $(cat "$1/fell"); do
        said=$(section "When $test" | fold -s -w 100)
        [ "$said" ] && { echo "$said"; echo; }
    done
    echo "Not yet. What fell: $(tr '\n' ' ' <"$1/fell")"
    grep -E '^[^:]*:[0-9]+:[FE]:' "$1/said" | head -n 3
}

# ---- answers ----------------------------------------------------------------------

# The last word that the command prints.
truth() { sh -c "PATH=$BUILD:$BUILD/figures:\$PATH; $(section Command | block)" 2>/dev/null | tail -n 1 | awk '{ print $NF }'; }

# near A B FACTOR: equal words, or numbers within the factor.  NaN is not near any number.
near() {
    awk -v a="$1" -v b="$2" -v factor="${3:-1}" 'BEGIN {
        number = "^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$"
        if (tolower(a) ~ /^[-+]?nan$/) exit 1
        if (a !~ number || b !~ number) exit a != b
        if (a + 0 == b + 0) exit 0
        if (a * b <= 0) exit 1
        exit !(a / b <= factor * 1.000001 && b / a <= factor * 1.000001) }'
}

# mistake FOLDER FILE: make the change of a `break`.
mistake() {
    section Change | block 1 >"$1/old"
    section Change | block 2 >"$1/new"
    awk -v old="$1/old" -v new="$1/new" '
        BEGIN { while ((getline text < old) > 0) was[++n] = text; while ((getline text < new) > 0) is[++m] = text }
        { line[++lines] = $0 }
        function bare(s) { gsub(/^ +| +$/, "", s); return s }
        END {
            for (i = 1; i <= lines - n + 1; i++) {
                for (j = 1; j <= n && bare(line[i + j - 1]) == bare(was[j]); j++) ;
                if (j > n) { found++; at = i }
            }
            if (found != 1) exit 1
            for (i = 1; i <= lines; i++) {
                if (i == at) { match(line[i], /^ */); for (j = 1; j <= m; j++) print substr(line[i], 1, RLENGTH) bare(is[j]) }
                if (i < at || i >= at + n) print line[i]
            }
        }' "$2" >"$1/$2.new" && mv "$1/$2.new" "$1/$2" || refuse "$N: the line to change is not found, or more than once"
}

done_with() { grep -qx "$N" "$here/done" 2>/dev/null || echo "$N" >>"$here/done"; }

judge_answer() {
    [ "$answer" ] || refuse "$N wants an answer: make check N=$N ANSWER=..."
    printf '$ %s\n' "$(section Command | block)"
    is=$(truth)
    [ "$is" ] || refuse "$N: the command prints nothing"
    echo "$is"
    if near "$answer" "$is" "$(key within)"; then
        echo "Right."
        done_with
    else
        echo "Not what you said, $answer.  make hint N=$N, or the answers at the end of the book."
        exit 1
    fi
}

judge_break() {
    [ "$answer" ] || refuse "$N wants the names of proofs: make check N=$N ANSWER='name name'"
    file=$(key cut | cut -d' ' -f1)
    tree "$here/$N" "$file"
    mistake "$here/$N" "$file"
    if proofs "$here/$N" "$file"; then refuse "$N: no proof falls"; fi
    echo "What falls in $(key suite):"
    sed 's/^/    /' "$here/$N/fell"
    wrong=
    for name in $answer; do grep -qx "$name" "$here/$N/fell" || wrong="$wrong $name"; done
    [ -z "$wrong" ] || { echo "Not among them:$wrong"; exit 1; }
    echo "Right."
    done_with
}

judge_hole() {
    file=$(key cut | cut -d' ' -f1)
    [ -e "$here/$N/$file" ] || refuse "$N is not open: make exercise N=$N"
    if solved "$here/$N" "$file"; then
        echo "Right: $(grep -oE 'Checks: [0-9]+' "$here/$N/said" | tail -n 1 | cut -d' ' -f2) proofs of $(key suite) hold" \
            "$([ ! -s "$here/$N/many" ] || echo "with the $(cut -d' ' -f2 "$here/$N/many") multiplications of $(key counts)")"
        done_with
    else
        comment "$here/$N"
        exit 1
    fi
}

# ---- tests of an exercise ------------------------------------------------------------

prove() {
    bad=0
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    file=$(key cut | cut -d' ' -f1)
    case $(key kind) in
    hole)
        [ "$(grep -c '^## Wrong: ' "$(page)")" -ge 2 ] || { echo "$N: fewer than two wrong answers"; bad=1; }
        tree "$folder/t" "$file"
        solved "$folder/t" "$file" || { echo "$N: the solution does not pass"; cat "$folder/t/said"; bad=1; }
        skeleton "$folder/t" "$file"
        if solved "$folder/t" "$file"; then echo "$N: the skeleton passes"; bad=1
        elif [ ! -s "$folder/t/fell" ] && [ ! -s "$folder/t/many" ]; then echo "$N: the skeleton does not compile, or does not end"; cat "$folder/t/said"; bad=1; fi
        dear=
        sed -n 's/^## \(Wrong: .*\)/\1/p' "$(page)" >"$folder/wrongs"
        while read -r wrong; do
            section "$wrong" | block | fill "$folder/t" "$file"
            if solved "$folder/t" "$file"; then echo "$N: passes: $wrong"; bad=1
            elif [ ! -s "$folder/t/fell" ] && [ ! -s "$folder/t/many" ]; then echo "$N: does not compile: $wrong"; cat "$folder/t/said"; bad=1; fi
            [ ! -s "$folder/t/many" ] || dear=$wrong
        done <"$folder/wrongs"
        [ "$dear" ] || [ -z "$(key counts)" ] || { echo "$N: no wrong answer is right and too dear"; bad=1; }
        for test in $(sed -n 's/^## When //p' "$(page)"); do
            cat "tests/$(key suite)".c* tests/support/battery.c | grep -q "START_TEST($test)" || { echo "$N: no proof is called $test"; bad=1; }
        done ;;
    predict)
        is=$(truth)
        within=$(echo "$(key within) 1.05" | awk '{ print (NF > 1 && $1 < $2 ? $1 : 1.05) }')
        near "$(key truth)" "$is" "$within" || { echo "$N: prints '$is', not $(key truth)"; bad=1; } ;;
    measure)
        is=$(truth)
        { [ "$is" ] && near "$is" "$is"; } || { echo "$N: prints '$is', expected a number or a word"; bad=1; } ;;
    break)
        tree "$folder/t" "$file"
        mistake "$folder/t" "$file"
        if proofs "$folder/t" "$file"; then echo "$N: no proof falls"; bad=1; fi
        [ "$(tr '\n' ' ' <"$folder/t/fell")" = "$(key falls | tr ' ' '\n' | sort | tr '\n' ' ')" ] || {
            echo "$N: what falls: $(tr '\n' ' ' <"$folder/t/fell")"; bad=1; } ;;
    *) echo "$N: kind: found '$(key kind)', expected one of: hole, predict, measure, break"; bad=1 ;;
    esac
    [ "$(section Answer)" ] || { echo "$N: has no answer"; bad=1; }
    [ "$(section Hint)" ] || { echo "$N: has no hint"; bad=1; }
    return $bad
}

# ---- commands --------------------------------------------------------------------

case $verb in
list) ;;
open | check | hint | prove)
    [ -f "$(page)" ] || refuse "N: found '$N', expected one of: $(cd $pages && ls -- *.md | sed 's/\.md$//' | sort -V | tr '\n' ' ')" ;;
*) refuse "found '$verb', expected one of: list, open, check, hint, prove" ;;
esac
mkdir -p "$here"

case $verb in
list)
    for N in $(cd $pages && ls -- *.md | sed 's/\.md$//' | sort -V); do
        printf '%-6s %-8s %3s min  %s %s\n' "$N" "$(key kind)" "$(key minutes)" \
            "$(grep -qx "$N" "$here/done" 2>/dev/null && echo '[done]' || echo '[    ]')" "$(title)"
    done
    echo "make exercise N=1.1 opens one" ;;
open)
    echo "$N  $(title) ($(key kind), $(key minutes) minutes)"
    echo
    asked
    echo
    case $(key kind) in
    hole)
        file=$(key cut | cut -d' ' -f1)
        if [ -e "$here/$N/$file" ]; then echo "Open already: $here/$N/$file (remove $here/$N to begin again)"
        else
            tree "$here/$N" "$file"
            skeleton "$here/$N" "$file"
            echo "Write into $here/$N/$file, at line $(grep -n "Exercise $N" "$here/$N/$file" | cut -d: -f1)."
        fi
        echo "Then: make check N=$N" ;;
    break) echo "Then: make check N=$N ANSWER='name name'" ;;
    *) echo "Then: make check N=$N ANSWER=..." ;;
    esac
    echo "A hint: make hint N=$N" ;;
check)
    case $(key kind) in
    hole) judge_hole ;;
    break) judge_break ;;
    *) judge_answer ;;
    esac ;;
hint)
    given=$(cat "$here/$N.hints" 2>/dev/null || echo 0)
    all=$(grep -c '^## Hint$' "$(page)")
    [ "$given" -lt "$all" ] && given=$((given + 1))
    echo "$given" >"$here/$N.hints"
    echo "Hint $given of $all:"
    section Hint "$given" ;;
prove) prove ;;
esac
