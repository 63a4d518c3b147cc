/* lisa.h -- LiSA by spectra: shared by the plain form (lisa.c) and the form that calls FFTW (tuned/lisa/fftw.c) */

#pragma once
#include "../reference/lisa.h"
#include "circulant.h"
#include "fourier.h"

struct lisa_plain {
    struct heads heads;
    struct circulant circle;
    struct fourier fourier;
    size_t *place;              /* [N]: the point of token n on the circles */
    size_t row;                 /* points between spectra: P, or P + 1 if P is odd, so that all are aligned */
    size_t kernels;             /* of the key, for each latent: c, or 1 in Eq. 5 */
    struct number *wa;          /* [(D+1)/2][kernels][row]: F (wa_d + i wa_{d+1}) / P */
    struct number *wb;          /* [(D+1)/2][row]: F (wb_d + i wb_{d+1}) / P; in Eq. 4 [1 or h][row]: F e / P */
    struct number *K, *V, *G;   /* per thread: [c][row], [c][row], [row] */
    real *a;                    /* per thread: [N][2], a_id and a_i,d+1 */
};
HEADS_FIRST(struct lisa_plain);

status lisa_plain_prepare(struct plan *plan);
status lisa_plain_load(struct plan *plan);
