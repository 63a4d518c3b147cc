/* measure.c -- seconds and bytes of the forms of an operator, one line each
 *
 *     build/measure OPERATOR [--form F]... [--judge F] [--device N] --grid G... --channels C [--heads h]
 *         [--sizes LETTER=n,...] [--without NAME,...] [operator options]
 *         [--batch B] [--threads T]... [--repeats R] [--seconds S]
 *         [--max-seconds S] [--max-memory BYTES] [--images FILE] [--keep FILE] [--tsv] [--yes]
 *
 * Tokens of real images go in, parameters are drawn at random, and every
 * combination of grid, threads and form becomes one line on stdout: of
 * tab-separated values, or on a terminal of a table to be read.  All else goes
 * to stderr.
 *
 * How it measures.  The forms of one grid stand prepared side by side and run
 * in turn, A B C A B C, so that a slow moment of the machine hits all of them
 * and their ratios hold.  Each runs once before the clock matters, and what it
 * computes is compared with the first form: a form that disagrees is not
 * timed.  What it computes while it is timed is compared too, on inputs that it has not seen before
 * (judge.h).  prepare is timed apart.  Median and quartiles are of single runs on
 * the whole batch; peak_bytes is what a form allocated beyond x, y and the
 * parameters, as memory.h counted it.
 *
 * A rung of a device is measured twice: as it is called, with x copied there and y back,
 * and as NAME/kernels with x and y there.  Its bytes are the device's, x and y and the
 * parameters among them.
 *
 * It is no profiler, and it does not say why. */

#define _POSIX_C_SOURCE 200809L

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../reference/bytes.h"
#include "../reference/forms.h"
#include "../reference/outline.h"
#include "../reference/instruments/safetensors.h"
#include "../reference/instruments/tokens.h"
#include "../reference/program/devices.h"
#include "../reference/program/units.h"
#include "../reference/program/words.h"
#include "judge.h"
#include "quantile.h"

#define SEED 1
#define LIST 64                 /* words that one option may be given */
#define REPEATS_MAX 100000
#define REPEATS_TIMED 1000      /* where --seconds alone bounds them */
#define SHORT_RUN 0.05          /* seconds; shorter runs are warmed up before every timing */

static const char usage[] =
    "usage: measure OPERATOR [--form F]... [--judge F] [--device N] --grid G... --channels C [--heads h]\n"
    "               [--sizes LETTER=n,...] [--without NAME,...] [options of the operator] [--batch B]\n"
    "               [--threads T]... [--repeats R]\n"
    "               [--seconds S] [--max-seconds S] [--max-memory BYTES] [--images FILE] [--keep FILE] [--tsv]\n"
    "               [--yes]\n\n"
    "  --form, --grid, --threads  may be repeated, or take several values; all combinations are measured\n"
    "  --judge       a form that is run before and after, to compare with, and not timed (the first of those timed)\n"
    "  --device      the CUDA device of the forms cuda, cuda1, ... (0); alone, all rungs beside all other forms\n"
    "  --sizes       the letters that grid and channels leave open, as D=16 ('twicetold help OPERATOR' has them)\n"
    "  --without     optional tensors to leave out, as b_qkv,w_o,b_o\n"
    "  --repeats     timed runs (9); with --seconds only, as many as fit\n"
    "  --seconds     time for the runs of one combination\n"
    "  --max-seconds a form whose run is expected to take longer, by its last grid, is left out\n"
    "  --max-memory  a form that would bring all memory in use above this is left out, and where nothing fits the\n"
    "                command refused; bytes, as 512M or 8G (3/4 of what is free)\n"
    "  --images      IDX or PNG file that the tokens are cut from\n"
    "  --keep        write x, the parameters and y of one timed run, which chance has chosen, as safetensors\n"
    "  --tsv         tab-separated values on a terminal too, as they are in a pipe or a file\n"
    "  --yes         measure what takes hours, too: on a terminal it is left out unless one says so\n\n"
    "Times are those of one run on the whole batch: median and quartiles. Memory is what a form takes beside x,\n"
    "y and the parameters. --key=value is the same as --key value.\n";

/* ---- the command line ------------------------------------------------ */

