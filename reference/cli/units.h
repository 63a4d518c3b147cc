/* units.h -- numbers for people: three digits and a unit
 *
 * "33.7 µs", "1.50 MiB", "2.46 G"; "-" if the number is not finite. */

#pragma once
#include <stddef.h>

#define UNITS_TEXT 24           /* bytes of a text */

/* Write a number right-aligned in this many columns (µ is one column of two bytes); return text. */
const char *units_seconds(char text[UNITS_TEXT], int columns, double seconds);
const char *units_bytes(char text[UNITS_TEXT], int columns, double bytes);
const char *units_count(char text[UNITS_TEXT], int columns, double count);
