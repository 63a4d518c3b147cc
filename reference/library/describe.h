/* describe.h -- a declaration as JSON, for other programs */

#pragma once
#include "../runtime/operator.h"

/* Like snprintf, writes what fits into text of `size` bytes and returns the full length.
 *
 *     {"name": "lisa", "summary": "...", "forms": ["naive", ...],
 *      "options": [{"name": "grid", "kind": "grid", "default": null, "low": 1, "high": 3,
 *                   "choices": null, "meaning": "..."}, ...],
 *      "tensors": [{"name": "x", "shape": "[B, N, C]", "when": null, "optional": false,
 *                   "with": null, "meaning": "..."}, ...],
 *      "output": "[B, N, C]", "letters": [{"name": "B", "meaning": "..."}, ...]}
 *
 * An option whose default is null is required, unless its kind is "flag"; "" means optional, without a default.  The
 * meaning of a letter may be null. */
size_t describe_operator(char *text, size_t size, const struct declaration *d);
