/* test_gap.c -- chapter 6: formulas of the forms, the direction of the gap, and its tables
 *
 * figures/fits.py and figures/roofline.c work out the tables from what was measured.  Nothing is timed here: the tables
 * are worked out once more from the same measurements, and the forms count their multiply-adds. */

#include "support/tsv.h"
#include "trial.h"
#include "../reference/chopd.h"
#include "../reference/elsa.h"
#include "../reference/hilo.h"
#include "../reference/lisa.h"
#include "../reference/msa.h"
#include "../reference/structsa.h"

#define POINTS 32

/* True if a number is printed like this. */
static bool prints_as(const char *format, double value, const char *text)
{
    char own[64];
    snprintf(own, sizeof own, format, value);
    return !strcmp(own, text);
}

/* True if it is printed in four digits, as fits.py does it. */
static bool four_digits(double value, const char *text)
{
    return prints_as(value >= 9999.5 ? "%.0f" : "%.4g", value, text);
}

static bool near(double a, double b) { return fabs(a - b) <= 0.006 * fabs(b); }

static struct tsv *figure(const char *name)
{
    char *path = keep(64, 1);
    snprintf(path, 64, "figures/%s.tsv", name);
    return tsv_open(path);
}

/* ---- the layers --------------------------------------------------------- */

/* A layer's name in figures/chapters.py, where it was measured, and the leading terms of its two formulas, with projections,
 * as the chapter's table prints them; NULL where it prints an order. */
struct layer {
    const char *name, *table, *series;
    const struct declaration *d;
    const char *options, *sizes, *without;
    size_t channels;
    double (*naive)(double N), (*fast)(double N);
    int naive_order, fast_order;
};

static double msa_both(double N) { return 2 * N * N * 96 + 3 * N * 96 * 96; }
static double lisa_naive(double N) { return 2 * N * N * 96 * 16 + 3 * N * 96 * 96; }
static double structsa_naive(double N) { return N * N * 192 * (1 + 2 * 4 * 9 + 9) + 3 * N * 192 * 192; }
static double structsa_fast(double N) { return 2 * N * N * 192 * 4 + 3 * N * 192 * 192; }
static double elsa_both(double N) { return N * 49 * (2 * 3 + 2) * 96 + 3 * N * 96 * 96; }
static double chopd_naive(double N) { return 3 * N * N * 96 * 96 * 96; }
static double chopd_fast(double N) { return N * 96 * (96 + 96 + 6 * 4) + 49.0 * (9 * 96 * 24 + 24 * 96); }

/* Ten of twelve heads in Lo-Fi: D_L = 320, D_H = 64. */
static double hilo_maps(double N) { return N * (64 * (3 * 384 + 64) + 320 * (384 + 320)) + 2 * N / 4 * 384 * 320; }
static double hilo_naive(double N) { return 2 * N * N * 384 + hilo_maps(N); }
static double hilo_fast(double N) { return 2 * N * N * 320 / 4 + 2 * N * 4 * 64 + hilo_maps(N); }

static const struct layer layers[] = {
    {"self-attention", "lisa", "msa", &msa, "--heads 6", "", "b_qkv w_o b_o rpe", 96, msa_both, msa_both, 2, 2},
    {"LiSA, Eq. 10", "lisa", "eq10", &lisa, "--heads 6", "D=16", "b_qkv w_o b_o", 96, lisa_naive, NULL, 2, 1},
    {"StructSA, D = 4", "structsa", "d4", &structsa, "--heads 3 --kernel 3x3", "D=4", "b_qkv w_o b_o", 192,
     structsa_naive, structsa_fast, 2, 2},
    {"ELSA, K = 7", "elsa", "k7", &elsa, "--heads 3 --kernel 7", "", "b_qkv w_o b_o", 96, elsa_both, elsa_both, 1, 1},
    {"ChoP'D", "chopd", "chopd", &chopd, "", "D=96 R=96 G=4 S=24", "", 96, chopd_naive, chopd_fast, 2, 1},
    {"HiLo, s = 2", "hilo", "s2", &hilo, "--heads 12", "", "h_qkv_b h_proj_b l_q_b l_kv_b l_proj_b", 384,
     hilo_naive, hilo_fast, 2, 2},
};

