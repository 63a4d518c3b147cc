# chopd.sh -- what redraw.sh measures and draws for ChoP'D's chapter

tables() {
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
    table chopd
    sweep dfc dfc-cp $layer --form naive fast --grid $dense
    sweep dfc dfc-cp $layer --form fast --grid $grids
    sweep chopd chopd $layer,G=4,S=24 --form naive fast --grid $dense
    sweep chopd chopd $layer,G=4,S=24 --form fast --grid $grids

    # Pooling alone: time against the box, errors against the grid, one thread.
    map chopd-boxes $seconds $sides
    map chopd-error $edges

    map chopd-tensor

    # Error of CP decompositions against their rank, one thread.
    (export OMP_NUM_THREADS=1; map chopd-rank $sweeps $ranks)
}

counts() {
    count chopd --grid 14x14 --channels 8 --batch 2 --sizes R=8,D=8,G=4,S=2
    count fc --channels 8 --batch 8 --sizes M=16,N=16,D=32
    count dfc-cp --channels 4 --batch 2 --sizes M=19,N=100,D=3,R=40
}

drawings() {
    scaling time memory work
    draw chopd-boxes chopd-error chopd-tensor chopd-rank
    ladder
}
