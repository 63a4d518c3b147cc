#!/bin/sh
# cross.sh -- the proofs on another kind of machine, emulated by qemu
#
#     MACHINE=s390x BUILD=build [ONLY="ground ..."] cross.sh
#
# MACHINE is s390x (big-endian), aarch64 or i386 (32 bits).  Its libraries are fetched from Debian by an
# apt of its own, which needs no root and changes nothing outside BUILD/cross; compilers and qemu come
# from `make deps DEVELOPER=1`.  Without ONLY it runs the suites in which bytes and sizes are told apart:
# files, images, fuzzed bytes, tables, rooms and the grounds.  Suites that run other programs of this tree cannot run here.

suites='ground safetensors images operator lookup room fuzz'
build=$BUILD/cross/$MACHINE root=$BUILD/cross/$MACHINE/root
case $MACHINE in
s390x)   arch=s390x triplet=s390x-linux-gnu prefix=s390x-linux-gnu flags= ;;
aarch64) arch=arm64 triplet=aarch64-linux-gnu prefix=aarch64-linux-gnu flags= ;;
i386)    arch=i386 triplet=i386-linux-gnu prefix=i686-linux-gnu flags='-msse2 -mfpmath=sse' ;;
*)       echo "MACHINE: found '$MACHINE', expected s390x, aarch64 or i386" >&2; exit 2 ;;
esac
for tool in "$prefix-gcc" "$prefix-g++" "qemu-$MACHINE"; do
    command -v "$tool" >/dev/null || { echo "$tool is missing (make deps DEVELOPER=1)" >&2; exit 1; }
done

# The libraries, and the C library that they were made for, unpacked.
fetch() {
    apt=$(realpath "$build")/apt
    mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$root"
    : >"$apt/state/status"
    set -- -q -y -o APT::Architecture=$arch -o APT::Architectures::=$arch -o Dir::State="$apt/state" \
        -o Dir::State::status="$apt/state/status" -o Dir::Cache="$apt/cache" -o Debug::NoLocking=1 \
        -o APT::Sandbox::User="$(id -un)"
    apt-get "$@" update >"$apt/log" &&
        apt-get "$@" --no-install-recommends --download-only install libc6-dev libfftw3-dev libopenblas-openmp-dev \
            libcjson-dev libpng-dev zlib1g-dev check libgomp1 libstdc++6 >>"$apt/log" ||
        { tail -n 20 "$apt/log"; return 1; }
    for package in "$apt/cache/archives"/*.deb; do dpkg-deb -x "$package" "$root" || return 1; done
    touch "$build/fetched"
}
mkdir -p "$build"
test -e "$build/fetched" || fetch || exit 1

# One place for all of it, in both precisions.
root=$(realpath "$root") include=$root/usr/include
touch "$build/check"
targets=
for suite in ${ONLY:-$suites}; do
    suite=test_$suite
    test ! -e "tests/$suite.c" || targets="$targets $build/tests/$suite $build/double/tests/$suite"
done
make --no-print-directory ${JOBS:+-j$JOBS} BUILD="$build" CUDA= ARCH="$flags" CFLAGS=-O2 CXXFLAGS=-O0 \
    CC="$prefix-gcc --sysroot=$root" \
    CXX="$prefix-g++ --sysroot=$root" AR="$prefix-ar" LD="$prefix-ld" OBJCOPY="$prefix-objcopy" REQUIRE_flags= \
    LIBRARY_CFLAGS="-I$include/$triplet/openblas-openmp -I$include/cjson" CHECK_CFLAGS= CHECK_LIBS='-lcheck -lsubunit -pthread' \
    LIBRARY_LIBS="-L$root/usr/lib/$triplet/openblas-openmp -lfftw3 -lfftw3f -lopenblas -lcjson -lpng -lz" $targets || exit 1
export EMULATED=1                       # qemu does not bound an address space
BUILD=$build LIMIT=${LIMIT:-1800} RUN="qemu-$MACHINE -L $root" sh tests/run.sh $targets
