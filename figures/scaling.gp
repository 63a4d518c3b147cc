# scaling.gp -- a layer's time, memory or work against the number of tokens
#
#     gnuplot -e "here='figures'; row='lisa'; quantity='time'; data='lisa.tsv'; out='lisa.svg'" scaling.gp
#
# One quantity of a table that measure.c made: time, memory, or work, which is
# multiply-adds.  Names and fitted exponents stand at the ends of the lines, a time's
# quartiles as bars on its points.  Dotted lines are estimates (series.awk), a cross
# is the first size that was not run.  A
# row's own file, lisa.gp, sets
#
#     keys                   its series, as SERIES/FORM, the last on top
#     colour(k), weight(k)   of a line; weights are 1, 2 or 3
#     text(k)                its name, empty for none
#     layer, remarks         two of the lines at the foot
#
# and whatever it wants otherwise than it is here.

load here."/style.gp"
eval sheet(720, 540, 15)

time = quantity eq "time"; memory = quantity eq "memory"; work = quantity eq "work"
column = time ? "median_seconds" : memory ? "peak_bytes" : "multiply_adds"
largest = real(system(cut("sizes", "all"))); top = real(system(cut("top", "all")))

set logscale xy
set xlabel "tokens N, on square grids" offset 0,0.3 textcolor rgb ink
set lmargin at screen 0.115
set rmargin at screen 0.715
set bmargin at screen 158 / high
set tmargin at screen 1 - 52 / high

if (time) {
    heading = "Time of one layer"
    set ytics ("10 µs" 1e-5, "100 µs" 1e-4, "1 ms" 1e-3, "10 ms" 1e-2, "100 ms" 0.1, \
        "1 s" 1, "10 s" 10, "100 s" 100, "10^3 s" 1e3, "10^4 s" 1e4, "10^5 s" 1e5, "10^6 s" 1e6)
}
if (memory) {
    heading = "Memory of one layer, beside input, output and parameters"
    set ytics ("4 KiB" 2**12, "64 KiB" 2**16, "1 MiB" 2**20, "16 MiB" 2**24, \
        "256 MiB" 2**28, "4 GiB" 2.0**32, "64 GiB" 2.0**36, "1 TiB" 2.0**40, "16 TiB" 2.0**44)
}
if (work) {
    heading = "Multiply-adds of one layer, by formula"
    set ytics format "10^{%T}"; unset mytics
}

# What a row may want otherwise.
line(k) = 0.4 + 0.8*weight(k)           # where measured
dotted(k) = 0.6 + 0.5*weight(k)         # where estimated
dot(k) = 0.25 + 0.1*weight(k)
run_on = work ? "." : ", one thread, float."
names = 13                              # size of the letters at the ends of lines
spread = 0.055                          # least distance between them, of the height
away = 0.045                            # how far they stand off, of the width
room = 4                                # above the largest value, as a factor
cross = 0.8
above = ""; below = ""                  # keys whose crosses say why, above them or below
guides = ""                             # of linear, loglinear and square

crossed = system(cut("crosses", "all")) + 0 ? "Crosses were not run.  " : ""
beyond = system(cut("dots", "all")) + 0 ? "Dotted: by formula.  " : ""
load here."/".row.".gp"

# The largest size has a tick, and those of half its side, a quarter, …
least = real(system(cut("least", "all")))
low = least / (strlen(guides) ? 12 : 3)
smallest = real(system(cut("smallest", "all")))
thousands(n) = n < 1000 ? sprintf("%d", n) : sprintf("%d %03d", int(n) / 1000, int(n) % 1000)
set xrange [smallest/1.12:largest*1.12]
set xtics (thousands(largest) largest)
do for [n = 1:9] {
    tic = largest / 4.0**n
    if (tic >= smallest / 1.12 && tic == int(tic)) { set xtics add (thousands(tic) tic) }
}
set yrange [low:top*room]

do for [k in keys] { if (strlen(text(k))) { label = label.sprintf("%s|%s|%d;", k, text(k), written(colour(k))) } }
gap = spread * log10(top * room / low)
step = 10**(away * log10(1.12**2 * largest / smallest))
eval system(cut("leaders", "all"))
eval title(heading, "graph -0.02,1.07")
fitted = system(cut("fits", "all")) + 0
eval foot(2, layer.run_on, fitted ? 3 : 2)
if (fitted) { eval foot(6, "Exponents of N are fitted over the last factor of 16 in N, where four sizes or more lie in it.", 2) }
eval foot(8, remarks, 1)
if (!work) { eval measured(7, 0) }

# Guides fan out in the empty corner below all lines, the square for two octaves.
x0 = largest / 16; y0 = low * 1.4
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
    for [k in time ? keys : ""] "< ".cut("points", k) using 1:2:3:4 with yerrorbars linecolor rgb colour(k) \
        linewidth 1 pointtype 0, \
    for [k in keys] "< ".cut("points", k) using 1:2 with linespoints linecolor rgb colour(k) linewidth line(k) \
        pointtype 7 pointsize dot(k), \
    for [k in keys] "< ".cut("stop", k) using 1:2 with points linecolor rgb colour(k) linewidth 2.5*cross \
        pointtype 2 pointsize cross, \
    for [k in above] "< ".cut("stop", k) using 1:2:3 with labels right offset -1,0.5 font font.",12" \
        textcolor rgb written(colour(k)), \
    for [k in below] "< ".cut("stop", k) using 1:2:3 with labels left offset 1,-0.5 font font.",12" \
        textcolor rgb written(colour(k)), \
    "< ".cut("ends", "all") using 1:2:3:4 with labels left offset graph away,0 font font.",".names textcolor rgb variable
