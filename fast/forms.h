/* forms.h -- the plain forms: each operator's fast algorithm in scalar C, fast/NAME.c; contracts: reference/NAME.h */

#pragma once
#include "../reference/runtime/forms.h"

extern const struct form_row plain_forms[];

extern const struct form msa_plain, sra_plain, lisa_plain, structsa_plain, elsa_plain, fc_plain, dfc_plain,
    dfc_cp_plain, chopd_plain, chopd_direct, hilo_plain;
