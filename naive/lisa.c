/* lisa.c -- LiSA as Eq. 4-10 read; never optimised
 *
 * All tensors of the paper are in memory: the Toeplitz RPE tensors, the N x N correlation, the N x N x c Hadamard
 * correlation, the N x c x D convolutions.  Loops have the paper's letters and order; every convolution is a sum over
 * all tokens, or over a local window.
 *
 *     i, j, n  tokens, N of them: i of the query, n and j of key and value
 *     ch       channel, c of them: the paper's c of query and key, its k of value
 *     d        latent, D of them
 *     m        entry of a local window, M of them
 *
 * Contract: reference/lisa.h; naive/lisa.h for each function. */

#include "lisa.h"
#include "attention.h"
#include "forms.h"
#include "../reference/runtime/steps.h"

/* ---- Eq. 4-7 ------------------------------------------------------------- */

/* Eq. 4, 5: A_ij = sum_c q_ic k_jc, the dot-product correlation. */
void lisa_naive_correlation(real *A, const real *q, const real *k, size_t N, size_t c)
{
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            const real *q_i = q + i * c, *k_j = k + j * c;
            real sum = 0;
            for (size_t ch = 0; ch < c; ch++) sum += q_i[ch] * k_j[ch];
            A[i * N + j] = sum;
        }
}

/* Eq. 4: A_ij R_ij. */
void lisa_naive_weigh(real *A, const real *R, size_t N)
{
    for (size_t ij = 0; ij < N * N; ij++) A[ij] *= R[ij];
}

/* Eq. 5: a_id = sum_n A_in Ra_ind, the structure around token i.  In Tab. 3b, with B^a: + sum_c q_ic ba_cd. */
void lisa_naive_structure(real *a, const real *A, const real *Ra, const real *q, const real *ba,
                          size_t N, size_t c, size_t D)
{
    for (size_t i = 0; i < N; i++)
        for (size_t d = 0; d < D; d++) {
            const real *A_i = A + i * N, *Ra_i = Ra + i * N * D, *q_i = q + i * c;
            real sum = 0;
            for (size_t n = 0; n < N; n++) sum += A_i[n] * Ra_i[n * D + d];
            if (ba)
                for (size_t ch = 0; ch < c; ch++) sum += q_i[ch] * ba[ch * D + d];
            a[i * D + d] = sum;
        }
}

/* Eq. 6, 7: A_inc = q_ic k_nc, the Hadamard correlation. */
void lisa_naive_hadamard(real *A, const real *q, const real *k, size_t N, size_t c)
{
    for (size_t i = 0; i < N; i++)
        for (size_t n = 0; n < N; n++) {
            const real *q_i = q + i * c, *k_n = k + n * c;
            real *A_in = A + (i * N + n) * c;
            for (size_t ch = 0; ch < c; ch++) A_in[ch] = q_i[ch] * k_n[ch];
        }
}

/* Eq. 6, 7: a_id = sum_nc A_inc Ra_incd + sum_c q_ic ba_cd; the bias is added once, not for every n. */
void lisa_naive_hadamard_structure(real *a, const real *A, const real *Ra, const real *q, const real *ba,
                                   size_t N, size_t c, size_t D)
{
    for (size_t i = 0; i < N; i++)
        for (size_t d = 0; d < D; d++) {
            const real *A_i = A + i * N * c, *Ra_i = Ra + i * N * c * D, *q_i = q + i * c;
            real sum = 0;
            for (size_t nc = 0; nc < N * c; nc++) sum += A_i[nc] * Ra_i[nc * D + d];
            if (ba)
                for (size_t ch = 0; ch < c; ch++) sum += q_i[ch] * ba[ch * D + d];
            a[i * D + d] = sum;
        }
}

/* Eq. 5-7: kernel_ij = sum_d a_id Rb_ijd. */
void lisa_naive_kernel(real *kernel, const real *a, const real *Rb, size_t N, size_t D)
{
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            const real *a_i = a + i * D, *Rb_ij = Rb + (i * N + j) * D;
            real sum = 0;
            for (size_t d = 0; d < D; d++) sum += a_i[d] * Rb_ij[d];
            kernel[i * N + j] = sum;
        }
}

/* Eq. 4-7: y_ik = sum_j kernel_ij v_jk + sum_d a_id bb_kd. */
void lisa_naive_output(real *y, const real *kernel, const real *v, const real *a, const real *bb,
                       size_t N, size_t c, size_t D)
{
    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < c; ch++) {
            real sum = 0;
            for (size_t j = 0; j < N; j++) sum += kernel[i * N + j] * v[j * c + ch];
            for (size_t d = 0; d < D; d++) sum += a[i * D + d] * bb[ch * D + d];
            y[i * c + ch] = sum;
        }
}

