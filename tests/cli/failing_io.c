/* failing_io.c -- faults for a program and its libraries, by LD_PRELOAD=failing_io.so (glibc only)
 *
 *     FAIL_AT=12 FAIL_ALL=1 FAIL_REPORT=file
 *         While main runs, request for memory number FAIL_AT (from 0) returns NULL; with FAIL_ALL, all later ones, too.
 *         The report has a line for each of the first eight failed requests, the library or program that made it.  When
 *         main returns, "left N of M" follows: N unfreed blocks of the program and of libraries that read files, M
 *         requests.
 *     SIGNAL_AT_FSYNC=15
 *         The program receives the signal in fsync, when its temporary file is complete but not yet renamed.
 *     EXPONENT=2
 *         exp(x) becomes exp(EXPONENT x): the softmax of the naive forms is wrong.  Fast forms do not call exp. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names of the C library */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static atomic_bool armed;
static atomic_long seen, failed;
static long fail_at = -1;
static int all, report = -1;
static const char *program;

/* ---- the report ------------------------------------------------------------- */

static const char *file_of(const void *caller)
{
    Dl_info about;
    if (!dladdr(caller, &about) || !about.dli_fname) return "?";
    const char *slash = strrchr(about.dli_fname, '/');
    return slash ? slash + 1 : about.dli_fname;
}

static void write_report(const char *text)
{
    ssize_t ignored = report < 0 ? 0 : write(report, text, strlen(text));
    ignored += report < 0 ? 0 : write(report, "\n", 1);
    (void)ignored;
}

/* ---- blocks in use ------------------------------------------------------- */

#define PLACES (1u << 16)
static _Atomic(void *) place[PLACES];
static atomic_long left;

static bool is_watched(const void *caller)
{
    const char *name = file_of(caller);
    return (program && !strcmp(name, program)) || !strncmp(name, "libcjson", 8) || !strncmp(name, "libpng", 6)
        || !strncmp(name, "libjpeg", 7) || !strncmp(name, "libz.", 5);
}

static size_t first_place(const void *block) { return ((uintptr_t)block >> 4) * 2654435761u % PLACES; }

static void *remember(void *block, const void *caller)
{
    if (!block || !atomic_load(&armed) || !is_watched(caller)) return block;
    for (size_t n = 0, at = first_place(block); n < 64; n++, at = (at + 1) % PLACES) {
        void *none = NULL;
        if (!atomic_compare_exchange_strong(&place[at], &none, block)) continue;
        atomic_fetch_add(&left, 1);
        break;
    }
    return block;
}

static void forget(void *block)
{
    for (size_t n = 0, at = first_place(block); n < 64 && block; n++, at = (at + 1) % PLACES) {
        void *expected = block;
        if (!atomic_compare_exchange_strong(&place[at], &expected, NULL)) continue;
        atomic_fetch_sub(&left, 1);
        break;
    }
}

/* ---- requests ------------------------------------------------------------------ */

static bool fails(const void *caller)
{
    if (!atomic_load(&armed)) return false;
    long number = atomic_fetch_add(&seen, 1);
    if (fail_at < 0 || number < fail_at || (number > fail_at && !all)) return false;
    if (atomic_fetch_add(&failed, 1) < 8) write_report(file_of(caller));
    errno = ENOMEM;
    return true;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t bytes)
{
    return fails(CALLER) ? NULL : remember(__libc_malloc(bytes), CALLER);
}

void *calloc(size_t count, size_t size)
{
    return fails(CALLER) ? NULL : remember(__libc_calloc(count, size), CALLER);
}

void *realloc(void *block, size_t bytes)
{
    if (fails(CALLER)) return NULL;
    void *moved = __libc_realloc(block, bytes);
    if (moved || !bytes) forget(block);
    return remember(moved, CALLER);
}

void *memalign(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : remember(__libc_memalign(alignment, bytes), CALLER);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : remember(__libc_memalign(alignment, bytes), CALLER);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    void *got = fails(CALLER) ? NULL : remember(__libc_memalign(alignment, bytes), CALLER);
    if (!got) return ENOMEM;
    *block = got;
    return 0;
}

void free(void *block)
{
    forget(block);
    __libc_free(block);
}

/* ---- a signal ------------------------------------------------------------------ */

int fsync(int file)
{
    const char *number = getenv("SIGNAL_AT_FSYNC");
    if (number) raise((int)strtol(number, NULL, 10));
    return (int)syscall(SYS_fsync, file);
}

/* ---- an exponential ------------------------------------------------------------- */

double exp(double x)
{
    static double (*real_exp)(double);
    const char *factor = getenv("EXPONENT");
    if (!real_exp) *(void **)&real_exp = dlsym(RTLD_NEXT, "exp");
    return real_exp(factor ? strtod(factor, NULL) * x : x);
}

float expf(float x) { return (float)exp((double)x); }

/* ---- main ----------------------------------------------------------------------- */

typedef int main_function(int, char **, char **);
static main_function *their_main;

static int watched_main(int count, char **words, char **environment)
{
    const char *number = getenv("FAIL_AT"), *path = getenv("FAIL_REPORT"), *slash = strrchr(words[0], '/');
    char text[80];
    program = slash ? slash + 1 : words[0];
    fail_at = number ? strtol(number, NULL, 10) : -1;
    all = getenv("FAIL_ALL") != NULL;
    report = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    atomic_store(&armed, true);
    int code = their_main(count, words, environment);
    atomic_store(&armed, false);
    snprintf(text, sizeof text, "left %ld of %ld", atomic_load(&left), atomic_load(&seen));
    write_report(text);
    return code;
}

/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): it calls main */
int __libc_start_main(main_function *begin, int count, char **words, void (*a)(void), void (*b)(void), void (*c)(void),
                      void *stack);
int __libc_start_main(main_function *begin, int count, char **words, void (*a)(void), void (*b)(void), void (*c)(void),
                      void *stack)
{
    __typeof__(&__libc_start_main) real_start;
    *(void **)&real_start = dlsym(RTLD_NEXT, "__libc_start_main");
    their_main = begin;
    return real_start(watched_main, count, words, a, b, c, stack);
}
