/* cuda.c -- what each rung of an operator's ladder asks of the memory
 *
 *     build/figures/cuda OPERATOR --channels C [--batch B] [--sizes LETTER=n,...] [--without NAME,...]
 *         [--from RUNG] [options of the operator]
 *
 * Every rung of fast/cuda runs once on the emulator, on tokens and parameters drawn at
 * random, and what its kernels asked for is added up (fast/cuda/counts.h).  The library's
 * products and transforms, which are no kernels of ours, are not counted.
 *
 * A comment with the words, then one line for each rung, or from one on: the first of them
 * is slow where the layer is not small.  Counts are exact and the same on
 * every machine; nothing here is measured. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../fast/cuda/counts.h"
#include "../reference/forms.h"
#include "../reference/lookup.h"
#include "../reference/memory.h"
#include "../reference/outline.h"
#include "../reference/random.h"

#define WORDS 32

/* Words of the command line: those that shape the problem, and all others, the operator's. */
static status outline_words(struct outline *o, const char **word, int *from, const char *const *argv)
{
    const char *batch = "1", *channels = NULL, *first = "1";
    const struct { const char *option, **value; } own[] = {
        {"--batch", &batch}, {"--channels", &channels}, {"--sizes", &o->sizes}, {"--without", &o->without},
        {"--from", &first},
    };
    o->word = word;
    for (; *argv; argv++) {
        size_t n = 0;
        while (n < sizeof own / sizeof *own && strcmp(*argv, own[n].option)) n++;
        if (n == sizeof own / sizeof *own) {
            if (o->words == WORDS) return bad_input("more than %d words", WORDS);
            word[o->words++] = *argv;
            continue;
        }
        if (!word_is_value(argv[1])) return bad_input("option %s: found no value, expected one", *argv);
        *own[n].value = *++argv;
    }
    o->batch = strtoul(batch, NULL, 10);
    o->channels = channels ? strtoul(channels, NULL, 10) : 0;
    *from = (int)strtol(first, NULL, 10);
    if (!o->batch || !o->channels || *from < 1)
        return bad_input("found --batch %s, --channels %s, --from %s, expected whole numbers from 1 on", batch,
                         channels ? channels : "not at all", first);
    return status_ok();
}

/* All launches of one run, added up. */
static status count(struct launch_counts *all, const struct problem *p, const struct form *rung, real *y,
                    const real *x)
{
    struct plan plan;
    status s = plan_create(&plan, p, rung, 1);
    if (s.code) return s;
    emulator_watch(true, 1);
    s = plan_run(&plan, y, x);
    plan_release(&plan);
    *all = (struct launch_counts){.kernel = rung->name};
    for (size_t l = 0; l < emulator_launches(); l++) {
        const struct launch_counts *one = emulator_launch(l);
        all->requests += one->requests;
        all->sectors += one->sectors;
        all->asked += one->asked;
        all->touched += one->touched;
        all->shared_requests += one->shared_requests;
        all->wavefronts += one->wavefronts;
        all->barriers += one->barriers;
        all->exchanges += one->exchanges;
        all->products += one->products;
    }
    return s;
}

static status count_rungs(const struct problem *p, int from, real *y, const real *x)
{
    const struct form *rung;
    struct launch_counts c;
    printf("#operator\trung\tlaunches\trequests\tsectors\tasked\ttouched\tshared\twavefronts\tbarriers\texchanges"
           "\tproducts\n");
    for (int r = from - 1; (rung = operator_rung_at(p->declaration, r)); r++) {
        status s = count(&c, p, rung, y, x);
        if (s.code) return s;
        printf("%s\t%s\t%zu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n", p->declaration->name, rung->name,
               emulator_launches(), c.requests, c.sectors, c.asked, c.touched, c.shared_requests, c.wavefronts,
               c.barriers, c.exchanges, c.products);
        fflush(stdout);
    }
    return status_ok();
}

/* The problem, with parameters and tokens drawn at random, and y to be written. */
static status take(struct problem *p, const struct declaration *d, const struct outline *o, real **parameters,
                   real **x, real **y)
{
    status s = outline_problem(p, d, o);
    if (!s.code) s = problem_draw(p, 1, parameters);
    if (s.code) return s;
    *x = memory_reals(problem_input_count(p), 1, 1, 1);
    *y = memory_reals(problem_output_count(p), 1, 1, 1);
    if (!*x || !*y) return out_of_memory("x and y");
    random_fill_normal(*x, problem_input_count(p), 2, 0, 1);
    return s;
}

int main(int argc, char **argv)
{
    const char *word[WORDS];
    const struct declaration *d;
    struct outline o = {0};
    struct problem p;
    real *parameters = NULL, *x = NULL, *y = NULL;
    int from = 1;

    status s = operator_named(&d, argc > 1 ? argv[1] : "");
    if (!s.code) s = outline_words(&o, word, &from, (const char *const *)argv + 2);
    if (!s.code) s = take(&p, d, &o, &parameters, &x, &y);
    if (!s.code) {
        printf("# counted:");
        for (int w = 1; w < argc; w++) printf(" %s", argv[w]);
        printf("\n");
        s = count_rungs(&p, from, y, x);
    }
    memory_free(parameters);
    memory_free(x);
    memory_free(y);
    if (s.code) fprintf(stderr, "cuda: %s\n", s.message);
    return s.code;
}