struct list {
    const char *word[LIST];
    int count;
};

struct request {
    const struct declaration *declaration;
    struct list form, grid, thread, operator_word;
    const char *sizes, *without;
    const char *device, *judge, *channels, *batch, *repeats_text, *seconds_text, *max_seconds_text, *max_memory_text;
    const char *images, *keep;
    size_t C, B, max_memory;
    int threads[LIST], repeats;
    double seconds, max_seconds;        /* HUGE_VAL where there is no bound */
    const struct form *forms[OPERATOR_FORMS];
    bool of_device[OPERATOR_FORMS], stays[OPERATOR_FORMS];     /* a rung; and with x and y where it runs */
    int form_count, untimed;                                    /* how many of the first are there to compare with */
    const struct cuda_plugin *plugin;                           /* NULL where no rung is measured */
    bool tsv, table;            /* asked for; whether rows are for people */
    bool yes;                   /* to work of hours */
};

static status append(struct list *list, const char *option, const char *word)
{
    if (list->count == LIST) return bad_input("option %s: more than %d values", option, LIST);
    list->word[list->count++] = word;
    return status_ok();
}

/* Takes the value of an option, and for a list all words up to the next option. */
static status take_list(struct list *list, const char *const **argv)
{
    const char *option = **argv;
    status s;
    if (!word_is_value((*argv)[1])) return bad_input("option %s: found no value, expected one", option);
    do {
        if ((s = append(list, option, *++*argv)).code) return s;
    } while ((*argv)[1] && (*argv)[1][0] != '-');
    return s;
}

static status take_value(const char **value, const char *const **argv)
{
    const char *option = **argv;
    if (*value) return bad_input("option %s: given twice, expected once", option);
    if (!word_is_value((*argv)[1])) return bad_input("option %s: found no value, expected one", option);
    *value = *++*argv;
    return status_ok();
}

static status whole_number(size_t *number, const char *option, const char *text, size_t low, size_t high)
{
    char *end;
    double value = strtod(text, &end);
    if (!*text || strspn(text, "0123456789") != strlen(text) || value < (double)low || value > (double)high)
        return bad_input("option %s: found '%.40s', expected a whole number from %zu to %zu", option, text, low, high);
    *number = (size_t)value;
    return status_ok();
}

/* Seconds, more than none; without text there is no bound. */
static status seconds_of(double *seconds, const char *option, const char *text)
{
    char *end = NULL;
    *seconds = HUGE_VAL;
    if (!text) return status_ok();
    *seconds = strtod(text, &end);
    if (!*text || strspn(text, "0123456789.e+-") != strlen(text) || *end || !(*seconds > 0) || !isfinite(*seconds))
        return bad_input("option %s: found '%.40s', expected seconds", option, text);
    return status_ok();
}

static status sort_words(struct request *r, const char *const *argv)
{
    const struct { const char *option; const char **value; } own[] = {
        {"--channels", &r->channels}, {"--batch", &r->batch}, {"--sizes", &r->sizes}, {"--without", &r->without},
        {"--repeats", &r->repeats_text}, {"--seconds", &r->seconds_text}, {"--max-seconds", &r->max_seconds_text},
        {"--max-memory", &r->max_memory_text}, {"--images", &r->images}, {"--device", &r->device},
        {"--judge", &r->judge}, {"--keep", &r->keep},
    };
    const struct { const char *option; struct list *list; } lists[] = {
        {"--form", &r->form}, {"--grid", &r->grid}, {"--threads", &r->thread},
    };

    for (; *argv; argv++) {
        bool tsv = !strcmp(*argv, "--tsv"), yes = !strcmp(*argv, "--yes"), taken = tsv || yes;
        status s = status_ok();
        r->tsv |= tsv;
        r->yes |= yes;
        for (size_t o = 0; o < sizeof own / sizeof *own && !taken; o++)
            if ((taken = !strcmp(*argv, own[o].option))) s = take_value(own[o].value, &argv);
        for (size_t o = 0; o < sizeof lists / sizeof *lists && !taken; o++)
            if ((taken = !strcmp(*argv, lists[o].option))) s = take_list(lists[o].list, &argv);
        if (!taken) s = append(&r->operator_word, "of the operator", *argv);
        if (s.code) return s;
    }
    return status_ok();
}

