/* test_lisa.c -- LiSA's forms are one function
 *
 * Naive against fast, against whole numbers, against PyTorch; in batches, by
 * threads, without memory, with NaN.  What the function itself promises is
 * proved in test_lisa_theorems.c. */

#include "golden.h"
#include "lisa_case.h"
#include "promises.h"
#include "../fast/lisa/local.h"
#include "../reference/instruments/regrid.h"
#include "../reference/steps.h"

/* A copy of one of the parameters, NULL where it is absent. */
static real *parameter(const struct problem *p, const char *name)
{
    int r = problem_row(p, name);
    return r >= 0 && p->tensor[r].data ? copy(p->tensor[r].data, p->tensor[r].count) : NULL;
}

/* ---- equality -------------------------------------------------------- */

/* Grids one wide, prime, odd, even, not square, of 1, 2 and 3 axes; single
 * latents and channels, numbers of them that fill no SIMD vector, and more pairs
 * of latents than the widest has lanes. */
static const struct sizes size[] = {
    {"1", 1, 1, 1, 1, true},       {"1", 3, 2, 2, 3, false},     {"7", 3, 1, 2, 1, true},
    {"1x1", 3, 1, 3, 1, false},    {"1x5", 3, 2, 2, 1, false},   {"5x1", 16, 1, 1, 1, true},
    {"13x7", 3, 1, 3, 1, false},   {"8x8", 16, 2, 16, 3, false}, {"14x14", 3, 2, 2, 1, true},
    {"5x12", 17, 1, 3, 1, false},  {"2x3x4", 3, 3, 2, 3, false}, {"3x5x7", 1, 3, 1, 1, true},
    {"64", 17, 1, 3, 1, false},    {"2", 1, 5, 16, 2, true},     {"31", 4, 1, 2, 1, false},
    {"4x4x4", 16, 1, 16, 1, true}, {"6x10", 8, 4, 4, 2, false},  {"11x11", 5, 1, 7, 1, true},
    {"3x5", 3, 1, 35, 1, false},
};

/* Claim      Every form computes the function that the naive form computes, on
 *            any grid, with any number of channels, heads, latents, images and
 *            threads.
 * Paper      LiSA, Eq. 4-7 and 10; Tab. 3b, + B^a; Tab. 3c, local.   Chapter 1, "The
 *            fast form".
 * Measure    The largest |form - naive| over y.
 * Tolerance  lisa_case.h, derived there from the number of roundings on the
 *            way and the size of y; q, k and v are common to both forms.
 * Would it fail?  See every_tensor_counts; and seen with the spectra of the first LANES pairs of latents alone. */
START_TEST(forms_are_one_function)
{
    char what[80];
    struct trial t = lisa_trial(&size[_i / EQUATIONS], equation_word[_i % EQUATIONS]);
    snprintf(what, sizeof what, "Eq. %s on %s", equation_word[_i % EQUATIONS], size[_i / EQUATIONS].grid);
    promise_one_function(&t, what, relative_tolerance(&t));
}
END_TEST

/* Claim      The comparison above would notice one wrong entry, in whatever
 *            tensor.
 * Measure    promises.h: an eighth added to entries of one tensor, in all forms; they agree about it, and y has moved
 *            by more than the tolerance.
 * Tolerance  That of lisa_case.h. */
START_TEST(every_tensor_counts)
{
    static const struct sizes z = {"5x4", 3, 2, 2, 1, false};
    struct trial t = lisa_trial(&z, equation_word[_i]);
    promise_every_tensor_counts(&t, relative_tolerance(&t));
}
END_TEST

/* Claim      So it is with local kernels of any size, even beyond the grid, whichever
 *            way the fast form takes: over windows where they are small, on circles
 *            where they are large.
 * Paper      LiSA, Tab. 3c.
 * Measure    As above; the way, as the fast form chooses it; and what plans promise of
 *            memory and repetition.
 * Tolerance  That of lisa_case.h.
 * Would it fail?  With the kernel turned around, or read one entry further, it does. */
