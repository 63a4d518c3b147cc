/* networks-profile.c -- time of whole networks, and of the kinds of their steps
 *
 *     build/figures/bench/networks-profile RUNS [NETWORK FORM [GRID]]
 *     build/figures/bench/networks-profile seconds NETWORK FORM GRID BATCH THREADS REPEATS
 *
 * The first command prints a row for each kind of step: number of steps, time and multiply-adds, the shares of both,
 * and by Amdahl's law the speedup of the network if that kind took no time.  Times are of one image with one thread, the
 * minimum of RUNS; with 0 runs nothing is timed.  "litv2-s-unconvolved" has no convolutions in its MLPs.
 *
 * The second command prints one row: median and quartiles of the runs, bytes of the network, multiply-adds without
 * norms and positions, parameters, and each kind's share of the last run's time.  GRID "-" is the network's default. */

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../reference/networks/profile.h"
#include "../../reference/runtime/random.h"
#include "../../reference/cli/harness.h"

#define UNCONVOLVED "litv2-s-unconvolved"

enum { SEED = 7, RUNS_MAX = 100, REPEATS_MAX = 1000 };

static const char *const defaults[][2] = {
    {"litv2-s", "fast"}, {"litv2-s", "naive"}, {UNCONVOLVED, "fast"}, {"elsa-swin-t", "fast"},
    {"elsa-swin-t", "naive"}, {"lisanet-i-t", "fast"}, {"structvit-s-4-1", "fast"}, {"chopd-former-15m", "fast"}};

struct timed {
    struct contestant contestant;   /* first: a pointer to it is a pointer to the network */
    struct network network;
    struct tensor x, logits;
};
static_assert(offsetof(struct timed, contestant) == 0, "first");

/* LITv2-S without the options of its MLPs. */
static const struct network_table *unconvolved(void)
{
    enum { STEPS = 8 };
    static struct network_step plain[NETWORK_STAGES][STEPS];
    static struct network_table table;
    table = *network_find("litv2-s");
    table.name = UNCONVOLVED;
    for (int i = 0; i < NETWORK_STAGES; i++) {
        const struct network_step *step = table.stage[i].block;
        for (int k = 0; k < STEPS - 1 && step[k].name; k++) {
            plain[i][k] = step[k];
            if (!strcmp(step[k].what, "mlp")) plain[i][k].options = NULL;
        }
        table.stage[i].block = plain[i];
    }
    return &table;
}

static status create(struct timed *t, const char *name, const struct network_request *r)
{
    const struct network_table *table = unconvolved();
    status s = status_ok();
    *t = (struct timed){.x = {0}};
    if (strcmp(name, UNCONVOLVED)) s = network_named(&table, name);
    return s.code ? s : network_create(&t->network, table, r);
}

/* Random weights and pixels, and memory for the logits. */
static status place(struct timed *t)
{
    size_t size[3];
    network_input_shape(&t->network, size);
    status s = network_draw(&t->network, SEED);
    if (!s.code) s = network_place(&t->network);
    if (!s.code) s = tensor_create(&t->x, "x", 3, size);
    if (!s.code) s = tensor_create(&t->logits, "logits", 2, (size_t[]){t->network.batch, t->network.classes});
    if (!s.code) random_fill_normal(t->x.data, t->x.count, SEED, 0, 1);
    return s;
}

static void release(struct timed *t)
{
    tensor_release(&t->x);
    tensor_release(&t->logits);
    network_release(&t->network);
}

/* ---- by kinds ---------------------------------------------------------------- */

static void print_heading(int runs)
{
    if (!runs) printf("#network\tform\tstep\ttimes\tmultiply_adds\n");
    else printf("# one image, one thread; the least of %d runs of each step\n"
                "#network\tform\tstep\ttimes\ttime_seconds\tshare\tmultiply_adds\tits_share\tif_free\n", runs);
}

static void print_kind(const char *name, const char *form, const struct network_kind *k, const struct network_kind *all,
                       int runs)
{
    printf("%s\t%s\t%s\t%zu\t", name, form, k->what, k->steps);
    if (!runs) {
        printf("%.0f\n", k->multiply_adds);
        return;
    }
    printf("%.4g\t%.1f %%\t%.4g\t%.1f %%\t", k->seconds, 100 * k->seconds / all->seconds, k->multiply_adds,
           100 * k->multiply_adds / all->multiply_adds);
    if (k == all) printf("–\n");
    else printf("%.2f\n", network_if_free(k, all));
}

