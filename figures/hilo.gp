# hilo.gp -- HiLo's forms and what it is measured against, against the number of tokens
#
#     gnuplot -e "here='figures'; data='hilo.tsv'; column='median_seconds'; out='hilo.svg'" hilo.gp
#
# column is median_seconds or peak_bytes: two figures of one table.  Dotted
# lines are estimates (series.awk).

load here."/style.gp"
set terminal svg size 720,490 font font.",15" background "#ffffff" linewidth 1
set output out
set datafile separator "\t"

keys = "s2/naive msa/fast window/fast sra/fast s2/fast s4/fast"
colour(k) = k eq "s2/naive" ? vermilion : k eq "msa/fast" ? black : k eq "window/fast" ? orange : k eq "sra/fast" ? green : k eq "s2/fast" ? blue : sky
weight(k) = k eq "s2/fast" ? 2 : 1
text(k) = k eq "s2/naive" ? "as N×N, s = 2" : k eq "msa/fast" ? "self-attention" : k eq "window/fast" ? "7×7 windows" : k eq "sra/fast" ? "SRA" : "HiLo, s = ".k[2:2]
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
set rmargin at screen 0.705
set bmargin at screen 0.235
set tmargin at screen 0.895

if (time) {
    heading = "Time of one layer"; low = 5e-4
    set ytics ("1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1, "1 s" 1, "10 s" 10, "2 min" 120)
}
if (memory) {
    heading = "Memory of one layer, beside input, output and parameters"; low = 2.0**21
    set ytics ("1 MiB" 2**20, "4 MiB" 2**22, "16 MiB" 2**24, "64 MiB" 2**26, "256 MiB" 2**28, "1 GiB" 2.0**30, "4 GiB" 2.0**32)
}
set yrange [low:top*2]
gap = 0.055 * log10(top * 2 / low)
set label 1 heading at graph -0.02,1.07 left font font.",17" textcolor rgb ink
set label 2 "384 channels, 12 heads, α = 0.9, batch 1, one thread, float.  ".remark("machine") \
    at screen 0.02,0.075 left font font.",12" textcolor rgb faint
remarks = time ? "Dotted: estimated; crosses were not run." : "Dotted: by formula, beyond what was run."
set label 3 remarks at screen 0.02,0.033 left font font.",12" textcolor rgb faint

plot \
    for [k in keys] "< ".cut("estimate", k) using 1:2 with lines linecolor rgb colour(k) linewidth 0.6+0.5*weight(k) dashtype 3, \
    for [k in keys] "< ".cut("points", k) using 1:2 with linespoints linecolor rgb colour(k) linewidth 0.6+0.8*weight(k) pointtype 7 pointsize 0.25+0.1*weight(k), \
    for [k in keys] "< ".cut("stop", k) using 1:2 with points linecolor rgb colour(k) linewidth 2 pointtype 2 pointsize 0.8, \
    "< ".cut("ends", "all") using 1:2:3:4 with labels left offset 0.8,0 font font.",13" textcolor rgb variable
