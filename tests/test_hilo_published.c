/* test_hilo_published.c -- the numbers that HiLo's paper prints, from shapes and from one another
 *
 * LITv2 and LITv1 have four stages of blocks, 1 to 4 in words and s = 0 to 3 in code, of C 2^s channels on an
 * image's plane over 4 2^s.  A block is attention (in stages 3 and 4 only; in stage 4 self-attention) and two linear
 * maps, to four times the channels and back, each behind a layer norm; LITv2 has a depth-wise 3 x 3 convolution with
 * bias between the maps.  Patches of 4 x 4 pixels become tokens, and 2 x 2 tokens one of twice the channels between
 * stages, sampled at offsets, 8 numbers made of the same patch; a norm follows either.  The attention of stage 3 is
 * asked of the declarations.
 *
 * A printed number stands for an interval of half its last digit to either side, and a difference of two
 * for the sum of both.  One multiply-add is one FLOP; G and M are 10^9 and 10^6.  Differences of decimals are
 * compared with 1e-9 to spare. */

#include <stdio.h>
#include "hilo_case.h"
#include "published.h"
#include "../reference/msa.h"
#include "../reference/sra.h"

#define DECIMALS 1e-9

static double told(const char *table, const char *row, const char *quantity)
{
    return published("hilo", table, row, quantity);
}

/* One row's number less another's, and over it. */
static double difference(const char *table, const char *row, const char *other, const char *quantity)
{
    return told(table, row, quantity) - told(table, other, quantity);
}

static double ratio(const char *table, const char *row, const char *other, const char *quantity)
{
    return told(table, row, quantity) / told(table, other, quantity);
}

/* Whether some value between two is printed so. */
static bool prints_between(double low, double high, double printed, double unit)
{
    return low - unit / 2 <= printed && printed <= high + unit / 2;
}

/* ---- the networks ------------------------------------------------------- */

struct net { double C, blocks[4]; size_t heads; };      /* channels of stage 1; heads of stage 3 */

enum { SMALL, MEDIUM, BASE };
static const struct net nets[] = {{96, {2, 2, 6, 2}, 12}, {96, {2, 2, 18, 2}, 12}, {128, {2, 2, 18, 2}, 16}};

/* What attends in stage 3. */
struct layer { const struct declaration *d; const char *options; };
static const struct layer HILO = {&hilo, ""}, HILO_4 = {&hilo, "--window 4"}, MSA = {&msa, ""};
static const struct layer WINDOWS = {&msa, "--window 7"}, SRA = {&sra, "--reduction 2"};

static double stage_channels(const struct net *net, int s) { return net->C * (1 << s); }

static const char *on(char *text, size_t size, struct layer layer, size_t rows, size_t columns, size_t heads)
{
    snprintf(text, size, "--grid %zux%zu --heads %zu %s", rows, columns, heads, layer.options);
    return text;
}

/* M parameters of the layer, with its biases and without positions. */
static double layer_parameters(struct layer layer, const struct net *net)
{
    char text[120];
    struct problem p = shaped(on(text, sizeof text, layer, 28, 28, net->heads), layer.d, 1,
                              (size_t)stage_channels(net, 2), "", "rpe");
    return (double)problem_parameters(&p) / 1e6;
}

/* G multiply-adds of the layer on this plane, which its windows tile: the fast form's. */
static double layer_flops(struct layer layer, const struct net *net, size_t rows, size_t columns)
{
    char text[120];
    struct problem p = bare(on(text, sizeof text, layer, rows, columns, net->heads), layer.d,
                            (size_t)stage_channels(net, 2));
    return multiply_adds_of(&p) / 1e9;
}

/* M parameters of one block but for its attention; and of the whole network, with `attention` M in each layer
 * of stage 3. */
static double block_parameters(double C, bool convolution)
{
    return (8 * C * C + 7 * C + (convolution ? 40 * C : 0)) / 1e6;
}

static double net_parameters(const struct net *net, double attention, bool convolution, double classes)
{
    double C2 = stage_channels(net, 2), C3 = stage_channels(net, 3), sum = 51 * net->C + 2 * C3 + classes * (C3 + 1);
    sum += net->blocks[2] * 2 * C2 + net->blocks[3] * (4 * C3 * C3 + 6 * C3);
    for (int s = 0; s < 3; s++) {
        double C = stage_channels(net, s);
        sum += 8 * C * C + 2 * C + 32 * C + 8 + 4 * C;
    }
    sum = sum / 1e6 + net->blocks[2] * attention;
    for (int s = 0; s < 4; s++) sum += net->blocks[s] * block_parameters(stage_channels(net, s), convolution);
    return sum;
}

/* G multiply-adds of the maps of one block on N tokens; of all four stages on an image of so many pixels,
 * without the merging of patches; and of this, its linear maps and its offsets. */
static double block_flops(double C, double N, bool convolution)
{
    return N * (8 * C * C + (convolution ? 36 * C : 0)) / 1e9;
}

static double tokens(double rows, double columns, int s) { return rows * columns / (16 << 2 * s); }

static double stages_flops(const struct net *net, double attention, double rows, double columns, bool convolution)
{
    double N3 = tokens(rows, columns, 3), C3 = stage_channels(net, 3);
    double sum = 48 * tokens(rows, columns, 0) * net->C / 1e9 + net->blocks[2] * attention;
    for (int s = 0; s < 4; s++)
        sum += net->blocks[s] * block_flops(stage_channels(net, s), tokens(rows, columns, s), convolution);
    return sum + net->blocks[3] * (4 * N3 * C3 * C3 + 2 * N3 * N3 * C3) / 1e9;
}

static double merging_flops(const struct net *net, double rows, double columns, bool offsets)
{
    double sum = 0;
    for (int s = 0; s < 3; s++) {
        double C = stage_channels(net, s);
        sum += tokens(rows, columns, s + 1) * (8 * C * C + (offsets ? 32 * C : 0)) / 1e9;
    }
    return sum;
}

/* A square image and a thousand classes; and its layer norms at five operations for each number. */
static double net_flops(const struct net *net, double attention, double pixels, bool convolution)
{
    return stages_flops(net, attention, pixels, pixels, convolution) + merging_flops(net, pixels, pixels, true)
        + 1000 * stage_channels(net, 3) / 1e9;
}

