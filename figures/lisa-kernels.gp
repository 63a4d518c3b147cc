# lisa-kernels.gp -- attention kernels of three tokens on a real image
#
#     gnuplot -e "here='figures'; data='lisa-kernels.tsv'; out='lisa-kernels.svg'" lisa-kernels.gp
#
# One row for each query, the matrices of lisa-kernels.c.

load here."/style.gp"
eval sheet(760, 625, 15)

eval no_axes
set border 15 linecolor rgb 0xbbbbbb
set yrange [27.5:-0.5]
set xrange [-0.5:27.5]
set cbrange [-1:1]
set lmargin 0; set rmargin 0; set tmargin 0; set bmargin 0

queries = remark("queries (row, column)")
row(t) = real(word(system("echo '".queries."' | tr -d '(),'"), 2 * t + 1))
column_of(t) = real(word(system("echo '".queries."' | tr -d '(),'"), 2 * t + 2))
names = "image self hand random"
array heading[4] = ["query and image", "self-attention", "LiSA, tables by hand", "LiSA, random tables"]

set multiplot
edge = 0.226; step = 0.244; tall = edge * wide / high
eval foot(9, "Nothing here is trained: query and key are 3×3 pixels.  Red +, blue −; each kernel over its largest magnitude", 0)
print "title: Attention kernels of three tokens on a real image"
do for [t = 0:2] {
    do for [m = 1:4] {
        set origin 0.02 + (m - 1) * step, 0.945 - tall - t * (tall + 0.021)
        set size edge, tall
        if (m == 1) { set palette gray; set cbrange [0:1] } else { eval signed; set cbrange [-1:1] }
        if (t == 0) { set label 1 heading[m] at graph 0,1.06 left textcolor rgb ink font font.",14" } else { unset label 1 }
        set object 1 rectangle center column_of(t), row(t) size 3,3 front fillstyle empty border linecolor rgb (m == 1 ? mark : black) linewidth 2
        plot data index sprintf("%s %d", word(names, m), m == 1 ? 0 : t) matrix using 1:2:3 with image
        unset label 9
    }
}
set origin 0.02, 0.0
unset multiplot