/* ---- Eq. 10, and Eq. 5 in the order of Fig. 6 ------------------------------ */

/* Eq. 10: Ga_icd = sum_n k_nc wa_{i-n,c,d} + ba_cd, where i - n wraps around the grid. */
void lisa_naive_circular_key(real *Ga, const real *k, const real *wa, const real *ba, const grid *g, size_t c, size_t D)
{
    for (size_t i = 0; i < g->tokens; i++) {
        real *Ga_i = Ga + i * c * D;
        for (size_t cd = 0; cd < c * D; cd++) Ga_i[cd] = 0;
        for (size_t n = 0; n < g->tokens; n++) {
            const real *k_n = k + n * c, *wa_in = wa + grid_circular(g, i, n) * c * D;
            for (size_t ch = 0; ch < c; ch++)
                for (size_t d = 0; d < D; d++) Ga_i[ch * D + d] += k_n[ch] * wa_in[ch * D + d];
        }
        for (size_t cd = 0; cd < c * D; cd++) Ga_i[cd] += ba[cd];
    }
}

/* Eq. 10: Gb_ikd = sum_n v_nk wb_{i-n,d} + bb_kd. */
void lisa_naive_circular_value(real *Gb, const real *v, const real *wb, const real *bb,
                               const grid *g, size_t c, size_t D)
{
    for (size_t i = 0; i < g->tokens; i++) {
        real *Gb_i = Gb + i * c * D;
        for (size_t cd = 0; cd < c * D; cd++) Gb_i[cd] = 0;
        for (size_t n = 0; n < g->tokens; n++) {
            const real *v_n = v + n * c, *wb_in = wb + grid_circular(g, i, n) * D;
            for (size_t ch = 0; ch < c; ch++)
                for (size_t d = 0; d < D; d++) Gb_i[ch * D + d] += v_n[ch] * wb_in[d];
        }
        for (size_t cd = 0; cd < c * D; cd++) Gb_i[cd] += bb[cd];
    }
}

/* Tab. 3c: n = i - step(m), the token at entry m of the window; false if it is off the grid. */
static bool window_token(size_t *n, const grid *g, const grid *window, size_t i, size_t m)
{
    size_t at[GRID_AXES];
    ptrdiff_t back[GRID_AXES];
    grid_coordinates(at, window, m);
    for (int a = 0; a < GRID_AXES; a++) back[a] = (ptrdiff_t)(window->size[a] / 2) - (ptrdiff_t)at[a];
    return grid_neighbour(g, i, back, n);
}

/* Tab. 3c: Ga_icd = sum_m k_{i-step(m),c} wa_mcd + ba_cd, m over the window. */
void lisa_naive_local_key(real *Ga, const real *k, const real *wa, const real *ba,
                          const grid *g, const grid *window, size_t c, size_t D)
{
    for (size_t i = 0; i < g->tokens; i++) {
        real *Ga_i = Ga + i * c * D;
        for (size_t cd = 0; cd < c * D; cd++) Ga_i[cd] = 0;
        for (size_t m = 0; m < window->tokens; m++) {
            size_t n;
            if (!window_token(&n, g, window, i, m)) continue;
            const real *k_n = k + n * c, *wa_m = wa + m * c * D;
            for (size_t ch = 0; ch < c; ch++)
                for (size_t d = 0; d < D; d++) Ga_i[ch * D + d] += k_n[ch] * wa_m[ch * D + d];
        }
        for (size_t cd = 0; cd < c * D; cd++) Ga_i[cd] += ba[cd];
    }
}

/* Tab. 3c: Gb_ikd = sum_m v_{i-step(m),k} wb_md + bb_kd. */
void lisa_naive_local_value(real *Gb, const real *v, const real *wb, const real *bb,
                            const grid *g, const grid *window, size_t c, size_t D)
{
    for (size_t i = 0; i < g->tokens; i++) {
        real *Gb_i = Gb + i * c * D;
        for (size_t cd = 0; cd < c * D; cd++) Gb_i[cd] = 0;
        for (size_t m = 0; m < window->tokens; m++) {
            size_t n;
            if (!window_token(&n, g, window, i, m)) continue;
            const real *v_n = v + n * c, *wb_m = wb + m * D;
            for (size_t ch = 0; ch < c; ch++)
                for (size_t d = 0; d < D; d++) Gb_i[ch * D + d] += v_n[ch] * wb_m[d];
        }
        for (size_t cd = 0; cd < c * D; cd++) Gb_i[cd] += bb[cd];
    }
}

