# Attention, Twice Told.  `make help` says what can be asked for.
#
# Everything that is built lies under $(BUILD): the float build in it, the
# double build in $(BUILD)/double.  Settings for the command line: CC, CXX,
# CFLAGS, ARCH (empty for a portable build), BUILD, WERROR=1,
# PREFIX, DESTDIR, and V=1, which shows the commands.

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

# For figures/redraw.sh: FULL=1 is the long sweep, CHAPTER=lisa one chapter
# alone, BUDGET seconds per chapter, MAX_MEMORY (8G) the most a form may take.
FULL       =
CHAPTER    =
BUDGET     =
MAX_MEMORY =

.SUFFIXES:
.SECONDARY:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
Q = $(if $(V),,@)
comma := ,

.DEFAULT_GOAL = all

deps:                   ## install what is missing (DEVELOPER=1: also what clang, valgrind and golden need)
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
COMPILE  = $(CC) -std=c11 -Wstrict-prototypes $(COMMON)
COUNT    = $(CXX) -std=gnu++17 $(COMMON) -fpermissive -w -fno-exceptions -fno-rtti
IDENTITY = -DTWICETOLD_VERSION='"$(VERSION)"' -DTWICETOLD_FLAGS='"$(strip $(CFLAGS) $(ARCH))"'
LINK     = $(CC) $(CFLAGS) $(ARCH) -fopenmp $(LDFLAGS)
LDLIBS   = $(LIBRARY_RPATH) $(LIBRARY_LIBS) -lm

# ---- What is built of what

