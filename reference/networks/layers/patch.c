/* patch.c -- a convolution of any size, stride and padding: patch embeddings
 *
 *     y_n = W (x_m of the window at n) + b,     with --kind mean     y_n = W (mean of x_m) + b
 *
 * The windows of a tile are copied to rows, with zeros off the grid, and multiplied.  Weights [C][M] become [M][C], so
 * that a run of tokens is copied in one piece.
 *
 * Cost: B N' M C D multiply-adds; of means, B N' C (M + D).  Memory: a copy of the weights, a tile for each thread. */

#include "layer.h"

struct patch {
    size_t B, N, C, D, M, windows;              /* windows = N' */
    size_t grid[GRID_AXES], out[GRID_AXES], size[GRID_AXES], stride[GRID_AXES], pad[GRID_AXES];    /* last: fastest */
    bool mean;
    const real *w, *b;
};

struct patch_form {
    struct linear map;          /* of rows [M][C], or of means [C] */
    real *w;                    /* LOAD_SCRATCH [D][M][C] */
    real *rows;                 /* PER_THREAD [tile][M][C] */
};

static const struct option options[] = {
    LAYER_GRID(1, 3, "N, HxW or TxHxW"),
    {.name = "size", .kind = OPTION_STEPS, .default_value = "2", .low = 1, .high = 65536,
     .meaning = "of a window: one number, or one for each axis"},
    {.name = "stride", .kind = OPTION_STEPS, .default_value = "", .low = 1, .high = 65536,
     .meaning = "from window to window (the size)"},
    {.name = "pad", .kind = OPTION_STEPS, .default_value = "0", .low = 0, .high = 65536,
     .meaning = "zeros at every side"},
    {.name = "channels", .kind = OPTION_INTEGER, .default_value = "", .low = 1, .high = 1e9, .letter = "D",
     .meaning = "output channels (those of the weights)"},
    {.name = "kind", .kind = OPTION_CHOICE, .default_value = "learned", .choices = "learned|mean",
     .meaning = "map the window, or its mean; zeros count"},
    {0}
};

static const struct tensor_row tensors[] = {
    LAYER_TOKENS,
    {.name = "w", .shape = "D C M", .when = "kind=learned", .fan_in = "C*M",
     .meaning = "a window's channels, and the entries of each"},
    {.name = "w", .shape = "D C", .when = "kind=mean", .fan_in = "C", .meaning = "a row for each channel of y"},
    {.name = "b", .shape = "D", .optional = true, .fan_in = "C*M", .meaning = "its bias"},
    {0}
};

static const struct letter letters[] = {
    {"D", "channels of y"}, {"M", "entries of a window"}, {"N'", "windows, the tokens of y"}, {0}
};

static const size_t *stride_of(struct lookup *names)
{
    const size_t *stride = lookup_sizes(names, "stride");
    return stride[0] ? stride : lookup_sizes(names, "size");
}

status layer_patch_grid(grid *out, const struct problem *p)
{
    struct lookup names = {.problem = p};
    const size_t *size = lookup_sizes(&names, "size"), *stride = stride_of(&names), *pad = lookup_sizes(&names, "pad");
    size_t points[GRID_AXES];
    for (int a = 0; a < p->grid.axes; a++) {
        size_t padded = p->grid.size[a] + 2 * pad[a];
        if (padded < size[a])
            return bad_input("option --size: found %zu, expected at most %zu, the padded grid", size[a], padded);
        points[a] = (padded - size[a]) / stride[a] + 1;
    }
    return names.error.code ? names.error : grid_create(out, p->grid.axes, points);
}

static status derive(struct problem *p)
{
    struct lookup names = {.problem = p};
    const size_t *size = lookup_sizes(&names, "size");
    size_t M = 1, reals, tokens;
    grid out;
    status s = names.error.code ? names.error : layer_patch_grid(&out, p);
    if (s.code) return s;
    for (int a = 0; a < p->grid.axes; a++) M *= size[a];
    if (!size_multiply(&reals, M, problem_size(p, "C")) || reals > INT_MAX)
        return bad_input("option --size: found windows of %zu tokens, expected at most %d numbers in each", M, INT_MAX);
    if (!size_multiply(&tokens, problem_size(p, "B"), out.tokens) || tokens > INT_MAX)
        return bad_input("tensor y: B N' is too large, expected at most %d", INT_MAX);
    s = problem_set_size(p, "M", M);
    return s.code ? s : problem_set_size(p, "N'", out.tokens);
}

static status resolve(void *params, const struct problem *problem)
{
    struct lookup names = {.problem = problem};
    struct patch *p = params;
    int axes = problem->grid.axes;
    grid out = {0};
    status s = layer_patch_grid(&out, problem);
    if (s.code) return s;
    *p = (struct patch){
        .B = lookup_size(&names, "B"), .N = lookup_size(&names, "N"), .C = lookup_size(&names, "C"),
        .D = lookup_size(&names, "D"), .M = lookup_size(&names, "M"), .windows = out.tokens,
        .mean = lookup_choice(&names, "kind") == 1, .w = lookup_tensor(&names, "w"), .b = lookup_tensor(&names, "b"),
    };
    align_axes(p->grid, problem->grid.size, axes, 1);
    align_axes(p->out, out.size, axes, 1);
    align_axes(p->size, lookup_sizes(&names, "size"), axes, 1);
    align_axes(p->stride, stride_of(&names), axes, 1);
    align_axes(p->pad, lookup_sizes(&names, "pad"), axes, 0);
    return names.error;
}

