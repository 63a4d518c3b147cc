/* test_lisa.c -- LiSA's forms are one function
 *
 * Naive against fast, against whole numbers, against PyTorch; in batches, by
 * threads, without memory, with NaN.  What the function itself promises is
 * proved in test_lisa_theorems.c. */

#include <pthread.h>
#include "lisa_case.h"
#include "../reference/safetensors.h"

static const char *const which[] = {"4", "5", "6", "7", "10"};
#define EQUATIONS ((int)COUNT(which))

static int forms(void)
{
    int count = 0;
    while (count < OPERATOR_FORMS && lisa.forms[count]) count++;
    return count;
}

static size_t tokens_in(const struct problem *p) { return problem_size(p, "B") * problem_size(p, "N"); }

/* Whether two arrays are the same to the bit, NaN included. */
static bool same_bits(const real *a, const real *b, size_t n) { return memcmp(a, b, n * sizeof *a) == 0; }

/* A copy of one of the parameters, NULL where it is absent. */
static real *parameter(const struct problem *p, const char *name)
{
    size_t count = 1;
    for (int axis = 0; problem_axis(p, name, axis); axis++) count *= problem_axis(p, name, axis);
    return problem_tensor(p, name) ? copy(problem_tensor(p, name), count) : NULL;
}

/* ---- equality -------------------------------------------------------- */

/* Grids one wide, prime, odd, even, not square, of 1, 2 and 3 axes; single
 * latents and channels, and numbers of them that fill no SIMD vector. */
static const struct sizes size[] = {
    {"1", 1, 1, 1, 1, true},       {"1", 3, 2, 2, 3, false},     {"7", 3, 1, 2, 1, true},
    {"1x1", 3, 1, 3, 1, false},    {"1x5", 3, 2, 2, 1, false},   {"5x1", 16, 1, 1, 1, true},
    {"13x7", 3, 1, 3, 1, false},   {"8x8", 16, 2, 16, 3, false}, {"14x14", 3, 2, 2, 1, true},
    {"5x12", 17, 1, 3, 1, false},  {"2x3x4", 3, 3, 2, 3, false}, {"3x5x7", 1, 3, 1, 1, true},
    {"64", 17, 1, 3, 1, false},    {"2", 1, 5, 16, 2, true},     {"31", 4, 1, 2, 1, false},
    {"4x4x4", 16, 1, 16, 1, true}, {"6x10", 8, 4, 4, 2, false},  {"11x11", 5, 1, 7, 1, true},
};

/* Claim      Every form computes the function that the naive form computes, on
 *            any grid, with any number of channels, heads, latents, images and
 *            threads.
 * Paper      LiSA, Eq. 4-7 and 10.   Chapter 1, "The fast form".
 * Measure    The largest |form - naive| over y.
 * Tolerance  lisa_case.h, derived there from the number of roundings on the
 *            way and the size of y; q, k and v are common to both forms.
 * Would it fail?  See every_tensor_counts. */
START_TEST(forms_are_one_function)
{
    const struct sizes *z = &size[_i / EQUATIONS];
    struct problem p = drawn_problem(z, which[_i % EQUATIONS]);
    real *x = normal(1, problem_input_count(&p)), *naive = run_form(&p, &lisa_naive, 1, x);

    ck_assert(largest(naive, problem_input_count(&p)) > 0);
    for (int f = 0; f < forms(); f++)
        for (int threads = 1; threads <= 2; threads++) {
            char what[80];
            snprintf(what, sizeof what, "Eq. %s on %s, %s, %d thread%s", which[_i % EQUATIONS], z->grid,
                     lisa.forms[f]->name, threads, threads == 1 ? "" : "s");
            real *y = run_form(&p, lisa.forms[f], threads, x);
            within(what, largest_difference(y, naive, problem_input_count(&p)), tolerance(&p, x));
        }
}
END_TEST

/* Claim      The comparison above would notice one wrong entry, in whatever
 *            tensor.
 * Measure    As above, with the first entry of one tensor moved in the other
 *            form: by a hundredth in float, by a millionth in double.
 * Tolerance  The same, now to be exceeded. */
