/* memory.h -- one allocator, aligned and counted
 *
 * All memory of forms is allocated here.  Blocks are aligned to 64 bytes: a cache line, or a vector of AVX-512.
 *
 * Memory that FFTW, OpenBLAS, oneDNN and the C library allocate is not counted.  Out of memory, FFTW aborts the
 * process, and libgomp prints a message and ends it.  OpenBLAS allocates buffers before main; with a small ulimit -v it
 * may wait for ever.  If oneDNN runs out of memory, CBLAS computes the product.
 *
 * All threads share the counters, which are exact. */

#pragma once
#include <stdbool.h>
#include "real.h"

BEGIN_C_DECLS

/* *product = a b; false, and *product unchanged, if that overflows. */
bool size_multiply(size_t *product, size_t a, size_t b);

/* *sum += a b, or SIZE_MAX if that overflows. */
void size_add(size_t *sum, size_t a, size_t b);

/* Allocates `count` objects of `size` bytes, uninitialised; NULL if the product overflows or memory is exhausted.
 * memory_free accepts NULL. */
void *memory_get(size_t count, size_t size);
void memory_free(void *block);

/* Allocates a*b*c*d reals. */
real *memory_reals(size_t a, size_t b, size_t c, size_t d);

/* Bytes allocated and not yet freed; their maximum since memory_reset_peak, which sets it to the present value. */
size_t memory_in_use(void);
size_t memory_peak(void);
void memory_reset_peak(void);

/* An allocation that would bring the bytes in use above this limit fails; 0: no limit. */
void memory_set_limit(size_t bytes);

/* For tests: after `requests` more allocations, all later ones fail, or only the next one.  With a negative number none
 * fails. */
void memory_fail_after(long requests);
void memory_fail_once(long requests);

/* For tests: fills each new block with junk, bytes of 0xff, and the scratch memory of a plan before each load and run
 * (arena.h).  As a real, junk is NaN; as an index, it is out of range. */
void memory_set_junk(bool junk);

/* Fills the bytes with junk if memory_set_junk(true) was called. */
void memory_fill_junk(void *block, size_t bytes);

END_C_DECLS
