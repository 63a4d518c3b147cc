/* structsa.c -- StructSA as its equations read; see reference/structsa.h
 *
 * The correlation is taken explicitly: the N x N map of all queries against
 * all keys, or in Eq. 16 the N x N x c Hadamard correlation, is really there.
 * Windows are unfolded, kernels are made and then applied.  Never optimised;
 * to be read beside Eq. 2-5 and 11-16.
 *
 *     i  queries, N of them        n  tokens                    d  patterns
 *     j  centres of windows, J     m  entries of a window       ch channels
 *
 * One loop nest serves all three equations.  A dot product is a Hadamard
 * product summed, so the map of Eq. 2 has one column where that of Eq. 11 has
 * c; and an element (Eq. 4) is a window of one token.
 *
 * The hearts come first, for one head of one image; the form around them
 * follows. */

#include "../reference/structsa.h"
#include "../reference/heads.h"
#include "../reference/memory.h"
#include "../reference/steps.h"

/* ---- the hearts ------------------------------------------------------ */

/* Eq. 2: map_in = q_i . k_n.   Eq. 11: map_inc = q_ic k_nc. */
void structsa_naive_correlate(struct structsa_head *h)
{
    size_t N = h->N, c = h->c;

    for (size_t in = 0; in < N * N; in++) {
        const real *q_i = h->q + in / N * c, *k_n = h->k + in % N * c;
        real *map_in = h->map + in * h->columns;
        for (size_t x = 0; x < h->columns; x++) map_in[x] = 0;
        for (size_t ch = 0; ch < c; ch++) map_in[h->columns == 1 ? 0 : ch] += q_i[ch] * k_n[ch];
    }
}

/* Eq. 3 and 13: D filters look at each window of the map of query i, and one
 * softmax weighs all that they find. */
void structsa_naive_attend(struct structsa_head *h)
{
    size_t N = h->N, J = h->keys->centres, D = h->D, taps = h->keys->entries * h->columns;

    for (size_t i = 0; i < N; i++) {
        const real *map_i = h->map + i * N * h->columns;
        real *a_i = h->a + i * J * D;

        /* Step 1: the windows of this query's map. */
        for (size_t j = 0; j < J; j++)
            neighbours_unfold(h->windows + j * taps, h->keys, j, map_i, h->columns, h->columns);

        /* Step 2: the scores, each a filter laid on a window. */
        for (size_t j = 0; j < J; j++)
            for (size_t d = 0; d < D; d++) {
                a_i[j * D + d] = 0;
                for (size_t mx = 0; mx < taps; mx++) a_i[j * D + d] += h->windows[j * taps + mx] * h->hk[d * taps + mx];
            }

        /* Step 3: the softmax over all (j, d) together. */
        softmax(a_i, J * D);
    }
}

/* Eq. 4, 5 and 16: the dynamic kernels of query i, kappa_ij = sum_d a_ijd (filter d). */
void structsa_naive_kernels(struct structsa_head *h, size_t i)
{
    size_t J = h->values->centres, D = h->D, taps = h->values->entries * h->columns;
    const real *a_i = h->a + i * J * D;

    for (size_t j = 0; j < J; j++)
        for (size_t mx = 0; mx < taps; mx++) {
            h->kernels[j * taps + mx] = 0;
            for (size_t d = 0; d < D; d++) h->kernels[j * taps + mx] += a_i[j * D + d] * h->hv[d * taps + mx];
        }
}

/* Eq. 4, 5 and 16: y_i = sum_j kappa_ij V_j. */
void structsa_naive_aggregate(struct structsa_head *h)
{
    size_t N = h->N, c = h->c, M = h->values->entries, entries = h->values->centres * M;

    /* Step 1: V_j, the values around every centre. */
    for (size_t j = 0; j < h->values->centres; j++)
        neighbours_unfold(h->contexts + j * M * c, h->values, j, h->v, c, c);

    /* Step 2: the kernels of one query after the other, applied. */
    for (size_t i = 0; i < N; i++) {
        structsa_naive_kernels(h, i);
        for (size_t ch = 0; ch < c; ch++) {
            size_t column = h->columns == 1 ? 0 : ch;
            h->y[i * c + ch] = 0;
            for (size_t jm = 0; jm < entries; jm++)
                h->y[i * c + ch] += h->kernels[jm * h->columns + column] * h->contexts[jm * c + ch];
        }
    }
}

/* Eq. 21: token n meets every kernel whose window it lies in. */
void structsa_naive_merge(real *merged, const struct structsa_head *h)
{
    for (size_t nx = 0; nx < h->N * h->columns; nx++) merged[nx] = 0;
    for (size_t jm = 0; jm < h->values->centres * h->values->entries; jm++) {
        if (h->values->token[jm] == OFF_GRID) continue;
        size_t n = (size_t)h->values->token[jm];
        for (size_t x = 0; x < h->columns; x++) merged[n * h->columns + x] += h->kernels[jm * h->columns + x];
    }
}

