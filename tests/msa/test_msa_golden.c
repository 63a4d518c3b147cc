/* test_msa_golden.c -- self-attention: its forms agree with each other and with PyTorch; its costs */

#include "../support/battery.h"
#include "msa_case.h"

static const struct battery_case sizes[] = {
    {"--grid 1", 1, 1, "", ""},
    {"--grid 7 --heads 3", 2, 6, "", ""},
    {"--grid 1x5 --heads 1", 1, 3, "", "rpe b_qkv"},
    {"--grid 13x7 --heads 2", 2, 34, "", ""},
    {"--grid 14x14 --heads 12", 1, 192, "", "w_o"},
    {"--grid 2x3x4 --heads 2 --scale 0.3", 3, 8, "", "b_o"},
    {"--grid 6x4 --heads 2 --window 2", 2, 8, "", ""},
    {"--grid 14x14 --heads 3 --window 7", 2, 96, "", "b_qkv w_o"},
    {"--grid 11x11 --window 11", 1, 5, "", "rpe"},
    {"--grid 22x11 --window 11 --heads 2", 1, 4, "", ""},
    {"--grid 4x4 --window 1", 1, 4, "", ""},
    {"--grid 20x20 --heads 2", 5, 8, "", "b_o"},
    {"--grid 21x21 --window 7 --heads 2", 5, 8, "", "w_o"},
    {"--grid 4x6 --window 2 --shift 0 --heads 2", 2, 8, "", ""},
    {"--grid 4x6 --window 2 --shift 1 --heads 2", 2, 8, "", ""},
    {"--grid 3x9 --window 3 --shift 1", 1, 5, "", "b_o"},
    {"--grid 9x3 --window 3 --shift 2 --heads 2", 3, 8, "", "rpe"},
    {"--grid 10x5 --window 5 --shift 1 --heads 2", 2, 34, "", ""},
    {"--grid 5x10 --window 5 --shift 2 --heads 2", 2, 34, "", "w_o b_qkv"},
    {"--grid 10x15 --window 5 --shift 3 --heads 3", 1, 18, "", ""},
    {"--grid 5x5 --window 5 --shift 4", 1, 3, "", "rpe b_o"},
    {"--grid 14x14 --heads 3 --window 7 --shift 3", 2, 96, "", ""},
    {"--grid 7x7 --heads 3 --window 7 --shift 3 --scale 0.2", 2, 24, "", ""},
    {"--grid 11x22 --window 11 --shift 5", 1, 16, "", ""},
    {"--grid 1 --lambda 1", 1, 1, "", ""},
    {"--grid 7 --heads 3 --lambda 2", 2, 6, "", ""},
    {"--grid 1x5 --lambda 1", 1, 3, "", "rpe b_qkv"},
    {"--grid 13x7 --heads 2 --gamma 0.25", 2, 34, "", ""},
    {"--grid 5x3 --heads 2 --lambda 0 --gamma -1.5 --head-map block", 2, 8, "", "ghost_mul w_o"},
    {"--grid 14x14 --heads 3 --head-map block", 1, 48, "", ""},
    {"--grid 2x3x4 --heads 2 --scale 0.3 --lambda -2", 3, 8, "", "b_o"},
    {"--grid 33 --heads 2 --lambda 1", 1, 66, "", "rpe"},
    {0},
};

static const struct battery_error errors[] = {
    {"--grid 4x4 --shift 1", "option --shift: found without --window, expected windows to shift", 4},
    {"--grid 4x4 --shift 0", "option --shift: found without --window", 4},
    {"--grid 4x4 --window 2 --shift 2", "option --shift: found 2, expected less than the window's edge, 2", 4},
    {"--grid 6x4 --window 4 --shift 1", "option --window: found 4, expected a divisor of 6 and 4", 4},
    {"--grid 4x4 --window 2 --lambda 1", "option --lambda: found with --window, expected no ghost head in windows", 4},
    {"--grid 4x4 --window 2 --gamma 0", "option --gamma: found with --window", 4},
    {"--grid 4x4 --window 2 --head-map block", "option --head-map: found with --window", 4},
    {0},
};

static const struct battery_case counted[] = {
    {"--grid 6x9 --heads 2 --window 3 --shift 1", 2, 8, "", ""},
    {"--grid 5x5 --heads 1 --window 5 --shift 2", 1, 3, "", ""},
    {"--grid 6x4 --heads 2 --window 2", 1, 4, "", ""},
    {"--grid 3x5 --heads 2", 1, 4, "", ""},
    {"--grid 2x7 --heads 2 --lambda 2", 2, 6, "", ""},
    {"--grid 5 --heads 3 --lambda 0 --gamma 0.5", 1, 6, "", ""},
    {0},
};

