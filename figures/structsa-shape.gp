# structsa-shape.gp -- time against the patterns, the window and the stride
#
#     gnuplot -e "here='figures'; data='structsa-shape.tsv'; out='structsa-shape.svg'" structsa-shape.gp
#
# Series of the table are D=n, M=nxn and s=n; a panel takes one letter of them.

load here."/style.gp"
eval sheet(720, 410, 14)

forms = "naive permuted fast"
colour(f) = f eq "naive" ? vermilion : f eq "permuted" ? green : blue
name(f) = f eq "naive" ? "explicit" : f eq "permuted" ? "permuted" : "tiled"

# x, seconds and their quartiles of one form: D, |M| or the stride, by the series' name.
rows(letter, f) = awk(sprintf("substr($1, 1, 2) == \"%s=\" && $(at[\"form\"]) == \"%s\" ".\
    "{ axes = split(substr($1, 3), n, \"x\"); print (axes == 2 ? n[1] * n[2] : n[1]) \"\t\" $(at[\"median_seconds\"]) \"\t\" $(at[\"q1_seconds\"]) \"\t\" $(at[\"q3_seconds\"]) }", letter, f))

set logscale xy
column = "median_seconds"
set yrange [real(system(cut("bottom", "all")))/1.5:real(system(cut("top", "all")))*2]
set bmargin at screen 0.26
set tmargin at screen 0.82
eval title("Time of one head, 14×14 tokens, 64 channels", "screen 0.02,0.945")
eval foot(2, "One thread, float.  Bars: quartiles.", 1)
eval measured(6, 0)
do for [n = 1:3] { eval write(10 + n, name(word(forms, n)), 14 + 90 * (n - 1), 56, sprintf("left textcolor rgb %d", written(colour(word(forms, n))))) }

set multiplot
set ytics ("100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1, "1 s" 1)

set lmargin at screen 0.105; set rmargin at screen 0.365
set xrange [0.9:18]; set xtics (1, 2, 4, 8, 16)
set xlabel "patterns D  (windows 3×3)" offset 0,0.3 textcolor rgb ink
plot for [f in forms] "< ".rows("D", f) using 1:2:3:4 with yerrorlines linecolor rgb colour(f) linewidth 1.6 pointtype 7 pointsize 0.5

eval once
set ytics ("" 1e-4, "" 1e-3, "" 1e-2, "" 0.1, "" 1)
set lmargin at screen 0.403; set rmargin at screen 0.663
set xrange [0.9:90]; set xtics ("1" 1, "9" 9, "25" 25, "81" 81)
set xlabel "window |M|  (D = 4)"
plot for [f in forms] "< ".rows("M", f) using 1:2:3:4 with yerrorlines linecolor rgb colour(f) linewidth 1.6 pointtype 7 pointsize 0.5

set lmargin at screen 0.70; set rmargin at screen 0.96
set xrange [0.93:4.3]; set xtics (1, 2, 4)
set xlabel "stride  (3×3, D = 4)"
keys(stride) = sprintf(stride == 1 ? "%d keys" : "%d", ceil(14.0 / stride)**2)
plot for [f in forms] "< ".rows("s", f) using 1:2:3:4 with yerrorlines linecolor rgb colour(f) linewidth 1.6 pointtype 7 pointsize 0.5, \
     "< ".rows("s", "naive") using 1:2:(keys($1)) with labels left offset -0.3,0.9 font font.",12" textcolor rgb faint
unset multiplot
