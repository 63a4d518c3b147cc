/* lisa-error.c -- the rounding error of LiSA's forms, against the token count
 *
 *     build/figures/lisa-error EQUATION NAIVE_TOKENS GRID...
 *
 * One head of 16 channels, D = 16, tokens of real images, random parameters.
 * Some tokens of the output are computed once more by Eq. 7 or Eq. 10 as a
 * plain sum in the next wider type (double for the float build, long double
 * for the double build; where long double is no wider than double, the second
 * says nothing).  The error of a form is its root mean square difference from
 * these, over their root mean square, printed as a multiple of the unit
 * roundoff u too.  The naive form takes part up to NAIVE_TOKENS tokens
 * (at 1024 tokens it holds 1.2 GiB in Eq. 7, twice that in double). */

#include <math.h>
#include <stdlib.h>
#include "../reference/lisa.h"
#include "../reference/random.h"
#include "../reference/instruments/tokens.h"
#include "bench.h"

#ifdef TWICETOLD_DOUBLE
typedef long double wide;
#define ROOT sqrtl
#else
typedef double wide;
#define ROOT sqrt
#endif

enum { C = 16, D = 16, SAMPLES = 8 };

/* What every token has, in the wide type: [N][3C], query and key normalised. */
static void project(wide *qkv, const real *x, const real *w_qkv, size_t tokens)
{
    for (size_t n = 0; n < tokens; n++)
        for (size_t part = 0; part < 3; part++) {
            wide square = 0, *row = qkv + n * 3 * C + part * C;
            for (size_t out = 0; out < C; out++) {
                row[out] = 0;
                for (size_t in = 0; in < C; in++)
                    row[out] += (wide)x[n * C + in] * (wide)w_qkv[(part * C + out) * C + in];
                square += row[out] * row[out];
            }
            for (size_t out = 0; part < 2 && out < C; out++) row[out] /= ROOT(square);
        }
}

/* y_i of Eq. 7 or 10: the two differ in where a table is read. */
static void one_output(wide y[C], const wide *qkv, size_t i, const grid *g, bool circular,
                       const real *ta, const real *tb, const real *ba, const real *bb)
{
    wide Ga[C * D], Gb[C * D];

    /* Step 1: Ga_icd and Gb_ikd, biases included. */
    for (size_t cd = 0; cd < C * D; cd++) {
        Ga[cd] = (wide)ba[cd];
        Gb[cd] = (wide)bb[cd];
    }
    for (size_t n = 0; n < g->tokens; n++) {
        size_t entry = circular ? grid_circular(g, i, n) : grid_offset(g, i, n);
        const wide *k = qkv + n * 3 * C + C, *v = k + C;
        for (size_t ch = 0; ch < C; ch++)
            for (size_t d = 0; d < D; d++) {
                Ga[ch * D + d] += k[ch] * (wide)ta[(entry * C + ch) * D + d];
                Gb[ch * D + d] += v[ch] * (wide)tb[entry * D + d];
            }
    }

    /* Step 2: y_ik = sum_d (sum_c q_ic Ga_icd) Gb_ikd. */
    for (size_t ch = 0; ch < C; ch++) y[ch] = 0;
    for (size_t d = 0; d < D; d++) {
        wide a = 0;
        for (size_t ch = 0; ch < C; ch++) a += qkv[i * 3 * C + ch] * Ga[ch * D + d];
        for (size_t ch = 0; ch < C; ch++) y[ch] += a * Gb[ch * D + d];
    }
}

static double relative_error(const real *y, const wide *sample, size_t tokens)
{
    double square = 0, difference = 0;
    for (size_t s = 0; s < SAMPLES; s++)
        for (size_t ch = 0; ch < C; ch++) {
            wide exact = sample[s * C + ch], d = (wide)y[tokens * s / SAMPLES * C + ch] - exact;
            square += (double)(exact * exact);
            difference += (double)(d * d);
        }
    return sqrt(difference / square);
}

/* All forms of one equation on one grid. */
static status measure_error(const char *grid_word, const char *equation, size_t naive_tokens)
{
    const char *word[] = {"--grid", grid_word, "--equation", equation};
    bool circular = !strcmp(equation, "10");
    struct token_source source = {0};
    struct bench b = {0};
    grid g;
    status s = grid_parse(&g, grid_word);
    if (s.code) return s;
    size_t N = g.tokens, rows = circular ? N : g.offsets;

    /* Step 1: tokens and parameters. */
    real *x = bench_add(&b, "x", 1, N, C), *w = bench_add(&b, "w_qkv", 3 * C, C, 0);
    real *ba = bench_add(&b, "ba", C, D, 0), *bb = bench_add(&b, "bb", C, D, 0);
    real *ta = bench_add(&b, circular ? "wa" : "ea", rows, C, D);
    real *tb = bench_add(&b, circular ? "wb" : "eb", rows, D, 0);
    real *y = memory_reals(N, C, 1, 1);
    wide *qkv = memory_get(N, 3 * C * sizeof *qkv), sample[SAMPLES * C];
    if (!x || !w || !ba || !bb || !ta || !tb || !y || !qkv) s = out_of_memory("tensors");
    if (!s.code) s = tokens_make(x, 1, &g, C, &source, NULL, 0);

    /* Step 2: the tokens that are compared, widely. */
    if (!s.code) {
        random_fill_normal(w, 3 * C * C, 1, 0, 1 / sqrt((double)C));
        random_fill_normal(ba, C * D, 1, 1, 1 / sqrt((double)C));
        random_fill_normal(bb, C * D, 1, 2, 1 / sqrt((double)C));
        random_fill_uniform(ta, rows * C * D, 1, 3, -sqrt(3.0 / (double)N), sqrt(3.0 / (double)N));
        random_fill_uniform(tb, rows * D, 1, 4, -sqrt(3.0 / (double)N), sqrt(3.0 / (double)N));
        project(qkv, x, w, N);
        for (size_t t = 0; t < SAMPLES; t++)
            one_output(sample + t * C, qkv, N * t / SAMPLES, &g, circular, ta, tb, ba, bb);
    }

    /* Step 3: every form against them. */
    const struct form *form;
    for (int f = 0; !s.code && (form = operator_form_at(&lisa, f)); f++) {
        if (!strcmp(form->name, "naive") && N > naive_tokens) continue;
        s = bench_run(y, &b, &lisa, form->name, 4, word, 1);
        if (s.code) break;
        double error = relative_error(y, sample, N);
        printf("eq%s-%s\t%s\t%s\t%zu\t%.3g\t%.3g\n", equation, REAL_NAME, form->name, grid_word, N, error,
               error / ((double)REAL_EPSILON / 2));
        fflush(stdout);
    }
    memory_free(qkv);
    memory_free(y);
    bench_release(&b);
    return s;
}

int main(int argc, char **argv)
{
    bool known = argc > 3 && (!strcmp(argv[1], "7") || !strcmp(argv[1], "10"));
    status s = known ? status_ok() : bad_input("expected EQUATION (7 or 10), NAIVE_TOKENS, GRID...");
    size_t naive_tokens = known ? (size_t)strtoul(argv[2], NULL, 10) : 0;
    if (known) printf("#series\tform\tgrid\ttokens\terror\terror_in_u\n");
    for (int g = 3; g < argc && !s.code; g++) s = measure_error(argv[g], argv[1], naive_tokens);
    if (s.code) fprintf(stderr, "lisa-error: %s\n", s.message);
    return s.code;
}
