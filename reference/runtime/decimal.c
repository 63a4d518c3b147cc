/* decimal.c -- numbers as text, whatever the host's language; see decimal.h */

#define _POSIX_C_SOURCE 200809L

#include "decimal.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* The C library's own numbers from here on; what was there before.  They take no memory where the C library keeps
 * them at hand; where it cannot have them, the locale stays as it is. */
struct before { locale_t plain, was; };

#ifdef __wasi__                 /* a page has one locale */
static struct before look_away(void) { return (struct before){0}; }
static void look_back(struct before b) { (void)b; }
#else
static struct before look_away(void)
{
    struct before b = {.plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
    if (b.plain) b.was = uselocale(b.plain);
    return b;
}

static void look_back(struct before b)
{
    if (!b.plain) return;
    uselocale(b.was);
    freelocale(b.plain);
}
#endif

double decimal_read(const char *text, char **end)
{
    struct before b = look_away();
    double number = strtod(text, end);
    look_back(b);
    return number;
}

char *decimal_write(char text[DECIMAL_TEXT], double number)
{
    struct before b = look_away();
    snprintf(text, DECIMAL_TEXT, "%.17g", number);
    look_back(b);
    return text;
}
