/* test_hilo_errata.c -- corrections to HiLo as printed, and two points that it leaves open */

#include "hilo_case.h"
#include "../support/published.h"
#include "../../reference/msa.h"
#include "../../reference/cli/log_spectrum.h"
#include "../../reference/sra.h"

/* The panels of Algorithm 1 as printed, [C][H][W], from [B][C][H][W] whose zero frequency is already in the middle.  As
 * printed, fftshift has no axes, so it also rolls samples and channels. */
static real *panels_as_printed(const real *logs, size_t B, size_t C, size_t P)
{
    real *panels = zeros(C * P);
    for (size_t b = 0; b < B; b++)
        for (size_t ch = 0; ch < C; ch++)
            for (size_t i = 0; i < P; i++)
                panels[(ch + C / 2) % C * P + i] += logs[((b + B / 2) % B * C + ch) * P + i] / (real)B;
    return panels;
}

/* HiLo, Algorithm 1; Fig. 5, 8, 9 leave open which eight channels they show.  Panel c shows channel (c - C/2) mod C:
 * the first eight of LITv2-S show 32 to 39 of Hi-Fi, 160 to 167 of Lo-Fi.  The mean over samples removes their roll.
 * Tolerance: 4 B u of the largest logarithm. */
TESTS(fftshift_without_axes_moves_channels, 2)
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

/* HiLo, Sec. 4.1, Tab. 7, 10 leave open how to round 10.8 and 1.2 heads: 10 heads in Lo-Fi give the 298.3 M of Tab. 10;
 * 9, 11 and 12 do not. */
TEST(alpha_need_not_give_whole_heads)
{
    static const char *const alpha[] = {"0.75", "0.9", "0.92", "1"};
    double parameters = published("hilo", "10", "HiLo", "parameters");
    double flops = published("hilo", "10", "HiLo", "flops");
    for (size_t n = 0; n < COUNT(alpha); n++) {
        char options[80];
        snprintf(options, sizeof options, "--grid 14x14 --heads 12 --alpha %s", alpha[n]);
        struct problem p = bare(options, &hilo, 768);
        double M = multiply_adds_of(&p) / 1e6;
        ck_assert(problem_size(&p, "ld") == (9 + n) * 64);
        printf("    %zu heads in Lo-Fi: %.1f M multiply-adds\n", 9 + n, M);
        ck_assert((fabs(M - flops) <= 0.05) == (n == 1));
        if (n == 1) within("parameters", fabs((double)problem_parameters(&p) / 1e6 - parameters), 0.005);
    }
}

/* Attention of these blocks in G multiply-adds, by the fast form, on a plane that windows tile. */
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

/* HiLo, Tab. 5, does not hold: it has 224 G with HiLo on COCO, Tab. 2 has 242 for the same model.  The six blocks of
 * stage 3, 50 x 80 tokens of 384 channels, save 63.8 G of 306, which gives 242.  Tolerance: 1 G, as both are
 * rounded. */
TEST(table_5_exchanges_two_digits)
{
    double saved = msa_blocks("50x80", 384, 6) - hilo_blocks("50x80", 12, 384, 6);
    double before = published("hilo", "5", "+ Remove RPE", "coco-flops");
    printf("    HiLo saves %.1f G\n", saved);
    beyond("Table 5", fabs(before - saved - published("hilo", "5", "+ HiLo", "coco-flops")), 1);
    within("Table 2", fabs(before - saved - published("hilo", "2", "LITv2-S", "retinanet-flops")), 1);
}

/* HiLo, Tab. 2: windows of 4 save LITv2-S, M, B 12, 36, 51 G in stage 3.  One number does not hold, Mask R-CNN with
 * LITv2-M*: 315 is 52 G less, but the layers save 35.9, which gives 331.  Tolerance: 1 G, as both are rounded. */
TEST(windows_of_four_save_what_table_2_says)
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

/* HiLo, Tab. 4, does not hold: it has 42.6 G with HiLo.  The layers give 41.29, and Tab. 3 has 41.  The numbers of SRA,
 * windows and T-MSA hold (stage 3, 32 x 32 tokens, windows of 7 padded to 35 x 35; T-MSA alternates windows and SRA).
 * Tolerance: 0.1 G, two rounded numbers; 0.6 for Tab. 3. */
TEST(table_4_overstates_the_cost_on_ade20k)
{
    struct problem reduced = bare("--grid 32x32", &sra, 384);
    double all = published("hilo", "4", "MSA", "ade-flops"), attention = msa_blocks("32x32", 384, 6);
    double with_sra = all - attention + 6 * multiply_adds_of(&reduced) / 1e9;
    double with_windows = all - attention + msa_blocks("35x35 --window 7", 384, 6);
    double with_hilo = all - attention + hilo_blocks("32x32", 12, 384, 6);
    double with_both = (with_windows + with_sra) / 2;
    printf("    SRA %.2f, windows %.2f, both %.2f, HiLo %.2f\n", with_sra, with_windows, with_both, with_hilo);
    within("SRA", fabs(with_sra - published("hilo", "4", "SRA", "ade-flops")), 0.1);
    within("windows", fabs(with_windows - published("hilo", "4", "W-MSA", "ade-flops")), 0.1);
    within("windows and SRA", fabs(with_both - published("hilo", "4", "T-MSA", "ade-flops")), 0.1);
    beyond("HiLo, Table 4", fabs(with_hilo - published("hilo", "4", "HiLo", "ade-flops")), 1);
    within("HiLo, Table 3", fabs(with_hilo - published("hilo", "3", "LITv2-S", "flops")), 0.6);
}

int main(void) { return run_tests("HiLo, errata"); }
