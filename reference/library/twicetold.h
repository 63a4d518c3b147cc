/* twicetold.h -- the library as a program meets it
 *
 * Attention operators of five papers, each in several forms that are the same
 * function.  This header is all that is installed.  It names nothing of the
 * inside, every name in it begins with twicetold_, and no other name leaves the
 * library.
 *
 *     twicetold_plan *plan;
 *     twicetold_status s = twicetold_plan_create(&plan, &request, tensors, count);
 *     if (!s.code) s = twicetold_plan_load(plan, tensors, count);
 *     if (!s.code) s = twicetold_plan_run(plan, y, x);        as often as one likes
 *     twicetold_plan_release(plan);
 *
 * Two libraries are built of the same sources, and a program may link both, as
 * with FFTW: libtwicetold computes in float; libtwicetold-double computes in
 * double, and each of its names begins with twicetold_double_.  What float calls
 * twicetold_plan is there twicetold_double_plan, so that the compiler sees where
 * they are mixed.  Numbers are converted by nobody.
 *
 * Errors are values.  Nothing in the library prints, exits or aborts; but OpenMP's own
 * library ends a process that cannot have the threads it asked for.
 *
 * A child of fork has none of its parent's threads, and OpenMP waits for them for ever.  So
 * the default there is one thread, until the process calls exec.  If the parent has run a plan
 * of several threads, running one in the child is bad input.  The library does not see whether
 * other code of the parent has used OpenMP: ask for several threads in a child only if none has.
 * If the library is loaded after the fork, it needs /proc to notice the fork.
 *
 * Plans share nothing: each thread may work with its own.  One plan is for one
 * thread at a time, and shares its work among threads of its own.
 *
 * It refuses to be more than a door: what an operator is stands in the other
 * headers of this folder, each with its equations, and in the book. */

#ifndef TWICETOLD_H
#define TWICETOLD_H

#include <stddef.h>

#ifdef __GNUC__
#define TWICETOLD_API __attribute__((visibility("default")))
#else
#define TWICETOLD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what both precisions have ----------------------------------------- */

/* What became of a call.  code: 0, done; 1, the machine failed; 2, bad input.
 * message: one line that says what was found and what was expected, the same
 * that the program prints; empty where code is 0.  A NULL argument has code 2
 * unless NULL is allowed below; a function without a status returns 0 or NULL. */
typedef struct twicetold_status {
    int code;
    char message[252];
} twicetold_status;

/* What is asked for.  All but the name may be left 0. */
typedef struct twicetold_request {
    const char *name;                   /* of the operator, "lisa" */
    const char *const *options;         /* "--grid", "14x14", ..., NULL: as on the command line */
    const char *form;                   /* "naive", "fast", ...; NULL: "fast" */
    int threads;                        /* at most 1024; 0: as many as OpenMP would take, one in a child of fork */
    const char *max_memory;             /* bytes for the plan, as "8G"; NULL: three quarters of what is free */
} twicetold_request;

#define TWICETOLD_AXES 8                /* more than any tensor has */

/* ---- float: libtwicetold ----------------------------------------------- */

typedef struct twicetold_plan twicetold_plan;

/* A tensor of the caller: row-major, the last axis fastest, without gaps. */
typedef struct twicetold_tensor {
    const char *name;                   /* "w_qkv" */
    const float *data;                  /* NULL where the shape is enough */
    int axes;
    size_t size[TWICETOLD_AXES];        /* each at least 1 */
} twicetold_tensor;

/* Operator number `at`, and form number `at` of an operator, from 0; NULL behind
 * the last and for an operator that is not known.  Form 0 is the naive one. */
TWICETOLD_API const char *twicetold_operator(int at);
TWICETOLD_API const char *twicetold_form(const char *name, int at);

/* "1.0". */
TWICETOLD_API const char *twicetold_version(void);