static double norms(const struct net *net, double pixels)
{
    double sum = tokens(pixels, pixels, 0) * net->C + tokens(pixels, pixels, 3) * stage_channels(net, 3);
    for (int s = 0; s < 4; s++)
        sum += net->blocks[s] * tokens(pixels, pixels, s) * stage_channels(net, s) * (s < 2 ? 1 : 2);
    return 5 * sum / 1e9;
}

/* ---- Tables 1, 5 and 7 ------------------------------------------------------ */

/* Claim      LITv2-S, M and B have 28, 49 and 87 M parameters and take 3.7, 7.5 and 13.2 G; B at 384 pixels
 *            39.7.
 * Paper      HiLo, Table 1, with the widths, depths, heads, window and alpha of Table 7; Eq. 4, 5. Follows.
 * Measure    The shapes.  Whether norms are counted is not said: some value from without them to five
 *            operations for each number must print.  It matters at 384 pixels alone: 39.646 and 39.726.
 * Tolerance  Half of the last digit.
 * Would it fail?  With self-attention in stage 3 S takes 4.13 G, without the convolutions M 7.38, with 12
 *            heads of 16 in Lo-Fi B has 85.8 M: each is asserted not to print. */
START_TEST(litv2_has_the_parameters_and_flops_of_table_1)
{
    static const struct { const char *row; int net; size_t pixels; } row[] = {
        {"LITv2-S", SMALL, 224}, {"LITv2-M", MEDIUM, 224}, {"LITv2-B", BASE, 224}, {"LITv2-B up384", BASE, 384},
    };
    for (size_t n = 0; n < COUNT(row); n++) {
        const struct net *net = &nets[row[n].net];
        size_t edge = row[n].pixels / 16;
        double pixels = (double)row[n].pixels;
        double parameters = net_parameters(net, layer_parameters(HILO, net), true, 1000);
        double flops = net_flops(net, layer_flops(HILO, net, edge, edge), pixels, true);
        printf("    %-14s %.4f M, %.4f to %.4f G\n", row[n].row, parameters, flops, flops + norms(net, pixels));
        ck_assert(prints(parameters, told("1", row[n].row, "parameters"), 1));
        ck_assert(prints_between(flops, flops + norms(net, pixels), told("1", row[n].row, "flops"), 0.1));
    }
    const struct net *small = &nets[SMALL], *medium = &nets[MEDIUM], *base = &nets[BASE];
    const struct layer twelve_of_sixteen = {&hilo, "--alpha 0.75"};
    double dear = net_flops(small, layer_flops(MSA, small, 14, 14), 224, true);
    double light = net_parameters(base, layer_parameters(twelve_of_sixteen, base), true, 1000);
    double bare_maps = net_flops(medium, layer_flops(HILO, medium, 14, 14), 224, false);
    ck_assert(!prints(dear, told("1", "LITv2-S", "flops"), 0.1));
    ck_assert(!prints_between(bare_maps, bare_maps + norms(medium, 224), told("1", "LITv2-M", "flops"), 0.1));
    ck_assert(!prints(light, told("1", "LITv2-B", "parameters"), 1));
}
END_TEST

/* Claim      LITv1 takes 4.1, 8.6 and 15.0 G; LITv1-S with convolutions, and without relative positions, 4.1,
 *            with HiLo 3.7; the convolutions take 1 G more on COCO.
 * Paper      HiLo, Tables 1 and 5.                Follows.
 * Measure    LITv2's shapes with self-attention in place of HiLo and without convolutions: width and depth are
 *            the same.  On COCO the convolutions of 800 x 1280 pixels.
 * Left open  27, 48 and 86 M.  With a table of 27^2 offsets for each head of stage 3, and of 13^2 in stage 4,
 *            LITv1 has 27.97, 49.37 and 87.29 M: beyond half of the last digit each.  They are another paper's
 *            numbers.
 * Tolerance  Half of the last digit; 1 G for a difference of two whole numbers. */
START_TEST(litv1_and_its_modifications_follow)
{
    static const char *const row[] = {"LITv1-S", "LITv1-M", "LITv1-B"};
    for (size_t n = 0; n < COUNT(row); n++) {
        const struct net *net = &nets[n];
        double flops = net_flops(net, layer_flops(MSA, net, 14, 14), 224, false), heads = (double)net->heads;
        double positions = (net->blocks[2] * 27 * 27 * heads + net->blocks[3] * 13 * 13 * 2 * heads) / 1e6;
        double parameters = net_parameters(net, layer_parameters(MSA, net), false, 1000) + positions;
        printf("    %s: %.4f to %.4f G, %.3f M\n", row[n], flops, flops + norms(net, 224), parameters);
        ck_assert(prints_between(flops, flops + norms(net, 224), told("1", row[n], "flops"), 0.1));
        ck_assert(parameters > told("1", row[n], "parameters") + 0.5);
    }
    const struct net *small = &nets[SMALL];
    double plain = layer_flops(MSA, small, 14, 14), convolutions = 0;
    ck_assert(prints(net_flops(small, plain, 224, false), told("5", "LITv1-S", "flops"), 0.1));
    ck_assert(prints(net_flops(small, plain, 224, true), told("5", "+ ConvFNN", "flops"), 0.1));
    ck_assert(prints(net_flops(small, plain, 224, true), told("5", "+ Remove RPE", "flops"), 0.1));
    double with_hilo = net_flops(small, layer_flops(HILO, small, 14, 14), 224, true);
    ck_assert(prints(with_hilo, told("5", "+ HiLo", "flops"), 0.1));
    for (int s = 0; s < 4; s++)
        convolutions += small->blocks[s] * tokens(800, 1280, s) * 36 * stage_channels(small, s) / 1e9;
    printf("    the convolutions on COCO: %.4f G\n", convolutions);
    within("convolutions", fabs(convolutions - difference("5", "+ ConvFNN", "LITv1-S", "coco-flops")), 1);
    ck_assert(convolutions > 1 && convolutions < 1.1);
}
END_TEST

/* ---- Table 4 ---------------------------------------------------------------- */

