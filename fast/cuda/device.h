/* device.h -- what the kernels of this folder, and those who launch them, are written in
 *
 * nvcc compiles the .cu files for a GPU; g++ compiles the same files for the emulator
 * (emulator.h).  What differs stands here and in the two device_*.cc, and nowhere else:
 *
 *     array<real>                 memory of the device: a pointer, or one that checks its bounds
 *     SHARED(real, tile, 1056);   shared memory of a block, also as the parameter shared<real>
 *     load<4>(x, i), store(x, i, pack)    four neighbours in one access
 *     multiply_tf32(sums, a, b)           a product of a warp on tensor cores
 *     LAUNCH(d, kernel, blocks, threads, bytes, arguments...)
 *
 * The rest is CUDA: threadIdx, __syncthreads, __shfl_xor_sync, ...
 *
 * A device is the first member of the state of every CUDA form.  Its arrays are asked for
 * while the form is prepared and exist from the first load on, so that a run allocates
 * nothing.  The first thing that fails is kept, and what follows it does nothing: rungs
 * launch one kernel after another and ask once, at the end, how it went. */

#ifndef TWICETOLD_FAST_CUDA_DEVICE_H
#define TWICETOLD_FAST_CUDA_DEVICE_H

#include "../../reference/runtime/plan.h"

/* 1 where the code that is compiled may use tensor cores in TF32 and BF16. */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
#define TENSOR_CORES 0
#else
#define TENSOR_CORES 1
#endif

#ifdef __CUDACC__

#ifndef DEVICE_LAUNCH                   /* tests/cuda/runtime.cu has a runtime of its own */
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

/* Floats in fewer digits, for tensor cores: one of 11 in a word, two of 8 in another. */
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

/* sums [16][8] += a [16][K] b [K][8] of a warp, K = 8 in TF32 and 16 in BF16, sums in float.
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

constexpr int DEVICE_ARRAYS = 48, DEVICE_FOURIERS = 2;

/* What a running maximum begins with: no finite score lies below it. */
constexpr real LOWEST = -REAL_MAX;

struct device {
    status refusal;                     /* the first thing that went wrong */
    bool forks;                         /* set by the prepare of a form that does */
    bool apart;                         /* there are two branches now */
    int arrays;
    struct held {
        void *where;                    /* the array<real> itself */
        size_t bytes;
        const char *name;
    } held[DEVICE_ARRAYS];
#ifdef __CUDACC__
    int number;                         /* the device of this plan, from prepare on */
    size_t bytes;                       /* of all arrays, and of the libraries' work areas */
    size_t blas_bytes;                  /* of one stream's work area for cuBLAS */
    bool placed, stays;                 /* whether x and y stay where they are (plugin.h) */
    struct stream {
        cudaStream_t stream;
        cublasHandle_t blas;
        void *work;                     /* cuBLAS's work area */
        cudaEvent_t reached;
    } here, aside;                      /* where launches go, and the other, which only a form that forks has */
    struct { bool made; cufftHandle plan; array<real> work; } fourier[DEVICE_FOURIERS];
#else
    struct fft fourier[DEVICE_FOURIERS];
    void (*late)(struct plan *);        /* a branch that is to run when they join */
    struct plan *late_of;
#endif
};

/* Asks for a*b*c*d reals on the device, in prepare; an array with an axis of 0 is not
 * there and takes nothing. */
void device_reals(struct plan *plan, array<real> *where, const char *name, size_t a, size_t b, size_t c, size_t d);

/* At the start of a load: the arrays are there from now on.  If one cannot be had, none is
 * kept, and a later load tries again. */
void device_place(struct device *d);
void device_release(struct device *d);

/* Copies `count` reals; nothing where the source is NULL. */
void device_upload(struct device *d, array<real> to, const real *from, size_t count);
void device_download(struct device *d, real *to, array<const real> from, size_t count);

/* y = x w^T + b, by the library: x [rows][in], w [out][in], b [out] or not there. */
void device_linear(struct device *d, array<real> y, array<const real> x, array<const real> w, array<const real> b,
                   size_t rows, size_t in, size_t out);

/* One side of a product: a matrix whose rows lie one behind the other, or that of which it
 * is the transpose; and how many reals lie from one product of a batch to the next, 0 where
 * all have the same. */
