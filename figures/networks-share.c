/* networks-share.c -- how much of a network its operator is, by the side of the image
 *
 *     build/figures/networks-share [RUNS [SIDE]...]
 *
 * Four networks by their fast forms, one image, one thread.  A row for each network and side: the share of its
 * operator in the multiply-adds, by formula, for sides from 160 to 768; and for each SIDE that is
 * named the share in the time too, of every step the fastest of so many runs, else -1; and the seconds
 * of all, else -1.  In LITv2-S the operator is HiLo, of which the attention of stage 4 is a case. */

#include <stdlib.h>
#include <string.h>
#include "timed.h"

enum { FIRST = 160, LAST = 768, STEP = 32 };

static const char *const network[][2] = {
    {"litv2-s", "hilo"}, {"elsa-swin-t", "elsa"}, {"structvit-s-4-1", "structsa"}, {"lisanet-i-t", "lisa"}};

/* The operator among the kinds. */
static const struct network_kind *find(const struct network_kind *kind, int kinds, const char *what)
{
    for (int k = 0; k < kinds; k++)
        if (!strcmp(kind[k].what, what)) return &kind[k];
    return NULL;
}

static status row(const char *name, const char *operator, int side, int runs)
{
    char pixels[32];
    const struct network_request r = {.grid = pixels, .threads = 1};
    struct network_kind kind[NETWORK_KINDS], all;
    struct network counted;
    struct timed t;
    const struct network_table *table;
    snprintf(pixels, sizeof pixels, "%dx%d", side, side);

    /* Step 1: the formula. */
    status s = network_named(&table, name);
    if (!s.code) s = network_create(&counted, table, &r);
    if (s.code) return s;
    int kinds = network_kinds(kind, &all, &counted);
    double share = find(kind, kinds, operator)->multiply_adds / all.multiply_adds, time = -1, seconds = -1;
    network_release(&counted);

    /* Step 2: the clock. */
    if (runs) {
        s = timed_open(&t, table, &r);
        if (s.code) return s;
        kinds = timed_kinds(kind, &all, &t, runs, &s);
        if (kinds) time = find(kind, kinds, operator)->seconds / all.seconds;
        if (kinds) seconds = all.seconds;
        timed_close(&t);
    }
    if (!s.code) printf("%s\t%s\t%d\t%.4f\t%.4f\t%.4g\n", name, operator, side, share, time, seconds);
    return s;
}

int main(int count, char **word)
{
    long runs = count > 1 ? strtol(word[1], NULL, 10) : 0;
    status s = runs < 0 || runs > 100 ? bad_input("expected RUNS, from 0 to 100, and SIDES") : status_ok();
    if (!s.code && runs) printf("# of each step the least of %ld runs, processor time\n", runs);
    if (!s.code) printf("#network\toperator\tside\tmultiply_adds\ttime\tseconds\n");
    for (size_t n = 0; n < sizeof network / sizeof *network && !s.code; n++)
        for (int side = FIRST; side <= LAST && !s.code; side += STEP) {
            bool measured = false;
            for (int w = 2; w < count; w++) measured |= strtol(word[w], NULL, 10) == side;
            s = row(network[n][0], network[n][1], side, measured ? (int)runs : 0);
        }
    if (s.code) fprintf(stderr, "networks-share: %s\n", s.message);
    return s.code;
}
