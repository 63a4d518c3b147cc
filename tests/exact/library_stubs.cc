/* library_stubs.cc -- matrix products and Fourier transforms by their definitions; see library_stubs.h */

#include "library_stubs.h"

const prime_turns cosine(circle_cosine), sine(circle_sine);
const real eighth = circle_cosine(1, 8), sixteenth[] = {circle_cosine(1, 16), circle_sine(1, 16)};

void cblas_dgemm(CBLAS_ORDER, CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, int rows, int columns,
                 int terms, real alpha, const real *a, int a_stride, const real *b, int b_stride, real beta, real *c,
                 int c_stride)
{
    bool keeps = beta != real(0);               /* beta = 0: c may be uninitialised */
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            real sum = 0, &to = c[(ptrdiff_t)i * c_stride + j];
            for (int t = 0; t < terms; t++)
                sum += (transpose_a == CblasTrans ? a[(ptrdiff_t)t * a_stride + i] : a[(ptrdiff_t)i * a_stride + t])
                     * (transpose_b == CblasTrans ? b[(ptrdiff_t)j * b_stride + t] : b[(ptrdiff_t)t * b_stride + j]);
            to = keeps ? alpha * sum + beta * to : alpha * sum;
        }
}

/* Interleaved complex signals on a grid of up to three axes, in place; or one signal, real or complex, out of place. */
struct fftw_transform {
    int axes, size[3], signals, sign;
    const real *in;
    real *out;
    bool real_in, real_out;

    size_t points() const { return (size_t)size[0] * (size_t)size[1] * (size_t)size[2]; }
    size_t last() const { return (size_t)size[axes - 1]; }
};

static fftw_plan plan_of(int axes, const int *size, int signals, const real *in, real *out, int sign,
                         bool real_in = false, bool real_out = false)
{
    fftw_plan plan = (fftw_plan)malloc(sizeof *plan);
    *plan = {axes, {1, 1, 1}, signals, sign, in, out, real_in, real_out};
    for (int a = 0; a < axes; a++) plan->size[a] = size[a];
    return plan;
}

fftw_plan fftw_plan_many_dft(int axes, const int *size, int signals, fftw_complex *, const int *, int, int,
                             fftw_complex *, const int *, int, int, int sign, unsigned)
{
    return plan_of(axes, size, signals, NULL, NULL, sign);
}

fftw_plan fftw_plan_dft(int axes, const int *size, fftw_complex *in, fftw_complex *out, int sign, unsigned)
{
    return plan_of(axes, size, 1, *in, *out, sign);
}

fftw_plan fftw_plan_dft_r2c(int axes, const int *size, real *in, fftw_complex *out, unsigned)
{
    return plan_of(axes, size, 1, in, *out, FFTW_FORWARD, true);
}

fftw_plan fftw_plan_dft_r2c_1d(int size, real *in, fftw_complex *out, unsigned flags)
{
    return fftw_plan_dft_r2c(1, &size, in, out, flags);
}

fftw_plan fftw_plan_dft_c2r_1d(int size, fftw_complex *in, real *out, unsigned)
{
    return plan_of(1, &size, 1, *in, out, FFTW_BACKWARD, false, true);
}

/* The stored half of a real signal's spectrum determines the other half by conjugate symmetry. */
void fftw_execute(fftw_plan plan)
{
    size_t points = plan->points(), n = plan->last(), half = n / 2 + 1;
    fftw_complex *z = (fftw_complex *)malloc(points * sizeof *z);
    for (size_t i = 0; i < points; i++)
        for (size_t part = 0; part < 2; part++)
            if (plan->real_in) z[i][part] = part ? real(0) : plan->in[i];
            else if (!plan->real_out) z[i][part] = plan->in[2 * i + part];
            else if (i < half) z[i][part] = plan->in[2 * i + part];
            else z[i][part] = part ? -plan->in[2 * (n - i) + 1] : plan->in[2 * (n - i)];
    fftw_execute_dft(plan, z, z);
    for (size_t i = 0; i < points; i++)
        for (size_t part = 0; part < 2; part++)
            if (plan->real_out) plan->out[i] = z[i][0];
            else if (!plan->real_in) plan->out[2 * i + part] = z[i][part];
            else if (i % n < half) plan->out[2 * (i / n * half + i % n) + part] = z[i][part];
    free(z);
}

void fftw_destroy_plan(fftw_plan plan) { free(plan); }

/* Along each axis: out_o = sum_i in_i w^(i o). */
void fftw_execute_dft(fftw_plan plan, fftw_complex *in, fftw_complex *z)
{
    size_t points = 1, step = (size_t)plan->signals;
    if (in != z) field_stops("the transform is in place");
    for (int a = 0; a < plan->axes; a++) points *= (size_t)plan->size[a];
    for (int a = plan->axes - 1; a >= 0; step *= (size_t)plan->size[a--]) {
        size_t n = (size_t)plan->size[a];
        real *turned = (real *)malloc(2 * n * sizeof *turned), *cosines = (real *)malloc(2 * n * sizeof *cosines);
        for (size_t k = 0; k < n; k++) {
            cosines[k] = turn_cosine(k, n);
            cosines[n + k] = real(plan->sign) * turn_sine(k, n);
        }
        for (size_t line = 0; line < points / n * (size_t)plan->signals; line++) {
            fftw_complex *first = z + line / step * step * n + line % step;
            for (size_t o = 0; o < n; o++) {
                real re = 0, im = 0;
                for (size_t i = 0; i < n; i++) {
                    const real &c = cosines[i * o % n], &s = cosines[n + i * o % n];
                    re += first[i * step][0] * c - first[i * step][1] * s;
                    im += first[i * step][0] * s + first[i * step][1] * c;
                }
                turned[2 * o] = re;
                turned[2 * o + 1] = im;
            }
            for (size_t o = 0; o < n; o++) {
                first[o * step][0] = turned[2 * o];
                first[o * step][1] = turned[2 * o + 1];
            }
        }
        free(turned);
        free(cosines);
    }
}