START_TEST(every_tensor_counts)
{
    static const struct sizes z = {"5x4", 3, 2, 2, 1, false};
    double step = sizeof(real) == sizeof(float) ? 1e-2 : 1e-6;

    struct problem p = drawn_problem(&z, which[_i]);
    real *x = normal(1, problem_input_count(&p)), *naive = run_form(&p, &lisa_naive, 1, x);
    double allowed = tolerance(&p, x);
    for (int f = 0; f < forms(); f++)
        for (size_t r = 0; r < PROBLEM_TENSORS; r++) {
            if (!p.tensor[r].data) continue;
            char what[80];
            snprintf(what, sizeof what, "Eq. %s, %s, %s[0] moved", which[_i], lisa.forms[f]->name,
                     lisa.tensors[r].name);
            real kept = p.tensor[r].data[0];
            p.tensor[r].data[0] += (real)step;
            real *y = run_form(&p, lisa.forms[f], 1, x);
            beyond(what, largest_difference(y, naive, problem_input_count(&p)), allowed);
            p.tensor[r].data[0] = kept;
        }
}
END_TEST

/* Claim      The naive form is its hearts: head a of image b is the heart run
 *            on its slices of the projection, written to its channels.
 * Measure    y of the form against hearts called here.
 * Tolerance  Zero: the same operations on the same numbers. */
START_TEST(naive_form_is_its_hearts)
{
    static const struct sizes z = {"3x4", 3, 2, 2, 2, true};
    struct problem p = drawn_problem(&z, which[_i]);
    size_t N = 12, c = 3, C = 6, tokens = tokens_in(&p);
    real *x = normal(1, problem_input_count(&p)), *y = run_form(&p, &lisa_naive, 2, x);
    real *qkv = zeros(tokens * 3 * C);
    linear_map(qkv, 3 * C, x, C, problem_tensor(&p, "w_qkv"), NULL, tokens, C, 3 * C);

    struct one_head o = {
        .g = p.grid, .N = N, .P = p.grid.offsets, .c = c, .D = 2, .e = parameter(&p, "e"),
        .ea = parameter(&p, "ea"), .eac = parameter(&p, "ea"), .eb = parameter(&p, "eb"),
        .wa = parameter(&p, "wa"), .wb = parameter(&p, "wb"),
        .Ba = parameter(&p, "ba"), .Bb = parameter(&p, "bb"),
    };
    for (size_t image = 0; image < 2; image++)
        for (size_t head = 0; head < 2; head++) {
            real *slice[3];
            for (size_t s = 0; s < 3; s++) {
                slice[s] = zeros(N * c);
                for (size_t n = 0; n < N; n++) {
                    memcpy(slice[s] + n * c, qkv + (image * N + n) * 3 * C + s * C + head * c, c * sizeof(real));
                    if (s < 2) l2_normalise(slice[s] + n * c, c);
                }
            }
            o.q = slice[0];
            o.k = slice[1];
            o.v = slice[2];
            real *heart = equations[_i].y(&o);
            for (size_t n = 0; n < N; n++)
                ck_assert(same_bits(y + (image * N + n) * C + head * c, heart + n * c, c));
        }
}
END_TEST

static long sign(real a) { return (a > 0) - (a < 0); }

/* Claim      With one channel to a head a unit vector is +1 or -1, and whole
 *            numbers come out whole: y of the naive form is the sum that the
 *            equation states, taken here once more in 64-bit integers.
 * Paper      LiSA, Eq. 4-7 and 10, biases once (Fig. 6 and 7).
 * Measure    y of every form against the integers; B 2, h 3, D 2 on 3 x 4.
 * Tolerance  Naive: zero.  Others: below 1/2, so that rounding gives the
 *            integers back. */
