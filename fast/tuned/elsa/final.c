/* final.c -- the logits of ELSA's final variant
 *
 *     g_io = GELU(sum_cn conv_w_ocn z_{i+n, g floor(o/g)+c} + conv_b_o),   l = mix_w g + mix_b
 *
 * The group convolution on planes computes four outputs of a group and up to four vectors of tokens at a time, so that
 * four filters use each loaded vector of z.  If g is no multiple of 4, it computes one output at a time.  Borders are
 * handled as in elsa.c.  The map to the logits is one matrix product; the softmax adds mix_b. */

#include "elsa.h"
#include "../gelu.h"

#define OUTPUTS ((size_t)4)     /* of a group, computed together */

void elsa_final_prepare(struct elsa_fast *f, struct arena *arena, const struct elsa_problem *p)
{
    const size_t *size = p->grid.size;
    planes_prepare(&f->products, arena, "the products as planes", p->heads.Q, size[0], size[1], elsa_widest(p));
    arena_reals(arena, PER_THREAD, &f->convolved, "the convolved products", p->heads.Q, f->plane);
}

/* `outputs` outputs of a group, from o on, for `vectors` vectors of tokens.  Callers pass constants for both. */
INLINED
void convolve(vec out[OUTPUTS][ELSA_CHUNK], const struct elsa_chunk *here, size_t o, size_t outputs, size_t vectors)
{
    const struct elsa_problem *p = here->p;
    size_t g = p->g, entries = p->entries, kernels = g * entries;
    ptrdiff_t stride = (ptrdiff_t)here->f->products.stride;
    vec sum[OUTPUTS][ELSA_CHUNK];

    for (size_t b = 0; b < outputs; b++)
        for (size_t v = 0; v < vectors; v++) sum[b][v] = (vec){0};
    for (size_t c = 0; c < g; c++) {
        const real *z = planes_row(&here->f->products, o / g * g + c, here->row) + here->x;
        const real *weight = p->conv_w + (o * g + c) * entries;
        for (size_t ky = here->down.first; ky < here->down.end; ky++)
            for (size_t kx = here->across.first; kx < here->across.end; kx++) {
                const real *there = z + elsa_step(p, ky) * stride + elsa_step(p, kx);
                for (size_t v = 0; v < vectors; v++) {
                    vec shifted = vec_loadu(there + v * LANES);
                    for (size_t b = 0; b < outputs; b++)
                        sum[b][v] += weight[b * kernels + ky * p->K + kx] * shifted;
                }
            }
    }
    for (size_t b = 0; b < outputs; b++)
        for (size_t v = 0; v < vectors; v++) out[b][v] = sum[b][v];
}

INLINED
void convolve_some(vec out[OUTPUTS][ELSA_CHUNK], const struct elsa_chunk *here, size_t o, size_t outputs)
{
    switch (here->vectors) {
    case 4: convolve(out, here, o, outputs, 4); break;
    case 3: convolve(out, here, o, outputs, 3); break;
    case 2: convolve(out, here, o, outputs, 2); break;
    default: convolve(out, here, o, outputs, 1); break;
    }
}

/* All outputs of one chunk of a row, into planes `plane` reals apart. */
static void chunk(real *planes, size_t plane, const struct elsa_chunk *here)
{
    size_t outputs = here->p->g % OUTPUTS ? 1 : OUTPUTS;

    for (size_t o = 0; o < here->p->heads.Q; o += outputs) {
        vec out[OUTPUTS][ELSA_CHUNK];
        if (outputs == OUTPUTS) convolve_some(out, here, o, OUTPUTS);
        else convolve_some(out, here, o, 1);
        for (size_t b = 0; b < outputs; b++) {
            real *to = planes + (o + b) * plane;
            for (size_t t = 0; t < here->tokens; t += LANES) {
                vec g = gelu_vec(out[b][t / LANES] + here->p->conv_b[o + b]);
                if (t + LANES <= here->tokens) vec_storeu(to + t, g);
                else vec_store_partial(to + t, g, here->tokens - t);
            }
        }
    }
}

void elsa_final_logits(const struct team *t, size_t strip)
{
    const struct elsa_problem *p = t->plan->params;
    const struct elsa_fast *f = t->plan->state;
    size_t H = p->grid.size[0], W = p->grid.size[1], Q = p->heads.Q, chunks = elsa_chunks(p);
    size_t from = strip * f->strip, to = from + f->strip < H ? from + f->strip : H, tokens = (to - from) * W;
    real *convolved = arena_thread(&t->plan->arena, f->convolved, t->thread);

    for (size_t item = from * chunks; item < to * chunks; item++) {
        struct elsa_chunk here = elsa_chunk_at(t, item);
        chunk(convolved + (here.row - from) * W + here.x, tokens, &here);
    }
    linear_product(f->logits + elsa_strip_at(t, strip), f->plane, f->maps, Q, convolved, f->halves, Q, tokens);
}
