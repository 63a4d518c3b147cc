/* test_cuda_lisa.c -- what LiSA's rungs ask of a device's memory
 *
 * Counted by the emulator (fast/cuda/counts.h): exact, and the same for every order of
 * threads.  That the rungs compute LiSA is test_cuda.c's. */

#include <stdio.h>
#include <string.h>
#include "lisa_case.h"
#include "promises.h"
#include "../fast/cuda/counts.h"

/* Two heads of 16 channels, 8 latents; no bias of the projections, which are not counted. */
enum { N = 196, HEADS = 2, CHANNELS = 16, WIDTH = HEADS * CHANNELS, LATENTS = 8, PAIRS = LATENTS / 2 };
enum { POINT = 2 * sizeof(real), REAL = sizeof(real), SECTOR = 32 };

static struct trial drawn(void)
{
    static const struct sizes z = {"14x14", CHANNELS, HEADS, LATENTS, 1, true};
    return lisa_trial(&z, "10");
}

/* Runs a rung, and leaves its launches to be asked for. */
static void watched(const struct trial *t, const char *rung, unsigned seed)
{
    struct plan plan;
    real *y = zeros(t->outputs);
    succeeds(plan_create(&plan, &t->problem, operator_rung(&lisa, rung), 1));
    emulator_watch(true, seed);
    succeeds(plan_run(&plan, y, t->x));
    plan_release(&plan);
    ck_assert(!isnan(largest(y, t->outputs)));
}

/* All launches of a kernel together. */
static struct launch_counts launches(const char *kernel, size_t *number)
{
    struct launch_counts all = {.kernel = kernel};
    *number = 0;
    for (size_t l = 0; l < emulator_launches(); l++) {
        const struct launch_counts *c = emulator_launch(l);
        if (strcmp(c->kernel, kernel)) continue;
        ++*number;
        all.blocks += c->blocks;
        all.requests += c->requests;
        all.sectors += c->sectors;
        all.touched += c->touched;
        all.shared_requests += c->shared_requests;
        all.wavefronts += c->wavefronts;
        all.barriers += c->barriers;
        all.shared_bytes = c->shared_bytes;
    }
    printf("    %-16s %3zu times: %7llu requests %7llu sectors %7llu bytes, shared %7llu in %7llu, %5llu barriers\n",
           kernel, *number, all.requests, all.sectors, all.touched, all.shared_requests, all.wavefronts, all.barriers);
    return all;
}

static struct launch_counts all_launches(const char *kernel, size_t times)
{
    size_t number;
    struct launch_counts all = launches(kernel, &number);
    ck_assert_uint_eq(number, times);
    return all;
}

/* Claim      Rung 1 asks for every key of every channel and latent once for each output:
 *            a warp makes D (N (3 c + 2) + 2 c + 1) + 1 requests.
 * Measure    On 7 x 8 tokens of 16 channels, two latents; requests.
 * Tolerance  None.
 * Would it fail?  It did when q_ic was read twice for the bias. */
START_TEST(the_first_rung_asks_for_all_keys_anew)
{
    static const struct sizes z = {"7x8", CHANNELS, 1, 2, 1, true};
    struct trial t = lisa_trial(&z, "10");
    watched(&t, "cuda1", 1 + (unsigned)_i);
    unsigned long long warps = 56 * CHANNELS / 32, D = 2, c = CHANNELS, one = D * (56 * (3 * c + 2) + 2 * c + 1) + 1;
    ck_assert_uint_eq(all_launches("each_output", 1).requests, warps * one);
}
END_TEST

/* Claim      Rung 2 carries each pair of latents through the device's memory: product and
 *            contraction read and write P B C complex numbers twice there, beside what the
 *            library's transforms do.
 * Measure    Bytes that its launches touch, each sector once a launch.
 * Tolerance  None: numbers lie where sectors begin.
 * Would it fail?  It did when `weigh` read another pair's a beside its own. */
START_TEST(the_second_rung_carries_every_latent_through_memory)
{
    struct trial t = drawn();
    unsigned long long signals = N * WIDTH * POINT, tokens = N * WIDTH * REAL, a = HEADS * N * POINT;
    watched(&t, "cuda2", 1 + (unsigned)_i);

    /* Step 1: keys and values on their circles. */
    ck_assert_uint_eq(all_launches("lay_tokens", 2).touched, 2 * (tokens + signals));

    /* Step 2: products.  A key's kernels are as many as channels; a value's is one, and takes a sector;
     * so does each channel's bias. */
    unsigned long long kernels = N * (CHANNELS * POINT + SECTOR), biases = 2 * CHANNELS * SECTOR;
    unsigned long long products = PAIRS * (4 * signals + kernels + biases);
    ck_assert_uint_eq(all_launches("multiply", 2 * PAIRS).touched, products);

    /* Step 3: contractions with the query, and the sums y, which are read again but for the first time. */
    ck_assert_uint_eq(all_launches("contract", PAIRS).touched, PAIRS * (signals + tokens + a));
    ck_assert_uint_eq(all_launches("weigh", PAIRS).touched, PAIRS * (signals + tokens + a));
}
END_TEST

