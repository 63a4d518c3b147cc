/* dfc.c -- the declarations of the fully connected layers; see dfc.h */

#include "dfc.h"
#include <limits.h>
#include <string.h>
#include "memory.h"
#include "steps.h"

static const struct option no_options[] = {{0}};
static const struct option cp_options[] = {DFC_ACTIVATION, {0}};

static const struct tensor_row fc_tensors[] = {
    {.name = "x", .shape = "B M C", .meaning = "the tokens in"},
    {.name = "w", .shape = "M N C D", .fan = "M*C", .meaning = "a weight for each token and channel in and out"},
    {0}
};

static const struct tensor_row cp_tensors[] = {
    {.name = "x", .shape = "B M C", .meaning = "the tokens in"},
    {.name = "u1", .shape = "B R", .fan = "1", .meaning = "what an image makes of each component"},
    {.name = "u2", .shape = "M R", .fan = "M", .meaning = "the tokens in"},
    {.name = "u3", .shape = "N R", .fan = "1", .meaning = "the tokens out"},
    {.name = "u4", .shape = "C R", .fan = "C", .meaning = "the channels in"},
    {.name = "u5", .shape = "D R", .fan = "R", .meaning = "the channels out"},
    {.name = "b", .shape = "N D", .fan = "1", .meaning = "the bias"},
    {0}
};

struct dfc_sizes dfc_sizes(const struct problem *p)
{
    return (struct dfc_sizes){
        .B = problem_size(p, "B"), .M = problem_size(p, "M"), .N = problem_size(p, "N"),
        .C = problem_size(p, "C"), .D = problem_size(p, "D"), .R = problem_size(p, "R"),
    };
}

bool dfc_gelu(const struct problem *p)
{
    return !strcmp(problem_text(p, "activation"), "gelu");
}

void dfc_finish(real *y, const real *b, size_t b_stride, size_t N, size_t D, bool with_gelu)
{
    for (size_t n = 0; n < N; n++)
        for (size_t d = 0; d < D; d++) {
            real sum = y[n * D + d] + b[n * b_stride + d];
            y[n * D + d] = with_gelu ? gelu(sum) : sum;
        }
}

/* BLAS counts rows and columns in int. */
static status within_blas(const struct problem *p, const char *a, const char *b)
{
    size_t product;
    if (size_multiply(&product, problem_size(p, a), problem_size(p, b)) && product <= INT_MAX) return status_ok();
    return bad_input("%s %s: found %zu x %zu, expected a product of at most %d", a, b, problem_size(p, a),
                     problem_size(p, b), INT_MAX);
}

static status check_fc(const struct problem *p)
{
    status s = within_blas(p, "M", "C");
    return s.code ? s : within_blas(p, "N", "D");
}

static status check_cp(const struct problem *p)
{
    status s = within_blas(p, "B", "M");
    return s.code ? s : within_blas(p, "B", "N");
}

const struct declaration fc = {
    .name = "fc",
    .summary = "the most general linear layer, all tokens and channels to all (Eq. 2)",
    .output = "B N D",
    .options = no_options,
    .tensors = fc_tensors,
    .check = check_fc,
    .forms = {&fc_naive, &fc_fast},
};

const struct declaration dfc_cp = {
    .name = "dfc-cp",
    .summary = "a layer for each image, in the factors of its CP decomposition (Eq. 5, 6)",
    .output = "B N D",
    .options = cp_options,
    .tensors = cp_tensors,
    .check = check_cp,
    .forms = {&dfc_cp_naive, &dfc_cp_fast},
};
