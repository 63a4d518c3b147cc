/* test_structsa_published.c -- what StructSA prints: its tables against shapes, and its text against its tables
 *
 * No operator runs here.  A printed number with k decimals stands for half a unit of the last one to
 * either side, and that half is the tolerance where no other is given.  A multiply-add counts one.
 *
 * UniFormer is counted as its public code has it.  Four stages of b_s blocks, C_s channels and N_s tokens, n_s an
 * axis.  An embedding of patches of k numbers a channel, with a bias and a norm.  Every block: a depthwise position
 * convolution of 9 taps.  Blocks of the first two stages: batch norms, two maps C x C, a depthwise convolution of 25
 * taps, an MLP of 4 C.  Blocks of the last two: two layer norms, four maps C x C, attention, an MLP.  At the end a
 * norm and 1000 classes.  StructViT puts StructSA in the place of attention:
 *
 *     N, J     tokens, and centres of windows: J < N with a stride
 *     D, m     patterns (0: self-attention), entries of a window
 *
 *     FLOPs of attention    2 N^2 C
 *     FLOPs of StructSA     2 N J D C + 2 J D m C,  and 2 m C D parameters more a block */

#include <math.h>
#include "published.h"
#include "structsa_case.h"
#include "support.h"

static double print_of(const char *table, const char *row, const char *quantity)
{
    return published("structsa", table, row, quantity);
}

/* Differences of decimals are not exact. */
#define TO_SPARE 1e-9

/* Of a number from an interval; 0 inside. */
static double distance(double value, double low, double high)
{
    return (fabs(value - low) + fabs(value - high) - (high - low)) / 2;
}

/* ---- shapes ------------------------------------------------------------ */

static double stage_blocks(int size, int s) { return (double)table_2[size].blocks[s]; }
static double stage_channels(int size, int s) { return (double)table_2[size].channels[s]; }

/* What the scores, the values and their filters take. */
static double heart(double N, double J, double C, double D, double m)
{
    return D > 0 ? 2 * N * J * D * C + 2 * J * D * m * C : 2 * N * N * C;
}

/* FLOPs in G of a whole model on images of so many pixels an axis; with norms, five operations for each
 * number that a layer norm sees. */
static double flops(int size, double pixels, double D, double stride, double m, bool norms)
{
    double sum = 1000 * stage_channels(size, 3), before = 3;
    for (int s = 0; s < 4; s++) {
        double b = stage_blocks(size, s), C = stage_channels(size, s), n = pixels / (4 << s), N = n * n;
        double centres = ceil(n / stride) * ceil(n / stride);
        sum += N * (s ? 4 : 16) * before * C + b * 9 * N * C;
        if (s < 2) sum += b * (10 * N * C * C + 25 * N * C);
        else sum += b * (12 * N * C * C + heart(N, centres, C, D, m));
        if (norms) sum += 5 * N * C + (s < 2 ? 0 : b * 10 * N * C) + (s < 3 ? 0 : 5 * N * C);
        before = C;
    }
    return sum / 1e9;
}

/* What it falls short of the printed number, or beyond it. */
static double flops_missed(const char *row, int size, double pixels, double D, double stride, double m)
{
    double low = flops(size, pixels, D, stride, m, false), high = flops(size, pixels, D, stride, m, true);
    return distance(print_of("3", row, "flops"), low, high);
}

/* Parameters in M. */
static double parameters(int size, double D, double m)
{
    double sum = 0, before = 3;
    for (int s = 0; s < 4; s++) {
        double b = stage_blocks(size, s), C = stage_channels(size, s);
        double mixing = s < 2 ? 2 * (C * C + C) + 26 * C : 4 * C * C + 4 * C + 2 * m * C * D;
        sum += (s ? 4 : 16) * before * C + C + 2 * C + b * (10 * C + 4 * C + mixing + 8 * C * C + 5 * C);
        before = C;
    }
    return (sum + 2 * before + 1000 * (before + 1)) / 1e6;
}

/* Claim      Printed FLOPs lie between two counts: without norms, and with five operations for each number
 *            that a layer norm sees.
 * Paper      StructSA, Tables 2 and 3; UniFormer's shapes by its public code.
 * Measure    The distance of the printed number from that interval, in G.
 * Tolerance  0.05: half of the last digit.
 * Would it fail?  With twice the patterns each row of StructViT is beyond. */
