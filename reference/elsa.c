/* elsa.c -- the declaration of ELSA; see elsa.h */

#include "elsa.h"
#include <float.h>
#include <math.h>
#include <string.h>
#include "memory.h"
#include "steps.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 2, .high = 2, .meaning = "the token grid: HxW"},
    {.name = "kernel", .kind = OPTION_INTEGER, .low = 1, .high = 16383, .letter = "K",
     .meaning = "neighbours are KxK tokens, K odd"},
    {.name = "dilation", .kind = OPTION_INTEGER, .fallback = "1", .low = 1, .high = 65536,
     .meaning = "steps between neighbours"},
    {.name = "equation", .kind = OPTION_CHOICE, .fallback = "7", .choices = "4|6|7",
     .meaning = "the paper's equation; 7 is Hadamard attention"},
    {.name = "variant", .kind = OPTION_CHOICE, .fallback = "", .choices = "final",
     .meaning = "the authors' final module, in place of an equation"},
    {.name = "heads", .kind = OPTION_INTEGER, .fallback = "1", .low = 1, .high = 65536, .letter = "h",
     .meaning = "heads: filters for each token"},
    {.name = "head-map", .kind = OPTION_CHOICE, .fallback = "modulo", .choices = "modulo|block",
     .meaning = "head of channel c: c mod h, or c div (C/h)"},
    {.name = "lambda", .kind = OPTION_REAL, .fallback = "1", .low = -DBL_MAX, .high = DBL_MAX,
     .meaning = "power of ghost_mul"},
    {.name = "gamma", .kind = OPTION_REAL, .fallback = "1", .low = -DBL_MAX, .high = DBL_MAX,
     .meaning = "factor of ghost_add"},
    {.name = "scale", .kind = OPTION_REAL, .fallback = "1", .low = -DBL_MAX, .high = DBL_MAX,
     .meaning = "multiplies q*k; in Eq. 6 q and k each, in Eq. 4 q.k"},
    {.name = "terms", .kind = OPTION_CHOICE, .fallback = "qk+qr+rk+b", .meaning = "of Eq. 4: some of these"},
    {.name = "norm", .kind = OPTION_CHOICE, .fallback = "softmax", .choices = "softmax|identity|filter",
     .meaning = "of Eq. 4"},
    {.name = "area", .kind = OPTION_CHOICE, .fallback = "neighbourhood", .choices = "neighbourhood|window",
     .meaning = "of Eq. 4"},
    {0}
};

static const struct tensor_row tensors[] = {
    {.name = "x", .shape = "B N C", .meaning = "the tokens"},
    {.name = "conv_w", .shape = "Q 8 K K", .when = "variant=final", .fan = "8*K*K", .meaning = "group convolution of q*k, Q channels"},
    {.name = "conv_b", .shape = "Q", .when = "variant=final", .fan = "8*K*K", .meaning = "its bias"},
    {.name = "w_qkv", .shape = "3*C C", .when = "variant=", .fan = "C", .meaning = "rows make query, key, value"},
    {.name = "w_qkv", .shape = "2*Q+C C", .when = "variant=final", .fan = "C", .meaning = "rows make query, key (Q each), value (C)"},
    {.name = "b_qkv", .shape = "3*C", .when = "variant=", .optional = true, .fan = "C", .meaning = "their bias"},
    {.name = "b_qkv", .shape = "2*Q+C", .when = "variant=final", .optional = true, .fan = "C", .meaning = "their bias"},
    {.name = "rk", .shape = "C h K*K", .when = "equation=6|7 & variant=", .fan = "C", .meaning = "logits from the token itself"},
    {.name = "rq", .shape = "C h K*K", .when = "equation=6|7 & variant=", .fan = "C", .meaning = "logits from its neighbours"},
    {.name = "rb", .shape = "h K*K", .when = "equation=6|7 & variant=", .fan = "1", .meaning = "logits of relative position"},
    {.name = "rk", .shape = "C h T", .when = "equation=4 & terms~qr & variant=", .fan = "C", .meaning = "term qr: the query meets an offset"},
    {.name = "rq", .shape = "C h T", .when = "equation=4 & terms~rk & variant=", .fan = "C", .meaning = "term rk: the key meets an offset"},
    {.name = "rb", .shape = "h T", .when = "equation=4 & terms~b & variant=", .fan = "1", .meaning = "term b: a bias per offset"},
    {.name = "mix_w", .shape = "h*K*K Q", .when = "variant=final", .fan = "Q", .meaning = "logits from the convolved channels"},
    {.name = "mix_b", .shape = "h*K*K", .when = "variant=final", .fan = "Q", .meaning = "their bias"},
    {.name = "ghost_mul", .shape = "C K*K", .when = "equation=6|7", .optional = true, .with = "ghost_add", .fan = "1",
     .meaning = "ghost head: factors of the filters"},
    {.name = "ghost_add", .shape = "C K*K", .when = "equation=6|7", .optional = true, .with = "ghost_mul", .fan = "1",
     .meaning = "ghost head: summands of the filters"},
    {.name = "w_o", .shape = "C C", .optional = true, .fan = "C", .meaning = "output projection"},
    {.name = "b_o", .shape = "C", .optional = true, .with = "w_o", .fan = "C", .meaning = "its bias"},
    {0}
};

