# lisa.gp -- LiSA and self-attention against the number of tokens
#
#     gnuplot -e "data='lisa.tsv'; column='median_seconds'; out='lisa.svg'" lisa.gp
#
# column is median_seconds, peak_bytes or multiply_adds: three figures of one
# table, the like of the paper's Fig. 4b, 4c and 4a.

load here."/style.gp"
set terminal svg size 760,500 font font.",15" background "#ffffff" linewidth 1
set output out

time = column eq "median_seconds"; memory = column eq "peak_bytes"; work = column eq "multiply_adds"

# key | label | colour | point type
table = sprintf("eq7/naive|LiSA Eq. 7, naive|%d|7;eq10/naive|LiSA Eq. 10, naive|%d|5;eq7/fast|LiSA Eq. 7, FFT|%d|7;eq10/fast|LiSA Eq. 10, FFT|%d|5;msa/fast|self-attention|%d|9;window/fast|8×8 windows|%d|13", \
                vermilion, orange, purple, blue, black, green)
cut(want, key) = sprintf("< awk -f '%s/series.awk' -v want=%s -v key=%s -v column=%s -v gap=%g -v table='%s' '%s'", \
                         here, want, key, column, gap, table, data)
colour(key) = int(system(sprintf("printf '%%s' '%s' | tr ';' '\\n' | sed -n 's:^%s|[^|]*|\\([0-9]*\\)|.*:\\1:p'", table, key)))
keys = "eq7/naive eq10/naive eq7/fast eq10/fast msa/fast window/fast"

set logscale xy
set datafile separator "\t"
set xrange [50:65536*1.12]
set xtics ("64" 64, "256" 256, "1 024" 1024, "4 096" 4096, "16 384" 16384, "65 536" 65536)
set xlabel "tokens N (square grids, 8×8 to 256×256)" offset 0,0.3 textcolor rgb ink
set lmargin at screen 0.115
set rmargin at screen 0.735
set bmargin at screen 0.2
set tmargin at screen 0.895

if (time) {
    heading = "Seconds of one layer"
    low = 1e-5; set yrange [low:300]; gap = 0.4
    set ytics ("10 µs" 1e-5, "100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1, "1 s" 1, "10 s" 10, "100 s" 100)
}
if (memory) {
    heading = "Memory beside input, output and parameters"
    low = 2.0**15; set yrange [low:2.0**35]; gap = 0.36
    set ytics ("64 KiB" 2**16, "1 MiB" 2**20, "16 MiB" 2**24, "256 MiB" 2**28, "4 GiB" 2.0**32)
}
if (work) {
    heading = "Multiply-adds of one layer, by formula"
    low = 1e6; set yrange [low:1e13]; gap = 0.42
    set ytics ("10^6" 1e6, "10^7" 1e7, "10^8" 1e8, "10^9" 1e9, "10^{10}" 1e10, "10^{11}" 1e11, "10^{12}" 1e12, "10^{13}" 1e13)
}
set label 1 heading at graph 0,1.06 left font font.",17" textcolor rgb ink
set label 2 "C = 96, 6 heads, D = 16, batch 1, one thread, float.  ".remark("machine") \
    at screen 0.02,0.035 left font font.",11" textcolor rgb faint

# Guides fan out in the empty corner below all lines.
x0 = 1024.0; y0 = low * 1.6
fan(x) = x >= x0 ? y0 * x / x0 : NaN
fan_log(x) = x >= x0 ? y0 * x * log(x) / (x0 * log(x0)) : NaN
fan_square(x) = x >= x0 && x <= 8 * x0 ? y0 * (x / x0)**2 : NaN
set label 3 "N" at 65536*1.05,fan(65536.0) left offset 0,-0.1 font font.",12" textcolor rgb faint
set label 4 "N log N" at 65536*1.05,fan_log(65536.0) left offset 0,0.35 font font.",12" textcolor rgb faint
set label 5 "N^2" at 8*x0,fan_square(8 * x0) left offset 0.3,0.4 font font.",12" textcolor rgb faint

plot \
    fan(x) linecolor rgb faint dashtype 2, fan_log(x) linecolor rgb faint dashtype 2, fan_square(x) linecolor rgb faint dashtype 2, \
    for [k in keys] cut("points", k) using 1:2 with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.55, \
    for [k in "eq7/naive eq10/naive"] cut("gone", k) using 1:2 with lines linecolor rgb colour(k) linewidth 1.5 dashtype 3, \
    for [k in "eq7/naive eq10/naive"] cut("gone", k) using 1:2 every ::1 with points linecolor rgb colour(k) linewidth 2 pointtype 2 pointsize 0.9, \
    cut("ends", "all") using 1:2:3:4 with labels left offset 0.8,0 textcolor rgb variable
