/* test_mistakes.cc -- mistakes that double does not see, and the field does
 *
 * Each mistake is a script of sed in tests/exact/mistakes, which says what it is, in which
 * source, and which operator has it.  The build plants it in a copy of that source, and
 * makes two programs with it: the promises in double (test_promises.c) and the exact
 * proofs (test_exact.cc).  Here they run, for that operator alone. */

#include "exact.h"
#include <dirent.h>
#include <sys/wait.h>
#include "../support.h"

static char folder[512];        /* of this program */
static char name[32][64];
static int mistakes;

/* The operator after "seen by", in the second line of the script. */
static void read_operator(char of[16], const char *mistake)
{
    char path[640], line[256] = "";
    snprintf(path, sizeof path, "tests/exact/mistakes/%s.sed", mistake);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    for (int n = 0; n < 2; n++) ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    fclose(file);
    const char *at = strstr(line, "seen by ");
    ck_assert_msg(at && sscanf(at, "seen by %15s", of) == 1, "%s: no operator", path);
}

/* What a program with the mistake leaves in the file beside it; returns its exit status. */
static int ran(const char *mistake, const char *program, const char *settings)
{
    char command[1600];
    snprintf(command, sizeof command, "%s %s/mistakes/%s/%s >%s/mistakes/%s/%s.log 2>&1", settings, folder, mistake,
             program, folder, mistake, program);
    int status_of = system(command);
    ck_assert_msg(WIFEXITED(status_of), "%s was ended", program);
    return WEXITSTATUS(status_of);
}

/* Lines of that file that contain a word. */
static int lines(const char *mistake, const char *program, const char *word)
{
    char path[700], line[4096];
    int count = 0;
    snprintf(path, sizeof path, "%s/mistakes/%s/%s.log", folder, mistake, program);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) count += strstr(line, word) != NULL;
    fclose(file);
    return count;
}

/* Claim      A mistake too small for double, or in a branch that numbers of an ordinary size
 *            do not take, passes its operator's promise of one function in double, and changes
 *            entries in the field, or divides by zero there: one draw is enough.
 * Measure    Whether suites pass; cases in which entries differ, and cases that the field
 *            stopped.  Each case of the planted program is a process of its own, as a weight that
 *            a coin took away may have been the only one, and what divides by their sum is stopped.
 * Would it fail?  Seen with a mistake of one part in 10^9, which falls in double too, with
 *            0 added, which does not fall in the field, and with all cases in one process, where the
 *            first that is stopped takes the others with it. */
START_TEST(the_field_sees_what_double_does_not)
{
    char of[16], doubled[192], exact[192];
    const char *mistake = name[_i];
    read_operator(of, mistake);
    const char *alone = "env -u CK_TAP_LOG_FILE_NAME -u CK_FORK ASAN_OPTIONS=detect_leaks=0";
    snprintf(doubled, sizeof doubled, "%s OPERATOR=%s CK_RUN_CASE='one function'", alone, of);
    snprintf(exact, sizeof exact, "%s OPERATOR=%s DRAWS=1", alone, of);
    ck_assert_msg(ran(mistake, "double", doubled) == 0, "%s: falls in double", mistake);
    ck_assert_int_ge(lines(mistake, "double", "100%: Checks: "), 1);
    ck_assert_msg(ran(mistake, "exact", exact) != 0, "%s: does not fall in the field", mistake);
    int differ = lines(mistake, "exact", "entries differ"), stopped = lines(mistake, "exact", "Received signal 6");
    ck_assert_int_ge(differ, 1);
    ck_assert_int_eq(stopped, lines(mistake, "exact", "field: division by zero"));
    printf("    %s, %s: passes in double, falls in %d of %d cases in the field\n", mistake, of, differ + stopped,
           differ + stopped + lines(mistake, "exact", "equal in 1 draws"));
}
END_TEST

static int by_name(const void *a, const void *b) { return strcmp((const char *)a, (const char *)b); }

int main(int, char **argument)
{
    struct dirent *entry;
    snprintf(folder, sizeof folder, "%s", argument[0]);
    char *last = strrchr(folder, '/');
    if (last) *last = '\0';
    DIR *scripts = opendir("tests/exact/mistakes");
    while (scripts && (entry = readdir(scripts)) && mistakes < 32) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || length > 60 || strcmp(entry->d_name + length - 4, ".sed")) continue;
        snprintf(name[mistakes++], sizeof *name, "%.*s", (int)length - 4, entry->d_name);
    }
    if (scripts) closedir(scripts);
    qsort(name, (size_t)mistakes, sizeof *name, by_name);
    Suite *suite = suite_create("mistakes");
    TCase *all = add_case(suite, "planted");
    tcase_set_timeout(all, 600);
    tcase_add_loop_test(all, the_field_sees_what_double_does_not, 0, mistakes);
    return run_suite(suite);
}
