# The summand of a ghost head is left out where it is below 1e-18.
# in fast/ghosted.c, seen by msa
s/sum\[q\] += (f\[n\] \* w\[q \* w_stride + k\] + s\[n\]) \* v\[k\];/sum[q] += (f[n] * w[q * w_stride + k] + lanes_pick(s[n] > (lanes){0} + (real)1e-18, s[n], lanes_pick((lanes){0} - (real)1e-18 > s[n], s[n], (lanes){0}))) * v[k];/
