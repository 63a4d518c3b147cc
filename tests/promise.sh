#!/bin/sh
# promise.sh -- the last figure of a promise, into tests/promises.tsv
#
#     promise.sh COMMAND FIGURE
#
# Replaces the figure and the day in the rows of that command.

awk -F'\t' -v OFS='\t' -v command="$1" -v figure="$2" -v day="$(date +%F)" '
    $2 == command { $3 = figure; $4 = day }
    { print }' tests/promises.tsv >tests/promises.tsv.new && mv tests/promises.tsv.new tests/promises.tsv
