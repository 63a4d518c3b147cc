/* elsa.c -- ELSA as its equations and its Algorithm 2 read; see reference/elsa.h
 *
 * Neighbourhoods are unfolded: the Hadamard product around every token, N x
 * K^2 x C, is really there, and so are the values around every token and the
 * filter of every channel.  For Eq. 4 the map of all tokens against all tokens
 * is there.  Never optimised; to be read beside Eq. 4-8 and Algorithms 1, 2.
 *
 *     i  tokens, N of them       n  neighbours, K^2 of them    a  heads, h of them
 *     ch channels of the value   x  channels of query and key, which are C, or
 *                                   in the final variant Q
 *
 * The hearts come first, for one image; the forms around them follow. */

#include "../reference/elsa.h"
#include <string.h>
#include "../reference/heads.h"
#include "../reference/memory.h"
#include "../reference/steps.h"

/* ---- the hearts ------------------------------------------------------ */

/* z = q o k, scaled; Eq. 6 keeps the two apart. */
void elsa_naive_product(struct elsa_image *m)
{
    real scale = m->sizes.scale;

    for (size_t ix = 0; ix < m->sizes.N * m->sizes.Q; ix++)
        if (m->sizes.equation == 6) {
            m->hp[ix] = scale * m->q[ix];
            m->kp[ix] = scale * m->k[ix];
        } else {
            m->hp[ix] = scale * (m->q[ix] * m->k[ix]);
            m->kp[ix] = m->hp[ix];
        }
}

static void unfold(real *windows, const struct elsa_image *m, const real *rows, size_t columns)
{
    for (size_t i = 0; i < m->sizes.N; i++)
        neighbours_unfold(windows + i * m->sizes.entries * columns, m->around, i, rows, columns, columns);
}

/* Eq. 7 by Algorithm 2: each token's own product meets rk, its neighbours'
 * products meet rq. */
void elsa_naive_logits(struct elsa_image *m)
{
    size_t N = m->sizes.N, C = m->sizes.C, h = m->sizes.h, entries = m->sizes.entries;

    /* Step 1: the products around every token. */
    unfold(m->unfolded, m, m->kp, C);

    /* Step 2: l_ani = sum_c z_ic rk_can + sum_c z_{i+n,c} rq_can + rb_an. */
    for (size_t a = 0; a < h; a++)
        for (size_t n = 0; n < entries; n++)
            for (size_t i = 0; i < N; i++) {
                real sum = m->rb[a * entries + n];
                for (size_t ch = 0; ch < C; ch++) {
                    sum += m->hp[i * C + ch] * m->rk[(ch * h + a) * entries + n];
                    sum += m->unfolded[(i * entries + n) * C + ch] * m->rq[(ch * h + a) * entries + n];
                }
                m->h[(a * entries + n) * N + i] = sum;
            }
}

/* The authors' final module: a convolution in groups of 8 channels, GELU, and
 * one linear map to all logits. */
void elsa_naive_final_logits(struct elsa_image *m)
{
    size_t N = m->sizes.N, Q = m->sizes.Q, entries = m->sizes.entries;
    real *g = m->kp;

    /* Step 1: the products around every token. */
    unfold(m->unfolded, m, m->hp, Q);

    /* Step 2: g_io = GELU(sum_cn conv_w_ocn z_{i+n,c} + conv_b_o), c in o's group. */
    for (size_t i = 0; i < N; i++)
        for (size_t o = 0; o < Q; o++) {
            real sum = m->conv_b[o];
            for (size_t ch = 0; ch < 8; ch++)
                for (size_t n = 0; n < entries; n++)
                    sum += m->conv_w[(o * 8 + ch) * entries + n] * m->unfolded[(i * entries + n) * Q + o / 8 * 8 + ch];
            g[i * Q + o] = gelu(sum);
        }

    /* Step 3: l_ani = sum_o mix_w_{an,o} g_io + mix_b_an. */
    for (size_t an = 0; an < m->sizes.h * entries; an++)
        for (size_t i = 0; i < N; i++) {
            real sum = m->mix_b[an];
            for (size_t o = 0; o < Q; o++) sum += m->mix_w[an * Q + o] * g[i * Q + o];
            m->h[an * N + i] = sum;
        }
}

