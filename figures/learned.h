/* learned.h -- a tiny trained network, or the same with random weights, up to the mixer
 * of its second block; and what the programs that draw one picture by both share
 *
 * The networks are those of reference/networks/learned.c.  Their trained weights are in
 * tests/golden/learned/; random ones are drawn as network_draw draws. */

#ifndef TWICETOLD_LEARNED_H
#define TWICETOLD_LEARNED_H

#include <stdio.h>
#include <string.h>
#include "../reference/forms.h"
#include "../reference/instruments/safetensors.h"
#include "../reference/networks/network.h"
#include "picture.h"

enum { SIDE = EDGE / 2, N = SIDE * SIDE, C = 32, SEED = 1 };

#define LEARNED_WEIGHTS "tests/golden/learned/"

struct learned {
    struct network network;
    struct tensors file;        /* the weights; empty where they are random */
    struct part *mixer;
    real *scratch;              /* [images][N][C] */
    const real *met;            /* [images][N][C]: what meets the mixer, from learned_meet on */
};

static inline void learned_close(struct learned *l)
{
    network_release(&l->network);
    tensors_release(&l->file);
    memory_free(l->scratch);
    *l = (struct learned){0};
}

/* After an error there is nothing to close. */
static inline status learned_open(struct learned *l, const char *operator, size_t images, bool trained)
{
    char name[40], path[80];
    const struct network_table *table;
    const struct network_request request = {.batch = images, .threads = 2};
    snprintf(name, sizeof name, "learned-%s", operator);
    snprintf(path, sizeof path, LEARNED_WEIGHTS "%s.safetensors", operator);
    *l = (struct learned){0};
    status s = network_named(&table, name);
    if (!s.code) s = network_create(&l->network, table, &request);
    if (!s.code && trained) s = status_at(safetensors_read(&l->file, path), path);
    if (!s.code) s = trained ? network_bind(&l->network, &l->file) : network_draw(&l->network, SEED);
    if (!s.code) s = network_place(&l->network);
    for (size_t p = 0; !s.code && p < l->network.parts; p++)
        if (!strcmp(l->network.part[p].path, "stage1.block2.mixer")) l->mixer = &l->network.part[p];
    l->scratch = memory_reals(images, N, C, 1);
    if (!s.code && !l->scratch) s = out_of_memory("activations");
    if (s.code) learned_close(l);
    return s;
}

/* What meets the mixer for these pixels [images][TOKENS]: the network is run no farther. */
static inline status learned_meet(struct learned *l, const real *pixels)
{
    size_t parts = l->network.parts;
    l->network.parts = (size_t)(l->mixer - l->network.part);
    status s = network_run(&l->network, l->scratch, pixels, NULL);
    l->network.parts = parts;
    l->met = l->network.h;
    return s;
}

/* A parameter of the mixer. */
static inline const real *learned_tensor(const struct learned *l, const char *name)
{
    return l->mixer->problem.tensor[problem_row(&l->mixer->problem, name)].data;
}

/* A matrix in a table, each over `most`, or as it is where that is 0. */
static inline void learned_print(const char *name, const real *a, size_t rows, size_t columns, double most)
{
    printf("# %s\n", name);
    for (size_t i = 0; i < rows * columns; i++)
        printf("%.4f%c", (double)a[i] / (most > 0 ? most : 1), (i + 1) % columns ? '\t' : '\n');
    printf("\n\n");
}

/* A picture, and places on the grid of tokens at which it is looked at. */
struct learned_view {
    const char *program, *operator;
    size_t number;              /* of the picture in the test set */
    const char *called;         /* what the places are: "queries" */
    int places;
    const size_t (*place)[2];   /* row, column */
};

/* What a program prints of one network. */
typedef status learned_drawing(const char *kind, struct learned *l);

/* The picture and the places; then the drawing of the network with random weights and with trained ones.
 * Returns the exit status. */
static inline int learned_compare(const struct learned_view *view, learned_drawing *draw)
{
    static const char *const kinds[] = {"random", "trained"};
    static real pixels[TOKENS];
    const char *origin = "";
    status s = picture(pixels, view->number, &origin);
    if (!s.code) {
        printf("# %s: the second block of a tiny network, image %zu of %s\n", view->program, view->number, origin);
        printf("# %s (row, column):", view->called);
        for (int p = 0; p < view->places; p++) printf(" %zu %zu", view->place[p][0], view->place[p][1]);
        printf("\n");
        learned_print("image", pixels, EDGE, EDGE, 0);
    }
    struct learned l;
    for (int trained = 0; trained < 2 && !s.code; trained++) {
        s = learned_open(&l, view->operator, 1, trained);
        if (s.code) break;
        s = learned_meet(&l, pixels);
        if (!s.code) s = draw(kinds[trained], &l);
        learned_close(&l);
    }
    if (s.code) fprintf(stderr, "%s: %s\n", view->program, s.message);
    return s.code;
}

static inline double learned_largest(const real *a, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++) most = fmax(most, fabs((double)a[i]));
    return most;
}

#endif
