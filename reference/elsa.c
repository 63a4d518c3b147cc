/* elsa.c -- declaration of ELSA; see elsa.h */

#include "elsa.h"
#include <float.h>
#include <math.h>
#include <string.h>
#include "runtime/steps.h"

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 2, .high = 2, .meaning = "the token grid: HxW"},
    {.name = "kernel", .kind = OPTION_INTEGER, .low = 1, .high = 16383, .letter = "K",
     .meaning = "neighbours are KxK tokens, K odd"},
    {.name = "dilation", .kind = OPTION_INTEGER, .default_value = "1", .low = 1, .high = 65536,
     .meaning = "steps between neighbours"},
    {.name = "equation", .kind = OPTION_CHOICE, .default_value = "7", .choices = "4|6|7",
     .meaning = "the paper's equation; 7 is Hadamard attention"},
    {.name = "variant", .kind = OPTION_CHOICE, .default_value = "", .choices = "final",
     .meaning = "the authors' final module, in place of an equation"},
    {.name = "group-width", .kind = OPTION_INTEGER, .default_value = "8", .low = 1, .high = 65536, .letter = "g",
     .meaning = "channels of a group of the final variant's convolution"},
    {.name = "heads", .kind = OPTION_INTEGER, .default_value = "1", .low = 1, .high = 65536, .letter = "h",
     .meaning = "heads: filters for each token"},
    OPTIONS_GHOST,
    {.name = "scale", .kind = OPTION_REAL, .default_value = "1", .low = -REAL_MAX, .high = REAL_MAX,
     .meaning = "multiplies q*k; in Eq. 6 q and k each, in Eq. 4 q.k"},
    {.name = "terms", .kind = OPTION_CHOICE, .default_value = "qk+qr+rk+b", .meaning = "of Eq. 4: some of these"},
    {.name = "norm", .kind = OPTION_CHOICE, .default_value = "softmax", .choices = "softmax|identity|filter",
     .meaning = "of Eq. 4"},
    {.name = "area", .kind = OPTION_CHOICE, .default_value = "neighbourhood", .choices = "neighbourhood|window",
     .meaning = "of Eq. 4"},
    {0}
};

static const struct tensor_row tensors[] = {
    TENSOR_TOKENS,
    {.name = "conv_w", .shape = "Q g K K", .when = "variant=final", .fan_in = "g*K*K",
     .meaning = "group convolution of q*k, Q channels in groups of g"},
    {.name = "conv_b", .shape = "Q", .when = "variant=final", .fan_in = "g*K*K", .meaning = "its bias"},
    {.name = "w_qkv", .shape = "3*C C", .when = "variant=", .fan_in = "C", .meaning = "rows make query, key, value"},
    {.name = "w_qkv", .shape = "2*Q+C C", .when = "variant=final", .fan_in = "C",
     .meaning = "rows make query, key (Q each), value (C)"},
    {.name = "b_qkv", .shape = "3*C", .when = "variant=", .optional = true, .fan_in = "C", .meaning = "their bias"},
    {.name = "b_qkv", .shape = "2*Q+C", .when = "variant=final", .optional = true, .fan_in = "C",
     .meaning = "their bias"},
    {.name = "rk", .shape = "C h K*K", .when = "equation=6|7 & variant=", .fan_in = "C",
     .meaning = "logits from the token itself"},
    {.name = "rq", .shape = "C h K*K", .when = "equation=6|7 & variant=", .fan_in = "C",
     .meaning = "logits from its neighbours"},
    {.name = "rb", .shape = "h K*K", .when = "equation=6|7 & variant=", .fan_in = "1",
     .meaning = "logits of relative position"},
    {.name = "rk", .shape = "C h T", .when = "equation=4 & terms~qr & variant=", .fan_in = "C",
     .meaning = "term qr: the query meets an offset"},
    {.name = "rq", .shape = "C h T", .when = "equation=4 & terms~rk & variant=", .fan_in = "C",
     .meaning = "term rk: the key meets an offset"},
    {.name = "rb", .shape = "h T", .when = "equation=4 & terms~b & variant=", .fan_in = "1",
     .meaning = "term b: a bias per offset"},
    {.name = "mix_w", .shape = "h*K*K Q", .when = "variant=final", .fan_in = "Q",
     .meaning = "logits from the convolved channels"},
    {.name = "mix_b", .shape = "h*K*K", .when = "variant=final", .fan_in = "Q", .meaning = "their bias"},
    TENSORS_GHOST("C K*K", "equation=6|7", NULL),
    TENSORS_OUTPUT,
    {0}
};

