# plot.gp -- draws a sheet that figures/plot/sheet.py has laid out: matrices, lines, rectangles, points and texts
#
# Its argument is a file of assignments: data (the file of the blocks), out (the SVG), wide and high (pixels),
# letters (font size), tiles and lines (their numbers) and an array for each of their attributes.  All positions
# are pixels from the upper left corner.  Blocks of the data:
#     tile 001    a matrix; tile_x and tile_y, its corner; tile_wide and tile_high, the size of a cell; tile_palette,
#                 gray, viridis or signed; tile_low and tile_top, the values at the palette's ends
#     line 001    polylines (x, y) of one kind, separated by blank lines; line_colour, line_width, line_dash
#     fills       rectangles (left, top, right, bottom, colour)
#     points      (x, y, size, type, colour)
#     text left   (x, y of the middle, text, colour); also right and center; text slanted has its angle at the end

load ARG1
set encoding utf8
set datafile separator "\t"
set terminal svg size wide,high font sprintf("sans-serif,%g", letters) background '#ffffff' linewidth 1
set output out

gray = "set palette gray"
viridis = "set palette defined (0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', ".\
    "4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725')"
signed = "set palette defined (-1 '#053061', -0.6 '#2f79b5', -0.25 '#a7cfe4', 0 '#ffffff', ".\
    "0.25 '#f9c4a9', 0.6 '#d6604d', 1 '#67001f')"

unset border; unset tics; unset key; unset colorbox
set lmargin at screen 0; set rmargin at screen 1; set bmargin at screen 0; set tmargin at screen 1
set xrange [0:wide]; set yrange [high:0]; set cbrange [0:1]
set style fill solid noborder

set multiplot
do for [i = 1:tiles] {
    eval value(tile_palette[i])
    plot data index sprintf("tile %03d", i) matrix using (tile_x[i] + ($1 + 0.5) * tile_wide[i]):\
        (tile_y[i] + ($2 + 0.5) * tile_high[i]):(($3 - tile_low[i]) / (tile_top[i] - tile_low[i])) with image
}
plot for [i = 1:lines] data index sprintf("line %03d", i) using 1:2 with lines \
        linecolor rgb line_colour[i] linewidth line_width[i] dashtype line_dash[i], \
    data index "fills" using (($1 + $3) / 2):(($2 + $4) / 2):1:3:2:4:5 with boxxyerror linecolor rgb variable, \
    data index "points" using 1:2:3:4:5 with points linewidth 1.5 pointsize variable pointtype variable \
        linecolor rgb variable, \
    data index "text left" using 1:2:3:4 with labels left textcolor rgb variable, \
    data index "text right" using 1:2:3:4 with labels right textcolor rgb variable, \
    data index "text center" using 1:2:3:4 with labels center textcolor rgb variable, \
    data index "text slanted" using 1:2:3:5:4 with labels left rotate variable textcolor rgb variable
unset multiplot
