/* test_elsa_theorems.c -- theorems about ELSA
 *
 * Tests on integers are exact: their tolerance is zero. */

#include "elsa_case.h"
#include "../../reference/msa.h"

/* ---- the paradigm ---------------------------------------------------- */

/* ELSA, Eq. 1 and 4, Sec. 4.3: the term b alone with the identity norm and one head per channel is a depth-wise
 * convolution.  In windows it is Net4. */
TESTS(depthwise_convolution_is_a_case_of_eq4, 2)
{
    const int edge = _i ? 5 : 3;                        /* table size per axis: of a window or a neighbourhood */
    const char *options = _i ? "--grid 6x9 --kernel 3 --heads 4 --equation 4 --terms b --norm identity --area window"
                             : "--grid 6x9 --kernel 3 --heads 4 --equation 4 --terms b --norm identity";
    struct fixture t = fixture(options, &elsa, 1, 4, "", "w_o b_o b_qkv");
    make_integer(&t, true);
    const real *rb = fixture_tensor(&t, "rb");
    real *y = zeros(t.outputs);
    for (int i = 0; i < 54; i++)
        for (int n = 0; n < edge * edge; n++) {
            int dy = n / edge - edge / 2, dx = n % edge - edge / 2, j = neighbour(i, 6, 9, dy, dx);
            if (j < 0 || (_i && (j / 27 != i / 27 || j % 9 / 3 != i % 9 / 3))) continue;
            for (int c = 0; c < 4; c++) y[i * 4 + c] += rb[c * edge * edge + n] * t.x[j * 4 + c];
        }
    all_forms_equal(&t, y);
}

/* ELSA, Eq. 2 and 4: with the term qr, every token makes its filter by a linear map of itself, as in Involution.  With
 * a bias and the filter norm it is DDF's filter of tokens; DDF makes its filter of channels from the mean of the
 * image. */
TESTS(dynamic_filter_is_a_case_of_eq4, 2)
{
    struct fixture t = fixture(_i ? "--grid 4x5 --kernel 3 --heads 2 --equation 4 --terms qr+b --norm filter"
                           : "--grid 4x5 --kernel 3 --heads 2 --equation 4 --terms qr --norm identity", &elsa, 1, 4, "",
                           "w_o b_o b_qkv");
    if (_i == 0) make_integer(&t, true);
    pass_x(&t, true);
    real *filter = matrix_product(t.x, fixture_tensor(&t, "rk"), 20, 4, 2 * 9), *y = zeros(t.outputs);
    for (int ia = 0; _i && ia < 20 * 2; ia++) {
        for (int n = 0; n < 9; n++) filter[ia * 9 + n] += fixture_tensor(&t, "rb")[ia % 2 * 9 + n];
        elsa_normalise(filter + ia * 9, 9, ELSA_FILTER);
    }
    for (int i = 0; i < 20; i++)
        for (int n = 0; n < 9; n++) {
            int j = neighbour(i, 4, 5, n / 3 - 1, n % 3 - 1);
            for (int c = 0; j >= 0 && c < 4; c++) y[i * 4 + c] += filter[(i * 2 + c / 2) * 9 + n] * t.x[j * 4 + c];
        }
    if (_i) forms_within(&t, y, property_tolerance(&t.problem));
    else all_forms_equal(&t, y);
}

/* ELSA, Eq. 3 and 4, Tab. 1: the term qk in windows is window attention (Net1).  With b it is Swin's attention, tested
 * on one window, where both tables have the same offsets. */
TESTS(local_self_attention_is_a_case_of_eq4, 2)
{
    static const struct { const char *ours, *theirs, *without; } net[] = {
        {"--grid 6x9 --kernel 3 --terms qk", "--grid 6x9 --window 3", "rpe"},
        {"--grid 5x5 --kernel 5 --terms qk+b", "--grid 5x5 --window 5", ""},
    };
    char options[120], their_options[120];
    snprintf(options, sizeof options, "%s --heads 2 --equation 4 --area window --scale 0.5", net[_i].ours);
    snprintf(their_options, sizeof their_options, "%s --heads 2 --scale 0.5", net[_i].theirs);
    struct fixture ours = fixture(options, &elsa, 2, 8, "", "");
    struct fixture theirs = fixture(their_options, &msa, 2, 8, "", net[_i].without);
    fixture_take(&theirs, &ours, "w_qkv b_qkv w_o b_o");
    if (_i == 1) {
        size_t columns = problem_axis(&theirs.problem, "rpe", 1);
        real *rpe = fixture_tensor(&theirs, "rpe"), *rb = fixture_tensor(&ours, "rb");
        for (size_t p = 0; p < 81; p++) {
            for (size_t a = 0; a < columns; a++) rpe[p * columns + a] = rb[a * 81 + p];
            if (columns == 1) rb[81 + p] = rb[p];
        }
    }
    forms_within(&ours, fixture_run_on(&theirs, "naive", 1, ours.x), 2 * property_tolerance(&ours.problem));
}

