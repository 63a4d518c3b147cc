/* test_lisa.c -- the forms of LiSA agree; kernels, RPEs, resampling; theorems are in test_lisa_theorems.c */

#include "lisa_case.h"
#include "../support/battery.h"
#include "../../fast/circulant.h"
#include "../../fast/fourier.h"
#include "../../fast/tuned/lisa/local.h"
#include "../../reference/cli/regrid.h"
#include "../../reference/io/safetensors.h"
#include "../../reference/runtime/steps.h"

/* The equations.  B^a is optional only in Eq. 5; "local" is Eq. 10 with a kernel of 3 on every axis. */
static const char *const variants[] = {
    "--equation 4", "--equation 5", "--equation 6", "--equation 7", "--equation 10", "--equation 5", "local", NULL,
};
static const char *const variants_without[] = {"", "ba", "", "", "", "", ""};

static void join(char *all, size_t arena, const char *options, const char *variant)
{
    static const char *const local[] = {"--kernel 3", "--kernel 3x3", "--kernel 3x3x3"};
    size_t further = 0;         /* axes after the first */
    for (const char *at = options; *at; at++) further += *at == 'x';
    if (!strcmp(variant, "local") && further < COUNT(local)) variant = local[further];
    snprintf(all, arena, "%s %s", options, variant);
}

static const struct battery_case sizes[] = {
    {"--grid 1", 1, 1, "D=1", "b_qkv w_o b_o"},
    {"--grid 1 --heads 2", 3, 6, "D=2", ""},
    {"--grid 7", 1, 3, "D=2", "b_qkv w_o b_o"},
    {"--grid 1x1", 1, 3, "D=3", ""},
    {"--grid 1x5 --heads 2", 1, 6, "D=2", ""},
    {"--grid 5x1", 1, 16, "D=1", "b_qkv w_o b_o"},
    {"--grid 13x7", 1, 3, "D=3", ""},
    {"--grid 8x8 --heads 2", 3, 32, "D=16", ""},
    {"--grid 14x14 --heads 2", 1, 6, "D=2", "b_qkv w_o b_o"},
    {"--grid 5x12", 1, 17, "D=3", ""},
    {"--grid 2x3x4 --heads 3", 3, 9, "D=2", ""},
    {"--grid 3x5x7 --heads 3", 1, 3, "D=1", "b_qkv w_o b_o"},
    {"--grid 64", 1, 17, "D=3", ""},
    {"--grid 2 --heads 5", 2, 5, "D=16", "b_qkv w_o b_o"},
    {"--grid 31", 1, 4, "D=2", ""},
    {"--grid 4x4x4", 1, 16, "D=16", "b_qkv w_o b_o"},
    {"--grid 6x10 --heads 4", 2, 32, "D=4", ""},
    {"--grid 11x11", 1, 5, "D=7", "b_qkv w_o b_o"},
    {"--grid 3x5", 1, 3, "D=35", ""},
    {0},
};

static const struct battery_case windows[] = {
    {"--grid 31 --kernel 1", 2, 4, "D=3", ""},
    {"--grid 12x7 --heads 2 --kernel 3x5", 2, 10, "D=3", ""},
    {"--grid 2x3 --heads 2 --kernel 5x5", 2, 6, "D=2", ""},
    {"--grid 60 --kernel 7", 2, 17, "D=5", ""},
    {"--grid 4x3x6 --heads 2 --kernel 3x3x3", 2, 6, "D=4", ""},
    {"--grid 60 --kernel 119", 2, 17, "D=5", ""},
    {"--grid 12x14 --kernel 13x13", 2, 16, "D=16", ""},
    {"--grid 8x9 --heads 2 --kernel 15x17", 2, 6, "D=3", ""},
    {"--grid 4x5x6 --kernel 7x5x9", 2, 5, "D=4", "b_qkv w_o b_o"},
    {"--grid 8x9 --heads 2 --kernel 21x25", 2, 6, "D=3", ""},
    {0},
};
enum { ON_CIRCLES = 5 };        /* the first window that the fast form computes by transforms */

