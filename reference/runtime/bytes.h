/* bytes.h -- limits on memory, work and threads
 *
 * The bytes of a plan are known before they are allocated (arena.h), and its multiply-adds before it runs (plan.h).  So
 * the programs reject a problem that is too large before they begin. */

#pragma once
#include <stddef.h>
#include "status.h"

BEGIN_C_DECLS

/* Reads the value of --max-memory: 1 to 2^62 bytes, with a suffix K, M, G or T for powers of 1024.  If text is NULL,
 * *allowed is three quarters of the free memory: of MemAvailable in /proc/meminfo, or of all memory if that cannot be
 * read. */
status bytes_allowed(size_t *allowed, const char *text);

/* Bad input if more bytes are needed than allowed.  SIZE_MAX (an overflow) is never allowed. */
status bytes_fit(size_t needed, size_t allowed);

/* Multiply-adds that take hours: at 10^9 per second, 10^13 take three hours. */
#define WORK_OF_HOURS 1e13

/* Bad input if there are more multiply-adds than allowed. */
status work_fits(double multiply_adds, double allowed);

/* The default number of threads: OpenMP's, but one in a child of fork.  A child has none of its parent's threads; if
 * the parent had a team, OpenMP would wait for them for ever.  A process counts as a child of fork until it calls exec.
 * If the library was loaded after the fork, it finds that out from /proc/self/stat. */
int default_threads(void);

/* For tests, which Check runs in children of fork: this process counts as not forked. */
void default_threads_here(void);

/* Call this before a team runs.  A team of several threads is bad input if an ancestor of this process had one before
 * the fork. */
status team_begins(int threads);

END_C_DECLS
