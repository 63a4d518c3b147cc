# style.gp -- what all figures have in common
#
# Given with -e: here, this folder; data, the TSV file; out, the SVG file.  Size
# and margins are each figure's own.

set encoding utf8
set datafile separator "\t"
font = "sans-serif"
ink = 0x333333                          # axes and titles
faint = 0x6b6b6b                        # guides and remarks
mark = 0xffb000                         # on photographs

# Okabe and Ito's colours, which colour-blind eyes tell apart, some of them a little
# darker to be seen on white: 3:1 at least.  Letters are thinner than lines: what is
# written in a colour has 4.5:1.
blue = 0x0072b2; sky = 0x4699c8; green = 0x009e73; orange = 0xc78300
vermilion = 0xd55e00; purple = 0xb8558a; black = 0x000000
written(c) = c == sky ? 0x3a7698 : c == green ? 0x00805d : c == orange ? 0x996300 : \
    c == vermilion ? 0xb95100 : c == purple ? 0xa94d7e : c

# The sheet, wide x high pixels, and the size of its letters.  What these functions
# return is to be evaluated.
sheet(w, h, letters) = sprintf("wide = %d.0; high = %d.0; ", w, h).\
    sprintf("set terminal svg size %d,%d font '%s,%d' background '#ffffff' linewidth 1; ", w, h, font, letters).\
    "set output out"
set border 3 linecolor rgb ink linewidth 1
set tics out nomirror scale 0.6 textcolor rgb ink
set grid ytics linecolor rgb 0xe6e6e6 linewidth 1 linetype 1
set key off
set samples 200
set errorbars 0

# A title, label 1, at a place such as "screen 0.02,0.945"; it is also printed, and
# redraw.sh names the drawing by it.  Label n at the foot of the sheet, in its line
# l, counted from below.
title(text, where) = "set label 1 \"".text."\" at ".where." left font '".font.",17' textcolor rgb ink; ".\
    "print \"title: ".text."\""
foot(n, text, l) = sprintf("set label %d \"", n).text.sprintf("\" at screen %g,%g left font '", 14 / wide, (12 + 18.0 * l) / high).\
    font.",12' textcolor rgb faint"

# In a multiplot, after its first plot: what stands on the sheet once is drawn once.
once = "unset label 1; unset label 2; unset label 6; do for [n = 10:13] { unset label n }"

# What a matrix is drawn without; palettes: viridis, by its knots, and for signed
# values blue, white and red.
no_axes = "unset grid; unset colorbox; unset xtics; unset ytics"
viridis = "set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', ".\
    "4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')"
signed = "set palette defined (-1 '#053061', -0.6 '#2f79b5', -0.25 '#a7cfe4', 0 '#ffffff', ".\
    "0.25 '#f9c4a9', 0.6 '#d6604d', 1 '#67001f')"

# A square with its upper left corner there, in shares of the sheet.
square(left, top, side) = sprintf("set lmargin at screen %g; set rmargin at screen %g; ", left, left + side).\
    sprintf("set tmargin at screen %g; set bmargin at screen %g", top, top - side * wide / high)

# Where all is laid out in pixels, from the upper left: a plot, a label, one at the
# foot, and how small ones are set.
place(x, y, w, h) = sprintf("set origin %g,%g; set size %g,%g", x / wide, 1 - (y + h) / high, w / wide, h / high)
write(n, text, x, y, how) = sprintf("set label %d \"%s\" at screen %g,%g %s", n, text, x / wide, 1 - y / high, how)
note(n, text, up) = write(n, text, 16, high - up, "left font '".font.",14' textcolor rgb faint")
small_print = "center textcolor rgb faint font '".font.",14'"

# A sheet of many small matrices: its axes are its pixels, so that all matrices of one palette
# are one plot.  A matrix of so many cells a side with its upper left corner there, as a
# piece of a plot; a square of lines and no filling, as a piece of a datablock, $frames or another.
tiled = "unset border; unset grid; unset colorbox; unset xtics; unset ytics; set origin 0,0; set size 1,1; ".\
    "set lmargin at screen 0; set rmargin at screen 1; set bmargin at screen 0; set tmargin at screen 1; ".\
    "set xrange [0:wide]; set yrange [high:0]"
tile(name, cells, x, y, side) = sprintf("data index \"%s\" matrix using (%g + $1 * %g):(%g + $2 * %g):3 with image, ", \
    name, x + side * 0.5 / cells, side * 1.0 / cells, y + side * 0.5 / cells, side * 1.0 / cells)
box(x, y, side) = sprintf("%g\t%g\n%g\t%g\n%g\t%g\n%g\t%g\n%g\t%g\nNaN\tNaN", x, y, x + side, y, x + side, y + side, x, y + side, x, y)

# What a comment of the data says.
remark(word) = system("sed -n 's/^# ".word.": //p' '".data."' | head -n 1")

# Lines of the data, as commands: by an awk program in which at[NAME] is a column
# of the header, and those of one series alone.
awk(program) = "awk -F '\t' '/^#series/ { for (i = 1; i <= NF; i++) at[$i] = i } /^#/ { next } ".program."' '".data."'"
series(k) = awk(sprintf("$1 == \"%s\"", k))

# What series.awk cuts from the data.  The column, and for the ends of lines their
# labels and the gap between them, are the figure's.  Labels stand in double
# quotes: ChoP'D has an apostrophe.
label = ""
gap = 0
step = 1
column = ""
cut(want, key) = sprintf("awk -f '%s/series.awk' -v want=%s -v key=%s -v column=%s", here, want, key, column).\
    sprintf(" -v gap=%g -v step=%g -v label=\"%s\" '%s'", gap, step, label, data)

# The machine and the day, which stand in the comments of the data, as label n.  A
# machine's name may hold what enhanced text takes for commands.
measured(n, l) = foot(n, system(cut("measured", "-")), l)." noenhanced"