START_TEST(whole_numbers_come_out_whole)
{
    static const struct sizes z = {"3x4", 1, 3, 2, 2, true};
    struct problem p = drawn_problem(&z, which[_i]);
    size_t N = 12, C = 3, D = 2, count = problem_input_count(&p);
    for (size_t r = 1; r < PROBLEM_TENSORS; r++)
        for (size_t i = 0; p.tensor[r].data && i < p.tensor[r].count; i++)
            p.tensor[r].data[i] = (real)((long)(5 * i + 3 * r) % 7 - 3);
    real *x = integers(1, count, 2), *expected = zeros(count), *qkv = zeros(3 * count);
    const real *e = problem_tensor(&p, "e"), *ea = problem_tensor(&p, "ea"), *eb = problem_tensor(&p, "eb");
    const real *wa = problem_tensor(&p, "wa"), *wb = problem_tensor(&p, "wb");
    const real *ba = problem_tensor(&p, "ba"), *bb = problem_tensor(&p, "bb");
    linear_map(qkv, 3 * C, x, C, problem_tensor(&p, "w_qkv"), NULL, 2 * N, C, 3 * C);

    for (size_t image = 0; image < 2; image++)
        for (size_t head = 0; head < C; head++)
            for (size_t i = 0; i < N; i++) {
                /* A token's query, key and value are C apart. */
                const real *token = qkv + image * N * 3 * C + head;
                long sum = 0;
                for (size_t j = 0; e && j < N; j++) {
                    const real *at_j = token + j * 3 * C;
                    sum += sign(at_j[C]) * (long)e[grid_offset(&p.grid, i, j)] * (long)at_j[2 * C];
                }
                for (size_t d = 0; !e && d < D; d++) {
                    long a = ba ? (long)ba[d] : 0, G = (long)bb[d];
                    for (size_t n = 0; n < N; n++) {
                        size_t from = wa ? grid_circular(&p.grid, i, n) : grid_offset(&p.grid, i, n);
                        const real *at_n = token + n * 3 * C;
                        a += sign(at_n[C]) * (long)(wa ? wa : ea)[from * D + d];
                        G += (long)at_n[2 * C] * (long)(wb ? wb : eb)[from * D + d];
                    }
                    sum += a * G;
                }
                sum *= sign(token[i * 3 * C]);
                expected[(image * N + i) * C + head] = (real)sum;
            }
    ck_assert(largest(expected, count) > 9);
    ck_assert(largest_difference(run_form(&p, &lisa_naive, 1, x), expected, count) == 0);
    for (int f = 1; f < forms(); f++)
        within(lisa.forms[f]->name, largest_difference(run_form(&p, lisa.forms[f], 1, x), expected, count), 0.49);
}
END_TEST

/* ---- golden vectors -------------------------------------------------- */

static const struct { const char *file, *grid, *equation, *heads; } golden[] = {
    {"eq4_line", "7", "4", "2"},          {"eq4_plane", "3x5", "4", "3"},
    {"eq5_line", "6", "5", "1"},          {"eq5_plane", "4x3", "5", "2"},
    {"eq6_plane", "3x4", "6", "2"},       {"eq7_line", "9", "7", "2"},
    {"eq7_plane", "4x5", "7", "2"},       {"eq7_block", "2x3x2", "7", "1"},
    {"eq10_odd_line", "7", "10", "2"},    {"eq10_even_line", "8", "10", "1"},
    {"eq10_odd_plane", "6x5", "10", "2"}, {"eq10_even_plane", "5x6", "10", "3"},
    {"eq10_block", "2x3x4", "10", "2"},   {"eq10_paper", "14x14", "10", "2"},
};

static real *absolute(const real *a, size_t n)
{
    real *b = zeros(n);
    for (size_t i = 0; i < n; i++) b[i] = (real)fabs((double)a[i]);
    return b;
}

/* How much roundings of the projection grow: the largest |x| |w| + |b| over
 * the q, k or v that comes of it, the token's vector for q and k, which are
 * divided by its length, and the channel's for v. */
