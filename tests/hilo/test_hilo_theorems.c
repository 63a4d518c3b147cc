/* test_hilo_theorems.c -- theorems about HiLo */

#include "hilo_case.h"
#include "../../reference/runtime/heads.h"
#include "../../reference/runtime/linear.h"
#include "../../reference/msa.h"
#include "../../reference/cli/log_spectrum.h"
#include "../../reference/io/tokens.h"

static const char *const forms[] = {"naive", "plain", "fast"};

#define BIASES "h_qkv_b h_proj_b l_q_b l_kv_b l_proj_b"

static real *columns_of(const real *first, size_t stride, size_t rows, size_t columns)
{
    real *dense = zeros(rows * columns);
    head_gather(dense, first, stride, rows, columns);
    return dense;
}

static real *head_of(const real *q, const real *k, const real *v, const real *r, size_t queries, size_t keys,
                     size_t c)
{
    real *y = zeros(queries * c);
    attention_naive(y, zeros(queries * keys), q, k, v, r, (real)0.5, queries, keys, c);
    return y;
}

/* ---- limits -------------------------------------------------------------- */

/* HiLo, Sec. 4.1; W-MSA in Tab. 4, Local Window in Tab. 10. */
TESTS(alpha_zero_is_window_attention, 2)
{
    static const char *const windows[] = {"--grid 6x12 --heads 3 --window 2", "--grid 6x12 --heads 3 --window 3"};
    static const char *const pair[][2] = {{"w_qkv", "h_qkv"}, {"b_qkv", "h_qkv_b"}, {"w_o", "h_proj"},
                                          {"b_o", "h_proj_b"}};
    char options[80];
    snprintf(options, sizeof options, "%s --alpha 0", windows[_i]);
    struct fixture t = fixture(options, &hilo, 2, 12, "", "");
    real *y[2];
    for (int other = 0; other < 2; other++) {
        struct fixture u = fixture(windows[other ? 1 - _i : _i], &msa, 2, 12, "", "rpe");
        for (size_t n = 0; n < COUNT(pair); n++) fixture_put(&u, pair[n][0], fixture_tensor(&t, pair[n][1]));
        y[other] = fixture_run_on(&u, "naive", 2, t.x);
    }
    forms_within(&t, y[0], property_tolerance(&t.problem));
    beyond("another window", relative_difference(y[1], y[0], t.outputs), 0.1);
}

/* HiLo, A.1, the last stage of LITv2: w_qkv stacks l_q and l_kv, w_o is l_proj. */
TESTS(window_of_one_is_self_attention, 4)
{
    static const char *const options[] = {
        "--grid 10x11 --heads 2 --window 1 --alpha 0", "--grid 10x11 --heads 2 --window 1 --alpha 0.5",
        "--grid 10x11 --heads 2 --window 1 --alpha 1 --pooled-queries", "--grid 10x11 --heads 2 --alpha 1",
    };
    size_t C = 8;
    struct fixture t = fixture(options[_i], &hilo, 2, C, "", "");
    struct fixture u = fixture("--grid 10x11 --heads 2", &msa, 2, C, "", "rpe");
    ck_assert(problem_size(&t.problem, "ld") == C);
    memcpy(fixture_tensor(&u, "w_qkv"), fixture_tensor(&t, "l_q"), C * C * sizeof(real));
    memcpy(fixture_tensor(&u, "w_qkv") + C * C, fixture_tensor(&t, "l_kv"), 2 * C * C * sizeof(real));
    memcpy(fixture_tensor(&u, "b_qkv"), fixture_tensor(&t, "l_q_b"), C * sizeof(real));
    memcpy(fixture_tensor(&u, "b_qkv") + C, fixture_tensor(&t, "l_kv_b"), 2 * C * sizeof(real));
    fixture_put(&u, "w_o", fixture_tensor(&t, "l_proj"));
    fixture_put(&u, "b_o", fixture_tensor(&t, "l_proj_b"));
    real *y = fixture_run_on(&u, "naive", 2, t.x);
    if (_i < 3) forms_within(&t, y, property_tolerance(&t.problem));
    else beyond("a window of two", relative_difference(fixture_run(&t, "fast", 2), y, t.outputs), 0.1);
}

