/* sizes.h -- a problem without a file
 *
 * Whoever wants an operator's parameters drawn, and not read, says in words what
 * a file would have told by its shapes: options, batch, channels, and the sizes of
 * letters that those leave open.  Programs and tests say it by one struct:
 *
 *     struct outline o = {.words = 2, .word = (const char *[]){"--heads", "6"}, .grid = "14x14",
 *                         .batch = 2, .channels = 96, .sizes = "D=16", .without = "b_qkv"};
 *     status s = problem_from_sizes(&problem, &lisa, &o);
 *     if (!s.code) s = problem_draw(&problem, seed, &block);
 *
 * The texts must outlive the problem. */

#ifndef TWICETOLD_SIZES_H
#define TWICETOLD_SIZES_H

#include "operator.h"

#ifdef __cplusplus
extern "C" {
#endif

struct problem_sizes {
    int words;
    const char *const *word;    /* options of the operator, as problem_create takes them */
    const char *grid;           /* --grid where word has none, or NULL */
    size_t batch, channels;
    const char *sizes;          /* "D=16,R=4", parted by commas or blanks; NULL: none */
    const char *without;        /* optional tensors that are absent, likewise; NULL: none */
    const char *second;         /* tensors of the second of their shapes, "rpe", likewise; NULL: none */
    bool small;                 /* required options and sizes that are left open get small values */
};

/* A problem with options, sizes and shapes, and without data.
 *
 * An operator that knows no grid takes its tokens for M and N where sizes says
 * nothing of them; without one, its tokens are a line.  Either way problem.grid is
 * how the tokens of x lie.
 *
 * Refused: what problem_create and problem_shape refuse; a letter that is not of the
 * operator's shapes, or not LETTER=n; a tensor that is not optional; letters left
 * open, all of which the message names. */
status problem_from_sizes(struct problem *p, const struct declaration *d, const struct problem_sizes *o);

/* The first letter of the tensors in force that has no size yet; false where all have one. */
bool problem_open_letter(char letter[4], const struct problem *p);

#ifdef __cplusplus
}
#endif

#endif