static double projection_growth(const struct problem *p, const real *x)
{
    size_t C = problem_size(p, "C"), c = problem_size(p, "c"), N = problem_size(p, "N"), tokens = tokens_in(p);
    const real *w = problem_tensor(p, "w_qkv"), *b = problem_tensor(p, "b_qkv");
    real *qkv = zeros(tokens * 3 * C), *most = zeros(tokens * 3 * C);
    linear_map(qkv, 3 * C, x, C, w, b, tokens, C, 3 * C);
    linear_map(most, 3 * C, absolute(x, tokens * C), C, absolute(w, 3 * C * C), b ? absolute(b, 3 * C) : NULL,
               tokens, C, 3 * C);

    double growth = 0, values = 0;
    for (size_t part = 0; part < tokens * 3 * C; part += c)
        if (part % (3 * C) < 2 * C)
            growth = fmax(growth, largest_column(most + part, c, 1) / largest_column(qkv + part, c, 1));
    for (size_t image = 0; image < tokens; image += N) {
        real *v = zeros(N * C), *most_v = zeros(N * C);
        for (size_t n = 0; n < N; n++) {
            memcpy(v + n * C, qkv + ((image + n) * 3 + 2) * C, C * sizeof *v);
            memcpy(most_v + n * C, most + ((image + n) * 3 + 2) * C, C * sizeof *v);
        }
        values = fmax(values, largest_column(most_v, N, C) / largest_column(v, N, C));
    }
    return 2 * growth + values;
}

/* Claim      The forms compute what the paper's pseudo-code computes.
 * Paper      LiSA, Fig. 6 and 7, told again in PyTorch in float64, on lines,
 *            planes and blocks (tests/pytorch/lisa.py).
 * Measure    The largest |form - y_expected|.
 * Tolerance  That of lisa_case.h; and, as PyTorch projects x by itself, C + c +
 *            5 roundings for projecting and normalising, grown as much as q, k
 *            and v are smaller than the sums that they come from.
 * Would it fail?  Step 3 lets one token stand in another's place. */
START_TEST(golden_vectors_of_the_pseudo_code)
{
    char path[128];
    struct tensors file;
    struct problem p;
    snprintf(path, sizeof path, "tests/golden/lisa_%s.safetensors", golden[_i].file);
    succeeds(safetensors_read(&file, path));
    succeeds(lisa_problem(&p, golden[_i].grid, golden[_i].equation, golden[_i].heads));

    /* Step 1: the answer out of the list; the rest must be the operator's. */
    struct tensor *expected = tensors_find(&file, "y_expected"), *x = tensors_find(&file, "x");
    ck_assert(expected && x && expected->count == x->count);
    ck_assert(expected == &file.tensor[file.count - 1]);
    file.count--;
    succeeds(problem_bind(&p, &file));

    /* Step 2: every form. */
    double C = (double)problem_size(&p, "C"), c = (double)problem_size(&p, "c");
    double projecting = rounding_error(C + c + 5, natural_size(&p, x->data) * projection_growth(&p, x->data));
    double allowed = tolerance(&p, x->data) + projecting;
    for (int f = 0; f < forms(); f++) {
        char what[80];
        snprintf(what, sizeof what, "%s, %s", golden[_i].file, lisa.forms[f]->name);
        real *y = run_form(&p, lisa.forms[f], 2, x->data);
        within(what, largest_difference(y, expected->data, x->count), allowed);

        /* Step 3: the comparison would notice it if one token were another. */
        memcpy(y, expected->data + (size_t)C, (size_t)C * sizeof *y);
        beyond("    the second token in the place of the first",
               largest_difference(y, expected->data, x->count), allowed);
    }
    file.count++;
    tensors_release(&file);
}
END_TEST

/* ---- one RPE per head ------------------------------------------------ */

/* Claim      e [P,h] gives every head an RPE of its own: where the columns are
 *            equal it is e [P,1]; otherwise head a follows column a.
 * Paper      LiSA, Tab. 3b, "SA (Eq. 4 w/ h RPEs)".
 * Measure    y against y with e [P,1], whole; and, head by head, against y
 *            with the column of that head as e [P,1].
 * Tolerance  Naive: zero.  Others: twice that of lisa_case.h, once for each side. */