/* Windows are padded to 35 x 35 tokens where there are 32 x 32. */
static double ade20k(struct layer layer)
{
    size_t edge = layer.options == WINDOWS.options ? 35 : 32;
    return layer_flops(layer, &nets[SMALL], edge, edge);
}

/* Claim      With MSA and windows LITv2-S has 28 M parameters, with SRA 32, with T-MSA 30, with HiLo 28; on
 *            ADE20K 32, 32, 35, 33 and 31.
 * Paper      HiLo, Table 4.                       Follows, with s = 2 of SRA in stage 3 and T-MSA half SRA.
 * Measure    The declarations, with biases; on ADE20K what each has more than HiLo: no more of that network is
 *            told.
 * Tolerance  Half of the last digit; 1 M for a difference.
 * Would it fail?  With s = 4 SRA has 42 M and T-MSA 35: asserted. */
START_TEST(parameters_of_table_4_follow_for_litv2)
{
    const struct net *small = &nets[SMALL];
    const double all = layer_parameters(MSA, small), reduced = layer_parameters(SRA, small);
    const double dear = layer_parameters((struct layer){&sra, "--reduction 4"}, small);
    const struct { const char *row; double layer; } row[] = {
        {"MSA", all}, {"W-MSA", layer_parameters(WINDOWS, small)}, {"SRA", reduced},
        {"T-MSA", (all + reduced) / 2}, {"HiLo", layer_parameters(HILO, small)},
    };
    for (size_t n = 0; n < COUNT(row); n++) {
        double M = net_parameters(small, row[n].layer, true, 1000);
        double more = 6 * (row[n].layer - row[COUNT(row) - 1].layer);
        printf("    %-6s %.3f M, %.3f more than HiLo\n", row[n].row, M, more);
        ck_assert(prints(M, told("4", row[n].row, "parameters"), 1));
        within("ADE20K", fabs(more - difference("4", row[n].row, "HiLo", "ade-parameters")), 1);
    }
    ck_assert(!prints(net_parameters(small, dear, true, 1000), told("4", "SRA", "parameters"), 1));
    ck_assert(!prints(net_parameters(small, (all + dear) / 2, true, 1000), told("4", "T-MSA", "parameters"), 1));
}
END_TEST

/* Claim      T-MSA, which alternates a local attention with a global one, takes 4.0 G; on ADE20K 42.5.
 * Paper      HiLo, Table 4.                       Left open: which global one is not said here.
 * Measure    Windows of 7 in every second block of stage 3 and SRA with s = 2 in the others.  On ADE20K from
 *            the row of MSA, whose six layers are taken out.  (Its parameters:
 *            parameters_of_table_4_follow_for_litv2.)
 * Tolerance  Half of the last digit; 0.1 G on ADE20K: two rounded numbers.
 * Would it fail?  With self-attention for SRA, or SRA with s = 7, it does: asserted. */
START_TEST(alternating_windows_and_sra_make_t_msa)
{
    const struct net *small = &nets[SMALL];
    const struct layer seventh = {&sra, "--reduction 7"}, other[] = {SRA, MSA, seventh};
    double printed = told("4", "T-MSA", "flops"), windows = layer_flops(WINDOWS, small, 14, 14);
    for (size_t n = 0; n < COUNT(other); n++) {
        double flops = net_flops(small, (windows + layer_flops(other[n], small, 14, 14)) / 2, 224, true);
        printf("    windows and %s %s: %.4f G\n", other[n].d->name, other[n].options, flops);
        ck_assert(prints_between(flops, flops + norms(small, 224), printed, 0.1) == !n);
    }
    double on_ade20k = told("4", "MSA", "ade-flops") - 6 * ade20k(MSA) + 3 * (ade20k(WINDOWS) + ade20k(SRA));
    printf("    ADE20K: %.3f G\n", on_ade20k);
    within("ADE20K", fabs(on_ade20k - told("4", "T-MSA", "ade-flops")), 0.1);
}
END_TEST

/* Claim      No setting of SRA has 4.0 G, 32 M and, on ADE20K, 42.4 G, whichever reduction stages 3 and 4 have.
 * Paper      HiLo, Table 4.                       4.0 does not hold: 3.9.
 * Measure    Reductions 1, 2, 7 and 14 of stage 3, which are all that divide its plane; stage 4 as it is, and with a
 *            convolution of reduction 1 or 7; each between no norms and norms at five operations.  With 2 in stage 3
 *            alone 3.909 to 3.921 G, 31.6 M and 42.42 G: the latter two are as printed.  With reduction 1 in stage 4
 *            as well 4.0 G is printed, and the other two are missed.
 * Tolerance  Half of the last digit; 0.1 G on ADE20K: two rounded numbers. */
START_TEST(sra_has_no_setting_that_fits_table_4)
{
    static const int third[] = {1, 2, 7, 14}, fourth[] = {0, 1, 7};      /* 0: no convolution, no norm */
    const struct net *small = &nets[SMALL];
    char options[24];
    for (size_t i = 0; i < COUNT(third); i++)
        for (size_t k = 0; k < COUNT(fourth); k++) {
            snprintf(options, sizeof options, "--reduction %d", third[i]);
            struct layer at = {&sra, options};
            double r = fourth[k] ? fourth[k] : 1, tokens_4 = 49 / (r * r), C = 768, keys = third[i] * third[i];
            double flops = net_flops(small, layer_flops(at, small, 14, 14), 224, true);
            double parameters = net_parameters(small, layer_parameters(at, small), true, 1000);
            double on_ade20k = told("4", "MSA", "ade-flops") - 6 * ade20k(MSA);
            /* 512 pixels: reductions that do not divide the plane are taken on one that they tile. */
            size_t edge = 32 / (size_t)third[i] * (size_t)third[i];
            on_ade20k += 6 * layer_flops(at, small, edge, edge) * 32 * 32 / (double)(edge * edge);
            double all = flops + norms(small, 224) + (third[i] > 1 ? 5 * 6 * 196 / keys * 384 / 1e9 : 0);
            if (fourth[k]) {
                double kept = 1 - 1 / (r * r);              /* of keys and values, and of attention, what goes */
                parameters += 2 * (C * C * r * r + 3 * C) / 1e6;
                double own = 2 * (49 * C * C - kept * (2 * 49 * C * C + 2 * 49 * 49 * C)) / 1e9;
                flops += own;
                all += own + 2 * 5 * tokens_4 * C / 1e9;
                on_ade20k += 2 * (256 * C * C - kept * (2 * 256 * C * C + 2 * 256 * 256 * C)) / 1e9;
            }
            bool fits[] = {prints_between(flops, all, told("4", "SRA", "flops"), 0.1),
                           prints(parameters, told("4", "SRA", "parameters"), 1),
                           fabs(on_ade20k - told("4", "SRA", "ade-flops")) <= 0.1};
            printf("    %2d, %d: %.3f to %.3f G%s, %.2f M%s, ADE20K %.2f G%s\n", third[i], fourth[k], flops, all,
                   fits[0] ? " fits" : "", parameters, fits[1] ? " fits" : "", on_ade20k, fits[2] ? " fits" : "");
            ck_assert(!(fits[0] && fits[1] && fits[2]));
            ck_assert((fits[1] && fits[2]) == (third[i] == 2 && !fourth[k]));
        }
}
END_TEST

