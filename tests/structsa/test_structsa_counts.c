/* test_structsa_counts.c -- what StructSA costs: multiplications and bytes, counted, and the FLOPs of its tables
 *
 * Naive forms are compiled with a real that counts multiplications (counting.h); the allocator counts bytes
 * (memory.h).  Counts are exact where no tolerance is given. */

#include "../support/properties.h"
#include "../support/published.h"
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


static struct trial drawn(const char *options, const char *equation, size_t batch, size_t channels, const char *sizes,
                          const char *without)
{
    char all[160];
    options_of_equation(all, sizeof all, options, equation);
    return trial(all, &structsa, batch, channels, sizes, without);
}

static double cores(const struct trial *t, const char *form)
{
    return trial_hearts(t, operator_form(&structsa, form));
}

/* ---- arithmetic ------------------------------------------------------ */

/* StructSA, Eq. 15: on 784 tokens of 64 channels permuting saves a factor of about |M|, |M| (1 + 1 / 2D) + 1 / 2D as N
 * grows.  Tolerance: 6 %, for the convolutions, |M| / N of the products. */
START_TEST(permuting_saves_a_factor_of_the_window)
{
    static const char *const D[] = {"D=1", "D=4", "D=8"};
    static const double d[] = {1, 4, 8};
    double M = _i < 3 ? 9 : 25;
    const char *options = _i < 3 ? "--grid 28x28 --kernel 3x3" : "--grid 28x28 --kernel 5x5";
    struct trial t = drawn(options, "16", 1, 64, D[_i % 3], "w_o b_o");
    double saved = cores(&t, "naive") / cores(&t, "permuted");
    double expected = M * (1 + 0.5 / d[_i % 3]) + 0.5 / d[_i % 3];
    printf("    |M| = %.0f, D = %.0f: %.2f times fewer\n", M, d[_i % 3], saved);
    within("over its limit", fabs(saved / expected - 1), 0.06);
}
END_TEST

/* StructSA, Eq. 5 and 15; the paper does not say it: reading the one map costs D |M| for each pair, virtual keys D c.
 */
START_TEST(permuting_does_not_pay_for_dot_products)
{
    struct trial wide = drawn("--grid 28x28 --kernel 3x3", "5", 1, 64, "D=8", "w_o b_o");
    struct trial narrow = drawn("--grid 28x28 --kernel 3x3", "5", 1, 8, "D=8", "w_o b_o");
    double ratio = cores(&wide, "naive") / cores(&wide, "permuted");
    printf("    64 channels: the naive form multiplies %.2f times as often\n", ratio);
    ck_assert(ratio > 0.7 && ratio < 0.8);
    ck_assert(cores(&narrow, "naive") > cores(&narrow, "permuted"));
}
END_TEST

/* StructSA, Sec. 4.3.1, Tab. 4, 5a: by s^2 on a plane, and in a video that strides in space only; strides of all axes
 * by their product. */
static const struct { const char *options, *stride; double factor; } divided[] = {
    {"--grid 8x8 --kernel 3x3", "2", 4}, {"--grid 4x8x8 --kernel 3x3x3", "1x2x2", 4},
    {"--grid 4x8x8 --kernel 3x3x3", "2", 8}, {"--grid 8x12 --kernel 3x3", "4x3", 12},
};
START_TEST(a_stride_divides_the_work)
{
    double factor = divided[_i].factor;
    char coarse[80];
    snprintf(coarse, sizeof coarse, "%s --stride %s", divided[_i].options, divided[_i].stride);
    struct trial all = drawn(divided[_i].options, "16", 1, 6, "D=3", "w_o b_o");
    struct trial some = drawn(coarse, "16", 1, 6, "D=3", "w_o b_o");
    double N = (double)all.problem.grid.tokens, c = 6, fixed = N * c + N * N * c;     /* the scale and the map */
    ck_assert(cores(&all, "fast") == factor * cores(&some, "fast"));
    ck_assert(cores(&all, "permuted") == factor * cores(&some, "permuted"));
    ck_assert(cores(&all, "naive") - fixed == factor * (cores(&some, "naive") - fixed));
}
END_TEST