/* A rung takes two places: as it is called, and with x and y on the device. */
static void enter_form(struct request *r, const struct form *form, bool of_device)
{
    for (int stays = 0; stays < (of_device ? 2 : 1) && r->form_count < OPERATOR_FORMS; stays++) {
        r->of_device[r->form_count] = of_device;
        r->stays[r->form_count] = stays;
        r->forms[r->form_count++] = form;
    }
}

static status choose_forms(struct request *r)
{
    const struct declaration *d = r->declaration;
    const struct form *each;
    bool rungs = false;

    /* Step 1: the one that is not timed. */
    if (r->judge) {
        status s = form_on(&each, d, r->judge, NULL, 0);
        if (s.code) return s;
        if (!r->form.count) return bad_input("option --judge: found without --form, expected the forms that are timed");
        enter_form(r, each, false);
        r->untimed = 1;
    }

    /* Step 2: all that the processor has, where none is named, and on a device all rungs. */
    if (device_is_emulated(r->device))
        return bad_input("option --device: found '%.40s', expected a number: the time of an emulated device says "
                         "nothing", r->device);
    for (int f = 0; !r->form.count && (each = operator_form_at(d, f)); f++) enter_form(r, each, false);
    for (int f = 0; !r->form.count && r->device && (each = operator_rung_at(d, f)); f++)
        append(&r->form, "--form", each->name);

    /* Step 3: those that are. */
    for (int f = 0; f < r->form.count; f++) {
        const char *name = r->form.word[f];
        bool rung = !operator_form(d, name) && operator_rung(d, name);
        status s = form_on(&each, d, name, rung ? r->device : NULL, r->max_memory_text ? r->max_memory : 0);
        if (!s.code && rung) s = devices_plugin(&r->plugin);
        if (s.code) return s;
        for (int g = 0; g < r->form_count; g++)
            if (r->forms[g] == each) return bad_input("option --form: found %s twice, expected once", each->name);
        enter_form(r, each, rung);
        rungs |= rung;
    }
    if (r->device && !rungs)
        return bad_input("option --device: found '%.40s', but no form that runs on a device", r->device);
    if (r->form_count == OPERATOR_FORMS) return bad_input("option --form: more forms than %d", OPERATOR_FORMS - 1);
    if (r->keep && (r->form_count > r->untimed + 1 || r->grid.count > 1 || r->thread.count > 1))
        return bad_input("option --keep: expected one form, one grid and one number of threads");
    return status_ok();
}

static status read_numbers(struct request *r)
{
    size_t number = 9;
    status s;
    if (!r->grid.count) return bad_input("option --grid: missing, expected N, HxW or TxHxW");
    if (!r->channels) return bad_input("option --channels: missing, expected the channels of x");
    if ((s = whole_number(&r->C, "--channels", r->channels, 1, 1000000)).code) return s;
    r->B = 1;
    if (r->batch && (s = whole_number(&r->B, "--batch", r->batch, 1, 1000000)).code) return s;
    if (r->seconds_text) number = REPEATS_TIMED;
    if (r->repeats_text && (s = whole_number(&number, "--repeats", r->repeats_text, 1, REPEATS_MAX)).code) return s;
    r->repeats = (int)number;
    if (!r->thread.count) append(&r->thread, "--threads", "1");
    for (int t = 0; t < r->thread.count; t++) {
        if ((s = whole_number(&number, "--threads", r->thread.word[t], 1, PLAN_THREADS)).code) return s;
        r->threads[t] = (int)number;
    }
    if ((s = seconds_of(&r->seconds, "--seconds", r->seconds_text)).code) return s;
    if ((s = seconds_of(&r->max_seconds, "--max-seconds", r->max_seconds_text)).code) return s;
    return bytes_allowed(&r->max_memory, r->max_memory_text);
}

/* ---- the problem ----------------------------------------------------- */

static struct token_source token_source(const struct request *r)
{
    return (struct token_source){.path = r->images, .kind = r->images ? TOKENS_IMAGES : TOKENS_IMAGES_OR_NOISE};
}

