/* test_cuda_structsa.c -- what the rungs of StructSA's ladder ask of the memory
 *
 * The emulator counts what warps ask for (fast/cuda/counts.h).  Counts are whole numbers,
 * the same in every order of threads; here they are what their formulas say, on one size
 * whose threads fill warps: 4 x 8 tokens, 2 heads of 8 channels, 3 x 3 windows, 4 patterns.
 *
 *     N, C, c   tokens, channels, those of a head     h  heads    D  patterns
 *     J         centres, here N                       M  entries of a window
 *     on_grid   entries of all windows that are on the grid */

#include <stdio.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "../fast/cuda/counts.h"
#include "../reference/structsa.h"

enum { N = 32, C = 16, c = 8, h = 2, D = 4, J = N, M = 9, on_grid = (3 * 4 - 2) * (3 * 8 - 2), SIDES = 2 };
enum { WORDS = sizeof(real) / 4, SECTOR = 32 / sizeof(real) };  /* of a real; reals of a sector */

static struct trial subject(void)
{
    return trial("--grid 4x8 --kernel 3x3 --heads 2", &structsa, 1, C, "D=4", "w_o b_o b_qkv");
}

/* Counts of one run of a rung, launch by launch. */
static size_t watched(struct launch_counts *to, size_t room, const struct trial *t, const char *rung, unsigned seed)
{
    emulator_watch(true, seed);
    run_form(&t->problem, operator_rung(&structsa, rung), 1, t->x);
    size_t launches = emulator_launches();
    ck_assert(launches > 0 && launches <= room);
    for (size_t l = 0; l < launches; l++) to[l] = *emulator_launch(l);
    emulator_watch(false, 0);
    return launches;
}

static void is(const char *what, unsigned long long counted, unsigned long long expected)
{
    printf("    %s: %llu\n", what, counted);
    ck_assert_msg(counted == expected, "%s: counted %llu, expected %llu", what, counted, expected);
}

/* Claim      The equation, a thread for each output, asks 3 c times for every entry of every
 *            window and pattern, twice, in each warp: for q, for k and for the detector.
 * Paper      Eq. 16.
 * Measure    Requests, sectors and bytes of rung 1: every lane takes part in all.
 * Tolerance  Zero.
 * Would it fail?  Seen: it does when the first pass goes over the patterns twice. */
START_TEST(rung_1_asks_for_every_window_in_every_warp)
{
    struct trial t = subject();
    struct launch_counts l[1];
    ck_assert_uint_eq(watched(l, 1, &t, "cuda1", 1 + (unsigned)_i), 1);
    unsigned warps = N * C / 32, sum = D * on_grid;
    is("requests", l->requests, warps * (2ull * sum * 3 * c + 2 * sum + 1));
    is("partial", l->partial, 0);

    /* A warp has two queries and all channels: q of two queries and two heads, k and a
     * detector of two heads; then C channels of an aggregator and of a value; and two rows
     * of outputs. */
    is("sectors", l->sectors, warps * (2ull * sum * c * (4 + 2 + 2) + sum * 2ull * C / SECTOR + 2 * C / SECTOR));
    is("touched", l->touched, (N * 3 * C + SIDES * D * M * C + N * C) * sizeof(real));
}
END_TEST

/* Claim      Virtual tokens are made once for all queries: four requests for each entry of a
 *            window, whatever N.  Then a warp of queries asks once for each channel of each
 *            virtual key and value, and gets one sector for one real.
 * Paper      Eq. 15.
 * Measure    Requests and sectors of both launches of rung 2.
 * Tolerance  Zero.
 * Would it fail?  Seen: it does when neighbouring threads make neighbouring virtual tokens. */
START_TEST(rung_2_makes_virtual_tokens_once)
{
    struct trial t = subject();
    struct launch_counts l[2];
    ck_assert_uint_eq(watched(l, 2, &t, "cuda2", 1 + (unsigned)_i), 2);
    unsigned patterns = 32 / C, warps = J * D * C / 32;         /* patterns: of one warp */
    is("requests, making", l[0].requests, SIDES * (2ull * on_grid * D / patterns + warps));
    is("sectors, making", l[0].sectors,
       SIDES * (on_grid * (D / patterns) * (32ull + C) / SECTOR + warps * 32ull / SECTOR));
    is("partial, making", l[0].partial, 0);
    is("touched, making", l[0].touched, (N * 2 * C + SIDES * D * M * C + SIDES * J * D * C) * sizeof(real));

    /* q and y: four channels an access, each lane a row of its own. */
    unsigned row = c / 4;
    is("requests", l[1].requests, h * (2ull * J * D * c + 2 * row));
    is("sectors", l[1].sectors, h * (2ull * J * D * c + 2 * row * 32));
    is("touched", l[1].touched, (N * C + SIDES * J * D * C + N * C) * sizeof(real));
}
END_TEST

