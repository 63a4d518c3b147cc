/* test_hilo_errata.c -- where HiLo does not hold as printed, and what does
 *
 * And two sentences that leave open what they mean, with what follows from
 * each reading. */

#include <stdio.h>
#include "hilo_case.h"
#include "published.h"
#include "../reference/msa.h"
#include "../reference/instruments/spectrum.h"
#include "../reference/sra.h"

/* ---- Algorithm 1 ---------------------------------------------------------- */

/* The panels of Algorithm 1 as printed, [C][H][W], from logarithms of magnitudes of each image
 * [B][C][H][W] whose zero frequency already stands in the middle: fftshift, told no axes, rolls
 * samples and channels as well; then the mean over what is now the first axis. */
static real *panels_as_printed(const real *logs, size_t B, size_t C, size_t P)
{
    real *panels = zeros(C * P);
    for (size_t b = 0; b < B; b++)
        for (size_t ch = 0; ch < C; ch++)
            for (size_t i = 0; i < P; i++)
                panels[(ch + C / 2) % C * P + i] += logs[((b + B / 2) % B * C + ch) * P + i] / (real)B;
    return panels;
}

/* Claim      The figures show "8 output channels": panel i shows channel i.
 * Paper      HiLo, Algorithm 1, fftshift(fft_output); Fig. 5, 8, 9.       Left open: that the eight are the
 *            first eight is not said.
 * Measure    Eight channels of known content (channel c has c + 1 waves across), B = 3 images of noise on
 *            top; panels as printed against those of reference/spectrum.h, which shifts height and width
 *            alone.  The roll of PyTorch is done by hand.  And an odd number of channels.
 * Follows    Panel c shows channel (c - C/2) mod C.  Of LITv2-S's 64 channels of Hi-Fi and 320 of Lo-Fi the
 *            first eight panels are channels 32 ... 39 and 160 ... 167.
 * Harmless   The roll of the samples: they are averaged.
 * Ours       fftshift(fft_output, dim=(-2, -1)).
 * Tolerance  4 B u of the largest logarithm: a mean in another order. */
START_TEST(fftshift_without_axes_moves_channels)
{
    size_t B = 3, C = _i ? 7 : 8, H = 6, W = 20, P = H * W;
    real *y = normal(1, B * P * C), *one = zeros(P * C), *logs = zeros(B * C * P), *shifted = zeros(C * P);
    for (size_t i = 0; i < B * P * C; i++)
        y[i] = y[i] / 100 + (real)cos(2 * acos(-1.0) * (double)((i % C + 1) * (i / C % W)) / (double)W);
    succeeds(spectrum(shifted, y, B, H, W, C));
    for (size_t b = 0; b < B; b++) {
        memcpy(one, y + b * P * C, P * C * sizeof *one);
        succeeds(spectrum(logs + b * C * P, one, 1, H, W, C));
    }
    real *printed = panels_as_printed(logs, B, C, P);
    double tolerance = 4 * (double)B * UNIT_ROUNDOFF * largest(shifted, C * P);
    for (size_t ch = 0; ch < C; ch++) {
        size_t shown = (ch + C - C / 2) % C;
        within("panel and channel", largest_difference(printed + ch * P, shifted + shown * P, P), tolerance);
        beyond("panel and its number", largest_difference(printed + ch * P, shifted + ch * P, P), 1);
        ck_assert(shifted[ch * P + H / 2 * W + W / 2 + ch + 1] > shifted[ch * P + H / 2 * W + W / 2] + 2);
    }
}
END_TEST

/* ---- alpha ------------------------------------------------------------------ */

/* Claim      "(1 - alpha) N_h heads will be employed for Hi-Fi and the other alpha N_h heads are used for
 *            Lo-Fi."
 * Paper      HiLo, Sec. 4.1, "Head splitting"; alpha = 0.9 with 12 heads (Table 7).    Left open: how
 *            these become whole numbers is not said.
 * Measure    0.9 times 12 is 10.8 and 0.1 times 12 is 1.2.  Multiply-adds and parameters of Table 10's layer
 *            with 9, 10, 11 and 12 heads in Lo-Fi, against 298.3 and 2.20.
 * Ours       Rounded down, the rest to Hi-Fi: 10 heads make 298.3, 11 make 299.4.  Both rounded down would
 *            lose a head.
 * Also       alpha h computed in double: for tenths and up to 64 heads alpha h then never falls short of the
 *            whole number that it should be; in float 0.9 of 10 heads are 8. */
