/* safetensors.h -- tensors in files, read as if every file were hostile
 *
 *     8 bytes   n, unsigned, little-endian
 *     n bytes   the header, JSON in UTF-8, padded at its end with spaces:
 *               {"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *     the rest  the data section; offsets count from its first byte
 *
 * Source: github.com/huggingface/safetensors, "Format".  A file may mix F32 and F64, in any order.  An object of
 * strings named __metadata__ is ignored.  Everything else is checked before any data are read (see safetensors_open).
 *
 * Error messages name the tensor, or the byte of the header, but not the file; status_at adds it.
 *
 * Safe from several threads.  Headers are parsed one at a time, since cJSON keeps its last error in a static. */

#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "../runtime/status.h"
#include "../runtime/tensor.h"

BEGIN_C_DECLS

/* All tensors of a file, in the order of its header, as reals; released by tensors_release.  double to float rounds,
 * and overflows to infinity.  NaN and infinity are data.  On an error the list is empty: STATUS_FAILURE if memory is
 * out or the disk fails, STATUS_BAD_INPUT for all else.
 *
 * Cost: n log n for n tensors.  While the header is parsed, cJSON takes some tens of bytes for each of its bytes. */
status safetensors_read(struct tensors *list, const char *path);

/* The same in two steps, to know the tensors before there is memory for them.  Open gives names and shapes, load the
 * data.  After an error, or safetensors_close, nothing is left; closing twice is allowed. */
struct safetensors {
    struct tensors tensors;
    struct place *place;        /* of each tensor in the file */
    FILE *file;
    void *bytes;                /* the file, if it is in memory (npy.h) */
    /* If not NULL: a tensor of another dtype or without numbers is left out, unless it is asked for. */
    bool (*asked)(const void *params, const char *name);
    const void *params;
    size_t ignored;             /* tensors left out */
    char first_ignored[64];
};

struct place {
    const char *name;
    uint64_t at, end;           /* of its data, in the file */
    size_t width;               /* bytes of one element: 4 or 8 */
    bool big_endian;
};

/* STATUS_BAD_INPUT for:
 *
 *   - a path that is not a regular file; n of 0, beyond the file or beyond 100 000 000, the format's own limit;
 *   - a header that does not begin with { or is not strict JSON in UTF-8, is nested deeper than the format allows, has
 *     a zero byte in a string (even as \u0000), or anything but spaces at its end;
 *   - a name that occurs twice, compared after unescaping;
 *   - a tensor without exactly the fields dtype, shape and data_offsets; another dtype; more than TENSOR_AXES axes; an
 *     axis of size 0; a size that overflows;
 *   - a number that is not a whole one below 2^53 in plain digits (2.0, 2e0, 02 and -0 are rejected);
 *   - data that do not tile the data section: offsets that disagree with dtype and shape, overlap, leave a gap or a
 *     byte at the end, or lie outside. */
status safetensors_open(struct safetensors *opened, const char *path);
/* The same of `bytes` bytes in opened->file; `path` is for messages.  opened->asked may be set. */
status safetensors_header(struct safetensors *opened, const char *path, uint64_t bytes);
status safetensors_load(struct safetensors *opened);
void safetensors_close(struct safetensors *opened);

/* Without loading: count numbers of tensor number t, from number `first` on, as doubles whatever the file holds; and
 * the bytes of each in the file, 4 or 8. */
status safetensors_doubles(double *values, struct safetensors *opened, size_t t, size_t first, size_t count);
size_t safetensors_width(const struct safetensors *opened, size_t t);

/* A file of these tensors in this order: F32 from the float build, F64 from the double build.  Read back, they are the
 * same to the bit.  path has the old file or the complete new one, and after an error the old one (atomic_file.h).
 *
 * STATUS_BAD_INPUT if the path is a folder or no regular file, it or its folder is not writable, or the folder is
 * absent; if a name occurs twice, is not UTF-8 or is __metadata__; if the header is too long.  STATUS_FAILURE if disk
 * or memory is full. */
status safetensors_write(const char *path, const struct tensor *tensors, size_t count);

/* True if a tensor is left out: it is not readable, and not asked for.  Counts it. */
bool tensor_ignored(struct safetensors *opened, const char *name, bool readable);
void tensor_ignore(struct safetensors *opened, const char *name);

/* Writes the numbers in little-endian order, unless file is NULL; adds them to *sum, a CRC-32, unless NULL.  False
 * on an error, in errno. */
bool tensor_write(FILE *file, const struct tensor *t, unsigned long *sum);

/* Bad input if the format does not allow a name: not in UTF-8, twice, __metadata__. */
status tensor_names_check(const struct tensor *tensors, size_t count);

/* True if both paths are the same text or name the same file, through any hard or symbolic links. */
bool same_file(const char *a, const char *b);

END_C_DECLS
