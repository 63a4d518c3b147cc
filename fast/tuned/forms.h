/* forms.h -- the tuned forms: vectors, tiles, threads; contracts: reference/NAME.h */

#pragma once
#include "../../reference/runtime/plan.h"

BEGIN_C_DECLS

extern const struct form msa_fast, sra_fast, lisa_fast, lisa_fftw, structsa_fast, elsa_fast, fc_fast, dfc_fast,
    dfc_cp_fast, chopd_fast, hilo_fast;

END_C_DECLS
