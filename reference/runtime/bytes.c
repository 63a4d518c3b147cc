/* bytes.c -- limits on memory, work and threads; see bytes.h */

#define _POSIX_C_SOURCE 200809L

#include "bytes.h"
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decimal.h"

/* The machine may have more memory than a process has addresses. */
static size_t addressable(uint64_t bytes)
{
    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

static size_t free_bytes(void)
{
    char line[128];
    uint64_t bytes = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && !bytes && fgets(line, sizeof line, file))
        if (!strncmp(line, "MemAvailable:", 13)) bytes = strtoull(line + 13, NULL, 10) * 1024;
    if (file) fclose(file);
    if (!bytes) bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return addressable(bytes);
}

status bytes_allowed(size_t *allowed, const char *text)
{
    static const char suffix[] = "KMGT";
    *allowed = free_bytes() / 4 * 3;
    if (!text) return status_ok();

    char *end = NULL;
    double value = decimal_read(text, &end);
    size_t digits = strspn(text, "0123456789.");
    const char *unit = *end ? strchr(suffix, *end) : NULL, *rest = unit ? end + 1 : end;
    if (unit) value *= ldexp(1, 10 * (int)(unit - suffix + 1));
    if (!digits || text + digits != end || *rest || !(value >= 1) || value > 0x1p62)
        return bad_input("option --max-memory: found '%.40s', expected bytes, as 512M or 8G", text);
    *allowed = addressable((uint64_t)value);
    return status_ok();
}

status bytes_fit(size_t needed, size_t allowed)
{
    if (needed <= allowed && needed < SIZE_MAX) return status_ok();
    return bad_input("needs %s%zu bytes of memory, allowed are %zu (option --max-memory)",
                     needed == SIZE_MAX ? "more than " : "", needed, allowed);
}

status work_fits(double multiply_adds, double allowed)
{
    if (!(multiply_adds > allowed)) return status_ok();
    return bad_input("makes %.3g multiply-adds, allowed are %.3g (option --max-work)",
                     multiply_adds, allowed);
}

#ifdef _OPENMP
static long loaded_in;              /* the process that loaded this library */
static long named;                  /* the process that default_threads_here was called in */
static atomic_long worked_in;       /* the first process that ran a team of several threads */

__attribute__((constructor)) static void remember_process(void)
{
    loaded_in = (long)getpid();
}

/* Linux marks a process that was forked and has not called exec by the flag PF_FORKNOEXEC, 0x40.  The flags are field 9
 * of /proc/self/stat; field 2 is a name in parentheses. */
static bool is_forked(void)
{
    unsigned long flags = 0;
    char line[512];
    if (named == (long)getpid()) return false;
    if (loaded_in != (long)getpid()) return true;
    FILE *file = fopen("/proc/self/stat", "r");
    const char *field = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    for (int n = 2; field && n < 9; n++) field = strchr(field + 1, ' ');
    if (field) flags = strtoul(field, NULL, 10);
    if (file) fclose(file);
    return flags & 0x40;
}

int default_threads(void)
{
    return is_forked() ? 1 : omp_get_max_threads();
}

void default_threads_here(void)
{
    named = (long)getpid();
}

status team_begins(int threads)
{
    long here = (long)getpid(), there = threads > 1 ? atomic_load(&worked_in) : here;
    if (there && there != here)
        return bad_input("threads: found %d, expected 1 in a child of fork, which has none of the parent's threads",
                         threads);
    if (!there) atomic_store(&worked_in, here);
    return status_ok();
}
#else
int default_threads(void) { return 1; }
void default_threads_here(void) { }
status team_begins(int threads) { return (void)threads, status_ok(); }
#endif
