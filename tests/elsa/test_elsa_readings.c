/* test_elsa_readings.c -- layers and algorithms of ELSA by coordinates, against the operators
 *
 * Where all sums are exact, numbers are whole and the tolerance is zero. */

#include "elsa_case.h"
#include "../../reference/msa.h"

/* ---- the paradigm -------------------------------------------------------- */

/* Local attention in windows of 3 x 3 on 6 x 9 tokens, 8 channels in 2 heads: Eq. 4 with some of its terms. */
static real *local_attention(struct trial *t, const char *terms)
{
    bool qk = words_have(terms, "qk", 2), qr = words_have(terms, "qr", 2), rk = words_have(terms, "rk", 2);
    bool b = words_have(terms, "b", 1);
    real *qkv = zeros(54 * 24), *y = zeros(54 * 8), scores[9];
    linear_map(qkv, 24, t->x, 8, trial_tensor(t, "w_qkv"), NULL, 54, 8, 24);
    for (int i = 0; i < 54; i++)
        for (int a = 0; a < 2; a++) {
            int top = i / 9 / 3 * 3, left = i % 9 / 3 * 3;
            for (int m = 0; m < 9; m++) {
                int row = top + m / 3, column = left + m % 3;
                int offset = (row - i / 9 + 2) * 5 + column - i % 9 + 2;
                const real *q = qkv + i * 24, *k = qkv + (row * 9 + column) * 24 + 8;
                scores[m] = b ? trial_tensor(t, "rb")[a * 25 + offset] : 0;
                for (int c = 4 * a; qk && c < 4 * a + 4; c++) scores[m] += q[c] * k[c] / 2;
                for (int c = 0; qr && c < 8; c++) scores[m] += q[c] * trial_tensor(t, "rk")[(c * 2 + a) * 25 + offset];
                for (int c = 0; rk && c < 8; c++) scores[m] += k[c] * trial_tensor(t, "rq")[(c * 2 + a) * 25 + offset];
            }
            elsa_normalise(scores, 9, ELSA_SOFTMAX);
            for (int m = 0; m < 9; m++)
                for (int c = 4 * a; c < 4 * a + 4; c++)
                    y[i * 8 + c] += scores[m] * qkv[((top + m / 3) * 9 + left + m % 3) * 24 + 16 + c];
        }
    return y;
}

/* ELSA, Eq. 4, Tab. 1: Swin's attention and Net1 to Net7. Rows differ by more than a hundredth. */
START_TEST(every_row_of_table_1_is_a_choice_of_terms)
{
    static const char *const terms[] = {"qk+b", "qk", "qr", "rk", "b", "qr+rk", "qr+rk+b", "qk+qr+rk+b"};
    real *y[COUNT(terms)];
    for (size_t r = 0; r < COUNT(terms); r++) {
        char options[120];
        snprintf(options, sizeof options, "--grid 6x9 --kernel 3 --heads 2 --equation 4 --area window --norm softmax "
                 "--scale 0.5 --terms %s", terms[r]);
        struct trial t = trial(options, &elsa, 1, 8, "", "w_o b_o b_qkv");
        y[r] = local_attention(&t, terms[r]);
        forms_within(&t, y[r], 2 * elsa_tolerance(&t.problem));
        for (size_t s = 0; s < r; s++) beyond("    another row", relative_difference(y[s], y[r], t.outputs), 0.01);
    }
}
END_TEST

/* ELSA, Eq. 2 and 4: a linear map of the token with its bias, normalised. DDF's filter of channels comes from the mean
 * of the image, which Eq. 2 does not have. */
