/* measure.c -- seconds and bytes of the forms of an operator, one line each
 *
 * `twicetold measure` starts this program; measure_command.c has its options for help.  The input is tokens of real
 * images and random parameters.  Each combination of grid, threads and form gives one line on stdout: tab-separated
 * values, or a table on a terminal.
 *
 * The forms of one grid are prepared together and run alternately, A B C A B C, so that a slow moment of the machine
 * affects all of them.  The benchmark harness (harness.h) compares their results with the first form; a form that
 * disagrees is not timed.  Median and quartiles are of single runs on the whole batch.  peak_bytes is the memory that a
 * form allocates in addition to x, y and the parameters (memory.h).
 *
 * Runs that other programs disturb (harness.h) do not count; `disturbed` is their share.  If it is above a half, the
 * times are NaN, so that no ratio can be formed.
 *
 * A CUDA version is measured twice: with x and y copied, and as NAME/kernels with x and y on the device.  Its bytes
 * include those of the device: x, y and the parameters. */

#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../runtime/bytes.h"
#include "../runtime/lookup.h"
#include "../networks/operators.h"
#include "../io/npy.h"
#include "../io/tokens.h"
#include "devices.h"
#include "progress.h"
#include "units.h"
#include "command.h"
#include "harness.h"
#include "settings.h"
#include "../../fast/cuda/versions.h"

#define SEED 1
#define REPEATS_MAX 100000
#define REPEATS_TIMED 1000      /* if --seconds is the only limit */

/* ---- the command line ------------------------------------------------ */

enum {
    FORM, GRID, THREADS, JUDGE, DEVICE, REPEATS, SECONDS, MAX_SECONDS, MAX_MEMORY, IMAGES, KEEP, TSV, YES, SETTINGS
};

static const struct setting settings[SETTINGS + 1] = {
    [FORM] = {.name = "--form", .most = SETTING_WORDS}, [GRID] = {.name = "--grid", .most = SETTING_WORDS},
    [THREADS] = {.name = "--threads", .most = SETTING_WORDS}, [JUDGE] = {.name = "--judge", .most = 1},
    [DEVICE] = {.name = "--device", .most = 1}, [REPEATS] = {.name = "--repeats", .most = 1},
    [SECONDS] = {.name = "--seconds", .most = 1}, [MAX_SECONDS] = {.name = "--max-seconds", .most = 1},
    [MAX_MEMORY] = {.name = "--max-memory", .most = 1}, [IMAGES] = {.name = "--images", .most = 1},
    [KEEP] = {.name = "--keep", .most = 1}, [TSV] = {.name = "--tsv"}, [YES] = {.name = "--yes"},
};

struct entry {
    const struct form *form;
    const struct cuda_plugin *plugin;   /* of a CUDA version; NULL for a form of the processor */
    bool stays;                         /* x and y stay on the device */
};

struct request {
    const struct declaration *declaration;
    struct setting setting[SETTINGS + 1], other;
    struct problem_sizes sizes;             /* grid is set for each grid */
    size_t max_memory;
    int threads[SETTING_WORDS];
    struct limits limit;
    double max_seconds;                 /* HUGE_VAL: no limit */
    struct entry entry[OPERATOR_FORMS];
    int entries, untimed;               /* the first `untimed` are only compared with */
    const struct cuda_plugin *plugin;   /* NULL if no CUDA version is measured */
    const char *keep;                   /* a file, or NULL */
    bool table;                         /* rows for people */
};

/* Adds the entries of a form.  A CUDA version has two: with x and y copied, and with x and y on the device. */
static void enter_form(struct request *r, const struct form *form, const struct cuda_plugin *plugin)
{
    for (int stays = 0; stays < (plugin ? 2 : 1) && r->entries < OPERATOR_FORMS; stays++)
        r->entry[r->entries++] = (struct entry){.form = form, .plugin = plugin, .stays = stays};
}

