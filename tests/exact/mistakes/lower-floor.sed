# The length of a vector is held above 1e-13, and not above 1e-12.
# in reference/steps.c, seen by lisa
s/floor_norm = (real)1e-12/floor_norm = (real)1e-13/
