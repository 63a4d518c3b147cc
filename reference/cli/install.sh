#!/bin/sh
# install.sh -- install libraries, header, Python module, program, its manual page and completions
#
#     install.sh BUILD DESTDIR PREFIX VERSION PYTHON
#     install.sh --remove DESTDIR PREFIX
#
# The header is <twicetold/twicetold.h>.  The packages of pkg-config are twicetold (float) and twicetold-double; the
# package of CMake is twicetold.  Unless PREFIX is /usr, programs linked by pkg-config store the path of the library.
# PREFIX/share/twicetold/installed lists new files and folders, for --remove.

set -e
build=$1 prefix=$3 version=$4 python=$5
list=$3/share/twicetold/installed

if [ "$build" = --remove ]; then
    test -e "$2$list" || { echo "found no $2$list, expected the list that 'make install' writes" >&2; exit 2; }
    known=$(sort -r "$2$list")
    echo "$known" | while IFS= read -r path; do
        case $path in
        *.py) rm -f "$2${path%/*}/__pycache__/$(basename "$path" .py)".*.pyc
            rmdir "$2${path%/*}/__pycache__" 2>/dev/null || : ;;
        esac
        if [ -d "$2$path" ]; then rmdir "$2$path" 2>/dev/null || :; else rm -f "$2$path"; fi
    done
    exit
fi

# All files are first written to a folder of their own.
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
to=$stage$3

install -d "$to/bin" "$to/lib/pkgconfig" "$to/include/twicetold" "$to/share/man/man1" "$to/share/twicetold" \
    "$to/lib/cmake/twicetold"
install -m 755 "$build/twicetold" "$to/bin/twicetold"
install -d "$to/libexec"
install -m 755 "$build/measure" "$to/libexec/twicetold-measure"
install -m 644 reference/library/twicetold.h "$to/include/twicetold"
test ! -e "$build/libtwicetold-cuda.so" || install -m 755 "$build/libtwicetold-cuda.so" "$to/lib/libtwicetold-cuda.so"
"$build/twicetold" help --man >"$to/share/man/man1/twicetold.1"
chmod 644 "$to/share/man/man1/twicetold.1"
install -d "$to/share/bash-completion/completions" "$to/share/zsh/site-functions"
install -m 644 reference/cli/twicetold.bash "$to/share/bash-completion/completions/twicetold"
install -m 644 reference/cli/twicetold.zsh "$to/share/zsh/site-functions/_twicetold"

case $prefix in
/usr) remember= ;;
*) remember=' -Wl,-rpath,${libdir}' ;;
esac

cat >"$to/lib/cmake/twicetold/twicetold-config.cmake" <<'CMAKE'
# Targets twicetold::twicetold (float) and twicetold::double, and the same with -static.
if(TARGET twicetold::twicetold)
    return()
endif()
get_filename_component(twicetold_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
CMAKE
cat >"$to/lib/cmake/twicetold/twicetold-config-version.cmake" <<CMAKE
set(PACKAGE_VERSION $version)
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION AND PACKAGE_FIND_VERSION_MAJOR EQUAL ${version%%.*})
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
CMAKE

# library NAME PRECISION FFTW.  A static link needs the C++ library for the emulated kernels, and oneDNN for floats.
# Debian has no archive of oneDNN, so `cc -static` works with twicetold-double, or after make install ONEDNN=.
library() {
    nm -u "$build/lib/lib$1.a" | grep -q __cxa && cxx=' -lstdc++' || cxx=
    nm -u "$build/lib/lib$1.a" | grep -q dnnl_ && onednn=' -ldnnl' || onednn=
    private="-l$3$onednn -lopenblas -fopenmp$cxx -lm"
    install -m 644 "$build/lib/lib$1.a" "$to/lib"
    install -m 755 "$build/lib/lib$1".so.* "$to/lib"
    cp -P "$build/lib/lib$1.so" "$to/lib"
    cat >"$to/lib/pkgconfig/$1.pc" <<PC
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: $1
Description: Attention operators of five papers, each naive and fast, in $2
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir}$remember -l$1
Libs.private: $private
PC
    cat >>"$to/lib/cmake/twicetold/twicetold-config.cmake" <<CMAKE
add_library(twicetold::${1#*-} SHARED IMPORTED)
add_library(twicetold::${1#*-}-static STATIC IMPORTED)
set_target_properties(twicetold::${1#*-} PROPERTIES IMPORTED_LOCATION "\${twicetold_prefix}/lib/lib$1.so.1"
    IMPORTED_SONAME lib$1.so.1)
set_target_properties(twicetold::${1#*-}-static PROPERTIES IMPORTED_LOCATION "\${twicetold_prefix}/lib/lib$1.a"
    INTERFACE_LINK_LIBRARIES "$(echo "$private" | tr ' ' ';')")
set_property(TARGET twicetold::${1#*-} twicetold::${1#*-}-static PROPERTY INTERFACE_INCLUDE_DIRECTORIES
    "\${twicetold_prefix}/include")
CMAKE
}
library twicetold float fftw3f
library twicetold-double double fftw3

# The first folder under the prefix that this Python searches for modules, or nothing.
looked_in() {
    "$python" - "$prefix" <<'PY' 2>/dev/null
import os, site, sys
prefix = os.path.realpath(sys.argv[1])
for folder in site.getsitepackages() + [site.getusersitepackages()] * bool(site.ENABLE_USER_SITE):
    if os.path.relpath(os.path.realpath(folder), prefix).startswith("lib"):
        print(folder)
        break
PY
}
modules=$(looked_in) || modules=
known=$modules
: "${modules:=$prefix/lib/python3/dist-packages}"
install -d "$stage$modules"
install -m 644 reference/library/twicetold.py "$stage$modules"

# The list keeps what earlier installations wrote.
{
    cat "$2$list" 2>/dev/null || :
    (cd "$stage" && find . -mindepth 1 | sed 's/^\.//') | while IFS= read -r path; do
        test -d "$stage$path" && test -d "$2$path" || echo "$path"
    done
} | sort -u >"$stage$list"
chmod 644 "$stage$list"
(cd "$stage" && find . -mindepth 1 | sed 's/^\.//') | while IFS= read -r path; do
    if [ -d "$stage$path" ]; then test -d "$2$path" || install -d "$2$path"
    else cp -P --preserve=mode,timestamps --remove-destination "$stage$path" "$2$path"; fi
done
test -n "$known" || echo "Python finds the module with PYTHONPATH=$modules"
