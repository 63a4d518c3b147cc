/* network.c -- builds problems and plans from a table, and runs them one after another; see network.h */

#include "network.h"
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../runtime/bytes.h"
#include "layers/layers.h"
#include "../runtime/sizes.h"
#include "../runtime/random.h"

#define WORDS 32

/* ---- the stages of a request -------------------------------------------------- */

/* Reads one whole number for each stage, "2,2,6,2"; a text of NULL changes nothing. */
static status stage_numbers(size_t number[NETWORK_STAGES], int stages, const char *option, const char *text)
{
    const char *at = text;
    int count = 0;
    if (!text) return status_ok();
    for (; count < stages; count++) {
        char *end;
        unsigned long value = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (!value || value > 65536 || (*end && *end != ',')) break;
        number[count] = value;
        at = *end ? end + 1 : end;
    }
    if (count == stages && !*at && text[strlen(text) - 1] != ',') return status_ok();
    return bad_input("option --%s: found '%.40s', expected %d whole numbers from 1 to 65536, parted by commas", option,
                     text, stages);
}

/* Sets depths, widths and heads of the stages.  Without r->heads, a head keeps its channels. */
static status choose_stages(struct network *n, const struct network_request *r)
{
    size_t depth[NETWORK_STAGES] = {0}, width[NETWORK_STAGES] = {0}, heads[NETWORK_STAGES] = {0};
    const struct network_stage *stage = n->table->stage;
    for (; n->stages < NETWORK_STAGES && stage[n->stages].block; n->stages++) {
        depth[n->stages] = stage[n->stages].depth;
        width[n->stages] = stage[n->stages].width;
    }
    status s = stage_numbers(depth, n->stages, "depths", r->depths);
    if (!s.code) s = stage_numbers(width, n->stages, "widths", r->widths);
    for (int i = 0; i < n->stages; i++) {
        heads[i] = width[i] / (stage[i].width / stage[i].heads);
        if (heads[i] == 0) heads[i] = 1;
    }
    if (!s.code) s = stage_numbers(heads, n->stages, "heads", r->heads);
    for (int i = 0; i < n->stages; i++)
        n->stage[i] = (struct network_stage){depth[i], width[i], heads[i], stage[i].entry, stage[i].block};
    return s;
}

/* ---- placeholders ------------------------------------------------------------- */

/* Replaces one placeholder: *from is after its "%", and moves to its end. */
static void replace(char *to, size_t size, const char **from, const struct network *n,
                    const struct network_stage *stage, const grid *g)
{
    char *end;
    size_t C = stage ? stage->width : 0, h = stage ? stage->heads : 1, side = g->size[0];
    for (int axis = 1; axis < g->axes; axis++)
        if (g->size[axis] < side) side = g->size[axis];
    size_t times = strtoul(*from, &end, 10), value = 0;
    *from = end + 1;
    switch (*end) {
    case 'C': value = C * (times ? times : 1); break;
    case 'h': value = h; break;
    case 'q': value = n->table->query ? n->table->query(C) : 0; break;
    case 'K': value = n->classes; break;
    case 'w': value = times < side ? times : side; break;
    case 't': value = times < side ? times / 2 : 0; break;
    case 's': snprintf(to, size, "%.17g", 1 / sqrt((double)C / (double)h)); return;
    default: break;
    }
    if (**from == '/') {
        size_t by = strtoul(*from + 1, &end, 10);
        value = by ? value / by : 0;
        *from = end;
    }
    snprintf(to, size, "%zu", value);
}

static status replace_all(char *to, size_t size, const char *from, const struct network *n,
                          const struct network_stage *stage, const grid *g)
{
    size_t at = 0;
    while (from && *from) {
        char piece[32] = {*from++};
        if (*piece == '%') replace(piece, sizeof piece, &from, n, stage, g);
        at += (size_t)snprintf(to + at, size - at, "%s", piece);
        if (at >= size) return failure("a step's options are longer than %zu characters", size);
    }
    to[at] = '\0';
    return status_ok();
}

/* ---- one step ----------------------------------------------------------------- */

/* Grid and channels of the tokens between two steps; after the head, a grid of one token. */
struct flow { grid grid; size_t channels; };

