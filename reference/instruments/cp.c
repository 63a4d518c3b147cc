/* cp.c -- a tensor as a sum of outer products; see cp.h
 *
 * The axes are cut in two halves, so that the tensor is a matrix [left][right]
 * and every large sum is a matrix product: with the terms of the right half it
 * gives what all axes of the left half need, and the other way about.
 *
 * All of it runs in one team of threads, in which OpenBLAS is serial and so adds
 * in one order.  One thread goes from step to step; products are cut into blocks
 * of rows that depend on sizes alone, and the team shares the blocks.  Not tuned
 * beyond that. */

#include "cp.h"
#include <cblas.h>
#include <f77blas.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "../bytes.h"
#include "../memory.h"
#include "../random.h"

enum {
    BLOCKS = 16, BLOCK_ROWS = 16,       /* of a product: at most so many, of at least so many rows */
    TILE_ROWS = 32, TILE_COLUMNS = 128  /* of the residual, on a thread's stack */
};

static const double damping = 1e-12;
static const size_t small = (size_t)1 << 20;    /* entries x rank below which blocks are not shared */

struct work {
    const double *tensor;
    bool shared;                        /* large enough for blocks to be shared */
    int axes, split;                    /* axes before `split` are the left half */
    const size_t *size;
    size_t rank, left, right;
    double norm;
    double *factor[CP_AXES], *before[CP_AXES], *best[CP_AXES];
    double *gram[CP_AXES];              /* U^T U of each factor */
    double *normal, *system;            /* G as it is, and with lambda, factorised; [rank][rank] */
    double *scale;                      /* [rank] */
    double *solution;                   /* [largest size][rank] */
    double *terms[2];                   /* products of the half's factors, [left][rank] and [right][rank] */
    double *contracted;                 /* the tensor times one half's terms, [the other half][rank] */
};

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }
static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* ---- sizes and memory --------------------------------------------------- */

static bool product_of(size_t *product, const size_t size[], int count)
{
    *product = 1;
    for (int a = 0; a < count; a++)
        if (!size_multiply(product, *product, size[a])) return false;
    return true;
}

static double *doubles(size_t a, size_t b)
{
    size_t count;
    return size_multiply(&count, a, b) ? memory_get(count, sizeof(double)) : NULL;
}

static status check_sizes(int axes, const size_t size[], size_t rank)
{
    size_t entries;
    if (axes < CP_AXES_MIN || axes > CP_AXES)
        return bad_input("tensor of %d axes, expected %d to %d", axes, CP_AXES_MIN, CP_AXES);
    for (int a = 0; a < axes; a++)
        if (size[a] == 0) return bad_input("axis %d of size 0, expected at least 1", a);
    if (rank == 0 || rank > INT_MAX) return bad_input("rank %zu, expected 1 to %d", rank, INT_MAX);
    if (!product_of(&entries, size, axes) || entries > SIZE_MAX / sizeof(double))
        return bad_input("a tensor of more entries than can be addressed");
    return status_ok();
}

/* Of axes first ... last-1; their product is known to fit. */
static size_t entries_of(const struct work *w, int first, int last)
{
    size_t entries = 1;
    for (int a = first; a < last; a++) entries *= w->size[a];
    return entries;
}

/* Cuts the axes where the larger half is smallest. */
static status cut(struct work *w)
{
    size_t least = SIZE_MAX;
    for (int s = 1; s < w->axes; s++) {
        size_t left = entries_of(w, 0, s), right = entries_of(w, s, w->axes);
        if (larger(left, right) >= least) continue;
        least = larger(left, right);
        w->split = s;
        w->left = left;
        w->right = right;
    }
    if (least > INT_MAX) return bad_input("half of the axes make %zu entries, expected at most %d", least, INT_MAX);
    return status_ok();
}

static void release(struct work *w)
{
    for (int a = 0; a < CP_AXES; a++) {
        memory_free(w->factor[a]);
        memory_free(w->before[a]);
        memory_free(w->best[a]);
        memory_free(w->gram[a]);
    }
    memory_free(w->normal);
    memory_free(w->system);
    memory_free(w->scale);
    memory_free(w->solution);
    memory_free(w->terms[0]);
    memory_free(w->terms[1]);
    memory_free(w->contracted);
}

