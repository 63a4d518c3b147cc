/* test_faults.c -- programs whose requests for memory fail
 *
 * tests/faults/refusing.c lets request n of a command fail, n = 0, 1, ...: alone, and with all later ones.  Requests of
 * the libraries count, too. */

#define _XOPEN_SOURCE 700

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support.h"

static char programs[4096], tree[4096], shim[4200], folder[] = "/tmp/twicetold-faults-XXXXXX";

/* Commands, their output, and the step of n after the first 60 requests. */
static const struct { const char *words, *output; int every; } commands[] = {
    {"twicetold apply msa msa.in --grid 3x4 --heads 2 -o y", "y", 1},
    {"twicetold apply lisa lisa.in --grid 3x4 --heads 2 --form naive -o y", "y", 1},
    {"twicetold apply lisa lisa.in --grid 3x4 --heads 2 --form fast -o y", "y", 1},
    {"twicetold apply lisa lisa.in --grid 3x4 --heads 2 --form fftw -o y", "y", 23},
    {"twicetold apply hilo hilo.in --grid 4x4 --heads 2 --alpha 0.5 --form fast -o y", "y", 1},
    {"twicetold parameters msa --grid 3x4 --heads 2 --channels 8 --images p.png -o y", "y", 1},
    {"twicetold tokens --grid 3x4 --channels 5 --images p.png -o y", "y", 1},
    {"twicetold tokens --grid 3x4 --channels 5 --images i.idx -o y", "y", 1},
    {"twicetold spectrum f.in -o y", "y", 23},
    {"twicetold compare f.in f.in", NULL, 1},
    {"twicetold network learned-lisa --random 3 --grid 8x8 --depths 1 --widths 4 -o y p.png", "y", 1},
    {"measure msa --grid 3x3 --channels 4 --form naive", NULL, 1},
};

