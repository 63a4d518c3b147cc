/* test_lisa_theorems.c -- statements of LiSA's paper, and consequences of its equations
 *
 * Most tests use one head of small integers: sums are exact, and the tolerance is zero unless the comment gives one. */

#include "lisa_case.h"
#include "../../fast/tuned/attention.h"
#include "../../reference/cli/regrid.h"

static const struct { const char *grid; size_t c, D; } place[] = {
    {"1", 3, 2}, {"7", 3, 2}, {"12", 1, 1}, {"1x5", 2, 3}, {"5x6", 3, 2}, {"4x4", 2, 3}, {"2x3x4", 3, 2},
};
#define PLACES ((int)COUNT(place))

static struct case_head head_at(int index)
{
    return integer_head(place[index].grid, place[index].c, place[index].D);
}

static struct case_head with_tokens(const struct case_head *o, const size_t *from)
{
    struct case_head r = *o;
    r.q = rows_in_order(o->q, from, o->N, o->c);
    r.k = rows_in_order(o->k, from, o->N, o->c);
    r.v = rows_in_order(o->v, from, o->N, o->c);
    return r;
}

/* The same RPEs for all channels: Ra_incd = Ra_ind. */
static void share_tables(struct case_head *o)
{
    for (size_t entry = 0; entry < o->P; entry++)
        for (size_t ch = 0; ch < o->c; ch++)
            memcpy(o->eac + (entry * o->c + ch) * o->D, o->ea + entry * o->D, o->D * sizeof *o->ea);
}

/* y_i = sum_j kappa_i(j-i) v_j, for kernels kappa [N][P]. */
static real *convolved_by_token(const struct case_head *o, const real *kappa)
{
    real *weight = zeros(o->N * o->N);
    for (size_t ij = 0; ij < o->N * o->N; ij++)
        weight[ij] = kappa[ij / o->N * o->P + grid_offset(&o->grid, ij / o->N, ij % o->N)];
    return matrix_product(weight, o->v, o->N, o->N, o->c);
}

/* The entry of the offset table for an offset of the opposite sign. */
static size_t opposite(const struct case_head *o, size_t entry) { return o->P - 1 - entry; }

/* ---- Sec. 4.1: convolutional inductive biases ------------------------- */

/* LiSA, Eq. 2: the first row of T(e) is e_N ... e_2N-1, the last one e_1 ... e_N.  Here e_m = m. */
TEST(toeplitz_matrix_reads_as_printed)
{
    enum { N = 6 };
    grid g;
    real e[2 * N - 1];
    const size_t length[] = {N};
    succeeds(grid_create(&g, 1, length));
    for (int m = 0; m < 2 * N - 1; m++) e[m] = (real)(m + 1);
    real *R = toeplitz_of(&g, e, 1);
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++) ck_assert(R[(i - 1) * N + j - 1] == (real)(N + j - i));
}

/* LiSA, Sec. 3 and Sec. 4.1, below Eq. 4: in Eq. 4 and 5 only the tables depend on positions.  If they are constant,
 * permuted tokens give permuted outputs. */
TESTS(rpe_sees_token_order, COUNT(equations))
{
    struct case_head o = integer_head("5x6", 3, 2);
    size_t from[30];
    for (size_t n = 0; n < 30; n++) from[n] = (7 * n + 3) % 30;
    struct case_head p = with_tokens(&o, from);
    unequal(equations[_i].y(&p), rows_in_order(equations[_i].y(&o), from, o.N, o.c), o.N * o.c);
    if (equations[_i].y != eq4 && equations[_i].y != eq5) return;
    p.e = o.e = filled(o.P, 2);
    p.ea = o.ea = filled(o.P * o.D, 1);
    p.eb = o.eb = filled(o.P * o.D, -2);
    equal(equations[_i].y(&p), rows_in_order(equations[_i].y(&o), from, o.N, o.c), o.N * o.c);
}

/* LiSA, Eq. 4 and Sec. 2: with R = 1 the sums can be exchanged, y = Q (K^T V), without an N x N matrix. */
TESTS(eq4_without_rpe_is_linear_attention, PLACES)
{
    struct case_head o = head_at(_i);
    size_t c = o.c;
    o.e = filled(o.P, 1);
    real *KtV = matrix_product(transposed(o.k, o.N, c), o.v, c, o.N, c);
    equal(eq4(&o), matrix_product(o.q, KtV, o.N, c, c), o.N * c);
}

/* LiSA, Sec. 4.1: with f_t = e_-t, (R v)_i = sum_t f_t v_{i-t} over all 2n - 1 offsets of each axis; v is zero off the
 * grid. */
TESTS(toeplitz_times_vector_is_a_global_convolution, PLACES)
{
    struct case_head o = head_at(_i);
    real *v = column_of(o.v, o.N, o.c, 0), *convolved = zeros(o.N);
    for (size_t i = 0; i < o.N; i++)
        for (size_t entry = 0; entry < o.P; entry++) {
            /* -t of this entry; the middle entry has t = 0. */
            ptrdiff_t minus_t[GRID_AXES];
            size_t rest = entry, from;
            for (int a = GRID_AXES - 1; a >= 0; a--) {
                minus_t[a] = (ptrdiff_t)(o.grid.size[a] - 1) - (ptrdiff_t)(rest % (2 * o.grid.size[a] - 1));
                rest /= 2 * o.grid.size[a] - 1;
            }
            if (grid_neighbour(&o.grid, i, minus_t, &from)) convolved[i] += o.e[opposite(&o, entry)] * v[from];
        }
    equal(matrix_product(toeplitz_of(&o.grid, o.e, 1), v, o.N, o.N, 1), convolved, o.N);
}

