/* compare.c -- the command that compares two files of tensors
 *
 * Both files are read in pieces, as doubles.  So their sizes may exceed the memory, and the precision of this program
 * does not matter.  The array of a .npy file has no name: it is y in A, and in B the only tensor of A. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../runtime/lookup.h"
#include "../runtime/memory.h"
#include "command.h"

#define PIECE ((size_t)4096)            /* numbers at a time */

/* A sum of squares that cannot overflow or underflow: largest^2 * squares. */
struct norm {
    double largest, squares;
};

static void norm_add(struct norm *n, double value)
{
    double size = fabs(value);
    if (isnan(size) || isinf(size)) n->largest = NAN;
    if (size > n->largest) {
        n->squares = 1 + n->squares * (n->largest / size) * (n->largest / size);
        n->largest = size;
    } else if (size > 0) {
        n->squares += (size / n->largest) * (size / n->largest);
    }
}

static double norm_mean(const struct norm *n, size_t count)
{
    return n->largest * sqrt(n->squares / (double)count);
}

/* a / b, and 0 if both are 0. */
static double relative(double a, double b)
{
    return a == 0 && b == 0 ? 0 : a / b;
}

/* The difference of a tensor in A and in B; NaN if an entry is not finite. */
struct difference {
    double largest, rms, rms_b;         /* rms_b: of the tensor in B */
};

static status differences(struct difference *d, struct safetensors *a, size_t in_a, struct safetensors *b, size_t in_b)
{
    double x[PIECE], y[PIECE];
    struct norm apart = {0}, whole = {0};
    size_t count = a->tensors.tensor[in_a].count;
    for (size_t done = 0, n; done < count; done += n) {
        n = count - done < PIECE ? count - done : PIECE;
        status s = safetensors_doubles(x, a, in_a, done, n);
        if (!s.code) s = safetensors_doubles(y, b, in_b, done, n);
        if (s.code) return s;
        for (size_t i = 0; i < n; i++) {
            norm_add(&apart, x[i] - y[i]);
            norm_add(&whole, y[i]);
        }
    }
    *d = (struct difference){apart.largest, norm_mean(&apart, count), norm_mean(&whole, count)};
    return status_ok();
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct tensor *const *)a)->name, (*(const struct tensor *const *)b)->name);
}

static const struct tensor **sorted(const struct safetensors *file)
{
    size_t count = file->tensors.count;
    const struct tensor **tensors = memory_get(count, sizeof *tensors);
    if (!tensors) return NULL;
    for (size_t t = 0; t < count; t++) tensors[t] = &file->tensors.tensor[t];
    qsort(tensors, count, sizeof *tensors, by_name);
    return tensors;
}

/* Bad input if the files do not have the same tensors in the same shapes. */
static status check_pairs(const struct tensor *const *a, size_t in_a, const struct tensor *const *b, size_t in_b)
{
    char found[120], expected[120];
    if (!in_a) return bad_input("A holds no tensor, expected some");
    for (size_t t = 0; t < in_a || t < in_b; t++) {
        int order = t >= in_a ? 1 : t >= in_b ? -1 : strcmp(a[t]->name, b[t]->name);
        if (order > 0) return bad_input("tensor %.60s: in B and not in A", b[t]->name);
        if (order < 0) return bad_input("tensor %.60s: in A and not in B", a[t]->name);
        const struct tensor *x = a[t], *y = b[t];
        if (x->axes != y->axes || memcmp(x->size, y->size, (size_t)x->axes * sizeof *x->size))
            return bad_input("tensor %.60s: found %.60s in A, expected %.60s as in B", x->name,
                             shape_text(found, sizeof found, x->axes, x->size),
                             shape_text(expected, sizeof expected, y->axes, y->size));
    }
    return status_ok();
}

