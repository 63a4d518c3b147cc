#!/bin/sh
# fuzz.sh -- let libFuzzer look for bytes that a target does not stand
#
#     [RUNS=20000] [TARGET=forms] [SEED=1] fuzz.sh BUILD
#
# BUILD/fuzzer and BUILD/double/fuzzer exist.  RUNS is the number of executions of the forms in each precision; the other
# targets take the multiples in the table below, which need about as long.  Inputs that reach new code stay in
# BUILD/corpus, where the next run starts.  With SEED a run starts from tests/fuzz alone, with one thread and without the
# operands of comparisons, which may be addresses or process numbers: one seed gives one result.  Inputs that a target
# reports go into BUILD/finds.  Each run adds a line to BUILD/runs.tsv: target, precision, seconds, executions, edges
# reached.  The exit status is 0 when nothing was found.

build=$1 status=0 tried=0
corpus=$build/corpus repeatable=
[ -z "$SEED" ] || { corpus=$build/seeded repeatable=-use_cmp=0; rm -rf "$corpus"; export OMP_THREAD_LIMIT=1; }
: "${RUNS:=20000}" "${OMP_NUM_THREADS:=2}" "${OMP_WAIT_POLICY:=passive}"
export OMP_NUM_THREADS OMP_WAIT_POLICY
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$build/finds"

# The program that a precision is tried with.
program() {
    case $1 in float) echo "$build/fuzzer" ;; *) echo "$build/double/fuzzer" ;; esac
}

# Target, precision, executions for one of RUNS, bytes at most.
while read -r target precision times most; do
    case ${TARGET:-$target} in $target) ;; *) continue ;; esac
    tried=$((tried + 1))
    log=$build/$target-$precision.log
    mkdir -p "$corpus/$target"
    find "$build/finds" -name "$target-$precision-*" -exec rm {} +
    TARGET=$target "$(program "$precision")" $repeatable -runs=$((RUNS * times)) -max_len="$most" -timeout=60 \
        -rss_limit_mb=3000 -dict=tests/fuzz/words.dict -artifact_prefix="$build/finds/$target-$precision-" \
        -print_final_stats=1 -seed="${SEED:-0}" "$corpus/$target" "tests/fuzz/$target" >"$log" 2>&1 </dev/null
    ended=$?
    runs=$(awk '$1 == "stat::number_of_executed_units:" { n = $2 } END { print n + 0 }' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    spent=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$log")
    printf '%s\t%s\t%s\t%s\t%s\n' "$target" "$precision" "${spent:-0}" "$runs" "${edges:-0}" >>"$build/runs.tsv"
    echo "$target, $precision: $runs executions, ${edges:-0} edges"
    [ $ended -eq 0 ] || {
        status=1
        grep -v -E '^(#|INFO)' "$log" | tail -n 40
        echo "found: $(find "$build/finds" -name "$target-$precision-*")"
        echo "    again: TARGET=$target $(program "$precision") FILE"
    }
done <<END
safetensors float 20 4096
images float 8 4096
command float 8 2048
forms float 1 200
forms double 1 200
END
[ $tried -gt 0 ] || { echo "TARGET: found '$TARGET', expected one of safetensors, images, command, forms" >&2; exit 2; }
exit $status
