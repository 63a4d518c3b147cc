/* failing_io.c -- a malloc that fails, an fsync that is interrupted, and a wrong exponential, for a program and all its
 * libraries (glibc only)
 *
 *     LD_PRELOAD=refusing.so REFUSE=12 REFUSE_ALL=1 REFUSE_REPORT=file build/twicetold ...
 *
 * While main runs, request number REFUSE (from 0) returns NULL; with REFUSE_ALL, all later ones, too.  The report has a
 * line for each of the first failed requests, with the file that made it, and after main "left N": blocks that the
 * program, cJSON, libpng or zlib did not free.
 *
 *     LD_PRELOAD=refusing.so SIGNAL_AT_FSYNC=15 build/twicetold ...
 *
 * The program receives the signal when it calls fsync: its temporary file is complete, and not yet renamed.
 *
 *     LD_PRELOAD=refusing.so EXPONENT=2 build/twicetold verify msa
 *
 * exp(x) becomes exp(EXPONENT x): the softmax of the naive forms is wrong.  Fast forms have an exponential of their own. */

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
static char only[64];
static atomic_long seen, rejected;
static long reject = -1;
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

static void tell(const char *text)
{
    ssize_t ignored = report < 0 ? 0 : write(report, text, strlen(text));
    ignored += report < 0 ? 0 : write(report, "\n", 1);
    (void)ignored;
}

/* ---- blocks to be freed ------------------------------------------------------- */

#define PLACES (1u << 16)
static _Atomic(void *) place[PLACES];
static atomic_long left;

static bool is_ours(const void *caller)
{
    const char *name = file_of(caller);
    return (program && !strcmp(name, program)) || !strncmp(name, "libcjson", 8) || !strncmp(name, "libpng", 6)
        || !strncmp(name, "libz.", 5);
}

static size_t first_place(const void *block) { return ((uintptr_t)block >> 4) * 2654435761u % PLACES; }

static void *remember(void *block, const void *caller)
{
    if (!block || !atomic_load(&armed) || !is_ours(caller)) return block;
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
        void *this_one = block;
        if (!atomic_compare_exchange_strong(&place[at], &this_one, NULL)) continue;
        atomic_fetch_sub(&left, 1);
        break;
    }
}

/* ---- requests ------------------------------------------------------------------ */

static bool rejects(const void *caller)
{
    if (!atomic_load(&armed) || (*only && strncmp(file_of(caller), only, strlen(only)) != 0)) return false;
    long number = atomic_fetch_add(&seen, 1);
    if (reject < 0 || number < reject || (number > reject && !all)) return false;
    if (atomic_fetch_add(&rejected, 1) < 8) tell(file_of(caller));
    errno = ENOMEM;
    return true;
}

/* For Python: from now on only requests from files with this prefix count, from 0, and request `number` fails (-1:
 * none). Returns the number counted since the last call. */
long refuse_of(const char *file, long number);
long refuse_of(const char *file, long number)
{
    snprintf(only, sizeof only, "%s", file);
    reject = number;
    return atomic_exchange(&seen, 0);
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t bytes)
{
    return rejects(CALLER) ? NULL : remember(__libc_malloc(bytes), CALLER);
}

void *calloc(size_t count, size_t size)
{
    return rejects(CALLER) ? NULL : remember(__libc_calloc(count, size), CALLER);
}

void *realloc(void *block, size_t bytes)
{
    if (rejects(CALLER)) return NULL;
    void *moved = __libc_realloc(block, bytes);
    if (moved || !bytes) forget(block);
    return remember(moved, CALLER);
}

void *memalign(size_t alignment, size_t bytes)
{
    return rejects(CALLER) ? NULL : remember(__libc_memalign(alignment, bytes), CALLER);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return rejects(CALLER) ? NULL : remember(__libc_memalign(alignment, bytes), CALLER);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    void *got = rejects(CALLER) ? NULL : remember(__libc_memalign(alignment, bytes), CALLER);
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
    const char *number = getenv("REFUSE"), *path = getenv("REFUSE_REPORT"), *slash = strrchr(words[0], '/');
    char text[80];
    program = slash ? slash + 1 : words[0];
    reject = number ? strtol(number, NULL, 10) : -1;
    all = getenv("REFUSE_ALL") != NULL;
    report = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    atomic_store(&armed, true);
    int code = their_main(count, words, environment);
    atomic_store(&armed, false);
    snprintf(text, sizeof text, "left %ld of %ld", atomic_load(&left), atomic_load(&seen));
    tell(text);
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
