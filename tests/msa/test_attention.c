/* test_attention.c -- softmax attention: plain and tiled equal the equation; properties that the chapters use
 *
 * i queries, j keys (n of them), c channels, u unit roundoff.  An output is a mean of values, so its error is relative
 * to the largest |value|.  If a comment gives no tolerance, it is that of tolerance() below. */

#include "../support/roundoff.h"
#include "../../fast/tuned/exponential.h"
#include "../../naive/attention.h"
#include "../../fast/attention.h"
#include "../../fast/tuned/attention.h"

/* ---- inputs ---------------------------------------------------------- */

struct arrays {
    size_t queries, keys, channels, stride;
    real *q, *k, *v;                /* rows `stride` apart, NaN between them */
    real *r;                        /* [queries][keys], or NULL */
    bool made;                      /* the tiled form gets keys and values from a callback, `make` */
    real scale;
};

static real *rows(uint64_t seed, size_t count, size_t channels, size_t stride)
{
    real *dense = normal(seed, count * channels), *a = filled(count * stride, NAN);
    for (size_t n = 0; n < count; n++) memcpy(a + n * stride, dense + n * channels, channels * sizeof *a);
    return a;
}

static struct arrays arrays(size_t queries, size_t keys, size_t channels, size_t stride)
{
    return (struct arrays){
        .queries = queries, .keys = keys, .channels = channels, .stride = stride,
        .q = rows(1, queries, channels, stride), .k = rows(2, keys, channels, stride),
        .v = rows(3, keys, channels, stride), .scale = (real)(1 / sqrt((double)channels)),
    };
}

static real *dense(const real *a, size_t count, size_t channels, size_t stride)
{
    real *d = zeros(count * channels);
    for (size_t n = 0; n < count; n++) memcpy(d + n * channels, a + n * stride, channels * sizeof *d);
    return d;
}

/* ---- the three forms --------------------------------------------------- */

static real *naive_kernel(const struct arrays *x, real *kernel)
{
    real *y = zeros(x->queries * x->channels);
    attention_naive(y, kernel, dense(x->q, x->queries, x->channels, x->stride),
                    dense(x->k, x->keys, x->channels, x->stride), dense(x->v, x->keys, x->channels, x->stride),
                    x->r, x->scale, x->queries, x->keys, x->channels);
    return y;
}

static real *naive(const struct arrays *x)
{
    return naive_kernel(x, zeros(x->queries * x->keys));
}

static real *plain(const struct arrays *x)
{
    real *y = zeros(x->queries * x->channels);
    for (size_t i = 0; i < x->queries; i++)
        attention_query(y + i * x->channels, x->q + i * x->stride, x->k, x->v, x->stride,
                        x->r ? x->r + i * x->keys : NULL, x->scale, x->keys, x->channels);
    return y;
}

static void make(real *k, real *v, size_t first, size_t count, void *context)
{
    const struct arrays *x = context;
    ck_assert(first % ATTENTION_TILE == 0 && count <= ATTENTION_TILE && first + count <= x->keys);
    for (size_t j = 0; j < count; j++) {
        memcpy(k + j * x->channels, x->k + (first + j) * x->stride, x->channels * sizeof *k);
        memcpy(v + j * x->channels, x->v + (first + j) * x->stride, x->channels * sizeof *v);
    }
}

static void bias(real *r, size_t stride, size_t i, size_t queries, size_t j, size_t keys, void *context)
{
    const struct arrays *x = context;
    ck_assert(stride >= queries && queries <= ATTENTION_BLOCK && keys <= ATTENTION_TILE);
    for (size_t t = 0; t < keys; t++)
        for (size_t l = 0; l < queries; l++) r[t * stride + l] = x->r[(i + l) * x->keys + j + t];
}

