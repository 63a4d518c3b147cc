# elsa-border.gp -- what happens at the border of the grid
#
#     gnuplot -e "here='figures'; data='elsa-border.tsv'; out='elsa-border.svg'" elsa-border.gp
#
# Two maps of elsa-border.c, each with its own scale from 0.

load here."/style.gp"
eval sheet(760, 430, 15)

eval viridis
set size ratio -1
eval no_axes
set border 15 linecolor rgb ink
set yrange [*:*] reverse
set cbtics out nomirror format "%.0f %%" scale 0.4 offset -0.6,0
eval title("Share of a token's attention, K = 7", "screen 0.02,0.95")
eval foot(2, "28×28 tokens of real images, 24 channels, 3 heads, random parameters; nothing is trained:", 1)
eval foot(6, "which borders weigh more is the draw's.  Each map has its own scale.", 0)

set multiplot
side = 0.375; tall = side * wide / high; top = 0.82
eval square(0.02, top, side)
set colorbox user origin screen 0.405,top-tall size screen 0.015,tall
set label 3 "moved by a second bias" at graph 0,1.06 left textcolor rgb ink
set cbrange [0:*]
plot data index "weight moved by a second bias" matrix using 1:2:(100*$3) with image
eval once
eval square(0.515, top, side)
set colorbox user origin screen 0.900,top-tall size screen 0.015,tall
set label 3 "lost to neighbours off the grid" at graph 0,1.06 left textcolor rgb ink
plot data index "weight off the grid" matrix using 1:2:(100*$3) with image
unset multiplot
