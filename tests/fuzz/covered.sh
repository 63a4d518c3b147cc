#!/bin/sh
# covered.sh -- how much of the sources the kept bytes reach
#
#     covered.sh BUILD
#
# BUILD/covered/fuzzer is the float build, with clang's counters.  Runs all bytes of BUILD/corpus
# and tests/fuzz once more, and writes BUILD/covered.tsv: file, lines reached, lines.  Then the figures of
# all runs (BUILD/runs.tsv) go to the page of promises.

build=$1 tools=$(dirname "$(clang -print-prog-name=llvm-cov)")
mkdir -p "$build/profiles"
rm -f "$build/profiles"/*
for target in safetensors images command forms; do
    mkdir -p "$build/corpus/$target"
    TARGET=$target LLVM_PROFILE_FILE="$build/profiles/$target.raw" OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive \
        "$build/covered/fuzzer" -runs=0 -timeout=600 "$build/corpus/$target" "tests/fuzz/$target" >"$build/covered.log" 2>&1 ||
        { tail -n 20 "$build/covered.log"; exit 1; }
done
"$tools/llvm-profdata" merge -o "$build/profiles/all" "$build"/profiles/*.raw || exit 1
"$tools/llvm-cov" export -summary-only -format=text -instr-profile "$build/profiles/all" "$build/covered/fuzzer" |
    python3 -c '
import json, os, sys
for f in json.load(sys.stdin)["data"][0]["files"]:
    name = os.path.relpath(f["filename"])
    if name.split("/")[0] in ("reference", "naive", "fast"):
        lines = f["summary"]["lines"]
        print(name, lines["covered"], lines["count"], sep="\t")
' | sort >"$build/covered.tsv"

runs=$(awk -F'\t' '{ n += $4; s += $3 } END { printf "%.1f million executions in %.1f hours", n / 1e6, s / 3600 }' "$build/runs.tsv")
lines=$(awk -F'\t' -v what="" '
    function share(name, pattern) { printf "%s%s %.0f %%", (some++ ? ", " : ""), name, 100 * reached[pattern] / all[pattern] }
    { key = $1 ~ /safetensors/ ? "s" : $1 ~ /images|tokens/ ? "i" : $1 ~ /reference\/program/ ? "p" : \
            $1 ~ /^naive/ ? "n" : $1 ~ /^fast\/[^c]|^fast\/chopd/ ? "f" : ""; reached[key] += $2; all[key] += $3 }
    END { share("tensors", "s"); share("images and tokens", "i"); share("program", "p"); share("naive/", "n"); share("fast/", "f") }
' "$build/covered.tsv")
sh tests/promise.sh "make fuzz" "$runs; lines reached: $lines"
