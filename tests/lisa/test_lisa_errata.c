/* test_lisa_errata.c -- statements of LiSA that do not hold as printed, or allow several readings
 *
 * Heads have small integers, so sums are exact, and the tolerance is zero unless the comment gives one. */

#include "lisa_case.h"
#include "../support/published.h"
#include "../../reference/msa.h"

/* Eq. 5 and 7 as printed: the biases are inside the sums over j and n. */
static real *to_the_letter(const struct case_head *o, bool seven)
{
    size_t N = o->N, c = o->c, D = o->D;
    real *y = zeros(N * c);
    for (size_t i = 0; i < N; i++)
        for (size_t out = 0; out < c; out++)
            for (size_t ch = 0; ch < c; ch++)
                for (size_t d = 0; d < D; d++)
                    for (size_t n = 0; n < N; n++)
                        for (size_t j = 0; j < N; j++) {
                            size_t in = grid_offset(&o->grid, i, n), ij = grid_offset(&o->grid, i, j);
                            real table = seven ? o->eac[(in * c + ch) * D + d] : o->ea[in * D + d];
                            real key_side = o->k[n * c + ch] * table + (seven ? o->Ba[ch * D + d] : 0);
                            real value_side = o->eb[ij * D + d] * o->v[j * c + out] + o->Bb[out * D + d];
                            y[i * c + out] += o->q[i * c + ch] * key_side * value_side;
                        }
    return y;
}

/* LiSA, Eq. 5-8 and Fig. 6, 7: "+ B" inside the sums over j and n counts N times; the figures add it once.  With B/N in
 * the equation, or N B in the figure, both are equal; sixteenths are exact. */
TESTS(bias_inside_the_sum_counts_n_times, 2)
{
    struct case_head o = integer_head("4x4", 2, 2), parts = o, many = o;
    bool seven = _i == 1;
    equation figure = seven ? eq7 : eq5;
    parts.Ba = sum_of(zeros(4), 1.0 / 16, o.Ba, 4);
    parts.Bb = sum_of(zeros(4), 1.0 / 16, o.Bb, 4);
    many.Ba = sum_of(zeros(4), 16, o.Ba, 4);
    many.Bb = sum_of(zeros(4), 16, o.Bb, 4);
    unequal(to_the_letter(&o, seven), figure(&o), 32);
    equal(to_the_letter(&parts, seven), figure(&o), 32);
    equal(to_the_letter(&o, seven), figure(&many), 32);
}

/* G_i = sum over offsets t of w(t) a_{i-t}, a convolution in mathematics, or of w(t) a_{i+t}, a convolution in deep
 * learning.  a is zero off the grid; w is a table [P]. */
static real *convolution(const struct case_head *o, const real *a, const real *w, bool mathematics)
{
    real *G = zeros(o->N);
    for (size_t i = 0; i < o->N; i++)
        for (size_t n = 0; n < o->N; n++)
            G[i] += w[mathematics ? grid_offset(&o->grid, n, i) : grid_offset(&o->grid, i, n)] * a[n];
    return G;
}

/* LiSA, Eq. 2 and 9: T(e) k is the correlation with e (deep learning's *), which is the convolution with the flipped
 * table.  Eq. 10 convolves.  A symmetric table gives both. */
TESTS(eq9_convolves_with_the_table_of_eq2_flipped, 3)
{
    static const char *const grids[] = {"7", "5x6", "2x3x4"};
    struct case_head o = integer_head(grids[_i], 1, 1);
    real *flipped = zeros(o.P), *Rk = matrix_product(toeplitz_of(&o.grid, o.e, 1), o.k, o.N, o.N, 1);
    for (size_t entry = 0; entry < o.P; entry++) flipped[entry] = o.e[o.P - 1 - entry];
    equal(convolution(&o, o.k, o.e, false), Rk, o.N);
    unequal(convolution(&o, o.k, o.e, true), Rk, o.N);
    equal(convolution(&o, o.k, flipped, true), Rk, o.N);

    real *symmetric = sum_of(o.e, 1, flipped, o.P);
    Rk = matrix_product(toeplitz_of(&o.grid, symmetric, 1), o.k, o.N, o.N, 1);
    equal(convolution(&o, o.k, symmetric, true), Rk, o.N);
}

