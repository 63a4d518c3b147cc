/* forms.c -- the tuned forms, and lisa_fftw, which calls FFTW; see forms.h */

#include "forms.h"
#include "../../reference/runtime/forms.h"
#include "../../reference/msa.h"
#include "../../reference/sra.h"
#include "../../reference/lisa.h"
#include "../../reference/structsa.h"
#include "../../reference/elsa.h"
#include "../../reference/dfc.h"
#include "../../reference/chopd.h"
#include "../../reference/hilo.h"

const struct form_row fast_forms[] = {
    {&msa, &msa_fast},
    {&sra, &sra_fast},
    {&lisa, &lisa_fast},
#ifndef TWICETOLD_WITHOUT_FFTW          /* set for reference/library/wasm */
    {&lisa, &lisa_fftw},
#endif
    {&structsa, &structsa_fast},
    {&elsa, &elsa_fast},
    {&fc, &fc_fast},
    {&dfc, &dfc_fast},
    {&dfc_cp, &dfc_cp_fast},
    {&chopd, &chopd_fast},
    {&hilo, &hilo_fast},
    {NULL, NULL}
};
