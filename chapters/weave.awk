# weave.awk -- refill the blocks of a page from the files they name
#
#     awk [-v here=FOLDER] -f chapters/weave.awk chapters/1-lisa.md >woven.md
#
# Run in the top folder; prints the page with these blocks filled anew:
#
#     <!-- code: FILE NAME [Step n] -->  ... <!-- /code -->
#         A function, test, struct, enum, typedef, macro or table of C, or a
#         def or class of Python, with the comment above it; of a header also
#         a prototype.  NAME may be HEAD: the file's first comment; or ALL: the
#         whole file.  Step n is
#         the comment "Step n: ..." in that function, up to the next blank line.
#     <!-- table: FILE.tsv [COLUMN | COLUMN=VALUE]... -->  ... <!-- /table -->
#         These columns, of the rows with these values (a space in one: _).  Lines of "#" are
#         comments; the last of them before the data names the columns, unless
#         its count is not theirs: then the first line of data does.  Above a
#         table of measurements stands the machine.
#     <!-- exercises: CHAPTER -->  ... <!-- /exercises -->
#         The questions of chapters/exercises/CHAPTER.n.md.
#
# These marks stand alone.  Text follows them only in the built book, where `here` is given:
#
#     <!-- bound: claims -->
#         The tables of claims of all chapters that the page has linked so far.
#     <!-- bound: answers -->
#         The answers of chapters/exercises, chapter by chapter.
#     <!-- bound: FILE.tsv [COLUMN | COLUMN=VALUE]... -->
#         A table.
#
# The table below a chapter's heading "Claims" gets its column How: how each claim was judged,
# which its tests say (learn_hows).
#
# With `here`, each table of figures/ that is another one in that folder, where
# it was measured anew, is followed by that one.  What is missing or ambiguous is an
# error, with the place.  It parses no C: it relies on definitions that start,
# and end in "}", in the first column.

function die(what) {
    print FILENAME ":" FNR ": " what >"/dev/stderr"
    dead = 1
    exit 1
}

# ---- Code

