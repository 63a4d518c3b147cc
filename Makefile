# Attention, Twice Told.  `make help` says what can be asked for.
#
# Everything that is built lies under $(BUILD): the float build in it, the
# double build in $(BUILD)/double.  Settings for the command line: CC, CXX,
# CFLAGS, ARCH (empty for a portable build), CUDA (empty for none), BUILD, WERROR=1,
# PREFIX, DESTDIR, and V=1, which shows the commands.  CC may be gcc or clang; CXX is g++:
# the counting library (below) is C, read as C++, which clang++ does not forgive.

BUILD   = build
PREFIX  = /usr/local
VERSION = 1.0
ARCH    = -march=native
CFLAGS  = -O3
ifeq ($(origin CC),default)
CC      = gcc
endif
ifeq ($(origin CXX),default)
CXX     = g++
endif

# CHAPTER=lisa is one chapter alone, for prove, figures and book.  For
# figures/redraw.sh: FULL=1 is the long sweep, BUDGET seconds per chapter,
# MAX_MEMORY (8G) the most a form may take; COMMIT=1 puts the figures into figures/.
CHAPTER    =
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

deps:                   ## install what is missing (DEVELOPER=1: also what clang, lint, valgrind, golden, pdf need)
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
LIBRARY_RPATH  := $(patsubst -L%,-Wl$(comma)-rpath$(comma)%,$(filter -L%,$(LIBRARY_LIBS)))

WARNINGS = -Wall -Wextra -Wpedantic -Wshadow $(if $(WERROR),-Werror)
COMMON   = $(CFLAGS) $(ARCH) -fno-math-errno -ffp-contract=fast -fopenmp $(WARNINGS) \
           $(LIBRARY_CFLAGS) $(CPPFLAGS) -MMD -MP
COMPILE  = $(CC) -std=c11 -Wstrict-prototypes $(COMMON) $(EXCESS)
# Where the machine computes floats in a wider type (i386's x87; s390x, by its ABI), ISO C makes every
# product of a real and a vector of reals a product of a wider one, which GNU C refuses.
EXCESS  := $(if $(filter-out 0,$(shell $(CC) -std=c11 $(ARCH) -dM -E -x c /dev/null 2>/dev/null | \
             sed -n 's/^.define __FLT_EVAL_METHOD__ //p')),-fexcess-precision=fast)
EMULATE  = $(CXX) -std=gnu++17 $(CFLAGS) $(ARCH) -fno-math-errno -ffp-contract=fast -fopenmp $(filter-out -Wshadow,$(WARNINGS)) \
           -Wno-unknown-pragmas $(CPPFLAGS) -MMD -MP
COUNT    = $(CXX) -std=gnu++17 $(COMMON) -fpermissive -w -fno-exceptions -fno-rtti
EXACT    = $(CXX) -std=gnu++17 $(subst -O3,-O2,$(COMMON)) -fpermissive -w -fno-exceptions -fno-rtti -fno-operator-names -DTWICETOLD_DOUBLE \
           -DCOUNTING_REAL='"$(abspath tests/exact/field.h)"' -I. -include tests/exact/seams.h
IDENTITY = -DTWICETOLD_VERSION='"$(VERSION)"' -DTWICETOLD_FLAGS='"$(strip $(CFLAGS) $(ARCH))"'
LINK     = $(CC) $(CFLAGS) $(ARCH) -fopenmp $(LDFLAGS)
LDLIBS   = $(LIBRARY_RPATH) $(LIBRARY_LIBS) -lstdc++ -ldl -lm