static const struct { const char *row; int size; double pixels, D, stride; } table_3[] = {
    {"UniFormer-S", SMALL, 224, 0, 1},
    {"UniFormer-S* up384", SMALL, 384, 0, 1},
    {"StructViT-S-4-2", SMALL, 224, 4, 2},
    {"StructViT-S-4-1", SMALL, 224, 4, 1},
    {"StructViT-S-4-1* up384", SMALL, 384, 4, 1},
    {"UniFormer-B", BASE, 224, 0, 1},
    {"UniFormer-B* up384", BASE, 384, 0, 1},
    {"StructViT-B-4-2", BASE, 224, 4, 2},
    {"StructViT-B-4-1", BASE, 224, 4, 1},
    {"StructViT-B-8-1", BASE, 224, 8, 1},
    {"StructViT-B-4-1* up384", BASE, 384, 4, 1},
    {"StructViT-L-4-1* up384", LARGE, 384, 4, 1},
};
START_TEST(flops_of_table_3_lie_between_counts_without_and_with_norms)
{
    const char *row = table_3[_i].row;
    int size = table_3[_i].size;
    double pixels = table_3[_i].pixels, D = table_3[_i].D, stride = table_3[_i].stride;
    printf("    %.4f to %.4f G\n", flops(size, pixels, D, stride, 9, false), flops(size, pixels, D, stride, 9, true));
    within(row, flops_missed(row, size, pixels, D, stride, 9), 0.05 + TO_SPARE);
    if (D > 0) beyond("    twice the patterns", flops_missed(row, size, pixels, 2 * D, stride, 9), 0.05 + TO_SPARE);
}
END_TEST

/* Claim      StructViT-S-8-1's 24 M and 5.4 G do not follow with the default windows.
 * Paper      StructSA, Table 3.                   Left open: windows are not told for each row.
 * Measure    As above, and parameters, with windows of 3 x 3, 5 x 5 and 7 x 7 on both sides.
 * Failure    With each, one of the two numbers is beyond its rounding, 0.5 M or 0.05 G.
 * Holds      With 37 entries on average, as of 7 x 7 detectors and 5 x 5 aggregators, both are within. */
START_TEST(rows_of_table_3_that_do_not_follow)
{
    static const double entries[] = {9, 25, 49, 37};
    const char *row = "StructViT-S-8-1";
    for (size_t w = 0; w < COUNT(entries); w++) {
        double missed = flops_missed(row, SMALL, 224, 8, 1, entries[w]);
        double wrong = fabs(parameters(SMALL, 8, entries[w]) - print_of("3", row, "parameters"));
        ck_assert(isfinite(missed) && isfinite(wrong));
        printf("    %.0f entries: %.2f M, %.2f to %.2f G\n", entries[w], parameters(SMALL, 8, entries[w]),
               flops(SMALL, 224, 8, 1, entries[w], false), flops(SMALL, 224, 8, 1, entries[w], true));
        if (entries[w] == 37) within("of the roundings", fmax(missed / 0.05, wrong / 0.5), 1);
        else beyond("of the roundings", fmax(missed / 0.05, wrong / 0.5), 1);
    }
}
END_TEST

/* Claim      The last two stages alone take more than these models are printed with.
 * Paper      StructSA, Tables 2 and 3.            Does not hold.
 * Measure    Projections, MLP, and products of queries with keys and of weights with values of both stages:
 *            12 N C^2 + 2 N^2 D C a block, D = 1 for UniFormer.  Nothing else of UniFormer is used.
 * Failure    Each is beyond the printed number and its rounding, 0.05 G; the whole model by more.
 * Correction 22.4, 19.7 and 62.7 G, by the shapes.
 * Would it fail?  StructViT-L-4-1 at 384 pixels has 67.5 of the 85.2 G printed, as it must. */
