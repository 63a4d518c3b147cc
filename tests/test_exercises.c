/* test_exercises.c -- each page of chapters/exercises, by the test of its kind (tests/tools/exercise.py) */

#define _XOPEN_SOURCE 700
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "support.h"

enum { HOLE, PREDICT, MEASURE, BREAK, KINDS };
static const char *const kinds[KINDS] = {"hole", "predict", "measure", "break"};
static char number[KINDS][100][16];
static int pages[KINDS];

/* Add a page to the list of its kind; the default is a hole. */
static void sort_page(const char *path)
{
    char line[256], word[16] = "";
    int kind = KINDS;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "kind: %15s", word) != 1) continue;
    if (f) fclose(f);
    while (--kind > 0 && strcmp(word, kinds[kind])) continue;
    const char *leaf = strrchr(path, '/') + 1;
    if (pages[kind] < 100) snprintf(number[kind][pages[kind]++], sizeof number[0][0], "%.*s", (int)strlen(leaf) - 3, leaf);
}

/* Run the script; returns its exit status. */
static int script(char *said, size_t size, const char *words, const char *more)
{
    char command[256];
    snprintf(command, sizeof command, "${PYTHON:-python3} tests/tools/exercise.py %s %s 2>&1", words, more);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(said, 1, size - 1, f);
    said[n] = '\0';
    while (fgetc(f) != EOF) continue;
    int state = pclose(f);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static void is_right(int kind, int at)
{
    static char said[1 << 14];
    int code = script(said, sizeof said, "prove", number[kind][at]);
    ck_assert_msg(code == 0, "%s: status %d: %s", number[kind][at], code, said);
}

/* The source's own lines pass; the hole and at least two wrong answers compile and fail.  Where multiplications are
 * counted, an answer that is right but multiplies more often is rejected. */
START_TEST(holes_are_closed_by_the_solution_alone) { is_right(HOLE, _i); }
END_TEST

/* The command prints the number of the page.
 * Tolerance: that of the page, at most 1/20, since bytes depend on the length of vectors. */
START_TEST(predictions_are_what_the_commands_say) { is_right(PREDICT, _i); }
END_TEST

START_TEST(measurements_have_an_answer) { is_right(MEASURE, _i); }
END_TEST

/* Exactly the tests that the page names fail. */
START_TEST(mistakes_fell_the_proofs_named) { is_right(BREAK, _i); }
END_TEST

/* One line and status 2. */
START_TEST(an_exercise_that_is_none_is_refused)
{
    static const char *const words[][2] = {{"open", "9.9"}, {"check", ""}, {"solve", "1.1"}, {"hint", "../README"}};
    char said[1 << 12];
    ck_assert_int_eq(script(said, sizeof said, words[_i][0], words[_i][1]), 2);
    ck_assert_ptr_nonnull(strchr(said, '\n'));
    ck_assert_msg(strchr(said, '\n')[1] == '\0', "%s", said);
}
END_TEST

int main(int argc, char **argv)
{
    char here[4096], *slash;
    glob_t found;
    if (argc < 1 || !realpath(argv[0], here) || !(slash = strrchr(here, '/'))) return EXIT_FAILURE;
    memcpy(slash, "/..", sizeof "/..");
    if (setenv("BUILD", here, 1) || glob("chapters/exercises/*.md", 0, NULL, &found)) return EXIT_FAILURE;
    for (size_t i = 0; i < found.gl_pathc; i++) sort_page(found.gl_pathv[i]);
    globfree(&found);

    Suite *suite = suite_create("exercises");
    TCase *cases = add_case(suite, "judging");
    tcase_add_loop_test(cases, holes_are_closed_by_the_solution_alone, 0, pages[HOLE]);
    tcase_add_loop_test(cases, predictions_are_what_the_commands_say, 0, pages[PREDICT]);
    tcase_add_loop_test(cases, measurements_have_an_answer, 0, pages[MEASURE]);
    tcase_add_loop_test(cases, mistakes_fell_the_proofs_named, 0, pages[BREAK]);
    tcase_add_loop_test(cases, an_exercise_that_is_none_is_refused, 0, 4);
    return run_suite(suite);
}