/* LiSA, Eq. 4, rearranged: Y_ik = sum_c q_ic (R (k_c o v_k))_i, which transforms make fast without approximation. */
TESTS(eq4_is_convolutions_of_key_times_value, PLACES)
{
    struct case_head o = head_at(_i);
    size_t N = o.N, c = o.c;
    real *R = toeplitz_of(&o.grid, o.e, 1), *y = zeros(N * c);
    for (size_t in = 0; in < c; in++)
        for (size_t out = 0; out < c; out++)
            for (size_t i = 0; i < N; i++) {
                real convolved = 0;
                for (size_t j = 0; j < N; j++) convolved += R[i * N + j] * (o.k[j * c + in] * o.v[j * c + out]);
                y[i * c + out] += o.q[i * c + in] * convolved;
            }
    equal(eq4(&o), y, N * c);
}

static const int filter[2][3][3] = {{{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}}, {{0, 1, 0}, {1, -4, 1}, {0, 1, 0}}};

/* One head of 5 x 6 tokens with equal queries and keys, whose table of Eq. 4 is a filter. */
static struct case_head filtering(int which)
{
    struct case_head o = integer_head("5x6", 1, 1);
    o.q = o.k = filled(o.N, 1);
    o.e = zeros(o.P);
    for (size_t dy = 0; dy < 3; dy++)
        for (size_t dx = 0; dx < 3; dx++) o.e[(dy + 3) * 11 + dx + 4] = (real)filter[which][dy][dx];
    return o;
}

/* LiSA, Sec. 3, 4.1 and 5.5: kernels of Eq. 4 may be negative.  With equal queries and keys, and a filter as its table,
 * Eq. 4 is that filter. */
TESTS(eq4_can_be_a_sobel_or_laplacian_filter, 2)
{
    struct case_head o = filtering(_i);
    real *y = zeros(o.N);
    for (ptrdiff_t i = 0; i < 30; i++)
        for (ptrdiff_t dy = -1; dy <= 1; dy++)
            for (ptrdiff_t dx = -1; dx <= 1; dx++) {
                size_t j;
                const ptrdiff_t step[] = {dy, dx, 0};
                if (grid_neighbour(&o.grid, (size_t)i, step, &j))
                    y[i] += (real)filter[_i][dy + 1][dx + 1] * o.v[j];
            }
    equal(eq4(&o), y, o.N);
}

/* LiSA, Sec. 3, "limitations": softmax weights sum to one, so a constant image stays constant; the filters make its
 * inside zero.  Tolerance: two sums of n = 30 terms and a division, (2 n + 8) u. */
TESTS(a_softmax_makes_no_gradient_filter, 2)
{
    enum { N = 30, c = 4 };
    struct case_head o = filtering(_i);
    real *q = normal(1, N * c), *k = normal(2, N * c), *r = normal(3, N * N), *ones = filled(N * c, 1);
    real *y = zeros(N * c), *arena;
    size_t reals;

    attention_naive(y, zeros(N * N), q, k, ones, r, (real)0.5, N, N, c);
    within("softmax, naive", largest_difference(y, ones, N * c), (2 * N + 8) * UNIT_ROUNDOFF);
    const struct attention a = {
        .queries = N, .keys = N, .channels = c, .scale = (real)0.5,
        .q = q, .k = k, .v = ones, .q_stride = c, .k_stride = c, .v_stride = c,
    };
    ck_assert(attention_fast_workspace(&reals, c, N));
    arena = memory_reals(reals, 1, 1, 1);
    ck_assert_ptr_nonnull(arena);
    attention_fast(y, c, &a, 0, N, arena);
    memory_free(arena);
    within("softmax, tiled", largest_difference(y, ones, N * c), (2 * N + 8) * UNIT_ROUNDOFF);
    real *dotted = copy(ones, N * c);
    for (size_t ch = 0; ch < c; ch++) dotted[ch] = (real)1.01;
    attention_naive(y, zeros(N * N), q, k, dotted, r, (real)0.5, N, N, c);
    beyond("    one value of another size", largest_difference(y, ones, N * c), (2 * N + 8) * UNIT_ROUNDOFF);

    o.v = ones;
    real *gradient = eq4(&o);
    for (size_t row = 1; row < 4; row++) equal(gradient + row * 6 + 1, zeros(4), 4);
    ck_assert(largest(gradient, N) > 0);
}

/* LiSA: Eq. 5 (correlation first) equals Fig. 6 (tables times key and value first), with and without B^a. */
TESTS(both_orders_of_eq5_agree, PLACES)
{
    struct case_head o = head_at(_i);
    real *y = eq5(&o), *y_biased = eq5_biased(&o);
    equal(y, fig6(&o, NULL), o.N * o.c);
    equal(y_biased, fig6(&o, o.Ba), o.N * o.c);
    for (size_t i = 0; i < o.c * o.D; i++) o.Bb[i] += 1;
    if (o.N == 1) return;
    unequal(y_biased, y, o.N * o.c);
    unequal(y, fig6(&o, NULL), o.N * o.c);
}

