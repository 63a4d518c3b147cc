/* test_program.c -- the programs on the command line
 *
 * Runs, in a temporary folder, the `twicetold` and `measure` of this build and every program that computes a figure.
 * Bad input must give exit status 2, one line on stderr, and no file. */

#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support.h"
#include "../reference/forms.h"
#include "../reference/instruments/regrid.h"
#include "../reference/instruments/safetensors.h"
#include "../reference/instruments/spectrum.h"
#include "../reference/instruments/tokens.h"
#include "../reference/networks/network.h"
#include "../reference/networks/photo.h"
#include "../reference/networks/profile.h"
#include "../reference/outline.h"
#include "../reference/program/units.h"

static char folder_of_programs[4096], tree[4096], folder[] = "/tmp/twicetold-test-XXXXXX";

/* Runs in the child process before it executes the program. */
static void (*beforehand)(void);

/* A Python that has NumPy, or NULL. */
static const char *python_with_numpy(void)
{
    static const char *const names[] = {"${PYTHON:-/usr/bin/python3}", "/usr/bin/python3", "python3"};
    char line[100];
    for (size_t n = 0; n < COUNT(names); n++) {
        snprintf(line, sizeof line, "%s -c 'import numpy' 2>/dev/null", names[n]);
        if (system(line) == 0) return names[n];
    }
    return NULL;
}

/* Executes a script of figures/ with its words; its libraries are those of this build. */
static void become_script(const char *words)
{
    char line[sizeof tree + 1024];
    snprintf(line, sizeof line, "exec %s '%s'/%s", python_with_numpy(), tree, words);
    setenv("BUILD", folder_of_programs, 1);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

/* Executes twicetold with these words (separated by single blanks).  If the first word is `measure` or begins with
 * figures/, executes that program instead. */
static void become(const char *words, int out, int err)
{
    char line[1024], path[sizeof folder_of_programs + 16], *argv[32] = {path}, *rest = NULL;
    bool neighbour = !strncmp(words, "measure ", 8) || !strncmp(words, "figures/", 8);
    int argc = 1;
    snprintf(line, sizeof line, "%s", words);
    char *w = strtok_r(line, " ", &rest);
    snprintf(path, sizeof path, "%s/%s", folder_of_programs, neighbour ? w : "twicetold");
    if (neighbour) w = strtok_r(NULL, " ", &rest);
    for (; w && argc < 31; w = strtok_r(NULL, " ", &rest)) argv[argc++] = w;
    dup2(out, 1);
    dup2(err, 2);
    if (beforehand) beforehand();
    if (strstr(words, "maps.py")) become_script(words);
    execv(path, argv);
    _exit(127);
}

/* False if the system has no terminal to give, as in a chroot without /dev/pts. */
static bool open_terminal(int *master, int *terminal)
{
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    if (*master < 0) return false;
    *terminal = grantpt(*master) || unlockpt(*master) ? -1 : open(ptsname(*master), O_RDWR | O_NOCTTY);
    if (*terminal < 0) close(*master);
    return *terminal >= 0;
}

static bool terminal_there(const char *test)
{
    int master, terminal;
    if (!open_terminal(&master, &terminal)) {
        printf("skipped: the rest of %s, for want of a terminal\n", test);
        return false;
    }
    close(terminal);
    close(master);
    return true;
}

/* Exit status of the program with a terminal as its output, and that output. */
static int run_on_terminal(const char *words, char *out, size_t size)
{
    int master, terminal, state;
    ck_assert(open_terminal(&master, &terminal));
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) become(words, terminal, open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666));
    close(terminal);
    size_t at = 0;
    for (ssize_t n; at + 1 < size && (n = read(master, out + at, size - 1 - at)) > 0;) at += (size_t)n;
    out[at] = '\0';
    close(master);
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

/* Exit status of the program, and what it wrote. */
static int run(const char *words, char *out, char *err, size_t size)
{
    int state;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        become(words, open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666), open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666));
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

/* Kills the program when its stderr contains `text`; false if it ends before. */
static bool says_and_is_stopped(const char *words, bool on_terminal, const char *text)
{
    int master = -1, out, end[2], state;
    char said[4096];
    size_t at = 0;
    if (on_terminal) ck_assert(open_terminal(&master, &out));
    else ck_assert_int_ge(out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666), 0);
    ck_assert_int_eq(pipe(end), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) become(words, out, end[1]);
    close(out);
    close(end[1]);
    *said = '\0';
    for (ssize_t n; !strstr(said, text) && (n = read(end[0], said + at, sizeof said - 1 - at)) > 0;)
        said[at += (size_t)n] = '\0';
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    close(end[0]);
    if (on_terminal) close(master);
    return strstr(said, text) != NULL;
}

static bool same_bytes(const char *a, const char *b)
{
    FILE *one = fopen(a, "rb"), *two = fopen(b, "rb");
    ck_assert(one && two);
    int x, y;
    do {
        x = getc(one);
        y = getc(two);
    } while (x == y && x != EOF);
    fclose(one);
    fclose(two);
    return x == y;
}

static void write_file(const char *path, const char *bytes)
{
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(bytes, f);
    ck_assert_int_eq(fclose(f), 0);
}

/* vast.safetensors: 4 10^8 tokens of one channel, a sparse file of zeros. */
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

/* msa.safetensors: a 2x2 grid, one channel, query and key 0, value x: every output is the mean of x, exactly. */
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
                                       "vast.safetensors", "y.safetensors", "x.safetensors", "z.safetensors",
                                       "w.safetensors", "0.png", "1.png", "2.png", "3.png"};
    for (size_t f = 0; f < COUNT(made); f++) unlink(made[f]);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_msg(rmdir(folder) == 0, "%s: something half-written was left there", folder);
    strcpy(folder + sizeof folder - 7, "XXXXXX");
}

/* In msa.safetensors all scores are equal, so y is the mean of 0, 1, 4, 9: exactly 3.5.  Fast is the default form: on
 * 64 tokens of 12 channels its bytes differ from those of naive. */