/* ---- memory ---------------------------------------------------------- */

static double peak(const struct trial *t, const char *form)
{
    return trial_peak(t, operator_form(&structsa, form));
}

/* The table of reference/structsa.h, with one head: the map, the windows and kernels of a query, the attention, the
 * unfolded values; q, k, v as projected, dense copies and y; the filters and the tables of windows. */
static double stated_naive(const struct problem *p, const struct form *form)
{
    struct structsa_problem s;
    succeeds(structsa.resolve(&s, p));
    double N = (double)s.N, J = (double)s.J, M = (double)s.M, Mv = (double)s.Mv, c = (double)s.c, D = (double)s.D;
    double E = (double)s.columns;
    if (strcmp(form->name, "naive")) return -1;
    double made = real_bytes(N * N * E) + real_bytes(J * M * E) + real_bytes(N * J * D) + real_bytes(J * Mv * c)
                  + real_bytes(J * Mv * E);
    double rows = real_bytes(3 * N * c) + 4 * real_bytes(N * c);
    double filters = real_bytes(D * M * E) + real_bytes(D * Mv * E);
    return plan_bytes(&structsa, form) + made + rows + filters + int_bytes(J * M) + int_bytes(J * Mv);
}

static const struct battery_case memory[] = {
    {"--grid 64 --kernel 5", 1, 4, "D=3", "w_o b_o b_qkv"},
    {"--grid 8x9 --kernel 3x3 --stride 2", 1, 4, "D=3", "w_o b_o b_qkv"},
    {"--grid 3x4x5 --kernel 3x1x3", 1, 4, "D=3", "w_o b_o b_qkv"},
    {"--grid 3x4x5 --kernel 3x1x3 --stride 1x2x3 --value-kernel 1x5x1", 1, 4, "D=3", "w_o b_o b_qkv"},
    {0},
};

/* Bytes that both other forms hold besides their scratch, with 16 channels and one head: q, k, v as projected; packed
 * projections and filters; tables of windows.  The scratch is larger than the filters that lie there during a load. */
