# style.gp -- what all templates have in common
#
# A template loads `settings`, a file that figures/sheet.py wrote and -e names, then this one.  The settings assign here
# (this folder), data (the file of plain columns), out (the SVG), wide and high (the sheet in pixels) and letters (their
# size).  A template only draws: positions, tics and texts are worked out in Python.

set encoding utf8
set datafile separator "\t"
font = "sans-serif"
ink = 0x333333                          # axes and titles
faint = 0x6b6b6b                        # guides and remarks
line_grid = 0xe6e6e6

set terminal svg size wide,high font sprintf("%s,%g", font, letters) background '#ffffff' linewidth 1
set output out
set border 3 linecolor rgb ink linewidth 1
set tics out nomirror scale 0.6 textcolor rgb ink
set grid ytics linecolor rgb line_grid linewidth 1 linetype 1
set key off
set errorbars 0

# Palettes: viridis by its knots, and for signed values blue, white and red.
viridis = "set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', ".\
    "4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')"
signed = "set palette defined (-1 '#053061', -0.6 '#2f79b5', -0.25 '#a7cfe4', 0 '#ffffff', ".\
    "0.25 '#f9c4a9', 0.6 '#d6604d', 1 '#67001f')"

# A plot whose axes are the pixels of the sheet, from its upper left corner.
sheet = "unset border; unset grid; unset colorbox; unset xtics; unset ytics; unset logscale; ".\
    "set origin 0,0; set size 1,1; set lmargin at screen 0; set rmargin at screen 1; set bmargin at screen 0; ".\
    "set tmargin at screen 1; set xrange [0:wide]; set yrange [high:0]"

# Pieces of such a plot, which every data file has blocks for: `strokes` (x, y, dx, dy, colour) and the texts by
# their anchor (x, y of their middle, text, colour), slanted ones with an angle.  Title and foot are among them.
strokes = 'data index "strokes" using 1:2:3:4:5 with vectors nohead linewidth 0.7 linecolor rgb variable'
texts = 'data index "text left" using 1:2:3:4 with labels left textcolor rgb variable, '.\
    'data index "text right" using 1:2:3:4 with labels right textcolor rgb variable, '.\
    'data index "text center" using 1:2:3:4 with labels center textcolor rgb variable, '.\
    'data index "text slanted" using 1:2:3:4:5 with labels left rotate variable textcolor rgb variable'
