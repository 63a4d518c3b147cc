# proofs.awk -- a suite as a page of the book, for pandoc's Markdown
#
#     awk -v names=FILE -v claimed=FILE -v float=LOG -v double=LOG -v exact=LOG -v ran=TEXT -v shown=10 \
#         -f chapters/proofs.awk tests/test_lisa.c >page.md
#
# The head of the suite introduces the page.  Each test has a heading and its
# name for an anchor; its comment becomes a list of claim, paper, measure,
# tolerance and the rest; its code follows, with what stands between the comment
# and it; then what it measured when the
# suites last ran here (tests/run.sh keeps that), the largest shares of the
# tolerance first, and where in the book it is claimed.
#
#     names      lines "TEST SUITE": tests that comments name become links
#     claimed    lines "TEST <tab> PAGE <tab> TITLE": what claims them
#     float, double, exact   what the suite printed; a missing file is a suite not run
#     ran        when, and on which machine
#     shown      how many measurements are seen before one asks for more

function html(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}

# A comment's text, with links to the tests, and to the files of tests/, that it names.
function told(text,    out, word, line) {
    out = ""
    text = html(text)
    while (match(text, /[a-z][a-z0-9]*_[a-z0-9_]+(\.[ch])?/)) {
        word = substr(text, RSTART, RLENGTH)
        out = out substr(text, 1, RSTART - 1)
        if (word in suite_of) out = out link(word)
        else if (word ~ /\./ && (getline line < ("tests/" word)) > 0)
            out = out "<a href=\"source/tests/" word ".html\">" word "</a>"
        else out = out word
        text = substr(text, RSTART + RLENGTH)
    }
    return out text
}

function link(test) {
    return "<a href=\"" suite_of[test] ".html#" test "\"><code>" test "</code></a>"
}

function raw(text) { print "\n~~~~~~~~ {=html}\n" text "\n~~~~~~~~\n" }

function words(name) {
    gsub(/_/, " ", name)
    sub(/^nan /, "NaN ", name)
    sub(/ nan /, " NaN ", name)
    return toupper(substr(name, 1, 1)) substr(name, 2)
}

# A comment that is not right above a test: what claims something waits for the next
# test, and with it all that stands between; else it is code like other code.
function release(    i) {
    if (!lines) return
    if (claims_something()) {
        flush()
        for (i = 1; i <= lines; i++) waiting[i] = comment[i]
        waits = lines
    } else {
        for (i = 1; i <= lines; i++) code[++held] = comment[i]
    }
    lines = 0
}

function claims_something() { return lines && comment[1] ~ /^\/\* (Claim|Reading)  / }

# What is between two tests is shown as it is.
function flush(    i, first) {
    if (waits) {
        for (i = held; i >= 1; i--) code[waits + i] = code[i]
        for (i = 1; i <= waits; i++) code[i] = waiting[i]
        held += waits
        waits = 0
    }
    for (first = 1; first <= held && code[first] ~ /^[ \t]*$/; first++) ;
    for (; held >= first && code[held] ~ /^[ \t]*$/; held--) ;
    if (held >= first) {
        print "\n~~~~~~~~ {.c}"
        for (i = first; i <= held; i++) print code[i]
        print "~~~~~~~~\n"
    }
    held = 0
}

# A comment's lines without what makes them a comment.
function bare(text) {
    sub(/^[ \t]*\/\*+ ?/, "", text)
    sub(/[ \t]*\*\/[ \t]*$/, "", text)
    sub(/^ \* ?/, "", text)
    return text
}

# The comment above a test: labelled parts, and what stands before the first.  Two may share a line.
function parts(n,    i, text, rest, label, out, before, blank) {
    out = before = rest = ""
    for (i = 1; i <= n; i += rest == "") {
        text = rest == "" ? bare(comment[i]) : rest
        rest = ""
        if (match(text, /[^ ]  +(Paper|Measure|Tolerance|Would it fail\?)  /)) {
            rest = substr(text, RSTART + 1)
            sub(/^ +/, "", rest)
            text = substr(text, 1, RSTART)
        }
        if (match(text, /^[A-Z][A-Za-z ]*\??  +/) || text ~ /^Would it fail\?/) {
            if (text ~ /^Would it fail\?/) match(text, /^Would it fail\? */)
            label = substr(text, 1, RLENGTH)
            sub(/ +$/, "", label)
            out = out (out ? "</dd>\n" : "") "<dt>" label "</dt><dd>" told(substr(text, RLENGTH + 1))
        } else if (out == "") {
            before = before (text ~ /^ *$/ ? "</p>\n<p>" : (before ? " " : "") told(text))
        } else if (text ~ /^ *$/) {
            blank = 1
            continue
        } else {
            sub(/^ +/, "", text)
            out = out (blank ? "<br>\n" : "\n") told(text)
        }
        blank = 0
    }
    return (before ? "<p>" before "</p>\n" : "") (out ? "<dl class=\"proof\">\n" out "</dd>\n</dl>" : "")
}