START_TEST(spatial_filter_of_ddf_is_a_case_of_eq4)
{
    struct trial t = trial("--grid 5x6 --kernel 3 --equation 4 --terms qr+b --norm filter", &elsa, 1, 4, "",
                           "w_o b_o b_qkv");
    struct trial plain = trial("--grid 5x6 --kernel 3 --equation 4 --terms qr+b --norm identity", &elsa, 1, 4, "",
                               "w_o b_o b_qkv");
    const real *w = trial_tensor(&t, "rk"), *b = trial_tensor(&t, "rb");
    real *y = zeros(t.outputs);
    pass_x(&t, true);
    pass_x(&plain, true);
    for (int i = 0; i < 30; i++) {
        wide_real filter[9], mean = 0, square = 0;
        for (int n = 0; n < 9; n++) {
            filter[n] = (wide_real)b[n];
            for (int c = 0; c < 4; c++) filter[n] += (wide_real)t.x[i * 4 + c] * (wide_real)w[c * 9 + n];
            mean += filter[n] / 9;
        }
        for (int n = 0; n < 9; n++) square += (filter[n] - mean) * (filter[n] - mean) / 9;
        for (int n = 0; n < 9; n++) {
            int j = beside(i, 5, 6, n / 3 - 1, n % 3 - 1);
            for (int c = 0; j >= 0 && c < 4; c++)
                y[i * 4 + c] += (real)((filter[n] - mean) / sqrt(square + 1e-10)) * t.x[j * 4 + c];
        }
    }
    forms_within(&t, y, elsa_tolerance(&t.problem));
    beyond("without the norm", relative_difference(trial_run(&plain, "naive", 1), y, t.outputs), 0.01);
}
END_TEST

/* y of one channel [25] of an outlooker on 5 x 5 tokens: each token makes nine filters, one for each neighbour; y_i
 * adds what the tokens around i give to i. */
static real *outlooker(const real *x, const real *v, const real *w)
{
    real *y = zeros(25);
    for (int c = 0; c < 25; c++)
        for (int m = 0; m < 9; m++) {
            int i = beside(c, 5, 5, m / 3 - 1, m % 3 - 1);
            real filter[9];
            for (int n = 0; n < 9; n++) filter[n] = w[m * 9 + n] * x[c];
            elsa_normalise(filter, 9, ELSA_SOFTMAX);
            for (int n = 0; n < 9; n++) {
                int j = beside(c, 5, 5, n / 3 - 1, n % 3 - 1);
                if (i >= 0 && j >= 0) y[i] += filter[n] * v[j];
            }
        }
    return y;
}

/* ELSA, Eq. 2, which names it among dynamic filters: left open. A neighbour of a token changes the outlooker's y
 * there, values held; in Eq. 4 with the term qr it changes nothing. */
START_TEST(outlooker_is_no_filter_of_its_own_token)
{
    real *x = normal(1, 25), *v = normal(2, 25), *w = normal(3, 81);
    real *before = outlooker(x, v, w);
    x[13] += 1;
    real *after = outlooker(x, v, w);
    beyond("an outlooker's token 12", fabs((double)(after[12] - before[12])), 0.01);

    struct trial t = trial("--grid 5x5 --kernel 3 --equation 4 --terms qr --norm softmax", &elsa, 1, 1, "", "w_o b_o");
    trial_tensor(&t, "w_qkv")[2] = 0;
    trial_tensor(&t, "b_qkv")[2] = 1;
    for (int f = 0; f < 2; f++) {
        const char *form = f ? "fast" : "naive";
        real *moved = copy(t.x, t.inputs), *y = trial_run(&t, form, 1);
        moved[6] += 1;          /* a corner's neighbour, whose own filter reaches beyond the grid */
        real *other = trial_run_on(&t, form, 1, moved);
        for (size_t i = 0; i < 25; i++) ck_assert(i == 6 || other[i] == y[i]);
        moved = copy(t.x, t.inputs);
        moved[0] += 1;
        beyond("its own filter moves", fabs((double)(trial_run_on(&t, form, 1, moved)[0] - y[0])), 1e-4);
    }
}
END_TEST

/* ELSA, Eq. 2 and 4: y_i = sum_m f^m_(i - m), f^m with the term qr and a softmax. Moved the other way, y differs. */
START_TEST(outlooker_is_nine_filters_moved_and_added)
{
    struct trial t = trial("--grid 5x5 --kernel 3 --equation 4 --terms qr --norm softmax", &elsa, 1, 1, "",
                           "w_o b_o b_qkv");
    real *w = normal(3, 81), *y = outlooker(t.x, t.x, w);
    pass_x(&t, true);
    for (int f = 0; f < 2; f++) {
        real *sum = zeros(25), *astray = zeros(25);
        for (int m = 0; m < 9; m++) {
            memcpy(trial_tensor(&t, "rk"), w + 9 * m, 9 * sizeof *w);
            real *answer = trial_run(&t, f ? "fast" : "naive", 1);
            for (int c = 0; c < 25; c++) {
                int i = beside(c, 5, 5, m / 3 - 1, m % 3 - 1), other = beside(c, 5, 5, 1 - m / 3, 1 - m % 3);
                if (i >= 0) sum[i] += answer[c];
                if (other >= 0) astray[other] += answer[c];
            }
        }
        within(f ? "fast" : "naive", relative_difference(sum, y, 25), 9 * elsa_tolerance(&t.problem));
        beyond("    moved the other way", relative_difference(astray, y, 25), 0.01);
    }
}
END_TEST

