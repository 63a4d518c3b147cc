/* lisa.c -- LiSA as its equations read; see reference/lisa.h
 *
 * Every tensor that the paper draws is here in full: the Toeplitz RPE tensors,
 * the N x N correlation, the N x N x c Hadamard correlation, the N x c x D
 * convolutions.  Loops carry the paper's letters and run in the paper's order.
 * This file is never optimised; it must be readable beside Eq. 4-10.  It knows
 * no FFT: every convolution is a sum over all tokens.
 *
 *     i, j, n  tokens, N of them: i asks, n carries a key, j a value
 *     ch       channel, c of them: the paper's c of query and key, its k of value
 *     d        latent, D of them
 *
 * The hearts come first, for one head of one image; the form around them
 * follows. */

#include "../reference/lisa.h"
#include <stdint.h>
#include "../reference/heads.h"
#include "../reference/memory.h"
#include "../reference/steps.h"

/* ---- the hearts ------------------------------------------------------ */

/* Eq. 2, on any grid: what query i and key j share is their offset. */
void lisa_toeplitz(real *R, const real *e, const grid *g, size_t columns)
{
    size_t N = g->tokens;

    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            size_t offset = grid_offset(g, i, j);
            for (size_t d = 0; d < columns; d++)
                R[(i * N + j) * columns + d] = e[offset * columns + d];
        }
}

/* A_ij = q_i . k_j, the dot-product correlation of Eq. 4 and 5. */
static void correlation(real *A, const real *q, const real *k, size_t N, size_t c)
{
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            A[i * N + j] = 0;
            for (size_t ch = 0; ch < c; ch++) A[i * N + j] += q[i * c + ch] * k[j * c + ch];
        }
}

/* Eq. 4: the correlation, weighted by the RPE, is the attention kernel. */
void lisa_naive_eq4(real *y, const real *q, const real *k, const real *v, const real *R,
                    real *A, size_t N, size_t c)
{
    /* Step 1: A_ij = (q_i . k_j) R_ij. */
    correlation(A, q, k, N, c);
    for (size_t ij = 0; ij < N * N; ij++) A[ij] *= R[ij];

    /* Step 2: y_ik = sum_j A_ij v_jk. */
    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < c; ch++) {
            y[i * c + ch] = 0;
            for (size_t j = 0; j < N; j++) y[i * c + ch] += A[i * N + j] * v[j * c + ch];
        }
}

/* The second half of Eq. 5-7: the structure vector a_id makes an attention
 * kernel with Rb and a feature with Bb. */
static void structure_to_output(real *y, const real *a, const real *v, const real *Rb, const real *Bb,
                                real *kernel, size_t N, size_t c, size_t D)
{
    /* Step 1: kernel_ij = sum_d a_id Rb_ijd. */
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            kernel[i * N + j] = 0;
            for (size_t d = 0; d < D; d++) kernel[i * N + j] += a[i * D + d] * Rb[(i * N + j) * D + d];
        }

    /* Step 2: y_ik = sum_j kernel_ij v_jk + sum_d a_id Bb_kd. */
    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < c; ch++) {
            y[i * c + ch] = 0;
            for (size_t j = 0; j < N; j++) y[i * c + ch] += kernel[i * N + j] * v[j * c + ch];
            for (size_t d = 0; d < D; d++) y[i * c + ch] += a[i * D + d] * Bb[ch * D + d];
        }
}

/* Eq. 5, first line: D RPEs read the dot-product correlation. */
void lisa_naive_eq5(real *y, const real *q, const real *k, const real *v,
                    const real *Ra, const real *Rb, const real *Bb,
                    real *A, real *a, real *kernel, size_t N, size_t c, size_t D)
{
    /* Step 1: A_in = q_i . k_n. */
    correlation(A, q, k, N, c);

    /* Step 2: a_id = sum_n A_in Ra_ind, the structure around token i. */
    for (size_t i = 0; i < N; i++)
        for (size_t d = 0; d < D; d++) {
            a[i * D + d] = 0;
            for (size_t n = 0; n < N; n++) a[i * D + d] += A[i * N + n] * Ra[(i * N + n) * D + d];
        }

    /* Step 3: y from a. */
    structure_to_output(y, a, v, Rb, Bb, kernel, N, c, D);
}

