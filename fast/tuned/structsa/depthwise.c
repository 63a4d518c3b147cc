/* depthwise.c -- D depth-wise convolutions; see depthwise.h */

#include "depthwise.h"
#include "../vec.h"
#include "../packed_linear.h"

#define TOGETHER 8              /* filters whose sums are in registers */

void depthwise_prepare(struct depthwise *w, struct arena *arena, const struct neighbours *around,
                       const struct structsa_problem *p)
{
    size_t blocks = p->columns == 1 ? 1 : (p->heads.c - 1) / LANES + 1;

    *w = (struct depthwise){
        .around = around, .channels = p->heads.c, .filters = p->D, .columns = p->columns, .sets = p->sets,
        .set_step = blocks * around->entries * p->D * LANES,
        .block_step = p->columns == 1 ? 0 : around->entries * p->D * LANES,
    };
    arena_reals(arena, PERSISTENT, &w->packed, "the filters", p->sets * blocks, around->entries, p->D, LANES);
}

void depthwise_load(struct depthwise *w, const real *filters)
{
    size_t M = w->around->entries, D = w->filters, columns = w->columns;
    real *to = w->packed;

    for (size_t set = 0; set < w->sets; set++, filters += D * M * columns)
        for (size_t first = 0; first < columns; first += LANES)
            for (size_t m = 0; m < M; m++)
                for (size_t d = 0; d < D; d++)
                    for (size_t l = 0; l < LANES; l++) {
                        size_t c = columns == 1 ? 0 : first + l;
                        *to++ = c < columns ? filters[(d * M + m) * columns + c] : 0;
                    }
}

/* `count` filters (a constant for the compiler) of one centre, for one vector of the `left` remaining channels. */
INLINED void few(real *out, const struct depthwise *w, const int *token, const real *filter, const real *rows,
                 size_t stride, size_t left, size_t count)
{
    vec sum[TOGETHER];

    for (size_t d = 0; d < count; d++) sum[d] = (vec){0};
    for (size_t m = 0; m < w->around->entries; m++, filter += w->filters * LANES) {
        if (token[m] == OFF_GRID) continue;
        const real *from = rows + (size_t)token[m] * stride;
        vec row = left >= LANES ? vec_loadu(from) : vec_load_partial(from, left);
        for (size_t d = 0; d < count; d++) sum[d] += row * vec_load(filter + d * LANES);
    }
    for (size_t d = 0; d < count; d++)
        if (left >= LANES) vec_storeu(out + d * w->channels, sum[d]);
        else vec_store_partial(out + d * w->channels, sum[d], left);
}

/* The same for any `count`. */
static void centre(real *out, const struct depthwise *w, const int *token, const real *filters, size_t count,
                   const real *rows, size_t stride, size_t left)
{
    for (; count >= TOGETHER; count -= TOGETHER, out += TOGETHER * w->channels, filters += TOGETHER * LANES)
        few(out, w, token, filters, rows, stride, left, TOGETHER);
    for (; count >= 4; count -= 4, out += 4 * w->channels, filters += 4 * LANES)
        few(out, w, token, filters, rows, stride, left, 4);
    for (; count > 0; count--, out += w->channels, filters += LANES)
        few(out, w, token, filters, rows, stride, left, 1);
}

void depthwise_run(real *out, const struct depthwise *w, size_t head, size_t first, size_t count,
                   const real *rows, size_t stride)
{
    const real *filters = w->packed + head % w->sets * w->set_step;
    size_t D = w->filters;

    for (size_t c = 0; c < w->channels; c += LANES, filters += w->block_step)
        for (size_t t = 0, some; t < count; t += some) {
            size_t j = (first + t) / D, d = (first + t) % D;
            some = D - d < count - t ? D - d : count - t;
            centre(out + t * w->channels + c, w, w->around->token + j * w->around->entries, filters + d * LANES, some,
                   rows + c, stride, w->channels - c);
        }
}

void depthwise_prefetch(const struct depthwise *w, size_t first, size_t count, const real *rows, size_t stride)
{
    size_t M = w->around->entries, last = (first + count) / w->filters;

    if (last > w->around->centres) last = w->around->centres;
    for (size_t jm = first / w->filters * M; jm < last * M; jm++) {
        int token = w->around->token[jm];
        if (token == OFF_GRID) continue;
        const real *row = rows + (size_t)token * stride;
        for (size_t c = 0; c < w->channels; c += 64 / sizeof *row) __builtin_prefetch(row + c);
    }
}

/* ---- virtual tokens ---------------------------------------------------------- */

void virtual_tokens_prepare(struct plan *plan, struct core_options core)
{
    const struct structsa_problem *p = plan->params;
    struct virtual_tokens *f = plan->state;

    core.maps = &linear_packed;
    heads_prepare(plan, core);
    structsa_windows_prepare(&f->windows, &plan->arena, LOAD_SCRATCH, p);
    depthwise_prepare(&f->keys, &plan->arena, &f->windows.keys, p);
    depthwise_prepare(&f->values, &plan->arena, &f->windows.values, p);
}

status virtual_tokens_load(struct plan *plan)
{
    struct virtual_tokens *f = plan->state;
    structsa_windows_load(&f->windows, plan->params);
    depthwise_load(&f->keys, f->windows.hk);
    depthwise_load(&f->values, f->windows.hv);
    return heads_load(plan);
}
