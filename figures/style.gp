# style.gp -- what all figures have in common
#
# Given with -e: data, the TSV file; out, the SVG file.  Size and margins are
# each figure's own.

set encoding utf8
font = "sans-serif"
ink = 0x333333                          # axes and titles
faint = 0x8a8a8a                        # guides and remarks

# Okabe and Ito's colours, which colour-blind eyes tell apart, orange and purple
# a little darker to be read on white.
blue = 0x0072b2; sky = 0x56b4e9; green = 0x009e73; orange = 0xcc8600
vermilion = 0xd55e00; purple = 0xb8558a; black = 0x000000

set border 3 linecolor rgb ink linewidth 1
set tics out nomirror scale 0.6 textcolor rgb ink
set grid ytics linecolor rgb 0xe6e6e6 linewidth 1 linetype 1
set key off
set samples 200

# The machine and the day stand in the comments of the data.
remark(word) = system("sed -n 's/^# ".word.": //p' '".data."' | head -n 1")

# Sequential (viridis, by its knots) and, for signed values, blue-white-red.
viridis = "0 '#440154', 1 '#46327e', 2 '#365c8d', 3 '#277f8e', 4 '#1fa187', 5 '#4ac16d', 6 '#a0da39', 7 '#fde725'"
signed = "-1 '#053061', -0.6 '#2f79b5', -0.25 '#a7cfe4', 0 '#ffffff', 0.25 '#f9c4a9', 0.6 '#d6604d', 1 '#67001f'"
