/* memory.c -- one allocator, aligned and counted; see memory.h
 *
 * A line of 64 bytes before each block holds its size.
 *
 * Large blocks use Linux's transparent huge pages (2 MiB on most machines).  One column of a map of tokens may touch
 * one page of 4 KiB for each token, more than the TLB holds.  The counters count requested bytes, rounded up to 64; a
 * block may use up to one huge page more. */

#ifdef __linux__
#define _DEFAULT_SOURCE 1       /* madvise */
#include <sys/mman.h>
#endif
#include "memory.h"
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LINE ((size_t)64)
#define PAGE ((size_t)2 << 20)      /* a huge page */

static atomic_size_t in_use, peak, limit;
static atomic_long requests_left = -1;
static atomic_bool failing_once, junk_wanted;

bool size_multiply(size_t *product, size_t a, size_t b)
{
    if (a != 0 && b > SIZE_MAX / a) return false;
    *product = a * b;
    return true;
}

void size_add(size_t *sum, size_t a, size_t b)
{
    size_t product;
    bool counted = size_multiply(&product, a, b) && product <= SIZE_MAX - *sum;
    *sum = counted ? *sum + product : SIZE_MAX;
}

/* True if a test wants this request to fail. */
static bool request_fails(void)
{
    long left = atomic_load(&requests_left);
    if (left > 0 || (left == 0 && atomic_load(&failing_once))) atomic_fetch_sub(&requests_left, 1);
    return left == 0;
}

/* Allocates a multiple of 64 bytes; from half a huge page on, whole huge pages if the system has them. */
static void *allocate(size_t bytes)
{
#ifdef MADV_HUGEPAGE
    size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
    if (bytes >= PAGE / 2 && pages >= bytes) {
        void *block = aligned_alloc(PAGE, pages);
        if (block) madvise(block, pages, MADV_HUGEPAGE);
        if (block) return block;
    }
#endif
    return aligned_alloc(LINE, bytes);
}

void *memory_get(size_t count, size_t size)
{
    size_t bytes;
    if (!size_multiply(&bytes, count, size) || bytes > SIZE_MAX - 2 * LINE) return NULL;
    bytes = (bytes + LINE - 1) / LINE * LINE + LINE;

    /* The limit is checked before the block is counted, so two threads may exceed it together. */
    size_t most = atomic_load(&limit);
    if (request_fails() || (most && bytes - LINE > most - (atomic_load(&in_use) < most ? atomic_load(&in_use) : most)))
        return NULL;
    char *line = allocate(bytes);
    if (!line) return NULL;
    memcpy(line, &bytes, sizeof bytes);
    size_t now = atomic_fetch_add(&in_use, bytes - LINE) + bytes - LINE;
    size_t seen = atomic_load(&peak);
    while (now > seen && !atomic_compare_exchange_weak(&peak, &seen, now)) continue;
    memory_fill_junk(line + LINE, bytes - LINE);
    return line + LINE;
}

void memory_free(void *block)
{
    size_t bytes;
    if (!block) return;
    char *line = (char *)block - LINE;
    memcpy(&bytes, line, sizeof bytes);
    atomic_fetch_sub(&in_use, bytes - LINE);
    free(line);
}

real *memory_reals(size_t a, size_t b, size_t c, size_t d)
{
    size_t n;
    if (!size_multiply(&n, a, b) || !size_multiply(&n, n, c) || !size_multiply(&n, n, d)) return NULL;
    return memory_get(n, sizeof(real));
}

size_t memory_in_use(void) { return atomic_load(&in_use); }
size_t memory_peak(void) { return atomic_load(&peak); }
void memory_reset_peak(void) { atomic_store(&peak, atomic_load(&in_use)); }
void memory_set_limit(size_t bytes) { atomic_store(&limit, bytes); }

void memory_set_junk(bool junk) { atomic_store(&junk_wanted, junk); }

void memory_fill_junk(void *block, size_t bytes)
{
    if (bytes && atomic_load(&junk_wanted)) memset(block, 0xff, bytes);
}

void memory_fail_after(long requests)
{
    atomic_store(&failing_once, false);
    atomic_store(&requests_left, requests);
}

void memory_fail_once(long requests)
{
    atomic_store(&failing_once, true);
    atomic_store(&requests_left, requests);
}