/* ELSA, Eq. 4 and 6: Eq. 6 with head map block is Eq. 4 with the terms qr+rk+b (Net6-N). */
TEST(eq6_is_eq4_without_the_dot_product)
{
    static const char options[] = "--grid 6x5 --kernel 3 --heads 3 --equation 6";
    struct fixture four = fixture("--grid 6x5 --kernel 3 --heads 3 --equation 4 --terms qr+rk+b", &elsa, 2, 9, "", "");
    struct fixture modulo = fixture(options, &elsa, 2, 9, "", "ghost_mul ghost_add");
    struct fixture block = fixture("--grid 6x5 --kernel 3 --heads 3 --equation 6 --head-map block", &elsa, 2, 9, "",
                               "ghost_mul ghost_add");
    fixture_take(&four, &block, "w_qkv b_qkv rk rq rb w_o b_o");
    real *y = fixture_run(&block, "naive", 1);
    forms_within(&four, y, 2 * property_tolerance(&block.problem));
    forms_within(&block, y, 2 * property_tolerance(&block.problem));
    beyond("    heads taken modulo", relative_difference(fixture_run(&modulo, "naive", 1), y, block.outputs), 0.01);
}

/* ELSA, Eq. 4, Tab. 1: without a norm, y is the sum of the outputs of the single terms. */
TESTS(terms_of_eq4_add_without_a_norm, 2)
{
    static const char *const terms[] = {"qk", "qr", "rk", "b", "qk+qr+rk+b"};
    real *y[COUNT(terms)], *sum = zeros(36 * 4);
    for (size_t s = 0; s < COUNT(terms); s++) {
        char options[120];
        snprintf(options, sizeof options,
                 "--grid 6x6 --kernel 3 --heads 2 --equation 4 --norm identity --area %s --terms %s",
                 _i ? "window" : "neighbourhood", terms[s]);
        struct fixture t = fixture(options, &elsa, 1, 4, "", "w_o b_o b_qkv");
        make_integer(&t, true);
        y[s] = fixture_run(&t, _i ? "naive" : "fast", 1);
        if (s < 4) sum = sum_of(sum, 1, y[s], 36 * 4);
    }
    ck_assert(largest(y[4], 36 * 4) > 4);
    equal(y[4], sum, 36 * 4);
}

/* ---- orders and norms ------------------------------------------------ */

/* ELSA, Sec. 5: without the softmax and rb, Eq. 7 is of third order in x, Eq. 6 of second.  For Net7 see
 * net7_is_of_third_order. */
TESTS(hadamard_attention_is_of_third_order, 2)
{
    const struct scene_shape s = {"4x5", 4, 2, 3, 1, _i ? 6 : 7};
    struct scene m = integer_scene(&s), doubled = m;
    size_t tokens = 20 * 4;
    m.params.rb = zeros(18);
    make_logits(&m);
    apply_filters(&m);
    const real *f = copy(m.f, tokens);
    doubled.params.rb = m.params.rb;
    doubled.q = sum_of(m.q, 1, m.q, tokens);
    doubled.k = sum_of(m.k, 1, m.k, tokens);
    doubled.v = sum_of(m.v, 1, m.v, tokens);
    make_logits(&doubled);
    apply_filters(&doubled);
    for (size_t i = 0; i < tokens; i++) ck_assert(doubled.f[i] == (_i ? 4 : 8) * f[i]);
    ck_assert(largest(f, tokens) > 4);
}

/* ELSA, Sec. 4.2, App. A: the filter norm ignores scale and offset, the softmax only the offset.  Tolerance:
 * 128 sqrt(49) u for mean and deviation of 49 numbers of about 5, and the 1e-10 under the root. */
