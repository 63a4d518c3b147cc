/* test_structsa_counts.c -- the cost of StructSA: multiplications and bytes, counted, and the FLOPs of its tables */

#include "structsa_case.h"
#include "../support/battery.h"
#include "../../fast/tuned/attention.h"

static const char *const variants[] = {"4", "5", "16", NULL};      /* equations */

static const struct battery_case counted[] = {
    {"--grid 1 --kernel 1", 1, 1, "D=1", ""},
    {"--grid 7 --kernel 3 --heads 3", 1, 6, "D=2", ""},
    {"--grid 5x4 --kernel 3x3 --heads 2", 2, 6, "D=3", "w_o b_o"},
    {"--grid 5x6 --kernel 5x3 --stride 2 --scale 0.5", 1, 4, "D=4", "b_qkv"},
    {"--grid 2x3x4 --kernel 3x3x3", 2, 3, "D=2", ""},
    {"--grid 3x4x5 --kernel 3x3x1 --stride 1x2x2 --heads 2", 1, 6, "D=3", ""},
    {"--grid 6x5 --kernel 3x3 --stride 4x1 --value-kernel 1x5", 2, 4, "D=2", "w_o b_o"},
    {"--grid 8 --kernel 1 --stride 11 --heads 2 --value-kernel 7", 1, 6, "D=3", "b_qkv"},
    {0},
};

static struct fixture random_fixture(const char *options, const char *equation, size_t batch, size_t channels,
                                     const char *sizes, const char *without)
{
    char all[160];
    options_of_equation(all, sizeof all, options, equation);
    return fixture(all, &structsa, batch, channels, sizes, without);
}

static double cores(const struct fixture *t, const char *form)
{
    return fixture_cores(t, operator_form(&structsa, form));
}

/* StructSA, Eq. 15: permuting saves a factor of about |M|; for large N the factor is |M| (1 + 1 / 2D) + 1 / 2D.  784
 * tokens, 64 channels.  Tolerance 6 %: the convolutions are |M| / N of the products, the softmax 1 / c. */
TESTS(permuting_saves_a_factor_of_the_window, 6)
{
    static const char *const D[] = {"D=1", "D=4", "D=8"};
    static const double d[] = {1, 4, 8};
    double M = _i < 3 ? 9 : 25;
    const char *options = _i < 3 ? "--grid 28x28 --kernel 3x3" : "--grid 28x28 --kernel 5x5";
    struct fixture t = random_fixture(options, "16", 1, 64, D[_i % 3], "w_o b_o");
    double saved = cores(&t, "naive") / cores(&t, "plain");
    double expected = M * (1 + 0.5 / d[_i % 3]) + 0.5 / d[_i % 3];
    within("over its limit", fabs(saved / expected - 1), 0.06);
}

/* StructSA, Eq. 5 and 15; not stated in the paper.  A pair of tokens costs 2 D c with virtual tokens,
 * c + D (|M| + |M'|) + |M'| c in the naive form, and 2 c + D (|M| + |M'|) with merged kernels (plain form).  For c = 64
 * virtual tokens cost most, for c = 8 least.  The fast form takes what costs least. */
TEST(permuting_costs_more_for_dot_products)
{
    struct fixture wide = random_fixture("--grid 28x28 --kernel 3x3", "5", 1, 64, "D=8", "w_o b_o");
    struct fixture narrow = random_fixture("--grid 28x28 --kernel 3x3", "5", 1, 8, "D=8", "w_o b_o");
    struct fixture permuted = random_fixture("--grid 28x28 --kernel 3x3", "16", 1, 64, "D=8", "w_o b_o");
    double virtual = cores(&permuted, "fast");
    ck_assert(cores(&wide, "naive") / virtual > 0.7 && cores(&wide, "naive") / virtual < 0.8);
    ck_assert(cores(&wide, "plain") / virtual > 0.25 && cores(&wide, "plain") / virtual < 0.27);
    ck_assert(cores(&wide, "fast") == cores(&wide, "plain"));
    ck_assert(cores(&narrow, "naive") > cores(&narrow, "plain") && cores(&narrow, "plain") > cores(&narrow, "fast"));
}

/* StructSA, Sec. 4.3.1, Tab. 4, 5a: strides divide the work by their product: s^2 on a plane or in space only.  In the
 * naive form the scale and the map stay. */