/* ---- Eq. 4's choices --------------------------------------------------- */

bool elsa_term(const struct problem *p, const char *term)
{
    return words_have(problem_text(p, "terms"), term, strlen(term));
}

enum elsa_norm elsa_norm(const struct problem *p)
{
    const char *text = problem_text(p, "norm");
    return !strcmp(text, "identity") ? ELSA_IDENTITY : !strcmp(text, "filter") ? ELSA_FILTER : ELSA_SOFTMAX;
}

bool elsa_windows(const struct problem *p)
{
    return !strcmp(problem_text(p, "area"), "window");
}

/* Each of the words is a term, and none comes twice. */
static status check_terms(const struct problem *p)
{
    const char *text = problem_text(p, "terms");
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, "+");
        if (!n || !words_have("qk+qr+rk+b", at, n) || (at[n] && words_have(at + n + 1, at, n)))
            return bad_input("option --terms: found '%.40s', expected some of qk+qr+rk+b, each once", text);
        at += n;
        if (!*at) return status_ok();
    }
}

/* Options that have a meaning in Eq. 4 only, or not there. */
static status misplaced(const struct problem *p)
{
    static const char *const unified[] = {"terms", "norm", "area"}, *const ghost[] = {"lambda", "gamma"};
    bool four = problem_number(p, "equation") == 4;

    if (problem_given(p, "variant") && problem_given(p, "equation"))
        return bad_input("option --equation: found beside --variant final, expected one of them");
    for (size_t o = 0; o < sizeof unified / sizeof *unified; o++)
        if (!four && problem_given(p, unified[o]))
            return bad_input("option --%s: found, expected only with --equation 4", unified[o]);
    for (size_t o = 0; o < sizeof ghost / sizeof *ghost; o++)
        if (four && problem_given(p, ghost[o]))
            return bad_input("option --%s: found with --equation 4, which has no ghost head", ghost[o]);
    return status_ok();
}

static status derive(struct problem *p)
{
    size_t K = problem_size(p, "K"), span = K, offsets;
    status s = misplaced(p);

    if (s.code) return s;
    if (K % 2 == 0) return bad_input("option --kernel: found %zu, expected an odd number", K);
    if ((s = check_terms(p)).code) return s;
    if (elsa_windows(p)) {
        if (p->grid.size[0] % K || p->grid.size[1] % K)
            return bad_input("option --kernel: found %zu, expected a divisor of %zu and %zu, as windows tile the grid",
                             K, p->grid.size[0], p->grid.size[1]);
        if (problem_given(p, "dilation"))
            return bad_input("option --dilation: found with --area window, expected only with neighbourhoods");
        span = 2 * K - 1;
    }
    if (!size_multiply(&offsets, span, span)) return bad_input("option --kernel: %zu is too large", K);
    if ((s = problem_set_size(p, "T", offsets)).code) return s;
    return derive_head_channels(p);
}

/* Eq. 8's power has a value for every base. */
static status check(const struct problem *p)
{
    const real *base = problem_tensor(p, "ghost_mul");
    size_t count = problem_size(p, "C") * problem_size(p, "K") * problem_size(p, "K");
    double lambda = problem_number(p, "lambda");

    if (problem_given(p, "variant") && problem_size(p, "Q") % 8)
        return bad_input("tensor conv_w: found %zu output channels, expected a multiple of 8", problem_size(p, "Q"));
    for (size_t i = 0; base && i < count; i++) {
        if (lambda != floor(lambda) && base[i] < 0)
            return bad_input("tensor ghost_mul: found %g to the power %g, expected bases of at least 0 for a fractional power",
                             (double)base[i], lambda);
        if (lambda < 0 && base[i] == 0)
            return bad_input("tensor ghost_mul: found 0 to the power %g, expected other bases for a negative power", lambda);
    }
    return status_ok();
}

const struct declaration elsa = {
    .name = "elsa",
    .summary = "enhanced local self-attention (Zhou et al. 2021)",
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .check = check,
    .forms = {&elsa_naive, &elsa_fast},
};

/* ---- what both forms read off a problem -------------------------------- */

