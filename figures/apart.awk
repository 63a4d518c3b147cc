# apart.awk -- names beside their dots, none on another name or dot
#
#     awk -v across=145 -v up=116 -v most=5000 -f apart.awk
#
# Reads x, y, name and colour, tab-separated, of dots on two logarithmic axes, a decade of
# which is so many pixels across and up.  Prints where the name begins, in the
# units of the axes, the name and the colour: to the right of its dot where there is
# room, else to the left, below, above, or further off.  `letter` and `line` are how
# wide a letter and how high a line is, `dot` how wide a dot, in pixels.  Names end before
# x = most.

BEGIN { FS = OFS = "\t"; if (!letter) letter = 7; if (!line) line = 13; if (!dot) dot = 10 }
{ n++; x[n] = across * log($1) / log(10); y[n] = up * log($2) / log(10); name[n] = $3; colour[n] = $4 }

# Whether the name n, from left to right pixels and about this height, meets anything.
function meets(n, left, height,    right, i) {
    right = left + width(n)
    if (most && right > across * log(most) / log(10)) return 1
    for (i in x)
        if (i != n && x[i] > left - dot / 2 && x[i] < right + dot / 2 && y[i] > height - (line + dot) / 2 && y[i] < height + (line + dot) / 2) return 1
    for (i in begin)
        if (begin[i] < right + 4 && begin[i] + width(i) > left - 4 && at[i] < height + line && at[i] > height - line) return 1
    return 0
}
# A letter beyond ASCII is one, in whatever locale.
function width(n,    text) {
    text = name[n]
    gsub(/[\200-\377]+/, "x", text)
    return letter * length(text)
}

END {
    for (i = 1; i <= n; i++) {
        for (far = 0; far < 5; far++) {
            off = 3 + dot / 2 + 12 * far
            split((x[i] + off) " " (x[i] - off - width(i)) " " (x[i] - width(i) / 2) " " (x[i] - width(i) / 2), left, " ")
            split(y[i] " " y[i] " " (y[i] - off - 5) " " (y[i] + off + 5), height, " ")
            for (side = 1; side <= 4; side++) if (!meets(i, left[side], height[side])) break
            if (side <= 4) break
        }
        if (side > 4) side = 1
        begin[i] = left[side]; at[i] = height[side]
        printf "%.6g\t%.6g\t%s\t%d\n", exp(begin[i] / across * log(10)), exp(at[i] / up * log(10)), name[i], colour[i]
    }
}