static status prepare(struct work *w)
{
    size_t largest = 1;
    bool there = true;
    for (int a = 0; a < w->axes; a++) {
        there = there && (w->factor[a] = doubles(w->size[a], w->rank))
                      && (w->before[a] = doubles(w->size[a], w->rank)) && (w->best[a] = doubles(w->size[a], w->rank))
                      && (w->gram[a] = doubles(w->rank, w->rank));
        largest = larger(largest, w->size[a]);
    }
    there = there && (w->normal = doubles(w->rank, w->rank)) && (w->system = doubles(w->rank, w->rank))
         && (w->scale = doubles(w->rank, 1)) && (w->solution = doubles(largest, w->rank))
         && (w->terms[0] = doubles(w->left, w->rank)) && (w->terms[1] = doubles(w->right, w->rank))
         && (w->contracted = doubles(larger(w->left, w->right), w->rank));
    if (there) return status_ok();
    release(w);
    return out_of_memory("a CP decomposition");
}

/* ---- terms and products --------------------------------------------------- */

/* terms [product of sizes first ... last-1][rank]: for each place the product of
 * the factors' rows. */
static void multiply_terms(double *terms, double *const factor[], const size_t size[], size_t rank,
                           int first, int last)
{
    size_t rows = 1;
    for (size_t r = 0; r < rank; r++) terms[r] = 1;

    /* Axis by axis, from the last row to the first, so that a row is read before
     * it is written over. */
    for (int a = first; a < last; a++) {
        for (size_t row = rows; row-- > 0;)
            for (size_t i = size[a]; i-- > 0;) {
                const double *from = terms + row * rank, *u = factor[a] + i * rank;
                double *to = terms + (row * size[a] + i) * rank;
                for (size_t r = 0; r < rank; r++) to[r] = from[r] * u[r];
            }
        rows *= size[a];
    }
}

static void half_terms(struct work *w, int half)
{
    multiply_terms(w->terms[half], w->factor, w->size, w->rank, half ? w->split : 0, half ? w->axes : w->split);
}

/* contracted = tensor times the other half's terms. */
static void contract(struct work *w, int half)
{
    size_t rows = half ? w->right : w->left, inner = half ? w->left : w->right;
    size_t block = larger(BLOCK_ROWS, (rows + BLOCKS - 1) / BLOCKS), blocks = (rows + block - 1) / block;

    #pragma omp taskloop grainsize(1) if(w->shared)
    for (size_t b = 0; b < blocks; b++) {
        size_t first = b * block, count = smaller(block, rows - first);
        cblas_dgemm(CblasRowMajor, half ? CblasTrans : CblasNoTrans, CblasNoTrans,
                    (int)count, (int)w->rank, (int)inner,
                    1, w->tensor + (half ? first : first * w->right), (int)w->right,
                    w->terms[!half], (int)w->rank,
                    0, w->contracted + first * w->rank, (int)w->rank);
    }
}

/* solution [size[a]][rank] = what is contracted, times the terms of its half's
 * other axes, summed over these. */
static void gather(struct work *w, int axis, int half)
{
    int first = half ? w->split : 0, last = half ? w->axes : w->split;
    size_t rows = half ? w->right : w->left, coordinate[CP_AXES] = {0};

    memset(w->solution, 0, w->size[axis] * w->rank * sizeof(double));
    for (size_t row = 0; row < rows; row++) {
        double *to = w->solution + coordinate[axis] * w->rank;
        double *from = w->contracted + row * w->rank;
        const double *u[CP_AXES];
        int others = 0;
        for (int a = first; a < last; a++)
            if (a != axis) u[others++] = w->factor[a] + coordinate[a] * w->rank;

        if (others == 0)
            for (size_t r = 0; r < w->rank; r++) to[r] += from[r];
        else if (others == 1)
            for (size_t r = 0; r < w->rank; r++) to[r] += from[r] * u[0][r];
        else if (others == 2)
            for (size_t r = 0; r < w->rank; r++) to[r] += from[r] * u[0][r] * u[1][r];
        else
            for (size_t r = 0; r < w->rank; r++) to[r] += from[r] * u[0][r] * u[1][r] * u[2][r];

        for (int a = last; a-- > first;) {
            if (++coordinate[a] < w->size[a]) break;
            coordinate[a] = 0;
        }
    }
}

/* Sum of squares of tensor - terms over one tile. */
static double tile_squares(const double *tensor, const double *left, const double *right,
                           size_t stride, size_t rank, size_t rows, size_t columns)
{
    double tile[TILE_ROWS * TILE_COLUMNS], sum = 0;

    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)columns, (int)rank,
                1, left, (int)rank, right, (int)rank, 0, tile, TILE_COLUMNS);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            double d = tensor[i * stride + j] - tile[i * TILE_COLUMNS + j];
            sum += d * d;
        }
    return sum;
}

/* ||tensor - terms||.  `sums` has room for a number for each band of TILE_ROWS
 * rows; they are added in the order of the bands. */
