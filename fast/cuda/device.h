/* device.h -- the language of kernels and of the functions that launch them
 *
 * nvcc compiles the .cu files for a GPU, the C++ compiler for the emulator.  This header hides the differences:
 *
 *     array<real>                         pointer to device memory; checks its bounds when emulated
 *     SHARED(real, tile, 1056);           shared memory of a block; as a parameter, shared<real>
 *     load<4>(x, i), store(x, i, pack)    four adjacent elements in one access
 *     multiply_tf32(sums, a, b)           matrix product of a warp on tensor cores
 *     LAUNCH(d, kernel, blocks, threads, bytes, arguments...)
 *
 * The rest is CUDA: threadIdx, __syncthreads, __shfl_xor_sync, ...
 *
 * The state of every CUDA form is derived from `device`.  Prepare declares its arrays, so a run allocates nothing.
 * After the first error, launches and library calls do nothing: a form checks once, at its end. */

#pragma once
#include "../../reference/runtime/plan.h"

/* 1 if the target of this compilation has tensor cores for TF32 and BF16. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
#define TENSOR_CORES 0
#else
#define TENSOR_CORES 1
#endif

#ifdef __CUDACC__

#ifndef DEVICE_LAUNCH                   /* tests/cuda/runtime.cu defines it, and its own runtime */
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cufft.h>
#define DEVICE_LAUNCH(kernel, ...) kernel<<<__VA_ARGS__>>>
#endif

template <class T> using array = T *__restrict__;
template <class T> using shared = T *;

#define SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define DYNAMIC_SHARED(type, name) \
    extern __shared__ __align__(16) unsigned char dynamic_memory[]; \
    type *name = reinterpret_cast<type *>(dynamic_memory)

template <class T, int W> struct __align__(sizeof(T) * W) pack {
    T element[W];
    __device__ T &operator[](int i) { return element[i]; }
    __device__ const T &operator[](int i) const { return element[i]; }
};
template <int W, class T> __device__ inline pack<T, W> load(const T *p, size_t i)
{
    return *reinterpret_cast<const pack<T, W> *>(p + i);
}
template <int W, class T> __device__ inline void store(T *p, size_t i, const pack<T, W> &v)
{
    *reinterpret_cast<pack<T, W> *>(p + i) = v;
}
template <class T> __device__ inline T atomic_add(T *p, size_t i, T v) { return atomicAdd(p + i, v); }

/* A word of factors of tensor cores: a float rounded to 11 binary digits (TF32), or two rounded to 8 (BF16). */
__device__ inline uint32_t tf32_of(float value)
{
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}
__device__ inline uint32_t bf16_pair(float low, float high)
{
    uint32_t bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}

/* A warp computes sums [16][8] += a [16][K] b [K][8] in float, K = 8 in TF32 and 16 in BF16.
 * A lane holds these entries, with g = lane / 4 and t = lane % 4:
 *
 *             TF32                                    BF16, lower and upper half of a word
 *     a[r]    row g + 8 (r % 2), column t + 4 (r / 2)     row the same, columns 2 t + 8 (r / 2) and the next
 *     b[r]    row t + 4 r, column g                       rows 2 t + 8 r and the next, column g
 *     sums[r] row g + 8 (r / 2), column 2 t + r % 2       the same */
#define TENSOR_PRODUCT(name, shape, type) \
    __device__ inline void name(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) \
    { \
        asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 " \
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
    }
TENSOR_PRODUCT(multiply_tf32, "m16n8k8", "tf32")
TENSOR_PRODUCT(multiply_bf16, "m16n8k16", "bf16")
#undef TENSOR_PRODUCT

#else
#include "../tuned/lisa/fft.h"
#include "emulator.h"
#endif

using reals = array<const real>;        /* input of a kernel */

constexpr int DEVICE_ARRAYS = 48, DEVICE_FOURIERS = 2;

/* Initial value of a running maximum; no finite score is lower. */
constexpr real LOWEST = -REAL_MAX;

