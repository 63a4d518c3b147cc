/* elsa-border.c -- what happens at the border of the grid
 *
 *     build/figures/elsa-border
 *
 * Two maps on 28 x 28 tokens of real images, 24 channels, 3 heads, K = 7, random
 * parameters.  First, Algorithm 3 as printed against Algorithm 2: with a bias on
 * the branch that is shifted, which the padding of the shift then takes away, the
 * attention differs along a frame of width K/2; here the mean over heads and
 * neighbours of the absolute difference.  Second, the share of the softmax that
 * falls to neighbours off the grid, whose values are zero.
 *
 * One matrix each. */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "../naive/elsa.h"
#include "../reference/random.h"
#include "../reference/steps.h"
#include "../reference/instruments/tokens.h"

enum { EDGE = 28, TOKENS = EDGE * EDGE, CHANNELS = 24, HEADS = 3, K = 7, ENTRIES = K * K, MAPS = HEADS * ENTRIES };

/* x is query and key; both branches have a map [C][h K^2] and a bias [h K^2]. */
static real x[TOKENS * CHANNELS], maps[2 * CHANNELS * MAPS], bias[2 * MAPS], both[MAPS];

/* As in naive/elsa.h. */
static real hp[TOKENS * CHANNELS], kp[TOKENS * CHANNELS], unfolded[TOKENS * ENTRIES * CHANNELS], row[ENTRIES];
static real logits[MAPS * TOKENS], attention[MAPS * TOKENS];

static void matrix(const char *name, const double *map)
{
    printf("# %s\n", name);
    for (size_t i = 0; i < TOKENS; i++) printf("%.5f%s", map[i], i % EDGE == EDGE - 1 ? "\n" : "\t");
    printf("\n\n");
}

/* The weights of Algorithm 2, with the sum of both biases. */
static void algorithm_2(const struct neighbours *around)
{
    const struct elsa_problem p = {
        .heads = {.N = TOKENS, .C = CHANNELS, .Q = CHANNELS, .h = HEADS}, .K = K, .entries = ENTRIES,
        .equation = 7, .scale = 1, .rk = maps, .rq = maps + CHANNELS * MAPS, .rb = both,
    };
    for (size_t an = 0; an < MAPS; an++) both[an] = bias[an] + bias[MAPS + an];
    elsa_naive_product(hp, kp, x, x, &p);
    elsa_naive_unfold(unfolded, kp, around, CHANNELS);
    elsa_naive_logits(logits, hp, unfolded, &p);
    memcpy(attention, logits, sizeof attention);
    elsa_naive_softmax(attention, row, &p);
}

/* Half the mean over heads of how much Algorithm 3's weights of token i differ:
 * off the grid the second bias is not there. */
static double moved(const struct neighbours *around, size_t i)
{
    double difference = 0;
    for (size_t a = 0; a < HEADS; a++) {
        for (size_t n = 0; n < ENTRIES; n++) {
            row[n] = logits[(a * ENTRIES + n) * TOKENS + i];
            if (around->token[i * ENTRIES + n] == OFF_GRID) row[n] -= bias[MAPS + a * ENTRIES + n];
        }
        softmax(row, ENTRIES);
        for (size_t n = 0; n < ENTRIES; n++)
            difference += fabs((double)(row[n] - attention[(a * ENTRIES + n) * TOKENS + i])) / HEADS / 2;
    }
    return difference;
}

static double off_grid(const struct neighbours *around, size_t i)
{
    double lost = 0;
    for (size_t an = 0; an < MAPS; an++)
        if (around->token[i * ENTRIES + an % ENTRIES] == OFF_GRID) lost += (double)attention[an * TOKENS + i] / HEADS;
    return lost;
}

int main(void)
{
    const struct token_source source = {0};
    struct room room = room_open(1);
    struct neighbours around;
    grid tokens, window;
    char origin[160];
    double difference[TOKENS], lost[TOKENS];

    room_refuse(&room, grid_create(&tokens, 2, (size_t[]){EDGE, EDGE}));
    room_refuse(&room, grid_create(&window, 2, (size_t[]){K, K}));
    neighbours_prepare(&around, &room, &tokens, &window, NULL, 1);
    status s = room_place(&room, NULL);
    if (!s.code) s = tokens_make(x, 1, &tokens, CHANNELS, &source, origin, sizeof origin);
    if (!s.code) {
        random_fill_normal(maps, 2 * CHANNELS * MAPS, 1, 0, 1 / sqrt(CHANNELS));
        random_fill_normal(bias, 2 * MAPS, 1, 1, 1);
        neighbours_load(&around);
        algorithm_2(&around);
        for (size_t i = 0; i < TOKENS; i++) {
            difference[i] = moved(&around, i);
            lost[i] = off_grid(&around, i);
        }
        printf("# elsa_border: 28x28 tokens, K = 7; %s\n", origin);
        matrix("weight moved by a second bias", difference);
        matrix("weight off the grid", lost);
    }
    if (s.code) fprintf(stderr, "elsa-border: %s\n", s.message);
    room_release(&room);
    return s.code;
}
