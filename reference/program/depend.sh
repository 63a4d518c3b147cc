#!/bin/sh
# depend.sh -- what the house stands on, and how to get it
#
#     depend.sh install [developer]     by Debian's apt; elsewhere, say what is missing
#     depend.sh build CC LIBRARY...     fail, saying so, unless CC and these libraries are there
#
# Asks for nothing and prints nothing when all is there.

# Debian package, how to see it without Debian, where it comes from.
# "data" is missed, not required: measurements then use seeded noise.
needed='
gcc                     command:gcc         https://gcc.gnu.org
g++                     command:g++         https://gcc.gnu.org
libc6-dev               command:gcc         https://gcc.gnu.org
make                    command:make        https://www.gnu.org/software/make
pkg-config              command:pkg-config  https://www.freedesktop.org/wiki/Software/pkg-config
check                   library:check       https://libcheck.github.io/check
gnuplot-nox             command:gnuplot     http://www.gnuplot.info
libfftw3-dev            library:fftw3f      https://www.fftw.org (single and double precision)
libopenblas-openmp-dev  library:openblas    https://www.openblas.net (built with OpenMP)
libcjson-dev            library:libcjson    https://github.com/DaveGamble/cJSON
libpng-dev              library:libpng      http://www.libpng.org
zlib1g-dev              library:zlib        https://zlib.net
pandoc                  command:pandoc      https://pandoc.org
dataset-fashion-mnist   data:/usr/share/datasets/fashion-mnist  https://github.com/zalandoresearch/fashion-mnist
'
developer='
clang                   command:clang       https://clang.llvm.org
libomp-dev              command:clang       https://openmp.llvm.org
valgrind                command:valgrind    https://valgrind.org
python3-torch           command:python3     https://pytorch.org
python3-numpy           command:python3     https://numpy.org
'

present() {
    case $1 in
    command:*) command -v "${1#command:}" >/dev/null ;;
    library:*) pkg-config --exists "${1#library:}" 2>/dev/null ;;
    data:*)    test -e "${1#data:}" ;;
    esac
}

install_by_apt() {
    missing=
    for package in $(echo "$needed" | awk '{ print $1 }'); do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) missing="$missing $package" ;;
        esac
    done
    test -n "$missing" || exit 0

    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        as_root=sudo
        command -v sudo >/dev/null || {
            echo "missing:$missing" >&2
            echo "there is no sudo here; as root, run: apt-get install --no-install-recommends$missing" >&2
            exit 1
        }
    fi
    echo "installing:$missing"
    $as_root apt-get update -q || echo "apt-get update failed; going on with the lists at hand" >&2

    for package in $missing; do
        apt-cache show "$package" >/dev/null 2>&1 && continue
        case $(echo "$needed" | awk -v p="$package" '$1 == p { print $2 }') in
        data:*)
            echo "this system has no package $package; going on without" >&2
            missing=$(echo "$missing" | sed "s/ $package\$//; s/ $package / /") ;;
        esac
    done
    test -z "$missing" ||
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}

# Without apt: look for each, and say where the missing ones come from.
look() {
    echo "$needed" | {
        lacking=0
        while read -r package probe place; do
            test -n "$package" || continue
            present "$probe" && continue
            echo "missing: ${probe#*:} (Debian's $package; $place)" >&2
            case $probe in
            data:*) echo "    without it, seeded noise stands in for images" >&2 ;;
            *) lacking=1 ;;
            esac
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
    command -v "${compiler%% *}" >/dev/null || {
        echo "no compiler $compiler: run 'make deps'" >&2
        exit 1
    }
    for library in "$@"; do
        pkg-config --exists "$library" 2>/dev/null || {
            echo "no library $library: run 'make deps'" >&2
            exit 1
        }
    done
    echo '#include <omp.h>' | $compiler -fopenmp -E - >/dev/null 2>&1 || {
        echo "$compiler finds no OpenMP (for clang, Debian's libomp-dev)" >&2
        exit 1
    } ;;
esac
