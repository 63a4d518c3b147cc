/* devices.h -- find forms by name, on a device too
 *
 * Every build has the kernels of fast/cuda, emulated (`--device host`, or `host:sm_86` with the limits of that device).
 * For real devices nvcc compiles the same kernels to a library, libtwicetold-cuda.so.  Its path is TWICETOLD_CUDA; if
 * that is not set, it is next to the program or in ../lib.  It is loaded on first use. */

#pragma once
#include "../../fast/cuda/plugin.h"

/* Finds the first of these files that exists, relative to the program's folder; places end at NULL. */
bool program_file(char *path, size_t size, const char *const *places);

/* The plug-in; NULL on an error. */
status devices_plugin(const struct cuda_plugin **plugin);

/* True if there is a plug-in and a device for it. */
bool device_present(void);

/* True if this text is host or host:NAME; it may be NULL. */
bool device_is_emulated(const char *device);

/* The form of that name, for the processor (forms.h) or for a device: a number, host or host:NAME; NULL is 0.  An error
 * if the name is unknown, if the form is for the processor and a device is given, or if the device is absent.  Plans on
 * a device may take `allowed` bytes of its memory; 0 is three quarters of the free memory. */
status form_on(const struct form **form, const struct declaration *d, const char *name, const char *device,
               size_t allowed);
