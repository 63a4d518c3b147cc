/* test_hilo.c -- the forms of HiLo agree; interpolation, split of heads, NaN, chapter 5's numbers by hand
 *
 * Theorems are in test_hilo_theorems.c. */

#include "hilo_case.h"
#include "../support/battery.h"
#include "../../fast/tuned/attention.h"
#include "../../fast/tuned/hilo/window_attention.h"

static const struct battery_case sizes[] = {
    {"--grid 1x1", 1, 1, "", ""},
    {"--grid 1x1 --window 5 --alpha 0.5 --heads 2", 2, 2, "", ""},
    {"--grid 2x2 --heads 2 --alpha 0.5", 1, 6, "", "l_q_b"},
    {"--grid 14x14 --heads 12", 1, 96, "", ""},
    {"--grid 14x14 --heads 12", 3, 48, "", "h_qkv_b h_proj_b l_q_b l_kv_b l_proj_b"},
    {"--grid 1x7 --heads 3", 2, 9, "", ""},
    {"--grid 13x1 --heads 3 --alpha 0.4", 2, 15, "", "h_qkv_b"},
    {"--grid 13x11 --heads 2 --alpha 0.5", 2, 34, "", "h_qkv_b l_q_b"},
    {"--grid 5x7 --window 3 --heads 3 --alpha 0.4", 2, 21, "", ""},
    {"--grid 17x31 --window 3 --heads 2 --alpha 0.5", 1, 38, "", "h_proj_b l_kv_b"},
    {"--grid 9x10 --window 4 --heads 4 --alpha 0.6", 2, 20, "", ""},
    {"--grid 6x5 --window 7 --heads 2 --alpha 0.5", 1, 10, "", ""},
    {"--grid 3x25 --window 11 --heads 2 --alpha 0", 2, 18, "", ""},
    {"--grid 12x9 --window 3 --heads 2 --alpha 0", 1, 34, "", "h_qkv_b"},
    {"--grid 10x10 --heads 5 --alpha 0", 2, 5, "", ""},
    {"--grid 10x9 --heads 3 --alpha 1", 2, 51, "", ""},
    {"--grid 24x20 --heads 1 --alpha 1", 1, 17, "", "l_kv_b"},
    {"--grid 12x10 --window 1 --heads 3 --alpha 0.4", 2, 12, "", ""},
    {"--grid 5x4 --window 1 --heads 2 --pooled-queries", 1, 4, "", "l_q_b"},
    {"--grid 14x14 --heads 3 --alpha 0.7 --pooled-queries", 2, 24, "", ""},
    {"--grid 7x5 --window 3 --heads 2 --alpha 0.5 --pooled-queries", 2, 10, "", "l_q_b"},
    {"--grid 23x29 --window 2 --heads 2 --alpha 1 --pooled-queries", 1, 18, "", ""},
    {"--grid 9x2 --window 4 --heads 2 --alpha 0.5 --pooled-queries", 1, 6, "", "l_proj_b"},
    {"--grid 6x6 --heads 2 --alpha 0 --pooled-queries", 1, 6, "", ""},
    {0},
};

static const struct battery_case counted[] = {
    {"--grid 1x1", 1, 1, "", ""},
    {"--grid 4x6 --heads 3 --alpha 0.4", 2, 6, "", ""},
    {"--grid 5x7 --heads 3 --alpha 0.7 --window 3", 1, 9, "", ""},
    {"--grid 5x7 --heads 2 --alpha 0.5 --window 4", 2, 8, "", ""},
    {"--grid 5x6 --heads 2 --alpha 0", 1, 4, "", ""},
    {"--grid 5x6 --heads 2 --alpha 1", 1, 4, "", ""},
    {"--grid 4x3 --heads 2 --window 1", 2, 6, "", ""},
    {"--grid 5x7 --heads 3 --alpha 0.4 --window 3 --pooled-queries", 2, 6, "", ""},
    {"--grid 6x6 --heads 2 --alpha 1 --pooled-queries", 1, 4, "", ""},
    {0},
};

