# A neighbour off the grid adds 1e-17 of what stands there to its logit, and not nothing.
# in fast/elsa/elsa.c, seen by elsa
s/lanes_pick(mask\[v\], lanes_load_anywhere(from + v \* LANES), (lanes){0})/lanes_pick(mask[v], lanes_load_anywhere(from + v * LANES), lanes_load_anywhere(from + v * LANES) * (real)1e-17)/