START_TEST(apply_writes_y)
{
    static const char *const line[] = {
        "apply msa --grid 2x2 msa.safetensors -o y.safetensors",
        "apply msa -o y.safetensors --form naive msa.safetensors --grid 4",
        "apply msa --window 2 --grid 2x2 -o y.safetensors --scale -3 --form fast msa.safetensors",
        "apply msa --grid 2x2 --form cuda --device host msa.safetensors -o y.safetensors",
        "apply msa --grid 2x2 --form=cuda1 --device=host msa.safetensors -o y.safetensors",
        "apply msa --grid 2x2 --form cuda --device host:sm_75 msa.safetensors -o y.safetensors",
        "apply msa --grid 2x2 --form cuda --device host:sm_120 msa.safetensors -o y.safetensors",
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

    static const char *const default_form[] = {
        "parameters msa --grid 8x8 --channels 12 -o w.safetensors",
        "apply msa --grid 8x8 w.safetensors -o x.safetensors",
        "apply msa --grid 8x8 --form fast w.safetensors -o y.safetensors",
        "apply msa --grid 8x8 --form naive w.safetensors -o z.safetensors",
    };
    for (size_t l = 0; l < COUNT(default_form); l++)
        ck_assert_msg(run(default_form[l], out, err, sizeof out) == 0, "%s: %s", default_form[l], err);
    ck_assert(same_bytes("x.safetensors", "y.safetensors"));
    ck_assert(!same_bytes("x.safetensors", "z.safetensors"));
}
END_TEST

/* With addresses of 32 bits, larger tensors have another message. */
#define NARROW (sizeof(size_t) == 4)
#define UNCOUNTED "its size overflows"

static const struct { const char *words, *complaint; } bad[] = {
    {"", "found no command, expected list, help"},
    {"frobnicate", "command frobnicate: not known, expected list, help, version, apply, "},
    {"list all", "list: found 'all', expected nothing more"},
    {"help msa lisa", "help: found 'lisa'"},
    {"help nothing", "operator nothing: not known, expected one of msa, "},
    {"apply", "found no operator"},
    {"apply nothing --grid 4 msa.safetensors -o y.safetensors",
     "apply: operator nothing: not known, expected one of msa, "},
    {"parameters nothing --channels 4 -o y.safetensors",
     "parameters: operator nothing: not known, expected one of msa, "},
    {"measure nothing --grid 4 --channels 4", "operator nothing: not known, expected one of msa, "},
    {"apply msa --grid 2x2 msa.safetensors", "msa: option -o: missing"},
    {"apply msa --grid 2x2 msa.safetensors -o", "msa: option -o: found no value"},
    {"apply msa --grid 2x2 -o y.safetensors", "msa: input: missing"},
    {"apply msa --grid 2x2 msa.safetensors other -o y.safetensors", "second input 'other'"},
    {"apply msa --grid 2x2 msa.safetensors -o y.safetensors -o y.safetensors", "option -o: given twice"},
    {"apply msa --grid 2x2 --form cuba msa.safetensors -o y.safetensors",
     "form 'cuba': not known, expected one of naive, fast"},
    {"apply msa --grid=2x2 --form= msa.safetensors -o y.safetensors", "option --form: found '', expected a value"},
    {"apply hilo --grid=2x2 --pooled-queries=no msa.safetensors -o y.safetensors",
     "option --pooled-queries: found a value, expected none"},
    {"measure msa --grid 2x2 --channels 4 --form cuba",
     "form 'cuba': not known, expected one of naive, fast"},
    {"measure msa --grid 2x2 --channels 4 --form fast naive --keep y.safetensors",
     "option --keep: expected one form, one grid and one number of threads"},
    {"measure msa --grid 2x2 --channels 4 --form fast --judge cuba",
     "form 'cuba': not known, expected one of naive, fast"},
    {"apply msa --grid 2x2 --form fast --form fast msa.safetensors -o y.safetensors", "--form: given twice"},
    {"apply msa --grid 2x2 --form fast --device 0 msa.safetensors -o y.safetensors",
     "--device: found '0' beside --form fast, which runs on the processor"},
    {"apply msa --grid 2x2 --device host msa.safetensors -o y.safetensors",
     "--device: found 'host' beside --form fast"},
    {"apply msa --grid 2x2 --form cuda --device gpu msa.safetensors -o y.safetensors",
     "--device: found 'gpu', expected a number from 0, or host, host:sm_75, host:sm_80, host:sm_86, host:sm_90, host:sm_120"},
    {"apply msa --grid 2x2 --form cuda --device host:sm_61 msa.safetensors -o y.safetensors",
     "--device: found 'host:sm_61', expected a number from 0, or host, host:sm_75"},
    {"apply msa --grid 2x2 --form cuda --device host: msa.safetensors -o y.safetensors", "--device: found 'host:'"},
    {"apply msa --grid 2x2 --form cuda --device hosts msa.safetensors -o y.safetensors", "--device: found 'hosts'"},
    {"apply msa --grid 2x2 --form cuda99 --device host msa.safetensors -o y.safetensors",
     "form 'cuda99': not known, expected one of naive, fast, cuda1"},
    {"apply msa --grid 2x2 --form cuda --device 999 msa.safetensors -o y.safetensors",
     "form cuda: needs a CUDA device: "},
    {"apply msa --grid 2x2 --form cuda1 --device 999 msa.safetensors -o y.safetensors", "; apply --device host emulates one"},
#ifdef TWICETOLD_DOUBLE
    {"apply msa --grid 2x2 --form cuda-tf32 --device host msa.safetensors -o y.safetensors",
     "form 'cuda-tf32': not known, expected one of naive, fast, cuda1"},
#endif
    {"apply msa --grid 2x2 --form cuda-fp8 --device host msa.safetensors -o y.safetensors", "form 'cuda-fp8': not known"},
    {"apply msa --grid 2x2 --form cuda --device host --max-memory 64 msa.safetensors -o y.safetensors", "msa: needs "},
    {"measure msa --grid 2x2 --channels 4 --form cuda --device host",
     "--device: found 'host', expected a number: the time of an emulated device says nothing"},
    {"measure msa --grid 2x2 --channels 4 --form cuda --device host:sm_75",
     "--device: found 'host:sm_75', expected a number: the time of an emulated device says nothing"},
    {"measure msa --grid 2x2 --channels 4 --form cuda1 --device 999", "form cuda1: needs a CUDA device: "},
    {"measure msa --grid 2x2 --channels 4 --form fast --device 0",
     "--device: found '0', but no form that runs on a device"},
    {"apply msa --grid 2x2 --form", "--form: found no value"},
    {"apply msa --grid --heads 2 msa.safetensors -o y.safetensors", "msa: option --grid: found no value"},
    {"apply msa --grid 2x2 msa.safetensors -o --heads 2", "msa: option -o: found no value"},
    {"tokens --grid --channels 8 -o y.safetensors", "tokens: option --grid: found no value"},
    {"measure msa --form --grid 2x2 --channels 4", "option --form: found no value"},
    {"measure msa --grid --channels 4", "option --grid: found no value"},
    {"measure msa --channels --grid 2x2", "option --channels: found no value"},
#ifndef TWICETOLD_DOUBLE
    {"apply msa --grid 2x2 --scale 1e39 msa.safetensors -o y.safetensors", "--scale: found '1e39', expected a finite"},
#endif
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
    {"tokens --grid 2x2 --channels 4 --images msa.safetensors -o ./msa.safetensors", "the input's own path"},
    {"parameters msa --grid 2x2 --channels 4 --images msa.safetensors -o twin.safetensors", "the input's own path"},
    {"network learned-lisa --random 1 --input msa.safetensors -o msa.safetensors", "the input's own path"},
    {"network learned-lisa --weights msa.safetensors -o twin.safetensors lie.safetensors", "the input's own path"},
    {"apply msa --grid 2x2 msa.safetensors -o absent/y.safetensors", "msa: "},
    {"tokens --grid 4x4 -o x.safetensors", "tokens: option --channels: missing"},
    {"tokens --grid 4x4 --channels 8 stray -o x.safetensors", "found 'stray'"},
    {"tokens --grid 4x4 --channels 8", "option -o: missing"},
    {"tokens --grid 4x4 --channels 8 --images absent.gz -o x.safetensors", "tokens: "},
    {"spectrum msa.safetensors -o z.safetensors", "spectrum: tensor y"},
    {"spectrum --batch 3 msa.safetensors -o z.safetensors", "spectrum: found '--batch'"},
    {"spectrum --form fast y.safetensors -o z.safetensors", "spectrum: found '--form'"},
    {"spectrum --max-memory 1G y.safetensors -o z.safetensors", "spectrum: found '--max-memory'"},
    {"resample", "resample: found no operator"},
    {"resample msa --from 2x2 --to 3x3 msa.safetensors -o z.safetensors", "msa: option --by: missing"},
    {"resample msa --from 2x2 --to 3 --by bicubic msa.safetensors -o z.safetensors",
     "msa: option --to: found 1 axes, expected 2 as --from has"},
    {"resample msa --from 2x2 --to 3x3 --by linear msa.safetensors -o z.safetensors",
     "option --by: found 'linear', expected one of zeros|spectrum|bicubic"},
    {"resample msa --grid 2x2 --from 2x2 --to 3x3 --by bicubic msa.safetensors -o z.safetensors",
     "msa: option --grid: found, expected --from and --to"},
    {"resample msa --from 2x2 --to 3x3 --by bicubic msa.safetensors -o z.safetensors",
     "msa: found no tensor with an entry for each token or offset"},
    {"resample mlp --from 2x2 --to 3x3 --by bicubic msa.safetensors -o z.safetensors", "mlp: tensor w_qkv: not of mlp"},
    {"resample msa --from 2x2 --to 3x3 --by bicubic msa.safetensors -o msa.safetensors", "the input's own path"},

    /* Parameters and comparisons. */
    {"parameters msa --grid 2x2 -o y.safetensors", "msa: option --channels: missing"},
    {"parameters msa --grid 2x2 --channels 4", "msa: option -o: missing"},
    {"parameters msa --channels 4 -o y.safetensors", "msa: option --grid: missing"},
    {"parameters msa --grid 2x2 --channels 5 --heads 2 -o y.safetensors", "msa: option --heads: found 2"},
    {"parameters chopd --grid 2x2 --channels 4 --sizes G=2 -o y.safetensors",
     "chopd: size R is not known, expected --sizes R=n,S=n,D=n"},
    {"measure chopd --grid 2x2 --channels 4 --sizes G=2", "chopd: size R is not known, expected --sizes R=n,S=n,D=n"},
    {"parameters fc --channels 4 --sizes M=3 -o y.safetensors", "fc: size N is not known, expected --sizes N=n,D=n"},
    {"parameters lisa --grid 2x2 --channels 4 --sizes D=0 -o y.safetensors", "--sizes: found 'D=0', expected a whole"},
    {"parameters lisa --grid 2x2 --channels 4 --sizes D -o y.safetensors", "--sizes: found 'D', expected LETTER=n"},
    {"parameters lisa --grid 2x2 --channels 4 --sizes D=4,Z=2 -o y.safetensors",
     "--sizes: found 'Z=2', expected LETTER"},
    {"parameters lisa --grid 2x2 --channels 4 --sizes D=4,D=5 -o y.safetensors",
     "--sizes: size D: found 5, expected 4"},
    {"parameters lisa --grid 2x2 --channels 4 --sizes D=4 --without wa -o y.safetensors",
     "--without: found 'wa', expected an optional tensor of lisa"},
    {"parameters msa --grid 2x2 --channels 4 msa.safetensors -o y.safetensors", "found 'msa.safetensors'"},
    {"parameters msa --grid 2x2 --channels 4 --max-memory 100 -o y.safetensors", "msa: needs "},
    {"parameters fc --channels 60000 --sizes M=60000,N=60000,D=60000 -o y.safetensors", "fc: "},
    {"compare", "compare: input: missing, expected A.safetensors"},
    {"compare msa.safetensors", "compare: input: missing, expected B.safetensors"},
    {"compare msa.safetensors twin.safetensors twin.safetensors", "third input 'twin.safetensors'"},
    {"compare msa.safetensors twin.safetensors -o y.safetensors", "found a third input"},
    {"compare msa.safetensors absent.safetensors", "compare: B: absent.safetensors cannot be opened"},
    {"compare lie.safetensors msa.safetensors", "compare: A: "},
    {"compare msa.safetensors twin.safetensors --tolerance -1", "--tolerance: found '-1'"},
    {"compare msa.safetensors twin.safetensors --floor -1", "--floor: found '-1'"},
    {"compare msa.safetensors vast.safetensors", "tensor x: found [1, 4, 1] in A, expected [1, 400000000, 1] as in B"},

    /* Sizes that do not fit, and work that takes too long. */
    {"apply msa --grid 2x2 --max-work 10 msa.safetensors -o y.safetensors",
     "msa: makes 44 multiply-adds, allowed are 10 (option --max-work)"},
    {"apply msa --grid 2x2 --max-work 0 msa.safetensors -o y.safetensors", "option --max-work: found '0'"},
    {"apply msa --grid 2x2 --max-work many msa.safetensors -o y.safetensors", "option --max-work: found 'many'"},
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
    {"parameters structsa --grid 1 --channels 1024 --kernel 16777215 --value-kernel 16777217 --sizes D=536870912"
     " -o y.safetensors", NARROW ? UNCOUNTED : "structsa: needs more than 18446744073709551615 bytes"},
    {"tokens --grid 8x8 --channels 8 --max-memory 1X -o x.safetensors", "--max-memory: found '1X'"},
    {"network litv2-s --depths 0,0,0,0 --random 1 no.png -o z.safetensors",
     "option --depths: found '0,0,0,0', expected 4 whole numbers from 1 to 65536"},
    {"tokens --grid 8x8 --channels 8 --max-memory= -o x.safetensors", "--max-memory: found '', expected a value"},
    {"tokens --grid 8x8 --channels 8 --images= -o x.safetensors", "--images: found '', expected a value"},
    {"network litv2-s no.png -o z.safetensors", "litv2-s: expected one of --weights FILE and --random SEED"},
    {"network litv2-s --weights msa.safetensors --random 1 no.png -o z.safetensors",
     "litv2-s: expected one of --weights FILE and --random SEED"},
    {"network litv2-s --random 1 --input msa.safetensors no.png -o z.safetensors",
     "litv2-s: found images beside --input, expected one or the other"},
    {"network litv2-s --random 1 --before block2 no.png -o z.safetensors",
     "litv2-s: option --before: found 'block2', expected the path of a step: from stage1.embed to head"},
    {"network litv2-s --random 1 --before head --stages no.png -o z.safetensors",
     "litv2-s: found --stages with --before, expected one or the other"},
    {"network litv2-s --random 1 -o z.safetensors", "litv2-s: input: missing, expected images, or --input"},
    {"network litv2-s --random 1 --input msa.safetensors -o z.safetensors",
     "litv2-s: --input: found 2 tensors, expected one, x"},
    {"network structvit-s-4-2-video --grid 4x32x32 --random 1 no.png no.png no.png -o z.safetensors",
     "structvit-s-4-2-video: found 3 images, expected a multiple of 4 frames"},
    {"network litv2-s --grid 64 --random 1 no.png -o z.safetensors",
     "option --grid: found '64', a grid of 1 axes, expected two, HxW, or three, TxHxW"},
    {"network litv2-s --depths 65536,65536,65536,65536 --random 1 --max-memory 64M no.png -o z.safetensors",
     "bytes of memory, allowed are 67108864 (option"},
    {"measure msa --grid 40000x50000 --channels 3", "msa: option --grid: grid too large"},
    {"measure msa --grid 11000x11000 --channels 1 --form naive", "measure: msa: needs "},
    {"measure msa --grid 11000x11000 --channels 1 --form naive --threads 1024",
     NARROW ? "needs more than 4294967295 bytes" : "needs more than 18446744073709551615 bytes"},
    {"measure msa --grid 8x8 9x9 --channels 64 --max-memory 100K", "bytes of memory, allowed are 102400 (option"},
    {"measure msa --grid 8x8 --channels 1000000 --batch 1000", NARROW ? UNCOUNTED : "measure: msa: needs "},
    {"measure lisa --grid 3000x3000 --channels 512 --sizes D=16 --max-memory 4G",
     NARROW ? UNCOUNTED : "measure: lisa: needs "},
    {"measure structsa --grid 2000x2000 --kernel 31x31 --channels 512 --sizes D=16 --form naive", "structsa: needs "},
    {"measure elsa --grid 8x8 --channels 8 --kernel 16383 --max-memory 4G", "measure: elsa: needs "},
    {"measure fc --grid 100x100 --channels 512 --sizes D=512", NARROW ? UNCOUNTED : "measure: fc: needs "},
    {"measure hilo --grid 8x8 --channels 8 --heads 2 --window 40000 --max-memory 4G", "measure: hilo: needs "},
};

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

/* HiLo pads 5 x 7 tokens to one window of 1800 x 1800, whose attention costs 2 M s^2 hd = 8.4 10^13 multiply-adds.
 * That cannot be run here: a smaller limit shows what --max-work lifts, and measure is stopped after its message. */
START_TEST(work_of_hours_is_asked_about)
{
    char out[4096], err[4096];
    static const char *const refused[][2] = {
        {"apply hilo --grid 5x7 --heads 4 --alpha 0.5 --window 1800 y.safetensors -o z.safetensors",
         "hilo: makes 8.4e+13 multiply-adds, allowed are 1e+13 (option --max-work)"},
        {"apply hilo --grid 5x7 --heads 4 --alpha 0.5 --window 1800 --max-work 8e13 y.safetensors -o z.safetensors",
         "allowed are 8e+13"},
        {"apply hilo --grid 5x7 --heads 4 --alpha 0.5 --window 160 --form cuda --device host y.safetensors "
         "-o z.safetensors", "makes 5.25e+09 multiply-adds, allowed are 1e+09 (option --max-work)"},
        {"apply hilo --grid 5x7 --heads 4 --alpha 0.5 --window 160 --form cuda --device host:sm_75 y.safetensors "
         "-o z.safetensors", "allowed are 1e+09 (option --max-work)"},
        {"apply msa --grid 2x2 --form cuda --device host --max-work 43 msa.safetensors -o z.safetensors",
         "makes 44 multiply-adds, allowed are 43 (option --max-work)"},
    };
    ck_assert_int_eq(run("parameters hilo --grid 5x7 --heads 4 --alpha 0.5 --window 2 --channels 8 -o y.safetensors",
                         out, err, sizeof err), 0);
    for (size_t n = 0; n < COUNT(refused); n++) {
        ck_assert_int_eq(run(refused[n][0], out, err, sizeof err), 2);
        ck_assert_msg(strstr(err, refused[n][1]) != NULL, "%s", err);
    }
    ck_assert_int_eq(run("apply msa --grid 2x2 --max-work 44 msa.safetensors -o z.safetensors", out, err, sizeof err),
                     0);

    static const char *const asks = "measure hilo --grid 5x7 --heads 4 --alpha 0.5 --window 1800 --channels 8 "
                                    "--form fast --repeats 1";
    ck_assert(says_and_is_stopped(asks, false, "a run of 8.4e+13 multiply-adds may take hours\n"));
    if (!terminal_there("work_of_hours_is_asked_about")) return;
    ck_assert_int_eq(run_on_terminal(asks, out, sizeof out), 0);
    FILE *said = fopen("err", "r");
    ck_assert_ptr_nonnull(said);
    err[fread(err, 1, sizeof err - 1, said)] = '\0';
    fclose(said);
    ck_assert_msg(strstr(err, "left out, a run of 8.4e+13 multiply-adds may take hours; --yes") != NULL, "%s", err);
    char agreed[256];
    snprintf(agreed, sizeof agreed, "%s --yes", asks);
    ck_assert(says_and_is_stopped(agreed, true, "a run of 8.4e+13 multiply-adds may take hours\n"));
}
END_TEST

/* ---- where the result goes -------------------------------------------- */

/* Number of temporary files, in use or left behind. */
static int files_beside(void)
{
    int count = 0;
    DIR *entries = opendir(".");
    ck_assert_ptr_nonnull(entries);
    for (struct dirent *e; (e = readdir(entries));) count += !strncmp(e->d_name, ".twicetold-", 11);
    closedir(entries);
    return count;
}

/* Every command that writes, without its output, of more than 4096 bytes. */
static const char *const writers[] = {
    "apply msa --grid 32x32 %s/in.safetensors", "spectrum %s/map.safetensors", "tokens --grid 32x32 --channels 4",
    "parameters msa --grid 32x32 --channels 4",
};

static void write_inputs(void)
{
    char out[1024], err[1024];
    struct tensor y;
    ck_assert_int_eq(run("parameters msa --grid 32x32 --channels 4 -o in.safetensors", out, err, sizeof err), 0);
    succeeds(tensor_create(&y, "y", 4, (size_t[]){1, 32, 32, 4}));
    for (size_t i = 0; i < y.count; i++) y.data[i] = (real)(i % 7);
    succeeds(safetensors_write("map.safetensors", &y, 1));
    tensor_release(&y);
}

static void remove_inputs(void)
{
    unlink("in.safetensors");
    unlink("map.safetensors");
}

static const char *writing(size_t w, const char *output)
{
    static char words[256];
    int at = snprintf(words, sizeof words, writers[w], folder);
    snprintf(words + at, sizeof words - (size_t)at, " -o %s", output);
    return words;
}

static void fill_the_disk(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096});
}

