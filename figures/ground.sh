# ground.sh -- what redraw.sh counts and draws for chapter 0

# Rounding errors in both precisions; and PyTorch's, where it is there (PYTHON: which).
tables() {
    keys="64 256 1024 3136 12544 50176 200704"
    [ "$full" ] || keys="64 256 1024 3136 12544"
    map ground-error $keys
    "$build/double/figures/ground-error" ${keys% *} >"$work/lines"
    grep -v '^#' "$work/lines" >>"$work/ground-error.tsv"
    if "${PYTHON:-python3}" "$here/ground-error.py" $keys >"$work/lines" 2>/dev/null; then
        cat "$work/lines" >>"$work/ground-error.tsv"
    else
        echo "  no PyTorch 2 or later: its lines are left out" >&2
    fi
}

counts() {
    count msa --grid 8x8 --channels 32 --heads 2 --without rpe,w_o,b_o,b_qkv
}

drawings() {
    draw ground-error
    ladder
}
