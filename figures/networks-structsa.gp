# networks-structsa.gp -- StructSA's attention, kernels and filters with random and with trained weights
#
#     gnuplot -e "here='figures'; data='networks-structsa.tsv'; out='networks-structsa.svg'" networks-structsa.gp
#
# The matrices of networks-structsa.c: for two queries the attention of each pattern and
# the merged kernels of four channels; below, detectors and aggregators.

load here."/style.gp"
eval sheet(760, 700, 15)

eval no_axes
set border 15 linecolor rgb 0xbbbbbb
set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0

queries = remark("queries (row, column)")
row(t) = real(word(queries, 2 * t + 1)); column_of(t) = real(word(queries, 2 * t + 2))
side = 62; tiny = 28
x_of(m) = 170 + m * 300                 # of what is random, of what is trained
y_of(t) = 60 + t * 168
names = "random trained"
head(m) = m == 0 ? "random weights" : "trained"
array says[2] = ["detectors h^K", "aggregators h^V"]

print "title: StructSA's attention, kernels and filters, with random weights and with trained ones"
set multiplot
do for [t = 0:1] {
    eval place(16, y_of(t), 128, 128)
    set xrange [-0.5:27.5]; set yrange [27.5:-0.5]; set palette gray; set cbrange [0:1]
    set object 1 rectangle center 2 * column_of(t) + 0.5,2 * row(t) + 0.5 size 2,2 front fillstyle empty border linecolor rgb mark linewidth 2
    if (t == 0) { eval write(1, "a query", 16, 44, "left textcolor rgb ink") }
    plot data index "image" matrix using 1:2:3 with image
    unset object 1; unset label 1
    do for [m = 0:1] {
        kind = word(names, m + 1)
        shares = remark(sprintf("percent of the patterns, %s %d", kind, t))
        do for [d = 0:3] {
            # The attention of a pattern over the 7 x 7 centres, and its share of all.
            eval place(x_of(m) + d * 70, y_of(t), side, side)
            set xrange [-0.5:6.5]; set yrange [6.5:-0.5]; eval viridis; set cbrange [0:1]
            if (t == 0 && d == 0) { eval write(1, head(m).": four patterns", x_of(m), 44, "left textcolor rgb ink") }
            eval write(2, word(shares, d + 1)." %", x_of(m) + d * 70 + side / 2, y_of(t) + side + 13, small_print)
            plot data index sprintf("%s attention %d %d", kind, t, d) matrix using 1:2:3 with image
            unset label 1; unset label 2

            # The merged kernel of a channel.
            eval place(x_of(m) + d * 70, y_of(t) + 84, side, side)
            set xrange [-0.5:13.5]; set yrange [13.5:-0.5]; eval signed; set cbrange [-1:1]
            set object 1 rectangle center column_of(t),row(t) size 1,1 front fillstyle empty border linecolor rgb black linewidth 1.4
            plot data index sprintf("%s merged %d %d", kind, t, d) matrix using 1:2:3 with image
            unset object 1
        }
    }
}
do for [m = 0:1] {
    kind = word(names, m + 1)
    do for [s = 1:2] {
        do for [d = 0:3] {
            do for [c = 0:3] {
                eval place(x_of(m) + d * 70 + (c % 2) * 31, 424 + (s - 1) * 96 + (c / 2) * 31, tiny, tiny)
                set xrange [-0.5:2.5]; set yrange [2.5:-0.5]; eval signed; set cbrange [-1:1]
                if (d == 0 && c == 0) { eval write(1, says[s], x_of(m), 414 + (s - 1) * 96, "left textcolor rgb ink font font.',13'") }
                plot data index sprintf("%s %s %d %d", kind, s == 1 ? "hk" : "hv", d, c) matrix using 1:2:3 with image pixels
                unset label 1
            }
        }
    }
}
set origin 0,0; set size 1,1
unset border
set xrange [0:1]; set yrange [0:1]
eval note(1, "The second block of a tiny network, its first head.  Of each query the attention a_{ijd} of the patterns,", 51)
eval note(2, "their shares, and below them merged kernels (Eq. 21) of four channels; at the foot the filters of each", 32)
eval note(3, "pattern for those channels.  Red +, white 0, blue −, over the largest magnitude of each.", 13)
plot NaN notitle
unset multiplot
