/* networks-elsa.c -- ELSA's maps and filters in a trained network, and in the same with random weights
 *
 *     build/figures/networks-elsa
 *
 * Of the second block of the tiny network that tests/pytorch/train.py trains
 * (learned.h), by the hearts of the naive form: for three tokens the 5 x 5 maps of the
 * four heads, and what the ghost head makes of them for a channel of each (Eq. 8); then
 * the ghost head's own factors and summands for eight channels.
 *
 * Each over its largest magnitude.  The comments say what part of all filters' energy is
 * left when each is replaced by its mean over the tokens: 100 % where filters do not look
 * at the image. */

#include "../naive/elsa.h"
#include "../reference/linear.h"
#include "learned.h"

enum { K = 5, ENTRIES = K * K, HEADS = 4, SPOTS = 3, SHOWN = 8, PICTURE = 28 };

static const size_t spot[SPOTS][2] = {{3, 10}, {8, 5}, {11, 12}};          /* row, column */

static real q[N * C], k[N * C], hp[N * C], kp[N * C], unfolded[N * ENTRIES * C], row[ENTRIES];
static real maps[HEADS * ENTRIES * N], filters[C * ENTRIES * N];

/* One 5 x 5 filter, its entries `step` apart. */
static void print_filter(const char *name, const real *h, size_t step)
{
    real filter[ENTRIES];
    for (size_t n = 0; n < ENTRIES; n++) filter[n] = h[n * step];
    learned_print(name, filter, K, K, learned_largest(filter, ENTRIES));
}

/* Percent of the filters' energy that stays in their means over the tokens. */
static double static_part(void)
{
    double kept = 0, all = 0;
    for (size_t cn = 0; cn < C * ENTRIES; cn++) {
        double sum = 0;
        for (size_t i = 0; i < N; i++) {
            double f = (double)filters[cn * N + i];
            sum += f;
            all += f * f;
        }
        kept += sum * sum / N;
    }
    return 100 * kept / all;
}

static status draw_around(const char *kind, const struct learned *l, const struct neighbours *around)
{
    struct elsa_problem p;
    status s = elsa.resolve(&p, &l->mixer->problem);
    if (s.code) return s;       /* cppcheck-suppress returnDanglingLifetime ; a status holds its own text */

    /* Step 1: query and key of all channels, and the hearts. */
    linear_map(q, C, l->met, C, p.heads.w_qkv, p.heads.b_qkv, N, C, C);
    linear_map(k, C, l->met, C, p.heads.w_qkv + C * C, p.heads.b_qkv + C, N, C, C);
    elsa_naive_product(hp, kp, q, k, &p);
    elsa_naive_unfold(unfolded, kp, around, C);
    elsa_naive_logits(maps, hp, unfolded, &p);
    elsa_naive_softmax(maps, row, &p);
    elsa_naive_filters(filters, maps, p.ghost.mul, p.ghost.add, &p);

    /* Step 2: what is drawn; channel c belongs to head c mod 4. */
    printf("# percent of the filters that is the same for all tokens, %s: %.0f\n", kind, static_part());
    for (size_t t = 0; t < SPOTS; t++)
        for (size_t a = 0; a < HEADS; a++) {
            size_t i = spot[t][0] * SIDE + spot[t][1];
            char name[40];
            snprintf(name, sizeof name, "%s map %zu %zu", kind, t, a);
            print_filter(name, maps + a * ENTRIES * N + i, N);
            snprintf(name, sizeof name, "%s filter %zu %zu", kind, t, a);
            print_filter(name, filters + a * ENTRIES * N + i, N);
        }
    for (size_t c = 0; c < SHOWN; c++) {
        char name[40];
        snprintf(name, sizeof name, "%s factor %zu", kind, c);
        print_filter(name, p.ghost.mul + c * ENTRIES, 1);
        snprintf(name, sizeof name, "%s summand %zu", kind, c);
        print_filter(name, p.ghost.add + c * ENTRIES, 1);
    }
    return status_ok();
}

static status draw(const char *kind, struct learned *l)
{
    struct room room = room_open(1);
    struct neighbours around;
    grid tokens, window;
    room_refuse(&room, grid_create(&tokens, 2, (size_t[]){SIDE, SIDE}));
    room_refuse(&room, grid_create(&window, 2, (size_t[]){K, K}));
    neighbours_prepare(&around, &room, &tokens, &window, NULL, 1);
    status s = room_place(&room, NULL);
    if (!s.code) {
        neighbours_load(&around);
        s = draw_around(kind, l, &around);
    }
    room_release(&room);
    return s;
}

int main(void)
{
    const struct learned_view view = {"networks-elsa", "elsa", PICTURE, "tokens", SPOTS, spot};
    return learned_compare(&view, draw);
}
