# elsa-filters.gp -- effective filters of a few tokens, without and with a ghost head
#
#     gnuplot -e "here='figures'; data='elsa-filters.tsv'; out='elsa-filters.svg'" elsa-filters.gp
#
# Matrices of elsa-filters.c: the image, then for every token the filter of its
# head and of four channels.

load here."/style.gp"
eval sheet(760, 560, 15)

places = remark("tokens (row, column)")
y_of(k) = real(word(places, 2*k-1)); x_of(k) = real(word(places, 2*k))
set size ratio -1
eval no_axes
set border 15 linecolor rgb 0xb0b0b0
set yrange [*:*] reverse

set multiplot
eval title("One head's filter, and what the ghost head makes of it for four channels", "screen 0.02,0.955")
eval foot(2, "7×7 neighbours of three tokens.  Red +, white 0, blue −, each over its largest magnitude.  Nothing here is trained:", \
    "screen 0.02,0.055")
eval foot(3, "the head asks its neighbours for contrast; the factors of the channels are made by hand.", \
    "screen 0.02,0.022")

set palette gray
set lmargin at screen 0.02; set rmargin at screen 0.36
set bmargin at screen 0.30; set tmargin at screen 0.73
do for [k = 1:3] {
    set object k rectangle from x_of(k)-3.5,y_of(k)-3.5 to x_of(k)+3.5,y_of(k)+3.5 front fillstyle empty border rgb mark linewidth 2
    set label 10+k sprintf("%d", k) at x_of(k)-5.5,y_of(k) center front font ',17' textcolor rgb mark
}
plot data index "image" matrix using 1:2:3 with image
unset label 1; unset label 2; unset label 3
do for [k = 1:3] { unset object k; unset label 10+k }

eval signed
set cbrange [-1:1]
names = "'the head' 'right−left' 'below−above' 'centre' 'diagonal'"
side = 0.104; gap = 0.013; left = 0.405
do for [k = 1:3] {
    top = 0.83 - (k - 1) * 0.255
    do for [c = 0:4] {
        eval square(left + c * (side + gap), top, side)
        if (k == 1) { set label 4 word(names, c + 1) at graph 0.5,1.1 center font font.",12" textcolor rgb ink }
        if (c == 0) { set label 5 sprintf("%d", k) at graph -0.14,0.5 center textcolor rgb ink }
        plot data index (c == 0 ? sprintf("head %d", k) : sprintf("channel %d %d", k, c)) matrix using 1:2:3 with image
        unset label 4; unset label 5
    }
}
unset multiplot
