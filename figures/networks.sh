# networks.sh -- what redraw.sh measures and draws for the networks' chapter

tables() {
    if [ "$full" ]; then
        runs=9 sides="224 320 448 576 768" pictures=10000
    else
        runs=1 sides="224 448" pictures=1000
    fi

    # Whole networks with random weights: where the time goes, by kinds of steps and by resolution; images a second.
    map networks-profile $runs
    map networks-share $(((runs + 1) / 2)) $sides
    rates

    # A picture on its way; trained networks: accuracy on a tenth of the test set, or all of it with FULL, and maps.
    map networks-maps
    map networks-accuracy $pictures
    map networks-lisa
    map networks-structsa
    map networks-elsa
    map networks-boxes
    map networks-spectrum
}

# Images a second of LITv2, one by one on one thread, beside those that its paper prints; of time and of multiply-adds the ratio to
# LITv2-S's.
rates() {
    echo "  measure networks-rate" >&2
    for which in S M B B,up384; do
        name=litv2-$(echo "${which%,*}" | tr SMB smb) grid=224x224
        [ "$which" = "${which#*,up}" ] || grid=${which#*,up}x${which#*,up}
        "$build/figures/networks-profile" "$runs" "$name" fast "$grid" >"$work/rate"
        awk -F '\t' -v row="LITv2-$(echo "$which" | tr , ' ')" '
            $1 == 1 && $2 == row && $3 == "throughput" { printed = $4 }
            $3 == "all" { printf "%s\t%s\t%.4g\t%s\t%s\n", $1, grid, 1 / $5, printed, $7 }
        ' grid="$grid" "$here/../reference/published/hilo.tsv" "$work/rate"
    done >"$work/rates"
    {
        about
        printf '#network\tgrid\timages_a_second\tratio\tprinted\tprinted_ratio\tmultiply_adds\tits_ratio\n'
        awk -F '\t' -v OFS='\t' '
            NR == 1 { images = $3; printed = $4; cost = $5 }
            { print $1, $2, $3, sprintf("%.2f", $3 / images), $4, sprintf("%.2f", $4 / printed), $5, sprintf("%.2f", cost / $5) }
        ' "$work/rates"
    } >"$work/networks-rate.tsv"
}

# No network has kernels of its own.
counts() { :; }

drawings() {
    draw networks-share networks-maps
    draw networks-lisa networks-structsa networks-elsa networks-boxes networks-spectrum
}
