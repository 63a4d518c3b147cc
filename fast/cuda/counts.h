/* counts.h -- counts the memory requests of emulated kernels
 *
 * The counts are the same on every machine.  requests.h explains how requests are grouped, and how the cycles of shared
 * memory are modelled.
 *
 *     emulator_watch(true, 7);             count; seed 7 sets the order of threads
 *     plan_run(&plan, y, x);
 *     for (size_t l = 0; l < emulator_launches(); l++) ... emulator_launch(l)->sectors ...
 *     emulator_watch(false, 0);
 *
 * Settings and results belong to the calling thread. */

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../reference/runtime/linkage.h"

BEGIN_C_DECLS

struct launch_counts {
    const char *kernel;
    unsigned blocks, threads;           /* of the launch; of a block */
    size_t shared_bytes;                /* of a block */
    unsigned long long
        requests,                       /* instructions of a warp that access device memory */
        sectors,                        /* distinct ones of 32 bytes, added over requests */
        asked,                          /* bytes of device memory that the threads access */
        touched,                        /* bytes of all distinct sectors of the launch */
        shared_requests, wavefronts,    /* cycles of shared memory without and with bank conflicts (requests.h) */
        partial,                        /* requests of fewer lanes than lived at the last block barrier */
        barriers,                       /* of blocks */
        exchanges,                      /* shuffles and votes, one for all lanes of a mask */
        atomics,                        /* one per thread */
        products;                       /* of tensor cores, one per warp */
};

/* Clears the launches of this thread, switches counting on or off, and sets the seed of the order of threads. */
void emulator_watch(bool counting, uint64_t seed);

/* Sets the limits of this thread's emulated device by name (NULL: sm_90); false if the name is unknown. */
bool emulator_device(const char *name);

/* Name of device number `at`, or NULL after the last. */
const char *emulator_device_name(int at);

size_t emulator_launches(void);
const struct launch_counts *emulator_launch(size_t at);

END_C_DECLS