static const struct { struct sizes z; const char *kernel; bool circles; } windows[] = {
    {{"31", 4, 1, 3, 1, false}, "1", false},       {{"12x7", 5, 2, 3, 2, false}, "3x5", false},
    {{"2x3", 3, 2, 2, 2, false}, "5x5", false},    {{"60", 17, 1, 5, 1, false}, "7", false},
    {{"60", 17, 1, 5, 1, false}, "119", true},      {{"12x14", 16, 1, 16, 1, false}, "13x13", true},
    {{"8x9", 3, 2, 3, 2, false}, "15x17", true},   {{"4x3x6", 3, 2, 4, 2, false}, "3x3x3", false},
    {{"4x5x6", 5, 1, 4, 2, true}, "7x5x9", true},  {{"8x9", 3, 2, 3, 2, false}, "21x25", true},
};
START_TEST(local_kernels_of_any_size_are_one_function)
{
    const struct sizes *z = &windows[_i].z;
    char options[80], latents[24];
    snprintf(options, sizeof options, "--grid %s --heads %zu --kernel %s", z->grid, z->h, windows[_i].kernel);
    snprintf(latents, sizeof latents, "D=%zu", z->D);
    struct trial t = trial(options, &lisa, z->B, z->c * z->h, latents, z->bare ? "b_qkv w_o b_o" : "");
    const struct lisa_problem l = resolved(&t.problem);
    ck_assert(lisa_local_is_cheaper(&l) != windows[_i].circles);
    promise_one_function(&t, options, relative_tolerance(&t));
    promise_repeatable(&t);
    promise_memory(&t);
    promise_bytes(&t);
}
END_TEST

/* Claim      What --kernel cannot be is refused in one line: even sizes, other axes than
 *            the grid, another equation than 10.
 * Measure    Status and message. */
static const struct { const char *options, *complaint; } refusals[] = {
    {"--grid 6x5 --kernel 4x3", "option --kernel: found '4x3', expected odd sizes"},
    {"--grid 6x5 --kernel 3", "option --kernel: found 1 axes, expected 2 as the grid has"},
    {"--grid 6x5 --kernel 3x3x3", "option --kernel: found 3 axes, expected 2 as the grid has"},
    {"--grid 6x5 --kernel 0x3", "option --kernel: "},
    {"--grid 6x5 --kernel 3x3 --equation 7",
     "option --kernel: found with --equation 7, expected only with --equation 10"},
};
START_TEST(kernels_that_cannot_be_are_refused)
{
    struct problem p;
    refused(shaped_openly(&p, refusals[_i].options, &lisa, 1, 4, "", "", 1), STATUS_BAD_INPUT, refusals[_i].complaint);
}
END_TEST

/* Claim      The naive form is its hearts: head a of image b is the heart run
 *            on its slices of the projection, written to its channels.
 * Measure    y of the form against hearts called here.
 * Tolerance  Zero: the same operations on the same numbers. */
