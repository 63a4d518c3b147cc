# networks-boxes.gp -- ChoP'D's boxes before and after training
#
#     gnuplot -e "here='figures'; data='networks-boxes.tsv'; out='networks-boxes.svg'" networks-boxes.gp
#
# The rows of networks-boxes.c: the four boxes of eight components, around a token.

load here."/style.gp"
eval sheet(760, 330, 15)

side = 84; reach = 6.8
x_of(r) = 62 + r * 87
print "title: ChoP'D's boxes of eight components, before training and after"
set multiplot
set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0
unset xtics; unset ytics; unset grid
set border 15 linecolor rgb 0xbbbbbb
set xrange [-reach:reach]; set yrange [reach:-reach]
box(k) = k == 0 ? blue : k == 1 ? vermilion : k == 2 ? green : purple
rows(r, g) = awk(sprintf("$1 == %d && $2 == %d", r, g))
do for [after = 0:1] {
    do for [r = 0:7] {
        eval place(x_of(r), 44 + after * 96, side, side)
        if (r == 0) { eval write(1, after ? "after" : "before", 52, 44 + after * 96 + side / 2, "right textcolor rgb ink") }
        if (after == 0) { eval write(2, sprintf("%d", r + 1), x_of(r) + side / 2, 30, "center textcolor rgb faint") }
        plot for [g = 0:3] "< ".rows(r, g) using (($4+$6)/2):(($3+$5)/2):(after ? column(8) : column(4)):(after ? column(10) : column(6)):(after ? column(7) : column(3)):(after ? column(9) : column(5)) \
                 with boxxyerror fillstyle empty linecolor rgb box(g) linewidth 1.6, \
             "+" using (0):(0) every ::0::0 with points pointtype 7 pointsize 0.25 linecolor rgb black
        unset label 1; unset label 2
    }
}
set origin 0,0; set size 1,1
unset border
set xrange [0:1]; set yrange [0:1]
eval note(1, "Eight of 32 components, second block of a tiny network, 14×14 tokens; four boxes each, in", 51)
eval note(2, "colours of their own; the dot is the token.  An edge has moved by ".remark("mean distance of an edge from where it began")." tokens on the mean;", 32)
eval note(3, "medians of the longer sides: ".word(remark("median of the longer sides, before and after"), 1)." tokens before, ".word(remark("median of the longer sides, before and after"), 2)." after.", 13)
plot NaN notitle
unset multiplot
