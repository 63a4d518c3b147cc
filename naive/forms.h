/* forms.h -- the naive forms: each operator as its equations read, naive/NAME.c */

#pragma once
#include "../reference/runtime/forms.h"

extern const struct form_row naive_forms[];

extern const struct form msa_naive, sra_naive, lisa_naive, structsa_naive, elsa_naive, fc_naive, dfc_naive,
    dfc_cp_naive, chopd_naive, hilo_naive;
