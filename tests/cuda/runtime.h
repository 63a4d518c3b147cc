/* runtime.h -- a CUDA runtime without a device, to test fast/cuda/device_gpu.cu
 *
 * tests/cuda/runtime.cu compiles device_gpu.cu against it.  It has two devices.  As a device does, it
 * keeps the last error until it is asked for, and rejects what belongs to a device that is not
 * the current one. */

#ifndef TWICETOLD_TESTS_RUNTIME_H
#define TWICETOLD_TESTS_RUNTIME_H

#include "../../fast/cuda/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RUNTIME_REALS 6                 /* of x and y */

/* A form that uses all of device.h and copies x to y. */
extern const struct form on_the_runtime;

/* Gives both devices this capability and no error; makes the call with this number fail, from 1 on (0: none). */
void runtime_open(int capability);
void runtime_fail(int call);

/* The step that a run begins with: 0 a launch, 1 a Fourier transform, 2 two branches. */
void runtime_first(int step);

struct runtime_state {
    bool failed;                        /* the call came, and had to succeed */
    bool came;                          /* the call came */
    bool error_left;                    /* the last error was not asked for */
    int handles, copies;                /* of both devices: not destroyed, not waited for */
    int foreign;                        /* calls with a handle of the device that is not current */
    size_t bytes[2];                    /* of each device */
};
struct runtime_state runtime_state(void);

/* The plug-in, and what device.h says of the device that was chosen. */
const struct cuda_plugin *runtime_plugin(void);
size_t runtime_shared_bytes(int blocks);
status runtime_tensor_cores(const struct plan *plan);

#ifdef __cplusplus
}
#endif

#endif
