/* gap-resolution.c -- what LITv2-S costs on larger images, by the attention of its third stage
 *
 *     build/figures/gap-resolution
 *
 * HiLo's Fig. 3 puts other attentions in the place of HiLo.  Here they are put there by
 * count: the multiply-adds of the network's own table, less those of its six layers of
 * HiLo, and six times those of the other.  Stage 4 keeps plain attention, as in the
 * paper.  All are fast forms; nothing runs.  Rows: the attention, pixels of a side,
 * tokens of stage 3, multiply-adds of one layer there and of the network. */

#include <stdio.h>
#include <string.h>
#include "../reference/forms.h"
#include "../reference/networks/network.h"
#include "../reference/outline.h"

static const struct { const char *key, *operator, *word[6]; int words; } attention[] = {
    {"s2", "hilo", {"--heads", "12", "--window", "2", "--alpha", "0.9"}, 6},
    {"s4", "hilo", {"--heads", "12", "--window", "4", "--alpha", "0.9"}, 6},
    {"msa", "msa", {"--heads", "12"}, 2},
    {"window", "msa", {"--heads", "12", "--window", "7"}, 4},
    {"sra", "sra", {"--heads", "12", "--reduction", "2"}, 4},
};

static const char *const sides[] = {"224x224", "448x448", "672x672", "896x896", "1344x1344", "1792x1792"};

/* One layer of 384 channels on this plane. */
static status layer_multiply_adds(double *count, size_t a, const char *plane)
{
    const struct declaration *d = operator_find(attention[a].operator);
    const struct outline o = {
        .words = attention[a].words, .word = attention[a].word, .grid = plane, .batch = 1, .channels = 384,
        .without = strcmp(attention[a].operator, "msa") ? NULL : "rpe",
    };
    struct problem p;
    status s = outline_problem(&p, d, &o);
    if (!s.code) *count = form_multiply_adds(operator_form(d, "fast"), &p);
    return s;
}

static status print_side(const char *side)
{
    const struct network_request request = {.grid = side, .form = "fast"};
    struct network n;
    double rest, layers = 0, one;
    status s = network_create(&n, network_find("litv2-s"), &request);
    if (s.code) return s;

    /* Step 1: the network without what attends in stage 3. */
    rest = network_bare_multiply_adds(&n);
    for (size_t i = 0; i < n.parts; i++) {
        const struct part *part = &n.part[i];
        if (part->stage != 3 || strcmp(part->step->what, "hilo")) continue;
        rest -= form_multiply_adds(part->plan.form, &part->problem);
        layers++;
    }

    /* Step 2: each attention in its place. */
    size_t edge = n.grid.size[0] / 16;
    char plane[48];
    snprintf(plane, sizeof plane, "%zux%zu", edge, edge);
    for (size_t a = 0; a < sizeof attention / sizeof *attention && !s.code; a++) {
        s = layer_multiply_adds(&one, a, plane);
        if (!s.code) printf("%s\t%zu\t%zu\t%.0f\t%.0f\n", attention[a].key, 16 * edge, edge * edge, one, rest + layers * one);
    }
    network_release(&n);
    return s;
}

int main(void)
{
    status s = status_ok();
    printf("#attention\tpixels\ttokens\tlayer_multiply_adds\tmultiply_adds\n");
    for (size_t i = 0; i < sizeof sides / sizeof *sides && !s.code; i++) s = print_side(sides[i]);
    if (s.code) fprintf(stderr, "gap-resolution: %s\n", s.message);
    return s.code;
}