/* h_ani = softmax over the neighbours n, those off the grid included. */
void elsa_naive_softmax(struct elsa_image *m)
{
    size_t N = m->sizes.N, entries = m->sizes.entries;
    real *filter = m->row;

    for (size_t a = 0; a < m->sizes.h; a++)
        for (size_t i = 0; i < N; i++) {
            for (size_t n = 0; n < entries; n++) filter[n] = m->h[(a * entries + n) * N + i];
            softmax(filter, entries);
            for (size_t n = 0; n < entries; n++) m->h[(a * entries + n) * N + i] = filter[n];
        }
}

/* Eq. 8, Algorithm 1: every channel has the filters of its head, bent by two
 * static matrices of its own. */
void elsa_naive_filters(struct elsa_image *m)
{
    size_t N = m->sizes.N, entries = m->sizes.entries;

    for (size_t ch = 0; ch < m->sizes.C; ch++) {
        size_t a = elsa_head(&m->sizes, ch);
        for (size_t n = 0; n < entries; n++)
            for (size_t i = 0; i < N; i++) {
                real h = m->h[(a * entries + n) * N + i];
                if (m->factor) h = m->factor[ch * entries + n] * h + m->summand[ch * entries + n];
                m->filters[(ch * entries + n) * N + i] = h;
            }
    }
}

/* Eq. 5: f_ic = sum_n filter_cni v_{i+n,c}. */
void elsa_naive_apply(struct elsa_image *m)
{
    size_t N = m->sizes.N, C = m->sizes.C, entries = m->sizes.entries;

    unfold(m->contexts, m, m->v, C);
    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < C; ch++) {
            m->f[i * C + ch] = 0;
            for (size_t n = 0; n < entries; n++)
                m->f[i * C + ch] += m->filters[(ch * entries + n) * N + i] * m->contexts[(i * entries + n) * C + ch];
        }
}

/* Eq. 4 for one head: the filter of every token, by its terms and its Norm,
 * written into the map of all tokens against all; and the map applied. */
void elsa_naive_unified(struct elsa_unified *u)
{
    size_t N = u->N, C = u->C, c = u->c, entries = u->area->entries, first = u->head * c;

    for (size_t ij = 0; ij < N * N; ij++) u->weights[ij] = 0;
    for (size_t i = 0; i < N; i++) {
        /* Step 1: the terms of every token in the area; off the grid the key is zero. */
        for (size_t n = 0; n < entries; n++) {
            int j = u->area->token[i * entries + n];
            size_t t = (size_t)u->area->offset[i * entries + n];
            real dot = 0, sum = 0;
            for (size_t ch = first; u->dot && j != OFF_GRID && ch < first + c; ch++)
                dot += u->q[i * C + ch] * u->k[(size_t)j * C + ch];
            if (u->dot) sum = u->scale * dot;
            for (size_t ch = 0; u->rk && ch < C; ch++) sum += u->q[i * C + ch] * u->rk[(ch * u->h + u->head) * u->T + t];
            for (size_t ch = 0; u->rq && j != OFF_GRID && ch < C; ch++)
                sum += u->k[(size_t)j * C + ch] * u->rq[(ch * u->h + u->head) * u->T + t];
            if (u->rb) sum += u->rb[u->head * u->T + t];
            u->filter[n] = sum;
        }

        /* Step 2: Norm_j. */
        elsa_normalise(u->filter, entries, u->norm);

        /* Step 3: into the map; what falls off the grid meets no value. */
        for (size_t n = 0; n < entries; n++)
            if (u->area->token[i * entries + n] != OFF_GRID)
                u->weights[i * N + (size_t)u->area->token[i * entries + n]] = u->filter[n];
    }

    /* Step 4: f_ic = sum_j weights_ij v_jc. */
    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < c; ch++) {
            u->y[i * c + ch] = 0;
            for (size_t j = 0; j < N; j++) u->y[i * c + ch] += u->weights[i * N + j] * u->v[j * C + first + ch];
        }
}

