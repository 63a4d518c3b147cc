#!/bin/sh
# slides.sh -- the book's figures as slides: one PDF, one idea a page
#
#     slides.sh BUILD
#
# Writes BUILD/slides.pdf, and what it is printed from into BUILD/slides.  All numbers and
# drawings are of the committed tables in figures/.  Drawings of chapters are shown
# without their own titles and feet, as large as a page lets them be.

set -e
export LC_ALL=C.UTF-8
command -v gnuplot >/dev/null || { echo "gnuplot is missing (make deps)" >&2; exit 1; }
sh chapters/browse.sh || exit
build=$1
folder=$build/slides
rm -rf "$folder"
mkdir -p "$folder"
pages=$folder/slides.html

# cell TABLE COLUMN ROW: a cell of figures/TABLE.tsv; ROW is a condition of awk, in which at[NAME] is
# a column.  The last row that meets it.
cell() {
    awk -F '\t' -v wanted="$2" '/^#/ { n = split(substr($0, 2), name, "\t"); if (n > 1) for (i = 1; i <= n; i++) at[name[i]] = i; next }
        '"$3"' { value = $at[wanted] } END { print value }' "figures/$1.tsv"
}

# draw NAME SCRIPT TABLE [ASSIGNMENTS]
draw() {
    gnuplot -e "here='figures'; data='figures/$3.tsv'; out='$folder/$1.svg'; ${4-}" "figures/$2.gp" 2>"$folder/said" ||
        { cat "$folder/said" >&2; exit 1; }
}

# picture FILE [TOP HEIGHT]: the drawing in the page, of it only what lies so many pixels below its top.
picture() {
    awk -v top="$2" -v height="$3" '
        !top { print; next }
        !found && /<svg/ { inside = 1 }
        inside && match($0, /viewBox="[^"]*"/) {
            split(substr($0, RSTART + 9, RLENGTH - 10), box, " ")
            sub(/viewBox="[^"]*"/, "viewBox=\"0 " top " " box[3] " " height "\"")
        }
        inside { sub(/ width="[0-9]*"/, ""); sub(/ height="[0-9]*"/, ""); if (/>/) { inside = 0; found = 1 } }
        { print }' "$1" | sed -e '/<?xml/d' -e '/<!DOCTYPE/d' -e '/"http:\/\/www.w3.org\/Graphics/d' >"$folder/picture"
    name=$(cksum <"$folder/picture" | cut -d' ' -f1)
    mv "$folder/picture" "$folder/$name.svg"
    echo "<img src=\"$name.svg\" alt=\"\">"
}

# page TITLE TABLE [TEXT]: what is on standard input, below it; and at its foot the text, and the machine that
# figures/TABLE.tsv was measured on.
page() {
    machine=$(sed -n 's/^# machine: //p' "figures/$2.tsv" | sed 's/([RTMC]*)//g; 1q')
    test "$machine" || { echo "figures/$2.tsv: found no machine, expected a line '# machine: ...'" >&2; exit 1; }
    printf '<section><h1>%s</h1>\n<div>\n' "$1"
    cat
    printf '</div>\n<footer>%s</footer></section>\n' "${3:+$3  }$machine"
}

# table FILE COLUMN...: the rows as HTML; `where` may be a condition.
table() {
    file=$1
    shift
    awk -F '\t' -v wanted="$*" '
        function unit(x) { return x >= 1 ? sprintf("%.3g s", x) : x >= 1e-3 ? sprintf("%.3g ms", 1e3 * x) : sprintf("%.3g µs", 1e6 * x) }
        function told(name, options) {
            return options ~ /window/ ? "7×7 windows" : name == "msa" ? "self-attention" : name == "sra" ? "SRA" : \
                name == "lisa" ? "LiSA" : name == "structsa" ? "StructSA" : name == "elsa" ? "ELSA" : name == "chopd" ? "ChoP’D" : \
                name == "dfc-cp" ? "CP factors" : name == "hilo" ? "HiLo" : name
        }
        BEGIN { columns = split(wanted, column, " "); print "<table" (columns == 7 && wanted ~ /exponent/ ? " class=\"long\"" : "") ">" }
        /^#/ { n = split(substr($0, 2), name, "\t"); if (n > 1) for (i = 1; i <= n; i++) at[name[i]] = i; next }
        !head++ {
            printf "<tr>"
            for (i = 1; i <= columns; i++) { text = column[i]; sub(/_seconds$/, "", text); gsub(/_/, " ", text); printf "<th>%s</th>", text }
            print "</tr>"
        }
        '"${where:-1}"' {
            printf "<tr>"
            for (i = 1; i <= columns; i++) {
                text = $at[column[i]]
                if (column[i] ~ /_seconds$/) text = unit(text)
                if (column[i] == "grid") sub(/x/, "×", text)
                if (column[i] == "operator" && "options" in at) text = told(text, $at["options"])
                printf "<td%s>%s</td>", text ~ /^[0-9.]+( [a-zµ]+)?( ±.*)?$/ ? " class=\"number\"" : "", text
            }
            print "</tr>"
        }
        END { print "</table>" }' "figures/$file.tsv"
}

# A ratio in two or three digits.
ratio() { awk '{ x = $1; if (x < 10) printf "%.1f", x; else if (x < 1000) printf "%.0f", x
    else { x = sprintf("%.0f", x / (x < 10000 ? 10 : 100)) * (x < 10000 ? 10 : 100); printf "%d %03d", x / 1000, x % 1000 } }'; }

