/* network-seconds.c -- seconds of a whole network, and what it takes
 *
 *     build/figures/network-seconds NETWORK FORM GRID BATCH THREADS REPEATS
 *
 * Weights and pixels are random; the first run is not timed.  GRID "-" is the network's own.  One row:
 * median and quartiles of the runs, bytes of the network, multiply-adds of one run without norms, and
 * the share of the time that each kind of step takes in the last run, as "mlp=0.62,hilo=0.17". */

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include "quantile.h"
#include "timed.h"

enum { REPEATS_MAX = 1000 };

static status measure(struct timed *t, const char *form, size_t repeats)
{
    static double seconds[REPEATS_MAX];
    struct network_kind kind[NETWORK_KINDS], all;
    struct network *n = &t->network;
    char text[64];

    /* Step 1: a run that is not timed, and the others. */
    status s = network_run(n, t->logits.data, t->x.data, NULL);
    for (size_t i = 0; i < repeats && !s.code; i++) {
        double start = omp_get_wtime();
        s = network_run(n, t->logits.data, t->x.data, NULL);
        seconds[i] = omp_get_wtime() - start;
    }
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
