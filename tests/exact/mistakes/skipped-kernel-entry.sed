# An entry of a local kernel is skipped where it weighs less than 1e-18.
# in fast/lisa/local.c, seen by lisa
s/if (token\[m\] == OFF_GRID) continue;/if (token[m] == OFF_GRID || (mixed[m] < (real)1e-18 \&\& mixed[m] > -(real)1e-18)) continue;/