/* LiSA, Fig. 7 (dim = 1 of [B,N,C]) and appendix A.1, "2D RFFT/IRFFT for images", differ.  On 5 x 6 tokens
 * (W-1)/2W = 5/12 of all pairs get other weights; on one row both are the same. */
TEST(fig7_on_flattened_tokens_is_another_operator)
{
    struct case_head plane = integer_head("5x6", 3, 2), line = integer_head("30", 3, 2);
    size_t pairs = 0;
    unequal(eq10(&plane), eq10(&line), 90);
    for (size_t i = 0; i < 30; i++)
        for (size_t n = 0; n < 30; n++) pairs += grid_circular(&plane.grid, i, n) != grid_circular(&line.grid, i, n);
    ck_assert_uint_eq(pairs * 12, 5 * 30 * 30);

    struct case_head row = integer_head("1x7", 3, 2), seven = integer_head("7", 3, 2);
    equal(eq10(&row), eq10(&seven), 21);
}

/* LiSA, Eq. 2 and Sec. 4.1: e in R^{2N-1} is for a line; a plane has (2H-1)(2W-1) entries.  On 5 x 6 tokens the pairs
 * (4, 5) and (5, 6) share an entry of the line's table. */
TEST(eq2_on_flattened_tokens_confuses_the_ends_of_rows)
{
    grid plane, line;
    succeeds(grid_parse(&plane, "5x6"));
    succeeds(grid_parse(&line, "30"));
    ck_assert_uint_eq(line.offsets, 59);
    ck_assert_uint_eq(plane.offsets, 99);
    ck_assert_uint_eq(grid_offset(&line, 4, 5), grid_offset(&line, 5, 6));
    ck_assert_uint_ne(grid_offset(&plane, 4, 5), grid_offset(&plane, 5, 6));
}

/* Parameters of one operator of Tab. 3: 14 x 14 tokens of 192 channels, 12 heads; with or without biases of the
 * projections; without the named tensor. */
static double parameters(const struct declaration *d, const char *which, size_t D, bool biases, const char *without)
{
    char options[80], latents[24] = "", left_out[32];
    snprintf(options, sizeof options, "--grid 14x14 --heads 12%s", which);
    snprintf(left_out, sizeof left_out, "%s%s", biases ? "" : "b_qkv b_o ", without);
    if (D) snprintf(latents, sizeof latents, "D=%zu", D);
    struct problem p = shaped(options, d, 1, 192, latents, left_out);
    return (double)problem_parameters(&p);
}

/* The rest of the model: a ViT of 12 blocks for N tokens from patches of 16 x
 * 16 pixels, with positions, mean pooling and 1000 classes (appendix A.1). */
static double backbone(size_t N)
{
    double C = 192, embedding = 16 * 16 * 3 * C + C, positions = (double)N * C, classes = C * 1000 + 1000;
    double norms = 4 * C, mlp = C * 4 * C + 4 * C + 4 * C * C + C;
    return embedding + positions + 12 * (norms + mlp) + 2 * C + classes;
}

/* Parameters of the model in millions. */
static double millions(double one, size_t N) { return (backbone(N) + 12 * one) / 1e6; }

/* Rows of Tab. 3: the operator, the tensor that it lacks, its number of RPEs, biases in its projections. */
static const struct {
    const char *table, *row;
    const struct declaration *d;
    const char *which, *without;
    size_t D;
    double rpes;
    bool biases;
} tab_3[] = {
    {"3b", "Self-attn", &msa, "", "rpe", 0, 1, true},
    {"3b", "Self-attn w/ RPE", &msa, "", "", 0, 1, false},
    {"3b", "Self-attn w/ h RPEs", &msa, "", "", 0, 12, false},
    {"3b", "SA (Eq. 4)", &lisa, " --equation 4", "", 0, 1, false},
    {"3b", "SA (Eq. 4 w/ h RPEs)", &lisa, " --equation 4", "", 0, 12, false},
    {"3b", "SA (Eq. 5)", &lisa, " --equation 5", "ba", 16, 1, false},
    {"3b", "+ bias term Ba", &lisa, " --equation 5", "", 16, 1, false},
    {"3b", "+ Hadamard corr", &lisa, " --equation 7", "", 16, 1, false},
    {"3b", "LiSA", &lisa, " --equation 10", "", 16, 1, true},
    {"3c", "Local 3x3", &lisa, " --kernel 3x3", "", 16, 1, true},
    {"3c", "Local 5x5", &lisa, " --kernel 5x5", "", 16, 1, true},
    {"3c", "Local 7x7", &lisa, " --kernel 7x7", "", 16, 1, true},
    {"3c", "Global", &lisa, "", "", 16, 1, true},
    {"3d", "D=1", &lisa, "", "", 1, 1, true},
    {"3d", "D=4", &lisa, "", "", 4, 1, true},
    {"3d", "D=8", &lisa, "", "", 8, 1, true},
    {"3d", "D=16", &lisa, "", "", 16, 1, true},
};