/* ELSA, App. A, leaves open what it divides by; the code has n - 1. Tolerance as in
 * filter_norm_forgets_scale_and_offset; our 1e-10 under the root and theirs after it make 1.5e-10 of an entry. */
START_TEST(filter_norm_of_the_code_is_a_constant_times_ours)
{
    static const size_t entries[] = {9, 25, 49};
    size_t n = entries[_i];
    real *w = normal(1, n), *ours = copy(w, n);
    double mean = 0, square = 0, worst = 0, without = 0;
    elsa_normalise(ours, n, ELSA_FILTER);
    for (size_t i = 0; i < n; i++) mean += (double)w[i] / (double)n;
    for (size_t i = 0; i < n; i++) square += pow((double)w[i] - mean, 2) / (double)(n - 1);
    double factor = sqrt((double)(n - 1) / (double)n);
    for (size_t i = 0; i < n; i++) {
        double theirs = ((double)w[i] - mean) / (sqrt(square) + 1e-10);
        worse(&worst, fabs(theirs - factor * (double)ours[i]));
        worse(&without, fabs(theirs - (double)ours[i]));
    }
    printf("    %zu entries: %.4f\n", n, factor);
    within("times the root", worst, 16 * 7 * UNIT_ROUNDOFF * 8 + 3e-10 * largest(ours, n));
    beyond("    without", without, 0.01);
}
END_TEST

/* ELSA, Sec. 4.3: the term b, windows, one head per channel, no norm. With its softmax Net4 is still linear in x. */
START_TEST(depthwise_convolution_in_windows_is_net4)
{
    const char *options = "--grid 6x9 --kernel 3 --heads 4 --equation 4 --area window --terms b";
    char identity[120];
    snprintf(identity, sizeof identity, "%s --norm identity", options);
    struct trial t = trial(identity, &elsa, 1, 4, "", "w_o b_o b_qkv");
    struct trial net4 = trial(options, &elsa, 1, 4, "", "w_o b_o b_qkv");
    make_whole(&t, true);
    pass_x(&net4, false);
    const real *rb = trial_tensor(&t, "rb");
    real *y = zeros(t.outputs), *other = normal(5, t.inputs), *sum = sum_of(net4.x, 1, other, t.inputs);
    for (int i = 0; i < 54; i++)
        for (int m = 0; m < 9; m++) {
            int row = i / 9 / 3 * 3 + m / 3, column = i % 9 / 3 * 3 + m % 3;
            int offset = (row - i / 9 + 2) * 5 + column - i % 9 + 2;
            for (int c = 0; c < 4; c++) y[i * 4 + c] += rb[c * 25 + offset] * t.x[(row * 9 + column) * 4 + c];
        }
    both_equal(&t, y);

    for (int f = 0; f < 2; f++) {
        const char *form = f ? "fast" : "naive";
        real *y_of_sum = trial_run_on(&net4, form, 1, sum);
        real *sum_of_y = sum_of(trial_run(&net4, form, 1), 1, trial_run_on(&net4, form, 1, other), t.outputs);
        within("linear", relative_difference(y_of_sum, sum_of_y, t.outputs), elsa_tolerance(&net4.problem));
    }
}
END_TEST

/* ELSA, Sec. 5, said of terms, without a softmax: y(2x) = 2^o y(x) for each term, and the third difference of all four
 * is 6 times y of qk alone. */