/* Derived from Eq. 4 and 5: with Ra_d = 1 only at offset d, and Rb_d = e_d there, the kernel is A_ij R_ij. */
TEST(eq5_with_a_latent_per_offset_is_eq4)
{
    struct case_head o = integer_head("3x4", 2, 1);
    real *y = eq4(&o);
    o.D = o.P;
    o.ea = zeros(o.P * o.D);
    o.eb = zeros(o.P * o.D);
    o.Bb = zeros(o.c * o.D);
    for (size_t d = 0; d < o.P; d++) {
        o.ea[d * o.D + d] = 1;
        o.eb[d * o.D + d] = o.e[d];
    }
    equal(eq5(&o), y, o.N * o.c);
}

/* LiSA, Eq. 4-7 and 10 (Sec. 5.5 shows such kernels): an impulse in v at token j, channel k, adds kernel_ij to y_ik,
 * for every k, and changes no other channel. */
TEST(impulse_in_v_reads_back_the_attention_kernel)
{
    struct case_head o = integer_head("3x4", 3, 2);
    size_t N = o.N, c = o.c, D = o.D;

    real *Ga = circular_key(&o, o.wa, o.Ba);
    real *local = local_key(&o), *kernel[] = {
        kernel_eq4(&o), kernel_of(&o, structure_eq5(&o, NULL)), kernel_of(&o, structure_eq7(&o, NULL)),
        kernel_of(&o, structure_eq7(&o, o.Ba)), zeros(N * N), kernel_of(&o, structure_eq5(&o, o.Ba)), zeros(N * N),
    };
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            size_t around = grid_circular(&o.grid, i, j), entry = window_entry(&o.window, &o.grid, i, j);
            for (size_t d = 0; d < D; d++)
                for (size_t ch = 0; ch < c; ch++) {
                    size_t at = (i * c + ch) * D + d;
                    kernel[4][i * N + j] += o.q[i * c + ch] * Ga[at] * o.wb[around * D + d];
                    if (entry < o.window.tokens)
                        kernel[6][i * N + j] += o.q[i * c + ch] * local[at] * o.lb[entry * D + d];
                }
        }

    for (size_t e = 0; e < COUNT(equations); e++) {
        real *before = equations[e].y(&o), *expected = zeros(N * c);
        for (size_t j = 0; j < N; j++)
            for (size_t ch = 0; ch < c; ch++) {
                struct case_head pulsed = o;
                pulsed.v = copy(o.v, N * c);
                pulsed.v[j * c + ch] += 1;
                memcpy(expected, before, N * c * sizeof *expected);
                for (size_t i = 0; i < N; i++) expected[i * c + ch] += kernel[e][i * N + j];
                equal(equations[e].y(&pulsed), expected, N * c);
            }
        ck_assert(largest(kernel[e], N * N) > 0);
    }
}

/* LiSA, Eq. 4-7 and 10: y - y(0) is linear in v; y(0) comes from the bias. */
TESTS(output_is_linear_in_the_values, COUNT(equations))
{
    struct case_head o = integer_head("3x4", 3, 2), w = o, sum = o, none = o;
    size_t n = o.N * o.c;
    w.v = integers(21, n, 2);
    none.v = zeros(n);
    sum.v = sum_of(o.v, 3, w.v, n);
    real *y_w = sum_of(equations[_i].y(&w), -1, equations[_i].y(&none), n);
    equal(equations[_i].y(&sum), sum_of(equations[_i].y(&o), 3, y_w, n), n);
}

/* LiSA, Eq. 4-10: y is linear in the normalised query, biases included. */
TESTS(output_is_linear_in_the_query, COUNT(equations))
{
    struct case_head o = integer_head("3x4", 3, 2), r = o, sum = o;
    size_t n = o.N * o.c;
    r.q = integers(22, n, 2);
    memset(r.q + 5 * o.c, 0, o.c * sizeof *r.q);
    sum.q = sum_of(o.q, 3, r.q, n);
    real *y_r = equations[_i].y(&r);
    equal(y_r + 5 * o.c, zeros(o.c), o.c);
    equal(equations[_i].y(&sum), sum_of(equations[_i].y(&o), 3, y_r, n), n);
}

/* LiSA, Eq. 4: query and key are normalised, so scaling them has no effect; scaling values has one.  Factors are powers
 * of two, which do not round. */
TESTS(scale_of_query_and_key_has_no_effect, COUNT(equations))
{
    static const char *const options[] = {
        "--equation 4", "--equation 5", "--equation 6", "--equation 7", "", "--equation 5", "--kernel 3x3",
    };
    char words[64];
    size_t C = 6;
    snprintf(words, sizeof words, "--grid 3x4 --heads 2 %s", options[_i]);
    struct fixture t = fixture(words, &lisa, 1, C, "D=2", _i == 5 ? "" : "ba");
    real *y = fixture_run(&t, "naive", 1), *w = fixture_tensor(&t, "w_qkv"), *b = fixture_tensor(&t, "b_qkv");
    for (size_t row = 0; row < 2 * C; row++) {
        for (size_t in = 0; in < C; in++) w[row * C + in] *= row < C ? 2 : 8;
        b[row] *= row < C ? 2 : 8;
    }
    equal(fixture_run(&t, "naive", 1), y, t.outputs);
    for (size_t in = 0; in < C; in++) w[2 * C * C + in] *= 2;
    unequal(fixture_run(&t, "naive", 1), y, t.outputs);
}

/* ---- Sec. 4.2: expressivity ------------------------------------------- */

/* LiSA, Eq. 6, with the query outermost and the bias once: sum_c q_ic sum_d (sum_n k_nc Ra_incd) (sum_j Rb_ijd v_jk +
 * Bb_kd). */
