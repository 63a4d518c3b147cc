# elsa.sh -- what redraw.sh measures and draws for ELSA's chapter

tables() {
    layer="--channels 96 --heads 3 --without b_qkv,w_o,b_o"
    each=100
    if [ "$full" ]; then
        grids="14x14 28x28 42x42 56x56 84x84 112x112"
        kernels="1 3 5 7 9 11"
    else
        grids="14x14 28x28 56x56"
        kernels="1 3 7 11"
    fi

    # Time and memory against N.
    table elsa
    for K in 3 7; do
        sweep k$K elsa $layer --kernel $K --form naive fast --grid $grids
    done
    sweep dense elsa $layer --kernel 7 --equation 4 --form naive --grid $grids
    sweep window msa $layer,rpe --window 7 --form fast --grid $grids

    # Against the size of the neighbourhood.
    table elsa-kernel
    for K in $kernels; do
        sweep K=$K elsa $layer --kernel $K --form naive fast --grid 28x28
    done

    map elsa-border
    map elsa-filters
}

counts() {
    count elsa --grid 16x16 --channels 24 --heads 3 --kernel 7
}

drawings() {
    scaling time memory
    draw elsa-kernel elsa-border elsa-filters
    ladder
}
