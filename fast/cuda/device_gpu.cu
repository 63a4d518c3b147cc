/* device_gpu.cu -- a CUDA device, the first unless another is chosen; see device.h
 *
 * Part of the plug-in (plugin.h).  Matrix products go through cuBLAS in float or double, Fourier transforms through
 * cuFFT. */

#include "device.h"
#include "plugin.h"
#include <climits>

static int chosen;
static size_t allowed = SIZE_MAX;       /* bytes of device memory for a plan */

/* Returns its argument.  After an error, clears the runtime's last error: the next launch may be another plan's. */
static bool failed(bool error)
{
    if (error) (void)cudaGetLastError();
    return error;
}

/* Keep the first error, with the name of the failed operation. */
void device_check(struct device *d, cudaError_t error, const char *what)
{
    if (failed(error != cudaSuccess) && !d->error.code)
        d->error = failure("%s: CUDA: %s", what, cudaGetErrorString(error));
}

static void check_library(struct device *d, cublasStatus_t error, const char *what)
{
    if (failed(error != CUBLAS_STATUS_SUCCESS) && !d->error.code)
        d->error = failure("%s: cuBLAS: %s", what, cublasGetStatusString(error));
}

static void check_fourier(struct device *d, cufftResult error, const char *what)
{
    if (failed(error != CUFFT_SUCCESS) && !d->error.code)
        d->error = failure("%s: cuFFT: error %d", what, (int)error);
}

/* 0 on error. */
static int attribute(cudaDeviceAttr which, int device)
{
    int value = 0;
    return failed(cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) ? 0 : value;
}

bool device_enter(struct device *d)
{
    if (!d->error.code) device_check(d, cudaSetDevice(d->number), "choosing the device");
    return !d->error.code;
}

static status choose(int device, size_t most)
{
    int count = 0;
    size_t free = 0, all = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (failed(error != cudaSuccess)) return bad_input("none found: %s", cudaGetErrorString(error));
    if (count == 0) return bad_input("none found");
    if (device < 0 || device >= count) return bad_input("found --device %d, expected 0 ... %d", device, count - 1);
    error = cudaSetDevice(device);
    if (error == cudaSuccess) error = cudaMemGetInfo(&free, &all);
    if (failed(error != cudaSuccess)) return bad_input("device %d: %s", device, cudaGetErrorString(error));
    chosen = device;
    allowed = most ? most : free / 4 * 3;
    return status_ok();
}

static const char *name()
{
    static cudaDeviceProp properties;
    return failed(cudaGetDeviceProperties(&properties, chosen) != cudaSuccess) ? "a CUDA device" : properties.name;
}

static size_t bytes(const struct plan *plan)
{
    return ((const struct device *)plan->state)->bytes;
}

static void stay(struct plan *plan, bool stays)
{
    ((struct device *)plan->state)->stays = stays;
}

/* Size in bytes that NVIDIA recommends for cuBLAS's work area (cublasSetWorkspace). */
static size_t work_bytes(int device)
{
    return (size_t)(attribute(cudaDevAttrComputeCapabilityMajor, device) >= 9 ? 32 : 4) << 20;
}

/* Sets the plan's device and counts cuBLAS's work areas.  Not counted: other memory of the libraries. */
static void begin(struct device *d)
{
    if (d->bytes) return;
    d->number = chosen;
    d->blas_bytes = work_bytes(chosen);
    d->bytes = (d->forks ? 2 : 1) * d->blas_bytes;
}

void device_array(struct device *d, array<real> *where, const char *name, const real *const *from, size_t count)
{
    struct arena *arena = &d->plan->arena;
    size_t more;
    begin(d);
    if (d->arrays == DEVICE_ARRAYS) return arena_fail(arena, failure("%s: more than %d arrays", name, DEVICE_ARRAYS));
    if (!size_multiply(&more, count, sizeof(real))) return arena_fail(arena, out_of_memory(name));
    *where = nullptr;
    d->held[d->arrays++] = {(void *)where, more, name, from};
    size_add(&d->bytes, more, 1);
    if (d->bytes > allowed)
        arena_fail(arena, bad_input("needs more than the %zu bytes of the device's memory that are allowed (option "
                                    "--max-memory), at %s", allowed, name));
}

