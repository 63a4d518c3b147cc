# series.awk -- a measured table, cut for gnuplot
#
#     awk -f series.awk -v want=points -v key=eq7/naive -v column=median_seconds lisa.tsv
#
# column is a name of the table's header; key is series/form.
#
#     want=points    tokens and value of one series, and for seconds the quartiles
#     want=estimate  how a quadratic series that stopped would go on, from its
#                    last point to the largest size of the table: as N^2 in time,
#                    and in bytes and operations as a N^2 + b N, their formula,
#                    with a and b from its last two points
#     want=stop      the first size that it did not reach, and why; for bytes
#                    only where memory was the reason
#     want=ends      for every series of `label`, "key|text|colour;...": where it
#                    ends, text with the fitted exponent, colour; pushed apart
#                    until they are `gap` decades from each other
#     want=ahead     up to which size `key` is below `other`, in words
#     want=leaders   thin lines from the ends to labels that were pushed away, as
#                    commands of gnuplot; `step` is how far labels stand off, as a factor
#     want=crosses   1 if a series has a cross, else 0; dots: an estimate; fits: an exponent
#     want=sizes     the largest size
#     want=smallest  the smallest size
#     want=bottom    the least value of all
#     want=least     the least value of the smallest size
#     want=top       the largest value, estimates included
#     want=measured  where and when, from the comments

BEGIN { FS = "\t"; OFS = "\t"; step += step == 0; labels = split(label, entry, ";") }

/^# machine: / && !machine { machine = substr($0, 12) }
/^# measured: / && !day { day = substr($0, 13, 10) }
/^# limits: / { split($0, word, " "); memory = word[3] + 0 }
/^#series/ { for (f = 1; f <= NF; f++) at[$f] = f; measured = "peak_bytes" in at }
/^#/ || NF < 2 { next }

{
    k = $1 "/" $(at["form"]); n = ++count[k]
    N[k, n] = $(at["tokens"]) + 0; value[k, n] = $(at[column]) + 0
    if (value[k, n] > top) top = value[k, n]
    quartiles[k, n] = column == "median_seconds" && "q1_seconds" in at ? $(at["q1_seconds"]) OFS $(at["q3_seconds"]) : value[k, n] OFS value[k, n]
    if (!bottom || value[k, n] < bottom) bottom = value[k, n]
    if (!smallest || N[k, n] < smallest || (N[k, n] == smallest && value[k, n] < least)) { smallest = N[k, n]; least = value[k, n] }
    if (N[k, n] > largest) largest = N[k, n]
    grid[N[k, n]] = $(at["grid"])
    if (measured) { bytes[k, n] = $(at["peak_bytes"]); seconds[k, n] = $(at["median_seconds"]) }
}

# Least squares through the logarithms, from a sixteenth of the last size on:
# what the form tends to, not how it begins.  Three points say little.
function exponent(k,    n, x, y, m, sx, sy, sxx, sxy) {
    m = sx = sy = sxx = sxy = 0
    for (n = 1; n <= count[k]; n++) {
        if (N[k, n] * 16 < N[k, count[k]]) continue
        x = log(N[k, n]); y = log(value[k, n])
        m++; sx += x; sy += y; sxx += x * x; sxy += x * y
    }
    return m < 4 ? "" : sprintf("  N^{%.2f}", (m * sxy - sx * sy) / (m * sxx - sx * sx))
}

# Values of an array at a size beyond its last.
function square(a, k, size,    last) {
    last = count[k]
    return a[k, last] * (size / N[k, last]) ^ 2
}
function quadratic(a, k, size,    last, n1, n2, p, q) {
    last = count[k]
    if (last < 2) return square(a, k, size)
    n1 = N[k, last - 1]; n2 = N[k, last]
    p = (a[k, last] / n2 - a[k, last - 1] / n1) / (n2 - n1); q = a[k, last] / n2 - p * n2
    if (p < 0) return a[k, last] * size / n2            # grown more slowly than N: no square is seen yet
    return p * size * size + q * size
}
function beyond(k, size) {
    return column == "median_seconds" ? square(value, k, size) : quadratic(value, k, size)
}

function stopped(k) { return measured && count[k] && k ~ /\/naive$|^msa/ && N[k, count[k]] < largest }

# The size of the table that comes next.
function following(k,    size, next_size) {
    for (size in grid)
        if (size + 0 > N[k, count[k]] && (!next_size || size + 0 < next_size)) next_size = size + 0
    return next_size
}

function duration(s) {
    return s < 90 ? sprintf("%.0f s", s) : s < 5400 ? sprintf("%.0f min", s / 60) : sprintf("%.0f h", s / 3600)
}
function amount(b,    u, name) {
    split("B KiB MiB GiB TiB", name, " ")
    for (u = 1; b >= 1024 && u < 5; u++) b /= 1024
    return sprintf(b < 10 ? "%.1f %s" : "%.0f %s", b, name[u])
}

