/* elsa.c -- ELSA in plain C: map every token once, shift, add
 *
 * Algorithm 2 copies the K^2 neighbours of every token next to it (unfolding), and maps the copies.  But each map needs
 * only one token.  So Algorithm 4 maps every token once,
 *
 *     own_ian = sum_c z_ic rk_can,     other_jan = sum_c z_jc rq_can,
 *
 * and shifts afterwards: l_ian = own_ian + other_{i+n,an} + rb_an.  The values are read in place, too.  This saves the
 * copies, 2 N K^2 C numbers, and the filters of every channel, but no multiplications except those of values off
 * the grid.  In Eq. 4 the term q_i . k_j needs both tokens, so terms are computed pair by pair, within the area.
 *
 * z is q o k, or in Eq. 6 query and key.  Algorithm 4 prints the index of a shift as i % K*K, which Python evaluates as
 * (i % K)*K.  We take n = i % (K*K): neighbour n is (n / K - K/2, n % K - K/2) away, times the dilation (neighbours.h).
 *
 *     i, j  tokens, N of them     n  neighbours, K^2 of them     a  heads, h of them
 *     ch    channels              o  channels of the final module
 *
 * Contract: reference/elsa.h. */

#include "forms.h"
#include "../reference/elsa.h"
#include "../reference/runtime/steps.h"

/* ---- the core ---------------------------------------------------------------- */

/* The map of Algorithm 4, a 1 x 1 convolution: m_ian = sum_c z_ic r_can. */
static void map(real *m, const real *z, const real *r, const struct elsa_problem *p)
{
    size_t C = p->heads.C, maps = p->heads.h * p->entries;

    for (size_t i = 0; i < p->heads.N; i++) {
        real *m_i = m + i * maps;
        for (size_t an = 0; an < maps; an++) m_i[an] = 0;
        for (size_t ch = 0; ch < C; ch++)
            for (size_t an = 0; an < maps; an++) m_i[an] += z[i * C + ch] * r[ch * maps + an];
    }
}

/* The shift of Algorithm 4, for one token: l_an = own_ian + other_{i+n,an} + rb_an.  Off the grid other is zero. */
static void shift(real *l, const real *own_i, const real *other, const int *neighbour, const struct elsa_problem *p)
{
    size_t maps = p->heads.h * p->entries;

    for (size_t an = 0; an < maps; an++) {
        int j = neighbour[an % p->entries];
        l[an] = own_i[an] + p->rb[an];
        if (j != OFF_GRID) l[an] += other[(size_t)j * maps + an];
    }
}

/* The final module, for one token: g_o = GELU(sum_cn conv_w_ocn z_{i+n,c} + conv_b_o), c in the group of o; then
 * l_an = sum_o mix_w_{an,o} g_o + mix_b_an. */
static void final_module(real *l, real *g, const real *z, const int *neighbour, const struct elsa_problem *p)
{
    size_t Q = p->heads.Q, width = p->g, entries = p->entries;

    for (size_t o = 0; o < Q; o++) {
        real sum = p->conv_b[o];
        for (size_t n = 0; n < entries; n++) {
            if (neighbour[n] == OFF_GRID) continue;
            const real *z_j = z + (size_t)neighbour[n] * Q + o / width * width;
            for (size_t ch = 0; ch < width; ch++) sum += p->conv_w[(o * width + ch) * entries + n] * z_j[ch];
        }
        g[o] = gelu(sum);
    }
    for (size_t an = 0; an < p->heads.h * entries; an++) {
        real sum = p->mix_b[an];
        for (size_t o = 0; o < Q; o++) sum += p->mix_w[an * Q + o] * g[o];
        l[an] = sum;
    }
}

/* Eq. 8 and 5, for one token: f_c = sum_n (factor_cn h_{c'n} + summand_cn) v_{i+n,c}.  Values off the grid are zero.
 * In Eq. 4 head c' has a block of channels, and there is no ghost head. */
