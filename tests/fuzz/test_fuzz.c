/* test_fuzz.c -- replay every input of tests/fuzz/TARGET/ (fuzz.h), with any compiler
 *
 * The inputs are the seeds of `make fuzz`, and inputs that once found a defect, named after it. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../support/support.h"
#include "fuzz.h"

#define LONGEST 65536

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Readers, program and forms do not crash, leak, leave a file, print two lines or disagree.  Each input, and its first
 * half. */
START_TEST(inputs_of_fuzzing_find_no_defect)
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
        const char *fault = target_run(target, bytes, size);
        ck_assert_msg(!fault, "%s: %s", path, fault);
        fault = target_run(target, bytes, size / 2);
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
    tcase_add_loop_test(replay, inputs_of_fuzzing_find_no_defect, 0, count);
    return run_suite(suite);
}
