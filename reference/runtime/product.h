/* product.h -- products of matrices, by the best library at hand
 *
 *     C = start + op(A) op(B),   op(A) [rows][terms], op(B) [terms][columns], C [rows][columns]
 *
 * start is a row that every row of C begins with, or NULL for zeros.  Rows of A,
 * B and C as they lie are a_stride, b_stride and c_stride apart; op transposes or
 * does nothing.  C overlaps no input; what it held is not read.
 *
 * In float, on x86-64, where libdnnl-dev was there at the build, the library is oneDNN,
 * whose kernels are made for the processor that they run on; in double and elsewhere
 * it is CBLAS.  Either runs on the calling thread where plan_run or plan_load
 * called the form. */

#ifndef TWICETOLD_PRODUCT_H
#define TWICETOLD_PRODUCT_H

#include <stdbool.h>
#include "real.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix as it lies, and whether op transposes it. */
struct factor {
    const real *at;
    size_t stride;
    bool transposed;
};

void product(real *c, size_t c_stride, struct factor a, struct factor b, const real *start,
             size_t rows, size_t terms, size_t columns);

/* Its name and version into text, or an empty string where it is CBLAS. */
void product_library(char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
