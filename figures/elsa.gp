# elsa.gp -- ELSA's forms and attention in windows against the number of tokens: its part of scaling.gp

keys = "dense/naive k7/naive k3/naive k7/fast k3/fast window/fast"
colour(k) = k eq "dense/naive" ? vermilion : k eq "k7/naive" ? orange : k eq "k3/naive" ? orange : \
            k eq "k7/fast" ? blue : k eq "k3/fast" ? sky : black
text(k) = k eq "dense/naive" ? "N×N (Eq. 4), K = 7" : k eq "window/fast" ? "7×7 windows" : \
          (k[4:4] eq "n" ? "unfolded" : "not unfolded").", K = ".k[2:2]
weight(k) = k[1:2] eq "k3" ? 1 : 2

set xrange [180:largest*1.08]
set xtics ("196" 196, "784" 784, "3 136" 3136, "12 544" 12544)
if (memory) { set ytics add ("256 KiB" 2**18) }
low = time ? 5e-5 : 2.0**18
room = 3

layer = "C = 96, 3 heads, with a ghost head, batch 1"
remarks = time ? "Crosses were not run.  Thin lines: K = 3." : \
    "Dotted: by formula, beyond what was run.  Thin lines: K = 3."
