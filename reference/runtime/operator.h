/* operator.h -- what an operator is: a table of options and a table of tensors
 *
 * An operator is declared once, in a struct declaration.  All that a program
 * or a test wants to know is read off it: which options there are, which
 * tensors must be in a file and of what shape, what to draw at random, how
 * many parameters there are, what each form costs.
 *
 * Three steps lead from a declaration to numbers:
 *
 *     problem   a declaration with its options chosen and its tensors bound
 *     plan      a problem and one of its forms, prepared
 *     run       y from x, as often as one likes; allocates nothing
 *
 * A problem points at tensors that it does not own; they must outlive it, and
 * the problem must outlive its plans.  Problems and plans share nothing: each
 * thread may work with its own. */

#ifndef TWICETOLD_OPERATOR_H
#define TWICETOLD_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>
#include "grid.h"
#include "real.h"
#include "status.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the declaration ------------------------------------------------- */

enum option_kind {
    OPTION_INTEGER,             /* low <= n <= high */
    OPTION_REAL,                /* finite, low <= r <= high */
    OPTION_CHOICE,              /* one of "4|5|6"; any text where choices is NULL */
    OPTION_GRID,                /* N, HxW or TxHxW with low ... high axes; binds N and P */
    OPTION_KERNEL,              /* odd sizes, as many axes as the grid; its letter binds their product */
    OPTION_STEPS,               /* low <= n <= high, one for all axes of the grid or one for each */
    OPTION_FLAG                 /* takes no value */
};

struct option {
    const char *name;           /* "heads" is written --heads */
    enum option_kind kind;
    const char *default_value;       /* the default as one would type it; "" for none; NULL if required */
    double low, high;
    const char *choices;
    const char *letter;         /* the letter that an integer or a kernel binds, or NULL */
    const char *meaning;
    const char *value;          /* what its value is called in help; NULL: as its kind has it */
};

/* A shape is written in letters, "N c D"; an axis may be a product or a sum of
 * products of letters and numbers, "3*C" or "2*Q+C"; " | " parts shapes of
 * which one must fit.  A letter that is not known when its tensor is met takes
 * the size found there.  A tensor one of whose axes is 0 must be absent. */
struct tensor_row {
    const char *name;
    const char *shape;
    const char *when;           /* "equation=6|7", "depthwise=given" (a flag), "variant=" (not given), "terms~qr" (one
                                 * of a+b+c), and
                                 * several parted by " & ": only then; NULL: always */
    bool optional;
    const char *only_if;          /* no problem is shaped with it unless one of these options, "lambda|gamma", is
                                 * given; a file may hold it all the same.  NULL: always */
    const char *needs;          /* refused unless this tensor is there too; or NULL */
    const char *fan_in;            /* random entries are normal with variance 1 / this shape's product */
    bool running_statistic;              /* not learnt: counted and drawn with the parameters, but none */
    void (*adjust)(real *drawn, size_t count);  /* makes values of them that the tensor may have; or NULL */
    const char *meaning;
};

/* What a letter of the shapes stands for. */
struct letter {
    const char *name, *meaning;
};

struct problem;

struct declaration {
    const char *name;
    const char *summary;                        /* one line */
    const struct letter *letters;               /* those that letter_meaning does not know; ends at a name of NULL */
    const char *output;                         /* shape of y */
    const struct option *options;               /* ends at a name of NULL */
    const struct tensor_row *tensors;           /* x first; ends at a name of NULL */
    status (*derive)(struct problem *);         /* letters that follow from x and the options; NULL if none */
    status (*check)(const struct problem *);    /* what no table can say about the tensors; NULL if nothing */
    size_t resolved;                            /* bytes of its resolved problem, at most PROBLEM_RESOLVED */
    status (*resolve)(void *params, const struct problem *);    /* fills it: every name is looked up here, once */
};

/* Which option of a declaration has this name, or -1; whether a letter stands
 * in some shape of it. */
int declaration_option(const struct declaration *d, const char *name);
bool declaration_has_letter(const struct declaration *d, const char *letter);

/* Letter number `at` of those that stand in its shapes, that of y last, each
 * once; false behind the last.  And what it stands for: as the declaration says
 * itself, else as all operators have it, else as its option says; NULL where
 * nothing does. */
bool declaration_letter(char letter[4], const struct declaration *d, int at);
const char *letter_meaning(const struct declaration *d, const char *letter);

/* Which of "a|b|c" the word is, or -1; whether one of the words of text, parted
 * by "+", is this one. */
int word_place(const char *list, const char *word);
bool words_have(const char *text, const char *word, size_t length);

/* Whether the word behind an option may be its value: there is one, and it is not written like an option. */
bool word_is_value(const char *word);

/* ---- the problem ----------------------------------------------------- */

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
        size_t size[GRID_AXES];                 /* of a kernel, or steps; 1 beyond the grid's axes */
    } option[PROBLEM_OPTIONS];
    struct grid grid;
    struct { char name[4]; size_t size; } letter[PROBLEM_LETTERS];
    int letters;
    struct {
        bool present;
        int axes;
        size_t size[TENSOR_AXES], count;
        real *data;                             /* NULL until bound or drawn */
    } tensor[PROBLEM_TENSORS];                  /* as the rows of the declaration */
};

/* Options from words "--key" "value" ...; refused: unknown, given twice,
 * without a value, out of range, or missing.  Fails where the declaration has
 * more options or tensors than a problem has room for. */
status problem_create(struct problem *p, const struct declaration *d, int words, const char *const *word);

/* Takes every tensor of a file: none missing, none extra, each of its shape.  A
 * file without data binds sizes alone, and may be bound again when it has them:
 * the declaration's check waits for that. */
status problem_bind(struct problem *p, const struct tensors *file);

/* Sizes without a file: B, C and whatever else the options leave open must
 * have been given by problem_set_size.  Optional tensors are there unless
 * without(name) holds; without may be NULL.  Data stay NULL. */
status problem_shape(struct problem *p, bool (*without)(const char *name, void *params), void *params);

/* Draws every parameter (not x) of a shaped problem: one owned block, which
 * the caller frees with memory_free after the problem's last use. */
status problem_draw(struct problem *p, uint64_t seed, real **block);

/* The same into a block that is there, of problem_parameters reals. */
status problem_draw_into(struct problem *p, uint64_t seed, real *block);

/* The size that a letter stands for; 0 where it is not bound. */
size_t problem_size(const struct problem *p, const char *letter);
status problem_set_size(struct problem *p, const char *letter, size_t size);

/* Where the tensor of that name is in problem.tensor, among the rows in force; -1 if nowhere. */
int problem_row(const struct problem *p, const char *name);

/* Refuses a problem one of whose parameters has no data yet. */
status problem_loaded(const struct problem *p);

/* Learnable numbers: all tensors but x. */
size_t problem_parameters(const struct problem *p);

/* Reals in x and in y; SIZE_MAX where those of y overflow. */
size_t problem_input_count(const struct problem *p);

/* The tensors that are there, as those of a file, which borrow names and data; how many. */
size_t problem_list(struct tensor all[PROBLEM_TENSORS], const struct problem *p);

size_t problem_output_count(const struct problem *p);
status problem_output_shape(const struct problem *p, int *axes, size_t size[TENSOR_AXES]);

/* c = C / h for operators with heads; refuses an h that does not divide C. */
status derive_head_channels(struct problem *p);

#ifdef __cplusplus
}
#endif

#endif