static const struct { const char *row; double pixels, D; bool fits; } large[] = {
    {"StructViT-L-4-1*", 224, 4, false},
    {"UniFormer-L*", 224, 0, false},
    {"UniFormer-L* up384", 384, 0, false},
    {"StructViT-L-4-1* up384", 384, 4, true},
};
START_TEST(last_two_stages_of_structvit_l_exceed_the_printed_flops)
{
    double part = 0, D = large[_i].D, printed = print_of("3", large[_i].row, "flops");
    for (int s = 2; s < 4; s++) {
        double n = large[_i].pixels / (4 << s), N = n * n, C = stage_channels(LARGE, s);
        part += stage_blocks(LARGE, s) * (12 * N * C * C + heart(N, N, C, D, 0)) / 1e9;
    }
    double whole = flops(LARGE, large[_i].pixels, D, 1, 9, false);
    printf("    %s: %.2f G of %.2f, printed %.1f\n", large[_i].row, part, whole, printed);
    ck_assert(part < whole);
    if (large[_i].fits) within(large[_i].row, part, printed);
    else beyond(large[_i].row, part - printed, 0.05);
}
END_TEST

/* Claim      UniFormer's 22 and 50 M follow.  What StructViT adds is not filters alone, and it cannot be anything
 *            that grows with the blocks: S-4 asks for more than B-4 allows.
 * Paper      StructSA, Tables 2 and 3.            Left open: what else StructViT holds is not told.
 * Measure    S-4 is 23 M, so it needs 22.5 less UniFormer-S; B-4 is 51 M, so it allows 51.5 less UniFormer-B.
 *            From S to B what is asked for grows as blocks x channels, as blocks, as blocks x channels^2 of
 *            the last two stages.  And a constant: what S-8 needs beside its filters of 3 x 3, what B-8 allows.
 * Tolerance  0.5 M for UniFormer.
 * Failure    2.3 M at least asked for in B-4, where 1.7 are left; as a constant 1.37 in S-8, where B-8 leaves 1.29. */
START_TEST(parameters_of_table_3_exclude_each_other)
{
    within("UniFormer-S", fabs(parameters(SMALL, 0, 9) - print_of("3", "UniFormer-S", "parameters")), 0.5);
    within("UniFormer-B", fabs(parameters(BASE, 0, 9) - print_of("3", "UniFormer-B", "parameters")), 0.5);
    double asked = print_of("3", "StructViT-S-4-1", "parameters") - 0.5 - parameters(SMALL, 0, 9);
    double left = print_of("3", "StructViT-B-4-1", "parameters") + 0.5 - parameters(BASE, 0, 9);
    printf("    asked for in S-4: %.3f M, left in B-4: %.3f M\n", asked, left);
    for (int power = 0; power < 3; power++) {
        double grown[2] = {0, 0};
        for (int s = 2; s < 4; s++) {
            grown[0] += stage_blocks(SMALL, s) * pow(stage_channels(SMALL, s), power);
            grown[1] += stage_blocks(BASE, s) * pow(stage_channels(BASE, s), power);
        }
        beyond("grown as blocks are", asked * grown[1] / grown[0], left);
    }
    double constant = print_of("3", "StructViT-S-8-1", "parameters") - 0.5 - parameters(SMALL, 8, 9);
    beyond("constant", constant, print_of("3", "StructViT-B-8-1", "parameters") + 0.5 - parameters(BASE, 8, 9));
}
END_TEST

/* ---- videos -------------------------------------------------------------- */

struct video { const char *table, *row, *base; int size; double D, stride; };

static double per_view(const char *table, const char *row)
{
    return print_of(table, row, "flops") / (print_of(table, row, "crops") * print_of(table, row, "clips"));
}

/* What StructSA adds to UniFormer, in G a view, with windows of 3 x 3 x 3: the operator's own count of its hearts,
 * less those of self-attention; the stride in space only, or in time too. */
static double added(const struct video *v, bool in_time)
{
    double sum = 0;
    for (int s = 2; s < 4; s++) {
        char options[96], D[16];
        int frames = (int)print_of(v->table, v->row, "frames"), n = 224 / (4 << s), stride = (int)v->stride;
        snprintf(options, sizeof options, "--grid %dx%dx%d --kernel 3x3x3 --stride %dx%dx%d --heads %zu", frames / 2, n,
                 n, in_time ? stride : 1, stride, stride, table_2[v->size].heads[s]);
        snprintf(D, sizeof D, "D=%.0f", v->D);
        struct problem p = shaped(options, &structsa, 1, table_2[v->size].channels[s], D, "w_o b_o b_qkv");
        struct structsa_problem of;
        succeeds(structsa.resolve(&of, &p));
        double N = (double)of.N, hearts = structsa_multiply_adds(&of) - heads_multiply_adds(&of.heads);
        sum += stage_blocks(v->size, s) * (hearts - heart(N, N, stage_channels(v->size, s), 0, 27));
    }
    return sum / 1e9;
}