/* HiLo, Sec. 4.1: with alpha 1 it is the attention of N queries to N/s^2 keys and values, projected from window
 * means. */
TEST(alpha_one_is_lofi_alone)
{
    enum { H = 6, W = 9, N = H * W, n = N / 9, C = 8, c = 4 };
    struct fixture t = fixture("--grid 6x9 --window 3 --heads 2 --alpha 1", &hilo, 1, C, "", "");
    real *mean = zeros(n * C), *q = zeros(N * C), *kv = zeros(n * 2 * C), *z = zeros(N * C), *y = zeros(N * C);
    ck_assert(problem_size(&t.problem, "hd") == 0);
    for (size_t i = 0; i < N; i++)
        for (size_t ch = 0; ch < C; ch++) mean[(i / W / 3 * 3 + i % W / 3) * C + ch] += t.x[i * C + ch] / 9;
    linear_map(q, C, t.x, C, fixture_tensor(&t, "l_q"), fixture_tensor(&t, "l_q_b"), N, C, C);
    linear_map(kv, 2 * C, mean, C, fixture_tensor(&t, "l_kv"), fixture_tensor(&t, "l_kv_b"), n, C, 2 * C);
    for (size_t first = 0; first < C; first += c) {
        const real *k = columns_of(kv + first, 2 * C, n, c), *v = columns_of(kv + C + first, 2 * C, n, c);
        head_scatter(z + first, C, head_of(columns_of(q + first, C, N, c), k, v, NULL, N, n, c), N, c);
    }
    linear_map(y, C, z, C, fixture_tensor(&t, "l_proj"), fixture_tensor(&t, "l_proj_b"), N, C, C);
    forms_within(&t, y, property_tolerance(&t.problem));
}

/* HiLo, Eq. 6: replacing a tensor changes outputs of its own branch and no bit of the other's. */
TEST(branches_are_independent)
{
    struct fixture t = fixture("--grid 5x6 --heads 3 --alpha 0.4", &hilo, 2, 12, "", "");
    size_t hd = problem_size(&t.problem, "hd");
    ck_assert(hd == 8);
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *before = fixture_run(&t, forms[f], 1);
        for (size_t r = 1; hilo.tensors[r].name; r++) {
            const char *name = hilo.tensors[r].name;
            bool high = name[0] == 'h', changed = false;
            real *kept = copy(fixture_tensor(&t, name), fixture_count(&t, name));
            fixture_put(&t, name, normal(90 + r, fixture_count(&t, name)));
            real *after = fixture_run(&t, forms[f], 1);
            for (size_t i = 0; i < t.outputs; i++) {
                if ((i % 12 < hd) == high) changed = changed || after[i] != before[i];
                else ck_assert_msg(after[i] == before[i], "%s reaches channel %zu", name, i % 12);
            }
            ck_assert_msg(changed, "%s reaches nothing", name);
            fixture_put(&t, name, kept);
        }
    }
}

/* ---- why N/s^2 keys suffice ----------------------------------------------- */

/* HiLo, Sec. 4.1: s^2 copies of every key and value do not change the output; one more copy of the first key changes
 * it.  Tolerance: scores have equal bits; weights and outputs are sums of M and of n terms. */
