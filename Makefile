# Attention, Twice Told.  `make help` lists the targets.
#
# naive/lisa.c becomes $(BUILD)/naive/lisa.o in float, $(BUILD)/double/naive/lisa.o in double, and the same below
# $(BUILD)/counting and $(BUILD)/exact in the two C++ builds.
#
#   a source file   goes into its folder; the lists in "Sources" are wildcards
#   a test          is tests/FOLDER/test_NAME.c, or test_NAME.py; its program is $(BUILD)/tests/FOLDER/test_NAME
#   a variant       (another compiler, flags, sanitizer) is two lines in "Variants"
#
# Settings: CC, CXX, CFLAGS, CXXFLAGS, ARCH (empty: a portable build), CUDA (nvcc; empty: none), ARCHES (of GPUs),
# PYTHON, BUILD, WERROR=1, PREFIX, DESTDIR, and V=1, which shows the commands.

BUILD    = build
PREFIX   = /usr/local
VERSION  = 1.0
ARCH     = -march=native
CFLAGS   = -O3
CXXFLAGS = $(CFLAGS)
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
CXX     := $(if $(filter default,$(origin CXX)),g++,$(CXX))

.DEFAULT_GOAL = all
.SUFFIXES:
.SECONDARY:
.DELETE_ON_ERROR:
$(if $(V),,.SILENT):
MAKEFLAGS += --no-builtin-rules $(if $(filter 0,$(MAKELEVEL)),-j$(shell nproc))
comma := ,

deps:                   ## install what is missing, by sudo apt-get (DEVELOPER=1: also clang, PyTorch, Chromium, ...)
	sh reference/cli/depend.sh install $(if $(DEVELOPER),developer)

# The rest of this file looks for compilers and libraries, so other goals wait for `deps`, and then read the file again.
AFTER := $(filter-out deps,$(MAKECMDGOALS))
ifneq ($(and $(AFTER),$(filter deps,$(MAKECMDGOALS))),)
$(AFTER): after_deps ;
after_deps: deps
	+$(MAKE) --no-print-directory $(AFTER)
.PHONY: deps $(AFTER)
else

# ---- Sources