/* y_ik = sum_d (sum_c q_ic Ga_icd) Gb_ikd, where Fig. 6 and 7 and Eq. 9 end. */
static void contraction(real *y, const real *q, const real *Ga, const real *Gb, size_t N, size_t c, size_t D)
{
    for (size_t i = 0; i < N; i++) {
        for (size_t ch = 0; ch < c; ch++) y[i * c + ch] = 0;
        for (size_t d = 0; d < D; d++) {
            real a_id = 0;
            for (size_t ch = 0; ch < c; ch++) a_id += q[i * c + ch] * Ga[(i * c + ch) * D + d];
            for (size_t ch = 0; ch < c; ch++) y[i * c + ch] += a_id * Gb[(i * c + ch) * D + d];
        }
    }
}

/* Eq. 5, second line, as Fig. 6 evaluates it: no N x N correlation, but the
 * RPEs meet every channel of key and value. */
void lisa_naive_fig6(real *y, const real *q, const real *k, const real *v,
                     const real *Ra, const real *Rb, const real *Bb,
                     real *KRa, real *RbV, size_t N, size_t c, size_t D)
{
    /* Step 1: KRa_icd = sum_n k_nc Ra_ind. */
    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < c; ch++)
            for (size_t d = 0; d < D; d++) {
                real sum = 0;
                for (size_t n = 0; n < N; n++) sum += k[n * c + ch] * Ra[(i * N + n) * D + d];
                KRa[(i * c + ch) * D + d] = sum;
            }

    /* Step 2: RbV_ikd = sum_j Rb_ijd v_jk + Bb_kd, the bias once. */
    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < c; ch++)
            for (size_t d = 0; d < D; d++) {
                real sum = 0;
                for (size_t j = 0; j < N; j++) sum += Rb[(i * N + j) * D + d] * v[j * c + ch];
                RbV[(i * c + ch) * D + d] = sum + Bb[ch * D + d];
            }

    /* Step 3: both meet the query. */
    contraction(y, q, KRa, RbV, N, c, D);
}

/* Eq. 6 and 7: the Hadamard correlation keeps the channels apart, and every
 * channel has RPEs of its own. */
void lisa_naive_eq7(real *y, const real *q, const real *k, const real *v,
                    const real *Ra, const real *Rb, const real *Ba, const real *Bb,
                    real *A, real *a, real *kernel, size_t N, size_t c, size_t D)
{
    /* Step 1: A_inc = q_ic k_nc. */
    for (size_t i = 0; i < N; i++)
        for (size_t n = 0; n < N; n++)
            for (size_t ch = 0; ch < c; ch++) A[(i * N + n) * c + ch] = q[i * c + ch] * k[n * c + ch];

    /* Step 2: a_id = sum_nc A_inc Ra_incd. */
    for (size_t i = 0; i < N; i++)
        for (size_t d = 0; d < D; d++) {
            a[i * D + d] = 0;
            for (size_t n = 0; n < N; n++)
                for (size_t ch = 0; ch < c; ch++)
                    a[i * D + d] += A[(i * N + n) * c + ch] * Ra[((i * N + n) * c + ch) * D + d];
        }

    /* Step 3: Eq. 7 adds sum_c q_ic Ba_cd, once and not for every n. */
    if (Ba)
        for (size_t i = 0; i < N; i++)
            for (size_t d = 0; d < D; d++)
                for (size_t ch = 0; ch < c; ch++) a[i * D + d] += q[i * c + ch] * Ba[ch * D + d];

    /* Step 4: y from a. */
    structure_to_output(y, a, v, Rb, Bb, kernel, N, c, D);
}

