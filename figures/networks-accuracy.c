/* networks-accuracy.c -- how many pictures of the test set the trained networks know
 *
 *     build/figures/networks-accuracy [PICTURES]      (10000)
 *
 * The five networks of reference/networks/learned.c by the fast forms, on the test set
 * of Fashion-MNIST.  One row a network: its parameters, those of its mixers, multiply-adds of a
 * picture; how many of the pictures get their right class here, and from PyTorch
 * (tests/pytorch/train.py); for how many the two classes differ.  Without the data
 * set no picture is classified. */

#include <stdlib.h>
#include <zlib.h>
#include "learned.h"

enum { BATCH = 100, CLASSES = 10, LABELS_BEGIN = 8 };

static const char *const operators[] = {"lisa", "structsa", "elsa", "chopd", "hilo"};

/* The right classes, from the file of labels beside that of the images. */
static status read_labels(unsigned char *labels, size_t count)
{
    char path[] = IMAGES_DEFAULT, *name = strstr(path, "images-idx3");
    memcpy(name, "labels-idx1", strlen("labels-idx1"));
    gzFile file = gzopen(path, "rb");
    bool whole = file && gzseek(file, LABELS_BEGIN, SEEK_SET) >= 0
        && gzread(file, labels, (unsigned)count) == (int)count;
    if (file) gzclose(file);
    return whole ? status_ok() : bad_input("%s: expected %zu labels", path, count);
}

static size_t class_of(const real *logits)
{
    size_t best = 0;
    for (size_t c = 1; c < CLASSES; c++)
        if (logits[c] > logits[best]) best = c;
    return best;
}

/* One row: so many pictures, a batch at a time. */
static status count(const char *operator, struct image_set *set, const unsigned char *label, size_t pictures)
{
    static real pixels[BATCH * TOKENS], logits[BATCH * CLASSES];
    size_t right = 0, told_right = 0, differ = 0, mixers = 0;
    char path[80];
    struct tensors answers = {0};
    struct learned l;
    status s = learned_open(&l, operator, BATCH, true);
    if (s.code) return s;
    snprintf(path, sizeof path, LEARNED_WEIGHTS "%s-answers.safetensors", operator);
    s = safetensors_read(&answers, path);
    const struct tensor *told = tensors_find(&answers, "predictions");
    if (!s.code && (!told || told->count < pictures)) s = bad_input("%s: expected %zu predictions", path, pictures);
    for (size_t b = 0; b < pictures && !s.code; b += BATCH) {
        s = image_set_read(pixels, set, b, BATCH);
        if (!s.code) s = network_run(&l.network, logits, pixels, NULL);
        for (size_t i = 0; i < BATCH && !s.code; i++) {
            size_t class = class_of(logits + i * CLASSES), by_pytorch = (size_t)told->data[b + i];
            right += class == label[b + i];
            told_right += by_pytorch == label[b + i];
            differ += class != by_pytorch;
        }
    }
    for (size_t p = 0; p < l.network.parts; p++)
        if (!strcmp(l.network.part[p].step->name, "mixer")) mixers += problem_parameters(&l.network.part[p].problem);
    if (!s.code)
        printf("%s\t%zu\t%zu\t%.0f\t%zu\t%zu\t%zu\n", l.network.table->name, network_parameters(&l.network), mixers,
               network_multiply_adds(&l.network) / BATCH, right, told_right, differ);
    tensors_release(&answers);
    learned_close(&l);
    return s;
}

int main(int words, char **word)
{
    static unsigned char label[10000];
    struct image_set set = {0};
    long pictures = words > 1 ? strtol(word[1], NULL, 10) : (long)sizeof label;
    status s = status_ok();
    if (pictures < BATCH || pictures > (long)sizeof label || pictures % BATCH)
        s = bad_input("found %ld pictures, expected hundreds up to %zu", pictures, sizeof label);
    if (!s.code && image_set_open(&set, IMAGES_DEFAULT).code) {
        printf("# no data set at %s, and 0 pictures\n0\n", IMAGES_DEFAULT);
        return 0;
    }
    if (!s.code) s = read_labels(label, (size_t)pictures);
    if (!s.code) printf("# pictures: %ld\n", pictures);
    if (!s.code) printf("#network\tparameters\tmixers\tmultiply_adds\tright\tpytorch\tdiffer\n");
    for (size_t n = 0; n < sizeof operators / sizeof *operators && !s.code; n++)
        s = count(operators[n], &set, label, (size_t)pictures);
    image_set_close(&set);
    if (s.code) fprintf(stderr, "networks-accuracy: %s\n", s.message);
    return s.code;
}