static status check_terms(const char *text)
{
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, "+");
        if (!n || !words_have("qk+qr+rk+b", at, n) || (at[n] && words_have(at + n + 1, at, n)))
            return bad_input("option --terms: found '%.40s', expected some of qk+qr+rk+b, each once", text);
        at += n;
        if (!*at) return status_ok();
    }
}

static status misplaced(const struct problem *p)
{
    static const char *const unified[] = {"terms", "norm", "area"}, *const ghost[] = {"head-map", "lambda", "gamma"};
    bool four = problem_number(p, "equation") == 4;
    if (problem_given(p, "variant") && problem_given(p, "equation"))
        return bad_input("option --equation: found beside --variant final, expected one of them");
    if (problem_given(p, "group-width") && !problem_given(p, "variant"))
        return bad_input("option --group-width: found, expected only with --variant final");
    for (size_t o = 0; o < sizeof unified / sizeof *unified; o++)
        if (!four && problem_given(p, unified[o]))
            return bad_input("option --%s: found, expected only with --equation 4", unified[o]);
    for (size_t o = 0; o < sizeof ghost / sizeof *ghost; o++)
        if (four && problem_given(p, ghost[o]))
            return bad_input("option --%s: found with --equation 4, which has no ghost head", ghost[o]);
    return status_ok();
}

static status check_windows(const struct problem *p, size_t K)
{
    if (p->grid.size[0] % K || p->grid.size[1] % K)
        return bad_input("option --kernel: found %zu, expected a divisor of %zu and %zu, as windows tile the grid",
                         K, p->grid.size[0], p->grid.size[1]);
    if (problem_given(p, "dilation"))
        return bad_input("option --dilation: found with --area window, expected only with neighbourhoods");
    return status_ok();
}

static status derive(struct problem *p)
{
    struct lookup names = {.problem = p};
    size_t K = lookup_size(&names, "K"), offsets;
    bool windows = lookup_choice(&names, "area") == 1;
    status s = names.error;
    if (!s.code) s = misplaced(p);
    if (s.code) return s;
    if (K % 2 == 0) return bad_input("option --kernel: found %zu, expected an odd number", K);
    s = check_terms(lookup_text(&names, "terms"));
    if (!s.code && windows) s = check_windows(p, K);
    if (s.code) return s;
    offsets = windows ? 2 * K - 1 : K;
    s = problem_set_size(p, "T", offsets * offsets);
    return s.code ? s : derive_head_channels(p);
}

static status resolve(void *params, const struct problem *p)
{
    struct lookup names = {.problem = p};
    struct elsa_problem *e = params;
    const char *terms = lookup_text(&names, "terms");
    *e = (struct elsa_problem){
        .heads = heads_problem(&names), .grid = p->grid, .K = lookup_size(&names, "K"),
        .dilation = lookup_whole(&names, "dilation"), .g = lookup_size(&names, "g"),
        .equation = lookup_given(&names, "variant") ? 0 : (int)lookup_number(&names, "equation"),
        .scale = (real)lookup_number(&names, "scale"),
        .terms = {.qk = words_have(terms, "qk", 2), .qr = words_have(terms, "qr", 2),
                  .rk = words_have(terms, "rk", 2), .b = words_have(terms, "b", 1)},
        .T = lookup_size(&names, "T"), .norm = (enum elsa_norm)lookup_choice(&names, "norm"),
        .windows = lookup_choice(&names, "area") == 1,
        .rk = lookup_tensor(&names, "rk"), .rq = lookup_tensor(&names, "rq"), .rb = lookup_tensor(&names, "rb"),
        .conv_w = lookup_tensor(&names, "conv_w"), .conv_b = lookup_tensor(&names, "conv_b"),
        .mix_w = lookup_tensor(&names, "mix_w"), .mix_b = lookup_tensor(&names, "mix_b"),
    };
    e->entries = e->K * e->K;
    e->ghost = ghost_problem(&names, e->entries);
    return names.error;
}