START_TEST(naive_form_is_its_hearts)
{
    static const struct sizes z = {"3x4", 3, 2, 2, 2, true};
    struct trial t = lisa_trial(&z, equation_word[_i]);
    const struct problem *p = &t.problem;
    const struct lisa_problem l = resolved(p);
    size_t N = 12, c = 3, C = 6;
    real *y = trial_run(&t, "naive", 1), *qkv = projected(&l, t.x);

    struct one_head o = {
        .g = l.g, .N = N, .P = l.g.offsets, .c = c, .D = 2, .e = parameter(p, "e"),
        .ea = parameter(p, "ea"), .eac = parameter(p, "ea"), .eb = parameter(p, "eb"),
        .wa = parameter(p, "wa"), .wb = parameter(p, "wb"), .Ba = parameter(p, "ba"), .Bb = parameter(p, "bb"),
        .window = l.window, .la = parameter(p, "wa"), .lb = parameter(p, "wb"),
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
                ck_assert_mem_eq(y + (image * N + n) * C + head * c, heart + n * c, c * sizeof *y);
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
    struct trial t = lisa_trial(&z, equation_word[_i]);
    struct problem *p = &t.problem;
    size_t N = 12, C = 3, D = 2;
    for (size_t r = 1; r < PROBLEM_TENSORS; r++)
        for (size_t i = 0; p->tensor[r].data && i < p->tensor[r].count; i++)
            p->tensor[r].data[i] = (real)((long)(5 * i + 3 * r) % 7 - 3);
    t.x = integers(1, t.inputs, 2);
    const struct lisa_problem l = resolved(p);
    const real *tables = l.wa ? l.wa : l.ea, *kernels = l.wb ? l.wb : l.eb;
    real *qkv = projected(&l, t.x), *expected = zeros(t.outputs);

    for (size_t image = 0; image < 2; image++)
        for (size_t head = 0; head < C; head++)
            for (size_t i = 0; i < N; i++) {
                /* A token's query, key and value are C apart. */
                const real *token = qkv + image * N * 3 * C + head;
                long sum = 0;
                for (size_t j = 0; l.e && j < N; j++) {
                    const real *at_j = token + j * 3 * C;
                    sum += sign(at_j[C]) * (long)l.e[grid_offset(&l.g, i, j)] * (long)at_j[2 * C];
                }
                for (size_t d = 0; !l.e && d < D; d++) {
                    long a = l.ba ? (long)l.ba[d] : 0, G = (long)l.bb[d];
                    for (size_t n = 0; n < N; n++) {
                        size_t from = l.wraps ? grid_circular(&l.g, i, n) : grid_offset(&l.g, i, n);
                        if (l.window.axes) from = window_entry(&l.window, &l.g, i, n);
                        if (l.window.axes && from == l.M) continue;
                        const real *at_n = token + n * 3 * C;
                        a += sign(at_n[C]) * (long)tables[from * D + d];
                        G += (long)at_n[2 * C] * (long)kernels[from * D + d];
                    }
                    sum += a * G;
                }
                sum *= sign(token[i * 3 * C]);
                expected[(image * N + i) * C + head] = (real)sum;
            }
    ck_assert(largest(expected, t.outputs) > 9);
    ck_assert(largest_difference(trial_run(&t, "naive", 1), expected, t.outputs) == 0);
    const struct form *form;
    for (int f = 1; (form = operator_form_at(&lisa, f)); f++)
        within(form->name, largest_difference(trial_run(&t, form->name, 1), expected, t.outputs), 0.49);
}
END_TEST

/* ---- golden vectors -------------------------------------------------- */

static const char *const golden[] = {
    "lisa_eq4_line", "lisa_eq4_plane", "lisa_eq5_line", "lisa_eq5_plane", "lisa_eq6_plane", "lisa_eq7_line",
    "lisa_eq7_plane", "lisa_eq7_block", "lisa_eq10_odd_line", "lisa_eq10_even_line", "lisa_eq10_odd_plane",
    "lisa_eq10_even_plane", "lisa_eq10_block", "lisa_eq10_paper", "lisa_eq10_local_line", "lisa_eq10_local_plane",
    "lisa_eq10_local_block", "lisa_eq10_local_beyond", "lisa_eq5_bias",
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
    struct lisa_problem l = resolved(p);
    size_t C = l.heads.C, c = l.heads.c, N = l.heads.N, tokens = l.heads.B * N;
    real *qkv = projected(&l, x);
    l.heads.w_qkv = absolute(l.heads.w_qkv, 3 * C * C);
    if (l.heads.b_qkv) l.heads.b_qkv = absolute(l.heads.b_qkv, 3 * C);
    real *most = projected(&l, absolute(x, tokens * C));

    double growth = 0, values = 0;
    for (size_t part = 0; part < tokens * 3 * C; part += c)
        if (part % (3 * C) < 2 * C)     /* NOLINT(clang-analyzer-core.DivideZero): C is a size, and no size is 0 */
            growth = fmax(growth, largest_column(most + part, c, 1) / largest_column(qkv + part, c, 1));
    for (size_t image = 0; image < tokens; image += N) {
        real *v = zeros(N * C), *most_v = zeros(N * C);
        head_gather(v, qkv + (image * 3 + 2) * C, 3 * C, N, C);
        head_gather(most_v, most + (image * 3 + 2) * C, 3 * C, N, C);
        values = fmax(values, largest_column(most_v, N, C) / largest_column(v, N, C));
    }
    return 2 * growth + values;
}

/* Claim      The forms compute what the paper's pseudo-code computes.
 * Paper      LiSA, Fig. 6 and 7, written once more in PyTorch in float64, on lines,
 *            planes and blocks, Tab. 3c's local kernels by its convolutions
 *            (tests/pytorch/lisa.py).
 * Measure    The largest |form - y_expected|.
 * Tolerance  That of lisa_case.h; and, as PyTorch projects x by itself, C + c +
 *            5 roundings for projecting and normalising, grown as much as q, k
 *            and v are smaller than the sums that they come from.
 * Would it fail?  golden_holds lets one token stand in another's place. */
START_TEST(golden_vectors_of_the_pseudo_code)
{
    struct golden g;
    golden_open(&g, &lisa, golden[_i]);
    const real *x = g.x->data;
    const struct lisa_problem l = resolved(&g.problem);
    double projecting = rounding_error((double)(l.heads.C + l.heads.c) + 5,
                                       natural_size(&g.problem, x) * projection_growth(&g.problem, x));
    double allowed = tolerance(&g.problem, x) + projecting;
    golden_holds(&g, golden[_i], allowed / largest(g.expected->data, g.expected->count));
    golden_close(&g);
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
    struct trial shared = lisa_trial(&z, "4"), each = shared;
    size_t C = 9, h = 3, P = shared.problem.grid.offsets;
    real *own = normal(3, P * h), *column = trial_tensor(&shared, "e");

    /* Step 1: all three columns, through a file's list as `apply` would bind them. */
    struct tensor list[] = {
        {(char[]){"x"}, 3, {2, 12, C}, each.inputs, each.x},
        {(char[]){"w_qkv"}, 2, {3 * C, C}, 3 * C * C, trial_tensor(&each, "w_qkv")},
        {(char[]){"e"}, 2, {P, h}, P * h, own},
    };
    struct tensors file = {3, list};
    const char *words[] = {"--grid", "3x4", "--equation", "4", "--heads", "3"};
    succeeds(problem_create(&each.problem, &lisa, 6, words));
    succeeds(problem_bind(&each.problem, &file));

    /* Step 2: the column of one head, shared by all, against them. */
    const struct form *form;
    for (int f = 0; (form = operator_form_at(&lisa, f)); f++)
        for (size_t a = 0; a < h; a++) {
            for (size_t r = 0; r < P; r++) column[r] = own[r * h + a];
            real *y = trial_run(&each, form->name, 2), *y_shared = trial_run(&shared, form->name, 2);
            double each_one = tolerance(&each.problem, each.x), all = tolerance(&shared.problem, shared.x);
            double allowed = f == 0 ? 0 : 2 * fmax(each_one, all), error = 0, others = 0;
            for (size_t i = 0; i < each.outputs; i++) {
                double difference = fabs((double)y[i] - (double)y_shared[i]);
                ck_assert(!isnan(difference));
                if (i % C / 3 == a) error = fmax(error, difference);
                else others = fmax(others, difference);
            }
            within("the head of this column", error, allowed);
            beyond("the other heads", others, allowed);
        }
}
END_TEST

/* ---- what every form promises (promises.h) ---------------------------- */

static const struct sizes ordinary = {"6x5", 5, 3, 2, 2, false};

/* Claim      The same plan, another plan, and a plan that has seen other
 *            tokens meanwhile give the same to the bit, for each number of
 *            threads; whatever y held, and x and the parameters are as they were.
 * Measure    Bits of y, x and the parameters.     Tolerance  Zero. */
START_TEST(runs_repeat_to_the_bit)
{
    struct trial t = lisa_trial(&ordinary, equation_word[_i]);
    promise_repeatable(&t);
}
END_TEST

/* Claim      Plans share nothing: two threads may prepare, run and release
 *            plans of one problem at the same time (reference/operator.h).
 * Measure    Bits of y against those of a plan alone, five plans a thread.
 * Tolerance  Zero.
 * Would it fail?  With FFTW's planner unguarded it crashes or differs; with one
 * static workspace the bits differ. */
START_TEST(plans_of_two_threads_do_not_meet)
{
    struct trial t = lisa_trial(&ordinary, equation_word[_i]);
    promise_plans_apart(&t);
}
END_TEST

/* Claim      Images do not see each other: other tokens, even NaN, in one image
 *            leave the other as it was; and NaN is not swallowed: it reaches
 *            every output of its own image, since every token attends to all; of
 *            local kernels, all that moves when the token does.
 * Measure    Bits of the untouched image; NaN in the touched one.
 * Tolerance  Zero. */
START_TEST(nan_fills_its_image_and_no_other)
{
    struct trial t = lisa_trial(&ordinary, equation_word[_i]);
    if (resolved(&t.problem).window.axes) promise_nan_is_seen(&t);
    else promise_images_apart(&t, 33, NULL, NULL);
}
END_TEST

/* Claim      All memory is taken before a run and given back by release; a run
 *            takes none, and does not mind if there is none.  Whichever allocation
 *            fails, plan_create says so and leaves nothing behind.
 * Measure    The counters of memory.h; the status, with all requests from the n-th
 *            on refused, n = 0, 1, ... until none is.      Tolerance  Zero.
 * Would it fail?  A forgotten check crashes here; a forgotten free shows. */
START_TEST(every_failed_allocation_is_survived)
{
    struct trial t = lisa_trial(&ordinary, equation_word[_i]);
    promise_memory(&t);
}
END_TEST

/* Claim      Parameters may change under a plan: loaded again it computes what a
 *            new plan computes, and keeps no more memory.
 * Measure    Bits of y; bytes in use.            Tolerance  Zero.
 * Would it fail?  Before it is loaded again, every form that keeps spectra or
 * tables differs; FFTW's old plans, not freed, are a leak that sanitizers see. */
START_TEST(plans_are_loaded_again)
{
    struct trial t = lisa_trial(&ordinary, equation_word[_i]);
    const char *name[] = {"e", "eb", "wb"};
    const struct form *form;
    for (int f = 0; (form = operator_form_at(&lisa, f)); f++) {
        struct plan plan;
        bool kept = f > 0 || strtol(equation_word[_i], NULL, 10) < 10;  /* naive Eq. 10 reads kernels as they lie */
        real *y = zeros(t.outputs);
        succeeds(plan_create(&plan, &t.problem, form, 2));
        size_t before = memory_in_use();
        for (size_t n = 0; n < COUNT(name); n++)
            if (problem_tensor(&t.problem, name[n])) trial_tensor(&t, name[n])[0] += 1;
        succeeds(plan_run(&plan, y, t.x));
        if (kept) unequal(y, trial_run(&t, form->name, 2), t.outputs);
        succeeds(plan_load(&plan));
        succeeds(plan_run(&plan, y, t.x));
        ck_assert_uint_eq(memory_in_use(), before);
        plan_release(&plan);
        equal(y, trial_run(&t, form->name, 2), t.outputs);
    }
}
END_TEST

/* Claim      Sizes whose product overflows are refused before anything is
 *            allocated by them, and not wrapped into small ones.
 * Measure    The status of every form: Eq. 10 holds 2 N c D numbers, here 2^64, or
 *            the spectra of its kernels, 2^63, each of four bytes or more; 2^32 and 2^31
 *            where addresses have 32 bits. */
START_TEST(sizes_that_overflow_are_refused)
{
    struct problem p = shaped(BY_ADDRESSES("--grid 1073741824", "--grid 16384"), &lisa, 1, BY_ADDRESSES(1 << 16, 256),
                              BY_ADDRESSES("D=131072", "D=512"), "b_qkv w_o b_o");
    promise_overflow(&p);
}
END_TEST

/* ---- appendix B: another grid ------------------------------------------- */

/* x [tokens of from] by a rule. */
static real *on_another_grid(const real *x, const char *from_text, const char *to_text, enum regrid_rule rule)
{
    grid from, to;
    succeeds(grid_parse(&from, from_text));
    succeeds(grid_parse(&to, to_text));
    real *y = zeros(to.tokens);
    succeeds(regrid(y, x, 1, from.size, to.size, 1, rule));
    return y;
}

/* Reading    Appendix B of LiSA may mean two operations.  With zeros at new frequencies the kernel is
 *            stretched with the image; with the spectrum interpolated it keeps its width in tokens.
 *            Both keep the sum of the kernel, and they differ.
 * Paper      LiSA, appendix B: "changing the resolution is equal to changing the sampling interval of
 *            spectrums", "simple interpolation".
 * Measure    The taps 1/4, 1/2, 1/4 around token 0 of 14, whose spectrum is (1 + cos(2 pi f/14))/2, on 24
 *            tokens.  Zeros: against the sum of that cosine over f = -7 ... 7.  Spectrum: against the same
 *            three taps; and against the sum over 13 bins of the cubic polynomial between the samples
 *            of that cosine.
 * Tolerance  The sums: 64 roundings of numbers of size 1, since both sides are computed in double and
 *            rounded once.  The taps: the cubic's error is at most 0.003 a token (0.0026 measured, at
 *            tokens 11 and 13).
 * Would it fail?  Seen with zeros in the place of spectrum, and without aligned corners. */
START_TEST(appendix_b_has_two_readings)
{
    real taps[14] = {(real)0.5, (real)0.25}, sums[2][24], same[24] = {(real)0.5, (real)0.25};
    const double turn = 2 * 3.14159265358979323846;
    taps[13] = same[23] = (real)0.25;
    for (int m = 0; m < 24; m++) {
        double stretched = 0, kept = 0;
        for (int f = -7; f <= 7; f++)
            stretched += (f == 7 || f == -7 ? 0.5 : 1) * (1 + cos(turn * f / 14)) / 2 * cos(turn * f * m / 24);
        for (int bin = 0; bin <= 12; bin++) {
            /* Bin `bin` of 12 lies t beyond bin `low` of 7; four bins around it, the first and last repeated. */
            int low = 7 * bin / 12;
            double t = 7.0 * bin / 12 - low, g[4];
            for (int k = 0; k < 4; k++) {
                int at = low + k - 1 < 0 ? 0 : low + k - 1 > 7 ? 7 : low + k - 1;
                g[k] = (1 + cos(turn * at / 14)) / 2;
            }
            double first = 0.75 * (g[2] - g[0]), second = 0.75 * (g[3] - g[1]), step = g[2] - g[1];
            double value = g[1] + t * first + t * t * (3 * step - 2 * first - second)
                           + t * t * t * (first + second - 2 * step);
            kept += (bin && bin < 12 ? 2 : 1) * value * cos(turn * bin * m / 24);
        }
        sums[0][m] = (real)(stretched / 24);
        sums[1][m] = (real)(kept / 24);
    }
    real *zero = on_another_grid(taps, "14", "24", REGRID_ZEROS);
    real *bins = on_another_grid(taps, "14", "24", REGRID_SPECTRUM);
    within("zeros, the sum", largest_difference(zero, sums[0], 24), 64 * UNIT_ROUNDOFF);
    within("spectrum, the sum", largest_difference(bins, sums[1], 24), 64 * UNIT_ROUNDOFF);
    within("spectrum keeps the taps", largest_difference(bins, same, 24), 0.003);
    static const double printed[] = {0.292, 0.233, 0.110, 0.018};
    for (int m = 0; m < 4; m++) within("zeros, as printed in chapter 1", fabs((double)zero[m] - printed[m]), 0.0005);
    beyond("the readings", largest_difference(zero, bins, 24), 0.2);
}
END_TEST

/* Claim      Both rules keep the sum of a kernel, on grids of one, two and three axes.  A wave that the
 *            coarse grid holds is the same wave, smaller, after adding zeros.  The same grid changes nothing.
 * Measure    Sums of a random kernel.  cos(2 pi sum of f_a n_a / N_a) with f_a below half of the axis,
 *            against the same formula on the fine grid, times the ratio of tokens.
 * Tolerance  4 N roundings of numbers of size 1 for sums of N; 64 roundings for one entry.
 * Would it fail?  Seen with the division by the new size left out, and with the middle bin counted twice. */
START_TEST(resampled_kernels_keep_their_sum)
{
    static const struct { const char *from, *to; } step[] = {
        {"14", "24"}, {"7", "12"}, {"14x14", "24x24"}, {"7x8", "9x20"}, {"4x5x6", "8x5x9"}, {"1x6", "1x7"},
    };
    grid from, to;
    succeeds(grid_parse(&from, step[_i].from));
    succeeds(grid_parse(&to, step[_i].to));
    real *kernel = uniform(7, from.tokens, -1, 1), *wave = zeros(from.tokens), *expected = zeros(to.tokens);
    for (int fine = 0; fine < 2; fine++) {
        const grid *g = fine ? &to : &from;
        for (size_t n = 0; n < g->tokens; n++) {
            size_t at[GRID_AXES];
            double turns = 0.1;
            grid_coordinates(at, g, n);
            for (int a = 0; a < g->axes; a++)
                turns += (double)(((from.size[a] - 1) / 2 - (size_t)(a == 1 && from.size[a] > 4)) * at[a] % g->size[a])
                         / (double)g->size[a];
            *(fine ? expected + n : wave + n) = (real)(cos(2 * 3.14159265358979323846 * turns)
                                                       * (fine ? (double)from.tokens / (double)to.tokens : 1));
        }
    }
    within("the wave", largest_difference(on_another_grid(wave, step[_i].from, step[_i].to, REGRID_ZEROS), expected,
                                          to.tokens), 64 * UNIT_ROUNDOFF);
    for (enum regrid_rule rule = REGRID_ZEROS; rule <= REGRID_SPECTRUM; rule++) {
        real *y = on_another_grid(kernel, step[_i].from, step[_i].to, rule);
        double before = 0, after = 0;
        for (size_t n = 0; n < from.tokens; n++) before += (double)kernel[n];
        for (size_t n = 0; n < to.tokens; n++) after += (double)y[n];
        within("the sum", fabs(after - before), 4 * (double)to.tokens * UNIT_ROUNDOFF);
        within("the same grid", largest_difference(on_another_grid(kernel, step[_i].from, step[_i].from, rule), kernel,
                                                   from.tokens), 64 * UNIT_ROUNDOFF);
    }
}
END_TEST

/* Claim      The rules spectrum and bicubic compute what PyTorch's F.interpolate computes, with aligned
 *            corners between rfft2 and irfft2 for the first and without them for the second.
 * Measure    The largest |regrid - y_expected| over two channels (tests/pytorch/resample.py).
 * Tolerance  64 roundings of the largest entry: both sides are computed in double and rounded once.
 * Would it fail?  Seen with a = -0.5, with aligned corners exchanged, and with another axis halved. */
static const struct { const char *name, *from, *to; enum regrid_rule rule; } resampled_by_pytorch[] = {
    {"spectrum", "6x5", "9x8", REGRID_SPECTRUM}, {"spectrum_even", "4x6", "7x11", REGRID_SPECTRUM},
    {"spectrum_smaller", "6x8", "5x4", REGRID_SPECTRUM}, {"tokens", "4x3", "6x7", REGRID_BICUBIC},
    {"tokens_smaller", "7x4", "3x4", REGRID_BICUBIC}, {"offsets", "5x3", "7x9", REGRID_BICUBIC},
};

START_TEST(resampling_is_pytorchs)
{
    char path[128];
    grid from, to;
    struct tensors file;
    snprintf(path, sizeof path, "tests/golden/resample/plane_%s.safetensors", resampled_by_pytorch[_i].name);
    succeeds(grid_parse(&from, resampled_by_pytorch[_i].from));
    succeeds(grid_parse(&to, resampled_by_pytorch[_i].to));
    succeeds(safetensors_read(&file, path));
    const struct tensor *x = tensors_find(&file, "x"), *expected = tensors_find(&file, "y_expected");
    ck_assert(x && expected && x->count == 2 * from.tokens && expected->count == 2 * to.tokens);
    real *y = zeros(2 * to.tokens);
    succeeds(regrid(y, x->data, 1, from.size, to.size, 2, resampled_by_pytorch[_i].rule));
    within(resampled_by_pytorch[_i].name, relative_difference(y, expected->data, expected->count), 64 * UNIT_ROUNDOFF);
    tensors_release(&file);
}
END_TEST

/* Claim      Zeros cannot be added to an axis that shrinks, an axis of no token has no kernel, and missing
 *            memory is an error: nothing is kept in any case. */
START_TEST(resampling_that_cannot_be_is_an_error)
{
    real y[16], x[16] = {0};
    size_t before = memory_in_use();
    refused(regrid(y, x, 1, (size_t[]){4, 1, 1}, (size_t[]){3, 1, 1}, 1, REGRID_ZEROS), STATUS_BAD_INPUT,
            "found 3 tokens along axis 1 for 4");
    refused(regrid(y, x, 1, (size_t[]){4, 0, 1}, (size_t[]){4, 1, 1}, 1, REGRID_BICUBIC), STATUS_BAD_INPUT,
            "found no token along axis 2");
    for (long requests = 0; requests < 3; requests++) {
        memory_fail_after(requests);
        status s = regrid(y, x, 1, (size_t[]){3, 1, 1}, (size_t[]){4, 1, 1}, 1, REGRID_ZEROS);
        memory_fail_after(-1);
        refused(s, STATUS_FAILURE, "a resampled table");
        ck_assert_uint_eq(memory_in_use(), before);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("LiSA");
    TCase *equality = add_case(suite, "one function");
    tcase_add_loop_test(equality, forms_are_one_function, 0, EQUATIONS * (int)COUNT(size));
    tcase_add_loop_test(equality, local_kernels_of_any_size_are_one_function, 0, (int)COUNT(windows));
    tcase_add_loop_test(equality, kernels_that_cannot_be_are_refused, 0, (int)COUNT(refusals));
    tcase_add_loop_test(equality, every_tensor_counts, 0, EQUATIONS);
    tcase_add_loop_test(equality, naive_form_is_its_hearts, 0, EQUATIONS);
    tcase_add_loop_test(equality, whole_numbers_come_out_whole, 0, EQUATIONS);
    tcase_add_test(equality, heads_may_have_their_own_rpe);
    TCase *others = add_case(suite, "golden vectors");
    tcase_add_loop_test(others, golden_vectors_of_the_pseudo_code, 0, (int)COUNT(golden));
    TCase *grids = add_case(suite, "appendix B, another grid");
    tcase_add_test(grids, appendix_b_has_two_readings);
    tcase_add_loop_test(grids, resampled_kernels_keep_their_sum, 0, 6);
    tcase_add_loop_test(grids, resampling_is_pytorchs, 0, (int)COUNT(resampled_by_pytorch));
    tcase_add_test(grids, resampling_that_cannot_be_is_an_error);
    TCase *separate = add_case(suite, "repeatable and separable");
    tcase_add_loop_test(separate, runs_repeat_to_the_bit, 0, EQUATIONS);
    tcase_add_loop_test(separate, plans_of_two_threads_do_not_meet, 0, EQUATIONS);
    tcase_add_loop_test(separate, nan_fills_its_image_and_no_other, 0, EQUATIONS);
    tcase_add_loop_test(separate, plans_are_loaded_again, 0, EQUATIONS);
    TCase *memory = add_case(suite, "memory");
    tcase_add_loop_test(memory, every_failed_allocation_is_survived, 0, EQUATIONS);
    tcase_add_test(memory, sizes_that_overflow_are_refused);
    return run_suite(suite);
}
