/* fuzz.h -- targets of fuzzing: functions of arbitrary bytes that return a fault, or NULL
 *
 *     make fuzz RUNS=20000    clang's libFuzzer looks for bytes with a fault (entry.c)
 *     tests/fuzz/test_fuzz.c       replays the files of tests/fuzz/TARGET/: seeds, and bytes that once had a fault */

#ifndef TWICETOLD_TESTS_FUZZ_H
#define TWICETOLD_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include "../../reference/runtime/sizes.h"

struct target {
    const char *name;
    const char *(*attempt)(const uint8_t *bytes, size_t size);
    const char *files;          /* runs in a temporary folder and may leave these there; NULL: needs no folder */
};

extern const struct target targets[];       /* ends at a name of NULL */
const struct target *target_named(const char *name);

/* Run a target once.  Memory or other files that it leaves are a fault. */
const char *target_run(const struct target *target, const uint8_t *bytes, size_t size);

const char *fuzz_safetensors(const uint8_t *bytes, size_t size);
const char *fuzz_images(const uint8_t *bytes, size_t size);
const char *fuzz_command(const uint8_t *bytes, size_t size);
const char *fuzz_forms(const uint8_t *bytes, size_t size);

/* A fault, formatted like printf; valid until the next call. */
const char *wrong(const char *format, ...) PRINTF_LIKE(1, 2);

/* A status must be OK without a message, or an error of one line: the fault, or NULL. */
const char *wrong_status(status s);

/* Bytes as choices: the next one, modulo n; 0 at the end. */
struct bytes { const uint8_t *next; size_t left; };
unsigned choose(struct bytes *b, unsigned n);

/* The problem of an outline, in which the bytes choose the sizes that are open, from 1 to 12. */
status choose_sizes(struct problem *p, const struct declaration *d, struct problem_sizes o, struct bytes *b);

/* Write a file; the fault, or NULL. */
const char *write_file(const char *name, const uint8_t *bytes, size_t size);

#endif
