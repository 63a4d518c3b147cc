/* hilo-spectrum.c -- which frequencies Hi-Fi and Lo-Fi let through, untrained
 *
 *     build/figures/hilo-spectrum
 *
 * As HiLo's Fig. 8 and 9: the logarithms of the magnitudes of the Fourier
 * transform (spectrum.h, the paper's Algorithm 1), averaged over 100 images, of the
 * first 8 channels of Hi-Fi and of Lo-Fi.  The layer is that of LITv2-S's third
 * stage, 384 channels in 12 heads, windows of 2 x 2 and alpha = 0.9, on 14 x 14
 * tokens.  Its parameters are drawn at random, without biases.
 *
 * Then what either branch makes of a frequency: rings of frequencies whose larger
 * part, u or v, is r cycles across the image, r = 1 ... 7, and for each the energy
 * that leaves a channel on the mean over the energy that enters one.  (r = 0 is
 * left out: the tokens of an image have mean 0.)  The comments say what share of
 * the energy, of r = 0 too, lies beyond half the band, r > 3.5, and the energy
 * that a channel of Lo-Fi has there over that of Hi-Fi.
 *
 * One matrix for each channel, then the rings: r, Hi-Fi, Lo-Fi. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../reference/forms.h"
#include "../reference/hilo.h"
#include "../reference/memory.h"
#include "../reference/instruments/spectrum.h"
#include "../reference/instruments/tokens.h"

enum { EDGE = 14, TOKENS = EDGE * EDGE, CHANNELS = 384, IMAGES = 100, PANELS = 8, PATCH = 2, RINGS = EDGE / 2 + 1 };

static const char *const word[] = {"--grid", "14x14", "--heads", "12", "--window", "2", "--alpha", "0.9"};

/* Tokens in, the layer's output, and the spectrum of some of their channels. */
struct scene {
    struct problem p;
    real *x, *y, *parameters;               /* [IMAGES][N][C] twice */
    real *branch, *spectrum;                /* [IMAGES][N][C], [C][N] */
};

static bool is_bias(const char *name, void *of)
{
    (void)of;
    return name[strlen(name) - 1] == 'b';
}

static status scene_create(struct scene *s, char *origin, size_t size)
{
    const struct token_source source = {.patch = PATCH};
    struct plan plan;

    /* Step 1: the layer and its parameters. */
    *s = (struct scene){0};
    status result = problem_create(&s->p, &hilo, sizeof word / sizeof *word, word);
    if (!result.code) result = problem_set_size(&s->p, "B", IMAGES);
    if (!result.code) result = problem_set_size(&s->p, "C", CHANNELS);
    if (!result.code) result = problem_shape(&s->p, is_bias, NULL);
    if (!result.code) result = problem_draw(&s->p, 1, &s->parameters);
    if (result.code) return result;
    s->x = memory_reals(IMAGES, TOKENS, CHANNELS, 1);
    s->y = memory_reals(IMAGES, TOKENS, CHANNELS, 1);
    s->branch = memory_reals(IMAGES, TOKENS, CHANNELS, 1);
    s->spectrum = memory_reals(CHANNELS, TOKENS, 1, 1);
    if (!s->x || !s->y || !s->branch || !s->spectrum) return out_of_memory("100 images");

    /* Step 2: tokens through it. */
    result = tokens_make(s->x, IMAGES, &s->p.grid, CHANNELS, &source, origin, size);
    if (!result.code) result = plan_create(&plan, &s->p, operator_form(&hilo, "fast"), 1);
    if (result.code) return result;
    result = plan_run(&plan, s->y, s->x);
    plan_release(&plan);
    return result;
}

static void scene_release(struct scene *s)
{
    memory_free(s->parameters);
    memory_free(s->x);
    memory_free(s->y);
    memory_free(s->branch);
    memory_free(s->spectrum);
}

