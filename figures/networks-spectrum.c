/* networks-spectrum.c -- which frequencies Hi-Fi and Lo-Fi let through in a trained network, and with random weights
 *
 *     build/figures/networks-spectrum
 *
 * As HiLo's Fig. 5, 8 and 9, of the second block of the tiny network that
 * tests/pytorch/train.py trains (learned.h): the logarithms of the magnitudes of the
 * Fourier transform (spectrum.h), averaged over 100 images of the test set, of six channels
 * of Hi-Fi and of Lo-Fi.  Then rings of frequencies whose larger part is r cycles across
 * the image, r = 0 ... 7: the share of a branch's energy in each, in percent.
 *
 * The comments say what share lies beyond half the band, r > 3.5, of what enters, of
 * Hi-Fi and of Lo-Fi.  One matrix for each channel, then the rings: r, what enters,
 * Hi-Fi, Lo-Fi. */

#include <stdlib.h>
#include "../reference/instruments/spectrum.h"
#include "learned.h"

enum { IMAGES = 100, HALF = C / 2, PANELS = 6, RINGS = SIDE / 2 + 1 };

static real pixels[IMAGES * TOKENS], y[IMAGES * N * C], branch[IMAGES * N * C], maps[C * N];

/* branch [IMAGES][N][count] = channels first ... of a. */
static void pick(const real *a, size_t first, size_t count)
{
    for (size_t i = 0; i < (size_t)IMAGES * N; i++) memcpy(branch + i * count, a + i * C + first, count * sizeof *a);
}

static status print_maps(const char *name, size_t first)
{
    pick(y, first, PANELS);
    status s = spectrum(maps, branch, IMAGES, SIDE, SIDE, PANELS);
    for (size_t c = 0; c < PANELS && !s.code; c++) {
        char title[40];
        snprintf(title, sizeof title, "%s %zu", name, c);
        learned_print(title, maps + c * N, SIDE, SIDE, 0);
    }
    return s;
}

/* Percent of the energy in each ring, of `count` channels of a from `first` on. */
static status measure_rings(double ring[RINGS], const real *a, size_t first, size_t count)
{
    status s = status_ok();
    double all = 0;

    /* Image by image: energies are to be averaged, not their logarithms. */
    for (int r = 0; r < RINGS; r++) ring[r] = 0;
    pick(a, first, count);
    for (size_t b = 0; b < IMAGES && !s.code; b++) {
        s = spectrum(maps, branch + b * N * count, 1, SIDE, SIDE, count);
        for (size_t e = 0; e < count * N && !s.code; e++) {
            int u = abs((int)(e % N / SIDE) - SIDE / 2), v = abs((int)(e % SIDE) - SIDE / 2);
            ring[u > v ? u : v] += exp(2 * (double)maps[e]);
        }
    }
    for (int r = 0; r < RINGS; r++) all += ring[r];
    for (int r = 0; r < RINGS; r++) ring[r] *= 100 / all;
    return s;
}

static double beyond(const double ring[RINGS])
{
    double sum = 0;
    for (int r = 0; r < RINGS; r++) sum += 2 * r > SIDE / 2 ? ring[r] : 0;
    return sum;
}

static status draw(const char *kind, struct learned *l)
{
    double in[RINGS], high[RINGS], low[RINGS];
    char name[40];
    status s = learned_meet(l, pixels);
    if (!s.code) s = plan_run(&l->mixer->plan, y, l->met);
    if (!s.code) s = measure_rings(in, l->met, 0, C);
    if (!s.code) s = measure_rings(high, y, 0, HALF);
    if (!s.code) s = measure_rings(low, y, HALF, HALF);
    if (s.code) return s;
    printf("# percent beyond half the band in x, Hi-Fi, Lo-Fi, %s: %.1f %.1f %.1f\n", kind, beyond(in), beyond(high),
           beyond(low));
    snprintf(name, sizeof name, "%s Hi-Fi", kind);
    s = print_maps(name, 0);
    snprintf(name, sizeof name, "%s Lo-Fi", kind);
    if (!s.code) s = print_maps(name, HALF);
    printf("# %s rings\n", kind);
    for (int r = 0; r < RINGS; r++) printf("%d\t%.4g\t%.4g\t%.4g\n", r, in[r], high[r], low[r]);
    printf("\n\n");
    return s;
}

/* The first images of the data set; without it, discs. */
static status pictures(const char **origin)
{
    struct image_set set;
    if (image_set_open(&set, IMAGES_DEFAULT).code) {
        for (size_t b = 0; b < IMAGES; b++) {
            status s = picture(pixels + b * TOKENS, b, origin);
            if (s.code) return s;
        }
        return status_ok();
    }
    *origin = "Fashion-MNIST (test)";
    status s = set.rows == EDGE && set.columns == EDGE ? image_set_read(pixels, &set, 0, IMAGES)
                                                       : bad_input("found images of %zu x %zu", set.rows, set.columns);
    image_set_close(&set);
    return s;
}

int main(void)
{
    const char *origin = "";
    status s = pictures(&origin);
    if (!s.code) printf("# networks-spectrum: the second block of a tiny network, %d images of %s\n", IMAGES, origin);
    for (int trained = 0; trained < 2 && !s.code; trained++) {
        struct learned l;
        s = learned_open(&l, "hilo", IMAGES, trained);
        if (s.code) break;
        s = draw(trained ? "trained" : "random", &l);
        learned_close(&l);
    }
    if (s.code) fprintf(stderr, "networks-spectrum: %s\n", s.message);
    return s.code;
}