static status choose_form(struct request *r, const char *name)
{
    const struct declaration *d = r->declaration;
    const struct form *form;
    bool cuda = !operator_form(d, name) && operator_version(d, name);
    status s = form_on(&form, d, name, cuda ? setting_word(&r->setting[DEVICE]) : NULL,
                       r->setting[MAX_MEMORY].count ? r->max_memory : 0);
    if (!s.code && cuda) s = devices_plugin(&r->plugin);
    if (s.code) return s;
    for (int e = 0; e < r->entries; e++)
        if (r->entry[e].form == form) return bad_input("option --form: found %s twice, expected once", form->name);
    enter_form(r, form, cuda ? r->plugin : NULL);
    return status_ok();
}

/* Fills the entries: the form of --judge, then those of --form, or all; CUDA versions only with --device. */
static status choose_forms(struct request *r)
{
    const struct declaration *d = r->declaration;
    const struct setting *named = &r->setting[FORM];
    const char *device = setting_word(&r->setting[DEVICE]), *judge = setting_word(&r->setting[JUDGE]);
    const struct form *each;
    status s = status_ok();

    if (judge) {
        if ((s = form_on(&each, d, judge, NULL, 0)).code) return s;
        if (!named->count) return bad_input("option --judge: found without --form, expected the forms that are timed");
        enter_form(r, each, NULL);
        r->untimed = 1;
    }
    if (device_is_emulated(device))
        return bad_input("option --device: found '%.40s', expected a number: the time of an emulated device says "
                         "nothing", device);
    for (int f = 0; f < named->count && !s.code; f++) s = choose_form(r, named->word[f]);
    for (int f = 0; !named->count && (each = operator_form_at(d, f)); f++) enter_form(r, each, NULL);
    for (int f = 0; !named->count && device && !s.code && (each = operator_version_at(d, f)); f++)
        s = choose_form(r, each->name);
    if (s.code) return s;

    if (device && !r->plugin)
        return bad_input("option --device: found '%.40s', but no form that runs on a device", device);
    if (r->entries == OPERATOR_FORMS) return bad_input("option --form: more forms than %d", OPERATOR_FORMS - 1);
    if (r->keep && (r->entries > r->untimed + 1 || r->setting[GRID].count > 1 || r->setting[THREADS].count > 1))
        return bad_input("option --keep: expected one form, one grid and one number of threads");
    return status_ok();
}

/* Moves a picture from the operator's words to --images: a word that is neither an option nor the value of one. */
static status take_picture(struct request *r)
{
    const struct declaration *d = r->declaration;
    struct setting *words = &r->other, *images = &r->setting[IMAGES];
    int kept = 0;
    for (int w = 0; w < words->count; w++) {
        const char *word = words->word[w];
        int option = strncmp(word, "--", 2) ? -1 : declaration_option(d, word + 2);
        if (option < 0 && word[0] == '-') return unknown_option(word, d, &measure_command.declaration);
        if (option < 0 && images->count)
            return bad_input("found '%.60s' and the picture '%.60s', expected one", word, images->word[0]);
        if (option < 0) images->word[images->count++] = word;
        else words->word[kept++] = word;
        if (option >= 0 && d->options[option].kind != OPTION_FLAG && w + 1 < words->count)
            words->word[kept++] = words->word[++w];
    }
    r->sizes.words = words->count = kept;
    return status_ok();
}

static status read_words(struct request *r, const char *const *argv)
{
    size_t number = 9;
    memcpy(r->setting, settings, sizeof settings);
    status s = settings_take(&r->sizes, &r->other, r->setting, argv), picture = take_picture(r);
    if (picture.code) return picture;
    if (!s.code && !r->setting[GRID].count) s = bad_input("option --grid: missing, expected N, HxW or TxHxW");
    if (s.code) return s;
    if (r->setting[SECONDS].count) number = REPEATS_TIMED;
    if ((s = setting_whole(&number, &r->setting[REPEATS], 1, REPEATS_MAX)).code) return s;
    r->limit = (struct limits){.least = 1, .most = (int)number, .seconds = HUGE_VAL};
    r->max_seconds = HUGE_VAL;
    if (!r->setting[THREADS].count) r->setting[THREADS].word[r->setting[THREADS].count++] = "1";
    for (int t = 0; t < r->setting[THREADS].count; t++) {
        if ((s = setting_whole_at(&number, &r->setting[THREADS], t, 1, PLAN_THREADS)).code) return s;
        r->threads[t] = (int)number;
    }
    r->keep = setting_word(&r->setting[KEEP]);
    if ((s = setting_seconds(&r->limit.seconds, &r->setting[SECONDS])).code) return s;
    if ((s = setting_seconds(&r->max_seconds, &r->setting[MAX_SECONDS])).code) return s;
    if ((s = bytes_allowed(&r->max_memory, setting_word(&r->setting[MAX_MEMORY]))).code) return s;
    return choose_forms(r);
}

