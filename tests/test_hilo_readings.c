/* test_hilo_readings.c -- what HiLo says of positions (Sec. 3 and 4.2): tables of offsets, and zeros around a
 * convolution */

#include <stdio.h>
#include "hilo_case.h"
#include "../reference/msa.h"

static const char *const forms[] = {"naive", "fast"};

/* A file with all tensors of an operator on 14 x 14 tokens but one, x of another plane. */
static struct tensors file_of(const struct declaration *d, size_t tokens, const char *without)
{
    struct problem p = shaped("--grid 14x14 --heads 3", d, 1, 24, "", without);
    struct tensors file = {0, keep(PROBLEM_TENSORS, sizeof(struct tensor))};
    for (int row = 0; d->tensors[row].name; row++)
        if (p.tensor[row].present) {
            size_t size[TENSOR_AXES];
            memcpy(size, p.tensor[row].size, sizeof size);
            if (!row) size[1] = tokens;
            succeeds(tensor_describe(&file.tensor[file.count++], d->tensors[row].name, p.tensor[row].axes, size));
        }
    return file;
}

static status bind_on_50x80(const struct declaration *d, const char *without)
{
    struct tensors file = file_of(d, 4000, without);
    struct problem p;
    succeeds(problem_create(&p, d, 4, LIST(const char *, "--grid", "50x80", "--heads", "3")));
    status s = problem_bind(&p, &file);
    for (size_t t = 0; t < file.count; t++) tensor_release(&file.tensor[t]);
    return s;
}

/* HiLo, Sec. 3 and 4.2. 27^2 = 729 offsets at 224 x 224 pixels, 99 * 159 = 15741 at 800 x 1280. The files of the
 * first, with x of the second: one with a table is rejected, HiLo's and one without are taken. */
START_TEST(relative_positions_belong_to_their_plane)
{
    struct problem small = shaped("--grid 14x14 --heads 3", &msa, 1, 24, "", "");
    struct problem large = shaped("--grid 50x80 --heads 3", &msa, 1, 24, "", "");
    ck_assert_uint_eq(problem_axis(&small, "rpe", 0), 729);
    ck_assert_uint_eq(problem_axis(&large, "rpe", 0), 15741);

    refused(bind_on_50x80(&msa, ""), STATUS_BAD_INPUT, "tensor rpe: found [729, ");
    succeeds(bind_on_50x80(&msa, "rpe"));
    succeeds(bind_on_50x80(&hilo, ""));
}
END_TEST

enum { EDGE = 6, N = EDGE * EDGE, C = 2, HIDDEN = 3 };

/* h at a token and its eight neighbours, weighted; zeros around the plane. */
static real neighbourhood(const real *h, size_t i, size_t u)
{
    real sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int row = (int)(i / EDGE) + dy, column = (int)(i % EDGE) + dx;
            bool inside = row >= 0 && row < EDGE && column >= 0 && column < EDGE;
            if (inside) sum += (real)(3 * (dy + 1) + dx + 2) * h[(size_t)(row * EDGE + column) * HIDDEN + u];
        }
    return sum;
}

/* y = W max(0, V x), with or without a depth-wise 3 x 3 convolution after V: whole weights, all positive. */
static real *feed_forward(const real *x, bool convolution)
{
    real *h = zeros(N * HIDDEN), *y = zeros(N * C);
    for (size_t i = 0; i < N; i++)
        for (size_t u = 0; u < HIDDEN; u++)
            for (size_t ch = 0; ch < C; ch++) h[i * HIDDEN + u] += (real)(u + ch + 1) * x[i * C + ch];
    for (size_t i = 0; i < N; i++)
        for (size_t u = 0; u < HIDDEN; u++) {
            real value = convolution ? neighbourhood(h, i, u) : h[i * HIDDEN + u];
            for (size_t ch = 0; ch < C; ch++) y[i * C + ch] += (real)(2 * u + ch + 1) * (value > 0 ? value : 0);
        }
    return y;
}

/* HiLo, Sec. 4.2. Of equal tokens, HiLo, self-attention and an FFN make equal outputs; with the convolution the
 * border's are less, and corners' least. HiLo on a plane padded with zeros sees the border too. */
START_TEST(zeros_around_a_convolution_tell_the_border)
{
    real *x = zeros(N * C), *impulse = zeros(N * C);
    for (size_t i = 0; i < N * C; i++) x[i] = 1;
    for (size_t ch = 0; ch < C; ch++) impulse[(2 * EDGE + 3) * C + ch] = 1;

    struct trial both = trial("--grid 6x6 --heads 2 --alpha 0.5", &hilo, 1, C, "", "");
    struct trial padded = trial("--grid 5x5 --heads 2 --alpha 0.5", &hilo, 1, C, "", "");
    struct trial plain = trial("--grid 6x6 --heads 2", &msa, 1, C, "", "rpe");
    for (size_t f = 0; f < COUNT(forms); f++) {
        const real *const y[] = {trial_run_on(&both, forms[f], 1, x), trial_run_on(&plain, forms[f], 1, x)};
        for (size_t o = 0; o < COUNT(y); o++)
            within(o ? "self-attention" : "HiLo", relative_difference(y[o] + C, y[o], (N - 1) * C),
                   hilo_tolerance(&both.problem));
        const real *seen = trial_run_on(&padded, forms[f], 1, x);
        beyond("HiLo, padded", relative_difference(seen + C, seen, 24 * C), 0.01);
    }

    for (int convolution = 0; convolution < 2; convolution++) {
        const real *y = feed_forward(x, convolution), *seen = feed_forward(impulse, convolution);
        const real *middle = y + (2 * EDGE + 2) * C;
        size_t reached = 0;
        for (size_t i = 0; i < N; i++) {
            size_t row = i / EDGE, column = i % EDGE;
            bool border = row == 0 || row == EDGE - 1 || column == 0 || column == EDGE - 1;
            bool near = row >= 1 && row <= 3 && column >= 2 && column <= 4;
            ck_assert((y[i * C] == middle[0]) == !(border && convolution));
            ck_assert((seen[i * C] > 0) == (convolution ? near : row == 2 && column == 3));
            reached += seen[i * C] > 0;
        }
        ck_assert_uint_eq(reached, convolution ? 9 : 1);
        if (convolution) ck_assert(y[0] < y[C] && y[0] < y[EDGE * C] && y[C] < middle[0] && y[EDGE * C] < middle[0]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HiLo, readings");
    TCase *positions = add_case(suite, "positions");
    tcase_add_test(positions, relative_positions_belong_to_their_plane);
    tcase_add_test(positions, zeros_around_a_convolution_tell_the_border);
    return run_suite(suite);
}
