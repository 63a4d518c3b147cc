/* heads.h -- projections on the device
 *
 * msa, lisa, structsa and elsa share these linear maps (reference/runtime/heads.h), which the library computes.  A
 * version defines the core, which computes the heads' outputs from query, key and value:
 *
 *     static void core_1(struct msa_device *on, const struct msa_problem *p) { LAUNCH(on, ...); } */

#pragma once
#include "../../reference/runtime/heads.h"
#include "device.h"

struct device_heads : device {
    array<real> w_qkv, b_qkv, w_o, b_o;
    array<real> qkv;                    /* [B][N][2Q + C]: query, key and value side by side */
    array<real> joined;                 /* [B][N][C], only if w_o is given */
    array<real> output;                 /* of the core: joined, or y if w_o is not given */
};

static inline void device_heads_prepare(struct device_heads *on, const struct heads_problem *p)
{
    size_t C = p->C, width = 2 * p->Q + C;
    device_tensor(on, &on->w_qkv, "w_qkv", &p->w_qkv, width, C);
    device_tensor(on, &on->b_qkv, "b_qkv", &p->b_qkv, width);
    device_tensor(on, &on->w_o, "w_o", &p->w_o, C, C);
    device_tensor(on, &on->b_o, "b_o", &p->b_o, C);
    device_reals(on, &on->qkv, "query, key and value", p->B, p->N, width);
    device_reals(on, &on->joined, "the heads side by side", p->w_o ? p->B : 0, p->N, C);
}

template <auto CORE> void device_heads_run(struct device_heads *on, const struct heads_problem *p)
{
    size_t rows = p->B * p->N, C = p->C;
    on->output = p->w_o ? on->joined : on->y;
    device_linear(on, on->qkv, on->x, on->w_qkv, on->b_qkv, rows, C, 2 * p->Q + C);
    device_step<CORE>::take(on->plan);
    if (p->w_o) device_linear(on, on->y, on->joined, on->w_o, on->b_o, rows, C, C);
}

#define VERSION(id, name, state_type, prepare, load, core, multiply_adds) \
    DEVICE_FORM(id, name, state_type, prepare, load, device_heads_run<core>, multiply_adds)
