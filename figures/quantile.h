/* quantile.h -- quartiles of what a clock said */

#ifndef TWICETOLD_QUANTILE_H
#define TWICETOLD_QUANTILE_H

#include <stdlib.h>

static inline int quantile_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void quantile_sort(double *number, size_t count)
{
    qsort(number, count, sizeof *number, quantile_order);
}

/* The quantile q, 0 to 1, of one sorted number or more, linear between neighbours. */
static inline double quantile(const double *sorted, size_t count, double q)
{
    double at = q * (double)(count - 1);
    size_t low = (size_t)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

#endif
