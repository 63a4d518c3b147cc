# The number below the root of LayerNorm is right to twelve digits.
# in fast/hilo/sra.c, seen by sra
s/C, SRA_EPSILON);/C, SRA_EPSILON * (1 + 1e-12));/