struct device_factor {
    array<const real> at;
    bool transposed;
    size_t step;
};

/* y = a b, by the library: y [batch][rows][columns], a [rows][inner], b [inner][columns]. */
void device_product(struct device *d, array<real> y, const struct device_factor &a, const struct device_factor &b,
                    size_t rows, size_t inner, size_t columns, size_t batch);

/* Fourier transforms by the library, of complex signals side by side on a grid of one to
 * three axes: [points][signals][re, im] in place, and the inverse does not divide.  The
 * plan, one of DEVICE_FOURIERS, asks for its work area in prepare and is ready after the load. */
void device_fourier_reals(struct plan *plan, int which, int axes, const size_t *size, size_t signals);
void device_fourier_load(struct device *d, int which, array<real> points, int axes, const size_t *size, size_t signals);
void device_fourier(struct device *d, int which, array<real> points, bool inverse);

/* A branch: what it launches comes after all that was launched before, and what is launched
 * from now on does not wait for it, until they join.  One at a time, and none in a branch. */
void device_fork(struct plan *plan, void (*branch)(struct plan *plan));
void device_join(struct device *d);

/* Whether there may be two branches now; from here on there are. */
static inline bool device_parts(struct device *d)
{
    if (d->refusal.code) return false;
    if (!d->forks || d->apart) {
        d->refusal = failure("a branch %s", d->apart ? "in a branch" : "of a form that does not say that it forks");
        return false;
    }
    return d->apart = true;
}

/* The shared memory in bytes that a block may have if this many blocks share a multiprocessor. */
size_t device_shared_bytes(int blocks);

/* Ten times the compute capability: 75, 80, 90. */
int device_capability(void);

/* For the prepare of a form that multiplies in TF32 or BF16. */
static inline status device_tensor_cores(const struct plan *plan)
{
    int found = device_capability();
    if (found >= 80) return status_ok();
    return bad_input("form %s: found a device of compute capability %d.%d, expected at least 8.0", plan->form->name,
                     found / 10, found % 10);
}

/* Waits for what was launched, and says how it went. */
status device_status(struct device *d);

/* Blocks for so many items; 0, which no launch takes, where a grid cannot have them. */
static inline unsigned device_blocks(size_t items, size_t each)
{
    size_t blocks = items / each + (items % each > 0);
    return blocks > INT32_MAX ? 0 : (unsigned)blocks;
}

/* Calls launch(first, count) for so many images at a time as a grid's third axis takes, were they two for each. */
template <class F> inline void device_images(size_t images, F launch)
{
    constexpr size_t MOST = 65535 / 2;
    for (size_t first = 0; first < images; first += MOST) launch(first, images - first < MOST ? images - first : MOST);
}

/* Dynamic shared memory that a launch gets unasked; LAUNCH asks for more. */
constexpr size_t DEVICE_SHARED = 48 << 10;

#ifdef __CUDACC__
#define LAUNCH(d, kernel, blocks, threads, bytes, ...) \
    do { \
        if (!device_enter(d)) break; \
        if ((size_t)(bytes) > DEVICE_SHARED) \
            device_check(d, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)(bytes)), \
                         #kernel); \
        if ((d)->refusal.code) break; \
        DEVICE_LAUNCH(kernel, device_grid(blocks), threads, bytes, (d)->here.stream)(__VA_ARGS__); \
        device_check(d, cudaGetLastError(), #kernel); \
    } while (0)

/* Makes the plan's device the calling thread's; false after an error, whoever met it. */
bool device_enter(struct device *d);
void device_check(struct device *d, cudaError_t error, const char *what);

/* What counts blocks may be more than a dim3 holds. */
static inline dim3 device_grid(dim3 blocks) { return blocks; }
static inline dim3 device_grid(size_t blocks) { return dim3(device_blocks(blocks, 1)); }
#else
#define LAUNCH(d, kernel, blocks, threads, bytes, ...) \
    do { \
        if ((d)->refusal.code) break; \
        (d)->refusal = emulator::launch(#kernel, blocks, threads, bytes, [=] { kernel(__VA_ARGS__); }); \
    } while (0)
#endif

#endif