START_TEST(net7_is_of_third_order)
{
    static const struct { const char *terms; int factor; } term[] = {
        {"qk", 8}, {"qr", 4}, {"rk", 4}, {"b", 2}, {"qr+rk+b", 0}, {"qk+qr+rk+b", 0},
    };
    for (int f = 0; f < 2; f++) {
        const char *form = f ? "fast" : "naive";
        real *cubic = NULL;
        for (size_t k = 0; k < COUNT(term); k++) {
            char options[120];
            snprintf(options, sizeof options, "--grid 4x5 --kernel 3 --heads 2 --equation 4 --norm identity --terms %s",
                     term[k].terms);
            struct trial t = trial(options, &elsa, 1, 4, "", "w_o b_o b_qkv");
            make_whole(&t, false);
            real *one = trial_run(&t, form, 1), *two = trial_run_on(&t, form, 1, sum_of(t.x, 1, t.x, t.inputs));
            real *three = trial_run_on(&t, form, 1, sum_of(t.x, 2, t.x, t.inputs));
            if (!k) cubic = one;
            ck_assert(largest(one, t.outputs) > 4);
            for (size_t i = 0; i < t.outputs; i++) {
                real third = three[i] - 3 * two[i] + 3 * one[i];
                if (term[k].factor) ck_assert(two[i] == (real)term[k].factor * one[i]);
                else ck_assert(third == (k == 4 ? 0 : 6 * cubic[i]));
            }
        }
        ck_assert(largest(cubic, 80) > 4);
    }
}
END_TEST

/* ---- the algorithms of the appendix --------------------------------------------- */

/* ELSA, Sec. 5, Algorithms 2 and 3: r^q (q_j k_j) may be mapped at j to h K^2 maps, map (a, n) shifted by n. */
START_TEST(mapping_and_shifting_is_unfolding_and_mapping)
{
    const struct subject s = {"5x6", 3, 2, _i % 2 ? 5 : 3, _i / 2 ? 2 : 1, 7};
    struct scene m = whole_scene(&s);
    int K = (int)s.K, entries = K * K, maps = 2 * entries, d = (int)s.dilation;
    real *mapped = zeros((size_t)maps * 30), *unfolded = zeros((size_t)maps * 30);
    real *shifted = zeros((size_t)maps * 30), *wrongly = zeros((size_t)maps * 30);
    make_logits(&m);
    for (int an = 0; an < maps; an++)
        for (int i = 0; i < 30; i++)
            for (int c = 0; c < 3; c++) {
                mapped[an * 30 + i] += m.kp[i * 3 + c] * m.of.rq[c * maps + an];
                unfolded[an * 30 + i] += m.unfolded[(i * entries + an % entries) * 3 + c] * m.of.rq[c * maps + an];
            }
    for (int an = 0; an < maps; an++)
        for (int i = 0; i < 30; i++) {
            int n = an % entries, next = (n + 1) % entries;
            int j = beside(i, 5, 6, (n / K - K / 2) * d, (n % K - K / 2) * d);
            int k = beside(i, 5, 6, (next / K - K / 2) * d, (next % K - K / 2) * d);
            if (j >= 0) shifted[an * 30 + i] = mapped[an * 30 + j];
            if (k >= 0) wrongly[an * 30 + i] = mapped[an * 30 + k];
        }
    ck_assert(largest(unfolded, (size_t)maps * 30) > 4);
    equal(shifted, unfolded, (size_t)maps * 30);
    unequal(wrongly, unfolded, (size_t)maps * 30);
}
END_TEST

/* The logits [maps][N] of Algorithm 4, kernels corrected: a 1 x 1 map to 2 maps channels, row r with bias[r] and
 * column weight[r] of rk and rq side by side (m is rk's, maps + m is rq's); a convolution of groups of two
 * channels. */
static real *algorithm_4(const struct scene *m, const int *weight, const real *bias)
{
    int H = (int)m->of.grid.size[0], W = (int)m->of.grid.size[1], N = H * W, K = (int)m->of.K, C = (int)m->of.heads.C;
    int maps = (int)m->of.heads.h * K * K;
    real *merged = zeros((size_t)(2 * maps * N)), *logits = zeros((size_t)(maps * N));
    for (int r = 0; r < 2 * maps; r++)
        for (int i = 0; i < N; i++) {
            merged[r * N + i] = bias[r];
            for (int c = 0; c < C; c++) {
                const real *row = weight[r] < maps ? m->of.rk : m->of.rq;
                merged[r * N + i] += m->q[i * C + c] * m->k[i * C + c] * row[c * maps + weight[r] % maps];
            }
        }
    for (int out = 0; out < maps; out++)
        for (int i = 0; i < N; i++)
            for (int n = 0; n < K * K; n++) {
                int j = beside(i, H, W, n / K - K / 2, n % K - K / 2);
                real first = n == K * K / 2, second = n == out % (K * K);
                if (j < 0) continue;
                logits[out * N + i] += first * merged[2 * out * N + j] + second * merged[(2 * out + 1) * N + j];
            }
    return logits;
}

