/* tensor.h -- a name, a shape, and dense row-major reals
 *
 * The last axis is the fastest.  A tensor owns its name and its data. */

#pragma once
#include "memory.h"
#include "status.h"

BEGIN_C_DECLS

#define TENSOR_AXES 8

struct tensor {
    char *name;                 /* zero-terminated */
    int axes;                   /* 0 ... TENSOR_AXES */
    size_t size[TENSOR_AXES];   /* each at least 1 */
    size_t count;               /* their product */
    real *data;                 /* NULL before tensor_allocate */
};

struct tensors {                /* a list, in the order of the file */
    size_t count;
    struct tensor *tensor;
};

/* A tensor of this name and shape, with uninitialised data.  In two steps: tensor_describe leaves data NULL,
 * tensor_allocate allocates them. */
status tensor_create(struct tensor *t, const char *name, int axes, const size_t *size);
status tensor_describe(struct tensor *t, const char *name, int axes, const size_t *size);
status tensor_allocate(struct tensor *t);

/* Frees name and data; a second call does nothing. */
void tensor_release(struct tensor *t);
void tensors_release(struct tensors *list);

/* The tensor of that name, or NULL. */
struct tensor *tensors_find(const struct tensors *list, const char *name);

/* Bad input: no tensor of this name.  If the list has it after a prefix ("model."), the message says so. */
status tensor_missing(const char *name, const char *expected, const struct tensors *list);

/* Writes "[2, 196, 96]" into text of `size` bytes; returns text. */
char *shape_text(char *text, size_t size, int axes, const size_t *shape);

END_C_DECLS