/* The operator with these options on this grid, all sizes known. */
static status shape_problem(struct problem *p, struct request *r, const char *grid_word)
{
    const struct outline o = {
        .words = r->operator_word.count, .word = r->operator_word.word, .grid = grid_word, .batch = r->B,
        .channels = r->C, .sizes = r->sizes, .without = r->without,
    };
    return outline_problem(p, r->declaration, &o);
}

/* ---- memory ---------------------------------------------------------- */

/* Arrays of the size of y: y, two of the first form, and one for each form. */
static size_t results(const struct request *r) { return 3 + (size_t)r->form_count; }

/* Bytes that a grid takes beside the plans: x, what the judge keeps of y and the parameters, and
 * while x is made what that takes. */
static status grid_bytes(size_t *held, size_t *making, const struct request *r, const struct problem *p)
{
    struct token_source source = token_source(r);
    *held = memory_in_use();
    size_add(held, problem_input_count(p), sizeof(real));
    size_add(held, problem_output_count(p), results(r) * sizeof(real));
    *making = *held;
    size_add(held, problem_parameters(p), sizeof(real));
    size_t tokens = 0;
    status s = tokens_bytes(&tokens, &p->grid, r->C, &source);
    size_add(making, tokens, 1);
    return s;
}

/* The least that any measurement of a grid takes.  A form that is refused takes
 * nothing; why it is will be said when its turn comes. */
static status least_bytes(size_t *least, const struct request *r, const struct problem *p)
{
    size_t held, making, plans = SIZE_MAX;
    status s = grid_bytes(&held, &making, r, p);
    if (s.code) return s;
    for (int t = 0; t < r->thread.count; t++)
        for (int f = 0; f < r->form_count; f++) {
            struct plan plan;
            bool refused = plan_prepare(&plan, p, r->forms[f], r->threads[t]).code;
            size_t bytes = refused ? 0 : room_bytes(&plan.room);
            plan_release(&plan);
            if (bytes < plans) plans = bytes;
        }
    size_add(&held, plans, 1);
    *least = held > making ? held : making;
    return s;
}

/* ---- progress -------------------------------------------------------- */

/* Work is counted in tokens, for want of better; the estimate of the time
 * left is as rough as that. */
struct progress {
    bool shown;
    double start, total, done;
};

static void show_progress(struct progress *p, const char *form, const char *grid_word)
{
    if (!p->shown) return;
    double share = p->done / p->total, left = share > 0 ? (omp_get_wtime() - p->start) * (1 - share) / share : 0;
    char bar[25];
    for (int i = 0; i < 24; i++) bar[i] = i < (int)(24 * share) ? '#' : '.';
    bar[24] = 0;
    fprintf(stderr, "\r\033[K[%s] %3.0f %%", bar, 100 * share);
    if (share > 0) fprintf(stderr, "  %.0f:%02.0f left", floor(left / 60), floor(fmod(left, 60)));
    fprintf(stderr, "  %s %s", form, grid_word);
    fflush(stderr);
}

static void clear_progress(const struct progress *p)
{
    if (p->shown) fputs("\r\033[K", stderr);
}

/* ---- measuring ------------------------------------------------------- */

/* One form on the starting line. */
struct entrant {
    struct contestant judged;   /* first, so that the one is the other */
    const struct form *form;
    const struct cuda_plugin *plugin;   /* of a rung; NULL for what runs on the processor */
    bool stays;                 /* x and y on the device */
    char name[24];
    struct plan plan;
    enum { WAITING, READY, DONE, LEFT_OUT } state;
    double prepare_seconds, spent;
    size_t own, peak;           /* bytes it holds; the most it ever held */
    double *seconds;            /* of each timed run */
    int count;
};

/* What all entrants share. */
struct race {
    const struct request *request;
    const struct problem *problem;
    const char *grid_word;
    int threads;
    struct judge judge;
    real *kept;                 /* a y for each form */
    struct progress *progress;
    bool disagreed;
};

static void say(const struct race *race, const char *form, const char *text)
{
    clear_progress(race->progress);
    fprintf(stderr, "measure: %s %s %s, %d thread%s: %s\n", race->request->declaration->name, form,
            race->grid_word, race->threads, race->threads > 1 ? "s" : "", text);
}

