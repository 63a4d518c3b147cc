# hilo-alias.gp -- what the mean of a window does to waves
#
#     gnuplot -e "here='figures'; data='hilo-alias.tsv'; out='hilo-alias.svg'" hilo-alias.gp
#
# Indices of hilo-alias.c; nothing here is measured.

load here."/style.gp"
eval sheet(760, 340, 15)

set multiplot
eval title("The mean of two tokens lets fine waves through as coarser ones", "screen 0.02,0.93")
eval foot(2, "14 tokens in a row, windows of 2.  Seven means hold waves of 3 periods at most.  By formula", 0)

set lmargin at screen 0.07; set rmargin at screen 0.52
set tmargin at screen 0.74; set bmargin at screen 0.27
set xrange [-0.5:13.5]
set yrange [-1.1:1.1]
set xtics 0,2,12
set ytics -1,1,1
set xlabel "token" offset 0,0.4 textcolor rgb ink
set label 3 "5 periods" at graph 0,1.09 left textcolor rgb written(sky)
set label 4 "their means: 2 periods" at graph 1,1.09 right textcolor rgb written(vermilion)
two(x) = 0.4339 * cos(2 * pi * 2 * (x - 0.5) / 14 - 5 * pi / 14)
plot cos(2 * pi * 5 * x / 14) with lines linecolor rgb sky linewidth 1, \
     two(x) with lines linecolor rgb vermilion linewidth 1.4 dashtype 2, \
     data index "tokens" using 1:2 with points pointtype 7 pointsize 0.6 linecolor rgb sky, \
     data index "windows" using 1:2 with points pointtype 7 pointsize 1.0 linecolor rgb vermilion
unset label 1; unset label 2; unset label 3; unset label 4

set lmargin at screen 0.62; set rmargin at screen 0.97
set xrange [-0.3:7.5]
set yrange [0:1.1]
set xtics 0,1,7
set ytics 0,0.5,1
set xlabel "periods of the wave" offset 0,0.4
set label 3 "amplitude left, and periods" at graph 0,1.09 left textcolor rgb ink
set arrow 1 from 3.5,0 to 3.5,1.05 nohead linecolor rgb faint dashtype 2
plot data index "means" using 1:($1 < 3.5 ? $2 : NaN) with impulses linecolor rgb blue linewidth 6, \
     data index "means" using 1:($1 > 3.5 ? $2 : NaN) with impulses linecolor rgb vermilion linewidth 6, \
     data index "means" using 1:2:(sprintf("%.2f as %d", $2, $3)) every ::4::6 with labels left \
         offset -1.2,0.8 font font.",12" textcolor rgb written(vermilion)
unset multiplot
