# networks.sh -- what redraw.sh measures and draws for the networks' chapter

tables() {
    # Trained networks; the accuracy on all of the test set with FULL, else on a tenth.
    map networks-accuracy $([ "$full" ] && echo 10000 || echo 1000)
    map networks-lisa
    map networks-structsa
    map networks-elsa
    map networks-boxes
    map networks-spectrum
}

drawings() {
    draw networks-lisa networks-structsa networks-elsa networks-boxes networks-spectrum
}