/* ---- the problem ----------------------------------------------------- */

static struct token_source token_source(const struct request *r)
{
    const char *images = setting_word(&r->setting[IMAGES]);
    return (struct token_source){.path = images, .kind = images ? TOKENS_IMAGES : TOKENS_IMAGES_OR_NOISE};
}

/* The operator with these options on this grid, all sizes known. */
static status shape_problem(struct problem *p, const struct request *r, const char *grid_word)
{
    struct problem_sizes o = r->sizes;
    o.grid = grid_word;
    return problem_from_sizes(p, r->declaration, &o);
}

/* ---- memory ---------------------------------------------------------- */

/* Arrays of the size of y: y, two of the harness, and one for each form. */
static size_t results(const struct request *r) { return 3 + (size_t)r->entries; }

/* Bytes that a grid needs without the plans: while it is measured, and while x is made. */
static status grid_bytes(size_t *held, size_t *making, const struct request *r, const struct problem *p)
{
    struct token_source source = token_source(r);
    *held = memory_in_use();
    size_add(held, problem_input_count(p), sizeof(real));
    size_add(held, problem_output_count(p), results(r) * sizeof(real));
    *making = *held;
    size_add(held, problem_parameters(p), sizeof(real));
    size_t tokens = 0;
    status s = tokens_bytes(&tokens, &p->grid, r->sizes.channels, &source);
    size_add(making, tokens, 1);
    return s;
}

/* The least bytes that any measurement of a grid needs.  A rejected form counts as 0; it is reported later. */
static status least_bytes(size_t *least, const struct request *r, const struct problem *p)
{
    size_t held, making, plans = SIZE_MAX;
    status s = grid_bytes(&held, &making, r, p);
    if (s.code) return s;
    for (int t = 0; t < r->setting[THREADS].count; t++)
        for (int e = 0; e < r->entries; e++) {
            struct plan plan;
            bool rejected = plan_prepare(&plan, p, r->entry[e].form, r->threads[t]).code;
            size_t bytes = rejected ? 0 : arena_bytes(&plan.arena);
            plan_release(&plan);
            if (bytes < plans) plans = bytes;
        }
    size_add(&held, plans, 1);
    *least = held > making ? held : making;
    return s;
}

/* ---- measuring ------------------------------------------------------- */

struct entrant {
    struct contestant contestant;   /* first, so that a pointer to it is a pointer to the entrant */
    struct entry entry;
    struct plan plan;
    enum { WAITING, READY, DONE, LEFT_OUT } state;
    double prepare_seconds;
    size_t held, peak;          /* bytes after prepare; their maximum */
};
static_assert(offsetof(struct entrant, contestant) == 0, "first");

struct race {
    const struct request *request;
    const struct problem *problem;
    const char *grid_word;
    int threads;
    struct harness harness;
    struct entrant entrant[OPERATOR_FORMS];
    struct progress *progress;
    bool disagreed;
};

static void say(const struct race *race, const struct entrant *e, const char *text)
{
    progress_clear(race->progress);
    fprintf(stderr, "measure: %s %s %s, %d thread%s: %s\n", race->request->declaration->name, e->contestant.name,
            race->grid_word, race->threads, race->threads > 1 ? "s" : "", text);
}

