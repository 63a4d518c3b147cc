# chopd.gp -- dense layers and layers in factors against the number of tokens: its part of scaling.gp

keys = "dfc/naive chopd/naive dfc/fast chopd/fast"
colour(k) = k eq "dfc/naive" ? vermilion : k eq "chopd/naive" ? orange : k eq "dfc/fast" ? black : blue
text(k) = k eq "dfc/naive" ? "DFC, dense" : k eq "chopd/naive" ? "ChoP'D, dense" : \
          k eq "dfc/fast" ? "CP factors" : "ChoP'D"
line(k) = k eq "dfc/naive" ? 4 : 2           # the one below the other shows
dotted(k) = 0.75*line(k); dot(k) = 0.5
cross = 1


layer = "C = D = R = 96, G = 4, gate of 7×7 and S = 24, batch 1"
remarks = time ? crossed."Dense forms compute W_{imncd} first.  ChoP'D pays its gate, the same for every N." : \
    memory ? "Dense forms hold W_{imncd}: N^2 C D numbers.  ".beyond : \
    "Dense forms compute W_{imncd} from its factors, then apply it.  ".beyond
