# elsa.gp -- ELSA's forms and attention in windows against the number of tokens
#
#     gnuplot -e "here='figures'; data='elsa.tsv'; column='median_seconds'; out='elsa.svg'" elsa.gp
#
# column is median_seconds or peak_bytes: two figures of one table.  Dotted
# lines are estimates (series.awk).

load here."/style.gp"
set terminal svg size 720,490 font font.",15" background "#ffffff" linewidth 1
set output out
set datafile separator "\t"

keys = "dense/naive k7/naive k3/naive k7/fast k3/fast window/fast"
colour(k) = k eq "dense/naive" ? vermilion : k eq "k7/naive" ? orange : k eq "k3/naive" ? orange : k eq "k7/fast" ? blue : k eq "k3/fast" ? sky : black
weight(k) = k[1:2] eq "k3" ? 1 : 2
text(k) = k eq "dense/naive" ? "N×N (Eq. 4), K = 7" : k eq "window/fast" ? "7×7 windows" : (k[4:4] eq "n" ? "unfolded" : "not unfolded").", K = ".k[2:2]
time = column eq "median_seconds"; memory = column eq "peak_bytes"
label = ""
do for [k in keys] { label = label.sprintf("%s|%s|%d;", k, text(k), colour(k)) }
gap = 0
cut(want, key) = sprintf("awk -f '%s/series.awk' -v want=%s -v key=%s -v column=%s -v gap=%g -v label='%s' '%s'", \
                         here, want, key, column, gap, label, data)
largest = real(system(cut("sizes", "all"))); top = real(system(cut("top", "all")))

set logscale xy
set xrange [180:largest*1.08]
set xtics ("196" 196, "784" 784, "3 136" 3136, "12 544" 12544)
set xlabel "tokens N, on square grids" offset 0,0.3 textcolor rgb ink
set lmargin at screen 0.115
set rmargin at screen 0.715
set bmargin at screen 0.235
set tmargin at screen 0.895

if (time) {
    heading = "Time of one layer"; low = 5e-5
    set ytics ("100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1, "1 s" 1, "10 s" 10, "2 min" 120, "1 h" 3600, "1 day" 86400)
}
if (memory) {
    heading = "Memory of one layer, beside input, output and parameters"; low = 2.0**18
    set ytics ("256 KiB" 2**18, "1 MiB" 2**20, "16 MiB" 2**24, "256 MiB" 2**28, "4 GiB" 2.0**32, "64 GiB" 2.0**36, "1 TiB" 2.0**40)
}
set yrange [low:top*3]
gap = 0.055 * log10(top * 3 / low)
set label 1 heading at graph -0.02,1.07 left font font.",17" textcolor rgb ink
set label 2 "C = 96, 3 heads, with a ghost head, batch 1, one thread, float.  ".remark("machine") \
    at screen 0.02,0.075 left font font.",12" textcolor rgb faint
remarks = time ? "Crosses were not run.  Thin lines: K = 3." : "Dotted: by formula, beyond what was run.  Thin lines: K = 3."
set label 3 remarks at screen 0.02,0.033 left font font.",12" textcolor rgb faint

plot \
    for [k in keys] "< ".cut("estimate", k) using 1:2 with lines linecolor rgb colour(k) linewidth 0.6+0.5*weight(k) dashtype 3, \
    for [k in keys] "< ".cut("points", k) using 1:2 with linespoints linecolor rgb colour(k) linewidth 0.4+0.8*weight(k) pointtype 7 pointsize 0.25+0.1*weight(k), \
    for [k in keys] "< ".cut("stop", k) using 1:2 with points linecolor rgb colour(k) linewidth 2 pointtype 2 pointsize 0.8, \
    "< ".cut("ends", "all") using 1:2:3:4 with labels left offset 0.8,0 font font.",13" textcolor rgb variable