static const struct layer *layer_of(const struct tsv *t)
{
    for (size_t l = 0; l < COUNT(layers); l++)
        if (!strcmp(layers[l].name, tsv_cell(t, "operator"))) return &layers[l];
    ck_abort_msg("no layer is called %s", tsv_cell(t, "operator"));
    return NULL;
}

static struct problem problem_on(const struct layer *l, const char *grid_word)
{
    char options[96];
    snprintf(options, sizeof options, "--grid %s %s", grid_word, l->options);
    return shaped(options, l->d, 1, l->channels, l->sizes, l->without);
}

/* Multiply-adds of a layer's form on this grid, by its formula. */
static double formula(const struct layer *l, const char *form, const char *grid_word)
{
    struct problem p = problem_on(l, grid_word);
    return form_multiply_adds(operator_form(l->d, form), &p);
}

/* Measurements of one form, by size. */
struct series { int n; double N[POINTS], seconds[POINTS], bytes[POINTS], products[POINTS]; char grid[POINTS][16]; };

static struct series series_of(const struct layer *l, const char *form)
{
    struct series s = {0};
    for (struct tsv *t = figure(l->table); tsv_row(t);) {
        if (strcmp(tsv_cell(t, "series"), l->series) || strcmp(tsv_cell(t, "form"), form)) continue;
        ck_assert_int_lt(s.n, POINTS);
        s.N[s.n] = tsv_number(t, "tokens");
        s.seconds[s.n] = tsv_number(t, "median_seconds");
        s.bytes[s.n] = tsv_number(t, "peak_bytes");
        s.products[s.n] = tsv_number(t, "multiply_adds");
        snprintf(s.grid[s.n++], sizeof s.grid[0], "%.15s", tsv_cell(t, "grid"));
    }
    ck_assert_int_gt(s.n, 2);
    return s;
}

/* The slope of log y over log x by the normal equations, and its standard error. */
struct slope { double exponent, error; };

static struct slope slope_of(const double *x, const double *y, int n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (int i = 0; i < n; i++) {
        double a = log(x[i]), b = log(y[i]);
        sx += a; sy += b; sxx += a * a; sxy += a * b; syy += b * b;
    }
    sxx -= sx * sx / n; sxy -= sx * sy / n; syy -= sy * sy / n;
    return (struct slope){sxy / sxx, sqrt(fmax(syy - sxy * sxy / sxx, 0) / (n - 2) / sxx)};
}

/* ---- exponents and ratios ------------------------------------------------- */

/* figures/gap-fits.tsv has least squares over the last factor of 16 in N, of counts that are the formulas'. */
START_TEST(fitted_exponents_are_least_squares)
{
    int rows = 0;
    for (struct tsv *t = figure("gap-fits"); tsv_row(t); rows++) {
        const struct layer *l = layer_of(t);
        const char *form = tsv_cell(t, "form");
        struct series s = series_of(l, form);
        char text[40];
        int first = 0;
        while (s.N[first] * 16 < s.N[s.n - 1]) first++;
        for (int i = 0; i < s.n; i++) {
            double count = formula(l, form, s.grid[i]);
            ck_assert_msg(fabs(s.products[i] - count) <= 0.5, "%s %s %s: %.0f in the table, %.0f by formula", l->name,
                          form, s.grid[i], s.products[i], count);
        }
        int n = s.n - first;
        ck_assert(tsv_number(t, "from") == s.N[first] && tsv_number(t, "to") == s.N[s.n - 1]);
        ck_assert_int_eq((int)tsv_number(t, "sizes"), n);
        struct slope work = slope_of(s.N + first, s.products + first, n);
        struct slope time = slope_of(s.N + first, s.seconds + first, n);
        struct slope memory = slope_of(s.N + first, s.bytes + first, n);
        snprintf(text, sizeof text, "%.2f ± %.2f", time.exponent, time.error);
        ck_assert_str_eq(text, tsv_cell(t, "time_exponent"));
        ck_assert(prints_as("%.3f", work.exponent, tsv_cell(t, "work_exponent")));
        ck_assert(prints_as("%.3f", memory.exponent, tsv_cell(t, "memory_exponent")));
    }
    ck_assert_int_eq(rows, 2 * (int)COUNT(layers));
}
END_TEST

