/* test_learned.c -- trained networks give PyTorch's logits
 *
 * tests/pytorch/train.py trained a tiny network per operator on Fashion-MNIST; weights and logits are in
 * tests/golden/learned/.  Without the data set, tests are skipped. */

#include "../support/roundoff.h"
#include "../../reference/io/images.h"
#include "../../reference/io/safetensors.h"

enum { IMAGES = 1000, BATCH = 50, FEW = 20, CLASSES = 10, PIXELS = 28 * 28 };

static const char *const operators[] = {"lisa", "structsa", "elsa", "chopd", "hilo"};

/* A network with its weights, ready to run, and PyTorch's logits and classes. */
struct trained {
    const char *name;
    struct tensors weights, answers;
    struct network network;
    const real *logits, *predictions;           /* [IMAGES][CLASSES], [10000] */
};

static void make(struct network *n, const char *operator, const struct tensors *weights, const char *form, size_t batch)
{
    char name[40];
    snprintf(name, sizeof name, "learned-%s", operator);
    const struct network_request request = {.form = form, .batch = batch, .threads = 2};
    succeeds(network_create(n, network_find(name), &request));
    succeeds(network_bind(n, weights));
    succeeds(network_place(n));
}

static void open_trained(struct trained *t, int operator)
{
    char path[96];
    t->name = operators[operator];
    for (int answers = 0; answers < 2; answers++) {
        snprintf(path, sizeof path, "tests/golden/learned/%s%s.safetensors", t->name, answers ? "-answers" : "");
        succeeds(safetensors_read(answers ? &t->answers : &t->weights, path));
    }
    make(&t->network, t->name, &t->weights, "fast", BATCH);
    const struct tensor *logits = tensors_find(&t->answers, "y_expected");
    const struct tensor *predictions = tensors_find(&t->answers, "predictions");
    ck_assert(logits && predictions);
    t->logits = logits->data;
    t->predictions = predictions->data;
}

static void close_trained(struct trained *t)
{
    network_release(&t->network);
    tensors_release(&t->weights);
    tensors_release(&t->answers);
}

static real *first_images(size_t count)
{
    struct image_set set;
    real *pixels = zeros(count * PIXELS);
    succeeds(image_set_open(&set, IMAGES_DEFAULT));
    succeeds(image_set_read(pixels, &set, 0, count));
    image_set_close(&set);
    return pixels;
}

/* Returns logits [images][CLASSES]. */
static real *classify(struct network *n, const real *pixels, size_t images)
{
    real *logits = zeros(images * CLASSES);
    for (size_t b = 0; b < images; b += n->batch)
        succeeds(network_run(n, logits + b * CLASSES, pixels + b * PIXELS, NULL));
    return logits;
}

static size_t class_of(const real *logits)
{
    size_t best = 0;
    for (size_t c = 1; c < CLASSES; c++)
        if (logits[c] > logits[best]) best = c;
    return best;
}

static double margin(const real *logits)
{
    size_t best = class_of(logits);
    double second = -INFINITY;
    for (size_t c = 0; c < CLASSES; c++)
        if (c != best) second = fmax(second, (double)logits[c]);
    return (double)logits[best] - second;
}

/* Tolerance: roundoff.h's bounds with the network's T and kappa, 2 kappa T u and (2 + 2/sqrt(m)) kappa sqrt(T) u.  A
 * class may differ only if PyTorch's two largest logits are nearer than twice the former times the largest logit, as in
 * fewer than 2 % of images. */
TESTS(trained_networks_equal_pytorch, COUNT(operators))
{
    struct trained t;
    if (!images_there("trained networks")) return;
    open_trained(&t, _i);
    struct network few;                         /* for kappa */
    const real *images = first_images(IMAGES);
    make(&few, t.name, &t.weights, "fast", FEW);
    double kappa = network_sensitivity(&few, images, classify(&few, images, FEW));
    double T = network_terms(&t.network), safe = 2 * kappa * T * UNIT_ROUNDOFF;
    double statistical = chance(IMAGES * CLASSES) * kappa * sqrt(T) * UNIT_ROUNDOFF;
    real *logits = classify(&t.network, images, IMAGES);
    network_release(&few);
    printf("%s: kappa %.1f, T %.0f\n", t.name, kappa, T);
    alike(t.name, logits, t.logits, IMAGES * CLASSES, safe, statistical);

    double near = 2 * safe * largest(t.logits, IMAGES * CLASSES);
    size_t differ = 0, next = 0, ties = 0;
    for (size_t b = 0; b < IMAGES; b++) {
        size_t class = class_of(logits + b * CLASSES);
        bool tie = margin(t.logits + b * CLASSES) <= near;
        ck_assert_uint_eq((size_t)t.predictions[b], class_of(t.logits + b * CLASSES));
        ties += tie;
        differ += !tie && (real)class != t.predictions[b];
        next += (real)class != t.predictions[b + 1];
    }
    printf("    %zu images with two classes nearer than %.2g\n", ties, near);
    ck_assert_msg(differ == 0, "%s: %zu classes differ", t.name, differ);
    ck_assert_msg(next > IMAGES / 2, "%s: %zu classes differ from the next image's", t.name, next);
    ck_assert_msg(ties < IMAGES / 50, "%s: %zu images have two classes nearer than the tolerance", t.name, ties);

    if (strcmp(t.name, "chopd") != 0) {
        struct network naive;
        make(&naive, t.name, &t.weights, "naive", 2);
        double terms = network_terms(&naive);
        alike("    naive", classify(&naive, images, 2), t.logits, 2 * CLASSES, 2 * kappa * terms * UNIT_ROUNDOFF,
              chance(2 * CLASSES) * kappa * sqrt(terms) * UNIT_ROUNDOFF);
        network_release(&naive);
    }
    close_trained(&t);
}

int main(void) { return run_tests("learned"); }