/* Each stream has its own handle and work area.  cublasSetStream resets the work area, so that is set last. */
static void make_stream(struct device *d, struct device::stream *s)
{
    if (!d->error.code) device_check(d, cudaStreamCreate(&s->stream), "a stream");
    if (!d->error.code) device_check(d, cudaEventCreateWithFlags(&s->reached, cudaEventDisableTiming), "an event");
    if (!d->error.code) device_check(d, cudaMalloc(&s->work, d->blas_bytes), "cuBLAS's work area");
    if (!d->error.code) check_library(d, cublasCreate(&s->blas), "cuBLAS");
    if (!d->error.code) check_library(d, cublasSetStream(s->blas, s->stream), "cuBLAS");
    if (!d->error.code) check_library(d, cublasSetWorkspace(s->blas, s->work, d->blas_bytes), "cuBLAS");
}

static void release_stream(struct device::stream *s)
{
    if (s->blas) cublasDestroy(s->blas);
    if (s->reached) cudaEventDestroy(s->reached);
    if (s->stream) cudaStreamDestroy(s->stream);
    cudaFree(s->work);
    *s = {};
}

/* Does not report errors: no caller can act on them. */
static void free_all(struct device *d)
{
    release_stream(&d->here);
    release_stream(&d->aside);
    for (int n = 0; n < d->arrays; n++) {
        cudaFree(*(void **)d->held[n].where);
        *(void **)d->held[n].where = nullptr;
    }
    d->placed = false;
    (void)cudaGetLastError();
}

void device_place(struct device *d)
{
    if (d->placed || !device_enter(d)) return;
    for (int n = 0; n < d->arrays && !d->error.code; n++)
        if (d->held[n].bytes) device_check(d, cudaMalloc((void **)d->held[n].where, d->held[n].bytes), d->held[n].name);
    make_stream(d, &d->here);
    if (d->forks) make_stream(d, &d->aside);
    d->placed = !d->error.code;
    if (!d->placed) free_all(d);
}

void device_release(struct device *d)
{
    if (!d->bytes) return;              /* never prepared */
    (void)cudaSetDevice(d->number);
    for (auto &f : d->fourier) if (f.made) cufftDestroy(f.plan);
    free_all(d);
}

void device_upload(struct device *d, array<real> to, const real *from, size_t count)
{
    if (from && count && !d->stays && device_enter(d))
        device_check(d, cudaMemcpyAsync(to, from, count * sizeof(real), cudaMemcpyHostToDevice, d->here.stream),
                     "copying to the device");
}

void device_download(struct device *d, real *to, reals from, size_t count)
{
    if (!d->error.code && !d->stays)
        device_check(d, cudaMemcpyAsync(to, from, count * sizeof(real), cudaMemcpyDeviceToHost, d->here.stream),
                     "copying from the device");
}

#ifdef TWICETOLD_DOUBLE
#define gemm cublasDgemmStridedBatched
#else
#define gemm cublasSgemmStridedBatched
#endif

/* cuBLAS is column-major: row-major y = a b is y^T = b^T a^T there. */
void device_product(struct device *d, array<real> y, const struct device_factor &a, const struct device_factor &b,
                    size_t rows, size_t inner, size_t columns, size_t batch)
{
    const real each = 1, zero = 0;
    if (!device_enter(d)) return;
    if (rows > INT_MAX || inner > INT_MAX || columns > INT_MAX || batch > INT_MAX) {
        d->error = failure("a product of %zu x %zu x %zu: more than cuBLAS counts", rows, inner, columns);
        return;
    }
    cublasOperation_t of_a = a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N, of_b = b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_library(d, gemm(d->here.blas, of_b, of_a, (int)columns, (int)rows, (int)inner, &each,
                          b.at, (int)(b.transposed ? inner : columns), (long long)b.step,
                          a.at, (int)(a.transposed ? rows : inner), (long long)a.step, &zero,
                          y, (int)columns, (long long)columns * (long long)rows, (int)batch), "a product");
}

__global__ void add_bias(array<real> y, reals b, size_t count, size_t out)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) y[at] += b[at % out];
}

void device_linear(struct device *d, array<real> y, reals x, reals w, reals b, size_t rows, size_t in, size_t out)
{
    device_product(d, y, {x, false, 0}, {w, true, 0}, rows, in, out, 1);
    if (b) LAUNCH(d, add_bias, device_blocks(rows * out, 256), 256, 0, y, b, rows * out, out);
}

