# The mirror image of a spectrum is its conjugate but for one part in 10^16.
# in fast/lisa/lane_grid.c, seen by lisa
s/return (point){a.re, -a.im};/return (point){a.re, a.im * (real)1e-16 - a.im};/
