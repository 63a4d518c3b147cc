# lines.gp -- panels of lines: scaling against N, errors, ratios, the roofline
#
# Settings, an array each with an element a panel: left, right, top, bottom (pixels), log (axes that are logarithmic),
# xrange, yrange, xtics, ytics (as gnuplot has them), first and last line.  With an element a line: colour, weight, dash.
# Blocks: `line N.` (x, y), and of panel P `bars P.` (x, low, 0, height, colour) and `points P.` (x, y, size, type,
# colour); matrices titled `picture N.`, at (picture_x[N], picture_y[N]), picture_side[N] pixels wide.

load settings
load here."/style.gp"

set multiplot
if (exists("picture_x")) {
    eval viridis
    eval sheet
    set cbrange [picture_low:picture_high]
    plot for [n = 1:|picture_x|] data index sprintf("picture %d.", n) matrix \
        using (picture_x[n] + ($1 + 0.5) * picture_side / picture_cells):(picture_y[n] + ($2 + 0.5) * picture_side / picture_cells):3 with image
    set border 3 linecolor rgb ink linewidth 1
    set grid ytics linecolor rgb line_grid linewidth 1 linetype 1
}
do for [p = 1:|left|] {
    set lmargin at screen left[p] / wide; set rmargin at screen right[p] / wide
    set tmargin at screen 1 - top[p] / high; set bmargin at screen 1 - bottom[p] / high
    unset logscale
    eval "set xrange ".xrange[p]."; set yrange ".yrange[p]
    if (strlen(log_axes[p])) { eval "set logscale ".log_axes[p] }
    eval "set xtics (".xtics[p].") nomirror out scale 0.6; set ytics (".ytics[p].") nomirror out scale 0.6"
    plot for [n = first[p]:last[p]] data index sprintf("line %d.", n) using 1:2 with lines \
             linecolor rgb colour[n] linewidth weight[n] dashtype dash[n], \
         data index sprintf("bars %d.", p) using 1:2:3:4:5 with vectors nohead linewidth 1 linecolor rgb variable, \
         data index sprintf("points %d.", p) using 1:2:3:4:5 with points linewidth 1.5 pointsize variable \
             pointtype variable linecolor rgb variable
}
eval sheet
plot @strokes, @texts
unset multiplot