/* All of Y, `block` queries in each call.  A call must not write past its workspace or its rows of y. */
static real *tiled_in_blocks(struct attention a, size_t block)
{
    size_t reals, guard = 64;
    real *y = zeros(a.queries * a.channels);

    ck_assert(attention_fast_workspace(&reals, a.channels, block));
    real *workspace = memory_reals(reals + guard, 1, 1, 1), *out = zeros(block * a.channels + guard);
    ck_assert_ptr_nonnull(workspace);
    for (size_t first = 0; first < a.queries; first += block) {
        size_t count = a.queries - first < block ? a.queries - first : block, written = count * a.channels;
        for (size_t n = 0; n < reals + guard; n++) workspace[n] = (real)1e30;
        for (size_t n = written; n < written + guard; n++) out[n] = (real)1e30;
        attention_fast(out, a.channels, &a, first, count, workspace);
        for (size_t n = 0; n < guard; n++)
            ck_assert(workspace[reals + n] == (real)1e30 && out[written + n] == (real)1e30);
        memcpy(y + first * a.channels, out, written * sizeof *y);
    }
    memory_free(workspace);
    return y;
}

static struct attention problem(const struct arrays *x)
{
    struct attention a = {
        .queries = x->queries, .keys = x->keys, .channels = x->channels, .scale = x->scale,
        .q = x->q, .q_stride = x->stride,
    };
    if (x->made) {
        a.fill = make;
        a.fill_context = (void *)x;
    } else {
        a.k = x->k, a.k_stride = x->stride;
        a.v = x->v, a.v_stride = x->stride;
    }
    if (x->r) {
        a.bias = bias;
        a.bias_context = (void *)x;
    }
    return a;
}

static real *tiled(const struct arrays *x)
{
    return tiled_in_blocks(problem(x), ATTENTION_BLOCK);
}

static real *(*const form[])(const struct arrays *) = {naive, plain, tiled};
static const char *const form_name[] = {"naive", "plain", "tiled"};
#define FORMS ((int)COUNT(form))

/* ---- tolerance ------------------------------------------------------- */

/* usual: root mean square of the scores scale q k + r over all pairs.  most: the largest scale sum_c |q_ic k_jc| +
 * |r_ij|, which bounds every score and its partial sums. */
struct scores { double usual, most; };

static struct scores scores_of(const struct arrays *x)
{
    double squares = 0, most = 0;
    for (size_t i = 0; i < x->queries; i++)
        for (size_t j = 0; j < x->keys; j++) {
            double sum = 0, size = 0, r = x->r ? (double)x->r[i * x->keys + j] : 0;
            for (size_t c = 0; c < x->channels; c++) {
                double product = (double)x->q[i * x->stride + c] * (double)x->k[j * x->stride + c];
                sum += product;
                size += fabs(product);
            }
            squares += pow((double)x->scale * sum + r, 2);
            worse(&most, fabs((double)x->scale) * size + fabs(r));
        }
    return (struct scores){sqrt(squares / (double)(x->queries * x->keys)), most};
}

/* Largest difference of two forms, or of two orders of one form's sums: worst case, to first order in u.
 *
 * Score: naive c + 2 roundings (products, sum, scale, bias), tiled c + 4 (log2(e), its product, the scaled query), each
 * at most u S, where S is the largest score.  Subtracting the maximum adds 2 u S.  Weight, in numerator and
 * denominator: the error of the score and of its exponential, 2 u (naive) or 3 u (tiled).  Sums: n u in numerator and
 * denominator of each form; 2 u for each of the at most n/64 + 1 rescalings of the tiled form; 2 u for the divisions.
 * Together 2 (c + 4) S + 2 (c + 6) S + 10 + 4 n + n/32 + 4, in u. */
static double tolerance(const struct arrays *x)
{
    double c = (double)x->channels, n = (double)x->keys;
    return (4 * (c + 5) * scores_of(x).most + 4 * n + n / 32 + 14) * UNIT_ROUNDOFF;
}

static double largest_value(const struct arrays *x)
{
    return largest(dense(x->v, x->keys, x->channels, x->stride), x->keys * x->channels);
}

static double apart(const struct arrays *x, const real *a, const real *b)
{
    return largest_difference(a, b, x->queries * x->channels) / largest_value(x);
}

