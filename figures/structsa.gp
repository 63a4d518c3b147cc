# structsa.gp -- StructSA's forms and self-attention against the number of tokens
#
#     gnuplot -e "here='figures'; data='structsa.tsv'; column='median_seconds'; out='structsa.svg'" structsa.gp
#
# column is median_seconds, peak_bytes or multiply_adds: three figures of one
# table.  A colour is a form; a line's weight is the number of patterns, D = 1, 4
# and 8.  Dotted lines are estimates (series.awk).

load here."/style.gp"
set terminal svg size 720,490 font font.",15" background "#ffffff" linewidth 1
set output out
set datafile separator "\t"

keys = "d8/naive d4/naive d1/naive d8/permuted d4/permuted d1/permuted d8/fast d4/fast d1/fast msa/fast"
form(k) = k[strstrt(k, "/")+1:]
colour(k) = k eq "msa/fast" ? black : form(k) eq "naive" ? vermilion : form(k) eq "permuted" ? green : blue
weight(k) = k[1:2] eq "d1" ? 1 : k[1:2] eq "d8" ? 3 : 2
name(k) = form(k) eq "naive" ? "explicit" : form(k) eq "permuted" ? "permuted" : "tiled"
text(k) = k eq "msa/fast" ? "self-attention" : name(k).", D = ".k[2:2]

time = column eq "median_seconds"; memory = column eq "peak_bytes"; work = column eq "multiply_adds"

# By their formulas permuted and tiled form multiply alike.
label = ""
do for [k in keys] {
    if (!(work && form(k) eq "permuted")) {
        label = label.sprintf("%s|%s|%d;", k, work && form(k) eq "fast" && k ne "msa/fast" ? "permuted, tiled, D = ".k[2:2] : text(k), colour(k))
    }
}
gap = 0
cut(want, key) = sprintf("awk -f '%s/series.awk' -v want=%s -v key=%s -v column=%s -v gap=%g -v label='%s' '%s'", \
                         here, want, key, column, gap, label, data)
largest = real(system(cut("sizes", "all"))); top = real(system(cut("top", "all")))

set logscale xy
set xrange [56:largest*1.08]
set xtics ("64" 64, "256" 256, "784" 784, "2 304" 2304, "9 216" 9216)
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
    heading = "Memory of one layer, beside input, output and parameters"; low = 2.0**17
    set ytics ("256 KiB" 2**18, "1 MiB" 2**20, "16 MiB" 2**24, "256 MiB" 2**28, "4 GiB" 2.0**32, "64 GiB" 2.0**36, "1 TiB" 2.0**40)
}
if (work) {
    heading = "Multiply-adds of one layer, by formula"; low = 4e6
    set ytics format "10^{%T}"; unset mytics
}
set yrange [low:top*3]
gap = 0.055 * log10(top * 3 / low)
set label 1 heading at graph -0.02,1.07 left font font.",17" textcolor rgb ink
set label 2 "C = 192, 3 heads, windows 3×3, batch 1, one thread, float.  ".remark("machine") \
    at screen 0.02,0.075 left font font.",12" textcolor rgb faint
if (time) { remarks = "Crosses were not run.  Thin, medium and thick lines: D = 1, 4 and 8." }
if (memory) { remarks = "Thin, medium and thick lines: D = 1, 4 and 8; for the tiled form they meet.  Dotted: by formula." }
if (work) { remarks = "Thin, medium and thick lines: D = 1, 4 and 8.  Permuted and tiled form share a formula." }
set label 3 remarks at screen 0.02,0.033 left font font.",12" textcolor rgb faint

plot \
    for [k in keys] "< ".cut("estimate", k) using 1:2 with lines linecolor rgb colour(k) linewidth 0.6+0.5*weight(k) dashtype 3, \
    for [k in keys] "< ".cut("points", k) using 1:2 with linespoints linecolor rgb colour(k) linewidth 0.4+0.8*weight(k) pointtype 7 pointsize 0.25+0.1*weight(k), \
    for [k in keys] "< ".cut("stop", k) using 1:2 with points linecolor rgb colour(k) linewidth 2 pointtype 2 pointsize 0.8, \
    "< ".cut("ends", "all") using 1:2:3:4 with labels left offset 0.8,0 font font.",13" textcolor rgb variable
