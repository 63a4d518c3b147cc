/* cp.h -- a tensor as a sum of outer products
 *
 * The CP decomposition (CANDECOMP/PARAFAC; Hitchcock 1927, Carroll and Chang
 * 1970, Harshman 1970) of a tensor of 3 to 5 axes,
 *
 *     t[i, j, k, ...]  ~  sum_r  U1[i,r] U2[j,r] U3[k,r] ...
 *
 * ChoP'D Former (anonymous, under review, 2023), Sec. 2.1 and Eq. 5, writes the
 * weights of a layer so.  The rank of a tensor is the smallest number of terms
 * that gives it exactly; nobody knows how to find it but by trying, and a best
 * approximation of less than full rank need not exist.  A term may be scaled in
 * one axis and unscaled in another, and the terms stand in no order.
 *
 *     tensor   [size[0]][size[1]]...[size[axes-1]], row-major, finite
 *     factor   factor[a] is [size[a]][rank]; the norms of term r's columns are equal
 *              in all axes, there is no separate weight
 *     error    ||tensor - terms|| / ||tensor||, Frobenius norms, from the entries
 *              themselves and not from the difference of two large sums
 *
 * Alternating least squares: with all factors but one held, the best for that
 * one solves the linear system U (G + lambda I) = M + lambda U', where
 *
 *     M [size[a]][rank]    the tensor times the other factors' columns, over the other axes
 *     G [rank][rank]       the entrywise product of the other factors' U^T U
 *     U'                   the factor as it was
 *
 * all for columns brought to length 1 in the factors that are held.  The term
 * in lambda keeps the step defined where G is singular (more terms than the other
 * axes can tell apart, terms that vanished or are alike) and has no say in where
 * the iteration comes to rest.  Lambda is 1e-12, where G has ones on its
 * diagonal, and a hundred times more as often as Cholesky's factorisation fails
 * (LAPACK's dpotrf and dpotrs, which OpenBLAS's own header declares).  After each
 * sweep over the axes a leap on in its direction is tried, and kept where that
 * lowers the error (Harshman 1970, Bro 1998).  A sweep never raises the error:
 * one that would, by rounding, is undone and ends the start.
 *
 * A tool for tensors and no operator: double throughout, whatever `real` is.
 * The bits do not depend on the number of threads.
 *
 * Departs from the paper: it names no algorithm; where U^1 ... U^5 are learned
 * this is not needed. */

#ifndef TWICETOLD_CP_H
#define TWICETOLD_CP_H

#include <stddef.h>
#include <stdint.h>
#include "../status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CP_AXES_MIN 3
#define CP_AXES 5

struct cp {
    int axes;
    size_t size[CP_AXES], rank;
    double *factor[CP_AXES];            /* owned; NULL beyond axes */
    double error;
    size_t sweeps;                      /* of the start that was kept */
};

/* Zeros are the defaults. */
struct cp_options {
    uint64_t seed;
    size_t starts;              /* at most so many, the best is kept; 0 is 4 */
    size_t sweeps;              /* at most so many of each start; 0 is 2000 */
    double tolerance;           /* a start ends when three sweeps in a row lower the error by no more than
                                   this part of itself; 0 is 1e-6 */
    double enough;              /* an error with which all ends; 0 is 1e-12 */
    const struct cp *from;      /* NULL, or at most `rank` terms that the first start keeps */
    double *history;            /* NULL, or room for `sweeps` errors, those of the start that was kept */
};

/* Finds rank terms.  The first start draws its terms from normal numbers of
 * the seed, besides those of `from`, whose error is then not exceeded but by
 * rounding; later starts keep the best terms so far and draw every fourth anew.  The
 * options may be NULL.  A tensor of zeros has factors of zeros and error 0.
 * After an error there is nothing to release.
 *
 * Refused: axes other than 3 to 5; a size or a rank of 0; entries that are not
 * finite; norms outside 1e-100 ... 1e100 but for 0; half of the axes, cut where
 * the halves are most alike, of more than INT_MAX entries; a `from` of other
 * sizes, of more terms or not finite.  Fails when memory is out.
 *
 * Cost of a sweep: four matrix products of (entries of the tensor) x rank
 * multiply-adds.  Memory beside the tensor, in doubles: rank times (twice the
 * larger half + the smaller half + at most four times the sum of the sizes) and
 * axes + 2 squares of rank. */
status cp_als(struct cp *cp, const double *tensor, int axes, const size_t size[], size_t rank,
              const struct cp_options *options);

/* The end of it, which zeros accept too, and which may come twice. */
void cp_release(struct cp *cp);

/* tensor = the sum of the terms. */
status cp_reconstruct(double *tensor, const struct cp *cp);

/* *error = ||tensor - terms|| / ||tensor||; 0 where both vanish, infinite
 * where the tensor alone does, NaN where either has one. */
status cp_error(double *error, const struct cp *cp, const double *tensor);

/* Numbers to store: rank times the sum of the sizes; the tensor has the product.
 * SIZE_MAX where that overflows. */
size_t cp_storage(const struct cp *cp);
size_t cp_dense_storage(const struct cp *cp);

#ifdef __cplusplus
}
#endif

#endif