/* Claim      On ADE20K LITv2-S takes 42.6 G with HiLo.
 * Paper      HiLo, Table 4.                       Does not hold: 41.3, as Table 3 rounds it.
 * Measure    42.6 is what Table 3 prints, beside 41 G, as the frames per second of the same model.
 * Tolerance  Zero; 0.55 for 41: half of a whole number, and of a tenth in the row of MSA, from which 41.29 follows. */
START_TEST(flops_of_table_4_are_frames_of_table_3)
{
    double follows = told("4", "MSA", "ade-flops") - 6 * ade20k(MSA) + 6 * ade20k(HILO);
    ck_assert(told("4", "HiLo", "ade-flops") == told("3", "LITv2-S", "fps"));
    ck_assert(told("4", "HiLo", "ade-flops") != told("3", "LITv2-S", "flops"));
    within("Table 3", fabs(follows - told("3", "LITv2-S", "flops")), 0.55);
    beyond("Table 4", fabs(follows - told("4", "HiLo", "ade-flops")), 1);
}
END_TEST

/* ---- Tables 2 and 3 --------------------------------------------------------- */

/* Claim      Mask R-CNN with LITv2-M* takes 315 G.
 * Paper      HiLo, Table 2.                       Does not hold: 331.
 * Measure    Mask R-CNN takes 19 G more than RetinaNet with every LIT and Swin of the table, and 3 with this
 *            one.  M* has twelve blocks more in stage 3 than S*, on 52 x 80 tokens with the padding: 81.6 G.
 *            RetinaNet prints 82; Mask R-CNN 66, and 82 with 331.
 * Tolerance  Zero; 1 G for a difference of two whole numbers. */
START_TEST(two_detectors_differ_by_19_g)
{
    static const char *const row[] = {
        "LITv1-S", "LITv2-S", "LITv2-S*", "LITv2-M", "LITv2-B", "LITv2-B*", "Swin-T", "Swin-S", "Swin-B",
    };
    const struct net *medium = &nets[MEDIUM];
    for (size_t n = 0; n < COUNT(row); n++)
        ck_assert(told("2", row[n], "mask-rcnn-flops") - told("2", row[n], "retinanet-flops") == 19);
    ck_assert(told("2", "LITv2-M*", "mask-rcnn-flops") - told("2", "LITv2-M*", "retinanet-flops") == 3);
    double blocks = 12 * (block_flops(384, 4000, true) + layer_flops(HILO_4, medium, 52, 80));
    printf("    twelve blocks with windows of 4: %.2f G\n", blocks);
    within("RetinaNet", fabs(difference("2", "LITv2-M*", "LITv2-S*", "retinanet-flops") - blocks), 1);
    beyond("315", fabs(difference("2", "LITv2-M*", "LITv2-S*", "mask-rcnn-flops") - blocks), 10);
    within("331", fabs(331 - told("2", "LITv2-S*", "mask-rcnn-flops") - blocks), 1);
}
END_TEST

/* G multiply-adds that the four stages of B take more than those of M, without the merging of patches; and of a
 * pyramid's 1 x 1 maps to 256 channels, from this stage to the last. */
static double stages_of_base_and_medium(struct layer layer, size_t rows, size_t columns, double height, double width)
{
    const struct net *medium = &nets[MEDIUM], *base = &nets[BASE];
    return stages_flops(base, layer_flops(layer, base, rows, columns), height, width, true)
        - stages_flops(medium, layer_flops(layer, medium, rows, columns), height, width, true);
}

static double pyramid(int first, double height, double width)
{
    double sum = 0;
    for (int s = first; s < 4; s++)
        sum += tokens(height, width, s) * (stage_channels(&nets[BASE], s) - stage_channels(&nets[MEDIUM], s));
    return 256 * sum / 1e9;
}

/* Claim      On COCO LITv2-S, M and B take 242, 348 and 481 G with RetinaNet and 261, 367 and 500 with Mask
 *            R-CNN; on ADE20K 41, 63 and 93 G, and 31, 52 and 90 M parameters.
 * Paper      HiLo, Tables 2 and 3.                The differences follow.
 * Measure    M - S: twelve blocks of stage 3, 50 x 80 tokens of 800 x 1280 pixels and 32 x 32 of 512 x 512.  B
 *            - M: the stages, and the maps of the pyramid that their channels enter: 1 x 1 to 256 channels
 *            from stages 2 to 4 and 3 x 3 from stage 4 to 13 x 20 tokens in RetinaNet, 1 x 1 from all stages
 *            in the others.
 * Left open  The linear maps of the merging of patches: left out 132.9 and 133.2 G, and 133 is printed; with
 *            them 135.6 and 136.0.  They are one deformable convolution, which a counter may not know.
 * Tolerance  1: differences of whole numbers. */
