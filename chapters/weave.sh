#!/bin/sh
# weave.sh -- refill the committed pages in place; see weave.awk
#
#     weave.sh PAGE...

set -e
export LC_ALL=C.UTF-8         # awk writes numbers as the locale has them
woven=$(mktemp)
trap 'rm -f "$woven"' EXIT
for page in "$@"; do
    awk -f chapters/weave.awk "$page" >"$woven"
    cmp -s "$woven" "$page" || { cat "$woven" >"$page"; echo "  woven $page"; }
done
