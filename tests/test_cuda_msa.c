/* test_cuda_msa.c -- what the last rungs of self-attention ask of the memory
 *
 * Counted by the emulator (fast/cuda/counts.h), and held by formula, on a size whose
 * tiles are full: 8 x 8 tokens, 2 heads of 16 channels, one block of queries a head.
 *
 *     N, C, c   tokens, channels, those of a head     h  heads    TILE  keys of a tile */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "../fast/cuda/counts.h"
#include "../reference/msa.h"

enum { N = 64, C = 32, c = 16, h = 2, TILE = 32, TILES = N / TILE };
enum { WORDS = sizeof(real) / 4, SECTOR = 32 / sizeof(real) };  /* of a real; reals of a sector */

/* Counts of one run of a rung, which is one launch. */
static struct launch_counts watched(const char *options, size_t channels, const char *rung, unsigned seed)
{
    struct trial t = trial(options, &msa, 1, channels, "", "rpe w_o b_o b_qkv");
    emulator_watch(true, seed);
    run_form(&t.problem, operator_rung(&msa, rung), 1, t.x);
    ck_assert_uint_eq(emulator_launches(), 1);
    struct launch_counts l = *emulator_launch(0);
    emulator_watch(false, 0);
    return l;
}

static void is(const char *what, unsigned long long counted, unsigned long long expected)
{
    printf("    %s: %llu\n", what, counted);
    ck_assert_msg(counted == expected, "%s: counted %llu, expected %llu", what, counted, expected);
}

/* Claim      In tiles a warp of queries takes from shared memory one word for each product.
 * Measure    Requests of cuda3, and its cycles of shared memory.
 * Tolerance  Zero.
 * Would it fail?  Seen: it does when keys are read four channels at a time. */
START_TEST(tiles_ask_shared_memory_for_every_product)
{
    struct launch_counts l = watched("--grid 8x8 --heads 2", C, "cuda3", 1 + (unsigned)_i);
    unsigned warps = N / 32;
    is("requests", l.requests, h * (2ull * N * c / 32 + warps * (c / 4 + c)));
    is("shared", l.shared_requests, h * (2ull * N * c / 32 * WORDS + warps * N * 2ull * c));
    is("wavefronts", l.wavefronts, l.shared_requests);
    is("barriers", l.barriers, h * 2 * TILES);
}
END_TEST

/* Claim      In float, four queries and four keys a thread take 63 % of the shared memory cycles
 *            of tiles for heads of 16 channels, and 41 % for heads of 32.  In double they take
 *            more cycles than tiles, since four doubles at one address take four cycles, and one
 *            double takes one.  Loads have no bank conflicts; the device reads each sector of query,
 *            key and value once, and writes each sector of the output once.
 * Measure    Counts of rung 4.
 * Tolerance  Zero.
 * Would it fail?  Seen: it does with rows of c channels and no more, whose banks meet, and
 *                 without the barrier of a warp, where the emulator ends the run.  So it does
 *                 if the banks alone limit a load of 16 bytes. */
START_TEST(register_blocks_save_shared_memory_cycles_in_float)
{
    struct launch_counts l = watched("--grid 8x8 --heads 2", C, "cuda4", 1 + (unsigned)_i);
    unsigned long long warps = 4, rows = 4, fours = c / 4;
    is("requests", l.requests, h * (3ull * N * fours / 32 + warps * rows));
    is("sectors", l.sectors, 4ull * N * C / SECTOR);
    is("touched", l.touched, 4ull * N * C * sizeof(real));

    /* Of a tile: its two sides are stored; a warp reads four queries and four keys for four
     * channels, stores sixteen weights a thread, and reads them and the values.  Neighbouring
     * lanes have the same query and weights, in half the cycles, and other keys and values. */
    unsigned long long scores = fours * (rows * 2 + rows * 4), weights = rows * 4;
    unsigned long long values = TILE / 4 * rows * 2 + TILE * 4;
    unsigned long long tile = 2ull * TILE * c / 32 + warps * (scores + weights + values);
    is("shared", l.shared_requests, h * WORDS * ((unsigned long long)N * c / 32 + TILES * tile));
    /* Stored are two rows of 16 channels by eight lanes, 20 words apart: they meet at four banks. */
    unsigned long long stored = h * ((unsigned long long)N * c + TILES * 2ull * TILE * c) / 32;
    if (WORDS == 1) is("wavefronts", l.wavefronts, l.shared_requests + stored);
    is("barriers", l.barriers, h * 2 * TILES);
    is("exchanges", l.exchanges, h * warps * 3 * rows * (TILES + 1));
    for (unsigned twice = 1; twice <= 2; twice++) {
        double blocks = (double)watched("--grid 8x8 --heads 2", twice * C, "cuda4", 1).wavefronts;
        double tiles = (double)watched("--grid 8x8 --heads 2", twice * C, "cuda3", 1).wavefronts;
        printf("    heads of %u channels: %.3f of the cycles of tiles\n", twice * c, blocks / tiles);
        if (WORDS == 1) ck_assert(fabs(blocks / tiles - (twice == 1 ? 0.63 : 0.41)) < 0.005);
        else if (twice == 1) ck_assert(blocks > tiles);
    }
}
END_TEST

