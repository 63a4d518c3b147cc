/* devices.h -- forms by what someone typed, rungs on a device among them
 *
 * The kernels of fast/cuda are in every build, emulated (`--device host`, or `host:sm_86` with
 * the limits of that device).  For a device
 * nvcc has made a library of the same kernels, libtwicetold-cuda.so, which is looked for
 * beside the program, in ../lib where the program is installed, or where TWICETOLD_CUDA
 * says.  It is loaded when first asked for: a program that asks for no device touches none. */

#ifndef TWICETOLD_PROGRAM_DEVICES_H
#define TWICETOLD_PROGRAM_DEVICES_H

#include "../../fast/cuda/plugin.h"

/* The plug-in, or NULL and why there is none. */
status devices_plugin(const struct cuda_plugin **plugin);

/* Whether there is one, and a device for it. */
bool device_present(void);

/* Rung number `at` of an operator in the plug-in, NULL behind the last; the one of that name, of
 * which cuda is the last, or NULL. */
const struct form *device_rung_at(const struct cuda_plugin *plugin, const struct declaration *d, int at);
const struct form *device_rung(const struct cuda_plugin *plugin, const struct declaration *d, const char *name);

/* Whether this text, which may be NULL, is host or host:NAME. */
bool device_is_emulated(const char *device);

/* The form of that name: as form_named (forms.h), or a rung on the device of that text, a
 * number, host or host:NAME, 0 where it is NULL.  Refused: what is no form; a device for what is no
 * rung; a device that is not there.  Plans on a device may take `allowed` bytes of it, 0
 * for three quarters of what is free. */
status form_on(const struct form **form, const struct declaration *d, const char *name, const char *device,
               size_t allowed);

#endif
