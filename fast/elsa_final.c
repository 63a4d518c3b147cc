/* elsa_final.c -- the logits of ELSA's final variant
 *
 *     g_io = GELU(sum_cn conv_w_ocn z_{i+n,8 floor(o/8)+c} + conv_b_o),   l = mix_w g + mix_b
 *
 * The group convolution on planes: four of a group's eight outputs and up to
 * four vectors of tokens at a time, so that a shifted vector of z meets four
 * filters while it is in a register.  Borders as in fast/elsa.c.  The map to
 * the logits is one matrix product, whose result is planes by itself; mix_b is
 * added where the softmax is taken. */

#include "../reference/linear.h"
#include "../reference/memory.h"
#include "elsa_fast.h"
#include "gelu.h"

#define OUTPUTS 4               /* of a group, at a time */

status elsa_final_create(struct elsa_fast *f, const struct problem *p, size_t pad)
{
    (void)p;
    f->convolved = memory_reals(f->sizes.Q, f->sizes.N, 1, 1);
    if (!f->convolved) return out_of_memory("the convolved products");
    return planes_create(&f->products, f->sizes.Q, f->rows, f->columns, pad);
}

void elsa_final_release(struct elsa_fast *f)
{
    memory_free(f->convolved);
    planes_release(&f->products);
}

/* OUTPUTS outputs from o on, `vectors` vectors of tokens: constants where this
 * is called. */
static inline __attribute__((always_inline))
void convolve(lanes out[OUTPUTS][ELSA_CHUNK], const struct elsa_fast *f, const real *conv_w,
              const struct elsa_reached *reached, size_t count, size_t o, size_t row, size_t x, size_t vectors)
{
    size_t entries = f->sizes.entries;
    lanes sum[OUTPUTS][ELSA_CHUNK];

    for (size_t k = 0; k < OUTPUTS; k++)
        for (size_t v = 0; v < vectors; v++) sum[k][v] = (lanes){0};
    for (size_t c = 0; c < 8; c++) {
        const real *z = planes_row(&f->products, o / 8 * 8 + c, row) + x, *weight = conv_w + (o * 8 + c) * entries;
        for (size_t r = 0; r < count; r++)
            for (size_t v = 0; v < vectors; v++) {
                lanes shifted = lanes_load_anywhere(z + reached[r].offset + v * LANES);
                for (size_t k = 0; k < OUTPUTS; k++) sum[k][v] += weight[k * 8 * entries + reached[r].n] * shifted;
            }
    }
    for (size_t k = 0; k < OUTPUTS; k++)
        for (size_t v = 0; v < vectors; v++) out[k][v] = sum[k][v];
}

/* All outputs of one chunk of a row. */
static void chunk(const struct elsa_fast *f, const real *conv_w, const real *conv_b, size_t row, size_t x,
                  struct elsa_reached *reached)
{
    size_t left = f->columns - x, tokens = left < ELSA_CHUNK * LANES ? left : ELSA_CHUNK * LANES;
    size_t count = elsa_reach(reached, f, &f->products, row);

    for (size_t o = 0; o < f->sizes.Q; o += OUTPUTS) {
        lanes out[OUTPUTS][ELSA_CHUNK];
        switch ((tokens - 1) / LANES + 1) {
        case 4: convolve(out, f, conv_w, reached, count, o, row, x, 4); break;
        case 3: convolve(out, f, conv_w, reached, count, o, row, x, 3); break;
        case 2: convolve(out, f, conv_w, reached, count, o, row, x, 2); break;
        default: convolve(out, f, conv_w, reached, count, o, row, x, 1); break;
        }
        for (size_t k = 0; k < OUTPUTS; k++) {
            real *to = f->convolved + (o + k) * f->sizes.N + row * f->columns + x;
            for (size_t t = 0; t < tokens; t += LANES) {
                lanes g = gelu_lanes(out[k][t / LANES] + conv_b[o + k]);
                if (t + LANES <= tokens) lanes_store_anywhere(to + t, g);
                else lanes_store_part(to + t, g, tokens - t);
            }
        }
    }
}

void elsa_final_logits(const struct elsa_fast *f, const struct plan *plan)
{
    const struct problem *p = plan->problem;
    const real *conv_w = problem_tensor(p, "conv_w"), *conv_b = problem_tensor(p, "conv_b");
    size_t chunks = (f->columns - 1) / (ELSA_CHUNK * LANES) + 1;

    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t row = 0; row < f->rows; row++)
        planes_fill(&f->products, row, f->own + row * f->columns * f->sizes.Q, f->sizes.Q);
    #pragma omp parallel for schedule(static) num_threads(plan->threads)
    for (size_t item = 0; item < f->rows * chunks; item++)
        chunk(f, conv_w, conv_b, item / chunks, item % chunks * ELSA_CHUNK * LANES, (struct elsa_reached *)elsa_workspace(f));
    linear_product(f->logits, f->sizes.N, problem_tensor(p, "mix_w"), f->sizes.Q, f->convolved,
                   f->sizes.h * f->sizes.entries, f->sizes.Q, f->sizes.N);
}