/* Claim      In tiles each real of a virtual token comes from the device once for all queries
 *            of a block, four at a time; from shared memory all threads of a warp take the same
 *            four in two cycles, and no bank is asked twice.
 * Measure    Requests, sectors and wavefronts of rung 3's second launch.
 * Tolerance  Zero.
 * Would it fail?  Seen: it does with single accesses, and without the barrier behind a tile,
 *                 where the emulator ends the run. */
START_TEST(rung_3_fetches_virtual_tokens_once_a_block)
{
    struct trial t = subject();
    struct launch_counts l[2];
    ck_assert_uint_eq(watched(l, 2, &t, "cuda3", 1 + (unsigned)_i), 2);
    unsigned long long tokens = SIDES * J * D * c, row = c / 4;     /* tokens: reals of one head's */
    is("requests", l[1].requests, h * (tokens / 4 / 32 + 2 * row));
    is("sectors", l[1].sectors, h * (tokens / SECTOR + 2 * row * 32));
    is("shared", l[1].shared_requests, h * WORDS * (tokens / 32 + tokens / 4 * 2));
    is("wavefronts", l[1].wavefronts, l[1].shared_requests);
    is("barriers", l[1].barriers, h * J * D / 32 * 2);
}
END_TEST

/* Claim      Made in place, virtual tokens do not touch the device's memory: what is touched is
 *            query, key and value, the filters and y, each once.  Beside q and y a block
 *            asks for its halos, four channels at a time, and for each filter once a tile, not
 *            once a centre; no bank is asked twice.
 * Paper      Eq. 15, in tiles.
 * Measure    Bytes, requests, sectors, wavefronts and barriers of rung 4.
 * Tolerance  Zero.
 * Would it fail?  Seen: it does when a halo has one column more, and when the barrier between
 *                 the two sides is left out (the emulator ends that run itself). */
START_TEST(rung_4_touches_no_virtual_token)
{
    struct trial t = subject();
    struct launch_counts l[1];
    ck_assert_uint_eq(watched(l, 1, &t, "cuda4", 1 + (unsigned)_i), 1);
    unsigned long long tiles = 4, row = c / 4;                      /* a row of 8 centres each, all patterns */
    unsigned long long around = (2 + 3 + 3 + 2) * 8;                /* tokens on the grid in the halos of all tiles */
    is("touched", l->touched, (N * 3 * C + SIDES * D * M * C + N * C) * sizeof(real));
    is("requests", l->requests, h * (SIDES * tiles * (2 + M) + 2 * row));
    is("sectors", l->sectors, h * (SIDES * (around * c + tiles * M * D * c) / SECTOR + 2 * row * 32));

    /* Two warps store the 30 tokens of a halo; one convolves: the same c words for all
     * patterns, eight centres for each entry. */
    unsigned long long second = 30 * c - 128, halo = 4 * WORDS + (second * WORDS + 31) / 32;
    unsigned long long make = halo + 8 * M * WORDS + 8 * WORDS;
    is("shared", l->shared_requests, h * (SIDES * tiles * make + SIDES * J * D * row * 2 * WORDS));
    is("wavefronts", l->wavefronts, l->shared_requests);
    is("barriers", l->barriers, h * tiles * SIDES * 2);
}
END_TEST

#ifndef TWICETOLD_DOUBLE
/* Claim      On tensor cores a pattern at eight centres is eight keys of a product, 16 x 8 x 8 in
 *            TF32 and 16 x 8 x 16 in BF16; the device's memory is touched as by cuda4, and
 *            filters are asked for two at a time; without conflicts, shared memory takes less than
 *            half of cuda4's cycles.
 * Measure    Counts of cuda-tf32 and cuda-bf16, with heads of 16 channels.
 * Tolerance  Zero.
 * Would it fail?  Seen: it does with filters one at a time, with an instruction made twice, and
 *                 with rows of values that lie without a gap. */
