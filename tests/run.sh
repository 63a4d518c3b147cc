#!/bin/sh
# run.sh -- run suites one after another, and count
#
#     BUILD=build [RUN=wrapper] [LIMIT=seconds] run.sh PROGRAM... [book]
#
# Shows each suite's closing line, and all of what failed or was skipped; the
# whole output of a suite stays beside its TAP report in $BUILD/tap/float and
# $BUILD/tap/double.  `book` proofreads the pages against those reports.  The
# last line is "N passed, N failed, N skipped"; the exit status is 0 when
# nothing failed.  A suite that ends without its closing line, or unhappily
# with no failure to show for it, has failed once more than it says; so has one
# that is not done within LIMIT seconds.

: "${BUILD:=build}" "${LIMIT:=600}" "${OMP_NUM_THREADS:=2}" "${OMP_WAIT_POLICY:=passive}"
export OMP_NUM_THREADS OMP_WAIT_POLICY          # many short runs: threads that spin would wait for each other
passed=0 failed=0 skipped=0

rm -rf "$BUILD/tap"
mkdir -p "$BUILD/tap/float" "$BUILD/tap/double"

prove() {
    program=$1
    name=${program##*/}
    case $program in
    */double/tests/*) precision=double ;;
    *) precision=float ;;
    esac
    log=$BUILD/tap/$precision/$name.log

    started=$(date +%s)
    TAP_FOLDER=$BUILD/tap/$precision timeout "$LIMIT" $RUN "$program" >"$log" 2>&1
    ended=$?
    echo "$name, $precision, $(($(date +%s) - started)) s"

    closing=$(grep -E '^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+$' "$log" | tail -n 1)
    counts=$(echo "$closing" | tr -c '0-9\n' ' ')
    set -- ${counts:-0 0 0 0}
    checks=$2 failures=$(($3 + $4))
    skips=$(grep -c '^skipped: ' "$log")

    grep '^skipped: ' "$log"
    grep -E '^[^ ]+:[0-9]+:[FE]:' "$log"
    if [ "$checks" -eq 0 ] || { [ $ended -ne 0 ] && [ $failures -eq 0 ]; }; then
        tail -n 40 "$log"
        echo "$program: exit status $ended, ${closing:-no closing line}"
        failed=$((failed + 1))
    fi
    test -z "$closing" || echo "$closing"

    passed=$((passed + checks - failures - skips))
    failed=$((failed + failures))
    skipped=$((skipped + skips))
}

proofread() {
    echo "the book"
    { sh chapters/proofread.sh "$BUILD/tap" book.md README.md chapters/*.md; sh chapters/ledger.sh; } \
        >"$BUILD/tap/book.log" 2>&1
    passed=$((passed + $(grep -c '^ok - ' "$BUILD/tap/book.log")))
    failed=$((failed + $(grep -c '^not ok - ' "$BUILD/tap/book.log")))
    cat "$BUILD/tap/book.log"
}

for task in "$@"; do
    case $task in
    book) proofread ;;
    *) prove "$task" ;;
    esac
done

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