static const struct battery_error errors[] = {
    {"--grid 6x5 --kernel 4x3", "option --kernel: found '4x3', expected odd sizes", 4},
    {"--grid 6x5 --kernel 3", "option --kernel: found 1 axes, expected 2 as the grid has", 4},
    {"--grid 6x5 --kernel 0x3", "option --kernel: ", 4},
    {"--grid 6x5 --kernel 3x3 --equation 7",
     "option --kernel: found with --equation 7, expected only with --equation 10", 4},
    {0},
};

static const struct battery_case counted[] = {
    {"--grid 1", 1, 1, "D=1", "b_qkv w_o b_o"},
    {"--grid 7", 1, 3, "D=2", "b_qkv w_o b_o"},
    {"--grid 5x4 --heads 2", 2, 6, "D=2", ""},
    {"--grid 2x3x4 --heads 3", 1, 6, "D=5", "b_qkv w_o b_o"},
    {"--grid 1x9", 3, 16, "D=3", ""},
    {"--grid 8x8 --heads 2", 1, 8, "D=4", "b_qkv w_o b_o"},
    {0},
};

static const struct battery_case memory[] = {
    {"--grid 64", 1, 4, "D=2", "b_qkv w_o b_o"},
    {"--grid 8x9", 1, 8, "D=3", "b_qkv w_o b_o"},
    {"--grid 3x4x5", 1, 3, "D=5", "b_qkv w_o b_o"},
    {0},
};

/* Memory of the plain form: spectra of the kernels; per thread those of key, value and a convolution; two latents, the
 * places of tokens, roots of unity and a line. */
static double spectra(const struct lisa_problem *l)
{
    struct circulant circle;
    succeeds(circulant_create(&circle, &l->grid, &l->window, l->wraps, false));
    double P = (double)(circle.points + circle.points % 2), c = (double)l->heads.c, pairs = ceil((double)l->D / 2);
    double columns = l->equation == 5 ? 1 : c, N = (double)l->heads.N, sides = 0, longest = 1, bytes;
    for (int a = 0; a < GRID_AXES; a++) {
        sides += (double)circle.size[a];
        longest = fmax(longest, (double)circle.size[a]);
    }
    if (l->equation == 4) bytes = real_bytes(2 * P * (double)l->e_columns);
    else bytes = real_bytes(2 * P * pairs * columns) + real_bytes(2 * P * pairs) + 2 * real_bytes(2 * P * c)
                 + real_bytes(2 * N);
    return bytes + real_bytes(2 * P) + real_bytes(N * sizeof(size_t) / sizeof(real)) + 2 * real_bytes(2 * sides)
           + real_bytes(6 * longest);
}

/* The memory stated in reference/lisa.h (LiSA, Table 1), and what the table leaves out: q, k and v as projected, the
 * dense copies of a head and y, and the plan itself. */
static double stated(const struct problem *p, const struct form *form)
{
    const struct lisa_problem l = resolved(p);
    double N = (double)l.heads.N, c = (double)l.heads.c, D = (double)l.D, columns = l.equation == 5 ? 1 : c, tensors;
    double others = real_bytes(3 * N * c) + 4 * real_bytes(N * c) + plan_bytes(&lisa, form);
    if (!strcmp(form->name, "plain")) return others + spectra(&l);
    if (strcmp(form->name, "naive")) return -1;
    if (l.equation == 4) tensors = 2 * real_bytes(N * N);
    else if (l.equation == 10) tensors = 2 * real_bytes(N * c * D);
    else tensors = real_bytes(N * N * columns * D) + real_bytes(N * N * columns) + real_bytes(N * N * D)
                   + real_bytes(N * D) + real_bytes(N * N);
    return tensors + others;
}