TESTS(equal_keys_repeated_leave_the_mean, 3)
{
    static const char *const options[] = {"--grid 8x12", "--grid 9x12 --window 3", "--grid 8x12 --window 4"};
    struct hilo_problem z = sizes_of(options[_i], 1, 4);
    size_t M = z.M, n = z.n, c = 4;
    real *q = normal(1, M * c), *k = normal(2, n * c), *v = normal(3, n * c), *many_k = zeros((M + 1) * c);
    real *many_v = zeros((M + 1) * c);
    double tolerance = 8 * (2 * sqrt((double)M) + 10) * UNIT_ROUNDOFF;
    hilo_naive_carry(many_k, k, &z, c);
    hilo_naive_carry(many_v, v, &z, c);
    memcpy(many_k + M * c, k, c * sizeof *k);
    memcpy(many_v + M * c, v, c * sizeof *v);
    real *few = head_of(q, k, v, NULL, M, n, c);
    within("carried", relative_difference(head_of(q, many_k, many_v, NULL, M, M, c), few, M * c), tolerance);
    real *uneven = head_of(q, many_k, many_v, NULL, M, M + 1, c);
    beyond("one more of the first", relative_difference(uneven, few, M * c), 1e-3);
}

/* HiLo, Sec. 4.1, "non-overlapping window partition": attention under the mask equals attention within windows.
 * Tolerance: exp(-inf) is exactly 0, so a sum has s^2 terms, in an order that the compiler chooses. */
TESTS(masked_attention_is_windows, 3)
{
    static const char *const options[] = {"--grid 8x6", "--grid 6x9 --window 3", "--grid 8x12 --window 4"};
    struct hilo_problem z = sizes_of(options[_i], 1, 4);
    size_t M = z.M, T = z.s * z.s, c = 4;
    real *q = normal(1, M * c), *k = normal(2, M * c), *v = normal(3, M * c), *mask = zeros(M * M);
    hilo_naive_mask(mask, &z);
    real *masked = head_of(q, k, v, mask, M, M, c);
    double difference = 0;
    for (size_t w = 0; w < z.n; w++) {
        size_t token[16];
        for (size_t t = 0; t < T; t++)
            token[t] = (w / z.windows.columns * z.s + t / z.s) * z.W + w % z.windows.columns * z.s + t % z.s;
        real *y = head_of(rows_in_order(q, token, T, c), rows_in_order(k, token, T, c), rows_in_order(v, token, T, c),
                          NULL, T, T, c);
        worse(&difference, largest_difference(rows_in_order(masked, token, T, c), y, T * c));
    }
    within("windows", difference / largest(masked, M * c), 8 * (2 * (double)z.s + 10) * UNIT_ROUNDOFF);
    beyond("without the mask", relative_difference(head_of(q, k, v, NULL, M, M, c), masked, M * c), 0.1);
}

/* HiLo, Sec. 4.1, "the average-pooled feature maps are projected": projecting first gives the same, if the padding is
 * projected too.  If zeros are appended after the projection, a window with r of its s^2 tokens lacks (1 - r/s^2) b. */
TESTS(pooling_commutes_with_the_projection, 4)
{
    static const char *const options[] = {"--grid 8x8", "--grid 8x8 --window 4", "--grid 7x5",
                                          "--grid 6x7 --window 4"};
    static const size_t windows_cut[] = {0, 0, 6, 3};
    enum { C = 3, O = 5 };
    struct hilo_problem z = sizes_of(options[_i], 1, C), out = z;
    real *x = integers(1, z.N * C, 3), *w = integers(2, O * C, 3), *b = integers(3, O, 3);
    real *padded = zeros(z.M * C), *before = zeros(z.n * O), *mean = zeros(z.n * C);
    real *all = zeros(z.M * O), *after = zeros(z.n * O), *late = zeros(z.M * O);
    real *real_tokens = zeros(z.N * O);
    out.C = O;
    for (size_t o = 0; o < O; o++) b[o] += b[o] == 0;

    hilo_naive_pad(padded, x, &z);
    hilo_naive_pool(mean, padded, &z);
    linear_map(before, O, mean, C, w, b, z.n, C, O);
    linear_map(all, O, padded, C, w, b, z.M, C, O);
    hilo_naive_pool(after, all, &out);
    equal(after, before, z.n * O);

    linear_map(real_tokens, O, x, C, w, b, z.N, C, O);
    hilo_naive_pad(late, real_tokens, &out);
    hilo_naive_pool(after, late, &out);
    size_t short_ones = 0;
    for (size_t n = 0; n < z.n; n++) {
        size_t top = n / z.windows.columns * z.s, left = n % z.windows.columns * z.s;
        size_t down = z.H - top < z.s ? z.H - top : z.s, across = z.W - left < z.s ? z.W - left : z.s;
        real lost = 1 - (real)(down * across) / (real)(z.s * z.s);
        short_ones += lost > 0;
        for (size_t o = 0; o < O; o++) ck_assert(before[n * O + o] - after[n * O + o] == lost * b[o]);
    }
    ck_assert_uint_eq(short_ones, windows_cut[_i]);
}