static status make_problem(struct part *p, const struct network *n, const struct flow *in)
{
    const struct declaration *d = operator_find(p->step->what);
    const struct network_stage *stage = p->stage ? &n->stage[p->stage - 1] : NULL;
    const char *word[WORDS];
    char g[64];
    size_t options = sizeof p->words / 2;
    int words = 0;
    if (!d) return failure("the table names '%s', which is neither an operator nor a layer", p->step->what);

    /* Options in the first half of the words, sizes in the second. */
    char *sizes = p->words + options;
    status s = replace_all(p->words, options, p->step->options, n, stage, &in->grid);
    if (!s.code) s = replace_all(sizes, sizeof p->words - options, p->step->sizes, n, stage, &in->grid);
    if (s.code) return s;
    for (char *at = p->words; *at && words < WORDS;) {
        word[words++] = at;
        at += strcspn(at, " ");
        if (*at) *at++ = '\0';
    }

    /* The problem must not point to `g`. */
    const struct problem_sizes o = {
        .words = words, .word = word, .grid = grid_text(g, sizeof g, &in->grid),
        .batch = n->batch, .channels = in->channels, .sizes = sizes, .without = p->step->without,
        .last_shape = p->step->last_shape,
    };
    s = problem_from_sizes(&p->problem, d, &o);
    for (int option = 0; d->options[option].name; option++)
        if (d->options[option].kind == OPTION_GRID) p->problem.option[option].text = NULL;
    return s;
}

static status output_flow(struct flow *out, const struct part *p)
{
    int axes;
    size_t size[TENSOR_AXES];
    status s = problem_output_shape(&p->problem, &axes, size);
    if (s.code) return s;
    *out = (struct flow){.grid = layer_grid(&p->problem), .channels = size[axes - 1]};
    if (axes < 3) return grid_create(&out->grid, 1, (size_t[]){1});
    return size[1] == out->grid.tokens ? s : failure("%s makes %zu tokens of a grid of %zu", p->step->what, size[1],
                                                     out->grid.tokens);
}

/* Adds the next part, its problem and its plan; updates x and h. */
static status add_part(struct network *n, const struct network_step *step, int stage, size_t block, const char *form,
                       struct flow *x, struct flow *h)
{
    struct part *p = &n->part[n->parts];
    const struct form *f;
    struct flow y;
    char path[NETWORK_STEP];
    bool from_h = step->move == ALONG || step->move == JOIN, to_x = step->move == JOIN || step->move == ADD;
    *p = (struct part){.step = step, .stage = stage};
    if (stage && block) snprintf(path, sizeof path, "stage%d.block%zu.%s", stage, block, step->name);
    else if (stage) snprintf(path, sizeof path, "stage%d.%s", stage, step->name);
    else snprintf(path, sizeof path, "%s", step->name);
    memcpy(p->path, path, sizeof path);

    status s = make_problem(p, n, from_h ? h : x);
    if (!s.code) s = output_flow(&y, p);
    if (s.code) return status_at(s, path);
    if (to_x && (y.channels != x->channels || y.grid.tokens != x->grid.tokens))
        return bad_input("%s: found %zu tokens of %zu channels, expected %zu of %zu to add them to", path,
                         y.grid.tokens, y.channels, x->grid.tokens, x->channels);
    if (step->move == ON) *x = y;
    if (step->move == INTO || step->move == ALONG) *h = y;

    f = operator_form(p->problem.declaration, form);
    if (!f)
        return bad_input("form '%.20s': not known to %s, expected naive or fast", form, step->what);
    s = plan_prepare(&p->plan, &p->problem, f, n->threads);
    if (s.code) return status_at(s, path);
    n->parts++;
    size_t output = problem_output_count(&p->problem), scratch = arena_scratch_bytes(&p->plan.arena);
    if (output > n->activations) n->activations = output;
    if (scratch > n->scratch) n->scratch = scratch;
    return s;
}

/* ---- all steps ------------------------------------------------------------------ */

static bool takes_turn(const struct network_step *step, size_t block)
{
    return step->turn == ALWAYS || (step->turn == ODD) == (block % 2 == 1);
}

static size_t count_steps(const struct network_step *step, size_t block)
{
    size_t count = 0;
    for (; step && step->name; step++) count += takes_turn(step, block);
    return count;
}

