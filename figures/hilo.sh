# hilo.sh -- what redraw.sh measures and draws for HiLo's chapter

tables() {
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
    table hilo
    each=90
    sweep s2 hilo $stage --without $bare --window 2 --form naive fast --grid $grids
    sweep s4 hilo $stage --without $bare --window 4 --form fast --grid $grids
    sweep msa msa $stage --without b_qkv,b_o,rpe --form fast --grid $grids
    sweep window msa $stage --without b_qkv,b_o,rpe --window 7 --form fast --grid $grids
    sweep sra sra $stage --without b_q,b_kv,sr_b,b_o --reduction 2 --form fast --grid $grids

    # The layers of Table 10, in turn.
    table hilo-layers
    each=$slice
    for round in $rounds; do
        sweep hilo hilo $layer --without $bare --form fast
        sweep window msa $layer --without b_qkv,b_o,rpe --window 7 --form fast
        sweep sra sra $layer --without b_q,b_kv,sr_b,b_o --reduction 2 --form fast
        sweep msa msa $layer --without b_qkv,b_o,rpe --form fast
    done

    # Heads of Lo-Fi from none to all; a little is added so that rounding down finds them.
    table hilo-alpha
    each=400
    for low in $lows; do
        alpha=$(awk -v low=$low 'BEGIN { printf "%.4f", low < 12 ? (low + 0.01) / 12 : 1 }')
        sweep $low hilo --channels 768 --heads 12 --without $bare --alpha $alpha --form fast --grid $planes
    done

    map hilo-cost
    map hilo-spectrum
    map hilo-alias
}

counts() {
    count hilo --grid 9x15 --window 2 --heads 4 --alpha 0.5 --batch 2 --channels 32
    count sra --grid 16x10 --reduction 2 --heads 2 --batch 2 --channels 16 --without w_o,b_o
}

drawings() {
    scaling time memory
    draw hilo-layers hilo-alpha hilo-cost hilo-spectrum hilo-alias
    ladder
}
