# slide.gp -- the gap of one operator, in letters for the last row of a lecture hall
#
#     gnuplot -e "here='figures'; data='lisa.tsv'; series_='eq10'; out='slide.svg'" slide.gp
#
# Two panels, the seconds and the bytes of the naive form and of the fast one against
# the number of tokens.  Title and remarks are the slide's.

load here."/style.gp"
eval sheet(1240, 560, 24)

naive = series_."/naive"; fast = series_."/fast"
set logscale xy
set tmargin at screen 0.88; set bmargin at screen 0.19
set xlabel "tokens N" offset 0,0 textcolor rgb ink
thousands(n) = n < 1000 ? sprintf("%d", n) : sprintf("%d %03d", int(n) / 1000, int(n) % 1000)
first = real(system(sprintf("%s | cut -f 1 | head -n 1", cut("points", naive))))
last = real(system(sprintf("%s | cut -f 1 | tail -n 1", cut("points", fast))))
set xrange [first/1.2:last*1.2]
set xtics (thousands(last) last)
do for [n = 1:4] { if (last / 8**n >= first) { set xtics add (thousands(last / 8**n) last / 8**n) } }

# Names stand above the last point of a form, within the panel.
low(f) = real(system(sprintf("%s | cut -f 2 | sort -g | head -n 1", cut("points", f))))
high(f) = real(system(sprintf("%s | cut -f 2 | sort -g | tail -n 1", cut("points", f))))
least_of(none) = low(fast) < low(naive) ? low(fast) : low(naive)
most_of(none) = high(fast) > high(naive) ? high(fast) : high(naive)
text(n, f, name, colour) = sprintf("set label %d \"%s\" at %g,%g right offset -0.6,0.9 textcolor rgb %d", n, name, \
    real(system(sprintf("%s | cut -f 1 | tail -n 1", cut("points", f)))), real(system(sprintf("%s | cut -f 2 | tail -n 1", cut("points", f)))), written(colour))

set multiplot
column = "median_seconds"
set lmargin at screen 0.085; set rmargin at screen 0.45
set yrange [least_of(0)/2:most_of(0)*6]
set ytics ("10 µs" 1e-5, "" 1e-4, "1 ms" 1e-3, "" 1e-2, "100 ms" 0.1, "" 1, "10 s" 10)
set label 3 "time" at graph 0.0,1.06 left textcolor rgb ink
eval text(4, naive, "naive", vermilion)
eval text(5, fast, "fast", blue)
plot "< ".cut("points", naive) using 1:2 with linespoints linecolor rgb vermilion linewidth 4 pointtype 7 pointsize 1.2, \
     "< ".cut("points", fast) using 1:2 with linespoints linecolor rgb blue linewidth 4 pointtype 7 pointsize 1.2

column = "peak_bytes"
set lmargin at screen 0.61; set rmargin at screen 0.965
set yrange [least_of(0)/2:most_of(0)*6]
set ytics ("16 KiB" 2**14, "256 KiB" 2**18, "4 MiB" 2**22, "64 MiB" 2**26, "1 GiB" 2.0**30)
set label 3 "peak memory"
eval text(4, naive, "naive", vermilion)
eval text(5, fast, "fast", blue)
plot "< ".cut("points", naive) using 1:2 with linespoints linecolor rgb vermilion linewidth 4 pointtype 7 pointsize 1.2, \
     "< ".cut("points", fast) using 1:2 with linespoints linecolor rgb blue linewidth 4 pointtype 7 pointsize 1.2
unset multiplot
