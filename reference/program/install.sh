#!/bin/sh
# install.sh -- put libraries, header, Python module, program and man page where
# others find them
#
#     install.sh BUILD DESTDIR PREFIX VERSION PYTHON
#
# One header is installed, <twicetold/twicetold.h>.  pkg-config knows the float
# library as twicetold and the double one as twicetold-double; where the loader
# does not look by itself, programs remember where the library was.

set -e
build=$1 prefix=$3 version=$4 python=$5
to=$2$3

install -d "$to/bin" "$to/lib/pkgconfig" "$to/include/twicetold" "$to/share/man/man1"
install -m 755 "$build/twicetold" "$to/bin/twicetold"
install -m 644 reference/twicetold.h "$to/include/twicetold"
test ! -e "$build/libtwicetold-cuda.so" || install -m 755 "$build/libtwicetold-cuda.so" "$to/lib/libtwicetold-cuda.so"
"$build/twicetold" help --man >"$to/share/man/man1/twicetold.1"
chmod 644 "$to/share/man/man1/twicetold.1"
install -d "$to/share/bash-completion/completions" "$to/share/zsh/site-functions"
install -m 644 reference/program/twicetold.bash "$to/share/bash-completion/completions/twicetold"
install -m 644 reference/program/twicetold.zsh "$to/share/zsh/site-functions/_twicetold"

case $prefix in
/usr) remember= ;;
*) remember=' -Wl,-rpath,${libdir}' ;;
esac

# library NAME PRECISION FFTW; what is told in C++ needs its library where it is linked statically, and floats oneDNN.
library() {
    nm -u "$build/lib/lib$1.a" | grep -q __cxa && cxx=' -lstdc++' || cxx=
    nm -u "$build/lib/lib$1.a" | grep -q dnnl_ && onednn=' -ldnnl' || onednn=
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
Libs.private: -l$3$onednn -lopenblas -fopenmp$cxx -lm
PC
}
library twicetold float fftw3f
library twicetold-double double fftw3

# The folder under the prefix in which this Python looks, the user's own among
# them; a folder of no version where it looks in none.
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
install -d "$2$modules"
install -m 644 reference/library/twicetold.py "$2$modules"
test -n "$known" || echo "Python finds the module with PYTHONPATH=$modules"
