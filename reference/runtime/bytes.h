/* bytes.h -- how much memory, work and threads a program may take, and what it says where
 * that is too little
 *
 * What a problem needs is known before any of it is taken (arena.h), and what it
 * multiplies before it begins (plan.h), so a size that does not fit is refused at once,
 * and not by the machine an hour later, or the day after. */

#ifndef TWICETOLD_BYTES_H
#define TWICETOLD_BYTES_H

#include <stddef.h>
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What --max-memory allows: bytes, or with a suffix K, M, G or T of powers of
 * 1024, and never more than there are addresses.  Where the text is NULL, three quarters
 * of what is free: of MemAvailable in /proc/meminfo where that can be read, else of all
 * that the machine has. */
status bytes_allowed(size_t *allowed, const char *text);

/* Refuses to need more than is allowed; SIZE_MAX is more than can be counted, and never allowed. */
status bytes_fit(size_t needed, size_t allowed);

/* So many multiply-adds take hours: 10^13 are three hours of loops that make 10^9 in a
 * second, and some minutes of a fast form. */
#define WORK_OF_HOURS 1e13

/* Refuses to make more multiply-adds than are allowed. */
status work_fits(double multiply_adds, double allowed);

/* The default number of threads: as many as OpenMP would take, and one in a child of fork.  A child has none of its
 * parent's threads, and a team of OpenMP would wait for them for ever, whoever had started them.  A process counts as a
 * child of fork until it calls exec.  If the fork was before this library was loaded, only /proc/self/stat tells. */
int default_threads(void);

/* For tests, which Check runs in children of fork: this process counts as one that was not forked. */
void default_threads_here(void);

/* To be called before a team of this library works.  Bad input if a team has worked in a process from which
 * this one was forked. */
status team_begins(int threads);

#ifdef __cplusplus
}
#endif

#endif
