# networks-elsa.gp -- ELSA's maps and filters with random and with trained weights
#
#     gnuplot -e "here='figures'; data='networks-elsa.tsv'; out='networks-elsa.svg'" networks-elsa.gp
#
# The matrices of networks-elsa.c: for three tokens the maps of four heads and the
# filters of a channel of each; below, the ghost head's factors and summands.

load here."/style.gp"
eval sheet(760, 660, 15)

eval no_axes
set border 15 linecolor rgb 0xbbbbbb
set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0

places = remark("tokens (row, column)")
row(t) = real(word(places, 2 * t + 1)); column_of(t) = real(word(places, 2 * t + 2))
side = 50
x_of(m) = 150 + m * 310
y_of(t) = 60 + t * 128
names = "random trained"
head(m) = m == 0 ? "random weights" : "trained"
tall(s) = 452 + (s - 1) * 64

print "title: ELSA's maps and filters of three tokens, with random weights and with trained ones"
set multiplot
do for [t = 0:2] {
    eval place(16, y_of(t), 106, 106)
    set xrange [-0.5:27.5]; set yrange [27.5:-0.5]; set palette gray; set cbrange [0:1]
    set object 1 rectangle center 2 * column_of(t) + 0.5,2 * row(t) + 0.5 size 10,10 front fillstyle empty border linecolor rgb mark linewidth 2
    if (t == 0) { eval write(1, "a token", 16, 44, "left textcolor rgb ink") }
    plot data index "image" matrix using 1:2:3 with image
    unset object 1; unset label 1
    do for [m = 0:1] {
        kind = word(names, m + 1)
        do for [a = 0:3] {
            set xrange [-0.5:4.5]; set yrange [4.5:-0.5]; eval signed; set cbrange [-1:1]
            eval place(x_of(m) + a * 72, y_of(t), side, side)
            if (t == 0 && a == 0) { eval write(1, head(m).": four heads", x_of(m), 44, "left textcolor rgb ink") }
            plot data index sprintf("%s map %d %d", kind, t, a) matrix using 1:2:3 with image pixels
            unset label 1
            eval place(x_of(m) + a * 72, y_of(t) + 56, side, side)
            plot data index sprintf("%s filter %d %d", kind, t, a) matrix using 1:2:3 with image pixels
        }
    }
}
do for [m = 0:1] {
    kind = word(names, m + 1)
    do for [s = 1:2] {
        do for [c = 0:4] {
            set xrange [-0.5:4.5]; set yrange [4.5:-0.5]; eval signed; set cbrange [-1:1]
            eval place(x_of(m) + c * 57, tall(s), side, side)
            if (m == 0 && c == 0) { eval write(1, s == 1 ? "factors" : "summands", x_of(0) - 10, tall(s) + 30, "right textcolor rgb ink") }
            plot data index sprintf("%s %s %d", kind, s == 1 ? "factor" : "summand", c) matrix using 1:2:3 with image pixels
            unset label 1
        }
    }
}
set origin 0,0; set size 1,1
unset border
set xrange [0:1]; set yrange [0:1]
eval note(1, "The second block of a tiny network, 5×5 neighbours of three tokens.  Above the map of a head, below", 51)
eval note(2, "it the filter that the ghost head makes of it for one channel; at the foot the ghost head’s factors and", 32)
eval note(3, "summands for five channels.  Red +, white 0, blue −, each over its largest magnitude.", 13)
plot NaN notitle
unset multiplot
