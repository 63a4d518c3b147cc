# 1e-17 is added to the sum of weights, as if no sum should be zero.
# in fast/hilo/window_attention.c, seen by hilo
s/lanes share = 1 \/ sum;/lanes share = 1 \/ (sum + (real)1e-17);/