/* ---- where the tensors lie --------------------------------------------- */

#define MADE 8

/* The second group of struct elsa_image, in its order. */
static bool sizes(size_t size[MADE], const struct elsa_sizes *s)
{
    const size_t factor[MADE][3] = {
        {s->N, s->Q, 1}, {s->N, s->Q, 1}, {s->N, s->entries, s->Q}, {s->h, s->entries, s->N}, {s->entries, 1, 1},
        {s->C, s->entries, s->N}, {s->N, s->entries, s->C}, {s->N, s->C, 1},
    };
    for (size_t t = 0; t < MADE; t++)
        if (!size_multiply(&size[t], factor[t][0], factor[t][1]) || !size_multiply(&size[t], size[t], factor[t][2]))
            return false;
    return true;
}

bool elsa_image_reals(size_t *reals, const struct elsa_sizes *s)
{
    size_t size[MADE];
    *reals = 0;
    if (!sizes(size, s)) return false;
    for (size_t t = 0; t < MADE; t++) {
        *reals += size[t];
        if (*reals < size[t]) return false;
    }
    return true;
}

void elsa_image_place(struct elsa_image *m, real *block)
{
    size_t size[MADE];
    real **tensor[MADE] = {&m->hp, &m->kp, &m->unfolded, &m->h, &m->row, &m->filters, &m->contexts, &m->f};
    (void)sizes(size, &m->sizes);
    for (size_t t = 0; t < MADE; block += size[t++]) *tensor[t] = block;
}

/* ---- the form around them -------------------------------------------- */

struct naive_state {
    struct heads heads;
    struct neighbours around;
    struct elsa_area area;      /* Eq. 4 */
    real *factor, *summand;     /* Eq. 8 */
};

/* One image by Algorithm 2, or the final variant. */
static void one_image(const struct head *one)
{
    const struct problem *p = one->problem;
    const struct naive_state *state = (const struct naive_state *)one->prepared;
    struct elsa_image m;
    size_t N, Q, C;

    /* Step 1: dense copies; what is given. */
    m.sizes = elsa_sizes(p);
    N = m.sizes.N, Q = m.sizes.Q, C = m.sizes.C;
    real *q = one->workspace, *k = q + N * Q, *v = k + N * Q;
    head_gather(q, one->q, one->stride, N, Q);
    head_gather(k, one->k, one->stride, N, Q);
    head_gather(v, one->v, one->stride, N, C);
    m.around = &state->around;
    m.q = q;
    m.k = k;
    m.v = v;
    m.rk = problem_tensor(p, "rk");
    m.rq = problem_tensor(p, "rq");
    m.rb = problem_tensor(p, "rb");
    m.conv_w = problem_tensor(p, "conv_w");
    m.conv_b = problem_tensor(p, "conv_b");
    m.mix_w = problem_tensor(p, "mix_w");
    m.mix_b = problem_tensor(p, "mix_b");
    m.factor = state->factor;
    m.summand = state->summand;
    elsa_image_place(&m, v + N * C);

    /* Step 2: the equations. */
    elsa_naive_product(&m);
    if (m.sizes.equation) elsa_naive_logits(&m);
    else elsa_naive_final_logits(&m);
    elsa_naive_softmax(&m);
    elsa_naive_filters(&m);
    elsa_naive_apply(&m);

    /* Step 3: where they belong. */
    head_scatter(one->y, one->y_stride, m.f, N, C);
}