TEST(filter_norm_ignores_scale_and_offset)
{
    static const double offset[] = {0.1, 3.3, 100.3, 1000.7};
    const real *five = filled(49, 5);
    real *w = normal(1, 49), *scaled = sum_of(five, 3, w, 49);
    real *soft = copy(w, 49), *soft_scaled = sum_of(zeros(49), 3, w, 49), *soft_moved = sum_of(w, 1, five, 49);
    double mean = 0, square = 0, allowed = 16 * 7 * UNIT_ROUNDOFF * 8 + 1e-10;
    elsa_normalise(w, 49, ELSA_FILTER);
    elsa_normalise(scaled, 49, ELSA_FILTER);
    for (size_t n = 0; n < 49; n++) mean += (double)w[n] / 49, square += (double)w[n] * (double)w[n] / 49;
    within("mean", fabs(mean), allowed);
    within("variance", fabs(square - 1), allowed);
    within("3 w + 5", largest_difference(scaled, w, 49), allowed);
    for (size_t i = 0; i < COUNT(offset); i++) {
        real *constant = filled(49, offset[i]);
        elsa_normalise(constant, 49, ELSA_FILTER);
        equal(constant, zeros(49), 49);
    }
    elsa_normalise(soft, 49, ELSA_SOFTMAX);
    elsa_normalise(soft_scaled, 49, ELSA_SOFTMAX);
    elsa_normalise(soft_moved, 49, ELSA_SOFTMAX);
    within("softmax of w + 5", largest_difference(soft_moved, soft, 49), allowed);
    beyond("softmax of 3 w", largest_difference(soft_scaled, soft, 49), 0.01);
}

/* ---- positions ------------------------------------------------------- */

static real *cut_at(const char *options, size_t from, size_t outputs)
{
    const char *without = strstr(options, "equation 4") ? "w_o b_o" : "w_o b_o ghost_mul ghost_add";
    struct fixture t = fixture(options, &elsa, 1, 6, "", without);
    real *strip = normal(20, 24 * 9 * 6);
    memcpy(t.x, strip + from * 9 * 6, t.inputs * sizeof(real));
    ck_assert_uint_eq(t.outputs, outputs);
    return fixture_run(&t, "naive", 1);
}

/* ELSA, Sec. 4.2 and 4.3: neighbourhoods commute with shifts; windows only with shifts by whole windows.  The compared
 * rows are not at a border. */
TESTS(neighbourhoods_commute_with_shifts_and_windows_do_not, 2)
{
    const char *options = _i ? "--grid 12x9 --kernel 3 --heads 2 --equation 4 --area window"
                             : "--grid 12x9 --kernel 3 --heads 2";
    size_t outputs = 12 * 9 * 6, row = 9 * 6;
    real *still = cut_at(options, 0, outputs);
    real *one = cut_at(options, 1, outputs), *three = cut_at(options, 3, outputs);
    double by_one = 0, by_three = 0, tolerance = 8 * (2 * sqrt(12.0) + 18) * UNIT_ROUNDOFF * largest(still, outputs);
    for (size_t r = 4; r < 10; r++) {
        worse(&by_one, largest_difference(one + (r - 1) * row, still + r * row, row));
        worse(&by_three, largest_difference(three + (r - 3) * row, still + r * row, row));
    }
    if (_i) beyond("windows, one row", by_one, 0.01);
    else within("neighbourhoods, one row", by_one, 2 * tolerance);
    within("three rows", by_three, 2 * tolerance);
}

/* ELSA, Algorithm 2: nn.Unfold pads with zeros, which get weight.  If all scores are zero, a corner loses 33 of its 49
 * neighbours and the middle of an edge 21; with values of 1, f lacks this share of 1.
 * Tolerance: 52 u, for a sum of 49 weights. */
TEST(softmax_weight_is_lost_to_zero_padding)
{
    const struct scene_shape s = {"14x14", 24, 3, 7, 1, 7};
    struct scene m = normal_scene(&s);
    m.v = filled(196 * 24, 1);
    m.q = m.k = zeros(196 * 24);
    m.params.rb = zeros(3 * 49);
    run_cores(&m);
    for (size_t i = 0; i < 196; i++) {
        size_t lost = 0;
        for (size_t n = 0; n < 49; n++) lost += m.around.token[i * 49 + n] == OFF_GRID;
        for (size_t c = 0; c < 24; c++)
            ck_assert(fabs((double)m.f[i * 24 + c] - (double)(49 - lost) / 49) <= 52 * UNIT_ROUNDOFF);
        if (i == 0) ck_assert_uint_eq(lost, 33);
        if (i == 7) ck_assert_uint_eq(lost, 21);
    }
}

/* In the authors' code, not in the paper: with dilation d, tokens whose coordinates agree modulo d are a separate
 * grid. */
