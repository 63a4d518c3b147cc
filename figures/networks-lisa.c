/* networks-lisa.c -- LiSA's attention kernels in a trained network, and in the same with random weights
 *
 *     build/figures/networks-lisa
 *
 * As LiSA's Fig. 5, of the second block of the tiny network that tests/pytorch/train.py
 * trains (learned.h): for a query i and a head, kappa_in = sum_d a_id wb_{i-n,d} over
 * all tokens n, Eq. 10 without its biases on the value's side.  a_id is read back
 * through the operator itself: with values of zero, bb of ones where k = d and no
 * output projection, channel k < D of the head holds a_ik.
 *
 * One matrix for the image; the D kernels wb of the values, their own middle in the
 * middle; for each query and head kappa; each over its largest magnitude. */

#include "../reference/lisa.h"
#include "learned.h"

enum { HEADS = 2, WIDTH = C / HEADS, D = 4, QUERIES = 3, PICTURE = 28 };

static const size_t query[QUERIES][2] = {{3, 10}, {8, 5}, {11, 12}};       /* row, column */

/* a [N][HEADS][D] through the operator. */
static status read_back(real *a, const struct learned *l)
{
    static real w[3 * C * C], b[3 * C], bb[WIDTH * D], y[N * C];
    struct problem bare = l->mixer->problem;
    struct plan plan;

    /* Step 1: the same problem, but no values and no projection. */
    memcpy(w, learned_tensor(l, "w_qkv"), 2 * C * C * sizeof *w);
    memcpy(b, learned_tensor(l, "b_qkv"), 2 * C * sizeof *b);
    for (size_t d = 0; d < D; d++) bb[d * D + d] = 1;
    bare.tensor[problem_row(&bare, "w_qkv")].data = w;
    bare.tensor[problem_row(&bare, "b_qkv")].data = b;
    bare.tensor[problem_row(&bare, "bb")].data = bb;
    bare.tensor[problem_row(&bare, "w_o")].present = bare.tensor[problem_row(&bare, "b_o")].present = false;

    /* Step 2: what arrives in the first D channels of each head. */
    status s = plan_create(&plan, &bare, operator_form(&lisa, "fast"), 1);
    if (s.code) return s;
    s = plan_run(&plan, y, l->met);
    plan_release(&plan);
    for (size_t i = 0; i < N; i++)
        for (size_t h = 0; h < HEADS; h++) memcpy(a + (i * HEADS + h) * D, y + i * C + h * WIDTH, D * sizeof *a);
    return s;
}

static void print_kernels(const char *kind, const struct learned *l, const real *a)
{
    const real *wb = learned_tensor(l, "wb");
    real kernel[N];
    char name[40];
    for (size_t d = 0; d < D; d++) {
        for (size_t n = 0; n < N; n++)
            kernel[(n / SIDE + SIDE / 2) % SIDE * SIDE + (n % SIDE + SIDE / 2) % SIDE] = wb[n * D + d];
        snprintf(name, sizeof name, "%s wb %zu", kind, d);
        learned_print(name, kernel, SIDE, SIDE, learned_largest(kernel, N));
    }
    for (size_t t = 0; t < QUERIES; t++)
        for (size_t h = 0; h < HEADS; h++) {
            size_t i = query[t][0] * SIDE + query[t][1];
            for (size_t n = 0; n < N; n++) {
                size_t row = (i / SIDE + SIDE - n / SIDE) % SIDE, column = (i % SIDE + SIDE - n % SIDE) % SIDE;
                kernel[n] = 0;
                for (size_t d = 0; d < D; d++)
                    kernel[n] += a[(i * HEADS + h) * D + d] * wb[(row * SIDE + column) * D + d];
            }
            snprintf(name, sizeof name, "%s %zu %zu", kind, t, h);
            learned_print(name, kernel, SIDE, SIDE, learned_largest(kernel, N));
        }
}

static status draw(const char *kind, struct learned *l)
{
    static real a[N * HEADS * D];
    status s = read_back(a, l);
    if (!s.code) print_kernels(kind, l, a);
    return s;
}

int main(void)
{
    const struct learned_view view = {"networks-lisa", "lisa", PICTURE, "queries", QUERIES, query};
    return learned_compare(&view, draw);
}