/* How far that is from what both rows print, and what rounding explains: UniFormer's rows are whole or tenth G
 * a view times the views, the other is rounded as printed. */
static double added_missed(const struct video *v, bool in_time)
{
    return fabs(per_view(v->table, v->row) - per_view(v->table, v->base) - added(v, in_time));
}

static double added_rounding(const struct video *v)
{
    return 0.5 + 0.5 / (print_of(v->table, v->row, "crops") * print_of(v->table, v->row, "clips"));
}

/* Claim      FLOPs of StructViT on videos follow from UniFormer's, by the operator's own count, where windows are
 *            3 x 3 x 3 and --stride is 1x2x2: in space only: 42.2 G a view for S-4-2, where 42.2 is printed, and 261.6
 *            for B-4-2, where 261.2 is.
 * Paper      StructSA, Sec. 4.3.1, Tables 4 and 5a.  Left open: along which axes videos stride.
 * Measure    What the row prints more than UniFormer's a view, against the hearts' difference over both stages.
 * Tolerance  Above.
 * Would it fail?  With a stride in time as well S-4-2 and B-4-2 are beyond. */
static const struct video videos[] = {
    {"4", "StructViT-S-4-2", "UniFormer-S", SMALL, 4, 2},
    {"4", "StructViT-S-4-1", "UniFormer-S", SMALL, 4, 1},
    {"4", "StructViT-S-8-1", "UniFormer-S", SMALL, 8, 1},
    {"4", "StructViT-B-4-2", "UniFormer-B", BASE, 4, 2},
    {"5a", "StructViT-S-4-2", "UniFormer-S", SMALL, 4, 2},
    {"5a", "StructViT-S-4-1", "UniFormer-S", SMALL, 4, 1},
    {"5a", "StructViT-S-8-1", "UniFormer-S", SMALL, 8, 1},
    {"5a", "StructViT-B-4-2", "UniFormer-B", BASE, 4, 2},
    {"5a", "StructViT-B-4-1", "UniFormer-B", BASE, 4, 1},
};
START_TEST(videos_of_tables_4_and_5a_stride_in_space_only)
{
    const struct video *v = &videos[_i];
    double more = added(v, false);
    printf("    Tab. %s: %.3f G more a view, %.1f in all; printed %.1f\n", v->table, more,
           per_view(v->table, v->base) + more, per_view(v->table, v->row));
    within(v->row, added_missed(v, false), added_rounding(v));
    if (v->stride > 1) beyond("    in time as well", added_missed(v, true), added_rounding(v));
}
END_TEST

/* Claim      In Tab. 4 B-4-1 takes 664.5 G a view.
 * Paper      StructSA, Tab. 4.                    Does not hold.
 * Measure    As above, of its rows with four and with twelve views.
 * Tolerance  Above; of UniFormer-B in both tables the rounding of both.
 * Failure    Nine G too much.
 * Correction 654 G, as Tab. 5a has it, where UniFormer-B takes what it takes in Tab. 4. */
START_TEST(b_4_1_takes_654_g_a_view_and_not_664)
{
    static const struct video wrong[] = {
        {"4", "StructViT-B-4-1 32x1x4", "UniFormer-B", BASE, 4, 1},
        {"4", "StructViT-B-4-1 32x3x4", "UniFormer-B", BASE, 4, 1},
    };
    static const struct video right = {"5a", "StructViT-B-4-1", "UniFormer-B", BASE, 4, 1};
    for (size_t w = 0; w < COUNT(wrong); w++)
        beyond(wrong[w].row, added_missed(&wrong[w], false), 8.5 * added_rounding(&wrong[w]));
    within("Tab. 5a", added_missed(&right, false), added_rounding(&right));
    within("UniFormer-B", fabs(per_view("4", "UniFormer-B") - per_view("5a", "UniFormer-B")), 0.5 / 4 + 0.5 / 3);
}
END_TEST

/* ---- Table 7 --------------------------------------------------------------- */

/* DeiT of L blocks of C channels with one channel-wise pattern: on images 16 x 16 patches, a class token and 1000
 * classes, windows of 3 x 3; on videos tubelets of 2 x 16 x 16, 174 classes, windows of 3 x 3 x 3. */
