/* decimal.h -- numbers as text with a decimal point, in any locale
 *
 * strtod and printf use the decimal character of the process's locale, which may be a comma.  Options and JSON need a
 * point.  These functions switch the calling thread to the C locale during the call. */

#pragma once
#include <stddef.h>
#include "linkage.h"

BEGIN_C_DECLS

/* strtod, with a decimal point. */
double decimal_read(const char *text, char **end);

/* Writes the number in 17 digits, enough to read back the same double; returns text. */
enum { DECIMAL_TEXT = 32 };
char *decimal_write(char text[DECIMAL_TEXT], double number);

END_C_DECLS
