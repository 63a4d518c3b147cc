# hilo-alpha.gp -- time and multiply-adds against the share of Lo-Fi's heads
#
#     gnuplot -e "here='figures'; data='hilo-alpha.tsv'; out='hilo-alpha.svg'" hilo-alpha.gp
#
# Series of the table are numbers of heads; a panel is a grid, its numbers over those
# of no head at all.

load here."/style.gp"
eval sheet(720, 450, 15)

planes = system(awk("$1 == 0 && !seen[$(at[\"grid\"])]++ { print $(at[\"grid\"]) }"))
if (!words(planes)) { exit status 1 }
rows(plane, c) = awk(sprintf("$(at[\"grid\"]) == \"%s\" { y = $(at[\"%s\"]); if ($1 == 0) none = y; print $1 \"\t\" y / none }", plane, c))
times(plane) = awk(sprintf("$(at[\"grid\"]) == \"%s\" { if ($1 == 0) none = $(at[\"median_seconds\"]); print $1 \"\t\" ".\
    "$(at[\"median_seconds\"]) / none \"\t\" $(at[\"q1_seconds\"]) / none \"\t\" $(at[\"q3_seconds\"]) / none }", plane))
first(plane, c) = real(system(awk(sprintf("$(at[\"grid\"]) == \"%s\" && $1 == 0 { print $(at[\"%s\"]) }", plane, c))))
tokens(plane) = plane[1:2]."×".plane[4:5]." tokens"

set xrange [-0.3:12.6]
set xtics 0,2,12
set yrange [0:*]
set offsets 0, 0, graph 0.12, 0
set ytics 0,0.5,1
set xlabel "heads of Lo-Fi, of 12" offset 0,0.3 textcolor rgb ink
set bmargin at screen 0.27
set tmargin at screen 0.76
eval title("One layer against the share of its heads, over that of windows alone", "screen 0.02,0.945")
eval foot(2, "768 channels, s = 2, batch 1, one thread, float.  Bars: quartiles.", 1)
eval measured(6, 0)
eval write(10, "time", 14, 62, sprintf("left textcolor rgb %d", written(blue)))
eval write(11, "multiply-adds, by formula", 70, 62, sprintf("left textcolor rgb %d", written(orange)))
set arrow 1 from 10,graph 0 to 10,graph 0.94 nohead linecolor rgb faint dashtype 2
set label 5 "α = 0.9" at 9.85,0.12 right font font.",13" textcolor rgb faint

set multiplot
do for [n = 1:words(planes)] {
    plane = word(planes, n)
    set lmargin at screen 0.07 + 0.49*(n-1); set rmargin at screen 0.48 + 0.49*(n-1)
    set label 3 tokens(plane) at graph 0,1.07 left textcolor rgb ink
    set label 4 sprintf("1 is %.3g ms", 1e3 * first(plane, "median_seconds")) at graph 1,1.07 right font font.",12" textcolor rgb faint
    plot "< ".rows(plane, "multiply_adds") using 1:2 with linespoints linecolor rgb orange linewidth 2 pointtype 7 pointsize 0.3, \
         "< ".times(plane) using 1:2:3:4 with yerrorlines linecolor rgb blue linewidth 2 pointtype 7 pointsize 0.4
    eval once
}
unset multiplot
