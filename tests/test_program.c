/* test_program.c -- the program as one meets it on the command line
 *
 * Runs the `twicetold` that lies beside this test's folder, and for sizes that do
 * not fit the `measure` there, in a folder of its own.  Bad input must give exit
 * status 2, one line on stderr, and no file. */

#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support.h"
#include "../reference/instruments/safetensors.h"
#include "../reference/tensor.h"

static char folder_of_programs[4096], folder[] = "/tmp/twicetold-test-XXXXXX";

/* Runs the program on these words (parted by single blanks), or its neighbour
 * `measure` on those behind that word; the exit status, and what it wrote. */
static int run(const char *words, char *out, char *err, size_t size)
{
    char line[1024], path[sizeof folder_of_programs + 16], *argv[32] = {path}, *rest = NULL;
    bool measure = !strncmp(words, "measure ", 8);
    int argc = 1, state;
    snprintf(path, sizeof path, "%s/%s", folder_of_programs, measure ? "measure" : "twicetold");
    snprintf(line, sizeof line, "%s", measure ? words + 8 : words);
    for (char *w = strtok_r(line, " ", &rest); w && argc < 31; w = strtok_r(NULL, " ", &rest)) argv[argc++] = w;

    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        int o = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666), e = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(o, 1);
        dup2(e, 2);
        execv(path, argv);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    const char *const name[] = {"out", "err"};
    char *const text[] = {out, err};
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(name[i], "r");
        ck_assert_ptr_nonnull(f);
        text[i][fread(text[i], 1, size - 1, f)] = '\0';
        fclose(f);
    }
    ck_assert_msg(WIFEXITED(state), "killed by signal %d: %s", WIFSIGNALED(state) ? WTERMSIG(state) : 0, words);
    return WEXITSTATUS(state);
}

static void write_file(const char *path, const char *bytes)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(bytes, f);
    ck_assert_int_eq(fclose(f), 0);
}

/* vast.safetensors: 4 10^8 tokens of one channel, all zero, of which the disk keeps
 * the header alone. */
