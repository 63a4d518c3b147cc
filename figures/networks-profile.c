/* networks-profile.c -- where the time of whole networks goes, by what their steps are
 *
 *     build/figures/networks-profile RUNS [NETWORK FORM [GRID]]
 *
 * One image, of the network's own grid unless one is given, one thread, random weights; the processor time of each step
 * is the fastest of RUNS.  A row for each kind of step: how many of them, their time and multiply-adds, both shares, and
 * Amdahl's law: how many times faster all would be if that kind took no time.
 *
 * "litv2-s-unconvolved" is LITv2-S without the 3 x 3 convolutions in its MLPs: what its mlp
 * takes less, they take.
 *
 * With 0 runs nothing is timed: a row holds the steps of a kind and their multiply-adds, all digits. */

#include <stdlib.h>
#include <string.h>
#include "timed.h"

#define UNCONVOLVED "litv2-s-unconvolved"

static const char *const drawn[][2] = {
    {"litv2-s", "fast"}, {"litv2-s", "naive"}, {UNCONVOLVED, "fast"}, {"elsa-swin-t", "fast"},
    {"elsa-swin-t", "naive"}, {"lisanet-i-t", "fast"}, {"structvit-s-4-1", "fast"}, {"chopd-former-15m", "fast"}};

/* LITv2-S, its MLPs without options. */
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

static void print_kind(const char *name, const char *form, const struct network_kind *k, const struct network_kind *all)
{
    printf("%s\t%s\t%s\t%zu\t%.4g\t%.1f %%\t%.4g\t%.1f %%\t", name, form, k->what, k->steps, k->seconds,
           100 * k->seconds / all->seconds, k->multiply_adds, 100 * k->multiply_adds / all->multiply_adds);
    if (k == all) printf("–\n");
    else printf("%.2f\n", network_if_free(k, all));
}

/* By formula, without taking memory for weights. */
static status count_kinds(const char *name, const struct network_table *table, const struct network_request *r)
{
    struct network_kind kind[NETWORK_KINDS], all;
    struct network n;
    status s = network_create(&n, table, r);
    if (s.code) return s;
    int kinds = network_kinds(kind, &all, &n);
    for (int k = 0; k <= kinds; k++) {
        const struct network_kind *one = k < kinds ? &kind[k] : &all;
        printf("%s\t%s\t%s\t%zu\t%.0f\n", name, r->form, one->what, one->steps, one->multiply_adds);
    }
    network_release(&n);
    return s;
}

static status profile(const char *name, const char *form, const char *grid_of, int runs)
{
    const struct network_table *table;
    const struct network_request r = {.form = form, .grid = grid_of, .threads = 1};
    struct network_kind kind[NETWORK_KINDS], all;
    struct timed t;
    status s = status_ok();
    if (!strcmp(name, UNCONVOLVED)) table = unconvolved();
    else s = network_named(&table, name);
    if (!s.code && !runs) return count_kinds(name, table, &r);
    if (!s.code) s = timed_open(&t, table, &r);
    if (s.code) return s;
    int kinds = timed_kinds(kind, &all, &t, runs, &s);
    for (int k = 0; k < kinds; k++) print_kind(name, form, &kind[k], &all);
    if (kinds) print_kind(name, form, &all, &all);
    timed_close(&t);
    return s;
}

int main(int count, char **word)
{
    char *end = NULL;
    long runs = count > 1 ? strtol(word[1], &end, 10) : -1;
    status s = bad_input("expected RUNS, from 0 to 100, and NETWORK FORM [GRID] or nothing");
    if (end && *word[1] && !*end && runs >= 0 && runs <= 100 && (count == 2 || count == 4 || count == 5)) {
        if (!runs) printf("#network\tform\tstep\ttimes\tmultiply_adds\n");
        else printf("# one image, one thread; the least of %ld runs of each step, processor time\n"
                    "#network\tform\tstep\ttimes\ttime_seconds\tshare\tmultiply_adds\tits_share\tif_free\n", runs);
        s = count > 2 ? profile(word[2], word[3], count > 4 ? word[4] : NULL, (int)runs) : status_ok();
        for (size_t n = 0; count == 2 && n < sizeof drawn / sizeof *drawn && !s.code; n++)
            s = profile(drawn[n][0], drawn[n][1], NULL, (int)runs);
    }
    if (s.code) fprintf(stderr, "networks-profile: %s\n", s.message);
    return s.code;
}
