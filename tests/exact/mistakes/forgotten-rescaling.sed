# What was gathered is thrown away, and not shrunk, where it would shrink below 2^-60.
# in fast/attention.c, seen by structsa
s/^            lanes shrink = exp2_lanes(g->top\[v\] - top);/            lanes gone = g->top[v] - top, shrink = lanes_pick(gone > (lanes){0} - 60, exp2_lanes(gone), (lanes){0});/
