/* forms.c -- the naive forms; see forms.h */

#include "forms.h"
#include "../reference/msa.h"
#include "../reference/sra.h"
#include "../reference/lisa.h"
#include "../reference/structsa.h"
#include "../reference/elsa.h"
#include "../reference/dfc.h"
#include "../reference/chopd.h"
#include "../reference/hilo.h"

const struct form_row naive_forms[] = {
    {&msa, &msa_naive},
    {&sra, &sra_naive},
    {&lisa, &lisa_naive},
    {&structsa, &structsa_naive},
    {&elsa, &elsa_naive},
    {&fc, &fc_naive},
    {&dfc, &dfc_naive},
    {&dfc_cp, &dfc_cp_naive},
    {&chopd, &chopd_naive},
    {&hilo, &hilo_naive},
    {NULL, NULL}
};