struct deit { double N, patch, positions, classes, entries; };
static const struct deit images = {196, 768, 197 + 1, 1000, 9}, clips = {1568, 1536, 1568, 174, 27};

static double deit_parameters(const struct deit *m, double L, double C)
{
    double blocks = L * (12 * C * C + 13 * C + 2 * m->entries * C);
    return (blocks + (m->patch + 1) * C + m->positions * C + 2 * C + m->classes * (C + 1)) / 1e6;
}

static double deit_flops(const struct deit *m, double L, double C, bool norms)
{
    double sum = m->N * m->patch * C + L * (12 * m->N * C * C + heart(m->N, m->N, C, 1, m->entries)) + m->classes * C;
    return (sum + (norms ? 5 * (2 * L + 1) * m->N * C : 0)) / 1e9;
}

/* Claim      ConvSA made wider or deeper has one width or depth that gives both printed numbers.
 * Paper      StructSA, App. B, Tab. 7.
 * Measure    Parameters, and the distance of the FLOPs from the counts without and with norms.
 * Tolerance  0.05, half of the last digit.
 * Would it fail?  Six channels more or less, or a layer, are beyond in parameters. */
static const struct {
    const struct deit *model;
    const char *row, *parameters, *flops;
    double L, C, layers, channels;
} up[] = {
    {&images, "ConvSA + channel up", "parameters", "flops", 12, 432, 0, 6},
    {&images, "ConvSA + layer up", "parameters", "flops", 16, 384, 1, 0},
    {&clips, "ConvSA + channel up", "ss-parameters", "ss-flops", 12, 474, 0, 6},
    {&clips, "ConvSA + layer up", "ss-parameters", "ss-flops", 17, 384, 1, 0},
};
START_TEST(convsa_variants_of_tab_7_follow)
{
    const struct deit *m = up[_i].model;
    double L = up[_i].L, C = up[_i].C, printed = print_of("7", up[_i].row, up[_i].parameters);
    within(up[_i].row, fabs(deit_parameters(m, L, C) - printed), 0.05);
    within("    FLOPs", distance(print_of("7", up[_i].row, up[_i].flops), deit_flops(m, L, C, false),
                                 deit_flops(m, L, C, true)), 0.05);
    for (int sign = -1; sign <= 1; sign += 2) {
        double other = deit_parameters(m, L + sign * up[_i].layers, C + sign * up[_i].channels);
        beyond(sign < 0 ? "    smaller" : "    larger", fabs(other - printed), 0.05);
    }
}
END_TEST

/* ---- Tables 2, 8 and 9 ------------------------------------------------------ */

/* Claim      Every head of StructViT's last two stages has 64 channels.
 * Paper      StructSA, Tab. 2.
 * Measure    Channels over heads.                 Tolerance  Zero. */
START_TEST(heads_of_table_2_have_64_channels)
{
    for (int size = SMALL; size <= LARGE; size++)
        for (int s = 2; s < 4; s++) ck_assert_uint_eq(table_2[size].channels[s], 64 * table_2[size].heads[s]);
}
END_TEST

/* Claim      What StructViT has more parameters than UniFormer in Tab. 8 and 9 may be its filters.
 * Paper      StructSA, Tab. 8 and 9, D = 4 and 3 x 3.
 * Measure    Filters of both stages against the difference of both rows.
 * Tolerance  1 M: both rows are whole.  They fit, and no more is said: D = 16 would fit S, too. */
static const struct { const char *table, *row, *base; int size; } dense[] = {
    {"8", "StructViT-S-4-1 h14", "UniFormer-S h14", SMALL}, {"8", "StructViT-B-4-1 h14", "UniFormer-B h14", BASE},
    {"9", "StructViT-S-4-1 h32", "UniFormer-S h32", SMALL}, {"9", "StructViT-B-4-1 h32", "UniFormer-B h32", BASE},
};
START_TEST(parameters_of_tables_8_and_9_fit_the_filters)
{
    double filters = parameters(dense[_i].size, 4, 9) - parameters(dense[_i].size, 0, 9);
    double more = print_of(dense[_i].table, dense[_i].row, "parameters")
                - print_of(dense[_i].table, dense[_i].base, "parameters");
    printf("    filters: %.3f M\n", filters);
    within(dense[_i].row, fabs(more - filters), 1);
}
END_TEST