static void aggregate(real *f, const real *h, const real *v, const int *neighbour, const struct ghost *ghost,
                      const struct elsa_problem *p)
{
    size_t C = p->heads.C, entries = p->entries;

    for (size_t ch = 0; ch < C; ch++) {
        const real *h_c = h + (p->equation == 4 ? ch / p->heads.c : ghost_head(&p->ghost, ch)) * entries;
        real sum = 0;
        for (size_t n = 0; n < entries; n++) {
            if (neighbour[n] == OFF_GRID) continue;
            real filter = h_c[n];
            if (ghost->factor) filter = ghost->factor[ch * entries + n] * filter + ghost->summand[ch * entries + n];
            sum += filter * v[(size_t)neighbour[n] * C + ch];
        }
        f[ch] = sum;
    }
}

/* ---- the form around it -------------------------------------------------------- */

struct elsa_plain {
    struct heads heads;
    struct elsa_area area;
    struct ghost ghost;
    real *hp, *kp;              /* [N][Q]        scale q o k; in Eq. 6 scale q and scale k */
    real *own, *other;          /* [N][h][K^2]   the maps of Algorithm 4 */
    real *l, *g;                /* [h][K^2], [Q] one token: logits, then weights; the final module's convolution */
};
HEADS_FIRST(struct elsa_plain);

static void one_image(const struct head *head)
{
    const struct elsa_problem *p = head->plan->params;
    const struct elsa_plain *f = head->plan->state;
    size_t C = p->heads.C, h = p->heads.h, entries = p->entries;
    real *hp = head_thread(head, f->hp), *kp = head_thread(head, f->kp), *g = head_thread(head, f->g);
    real *own = head_thread(head, f->own), *other = head_thread(head, f->other), *l = head_thread(head, f->l);

    /* Step 1: the product and its two maps, once for every token. */
    if (p->equation != 4) elsa_product(hp, kp, head->q, head->k, p);
    if (p->equation >= 6) {
        map(own, hp, p->rk, p);
        map(other, kp, p->rq, p);
    }

    /* Step 2: the logits of a token, its weights, its output. */
    for (size_t i = 0; i < p->heads.N; i++) {
        const int *neighbour = f->area.around.token + i * entries;
        if (p->equation >= 6) shift(l, own + i * h * entries, other, neighbour, p);
        else if (p->equation == 0) final_module(l, g, hp, neighbour, p);
        for (size_t a = 0; a < h; a++) {
            if (p->equation == 4) elsa_terms(l + a * entries, head->q, head->k, &f->area, a, i, p);
            elsa_normalise(l + a * entries, entries, p->norm);
        }
        aggregate(head->y + i * C, l, head->v, neighbour, &f->ghost, p);
    }
}

static status prepare(struct plan *plan)
{
    const struct elsa_problem *p = plan->params;
    struct elsa_plain *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t product = p->equation == 4 ? 0 : p->heads.N, maps = p->equation >= 6 ? p->heads.N : 0;

    heads_prepare(plan, (struct core_options){.core = one_image, .whole = true, .dense = true});
    elsa_area_prepare(&f->area, arena, p);
    ghost_prepare(&f->ghost, arena, PERSISTENT, &p->ghost);
    arena_reals(arena, PER_THREAD, &f->hp, "the products", product, p->heads.Q);
    arena_reals(arena, PER_THREAD, &f->kp, "the neighbours' products", product, p->heads.Q);
    arena_reals(arena, PER_THREAD, &f->own, "the map to a token's own logits", maps, p->heads.h, p->entries);
    arena_reals(arena, PER_THREAD, &f->other, "the map to its neighbours' logits", maps, p->heads.h, p->entries);
    arena_reals(arena, PER_THREAD, &f->l, "the logits of a token", p->heads.h, p->entries);
    arena_reals(arena, PER_THREAD, &f->g, "the channels of the final module", p->equation ? 0 : p->heads.Q);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct elsa_problem *p = plan->params;
    struct elsa_plain *f = plan->state;
    elsa_area_load(&f->area, p);
    ghost_load(&f->ghost, &p->ghost);
    return heads_load(plan);
}

/* Products off the grid are not counted. */
static double multiply_adds(const void *params)
{
    const struct elsa_problem *p = params;
    return elsa_multiply_adds(p, elsa_pairs(p));
}

const struct form elsa_plain = {
    .name = "plain", .state = sizeof(struct elsa_plain), .prepare = prepare, .load = load, .run = heads_run,
    .multiply_adds = multiply_adds,
};