/* y_ik = sum_d (sum_c q_ic Ga_icd) Gb_ikd: the last step of Fig. 6 and 7 and of Eq. 9. */
void lisa_naive_contraction(real *y, const real *q, const real *Ga, const real *Gb, size_t N, size_t c, size_t D)
{
    for (size_t i = 0; i < N; i++) {
        const real *q_i = q + i * c, *Ga_i = Ga + i * c * D, *Gb_i = Gb + i * c * D;
        real *y_i = y + i * c;
        for (size_t ch = 0; ch < c; ch++) y_i[ch] = 0;
        for (size_t d = 0; d < D; d++) {
            real a_id = 0;
            for (size_t ch = 0; ch < c; ch++) a_id += q_i[ch] * Ga_i[ch * D + d];
            for (size_t ch = 0; ch < c; ch++) y_i[ch] += a_id * Gb_i[ch * D + d];
        }
    }
}

/* G_icd = sum_n R_ind x_nc: every RPE table is applied to every channel of x. */
static void apply_rpes(real *G, const real *R, const real *x, size_t N, size_t c, size_t D)
{
    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < c; ch++)
            for (size_t d = 0; d < D; d++) {
                real sum = 0;
                for (size_t n = 0; n < N; n++) sum += R[(i * N + n) * D + d] * x[n * c + ch];
                G[(i * c + ch) * D + d] = sum;
            }
}

/* Eq. 5, second line, as Fig. 6 evaluates it. */
void lisa_naive_fig6(real *y, real *KRa, real *RbV, const real *q, const real *k, const real *v,
                     const real *Ra, const real *Rb, const struct lisa_problem *p)
{
    size_t N = p->heads.N, c = p->heads.c, D = p->D;

    /* Step 1: KRa_icd = sum_n k_nc Ra_ind + ba_cd; ba is optional. */
    apply_rpes(KRa, Ra, k, N, c, D);
    for (size_t i = 0; p->ba && i < N; i++)
        for (size_t cd = 0; cd < c * D; cd++) KRa[i * c * D + cd] += p->ba[cd];

    /* Step 2: RbV_ikd = sum_j Rb_ijd v_jk + bb_kd. */
    apply_rpes(RbV, Rb, v, N, c, D);
    for (size_t i = 0; i < N; i++)
        for (size_t cd = 0; cd < c * D; cd++) RbV[i * c * D + cd] += p->bb[cd];

    /* Step 3: the query. */
    lisa_naive_contraction(y, q, KRa, RbV, N, c, D);
}

/* ---- the form around them -------------------------------------------------- */

struct lisa_naive {
    struct heads heads;
    real *R;                    /* [1 or h][N][N]: the Toeplitz matrices of Eq. 4 */
    real *Ra, *Rb;              /* [N][N][columns], [N][N][D]: the Toeplitz tensors of Eq. 5-7 */
    real *A, *a, *kernel;       /* of a head: [N][N] or [N][N][c], [N][D], [N][N] */
    real *Ga, *Gb;              /* of a head: [N][c][D] */
};
HEADS_FIRST(struct lisa_naive);

/* Columns of ea: in Eq. 5 all channels share the tables; in Eq. 6 and 7 each channel has its own. */
static size_t key_columns(const struct lisa_problem *p)
{
    return p->equation == 5 ? p->D : p->heads.c * p->D;
}