# One operator: its gap at the largest plane that both forms were measured at.
gap_page() {
    key=$1 called=$2 of=$3 series=$4
    draw "gap-$key" slide "$of" "series_='$series'"
    grid=$(cell gap grid "\$at[\"series\"] == \"$key\"" | sed 's/x/×/')
    faster=$(cell gap times_faster "\$at[\"series\"] == \"$key\"" | ratio)
    smaller=$(cell gap times_smaller "\$at[\"series\"] == \"$key\"" | ratio)
    picture "$folder/gap-$key.svg" | page "$called: $faster times as fast, $smaller times smaller, at $grid tokens" "$of" "$5"
}

{
    cat <<'END'
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Attention, Twice Told: the figures</title>
<style>
@page { size: 1280px 720px; margin: 0 }
body { margin: 0; font: 26px/1.35 sans-serif; color: #222; background: #fff }
section { box-sizing: border-box; width: 1280px; height: 720px; padding: 26px 36px 0; overflow: hidden; position: relative; break-after: page }
h1 { font-size: 36px; font-weight: 600; line-height: 1.15; margin: 0 0 12px }
section div { height: 590px; display: flex; flex-direction: column; justify-content: center; align-items: center }
img { width: 100%; height: 100%; object-fit: contain }
footer { position: absolute; left: 36px; bottom: 12px; font-size: 17px; color: #666 }
table { border-collapse: collapse; font-size: 27px; white-space: nowrap }
table.long { font-size: 23px }
table.long td { padding: 3px 22px }
th { text-align: left; font-weight: 400; color: #666; padding: 6px 22px; border-bottom: 2px solid #666 }
td { padding: 6px 22px; border-bottom: 1px solid #ddd }
td.number { text-align: right; font-variant-numeric: tabular-nums }
p { font-size: 32px; max-width: 1080px; margin: 12px 0 }
.first h1 { font-size: 72px; margin-top: 190px }
.first p { font-size: 34px }
</style>
<body>
<section class="first"><h1>Attention, Twice Told</h1>
<p>Five operators of vision attention, each told as its equation reads, and fast; and proved to be the same function</p></section>
END
    for quantity in time memory; do draw "gap-$quantity" gap gap "slide='$quantity'"; done
    picture "$folder/gap-time.svg" | page "How many times as fast the fast form is" gap "One thread, float."
    picture "$folder/gap-memory.svg" | page "How many times smaller its memory is" gap "One thread, float."
    gap_page lisa "LiSA" lisa eq10 "Eq. 10, 96 channels, D = 16, by Fourier transforms."
    gap_page structsa "StructSA" structsa d4 "192 channels, D = 4, convolutions first, then tiles."
    gap_page elsa "ELSA" elsa k7 "96 channels, 7×7 neighbours, nothing unfolded."
    gap_page chopd "ChoP’D" chopd chopd "96 channels, the dense tensor or its factors."
    gap_page hilo "HiLo" hilo s2 "384 channels, windows of 2×2, fewer keys and the same mean."
    table gap-factors operator grid naive_seconds fast_seconds times_faster less_work more_a_second |
        page "A gap is two factors: less work, and more of it a second" gap-factors
    table gap-fits operator form from to work_exponent time_exponent memory_exponent |
        page "Exponents of N, over the range that was fitted" gap-fits "Work by formula, time and memory measured."
    where='$at["what"] == "time"' table gap-loses operator 1×1 2×2 3×3 4×4 6×6 8×8 14×14 |
        page "On small planes the gap closes: naive time over fast" gap-loses
    where='$at["what"] == "memory"' table gap-loses operator 1×1 2×2 3×3 4×4 6×6 8×8 14×14 |
        page "There the fast form takes more memory: naive over fast" gap-loses
    where='$at["what"] == "milliseconds"' table gap-choices operator 7×7 14×14 28×28 56×56 112×112 |
        page "Which one? Milliseconds of a layer of 96 channels" gap-choices "Fast forms, one image, one thread, float."
    draw roofline roofline roofline "slide=1"
    picture "$folder/roofline.svg" | page "How near to what the machine allows: full dots fast, hollow naive" roofline "One thread, float.  Slopes: levels of memory, and GB/s read from them."
    where='$at["form"] == "fast"' table roofline operator grid intensity roof reached share |
        page "Shares of the roof, in percent of G multiply-adds a second" roofline "Multiply-adds by formula, intensity in multiply-adds for each byte."
    for row in lisa:LiSA structsa:StructSA elsa:ELSA chopd:ChoP’D hilo:HiLo; do
        picture "figures/${row%:*}.svg" 40 422 | page "${row#*:}: time of one layer against the number of tokens" "${row%:*}"
    done
    picture figures/gap-blocks-time.svg 40 422 | page "The four blocks of LiSA’s Fig. 4, by fast forms" gap-blocks
    picture figures/gap-resolution.svg 32 390 | page "LITv2-S on larger images, by its attention" hilo "Rings: what HiLo’s Table 4 prints."
} >"$pages"
sh chapters/browse.sh "$pages" --no-pdf-header-footer --print-to-pdf="$build/slides.pdf"
test -s "$build/slides.pdf" || { echo "Chromium printed nothing" >&2; exit 1; }
echo "$build/slides.pdf"
