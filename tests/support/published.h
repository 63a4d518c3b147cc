/* published.h -- numbers that the papers print: reference/published/PAPER.tsv, with columns table, row, quantity,
 * value */

#pragma once
#include "tsv.h"

/* The printed value; a missing row fails the test. */
static inline double published(const char *paper, const char *table, const char *row, const char *quantity)
{
    char *path = keep(128, 1);
    double value = NAN;
    snprintf(path, 128, "reference/published/%s.tsv", paper);
    for (struct tsv *t = tsv_open(path); tsv_row(t);)
        if (!strcmp(tsv_cell(t, "table"), table) && !strcmp(tsv_cell(t, "row"), row)
            && !strcmp(tsv_cell(t, "quantity"), quantity))
            value = tsv_number(t, "value");
    ck_assert_msg(!isnan(value), "%s has no table %s, row %s, %s", path, table, row, quantity);
    return value;
}

/* True if a value rounds to the printed number, whose last digit has this unit. */
static inline bool prints(double value, double printed, double unit)
{
    return fabs(value - printed) <= unit / 2 * (1 + 1e-9);
}