static status compare_pairs(struct safetensors *a, const struct tensor *const *sorted_a, struct safetensors *b,
                            const struct tensor *const *sorted_b, const struct call *c)
{
    bool given = problem_given(&c->options, "tolerance");
    double absolute = problem_given(&c->options, "floor") ? problem_number(&c->options, "floor") : 0;
    int beyond = 0;
    status s = status_ok();
    printf("%-16s %12s %12s %12s\n", "tensor", "largest", "rms", "allowed");
    for (size_t t = 0; t < a->tensors.count; t++) {
        size_t at_a = (size_t)(sorted_a[t] - a->tensors.tensor), at_b = (size_t)(sorted_b[t] - b->tensors.tensor);
        char name[80];
        snprintf(name, sizeof name, "%s", sorted_a[t]->name);
        status_one_line(name);
        bool exact = safetensors_width(a, at_a) == 8 && safetensors_width(b, at_b) == 8;
        double usual = exact ? 1e-10 : 1e-4, allowed = given ? problem_number(&c->options, "tolerance") : usual;
        struct difference d;
        if ((s = differences(&d, a, at_a, b, at_b)).code) return s;
        double largest = relative(d.largest, d.rms_b);
        bool within = largest <= allowed, below = d.largest <= absolute;
        beyond += !within && !below;
        printf("%-16s %12.3g %12.3g %12.3g%s", name, largest, relative(d.rms, d.rms_b), allowed,
               within ? "" : below ? "  below the floor" : "  beyond");
        if (!within && !below && d.rms_b < usual) printf("; B is %.2g: if its terms cancel, allow a --floor", d.rms_b);
        printf("\n");
    }
    return beyond ? failure("%d of %zu tensors %s further apart than allowed", beyond, a->tensors.count,
                            beyond == 1 ? "is" : "are") : s;
}

static status compare_files(struct safetensors *a, struct safetensors *b, const struct call *c)
{
    const struct tensor **sorted_a = sorted(a), **sorted_b = sorted(b);
    status s = out_of_memory("the names of tensors");
    if (sorted_a && sorted_b) {
        s = check_pairs(sorted_a, a->tensors.count, sorted_b, b->tensors.count);
        if (!s.code) s = compare_pairs(a, sorted_a, b, sorted_b, c);
    }
    memory_free(sorted_a);
    memory_free(sorted_b);
    return s;
}

static status compare(const struct call *c)
{
    struct safetensors a, b;
    struct tensor_request r = {.name = "y"};
    status s = status_at(tensor_file_open(&a, c->input[0], &r), "A");
    if (s.code) return s;
    if (a.tensors.count == 1) r.name = a.tensors.tensor[0].name;
    s = status_at(tensor_file_open(&b, c->input[1], &r), "B");
    if (!s.code) {
        s = compare_files(&a, &b, c);
        safetensors_close(&b);
    }
    safetensors_close(&a);
    return s;
}

static const struct option options[] = {
    {.name = "tolerance", .kind = OPTION_REAL, .default_value = "", .low = 0, .high = 1e300, .value = "T",
     .meaning = "the largest difference allowed (1e-4 if either is F32, else 1e-10)"},
    {.name = "floor", .kind = OPTION_REAL, .default_value = "", .low = 0, .high = 1e300, .value = "VALUE",
     .meaning = "also allow differences up to VALUE, not relative to B (0)"},
    {0}
};

const struct command compare_command = {
    .declaration = {.name = "compare", .summary = "compare the tensors of two files", .options = options},
    .what = "Both files must have the same tensors in the same shapes. Prints the largest difference and the root\n"
            "mean square of all differences, over the root mean square of B. Exit status: 0 if all tensors are within\n"
            "the tolerance, 1 if one is not, 2 if the files cannot be compared. Infinities and NaN are beyond.\n"
            "If the terms of B cancel, B is rounding error and the relative difference means nothing. If a tensor is\n"
            "beyond and the root mean square of B is below 1e-4 (1e-10 in F64), its line suggests a --floor.",
    .inputs = {"A.safetensors", "B.safetensors"},
    .run = compare,
};