/* One axis of a window: its start, on the grid or off it, and the range of its entries that are on the grid. */
struct extent { ptrdiff_t start; size_t from, to; };

static struct extent extent(const struct patch *p, int axis, size_t at)
{
    ptrdiff_t start = (ptrdiff_t)(at * p->stride[axis]) - (ptrdiff_t)p->pad[axis];
    ptrdiff_t from = start < 0 ? -start : 0, to = (ptrdiff_t)p->grid[axis] - start;
    if (to > (ptrdiff_t)p->size[axis]) to = (ptrdiff_t)p->size[axis];
    if (to < from) to = from = 0;
    return (struct extent){start, (size_t)from, (size_t)to};
}

/* The window at token n, as a row [M][C]. */
static void gather(real *row, const real *x, const struct patch *p, size_t n)
{
    size_t C = p->C, line = p->size[2] * C;
    struct extent t = extent(p, 0, n / p->out[2] / p->out[1]), y = extent(p, 1, n / p->out[2] % p->out[1]);
    struct extent z = extent(p, 2, n % p->out[2]);
    for (size_t i = 0; i < p->size[0]; i++)
        for (size_t j = 0; j < p->size[1]; j++, row += line) {
            bool inside = i >= t.from && i < t.to && j >= y.from && j < y.to && z.from < z.to;
            if (!inside || z.to - z.from < p->size[2]) memset(row, 0, line * sizeof *row);
            if (!inside) continue;
            size_t frame = (size_t)(t.start + (ptrdiff_t)i), line_at = (size_t)(y.start + (ptrdiff_t)j);
            size_t token = (frame * p->grid[1] + line_at) * p->grid[2] + (size_t)(z.start + (ptrdiff_t)z.from);
            memcpy(row + z.from * C, x + token * C, (z.to - z.from) * C * sizeof *row);
        }
}

/* The mean of a row's entries, to the first of them. */
static void average(real *row, const struct patch *p)
{
    for (size_t m = 1; m < p->M; m++)
        for (size_t c = 0; c < p->C; c++) row[c] += row[m * p->C + c];
    for (size_t c = 0; c < p->C; c++) row[c] /= (real)p->M;
}

static void run_chunk(const struct team *t)
{
    const struct patch *p = t->plan->params;
    const struct patch_form *f = t->plan->state;
    size_t width = p->M * p->C, items = t->images * p->windows, tile = layer_tile(width);
    real *rows = arena_thread(&t->plan->arena, f->rows, t->thread);
    for (size_t n, end; team_next_range(t, items, tile, &n, &end);) {
        for (size_t i = n; i < end; i++) {
            gather(rows + (i - n) * width, t->x + i / p->windows * p->N * p->C, p, i % p->windows);
            if (p->mean) average(rows + (i - n) * width, p);
        }
        linear_apply(t->y + n * p->D, p->D, rows, width, &f->map, end - n, 0, 1);
    }
}

static status prepare(struct plan *plan)
{
    const struct patch *p = plan->params;
    struct patch_form *f = plan->state;
    linear_prepare(&f->map, &linear_packed, &plan->arena, p->mean ? p->C : p->M * p->C, p->D);
    arena_reals(&plan->arena, LOAD_SCRATCH, &f->w, "the weights, entries first", p->D, p->mean ? 1 : p->M, p->C);
    arena_reals(&plan->arena, PER_THREAD, &f->rows, "a tile of windows", layer_tile(p->M * p->C), p->M, p->C);
    return arena_status(&plan->arena);
}

static status load(struct plan *plan)
{
    const struct patch *p = plan->params;
    struct patch_form *f = plan->state;
    size_t M = p->mean ? 1 : p->M;
    for (size_t d = 0; d < p->D; d++) entries_first(f->w + d * M * p->C, p->w + d * p->C * M, p->C, M);
    linear_load(&f->map, 0, p->D, f->w, p->b);
    return status_ok();
}

static status run(struct plan *plan, real *y, const real *x) { return layer_run(plan, y, x, run_chunk); }

static double multiply_adds(const void *params)
{
    const struct patch *p = params;
    double M = (double)p->M, D = (double)p->D;
    return (double)p->B * (double)p->windows * (double)p->C * (p->mean ? M + D : M * D);
}

const struct form layer_patch_form = {
    .name = "layer", .state = sizeof(struct patch_form), .prepare = prepare, .load = load, .run = run,
    .multiply_adds = multiply_adds,
};

const struct declaration layer_patch = {
    .name = "patch",
    .summary = "a convolution of any size, stride and zero padding, or a map of means: patch embeddings",
    .letters = letters,
    .output = "B N' D",
    .options = options,
    .tensors = tensors,
    .derive = derive,
    .resolved = sizeof(struct patch),
    .resolve = resolve,
};
