# structsa.sh -- what redraw.sh measures and draws for StructSA's chapter

tables() {
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
    table structsa
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
    table structsa-shape
    for D in $patterns; do
        sweep D=$D structsa $head --kernel 3x3 --sizes D=$D --form naive permuted fast
    done
    for window in $windows; do
        sweep M=$window structsa $head --kernel $window --sizes D=4 --form naive permuted fast
    done
    for stride in 1 2 4; do
        sweep s=$stride structsa $head --kernel 3x3 --stride $stride --sizes D=4 --form naive permuted fast
    done

    map structsa-kernels
    map structsa-motion
}

counts() {
    count structsa --grid 4x8 --channels 16 --heads 2 --kernel 3x3 --sizes D=4 --without b_qkv,w_o,b_o
}

drawings() {
    scaling time memory work
    draw structsa-shape structsa-kernels structsa-motion
    ladder
}
