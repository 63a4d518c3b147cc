#!/bin/sh
# live.sh -- do the live figures of the bound book do what their chapters say?
#
#     live.sh FOLDER MODULE [PICTURES]
#
# FOLDER is the bound book, MODULE the library that its figures run, as a file
# (build/live/library.wasm).  Lets Chromium and Firefox open each page from the disk and use its
# figure as a reader would, driven by node (tests/press.js).  Prints a line per question, "ok - ..."
# or "not ok - ...", each failure with its place above it; "skipped: ..." where module, book, node
# or a browser is missing.  Chromium leaves what it saw in a folder PICTURES.

folder=$1 module=$2 pictures=$3
skip() { echo "skipped: the live figures$1: $2"; }
test -z "$pictures" || mkdir -p "$pictures"

# use BROWSER [PICTURES]
use() { timeout 600 node tests/press.js "$@" || echo "not ok - the live figures are used in $1"; }

if ! test -f "$module"; then skip "" "no compiler for WebAssembly (make deps)"
elif ! test -f "$folder/live/module.js"; then skip "" "the book is not bound"
elif ! command -v node >/dev/null; then skip "" "node is missing (Debian: nodejs)"
else
    firefox=$(command -v firefox-esr || command -v firefox)
    if test -n "$firefox"; then
        said=$(mktemp)
        use "$firefox" "$folder" "$module" >"$said" 2>&1 &
    fi
    if reason=$(sh chapters/browse.sh 2>&1); then
        for browser in chromium chromium-browser google-chrome; do command -v $browser >/dev/null && break; done
        use $browser "$folder" "$module" ${pictures:+"$pictures"}
    else
        skip " in Chromium" "$reason"
    fi
    wait
    if test -n "$firefox"; then
        cat "$said"
        rm "$said"
    else
        skip " in Firefox" "Firefox is missing (Debian: apt-get install firefox-esr)"
    fi
fi
