/* units.c -- numbers for people; see units.h */

#include "units.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Units of one quantity, each `step` times the previous one. */
struct ladder {
    double first, step;         /* first: the size of the first unit */
    const char *unit[8];        /* ends at NULL */
};

static const char *climb(char text[UNITS_TEXT], int columns, double value, const struct ladder *ladder)
{
    char plain[UNITS_TEXT] = "-";
    int at = 0;
    value /= ladder->first;
    while (value >= 999.5 && value >= ladder->step * 0.9995 && ladder->unit[at + 1]) {
        value /= ladder->step;
        at++;
    }
    int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    if (at == 0 && value == floor(value)) digits = 0;
    if (isfinite(value)) snprintf(plain, sizeof plain, "%.*f %s", digits, value, ladder->unit[at]);
    if (isfinite(value) && !*ladder->unit[at]) plain[strlen(plain) - 1] = '\0';
    for (const char *c = plain; *c; c++) columns += (*c & 0xc0) == 0x80;
    snprintf(text, UNITS_TEXT, "%*.16s", columns < UNITS_TEXT ? columns : 0, plain);
    return text;
}

const char *units_seconds(char text[UNITS_TEXT], int columns, double seconds)
{
    static const struct ladder ladder = {1e-9, 1000, {"ns", "µs", "ms", "s"}};
    return climb(text, columns, seconds, &ladder);
}

const char *units_bytes(char text[UNITS_TEXT], int columns, double bytes)
{
    static const struct ladder ladder = {1, 1024, {"B", "KiB", "MiB", "GiB", "TiB"}};
    return climb(text, columns, bytes, &ladder);
}

const char *units_count(char text[UNITS_TEXT], int columns, double count)
{
    static const struct ladder ladder = {1, 1000, {"", "k", "M", "G", "T", "P"}};
    return climb(text, columns, count, &ladder);
}
