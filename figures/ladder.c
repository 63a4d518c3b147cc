/* ladder.c -- seconds of every rung of a ladder, in one run
 *
 *     build/figures/ladder msa|lisa --channels C [--batch B] [--sizes LETTER=n,...] [--without NAME,...]
 *         [--threads T] [--repeats R] [--seconds S] [options of the operator]
 *
 * One line for each rung of figures/rungs: multiply-adds and bytes by formula, projections
 * left out of the bytes, and the median and quartiles of R runs (5), or of as many as S
 * seconds (20) allow a rung.  All stand prepared side by side and run in turn, so that a slow
 * moment of the machine strikes all.  The last rung runs with T threads (all that there
 * are), the others with one.  Two lines frame them: what the projections take alone, which
 * are the same in all, and the fast form with one thread and with T.
 *
 * Before the clock matters each has run once, and what it computed was compared with the
 * first rung; what it makes of other tokens in the end is compared again.  One that disagrees
 * ends all. */

#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../reference/forms.h"
#include "../reference/heads.h"
#include "../reference/memory.h"
#include "../reference/outline.h"
#include "../reference/random.h"
#include "quantile.h"
#include "rungs/rungs.h"

#define WORDS 32
#define CLIMBERS 16
#define REPEATS_MAX 1000
#define SHORT_RUN 0.05          /* seconds; shorter runs are warmed up before every timing */

struct request {
    struct outline outline;
    const char *word[WORDS];
    int threads, repeats;
    double seconds;
};

/* One rung, or what stands beside the ladder. */
struct climber {
    const char *name, *idea;
    const struct form *form;
    int threads;
    struct traffic bytes;       /* 0 where no formula is */
    struct plan plan;
    double seconds[REPEATS_MAX], spent;
    int runs;
};

/* Words of the command line: those that shape the problem, those of this program, and all others. */
static status request_words(struct request *r, const char *const *argv)
{
    const char *batch = "1", *channels = "0", *threads = "0", *repeats = "5", *seconds = "20";
    const struct { const char *option, **value; } own[] = {
        {"--batch", &batch}, {"--channels", &channels}, {"--sizes", &r->outline.sizes},
        {"--without", &r->outline.without}, {"--threads", &threads}, {"--repeats", &repeats}, {"--seconds", &seconds},
    };
    r->outline.word = r->word;
    for (; *argv; argv++) {
        size_t n = 0;
        while (n < sizeof own / sizeof *own && strcmp(*argv, own[n].option)) n++;
        if (n == sizeof own / sizeof *own) {
            if (r->outline.words == WORDS) return bad_input("more than %d words", WORDS);
            r->word[r->outline.words++] = *argv;
            continue;
        }
        if (!word_is_value(argv[1])) return bad_input("option %s: found no value, expected one", *argv);
        *own[n].value = *++argv;
    }
    r->outline.batch = strtoul(batch, NULL, 10);
    r->outline.channels = strtoul(channels, NULL, 10);
    r->threads = (int)strtol(threads, NULL, 10);
    if (r->threads == 0) r->threads = omp_get_num_procs();
    r->repeats = (int)strtol(repeats, NULL, 10);
    r->seconds = strtod(seconds, NULL);
    if (!r->outline.batch || !r->outline.channels || r->threads < 1 || r->repeats < 1 || r->repeats > REPEATS_MAX)
        return bad_input("found --batch %s, --channels %s, --threads %s, --repeats %s, expected whole numbers from 1 "
                         "on, repeats to %d", batch, channels, threads, repeats, REPEATS_MAX);
    return status_ok();
}

/* ---- the projections alone ---------------------------------------------------------- */

static void nothing(const struct head *one) { (void)one; }

static status prepare_nothing(struct plan *plan)
{
    heads_prepare(plan, (struct hearts){.heart = nothing});
    return room_status(&plan->room);
}

static double projections(const void *of) { return heads_multiply_adds(of); }

