# hilo-layers.gp -- the layers of Table 10: how fast here, in the paper, and by arithmetic
#
#     gnuplot -e "here='figures'; data='hilo-layers.tsv'; out='hilo-layers.svg'" hilo-layers.gp
#
# Bars are images per second over HiLo's.  The table has every series once for each
# round; the median of its times counts.  The paper's numbers are those of
# reference/published/hilo.tsv.

load here."/style.gp"
eval sheet(720, 430, 15)

layers = "msa window sra hilo"
printed = "'MSA' 'Local Window' 'SRA' 'HiLo'"
median(n, c) = real(system(awk(sprintf("$1 == \"%s\" { print $(at[\"%s\"]) }", word(layers, n), c)).\
    " | sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'"))
paper(n) = real(system(sprintf("awk -F '\t' '$1 == 10 && $2 == \"%s\" && $3 == \"cpu\" { print $4 }' '%s/../reference/published/hilo.tsv'", word(printed, n), here)))

array ours[4]; array theirs[4]; array sums[4]; array took[4]
do for [n = 1:4] {
    took[n] = median(n, "median_seconds"); ours[n] = median(4, "median_seconds") / took[n]; theirs[n] = paper(n) / paper(4); sums[n] = median(4, "multiply_adds") / median(n, "multiply_adds")
}

unset grid
set border 2 linecolor rgb ink
unset xtics
set ytics scale 0
set yrange [4.62:0.4]
set xrange [0:1.15]
set ytics ("self-attention" 1, "7×7 windows" 2, "SRA" 3, "HiLo" 4)
set lmargin at screen 0.17; set rmargin at screen 0.98
set tmargin at screen 0.835; set bmargin at screen 0.14
eval title("Images per second of one layer, HiLo's being 1", "screen 0.02,0.945")
eval foot(2, "14×14 tokens, 768 channels, 12 heads, one image, one thread, float.", 1)
eval measured(6, 0)
set style fill solid noborder

eval write(3, "measured here", 122, 56, sprintf("left textcolor rgb %d", written(blue)))
eval write(4, "in the paper, on a Core i9-10900X", 250, 56, sprintf("left textcolor rgb %d", written(orange)))
eval write(5, "│ by multiply-adds alone", 512, 56, "left textcolor rgb ink")

plot for [n = 1:4] "+" every ::0::0 using (0):(n):(0):(ours[n]):(n-0.33):(n-0.03) with boxxyerror linecolor rgb blue, \
     for [n = 1:4] "+" every ::0::0 using (0):(n):(0):(theirs[n]):(n+0.0):(n+0.3) with boxxyerror linecolor rgb written(orange), \
     for [n = 1:4] "+" every ::0::0 using (sums[n]):(n-0.38):(0):(0.73) with vectors nohead linecolor rgb ink linewidth 2, \
     for [n = 1:4] "+" every ::0::0 using (0):(n-0.18):(sprintf("%.2f   %.2f ms", ours[n], took[n]*1e3)) with labels left offset 0.6,0 font font.",13" textcolor rgb 0xffffff, \
     for [n = 1:4] "+" every ::0::0 using (0):(n+0.15):(sprintf("%.2f", theirs[n])) with labels left offset 0.6,0 font font.",13" textcolor rgb 0xffffff
