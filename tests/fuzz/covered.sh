#!/bin/sh
# covered.sh -- the lines that the inputs of BUILD/corpus and tests/fuzz reach, for the page of properties
#
#     covered.sh BUILD
#
# BUILD/covered/fuzzer is the float build with clang's counters.  Needs BUILD/runs.tsv of fuzz.sh.

build=$1 tools=$(dirname "$(clang -print-prog-name=llvm-cov)")
mkdir -p "$build/profiles"
rm -f "$build/profiles"/*
for target in safetensors images command forms; do
    mkdir -p "$build/corpus/$target"
    TARGET=$target LLVM_PROFILE_FILE="$build/profiles/$target.raw" OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive \
        "$build/covered/fuzzer" -runs=0 -timeout=600 "$build/corpus/$target" "tests/fuzz/$target" \
        >"$build/covered.log" 2>&1 || { tail -n 20 "$build/covered.log"; exit 1; }
done
"$tools/llvm-profdata" merge -o "$build/profiles/all" "$build"/profiles/*.raw || exit 1
"$tools/llvm-cov" export -summary-only -format=text -instr-profile "$build/profiles/all" "$build/covered/fuzzer" \
    >"$build/covered.json" || exit 1
figure=$(python3 - "$build" <<'END'
import json, os, re, sys
runs = [line.split("\t") for line in open(sys.argv[1] + "/runs.tsv")]
files = [(os.path.relpath(f["filename"]), f["summary"]["lines"])
         for f in json.load(open(sys.argv[1] + "/covered.json"))["data"][0]["files"]]
shares = []
for name, pattern in {"tensors": "safetensors", "images and tokens": "images|tokens", "program": "reference/program",
                      "naive/": "^naive", "fast/": "^fast/([^c]|chopd)"}.items():
    lines = [found for path, found in files if re.search(pattern, path) and not path.startswith("tests")]
    shares.append(f"{name} {sum(l['covered'] for l in lines) / sum(l['count'] for l in lines):.0%}".replace("%", " %"))
seconds, executions = (sum(int(run[column]) for run in runs) for column in (2, 3))
print(f"{executions / 1e6:.1f} million executions in {seconds / 3600:.1f} hours; lines reached: {', '.join(shares)}")
END
) || exit 1
sh tests/promise.sh "make fuzz" "$figure"
