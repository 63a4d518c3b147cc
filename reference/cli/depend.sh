#!/bin/sh
# depend.sh -- compilers, libraries and tools that this repository needs
#
#     depend.sh install [developer]     install them by Debian's apt; elsewhere, say what is missing
#     depend.sh build CC LIBRARY...     fail, naming all that is missing, unless CC and these libraries are present
#
# Prints nothing if all are present.  Before apt downloads, the script prints the packages, and on a terminal apt asks.
# If apt needs sudo, the line that names the packages says so before sudo is called.

# Debian's package, how to find it without apt, its home.  `absent` says which probes are of optional packages.
needed='
gcc command:gcc gcc.gnu.org
g++ command:g++ gcc.gnu.org
libc6-dev command:gcc www.gnu.org/software/libc
make command:make www.gnu.org/software/make
pkg-config command:pkg-config pkgconf.org
check library:check libcheck.github.io/check
gnuplot-nox command:gnuplot www.gnuplot.info
libfftw3-dev library:fftw3f www.fftw.org
libopenblas-openmp-dev library:openblas www.openblas.net
libcjson-dev library:libcjson github.com/DaveGamble/cJSON
libpng-dev library:libpng www.libpng.org
zlib1g-dev library:zlib zlib.net
python3 command:python3 www.python.org
python3-numpy module:numpy numpy.org
pandoc command:pandoc pandoc.org
fonts-texgyre-math font:/usr/share/texmf/fonts/opentype/public/tex-gyre-math www.gust.org.pl
dataset-fashion-mnist data:/usr/share/datasets/fashion-mnist github.com/zalandoresearch/fashion-mnist
libjpeg62-turbo-dev jpeg:jpeglib.h ijg.org
'
test "$(uname -m)" != x86_64 ||
    needed="$needed"'
libdnnl-dev header:oneapi/dnnl/dnnl.h github.com/oneapi-src/oneDNN'
developer='
clang command:clang clang.llvm.org
libomp-dev command:clang openmp.llvm.org
clang-tidy command:clang-tidy clang.llvm.org
cppcheck command:cppcheck cppcheck.sourceforge.io
valgrind command:valgrind valgrind.org
libclang-rt-dev cross:llvm-cov llvm.org
llvm command:llvm-cov llvm.org
qemu-user command:qemu-s390x www.qemu.org
g++-s390x-linux-gnu cross:s390x-linux-gnu-g++ gcc.gnu.org
g++-aarch64-linux-gnu cross:aarch64-linux-gnu-g++ gcc.gnu.org
g++-i686-linux-gnu cross:i686-linux-gnu-g++ gcc.gnu.org
python3-torch module:torch pytorch.org
chromium command:chromium www.chromium.org
locales command:localedef www.gnu.org/software/libc
nodejs command:node nodejs.org
cmake command:cmake cmake.org
python3-matplotlib module:matplotlib matplotlib.org
'

# For the live figures of the book: the library as WebAssembly.  The runtime has the version of Debian's clang.
browsers() {
    version=$(apt-cache depends clang 2>/dev/null | while read -r relation name; do
        case "$relation $name" in "Depends: clang-"[0-9]*) echo "${name#clang-}" ;; esac
    done)
    cat <<END
clang live:clang clang.llvm.org
lld live:wasm-ld lld.llvm.org
wasi-libc live:/usr/include/wasm32-wasi github.com/WebAssembly/wasi-libc
libclang-rt-${version:-14}-dev-wasm32 live:clang compiler-rt.llvm.org
END
}

present() {
    case $1 in
    header:* | jpeg:*) echo "#include <stdio.h>
