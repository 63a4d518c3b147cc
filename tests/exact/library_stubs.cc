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

/* Interleaved complex signals on a grid of up to three axes, in place. */
struct fftw_transform { int axes, size[3], signals, sign; };

fftw_plan fftw_plan_many_dft(int axes, const int *size, int signals, fftw_complex *, const int *, int, int,
                             fftw_complex *, const int *, int, int, int sign, unsigned)
{
    fftw_plan plan = (fftw_plan)malloc(sizeof *plan);
    *plan = {axes, {1, 1, 1}, signals, sign};
    for (int a = 0; a < axes; a++) plan->size[a] = size[a];
    return plan;
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
