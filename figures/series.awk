# series.awk -- a measured table, cut for gnuplot
#
#     awk -f series.awk -v want=points -v key=eq7/naive -v column=median_seconds lisa.tsv
#
# want=points  tokens and value of one series, key = series/form
# want=ends    for every series of the table: where it ends, and its label with
#              the fitted exponent; labels are pushed apart until they are
#              `gap` decades from each other
# want=gone    where a naive series stopped before the others: its last point,
#              and the next size by extrapolation as N^2; its label tells what
#              that would need
#
# table is "key|label|colour|..." for each series.  column is a name of the header.

BEGIN { FS = "\t"; series = split(table, entry, ";") }

/^# limits: / { split($0, word, " "); memory = word[3] }
/^#series/ { for (f = 1; f <= NF; f++) at[$f] = f }
/^#/ || NF < 2 { next }

{
    k = $1 "/" $(at["form"]); n = ++count[k]
    N[k, n] = $(at["tokens"]); value[k, n] = $(at[column])
    if ("peak_bytes" in at) { bytes[k, n] = $(at["peak_bytes"]); seconds[k, n] = $(at["median_seconds"]) }
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
    for (n = 1; n <= count[key]; n++) print N[key, n], value[key, n]
}

function ends(    s, part, k, last, m, i, j, t, moved, round, x, y, text, colour) {
    m = 0
    for (s = 1; s <= series; s++) {
        split(entry[s], part, "|")
        k = part[1]; last = count[k]
        if (!last) continue
        m++
        x[m] = N[k, last]; y[m] = ten(value[k, last]); colour[m] = part[3]
        text[m] = part[2] "  " exponent(k)
        if (!stopped(k)) continue
        x[m] = next_size; y[m] = ten(next_value); text[m] = text[m] "\\n{/*0.8 " why "}"
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

# The exponent between the last two points; 2 where there is one alone.
function growth(a, k, last) {
    return last > 1 ? log(a[k, last] / a[k, last - 1]) / log(N[k, last] / N[k, last - 1]) : 2
}

# Where a naive series would go on: the next size that others have, its value
# and why it was not measured.  False where there is none.
function stopped(k,    last, size, factor, need, grid) {
    last = count[k]; next_size = 0
    if (!last || !("peak_bytes" in at) || k !~ /\/naive$/) return 0
    for (size in sizes) if (size + 0 > N[k, last] && (!next_size || size + 0 < next_size)) next_size = size + 0
    if (!next_size) return 0
    factor = next_size / N[k, last]
    next_value = value[k, last] * factor ^ (column == "peak_bytes" ? growth(bytes, k, last) : 2)
    need = bytes[k, last] * factor ^ growth(bytes, k, last)
    grid = sizes[next_size]; sub(/x/, "×", grid)
    why = grid (memory > 0 && need > memory + 0 ? " would need " with_unit(need) \
                            : " would take " with_unit(seconds[k, last] * factor ^ 2, "s"))
    return 1
}

function gone() {
    if (!stopped(key)) return
    print N[key, count[key]], value[key, count[key]]
    print next_size, next_value
}

END {
    OFS = "\t"
    if (want == "points") points()
    if (want == "ends") ends()
    if (want == "gone") gone()
}
