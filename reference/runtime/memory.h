/* memory.h -- one allocator, aligned and counted
 *
 * Every byte that a form asks for passes here, so that its peak is measured
 * and not estimated.  Blocks are aligned to 64 bytes, one cache line and one
 * AVX-512 vector.  What FFTW, OpenBLAS, oneDNN and the C library keep for themselves
 * is not seen.  Nor can it be answered for where it fails: FFTW then aborts the
 * process, libgomp ends it with a line of its own, and OpenBLAS, which takes its
 * buffers before main, waits for ever where an address space is limited (ulimit -v)
 * to less than about 330 MB for two threads.  Where oneDNN has none, OpenBLAS multiplies.
 *
 * The counters are shared by all threads and exact; peaks of two operators
 * that run at the same time cannot be told apart. */

#ifndef TWICETOLD_MEMORY_H
#define TWICETOLD_MEMORY_H

#include <stdbool.h>
#include "real.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *product = a b; false, and *product unchanged, where that overflows. */
bool size_multiply(size_t *product, size_t a, size_t b);

/* *sum += a b; SIZE_MAX, more than there can be, where that overflows. */
void size_add(size_t *sum, size_t a, size_t b);

/* Room for count objects of size bytes, uninitialised; NULL when the product
 * overflows or memory is out.  Freed by memory_free, which accepts NULL. */
void *memory_get(size_t count, size_t size);
void memory_free(void *block);

/* Room for a tensor of a*b*c*d reals; write 1 for the axes it has not. */
real *memory_reals(size_t a, size_t b, size_t c, size_t d);

/* Bytes handed out and not yet freed; the most there ever were since
 * memory_reset_peak, which sets the peak to what is in use. */
size_t memory_in_use(void);
size_t memory_peak(void);
void memory_reset_peak(void);

/* From now on a request that would bring the bytes in use above this limit
 * fails as if memory were out; 0 lifts the limit. */
void memory_set_limit(size_t bytes);

/* For tests: the next `requests` requests succeed, and all later ones fail, or
 * just the one after them.  With a negative number all succeed again. */
void memory_fail_after(long requests);
void memory_fail_once(long requests);

/* For tests: from now on each new block is filled with junk, bytes of 0xff, and so is a plan's workspace before
 * each load and run (arena.h).  As reals these bytes are NaN, and as an index they are out of range. */
void memory_set_junk(bool junk);

/* Fills bytes with junk if that was asked for. */
void memory_fill_junk(void *block, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