/* ELSA, Algorithm 4: row 2 m of the merged map is r^k of map m, row 2 m + 1 is r^q. If its second bias is not zero,
 * logits differ nearer than K/2 to the border, and only there: left open. */
START_TEST(algorithm_4_interleaves_its_two_maps)
{
    const struct subject s = {_i / 2 ? "8x7" : "5x6", 3, 2, _i % 2 ? 5 : 3, 1, 7};
    struct scene m = whole_scene(&s);
    size_t maps = 2 * m.of.entries, N = m.of.heads.N, H = m.of.grid.size[0], W = m.of.grid.size[1], half = s.K / 2;
    int *interleaved = keep(2 * maps, sizeof *interleaved), *behind = keep(2 * maps, sizeof *behind);
    real *bias = zeros(2 * maps), *moved = zeros(2 * maps);
    for (size_t an = 0; an < maps; an++) {
        interleaved[2 * an] = behind[an] = (int)an;
        interleaved[2 * an + 1] = behind[maps + an] = (int)(maps + an);
        bias[2 * an] = m.of.rb[an];
        moved[2 * an] = m.of.rb[an] - 1;
        moved[2 * an + 1] = 1;
    }
    make_logits(&m);
    equal(algorithm_4(&m, interleaved, bias), m.h, maps * N);
    unequal(algorithm_4(&m, behind, bias), m.h, maps * N);
    real *lost = algorithm_4(&m, interleaved, moved);
    for (size_t i = 0; i < N; i++) {
        bool differs = false, inside = i / W >= half && i / W + half < H && i % W >= half && i % W + half < W;
        for (size_t an = 0; an < maps; an++) differs = differs || lost[an * N + i] != m.h[an * N + i];
        ck_assert(differs == !inside);
    }
}
END_TEST

/* ---- windows, and the ghost head elsewhere ---------------------------------------- */

static real *windows_of_4(const real *x, const char *form, int shift)
{
    char options[80];
    snprintf(options, sizeof options, "--grid 8x8 --window 4 --shift %d --heads 2", shift);
    struct trial t = trial(options, &msa, 1, 4, "", "rpe");
    return trial_run_on(&t, form, 1, x);
}

/* y and other differ at all tokens from (low, low) to (high, high), and at no other. */
static void differ_within(const real *y, const real *other, size_t low, size_t high)
{
    for (size_t i = 0; i < 64; i++) {
        bool inside = i / 8 >= low && i / 8 <= high && i % 8 >= low && i % 8 <= high;
        ck_assert((memcmp(y + i * 4, other + i * 4, 4 * sizeof *y) != 0) == inside);
    }
}

/* ELSA, Sec. 4.3. Token (3, 3) is changed. The mask of shifted windows: token (7, 7) reaches the last two rows and
 * columns, and not the first. */
START_TEST(shifted_windows_see_four_windows)
{
    static const char *const forms[] = {"naive", "fast"};
    real *x = normal(1, 64 * 4), *changed = copy(x, 64 * 4), *corner = copy(x, 64 * 4);
    changed[(3 * 8 + 3) * 4] += 1;
    corner[(7 * 8 + 7) * 4] += 1;
    for (size_t f = 0; f < COUNT(forms); f++) {
        real *once = windows_of_4(x, forms[f], 0), *once_changed = windows_of_4(changed, forms[f], 0);
        real *shifted = windows_of_4(x, forms[f], 2);
        differ_within(once, once_changed, 0, 3);
        differ_within(shifted, windows_of_4(changed, forms[f], 2), 2, 5);
        differ_within(windows_of_4(once, forms[f], 2), windows_of_4(once_changed, forms[f], 2), 0, 5);
        differ_within(shifted, windows_of_4(corner, forms[f], 2), 6, 7);
    }
}
END_TEST

/* ELSA, App. C, leaves open how its matrices are indexed; by offsets, here. msa, and Eq. 8 and 5 of ELSA's naive
 * form with 7 x 7 neighbours, which are the whole image. Tolerance: 32 sqrt(24) u, sums of 12 products. */
