/* twicetold.h -- the C interface of the library
 *
 * Attention operators of five papers, each in several forms that compute the same function.
 *
 *     twicetold_plan *plan;
 *     twicetold_status s = twicetold_plan_create(&plan, &request, tensors, count);
 *     if (!s.code) s = twicetold_plan_load(plan, tensors, count);
 *     if (!s.code) s = twicetold_plan_run(plan, y, x);        any number of times
 *     twicetold_plan_release(plan);
 *
 * Layers are used like operators.  The networks of the papers are built of both (twicetold_network_create).
 *
 * As with FFTW, there are two libraries, and a program may link both.  libtwicetold computes in float.
 * libtwicetold-double computes in double; its names begin with twicetold_double_, and plans and tensors are other
 * types, so that the compiler detects a mixture.  No function converts numbers.
 *
 * Errors are values.  Nothing in our code prints, exits or aborts.  But OpenMP's library ends the process if it cannot
 * create threads, and FFTW (form fftw) if memory is exhausted.
 *
 * A child of fork has none of its parent's threads.  If the parent has used them, OpenMP would wait for them for ever.
 * So the default there is one thread, until the process calls exec.  If the parent has run a plan of several threads,
 * running one in the child is bad input.  The library does not know if other code of the parent has used OpenMP; if so,
 * do not request several threads in the child.  If the library is loaded after the fork, it needs /proc to notice the
 * fork.
 *
 * Plans share nothing, so each thread may have its own.  Only one thread at a time may call a plan.
 *
 * The book has the equations of the operators; `twicetold help OPERATOR` has their options and tensors. */

#ifndef TWICETOLD_H
#define TWICETOLD_H

#include <stddef.h>

#define TWICETOLD_VERSION_MAJOR 1       /* of this header; twicetold_version is the library's */
#define TWICETOLD_VERSION_MINOR 0
#define TWICETOLD_VERSION "1.0"

#ifdef __GNUC__
#define TWICETOLD_API __attribute__((visibility("default")))
#else
#define TWICETOLD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- both precisions --------------------------------------------------- */

/* code: 0 OK, 1 the machine failed, 2 bad input.  message: one line, what was found and what was expected; empty if
 * code is 0.  A NULL argument is bad input unless allowed below; functions without a status then return 0 or NULL. */
typedef struct twicetold_status {
    int code;
    char message[252];
} twicetold_status;

/* All members but the name may be 0. */
typedef struct twicetold_request {
    const char *name;                   /* of the operator, layer or network, "lisa" */
    const char *const *options;         /* "--grid", "14x14", ..., NULL: as on the command line */
    const char *form;                   /* "naive", "fast", ...; NULL: "fast" */
    int threads;                        /* at most 1024; 0: OpenMP's default, but one in a child of fork */
    const char *max_memory;             /* bytes of the plan, as "8G"; NULL: three quarters of the free memory */
} twicetold_request;

#define TWICETOLD_AXES 8                /* more than any tensor has */

/* ---- float: libtwicetold ----------------------------------------------- */

typedef struct twicetold_plan twicetold_plan;

/* A tensor of the caller: row-major, the last axis fastest, without gaps. */
typedef struct twicetold_tensor {
    const char *name;                   /* "w_qkv" */
    const float *data;                  /* may be NULL if only the shape is read */
    int axes;
    size_t size[TWICETOLD_AXES];        /* each at least 1 */
} twicetold_tensor;

/* Operator or layer number `at`, and form number `at` of an operator, from 0.  NULL after the last, or if the operator
 * is unknown.  Form 0 is the naive form. */
TWICETOLD_API const char *twicetold_operator(int at);
TWICETOLD_API const char *twicetold_layer(int at);
TWICETOLD_API const char *twicetold_form(const char *name, int at);

/* "1.0". */
TWICETOLD_API const char *twicetold_version(void);

/* Writes a description of an operator or layer, as JSON in UTF-8: options with kind, default and range, tensors with
 * shapes in letters, the letters, the forms.  Like snprintf, it writes what fits into text of `size` bytes and returns
 * the full length; 0 if the operator is unknown.  If text is NULL, it writes nothing. */
TWICETOLD_API size_t twicetold_describe(char *text, size_t size, const char *name);

/* Creates a plan for tensors of these shapes, x included, in any order.  It reads no data and allocates little memory.
 * Afterwards plan_shape, plan_bytes, plan_parameters and plan_multiply_adds have their values, and the arguments are
 * not needed any more.
 *
 * Bad input: an unknown operator, form or option; a tensor that is missing, extra, given twice or of another shape; a
 * plan that needs more memory than allowed. */
TWICETOLD_API twicetold_status twicetold_plan_create(twicetold_plan **plan, const twicetold_request *request,
                                                     const twicetold_tensor *tensors, size_t count);