/* What an operator takes, as JSON in UTF-8: its options with kind, default and
 * range, its tensors with shapes in letters, the letters, its forms.  Like snprintf, it
 * writes what fits into text of `size` bytes and returns the length of all; 0
 * for an operator that is not known.  If text is NULL, it writes nothing. */
TWICETOLD_API size_t twicetold_describe(char *text, size_t size, const char *name);

/* A plan for tensors of these shapes, x among them, in any order.  Data are not
 * looked at, and little memory is taken; after it the questions below have their
 * answers.  Nothing that it was given is needed afterwards.
 *
 * Refused, with code 2: an operator, form or option that is not known; a tensor
 * that is missing, extra, given twice or of another shape; what needs more
 * memory than is allowed. */
TWICETOLD_API twicetold_status twicetold_plan_create(twicetold_plan **plan, const twicetold_request *request,
                                                     const twicetold_tensor *tensors, size_t count);

/* Takes memory where that is not done yet, and prepares what a form keeps of the
 * parameters.  To be called before the first run, and again whenever numbers have
 * changed or lie elsewhere; names and shapes are those of the creation.  The
 * parameters stay the caller's, and must stay where they are while the plan
 * runs; x needs no data here.  After a load that was refused, code 2, the plan
 * is as it was; after one that failed, code 1, it must be loaded again. */
TWICETOLD_API twicetold_status twicetold_plan_load(twicetold_plan *plan, const twicetold_tensor *tensors,
                                                   size_t count);

/* y from x, which do not overlap.  Takes no memory. */
TWICETOLD_API twicetold_status twicetold_plan_run(twicetold_plan *plan, float *y, const float *x);

/* Accepts NULL. */
TWICETOLD_API void twicetold_plan_release(twicetold_plan *plan);

/* The shape of y: how many axes, and their sizes. */
TWICETOLD_API int twicetold_plan_shape(const twicetold_plan *plan, size_t size[TWICETOLD_AXES]);

/* Bytes that a loaded plan takes beside the tensors; learnable numbers, all
 * tensors but x; multiply-adds of a run, by formula. */
TWICETOLD_API size_t twicetold_plan_bytes(const twicetold_plan *plan);
TWICETOLD_API size_t twicetold_plan_parameters(const twicetold_plan *plan);
TWICETOLD_API double twicetold_plan_multiply_adds(const twicetold_plan *plan);

/* ---- the same in double: libtwicetold-double --------------------------- */

typedef struct twicetold_double_plan twicetold_double_plan;

typedef struct twicetold_double_tensor {
    const char *name;
    const double *data;
    int axes;
    size_t size[TWICETOLD_AXES];
} twicetold_double_tensor;

TWICETOLD_API const char *twicetold_double_operator(int at);
TWICETOLD_API const char *twicetold_double_form(const char *name, int at);
TWICETOLD_API const char *twicetold_double_version(void);
TWICETOLD_API size_t twicetold_double_describe(char *text, size_t size, const char *name);
TWICETOLD_API twicetold_status twicetold_double_plan_create(twicetold_double_plan **plan,
                                                            const twicetold_request *request,
                                                            const twicetold_double_tensor *tensors, size_t count);
TWICETOLD_API twicetold_status twicetold_double_plan_load(twicetold_double_plan *plan,
                                                          const twicetold_double_tensor *tensors, size_t count);
TWICETOLD_API twicetold_status twicetold_double_plan_run(twicetold_double_plan *plan, double *y, const double *x);
TWICETOLD_API void twicetold_double_plan_release(twicetold_double_plan *plan);
TWICETOLD_API int twicetold_double_plan_shape(const twicetold_double_plan *plan, size_t size[TWICETOLD_AXES]);
TWICETOLD_API size_t twicetold_double_plan_bytes(const twicetold_double_plan *plan);
TWICETOLD_API size_t twicetold_double_plan_parameters(const twicetold_double_plan *plan);
TWICETOLD_API double twicetold_double_plan_multiply_adds(const twicetold_double_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
