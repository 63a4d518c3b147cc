/* counts.h -- what the emulated kernels of the last run asked of the memory
 *
 * The same on every machine: requests of warps, not time.  Exact, except that the cycles of
 * shared memory are those of a model (requests.h).
 *
 *     emulator_watch(true, 7);             count; take turns by seed 7
 *     plan_run(&plan, y, x);
 *     for (size_t l = 0; l < emulator_launches(); l++) ... emulator_launch(l)->sectors ...
 *     emulator_watch(false, 0);
 *
 * Settings and results are the calling thread's own. */

#ifndef TWICETOLD_FAST_CUDA_COUNTS_H
#define TWICETOLD_FAST_CUDA_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct launch_counts {
    const char *kernel;
    unsigned blocks, threads;           /* of the launch; of a block */
    size_t shared_bytes;                /* of a block */
    unsigned long long
        requests,                       /* of device memory, by a warp: one instruction */
        sectors,                        /* of 32 bytes, that these touch, each counted anew */
        asked,                          /* bytes that its threads asked for */
        touched,                        /* bytes of all the sectors that the launch touched, each counted once */
        shared_requests, wavefronts,    /* cycles of shared memory without bank conflicts, and with (requests.h) */
        partial,                        /* requests in which not all lanes of the warp took part */
        barriers,                       /* of blocks, each counted once a block */
        exchanges,                      /* shuffles and votes of warps */
        atomics,
        products;                       /* of tensor cores, one instruction of a warp each */
};

/* Clears the launches of this thread, counts later ones or not, and sets the seed of the order of threads. */
void emulator_watch(bool counting, uint64_t seed);

/* Sets the limits of this thread's emulated device by name (NULL: sm_90); false if it is not known.  The names. */
bool emulator_device(const char *name);
const char *emulator_device_name(int at);

size_t emulator_launches(void);
const struct launch_counts *emulator_launch(size_t at);

#ifdef __cplusplus
}
#endif

#endif