CONTRACTS_C := $(wildcard reference/*.c reference/runtime/*.c)
NAIVE_C     := $(filter-out naive/standalone.c,$(wildcard naive/*.c))
FAST_C      := $(wildcard fast/*.c fast/tuned/*.c fast/tuned/*/*.c)
NETWORKS_C  := $(wildcard reference/io/*.c reference/networks/*.c reference/networks/layers/*.c)
INTERFACE_C := $(wildcard reference/library/*.c)
CLI_C       := $(filter-out %/twicetold.c %/measure.c,$(wildcard reference/cli/*.c))
LIBRARY_C   := $(CONTRACTS_C) $(NAIVE_C) $(FAST_C) $(NETWORKS_C) $(INTERFACE_C) $(CLI_C)
EMULATED_C  := $(filter-out %_gpu.cu,$(wildcard fast/cuda/*.cu fast/cuda/*.cc))
DEVICE_C    := $(wildcard fast/cuda/*.cu) fast/cuda/forms.cc
LADDER_C    := $(filter-out %/ladder.c,$(wildcard figures/ladders/*.c))
FIGURES     := $(basename $(wildcard figures/bench/*.c)) figures/ladders/ladder
SUPPORT_C   := $(filter-out %/naive_in_double.c %/entry.c %/test_fuzz.c,$(wildcard tests/support/*.c tests/fuzz/*.c))
SCALAR_C    := $(NAIVE_C) $(wildcard fast/*.c)
COUNTING_C  := $(filter-out fast/circulant.c,$(SCALAR_C)) $(LADDER_C)
EXACT_C     := $(CONTRACTS_C) $(NAIVE_C) $(FAST_C) reference/networks/operators.c \
               $(addprefix tests/support/,cases.c support.c fixture.c) \
               $(filter-out %/test_exact.cc %/test_field.cc,$(wildcard tests/exact/*.cc))
WASM_C      := $(filter-out %/fft.c %/fftw.c,$(CONTRACTS_C) $(NAIVE_C) $(FAST_C)) reference/networks/operators.c \
               $(wildcard reference/library/wasm/*.c)

# THEOREMS are also compiled for the exact build.  FLOAT_ONLY suites compute no reals.  SLOW suites run with FULL=1.
TESTS      := $(basename $(wildcard tests/*/test_*.c))
SCRIPTS    := $(wildcard tests/*/test_*.py)
THEOREMS   := tests/msa/test_msa $(filter-out %/test_hilo_errata,$(filter %_theorems %_readings %_errata,$(TESTS)))
EXACT_SUITES := $(patsubst %,$(BUILD)/exact/%,$(basename $(wildcard tests/exact/test_*.cc)) $(THEOREMS))
FLOAT_ONLY  = tests/tools/% $(addprefix %/test_,live harness lookup emulator device fuzz standalone.py)
SLOW        = %/test_exercises.py %/test_notebooks.py %/test_faults.py $D/tests/cuda/% $D/tests/library/%.py
SUITES     := $(patsubst %,$(BUILD)/%,$(TESTS) $(SCRIPTS)) $(EXACT_SUITES) \
              $(patsubst %,$(BUILD)/double/%,$(filter-out $(FLOAT_ONLY),$(TESTS) $(SCRIPTS)))
# Folders of the two precisions.
F := $(BUILD)
D := $(BUILD)/double
PROGRAMS := $(addprefix $F/,twicetold measure $(FIGURES)) $D/twicetold $D/measure
LIBRARY  := $(foreach name,libtwicetold libtwicetold-double,$(addprefix $F/lib/$(name),.a .so .so.1))
CUDA     := $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
all: $(PROGRAMS) $(LIBRARY) $(if $(CUDA),plug-in) ## build libraries and programs, in both precisions (and for a GPU)

# ---- Compilers and libraries

# Debian has a folder for OpenBLAS's OpenMP build.  libjpeg is optional; oneDNN is used if a program links with it.
LIBRARIES := fftw3 fftw3f openblas libcjson libpng zlib
SYSTEM_PC := $(subst :, ,$(shell pkg-config --variable pc_path pkg-config 2>/dev/null))
export PKG_CONFIG_PATH := $(PKG_CONFIG_PATH):$(firstword $(wildcard $(SYSTEM_PC:pkgconfig=openblas-openmp/pkgconfig)))
ONEDNN    := $(shell echo 'int main(void) { return __x86_64__ && !dnnl_version(); }' | $(CC) $(ARCH) \
               -include oneapi/dnnl/dnnl.h -x c - $(LDFLAGS) -ldnnl -o /dev/null 2>/dev/null && echo yes)
JPEG      := $(shell pkg-config --exists libjpeg 2>/dev/null && echo libjpeg)
CHECK_CFLAGS   := $(shell pkg-config --cflags check 2>/dev/null)
CHECK_LIBS     := $(shell pkg-config --libs check 2>/dev/null)
LIBRARY_CFLAGS := $(shell pkg-config --cflags $(LIBRARIES) $(JPEG) 2>/dev/null) $(if $(ONEDNN),-DTWICETOLD_ONEDNN) \
                  $(if $(JPEG),-DTWICETOLD_JPEG)
LIBRARY_LIBS   := $(shell pkg-config --libs $(LIBRARIES) $(JPEG) 2>/dev/null) \
                  $(if $(ONEDNN),-Wl$(comma)--push-state$(comma)--as-needed -ldnnl -Wl$(comma)--pop-state)
RPATH           = $(patsubst -L%,-Wl$(comma)-rpath$(comma)%,$(filter -L%,$(LIBRARY_LIBS)))
LDLIBS          = $(RPATH) $(LIBRARY_LIBS) -lstdc++ -ldl -lm
# FUSED: for Zen, gcc fuses some multiply-adds of a loop and not others, so that bits would depend on the number of
# rows.  TRAITS: for machines that compute floats in a wider type, and for addresses of 32 bits.
FUSED   := $(shell echo 'int x;' | $(CC) --param avoid-fma-max-bits=0 -Werror -x c -S - -o /dev/null 2>/dev/null && \
             echo --param avoid-fma-max-bits=0)
MACROS  := $(shell $(CC) -std=c11 $(ARCH) -dM -E -x c /dev/null 2>/dev/null | tr ' ' '=')
TRAITS  := $(if $(filter %__FLT_EVAL_METHOD__=0,$(MACROS)),,-fexcess-precision=fast) \
           $(if $(filter %__SIZEOF_LONG__=4,$(MACROS)),-D_FILE_OFFSET_BITS=64 -D_LARGEFILE64_SOURCE)
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow $(if $(WERROR),-Werror)
IDENTITY = -DTWICETOLD_VERSION='"$(VERSION)"' -DTWICETOLD_FLAGS='"$(strip $(CFLAGS) $(ARCH))"'
NUMERICS = $(ARCH) -fno-math-errno -ffp-contract=fast -fopenmp
HIDDEN   = -fPIC -fvisibility=hidden -MMD -MP $(CPPFLAGS)
COMMON   = $(CFLAGS) $(NUMERICS) $(FUSED) $(WARNINGS) $(LIBRARY_CFLAGS) $(CHECK_CFLAGS) $(HIDDEN)
COMPILE  = $(CC) -std=c11 -Wstrict-prototypes $(COMMON) $(TRAITS) $(IDENTITY)
EMULATE  = $(CXX) -std=gnu++17 $(CXXFLAGS) $(NUMERICS) $(WARNINGS) -Wno-shadow -Wno-unknown-pragmas $(HIDDEN)
LINK     = $(CC) $(CFLAGS) $(ARCH) -fopenmp $(LDFLAGS)
OBJCOPY  = objcopy

# The counting build (tests/support/counting.h) and the exact build (tests/exact) compile C sources as C++, where `real`
# is a class: one counts multiplications, the other computes in a finite field.  C++ rejects implicit conversions from
# void *, which -fpermissive accepts with a warning; gcc has no name for that warning, hence -w.  All other warnings
# are those of the C build.  -O2, because gcc 12 -O3 compiles one complex product wrongly (SSE2, float).
AS_CXX   = $(CXX) -std=gnu++17 $(subst -O3,-O2,$(COMMON)) -fpermissive -w -fno-exceptions -fno-rtti -I.
COUNTED  = $(wildcard reference/*.h reference/runtime/*.h) tests/support/counting.h tests/support/plain_vec.h
COUNTER  = $(AS_CXX) -DCOUNTING_REAL='"$(abspath tests/support/counting.h)"' \
           $(patsubst %,-include %,math.h string.h tgmath.h fast/circulant.h $(COUNTED))
EXACT    = $(AS_CXX) -fno-operator-names -DTWICETOLD_DOUBLE -DCOUNTING_REAL='"$(abspath tests/exact/field.h)"' \
           $(if $(PRIME),-DFIELD_PRIME=$(PRIME)) -include tests/exact/library_stubs.h
# nvcc compiles the plug-in for machines with a GPU.
ARCHES  := $(filter 75 80 90,$(if $(CUDA),$(patsubst compute_%,%,$(shell $(CUDA) --list-gpu-arch 2>/dev/null))))
GENCODE  = $(foreach a,$(ARCHES:%=sm_%) $(lastword $(ARCHES:%=compute_%)),-gencode arch=$(a:sm_%=compute_%)$(comma)code=$a)
DEVICE   = $(CUDA) -std=c++17 -O3 -lineinfo $(GENCODE) $(if $(WERROR),-Werror all-warnings) \
           -Xcompiler -fPIC$(comma)-fvisibility=hidden $(CPPFLAGS)
# Objects depend on the flags, archives on the list of sources: files that change only when their text does.
PROCESSOR    := $(shell $(CC) $(ARCH) -dM -E -x c /dev/null 2>/dev/null | cksum)
STATE_flags   = $(COMPILE) $(EMULATE) $(LINK) $(LDLIBS) $(PROCESSOR)
STATE_cxx     = $(COUNTER) $(EXACT)
STATE_sources = $(LIBRARY_C) $(EMULATED_C) $(LADDER_C) $(SUPPORT_C) $(EXACT_C)
STATE_nvcc    = $(DEVICE) $(DEVICE_C)
STATE_wasm    = $(WASM_CC) $(WASM_C)
REQUIRE_flags = sh reference/cli/depend.sh build '$(CC)' $(LIBRARIES) &&
$F/flags $F/cxx $F/sources $F/nvcc $F/wasm: always
	mkdir -p $(@D)
	echo '$(subst ',,$(STATE_$(@F)))' | cmp -s - $@ || { $(REQUIRE_$(@F)) echo '$(subst ',,$(STATE_$(@F)))' >$@; }
$F/check:
	mkdir -p $(@D) && sh reference/cli/depend.sh build '$(CC)' $(LIBRARIES) check && touch $@

# ---- Rules, once for each precision

# Without V=1, of objects only the first in a folder is announced.
SAY     = if [ '$(V)' ] || [ $1 != compile ] || [ ! -d $(@D) ]; then mkdir -p $(@D) && \
              echo "  $1 $(if $(V),$@,$(if $(filter compile,$1),$(@D),$@))"; fi
DOUBLE  = $(if $(filter $D/%,$@),-DTWICETOLD_DOUBLE)
OBJECT  = $(call SAY,compile) && $1 $(DOUBLE) -c $< -o $@
COUNT_C = $(call SAY,compile) && printf 'namespace counting {\n\#include "$<"\n}\n' | \
          $(COUNTER) $(DOUBLE) -MT $@ -MF $(@:.o=.d) -x c++ -c - -o $@
PROGRAM = $(call SAY,link   ) && $(LINK) $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
          $(if $(findstring /tests/,$@),$(CHECK_LIBS)) $(LDLIBS) -o $@

$F/%.o: %.c $F/flags                ; $(call OBJECT,$(COMPILE))
$D/%.o: %.c $F/flags                ; $(call OBJECT,$(COMPILE))
$F/%.o: % $F/flags                  ; $(call OBJECT,$(EMULATE) -x c++)
$D/%.o: % $F/flags                  ; $(call OBJECT,$(EMULATE) -x c++)
$F/scalar/%.o: %.c $F/flags         ; $(call OBJECT,$(COMPILE) -fno-tree-vectorize -fno-tree-slp-vectorize)
$D/scalar/%.o: %.c $F/flags         ; $(call OBJECT,$(COMPILE) -fno-tree-vectorize -fno-tree-slp-vectorize)
$F/counting/%.o: %.c $F/cxx         ; $(COUNT_C)
$D/counting/%.o: %.c $F/cxx         ; $(COUNT_C)
$F/counting/%.o: %.cc $F/cxx        ; $(call OBJECT,$(COUNTER))
$D/counting/%.o: %.cc $F/cxx        ; $(call OBJECT,$(COUNTER))
$F/exact/%.o: %.c $F/cxx            ; $(call OBJECT,$(EXACT) -x c++)
$F/exact/%.o: %.cc $F/cxx           ; $(call OBJECT,$(EXACT))
# tests/exact/field_support.cc replaces these functions.
REPLACED = largest largest_difference relative_difference fault_equal fault_unequal fault_within fault_beyond
$F/exact/tests/support/support.o: private EXACT += $(foreach name,$(REPLACED),-D$(name)=plain_$(name))
$F/exact/reference/runtime/random.o $F/exact/reference/runtime/problem.o: private EXACT += -Dproblem_draw=plain_draw \
    $(foreach name,uniform normal integers,-Drandom_fill_$(name)=plain_fill_$(name))
$(THEOREMS:%=$F/exact/%.o): private EXACT += -include tests/exact/theorems.h -O1
# The internal archive holds all but the programs' main files, kernels and tests; a program takes what it calls.
$F/libtwicetold.a: $(LIBRARY_C:%.c=$F/%.o)
$D/libtwicetold.a: $(LIBRARY_C:%.c=$D/%.o)
$F/libemulated.a: $(EMULATED_C:%=$F/%.o)
$D/libemulated.a: $(EMULATED_C:%=$D/%.o)
$F/libladders.a: $(LADDER_C:%.c=$F/%.o)
$D/libladders.a: $(LADDER_C:%.c=$D/%.o)
$F/libsupport.a: $(SUPPORT_C:%.c=$F/%.o)
$D/libsupport.a: $(SUPPORT_C:%.c=$D/%.o)
$F/libcounting.a: $(COUNTING_C:%.c=$F/counting/%.o) $F/counting/tests/support/counting.o
$D/libcounting.a: $(COUNTING_C:%.c=$D/counting/%.o) $D/counting/tests/support/counting.o
$F/libexact.a: $(patsubst %,$F/exact/%.o,$(basename $(EXACT_C)))
%.a: $F/sources                     ; $(call SAY,archive) && rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)
$(SUPPORT_C:%.c=$F/%.o) $(SUPPORT_C:%.c=$D/%.o) $F/exact/tests/support/support.o: | $F/check

$F/twicetold $F/measure: $F/%: $F/reference/cli/%.o $F/libemulated.a $F/libtwicetold.a     ; $(PROGRAM)
$D/twicetold $D/measure: $D/%: $D/reference/cli/%.o $D/libemulated.a $D/libtwicetold.a     ; $(PROGRAM)
# The compiler vectorises some loops and not others.  So programs time naive and plain forms unvectorised.
$F/measure $(FIGURES:%=$F/%): $(SCALAR_C:%.c=$F/scalar/%.o)
$D/measure: $(SCALAR_C:%.c=$D/scalar/%.o)
$(FIGURES:%=$F/%): %: %.o $F/libladders.a $F/libemulated.a $F/libtwicetold.a               ; $(PROGRAM)
$F/fuzzer $D/fuzzer: %/fuzzer: %/tests/fuzz/entry.o %/libsupport.a %/libemulated.a %/libtwicetold.a
	$(PROGRAM) -fsanitize=fuzzer
TEST_ARCHIVES = libsupport.a libcounting.a libladders.a libtwicetold.a
$F/tests/%: $F/tests/%.o $F/naive_in_double.o $(TEST_ARCHIVES:%=$F/%)                      ; $(PROGRAM)
$D/tests/%: $D/tests/%.o $(TEST_ARCHIVES:%=$D/%)                                           ; $(PROGRAM)
$F/exact/tests/%: $F/exact/tests/%.o $F/libexact.a                                         ; $(PROGRAM)
# Suites that run kernels; suites in Python, which are links whose folder says which build they test.
EMULATING := $(filter tests/cuda/% tests/fuzz/% tests/library/test_library,$(TESTS))
$(EMULATING:%=$F/%): $F/tests/cuda/kernels.cu.o $F/tests/cuda/runtime.cu.o $F/libemulated.a
$(EMULATING:%=$D/%): $D/tests/cuda/kernels.cu.o $D/tests/cuda/runtime.cu.o $D/libemulated.a
$(SCRIPTS:%=$F/%) $(SCRIPTS:%=$D/%): | $(PROGRAMS) $(LIBRARY) $F/tests/cli/failing_io.so $D/tests/cli/failing_io.so
	mkdir -p $(@D) && ln -sf $(abspath tests/$(lastword $(subst /tests/, ,$@))) $@
$F/tests/cli/failing_io.so $D/tests/cli/failing_io.so: tests/cli/failing_io.c $F/flags
	mkdir -p $(@D) && $(CC) -std=gnu11 -O1 $(WARNINGS) -fPIC -shared $< -ldl -o $@
# The naive forms in double, in one object that exports one function: the reference of suites in float.
$F/naive_in_double.o: $D/tests/support/naive_in_double.o $D/libtwicetold.a
	$(LD) -r --force-group-allocation -o $@ $^ && $(OBJCOPY) --keep-global-symbol=naive_in_double_run $@
# The library as it is installed: what reference/library exports and all that it needs, every other name local.
$F/lib/libtwicetold.o: $(INTERFACE_C:%.c=$F/%.o) $F/libtwicetold.a
$F/lib/libtwicetold-double.o: $(INTERFACE_C:%.c=$D/%.o) $D/libtwicetold.a
$F/lib/libtwicetold.o $F/lib/libtwicetold-double.o:
	mkdir -p $(@D) && $(LD) -r -d --force-group-allocation $^ -o $@ && \
	    $(OBJCOPY) --wildcard --keep-global-symbol 'twicetold_*' $@
$F/lib/%.a: $F/lib/%.o              ; $(call SAY,archive) && rm -f $@ && $(AR) rcs $@ $^
$F/lib/%.so.1: $F/lib/%.o
	$(call SAY,link   ) && $(LINK) -shared -Wl,-soname,$(@F) $^ -Wl,--as-needed $(LDLIBS) -o $@
$F/lib/%.so: $F/lib/%.so.1          ; ln -sf $(<F) $@
# The plug-in for GPUs.  If the toolkit is too old or incomplete, there is none, and one line says why.
plug-in: $F/nvcc $F/flags $F/sources
	+why="it knows none of sm_75, sm_80 and sm_90"; if [ '$(ARCHES)' ] && why=$$($(DEVICE) -shared -x cu - -lcublas -lcufft \
	    -o $F/toolkit 2>&1 </dev/null); \
	then $(MAKE) --no-print-directory $F/libtwicetold-cuda.so $D/libtwicetold-cuda.so; \
	else echo "built without CUDA: $(CUDA) fails:" $$(echo "$$why" | head -n 1); fi
$F/device/%.o: % $F/nvcc            ; $(call OBJECT,$(DEVICE) -MMD -MP -MF $(@:.o=.d) -x cu)
$D/device/%.o: % $F/nvcc            ; $(call OBJECT,$(DEVICE) -MMD -MP -MF $(@:.o=.d) -x cu)
PLUGIN_C = $(CONTRACTS_C) fast/circulant.c
$F/libtwicetold-cuda.so: $(DEVICE_C:%=$F/device/%.o) $(PLUGIN_C:%.c=$F/%.o)
$D/libtwicetold-cuda.so: $(DEVICE_C:%=$D/device/%.o) $(PLUGIN_C:%.c=$D/%.o)
$F/libtwicetold-cuda.so $D/libtwicetold-cuda.so: fast/cuda/plugin.map
	$(call SAY,link   ) && $(DEVICE) -shared $(filter %.o,$^) $(addprefix -Xlinker ,--gc-sections -z defs --as-needed \
	    --version-script=fast/cuda/plugin.map -rpath=$(abspath $(dir $(CUDA))../lib64)) -lcublas -lcufft \
	    $(patsubst -Wl$(comma)%,-Xlinker %,$(LDLIBS)) -lgomp -o $@
# WebAssembly for the live figures of the book; without clang for it, or with WASM=, there are none.
WASI     = /usr/include/wasm32-wasi
WASM    := $(shell command -v clang >/dev/null && command -v wasm-ld >/dev/null && [ -e $(WASI)/stdio.h ] && \
             [ -e "$$(clang -print-resource-dir)/lib/wasi/libclang_rt.builtins-wasm32.a" ] && \
             echo clang --target=wasm32-wasi --sysroot=/usr -O3)
WASM_CC  = $(WASM) -I$(WASI) -std=c11 -D_GNU_SOURCE -msimd128 -fno-math-errno -ffp-contract=fast -MMD -MP \
           -Ireference/library/wasm $(WARNINGS) -Wno-unknown-pragmas -DTWICETOLD_WITHOUT_FFTW
live: $(if $(WASM),$F/live/module.js) ## build the library as WebAssembly, for the book's live figures
	$(if $(WASM),:,rm -f $F/live/module.js; echo "no live figures: clang for WebAssembly is missing (make deps)")
$F/live/%.o: %.c $F/wasm            ; $(call OBJECT,$(WASM_CC))
$F/live/library.wasm: $(WASM_C:%.c=$F/live/%.o) $F/wasm
	$(call SAY,link   ) && $(WASM) -L/usr/lib/wasm32-wasi -mexec-model=reactor \
	    -Wl,--gc-sections,--strip-all,--stack-first,-z,stack-size=1048576 $(filter %.o,$^) -o $@
$F/live/module.js: $F/live/library.wasm
	{ printf 'const library_packed = "'; gzip -9 -n -c $< | base64 -w 0; printf '";\n'; } >$@
$F/tests/library/test_live: | $(if $(WASM),$F/live/module.js)
OBJECTS = $(addprefix $F/,reference naive fast figures tests double scalar counting exact device live)
-include $(shell find $(OBJECTS) -name '*.d' 2>/dev/null)
install: all            ## install libraries, header, Python module, program and man page (PREFIX, DESTDIR)
	sh reference/cli/install.sh '$F' '$(DESTDIR)' '$(PREFIX)' '$(VERSION)' '$(PYTHON)'
uninstall:              ## remove what `make install` wrote (PREFIX, DESTDIR)
	sh reference/cli/install.sh --remove '$(DESTDIR)' '$(PREFIX)'
# The wheel: for x86-64-v3 and the C library of Debian 11, with OpenBLAS's kernels for AVX2 and AVX-512 in each library,
# without FFTW and oneDNN.  OpenMP's functions stay undefined: the module loads PyTorch's OpenMP, or else the wheel's.
W       = $F/wheel
KERNELS = $(patsubst %,--defsym$(comma)gotoblas_%=gotoblas_HASWELL,ATOM BARCELONA BOBCAT BULLDOZER CORE2 DUNNINGTON \
            EXCAVATOR NANO NEHALEM OPTERON OPTERON_SSE3 PENRYN PILEDRIVER PRESCOTT SANDYBRIDGE STEAMROLLER ZEN) \
          --defsym$(comma)gotoblas_COOPERLAKE=gotoblas_SKYLAKEX
wheel:                  ## pack the Python module for pip: Linux, x86-64-v3, glibc 2.31 or newer
	mkdir -p $W && test -e $W/fetched || RELEASE=bullseye sh reference/library/sysroot.sh $W amd64 libc6-dev libgomp1 \
	    libopenblas-openmp-dev libcjson-dev libfftw3-dev libpng-dev
	+root=$$(realpath $W/root) lib=$$root/usr/lib/x86_64-linux-gnu && $(MAKE) --no-print-directory BUILD=$W CUDA= ONEDNN= \
	    ARCH=-march=x86-64-v3 CC="$(CC) --sysroot=$$root" REQUIRE_flags= LINK='$$(CC) -static-libgcc -s -Wl,-z,now' \
	    LIBRARY_CFLAGS="-I$$lib/../../include/cjson -I$$lib/../../include/x86_64-linux-gnu/openblas-openmp \
	    -DTWICETOLD_WITHOUT_FFTW" LDLIBS="$(addprefix -Wl$(comma),--exclude-libs=ALL $(KERNELS)) \
	    $$lib/openblas-openmp/libopenblas.a -lpthread -lm" $W/lib/libtwicetold.so.1 $W/lib/libtwicetold-double.so.1
	$(CC) -march=x86-64-v3 -dM -E -x c /dev/null | $(PYTHON) reference/library/wheel.py $W '$(VERSION)' $F $W/root

# ---- Tests

# Tools run on the first Python that imports NumPy.
IMPORTS = $(shell $1 -c 'import numpy' 2>/dev/null && echo $1)
PYTHON  = $(or $(call IMPORTS,/usr/bin/python3),$(call IMPORTS,python3),\
            $(error found no Python with NumPy, expected it in python3 ('make deps', 'pip install numpy') or PYTHON=))
SUITE   = BUILD=$F $(PYTHON) tests/tools/run.py
TESTED  = $(if $(FULL),$(SUITES),$(filter-out $(SLOW),$(SUITES)))
test: all $(TESTED) live ## run the tests, in float, in double and in a finite field, and check the book (FULL=1: all)
	$(SUITE) $(TESTED) book $(if $(FULL),browser)
# The suites of a chapter are in the folder of its name, or in these.
CHAPTERS          = attention lisa structsa elsa chopd hilo gap networks exact
FOLDERS_attention = msa runtime io cli library cuda fuzz tools
FOLDERS_hilo      = hilo sra
FOLDERS_gap       = figures
FOLDERS = $(or $(FOLDERS_$(CHAPTER)),$(CHAPTER))
PROVED  = $(if $(filter exact,$(CHAPTER)),$(EXACT_SUITES),\
            $(filter $(foreach folder,$(FOLDERS),$F/tests/$(folder)/% $D/tests/$(folder)/%),$(TESTED)))
$(if $(filter-out $(CHAPTERS) ladder,$(CHAPTER)),$(error CHAPTER: found '$(CHAPTER)', expected one of: $(CHAPTERS)))
prove: $(PROVED)        ## run the tests of one chapter (CHAPTER=lisa)
	$(if $(CHAPTER),TAP=$F/proved $(SUITE) $(PROVED),$(error CHAPTER: missing, expected one of: $(CHAPTERS)))
exact: $(EXACT_SUITES)  ## run the exact proofs with 20 draws, and print their bounds (DRAWS, PRIME=2, COMMIT=1: keep)
	for suite in $^; do DRAWS=$(or $(DRAWS),20) $$suite >$$suite.log || { cat $$suite.log; exit 1; }; done
	$(PYTHON) tests/exact/tables.py forms $F/exact/tests/exact/test_exact.log >$F/exact/forms.tsv
	$(PYTHON) tests/exact/tables.py claims $(THEOREMS:%=$F/exact/%.log) >$F/exact/claims.tsv
	$(if $(COMMIT),cp $F/exact/forms.tsv $F/exact/claims.tsv tests/exact,cat $(^:=.log))
device: all $F/tests/cuda/test_cuda $D/tests/cuda/test_cuda ## with a GPU: the kernels' proofs and times there
	BUILD=$F $(PYTHON) tests/tools/device.py $F/gpu
mutants:                ## apply each mutation of tests/tools/mutations.tsv; a suite must detect it (ONLY=pattern)
	mkdir -p $F && CHECKED='$(CHECKED)' $(PYTHON) tests/tools/mutants.py '$F' '$(ONLY)'
# Exercises: N=1.2, and ANSWER='...' for some.  exercises.txt says how a solution is compiled and linked.
EXERCISED = $(TESTS:%=$F/%) $F/exact/tests/exact/test_field $F/exercises.txt $(PROGRAMS)
$F/exercises.txt: $F/flags $F/cxx $F/sources $F/tests/tools/exercise_count.o
	printf '%s=%s\n' compile '$(subst $(IDENTITY),,$(COMPILE))' emulate '$(subst ',,$(EMULATE))' link '$(LINK)' \
	    with '$F/naive_in_double.o $(TEST_ARCHIVES:%=$F/%) $(CHECK_LIBS) $(LDLIBS)' count '$(subst ',,$(COUNTER))' \
	    exact '$(subst ',,$(EXACT))' exact_with '$F/libexact.a $(CHECK_LIBS) $(LDLIBS)' | sed 's/ -Werror//' >$@
$F/tests/tools/test_exercises.py: | $(EXERCISED)
check watch: $(EXERCISED)
exercise check watch hint: ## open the next exercise (N=1.2, or N=list); check it (ANSWER=...), or at each save; a hint
	BUILD=$F $(PYTHON) tests/tools/exercise.py $@ '$(N)' '$(ANSWER)'

# ---- Variants: the sources built otherwise, in $(BUILD)/NAME

# NAME_MAKE: settings of make; NAME_RUN: environment; NAME_ONLY: the suites.  Without NAME_RUN: those of COMPUTING.
CHECKED       = -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
sanitize_MAKE = CFLAGS='$(CHECKED)'
sanitize_RUN  = CK_FORK=no DRAWS=1 LIMIT=3600 ASAN_OPTIONS=strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
races_MAKE    = CC='clang -fsanitize=thread' ARCH= CXXFLAGS=-O0 CFLAGS='-O1 -g1' QUICK=1
races_RUN     = CK_FORK=no OMP_TOOL_LIBRARIES=libarcher.so ARCHER_OPTIONS=verbose=0 \
                LD_LIBRARY_PATH=$$(dirname $$(clang -print-file-name=libarcher.so)) \
                TSAN_OPTIONS='ignore_noninstrumented_modules=1 exitcode=66'
races_ONLY    = arena threads
valgrind_MAKE = CFLAGS='-O1 -g1' $(if $(filter x86_64,$(shell uname -m)),ARCH=-march=x86-64-v3)
valgrind_RUN  = CK_FORK=no DRAWS=1 OMP_WAIT_POLICY=passive LIMIT=3600 \
                RUN='valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite'
sse2_MAKE     = ARCH=
avx2_MAKE     = ARCH=-march=x86-64-v3
wide_MAKE     = ARCH='-march=native -DLANE_BYTES=64 -DLANE_REGISTERS=32 -Wno-psabi'
clang_MAKE    = CC=clang
openblas_MAKE = ONEDNN=
openblas_ONLY = $(MULTIPLYING)
# The same objects, run with OpenBLAS's own threads: the package is unpacked below build/, not installed.
pthreads_MAKE = ONEDNN= BUILD=$F/openblas
pthreads_RUN  = LD_LIBRARY_PATH=$(abspath $F)/pthreads
pthreads_ONLY = $(MULTIPLYING)
MULTIPLYING   = product packed_linear library attention
COMPUTING     = attention chopd elsa hilo ladder layers library lisa msa msa_golden numbers packed_linear product \
                runtime sra structsa vec_fft $(addsuffix _theorems,chopd elsa hilo lisa structsa)
fuzz_MAKE     = CC=clang CXXFLAGS='-O1 -g1' CFLAGS='-O1 -g1 -fsanitize=fuzzer-no-link,address,undefined \
                -fno-sanitize=function -fno-sanitize-recover=all'
VARIANT       = +$($@_RUN) $(MAKE) --no-print-directory CUDA= BUILD=$F/$@ $($@_MAKE)

pthreads: $F/pthreads/libopenblas.so.0
$F/pthreads/libopenblas.so.0:
	mkdir -p $(@D) && cd $(@D) && apt-get -qq download libopenblas0-pthread && dpkg-deb -x *.deb . && \
	    ln -s "$$PWD"/usr/lib/*/openblas-pthread/libopenblas.so.0 .
sanitize races valgrind sse2 avx2 wide clang openblas pthreads: ## run suites so built (ONLY="msa ..."; QUICK=1: double)
	$(VARIANT) ONLY='$(or $(ONLY),$($@_ONLY),$(if $($@_RUN),,$(COMPUTING)))' suites
SELECTED = $(filter $(if $(QUICK),$D/%,%),$(filter-out %/test_installed.py %/test_notebooks.py,$(if $(ONLY),\
             $(filter $(foreach name,$(ONLY),%/test_$(name) %/test_$(name).py),$(SUITES)),$(SUITES))))
suites: $(SELECTED)
	$(SUITE) $(SELECTED)
cross:                  ## run suites on another machine, emulated (MACHINE=s390x, aarch64, i386; ONLY="runtime ...")
	+MACHINE='$(MACHINE)' BUILD=$F ONLY='$(ONLY)' PYTHON=$(PYTHON) sh tests/tools/cross.sh
fuzz:                   ## give random bytes to readers, program and forms (RUNS=20000 TARGET=forms SEED=1)
	$(VARIANT) $F/fuzz/fuzzer $F/fuzz/double/fuzzer
	RUNS='$(or $(RUNS),20000)' TARGET='$(TARGET)' SEED='$(SEED)' $(PYTHON) tests/tools/fuzz.py $F/fuzz
# .clang-tidy says which checks are off, and why.  Suites are read in double, all else in float.
HEADERS  = $(wildcard */*.h */*/*.h */*/*/*.h)
SUITES_C = $(filter-out %/installed_program.c,$(wildcard tests/*/*.c))
LINTED   = $(LIBRARY_C) $(LADDER_C) $(FIGURES:=.c) naive/standalone.c reference/cli/twicetold.c reference/cli/measure.c
AS_BUILT = -std=c11 $(NUMERICS) $(LIBRARY_CFLAGS) $(CHECK_CFLAGS) $(IDENTITY) $(WARNINGS) $(CPPFLAGS)
FINDINGS = $(patsubst %,$F/lint/%.tidy,$(LINTED) $(SUITES_C)) $(LINTED:%=$F/lint/%.analysed)
lint: $(FINDINGS)       ## clang-tidy, cppcheck, gcc's analyser (-k)
	mkdir -p $F/lint/cppcheck && cppcheck --quiet -j$(shell nproc) --cppcheck-build-dir=$F/lint/cppcheck \
	    --error-exitcode=1 --inline-suppr --std=c11 --language=c --suppress=missingIncludeSystem \
	    --enable=warning,portability,performance -UCOUNTING_REAL -U__cplusplus $(LINTED) $(SUITES_C)
