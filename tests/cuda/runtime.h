/* runtime.h -- a fake CUDA runtime with two devices, to test fast/cuda/device_gpu.cu
 *
 * runtime.cu compiles device_gpu.cu against it.  Like CUDA, it keeps the last error until it is queried, and rejects
 * handles of a device that is not current. */

#pragma once
#include "../../fast/cuda/plugin.h"

BEGIN_C_DECLS

#define RUNTIME_REALS 6                 /* of x and y */

/* A form that copies x to y, and makes a launch, a Fourier transform and two branches. */
extern const struct form on_the_runtime;

/* Resets the runtime to two devices of this capability.  Makes call number `call` fail, counted from 1 (0: none). */
void runtime_open(int capability);
void runtime_fail(int call);

/* The step that a run begins with: 0 a launch, 1 a Fourier transform, 2 two branches. */
void runtime_first(int step);

struct runtime_state {
    bool failed;                        /* the failing call was made, and its error must be reported */
    bool came;                          /* the failing call was made */
    bool error_left;                    /* the last error was not queried */
    int handles, copies;                /* handles not destroyed, copies not waited for */
    int foreign;                        /* calls with a handle of a device that is not current */
    size_t bytes[2];                    /* of each device */
};
struct runtime_state runtime_state(void);

/* The plug-in, and functions of device.h for the chosen device. */
const struct cuda_plugin *runtime_plugin(void);
size_t runtime_shared_bytes(int blocks);
status runtime_tensor_cores(const struct plan *plan);

END_C_DECLS
