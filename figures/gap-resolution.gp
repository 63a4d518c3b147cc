# gap-resolution.gp -- LITv2-S and the layers of its third stage on larger images, by their attention
#
#     gnuplot -e "here='figures'; data='gap-resolution.tsv'; layers='hilo.tsv'; out='gap-resolution.svg'" gap-resolution.gp
#
# What HiLo's Fig. 3 asks: multiply-adds of the network, counted, with what the paper
# prints at 224 pixels in its Table 4 as rings; time and memory of one layer of that
# stage, measured for chapter 5.

load here."/style.gp"
eval sheet(760, 470, 14)

keys = "msa sra s2 s4 window"
name(k) = k eq "msa" ? "self-attention" : k eq "sra" ? "SRA, 2×2" : k eq "window" ? "7×7 windows" : "HiLo, s = ".k[2:2]
colour(k) = k eq "msa" ? black : k eq "sra" ? green : k eq "s2" ? blue : k eq "s4" ? sky : orange
printed = "< awk -F '\t' '$1 == 4 && $3 == \"flops\" { print 224 \"\t\" $4 }' '".here."/../reference/published/hilo.tsv'"
measured_at(k, which) = sprintf("< awk -F '\t' '/^#series/ { for (i = 1; i <= NF; i++) at[$i] = i } /^#/ { next } ".\
    "$1 == \"%s\" && $(at[\"form\"]) == \"fast\" { print 16 * sqrt($(at[\"tokens\"])) \"\t\" $(at[\"%s\"]) }' '%s'", k, which, layers)

set logscale xy
set xrange [200:2050]; set xtics ("224" 224, "448" 448, "896" 896, "1792" 1792)
set tmargin at screen 0.80; set bmargin at screen 0.25
eval title("LITv2-S on larger images, by the attention of its third stage", "screen 0.02,0.955")
place_of(n) = 14 + (n == 1 ? 0 : n == 2 ? 130 : n == 3 ? 230 : n == 4 ? 345 : 460)
do for [n = 1:5] { eval write(10 + n, name(word(keys, n)), place_of(n), 54, sprintf("left textcolor rgb %d", written(colour(word(keys, n))))) }
eval foot(2, "Rings: Table 4 of the paper, at 224 pixels; its Fig. 3 gives no numbers.  One image, one thread, float, fast forms.", 1)
machine = system(sprintf("awk -f '%s/series.awk' -v want=measured -v key=- '%s'", here, layers))
eval foot(6, machine, 0)." noenhanced"

set multiplot
set xlabel "pixels of a side" offset 0,0.3 textcolor rgb ink
set lmargin at screen 0.075; set rmargin at screen 0.325
set yrange [2:2000]; set ytics ("4" 4, "10" 10, "100" 100, "1000" 1000)
set label 3 "G multiply-adds, network" at graph 0,1.05 left textcolor rgb ink
plot for [k in keys] "< ".series(k)." | cut -f 1" using (NaN):(NaN) notitle, \
     for [k in keys] "< awk -F '\t' '$1 == \"".k."\"' '".data."'" using 2:($5/1e9) with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.4, \
     printed using 1:2 with points pointtype 6 pointsize 1.1 linecolor rgb ink

unset label 1; unset label 2; unset label 6; do for [n = 11:15] { unset label n }
set lmargin at screen 0.405; set rmargin at screen 0.655
set yrange [3e-4:4]; set ytics ("1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1, "1 s" 1)
set label 3 "time, one layer"
plot for [k in keys] measured_at(k, "median_seconds") using 1:2 with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.4

set lmargin at screen 0.74; set rmargin at screen 0.99
set yrange [2**21:2**27]; set ytics ("2 MiB" 2**21, "8 MiB" 2**23, "32 MiB" 2**25, "128 MiB" 2**27)
set label 3 "peak memory, one layer"
plot for [k in keys] measured_at(k, "peak_bytes") using 1:2 with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.4
unset multiplot