static status check(const struct problem *p)
{
    struct elsa_problem e;
    status s = resolve(&e, p);
    if (s.code) return s;
    if (!e.equation && e.heads.Q % e.g)
        return bad_input("tensor conv_w: found %zu output channels, expected a multiple of %zu", e.heads.Q, e.g);
    return ghost_check(&e.ghost);
}

static const struct letter letters[] = {
    {"Q", "channels of query and key"},
    {"T", "offsets between a token and the tokens in its area (Eq. 4)"},
    {0}
};

const struct declaration elsa = {
    .name = "elsa",
    .summary = "enhanced local self-attention (Zhou et al. 2021)",
    .letters = letters,
    .output = "B N C",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .check = check,
    .resolved = sizeof(struct elsa_problem),
    .resolve = resolve,
};

void elsa_normalise(real *filter, size_t entries, enum elsa_norm norm)
{
    if (norm == ELSA_SOFTMAX) softmax(filter, entries);
    if (norm == ELSA_FILTER) layer_norm(filter, NULL, NULL, entries, 1e-10);
}

void elsa_area_prepare(struct elsa_area *area, struct arena *arena, const struct elsa_problem *p)
{
    const size_t sides[] = {p->K, p->K};
    grid window;
    arena_fail(arena, grid_create(&window, 2, sides));
    arena_fail(arena, windows_create(&area->windows, &p->grid, p->windows ? p->K : 0));
    neighbours_prepare(&area->around, arena, &p->grid, &window, NULL, p->dilation);
    if (p->equation == 4)
        arena_objects(arena, PERSISTENT, &area->offset, "the offsets", p->heads.N, p->entries, sizeof *area->offset);
}

/* The tokens in the window of token i, and their offsets among the (2K-1)^2. */
static void load_window(struct elsa_area *area, size_t i)
{
    const struct windows *windows = &area->windows;
    size_t window = windows_of(windows, i), own = windows_entry(windows, i), first = i * windows->entries;
    for (size_t n = 0; n < windows->entries; n++) {
        area->around.token[first + n] = (int)windows_token(windows, window, n);
        area->offset[first + n] = (int)grid_offset(&area->around.window, own, n);
    }
}

void elsa_area_load(struct elsa_area *area, const struct elsa_problem *p)
{
    if (p->windows) {
        for (size_t i = 0; i < p->heads.N; i++) load_window(area, i);
        return;
    }
    neighbours_load(&area->around);
    if (!area->offset) return;
    for (size_t in = 0; in < p->heads.N * p->entries; in++) area->offset[in] = (int)(in % p->entries);
}

double elsa_pairs(const struct elsa_problem *p)
{
    double pairs = 1;
    if (p->windows) return (double)p->heads.N * (double)p->entries;
    for (int a = 0; a < 2; a++) {
        size_t size = p->grid.size[a];
        double axis = (double)size;
        for (size_t step = 1; step <= p->K / 2 && step * p->dilation < size; step++)
            axis += 2 * (double)(size - step * p->dilation);
        pairs *= axis;
    }
    return pairs;
}

double elsa_multiply_adds(const struct elsa_problem *p, double pairs)
{
    double N = (double)p->heads.N, C = (double)p->heads.C, Q = (double)p->heads.Q, h = (double)p->heads.h;
    double all = N * (double)p->entries, near = elsa_pairs(p), each;
    if (p->equation == 4) {
        each = pairs * C + (p->terms.qk ? near * C + all * h : 0);
        each += (p->terms.qr ? all * h * C : 0) + (p->terms.rk ? near * h * C : 0);
    } else {
        each = 2 * N * Q;
        each += p->equation ? 2 * all * h * C : pairs * (double)p->g * Q + all * h * Q;
        each += pairs * C * (p->ghost.add ? 2 : 1);
    }
    return heads_multiply_adds(&p->heads) + (double)p->heads.B * each;
}