/* LiSA Tab. 1; StructSA Sec. 4; ELSA Sec. 3.2; ChoP'D Fig. 3; HiLo Eq. 7 to 12.  Tolerance: a twentieth, for terms
 * linear in N, the scale of N^2 h logits (a thirtieth) and the fringe of ELSA's plane (3 %); 0.02 of an order.
 * N log N has the slope 1 + 1 / log N, at most 1.09. */
START_TEST(formulas_beside_exponents_are_the_forms)
{
    for (size_t n = 0; n < COUNT(layers); n++)
        for (int fast = 0; fast < 2; fast++) {
            const struct layer *l = &layers[n];
            const char *form = fast ? "fast" : "naive";
            struct series s = series_of(l, form);
            double (*terms)(double) = fast ? l->fast : l->naive, order = fast ? l->fast_order : l->naive_order;
            double share = terms ? terms(s.N[s.n - 1]) / s.products[s.n - 1] : 1;
            double slope = log(formula(l, form, "1024x1024") / formula(l, form, "512x512")) / log(4);
            printf("    %-16s %-5s %.4f of the count at N = %.0f, slope %.4f\n", l->name, form, share, s.N[s.n - 1],
                   slope);
            ck_assert(fabs(share - 1) < 0.05);
            if (terms) ck_assert(fabs(slope - order) < 0.02);
            else ck_assert(slope > 1 && slope < 1.09);
        }
}
END_TEST

/* The time and memory of the naive form over those of the fast one, on the grid of a row. */
struct gap { double faster, smaller; };

static struct gap gap_of(const struct tsv *t)
{
    struct series naive = series_of(layer_of(t), "naive"), fast = series_of(layer_of(t), "fast");
    int a = 0, b = 0;
    while (a < naive.n && strcmp(naive.grid[a], tsv_cell(t, "grid"))) a++;
    while (b < fast.n && strcmp(fast.grid[b], tsv_cell(t, "grid"))) b++;
    ck_assert(a < naive.n && b < fast.n);
    return (struct gap){naive.seconds[a] / fast.seconds[b], naive.bytes[a] / fast.bytes[b]};
}

/* figures/gap.tsv has all sizes at which both forms were measured. */
START_TEST(gaps_are_ratios_of_the_rows)
{
    int rows = 0, pairs = 0;
    for (struct tsv *t = figure("gap"); tsv_row(t); rows++) {
        struct gap gap = gap_of(t);
        ck_assert(four_digits(gap.faster, tsv_cell(t, "times_faster")));
        ck_assert(four_digits(gap.smaller, tsv_cell(t, "times_smaller")));
    }
    for (size_t n = 0; n < COUNT(layers); n++) {
        struct series naive = series_of(&layers[n], "naive"), fast = series_of(&layers[n], "fast");
        for (int a = 0; a < naive.n; a++)
            for (int b = 0; b < fast.n; b++) pairs += naive.N[a] == fast.N[b];
    }
    ck_assert_int_eq(rows, pairs);
}
END_TEST

/* figures/gap-factors.tsv: the ratio of times is the ratio of formulas times the rest.  Both forms of ELSA multiply
 * alike but for neighbours off the grid: tolerance 0.01. */
START_TEST(a_gap_is_less_work_and_more_a_second)
{
    size_t rows = 0;
    for (struct tsv *t = figure("gap-factors"); tsv_row(t); rows++) {
        const struct layer *l = layer_of(t);
        double less = formula(l, "naive", tsv_cell(t, "grid")) / formula(l, "fast", tsv_cell(t, "grid"));
        double faster = gap_of(t).faster;
        ck_assert(four_digits(less, tsv_cell(t, "less_work")));
        ck_assert(four_digits(faster, tsv_cell(t, "times_faster")));
        ck_assert(four_digits(faster / less, tsv_cell(t, "more_a_second")));
        if (l->d == &elsa) within("ELSA's work", fabs(less - 1), 0.01);
    }
    ck_assert_uint_eq(rows, COUNT(layers));
}
END_TEST

