/* test_structsa.c -- the forms of StructSA agree; windows, defaults, errors; theorems: test_structsa_theorems.c */

#include "structsa_case.h"
#include "../support/battery.h"

static const char *const variants[] = {"4", "5", "16", NULL};      /* equations */

static const struct battery_case sizes[] = {
    {"--grid 1 --kernel 1", 1, 1, "D=1", ""},
    {"--grid 1 --kernel 5", 2, 3, "D=3", "w_o"},
    {"--grid 7 --kernel 3 --heads 3", 1, 6, "D=2", ""},
    {"--grid 70 --kernel 9 --stride 3", 1, 17, "D=5", "b_qkv w_o"},
    {"--grid 1x5 --kernel 3x3 --heads 2", 3, 6, "D=1", ""},
    {"--grid 13x7 --kernel 1x5 --heads 2", 2, 34, "D=3", "b_o"},
    {"--grid 8x8 --kernel 3x3 --heads 2", 2, 32, "D=8", ""},
    {"--grid 5x12 --kernel 5x1 --stride 2 --heads 4", 1, 12, "D=9", ""},
    {"--grid 6x6 --kernel 7x7 --scale -0.7", 1, 20, "D=4", "b_qkv"},
    {"--grid 9x4 --kernel 3x3 --stride 12 --heads 2", 2, 8, "D=70", ""},
    {"--grid 11x10 --kernel 1x1 --heads 2", 1, 8, "D=2", ""},
    {"--grid 14x14 --kernel 3x3 --heads 12", 1, 192, "D=4", ""},
    {"--grid 2x3x4 --kernel 3x3x3 --heads 2", 3, 10, "D=3", ""},
    {"--grid 3x5x4 --kernel 1x3x5 --stride 2 --scale 0", 1, 7, "D=2", "w_o"},
    {"--grid 4x4x4 --kernel 5x3x3 --heads 4 --scale 1.5", 1, 64, "D=8", "b_qkv"},
    {"--grid 6x9 --kernel 3x5 --stride 4x2 --heads 2", 2, 18, "D=3", ""},
    {"--grid 7x4 --kernel 3x3 --stride 1x9", 1, 5, "D=4", "w_o"},
    {"--grid 3x7x6 --kernel 3x3x3 --stride 1x2x2 --heads 2", 2, 12, "D=4", ""},
    {"--grid 4x3x5 --kernel 1x3x3 --stride 5x1x3", 1, 9, "D=2", "b_o"},
    {"--grid 11 --kernel 7 --stride 2 --value-kernel 1", 2, 3, "D=3", ""},
    {"--grid 9x6 --kernel 1x1 --heads 2 --value-kernel 5x3", 1, 34, "D=5", "b_qkv"},
    {"--grid 5x8 --kernel 5x3 --stride 1x3 --heads 3 --value-kernel 1x9", 2, 12, "D=9", ""},
    {"--grid 10x9 --kernel 3x3 --scale 60", 1, 32, "D=8", ""},
    {"--grid 3x4x5 --kernel 3x1x1 --stride 1x2x2 --value-kernel 1x3x3", 2, 10, "D=2", "w_o"},
    {0},
};

static const struct battery_error errors[] = {
    {"--grid 4x4 --kernel 2x3", "option --kernel: found '2x3', expected odd sizes", 6},
    {"--grid 4x4 --kernel 3", "option --kernel: found 1 axes, expected 2 as the grid has", 6},
    {"--grid 4x4 --kernel 0x3", "option --kernel", 6},
    {"--stride 2x2x2 --grid 4x4 --kernel 3x3",
     "option --stride: found 3 axes, expected 2 as the grid has, or one number for all", 6},
    {"--grid 2x4x4 --kernel 3x3x3 --stride 2x2", "option --stride: found 2 axes, expected 3", 6},
    {"--grid 4x4 --kernel 3x3 --value-kernel 3x4", "option --value-kernel: found '3x4', expected odd sizes", 6},
    {"--grid 4x4 --kernel 3x3 --value-kernel 3",
     "option --value-kernel: found 1 axes, expected 2 as the grid has", 6},
    {"--grid 4x4 --kernel 3x3 --value-kernel 1x5 --equation 4",
     "option --value-kernel: found with --equation 4, expected only with 5 or 16", 6},
    {"--grid 4x4 --kernel 3x3 --heads 4", "option --heads: found 4, expected a divisor of C = 6", 6},
    {0},
};

