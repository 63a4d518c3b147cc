/* test_cuda_elsa.c -- what the rungs of ELSA ask of the memory
 *
 * Counted on the emulator (fast/cuda/counts.h), which is exact: the tolerance is zero
 * everywhere.  That the rungs compute ELSA is test_cuda.c's claim. */

#include <stdio.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "../fast/cuda/counts.h"
#include "../reference/elsa.h"

/* Launches of one run, in their order. */
struct run {
    size_t launches;
    struct launch_counts at[4];
};

static struct run counted(const struct trial *t, int rung, unsigned seed)
{
    struct run run;
    real *y = zeros(t->outputs);
    struct plan plan;
    succeeds(plan_create(&plan, &t->problem, operator_rung_at(&elsa, rung - 1), 1));
    emulator_watch(true, seed);
    succeeds(plan_run(&plan, y, t->x));
    run.launches = emulator_launches();
    ck_assert_uint_le(run.launches, COUNT(run.at));
    for (size_t l = 0; l < run.launches; l++) {
        run.at[l] = *emulator_launch(l);
        printf("    cuda%d %-40s %8llu requests %8llu sectors %10llu bytes asked %8llu touched %6llu shared\n",
               rung, run.at[l].kernel, run.at[l].requests, run.at[l].sectors, run.at[l].asked, run.at[l].touched,
               run.at[l].shared_requests);
    }
    emulator_watch(false, 0);
    plan_release(&plan);
    return run;
}

/* Sizes that the claims below share, as the contract names them. */
struct layer {
    const char *options;
    size_t edge, K, C, h, lattices;     /* lattices: dilation squared */
};

static struct trial drawn(const struct layer *of, const char *sizes, const char *without)
{
    return trial(of->options, &elsa, 1, of->C, sizes, without);
}

/* Pairs of a token and a neighbour on the grid, without dilation. */
static size_t pairs(const struct layer *of)
{
    size_t axis = of->edge;
    for (size_t step = 1; step <= of->K / 2; step++) axis += 2 * (of->edge - step);
    return axis * axis;
}

/* Tokens that the tiles of 8 x 8 and their halos have on the grid, one counted as often as
 * there are tiles that see it; the lattices of a dilation are grids of their own. */
static size_t in_halos(const struct layer *of)
{
    size_t edge = of->edge, axis = 0, R = of->K / 2;
    for (size_t from = 0; from < edge; from += 8) {
        size_t first = from > R ? from - R : 0, end = from + 8 + R < edge ? from + 8 + R : edge;
        axis += end - first;
    }
    return of->lattices * axis * axis;
}

static size_t tiles(const struct layer *of)
{
    size_t axis = (of->edge + 7) / 8;
    return of->lattices * axis * axis;
}

/* Bytes of sectors that arrays of so many reals fill, each for itself. */
static size_t sectors_of(size_t reals) { return (reals * sizeof(real) + 31) / 32 * 32; }

static const struct layer layers[] = {
    {"--grid 8x8 --kernel 3 --heads 2", 8, 3, 32, 2, 1},
    {"--grid 4x4 --kernel 5 --heads 2", 4, 5, 32, 2, 1},
};

static const struct layer large[] = {
    {"--grid 16x16 --kernel 7 --heads 3", 16, 7, 24, 3, 1},
    {"--grid 16x16 --kernel 7 --heads 3 --head-map block", 16, 7, 24, 3, 1},
    {"--grid 13x13 --kernel 3 --heads 5 --head-map block", 13, 3, 40, 5, 1},
};

/* Claim      A logit is 1 + 6 C reals: a bias, and C times query, key and embedding of a token and of
 *            its neighbour.  cuda1 asks for one twice for each output and neighbour and once more
 *            where there is a value; cuda2 once for each token, head and neighbour.
 * Paper      ELSA, Eq. 7, 8 and 5.
 * Measure    Bytes that all threads ask for, two seeds.
 * Tolerance  Zero.
 * Would it fail?  A fourth pass over the neighbours in each_output. */
START_TEST(logits_are_taken_anew_for_each_output_or_once)
{
    const struct layer *of = &layers[_i];
    struct trial t = drawn(of, "", "b_qkv w_o b_o");
    size_t N = of->edge * of->edge, logit = 1 + 6 * of->C, entries = of->K * of->K, C = of->C;
    for (unsigned seed = 1; seed <= 2; seed++) {
        struct run one = counted(&t, 1, seed), two = counted(&t, 2, seed);
        ck_assert_uint_eq(one.launches, 1);
        ck_assert_uint_eq(one.at[0].asked,
                          sizeof(real) * C * ((2 * N * entries + pairs(of)) * logit + 3 * pairs(of) + N));

        /* The filters are written, read, and written again; and read once for each channel. */
        ck_assert_uint_eq(two.launches, 2);
        ck_assert_uint_eq(two.at[0].asked, sizeof(real) * N * of->h * entries * (logit + 3));
        ck_assert_uint_eq(two.at[1].asked, sizeof(real) * C * (4 * pairs(of) + N));
        if (sizeof(real) == 4) ck_assert_uint_eq(two.at[0].partial + two.at[1].partial, 0);
    }
}
END_TEST