static const struct battery_error errors[] = {
    {"--grid 4x4 --window 2x2", "option --window: found '2x2'", 6},
    {"--grid 4x4 --heads 4", "option --heads: found 4, expected a divisor of C = 6", 6},
    {"--grid 65537x65537 --window 65536", "option --grid", 6},
    {"--grid 1x1 --window 65536", "option --window: found 65536, which pads 1 images of 1 x 1 tokens", 6},
    {0},
};

#define FITTING "x 1x4x4 h_qkv 6x4 h_proj 2x2 l_q 2x4 l_kv 4x4 l_proj 2x2"
static const struct battery_file files[] = {
    {"--grid 2x2 --heads 2 --alpha 0.5", FITTING, "", NULL},
    {"--grid 2x2 --heads 2 --alpha 0.5", FITTING, "h_proj", "tensor h_proj: missing"},
    {"--grid 2x2 --heads 2 --alpha 0.5", FITTING, "l_kv", "tensor l_kv: missing"},
    {"--grid 2x2 --heads 2 --alpha 0", FITTING, "", "tensor h_qkv: found [6, 4]"},
    {"--grid 2x2 --heads 2 --alpha 0", FITTING, "h_qkv", "tensor h_qkv: missing"},
    {"--grid 2x2 --heads 2 --alpha 1", FITTING, "", "tensor h_qkv: found one, expected none"},
    {0},
};

/* The naive form projects padding tokens too. */
static double projections(const struct problem *p, const struct form *form)
{
    struct hilo_problem z = resolved(p);
    return hilo_projections(&z, strcmp(form->name, "naive") ? z.N : z.M);
}

static const struct battery_case memory[] = {
    {"--grid 16x16 --heads 4 --alpha 0.5", 2, 16, "", ""},
    {"--grid 15x13 --heads 4 --alpha 0.75 --window 4", 2, 16, "", ""},
    {"--grid 16x16 --heads 4 --alpha 0.5 --pooled-queries", 2, 16, "", ""},
    {"--grid 16x16 --heads 2 --alpha 0.5", 1, 128, "", ""},
    {"--grid 32x32 --heads 2 --alpha 0.5", 1, 128, "", ""},
    {"--grid 32x31 --heads 2 --alpha 0.5 --window 4", 3, 128, "", ""},
    {0},
};

/* The memory stated in reference/hilo.h.  Not checked: the naive form beyond 256 padded tokens, where it is slow; the
 * fast form with pooled queries or heads that are no multiple of 16 channels. */
static double stated(const struct problem *p, const struct form *form)
{
    struct hilo_problem z = resolved(p);
    double B = (double)z.B, N = (double)z.N, M = (double)z.M, n = (double)z.n, C = (double)z.C, c = (double)z.c;
    double hd = (double)z.hd, ld = (double)z.ld, T = (double)(z.s * z.s);
    if (!strcmp(form->name, "naive")) {
        if (z.M > 256) return -1;
        double both = M * (C + 5 * hd + 5 * ld) + n * (C + 2 * ld);
        if (z.pooled_queries) both += 3 * (n - M) * ld + M * ld;
        return (B * both + M * M + M * (M + 4 * c)) * sizeof(real);
    }
    if (!strcmp(form->name, "plain")) {
        double R = z.pooled_queries ? n : N, both = N * 4 * hd + R * 2 * ld + n * (C + 2 * ld);
        if (z.pooled_queries) both += n * ld;
        return (B * both + 2 * T * c + 3 * hd) * sizeof(real);
    }
    size_t tile;
    if (z.c % 16 || z.pooled_queries) return -1;
    ck_assert(attention_fast_workspace(&tile, z.c, ATTENTION_BLOCK));
    double windows = z.s <= WINDOW_ATTENTION_EDGE ? T * (3 * c + T) * LANES : 4 * T * c;
    return (N * (4 * hd + 2 * ld) + n * (C + 2 * ld) + (double)tile + windows + (double)problem_parameters(p) + 3 * hd)
         * sizeof(real);
}

/* HiLo, A.4: "interpolation (e.g. bilinear)".  A window's row lies at the window's centre (align_corners = false).
 * Expected values by hand: exact for windows of 4; for windows of 3 within 4 u of values up to 3. */