/* ---- what the text says of the tables ----------------------------------------- */

/* A gain that the text tells, and the two rows that it is read from. */
static const struct { const char *table, *ours, *theirs, *quantity; double told; bool follows; } gain[] = {
    {"1c", "context", "element", "ss-top1", 0.7, true},
    {"4", "StructViT-B-4-1 32x1x4", "MTV-B", "top1", 1.6, true},
    {"4", "StructViT-B-4-1 32x3x4", "UniFormer-B", "top1", 0.5, true},
    {"4", "StructViT-B-4-1 32x1x4", "UniFormer-B", "top1", 0.5, true},
    {"8", "StructViT-S-4-1 h14", "UniFormer-S h14", "mask", 0.8, false},
};

/* Claim      Three gains of the text differ from the rows of its tables by no more than rounding.  One does not.
 * Paper      StructSA, Sec. 4.2, 4.3.3, App. C.  (Gains that are the rows' difference to the digit are not listed.)
 * Measure    The difference of both rows against the gain told.
 * Tolerance  0.15: both rows and the gain are rounded to 0.1.
 * Left open  Tab. 8, masks: 0.8 told, the rows differ by 1.2; 0.8 is the larger model's gain in boxes. */
START_TEST(gains_of_structsas_text_are_those_of_its_tables)
{
    double rows = print_of(gain[_i].table, gain[_i].ours, gain[_i].quantity)
                - print_of(gain[_i].table, gain[_i].theirs, gain[_i].quantity);
    double error = fabs(rows - gain[_i].told);
    if (gain[_i].follows) within(gain[_i].ours, error, 0.15 + TO_SPARE);
    else beyond(gain[_i].ours, error, 0.15 + TO_SPARE);
}
END_TEST

/* Claim      B-4-1 with one crop takes 55 % of MTV-B's computation.
 * Paper      StructSA, Sec. 4.3.3, Tab. 4.
 * Measure    With the row's own FLOPs, and with those of Tab. 5a a view, four views.
 * Tolerance  Half a percent, which is told whole. */
START_TEST(b_4_1_takes_55_percent_of_mtv_b)
{
    double theirs = print_of("4", "MTV-B", "flops");
    within("as printed", fabs(print_of("4", "StructViT-B-4-1 32x1x4", "flops") / theirs - 0.55), 0.005);
    within("as in Tab. 5a", fabs(4 * per_view("5a", "StructViT-B-4-1") / theirs - 0.55), 0.005);
}
END_TEST

/* Claim      MTV-B is the best of the ViT-based models.
 * Paper      StructSA, Sec. 4.3.3, Tab. 4.        Does not hold.
 * Measure    Top-1 of Swin-B with ImageNet-21K, whose rows stand between others of the group, less MTV-B's.
 * Failure    Beyond the rounding of both, 0.1.
 * Correction Over Swin-B B-4-1 with one crop gains 0.6 points with 79 % of the FLOPs: within half of
 *            the last digit told. */
START_TEST(mtv_b_is_not_the_best_vit_of_table_4)
{
    const char *best = "Swin-B IN-21K", *ours = "StructViT-B-4-1 32x1x4";
    beyond("Swin-B over MTV-B", print_of("4", best, "top1") - print_of("4", "MTV-B", "top1"), 0.1 + TO_SPARE);
    within("ours over Swin-B", fabs(print_of("4", ours, "top1") - print_of("4", best, "top1") - 0.6), 0.05);
    within("    FLOPs", fabs(print_of("4", ours, "flops") / print_of("4", best, "flops") - 0.79), 0.005);
}
END_TEST

/* The first word of a list that bars part, and what is left of the list; false where there is none. */
static bool next_word(char word[64], const char **list)
{
    size_t length = strcspn(*list, "|");
    if (!length) return false;
    snprintf(word, 64, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == '|');
    return true;
}

/* In every quantity every row of `less` stands in this relation to every one of `more`. */
static const struct { const char *table, *quantities, *less, *relation, *more; } order[] = {
    {"3", "flops", "StructViT-B-8-1", "<", "EfficientNet-B7"},
    {"3", "flops", "StructViT-L-4-1*", "<", "EfficientNetV2-L"},
    {"3", "flops", "UniFormer-B", "=", "StructViT-B-4-2"},
    {"3", "flops", "UniFormer-S", "=", "StructViT-S-4-2"},
    {"7", "flops|ss-flops", "StructSA", "<=", "ConvSA + channel up|ConvSA + layer up"},
};

