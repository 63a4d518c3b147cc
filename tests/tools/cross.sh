#!/bin/sh
# cross.sh -- the suites on another machine, native or emulated by qemu
#
#     MACHINE=s390x BUILD=build [ONLY="runtime ..."] cross.sh
#
# MACHINE is s390x (big-endian), aarch64 or i386 (32 bits).  sysroot.sh downloads its libraries into BUILD/cross.
# Compilers and qemu come from `make deps DEVELOPER=1`.  A machine that runs natively (i386 on x86-64) runs all suites
# but those of `host_only`.  ONLY selects suites.

# Emulated suites.  Omitted: program and faults run other programs; properties, emulator and cuda* are too slow; learned
# needs the data set; the others do not depend on the machine.
suites='runtime safetensors tensor_files images image_files operator lookup arena fuzz threads numbers product
    packed_linear vec_fft spectrum library layers network msa attention lisa structsa elsa chopd hilo sra'

# These need the host's compiler, browser, Python or device.
host_only='exercises live installed cuda layout standalone'
build=$BUILD/cross/$MACHINE root=$BUILD/cross/$MACHINE/root
case $MACHINE in
s390x)   arch=s390x triplet=s390x-linux-gnu prefix=s390x-linux-gnu loader=ld64.so.1 flags=-march=z14 ;;
aarch64) arch=arm64 triplet=aarch64-linux-gnu prefix=aarch64-linux-gnu loader=ld-linux-aarch64.so.1 flags= ;;
i386)    arch=i386 triplet=i386-linux-gnu prefix=i686-linux-gnu loader=ld-linux.so.2 flags='-msse2 -mfpmath=sse' ;;
*)       echo "MACHINE: found '$MACHINE', expected s390x, aarch64 or i386" >&2; exit 2 ;;
esac
case $MACHINE:$(uname -m) in
aarch64:aarch64 | s390x:s390x | i386:x86_64 | i386:i?86) native=1 qemu=
    suites=$(for suite in tests/*/test_*.c tests/*/test_*.py; do
        suite=${suite#tests/*/test_} suite=${suite%.*}
        case " $host_only " in *" $suite "*) ;; *) echo "$suite" ;; esac
    done) ;;
*) native= qemu=qemu-$MACHINE ;;
esac
for tool in "$prefix-gcc" "$prefix-g++" $qemu; do
    command -v "$tool" >/dev/null || { echo "$tool is missing (make deps DEVELOPER=1)" >&2; exit 1; }
done

mkdir -p "$build"
test -e "$build/fetched" || sh reference/library/sysroot.sh "$build" $arch libc6-dev libfftw3-dev libopenblas-openmp-dev \
    libcjson-dev libpng-dev zlib1g-dev check libgomp1 libstdc++6 || exit 1

root=$(realpath "$root") include=$root/usr/include
touch "$build/check"
# Native programs need the path of their loader and libraries, and optimized kernels for the emulator's suites.
loading= kernels=-O0
if [ "$native" ]; then
    kernels=-O1
    paths=$root/lib/$triplet:$root/usr/lib/$triplet
    loading="-Wl,--dynamic-linker=$root/lib/$loader,--disable-new-dtags,-rpath,$paths"
fi
targets=
for suite in ${ONLY:-$suites}; do
    path=$(echo tests/*/test_"$suite".[cp]*)
    test -e "$path" || { echo "ONLY: found '$suite', which is no suite" >&2; exit 2; }
    targets="$targets $build/${path%.c} $build/double/${path%.c}"
done
make --no-print-directory ${JOBS:+-j$JOBS} BUILD="$build" CUDA= ARCH="$flags" CFLAGS=-O2 CXXFLAGS=$kernels \
    CC="$prefix-gcc --sysroot=$root" \
    CXX="$prefix-g++ --sysroot=$root" AR="$prefix-ar" LD="$prefix-ld" OBJCOPY="$prefix-objcopy" \
    REQUIRE_flags= LDFLAGS="$loading" \
    LIBRARY_CFLAGS="-I$include/$triplet/openblas-openmp -I$include/cjson" CHECK_CFLAGS= \
    CHECK_LIBS='-lcheck -lsubunit -pthread' \
    LIBRARY_LIBS="-L$root/usr/lib/$triplet/openblas-openmp -lfftw3 -lfftw3f -lopenblas -lcjson -lpng -lz" \
    $targets || exit 1
export CK_TIMEOUT_MULTIPLIER=4                                  # slower: -O2, shorter vectors
[ "$native" ] || export EMULATED=1 CK_TIMEOUT_MULTIPLIER=10     # qemu does not bound an address space
BUILD=$build LIMIT=${LIMIT:-1800} RUN="${qemu:+$qemu -L $root}" "${PYTHON:-python3}" tests/tools/run.py $targets
