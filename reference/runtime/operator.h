/* operator.h -- the declaration of an operator: a table of options and a table of tensors
 *
 * Programs and tests read options, tensors and random parameters from it.  Three steps lead from it to numbers:
 *
 *     problem   a declaration with sizes and tensors
 *     plan      a form prepared for a problem (plan.h)
 *     run       computes y from x, any number of times; allocates nothing
 *
 * A problem points to tensors that it does not own.  They must outlive it, and it must outlive its plans.  Problems
 * share nothing. */

#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "grid.h"
#include "real.h"
#include "status.h"
#include "tensor.h"

BEGIN_C_DECLS

enum option_kind {
    OPTION_INTEGER,             /* low <= n <= high */
    OPTION_REAL,                /* finite, low <= r <= high */
    OPTION_CHOICE,              /* one of "4|5|6"; any text if choices is NULL */
    OPTION_GRID,                /* N, HxW or TxHxW with low ... high axes; binds N, P and its letter */
    OPTION_KERNEL,              /* odd sizes, one for each axis of the grid; its letter is bound to their product */
    OPTION_STEPS,               /* low <= n <= high, one for all axes of the grid or one for each */
    OPTION_FLAG                 /* takes no value */
};

struct option {
    const char *name;           /* "heads" is written --heads */
    enum option_kind kind;
    const char *default_value;  /* as typed; "": none; NULL: required, unless it is a flag */
    double low, high;
    const char *choices;
    const char *letter;         /* the letter that an integer, a kernel or a grid binds, or NULL */
    const char *meaning;
    const char *value;          /* name of the value in help; NULL: that of its kind */
};

/* A shape has one word for each axis, "N c D": a letter, a product, or a sum of products of letters and numbers, "3*C"
 * or "2*Q+C".  " | " separates alternative shapes.  A letter without a size is bound to the size found in the tensor.
 * A tensor with an axis of size 0 must be absent. */
struct tensor_row {
    const char *name;
    const char *shape;
    const char *when;           /* the condition of this row; NULL: always.  Several are joined by " & ":
                                 * "equation=6|7", "depthwise=given" (a flag), "variant=" (not given),
                                 * "terms~qr" (a word of a+b+c) */
    bool optional;
    const char *only_if;        /* problem_shape includes it only if one of these options, "lambda|gamma", is given;
                                 * a file may always have it.  NULL: no condition */
    const char *needs;          /* this tensor must be present, too; or NULL */
    const char *fan_in;         /* random entries are normal, of variance 1 / (product of this shape) */
    bool running_statistic;     /* (batch norm) stored with the parameters, not learned */
    void (*adjust)(real *values, size_t count);     /* maps random entries to valid ones; or NULL */
    const char *meaning;
};

/* A letter of the shapes. */
struct letter {
    const char *name, *meaning;
};

struct problem;

struct declaration {
    const char *name;
    const char *summary;                        /* one line */
    const struct letter *letters;               /* meanings (letter_meaning); ends at a name of NULL; or NULL */
    const char *output;                         /* shape of y */
    const struct option *options;               /* ends at a name of NULL */
    const struct tensor_row *tensors;           /* x first; ends at a name of NULL */
    status (*derive)(struct problem *);         /* binds letters that follow from x and the options; or NULL */
    status (*check)(const struct problem *);    /* checks what the tables cannot express; or NULL */
    size_t resolved;                            /* bytes of the resolved problem, at most PROBLEM_RESOLVED */
    status (*resolve)(void *params, const struct problem *);    /* fills the resolved problem (lookup.h) */
};

/* Index of the option, or -1. */
int declaration_option(const struct declaration *d, const char *name);

/* True if the letter occurs in the shape of a tensor. */
bool declaration_has_letter(const struct declaration *d, const char *letter);

/* Letter number `at` in the order of the tensors' shapes, then that of y; false after the last. */
bool declaration_letter(char letter[4], const struct declaration *d, int at);

/* The meaning of a letter: from the declaration, else a common one, else that of its option; or NULL. */
const char *letter_meaning(const struct declaration *d, const char *letter);

/* Index of the word in "a|b|c", or -1. */
int word_place(const char *list, const char *word);

/* True if the text "a+b+c" has this word of `length` characters. */
bool words_have(const char *text, const char *word, size_t length);

/* True if `word` exists and does not look like an option. */
bool word_is_value(const char *word);

#define PROBLEM_OPTIONS 16
#define PROBLEM_TENSORS 24
#define PROBLEM_LETTERS 24
#define PROBLEM_RESOLVED 768

struct problem {
    const struct declaration *declaration;
    struct {
        bool given;
        double number;
        const char *text;
        int axes;
        size_t size[GRID_AXES];                 /* of a kernel or of steps; 1 beyond the grid's axes */
    } option[PROBLEM_OPTIONS];
    struct grid grid;
    struct { char name[4]; size_t size; } letter[PROBLEM_LETTERS];
    int letters;
    struct {
        bool present;
        int axes;
        size_t size[TENSOR_AXES], count;
        real *data;                             /* NULL until bound or random */
    } tensor[PROBLEM_TENSORS];                  /* in the order of the declaration's rows */
};

/* Reads options from words "--key" "value" ...  Bad input: an option that is unknown, given twice, without a value, out
 * of range, or missing.  A failure if the declaration exceeds the limits above. */
status problem_create(struct problem *p, const struct declaration *d, int words, const char *const *word);

/* Binds the tensors of a file.  Bad input: a tensor that is missing, extra, or of another shape.  A file without data
 * binds only sizes; bind it again when it has data.  The declaration's check is called if all parameters have data. */
status problem_bind(struct problem *p, const struct tensors *file);

/* Shapes all tensors without a file.  Letters that the options leave open (B, C, ...) must be bound by problem_set_size
 * before.  An optional tensor is left out if without(name, params); `without` may be NULL.  Data remain NULL. */
status problem_shape(struct problem *p, bool (*without)(const char *name, void *params), void *params);

/* Random parameters (not x) of a shaped problem, in one block.  The caller frees it with memory_free after the last use
 * of the problem. */
status problem_draw(struct problem *p, uint64_t seed, real **block);

/* The same in the caller's block of problem_parameters reals, with a function of random.h: random_fill_normal. */
typedef void random_fill(real *a, size_t count, uint64_t seed, uint64_t stream, double deviation);
status problem_draw_into(struct problem *p, uint64_t seed, real *block, random_fill *fill);

/* The size of a letter; 0 if it is not bound. */
size_t problem_size(const struct problem *p, const char *letter);
status problem_set_size(struct problem *p, const char *letter, size_t size);

/* Index of a tensor in problem.tensor, among the rows in force; or -1. */
int problem_row(const struct problem *p, const char *name);

/* An error if a parameter has no data yet. */
status problem_loaded(const struct problem *p);

/* Reals in all tensors but x. */
size_t problem_parameters(const struct problem *p);

/* Reals in x and in y; for y 0 if a letter has no size, SIZE_MAX after an overflow. */
size_t problem_input_count(const struct problem *p);
size_t problem_output_count(const struct problem *p);
status problem_output_shape(const struct problem *p, int *axes, size_t size[TENSOR_AXES]);

/* Lists the tensors that are present, and returns their number.  Names and data are borrowed. */
size_t problem_list(struct tensor list[PROBLEM_TENSORS], const struct problem *p);

/* Binds c = C / h; bad input if h does not divide C. */
status derive_head_channels(struct problem *p);

END_C_DECLS
