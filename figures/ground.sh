# ground.sh -- what redraw.sh counts and draws for chapter 0

# Rounding errors in both precisions, the naive form's up to so many keys; and PyTorch's, where it is there.
tables() {
    if [ "$full" ]; then map ground-error 12544 64 256 1024 3136 12544 50176
    else map ground-error 3136 64 256 1024 3136 12544; fi
}

counts() {
    count msa --grid 8x8 --channels 32 --heads 2 --without rpe,w_o,b_o,b_qkv
}

drawings() {
    draw ground-error
    ladder
}
