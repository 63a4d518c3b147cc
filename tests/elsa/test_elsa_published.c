/* test_elsa_published.c -- the cost that ELSA adds to detectors and segmentation
 *
 * We have no detectors, so the difference of two printed rows is compared with the difference of their layers.  The
 * other printed parameters and FLOPs are in test_networks_published.c.  One multiply-add is one FLOP. */

#include "../support/published.h"
#include "../support/fixture.h"
#include "../../reference/elsa.h"
#include "../../reference/msa.h"

struct cost { double parameters, flops; };

/* Self-attention in windows of 7, with 169 bias entries per head.  `padded`: all tokens of the padded plane are
 * projected; otherwise only those of the plane. */
static struct cost windows_of_7(size_t H, size_t W, size_t C, size_t h, bool padded)
{
    char options[80];
    double N = (double)(H * W), c = (double)C;
    snprintf(options, sizeof options, "--grid %zux%zu --window 7 --heads %zu", (H + 6) / 7 * 7, (W + 6) / 7 * 7, h);
    struct problem p = shaped(options, &msa, 1, C, "", "rpe");
    double flops = padded ? form_multiply_adds(operator_form(&msa, "fast"), &p) : 4 * N * c * c + 98 * N * c;
    return (struct cost){(double)problem_parameters(&p) + 169 * (double)h, flops};
}

/* The final module with groups of w, without the 2 N Q multiply-adds of the products q k. */
static struct cost final_module(size_t H, size_t W, size_t C, size_t h, size_t w, bool ghost, bool sums)
{
    size_t Q = (2 * (C / 3) + w - 1) / w * w;
    char options[160], sizes[24];
    snprintf(sizes, sizeof sizes, "Q=%zu", Q);
    snprintf(options, sizeof options, "--grid %zux%zu --kernel 7 --heads %zu --variant final --group-width %zu"
             " --lambda 0 --head-map block", H, W, h, w);
    struct problem p = shaped(options, &elsa, 1, C, sizes, ghost ? "ghost_mul" : "ghost_mul ghost_add");
    double flops = form_multiply_adds(operator_form(&elsa, "naive"), &p) - 2 * (double)(H * W * Q);
    return (struct cost){(double)problem_parameters(&p), flops - (sums ? 0 : 49 * (double)(H * W * C))};
}

static double difference(const char *table, const char *row, const char *less, const char *quantity)
{
    return published("elsa", table, row, quantity) - published("elsa", table, less, quantity);
}

/* Tables 7 (800 x 1280 pixels) and 8 (512 x 2048): the differences follow from the layers of stages 1 to 3 with padded
 * windows, T with groups of 4, S with groups of 8.  The sums of the ghost head count in Table 7 but not in Table 8
 * (left open).  Tolerance: 1, as both rows are integers. */
static const struct growth {
    const char *table, *ours, *theirs;
    char size;
    bool sums, padded, follows;
} growths[] = {
    {"7", "ELSA-T", "Swin-T", 'T', true, true, true},
    {"7", "Cascade, ELSA-T", "Cascade, Swin-T", 'T', true, true, true},
    {"7", "Cascade, ELSA-S", "Cascade, Swin-S", 'S', true, true, true},
    {"7", "ELSA-T", "Swin-T", 'T', true, false, false},
    {"7", "Cascade, ELSA-S", "Cascade, Swin-S", 'S', true, false, false},
    {"7", "Cascade, ELSA-S", "Cascade, Swin-S", 'S', false, true, false},
    {"8", "ELSA-Swin-T", "Swin-T", 'T', false, true, true},
    {"8", "ELSA-Swin-S", "Swin-S", 'S', false, true, true},
    {"8", "ELSA-Swin-T", "Swin-T", 'T', true, true, false},
    {"8", "ELSA-Swin-S", "Swin-S", 'S', true, true, false},
};
TESTS(detectors_grow_by_what_elsa_adds, COUNT(growths))
{
    const struct growth *g = &growths[_i];
    bool large = *g->table == '7';
    double blocks[] = {2, 2, g->size == 'T' ? 6 : 18}, parameters = 0, flops = 0;
    for (int s = 0; s < 3; s++) {
        size_t H = (size_t)(large ? 200 : 128) >> s, W = (size_t)(large ? 320 : 512) >> s;
        size_t C = (size_t)96 << s, h = (size_t)3 << s;
        struct cost ours = final_module(H, W, C, h, g->size == 'T' ? 4 : 8, true, g->sums);
        struct cost theirs = windows_of_7(H, W, C, h, g->padded);
        parameters += blocks[s] * (ours.parameters - theirs.parameters) / 1e6;
        flops += blocks[s] * (ours.flops - theirs.flops) / 1e9;
    }
    within("M", fabs(parameters - difference(g->table, g->ours, g->theirs, "parameters")), 1);
    double off = fabs(flops - difference(g->table, g->ours, g->theirs, "flops"));
    if (g->follows) within(g->ours, off, 1);
    else beyond(g->ours, off, 1);
}

/* Tables 7 and 8: S has twelve blocks of stage 3 more than T.  With Mask R-CNN, a row from another paper, the windows
 * of Swin-S are not padded (left open).  Tolerance: 1. */
static const struct { const char *table, *row, *less; size_t H, W; bool padded, follows; } deeper[] = {
    {"7", "Cascade, Swin-S", "Cascade, Swin-T", 50, 80, true, true},
    {"7", "Swin-S", "Swin-T", 50, 80, false, true},
    {"7", "Swin-S", "Swin-T", 50, 80, true, false},
    {"8", "Swin-S", "Swin-T", 32, 128, true, true},
};
TESTS(swin_s_has_twelve_blocks_more_than_swin_t, COUNT(deeper))
{
    size_t H = deeper[_i].H, W = deeper[_i].W;
    double maps = 8 * (double)(H * W) * 384 * 384;
    double blocks = 12 * (maps + windows_of_7(H, W, 384, 12, deeper[_i].padded).flops) / 1e9;
    double off = fabs(blocks - difference(deeper[_i].table, deeper[_i].row, deeper[_i].less, "flops"));
    if (deeper[_i].follows) within(deeper[_i].row, off, 1);
    else beyond(deeper[_i].row, off, 1);
}

int main(void) { return run_tests("ELSA, printed costs"); }
