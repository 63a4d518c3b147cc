#!/bin/sh
# device.sh -- tests and timings on a GPU, in nine minutes
#
#     [BUILD=build] [BUDGET=540] device.sh OUTPUT
#
# Writes into the folder OUTPUT:
#
#     device.txt      the device, its driver, the toolkit
#     proofs.txt      every CUDA version against naive, in float and in double
#     memcheck.txt, racecheck.txt, synccheck.txt
#                     the same in float under compute-sanitizer, if it is installed
#     OPERATOR.tsv    measure: every CUDA version, with and without copies, and fast
#
# A part that exceeds the rest of BUDGET seconds is cut short.  The exit status is 0 if nothing failed, or without a
# device (the first of CUDA_VISIBLE_DEVICES).

: "${BUILD:=build}" "${BUDGET:=540}"
output=${1:?"expected a folder to write to"}
begun=$(date +%s)
failed=0
mkdir -p "$output" || exit 1
export OMP_WAIT_POLICY=passive

left() { echo $((BUDGET - $(date +%s) + begun)); }

# within SECONDS COMMAND...: at most that long, and at most the time left.
within() {
    most=$1 rest=$(left)
    shift
    [ "$rest" -lt "$most" ] && most=$rest
    [ "$most" -gt 0 ] || return 124
    timeout "$most" "$@"
}

# report FILE STATUS WHAT
report() {
    case $2 in
    0) echo "  passed: $3" ;;
    124) echo "  cut short: $3"; echo "cut short" >>"$1" ;;
    *) echo "  FAILED: $3 ($1)"; failed=$((failed + 1)) ;;
    esac
}

# ---- the device

[ -e "$BUILD/libtwicetold-cuda.so" ] || { echo "skipped: no plug-in: $BUILD was built without CUDA"; exit 0; }
"$BUILD/twicetold" list | grep -q 'device)' || { echo "skipped: no CUDA device"; exit 0; }
device=$("$BUILD/measure" msa --form cuda1 --device 0 --grid 4 --channels 4 --repeats 1 2>&1 >/dev/null |
    sed -n 's/^measure: on //p')
[ -n "$device" ] || { echo "the device cannot be used"; exit 1; }
{
    echo "$device"
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv 2>/dev/null
    nvcc --version 2>/dev/null | tail -n 2
} >"$output/device.txt"
echo "$device"

# ---- tests

case='every rung, on the device'
: >"$output/proofs.txt"
for folder in "$BUILD" "$BUILD/double"; do
    within 60 env CK_RUN_CASE="$case" "$folder/tests/test_cuda" >>"$output/proofs.txt" 2>&1
    code=$?
    ! grep -q '^skipped' "$output/proofs.txt" || code=1
    report "$output/proofs.txt" $code "$folder/tests/test_cuda on the device"
done

# ---- compute-sanitizer

if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck; do
        within 60 env CK_FORK=no CK_RUN_CASE="$case" \
            compute-sanitizer --tool "$tool" --error-exitcode 9 "$BUILD/tests/test_cuda" >"$output/$tool.txt" 2>&1
        report "$output/$tool.txt" $? "compute-sanitizer --tool $tool"
    done
else
    echo "  skipped: compute-sanitizer is not installed"
fi

# ---- timings

# time_it OPERATOR WORDS...
time_it() {
    operator=$1
    shift
    "$BUILD/twicetold" list | grep -q "^$operator .*cuda" || { echo "  skipped: $operator has no CUDA version"; return; }
    rungs=$("$BUILD/twicetold" list | awk -v o="$operator" '$1 == o { for (f = 2; f <= NF; f++) if ($f ~ /^cuda/) printf "%s ", $f }')
    file=$output/$operator.tsv
    echo "# $device" >"$file.new"
    # shellcheck disable=SC2086 -- several words
    within 26 "$BUILD/measure" "$operator" --form fast $rungs --device 0 --threads "$(nproc)" \
        --seconds 0.4 --max-seconds 1 "$@" >>"$file.new" 2>"$output/$operator.log"
    code=$?
    mv "$file.new" "$file"
    report "$output/$operator.log" $code "measure $operator: $(grep -vc '^#' "$file") rows"
}

time_it msa --grid 14x14 28x28 56x56 --channels 192 --heads 6 --batch 8
time_it lisa --grid 14x14 28x28 56x56 --channels 192 --heads 6 --batch 8 --sizes D=16
time_it structsa --grid 14x14 28x28 --channels 192 --heads 6 --batch 8 --kernel 3x3 --sizes D=16
time_it elsa --grid 14x14 28x28 56x56 --channels 192 --heads 6 --batch 8 --kernel 7
time_it sra --grid 16x16 32x32 64x64 --channels 192 --heads 6 --batch 8 --reduction 2
time_it hilo --grid 14x14 28x28 56x56 --channels 192 --heads 6 --batch 8
time_it fc --grid 14x14 --channels 32 --batch 8 --sizes N=196,D=32
time_it dfc-cp --grid 14x14 28x28 --channels 192 --batch 8 --sizes N=196,R=96,D=192
time_it chopd --grid 14x14 28x28 56x56 --channels 192 --batch 8 --sizes R=192,S=8,D=192,G=4

echo "$failed failed, $(left) of $BUDGET seconds left; written to $output"
[ "$failed" -eq 0 ]