START_TEST(sizes_of_litv2_differ_by_their_layers)
{
    static const struct { const char *quantity; int pyramid; } detector[] = {
        {"retinanet-flops", 1}, {"mask-rcnn-flops", 0},
    };
    const struct net *medium = &nets[MEDIUM], *base = &nets[BASE];
    double merging = merging_flops(base, 800, 1280, false) - merging_flops(medium, 800, 1280, false);
    double last = 13 * 20 * 9 * 256.0 * 256 / 1e9;
    double blocks = 12 * (block_flops(384, 4000, true) + layer_flops(HILO, medium, 50, 80));
    for (size_t d = 0; d < COUNT(detector); d++) {
        double more = stages_of_base_and_medium(HILO, 50, 80, 800, 1280) + pyramid(detector[d].pyramid, 800, 1280);
        double printed = difference("2", "LITv2-B", "LITv2-M", detector[d].quantity);
        if (detector[d].pyramid) more += last;
        printf("    %s: M - S %.2f, B - M %.2f, with the merging %.2f\n", detector[d].quantity, blocks, more,
               more + merging);
        within("M - S", fabs(difference("2", "LITv2-M", "LITv2-S", detector[d].quantity) - blocks), 1);
        within("B - M", fabs(printed - more), 1);
        beyond("B - M, with the merging", fabs(printed - more - merging), 1);
    }
    double starred = stages_of_base_and_medium(HILO_4, 52, 80, 800, 1280) + pyramid(1, 800, 1280) + last;
    within("B* - M*", fabs(difference("2", "LITv2-B*", "LITv2-M*", "retinanet-flops") - starred), 1);

    double on_ade20k = 12 * (block_flops(384, 1024, true) + layer_flops(HILO, medium, 32, 32));
    double wide = stages_of_base_and_medium(HILO, 32, 32, 512, 512) + pyramid(0, 512, 512);
    double parameters = 12 * (block_parameters(384, true) + layer_parameters(HILO, medium) + 2 * 384 / 1e6);
    double wide_parameters = net_parameters(base, layer_parameters(HILO, base), true, 0)
        - net_parameters(medium, layer_parameters(HILO, medium), true, 0) + 15 * 32 * 256 / 1e6;
    printf("    ADE20K: %.2f and %.2f G, %.3f and %.3f M\n", on_ade20k, wide, parameters, wide_parameters);
    within("ADE20K, M - S", fabs(difference("3", "LITv2-M", "LITv2-S", "flops") - on_ade20k), 1);
    within("ADE20K, B - M", fabs(difference("3", "LITv2-B", "LITv2-M", "flops") - wide), 1);
    within("parameters, M - S", fabs(difference("3", "LITv2-M", "LITv2-S", "parameters") - parameters), 1);
    within("parameters, B - M", fabs(difference("3", "LITv2-B", "LITv2-M", "parameters") - wide_parameters), 1);
}
END_TEST

/* ---- Section 4.1, Tables 8 to 10 -------------------------------------------- */

/* M multiply-adds of Table 10's layer. */
static double of_table_10(const struct declaration *d, const char *options)
{
    char text[120];
    snprintf(text, sizeof text, "--grid 14x14 --heads 12 %s", options);
    struct problem p = bare(text, d, 768);
    return multiply_adds_of(&p) / 1e6;
}

/* Claim      With all heads in either branch HiLo would cost more than self-attention; as it is it costs less.
 * Paper      HiLo, Sec. 4.1, "doubling heads results in more computational cost".   Holds.
 * Measure    Table 10's layer: Hi-Fi alone 463.626 M and Lo-Fi alone 303.766 M, together 767.392; self-
 *            attention 521.429; HiLo 298.296.
 * Tolerance  Zero: whole numbers of multiply-adds. */
START_TEST(doubled_heads_cost_more_than_self_attention)
{
    double high = of_table_10(&hilo, "--alpha 0"), low = of_table_10(&hilo, "--alpha 1");
    double all = of_table_10(&msa, ""), both = of_table_10(&hilo, "--alpha 0.9");
    printf("    Hi-Fi %.3f, Lo-Fi %.3f, self-attention %.3f, HiLo %.3f M\n", high, low, all, both);
    ck_assert(high + low > all && both < all);
    ck_assert(high < all && low < all);
}
END_TEST

/* Claim      Hi-Fi and Lo-Fi, half of the heads each, cost less than self-attention, and so do both together.
 * Paper      HiLo, Sec. 4.1, "each attention has a lower complexity than a standard MSA"; Eq. 7-12.   Holds.
 * Measure    The fast forms' multiply-adds: both, less Lo-Fi's by Eq. 10-12, is Hi-Fi.  24, 384 and 768
 *            channels, planes of 2, 4 and 8 windows of 2, 3, 4 and 7 tokens to a side.
 * Tolerance  Zero.     Would it fail?  As above, with all heads twice. */
START_TEST(either_branch_costs_less_than_self_attention)
{
    static const size_t channels[] = {24, 384, 768}, window[] = {2, 3, 4, 7}, windows[] = {2, 4, 8};
    for (size_t c = 0; c < COUNT(channels); c++)
        for (size_t w = 0; w < COUNT(window); w++)
            for (size_t n = 0; n < COUNT(windows); n++) {
                size_t edge = window[w] * windows[n];
                double N = (double)(edge * edge), D = (double)channels[c], s = (double)window[w];
                double low = (0.75 + 1 / (s * s)) * N * D * D + N * N * D / (s * s);
                char plane[40], options[100];
                snprintf(plane, sizeof plane, "--grid %zux%zu --heads 2", edge, edge);
                snprintf(options, sizeof options, "%s --alpha 0.5 --window %zu", plane, window[w]);
                struct problem p = bare(options, &hilo, channels[c]), plain = bare(plane, &msa, channels[c]);
                double both = multiply_adds_of(&p), all = multiply_adds_of(&plain);
                ck_assert(all == 4 * N * D * D + 2 * N * N * D);
                ck_assert(both < all && low > 0 && low < all && both - low > 0 && both - low < all);
            }
}
END_TEST

/* Claim      The window changes no parameters: 27 M for windows of 2 to 7, 28 M with pooled queries or
 *            without.
 * Paper      HiLo, Tables 8 and 9.                Follows: Table 8 has the hundred classes of CIFAR-100.
 * Measure    Parameters of the layer by window, and with pooled queries; of LITv2-S with 100 classes, 27.15,
 *            and with 1000, 27.84.
 * Tolerance  Zero; half of the last digit.  Would it fail?  With a thousand classes Table 8 would print 28. */
