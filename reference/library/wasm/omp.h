/* omp.h -- OpenMP's functions for builds without it: one thread */

#pragma once

static inline int omp_get_thread_num(void) { return 0; }
static inline int omp_get_num_threads(void) { return 1; }
static inline int omp_get_max_threads(void) { return 1; }
static inline void omp_set_num_threads(int threads) { (void)threads; }
