/* network.h -- a network is a table of steps over operators and layers
 *
 * A network has stages of blocks.  A stage has entry steps, once, and the steps of a block, `depth` times; the steps of
 * the end follow the last stage.  A step is an operator or a layer, its options as words, and how it changes x and h:
 *
 *     ON      x <- f(x)         INTO    h <- f(x)         JOIN    x <- x + f(h)
 *     ADD     x <- x + f(x)     ALONG   h <- f(h)
 *
 * Options and sizes of a step may have placeholders: %C, %4C, %C/8 of the channels of the stage; %h, its heads; %s,
 * 1/sqrt(C/h); %q, query channels, by the table's own rule; %K, classes.  Operators and layers that have --grid get the
 * grid of x.
 *
 * Weights have paths: stage1.embed.w, stage2.block3.mixer.w_qkv, head.w.  A file holds exactly the tensors of all
 * paths.
 *
 *     network_create     makes problems and prepared plans: sizes, parameters, bytes and costs are known
 *     network_bind       shapes, or numbers, of a file; or network_draw: random ones
 *     network_place      takes the memory, loads the plans
 *     network_run        logits from x; allocates nothing
 *     network_release    at any time
 *
 * Three arrays hold x, h and the result of a step, and all plans share the largest workspace.  Errors name the path of
 * a step whose options do not fit, or that of a tensor that is missing, extra or of another shape. */

#ifndef TWICETOLD_NETWORK_H
#define TWICETOLD_NETWORK_H

#include "operators.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NETWORK_STAGES 4
#define NETWORK_PATH 96          /* of a weight, with its end */
#define NETWORK_STEP 64          /* of a step */

/* ---- the table ------------------------------------------------------------ */

enum move { ON, INTO, ALONG, JOIN, ADD };
enum turn { ALWAYS, ODD, EVEN };            /* blocks of a stage that have the step; they count from 1 */

struct network_step {
    const char *name;                       /* its part of the path: "norm1" */
    enum move move;
    const char *what;                       /* an operator or a layer: "mlp" */
    const char *options;                    /* "--ratio 4 --depthwise"; NULL: none */
    const char *sizes;                      /* letters that the options leave open: "D=16"; NULL: none */
    const char *without;                    /* optional tensors that it does without: "b_qkv,b_o"; NULL: none */
    const char *second;                     /* tensors of the second of their shapes: "rpe"; NULL: none */
    enum turn turn;
};

/* The preparation of a photograph for a grid of H x W pixels, by the authors' code (photo.h). */
struct photo_recipe {
    double crop;                            /* H over the rows that the scaled photograph covers; 0: 224/256 */
    size_t squeezed;                        /* at this H and W the whole photograph is scaled to H x W; 0: never */
};

/* Arrays of steps end at a name of NULL. */
struct network_stage {
    size_t depth, width, heads;             /* blocks, C, h */
    const struct network_step *entry, *block;
};

struct network_table {
    const char *name;
    const char *summary;                    /* one line */
    struct network_stage stage[NETWORK_STAGES];     /* ends at a block of NULL */
    const struct network_step *end;
    const char *grid;                       /* the grid of pixels that it was made for */
    size_t channels, classes;               /* of a pixel, and of the logits; 0: 3, and 1000 */
    size_t (*query)(size_t C);              /* %q; NULL where no step asks */
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
    const char *depths, *widths, *heads;    /* of the stages, "1,1,1,1" "16,32,64,64"; NULL: the table's.  Where widths
                                             * alone are given heads keep their channels, and are at least one */
    int threads;
    size_t allowed;                         /* bytes: more parts than fit into these are refused; 0: any */
};

/* One step where it stands. */
struct part {
    const struct network_step *step;
    int stage;                              /* from 1; 0 at the end of the network */
    bool closes;                            /* the last step of its stage */
    char path[NETWORK_STEP];                /* "stage2.block3.mixer" */
    char words[224];                        /* its options and sizes, spelled out; the problem points here */
    struct problem problem;
    struct plan plan;
    double seconds;                         /* of the last run; of one thread, its processor time */
};

struct network {
    const struct network_table *table;
    struct network_stage stage[NETWORK_STAGES];     /* with the depths, widths and heads that were asked for */
    int stages;
    grid grid;
    size_t batch, classes;
    int threads;
    struct part *part;                      /* in running order */
    size_t parts;
    size_t activations, scratch;          /* reals of each of the three arrays; bytes of the plans' */
    real *x, *h, *y;                        /* NULL until placed */
    void *shared;
    real *drawn;                            /* random weights, or NULL */
    double adding;                          /* seconds that the last run spent in x + f */
};

/* After an error there is nothing to release. */
status network_create(struct network *n, const struct network_table *table, const struct network_request *request);

/* Bind every tensor of a file: none missing, none extra, each of its shape.  Without data only shapes are checked.  The
 * file's data must outlive the network. */
status network_bind(struct network *n, const struct tensors *file);

/* Draw all weights, those of each step with its own seed; the network owns them. */
status network_draw(struct network *n, uint64_t seed);

/* Allocate and load; after an error the network must be released.  Load again after numbers have changed in place. */
status network_place(struct network *n);
status network_load(struct network *n);

/* logits [B][classes], unless NULL, from x [B][N][3], or as many channels as the table has.  The output of stage i is
 * copied to stage[i], unless stage or stage[i] is NULL. */
status network_run(struct network *n, real *logits, const real *x, real *const *stage);
void network_release(struct network *n);

/* Learned numbers, without the running statistics of batch norms. */
size_t network_parameters(const struct network *n);
/* All numbers of a file of weights. */
size_t network_weights(const struct network *n);

/* Of one run: all of it, or bare, without norms and positions. */
double network_multiply_adds(const struct network *n);
double network_bare_multiply_adds(const struct network *n);

/* Bytes of the network when it is placed, with or without drawn weights; SIZE_MAX if they overflow. */
size_t network_bytes(const struct network *n, bool drawn);

/* The shape of x, and of the output of stage i from 0. */
void network_input_shape(const struct network *n, size_t size[3]);
void network_stage_shape(const struct network *n, int stage, size_t size[3]);

/* Weight number `at` in the order of the steps, with borrowed data; false after the last. */
bool network_weight(struct tensor *t, char path[NETWORK_PATH], const struct network *n, size_t at);

#ifdef __cplusplus
}
#endif

#endif