static double distance(const struct work *w, const double *tensor, double *sums)
{
    size_t bands = (w->left + TILE_ROWS - 1) / TILE_ROWS;
    double sum = 0;

    #pragma omp taskloop grainsize(1) if(w->shared)
    for (size_t b = 0; b < bands; b++) {
        size_t i = b * TILE_ROWS, rows = smaller(TILE_ROWS, w->left - i);
        sums[b] = 0;
        for (size_t j = 0; j < w->right; j += TILE_COLUMNS)
            sums[b] += tile_squares(tensor + i * w->right + j, w->terms[0] + i * w->rank, w->terms[1] + j * w->rank,
                                    w->right, w->rank, rows, smaller(TILE_COLUMNS, w->right - j));
    }
    for (size_t b = 0; b < bands; b++) sum += sums[b];
    return sqrt(sum);
}

static double current_error(struct work *w)
{
    half_terms(w, 0);
    half_terms(w, 1);
    return distance(w, w->tensor, w->contracted) / w->norm;
}

/* ---- one start ------------------------------------------------------------ */

static void make_gram(struct work *w, int axis)
{
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)w->rank, (int)w->rank, (int)w->size[axis],
                1, w->factor[axis], (int)w->rank, w->factor[axis], (int)w->rank, 0, w->gram[axis], (int)w->rank);
}

/* normal = G, and scale = the lengths that the held terms have: the roots of its
 * diagonal, 1 for terms that vanish. */
static void make_normal(struct work *w, int axis)
{
    size_t entries = w->rank * w->rank;
    for (size_t i = 0; i < entries; i++) w->normal[i] = 1;
    for (int a = 0; a < w->axes; a++)
        for (size_t i = 0; a != axis && i < entries; i++) w->normal[i] *= w->gram[a][i];
    for (size_t r = 0; r < w->rank; r++) {
        double length = sqrt(w->normal[r * w->rank + r]);
        w->scale[r] = length > 0 ? length : 1;
    }
}

/* system = Cholesky's factor of G, scaled to ones on its diagonal, and lambda,
 * which is returned; 0 where no lambda will do, as there is a NaN. */
static double factorise(struct work *w)
{
    blasint rank = (blasint)w->rank, info = 1;
    double lambda = damping;
    while (lambda < 1) {
        for (size_t r = 0; r < w->rank; r++)
            for (size_t c = 0; c < w->rank; c++)
                w->system[r * w->rank + c] = r == c ? 1 + lambda
                                           : w->normal[r * w->rank + c] / w->scale[r] / w->scale[c];
        dpotrf_("U", &rank, w->system, &rank, &info);
        if (info == 0) return lambda;
        lambda *= 100;
    }
    return 0;
}

/* The best factor of one axis for what the half has contracted. */
static bool update(struct work *w, int axis, int half)
{
    double *u = w->factor[axis];
    blasint rank = (blasint)w->rank, count = (blasint)w->size[axis], info;

    gather(w, axis, half);
    make_normal(w, axis);
    double lambda = factorise(w);
    if (!(lambda > 0)) return false;
    for (size_t i = 0; i < w->size[axis]; i++)
        for (size_t r = 0; r < w->rank; r++) {
            double *s = w->solution + i * w->rank + r;
            *s = *s / w->scale[r] + lambda * w->scale[r] * u[i * w->rank + r];
        }
    dpotrs_("U", &rank, &count, w->system, &rank, w->solution, &rank, &info);
    for (size_t i = 0; i < w->size[axis]; i++)
        for (size_t r = 0; r < w->rank; r++) u[i * w->rank + r] = w->solution[i * w->rank + r] / w->scale[r];
    make_gram(w, axis);
    return true;
}

static bool sweep(struct work *w)
{
    for (int a = 0; a < w->axes; a++) make_gram(w, a);
    for (int half = 0; half < 2; half++) {
        half_terms(w, !half);
        contract(w, half);
        for (int a = half ? w->split : 0; a < (half ? w->axes : w->split); a++)
            if (!update(w, a, half)) return false;
    }
    return true;
}