/* HiLo, Sec. 4.1, "Head splitting": the two projections are a block-diagonal W_o with alpha^2 + (1 - alpha)^2 of its
 * parameters, 0.72 for ten heads of twelve. */
TEST(output_projection_splits_in_two)
{
    enum { N = 30, C = 12 };
    struct fixture t = fixture("--grid 5x6 --heads 3 --alpha 0.4", &hilo, 1, C, "", "");
    struct fixture unprojected = fixture("--grid 5x6 --heads 3 --alpha 0.4", &hilo, 1, C, "", "h_proj_b l_proj_b");
    size_t hd = problem_size(&t.problem, "hd"), ld = problem_size(&t.problem, "ld");
    real *block = zeros(C * C), *bias = zeros(C), *y = zeros(N * C);
    head_scatter(block, C, fixture_tensor(&t, "h_proj"), hd, hd);
    head_scatter(block + hd * C + hd, C, fixture_tensor(&t, "l_proj"), ld, ld);
    memcpy(bias, fixture_tensor(&t, "h_proj_b"), hd * sizeof(real));
    memcpy(bias + hd, fixture_tensor(&t, "l_proj_b"), ld * sizeof(real));
    fixture_put_identity(&unprojected, "h_proj", hd);
    fixture_put_identity(&unprojected, "l_proj", ld);
    linear_map(y, C, fixture_run_on(&unprojected, "naive", 1, t.x), C, block, bias, N, C, C);
    forms_within(&t, y, property_tolerance(&t.problem));

    static const struct { const char *options; double share; } split[] = {
        {"--grid 2x2 --heads 12 --alpha 0", 1}, {"--grid 2x2 --heads 12 --alpha 0.5", 0.5},
        {"--grid 2x2 --heads 12 --alpha 0.9", 104.0 / 144}, {"--grid 2x2 --heads 12 --alpha 1", 1},
    };
    for (size_t n = 0; n < COUNT(split); n++) {
        struct problem big = bare(split[n].options, &hilo, 768);
        double projections = (double)(entries(&big, "h_proj") + entries(&big, "l_proj"));
        ck_assert(projections == split[n].share * 768 * 768);
        ck_assert((double)problem_parameters(&big) == 3 * 768 * 768 + projections);
    }
}

/* HiLo, A.4, Tab. 9, unless windows are single tokens or there is only one window. */
TESTS(pooled_queries_are_another_function, 4)
{
    static const struct { const char *plain; bool same; } z[] = {
        {"--grid 8x8 --heads 2 --alpha 0.5", false},
        {"--grid 7x8 --heads 2 --alpha 1 --window 3", false},
        {"--grid 8x8 --heads 2 --window 1", true},
        {"--grid 5x6 --heads 2 --alpha 1 --window 7", true},
    };
    char pooled[80];
    snprintf(pooled, sizeof pooled, "%s --pooled-queries", z[_i].plain);
    struct fixture t = fixture(pooled, &hilo, 2, 8, "", ""), u = fixture(z[_i].plain, &hilo, 2, 8, "", "");
    const real *y = fixture_run(&u, "naive", 1);
    if (z[_i].same) forms_within(&t, y, property_tolerance(&t.problem));
    for (size_t f = 0; f < COUNT(forms) && !z[_i].same; f++)
        beyond(forms[f], relative_difference(fixture_run(&t, forms[f], 1), y, t.outputs), 0.1);
}

