# A kernel's spectrum is divided by a number of points that is off by one part in 10^16.
# in fast/lisa/fftw.c, seen by lisa
s/real share_of_one = 1 \/ (real)circle->points;/real share_of_one = 1 \/ (real)circle->points + (real)1e-18;/