/* Row i of y in long double, by the equation. */
static void exact_mean(long double *y, const struct arrays *x, size_t i)
{
    long double sum = 0, top = -INFINITY, *score = keep(x->keys, sizeof *score);
    for (size_t j = 0; j < x->keys; j++) {
        for (size_t c = 0; c < x->channels; c++)
            score[j] += (long double)x->q[i * x->stride + c] * (long double)x->k[j * x->stride + c];
        score[j] = (long double)x->scale * score[j] + (x->r ? (long double)x->r[i * x->keys + j] : 0);
        top = score[j] > top ? score[j] : top;
    }
    for (size_t c = 0; c < x->channels; c++) y[c] = 0;
    for (size_t j = 0; j < x->keys; j++) {
        long double weight = expl(score[j] - top);
        sum += weight;
        for (size_t c = 0; c < x->channels; c++) y[c] += weight * (long double)x->v[j * x->stride + c];
    }
    for (size_t c = 0; c < x->channels; c++) y[c] /= sum;
}

/* Root mean square of the error of y, relative to that of the long double result. */
static double mean_error_of(const struct arrays *x, const real *y)
{
    long double *exact = keep(x->channels, sizeof *exact);
    double apart_squares = 0, squares = 0;
    for (size_t i = 0; i < x->queries; i++) {
        exact_mean(exact, x, i);
        for (size_t ch = 0; ch < x->channels; ch++) {
            apart_squares += pow((double)((long double)y[i * x->channels + ch] - exact[ch]), 2);
            squares += pow((double)exact[ch], 2);
        }
    }
    return sqrt(apart_squares / squares);
}

/* Statistical bound of roundoff.h.  Squares in u^2, relative to the mean square of y: S^2 (c / 6 + 4 / 3) for a score
 * (c products, scale, log2(e), bias; S its root mean square); S^2 / 3 for subtracting the maximum; 3 for an exponential
 * of 1.5 ulp; n / 6 for the numerator (terms of both signs); n / 9 for the denominator (positive terms); 1 for the
 * division.  The errors of different keys' weights are independent. */
static void holds(const char *what, const struct arrays *x, const real *y)
{
    double S = scores_of(x).usual, c = (double)x->channels, n = (double)x->keys;
    double bound = sqrt(S * S * (c / 6 + 5.0 / 3) + 3 + n / 6 + n / 9 + 1) * UNIT_ROUNDOFF;
    within(what, mean_error_of(x, y), chance(x->queries * x->channels) * bound);
}

/* ---- the forms are equal ---------------------------------------------- */

static const struct { size_t queries, keys, channels, stride; bool bias, made; } size[] = {
    {1, 1, 1, 1, false, false},     {1, 1, 64, 192, true, true},    {1, 257, 3, 3, false, false},
    {257, 1, 3, 9, true, false},    {2, 3, 16, 16, false, true},    {13, 17, 1, 1, true, false},
    {15, 63, 16, 48, false, false}, {16, 64, 16, 17, true, true},   {17, 65, 64, 192, false, false},
    {47, 127, 65, 65, true, false}, {48, 128, 64, 64, false, true}, {49, 129, 130, 131, true, true},
    {97, 101, 5, 30, false, false}, {96, 49, 7, 7, true, false},    {49, 49, 32, 96, true, false},
    {196, 49, 64, 128, false, false}, {33, 6, 2, 2, false, true},   {31, 202, 12, 36, true, true},
    {5, 7, 9, 11, false, false},    {95, 140, 6, 8, true, false},
};

/* LiSA, Eq. 1 and 3, with and without a bias, keys and values from arrays or from a callback. */
TESTS(tiled_attention_is_the_equation, COUNT(size))
{
    char what[96];
    struct arrays x = arrays(size[_i].queries, size[_i].keys, size[_i].channels, size[_i].stride);
    if (size[_i].bias) x.r = normal(4, x.queries * x.keys);
    x.made = size[_i].made;
    snprintf(what, sizeof what, "%zu queries, %zu keys, %zu channels%s%s", x.queries, x.keys, x.channels,
             x.r ? ", bias" : "", x.made ? ", made" : "");

    real *kernel = zeros(x.queries * x.keys), *expected = naive_kernel(&x, kernel);
    within(what, apart(&x, tiled(&x), expected), tolerance(&x));
    within("    plain", apart(&x, plain(&x), expected), tolerance(&x));
    holds("    tiled, root mean square", &x, tiled(&x));
    holds("    plain, root mean square", &x, plain(&x));
    holds("    naive, root mean square", &x, expected);

    size_t favourite = 0;
    for (size_t j = 0; j < x.keys; j++)
        if (kernel[j] > kernel[favourite]) favourite = j;
    x.v[favourite * x.stride + x.channels - 1] += 1;
    beyond("one entry of one value", apart(&x, tiled(&x), expected), tolerance(&x));
    beyond("    plain", apart(&x, plain(&x), expected), tolerance(&x));
}

