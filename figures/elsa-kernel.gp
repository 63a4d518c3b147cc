# elsa-kernel.gp -- time and memory against the size of the neighbourhood
#
#     gnuplot -e "here='figures'; data='elsa-kernel.tsv'; out='elsa-kernel.svg'" elsa-kernel.gp
#
# Series of the table are K=n; a panel is a column.

load here."/style.gp"
eval sheet(720, 420, 14)

forms = "naive fast"
colour(f) = f eq "naive" ? orange : blue
name(f) = f eq "naive" ? "unfolded" : "not unfolded"
rows(f, column) = awk(sprintf("$(at[\"form\"]) == \"%s\" { print substr($1, 3) \"\t\" $(at[\"%s\"]) }", f, column))

times(f) = awk(sprintf("$(at[\"form\"]) == \"%s\" { print substr($1, 3) \"\t\" $(at[\"median_seconds\"]) \"\t\" ".\
    "$(at[\"q1_seconds\"]) \"\t\" $(at[\"q3_seconds\"]) }", f))

set logscale y
set xrange [0:12]
set xtics (1, 3, 5, 7, 9, 11)
set bmargin at screen 0.24
set tmargin at screen 0.85
eval title("One layer, 28×28 tokens, 96 channels, 3 heads, with a ghost head", "screen 0.02,0.945")
eval foot(2, "One thread, float.  Bars: quartiles.", 1)
eval measured(6, 0)
set xlabel "K" offset 0,0.3 textcolor rgb ink

set multiplot
set lmargin at screen 0.10; set rmargin at screen 0.40
set label 3 "time" at graph 0,1.06 left textcolor rgb ink
set yrange [*:*]
set ytics ("10 µs" 1e-5, "100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1, "1 s" 1, "10 s" 10)
plot for [f in forms] "< ".times(f) using 1:2:3:4 with yerrorlines linecolor rgb colour(f) linewidth 2 pointtype 7 pointsize 0.5
eval once
set lmargin at screen 0.53; set rmargin at screen 0.83
set label 3 "memory beside input and output"
set ytics ("1 MiB" 2**20, "4 MiB" 2**22, "16 MiB" 2**24, "64 MiB" 2**26, "256 MiB" 2**28)
plot for [f in forms] "< ".rows(f, "peak_bytes") using 1:2 with linespoints linecolor rgb colour(f) linewidth 2 pointtype 7 pointsize 0.5, \
     for [f in forms] "< ".rows(f, "peak_bytes")." | tail -n 1" using 1:2:(name(f)) with labels left offset 0.9,0 textcolor rgb written(colour(f))
unset multiplot