TESTS(eq6_is_the_hadamard_correlation_read_by_rpes, PLACES)
{
    struct case_head o = head_at(_i);
    size_t N = o.N, c = o.c, D = o.D;
    real *y = zeros(N * c);
    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < c; ch++)
            for (size_t d = 0; d < D; d++) {
                real key_side = 0;
                for (size_t n = 0; n < N; n++)
                    key_side += o.k[n * c + ch] * o.eac[(grid_offset(&o.grid, i, n) * c + ch) * D + d];
                for (size_t out = 0; out < c; out++) {
                    real value_side = o.Bb[out * D + d];
                    for (size_t j = 0; j < N; j++)
                        value_side += o.eb[grid_offset(&o.grid, i, j) * D + d] * o.v[j * c + out];
                    y[i * c + out] += o.q[i * c + ch] * key_side * value_side;
                }
            }
    equal(eq6(&o), y, N * c);
}

/* LiSA, Sec. 4.2: summed over channels, the Hadamard correlation is the dot product. */
TESTS(eq6_with_shared_rpes_is_eq5, PLACES)
{
    struct case_head o = head_at(_i);
    share_tables(&o);
    equal(eq6(&o), eq5(&o), o.N * o.c);
}

/* A term of Eq. 8: Eq. 7 with only Ra (tables_a) or Ba, and only Rb (tables_b) or Bb. */
static real *term(const struct case_head *o, bool tables_a, bool tables_b)
{
    struct case_head t = *o;
    if (!tables_a) t.eac = zeros(o->P * o->c * o->D);
    if (!tables_b) t.eb = zeros(o->P * o->D);
    if (tables_b) t.Bb = zeros(o->c * o->D);
    return eq5_to_7(&t, structure_eq7(&t, tables_a ? NULL : o->Ba));
}

/* LiSA, Eq. 7 and 8, with biases added once: Eq. 7 is the sum of (Ra, Rb), (Ba, Rb), (Ra, Bb) and (Ba, Bb). */
TESTS(four_terms_of_eq8_sum_to_eq7, PLACES)
{
    struct case_head o = head_at(_i);
    size_t n = o.N * o.c;
    real *y = eq7(&o), *sum = zeros(n);
    for (int t = 0; t < 4; t++) sum = sum_of(sum, 1, term(&o, t & 1, t & 2), n);
    equal(sum, y, n);
    real *last = term(&o, false, false);
    if (largest(last, n) > 0) unequal(sum_of(sum, -1, last, n), y, n);
}

/* LiSA, below Eq. 8: the last term applies one matrix M_kc = sum_d Bb_kd Ba_cd to the query, for any keys and
 * values. */
TESTS(last_term_of_eq8_is_a_linear_map_of_the_query, PLACES)
{
    struct case_head o = head_at(_i);
    real *y = term(&o, false, false), *M = matrix_product(o.Ba, transposed(o.Bb, o.c, o.D), o.c, o.D, o.c);
    equal(y, matrix_product(o.q, M, o.N, o.c, o.c), o.N * o.c);
    o.k = integers(31, o.N * o.c, 2);
    o.v = integers(32, o.N * o.c, 2);
    equal(term(&o, false, false), y, o.N * o.c);
}

/* LiSA, below Eq. 8: in the second term token i convolves v with kappa_i = sum_d (Ba^T q_i)_d e^b_d, which depends only
 * on its query. */
TESTS(second_term_of_eq8_is_a_query_driven_convolution, PLACES)
{
    struct case_head o = head_at(_i);
    real *y = term(&o, false, true), *asked = matrix_product(o.q, o.Ba, o.N, o.c, o.D);
    real *kappa = matrix_product(asked, transposed(o.eb, o.P, o.D), o.N, o.D, o.P);
    equal(y, convolved_by_token(&o, kappa), o.N * o.c);
    o.k = integers(31, o.N * o.c, 2);
    equal(term(&o, false, true), y, o.N * o.c);
}

/* LiSA, below Eq. 8: Lambda is the case D = c, B^a the identity: lambda_i = sum_j e_{j-i} v_j^T, applied to q_i.
 * Involution over the whole grid has a latent for each offset: kappa_i = Ba^T q_i. */
TESTS(lambda_and_involution_are_cases_of_the_second_term, 2)
{
    static const char *const grids[] = {"5x6", "2x3x4"};
    struct case_head o = integer_head(grids[_i], 3, 3);
    size_t N = o.N, P = o.P, c = o.c;
    real *y = zeros(N * c), *e_i = zeros(N * c), *mirrored = zeros(N * P);

    /* Step 1: Lambda; eb is its table of c columns. */
    o.Bb = zeros(c * P);
    o.Ba = identity_matrix(c);
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < N; j++)
            memcpy(e_i + j * c, o.eb + grid_offset(&o.grid, i, j) * c, c * sizeof *e_i);
        real *lambda = matrix_product(transposed(e_i, N, c), o.v, c, N, c);
        memcpy(y + i * c, matrix_product(o.q + i * c, lambda, 1, c, c), c * sizeof *y);
    }
    equal(term(&o, false, true), y, N * c);

    /* Step 2: involution; Ba is its map [c][P]. */
    o.D = P;
    o.Ba = integers(33, c * P, 2);
    o.eb = identity_matrix(P);
    real *kappa = matrix_product(o.q, o.Ba, N, c, P);
    for (size_t at = 0; at < N * P; at++) mirrored[at] = kappa[at / P * P + opposite(&o, at % P)];
    equal(term(&o, false, true), convolved_by_token(&o, kappa), N * c);
    unequal(term(&o, false, true), convolved_by_token(&o, mirrored), N * c);
}

