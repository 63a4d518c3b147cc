# lisa-border.gp -- where on the grid wrapping around makes a difference
#
#     gnuplot -e "here='figures'; data='lisa-border.tsv'; out='lisa-border.svg'" lisa-border.gp
#
# Two maps of lisa-border.c under one scale.

load here."/style.gp"
eval sheet(760, 440, 15)

stats data index "wide" matrix nooutput
largest = STATS_max
eval viridis
set cbrange [0:largest]
set size ratio -1
eval no_axes
set border 15 linecolor rgb ink
set yrange [*:*] reverse
set xrange [STATS_size_x*0 - 0.5 : STATS_size_x - 0.5]
set cbtics out nomirror format "%g"
eval title("Eq. 10 against Eq. 7, token by token:  rms difference / rms output", "screen 0.035,0.95")
eval foot(2, "Same tables in both, 56×56 tokens of real images, C = 96, 6 heads, D = 16; random parameters", 0)

set multiplot
set lmargin at screen 0.035; set rmargin at screen 0.445
set tmargin at screen 0.80; set bmargin at screen 0.10
set label 3 "tables that reach everywhere" at graph 0,1.05 left textcolor rgb ink
plot data index "wide" matrix using 1:2:3 with image
set lmargin at screen 0.475; set rmargin at screen 0.885
set colorbox user origin screen 0.905,0.10 size screen 0.02,0.70
eval once
set label 3 "tables four tokens wide" at graph 0,1.05 left textcolor rgb ink
plot data index "narrow" matrix using 1:2:3 with image
unset multiplot
