# Attention, Twice Told.  `make help` says what can be asked for.
#
# Everything that is built lies under $(BUILD): the float build in it, the
# double build in $(BUILD)/double.  Settings for the command line: CC, CXX,
# CFLAGS, CXXFLAGS, ARCH (empty for a portable build), CUDA (nvcc; empty for none),
# ARCHES (GPU architectures, "75 80 90" where nvcc knows them; a later GPU compiles
# the last one's PTX), BUILD, WERROR=1, PREFIX, DESTDIR, and V=1, which shows the
# commands.  CC may be gcc or clang; CXX is g++: the counting library (below) is C,
# read as C++, which clang++ does not forgive.

BUILD   = build
PREFIX  = /usr/local
VERSION = 1.0
ARCH    = -march=native
CFLAGS  = -O3
CXXFLAGS = $(CFLAGS)
ifeq ($(origin CC),default)
CC      = gcc
endif
ifeq ($(origin CXX),default)
CXX     = g++
endif

# CHAPTER=lisa is one chapter alone, for prove, figures and book.  For
# figures/draw.py: FULL=1 is the long sweep, BUDGET seconds per chapter,
# MAX_MEMORY (8G) the most a form may take; COMMIT=1 puts the figures into figures/.
CHAPTER    =
override CHAPTER := $(CHAPTER:the-%=%)
FULL       =
BUDGET     =
MAX_MEMORY =
COMMIT     =

.SUFFIXES:
.SECONDARY:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
Q = $(if $(V),,@)
comma := ,

.DEFAULT_GOAL = all

# Tools run on the first of these Pythons that imports NumPy; PYTHON= names another.  Programs are built without any.
FOUND_PYTHON = $(eval FOUND_PYTHON := $$(shell for each in /usr/bin/python3 python3; do \
                   $$$$each -c 'import numpy' 2>/dev/null && echo $$$$each && break; done))$(FOUND_PYTHON)
