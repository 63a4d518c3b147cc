/* network.c -- the command that runs a whole network, on pictures (networks/photo.h) or on tensors
 *
 * Memory is checked against the limit before tensors are allocated. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../runtime/bytes.h"
#include "../runtime/lookup.h"
#include "../networks/photo.h"
#include "../networks/profile.h"
#include "command.h"
#include "progress.h"
#include "units.h"

#define PROFILE_RUNS 9          /* after one warm-up */

static status read_images(real *x, const struct call *c, const grid *g, size_t channels)
{
    size_t H = g->size[g->axes - 2], W = g->size[g->axes - 1];
    status s = status_ok();
    for (int f = 0; f < c->files && !s.code; f++)
        s = photo_read(x + (size_t)f * H * W * channels, c->file[f], &c->network->photo, H, W, channels);
    return s;
}

/* The batch: that of x in the file, or the images given over the frames of the grid. */
static status count_batch(size_t *batch, const struct call *c, const struct tensors *input, const grid *g)
{
    const struct tensor *x = tensors_find(input, "x");
    size_t frames = g->axes == 3 ? g->size[0] : 1;      /* one image each */
    *batch = 1;
    if (input->count) {
        if (!x || input->count > 1) return bad_input("--input: found %zu tensors, expected one, x", input->count);
        size_t channels = c->network->channels ? c->network->channels : 3;
        char found[96];
        if (x->axes != 3 || x->size[1] != g->tokens || x->size[2] != channels)
            return bad_input("tensor x: found %s, expected [B, %zu, %zu], the pixels of the grid",
                             shape_text(found, sizeof found, x->axes, x->size), g->tokens, channels);
        *batch = x->size[0];
    } else {
        if (!c->files) return bad_input("input: missing, expected images, or --input INPUT.safetensors");
        if ((size_t)c->files % frames)
            return bad_input("found %d images, expected a multiple of %zu frames", c->files, frames);
        *batch = (size_t)c->files / frames;
    }
    return status_ok();
}

/* ---- what it prints ----------------------------------------------------------- */

static void announce(const struct network *n)
{
    char parameters[UNITS_TEXT], work[UNITS_TEXT], g[64];
    fprintf(stderr, "network %s: %s parameters, %s multiply-adds, %zu input%s of %s pixels, %d thread%s\n",
            n->table->name, units_count(parameters, 0, (double)network_parameters(n)),
            units_count(work, 0, network_multiply_adds(n)), n->batch, n->batch == 1 ? "" : "s",
            grid_text(g, sizeof g, &n->grid), n->threads, n->threads == 1 ? "" : "s");
}

static void show_step(void *watcher, const struct part *p)
{
    struct progress *progress = watcher;
    progress->done += form_multiply_adds(p->plan.form, &p->problem);
    progress_show(progress, "after step", p->path);
}

/* Prints the classes of the largest logits, with their softmax. */
static void print_classes(FILE *to, const struct tensor *logits)
{
    enum { TOP = 5 };
    const real *y = logits->data;
    size_t top[TOP], places = 0;
    double sum = 0;
    for (size_t k = 0; k < logits->count; k++) {
        size_t at = places < TOP ? places++ : TOP;
        for (; at > 0 && y[k] > y[top[at - 1]]; at--)
            if (at < TOP) top[at] = top[at - 1];
        if (at < TOP) top[at] = k;
    }
    for (size_t k = 0; k < logits->count; k++) sum += exp((double)y[k] - (double)y[top[0]]);
    fprintf(to, "class  probability\n");
    for (size_t at = 0; at < places; at++)
        fprintf(to, "%5zu  %.4f\n", top[at], exp((double)y[top[at]] - (double)y[top[0]]) / sum);
}

/* Prints the top classes of one input, and the shapes of all other tensors. */
static void print_outputs(FILE *to, const struct tensor *out, size_t count)
{
    char shape[96];
    for (size_t t = 0; t < count; t++)
        if (t == 0 && !strcmp(out->name, "logits") && out->size[0] == 1) print_classes(to, out);
        else fprintf(to, "%s %s\n", out[t].name, shape_text(shape, sizeof shape, out[t].axes, out[t].size));
}

