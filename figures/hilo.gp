# hilo.gp -- HiLo's forms and what it is measured against, against the number of tokens: its part of scaling.gp

keys = "s2/naive msa/fast window/fast sra/fast s2/fast s4/fast"
colour(k) = k eq "s2/naive" ? vermilion : k eq "msa/fast" ? black : k eq "window/fast" ? orange : \
            k eq "sra/fast" ? green : k eq "s2/fast" ? blue : sky
text(k) = k eq "s2/naive" ? "as N×N, s = 2" : k eq "msa/fast" ? "self-attention" : \
          k eq "window/fast" ? "7×7 windows" : k eq "sra/fast" ? "SRA" : "HiLo, s = ".k[2:2]
weight(k) = k eq "s2/fast" ? 2 : 1
line(k) = 0.6 + 0.8*weight(k)


layer = "384 channels, 12 heads, α = 0.9, batch 1"
remarks = time ? crossed."Bars at the points: quartiles." : \
    "Self-attention runs with windows on one line.  ".beyond