struct device {
    struct plan *plan;
    array<real> x, y;                   /* of all images */
    status error;                       /* the first */
    bool forks;                         /* prepare sets it if the form calls device_fork */
    bool forked;                        /* there are two branches now */
    int arrays;
    struct held {
        void *where;                    /* the array<real> itself */
        size_t bytes;
        const char *name;
        const real *const *from;        /* each load copies this tensor, unless NULL */
    } held[DEVICE_ARRAYS];
#ifdef __CUDACC__
    int number;                         /* the device of this plan, set in prepare */
    size_t bytes;                       /* of all arrays and the libraries' work areas */
    size_t blas_bytes;                  /* cuBLAS's work area of one stream */
    bool placed;                        /* the arrays are allocated */
    bool stays;                         /* runs and loads copy nothing (plugin.h) */
    struct stream {
        cudaStream_t stream;
        cublasHandle_t blas;
        void *work;                     /* cuBLAS's work area */
        cudaEvent_t reached;
    } here, aside;                      /* launches go to `here`; only a form that forks has `aside` */
    struct { bool made; cufftHandle plan; array<real> work; } fourier[DEVICE_FOURIERS];
#else
    struct fft fourier[DEVICE_FOURIERS];
    void (*late)(struct plan *);        /* a branch that runs at the join, or NULL */
#endif
};

/* In prepare: declares an array of `count` reals; none is allocated if that is 0.  Each load copies *from to it, unless
 * `from` is NULL. */
void device_array(struct device *d, array<real> *where, const char *name, const real *const *from, size_t count);

/* a*b*c*e, or SIZE_MAX on overflow; allocation then fails. */
static inline size_t device_count(size_t a, size_t b, size_t c, size_t e)
{
    bool fits = size_multiply(&a, a, b) && size_multiply(&a, a, c) && size_multiply(&a, a, e);
    return fits ? a : SIZE_MAX;
}

/* Declare an array of a*b*c*e reals, and one that holds a tensor; none is allocated for a tensor that is not given. */
static inline void device_reals(struct device *d, array<real> *where, const char *name, size_t a, size_t b = 1,
                                size_t c = 1, size_t e = 1)
{
    device_array(d, where, name, nullptr, device_count(a, b, c, e));
}
static inline void device_tensor(struct device *d, array<real> *where, const char *name, const real *const *from,
                                 size_t a, size_t b = 1, size_t c = 1, size_t e = 1)
{
    device_array(d, where, name, from, *from ? device_count(a, b, c, e) : 0);
}

/* At the start of a load: allocates the arrays.  If one allocation fails, all are freed; a later load tries again. */
void device_place(struct device *d);
void device_release(struct device *d);

/* Copy `count` reals; an upload from NULL does nothing. */
void device_upload(struct device *d, array<real> to, const real *from, size_t count);
void device_download(struct device *d, real *to, reals from, size_t count);

/* y = x w^T + b by the library: x [rows][in], w [out][in], b [out] or a null array. */
void device_linear(struct device *d, array<real> y, reals x, reals w, reals b, size_t rows, size_t in, size_t out);

/* A factor of a batch of products: a row-major matrix, or the transpose of one.  Consecutive products use matrices
 * `step` reals apart; 0 if all use the same. */
struct device_factor {
    reals at;
    bool transposed;
    size_t step;
};

/* y = a b by the library: y [batch][rows][columns], a [rows][inner], b [inner][columns]. */
void device_product(struct device *d, array<real> y, const struct device_factor &a, const struct device_factor &b,
                    size_t rows, size_t inner, size_t columns, size_t batch);

/* In-place Fourier transforms by the library of complex signals on a grid of one to three axes,
 * [points][signals][re, im]; the inverse does not divide.  `which` is below DEVICE_FOURIERS.  Prepare calls the first
 * function, load the second. */
void device_fourier_reals(struct device *d, int which, int axes, const size_t *size, size_t signals);
void device_fourier_load(struct device *d, int which, array<real> points, int axes, const size_t *size, size_t signals);
void device_fourier(struct device *d, int which, array<real> points, bool inverse);

/* Launches of `branch` follow all earlier launches; later launches do not wait for them until device_join.  Join before
 * the next fork. */
void device_fork(struct plan *plan, void (*branch)(struct plan *plan));
void device_join(struct device *d);

/* Begins two branches; false after an error.  A branch that is not allowed here is one. */
static inline bool device_begins_branches(struct device *d)
{
    if (d->error.code) return false;
    if (!d->forks || d->forked) {
        d->error = failure("a branch %s", d->forked ? "in a branch" : "of a form that does not declare that it forks");
        return false;
    }
    return d->forked = true;
}

/* The largest shared memory of a block in bytes if `blocks` blocks share a multiprocessor. */
size_t device_shared_bytes(int blocks);

/* Ten times the compute capability: 75, 80, 90. */
int device_capability(void);

/* In prepare: an error if the device has no tensor cores for TF32 and BF16. */
static inline status device_tensor_cores(const struct plan *plan)
{
    int found = device_capability();
    if (found >= 80) return status_ok();
    return bad_input("form %s: found a device of compute capability %d.%d, expected at least 8.0", plan->form->name,
                     found / 10, found % 10);
}