/* One head of one image by Eq. 4; the map of a head is N x N. */
static void one_unified_image(const struct head *one)
{
    const struct problem *p = one->problem;
    const struct naive_state *state = (const struct naive_state *)one->prepared;
    struct elsa_sizes s = elsa_sizes(p);
    struct elsa_unified u;
    real *q = one->workspace, *k = q + s.N * s.C, *v = k + s.N * s.C, *room = v + s.N * s.C;

    /* Step 1: dense copies; what is given. */
    head_gather(q, one->q, one->stride, s.N, s.C);
    head_gather(k, one->k, one->stride, s.N, s.C);
    head_gather(v, one->v, one->stride, s.N, s.C);
    u.N = s.N;
    u.C = s.C;
    u.c = s.C / s.h;
    u.h = s.h;
    u.T = problem_size(p, "T");
    u.area = &state->area;
    u.norm = elsa_norm(p);
    u.scale = s.scale;
    u.q = q;
    u.k = k;
    u.v = v;
    u.rk = problem_tensor(p, "rk");
    u.rq = problem_tensor(p, "rq");
    u.rb = problem_tensor(p, "rb");
    u.dot = elsa_term(p, "qk");
    u.weights = room;
    u.filter = u.weights + s.N * s.N;
    u.y = u.filter + s.entries;

    /* Step 2: one head after the other, into its channels. */
    for (u.head = 0; u.head < s.h; u.head++) {
        elsa_naive_unified(&u);
        head_scatter(one->y + u.head * u.c, one->y_stride, u.y, s.N, u.c);
    }
}

static void release(struct plan *plan)
{
    struct naive_state *state = (struct naive_state *)plan->state;
    if (!state) return;
    heads_release(&state->heads);
    neighbours_release(&state->around);
    elsa_area_release(&state->area);
    memory_free(state->factor);
    memory_free(state->summand);
    memory_free(state);
    plan->state = NULL;
}

/* Tables and static matrices, once for all images. */
static status prepare_tables(struct naive_state *state, const struct problem *p)
{
    size_t C = problem_size(p, "C"), K = problem_size(p, "K");
    const size_t size[2] = {K, K};
    grid window;
    status s;

    if (elsa_sizes(p).equation == 4) return elsa_area_create(&state->area, p);
    if ((s = grid_create(&window, 2, size)).code) return s;
    if ((s = neighbours_create(&state->around, &p->grid, &window, 1, (size_t)problem_number(p, "dilation"))).code) return s;
    if (!problem_tensor(p, "ghost_mul")) return s;
    state->factor = memory_reals(C, K, K, 1);
    state->summand = memory_reals(C, K, K, 1);
    if (!state->factor || !state->summand) return out_of_memory("the ghost head");
    elsa_ghost(state->factor, state->summand, p);
    return s;
}

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    struct elsa_sizes s = elsa_sizes(p);
    size_t tokens, reals = 0, map = 0;
    status result;
    bool fits;

    struct naive_state *state = (struct naive_state *)memory_get(1, sizeof *state);
    if (!state) return out_of_memory("a plan");
    *state = (struct naive_state){0};
    plan->state = state;
    if ((result = prepare_tables(state, p)).code) return result;
    fits = size_multiply(&tokens, 2 * s.Q + s.C, s.N);
    if (s.equation == 4) {
        fits = fits && size_multiply(&map, s.N, s.N) && map <= SIZE_MAX / 4;
        reals = map + s.entries + s.N * s.C;
    } else {
        fits = fits && elsa_image_reals(&reals, &s);
    }
    if (!fits || reals + tokens < tokens) return out_of_memory("the workspace of an image");
    return heads_prepare(&state->heads, plan, reals + tokens);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct naive_state *state = (const struct naive_state *)plan->state;
    heads_run_whole(&state->heads, plan, y, x, elsa_sizes(plan->problem).equation == 4 ? one_unified_image : one_image, 1, state);
    return status_ok();
}

/* All that the hearts multiply, and the projections. */
static double multiply_adds(const struct problem *p)
{
    struct elsa_sizes s = elsa_sizes(p);
    double N = (double)s.N, C = (double)s.C, h = (double)s.h, n = (double)s.entries, Q = (double)s.Q, one;

    if (s.equation == 4) {
        one = elsa_term_multiply_adds(p) + N * N * C;
    } else {
        one = 2 * N * Q;
        one += s.equation ? 2 * N * n * h * C : N * n * (8 * Q + h * Q);
        one += N * n * C * (problem_axis(p, "ghost_mul", 0) ? 2 : 1);
    }
    return heads_multiply_adds(p) + (double)problem_size(p, "B") * one;
}

const struct form elsa_naive = {"naive", prepare, run, release, multiply_adds};