/* Claim      cuda3 and cuda4 ask for query and key of each token once for each tile that sees it, and
 *            for the embeddings once for each tile and head; cuda4 for the values and for the ghost
 *            head's rows likewise.  Where cuda3 writes K^2 weights a head, cuda4 writes y.
 * Measure    Bytes that all threads ask for, two seeds; and barriers: two for 32 bytes of channels of
 *            the products, four for as many of each head's values.
 * Tolerance  Zero.
 * Would it fail?  A barrier less after Step 6, or after Step 3, is a race before it is a count; so are
 *                 weights of tokens beyond the grid. A halo shifted by one asks for as much: whether
 *                 it is the right one, test_cuda.c says. */
START_TEST(tiles_ask_once_for_what_they_see)
{
    const struct layer *of = &large[_i];
    struct trial t = drawn(of, "", "b_qkv w_o b_o");
    size_t N = of->edge * of->edge, C = of->C, h = of->h, entries = of->K * of->K, groups = (h + 2) / 3;
    size_t each = (h + groups - 1) / groups, chunk = 32 / sizeof(real), chunks = (C + chunk - 1) / chunk;
    size_t maps = tiles(of) * C * h * entries, biases = tiles(of) * groups * each * 64 * entries;
    size_t product = groups * in_halos(of) * 2 * C + 2 * maps + biases;
    for (unsigned seed = 1; seed <= 2; seed++) {
        struct run three = counted(&t, 3, seed), four = counted(&t, 4, seed);
        ck_assert_uint_eq(three.launches, 2);
        ck_assert_uint_eq(three.at[0].asked, sizeof(real) * (product + N * h * entries));
        ck_assert_uint_eq(three.at[0].barriers, tiles(of) * groups * 2 * chunks);

        ck_assert_uint_eq(four.launches, 1);
        ck_assert_uint_eq(four.at[0].asked,
                          sizeof(real) * (product + in_halos(of) * C + tiles(of) * 2 * C * entries + N * C));
        ck_assert_uint_eq(four.at[0].barriers,
                          tiles(of) * groups * (2 * chunks + 4 * ((C / h + chunk - 1) / chunk)));
    }
}
END_TEST

/* Claim      What the rungs ask for, as the chapter's table has it.
 * Measure    Requests of warps, sectors and bytes of all launches, of 16 x 16 tokens, 24 channels, 3 heads
 *            and K = 7, in float; two seeds.
 * Would it fail?  A weight written by Step 4. */
START_TEST(counts_are_those_of_the_chapter)
{
    static const struct launch_counts told[] = {
        {.requests = 205440, .sectors = 4052984, .asked = 26142720},
        {.requests = 35604, .sectors = 463928, .asked = 4371456},
        {.requests = 4002, .sectors = 14204, .asked = 465024},
    };
    struct trial t = drawn(&large[0], "", "b_qkv w_o b_o");
    for (unsigned seed = 1; seed <= 2 && sizeof(real) == 4; seed++) {
        struct run run = counted(&t, 2 + _i, seed);
        struct launch_counts all = {0};
        for (size_t l = 0; l < run.launches; l++) {
            all.requests += run.at[l].requests;
            all.sectors += run.at[l].sectors;
            all.asked += run.at[l].asked;
        }
        ck_assert_uint_eq(all.requests, told[_i].requests);
        ck_assert_uint_eq(all.sectors, told[_i].sectors);
        ck_assert_uint_eq(all.asked, told[_i].asked);
    }
}
END_TEST

/* Claim      Of the device's memory cuda4 touches query, key, value, the parameters and y, and nothing
 *            else: no logit, weight or filter.
 * Measure    Bytes of the sectors that are touched.
 * Would it fail?  A weight written by Step 4. */
START_TEST(one_kernel_touches_its_input_and_its_output)
{
    const struct layer *of = &large[_i];
    struct trial t = drawn(of, "", "b_qkv w_o b_o");
    size_t N = of->edge * of->edge, C = of->C, entries = of->K * of->K;
    struct run run = counted(&t, 4, 1);
    ck_assert_uint_eq(run.launches, 1);
    ck_assert_uint_eq(run.at[0].touched, sectors_of(N * 3 * C) + 2 * sectors_of(C * of->h * entries) +
                      sectors_of(of->h * entries) + 2 * sectors_of(C * entries) + sectors_of(N * C));
}
END_TEST

/* Claim      Shared memory is read and written without bank conflicts, in float: by rungs 3 and 4, and by
 *            the final variant's convolution.
 * Measure    Cycles of shared memory against those without conflicts.
 * Would it fail?  Rows of planes 16 words apart; planes of a multiple of 32 words. */