static const struct { int axes; size_t grid[3], window[3], columns; } embedding[] = {
    {1, {1}, {1}, 1},           {1, {131}, {131}, 1},             {1, {50}, {7}, 3},
    {2, {1, 9}, {1, 9}, 1},     {2, {9, 1}, {9, 1}, 2},           {2, {14, 14}, {14, 14}, 1},
    {2, {7, 23}, {7, 23}, 1},   {2, {14, 14}, {7, 7}, 4},         {2, {6, 70}, {3, 35}, 1},
    {3, {3, 4, 5}, {3, 4, 5}, 2}, {3, {4, 6, 11}, {2, 3, 11}, 1},
};

struct position {
    grid whole, window;
    real *e;                        /* the last column of [P][columns]; if there are several, column 0 is NaN */
    size_t columns;
};

static struct position position(int n)
{
    struct position p = {.columns = embedding[n].columns};
    succeeds(grid_create(&p.whole, embedding[n].axes, embedding[n].grid));
    succeeds(grid_create(&p.window, embedding[n].axes, embedding[n].window));
    p.e = rows(5, p.whole.offsets, 1, p.columns);
    for (size_t entry = 0; entry < p.whole.offsets && p.columns > 1; entry++) {
        p.e[entry * p.columns + p.columns - 1] = p.e[entry * p.columns];
        p.e[entry * p.columns] = NAN;
    }
    p.e += p.columns - 1;
    return p;
}

/* Loads the table of p's last column; the arena owns it. */
static struct attention_rpe_table loaded(struct attention_rpe *rpe, struct arena *arena, const struct position *p)
{
    *arena = arena_open(1);
    attention_rpe_prepare(rpe, arena, &p->window, p->columns);
    succeeds(arena_allocate(arena, NULL));
    attention_rpe_load(rpe, &p->whole, p->e - (p->columns - 1));
    return attention_rpe_table(rpe, p->columns - 1);
}

/* R of the window's tokens; offsets are those of the whole grid. */
static real *written_out(const struct position *p)
{
    size_t N = p->window.tokens, at[GRID_AXES];
    real *r = zeros(N * N);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            grid_coordinates(at, &p->window, i);
            size_t i_whole = grid_index(&p->whole, at);
            grid_coordinates(at, &p->window, j);
            r[i * N + j] = p->e[grid_offset(&p->whole, i_whole, grid_index(&p->whole, at)) * p->columns];
        }
    return r;
}

/* LiSA, Eq. 2: the reversed table gives R for any block of queries and tile of keys, on a grid or a window of it.
 * attention_rpe_bias writes at most 64 bytes past its last row. */
TESTS(the_reversed_table_is_the_toeplitz_matrix, COUNT(embedding))
{
    struct position p = position(_i);
    struct attention_rpe rpe;
    struct arena arena;
    size_t N = p.window.tokens, overrun = 64 / sizeof(real), wide = 3 * LANES;
    real *expected = written_out(&p), *r = zeros(ATTENTION_TILE * wide + overrun + 1);
    struct attention_rpe_table table = loaded(&rpe, &arena, &p);

    if (p.window.tokens == p.whole.tokens) {
        real *written_down = zeros(N * N);
        toeplitz(written_down, p.e, p.columns, &p.whole, 1);
        within("T(e) written down", largest_difference(written_down, expected, N * N), 0);
    }
    for (size_t i = 0; i < N; i += wide)
        for (size_t j = 0; j < N; j += ATTENTION_TILE) {
            size_t queries = N - i < wide ? N - i : wide;
            size_t keys = N - j < ATTENTION_TILE ? N - j : ATTENTION_TILE;
            size_t end = keys * wide + overrun;
            r[end] = NAN;
            attention_rpe_bias(r, wide, i, queries, j, keys, &table);
            ck_assert(isnan(r[end]));
            for (size_t t = 0; t < keys; t++)
                for (size_t l = 0; l < queries; l++)
                    ck_assert(r[t * wide + l] == expected[(i + l) * N + j + t]);
        }
    arena_release(&arena);
    arena_release(&arena);
    ck_assert_uint_eq(memory_in_use(), 0);
}