function points(    n) {
    for (n = 1; n <= count[key]; n++) print N[key, n], value[key, n], quartiles[key, n]
}

function estimate() {
    if (!stopped(key)) return
    print N[key, count[key]], value[key, count[key]]
    print following(key), beyond(key, following(key))
    print largest, beyond(key, largest)
}

# Why a series did not reach its next size; nothing where no limit stopped it.
function why(k,    need) {
    if (column == "multiply_adds" || !stopped(k)) return ""         # a formula stops nowhere
    need = quadratic(bytes, k, following(k))
    if (memory > 0 && need > memory) return "needs " amount(need)
    return column == "median_seconds" ? "takes " duration(square(seconds, k, following(k))) : ""
}

function stop(    size, name) {
    if (why(key) == "") return
    size = following(key); name = grid[size]
    sub(/x/, "×", name)
    print size, beyond(key, size), name " " why(key)
}

function ends(    s, part, k, end, last, m, i, j, t, round, low, high, rank, x, y, text, colour) {
    m = 0
    for (s = 1; s <= labels; s++) {
        split(entry[s], part, "|")
        k = part[1]; last = count[k]
        if (!last) continue
        m++
        x[m] = stopped(k) ? largest : N[k, last]
        y[m] = end[m] = log(stopped(k) ? beyond(k, largest) : value[k, last]) / log(10)
        text[m] = part[2] exponent(k); colour[m] = part[3]
    }
    # From the lowest to the highest, so that pushing keeps their order.  With leaders all
    # stand at the largest size; else only labels that stand above each other meet.
    for (i = 1; i <= m; i++) {
        rank[i] = i
        for (j = i; j > 1 && y[rank[j]] < y[rank[j - 1]]; j--) { t = rank[j]; rank[j] = rank[j - 1]; rank[j - 1] = t }
    }
    for (round = 1; round <= 500; round++)
        for (i = 1; i < m; i++) {
            low = rank[i]; high = rank[i + 1]
            t = (gap - (y[high] - y[low])) / 2
            if (t <= 0 || (step == 1 && (x[low] / x[high] >= 4 || x[high] / x[low] >= 4))) continue
            y[low] -= t; y[high] += t
        }
    for (i = 1; i <= m; i++) {
        if (want == "ends") printf "%s\t%.6g\t%s\t%d\n", step == 1 ? x[i] : largest, exp(y[i] * log(10)), text[i], colour[i]
        t = y[i] > end[i] ? y[i] - end[i] : end[i] - y[i]
        if (want == "leaders" && (t > gap / 2 || x[i] < largest))
            printf "set arrow from %s,%.6g to %s,%.6g nohead back linewidth 0.5 linecolor rgb %d; ",
                x[i] * step ^ 0.2, exp(end[i] * log(10)), largest * step ^ 0.85, exp(y[i] * log(10)), colour[i]
    }
}

# Is there a series with a cross, one that is dotted, one with an exponent?
function crosses(    k) {
    for (k in count) if (why(k) != "") return 1
    return 0
}
function fits(    k) {
    for (k in count) if (exponent(k) != "") return 1
    return 0
}
function dots(    k) {
    for (k in count) if (stopped(k)) return 1
    return 0
}

# Without what no reader needs to know the machine by, nor a drawing can show.
function short(name) {
    gsub(/\((R|TM|C)\)| CPU| Processor|["`$\\]/, "", name)
    gsub(/ *@ */, " at ", name)
    return length(name) > 80 ? substr(name, 1, 79) "…" : name
}

# The last measured size up to which one series stays at or below another.
function ahead(    n, m, last) {
    for (n = 1; n <= count[key]; n++)
        for (m = 1; m <= count[other]; m++)
            if (N[key, n] == N[other, m]) {
                if (value[key, n] > value[other, m]) return last ? "up to N = " last : "nowhere"
                last = N[key, n]
            }
    return "at every N"
}

END {
    for (k in count) if (stopped(k) && beyond(k, largest) > top) top = beyond(k, largest)
    if (want == "points") points()
    if (want == "estimate") estimate()
    if (want == "stop") stop()
    if (want == "ends" || want == "leaders") ends()
    if (want == "crosses") print crosses()
    if (want == "fits") print fits()
    if (want == "dots") print dots()
    if (want == "measured") print "Measured on " short(machine) (day ? ", " day : "") "."
    if (want == "ahead") print ahead()
    if (want == "sizes") print largest
    if (want == "smallest") print smallest
    if (want == "bottom") printf "%.6g\n", bottom
    if (want == "least") printf "%.6g\n", least
    if (want == "top") printf "%.6g\n", top
}
