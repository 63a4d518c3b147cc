# chopd-rank.gp -- relative error of CP decompositions against their rank
#
#     gnuplot -e "here='figures'; data='chopd-rank.tsv'; out='chopd-rank.svg'" chopd-rank.gp

load here."/style.gp"
eval sheet(760, 500, 15)

# The axes of the tensors: what one term stores, what all entries do.
per_term = real(system(awk("{ print $4 / $2; exit }")))
dense = real(system(awk("{ print $5; exit }")))
share(percent) = percent / 100.0 * dense / per_term
sizes = system("echo '".remark("size")."' | sed 's/ /×/g'")
last = real(system(awk("$2 > r { r = $2 } END { print r }")))

floor = 1e-3
keys = "attention sharp convolution depthwise pointwise noise"
colour(k) = k eq "attention" ? blue : k eq "sharp" ? sky : k eq "convolution" ? vermilion : k eq "depthwise" ? orange : k eq "pointwise" ? green : faint
name(k) = k eq "attention" ? "self-attention" : k eq "sharp" ? "scores ×4" : k eq "convolution" ? "3×3 convolution" : \
    k eq "depthwise" ? "depth-wise 3×3" : k eq "pointwise" ? "point-wise" : "noise"

set logscale y
set xrange [0:last]
set yrange [floor:1.15]
set xtics 64
set ytics ("100 %%" 1, "30 %%" 0.3, "10 %%" 0.1, "3 %%" 0.03, "1 %%" 0.01, "0.3 %%" 0.003, "0.1 %%" 0.001)
set x2range [0:last]
set x2tics out nomirror scale 0.6 ("0" 0, "5 %%" share(5), "10 %%" share(10), "15 %%" share(15), "20 %%" share(20), "25 %%" share(25)) textcolor rgb ink
set border 7 linecolor rgb ink
set xlabel "rank R" offset 0,0.3 textcolor rgb ink
set label 3 "numbers in the factors, of those in W" at graph 0.5,1.15 center textcolor rgb ink
set lmargin at screen 0.09
set rmargin at screen 0.90
set bmargin at screen 0.21
set tmargin at screen 0.79

eval title("W_{imncd}  as a sum of R terms: relative error", "screen 0.02,0.945")
eval foot(2, "W is ".sizes.": 4 images, 4×4 tokens, 8 channels.  Nothing is trained.  ".\
    "Convolutions: the same W for all images.", 1)
eval foot(6, "Scores ×4: self-attention that is four times as sure of its keys.", 0)

# Curves end at the floor or at the right; names stand where theirs is alone.
at_rank(k, r) = real(system(awk(sprintf("$1 == \"%s\" && $2 <= %d { e = $3 } END { print e }", k, r))))
set label 11 name("attention") at 58,at_rank("attention", 64) right offset 0,-0.4 textcolor rgb blue
set label 12 name("sharp") at 217,0.0026 left font font.",13" textcolor rgb written(sky)
set label 13 name("convolution") at 192,at_rank("convolution", 192) left offset 1,0.6 textcolor rgb written(vermilion)
set label 16 name("noise") at last,at_rank("noise", last) left offset 0.8,0 textcolor rgb faint
set label 14 name("depthwise") at 112,0.0033 right textcolor rgb written(orange)
set label 15 name("pointwise") at 112,0.002 right textcolor rgb written(green)
set arrow 1 from 128,floor to 128,1.15 nohead back linecolor rgb faint linewidth 1 dashtype 3
set label 17 "rank of both: 128" at 112,0.0012 right font font.",12" textcolor rgb faint

plot for [k in keys] "< ".series(k) using 2:3 with linespoints linecolor rgb colour(k) linewidth 2 pointtype 7 pointsize 0.5