static double shared(const char *form, double N, double J, double M, double Mv, double D)
{
    return plan_bytes(&structsa, operator_form(&structsa, form)) + real_bytes(3 * N * 16)
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

/* StructSA, Eq. 15; the table of reference/structsa.h: the map of N x J D and the virtual tokens, 2 J D c. */
static double stated_permuted(const struct problem *p, const struct form *form)
{
    struct structsa_problem s;
    succeeds(structsa.resolve(&s, p));
    double N = (double)s.N, JD = (double)(s.J * s.D), c = (double)s.c;
    double both = shared("permuted", N, (double)s.J, (double)s.M, (double)s.Mv, (double)s.D);
    return strcmp(form->name, "permuted") ? -1 : both + real_bytes(N * JD) + 2 * real_bytes(JD * c);
}

/* The table of reference/structsa.h: besides what both hold, the tiled form takes the scratch of one call of the tiled
 * attention for all queries.  Tolerance: 96 queries, since a block is rounded up. */
START_TEST(tiles_hold_neither_map_nor_virtual_tokens)
{
    struct trial t = drawn(held[_i].options, "16", 1, 16, "D=32", "w_o b_o");
    struct structsa_problem s;
    succeeds(structsa.resolve(&s, &t.problem));
    double J = (double)s.J, D = (double)s.D;
    size_t workspace;
    ck_assert(attention_fast_workspace(&workspace, 16, s.N + ATTENTION_BLOCK));
    double taken = peak(&t, "fast") - shared("fast", (double)s.N, J, (double)s.M, (double)s.Mv, D);
    double allowed = real_bytes((double)workspace);
    within(held[_i].options, taken, allowed);
    beyond("    with virtual keys", taken + J * D * 16 * sizeof(real), allowed);
}
END_TEST

/* StructSA, Eq. 15, "memory complexity": four times the tokens, 16 channels, D = 8.  The map is O(N^2 C), virtual
 * tokens O(N C D), tiles of them O(N C); the permuted form also holds the map of N x J D. */
START_TEST(tiles_take_memory_linear_in_tokens)
{
    struct trial small = drawn("--grid 8x8 --kernel 3x3", "16", 1, 16, "D=8", "w_o b_o");
    struct trial large = drawn("--grid 16x16 --kernel 3x3", "16", 1, 16, "D=8", "w_o b_o");
    double naive = peak(&large, "naive") / peak(&small, "naive");
    double permuted = peak(&large, "permuted") / peak(&small, "permuted");
    double tiled = peak(&large, "fast") / peak(&small, "fast");
    printf("    four times the tokens: naive %.1f times the bytes, permuted %.1f, tiled %.1f\n",
           naive, permuted, tiled);
    ck_assert(naive > 12 && permuted > 10);
    ck_assert(tiled > 1 && tiled <= 4);
}
END_TEST

/* Of the tiled form: seven patterns of 9 taps and 16 channels on both sides, which fill whole lines of 64 bytes. */
START_TEST(patterns_cost_the_memory_of_their_filters)
{
    struct trial one = drawn("--grid 12x12 --kernel 3x3", "16", 1, 16, "D=1", "w_o b_o");
    struct trial eight = drawn("--grid 12x12 --kernel 3x3", "16", 1, 16, "D=8", "w_o b_o");
    double more = peak(&eight, "fast") - peak(&one, "fast");
    within("bytes", fabs(more - 7 * 2 * 9 * 16 * (double)sizeof(real)), 0);
}
END_TEST

/* Not said in the paper, which has N > D for the scores: keys and values counted, from N = 2D on.  512 channels, so
 * that they dominate; the packed copy of the projection's weights is taken off. */
START_TEST(virtual_tokens_pay_from_twice_d_tokens_on)
{
    static const struct { const char *options; size_t N; } z[] = {
        {"--grid 4 --kernel 1", 4}, {"--grid 8 --kernel 1", 8},
        {"--grid 16 --kernel 1", 16}, {"--grid 64 --kernel 1", 64},
    };
    for (size_t s = 0; s < COUNT(z); s++) {
        struct trial t = drawn(z[s].options, "16", 1, 512, "D=8", "w_o b_o");
        double naive = peak(&t, "naive"), permuted = peak(&t, "permuted") - real_bytes(3 * 512 * (512 + 1));
        printf("    N = %zu, D = 8: naive %.0f KiB, permuted %.0f KiB\n", z[s].N, naive / 1024, permuted / 1024);
        if (z[s].N <= 8) ck_assert(naive < permuted);
        else ck_assert(naive > permuted);
    }
}
END_TEST

/* StructSA, below Eq. 15: the channel-wise map holds N^2 c numbers, the convolved keys N D c: fewer if N > D = 8. */
START_TEST(virtual_keys_are_fewer_than_the_map_when_n_exceeds_d)
{
    static const struct { const char *grid; int keys_are; } line[] = {
        {"4", +1}, {"7", +1}, {"8", 0}, {"9", -1}, {"16", -1},
    };
    for (size_t l = 0; l < COUNT(line); l++) {
        const struct subject s = {line[l].grid, "3", "1", 3, 8, 3, ""};
        struct case_head h = whole_head(&s);
        size_t map = h.of.N * h.of.N * h.of.columns, keys = h.keys.centres * h.of.D * h.of.c;
        (void)scores_of_map(&h);
        (void)virtual_tokens(&h, &h.keys, h.hk, h.k);
        ck_assert_int_eq((keys > map) - (keys < map), line[l].keys_are);
    }
}
END_TEST

/* ---- the paper's tables ------------------------------------------------ */

static double tab_7(const char *row, const char *column)
{
    return published("structsa", "7", row, column);
}

/* Parameters that D patterns add to a block of C channels. */
static double added(const char *options, size_t C, const char *D)
{
    struct trial t = drawn(options, "16", 1, C, D, "w_o b_o b_qkv");
    return (double)(problem_parameters(&t.problem) - 3 * C * C);
}

/* StructSA, Sec. 4.3.1 and Tab. 7, ImageNet-1K: 2 |M| C for each pattern and block, on DeiT-S with 12 blocks of 384
 * channels: 12 C^2 + 13 C, patches, class and position embeddings for 197 tokens, last norm and classes.
 * Tolerance: half of the last digit. */
START_TEST(parameters_of_tab_7_follow_on_images)
{
    const char *options = "--grid 14x14 --kernel 3x3 --heads 6";
    double C = 384, deit = 12 * (12 * C * C + 13 * C) + (16 * 16 * 3 + 1) * C + C + 197 * C + 2 * C + 1000 * (C + 1);
    ck_assert(added(options, 384, "D=4") == 4 * 2 * 9 * C && added(options, 384, "D=1") == 2 * 9 * C);
    double one = (deit + 12 * added(options, 384, "D=1")) / 1e6, four = (deit + 12 * added(options, 384, "D=4")) / 1e6;
    double eight = (deit + 12 * added(options, 384, "D=8")) / 1e6;
    within("ConvSA", fabs(one - tab_7("ConvSA", "parameters")), 0.05);
    within("StructSA", fabs(four - tab_7("StructSA", "parameters")), 0.05);
    beyond("    D = 8", fabs(eight - tab_7("StructSA", "parameters")), 0.05);
}
END_TEST

/* FLOPs in G, a multiply-add counted as one, of 12 blocks of 384 channels: projections, MLP, and the permuted form. */
static double model_flops(const char *place, const char *kernel, const char *D, double embedding)
{
    char options[80];
    snprintf(options, sizeof options, "--grid %s --kernel %s --heads 6", place, kernel);
    struct trial t = drawn(options, "16", 1, 384, D, "");
    double N = (double)t.problem.grid.tokens, C = 384, scaling = N * C * (double)problem_size(&t.problem, "D");
    return (embedding + 12 * (N * 12 * C * C + cores(&t, "permuted") - scaling)) / 1e9;
}

/* StructSA, Tab. 7, ImageNet-1K: 196 tokens, with patches.  Tolerance: half of the last digit. */
START_TEST(flops_of_tab_7_follow_on_images)
{
    double patches = 196 * 16 * 16 * 3 * 384.0;
    within("ConvSA", fabs(model_flops("14x14", "3x3", "D=1", patches) - tab_7("ConvSA", "flops")), 0.05);
    within("StructSA", fabs(model_flops("14x14", "3x3", "D=4", patches) - tab_7("StructSA", "flops")), 0.05);
    struct trial t = drawn("--grid 14x14 --kernel 3x3 --heads 6", "16", 1, 384, "D=4", "");
    beyond("    unpermuted", 12 * cores(&t, "naive") / 1e9, 5.75);
}
END_TEST

/* StructSA, Tab. 7, Something-Something V1: 23.1 M and 80.4 G are printed for D = 4, which gives 23.5 M and 126 G; D =
 * 2 gives both.  8 x 14 x 14 tokens, tubelets of 2 x 16 x 16 pixels, 174 classes, 25 layer norms at five operations a
 * number.  Tolerance: half of the last digit. */
START_TEST(numbers_of_tab_7_on_videos_are_those_of_two_patterns)
{
    static const char *const D[] = {"D=1", "D=2", "D=4"};
    double C = 384, tubelets = 1568 * 2 * 16 * 16 * 3 * C, norms = 5 * 25 * 1568 * C, parameters[3], flops[3];
    double model = 12 * (12 * C * C + 13 * C) + (2 * 16 * 16 * 3 + 1) * C + 1568 * C + 2 * C + 174 * (C + 1);
    for (int d = 0; d < 3; d++) {
        parameters[d] = (model + 12 * added("--grid 2x2x2 --kernel 3x3x3 --heads 6", 384, D[d])) / 1e6;
        flops[d] = model_flops("8x14x14", "3x3x3", D[d], tubelets + norms);
        printf("    %s: %.2f M, %.1f G\n", D[d], parameters[d], flops[d]);
    }
    within("ConvSA, parameters", fabs(parameters[0] - tab_7("ConvSA", "ss-parameters")), 0.05);
    within("ConvSA, FLOPs", fabs(flops[0] - tab_7("ConvSA", "ss-flops")), 0.05);
    beyond("D = 4, parameters", fabs(parameters[2] - tab_7("StructSA", "ss-parameters")), 0.4);
    beyond("D = 4, FLOPs", fabs(flops[2] - tab_7("StructSA", "ss-flops")), 40);
    within("D = 2, parameters", fabs(parameters[1] - tab_7("StructSA", "ss-parameters")), 0.05);
    within("D = 2, FLOPs", fabs(flops[1] - tab_7("StructSA", "ss-flops")), 0.05);
}
END_TEST

/* Table 3. */
struct structvit { const char *row, *base; int size; size_t D; const char *stride, *grid[2]; };

/* FLOPs in G that the row prints less those that follow from UniFormer's row, where StructSA replaces self-attention,
 * 2 N^2 C, in the last two stages. */
static double unexplained(const struct structvit *s, size_t patterns)
{
    double flops = published("structsa", "3", s->row, "flops") - published("structsa", "3", s->base, "flops");
    for (int at = 0; at < 2; at++) {
        size_t C = table_2[s->size].channels[2 + at];
        char options[80], D[16];
        snprintf(options, sizeof options, "--grid %s --kernel 3x3 --stride %s --heads %zu", s->grid[at], s->stride,
                 table_2[s->size].heads[2 + at]);
        snprintf(D, sizeof D, "D=%zu", patterns);
        struct trial t = drawn(options, "16", 1, C, D, "w_o b_o b_qkv");
        double N = (double)t.problem.grid.tokens, blocks = (double)table_2[s->size].blocks[2 + at];
        flops -= blocks * (cores(&t, "fast") - 2 * N * N * (double)C) / 1e9;
    }
    return flops;
}

/* StructSA, Tables 2 and 3, Sec. 4.3.1: 3 x 3 windows at 224 and 384 pixels; with a stride of 2, four patterns cost
 * what self-attention costs.  Tolerance: half of the last digit of both printed numbers, 0.1 G. */
static const struct structvit follows[] = {
    {"StructViT-S-4-2", "UniFormer-S", SMALL, 4, "2", {"14x14", "7x7"}},
    {"StructViT-S-4-1", "UniFormer-S", SMALL, 4, "1", {"14x14", "7x7"}},
    {"StructViT-S-4-1* up384", "UniFormer-S* up384", SMALL, 4, "1", {"24x24", "12x12"}},
    {"StructViT-B-4-2", "UniFormer-B", BASE, 4, "2", {"14x14", "7x7"}},
    {"StructViT-B-4-1", "UniFormer-B", BASE, 4, "1", {"14x14", "7x7"}},
    {"StructViT-B-8-1", "UniFormer-B", BASE, 8, "1", {"14x14", "7x7"}},
    {"StructViT-B-4-1* up384", "UniFormer-B* up384", BASE, 4, "1", {"24x24", "12x12"}},
};
START_TEST(rows_of_table_3_follow_from_uniformer)
{
    within(follows[_i].row, fabs(unexplained(&follows[_i], follows[_i].D)), 0.1);
    beyond("    with twice the patterns", fabs(unexplained(&follows[_i], 2 * follows[_i].D)), 0.1);
}
END_TEST

/* StructSA, Tab. 6b, windows of two sizes, 14 x 14 tokens, D = 4: each pattern of a channel adds |M| and |M'| numbers,
 * and as many products at every centre.  Tolerance: structsa_case.h; counts are exact. */
static const struct { const char *row, *keys, *values; double M, Mv; } tab_6b[] = {
    {"1x1 and 3x3", "1x1", "3x3", 1, 9}, {"5x5 and 3x3", "5x5", "3x3", 25, 9}, {"7x7 and 3x3", "7x7", "3x3", 49, 9},
    {"3x3 and 1x1", "3x3", "1x1", 9, 1}, {"3x3 and 5x5", "3x3", "5x5", 9, 25}, {"3x3 and 7x7", "3x3", "7x7", 9, 49},
};
START_TEST(windows_of_tab_6b_are_problems)
{
    char options[96];
    snprintf(options, sizeof options, "--grid 14x14 --kernel %s --heads 2 --value-kernel %s", tab_6b[_i].keys,
             tab_6b[_i].values);
    struct trial small = drawn(options, "16", 1, 12, "D=4", "w_o b_o"), row = drawn(options, "16", 1, 384, "D=4", "");
    struct trial nine = drawn("--grid 14x14 --kernel 3x3 --heads 2", "16", 1, 384, "D=4", "");
    promise_one_function(&small, tab_6b[_i].row, problem_tolerance(&small.problem));

    double more = tab_6b[_i].M + tab_6b[_i].Mv - 18, filters = 384 * 4 * more;
    ck_assert((double)problem_parameters(&row.problem) - (double)problem_parameters(&nine.problem) == filters);
    ck_assert(cores(&row, "permuted") - cores(&nine, "permuted") == 196 * filters);
    ck_assert_uint_eq(problem_axis(&row.problem, "hk", 1), (size_t)tab_6b[_i].M);
    ck_assert_uint_eq(problem_axis(&row.problem, "hv", 1), (size_t)tab_6b[_i].Mv);
}
END_TEST

int main(void)
{
    static const struct battery tables = {
        .operator = &structsa, .tolerance = problem_tolerance, .variants = variants, .join = options_of_equation,
        .counted = counted, .memory = memory, .stated = stated_naive,
    };
    static const struct battery permuted = {.operator = &structsa, .memory = held, .stated = stated_permuted};
    Suite *suite = suite_create("StructSA, counts");
    add_battery(suite, &tables);
    add_battery(suite, &permuted);
    TCase *arithmetic = add_case(suite, "arithmetic");
    tcase_add_loop_test(arithmetic, permuting_saves_a_factor_of_the_window, 0, 6);
    tcase_add_test(arithmetic, permuting_does_not_pay_for_dot_products);
    tcase_add_loop_test(arithmetic, a_stride_divides_the_work, 0, (int)COUNT(divided));
    TCase *bytes = add_case(suite, "bytes");
    tcase_add_loop_test(bytes, tiles_hold_neither_map_nor_virtual_tokens, 0, (int)COUNT(held) - 1);
    tcase_add_test(bytes, tiles_take_memory_linear_in_tokens);
    tcase_add_test(bytes, patterns_cost_the_memory_of_their_filters);
    tcase_add_test(bytes, virtual_tokens_pay_from_twice_d_tokens_on);
    tcase_add_test(bytes, virtual_keys_are_fewer_than_the_map_when_n_exceeds_d);
    TCase *papers = add_case(suite, "tables of the paper");
    tcase_add_test(papers, parameters_of_tab_7_follow_on_images);
    tcase_add_test(papers, flops_of_tab_7_follow_on_images);
    tcase_add_test(papers, numbers_of_tab_7_on_videos_are_those_of_two_patterns);
    tcase_add_loop_test(papers, windows_of_tab_6b_are_problems, 0, (int)COUNT(tab_6b));
    tcase_add_loop_test(papers, rows_of_table_3_follow_from_uniformer, 0, (int)COUNT(follows));
    return run_suite(suite);
}
