# structsa-motion.gp -- dynamic kernels of a thing that moves
#
#     gnuplot -e "here='figures'; data='structsa-motion.tsv'; out='structsa-motion.svg'" structsa-motion.gp
#
# The matrices of structsa-motion.c: the video forwards and below it what its query
# sees and makes; the same for the video backwards.

load here."/style.gp"
eval sheet(760, 722, 16)

eval no_axes
set border 15 linecolor rgb 0xbbbbbb
set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0

query = remark("query (frame, row, column)")
at(n) = real(word(query, n + 1))
array way[2] = ["right", "left"]
array played[2] = ["forwards: it moves to the right", "backwards: it moves to the left"]

slice = "set xrange [-0.5:4.5]; set yrange [4.5:-0.5]; set cbrange [-1:1]"
centre = "set object 1 rectangle center 2,2 size 1,1 front fillstyle empty border linecolor rgb black linewidth 1.6"

frame = 136; tall = 95.2; step = 148
edge = 118; small = 54
similarity = 34; detectors = 200; bars = detectors + small + 10; kernel = 420; attention = 602

print "title: Dynamic kernels of a thing that moves"
set multiplot
do for [b = 1:2] {
    top = 32 + (b - 1) * 330

    # The frames; the query in the middle one, its window in all.
    set palette gray; set cbrange [0:1]; set xrange [-0.5:19.5]; set yrange [13.5:-0.5]
    do for [f = 0:4] {
        eval place(16 + f * step, top, frame, tall)
        set object 1 rectangle center at(2),at(1) size 5,3 front \
            fillstyle empty border linecolor rgb mark linewidth 1.6
        if (f == 2) { set object 2 circle center at(2),at(1) size 0.5 front \
            fillcolor rgb mark fillstyle solid border linecolor rgb black }
        if (f == 0) { eval write(1, played[b], 16, top - 14, "left textcolor rgb ink") }
        plot data index sprintf("frame %d", b == 1 ? f : 4 - f) matrix using 1:2:3 with image
        unset object; unset label 1
    }

    # Similarity around the query: one row of tokens, in time.
    eval signed."; ".slice
    y = top + tall + 46
    eval centre
    eval place(similarity, y, edge, edge)
    eval write(1, "similarity", similarity, y - 14, "left textcolor rgb ink")
    eval write(2, "x →", similarity + edge / 2, y + edge + 12, small_print)
    eval write(3, "t", similarity - 11, y + edge / 2 - 9, small_print)
    eval write(4, "↓", similarity - 11, y + edge / 2 + 8, small_print)
    plot data index "similarity ".way[b] matrix using 1:2:3 with image pixels
    do for [n = 1:4] { unset label n }

    # What either detector finds: its share of a_ii.
    unset object
    shares = remark("shares of right and left, ".way[b])
    eval write(1, "detectors, shares", detectors, y - 14, "left textcolor rgb ink")
    do for [d = 1:2] {
        share = real(word(shares, d)); up = y + (d - 1) * (edge - small)
        eval place(detectors, up, small, small)
        eval write(2, sprintf("%.0f %%", 100 * share), bars + 88 * share + 6, up + small / 2, \
            "left textcolor rgb ink")
        set object 3 rectangle from screen bars / wide,1 - (up + small / 2 + 9) / high \
            to screen (bars + 88 * share) / wide,1 - (up + small / 2 - 9) / high front \
            fillcolor rgb blue fillstyle solid noborder
        plot data index "detector ".way[d] matrix using 1:2:3 with image pixels
        unset label 1; unset label 2; unset object 3
    }

    # What StructSA gathers values with, and what self-attention has in its place.
    eval centre
    eval place(kernel, y, edge, edge)
    eval write(1, "StructSA, κ_{ii}", kernel, y - 14, "left textcolor rgb ink")
    plot data index "kernel ".way[b] matrix using 1:2:3 with image pixels
    eval place(attention, y, edge, edge)
    eval write(1, "self-attention", attention, y - 14, "left textcolor rgb ink")
    weight = real(remark("weight of the query itself, ".way[b]))
    eval write(2, sprintf("one number, %.3f", weight), attention + edge / 2, y + edge + 12, small_print)
    set object 1 rectangle center 2,2 size 1,1 front fillcolor rgb 0x67001f \
        fillstyle solid border linecolor rgb black linewidth 1.6
    plot NaN notitle
    unset object; unset label 1; unset label 2
}

set origin 0,0; set size 1,1
unset border
eval write(1, "Backwards, self-attention’s output y is the same; StructSA’s is the negative.", \
    16, high - 52, "left textcolor rgb ink")
eval note(3, "Nothing here is trained.  Aggregators: the right’s is its detector, the left’s its detector negated.", 29)
eval note(2, "Slices through windows of 5×3×5 tokens.  Red +, white 0, blue −, over the largest magnitude", 11)
plot NaN notitle
unset multiplot