/* Claim      Where that rung's trick does not apply, the rung below is taken: a ghost head,
 *            and heads that are too wide.
 * Measure    Names of the kernels that the last rung launches.
 * Would it fail?  Seen: it does when nothing is said of ghosts. */
static const struct { const char *options; size_t channels; const char *kernel; } taken[] = {
    {"--grid 3x3", 28, "blocked"}, {"--grid 4x4 --window 2 --shift 1", 28, "blocked"},
    {"--grid 3x3 --gamma 1", 28, "tiled"}, {"--grid 3x3", 66, "each_output"},
    {"--grid 3x3", 64, sizeof(real) == 4 ? "blocked" : "tiled"},
};
START_TEST(blocks_of_registers_fall_back_to_tiles)
{
    struct launch_counts l = watched(taken[_i].options, taken[_i].channels, "cuda", 1);
    ck_assert_msg(strstr(l.kernel, taken[_i].kernel), "%s: %s", taken[_i].options, l.kernel);
}
END_TEST

#ifndef TWICETOLD_DOUBLE
/* Claim      On tensor cores a warp makes an instruction of 16 x 8 x 8 products in TF32, or
 *            16 x 8 x 16 in BF16, and none for what is not there; shared memory takes less than a
 *            seventh of cuda4's cycles, or a fourteenth, and weights do not pass through it.  The
 *            device's memory is asked as by cuda4, each sector once.
 * Measure    Counts of cuda-tf32 and cuda-bf16, of 64 full queries and tiles.
 * Tolerance  Zero.
 * Would it fail?  Seen: it does with rows of values that lie without a gap, whose banks meet, and
 *                 with an instruction made twice. */
START_TEST(tensor_cores_multiply_sixteen_by_eight)
{
    const unsigned each = _i < 2 ? 1 : 2, warps = N / 16, fours = c / 4;
    struct launch_counts l = watched("--grid 8x8 --heads 2", C, each == 1 ? "cuda-tf32" : "cuda-bf16",
                                     1 + (unsigned)_i % 2);
    is("products", l.products, 2ull * h * N * N * c / (16 * 8 * 8 * each));
    is("requests", l.requests, h * (TILES * (2ull * TILE * fours / 32) + warps * (2 + 2)));
    is("sectors", l.sectors, 4ull * N * C / SECTOR);
    is("touched", l.touched, 4ull * N * C * sizeof(real));

    /* Of a tile: both sides are stored, in words; a warp reads them as words of a key and its
     * channels, and of a channel and its keys. */
    unsigned long long words = 2ull * TILE * c / each / 32;
    is("shared", l.shared_requests, h * TILES * (words + warps * words));
    /* Rows of 16 channels are stored beside gaps, which makes two cycles of one: values; in BF16
     * keys too, every other row at a time. */
    is("wavefronts", l.wavefronts, l.shared_requests + h * TILES * (TILE * c / 32));
    is("barriers", l.barriers, h * 2 * TILES);
    is("exchanges", l.exchanges, h * warps * 4 * (TILES + 1));
    is("partial", l.partial, 0);
    struct launch_counts plain = watched("--grid 8x8 --heads 2", C, "cuda4", 1);
    ck_assert(7 * each * l.shared_requests < plain.shared_requests);
}
END_TEST

/* Claim      Weights are summed as they were rounded: where all values are one number, of few
 *            digits, that is what comes out.
 * Measure    Values of 1.5 under any weights; the largest |y - 1.5| over 1.5.
 * Tolerance  Two sums of 49 weights, all of one sign, and a division: 2 (49 + 1) u.
 * Would it fail?  Seen: with the sum of the weights before they are rounded it is 1e-4 in TF32. */
START_TEST(equal_values_come_back)
{
    static const char *const rungs[] = {"cuda-tf32", "cuda-bf16"};
    struct trial t = trial("--grid 7x7 --heads 2", &msa, 1, C, "", "w_o b_o");
    real *w = trial_tensor(&t, "w_qkv"), *b = trial_tensor(&t, "b_qkv"), *all = zeros(t.outputs);
    for (int n = 2 * C * C; n < 3 * C * C; n++) w[n] = 0;
    for (int n = 2 * C; n < 3 * C; n++) b[n] = (real)1.5;
    for (size_t n = 0; n < t.outputs; n++) all[n] = (real)1.5;
    real *y = run_form(&t.problem, operator_rung(&msa, rungs[_i]), 1, t.x);
    within(rungs[_i], relative_difference(y, all, t.outputs), 2 * (49 + 1) * UNIT_ROUNDOFF);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("cuda_msa");
    TCase *counts = add_case(suite, "what the last rungs ask for");
    tcase_add_loop_test(counts, tiles_ask_shared_memory_for_every_product, 0, 2);
    tcase_add_loop_test(counts, register_blocks_save_shared_memory_cycles_in_float, 0, 2);
    tcase_add_loop_test(counts, blocks_of_registers_fall_back_to_tiles, 0, (int)COUNT(taken));
#ifndef TWICETOLD_DOUBLE
    tcase_add_loop_test(counts, tensor_cores_multiply_sixteen_by_eight, 0, 4);
    tcase_add_loop_test(counts, equal_values_come_back, 0, 2);
#endif
    return run_suite(suite);
}