static void print_kind(FILE *to, const struct network_kind *k, const struct network_kind *all)
{
    char seconds[UNITS_TEXT], cost[UNITS_TEXT], rate[UNITS_TEXT];
    fprintf(to, "%-10s %5zu  %s %6.1f %%  %s %6.1f %%  %s/s", k->what, k->steps, units_seconds(seconds, 9, k->seconds),
           100 * k->seconds / all->seconds, units_count(cost, 8, k->multiply_adds),
           100 * k->multiply_adds / all->multiply_adds, units_count(rate, 8, k->multiply_adds / k->seconds));
    if (k == all) fprintf(to, "\n");
    else fprintf(to, "  %8.2f\n", network_if_free(k, all));
}

/* Prints seconds and multiply-adds by kind of step, the slowest first, and Amdahl's law. */
static status profile(FILE *to, struct network *n, real *logits, const real *x)
{
    struct network_kind kind[NETWORK_KINDS], all;
    status s = network_profile(n, logits, x, PROFILE_RUNS);
    if (s.code) return s;
    int kinds = network_kinds(kind, &all, n);
    fprintf(to, "%-10s %5s  %9s %8s  %8s %8s  %10s  %8s\n", "step", "times", "time", "share", "m-adds", "share",
            "m-adds/s", "if free");
    for (int k = 0; k < kinds; k++) print_kind(to, &kind[k], &all);
    print_kind(to, &all, &all);
    return s;
}

/* Checks the bytes of the whole command against the limit; `held` of them are in use already. */
static status fits(const struct network *n, const struct tensors *weights, bool drawn, bool stages, size_t held,
                   size_t allowed)
{
    size_t needed = held, size[3], count;
    size_add(&needed, network_bytes(n, drawn), 1);
    for (size_t t = 0; t < weights->count; t++) size_add(&needed, weights->tensor[t].count, sizeof(real));
    network_input_shape(n, size);
    size_add(&needed, size[0] * size[1], size[2] * sizeof(real));
    size_add(&needed, n->batch * n->classes, sizeof(real));
    for (int i = 0; i < n->stages && stages; i++) {
        network_stage_shape(n, i, size);
        if (!size_multiply(&count, size[0] * size[1], size[2])) count = SIZE_MAX;
        size_add(&needed, count, sizeof(real));
    }
    return bytes_fit(needed, allowed);
}

static status make_outputs(struct tensor *out, const struct network *n, bool stages)
{
    size_t size[3] = {n->batch, n->classes};
    status s = tensor_create(&out[0], "logits", 2, size);
    for (int i = 0; i < n->stages && stages && !s.code; i++) {
        char name[24];
        snprintf(name, sizeof name, "stage%d", i + 1);
        network_stage_shape(n, i, size);
        s = tensor_create(&out[i + 1], name, 3, size);
    }
    return s;
}

static status find_step(size_t *step, const struct network *n, const char *path)
{
    for (*step = 0; *step < n->parts; ++*step)
        if (!strcmp(n->part[*step].path, path)) return status_ok();
    return bad_input("option --before: found '%.80s', expected the path of a step: from %s to %s", path,
                     n->part[0].path, n->part[n->parts - 1].path);
}

/* Runs all steps before this one, and writes its input x and its parameters, for apply. */
static status write_step(FILE *to, struct network *n, const struct part *p, const real *given, const char *path)
{
    struct tensor out[PROBLEM_TENSORS];
    enum move move = p->step->move;
    status s = network_run(n, NULL, given, NULL);
    if (s.code) return s;
    size_t count = problem_list(out, &p->problem);
    const real *x = move == ALONG || move == JOIN ? n->h : n->parts ? n->x : given;
    out[0].data = (real *)(size_t)x;
    s = tensor_file_write(path, out, count);
    if (!s.code) print_outputs(to, out, 1);
    return s;
}

static bool asked(const void *n, const char *name)
{
    return network_asks(n, name);
}

