# ground.sh -- what redraw.sh counts and draws for chapter 0

tables() { :; }

counts() {
    count msa --grid 8x8 --channels 32 --heads 2 --without rpe,w_o,b_o,b_qkv
}

drawings() {
    ladder
}
