/* sizes.h -- a problem from given sizes, without a file
 *
 *     struct problem_sizes o = {.words = 2, .word = (const char *[]){"--heads", "6"}, .grid = "14x14",
 *                               .batch = 2, .channels = 96, .sizes = "D=16", .without = "b_qkv"};
 *     status s = problem_from_sizes(&problem, &lisa, &o);
 *     if (!s.code) s = problem_draw(&problem, seed, &block);
 *
 * The texts must outlive the problem. */

#pragma once
#include "operator.h"

BEGIN_C_DECLS

struct problem_sizes {
    int words;
    const char *const *word;    /* the operator's options, for problem_create */
    const char *grid;           /* --grid, or NULL if `word` has it */
    size_t batch, channels;
    const char *sizes;          /* "D=16,R=4": sizes of other letters.  Commas or spaces separate; NULL: none */
    const char *without;        /* "b_o,rpe": optional tensors to leave out, or NULL */
    const char *last_shape;     /* "rpe": tensors that take the last of their shapes whose sizes are known, or NULL */
    bool small;                 /* missing required options and sizes get small values */
};

/* Makes a problem with sizes and shapes, without data.
 *
 * If the operator has no option --grid, the number of tokens of o->grid is the size of M and N, unless o->sizes has
 * them.  Without a grid, problem.grid becomes a line of the tokens of x.
 *
 * Bad input: as for problem_create and problem_shape; a letter that is not in the operator's shapes; a word that is not
 * LETTER=n; a tensor in o->without that is not optional.  If letters have no size, the message names all. */
status problem_from_sizes(struct problem *p, const struct declaration *d, const struct problem_sizes *o);

/* The first letter without a size in the tensors in force; false if there is none. */
bool problem_open_letter(char letter[4], const struct problem *p);

END_C_DECLS
