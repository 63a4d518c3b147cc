/* product.h -- products of matrices
 *
 *     C = start + op(A) op(B),   op(A) [rows][terms], op(B) [terms][columns], C [rows][columns]
 *
 * start is a row that is added to each row of the product, or NULL for zeros; op transposes or does nothing.  C
 * overlaps no input, and is not read.
 *
 * The library is oneDNN in float on x86-64, if the build found it (libdnnl-dev), and else CBLAS. */

#pragma once
#include <stdbool.h>
#include "real.h"

BEGIN_C_DECLS

struct factor {
    const real *at;
    size_t stride;              /* from one row to the next, before op */
    bool transposed;
};

void product(real *c, size_t c_stride, struct factor a, struct factor b, const real *start,
             size_t rows, size_t terms, size_t columns);

/* Writes "oneDNN 2.6.0" into text, or an empty string if the library is CBLAS. */
void product_library(char *text, size_t size);

END_C_DECLS