START_TEST(heads_may_have_their_own_rpe)
{
    static const struct sizes z = {"3x4", 3, 3, 1, 2, true};
    struct problem p = drawn_problem(&z, "4");
    size_t C = 9, h = 3, P = p.grid.offsets, count = problem_input_count(&p);
    real *x = normal(1, count), *own = normal(2, P * h), *column = zeros(P);

    for (int f = 0; f < forms(); f++)
        for (size_t a = 0; a < h; a++) {
            /* The column of head a, shared; then all three, through a file's
             * list as `apply` would bind them. */
            for (size_t r = 0; r < P; r++) column[r] = own[r * h + a];
            struct problem shared = p, each;
            for (size_t r = 0; r < PROBLEM_TENSORS; r++)
                if (p.tensor[r].data && !strcmp(lisa.tensors[r].name, "e")) shared.tensor[r].data = column;
            struct tensor list[] = {
                {(char[]){"x"}, 3, {2, 12, C}, count, x},
                {(char[]){"w_qkv"}, 2, {3 * C, C}, 3 * C * C, copy(problem_tensor(&p, "w_qkv"), 3 * C * C)},
                {(char[]){"e"}, 2, {P, h}, P * h, own},
            };
            struct tensors file = {3, list};
            succeeds(lisa_problem(&each, "3x4", "4", "3"));
            succeeds(problem_bind(&each, &file));

            real *y = run_form(&each, lisa.forms[f], 2, x), *y_shared = run_form(&shared, lisa.forms[f], 2, x);
            double allowed = f == 0 ? 0 : 2 * fmax(tolerance(&each, x), tolerance(&shared, x));
            double error = 0, others = 0;
            for (size_t t = 0; t < tokens_in(&p); t++)
                for (size_t ch = 0; ch < C; ch++) {
                    double difference = fabs((double)y[t * C + ch] - (double)y_shared[t * C + ch]);
                    ck_assert(!isnan(difference));
                    if (ch / 3 == a) error = fmax(error, difference);
                    else others = fmax(others, difference);
                }
            within("the head of this column", error, allowed);
            beyond("the other heads", others, allowed);
        }
}
END_TEST

/* ---- repeatable, separable ------------------------------------------- */

static const struct sizes ordinary = {"6x5", 5, 3, 2, 2, false};

/* Claim      The same plan, another plan, and a plan that has seen other
 *            tokens meanwhile give the same to the bit, for each number of
 *            threads.
 * Measure    Bits of y.                         Tolerance  Zero. */
START_TEST(runs_repeat_to_the_bit)
{
    struct problem p = drawn_problem(&ordinary, which[_i]);
    size_t count = problem_input_count(&p);
    real *x = normal(1, count), *other = normal(2, count), *y = zeros(count);
    for (int f = 0; f < forms(); f++)
        for (int threads = 1; threads <= 2; threads++) {
            struct plan plan;
            real *alone = run_form(&p, lisa.forms[f], threads, x);
            succeeds(plan_create(&plan, &p, lisa.forms[f], threads));
            for (int round = 0; round < 2; round++) {
                succeeds(plan_run(&plan, y, other));
                ck_assert(!same_bits(y, alone, count));
                succeeds(plan_run(&plan, y, x));
                ck_assert(same_bits(y, alone, count));
            }
            plan_release(&plan);
        }
}
END_TEST

struct worker { const struct problem *p; const struct form *form; const real *x, *expected; int wrong; };

static void *work(void *argument)
{
    struct worker *w = argument;
    size_t count = problem_input_count(w->p);
    real *y = memory_reals(count, 1, 1, 1);
    for (int round = 0; round < 5; round++) {
        struct plan plan;
        w->wrong += !y || plan_create(&plan, w->p, w->form, 2).code != STATUS_OK;
        if (w->wrong) break;
        for (int run = 0; run < 3; run++)
            w->wrong += plan_run(&plan, y, w->x).code != STATUS_OK || !same_bits(y, w->expected, count);
        plan_release(&plan);
    }
    memory_free(y);
    return NULL;
}

