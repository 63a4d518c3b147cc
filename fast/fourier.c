/* fourier.c -- a recursive mixed-radix Fourier transform; see fourier.h */

#include "fourier.h"
#include "turns.h"

static size_t smallest_factor(size_t n)
{
    for (size_t p = 2; p * p <= n; p++)
        if (n % p == 0) return p;
    return n;
}

/* y_k = sum_j x_j w^(jk), w = exp(-2 pi i / n), for n points of x, `step` apart (Cooley and Tukey 1965).
 *
 * Let p be a prime factor of n, and m = n / p.  Split j by its remainder modulo p, j = p l + r:
 *
 *     y_k = sum_r w^(rk) Y_rk,    Y_rk = sum_l x_{pl+r} (w^p)^(lk)
 *
 * Y_r is a transform of m points, so Y_rk has period m in k.  root [n step] holds the powers of the w of the outermost
 * call, so w^e is root[e step]; part [p] is scratch. */
static void line_transform(struct number *y, const struct number *x, size_t n, size_t step,
                           const struct number *root, struct number *part)
{
    size_t p = smallest_factor(n), m = n / p;

    if (n == 1) {
        y[0] = x[0];
        return;
    }
    for (size_t r = 0; r < p; r++) line_transform(y + r * m, x + r * step, m, p * step, root, part);
    for (size_t first = 0; first < m; first++) {                    /* the p frequencies k = first modulo m */
        for (size_t r = 0; r < p; r++) part[r] = y[r * m + first];
        for (size_t k = first; k < n; k += m) {
            struct number sum = part[0];
            for (size_t r = 1, e = k; r < p; r++, e = e + k < n ? e + k : e + k - n) {      /* e is rk modulo n */
                struct number w = root[e * step];
                sum.re += w.re * part[r].re - w.im * part[r].im;
                sum.im += w.re * part[r].im + w.im * part[r].re;
            }
            y[k] = sum;
        }
    }
}

/* Transforms every line along every axis. */
void fourier_transform(struct number *z, const struct fourier *f, bool back, struct number *line)
{
    const struct number *root = f->root[back];
    size_t step = f->points;

    if (f->plans) {
        f->library(f->plans, &z->re, back);
        return;
    }
    for (int axis = 0; axis < GRID_AXES; axis++) {
        size_t n = f->size[axis];
        step /= n;
        for (size_t first = 0; n > 1 && first < f->points; first += n * step)
            for (size_t s = first; s < first + step; s++) {
                for (size_t j = 0; j < n; j++) line[j] = z[s + j * step];
                line_transform(line + n, line, n, 1, root, line + 2 * n);
                for (size_t j = 0; j < n; j++) z[s + j * step] = line[n + j];
            }
        root += n;
    }
}

void fourier_prepare(struct fourier *f, struct arena *arena, const size_t size[GRID_AXES])
{
    size_t longest = 1, all = 0, object = sizeof(struct number);

    f->points = 1;
    for (int axis = 0; axis < GRID_AXES; axis++) {
        f->size[axis] = size[axis];
        f->points *= size[axis];
        all += size[axis];
        if (size[axis] > longest) longest = size[axis];
    }
    for (int back = 0; back < 2; back++)
        arena_objects(arena, PERSISTENT, &f->root[back], "roots of unity", all, 1, object);
    arena_objects(arena, PER_THREAD, &f->line, "a line of an axis", longest, 3, object);
}

void fourier_load(struct fourier *f)
{
    struct number *root = f->root[0], *back = f->root[1];

    for (int axis = 0; axis < GRID_AXES; axis++)
        for (size_t j = 0; j < f->size[axis]; j++) {
            real re = turn_cosine(j, f->size[axis]), im = turn_sine(j, f->size[axis]);
            *root++ = (struct number){re, -im};
            *back++ = (struct number){re, im};
        }
}

double fourier_multiplications(const size_t size[GRID_AXES])
{
    double points = 1, terms = 0;
    for (int axis = 0; axis < GRID_AXES; axis++) {
        points *= (double)size[axis];
        for (size_t n = size[axis]; n > 1; n /= smallest_factor(n)) terms += (double)smallest_factor(n) - 1;
    }
    return 4 * points * terms;
}
