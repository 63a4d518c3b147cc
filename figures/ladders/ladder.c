/* ladder.c -- time of every step of the ladder, in one run
 *
 *     build/figures/ladders/ladder msa --channels C [--batch B] [--without NAME,...] [--threads T] [--repeats R]
 *         [--seconds S] [options of the operator]
 *
 * Prints one line for each step of the ladder: multiply-adds and bytes by formula (bytes without projections), and
 * median and quartiles of R runs (default 5), or of as many as S seconds (default 20) allow.  The last step runs with T
 * threads (default: all cores), the others with one.  Before them come the projections alone, after them the fast form
 * with one thread and with T.  The benchmark harness (harness.h) compares all but the projections with the first step;
 * a difference is an error. */

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include "../../reference/msa.h"
#include "../../reference/networks/operators.h"
#include "../../reference/runtime/heads.h"
#include "../../reference/cli/harness.h"
#include "../../reference/cli/settings.h"
#include "steps.h"

#define LINES 16
#define REPEATS_MAX 1000

struct line {
    struct contestant contestant;   /* first: a pointer to it is a pointer to the line */
    const char *idea;
    const struct form *form;
    int threads;
    struct traffic bytes;       /* 0 if there is no formula */
    struct plan plan;
    double seconds[REPEATS_MAX];
};
static_assert(offsetof(struct line, contestant) == 0, "first");

static void nothing(const struct head *head) { (void)head; }

static status prepare_nothing(struct plan *plan)
{
    heads_prepare(plan, (struct core_options){.core = nothing});
    return arena_status(&plan->arena);
}

static double projections(const void *params) { return heads_multiply_adds(params); }

static const struct form projections_alone = {
    .name = "projections", .state = sizeof(struct heads), .prepare = prepare_nothing, .load = heads_load,
    .run = heads_run, .multiply_adds = projections,
};

static status run_once(struct contestant *contestant, real *y, const real *x)
{
    struct plan *plan = &((struct line *)contestant)->plan;
    struct stopwatch started = stopwatch_start(plan->threads);
    status s = plan_run(plan, y, x);
    stopwatch_stop(&started, contestant);
    return s;
}

/* Appends a line.  The projections' y has no meaning. */
static struct line *add(struct line *lines, int *count, const char *idea, const struct form *form, int threads)
{
    struct line *line = &lines[(*count)++];
    *line = (struct line){.idea = idea, .form = form, .threads = threads};
    line->contestant = (struct contestant){
        .run = run_once, .seconds = line->seconds, .blind = form == &projections_alone,
    };
    snprintf(line->contestant.name, sizeof line->contestant.name, "%s", form->name);
    return line;
}

static int add_all(struct line *lines, const struct problem *p, int threads)
{
    const struct form *fast = operator_form(&msa, "fast");
    char params[PROBLEM_RESOLVED];
    int count = 0;
    bool known = !msa.resolve(params, p).code;
    add(lines, &count, "what all of them share", &projections_alone, 1);
    for (int r = 0; msa_steps[r].idea; r++) {
        const struct step *step = &msa_steps[r];
        struct line *line = add(lines, &count, step->idea, &step->form, step[1].idea ? 1 : threads);
        if (known) line->bytes = msa_traffic(params, r);
    }
    add(lines, &count, "the fast form", fast, 1);
    if (threads > 1) add(lines, &count, "the fast form", fast, threads);
    return count;
}

/* `faster` is the time of the step before, divided by that of this step, unless one of them was disturbed. */
static void print_all(const struct line *lines, int count, const struct problem *p)
{
    double before = 0;
    printf("#step\tidea\tthreads\trepeats\tmultiply_adds\tasked_bytes\tmoved_bytes\tmedian_seconds\tq1_seconds"
           "\tq3_seconds\tfaster\tdisturbed\n");
    for (const struct line *l = lines; l < lines + count; l++) {
        char bytes[80] = "–\t–", faster[40] = "–";
        struct quartiles q = quartiles(&l->contestant);
        if (l->bytes.asked > 0) {
            snprintf(bytes, sizeof bytes, "%.0f\t%.0f", l->bytes.asked, l->bytes.moved);
            if (before / q.median > 0) snprintf(faster, sizeof faster, "%.2f", before / q.median);
            before = q.median;
        }
        printf("%s\t%s\t%d\t%d\t%.0f\t%s\t%.5g\t%.5g\t%.5g\t%s\t%.2g\n", l->form->name, l->idea, l->threads,
               l->contestant.count, form_multiply_adds(l->form, p), bytes, q.median, q.low, q.high, faster,
               (double)l->contestant.disturbed_runs / l->contestant.count);
    }
}

static status race(struct line *lines, int count, const struct sample *sample, const struct limits *limit)
{
    const struct problem *p = &sample->problem;
    size_t outputs = sample->outputs;
    struct contestant *all[LINES];
    struct harness harness = {
        .x = sample->x, .y = sample->y, .original = sample->y + outputs, .reference = sample->y + 2 * outputs,
        .inputs = sample->inputs, .outputs = outputs, .width = problem_size(p, "C"),
        .terms = fmax(1, form_multiply_adds(lines[1].form, p) / (double)outputs),
    };
    status s = status_ok();
    for (int n = 0; n < count && !s.code; n++) {
        s = plan_create(&lines[n].plan, p, lines[n].form, lines[n].threads);
        all[n] = &lines[n].contestant;
        all[n]->kept = sample->y + (3 + (size_t)n) * outputs;
    }
    if (!s.code) s = harness_race(&harness, all, count, limit);
    if (!s.code) print_all(lines, count, p);
    for (int n = 0; n < count; n++) plan_release(&lines[n].plan);
    return s;
}

static status measure(const char *const *argv)
{
    enum { THREADS, REPEATS, SECONDS };
    static struct line lines[LINES];
    struct setting own[] = {
        [THREADS] = {.name = "--threads", .most = 1}, [REPEATS] = {.name = "--repeats", .most = 1},
        [SECONDS] = {.name = "--seconds", .most = 1}, {.name = NULL},
    }, other;
    struct problem_sizes o;
    struct sample sample = {.x = NULL};
    size_t threads = 0, repeats = 5;
    struct limits limit = {.least = 1, .seconds = 20};
    status s = settings_take(&o, &other, own, argv + 1);
    if (!s.code) s = setting_whole(&threads, &own[THREADS], 0, PLAN_THREADS);
    if (!s.code) s = setting_whole(&repeats, &own[REPEATS], 1, REPEATS_MAX);
    if (!s.code) s = setting_seconds(&limit.seconds, &own[SECONDS]);
    if (!s.code) s = sample_create(&sample, &msa, &o, 3 + LINES);
    if (!s.code) {
        printf("# ladder:");
        for (; *argv; argv++) printf(" %s", *argv);
        printf("\n");
        if (!threads) threads = (size_t)omp_get_num_procs();
        limit.most = (int)repeats;
        s = race(lines, add_all(lines, &sample.problem, (int)threads), &sample, &limit);
    }
    sample_release(&sample);
    return s;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    status s = !strcmp(name, "msa") ? measure((const char *const *)argv + 1) :
                                      bad_input("found '%.40s', expected msa", name);
    if (s.code) fprintf(stderr, "ladder: %s\n", s.message);
    return s.code;
}
