# chopd.gp -- dense layers and layers in factors against the number of tokens
#
#     gnuplot -e "here='figures'; data='chopd.tsv'; column='median_seconds'; out='chopd.svg'" chopd.gp
#
# column is median_seconds, peak_bytes or multiply_adds: three figures of one
# table.  Dotted lines are estimates (series.awk).

load here."/style.gp"
set terminal svg size 720,490 font font.",15" background "#ffffff" linewidth 1
set output out
set datafile separator "\t"

keys = "dfc/naive chopd/naive dfc/fast chopd/fast"
colour(k) = k eq "dfc/naive" ? vermilion : k eq "chopd/naive" ? orange : k eq "dfc/fast" ? black : blue
weight(k) = k eq "dfc/naive" ? 4 : 2         # the one below the other shows
text(k) = k eq "dfc/naive" ? "DFC, dense" : k eq "chopd/naive" ? "ChoP'D, dense" : k eq "dfc/fast" ? "CP factors" : "ChoP'D"
label = ""
do for [k in keys] { label = label.sprintf("%s|%s|%d;", k, text(k), colour(k)) }
gap = 0
cut(want, key) = sprintf("awk -f '%s/series.awk' -v want=%s -v key=%s -v column=%s -v gap=%g -v label=\"%s\" '%s'", \
                         here, want, key, column, gap, label, data)

time = column eq "median_seconds"; memory = column eq "peak_bytes"; work = column eq "multiply_adds"
largest = real(system(cut("sizes", "all"))); top = real(system(cut("top", "all")))

set logscale xy
set xrange [13:largest*1.12]
set xtics ("16" 16, "64" 64, "196" 196, "784" 784, "3 136" 3136, "12 544" 12544)
set xlabel "tokens N, on square grids" offset 0,0.3 textcolor rgb ink
set lmargin at screen 0.115
set rmargin at screen 0.715
set bmargin at screen 0.235
set tmargin at screen 0.895

if (time) {
    heading = "Time of one layer"; low = 2e-6
    set ytics ("10 µs" 1e-5, "100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1, "1 s" 1, "10 s" 10, "2 min" 120, "1 h" 3600, "1 day" 86400)
}
if (memory) {
    heading = "Memory of one layer, beside input, output and parameters"; low = 2.0**11
    set ytics ("4 KiB" 2**12, "64 KiB" 2**16, "1 MiB" 2**20, "16 MiB" 2**24, "256 MiB" 2**28, "4 GiB" 2.0**32, "64 GiB" 2.0**36, "1 TiB" 2.0**40)
}
if (work) {
    heading = "Multiply-adds of one layer, by formula"; low = 1e5
    set ytics format "10^{%T}"; unset mytics
}
set yrange [low:top*4]
gap = 0.058 * log10(top * 4 / low)
set label 1 heading at graph -0.02,1.07 left font font.",17" textcolor rgb ink
set label 2 "C = D = R = 96, G = 4, gate of 7×7 and S = 24, batch 1".(column eq "multiply_adds" ? "" : ", one thread, float.  ".remark("machine")) \
    at screen 0.02,0.075 left font font.",12" textcolor rgb faint
remarks = time ? "Crosses were not run.  Dense forms compute W_{imncd}, then apply it.  ChoP'D pays its gate, the same for every N." : \
    memory ? "Dense forms hold W_{imncd}: N^2 C D numbers.  Dotted: by formula, beyond what was run." : \
    "Dense: W_{imncd} from its factors, then applied.  Dotted: the same formula beyond what was run."
set label 3 remarks at screen 0.02,0.033 left font font.",12" textcolor rgb faint

plot \
    for [k in keys] "< ".cut("estimate", k) using 1:2 with lines linecolor rgb colour(k) linewidth 0.75*weight(k) dashtype 3, \
    for [k in keys] "< ".cut("points", k) using 1:2 with linespoints linecolor rgb colour(k) linewidth weight(k) pointtype 7 pointsize 0.5, \
    for [k in keys] "< ".cut("stop", k) using 1:2 with points linecolor rgb colour(k) linewidth 2.5 pointtype 2 pointsize 1, \
    "< ".cut("ends", "all") using 1:2:3:4 with labels left offset 0.8,0 font font.",13" textcolor rgb variable
