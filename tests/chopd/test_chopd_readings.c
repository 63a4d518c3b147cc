/* test_chopd_readings.c -- points that ChoP'D leaves open, and the consequences of each reading
 *
 * Tests without a tolerance are exact, on integers. */

#include "chopd_case.h"
#include "dfc_case.h"

void counted_chopd_larger(real *u13, const real *map, const struct chopd_problem *p);

static struct dfc_problem integer_factors(size_t rows)
{
    enum { B = 2, N = 6, C = 3, D = 2, R = 4 };
    return (struct dfc_problem){
        .B = B, .M = N, .N = N, .C = C, .D = D, .R = R,
        .u1 = integers(1, B * R, 3), .u2 = integers(2, rows * R, 3), .u3 = integers(3, N * R, 3),
        .u4 = integers(4, C * R, 3), .u5 = integers(5, D * R, 3),
    };
}

/* ChoP'D, Eq. 6, footnote 1: if u3 is 1, all tokens out are equal in Eq. 5, for any u2.  If m is relative to n, as in
 * sliding patches with zero padding, they are not. */
TEST(relative_reading_of_eq6_is_another_layer)
{
    struct dfc_problem f = integer_factors(11);
    real *x = integers(9, 2 * 6 * 3, 3);
    struct steps count;
    f.u3 = filled(6 * 4, 1);
    real *dense = eq5_in_eq3(&f, x);
    equal(eq6(&f, x, ABSOLUTE, &count), dense, 2 * 6 * 2);
    for (size_t n = 1; n < 6; n++) equal(dense + n * 2, dense, 2);
    real *relative = eq6(&f, x, RELATIVE, &count);
    unequal(relative + 2, relative, 2);
    unequal(relative, dense, 2 * 6 * 2);
}

/* Derived from Eq. 5 and 6: the relative reading is the absolute one with a term for each component and token out. */
TEST(relative_reading_is_absolute_with_r_n_terms)
{
    enum { B = 2, N = 6, C = 3, D = 2, R = 4, MANY = R * N };
    struct dfc_problem f = integer_factors(2 * N - 1);
    struct steps count;
    struct fixture t = fixture("--activation none", &dfc_cp, B, C, "M=6 N=6 D=2 R=24", "");
    real *u1 = fixture_tensor(&t, "u1"), *u2 = fixture_tensor(&t, "u2"), *u3 = fixture_tensor(&t, "u3");
    real *u4 = fixture_tensor(&t, "u4"), *u5 = fixture_tensor(&t, "u5");
    t.x = integers(9, B * N * C, 3);
    fixture_fill(&t, "b", 0);
    for (size_t term = 0; term < MANY; term++) {
        size_t r = term / N, at = term % N;
        for (size_t i = 0; i < B; i++) u1[i * MANY + term] = f.u1[i * R + r];
        for (size_t m = 0; m < N; m++) u2[m * MANY + term] = f.u2[(m + N - 1 - at) * R + r];
        for (size_t n = 0; n < N; n++) u3[n * MANY + term] = n == at ? f.u3[n * R + r] : 0;
        for (size_t c = 0; c < C; c++) u4[c * MANY + term] = f.u4[c * R + r];
        for (size_t d = 0; d < D; d++) u5[d * MANY + term] = f.u5[d * R + r];
    }
    real *y = eq6(&f, t.x, RELATIVE, &count);
    ck_assert(largest(y, t.outputs) > 2);
    forms_equal(&t, y);
}

/* ChoP'D, Eq. 8 and 10: u2_mr = sum_g P_mrg E_rg holds if m is one of the 5 x 7 offsets on 3 x 4 tokens.  If m counts
 * tokens, all tokens out are equal; if P is shifted by one offset, the layer differs.  Exact: sides are powers of
 * two. */
