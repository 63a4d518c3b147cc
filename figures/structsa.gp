# structsa.gp -- StructSA's forms and self-attention against the number of tokens: its part of scaling.gp
#
# A colour is a form; a line's weight is the number of patterns, D = 1, 4 and 8.

keys = "d8/naive d4/naive d1/naive d8/permuted d4/permuted d1/permuted d8/fast d4/fast d1/fast msa/fast"
form(k) = k[strstrt(k, "/")+1:]
colour(k) = k eq "msa/fast" ? black : form(k) eq "naive" ? vermilion : form(k) eq "permuted" ? green : blue
weight(k) = k[1:2] eq "d1" ? 1 : k[1:2] eq "d8" ? 3 : 2

# By their formulas permuted and tiled form multiply alike: one name for both.
name(k) = form(k) eq "naive" ? "explicit" : work ? "permuted, tiled" : form(k) eq "permuted" ? "permuted" : "tiled"
text(k) = k eq "msa/fast" ? "self-attention" : work && form(k) eq "permuted" ? "" : name(k).", D = ".k[2:2]


layer = "C = 192, 3 heads, windows 3×3, batch 1"
weights = "Thin, medium, thick: D = 1, 4, 8"
remarks = time ? crossed.weights."." : \
    memory ? weights."; the tiled ones meet, and so do the explicit ones.  ".beyond : \
    weights."; permuted with D = 1 costs what self-attention costs.  ".beyond
