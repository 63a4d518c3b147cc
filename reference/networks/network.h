/* network.h -- a network is a table of steps over operators and layers
 *
 * A stage runs its entry steps once, then the steps of its block `depth` times.  The end steps follow the last stage.
 * A step is an operator or a layer, its options as words, and how it changes x and h:
 *
 *     ON      x <- f(x)         INTO    h <- f(x)         JOIN    x <- x + f(h)
 *     ADD     x <- x + f(x)     ALONG   h <- f(h)
 *
 * Options and sizes of a step may have placeholders: %C, %4C, %C/8 for channels of the stage; %h for its heads; %s for
 * 1/sqrt(C/h); %q for query channels, by the table's rule; %K for classes.  By Swin's rule %7w is the edge of a window:
 * 7, or the shorter side of the grid if that is less; %7t is its shift: 7/2, or 0 if the shorter side is at most 7.
 * Operators and layers that have --grid get the grid of their input.
 *
 * Weights have paths: stage1.embed.w, stage2.block3.mixer.w_qkv, head.w.  A file has exactly the tensors of all paths.
 *
 *     network_create     creates problems and plans without memory: sizes, parameters, bytes and costs are known
 *     network_bind       binds the tensors of a file; network_draw makes random weights
 *     network_place      allocates memory and loads the plans
 *     network_run        allocates nothing
 *
 * Three arrays hold x, h and the result of a step.  All plans share one scratch block, as large as the largest needs.
 * Errors name the path of a step or of a tensor. */

#pragma once
#include "operators.h"

BEGIN_C_DECLS

#define NETWORK_STAGES 4
#define NETWORK_PATH 96          /* bytes of the path of a weight */
#define NETWORK_STEP 64          /* bytes of the path of a step */

/* ---- the table ------------------------------------------------------------ */

enum move { ON, INTO, ALONG, JOIN, ADD };
enum turn { ALWAYS, ODD, EVEN };            /* the blocks of a stage, from 1, that have the step */

struct network_step {
    const char *name;                       /* its part of the path: "norm1" */
    enum move move;
    const char *what;                       /* an operator or a layer: "mlp" */
    const char *options;                    /* "--ratio 4 --depthwise"; NULL: none */
    const char *sizes;                      /* of letters that the options leave open: "D=16"; NULL: none */
    const char *without;                    /* optional tensors to leave out: "b_qkv,b_o"; NULL: none */
    const char *last_shape;                 /* tensors, as in struct problem_sizes: "rpe", or NULL */
    enum turn turn;
};

/* The preparation of a photograph for a grid of H x W pixels, by the authors' code (photo.h). */
struct photo_recipe {
    double crop;                            /* H over the rows that the scaled photograph covers; 0: 224/256 */
    size_t squeezed;                        /* at this H and W the whole photograph is scaled to H x W; 0: never */
};

/* An array of steps ends at a name of NULL. */
struct network_stage {
    size_t depth, width, heads;             /* blocks, C, h */
    const struct network_step *entry, *block;
};

struct network_table {
    const char *name;
    const char *summary;                    /* one line */
    struct network_stage stage[NETWORK_STAGES];     /* ends at a block of NULL */
    const struct network_step *end;
    const char *grid;                       /* the default grid of pixels */
    size_t channels, classes;               /* of a pixel, and of the logits; 0: 3, and 1000 */
    size_t (*query)(size_t C);              /* %q; NULL if no step has it */
    struct photo_recipe photo;
};

/* Network number `at`, NULL after the last; the network of that name, NULL or bad input if there is none. */
const struct network_table *network_at(int at);
const struct network_table *network_find(const char *name);
status network_named(const struct network_table **table, const char *name);

/* ---- a network ---------------------------------------------------------------- */

struct network_request {
    const char *form;                       /* of the operators: "naive" or "fast"; NULL: fast */
    const char *grid;                       /* of pixels; NULL: the table's */
    size_t batch, classes;                  /* 0: 1, and the table's */
    const char *depths, *widths, *heads;    /* of the stages, "1,1,1,1" "16,32,64,64"; NULL: the table's.  Without
                                             * `heads`, a head keeps its channels; at least one head */
    int threads;
    size_t allowed;                         /* the most bytes for the array of parts; 0: no limit */
};

struct part {
    const struct network_step *step;
    int stage;                              /* from 1; 0 for the steps after the last stage */
    bool closes;                            /* the last step of its stage */
    char path[NETWORK_STEP];                /* "stage2.block3.mixer" */
    char words[224];                        /* options and sizes without placeholders; the problem points to them */
    struct problem problem;
    struct plan plan;
    double seconds;                         /* of the last run */
};

struct network {
    const struct network_table *table;
    struct network_stage stage[NETWORK_STAGES];     /* with the requested depths, widths and heads */
    int stages;
    grid grid;
    size_t batch, classes;
    int threads;
    struct part *part;                      /* in running order */
    size_t parts;
    size_t activations, scratch;            /* reals of each of the three arrays; bytes of the scratch memory */
    real *x, *h, *y;                        /* NULL before network_place */
    void *shared;
    real *drawn;                            /* random weights, or NULL */
    double adding;                          /* seconds that the last run spent in x + f */
    void (*after_step)(void *watcher, const struct part *p);    /* called after each step of a run, unless NULL */
    void *watcher;
};

/* After an error there is nothing to release. */
status network_create(struct network *n, const struct network_table *table, const struct network_request *request);

/* Binds the tensors of a file.  Bad input: a tensor that is missing, extra, or of another shape.  Without data only
 * shapes are checked.  The data must outlive the network. */
status network_bind(struct network *n, const struct tensors *file);

/* True if the network has a weight of this path. */
bool network_asks(const struct network *n, const char *path);

/* Makes random weights, with a seed for each step; the network owns them.  Tensors of up to 65,536 numbers are normal.
 * Larger ones are sums of four uniforms (random_fill_sums) of the same variance, which are many times faster. */
status network_draw(struct network *n, uint64_t seed);

/* Allocates and loads; after an error the network must be released.  Call network_load after weights have changed. */
status network_place(struct network *n);
status network_load(struct network *n);

/* Computes logits [B][classes], unless NULL, from x [B][N][channels].  Copies the output of stage i to stage[i], unless
 * stage or stage[i] is NULL. */
status network_run(struct network *n, real *logits, const real *x, real *const *stage);
void network_release(struct network *n);

/* The number of learned parameters, without the running statistics of batch norms. */
size_t network_parameters(const struct network *n);
/* All numbers in a file of weights. */
size_t network_weights(const struct network *n);

/* Multiply-adds of one run; the bare count leaves out the layers norm and position. */
double network_multiply_adds(const struct network *n);
double network_bare_multiply_adds(const struct network *n);

/* Bytes after network_place, with random weights or without; SIZE_MAX if they overflow. */
size_t network_bytes(const struct network *n, bool drawn);

/* The shape of x, and of the output of stage i from 0. */
void network_input_shape(const struct network *n, size_t size[3]);
void network_stage_shape(const struct network *n, int stage, size_t size[3]);

/* Weight number `at` in the order of the steps, with borrowed data; false after the last. */
bool network_weight(struct tensor *t, char path[NETWORK_PATH], const struct network *n, size_t at);

END_C_DECLS