START_TEST(parameters_do_not_depend_on_the_window)
{
    static const char *const window[] = {"2", "3", "4", "5", "6", "7"};
    const struct layer pooled = {&hilo, "--pooled-queries"};
    const struct net *small = &nets[SMALL];
    double layer = layer_parameters(HILO, small), hundred = net_parameters(small, layer, true, 100);
    double thousand = net_parameters(small, layer, true, 1000);
    for (size_t n = 0; n < COUNT(window); n++) {
        char options[40];
        snprintf(options, sizeof options, "--window %s", window[n]);
        ck_assert(layer_parameters((struct layer){&hilo, options}, small) == layer);
        ck_assert(prints(hundred, told("8", window[n], "parameters"), 1));
        ck_assert(!prints(thousand, told("8", window[n], "parameters"), 1));
    }
    ck_assert(layer_parameters(pooled, small) == layer);
    ck_assert(prints(thousand, told("9", "LITv2-S", "parameters"), 1));
    ck_assert(prints(thousand, told("9", "LITv2-S w/ pooled queries", "parameters"), 1));
}
END_TEST

/* Claim      The ten other rows of Table 10 have the printed parameters and FLOPs, with the settings of the authors'
 *            benchmark.
 * Paper      HiLo, Table 10, A.5: 14 x 14 tokens, 12 heads of 64 channels.   Follows.  LITv2's README links
 *            HubHop/vit-attention-benchmark, which has the settings and counts by fvcore.
 * Measure    fvcore counts a multiply-add as one, five operations for each number of a layer or group norm, four for
 *            each number that is sampled bilinearly, and half of a product without a sum.  Four linear maps of D
 *            channels, and: shifted windows of 7; crossed ones of 7 x 14 with a depth-wise 3 x 3 of the values; DAT's
 *            offsets of 3 groups by a depth-wise 5 x 5, a norm and a map to 2; Performer's 256 features of a head;
 *            Linformer's 256 rows of keys and values (the default of its class; the script's own example has 128);
 *            Focal's 49 keys, 132 around them and 9 pooled ones; XCA's maps of 64 x 64; QuadTree's 49 coarse keys,
 *            the convolutions of its coarse values (its fine attention is a kernel that fvcore does not count).  VAN
 *            has three linear maps, HorNet those of 4 orders.  Biases of the maps are in the parameters but of the
 *            windows, as printed of either.
 * Tolerance  Half of the last digit.
 * Would it fail?  Linformer with 128, 192 or 320 rows, crossed windows without the 3 x 3, VAN without the 5 x 5, DAT
 *            without sampling, QuadTree without group norms: asserted. */
START_TEST(ten_more_rows_of_table_10_follow)
{
    const double N = 196, D = 768, h = 12, maps = 4 * N * D * D, weights = 4 * D * D, features = 256;
    const double orders = 96 * 192 + 192 * 384 + 384 * 768, mixed = 96 + 192 + 384 + 768;
    const double dat = maps + 2 * N * N * D + 3 * N * 256 * (25 + 5 + 2), sampled = 4 * (N * D + h * N * N);
    const double tree = maps + 49 * 5 * D * D + 2 * 49 * 49 * D + 9 * (N + 49) * D, norms_of_tree = 5 * (N + 49) * D;
    const struct { const char *row; double parameters, flops; } row[] = {
        {"Shifted Window", weights, maps + 2 * N * 49 * D},
        {"Cross Window", weights + 14 * D, maps + 2 * N * 98 * D + 9 * N * D},
        {"DAT", weights + 4 * D + 256 * 26 + 4 * 256 + h * 27 * 27, dat + sampled},
        {"Performer", weights + 4 * D, maps + 4 * N * features * D + h * N * features + N * D / 2},
        {"Linformer", weights + 4 * D + 2 * 256 * N, maps + 4 * N * 256 * D},
        {"Focal", weights + 4 * D + h * (13 * 13 + 49 * 132 + 81) + 50,
            maps + 4 * 3 * D * D + N * D + 2 * N * (49 + 132 + 9) * D},
        {"XCA", weights + 4 * D + 12, maps + 2 * N * 64 * D},
        {"QuadTree", weights + 4 * D + 5 * D * D + 6 * D + 20 * D + 2, tree + norms_of_tree},
        {"VAN", 3 * D * D + 79 * D, 3 * N * D * D + (25 + 49) * N * D},
        {"HorNet", 3 * D * D + 50 * mixed + orders + 3 * D + 192 + 384 + 768,
            N * (3 * D * D + 49 * mixed + orders)},
    };
    const struct { const char *row; double flops; } wrong[] = {
        {"Linformer", maps + 4 * N * 128 * D}, {"Linformer", maps + 4 * N * 192 * D},
        {"Linformer", maps + 4 * N * 320 * D}, {"Cross Window", maps + 2 * N * 98 * D},
        {"VAN", 3 * N * D * D + 49 * N * D}, {"DAT", dat}, {"QuadTree", tree},
    };
    for (size_t n = 0; n < COUNT(row); n++) {
        printf("    %-15s %.3f M parameters, %.3f M\n", row[n].row, row[n].parameters / 1e6, row[n].flops / 1e6);
        ck_assert(prints(row[n].parameters / 1e6, told("10", row[n].row, "parameters"), 0.01));
        ck_assert(prints(row[n].flops / 1e6, told("10", row[n].row, "flops"), 0.1));
        ck_assert(row[n].flops / 1e6 > of_table_10(&hilo, "--alpha 0.9"));
    }
    for (size_t n = 0; n < COUNT(wrong); n++)
        ck_assert(!prints(wrong[n].flops / 1e6, told("10", wrong[n].row, "flops"), 0.1));
    ck_assert(row[0].flops / 1e6 == of_table_10(&msa, "--window 7"));
}
END_TEST

/* ---- what the text says of the tables --------------------------------------- */

/* Claim      LITv2 models "outperform all counterparts of ResNet and ConvNext in terms of FLOPs, throughput and memory
 *            consumption".
 * Paper      HiLo, Sec. 5.1, Table 1.             Does not hold of FLOPs: LITv2-B takes 13.2 G, ResNet-152
 *            11.6.
 * Measure    The rows, pair by pair.
 * Excluded   A wrong digit of 13.2: litv2_has_the_parameters_and_flops_of_table_1.
 * Tolerance  None for orders; the one against the text exceeds 0.1, both rows' rounding. */