TESTS(dilation_interleaves_images, 2)
{
    struct fixture whole = fixture("--grid 8x6 --kernel 3 --heads 2 --dilation 2", &elsa, 1, 4, "", "w_o b_o");
    struct fixture part = fixture("--grid 4x3 --kernel 3 --heads 2", &elsa, 1, 4, "", "w_o b_o");
    real *y = fixture_run(&whole, _i ? "fast" : "naive", 1);
    for (size_t r = 0; r < 2; r++)
        for (size_t c = 0; c < 2; c++) {
            real *same = zeros(48);
            for (size_t n = 0; n < 12; n++) {
                size_t at = ((n / 3 * 2 + r) * 6 + n % 3 * 2 + c) * 4;
                memcpy(part.x + n * 4, whole.x + at, 4 * sizeof(real));
                memcpy(same + n * 4, y + at, 4 * sizeof(real));
            }
            real *small = fixture_run(&part, _i ? "fast" : "naive", 1);
            within("a part", relative_difference(small, same, 48), 2 * property_tolerance(&whole.problem));
        }
}

/* ELSA, Eq. 7 and Algorithm 2: for an impulse at token j, f_i = h_{j-i}: offsets run from i to j, and entries are
 * row-major. */
TEST(impulse_in_v_reads_back_the_filter)
{
    const struct scene_shape s = {"5x6", 2, 2, 3, 1, 7};
    struct scene m = normal_scene(&s);
    real *impulse = zeros(60);
    impulse[(2 * 6 + 3) * 2] = 1;                       /* token (2, 3), channel 0 */
    m.v = impulse;
    run_cores(&m);
    for (size_t i = 0; i < 30; i++) {
        int dy = 2 - (int)(i / 6), dx = 3 - (int)(i % 6);
        bool near = dy >= -1 && dy <= 1 && dx >= -1 && dx <= 1;
        size_t n = near ? (size_t)((dy + 1) * 3 + dx + 1) : 0;
        ck_assert(m.f[i * 2] == (near ? m.h[n * 30 + i] : 0) && m.f[i * 2 + 1] == 0);
    }
}

/* ---- the ghost head -------------------------------------------------- */

static struct scene ghosted(bool by_block, double lambda, double gamma)
{
    const struct scene_shape s = {"4x5", 6, 2, 3, 1, 7};
    struct scene m = normal_scene(&s);
    real *factor = normal(21, 54), *summand = normal(22, 54);
    for (size_t i = 0; i < 54; i++) {
        factor[i] = (real)pow(fabs((double)factor[i]), lambda);
        summand[i] *= (real)gamma;
    }
    m.params.ghost.by_block = by_block;
    m.factor = factor;
    m.summand = summand;
    run_cores(&m);
    return m;
}

/* ELSA, Eq. 8, Algorithm 1: channel c has head c mod h.  The authors' code has c div (C/h); a permutation of the
 * channels turns one into the other. */
TEST(ghost_heads_are_grouped_modulo_or_by_block)
{
    struct scene modulo = ghosted(false, 1, 1), block = ghosted(true, 1, 1);
    size_t plane = 9 * 20;
    unequal(modulo.filters, block.filters, 6 * plane);
    real *factor = zeros(54), *summand = zeros(54);
    for (size_t c = 0; c < 6; c++) {
        size_t to = c % 2 * 3 + c / 2;          /* channel c/2 of head c mod 2 */
        ck_assert_uint_eq(ghost_head(&modulo.params.ghost, c), c % 2);
        ck_assert_uint_eq(ghost_head(&block.params.ghost, to), c % 2);
        memcpy(factor + to * 9, modulo.factor + c * 9, 9 * sizeof(real));
        memcpy(summand + to * 9, modulo.summand + c * 9, 9 * sizeof(real));
    }
    block.factor = factor;
    block.summand = summand;
    apply_filters(&block);
    for (size_t c = 0; c < 6; c++)
        equal(block.filters + (c % 2 * 3 + c / 2) * plane, modulo.filters + c * plane, plane);
}

/* ELSA, Eq. 8: lambda = 0 removes the factors, gamma = 0 the summands. */
TEST(lambda_and_gamma_remove_halves_of_the_ghost_head)
{
    struct scene both = ghosted(false, 1, 1), none = ghosted(false, 0, 0);
    struct scene no_factor = ghosted(false, 0, 1), no_summand = ghosted(false, 1, 0);
    for (size_t cn = 0; cn < 54; cn++)
        for (size_t i = 0; i < 20; i++) {
            wide_real h = (wide_real)none.h[(cn / 9 % 2 * 9 + cn % 9) * 20 + i];
            ck_assert((wide_real)none.filters[cn * 20 + i] == h);
            ck_assert(no_summand.filters[cn * 20 + i] == (real)((wide_real)both.factor[cn] * h));
            ck_assert(fabs((double)((wide_real)no_factor.filters[cn * 20 + i] - (h + (wide_real)both.summand[cn])))
                      <= 2 * UNIT_ROUNDOFF * (fabs((double)h) + fabs((double)both.summand[cn])));
        }
}

int main(void) { return run_tests("ELSA, theorems"); }
