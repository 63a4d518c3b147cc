# chopd-tensor.gp -- the dense tensor of a small layer beside its factors
#
#     gnuplot -e "here='figures'; data='chopd-tensor.tsv'; out='chopd-tensor.svg'" chopd-tensor.gp
#
# Matrices of chopd-tensor.c.  In pictures of pictures lines part what belongs
# to one token.

load here."/style.gp"
eval sheet(900, 640, 15)

tall = wide / high
eval no_axes
set border 0
set autoscale fix
set yrange [*:*] reverse
set object 1 rectangle from graph 0,0 to graph 1,1 front fillstyle empty border rgb 0xa8a8a8 linewidth 1
pale = 0xa8a8a8
part(on) = on ? "do for [k = 1:5] { ".\
    "set arrow k from 6*k-0.5,graph 0 to 6*k-0.5,graph 1 nohead front linecolor rgb pale linewidth 1; ".\
    "set arrow 10+k from graph 0,first 6*k-0.5 to graph 1,first 6*k-0.5 nohead front linecolor rgb pale linewidth 1 }" : "unset arrow"
eval signed
set cbrange [-1:1]

set multiplot
eval title("A dense layer, and the three terms that make it", "screen 0.02,0.955")
eval foot(2, "6×6 tokens, two channels in and out.  A square within a square: where it stands on the grid is n; its 6×6 cells are the weights of all m.", 1)
eval foot(3, "Red +, white 0, blue −.  ".remark("numbers").".  Boxes and channels by hand, the gate at random.", 0)
set label 4 "W_{mncd}" at screen 0.215,0.885 center textcolor rgb ink
set label 5 "=  Σ" at screen 0.434,0.50 center font font.",18" textcolor rgb ink
set label 6 "pooling\nu2_{mnr}" at screen 0.610,0.912 center textcolor rgb ink
set label 7 "gate\nu13_{nr}" at screen 0.776,0.912 center textcolor rgb ink
set label 8 "channels\nu4_{cr} u5_{dr}" at screen 0.915,0.912 center textcolor rgb ink
side = 0.182
eval part(1)
do for [c = 1:2] {
    do for [d = 1:2] {
        eval square(0.022 + (d - 1) * (side + 0.015), 0.81 - (c - 1) * (side * tall + 0.085), side)
        set label 9 sprintf("c = %d, d = %d", c, d) at graph 0.5,1.06 center font font.",12" textcolor rgb ink
        plot data index sprintf("tensor %d %d", c, d) matrix using 1:2:3 with image
        unset label 1; unset label 2; unset label 3; unset label 4; unset label 5; unset label 6; unset label 7; unset label 8
    }
}
unset label 9
side = 0.150
do for [r = 1:3] {
    top = 0.85 - (r - 1) * (side * tall + 0.035)
    middle = top - side * tall / 2
    eval square(0.535, top, side)
    eval part(1)
    set label 10 sprintf("r = %d", r) at graph -0.06,0.5 right textcolor rgb ink
    set label 11 "⊙" at screen 0.703,middle center font font.",18" textcolor rgb ink
    set label 12 "⊗" at screen 0.856,middle center font font.",18" textcolor rgb ink
    plot data index sprintf("pooling %d", r) matrix using 1:2:3 with image
    unset label 10; unset label 11; unset label 12
    eval part(0)
    set palette gray
    set cbrange [0:1]
    eval square(0.721, middle + 0.055 * tall, 0.11)
    plot data index sprintf("gate %d", r) matrix using 1:2:3 with image pixels
    eval signed
    set cbrange [-1:1]
    eval square(0.880, middle + 0.035 * tall, 0.07)
    plot data index sprintf("channels %d", r) matrix using 1:2:3 with image pixels
}
unset multiplot
