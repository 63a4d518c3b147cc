/* network-seconds.c -- seconds of a whole network, and what it takes
 *
 *     build/figures/network-seconds NETWORK FORM GRID BATCH THREADS REPEATS
 *
 * Weights and pixels are random; the first run is not timed, and each has pixels of its own (judge.h).  GRID "-" is the
 * network's own.  One row: median and quartiles of the runs, bytes of the network, multiply-adds of one run without
 * norms, and the share of the time that each kind of step takes in the last run, as "mlp=0.62,hilo=0.17". */

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include "judge.h"
#include "quantile.h"
#include "timed.h"

enum { REPEATS_MAX = 1000 };

struct runner { struct contestant judged; struct network *network; };

static status run_once(struct contestant *judged, real *y, const real *x)
{
    double start = omp_get_wtime();
    status s = network_run(((struct runner *)judged)->network, y, x, NULL);
    judged->last = omp_get_wtime() - start;
    return s;
}

static status measure(struct timed *t, const char *form, size_t repeats)
{
    static double seconds[REPEATS_MAX];
    struct network_kind kind[NETWORK_KINDS], all;
    struct network *n = &t->network;
    size_t outputs = t->logits.count;
    char text[64];

    /* Step 1: a run that is not timed, and the others. */
    real *seen = memory_reals(3, outputs, 1, 1);
    if (!seen) return out_of_memory("the logits");
    struct runner r = {.judged = {.run = run_once, .kept = seen}, .network = n};
    struct judge judge = {.x = t->x.data, .y = t->logits.data, .original = seen + outputs,
                          .reference = seen + 2 * outputs, .inputs = t->x.count, .outputs = outputs, .width = 3,
                          .terms = 1};
    status s = judge_first(&judge, &r.judged);
    for (size_t i = 0; i < repeats && !s.code; i++) {
        judge_round(&judge);
        s = judge_timed(&judge, &r.judged, false);
        seconds[i] = r.judged.last;
    }
    if (!s.code && r.judged.refused) s = failure("%s; not timed", r.judged.said);
    memory_free(seen);
    if (s.code) return s;

    /* Step 2: the row. */
    quantile_sort(seconds, repeats);
    printf("#network\tform\tgrid\tbatch\tthreads\trepeats\tmedian_seconds\tq1_seconds\tq3_seconds\tbytes\t"
           "multiply_adds\tparameters\tshares\n");
    printf("%s\t%s\t%s\t%zu\t%d\t%zu\t%.4g\t%.4g\t%.4g\t%zu\t%.6g\t%zu\t", n->table->name, form,
           grid_text(text, sizeof text, &n->grid), n->batch, n->threads, repeats,
           quantile(seconds, repeats, 0.5), quantile(seconds, repeats, 0.25), quantile(seconds, repeats, 0.75),
           network_bytes(n, true), network_bare_multiply_adds(n), network_parameters(n));
    int kinds = network_kinds(kind, &all, n);
    for (int k = 0; k < kinds; k++) printf("%s%s=%.4f", k ? "," : "", kind[k].what, kind[k].seconds / all.seconds);
    printf("\n");
    return s;
}

int main(int count, char **word)
{
    const struct network_table *table;
    struct timed t;
    status s = bad_input("expected NETWORK naive|fast GRID|- BATCH THREADS REPEATS");
    size_t number[3] = {0};
    for (int w = 4; w < count && w < 7; w++) number[w - 4] = strtoul(word[w], NULL, 10);
    if (count == 7 && number[0] && number[1] && number[1] <= 1024 && number[2] && number[2] <= REPEATS_MAX) {
        const struct network_request r = {
            .form = word[2], .grid = strcmp(word[3], "-") ? word[3] : NULL, .batch = number[0],
            .threads = (int)number[1],
        };
        s = network_named(&table, word[1]);
        if (!s.code) s = timed_open(&t, table, &r);
        if (!s.code) {
            s = measure(&t, word[2], number[2]);
            timed_close(&t);
        }
    }
    if (s.code) fprintf(stderr, "network-seconds: %s\n", s.message);
    return s.code;
}