/* ---- the padding -------------------------------------------------------- */

/* HiLo, Sec. A.3, and the authors' detection code pad with zeros at the bottom and on the right. */
TESTS(padding_is_tokens_of_zeros, 3)
{
    static const struct { const char *rest; size_t H, W; } z[] = {
        {"--heads 3 --alpha 0.4", 6, 8},
        {"--heads 3 --alpha 0.4 --window 4", 8, 8},
        {"--heads 3 --alpha 0.4 --pooled-queries", 6, 8},
    };
    size_t C = 9, H = z[_i].H, W = z[_i].W, inside[35];
    char small[80], large[80];
    snprintf(small, sizeof small, "--grid 5x7 %s", z[_i].rest);
    snprintf(large, sizeof large, "--grid %zux%zu %s", H, W, z[_i].rest);
    struct fixture t = fixture(small, &hilo, 1, C, "", ""), u = fixture(large, &hilo, 1, C, "", "");
    real *x = zeros(H * W * C);
    for (size_t i = 0; i < 35; i++) {
        inside[i] = i / 7 * W + i % 7;
        memcpy(x + inside[i] * C, t.x + i * C, C * sizeof *x);
    }
    forms_within(&t, rows_in_order(fixture_run_on(&u, "naive", 1, x), inside, 35, C), property_tolerance(&t.problem));
}

/* HiLo, Sec. A.3: windows of 3 to 6 of Tab. 8 do not divide 14.  On images, masking the keys of the padding changes
 * Hi-Fi in the corner window by more than a quarter (root mean square).  It does not change whole windows. */
TEST(masking_the_padding_is_another_function)
{
    enum { N = 196, C = 24, c = 8 };
    struct hilo_problem z = sizes_of("--grid 14x14 --window 4", 1, C);
    struct token_source source = {0};
    char origin[160];
    grid g;
    real *x = zeros(N * C), *padded = zeros(z.M * C), *qkv = zeros(z.M * 3 * c), *w = normal(3, 3 * c * C);
    real *mask = zeros(z.M * z.M);
    succeeds(grid_parse(&g, "14x14"));
    succeeds(tokens_make(x, 1, &g, C, &source, origin, sizeof origin));
    for (size_t n = 0; n < 3 * c * C; n++) w[n] /= sqrt((real)C);
    hilo_naive_pad(padded, x, &z);
    linear_map(qkv, 3 * c, padded, C, w, NULL, z.M, C, 3 * c);
    hilo_naive_mask(mask, &z);
    const real *q = columns_of(qkv, 3 * c, z.M, c), *k = columns_of(qkv + c, 3 * c, z.M, c);
    const real *v = columns_of(qkv + 2 * c, 3 * c, z.M, c);
    real *as_it_is = head_of(q, k, v, mask, z.M, z.M, c);
    for (size_t i = 0; i < z.M; i++)
        for (size_t j = 0; j < z.M; j++)
            if (j / 16 >= 14 || j % 16 >= 14) mask[i * z.M + j] = -(real)INFINITY;
    real *masked = head_of(q, k, v, mask, z.M, z.M, c);
    double corner = 0, size = 0;
    for (size_t i = 0; i < z.M; i++) {
        bool whole_window = i / 16 < 12 && i % 16 < 12;
        bool in_corner = i / 16 >= 12 && i / 16 < 14 && i % 16 >= 12 && i % 16 < 14;
        for (size_t ch = 0; ch < c; ch++) {
            double a = (double)as_it_is[i * c + ch], b = (double)masked[i * c + ch];
            if (whole_window) ck_assert(a == b);
            if (in_corner) corner += (a - b) * (a - b), size += b * b;
        }
    }
    printf("    %s: in the corner the padding changes Hi-Fi by %.0f %%\n", origin, 100 * sqrt(corner / size));
    if (images_there("the corner of images in masking_the_padding_is_another_function"))
        beyond("in the corner", sqrt(corner / size), 0.25);
}

