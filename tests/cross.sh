#!/bin/sh
# cross.sh -- the proofs on another kind of machine, as it is or emulated by qemu
#
#     MACHINE=s390x BUILD=build [ONLY="ground ..."] cross.sh
#
# MACHINE is s390x (big-endian), aarch64 or i386 (32 bits).  Its libraries are fetched from Debian by an
# apt of its own, which needs no root and changes nothing outside BUILD/cross; compilers and qemu come
# from `make deps DEVELOPER=1`.  i386 is not emulated where the kernel runs its programs, as that of
# x86-64 does: all suites that ask for nothing of this machine run there, those of programs too.
# ONLY says which suites.

# Emulated run the ground's suites, the row suites, and their instruments.  Left out are:
#   program, faults     run other programs of this tree, which the kernel does not know;
#   promises            takes more than a quarter of an hour: all operators, forms and rungs;
#   learned             needs the data set;
#   emulator, cuda*     go through threads one by one, and qemu through the emulator;
#   *_theorems, *_readings, *_errata, *_counts, *_published, chopd_*, hilo_scores, gap, ladder, cheats
#                       ask the same forms what papers say of them, whatever the machine.
suites='ground safetensors images operator lookup room fuzz threads numbers product packed_linear lane_fft
    spectrum cp library layers network msa attention lisa structsa elsa chopd hilo sra'

# Of this machine alone: its compiler, browser, Python and device.
homely='exercises live installed cuda'
build=$BUILD/cross/$MACHINE root=$BUILD/cross/$MACHINE/root
case $MACHINE in
s390x)   arch=s390x triplet=s390x-linux-gnu prefix=s390x-linux-gnu loader=ld64.so.1 flags=-march=z14 ;;
aarch64) arch=arm64 triplet=aarch64-linux-gnu prefix=aarch64-linux-gnu loader=ld-linux-aarch64.so.1 flags= ;;
i386)    arch=i386 triplet=i386-linux-gnu prefix=i686-linux-gnu loader=ld-linux.so.2 flags='-msse2 -mfpmath=sse' ;;
*)       echo "MACHINE: found '$MACHINE', expected s390x, aarch64, i386, sse2, avx2, wide or clang" >&2; exit 2 ;;
esac
case $MACHINE:$(uname -m) in
aarch64:aarch64 | s390x:s390x | i386:x86_64 | i386:i?86) native=1 qemu=
    suites=$(for suite in tests/test_*.c; do
        suite=${suite#tests/test_} suite=${suite%.c}
        case " $homely " in *" $suite "*) ;; *) echo "$suite" ;; esac
    done) ;;
*) native= qemu=qemu-$MACHINE ;;
esac
for tool in "$prefix-gcc" "$prefix-g++" $qemu; do
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
    apt-get "$@" update >"$apt/log" 2>&1            # a list that did not come may not be needed
    apt-get "$@" --no-install-recommends --download-only install libc6-dev libfftw3-dev libopenblas-openmp-dev \
        libcjson-dev libpng-dev zlib1g-dev check libgomp1 libstdc++6 >>"$apt/log" 2>&1 ||
        { tail -n 20 "$apt/log"; return 1; }
    for package in "$apt/cache/archives"/*.deb; do dpkg-deb -x "$package" "$root" || return 1; done
    touch "$build/fetched"
}
mkdir -p "$build"
test -e "$build/fetched" || fetch || exit 1

# One place for all of it, in both precisions.
root=$(realpath "$root") include=$root/usr/include
touch "$build/check"
# A program that this kernel runs itself finds that machine's loader and libraries in its own file; its suites
# are those that go through the kernels' emulator, too, and want it quick.
loading= kernels=-O0
if [ "$native" ]; then
    kernels=-O1
    loading="-Wl,--dynamic-linker=$root/lib/$loader,--disable-new-dtags,-rpath,$root/lib/$triplet:$root/usr/lib/$triplet"
fi
targets=
for suite in ${ONLY:-$suites}; do
    suite=test_$suite
    test -e "tests/$suite.c" || { echo "ONLY: found '${suite#test_}', which is no suite" >&2; exit 2; }
    targets="$targets $build/tests/$suite $build/double/tests/$suite"
done
make --no-print-directory ${JOBS:+-j$JOBS} BUILD="$build" CUDA= ARCH="$flags" CFLAGS=-O2 CXXFLAGS=$kernels \
    CC="$prefix-gcc --sysroot=$root" \
    CXX="$prefix-g++ --sysroot=$root" AR="$prefix-ar" LD="$prefix-ld" OBJCOPY="$prefix-objcopy" \
    REQUIRE_flags= LDFLAGS="$loading" \
    LIBRARY_CFLAGS="-I$include/$triplet/openblas-openmp -I$include/cjson" CHECK_CFLAGS= CHECK_LIBS='-lcheck -lsubunit -pthread' \
    LIBRARY_LIBS="-L$root/usr/lib/$triplet/openblas-openmp -lfftw3 -lfftw3f -lopenblas -lcjson -lpng -lz" $targets || exit 1
export CK_TIMEOUT_MULTIPLIER=4                                  # vectors of 16 bytes at most, -O2
[ "$native" ] || export EMULATED=1 CK_TIMEOUT_MULTIPLIER=10     # qemu does not bound an address space
BUILD=$build LIMIT=${LIMIT:-1800} RUN="${qemu:+$qemu -L $root}" sh tests/run.sh $targets