PYTHON = $(or $(FOUND_PYTHON),$(error found no Python with NumPy, expected Debian's python3-numpy ('make deps') or PYTHON=))

deps:                   ## install what is missing, by sudo apt-get (DEVELOPER=1: also for clang, lint, valgrind, golden, pdf, browsers)
	@sh reference/program/depend.sh install $(if $(DEVELOPER),developer)

# Compilers and libraries are looked up as this file is read, so what is asked
# for beside `deps` waits for it, and then reads the file anew.
AFTER := $(if $(filter deps,$(MAKECMDGOALS)),$(filter-out deps,$(MAKECMDGOALS)))
ifneq ($(AFTER),)

$(AFTER): after_deps
	@:
after_deps: deps
	@$(MAKE) --no-print-directory $(AFTER)
.PHONY: $(AFTER) after_deps deps

else

# ---- Compiler and libraries

# Debian keeps OpenBLAS's OpenMP build in a folder of its own.  It is looked up
# there, and that folder put into the programs, whatever flavour the system prefers.
LIBRARIES := fftw3 fftw3f openblas libcjson libpng zlib
SYSTEM_PC := $(subst :, ,$(shell pkg-config --variable pc_path pkg-config 2>/dev/null))
OPENMP_PC := $(firstword $(wildcard $(SYSTEM_PC:pkgconfig=openblas-openmp/pkgconfig)))
export PKG_CONFIG_PATH := $(PKG_CONFIG_PATH):$(OPENMP_PC)

CHECK_CFLAGS   := $(shell pkg-config --cflags check 2>/dev/null)
CHECK_LIBS     := $(shell pkg-config --libs check 2>/dev/null)
LIBRARY_CFLAGS := $(shell pkg-config --cflags $(LIBRARIES) 2>/dev/null)
LIBRARY_LIBS   := $(shell pkg-config --libs $(LIBRARIES) 2>/dev/null)
# oneDNN has no file for pkg-config: where a program of this compiler's links with it, floats go through it.
ONEDNN         := $(shell echo 'int main(void) { return __x86_64__ && !dnnl_version(); }' | \
                    $(CC) $(ARCH) -include oneapi/dnnl/dnnl.h -x c - $(LDFLAGS) -ldnnl -o /dev/null 2>/dev/null && echo yes)
ifneq ($(ONEDNN),)
LIBRARY_CFLAGS += -DTWICETOLD_ONEDNN
LIBRARY_LIBS   += -Wl,--push-state,--as-needed -ldnnl -Wl,--pop-state
endif
LIBRARY_RPATH  := $(patsubst -L%,-Wl$(comma)-rpath$(comma)%,$(filter -L%,$(LIBRARY_LIBS)))

# For Zen, gcc fuses some multiply-adds of a loop and not others: bits would depend on how many rows a thread has.
FUSED   := $(shell echo 'int x;' | $(CC) --param avoid-fma-max-bits=0 -Werror -x c -S - -o /dev/null 2>/dev/null && \
             echo --param avoid-fma-max-bits=0)
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow $(if $(WERROR),-Werror)
COMMON   = $(CFLAGS) $(ARCH) -fno-math-errno -ffp-contract=fast $(FUSED) -fopenmp $(WARNINGS) \
           $(LIBRARY_CFLAGS) $(CPPFLAGS) -MMD -MP
COMPILE  = $(CC) -std=c11 -Wstrict-prototypes $(COMMON) $(TRAITS)
# Where the machine computes floats in a wider type (i386's x87; s390x, by its ABI), ISO C makes every
# product of a real and a vector of reals a product of a wider one, which GNU C refuses.  Where addresses
# have 32 bits, a file may be longer; both names, or zlib and we would differ.
MACROS  := $(shell $(CC) -std=c11 $(ARCH) -dM -E -x c /dev/null 2>/dev/null)
macro    = $(patsubst __$1__=%,%,$(filter __$1__=%,$(subst __$1__ ,__$1__=,$(MACROS))))
TRAITS  := $(strip $(if $(filter-out 0,$(call macro,FLT_EVAL_METHOD)),-fexcess-precision=fast) \
             $(if $(filter 4,$(call macro,SIZEOF_LONG)),-D_FILE_OFFSET_BITS=64 -D_LARGEFILE64_SOURCE))
EMULATE  = $(CXX) -std=gnu++17 $(CXXFLAGS) $(ARCH) -fno-math-errno -ffp-contract=fast -fopenmp $(filter-out -Wshadow,$(WARNINGS)) \
           -Wno-unknown-pragmas $(CPPFLAGS) -MMD -MP
# Not -O3: with it gcc 12 gets one complex product of the ladder's wrong, where it is told in C++, in float, for SSE2.
COUNTER  = $(CXX) -std=gnu++17 $(subst -O3,-O2,$(COMMON)) -fpermissive -w -fno-exceptions -fno-rtti
EXACT    = $(CXX) -std=gnu++17 $(subst -O3,-O2,$(COMMON)) -fpermissive -w -fno-exceptions -fno-rtti -fno-operator-names -DTWICETOLD_DOUBLE \
           -DCOUNTING_REAL='"$(abspath tests/exact/field.h)"' $(if $(PRIME),-DFIELD_PRIME=$(PRIME)) -I. -include tests/exact/seams.h
IDENTITY = -DTWICETOLD_VERSION='"$(VERSION)"' -DTWICETOLD_FLAGS='"$(strip $(CFLAGS) $(ARCH))"'
LINK     = $(CC) $(CFLAGS) $(ARCH) -fopenmp $(LDFLAGS)
LDLIBS   = $(LIBRARY_RPATH) $(LIBRARY_LIBS) -lstdc++ -ldl -lm

# nvcc makes the plug-in for machines with a device; `make CUDA=` builds without.
CUDA    := $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
TOOLKIT  = $(abspath $(dir $(CUDA))..)
ARCHES  := $(filter 75 80 90,$(if $(CUDA),$(patsubst compute_%,%,$(shell $(CUDA) --list-gpu-arch 2>/dev/null))))
GENCODE  = $(foreach a,$(ARCHES),-gencode arch=compute_$a,code=[sm_$a$(if $(filter $a,$(lastword $(ARCHES))),$(comma)compute_$a)])
DEVICE   = $(if $(CUDA),$(CUDA) -std=c++17 -O3 -lineinfo $(GENCODE) $(if $(WERROR),-Werror all-warnings) \
           -Xcompiler -fPIC$(comma)-fvisibility=hidden $(CPPFLAGS))

# ---- What is built of what

KERNELS  := $(filter-out %_host.cc %/emulator.cc %/requests.cc,$(wildcard fast/cuda/*.cu fast/cuda/*.cc))
CARRIED  := $(wildcard reference/*.c fast/lisa/circulant.c)
SOURCES  := $(wildcard reference/*.c reference/instruments/*.c reference/layers/*.c reference/networks/*.c naive/*.c fast/*.c fast/*/*.c) reference/program/forms.c
EMULATED := $(filter-out %_gpu.cu,$(wildcard fast/cuda/*.cu fast/cuda/*.cc))
PLANTED  := $(wildcard tests/*.cu)
PROGRAM  := $(basename $(filter-out %/forms.c %/units.c,$(wildcard reference/program/*.c)))
HARNESS  := figures/judge figures/settings
DRAWERS  := $(filter-out figures/measure $(HARNESS),$(basename $(wildcard figures/*.c)))
RUNGS    := $(wildcard figures/rungs/*.c)
TESTS    := $(basename $(wildcard tests/test_*.c))
SCRIPTED := $(wildcard tests/test_*.py)
SUPPORT  := $(filter-out tests/test_% tests/wider.c tests/exercise_count.c,$(wildcard tests/*.c tests/support/*.c))
FUZZED   := $(basename $(filter-out tests/fuzz/entry.c,$(wildcard tests/fuzz/*.c)))
COUNTED  := $(wildcard naive/*.c) $(RUNGS) tests/counting.cc
BEFORE_COUNTED := math.h string.h tgmath.h $(wildcard reference/*.h) tests/counting.h
PROVED_EXACTLY := $(filter-out reference/instruments/% reference/layers/% reference/networks/%,$(SOURCES)) tests/cases.c tests/support.c tests/trial.c \
                  $(filter-out tests/exact/test_%,$(wildcard tests/exact/*.cc))

FOLDERS  := $(BUILD) $(BUILD)/double
PROGRAMS := $(foreach f,$(FOLDERS),$(addprefix $f/,twicetold measure $(DRAWERS)))
IDENTITIES := $(addprefix lisa_,theorems errata) $(addprefix structsa_,theorems errata) chopd_theorems chopd_readings \
              $(addprefix elsa_,theorems readings errata) $(addprefix hilo_,theorems readings) msa
EXACT_SUITES := $(patsubst tests/exact/%.cc,$(BUILD)/exact/%,$(wildcard tests/exact/test_*.cc)) \
                $(IDENTITIES:%=$(BUILD)/exact/exact_%)
SUITES   := $(filter-out %/double/tests/test_exercises.py %/double/tests/test_live, \
                $(foreach f,$(FOLDERS),$(TESTS:%=$f/%) $(SCRIPTED:%=$f/%))) $(EXACT_SUITES)

all: $(FOLDERS:=/libtwicetold.a) $(PROGRAMS) ## build libraries and programs, in float and in double, and for a GPU where nvcc is
all: $(if $(CUDA),plug-ins)

# If the toolkit is too old, broken or incomplete, there is no plug-in, and a line says why.
plug-ins: $(BUILD)/toolkit $(BUILD)/flags $(BUILD)/sources
	+@[ ! -e $(BUILD)/toolkit ] || $(MAKE) --no-print-directory $(FOLDERS:=/libtwicetold-cuda.so)
$(BUILD)/toolkit: $(BUILD)/nvcc
	@rm -f $@; why="it knows none of sm_75, sm_80 and sm_90"; \
	{ $(if $(ARCHES),why=$$(printf '#include <cublas_v2.h>\n#include <cufft.h>\n%s\n' \
	      'int main() { cublasHandle_t b; cufftHandle f; return cublasCreate(&b) || cufftCreate(&f); }' | \
	      $(DEVICE) -x cu - -lcublas -lcufft -o $@.new 2>&1),false); } && rm -f $@.new && touch $@ || \
	echo "built without CUDA: $(CUDA) fails:" $$(echo "$${why:-it says nothing}" | head -n 1)

# Objects belong to one set of flags on one kind of machine, the library to one
# set of sources: each is written to a file that changes only when the set does.
PROCESSOR     := $(shell $(CC) $(ARCH) -dM -E -x c /dev/null 2>/dev/null | cksum)
STATE_flags    = $(COMPILE) $(EMULATE) $(COUNTER) $(LINK) $(LDLIBS) $(VERSION) $(PROCESSOR)
STATE_sources  = $(SOURCES) $(RUNGS) $(EMULATED) $(COUNTED) $(PROVED_EXACTLY) $(DRAWERS)
STATE_exactly  = $(subst ',,$(EXACT))
STATE_nvcc     = $(DEVICE) $(KERNELS) $(CARRIED)
REQUIRE_flags  = sh reference/program/depend.sh build '$(CC)' $(LIBRARIES) &&
$(BUILD)/flags $(BUILD)/exactly $(BUILD)/sources $(BUILD)/nvcc $(BUILD)/browsers: always
	@mkdir -p $(@D)
	@echo '$(STATE_$(@F))' | cmp -s - $@ || { $(REQUIRE_$(@F)) echo '$(STATE_$(@F))' >$@; }

# One precision: $1 its folder, $2 its flag.
define precision
$1/%.o: %.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(if $$(V),,@echo "  compile $$@")
	$$(Q)$$(COMPILE) $2 $$(if $$(filter tests/%,$$<),$$(CHECK_CFLAGS)) \
	    $$(if $$$(filter figures/% reference/program/%,$$<),$$(IDENTITY)) -c $$< -o $$@

# The kernels of fast/cuda, and of the emulator's own proofs, as C++ for the emulator.
$(addprefix $1/,$(addsuffix .o,$(EMULATED) $(PLANTED))): $1/%.o: % $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(if $$(V),,@echo "  compile $$@")
	$$(Q)$$(EMULATE) $2 -x c++ -c $$< -o $$@

# The kernels for a device, with what they need of CARRIED, and one name to be seen.
$(KERNELS:%=$1/device/%.o): $1/device/%.o: % $(BUILD)/nvcc
	@mkdir -p $$(@D)
	$$(if $$(V),,@echo "  compile $$@")
	$$(Q)$$(DEVICE) $2 -MMD -MP -MF $$(@:.o=.d) -x cu -c $$< -o $$@
$(CARRIED:%.c=$1/device/%.o): $1/device/%.o: %.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(if $$(V),,@echo "  compile $$@")
	$$(Q)$$(COMPILE) $2 -O1 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -c $$< -o $$@
$1/device/libcarried.a: $(CARRIED:%.c=$1/device/%.o) $(BUILD)/sources
	$$(if $$(V),,@echo "  archive $$@")
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$(filter %.o,$$^)
$1/libtwicetold-cuda.so: $(KERNELS:%=$1/device/%.o) $1/device/libcarried.a fast/cuda/plugin.map
	$$(if $$(V),,@echo "  link    $$@")
	$$(Q)$$(DEVICE) -shared $$(filter %.o,$$^) $$(filter %.a,$$^) -Xlinker --gc-sections -Xlinker -z -Xlinker defs \
	    -Xlinker --version-script=fast/cuda/plugin.map -Xlinker -rpath=$(TOOLKIT)/lib64 \
	    -Xlinker --as-needed -lcublas -lcufft -o $$@

# naive/ and the rungs once more, as C++ with a real that counts what is done to it.  All
# that they define stands in a namespace, so that both builds can be linked together; all
# that they use of others is included before that.
$1/counting/%.o: % $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(if $$(V),,@echo "  compile $$@")
	$$(Q){ printf '#include "%s"\n' $(BEFORE_COUNTED) $$(if $$(filter figures/%,$$<),tests/plain_lanes.h); \
	    printf '$$(if $$(filter tests/%,$$<),,namespace counting {)\n#include "$$<"\n$$(if $$(filter tests/%,$$<),,})\n'; } | \
	    $$(COUNTER) $2 -DCOUNTING_REAL='"$$(abspath tests/counting.h)"' -I. -MT $$@ -MF $$(@:.o=.d) -x c++ -c - -o $$@

$1/libcounting.a: $(COUNTED:%=$1/counting/%.o) $(BUILD)/sources
$1/libtwicetold.a: $(SOURCES:%.c=$1/%.o) $(EMULATED:%=$1/%.o) $(BUILD)/sources
$1/libcounting.a $1/libtwicetold.a:
	$$(if $$(V),,@echo "  archive $$@")
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$(filter %.o,$$^)

$1/twicetold: $(PROGRAM:%=$1/%.o) $1/reference/program/units.o
$1/measure: $1/figures/measure.o $(addprefix $1/reference/program/,devices.o units.o words.o)
$(DRAWERS:%=$1/%): $1/%: $1/%.o
$(addprefix $1/,measure $(DRAWERS)): $(HARNESS:%=$1/%.o)
$1/figures/ladder $1/tests/test_ladder: $(RUNGS:%.c=$1/%.o)
$(TESTS:%=$1/%): $1/%: $1/%.o $(SUPPORT:%.c=$1/%.o) $(if $2,,$(BUILD)/wider.o) $1/libcounting.a
$1/tests/test_emulator: $1/tests/kernels.cu.o
$1/tests/test_device: $1/tests/runtime.cu.o
$1/tests/test_fuzz $1/fuzzer: $(FUZZED:%=$1/%.o) $(addprefix $1/,$(addsuffix .o,$(filter-out %/twicetold,$(PROGRAM)) \
                              reference/program/units))
$1/tests/test_cuda: $1/reference/program/devices.o
$1/tests/test_ground: $1/reference/program/units.o
$1/tests/test_cheats: $1/figures/judge.o
$(addprefix $1/,twicetold measure $(DRAWERS) $(TESTS)): $1/libtwicetold.a $(BUILD)/flags
	$$(if $$(V),,@echo "  link    $$@")
	$$(Q)$$(LINK) $$(filter %.o,$$^) $$(filter %.a,$$^) $$(if $$(findstring /tests/,$$@),$$(CHECK_LIBS)) $$(LDLIBS) -o $$@

$1/tests/refusing.so: tests/faults/refusing.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -std=gnu11 -O1 $$(WARNINGS) -fPIC -shared $$< -ldl -o $$@

# For clang alone: its libFuzzer brings the main.
$1/fuzzer: $1/tests/fuzz/entry.o $1/libtwicetold.a $(BUILD)/flags
	$$(if $$(V),,@echo "  link    $$@")
	$$(Q)$$(LINK) -fsanitize=fuzzer $$(filter %.o,$$^) $$(filter %.a,$$^) $$(LDLIBS) -o $$@
endef
$(foreach f,$(FOLDERS),$(eval $(call precision,$f,$(if $(filter %/double,$f),-DTWICETOLD_DOUBLE))))

# The naive forms in double, with one name to be seen: what the suites in float are measured against.
# No group is left in it that the float build would share.
$(BUILD)/wider.o: $(BUILD)/double/tests/wider.o $(BUILD)/double/libtwicetold.a
	$(if $(V),,@echo "  link    $@")
	$(Q)$(LD) -r --force-group-allocation -o $@ $^ && $(OBJCOPY) --keep-global-symbol=wider_run $@

# All of reference/, naive/ and fast/ a third time, as C++ over a finite field (tests/exact).
$(BUILD)/exact/%.o: % $(BUILD)/exactly | $(BUILD)/check
	@mkdir -p $(@D)
	$(if $(V),,@echo "  compile $@")
	$(Q)$(EXACT) $(if $(filter tests/%,$<),$(CHECK_CFLAGS)) -MT $@ -MF $(@:.o=.d) -x c++ -c $< -o $@

# What tests/exact/field_support.cc has in their place.
$(BUILD)/exact/tests/support.c.o: private EXACT += $(foreach name,largest largest_difference relative_difference \
    fault_equal fault_unequal fault_within fault_beyond,-D$(name)=plain_$(name))
$(BUILD)/exact/reference/random.c.o: private EXACT += $(foreach name,random_fill_uniform random_fill_normal \
    random_fill_integers,-D$(name)=plain_$(name))

$(BUILD)/exact/reference/problem.c.o: private EXACT += -Dproblem_draw=plain_problem_draw

$(BUILD)/libexact.a: $(PROVED_EXACTLY:%=$(BUILD)/exact/%.o) $(BUILD)/sources
	$(if $(V),,@echo "  archive $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# Suites of the float proofs, read as exact ones.
$(IDENTITIES:%=$(BUILD)/exact/tests/test_%.c.o): private EXACT += -include tests/exact/theorems.h -O1
$(IDENTITIES:%=$(BUILD)/exact/exact_%): $(BUILD)/exact/exact_%: $(BUILD)/exact/tests/test_%.c.o
$(filter-out $(BUILD)/exact/exact_%,$(EXACT_SUITES)): $(BUILD)/exact/%: $(BUILD)/exact/tests/exact/%.cc.o
$(EXACT_SUITES): $(BUILD)/libexact.a
	$(if $(V),,@echo "  link    $@")
	$(Q)$(LINK) $(filter %.o,$^) $(filter %.a,$^) $(CHECK_LIBS) -lstdc++ -lm -o $@

-include $(wildcard $(foreach file,$(PROVED_EXACTLY) $(wildcard tests/exact/test_*.cc) $(IDENTITIES:%=tests/test_%.c),$(BUILD)/exact/$(file).d))
-include $(wildcard $(foreach f,$(FOLDERS),$(addprefix $f/,\
    $(addsuffix .d,$(basename $(wildcard */*.c */*/*.c)) $(EMULATED) $(PLANTED) $(COUNTED:%=counting/%) \
      $(KERNELS:%=device/%) $(CARRIED:%.c=device/%)))))

# ---- The library as others meet it: reference/twicetold.h, and no other name

# $(BUILD)/libtwicetold.a is whole, for the tests and programs of this tree.  What
# is installed is made of it: one object of all that reference/library/ needs, in
# which names without the prefix are local, and no group is left that two libraries
# would share; it is the static library and the shared one.  COMPILE is C's, EMULATE
# that of kernels told in C++, where there are some.
COMPILE += -fPIC -fvisibility=hidden
EMULATE += -fPIC -fvisibility=hidden
OBJCOPY  = objcopy
SONAME   = so.1
DOOR    := $(basename $(wildcard reference/library/*.c))
LIBRARY := $(foreach p,twicetold twicetold-double,$(addprefix $(BUILD)/lib/lib$p,.a .so .$(SONAME)))
all: $(LIBRARY)

# One precision: $1 its folder, $2 where it goes, without suffix.
define library
$(DOOR:%=$1/%.o): private CPPFLAGS += $(IDENTITY)
$1/tests/test_library: $(DOOR:%=$1/%.o)

$2.o: $(DOOR:%=$1/%.o) $1/libtwicetold.a
	@mkdir -p $$(@D)
	$$(Q)$$(LD) -r -d --force-group-allocation $$^ -o $$@ && \
	    $$(OBJCOPY) --wildcard --keep-global-symbol 'twicetold_*' $$@

$2.a: $2.o
	$$(if $$(V),,@echo "  archive $$@")
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$^

$2.$(SONAME): $2.o
	$$(if $$(V),,@echo "  link    $$@")
	$$(Q)$$(LINK) -shared -Wl,-soname,$$(@F) $$^ -Wl,--as-needed $$(LDLIBS) -o $$@

$2.so: $2.$(SONAME)
	@ln -sf $$(<F) $$@
endef
$(eval $(call library,$(BUILD),$(BUILD)/lib/libtwicetold))
$(eval $(call library,$(BUILD)/double,$(BUILD)/lib/libtwicetold-double))

install: all            ## install libraries, header, Python module, program, man page (PREFIX, DESTDIR)
	@sh reference/program/install.sh '$(BUILD)' '$(DESTDIR)' '$(PREFIX)' '$(VERSION)' \
	    '$(if $(filter file,$(origin PYTHON)),$(or $(FOUND_PYTHON),python3),$(PYTHON))'

.PHONY: wheel
wheel: $(LIBRARY)       ## pack the Python module and both libraries for pip (ARCH= for any machine)
	@$(CC) $(CFLAGS) $(ARCH) -dM -E -x c /dev/null | $(PYTHON) reference/library/wheel.py '$(BUILD)' '$(VERSION)' '$(BUILD)'

# ---- The library for a page: reference/live, WebAssembly in base64

# Debian's clang, lld, wasi-libc and the compiler's runtime make it; without them, and with
# `make WASM=`, the book has no live figures, and their proofs are skipped.
WASI     = /usr/include/wasm32-wasi
WASM    := $(shell command -v clang >/dev/null && command -v wasm-ld >/dev/null && [ -e $(WASI)/stdio.h ] && \
             [ -e "$$(clang -print-resource-dir)/lib/wasi/libclang_rt.builtins-wasm32.a" ] && echo clang)
BROWSER  = $(WASM) --target=wasm32-wasi --sysroot=/usr -I$(WASI) -std=c11 -D_GNU_SOURCE -O3 -msimd128 -fno-math-errno \
           -ffp-contract=fast -Ireference/live $(WARNINGS) -Wno-unknown-pragmas -DTWICETOLD_WITHOUT_FFTW -MMD -MP
CARRIES := $(filter-out %/fft.c %/fftw.c,$(wildcard reference/*.c reference/live/*.c naive/*.c fast/*.c fast/*/*.c)) \
           reference/program/forms.c
MODULE  := $(if $(WASM),$(BUILD)/live/module.js)
STATE_browsers = $(BROWSER) $(CARRIES)

live: $(MODULE)         ## the library as WebAssembly, for the figures of the book that run it
	@$(if $(WASM),:,rm -f $(BUILD)/live/module.js $(BUILD)/live/library.wasm; \
	    echo "no live figures: clang for WebAssembly is missing (make deps)")

$(BUILD)/live/%.o: %.c $(BUILD)/browsers
	@mkdir -p $(@D)
	$(if $(V),,@echo "  compile $@")
	$(Q)$(BROWSER) -c $< -o $@
$(BUILD)/live/library.wasm: $(CARRIES:%.c=$(BUILD)/live/%.o) $(BUILD)/browsers
	$(if $(V),,@echo "  link    $@")
	$(Q)$(WASM) --target=wasm32-wasi --sysroot=/usr -L/usr/lib/wasm32-wasi -mexec-model=reactor -O3 \
	    -Wl,--gc-sections,--strip-all,--stack-first,-z,stack-size=1048576 $(filter %.o,$^) -o $@
$(BUILD)/live/module.js: $(BUILD)/live/library.wasm
	@{ printf 'const library_packed = "'; gzip -9 -n -c $< | base64 -w 0; printf '";\n'; } >$@
-include $(wildcard $(CARRIES:%.c=$(BUILD)/live/%.d))

# ---- The proofs

# They alone need Check.
$(BUILD)/check:
	@mkdir -p $(@D)
	@sh reference/program/depend.sh build '$(CC)' $(LIBRARIES) check && touch $@
$(foreach f,$(FOLDERS),$(addprefix $f/,$(addsuffix .o,$(TESTS) $(basename $(SUPPORT))))): | $(BUILD)/check
$(BUILD)/tests/test_live: | $(MODULE)

# Suites in Python: the folder of a link says whose programs they run.
$(filter %.py,$(SUITES)): | $(PROGRAMS) $(LIBRARY) $(FOLDERS:=/tests/refusing.so)
	@mkdir -p $(@D) && ln -sf $(abspath tests/$(@F)) $@

SUITE = BUILD=$(BUILD) $(PYTHON) tests/tools/run.py
PROOF = $(MAKE) --no-print-directory CUDA= BUILD=$(BUILD)/$@ WERROR=$(WERROR)

test: all $(SUITES) live ## run all proofs, in both precisions, and proofread the book
	@$(SUITE) $(SUITES) book

# A chapter is called by the last word of its page's name: chapters/6-the-gap.md is gap.  Suites are
# named after their chapter; some are not, and all others are of the ground.
OF_lisa  = lisa% lane_fft
OF_hilo  = hilo% sra spectrum
OF_networks = network% layers% learned%
ROWS    := $(foreach page,$(sort $(wildcard chapters/[1-9]*.md)),$(lastword $(subst -, ,$(basename $(notdir $(page))))))
suites_of = $(foreach f,$(FOLDERS),$(foreach pattern,$(or $(OF_$1),$1%),$(filter $f/tests/test_$(pattern),$(SUITES))))
suites_of_exact = $(EXACT_SUITES)
PROVED   := $(if $(filter ground,$(CHAPTER)),$(filter-out $(EXACT_SUITES) $(foreach row,$(ROWS),$(call suites_of,$(row))),$(SUITES)),\
              $(if $(CHAPTER),$(or $(suites_of_$(CHAPTER)),$(call suites_of,$(CHAPTER)))))
ifneq ($(CHAPTER),$(filter $(CHAPTER),ground ladder $(ROWS)))
$(error CHAPTER: found '$(CHAPTER)', expected one of: ground ladder $(ROWS))
endif

# ---- Exercises: N=1.2, and ANSWER='...' for those that want one

N        =
ANSWER   =
EXERCISE = BUILD=$(BUILD) $(PYTHON) tests/tools/exercise.py
JUDGE    = $(patsubst $(BUILD)/tests/exact/%,$(BUILD)/exact/%,$(patsubst suite:%,$(BUILD)/tests/%,$(filter suite:%,\
             $(subst suite: ,suite:,$(if $(N),$(file <chapters/exercises/$(N).md))))))

# How a source is compiled and its suite linked, with one object in the library's place.  What is not
# written yet leaves names unused: a warning, never an error.
WITH = $(SUPPORT:%.c=$(BUILD)/%.o) $(BUILD)/wider.o $(BUILD)/libcounting.a $(BUILD)/libtwicetold.a $(CHECK_LIBS) $(LDLIBS)
$(BUILD)/exercises.txt: $(BUILD)/flags $(BUILD)/sources $(BUILD)/tests/exercise_count.o
	@printf '%s=%s\n' compile '$(filter-out -Werror,$(COMPILE) $(CHECK_CFLAGS))' emulate '$(filter-out -Werror,$(EMULATE))' link '$(LINK)' with '$(WITH)' \
	    count '$(COUNTER) -DCOUNTING_REAL="$(abspath tests/counting.h)"' before '$(BEFORE_COUNTED)' \
	    exact '$(STATE_exactly)' exact_with '$(BUILD)/libexact.a $(CHECK_LIBS) -lstdc++ -lm' >$@
$(BUILD)/tests/test_exercises.py: | $(BUILD)/exact/test_field $(BUILD)/exercises.txt $(TESTS:%=$(BUILD)/%)

exercise:               ## list the exercises, or open one (N=1.2)
	@$(EXERCISE) $(if $(N),open $(N),list)
check: $(JUDGE) $(BUILD)/exercises.txt $(BUILD)/measure $(BUILD)/figures/ladder $(BUILD)/twicetold ## judge an exercise (N=1.2 ANSWER=...)
	@$(EXERCISE) check '$(N)' '$(ANSWER)'
check: $(BUILD)/figures/roofline
hint:                   ## a hint for an exercise, one more each time (N=1.2)
	@$(EXERCISE) hint '$(N)'

prove: $(PROVED)        ## run the proofs of one chapter (CHAPTER=lisa; ground is chapter 0)
	@$(if $(CHAPTER),TAP=$(BUILD)/proved $(SUITE) $(PROVED),echo "CHAPTER: missing, expected one of: ground $(ROWS)" >&2; exit 2)

exact: $(EXACT_SUITES) ## the proofs over a finite field alone: draws, sizes, seconds of each claim (PRIME=2: another field; COMMIT=1: chapter 8's tables)
	@for suite in $(EXACT_SUITES); do $$suite >$$suite.log; failed=$$?; cat $$suite.log; [ $$failed = 0 ] || exit 1; done
	@$(PYTHON) tests/exact/tables.py forms $(BUILD)/exact/test_exact.log >$(BUILD)/exact/forms.tsv
	@$(PYTHON) tests/exact/tables.py claims $(BUILD)/exact/exact_*.log >$(BUILD)/exact/claims.tsv
	@$(if $(COMMIT),cp $(addprefix $(BUILD)/exact/,forms.tsv claims.tsv) tests/exact)

counts: $(FOLDERS:=/tests/test_cuda_counts) ## count anew what the kernels ask of the memory, into tests/cuda/counts.tsv
	@for suite in $^; do $$suite count || exit; done

suites: all $(SUITES)
	@$(SUITE) $(SUITES)

DOUBLED := $(filter-out %/test_installed.py,$(filter $(BUILD)/double/%,$(SUITES)))
quick: $(DOUBLED)
	@$(SUITE) $(DOUBLED)

device: all $(filter %/test_cuda,$(SUITES)) ## on a machine with a GPU: the rungs' proofs there, and their times, into build/gpu
	@BUILD=$(BUILD) $(PYTHON) tests/tools/device.py $(BUILD)/gpu

CHECKED = -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
QUICK   =

# One process per suite, so that its leaks are counted once, where it ends; and one draw from the field, which
# shows where memory is touched as well as twenty.  QUICK=1 is the double build alone.
sanitize:               ## run the proofs under the address and undefined-behaviour sanitizers (QUICK=1)
	+@CK_FORK=no DRAWS=1 LIMIT=3600 ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
	$(PROOF) $(if $(QUICK),quick,suites) CFLAGS='$(CHECKED)'

# OpenMP's runtime is clang's, of which archer tells the sanitizer who waits for whom; OpenBLAS and FFTW tell it
# nothing.  It sees no access of more than 16 bytes, so vectors have no more here.  The double build stands for both.
RACES = $(BUILD)/races/double/tests/test_room $(BUILD)/races/double/tests/test_threads
races:                  ## run the proofs of threads under clang's thread sanitizer
	@command -v clang >/dev/null || { echo "clang is missing (make deps DEVELOPER=1)" >&2; exit 1; }
	+@$(PROOF) CC='clang -fsanitize=thread' ARCH= CXXFLAGS=-O0 $(RACES) CFLAGS='-O1 -g1'
	@for suite in $(RACES); do CK_FORK=no OMP_TOOL_LIBRARIES=libarcher.so ARCHER_OPTIONS=verbose=0 \
	    TSAN_OPTIONS='ignore_noninstrumented_modules=1 exitcode=66' \
	    LD_LIBRARY_PATH="$$(dirname "$$(clang -print-file-name=libarcher.so)")$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}" \
	    $$suite || exit; done

# RUNS is the number of executions of the forms in each precision; the other targets take a multiple (tests/tools/fuzz.py).
# Inputs that reach new code are kept in $(BUILD)/fuzz/corpus, where the next run starts; with SEED nothing is kept.
RUNS   = 20000
TARGET =
SEED   =
fuzz:                   ## give random bytes to readers, program and forms (RUNS=20000 TARGET=forms SEED=1; COMMIT=1: the page of promises)
	@command -v clang >/dev/null || { echo "clang is missing (make deps DEVELOPER=1)" >&2; exit 1; }
	+@$(PROOF) CC=clang CXXFLAGS='-O1 -g1' $(FOLDERS:$(BUILD)%=$(BUILD)/fuzz%/fuzzer) \
	    CFLAGS='-O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=function -fno-sanitize-recover=all'
	@RUNS='$(RUNS)' TARGET='$(TARGET)' SEED='$(SEED)' $(PYTHON) tests/tools/fuzz.py $(BUILD)/fuzz
	$(if $(COMMIT),+@$(MAKE) --no-print-directory CUDA= BUILD=$(BUILD)/fuzz/covered CC=clang CXXFLAGS='-O1 -g1' \
	    $(BUILD)/fuzz/covered/fuzzer CFLAGS='-O1 -g1 -fprofile-instr-generate -fcoverage-mapping' && \
	    $(PYTHON) tests/tools/fuzz.py $(BUILD)/fuzz covered)

mutants:                ## apply each mutation of tests/mutations.tsv; a suite must detect it (ONLY=pattern)
	@mkdir -p $(BUILD)
	@CHECKED='$(CHECKED)' $(PYTHON) tests/mutants.py '$(BUILD)' '$(ONLY)'

# Lesser processors of this kind, a greater one, and the other compiler: a claim that does not hold there was one about
# a processor.  The greater one's vectors are those of AVX-512, which the compiler puts together from what there is: its
# code is run where it is not at home.  These are the suites in which much is computed.
OTHER_sse2  = ARCH=
OTHER_avx2  = ARCH=-march=x86-64-v3
OTHER_wide  = ARCH='-march=native -DLANE_BYTES=64 -DLANE_REGISTERS=32 -Wno-psabi'
OTHER_clang = CC=clang
COMPUTED = attention chopd chopd_theorems elsa elsa_theorems ground hilo hilo_theorems ladder lane_fft \
           layers library lisa lisa_theorems msa msa_golden numbers packed_linear product sra structsa structsa_theorems
PORTABLE := $(filter $(foreach suite,$(or $(ONLY),$(COMPUTED)),%/test_$(suite) %/test_$(suite).py),$(SUITES))
portable: $(PORTABLE)
	@$(SUITE) $(PORTABLE)

# Libraries are fetched into $(BUILD)/cross; ONLY="ground safetensors" runs these suites alone.
MACHINE =
ONLY    =
cross:                  ## run the proofs on another machine (MACHINE=s390x, aarch64, i386, sse2, avx2, wide, clang; ONLY="ground ...")
	+@$(if $(OTHER_$(MACHINE)),$(MAKE) --no-print-directory CUDA= BUILD=$(BUILD)/cross/$(MACHINE) WERROR=$(WERROR) \
	    MACHINE= $(OTHER_$(MACHINE)) portable,MACHINE='$(MACHINE)' BUILD=$(BUILD) ONLY='$(ONLY)' PYTHON=$(PYTHON) sh tests/cross.sh)

# Valgrind 3.19 knows AVX2 and no more.
VALGRIND_ARCH := $(if $(filter x86_64,$(shell uname -m)),-march=x86-64-v3)
valgrind:               ## run the proofs under valgrind (takes a while)
	@command -v valgrind >/dev/null || { echo "valgrind is missing (Debian: valgrind)" >&2; exit 1; }
	+@CK_FORK=no DRAWS=1 OMP_WAIT_POLICY=passive LIMIT=3600 \
	RUN='valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite' \
	$(PROOF) suites ARCH='$(VALGRIND_ARCH)' CFLAGS='-O1 -g1'

# .clang-tidy says which of its checks are off, and why; tests/.clang-tidy what a suite may do beside.  A finding
# that is none is answered where it stands, with its reason.  Suites are read in double, all else in float.  Two of
# gcc's are off: it takes a vector's bits for bytes where they are shifted (-Wshift-count-overflow does not, and is
# on), and loses count of what a loop with a fixed end has written (clang-tidy keeps it, and valgrind).  -k shows
# what else is found after a finding.
LINTED   = $(filter-out reference/live/%,$(wildcard $(addsuffix /*.c,reference reference/* naive fast fast/* figures \
             figures/*)))
LINTED_SUITES = $(wildcard tests/*.c tests/support/*.c tests/fuzz/*.c tests/faults/*.c)
FINDINGS = $(patsubst %,$(BUILD)/lint/%.tidy,$(LINTED) $(LINTED_SUITES)) $(LINTED:%=$(BUILD)/lint/%.analysed)
AS_BUILT = -std=c11 $(ARCH) -fno-math-errno -ffp-contract=fast -fopenmp $(LIBRARY_CFLAGS) $(CHECK_CFLAGS) $(IDENTITY) \
           $(WARNINGS) $(CPPFLAGS)
ANALYSED = gcc -O1 $(AS_BUILT) -Werror -fanalyzer -Wno-analyzer-shift-count-overflow \
           -Wno-analyzer-use-of-uninitialized-value
lint: $(FINDINGS)       ## clang-tidy, cppcheck and gcc's analyser over all sources (minutes; -k)
	@command -v cppcheck >/dev/null || { echo "cppcheck is missing (make deps DEVELOPER=1)" >&2; exit 1; }
	@mkdir -p $(BUILD)/lint/cppcheck
	$(if $(V),,@echo "  check   all")
	$(Q)cppcheck --quiet -j$(or $(JOBS),2) --cppcheck-build-dir=$(BUILD)/lint/cppcheck --error-exitcode=1 --inline-suppr \
	    --std=c11 --language=c --suppress=missingIncludeSystem --enable=warning,portability,performance \
	    -UCOUNTING_REAL -U__cplusplus $(LINTED) $(LINTED_SUITES)
	@echo "lint: $(words $(LINTED)) sources and $(words $(LINTED_SUITES)) suites, nothing found"

$(FINDINGS): $(wildcard .clang-tidy tests/.clang-tidy */*.h */*/*.h)
$(filter %.tidy,$(FINDINGS)): $(BUILD)/lint/%.tidy: %
	@mkdir -p $(@D)
	@command -v clang-tidy >/dev/null || { echo "clang-tidy is missing (make deps DEVELOPER=1)" >&2; exit 1; }
	$(if $(V),,@echo "  tidy    $<")
	$(Q)clang-tidy --quiet $< -- $(AS_BUILT) $(if $(filter tests/%,$<),-DTWICETOLD_DOUBLE) 2>/dev/null && touch $@
$(filter %.analysed,$(FINDINGS)): $(BUILD)/lint/%.analysed: %
	@mkdir -p $(@D)
	$(if $(V),,@echo "  analyse $<")
	$(Q)$(ANALYSED) -S $< -o /dev/null && touch $@

sample:                 ## draw twenty statements of the papers, to be read against paper and test (SEED=1)
	@$(PYTHON) tests/sample.py '$(SEED)'

# PAPERS is a folder with lisa.md, structsa.md, elsa.md, chopd.md and hilo.md, the texts of the papers.
PAPERS  =
quotes:                 ## check that words in quotation marks are the papers' (PAPERS=folder; skipped without it)
	@$(PYTHON) tests/quotes.py '$(PAPERS)'

golden:                 ## remake tests/golden/ with PyTorch
	@$(PYTHON) -c 'import torch' 2>/dev/null || { echo "golden vectors need PyTorch (Debian: python3-torch)" >&2; exit 1; }
	@for script in $$(grep -l '^from _golden import.*write' tests/pytorch/*.py); do \
	    echo "  $$script"; $(PYTHON) "$$script" || exit 1; done

# The table names the version of PyTorch.  AS=-zen3 and AS=-zen4 are chapter 6's
# other machines.
versus: all      ## time the fast forms against PyTorch, into figures/versus*.tsv (PYTHON=python3 AS=-zen3; 20 minutes, 35 with torch.compile)
	@$(PYTHON) -c 'import torch' 2>/dev/null || { echo "the comparison needs PyTorch (Debian: python3-torch)" >&2; exit 1; }
	@$(PYTHON) figures/versus.py --build $(BUILD) --goals $(BUILD)/versus-goals$(AS).tsv >$(BUILD)/versus$(AS).tsv && \
	    mv $(BUILD)/versus$(AS).tsv $(BUILD)/versus-goals$(AS).tsv figures
	@$(DRAW) --budget 0 gap     # all machines' goals stand in one table

# ---- The book

BOOK = $(PYTHON) chapters/tools/book.py

weave:                  ## refill the excerpts and tables of the committed chapters
	@$(BOOK) weave

# What is measured here lies in $(BUILD)/book/here, a chapter at a time, so that an interrupted
# run goes on where it was; anew when programs or settings changed.  Without settings those of
# the last run hold.
MEASURED  = $(BUILD)/book/here
DRAWN     = ground lisa structsa elsa chopd hilo gap networks ladder
WANTED   := $(if $(CHAPTER),$(filter $(CHAPTER),$(DRAWN)),$(DRAWN))
COMMITTED = $(wildcard figures/*.svg figures/*.tsv)
DRAW      = $(PYTHON) figures/draw.py --build $(BUILD)

# Tables and drawings are named after their chapter too, but for the gap's roofline.
files_of  = $(foreach name,$2 $(if $(filter gap,$2),roofline),$1/$(name)*.svg $1/$(name)*.tsv)

$(MEASURED)/settings: always
	@mkdir -p $(@D)
	@[ -e $@ ] && [ -z '$(FULL)$(BUDGET)$(MAX_MEMORY)' ] || { \
	    echo $(if $(FULL),--full) $(if $(BUDGET),--budget $(BUDGET)) $(if $(MAX_MEMORY),--max-memory $(MAX_MEMORY)) >$@.new; \
	    cmp -s $@.new $@ && rm $@.new || mv $@.new $@; }

# One after another, or they would measure each other.
$(foreach row,$(WANTED),$(eval $(MEASURED)/$(row).done: | $(EARLIER))$(eval EARLIER := $(MEASURED)/$(row).done))
$(DRAWN:%=$(MEASURED)/%.done): $(PROGRAMS) $(LIBRARY) $(MEASURED)/settings
	@$(DRAW) $$(cat $(MEASURED)/settings) --output $(@D) $(basename $(@F))
	@touch $@
# The gap is drawn from what the other chapters have measured, where they are asked for too.
$(MEASURED)/gap.done: $(if $(CHAPTER),,$(patsubst %,$(MEASURED)/%.done,lisa structsa elsa chopd hilo))

DONE = $(if $(filter 0,$(BUDGET)),,$(WANTED:%=$(MEASURED)/%.done))
figures: all $(DONE)    ## measure and draw into build/book/here (FULL=1 CHAPTER=lisa BUDGET=seconds MAX_MEMORY=8G COMMIT=1)
	@$(if $(DONE),$(if $(COMMIT),cp $(call files_of,$(MEASURED),$(WANTED)) figures),\
	    $(DRAW) --budget 0 --tables figures --output $(if $(COMMIT),figures,$(BUILD)/drawn) $(CHAPTER))
	@$(if $(COMMIT),$(DRAW) --budget 0 gap)     # worked out of all chapters, as they are there now

.PHONY: ladder
ladder:                 ## time both ladders rung by rung, and draw them (FULL=1 COMMIT=1)
	@$(MAKE) --no-print-directory figures CHAPTER=ladder

# The book shows the committed figures, and below them this machine's.
book: $(DONE) live      ## measure here, bind build/book/index.html (BUDGET=seconds a chapter; 0: measures nothing)
	@rm -rf $(BUILD)/book/figures && mkdir -p $(BUILD)/book/figures
	@$(if $(COMMITTED),cp $(COMMITTED) $(BUILD)/book/figures)
	@$(if $(DONE),cp $(call files_of,$(MEASURED),$(WANTED)) $(BUILD)/book/figures)
	@$(BOOK) bind $(BUILD)/book

pdf: book               ## the book as one PDF: build/book/attention-twice-told.pdf (needs Chromium)
	@$(BOOK) pdf $(BUILD)/book

slides:                 ## the gaps, the roofline and the rows' figures for a lecture: build/slides.pdf (needs Chromium)
	@$(BOOK) slides $(BUILD)

# ---- Elsewhere

clean:                  ## remove build/
	rm -rf -- '$(BUILD)'

help:                   ## this list
	@grep -E '^[a-z]+:[^#]*## ' Makefile | while IFS= read -r line; do \
	    printf 'make %-10s %s\n' "$${line%%:*}" "$${line#*## }"; done

.PHONY: all plug-ins deps live test exercise check hint prove exact counts suites portable quick device lint sanitize races fuzz cross mutants valgrind golden sample quotes versus \
        weave figures book pdf slides \
        install clean help always
endif