# nvcc, with cuBLAS beside it, makes the plug-in for machines with a device; `make CUDA=`
# builds without.
CUDA    := $(or $(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
TOOLKIT  = $(abspath $(dir $(CUDA))..)
CUBLAS   = $(wildcard $(addsuffix /cublas_v2.h,$(TOOLKIT)/include $(wildcard $(TOOLKIT)/targets/*/include) /usr/include))
ARCHES   = -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90]
DEVICE   = $(if $(CUDA),$(CUDA) -std=c++17 -O3 $(ARCHES) $(if $(WERROR),-Werror all-warnings) \
           -Xcompiler -fPIC$(comma)-fvisibility=hidden $(CPPFLAGS))

# ---- What is built of what

KERNELS  := $(filter-out %_host.cc %/emulator.cc %/requests.cc,$(wildcard fast/cuda/*.cu fast/cuda/*.cc))
CARRIED  := $(wildcard reference/*.c fast/lisa/circulant.c)
SOURCES  := $(wildcard reference/*.c reference/instruments/*.c reference/layers/*.c reference/networks/*.c naive/*.c fast/*.c fast/*/*.c) reference/program/forms.c
EMULATED := $(filter-out %_gpu.cu,$(wildcard fast/cuda/*.cu fast/cuda/*.cc))
PLANTED  := $(wildcard tests/*.cu)
PROGRAM  := $(basename $(filter-out %/forms.c %/units.c,$(wildcard reference/program/*.c)))
DRAWERS  := $(basename $(filter-out figures/measure.c,$(wildcard figures/*.c)))
TESTS    := $(basename $(wildcard tests/test_*.c))
SUPPORT  := $(filter-out tests/test_% tests/wider.c,$(wildcard tests/*.c))
COUNTED  := $(wildcard naive/*.c) tests/counting.cc
PROVED_EXACTLY := $(filter-out reference/instruments/% reference/layers/% reference/networks/%,$(SOURCES)) tests/cases.c tests/support.c tests/trial.c \
                  $(filter-out tests/exact/test_%,$(wildcard tests/exact/*.cc))

FOLDERS  := $(BUILD) $(BUILD)/double
PROGRAMS := $(foreach f,$(FOLDERS),$(addprefix $f/,twicetold measure $(DRAWERS)))
IDENTITIES := $(addprefix lisa_,theorems errata) $(addprefix structsa_,theorems errata) chopd_theorems chopd_readings \
              $(addprefix elsa_,theorems readings errata) $(addprefix hilo_,theorems readings) msa
EXACT_SUITES := $(patsubst tests/exact/%.cc,$(BUILD)/exact/%,$(wildcard tests/exact/test_*.cc)) \
                $(IDENTITIES:%=$(BUILD)/exact/exact_%)
SUITES   := $(foreach f,$(FOLDERS),$(addprefix $f/,$(if $(filter %/double,$f),$(filter-out tests/test_exercises,$(TESTS)),$(TESTS)))) \
            $(EXACT_SUITES)

all: $(FOLDERS:=/libtwicetold.a) $(PROGRAMS) ## build libraries and programs, in float and in double, and for a GPU where nvcc is
all: $(if $(and $(CUDA),$(CUBLAS)),$(FOLDERS:=/libtwicetold-cuda.so))

# Objects belong to one set of flags on one kind of machine, the library to one
# set of sources: each is written to a file that changes only when the set does.
MACHINE       := $(shell $(CC) $(ARCH) -dM -E -x c /dev/null 2>/dev/null | cksum)
STATE_flags    = $(COMPILE) $(EMULATE) $(COUNT) $(LINK) $(LDLIBS) $(VERSION) $(MACHINE)
STATE_sources  = $(SOURCES) $(EMULATED) $(COUNTED) $(PROVED_EXACTLY) $(DRAWERS)
STATE_exactly  = $(subst ',,$(EXACT))
STATE_nvcc     = $(DEVICE) $(KERNELS) $(CARRIED)
REQUIRE_flags  = sh reference/program/depend.sh build $(CC) $(LIBRARIES) &&
$(BUILD)/flags $(BUILD)/exactly $(BUILD)/sources $(BUILD)/nvcc: always
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

# naive/ once more, as C++ with a real that counts what is done to it.  All that it
# defines stands in a namespace, so that both builds can be linked together; all
# that it uses of others is included before that.
$1/counting/%.o: % $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(if $$(V),,@echo "  compile $$@")
	$$(Q){ printf '#include "%s"\n' math.h string.h $(wildcard reference/*.h) tests/counting.h; \
	    printf '$$(if $$(filter naive/%,$$<),namespace counting {)\n#include "$$<"\n$$(if $$(filter naive/%,$$<),})\n'; } | \
	    $$(COUNT) $2 -DCOUNTING_REAL='"$$(abspath tests/counting.h)"' -I. -MT $$@ -MF $$(@:.o=.d) -x c++ -c - -o $$@

$1/libcounting.a: $(COUNTED:%=$1/counting/%.o) $(BUILD)/sources
$1/libtwicetold.a: $(SOURCES:%.c=$1/%.o) $(EMULATED:%=$1/%.o) $(BUILD)/sources
$1/libcounting.a $1/libtwicetold.a:
	$$(if $$(V),,@echo "  archive $$@")
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$(filter %.o,$$^)

$1/twicetold: $(PROGRAM:%=$1/%.o) $1/reference/program/units.o
$1/measure: $1/figures/measure.o $1/reference/program/devices.o $1/reference/program/units.o $1/reference/program/words.o
$(DRAWERS:%=$1/%): $1/%: $1/%.o
$(TESTS:%=$1/%): $1/%: $1/%.o $(SUPPORT:%.c=$1/%.o) $(if $2,,$(BUILD)/wider.o) $1/libcounting.a
$1/tests/test_emulator: $(PLANTED:%=$1/%.o)
$1/tests/test_cuda: $1/reference/program/devices.o
$(addprefix $1/,twicetold measure $(DRAWERS) $(TESTS)): $1/libtwicetold.a $(BUILD)/flags
	$$(if $$(V),,@echo "  link    $$@")
	$$(Q)$$(LINK) $$(filter %.o,$$^) $$(filter %.a,$$^) $$(if $$(findstring /tests/,$$@),$$(CHECK_LIBS)) $$(LDLIBS) -o $$@
endef
$(foreach f,$(FOLDERS),$(eval $(call precision,$f,$(if $(filter %/double,$f),-DTWICETOLD_DOUBLE))))

# The naive forms in double, with one name to be seen: what the suites in float are measured against.
$(BUILD)/wider.o: $(BUILD)/double/tests/wider.o $(BUILD)/double/libtwicetold.a
	$(if $(V),,@echo "  link    $@")
	$(Q)$(LD) -r -o $@ $^ && objcopy --keep-global-symbol=wider_run $@

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

# Mistakes, each planted in one source by a script of sed: the program of the exact proofs
# with it, and that of the promises in double.
MISTAKES := $(basename $(notdir $(wildcard tests/exact/mistakes/*.sed)))
define mistake
$(BUILD)/exact/mistakes/$1/planted.c: $2 tests/exact/mistakes/$1.sed
	@mkdir -p $$(@D)
	@sed -f tests/exact/mistakes/$1.sed $2 >$$@.new && if cmp -s $2 $$@.new; then \
	    echo "tests/exact/mistakes/$1.sed: changes nothing in $2" >&2; exit 1; fi && mv $$@.new $$@
$(BUILD)/exact/mistakes/$1/exact.o $(BUILD)/exact/mistakes/$1/double.o: %.o: $(BUILD)/exact/mistakes/$1/planted.c $(BUILD)/exactly
	$$(if $$(V),,@echo "  compile $$@")
	$$(Q)$$(if $$(filter exact,$$(*F)),$$(EXACT) -x c++,$$(COMPILE) -DTWICETOLD_DOUBLE) -iquote $(dir $2) -c $$< -o $$@
$(BUILD)/exact/mistakes/$1/exact: $(BUILD)/exact/tests/exact/test_exact.cc.o $(BUILD)/libexact.a
$(BUILD)/exact/mistakes/$1/double: $(BUILD)/double/tests/test_promises.o $(SUPPORT:%.c=$(BUILD)/double/%.o) \
                                   $(BUILD)/double/libcounting.a $(BUILD)/double/libtwicetold.a
$(BUILD)/exact/mistakes/$1/exact $(BUILD)/exact/mistakes/$1/double: %: %.o
	$$(if $$(V),,@echo "  link    $$@")
	$$(Q)$$(LINK) $$(filter %.o,$$^) $$(filter %.a,$$^) $$(CHECK_LIBS) $$(LDLIBS) -o $$@
$(BUILD)/exact/test_mistakes: | $(BUILD)/exact/mistakes/$1/exact $(BUILD)/exact/mistakes/$1/double
-include $(wildcard $(BUILD)/exact/mistakes/$1/*.d)
endef
$(foreach m,$(MISTAKES),$(eval $(call mistake,$m,$(shell sed -n 's/^\# in \([^,]*\),.*/\1/p' tests/exact/mistakes/$m.sed))))

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
PYTHON   = python3
SONAME   = so.1
DOOR    := $(basename $(wildcard reference/library/*.c))
LIBRARY := $(foreach p,twicetold twicetold-double,$(addprefix $(BUILD)/lib/lib$p,.a .so .$(SONAME)))
all: $(LIBRARY)

# One precision: $1 its folder, $2 where it goes, without suffix.
define library
$(DOOR:%=$1/%.o): private CPPFLAGS += $(IDENTITY)
$1/tests/test_library: $(DOOR:%=$1/%.o)
$1/tests/test_installed: | $(LIBRARY) $(FOLDERS:=/twicetold)

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
	@sh reference/program/install.sh '$(BUILD)' '$(DESTDIR)' '$(PREFIX)' '$(VERSION)' '$(PYTHON)'

.PHONY: wheel
wheel: $(LIBRARY)       ## pack the Python module and both libraries for pip (ARCH= for any machine)
	@$(PYTHON) reference/library/wheel.py '$(BUILD)' '$(VERSION)' '$(BUILD)'

# ---- The proofs

# They alone need Check; one of them runs the programs.
$(BUILD)/check:
	@mkdir -p $(@D)
	@sh reference/program/depend.sh build $(CC) $(LIBRARIES) check && touch $@
$(foreach f,$(FOLDERS),$(addprefix $f/,$(addsuffix .o,$(TESTS) $(basename $(SUPPORT))))): | $(BUILD)/check
$(FOLDERS:=/tests/test_program): %/tests/test_program: %/reference/program/units.o | %/twicetold %/measure $(DRAWERS:%=\%/%)
$(FOLDERS:=/tests/test_program.o): private CPPFLAGS += -DDRAWERS='"$(DRAWERS)"'
$(FOLDERS:=/tests/test_program.o): $(BUILD)/sources

SUITE = BUILD=$(BUILD) sh tests/run.sh
PROOF = $(MAKE) --no-print-directory CUDA= BUILD=$(BUILD)/$@ WERROR=$(WERROR)

test: all $(SUITES) ## run all proofs, in both precisions, and proofread the book
	@$(SUITE) $(SUITES) book

# Suites are named after their chapter; some are not, and all others are of the ground.
OF_lisa  = lisa% lane_fft
OF_chopd = chopd% cp
OF_hilo  = hilo% sra spectrum
OF_networks = network% layers% learned%
ROWS    := $(foreach page,$(sort $(wildcard chapters/[1-9]*.md)),$(word 2,$(subst -, ,$(basename $(notdir $(page))))))
suites_of = $(foreach f,$(FOLDERS),$(foreach pattern,$(or $(OF_$1),$1%),$(filter $f/tests/test_$(pattern),$(SUITES))))
suites_of_exact = $(EXACT_SUITES)
PROVED   := $(if $(filter ground,$(CHAPTER)),$(filter-out $(EXACT_SUITES) $(foreach row,$(ROWS),$(call suites_of,$(row))),$(SUITES)),\
              $(if $(CHAPTER),$(or $(suites_of_$(CHAPTER)),$(call suites_of,$(CHAPTER)))))
ifneq ($(CHAPTER),$(filter $(CHAPTER),ground $(ROWS)))
$(error CHAPTER: found '$(CHAPTER)', expected one of: ground $(ROWS))
endif

# ---- Exercises: N=1.2, and ANSWER='...' for those that want one

N        =
ANSWER   =
EXERCISE = BUILD=$(BUILD) sh tests/exercise.sh
JUDGE    = $(addprefix $(BUILD)/tests/,$(shell sed -n 's/^suite: *//p' chapters/exercises/$(or $(N),none).md 2>/dev/null))

# How a source is compiled and its suite linked, with one object in the library's place.
WITH = $(SUPPORT:%.c=$(BUILD)/%.o) $(BUILD)/wider.o $(BUILD)/libcounting.a $(BUILD)/libtwicetold.a $(CHECK_LIBS) $(LDLIBS)
$(BUILD)/exercises.sh: $(BUILD)/flags $(BUILD)/sources
	@printf "%s='%s'\n" compile '$(COMPILE) $(CHECK_CFLAGS)' emulate '$(EMULATE)' link '$(LINK)' with '$(WITH)' >$@
$(BUILD)/tests/test_exercises: | $(BUILD)/exercises.sh all $(filter-out %/test_exercises,$(TESTS:%=$(BUILD)/%))

exercise:               ## list the exercises, or open one (N=1.2)
	@$(EXERCISE) $(if $(N),open $(N),list)
check: $(JUDGE) $(BUILD)/exercises.sh $(BUILD)/measure $(BUILD)/twicetold ## judge an exercise (N=1.2 ANSWER=...)
	@$(EXERCISE) check '$(N)' '$(ANSWER)'
hint:                   ## a hint for an exercise, one more each time (N=1.2)
	@$(EXERCISE) hint '$(N)'

prove: $(PROVED)        ## run the proofs of one chapter (CHAPTER=lisa; ground is chapter 0)
	@$(if $(CHAPTER),TAP=$(BUILD)/proved $(SUITE) $(PROVED),echo "CHAPTER: missing, expected one of: ground $(ROWS)" >&2; exit 2)

exact: $(EXACT_SUITES) ## the proofs over a finite field alone: draws, sizes and seconds of each claim (COMMIT=1: chapter 8's tables)
	@for suite in $(EXACT_SUITES); do $$suite >$$suite.log; failed=$$?; cat $$suite.log; [ $$failed = 0 ] || exit 1; done
	@cd $(BUILD)/exact && for table in forms:test_exact claims:exact_\* mistakes:test_mistakes; do \
	    (cd - >/dev/null && awk -v table=$${table%:*} -f tests/exact/tables.awk $(BUILD)/exact/$${table#*:}.log) \
	        >$${table%:*}.tsv || exit 1; done
	@$(if $(COMMIT),cp $(addprefix $(BUILD)/exact/,forms.tsv claims.tsv mistakes.tsv) tests/exact)

# The exact suites prove no memory: their sources are those of the others, which do.
IN_MEMORY = $(filter-out $(EXACT_SUITES),$(SUITES))
suites: all $(IN_MEMORY)
	@$(SUITE) $(IN_MEMORY)

device: all $(filter %/test_cuda,$(SUITES)) ## on a machine with a GPU: the rungs' proofs there, and their times, into build/gpu
	@BUILD=$(BUILD) sh tests/device.sh $(BUILD)/gpu

# One process per suite, so that its leaks are counted once, where it ends.
sanitize:               ## run the proofs under the address and undefined-behaviour sanitizers
	+@CK_FORK=no LIMIT=3600 ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
	$(PROOF) suites CFLAGS='-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all'

# Valgrind 3.19 knows AVX2 and no more.
VALGRIND_ARCH := $(if $(filter x86_64,$(shell uname -m)),-march=x86-64-v3)
valgrind:               ## run the proofs under valgrind (takes a while)
	@command -v valgrind >/dev/null || { echo "valgrind is missing (Debian: valgrind)" >&2; exit 1; }
	+@CK_FORK=no OMP_WAIT_POLICY=passive LIMIT=3600 \
	RUN='valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite' \
	$(PROOF) suites ARCH='$(VALGRIND_ARCH)' CFLAGS='-O1 -g1'

# .clang-tidy says which of its checks are off, and why.  A finding that is none is answered where it
# stands, with its reason.
LINTED = $(wildcard $(addsuffix /*.c,reference reference/* naive fast fast/* figures))
lint:                   ## clang-tidy and cppcheck over all sources (minutes)
	@for tool in clang-tidy cppcheck; do command -v $$tool >/dev/null || { \
	    echo "$$tool is missing (make deps DEVELOPER=1)" >&2; exit 1; }; done
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --language=c --suppress=missingIncludeSystem \
	    --enable=warning,portability,performance -UCOUNTING_REAL -U__cplusplus $(LINTED)
	@echo $(LINTED) | xargs -n 4 -P $(or $(JOBS),2) sh -c 'clang-tidy --quiet "$$@" -- -std=c11 $(ARCH) \
	    -fno-math-errno $(LIBRARY_CFLAGS) 2>/dev/null' lint

golden:                 ## remake tests/golden/ with PyTorch
	@for module in torch numpy; do /usr/bin/python3 -c "import $$module" 2>/dev/null || { \
	    echo "golden vectors need $$module (Debian: python3-$$module)" >&2; exit 1; }; done
	@for script in $$(grep -l '^from _golden import.*write' tests/pytorch/*.py); do \
	    echo "  $$script"; /usr/bin/python3 "$$script" || exit 1; done

versus: all      ## time the fast forms against PyTorch, into figures/versus.tsv
	@/usr/bin/python3 -c 'import torch, numpy' 2>/dev/null || { \
	    echo "the comparison needs PyTorch and NumPy (Debian: python3-torch python3-numpy)" >&2; exit 1; }
	@/usr/bin/python3 figures/versus.py --build $(BUILD) >$(BUILD)/versus.tsv && mv $(BUILD)/versus.tsv figures/versus.tsv

# ---- The book

PAGES = book.md $(wildcard chapters/*.md)

weave:                  ## refill the excerpts and tables of the committed chapters
	@sh chapters/weave.sh $(PAGES)

# What is measured here lies in $(BUILD)/book/here, a chapter at a time, so that an interrupted
# run goes on where it was; anew when programs, drawings or settings changed.  Without
# settings those of the last run hold.
MEASURED  = $(abspath $(BUILD))/book/here
DRAWN    := $(foreach row,ground $(ROWS),$(if $(wildcard figures/$(row).sh),$(row)))
WANTED   := $(if $(CHAPTER),$(filter $(CHAPTER),$(DRAWN)),$(DRAWN))
COMMITTED = $(wildcard figures/*.svg figures/*.tsv)
REDRAW    = BUILD=$(BUILD) sh figures/redraw.sh

$(MEASURED)/settings: always
	@mkdir -p $(@D)
	@[ -e $@ ] && [ -z '$(FULL)$(BUDGET)$(MAX_MEMORY)' ] || { \
	    echo "FULL='$(FULL)' BUDGET='$(BUDGET)' MAX_MEMORY='$(MAX_MEMORY)'" >$@.new; \
	    cmp -s $@.new $@ && rm $@.new || mv $@.new $@; }

# One after another, or they would measure each other.
$(foreach row,$(WANTED),$(eval $(MEASURED)/$(row).done: figures/$(row).sh $(wildcard figures/$(row)*.gp) | $(EARLIER))\
    $(eval EARLIER := $(MEASURED)/$(row).done))
$(DRAWN:%=$(MEASURED)/%.done): $(PROGRAMS) $(MEASURED)/settings figures/redraw.sh figures/series.awk \
                               $(addprefix figures/,scaling.gp cuda.gp style.gp)
	@. $(MEASURED)/settings && export FULL BUDGET MAX_MEMORY && CHAPTER=$(basename $(@F)) OUTPUT=$(@D) $(REDRAW)
	@touch $@

DONE = $(if $(filter 0,$(BUDGET)),,$(WANTED:%=$(MEASURED)/%.done))
figures: all $(DONE)    ## measure and draw into build/book/here (FULL=1 CHAPTER=lisa BUDGET=seconds MAX_MEMORY=8G COMMIT=1)
	@$(if $(DONE),$(if $(COMMIT),cp $(WANTED:%=$(MEASURED)/%*.svg) $(WANTED:%=$(MEASURED)/%*.tsv) figures),\
	    TABLES=figures OUTPUT=$(if $(COMMIT),figures,$(BUILD)/drawn) BUDGET=0 CHAPTER='$(CHAPTER)' $(REDRAW))

# The book shows the committed figures, and below them this machine's.
book: $(DONE)           ## measure here, bind build/book/index.html (BUDGET=seconds a chapter; 0: measures nothing)
	@rm -rf $(BUILD)/book/figures && mkdir -p $(BUILD)/book/figures
	@$(if $(COMMITTED),cp $(COMMITTED) $(BUILD)/book/figures)
	@$(if $(DONE),cp $(WANTED:%=$(MEASURED)/%*.svg) $(WANTED:%=$(MEASURED)/%*.tsv) $(BUILD)/book/figures)
	@sh chapters/bind.sh $(BUILD)/book $(PAGES)

pdf: book               ## the book as one PDF: build/book/attention-twice-told.pdf (needs Chromium)
	@sh chapters/print.sh $(BUILD)/book

# ---- Elsewhere

clean:                  ## remove build/
	rm -rf -- '$(BUILD)'

help:                   ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

.PHONY: all deps test exercise check hint prove exact suites device lint sanitize valgrind golden versus weave figures book pdf \
        install clean help always
endif
