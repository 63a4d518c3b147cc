/* log_spectrum.c -- the frequencies of a feature map; see log_spectrum.h */

#include "log_spectrum.h"
#include <complex.h>
#include <fftw3.h>
#include <limits.h>
#include <tgmath.h>
#include "../runtime/memory.h"

struct transform {              /* plane [H][W] -> half [H][W/2+1] */
    real *plane;
    FFTW(complex) *half;
    FFTW(plan) plan;
};

static void release(struct transform *t)
{
    if (t->plan) {
        #pragma omp critical(fftw_planner)
        FFTW(destroy_plan)(t->plan);
    }
    memory_free(t->plane);
    memory_free(t->half);
}

static status prepare(struct transform *t, size_t height, size_t width)
{
    *t = (struct transform){
        .plane = memory_reals(height, width, 1, 1),
        .half = memory_get(height * (width / 2 + 1), sizeof *t->half),
    };
    if (t->plane && t->half) {
        #pragma omp critical(fftw_planner)
        t->plan = FFTW(plan_dft_r2c_2d)((int)height, (int)width, t->plane, t->half, FFTW_ESTIMATE);
    }
    if (t->plan) return status_ok();
    release(t);
    return out_of_memory("a spectrum");
}

/* out [H][W] += log |F| of every frequency, in shifted order.  F(-u, -v) = conj F(u, v) gives the half of F that is not
 * stored. */
static void add_logarithms(real *out, FFTW(complex) *half, size_t height, size_t width)
{
    size_t stored = width / 2 + 1;
    for (size_t u = 0; u < height; u++)
    for (size_t v = 0; v < width; v++) {
        size_t at = v < stored ? u * stored + v : (height - u) % height * stored + width - v;
        size_t row = (u + height / 2) % height, column = (v + width / 2) % width;
        out[row * width + column] += log(fabs(half[at]));
    }
}

status spectrum(real *out, const real *y, size_t batch, size_t height, size_t width, size_t channels)
{
    if (batch == 0 || height == 0 || width == 0 || channels == 0)
        return bad_input("spectrum of [%zu, %zu, %zu, %zu], expected sizes of at least 1",
                         batch, height, width, channels);
    if (height > INT_MAX / width)
        return bad_input("spectrum of %zu x %zu points, expected at most %d", height, width, INT_MAX);

    struct transform t;
    size_t points = height * width;
    status s = prepare(&t, height, width);
    if (s.code) return s;

    for (size_t c = 0; c < channels; c++) {
        real *out_c = out + c * points;
        for (size_t i = 0; i < points; i++) out_c[i] = 0;

        for (size_t b = 0; b < batch; b++) {
            for (size_t i = 0; i < points; i++) t.plane[i] = y[(b * points + i) * channels + c];
            FFTW(execute)(t.plan);
            add_logarithms(out_c, t.half, height, width);
        }
        for (size_t i = 0; i < points; i++) out_c[i] /= (real)batch;
    }
    release(&t);
    return status_ok();
}
