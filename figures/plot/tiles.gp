# tiles.gp -- pictures of matrices, and what is drawn around and over them
#
# A plot's axes are the pixels of the sheet, from its upper left corner.  The settings hold tiles and lines, how many
# there are, and an array for each of their attributes.  Blocks of the data, besides those of style.gp:
#     tile 001    a matrix; tile_x and tile_y, its corner; tile_wide and tile_high, the size of a cell; tile_palette,
#                 gray, viridis or signed; tile_low and tile_top, the values at the palette's ends
#     line 001    polylines of one kind (x, y), parted by blank lines; line_colour, line_width, line_dash
#     fills       rectangles (left, top, right, bottom, colour)
#     dots        circles (x, y, radius, colour)

load settings
load here."/style.gp"
gray = "set palette gray"
eval sheet
set cbrange [0:1]
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
    data index "dots" using 1:2:($3 / 4.5):4 with points pointtype 7 pointsize variable linecolor rgb variable, @texts
unset multiplot
