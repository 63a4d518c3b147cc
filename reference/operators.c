/* operators.c -- the rows of the house */

#include "elsa.h"
#include "lisa.h"
#include "msa.h"
#include "structsa.h"

const struct declaration *const operators[] = {&msa, &lisa, &structsa, &elsa, NULL};