/* Makes the plan and counts its bytes.  If it does not fit, that is not bad input: another form may fit. */
static status prepare(struct race *race, struct entrant *e)
{
    const struct cuda_plugin *plugin = e->entry.plugin;
    size_t before = memory_in_use(), needed = before;
    memory_reset_peak();
    double start = omp_get_wtime();
    status s = plan_prepare(&e->plan, race->problem, e->entry.form, race->threads);
    if (s.code) return plugin ? failure("%s", s.message) : s;       /* too large for the device */
    size_add(&needed, arena_bytes(&e->plan.arena), 1);
    s = bytes_fit(needed, race->request->max_memory);
    if (s.code) {
        plan_release(&e->plan);
        return failure("%s", s.message);
    }
    s = plan_allocate(&e->plan, NULL);
    if (!s.code) s = plan_load(&e->plan);
    e->prepare_seconds = omp_get_wtime() - start;
    if (s.code) return s;
    e->held = memory_in_use() - before + (plugin ? plugin->bytes(&e->plan) : 0);
    e->peak = memory_peak() - before;
    e->state = READY;
    return s;
}

static status run_once(struct contestant *contestant, real *y, const real *x)
{
    struct entrant *e = (struct entrant *)contestant;
    size_t before = memory_in_use();
    memory_reset_peak();
    struct stopwatch started = stopwatch_start(e->plan.threads);
    status s = plan_run(&e->plan, y, x);
    stopwatch_stop(&started, contestant);
    contestant->disturbed &= !e->entry.plugin;      /* a thread that waits for a device does not compute */
    size_t peak = memory_peak() - before + e->held;
    if (peak > e->peak) e->peak = peak;
    return s;
}

/* Reports that the form is rejected or, if `news`, that it agrees.  False if it is rejected. */
static bool passes(struct race *race, struct entrant *e, bool news)
{
    char text[260];
    const struct contestant *first = race->harness.first;
    bool rejected = e->contestant.rejected, alone = !first || first == &e->contestant;
    if (rejected) e->state = LEFT_OUT;
    race->disagreed |= rejected;
    snprintf(text, sizeof text, "%s%s: %s%s", alone ? "alone" : "beside ", alone ? "" : first->name, e->contestant.said,
             rejected ? "; not timed" : "");
    if (rejected || (news && first != &e->contestant && !race->request->table)) say(race, e, text);
    return !rejected;
}

static status measure_ready(struct race *race)
{
    const struct request *r = race->request;
    struct harness *harness = &race->harness;
    struct contestant *timed[OPERATOR_FORMS];
    int count = 0;
    status s;

    /* Step 1: a first run of each, to warm up and to compare. */
    for (int n = 0; n < r->entries; n++) {
        struct entrant *e = &race->entrant[n];
        if (e->state != READY) continue;
        progress_show(race->progress, e->contestant.name, race->grid_word);
        if ((s = harness_first(harness, &e->contestant)).code) return s;
        if (!passes(race, e, true)) continue;
        if (e->entry.stays) {
            e->entry.plugin->stay(&e->plan, e->contestant.blind = true);
            if ((s = run_once(&e->contestant, harness->y, harness->x)).code) return s;
        }
        if (n >= r->untimed) timed[count++] = &e->contestant;
    }

    /* Step 2: timed runs. */
    if ((s = harness_rounds(harness, timed, count, &r->limit)).code) return s;

    /* Step 3: check the timed results. */
    for (int n = 0; n < r->entries; n++) {
        struct entrant *e = &race->entrant[n];
        if (e->state != READY || !passes(race, e, false)) continue;
        if (e->entry.stays) e->entry.plugin->stay(&e->plan, false);
        if ((s = harness_last(harness, &e->contestant)).code) return s;
        if (passes(race, e, e->contestant.count > 0)) e->state = DONE;
    }
    return status_ok();
}