/* ---- permutations -------------------------------------------------------- */

/* HiLo, Sec. 4.2, "permutation-invariant": HiLo commutes with permutations of windows and inside windows.  If windows
 * do not tile the plane, it commutes with permutations of whole windows, but not with cyclic shifts. */
enum places { WINDOWS_AND_INSIDE, BY_A_WINDOW, BY_A_TOKEN, RANDOM_ORDER, WHOLE_WINDOWS };
static const struct { enum places how; size_t H, W; bool same; } orders[] = {
    {WINDOWS_AND_INSIDE, 6, 10, true}, {BY_A_WINDOW, 6, 10, true}, {BY_A_TOKEN, 6, 10, false},
    {RANDOM_ORDER, 6, 10, false}, {WHOLE_WINDOWS, 5, 6, true}, {BY_A_WINDOW, 5, 6, false},
};
TESTS(hilo_commutes_only_with_permutations_that_keep_windows, COUNT(orders))
{
    const enum places how = orders[_i].how;
    const size_t H = orders[_i].H, W = orders[_i].W, N = H * W, C = 12;
    char options[64];
    snprintf(options, sizeof options, "--grid %zux%zu --heads 3 --alpha 0.4", H, W);
    struct fixture t = fixture(options, &hilo, 1, C, "", "");
    size_t *order = keep(N, sizeof *order);
    for (size_t i = 0; i < N; i++) {
        size_t row = i / W, column = i % W, window = row / 2 * 5 + column / 2, place = row % 2 * 2 + column % 2;
        size_t to = (window * 4 + 3) % 15, there = (place * 3 + window) % 4;
        if (how == WINDOWS_AND_INSIDE) order[i] = (to / 5 * 2 + there / 2) * W + to % 5 * 2 + there % 2;
        if (how == BY_A_WINDOW) order[i] = (row + 2) % H * W + (column + 4) % W;
        if (how == BY_A_TOKEN) order[i] = row * W + (column + 1) % W;
        if (how == RANDOM_ORDER) order[i] = (i * 7 + 3) % N;
        if (how == WHOLE_WINDOWS) order[i] = row < 4 ? (i + 2 * W) % (4 * W) : i;
    }
    const real *y = rows_in_order(fixture_run(&t, "naive", 1), order, N, C);
    t.x = rows_in_order(t.x, order, N, C);
    if (orders[_i].same) forms_within(&t, y, property_tolerance(&t.problem));
    for (size_t f = 0; f < COUNT(forms) && !orders[_i].same; f++)
        beyond(forms[f], relative_difference(fixture_run(&t, forms[f], 1), y, N * C), 0.1);
}

/* Exchanging the two heads of each branch, rows of h_qkv, l_q and l_kv with columns of h_proj and l_proj, changes
 * nothing. */
TEST(heads_have_no_order_in_their_branch)
{
    enum { C = 12, c = 3, b = 6 };
    static const struct { const char *name; size_t blocks, columns; } rows[] = {
        {"h_qkv", 3, C}, {"h_qkv_b", 3, 1}, {"l_q", 1, C}, {"l_q_b", 1, 1}, {"l_kv", 2, C}, {"l_kv_b", 2, 1},
    };
    static const char *const projection[] = {"h_proj", "l_proj"};
    struct fixture t = fixture("--grid 4x6 --heads 4 --alpha 0.5", &hilo, 1, C, "", "");
    real *y = fixture_run(&t, "naive", 1);
    size_t order[3 * b];
    for (size_t i = 0; i < 3 * b; i++) order[i] = i / b * b + (i + c) % b;
    for (size_t n = 0; n < COUNT(rows); n++)
        fixture_put(&t, rows[n].name,
                  rows_in_order(fixture_tensor(&t, rows[n].name), order, rows[n].blocks * b, rows[n].columns));
    beyond("without the projections", relative_difference(fixture_run(&t, "fast", 1), y, t.outputs), 0.1);
    for (size_t n = 0; n < COUNT(projection); n++)
        for (size_t row = 0; row < b; row++) {
            real *w = fixture_tensor(&t, projection[n]) + row * b;
            memcpy(w, rows_in_order(w, order, b, 1), b * sizeof *w);
        }
    forms_within(&t, y, property_tolerance(&t.problem));
}

