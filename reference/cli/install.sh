#!/bin/sh
# install.sh -- install libraries, header, Python module, program, its manual page and completions
#
#     install.sh BUILD DESTDIR PREFIX VERSION PYTHON
#
# The header is <twicetold/twicetold.h>.  The packages of pkg-config are twicetold (float) and twicetold-double.  Unless
# PREFIX is /usr, programs linked by pkg-config store the path of the library.

set -e
build=$1 prefix=$3 version=$4 python=$5
to=$2$3

install -d "$to/bin" "$to/lib/pkgconfig" "$to/include/twicetold" "$to/share/man/man1"
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

# library NAME PRECISION FFTW.  A static link needs the C++ library for the emulated kernels, and oneDNN for floats.
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
install -d "$2$modules"
install -m 644 reference/library/twicetold.py "$2$modules"
test -n "$known" || echo "Python finds the module with PYTHONPATH=$modules"
