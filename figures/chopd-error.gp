# chopd-error.gp -- rounding error of a mean over a box against the grid
#
#     gnuplot -e "here='figures'; data='chopd-error.tsv'; out='chopd-error.svg'" chopd-error.gp

load here."/style.gp"
eval sheet(820, 430, 15)

keys = "float double axes"
colour(k) = k eq "float" ? vermilion : k eq "double" ? black : blue
name(k) = k eq "float" ? "integral image" : k eq "double" ? "table in double" : "the fast form"
floor = 2e-9           # where an error of 0 is drawn, below a gap in the axis
points(k, side) = "< ".awk(sprintf("$1 == \"%s\" && $2 == \"%s\" { print $3 \"\t\" ($4 > %g ? $4 : %g) }", k, side, floor, floor))
largest = real(system(awk("$3 + 0 > m { m = $3 + 0 } END { print m }")))
sides = "1 3 9 half"
name_of(side) = side eq "half" ? "half the grid" : side."×".side

set logscale xy
set xrange [6.5:largest*1.3]
set xtics ("8" 8, "32" 32, "128" 128, "512" 512)
set yrange [floor:3e-2]
set bmargin at screen 0.265
set tmargin at screen 0.80
eval title("A mean over a box, in float: relative error", "screen 0.02,0.945")
eval foot(2, "Numbers between 0 and 1; root mean square at 1000 boxes on the grid.  Dashed: u, one rounding.", 0)
set label 3 "side of the grid, in tokens" at screen 0.455,0.125 center textcolor rgb ink

set multiplot
set ytics ("0" floor, "10^{-8}" 1e-8, "10^{-7}" 1e-7, "10^{-6}" 1e-6, "10^{-5}" 1e-5, "10^{-4}" 1e-4, "10^{-3}" 1e-3, "10^{-2}" 1e-2)
left = 0.085; width = 0.178; space = 0.018
do for [s = 1:4] {
    side = word(sides, s)
    set lmargin at screen left + (s - 1) * (width + space)
    set rmargin at screen left + (s - 1) * (width + space) + width
    set label 4 name_of(side) at graph 0.5,1.05 center textcolor rgb ink
    set object 5 rectangle from graph -0.03,first floor*1.9 to graph 0.03,first floor*2.7 front fillcolor rgb 0xffffff fillstyle solid noborder
    u = 2.0**-24
    if (s < 4) {
        plot u with lines linecolor rgb faint dashtype 2, \
             for [k in keys] points(k, side) using 1:2 with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.4
    } else {
        plot u with lines linecolor rgb faint dashtype 2, \
             for [k in keys] points(k, side) using 1:2 with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.4, \
             for [k in keys] points(k, side)." | tail -n 1" using 1:2:(name(k)) with labels left offset 0.7,(k eq "float" ? 0.4 : k eq "axes" ? -0.3 : 0) font font.",13" textcolor rgb written(colour(k))
    }
    eval once; unset label 3
    set ytics ("" floor, "" 1e-8, "" 1e-7, "" 1e-6, "" 1e-5, "" 1e-4, "" 1e-3, "" 1e-2)
}
unset multiplot
