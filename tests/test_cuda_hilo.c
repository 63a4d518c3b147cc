/* test_cuda_hilo.c -- what the rungs of HiLo and SRA ask of the memory
 *
 * Counted on the emulator (fast/cuda/counts.h), which is exact: the tolerance is zero
 * everywhere.  That the rungs compute their operators is test_cuda.c's claim. */

#include <stdio.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "../fast/cuda/counts.h"
#include "../reference/hilo.h"
#include "../reference/sra.h"

/* The launches of a run: the nth of a kernel whose name starts so, n from 0. */
static struct launch_counts launch_of(const char *kernel, size_t n)
{
    size_t letters = strlen(kernel);
    for (size_t l = 0; l < emulator_launches(); l++)
        if (!strncmp(emulator_launch(l)->kernel, kernel, letters) && n-- == 0) return *emulator_launch(l);
    ck_abort_msg("no launch of %s", kernel);
}

static void count_run(const struct trial *t, const struct declaration *d, int rung, unsigned seed)
{
    real *y = zeros(t->outputs);
    struct plan plan;
    succeeds(plan_create(&plan, &t->problem, operator_rung_at(d, rung - 1), 1));
    emulator_watch(true, seed);
    succeeds(plan_run(&plan, y, t->x));
    plan_release(&plan);
    for (size_t l = 0; l < emulator_launches(); l++) {
        const struct launch_counts *c = emulator_launch(l);
        printf("    %s cuda%d %-28s %8llu requests %8llu sectors %9llu bytes asked %7llu touched\n", d->name, rung,
               c->kernel, c->requests, c->sectors, c->asked, c->touched);
    }
}

/* Attention of so many groups, heads, queries and keys, with c channels, as each rung asks
 * for it: all scores of an output twice; each key and value for every query; or once for
 * 64 queries. */
static size_t asked(int rung, size_t groups, size_t heads, size_t queries, size_t keys, size_t c)
{
    size_t all = groups * heads;
    if (rung == 1) return sizeof(real) * all * c * queries * (keys * (4 * c + 1) + 1);
    if (rung == 2) return sizeof(real) * all * queries * (2 * c + keys * 2 * c);
    return sizeof(real) * all * (queries * 2 * c + (queries + 63) / 64 * keys * 2 * c);
}

/* Claim      SRA's attention asks for keys and values as often as there are outputs, queries, or blocks of
 *            64 queries; laid out as rows, patches are read and written once, where a thread for each
 *            output of the convolution asks for s^2 C numbers of x and as many weights.
 * Paper      PVT, Eq. 1-4.
 * Measure    Bytes that all threads ask for, two seeds; cycles of shared memory, in float.
 * Would it fail?  A tile whose values are read twice; a tile without its second barrier. */
START_TEST(sra_shares_keys_and_values)
{
    static const char *const kernel[] = {"rows_each_output", "rows_each_query", "rows_tiled", "rows_tiled"};
    struct trial t = trial("--grid 16x10 --reduction 2 --heads 2", &sra, 2, 16, "", "w_o b_o");
    size_t N = 160, M = 40, C = 16, T = 4;
    int rung = _i + 1;
    for (unsigned seed = 1; seed <= 2; seed++) {
        count_run(&t, &sra, rung, seed);
        struct launch_counts attention = launch_of(kernel[_i], 0);
        ck_assert_uint_eq(attention.asked, asked(rung < 3 ? rung : 3, 2, 2, N, M, C / 2));
        if (sizeof(real) == 4) ck_assert_uint_eq(attention.wavefronts, attention.shared_requests);
        ck_assert_uint_eq(attention.shared_requests > 0, rung >= 3);
        if (rung == 1)
            ck_assert_uint_eq(launch_of("convolve_each", 0).asked, sizeof(real) * 2 * M * C * (2 * C * T + 2));
        else
            ck_assert_uint_eq(launch_of("lay_out", 0).asked, sizeof(real) * 2 * 2 * N * C);
        emulator_watch(false, 0);
    }
}
END_TEST

