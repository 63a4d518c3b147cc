#!/bin/sh
# redraw.sh -- measures on this machine and draws the figures
#
#     OUTPUT=figures BUILD=build CHAPTER=lisa sh figures/redraw.sh
#
# Environment, all optional:
#     OUTPUT      where the TSV and SVG files go (figures)
#     BUILD       where the programs are (build)
#     CHAPTER     one chapter alone; all without it
#     FULL        not empty: the long sweep, all grids, as the committed data
#     BUDGET      seconds for each chapter (30; 300 with FULL), roughly kept; 0
#                 measures nothing and draws the tables in TABLES once more.  What
#                 is the same on every machine is counted anew, outside of it
#     TABLES      where those are (OUTPUT)
#     MAX_MEMORY  the most that forms may take, as 8G (1536M; with FULL 8G), but
#                 never more than three quarters of the machine's
#
# What a chapter measures and draws stands in a file of its own, lisa.sh for
# chapters/1-lisa.md, gap.sh for chapters/6-the-gap.md: three functions, tables, counts
# and drawings, which use the helpers below.  Its files begin with its name, or with one
# of `also`.  Files appear in OUTPUT when the whole chapter has succeeded, and stay
# when a later one does not.

set -eu
export LC_ALL=C.UTF-8         # awk writes numbers as the locale has them
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE        # they choose slow kernels
here=$(dirname "$0")
output=${OUTPUT:-figures}
build=${BUILD:-build}
full=${FULL:-}
budget=${BUDGET:-${full:+300}}
budget=${budget:-30}

fail() { echo "redraw.sh: $*" >&2; exit "${status:-1}"; }
share() { awk -v b="$budget" -v n="$1" 'BEGIN { printf "%.4g", b / n }'; }
spent() { echo $(($(date +%s) - start)); }

case $budget in *[!0-9]*) status=2 fail "BUDGET: found '$budget', expected whole seconds" ;; esac
command -v gnuplot >/dev/null || fail "gnuplot is missing (Debian: gnuplot-nox)"
[ -x "$build/measure" ] || fail "$build/measure is missing: run make first"

memory=$(echo "${MAX_MEMORY:-$([ "$full" ] && echo 8G || echo 1536M)}" | awk \
    -v pages="$(getconf _PHYS_PAGES)" -v page="$(getconf PAGE_SIZE)" '
    !/^[0-9.]+[KMGT]?$/ { exit }
    { n = $1 + 0; u = index("KMGT", substr($1, length($1))); for (; u > 0; u--) n *= 1024
      most = pages * page * 0.75; printf "%.0f", n < most ? n : most }')
[ "$memory" ] || status=2 fail "MAX_MEMORY: found '$MAX_MEMORY', expected bytes, as 512M or 8G"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# ---- for tables -------------------------------------------------------------

# The comments at the head of every table: machine, compiler, commit, day.
about() {
    "$build/figures/machine"
    commit=
    # Not the commit of somebody else's repository that this tree was unpacked into.
    if git -C "$here" ls-files --error-unmatch redraw.sh >/dev/null 2>&1; then commit=$(git -C "$here" describe --always); fi
    [ "$commit" ] && { git -C "$here" diff --quiet HEAD -- ../reference ../naive ../fast '*.[ch]' || commit="$commit and changes"; }
    echo "# measured: $(date -u +%Y-%m-%d)${commit:+, commit $commit}"
}

# table NAME: begins a table of measurements, which sweeps fill.
table() {
    table=$work/$1.tsv header=
    { about; echo "# limits: $memory bytes, $(share 15) seconds a run"; } >"$table"
}

# sweep SERIES ARGUMENT...: rows of one series into the table, its name before
# each.  A combination gets at most $repeats runs (50) and the $each-th part (75)
# of the budget.
sweep() {
    series=$1; shift
    echo "  measure $series" >&2
    "$build/measure" "$@" --threads 1 --repeats "${repeats:-50}" --seconds "$(share "${each:-75}")" --max-seconds "$(share 15)" \
        --max-memory "$memory" >"$work/rows"
    awk -v s="$series" '/^#/ { if (!header) print "#series\t" substr($0, 2); next } { print s "\t" $0 }' \
        header="$header" "$work/rows" >>"$table"
    header=1
}

# map NAME [ARGUMENT...]: a table that the program of its name computes, or maps.py, or network_maps.py.
map() {
    name=$1; shift
    echo "  compute $name" >&2
    maps=$here/maps.py
    case $name in networks-*) maps=$here/network_maps.py; esac
    if [ -f "$here/$name.c" ]; then set -- "$build/figures/$name" "$@"
    else set -- "${PYTHON:-python3}" "$maps" "$name" "$@"
    fi
    { about; BUILD="$build" "$@"; } >"$work/$name.tsv"
}