/* Takes what the plan asked for, if that fits beside what is there.  If not, it
 * is not bad input: another form may fit. */
static status place(struct plan *plan, size_t allowed)
{
    size_t needed = memory_in_use();
    size_add(&needed, room_bytes(&plan->room), 1);
    status s = bytes_fit(needed, allowed);
    if (!s.code) return plan_place(plan, NULL);
    plan_release(plan);
    return failure("%s", s.message);
}

/* Makes the plan and counts what it takes.  False where it does not fit, memory
 * is out or the form refuses; why then says so. */
static bool prepare(struct race *race, struct entrant *e, status *why)
{
    size_t before = memory_in_use();
    memory_reset_peak();
    double start = omp_get_wtime();
    *why = plan_prepare(&e->plan, race->problem, e->form, race->threads);
    if (why->code && e->plugin) *why = failure("%s", why->message);     /* too large for the device: another may fit */
    if (!why->code) *why = place(&e->plan, race->request->max_memory);
    if (!why->code) *why = plan_load(&e->plan);
    e->prepare_seconds = omp_get_wtime() - start;
    if (why->code) return false;
    e->own = memory_in_use() - before + (e->plugin ? e->plugin->bytes(&e->plan) : 0);
    e->peak = memory_peak() - before;
    e->state = READY;
    return true;
}

static status run_once(struct contestant *judged, real *y, const real *x)
{
    struct entrant *e = (struct entrant *)judged;
    size_t before = memory_in_use();
    memory_reset_peak();
    double start = omp_get_wtime();
    status s = plan_run(&e->plan, y, x);
    judged->last = omp_get_wtime() - start;
    size_t peak = memory_peak() - before + e->own;
    if (peak > e->peak) e->peak = peak;
    return s;
}

/* Says what the judge found, where that is news; false where the form is refused. */
static bool passes(struct race *race, struct entrant *e, bool news)
{
    char text[260];
    const struct entrant *first = (const struct entrant *)race->judge.first;
    bool refused = e->judged.refused;
    if (refused) e->state = LEFT_OUT;
    race->disagreed |= refused;
    snprintf(text, sizeof text, "%s%s: %s%s", first && first != e ? "beside " : "alone",
             first && first != e ? first->name : "", e->judged.said, refused ? "; not timed" : "");
    if (refused || (news && first != e && !race->request->table)) say(race, e->name, text);
    return !refused;
}

/* Whether this form has had all the runs that it gets. */
static bool finished(const struct request *r, const struct entrant *e)
{
    return e->state != READY || e->count >= r->repeats || (e->count > 0 && e->spent + e->judged.last > r->seconds);
}

static void record(struct entrant *e)
{
    e->seconds[e->count++] = e->judged.last;
    e->spent += e->judged.last;
}

/* Measures all entrants that fit in memory side by side. */
static status measure_ready(struct race *race, struct entrant *entrant, int entrants)
{
    const struct request *r = race->request;
    struct judge *judge = &race->judge;
    status s;

    /* Step 1: a first run, to warm up and to compare.  One that takes longer
     * than the time allowed for all runs is not made twice. */
    for (int e = 0; e < entrants; e++) {
        struct contestant *c = &entrant[e].judged;
        if (entrant[e].state != READY) continue;
        show_progress(race->progress, entrant[e].name, race->grid_word);
        if ((s = judge_first(judge, c)).code) return s;
        if (!passes(race, &entrant[e], true)) continue;
        if (entrant[e].stays) {
            entrant[e].plugin->stay(&entrant[e].plan, c->blind = true);
            if ((s = run_once(c, judge->y, judge->x)).code) return s;
        }
        if (c->last > r->seconds) record(&entrant[e]);
    }

    /* Step 2: in turn.  A short run is repeated, so that it finds the cache as
     * it left it and not as the others did. */
    for (bool running = true; running;) {
        running = false;
        judge_round(judge);
        for (int e = r->untimed; e < entrants; e++) {
            if (finished(r, &entrant[e])) continue;
            if ((s = judge_timed(judge, &entrant[e].judged, entrant[e].judged.last < SHORT_RUN)).code) return s;
            if (passes(race, &entrant[e], false)) record(&entrant[e]);
            running = true;
        }
    }

    /* Step 3: whether what was timed was right. */
    for (int e = 0; e < entrants; e++) {
        if (entrant[e].state != READY) continue;
        if (entrant[e].stays) entrant[e].plugin->stay(&entrant[e].plan, false);
        if ((s = judge_last(judge, &entrant[e].judged)).code) return s;
        if (passes(race, &entrant[e], entrant[e].count > 0)) entrant[e].state = DONE;
    }
    return status_ok();
}

