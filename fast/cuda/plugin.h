/* plugin.h -- interface of the CUDA plug-in
 *
 * nvcc compiles this folder and its dependencies into libtwicetold-cuda.so, one for each precision.  The program loads
 * it if it is present (reference/cli/devices.h): one build serves machines with and without a device. */

#pragma once
#include "versions.h"

BEGIN_C_DECLS

struct cuda_plugin {
    size_t real_bytes, plan_bytes;      /* sizeof(real) and sizeof(struct plan) in the plug-in, to be compared */
    const struct form_row *forms;       /* the plug-in has its own declarations: compare their names */

    /* Later plans use this device and at most `allowed` bytes of it (0: 3/4 of the free ones).  Error if absent. */
    status (*choose)(int device, size_t allowed);
    const char *(*name)(void);          /* of that device */

    size_t (*bytes)(const struct plan *plan);

    /* Later runs and loads of this plan copy nothing: x is the last one on the device.  For measuring only. */
    void (*stay)(struct plan *plan, bool stays);
};

/* The only name that the plug-in exports. */
__attribute__((visibility("default"))) const struct cuda_plugin *twicetold_cuda_plugin(void);

END_C_DECLS
