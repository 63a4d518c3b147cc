# hilo-cost.gp -- multiply-adds of Hi-Fi, Lo-Fi and both against the resolution
#
#     gnuplot -e "here='figures'; data='hilo-cost.tsv'; out='hilo-cost.svg'" hilo-cost.gp
#
# Columns of hilo-cost.c; nothing here is measured.  Circles: where Lo-Fi costs as
# much as Hi-Fi, N = s^2 (C (1 - 1/s^2) + s^2).

load here."/style.gp"
eval sheet(760, 430, 15)

set xrange [256:1280]
set yrange [0:6.6]
set xtics ("512" 512, "1024" 1024)
set ytics 0,2,6
set xlabel "edge, in pixels" offset 0,0.3 textcolor rgb ink
set bmargin at screen 0.25
set tmargin at screen 0.80
eval title("Multiply-adds of one layer, in 10^9, by the edge of the image in pixels", "screen 0.02,0.945")
eval foot(2, "384 channels, 12 heads, half of them Hi-Fi's; 16×16 pixels a token.  By formula", 0)

cost(N, taps) = N * 384 * (1.75 * 384 + taps) / 1e9          # of Hi-Fi
left(n) = 0.06 + 0.29 * n; right(n) = left(n) + 0.24
set multiplot
do for [n = 0:1] {
    set lmargin at screen left(n); set rmargin at screen right(n)
    set label 3 sprintf("windows of %d×%d", 2 + 2*n, 2 + 2*n) at graph 0,1.06 left textcolor rgb ink
    set label 4 "Lo-Fi" at (n == 0 ? 1110 : 1270),(n == 0 ? 4.1 : 0.72) right textcolor rgb written(blue)
    set label 5 "Hi-Fi" at (n == 0 ? 1270 : 860),(n == 0 ? 0.85 : 1.15) right textcolor rgb written(vermilion)
    cross = 4.0**(n+1) * (384 * (1 - 0.25**(n+1)) + 4.0**(n+1))         # tokens where both cost the same
    set label 6 sprintf("N = %.0f", cross) at 16*sqrt(cross),cost(cross, 4**(n+1)) point pointtype 6 pointsize 1.0 linecolor rgb ink \
        center offset (n == 0 ? 0 : -2.2),1.3 font font.",12" textcolor rgb faint
    plot data using 1:(column(2+3*n)) with lines linecolor rgb vermilion linewidth 2, \
         data using 1:(column(3+3*n)) with lines linecolor rgb blue linewidth 2
    eval once
    set format y ""
}
unset label 4; unset label 5; unset label 6
set lmargin at screen left(2); set rmargin at screen right(2)
set label 3 "both"
set label 4 "self-attention" at 755,6.15 right font font.",13" textcolor rgb black
plot data using 1:11 with lines linecolor rgb black linewidth 1.4, \
     for [n = 0:2] data using 1:(column(4+3*n)) with lines linecolor rgb (n == 0 ? purple : n == 1 ? green : orange) linewidth 2, \
     for [n = 0:2] "< grep -v '^#' '".data."' | tail -n 1" using 1:(column(4+3*n)):(sprintf("s = %d", 2**(n+1))) \
         with labels left offset 0.6,(n == 2 ? -0.1 : 0.1) textcolor rgb written(n == 0 ? purple : n == 1 ? green : orange)
unset multiplot
