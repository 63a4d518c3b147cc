/* test_exercises.c -- the exercises themselves: tests/exercise.sh judges what a reader
 * writes, and here it is judged
 *
 * Each page of chapters/exercises is one run of the test for its kind. */

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

/* chapters/exercises/1.2.md into the list of its kind; one without a kind is a hole. */
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

/* The script on these words; its exit status, and what it says. */
static int script(char *said, size_t size, const char *words, const char *more)
{
    char command[256];
    snprintf(command, sizeof command, "sh tests/exercise.sh %s %s 2>&1", words, more);
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

/* Claim      What was cut out of a source is asked for by the proofs named: with the hole they
 *            fall, with the source's own lines they pass, and with either of two wrong answers,
 *            one of them the popular mistake, they fall again.  All of it compiles.  Where multiplications are
 *            counted, an answer that passes the proofs and multiplies more often is rejected.
 * Would it fail?  It is all failing and passing; a page whose wrong answer is the right one
 *            was seen to be refused.  With a cost compared with NaN, exercises 4.2 and 5.3 accepted
 *            every answer that passes the proofs. */
START_TEST(holes_are_closed_by_the_solution_alone)
{
    is_right(HOLE, _i);
}
END_TEST

/* Claim      A prediction's command prints what its page says it does.
 * Tolerance  What the page allows its reader, and a twentieth at most: bytes depend a
 *            little on the length of vectors.
 * Would it fail?  A page that said 53504 for 53824 was seen to. */
START_TEST(predictions_are_what_the_commands_say)
{
    is_right(PREDICT, _i);
}
END_TEST

/* Claim      A command that measures prints an answer, which is the reader's machine's own. */
START_TEST(measurements_have_an_answer)
{
    is_right(MEASURE, _i);
}
END_TEST

/* Claim      A mistake fells the proofs that its page names, all of them and no other. */
START_TEST(mistakes_fell_the_proofs_named)
{
    is_right(BREAK, _i);
}
END_TEST

/* Claim      What makes no sense is one line and status 2. */
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
    /* build/tests/test_exercises is about build. */
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