/* ---- the example of the chapter --------------------------------------- */

/* Chapter 0, "By hand": scores 1, 3 | 2, 5 are exponents of two, so m, s and o are exact.  The forms get the four keys
 * in one tile, and then in two tiles, whose other keys have a score of -inf.  Tolerance: that of two forms for four
 * keys, one channel and scores up to 5 ln 2 < 3.5, 4 (1 + 5) 3.5 + 4 * 4 + 14, and 2 * 3.5 for the rounding of ln 2. */
TEST(attention_by_hand)
{
    static const double score[] = {1, 3, 2, 5}, value[] = {10, 20, 30, 40};
    static const double expected[][3] = {{3, 1.25, 22.5}, {5, 1.4375, 49.375}}, y = 1580.0 / 46;
    double m = -INFINITY, s = 0, o = 0;
    for (int first = 0; first < 4; first += 2) {
        double top = fmax(m, fmax(score[first], score[first + 1])), shrink = exp2(m - top);
        s *= shrink, o *= shrink, m = top;
        for (int j = first; j < first + 2; j++) {
            s += exp2(score[j] - m);
            o += exp2(score[j] - m) * value[j];
        }
        printf("tile %d: shrink %g, m = %g, s = %g, o = %g\n", first / 2 + 1, shrink, m, s, o);
        ck_assert(m == expected[first / 2][0] && s == expected[first / 2][1] && o == expected[first / 2][2]);
    }
    ck_assert(o / s == y);

    for (size_t apart = 2; apart <= ATTENTION_TILE; apart += ATTENTION_TILE - 2) {
        struct arrays x = arrays(1, 2 * apart, 1, 1);
        x.q[0] = (real)log(2);
        x.r = filled(x.keys, -INFINITY);
        for (size_t j = 0; j < 4; j++) {
            size_t at = j / 2 * apart + j % 2;
            x.k[at] = (real)score[j];
            x.v[at] = (real)value[j];
            x.r[at] = 0;
        }
        for (int f = 0; f < FORMS; f++) {
            double found = (double)form[f](&x)[0];
            printf("%s, %zu keys: y = %.4f\n", form_name[f], x.keys, found);
            within(form_name[f], fabs(found - y) / 40, 121 * UNIT_ROUNDOFF);
        }
    }
}

/* ---- theorems -------------------------------------------------------- */

/* Rows in another order: a permutation, since 7 does not divide `count`. */
static real *move_rows(const real *a, size_t count, size_t width)
{
    size_t *from = keep(count, sizeof *from);
    for (size_t n = 0; n < count; n++) from[n] = (7 * n + 3) % count;
    return rows_in_order(a, from, count, width);
}

/* LiSA, Sec. 3, below Eq. 1, and Eq. 3: permuted tokens give permuted outputs, but not with a relative position
 * embedding. */
TESTS(self_attention_ignores_the_order_of_tokens, FORMS)
{
    size_t N = 11 * 13, c = 6;
    grid g;
    const size_t sides[] = {11, 13};
    succeeds(grid_create(&g, 2, sides));
    struct arrays x = arrays(N, N, c, c), z = x;
    z.q = move_rows(x.q, N, c);
    z.k = move_rows(x.k, N, c);
    z.v = move_rows(x.v, N, c);
    within(form_name[_i], apart(&x, form[_i](&z), move_rows(form[_i](&x), N, c)), tolerance(&x));

    x.r = z.r = zeros(N * N);
    toeplitz(x.r, normal(6, g.offsets), 1, &g, 1);
    beyond("with an embedding", apart(&x, form[_i](&z), move_rows(form[_i](&x), N, c)), 0.1);
}

/* Outputs do not depend on which queries share a call, a vector or a group. */
TEST(blocks_of_queries_change_no_bit)
{
    static const size_t block[] = {1, 7, 48, ATTENTION_BLOCK, 211};
    struct arrays x = arrays(211, 150, 10, 30);
    for (size_t n = 0; n < x.queries; n += 5)       /* some outgrow their first tile, some do not */
        for (size_t c = 0; c < x.channels; c++) x.q[n * x.stride + c] *= 8;
    x.r = normal(4, x.queries * x.keys);
    real *whole = tiled_in_blocks(problem(&x), x.queries);
    for (size_t b = 0; b < COUNT(block); b++)
        ck_assert_mem_eq(tiled_in_blocks(problem(&x), block[b]), whole, x.queries * x.channels * sizeof *whole);
}