# The lines of a file into line[1 ... lines], and whether each starts in a comment.
function slurp(file,    n, text, inside, rest) {
    if (file == slurped) return
    n = lines = 0
    while ((getline text < file) > 0) {
        sub(/\r$/, "", text)
        line[++n] = text
        commented[n] = inside
        rest = text
        if (!inside) gsub(/"([^"\\]|\\.)*"/, "", rest)
        while (1) {
            if (inside) { if (!match(rest, /\*\//)) break; inside = 0 }
            else { if (!match(rest, /\/\*/)) break; inside = 1 }
            rest = substr(rest, RSTART + 2)
        }
    }
    close(file)
    if (!n) die("cannot read " file)
    lines = n
    slurped = file
}

# Does line i define the name, and where does that end?  0 if it does not.
function definition_end(i, name, file,    text, word, j) {
    text = line[i]
    word = "(^|[^A-Za-z0-9_])" name "($|[^A-Za-z0-9_])"
    if (commented[i] || text !~ word) return 0

    if (file ~ /\.py$/) {
        if (text !~ ("^(def|class) " name "[^A-Za-z0-9_]")) return 0
        for (j = i + 1; j <= lines && line[j] !~ /^[^ \t#)]/; j++) ;
        for (j--; line[j] ~ /^[ \t]*$/; j--) ;
        return j
    }
    if (text ~ ("^#[ \t]*define[ \t]+" name "($|[^A-Za-z0-9_])")) {
        for (j = i; line[j] ~ /\\$/; j++) ;
        return j
    }
    if (text !~ /^[A-Za-z_]/) return 0
    if (text ~ ("^START_TEST\\(" name "\\)")) {
        for (j = i; j <= lines; j++) if (line[j] ~ /END_TEST/) return j
        return 0
    }
    if (text ~ /^typedef / && text ~ ("[ *]" name "[];,[)(]") && text ~ /;$/) return i
    if (text ~ ("^(typedef )?(struct|enum|union) " name "( \\{|$)") ||
        text ~ ("[ *]" name "(\\[.*\\])? = [{]?"))
        return block_end(i)
    if (text !~ ("(^|[ *(])" name "[ ]*\\(")) return 0

    # A function: its parameters may take several lines.  A prototype counts
    # in a header only.
    for (j = i; j <= lines && line[j] !~ /^[ \t]*$/; j++) {
        if (line[j] ~ /;[ \t]*(\/\*.*)?$/ && line[j] !~ /\{/) return file ~ /\.h$/ ? j : 0
        if (line[j] ~ /\{/) return block_end(j)
    }
    return 0
}

# The line that closes the block, or ends the statement, that starts at line i.
function block_end(i,    j) {
    if (line[i] ~ /;[ \t]*$/ || line[i] ~ /\{.*\}[ \t]*$/) return i
    for (j = i; j <= lines; j++) if (line[j] ~ /^\}/) return j
    return 0
}

# The first line of what stands right above line i: attributes, and a comment.
function comment_start(i, file) {
    while (i > 1 && line[i-1] !~ /^[ \t]*$/ && line[i-1] !~ /(\*\/|[;}]|^#(include|if|else|endif|define|undef).*|END_TEST)$/) i--
    if (file ~ /\.py$/) return i
    if (i > 1 && line[i-1] ~ /\*\/[ \t]*$/) {
        i--
        while (i > 1 && commented[i]) i--
    }
    return i
}

function excerpt(file, name, step,    i, j, first, last, hits, text, indent, n, kind) {
    slurp(file)
    if (name == "HEAD") {
        for (i = 1; i <= lines && line[i] !~ /\/\*/; i++) ;
        for (j = i; j <= lines && line[j] !~ /\*\//; j++) ;
        first = i; last = j
        if (j > lines) die("no comment heads " file)
    } else if (name == "ALL") {
        first = 1; last = lines
    } else {
        for (i = 1; i <= lines; i++)
            if ((j = definition_end(i, name, file)) > 0) {
                hits++
                first = i; last = j
                i = j
            }
        if (hits != 1) die((hits ? hits " definitions" : "no definition") " of " name " in " file)
        if (!step) first = comment_start(first, file)
    }

    if (step) {
        hits = 0
        for (i = first; i <= last; i++)
            if (line[i] ~ ("(/\\*|#) Step " step "[:.]")) { hits++; j = i }
        if (hits != 1) die((hits ? hits " times" : "no") " Step " step " in " name " of " file)
        for (i = j + 1; i < last && line[i] !~ /^[ \t]*$/ && line[i] !~ /(\/\*|#) Step [0-9]/; i++) ;
        first = j; last = i - 1
    }

    indent = 1000
    for (i = first; i <= last; i++)
        if (line[i] ~ /[^ ]/) {
            match(line[i], /^ */)
            if (RLENGTH < indent) indent = RLENGTH
        }
    kind = file; sub(/^.*\./, "", kind)
    if (kind == "h") kind = "c"
    if (kind == "cu" || kind == "cc") kind = "cpp"
    if (kind == "py") kind = "python"
    text = "```" kind "\n"
    for (i = first; i <= last; i++) text = text substr(line[i], indent + 1) "\n"
    return text "```\n[" file "](" up file "#L" first ")"
}

# ---- Tables

function thousandth(x, units, step,    unit, n, i) {
    n = split(units, unit, " ")
    for (i = 1; i < n && x >= 999.5 * step / 1000; i++) x /= step
    return sprintf(x >= 999.5 ? "%.0f %s" : "%.3g %s", x, unit[i])
}

# A measured quantity to three digits with its unit; all else as it is written.
function shown(column, value) {
    if (value !~ /^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$/) return value
    if (column ~ /_seconds$/) return thousandth(value * 1e9, "ns µs ms s", 1000)
    if (column ~ /_bytes$/) return thousandth(value + 0, "B KiB MiB GiB TiB", 1024)
    if (column == "multiply_adds") { value = thousandth(value + 0, "- k M G T P", 1000); sub(/ -$/, "", value) }
    return value
}

# cell[1 ... n] of a line of a Markdown table; returns n.
function cells(text,    n, i) {
    gsub(/\\\|/, "\001", text)
    sub(/^[ \t]*\|/, "", text)
    sub(/\|[ \t]*$/, "", text)
    n = split(text, cell, "|")
    for (i = 1; i <= n; i++) {
        gsub(/\001/, "\\|", cell[i])
        gsub(/^[ \t]+|[ \t]+$/, "", cell[i])
    }
    return n
}

# A table of the house; below it, where there is one, the reader's.
function tables(asked, n,    file, out, text) {
    out = table(asked[3], asked, n, "our")
    file = asked[3]
    if (here == "" || !sub(/^figures/, here, file) || (getline text < file) <= 0) return out
    close(file)
    text = table(file, asked, n, "your")
    return text == out || substr(text, 10) == substr(out, 9) ? out : out "\n\n" text
}

function table(file, asked, n, whose,    text, head, machine, day, peer, names, name, rows, row, out, i, j, k, field, fields,
               number, rule, where, only, picks, pick, value, kept) {
    while ((getline text < file) > 0) {
        sub(/\r$/, "", text)
        if (text ~ /^# machine: /) machine = substr(text, 12)
        if (text ~ /^# measured: /) day = substr(text, 13, 10)
        if (text ~ /^# PyTorch [0-9]/) { peer = substr(text, 3); sub(/[+;].*/, "", peer) }
        if (text ~ /^#/) { if (!rows) { sub(/^# */, "", text); head = text } continue }
        if (text ~ /^[ \t]*$/) continue
        row[++rows] = text
    }
    close(file)
    if (!rows) die("cannot read a table from " file)
    i = 1
    if (split(head, name, "\t") != split(row[1], field, "\t")) { head = row[1]; i = 2 }
    names = split(head, name, "\t")
    for (j = 1; j <= names; j++) where[name[j]] = j

    for (k = 4; k < n; k++) {
        text = asked[k]
        value = ""
        if (match(text, /=/)) { value = substr(text, RSTART + 1); text = substr(text, 1, RSTART - 1) }
        if (!(text in where)) die("no column " text " in " file)
        if (asked[k] ~ /=/) only[where[text]] = value
        else pick[++picks] = where[text]
    }
    if (!picks) for (j = 1; j <= names; j++) if (!(j in only)) pick[++picks] = j

    for (k = 1; k <= picks; k++) number[k] = 1
    for (; i <= rows; i++) {
        fields = split(row[i], field, "\t")
        if (fields != names) die(file ": a row of " fields " fields under " names " names")
        kept = 1
        for (j in only) {
            value = field[j]
            gsub(/ /, "_", value)
            if (value != only[j] && field[j] != only[j]) kept = 0
        }
        if (!kept) continue
        for (k = 1; k <= picks; k++) {
            value = shown(name[pick[k]], field[pick[k]])
            if (value !~ /^[-+]?[0-9.]+([eE][-+]?[0-9]+)?( [^ ]+)?$/ && value ~ /[^-–—]/) number[k] = 0
            gsub(/\|/, "\\|", value)
            out = out (k == 1 ? "| " : " | ") value
        }
        out = out " |\n"
    }
    machine = machine == "" ? "" : "*On " whose " machine" (machine ~ /; / ? "s: " : ": ") machine (day ? ", " day : "") \
        (peer ? ", " peer : "") ".*\n\n"
    if (out == "" && whose == "your")
        return substr(machine, 1, length(machine) - 4) ": not measured in the time that was given.*"
    if (out == "") die("no such row in " file)

    text = ""
    for (k = 1; k <= picks; k++) {
        value = name[pick[k]]
        sub(/_(seconds|bytes)$/, "", value)
        gsub(/_/, " ", value)
        text = text (k == 1 ? "| " : " | ") value
        rule = rule (number[k] ? "|---:" : "|---")
    }
    return machine text " |\n" rule "|\n" substr(out, 1, length(out) - 1)
}

# ---- Claims

# How each test judges: over the field (tests/exact), where its suite ran there, or test_exact says the
# same; within a tolerance that its comment states or its code asks for; by counting; or as a
# promise that is kept or not: a refusal, the same bits, NaN.
function learn_hows(    list, file, text, field, name, tolerance, judged, numbers) {
    if (learned++) return
    while ((getline text < "tests/exact/claims.tsv") > 0) {
        split(text, field, "\t")
        if (text !~ /^#/) how[field[2]] = "exact"
    }
    close("tests/exact/claims.tsv")
    list = "ls tests/test_*.c tests/support/battery.c tests/exact/test_*.cc"
    while ((list | getline file) > 0) {
        name = ""
        while ((getline text < file) > 0) {
            if (text ~ /^\/\*/) tolerance = 0
            if (text ~ /^(\/| )\*.*(Tolerance|Measure,? (and )?tolerance)/)
                tolerance = text !~ /Tolerance:? +([Nn]one|[Zz]ero)/
            if (text ~ /^START_TEST\(/) {
                name = substr(text, 12, index(text, ")") - 12)
                judged = numbers = 0
            }
            if (text ~ /(^|[^A-Za-z_])(within|beyond|alike|worse|[a-z_]*holds|promise_one_function|promise_every_tensor_counts|promise_rung)\(/ && text !~ /, 0\);$/) judged = 1
            if (text ~ /(multiplications|trial_peak|multiply_adds|trial_hearts|problem_parameters)\(/) numbers = 1
            if (text !~ /^END_TEST/ || name in how) continue
            if (name ~ /^forms_(of_the_layers_)?are_one_function$|_forms_are_one_function$|^forms_agree$/ || (file ~ /exact/ && !tolerance)) how[name] = "exact"
            else if (file ~ /_(counts|published)\.c|_cuda_/ || name ~ /_multiplies_as_its_formula_says$/) how[name] = "counted"
            else how[name] = tolerance || judged ? "measured" : numbers ? "counted" : "kept"
        }
        close(file)
    }
    close(list)
}

# The strongest of the tests that a cell names.
function how_claimed(tests,    n, i, word, found) {
    n = split(tests, word, "`")
    for (i = 2; i <= n; i += 2) {
        sub(/^[a-z_]*\//, "", word[i])             # SUITE/TEST
        found = found " " (word[i] in how ? how[word[i]] : "")
    }
    return found ~ /exact/ ? "exact" : found ~ /measured/ ? "measured" : found ~ /counted/ ? "counted" : \
        found ~ /kept/ ? "kept" : ""
}

# A row of a chapter's own table of claims, with how it was judged.
function claimed(row,    n) {
    n = cells(row)
    if (n != 4 && n != 5) die("a row of its claims has " n " cells: " row)
    if (cell[1] ~ /^:?-+:?$/) return "|---|---|---|---|---|"
    learn_hows()
    return "| " cell[1] " | " cell[2] " | " cell[3] " | " (cell[1] == "Claim" ? "How" : how_claimed(cell[3])) \
        " | " cell[n] " |"
}

function claims(    p, text, inside, title, out, n) {
    learn_hows()
    out = "| Chapter | Claim | Paper | Test | How | Verdict |\n|---|---|---|---|---|---|"
    for (p = 1; p <= linked; p++) {
        inside = 0
        title = ""
        while ((getline text < page[p]) > 0) {
            if (title == "" && text ~ /^# /) {
                title = substr(text, 3)
                if (title ~ /^[0-9]+\. /) sub(/\..*/, "", title)
            }
            if (text ~ /^## /) inside = text ~ /^## Claims[ \t]*$/
            if (!inside || text !~ /^[ \t]*\|/) continue
            n = cells(text)
            if (n != 4 && n != 5) die(page[p] ": a row of its claims has " n " cells: " text)
            if (cell[1] == "Claim" || cell[1] ~ /^:?-+:?$/) continue
            text = "| [" title "](" page[p] "#claims) | " cell[1] " | " cell[2] " | " cell[3] \
                " | " how_claimed(cell[3]) " | " cell[n] " |"
            gsub(/\]\(\.\.\//, "](", text)
            gsub(/\]\(#/, "](" page[p] "#", text)
            out = out "\n" text
        }
        close(page[p])
    }
    return out
}

# ---- Exercises

# The questions of chapters/exercises/CHAPTER.n.md, a paragraph or more each; or their answers,
# under headings.  In the committed page a question's title links to its file, which has hints and answer.
function exercises(chapter, answered,    n, file, text, title, keys, part, body, out, kind_called) {
    kind_called["predict"] = "predict"; kind_called["measure"] = "measure"
    kind_called["hole"] = "fill the hole"; kind_called["break"] = "break it"
    for (n = 1; (getline text < (file = "chapters/exercises/" chapter "." n ".md")) > 0; n++) {
        title = substr(text, 3)
        part = "asked"
        body = keys = ""
        while ((getline text < file) > 0) {
            if (text ~ /^## /) part = substr(text, 4)
            else if (part == "asked" && match(text, /^[a-z]+: /) && body ~ /^\n*$/)
                keys = keys (text ~ /^kind: / ? kind_called[substr(text, 7)] : text ~ /^minutes: / ? ", " substr(text, 10) " minutes" : "")
            else if (part == (answered ? "Answer" : "asked")) body = body text "\n"
        }
        close(file)
        gsub(/^\n+|\n+$/, "", body)
        if (body == "") die(file ": nothing is " (answered ? "answered" : "asked"))
        title = chapter "." n " " title
        if (!answered && here == "") title = "[" title "](exercises/" chapter "." n ".md)"
        out = out (n > 1 ? "\n\n" : "") (answered ? "### " title "\n\n" body : "**" title "** (" keys "). " body)
    }
    if (n == 1) die("chapter " chapter " has no exercises")
    return out
}

# The answers of all chapters, each chapter's under its title.
function answers(    list, file, text, chapter, out) {
    list = "ls chapters/[0-9]*-*.md"
    while ((list | getline file) > 0) {
        if ((getline text < file) <= 0) die("cannot read " file)
        close(file)
        match(file, /[0-9]+-/)
        chapter = substr(file, RSTART, RLENGTH - 1)
        out = out (out ? "\n\n" : "") "#" text "\n\n" exercises(chapter, 1)
    }
    close(list)
    return out
}

# ---- The page

FNR == 1 { up = FILENAME ~ /\// ? "../" : "" }

skipping {
    if ($0 ~ ("^<!-- /" skipping " -->")) { skipping = ""; print }
    else if ($0 ~ /^<!-- (\/?(code|table|exercises)|bound)/) die("the block of line " opened " is not closed")
    next
}
/^<!-- \/(code|table|exercises) -->/ { die("nothing is open here") }

/^## / { claiming = FILENAME ~ /^chapters\// && /^## Claims[ \t]*$/ }
{
    print claiming && /^[ \t]*\|/ ? claimed($0) : $0
    rest = $0
    while (match(rest, /\]\(chapters\/[^)#]*\.md/)) {
        name = substr(rest, RSTART + 2, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
        if (!(name in seen)) { seen[name] = 1; page[++linked] = name }
    }
}
/^<!-- code: / {
    if (NF != 5 && !(NF == 7 && $5 == "Step")) die("not <!-- code: FILE NAME [Step n] -->")
    print excerpt($3, $4, NF == 7 ? $6 : "")
    skipping = "code"
}
/^<!-- table: / {
    if (NF < 4) die("not <!-- table: FILE.tsv [COLUMN...] -->")
    split($0, asked, " ")
    print tables(asked, NF)
    skipping = "table"
}
/^<!-- exercises: [0-9]+ -->/ { print exercises($3); skipping = "exercises" }
/^<!-- bound: / {
    if ($3 !~ /^(claims|answers|.*\.tsv)$/) die("not <!-- bound: claims, answers or FILE.tsv [COLUMN...] -->")
    split($0, asked, " ")
    if (here != "") print $3 == "claims" ? claims() : $3 == "answers" ? answers() : tables(asked, NF)
}
skipping { opened = FNR }

END { if (skipping && !dead) die("the block of line " opened " is not closed") }
