/* test_elsa_errata.c -- statements of ELSA that do not hold as printed, or allow two readings */

#include "elsa_case.h"

enum how { CORRECTED, PRINTED, SIDE_BY_SIDE };

/* The logits [h][K^2][N] of Algorithms 3 and 4: two 1 x 1 maps with biases, the second shifted by a zero-padded
 * depth-wise convolution.  PRINTED reads `_id = i % K*K` as Python does, (i % K) K.  SIDE_BY_SIDE does not interleave
 * the halves of Algorithm 4's merged map: its rows are those of r^k, then those of r^q. */
static real *algorithm_3(const struct scene *m, const real *own_bias, const real *other_bias, enum how how)
{
    size_t H = m->params.grid.size[0], W = m->params.grid.size[1], N = H * W;
    size_t K = m->params.K, C = m->params.heads.C, maps = m->params.heads.h * K * K;
    real *logits = zeros(maps * N), *other = zeros(maps * N);
    for (size_t an = 0; an < maps; an++)
        for (size_t side = 0; side < 2; side++) {
            size_t row = how == SIDE_BY_SIDE ? 2 * an + side : side * maps + an;
            const real *map = row < maps ? m->params.rk : m->params.rq;
            for (size_t i = 0; i < N; i++) {
                real sum = side ? other_bias[an] : own_bias[an];
                for (size_t c = 0; c < C; c++) sum += m->q[i * C + c] * m->k[i * C + c] * map[c * maps + row % maps];
                (side ? other : logits)[an * N + i] = sum;
            }
        }
    for (size_t an = 0; an < maps; an++) {
        size_t id = how == PRINTED ? an % K * K : an % (K * K), x = id % K, y = id / K;
        for (size_t i = 0; i < N; i++) {
            size_t row = i / W + y, column = i % W + x;         /* K/2 too large, so as not to wrap */
            if (row >= K / 2 && row - K / 2 < H && column >= K / 2 && column - K / 2 < W)
                logits[an * N + i] += other[an * N + (row - K / 2) * W + column - K / 2];
        }
    }
    return logits;
}

static struct scene algorithm_2(const struct scene_shape *s)
{
    struct scene m = integer_scene(s);
    make_logits(&m);
    return m;
}

/* ELSA, App. D: the printed index `_id = i % K*K` does not hold.  It puts the single 1 of each shift kernel into the
 * first column.  With i % (K*K), Algorithm 3 gives the logits of Algorithm 2.  Algorithm 4 merges both maps: row 2 m is
 * row m of r^k, and row 2 m + 1 is row m of r^q. */
TESTS(shift_kernels_are_built_with_a_missing_bracket, 4)
{
    const struct scene_shape s = {_i / 2 ? "8x7" : "5x6", 3, 2, _i % 2 ? 5 : 3, 1, 7};
    struct scene m = algorithm_2(&s);
    size_t maps = 2 * m.params.entries, count = maps * m.params.heads.N;
    equal(algorithm_3(&m, m.params.rb, zeros(maps), CORRECTED), m.h, count);
    unequal(algorithm_3(&m, m.params.rb, zeros(maps), PRINTED), m.h, count);
    unequal(algorithm_3(&m, m.params.rb, zeros(maps), SIDE_BY_SIDE), m.h, count);
}

/* ELSA, App. D, leaves open why both 1 x 1 convolutions have bias=True.  Zeros are padded after the second bias is
 * added.  So a second bias other than 0 is lost where the neighbour is off the grid, along a frame of width K/2. */
TESTS(bias_of_the_shifted_branch_is_lost_along_a_frame, 2)
{
    const struct scene_shape s = {"8x7", 2, 2, _i ? 5 : 3, 1, 7};
    struct scene m = algorithm_2(&s);
    size_t maps = 2 * m.params.entries, half = m.params.K / 2, framed = 0;
    real *other = zeros(maps), *own = copy(m.params.rb, maps);
    for (size_t an = 0; an < maps; an++) {
        other[an] = 1 + (real)(an % 3);
        own[an] -= other[an];
    }
    equal(algorithm_3(&m, m.params.rb, zeros(maps), CORRECTED), m.h, maps * 56);
    real *logits = algorithm_3(&m, own, other, CORRECTED);
    for (size_t i = 0; i < 56; i++) {
        bool differs = false, inside = i / 7 >= half && i / 7 + half < 8 && i % 7 >= half && i % 7 + half < 7;
        for (size_t an = 0; an < maps; an++) differs = differs || logits[an * 56 + i] != m.h[an * 56 + i];
        ck_assert(differs == !inside);
        framed += differs;
    }
    ck_assert_uint_eq(framed, 56 - (8 - 2 * half) * (7 - 2 * half));
}

/* ELSA, Eq. 4: our copy has v_j next to r^b, inside Norm; a softmax would then make every y 1.  We have it outside, as
 * in Eq. 3, 5 and 6: y is linear in v.  Left open: the readings differ by one printed letter.  Tolerance: 8 u for a sum
 * of nine. */
TEST(value_stands_outside_the_norm)
{
    struct fixture t = fixture("--grid 4x5 --kernel 3 --equation 4", &elsa, 1, 1, "", "w_o b_o b_qkv");
    for (int f = 0; f < 2; f++) {
        real *w = fixture_tensor(&t, "w_qkv"), *y = fixture_run(&t, f ? "fast" : "naive", 1);
        w[2] *= 2;
        real *twice = fixture_run(&t, f ? "fast" : "naive", 1);
        w[2] /= 2;
        for (size_t i = 0; i < 20; i++)
            ck_assert(fabs((double)(twice[i] - 2 * y[i])) <= 8 * UNIT_ROUNDOFF * fabs((double)twice[i]));
        beyond("outputs differ from one", fabs((double)y[0] - 1), 0.01);
    }
}

int main(void) { return run_tests("ELSA, errata"); }
