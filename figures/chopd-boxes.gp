# chopd-boxes.gp -- time of pooling against the size of the box
#
#     gnuplot -e "here='figures'; data='chopd-boxes.tsv'; out='chopd-boxes.svg'" chopd-boxes.gp

load here."/style.gp"
eval sheet(720, 490, 15)

keys = "direct axes whole fractional"
colour(k) = k eq "direct" ? vermilion : k eq "axes" ? orange : k eq "whole" ? blue : sky
name(k) = k eq "direct" ? "loops, w^2" : k eq "axes" ? "loops by axes, w" : k eq "whole" ? "sums, whole tokens" : "sums, edges in tokens"

set logscale xy
set xrange [0.9:130]
set xtics ("1×1" 1, "3×3" 3, "7×7" 7, "15×15" 15, "31×31" 31)
set xlabel "box of w×w tokens" offset 0,0.3 textcolor rgb ink
set yrange [3e-5:*]
set ytics ("10 µs" 1e-5, "100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1)
set lmargin at screen 0.105
set rmargin at screen 0.71
set bmargin at screen 0.275
set tmargin at screen 0.885

# Data of before there were quartiles has none.
bars = int(system(awk("{ print (NF > 5); exit }")))
eval title("Time of the means over one box a channel", "graph -0.02,1.07")
eval foot(2, "96 planes of 56×56 tokens, one thread, float.".(bars ? "  Bars: quartiles." : ""), 2)
eval measured(6, 0)
eval foot(3, "Loops leave out what lies off the grid, so they grow more slowly once boxes are as large as it is.", 1)
set label 4 "the grid" at 56,graph 0.03 right offset -0.5,0 font font.",12" textcolor rgb faint
set arrow 1 from 56,graph 0 to 56,graph 1 nohead back linecolor rgb faint linewidth 1 dashtype 3

plot for [k in bars ? keys : ""] "< ".series(k) using 2:3:5:6 with yerrorbars linecolor rgb colour(k) linewidth 1 pointtype 0, \
     for [k in keys] "< ".series(k) using 2:3 with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.5, \
     for [k in keys] "< ".series(k)." | tail -n 1" using 2:3:(name(k)) with labels left offset 0.9,(k eq "fractional" ? 0.35 : k eq "whole" ? -0.35 : 0) textcolor rgb written(colour(k))