static void print_heading(const struct request *r)
{
    if (!r->table) {
        printf("#operator\tform\tgrid\ttokens\tchannels\theads\tbatch\tthreads\trepeats\tprepare_seconds"
               "\tmedian_seconds\tq1_seconds\tq3_seconds\tpeak_bytes\tmultiply_adds\tparameters\n");
        return;
    }
    printf("%s, %zu channels, batch %zu, %s\n", r->declaration->name, r->C, r->B, REAL_NAME);
    printf("%-11s %-*s %3s %8s %8s %8s %8s %9s %8s %7s %5s\n", "grid", r->plugin ? 17 : 8, "form", "thr", "median",
           "q1", "q3", "prepare", "memory", "mul-adds", "params", "runs");
}

static void print_row(const struct race *race, struct entrant *e)
{
    const struct problem *p = race->problem;
    size_t heads = problem_size(p, "h"), parameters = problem_parameters(p);
    double work = form_multiply_adds(e->form, p), median, q1, q3;
    quantile_sort(e->seconds, (size_t)e->count);
    median = quantile(e->seconds, (size_t)e->count, 0.5);
    q1 = quantile(e->seconds, (size_t)e->count, 0.25);
    q3 = quantile(e->seconds, (size_t)e->count, 0.75);
    clear_progress(race->progress);
    if (race->request->table) {
        char text[7][UNITS_TEXT];
        printf("%-11s %-*s %3d %s %s %s %s %s %s %s %5d\n", race->grid_word, race->request->plugin ? 17 : 8, e->name,
               race->threads,
               units_seconds(text[0], 8, median), units_seconds(text[1], 8, q1), units_seconds(text[2], 8, q3),
               units_seconds(text[3], 8, e->prepare_seconds), units_bytes(text[4], 9, (double)e->peak),
               units_count(text[5], 8, work), units_count(text[6], 7, (double)parameters), e->count);
    } else {
        printf("%s\t%s\t%s\t%zu\t%zu\t%zu\t%zu\t%d\t%d\t%.4g\t%.5g\t%.5g\t%.5g\t%zu\t%.0f\t%zu\n",
               race->request->declaration->name, e->name, race->grid_word, p->grid.tokens, race->request->C,
               heads ? heads : 1, race->request->B, race->threads, e->count, e->prepare_seconds, median, q1, q3,
               e->peak, work, parameters);
    }
    fflush(stdout);
}

/* What the only form has made in one timed run, and of what. */
static status keep(struct race *race, const struct entrant *e)
{
    struct tensor all[PROBLEM_TENSORS + 1], *y = all + problem_list(all, race->problem);
    const real *kept = e->state == DONE ? judge_kept(&race->judge, &e->judged) : NULL;
    if (!kept) return failure("%s: nothing was timed that could be kept", race->request->keep);
    all[0].data = race->judge.x;
    *y = (struct tensor){.name = (char[]){"y"}, .count = race->judge.outputs, .data = (real *)(size_t)kept};
    status s = problem_output_shape(race->problem, &y->axes, y->size);
    return s.code ? s : safetensors_write(race->request->keep, all, (size_t)(y - all) + 1);
}

/* Whether a run of so many multiply-adds takes hours, as far as is known; one that is expected
 * to take so many seconds, or 0. */
static bool takes_hours(double work, double expected)
{
    return expected > 0 ? expected > 3600 : work > WORK_OF_HOURS;
}

/* All forms of one grid and number of threads.  rate holds seconds per
 * multiply-add of each form on the grid before, 0 where there was none. */
