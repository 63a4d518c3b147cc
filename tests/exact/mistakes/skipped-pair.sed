# A pair of query and key is skipped where its weight is below 2^-60.
# in fast/attention.c, seen by msa
s/^            s\[n\] = exp2_lanes(s\[n\] - top);/            s[n] = lanes_pick(s[n] - top > (lanes){0} - 60, exp2_lanes(s[n] - top), (lanes){0});/
