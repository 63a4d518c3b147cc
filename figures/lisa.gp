# lisa.gp -- LiSA and self-attention against the number of tokens
#
#     gnuplot -e "here='figures'; data='lisa.tsv'; column='median_seconds'; out='lisa.svg'" lisa.gp
#
# column is median_seconds, peak_bytes or multiply_adds: three figures of one
# table, the like of the paper's Fig. 4b, 4c and 4a.  Dotted lines are estimates
# (series.awk), as they are in the paper.

load here."/style.gp"
set terminal svg size 720,490 font font.",15" background "#ffffff" linewidth 1
set output out
set datafile separator "\t"

keys = "eq7/naive eq10/naive eq7/fast eq10/fast msa/fast window/fast"
colour(k) = k eq "eq7/naive" ? vermilion : k eq "eq10/naive" ? orange : k eq "eq7/fast" ? purple : \
            k eq "eq10/fast" ? blue : k eq "msa/fast" ? black : green
text(k) = k eq "eq7/naive" ? "LiSA Eq. 7, naive" : k eq "eq10/naive" ? "LiSA Eq. 10, naive" : k eq "eq7/fast" ? "LiSA Eq. 7, FFT" : \
          k eq "eq10/fast" ? "LiSA Eq. 10, FFT" : k eq "msa/fast" ? "self-attention" : "8×8 windows"
label = ""
do for [k in keys] { label = label.sprintf("%s|%s|%d;", k, text(k), colour(k)) }

gap = 0
cut(want, key) = sprintf("awk -f '%s/series.awk' -v want=%s -v key=%s -v column=%s -v gap=%g -v label='%s' '%s'", \
                         here, want, key, column, gap, label, data)

time = column eq "median_seconds"; memory = column eq "peak_bytes"; work = column eq "multiply_adds"
largest = real(system(cut("sizes", "all"))); top = real(system(cut("top", "all")))

set logscale xy
set xrange [50:largest*1.12]
set xtics ("64" 64, "256" 256, "1 024" 1024, "4 096" 4096, "16 384" 16384, "65 536" 65536)
set xlabel "tokens N, on square grids" offset 0,0.3 textcolor rgb ink
set lmargin at screen 0.115
set rmargin at screen 0.715
set bmargin at screen 0.235
set tmargin at screen 0.895

if (time) {
    heading = "Time of one layer"; low = 1e-5
    set ytics ("10 µs" 1e-5, "100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1, "1 s" 1, "10 s" 10, "2 min" 120, "1 h" 3600, "1 day" 86400)
}
if (memory) {
    heading = "Memory of one layer, beside input, output and parameters"; low = 2.0**13
    set ytics ("64 KiB" 2**16, "1 MiB" 2**20, "16 MiB" 2**24, "256 MiB" 2**28, "4 GiB" 2.0**32, "64 GiB" 2.0**36, "1 TiB" 2.0**40, "16 TiB" 2.0**44)
}
if (work) {
    heading = "Multiply-adds of one layer, by formula"; low = 1e6
    set ytics format "10^{%T}"; unset mytics
}
set yrange [low:top*4]
gap = 0.058 * log10(top * 4 / low)
set label 1 heading at graph -0.02,1.07 left font font.",17" textcolor rgb ink
set label 2 "C = 96, 6 heads, D = 16, batch 1, one thread, float.  ".remark("machine") \
    at screen 0.02,0.075 left font font.",12" textcolor rgb faint

ahead(of) = system(cut("ahead", "msa/fast")." other=".of)
if (time) { remarks = "Crosses were not run.  Self-attention is faster than Eq. 10 by FFT ".ahead("eq10/fast").", Eq. 7 ".ahead("eq7/fast")."." }
if (memory) { remarks = "Self-attention never holds N×N here; the FFT forms hold the spectra of their kernels." }
if (work) { remarks = "Dotted: the same formula beyond what was run." }
set label 6 remarks at screen 0.02,0.033 left font font.",12" textcolor rgb faint

# Guides fan out in the empty corner below all lines.
x0 = largest / 16; y0 = low * 1.6
fan(x) = x >= x0 ? y0 * x / x0 : NaN
fan_log(x) = x >= x0 ? y0 * x * log(x) / (x0 * log(x0)) : NaN
fan_square(x) = x >= x0 && x <= 4 * x0 ? y0 * (x / x0)**2 : NaN
set label 3 "N" at largest*1.05,fan(largest) left offset 0.3,-0.2 font font.",12" textcolor rgb faint
set label 4 "N log N" at largest*1.05,fan_log(largest) left offset 0.3,0.45 font font.",12" textcolor rgb faint
set label 5 "N^2" at 4*x0,fan_square(4 * x0) left offset 0.3,0.4 font font.",12" textcolor rgb faint

# What a naive form could not do stands beside its cross: above Eq. 10, below Eq. 7.
plot \
    fan(x) linecolor rgb faint dashtype 2, fan_log(x) linecolor rgb faint dashtype 2, fan_square(x) linecolor rgb faint dashtype 2, \
    for [k in keys] "< ".cut("estimate", k) using 1:2 with lines linecolor rgb colour(k) linewidth 1.5 dashtype 3, \
    for [k in keys] "< ".cut("points", k) using 1:2 with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.5, \
    for [k in keys] "< ".cut("stop", k) using 1:2 with points linecolor rgb colour(k) linewidth 2.5 pointtype 2 pointsize 1, \
    "< ".cut("stop", "eq10/naive") using 1:2:3 with labels right offset -1,0.5 font font.",12" textcolor rgb orange, \
    "< ".cut("stop", "eq7/naive") using 1:2:3 with labels left offset 1,-0.5 font font.",12" textcolor rgb vermilion, \
    "< ".cut("ends", "all") using 1:2:3:4 with labels left offset 0.8,0 textcolor rgb variable