static double plan_bytes(const struct layer *l, const char *form, const char *grid_word)
{
    struct plan plan;
    struct problem p = problem_on(l, grid_word);
    succeeds(plan_prepare(&plan, &p, operator_form(l->d, form), 1));
    double bytes = (double)room_bytes(&plan.room);
    plan_release(&plan);
    return bytes;
}

/* On one token every fast form takes more memory than its naive one, on 32 x 32 less.  Padding differs from machine to
 * machine; this order does not. */
START_TEST(one_token_takes_more_memory_told_fast)
{
    for (size_t n = 0; n < COUNT(layers); n++) {
        const struct layer *l = &layers[n];
        double one = plan_bytes(l, "naive", "1x1") / plan_bytes(l, "fast", "1x1");
        double many = plan_bytes(l, "naive", "32x32") / plan_bytes(l, "fast", "32x32");
        printf("    %-16s %.3f on one token, %.3f on 1024\n", l->name, one, many);
        ck_assert(one < 1 && many > 1);
    }
}
END_TEST

/* LiSA, Sec. 5.2 and Fig. 4, "in all cases": by our forms' counts windows of N/4 tokens are cheaper up to 32 x 32,
 * pooled keys up to 36 x 36, self-attention up to 14 x 14.  On 34 x 34, 2 x 17 a side, LiSA pads its circles to 70 and
 * costs more than all. */
START_TEST(windows_of_a_quarter_cost_less_up_to_32_squared)
{
    static const int sides[] = {8, 12, 14, 16, 18, 20, 24, 28, 30, 32, 36, 40, 42, 48, 56, 60, 64, 96, 128, 34};
    static const struct layer pooled = {.d = &hilo, .options = "--heads 6 --alpha 1 --window 2", .sizes = "",
                                        .without = "l_q_b l_kv_b l_proj_b", .channels = 96};
    struct layer ours = layers[1], all = layers[0], quarter = all;
    char options[40], grid_word[16];
    all.without = quarter.without = "b_qkv b_o rpe";
    ours.without = "b_qkv b_o";
    quarter.options = options;
    for (size_t n = 0; n < COUNT(sides); n++) {
        int side = sides[n];
        snprintf(grid_word, sizeof grid_word, "%dx%d", side, side);
        snprintf(options, sizeof options, "--heads 6 --window %d", side / 2);
        double count = formula(&ours, "fast", grid_word);
        ck_assert_msg((formula(&quarter, "fast", grid_word) < count) == (side == 34 || side < 34), "side %d", side);
        ck_assert_msg((formula(&pooled, "fast", grid_word) < count) == (side == 34 || side < 38), "side %d", side);
        ck_assert_msg((formula(&all, "fast", grid_word) < count) == (side == 34 || side < 15), "side %d", side);
        if (side == 34) ck_assert(count > 3 * formula(&quarter, "fast", grid_word));
    }
}
END_TEST

/* ---- roofs and goals ------------------------------------------------------ */

/* figures/roofline.tsv: counts and bytes are the declarations', nothing is above its roof.  Tolerance: 0.6 % of numbers
 * printed to three digits; half of the last digit of a share. */
