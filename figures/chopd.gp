# chopd.gp -- dense layers and layers in factors against the number of tokens: its part of scaling.gp

keys = "dfc/naive chopd/naive dfc/fast chopd/fast"
colour(k) = k eq "dfc/naive" ? vermilion : k eq "chopd/naive" ? orange : k eq "dfc/fast" ? black : blue
text(k) = k eq "dfc/naive" ? "DFC, dense" : k eq "chopd/naive" ? "ChoP'D, dense" : \
          k eq "dfc/fast" ? "CP factors" : "ChoP'D"
line(k) = k eq "dfc/naive" ? 4 : 2           # the one below the other shows
dotted(k) = 0.75*line(k); dot(k) = 0.5
spread = 0.058; cross = 1

set xrange [13:largest*1.12]
set xtics ("16" 16, "64" 64, "196" 196, "784" 784, "3 136" 3136, "12 544" 12544)
low = time ? 2e-6 : memory ? 2.0**11 : 1e5
room = 4

layer = "C = D = R = 96, G = 4, gate of 7×7 and S = 24, batch 1"
if (work) { run_on = "" }
remarks = time ? "Crosses were not run.  Dense forms compute W_{imncd}, then apply it.  ".\
        "ChoP'D pays its gate, the same for every N." : \
    memory ? "Dense forms hold W_{imncd}: N^2 C D numbers.  Dotted: by formula, beyond what was run." : \
    "Dense: W_{imncd} from its factors, then applied.  Dotted: the same formula beyond what was run."