/* a [N][columns], moved from its grid to the first corner of a larger one; zeros elsewhere. */
static real *in_the_corner(const grid *large, const grid *g, const real *a, size_t columns)
{
    real *b = zeros(large->tokens * columns);
    for (size_t n = 0; n < g->tokens; n++) {
        size_t at[GRID_AXES];
        grid_coordinates(at, g, n);
        memcpy(b + grid_index(large, at) * columns, a + n * columns, columns * sizeof *b);
    }
    return b;
}

/* y of Eq. 10 with the tokens in a corner of a grid of this size.  W has the local kernels, or the tables of Eq. 7, at
 * every offset between two tokens, and zeros elsewhere. */
static real *eq10_in_the_corner(const struct case_head *o, const size_t *size, bool local)
{
    size_t row = o->c * o->D, at[GRID_AXES], *token = keep(o->N, sizeof *token);
    const real *a = local ? o->la : o->eac, *b = local ? o->lb : o->eb;
    grid large;
    succeeds(grid_create(&large, o->grid.axes, size));
    struct case_head big = *o;
    big.grid = large;
    big.N = large.tokens;
    big.q = in_the_corner(&large, &o->grid, o->q, o->c);
    big.k = in_the_corner(&large, &o->grid, o->k, o->c);
    big.v = in_the_corner(&large, &o->grid, o->v, o->c);
    big.wa = zeros(big.N * row);
    big.wb = zeros(big.N * o->D);
    for (size_t n = 0; n < o->N; n++) {
        grid_coordinates(at, &o->grid, n);
        token[n] = grid_index(&large, at);
    }
    for (size_t i = 0; i < o->N; i++)
        for (size_t n = 0; n < o->N; n++) {
            size_t m = local ? window_entry(&o->window, &o->grid, i, n) : grid_offset(&o->grid, i, n);
            if (local && m == o->window.tokens) continue;
            size_t w = grid_circular(&large, token[i], token[n]);
            memcpy(big.wa + w * row, a + m * row, row * sizeof *a);
            memcpy(big.wb + w * o->D, b + m * o->D, o->D * sizeof *b);
        }
    return rows_in_order(eq10(&big), token, o->N, o->c);
}

/* LiSA, Tab. 3c and Eq. 10: a local kernel is a global one with zeros, on a grid of n + min(r, n - 1) points for an
 * axis of n tokens. */
static const struct { const char *grid; size_t edge; } locals[] = {
    {"9", 3}, {"6", 5}, {"5x6", 1}, {"5x6", 3}, {"6x4", 5}, {"3x4", 11}, {"1x7", 3}, {"3x2x4", 3}, {"2x3x3", 5},
};
TESTS(a_local_kernel_is_a_global_one_with_zeros, COUNT(locals))
{
    struct case_head o = integer_head(locals[_i].grid, 2, 2);
    size_t size[GRID_AXES], shorter[GRID_AXES], reach = locals[_i].edge / 2;
    give_window(&o, locals[_i].edge);
    for (int a = 0; a < GRID_AXES; a++) {
        size_t n = o.grid.size[a];
        size[a] = n + (reach < n - 1 ? reach : n - 1);
        shorter[a] = size[a] > n ? size[a] - 1 : n;
    }
    equal(eq10_in_the_corner(&o, size, true), eq10_local(&o), o.N * o.c);
    if (reach) unequal(eq10_in_the_corner(&o, shorter, true), eq10_local(&o), o.N * o.c);
}

/* LiSA, Sec. 4.2 and Tab. 3b, "+ bias term". */
TESTS(eq7_with_shared_tables_is_eq5_with_a_bias_on_the_key, PLACES)
{
    struct case_head o = head_at(_i);
    share_tables(&o);
    real *y = eq5_biased(&o);
    equal(eq7(&o), y, o.N * o.c);
    if (o.N > 1) unequal(eq6(&o), y, o.N * o.c);
}

/* LiSA, below Eq. 5, Bb "directly encodes structural patterns": the term (Ra, Bb) depends on keys, not on values. */
TEST(third_term_of_eq8_does_not_depend_on_values)
{
    struct case_head o = integer_head("5x6", 3, 2);
    real *y = term(&o, true, false);
    o.v = integers(32, o.N * o.c, 2);
    equal(term(&o, true, false), y, o.N * o.c);
    o.k = integers(31, o.N * o.c, 2);
    unequal(term(&o, true, false), y, o.N * o.c);
}

/* LiSA, Eq. 5-10. */
TESTS(latents_add, COUNT(equations) - 1)
{
    struct case_head o = integer_head("3x4", 3, 3), one = o;
    size_t n = o.N * o.c;
    real *sum = zeros(n);
    one.D = 1;
    for (size_t d = 0; d < o.D; d++) {
        one.ea = column_of(o.ea, o.P, o.D, d);
        one.eac = column_of(o.eac, o.P * o.c, o.D, d);
        one.eb = column_of(o.eb, o.P, o.D, d);
        one.wa = column_of(o.wa, o.N * o.c, o.D, d);
        one.wb = column_of(o.wb, o.N, o.D, d);
        one.la = column_of(o.la, o.window.tokens * o.c, o.D, d);
        one.lb = column_of(o.lb, o.window.tokens, o.D, d);
        one.Ba = column_of(o.Ba, o.c, o.D, d);
        one.Bb = column_of(o.Bb, o.c, o.D, d);
        sum = sum_of(sum, 1, equations[_i + 1].y(&one), n);
    }
    equal(sum, equations[_i + 1].y(&o), n);
}