static void print_heading(const struct request *r)
{
    if (!r->table) {
        printf("#operator\tform\tgrid\ttokens\tchannels\theads\tbatch\tthreads\trepeats\tprepare_seconds"
               "\tmedian_seconds\tq1_seconds\tq3_seconds\tpeak_bytes\tmultiply_adds\tparameters\tdisturbed\n");
        return;
    }
    printf("%s, %zu channels, batch %zu, %s\n", r->declaration->name, r->sizes.channels, r->sizes.batch, REAL_NAME);
    printf("%-11s %-*s %3s %8s %8s %8s %8s %9s %8s %7s %5s\n", "grid", r->plugin ? 17 : 8, "form", "thr", "median",
           "q1", "q3", "prepare", "memory", "mul-adds", "params", "runs");
}

static void print_row(const struct race *race, const struct entrant *e)
{
    const struct problem *p = race->problem;
    const struct request *r = race->request;
    const char *name = e->contestant.name;
    size_t heads = problem_size(p, "h"), parameters = problem_parameters(p);
    double work = form_multiply_adds(e->entry.form, p);
    struct quartiles q = quartiles(&e->contestant);
    char text[80];
    snprintf(text, sizeof text, "other programs disturbed %d of %d runs: no times", e->contestant.disturbed_runs,
             e->contestant.count);
    if (isnan(q.median)) say(race, e, text);
    progress_clear(race->progress);
    if (r->table) {
        char cell[7][UNITS_TEXT];
        printf("%-11s %-*s %3d %s %s %s %s %s %s %s %5d\n", race->grid_word, r->plugin ? 17 : 8, name, race->threads,
               units_seconds(cell[0], 8, q.median), units_seconds(cell[1], 8, q.low), units_seconds(cell[2], 8, q.high),
               units_seconds(cell[3], 8, e->prepare_seconds), units_bytes(cell[4], 9, (double)e->peak),
               units_count(cell[5], 8, work), units_count(cell[6], 7, (double)parameters), e->contestant.count);
    } else {
        printf("%s\t%s\t%s\t%zu\t%zu\t%zu\t%zu\t%d\t%d\t%.4g\t%.5g\t%.5g\t%.5g\t%zu\t%.0f\t%zu\t%.2g\n",
               r->declaration->name, name, race->grid_word, p->grid.tokens, r->sizes.channels, heads ? heads : 1,
               r->sizes.batch, race->threads, e->contestant.count, e->prepare_seconds, q.median, q.low, q.high, e->peak,
               work, parameters, (double)e->contestant.disturbed_runs / e->contestant.count);
    }
    fflush(stdout);
}

/* Writes the input, parameters and result of one timed run of the only form. */
static status keep(struct race *race, const struct entrant *e)
{
    struct tensor all[PROBLEM_TENSORS + 1], *y = all + problem_list(all, race->problem);
    const real *kept = e->state == DONE ? harness_kept(&race->harness, &e->contestant) : NULL;
    if (!kept) return failure("%s: nothing was timed that could be kept", race->request->keep);
    all[0].data = race->harness.x;
    *y = (struct tensor){.name = (char[]){"y"}, .count = race->harness.outputs, .data = (real *)(size_t)kept};
    status s = problem_output_shape(race->problem, &y->axes, y->size);
    return s.code ? s : tensor_file_write(race->request->keep, all, (size_t)(y - all) + 1);
}

/* Leaves out a form that would take too long.  `rate`: seconds per multiply-add on the last grid, or 0. */
static void leave_out_slow(const struct race *race, struct entrant *e, double rate)
{
    const struct request *r = race->request;
    double work = form_multiply_adds(e->entry.form, race->problem), expected = rate * work;
    bool hours = expected > 0 ? expected > 3600 : work > WORK_OF_HOURS, too_slow = expected > r->max_seconds;
    bool needs_yes = hours && (isatty(1) || isatty(2)) && !r->setting[YES].count;
    char text[200];
    if (too_slow)
        snprintf(text, sizeof text, "left out, a run is expected to take %.3g s, allowed are %.3g", expected,
                 r->max_seconds);
    else
        snprintf(text, sizeof text, "%sa run of %.3g multiply-adds may take hours%s", needs_yes ? "left out, " : "",
                 work, needs_yes ? "; --yes measures it" : "");
    if (too_slow || needs_yes) e->state = LEFT_OUT;
    if (too_slow || hours) say(race, e, text);
}

