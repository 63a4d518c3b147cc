/* decimal.c -- numbers as text with a decimal point; see decimal.h */

#define _POSIX_C_SOURCE 200809L

#include "decimal.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

struct locales { locale_t c, previous; };

/* If newlocale is out of memory, the locale stays as it is. */
#ifdef __wasi__                 /* WebAssembly has only the C locale */
static struct locales use_c_locale(void) { return (struct locales){0}; }
static void restore_locale(struct locales l) { (void)l; }
#else
static struct locales use_c_locale(void)
{
    struct locales l = {.c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)};
    if (l.c) l.previous = uselocale(l.c);
    return l;
}

static void restore_locale(struct locales l)
{
    if (!l.c) return;
    uselocale(l.previous);
    freelocale(l.c);
}
#endif

double decimal_read(const char *text, char **end)
{
    struct locales l = use_c_locale();
    double number = strtod(text, end);
    restore_locale(l);
    return number;
}

char *decimal_write(char text[DECIMAL_TEXT], double number)
{
    struct locales l = use_c_locale();
    snprintf(text, DECIMAL_TEXT, "%.17g", number);
    restore_locale(l);
    return text;
}
