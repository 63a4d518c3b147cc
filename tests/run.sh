#!/bin/sh
# run.sh -- run suites in parallel and count their tests
#
#     BUILD=build [TAP=folder] [JOBS=2] [RUN=wrapper] [LIMIT=seconds] run.sh PROGRAM... [book]
#
# Prints a line for each suite, its failures and its skipped tests.  $TAP/{float,double,exact} ($BUILD/tap/...) has the
# whole output (.log) and the results (.tap) of each suite.  `book` then checks the pages against the results, and in a
# browser.  The last line is "N passed, N failed, N skipped"; the exit status is 0 if nothing failed.  One more failure
# is a suite without its closing line, with a bad exit status but no failure, or that takes longer than LIMIT seconds.
# JOBS suites run at a time, the slowest of the last run ($BUILD/seconds) first.

: "${BUILD:=build}" "${LIMIT:=600}" "${JOBS:=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}"
: "${OMP_NUM_THREADS:=2}" "${OMP_WAIT_POLICY:=passive}"
export OMP_NUM_THREADS OMP_WAIT_POLICY          # threads that spin would slow each other down
tap=${TAP:-$BUILD/tap}
passed=0 failed=0 skipped=0 running=0 jobs= book=

rm -rf "$tap"
mkdir -p "$tap/float" "$tap/double" "$tap/exact"
touch "$BUILD/seconds"
mkfifo "$tap/ended"
exec 3<>"$tap/ended"

# The path of a suite's output, without suffix.
place() {
    case $1 in
    */double/tests/*) echo "$tap/double/${1##*/}" ;;
    */exact/*) echo "$tap/exact/${1##*/}" ;;
    *) echo "$tap/float/${1##*/}" ;;
    esac
}

# Run a suite and write its name to the pipe.  `timeout` leads a process group and forwards signals to it.
prove() {
    to=$(place "$1") suite=
    trap '[ -z "$suite" ] || kill $suite; wait; exit 130' TERM
    started=$(date +%s)
    CK_TAP_LOG_FILE_NAME=- timeout "$LIMIT" $RUN "$1" >"$to.log" 2>&1 3>&- &
    suite=$!
    wait $suite
    echo "$? $(($(date +%s) - started))" >"$to.end"
    echo "$1" >&3
}

# Print and count the results of a suite that has ended.
report() {
    to=$(place "$1") program=$1
    log=$to.log
    read -r ended seconds <"$to.end"
    rm "$to.end"
    grep -E '^(not )?ok [0-9]+ - ' "$log" >"$to.tap"
    precision=$(basename "$(dirname "$to")")
    closing=$(grep -E '^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+$' "$log" | tail -n 1)
    counts=$(echo "$closing" | tr -c '0-9\n' ' ')
    set -- ${counts:-0 0 0 0}
    checks=$2 failures=$(($3 + $4))
    skips=$(grep -c '^skipped: ' "$log")
    told="$((checks - failures - skips)) passed"
    [ $failures -eq 0 ] || told="$told, $failures failed"
    [ "$skips" -eq 0 ] || told="$told, $skips skipped"
    echo "${program##*/}, $precision, $seconds s: $told"

    grep '^skipped: ' "$log"
    grep -E '^[^ ]+:[0-9]+:[FE]:' "$log"
    if [ "$checks" -eq 0 ] || { [ "$ended" -ne 0 ] && [ $failures -eq 0 ]; }; then
        tail -n 40 "$log"
        echo "$program: exit status $ended, ${closing:-no closing line}"
        failed=$((failed + 1))
    fi

    passed=$((passed + checks - failures - skips))
    failed=$((failed + failures))
    skipped=$((skipped + skips))
    awk -v p="$program" -v s="$seconds" '$2 != p { print } END { print s, p }' "$BUILD/seconds" >"$BUILD/seconds.new"
    mv "$BUILD/seconds.new" "$BUILD/seconds"
}

proofread() {
    echo "the book"
    { sh chapters/proofread.sh "$tap" book.md README.md chapters/*.md
      sh chapters/ledger.sh
      sh chapters/layout.sh "$BUILD/layout"
      sh chapters/live.sh "$BUILD/layout" "$BUILD/live/library.wasm"; } >"$tap/book.log" 2>&1
    passed=$((passed + $(grep -c '^ok - ' "$tap/book.log")))
    failed=$((failed + $(grep -c '^not ok - ' "$tap/book.log")))
    skipped=$((skipped + $(grep -c '^skipped: ' "$tap/book.log")))
    cat "$tap/book.log"
}

interrupted() {
    trap '' INT TERM HUP
    for each in $jobs; do kill "${each%%:*}" 2>/dev/null; done
    wait
    rm -f "$tap/ended"
    exit 130
}
trap interrupted INT TERM HUP

await_one() {
    read -r over <&3
    others=
    for each in $jobs; do
        case $each in *:"$over") ;; *) others="$others $each" ;; esac
    done
    jobs=$others running=$((running - 1))
    report "$over"
}

# Suites without a time first, then the slowest.
order=$(for task; do
    case $task in
    book) ;;
    *) awk -v p="$task" '$2 == p { s = $1 } END { print (s == "" ? 1e9 : s), p }' "$BUILD/seconds" ;;
    esac
done | sort -k1,1nr -s | cut -d' ' -f2)
case " $* " in *' book '*) book=1 ;; esac

for task in $order; do
    [ $running -lt "$JOBS" ] || await_one
    prove "$task" &
    jobs="$jobs $!:$task"
    running=$((running + 1))
done
while [ $running -gt 0 ]; do await_one; done
rm "$tap/ended"
[ ! "$book" ] || proofread

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
