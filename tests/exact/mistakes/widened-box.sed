# The area of a box is larger by 1e-16 than it is.
# in fast/chopd/box_pool.c, seen by chopd
s/(real)((wide_real)mix\[b\] \/ area)/(real)((wide_real)mix[b] \/ (area + (wide_real)1e-16))/
