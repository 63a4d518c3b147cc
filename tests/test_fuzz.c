/* test_fuzz.c -- what fuzzing has tried and found, tried once more
 *
 * Every file of tests/fuzz/TARGET/ is bytes for that target (tests/fuzz/fuzz.h): seeds, from which
 * `make fuzz` sets out, and bytes that once told of a mistake, named after it.  No libFuzzer here:
 * any compiler will do. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"
#include "fuzz/fuzz.h"

#define LONGEST 65536

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Claim      No bytes make the readers of tensors and images, the program or an operator's forms crash, leak, leave
 *            a file, print two lines or disagree: those that did once, and those that fuzzing sets out from.
 * Measure    Each file of the target's folder, and each cut off in its middle.
 * Would it fail?  Seen with a naive form that leaves out the last key, and with `tokens` that writes over the image
 *            that it reads (the seed tokens-own told of it). */
START_TEST(bytes_that_fuzzing_found)
{
    static uint8_t bytes[LONGEST];
    char folder[80], path[400], *names[1000] = {NULL};
    size_t files = 0;
    const struct target *target = &targets[_i];
    snprintf(folder, sizeof folder, "tests/fuzz/%s", target->name);
    DIR *open_folder = opendir(folder);
    ck_assert_msg(open_folder != NULL, "%s: not there", folder);
    for (struct dirent *e; (e = readdir(open_folder)) && files < COUNT(names);)
        if (e->d_name[0] != '.') names[files++] = strcpy(keep(strlen(e->d_name) + 1, 1), e->d_name);
    closedir(open_folder);
    qsort(names, files, sizeof *names, by_name);

    for (size_t f = 0; f < files; f++) {
        snprintf(path, sizeof path, "%s/%.256s", folder, names[f]);
        FILE *file = fopen(path, "rb");
        ck_assert_msg(file != NULL, "%s: cannot be read", path);
        size_t size = fread(bytes, 1, LONGEST, file);
        fclose(file);
        const char *fault = target->attempt(bytes, size);
        ck_assert_msg(!fault, "%s: %s", path, fault);
        fault = target->attempt(bytes, size / 2);
        ck_assert_msg(!fault, "%s, the first half: %s", path, fault);
    }
    printf("    %s: %zu files\n", target->name, files);
    fflush(stdout);
    ck_assert_uint_ge(files, 5);
}
END_TEST

int main(void)
{
    int count = 0;
    while (targets[count].name) count++;
    Suite *suite = suite_create("fuzz");
    TCase *replay = add_case(suite, "replay");
    tcase_add_loop_test(replay, bytes_that_fuzzing_found, 0, count);
    return run_suite(suite);
}