struct elsa_sizes elsa_sizes(const struct problem *p)
{
    struct elsa_sizes s = {
        .N = problem_size(p, "N"), .C = problem_size(p, "C"), .h = problem_size(p, "h"), .K = problem_size(p, "K"),
        .equation = problem_given(p, "variant") ? 0 : (int)problem_number(p, "equation"),
        .by_block = !strcmp(problem_text(p, "head-map"), "block"),
        .scale = (real)problem_number(p, "scale"),
    };
    s.entries = s.K * s.K;
    s.Q = s.equation ? s.C : problem_size(p, "Q");
    return s;
}

size_t elsa_head(const struct elsa_sizes *s, size_t c)
{
    return s->by_block ? c / (s->C / s->h) : c % s->h;
}

/* A token's window mates, and their offsets among the (2K-1)^2. */
static void window_mates(struct elsa_area *area, const grid *g, const grid *window, size_t i)
{
    size_t K = window->size[0], at[GRID_AXES], corner[GRID_AXES] = {0};
    grid_coordinates(at, g, i);
    for (int a = 0; a < 2; a++) corner[a] = at[a] / K * K;
    for (size_t n = 0; n < area->entries; n++) {
        size_t there[GRID_AXES] = {corner[0] + n / K, corner[1] + n % K, 0};
        size_t own = (at[0] - corner[0]) * K + at[1] - corner[1];
        area->token[i * area->entries + n] = (int)grid_index(g, there);
        area->offset[i * area->entries + n] = (int)grid_offset(window, own, n);
    }
}

status elsa_area_create(struct elsa_area *area, const struct problem *p)
{
    size_t N = problem_size(p, "N"), K = problem_size(p, "K"), count;
    struct neighbours around;
    grid window;
    status s;

    /* Step 1: room. */
    *area = (struct elsa_area){.entries = K * K};
    if ((s = grid_create(&window, 2, (size_t[]){K, K})).code) return s;
    if (!size_multiply(&count, N, area->entries)) return out_of_memory("the areas");
    area->token = memory_get(count, sizeof *area->token);
    area->offset = memory_get(count, sizeof *area->offset);
    if (!area->token || !area->offset) return out_of_memory("the areas");

    /* Step 2: windows, or neighbours, whose offset is their number. */
    if (elsa_windows(p)) {
        for (size_t i = 0; i < N; i++) window_mates(area, &p->grid, &window, i);
        return status_ok();
    }
    s = neighbours_create(&around, &p->grid, &window, 1, (size_t)problem_number(p, "dilation"));
    for (size_t e = 0; !s.code && e < count; e++) {
        area->token[e] = around.token[e];
        area->offset[e] = (int)(e % area->entries);
    }
    neighbours_release(&around);
    return s;
}

void elsa_area_release(struct elsa_area *area)
{
    memory_free(area->token);
    memory_free(area->offset);
    area->token = area->offset = NULL;
}

double elsa_pairs(const struct problem *p)
{
    size_t K = problem_size(p, "K"), dilation = (size_t)problem_number(p, "dilation");
    double pairs = 1;

    if (elsa_windows(p)) return (double)problem_size(p, "N") * (double)(K * K);
    for (int a = 0; a < 2; a++) {
        double axis = (double)p->grid.size[a];
        for (size_t step = 1; step <= K / 2 && step * dilation < p->grid.size[a]; step++)
            axis += 2 * (double)(p->grid.size[a] - step * dilation);
        pairs *= axis;
    }
    return pairs;
}

double elsa_term_multiply_adds(const struct problem *p)
{
    struct elsa_sizes s = elsa_sizes(p);
    double pairs = elsa_pairs(p), all = (double)s.N * (double)s.entries, C = (double)s.C, h = (double)s.h;
    return (elsa_term(p, "qk") ? pairs * C + all * h : 0) + (elsa_term(p, "qr") ? all * h * C : 0)
         + (elsa_term(p, "rk") ? pairs * h * C : 0);
}

void elsa_normalise(real *filter, size_t entries, enum elsa_norm norm)
{
    if (norm == ELSA_SOFTMAX) softmax(filter, entries);
    if (norm == ELSA_FILTER) layer_norm(filter, NULL, NULL, entries, 1e-10);
}

void elsa_ghost(real *factor, real *summand, const struct problem *p)
{
    const real *mul = problem_tensor(p, "ghost_mul"), *add = problem_tensor(p, "ghost_add");
    size_t count = problem_size(p, "C") * problem_size(p, "K") * problem_size(p, "K");
    for (size_t i = 0; i < count; i++) {
        factor[i] = (real)pow((double)mul[i], problem_number(p, "lambda"));
        summand[i] = (real)problem_number(p, "gamma") * add[i];
    }
}