#include <${1#*:}>" | ${CC:-gcc} -E - >/dev/null 2>&1 ;;
    module:*)  /usr/bin/python3 -c "import ${1#module:}" 2>/dev/null || python3 -c "import ${1#module:}" 2>/dev/null ;;
    command:* | cross:*) command -v "${1#*:}" >/dev/null ;;
    library:*) pkg-config --exists "${1#library:}" 2>/dev/null ;;
    live:/*)   test -e "${1#*:}" ;;
    live:*)    command -v "${1#live:}" >/dev/null ;;
    data:* | font:*) test -e "${1#*:}" ;;
    esac
}

# Names of the packages that apt does not have installed: `required` or `optional` ones.  Those of `data:` and so on
# are not required: without them measurements use seeded noise, formulas a font of the browser, ...
absent() {
    printf '%s\n' "$needed" "$(browsers)" | while read -r package probe _; do
        case $probe in data:* | font:* | cross:* | header:* | jpeg:* | live:*) kind=optional ;; *) kind=required ;; esac
        if [ "$kind" != "$1" ] || [ -z "$package" ]; then continue; fi
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in installed) continue ;; esac
        printf ' %s' "$package"
    done
}

# fetch PACKAGE... -- as one transaction of apt
fetch() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q $yes --no-install-recommends "$@"
}

# shellcheck disable=SC2046,SC2086
install_by_apt() {
    required=$(absent required) optional=$(absent optional) as_root="" yes=-y
    test -n "$required$optional" || exit 0
    test ! -t 0 || yes=
    if [ "$(id -u)" -ne 0 ]; then
        as_root=sudo
        command -v sudo >/dev/null || {
            echo "missing:$required$optional" >&2
            echo "there is no sudo here; as root, run: apt-get install --no-install-recommends$required$optional" >&2
            test -z "$required"
            exit
        }
    fi
    echo "installing${as_root:+, by sudo apt-get${yes:+ $yes}}:$required$optional"
    $as_root apt-get update -q || echo "apt-get update failed; going on with the lists at hand" >&2
    known=
    for package in $(absent optional); do
        if apt-cache show "$package" >/dev/null 2>&1; then
            known="$known $package"
        else
            echo "this system has no package $package; going on without" >&2
        fi
    done
    test -n "$required$known" || exit 0
    fetch $required $known && exit
    test -n "$known" || exit
    echo "going on without, as apt failed with these:$known" >&2
    test -z "$required" || fetch $required
}

# Without apt: name what is missing, and say what lacks without it.
look() {
    printf '%s\n' "$needed" "$(browsers)" | {
        lacking=0
        while read -r package probe home; do
            if [ -z "$package" ] || present "$probe"; then continue; fi
            case $probe in
            header:*) without="without it, OpenBLAS multiplies floats, slower on new processors" ;;
            jpeg:*) without="without it, JPEG pictures cannot be read" ;;
            live:*) without="without it, the book has no live figures" ;;
            data:*) without="without it, seeded noise stands in for images" ;;
            cross:*) without="without it, a sanitizer or another machine is not tried" ;;
            font:*) without="without it, the browser chooses a font for formulas" ;;
            *) without=required lacking=1 ;;
            esac
            echo "missing: ${probe#*:} (Debian's $package; https://$home): $without" >&2
        done
        exit $lacking
    }
}

case $1 in
install)
    test "$2" = developer && needed="$needed$developer"
    if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
        install_by_apt
    else
        look
    fi ;;
build)
    compiler=$2
    shift 2
    lacking=
    command -v "${compiler%% *}" >/dev/null || lacking="the compiler $compiler"
    if command -v pkg-config >/dev/null; then
        for library in "$@"; do
            pkg-config --exists "$library" 2>/dev/null || lacking="$lacking${lacking:+, }the library $library"
        done
    else
        lacking="$lacking${lacking:+, }pkg-config, which knows where libraries are ($*)"
    fi
    case $lacking in
    *compiler*) ;;
    *)
        echo '#include <omp.h>' | $compiler -fopenmp -E - >/dev/null 2>&1 ||
            lacking="$lacking${lacking:+, }OpenMP of $compiler (for clang, Debian's libomp-dev)" ;;
    esac
    test -z "$lacking" || {
        echo "missing: $lacking: run 'make deps'" >&2
        exit 1
    } ;;
esac
