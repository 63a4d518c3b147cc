# ground-error.gp -- the rounding error of self-attention against the keys
#
#     gnuplot -e "here='figures'; data='ground-error.tsv'; out='ground-error.svg'" ground-error.gp

load here."/style.gp"
eval sheet(720, 475, 15)

keys = "float/naive pytorch/plain pytorch/sdpa float/fast"
colour(k) = k eq "float/naive" ? vermilion : k eq "pytorch/plain" ? orange : k eq "pytorch/sdpa" ? purple : blue
text(k) = k eq "float/naive" ? "naive" : k eq "pytorch/plain" ? "PyTorch, plain" : k eq "pytorch/sdpa" ? "PyTorch, SDPA" : "tiled"
column = "error_in_u"; gap = 0.11
do for [k in keys] { label = label.sprintf("%s|%s|%d;", k, text(k), written(colour(k))) }

set logscale xy
largest = real(system(cut("sizes", "all")))
set xrange [50:largest*1.12]
set yrange [3:250]
set xtics ("64" 64, "256" 256, "1 024" 1024, "4 096" 4096, "16 384" 16384, "65 536" 65536)
set ytics (1, 2, 5, 10, 20, 50, 100, 200)
set xlabel "keys N" offset 0,0.3 textcolor rgb ink
set lmargin at screen 0.075
set rmargin at screen 0.755
set bmargin at screen 0.235
set tmargin at screen 0.885
torch = system("sed -n 's/^# \\(PyTorch [0-9.]*\\).*/\\1/p' '".data."'")
eval title("Rounding error, in units of u:  rms error / rms output / u", "graph 0,1.07")
eval foot(2, "Filled: float, u = 2^{-24}.  Open: our forms in double, u = 2^{-53}.  96 queries, 64 channels, normal numbers.", 1)
eval foot(6, "Dashed: √N.  ".(strlen(torch) ? torch." in float, one thread." : ""), 0)

plot \
    sqrt(x) * 0.4 linecolor rgb faint dashtype 2, \
    for [k in "naive fast"] "< ".cut("points", "double/".k) using 1:2 with linespoints linecolor rgb colour("float/".k) linewidth 1.2 pointtype 6 pointsize 0.7, \
    for [k in keys] "< ".cut("points", k) using 1:2 with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.6, \
    "< ".cut("ends", "all") using 1:2:3:4 with labels left offset 0.8,0 textcolor rgb variable