/* Run a command whose request n fails (-1: none), or n and all later ones. */
static int run(const char *words, long n, bool all)
{
    int state;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char line[512], path[sizeof programs + 32], number[24], *argv[32] = {path}, *rest = NULL;
        int count = 1;
        snprintf(line, sizeof line, "%s", words);
        snprintf(path, sizeof path, "%s/%s", programs, strtok_r(line, " ", &rest));
        while (count < 31 && (argv[count] = strtok_r(NULL, " ", &rest))) count++;
        snprintf(number, sizeof number, "%ld", n);
        dup2(open("said", O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
        dup2(open("complaint", O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
        setenv("LD_PRELOAD", shim, 1);
        setenv("REFUSE", number, 1);
        setenv("REFUSE_REPORT", "report", 1);
        setenv("OMP_NUM_THREADS", "1", 1);
        if (all) setenv("REFUSE_ALL", "1", 1);
        execv(path, argv);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    return state;
}

/* The beginning of a file, or "". */
static char *text_of(const char *path)
{
    static char text[4][4096];
    static int turn;
    char *to = text[turn = (turn + 1) % 4];
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(to, 1, sizeof text[0] - 1, f) : 0;
    to[size] = '\0';
    if (f) fclose(f);
    return to;
}

static int lines(const char *text)
{
    int count = 0;
    for (const char *last = "\n"; *text; last = text++) count += *last == '\n' && *text != '\n';
    return count;
}

static bool same_file_as(const char *a, const char *b)
{
    FILE *one = fopen(a, "rb"), *two = fopen(b, "rb");
    int x = 0, y = 0;
    while (one && two && x == y && x != EOF) {
        x = getc(one);
        y = getc(two);
    }
    bool same = one && two && x == y;
    if (one) fclose(one);
    if (two) fclose(two);
    return same;
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    ck_assert(f && fwrite(bytes, 1, size, f) == size && fclose(f) == 0);
}

/* Copy a seed of tests/fuzz/images, without its first two bytes, which are for the fuzz target. */
static void copy_seed(const char *name, const char *to)
{
    char path[sizeof tree + 64];
    static char bytes[4096];
    snprintf(path, sizeof path, "%s/tests/fuzz/images/%s", tree, name);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s: cannot be read", path);
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    write_bytes(to, bytes + 2, size - 2);
}

static void make_inputs(void)
{
    static const char *const first[] = {
        "twicetold parameters msa --grid 3x4 --heads 2 --channels 8 --images p.png -o msa.in",
        "twicetold parameters lisa --grid 3x4 --heads 2 --channels 8 --sizes D=4 --images p.png -o lisa.in",
        "twicetold parameters hilo --grid 4x4 --heads 2 --alpha 0.5 --channels 8 --images p.png -o hilo.in",
    };
    snprintf(folder, sizeof folder, "/tmp/twicetold-faults-XXXXXX");
    ck_assert(mkdtemp(folder) && chdir(folder) == 0);
    copy_seed("png-colour", "p.png");
    copy_seed("idx", "i.idx");
    for (size_t n = 0; n < COUNT(first); n++) {
        int state = run(first[n], -1, false);
        ck_assert_msg(state == 0, "%s: %s", first[n], text_of("complaint"));
    }
    static const char header[] = "\x40\0\0\0\0\0\0\0{\"y\":{\"dtype\":\"F32\",\"shape\":[1,2,3,1],\"data_offsets\":[0,24]}}"
                                 "         ";
    char file[8 + 64 + 24] = {0};
    memcpy(file, header, 8 + 64);
    for (int n = 0; n < 6; n++) file[8 + 64 + 4 * n + 3] = 63;
    write_bytes("f.in", file, sizeof file);
}

static void remove_inputs(void)
{
    static const char *const made[] = {"p.png", "i.idx", "msa.in", "lisa.in", "hilo.in", "f.in", "y", "expected",
                                       "said", "complaint", "report"};
    for (size_t n = 0; n < COUNT(made); n++) unlink(made[n]);
    ck_assert(chdir(tree) == 0);
    ck_assert_msg(rmdir(folder) == 0, "%s: a file is left", folder);
}

static bool by_onednn(const char *report)
{
    return !strncmp(report, "libdnnl", 7) || !strncmp(report, "libstdc++", 9);
}

/* Without memory, FFTW aborts; oneDNN throws an exception that nothing catches, or calls code that it could not
 * make. */
static bool ended_by_a_library(int state, const char *report)
{
    if (!WIFSIGNALED(state)) return false;
    return WTERMSIG(state) == SIGABRT ? by_onednn(report) || !strncmp(report, "libfftw3", 8)
                                      : WTERMSIG(state) == SIGSEGV && by_onednn(report);
}

/* The command succeeds, or its exit status is 1 and it prints one line; then the old output is unchanged.  No file
 * is left, and all memory is freed.  FFTW and oneDNN may end the process.  Steps: FFTW 23 requests, oneDNN 997. */
START_TEST(any_request_may_fail)
{
    const char *words = commands[_i].words, *output = commands[_i].output;
    long failures = 0, aborted = 0, unharmed = 0;
    if (sizeof(void *) == 8 && getenv("ASAN_OPTIONS")) {
        printf("skipped: sanitizers have their own malloc\n");
        return;
    }
    make_inputs();
    int state = run(words, -1, false);
    ck_assert_msg(state == 0, "%s: %s", words, text_of("complaint"));
    ck_assert_msg(strstr(text_of("report"), "left 0 of "), "%s: %s", words, text_of("report"));
    if (output) ck_assert_int_eq(rename(output, "expected"), 0);

    for (int all = 0; all < 2; all++)
        for (long n = 0, step;; n += step) {
            if (output) write_bytes(output, "old", 3);
            state = run(words, n, all);
            char *report = text_of("report"), *complaint = text_of("complaint");
            if (!strncmp(report, "left", 4)) break;
            failures++;
            ck_assert_int_lt(n, 1000000);
            step = by_onednn(report) ? 997 : n < 60 ? 1 : commands[_i].every;
            bool by_library = ended_by_a_library(state, report);
            if (WIFEXITED(state) && WEXITSTATUS(state) == 0) {
                unharmed++;
                ck_assert_msg(!output || same_file_as(output, "expected"), "%s, request %ld: another result", words, n);
            } else {
                ck_assert_msg(by_library || (WIFEXITED(state) && WEXITSTATUS(state) == 1),
                              "%s, request %ld%s of %s: %x, %s", words, n, all ? " and later" : "", report, state,
                              complaint);
                ck_assert_msg(by_library || lines(complaint) == 1 || !strncmp(words, "measure", 7),
                              "%s, request %ld: '%s'", words, n, complaint);
                ck_assert_msg(!output || !strcmp(text_of(output), "old"), "%s, request %ld: half written", words, n);
            }
            aborted += by_library;
            const char *left = strstr(report, "\nleft ");
            ck_assert_msg(!left || !strncmp(left, "\nleft 0 ", 8), "%s, request %ld%s, leaks: %s", words, n,
                          all ? " and later" : "", report);
        }
    printf("    %-60.60s %4ld failed requests, %ld without effect, %ld ended by a library\n", words, failures, unharmed,
           aborted);
    fflush(stdout);
    ck_assert_int_gt(failures, 10);
    remove_inputs();
}
END_TEST

int main(int argc, char **argv)
{
    (void)argc;
    char path[4096];
    char *slash = realpath(argv[0], path) ? strrchr(path, '/') : NULL;
    if (!slash || !getcwd(tree, sizeof tree)) return EXIT_FAILURE;
    *slash = '\0';
    snprintf(shim, sizeof shim, "%s/refusing.so", path);
    if ((slash = strrchr(path, '/'))) *slash = '\0';
    snprintf(programs, sizeof programs, "%s", path);
    Suite *suite = suite_create("faults");
    TCase *c = add_case(suite, "memory");
    tcase_set_timeout(c, 900);
    tcase_add_loop_test(c, any_request_may_fail, 0, (int)COUNT(commands));
    return run_suite(suite);
}
