/* profile.c -- the time of a network, by kind of step; see profile.h */

#include "profile.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_seconds(const void *a, const void *b)
{
    double x = ((const struct network_kind *)a)->seconds, y = ((const struct network_kind *)b)->seconds;
    return (x < y) - (x > y);
}

int network_kinds(struct network_kind kind[NETWORK_KINDS], struct network_kind *all, const struct network *n)
{
    int kinds = 1;
    kind[0] = (struct network_kind){.what = "x + f", .seconds = n->adding};
    for (size_t p = 0; p < n->parts; p++) {
        const struct part *part = &n->part[p];
        int k = 0;
        while (k < kinds && strcmp(kind[k].what, part->step->what)) k++;
        if (k == NETWORK_KINDS) k--;            /* impossible: there are fewer operators and layers */
        else if (k == kinds) kind[kinds++] = (struct network_kind){.what = part->step->what};
        kind[k].steps++;
        kind[k].seconds += part->seconds;
        kind[k].multiply_adds += form_multiply_adds(part->plan.form, &part->problem);
    }
    *all = (struct network_kind){.what = "all"};
    for (int k = 0; k < kinds; k++) {
        all->steps += kind[k].steps;
        all->seconds += kind[k].seconds;
        all->multiply_adds += kind[k].multiply_adds;
    }
    qsort(kind, (size_t)kinds, sizeof *kind, by_seconds);
    return kinds;
}

double network_if_free(const struct network_kind *kind, const struct network_kind *all)
{
    return 1 / (1 - kind->seconds / all->seconds);
}

status network_profile(struct network *n, real *logits, const real *x, int runs)
{
    double *least = memory_get(n->parts, sizeof *least), adding = INFINITY;
    status s = least ? status_ok() : out_of_memory("the times of a profile");
    for (size_t p = 0; p < n->parts && !s.code; p++) least[p] = INFINITY;
    for (int run = 0; run <= runs && !s.code; run++) {
        s = network_run(n, logits, x, NULL);
        adding = fmin(adding, n->adding);
        for (size_t p = 0; p < n->parts; p++) least[p] = fmin(least[p], n->part[p].seconds);
    }
    for (size_t p = 0; p < n->parts && !s.code; p++) n->part[p].seconds = least[p];
    n->adding = adding;
    memory_free(least);
    return s;
}