/* ---- where the tensors lie --------------------------------------------- */

/* The second group of struct structsa_head, in its order. */
static bool sizes(size_t size[6], const struct structsa_head *h)
{
    size_t J = h->keys->centres, M = h->keys->entries, Mv = h->values->entries;
    const size_t factor[6][3] = {
        {h->N, h->N, h->columns}, {J, M, h->columns}, {h->N, J, h->D}, {J, Mv, h->c}, {J, Mv, h->columns}, {h->N, h->c, 1},
    };
    for (size_t t = 0; t < 6; t++)
        if (!size_multiply(&size[t], factor[t][0], factor[t][1]) || !size_multiply(&size[t], size[t], factor[t][2]))
            return false;
    return true;
}

bool structsa_head_reals(size_t *reals, const struct structsa_head *h)
{
    size_t size[6];
    *reals = 0;
    if (!sizes(size, h)) return false;
    for (size_t t = 0; t < 6; t++) {
        *reals += size[t];
        if (*reals < size[t]) return false;
    }
    return true;
}

void structsa_head_place(struct structsa_head *h, real *block)
{
    size_t size[6];
    real **tensor[6] = {&h->map, &h->windows, &h->a, &h->contexts, &h->kernels, &h->y};
    (void)sizes(size, h);
    for (size_t t = 0; t < 6; block += size[t++]) *tensor[t] = block;
}

/* ---- the form around them -------------------------------------------- */

struct naive_state {
    struct heads heads;
    struct structsa_sides sides;
};

/* The head of a problem, without its tokens. */
static struct structsa_head head_of(const struct problem *p, const struct structsa_sides *s, size_t head)
{
    struct structsa_head h;
    h.N = problem_size(p, "N");
    h.c = problem_size(p, "c");
    h.D = s->D;
    h.columns = s->columns;
    h.keys = &s->keys;
    h.values = &s->values;
    h.hk = structsa_hk(s, head);
    h.hv = structsa_hv(s, head);
    return h;
}

static void one_head(const struct head *one)
{
    const struct problem *p = one->problem;
    const struct naive_state *state = (const struct naive_state *)one->prepared;
    struct structsa_head h = head_of(p, &state->sides, one->head);
    real scale = (real)problem_number(p, "scale");
    real *q = one->workspace, *k = q + h.N * h.c, *v = k + h.N * h.c;

    /* Step 1: dense copies, the query scaled. */
    head_gather(q, one->q, one->stride, h.N, h.c);
    head_gather(k, one->k, one->stride, h.N, h.c);
    head_gather(v, one->v, one->stride, h.N, h.c);
    for (size_t ic = 0; ic < h.N * h.c; ic++) q[ic] *= scale;
    h.q = q;
    h.k = k;
    h.v = v;

    /* Step 2: the equations. */
    structsa_head_place(&h, v + h.N * h.c);
    structsa_naive_correlate(&h);
    structsa_naive_attend(&h);
    structsa_naive_aggregate(&h);

    /* Step 3: back among the other heads. */
    head_scatter(one->y, one->y_stride, h.y, h.N, h.c);
}

static void release(struct plan *plan)
{
    struct naive_state *state = (struct naive_state *)plan->state;
    if (!state) return;
    heads_release(&state->heads);
    structsa_sides_release(&state->sides);
    memory_free(state);
    plan->state = NULL;
}

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    size_t tokens, reals;
    status s;

    struct naive_state *state = (struct naive_state *)memory_get(1, sizeof *state);
    if (!state) return out_of_memory("a plan");
    *state = (struct naive_state){0};
    plan->state = state;
    if ((s = structsa_sides_create(&state->sides, p)).code) return s;
    struct structsa_head h = head_of(p, &state->sides, 0);
    if (!structsa_head_reals(&reals, &h) || !size_multiply(&tokens, 3 * h.N, h.c) || reals + tokens < tokens)
        return out_of_memory("the workspace of a head");
    return heads_prepare(&state->heads, plan, reals + tokens);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct naive_state *state = (const struct naive_state *)plan->state;
    heads_run(&state->heads, plan, y, x, one_head, 1, state);
    return status_ok();
}

/* All that the hearts multiply, the scale, and the projections. */
static double multiply_adds(const struct problem *p)
{
    int equation = (int)problem_number(p, "equation");
    double N = (double)problem_size(p, "N"), c = (double)problem_size(p, "c"), D = (double)problem_size(p, "D");
    double M = (double)problem_size(p, "M"), Mv = equation == 4 ? 1 : M, x = equation == 16 ? c : 1;
    double J = (double)neighbours_centres(&p->grid, (size_t)problem_number(p, "stride"));
    double heads = (double)problem_size(p, "B") * (double)problem_size(p, "h");

    return heads_multiply_adds(p) + heads * (N * c + N * N * c + N * J * (D * M * x + D * Mv * x + Mv * c));
}

const struct form structsa_naive = {"naive", prepare, run, release, multiply_adds};