static const struct { const char *options, *stride; double factor; } divided[] = {
    {"--grid 8x8 --kernel 3x3", "2", 4}, {"--grid 4x8x8 --kernel 3x3x3", "1x2x2", 4},
    {"--grid 4x8x8 --kernel 3x3x3", "2", 8}, {"--grid 8x12 --kernel 3x3", "4x3", 12},
};
TESTS(a_stride_divides_the_work, COUNT(divided))
{
    double factor = divided[_i].factor;
    char coarse[80];
    snprintf(coarse, sizeof coarse, "%s --stride %s", divided[_i].options, divided[_i].stride);
    struct fixture all = random_fixture(divided[_i].options, "16", 1, 6, "D=3", "w_o b_o");
    struct fixture some = random_fixture(coarse, "16", 1, 6, "D=3", "w_o b_o");
    double N = (double)all.problem.grid.tokens, c = 6, fixed = N * c + N * N * c;     /* the scale and the map */
    ck_assert(cores(&all, "fast") == factor * cores(&some, "fast"));
    ck_assert(cores(&all, "naive") - fixed == factor * (cores(&some, "naive") - fixed));
}

static double peak(const struct fixture *t, const char *form)
{
    return fixture_peak(t, operator_form(&structsa, form));
}

/* The memory stated in reference/structsa.h for one head, and what the table leaves out: q, k, v as projected, the
 * filters, the tables of windows; in the naive form dense copies of q, k, v and y. */
static double stated(const struct problem *p, const struct form *form)
{
    struct structsa_problem s;
    succeeds(structsa.resolve(&s, p));
    double N = (double)s.heads.N, J = (double)s.J, M = (double)s.M, Mv = (double)s.Mv;
    double c = (double)s.heads.c, D = (double)s.D, E = (double)s.columns;
    double bytes = plan_bytes(&structsa, form) + real_bytes(3 * N * c) + real_bytes(D * M * E) + real_bytes(D * Mv * E)
                   + int_bytes(J * M) + int_bytes(J * Mv);
    if (!strcmp(form->name, "naive"))
        return bytes + 4 * real_bytes(N * c) + real_bytes(N * N * E) + real_bytes(J * M * E) + real_bytes(N * J * D)
             + real_bytes(J * Mv * c) + real_bytes(J * Mv * E);
    if (!strcmp(form->name, "plain"))
        return bytes + real_bytes(fmax(M, Mv) * E)
             + (s.equation == 16 ? 2 * real_bytes(J * D * c) : 2 * real_bytes(N) + real_bytes(J * D));
    return -1;
}

static const struct battery_case memory[] = {
    {"--grid 64 --kernel 5", 1, 4, "D=3", "w_o b_o b_qkv"},
    {"--grid 8x9 --kernel 3x3 --stride 2", 1, 4, "D=3", "w_o b_o b_qkv"},
    {"--grid 3x4x5 --kernel 3x1x3", 1, 4, "D=3", "w_o b_o b_qkv"},
    {"--grid 3x4x5 --kernel 3x1x3 --stride 1x2x3 --value-kernel 1x5x1", 1, 4, "D=3", "w_o b_o b_qkv"},
    {0},
};

/* Bytes of the fast form without its scratch, for 16 channels and one head: q, k, v as projected; packed projections
 * and filters; tables of windows.  The filters that it needs while loading are smaller than the scratch. */
static double without_scratch(double N, double J, double M, double Mv, double D)
{
    return plan_bytes(&structsa, operator_form(&structsa, "fast")) + real_bytes(3 * N * 16)
         + real_bytes(3 * 16 * (16 + 1)) + real_bytes(D * M * 16) + real_bytes(D * Mv * 16) + int_bytes(J * M)
         + int_bytes(J * Mv);
}

static const struct battery_case held[] = {
    {"--grid 96 --kernel 5", 1, 16, "D=8", "w_o b_o"},
    {"--grid 24x24 --kernel 3x3", 1, 16, "D=8", "w_o b_o"},
    {"--grid 18x19 --kernel 3x3 --stride 2", 1, 16, "D=8", "w_o b_o"},
    {"--grid 3x8x9 --kernel 3x1x3", 1, 16, "D=8", "w_o b_o"},
    {"--grid 3x18x19 --kernel 1x3x3 --stride 1x2x3 --value-kernel 3x1x1", 1, 16, "D=8", "w_o b_o"},
    {0},
};

/* The scratch of the fast form is that of one call of the tiled attention: neither the map nor the virtual tokens
 * exist.  Tolerance: 96 queries, since a block is rounded up. */