static size_t count_parts(const struct network *n)
{
    size_t count = count_steps(n->table->end, 0);
    for (int i = 0; i < n->stages; i++) {
        count += count_steps(n->stage[i].entry, 0);
        for (size_t block = 1; block <= n->stage[i].depth; block++) count += count_steps(n->stage[i].block, block);
    }
    return count;
}

/* Adds the steps of a block (from 1), the entry of a stage (block 0), or the end of the network (stage 0). */
static status add_steps(struct network *n, int stage, size_t block, const char *form, struct flow *x, struct flow *h)
{
    const struct network_step *step = n->table->end;
    status s = status_ok();
    if (stage) step = block ? n->stage[stage - 1].block : n->stage[stage - 1].entry;
    for (; step && step->name && !s.code; step++)
        if (takes_turn(step, block)) s = add_part(n, step, stage, block, form, x, h);
    return s;
}

static size_t pixel_channels(const struct network *n) { return n->table->channels ? n->table->channels : 3; }

static status add_parts(struct network *n, const char *form)
{
    struct flow x = {.grid = n->grid, .channels = pixel_channels(n)}, h = x;
    status s;
    for (int i = 0; i < n->stages; i++) {
        for (size_t block = 0; block <= n->stage[i].depth; block++)
            if ((s = add_steps(n, i + 1, block, form, &x, &h)).code) return s;
        n->part[n->parts - 1].closes = true;
        if (x.channels != n->stage[i].width)
            return bad_input("stage%d: found %zu channels, expected %zu as the widths say", i + 1, x.channels,
                             n->stage[i].width);
    }
    if ((s = add_steps(n, 0, 0, form, &x, &h)).code) return s;
    if (n->part[0].step->move != ON) return failure("%s: its first step is not ON", n->table->name);
    return s;
}

status network_create(struct network *n, const struct network_table *table, const struct network_request *r)
{
    *n = (struct network){
        .table = table, .batch = r->batch ? r->batch : 1,
        .classes = r->classes ? r->classes : table->classes ? table->classes : 1000,
        .threads = r->threads < 1 ? 1 : r->threads,
    };
    status s = grid_parse(&n->grid, r->grid ? r->grid : table->grid);
    if (s.code) return status_at(s, "option --grid");
    if ((s = choose_stages(n, r)).code) return s;
    size_t parts = count_parts(n), bytes = 0;
    size_add(&bytes, parts, sizeof *n->part);
    if (r->allowed && (s = bytes_fit(bytes, r->allowed)).code) return s;
    n->part = memory_get(parts, sizeof *n->part);
    if (!n->part) return out_of_memory("the parts of a network");
    s = add_parts(n, r->form ? r->form : "fast");
    if (s.code) network_release(n);
    return s;
}

void network_release(struct network *n)
{
    for (size_t p = 0; p < n->parts; p++) plan_release(&n->part[p].plan);
    memory_free(n->part);
    memory_free(n->drawn);
    memory_free(n->shared);
    memory_free(n->x);
    memory_free(n->h);
    memory_free(n->y);
    *n = (struct network){0};
}

/* ---- weights ---------------------------------------------------------------------- */

/* The path of tensor r of a part; false if it is absent. */
static bool weight_path(char path[NETWORK_PATH], const struct part *p, int r)
{
    snprintf(path, NETWORK_PATH, "%s.%s", p->path, p->problem.declaration->tensors[r].name);
    return p->problem.tensor[r].present;
}

static const char *row_name(const struct part *p, int r) { return p->problem.declaration->tensors[r].name; }

static status bind_weight(struct part *p, int r, const struct tensors *file)
{
    char path[NETWORK_PATH], found[96], expected[96];
    if (!weight_path(path, p, r)) return status_ok();
    const struct tensor *t = tensors_find(file, path);
    int axes = p->problem.tensor[r].axes;
    shape_text(expected, sizeof expected, axes, p->problem.tensor[r].size);
    if (!t) return tensor_missing(path, expected, file);
    if (t->axes != axes || memcmp(t->size, p->problem.tensor[r].size, (size_t)axes * sizeof *t->size))
        return bad_input("tensor %s: found %s, expected %s", path, shape_text(found, sizeof found, t->axes, t->size),
                         expected);
    p->problem.tensor[r].data = t->data;
    return status_ok();
}