/* A layer of four tokens and one channel: q = 1, k = sign(x - 2.5), v = x, B^a = 1; every form must give `expected`. */
static void by_hand(const char *title, const char *options, const char *key, const real *a, const char *value,
                    const real *b, const real *expected)
{
    struct fixture t = fixture(options, &lisa, 1, 1, "D=1", "w_o b_o");
    for (size_t n = 0; n < 4; n++) t.x[n] = (real)(n + 1);
    fixture_put(&t, "w_qkv", (real[]){0, 1, 1});
    fixture_put(&t, "b_qkv", (real[]){1, (real)-2.5, 0});
    fixture_put(&t, key, a);
    fixture_put(&t, value, b);
    fixture_fill(&t, "ba", 1);
    fixture_fill(&t, "bb", 0);

    const struct form *form;
    for (int f = 0; (form = operator_form_at(&lisa, f)); f++) {
        real *y = fixture_run(&t, form->name, 1);
        printf("%-22s %-5s y = %4.1f %4.1f %4.1f %4.1f\n", title, form->name,
               (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
        within(title, relative_difference(y, expected, 4), 64 * UNIT_ROUNDOFF);
    }
}

static const real by_hand_spectrum[3][8] = {            /* of v, of w^b, and their product */
    {10, 0, -2, 2, -2, 0, -2, -2}, {2, 0, 1, -1, 0, 0, 1, 1}, {20, 0, 0, 4, 0, 0, 0, -4},
};

/* The example of chapter 1.  x = (1, 2, 3, 4) becomes q = (1, 1, 1, 1), k = (-1, -1, 1, 1) and v = x; the kernels are
 * w^a = (1, -1, 0, 0) and w^b = (1, 1, 0, 0).  On a circle (Eq. 10) every form gives (-5, 3, 15, 7), on a line (Eq. 7)
 * (0, 3, 15, 7): only token 0 differs.  With w^a = 0 they convolve v with w^b: (5, 3, 5, 7) and (1, 3, 5, 7).
 * Tolerance 64 u of the largest entry: three transforms of at most 8 points, with 2 roundings in each of 3 stages, and
 * three products. */
TEST(lisa_by_hand)
{
    static const real none[7] = {0}, wa[] = {1, -1, 0, 0}, wb[] = {1, 1, 0, 0}, ea[] = {0, 0, -1, 1, 0, 0, 0},
                      eb[] = {0, 0, 1, 1, 0, 0, 0};

    /* Step 1: whole layers; e_{n-i} of Eq. 7 is w_{i-n} of Eq. 10. */
    by_hand("circle, values alone", "--grid 4 --equation 10", "wa", none, "wb", wb, (const real[]){5, 3, 5, 7});
    by_hand("line, values alone", "--grid 4 --equation 7", "ea", none, "eb", eb, (const real[]){1, 3, 5, 7});
    by_hand("circle", "--grid 4 --equation 10", "wa", wa, "wb", wb, (const real[]){-5, 3, 15, 7});
    by_hand("line", "--grid 4 --equation 7", "ea", ea, "eb", eb, (const real[]){0, 3, 15, 7});

    /* Step 2: the line, on a circle of five with one empty place. */
    grid seats;
    real G[5];
    succeeds(grid_parse(&seats, "5"));
    lisa_naive_circular_value(G, (const real[]){1, 2, 3, 4, 0}, (const real[]){1, 1, 0, 0, 0}, none, &seats, 1, 1);
    equal(G, (const real[]){1, 3, 5, 7, 4}, 5);

    /* Step 3: the spectra, by the plain transform. */
    struct number z[3][4] = {{{1, 0}, {2, 0}, {3, 0}, {4, 0}}, {{1, 0}, {1, 0}}};
    struct arena arena = arena_open(1);
    struct fourier f = {0};
    fourier_prepare(&f, &arena, (size_t[]){4, 1, 1});
    succeeds(arena_allocate(&arena, NULL));
    fourier_load(&f);
    arena_begin(&arena, PER_RUN);
    struct number *line = arena_thread(&arena, f.line, 0);
    for (int s = 0; s < 2; s++) fourier_transform(z[s], &f, false, line);
    for (int k = 0; k < 4; k++)
        z[2][k] = (struct number){z[0][k].re * z[1][k].re - z[0][k].im * z[1][k].im,
                                  z[0][k].re * z[1][k].im + z[0][k].im * z[1][k].re};
    for (int s = 0; s < 3; s++) {
        for (int k = 0; k < 4; k++)
            printf("%5.1f %+.1f i%s", (double)z[s][k].re, (double)z[s][k].im, k < 3 ? "," : "\n");
        within("a spectrum", relative_difference(&z[s][0].re, by_hand_spectrum[s], 8), 64 * UNIT_ROUNDOFF);
    }

    /* Step 4: transformed back, times four. */
    fourier_transform(z[2], &f, true, line);
    within("back", relative_difference(&z[2][0].re, (const real[]){20, 0, 12, 0, 20, 0, 28, 0}, 8), 64 * UNIT_ROUNDOFF);
    arena_end(&arena);
    arena_release(&arena);
}

/* LiSA, Tab. 3c: the fast form computes small local kernels directly, large ones by transforms. */
TESTS(large_kernels_use_transforms, COUNT(windows) - 1)
{
    const struct battery_case *w = &windows[_i];
    struct problem p = shaped(w->options, &lisa, w->batch, w->channels, w->sizes, w->without);
    const struct lisa_problem l = resolved(&p);
    ck_assert(lisa_local_is_cheaper(&l) == (_i < ON_CIRCLES));
}

/* LiSA, Tab. 3b, "SA (Eq. 4 w/ h RPEs)": head a uses only column a of e [P,h], as if it were e [P,1].  Tolerance: zero
 * in the naive form, twice that of two forms in the others. */
TEST(heads_may_have_their_own_rpe)
{
    struct fixture shared = fixture("--grid 3x4 --equation 4 --heads 3", &lisa, 2, 9, "", "b_qkv w_o b_o");
    struct fixture each = shared;
    size_t C = 9, h = 3, P = shared.problem.grid.offsets;
    real *own = normal(3, P * h), *column = fixture_tensor(&shared, "e");

    /* Step 1: all three columns, bound from a list of tensors, as `apply` does. */
    struct tensors file = file_of("x 2x12x9 w_qkv 27x9 e 35x3", "");
    memcpy(file.tensor[1].data, fixture_tensor(&each, "w_qkv"), 3 * C * C * sizeof *own);
    file.tensor[2].data = own;
    succeeds(bound_to(&each.problem, "--grid 3x4 --equation 4 --heads 3", &lisa, &file));

    /* Step 2: compare each head with a problem whose heads all share its column. */
    const struct form *form;
    for (int f = 0; (form = operator_form_at(&lisa, f)); f++)
        for (size_t a = 0; a < h; a++) {
            for (size_t r = 0; r < P; r++) column[r] = own[r * h + a];
            real *y = fixture_run(&each, form->name, 2), *y_shared = fixture_run(&shared, form->name, 2);
            double allowed = f == 0 ? 0 : 2 * property_tolerance(&each.problem) * largest(y, each.outputs);
            double error = 0, others = 0;
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

static real *on_another_grid(const real *x, const char *from_text, const char *to_text, enum regrid_rule rule)
{
    grid from, to;
    succeeds(grid_parse(&from, from_text));
    succeeds(grid_parse(&to, to_text));
    real *y = zeros(to.tokens);
    succeeds(regrid(y, x, 1, from.size, to.size, 1, rule));
    return y;
}

/* LiSA, appendix B, "simple interpolation", has two readings.  For taps 1/4, 1/2, 1/4 on 14 tokens, zeros at new
 * frequencies stretch the kernel with the image; an interpolated spectrum keeps the kernel's width.  Tolerance: 0.003
 * for the error of the cubic rule; half the last digit printed in chapter 1. */
TEST(appendix_b_has_two_readings)
{
    static const double printed[] = {0.292, 0.233, 0.110, 0.018};
    real taps[14] = {(real)0.5, (real)0.25}, same[24] = {(real)0.5, (real)0.25};
    taps[13] = same[23] = (real)0.25;
    real *zero = on_another_grid(taps, "14", "24", REGRID_ZEROS);
    real *bins = on_another_grid(taps, "14", "24", REGRID_SPECTRUM);
    within("spectrum keeps the taps", largest_difference(bins, same, 24), 0.003);
    for (int m = 0; m < 4; m++) within("zeros, as printed in chapter 1", fabs((double)zero[m] - printed[m]), 0.0005);
    beyond("the readings", largest_difference(zero, bins, 24), 0.2);
}

/* The rules zeros and spectrum keep the sum of a kernel, and change nothing on the same grid.  Tolerance: 4 N roundings
 * for a sum, 64 for an entry. */
TESTS(resampled_kernels_keep_their_sum, 6)
{
    static const struct { const char *from, *to; } step[] = {
        {"14", "24"}, {"7", "12"}, {"14x14", "24x24"}, {"7x8", "9x20"}, {"4x5x6", "8x5x9"}, {"1x6", "1x7"},
    };
    grid from, to;
    succeeds(grid_parse(&from, step[_i].from));
    succeeds(grid_parse(&to, step[_i].to));
    real *kernel = uniform(7, from.tokens, -1, 1);
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

/* Resampling equals PyTorch's F.interpolate: with aligned corners between rfft2 and irfft2 for the rule spectrum,
 * without them for the rule bicubic (tests/pytorch/resample.py).  Tolerance: 64 roundings of the largest entry. */
static const struct { const char *name, *from, *to; enum regrid_rule rule; } resampled_by_pytorch[] = {
    {"spectrum", "6x5", "9x8", REGRID_SPECTRUM}, {"spectrum_even", "4x6", "7x11", REGRID_SPECTRUM},
    {"spectrum_smaller", "6x8", "5x4", REGRID_SPECTRUM}, {"tokens", "4x3", "6x7", REGRID_BICUBIC},
    {"tokens_smaller", "7x4", "3x4", REGRID_BICUBIC}, {"offsets", "5x3", "7x9", REGRID_BICUBIC},
};
TESTS(resampling_is_pytorchs, COUNT(resampled_by_pytorch))
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

/* Errors: zeros cannot be added to an axis that shrinks, and an axis without tokens has no kernel.  No memory leaks. */
TEST(impossible_resampling_is_an_error)
{
    real y[16], x[16] = {0};
    size_t before = memory_in_use();
    rejected(regrid(y, x, 1, (size_t[]){4, 1, 1}, (size_t[]){3, 1, 1}, 1, REGRID_ZEROS), STATUS_BAD_INPUT,
            "found 3 tokens along axis 1 for 4");
    rejected(regrid(y, x, 1, (size_t[]){4, 0, 1}, (size_t[]){4, 1, 1}, 1, REGRID_BICUBIC), STATUS_BAD_INPUT,
            "found no token along axis 2");
    for (long requests = 0; requests < 3; requests++) {
        memory_fail_after(requests);
        status s = regrid(y, x, 1, (size_t[]){3, 1, 1}, (size_t[]){4, 1, 1}, 1, REGRID_ZEROS);
        memory_fail_after(-1);
        rejected(s, STATUS_FAILURE, "a resampled table");
        ck_assert_uint_eq(memory_in_use(), before);
    }
}

int main(void)
{
    static const struct battery tables = {
        .operator = &lisa, .golden = true, .variants = variants, .variants_without = variants_without, .join = join,
        .sizes = sizes, .errors = errors, .counted = counted, .memory = memory, .stated = stated,
    };
    static const struct battery local = {.operator = &lisa, .sizes = windows};
    Suite *suite = suite_of_tests("LiSA");
    add_battery(suite, &tables);
    add_battery(suite, &local);
    return run_suite(suite);
}
