#!/bin/sh
# fuzz.sh -- let libFuzzer look for bytes that a target does not stand
#
#     TIME=seconds [TARGET=forms] [SEED=1] fuzz.sh BUILD
#
# BUILD/fuzzer and BUILD/double/fuzzer are there.  Each target has its share of the time; the
# forms are tried in both precisions.  Without SEED each run draws anew.  What a target has seen
# stays in BUILD/corpus, so that the next run goes on; bytes of which it told something are put
# into BUILD/finds.  A line for each run goes into BUILD/runs.tsv: target, precision, seconds,
# executions, edges reached.
# The exit status is 0 when nothing was found.

build=$1 status=0 tried=0
: "${TIME:=600}" "${OMP_NUM_THREADS:=2}" "${OMP_WAIT_POLICY:=passive}"
export OMP_NUM_THREADS OMP_WAIT_POLICY
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$build/finds"

# The program that a precision is tried with.
program() {
    case $1 in float) echo "$build/fuzzer" ;; *) echo "$build/double/fuzzer" ;; esac
}

# Target, precision, tenths of the time, bytes at most.
while read -r target precision tenths most; do
    case ${TARGET:-$target} in $target) ;; *) continue ;; esac
    tried=$((tried + 1))
    [ -z "$TARGET" ] || { [ "$target" = forms ] && tenths=5 || tenths=10; }
    log=$build/$target-$precision.log
    seconds=$((TIME * tenths / 10))
    mkdir -p "$build/corpus/$target"
    find "$build/finds" -name "$target-$precision-*" -exec rm {} +
    TARGET=$target "$(program "$precision")" -max_total_time=$((seconds > 0 ? seconds : 1)) -max_len="$most" -timeout=60 \
        -rss_limit_mb=3000 -dict=tests/fuzz/words.dict -artifact_prefix="$build/finds/$target-$precision-" \
        -print_final_stats=1 -seed="${SEED:-0}" "$build/corpus/$target" "tests/fuzz/$target" >"$log" 2>&1 </dev/null
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
safetensors float 1 4096
images float 1 4096
command float 2 2048
forms float 3 200
forms double 3 200
END
[ $tried -gt 0 ] || { echo "TARGET: found '$TARGET', expected one of safetensors, images, command, forms" >&2; exit 2; }
exit $status
