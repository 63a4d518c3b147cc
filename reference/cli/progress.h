/* progress.h -- a progress bar on stderr, if that is a terminal */

#pragma once
#include <stdbool.h>

struct progress {
    bool shown;
    double start, total, done;      /* seconds; work, whose unit is the caller's */
    double next;                    /* the bar is not drawn before this time */
};

/* The bar appears after this many seconds. */
struct progress progress_begin(double total, double after);

/* Draws the bar, at most once per second, with the estimated time left and two words. */
void progress_show(struct progress *p, const char *what, const char *where);
void progress_clear(const struct progress *p);