/* Tolerance: two sums of n terms, rescaling and a division, (2 n + 8) u. */
TESTS(weights_sum_to_one, FORMS)
{
    struct arrays x = arrays(50, 333, 4, 4);
    x.v = filled(x.keys * x.stride, 1);
    real *ones = filled(x.queries * x.channels, 1);
    within(form_name[_i], apart(&x, form[_i](&x), ones), (2 * 333 + 8) * UNIT_ROUNDOFF);
}

/* The largest score, of the first or last key, has all the weight, also if all scores are far below 0 (keys from -300
 * on).  The other weights, at most exp(-500), change no bit. */
TESTS(large_scores_do_not_overflow, FORMS)
{
    static const double scale[] = {100, 1e4, 1e30, -100, -1e4, -1e30};
    for (size_t n = 0; n < 2 * COUNT(scale); n++) {
        struct arrays x = arrays(20, 200, 5, 5);
        x.q = filled(x.queries * x.stride, 1);
        for (size_t j = 0; j < x.keys * x.stride; j++) x.k[j] = (real)(j / x.stride) - (n % 2 ? 300 : 100);
        x.scale = (real)scale[n / 2];
        real *y = form[_i](&x);
        const real *largest_one = x.v + (scale[n / 2] > 0 ? x.keys - 1 : 0) * x.stride;
        for (size_t i = 0; i < x.queries; i++)
            ck_assert_mem_eq(y + i * x.channels, largest_one, x.channels * sizeof *y);
    }
}

/* Scores rise through all keys, faster for later queries; the keys fill one stretch of tiles, or several. */
TESTS(rising_scores_are_rescaled, 2)
{
    static const size_t keys[] = {400, 2000};
    struct arrays x = arrays(60, keys[_i], 8, 8);
    x.r = zeros(x.queries * x.keys);
    for (size_t i = 0; i < x.queries; i++)
        for (size_t j = 0; j < x.keys; j++) x.r[i * x.keys + j] = (real)i * (real)j / 512;
    for (int f = 1; f < FORMS; f++) {
        within(form_name[f], apart(&x, form[f](&x), naive(&x)), tolerance(&x));
        holds("    root mean square", &x, form[f](&x));
    }
}

/* Scores of three tiles, in units of a step. */
static const int stairs[][3] = {{0, 1, 1}, {1, 0, 0}, {0, 1, 0}, {1, 0, 1}, {0, 1, 2}, {2, 1, 0}};

/* Scores rise or fall by up to 127 powers of two (8 times as many in double) between two tiles; values about 1 and
 * about 2^100 (2^800).  The running maximum may lag by a factor of 2^8; sums then stay below n 2^8 times the largest
 * value. */
TESTS(steps_between_tiles_are_rescaled, COUNT(stairs))
{
    static const int step[] = {1, 7, 8, 9, 20, 40, 67, 87, 100, 120, 125, 126, 127};
    const int wide = sizeof(real) == 4 ? 1 : 8;
    for (int power = 0; power <= 100; power += 100) {
        struct arrays x = arrays(5 * COUNT(step), 3 * ATTENTION_TILE, 8, 8);
        char what[48];
        for (size_t n = 0; n < x.keys * x.stride; n++) x.v[n] *= (real)ldexp(1, power * wide);
        x.r = zeros(x.queries * x.keys);
        for (size_t i = 0; i < x.queries; i++)
            for (size_t j = 0; j < x.keys; j++)
                x.r[i * x.keys + j] = (real)(stairs[_i][j / ATTENTION_TILE] * step[i % COUNT(step)] * wide * log(2));
        snprintf(what, sizeof what, "steps %d, %d, %d, values 2^%d", stairs[_i][0], stairs[_i][1], stairs[_i][2],
                 power * wide);
        for (int f = 1; f < FORMS; f++) {
            within(what, apart(&x, form[f](&x), naive(&x)), tolerance(&x));
            if (!power) holds(form_name[f], &x, form[f](&x));
        }
    }
}

