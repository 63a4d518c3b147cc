/* fuzz.h -- what is done with bytes that nobody chose
 *
 * A target takes any bytes, does with them what a stranger might, and says what is wrong:
 * one line, or NULL.  It keeps nothing from one call to the next and leaves no file behind.
 *
 *     make fuzz RUNS=20000    clang's libFuzzer looks for bytes on which a target says something (entry.c)
 *     tests/test_fuzz.c       every file of tests/fuzz/TARGET/ once more, with any compiler
 *
 * Bytes that once told of a mistake stay there, named after it; the others are seeds. */

#ifndef TWICETOLD_TESTS_FUZZ_H
#define TWICETOLD_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include "../../reference/status.h"

struct target {
    const char *name;
    const char *(*attempt)(const uint8_t *bytes, size_t size);
};

extern const struct target targets[];       /* ends at a name of NULL */
const struct target *target_named(const char *name);

const char *fuzz_safetensors(const uint8_t *bytes, size_t size);
const char *fuzz_images(const uint8_t *bytes, size_t size);
const char *fuzz_command(const uint8_t *bytes, size_t size);
const char *fuzz_forms(const uint8_t *bytes, size_t size);

/* What is wrong, as printf has it; the text stays until the next call. */
const char *wrong(const char *format, ...) PRINTF_LIKE(1, 2);

/* A status must be OK with no message, or an error of one line: what is wrong with it, or NULL. */
const char *wrong_status(status s);

/* Bytes as choices: the next one, modulo n; 0 where none are left. */
struct bytes { const uint8_t *next; size_t left; };
unsigned choose(struct bytes *b, unsigned n);

/* A folder of one's own to stand in, empty; and back, the folder removed.  What is wrong, or NULL: files that are
 * in it then and not among `expected`, parted by blanks. */
struct scratch { int before; char path[64]; };
const char *scratch_enter(struct scratch *s);
const char *scratch_leave(struct scratch *s, const char *expected);
const char *scratch_write(const char *name, const uint8_t *bytes, size_t size);

#endif