/* Claim      In windows laid out one after the other Hi-Fi is attention in groups of s^2 rows, and Lo-Fi
 *            attention of all rows, the padding's among them, with the means of the windows.
 * Paper      HiLo, Sec. 4.1.
 * Measure    Bytes that all threads ask for: 9 x 15 tokens in windows of 2 x 2 are 160 with the padding. */
START_TEST(hilo_attends_in_groups_of_rows)
{
    static const char *const kernel[] = {"rows_each_output", "rows_each_query", "rows_tiled"};
    struct trial t = trial("--grid 9x15 --window 2 --heads 4 --alpha 0.5", &hilo, 2, 32, "", "");
    size_t M = 160, n = 40, c = 8;
    int rung = _i + 1, of = rung < 3 ? rung : 3;        /* what Lo-Fi does, to the last */
    count_run(&t, &hilo, rung, 1);
    struct launch_counts high = launch_of(rung < 4 ? kernel[rung > 1] : "rows_exchanged", 0);
    if (rung < 4) ck_assert_uint_eq(high.asked, asked(rung > 1 ? 2 : 1, 2 * n, 2, 4, 4, c));
    struct launch_counts low = launch_of(kernel[of - 1], rung < 3);
    ck_assert_uint_eq(low.asked, asked(of, 2, 2, M, n, c));

    /* The chapter's tables. */
    static const unsigned requests[] = {211360, 13120, 560}, sectors[] = {627840, 23040, 11200};
    static const unsigned high_requests[] = {21280, 1600, 1600, 160, 160};
    static const unsigned high_sectors[] = {63360, 20480, 20480, 2560, 2560};
    if (sizeof(real) == 4) {
        ck_assert_uint_eq(high.requests, high_requests[_i]);
        ck_assert_uint_eq(high.sectors, high_sectors[_i]);
        ck_assert_uint_eq(low.requests, requests[of - 1]);
        ck_assert_uint_eq(low.sectors, sectors[of - 1]);
    }
    emulator_watch(false, 0);
}
END_TEST

/* Claim      Windows in registers are asked for once: each number of query, key, value and output, in
 *            sectors of which nothing is left over.  A lane takes four channels in a request, and a
 *            row's lanes take its other channels; what they need of other rows is exchanged, one shuffle
 *            for each of a lane's channels of key and value and for each halving of a sum.
 * Measure    Counts, two images of 10 x 12 tokens in windows of s x s, heads of 8, 32 and 40 channels;
 *            in float, that the bytes of the sectors are those asked for.
 * Tolerance  Zero.
 * Would it fail?  Seen with lanes whose packs are neighbours, so that each request takes half of its
 *            sectors. */
static const struct { int s, c; const char *options; } windows[] = {
    {2, 8, "--grid 10x12 --window 2 --heads 2 --alpha 0"}, {2, 32, "--grid 10x12 --window 2 --heads 2 --alpha 0"},
    {2, 40, "--grid 10x12 --window 2 --heads 2 --alpha 0"}, {4, 32, "--grid 8x12 --window 4 --heads 2 --alpha 0"},
    {3, 8, "--grid 9x12 --window 3 --heads 2 --alpha 0"},
};
START_TEST(windows_in_registers_are_asked_for_once)
{
    size_t T = (size_t)(windows[_i].s * windows[_i].s), c = (size_t)windows[_i].c, parts = 1, halvings = 0;
    struct trial t = trial(windows[_i].options, &hilo, 2, 2 * c, "", "");
    size_t pairs = 2 * t.problem.grid.tokens / T * 2;
    for (; 4 * parts < c && 2 * parts * T <= 32; parts *= 2) halvings++;
    size_t at_once = 32 / (T * parts), warps = (pairs + at_once - 1) / at_once;
    size_t packs = (c + 4 * parts - 1) / (4 * parts);
    for (unsigned seed = 1; seed <= 2; seed++) {
        count_run(&t, &hilo, 4, seed);
        struct launch_counts high = launch_of("rows_exchanged", 0);
        ck_assert_uint_eq(high.asked, sizeof(real) * pairs * T * 4 * c);
        ck_assert_uint_eq(high.touched, high.asked);
        if (sizeof(real) == 4) ck_assert_uint_eq(32 * high.sectors, high.asked);
        ck_assert_uint_eq(high.requests, warps * packs * 4);
        size_t all = high.blocks * 4ull, each = T * (8 * (packs == 3 ? 4 : packs) + halvings);
        ck_assert_uint_eq(high.exchanges, all * each);
        ck_assert_uint_eq(high.shared_requests + high.barriers, 0);
    }
    emulator_watch(false, 0);
}
END_TEST

