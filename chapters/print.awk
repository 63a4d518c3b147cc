# print.awk -- the pages of the bound book joined into one
#
#     awk -v order="index.html 0-ground.html ..." -v numbers=FILE -f print.awk PAGE... PAGE...
#
# Every page is read twice: for its headings, which make the contents, and for
# its text.  Anchors get their page's name in front, links between pages become
# links within the one, and links to what is not printed are none.  Suites of proofs
# follow each other in one chapter, without code and tables.  `numbers` has lines
# "ANCHOR PAGE"; without them there is room for numbers in the contents, and behind
# the tests that tables name.

function is_suite(file) { return file ~ /^test_/ }

function stem(file) { sub(/\.html$/, "", file); return file }

# Where a link leads to in print; empty if nowhere.
function target(link,    at, file, anchor) {
    if (link ~ /^[a-z]+:/) return link
    at = index(link, "#")
    file = at ? substr(link, 1, at - 1) : link
    anchor = at ? substr(link, at + 1) : ""
    if (file == "") file = FILENAME
    if (!(file in printed)) return ""
    return "#" stem(file) (anchor == "" ? "" : "--" anchor)
}

# A line with its anchors and links made those of print; figures do not lead anywhere.
function printable(line,    out, link) {
    if (line ~ /^(href|id)="/) line = " " line
    gsub(/<a href="#cb[0-9]+-[0-9]+"[^>]*><\/a>/, "", line)
    gsub(/ id="cb[0-9]+(-[0-9]+)?"/, "", line)
    gsub(/ id="/, "&" stem(FILENAME) "--", line)
    out = ""
    while (match(line, / href="[^"]*"/)) {
        link = target(substr(line, RSTART + 7, RLENGTH - 8))
        out = out substr(line, 1, RSTART - 1) (link == "" ? "" : " href=\"" link "\"")
        line = substr(line, RSTART + RLENGTH)
        if (in_table && link ~ /^#test_.*--/) proof = substr(link, 2)
        if (proof != "" && match(line, /<\/a>/)) {
            out = out substr(line, 1, RSTART + 3) "<span class=\"page\">" page[proof] "</span>"
            line = substr(line, RSTART + 4)
            proof = ""
        }
    }
    if (proof != "" && match(line, /<\/a>/)) {         # a link that began on the line before
        line = substr(line, 1, RSTART + 3) "<span class=\"page\">" page[proof] "</span>" substr(line, RSTART + 4)
        proof = ""
    }
    return out line
}

function entry(class, anchor, text) {
    print "<li class=\"" class "\"><a href=\"#" anchor "\"><span>" text "</span><span>" page[anchor] "</span></a></li>"
}

function heading(line) {
    gsub(/<\/?(h[12]|a|code|span)[^>]*>/, "", line)
    return line
}

function begin_book(    i, name) {
    print "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Attention, Twice Told</title>"
    print "<link rel=\"stylesheet\" href=\"book.css\">\n<style>"
    for (i = 2; i <= pages; i++) {
        if (is_suite(file[i])) { print "#" css(stem(file[i])) " { page: " name "; }"; continue }
        name = "p" i
        print "@page " name " { @top-right { content: \"" plain(title[file[i]]) "\"; } }"
        print "#" css(stem(file[i])) " { page: " name "; }"
    }
    print "</style>\n</head>\n<body class=\"print\">"
}

function plain(text) { gsub(/&amp;/, "\\&", text); gsub(/"/, "\\\"", text); return text }

# A name that begins with a digit, as CSS writes it.
function css(name) { return name ~ /^[0-9]/ ? "\\3" substr(name, 1, 1) " " substr(name, 2) : name }

function contents(    i, j) {
    print "<section class=\"toc\">\n<h2>Contents</h2>\n<ol>"
    for (i = 2; i <= pages; i++) {
        if (is_suite(file[i])) { entry("section", stem(file[i]), title[file[i]]); continue }
        entry("chapter", stem(file[i]), title[file[i]])
        for (j = 1; j <= sections[file[i]]; j++) entry("section", anchor[file[i], j], section[file[i], j])
    }
    print "</ol>\n</section>"
}

BEGIN {
    pages = split(order, file, " ")
    for (i = 1; i <= pages; i++) printed[file[i]] = 1
    while ((getline line < numbers) > 0) { split(line, field, " "); page[field[1]] = field[2] }
}

FNR == 1 { inside = skipping = 0; above = ""; reading[FILENAME]++; if (++read == pages + 1) begin_book() }

# First reading: titles, and the sections of chapters.
reading[FILENAME] == 1 {
    if ($0 ~ /^<h1>/) title[FILENAME] = heading($0)
    if ($0 ~ /^<h2/ || held != "") {
        held = held (held == "" ? "" : " ") $0
        if (held !~ /<\/h2>/) next
        match(held, / id="[^"]*"/)
        sections[FILENAME]++
        anchor[FILENAME, sections[FILENAME]] = stem(FILENAME) "--" substr(held, RSTART + 5, RLENGTH - 6)
        section[FILENAME, sections[FILENAME]] = heading(held)
        held = ""
    }
    next
}

# Second reading.
/^<h1>/ {
    print "<section class=\"" (FILENAME == file[1] ? "title" : is_suite(FILENAME) ? "appendix" : "chapter") "\" id=\"" stem(FILENAME) "\">\n" $0
    next
}
/^<main>/ { inside = 1; next }
/^<\/main>/ { print "</section>"; if (FILENAME == file[1]) contents(); inside = 0; next }
!inside { next }
FILENAME == file[1] && /^<h2/ { skipping = /id="(contents|claims)"/ }
skipping { next }
/<table/ { in_table = 1 }
is_suite(FILENAME) && /^<(div class="(sourceCode|table)"|details)/ { omitted = /^<details/ ? "</details>" : "</div>" }
omitted != "" { if (index($0, omitted)) omitted = ""; next }
is_suite(FILENAME) && /^<p class="result">Not run/ { next }

# A heading in a suite waits for what it is the heading of.
is_suite(FILENAME) && (/^<h2/ || (above != "" && above !~ /<\/h2>/)) { above = (/^<h2/ ? "" : above "\n") printable($0); next }
above != "" && /[^ ]/ { print above; above = "" }
{ print printable($0) }
/<\/table>/ { in_table = 0 }

END { print "</body>\n</html>" }