static const struct form projections_alone = {
    "projections", sizeof(struct heads), prepare_nothing, heads_load, heads_run, NULL, projections,
};

/* ---- the race ---------------------------------------------------------------------- */

/* Whether y is what the first rung computed, within what measure allows two forms. */
static status agrees(const struct climber *c, const struct problem *p, const struct form *first, const real *y,
                     const real *reference)
{
    size_t outputs = problem_output_count(p);
    double square = 0, difference = 0;
    for (size_t i = 0; i < outputs; i++) {
        double apart = (double)y[i] - (double)reference[i];
        square += (double)reference[i] * (double)reference[i];
        difference += apart * apart;
    }
    double tolerance = 32 * sqrt(fmax(1, form_multiply_adds(first, p) / (double)outputs)) * (double)REAL_EPSILON / 2;
    if (isfinite(square) && sqrt(difference) <= tolerance * sqrt(square)) return status_ok();
    return failure("%s differs from the first rung by %.2g of its root mean square, allowed %.2g", c->name,
                   sqrt(difference / square), tolerance);
}

static status run_once(struct climber *c, real *y, const real *x, double *seconds)
{
    double start = omp_get_wtime();
    status s = plan_run(&c->plan, y, x);
    *seconds = omp_get_wtime() - start;
    return s;
}

/* y of the next run is what that run writes: until then it is NaN, which agrees with nothing. */
static void mark(real *y, const struct problem *p)
{
    size_t outputs = problem_output_count(p);
    for (size_t i = 0; i < outputs; i++) y[i] = (real)NAN;
}

/* One run of each that is a rung or a form, and its y. */
static status compare_all(struct climber *c, int climbers, const struct problem *p, real *y, real *reference,
                          const real *x)
{
    const struct form *first = NULL;
    status s = status_ok();
    for (int n = 0; n < climbers && !s.code; n++) {
        double seconds;
        if (c[n].form == &projections_alone) continue;
        mark(first ? y : reference, p);
        s = run_once(&c[n], first ? y : reference, x, &seconds);
        if (!first) first = c[n].form;
        else if (!s.code) s = agrees(&c[n], p, first, y, reference);
    }
    return s;
}

/* Timed runs, each of which agrees with the first rung, too: that is who climbs behind the projections. */
static status time_all(struct climber *c, int climbers, const struct problem *p, const struct request *r, real *y,
                       const real *reference, const real *x)
{
    for (int round = 0; round < r->repeats; round++)
        for (int n = 0; n < climbers; n++) {
            double last = c[n].runs ? c[n].seconds[c[n].runs - 1] : 0, seconds;
            if (c[n].spent + last > r->seconds) continue;
            status s = last < SHORT_RUN ? run_once(&c[n], y, x, &seconds) : status_ok();
            mark(y, p);
            if (!s.code) s = run_once(&c[n], y, x, &seconds);
            if (!s.code && c[n].form != &projections_alone) s = agrees(&c[n], p, c[1].form, y, reference);
            if (s.code) return s;
            c[n].seconds[c[n].runs++] = seconds;
            c[n].spent += seconds;
        }
    return status_ok();
}

/* faster: than the line above, among rungs. */
static void print_all(struct climber *c, int climbers, const struct problem *p)
{
    double before = 0;
    printf("#rung\tidea\tthreads\trepeats\tmultiply_adds\tasked_bytes\tmoved_bytes\tmedian_seconds\tq1_seconds"
           "\tq3_seconds\tfaster\n");
    for (int n = 0; n < climbers; n++) {
        char bytes[80] = "–\t–", faster[40] = "–";
        quantile_sort(c[n].seconds, (size_t)c[n].runs);
        double median = quantile(c[n].seconds, (size_t)c[n].runs, 0.5);
        if (c[n].bytes.asked > 0) {
            snprintf(bytes, sizeof bytes, "%.0f\t%.0f", c[n].bytes.asked, c[n].bytes.moved);
            if (before > 0) snprintf(faster, sizeof faster, "%.2f", before / median);
            before = median;
        }
        printf("%s\t%s\t%d\t%d\t%.0f\t%s\t%.5g\t%.5g\t%.5g\t%s\n", c[n].name, c[n].idea, c[n].threads, c[n].runs,
               form_multiply_adds(c[n].form, p), bytes, median, quantile(c[n].seconds, (size_t)c[n].runs, 0.25),
               quantile(c[n].seconds, (size_t)c[n].runs, 0.75), faster);
    }
}