/* ---- frequencies ----------------------------------------------------------- */

/* Mean energy, over images and channels, of one branch of y [B][196][C]: at frequency zero, below and above half the
 * band (0.25 cycles per token in either direction). */
struct energy { double zero, below, above; };

static struct energy energy_of(const real *y, size_t B, size_t C, size_t first, size_t channels)
{
    struct energy e = {0};
    real *one = zeros(196 * channels), *log_magnitude = zeros(196 * channels);
    for (size_t b = 0; b < B; b++) {
        for (size_t i = 0; i < 196 * channels; i++)
            one[i] = y[(b * 196 + i / channels) * C + first + i % channels];
        succeeds(spectrum(log_magnitude, one, 1, 14, 14, channels));
        for (size_t n = 0; n < 196 * channels; n++) {
            int u = abs((int)(n % 196 / 14) - 7), v = abs((int)(n % 14) - 7);
            double energy = exp(2 * (double)log_magnitude[n]) / (196.0 * 196 * (double)(B * channels));
            if (!u && !v) e.zero += energy;
            else if (u > 3 || v > 3) e.above += energy;
            else e.below += energy;
        }
    }
    return e;
}

static double share_above(struct energy e) { return e.above / (e.above + e.below); }

/* HiLo, Sec. 4.1, "averaging is a low-pass filter": 14 tokens give 7 means.  The mean of two tokens of a wave of k
 * periods is the wave midway between them, times cos(pi k/14).  From k = 4 on the 7 samples equal those of 7 - k
 * periods. */
TEST(window_means_attenuate_and_alias_high_frequencies)
{
    enum { EDGE = 14, MEANS = EDGE / 2 };
    static const double passed[] = {1, 0.975, 0.901, 0.782, 0.623, 0.434, 0.223, 0};
    const double pi = acos(-1);
    struct hilo_problem p = sizes_of("--grid 14x14 --alpha 1", 1, 1);
    real *x = zeros(p.N), *pooled = zeros(p.n);
    for (int k = 0; k <= MEANS; k++) {
        for (int i = 0; i < EDGE * EDGE; i++) x[i] = (real)cos(2 * pi * (k * (i % EDGE) % EDGE) / EDGE);
        hilo_naive_pool(pooled, x, &p);
        ck_assert(fabs(cos(pi * k / EDGE) - passed[k]) < 0.0005);
        for (int w = 0; w < MEANS; w++) {
            int periods = k < 4 ? k : k - MEANS;
            double wave = cos(pi * k / EDGE) * cos(pi * ((4 * periods * w + k) % (2 * EDGE)) / EDGE);
            within("mean", fabs((double)pooled[w] - wave), 16 * UNIT_ROUNDOFF);
        }
    }
}

/* HiLo, Sec. 4.1 and Fig. 5 (trained networks): the window means of a checkerboard are zero, but a checkerboard of
 * queries gives a checkerboard of outputs.  Tolerance: 1e-3 of an output. */