/* ---- Sec. 4.3: LiSA ---------------------------------------------------- */

/* LiSA, Eq. 9 is Eq. 7: on a grid padded to 2n - 1 points per axis nothing wraps. */
TESTS(eq9_is_eq7_by_zero_padding, PLACES)
{
    struct case_head o = head_at(_i);
    size_t size[GRID_AXES], shorter[GRID_AXES];
    for (int a = 0; a < GRID_AXES; a++) {
        size[a] = 2 * o.grid.size[a] - 1;
        shorter[a] = size[a] > 1 ? size[a] - 1 : 1;
    }
    equal(eq10_in_the_corner(&o, size, false), eq7(&o), o.N * o.c);
    if (o.N > 1) unequal(eq10_in_the_corner(&o, shorter, false), eq7(&o), o.N * o.c);
}

/* Tables of Eq. 7 that wrap: e at offset t is w at -t modulo the grid. */
static void make_circulant(struct case_head *o)
{
    for (size_t i = 0; i < o->N; i++)
        for (size_t n = 0; n < o->N; n++) {
            size_t entry = grid_offset(&o->grid, i, n), from = grid_circular(&o->grid, i, n);
            memcpy(o->eac + entry * o->c * o->D, o->wa + from * o->c * o->D, o->c * o->D * sizeof *o->wa);
            memcpy(o->eb + entry * o->D, o->wb + from * o->D, o->D * sizeof *o->wb);
        }
}

/* LiSA, Sec. 4.3: if the Toeplitz tables are circulant, e_t = w_{-t mod grid}, Eq. 7 is Eq. 10. */
TESTS(circular_is_linear_where_toeplitz_is_circulant, PLACES)
{
    struct case_head o = head_at(_i);
    make_circulant(&o);
    equal(eq10(&o), eq7(&o), o.N * o.c);
}

/* LiSA, Sec. 4.3: with one latent, a table entry that differs from the one a period away changes y.  All data are
 * positive, so nothing cancels.  If two latents share their key tables, opposite changes of their value tables
 * cancel. */
TEST(circular_is_linear_nowhere_else)
{
    struct case_head o = integer_head("3x4", 2, 1);
    size_t n = o.N * o.c, middle = o.P / 2;
    o.q = filled(n, 1);
    o.k = filled(n, 1);
    o.v = filled(n, 1);
    for (size_t i = 0; i < o.N * o.c; i++) o.wa[i] += 3;
    for (size_t i = 0; i < o.N; i++) o.wb[i] += 3;
    o.Ba = filled(o.c, 1);
    o.Bb = filled(o.c, 1);
    make_circulant(&o);
    real *y = eq10(&o);
    equal(eq7(&o), y, n);
    for (size_t entry = 0; entry < o.P; entry++) {
        o.eb[entry] += 1;
        unequal(eq7(&o), y, n);
        if (entry == middle) {
            o.wb[0] += 1;
            equal(eq7(&o), eq10(&o), n);
            o.wb[0] -= 1;
        }
        o.eb[entry] -= 1;
        o.eac[entry * o.c] += 1;
        unequal(eq7(&o), y, n);
        o.eac[entry * o.c] -= 1;
    }

    o = integer_head("3x4", 2, 2);
    real *t = integers(34, o.P, 2);
    for (size_t i = 0; i < o.N * o.c; i++) o.wa[2 * i + 1] = o.wa[2 * i];
    for (size_t ch = 0; ch < o.c; ch++) o.Ba[2 * ch + 1] = o.Ba[2 * ch];
    make_circulant(&o);
    for (size_t entry = 0; entry < o.P; entry++) o.eb[2 * entry] += t[entry];
    unequal(eq7(&o), eq10(&o), n);
    for (size_t entry = 0; entry < o.P; entry++) o.eb[2 * entry + 1] -= t[entry];
    equal(eq7(&o), eq10(&o), n);
}

/* LiSA, Eq. 10: if kernels reach r tokens, circular and linear outputs agree at all tokens at least r from the border.
 * If r > 0, they differ on each of its four sides. */
TESTS(circular_differs_from_linear_at_the_border_only, 4)
{
    struct case_head o = integer_head("7x9", 2, 1);
    size_t c = o.c, r = (size_t)_i, side[4] = {0};
    memset(o.wa, 0, o.N * c * sizeof *o.wa);
    memset(o.wb, 0, o.N * sizeof *o.wb);
    for (size_t dy = 0; dy < 13; dy++)
        for (size_t dx = 0; dx < 17; dx++) {
            size_t entry = dy * 17 + dx, at[GRID_AXES] = {(7 + 6 - dy) % 7, (9 + 8 - dx) % 9, 0};
            bool near = dy + r >= 6 && dy <= 6 + r && dx + r >= 8 && dx <= 8 + r;
            for (size_t ch = 0; ch < c; ch++) {
                if (!near) o.eac[entry * c + ch] = 0;
                else o.wa[grid_index(&o.grid, at) * c + ch] = o.eac[entry * c + ch] += 3;
            }
            if (!near) o.eb[entry] = 0;
            else o.wb[grid_index(&o.grid, at)] = o.eb[entry] += 3;
        }

    real *linear = eq7(&o), *circular = eq10(&o);
    ck_assert(isfinite(largest(linear, o.N * c)) && isfinite(largest(circular, o.N * c)));
    for (size_t i = 0; i < o.N; i++) {
        size_t row = i / 9, col = i % 9;
        bool at_side[4] = {row < r, row + r >= 7, col < r, col + r >= 9};
        if (!at_side[0] && !at_side[1] && !at_side[2] && !at_side[3]) equal(linear + i * c, circular + i * c, c);
        else if (largest_difference(linear + i * c, circular + i * c, c) > 0)
            for (int s = 0; s < 4; s++) side[s] += at_side[s];
    }
    for (int s = 0; s < 4; s++) ck_assert((side[s] > 0) == (r > 0));
}

