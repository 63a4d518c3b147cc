#!/bin/sh
# depend.sh -- compilers, libraries and tools that this repository needs
#
#     depend.sh install [developer]     install them by Debian's apt; elsewhere, say what is missing and how to get it
#     depend.sh build CC LIBRARY...     fail, naming all that is missing, unless CC and these libraries are present
#
# Prints nothing if all are present.  Before apt downloads, the script prints the packages, and on a terminal apt asks.
# If apt needs sudo, the line that names the packages says so before sudo is called.

# Debian's package, how to find it without apt, its name in Fedora, Arch, Alpine, openSUSE and Homebrew (-: none), and
# its home.  Only Debian's names have been tried.  `absent` says which probes are of optional packages.
needed='
gcc command:gcc gcc gcc gcc gcc gcc gcc.gnu.org
g++ command:g++ gcc-c++ gcc g++ gcc-c++ gcc gcc.gnu.org
libc6-dev command:gcc glibc-devel glibc musl-dev glibc-devel - www.gnu.org/software/libc
make command:make make make make make make www.gnu.org/software/make
pkg-config command:pkg-config pkgconf-pkg-config pkgconf pkgconf pkg-config pkgconf pkgconf.org
check library:check check-devel check check-dev check-devel check libcheck.github.io/check
gnuplot-nox command:gnuplot gnuplot gnuplot gnuplot gnuplot gnuplot www.gnuplot.info
libfftw3-dev library:fftw3f fftw-devel fftw fftw-dev fftw3-devel fftw www.fftw.org
libopenblas-openmp-dev library:openblas openblas-devel openblas openblas-dev openblas-devel openblas www.openblas.net
libcjson-dev library:libcjson cjson-devel cjson cjson-dev cJSON-devel cjson github.com/DaveGamble/cJSON
libpng-dev library:libpng libpng-devel libpng libpng-dev libpng16-devel libpng www.libpng.org
zlib1g-dev library:zlib zlib-devel zlib zlib-dev zlib-devel zlib zlib.net
python3 command:python3 python3 python python3 python3 python www.python.org
python3-numpy module:numpy python3-numpy python-numpy py3-numpy python3-numpy numpy numpy.org
pandoc command:pandoc pandoc pandoc-cli pandoc pandoc pandoc pandoc.org
fonts-texgyre-math font:/usr/share/texmf/fonts/opentype/public/tex-gyre-math - - - - - www.gust.org.pl
dataset-fashion-mnist data:/usr/share/datasets/fashion-mnist - - - - - github.com/zalandoresearch/fashion-mnist
libjpeg62-turbo-dev jpeg:jpeglib.h libjpeg-turbo-devel libjpeg-turbo libjpeg-turbo-dev libjpeg8-devel jpeg-turbo ijg.org
'
test "$(uname -m)" != x86_64 ||
    needed="$needed"'
libdnnl-dev header:oneapi/dnnl/dnnl.h onednn-devel onednn - onednn-devel onednn github.com/oneapi-src/oneDNN'
developer='
clang command:clang clang clang clang clang llvm clang.llvm.org
libomp-dev command:clang libomp-devel openmp openmp-dev libomp-devel libomp openmp.llvm.org
clang-tidy command:clang-tidy clang-tools-extra clang clang-extra-tools clang-tools llvm clang.llvm.org
cppcheck command:cppcheck cppcheck cppcheck cppcheck cppcheck cppcheck cppcheck.sourceforge.io
valgrind command:valgrind valgrind valgrind valgrind valgrind - valgrind.org
libclang-rt-dev cross:llvm-cov compiler-rt compiler-rt compiler-rt clang llvm llvm.org
llvm command:llvm-cov llvm llvm llvm llvm llvm llvm.org
qemu-user command:qemu-s390x qemu-user qemu-user qemu-s390x qemu-linux-user - www.qemu.org
g++-s390x-linux-gnu cross:s390x-linux-gnu-g++ - - - cross-s390x-gcc12 - gcc.gnu.org
g++-aarch64-linux-gnu cross:aarch64-linux-gnu-g++ - aarch64-linux-gnu-gcc - cross-aarch64-gcc12 - gcc.gnu.org
g++-i686-linux-gnu cross:i686-linux-gnu-g++ - - - - - gcc.gnu.org
python3-torch module:torch python3-torch python-pytorch - - pytorch pytorch.org
chromium command:chromium chromium chromium chromium chromium - www.chromium.org
epubcheck command:epubcheck - epubcheck - - epubcheck www.w3.org/publishing/epubcheck
locales command:localedef glibc-locale-source glibc - glibc-i18ndata - www.gnu.org/software/libc
nodejs command:node nodejs nodejs nodejs nodejs node nodejs.org
cmake command:cmake cmake cmake cmake cmake cmake cmake.org
python3-matplotlib module:matplotlib python3-matplotlib python-matplotlib py3-matplotlib python3-matplotlib python-matplotlib matplotlib.org
'

# For the live figures of the book: the library as WebAssembly.  The runtime has the version of Debian's clang.
browsers() {
    version=$(apt-cache depends clang 2>/dev/null | while read -r relation name; do
        case "$relation $name" in "Depends: clang-"[0-9]*) echo "${name#clang-}" ;; esac
    done)
    cat <<END
clang live:clang clang clang clang clang llvm clang.llvm.org
lld live:wasm-ld lld lld lld lld lld lld.llvm.org
wasi-libc live:/usr/include/wasm32-wasi wasi-libc-devel wasi-libc wasi-libc - wasi-libc github.com/WebAssembly/wasi-libc
libclang-rt-${version:-14}-dev-wasm32 live:clang - wasi-compiler-rt - - wasi-runtimes compiler-rt.llvm.org
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

# Without apt: name what is missing, say what lacks without it, and print the command that may install it.
look() {
    names=$(cat "${OS_RELEASE:-/etc/os-release}" 2>/dev/null)
    case $(uname -s)$(echo "$names" | grep -E '^ID(_LIKE)?=') in
    Darwin*) systems=brew ;;
    *suse*) systems=zypper ;;
    *fedora* | *rhel*) systems=dnf ;;
    *arch*) systems=pacman ;;
    *alpine*) systems=apk ;;
    *) systems='dnf pacman apk zypper brew' ;;
    esac
    printf '%s\n' "$needed" "$(browsers)" | {
        lacking=0 dnf='' pacman='' apk='' zypper='' brew=''
        while read -r package probe fedora arch alpine suse homebrew home; do
            if [ -z "$package" ] || present "$probe"; then continue; fi
            dnf="$dnf $fedora" pacman="$pacman $arch" apk="$apk $alpine" zypper="$zypper $suse" brew="$brew $homebrew"
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
        test -n "$brew" || exit 0
        for system in $systems; do
            case $system in
            dnf) names="sudo dnf install$dnf" ;;
            pacman) names="sudo pacman -S --needed$pacman" ;;
            apk) names="apk add$apk" ;;
            zypper) names="sudo zypper install$zypper" ;;
            brew) names="brew install$brew" ;;
            esac
            echo "not tried: $(echo "$names" | tr ' ' '\n' | awk '$0 != "-" && !seen[$0]++' | tr '\n' ' ')" >&2
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