$F/lint/%.tidy: % .clang-tidy tests/.clang-tidy $(HEADERS)
	$(call SAY,tidy   ) && clang-tidy --quiet $< -- $(AS_BUILT) $(if $(filter tests/%,$<),-DTWICETOLD_DOUBLE) 2>/dev/null
	touch $@
$F/lint/%.analysed: % $(HEADERS)
	$(call SAY,analyse) && gcc -O1 $(AS_BUILT) -Werror -fanalyzer -Wno-analyzer-shift-count-overflow \
	    -Wno-analyzer-use-of-uninitialized-value -S $< -o /dev/null && touch $@

# ---- Figures and the book

# CHAPTER: one of them; BUDGET: seconds for each (0: do not measure); FULL=1: long sweeps; MAX_MEMORY; COMMIT=1: keep.
BOOK     = $(PYTHON) chapters/tools/book.py
DRAW     = $(PYTHON) figures/draw.py --build $F
MEASURED = $F/book/here
weave:                  ## refill the excerpts and tables of the committed chapters
	$(BOOK) weave
measured: $(PROGRAMS) $(LIBRARY)
	mkdir -p $(MEASURED)
	$(DRAW) $(if $(FULL),--full) $(if $(BUDGET),--budget $(BUDGET)) $(MAX_MEMORY:%=--max-memory %) --resume \
	    --output $(MEASURED) $(CHAPTER)