SOURCES  := $(wildcard reference/*.c reference/instruments/*.c naive/*.c fast/*.c fast/*/*.c) reference/program/forms.c
DRAWERS  := $(basename $(filter-out figures/measure.c,$(wildcard figures/*.c)))
TESTS    := $(basename $(wildcard tests/test_*.c))
SUPPORT  := $(filter-out tests/test_%,$(wildcard tests/*.c))
COUNTED  := $(wildcard naive/*.c) tests/counting.cc

FOLDERS  := $(BUILD) $(BUILD)/double
PROGRAMS := $(foreach f,$(FOLDERS),$(addprefix $f/,twicetold measure $(DRAWERS)))
SUITES   := $(foreach f,$(FOLDERS),$(addprefix $f/,$(TESTS)))

all: $(FOLDERS:=/libtwicetold.a) $(PROGRAMS) ## build libraries and programs, in float and in double

# Objects belong to one set of flags on one kind of machine, the library to one
# set of sources: each is written to a file that changes only when the set does.
MACHINE       := $(shell $(CC) $(ARCH) -dM -E -x c /dev/null 2>/dev/null | cksum)
STATE_flags    = $(COMPILE) $(COUNT) $(LINK) $(LDLIBS) $(VERSION) $(MACHINE)
STATE_sources  = $(SOURCES) $(COUNTED)
REQUIRE_flags  = sh reference/program/depend.sh build $(CC) $(LIBRARIES) check &&
$(BUILD)/flags $(BUILD)/sources: always
	@mkdir -p $(@D)
	@echo '$(STATE_$(@F))' | cmp -s - $@ || { $(REQUIRE_$(@F)) echo '$(STATE_$(@F))' >$@; }

# One precision: $1 its folder, $2 its flag.
define precision
$1/%.o: %.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(if $$(V),,@echo "  compile $$@")
	$$(Q)$$(COMPILE) $2 $$(if $$(filter tests/%,$$<),$$(CHECK_CFLAGS)) \
	    $$(if $$$(filter figures/% reference/program/%,$$<),$$(IDENTITY)) -c $$< -o $$@

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
$1/libtwicetold.a: $(SOURCES:%.c=$1/%.o) $(BUILD)/sources
$1/libcounting.a $1/libtwicetold.a:
	$$(if $$(V),,@echo "  archive $$@")
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$(filter %.o,$$^)

$1/twicetold: $1/reference/program/twicetold.o
$1/measure: $1/figures/measure.o
$(DRAWERS:%=$1/%): $1/%: $1/%.o
$(TESTS:%=$1/%): $1/%: $1/%.o $(SUPPORT:%.c=$1/%.o) $1/libcounting.a
$(addprefix $1/,twicetold measure $(DRAWERS) $(TESTS)): $1/libtwicetold.a $(BUILD)/flags
	$$(if $$(V),,@echo "  link    $$@")
	$$(Q)$$(LINK) $$(filter %.o,$$^) $$(filter %.a,$$^) $$(if $$(findstring /tests/,$$@),$$(CHECK_LIBS)) $$(LDLIBS) -o $$@
endef
$(foreach f,$(FOLDERS),$(eval $(call precision,$f,$(if $(filter %/double,$f),-DTWICETOLD_DOUBLE))))

-include $(wildcard $(foreach f,$(FOLDERS),$(addprefix $f/,\
    $(addsuffix .d,$(basename $(wildcard */*.c */*/*.c)) $(COUNTED:%=counting/%)))))

# ---- The proofs

SUITE = BUILD=$(BUILD) sh tests/run.sh
PROOF = $(MAKE) --no-print-directory BUILD=$(BUILD)/$@ WERROR=$(WERROR)

test: all $(SUITES) ## run all proofs, in both precisions, and proofread the book
	@$(SUITE) $(SUITES) book

suites: all $(SUITES)
	@$(SUITE) $(SUITES)

# One process per suite, so that its leaks are counted once, where it ends.
sanitize:               ## run the proofs under the address and undefined-behaviour sanitizers
	+@CK_FORK=no ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
	$(PROOF) suites CFLAGS='-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all'

# Valgrind 3.19 knows AVX2 and no more.
VALGRIND_ARCH := $(if $(filter x86_64,$(shell uname -m)),-march=x86-64-v3)
valgrind:               ## run the proofs under valgrind (takes a while)
	@command -v valgrind >/dev/null || { echo "valgrind is missing (Debian: valgrind)" >&2; exit 1; }
	+@CK_FORK=no OMP_WAIT_POLICY=passive LIMIT=3600 \
	RUN='valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite' \
	$(PROOF) suites ARCH='$(VALGRIND_ARCH)' CFLAGS='-O1 -g1'

golden:                 ## remake tests/golden/ with PyTorch
	@for module in torch numpy; do /usr/bin/python3 -c "import $$module" 2>/dev/null || { \
	    echo "golden vectors need $$module (Debian: python3-$$module)" >&2; exit 1; }; done
	@for script in tests/pytorch/[a-z]*.py; do echo "  $$script"; /usr/bin/python3 "$$script" || exit 1; done

versus: all      ## time the fast forms against PyTorch, into figures/versus.tsv
	@/usr/bin/python3 -c 'import torch, numpy' 2>/dev/null || { \
	    echo "the comparison needs PyTorch and NumPy (Debian: python3-torch python3-numpy)" >&2; exit 1; }
	@/usr/bin/python3 figures/versus.py --build $(BUILD) >$(BUILD)/versus.tsv && mv $(BUILD)/versus.tsv figures/versus.tsv

# ---- The book

PAGES = book.md $(wildcard chapters/*.md)

weave:                  ## refill the excerpts and tables of the committed chapters
	@sh chapters/weave.sh $(PAGES)

REDRAW = BUILD=$(BUILD) CHAPTER='$(CHAPTER)' MAX_MEMORY='$(MAX_MEMORY)' sh figures/redraw.sh

figures: all       ## measure and redraw figures/ (FULL=1 CHAPTER=lisa BUDGET=seconds MAX_MEMORY=8G)
	@OUTPUT=figures FULL='$(FULL)' BUDGET='$(BUDGET)' $(REDRAW)

# Measured anew when programs or drawings changed; BUDGET=0 shows the committed figures.
COMMITTED = $(wildcard figures/*.svg figures/*.tsv)
SHOWN     = $(BUILD)/book/figures/$(if $(filter 0,$(BUDGET)),copied,measured)
$(SHOWN): $(PROGRAMS) $(wildcard figures/*.gp figures/*.sh figures/*.awk) $(COMMITTED)
	@rm -rf $(@D) && mkdir -p $(@D) $(if $(COMMITTED),&& cp $(COMMITTED) $(@D))
	@$(if $(filter %/measured,$@),OUTPUT=$(@D) BUDGET=$(or $(BUDGET),30) $(REDRAW))
	@touch $@

book: $(SHOWN)          ## measure here, bind build/book/index.html (BUDGET=seconds a chapter)
	@sh chapters/bind.sh $(BUILD)/book $(PAGES)

# ---- Elsewhere

install: all       ## install libraries, headers, pkg-config files, program and man page (PREFIX, DESTDIR)
	@sh reference/program/install.sh '$(BUILD)' '$(DESTDIR)' '$(PREFIX)' '$(VERSION)'

clean:                  ## remove build/
	rm -rf -- '$(BUILD)'

help:                   ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16

.PHONY: all deps test suites sanitize valgrind golden versus weave figures book install clean help always
endif
