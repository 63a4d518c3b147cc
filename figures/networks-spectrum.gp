# networks-spectrum.gp -- frequencies of Hi-Fi and Lo-Fi with random and with trained weights
#
#     gnuplot -e "here='figures'; data='networks-spectrum.tsv'; out='networks-spectrum.svg'" networks-spectrum.gp
#
# Matrices of networks-spectrum.c, six channels of each branch; below them how the energy
# of what enters and of both branches is spread over the frequencies.

load here."/style.gp"
eval sheet(760, 570, 15)

names = "random trained"
branches = "Hi-Fi Lo-Fi"
head(m) = m == 0 ? "random weights" : "trained"
side = 50
x_of(m) = 84 + m * 346
print "title: Frequencies in the outputs of Hi-Fi and Lo-Fi, with random weights and with trained ones"
set multiplot
eval no_axes
set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0
set border 15 linecolor rgb 0xb0b0b0
eval viridis
set cbrange [-3:4]
do for [m = 0:1] {
    do for [b = 0:1] {
        do for [c = 0:5] {
            eval place(x_of(m) + c * 54, 50 + b * 56, side, side)
            set xrange [-0.5:13.5]; set yrange [13.5:-0.5]
            if (b == 0 && c == 0) { eval write(1, head(m), x_of(m), 36, "left textcolor rgb ink") }
            if (m == 0 && c == 0) { eval write(2, word(branches, b + 1), 60, 50 + b * 56 + side / 2, "right textcolor rgb written(".(b ? "blue" : "vermilion").")") }
            plot data index sprintf("%s %s %d", word(names, m + 1), word(branches, b + 1), c) matrix using 1:2:3 with image
            unset label 1; unset label 2
        }
    }
}
set border 3 linecolor rgb ink
set grid ytics linecolor rgb 0xe6e6e6 linewidth 1 linetype 1
set xtics 0,1,7 out nomirror scale 0.6
set yrange [0.01:100]
set logscale y
set xrange [-0.2:7.9]
do for [m = 0:1] {
    rings = word(names, m + 1)." rings"
    eval place(x_of(m), 200, 316, 225)
    set xlabel "cycles across the image" offset 0,0.4 textcolor rgb ink
    if (m == 0) { eval write(1, "share of the energy", x_of(0), 186, "left textcolor rgb ink font font.',13'") }
    if (m == 0) { set ytics ("0.01 %%" 0.01, "0.1 %%" 0.1, "1 %%" 1, "10 %%" 10, "100 %%" 100) out nomirror scale 0.6 }
    if (m == 1) { set ytics ("" 0.01, "" 0.1, "" 1, "" 10, "" 100) out nomirror scale 0.6 }
    set arrow 1 from 3.5,0.01 to 3.5,100 nohead linecolor rgb faint dashtype 2
    plot data index rings using 1:2 with linespoints linecolor rgb 0x999999 linewidth 2 pointtype 7 pointsize 0.4, \
         data index rings using 1:3 with linespoints linecolor rgb vermilion linewidth 2 pointtype 7 pointsize 0.4, \
         data index rings using 1:4 with linespoints linecolor rgb blue linewidth 2 pointtype 7 pointsize 0.4, \
         data index rings using 1:2:("x") every ::7::7 with labels left offset 0.7,0 textcolor rgb faint, \
         data index rings using 1:3:("Hi-Fi") every ::7::7 with labels left offset 0.7,(m ? 0.3 : 0) textcolor rgb written(vermilion), \
         data index rings using 1:4:("Lo-Fi") every ::7::7 with labels left offset 0.7,0 textcolor rgb blue
    unset label 1; unset arrow 1
}
unset logscale y
set origin 0,0; set size 1,1
unset border; unset xtics; unset ytics; unset grid; unset xlabel
set xrange [0:1]; set yrange [0:1]
eval note(1, "The second block of a tiny network, four heads, s = 2, α = ½; 100 images of 14×14 tokens.  Above:", 51)
eval note(2, "logarithms of magnitudes, zero frequency in the middle, one scale for all.  Below: the energy by", 32)
eval note(3, "frequency, along the axis with more of it, of what enters (x) and of both branches.", 13)
plot NaN notitle
unset multiplot