static double tab_3_millions(int row, bool biases)
{
    double one = parameters(tab_3[row].d, tab_3[row].which, tab_3[row].D, biases, tab_3[row].without);
    return millions(one + (tab_3[row].rpes - 1) * 27 * 27, 196);
}

/* LiSA, Tab. 3b, 3c and 3d hold to the last digit (0.005 M) if the seven rows with an N x N RPE have no biases in their
 * projections.  With biases these rows are 0.006 to 0.013 M too large. */
TESTS(shapes_give_the_parameters_of_tab_3, COUNT(tab_3))
{
    double printed = published("lisa", tab_3[_i].table, tab_3[_i].row, "parameters");
    within(tab_3[_i].row, fabs(tab_3_millions(_i, tab_3[_i].biases) - printed), 0.005);
    within("    with biases", fabs(tab_3_millions(_i, true) - printed), 0.015);
    if (tab_3[_i].biases) return;
    beyond("    more than rounding", fabs(tab_3_millions(_i, true) - printed), 0.005);
}

/* LiSA, Eq. 2 and Tab. 3b: the RPEs are tables of the plane, not of a line.  The Hadamard correlation adds 15 tables
 * for each of 16 latents in 12 blocks.  Tolerance: two rounded rows. */
TEST(rpes_of_tab_3b_are_tables_of_the_plane)
{
    double step = published("lisa", "3b", "+ Hadamard corr", "parameters")
                - published("lisa", "3b", "+ bias term Ba", "parameters");
    grid plane, line;
    succeeds(grid_parse(&plane, "14x14"));
    succeeds(grid_parse(&line, "196"));
    beyond("tables of a line", fabs(12.0 * 15 * 16 * (double)line.offsets / 1e6 - step), 0.01);
    within("tables of the plane", fabs(12.0 * 15 * 16 * (double)plane.offsets / 1e6 - step), 0.01);
}

/* LiSA, Sec. 4.3, "the half size of parameters": the ratio is prod (2 - 1/n) over the axes, about 2 only on a line. */
static const struct { const char *grid; size_t table, kernel; double ratio; } halves[] = {
    {"196", 391, 196, 1.995}, {"14x14", 729, 196, 3.719}, {"8x14x14", 10935, 1568, 6.974},
};
TESTS(half_the_parameters_is_a_quarter_on_a_plane, COUNT(halves))
{
    struct problem p[2];
    for (int e = 0; e < 2; e++) {
        char options[60];
        snprintf(options, sizeof options, "--grid %s --equation %s", halves[_i].grid, e ? "10" : "7");
        p[e] = shaped(options, &lisa, 1, 4, "D=2", "b_qkv w_o b_o");
    }
    ck_assert_uint_eq(problem_axis(&p[0], "ea", 0), halves[_i].table);
    ck_assert_uint_eq(problem_axis(&p[1], "wa", 0), halves[_i].kernel);
    size_t shared = 3 * 4 * 4 + 2 * 4 * 2;      /* w_qkv, ba, bb */
    ck_assert_uint_eq(problem_parameters(&p[0]) - shared, halves[_i].table * (4 + 1) * 2);
    ck_assert_uint_eq(problem_parameters(&p[1]) - shared, halves[_i].kernel * (4 + 1) * 2);
    double ratio = (double)halves[_i].table / (double)halves[_i].kernel;
    within("tables over kernels", fabs(ratio - halves[_i].ratio), 0.0005);
}

int main(void) { return run_tests("LiSA, errata and readings"); }