/* Claim      Windows that do not fit into registers are told by the rung below.
 * Measure    The kernel of Hi-Fi: more than 16 tokens, heads that are too wide.
 * Would it fail?  Seen with no bound on the channels of a lane. */
static const struct { const char *options; size_t channels; const char *kernel; } taken[] = {
    {"--grid 8x8 --window 4 --alpha 0", 64, sizeof(real) == 4 ? "rows_exchanged" : "rows_each_query"},
    {"--grid 8x8 --window 4 --alpha 0", 68, "rows_each_output"},
    {"--grid 5x5 --window 5 --alpha 0", 8, "rows_each_query"},
    {"--grid 8x8 --window 8 --alpha 0", 8, "rows_tiled"},
    {"--grid 4x4 --window 2 --alpha 0", 128, "rows_exchanged"},
    {"--grid 4x4 --window 2 --alpha 0", 260, "rows_each_output"},
};
START_TEST(what_does_not_fit_into_registers_is_left_with_tiles)
{
    struct trial t = trial(taken[_i].options, &hilo, 1, taken[_i].channels, "", "");
    count_run(&t, &hilo, 4, 1);
    launch_of(taken[_i].kernel, 0);
    emulator_watch(false, 0);
}
END_TEST

/* Claim      Two streams ask for what one does, whichever branch comes first.
 * Measure    All counts of HiLo's cuda5 and cuda4, and of SRA's cuda4 and cuda3, added up, for eight seeds;
 *            that both orders of HiLo's branches are among them.
 * Would it fail?  Seen with Lo-Fi launched in the branch and once more beside it, and without the join,
 *            where the emulator ends the run. */
static const struct { const struct declaration *operator; const char *options; int rungs; } streams[] = {
    {&hilo, "--grid 9x15 --window 2 --heads 4 --alpha 0.5", 5}, {&sra, "--grid 16x10 --reduction 2 --heads 2", 4},
};
START_TEST(two_streams_ask_for_what_one_does)
{
    const struct declaration *d = streams[_i].operator;
    struct trial t = trial(streams[_i].options, d, 2, 32, "", "");
    int low_first = 0;
    for (unsigned seed = 1; seed <= 8; seed++) {
        struct launch_counts sum[2] = {{0}};
        size_t launches[2];
        for (int two = 0; two < 2; two++) {
            count_run(&t, d, streams[_i].rungs - 1 + two, seed);
            launches[two] = emulator_launches();
            for (size_t l = 0; l < launches[two]; l++) {
                const struct launch_counts *c = emulator_launch(l);
                sum[two].requests += c->requests;
                sum[two].sectors += c->sectors;
                sum[two].asked += c->asked;
                sum[two].touched += c->touched;
                sum[two].wavefronts += c->wavefronts;
                sum[two].exchanges += c->exchanges;
            }
        }
        low_first += !strncmp(emulator_launch(1)->kernel, "pool", 4);
        ck_assert_uint_eq(launches[0], launches[1]);
        ck_assert_int_eq(memcmp(&sum[0], &sum[1], sizeof *sum), 0);
    }
    emulator_watch(false, 0);
    if (d == &hilo) ck_assert(low_first > 0 && low_first < 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_hilo");
    TCase *counts = add_case(suite, "what the rungs ask for");
    tcase_add_loop_test(counts, sra_shares_keys_and_values, 0, 4);
    tcase_add_loop_test(counts, hilo_attends_in_groups_of_rows, 0, 5);
    tcase_add_loop_test(counts, windows_in_registers_are_asked_for_once, 0, (int)COUNT(windows));
    tcase_add_loop_test(counts, what_does_not_fit_into_registers_is_left_with_tiles, 0, (int)COUNT(taken));
    tcase_add_loop_test(counts, two_streams_ask_for_what_one_does, 0, (int)COUNT(streams));
    return run_suite(suite);
}
