# scaling.gp -- a layer's time, memory or work against the number of tokens
#
#     gnuplot -e "here='figures'; row='lisa'; quantity='time'; data='lisa.tsv'; out='lisa.svg'" scaling.gp
#
# One quantity of a table that measure.c made: time, memory, or work, which is
# multiply-adds.  Names and fitted exponents stand at the ends of the lines.  Dotted
# lines are estimates (series.awk), a cross is the first size that was not run.  A
# row's own file, lisa.gp, sets
#
#     keys                   its series, as SERIES/FORM, the last on top
#     colour(k), weight(k)   of a line; weights are 1, 2 or 3
#     text(k)                its name, empty for none
#     layer, remarks         the two lines at the foot
#     low, room              the least value; room above the largest, as a factor
#
# and the range and tics of N, and whatever it wants otherwise than it is here.

load here."/style.gp"
eval sheet(720, 490, 15)

time = quantity eq "time"; memory = quantity eq "memory"; work = quantity eq "work"
column = time ? "median_seconds" : memory ? "peak_bytes" : "multiply_adds"
largest = real(system(cut("sizes", "all"))); top = real(system(cut("top", "all")))

set logscale xy
set xlabel "tokens N, on square grids" offset 0,0.3 textcolor rgb ink
set lmargin at screen 0.115
set rmargin at screen 0.715
set bmargin at screen 0.235
set tmargin at screen 0.895

if (time) {
    heading = "Time of one layer"
    set ytics ("10 µs" 1e-5, "100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1, \
        "1 s" 1, "10 s" 10, "2 min" 120, "1 h" 3600, "1 day" 86400)
}
if (memory) {
    heading = "Memory of one layer, beside input, output and parameters"
    set ytics ("4 KiB" 2**12, "64 KiB" 2**16, "1 MiB" 2**20, "16 MiB" 2**24, \
        "256 MiB" 2**28, "4 GiB" 2.0**32, "64 GiB" 2.0**36, "1 TiB" 2.0**40)
}
if (work) {
    heading = "Multiply-adds of one layer, by formula"
    set ytics format "10^{%T}"; unset mytics
}

# What a row may want otherwise.
line(k) = 0.4 + 0.8*weight(k)           # where measured
dotted(k) = 0.6 + 0.5*weight(k)         # where estimated
dot(k) = 0.25 + 0.1*weight(k)
run_on = ", one thread, float.  ".remark("machine")
names = 13                              # size of the letters at the ends of lines
spread = 0.055                          # least distance between them, of the height
cross = 0.8
above = ""; below = ""                  # keys whose crosses say why, above them or below
guides = ""                             # of linear, loglinear and square

load here."/".row.".gp"

do for [k in keys] { if (strlen(text(k))) { label = label.sprintf("%s|%s|%d;", k, text(k), colour(k)) } }
gap = spread * log10(top * room / low)
set yrange [low:top*room]
eval title(heading, "graph -0.02,1.07")
eval foot(2, layer.run_on, "screen 0.02,0.075")
eval foot(6, remarks, "screen 0.02,0.033")

# Guides fan out in the empty corner below all lines, the square for two octaves.
x0 = largest / 16; y0 = low * 1.6
fan(g, x) = x < x0 ? NaN : g eq "linear" ? y0 * x / x0 : g eq "loglinear" ? y0 * x * log(x) / (x0 * log(x0)) : \
    x <= 4*x0 ? y0 * (x / x0)**2 : NaN
if (strlen(guides)) {
    set label 3 "N" at largest*1.05,fan("linear", largest) left offset 0.3,-0.2 font font.",12" textcolor rgb faint
    set label 4 "N log N" at largest*1.05,fan("loglinear", largest) left offset 0.3,0.45 font font.",12" \
        textcolor rgb faint
    set label 5 "N^2" at 4*x0,fan("square", 4*x0) left offset 0.3,0.4 font font.",12" textcolor rgb faint
}

plot \
    for [g in guides] fan(g, x) linecolor rgb faint dashtype 2, \
    for [k in keys] "< ".cut("estimate", k) using 1:2 with lines linecolor rgb colour(k) linewidth dotted(k) \
        dashtype 3, \
    for [k in keys] "< ".cut("points", k) using 1:2 with linespoints linecolor rgb colour(k) linewidth line(k) \
        pointtype 7 pointsize dot(k), \
    for [k in keys] "< ".cut("stop", k) using 1:2 with points linecolor rgb colour(k) linewidth 2.5*cross \
        pointtype 2 pointsize cross, \
    for [k in above] "< ".cut("stop", k) using 1:2:3 with labels right offset -1,0.5 font font.",12" \
        textcolor rgb colour(k), \
    for [k in below] "< ".cut("stop", k) using 1:2:3 with labels left offset 1,-0.5 font font.",12" \
        textcolor rgb colour(k), \
    "< ".cut("ends", "all") using 1:2:3:4 with labels left offset 0.8,0 font font.",".names textcolor rgb variable
