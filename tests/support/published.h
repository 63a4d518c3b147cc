/* published.h -- numbers that the papers print, by table and row
 *
 * reference/published/PAPER.tsv holds lines of table, row, quantity and value, separated by tabs.  Lines that begin
 * with # are comments. */

#ifndef TWICETOLD_TESTS_PUBLISHED_H
#define TWICETOLD_TESTS_PUBLISHED_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support.h"

/* The printed value; a missing row fails the test. */
static inline double published(const char *paper, const char *table, const char *row, const char *quantity)
{
    char path[128], line[256], wanted[256];
    double value = 0;
    bool found = false;
    snprintf(path, sizeof path, "reference/published/%s.tsv", paper);
    int length = snprintf(wanted, sizeof wanted, "%s\t%s\t%s\t", table, row, quantity);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s cannot be opened", path);
    while (!found && fgets(line, sizeof line, f)) {
        found = !strncmp(line, wanted, (size_t)length);
        if (found) value = strtod(line + length, NULL);
    }
    fclose(f);
    ck_assert_msg(found, "%s has no table %s, row %s, %s", path, table, row, quantity);
    return value;
}

/* Whether a value rounds to the printed number, whose last digit counts `unit`. */
static inline bool prints(double value, double printed, double unit)
{
    return fabs(value - printed) <= unit / 2 * (1 + 1e-9);
}

#endif
