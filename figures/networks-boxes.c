/* networks-boxes.c -- ChoP'D's boxes before training and after
 *
 *     build/figures/networks-boxes
 *
 * Of the second block of the tiny network that tests/pytorch/train.py trains: the four
 * boxes of each of 32 components, and their weights in its sum, the paper's E.
 *
 * One row a box: component, box, the edges y0 x0 y1 x1 before, the same after, the
 * weight after over the largest of its component.  The comments say how boxes have
 * changed: the mean distance of an edge from where it began, and medians of the longer
 * side, in tokens. */

#include <stdlib.h>
#include "learned.h"

enum { R = 32, G = 4, BOXES = R * G };

static int by_value(const void *a, const void *b)
{
    real x = *(const real *)a, y = *(const real *)b;
    return (x > y) - (x < y);
}

/* The median of the boxes' longer sides. */
static double longer_side(const real *boxes)
{
    real side[BOXES];
    for (size_t k = 0; k < BOXES; k++) {
        real tall = boxes[4 * k + 2] - boxes[4 * k], wide = boxes[4 * k + 3] - boxes[4 * k + 1];
        side[k] = tall > wide ? tall : wide;
    }
    qsort(side, BOXES, sizeof *side, by_value);
    return ((double)side[BOXES / 2 - 1] + (double)side[BOXES / 2]) / 2;
}

static void print_boxes(const real *before, const real *after, const real *mix)
{
    double moved = 0;
    for (size_t e = 0; e < BOXES * 4; e++) moved += fabs((double)after[e] - (double)before[e]) / (BOXES * 4);
    printf("# networks-boxes: %d components of %d boxes, the second block of a tiny network\n", R, G);
    printf("# mean distance of an edge from where it began: %.2f\n", moved);
    printf("# median of the longer sides, before and after: %.2f %.2f\n", longer_side(before), longer_side(after));
    printf("#component\tbox\ty0\tx0\ty1\tx1\tY0\tX0\tY1\tX1\tweight\n");
    for (size_t k = 0; k < BOXES; k++) {
        printf("%zu\t%zu", k / G, k % G);
        for (size_t e = 0; e < 4; e++) printf("\t%.3f", (double)before[4 * k + e]);
        for (size_t e = 0; e < 4; e++) printf("\t%.3f", (double)after[4 * k + e]);
        printf("\t%.3f\n", (double)mix[k] / learned_largest(mix + k / G * G, G));
    }
}

int main(void)
{
    struct tensors before = {0};
    struct learned l;
    status s = learned_open(&l, "chopd", 1, true);
    if (!s.code) {
        s = safetensors_read(&before, LEARNED_WEIGHTS "chopd-answers.safetensors");
        const struct tensor *start = tensors_find(&before, "start.boxes");
        if (!s.code && (!start || start->count != BOXES * 4))
            s = bad_input("tensor start.boxes: expected [%d, %d, 4]", R, G);
        if (!s.code) print_boxes(start->data, learned_tensor(&l, "boxes"), learned_tensor(&l, "mix"));
        tensors_release(&before);
        learned_close(&l);
    }
    if (s.code) fprintf(stderr, "networks-boxes: %s\n", s.message);
    return s.code;
}
