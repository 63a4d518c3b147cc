#!/bin/sh
# check.sh -- tests of the installed library; the exit status is the result, 77 if there is no suitable Python
#
#     BUILD=... check.sh QUESTION [ARGUMENT...]
#
# Installs into a temporary folder under $BUILD.  FLAGS are the compiler's, for a sanitized library.  check.py needs
# NumPy, rename.py PyTorch.

set -e
: "${CC:=cc}" "${CXX:=c++}"
top=$PWD
scratch=$(mktemp -d "$BUILD/installed-XXXXXX")
scratch=$(cd "$scratch" && pwd)
trap 'rm -rf "$scratch"' EXIT
BUILD=$(cd "$BUILD" && pwd)
export OMP_WAIT_POLICY=passive HOME="$scratch/home" PYTHONDONTWRITEBYTECODE=1 BUILD
mkdir "$HOME"

fail() {
    echo "$*" >&2
    exit 1
}

# Set $python to the first Python that has NumPy, or the module $1.
find_python() {
    for python in "${PYTHON:-python3}" /usr/bin/python3; do
        "$python" -c "import ${1:-numpy}" 2>/dev/null && return
    done
    python=python3
    return 1
}

# install_into PREFIX [DESTDIR]
install_into() {
    (cd "$top" && sh reference/program/install.sh "$BUILD" "$2" "$1" 1.0 "$python")
}

# The lines of README under "Use it as a library" that match grep's arguments.
readme() {
    awk '/^## / { inside = /Use it as a library/ } inside && /^    / { print substr($0, 5) }' "$top/README.md" |
        grep "$@"
}

# The distance that program.c prints is small, and not 0.
small_distance() {
    awk -v said="$1" 'BEGIN { split(said, word); exit !(word[5] > 0 && word[5] < 5e-3) }' || fail "program.c: $1"
    echo "$1"
}

names() {
    install_into /usr "$scratch/staged"
    cd "$scratch/staged/usr"
    test "$(find include -type f)" = include/twicetold/twicetold.h || fail "headers: $(find include -type f)"
    grep -rq "$scratch" lib/pkgconfig && fail "a pkg-config file knows where it was staged"
    for name in twicetold twicetold-double; do
        begins=$(echo "$name" | tr - _)_
        for file in "lib/lib$name.a" "lib/lib$name.so.1"; do
            case $file in *.a) kind=-g ;; *) kind=-D ;; esac
            nm $kind --defined-only "$file" | awk 'NF == 3 { print $3 }' >"$scratch/names"
            grep -q "^${begins}plan_run$" "$scratch/names" || fail "$file: no ${begins}plan_run"
            grep -v "^$begins" "$scratch/names" && fail "$file: these names have not its prefix"
        done
        test "$(readlink "lib/lib$name.so")" = "lib$name.so.1" || fail "lib$name.so: leads elsewhere"
    done
    for language in c c++; do
        echo '#include <twicetold/twicetold.h>
              #include <memory.h>
              #include <string.h>
              int main(void) { return twicetold_operator(0) ? (int)strlen("") : 0; }' |
            $CC -Wall -Wextra -Wpedantic -Werror -Iinclude -x $language -fsyntax-only -
    done
}

# README's lines in a temporary home; `make install` installs the existing build.
readme_lines() {
    make() { test "$1" = install && install_into "${2#PREFIX=}"; }
    cc() { command "$CC" $FLAGS "$@"; }
    cp tests/installed/program.c "$scratch"
    cd "$scratch"
    readme -v python3 >lines
    . ./lines >said || fail "README's lines: $(cat said lines)"
    small_distance "$(tail -n 1 said)"
}

static_too() {
    install_into "$scratch/here"
    cd "$scratch/here"
    export PKG_CONFIG_PATH="$PWD/lib/pkgconfig"
    $CC $FLAGS "$top/tests/installed/program.c" $(pkg-config --static --cflags --libs twicetold twicetold-double |
        sed 's/-l\(twicetold[a-z-]*\)/-l:lib\1.a/g') -o program
    ldd program | grep twicetold && fail "a shared library was linked"
    small_distance "$(./program)"
}

# README's Python line with the installed module.
python_line() {
    said=$(install_into "$HOME/.local")
    case $said in
    *PYTHONPATH=*) export PYTHONPATH="${said#*PYTHONPATH=}" ;;
    esac
    unset TWICETOLD_LIBRARY
    python3() { command "$python" "$@"; }
    cd "$scratch"
    readme python3 >lines
    PAGER=cat . ./lines >said || fail "README's line: $(cat said lines)"
    grep -q 'w_qkv \[3C, C\]' said || fail "README's line: $(cat said)"
}

# depend.sh with programs that only print their names, on a machine without packages.
sudo_said() {
    mkdir "$scratch/bin"
    cd "$scratch/bin"
    for name in apt-get apt-cache dpkg-query sudo; do printf '#!/bin/sh\necho "called: %s $*"\n' $name >$name; done
    printf '#!/bin/sh\necho 1000\n' >id
    chmod +x ./*
    PATH="$scratch/bin:$PATH" sh "$top/reference/program/depend.sh" install </dev/null >"$scratch/said" 2>&1 || true
    awk '/^installing/ { told = /by sudo apt-get -y:/ } /called: sudo/ { calls++; bad += !told } END { exit bad || !calls }' \
       "$scratch/said" || fail "depend.sh calls sudo before it names it: $(cat "$scratch/said")"
    MAKEFLAGS='' make -s -C "$top" help | grep -q '^make deps .*sudo' || fail "make help: deps does not name sudo"
}

question=$1
shift
case $question in
names|readme_lines|static_too|sudo_said)
    find_python || true
    $question ;;
python_line)
    find_python || exit 77
    $question ;;
rename)
    find_python torch || exit 77
    "$python" tests/pytorch/_check_rename.py "$scratch" ;;
*)
    case $question in lazy) find_python torch ;; *) find_python ;; esac || exit 77
    # Bits of a product depend on the threads that BLAS sees, and clang's OpenMP is not that of NumPy's BLAS.
    case $question in
    agree|wheel) export OMP_NUM_THREADS=1 ;;
    faults) export OMP_NUM_THREADS=2 shim="$BUILD$(test "$1" = float32 || echo /double)/tests/refusing.so" ;;
    fork)
        export OMP_NUM_THREADS=2
        echo 'int loop(void)
              {
                  int sum = 0;
                  _Pragma("omp parallel reduction(+ : sum)")
                  sum += 1;
                  return sum;
              }' | $CC -fopenmp -fPIC -shared -x c - -o "$scratch/loop.so" ;;
    esac
    export TWICETOLD_LIBRARY="$BUILD/lib" PYTHONPATH="$top/reference/library" SCRATCH="$scratch"
    LD_PRELOAD="$shim" "$python" tests/installed/check.py "$question" "$@" ;;
esac