/* Opens the file without tensors that the network does not ask for.  Adds the bytes in use to *held. */
static status open_weights(struct safetensors *file, size_t *held, const struct network *n, const char *path,
                           size_t allowed)
{
    size_t before = memory_in_use(), kept = 0;
    bool plain = false;                 /* no needed name is there: keep all, so that network_bind shows a prefix */
    struct tensor_request r = {.allowed = allowed, .asked = asked, .params = n};
    status s = tensor_file_open(file, path, &r);
    struct tensor *list = file->tensors.tensor;
    for (size_t t = 0; t < file->tensors.count; t++) plain |= network_asks(n, list[t].name);
    for (size_t t = 0; t < file->tensors.count; t++)
        if (network_asks(n, list[t].name) == plain) {
            file->place[kept] = file->place[t];
            list[kept++] = list[t];
        } else {
            tensor_ignore(file, list[t].name);
            tensor_release(&list[t]);
        }
    file->tensors.count = kept;
    *held += memory_in_use() - before;
    return s;
}

static status load_weights(struct network *n, struct safetensors *file, const char *path)
{
    status s = safetensors_load(file);
    if (!s.code) s = network_bind(n, &file->tensors);
    return s.code ? status_at(s, path) : s;
}

/* Runs a placed network and writes the file: all outputs or, with --before, what step number `step` needs. */
static status run_placed(struct network *n, const struct call *c, const real *given, size_t step, double work)
{
    FILE *to = printed_beside(c->output);
    bool stages = problem_given(&c->options, "stages"), before = option_text(c, "before", NULL);
    struct progress progress = progress_begin(work, 2);
    struct tensor out[NETWORK_STAGES + 1] = {{0}};
    real *stage[NETWORK_STAGES] = {0};
    size_t written = stages ? (size_t)n->stages + 1 : 1;
    n->after_step = show_step;
    n->watcher = &progress;
    status s = make_outputs(out, n, stages);
    for (int i = 0; i < n->stages; i++) stage[i] = out[i + 1].data;
    if (!s.code && problem_given(&c->options, "profile")) s = profile(to, n, out[0].data, given);
    if (!s.code && before) s = write_step(to, n, &n->part[step], given, c->output);
    if (!s.code && !before) s = network_run(n, out[0].data, given, stage);
    progress_clear(&progress);
    if (!s.code && !before) s = tensor_file_write(c->output, out, written);
    if (!s.code && !before) print_outputs(to, out, written);
    for (int i = 0; i <= NETWORK_STAGES; i++) tensor_release(&out[i]);
    return s;
}

static status check_options(const struct call *c)
{
    const char *other = problem_given(&c->options, "stages") ? "stages"
                      : problem_given(&c->options, "profile") ? "profile" : NULL;
    if (!option_text(c, "weights", NULL) == !option_text(c, "random", NULL))
        return bad_input("expected one of --weights FILE and --random SEED");
    if (option_text(c, "input", NULL) && c->files)
        return bad_input("found images beside --input, expected one or the other");
    if (option_text(c, "before", NULL) && other)
        return bad_input("found --%s with --before, expected one or the other", other);
    return status_ok();
}

static status run_network(const struct call *c)
{
    const struct problem *own = &c->options;
    const char *weights_path = option_text(c, "weights", NULL), *input_path = option_text(c, "input", NULL);
    const char *seed = option_text(c, "random", NULL), *before = option_text(c, "before", NULL);
    struct safetensors weights = {0}, input = {0};
    struct network n = {0};
    struct tensor x = {0};
    size_t allowed = 0, held = 0, step = 0, size[3];
    grid g;

    status s = check_options(c);
    if (!s.code) s = bytes_allowed(&allowed, option_text(c, "max-memory", NULL));
    if (!s.code) s = grid_parse(&g, option_text(c, "grid", c->network->grid));
    if (!s.code && input_path) s = tensor_file_open(&input, input_path, &(struct tensor_request){.allowed = allowed});
    struct network_request r = {
        .form = option_text(c, "form", NULL), .grid = option_text(c, "grid", NULL), .classes = problem_size(own, "K"),
        .depths = option_text(c, "depths", NULL), .widths = option_text(c, "widths", NULL),
        .heads = option_text(c, "heads", NULL),
        .threads = call_threads(c),
    };
    if (!s.code) s = count_batch(&r.batch, c, &input.tensors, &g);

    r.allowed = allowed;
    held = memory_in_use();
    if (!s.code) s = network_create(&n, c->network, &r);
    if (!s.code && weights_path) s = open_weights(&weights, &held, &n, weights_path, allowed);
    if (!s.code && before) s = find_step(&step, &n, before);
    if (!s.code && weights_path) s = status_at(network_bind(&n, &weights.tensors), weights_path);
    double work = network_multiply_adds(&n) * (problem_given(own, "profile") ? PROFILE_RUNS + 2 : 1);
    if (!s.code) s = work_fits(work, work_allowed(c));
    if (!s.code) s = fits(&n, &weights.tensors, seed != NULL, problem_given(own, "stages"), held, allowed);
    if (!s.code) memory_set_limit(allowed);

    if (!s.code) network_input_shape(&n, size);
    if (!s.code && input_path) s = safetensors_load(&input);
    if (!s.code && !input_path) s = tensor_create(&x, "x", 3, size);
    if (!s.code && !input_path) s = read_images(x.data, c, &g, size[2]);
    if (!s.code && weights_path) s = load_weights(&n, &weights, weights_path);
    size_t parts = n.parts;
    if (!s.code) announce(&n);
    if (!s.code && before) n.parts = step + 1;          /* leave out the steps after it */
    if (!s.code && seed) s = network_draw(&n, (uint64_t)problem_number(own, "random"));
    if (!s.code && before) n.parts = step;

    if (!s.code) s = network_place(&n);
    const real *given = input_path && !s.code ? tensors_find(&input.tensors, "x")->data : x.data;
    if (!s.code) s = run_placed(&n, c, given, step, work);
    if (!s.code) print_ignored(&weights, weights_path);
    tensor_release(&x);
    n.parts = parts;
    network_release(&n);
    safetensors_close(&weights);
    safetensors_close(&input);
    return s;
}

