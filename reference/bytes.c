/* bytes.c -- how much memory and work a program may take; see bytes.h */

#define _POSIX_C_SOURCE 200809L

#include "bytes.h"
#include <math.h>
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
