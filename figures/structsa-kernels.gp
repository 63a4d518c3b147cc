# structsa-kernels.gp -- dynamic kernels of one query on a real image
#
#     gnuplot -e "here='figures'; data='structsa-kernels.tsv'; out='structsa-kernels.svg'" structsa-kernels.gp
#
# The matrices of structsa-kernels.c: above, what all operators begin with; below,
# a row for ConvSA and one for StructSA, the merged map and the kernels at the keys.

load here."/style.gp"
eval sheet(760, 850, 16)

eval no_axes
set border 15 linecolor rgb 0xbbbbbb
set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0

white = 0xffffff
keys = remark("keys (row, column)")
query = remark("query (row, column)")
patterns = 8

edge = 228; left(m) = 16 + (m - 1) * 250; top(r) = 34 + (r - 1) * 268
small = 88; kernel(t) = left(2) + (t - 1) * 97.5
tiny = 44; detector(d) = left(2) + d * 62.0

# Query and keys, in all maps; numbers beside the keys, off the boot.
row(t) = real(word(keys, 2 * t - 1))
column_of(t) = real(word(keys, 2 * t))
array aside[5] = [0, -2.6, 0, -2.6, 0]
array below[5] = [-2.9, -0.6, -2.9, 0, 3.1]
times(size) = size < 0.001 ? "< 0.001" : sprintf(size < 0.1 ? "× %.3f" : "× %.2f", size)
array heading[5] = ["image, query and keys", "similarity to the query", "self-attention", \
    "ConvSA, kernels merged", "StructSA, kernels merged"]
array kernels[5] = ["", "", "", "the kernels κ_{ij}: one pattern", "the kernels κ_{ij}: a pattern for each key"]
array detectors[5] = ["", "", "", "one detector and aggregator, D = 1", "eight detectors and aggregators, D = 8"]

print "title: Dynamic kernels of one query on a real image"
set multiplot
do for [m = 1:5] {
    name = word("image similarity self conv struct", m)
    r = m < 4 ? 1 : m - 2
    x = m < 4 ? left(m) : left(1)
    y = top(r)
    eval place(x, y, edge, edge)
    set xrange [-0.5:27.5]; set yrange [27.5:-0.5]
    if (m == 1) { set palette gray; set cbrange [0:1] }
    if (m == 2) { eval signed; set cbrange [-1:1] }
    rgb = m == 1 ? mark : black
    do for [t = 1:5] {
        set object t rectangle center column_of(t),row(t) size 3,3 front \
            fillstyle empty border linecolor rgb rgb linewidth 1.6
        set label 20 + t sprintf("%d", t) at first column_of(t) + aside[t],row(t) + below[t] center front \
            textcolor rgb (m == 2 || (m == 3 && t == 4) ? white : m == 1 && t == 4 ? black : rgb)
    }
    set object 9 circle center real(word(query, 2)), real(word(query, 1)) size 0.75 front \
        fillcolor rgb mark fillstyle solid border linecolor rgb black
    eval write(1, heading[m], x, y - 16, "left textcolor rgb ink")
    plot data index name." 0" matrix using 1:2:3 with image
    unset object; do for [t = 21:25] { unset label t }
    if (m < 4) { continue }

    # The kernels at the keys, and how large they are.
    set xrange [-0.5:2.5]; set yrange [2.5:-0.5]
    sizes = remark("largest entry of the kernels, ".name)
    eval write(1, kernels[m], left(2), y - 16, "left textcolor rgb ink")
    do for [t = 1:5] {
        eval place(kernel(t), y, small, small)
        eval write(2, sprintf("%d", t), kernel(t) + small / 2, y + small + 15, "center textcolor rgb ink")
        eval write(3, times(real(word(sizes, t))), kernel(t) + small / 2, y + small + 35, small_print)
        plot data index sprintf("%s %d", name, t) matrix using 1:2:3 with image pixels
        do for [n = 1:3] { unset label n }
    }

    # The detectors, which are the aggregators too.
    last = m == 4 ? 0 : patterns - 1
    eval write(1, detectors[m], left(2), y + edge - tiny - 16, "left textcolor rgb ink")
    do for [d = 0:last] {
        eval place(detector(d), y + edge - tiny, tiny, tiny)
        plot data index sprintf("detector %d", d) matrix using 1:2:3 with image pixels
        unset label 1
    }
}

set origin 0,0; set size 1,1
unset border
set xrange [0:1]; set yrange [0:1]
eval note(1, "Nothing here is trained.  Red +, white 0, blue −, each picture over its largest magnitude;", 32)
eval note(2, "×: how large a kernel is beside the operator’s largest.  Dot: the query.  Squares: windows of the keys", 13)
plot NaN notitle
unset multiplot
