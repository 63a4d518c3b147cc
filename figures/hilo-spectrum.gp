# hilo-spectrum.gp -- frequencies in the outputs of Hi-Fi and Lo-Fi
#
#     gnuplot -e "here='figures'; data='hilo-spectrum.tsv'; out='hilo-spectrum.svg'" hilo-spectrum.gp
#
# Matrices of hilo-spectrum.c, eight channels of each branch on one scale; below
# them what a branch lets through of each frequency.

load here."/style.gp"
eval sheet(760, 580, 15)

eval no_axes
set border 15 linecolor rgb 0xb0b0b0
eval viridis
set cbrange [-0.5:4.5]
set cbtics 0,2,4 out nomirror scale 0.4 offset -0.6,0
branches = "Hi-Fi Lo-Fi"

set multiplot
eval title("Frequencies in eight channels of either branch, before any training", "screen 0.02,0.955")
eval foot(2, "14×14 tokens of 100 real images, 384 channels, 12 heads, s = 2, α = 0.9, random weights.  Zero frequency in the middle;", 1)
eval foot(3, "colours are natural logarithms of magnitudes, averaged over the images, one scale for all.", 0)
side = 0.0905; gap = 0.0075; left = 0.085
do for [row = 1:2] {
    top = 0.885 - (row - 1) * 0.155
    do for [c = 0:7] {
        eval square(left + c * (side + gap), top, side)
        if (c == 0) { set label 4 word(branches, row) at graph -0.12,0.5 right textcolor rgb written(row == 1 ? vermilion : blue) }
        if (row == 1 && c == 7) {
            set label 7 "log |·|" at screen 0.885,0.905 left font font.",12" textcolor rgb ink
            set colorbox user origin screen 0.885,0.612 size screen 0.015,0.27
        } else { unset colorbox }
        plot data index sprintf("%s %d", word(branches, row), c) matrix using 1:2:3 with image
        unset label 1; unset label 2; unset label 3; unset label 4; unset label 7
    }
}

set border 3 linecolor rgb ink
set grid ytics linecolor rgb 0xe6e6e6 linewidth 1 linetype 1
set lmargin at screen 0.085; set rmargin at screen 0.868
set tmargin at screen 0.515; set bmargin at screen 0.205
set xtics 1,1,7 out nomirror scale 0.6
set ytics 0,0.25,1 out nomirror scale 0.6
set xrange [0.8:7.2]
set yrange [0:1]
set xlabel "cycles across the image, along the axis with more of them" offset 0,0.4 textcolor rgb ink
set label 5 "energy that leaves a channel, over energy that enters one" at graph 0,1.08 left font font.",13" textcolor rgb ink
set arrow 1 from 3.5,0 to 3.5,1 nohead linecolor rgb faint dashtype 2
set label 6 "half the band" at 3.58,0.92 left font font.",12" textcolor rgb faint
plot data index "rings" using 1:2 with linespoints linecolor rgb vermilion linewidth 2 pointtype 7 pointsize 0.45, \
     data index "rings" using 1:3 with linespoints linecolor rgb blue linewidth 2 pointtype 7 pointsize 0.45, \
     data index "rings" using 1:2:("Hi-Fi") every ::6::6 with labels left offset 0.9,0 textcolor rgb written(vermilion), \
     data index "rings" using 1:3:("Lo-Fi") every ::6::6 with labels left offset 0.9,0 textcolor rgb blue
unset multiplot
