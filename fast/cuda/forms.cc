/* forms.cc -- the rungs that fast/cuda tells; see reference/runtime/forms.h
 *
 * Compiled by g++ these are the emulated forms, which are in every build; compiled by
 * nvcc, those of a device.  An operator's rungs stand in order: the last is the form
 * called cuda.  Behind it stand those that round to fewer digits than a float has, which
 * nobody gets unasked; in double there are none. */

#include "../../reference/runtime/forms.h"
#include "../../reference/msa.h"
#include "../../reference/sra.h"
#include "../../reference/lisa.h"
#include "../../reference/structsa.h"
#include "../../reference/elsa.h"
#include "../../reference/dfc.h"
#include "../../reference/chopd.h"
#include "../../reference/hilo.h"
#include "plugin.h"

extern "C" {

extern const struct form msa_cuda1, msa_cuda2, msa_cuda3, msa_cuda4;
#ifndef TWICETOLD_DOUBLE
extern const struct form msa_tf32, msa_bf16, structsa_tf32, structsa_bf16;
#endif
extern const struct form sra_cuda1, sra_cuda2, sra_cuda3, sra_cuda4;
extern const struct form lisa_cuda1, lisa_cuda2, lisa_cuda3;
extern const struct form structsa_cuda1, structsa_cuda2, structsa_cuda3, structsa_cuda4;
extern const struct form elsa_cuda1, elsa_cuda2, elsa_cuda3, elsa_cuda4;
extern const struct form fc_cuda1, fc_cuda2, fc_cuda3;
extern const struct form dfc_cp_cuda1, dfc_cp_cuda2, dfc_cp_cuda3;
extern const struct form chopd_cuda1, chopd_cuda2, chopd_cuda3, chopd_cuda4, chopd_cuda5, chopd_cuda6;
extern const struct form hilo_cuda1, hilo_cuda2, hilo_cuda3, hilo_cuda4, hilo_cuda5;

const struct form_row cuda_forms[] = {
    {&msa, &msa_cuda1},
    {&msa, &msa_cuda2},
    {&msa, &msa_cuda3},
    {&msa, &msa_cuda4},
#ifndef TWICETOLD_DOUBLE
    {&msa, &msa_tf32},
    {&msa, &msa_bf16},
#endif
    {&sra, &sra_cuda1},
    {&sra, &sra_cuda2},
    {&sra, &sra_cuda3},
    {&sra, &sra_cuda4},
    {&lisa, &lisa_cuda1},
    {&lisa, &lisa_cuda2},
    {&lisa, &lisa_cuda3},
    {&structsa, &structsa_cuda1},
    {&structsa, &structsa_cuda2},
    {&structsa, &structsa_cuda3},
    {&structsa, &structsa_cuda4},
#ifndef TWICETOLD_DOUBLE
    {&structsa, &structsa_tf32},
    {&structsa, &structsa_bf16},
#endif
    {&elsa, &elsa_cuda1},
    {&elsa, &elsa_cuda2},
    {&elsa, &elsa_cuda3},
    {&elsa, &elsa_cuda4},
    {&fc, &fc_cuda1},
    {&fc, &fc_cuda2},
    {&fc, &fc_cuda3},
    {&dfc_cp, &dfc_cp_cuda1},
    {&dfc_cp, &dfc_cp_cuda2},
    {&dfc_cp, &dfc_cp_cuda3},
    {&chopd, &chopd_cuda1},
    {&chopd, &chopd_cuda2},
    {&chopd, &chopd_cuda3},
    {&chopd, &chopd_cuda4},
    {&chopd, &chopd_cuda5},
    {&chopd, &chopd_cuda6},
    {&hilo, &hilo_cuda1},
    {&hilo, &hilo_cuda2},
    {&hilo, &hilo_cuda3},
    {&hilo, &hilo_cuda4},
    {&hilo, &hilo_cuda5},
    {NULL, NULL}
};

}
