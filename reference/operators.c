/* operators.c -- the rows of the house */

#include "chopd.h"
#include "dfc.h"
#include "elsa.h"
#include "hilo.h"
#include "lisa.h"
#include "msa.h"
#include "sra.h"
#include "structsa.h"

const struct declaration *const operators[] = {&msa, &sra, &lisa, &structsa, &elsa, &fc, &dfc_cp, &chopd, &hilo, NULL};
