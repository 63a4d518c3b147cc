/* forms.c -- the plain forms; see forms.h */

#include "forms.h"
#include "../reference/msa.h"
#include "../reference/sra.h"
#include "../reference/lisa.h"
#include "../reference/structsa.h"
#include "../reference/elsa.h"
#include "../reference/dfc.h"
#include "../reference/chopd.h"
#include "../reference/hilo.h"

const struct form_row plain_forms[] = {
    {&msa, &msa_plain},
    {&sra, &sra_plain},
    {&lisa, &lisa_plain},
    {&structsa, &structsa_plain},
    {&elsa, &elsa_plain},
    {&fc, &fc_plain},
    {&dfc, &dfc_plain},
    {&dfc_cp, &dfc_cp_plain},
    {&chopd, &chopd_plain},
    {&chopd, &chopd_direct},
    {&hilo, &hilo_plain},
    {NULL, NULL}
};
