# ladder.sh -- what redraw.sh measures and draws for the ladders of chapters 0 and 1

tables() {
    climb msa --grid 56x56 --channels 64 --without rpe,b_qkv,w_o,b_o
    climb lisa --grid 28x28 --channels 96 --heads 6 --sizes D=16 --without b_qkv,w_o,b_o
}

# climb OPERATOR WORD...: all rungs of its ladder, on this layer, into a table of their own.
climb() {
    echo "  climb $1" >&2
    { about; "$build/figures/ladder" "$@" --repeats 200 --seconds "$(share 30)"; } >"$work/ladder-$1.tsv"
}

counts() { :; }

drawings() {
    draw_as ladder-msa ladder ladder-msa "of='Self-attention'"
    draw_as ladder-lisa ladder ladder-lisa "of='LiSA'"
}
