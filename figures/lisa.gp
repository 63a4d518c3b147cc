# lisa.gp -- LiSA and self-attention against the number of tokens: its part of scaling.gp
#
# The like of the paper's Fig. 4b, 4c and 4a, with dotted lines as there.

keys = "eq7/naive eq10/naive eq7/fast eq10/fast msa/fast window/fast"
colour(k) = k eq "eq7/naive" ? vermilion : k eq "eq10/naive" ? orange : k eq "eq7/fast" ? purple : \
            k eq "eq10/fast" ? blue : k eq "msa/fast" ? black : green
text(k) = k eq "eq7/naive" ? "LiSA Eq. 7, naive" : k eq "eq10/naive" ? "LiSA Eq. 10, naive" : \
          k eq "eq7/fast" ? "LiSA Eq. 7, FFT" : k eq "eq10/fast" ? "LiSA Eq. 10, FFT" : \
          k eq "msa/fast" ? "self-attention" : "8×8 windows"
line(k) = 2; dotted(k) = 1.5; dot(k) = 0.5
names = 15; spread = 0.058; cross = 1
guides = "linear loglinear square"
above = "eq10/naive"; below = "eq7/naive"


ahead(other) = system(cut("ahead", "msa/fast")." other=".other)
layer = "C = 96, 6 heads, D = 16, batch 1"
remarks = time ? crossed."Self-attention is faster than Eq. 10 by FFT ".\
        ahead("eq10/fast").", Eq. 7 ".ahead("eq7/fast")."." : \
    memory ? "Self-attention never holds N×N here, and runs with windows on one line.  The FFT forms hold spectra." : \
    beyond
