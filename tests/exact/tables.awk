# tables.awk -- what the exact proofs printed, as tables of chapter 8
#
#     awk -v table=forms|claims -f tests/exact/tables.awk LOG...
#
# forms: of each operator the cases, draws, largest output, highest degrees, the
# largest doubt of a case, and seconds.  claims: of each suite the tests that compared numbers.

function larger(a, b) { return a > b ? a : b }

BEGIN {
    OFS = "\t"
    if (table == "forms") print "# operator", "cases", "draws", "entries of y", "degree", "of arguments", "of exponents", "doubt", "seconds"
    if (table == "claims") print "# suite", "test", "numbers compared", "degree", "doubt"
}

FNR == 1 {
    suite = FILENAME
    sub(/.*\//, "", suite)
    sub(/^exact_/, "", suite)
    sub(/\.log$/, "", suite)
}


table == "forms" && /^[a-z]/ { of = $1 }
table == "forms" && /^    equal in / {
    match($0, /equal in .*/)
    numbers = substr($0, RSTART)
    gsub(/2\^/, " ", numbers)
    gsub(/[^-0-9.]+/, " ", numbers)
    sub(/^ /, "", numbers)
    split(numbers, n, " ")
    if (!(of in cases)) order[++operators] = of
    cases[of]++
    draws[of] = n[1]
    y[of] = larger(y[of], n[4] + 0)
    degree[of] = larger(degree[of], n[5] + 0)
    argument[of] = larger(argument[of], n[6] + 0)
    exponent[of] = larger(exponent[of], n[7] + 0)
    if (cases[of] == 1 || n[8] + 0 > doubt[of]) doubt[of] = n[8] + 0
    seconds[of] += n[9]
}

table == "claims" && / draws, [0-9]+ numbers compared; degrees / {
    test = $1
    match($0, /: [0-9]+ draws.*/)
    numbers = substr($0, RSTART)
    gsub(/2\^/, " ", numbers)
    gsub(/[^-0-9.]+/, " ", numbers)
    sub(/^ /, "", numbers)
    split(numbers, n, " ")
    key = suite SUBSEP test
    if (n[2] + 0 == 0) next
    if (!(key in compared)) {
        order[++operators] = key
        doubt[key] = n[6] + 0
    }
    compared[key] += n[2]
    degree[key] = larger(degree[key], n[3] + 0)
    if (n[6] + 0 > doubt[key]) doubt[key] = n[6] + 0
}

END {
    for (o = 1; o <= operators; o++) {
        of = order[o]
        if (table == "forms")
            print of, cases[of], draws[of], y[of], degree[of], argument[of], exponent[of], "2^" doubt[of], sprintf("%.0f", seconds[of])
        if (table == "claims") {
            split(of, part, SUBSEP)
            print part[1], part[2], compared[of], degree[of], "2^" doubt[of]
        }
    }
}