TEST(lofi_is_no_low_pass)
{
    enum { N = 196, C = 2 };
    struct fixture t = fixture("--grid 14x14 --alpha 1", &hilo, 1, C, "", BIASES);
    real *x = zeros(N * C);
    for (size_t i = 0; i < N; i++) {
        x[i * C] = (i / 14 + i % 14) % 2 ? -1 : 1;
        x[i * C + 1] = ((real)(i / 28) - 3) / 4;
    }
    const real ask[] = {1, 0, 0, 0}, fine[] = {1, 0, 0, 0, 1, 0, 0, 0}, coarse[] = {0, 1, 0, 0, 0, 1, 0, 0};
    fixture_put(&t, "l_q", ask);
    fixture_put_identity(&t, "l_proj", C);
    for (size_t f = 0; f < COUNT(forms); f++) {
        fixture_put(&t, "l_kv", fine);
        ck_assert(largest(fixture_run_on(&t, forms[f], 1, x), N * C) == 0);
        fixture_put(&t, "l_kv", coarse);
        real *y = fixture_run_on(&t, forms[f], 1, x);
        ck_assert(y[0] > (real)0.01);
        for (size_t i = 0; i < N; i++)
            within("a checkerboard", fabs((double)(y[i * C] - x[i * C] * y[0])), 1e-3 * (double)y[0]);
    }
}

/* HiLo, Sec. 5.4, "only focuses on high frequencies": Hi-Fi of a constant image is its projected value.  Trained
 * weights may differ. */
TEST(hifi_is_no_high_pass)
{
    enum { N = 48, C = 6 };
    struct fixture t = fixture("--grid 6x8 --heads 3 --alpha 0", &hilo, 1, C, "", "");
    real v[C], y[C], *expected = zeros(N * C);
    for (size_t i = C; i < N * C; i++) t.x[i] = t.x[i % C];
    linear_map(v, C, t.x, C, fixture_tensor(&t, "h_qkv") + 2 * C * C, fixture_tensor(&t, "h_qkv_b") + 2 * C, 1, C, C);
    linear_map(y, C, v, C, fixture_tensor(&t, "h_proj"), fixture_tensor(&t, "h_proj_b"), 1, C, C);
    for (size_t i = 0; i < N * C; i++) expected[i] = y[i % C];
    forms_within(&t, expected, property_tolerance(&t.problem));
}

/* HiLo, Sec. 5.4, A.6, Fig. 5, 8, 9 (trained networks): with random weights Hi-Fi has more energy above half the band
 * than Lo-Fi, but a smaller share than its input. */
TEST(high_frequencies_with_random_weights)
{
    enum { B = 20, C = 96, DRAWS = 8 };
    if (!images_there("high_frequencies_with_random_weights")) return;
    struct fixture t = fixture("--grid 14x14 --heads 12 --alpha 0.5", &hilo, B, C, "", BIASES);
    struct fixture u = fixture("--grid 14x14 --heads 12 --alpha 0.5 --pooled-queries", &hilo, B, C, "", BIASES);
    struct token_source source = {0};
    char origin[160];
    grid g;
    double more = 0;
    succeeds(grid_parse(&g, "14x14"));
    succeeds(tokens_make(t.x, B, &g, C, &source, origin, sizeof origin));
    double of_x = share_above(energy_of(t.x, B, C, 0, C));
    printf("    %s: share above half the band %.2f\n", origin, of_x);
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        draw_parameters(&t.problem, 100 + draw);
        draw_parameters(&u.problem, 100 + draw);
        real *y = fixture_run(&t, "fast", 2), *pooled = fixture_run_on(&u, "fast", 2, t.x);
        struct energy high = energy_of(y, B, C, 0, C / 2), low = energy_of(y, B, C, C / 2, C / 2);
        double smooth = share_above(energy_of(pooled, B, C, C / 2, C / 2));
        printf("    energy above: Hi-Fi %.3f, Lo-Fi %.3f; share: Hi-Fi %.2f, Lo-Fi %.2f, with pooled queries %.2f\n",
               high.above, low.above, share_above(high), share_above(low), smooth);
        beyond("energy above, Hi-Fi's over Lo-Fi's", high.above / low.above, 2);
        beyond("Hi-Fi's share, less than the input's", of_x - share_above(high), 0.04);
        within("Lo-Fi's share with pooled queries", smooth, 0.15);
        more += (share_above(low) - share_above(high)) / DRAWS;
    }
    beyond("Lo-Fi's share less Hi-Fi's, on average", more, 0.04);
}

int main(void) { return run_tests("HiLo, theorems"); }
