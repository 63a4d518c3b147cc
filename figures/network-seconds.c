/* network-seconds.c -- seconds of a whole network, and what it takes
 *
 *     build/figures/network-seconds NETWORK FORM GRID BATCH THREADS REPEATS
 *
 * Weights and pixels are random; the first run is not timed.  GRID "-" is the network's own.  One row:
 * median and quartiles of the runs, bytes of the network, multiply-adds of one run without norms, and
 * the share of the time that each kind of step takes, as "mlp=0.62,hilo=0.17". */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../reference/networks/network.h"
#include "../reference/random.h"

enum { SEED = 7, REPEATS_MAX = 1000, KINDS = 16 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The kinds of steps and their seconds, added up over all runs. */
struct kind { const char *what; double seconds; };

static void add_kind(struct kind *kind, const char *what, double seconds)
{
    size_t k = 0;
    while (k < KINDS - 1 && kind[k].what && strcmp(kind[k].what, what)) k++;
    kind[k].what = what;
    kind[k].seconds += seconds;
}

static void print_shares(const struct kind *kind)
{
    double all = 0;
    for (size_t k = 0; k < KINDS; k++) all += kind[k].seconds;
    for (size_t k = 0; k < KINDS && kind[k].what; k++)
        printf("%s%s=%.4f", k ? "," : "", kind[k].what, kind[k].seconds / all);
    printf("\n");
}

static status measure(struct network *n, const struct network_request *r, size_t repeats)
{
    static double seconds[REPEATS_MAX];
    struct kind kind[KINDS] = {{0}};
    struct tensor x = {0}, logits = {0};
    size_t size[3], classes[2] = {n->batch, n->classes};
    char text[64];

    /* Step 1: weights and pixels, and the run that is not timed. */
    network_input_shape(n, size);
    status s = network_draw(n, SEED);
    if (!s.code) s = network_place(n);
    if (!s.code) s = tensor_create(&x, "x", 3, size);
    if (!s.code) s = tensor_create(&logits, "logits", 2, classes);
    if (!s.code) random_fill_normal(x.data, x.count, SEED, 0, 1);
    if (!s.code) s = network_run(n, logits.data, x.data, NULL);

    /* Step 2: the others. */
    for (size_t i = 0; i < repeats && !s.code; i++) {
        double start = omp_get_wtime();
        s = network_run(n, logits.data, x.data, NULL);
        seconds[i] = omp_get_wtime() - start;
        for (size_t p = 0; p < n->parts; p++) add_kind(kind, n->part[p].step->what, n->part[p].seconds);
        add_kind(kind, "adding", n->adding);
    }
    tensor_release(&x);
    tensor_release(&logits);
    if (s.code) return s;

    /* Step 3: the row. */
    qsort(seconds, repeats, sizeof *seconds, by_value);
    printf("#network\tform\tgrid\tbatch\tthreads\trepeats\tmedian_seconds\tq1_seconds\tq3_seconds\tbytes\t"
           "multiply_adds\tparameters\tshares\n");
    printf("%s\t%s\t%s\t%zu\t%d\t%zu\t%.4g\t%.4g\t%.4g\t%zu\t%.6g\t%zu\t", n->table->name, r->form,
           grid_text(text, sizeof text, &n->grid), n->batch, n->threads, repeats, seconds[repeats / 2],
           seconds[repeats / 4], seconds[repeats * 3 / 4], network_bytes(n, true), network_bare_multiply_adds(n),
           network_parameters(n));
    print_shares(kind);
    return s;
}

int main(int count, char **word)
{
    const struct network_table *table;
    struct network n = {0};
    status s = bad_input("expected NETWORK naive|fast GRID|- BATCH THREADS REPEATS");
    size_t number[3] = {0};
    for (int w = 4; w < count && w < 7; w++) number[w - 4] = strtoul(word[w], NULL, 10);
    if (count == 7 && number[0] && number[1] && number[1] <= 1024 && number[2] && number[2] <= REPEATS_MAX) {
        const struct network_request r = {
            .form = word[2], .grid = strcmp(word[3], "-") ? word[3] : NULL, .batch = number[0],
            .threads = (int)number[1],
        };
        s = network_named(&table, word[1]);
        if (!s.code) s = network_create(&n, table, &r);
        if (!s.code) s = measure(&n, &r, number[2]);
    }
    if (s.code) fprintf(stderr, "network-seconds: %s\n", s.message);
    network_release(&n);
    return s.code;
}
