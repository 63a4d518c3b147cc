/* plugin.h -- what the plug-in of a machine with CUDA brings
 *
 * nvcc makes libtwicetold-cuda.so of this folder, one for each precision, and puts into it
 * what it needs of reference/.  The program loads it where it is there
 * (reference/cli/devices.h), so that one build serves machines with and without a device. */

#ifndef TWICETOLD_FAST_CUDA_PLUGIN_H
#define TWICETOLD_FAST_CUDA_PLUGIN_H

#include "versions.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_plugin {
    size_t real_bytes, plan_bytes;      /* of a real and of a struct plan, when it was built */
    const struct form_row *forms;       /* of declarations of its own: known by their names */

    /* Later plans use this device and at most this many bytes of it (0: 3/4 of the free ones).  Error if absent. */
    status (*choose)(int device, size_t allowed);
    const char *(*name)(void);          /* of that device */

    /* Bytes of the device that a plan takes. */
    size_t (*bytes)(const struct plan *plan);

    /* Later runs of this plan copy neither x nor y: they use the last x on the device.  For measuring only. */
    void (*stay)(struct plan *plan, bool stays);
};


/* The one name that the plug-in exports. */
__attribute__((visibility("default"))) const struct cuda_plugin *twicetold_cuda_plugin(void);

#ifdef __cplusplus
}
#endif

#endif
