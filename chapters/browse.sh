#!/bin/sh
# browse.sh -- Chromium without a window
#
#     browse.sh [PAGE OPTION...]
#
# Prints what the options let it print; what it says besides, only when it fails.  PAGE
# is a path, and may look into the pages beside it.  Without one, tells by its exit
# status whether there is a Chromium that runs, and if not, why.

for browser in chromium chromium-browser google-chrome; do
    command -v $browser >/dev/null && break
    browser=
done
test -n "$browser" || { echo "Chromium is missing (Debian: apt-get install chromium)" >&2; exit 1; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# Virtual time: scripts are waited for, pauses are not.
run() {
    timeout 600 "$browser" --headless --disable-gpu --disable-dev-shm-usage \
        $(test "$(id -u)" -ne 0 || echo --no-sandbox) --user-data-dir="$scratch/profile" \
        --allow-file-access-from-files --virtual-time-budget=600000 "$@" 2>"$scratch/said"
}

if [ $# -eq 0 ]; then
    run --dump-dom about:blank >"$scratch/page" && test -s "$scratch/page" && exit
    echo "$browser does not run here: $(sed -n '$p' "$scratch/said")" >&2
    exit 1
fi
page=$1
shift
run "$@" "file://$(realpath "$page")" || { cat "$scratch/said" >&2; echo "$browser failed" >&2; exit 1; }
