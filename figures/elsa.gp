# elsa.gp -- ELSA's forms and attention in windows against the number of tokens: its part of scaling.gp

keys = "dense/naive k7/naive k3/naive k7/fast k3/fast window/fast"
colour(k) = k eq "dense/naive" ? vermilion : k eq "k7/naive" ? orange : k eq "k3/naive" ? orange : \
            k eq "k7/fast" ? blue : k eq "k3/fast" ? sky : black
text(k) = k eq "dense/naive" ? "N×N (Eq. 4), K = 7" : k eq "window/fast" ? "7×7 windows" : \
          (k[4:4] eq "n" ? "unfolded" : "not unfolded").", K = ".k[2:2]
weight(k) = k[1:2] eq "k3" ? 1 : 2


layer = "C = 96, 3 heads, with a ghost head, batch 1"
remarks = (time ? crossed : beyond)."Thin lines: K = 3."