/* Claim      Plans share nothing: two threads may prepare, run and release
 *            plans of one problem at the same time (reference/operator.h).
 * Measure    Bits of y against those of a plan alone, five plans a thread.
 * Tolerance  Zero.
 * Would it fail?  With FFTW's planner unguarded it crashes or differs; with one
 * static workspace the bits differ. */
START_TEST(plans_of_two_threads_do_not_meet)
{
    struct problem p = drawn_problem(&ordinary, which[_i]);
    size_t count = problem_input_count(&p);
    for (int f = 0; f < forms(); f++) {
        pthread_t thread[2];
        struct worker w[2];
        for (int t = 0; t < 2; t++) {
            real *x = normal((uint64_t)t + 1, count);
            w[t] = (struct worker){&p, lisa.forms[f], x, run_form(&p, lisa.forms[f], 2, x), 0};
        }
        for (int t = 0; t < 2; t++) ck_assert_int_eq(pthread_create(&thread[t], NULL, work, &w[t]), 0);
        for (int t = 0; t < 2; t++) pthread_join(thread[t], NULL);
        ck_assert_int_eq(w[0].wrong + w[1].wrong, 0);
    }
}
END_TEST

/* Claim      Images do not see each other: other tokens, even NaN, in one image
 *            leave the other as it was; and NaN is not swallowed: it reaches
 *            every output of its own image, since every token attends to all.
 * Measure    Bits of the untouched image; NaN in the touched one.
 * Tolerance  Zero. */
START_TEST(nan_fills_its_image_and_no_other)
{
    struct problem p = drawn_problem(&ordinary, which[_i]);
    size_t count = problem_input_count(&p), half = count / 2;
    real *x = normal(1, count);
    for (int f = 0; f < forms(); f++)
        for (size_t image = 0; image < 2; image++) {
            real *y = run_form(&p, lisa.forms[f], 2, x), *touched = copy(x, count);
            touched[image * half + 33] = (real)NAN;
            real *y_nan = run_form(&p, lisa.forms[f], 2, touched);
            ck_assert(same_bits(y + (1 - image) * half, y_nan + (1 - image) * half, half));
            for (size_t i = 0; i < half; i++) ck_assert(isnan((double)y_nan[image * half + i]));
        }
}
END_TEST

/* Claim      A run reads x and the parameters, and writes y alone.
 * Measure    Bits of both before and after; y does not depend on what it held.
 * Tolerance  Zero. */
START_TEST(a_run_writes_y_alone)
{
    struct problem p = drawn_problem(&ordinary, which[_i]);
    size_t count = problem_input_count(&p), parameters = problem_parameters(&p);
    real *x = normal(1, count), *x_before = copy(x, count);
    real *block = p.tensor[1].data, *before = copy(block, parameters), *y = normal(3, count);
    for (int f = 0; f < forms(); f++) {
        struct plan plan;
        succeeds(plan_create(&plan, &p, lisa.forms[f], 2));
        y[0] = (real)NAN;
        succeeds(plan_run(&plan, y, x));
        plan_release(&plan);
        ck_assert(same_bits(x, x_before, count) && same_bits(block, before, parameters));
        ck_assert(same_bits(y, run_form(&p, lisa.forms[f], 2, x), count));
    }
}
END_TEST

/* ---- memory ---------------------------------------------------------- */

/* Claim      All memory is taken by prepare and given back by release; a run
 *            takes none, and does not mind if there is none.
 * Measure    The counters of memory.h.           Tolerance  Zero. */