/* Root mean square error for values in [1, 2).  A sum of n equal terms errs by u sqrt(n) / 3, the mean of m such sums
 * by 1 / sqrt(m) of that.  With t tiles of b = 96 terms, s tiles per stretch and r stretches: (b / t + s / r + r) / 9
 * in u^2, in numerator and denominator, and 1 / 3 for the division.  One running sum would err by 19 u and 59 u. */
TESTS(tiles_are_summed_from_zero, 2)
{
    static const struct { size_t queries, keys; } many[] = {{48, 3136}, {16, 31360}};
    struct arrays x = arrays(many[_i].queries, many[_i].keys, 32, 32);
    double b = ATTENTION_TILE, t = ceil((double)x.keys / b), s = fmax(8, ceil(sqrt(t))), r = ceil(t / s);
    x.v = uniform(3, x.keys * x.stride, 1, 2);
    within("root mean square error", mean_error_of(&x, tiled(&x)),
           chance(x.queries * x.channels) * sqrt(2 * (b / t + s / r + r) / 9 + 1.0 / 3) * UNIT_ROUNDOFF);
}

/* For each of 151 keys: a score 1000 above the others has all the weight. */
TESTS(one_large_score_is_found_anywhere, FORMS)
{
    for (size_t j = 0; j < 151; j++) {
        struct arrays x = arrays(3, 151, 2, 2);
        x.r = zeros(x.queries * x.keys);
        for (size_t i = 0; i < x.queries; i++) x.r[i * x.keys + j] = 1000;
        real *y = form[_i](&x);
        for (size_t i = 0; i < x.queries; i++)
            ck_assert_mem_eq(y + i * x.channels, x.v + j * x.stride, x.channels * sizeof *y);
    }
}

/* The first 70 keys have a score of -inf and no effect.  A query without any other key gives NaN, its neighbours do
 * not. */
TESTS(minus_infinity_removes_a_key, FORMS)
{
    size_t away = 70;
    struct arrays x = arrays(21, 200, 8, 8), left = x;
    x.r = zeros(x.queries * x.keys);
    for (size_t i = 0; i < x.queries; i++)
        for (size_t j = 0; j < (i == 20 ? x.keys : away); j++) x.r[i * x.keys + j] = -INFINITY;
    left.k += away * x.stride;
    left.v += away * x.stride;
    left.keys -= away;
    left.queries = 20;
    real *y = form[_i](&x);
    within(form_name[_i], apart(&left, y, form[_i](&left)), tolerance(&left));
    for (size_t c = 0; c < x.channels; c++) ck_assert(isnan(y[20 * x.channels + c]));
}

/* A NaN in a query, key, value or bias, at keys of both tiles: all outputs that depend on it are NaN, and no others.  A
 * score of +inf makes its row NaN. */
TESTS(nan_reaches_the_output, FORMS)
{
    for (size_t at = 0; at < 150; at += 7)
        for (int where = 0; where < 5; where++) {
            struct arrays x = arrays(23, 150, 5, 5);
            size_t i_nan = at % x.queries, c_nan = at % x.channels;
            x.r = zeros(x.queries * x.keys);
            if (where == 0) x.q[i_nan * x.stride + c_nan] = NAN;
            if (where == 1) x.k[at * x.stride + c_nan] = NAN;
            if (where == 2) x.v[at * x.stride + c_nan] = NAN;
            if (where == 3) x.r[i_nan * x.keys + at] = NAN;
            if (where == 4) x.r[i_nan * x.keys + at] = INFINITY;
            real *y = form[_i](&x);
            for (size_t i = 0; i < x.queries; i++)
                for (size_t c = 0; c < x.channels; c++) {
                    bool expected = where == 1 || (where == 2 && c == c_nan)
                                 || (where != 2 && i == i_nan);
                    ck_assert_msg(!isnan(y[i * x.channels + c]) == !expected,
                                  "%s, case %d, at %zu: y[%zu][%zu]", form_name[_i], where, at, i, c);
                }
        }
}

/* ---- workspace, blocks, exponential ------------------------------------ */

/* The workspace depends only on channels and block.  For 64 channels it is smaller than the scores of 200 tokens.
 * Sizes that overflow are rejected. */
