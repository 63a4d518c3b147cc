/* devices.h -- find forms by name, on a device too
 *
 * Every build has the kernels of fast/cuda, emulated (`--device host`, or `host:sm_86` with the limits of that device).
 * For real devices nvcc makes a library of the same kernels, libtwicetold-cuda.so.  It is looked for at the path in
 * TWICETOLD_CUDA; if that is not set, next to the program and in ../lib.  It is loaded on first use: a program that
 * names no device touches none. */

#ifndef TWICETOLD_PROGRAM_DEVICES_H
#define TWICETOLD_PROGRAM_DEVICES_H

#include "../../fast/cuda/plugin.h"

/* The plug-in; NULL on an error. */
status devices_plugin(const struct cuda_plugin **plugin);

/* True if there is a plug-in and a device for it. */
bool device_present(void);

/* Form number `at` of an operator in the plug-in, NULL after the last; the form of that name, or NULL.  cuda names the
 * last one without rounding. */
const struct form *device_version_at(const struct cuda_plugin *plugin, const struct declaration *d, int at);
const struct form *device_version(const struct cuda_plugin *plugin, const struct declaration *d, const char *name);

/* True if this text is host or host:NAME; it may be NULL. */
bool device_is_emulated(const char *device);

/* The form of that name: one of the processor's (forms.h), or one on a device: its number, host or host:NAME; NULL is
 * 0. Rejected: an unknown name; a device for a form of the processor; a device that is absent.  Plans on a device may
 * take `allowed` bytes of its memory; 0 is three quarters of what is free. */
status form_on(const struct form **form, const struct declaration *d, const char *name, const char *device,
               size_t allowed);

#endif
