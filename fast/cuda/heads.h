/* heads.h -- projections on the device, and a ladder of hearts between them
 *
 * Every attention operator begins and ends alike (reference/runtime/heads.h); the linear maps are
 * the library's.  A row of this folder brings rungs: functions that launch the kernels
 * which make the heads' outputs from query, key and value.
 *
 *     static void rung_1(struct plan *plan, const struct device_heads *on) { LAUNCH(...); }
 *
 * x and y are copied to and from the device by heads' run; device_heads_on runs where
 * they lie on the device already. */

#ifndef TWICETOLD_FAST_CUDA_HEADS_H
#define TWICETOLD_FAST_CUDA_HEADS_H

#include "../../reference/runtime/heads.h"
#include "device.h"

/* The first member of a row's state. */
struct device_heads {
    struct device device;
    struct heads_problem of;
    array<real> w_qkv, b_qkv, w_o, b_o;
    array<real> x, y;                   /* [B][N][C] */
    array<real> qkv;                    /* [B][N][2Q + C]: query, key and value side by side */
    array<real> joined;                 /* [B][N][C], only where w_o is given */
};

/* To be called by the row's prepare, load and run. */
void device_heads_prepare(struct plan *plan);
void device_heads_load(struct plan *plan);

/* Where the heart writes: joined, or y itself. */
static inline array<real> device_heads_output(const struct device_heads *on)
{
    return on->of.w_o ? on->joined : on->y;
}

using device_heart = void (*)(struct plan *plan);
status device_heads_run(struct plan *plan, real *y, const real *x, device_heart heart);
void device_heads_on(struct plan *plan, device_heart heart);        /* from on->x to on->y */

/* A rung as a form.  Their names are cuda1, cuda2, ...; the last is known as cuda, too.  Those
 * that round to fewer digits are cuda-tf32 and cuda-bf16 (forms.cc). */
#define RUNG(id, name, kept, prepare, load, heart, multiply_adds) \
    static status id##_run(struct plan *plan, real *y, const real *x) { return device_heads_run(plan, y, x, heart); } \
    static void id##_release(struct plan *plan) { device_release((struct device *)plan->state); } \
    extern "C" const struct form id; \
    const struct form id = {name, sizeof(struct kept), prepare, load, id##_run, id##_release, multiply_adds}

#endif
