# log2(e) with fifteen digits in place of seventeen.
# in fast/structsa/permuted.c, seen by structsa
s/p->scale \* LOG2_E/p->scale * (real)1.44269504088896/