START_TEST(resnet_152_takes_fewer_flops_than_litv2_b)
{
    static const struct { const char *ours, *other; } pair[] = {
        {"LITv2-S", "ResNet-50"}, {"LITv2-S", "ConvNext-Ti"}, {"LITv2-M", "ResNet-101"},
        {"LITv2-M", "ConvNext-S"}, {"LITv2-B", "ConvNext-B"},
    };
    for (size_t n = 0; n < COUNT(pair); n++) ck_assert(difference("1", pair[n].other, pair[n].ours, "flops") > 0.1);
    ck_assert(difference("1", "LITv2-B", "ResNet-152", "flops") > 0.1);
}
END_TEST

/* Claim      On V100 LITv2-S is 2.1 times as fast as PVTv2-B2.
 * Paper      HiLo, Sec. 5.4, Table 6.             Does not hold: 1.95 times; 2.06 on RTX 6000.
 * Measure    1304 and 670 images; 928 and 451.  No other GPU of the table has it.
 * Tolerance  Half of the last digit of 2.1. */
START_TEST(pvtv2_b2_is_left_behind_by_1_95_on_v100)
{
    static const struct { const char *gpu; double ratio; } gpu[] = {
        {"a100", 1.595}, {"v100", 1.946}, {"rtx-6000", 2.058}, {"rtx-3090", 1.722},
    };
    for (size_t n = 0; n < COUNT(gpu); n++) {
        double faster = ratio("6", "LITv2-S", "PVTv2-B2", gpu[n].gpu);
        ck_assert(prints(faster, gpu[n].ratio, 0.001));
        ck_assert(prints(faster, 2.1, 0.1) == (n == 2));
    }
}
END_TEST

/* Claim      "1.4x faster than spatial reduction attention and 1.6x faster than local window attention on CPUs", and
 *            17.4x faster than VAN; on V100 1.7 times as fast as XCiT-S12 and ConvNext-Ti, 3.5 times as
 *            fast as Focal-Tiny; faster than LITv1 by 13, 27 and 36 %; Focal-Tiny is much slower than Swin-Ti
 *            at about its FLOPs.
 * Paper      HiLo, abstract, Sec. 1, 5.1, 5.4; Tables 1, 6 and 10.           Agrees.
 * Measure    The ratio of two rows against the one of the text.
 * Tolerance  Half of the last digit told.
 * Would it fail?  No ratio fits another's pair: 1.4, 1.6 and 17.4 are each asserted not to be the others'. */
START_TEST(ratios_of_hilos_text_are_those_of_its_tables)
{
    static const struct { const char *table, *row, *other, *quantity; double told, unit; } said[] = {
        {"10", "HiLo", "SRA", "cpu", 1.4, 0.1}, {"10", "HiLo", "Local Window", "cpu", 1.6, 0.1},
        {"10", "HiLo", "VAN", "cpu", 17.4, 0.1}, {"6", "LITv2-S", "XCiT-S12", "v100", 1.7, 0.1},
        {"6", "LITv2-S", "ConvNext-Ti", "v100", 1.7, 0.1}, {"6", "LITv2-S", "Focal-Tiny", "v100", 3.5, 0.1},
        {"1", "LITv2-S", "LITv1-S", "throughput", 1.13, 0.01}, {"1", "LITv2-M", "LITv1-M", "throughput", 1.27, 0.01},
        {"1", "LITv2-B", "LITv1-B", "throughput", 1.36, 0.01},
    };
    static const char *const gpu[] = {"a100", "v100", "rtx-6000", "rtx-3090"};
    for (size_t n = 0; n < COUNT(said); n++) {
        double is = ratio(said[n].table, said[n].row, said[n].other, said[n].quantity);
        printf("    %s over %s, %s: %.3f\n", said[n].row, said[n].other, said[n].quantity, is);
        ck_assert(prints(is, said[n].told, said[n].unit));
        for (size_t m = 0; m < COUNT(said); m++)
            if (!strcmp(said[m].quantity, said[n].quantity) && said[m].told != said[n].told)
                ck_assert(!prints(is, said[m].told, said[m].unit));
    }
    for (size_t n = 0; n < COUNT(gpu); n++) ck_assert(ratio("6", "Focal-Tiny", "Swin-Ti", gpu[n]) < 0.5);
    ck_assert(ratio("6", "Focal-Tiny", "Swin-Ti", "flops") < 1.1);
}
END_TEST

/* Claim      LITv2 takes fewer FLOPs than LITv1, and at 384 pixels than DeiT-B and Swin-B; in Table 4 HiLo takes fewer
 *            than SRA, W-MSA, T-MSA and self-attention.
 * Paper      HiLo, Sec. 5.1, 5.2 and 5.4, Tables 1, 2 and 4.                  Agrees.
 * Measure    Printed numbers.  On ADE20K HiLo's 42.6 G is not the least, since SRA has 42.4; the 41.3 that follow
 *            (flops_of_table_4_are_frames_of_table_3) are.
 * Tolerance  None; 0.1 on ADE20K. */
START_TEST(hilo_takes_the_fewest_flops_that_are_printed)
{
    static const struct { const char *table, *quantity, *ours, *other; } pair[] = {
        {"1", "flops", "LITv2-S", "LITv1-S"}, {"1", "flops", "LITv2-M", "LITv1-M"},
        {"1", "flops", "LITv2-B", "LITv1-B"}, {"1", "flops", "LITv2-B up384", "DeiT-B up384"},
        {"1", "flops", "LITv2-B up384", "Swin-B up384"}, {"2", "retinanet-flops", "LITv2-S", "LITv1-S"},
        {"2", "mask-rcnn-flops", "LITv2-S", "LITv1-S"}, {"4", "flops", "HiLo", "SRA"}, {"4", "flops", "HiLo", "MSA"},
        {"4", "flops", "HiLo", "W-MSA"}, {"4", "flops", "HiLo", "T-MSA"},
    };
    static const char *const rival[] = {"MSA", "SRA", "W-MSA", "T-MSA"};
    for (size_t n = 0; n < COUNT(pair); n++)
        ck_assert(difference(pair[n].table, pair[n].ours, pair[n].other, pair[n].quantity) < 0);
    double follows = told("4", "MSA", "ade-flops") - 6 * ade20k(MSA) + 6 * ade20k(HILO);
    for (size_t n = 0; n < COUNT(rival); n++) ck_assert(follows < told("4", rival[n], "ade-flops") - 0.1);
    ck_assert(difference("4", "HiLo", "SRA", "ade-flops") > 0);
}
END_TEST

