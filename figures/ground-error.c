/* ground-error.c -- the rounding error of self-attention's hearts, against the keys
 *
 *     build/figures/ground-error KEYS...
 *
 * 96 queries of 64 channels meet so many keys, all numbers standard normal, as the
 * naive and the tiled heart compute it.  The error of each is its root mean square difference
 * from the equation in the next wider type (double for the float build, long double for the
 * double build), over the root mean square of that, printed as a multiple of the unit roundoff u too.
 * figures/ground-error.py has PyTorch's lines. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "../fast/attention.h"
#include "../naive/attention.h"
#include "../reference/memory.h"
#include "../reference/random.h"
#include "../reference/status.h"

#ifdef TWICETOLD_DOUBLE
typedef long double wide;
#define EXP expl
#else
typedef double wide;
#define EXP exp
#endif

enum { QUERIES = 96, C = 64 };

/* y_i by the equation: two sums over the keys. */
static void one_output(wide y[C], const real *q_i, const real *k, const real *v, wide scale, size_t keys)
{
    wide sum = 0;
    for (size_t c = 0; c < C; c++) y[c] = 0;
    for (size_t j = 0; j < keys; j++) {
        wide score = 0;
        for (size_t c = 0; c < C; c++) score += (wide)q_i[c] * (wide)k[j * C + c];
        wide weight = EXP(scale * score);
        sum += weight;
        for (size_t c = 0; c < C; c++) y[c] += weight * (wide)v[j * C + c];
    }
    for (size_t c = 0; c < C; c++) y[c] /= sum;
}

static void print_error(const char *form, size_t keys, const real *y, const wide *exact)
{
    double square = 0, difference = 0;
    for (size_t n = 0; n < QUERIES * C; n++) {
        wide d = (wide)y[n] - exact[n];
        square += (double)(exact[n] * exact[n]);
        difference += (double)(d * d);
    }
    double error = sqrt(difference / square);
    printf("%s\t%s\t%zu\t%.3g\t%.3g\n", REAL_NAME, form, keys, error, error / ((double)REAL_EPSILON / 2));
    fflush(stdout);
}

static status measure_error(const char *word)
{
    size_t keys = strtoul(word, NULL, 10), reals;
    if (keys < 1 || keys > 1000000) return bad_input("found '%.40s', expected keys, from 1 to 1000000", word);

    /* Step 1: numbers. */
    real *q = memory_reals(QUERIES, C, 1, 1), *k = memory_reals(keys, C, 1, 1), *v = memory_reals(keys, C, 1, 1);
    real *y = memory_reals(QUERIES, C, 1, 1), *a = memory_reals(QUERIES, keys, 1, 1), *workspace = NULL;
    wide *exact = memory_get(QUERIES, C * sizeof *exact);
    if (attention_fast_workspace(&reals, C, QUERIES)) workspace = memory_reals(reals, 1, 1, 1);
    status s = q && k && v && y && a && exact && workspace ? status_ok() : out_of_memory("queries and keys");
    real scale = (real)(1 / sqrt((double)C));

    /* Step 2: the equation, and both hearts. */
    if (!s.code) {
        random_fill_normal(q, QUERIES * C, 1, 0, 1);
        random_fill_normal(k, keys * C, 1, 1, 1);
        random_fill_normal(v, keys * C, 1, 2, 1);
        for (size_t i = 0; i < QUERIES; i++) one_output(exact + i * C, q + i * C, k, v, (wide)scale, keys);
        attention_naive(y, a, q, k, v, NULL, scale, QUERIES, keys, C);
        print_error("naive", keys, y, exact);
        const struct attention tiled = {
            .queries = QUERIES, .keys = keys, .channels = C, .scale = scale,
            .q = q, .k = k, .v = v, .q_stride = C, .k_stride = C, .v_stride = C,
        };
        attention_fast(y, C, &tiled, 0, QUERIES, workspace);
        print_error("fast", keys, y, exact);
    }
    memory_free(workspace);
    memory_free(exact);
    memory_free(a);
    memory_free(y);
    memory_free(v);
    memory_free(k);
    memory_free(q);
    return s;
}

int main(int argc, char **argv)
{
    status s = status_ok();
    printf("#series\tform\ttokens\terror\terror_in_u\n");
    for (int n = 1; n < argc && !s.code; n++) s = measure_error(argv[n]);
    if (s.code) fprintf(stderr, "ground-error: %s\n", s.message);
    return s.code;
}