# count OPERATOR WORD...: what the rungs of its ladder ask of the memory, into the
# chapter's table of that; the same on every machine.
count() {
    echo "  count $1" >&2
    "$build/figures/cuda" "$@" >>"$work/$chapter-cuda.tsv"
}

# ---- for drawings -----------------------------------------------------------

# draw NAME...: each by its own script from its own table.
draw() {
    for name; do
        draw_as "$name" "$name" "$name"
    done
}

# scaling QUANTITY...: time, memory and work in the chapter's table, against the
# number of tokens; the time has the chapter's name.
scaling() {
    for quantity; do
        figure=$chapter-$quantity
        draw_as "${figure%-time}" scaling "$chapter" "row='$chapter'; quantity='$quantity'"
    done
}

# ladder: the chapter's table of counts.
ladder() { draw_as "$chapter-cuda" cuda "$chapter-cuda"; }

# draw_as FIGURE SCRIPT TABLE [ASSIGNMENTS].  Series may be empty; what was measured
# just now may be too little for a drawing, which is then left out.  The drawing is
# named by its own title, not by the program and its parts by nothing; the pixels of maps
# stay sharp when enlarged; groups that hold nothing, half of what gnuplot writes, are left out.
draw_as() {
    gnuplot -e "here='$here'; data='$work/$3.tsv'; out='$work/drawn'; ${4-}" "$here/$2.gp" 2>"$work/said" \
        || {
            cat "$work/said" >&2
            [ "$budget" != 0 ] || fail "gnuplot cannot draw $1"
            echo "  $1 is not drawn: too little could be measured" >&2
            rm -f "$output/$1.svg"
            return
        }
    grep -v -e 'no valid points' -e '^$' -e '^title: ' "$work/said" >&2 || :
    heading=$(sed -n 's/^title: //p' "$work/said" | head -n 1 | tr -d '{}_^|\\')
    sed -e 's/<image /<image image-rendering="optimizeSpeed" style="image-rendering:pixelated" /' \
        -e "s|<title>Gnuplot</title>|<name>$heading</name>|" -e '/<desc>Produced by GNUPLOT/d' \
        -e 's|<title>[^<]*</title>||' -e 's|<\(/*\)name>|<\1title>|g' -e 's| stroke-linecap="butt" stroke-linejoin="miter"||' \
        "$work/drawn" | awk '
        /^\t*<g [^>]*>$/ { open[++opened] = $0; next }
        /^\t*<\/g>$/ && opened { opened--; next }
        { for (i = 1; i <= opened; i++) print open[i]; opened = 0; print }' >"$work/$1.svg"
}

# ---- all --------------------------------------------------------------------

# The chapters that have figures, in their order, and the ladders.
chapters=
for page in "$here"/../chapters/[0-9]*.md; do
    chapter=$(basename "$page" .md | sed 's/.*-//')
    [ ! -f "$here/$chapter.sh" ] || chapters="$chapters${chapters:+ }$chapter"
done
chapters="$chapters ladder"

for chapter in ${CHAPTER:-$chapters}; do
    chapter=${chapter#the-}
    case " $chapters " in *" $chapter "*) ;; *) status=2 fail "CHAPTER: found '$chapter', expected one of: $chapters" ;; esac
    start=$(date +%s) each= repeats= also=
    . "$here/$chapter.sh"
    echo "figures of $chapter" >&2
    if [ "$budget" = 0 ]; then
        for name in $chapter $also; do cp "${TABLES:-$output}/$name"*.tsv "$work"; done
    else
        tables
    fi
    rm -f "$work/$chapter-cuda.tsv"
    counts
    drawings
    mkdir -p "$output"
    for name in $chapter $also; do
        for file in "$work/$name"*.tsv "$work/$name"*.svg; do
            mv "$file" "$output/"
        done
    done
    echo "figures of $chapter: $(spent) seconds, in $output" >&2
done