/* Claim      LITv2 "runs slightly slower in some cases" than ResNet.
 * Paper      HiLo, Sec. 5.2, Table 2.             Left open: of six pairs one is faster, one 8 % slower, and four are 20
 *            to 40 % slower.  What is slight is not said.
 * Measure    Images per second of six pairs of rows.     Tolerance  Half of the last digit of a percentage. */
START_TEST(litv2_is_up_to_forty_percent_slower_than_resnet)
{
    static const struct { const char *ours, *other, *quantity; double ratio; } pair[] = {
        {"LITv2-S", "ResNet-50", "retinanet-fps", 1.01}, {"LITv2-B", "ResNeXt101-64x4d", "retinanet-fps", 0.92},
        {"LITv2-M", "ResNet-101", "retinanet-fps", 0.80}, {"LITv2-B", "ResNeXt101-64x4d", "mask-rcnn-fps", 0.75},
        {"LITv2-S", "ResNet-50", "mask-rcnn-fps", 0.69}, {"LITv2-M", "ResNet-101", "mask-rcnn-fps", 0.60},
    };
    for (size_t n = 0; n < COUNT(pair); n++)
        ck_assert(prints(ratio("2", pair[n].ours, pair[n].other, pair[n].quantity), pair[n].ratio, 0.01));
}
END_TEST

/* Claim      Rows that several tables print are the same in each, but for 224 and 42.6 G.
 * Paper      HiLo, Tables 1 to 6 and 9.
 * Measure    Number by number.                    Tolerance  Zero. */
START_TEST(rows_that_hilos_tables_repeat_agree)
{
    static const char *const rows[] = {
        "ResNet-50", "PVT-S", "Swin-Ti", "CvT-13", "ConvNext-Ti", "Focal-Tiny", "Twins-PCPVT-S",
    };
    static const char *const quantities[] = {
        "parameters", "flops", "top1", "throughput", "train-memory", "test-memory",
    };
    static const struct { const char *table, *row, *quantity, *other, *its_row, *its_quantity; bool same; } pair[] = {
        {"2", "LITv1-S", "retinanet-flops", "5", "LITv1-S", "coco-flops", true},
        {"2", "LITv1-S", "retinanet-fps", "5", "LITv1-S", "coco-fps", true},
        {"2", "LITv1-S", "retinanet-box", "5", "LITv1-S", "coco-box", true},
        {"2", "LITv2-S", "retinanet-fps", "5", "+ HiLo", "coco-fps", true},
        {"2", "LITv2-S", "retinanet-box", "5", "+ HiLo", "coco-box", true},
        {"2", "LITv2-S", "retinanet-flops", "5", "+ HiLo", "coco-flops", false},
        {"3", "LITv2-S", "parameters", "4", "HiLo", "ade-parameters", true},
        {"3", "LITv2-S", "miou", "4", "HiLo", "ade-miou", true},
    };
    for (size_t q = 0; q < COUNT(quantities); q++) {
        const char *quantity = quantities[q], *there = q == 3 ? "rtx-3090" : quantity;
        ck_assert(told("1", "LITv2-S", quantity) == told("4", "HiLo", quantity));
        if (q > 3) continue;
        ck_assert(told("1", "LITv2-S", quantity) == told("9", "LITv2-S", quantity));
        ck_assert(told("1", "LITv2-S", quantity) == told("6", "LITv2-S", there));
        for (size_t n = 0; n < COUNT(rows); n++)
            ck_assert(told("1", rows[n], quantity) == told("6", rows[n], there));
    }
    for (size_t n = 0; n < COUNT(pair); n++) {
        double one = told(pair[n].table, pair[n].row, pair[n].quantity);
        ck_assert((one == told(pair[n].other, pair[n].its_row, pair[n].its_quantity)) == pair[n].same);
    }
    ck_assert(!prints(told("4", "HiLo", "ade-flops"), told("3", "LITv2-S", "flops"), 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HiLo, printed numbers");
    TCase *networks = add_case(suite, "networks");
    tcase_add_test(networks, litv2_has_the_parameters_and_flops_of_table_1);
    tcase_add_test(networks, litv1_and_its_modifications_follow);
    tcase_add_test(networks, parameters_of_table_4_follow_for_litv2);
    tcase_add_test(networks, alternating_windows_and_sra_make_t_msa);
    tcase_add_test(networks, sra_has_no_setting_that_fits_table_4);
    tcase_add_test(networks, flops_of_table_4_are_frames_of_table_3);
    tcase_add_test(networks, two_detectors_differ_by_19_g);
    tcase_add_test(networks, sizes_of_litv2_differ_by_their_layers);
    TCase *layers = add_case(suite, "layers");
    tcase_add_test(layers, doubled_heads_cost_more_than_self_attention);
    tcase_add_test(layers, either_branch_costs_less_than_self_attention);
    tcase_add_test(layers, parameters_do_not_depend_on_the_window);
    tcase_add_test(layers, ten_more_rows_of_table_10_follow);
    TCase *text = add_case(suite, "text and tables");
    tcase_add_test(text, resnet_152_takes_fewer_flops_than_litv2_b);
    tcase_add_test(text, pvtv2_b2_is_left_behind_by_1_95_on_v100);
    tcase_add_test(text, ratios_of_hilos_text_are_those_of_its_tables);
    tcase_add_test(text, hilo_takes_the_fewest_flops_that_are_printed);
    tcase_add_test(text, litv2_is_up_to_forty_percent_slower_than_resnet);
    tcase_add_test(text, rows_that_hilos_tables_repeat_agree);
    return run_suite(suite);
}