START_TEST(ghost_head_doubles_the_heads_of_self_attention)
{
    static const char *const forms[] = {"naive", "fast"};
    const struct subject s = {"3x4", 8, 2, 7, 1, 7};
    struct trial t = trial("--grid 3x4 --heads 2 --lambda 2 --gamma 0.5 --head-map block", &msa, 1, 8, "",
                           "rpe w_o b_o b_qkv");
    struct scene m = empty_scene(&s);
    real *qkv = zeros(12 * 24), *v = zeros(12 * 8), *factor = zeros(8 * 49), *summand = zeros(8 * 49);
    real *o = trial_tensor(&t, "ghost_mul"), *added = trial_tensor(&t, "ghost_add"), A[2][12][12], *y = zeros(96);
    double tolerance = 32 * sqrt(24) * UNIT_ROUNDOFF;

    /* Step 1: the maps A of self-attention, and as filters of the offsets j - i. */
    linear_map(qkv, 24, t.x, 8, trial_tensor(&t, "w_qkv"), NULL, 12, 8, 24);
    head_gather(v, qkv + 16, 24, 12, 8);
    for (int a = 0; a < 2; a++)
        for (int i = 0; i < 12; i++) {
            for (int j = 0; j < 12; j++) {
                A[a][i][j] = 0;
                for (int c = 4 * a; c < 4 * a + 4; c++) A[a][i][j] += qkv[i * 24 + c] * qkv[j * 24 + 8 + c] / 2;
            }
            elsa_normalise(A[a][i], 12, ELSA_SOFTMAX);
            for (int j = 0; j < 12; j++)
                m.h[(a * 49 + (j / 4 - i / 4 + 3) * 7 + j % 4 - i % 4 + 3) * 12 + i] = A[a][i][j];
        }

    /* Step 2: tables of four heads, of two channels each, and the loop.  The grid has 5 x 7 offsets. */
    for (int c = 0; c < 8; c++)
        for (int n = 0; n < 35; n++) {
            o[c * 35 + n] = o[c / 2 * 70 + n];
            added[c * 35 + n] = added[c / 2 * 70 + n];
            factor[c * 49 + n + 7] = o[c * 35 + n] * o[c * 35 + n];
            summand[c * 49 + n + 7] = (real)0.5 * added[c * 35 + n];
        }
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 12; j++)
            for (int c = 0; c < 8; c++) {
                int gn = c / 2 * 2 * 35 + (j / 4 - i / 4 + 2) * 7 + j % 4 - i % 4 + 3;
                y[i * 8 + c] += (o[gn] * o[gn] * A[c / 4][i][j] + (real)0.5 * added[gn]) * v[j * 8 + c];
            }

    /* Step 3: msa, and ELSA's naive form. */
    forms_within(&t, y, tolerance);
    m.v = v;
    m.of.ghost.by_block = true;
    m.factor = factor, m.summand = summand;
    apply_filters(&m);
    within("ELSA's naive form", relative_difference(m.f, y, 96), tolerance);

    for (size_t n = 0; n < 35; n++) {
        real kept = o[35 + n];
        o[35 + n] = o[70 + n];
        o[70 + n] = kept;
    }
    for (size_t f = 0; f < COUNT(forms); f++)
        beyond("    tables exchanged", relative_difference(trial_run(&t, forms[f], 1), y, 96), 0.01);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ELSA, readings");
    TCase *paradigm = add_case(suite, "the paradigm");
    tcase_add_test(paradigm, every_row_of_table_1_is_a_choice_of_terms);
    tcase_add_test(paradigm, spatial_filter_of_ddf_is_a_case_of_eq4);
    tcase_add_test(paradigm, outlooker_is_no_filter_of_its_own_token);
    tcase_add_test(paradigm, outlooker_is_nine_filters_moved_and_added);
    tcase_add_loop_test(paradigm, filter_norm_of_the_code_is_a_constant_times_ours, 0, 3);
    tcase_add_test(paradigm, depthwise_convolution_in_windows_is_net4);
    tcase_add_test(paradigm, net7_is_of_third_order);
    TCase *algorithms = add_case(suite, "the algorithms");
    tcase_add_loop_test(algorithms, mapping_and_shifting_is_unfolding_and_mapping, 0, 4);
    tcase_add_loop_test(algorithms, algorithm_4_interleaves_its_two_maps, 0, 4);
    TCase *elsewhere = add_case(suite, "windows and ghost heads");
    tcase_add_test(elsewhere, shifted_windows_see_four_windows);
    tcase_add_test(elsewhere, ghost_head_doubles_the_heads_of_self_attention);
    return run_suite(suite);
}