# ---- what was measured

# Of a log: how often each test passed, failed or was skipped, and what it measured before.
function read_log(file, precision,    line, part, test, n, i, parts_of, reason) {
    n = 0
    reason = ""
    while ((getline line < file) > 0) {
        there[precision] = 1
        if (line ~ /^    .* (error +[-+.0-9a-z]+ of +[-+.0-9a-z]+ allowed|differs by +[-+.0-9a-z]+, noticed above)/) {
            kept[++n] = line
        } else if (line ~ /^skipped: /) {
            reason = substr(line, 10)
        } else if (line ~ /^    [a-z0-9_]+ [0-9]+: [0-9]+ draws, [0-9]+ numbers compared/) {
            split(line, part, " ")
            draws[part[1]] = part[3]
            compared[part[1]] += part[5]
        } else if (line ~ /^    [a-z0-9_]+ [0-9]+: not here: /) {
            reason = line
            sub(/.*: not here: /, "", reason)
        } else if (line ~ /^(not )?ok [0-9]+ - /) {
            parts_of = split(line, part, ":")
            test = ""
            for (i = 3; i <= parts_of && test == ""; i++) if (part[i] in own) test = part[i]
            if (test != "") {
                runs[test, precision]++
                if (line ~ /^not/) lost[test, precision]++
                if (reason != "") { skipped[test, precision]++; why[test, precision] = reason }
                for (i = 1; i <= n; i++) measure(test, precision, kept[i])
            }
            n = 0
            reason = ""
        }
    }
    close(file)
}

# One line of a log, kept if no other of the same words came nearer to its tolerance.
function measure(test, precision, line,    what, error, allowed, share, key, beyond, mark) {
    beyond = line ~ / differs by +[-+.0-9a-z]+, noticed above/
    mark = beyond ? " +differs by +" : " +error +"
    match(line, mark "[-+.0-9a-z]+(,| of )")
    what = substr(line, 5, RSTART - 5)
    error = substr(line, RSTART, RLENGTH)
    allowed = substr(line, RSTART + RLENGTH)
    sub(mark, "", error)
    sub(/(,| of )$/, "", error)
    sub(/^ *(noticed above)? */, "", allowed)
    sub(/ .*/, "", allowed)
    share = allowed + 0 > 0 ? error / allowed : error + 0
    if (beyond) share = share > 0 ? 1 / share : 0

    key = test SUBSEP what
    if (!(key in place)) {
        place[key] = ++measured[test]
        what_of[test, place[key]] = what
        noticed[test, place[key]] = beyond
    }
    key = test SUBSEP place[key]
    if (!((key, precision) in error_of) || share > share_of[key, precision]) {
        error_of[key, precision] = error
        allowed_of[key, precision] = allowed
        share_of[key, precision] = share
        if (!(key in worst) || share > worst[key]) worst[key] = share
    }
}

function cell(test, i, precision,    key) {
    key = test SUBSEP i SUBSEP precision
    if (!(key in error_of)) return "<td></td><td></td>"
    return "<td>" error_of[key] "</td><td>" allowed_of[key] "</td>"
}

function rows(test, order, first, last,    i, out) {
    out = "<div class=\"table\" tabindex=\"0\"><table class=\"measured\">\n<thead><tr><th>Compared</th>" \
        "<th>float: error</th><th>allowed</th><th>double: error</th><th>allowed</th></tr></thead>\n<tbody>\n"
    for (i = first; i <= last; i++)
        out = out "<tr><td>" html(what_of[test, order[i]]) (noticed[test, order[i]] ? " (must be more)" : "") "</td>" \
            cell(test, order[i], "float") cell(test, order[i], "double") "</tr>\n"
    return out "</tbody></table></div>\n"
}

