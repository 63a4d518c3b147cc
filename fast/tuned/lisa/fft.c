/* fft.c -- FFTW; see fft.h */

#include "fft.h"
#include <fftw3.h>

/* A plan for channels innermost: neighbours on the grid are `signals` complex numbers apart. */
static FFTW(plan) plan(int axes, const int *size, int signals, real *points, int sign)
{
    FFTW(complex) *z = (FFTW(complex) *)points;
    return FFTW(plan_many_dft)(axes, size, signals, z, NULL, signals, 1, z, NULL, signals, 1, sign, FFTW_ESTIMATE);
}

status fft_load(struct fft *f, int axes, const size_t *size, size_t signals, real *points)
{
    int sizes[GRID_AXES];
    for (int a = 0; a < axes; a++) sizes[a] = (int)size[a];
    fft_release(f);

    #pragma omp critical(fftw_planner)
    {
        f->forward = plan(axes, sizes, (int)signals, points, FFTW_FORWARD);
        f->inverse = plan(axes, sizes, (int)signals, points, FFTW_BACKWARD);
    }
    if (f->forward && f->inverse) return status_ok();
    fft_release(f);
    return failure("FFTW made no plan for %zu transforms side by side", signals);
}

void fft_release(struct fft *f)
{
    #pragma omp critical(fftw_planner)
    {
        if (f->forward) FFTW(destroy_plan)(f->forward);
        if (f->inverse) FFTW(destroy_plan)(f->inverse);
    }
    *f = (struct fft){0};
}

void fft_run(const struct fft *f, real *points, bool inverse)
{
    FFTW(complex) *z = (FFTW(complex) *)points;
    FFTW(execute_dft)(inverse ? f->inverse : f->forward, z, z);
}
