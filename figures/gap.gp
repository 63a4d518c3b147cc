# gap.gp -- naive over fast against the number of tokens, in time and in memory, for all rows
#
#     gnuplot -e "here='figures'; data='gap.tsv'; out='gap.svg'" gap.gp
#
# Two panels, one above the other, with the ratios of gap.awk.  Nothing is estimated: a line
# is as long as both forms were measured.  Given `slide`, time or memory, that panel alone is
# drawn, in letters for the last row of a lecture hall and without title and feet.

load here."/style.gp"
if (!exists("slide")) { slide = "" }
if (strlen(slide)) { eval sheet(1240, 590, 23) } else { eval sheet(720, 800, 15) }
small = strlen(slide) ? 22 : 14; weight = strlen(slide) ? 4 : 2; dot = strlen(slide) ? 1.1 : 0.5

keys = "msa lisa structsa elsa chopd hilo"
colours = "black blue green purple vermilion orange"
array called[6] = ["self-attention", "LiSA", "StructSA", "ELSA", "ChoP'D", "HiLo"]
colour(n) = value(word(colours, n))
do for [n = 1:6] { label = label.sprintf("%s/gap|%s|%d;", word(keys, n), called[n], written(colour(n))) }

set logscale xy
set xrange [14:15000]
set lmargin at screen 0.115; set rmargin at screen 0.715
step = 10**(0.045 * log10(15000.0 / 14))

# All lines of the column in force, and their names.
lines = 'for [n = 1:6] "< ".cut("points", word(keys, n)."/gap") using 1:2 with linespoints linecolor rgb colour(n) linewidth weight pointtype 7 pointsize dot, '.\
    '"< ".cut("ends", "all") using 1:2:3:4 with labels left offset graph 0.045,0 font font.",".small textcolor rgb variable'

if (!strlen(slide)) {
    eval title("How many times as fast the fast form is, and how many times smaller", "screen 0.02,0.965")
    eval foot(2, "The layers of chapters 1 to 5, one thread, float.  Lines end where the naive form would take too long or too much.", 2)
    eval foot(6, "Exponents of N in the ratio are fitted over the last factor of 16 in N, where four sizes or more lie in it.", 1)
    eval measured(10, 0)
}

# A panel: its column, and how far labels are from each other, in decades.
panel(what, apart, bottom, top) = sprintf("column = \"%s\"; gap = %g; set yrange [%g:%g]; ", what, apart, bottom, top)

below = "set xtics (\"16\" 16, \"64\" 64, \"256\" 256, \"1 024\" 1024, \"4 096\" 4096, \"12 544\" 12544); ".\
    "set xlabel \"tokens N, on square grids\" offset 0,0.3 textcolor rgb ink"
between = "set xtics (\"\" 16, \"\" 64, \"\" 256, \"\" 1024, \"\" 4096, \"\" 12544)"
even = "unset arrow; set arrow 1 from 14,1 to 15000,1 nohead back linecolor rgb ink linewidth 1 dashtype 2"
set label 4 "even" at 14,1 left offset 0.5,0.5 font font.",".(small - 2) textcolor rgb faint

set multiplot
if (slide ne "memory") {
    eval panel("times_faster", 0.36, 0.5, 3e5)
    eval even
    eval system(cut("leaders", "all"))
    set tmargin at screen strlen(slide) ? 0.97 : 0.915; set bmargin at screen strlen(slide) ? 0.185 : 0.535
    eval strlen(slide) ? below : between
    set ytics ("1×" 1, "10×" 10, "100×" 100, "1 000×" 1e3, "10^4×" 1e4, "10^5×" 1e5)
    set label 3 "time" at graph 0.02,0.93 left textcolor rgb ink
    plot @lines
    eval once
}
if (slide ne "time") {
    eval panel("times_smaller", 0.29, 0.4, 5e3)
    eval even
    eval system(cut("leaders", "all"))
    set tmargin at screen strlen(slide) ? 0.97 : 0.495; set bmargin at screen strlen(slide) ? 0.185 : 0.165
    eval below
    set ytics ("1×" 1, "10×" 10, "100×" 100, "1 000×" 1e3)
    set label 3 "peak memory" at graph 0.02,0.92 left textcolor rgb ink
    plot @lines
}
unset multiplot
