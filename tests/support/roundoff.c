/* roundoff.c -- two bounds on a rounding error; see roundoff.h */

#include "roundoff.h"
#include "../../reference/runtime/random.h"

double mean_error(const real *a, const double *b, size_t n)
{
    double apart = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        apart += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        size += b[i] * b[i];
    }
    return apart == 0 ? 0 : sqrt(apart / size);
}

static double *doubles(const real *a, size_t n)
{
    double *wide = keep(n, sizeof *wide);
    for (size_t i = 0; i < n; i++) wide[i] = (double)a[i];
    return wide;
}

double mean_difference(const real *a, const real *b, size_t n) { return mean_error(a, doubles(b, n), n); }

/* Prints both ratios; NaN fails. */
static void hold(const char *what, double error, double safe, double mean, double statistical)
{
    printf("    %-52s error %8.1e of %8.1e allowed", what, error, safe);
    if (safe > 0) printf(" (%.0f %%)", 100 * error / safe);
    printf(", root mean square %.2g u of %.3g u", mean / UNIT_ROUNDOFF, statistical / UNIT_ROUNDOFF);
    if (statistical > 0) printf(" (%.0f %%)", 100 * mean / statistical);
    printf("\n");
    fflush(stdout);
    ck_assert_msg(error <= safe, "%s: error %.3e, tolerance %.3e", what, error, safe);
    ck_assert_msg(mean <= statistical, "%s: root mean square of the error %.3g u, expected at most %.3g u", what,
                  mean / UNIT_ROUNDOFF, statistical / UNIT_ROUNDOFF);
}

void alike(const char *what, const real *a, const real *b, size_t n, double safe, double statistical)
{
    hold(what, relative_difference(a, b, n), safe, mean_difference(a, b, n), statistical);
}

double *reference(const struct problem *p, const real *x)
{
#ifdef TWICETOLD_DOUBLE
    return doubles(run_form(p, operator_form(p->declaration, "naive"), 1, x), problem_output_count(p));
#else
    double *y = keep(problem_output_count(p), sizeof *y);
    ck_assert_msg(naive_in_double_run(y, p, x), "%s has no naive form in double", p->declaration->name);
    return y;
#endif
}

/* A copy of a whose numbers are multiplied by 1 + e, e uniform in [-d, d]. */
static real *moved(const real *a, size_t n, double d, uint64_t seed, uint64_t stream)
{
    real *b = copy(a, n);
    for (size_t i = 0; i < n; i++) b[i] *= (real)(1 + d * (2 * random_uniform(seed, stream, i) - 1));
    return b;
}

double sensitivity(const struct problem *p, const real *x, const double *y)
{
    size_t outputs = problem_output_count(p), draws = outputs < 256 ? 4 : 1;    /* many entries make up for draws */
    double apart = 0, size = 0, d = ldexp(1, sizeof(real) == 4 ? -16 : -30);
    for (uint64_t draw = 0; draw < draws; draw++) {
        struct problem other = *p;
        for (size_t r = 1; r < PROBLEM_TENSORS; r++)
            if (p->tensor[r].data) other.tensor[r].data = moved(p->tensor[r].data, p->tensor[r].count, d, 20 + draw, r);
        double *z = reference(&other, moved(x, problem_input_count(p), d, 20 + draw, 0));
        for (size_t i = 0; i < outputs; i++) apart += (z[i] - y[i]) * (z[i] - y[i]);
    }
    for (size_t i = 0; i < outputs; i++) size += y[i] * y[i];
    return apart == 0 ? 1 : fmax(1, sqrt(apart / (double)draws / size) / d);
}

/* T: multiply-adds per entry of y. */
static double terms(const struct problem *p, const struct form *form)
{
    return form ? fmax(1, form_multiply_adds(form, p) / (double)problem_output_count(p)) : 0;
}

double network_sensitivity(struct network *n, const real *x, const real *y)
{
    const double d = ldexp(1, sizeof(real) == 4 ? -9 : -22);
    size_t outputs = n->batch * n->classes;
    char path[NETWORK_PATH];
    struct tensor t;
    real **kept = keep(4096, sizeof *kept), *z = zeros(outputs);
    for (size_t w = 0; network_weight(&t, path, n, w); w++) {
        kept[w] = copy(t.data, t.count);
        memcpy(t.data, moved(t.data, t.count, d, 1, w + 1), t.count * sizeof *t.data);
    }
    succeeds(network_load(n));
    succeeds(network_run(n, z, moved(x, problem_input_count(&n->part[0].problem), d, 1, 0), NULL));
    for (size_t w = 0; network_weight(&t, path, n, w); w++) memcpy(t.data, kept[w], t.count * sizeof *t.data);
    succeeds(network_load(n));
    return fmax(1, mean_difference(z, y, outputs) / d);
}

double network_terms(const struct network *n)
{
    double most = 1;
    for (size_t p = 0; p < n->parts; p++) most = fmax(most, terms(&n->part[p].problem, n->part[p].plan.form));
    return most;
}

double chance(size_t entries) { return 2 + 2 / sqrt((double)entries); }

double statistical_bound(const struct problem *p, double kappa, const struct form *form, const struct form *other)
{
    double n = (terms(p, form) + terms(p, other)) / 2;
    return chance(problem_output_count(p)) * kappa * sqrt(n) * UNIT_ROUNDOFF;
}

void form_holds(struct fixture *t, const char *what, const struct form *form, int threads, double safe)
{
    const struct problem *p = &t->problem;
    if (!t->y) t->y = fixture_run(t, "naive", 1);
    if (t->exact_for != t->y) {
        t->exact = reference(p, t->x);
        t->sensitivity = sensitivity(p, t->x, t->exact);
        t->exact_for = t->y;
    }
    real *y = run_form(p, form, threads, t->x);
    double few = t->sharp ? chance(1) / chance(t->outputs) : 1;
    hold(what, relative_difference(y, t->y, t->outputs), safe, mean_error(y, t->exact, t->outputs),
         few * statistical_bound(p, t->sensitivity, form,
                                 sizeof(real) == 8 ? operator_form(p->declaration, "naive") : NULL));
}
