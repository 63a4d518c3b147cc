/* exact.cc -- random problems over the field; see exact.h */

#include "exact.h"
#include "../support/support.h"
#include "../support/fixture.h"

int exact_draws(void)
{
    const char *asked = getenv("DRAWS");
    return asked ? atoi(asked) : 4;
}

void exact_begin(void)
{
    exp2(real(1));
    circle_cosine(1, 1);
}

real *exact_numbers(uint64_t stream, size_t n)
{
    real *a = zeros(n);
    for (size_t i = 0; i < n; i++) a[i] = field_number(stream, i);
    return a;
}

real exact_dyadic(uint64_t stream, uint64_t n)
{
    return real((double)(field_bits(stream, n) % 65) / 16 - 2);
}

real *exact_draw(struct problem *p)
{
    draw_parameters(p, 1);
    return exact_numbers(0, problem_input_count(p));
}

real *exact_run(const struct problem *p, const struct form *form, int threads, const real *x)
{
    struct plan plan;
    real *y = exact_numbers(99, problem_output_count(p));      /* no form may read this */
    succeeds(plan_create(&plan, p, form, threads));
    succeeds(plan_run(&plan, y, x));
    plan_release(&plan);
    return y;
}

void degrees_begin(void) { highest_argument = highest_exponent = 0; }

void degrees_record(struct degrees *seen, const real *a, const real *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (degree(a[i]) + degree(b[i]) > seen->y) seen->y = degree(a[i]) + degree(b[i]);
    if (2 * highest_argument > seen->argument) seen->argument = 2 * highest_argument;
    if (2 * highest_exponent > seen->exponent) seen->exponent = 2 * highest_exponent;
}

void degrees_print(const struct degrees *seen, clock_t start)
{
    double each = (double)(seen->y + seen->argument) / (double)P + (double)seen->exponent / (double)Q;
    printf("; degrees %lu, of arguments %lu, of exponents %lu: doubt 2^%.0f; %.2f s\n", (unsigned long)seen->y,
           (unsigned long)seen->argument, (unsigned long)seen->exponent, exact_draws() * log2(each),
           (double)(clock() - start) / CLOCKS_PER_SEC);
    fflush(stdout);
}
