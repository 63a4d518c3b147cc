/* elsa_border.c -- what happens at the border of the grid
 *
 *     build/figures/elsa_border
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
#include "../reference/elsa.h"
#include "../reference/memory.h"
#include "../reference/random.h"
#include "../reference/steps.h"
#include "../reference/tokens.h"

enum { EDGE = 28, TOKENS = EDGE * EDGE, CHANNELS = 24, HEADS = 3, K = 7, ENTRIES = K * K, MAPS = HEADS * ENTRIES };

/* What the maps are made of. */
struct scene {
    struct neighbours around;
    real *x, *maps, *bias, *attention, *other;  /* [N][C], [2][C][h K^2], [2][h K^2], [h K^2][N] twice */
    real *room;
    struct elsa_image image;
};

static status scene_create(struct scene *s, char *origin, size_t size)
{
    const struct token_source source = {0};
    grid tokens, window;
    size_t reals;
    status result;

    *s = (struct scene){.image.sizes = {.N = TOKENS, .C = CHANNELS, .h = HEADS, .K = K, .entries = ENTRIES, .Q = CHANNELS,
                                        .equation = 7, .scale = 1}};
    if ((result = grid_create(&tokens, 2, (size_t[]){EDGE, EDGE})).code) return result;
    if ((result = grid_create(&window, 2, (size_t[]){K, K})).code) return result;
    if ((result = neighbours_create(&s->around, &tokens, &window, 1, 1)).code) return result;
    s->x = memory_reals(TOKENS, CHANNELS, 1, 1);
    s->maps = memory_reals(2, CHANNELS, MAPS, 1);
    s->bias = memory_reals(2, MAPS, 1, 1);
    s->other = memory_reals(MAPS, TOKENS, 1, 1);
    s->room = elsa_image_reals(&reals, &s->image.sizes) ? memory_reals(reals, 1, 1, 1) : NULL;
    if (!s->x || !s->maps || !s->bias || !s->other || !s->room) return out_of_memory("the scene");
    random_fill_normal(s->maps, 2 * CHANNELS * MAPS, 1, 0, 1 / sqrt(CHANNELS));
    random_fill_normal(s->bias, 2 * MAPS, 1, 1, 1);
    elsa_image_place(&s->image, s->room);
    s->image.around = &s->around;
    s->image.q = s->image.k = s->image.v = s->x;
    s->image.rk = s->maps;
    s->image.rq = s->maps + CHANNELS * MAPS;
    return tokens_make(s->x, 1, &tokens, CHANNELS, &source, origin, size);
}

static void scene_release(struct scene *s)
{
    neighbours_release(&s->around);
    memory_free(s->x);
    memory_free(s->maps);
    memory_free(s->bias);
    memory_free(s->other);
    memory_free(s->room);
}

static void matrix(const char *name, const double *map)
{
    printf("# %s\n", name);
    for (size_t i = 0; i < TOKENS; i++) printf("%.5f%s", map[i], i % EDGE == EDGE - 1 ? "\n" : "\t");
    printf("\n\n");
}

int main(void)
{
    struct scene s;
    char origin[160];
    double difference[TOKENS] = {0}, lost[TOKENS] = {0};
    real both[MAPS];
    status result = scene_create(&s, origin, sizeof origin);

    if (result.code) {
        fprintf(stderr, "elsa_border: %s\n", result.message);
        scene_release(&s);
        return result.code;
    }

    /* Step 1: Algorithm 2 with the sum of both biases. */
    for (size_t an = 0; an < MAPS; an++) both[an] = s.bias[an] + s.bias[MAPS + an];
    s.image.rb = both;
    elsa_naive_product(&s.image);
    elsa_naive_logits(&s.image);
    memcpy(s.other, s.image.h, MAPS * TOKENS * sizeof *s.other);
    elsa_naive_softmax(&s.image);
    for (size_t i = 0; i < TOKENS; i++)
        for (size_t an = 0; an < MAPS; an++)
            if (s.around.token[i * ENTRIES + an % ENTRIES] == OFF_GRID) lost[i] += (double)s.image.h[an * TOKENS + i] / HEADS;

    /* Step 2: Algorithm 3: off the grid the second bias is not there. */
    for (size_t i = 0; i < TOKENS; i++)
        for (size_t a = 0; a < HEADS; a++) {
            real filter[ENTRIES];
            for (size_t n = 0; n < ENTRIES; n++) {
                filter[n] = s.other[(a * ENTRIES + n) * TOKENS + i];
                if (s.around.token[i * ENTRIES + n] == OFF_GRID) filter[n] -= s.bias[MAPS + a * ENTRIES + n];
            }
            softmax(filter, ENTRIES);
            for (size_t n = 0; n < ENTRIES; n++)
                difference[i] += fabs((double)(filter[n] - s.image.h[(a * ENTRIES + n) * TOKENS + i])) / HEADS / 2;
        }

    printf("# elsa_border: 28x28 tokens, K = 7; %s\n", origin);
    matrix("weight moved by Algorithm 3 as printed", difference);
    matrix("weight off the grid", lost);
    scene_release(&s);
    return 0;
}