/* Claim      Rung 3 writes nothing between two latents.  Key and value are read once, and
 *            written once, as spectra; those are read once by every pair of latents, and a,
 *            N D numbers, is all that passes from one side to the other.
 * Paper      Table 1: no N c D is needed.
 * Measure    Bytes that each launch touches; and the sectors that the last one asks for: a warp
 *            is 16 channels of two tokens, whose a, and whose kernel's points, are one sector.
 * Tolerance  None.
 * Would it fail?  It did with the sums of the output kept in y. */
START_TEST(the_third_rung_writes_nothing_between_latents)
{
    struct trial t = drawn();
    unsigned long long spectra = N * WIDTH * POINT, tokens = N * WIDTH * REAL, a = HEADS * PAIRS * N * POINT;
    unsigned long long turns = ((14 + 14 + 1) * POINT + SECTOR - 1) / SECTOR * SECTOR, bias = CHANNELS * LATENTS * REAL;
    watched(&t, "cuda3", 1 + (unsigned)_i);

    ck_assert_uint_eq(all_launches("token_spectra", 1).touched, 2 * (tokens + spectra) + turns);
    ck_assert_uint_eq(all_launches("fused_structure", 1).touched,
                      spectra + PAIRS * N * CHANNELS * POINT + bias + tokens + a + turns);

    struct launch_counts output = all_launches("fused_output", 1);
    unsigned long long of_a_pair = N * CHANNELS * POINT / SECTOR + N / 2 + N / 2 + 2 * CHANNELS;
    ck_assert_uint_eq(output.touched, spectra + PAIRS * N * POINT + bias + a + tokens + turns);
    ck_assert_uint_eq(output.sectors, HEADS * (turns / SECTOR + PAIRS * of_a_pair + N * CHANNELS * REAL / SECTOR));
}
END_TEST

/* Claim      Transforms in place need a barrier for each pass, and one on either side; and
 *            with 16 channels in the lanes no bank is asked for two words at a time.
 * Measure    Barriers: 14 is 2 x 7, so four passes.  Cycles of shared memory against those without conflicts;
 *            bytes of a block.
 * Tolerance  None.
 * Would it fail?  It did when neighbouring threads took neighbouring tokens, not lanes, to
 *            weigh; and without the barrier after a contraction.  Without that of a pass the
 *            emulator names the race. */
START_TEST(shared_transforms_have_no_bank_conflicts)
{
    static const char *const kernels[] = {"token_spectra", "fused_structure", "fused_output"};
    static const unsigned phases[] = {2 * HEADS * (1 + 4), PAIRS * HEADS * (1 + 4 + 1), HEADS * PAIRS * (1 + 4 + 1)};
    struct trial t = drawn();
    watched(&t, "cuda3", 1 + (unsigned)_i);
    for (size_t k = 0; k < COUNT(kernels); k++) {
        struct launch_counts c = all_launches(kernels[k], 1);
        ck_assert_uint_eq(c.barriers, phases[k]);
        ck_assert_uint_eq(c.wavefronts, c.shared_requests);
        ck_assert_uint_eq(c.shared_bytes, (14 + 14 + 1) * POINT + N * CHANNELS * (POINT + REAL));
    }
}
END_TEST

/* Claim      In Eq. 4's tiles a block of 128 queries asks for each key and value once, and all
 *            threads of a warp read the same words of them in one cycle.
 * Measure    Requests: 2 N c / 32 of a block; of a warp of queries besides N for the RPE, and
 *            2 c for q and y.  Cycles of shared memory against those without conflicts.
 * Tolerance  None.
 * Would it fail?  It did when q was read for each key anew; without the barrier behind a tile
 *            the emulator names the race. */
START_TEST(a_block_asks_for_each_key_of_eq4_once)
{
    static const struct sizes z = {"14x14", CHANNELS, HEADS, LATENTS, 1, true};
    struct trial t = lisa_trial(&z, "4");
    watched(&t, "cuda3", 1 + (unsigned)_i);
    struct launch_counts c = all_launches("tiled<CHANNELS>", 1);
    unsigned long long blocks = 2, warps = 7, once = N * CHANNELS * 2 / 32;
    ck_assert_uint_eq(c.requests, HEADS * (blocks * once + warps * (N + 2 * CHANNELS)));
    ck_assert_uint_eq(c.wavefronts, c.shared_requests);
}
END_TEST

