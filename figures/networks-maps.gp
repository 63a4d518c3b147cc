# networks-maps.gp -- a picture on its way through LITv2-S and through a tiny trained network
#
#     gnuplot -e "here='figures'; data='networks-maps.tsv'; out='networks-maps.svg'" networks-maps.gp
#
# The matrices of networks-maps.c: a column for each station, three channels below each other.

load here."/style.gp"
eval sheet(760, 640, 15)
eval tiled

edge = 104; side = 66
x_of(i) = 144 + i * 76
y_of(kind, shown) = (kind == 0 ? 76 : 358) + shown * 70
array big[8] = ["embedded", "stage 1", "merged", "stage 2", "merged", "stage 3", "merged", "stage 4"]
array cells[8] = [56, 56, 28, 28, 14, 14, 7, 7]
array deep[8] = [96, 96, 192, 192, 384, 384, 768, 768]
array tiny[6] = ["embedded", "+ position", "+ HiLo", "+ MLP", "+ HiLo", "+ MLP"]

pictures = tile("image", 28, 16, y_of(0, 0), edge).tile("image", 28, 16, y_of(1, 0), edge)
maps = ""
set print $frames
print box(16, y_of(0, 0), edge)
print box(16, y_of(1, 0), edge)
do for [shown = 0:2] {
    do for [i = 0:7] {
        maps = maps.tile(sprintf("litv2 %d %d", i, shown), cells[i + 1], x_of(i), y_of(0, shown), side)
        print box(x_of(i), y_of(0, shown), side)
    }
    do for [i = 0:5] {
        maps = maps.tile(sprintf("learned %d %d", i, shown), 14, x_of(i), y_of(1, shown), side)
        print box(x_of(i), y_of(1, shown), side)
    }
}
set print

# What the tiny network answers: a bar for each class.
answers = "< sed -n '/^# answers/,$p' '".data."'"
bar(c) = y_of(1, 0) + 10 + 21 * c
from = x_of(6) + 62

print "title: A picture on its way through LITv2-S and through a tiny trained network"
set multiplot
eval write(1, "LITv2-S, random weights", 16, 24, "left textcolor rgb ink font font.',16'")
eval write(2, "two blocks of HiLo, trained", 16, 306, "left textcolor rgb ink font font.',16'")
small = "center textcolor rgb ink font font.',12'"
faint_small = "center textcolor rgb faint font font.',11'"
do for [i = 0:7] {
    eval write(20 + i, big[i + 1], x_of(i) + side / 2, y_of(0, 0) - 22, small)
    eval write(30 + i, sprintf("%d×%d×%d", cells[i + 1], cells[i + 1], deep[i + 1]), x_of(i) + side / 2, y_of(0, 0) - 8, faint_small)
}
do for [i = 0:5] {
    eval write(40 + i, tiny[i + 1], x_of(i) + side / 2, y_of(1, 0) - 22, small)
    eval write(50 + i, "14×14×32", x_of(i) + side / 2, y_of(1, 0) - 8, faint_small)
}
eval write(60, "its middle: 224×224", 16 + edge / 2, y_of(0, 0) + edge + 12, faint_small)
eval write(61, "28×28", 16 + edge / 2, y_of(1, 0) + edge + 12, faint_small)
eval write(62, "its answer", x_of(6), y_of(1, 0) - 15, "left textcolor rgb ink font font.',12'")
eval note(11, "Of each station three channels, those that vary most.  Red above the channel’s mean, blue below, over", 51)
eval note(12, "the largest of each.  LITv2-S’s weights are drawn: seen are sizes, borders and merging, and not what it", 32)
eval note(13, "would recognise.  The tiny network was trained; each of its two blocks adds HiLo and an MLP to x.", 13)
set palette gray; set cbrange [0:1]
eval "plot ".pictures."NaN notitle"
unset label
eval signed; set cbrange [-100:100]
set style fill solid noborder
eval "plot ".maps."$frames using 1:2 with lines linecolor rgb 0xbbbbbb, ".\
    "answers using (from):(bar($1)):(from):(from + 62 * $2):(bar($1) - 6):(bar($1) + 6) with boxxy linecolor rgb blue, ".\
    "answers using (from - 4):(bar($1)):3 with labels right font font.',12' textcolor rgb ink"
unset multiplot