TEST(window_rows_are_interpolated_bilinearly)
{
    static const real four[] = {0, 0, 1, 3, 5, 7, 8, 8}, three[] = {0, 0, 1, 2, 3, 3};
    struct hilo_problem z = sizes_of("--grid 4x8 --window 4 --pooled-queries", 1, 1);
    struct hilo_problem u = sizes_of("--grid 6x3 --window 3 --pooled-queries", 1, 1);
    real rows[] = {0, 8}, other[] = {0, 3}, tokens[32];
    hilo_naive_spread(tokens, rows, &z, 1);
    for (size_t i = 0; i < 32; i++) ck_assert(tokens[i] == four[i % 8]);
    hilo_naive_spread(tokens, other, &u, 1);
    for (size_t i = 0; i < 18; i++) within("thirds", fabs((double)(tokens[i] - three[i / 3])), 4 * 3 * UNIT_ROUNDOFF);
}

/* HiLo, Sec. 4.1, "Head splitting": Lo-Fi has floor(alpha h) heads, computed in double (0.29 * 100 < 29).  Tab. 7: with
 * windows of one token it has all heads. */
static const struct { const char *options; size_t low, high; } split[] = {
    {"--heads 12", 10, 2}, {"--heads 12 --alpha 1", 12, 0}, {"--heads 12 --alpha 0", 0, 12}, {"--heads 10", 9, 1},
    {"--heads 1 --alpha 0.99", 0, 1}, {"--heads 100 --alpha 0.29", 28, 72}, {"--heads 10 --alpha 0.7", 7, 3},
    {"--heads 12 --alpha 0 --window 1", 12, 0},
};
TESTS(heads_are_split_in_whole_numbers, COUNT(split))
{
    char options[64];
    snprintf(options, sizeof options, "--grid 2x2 %s", split[_i].options);
    struct hilo_problem z = sizes_of(options, 1, 300);
    ck_assert(z.ld == split[_i].low * z.c && z.hd == split[_i].high * z.c);
}

/* Hi-Fi, plain and fast: NaN in token (3, 2) of 5 x 7 reaches only its own window, although windows share vectors.  In
 * the naive form it reaches the whole image: the mask is added to the scores, and NaN - infinity is NaN. */
TESTS(nan_stays_in_its_window, 3)
{
    char options[64];
    snprintf(options, sizeof options, "--grid 5x7 --heads 3 --alpha 0 --window %d", _i + 2);
    struct fixture t = fixture(options, &hilo, 2, 9, "", "");
    size_t s = (size_t)_i + 2;
    real *x = copy(t.x, t.inputs);
    x[35 * 9 + (3 * 7 + 2) * 9] = (real)NAN;
    for (int f = 0; f < 2; f++) {
        const char *form = f ? "fast" : "plain";
        real *before = fixture_run(&t, form, 2), *after = fixture_run_on(&t, form, 2, x);
        for (size_t i = 0; i < t.outputs; i++) {
            size_t token = i / 9 % 35;
            bool inside = i / 9 / 35 == 1 && token / 7 / s == 3 / s && token % 7 / s == 2 / s;
            ck_assert_msg(inside ? isnan((double)after[i]) : after[i] == before[i], "%s, token %zu", form, token);
        }
    }
}

/* Chapter 5, "By hand" and "Do they separate the frequencies?": four tokens in a row, windows of two.  Windows are
 * squares, so the plane has the row twice; equal copies cancel.  Channels of a token: its key (the table has e^key),
 * value and query; heads have one channel, so the scale is 1.  Tolerance: the operator's, of values up to 9. */
