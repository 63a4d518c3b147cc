#!/bin/sh
# depend.sh -- compilers, libraries and tools that this repository needs
#
#     depend.sh install [developer]     install them by Debian's apt; elsewhere, say what is missing
#     depend.sh build CC LIBRARY...     fail, naming all that is missing, unless CC and these libraries are present
#
# Prints nothing if all are present.  Before apt downloads, the script prints the packages and their size, and on a
# terminal apt asks.  If apt needs sudo, the line that names the packages says so before sudo is called.

# Debian package, how to find it without Debian, where it comes from.
# "data" and "font" are not required: without them measurements use seeded noise, and formulas a font of the browser.
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
python3                 command:python3     https://www.python.org
python3-numpy           module:numpy        https://numpy.org
pandoc                  command:pandoc      https://pandoc.org
fonts-texgyre-math      font:/usr/share/texmf/fonts/opentype/public/tex-gyre-math  https://www.gust.org.pl/projects/e-foundry/tg-math
dataset-fashion-mnist   data:/usr/share/datasets/fashion-mnist  https://github.com/zalandoresearch/fashion-mnist
'
# Not required: oneDNN multiplies floats on x86-64.
wished=
test "$(uname -m)" != x86_64 || wished='libdnnl-dev  header:oneapi/dnnl/dnnl.h  https://github.com/oneapi-src/oneDNN'
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
locales                 command:localedef   https://www.gnu.org/software/libc
nodejs                  command:node        https://nodejs.org
'

# For the live figures of the book: the library as WebAssembly.  The runtime has the version of Debian's clang.
browsers() {
    version=$(apt-cache depends clang 2>/dev/null | while read -r relation name; do
        case "$relation $name" in "Depends: clang-"[0-9]*) echo "${name#clang-}" ;; esac
    done)
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
    module:*)  /usr/bin/python3 -c "import ${1#module:}" 2>/dev/null || python3 -c "import ${1#module:}" 2>/dev/null ;;
    command:* | cross:*) command -v "${1#*:}" >/dev/null ;;
    library:*) pkg-config --exists "${1#library:}" 2>/dev/null ;;
    live:/*)   test -e "${1#*:}" ;;
    live:*)    command -v "${1#live:}" >/dev/null ;;
    data:* | font:*) test -e "${1#*:}" ;;
    esac
}

# Names of the packages of $needed.
packages() {
    echo "$needed" | while read -r package _; do echo "$package"; done
}

# True if a package of $needed is not required.
optional() {
    echo "$needed" | while read -r package probe _; do
        [ "$package" != "$1" ] || case $probe in data:* | font:* | cross:*) echo yes ;; esac
    done | grep -q yes
}

# Packages and megabytes of `apt-get --print-uris`.
download_size() {
    count=0 bytes=50000
    while read -r _ _ size _; do
        case $size in '' | *[!0-9]*) ;; *) count=$((count + 1)) bytes=$((bytes + size)) ;; esac
    done
    echo "$count packages, $((bytes / 1000000)).$((bytes % 1000000 / 100000)) MB"
}

install_by_apt() {
    missing=
    for package in $(packages); do
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

    wanted=$missing missing=
    for package in $wanted; do
        if ! apt-cache show "$package" >/dev/null 2>&1 && optional "$package"; then
            echo "this system has no package $package; going on without" >&2
        else
            missing="$missing $package"
        fi
    done
    test -n "$missing" || exit 0
    # shellcheck disable=SC2086
    echo "to fetch, with what these need: $(LC_ALL=C apt-get install --print-uris -qq -y --no-install-recommends $missing |
        download_size)"
    yes=-y
    test ! -t 0 || yes=
    # shellcheck disable=SC2086
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
        needed=$wished
        (install_by_apt) || echo "going on without oneDNN: OpenBLAS multiplies floats" >&2
        needed=$(browsers)
        (install_by_apt) || echo "going on without a compiler for WebAssembly: the book has no live figures" >&2
    else
        needed=$(printf '%s\n' "$needed" "$wished" "$(browsers)")
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