static void shift(size_t *from, const grid *g, const size_t step[GRID_AXES])
{
    for (size_t i = 0; i < g->tokens; i++) from[i] = grid_circular(g, i, grid_index(g, step));
}

/* LiSA, Sec. 4.3, circulant matrices: y of the other equations, and of the local Eq. 10, does not shift. */
TEST(circular_shift_of_tokens_shifts_eq10_alone)
{
    struct case_head o = integer_head("5x6", 3, 2);
    size_t from[30] = {0};
    const size_t by[] = {2, 5, 0};
    shift(from, &o.grid, by);
    struct case_head p = with_tokens(&o, from);
    for (size_t e = 0; e < COUNT(equations); e++) {
        real *y_moved = equations[e].y(&p), *moved_y = rows_in_order(equations[e].y(&o), from, o.N, o.c);
        if (equations[e].y == eq10) equal(y_moved, moved_y, o.N * o.c);
        else unequal(y_moved, moved_y, o.N * o.c);
    }
}

/* LiSA, Sec. 1 and 4.1, translation invariance: if an object of 2 x 3 tokens among zeros moves, y moves with it. */
TESTS(output_follows_an_object, COUNT(equations))
{
    struct case_head o = integer_head("5x6", 3, 2);
    size_t from[30];
    for (size_t n = 0; n < 30; n++)
        if (n / 6 > 1 || n % 6 > 2) {
            memset(o.q + n * 3, 0, 3 * sizeof *o.q);
            memset(o.k + n * 3, 0, 3 * sizeof *o.k);
            memset(o.v + n * 3, 0, 3 * sizeof *o.v);
        }
    const size_t by[] = {3, 2, 0};
    shift(from, &o.grid, by);
    struct case_head p = with_tokens(&o, from);
    real *y = equations[_i].y(&o);
    ck_assert(largest(y, o.N * o.c) > 0);
    equal(equations[_i].y(&p), rows_in_order(y, from, o.N, o.c), o.N * o.c);
}

/* LiSA, below Eq. 9: permuting channels of v and rows of Bb permutes y.  Permuting channels of q and k, with their
 * kernels and rows of Ba, has no effect. */
TEST(value_kernels_are_shared_and_key_kernels_depthwise)
{
    struct case_head o = integer_head("5x6", 3, 2), values = o, keys = o;
    size_t N = o.N, c = o.c, D = o.D;
    real *y = eq10(&o), *permuted = zeros(N * c);
    values.v = zeros(N * c);
    values.Bb = zeros(c * D);
    keys.q = zeros(N * c);
    keys.k = zeros(N * c);
    keys.wa = zeros(N * c * D);
    keys.Ba = zeros(c * D);
    for (size_t ch = 0; ch < c; ch++) {
        size_t to = (ch + 1) % c;
        for (size_t n = 0; n < N; n++) {
            values.v[n * c + to] = o.v[n * c + ch];
            keys.q[n * c + to] = o.q[n * c + ch];
            keys.k[n * c + to] = o.k[n * c + ch];
            permuted[n * c + to] = y[n * c + ch];
            memcpy(keys.wa + (n * c + to) * D, o.wa + (n * c + ch) * D, D * sizeof *o.wa);
        }
        memcpy(values.Bb + to * D, o.Bb + ch * D, D * sizeof *o.Bb);
        memcpy(keys.Ba + to * D, o.Ba + ch * D, D * sizeof *o.Ba);
    }
    equal(eq10(&values), permuted, N * c);
    equal(eq10(&keys), y, N * c);
    keys.wa = o.wa;
    unequal(eq10(&keys), y, N * c);
}

/* ---- appendix B: another resolution ------------------------------------ */

#define WAVES 12
#define TURN (2 * 3.14159265358979323846)

/* w [N]: a sum of waves of integer frequencies up to `band` per axis, sampled on the grid; the same function for every
 * grid. */
static real *sampled(const grid *g, int band, uint64_t seed)
{
    real *w = zeros(g->tokens), *draw = uniform(seed, WAVES * 4, 0, 1);
    for (size_t n = 0; n < g->tokens; n++) {
        double sum = 0;
        size_t at[GRID_AXES];
        grid_coordinates(at, g, n);
        for (size_t wave = 0; wave < WAVES; wave++) {
            double turns = (double)draw[wave * 4 + 3];
            for (int a = 0; a < g->axes; a++) {
                int frequency = (int)floor((double)draw[wave * 4 + (size_t)a] * (2 * band + 1)) - band;
                long size = (long)g->size[a], phase = frequency * (long)at[a] % size;
                turns += (double)phase / (double)size;
            }
            sum += cos(TURN * turns);
        }
        w[n] = (real)sum;
    }
    return w;
}

