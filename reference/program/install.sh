#!/bin/sh
# install.sh -- put libraries, headers, program and man page where others find them
#
#     install.sh BUILD DESTDIR PREFIX VERSION
#
# The double library is libtwicetold_double.a, its pkg-config name
# twicetold-double; it brings the macro that makes `real` a double.

set -e
build=$1 prefix=$3 version=$4
to=$2$3

install -d "$to/bin" "$to/lib/pkgconfig" "$to/include/twicetold/instruments" "$to/share/man/man1"
install -m 755 "$build/twicetold" "$to/bin/twicetold"
install -m 644 "$build/libtwicetold.a" "$to/lib/libtwicetold.a"
install -m 644 "$build/double/libtwicetold.a" "$to/lib/libtwicetold_double.a"
install -m 644 reference/*.h "$to/include/twicetold"
install -m 644 reference/instruments/*.h "$to/include/twicetold/instruments"
install -m 644 reference/program/twicetold.1 "$to/share/man/man1"

# describe NAME LIBRARY FLAGS FFTW
describe() {
    cat >"$to/lib/pkgconfig/$1.pc" <<END
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: $1
Description: Attention operators from five papers, each naive and fast
Version: $version
Requires.private: $4, openblas, libcjson, libpng, zlib
Cflags: -I\${includedir}/twicetold$3
Libs: -L\${libdir} -l$2
Libs.private: -fopenmp -lm
END
}
describe twicetold twicetold '' fftw3f
describe twicetold-double twicetold_double ' -DTWICETOLD_DOUBLE' fftw3