/* Claim      FLOPs stand in the order that the text gives them.
 * Paper      StructSA, Sec. 4.3.1, 4.3.2 and App. B.
 * Measure    Printed numbers compared.
 * Tolerance  None. */
START_TEST(orders_of_structsas_text_are_those_of_its_tables)
{
    char quantity[64], less[64], more[64];
    const char *relation = order[_i].relation;
    for (const char *q = order[_i].quantities; next_word(quantity, &q);)
        for (const char *l = order[_i].less; next_word(less, &l);)
            for (const char *m = order[_i].more; next_word(more, &m);) {
                double a = print_of(order[_i].table, less, quantity), b = print_of(order[_i].table, more, quantity);
                bool stands = !strcmp(relation, "<") ? a < b : !strcmp(relation, "=") ? a == b : a <= b;
                ck_assert_msg(stands, "Tab. %s, %s: %s %g, %s %g", order[_i].table, quantity, less, a, more, b);
            }
}
END_TEST

/* Claim      A row that several tables print is the same in each.
 * Paper      StructSA, Tab. 1, 6 and 7.
 * Measure    Four accuracies.                     Tolerance  Zero. */
static const struct { const char *table, *row, *other, *as; } repeated[] = {
    {"1a", "D = 0", "1b", "none"},              {"1a", "D = 0", "1c", "none"},
    {"1a", "D = 0", "6b", "none"},              {"1a", "D = 1", "7", "ConvSA"},
    {"1a", "D = 4", "1b", "3x3"},               {"1a", "D = 4", "1c", "context"},
    {"1a", "D = 4", "6a", "both"},              {"1a", "D = 4", "6b", "3x3 and 3x3"},
    {"1a", "D = 4", "7", "StructSA"},           {"1b", "1x1", "6b", "1x1 and 1x1"},
    {"1b", "5x5", "6b", "5x5 and 5x5"},         {"1b", "7x7", "6b", "7x7 and 7x7"},
    {"1c", "element", "6b", "3x3 and 1x1"},
};
START_TEST(rows_that_structsas_tables_repeat_agree)
{
    static const char *const quantity[] = {"top1", "top5", "ss-top1", "ss-top5"};
    for (size_t q = 0; q < COUNT(quantity); q++)
        ck_assert_double_eq(print_of(repeated[_i].table, repeated[_i].row, quantity[q]),
                            print_of(repeated[_i].other, repeated[_i].as, quantity[q]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("StructSA, published");
    TCase *shapes = add_case(suite, "shapes");
    tcase_add_loop_test(shapes, flops_of_table_3_lie_between_counts_without_and_with_norms, 0, (int)COUNT(table_3));
    tcase_add_test(shapes, rows_of_table_3_that_do_not_follow);
    tcase_add_loop_test(shapes, last_two_stages_of_structvit_l_exceed_the_printed_flops, 0, (int)COUNT(large));
    tcase_add_test(shapes, parameters_of_table_3_exclude_each_other);
    tcase_add_loop_test(shapes, videos_of_tables_4_and_5a_stride_in_space_only, 0, (int)COUNT(videos));
    tcase_add_test(shapes, b_4_1_takes_654_g_a_view_and_not_664);
    tcase_add_loop_test(shapes, convsa_variants_of_tab_7_follow, 0, (int)COUNT(up));
    tcase_add_test(shapes, heads_of_table_2_have_64_channels);
    tcase_add_loop_test(shapes, parameters_of_tables_8_and_9_fit_the_filters, 0, (int)COUNT(dense));
    TCase *text = add_case(suite, "the text");
    tcase_add_loop_test(text, gains_of_structsas_text_are_those_of_its_tables, 0, (int)COUNT(gain));
    tcase_add_test(text, b_4_1_takes_55_percent_of_mtv_b);
    tcase_add_test(text, mtv_b_is_not_the_best_vit_of_table_4);
    tcase_add_loop_test(text, orders_of_structsas_text_are_those_of_its_tables, 0, (int)COUNT(order));
    tcase_add_loop_test(text, rows_that_structsas_tables_repeat_agree, 0, (int)COUNT(repeated));
    return run_suite(suite);
}
