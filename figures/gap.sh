# gap.sh -- what redraw.sh measures and draws for the gap's chapter
#
# The gap itself is not measured again: it is worked out of the tables of the rows, those
# of this machine where they are there.  Nor are the goals, which make versus measures: the
# tables of three machines are set side by side.

also=roofline

# The forms whose exponents and ratios are taken: key, name, table, series, form, and the
# formulas printed beside the exponents, of multiply-adds and of memory in reals.
gap_rows() {
    cat <<'END'
msa|self-attention|lisa|msa|naive|$2 N^2 C$|$N^2$
msa|self-attention|lisa|msa|fast|the same|$N C$
lisa|LiSA, Eq. 10|lisa|eq10|naive|$2 N^2 C D$|$N C D / h$
lisa|LiSA, Eq. 10|lisa|eq10|fast|$N C D \log N$|$N C D / h$
structsa|StructSA, D = 4|structsa|d4|naive|$N^2 C (1 + 2 D M + M)$|$N^2 (C / h + D)$
structsa|StructSA, D = 4|structsa|d4|fast|$2 N^2 C D$|$N C$
elsa|ELSA, K = 7|elsa|k7|naive|$N K^2 (2 h + 2) C$|$N K^2 (3 C + h)$
elsa|ELSA, K = 7|elsa|k7|fast|the same, on the grid|$N C$
chopd|ChoP'D|chopd|chopd|naive|$3 N^2 C D R$|$N^2 C D$
chopd|ChoP'D|chopd|chopd|fast|$N R (C + D + 6 G) + \varphi$|$N R + \varphi$
hilo|HiLo, s = 2|hilo|s2|naive|$2 N^2 C$|$2 N^2$
hilo|HiLo, s = 2|hilo|s2|fast|$2 N^2 D_L / s^2 + 2 N s^2 D_H$|$N C$
END
}

# Where a table of a row is: measured just now, or before, or by us.
row_table() {
    if [ "$budget" = 0 ]; then folders="${TABLES:-$output} $here"; else folders="$output $here"; fi
    for folder in $folders; do
        [ ! -f "$folder/$1.tsv" ] || { echo "$folder/$1.tsv"; return; }
    done
    fail "$1.tsv is missing: run the figures of all chapters first"
}

tables() {
    bare="--without b_qkv,b_o,rpe"
    # The chapter's tables name these planes as columns, whoever measures.
    tiny="1x1 2x2 3x3 4x4 6x6 8x8 14x14" dense="1x1 2x2 3x3 4x4 6x6 8x8"
    planes="7x7 14x14 28x28 56x56 112x112"
    if [ "$full" ]; then
        edges="8 12 16 24 32 48 64 96 128" seconds=1
    else
        edges="8 16 32 64" seconds=0.1
    fi

    # Both forms where N is small: the layers of the rows.
    table gap-small
    each=300
    sweep "self-attention" msa --channels 96 --heads 6 --without b_qkv,w_o,b_o,rpe --form naive fast --grid $tiny
    sweep "LiSA, Eq. 10" lisa --channels 96 --heads 6 --sizes D=16 --without b_qkv,w_o,b_o --form naive fast --grid $tiny
    sweep "StructSA, D = 4" structsa --channels 192 --heads 3 --kernel 3x3 --sizes D=4 --without b_qkv,w_o,b_o \
        --form naive fast --grid $tiny
    sweep "ELSA, K = 7" elsa --channels 96 --heads 3 --kernel 7 --without b_qkv,w_o,b_o --form naive fast --grid $tiny
    sweep "ChoP'D" chopd --channels 96 --sizes D=96,R=96,G=4,S=24 --form naive fast --grid $dense
    sweep "HiLo, s = 2" hilo --channels 384 --heads 12 --without h_qkv_b,h_proj_b,l_q_b,l_kv_b,l_proj_b \
        --form naive fast --grid $tiny

    # All of them as one layer of 96 channels.
    table gap-choice
    layer="--channels 96 --heads 3 --form fast --grid $planes"
    sweep "7×7 windows" msa --window 7 $layer $bare
    sweep "ELSA, K = 7" elsa --kernel 7 $layer --without b_qkv,b_o
    sweep "ChoP'D" chopd --channels 96 --sizes D=96,R=96,G=4,S=24 --form fast --grid $planes
    sweep "LiSA, D = 16" lisa --channels 96 --heads 6 --sizes D=16 --form fast --grid $planes --without b_qkv,b_o
    sweep "HiLo, s = 2" hilo $layer --without h_qkv_b,h_proj_b,l_q_b,l_kv_b,l_proj_b
    sweep "self-attention" msa $layer $bare
    sweep "StructSA, D = 4" structsa --kernel 3x3 --sizes D=4 $layer --without b_qkv,b_o

    # LiSA's Fig. 4: 96 channels; windows of N/4 tokens, keys and values pooled by 2 x 2.
    table gap-blocks
    layer="--channels 96 --heads 6 --form fast"
    for edge in $edges; do
        sweep msa msa $layer $bare --grid ${edge}x$edge
        sweep quarter msa --window $((edge / 2)) $layer $bare --grid ${edge}x$edge
        sweep pooled hilo --alpha 1 --window 2 $layer --without l_q_b,l_kv_b,l_proj_b --grid ${edge}x$edge
        sweep lisa lisa $layer --sizes D=16 --without b_qkv,b_o --grid ${edge}x$edge
    done

    # The roofs, and the dots below them.
    map roofline $seconds
    mv "$work/roofline.tsv" "$work/roofs"
    {
        sed -n '/^#/p' "$work/roofs"
        echo "#operator	options	sizes	form	grid	channels	without	multiply_adds	x_bytes	weights_bytes	y_bytes	workspace_bytes	intensity	level	roof	best_seconds	reached	share"
        sed -n 's/^form	//p' "$work/roofs"
    } >"$work/roofline.tsv"
    {
        sed -n '/^#/p' "$work/roofs"
        echo "#level	read_through_bytes	G_a_second"
        sed -n 's/^level	//p' "$work/roofs" | cut -f 1-3
    } >"$work/roofline-levels.tsv"
}

