/* cuda.c -- the memory requests of each CUDA version of an operator
 *
 *     build/figures/bench/cuda OPERATOR --channels C [--batch B] [--sizes LETTER=n,...] [--without NAME,...]
 *         [--from VERSION] [options of the operator]
 *
 * Runs every version of the operator once on the emulator, on random tokens and parameters, and adds up the requests
 * of its kernels (fast/cuda/counts.h).  The products and transforms of NVIDIA's libraries are not counted.
 *
 * Prints a comment with the arguments, then one line for each version.  --from 2 skips the first version, which is slow
 * unless the layer is small.  Counts are exact and the same on every machine; no time is measured. */

#include <stdio.h>
#include "../../fast/cuda/counts.h"
#include "../../reference/networks/operators.h"
#include "../../reference/cli/settings.h"
#include "../../fast/cuda/versions.h"

/* The counts of one run, summed over all launches. */
static status count(struct launch_counts *all, const struct sample *sample, const struct form *version)
{
    struct plan plan;
    status s = plan_create(&plan, &sample->problem, version, 1);
    if (s.code) return s;
    emulator_watch(true, 1);
    s = plan_run(&plan, sample->y, sample->x);
    plan_release(&plan);
    *all = (struct launch_counts){.kernel = version->name};
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

static status count_versions(const struct sample *sample, int first)
{
    const struct declaration *d = sample->problem.declaration;
    const struct form *version;
    struct launch_counts c;
    printf("#operator\tversion\tlaunches\trequests\tsectors\tasked\ttouched\tshared\twavefronts\tbarriers\texchanges"
           "\tproducts\n");
    for (int at = first - 1; (version = operator_version_at(d, at)); at++) {
        status s = count(&c, sample, version);
        if (s.code) return s;
        printf("%s\t%s\t%zu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n", d->name, version->name,
               emulator_launches(), c.requests, c.sectors, c.asked, c.touched, c.shared_requests, c.wavefronts,
               c.barriers, c.exchanges, c.products);
        fflush(stdout);
    }
    return status_ok();
}

int main(int argc, char **argv)
{
    struct setting own[] = {{.name = "--from", .most = 1}, {.name = NULL}}, other;
    const struct declaration *d;
    struct problem_sizes o;
    struct sample sample = {.x = NULL};
    size_t first = 1;

    status s = operator_named(&d, argc > 1 ? argv[1] : "");
    if (!s.code) s = settings_take(&o, &other, own, (const char *const *)argv + 2);
    if (!s.code) s = setting_whole(&first, own, 1, 100);
    if (!s.code) s = sample_create(&sample, d, &o, 1);
    if (!s.code) {
        printf("# counted:");
        for (int w = 1; w < argc; w++) printf(" %s", argv[w]);
        printf("\n");
        s = count_versions(&sample, (int)first);
    }
    sample_release(&sample);
    if (s.code) fprintf(stderr, "cuda: %s\n", s.message);
    return s.code;
}