START_TEST(runs_allocate_nothing)
{
    struct problem p = drawn_problem(&ordinary, which[_i]);
    real *x = normal(1, problem_input_count(&p)), *y = zeros(problem_input_count(&p));
    for (int f = 0; f < forms(); f++) {
        struct plan plan;
        size_t before = memory_in_use();
        succeeds(plan_create(&plan, &p, lisa.forms[f], 2));
        memory_reset_peak();
        size_t prepared = memory_in_use();
        succeeds(plan_run(&plan, y, x));
        ck_assert_uint_eq(memory_peak(), prepared);
        ck_assert_uint_eq(memory_in_use(), prepared);
        memory_fail_after(0);
        succeeds(plan_run(&plan, y, x));
        memory_fail_after(-1);
        plan_release(&plan);
        ck_assert_uint_eq(memory_in_use(), before);
    }
}
END_TEST

/* Claim      Whichever allocation fails, plan_create says so and leaves
 *            nothing behind.
 * Measure    The status, and bytes in use, with all requests from the n-th on
 *            refused, n = 0, 1, ... until none is.
 * Would it fail?  A forgotten check crashes here; a forgotten free shows. */
START_TEST(every_failed_allocation_is_survived)
{
    struct problem p = drawn_problem(&ordinary, which[_i]);
    for (int f = 0; f < forms(); f++) {
        struct plan plan;
        status s;
        long n = 0;
        size_t before = memory_in_use();
        do {
            ck_assert_int_lt(n, 200);
            memory_fail_after(n++);
            s = plan_create(&plan, &p, lisa.forms[f], 2);
            memory_fail_after(-1);
            if (s.code) refused(s, STATUS_FAILURE, "memory");
            else plan_release(&plan);
            ck_assert_uint_eq(memory_in_use(), before);
        } while (s.code);
        ck_assert_int_gt(n, 3);
    }
}
END_TEST

/* Claim      Sizes whose product overflows are refused before anything is
 *            allocated by them, and not wrapped into small ones.
 * Measure    The status of the naive form: Eq. 10 holds 2 N c D numbers, here 2^64. */
START_TEST(sizes_that_overflow_are_refused)
{
    struct problem p;
    struct plan plan;
    real small[1] = {0};
    succeeds(problem_create(&p, &lisa, 2, (const char *[]){"--grid", "1073741824"}));
    succeeds(problem_set_size(&p, "B", 1));
    succeeds(problem_set_size(&p, "C", 1 << 16));
    succeeds(problem_set_size(&p, "D", 1 << 17));
    bool bare = true;
    succeeds(problem_shape(&p, optional, &bare));
    for (size_t r = 1; r < PROBLEM_TENSORS; r++)
        if (p.tensor[r].present) p.tensor[r].data = small;
    refused(plan_create(&plan, &p, &lisa_naive, 1), STATUS_FAILURE, "the workspace of a head");
    ck_assert_uint_eq(memory_in_use(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("LiSA");
    TCase *equality = add_case(suite, "one function");
    tcase_add_loop_test(equality, forms_are_one_function, 0, EQUATIONS * (int)COUNT(size));
    tcase_add_loop_test(equality, every_tensor_counts, 0, EQUATIONS);
    tcase_add_loop_test(equality, naive_form_is_its_hearts, 0, EQUATIONS);
    tcase_add_loop_test(equality, whole_numbers_come_out_whole, 0, EQUATIONS);
    tcase_add_loop_test(equality, golden_vectors_of_the_pseudo_code, 0, (int)COUNT(golden));
    tcase_add_test(equality, heads_may_have_their_own_rpe);
    TCase *separate = add_case(suite, "repeatable and separable");
    tcase_add_loop_test(separate, runs_repeat_to_the_bit, 0, EQUATIONS);
    tcase_add_loop_test(separate, plans_of_two_threads_do_not_meet, 0, EQUATIONS);
    tcase_add_loop_test(separate, nan_fills_its_image_and_no_other, 0, EQUATIONS);
    tcase_add_loop_test(separate, a_run_writes_y_alone, 0, EQUATIONS);
    TCase *memory = add_case(suite, "memory");
    tcase_add_loop_test(memory, runs_allocate_nothing, 0, EQUATIONS);
    tcase_add_loop_test(memory, every_failed_allocation_is_survived, 0, EQUATIONS);
    tcase_add_test(memory, sizes_that_overflow_are_refused);
    return run_suite(suite, "test_lisa");
}