static const struct option options[] = {
    {.name = "form", .kind = OPTION_CHOICE, .default_value = "fast", .choices = "naive|fast",
     .meaning = "form of the operators; layers have one form"},
    {.name = "weights", .kind = OPTION_CHOICE, .default_value = "", .value = "FILE",
     .meaning = "a tensor for each path of the network"},
    {.name = "random", .kind = OPTION_INTEGER, .default_value = "", .low = 0, .high = 1e9, .value = "SEED",
     .meaning = "random weights: same seed, same numbers"},
    {.name = "input", .kind = OPTION_CHOICE, .default_value = "", .value = "FILE",
     .meaning = "x [B, H*W, 3] instead of images"},
    {.name = "grid", .kind = OPTION_GRID, .default_value = "", .low = 2, .high = 3,
     .meaning = "pixels: HxW, or TxHxW of a video (the network's)"},
    {.name = "classes", .kind = OPTION_INTEGER, .default_value = "", .low = 1, .high = 1e6, .letter = "K",
     .meaning = "outputs of the head (the network's)"},
    {.name = "depths", .kind = OPTION_CHOICE, .default_value = "", .value = "n,...",
     .meaning = "blocks of each stage (the network's)"},
    {.name = "widths", .kind = OPTION_CHOICE, .default_value = "", .value = "C,...",
     .meaning = "channels of each stage (the network's)"},
    {.name = "heads", .kind = OPTION_CHOICE, .default_value = "", .value = "h,...",
     .meaning = "heads of each stage (the network's; with --widths, as many channels a head)"},
    OPTION_THREADS,
    {.name = "profile", .kind = OPTION_FLAG,
     .meaning = "print time and multiply-adds of each kind of step; the fastest of ten runs"},
    {.name = "stages", .kind = OPTION_FLAG, .meaning = "also write the output of every stage: stage1, stage2, ..."},
    {.name = "before", .kind = OPTION_CHOICE, .default_value = "", .value = "STEP",
     .meaning = "stop before this step, and write its input and parameters for apply, instead of logits"},
    OPTION_MAX_MEMORY,
    OPTION_MAX_WORK,
    {0}
};

const struct command network_command = {
    .declaration = {.name = "network", .summary = "run a whole network on images, or on tensors", .options = options},
    .what = "Images are PNG or JPEG, scaled (bilinear, free of aliases) and cropped as by the network's authors, and\n"
            "normalised as in ImageNet; 'help NETWORK' has the sizes. With a grid of three axes each image is a\n"
            "frame. Logits are [B, classes].\n"
            "'if free' in the profile is Amdahl's law: the speedup of the network if that kind took no time.",
    .network = true,
    .inputs = {"[IMAGE.png ...]"},
    .many = true,
    .output = true,
    .run = run_network,
};
