# ladder.gp -- what each rung of a ladder costs
#
#     gnuplot -e "here='figures'; data='ladder-msa.tsv'; out='ladder-msa.svg'; of='Self-attention'" ladder.gp
#
# Columns of ladder.c, a panel each, and a line for each rung; below a gap the fast form.  The
# numbers are written; the length of a bar is the logarithm.

load here."/style.gp"

array heading[4] = ["multiply-adds", "bytes asked for", "bytes moved", "seconds"]
array number[4] = [5, 6, 7, 8]
array colour[4] = [blue, blue, blue, orange]
array low[4]; array high_end[4]
there(n) = strcol(number[n]) ne "–" && strcol(1) ne "projections" ? column(number[n]) : NaN
set datafile separator "\t"
do for [n = 1:4] {
    stats data using (there(n)) nooutput
    low[n] = STATS_min / 2
    high_end[n] = STATS_max
}
lines = int(system("grep -vc '^#' '".data."'")) - 1
rungs = lines - int(system("grep -c '^fast' '".data."'"))

# The line of a rung, counted from above; the projections have none.
begin = "at = 0"
place(name) = name eq "projections" ? NaN : (at = at + 1, at > rungs ? at + 0.5 : at)
named(name, threads) = threads == 1 ? name : name eq "fast" ? sprintf("fast, %d threads", threads) : sprintf("%s (%d)", name, threads)

# Three digits, and what they are to be multiplied with.
scaled(n, u) = n >= 999.5 ? scaled(n / 1000, u + 1) : \
    sprintf(u == 0 || n >= 99.95 ? "%.0f" : n >= 9.995 ? "%.1f" : "%.2f", n).(u == 0 ? "" : " ".word("k M G T P", u))
seconds(s) = s >= 0.9995 ? sprintf("%.2f s", s) : s >= 0.0995 ? sprintf("%.0f ms", s * 1e3) : \
    s >= 0.00995 ? sprintf("%.1f ms", s * 1e3) : s >= 0.0009995 ? sprintf("%.2f ms", s * 1e3) : sprintf("%.0f µs", s * 1e6)
shown(n) = there(n) != there(n) ? "" : n == 4 ? seconds(there(n)) : scaled(there(n), 0)

eval sheet(720, 150 + 25 * lines, 15)
eval title(of.", from the equation to nearly the fast form", sprintf("screen %g,%g", 16 / wide, 1 - 24 / high))
eval measured(2, 2)
eval foot(6, "Layer: ".system("sed -n 's/^# ladder: //p' '".data."' | sed 's/ --repeats.*//; s/ --without.*//'")."; projections are in it, not in the bytes.", 1)
eval foot(10, "Asked for: by loops, of the caches.  Moved: into the first cache, or out of it.  Lines: factors of 10.", 0)

left(n) = (236 + 128.0 * (n - 1)) / wide
set border 0
unset ytics
set grid xtics noytics
set logscale x
set yrange [lines + 1.1:0.3]
set tmargin at screen 1 - 62 / high
set bmargin at screen 74 / high

set multiplot
do for [n = 1:4] {
    set xrange [low[n]:high_end[n]]
    set xtics format "" 10 scale 0
    set lmargin at screen left(n); set rmargin at screen left(n) + 57 / wide
    set label 3 heading[n] at screen left(n) - 60 / wide,1 - 52 / high left textcolor rgb ink
    eval begin
    plot data using (low[n]):(place(strcol(1))):(there(n) == there(n) ? there(n) - low[n] : 0):(0) \
        with vectors nohead linecolor rgb colour[n] linewidth 9
    eval once
    unset label 3
    unset xtics
    eval begin
    plot data using (low[n]):(place(strcol(1))):(shown(n)) \
        with labels right offset -0.7,0 textcolor rgb ink
    if (n < 4) { continue }
    eval begin
    plot data using (low[n]):(place(strcol(1))):(named(strcol(1), column(3))) with labels left \
        offset screen 16 / wide - left(4),0 textcolor rgb ink
}
unset multiplot