static const struct battery_case memory[] = {
    {"--grid 16x20 --heads 1", 1, 8, "", "w_o b_o rpe"},
    {"--grid 16x20 --heads 1", 1, 8, "", "w_o b_o"},
    {"--grid 16x20 --heads 1 --gamma 1", 1, 8, "", "w_o b_o rpe"},
    {"--grid 16x20 --heads 1 --gamma 1", 1, 8, "", "w_o b_o"},
    {"--grid 16x20 --heads 2", 1, 8, "", "w_o b_o rpe"},
    {"--grid 16x20 --heads 2", 1, 8, "", "w_o b_o"},
    {"--grid 16x20 --heads 2 --gamma 1", 1, 8, "", "w_o b_o rpe"},
    {"--grid 16x20 --heads 2 --gamma 1", 1, 8, "", "w_o b_o"},
    {0},
};

/* With four times the tokens the naive form's memory grows like N^2, that of the others like N. */
static const struct battery_growth growth[] = {
    {"", 16, 8, "", "rpe", "naive", 12, 17},
    {"", 16, 8, "", "rpe", "plain", 3.9, 4.1},
    {"", 16, 8, "", "rpe", "fast", 1, 4.1},
    {0},
};

/* The memory stated in reference/msa.h, with q, k and v.  The fast form has no exact statement. */
static double stated(const struct problem *p, const struct form *form)
{
    const struct msa_problem m = msa_resolved(p);
    double N = (double)m.heads.N, C = (double)m.heads.C, c = (double)m.heads.c, P = (double)m.windows.grid.offsets;
    double head = m.ghost.add ? (double)m.heads.h * N * N + 2 * C * P + 2 * N * c : 4 * N * c;
    if (!strcmp(form->name, "plain")) {
        double row = m.rpe || m.ghost.add ? N : 0, side = m.ghost.add ? 2 * C * P : 2 * N * c;
        return (3 * N * C + row + side) * sizeof(real) + N * sizeof(size_t);
    }
    if (strcmp(form->name, "naive")) return -1;
    return (3 * N * C + (m.rpe ? 2 : 1) * N * N + head) * sizeof(real);
}

/* On an axis of n tokens, windows of s and shift t, the fast form multiplies n s - 2 t (s - t) pairs, the naive form n
 * s.  A pair costs 2 C, with a ghost head 3 C. */
static const struct { size_t seen, all; } pairs[] = {       /* of the cases in counted */
    {(6 * 3 - 4) * (9 * 3 - 4), 18 * 27}, {13 * 13, 25 * 25}, {12 * 8, 12 * 8}, {225, 225}, {196, 196}, {25, 25},
};
TESTS(pairs_across_a_seam_are_not_multiplied, COUNT(pairs))
{
    struct fixture t = fixture(counted[_i].options, &msa, counted[_i].batch, counted[_i].channels, "", "");
    const struct msa_problem m = msa_resolved(&t.problem);
    const struct windows *w = &m.windows;
    size_t seen = 0;
    for (size_t i = 0; i < m.heads.N; i++)
        for (size_t j = 0; j < m.heads.N; j++) {
            size_t window = windows_of(w, i), side = windows_region_of(w, window, windows_entry(w, i));
            seen += window == windows_of(w, j) && side == windows_region_of(w, window, windows_entry(w, j));
        }
    ck_assert_uint_eq(seen, pairs[_i].seen);
    double B = (double)m.heads.B, products = (m.ghost.add ? 3 : 2) * B * (double)m.heads.C, all = (double)pairs[_i].all;
    ck_assert(fixture_cores(&t, operator_form(&msa, "fast")) == products * (double)seen);
    ck_assert(fixture_cores(&t, operator_form(&msa, "naive")) == products * all + B * (double)m.heads.h * all);
    ck_assert(fixture_cores(&t, operator_form(&msa, "plain")) >= products * (double)seen);
}

/* ghost_add with --window is an error, and so is a fractional power of a negative base. */
TEST(ghost_heads_reject_windows_and_undefined_powers)
{
    struct tensors file = file_of("x 1x16x4 w_qkv 12x4 ghost_add 4x49", "");
    struct problem p;
    real *block;
    rejected(bound_to(&p, "--grid 4x4 --window 2", &msa, &file), STATUS_BAD_INPUT,
            "tensor ghost_add: not of this operator with these options");
    p = shaped("--grid 3x3 --lambda 0.5", &msa, 1, 4, "", "");
    rejected(problem_draw(&p, 1, &block), STATUS_BAD_INPUT, "to the power 0.5, expected bases of at least 0");
    memory_free(block);
}

int main(void)
{
    static const struct battery tables = {
        .operator = &msa, .golden = true, .sizes = sizes,
        .errors = errors, .counted = counted, .memory = memory, .stated = stated, .growth = growth,
        .slack = 1024,
    };
    return run_battery("msa, forms and golden vectors", &tables);
}
