/* fftw.c -- the plain form of LiSA, with FFTW's transforms
 *
 * The rest is fast/lisa.c, whose core calls FFTW for one channel at a time.
 *
 * Contract: reference/lisa.h. */

#include "../../lisa.h"
#include "../forms.h"
#include "fft.h"

struct lisa_fftw {
    struct lisa_plain plain;
    struct fft plans;
};

/* G of the first thread has the alignment of every spectrum. */
static status load(struct plan *plan)
{
    struct lisa_fftw *f = plan->state;
    const struct circulant *circle = &f->plain.circle;
    status s = fft_load(&f->plans, circle->tokens.axes, circle->size, 1, &f->plain.G->re);
    if (s.code) return s;
    f->plain.fourier.library = fft_run;
    f->plain.fourier.plans = &f->plans;
    return lisa_plain_load(plan);
}

static void release(struct plan *plan)
{
    struct lisa_fftw *f = plan->state;
    fft_release(&f->plans);
}

static double multiply_adds(const void *params) { return circulant_multiply_adds(params, false); }

const struct form lisa_fftw = {
    .name = "fftw", .state = sizeof(struct lisa_fftw), .prepare = lisa_plain_prepare, .load = load, .run = heads_run,
    .release = release, .multiply_adds = multiply_adds,
};
