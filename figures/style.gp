# style.gp -- what all figures have in common
#
# Given with -e: data, the TSV file; out, the SVG file.  Size and margins are
# each figure's own.

set encoding utf8
font = "DejaVu Sans,Verdana,Helvetica,Arial,sans-serif"
ink = 0x333333                          # axes and titles
faint = 0x8a8a8a                        # guides and remarks

# Okabe and Ito's colours, which colour-blind eyes tell apart.
blue = 0x0072b2; sky = 0x56b4e9; green = 0x009e73; orange = 0xe69f00
vermilion = 0xd55e00; purple = 0xb8558a; black = 0x000000

set border 3 linecolor rgb ink linewidth 1
set tics out nomirror scale 0.6 textcolor rgb ink
set grid ytics linecolor rgb 0xe6e6e6 linewidth 1 linetype 1
set key off
set samples 200

# The machine and the day stand in the comments of the data.
remark(word) = system("sed -n 's/^# ".word.": //p' '".data."' | head -n 1")