START_TEST(tensor_cores_take_a_pattern_as_eight_keys)
{
    enum { width = 16 };                    /* channels of a head */
    const unsigned each = _i < 2 ? 1 : 2;
    struct trial t = trial("--grid 4x8 --kernel 3x3 --heads 2", &structsa, 1, h * width, "D=4", "w_o b_o b_qkv");
    struct launch_counts l[1], plain[1];
    ck_assert_uint_eq(watched(l, 1, &t, each == 1 ? "cuda-tf32" : "cuda-bf16", 1 + (unsigned)_i % 2), 1);
    ck_assert_uint_eq(watched(plain, 1, &t, "cuda4", 1), 1);
    unsigned long long tiles = 4, warps = N / 16, around = (2 + 3 + 3 + 2) * 8;
    is("products", l->products, 2ull * h * N * J * D * width / (16 * 8 * 8 * each));
    is("touched", l->touched, plain->touched);
    is("sectors", l->sectors, h * (SIDES * (around + tiles * M * D) + 2ull * N) * width / SECTOR);

    /* A halo of 3 x 10 tokens is 120 lanes' work; where its first or last row is off the grid, a
     * warp has nothing to ask for. */
    is("requests", l->requests, h * (SIDES * ((3 + 4 + 4 + 3) + tiles * M) + warps * (2 + 2)));

    /* Stored: zeros once; of each side and tile its halo, four channels a thread, and the tile.  Read:
     * eight centres for each entry, two channels a thread, and by each warp the tile. */
    unsigned long long tile = 8 * D * width / each / 32, halo = 30 * width / 32, gap = 8 * D * 4 / 32;
    is("shared", l->shared_requests,
       h * (2 * tile + gap + tiles * (SIDES * (halo + 8 * M * 2) + 2 * tile + warps * 2 * tile)));
    /* Patterns are stored to the same banks: two cycles for one, and four for keys in BF16. */
    is("wavefronts", l->wavefronts, l->shared_requests + h * tiles * 2 * 8 * D * width / 32);
    is("barriers", l->barriers, h * tiles * SIDES * 2);
    is("exchanges", l->exchanges, h * (warps * tiles * (D / 2) * 4 + 8 * 4));
    ck_assert(2 * l->shared_requests < plain->shared_requests);
}
END_TEST
#endif

/* Claim      Where a rung's trick does not apply, the rung below is taken: rung 1 for heads wider
 *            than 64 channels, rung 3 for windows whose halo does not fit.  A halo that does
 *            not fit whole is taken in slabs.
 * Measure    Names of the kernels that the last rung launches.
 * Would it fail?  Seen: it does when nothing is said to fit. */
#define SLABS (sizeof(real) == 4 ? "made_in_place" : "tiled")
static const struct { const char *options; size_t channels; const char *sizes, *kernel; } taken[] = {
    {"--grid 3x3 --kernel 3x3", 64, "D=2", "made_in_place"},
    {"--grid 3x3 --kernel 3x3 --stride 3", 68, "D=2", "each_output"},
    {"--grid 1x3 --kernel 1x1 --value-kernel 65x33 --stride 1x2", 40, "D=1", "tiled"},
    {"--grid 1x3 --kernel 1x1 --value-kernel 11x31 --stride 1x3", 40, "D=1", SLABS},
};
START_TEST(a_rung_falls_back_to_the_one_below)
{
    struct trial t = trial(taken[_i].options, &structsa, 1, taken[_i].channels, taken[_i].sizes, "w_o b_o b_qkv");
    struct launch_counts l[2];
    size_t launches = watched(l, 2, &t, "cuda", 1);
    const char *kernel = l[launches - 1].kernel;
    ck_assert_msg(strstr(kernel, taken[_i].kernel), "%s: %s", taken[_i].options, kernel);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_structsa");
    TCase *counts = add_case(suite, "what the rungs ask for");
    tcase_add_loop_test(counts, rung_1_asks_for_every_window_in_every_warp, 0, 1);
    tcase_add_loop_test(counts, rung_2_makes_virtual_tokens_once, 0, 2);
    tcase_add_loop_test(counts, rung_3_fetches_virtual_tokens_once_a_block, 0, 2);
    tcase_add_loop_test(counts, rung_4_touches_no_virtual_token, 0, 2);
    tcase_add_loop_test(counts, a_rung_falls_back_to_the_one_below, 0, (int)COUNT(taken));
#ifndef TWICETOLD_DOUBLE
    tcase_add_loop_test(counts, tensor_cores_take_a_pattern_as_eight_keys, 0, 4);
#endif
    return run_suite(suite);
}