START_TEST(heads_of_alpha_are_no_whole_numbers)
{
    static const char *const alpha[] = {"0.75", "0.9", "0.92", "1"};
    double parameters = published("hilo", "10", "HiLo", "parameters");
    double flops = published("hilo", "10", "HiLo", "flops");
    ck_assert(0.9 * 12 > 10 && 0.9 * 12 < 11 && (1 - 0.9) * 12 > 1 && (1 - 0.9) * 12 < 2);
    ck_assert(floor(0.9 * 12) + floor((1 - 0.9) * 12) == 11);
    for (size_t n = 0; n < COUNT(alpha); n++) {
        char options[80];
        snprintf(options, sizeof options, "--grid 14x14 --heads 12 --alpha %s", alpha[n]);
        struct problem p = bare(options, &hilo, 768);
        double M = multiply_adds_of(&p) / 1e6;
        ck_assert(problem_size(&p, "ld") == (9 + n) * 64);
        printf("    %zu heads in Lo-Fi: %.1f M multiply-adds\n", 9 + n, M);
        ck_assert((fabs(M - flops) <= 0.05) == (n == 1));
        if (n == 1) within("parameters", fabs((double)problem_parameters(&p) / 1e6 - parameters),
                           0.005);
    }
    for (int tenths = 0; tenths <= 10; tenths++)
        for (int h = 1; h <= 64; h++)
            if (tenths * h % 10 == 0) ck_assert(floor(tenths / 10.0 * h) == tenths * h / 10);
    ck_assert(floor((double)(float)0.9 * 10) == 8);
}
END_TEST

/* ---- the layers of LITv2 ---------------------------------------------------- */

/* G multiply-adds of these blocks' attention: the fast form's, on a plane that windows tile. */
static double hilo_blocks(const char *grid_and_window, size_t heads, size_t channels, double blocks)
{
    char options[120];
    snprintf(options, sizeof options, "--grid %s --heads %zu", grid_and_window, heads);
    struct problem p = bare(options, &hilo, channels);
    return blocks * multiply_adds_of(&p) / 1e9;
}

static double msa_blocks(const char *grid_and_window, size_t channels, double blocks)
{
    char options[120];
    snprintf(options, sizeof options, "--grid %s", grid_and_window);
    struct problem p = bare(options, &msa, channels);
    return blocks * multiply_adds_of(&p) / 1e9;
}

/* Claim      FLOPs of LITv1-S on COCO, layer by layer replaced: 306 G with self-attention, 224 G with HiLo.
 * Paper      HiLo, Table 5.                      Does not hold: Table 2 has 242 G for the same model, speed and
 *            AP.
 * Measure    What HiLo (s = 2, alpha = 0.9) takes from the six blocks of stage 3, 50 x 80 tokens of an image
 *            of 800 x 1280 pixels, 384 channels, 12 heads: self-attention's multiply-adds less HiLo's.
 * Failure    63.8 G less, not 82.
 * Correction 242, two digits exchanged.          Tolerance  1 G: both are rounded. */
START_TEST(table_5_exchanges_two_digits)
{
    double saved = msa_blocks("50x80", 384, 6) - hilo_blocks("50x80", 12, 384, 6);
    double before = published("hilo", "5", "+ Remove RPE", "coco-flops");
    printf("    HiLo saves %.1f G\n", saved);
    beyond("Table 5", fabs(before - saved - published("hilo", "5", "+ HiLo", "coco-flops")), 1);
    within("Table 2", fabs(before - saved - published("hilo", "2", "LITv2-S", "retinanet-flops")), 1);
}
END_TEST

/* Claim      On COCO a window of 4 saves LITv2-S 12 G, M 36 G, B 51 G, with either detector.
 * Paper      HiLo, Table 2.                      Holds but for one number: Mask R-CNN with LITv2-M*, 315 G.
 * Measure    HiLo's multiply-adds in stage 3 with s = 2 (50 x 80 tokens) less those with s = 4 (52 x 80,
 *            with the padding), 6 blocks of 384 channels, 18 of 384, 18 of 512; against the differences of
 *            the table.
 * Failure    315 is 52 G less than 367; the layers save 35.9.
 * Correction 331; all five others hold.  So do the 19 G between the detectors, everywhere but here:
 *            two_detectors_differ_by_19_g.
 * Tolerance  1 G: both are rounded. */