static status profile(const char *name, const char *form, const char *grid_of, int runs)
{
    const struct network_request r = {.form = form, .grid = grid_of, .threads = 1};
    struct network_kind kind[NETWORK_KINDS], all;
    struct timed t;
    status s = create(&t, name, &r);
    if (s.code) return s;
    if (runs) s = place(&t);
    if (runs && !s.code) s = network_profile(&t.network, t.logits.data, t.x.data, runs);
    if (!s.code) {
        int kinds = network_kinds(kind, &all, &t.network);
        for (int k = 0; k < kinds; k++) print_kind(name, form, &kind[k], &all, runs);
        print_kind(name, form, &all, &all, runs);
    }
    release(&t);
    return s;
}

/* ---- whole networks --------------------------------------------------------------- */

static status run_once(struct contestant *contestant, real *y, const real *x)
{
    struct network *n = &((struct timed *)contestant)->network;
    struct stopwatch started = stopwatch_start(n->threads);
    status s = network_run(n, y, x, NULL);
    stopwatch_stop(&started, contestant);
    return s;
}

static status race(struct timed *t, int repeats)
{
    static double seconds[REPEATS_MAX];
    const struct limits limit = {.least = repeats, .most = repeats, .seconds = HUGE_VAL};
    size_t outputs = t->logits.count;
    real *results = memory_reals(3, outputs, 1, 1);
    if (!results) return out_of_memory("the logits");
    t->contestant = (struct contestant){.run = run_once, .name = "network", .kept = results, .seconds = seconds};
    struct harness harness = {.x = t->x.data, .y = t->logits.data, .original = results + outputs,
                          .reference = results + 2 * outputs, .inputs = t->x.count, .outputs = outputs, .width = 3,
                          .terms = 1};
    status s = harness_race(&harness, (struct contestant *[]){&t->contestant}, 1, &limit);
    memory_free(results);
    return s;
}

static void print_seconds(const struct timed *t, const char *form)
{
    struct network_kind kind[NETWORK_KINDS], all;
    const struct network *n = &t->network;
    struct quartiles q = quartiles(&t->contestant);
    char text[64];
    int kinds = network_kinds(kind, &all, n);
    printf("#network\tform\tgrid\tbatch\tthreads\trepeats\tmedian_seconds\tq1_seconds\tq3_seconds\tbytes\t"
           "multiply_adds\tparameters\tshares\n");
    printf("%s\t%s\t%s\t%zu\t%d\t%d\t%.4g\t%.4g\t%.4g\t%zu\t%.6g\t%zu\t", n->table->name, form,
           grid_text(text, sizeof text, &n->grid), n->batch, n->threads, t->contestant.count, q.median, q.low, q.high,
           network_bytes(n, true), network_bare_multiply_adds(n), network_parameters(n));
    for (int k = 0; k < kinds; k++) printf("%s%s=%.4f", k ? "," : "", kind[k].what, kind[k].seconds / all.seconds);
    printf("\n");
}

static status measure(const char *const *word)
{
    size_t number[3];
    for (int n = 0; n < 3; n++) number[n] = strtoul(word[3 + n], NULL, 10);
    if (!number[0] || !number[1] || number[1] > 1024 || !number[2] || number[2] > REPEATS_MAX)
        return bad_input("expected NETWORK naive|fast GRID|- BATCH THREADS REPEATS");
    const struct network_request r = {.form = word[1], .grid = strcmp(word[2], "-") ? word[2] : NULL,
                                      .batch = number[0], .threads = (int)number[1]};
    struct timed t;
    status s = create(&t, word[0], &r);
    if (s.code) return s;
    s = place(&t);
    if (!s.code) s = race(&t, (int)number[2]);
    if (!s.code) print_seconds(&t, word[1]);
    release(&t);
    return s;
}

static status read_words(int words, const char *const *word)
{
    char *end = NULL;
    if (words == 7 && !strcmp(word[0], "seconds")) return measure(word + 1);
    long runs = words ? strtol(word[0], &end, 10) : -1;
    if (!end || end == word[0] || *end || runs < 0 || runs > RUNS_MAX || (words != 1 && words != 3 && words != 4))
        return bad_input("expected RUNS, from 0 to %d, and NETWORK FORM [GRID] or nothing; or "
                         "seconds NETWORK naive|fast GRID|- BATCH THREADS REPEATS", RUNS_MAX);
    print_heading((int)runs);
    if (words > 1) return profile(word[1], word[2], word[3], (int)runs);
    status s = status_ok();
    for (size_t n = 0; n < sizeof defaults / sizeof *defaults && !s.code; n++)
        s = profile(defaults[n][0], defaults[n][1], NULL, (int)runs);
    return s;
}

int main(int count, char **argv)
{
    status s = read_words(count - 1, (const char *const *)argv + 1);
    if (s.code) fprintf(stderr, "networks-profile: %s\n", s.message);
    return s.code;
}
