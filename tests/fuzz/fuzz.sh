#!/bin/sh
# fuzz.sh -- run libFuzzer on the targets of fuzz.h
#
#     [RUNS=20000] [TARGET=forms] [SEED=1] fuzz.sh BUILD
#
# BUILD/fuzzer and BUILD/double/fuzzer exist.  RUNS is the number of executions of `forms` in each precision; the table
# below has multiples for the other targets, which take about as long.  BUILD/corpus keeps inputs that reach new code.
# With SEED, a run starts from tests/fuzz, with one thread and without the operands of comparisons, which may be
# addresses: one seed gives one result.  Inputs that find a defect go into BUILD/finds.  Each run adds a line to
# BUILD/runs.tsv: target, precision, seconds, executions, edges reached.  The exit status is 0 if nothing was found.

build=$1 status=0 tried=0
corpus=$build/corpus repeatable=
[ -z "$SEED" ] || { corpus=$build/seeded repeatable=-use_cmp=0; rm -rf "$corpus"; export OMP_THREAD_LIMIT=1; }
: "${RUNS:=20000}" "${OMP_NUM_THREADS:=2}" "${OMP_WAIT_POLICY:=passive}"
export OMP_NUM_THREADS OMP_WAIT_POLICY
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
mkdir -p "$build/finds"
{ cat tests/fuzz/words.dict
  grep -rhoE '\.name = "[a-z-]+"' reference naive fast --include='*.[ch]' | LC_ALL=C sort -u |
      sed 's/.*"\(.*\)"/"\\x0a\1"\n"\\x0a--\1"/'; } >"$build/words.dict"

# Target, precision, executions for one of RUNS, largest input in bytes.
while read -r target precision times most; do
    case ${TARGET:-$target} in $target) ;; *) continue ;; esac
    tried=$((tried + 1))
    log=$build/$target-$precision.log program=$build/fuzzer
    [ "$precision" = float ] || program=$build/double/fuzzer
    mkdir -p "$corpus/$target"
    find "$build/finds" -name "$target-$precision-*" -exec rm {} +
    TARGET=$target "$program" $repeatable -runs=$((RUNS * times)) -max_len="$most" -timeout=60 -rss_limit_mb=3000 \
        -dict="$build/words.dict" -artifact_prefix="$build/finds/$target-$precision-" -print_final_stats=1 \
        -seed="${SEED:-0}" "$corpus/$target" "tests/fuzz/$target" >"$log" 2>&1 </dev/null
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
        echo "    again: TARGET=$target $program FILE"
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
