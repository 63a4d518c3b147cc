/* lisa_costs.h -- the cost of each step of lisa.c, by formula
 *
 * tests/figures/test_ladder.c compares multiply-adds with counts; steps.h defines the bytes. */

#pragma once
#include "../../reference/lisa.h"
#include "steps.h"

double lisa_by_lanes(const void *params);
double lisa_by_registers(const void *params);

struct traffic lisa_traffic(const void *params, int step);

/* The least prime factor of n > 1. */
static inline size_t factor(size_t n)
{
    size_t p = 2;
    while (n % p > 0) p++;
    return p;
}

/* The factor that is transformed in registers; 0 if n has no prime factor up to 7. */
static inline size_t radix(size_t n)
{
    static const size_t radices[] = {8, 7, 5, 4, 3, 2};
    for (size_t r = 0; r < sizeof radices / sizeof *radices; r++)
        if (n % radices[r] == 0) return radices[r];
    return 0;
}
