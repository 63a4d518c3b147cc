/* cuda.c -- the memory requests of each CUDA version of an operator
 *
 *     build/figures/cuda OPERATOR --channels C [--batch B] [--sizes LETTER=n,...] [--without NAME,...]
 *         [--from VERSION] [options of the operator]
 *
 * Every version in fast/cuda runs once on the emulator, on random tokens and parameters, and the requests of its
 * kernels are added up (fast/cuda/counts.h).  The products and transforms of NVIDIA's libraries are not counted.
 *
 * Prints a comment with the words, then one line for each version.  --from 2 leaves out the first one, which is slow
 * unless the layer is small.  Counts are exact and the same on every machine; nothing is measured. */

#include <stdio.h>
#include "../fast/cuda/counts.h"
#include "../reference/forms.h"
#include "../reference/memory.h"
#include "../reference/random.h"
#include "settings.h"

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

/* The problem with random parameters and tokens, and memory for y. */
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
    struct setting own[] = {{.name = "--from", .most = 1}, {.name = NULL}}, other;
    const struct declaration *d;
    struct outline o;
    struct problem p;
    real *parameters = NULL, *x = NULL, *y = NULL;
    size_t first = 1;

    status s = operator_named(&d, argc > 1 ? argv[1] : "");
    if (!s.code) s = settings_take(&o, &other, own, (const char *const *)argv + 2);
    if (!s.code) s = setting_whole(&first, own, 1, 100);
    if (!s.code) s = take(&p, d, &o, &parameters, &x, &y);
    if (!s.code) {
        printf("# counted:");
        for (int w = 1; w < argc; w++) printf(" %s", argv[w]);
        printf("\n");
        s = count_rungs(&p, (int)first, y, x);
    }
    memory_free(parameters);
    memory_free(x);
    memory_free(y);
    if (s.code) fprintf(stderr, "cuda: %s\n", s.message);
    return s.code;
}
