# roofline.gp -- the roofs of the machine, and the forms below them
#
#     gnuplot -e "here='figures'; data='roofline.tsv'; out='roofline.svg'" roofline.gp
#
# Multiply-adds a second against multiply-adds for each byte, both logarithmic: a level
# of memory is a slope, the vectors of the processor are the flat roof.  Full dots are
# fast forms, hollow ones naive.  The roofs stand in a table beside the data.

load here."/style.gp"
if (!exists("slide")) { slide = 0 }         # in letters for the last row, without title and feet
if (slide) { eval sheet(1240, 590, 22) } else { eval sheet(720, 660, 15) }
dot = 0.9
small = slide ? 19 : 13

levels = system(sprintf("echo '%s' | sed 's/\\.tsv$/-levels.tsv/'", data))
rate(l) = real(system(sprintf("awk -F '\t' '$1 == \"%s\" { print $3 }' '%s'", l, levels)))
there = system(sprintf("awk -F '\t' '!/^#/ && $1 != \"multiply-adds\" { print $1 }' '%s'", levels))
peak = rate("multiply-adds")
roof(l, x) = rate(l) * x < peak ? rate(l) * x : peak

# Dots: x, y, the name and its colour, of one form or of both; and where their names begin.
names = "msa|self-attention;msa-window|7×7 windows;lisa|LiSA;structsa|StructSA;elsa|ELSA;chopd|ChoP’D;dfc-cp|CP factors;hilo|HiLo;sra|SRA"
dots(f) = awk(sprintf("BEGIN { n = split(\"%s\", pair, \";\"); for (i = 1; i <= n; i++) { split(pair[i], p, \"|\"); name[p[1]] = p[2] } } ".\
    "$4 ~ /%s/ { k = $1 ($2 ~ /window/ ? \"-window\" : \"\"); print $13 \"\t\" $17 \"\t\" name[k] ($4 == \"fast\" ? sprintf(\"  %%.0f %%%%\", $18) : \"\") \"\t\" ($4 == \"fast\" ? %d : %d) }", names, f, written(blue), written(vermilion)))

set logscale xy
set xrange [0.05:6000]
above = slide ? 3.2 : 1.7                    # times the roof; on a slide some names stand there
# A little below the lowest dot.
lowest = 0.6 * real(system(awk("!/^#/ { if (!least || $17 < least) least = $17 } END { print least }")))
set yrange [lowest:peak*above]
set xtics ("1/16" 0.0625, "1/4" 0.25, "1" 1, "4" 4, "16" 16, "64" 64, "256" 256, "1 024" 1024, "4 096" 4096)
set ytics ("0.1" 0.1, "1" 1, "10" 10, "100" 100, "1 000" 1000)
set xlabel "multiply-adds for each byte of input, weights, output and workspace" offset 0,0.3 textcolor rgb ink
set ylabel "G multiply-adds a second" offset 1.5,0 textcolor rgb ink
set lmargin at screen 0.105; set rmargin at screen 0.97
below = slide ? 104 : 134; over = slide ? 12 : 52
set bmargin at screen below / high
set tmargin at screen 1 - over / high
if (!slide) {
    eval title("How near to what the machine allows", "graph -0.02,1.07")
    eval foot(2, "One thread, float.  Full: fast forms, and how much of their roof they reach; hollow: naive ones.", 2)
    eval foot(6, "Slopes: levels of memory, and GB/s read from them.", 1)
    eval measured(7, 0)
}

set label 20 sprintf("vectors from registers: %.0f", peak) at 5600,peak*(slide ? 2 : 1.25) right font font.",".small textcolor rgb faint
decade_x = 0.865 * wide / log10(6000 / 0.05)
decade_y = (high - below - over) / log10(above / lowest * peak)
slant = atan2(decade_y, decade_x) * 180 / pi
n = 20; before = 1e9
do for [l in there] {
    n = n + 1
    x = before < 2 * rate(l) ? 2.5 * x : 0.058          # further on where the slope before is near
    before = rate(l)
    set label n sprintf("%s  %.0f", l, rate(l)) at x,x*rate(l) offset 1,(slide ? 0.9 : 1.7) rotate by slant \
        font font.",".(slide ? 15 : small) textcolor rgb faint
}
named = sprintf("< %s | awk -v across=%g -v up=%g -v letter=%g -v line=%g -v dot=%g -v most=5500 -v top=%g -v roof=%g -f '%s/apart.awk'", \
    dots("."), decade_x, decade_y, slide ? 8.9 : 7.2, slide ? 17 : 13, slide ? 14 : 10, slide ? above * peak : peak, peak, here)
plot for [l in there] roof(l, x) linecolor rgb faint linewidth 1.2, \
     named using 5:6:7:8 with vectors nohead linecolor rgb faint linewidth 0.8, \
     "< ".dots("naive") using 1:2 with points pointtype 6 pointsize dot linewidth 1.5 linecolor rgb vermilion, \
     "< ".dots("fast") using 1:2 with points pointtype 7 pointsize dot linecolor rgb blue, \
     named using 1:2:3:4 with labels left font font.",".(slide ? 16 : 12) textcolor rgb variable
