/* safetensors.h -- tensors in files, read as if every file were hostile
 *
 * The format (github.com/huggingface/safetensors, "Format"):
 *
 *     8 bytes   n, unsigned, little-endian
 *     n bytes   the header, JSON in UTF-8, padded at its end with spaces:
 *               {"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *     the rest  the data section; offsets count from its first byte
 *
 * Read are F32 and F64, mixed as the file likes, in any order.  An object of
 * strings named __metadata__ is accepted and passed over.  Refused is all else:
 *
 *   - a path that is not a regular file; n of 0, beyond the file or beyond
 *     100 000 000, the format's own limit;
 *   - a header that is not strict JSON in UTF-8 beginning with {, or is nested
 *     deeper than the format is, or is followed by anything but spaces, or has
 *     a zero byte in a name, spelled out or as \u0000;
 *   - a name that occurs twice, compared after unescaping;
 *   - a tensor without exactly the fields dtype, shape and data_offsets; another
 *     dtype; more than TENSOR_AXES axes; an axis of size 0; a size that overflows;
 *   - a number that is not a whole one below 2^53 written in plain digits: 2.0,
 *     2e0, 02 and -0 are refused, as a file with those is no program's output;
 *   - data that do not tile the data section: offsets that disagree with
 *     dtype and shape, overlap, leave a gap or a byte at the end, or lie outside.
 *
 * All of this is checked before memory for the first tensor is asked for.
 * The messages name the tensor, or the byte of the header, but not the file:
 * callers that read several put the path before them with status_at.
 *
 * Safe from several threads; headers are parsed one at a time, since cJSON keeps
 * the place of its last error in a static. */

#ifndef TWICETOLD_SAFETENSORS_H
#define TWICETOLD_SAFETENSORS_H

#include <stdbool.h>
#include <stdio.h>
#include "../status.h"
#include "../tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every tensor of the file, in the order of its header, as reals.  Values of
 * the other precision are converted: double to float rounds, and overflows to
 * infinity.  NaN and infinity are data.  Released by tensors_release; on an
 * error the list is empty.  STATUS_FAILURE where memory is out or the disk
 * does not answer, STATUS_BAD_INPUT for all else.
 *
 * n log n for n tensors; while the header is parsed cJSON holds a tree of
 * some tens of bytes for each byte of the header. */
status safetensors_read(struct tensors *list, const char *path);

/* The same in two steps, for those who want to know what is in a file before
 * there is memory for it.  Opened, its tensors have names and shapes and no
 * data; loaded, they have those.  After an error there is nothing left, nor
 * after safetensors_close, which may come twice. */
struct safetensors {
    struct tensors tensors;
    struct place *place;        /* where the file keeps each of them */
    FILE *file;
};

status safetensors_open(struct safetensors *opened, const char *path);
status safetensors_load(struct safetensors *opened);
void safetensors_close(struct safetensors *opened);

/* Of an opened file, without loading it: count numbers of tensor number t from
 * number `first` on, as doubles whatever the file holds; and in how many bytes it
 * holds each, 4 or 8. */
status safetensors_doubles(double *values, struct safetensors *opened, size_t t, size_t first, size_t count);
size_t safetensors_width(const struct safetensors *opened, size_t t);

/* A file of these tensors in this order: F32 from the float build, F64 from
 * the double build; read back, they are the same to the bit.
 *
 * path has the old file or the complete new one, and after an error still the old one (atomic_file.h).
 *
 * STATUS_BAD_INPUT where path is a folder or not a regular file, its folder is
 * absent or it or its folder not writable, or a name occurs twice, is not UTF-8 or is
 * __metadata__; STATUS_FAILURE where disk or memory is full. */
status safetensors_write(const char *path, const struct tensor *tensors, size_t count);

/* Whether two paths are one file: the same text, or, where both exist, the same
 * file by whatever hard or symbolic links. */
bool same_file(const char *a, const char *b);

#ifdef __cplusplus
}
#endif

#endif