static status run_race(struct race *race, double rate[OPERATOR_FORMS])
{
    const struct request *r = race->request;
    struct entrant entrant[OPERATOR_FORMS] = {{.form = NULL}};
    status s = status_ok(), why = status_ok();
    char text[300];

    omp_set_num_threads(race->threads);
    openblas_set_num_threads(race->threads);

    /* Step 1: leave out what would take too long. */
    for (int f = 0; f < r->form_count; f++) {
        entrant[f].form = r->forms[f];
        entrant[f].plugin = r->of_device[f] ? r->plugin : NULL;
        entrant[f].stays = r->stays[f];
        entrant[f].judged.run = run_once;
        entrant[f].judged.rounding = form_rounding(r->forms[f]);
        entrant[f].judged.kept = race->kept + (size_t)f * race->judge.outputs;
        snprintf(entrant[f].name, sizeof entrant[f].name, "%.14s%s", r->forms[f]->name, r->stays[f] ? "/kernels" : "");
        double work = form_multiply_adds(r->forms[f], race->problem), expected = rate[f] * work;
        bool hours = takes_hours(work, expected);
        if (expected > r->max_seconds) {
            snprintf(text, sizeof text, "left out, a run is expected to take %.3g s, allowed are %.3g",
                     expected, r->max_seconds);
            entrant[f].state = LEFT_OUT;
        } else if (hours && (isatty(1) || isatty(2)) && !r->yes) {
            snprintf(text, sizeof text, "left out, a run of %.3g multiply-adds may take hours; --yes measures it", work);
            entrant[f].state = LEFT_OUT;
        } else if (hours) {
            snprintf(text, sizeof text, "a run of %.3g multiply-adds may take hours", work);
        } else continue;
        say(race, entrant[f].name, text);
    }

    /* Step 2: as many side by side as fit in memory, then the others; one that
     * does not fit alone is left out. */
    for (int waiting = r->form_count; waiting > 0 && !s.code;) {
        int ready = 0;
        waiting = 0;
        for (int f = 0; f < r->form_count && !s.code; f++) {
            if (entrant[f].state != WAITING) continue;
            entrant[f].seconds = memory_get((size_t)r->repeats, sizeof(double));
            if (entrant[f].seconds && prepare(race, &entrant[f], &why)) {
                ready++;
                continue;
            }
            memory_free(entrant[f].seconds);
            entrant[f].seconds = NULL;
            if (why.code == STATUS_BAD_INPUT && r->form.count) s = why;
            else if (ready > 0 && why.code != STATUS_BAD_INPUT) waiting++;
            else {
                snprintf(text, sizeof text, "left out: %s", *why.message ? why.message : "no memory for the timings");
                say(race, entrant[f].name, text);
                entrant[f].state = LEFT_OUT;
            }
        }
        if (ready > 0 && !s.code) s = measure_ready(race, entrant, r->form_count);
        for (int f = 0; f < r->form_count; f++) {
            if (entrant[f].state != WAITING) entrant[f].judged.run = NULL;
            plan_release(&entrant[f].plan);
        }
    }
    if (!s.code && r->keep) s = keep(race, &entrant[r->form_count - 1]);
    judge_close(&race->judge);

    /* Step 3: say what was found, and whether anything vouches for it. */
    int done = 0;
    for (int f = 0; f < r->form_count; f++) done += entrant[f].state == DONE;
    for (int f = 0; f < r->form_count; f++) {
        struct entrant *e = &entrant[f];
        if (f < r->untimed) {
            memory_free(e->seconds);
            continue;
        }
        if (done == 1 && e->state == DONE) say(race, e->name, "timed but not compared: no other form was run");
        if (!s.code && e->state == DONE) {
            print_row(race, e);
            rate[f] = quantile(e->seconds, (size_t)e->count, 0.5) / form_multiply_adds(e->form, race->problem);
        }
        memory_free(e->seconds);
    }
    return s;
}

/* ---- all of it ------------------------------------------------------- */

static status leave_out(const struct request *r, const char *grid_word, const struct progress *progress, status why)
{
    clear_progress(progress);
    fprintf(stderr, "measure: %s %s: left out: %s\n", r->declaration->name, grid_word, why.message);
    return status_ok();
}

