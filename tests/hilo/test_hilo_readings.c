/* test_hilo_readings.c -- HiLo on positions (Sec. 3 and 4.2): tables of offsets, and the border */

#include "hilo_case.h"
#include "../../reference/msa.h"

static const char *const forms[] = {"naive", "plain", "fast"};

static struct tensors file_without(const struct declaration *d, size_t tokens, const char *without)
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
    struct tensors file = file_without(d, 4000, without);
    struct problem p;
    succeeds(problem_create(&p, d, 4, LIST(const char *, "--grid", "50x80", "--heads", "3")));
    status s = problem_bind(&p, &file);
    for (size_t t = 0; t < file.count; t++) tensor_release(&file.tensor[t]);
    return s;
}

/* HiLo, Sec. 3 and 4.2: a table of offsets fits one plane only.  It has 27^2 = 729 entries at 224 x 224 pixels, 99 *
 * 159 = 15741 at 800 x 1280.  A file of the smaller plane with x of the larger one is rejected if it has a table. */
TEST(relative_positions_belong_to_their_plane)
{
    struct problem small = shaped("--grid 14x14 --heads 3", &msa, 1, 24, "", "");
    struct problem large = shaped("--grid 50x80 --heads 3", &msa, 1, 24, "", "");
    ck_assert_uint_eq(problem_axis(&small, "rpe", 0), 729);
    ck_assert_uint_eq(problem_axis(&large, "rpe", 0), 15741);

    rejected(bind_on_50x80(&msa, ""), STATUS_BAD_INPUT, "tensor rpe: found [729, ");
    succeeds(bind_on_50x80(&msa, "rpe"));
    succeeds(bind_on_50x80(&hilo, ""));
}

/* HiLo, Sec. 4.2: equal tokens have equal outputs, unless the plane is padded with zeros.  A convolution does detect
 * the border: zero_padding_reveals_the_border. */
TEST(attention_does_not_see_the_border)
{
    enum { N = 36, C = 2 };
    struct fixture t = fixture("--grid 6x6 --heads 2 --alpha 0.5", &hilo, 1, C, "", "");
    struct fixture padded = fixture("--grid 5x5 --heads 2 --alpha 0.5", &hilo, 1, C, "", "");
    struct fixture plain = fixture("--grid 6x6 --heads 2", &msa, 1, C, "", "rpe");
    const real *x = filled(N * C, 1);
    for (size_t f = 0; f < COUNT(forms); f++) {
        const real *const y[] = {fixture_run_on(&t, forms[f], 1, x), fixture_run_on(&plain, forms[f], 1, x)};
        for (size_t o = 0; o < COUNT(y); o++)
            within(o ? "self-attention" : "HiLo", relative_difference(y[o] + C, y[o], (N - 1) * C),
                   property_tolerance(&t.problem));
        const real *seen = fixture_run_on(&padded, forms[f], 1, x);
        beyond("HiLo, padded", relative_difference(seen + C, seen, 24 * C), 0.01);
    }
}

int main(void) { return run_tests("HiLo, readings"); }