/* Prepares as many waiting entrants as fit in memory together, and measures them.  Leaves out those that do not fit
 * alone.  Sets *waiting if others have to wait. */
static status measure_some(struct race *race, bool *waiting)
{
    const struct request *r = race->request;
    int ready = 0;
    *waiting = false;
    for (int n = 0; n < r->entries; n++) {
        struct entrant *e = &race->entrant[n];
        status s = out_of_memory("the timings");
        char text[300];
        if (e->state != WAITING) continue;
        e->contestant.seconds = memory_get((size_t)r->limit.most, sizeof(double));
        if (e->contestant.seconds) s = prepare(race, e);
        if (!s.code) {
            ready++;
            continue;
        }
        memory_free(e->contestant.seconds);
        e->contestant.seconds = NULL;
        if (s.code == STATUS_BAD_INPUT && r->setting[FORM].count) return s;
        if (s.code != STATUS_BAD_INPUT && ready > 0) {
            *waiting = true;
            continue;
        }
        snprintf(text, sizeof text, "left out: %s", s.message);
        say(race, e, text);
        e->state = LEFT_OUT;
    }
    return ready ? measure_ready(race) : status_ok();
}

/* `rate`: seconds per multiply-add of each form on the last grid, 0 if there was none. */
static status run_race(struct race *race, double rate[OPERATOR_FORMS])
{
    const struct request *r = race->request;
    real *kept = race->harness.reference + race->harness.outputs;
    bool waiting = true;
    int done = 0;
    status s = status_ok();

    omp_set_num_threads(race->threads);
    openblas_set_num_threads(race->threads);
    for (int n = 0; n < r->entries; n++) {
        struct entrant *e = &race->entrant[n];
        *e = (struct entrant){.entry = r->entry[n]};
        e->contestant.run = run_once;
        e->contestant.rounding = form_rounding(e->entry.form);
        e->contestant.kept = kept + (size_t)n * race->harness.outputs;
        snprintf(e->contestant.name, sizeof e->contestant.name, "%.14s%s", e->entry.form->name,
                 e->entry.stays ? "/kernels" : "");
        leave_out_slow(race, e, rate[n]);
    }

    while (waiting && !s.code) {
        s = measure_some(race, &waiting);
        for (int n = 0; n < r->entries; n++) {
            if (race->entrant[n].state != WAITING) race->entrant[n].contestant.run = NULL;
            plan_release(&race->entrant[n].plan);
        }
    }
    if (!s.code && r->keep) s = keep(race, &race->entrant[r->entries - 1]);
    harness_close(&race->harness);

    for (int n = 0; n < r->entries; n++) done += race->entrant[n].state == DONE;
    for (int n = 0; n < r->entries; n++) {
        struct entrant *e = &race->entrant[n];
        if (n >= r->untimed && e->state == DONE) {
            if (done == 1) say(race, e, "timed but not compared: no other form was run");
            if (!s.code) {
                print_row(race, e);
                rate[n] = e->contestant.spent / e->contestant.count / form_multiply_adds(e->entry.form, race->problem);
            }
        }
        memory_free(e->contestant.seconds);
    }
    return s;
}

/* ---- all grids ------------------------------------------------------- */

static status leave_out(const struct request *r, const char *grid_word, const struct progress *progress, status why)
{
    progress_clear(progress);
    fprintf(stderr, "measure: %s %s: left out: %s\n", r->declaration->name, grid_word, why.message);
    return status_ok();
}

/* One grid: makes tokens and parameters, then runs a race for each number of threads. */
static status measure_grid(struct request *r, const char *grid_word, double rate[SETTING_WORDS][OPERATOR_FORMS],
                           struct progress *progress, bool *printed, bool *disagreed)
{
    struct problem p;
    struct token_source source = token_source(r);
    real *parameters = NULL;
    size_t held, making;
    char origin[200];