static void exchange(double *a[CP_AXES], double *b[CP_AXES])
{
    for (int i = 0; i < CP_AXES; i++) {
        double *kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Goes on in the direction of the last sweep, `step` times its way, if that
 * lowers the error.  Overwrites `before`. */
static bool leap(struct work *w, double *error, double step)
{
    for (int a = 0; a < w->axes; a++)
        for (size_t i = 0; i < w->size[a] * w->rank; i++)
            w->before[a][i] += step * (w->factor[a][i] - w->before[a][i]);
    exchange(w->factor, w->before);
    double there = current_error(w);
    if (there < *error) {
        *error = there;
        return true;
    }
    exchange(w->factor, w->before);
    return false;
}

/* Gives the columns of each term one length. */
static void balance(struct work *w)
{
    for (size_t r = 0; r < w->rank; r++) {
        double length[CP_AXES], mean = 1;
        for (int a = 0; a < w->axes; a++) {
            double squares = 0;
            for (size_t i = 0; i < w->size[a]; i++) {
                double entry = w->factor[a][i * w->rank + r];
                squares += entry * entry;
            }
            length[a] = sqrt(squares);
            mean *= pow(length[a], 1.0 / w->axes);
        }
        for (int a = 0; a < w->axes; a++)
            for (size_t i = 0; mean > 0 && i < w->size[a]; i++) w->factor[a][i * w->rank + r] *= mean / length[a];
    }
}

/* Normal draws, but the first start keeps the terms of `from`, and later ones
 * three in four of the best so far: what holds a start back is most often a few
 * terms that share what is one. */
static void draw(struct work *w, uint64_t seed, size_t start, const struct cp *from)
{
    size_t known = start == 0 && from ? from->rank : 0, every = smaller(4, w->rank);
    for (int a = 0; a < w->axes; a++)
        for (size_t i = 0; i < w->size[a]; i++)
            for (size_t r = 0; r < w->rank; r++) {
                size_t n = i * w->rank + r;
                if (r < known) w->factor[a][n] = from->factor[a][i * from->rank + r];
                else if (start > 0 && r % every != start % every) w->factor[a][n] = w->best[a][n];
                else w->factor[a][n] = random_normal(seed, start * CP_AXES + (size_t)a, n);
            }
}

/* Sweeps until the error rests; leaves the factors, and the error after each
 * sweep, and returns the last. */
static double descend(struct work *w, const struct cp_options *o, double *history, size_t *sweeps)
{
    double error = INFINITY, root = w->axes;
    int still = 0, failures = 0;

    for (*sweeps = 0; *sweeps < o->sweeps && still < 3 && !(error <= o->enough);) {
        double last = error;
        for (int a = 0; a < w->axes; a++)
            memcpy(w->before[a], w->factor[a], w->size[a] * w->rank * sizeof(double));
        error = sweep(w) ? current_error(w) : NAN;
        if (!(error <= last)) {
            exchange(w->factor, w->before);
            error = last;
            break;
        }
        if (*sweeps > 2) {
            if (leap(w, &error, pow((double)*sweeps, 1 / root))) failures = 0;
            else if (++failures == 4) failures = 0, root++;
        }
        balance(w);
        history[(*sweeps)++] = error;
        still = last - error <= o->tolerance * last ? still + 1 : 0;
    }
    return error;
}

/* ---- what is offered -------------------------------------------------------- */

static status check_from(const struct cp *from, const struct work *w)
{
    if (from->axes != w->axes || from->rank > w->rank)
        return bad_input("%zu terms of %d axes to start from, expected at most %zu of %d",
                         from->rank, from->axes, w->rank, w->axes);
    for (int a = 0; a < w->axes; a++) {
        if (from->size[a] != w->size[a])
            return bad_input("terms to start from have size %zu in axis %d, expected %zu",
                             from->size[a], a, w->size[a]);
        for (size_t i = 0; i < from->size[a] * from->rank; i++)
            if (!isfinite(from->factor[a][i]))
                return bad_input("a term to start from is not finite");
    }
    return status_ok();
}

/* The norm, which has to be one that can be squared. */
static status measure(struct work *w)
{
    double squares = 0;
    bool zero = true;
    for (size_t i = 0; i < w->left * w->right; i++) {
        if (!isfinite(w->tensor[i]))
            return bad_input("entry %zu is %g, expected a finite number", i, w->tensor[i]);
        squares += w->tensor[i] * w->tensor[i];
        zero = zero && w->tensor[i] == 0;
    }
    w->norm = sqrt(squares);
    if (!zero && !(w->norm >= 1e-100 && w->norm <= 1e100))
        return bad_input("a tensor of norm %g, expected 0 or 1e-100 to 1e100", w->norm);
    return status_ok();
}

status cp_als(struct cp *cp, const double *tensor, int axes, const size_t size[], size_t rank,
              const struct cp_options *options)
{
    struct cp_options o = options ? *options : (struct cp_options){0};
    struct work w = {.tensor = tensor, .axes = axes, .size = size, .rank = rank};
    double least = INFINITY;
    status s = check_sizes(axes, size, rank);

    /* Step 1: what is asked for, and room for it. */
    memset(cp, 0, sizeof *cp);
    if (!s.code) s = cut(&w);
    if (!s.code) s = measure(&w);
    if (!s.code && o.from) s = check_from(o.from, &w);
    if (s.code) return s;
    if (o.starts == 0) o.starts = 4;
    if (o.sweeps == 0) o.sweeps = 2000;
    if (o.tolerance == 0) o.tolerance = 1e-6;
    if (o.enough == 0) o.enough = 1e-12;
    s = prepare(&w);
    if (s.code) return s;
    double *history = doubles(o.sweeps, 1);
    if (!history) {
        release(&w);
        return out_of_memory("a CP decomposition");
    }
    w.shared = w.left * w.right >= small / rank;
    cp->axes = axes;
    cp->rank = rank;
    memcpy(cp->size, size, (size_t)axes * sizeof *size);

    /* Step 2: one start after another, the best is kept. */
    for (int a = 0; a < axes; a++) memset(w.best[a], 0, size[a] * rank * sizeof(double));
    if (w.norm == 0) least = 0;
    #pragma omp parallel num_threads(default_threads())
    #pragma omp single
    for (size_t start = 0; start < o.starts && !(least <= o.enough); start++) {
        size_t sweeps;
        draw(&w, o.seed, start, start == 0 ? o.from : NULL);
        double error = descend(&w, &o, history, &sweeps);
        if (!(error < least)) continue;
        least = error;
        exchange(w.best, w.factor);
        cp->sweeps = sweeps;
        if (o.history) memcpy(o.history, history, sweeps * sizeof *history);
    }
    memory_free(history);
    if (!(least < INFINITY)) {
        release(&w);
        memset(cp, 0, sizeof *cp);
        return failure("no start of a CP decomposition came to a finite error");
    }

    /* Step 3: handed over. */
    for (int a = 0; a < axes; a++) {
        cp->factor[a] = w.best[a];
        w.best[a] = NULL;
    }
    cp->error = least;
    release(&w);
    return status_ok();
}

void cp_release(struct cp *cp)
{
    for (int a = 0; a < CP_AXES; a++) {
        memory_free(cp->factor[a]);
        cp->factor[a] = NULL;
    }
}

/* The terms of both halves, and nothing else, in *w. */
static status make_terms(struct work *w, const struct cp *cp)
{
    *w = (struct work){.shared = true, .axes = cp->axes, .size = cp->size, .rank = cp->rank};
    status s = cut(w);
    if (s.code) return s;
    w->terms[0] = doubles(w->left, w->rank);
    w->terms[1] = doubles(w->right, w->rank);
    if (!w->terms[0] || !w->terms[1]) {
        release(w);
        return out_of_memory("the terms of a CP decomposition");
    }
    multiply_terms(w->terms[0], cp->factor, w->size, w->rank, 0, w->split);
    multiply_terms(w->terms[1], cp->factor, w->size, w->rank, w->split, w->axes);
    return status_ok();
}

status cp_reconstruct(double *tensor, const struct cp *cp)
{
    struct work w;
    status s = make_terms(&w, cp);
    if (s.code) return s;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)w.left, (int)w.right, (int)w.rank,
                1, w.terms[0], (int)w.rank, w.terms[1], (int)w.rank, 0, tensor, (int)w.right);
    release(&w);
    return status_ok();
}

status cp_error(double *error, const struct cp *cp, const double *tensor)
{
    struct work w;
    status s = make_terms(&w, cp);
    if (s.code) return s;
    double *sums = doubles(w.left, 1), squares = 0;
    if (!sums) {
        release(&w);
        return out_of_memory("the error of a CP decomposition");
    }
    for (size_t i = 0; i < w.left * w.right; i++) squares += tensor[i] * tensor[i];
    double away = 0;
    #pragma omp parallel num_threads(default_threads())
    #pragma omp single
    away = distance(&w, tensor, sums);
    *error = away == 0 ? 0 : away / sqrt(squares);
    memory_free(sums);
    release(&w);
    return status_ok();
}

size_t cp_storage(const struct cp *cp)
{
    size_t sum = 0, numbers;
    for (int a = 0; a < cp->axes; a++) {
        if (cp->size[a] > SIZE_MAX - sum) return SIZE_MAX;
        sum += cp->size[a];
    }
    return size_multiply(&numbers, sum, cp->rank) ? numbers : SIZE_MAX;
}

size_t cp_dense_storage(const struct cp *cp)
{
    size_t product;
    return product_of(&product, cp->size, cp->axes) ? product : SIZE_MAX;
}