/* Claim      A block takes as many channels as let two blocks share a multiprocessor, or one
 *            channel. The library transforms a circle that does not fit. The output is LiSA's on
 *            every device.
 * Measure    Bytes of a block, for each grid as many channels as in the table; which kernels
 *            ran; the largest difference from the fast form over its largest entry.
 * Tolerance  None; that of all forms (promises.h).
 * Would it fail?  It did when blocks took all of the shared memory: 28 x 28 had 16 channels;
 *            when they took half of one block's most, without what the driver reserves for each of
 *            two: 30 x 40 had 8 channels; and when the inverse turned the way that the transform does. */
static const struct {
    struct sizes z;
    const char *word;
    size_t tokens, points, turns, lanes;
    const char *device;
} room[] = {
    {{"28x28", 17, 1, 2, 1, false}, "10", 784, 784, 57, sizeof(real) == 4 ? 8 : 4, NULL},
    {{"56x56", 2, 1, 2, 1, true}, "10", 3136, 3136, 113, sizeof(real) == 4 ? 2 : 1, NULL},
    {{"30x40", 5, 1, 1, 1, true}, "10", 1200, 1200, 71, sizeof(real) == 4 ? 4 : 2, NULL},
    {{"14x14", 9, 1, 1, 1, false}, "7", 196, 729, 55, sizeof(real) == 4 ? 16 : 8, NULL},
    {{"13x11", 5, 1, 2, 1, true}, "10", 143, 525, 47, 8, NULL},
    {{"141x141", 1, 1, 1, 1, true}, "10", 0, 0, 0, 0, NULL},
    {{"28x28", 17, 1, 2, 1, false}, "10", 784, 784, 57, sizeof(real) == 4 ? 2 : 1, "sm_75"},
    {{"28x28", 17, 1, 2, 1, false}, "10", 784, 784, 57, sizeof(real) == 4 ? 8 : 4, "sm_80"},
    {{"28x28", 17, 1, 2, 1, false}, "10", 784, 784, 57, sizeof(real) == 4 ? 4 : 2, "sm_86"},
    {{"56x56", 2, 1, 2, 1, true}, "10", 3136, 3136, 113, sizeof(real) == 4 ? 1 : 0, "sm_75"},
    {{"56x56", 2, 1, 2, 1, true}, "10", 3136, 3136, 113, 1, "sm_86"},
    {{"14x14", 9, 1, 1, 1, false}, "7", 196, 729, 55, sizeof(real) == 4 ? 4 : 2, "sm_75"},
    {{"14x14", 9, 1, 1, 1, false}, "7", 196, 729, 55, sizeof(real) == 4 ? 4 : 2, "sm_120"},
};
START_TEST(blocks_take_as_many_channels_as_fit)
{
    struct trial t = lisa_trial(&room[_i].z, room[_i].word);
    real *fast = trial_run(&t, "fast", 1), *y = zeros(t.outputs);
    struct plan plan;
    size_t fused, library;
    ck_assert(emulator_device(room[_i].device));
    succeeds(plan_create(&plan, &t.problem, operator_rung(&lisa, "cuda3"), 1));
    emulator_watch(true, 5);
    succeeds(plan_run(&plan, y, t.x));
    plan_release(&plan);
    emulator_device(NULL);
    size_t bytes = launches("fused_output", &fused).shared_bytes, turns = room[_i].turns * POINT;
    launches("multiply", &library);
    within(room[_i].z.grid, relative_difference(y, fast, t.outputs), promise_tolerance(&t.problem));
    ck_assert_uint_eq(fused, room[_i].lanes > 0);
    ck_assert_uint_eq(library > 0, room[_i].lanes == 0);
    if (fused) ck_assert_uint_eq(bytes, turns + room[_i].lanes * (room[_i].points * POINT + room[_i].tokens * REAL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_lisa");
    TCase *counts = add_case(suite, "what the rungs ask for");
    tcase_add_loop_test(counts, the_first_rung_asks_for_all_keys_anew, 0, 2);
    tcase_add_loop_test(counts, the_second_rung_carries_every_latent_through_memory, 0, 2);
    tcase_add_loop_test(counts, the_third_rung_writes_nothing_between_latents, 0, 2);
    tcase_add_loop_test(counts, shared_transforms_have_no_bank_conflicts, 0, 2);
    tcase_add_loop_test(counts, a_block_asks_for_each_key_of_eq4_once, 0, 2);
    TCase *shared = add_case(suite, "what blocks hold");
    tcase_add_loop_test(shared, blocks_take_as_many_channels_as_fit, 0, (int)COUNT(room));
    return run_suite(suite);
}