# Whether a suite of the field alone: it runs in no precision.
function of_the_field() { return FILENAME ~ /^tests\/exact\// }

# What became of a test in one precision; nothing where its suite has no business there.
function verdict(test, precision,    n, bad) {
    if (precision != "exact" && of_the_field()) return ""
    if (precision == "exact" && !of_the_field() && !("exact" in there)) return ""
    if (!((test, precision) in runs)) return precision ": not run on this machine"
    n = runs[test, precision]
    bad = lost[test, precision] + 0
    if (!bad && skipped[test, precision] == n) return precision ": skipped, " html(why[test, precision])
    return precision ": " (bad ? "<strong>" bad " of " n " failed</strong>" : "passed" (n > 1 ? ", " n " cases" : "")) \
        (precision == "exact" && compared[test] ? ", " compared[test] " numbers equal in " draws[test] " draws" : "")
}

function result(test,    n, i, j, t, order, out, last) {
    out = verdict(test, "float") "; " verdict(test, "double") "; " verdict(test, "exact") "."
    gsub(/^(; )+|; *\./, "", out)
    out = "<p class=\"result\">" out (out ~ /\.$/ ? "" : ".")
    n = measured[test] + 0
    out = out (n ? "" : " No error is measured here: it holds or it does not.") "</p>\n"
    if (!((test, "float") in runs) && !((test, "double") in runs) && !((test, "exact") in runs))
        out = "<p class=\"result\">Not run on this machine.</p>\n"
    for (i = 1; i <= n; i++) {
        t = i
        for (j = i; j > 1 && worst[test, order[j - 1]] < worst[test, t]; j--) order[j] = order[j - 1]
        order[j] = t
    }
    last = n <= shown + 2 ? n : shown
    if (n) out = out rows(test, order, 1, last)
    if (last < n) {
        t = n < 20 * shown ? n : 20 * shown
        out = out "<details><summary>" n - last " more, farther from their tolerances</summary>\n" \
            rows(test, order, last + 1, t) (t < n ? "<p>And " n - t " more.</p>\n" : "") "</details>\n"
    }
    return out
}

function prove(test, start,    i, head) {
    if (waits && !claims_something()) {         # what it claims, then what it is tried on, then the test
        release()
        for (i = 1; i <= waits; i++) comment[i] = waiting[i]
        lines = waits
        for (i = body; i >= 1; i--) statement[held + i] = statement[i]
        for (i = 1; i <= held; i++) statement[i] = code[i]
        body += held
        held = waits = 0
    }
    flush()
    print "\n### " words(test) " {#" test "}\n"
    head = "<p class=\"at\"><a href=\"source/" FILENAME ".html#L-" start "\"><code>" test "</code></a></p>\n"
    raw(head parts(lines))
    print "~~~~~~~~ {.c}"
    for (i = 1; i <= body; i++) print statement[i]
    print "~~~~~~~~"
    raw(result(test) (test in claims ? "<p class=\"claimed\">Claimed in " claims[test] ".</p>" : ""))
    tests++
}

BEGIN {
    while ((getline line < names) > 0) { split(line, field, " "); suite_of[field[1]] = field[2] }
    while ((getline line < claimed) > 0) {
        split(line, field, "\t")
        claims[field[1]] = claims[field[1]] (field[1] in said ? ", " : "") \
            "<a href=\"" field[2] "#claim-" field[1] "\">" html(field[3]) "</a>"
        said[field[1]] = 1
    }
    while ((getline line < ARGV[1]) > 0) if (sub(/^START_TEST\(/, "", line) && sub(/\).*/, "", line)) own[line] = 1
    close(ARGV[1])
    read_log(float, "float")
    read_log(double, "double")
    read_log(exact, "exact")
}

# The head of the file: its first paragraph is the title.
FNR == 1 { heading = 1; title = ""; intro = "" }
heading {
    text = bare($0)
    if (FNR == 1) sub(/^[^ ]+ -- /, "", text)
    if (text ~ /^ *$/) intro = intro (intro == "" ? "<p>" : "</p>\n<p>")
    else if (intro == "") title = title (title ? " " : "") text
    else intro = intro told(text) "\n"
    if (/\*\//) {
        heading = 0
        gsub(/[][*_`\\$<>]/, "\\\\&", title)
        print "# " toupper(substr(title, 1, 1)) substr(title, 2)
        raw("<p class=\"suite\"><a href=\"source/" FILENAME ".html\">" FILENAME "</a>. " \
            ("float" in there || "double" in there || "exact" in there ? ran : "Not run on this machine; <code>make test</code> does.") "</p>\n" \
            (intro ? intro "</p>" : ""))
    }
    next
}

inside { statement[++body] = $0; if (/^END_TEST/) { inside = 0; prove(name, start); lines = 0 } next }

/^\/\* ---- / {
    flush()
    sub(/^\/\* -+ /, "")
    sub(/ -+ \*\/.*$/, "")
    print "\n## " toupper(substr($0, 1, 1)) substr($0, 2) "\n"
    next
}

# A comment may belong to the test below it.
!commenting && /^\/\*/ { release(); commenting = 1 }
commenting { comment[++lines] = $0; if (/\*\//) commenting = 0; next }

/^START_TEST\(/ {
    name = $0
    sub(/^START_TEST\(/, "", name)
    sub(/\).*/, "", name)
    start = FNR
    inside = 1
    body = 0
    statement[++body] = $0
    next
}

{
    release()
    code[++held] = $0
}

END { release(); flush() }
