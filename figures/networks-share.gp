# networks-share.gp -- how much of a network its operator is, against the side of the image
#
#     gnuplot -e "here='figures'; data='networks-share.tsv'; out='networks-share.svg'" networks-share.gp
#
# Columns of networks-share.c: lines are multiply-adds, by formula; dots are time, where it was measured.

load here."/style.gp"
eval sheet(760, 460, 15)

networks = "litv2-s elsa-swin-t structvit-s-4-1 lisanet-i-t"
array called[4] = ["HiLo in LITv2-S", "ELSA in ELSA-Swin-T", "StructSA in StructViT-S-4-1", "LiSA in LiSANet-I-T"]
array colour[4] = [blue, vermilion, green, purple]
array lift[4] = [-0.4, 0.5, 0, 0]
rows(k) = sprintf("< grep '^%s\t' '%s'", word(networks, k), data)

set lmargin at screen 0.09; set rmargin at screen 0.68; set bmargin at screen 0.29; set tmargin at screen 0.87
set xrange [150:790]; set yrange [0:100]
set xtics (160, 224, 320, 448, 576, 672, 768)
set ytics 0,20,100 format "%g %%"
set xlabel "side of the image, in pixels" offset 0,0.3 textcolor rgb ink
eval title("How much of a network its operator is", "screen 0.02,0.945")
eval foot(2, "Lines: its share of the multiply-adds, by formula.  Dots: its share of the time, one image, one thread.", 2)
eval foot(3, "LiSA’s peaks are sides of 11, 13, 17, 19 and 23 times 2 or 4 tokens, whose transforms take more.", 1)
eval measured(6, 0)

plot for [k = 1:4] rows(k) using 3:($4 * 100) with lines linecolor rgb colour[k] linewidth 2, \
     for [k = 1:4] rows(k) using 3:($5 < 0 ? NaN : $5 * 100) with points pointtype 7 pointsize 0.8 linecolor rgb colour[k], \
     for [k = 1:4] rows(k)." | tail -n 1" using 3:($4 * 100):(called[k]) with labels left offset 1.6,lift[k] textcolor rgb written(colour[k])
