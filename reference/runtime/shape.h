/* shape.h -- shapes written in letters
 *
 *     shape   = axes { " | " axes }        one of them must fit
 *     axes    = axis { " " axis }
 *     axis    = product { "+" product }
 *     product = factor { "*" factor }
 *     factor  = number | letter
 *
 * where a letter is a word that the problem knows or is about to learn. */

#ifndef TWICETOLD_SHAPE_H
#define TWICETOLD_SHAPE_H

#include "operator.h"

enum axis_kind { AXIS_KNOWN, AXIS_FREE, AXIS_UNKNOWN, AXIS_TOO_LARGE };

/* Text from *at up to the next blank, and *at moved behind it; 0 at the end
 * of the axes. */
size_t shape_next_axis(const char **at, const char **axis);

/* The size of an axis.  AXIS_FREE: it is a single letter not yet bound;
 * AXIS_UNKNOWN: an unbound letter within a sum or product; either is copied to letter.
 * AXIS_TOO_LARGE: beyond INT_MAX. */
enum axis_kind shape_axis(size_t *size, char letter[4], const struct problem *p, const char *axis, size_t length);

/* The product of the axes of a shape whose letters are all bound, as a double. */
double shape_product(const struct problem *p, const char *shape);

/* Axes of the first alternative; refuses letters that are not bound. */
status shape_sizes(int *axes, size_t size[TENSOR_AXES], const struct problem *p, const char *shape);

/* The alternative after this one, or NULL. */
const char *shape_next_alternative(const char *shape);

/* "[N, c, D] = [196, 16, D]" into text of `size` bytes. */
void shape_describe(char *text, size_t size, const struct problem *p, const char *shape);

/* "[N, c, D]" or "[P, 1] or [P, h]", and products set with dots, for people. */
void shape_letters(char *text, size_t size, const char *shape);

#endif