/* Deletes the working folder. */
static void vanish(void)
{
    if (mkdir("vanishing", 0700) || chdir("vanishing") || rmdir("../vanishing")) _exit(126);
}

static void write_to_a_full_device(void)
{
    dup2(open("/dev/full", O_WRONLY), 1);
}

#define STDBUF "/usr/libexec/coreutils/libstdbuf.so"

/* Line buffering, as with stdbuf -oL: at exit nothing is left to write, and only the stream's error flag
 * shows the loss. */
static void write_lines_to_a_full_device(void)
{
    write_to_a_full_device();
    setenv("_STDBUF_O", "L", 1);
    setenv("LD_PRELOAD", STDBUF, 1);
}

static bool lines_there(const char *test)
{
    const char *why = getenv("ASAN_OPTIONS") ? "the sanitizers want to be loaded first"
                    : access(STDBUF, R_OK) ? "there is no " STDBUF : NULL;
    if (why) printf("skipped: a line at a time in %s: %s\n", test, why);
    return !why;
}

/* After an error the old file is as it was and no temporary file is left.  If the output is a link, the file that it
 * names is replaced. */
START_TEST(no_output_is_half_written)
{
    static const struct { const char *output, *complaint; void (*first)(void); int code; } place[] = {
        {"inner", "is a folder, expected a file", NULL, 2}, {"pipe", "is no regular file", NULL, 2},
        {"/dev/full", "is no regular file", NULL, 2}, {"dangling", "cannot be written: No such file", NULL, 2},
        {"loop", "cannot be written: Too many levels", NULL, 2},
        {"absent/y", "cannot be written: No such file", NULL, 2},
        {"old/y", "cannot be written: Not a directory", NULL, 2}, {"y.safetensors", "No such file", vanish, 2},
        {"old", "cannot be written: File too large", fill_the_disk, 1},
        {"new", "cannot be written: File too large", fill_the_disk, 1},
    };
    char out[4096], err[4096];
    write_inputs();
    write_file("old", "old");
    ck_assert(mkdir("inner", 0700) == 0 && mkfifo("pipe", 0600) == 0);
    ck_assert(symlink("nowhere", "dangling") == 0 && symlink("loop", "loop") == 0);
    ck_assert_int_eq(symlink("y.safetensors", "link"), 0);
    write_file("y.safetensors", "old");
    for (size_t w = 0; w < COUNT(writers); w++) {
        for (size_t p = 0; p < COUNT(place); p++) {
            beforehand = place[p].first;
            int code = run(writing(w, place[p].output), out, err, sizeof err);
            beforehand = NULL;
            ck_assert_msg(code == place[p].code, "%s -o %s: %d, %s", writers[w], place[p].output, code, err);
            ck_assert_msg(strstr(err, place[p].complaint) != NULL, "%s: %s", place[p].output, err);
            char *end = strchr(err, '\n');
            ck_assert(end && !end[1]);
            ck_assert_int_eq(files_beside(), 0);
            ck_assert(access("new", F_OK) != 0 && same_bytes("old", "y.safetensors"));
        }
        ck_assert_msg(run(writing(w, "link"), out, err, sizeof err) == 0, "%s", err);
        struct tensors file;
        struct stat found;
        succeeds(safetensors_read(&file, "y.safetensors"));
        tensors_release(&file);
        ck_assert(lstat("link", &found) == 0 && S_ISLNK(found.st_mode));
        write_file("y.safetensors", "old");
    }

    /* A message that cannot be printed is a failure. */
    void (*const full[])(void) = {write_to_a_full_device, write_lines_to_a_full_device};
    for (size_t f = 0; f < COUNT(full); f++) {
        if (full[f] == write_lines_to_a_full_device && !lines_there("no_output_is_half_written")) continue;
        beforehand = full[f];
        ck_assert_int_eq(run(writing(2, "y.safetensors"), out, err, sizeof err), 1);
        ck_assert_ptr_nonnull(strstr(err, "standard output: cannot be written"));
        ck_assert_int_eq(run("measure msa --grid 2x2 --channels 4 --repeats 1", out, err, sizeof err), 1);
        ck_assert_ptr_nonnull(strstr(err, "standard output: cannot be written"));
        beforehand = NULL;
    }
    static const char *const made[] = {"old", "pipe", "dangling", "loop", "link"};
    for (size_t m = 0; m < COUNT(made); m++) unlink(made[m]);
    rmdir("inner");
    remove_inputs();
}
END_TEST

/* Traces the program from one system call to the next, sends the signal once its temporary file exists, and returns how
 * it ended. */
static int run_into(int number, const char *words)
{
    int state;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        become(words, open("out", O_WRONLY | O_CREAT | O_TRUNC, 0666), open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666));
    }
    for (long pass_on = 0; waitpid(child, &state, 0) == child && WIFSTOPPED(state);) {
        if (number && files_beside()) {
            pass_on = number;
            number = 0;
        } else pass_on = WSTOPSIG(state) == SIGTRAP ? 0 : WSTOPSIG(state);
        ptrace(number ? PTRACE_SYSCALL : PTRACE_CONT, child, NULL, pass_on);
    }
    ck_assert_msg(!number, "it was never seen to write");
    return state;
}

/* The signal comes as soon as the temporary file exists.  What a killed command leaves, the next one removes. */
START_TEST(an_interrupted_command_leaves_nothing_beside)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    char out[4096], err[4096];
    write_inputs();
    write_file("old", "old");
    for (size_t w = 0; w < COUNT(writers); w++) {
        for (size_t n = 0; n < COUNT(ends); n++) {
            write_file("y.safetensors", "old");
            int state = run_into(ends[n], writing(w, "y.safetensors"));
            ck_assert_msg(WIFSIGNALED(state) && WTERMSIG(state) == ends[n], "%s: %x", writers[w], state);
            ck_assert_int_eq(files_beside(), 0);
            ck_assert(same_bytes("old", "y.safetensors"));
        }
        int state = run_into(SIGKILL, writing(w, "y.safetensors"));
        ck_assert(WIFSIGNALED(state) && files_beside() == 1 && same_bytes("old", "y.safetensors"));
        ck_assert_int_eq(run(writing(w, "y.safetensors"), out, err, sizeof err), 0);
        ck_assert_int_eq(files_beside(), 0);
    }
    unlink("old");
    remove_inputs();
}
END_TEST

