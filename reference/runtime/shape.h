/* shape.h -- shapes in letters (operator.h)
 *
 *     shape   = axes { " | " axes }        alternatives
 *     axes    = axis { " " axis }
 *     axis    = product { "+" product }
 *     product = factor { "*" factor }
 *     factor  = number | letter */

#pragma once
#include "operator.h"

enum axis_kind { AXIS_KNOWN, AXIS_FREE, AXIS_UNKNOWN, AXIS_TOO_LARGE };

/* Sets *axis to the next axis, moves *at past it, and returns its length; 0 at the end. */
size_t shape_next_axis(const char **at, const char **axis);

/* The size of an axis.  AXIS_FREE: the axis is a letter without a size.  AXIS_UNKNOWN: a sum or product has a letter
 * without a size.  Both copy that letter to `letter`.  AXIS_TOO_LARGE: above INT_MAX. */
enum axis_kind shape_axis(size_t *size, char letter[4], const struct problem *p, const char *axis, size_t length);

/* The product of the axes.  Axes without a size count as 1. */
double shape_product(const struct problem *p, const char *shape);

/* The sizes of the first alternative; bad input if a letter has no size. */
status shape_sizes(int *axes, size_t size[TENSOR_AXES], const struct problem *p, const char *shape);

/* The alternative after this one, or NULL. */
const char *shape_next_alternative(const char *shape);

/* Writes "[N, c, D] = [196, 16, D]" into text of `size` bytes. */
void shape_describe(char *text, size_t size, const struct problem *p, const char *shape);

/* Writes "[N, c, D]" or "[P, 1] or [P, h]"; the sign of products is a dot, or nothing after a number ("3C"). */
void shape_letters(char *text, size_t size, const char *shape);