TEST(workspace_does_not_depend_on_the_number_of_tokens)
{
    size_t reals, twice, huge = (size_t)-1 / 2;
    ck_assert(attention_fast_workspace(&reals, 64, ATTENTION_BLOCK));
    ck_assert_uint_lt(reals, 200 * 200);
    ck_assert(attention_fast_workspace(&twice, 64, 2 * ATTENTION_BLOCK));
    ck_assert_uint_lt(twice, 2 * reals);
    ck_assert(!attention_fast_workspace(&reals, huge, 1));
    ck_assert(!attention_fast_workspace(&reals, (size_t)-1, 1));
    ck_assert(!attention_fast_workspace(&reals, 64, huge));
    ck_assert(!attention_fast_workspace(&reals, huge / 4, huge / 4));
    ck_assert(!attention_fast_workspace(&reals, 63, ((size_t)-1 / 128 + 1) * LANES));   /* wraps to a small size */
}

/* A query needs 2 channels + 2 numbers for itself and its sums.  Only a block of one group may exceed the cache.  3136
 * queries of 96 channels make blocks of 672 (float, 16 lanes), for two threads an even number of blocks. */
TEST(blocks_of_queries_fit_the_cache_and_are_shared_evenly)
{
    size_t group = 3 * LANES;
    for (size_t queries = 1; queries <= 4000; queries += 119)
        for (size_t channels = 1; channels <= 700; channels += 99)
            for (size_t heads = 0; heads <= 30; heads++)
                for (size_t threads = 1; threads <= 9; threads++) {
                    size_t block = attention_block(queries, channels, heads, threads);
                    ck_assert(block && block % group == 0);
                    ck_assert(block == group || block * (2 * channels + 2) * sizeof(real) <= ATTENTION_BYTES);
                }
    if (sizeof(real) == sizeof(float) && LANES == 16) ck_assert_uint_eq(attention_block(3136, 96, 1, 1), 672);
    ck_assert_uint_eq(((3136 - 1) / attention_block(3136, 96, 1, 2) + 1) % 2, 0);
}

static real exp2_of(real x)
{
    vec all = (vec){0} + x;
    return exp2_vec(all)[LANES - 1];
}

/* Tolerance 1.5 ulp: 0.5 for the rounding of 1 + f g; |f g| <= 0.293 where an ulp is u, times the errors of g, its
 * coefficients and the product, 1.5 u + 0.6 u + u; 0.04 for the polynomial.  Integer arguments are exact. */
TEST(powers_of_two_are_within_one_and_a_half_ulp)
{
    const double lowest = sizeof(real) == 4 ? -126 : -1022, range[][2] = {{lowest, 9}, {-1, 1}};
    const int points = 1000000;
    for (size_t n = 0; n < COUNT(range); n++) {
        double worst = 0, off = 0;
        for (int p = 0; p < points; p++) {
            real x = (real)(range[n][0] + (range[n][1] - range[n][0]) * p / points);
            long double exact = exp2l((long double)x), ulp = ldexpl(REAL_EPSILON, ilogbl(exact));
            double error = (double)(fabsl((long double)exp2_of(x) - exact) / ulp);
            double wrong = (double)(fabsl((long double)exp2_of(x * (1 - 2 * REAL_EPSILON)) - exact) / ulp);
            worse(&worst, error);
            worse(&off, wrong);
        }
        within(n ? "2^x for |x| <= 1, in ulps" : "2^x, in ulps", worst, 1.5);
        beyond("arguments off by 4 u", off, 1.5);
    }
    for (int k = (int)lowest; k <= 9; k++) ck_assert(exp2_of((real)k) == (real)ldexp(1, k));
}

/* The result is 0 below the normal numbers, also at -inf; NaN stays NaN. */
TEST(powers_of_two_underflow_to_zero)
{
    static const double factor[] = {1, 1.003, 1.5, 10, 1e3, 1e7, 1e20, 1e35};
    const double lowest = sizeof(real) == 4 ? -126.6 : -1022.6;
    for (size_t n = 0; n < COUNT(factor); n++) ck_assert(exp2_of((real)(lowest * factor[n])) == 0);
    ck_assert(exp2_of(-INFINITY) == 0);
    ck_assert(isnan(exp2_of(NAN)) && isnan(exp2_of(-NAN)));
}

int main(void) { return run_tests("Attention"); }