static const struct { const char *what, *options; double weight[4], value[4], query[4], y[4]; } hand[] = {
    {"Hi-Fi", "--alpha 0", {1, 3, 5, 7}, {1, 5, 2, 8}, {1, 1, 1, 1}, {4, 4, 5.5, 5.5}},
    {"Lo-Fi", "--alpha 1", {1, 1, 3, 3}, {1, 1, 5, 5}, {1, 1, 1, 1}, {4, 4, 4, 4}},
    {"all tokens, one strong", "--window 1", {1, 9, 3, 3}, {1, 1, 5, 5}, {1, 1, 1, 1}, {2.5, 2.5, 2.5, 2.5}},
    {"Lo-Fi, one strong", "--alpha 1", {1, 9, 3, 3}, {1, 1, 5, 5}, {1, 1, 1, 1}, {3, 3, 3, 3}},
    {"all tokens, values differ", "--window 1", {1, 9, 3, 3}, {9, 1, 5, 5}, {1, 1, 1, 1}, {3, 3, 3, 3}},
    {"Lo-Fi, values differ", "--alpha 1", {1, 9, 3, 3}, {9, 1, 5, 5}, {1, 1, 1, 1}, {5, 5, 5, 5}},
    {"Hi-Fi, a constant", "--alpha 0", {1, 3, 5, 7}, {7, 7, 7, 7}, {1, 1, 1, 1}, {7, 7, 7, 7}},
    {"Hi-Fi, the finest wave", "--alpha 0", {1, 1, 1, 1}, {1, -1, 1, -1}, {1, 1, 1, 1}, {0, 0, 0, 0}},
    {"Lo-Fi, fine queries", "--alpha 1", {1, 1, 3, 3}, {1, 1, 5, 5}, {1, -1, 1, -1}, {4, 2, 4, 2}},
};
TEST(hilo_by_hand)
{
    enum { C = 4 };
    static const char *const forms[] = {"naive", "plain", "fast"};
    static const real pick[3][C * C] = {{[2] = 1}, {[0] = 1}, {[1] = 1}};      /* query, key and value of head 0 */
    for (size_t n = 0; n < COUNT(hand); n++) {
        char options[64];
        snprintf(options, sizeof options, "--grid 2x4 --heads 4 %s", hand[n].options);
        struct fixture t = fixture(options, &hilo, 1, C, "", "h_qkv_b h_proj_b l_q_b l_kv_b l_proj_b");
        bool low = problem_size(&t.problem, "ld") == C;
        for (size_t i = 0; i < 8; i++) {
            t.x[i * C] = (real)log(hand[n].weight[i % 4]), t.x[i * C + 1] = (real)hand[n].value[i % 4];
            t.x[i * C + 2] = (real)hand[n].query[i % 4];
        }
        if (low) fixture_put(&t, "l_q", pick[0]), fixture_put(&t, "l_kv", pick[1]);
        else fixture_put(&t, "h_qkv", pick[0]);
        fixture_put_identity(&t, low ? "l_proj" : "h_proj", C);
        for (size_t f = 0; f < COUNT(forms); f++) {
            const real *y = fixture_run(&t, forms[f], 1);
            printf("    %s, %s: %.4g %.4g %.4g %.4g\n", hand[n].what, forms[f], (double)y[0], (double)y[C],
                   (double)y[2 * C], (double)y[3 * C]);
            double error = 0;
            for (size_t i = 0; i < 8; i++) worse(&error, fabs((double)y[i * C] - hand[n].y[i % 4]));
            within(hand[n].what, error, 9 * property_tolerance(&t.problem));
        }
    }

    /* A fifth token repeats a token of window 1: y is 33/9.  Means of a wave with a period of three tokens have a
     * period of six.  Tolerance 80 u: a rounded ln 3, an exponential, two sums of five, a product and a division round
     * at most 16 times, for values up to 5. */
    const real log3 = (real)log(3), q = 1, k[] = {0, 0, log3, log3, 0}, v[] = {1, 1, 5, 5, 1};
    const real wave[] = {2, -1, -1, 2, -1, -1, 2, -1, -1, 2, -1, -1};
    struct hilo_problem z = sizes_of("--grid 2x6", 1, 1);
    real y, a[5], means[3];
    attention_naive(&y, a, &q, k, v, NULL, 1, 1, 5, 1);
    hilo_naive_pool(means, wave, &z);
    printf("    five tokens: %.4g; means of a wave: %g %g %g\n", (double)y, (double)means[0], (double)means[1],
           (double)means[2]);
    within("five tokens", fabs((double)y - 33.0 / 9), 80 * UNIT_ROUNDOFF);
    ck_assert(means[0] == (real)0.5 && means[1] == (real)0.5 && means[2] == -1);
}

int main(void)
{
    static const struct battery tables = {
        .operator = &hilo, .golden = true, .sizes = sizes,
        .errors = errors, .files = files, .counted = counted, .projections = projections,
        .memory = memory, .stated = stated, .slack = 1024,
    };
    return run_battery("HiLo", &tables);
}
