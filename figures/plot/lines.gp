# lines.gp -- panels of lines: scaling against N, errors, ratios, the roofline
#
# Settings, an array each with an element a panel: left, right, top, bottom (pixels), log_axes (the logarithmic ones),
# xrange, yrange, xtics, ytics (as gnuplot has them), first and last line; with one a line: colour, weight, dash.
# Blocks: `line N.` (x, y), and of panel P `bars P.` (x, low, 0, height, colour) and `points P.` (x, y, size, type,
# colour).

load settings
load here."/style.gp"

set multiplot
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