START_TEST(windows_of_four_save_what_table_2_says)
{
    static const struct { const char *two, *four; size_t heads, channels; double blocks; } model[] = {
        {"LITv2-S", "LITv2-S*", 12, 384, 6},
        {"LITv2-M", "LITv2-M*", 12, 384, 18},
        {"LITv2-B", "LITv2-B*", 16, 512, 18},
    };
    static const char *const detector[] = {"retinanet-flops", "mask-rcnn-flops"};
    for (size_t n = 0; n < COUNT(model); n++) {
        double saved = hilo_blocks("50x80", model[n].heads, model[n].channels, model[n].blocks)
                     - hilo_blocks("52x80 --window 4", model[n].heads, model[n].channels, model[n].blocks);
        for (size_t d = 0; d < 2; d++) {
            double before = published("hilo", "2", model[n].two, detector[d]);
            double printed = before - published("hilo", "2", model[n].four, detector[d]);
            printf("    %s, %s: %.1f G saved, %.0f printed\n", model[n].two, detector[d], saved, printed);
            if (n == 1 && d == 1) beyond("Mask R-CNN, LITv2-M*", fabs(saved - printed), 10);
            else within(model[n].two, fabs(saved - printed), 1);
            if (n == 1 && d == 1) within("331", fabs(before - saved - 331), 1);
        }
    }
}
END_TEST

/* Claim      On ADE20K: 46.5 G with self-attention, 42.4 with SRA, 42.7 with windows, 42.6 with HiLo.
 * Paper      HiLo, Table 4.                      Does not hold of HiLo: Table 3 has 41 G for the same model and mIoU.
 * Measure    What each takes from the six blocks of stage 3, 32 x 32 tokens of 512 x 512 pixels, 384
 *            channels: SRA with s = 2; windows of 7 on a plane padded to 35 x 35; HiLo with s = 2, alpha =
 *            0.9.
 * Holds      SRA 42.42, windows 42.66.
 * Failure    HiLo makes 41.29, not 42.6.
 * Correction 41.3.  42.6 is what Table 3 has as this model's frames per second:
 *            flops_of_table_4_are_frames_of_table_3.
 * Tolerance  0.1 G: two rounded numbers. */
START_TEST(table_4_has_hilo_too_dear_on_ade20k)
{
    struct problem reduced = bare("--grid 32x32", &sra, 384);
    double all = published("hilo", "4", "MSA", "ade-flops"), attention = msa_blocks("32x32", 384, 6);
    double with_sra = all - attention + 6 * multiply_adds_of(&reduced) / 1e9;
    double with_windows = all - attention + msa_blocks("35x35 --window 7", 384, 6);
    double with_hilo = all - attention + hilo_blocks("32x32", 12, 384, 6);
    printf("    SRA %.2f, windows %.2f, HiLo %.2f\n", with_sra, with_windows, with_hilo);
    within("SRA", fabs(with_sra - published("hilo", "4", "SRA", "ade-flops")), 0.1);
    within("windows", fabs(with_windows - published("hilo", "4", "W-MSA", "ade-flops")), 0.1);
    beyond("HiLo, Table 4", fabs(with_hilo - published("hilo", "4", "HiLo", "ade-flops")), 1);
    within("HiLo, Table 3", fabs(with_hilo - published("hilo", "3", "LITv2-S", "flops")), 0.6);
    ck_assert(published("hilo", "4", "HiLo", "ade-miou") == published("hilo", "3", "LITv2-S", "miou"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HiLo, errata");
    TCase *errata = add_case(suite, "errata");
    tcase_add_loop_test(errata, fftshift_without_axes_moves_channels, 0, 2);
    tcase_add_test(errata, heads_of_alpha_are_no_whole_numbers);
    tcase_add_test(errata, table_5_exchanges_two_digits);
    tcase_add_test(errata, windows_of_four_save_what_table_2_says);
    tcase_add_test(errata, table_4_has_hilo_too_dear_on_ade20k);
    return run_suite(suite);
}
