/* hilo-cost.c -- multiply-adds of HiLo and its branches against the resolution
 *
 *     build/figures/hilo-cost
 *
 * As HiLo's Fig. 2: a layer of 384 channels in 12 heads, half of them Hi-Fi's, on
 * images of 256 to 1280 pixels a side, one token to 16 x 16 of them.  Numbers are those that the
 * fast form states (and the proofs count), in 1e9.
 *
 * One line for each resolution: pixels, then for s = 2, 4, 8 Hi-Fi, Lo-Fi and
 * both; at the end self-attention (hilo with s = 1). */

#include <stdio.h>
#include <string.h>
#include "../reference/forms.h"
#include "../reference/hilo.h"

enum { CHANNELS = 384, STEP = 64, FIRST = 256, LAST = 1280, SCALE = 16 };

/* A branch less: its channels are no channels. */
static void leave_out(struct problem *p, const char *letter)
{
    for (int l = 0; l < p->letters; l++)
        if (!strcmp(p->letter[l].name, letter)) p->letter[l].size = 0;
}

/* Multiply-adds of a layer, of Hi-Fi's or Lo-Fi's channels alone unless both are asked for. */
static status count(double *multiply_adds, int pixels, const char *window, bool high, bool low)
{
    struct problem p;
    char plane[24];
    const char *const word[] = {"--grid", plane, "--heads", "12", "--window", window, "--alpha", "0.5"};

    snprintf(plane, sizeof plane, "%dx%d", pixels / SCALE, pixels / SCALE);
    status s = problem_create(&p, &hilo, sizeof word / sizeof *word, word);
    if (!s.code) s = problem_set_size(&p, "B", 1);
    if (!s.code) s = problem_set_size(&p, "C", CHANNELS);
    if (!s.code) s = problem_shape(&p, NULL, NULL);
    if (s.code) return s;
    if (!high) leave_out(&p, "hd");
    if (!low) leave_out(&p, "ld");
    *multiply_adds = form_multiply_adds(operator_form(&hilo, "fast"), &p) / 1e9;
    return s;
}

int main(void)
{
    static const char *const window[] = {"2", "4", "8"};
    status s = status_ok();

    printf("#pixels\thigh_2\tlow_2\tboth_2\thigh_4\tlow_4\tboth_4\thigh_8\tlow_8\tboth_8\tmsa\n");
    for (int pixels = FIRST; pixels <= LAST && !s.code; pixels += STEP) {
        double part[3][3], msa;
        for (int w = 0; w < 3; w++)
            for (int part_of = 0; part_of < 3 && !s.code; part_of++)
                s = count(&part[w][part_of], pixels, window[w], part_of != 1, part_of != 0);
        if (!s.code) s = count(&msa, pixels, "1", true, true);
        if (s.code) break;
        printf("%d", pixels);
        for (int n = 0; n < 9; n++) printf("\t%.5g", part[n / 3][n % 3]);
        printf("\t%.5g\n", msa);
    }
    if (s.code) fprintf(stderr, "hilo-cost: %s\n", s.message);
    return s.code;
}