static void one_head(const struct head *head)
{
    const struct lisa_problem *p = head->plan->params;
    const struct lisa_naive *f = head->plan->state;
    size_t N = p->heads.N, c = p->heads.c, D = p->D;
    real *q = head_thread(head, f->heads.q), *k = head_thread(head, f->heads.k), *y = head->y;
    real *A = head_thread(head, f->A), *a = head_thread(head, f->a), *kernel = head_thread(head, f->kernel);
    real *Ga = head_thread(head, f->Ga), *Gb = head_thread(head, f->Gb);
    const real *v = head->v;

    /* Step 1: normalise query and key, which are this thread's copies. */
    for (size_t i = 0; i < N; i++) {
        l2_normalise(q + i * c, c);
        l2_normalise(k + i * c, c);
    }

    /* Step 2: the equation. */
    switch (p->equation) {
    case 4:
        lisa_naive_correlation(A, q, k, N, c);
        lisa_naive_weigh(A, f->R + (p->e_columns > 1 ? head->number * N * N : 0), N);
        lisa_naive_output(y, A, v, NULL, NULL, N, c, 0);
        break;
    case 5:
        lisa_naive_correlation(A, q, k, N, c);
        lisa_naive_structure(a, A, f->Ra, q, p->ba, N, c, D);
        lisa_naive_kernel(kernel, a, f->Rb, N, D);
        lisa_naive_output(y, kernel, v, a, p->bb, N, c, D);
        break;
    case 6:
    case 7:
        lisa_naive_hadamard(A, q, k, N, c);
        lisa_naive_hadamard_structure(a, A, f->Ra, q, p->ba, N, c, D);
        lisa_naive_kernel(kernel, a, f->Rb, N, D);
        lisa_naive_output(y, kernel, v, a, p->bb, N, c, D);
        break;
    default:
        if (p->wraps) {
            lisa_naive_circular_key(Ga, k, p->wa, p->ba, &p->grid, c, D);
            lisa_naive_circular_value(Gb, v, p->wb, p->bb, &p->grid, c, D);
        } else {
            lisa_naive_local_key(Ga, k, p->wa, p->ba, &p->grid, &p->window, c, D);
            lisa_naive_local_value(Gb, v, p->wb, p->bb, &p->grid, &p->window, c, D);
        }
        lisa_naive_contraction(y, q, Ga, Gb, N, c, D);
    }
}

static status prepare(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    struct lisa_naive *f = plan->state;
    struct arena *arena = &plan->arena;
    size_t N = p->heads.N, c = p->heads.c, D = p->D;
    bool pairs = p->equation != 10, latents = p->equation >= 5 && pairs, channels = p->equation >= 6;

    heads_prepare(plan, (struct core_options){.core = one_head, .dense = true});
    arena_reals(arena, PERSISTENT, &f->R, "the Toeplitz matrices", p->e_columns, N, N);
    arena_reals(arena, PERSISTENT, &f->Ra, "the Toeplitz tensor Ra", latents ? N : 0, N, channels ? c : 1, D);
    arena_reals(arena, PERSISTENT, &f->Rb, "the Toeplitz tensor Rb", latents ? N : 0, N, D);
    arena_reals(arena, PER_THREAD, &f->A, "the correlation", pairs ? N : 0, N, channels ? c : 1);
    arena_reals(arena, PER_THREAD, &f->a, "the structure vectors", latents ? N : 0, D);
    arena_reals(arena, PER_THREAD, &f->kernel, "the attention kernel", latents ? N : 0, N);
    arena_reals(arena, PER_THREAD, &f->Ga, "the convolutions of the key", pairs ? 0 : N, c, D);
    arena_reals(arena, PER_THREAD, &f->Gb, "the convolutions of the value", pairs ? 0 : N, c, D);
    return arena_status(arena);
}

static status load(struct plan *plan)
{
    const struct lisa_problem *p = plan->params;
    const struct lisa_naive *f = plan->state;
    size_t N = p->heads.N;

    for (size_t head = 0; head < p->e_columns; head++)
        toeplitz(f->R + head * N * N, p->e + head, p->e_columns, &p->grid, 1);
    if (p->ea) toeplitz(f->Ra, p->ea, key_columns(p), &p->grid, key_columns(p));
    if (p->eb) toeplitz(f->Rb, p->eb, p->D, &p->grid, p->D);
    return heads_load(plan);
}

/* Does not count the normalisation: 2 N c squares for each head. */
static double multiply_adds(const void *params)
{
    const struct lisa_problem *p = params;
    double N = (double)p->heads.N, c = (double)p->heads.c, D = (double)p->D, each;

    switch (p->equation) {
    case 4: each = N * N * (2 * c + 1); break;
    case 5: each = N * N * (2 * c + 2 * D) + (p->ba ? 2 : 1) * N * c * D; break;
    case 6: each = N * N * (2 * c + c * D + D) + N * c * D; break;
    case 7: each = N * N * (2 * c + c * D + D) + 2 * N * c * D; break;
    default: each = 2 * lisa_pairs(p) * c * D + 2 * N * c * D;
    }
    return heads_multiply_adds(&p->heads) + (double)p->heads.B * (double)p->heads.h * each;
}

const struct form lisa_naive = {
    .name = "naive", .state = sizeof(struct lisa_naive), .prepare = prepare, .load = load, .run = heads_run,
    .multiply_adds = multiply_adds,
};