void device_fourier_reals(struct device *d, int which, int axes, const size_t *size, size_t signals)
{
    struct arena *arena = &d->plan->arena;
    auto &f = d->fourier[which];
    int sizes[GRID_AXES], many = (int)signals;
    size_t bytes = 0;
    begin(d);
    if (signals > INT_MAX) return arena_fail(arena, bad_input("%zu signals, expected at most %d", signals, INT_MAX));
    for (int a = 0; a < axes; a++) sizes[a] = (int)size[a];
    if (device_enter(d)) check_fourier(d, cufftCreate(&f.plan), "a Fourier transform");
    f.made = !d->error.code;
    if (f.made) check_fourier(d, cufftSetAutoAllocation(f.plan, 0), "a Fourier transform's work area");
    if (!d->error.code)
        check_fourier(d, cufftMakePlanMany(f.plan, axes, sizes, sizes, many, 1, sizes, many, 1,
                                           sizeof(real) == 4 ? CUFFT_C2C : CUFFT_Z2Z, many, &bytes),
                      "a Fourier transform's plan");
    if (d->error.code) return arena_fail(arena, d->error);
    device_reals(d, &f.work, "a Fourier transform's work area", bytes / sizeof(real) + 1);
}

void device_fourier_load(struct device *d, int which, array<real>, int, const size_t *, size_t)
{
    auto &f = d->fourier[which];
    if (device_enter(d)) check_fourier(d, cufftSetWorkArea(f.plan, f.work), "a Fourier transform's work area");
}

void device_fourier(struct device *d, int which, array<real> points, bool inverse)
{
    int way = inverse ? CUFFT_INVERSE : CUFFT_FORWARD;
    if (!device_enter(d)) return;
    cufftHandle plan = d->fourier[which].plan;
    check_fourier(d, cufftSetStream(plan, d->here.stream), "a Fourier transform's stream");
    check_fourier(d, sizeof(real) == 4 ? cufftExecC2C(plan, (cufftComplex *)points, (cufftComplex *)points, way) :
                     cufftExecZ2Z(plan, (cufftDoubleComplex *)points, (cufftDoubleComplex *)points, way),
                      "a Fourier transform");
}

/* Later launches of `waits` follow everything launched on `other` so far. */
static void wait_for(struct device *d, struct device::stream *waits, struct device::stream *other)
{
    if (!d->error.code) device_check(d, cudaEventRecord(other->reached, other->stream), "an event");
    if (!d->error.code) device_check(d, cudaStreamWaitEvent(waits->stream, other->reached, 0), "a stream that waits");
}

static void swap_streams(struct device *d)
{
    struct device::stream before = d->here;
    d->here = d->aside;
    d->aside = before;
}

void device_fork(struct plan *plan, void (*branch)(struct plan *))
{
    struct device *d = (struct device *)plan->state;
    if (!device_begins_branches(d)) return;
    wait_for(d, &d->aside, &d->here);
    swap_streams(d);
    branch(plan);
    swap_streams(d);
}

void device_join(struct device *d)
{
    if (d->forked) wait_for(d, &d->here, &d->aside);
    d->forked = false;
}

/* The limit of a block that requests more than DEVICE_SHARED (LAUNCH).  The driver reserves some for each block. */
size_t device_shared_bytes(int blocks)
{
    int most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, chosen);
    int share = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, chosen) / blocks -
                attribute(cudaDevAttrReservedSharedMemoryPerBlock, chosen);
    if (share < most) most = share;
    return most > 0 ? (size_t)most : DEVICE_SHARED / (size_t)blocks;
}

int device_capability(void)
{
    return 10 * attribute(cudaDevAttrComputeCapabilityMajor, chosen) +
           attribute(cudaDevAttrComputeCapabilityMinor, chosen);
}

/* Waits even after an error: the device may still be copying from or to the caller's memory. */
status device_status(struct device *d)
{
    if (d->forked) device_join(d);
    if (d->here.stream) device_check(d, cudaStreamSynchronize(d->here.stream), "waiting for the device");
    status s = d->error;
    d->error = status_ok();
    return s;
}

const struct cuda_plugin *twicetold_cuda_plugin(void)
{
    static const struct cuda_plugin plugin = {sizeof(real), sizeof(struct plan), cuda_forms, choose, name, bytes, stay};
    return &plugin;
}
