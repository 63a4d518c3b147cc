# networks-lisa.gp -- LiSA's attention kernels with random and with trained weights
#
#     gnuplot -e "here='figures'; data='networks-lisa.tsv'; out='networks-lisa.svg'" networks-lisa.gp
#
# The matrices of networks-lisa.c: a row for each query, its kernel in either head, before
# training and after; below them the kernels of the values.

load here."/style.gp"
eval sheet(760, 620, 15)

eval no_axes
set border 15 linecolor rgb 0xbbbbbb
set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0

queries = remark("queries (row, column)")
row(t) = real(word(queries, 2 * t + 1)); column_of(t) = real(word(queries, 2 * t + 2))
side = 122; small = 58
x_of(m) = m == 0 ? 16 : 180 + (m - 1) * 134 + (m > 2 ? 30 : 0)
y_of(t) = 52 + t * 136
kind(m) = m < 3 ? "random" : "trained"

print "title: LiSA's attention kernels of three tokens, with random weights and with trained ones"
set multiplot
do for [t = 0:2] {
    do for [m = 0:4] {
        eval place(x_of(m), y_of(t), side, side)
        if (t == 0 && m == 0) { eval write(1, "a token", x_of(0), 36, "left textcolor rgb ink") }
        if (t == 0 && m == 1) { eval write(1, "random weights, two heads", x_of(1), 36, "left textcolor rgb ink") }
        if (t == 0 && m == 3) { eval write(1, "trained, two heads", x_of(3), 36, "left textcolor rgb ink") }
        if (m == 0) {
            set xrange [-0.5:27.5]; set yrange [27.5:-0.5]; set palette gray; set cbrange [0:1]
            set object 1 rectangle center 2 * column_of(t) + 0.5,2 * row(t) + 0.5 size 2,2 front fillstyle empty border linecolor rgb mark linewidth 2
            plot data index "image" matrix using 1:2:3 with image
        } else {
            set xrange [-0.5:13.5]; set yrange [13.5:-0.5]; eval signed; set cbrange [-1:1]
            set object 1 rectangle center column_of(t),row(t) size 1,1 front fillstyle empty border linecolor rgb black linewidth 1.6
            plot data index sprintf("%s %d %d", kind(m), t, (m - 1) % 2) matrix using 1:2:3 with image
        }
        unset object 1; unset label 1
    }
}
do for [m = 1:2] {
    do for [d = 0:3] {
        set xrange [-0.5:13.5]; set yrange [13.5:-0.5]; eval signed; set cbrange [-1:1]
        eval place(x_of(2 * m - 1) + d * 66, 490, small, small)
        if (d == 0) { eval write(1, "their four kernels w^b", x_of(2 * m - 1), 478, "left textcolor rgb ink") }
        plot data index sprintf("%s wb %d", m == 1 ? "random" : "trained", d) matrix using 1:2:3 with image
        unset label 1
    }
}
set origin 0,0; set size 1,1
unset border
set xrange [0:1]; set yrange [0:1]
eval note(1, "The second block of a tiny network of 14×14 tokens.  Red +, white 0, blue −, each over its largest", 32)
eval note(2, "magnitude; own place of the w^b in the middle.  Both heads mix the same four, after what they find.", 13)
plot NaN notitle
unset multiplot
