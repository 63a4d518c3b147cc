/* test_product.c -- matrix products, by our loops and by the library */

#define _GNU_SOURCE             /* RTLD_NEXT */
#include "../support/support.h"
#include "../../reference/runtime/product.h"

#if defined TWICETOLD_ONEDNN && !defined TWICETOLD_DOUBLE
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

static bool exhausted;
static unsigned rejected, made;

/* This definition takes precedence over the library's. */
dnnl_status_t dnnl_sgemm(char a_op, char b_op, dnnl_dim_t rows, dnnl_dim_t columns, dnnl_dim_t terms, float by,
                         const float *a, dnnl_dim_t a_stride, const float *b, dnnl_dim_t b_stride, float kept,
                         float *c, dnnl_dim_t c_stride)
{
    static dnnl_status_t (*library)(char, char, dnnl_dim_t, dnnl_dim_t, dnnl_dim_t, float, const float *, dnnl_dim_t,
                                    const float *, dnnl_dim_t, float, float *, dnnl_dim_t);
    if (!library) *(void **)&library = dlsym(RTLD_NEXT, "dnnl_sgemm");
    if (exhausted) {
        for (dnnl_dim_t r = 0; r < rows; r++)
            for (dnnl_dim_t j = 0; j < columns; j++) c[r * c_stride + j] = 1e9f;
        rejected++;
        return dnnl_out_of_memory;
    }
    made++;
    return library(a_op, b_op, rows, columns, terms, by, a, a_stride, b, b_stride, kept, c, c_stride);
}
#define EXHAUSTIBLE 1
#else
static bool exhausted;
static unsigned rejected, made;
#define EXHAUSTIBLE 0
#endif

/* Size 1; no terms; whole tiles of kernels, partial ones and several; one row, one column, no rows.  The last two are
 * large: oneDNN computes them. */
static const struct { size_t rows, terms, columns; } size[] = {
    {1, 1, 1}, {5, 0, 3}, {7, 5, 3}, {1, 40, 33}, {50, 17, 1}, {48, 16, 8}, {97, 130, 65}, {13, 800, 49}, {0, 3, 4},
    {151, 170, 80}, {2, 330, 400},
};
enum { SMALL = COUNT(size) - 2 };

/* f = x [rows][columns], transposed if f says so, in rows that are longer by `padding` NaNs. */
static void store_factor(const real *x, size_t rows, size_t columns, size_t padding, struct factor *f)
{
    size_t long_rows = f->transposed ? columns : rows, wide = f->transposed ? rows : columns;
    real *to = zeros(long_rows * (wide + padding) + 1);
    for (size_t r = 0; r < long_rows; r++)
        for (size_t j = 0; j < wide + padding; j++)
            to[r * (wide + padding) + j] =
                j >= wide ? (real)NAN : f->transposed ? x[j * columns + r] : x[r * columns + j];
    *f = (struct factor){to, wide + padding, f->transposed};
}

/* C = start + op(A) op(B), exactly (integers), for every op and size, although C held NaN; also if the library runs out
 * of memory after it has overwritten C.  Nothing next to A, B and C is used.  Small products do not call oneDNN. */
TESTS(product_is_the_sum, COUNT(size))
{
    size_t rows = size[_i].rows, terms = size[_i].terms, columns = size[_i].columns, wide = columns + 2;
    real *x = integers(1, rows * terms + 1, 5), *w = integers(2, terms * columns + 1, 5);
    real *start = integers(3, columns, 5);

    rejected = made = 0;
    for (unsigned way = 0; way < 16; way++) {
        struct factor a = {.transposed = way & 1}, b = {.transposed = way & 2};
        const real *from = way & 4 ? start : NULL;
        store_factor(x, rows, terms, 3, &a);
        store_factor(w, terms, columns, 1, &b);
        real *c = zeros(rows * wide + 1);
        for (size_t i = 0; i < rows * wide; i++) c[i] = (real)NAN;

        exhausted = way & 8;
        product(c, wide, a, b, from, rows, terms, columns);
        for (size_t r = 0; r < rows; r++) {
            for (size_t j = 0; j < columns; j++) {
                real sum = from ? from[j] : 0;
                for (size_t t = 0; t < terms; t++) sum += x[r * terms + t] * w[t * columns + j];
                ck_assert_msg(c[r * wide + j] == sum, "way %u: [%zu][%zu] is %g, expected %g", way, r, j,
                              (double)c[r * wide + j], (double)sum);
            }
            ck_assert(isnan(c[r * wide + columns]) && isnan(c[r * wide + columns + 1]));
        }
    }
    exhausted = false;
    ck_assert_uint_eq(rejected, EXHAUSTIBLE && _i >= SMALL ? 8 : 0);
    ck_assert_uint_eq(made, EXHAUSTIBLE && _i >= SMALL ? 8 : 0);
}

/* NaN and infinity in A reach their row of C, although B is zero, and no other row: in loops, and in the library. */
TESTS(nan_reaches_its_row, 2)
{
    size_t rows = 30, terms = _i ? 320 : 20, columns = _i ? 450 : 40;
    real *x = integers(1, rows * terms, 5), *w = zeros(terms * columns), *c = zeros(rows * columns);
    x[7 * terms + 3] = (real)NAN;
    x[9 * terms + 4] = (real)INFINITY;
    product(c, columns, (struct factor){x, terms, false}, (struct factor){w, columns, false}, NULL,
            rows, terms, columns);
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < columns; j++)
            ck_assert((r == 7 || r == 9) ? isnan(c[r * columns + j]) : c[r * columns + j] == 0);
}

int main(void) { return run_tests("products"); }