START_TEST(dots_of_the_roofline_are_formulas)
{
    struct { char name[16]; double rate; } level[8] = {{"", 0}};
    size_t levels = 0, dots = 0;
    double peak = 0;
    for (struct tsv *t = figure("roofline-levels"); tsv_row(t);) {
        ck_assert_uint_lt(levels, COUNT(level));
        snprintf(level[levels].name, sizeof level[0].name, "%.15s", tsv_cell(t, "level"));
        level[levels].rate = 1e9 * tsv_number(t, "G_a_second");
        if (!strcmp(level[levels].name, "multiply-adds")) peak = level[levels].rate;
        levels++;
    }
    ck_assert(peak > 0 && levels >= 2);

    for (struct tsv *t = figure("roofline"); tsv_row(t); dots++) {
        struct problem p = tsv_problem(t);
        double work = tsv_number(t, "multiply_adds"), x = tsv_number(t, "x_bytes"), y = tsv_number(t, "y_bytes");
        double bytes = x + y + tsv_number(t, "weights_bytes") + tsv_number(t, "workspace_bytes");
        size_t at = 0;
        ck_assert(work == floor(form_multiply_adds(operator_form(p.declaration, tsv_cell(t, "form")), &p) + 0.5));
        ck_assert(x == 4.0 * (double)problem_input_count(&p) && y == 4.0 * (double)problem_output_count(&p));
        ck_assert(tsv_number(t, "weights_bytes") >= 4.0 * (double)problem_parameters(&p));
        while (at < levels && strcmp(level[at].name, tsv_cell(t, "level"))) at++;
        ck_assert_uint_lt(at, levels);
        double intensity = work / bytes, roof = fmin(peak, intensity * level[at].rate) / 1e9;
        double reached = work / tsv_number(t, "best_seconds") / 1e9, share = tsv_number(t, "share");
        ck_assert(near(tsv_number(t, "intensity"), intensity) && near(tsv_number(t, "roof"), roof));
        ck_assert(near(tsv_number(t, "reached"), reached));
        ck_assert(fabs(share - 100 * reached / roof) < 0.051 && share <= 100);
    }
    ck_assert_uint_ge(dots, 12);
}
END_TEST

/* PyTorch's times next to ours, and the goals, of each machine. */
static const struct { const char *versus, *goals; } machines[] = {
    {"versus", "versus-goals"},
    {"versus-zen4", "versus-goals-zen4"},
    {"versus-zen3", "versus-goals-zen3"},
};

/* The least of PyTorch's milliseconds in a case, whose name goes to `way`; and those of our form. */
static double best_of(char way[64], double *ours, const char *table, const char *name, const char *form,
                      double threads)
{
    double best = HUGE_VAL;
    for (struct tsv *t = figure(table); tsv_row(t);) {
        if (strcmp(tsv_cell(t, "case"), name) || tsv_number(t, "threads") != threads) continue;
        double here = tsv_number(t, "milliseconds");
        if (!strcmp(tsv_cell(t, "side"), form)) *ours = here;
        if (!strncmp(tsv_cell(t, "side"), "ours", 4) || here >= best) continue;
        best = here;
        snprintf(way, 64, "%.63s", tsv_cell(t, "side"));
    }
    return best;
}

/* The table of all machines has this row once, with ratio and most in the column of this machine: bold where met. */
static void stands_with_all_machines(const struct tsv *row, int machine, bool met)
{
    int rows = 0;
    char expected[32];
    const char *bold = met ? "**" : "";
    snprintf(expected, sizeof expected, "%s%.9s of %.9s%s", bold, tsv_cell(row, "ratio"), tsv_cell(row, "most"), bold);
    for (struct tsv *t = figure("gap-goals"); tsv_row(t);) {
        if (strcmp(tsv_cell(t, "what"), tsv_cell(row, "what"))) continue;
        if (strcmp(tsv_cell(t, "threads"), tsv_cell(row, "threads"))) continue;
        ck_assert_int_eq(t->columns, 3 + (int)COUNT(machines));
        ck_assert_str_eq(t->cell[3 + machine], expected);
        rows++;
    }
    ck_assert_int_eq(rows, 1);
}

/* figures/versus-goals*.tsv.  The floor is the larger of multiply-adds, and eleven operations for each exponential, over
 * the peak, and of bytes over the bandwidth.  Tolerance: 0.6 % of numbers printed to three digits; half of the ratio's
 * last digit. */