bool network_asks(const struct network *n, const char *name)
{
    char path[NETWORK_PATH];
    for (size_t p = 0; p < n->parts; p++) {
        size_t length = strlen(n->part[p].path);
        if (strncmp(name, n->part[p].path, length) || name[length] != '.') continue;
        for (int r = 1; row_name(&n->part[p], r); r++)
            if (weight_path(path, &n->part[p], r) && !strcmp(path, name)) return true;
    }
    return false;
}

/* The declaration's check of a part, if its weights have data. */
static status check(const struct part *p)
{
    status s = status_ok();
    const struct declaration *d = p->problem.declaration;
    if (d->check && !problem_loaded(&p->problem).code) s = d->check(&p->problem);
    return status_at(s, p->path);
}

status network_bind(struct network *n, const struct tensors *file)
{
    status s;
    for (size_t p = 0; p < n->parts; p++)
        for (int r = 1; row_name(&n->part[p], r); r++)
            if ((s = bind_weight(&n->part[p], r, file)).code) return s;
    for (size_t t = 0; t < file->count; t++)
        if (!network_asks(n, file->tensor[t].name))
            return bad_input("tensor %.60s: not of this network, expected none ('twicetold help %s')",
                             file->tensor[t].name, n->table->name);
    for (size_t p = 0; p < n->parts; p++)
        if ((s = check(&n->part[p])).code) return s;
    return status_ok();
}

static void fill_weights(real *a, size_t count, uint64_t seed, uint64_t stream, double deviation)
{
    (count > 65536 ? random_fill_sums : random_fill_normal)(a, count, seed, stream, deviation);
}

status network_draw(struct network *n, uint64_t seed)
{
    memory_free(n->drawn);
    n->drawn = memory_reals(network_weights(n), 1, 1, 1);
    if (!n->drawn) return out_of_memory("random weights");
    real *next = n->drawn;
    for (size_t p = 0; p < n->parts; p++) {
        struct problem *problem = &n->part[p].problem;
        status s = problem_draw_into(problem, random_bits(seed, 0, p), next, fill_weights);
        if (s.code) return status_at(s, n->part[p].path);
        next += problem_parameters(problem);
    }
    return status_ok();
}

bool network_weight(struct tensor *t, char path[NETWORK_PATH], const struct network *n, size_t at)
{
    for (size_t p = 0; p < n->parts; p++)
        for (int r = 1; row_name(&n->part[p], r); r++) {
            const struct problem *problem = &n->part[p].problem;
            if (!weight_path(path, &n->part[p], r) || at-- > 0) continue;
            *t = (struct tensor){.name = path, .axes = problem->tensor[r].axes, .count = problem->tensor[r].count,
                                 .data = problem->tensor[r].data};
            memcpy(t->size, problem->tensor[r].size, sizeof t->size);
            return true;
        }
    return false;
}

/* ---- what it costs --------------------------------------------------------------- */

size_t network_weights(const struct network *n)
{
    size_t sum = 0;
    for (size_t p = 0; p < n->parts; p++) size_add(&sum, problem_parameters(&n->part[p].problem), 1);
    return sum;
}

size_t network_parameters(const struct network *n)
{
    size_t sum = 0;
    for (size_t p = 0; p < n->parts; p++)
        for (int r = 1; row_name(&n->part[p], r); r++)
            if (!n->part[p].problem.declaration->tensors[r].running_statistic)
                size_add(&sum, n->part[p].problem.tensor[r].count, 1);
    return sum;
}

static double sum_multiply_adds(const struct network *n, bool bare)
{
    double sum = 0;
    for (size_t p = 0; p < n->parts; p++) {
        const char *what = n->part[p].step->what;
        if (bare && (!strcmp(what, "norm") || !strcmp(what, "position"))) continue;
        sum += form_multiply_adds(n->part[p].plan.form, &n->part[p].problem);
    }
    return sum;
}

double network_multiply_adds(const struct network *n) { return sum_multiply_adds(n, false); }
double network_bare_multiply_adds(const struct network *n) { return sum_multiply_adds(n, true); }

/* Adds the bytes that memory_get counts: a multiple of 64. */
static void add_block(size_t *bytes, size_t count, size_t size)
{
    size_t block = 63;
    size_add(&block, count, size);
    size_add(bytes, block == SIZE_MAX ? block : block / 64 * 64, 1);
}

