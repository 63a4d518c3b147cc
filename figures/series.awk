# series.awk -- a measured table, cut for gnuplot
#
#     awk -f series.awk -v want=points -v key=eq7/naive -v column=median_seconds lisa.tsv
#
# want=points  tokens, value and quartiles of one series, key = series/form
# want=ends    for every series of the table: where its last point is, and its
#              label with the fitted exponent; labels are pushed apart until
#              they are `gap` decades from each other
# want=gone    where a naive series stopped: its last point, the next size by
#              extrapolation as N^2, and what that would need
#
# table is "key|label|colour|..." for each series.  column is a name of the header.

BEGIN { FS = "\t"; series = split(table, entry, ";") }

/^# limits: / { split($0, word, " "); memory = word[3] }
/^#series/ { for (f = 1; f <= NF; f++) at[$f] = f }
/^#/ || NF < 2 { next }

{
    k = $1 "/" $(at["form"]); n = ++count[k]
    N[k, n] = $(at["tokens"]); value[k, n] = $(at[column])
    bytes[k, n] = $(at["peak_bytes"]); seconds[k, n] = $(at["median_seconds"])
    q1[k, n] = $(at["q1_seconds"]); q3[k, n] = $(at["q3_seconds"])
    sizes[N[k, n]] = $(at["grid"])
}

function ten(x) { return log(x) / log(10) }

# Least squares through the logarithms, from a sixteenth of the last size on:
# what the form tends to, not how it begins.
function exponent(k,    n, x, y, m, sx, sy, sxx, sxy) {
    m = sx = sy = sxx = sxy = 0
    for (n = 1; n <= count[k]; n++) {
        if (N[k, n] * 16 < N[k, count[k]]) continue
        x = log(N[k, n]); y = log(value[k, n])
        m++; sx += x; sy += y; sxx += x * x; sxy += x * y
    }
    return m < 2 ? "" : sprintf("N^{%.2f}", (m * sxy - sx * sy) / (m * sxx - sx * sx))
}

function with_unit(x, unit, base,    u, names) {
    if (unit == "s") return x < 90 ? sprintf("%.0f s", x) : x < 5400 ? sprintf("%.0f min", x / 60) : sprintf("%.0f h", x / 3600)
    split("B KiB MiB GiB TiB", names, " ")
    for (u = 1; x >= 1024 && u < 5; u++) x /= 1024
    return sprintf(x < 10 ? "%.1f %s" : "%.0f %s", x, names[u])
}

function points(    n) {
    for (n = 1; n <= count[key]; n++) print N[key, n], value[key, n], q1[key, n], q3[key, n]
}

function ends(    s, part, k, last, m, i, j, t, moved, round, x, y, text, colour, where) {
    m = 0
    for (s = 1; s <= series; s++) {
        split(entry[s], part, "|")
        k = part[1]; last = count[k]
        if (!last) continue
        m++
        x[m] = N[k, last]; y[m] = ten(value[k, last]); colour[m] = part[3]
        text[m] = part[2] "  " exponent(k)
    }
    # Only labels that stand above each other can meet.
    for (round = 1; round <= 200; round++) {
        moved = 0
        for (i = 1; i <= m; i++) for (j = 1; j <= m; j++)
            if (i != j && x[i] / x[j] < 4 && x[j] / x[i] < 4 && y[i] <= y[j] && (y[i] < y[j] || i < j) && y[j] - y[i] < gap * 0.999) {
                t = (gap - (y[j] - y[i])) / 2
                y[i] -= t; y[j] += t; moved = 1
            }
        if (!moved) break
    }
    for (i = 1; i <= m; i++) printf "%s\t%.6g\t%s\t%d\n", x[i], exp(y[i] * log(10)), text[i], colour[i]
}

# Sizes in increasing order; the first beyond the last that this series has.
function gone(    k, last, size, next_size, factor, power, need) {
    k = key; last = count[k]
    if (!last) return
    for (size in sizes) if (size + 0 > N[k, last] && (!next_size || size + 0 < next_size)) next_size = size + 0
    if (!next_size) return
    factor = next_size / N[k, last]
    power = column == "peak_bytes" && last > 1 ? log(bytes[k, last] / bytes[k, last - 1]) / log(N[k, last] / N[k, last - 1]) : 2
    need = bytes[k, last] * factor ^ (last > 1 ? log(bytes[k, last] / bytes[k, last - 1]) / log(N[k, last] / N[k, last - 1]) : 2)
    print N[k, last], value[k, last]
    print next_size, value[k, last] * factor ^ power, \
          memory && need > memory ? "would need " with_unit(need) : "would take " with_unit(seconds[k, last] * factor ^ 2, "s")
}

END {
    OFS = "\t"
    if (want == "points") points()
    if (want == "ends") ends()
    if (want == "gone") gone()
}
