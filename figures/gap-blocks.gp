# gap-blocks.gp -- LiSA's Fig. 4 by our fast forms: its part of scaling.gp
#
# A block of 96 channels: self-attention, windows of a quarter of the tokens, keys and
# values pooled by 2 x 2, LiSA.

keys = "msa/fast quarter/fast pooled/fast lisa/fast"
colour(k) = k eq "msa/fast" ? black : k eq "quarter/fast" ? orange : k eq "pooled/fast" ? green : blue
text(k) = k eq "msa/fast" ? "self-attention" : k eq "quarter/fast" ? "windows of N/4" : \
          k eq "pooled/fast" ? "keys pooled 2×2" : "LiSA"
line(k) = 2; dotted(k) = 1.5; dot(k) = 0.5
names = 15; spread = 0.06
guides = work || memory ? "" : "linear loglinear square"

first(k, other) = system(cut("ahead", k)." other=".other)
heading = "LiSA’s Fig. 4".(work ? "a by our forms: multiply-adds of one layer" : time ? "b by our forms: time of one layer" : "c by our forms: memory of one layer")
layer = "C = 96, 6 heads, D = 16 in LiSA, batch 1, fast forms"
remarks = memory ? "No fast form holds a map, so that nothing here is quadratic." : \
    "Windows of N/4 tokens cost less than LiSA ".first("quarter/fast", "lisa/fast").", pooled keys ".first("pooled/fast", "lisa/fast")."."