counts() {
    gap_rows >"$work/rows"
    measured=
    for row in lisa structsa elsa chopd hilo; do
        of_row=$(row_table $row)
        measured="$measured $of_row"
    done
    for want in pairs factors fits; do
        awk -v want=$want -f "$here/gap.awk" "$work/rows" $measured >"$work/gap-$want"
    done
    mv "$work/gap-pairs" "$work/gap.tsv"
    mv "$work/gap-factors" "$work/gap-factors.tsv"
    mv "$work/gap-fits" "$work/gap-fits.tsv"
    awk -v want=small -f "$here/gap.awk" "$work/rows" "$work/gap-small.tsv" >"$work/small"
    mv "$work/small" "$work/gap-loses.tsv"
    awk -v want=choice -f "$here/gap.awk" "$work/rows" "$work/gap-choice.tsv" >"$work/choice"
    mv "$work/choice" "$work/gap-choices.tsv"
    goals=$here/versus-goals
    awk -f "$here/goals.awk" "$goals.tsv" "$goals-zen4.tsv" "$goals-zen3.tsv" >"$work/goals"
    mv "$work/goals" "$work/gap-goals.tsv"
    echo "  count gap-resolution" >&2
    BUILD="$build" "${PYTHON:-python3}" "$here/network_maps.py" gap-resolution >"$work/gap-resolution.tsv"
    resolutions "$here/../reference/published/hilo.tsv" "$work/gap-resolution.tsv" >"$work/gap-resolutions.tsv"
}

# What HiLo's Table 4 prints beside what is counted, G of the network by pixels of a side.
resolutions() {
    awk -F '\t' -v OFS='\t' '
        FNR == NR { if ($1 == 4 && $3 == "flops") printed[$2] = $4; next }
        /^#/ { next }
        { G[$1, $2] = sprintf($5 < 1e10 ? "%.2f" : $5 < 1e11 ? "%.1f" : "%.0f", $5 / 1e9) }
        function line(key, name, row) {
            print name, printed[row], G[key, 224], G[key, 448], G[key, 896], G[key, 1792]
        }
        END {
            print "#attention", "printed, 224", "224", "448", "896", "1792"
            line("msa", "self-attention", "MSA")
            line("window", "windows of 7", "W-MSA")
            line("sra", "SRA, s = 2", "SRA")
            line("s2", "HiLo, s = 2", "HiLo")
            line("s4", "HiLo, s = 4", "none")
        }' "$1" "$2"
}

drawings() {
    draw gap roofline
    for quantity in work time memory; do
        draw_as gap-blocks-$quantity scaling gap-blocks "row='gap-blocks'; quantity='$quantity'"
    done
    of_row=$(row_table hilo)
    draw_as gap-resolution gap-resolution gap-resolution "layers='$of_row'"
}