START_TEST(tiles_have_no_bank_conflicts)
{
    static const struct layer all[] = {
        {"--grid 16x16 --kernel 7 --heads 3", 16, 7, 24, 3, 1},
        {"--grid 9x9 --kernel 5 --heads 2 --head-map block", 9, 5, 16, 2, 1},
        {"--grid 9x9 --kernel 3 --equation 6", 9, 3, 8, 1, 1},
        {"--grid 8x8 --kernel 7 --heads 3 --variant final --group-width 4", 8, 7, 12, 3, 1},
        {"--grid 9x8 --kernel 1 --heads 2 --variant final --group-width 8", 9, 1, 6, 2, 1},
    };
    const struct layer *of = &all[_i];
    struct trial t = drawn(of, strstr(of->options, "final") ? "Q=16" : "", "b_qkv w_o b_o");
    for (int rung = 3; rung <= 4; rung++) {
        struct run run = counted(&t, rung, 1);
        unsigned long long shared = 0;
        for (size_t l = 0; l < run.launches; l++) {
            shared += run.at[l].shared_requests;
            if (sizeof(real) == 4) ck_assert_uint_eq(run.at[l].wavefronts, run.at[l].shared_requests);
        }
        ck_assert_uint_gt(shared, 0);
    }
}
END_TEST

/* Claim      A dilated layer asks for what its lattices ask for: d^2 layers of 1/d^2 of the tokens.
 * Measure    All counts but the sectors, which lie farther apart, of 16 x 16 tokens with d = 2 against four
 *            times those of 8 x 8 without.
 * Would it fail?  Rows of a lattice that follow each other on the grid. */
START_TEST(a_dilation_is_as_many_lattices)
{
    static const struct layer near = {"--grid 8x8 --kernel 5 --heads 2", 8, 5, 16, 2, 1},
        far = {"--grid 16x16 --kernel 5 --heads 2 --dilation 2", 8, 5, 16, 2, 4};
    struct trial a = drawn(&near, "", "b_qkv w_o b_o"), b = drawn(&far, "", "b_qkv w_o b_o");
    struct run once = counted(&a, 4, 1), four = counted(&b, 4, 1);
    ck_assert_uint_eq(four.at[0].requests, 4 * once.at[0].requests);
    ck_assert_uint_eq(four.at[0].asked, 4 * once.at[0].asked);
    ck_assert_uint_eq(four.at[0].shared_requests, 4 * once.at[0].shared_requests);
    ck_assert_uint_eq(four.at[0].barriers, 4 * once.at[0].barriers);
}
END_TEST

/* Claim      The final variant's convolution asks for 2 g K^2 numbers of query and key for each output
 *            as it reads, and in tiles for query and key of eight channels once for each tile that sees
 *            them, for the eight outputs of a block; in groups of four a block has two of them.
 * Paper      ELSA, App. D.
 * Measure    Bytes asked for; rungs 2 and 4. */
START_TEST(convolutions_share_their_products)
{
    static const struct layer all[] = {
        {"--grid 8x8 --kernel 5 --heads 2 --variant final --group-width 4", 8, 5, 6, 2, 1},
        {"--grid 10x10 --kernel 3 --heads 2 --variant final --group-width 16", 10, 3, 6, 2, 1},
    };
    const struct layer *of = &all[_i];
    struct trial t = drawn(of, "Q=32", "b_qkv w_o b_o");
    size_t N = of->edge * of->edge, Q = 32, g = _i ? 16 : 4, entries = of->K * of->K;
    struct run two = counted(&t, 2, 1), four = counted(&t, 4, 1);
    ck_assert_uint_eq(two.launches, 3);
    ck_assert_uint_eq(two.at[0].asked, sizeof(real) * Q * (pairs(of) * 3 * g + 2 * N));
    ck_assert_uint_eq(four.launches, 2);
    ck_assert_uint_eq(four.at[0].asked, sizeof(real) * (Q / 8 * in_halos(of) * 2 * (g < 8 ? 8 : g) +
                                                        tiles(of) * Q * g * entries + 2 * N * Q));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_elsa");
    TCase *counts = add_case(suite, "what the rungs ask for");
    tcase_add_loop_test(counts, logits_are_taken_anew_for_each_output_or_once, 0, (int)COUNT(layers));
    tcase_add_loop_test(counts, tiles_ask_once_for_what_they_see, 0, (int)COUNT(large));
    tcase_add_loop_test(counts, counts_are_those_of_the_chapter, 0, 3);
    tcase_add_loop_test(counts, one_kernel_touches_its_input_and_its_output, 0, (int)COUNT(large));
    tcase_add_loop_test(counts, tiles_have_no_bank_conflicts, 0, 5);
    tcase_add_test(counts, a_dilation_is_as_many_lattices);
    tcase_add_loop_test(counts, convolutions_share_their_products, 0, 2);
    return run_suite(suite);
}
