/* fuzz.h -- fuzz targets: functions of arbitrary bytes that return a fault (an error text) or NULL
 *
 *     make fuzz RUNS=20000         clang's libFuzzer searches for bytes with a fault (entry.c)
 *     tests/fuzz/test_fuzz.c       replays tests/fuzz/TARGET/: seeds, and inputs that once had a fault */

#pragma once
#include <stddef.h>
#include <stdint.h>
#include "../../reference/runtime/sizes.h"

struct target {
    const char *name;
    const char *(*attempt)(const uint8_t *bytes, size_t size);
    const char *files;          /* files that it may leave in its temporary folder; NULL: needs no folder */
};

extern const struct target targets[];       /* ends at a name of NULL */
const struct target *target_named(const char *name);

/* Runs a target.  Leaked memory and files other than target->files are faults. */
const char *target_run(const struct target *target, const uint8_t *bytes, size_t size);

const char *fuzz_safetensors(const uint8_t *bytes, size_t size);
const char *fuzz_images(const uint8_t *bytes, size_t size);
const char *fuzz_command(const uint8_t *bytes, size_t size);
const char *fuzz_forms(const uint8_t *bytes, size_t size);

/* Formats a fault like printf; valid until the next call. */
const char *wrong(const char *format, ...) PRINTF_LIKE(1, 2);

/* A fault unless a status is OK without a message or an error with a message of one line. */
const char *wrong_status(status s);

/* The next byte modulo n; 0 at the end. */
struct bytes { const uint8_t *next; size_t left; };
unsigned choose(struct bytes *b, unsigned n);

/* The problem of o, whose open sizes the bytes choose, from 1 to 12. */
status choose_sizes(struct problem *p, const struct declaration *d, struct problem_sizes o, struct bytes *b);

const char *write_file(const char *name, const uint8_t *bytes, size_t size);
