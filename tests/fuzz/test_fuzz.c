/* test_fuzz.c -- replays tests/fuzz/TARGET/: the seeds of `make fuzz`, and inputs named after the defect they once
 * found */

#include <glob.h>
#include "../support/support.h"
#include "fuzz.h"

#define LONGEST 65536

static void replay(const struct target *target)
{
    static uint8_t bytes[LONGEST];
    char pattern[80];
    glob_t files;
    snprintf(pattern, sizeof pattern, "tests/fuzz/%s/*", target->name);
    ck_assert_int_eq(glob(pattern, 0, NULL, &files), 0);
    for (size_t f = 0; f < files.gl_pathc; f++) {
        FILE *file = fopen(files.gl_pathv[f], "rb");
        ck_assert_msg(file != NULL, "%s: cannot be read", files.gl_pathv[f]);
        size_t size = fread(bytes, 1, LONGEST, file);
        fclose(file);
        for (size_t part = 1; part <= 2; part++) {
            const char *fault = target_run(target, bytes, size / part);
            ck_assert_msg(!fault, "%s, %zu bytes: %s", files.gl_pathv[f], size / part, fault);
        }
        for (size_t bit = 0; bit < 8 * size && !strcmp(target->name, "safetensors"); bit++) {
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            const char *fault = target_run(target, bytes, size);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            ck_assert_msg(!fault, "%s, bit %zu inverted: %s", files.gl_pathv[f], bit, fault);
        }
    }
    printf("    %s: %zu files\n", target->name, files.gl_pathc);
    fflush(stdout);
    ck_assert_uint_ge(files.gl_pathc, 5);
    globfree(&files);
}

/* Each input, its first half, and each tensor file with any bit inverted: no crash, leak, left file, error of two lines
 * or disagreement. */
TEST(inputs_of_fuzzing_find_no_defect)
{
    for (const struct target *target = targets; target->name; target++) replay(target);
}

int main(void) { return run_tests("fuzz"); }
