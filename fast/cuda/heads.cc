/* heads.cc -- projections on the device; see heads.h */

#include "heads.h"

void device_heads_prepare(struct plan *plan)
{
    struct device_heads *on = (struct device_heads *)plan->state;
    const struct heads_problem *of = (const struct heads_problem *)plan->of;
    size_t B = of->B, N = of->N, C = of->C, width = 2 * of->Q + C;

    on->of = *of;
    device_reals(plan, &on->w_qkv, "w_qkv", width, C, 1, 1);
    device_reals(plan, &on->b_qkv, "b_qkv", of->b_qkv ? width : 0, 1, 1, 1);
    device_reals(plan, &on->w_o, "w_o", of->w_o ? C : 0, C, 1, 1);
    device_reals(plan, &on->b_o, "b_o", of->b_o ? C : 0, 1, 1, 1);
    device_reals(plan, &on->x, "x", B, N, C, 1);
    device_reals(plan, &on->y, "y", B, N, C, 1);
    device_reals(plan, &on->qkv, "query, key and value", B, N, width, 1);
    device_reals(plan, &on->joined, "the heads side by side", of->w_o ? B : 0, N, C, 1);
}

void device_heads_load(struct plan *plan)
{
    struct device_heads *on = (struct device_heads *)plan->state;
    const struct heads_problem *of = (const struct heads_problem *)plan->of;
    size_t C = of->C, width = 2 * of->Q + C;

    on->of = *of;
    device_place(&on->device);
    device_upload(&on->device, on->w_qkv, of->w_qkv, width * C);
    device_upload(&on->device, on->b_qkv, of->b_qkv, width);
    device_upload(&on->device, on->w_o, of->w_o, C * C);
    device_upload(&on->device, on->b_o, of->b_o, C);
}

void device_heads_on(struct plan *plan, device_heart heart)
{
    struct device_heads *on = (struct device_heads *)plan->state;
    size_t rows = on->of.B * on->of.N, C = on->of.C;

    device_linear(&on->device, on->qkv, on->x, on->w_qkv, on->b_qkv, rows, C, 2 * on->of.Q + C);
    heart(plan);
    if (on->of.w_o) device_linear(&on->device, on->y, on->joined, on->w_o, on->b_o, rows, C, C);
}

status device_heads_run(struct plan *plan, real *y, const real *x, device_heart heart)
{
    struct device_heads *on = (struct device_heads *)plan->state;
    size_t count = on->of.B * on->of.N * on->of.C;

    device_upload(&on->device, on->x, x, count);
    device_heads_on(plan, heart);
    device_download(&on->device, y, on->y, count);
    return device_status(&on->device);
}
