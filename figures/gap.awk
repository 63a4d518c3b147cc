# gap.awk -- naive over fast, and the exponents of both, from the tables of the rows
#
#     awk -v want=pairs -f gap.awk ROWS FOLDER_OF/lisa.tsv ...
#
# ROWS has a line for each form, "key|operator|table|series|form|work|memory": its word and
# what it is called, where its measurements stand, and the two formulas that are printed
# beside its exponents.
#
#     want=pairs    a line for each operator and size that both forms were measured at
#     want=factors  of these the largest size of each operator, and the ratio of times as two
#                   factors: less work, and more of it a second
#     want=fits     a line for each form: the exponents of N in its multiply-adds, its
#                   time and its memory
#     want=small    of the one table gap-small.tsv: a line for each operator, a column
#                   for each grid; naive over fast in time and in memory, and after how
#                   many runs what was prepared is paid for
#     want=choice   of the one table gap-choice.tsv: the same, milliseconds and memory
#
# An exponent is the slope of the least squares through the logarithms, over the last
# factor of 16 in N, as series.awk has it; ± is the standard error of the slope, which
# says how straight the line is and nothing of the machine's noise.

BEGIN { FS = "\t"; OFS = "\t" }

FNR == 1 { file = FILENAME; sub(/^.*\//, "", file); sub(/\.tsv$/, "", file); inputs++ }

inputs == 1 {
    split($0, part, "|")
    key = part[3] "/" part[4] "/" part[5]
    rows++
    keys[rows] = key; word[rows] = part[1]; name[rows] = part[2]; form[rows] = part[5]
    work[rows] = part[6]; memory[rows] = part[7]
    wanted[key] = 1
    next
}

# Machines and days: those of all tables, the same ones once.
/^# machine: / { text = substr($0, 12); if (!seen["m" text]++) machines = machines (machines ? "; " : "") text }
/^# measured: / { text = substr($0, 13, 10); if (text > day) day = text }
/^#series/ { for (f = 1; f <= NF; f++) at[$f] = f }
/^#/ || NF < 2 { next }
{
    key = file "/" $1 "/" $(at["form"])
    if (want == "small" || want == "choice") {
        key = $1 "/" $(at["form"])
        if (!($1 in met)) { met[$1] = 1; operators++; operator[operators] = $1 }
        if (!($(at["grid"]) in there)) { there[$(at["grid"])] = 1; grids++; plane[grids] = $(at["grid"]) }
        spent[$1, $(at["form"]), $(at["grid"])] = $(at["median_seconds"]) + 0
        taken[$1, $(at["form"]), $(at["grid"])] = $(at["peak_bytes"]) + 0
        ready[$1, $(at["form"]), $(at["grid"])] = $(at["prepare_seconds"]) + 0
        next
    }
    if (!(key in wanted)) next
    n = ++count[key]
    N[key, n] = $(at["tokens"]) + 0; grid[key, n] = $(at["grid"])
    seconds[key, n] = $(at["median_seconds"]) + 0
    bytes[key, n] = $(at["peak_bytes"]) + 0
    products[key, n] = $(at["multiply_adds"]) + 0
}

# First size of the fit, and how many sizes are in it.
function first(key,    n) {
    for (n = 1; N[key, n] * 16 < N[key, count[key]]; n++) ;
    return n
}

# The slope of log value over log N, and its standard error in `error`.
function slope(value, key,    n, m, x, y, mx, my, sxx, sxy, syy, b) {
    for (n = first(key); n <= count[key]; n++) { m++; mx += log(N[key, n]); my += log(value[key, n]) }
    mx /= m; my /= m
    for (n = first(key); n <= count[key]; n++) {
        x = log(N[key, n]) - mx; y = log(value[key, n]) - my
        sxx += x * x; sxy += x * y; syy += y * y
    }
    b = sxy / sxx
    error = m > 2 && syy > b * sxy ? sqrt((syy - b * sxy) / (m - 2) / sxx) : 0
    return b
}

# Four digits, without a power of ten.
function four(x) { return sprintf(x >= 9999.5 ? "%.0f" : "%.4g", x) }

function pairs(    r, s, n, m, a, b) {
    print "#series", "operator", "form", "grid", "tokens", "naive_seconds", "fast_seconds", "times_faster", "naive_bytes", "fast_bytes", "times_smaller"
    for (r = 1; r <= rows; r++)
        for (s = 1; s <= rows; s++) {
            if (form[r] != "naive" || form[s] == "naive" || name[s] != name[r]) continue
            a = keys[r]; b = keys[s]
            for (n = 1; n <= count[a]; n++)
                for (m = 1; m <= count[b]; m++)
                    if (N[a, n] == N[b, m])
                        print word[r], name[r], "gap", grid[a, n], N[a, n], seconds[a, n], seconds[b, m], four(seconds[a, n] / seconds[b, m]), \
                            bytes[a, n], bytes[b, m], four(bytes[a, n] / bytes[b, m])
        }
}

function factors(    r, s, n, m, a, b, l, of) {
    print "#operator", "grid", "naive_seconds", "fast_seconds", "times_faster", "less_work", "more_a_second"
    for (r = 1; r <= rows; r++)
        for (s = 1; s <= rows; s++) {
            if (form[r] != "naive" || form[s] == "naive" || name[s] != name[r]) continue
            a = keys[r]; b = keys[s]; l = 0
            for (n = 1; n <= count[a]; n++)
                for (m = 1; m <= count[b]; m++) if (N[a, n] == N[b, m]) { l = n; of = m }
            if (!l) continue
            n = products[a, l] / products[b, of]; m = seconds[a, l] / seconds[b, of]
            print name[r], grid[a, l], seconds[a, l], seconds[b, of], four(m), four(n), four(m / n)
        }
}

function fits(    r, k, m, time) {
    print "#operator", "form", "sizes", "from", "to", "work", "work_exponent", "time_exponent", "memory", "memory_exponent"
    for (r = 1; r <= rows; r++) {
        k = keys[r]
        m = count[k] - first(k) + 1
        if (!count[k] || m < 3) continue                # too few were measured to say anything
        time = slope(seconds, k)
        time = sprintf("%.2f ± %.2f", time, error)
        print name[r], form[r], m, N[k, first(k)], N[k, count[k]], work[r], sprintf("%.3f", slope(products, k)), time, \
            memory[r], sprintf("%.3f", slope(bytes, k))
    }
}

# Three digits, without a power of ten.
function digits(x) { return sprintf(x >= 999.5 ? "%.0f" : "%.3g", x) }

# Runs after which what the fast form prepares is paid for.
function runs(more, saved,    n) {
    if (saved <= 0) return "never"
    n = more / saved
    return n <= 1 ? 1 : int(n) + (n > int(n))
}

function cell(what, o, g,    n, f) {
    n = o SUBSEP "naive" SUBSEP g; f = o SUBSEP "fast" SUBSEP g
    if (!(f in spent)) return ""
    if (what == "milliseconds") return digits(1e3 * spent[f])
    if (what == "mebibytes") return digits(taken[f] / 2 ^ 20)
    if (!(n in spent)) return ""
    if (what == "time") return digits(spent[n] / spent[f])
    if (what == "memory") return digits(taken[n] / taken[f])
    return runs(ready[f] - ready[n], spent[n] - spent[f])
}

# A line for each operator, a column for each grid.
function matrix(list,    n, w, what, o, g, text) {
    text = "#what" OFS "operator"
    for (g = 1; g <= grids; g++) { sub(/x/, "×", plane[g]); text = text OFS plane[g]; sub(/×/, "x", plane[g]) }
    print text
    n = split(list, what, " ")
    for (w = 1; w <= n; w++)
        for (o = 1; o <= operators; o++) {
            text = what[w] OFS operator[o]
            for (g = 1; g <= grids; g++) text = text OFS cell(what[w], operator[o], plane[g])
            print text
        }
}

END {
    print "# machine: " machines
    print "# measured: " day
    if (want == "pairs") pairs()
    if (want == "factors") factors()
    if (want == "fits") fits()
    if (want == "small") matrix("time memory runs")
    if (want == "choice") matrix("milliseconds mebibytes")
}
