# apart.awk -- names beside their dots, none on another name or dot
#
#     awk -v across=145 -v up=116 -v most=5000 -f apart.awk
#
# Reads x, y, name and colour, tab-separated, of dots on two logarithmic axes, a decade of
# which is so many pixels across and up.  Prints where the name begins, in the
# units of the axes, the name and the colour: to the right of its dot where there is
# room, else to the left, below, above, or further off.  Behind them a stroke from a dot
# to a name that is not beside it: where it begins, and how far it goes, nowhere for
# the others.  `letter` and `line` are how wide a letter and how high a line is, `dot` how wide a
# dot, in pixels.  Names end before x = most, stay below y = top and off the line y = roof.

BEGIN { FS = OFS = "\t"; if (!letter) letter = 7; if (!line) line = 13; if (!dot) dot = 10 }
{ n++; x[n] = across * log($1) / log(10); y[n] = up * log($2) / log(10); name[n] = $3; colour[n] = $4 }

# Whether a box, from left to right and from low to high pixels, meets a dot other than n, a name or a stroke.
function meets(n, left, right, low, high,    i) {
    for (i in x)
        if (i != n && x[i] > left - dot / 2 && x[i] < right + dot / 2 && y[i] > low - dot / 2 && y[i] < high + dot / 2) return 1
    for (i in begin) {
        if (begin[i] < right + 4 && begin[i] + width(i) > left - 4 && at[i] - line / 2 < high && at[i] + line / 2 > low) return 1
        if (stroke(i, left - 2, right + 2, low, high)) return 1
    }
    return 0
}
# Whether the stroke of the name i passes through the box.
function stroke(i, left, right, low, high) {
    return smaller(x[i], tip[i]) < right && larger(x[i], tip[i]) > left && smaller(y[i], edge[i]) < high && larger(y[i], edge[i]) > low
}
# Whether the name n may begin there, at this height, with a stroke from its dot to (to, end) where it is far off.
function fits(n, left, height, far, to, end,    right) {
    right = left + width(n)
    if (most && right > across * log(most) / log(10)) return 0
    if (top && height + line / 2 > up * log(top) / log(10)) return 0
    if (roof && height - line / 2 < up * log(roof) / log(10) && height + line / 2 > up * log(roof) / log(10)) return 0
    if (meets(n, left, right, height - line / 2, height + line / 2)) return 0
    if (!far) return 1
    return !meets(n, smaller(x[n], to), larger(x[n], to), smaller(y[n], end), larger(y[n], end))
}
function smaller(a, b) { return a < b ? a : b }
function larger(a, b) { return a < b ? b : a }
function across_at(pixels) { return exp(pixels / across * log(10)) }
function up_at(pixels) { return exp(pixels / up * log(10)) }

# A letter beyond ASCII is one, in whatever locale.
function width(n,    text) {
    text = name[n]
    gsub(/[\200-\377]+/, "x", text)
    return letter * length(text)
}

# A side: right, left, below or above in the middle, and below or above to the right and to the left.
function try(n, side, far,    off, left, height, to, end) {
    off = 3 + dot / 2 + 12 * far
    if (side == 1) left = x[n] + off
    else if (side == 2) left = x[n] - off - width(n)
    else if (side <= 4) left = x[n] - width(n) / 2
    else if (side <= 6) left = x[n] - dot / 2
    else left = x[n] + dot / 2 - width(n)

    if (side <= 2) {                    # a stroke goes to the nearer end of the name
        height = end = y[n]
        to = side == 1 ? left - 2 : left + width(n) + 2
    } else {                            # up or down
        height = side % 2 ? y[n] - off - 5 : y[n] + off + 5
        end = side % 2 ? height + line / 2 : height - line / 2
        to = x[n]
    }
    if (!fits(n, left, height, far, to, end)) return 0
    begin[n] = left; at[n] = height
    tip[n] = far ? to : x[n]; edge[n] = far ? end : y[n]
    return 1
}

# Dots choose in turn, that of the largest rank first.  Returns how many find no place; the last of them is `homeless`.
function place_all(    turn, i, k, far, side, done, chosen, failed) {
    split("", begin)
    for (turn = 1; turn <= n; turn++) {
        i = 0
        for (k = 1; k <= n; k++) if (!(k in chosen) && (!i || rank[k] > rank[i])) i = k
        chosen[i] = 1
        done = 0
        for (far = 0; far < 12 && !done; far++)
            for (side = 1; side <= 8 && !done; side++) done = try(i, side, far)
        if (!done) { failed++; homeless = i }
    }
    return failed + 0
}

# The same numbers between 0 and 1 wherever this runs.
function chance() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }

END {
    seed = 1
    for (i = 1; i <= n; i++)
        for (k = 1; k <= n; k++) around[i] += k != i && (x[i] - x[k]) ^ 2 + (y[i] - y[k]) ^ 2 < (6 * line) ^ 2
    # Most others around go first.  While a dot finds no place it goes sooner the next time, and chance shuffles the rest.
    for (time = 1; time <= 200 && (time == 1 || fewest); time++) {
        for (i = 1; i <= n; i++) rank[i] = around[i] + (time > 1 ? n * chance() / 2 : 0)
        failed = place_all()
        if (time == 1 || failed < fewest) {
            fewest = failed
            for (i = 1; i <= n; i++) best[i] = rank[i]
        }
        if (failed) around[homeless]++
    }
    for (i = 1; i <= n; i++) rank[i] = best[i]
    place_all()
    for (i = 1; i <= n; i++) {
        if (!(i in begin)) { begin[i] = x[i] + 3 + dot / 2; at[i] = edge[i] = y[i]; tip[i] = x[i] }
        printf "%.6g\t%.6g\t%s\t%d\t%.6g\t%.6g\t%.6g\t%.6g\n", across_at(begin[i]), up_at(at[i]), name[i], colour[i],
            across_at(x[i]), up_at(y[i]), across_at(tip[i]) - across_at(x[i]), up_at(edge[i]) - up_at(y[i])
    }
}
