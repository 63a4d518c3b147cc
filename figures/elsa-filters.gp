# elsa-filters.gp -- effective filters of a few tokens, without and with a ghost head
#
#     gnuplot -e "here='figures'; data='elsa-filters.tsv'; out='elsa-filters.svg'" elsa-filters.gp
#
# Matrices of elsa-filters.c: the image, then for every token the filter of its
# head and of four channels.

load here."/style.gp"
eval sheet(760, 480, 15)

places = remark("tokens (row, column)")
y_of(k) = real(word(places, 2*k-1)); x_of(k) = real(word(places, 2*k))
set size ratio -1
eval no_axes
set border 15 linecolor rgb 0xb0b0b0
set yrange [*:*] reverse

set multiplot
eval title("One head's filter, and what the ghost head makes of it for four channels", "screen 0.02,0.955")
eval foot(2, "7×7 neighbours of three tokens.  Red +, white 0, blue −, each over its largest magnitude.  Nothing here is trained:", 1)
eval foot(3, "the head asks its neighbours for contrast; the factors of the channels are made by hand.", 0)

set palette gray
eval square(0.02, 0.80, 0.355)
do for [k = 1:3] {
    set object k rectangle from x_of(k)-3.5,y_of(k)-3.5 to x_of(k)+3.5,y_of(k)+3.5 front fillstyle empty border rgb mark linewidth 2
    set object 20+k rectangle from x_of(k)-6.2,y_of(k)-3.5 to x_of(k)-3.5,y_of(k)-0.8 front fillcolor rgb black fillstyle solid noborder
    set label 10+k sprintf("%d", k) at x_of(k)-4.85,y_of(k)-2.15 center front font ',16' textcolor rgb mark
}
plot data index "image" matrix using 1:2:3 with image
unset label 1; unset label 2; unset label 3
do for [k = 1:3] { unset object k; unset object 20+k; unset label 10+k }

eval signed
set cbrange [-1:1]
names = "'the head' 'right−left' 'below−above' 'centre' 'diagonal'"
side = 0.104; gap = 0.013; left = 0.405
do for [k = 1:3] {
    top = 0.80 - (k - 1) * 0.225
    do for [c = 0:4] {
        eval square(left + c * (side + gap), top, side)
        if (k == 1) { set label 4 word(names, c + 1) at graph 0.5,1.1 center font font.",12" textcolor rgb ink }
        if (c == 0) { set label 5 sprintf("%d", k) at graph -0.14,0.5 center textcolor rgb ink }
        plot data index (c == 0 ? sprintf("head %d", k) : sprintf("channel %d %d", k, c)) matrix using 1:2:3 with image
        unset label 4; unset label 5
    }
}
unset multiplot
