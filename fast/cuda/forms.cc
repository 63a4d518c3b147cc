/* forms.cc -- the list of all versions in fast/cuda; see reference/runtime/forms.h
 *
 * In every build the C++ compiler makes emulated forms of them; for the plug-in nvcc makes forms of a device.  Versions
 * that round to fewer digits than float do not exist in double. */

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

#define PLAIN(FORM) \
    FORM(msa, msa_cuda1) FORM(msa, msa_cuda2) FORM(msa, msa_cuda3) FORM(msa, msa_cuda4) \
    FORM(sra, sra_cuda1) FORM(sra, sra_cuda2) FORM(sra, sra_cuda3) FORM(sra, sra_cuda4) \
    FORM(lisa, lisa_cuda1) FORM(lisa, lisa_cuda2) FORM(lisa, lisa_cuda3) \
    FORM(structsa, structsa_cuda1) FORM(structsa, structsa_cuda2) FORM(structsa, structsa_cuda3) \
    FORM(structsa, structsa_cuda4) \
    FORM(elsa, elsa_cuda1) FORM(elsa, elsa_cuda2) FORM(elsa, elsa_cuda3) FORM(elsa, elsa_cuda4) \
    FORM(fc, fc_cuda1) FORM(fc, fc_cuda2) FORM(dfc_cp, dfc_cp_cuda1) FORM(dfc_cp, dfc_cp_cuda2) \
    FORM(chopd, chopd_cuda1) FORM(chopd, chopd_cuda2) FORM(chopd, chopd_cuda3) FORM(chopd, chopd_cuda4) \
    FORM(chopd, chopd_cuda5) FORM(chopd, chopd_cuda6) \
    FORM(hilo, hilo_cuda1) FORM(hilo, hilo_cuda2) FORM(hilo, hilo_cuda3) FORM(hilo, hilo_cuda4) FORM(hilo, hilo_cuda5)

#ifdef TWICETOLD_DOUBLE
#define ROUNDED(FORM)
#else
#define ROUNDED(FORM) \
    FORM(msa, msa_tf32) FORM(msa, msa_bf16) FORM(structsa, structsa_tf32) FORM(structsa, structsa_bf16)
#endif

extern "C" {

#define DECLARED(operator_, id) extern const struct form id;
#define LISTED(operator_, id) {&operator_, &id},

PLAIN(DECLARED)
ROUNDED(DECLARED)
const struct form_row cuda_forms[] = {PLAIN(LISTED) ROUNDED(LISTED) {NULL, NULL}};

}
