# lisa.sh -- what redraw.sh measures and draws for LiSA's chapter

tables() {
    layer="--channels 96 --heads 6 --without b_qkv,w_o,b_o"
    if [ "$full" ]; then
        small="8x8 16x16 24x24 32x32 40x40 48x48 56x56 64x64"
        large="80x80 96x96 112x112 128x128 160x160 192x192 256x256"
        fast="fast fftw"
        naive=1100 sides="8x8 12x12 16x16 24x24 32x32 48x48 64x64 96x96 128x128 192x192 256x256"
    else
        small="8x8 16x16 24x24 32x32 48x48 64x64"
        large="128x128"
        fast="fast"
        naive=600 sides="8x8 16x16 24x24 32x32 64x64"
    fi

    # Time, memory and work against N; the naive forms, which also vouch for the
    # fast ones, in the first half only.
    table lisa
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
    map lisa-border
    map lisa-kernels

    # Rounding errors, in both precisions, up to so many tokens of the naive forms.
    map lisa-error $naive $sides
}

counts() {
    count lisa --grid 14x14 --channels 32 --heads 2 --sizes D=8 --without b_qkv,w_o,b_o
}

drawings() {
    scaling time memory work
    draw lisa-border lisa-kernels lisa-error
    ladder
}
