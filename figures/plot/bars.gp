# bars.gp -- bars and numbers, laid out in pixels: counts of requests, steps of a ladder, images a second
#
# Block `bars` (left, right, top, bottom, colour); grid lines are among the strokes, numbers among the texts.

load settings
load here."/style.gp"
set style fill solid noborder
eval sheet
plot @strokes, data index "bars" using 1:3:1:2:3:4:5 with boxxyerror linecolor rgb variable, @texts