size_t network_bytes(const struct network *n, bool drawn)
{
    size_t bytes = 0;
    add_block(&bytes, n->parts, sizeof *n->part);
    for (int array = 0; array < 3; array++) add_block(&bytes, n->activations, sizeof(real));
    add_block(&bytes, n->scratch, 1);
    if (drawn) add_block(&bytes, network_weights(n), sizeof(real));
    for (size_t p = 0; p < n->parts; p++) {
        const struct part *part = &n->part[p];
        size_t all = arena_bytes(&part->plan.arena), resolved = part->problem.declaration->resolved;
        add_block(&bytes, all == SIZE_MAX ? all : all - arena_scratch_bytes(&part->plan.arena), 1);
        add_block(&bytes, (resolved + 63) / 64 * 64 + part->plan.form->state, 1);       /* plan_prepare's block */
    }
    return bytes;
}

void network_input_shape(const struct network *n, size_t size[3])
{
    size[0] = n->batch;
    size[1] = n->grid.tokens;
    size[2] = pixel_channels(n);
}

void network_stage_shape(const struct network *n, int stage, size_t size[3])
{
    int axes = 0;
    size_t all[TENSOR_AXES];
    size[0] = size[1] = size[2] = 0;
    for (size_t p = 0; p < n->parts; p++) {
        const struct part *part = &n->part[p];
        if (!part->closes || part->stage != stage + 1) continue;
        if (problem_output_shape(&part->problem, &axes, all).code) continue;
        for (int a = 0; a < 3; a++) size[a] = all[a];
    }
}

/* ---- running ----------------------------------------------------------------------- */

status network_place(struct network *n)
{
    n->x = memory_reals(n->activations, 1, 1, 1);
    n->h = memory_reals(n->activations, 1, 1, 1);
    n->y = memory_reals(n->activations, 1, 1, 1);
    if (!n->x || !n->h || !n->y) return out_of_memory("the activations of a network");
    n->shared = n->scratch ? memory_get(n->scratch, 1) : NULL;
    if (n->scratch && !n->shared) return out_of_memory("the scratch memory of a network");
    for (size_t p = 0; p < n->parts; p++) {
        status s = plan_allocate(&n->part[p].plan, n->scratch ? n->shared : NULL);
        if (s.code) return status_at(s, n->part[p].path);
    }
    return network_load(n);
}

status network_load(struct network *n)
{
    for (size_t p = 0; p < n->parts; p++) {
        status s = plan_load(&n->part[p].plan);
        if (s.code) return status_at(s, n->part[p].path);
    }
    return status_ok();
}

static void swap(real **a, real **b)
{
    real *old = *a;
    *a = *b;
    *b = old;
}

static void add(real *x, const real *y, size_t count, int threads)
{
    #pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < count; i++) x[i] += y[i];
}

/* Runs one step: computes f into y, and moves y. */
static status run_part(struct network *n, struct part *p, const real *x)
{
    enum move move = p->step->move;
    double began = omp_get_wtime();
    status s = plan_run(&p->plan, n->y, move == ALONG || move == JOIN ? n->h : x);
    double ran = omp_get_wtime();
    if (s.code) return status_at(s, p->path);
    if (move == ON) swap(&n->x, &n->y);
    else if (move == INTO || move == ALONG) swap(&n->h, &n->y);
    else add(n->x, n->y, problem_output_count(&p->problem), n->threads);
    p->seconds = ran - began;
    n->adding += omp_get_wtime() - ran;
    return s;
}

status network_run(struct network *n, real *logits, const real *x, real *const *stage)
{
    size_t count = 0;
    n->adding = 0;
    for (size_t p = 0; p < n->parts; p++) {
        status s = run_part(n, &n->part[p], p ? n->x : x);
        if (s.code) return s;
        if (n->after_step) n->after_step(n->watcher, &n->part[p]);
        count = problem_output_count(&n->part[p].problem);
        if (stage && n->part[p].closes && stage[n->part[p].stage - 1])
            memcpy(stage[n->part[p].stage - 1], n->x, count * sizeof *n->x);
    }
    if (logits) memcpy(logits, n->x, count * sizeof *logits);
    return status_ok();
}