static void write_vast_file(void)
{
    static const char header[] =
        "{\"w_qkv\":{\"dtype\":\"F32\",\"shape\":[3,1],\"data_offsets\":[0,12]},"
        "\"x\":{\"dtype\":\"F32\",\"shape\":[1,400000000,1],\"data_offsets\":[12,1600000012]}}";
    unsigned char length[8] = {(unsigned char)(sizeof header - 1)};
    FILE *f = fopen("vast.safetensors", "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(length, 1, sizeof length, f), sizeof length);
    fputs(header, f);
    ck_assert_int_eq(fclose(f), 0);
    ck_assert_int_eq(truncate("vast.safetensors", (off_t)(8 + sizeof header - 1 + 1600000012)), 0);
}

/* msa.safetensors: a 2x2 grid, one channel, query and key 0, value x, so that
 * every token becomes the mean of x.  Whole numbers: exact. */
static void enter(void)
{
    struct tensor t[2];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    succeeds(tensor_create(&t[0], "x", 3, (size_t[]){1, 4, 1}));
    succeeds(tensor_create(&t[1], "w_qkv", 2, (size_t[]){3, 1}));
    for (int i = 0; i < 4; i++) t[0].data[i] = (real)(i * i);
    for (int i = 0; i < 3; i++) t[1].data[i] = i == 2;
    succeeds(safetensors_write("msa.safetensors", t, 2));
    tensor_release(&t[0]);
    tensor_release(&t[1]);
    write_file("lie.safetensors", "not a file of tensors");
    write_vast_file();
    ck_assert_int_eq(link("msa.safetensors", "twin.safetensors"), 0);
}

static void leave(void)
{
    static const char *const made[] = {"out", "err", "msa.safetensors", "twin.safetensors", "lie.safetensors",
                                       "vast.safetensors", "y.safetensors", "x.safetensors", "z.safetensors"};
    for (size_t f = 0; f < COUNT(made); f++) unlink(made[f]);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_msg(rmdir(folder) == 0, "%s: something half-written was left there", folder);
    strcpy(folder + sizeof folder - 7, "XXXXXX");
}

/* Claim      apply reads a file, computes, and writes y alone, in every form
 *            that list names; the default form is fast.
 * Measure    Attention with equal scores is the mean of 0, 1, 4, 9: exactly 3.5. */
START_TEST(apply_writes_y)
{
    static const char *const line[] = {
        "apply msa --grid 2x2 msa.safetensors -o y.safetensors",
        "apply msa -o y.safetensors --form naive msa.safetensors --grid 4",
        "apply msa --window 2 --grid 2x2 -o y.safetensors --scale -3 --form fast msa.safetensors",
    };
    char out[4096], err[4096];
    for (size_t l = 0; l < COUNT(line); l++) {
        struct tensors file;
        int code = run(line[l], out, err, sizeof out);
        ck_assert_msg(code == 0, "%s: %s", line[l], err);
        ck_assert_str_eq(err, "");
        succeeds(safetensors_read(&file, "y.safetensors"));
        ck_assert_uint_eq(file.count, 1);
        ck_assert_str_eq(file.tensor[0].name, "y");
        ck_assert_int_eq(file.tensor[0].axes, 3);
        for (size_t i = 0; i < 4; i++) ck_assert(file.tensor[0].data[i] == (real)3.5);
        tensors_release(&file);
        unlink("y.safetensors");
    }
}
END_TEST

static const struct { const char *words, *complaint; } bad[] = {
    {"", "expected list, help"},
    {"frobnicate", "found 'frobnicate'"},
    {"list all", "found 'list'"},
    {"help nothing", "operator nothing"},
    {"apply", "found no operator"},
    {"apply nothing --grid 4 msa.safetensors -o y.safetensors", "operator nothing"},
    {"apply msa --grid 2x2 msa.safetensors", "msa: option -o: missing"},
    {"apply msa --grid 2x2 msa.safetensors -o", "msa: option -o: found no value"},
    {"apply msa --grid 2x2 -o y.safetensors", "msa: input: missing"},
    {"apply msa --grid 2x2 msa.safetensors other -o y.safetensors", "second input 'other'"},
    {"apply msa --grid 2x2 msa.safetensors -o y.safetensors -o y.safetensors", "option -o: given twice"},
    {"apply msa --grid 2x2 --form cuba msa.safetensors -o y.safetensors", "--form: found 'cuba'"},
    {"apply msa --grid 2x2 --form fast --form fast msa.safetensors -o y.safetensors", "--form: given twice"},
    {"apply msa --grid 2x2 --form", "--form: found no value"},
    {"apply msa msa.safetensors -o y.safetensors", "--grid: missing"},
    {"apply msa --grid 2x3 msa.safetensors -o y.safetensors",
     "tensor x: found [1, 4, 1], expected [B, N, C] = [B, 6, C]"},
    {"apply msa --grid 2x2 --heads 2 msa.safetensors -o y.safetensors", "--heads: found 2"},
    {"apply msa --grid 2x2 --equation 4 msa.safetensors -o y.safetensors", "found '--equation'"},
    {"apply lisa --grid 2x2 msa.safetensors -o y.safetensors", "lisa: tensor wa: missing"},
    {"apply msa --grid 2x2 lie.safetensors -o y.safetensors", "msa: "},
    {"apply msa --grid 2x2 absent.safetensors -o y.safetensors", "msa: "},
    {"apply msa --grid 2x2 msa.safetensors -o msa.safetensors", "the input's own path"},
    {"apply msa --grid 2x2 msa.safetensors -o ./msa.safetensors", "the input's own path"},
    {"apply msa --grid 2x2 msa.safetensors -o twin.safetensors", "the input's own path"},
    {"apply msa --grid 2x2 msa.safetensors -o absent/y.safetensors", "msa: "},
    {"tokens --grid 4x4 -o x.safetensors", "tokens: option --channels: missing"},
    {"tokens --grid 4x4 --channels 8 stray -o x.safetensors", "found 'stray'"},
    {"tokens --grid 4x4 --channels 8", "option -o: missing"},
    {"tokens --grid 4x4 --channels 8 --images absent.gz -o x.safetensors", "tokens: "},
    {"spectrum msa.safetensors -o z.safetensors", "spectrum: tensor y"},
    {"spectrum --batch 3 msa.safetensors -o z.safetensors", "spectrum: found '--batch'"},
    {"spectrum --form fast y.safetensors -o z.safetensors", "spectrum: found '--form'"},
    {"spectrum --max-memory 1G y.safetensors -o z.safetensors", "spectrum: found '--max-memory'"},

    /* Sizes that do not fit. */
    {"apply msa --grid 2x2 --max-memory 1G --max-memory 1G msa.safetensors -o y.safetensors",
     "--max-memory: given twice"},
    {"apply msa --grid 2x2 --max-memory many msa.safetensors -o y.safetensors", "--max-memory: found 'many'"},
    {"apply msa --grid 2x2 --max-memory 1K msa.safetensors -o y.safetensors",
     "bytes of memory, allowed are 1024 (option"},
    {"apply msa --grid 2x2 --form naive --max-memory 64 msa.safetensors -o y.safetensors", "msa: needs "},
    {"apply msa --grid 400000000 --form naive vast.safetensors -o y.safetensors", "msa: needs "},
    {"apply msa --grid 20000x20000 --max-memory 2G vast.safetensors -o y.safetensors",
     "allowed are 2147483648 (option"},
    {"apply msa --grid 40000x50000 vast.safetensors -o y.safetensors", "--grid: grid too large"},
    {"tokens --grid 40000x50000 --channels 3 -o x.safetensors", "tokens: option --grid: grid too large"},
    {"tokens --grid 11000x11000 --channels 65536 --batch 60000 -o x.safetensors", "tokens: needs "},
    {"tokens --grid 64x64 --channels 64 --max-memory 1M -o x.safetensors",
     "bytes of memory, allowed are 1048576 (option"},
    {"tokens --grid 8x8 --channels 8 --max-memory 1X -o x.safetensors", "--max-memory: found '1X'"},
    {"measure msa --grid 40000x50000 --channels 3", "msa: option --grid: grid too large"},
    {"measure msa --grid 11000x11000 --channels 1 --form naive", "measure: msa: needs "},
    {"measure msa --grid 11000x11000 --channels 1 --form naive --threads 1024",
     "needs more than 18446744073709551615 bytes"},
    {"measure msa --grid 8x8 9x9 --channels 64 --max-memory 100K", "bytes of memory, allowed are 102400 (option"},
    {"measure msa --grid 8x8 --channels 1000000 --batch 1000", "measure: msa: needs "},
    {"measure lisa --grid 3000x3000 --channels 512 --sizes D=16 --max-memory 4G", "measure: lisa: needs "},
    {"measure structsa --grid 2000x2000 --kernel 31x31 --channels 512 --sizes D=16 --form naive", "structsa: needs "},
    {"measure elsa --grid 8x8 --channels 8 --kernel 16383 --max-memory 4G", "measure: elsa: needs "},
    {"measure fc --grid 100x100 --channels 512 --sizes D=512", "measure: fc: needs "},
    {"measure hilo --grid 8x8 --channels 8 --heads 2 --window 40000 --max-memory 4G", "measure: hilo: needs "},
};

/* Claim      Bad input gives exit status 2, one line that says what was found,
 *            and no output file, whole or half.  So do sizes that do not fit in
 *            memory, before any of it is taken: with what is needed and what is allowed.
 * Would it fail?  Seen with everything said to fit. */
START_TEST(bad_input_is_one_line_and_status_two)
{
    char out[4096], err[4096];
    int code = run(bad[_i].words, out, err, sizeof out);
    ck_assert_msg(code == 2, "%s: exit status %d, expected 2; %s", bad[_i].words, code, err);
    ck_assert_msg(strstr(err, bad[_i].complaint) != NULL, "'%s' lacks '%s'", err, bad[_i].complaint);
    const char *end = strchr(err, '\n');
    ck_assert_msg(end && end[1] == '\0', "more than one line: %s", err);
    ck_assert_str_eq(out, "");
    ck_assert_int_ne(access("y.safetensors", F_OK), 0);
    ck_assert_int_ne(access("x.safetensors", F_OK), 0);
    ck_assert_int_ne(access("z.safetensors", F_OK), 0);
}
END_TEST

/* Claim      measure leaves out what does not fit, says so in a line each, and goes on
 *            with what does.
 * Would it fail?  Seen with a form that does not fit taken for bad input. */
START_TEST(measure_leaves_out_what_does_not_fit)
{
    char out[4096], err[4096];
    int code = run("measure msa --grid 8x8 64x64 256x256 --channels 8 --form naive fast --repeats 1 --max-memory 6M",
                   out, err, sizeof out);
    ck_assert_msg(code == 0, "%s", err);
    static const char *const left_out[] = {"naive 64x64, 1 thread: left out: needs ", "msa 256x256: left out: needs "};
    static const char *const rows[] = {"msa\tnaive\t8x8", "msa\tfast\t8x8", "msa\tfast\t64x64"};
    for (size_t n = 0; n < COUNT(left_out); n++) ck_assert_msg(strstr(err, left_out[n]) != NULL, "%s", err);
    for (size_t n = 0; n < COUNT(rows); n++) ck_assert_msg(strstr(out, rows[n]) != NULL, "%s", out);
    ck_assert_ptr_null(strstr(out, "naive\t64x64"));
    ck_assert_ptr_null(strstr(out, "256x256"));
}
END_TEST

/* Claim      list names the operators with their forms; help prints each one's
 *            options and tensors; version names the precision. */
START_TEST(the_program_explains_itself)
{
    char out[8192], err[4096];
    ck_assert_int_eq(run("list", out, err, sizeof err), 0);
    ck_assert_ptr_nonnull(strstr(out, "lisa       naive fast"));
    ck_assert_int_eq(run("help lisa", out, err, sizeof err), 0);
    ck_assert_ptr_nonnull(strstr(out, "--equation 4|5|6|7|10"));
    ck_assert_ptr_nonnull(strstr(out, "[N, c, D]"));
    ck_assert_int_eq(run("help", out, err, sizeof err), 0);
    ck_assert_ptr_nonnull(strstr(out, "usage:"));
    ck_assert_ptr_nonnull(strstr(out, "[--max-memory BYTES]"));
    ck_assert_int_eq(run("version", out, err, sizeof err), 0);
    ck_assert_ptr_nonnull(strstr(out, REAL_NAME));
}
END_TEST

/* Claim      tokens makes an x that apply accepts in shape; spectrum of a y. */
START_TEST(tokens_and_spectrum_write_their_tensors)
{
    char out[4096], err[4096];
    struct tensors file;
    struct tensor y;
    int code = run("tokens --grid 3x5 --channels 8 --batch 2 -o x.safetensors", out, err, sizeof out);
    ck_assert_msg(code == 0, "%s", err);
    succeeds(safetensors_read(&file, "x.safetensors"));
    ck_assert_str_eq(file.tensor[0].name, "x");
    ck_assert_uint_eq(file.tensor[0].size[0], 2);
    ck_assert_uint_eq(file.tensor[0].size[1], 15);
    ck_assert_uint_eq(file.tensor[0].size[2], 8);
    tensors_release(&file);

    succeeds(tensor_create(&y, "y", 4, (size_t[]){1, 2, 3, 2}));
    for (size_t i = 0; i < 12; i++) y.data[i] = (real)(i % 5);
    succeeds(safetensors_write("y.safetensors", &y, 1));
    tensor_release(&y);
    ck_assert_msg(run("spectrum y.safetensors -o z.safetensors", out, err, sizeof out) == 0, "%s", err);
    succeeds(safetensors_read(&file, "z.safetensors"));
    ck_assert_int_eq(file.tensor[0].axes, 3);
    ck_assert_uint_eq(file.tensor[0].size[0], 2);
    tensors_release(&file);
}
END_TEST

int main(int argc, char **argv)
{
    /* build/tests/test_program runs build/twicetold. */
    char here[2048], *slash;
    if (argc < 1 || !realpath(argv[0], here) || !(slash = strrchr(here, '/'))) return EXIT_FAILURE;
    *slash = '\0';
    snprintf(folder_of_programs, sizeof folder_of_programs, "%s/..", here);

    Suite *suite = suite_create("program");
    TCase *cases = add_case(suite, "command line");
    tcase_add_checked_fixture(cases, enter, leave);
    tcase_add_test(cases, apply_writes_y);
    tcase_add_loop_test(cases, bad_input_is_one_line_and_status_two, 0, (int)COUNT(bad));
    tcase_add_test(cases, measure_leaves_out_what_does_not_fit);
    tcase_add_test(cases, the_program_explains_itself);
    tcase_add_test(cases, tokens_and_spectrum_write_their_tensors);
    return run_suite(suite, "test_program");
}