    /* Step 1: x, y and parameters. */
    status s = shape_problem(&p, r, grid_word);
    if (!s.code) s = grid_bytes(&held, &making, r, &p);
    if (s.code) return s;
    status fit = bytes_fit(held > making ? held : making, r->max_memory);
    if (fit.code) return leave_out(r, grid_word, progress, fit);
    size_t outputs = problem_output_count(&p);
    real *x = memory_reals(problem_input_count(&p), 1, 1, 1), *y = memory_reals(outputs, results(r), 1, 1);
    if (!x || !y) s = out_of_memory("x and y");
    if (!s.code) s = tokens_make(x, r->sizes.batch, &p.grid, r->sizes.channels, &source, origin, sizeof origin);
    if (!s.code) s = problem_draw(&p, SEED, &parameters);
    if (!s.code && !*printed) fprintf(stderr, "measure: tokens of %s\n", origin);
    if (!s.code) *printed = true;

    /* Step 2: races. */
    double most = 0;
    for (int e = 0; e < r->entries; e++) most = fmax(most, form_multiply_adds(r->entry[e].form, &p));
    for (int t = 0; t < r->setting[THREADS].count && !s.code; t++) {
        struct race race = {
            .request = r, .problem = &p, .grid_word = grid_word, .threads = r->threads[t],
            .harness = {.x = x, .y = y, .original = y + outputs, .reference = y + 2 * outputs,
                        .inputs = problem_input_count(&p), .outputs = outputs, .width = r->sizes.channels,
                        .terms = fmax(1, most / (double)outputs)},
            .progress = progress,
        };
        s = run_race(&race, rate[t]);
        *disagreed |= race.disagreed;
        progress->done += (double)p.grid.tokens;
    }
    memory_free(parameters);
    memory_free(y);
    memory_free(x);
    return s.code == STATUS_FAILURE ? leave_out(r, grid_word, progress, s) : s;
}

static status measure(const char *const *argv)
{
    static double rate[SETTING_WORDS][OPERATOR_FORMS];
    struct request r = {0};
    struct progress progress = progress_begin(0, 0);      /* of tokens, so the time left is a rough estimate */
    bool printed = false, disagreed = false;
    size_t needed = SIZE_MAX;
    status s;

    /* Step 1: read and check the whole command. */
    if ((s = operator_named(&r.declaration, argv[0])).code) return s;
    if ((s = read_words(&r, argv + 1)).code) return status_at(s, argv[0]);
    for (int g = 0; g < r.setting[GRID].count; g++) {
        struct problem p;
        size_t least;
        s = shape_problem(&p, &r, r.setting[GRID].word[g]);
        if (!s.code) s = least_bytes(&least, &r, &p);
        if (s.code) return status_at(s, argv[0]);
        if (least < needed) needed = least;
        progress.total += (double)p.grid.tokens * r.setting[THREADS].count;
    }
    if ((s = bytes_fit(needed, r.max_memory)).code) return status_at(s, argv[0]);
    memory_set_limit(r.max_memory);     /* also for the bytes of the file of images */

    /* Step 2: each grid. */
    r.table = !r.setting[TSV].count && isatty(1);
    if (r.plugin) fprintf(stderr, "measure: on %s\n", r.plugin->name());
    print_heading(&r);
    for (int g = 0; g < r.setting[GRID].count && !s.code; g++)
        s = measure_grid(&r, r.setting[GRID].word[g], rate, &progress, &printed, &disagreed);
    progress_clear(&progress);
    if (!s.code && disagreed) s = failure("forms disagree");
    return status_at(s, argv[0]);
}

int main(int argc, char **argv)
{
    struct words w;
    status s = words_take(&w, argc, (const char *const *)argv);
    if (!s.code && w.help) s = print_help(NULL, &measure_command, &w);
    else if (!s.code && w.version) print_version("measure");
    else if (!s.code) s = measure(w.word + (argc > 0));
    if (!s.code && (fflush(stdout) || ferror(stdout))) s = failure("standard output: cannot be written");
    if (s.code) fprintf(stderr, "measure: %s\n", s.message);
    words_release(&w);
    return s.code;
}
