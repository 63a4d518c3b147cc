/* als.h -- alternating least squares for the CP decomposition
 *
 * ChoP'D Former, Sec. 2.1 and Eq. 5: t[i, j, k, ...] ~ sum_r u[0][i, r] u[1][j, r] u[2][k, r] ... (CANDECOMP/PARAFAC:
 * Hitchcock 1927; Carroll and Chang 1970; Harshman 1970). */

#ifndef TWICETOLD_ALS_H
#define TWICETOLD_ALS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ALS_AXES 5

/* Find `rank` terms for t, row-major with 3 to 5 axes: u[a] is [size[a]][rank].  Runs 300 sweeps from normal random
 * factors, from up to 16 seeds, and keeps the best.  Returns ||t - terms|| / ||t||.  Always double.  One axis costs
 * axes * (entries of t) * rank multiplications. */
double als(double *const u[], const double *t, int axes, const size_t size[], size_t rank, uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
