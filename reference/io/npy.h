/* npy.h -- files of tensors, in the format that the ending of their name says
 *
 *     NAME, NAME.safetensors      safetensors.h
 *     NAME.npy                    one array of NumPy, without a name
 *     NAME.npz                    named arrays: a zip archive of NAME.npy, stored or deflated, of at most 4 GiB
 *     -                           standard input or output, as safetensors
 *
 * Source: numpy.lib.format, versions 1.0 to 3.0, and PKWARE's APPNOTE 6.3.  Arrays are f4 or f8, of either byte order,
 * in C order.  Sizes and offsets are checked before they are used, and the CRC-32 of each member of an archive.
 *
 * A pipe and an archive are read into memory; all other files are read in pieces, as by safetensors.h. */

#pragma once
#include "safetensors.h"

BEGIN_C_DECLS

struct tensor_request {
    const char *name;           /* of the array in a .npy file; NULL: "x" */
    size_t allowed;             /* the most bytes to read into memory; 0: three quarters of the free memory */
    bool (*asked)(const void *params, const char *name);        /* NULL: reject unreadable tensors (safetensors.h) */
    const void *params;
};

/* The rest is as for safetensors_open; safetensors_load, safetensors_doubles and safetensors_close follow. */
status tensor_file_open(struct safetensors *opened, const char *path, const struct tensor_request *request);

/* All tensors of a file, as safetensors_read; `name` as above. */
status tensor_file_read(struct tensors *list, const char *path, const char *name);

/* As safetensors_write.  A .npy file takes one tensor. */
status tensor_file_write(const char *path, const struct tensor *tensors, size_t count);

/* Bad input if the name has another ending. */
status tensor_file_check(const char *path);

END_C_DECLS