/* Waits for all launches; returns and clears the first error. */
status device_status(struct device *d);

/* Number of blocks of `each` items; 0, which every launch rejects, if a grid cannot have that many. */
static inline unsigned device_blocks(size_t items, size_t each)
{
    size_t blocks = items / each + (items % each > 0);
    return blocks > INT32_MAX ? 0 : (unsigned)blocks;
}

/* Calls launch(first, count) for chunks of images: a grid's third axis holds up to two entries per image. */
template <class F> inline void device_images(size_t images, F launch)
{
    constexpr size_t MOST = 65535 / 2;
    for (size_t first = 0; first < images; first += MOST) launch(first, images - first < MOST ? images - first : MOST);
}

/* Shared memory in bytes that a launch gets without a request; LAUNCH requests more. */
constexpr size_t DEVICE_SHARED = 48 << 10;

#ifdef __CUDACC__
#define LAUNCH(d, kernel, blocks, threads, bytes, ...) \
    do { \
        if (!device_enter(d)) break; \
        if ((size_t)(bytes) > DEVICE_SHARED) \
            device_check(d, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes)), \
                         #kernel); \
        if ((d)->error.code) break; \
        DEVICE_LAUNCH(kernel, device_grid(blocks), threads, bytes, (d)->here.stream)(__VA_ARGS__); \
        device_check(d, cudaGetLastError(), #kernel); \
    } while (0)

/* Selects the plan's device for the calling thread; false after any error. */
bool device_enter(struct device *d);
void device_check(struct device *d, cudaError_t error, const char *what);

/* A count above INT32_MAX becomes 0 blocks, which every launch rejects; a plain conversion would truncate it. */
static inline dim3 device_grid(dim3 blocks) { return blocks; }
static inline dim3 device_grid(size_t blocks) { return dim3(device_blocks(blocks, 1)); }
#else
#define LAUNCH(d, kernel, blocks, threads, bytes, ...) \
    do { \
        if ((d)->error.code) break; \
        (d)->error = emulator::launch(#kernel, blocks, threads, bytes, [=] { kernel(__VA_ARGS__); }); \
    } while (0)
#endif

#define LAUNCH_EACH(d, kernel, items, ...) LAUNCH(d, kernel, device_blocks(items, 128), 128, 0, __VA_ARGS__)

/* ---- forms ------------------------------------------------------------------------------ */

/* STEP(on, p) takes a form's state and its problem. */
template <auto STEP> struct device_step;
template <class S, class P, void (*STEP)(S *, const P *)> struct device_step<STEP> {
    static void take(struct plan *plan)
    {
        ((struct device *)plan->state)->plan = plan;
        STEP((S *)plan->state, (const P *)plan->params);
    }
};
static inline void device_nothing(struct device *, const void *) {}

/* PREPARE declares arrays; LOAD runs after the tensors are copied and computes tables; RUN computes y from x. */
template <auto PREPARE> status device_form_prepare(struct plan *plan)
{
    struct device *d = (struct device *)plan->state;
    device_step<PREPARE>::take(plan);
    device_reals(d, &d->x, "x", problem_input_count(plan->problem));
    device_reals(d, &d->y, "y", problem_output_count(plan->problem));
    return arena_status(&plan->arena);
}
template <auto LOAD> status device_form_load(struct plan *plan)
{
    struct device *d = (struct device *)plan->state;
    device_place(d);
    for (int n = 0; n < d->arrays; n++)
        if (d->held[n].from)
            device_upload(d, *(array<real> *)d->held[n].where, *d->held[n].from, d->held[n].bytes / sizeof(real));
    device_step<LOAD>::take(plan);
    return device_status(d);
}
template <auto RUN> status device_form_run(struct plan *plan, real *y, const real *x)
{
    struct device *d = (struct device *)plan->state;
    device_upload(d, d->x, x, problem_input_count(plan->problem));
    device_step<RUN>::take(plan);
    device_download(d, y, d->y, problem_output_count(plan->problem));
    return device_status(d);
}

/* Names are cuda1, cuda2, ...; `cuda` is the last of them.  cuda-tf32 and cuda-bf16 round to fewer digits. */
#define DEVICE_FORM(id, name, state_type, prepare, load, run, multiply_adds) \
    extern "C" const struct form id; \
    const struct form id = {name, sizeof(struct state_type), device_form_prepare<prepare>, device_form_load<load>, \
                            device_form_run<run>, [](struct plan *p) { device_release((struct device *)p->state); }, \
                            multiply_adds}
