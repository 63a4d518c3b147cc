# lisa-error.gp -- the rounding error of LiSA's forms
#
#     gnuplot -e "here='figures'; data='lisa-error.tsv'; out='lisa-error.svg'" lisa-error.gp

load here."/style.gp"
eval sheet(720, 475, 15)

keys = "eq7/naive eq10/naive eq7/fast eq10/fast"
colour(k) = k eq "eq7/naive" ? vermilion : k eq "eq10/naive" ? orange : k eq "eq7/fast" ? purple : blue
text(k) = k eq "eq7/naive" ? "Eq. 7, naive" : k eq "eq10/naive" ? "Eq. 10, naive" : k eq "eq7/fast" ? "Eq. 7, FFT" : "Eq. 10, FFT"
of(k, precision) = k[1:strstrt(k, "/") - 1]."-".precision.k[strstrt(k, "/"):]
column = "error_in_u"; gap = 0.13
do for [k in keys] { label = label.sprintf("%s|%s|%d;", of(k, "float"), text(k), written(colour(k))) }

set logscale xy
largest = real(system(cut("sizes", "all")))
set xrange [50:largest*1.12]
set yrange [1:130]
set xtics ("64" 64, "256" 256, "1 024" 1024, "4 096" 4096, "16 384" 16384, "65 536" 65536)
set ytics (1, 2, 5, 10, 20, 50, 100)
set xlabel "tokens N" offset 0,0.3 textcolor rgb ink
set lmargin at screen 0.075
set rmargin at screen 0.755
set bmargin at screen 0.235
set tmargin at screen 0.885
eval title("Rounding error, in units of u:  rms error / rms output / u", "graph 0,1.07")
eval foot(2, "Filled: float, u = 2^{-24}.  Open: double, u = 2^{-53}.  One head, c = 16, D = 16, real-image tokens.", 1)
eval foot(6, "Dashed: √N, the steeper, and log_2 N.", 0)

plot \
    sqrt(x) linecolor rgb faint dashtype 2, log(x)/log(2) linecolor rgb faint dashtype 2, \
    for [k in keys] "< ".cut("points", of(k, "double")) using 1:2 with linespoints linecolor rgb colour(k) linewidth 1.2 pointtype 6 pointsize 0.7, \
    for [k in keys] "< ".cut("points", of(k, "float")) using 1:2 with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.6, \
    "< ".cut("ends", "all") using 1:2:3:4 with labels left offset 0.8,0 textcolor rgb variable