/* One grid: tokens and parameters once, then the races, one for each number
 * of threads. */
static status measure_grid(struct request *r, const char *grid_word, double rate[LIST][OPERATOR_FORMS],
                           struct progress *progress, bool *told, bool *disagreed)
{
    struct problem p;
    struct token_source source = token_source(r);
    real *parameters = NULL;
    size_t held, making;
    char origin[200];

    /* Step 1: what goes in and what comes out. */
    status s = shape_problem(&p, r, grid_word);
    if (!s.code) s = grid_bytes(&held, &making, r, &p);
    if (s.code) return s;
    status fit = bytes_fit(held > making ? held : making, r->max_memory);
    if (fit.code) return leave_out(r, grid_word, progress, fit);
    size_t outputs = problem_output_count(&p);
    real *x = memory_reals(problem_input_count(&p), 1, 1, 1), *y = memory_reals(outputs, results(r), 1, 1);
    if (!x || !y) s = out_of_memory("x and y");
    if (!s.code) s = tokens_make(x, r->B, &p.grid, r->C, &source, origin, sizeof origin);
    if (!s.code) s = problem_draw(&p, SEED, &parameters);
    if (!s.code && !*told) fprintf(stderr, "measure: tokens of %s\n", origin);
    if (!s.code) *told = true;

    /* Step 2: races. */
    for (int t = 0; t < r->thread.count && !s.code; t++) {
        double most = 0;
        for (int f = 0; f < r->form_count; f++) most = fmax(most, form_multiply_adds(r->forms[f], &p));
        struct race race = {
            .request = r, .problem = &p, .grid_word = grid_word, .threads = r->threads[t],
            .judge = {.x = x, .y = y, .original = y + outputs, .reference = y + 2 * outputs,
                      .inputs = problem_input_count(&p), .outputs = outputs, .width = r->C,
                      .terms = fmax(1, most / (double)outputs)},
            .kept = y + 3 * outputs, .progress = progress,
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
    static double rate[LIST][OPERATOR_FORMS];
    struct request r = {0};
    struct progress progress = {.shown = isatty(2), .start = omp_get_wtime()};
    bool told = false, disagreed = false;
    size_t needed = SIZE_MAX;
    status s;

    /* Step 1: understand all of the command before anything is measured. */
    if ((s = operator_named(&r.declaration, argv[0])).code) return s;
    if ((s = sort_words(&r, argv + 1)).code || (s = read_numbers(&r)).code || (s = choose_forms(&r)).code)
        return status_at(s, argv[0]);
    for (int g = 0; g < r.grid.count; g++) {
        struct problem p;
        size_t least;
        s = shape_problem(&p, &r, r.grid.word[g]);
        if (!s.code) s = least_bytes(&least, &r, &p);
        if (s.code) return status_at(s, argv[0]);
        if (least < needed) needed = least;
        progress.total += (double)p.grid.tokens * r.thread.count;
    }
    if ((s = bytes_fit(needed, r.max_memory)).code) return status_at(s, argv[0]);
    memory_set_limit(r.max_memory);     /* of the bytes that a file brings, too */

    /* Step 2: grid after grid. */
    r.table = !r.tsv && isatty(1);
    if (r.plugin) fprintf(stderr, "measure: on %s\n", r.plugin->name());
    print_heading(&r);
    for (int g = 0; g < r.grid.count && !s.code; g++)
        s = measure_grid(&r, r.grid.word[g], rate, &progress, &told, &disagreed);
    clear_progress(&progress);
    if (!s.code && disagreed) s = failure("forms disagree");
    return status_at(s, argv[0]);
}

int main(int argc, char **argv)
{
    struct words w;
    status s = words_take(&w, argc > 0 ? argc - 1 : 0, (const char *const *)argv + (argc > 0));
    if (!s.code && w.help) fputs(usage, stdout);
    else if (!s.code && w.version) print_version("measure");
    else if (!s.code) s = measure(w.word);
    if (!s.code && (fflush(stdout) || ferror(stdout))) s = failure("standard output: cannot be written");
    if (s.code) fprintf(stderr, "measure: %s\n", s.message);
    words_release(&w);
    return s.code;
}
