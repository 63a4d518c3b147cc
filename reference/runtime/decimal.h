/* decimal.h -- numbers as text, whatever the host's language
 *
 * strtod reads and printf writes a point or a comma, as the process's locale has
 * it, and a program that calls the library may have asked for a comma.  Options and
 * JSON have a point: these two look away from the locale, on the calling thread
 * and for the time of the call. */

#ifndef TWICETOLD_DECIMAL_H
#define TWICETOLD_DECIMAL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* strtod with a point. */
double decimal_read(const char *text, char **end);

/* The number in 17 digits, which read back as the same double; returns text. */
enum { DECIMAL_TEXT = 32 };
char *decimal_write(char text[DECIMAL_TEXT], double number);

#ifdef __cplusplus
}
#endif

#endif