TESTS(tiles_hold_neither_map_nor_virtual_tokens, COUNT(held) - 1)
{
    struct fixture t = random_fixture(held[_i].options, "16", 1, 16, "D=32", "w_o b_o");
    struct structsa_problem s;
    succeeds(structsa.resolve(&s, &t.problem));
    double J = (double)s.J, D = (double)s.D;
    size_t workspace;
    ck_assert(attention_fast_workspace(&workspace, 16, s.heads.N + ATTENTION_BLOCK));
    double taken = peak(&t, "fast") - without_scratch((double)s.heads.N, J, (double)s.M, (double)s.Mv, D);
    double allowed = real_bytes((double)workspace);
    within(held[_i].options, taken, allowed);
    beyond("    with virtual keys", taken + J * D * 16 * sizeof(real), allowed);
}

/* StructSA, Eq. 15, "memory complexity", with four times the tokens: the map is O(N^2 C), virtual tokens O(N C D),
 * tiles of them O(N C); in Eq. 5 the plain form has the map of one query. */
static const struct battery_growth growth[] = {
    {"--kernel 3x3 --equation 16", 8, 16, "D=8", "w_o b_o", "naive", 12, 17},
    {"--kernel 3x3 --equation 16", 8, 16, "D=8", "w_o b_o", "plain", 3, 4},
    {"--kernel 3x3 --equation 5", 8, 16, "D=8", "w_o b_o", "plain", 3, 4},
    {"--kernel 3x3 --equation 16", 8, 16, "D=8", "w_o b_o", "fast", 1, 4},
    {0},
};

/* Seven more patterns cost the fast form exactly their filters: 9 taps, 16 channels, keys and values (whole lines of 64
 * bytes). */
TEST(patterns_cost_the_memory_of_their_filters)
{
    struct fixture one = random_fixture("--grid 12x12 --kernel 3x3", "16", 1, 16, "D=1", "w_o b_o");
    struct fixture eight = random_fixture("--grid 12x12 --kernel 3x3", "16", 1, 16, "D=8", "w_o b_o");
    double more = peak(&eight, "fast") - peak(&one, "fast");
    within("bytes", fabs(more - 7 * 2 * 9 * 16 * (double)sizeof(real)), 0);
}

/* The plain form needs less memory than the naive one from N = 2D on; the paper has N > D, for the scores alone.  512
 * channels, so that keys and values dominate. */
TEST(virtual_tokens_save_memory_from_2d_tokens_on)
{
    static const struct { const char *options; size_t N; } z[] = {
        {"--grid 4 --kernel 1", 4}, {"--grid 8 --kernel 1", 8},
        {"--grid 16 --kernel 1", 16}, {"--grid 64 --kernel 1", 64},
    };
    for (size_t s = 0; s < COUNT(z); s++) {
        struct fixture t = random_fixture(z[s].options, "16", 1, 512, "D=8", "w_o b_o");
        double naive = peak(&t, "naive"), plain = peak(&t, "plain");
        if (z[s].N <= 8) ck_assert(naive < plain);
        else ck_assert(naive > plain);
    }
}

/* StructSA, Tab. 6b, windows of two sizes, 14 x 14 tokens, D = 4: each pattern of a channel has |M| + |M'| numbers, and
 * as many products at every centre. */
static const struct { const char *keys, *values; double M, Mv; } tab_6b[] = {
    {"1x1", "3x3", 1, 9}, {"5x5", "3x3", 25, 9}, {"7x7", "3x3", 49, 9},
    {"3x3", "1x1", 9, 1}, {"3x3", "5x5", 9, 25}, {"3x3", "7x7", 9, 49},
};
TESTS(windows_of_tab_6b_cost_their_entries, COUNT(tab_6b))
{
    char options[96];
    snprintf(options, sizeof options, "--grid 14x14 --kernel %s --heads 2 --value-kernel %s", tab_6b[_i].keys,
             tab_6b[_i].values);
    struct fixture row = random_fixture(options, "16", 1, 384, "D=4", "");
    struct fixture nine = random_fixture("--grid 14x14 --kernel 3x3 --heads 2", "16", 1, 384, "D=4", "");
    double more = tab_6b[_i].M + tab_6b[_i].Mv - 18, filters = 384 * 4 * more;
    ck_assert((double)problem_parameters(&row.problem) - (double)problem_parameters(&nine.problem) == filters);
    ck_assert(cores(&row, "plain") - cores(&nine, "plain") == 196 * filters);
}

int main(void)
{
    static const struct battery tables = {
        .operator = &structsa, .variants = variants, .join = options_of_equation,
        .counted = counted, .memory = memory, .stated = stated, .growth = growth,
    };
    return run_battery("StructSA, counts", &tables);
}
