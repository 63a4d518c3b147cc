# networks-structsa.gp -- StructSA's attention, kernels and filters with random and with trained weights
#
#     gnuplot -e "here='figures'; data='networks-structsa.tsv'; out='networks-structsa.svg'" networks-structsa.gp
#
# The matrices of networks-structsa.c: for two queries the attention of each pattern and
# the merged kernels of four channels; below, detectors and aggregators.

load here."/style.gp"
eval sheet(760, 700, 15)
eval tiled

queries = remark("queries (row, column)")
row(t) = real(word(queries, 2 * t + 1)); column_of(t) = real(word(queries, 2 * t + 2))
edge = 128; side = 62; cell = 8
x_of(m) = 170 + m * 300                 # of what is random, of what is trained
y_of(t) = 60 + t * 168
y_filter(s) = 424 + s * 96
names = "random trained"

# What is drawn in grey, from blue to yellow, and from blue to red; around each its frame, and
# where the query is a mark.
pictures = ""; attention = ""; kernels = ""
set print $frames
do for [t = 0:1] {
    pictures = pictures.tile("image", 28, 16, y_of(t), edge)
    print box(16, y_of(t), edge)
    do for [m = 0:1] {
        do for [d = 0:3] {
            x = x_of(m) + d * 70
            attention = attention.tile(sprintf("%s attention %d %d", word(names, m + 1), t, d), 7, x, y_of(t), side)
            kernels = kernels.tile(sprintf("%s merged %d %d", word(names, m + 1), t, d), 14, x, y_of(t) + 84, side)
            print box(x, y_of(t), side)
            print box(x, y_of(t) + 84, side)
        }
    }
}
do for [m = 0:1] {
    do for [s = 0:1] {
        do for [d = 0:3] {
            x = x_of(m) + d * 70
            kernels = kernels.tile(sprintf("%s %s %d", word(names, m + 1), s ? "hv" : "hk", d), 7, x, y_filter(s), 7 * cell)
            do for [c = 0:3] { print box(x + (c % 2) * 4 * cell, y_filter(s) + (c / 2) * 4 * cell, 3 * cell) }
        }
    }
}
set print $marks
do for [t = 0:1] { print box(16 + edge / 14.0 * column_of(t), y_of(t) + edge / 14.0 * row(t), edge / 14.0) }
set print $places
do for [t = 0:1] {
    do for [m = 0:1] {
        do for [d = 0:3] {
            print box(x_of(m) + d * 70 + side / 14.0 * column_of(t), y_of(t) + 84 + side / 14.0 * row(t), side / 14.0)
        }
    }
}
set print

print "title: StructSA's attention, kernels and filters, with random weights and with trained ones"
set multiplot
eval write(1, "a query", 16, 44, "left textcolor rgb ink")
do for [m = 0:1] {
    eval write(2 + m, (m ? "trained" : "random weights").": four patterns", x_of(m), 44, "left textcolor rgb ink")
    do for [s = 0:1] {
        eval write(4 + 2 * m + s, s ? "aggregators h^V" : "detectors h^K", x_of(m), y_filter(s) - 10, "left textcolor rgb ink font font.',13'")
    }
    do for [t = 0:1] {
        shares = remark(sprintf("percent of the patterns, %s %d", word(names, m + 1), t))
        do for [d = 0:3] {
            eval write(20 + 8 * m + 4 * t + d, word(shares, d + 1)." %", x_of(m) + d * 70 + side / 2, y_of(t) + side + 13, small_print)
        }
    }
}
eval note(11, "The second block of a tiny network, its first head.  Of each query the attention a_{ijd} of the patterns,", 51)
eval note(12, "their shares, and below them merged kernels (Eq. 21) of four channels; at the foot the filters of each", 32)
eval note(13, "pattern for those channels.  Red +, white 0, blue −, over the largest magnitude of each.", 13)
set palette gray; set cbrange [0:1]
eval "plot ".pictures."$marks using 1:2 with lines linewidth 2 linecolor rgb mark"
unset label
eval viridis
eval "plot ".attention."NaN notitle"
eval signed; set cbrange [-1:1]
eval "plot ".kernels."$frames using 1:2 with lines linecolor rgb 0xbbbbbb, $places using 1:2 with lines linewidth 1.4 linecolor rgb black"
unset multiplot
