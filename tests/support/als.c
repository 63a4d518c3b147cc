/* als.c -- alternating least squares; see als.h
 *
 * If all factors but u[a] are fixed, the best u[a] solves U G = M with
 *
 *     M [size[a]][rank]    t times the columns of the other factors, summed over the other axes
 *     G [rank][rank]       entrywise product of the other factors' U^T U
 *
 * The other factors' columns are first scaled to length 1.  A small multiple of the identity keeps G positive definite
 * if terms are parallel; the same multiple of the old u[a] on the right side leaves the solution where it was. */

#include "als.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../../reference/runtime/random.h"

#define STARTS 16
#define SWEEPS 300
#define DAMPING 1e-12

/* Entry `at` of the tensor: the product over all axes but one of the factors' entries of term r. */
static double term(double *const u[], int axes, const size_t size[], size_t rank, size_t at, size_t r, int without)
{
    double product = 1;
    for (int a = axes; a-- > 0; at /= size[a])
        if (a != without) product *= u[a][at % size[a] * rank + r];
    return product;
}

static double error_of(double *const u[], const double *t, size_t count, int axes, const size_t size[], size_t rank)
{
    double squares = 0, norm = 0;
    for (size_t at = 0; at < count; at++) {
        double rest = t[at];
        for (size_t r = 0; r < rank; r++) rest -= term(u, axes, size, rank, at, r, -1);
        squares += rest * rest;
        norm += t[at] * t[at];
    }
    return sqrt(squares / norm);
}

/* Scale the columns of u[b] to length 1 and those of u[a] by what they lost. */
static void move_lengths(double *const u[], const size_t size[], size_t rank, int a, int b)
{
    for (size_t r = 0; r < rank; r++) {
        double length = 0;
        for (size_t i = 0; i < size[b]; i++) length = hypot(length, u[b][i * rank + r]);
        for (size_t i = 0; i < size[b] && length > 0; i++) u[b][i * rank + r] /= length;
        for (size_t i = 0; i < size[a] && length > 0; i++) u[a][i * rank + r] *= length;
    }
}

/* Solve x G = x for `rows` rows in place: Gaussian elimination of a symmetric positive definite G. */
static void solve(double *x, double *G, size_t rows, size_t rank)
{
    for (size_t p = 0; p < rank; p++)
        for (size_t q = p + 1; q < rank; q++) {
            double factor = G[q * rank + p] / G[p * rank + p];
            for (size_t r = p; r < rank; r++) G[q * rank + r] -= factor * G[p * rank + r];
            for (size_t i = 0; i < rows; i++) x[i * rank + q] -= factor * x[i * rank + p];
        }
    for (size_t i = 0; i < rows; i++)
        for (size_t p = rank; p-- > 0;) {
            for (size_t r = p + 1; r < rank; r++) x[i * rank + p] -= G[p * rank + r] * x[i * rank + r];
            x[i * rank + p] /= G[p * rank + p];
        }
}

static void update(double *const u[], const double *t, size_t count, int axes, const size_t size[], size_t rank, int a,
                   double *G)
{
    for (size_t n = 0; n < rank * rank; n++) G[n] = 1;
    for (int b = 0; b < axes; b++) {
        if (b == a) continue;
        move_lengths(u, size, rank, a, b);
        for (size_t p = 0; p < rank; p++)
            for (size_t q = 0; q < rank; q++) {
                double product = 0;
                for (size_t i = 0; i < size[b]; i++) product += u[b][i * rank + p] * u[b][i * rank + q];
                G[p * rank + q] *= product;
            }
    }
    for (size_t r = 0; r < rank; r++) G[r * rank + r] += DAMPING;

    size_t inner = 1;
    for (int b = a + 1; b < axes; b++) inner *= size[b];
    for (size_t n = 0; n < size[a] * rank; n++) u[a][n] *= DAMPING;
    for (size_t at = 0; at < count; at++)
        for (size_t r = 0; r < rank; r++)
            u[a][at / inner % size[a] * rank + r] += t[at] * term(u, axes, size, rank, at, r, a);
    solve(u[a], G, size[a], rank);
}

double als(double *const u[], const double *t, int axes, const size_t size[], size_t rank, uint64_t seed)
{
    size_t count = 1;
    double best = INFINITY, *G = calloc(rank * rank, sizeof *G), *v[ALS_AXES] = {NULL};
    for (int a = 0; a < axes; a++) {
        count *= size[a];
        v[a] = calloc(size[a] * rank, sizeof *v[a]);
        if (!v[a]) abort();
    }
    if (!G) abort();
    for (uint64_t start = 0; start < STARTS && best > 1e-13; start++) {
        for (int a = 0; a < axes; a++)
            for (size_t n = 0; n < size[a] * rank; n++)
                v[a][n] = random_normal(seed + start, (uint64_t)a, n);
        for (int sweep = 0; sweep < SWEEPS; sweep++)
            for (int a = 0; a < axes; a++) update(v, t, count, axes, size, rank, a, G);
        double error = error_of(v, t, count, axes, size, rank);
        if (!(error < best)) continue;
        best = error;
        for (int a = 0; a < axes; a++) memcpy(u[a], v[a], size[a] * rank * sizeof *v[a]);
    }
    for (int a = 0; a < axes; a++) free(v[a]);
    free(G);
    return best;
}