#define ALL "x 1x16x6 w_qkv 18x6 "
#define PLANE "--grid 4x4 --kernel 3x3 --equation "
static const struct battery_file files[] = {
    {PLANE "4", ALL "uk 9x2 uv 9x2", "", "tensor uv: found [9, 2]"},
    {PLANE "5", ALL "uk 9x2 uv 2", "", "tensor uv: found [2]"},
    {PLANE "5", ALL "uk 2x9 uv 9x2", "", "tensor uk: found [2, 9]"},
    {PLANE "16", ALL "hk 2x9x6", "", "tensor hv: missing"},
    {PLANE "16", ALL "hk 2x9x4 hv 2x9x6", "", "tensor hk: found [2, 9, 4]"},
    {PLANE "16", ALL "hk 2x9x6 hv 3x9x6", "", "tensor hv: found [3, 9, 6]"},
    {PLANE "16", ALL "hk 2x9x6 hv 2x9x6 uk 9x2", "", "tensor uk"},
    {PLANE "5 --value-kernel 1x5", ALL "uk 9x2 uv 9x2", "", "tensor uv: found [9, 2]"},
    {PLANE "16 --value-kernel 1x5", ALL "hk 2x9x6 hv 2x9x6", "", "tensor hv: found [2, 9, 6]"},
    {PLANE "16 --value-kernel 1x5", ALL "hk 2x5x6 hv 2x9x6", "", "tensor hk: found [2, 5, 6]"},
    {0},
};

/* StructSA, Eq. 2 and 11: the naive form writes the whole map of N x N tokens and nothing after it.  Exact:
 * integers. */
TESTS(naive_map_is_written_exactly, 2)
{
    enum { N = 3, C = 5 };
    const struct structsa_problem p = {.heads = {.N = N, .c = C}, .columns = _i ? C : 1};
    real *map = zeros(N * N * C + 1), q[N * C], k[N * C];
    for (size_t i = 0; i <= N * N * C; i++) map[i] = 7;
    for (size_t i = 0; i < N * C; i++) q[i] = (real)(i % 4), k[i] = (real)(i % 7) - 3;
    structsa_naive_correlate(map, q, k, &p);
    for (size_t i = 0; i < N; i++)
        for (size_t n = 0; n < N; n++) {
            real sum = 0;
            for (size_t ch = 0; ch < C; ch++) {
                real product = q[i * C + ch] * k[n * C + ch];
                if (_i) ck_assert(map[(i * N + n) * C + ch] == product);
                sum += product;
            }
            if (!_i) ck_assert(map[i * N + n] == sum);
        }
    ck_assert(map[N * N * p.columns] == 7);
}

/* StructSA, Eq. 2-5, 15, 16 and 21, by hand: five tokens, windows of three, a detector of falling edges and one of
 * peaks.  The query of token 1 is 2; with the scale ln 2 / 2 its score s weighs 2^(s/2).  The other queries are 0 and
 * give the mean of the virtual values.  Tolerance 16 u: rounding of the scale, an exponential, two divisions, a sum of
 * ten. */