/* ---- all ------------------------------------------------------------------------------ */

/* Those that run, in the order of the table. */
static int enter(struct climber *c, const struct ladder *ladder, const struct problem *p, int threads)
{
    const struct form *fast = operator_form(ladder->of, "fast");
    char of[PROBLEM_RESOLVED];
    int n = 0;
    bool known = !ladder->of->resolve(of, p).code;
    c[n++] = (struct climber){.name = "projections", .idea = "what all of them share", .form = &projections_alone,
                              .threads = 1};
    for (int r = 0; ladder->rung[r].idea; r++)
        c[n++] = (struct climber){
            .name = ladder->rung[r].form.name, .idea = ladder->rung[r].idea, .form = &ladder->rung[r].form,
            .threads = ladder->rung[r + 1].idea ? 1 : threads,
            .bytes = known ? ladder->traffic(of, r) : (struct traffic){0, 0},
        };
    c[n++] = (struct climber){.name = "fast", .idea = "the fast form", .form = fast, .threads = 1};
    if (threads > 1)
        c[n++] = (struct climber){.name = "fast", .idea = "the fast form", .form = fast, .threads = threads};
    return n;
}

static status climb(struct climber *c, int climbers, const struct problem *p, const struct request *r)
{
    size_t outputs = problem_output_count(p);
    real *x = memory_reals(problem_input_count(p), 1, 1, 1), *y = memory_reals(outputs, 2, 1, 1);
    status s = x && y ? status_ok() : out_of_memory("x and y");
    if (!s.code) random_fill_normal(x, problem_input_count(p), 2, 0, 1);
    for (int n = 0; n < climbers && !s.code; n++) s = plan_create(&c[n].plan, p, c[n].form, c[n].threads);
    if (!s.code) s = compare_all(c, climbers, p, y, y + outputs, x);
    if (!s.code) s = time_all(c, climbers, p, r, y, y + outputs, x);
    if (!s.code) random_fill_normal(x, problem_input_count(p), 3, 0, 1);
    if (!s.code) s = compare_all(c, climbers, p, y, y + outputs, x);
    if (!s.code) print_all(c, climbers, p);
    for (int n = 0; n < climbers; n++) plan_release(&c[n].plan);
    memory_free(x);
    memory_free(y);
    return s;
}

int main(int argc, char **argv)
{
    static struct climber climber[CLIMBERS];
    const struct ladder *const ladders[] = {&msa_ladder, &lisa_ladder}, *ladder = NULL;
    struct request r = {.threads = 1};
    struct problem p;
    real *parameters = NULL;

    for (int l = 0; l < 2 && argc > 1; l++)
        if (!strcmp(argv[1], ladders[l]->of->name)) ladder = ladders[l];
    status s = ladder ? request_words(&r, (const char *const *)argv + 2) :
                        bad_input("found '%.40s', expected msa or lisa", argc > 1 ? argv[1] : "");
    if (ladder && !s.code) s = outline_problem(&p, ladder->of, &r.outline);
    if (!s.code) s = problem_draw(&p, 1, &parameters);
    if (!s.code) {
        printf("# ladder:");
        for (int w = 1; w < argc; w++) printf(" %s", argv[w]);
        printf("\n");
        s = climb(climber, enter(climber, ladder, &p, r.threads), &p, &r);
    }
    memory_free(parameters);
    if (s.code) fprintf(stderr, "ladder: %s\n", s.message);
    return s.code;
}
