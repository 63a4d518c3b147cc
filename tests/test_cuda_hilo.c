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
 * Measure    Bytes that all threads ask for, two seeds; turns of the banks, in float.
 * Would it fail?  A tile whose values are read twice; a tile without its second barrier. */
START_TEST(sra_shares_keys_and_values)
{
    static const char *const kernel[] = {"rows_each_output", "rows_each_query", "rows_tiled"};
    struct trial t = trial("--grid 16x10 --reduction 2 --heads 2", &sra, 2, 16, "", "w_o b_o");
    size_t N = 160, M = 40, C = 16, T = 4;
    int rung = _i + 1;
    for (unsigned seed = 1; seed <= 2; seed++) {
        count_run(&t, &sra, rung, seed);
        struct launch_counts attention = launch_of(kernel[_i], 0);
        ck_assert_uint_eq(attention.asked, asked(rung, 2, 2, N, M, C / 2));
        if (sizeof(real) == 4) ck_assert_uint_eq(attention.wavefronts, attention.shared_requests);
        ck_assert_uint_eq(attention.shared_requests > 0, rung == 3);
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
    int rung = _i + 1;
    count_run(&t, &hilo, rung, 1);
    ck_assert_uint_eq(launch_of(kernel[_i > 1 ? 1 : _i], 0).asked, asked(rung > 1 ? 2 : 1, 2 * n, 2, 4, 4, c));
    struct launch_counts low = launch_of(kernel[_i], rung < 3);
    ck_assert_uint_eq(low.asked, asked(rung, 2, 2, M, n, c));

    /* The chapter's table. */
    static const unsigned requests[] = {211360, 13120, 560}, sectors[] = {627840, 23040, 11200};
    if (sizeof(real) == 4) {
        ck_assert_uint_eq(low.requests, requests[_i]);
        ck_assert_uint_eq(low.sectors, sectors[_i]);
    }
    emulator_watch(false, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_hilo");
    TCase *counts = add_case(suite, "what the rungs ask for");
    tcase_add_loop_test(counts, sra_shares_keys_and_values, 0, 3);
    tcase_add_loop_test(counts, hilo_attends_in_groups_of_rows, 0, 3);
    return run_suite(suite, "test_cuda_hilo");
}