START_TEST(goals_are_against_the_best_way_and_the_floor)
{
    /* Exponentials: heads, queries and keys; of HiLo two heads in windows of 2 x 2, and ten to the pooled tokens. */
    const double N = 56 * 56, K = 7 * 7, hilo_heads = 196 * (2 * 4 + 10 * 49);
    const struct { const char *name; double exponentials; } goal[] = {
        {"msa", N * N}, {"lisa", 0}, {"structsa", 6 * 8 * 784. * 784}, {"elsa", 3 * N * K}, {"window", 3 * N * K},
        {"chopd", 0}, {"chopd-pool-whole", 0}, {"chopd-pool-edges", 0}, {"hilo", hilo_heads},
        {"hilo-64", 64 * hilo_heads},
    };
    unsigned seen[COUNT(goal)] = {0};
    for (struct tsv *t = figure(machines[_i].goals); tsv_row(t);) {
        const char *name = tsv_cell(t, "case");
        double threads = tsv_number(t, "threads"), ours = NAN;
        char way[64] = "";
        size_t at = 0;
        while (at < COUNT(goal) && strcmp(goal[at].name, name)) at++;
        ck_assert_msg(at < COUNT(goal), "no goal has the case %s", name);
        seen[at] |= threads == 1 ? 1u : threads == 2 ? 2u : 0u;

        /* Step 1: the two sides. */
        double theirs = best_of(way, &ours, machines[_i].versus, name, tsv_cell(t, "our_form"), threads);
        ck_assert_str_eq(way, tsv_cell(t, "PyTorch's_best"));
        ck_assert(tsv_number(t, "its_ms") == theirs && tsv_number(t, "our_ms") == ours);
        ck_assert(fabs(tsv_number(t, "ratio") - theirs / ours) < 0.0051);

        /* Step 2: the floor; of the pooling alone by the count of fast/chopd/box_pool.h. */
        struct problem p = tsv_problem(t);
        double batch = tsv_number(t, "batch"), work = tsv_number(t, "multiply_adds");
        double given = 2 * batch * (double)problem_input_count(&p) + (double)problem_parameters(&p);
        double expected = batch * floor(form_multiply_adds(operator_form(p.declaration, "fast"), &p) + 0.5);
        if (!strncmp(name, "chopd-pool", 10)) {
            given = (2 * 3136 + 5 * 4) * 96;
            expected = 3136 * 96 * 4 * (strcmp(name, "chopd-pool-whole") ? 6 : 1);
        }
        ck_assert(work == expected && tsv_number(t, "given_bytes") == 4 * given);
        ck_assert(tsv_number(t, "exponentials") == goal[at].exponentials);
        double by_work = (work + 11 * goal[at].exponentials) / (1e6 * threads * tsv_number(t, "peak"));
        double by_traffic = 4 * given / (1e6 * threads * tsv_number(t, "bandwidth"));
        double least = fmax(by_work, by_traffic);
        ck_assert(near(tsv_number(t, "floor_ms"), least) && near(tsv_number(t, "most"), theirs / least));
        ck_assert(!strcmp(tsv_cell(t, "floor_of"), "arithmetic") == (by_work >= by_traffic));

        /* Step 3: the verdict. */
        double wanted = tsv_number(t, "goal");
        const char *missed = theirs / least < wanted ? "stopped by the floor" : "missed";
        const char *verdict = theirs / ours >= wanted ? "met" : missed;
        ck_assert_str_eq(tsv_cell(t, "verdict"), verdict);
        stands_with_all_machines(t, _i, theirs / ours >= wanted);
    }

    /* Step 4: each goal whose case was measured has a row for one thread and one for two. */
    size_t measured = 0;
    for (size_t at = 0; at < COUNT(goal); at++) {
        bool there = false;
        for (struct tsv *t = figure(machines[_i].versus); tsv_row(t);)
            there |= !strcmp(tsv_cell(t, "case"), goal[at].name);
        ck_assert_msg(seen[at] == (there ? 3 : 0), "%s: a row is missing, or one too many", goal[at].name);
        measured += there;
    }
    ck_assert_uint_ge(measured, COUNT(goal) - 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("the gap");
    TCase *ratios = add_case(suite, "exponents and ratios");
    tcase_add_test(ratios, fitted_exponents_are_least_squares);
    tcase_add_test(ratios, formulas_beside_exponents_are_the_forms);
    tcase_add_test(ratios, gaps_are_ratios_of_the_rows);
    tcase_add_test(ratios, a_gap_is_less_work_and_more_a_second);
    tcase_add_test(ratios, one_token_takes_more_memory_told_fast);
    tcase_add_test(ratios, windows_of_a_quarter_cost_less_up_to_32_squared);
    TCase *roofs = add_case(suite, "roofs and goals");
    tcase_add_test(roofs, dots_of_the_roofline_are_formulas);
    tcase_add_loop_test(roofs, goals_are_against_the_best_way_and_the_floor, 0, (int)COUNT(machines));
    return run_suite(suite);
}