/* Allocates the plan's memory, at the first call, and computes all that depends on the parameters alone.  Call it
 * before the first run, and again after parameters have changed or moved.  Names and shapes are those of plan_create; x
 * needs no data.  The parameters remain the caller's, and must not move while the plan is used.  After bad input (code
 * 2) the plan is unchanged; after a failure (code 1) it must be loaded again. */
TWICETOLD_API twicetold_status twicetold_plan_load(twicetold_plan *plan, const twicetold_tensor *tensors,
                                                   size_t count);

/* Computes y from x, which must not overlap.  Allocates nothing. */
TWICETOLD_API twicetold_status twicetold_plan_run(twicetold_plan *plan, float *y, const float *x);

/* Accepts NULL. */
TWICETOLD_API void twicetold_plan_release(twicetold_plan *plan);

/* Returns the number of axes of y, and sets their sizes. */
TWICETOLD_API int twicetold_plan_shape(const twicetold_plan *plan, size_t size[TWICETOLD_AXES]);

/* Bytes of a loaded plan, without the caller's tensors; its threads; numbers in all tensors but x; multiply-adds of a
 * run, by formula. */
TWICETOLD_API size_t twicetold_plan_bytes(const twicetold_plan *plan);
TWICETOLD_API int twicetold_plan_threads(const twicetold_plan *plan);
TWICETOLD_API size_t twicetold_plan_parameters(const twicetold_plan *plan);
TWICETOLD_API double twicetold_plan_multiply_adds(const twicetold_plan *plan);

typedef struct twicetold_network twicetold_network;

/* The name of network number `at`, from 0; NULL after the last. */
TWICETOLD_API const char *twicetold_network_name(int at);

/* Creates a network for `batch` images or videos, and loads it.  The weights remain the caller's, and must not move or
 * change while it is used.  Options: --grid, --classes, --depths, --widths, --heads and --random, as of `twicetold
 * network`.  The form is "naive" or "fast".  With --random SEED there are no weights; with neither, no memory is
 * allocated for a run, which is then bad input.
 *
 * Bad input: an unknown network, form or option; a weight that is missing, given twice, extra or of another shape;
 * memory as in plan_create.  After an error, *network is NULL. */
TWICETOLD_API twicetold_status twicetold_network_create(twicetold_network **network, const twicetold_request *request,
                                                        size_t batch, const twicetold_tensor *weights, size_t count);

/* Tensor number `at`: x, logits, the output of each stage (stage1, ...), then the weights, by the paths that create
 * expects.  Returns 0 after the last.  The name is valid until the next call, and data are those of a weight. */
TWICETOLD_API int twicetold_network_tensor(twicetold_network *network, twicetold_tensor *tensor, size_t at);

/* Computes logits from x.  If stage is not NULL, the output of stage i goes to stage[i], unless that is NULL. */
TWICETOLD_API twicetold_status twicetold_network_run(twicetold_network *network, float *logits, const float *x,
                                                     float *const *stage);
TWICETOLD_API void twicetold_network_release(twicetold_network *network);

/* As of a plan: bytes of a loaded network, without the caller's weights; learned parameters. */
TWICETOLD_API size_t twicetold_network_bytes(const twicetold_network *network);
TWICETOLD_API size_t twicetold_network_parameters(const twicetold_network *network);

/* ---- the same in double: libtwicetold-double --------------------------- */

typedef struct twicetold_double_plan twicetold_double_plan;

typedef struct twicetold_double_tensor {
    const char *name;
    const double *data;
    int axes;
    size_t size[TWICETOLD_AXES];
} twicetold_double_tensor;

TWICETOLD_API const char *twicetold_double_operator(int at);
TWICETOLD_API const char *twicetold_double_layer(int at);
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
TWICETOLD_API int twicetold_double_plan_threads(const twicetold_double_plan *plan);
TWICETOLD_API size_t twicetold_double_plan_parameters(const twicetold_double_plan *plan);
TWICETOLD_API double twicetold_double_plan_multiply_adds(const twicetold_double_plan *plan);

typedef struct twicetold_double_network twicetold_double_network;

TWICETOLD_API const char *twicetold_double_network_name(int at);
TWICETOLD_API twicetold_status twicetold_double_network_create(twicetold_double_network **network,
                                                               const twicetold_request *request, size_t batch,
                                                               const twicetold_double_tensor *weights, size_t count);
TWICETOLD_API int twicetold_double_network_tensor(twicetold_double_network *network, twicetold_double_tensor *tensor,
                                                  size_t at);
TWICETOLD_API twicetold_status twicetold_double_network_run(twicetold_double_network *network, double *logits,
                                                            const double *x, double *const *stage);
TWICETOLD_API void twicetold_double_network_release(twicetold_double_network *network);
TWICETOLD_API size_t twicetold_double_network_bytes(const twicetold_double_network *network);
TWICETOLD_API size_t twicetold_double_network_parameters(const twicetold_double_network *network);

#ifdef __cplusplus
}
#endif

#endif
