# networks-elsa.gp -- ELSA's maps and filters with random and with trained weights
#
#     gnuplot -e "here='figures'; data='networks-elsa.tsv'; out='networks-elsa.svg'" networks-elsa.gp
#
# The matrices of networks-elsa.c: for three tokens the maps of four heads and the
# filters of a channel of each; below, the ghost head's factors and summands.

load here."/style.gp"
eval sheet(760, 660, 15)
eval tiled

places = remark("tokens (row, column)")
row(t) = real(word(places, 2 * t + 1)); column_of(t) = real(word(places, 2 * t + 2))
side = 50; edge = 106
x_of(m) = 150 + m * 310
y_of(t) = 60 + t * 128
tall(s) = 452 + s * 64
pixel = edge / 28.0
names = "random trained"

pictures = ""; filters = ""
set print $frames
do for [t = 0:2] {
    pictures = pictures.tile("image", 28, 16, y_of(t), edge)
    print box(16, y_of(t), edge)
    do for [m = 0:1] {
        do for [a = 0:3] {
            do for [s = 0:1] {
                filters = filters.tile(sprintf("%s %s %d %d", word(names, m + 1), s ? "filter" : "map", t, a), 5, x_of(m) + a * 72, y_of(t) + s * 56, side)
                print box(x_of(m) + a * 72, y_of(t) + s * 56, side)
            }
        }
    }
}
do for [m = 0:1] {
    do for [s = 0:1] {
        do for [c = 0:4] {
            filters = filters.tile(sprintf("%s %s %d", word(names, m + 1), s ? "summand" : "factor", c), 5, x_of(m) + c * 57, tall(s), side)
            print box(x_of(m) + c * 57, tall(s), side)
        }
    }
}
set print $marks
do for [t = 0:2] { print box(16 + pixel * (2 * column_of(t) - 4), y_of(t) + pixel * (2 * row(t) - 4), 10 * pixel) }
set print

print "title: ELSA's maps and filters of three tokens, with random weights and with trained ones"
set multiplot
set palette gray; set cbrange [0:1]
eval write(1, "a token", 16, 44, "left textcolor rgb ink")
eval write(2, "random weights: four heads", x_of(0), 44, "left textcolor rgb ink")
eval write(3, "trained: four heads", x_of(1), 44, "left textcolor rgb ink")
eval write(4, "factors", x_of(0) - 10, tall(0) + 30, "right textcolor rgb ink")
eval write(5, "summands", x_of(0) - 10, tall(1) + 30, "right textcolor rgb ink")
eval note(8, "The second block of a tiny network, 5×5 neighbours of three tokens.  Above the map of a head, below", 51)
eval note(9, "it the filter that the ghost head makes of it for one channel; at the foot the ghost head’s factors and", 32)
eval note(10, "summands for five channels.  Red +, white 0, blue −, each over its largest magnitude.", 13)
eval "plot ".pictures."$marks using 1:2 with lines linewidth 2 linecolor rgb mark"
do for [n = 1:10] { unset label n }
eval signed; set cbrange [-1:1]
eval "plot ".filters."$frames using 1:2 with lines linecolor rgb 0xbbbbbb"
unset multiplot