TEST(structsa_by_hand)
{
    static const real q[] = {2, 0, 0, 0, 0}, k[] = {1, 1, 2, 1, 0}, v[] = {2, 4, 6, 1, 4};
    static const real hk[] = {1, 0, -1, -1, 2, -1}, hv[] = {1, 0, 0, 0, 1, 0};      /* [D][|M|] */
    static const real uk[] = {1, -1, 0, 2, -1, -1}, uv[] = {1, 0, 0, 1, 0, 0};      /* [|M|][D] */
    static const real scores[] = {-2, 2, -2, -2, 0, 4, 4, 0, 2, -2};                /* [J][D] */
    static const real sixteenths[] = {0.5, 2, 0.5, 0.5, 1, 4, 4, 1, 2, 0.5};
    static const real merged_sixteenths[] = {2.5, 1.5, 8, 3, 0.5};
    static const real y_by_hand[] = {4, 3, 3, 3, 3};
    const double scale = log(2.0) / 2, tolerance = 16 * UNIT_ROUNDOFF;
    const struct head_shape s = {"5", "3", "1", 1, 2, 1, ""};
    struct case_head h = empty_head(&s);
    double worst = 0;

    h.q = q, h.k = k, h.v = v, h.hk = hk, h.hv = hv;
    const real *by_map = scores_of_map(&h), *key = virtual_tokens(&h, &h.keys, hk, k);
    for (size_t jd = 0; jd < COUNT(scores); jd++) {
        printf("    key %zu, pattern %zu: virtual key %2g, score %2g\n", jd / 2 + 1, jd % 2 + 1, (double)key[jd],
               (double)by_map[jd]);
        ck_assert(by_map[jd] == scores[jd] && q[0] * key[jd] == scores[jd]);
    }

    h.q = (real[]){(real)(2 * scale), 0, 0, 0, 0};
    run_head(&h);
    kernels_of(&h, 0);
    real merged[COUNT(merged_sixteenths)];
    structsa_naive_merge(merged, h.kernels, &h.values, &h.params);
    for (size_t jd = 0; jd < COUNT(scores); jd++) worse(&worst, fabs((double)(h.a[jd] - sixteenths[jd] / 16)));
    for (size_t n = 0; n < COUNT(merged); n++) {
        printf("    token %zu: merged kernels %g / 16\n", n + 1, 16 * (double)merged[n]);
        worse(&worst, fabs((double)(merged[n] - merged_sixteenths[n] / 16)));
    }
    within("weights and merged kernels", worst, tolerance);

    /* The forms.  The first channels of x are q, k and v; eight channels make the fast form of Eq. 5 use the map. */
    enum { C = 8 };
    for (int equation = 5; equation <= 16; equation += 11) {
        char options[96];
        snprintf(options, sizeof options, "--grid 5 --kernel 3 --equation %d --scale %.17g", equation, scale);
        struct fixture t = fixture(options, &structsa, 1, C, "D=2", "b_qkv w_o b_o");
        fixture_fill(&t, "w_qkv", 0);
        for (size_t side = 0; side < 3; side++) fixture_tensor(&t, "w_qkv")[side * C * C + side] = 1;
        if (equation == 5) fixture_put(&t, "uk", uk), fixture_put(&t, "uv", uv);
        for (size_t dmc = 0; equation == 16 && dmc < COUNT(hk) * C; dmc++)
            fixture_tensor(&t, "hk")[dmc] = hk[dmc / C], fixture_tensor(&t, "hv")[dmc] = hv[dmc / C];
        real *x = zeros(5 * C);
        for (size_t i = 0; i < 5; i++) x[i * C] = q[i], x[i * C + 1] = k[i], x[i * C + 2] = v[i];
        for (int f = 0; operator_form_at(&structsa, f); f++) {
            const char *name = operator_form_at(&structsa, f)->name;
            const real *y = fixture_run_on(&t, name, 1, x);
            worst = 0;
            for (size_t i = 0; i < 5; i++) worse(&worst, fabs((double)(y[i * C] - y_by_hand[i])) / 4);
            printf("    Eq. %d, %s: y_1 = %g, y_2 = %g\n", equation, name, (double)y[0], (double)y[C]);
            within(name, worst, tolerance);
        }
    }
}

/* The defaults are Eq. 16, stride 1, scale 1 and one head.  `permuted` is a former name of the plain form. */
TEST(defaults_are_those_of_the_contract)
{
    const char *given = "--grid 3x4 --kernel 3x3 --equation 16 --stride 1 --scale 1 --heads 1";
    struct fixture t = fixture("--grid 3x4 --kernel 3x3", &structsa, 1, 6, "D=3", "");
    struct fixture u = fixture(given, &structsa, 1, 6, "D=3", "");
    const struct form *form;
    for (int f = 0; (form = operator_form_at(&structsa, f)); f++)
        equal(fixture_run(&t, form->name, 1), fixture_run(&u, form->name, 1), t.outputs);
    ck_assert_ptr_eq(operator_form(&structsa, "permuted"), operator_form(&structsa, "plain"));
}

int main(void)
{
    static const struct battery tables = {
        .operator = &structsa, .golden = true, .variants = variants,
        .join = options_of_equation, .sizes = sizes, .errors = errors,
        .files = files,
    };
    return run_battery("StructSA", &tables);
}
