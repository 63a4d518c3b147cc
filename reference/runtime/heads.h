/* heads.h -- projections, heads, batch and threads, written once
 *
 * Every attention operator begins and ends alike:
 *
 *     [Q K V] = x W_qkv^T + b_qkv,  cut into h heads of c = C/h channels;
 *     one head at a time, Y = f(Q, K, V);
 *     the heads side by side again, and y = Y W_o^T + b_o where W_o is given.
 *
 * A form brings f, its heart; what stands here brings the rest.  Heads and images
 * are independent, so they are shared by the threads; a heart that can be cut
 * further (blocks of queries, windows) says into how many parts, and is called
 * once for each.  A heart whose heads depend on each other takes them all, and
 * then query and key may have Q channels in place of C: w_qkv has 2Q + C rows.
 *
 * Operators with other projections (HiLo, SRA) run their batches themselves (batch.h) and
 * call branch_attend for the heads of each branch.
 *
 * Memory: N (2Q + C) reals for the projection of every image in flight, N C more
 * where W_o is given, and what hearts ask for.  Multiply-adds of the whole
 * batch: B N (2Q + C) C, and B N C^2 more with W_o. */

#ifndef TWICETOLD_HEADS_H
#define TWICETOLD_HEADS_H

#include <assert.h>
#include <stddef.h>
#include "batch.h"
#include "linear.h"
#include "lookup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the problem: the first member of every struct *_problem with w_qkv --- */

struct heads_problem {
    size_t B, N, C, Q, h, c;    /* Q channels of query and key: C, but in ELSA's final variant */
    const real *w_qkv, *b_qkv;  /* [2Q+C][C], [2Q+C] or NULL */
    const real *w_o, *b_o;      /* [C][C] or NULL, [C] or NULL */
};

/* The code converts between pointers to a struct and to its first member. */
#define HEADS_FIRST(type) static_assert(offsetof(type, heads) == 0, "heads must be the first member")

struct heads_problem heads_problem(struct lookup *names);

/* 1/sqrt(c), or what --scale says. */
real heads_scale(struct lookup *names);

/* Multiply-adds of the projections of the whole batch. */
double heads_multiply_adds(const struct heads_problem *params);
double projections_multiply_adds(const struct problem *p);

/* The table rows that they share. */
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

/* ---- hearts ---------------------------------------------------------------- */

/* One head of one image, or all its heads. */
struct head {
    const struct plan *plan;
    real *y;                    /* [queries][c], rows y_stride apart */
    const real *q;              /* [queries][c], rows q_stride apart */
    const real *k, *v;          /* [keys][c], rows kv_stride apart */
    size_t y_stride, q_stride, kv_stride;
    size_t image, number;         /* which one this is */
    size_t part, parts;         /* which part of it, of how many */
    size_t thread;              /* whose arrays of PER_THREAD are its own */
};

/* An array of PER_THREAD as this heart's own. */
static inline real *head_thread(const struct head *head, const real *array)
{
    return (real *)arena_thread(&head->plan->arena, array, head->thread);
}

/* Heads side by side, with queries, keys and outputs wherever they lie.
 * Pointers are to the first head of the first image in flight. */
struct branch {
    void (*core)(const struct head *);
    size_t heads, parts;        /* of an image; of a head */
    size_t channels;            /* from one head to the next */
    size_t queries, keys;       /* rows of an image */
    real *y;
    const real *q, *k, *v;
    size_t y_stride, q_stride, kv_stride;
};

/* The hearts of a branch, those that the calling thread takes. */
void branch_attend(const struct team *t, const struct branch *branch);

/* ---- from x to y with one heart ------------------------------------------- */

/* What a form says of its heart. */
struct core_options {
    void (*core)(const struct head *);
    bool whole;                 /* it takes all heads of an image at once */
    bool dense;                 /* it wants q, k, v and y dense, copies of its own */
    size_t parts;               /* it is called for so many parts; 0 is 1 */
    const struct linear_kind *maps;     /* how weights are kept; NULL: as they lie */
    size_t chunk;           /* images at a time; 0: all of the batch */
};

/* The first member of a form's state.  Its functions are the form's own, or
 * called by them:
 *
 *     const struct form msa_naive = {"naive", sizeof(struct msa_naive), prepare, heads_load, heads_run, NULL, cost}; */
struct heads {
    struct heads_problem params;
    struct core_options core;
    struct linear input, output;
    real *qkv;                  /* [in flight][N][2Q + C] */
    real *joined;               /* [in flight][N][C], only where W_o is given */
    real *q, *k, *v, *y;        /* of each thread, where the heart wants them dense */
};

void heads_prepare(struct plan *plan, struct core_options core);
status heads_load(struct plan *plan);
status heads_run(struct plan *plan, real *y, const real *x);

/* The steps of a flight alone, for forms with another middle: heads_project
 * writes heads->qkv; the middle writes heads_joined, which is y itself where
 * there is no w_o; heads_join reads it.  All threads meet before and after the
 * middle by team_barrier. */
struct batch heads_batch(const struct heads *heads);
void heads_project(const struct team *t);
real *heads_joined(const struct team *t);
void heads_join(const struct team *t);

/* Dense [N][c] from rows `stride` apart, and back. */
void head_gather(real *dense, const real *rows, size_t stride, size_t tokens, size_t channels);
void head_scatter(real *rows, size_t stride, const real *dense, size_t tokens, size_t channels);

#ifdef __cplusplus
}
#endif

#endif