/* Arguments of the programs that need some. */
static const char *const told[][2] = {
    {"figures/chopd-boxes", "0.001 5 7"},
    {"figures/chopd-boxes", "planes fractional 14 4 2 1 1"},
    {"figures/cuda", "msa --grid 3x3 --channels 4"},
    {"figures/ladder", "lisa --grid 3x4 --channels 4 --sizes D=2 --threads 2 --repeats 2"},
    {"figures/roofline", "0.001 1048576"},
    {"figures/networks-profile", "1 lisanet-i-t fast"},
    {"figures/networks-profile", "seconds lisanet-i-t fast 32x32 1 1 1"},
};

/* Runs a program that computes a figure: status 0, and each number that it prints is finite.  Returns how many. */
static size_t finite_numbers(const char *words)
{
    static char out[1 << 20], err[sizeof out];
    size_t numbers = 0;
    char *lines = NULL;
    ck_assert_msg(run(words, out, err, sizeof out) == 0, "%s: %s", words, err);
    for (char *line = strtok_r(out, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
        char *fields = NULL, *end;
        for (char *f = strtok_r(line, "\t ", &fields); f && *line != '#'; f = strtok_r(NULL, "\t ", &fields)) {
            double value = strtod(f, &end);
            if (end > f && !*end) {
                ck_assert_msg(isfinite(value), "%s prints %s", words, f);
                numbers++;
            }
        }
    }
    return numbers;
}

START_TEST(figures_are_computed)
{
    char programs[] = DRAWERS, *rest = NULL;
    for (char *name = strtok_r(programs, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        char words[256];
        bool with_words = false;
        for (size_t i = 0; i < COUNT(told); i++) {
            if (strcmp(told[i][0], name)) continue;
            snprintf(words, sizeof words, "%s %s", name, told[i][1]);
            ck_assert_msg(finite_numbers(words) > 0, "%s prints no number", words);
            with_words = true;
        }
        if (!with_words) ck_assert_msg(finite_numbers(name) > 0 || !strcmp(name, "figures/machine"), "%s", name);
    }
}
END_TEST

#if !defined TWICETOLD_DOUBLE
/* Every figure that a script lists when it is given no name, and an argument that it does not take. */
START_TEST(maps_are_computed)
{
    static const struct { const char *name; size_t maps; } script[] = {{"maps.py", 14}, {"network_maps.py", 9}};
    static const char *const with[][2] = {
        {"ground-error", "49 7 49 64"}, {"lisa-border", "8x6"}, {"lisa-error", "49 7x7 12x12"}, {"chopd-error", "14"},
        {"chopd-rank", "2 1 2 5"}, {"networks-accuracy", "100"},
    };
    char out[4096], err[4096], list[4096], words[256], *rest = NULL;
    if (!python_with_numpy()) {
        printf("skipped: maps_are_computed, for want of NumPy\n");
        return;
    }
    snprintf(words, sizeof words, "figures/%s", script[_i].name);
    ck_assert_int_eq(run(words, out, list, sizeof list), 2);
    char *names = strstr(list, "expected one of: ");
    ck_assert_msg(names && strchr(list, '\n') == list + strlen(list) - 1, "%s", list);
    size_t maps = 0;
    for (char *name = strtok_r(names + 17, " \n", &rest); name; name = strtok_r(NULL, " \n", &rest), maps++) {
        const char *more = "";
        for (size_t i = 0; i < COUNT(with); i++)
            if (!strcmp(with[i][0], name)) more = with[i][1];
        snprintf(words, sizeof words, "figures/%s %s%s%s", script[_i].name, name, *more ? " " : "", more);
        ck_assert_msg(finite_numbers(words) > 0, "%s prints no number", words);
        strcat(words, " none");
        ck_assert_msg(run(words, out, err, sizeof err) == 2, "%s: %s", words, err);
        ck_assert_msg(!*out && strchr(err, '\n') == err + strlen(err) - 1, "%s: %s", words, err);
    }
    ck_assert_uint_ge(maps, script[_i].maps);
}
END_TEST

/* Counts every line of figures/[a-z]*-cuda.tsv again; no kernel version may be missing there.  First versions would
 * take a minute.  tests/cuda/counts.tsv has the counts at other sizes, first versions included (test_cuda_counts.c). */
START_TEST(drawn_counts_are_those_of_the_kernels)
{
    static char out[1 << 14], err[sizeof out];
    char line[512], words[sizeof line + 40], pattern[sizeof tree + 40];
    glob_t tables;
    size_t lines = 0, rungs = 0;
    snprintf(pattern, sizeof pattern, "%s/figures/[a-z]*-cuda.tsv", tree);
    ck_assert_int_eq(glob(pattern, 0, NULL, &tables), 0);
    for (size_t t = 0; t < tables.gl_pathc; t++) {
        FILE *table = fopen(tables.gl_pathv[t], "r");
        ck_assert_ptr_nonnull(table);
        while (fgets(line, sizeof line, table)) {
            if (!strncmp(line, "# counted: ", 11)) {
                snprintf(words, sizeof words, "figures/cuda %.*s --from 2", (int)strcspn(line + 11, "\n"), line + 11);
                ck_assert_msg(run(words, out, err, sizeof out) == 0, "%s: %s", words, err);
                for (const char *at = out; (at = strstr(at, "\tcuda")); at++) rungs++;
            }
            if (*line == '#' || strstr(line, "\tcuda1\t")) continue;
            ck_assert_msg(strstr(out, line) != NULL, "%s: drawn is\n%scounted\n%s", words, line, out);
            lines++;
        }
        fclose(table);
    }
    globfree(&tables);
    ck_assert_uint_eq(lines, rungs);
    ck_assert_uint_ge(lines, 24);
}
END_TEST
#endif

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

/* No run takes less than 1e-300 s, and no thousand runs take 10^6 s. */
START_TEST(measure_does_as_its_options_say)
{
    static const struct { const char *words, *row[4], *says, *not; } ask[] = {
        {"--form fast --grid 2x2 3x3 --repeats 2 --max-seconds 1e-300", {"fast\t2x2\t4\t4\t1\t1\t1\t2\t"},
         "fast 3x3, 1 thread: left out, a run is expected to take ", "2x2, 1 thread: left out"},
        {"--form fast --grid 2x2 3x3 --repeats 2 --max-seconds 1e6",
         {"fast\t2x2\t4\t4\t1\t1\t1\t2\t", "fast\t3x3\t9\t4\t1\t1\t1\t2\t"}, "timed but not compared", "left out"},
        {"--form fast --grid 2x2 --seconds 1e-300", {"fast\t2x2\t4\t4\t1\t1\t1\t1\t"}, "not compared", "left out"},
        {"--form fast --grid 2x2 --seconds 1e6", {"fast\t2x2\t4\t4\t1\t1\t1\t1000\t"}, "not compared", "left out"},
        {"--form fast --grid 2x2", {"fast\t2x2\t4\t4\t1\t1\t1\t9\t"}, "not compared", "left out"},
        {"--form fast --judge naive --grid 2x2 --repeats 3", {"fast\t2x2\t4\t4\t1\t1\t1\t3\t"},
         "msa fast 2x2, 1 thread: beside naive: agrees to ", "not compared"},
        {"--form naive fast --grid 2x2 --threads 1 2 --repeats 2 --yes",
         {"naive\t2x2\t4\t4\t1\t1\t1\t2\t", "fast\t2x2\t4\t4\t1\t1\t1\t2\t", "naive\t2x2\t4\t4\t1\t1\t2\t2\t",
          "fast\t2x2\t4\t4\t1\t1\t2\t2\t"}, "2 threads: beside naive: agrees to ", "hours"},
    };
    char out[4096], err[4096], words[256];
    for (size_t a = 0; a < COUNT(ask); a++) {
        snprintf(words, sizeof words, "measure msa --channels 4 %s", ask[a].words);
        int code = run(words, out, err, sizeof err);
        ck_assert_msg(code == 0, "%s: %d, %s", words, code, err);
        size_t expected = 0, rows = 0;
        for (size_t r = 0; r < COUNT(ask[a].row) && ask[a].row[r]; r++, expected++)
            ck_assert_msg(strstr(out, ask[a].row[r]) != NULL, "%s: no %s in\n%s", words, ask[a].row[r], out);
        for (const char *at = out; (at = strstr(at, "\nmsa\t")); at++) rows++;
        ck_assert_msg(rows == expected, "%s: %zu rows\n%s", words, rows, out);
        ck_assert_msg(strstr(err, ask[a].says) && !strstr(err, ask[a].not), "%s: %s", words, err);
    }
}
END_TEST

START_TEST(the_program_explains_itself)
{
    static const struct { const char *words, *answer; } ask[] = {
        {"list", "lisa       naive fast"}, {"list", "msa        naive fast cuda1 cuda2"}, {"list", " (host"},
        {"help apply", "--device N"}, {"help msa", "[--device N]"}, {"help", "usage: twicetold COMMAND"},
        {"--help", "usage: twicetold COMMAND"},
        {"-h", "usage: twicetold COMMAND"}, {"list --help", "usage: twicetold COMMAND"},
        {"help lisa", "--equation 4|5|6|7|10"}, {"help lisa", "[M, c, D]"},
        {"help apply", "twicetold apply OPERATOR"}, {"apply --help", "twicetold apply OPERATOR"},
        {"apply lisa --grid 4 -h", "twicetold apply lisa --grid GRID"},
        {"parameters lisa --help", "twicetold parameters lisa --grid GRID --channels C"},
        {"help parameters", "[--without NAME,...]"},
        {"help compare", "[--tolerance T] [--floor VALUE] A.safetensors B.safetensors"},
        {"help tokens", "twicetold tokens --grid GRID --channels C"}, {"tokens -h", "twicetold tokens --grid GRID"},
        {"help spectrum", "twicetold spectrum INPUT.safetensors -o OUTPUT.safetensors"},
        {"help resample", "twicetold resample OPERATOR --from GRID --to GRID --by zeros|spectrum|bicubic"},
        {"measure --help", "usage: measure"}, {"measure lisa -h", "usage: measure"},
        {"help --man", "\n.SS network\n"}, {"help --man", "\n.BI \\-\\-max\\-memory \" BYTES\"\n"},
        {"help --man", "\n.TP\n.B dfc\\-cp\n"}, {"help --man", "\n.SH EXIT STATUS\n"},
        {"version", REAL_NAME}, {"--version", "twicetold 1"}, {"tokens --version", REAL_NAME},
        {"measure --version", "measure 1"},
    };
    static char out[1 << 15], err[sizeof out];
    for (size_t a = 0; a < COUNT(ask); a++) {
        ck_assert_int_eq(run(ask[a].words, out, err, sizeof err), 0);
        ck_assert_msg(strstr(out, ask[a].answer) != NULL, "%s: '%s' lacks '%s'", ask[a].words, out, ask[a].answer);
        ck_assert_str_eq(err, "");
    }
}
END_TEST

/* help defines each letter of an operator's shapes once, and no other; no heading is empty. */
START_TEST(every_letter_is_defined)
{
    const struct declaration *d;
    char words[64], line[64], letter[4], out[8192], err[sizeof out];
    for (int o = 0; (d = operator_at(o)); o++) {
        int letters = 0, lines = 0;
        snprintf(words, sizeof words, "help %s", d->name);
        ck_assert_int_eq(run(words, out, err, sizeof out), 0);
        char *below = strstr(out, "\nletters\n");
        ck_assert_ptr_nonnull(below);
        for (; declaration_letter(letter, d, letters); letters++) {
            snprintf(line, sizeof line, "\n  %-4s ", letter);
            ck_assert_msg(letter_meaning(d, letter) != NULL, "%s: nothing says what %s is", d->name, letter);
            ck_assert_msg(declaration_has_letter(d, letter) || !strcmp(letter, "N"), "%s: no %s", d->name, letter);
            ck_assert_msg(strstr(below, line) != NULL, "%s: %s is not defined", d->name, letter);
        }
        for (const char *c = below + 9; (c = strchr(c, '\n')); c++) lines++;
        ck_assert_int_eq(lines, letters);
        for (const char *c = out; (c = strstr(c, "options of ")); c++)
            ck_assert_msg(!strncmp(strchr(c, '\n'), "\n  --", 5), "%s: an empty heading", d->name);
    }
}
END_TEST

/* The file's last tensor, y, is to the bit what apply makes of the others. */
START_TEST(measure_keeps_what_it_timed)
{
    char out[4096], err[4096];
    struct tensors kept, made;
    ck_assert_msg(run("measure msa --grid 3x4 --channels 8 --form fast --repeats 20 --keep kept.safetensors", out, err,
                      sizeof err) == 0, "%s", err);
    succeeds(safetensors_read(&kept, "kept.safetensors"));
    ck_assert_uint_gt(kept.count, 2);
    ck_assert_str_eq(kept.tensor[kept.count - 1].name, "y");
    succeeds(safetensors_write("x.safetensors", kept.tensor, kept.count - 1));
    ck_assert_msg(run("apply msa --grid 3x4 x.safetensors -o y.safetensors", out, err, sizeof err) == 0, "%s", err);
    succeeds(safetensors_read(&made, "y.safetensors"));
    ck_assert_uint_eq(made.tensor[0].count, 12 * 8);
    equal(kept.tensor[kept.count - 1].data, made.tensor[0].data, 12 * 8);
    tensors_release(&kept);
    tensors_release(&made);
    unlink("kept.safetensors");
}
END_TEST

START_TEST(a_value_may_stand_behind_an_equals_sign)
{
    static const char *const line[] = {
        "parameters msa --grid=2x2 --channels=4 --seed=1 -o any.safetensors",
        "parameters msa --grid 2x2 --channels 4 --seed 1 -o same.safetensors",
        "apply msa --grid=2x2 --form=naive --scale=-3 any.safetensors -o y.safetensors",
        "apply msa --grid 2x2 --form naive --scale -3 same.safetensors -o z.safetensors",
        "apply msa --grid 2x2 --form naive any.safetensors -o x.safetensors",
    };
    char out[4096], err[4096];
    for (size_t l = 0; l < COUNT(line); l++)
        ck_assert_msg(run(line[l], out, err, sizeof err) == 0, "%s: %s", line[l], err);
    ck_assert(same_bytes("any.safetensors", "same.safetensors"));
    ck_assert(same_bytes("y.safetensors", "z.safetensors"));
    ck_assert(!same_bytes("y.safetensors", "x.safetensors"));
    unlink("any.safetensors");
    unlink("same.safetensors");
    ck_assert_int_eq(run("measure msa --grid=4x4 --channels=4 --form=naive --repeats=1", out, err, sizeof err), 0);
    ck_assert_msg(strstr(out, "msa\tnaive\t4x4\t16\t4\t") != NULL, "%s", out);
}
END_TEST

/* The required options of an operator and two heads, on a 4x4 grid of 6 channels, and sizes for the open letters. */
static void least_words(char options[128], char sizes[128], const struct declaration *d)
{
    struct problem p;
    char letter[4];
    const char *given[2 * PROBLEM_OPTIONS] = {NULL};
    char key[PROBLEM_OPTIONS][24];
    struct outline o = {.word = given, .batch = 1, .channels = 6, .sizes = sizes};

    *options = *sizes = '\0';
    for (int n = 0; d->options[n].name; n++) {
        const struct option *option = &d->options[n];
        bool heads = !strcmp(option->name, "heads");
        if (option->fallback ? !heads : option->kind == OPTION_FLAG) continue;
        snprintf(key[n], sizeof key[n], "--%s", option->name);
        given[o.words++] = key[n];
        given[o.words++] = heads ? "2" : option->kind == OPTION_GRID ? "4x4"
                         : option->kind == OPTION_KERNEL ? "3x3" : "3";
    }
    for (int w = 0; w < o.words && strlen(options) < 100; w++) strcat(strcat(options, " "), given[w]);
    for (int n = 2; outline_problem(&p, d, &o).code; n++) {
        ck_assert_msg(n < 10 && outline_open_letter(letter, &p), "%s: no words suit it", d->name);
        snprintf(sizes + strlen(sizes), 128 - strlen(sizes), "%s%s=%d", *sizes ? "," : "", letter, n);
    }
}

/* compare uses its own tolerance, or 64 times the rounding of the factors if a kernel version rounds them
 * (test_promises.c). */
START_TEST(parameters_apply_and_compare_make_a_chain)
{
    const struct declaration *d = operator_at(_i);
    const struct form *form;
    char options[128], sizes[128], words[400], out[4096], err[4096];
    least_words(options, sizes, d);

    /* Step 1: inputs.  The same seed gives the same bytes with any number of threads. */
    static const struct { const char *more, *to, *threads; } draw[] = {
        {"", "x.safetensors", "1"}, {" --seed=1", "y.safetensors", "4"}, {" --seed 2", "z.safetensors", "1"},
    };
    for (size_t n = 0; n < COUNT(draw); n++) {
        snprintf(words, sizeof words, "parameters %s%s --channels 6 --batch 2%s%s%s -o %s", d->name, options,
                 *sizes ? " --sizes " : "", sizes, draw[n].more, draw[n].to);
        setenv("OMP_NUM_THREADS", draw[n].threads, 1);
        ck_assert_msg(run(words, out, err, sizeof err) == 0, "%s: %s", words, err);
    }
    unsetenv("OMP_NUM_THREADS");
    ck_assert(same_bytes("x.safetensors", "y.safetensors"));
    ck_assert(!same_bytes("x.safetensors", "z.safetensors"));
    ck_assert_int_eq(run("compare x.safetensors z.safetensors", out, err, sizeof err), 1);
    for (char *line = strchr(out, '\n') + 1; *line; line = strchr(line, '\n') + 1)
        ck_assert_msg(strncmp(strchr(line, '\n') - 6, "beyond", 6) == 0, "the same with another seed: %s", line);

    /* Step 2: every form, and every kernel version emulated, against naive. */
    int forms = 0;
    while (operator_form_at(d, forms)) forms++;
    for (int f = 0; (form = f < forms ? operator_form_at(d, f) : operator_rung_at(d, f - forms)); f++) {
        snprintf(words, sizeof words, "apply %s%s --form %s%s x.safetensors -o %s", d->name, options, form->name,
                 f < forms ? "" : " --device host", f ? "z.safetensors" : "y.safetensors");
        ck_assert_msg(run(words, out, err, sizeof err) == 0, "%s: %s", words, err);
        if (f == 0) continue;
        char tolerance[40] = "";
        if (form_rounding(form) > 0) snprintf(tolerance, sizeof tolerance, " --tolerance %g", 64 * form_rounding(form));
        snprintf(words, sizeof words, "compare z.safetensors y.safetensors%s", tolerance);
        int code = run(words, out, err, sizeof err);
        ck_assert_msg(code == 0, "%s, %s: %s%s", d->name, form->name, out, err);
    }
}
END_TEST

static void write_four(const char *path, double a, double b, double c, double d)
{
    struct tensor t;
    const double value[] = {a, b, c, d};
    succeeds(tensor_create(&t, "t", 1, (size_t[]){4}));
    for (int i = 0; i < 4; i++) t.data[i] = (real)value[i];
    succeeds(safetensors_write(path, &t, 1));
    tensor_release(&t);
}

/* compare prints the largest and the root mean square difference over the root mean square of B: 1 and 0.5 for
 * B = (3, 1, 1, 5), A with 6 in place of 3, sqrt(36/4) = 3.  Times TINY, B is smaller than rounding of ones. */
#ifdef TWICETOLD_DOUBLE
#define TINY 0x1p-40                    /* three of it are 2.7e-12 */
#define SMALL 0x1p-30
#define ROOT "2.7e-12"
#define MORE "2.8e-12"
#define USUAL "        1e-10"
#else
#define TINY 0x1p-27                    /* three of it are 2.2e-8 */
#define SMALL 0x1p-13
#define ROOT "2.2e-08"
#define MORE "2.3e-08"
#define USUAL "       0.0001"
#endif
START_TEST(compare_measures_against_b)
{
    static const struct { double a[4], b[4]; const char *tolerance, *line; int code; } row[] = {
        {{6, 1, 1, 5}, {3, 1, 1, 5}, " --tolerance 1", "1          0.5            1\n", 0},
        {{6, 1, 1, 5}, {3, 1, 1, 5}, " --tolerance 0.999", "1          0.5        0.999  beyond\n", 1},
        {{6, 1, 1, 5}, {3, 1, 1, 5}, "", "  beyond\n", 1},
        {{3, 1, 1, 5}, {3, 1, 1, 5}, " --tolerance 0", "0            0            0\n", 0},
        {{0, 0, 0, 0}, {0, 0, 0, 0}, " --tolerance 0", "0            0            0\n", 0},
        {{0, 1, 0, 0}, {0, 0, 0, 0}, " --tolerance 1e300", "inf          inf", 1},
        {{NAN, 1, 1, 5}, {3, 1, 1, 5}, " --tolerance 1e300", "beyond", 1},
        {{3, 1, 1, 5}, {3, 1, NAN, 5}, " --tolerance 1e300", "beyond", 1},
        {{NAN, 1, 1, 5}, {NAN, 1, 1, 5}, " --tolerance 1e300", "beyond", 1},
        {{INFINITY, 1, 1, 5}, {INFINITY, 1, 1, 5}, " --tolerance 1e300", "beyond", 1},
        {{6 * TINY, TINY, TINY, 5 * TINY}, {3 * TINY, TINY, TINY, 5 * TINY}, "",
         "1          0.5" USUAL "  beyond; B is " ROOT ": if its terms cancel, allow a --floor\n", 1},
        {{6 * TINY, TINY, TINY, 5 * TINY}, {3 * TINY, TINY, TINY, 5 * TINY}, " --floor " ROOT,
         "1          0.5" USUAL "  beyond; B is " ROOT, 1},
        {{6 * TINY, TINY, TINY, 5 * TINY}, {3 * TINY, TINY, TINY, 5 * TINY}, " --floor " MORE,
         "1          0.5" USUAL "  below the floor\n", 0},
        {{6 * TINY, TINY, TINY, 5 * TINY}, {3 * TINY, TINY, TINY, 5 * TINY}, " --tolerance 1 --floor " MORE,
         "1          0.5            1\n", 0},
        {{6 * SMALL, SMALL, SMALL, 5 * SMALL}, {3 * SMALL, SMALL, SMALL, 5 * SMALL}, "", "  beyond\n", 1},
        {{6, 1, 1, 5}, {3, 1, 1, 5}, " --floor 2.9", "  beyond\n", 1},
        {{6, 1, 1, 5}, {3, 1, 1, 5}, " --floor 3", "  below the floor\n", 0},
        {{0, 1, 0, 0}, {0, 0, 0, 0}, " --floor 1", "  below the floor\n", 0},
        {{0, 1, 0, 0}, {0, 0, 0, 0}, " --floor 0.9", "  beyond; B is 0: if its terms cancel", 1},
        {{NAN, 1, 1, 5}, {3, 1, 1, 5}, " --floor 1e300", "  beyond\n", 1},
        {{3, 1, 1, 5}, {3, 1, NAN, 5}, " --floor 1e300", "  beyond\n", 1},
        {{INFINITY, 1, 1, 5}, {INFINITY, 1, 1, 5}, " --floor 1e300", "  beyond\n", 1},
        {{6e37, 1e37, 1e37, 5e37}, {3e37, 1e37, 1e37, 5e37}, " --tolerance 1.0001", "1          0.5", 0},
        {{6e-37, 1e-37, 1e-37, 5e-37}, {3e-37, 1e-37, 1e-37, 5e-37}, " --tolerance 1.0001", "1          0.5", 0},
    };
    char words[128], out[4096], err[4096];
    for (size_t r = 0; r < COUNT(row); r++) {
        write_four("y.safetensors", row[r].a[0], row[r].a[1], row[r].a[2], row[r].a[3]);
        write_four("z.safetensors", row[r].b[0], row[r].b[1], row[r].b[2], row[r].b[3]);
        snprintf(words, sizeof words, "compare y.safetensors z.safetensors%s", row[r].tolerance);
        int code = run(words, out, err, sizeof err);
        ck_assert_msg(code == row[r].code && strstr(out, row[r].line), "row %zu: %d: %s%s", r, code, out, err);
    }
}
END_TEST

static void write_input(const char *path, size_t images, size_t pixels, size_t channels, const real *x)
{
    struct tensor t;
    succeeds(tensor_create(&t, "x", 3, (size_t[]){images, pixels, channels}));
    memcpy(t.data, x, images * pixels * channels * sizeof *x);
    succeeds(safetensors_write(path, &t, 1));
    tensor_release(&t);
}

/* Logits by the library's own network, with the program's seed. */
static const real *logits_of(const real *x, size_t images)
{
    struct network n;
    struct network_request r = {.form = "fast", .batch = images, .threads = 1};
    real *y = zeros(images * 10);
    succeeds(network_create(&n, network_find("learned-lisa"), &r));
    succeeds(network_draw(&n, 1));
    succeeds(network_place(&n));
    succeeds(network_run(&n, y, x, NULL));
    network_release(&n);
    return y;
}

START_TEST(networks_run_on_pixels_of_a_file)
{
    enum { N = 28 * 28 };
    static const size_t wrong[][2] = {{N - 1, 1}, {N, 3}, {N / 2, 2}};
    static const char words[] = "network learned-lisa --random 1 --threads 1 --input x.safetensors -o z.safetensors";
    real *x = integers(7, 3 * N, 2);
    char out[4096], err[4096];
    for (size_t images = 1; images <= 2; images++) {
        struct tensors made;
        write_input("x.safetensors", images, N, 1, x);
        int code = run(words, out, err, sizeof err);
        ck_assert_msg(code == 0, "%d: %s", code, err);
        succeeds(safetensors_read(&made, "z.safetensors"));
        ck_assert_uint_eq(made.tensor[0].count, 10 * images);
        const real *y = logits_of(x, images);
        within("logits", relative_difference(made.tensor[0].data, y, 10 * images), 0);
        if (images == 2) unequal(y, y + 10, 10);
        tensors_release(&made);
    }
    for (size_t n = 0; n < COUNT(wrong); n++) {
        write_input("x.safetensors", 1, wrong[n][0], wrong[n][1], x);
        ck_assert_int_eq(run(words, out, err, sizeof err), 2);
        ck_assert_msg(strstr(err, "tensor x: found [1, ") && strstr(err, "], expected [B, 784, 1], the pixels of the grid"),
                      "%s", err);
    }
}
END_TEST

/* ---- whole networks -------------------------------------------------------------- */

/* Small networks of images and of video; `pictures` make two inputs. */
static const struct little { const char *name, *grid, *depths, *widths, *heads; int pictures; } little[] = {
    {"litv2-s", "32x32", "1,1,2,1", "6,12,24,48", "1,2,4,4", 2},
    {"structvit-b-4-1-video", "2x32x32", "1,1,1,1", "4,6,8,20", "1,1,2,4", 4},
    {"elsa-swin-t", "64x64", "1,1,1,1", "6,12,24,48", "1,2,4,4", 2},
};

static const char *network_words(const struct little *l, const char *more)
{
    static char words[512];
    snprintf(words, sizeof words, "network %s --grid %s --classes 7 --depths %s --widths %s --heads %s --threads 1 %s",
             l->name, l->grid, l->depths, l->widths, l->heads, more);
    return words;
}

/* The library's own network, of two inputs. */
static struct network network_of(const struct little *l, uint64_t seed)
{
    struct network n;
    succeeds(network_create(&n, network_find(l->name), &(struct network_request){
        .grid = l->grid, .batch = 2, .classes = 7, .depths = l->depths, .widths = l->widths, .heads = l->heads,
        .threads = 1}));
    succeeds(network_draw(&n, seed));
    succeeds(network_place(&n));
    return n;
}

/* Writes w.safetensors: the weights of a network, one of them renamed unless `renamed` is NULL. */
static void write_weights(const struct network *n, const char *renamed)
{
    struct tensor *list = keep(512, sizeof *list);
    size_t count = 0;
    for (char *path; path = keep(NETWORK_PATH, 1), network_weight(&list[count], path, n, count); count++)
        if (renamed && !strcmp(path, renamed)) list[count].name = "nobody";
    succeeds(safetensors_write("w.safetensors", list, count));
}

static void network_runs(const struct little *l, const char *more, char *out, char *err, size_t size)
{
    const char *words = network_words(l, more);
    int code = run(words, out, err, size);
    ck_assert_msg(code == 0 && !*err, "%s: %d, %s", words, code, err);
}

/* Renames the first weight, one in the middle and the last. */
START_TEST(a_network_takes_its_weights_from_a_file)
{
    char out[4096], err[4096], name[NETWORK_PATH], line[256];
    struct tensor t;
    struct network n = network_of(little, 3);
    size_t weights = 0, size[3];
    while (network_weight(&t, name, &n, weights)) weights++;
    network_input_shape(&n, size);
    write_input("x.safetensors", 1, size[1], size[2], normal(7, size[1] * size[2]));

    network_runs(little, "--random 3 --input x.safetensors -o y.safetensors", out, err, sizeof err);
    write_weights(&n, NULL);
    network_runs(little, "--weights w.safetensors --input x.safetensors -o z.safetensors", out, err, sizeof err);
    ck_assert(same_bytes("y.safetensors", "z.safetensors"));
    network_runs(little, "--random 4 --input x.safetensors -o z.safetensors", out, err, sizeof err);
    ck_assert(!same_bytes("y.safetensors", "z.safetensors"));
    unlink("z.safetensors");

    for (size_t w = 0; w < 3; w++) {
        ck_assert(network_weight(&t, name, &n, w * (weights - 1) / 2));
        write_weights(&n, name);
        const char *words = network_words(little, "--weights w.safetensors --input x.safetensors -o z.safetensors");
        int code = run(words, out, err, sizeof err);
        snprintf(line, sizeof line, "twicetold: %s: w.safetensors: tensor %s: missing", little->name, name);
        ck_assert_msg(code == 2 && !strncmp(err, line, strlen(line)), "%d: %s, expected %s", code, err, line);
        ck_assert(strchr(err, '\n') == err + strlen(err) - 1 && access("z.safetensors", F_OK) != 0);
    }
    network_release(&n);
}
END_TEST

/* Writes 0.png, 1.png, ..., random and not square; returns the pixels that a network gets of them. */
static real *write_pictures(int pictures, const struct photo_recipe *recipe, size_t H, size_t W)
{
    real *x = zeros((size_t)pictures * H * W * 3);
    for (int p = 0; p < pictures; p++) {
        char name[16];
        struct image im;
        succeeds(image_create(&im, 40, 48, 3));
        const real *drawn = uniform((uint64_t)p + 1, 40 * 48 * 3, 0, 1);
        memcpy(im.pixels, drawn, 40 * 48 * 3 * sizeof *drawn);
        snprintf(name, sizeof name, "%d.png", p);
        succeeds(image_write_png(&im, name));
        succeeds(photo_read(x + (size_t)p * H * W * 3, name, recipe, H, W, 3));
        image_release(&im);
    }
    return x;
}

START_TEST(a_network_sees_its_pictures_in_order)
{
    const struct little *l = &little[_i];
    struct network n = network_of(l, 3);
    const size_t H = n.grid.size[n.grid.axes - 2], W = n.grid.size[n.grid.axes - 1];
    real *x = write_pictures(l->pictures, &network_find(l->name)->photo, H, W);
    real *y = zeros(2 * n.classes), *stage[NETWORK_STAGES] = {0};
    size_t size[NETWORK_STAGES][3] = {{0}};
    char out[4096], err[4096], name[16], more[192], pictures[2][64] = {"", ""};
    for (int i = 0; i < n.stages; i++) {
        network_stage_shape(&n, i, size[i]);
        stage[i] = zeros(size[i][0] * size[i][1] * size[i][2]);
    }
    succeeds(network_run(&n, y, x, stage));
    unequal(y, y + n.classes, n.classes);
    for (int p = 0; p < l->pictures; p++) {
        snprintf(pictures[0] + strlen(pictures[0]), 16, " %d.png", p);
        snprintf(pictures[1] + strlen(pictures[1]), 16, " %d.png", (p + l->pictures / 2) % l->pictures);
    }

    /* Step 1: stages. */
    for (int order = 0; order < 2; order++) {
        struct tensors made;
        snprintf(more, sizeof more, "--random 3 --stages -o %s%s", order ? "y.safetensors" : "z.safetensors",
                 pictures[order]);
        network_runs(l, more, out, err, sizeof err);
        ck_assert_str_eq(out, "");
        succeeds(safetensors_read(&made, order ? "y.safetensors" : "z.safetensors"));
        ck_assert_uint_eq(made.count, (size_t)n.stages + 1);
        for (int i = -1; i < n.stages; i++) {
            snprintf(name, sizeof name, i < 0 ? "logits" : "stage%d", i + 1);
            const struct tensor *t = tensors_find(&made, name);
            const real *expected = i < 0 ? y : stage[i];
            ck_assert(t && t->axes == (i < 0 ? 2 : 3));
            size_t half = t->count / 2;
            for (int a = 0; a < t->axes; a++)
                ck_assert_uint_eq(t->size[a], i >= 0 ? size[i][a] : a ? n.classes : 2);
            equal(t->data, expected + (order ? half : 0), half);
            equal(t->data + half, expected + (order ? 0 : half), half);
        }
        tensors_release(&made);
    }

    /* Step 2: logits alone, and a profile. */
    static const char *const how[] = {"", " --profile"};
    for (size_t h = 0; h < COUNT(how); h++) {
        struct tensors made;
        snprintf(more, sizeof more, "--random 3%s -o y.safetensors%s", how[h], pictures[0]);
        network_runs(l, more, out, err, sizeof err);
        succeeds(safetensors_read(&made, "y.safetensors"));
        ck_assert(made.count == 1 && !strcmp(made.tensor[0].name, "logits"));
        ck_assert_uint_eq(made.tensor[0].count, 2 * n.classes);
        equal(made.tensor[0].data, y, 2 * n.classes);
        tensors_release(&made);
        ck_assert_int_eq(*out != '\0', h == 1);
    }
    network_release(&n);
}
END_TEST

/* Runs the steps one by one: each has the input that --before writes, and the parameters. */
START_TEST(before_a_step_its_input_and_parameters_are_written)
{
    const struct little *l = &little[_i];
    struct network n = network_of(l, 3);
    size_t size[3];
    char out[4096], err[4096], more[256];
    network_input_shape(&n, size);
    size_t pixels = size[0] * size[1] * size[2];
    real *x = zeros(n.activations + pixels), *h = zeros(n.activations), *y = zeros(n.activations);
    memcpy(x, normal(7, pixels), pixels * sizeof *x);
    write_input("x.safetensors", size[0], size[1], size[2], x);
    for (size_t p = 0; p < n.parts; p++) {
        struct part *part = &n.part[p];
        struct tensors made;
        struct tensor expected[PROBLEM_TENSORS];
        bool from_h = part->step->move == ALONG || part->step->move == JOIN;
        snprintf(more, sizeof more, "--random 3 --before %s --input x.safetensors -o z.safetensors", part->path);
        network_runs(l, more, out, err, sizeof err);
        succeeds(safetensors_read(&made, "z.safetensors"));
        ck_assert_uint_eq(made.count, problem_list(expected, &part->problem));
        expected[0].data = from_h ? h : x;
        for (size_t t = 0; t < made.count; t++) {
            ck_assert_str_eq(made.tensor[t].name, expected[t].name);
            ck_assert_int_eq(made.tensor[t].axes, expected[t].axes);
            ck_assert_uint_eq(made.tensor[t].count, expected[t].count);
            equal(made.tensor[t].data, expected[t].data, expected[t].count);
        }
        tensors_release(&made);

        succeeds(plan_run(&part->plan, y, from_h ? h : x));
        size_t count = problem_output_count(&part->problem);
        if (part->step->move == JOIN || part->step->move == ADD)
            for (size_t i = 0; i < count; i++) x[i] += y[i];
        else memcpy(part->step->move == ON ? x : h, y, count * sizeof *y);
    }
    network_release(&n);
}
END_TEST

/* Names, numbers of steps and multiply-adds are those of the library.  Times are only checked to be numbers. */
START_TEST(a_profile_has_every_kind_of_step)
{
    struct network n = network_of(little, 3);
    struct network_kind kind[NETWORK_KINDS], all;
    char out[8192], err[4096], count[UNITS_TEXT], *rest = NULL;
    write_pictures(2, &(struct photo_recipe){0}, 32, 32);
    network_runs(little, "--random 3 --profile -o y.safetensors 0.png 1.png", out, err, sizeof err);
    succeeds(network_run(&n, zeros(2 * n.classes), normal(1, 2 * 32 * 32 * 3), NULL));
    int kinds = network_kinds(kind, &all, &n), lines = 0;
    size_t steps = 0;
    bool seen[NETWORK_KINDS] = {false};
    char *line = strtok_r(out, "\n", &rest);
    ck_assert(line && !strncmp(line, "step ", 5));
    for (; (line = strtok_r(NULL, "\n", &rest)); lines++) {
        int k = 0;
        char head[32];
        for (size_t length; k < kinds; k++)
            if (length = strlen(kind[k].what), !strncmp(line, kind[k].what, length) && line[length] == ' ') break;
        const struct network_kind *found = k < kinds ? &kind[k] : &all;
        ck_assert_msg(k < kinds ? !seen[k] : lines == kinds && !strncmp(line, "all ", 4), "line %d: %s", lines, line);
        if (k < kinds) seen[k] = true;
        if (k < kinds) steps += found->steps;
        snprintf(head, sizeof head, "%-10s %5zu ", found->what, found->steps);
        ck_assert_msg(!strncmp(line, head, strlen(head)), "'%s' does not begin with '%s'", line, head);
        ck_assert_msg(strstr(line, units_count(count, 8, found->multiply_adds)) && !strstr(line, "nan"), "%s", line);
    }
    ck_assert_int_eq(lines, kinds + 1);
    ck_assert_uint_eq(steps, n.parts);
    network_release(&n);
}
END_TEST

/* 9000 ones, the last of A a two: differences of 1 and of sqrt(1 / 9000). */
START_TEST(compare_reads_long_tensors_in_pieces)
{
    char out[4096], err[4096];
    for (int n = 0; n < 2; n++) {
        struct tensor t;
        succeeds(tensor_create(&t, "t", 1, (size_t[]){9000}));
        for (int i = 0; i < 9000; i++) t.data[i] = 1;
        if (n == 0) t.data[8999] = 2;
        succeeds(safetensors_write(n ? "z.safetensors" : "y.safetensors", &t, 1));
        tensor_release(&t);
    }
    int code = run("compare y.safetensors z.safetensors --tolerance 1", out, err, sizeof err);
    ck_assert_msg(code == 0 && strstr(out, "           1       0.0105            1\n"), "%d: %s%s", code, out, err);
}
END_TEST

/* Control characters in a name must not reach the terminal. */
START_TEST(compare_finds_tensors_by_name)
{
    static const struct { const char *name[3]; const char *says; int code; } second[] = {
        {{"b", "a\x1b[31m\n", "c"}, "a?[31m?                     0            0", 0},
        {{"b", "a", "c"}, "tensor a: in B and not in A", 2},
        {{"b", "c", NULL}, "tensor a?[31m?: in A and not in B", 2},
    };
    char out[4096], err[4096];
    for (size_t n = 0; n <= COUNT(second); n++) {
        static const char *const first[] = {"a\x1b[31m\n", "b", "c"};
        const char *const *name = n ? second[n - 1].name : first;
        struct tensor t[3];
        size_t count = name[2] ? 3 : 2;
        for (size_t i = 0; i < count; i++) {
            succeeds(tensor_create(&t[i], name[i], 1, (size_t[]){1}));
            t[i].data[0] = (real)(1 + name[i][0]);
        }
        succeeds(safetensors_write(n ? "z.safetensors" : "y.safetensors", t, count));
        for (size_t i = 0; i < count; i++) tensor_release(&t[i]);
        if (n == 0) continue;
        int code = run("compare y.safetensors z.safetensors", out, err, sizeof out);
        const char *line = strstr(second[n - 1].code ? err : out, second[n - 1].says);
        ck_assert_msg(code == second[n - 1].code && line, "%d: %s%s", code, out, err);
    }
}
END_TEST

/* Both builds compare F64 as double: 1e-9 in one of four ones exceeds the 1e-10 allowed to two files of F64. */
START_TEST(compare_sees_what_float_does_not)
{
    static const char f64[] = "{\"t\":{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[0,32]}}      ";
    char out[4096], err[4096];
    for (int n = 0; n < 2; n++) {
        double value[] = {1, 1, 1, n ? 1 : 1 + 1e-9};
        unsigned char length[8] = {(unsigned char)(sizeof f64 - 1)};
        FILE *f = fopen(n ? "z.safetensors" : "y.safetensors", "wb");
        ck_assert_ptr_nonnull(f);
        fwrite(length, 1, 8, f);
        fputs(f64, f);
        fwrite(value, sizeof *value, 4, f);
        ck_assert_int_eq(fclose(f), 0);
    }
    ck_assert_int_eq(run("compare y.safetensors z.safetensors", out, err, sizeof err), 1);
    ck_assert_msg(strstr(out, "1e-09        5e-10        1e-10  beyond") != NULL, "%s", out);
    ck_assert_int_eq(run("compare y.safetensors z.safetensors --tolerance 1e-4", out, err, sizeof err), 0);
}
END_TEST

START_TEST(the_shell_is_told_what_may_come_next)
{
    static const struct { const char *words, *offered, *not; } ask[] = {
        {"complete a", "apply\n", "lisa"}, {"complete apply l", "lisa\n", "tokens"},
        {"complete help l", "lisa\n", "--grid"}, {"complete help --m", "--man\n", "--grid"}, {"complete apply lisa --", "--equation\n", "--window"},
        {"complete apply lisa --equation 1", "10\n", "--grid"}, {"complete apply lisa --equation=1", "10\n", "--grid"},
        {"complete apply lisa --form = n", "naive\n", "--grid"},
        {"complete parameters elsa --without g", "ghost_mul\n", "rk"},
        {"complete parameters chopd --sizes R", "R=\n", "--"}, {"complete tokens --", "--images\n", "--equation"},
        {"complete compare --", "--tolerance\n", "-o"}, {"complete compare --", "--floor\n", "-o"},
        {"complete resample lisa --by s", "spectrum\n", "--from"},
        {"complete apply msa --form c", "cuda\n", "--grid"}, {"complete apply msa --device h", "host\n", "cuda"},
    };
    char out[4096], err[4096];
    for (size_t a = 0; a < COUNT(ask); a++) {
        ck_assert_int_eq(run(ask[a].words, out, err, sizeof err), 0);
        ck_assert_msg(strstr(out, ask[a].offered) && !strstr(out, ask[a].not), "%s: %s", ask[a].words, out);
    }
    ck_assert_int_eq(run("complete apply lisa m", out, err, sizeof err), 0);
    ck_assert_str_eq(out, "");
}
END_TEST

/* Rounding may carry a number into the next unit.  µ is two bytes and one column. */
START_TEST(numbers_have_three_digits_and_a_unit)
{
    static const struct { const char *(*say)(char *, int, double); double number; const char *text; } row[] = {
        {units_seconds, 0, "    0 ns"}, {units_seconds, 999.4e-9, "  999 ns"}, {units_seconds, 999.6e-9, " 1.00 µs"},
        {units_seconds, 33.651e-6, " 33.7 µs"}, {units_seconds, 9.996e-3, " 10.0 ms"},
        {units_seconds, 3725, "  3725 s"},
        {units_bytes, 1023, "  1023 B"}, {units_bytes, 1536, "1.50 KiB"}, {units_bytes, 1023.7 * 1024, "1.00 MiB"},
        {units_bytes, 1.8e14, " 164 TiB"}, {units_count, 12, "      12"}, {units_count, 2.456e9, "  2.46 G"},
        {units_count, 999999, "  1.00 M"}, {units_count, 99.95, "     100"}, {units_seconds, NAN, "       -"},
        {units_count, INFINITY, "       -"},
    };
    char text[UNITS_TEXT];
    for (size_t r = 0; r < COUNT(row); r++) ck_assert_str_eq(row[r].say(text, 8, row[r].number), row[r].text);
}
END_TEST

/* Counts characters of UTF-8. */
static size_t columns(const char *line)
{
    size_t count = 0;
    for (; *line; line++) count += ((unsigned char)*line & 0xc0) != 0x80;
    return count;
}

START_TEST(measure_prints_a_table_on_a_terminal)
{
    char out[4096], err[4096];
    static const char measured[] = "measure msa --grid 8x8 --channels 4 --form naive --repeats 1";
    ck_assert_int_eq(run(measured, out, err, sizeof err), 0);
    ck_assert_ptr_nonnull(strstr(out, "#operator\tform\tgrid"));
    if (!terminal_there("measure_prints_a_table_on_a_terminal")) return;
    ck_assert_int_eq(run_on_terminal(measured, out, sizeof out), 0);
    ck_assert_msg(!strchr(out, '\t') && strstr(out, "multiply") == NULL, "%s", out);
    ck_assert_msg(strstr(out, "8x8         naive      1 ") && strstr(out, "s ") && strstr(out, " KiB "), "%s", out);
    for (char *line = strtok(out, "\r\n"); line; line = strtok(NULL, "\r\n"))
        ck_assert_msg(columns(line) <= 100, "%zu columns: %s", columns(line), line);
    snprintf(err, sizeof err, "%s --tsv", measured);
    ck_assert_int_eq(run_on_terminal(err, out, sizeof out), 0);
    ck_assert_ptr_nonnull(strstr(out, "msa\tnaive\t8x8\t64"));
}
END_TEST

START_TEST(tokens_and_spectrum_write_their_tensors)
{
    static const struct { const char *more; struct token_source source; } drawn[] = {
        {"", {.patch = 4, .seed = 1}}, {" --seed 5", {.patch = 4, .seed = 5}}, {" --first 3", {.first = 3, .seed = 1}},
        {" --patch 2", {.patch = 2, .seed = 1}},
    };
    char out[4096], err[4096], words[160], origin[200];
    struct tensors file;
    struct tensor y;
    grid g;
    succeeds(grid_parse(&g, "3x5"));
    for (size_t n = 0; n < COUNT(drawn); n++) {
        real *x = zeros(2 * 15 * 8);
        succeeds(tokens_make(x, 2, &g, 8, &drawn[n].source, origin, sizeof origin));
        snprintf(words, sizeof words, "tokens --grid 3x5 --channels 8 --batch 2%s -o x.safetensors", drawn[n].more);
        int code = run(words, out, err, sizeof out);
        ck_assert_msg(code == 0, "%s", err);
        succeeds(safetensors_read(&file, "x.safetensors"));
        ck_assert(file.count == 1 && !strcmp(file.tensor[0].name, "x") && file.tensor[0].axes == 3);
        ck_assert(!memcmp(file.tensor[0].size, ((size_t[]){2, 15, 8}), 3 * sizeof(size_t)));
        equal(file.tensor[0].data, x, 2 * 15 * 8);
        ck_assert_msg(!strncmp(out, origin, strlen(origin)), "'%s', expected '%s'", out, origin);
        tensors_release(&file);
    }

    real *transformed = zeros(2 * 6 * 5);
    succeeds(tensor_create(&y, "y", 4, (size_t[]){2, 6, 5, 2}));
    memcpy(y.data, normal(1, y.count), y.count * sizeof *y.data);
    succeeds(spectrum(transformed, y.data, 2, 6, 5, 2));
    succeeds(safetensors_write("y.safetensors", &y, 1));
    tensor_release(&y);
    ck_assert_msg(run("spectrum y.safetensors -o z.safetensors", out, err, sizeof out) == 0, "%s", err);
    succeeds(safetensors_read(&file, "z.safetensors"));
    ck_assert(file.count == 1 && file.tensor[0].axes == 3);
    ck_assert(!memcmp(file.tensor[0].size, ((size_t[]){2, 6, 5}), 3 * sizeof(size_t)));
    equal(file.tensor[0].data, transformed, 2 * 6 * 5);
    tensors_release(&file);
}
END_TEST

/* LiSA's kernels by both rules, an RPE, the ghost matrices [C, P] of msa, a position table.  All other tensors are
 * copied. */
START_TEST(resample_fits_tensors_to_another_grid)
{
    static const struct { const char *made, *command, *tensor; size_t outer, inner; enum regrid_rule rule; } chain[] = {
        {"lisa --grid 4x3 --heads 2 --channels 4 --sizes D=3", "lisa --heads 2 --by zeros", "wa", 1, 6, REGRID_ZEROS},
        {"lisa --grid 4x3 --heads 2 --channels 4 --sizes D=3", "lisa --by spectrum", "wb", 1, 3, REGRID_SPECTRUM},
        {"lisa --grid 4x3 --equation 6 --channels 4 --sizes D=3", "lisa --equation 6 --by bicubic", "ea", 1, 12,
         REGRID_BICUBIC},
        {"msa --grid 4x3 --channels 4 --lambda 1", "msa --by bicubic", "ghost_add", 4, 1, REGRID_BICUBIC},
        {"position --grid 4x3 --channels 5", "position --by bicubic", "table", 1, 5, REGRID_BICUBIC},
    };
    char out[4096], err[4096], words[200];
    struct tensors before, after;
    for (size_t n = 0; n < COUNT(chain); n++) {
        snprintf(words, sizeof words, "parameters %s -o w.safetensors", chain[n].made);
        ck_assert_msg(run(words, out, err, sizeof out) == 0, "%s", err);
        snprintf(words, sizeof words, "resample %s --from 4x3 --to 6x5 w.safetensors -o z.safetensors",
                 chain[n].command);
        ck_assert_msg(run(words, out, err, sizeof out) == 0, "%s", err);
        succeeds(safetensors_read(&before, "w.safetensors"));
        succeeds(safetensors_read(&after, "z.safetensors"));
        ck_assert_uint_eq(before.count, after.count);
        for (size_t t = 0; t < after.count; t++) {
            const struct tensor *a = &before.tensor[t], *b = &after.tensor[t];
            ck_assert_str_eq(a->name, b->name);
            ck_assert_int_eq(a->axes, b->axes);
            if (!strcmp(a->name, chain[n].tensor)) {
                bool table = chain[n].rule == REGRID_BICUBIC && strcmp(a->name, "table") != 0;
                size_t from[] = {4, 3, 1}, to[] = {6, 5, 1};
                for (int axis = 0; table && axis < 2; axis++) {
                    from[axis] = 2 * from[axis] - 1;
                    to[axis] = 2 * to[axis] - 1;
                }
                real *y = zeros(b->count);
                ck_assert_uint_eq(b->count, chain[n].outer * to[0] * to[1] * chain[n].inner);
                succeeds(regrid(y, a->data, chain[n].outer, from, to, chain[n].inner, chain[n].rule));
                equal(b->data, y, b->count);
            } else if (a->count == b->count) {
                equal(b->data, a->data, a->count);
            }
            ck_assert(strcmp(a->name, "x") != 0 || a->count == b->count);
        }
        tensors_release(&before);
        tensors_release(&after);
    }

    static const struct { const char *words, *complaint; } wrong[] = {
        {"resample position --from 4x3 --to 6x5 --by zeros w.safetensors -o z.safetensors",
         "position: tensor table: found --by zeros, expected bicubic"},
        {"resample position --from 4x4 --to 6x5 --by bicubic w.safetensors -o z.safetensors",
         "position: tensor table: found [12, 5], expected 16 entries along axis 1 of 2"},
        {"parameters lisa --grid 4x3 --channels 4 --kernel 3x3 --sizes D=3 -o w.safetensors", ""},
        {"resample lisa --kernel 3x3 --from 4x3 --to 6x5 --by zeros w.safetensors -o z.safetensors",
         "lisa: found no tensor with an entry for each token"},
        {"parameters lisa --grid 4x3 --channels 4 --sizes D=3 -o w.safetensors", ""},
        {"resample lisa --from 4x3 --to 6x5 --by bicubic w.safetensors -o z.safetensors",
         "lisa: tensor wa: found --by bicubic, expected zeros or spectrum"},
        {"resample lisa --from 4x3 --to 4x2 --by zeros w.safetensors -o z.safetensors",
         "lisa: tensor wa: found 2 tokens along axis 2 for 3, expected no fewer"},
    };
    unlink("z.safetensors");
    for (size_t n = 0; n < COUNT(wrong); n++) {
        ck_assert_int_eq(run(wrong[n].words, out, err, sizeof out), *wrong[n].complaint ? 2 : 0);
        ck_assert_msg(strstr(err, wrong[n].complaint) != NULL, "'%s' lacks '%s'", err, wrong[n].complaint);
    }
    ck_assert_int_ne(access("z.safetensors", F_OK), 0);
}
END_TEST

int main(int argc, char **argv)
{
    /* build/tests/test_program runs build/twicetold. */
    char here[2048], *slash;
    int operators;
    if (argc < 1 || !realpath(argv[0], here) || !(slash = strrchr(here, '/'))) return EXIT_FAILURE;
    *slash = '\0';
    snprintf(folder_of_programs, sizeof folder_of_programs, "%s/..", here);
    if (!getcwd(tree, sizeof tree)) return EXIT_FAILURE;        /* where suites are run */

    Suite *suite = suite_create("program");
    TCase *cases = add_case(suite, "command line");
    tcase_add_checked_fixture(cases, enter, leave);
    tcase_add_test(cases, apply_writes_y);
    tcase_add_loop_test(cases, bad_input_is_one_line_and_status_two, 0, (int)COUNT(bad));
    tcase_add_test(cases, no_output_is_half_written);
    tcase_add_test(cases, an_interrupted_command_leaves_nothing_beside);
    tcase_add_test(cases, the_program_explains_itself);
    tcase_add_test(cases, every_letter_is_defined);
    tcase_add_test(cases, measure_keeps_what_it_timed);
    tcase_add_test(cases, a_value_may_stand_behind_an_equals_sign);
    for (operators = 0; operator_at(operators); operators++) continue;
    tcase_add_loop_test(cases, parameters_apply_and_compare_make_a_chain, 0, operators);
    tcase_add_test(cases, compare_measures_against_b);
    tcase_add_test(cases, compare_reads_long_tensors_in_pieces);
    tcase_add_test(cases, compare_finds_tensors_by_name);
    tcase_add_test(cases, compare_sees_what_float_does_not);
    tcase_add_test(cases, the_shell_is_told_what_may_come_next);
    tcase_add_test(cases, numbers_have_three_digits_and_a_unit);
    tcase_add_test(cases, tokens_and_spectrum_write_their_tensors);
    tcase_add_test(cases, resample_fits_tensors_to_another_grid);

    TCase *measured = add_case(suite, "measure");
    tcase_add_checked_fixture(measured, enter, leave);
    tcase_add_test(measured, work_of_hours_is_asked_about);
    tcase_add_test(measured, measure_leaves_out_what_does_not_fit);
    tcase_add_test(measured, measure_does_as_its_options_say);
    tcase_add_test(measured, measure_prints_a_table_on_a_terminal);

    TCase *networks = add_case(suite, "whole networks");
    tcase_add_checked_fixture(networks, enter, leave);
    tcase_add_test(networks, networks_run_on_pixels_of_a_file);
    tcase_add_test(networks, a_network_takes_its_weights_from_a_file);
    tcase_add_loop_test(networks, a_network_sees_its_pictures_in_order, 0, (int)COUNT(little));
    tcase_add_loop_test(networks, before_a_step_its_input_and_parameters_are_written, 0, (int)COUNT(little));
    tcase_add_test(networks, a_profile_has_every_kind_of_step);

    TCase *figures = add_case(suite, "figures");        /* the slowest last */
    tcase_add_checked_fixture(figures, enter, leave);
    tcase_add_test(figures, figures_are_computed);
#if !defined TWICETOLD_DOUBLE
    tcase_add_loop_test(figures, maps_are_computed, 0, 2);
    tcase_add_test(figures, drawn_counts_are_those_of_the_kernels);
#endif
    return run_suite(suite);
}
