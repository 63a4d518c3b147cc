/* progress.c -- a progress bar; see progress.h */

#include "progress.h"
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

struct progress progress_begin(double total, double after)
{
    double now = omp_get_wtime();
    return (struct progress){.shown = isatty(2), .start = now, .total = total, .next = now + after};
}

void progress_show(struct progress *p, const char *what, const char *where)
{
    double now = omp_get_wtime();
    if (!p->shown || now < p->next) return;
    double share = p->done / p->total, left = share > 0 ? (now - p->start) * (1 - share) / share : 0;
    char bar[25];
    for (int i = 0; i < 24; i++) bar[i] = i < (int)(24 * share) ? '#' : '.';
    bar[24] = 0;
    fprintf(stderr, "\r\033[K[%s] %3.0f %%", bar, 100 * share);
    if (share > 0) fprintf(stderr, "  %.0f:%02.0f left", floor(left / 60), floor(fmod(left, 60)));
    fprintf(stderr, "  %s %s", what, where);
    fflush(stderr);
    p->next = now + 1;
}

void progress_clear(const struct progress *p)
{
    if (p->shown) fputs("\r\033[K", stderr);
}