/* Eq. 10: both convolutions wrap around the grid. */
void lisa_naive_eq10(real *y, const real *q, const real *k, const real *v,
                     const real *wa, const real *wb, const real *Ba, const real *Bb,
                     real *Ga, real *Gb, const grid *g, size_t c, size_t D)
{
    size_t N = g->tokens;

    for (size_t icd = 0; icd < N * c * D; icd++) Ga[icd] = Gb[icd] = 0;

    /* Step 1: Ga_icd = sum_n k_nc wa_{i-n,c,d} and Gb_ikd = sum_n v_nk wb_{i-n,d},
     * where i - n goes around the grid. */
    for (size_t i = 0; i < N; i++)
        for (size_t n = 0; n < N; n++) {
            size_t m = grid_circular(g, i, n);
            for (size_t ch = 0; ch < c; ch++)
                for (size_t d = 0; d < D; d++) {
                    Ga[(i * c + ch) * D + d] += k[n * c + ch] * wa[(m * c + ch) * D + d];
                    Gb[(i * c + ch) * D + d] += v[n * c + ch] * wb[m * D + d];
                }
        }

    /* Step 2: the biases, once. */
    for (size_t i = 0; i < N; i++)
        for (size_t cd = 0; cd < c * D; cd++) {
            Ga[i * c * D + cd] += Ba[cd];
            Gb[i * c * D + cd] += Bb[cd];
        }

    /* Step 3: both meet the query. */
    contraction(y, q, Ga, Gb, N, c, D);
}

/* ---- the form around them -------------------------------------------- */

/* Toeplitz tensors, built once and shared by all images: R [h or 1][N][N] of
 * Eq. 4, or Ra and Rb; NULL in Eq. 10, which needs none. */
struct naive_state {
    struct heads heads;
    real *R, *Ra, *Rb;
};

/* *sum += a b c d; false where the sum would not fit what can be allocated. */
static bool add_reals(size_t *sum, size_t a, size_t b, size_t c, size_t d)
{
    size_t product;
    if (!size_multiply(&product, a, b) || !size_multiply(&product, product, c)
        || !size_multiply(&product, product, d) || product > SIZE_MAX / 64)
        return false;
    *sum += product;
    return true;
}

/* What one head needs: q, k, v and y side by side, and the tensors of its
 * equation (reference/lisa.h).  At most seven products below 1/64 of the
 * address space each: their sum cannot overflow. */
static bool workspace_reals(size_t *reals, const struct problem *p, int equation)
{
    size_t N = problem_size(p, "N"), c = problem_size(p, "c"), D = problem_size(p, "D");
    bool fits = true;
    *reals = 0;
    fits = fits && add_reals(reals, 4, N, c, 1);
    if (equation == 4) return fits && add_reals(reals, N, N, 1, 1);
    if (equation == 10) return fits && add_reals(reals, 2, N, c, D);
    fits = fits && add_reals(reals, N, D, 1, 1) && add_reals(reals, N, N, 1, 1);
    return fits && add_reals(reals, N, N, equation == 5 ? 1 : c, 1);
}

/* One head of one image. */
static void one_head(const struct head *head)
{
    const struct problem *p = head->problem;
    const struct naive_state *state = (const struct naive_state *)head->prepared;
    size_t N = problem_size(p, "N"), c = problem_size(p, "c"), D = problem_size(p, "D");
    const real *Ba = problem_tensor(p, "ba"), *Bb = problem_tensor(p, "bb");
    real *q = head->workspace, *k = q + N * c, *v = k + N * c, *y = v + N * c, *room = y + N * c;

    /* Step 1: dense copies; query and key become unit vectors. */
    head_gather(q, head->q, head->stride, N, c);
    head_gather(k, head->k, head->stride, N, c);
    head_gather(v, head->v, head->stride, N, c);
    for (size_t i = 0; i < N; i++) {
        l2_normalise(q + i * c, c);
        l2_normalise(k + i * c, c);
    }

    /* Step 2: the equation. */
    switch ((int)problem_number(p, "equation")) {
    case 4:
        lisa_naive_eq4(y, q, k, v, state->R + (problem_axis(p, "e", 1) > 1 ? head->head * N * N : 0), room, N, c);
        break;
    case 5:
        lisa_naive_eq5(y, q, k, v, state->Ra, state->Rb, Bb, room, room + N * N, room + N * N + N * D, N, c, D);
        break;
    case 6:
    case 7:
        lisa_naive_eq7(y, q, k, v, state->Ra, state->Rb, Ba, Bb,
                       room, room + N * N * c, room + N * N * c + N * D, N, c, D);
        break;
    default:
        lisa_naive_eq10(y, q, k, v, problem_tensor(p, "wa"), problem_tensor(p, "wb"), Ba, Bb,
                        room, room + N * c * D, &p->grid, c, D);
    }

    /* Step 3: back among the other heads. */
    head_scatter(head->y, head->y_stride, y, N, c);
}

