/* hilo-alias.c -- what the mean of a window does to waves
 *
 *     build/figures/hilo-alias
 *
 * Rows of 14 tokens, windows of 2 x 2, as in LITv2-S's third stage; the means are
 * those of the naive form.  First the amplitude that a wave of k periods has after the
 * mean, and the periods under which it is left: 7 means hold 3 at most.  Then one wave,
 * of 5 periods: its tokens and its means, which are those of a wave of 2 periods.
 *
 * Index "means": k, amplitude, periods left.  Index "tokens": place, value.  Index
 * "windows": the place of their middle, mean. */

#include <math.h>
#include <stdio.h>
#include "../naive/hilo.h"
#include "../reference/hilo.h"
#include "../reference/memory.h"

enum { EDGE = 14, TOKENS = EDGE * EDGE, MEANS = EDGE / 2, SHOWN = 5 };

static double wave(int periods, size_t column) { return cos(2 * acos(-1) * periods * (double)column / EDGE); }

/* The window means of a wave along the rows, pooled [MEANS^2]. */
static void pool_wave(real *pooled, real *x, const struct hilo_problem *p, int periods)
{
    for (size_t i = 0; i < TOKENS; i++) x[i] = (real)wave(periods, i % EDGE);
    hilo_naive_pool(pooled, x, p);
}

/* The mean of the first window of a wave and of the same one a quarter period on, as one amplitude. */
static double amplitude(real *pooled, real *x, const struct hilo_problem *p, int periods)
{
    double turn = acos(-1) / 2, sum[2];
    for (int quarter = 0; quarter < 2; quarter++) {
        for (size_t i = 0; i < TOKENS; i++)
            x[i] = (real)cos(2 * acos(-1) * periods * (double)(i % EDGE) / EDGE - quarter * turn);
        hilo_naive_pool(pooled, x, p);
        sum[quarter] = (double)pooled[0];
    }
    return hypot(sum[0], sum[1]);
}

static status print_all(const struct hilo_problem *p, real *x, real *pooled)
{
    printf("# means\n");
    for (int k = 0; k <= MEANS; k++)
        printf("%d\t%.4f\t%d\n", k, amplitude(pooled, x, p, k), 2 * k < MEANS ? k : MEANS - k);
    pool_wave(pooled, x, p, SHOWN);
    printf("\n\n# tokens\n");
    for (size_t i = 0; i < EDGE; i++) printf("%zu\t%.4f\n", i, (double)x[i]);
    printf("\n\n# windows\n");
    for (size_t w = 0; w < MEANS; w++) printf("%.1f\t%.4f\n", 2 * (double)w + 0.5, (double)pooled[w]);
    return status_ok();
}

int main(void)
{
    static const char *const word[] = {"--grid", "14x14", "--window", "2", "--alpha", "1"};
    struct problem p;
    struct hilo_problem of_p;
    real *x = memory_reals(TOKENS, 1, 1, 1), *pooled = memory_reals(MEANS, MEANS, 1, 1);

    status s = x && pooled ? status_ok() : out_of_memory("a plane of tokens");
    if (!s.code) s = problem_create(&p, &hilo, sizeof word / sizeof *word, word);
    if (!s.code) s = problem_set_size(&p, "B", 1);
    if (!s.code) s = problem_set_size(&p, "C", 1);
    if (!s.code) s = problem_shape(&p, NULL, NULL);
    if (!s.code) s = hilo.resolve(&of_p, &p);
    if (!s.code) s = print_all(&of_p, x, pooled);
    if (s.code) fprintf(stderr, "hilo-alias: %s\n", s.message);
    memory_free(x);
    memory_free(pooled);
    return s.code;
}
