# cuda.gp -- what each rung of a chapter's ladders asks of the memory
#
#     gnuplot -e "here='figures'; data='lisa-cuda.tsv'; out='lisa-cuda.svg'" cuda.gp
#
# Columns of cuda.c, a panel each; operators one below another, and a line for each rung.
# The numbers are written; the length of a bar is the logarithm, and a zero has none.

load here."/style.gp"

array heading[4] = ["sectors", "bytes asked for", "bytes touched", "shared cycles"]
array number[4] = [5, 6, 7, 9]
array colour[4] = [blue, blue, blue, orange]
array low[4]; array high_end[4]
positive(n) = column(number[n]) > 0 ? column(number[n]) : NaN
do for [n = 1:4] {
    stats data using (positive(n)) nooutput
    low[n] = STATS_min / 2
    high_end[n] = STATS_max
}

# Operators have a line for their words, above those of their rungs: those are known by
# how many rungs stand before them.
stats data using 5 nooutput
rungs = int(STATS_records)
operators = int(system("grep -c '^# counted: ' '".data."'"))
said(o) = system(sprintf("sed -n 's/^# counted: //p' '%s' | sed -n %dp", data, o))
before(o) = int(system(sprintf("awk '/^# counted: / && ++o == %d { print n + 0 } !/^#/ { n++ }' '%s'", o, data)))
ROOM = 1.4
lines = rungs + ROOM * operators

# The line of a rung, counted from above, where each is asked for in turn.
begin = "last = ''; at = 0"
place(operator) = (at = at + 1 + (operator eq last ? 0 : ROOM), last = operator, at)

# Three digits, and what they are to be multiplied with.
scaled(n, u) = n >= 999.5 ? scaled(n / 1000, u + 1) : \
    sprintf(u == 0 || n >= 99.95 ? "%.0f" : n >= 9.995 ? "%.1f" : "%.2f", n).(u == 0 ? "" : " ".word("k M G T", u))
shown(n) = n == 0 ? "–" : scaled(n, 0)

eval sheet(600, 134 + 25 * lines, 15)
eval title("What each rung asks of the memory", sprintf("screen %g,%g", 16 / wide, 1 - 24 / high))
eval foot(2, "Counted in one run, in float: the same on every machine.  Cycles of shared memory by a model.", 2)
eval foot(6, "Sectors: of 32 bytes, as often as warps ask.  Touched: each sector once a launch.", 1)
eval foot(10, "Not counted: the library's products and transforms.  Lines: factors of 10.", 0)

left(n) = (152 + 124.0 * (n - 1)) / wide
set border 0
unset ytics
set grid xtics noytics
set style textbox opaque noborder fillcolor rgb 0xffffff margins 0.4,0.2
set logscale x
set yrange [lines + 0.6:0.3]
set tmargin at screen 1 - 62 / high
set bmargin at screen 70 / high

set multiplot
do for [n = 1:4] {
    set xrange [low[n]:high_end[n]]
    set xtics format "" 10 scale 0
    set lmargin at screen left(n); set rmargin at screen left(n) + 57 / wide
    set label 3 heading[n] at screen left(n) - 56 / wide,1 - 52 / high left textcolor rgb ink
    eval begin
    plot data using (low[n]):(place(strcol(1))):(column(number[n]) > 0 ? positive(n) - low[n] : 0):(0) \
        with vectors nohead linecolor rgb colour[n] linewidth 9
    eval once
    unset label 3
    unset xtics
    eval begin
    plot data using (low[n]):(place(strcol(1))):(shown(column(number[n]))) \
        with labels right offset -0.7,0 textcolor rgb ink
    if (n < 4) { continue }

    # On the last panel, above the lines of all: the names, and what was said.
    do for [o = 1:operators] {
        set label 20 + o said(o) at screen 16 / wide,first before(o) + ROOM * o - 0.1 left noenhanced boxed \
            font font.",12" textcolor rgb faint
    }
    eval begin
    plot data using (low[n]):(place(strcol(1))):(strcol(2)) with labels left \
        offset screen 16 / wide - left(4),0 textcolor rgb ink
}
unset multiplot