/* branch [images][N][count] = channels first ... of y. */
static void pick(struct scene *s, const real *y, size_t first, size_t count)
{
    for (size_t i = 0; i < (size_t)IMAGES * TOKENS; i++)
        memcpy(s->branch + i * count, y + i * CHANNELS + first, count * sizeof *y);
}

/* Matrices of PANELS channels of y from `first` on. */
static status print_maps(struct scene *s, const char *name, size_t first)
{
    pick(s, s->y, first, PANELS);
    status result = spectrum(s->spectrum, s->branch, IMAGES, EDGE, EDGE, PANELS);
    for (size_t c = 0; c < PANELS && !result.code; c++) {
        printf("# %s %zu\n", name, c);
        for (size_t i = 0; i < TOKENS; i++)
            printf("%.4f%s", (double)s->spectrum[c * TOKENS + i], i % EDGE == EDGE - 1 ? "\n" : "\t");
        printf("\n\n");
    }
    return result;
}

/* The ring of an entry of the spectrum; its zero stands at EDGE/2, EDGE/2. */
static int ring_of(size_t entry)
{
    int u = abs((int)(entry / EDGE) - EDGE / 2), v = abs((int)(entry % EDGE) - EDGE / 2);
    return u > v ? u : v;
}

/* Energy of each ring in `count` channels of y from `first` on, of one channel on the mean. */
static status measure_rings(double ring[RINGS], struct scene *s, const real *y, size_t first, size_t count)
{
    status result = status_ok();

    /* Image by image: energies are to be averaged, not their logarithms. */
    for (int r = 0; r < RINGS; r++) ring[r] = 0;
    pick(s, y, first, count);
    for (size_t b = 0; b < IMAGES && !result.code; b++) {
        result = spectrum(s->spectrum, s->branch + b * TOKENS * count, 1, EDGE, EDGE, count);
        for (size_t e = 0; e < count * TOKENS && !result.code; e++)
            ring[ring_of(e % TOKENS)] += exp(2 * (double)s->spectrum[e]) / (double)(count * IMAGES);
    }
    return result;
}

/* Energy of rings beyond half the band; of all. */
static double beyond(const double ring[RINGS], bool all)
{
    double sum = 0;
    for (int r = 0; r < RINGS; r++) sum += all || 2 * r > EDGE / 2 ? ring[r] : 0;
    return sum;
}

static double percent(const double ring[RINGS])
{
    return 100 * beyond(ring, false) / beyond(ring, true);
}

static status print_all(struct scene *s)
{
    size_t hd = problem_size(&s->p, "hd");
    double in[RINGS], high[RINGS], low[RINGS];

    status result = measure_rings(in, s, s->x, 0, CHANNELS);
    if (!result.code) result = measure_rings(high, s, s->y, 0, hd);
    if (!result.code) result = measure_rings(low, s, s->y, hd, CHANNELS - hd);
    if (result.code) return result;
    printf("# percent beyond half the band in x, Hi-Fi, Lo-Fi: %.1f %.1f %.1f\n", percent(in), percent(high),
           percent(low));
    printf("# Lo-Fi's energy there over Hi-Fi's: %.2f\n", beyond(low, false) / beyond(high, false));
    result = print_maps(s, "Hi-Fi", 0);
    if (!result.code) result = print_maps(s, "Lo-Fi", hd);
    if (result.code) return result;
    printf("# rings\n");
    for (int r = 1; r < RINGS; r++) printf("%d\t%.4g\t%.4g\n", r, high[r] / in[r], low[r] / in[r]);
    return result;
}

int main(void)
{
    struct scene s;
    char origin[160] = "";
    status result = scene_create(&s, origin, sizeof origin);

    if (!result.code) {
        printf("# hilo-spectrum: 14x14 tokens, %d channels, 12 heads, s = 2; %s\n", CHANNELS, origin);
        result = print_all(&s);
    }
    if (result.code) fprintf(stderr, "hilo-spectrum: %s\n", result.message);
    scene_release(&s);
    return result.code;
}
