#!/bin/sh
# depend.sh -- what the house stands on, and how to get it
#
#     depend.sh install [developer]     by Debian's apt; elsewhere, say what is missing
#     depend.sh build CC LIBRARY...     fail, naming all that is missing, unless CC and these libraries are there
#
# Asks for nothing and prints nothing when all is there.  What apt would fetch is named
# first, with its size, and on a terminal apt asks before it does.  If apt needs sudo, the
# line that names the packages says so before sudo is called.

# Debian package, how to see it without Debian, where it comes from.
# "data" and "font" are missed, not required: measurements then use seeded noise,
# and formulas a font of the browser's.
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
fonts-texgyre-math      font:/usr/share/texmf/fonts/opentype/public/tex-gyre-math  https://www.gust.org.pl/projects/e-foundry/tg-math
dataset-fashion-mnist   data:/usr/share/datasets/fashion-mnist  https://github.com/zalandoresearch/fashion-mnist
'
# Missed, not required: where one cannot be had, things go on without it.
wished='
python3-numpy           module:numpy        https://numpy.org
'
# Floats are multiplied by it where its kernels are, on x86-64.
test "$(uname -m)" != x86_64 || wished="${wished}libdnnl-dev  header:oneapi/dnnl/dnnl.h  https://github.com/oneapi-src/oneDNN
"
developer='
clang                   command:clang       https://clang.llvm.org
libomp-dev              command:clang       https://openmp.llvm.org
clang-tidy              command:clang-tidy  https://clang.llvm.org/extra/clang-tidy
cppcheck                command:cppcheck    https://cppcheck.sourceforge.io
valgrind                command:valgrind    https://valgrind.org
libclang-rt-dev         cross:llvm-cov      https://llvm.org
llvm                    command:llvm-cov    https://llvm.org
qemu-user               command:qemu-s390x  https://www.qemu.org
g++-s390x-linux-gnu     cross:s390x-linux-gnu-g++    https://gcc.gnu.org
g++-aarch64-linux-gnu   cross:aarch64-linux-gnu-g++  https://gcc.gnu.org
g++-i686-linux-gnu      cross:i686-linux-gnu-g++     https://gcc.gnu.org
python3-torch           command:python3     https://pytorch.org
chromium                command:chromium    https://www.chromium.org
firefox-esr             command:firefox-esr https://www.mozilla.org/firefox
locales                 command:localedef   https://www.gnu.org/software/libc
nodejs                  command:node        https://nodejs.org
'

# The library as WebAssembly, for the live figures of the book, which is complete without them.
# The runtime is of the compiler's own version.
browsers() {
    version=$(apt-cache depends clang 2>/dev/null | sed -n 's/^ *Depends: clang-\([0-9]*\)$/\1/p')
    cat <<END
clang                   live:clang          https://clang.llvm.org
lld                     live:wasm-ld        https://lld.llvm.org
wasi-libc               live:/usr/include/wasm32-wasi  https://github.com/WebAssembly/wasi-libc
libclang-rt-${version:-14}-dev-wasm32  live:clang  https://compiler-rt.llvm.org (for wasm32)
END
}

present() {
    case $1 in
    header:*)  echo "#include <${1#header:}>" | ${CC:-gcc} -E - >/dev/null 2>&1 ;;
    module:*)  /usr/bin/python3 -c "import ${1#module:}" 2>/dev/null ;;
    command:* | cross:*) command -v "${1#*:}" >/dev/null ;;
    library:*) pkg-config --exists "${1#library:}" 2>/dev/null ;;
    live:/*)   test -e "${1#*:}" ;;
    live:*)    command -v "${1#live:}" >/dev/null ;;
    data:* | font:*) test -e "${1#*:}" ;;
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
    echo "installing${as_root:+, by sudo apt-get$(test -t 0 || echo " -y")}:$missing"
    $as_root apt-get update -q || echo "apt-get update failed; going on with the lists at hand" >&2

    for package in $missing; do
        apt-cache show "$package" >/dev/null 2>&1 && continue
        case $(echo "$needed" | awk -v p="$package" '$1 == p { print $2 }') in
        data:* | font:* | cross:*)
            echo "this system has no package $package; going on without" >&2
            missing=$(echo "$missing" | sed "s/ $package\$//; s/ $package / /") ;;
        esac
    done
    test -n "$missing" || exit 0
    echo "to fetch, with what these need: $(LC_ALL=C apt-get install --print-uris -qq -y --no-install-recommends $missing |
        awk '{ n++; bytes += $3 } END { printf "%d packages, %.1f MB", n, bytes / 1e6 }')"
    yes=-y
    test ! -t 0 || yes=
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q $yes --no-install-recommends $missing
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
            header:*) echo "    without it, OpenBLAS multiplies floats, slower on new processors" >&2 ;;
            module:*) echo "    without it, the Python module is not tested" >&2 ;;
            live:*) echo "    without it, the book has no live figures" >&2 ;;
            data:*) echo "    without it, seeded noise stands in for images" >&2 ;;
            cross:*) echo "    without it, a sanitizer or another machine is not tried" >&2 ;;
            font:*) echo "    without it, the browser chooses a font for formulas" >&2 ;;
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
        (install_by_apt) || exit
        for package in $(echo "$wished" | awk '{ print $1 }'); do
            needed=$(echo "$wished" | grep "^$package ")
            (install_by_apt) || echo "going on without $package" >&2
        done
        needed=$(browsers)
        (install_by_apt) || echo "going on without a compiler for WebAssembly: the book has no live figures" >&2
    else
        needed="$needed$wished$(browsers)"
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