figures: $(if $(filter 0,$(BUDGET)),all,measured) ## measure and draw into build/book/here (CHAPTER, BUDGET, FULL)
	$(if $(filter 0,$(BUDGET)),$(DRAW) --budget 0 --tables figures --output $(if $(COMMIT),figures,$F/drawn) $(CHAPTER),\
	    $(if $(COMMIT),$(DRAW) commit $(MEASURED) $(CHAPTER)))
book: live              ## bind build/book/index.html, measure here, and bind again (BUDGET=0: do not measure)
	$(BOOK) bind $F/book
	+$(if $(filter 0,$(BUDGET)),,$(MAKE) --no-print-directory measured && $(BOOK) bind $F/book)
pdf: book               ## chapters 0 to 8 as one PDF: build/book/attention-twice-told.pdf (needs Chromium)
	$(BOOK) pdf $F/book
site: book              ## the book for a static host: build/site (SITE=https://...: its address; needs Chromium)
	$(BOOK) site $F/book $F/site $(SITE)
epub: book              ## the book for a reader of EPUBs: build/attention-twice-told.epub (needs Chromium)
	$(BOOK) epub $F/book $F/attention-twice-told.epub '$(VERSION)'
notebooks: $(PROGRAMS) $(LIBRARY) ## write a Jupyter notebook for each chapter into build/notebooks (needs NumPy)
	$(BOOK) notebooks $F/notebooks
slides:                 ## slides for a lecture: build/slides.pdf (needs Chromium)
	$(BOOK) slides $F
versus: all             ## time our forms against PyTorch, into figures/gap (PYTHON=python3 MINUTES=14), or WAY=file.py
	$(PYTHON) figures/bench/versus.py --build $F $(MINUTES:%=--minutes %) $(if $(WAY),--way $(WAY),\
	    --goals $F/versus-goals.tsv >$F/versus.tsv && mv $F/versus.tsv $F/versus-goals.tsv figures/gap)
clean:                  ## remove build/
	rm -rf -- '$F'
help:                   ## this list
	grep -E '^[a-z0-9 ]+:.*## ' Makefile | while IFS= read -r line; do \
	    printf 'make %-10s %s\n' "$${line%%:*}" "$${line#*## }"; done
.PHONY: always measured plug-in suites $(shell sed -n 's/^\([a-z0-9 ]*\):.*\#\# .*/\1/p' Makefile)
endif
