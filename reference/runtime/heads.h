/* heads.h -- the steps that attention operators share: projections, heads, batch and threads
 *
 *     [Q K V] = x W_qkv^T + b_qkv       cut into h heads of c = C/h channels
 *     Y = f(Q, K, V)                    for each head
 *     y = Y W_o^T + b_o                 of the joined heads; without W_o y is Y
 *
 * A form supplies f, its core.  It is called once for each part (block of queries, window) of each head; if heads
 * depend on each other, once for all heads of an image.  Its query and key may have Q channels instead of C; then w_qkv
 * has 2Q + C rows.
 *
 * Operators with other projections (HiLo, SRA) call batch_run (batch.h), and branch_attend for each branch.
 *
 * Memory: N (2Q + C) reals for each image of a chunk, N C more with W_o; dense copies for each thread, repacked weights
 * and arrays of the core.  Multiply-adds of the projections: B N (2Q + C) C, and B N C^2 more with W_o. */

#pragma once
#include <assert.h>
#include <stddef.h>
#include "batch.h"
#include "linear.h"
#include "lookup.h"

BEGIN_C_DECLS

/* ---- the problem: the first member of every struct *_problem with w_qkv --- */

struct heads_problem {
    size_t B, N, C, Q, h, c;    /* Q, the channels of query and key, is C except in ELSA's final variant */
    const real *w_qkv, *b_qkv;  /* [2Q+C][C], [2Q+C] or NULL */
    const real *w_o, *b_o;      /* [C][C] or NULL, [C] or NULL */
};

/* Code casts a pointer to a struct into a pointer to its first member. */
#define HEADS_FIRST(type) static_assert(offsetof(type, heads) == 0, "heads must be the first member")

struct heads_problem heads_problem(struct lookup *names);

/* --scale, by default 1/sqrt(c). */
real heads_scale(struct lookup *names);

/* Multiply-adds of the projections of the whole batch. */
double heads_multiply_adds(const struct heads_problem *params);
double projections_multiply_adds(const struct problem *p);

/* Rows of the operators' tables. */
#define OPTION_HEADS \
    {.name = "heads", .kind = OPTION_INTEGER, .default_value = "1", .low = 1, .high = 65536, .letter = "h", \
     .meaning = "heads, each of c = C/h channels"}

#define OPTION_SCALE \
    {.name = "scale", .kind = OPTION_REAL, .default_value = "", .low = -REAL_MAX, .high = REAL_MAX, \
     .meaning = "multiplies q.k in place of 1/sqrt(c)"}

#define TENSOR_TOKENS {.name = "x", .shape = "B N C", .meaning = "the tokens"}

#define TENSORS_QKV \
    {.name = "w_qkv", .shape = "3*C C", .fan_in = "C", .meaning = "rows make query, key, value"}, \
    {.name = "b_qkv", .shape = "3*C", .optional = true, .fan_in = "C", .meaning = "their bias"}

#define TENSORS_OUTPUT \
    {.name = "w_o", .shape = "C C", .optional = true, .fan_in = "C", .meaning = "output projection"}, \
    {.name = "b_o", .shape = "C", .optional = true, .needs = "w_o", .fan_in = "C", .meaning = "its bias"}

/* ---- cores ---------------------------------------------------------------- */

/* Arguments of a core: one head of one image, or all its heads. */
struct head {
    const struct plan *plan;
    real *y;                    /* [queries][c], rows y_stride apart */
    const real *q;              /* [queries][c], rows q_stride apart */
    const real *k, *v;          /* [keys][c], rows kv_stride apart */
    size_t y_stride, q_stride, kv_stride;
    size_t image, number;       /* of the image in the batch, of the head in the image */
    size_t part, parts;
    size_t thread;              /* index of the PER_THREAD arrays that the core uses */
};

/* The copy of a PER_THREAD array for this head. */
static inline real *head_thread(const struct head *head, const real *array)
{
    return (real *)arena_thread(&head->plan->arena, array, head->thread);
}

/* Adjacent heads.  Pointers are to the first head of the first image of a chunk. */
struct branch {
    void (*core)(const struct head *);
    size_t heads, parts;        /* of an image; of a head */
    size_t channels;            /* from the start of one head to the start of the next */
    size_t queries, keys;       /* rows of an image */
    real *y;
    const real *q, *k, *v;
    size_t y_stride, q_stride, kv_stride;
};

/* Calls the core for the heads of a branch: one loop of the team. */
void branch_attend(const struct team *t, const struct branch *branch);

/* ---- from x to y with one core ------------------------------------------- */

struct core_options {
    void (*core)(const struct head *);
    bool whole;                 /* one call is for all heads of an image */
    bool dense;                 /* the core needs dense q, k, v and y: it gets copies */
    size_t parts;               /* of a head; 0 means 1 */
    const struct linear_kind *maps;     /* kind of the projections; NULL: linear_as_it_lies */
    size_t chunk;               /* images; 0: the whole batch */
};

/* The first member of a form's state.  The form calls these functions, or names them in its struct form:
 *
 *     const struct form msa_naive = {"naive", sizeof(struct msa_naive), prepare, heads_load, heads_run, NULL, cost}; */
struct heads {
    struct heads_problem params;
    struct core_options core;
    struct linear input, output;
    real *qkv;                  /* [chunk][N][2Q + C] */
    real *joined;               /* [chunk][N][C], NULL without W_o */
    real *q, *k, *v, *y;        /* PER_THREAD, if the core needs dense arrays */
};

void heads_prepare(struct plan *plan, struct core_options core);
status heads_load(struct plan *plan);
status heads_run(struct plan *plan, real *y, const real *x);

/* The first and the last step of a chunk, for forms with other steps between them: heads_project writes heads->qkv; the
 * form writes the array that heads_joined returns (y if there is no w_o); heads_join reads that array.  The form calls
 * team_barrier before and after its steps. */
struct batch heads_batch(const struct heads *heads);
void heads_project(const struct team *t);
real *heads_joined(const struct team *t);
void heads_join(const struct team *t);

/* Dense [tokens][channels] from rows `stride` apart, and back. */
void head_gather(real *dense, const real *rows, size_t stride, size_t tokens, size_t channels);
void head_scatter(real *rows, size_t stride, const real *dense, size_t tokens, size_t channels);

END_C_DECLS