/* The values of w at the points of a finer grid.  regrid keeps sums, so its result is scaled by the ratio of tokens. */
static real *interpolated(const grid *fine, const grid *g, const real *w)
{
    real *values = zeros(fine->tokens);
    succeeds(regrid(values, w, 1, g->size, fine->size, 1, REGRID_ZEROS));
    for (size_t n = 0; n < fine->tokens; n++) values[n] *= (real)fine->tokens / (real)g->tokens;
    return values;
}

/* Coarse and fine grids; the first is the paper's step from 224 to 384 pixels. */
static const struct { const char *coarse, *fine; } resolution[] = {
    {"14x14", "24x24"}, {"7", "12"}, {"8", "16"}, {"7x8", "9x20"}, {"4x5x6", "8x5x9"},
};

/* Error of a result of this size after this many roundings.  Independent roundings of mean zero exceed
 * 8 sqrt(roundings) u with a probability of at most 2 exp(-32) (roundoff.h). */
static double rounding_error(double roundings, double of_size) { return 8 * sqrt(roundings) * UNIT_ROUNDOFF * of_size; }

/* Each wave errs by 40 u on each grid, as its phase is reduced to one turn per axis; it is transformed twice. */
static double resampling_error(const grid *fine)
{
    return rounding_error(2 * 40 * 40 + 14 * log2((double)fine->tokens), sqrt(WAVES));
}

/* LiSA, appendix B: adding zeros to the spectrum of W keeps a sum of waves below n/2 per axis; higher waves alias. */
TESTS(resampling_w_is_exact_for_band_limited_kernels, COUNT(resolution))
{
    grid coarse, fine;
    succeeds(grid_parse(&coarse, resolution[_i].coarse));
    succeeds(grid_parse(&fine, resolution[_i].fine));
    int band = (int)coarse.size[0];
    for (int a = 0; a < coarse.axes; a++)
        if ((int)coarse.size[a] < band) band = (int)coarse.size[a];
    band = (band - 1) / 2;
    real *fits = interpolated(&fine, &coarse, sampled(&coarse, band, 5)), *truth = sampled(&fine, band, 5);
    within(resolution[_i].fine, largest_difference(fits, truth, fine.tokens), resampling_error(&fine));
    band = 2 * band + 2;
    fits = interpolated(&fine, &coarse, sampled(&coarse, band, 5));
    truth = sampled(&fine, band, 5);
    beyond("waves beyond the band", largest_difference(fits, truth, fine.tokens), resampling_error(&fine));
}

/* LiSA, appendix B, leaves open the middle bin: we keep cos(2 pi 7 t) on 14 points.  A sine of that frequency is zero
 * at every token. */
TEST(middle_bin_of_an_even_grid_is_kept_as_a_cosine)
{
    grid coarse, fine;
    succeeds(grid_parse(&coarse, "14"));
    succeeds(grid_parse(&fine, "24"));
    real *w = zeros(14), *expected = zeros(24);
    for (size_t n = 0; n < 14; n++) w[n] = n % 2 ? -1 : 1;
    for (size_t n = 0; n < 24; n++) expected[n] = (real)cos(TURN * (double)(7 * n % 24) / 24);
    double error = largest_difference(interpolated(&fine, &coarse, w), expected, 24);
    within("cosine of the middle bin", error, resampling_error(&fine));
}

/* LiSA, appendix B, "simple interpolation" of the values of W: with M tokens instead of N, y is (M/N)^2 times larger,
 * 8.6 from 14 x 14 to 24 x 24.  regrid divides W by M/N.  Tolerance: sums of N and M terms, and resampling. */
TEST(resampled_w_must_shrink_as_tokens_grow)
{
    struct case_head coarse = {.c = 1, .D = 1}, fine = coarse;
    succeeds(grid_parse(&coarse.grid, "14x14"));
    succeeds(grid_parse(&fine.grid, "24x24"));
    double growth = 576.0 / 196.0;
    coarse.wa = sampled(&coarse.grid, 6, 5);
    for (size_t n = 0; n < 196; n++) coarse.wa[n] += 2;
    coarse.wb = coarse.wa;
    fine.wa = fine.wb = interpolated(&fine.grid, &coarse.grid, coarse.wa);
    for (int f = 0; f < 2; f++) {
        struct case_head *o = f ? &fine : &coarse;
        o->N = o->grid.tokens;
        o->q = o->k = o->v = filled(o->N, 1);
        o->Ba = o->Bb = zeros(1);
    }
    real *y = eq10(&coarse), *y_fine = eq10(&fine), *scaled = copy(y, 1);
    double sum = 0;
    for (size_t n = 0; n < 196; n++) sum += fabs((double)coarse.wa[n]);
    double allowed = rounding_error(2 * (576 + 196) + 2 * 40 * 40 + 14 * log2(576), sum * sum * growth * growth);
    scaled[0] *= (real)(growth * growth);
    within("y grows by (M/N)^2", largest_difference(y_fine, scaled, 1), allowed);
    beyond("without the factor", largest_difference(y_fine, y, 1), allowed);
    for (size_t n = 0; n < 576; n++) fine.wa[n] /= (real)growth;
    within("W divided by M/N", largest_difference(eq10(&fine), y, 1), allowed);
}

/* ---- the suite --------------------------------------------------------- */

int main(void) { return run_tests("LiSA, theorems"); }
