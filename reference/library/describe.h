/* describe.h -- a declaration told to other programs */

#ifndef TWICETOLD_DESCRIBE_H
#define TWICETOLD_DESCRIBE_H

#include "../operator.h"

/* The declaration and the names of its forms as JSON, in the manner of snprintf:
 * writes what fits into text of `size` bytes, and returns the length of all.
 *
 *     {"name": "lisa", "summary": "...", "forms": ["naive", ...],
 *      "options": [{"name": "grid", "kind": "grid", "default": null, "low": 1, "high": 3,
 *                   "choices": null, "meaning": "..."}, ...],
 *      "tensors": [{"name": "x", "shape": "[B, N, C]", "when": null, "optional": false,
 *                   "with": null, "meaning": "..."}, ...],
 *      "output": "[B, N, C]", "letters": [{"name": "B", "meaning": "..."}, ...]}
 *
 * A default of null is of an option that is required, unless its kind is "flag";
 * one of "" is of an option that may be left out.  The meaning of a letter is null
 * where nothing is said of it. */
size_t describe_operator(char *text, size_t size, const struct declaration *d);

#endif
