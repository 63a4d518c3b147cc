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
#                 measures nothing and draws the tables in OUTPUT once more
#     MAX_MEMORY  the most that forms may take, as 8G (1536M; with FULL 8G), but
#                 never more than three quarters of the machine's
#
# Files appear in OUTPUT when the whole chapter has succeeded.

set -eu
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
[ "$budget" = 0 ] || [ -x "$build/measure" ] || fail "$build/measure is missing: run make first"

memory=$(echo "${MAX_MEMORY:-$([ "$full" ] && echo 8G || echo 1536M)}" | awk \
    -v pages="$(getconf _PHYS_PAGES)" -v page="$(getconf PAGE_SIZE)" '
    !/^[0-9.]+[KMGT]?$/ { exit }
    { n = $1 + 0; u = index("KMGT", substr($1, length($1))); for (; u > 0; u--) n *= 1024
      most = pages * page * 0.75; printf "%.0f", n < most ? n : most }')
[ "$memory" ] || status=2 fail "MAX_MEMORY: found '$MAX_MEMORY', expected bytes, as 512M or 8G"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# The comments at the head of every table: machine, compiler, commit, day.
about() {
    "$build/figures/machine"
    commit=$(git -C "$here" describe --always 2>/dev/null) || commit=
    [ "$commit" ] && { git -C "$here" diff --quiet HEAD -- ../reference ../naive ../fast '*.c' || commit="$commit and changes"; }
    echo "# measured: $(date -u +%Y-%m-%d)${commit:+, commit $commit}"
}

# sweep SERIES ARGUMENT...: rows of one series into $table, its name before each.
# A combination gets at most $repeats runs (50) and the $each-th part (75) of the
# budget.
sweep() {
    series=$1; shift
    echo "  measure $series" >&2
    "$build/measure" "$@" --threads 1 --repeats "${repeats:-50}" --seconds "$(share "${each:-75}")" --max-seconds "$(share 15)" \
        --max-memory "$memory" >"$work/rows"
    awk -v s="$series" '/^#/ { if (!header) print "#series\t" substr($0, 2); next } { print s "\t" $0 }' \
        header="${header-}" "$work/rows" >>"$work/$table"
    header=1
}

# draw FIGURE SCRIPT TABLE [ASSIGNMENT].  Series may be empty; the pixels of
# maps stay sharp when enlarged.
draw() {
    gnuplot -e "here='$here'; data='$work/$3'; out='$work/drawn'; ${4-}" "$here/$2" 2>"$work/said" \
        || { cat "$work/said" >&2; fail "gnuplot cannot draw $1"; }
    grep -v -e 'no valid points' -e '^$' "$work/said" >&2 || :
    sed 's/<image /<image image-rendering="optimizeSpeed" style="image-rendering:pixelated" /' "$work/drawn" >"$work/$1.svg"
}

# ---- chapter 1 -------------------------------------------------------------

lisa_measure() {
    layer="--channels 96 --heads 6 --without b_qkv,w_o,b_o"
    if [ "$full" ]; then
        small="8x8 16x16 24x24 32x32 40x40 48x48 56x56 64x64"
        large="80x80 96x96 112x112 128x128 160x160 192x192 256x256"
        fast="fast fftw"
    else
        small="8x8 16x16 24x24 32x32 48x48 64x64"
        large="128x128"
        fast="fast"
    fi

    # Time, memory and work against N; the naive forms, which also vouch for the
    # fast ones, in the first half only.
    table=lisa.tsv header=
    { about; echo "# limits: $memory bytes, $(share 15) seconds a run"; } >"$work/$table"
    forms="naive $fast" attention="naive fast" grids=$small
    while :; do
        sweep eq10 lisa --equation 10 --sizes D=16 $layer --form $forms --grid $grids
        sweep eq7 lisa --equation 7 --sizes D=16 $layer --form $forms --grid $grids
        sweep msa msa $layer,rpe --form $attention --grid $grids
        sweep window msa --window 8 $layer,rpe --form $attention --grid $grids
        [ "$grids" = "$small" ] || break
        [ "$full" ] || [ "$(spent)" -lt "$(share 2 | cut -d. -f1)" ] || { echo "  half of the time is spent: no larger grids" >&2; break; }
        forms=$fast attention=fast grids=$large
    done

    # Where the border of the grid matters; kernels.
    for map in border kernels; do
        echo "  compute lisa-$map" >&2
        { about; "$build/figures/lisa_$map"; } >"$work/lisa-$map.tsv"
    done

    # Rounding errors, in both precisions.
    naive=600
    grids="8x8 16x16 24x24 32x32 64x64"
    [ -z "$full" ] || naive=1100 grids="8x8 12x12 16x16 24x24 32x32 48x48 64x64 96x96 128x128 192x192 256x256"
    about >"$work/lisa-error.tsv"
    header=
    for program in "$build" "$build/double"; do
        for equation in 10 7; do
            echo "  compute lisa-error, Eq. $equation, $(basename "$program")" >&2
            "$program/figures/lisa_error" $equation $naive $grids >"$work/rows"
            awk -v header="$header" '!/^#/ || !header' "$work/rows" >>"$work/lisa-error.tsv"
            header=1
        done
    done
}

lisa_draw() {
    draw lisa lisa.gp lisa.tsv "column='median_seconds'"
    draw lisa-memory lisa.gp lisa.tsv "column='peak_bytes'"
    draw lisa-work lisa.gp lisa.tsv "column='multiply_adds'"
    draw lisa-border lisa-border.gp lisa-border.tsv
    draw lisa-kernels lisa-kernels.gp lisa-kernels.tsv
    draw lisa-error lisa-error.gp lisa-error.tsv
}

# ---- chapter 2 -------------------------------------------------------------

structsa_measure() {
    layer="--channels 192 --heads 3 --kernel 3x3 --without b_qkv,w_o,b_o"
    head="--grid 14x14 --channels 64 --without b_qkv,w_o,b_o"
    if [ "$full" ]; then
        small="8x8 12x12 16x16 20x20 24x24 28x28 32x32 40x40 48x48"
        large="56x56 64x64 80x80 96x96"
        patterns="1 2 4 8 16" windows="1x1 3x3 5x5 7x7 9x9" each=150
    else
        small="8x8 14x14 20x20 28x28"
        large="40x40"
        patterns="1 2 4 8 16" windows="1x1 3x3 5x5 7x7" each=200
    fi

    # Time, memory and work against N.
    table=structsa.tsv header=
    { about; echo "# limits: $memory bytes, $(share 15) seconds a run"; } >"$work/$table"
    for D in 1 4 8; do
        sweep d$D structsa $layer --sizes D=$D --form naive permuted fast --grid $small
    done
    sweep msa msa --channels 192 --heads 3 --without b_qkv,w_o,b_o,rpe --form fast --grid $small $large

    # Time enough that the first run is never the only one: it is the first to
    # touch a map of up to gigabytes, and takes twice as long.
    short=$each each=25 repeats=3
    for D in 1 4 8; do
        sweep d$D structsa $layer --sizes D=$D --form permuted fast --grid $large
    done
    each=$short repeats=

    # Against the number of patterns, the window and the stride, on one head.
    table=structsa-shape.tsv header=
    { about; echo "# limits: $memory bytes, $(share 15) seconds a run"; } >"$work/$table"
    for D in $patterns; do
        sweep D=$D structsa $head --kernel 3x3 --sizes D=$D --form naive permuted fast
    done
    for window in $windows; do
        sweep M=$window structsa $head --kernel $window --sizes D=4 --form naive permuted fast
    done
    for stride in 1 2 4; do
        sweep s=$stride structsa $head --kernel 3x3 --stride $stride --sizes D=4 --form naive permuted fast
    done

    for map in kernels motion; do
        echo "  compute structsa-$map" >&2
        { about; "$build/figures/structsa_$map"; } >"$work/structsa-$map.tsv"
    done
}

structsa_draw() {
    draw structsa structsa.gp structsa.tsv "column='median_seconds'"
    draw structsa-memory structsa.gp structsa.tsv "column='peak_bytes'"
    draw structsa-work structsa.gp structsa.tsv "column='multiply_adds'"
    draw structsa-shape structsa-shape.gp structsa-shape.tsv
    draw structsa-kernels structsa-kernels.gp structsa-kernels.tsv
    draw structsa-motion structsa-motion.gp structsa-motion.tsv
}

# ---- chapter 3 -------------------------------------------------------------

elsa_measure() {
    layer="--channels 96 --heads 3 --without b_qkv,w_o,b_o"
    if [ "$full" ]; then
        grids="14x14 28x28 42x42 56x56 84x84 112x112"
        kernels="1 3 5 7 9 11" each=100
    else
        grids="14x14 28x28 56x56"
        kernels="1 3 7 11" each=100
    fi

    # Time and memory against N.
    table=elsa.tsv header=
    { about; echo "# limits: $memory bytes, $(share 15) seconds a run"; } >"$work/$table"
    for K in 3 7; do
        sweep k$K elsa $layer --kernel $K --form naive fast --grid $grids
    done
    sweep dense elsa $layer --kernel 7 --equation 4 --form naive --grid $grids
    sweep window msa $layer,rpe --window 7 --form fast --grid $grids

    # Against the size of the neighbourhood.
    table=elsa-kernel.tsv header=
    { about; echo "# limits: $memory bytes, $(share 15) seconds a run"; } >"$work/$table"
    for K in $kernels; do
        sweep K=$K elsa $layer --kernel $K --form naive fast --grid 28x28
    done

    for map in border filters; do
        echo "  compute elsa-$map" >&2
        { about; "$build/figures/elsa_$map"; } >"$work/elsa-$map.tsv"
    done
}

elsa_draw() {
    draw elsa elsa.gp elsa.tsv "column='median_seconds'"
    draw elsa-memory elsa.gp elsa.tsv "column='peak_bytes'"
    draw elsa-kernel elsa-kernel.gp elsa-kernel.tsv
    draw elsa-border elsa-border.gp elsa-border.tsv
    draw elsa-filters elsa-filters.gp elsa-filters.tsv
}

# ---- chapter 4 -------------------------------------------------------------

chopd_measure() {
    layer="--channels 96 --sizes D=96,R=96"
    if [ "$full" ]; then
        dense="4x4 6x6 8x8 10x10" grids="14x14 28x28 56x56 84x84 112x112"
        edges="8 16 24 32 48 64 96 128 192 256 384 512 768 1024" sides="1 3 5 7 9 11 15 21 31 43 55 81 111" seconds=0.3
        sweeps=300 ranks="1 2 4 8 16 32 48 64 80 96 112 128 160 192 224 256 320"
    else
        dense="4x4 6x6" grids="14x14 28x28 56x56"
        edges="8 16 32 64 128 256" sides="1 3 7 15 31 55 111" seconds=0.05
        sweeps=40 ranks="1 8 32 64 96 112 128 160 192 224"
    fi

    # Time, memory and work against N; dense tensors on the smallest grids.
    table=chopd.tsv header=
    { about; echo "# limits: $memory bytes, $(share 15) seconds a run"; } >"$work/$table"
    sweep dfc dfc-cp $layer --form naive fast --grid $dense
    sweep dfc dfc-cp $layer --form fast --grid $grids
    sweep chopd chopd $layer,G=4,S=24 --form naive fast --grid $dense
    sweep chopd chopd $layer,G=4,S=24 --form fast --grid $grids

    # Pooling alone: time against the box, errors against the grid, one thread.
    echo "  compute chopd-boxes" >&2
    { about; "$build/figures/chopd_boxes" $seconds $sides; } >"$work/chopd-boxes.tsv"
    echo "  compute chopd-error" >&2
    { about; "$build/figures/chopd_error" $edges; } >"$work/chopd-error.tsv"

    echo "  compute chopd-tensor" >&2
    { about; "$build/figures/chopd_tensor"; } >"$work/chopd-tensor.tsv"

    # Error of CP decompositions against their rank, one thread.
    echo "  compute chopd-rank" >&2
    { about; OMP_NUM_THREADS=1 "$build/figures/chopd_rank" $sweeps $ranks; } >"$work/chopd-rank.tsv"
}

chopd_draw() {
    draw chopd chopd.gp chopd.tsv "column='median_seconds'"
    draw chopd-memory chopd.gp chopd.tsv "column='peak_bytes'"
    draw chopd-work chopd.gp chopd.tsv "column='multiply_adds'"
    draw chopd-boxes chopd-boxes.gp chopd-boxes.tsv
    draw chopd-error chopd-error.gp chopd-error.tsv
    draw chopd-tensor chopd-tensor.gp chopd-tensor.tsv
    draw chopd-rank chopd-rank.gp chopd-rank.tsv
}

# ---- chapter 5 -------------------------------------------------------------

hilo_measure() {
    bare=h_qkv_b,h_proj_b,l_q_b,l_kv_b,l_proj_b
    stage="--channels 384 --heads 12"           # LITv2-S's third
    layer="--channels 768 --heads 12 --grid 14x14"      # of Table 10
    if [ "$full" ]; then
        grids="14x14 28x28 42x42 56x56 84x84 112x112"
        rounds="1 2 3 4 5 6 7 8 9" slice=800
        planes="14x14 56x56" lows="0 1 2 3 4 5 6 7 8 9 10 11 12"
    else
        grids="14x14 28x28 56x56"
        rounds="1" slice=400
        planes="14x14 28x28" lows="0 2 4 6 8 10 12"
    fi

    # Time and memory against N.
    table=hilo.tsv header= each=90
    { about; echo "# limits: $memory bytes, $(share 15) seconds a run"; } >"$work/$table"
    sweep s2 hilo $stage --without $bare --window 2 --form naive fast --grid $grids
    sweep s4 hilo $stage --without $bare --window 4 --form fast --grid $grids
    sweep msa msa $stage --without b_qkv,b_o,rpe --form fast --grid $grids
    sweep window msa $stage --without b_qkv,b_o,rpe --window 7 --form fast --grid $grids
    sweep sra sra $stage --without b_q,b_kv,sr_b,b_o --reduction 2 --form fast --grid $grids

    # The layers of Table 10, in turn.
    table=hilo-layers.tsv header= each=$slice
    about >"$work/$table"
    for round in $rounds; do
        sweep hilo hilo $layer --without $bare --form fast
        sweep window msa $layer --without b_qkv,b_o,rpe --window 7 --form fast
        sweep sra sra $layer --without b_q,b_kv,sr_b,b_o --reduction 2 --form fast
        sweep msa msa $layer --without b_qkv,b_o,rpe --form fast
    done

    # Heads of Lo-Fi from none to all; a little is added so that rounding down finds them.
    table=hilo-alpha.tsv header= each=400
    about >"$work/$table"
    for low in $lows; do
        alpha=$(awk -v low=$low 'BEGIN { printf "%.4f", low < 12 ? (low + 0.01) / 12 : 1 }')
        sweep $low hilo --channels 768 --heads 12 --without $bare --alpha $alpha --form fast --grid $planes
    done

    for map in cost spectrum; do
        echo "  compute hilo-$map" >&2
        { about; "$build/figures/hilo_$map"; } >"$work/hilo-$map.tsv"
    done
}

hilo_draw() {
    draw hilo hilo.gp hilo.tsv "column='median_seconds'"
    draw hilo-memory hilo.gp hilo.tsv "column='peak_bytes'"
    draw hilo-layers hilo-layers.gp hilo-layers.tsv
    draw hilo-alpha hilo-alpha.gp hilo-alpha.tsv
    draw hilo-cost hilo-cost.gp hilo-cost.tsv
    draw hilo-spectrum hilo-spectrum.gp hilo-spectrum.tsv
}

# ---- all -------------------------------------------------------------------

chapters="lisa structsa elsa chopd hilo"
for chapter in ${CHAPTER:-$chapters}; do
    case " $chapters " in *" $chapter "*) ;; *) status=2 fail "CHAPTER: found '$chapter', expected one of: $chapters" ;; esac
    start=$(date +%s) each= repeats=
    echo "figures of $chapter" >&2
    if [ "$budget" = 0 ]; then
        cp "$output/$chapter"*.tsv "$work"
    else
        ${chapter}_measure
    fi
    ${chapter}_draw
    mkdir -p "$output"
    for file in "$work/$chapter"*.tsv "$work/$chapter"*.svg; do
        mv "$file" "$output/"
    done
    echo "figures of $chapter: $(spent) seconds, in $output" >&2
done