TEST(eq8_needs_no_n_on_unfolded_tokens)
{
    enum { H = 3, W = 4, N = H * W, C = 2, D = 3, R = 2, G = 2, DOWN = 2 * H - 1, ACROSS = 2 * W - 1 };
    enum { AS_UNFOLDED, AS_TOKENS, MOVED, WAYS };
    static const real box[R * G][4] = {
        {-1.25, -1, .75, 3}, {-.5, -3.5, .5, .5}, {0, 0, 2, 2}, {-3.75, .25, .25, 1.25},
    };
    struct fixture t = fixture("--grid 3x4 --activation none", &chopd, 1, C, "R=2 D=3 G=2 S=1", "");
    const struct chopd_problem p = chopd_of(&t.problem);
    real *u2 = zeros(DOWN * ACROSS * R), *y[WAYS];
    make_integer(&t);
    fixture_put(&t, "boxes", box[0]);
    fixture_fill(&t, "b", 0);
    open_gate(&t);

    for (size_t at = 0; at < DOWN * ACROSS; at++)
        for (size_t rg = 0; rg < R * G; rg++) {
            double down = (double)(at / ACROSS) - (H - 1), across = (double)(at % ACROSS) - (W - 1);
            const real *b = box[rg];
            double shared = overlap(down, (double)b[0], (double)b[2]) * overlap(across, (double)b[1], (double)b[3]);
            double P = shared / (double)((b[2] - b[0]) * (b[3] - b[1]));
            u2[at * R + rg / G] += (real)P * p.mix[rg];
        }
    for (int way = 0; way < WAYS; way++) {
        y[way] = zeros(N * D);
        for (size_t nm = 0; nm < N * N; nm++) {
            size_t n = nm / N, m = nm % N, out = way == AS_TOKENS ? 0 : n;
            size_t offset = (m / W + H - 1 - out / W) * ACROSS + m % W + W - 1 - out % W;
            if (way == MOVED) offset = (offset + 1) % (DOWN * ACROSS);
            for (size_t cdr = 0; cdr < C * D * R; cdr++) {
                size_t c = cdr / (D * R), d = cdr / R % D, r = cdr % R;
                y[way][n * D + d] += t.x[m * C + c] * p.u4[c * R + r] * u2[offset * R + r] * p.u5[d * R + r];
            }
        }
    }
    forms_equal(&t, y[AS_UNFOLDED]);
    for (size_t n = 1; n < N; n++) equal(y[AS_TOKENS] + n * D, y[AS_TOKENS], D);
    unequal(y[AS_UNFOLDED] + D, y[AS_UNFOLDED], D);
    unequal(y[MOVED], y[AS_UNFOLDED], N * D);
}

/* The largest 2 x 2 minor of a gate [images][N][R], over two images and two tokens, relative to the square of the
 * largest entry. */
static double largest_minor(const real *gate, size_t images, size_t N, size_t R)
{
    double most = 0, entry = largest(gate, images * N * R);
    for (size_t i = 0; i < images; i++)
        for (size_t j = 0; j < i; j++)
            for (size_t m = 0; m < N; m++)
                for (size_t n = 0; n < m; n++)
                    for (size_t r = 0; r < R; r++) {
                        const real *a = gate + i * N * R + r, *b = gate + j * N * R + r;
                        worse(&most, fabs((double)a[m * R] * (double)b[n * R] - (double)a[n * R] * (double)b[m * R]));
                    }
    return most / (entry * entry);
}

/* ChoP'D, Eq. 9 and 10: the minors of a product u1_ir u3_nr are zero; those of the gate are not.  Without phi's last
 * map they are within 16 u, the roundings of four entries. */
TEST(gate_is_not_a_product_of_image_and_token)
{
    enum { B = 3, N = 25, C = 3, R = 2 };
    for (int constant = 0; constant < 2; constant++) {
        struct fixture t = fixture("--grid 5x5 --gate-size 3", &chopd, B, C, "R=2 D=3 G=1 S=4", "");
        struct chopd_problem p = chopd_of(&t.problem);
        if (constant) fixture_fill(&t, "phi_w2", 0);
        double minor = largest_minor(gates(&p, t.x), B, N, R);
        if (constant) within("    without phi's last map", minor, 16 * UNIT_ROUNDOFF);
        else beyond("a minor of the gate", minor, 1e-3);
    }
}

/* ChoP'D, Sec. 2.3, below Eq. 9: phi's cost does not depend on N, but the interpolation costs 3 N R. */
TEST(gate_is_constant_in_n_but_its_use_is_not)
{
    double phi[2], larger[2];
    for (size_t k = 0; k < 2; k++) {
        const char *options = k ? "--grid 14x14 --gate-size 4" : "--grid 7x7 --gate-size 4";
        struct fixture t = fixture(options, &chopd, 1, 3, "R=5 D=3 G=2 S=2", "");
        struct chopd_problem p = chopd_of(&t.problem);
        phi[k] = chopd_gate_multiply_adds(&p);
        multiplications();
        counted_chopd_larger(zeros(p.N * p.R), normal(1, 16 * p.R), &p);
        larger[k] = (double)multiplications();
        ck_assert(larger[k] == 3 * (double)(p.N * p.R));
    }
    ck_assert(phi[0] == phi[1] && phi[0] == 16 * (9 * 3 * 2 + 2 * 5) && larger[1] == 4 * larger[0]);
}

int main(void) { return run_tests("ChoP'D, readings"); }