static void release(struct plan *plan)
{
    struct naive_state *state = (struct naive_state *)plan->state;
    if (!state) return;
    heads_release(&state->heads);
    memory_free(state->R);
    memory_free(state->Ra);
    memory_free(state->Rb);
    memory_free(state);
    plan->state = NULL;
}

/* *R = room for [N][N][columns], made Toeplitz from e [P][columns]. */
static status build_toeplitz(real **R, const real *e, const grid *g, size_t columns)
{
    *R = memory_reals(g->tokens, g->tokens, columns, 1);
    if (!*R) return out_of_memory("a Toeplitz tensor");
    lisa_toeplitz(*R, e, g, columns);
    return status_ok();
}

/* *R = one Toeplitz matrix [N][N] after the other, for e [P][heads]. */
static status build_matrices(real **R, const real *e, const grid *g, size_t heads)
{
    size_t N = g->tokens;
    real *column = memory_reals(g->offsets, 1, 1, 1);
    *R = memory_reals(heads, N, N, 1);
    if (!column || !*R) {
        memory_free(column);
        return out_of_memory("the Toeplitz matrices");
    }
    for (size_t head = 0; head < heads; head++) {
        for (size_t offset = 0; offset < g->offsets; offset++) column[offset] = e[offset * heads + head];
        lisa_toeplitz(*R + head * N * N, column, g, 1);
    }
    memory_free(column);
    return status_ok();
}

static status prepare(struct plan *plan)
{
    const struct problem *p = plan->problem;
    const struct naive_state nothing = {{NULL, NULL, NULL, 0}, NULL, NULL, NULL};
    int equation = (int)problem_number(p, "equation");
    size_t c = problem_size(p, "c"), D = problem_size(p, "D"), reals;
    status s = status_ok();

    /* Step 1: a state that can be released at any time. */
    struct naive_state *state = (struct naive_state *)memory_get(1, sizeof *state);
    if (!state) return out_of_memory("a plan");
    *state = nothing;
    plan->state = state;

    /* Step 2: the Toeplitz tensors.  Where c D overflows, so did the shape of ea. */
    if (equation == 4) s = build_matrices(&state->R, problem_tensor(p, "e"), &p->grid, problem_axis(p, "e", 1));
    if (equation >= 5 && equation <= 7)
        s = build_toeplitz(&state->Ra, problem_tensor(p, "ea"), &p->grid, equation == 5 ? D : c * D);
    if (!s.code && equation >= 5 && equation <= 7)
        s = build_toeplitz(&state->Rb, problem_tensor(p, "eb"), &p->grid, D);
    if (s.code) return s;

    /* Step 3: room for every thread. */
    if (!workspace_reals(&reals, p, equation)) return out_of_memory("the workspace of a head");
    return heads_prepare(&state->heads, plan, reals);
}

static status run(struct plan *plan, real *y, const real *x)
{
    const struct naive_state *state = (const struct naive_state *)plan->state;
    heads_run(&state->heads, plan, y, x, one_head, 1, state);
    return status_ok();
}

/* All that the hearts multiply, for every head of every image, and the
 * projections.  Normalising, 2 N c squares a head, is left out. */
static double multiply_adds(const struct problem *p)
{
    double N = (double)problem_size(p, "N"), c = (double)problem_size(p, "c"), D = (double)problem_size(p, "D");
    double heads = (double)problem_size(p, "B") * (double)problem_size(p, "h"), one;

    switch ((int)problem_number(p, "equation")) {
    case 4: one = N * N * (2 * c + 1); break;
    case 5: one = N * N * (2 * c + 2 * D) + N * c * D; break;
    case 6: one = N * N * (2 * c + c * D + D) + N * c * D; break;
    case 7: one = N * N * (2 * c + c * D + D) + 2 * N * c * D; break;
    default: one = 2 * N * N * c * D + 2 * N * c * D;
    }
    return heads_multiply_adds(p) + heads * one;
}

const struct form lisa_naive = {"naive", prepare, run, release, multiply_adds};
