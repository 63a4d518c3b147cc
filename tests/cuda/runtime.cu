/* runtime.cu -- a fake CUDA runtime; see runtime.h */

#include "runtime.h"
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>

/* ---- the runtime --------------------------------------------------------------------------- */

namespace gpu {

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorInvalidDevice, cudaErrorInvalidResourceHandle };
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cufftResult { CUFFT_SUCCESS, CUFFT_INTERNAL_ERROR };
enum { CUFFT_C2C, CUFFT_Z2Z, CUFFT_FORWARD, CUFFT_INVERSE };
enum { cudaEventDisableTiming, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
       cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaDeviceAttr { cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor,
                      cudaDevAttrMaxSharedMemoryPerBlockOptin, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                      cudaDevAttrReservedSharedMemoryPerBlock };
struct cudaDeviceProp { char name[256]; };
struct cufftComplex {};
struct cufftDoubleComplex {};
struct dim3 { unsigned x; dim3(unsigned of) : x(of) {} } blockIdx = 0, blockDim = 1, threadIdx = 0;

/* A stream, an event, a cuBLAS handle or a cuFFT plan. */
struct handle { int device; void *work; size_t needs; };        /* needs: bytes of the work area */
using cudaStream_t = handle *;
using cudaEvent_t = handle *;
using cublasHandle_t = handle *;
using cufftHandle = handle *;

int capability, current, calls, failing, first;
cudaError_t last;
struct runtime_state state;
std::map<void *, std::pair<int, size_t>> memory;        /* device and bytes of an allocation */

/* Counts a call; true if it fails: its number was chosen, or its handle belongs to another device. */
bool wrong(bool needed = true, handle *of = nullptr)
{
    bool now = ++calls == failing;
    state.came |= now;
    state.failed |= now && needed;
    if (now) last = cudaErrorMemoryAllocation;
    else if (of && of->device != current) last = cudaErrorInvalidResourceHandle, state.foreign++;
    else return false;
    return true;
}
cudaError_t cuda(bool needed = true) { return wrong(needed) ? last : cudaSuccess; }
cublasStatus_t blas(handle *of) { return wrong(true, of) ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS; }
cufftResult fft(handle *of) { return wrong(true, of) ? CUFFT_INTERNAL_ERROR : CUFFT_SUCCESS; }

bool created(handle **h)
{
    if (wrong()) return false;
    *h = new handle{current, nullptr, 0};
    state.handles++;
    return true;
}
bool destroyed(handle *h)
{
    bool foreign = wrong(false, h);
    delete h;
    state.handles--;
    return !foreign;
}

cudaError_t cudaGetLastError() { cudaError_t e = last; last = cudaSuccess; return e; }
const char *cudaGetErrorString(cudaError_t) { return "an error"; }
cudaError_t cudaGetDeviceCount(int *count) { *count = 2; return cuda(); }
cudaError_t cudaSetDevice(int device) { if (wrong()) return last; current = device; return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t *free, size_t *all) { *free = *all = (size_t)1 << 34; return cuda(); }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) { strcpy(p->name, "none"); return cuda(false); }
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int)
{
    int of_a_multiprocessor = capability == 75 ? 64 : capability == 80 ? 164 : capability == 86 ? 100 : 228;
    int reserved = capability == 75 ? 0 : 1;
    const int values[] = {capability / 10, capability % 10, (of_a_multiprocessor - reserved) << 10,
                          of_a_multiprocessor << 10, reserved << 10};
    *value = values[which];
    return cuda(false);
}
template <class T> cudaError_t cudaMalloc(T **at, size_t bytes)
{
    if (wrong()) return last;
    *at = (T *)malloc(bytes);
    memory[*at] = {current, bytes};
    state.bytes[current] += bytes;
    return cudaSuccess;
}
cudaError_t cudaFree(void *at)
{
    if (!at) return cudaSuccess;
    state.bytes[memory.at(at).first] -= memory.at(at).second;      /* throws if it was not allocated */
    memory.erase(at);
    free(at);
    return cuda(false);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int, cudaStream_t)
{
    if (wrong()) return last;
    memcpy(to, from, bytes);
    state.copies++;
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *s) { return created(s) ? cudaSuccess : last; }
cudaError_t cudaStreamDestroy(cudaStream_t s) { return destroyed(s) ? cudaSuccess : last; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { state.copies = 0; return cuda(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, int) { return cuda(); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, int) { return created(e) ? cudaSuccess : last; }
cudaError_t cudaEventDestroy(cudaEvent_t e) { return destroyed(e) ? cudaSuccess : last; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cuda(); }
template <class K> cudaError_t cudaFuncSetAttribute(K, int, int) { return cuda(); }

const char *cublasGetStatusString(cublasStatus_t) { return "an error"; }
cublasStatus_t cublasCreate(cublasHandle_t *h)
{
    return created(h) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
void cublasDestroy(cublasHandle_t h) { destroyed(h); }
cublasStatus_t cublasSetStream(cublasHandle_t h, cudaStream_t) { h->work = nullptr; return blas(h); }
cublasStatus_t cublasSetWorkspace(cublasHandle_t h, void *at, size_t bytes)
{
    if (memory.at(at) == std::pair(h->device, bytes)) h->work = at;
    return blas(h);
}
/* Without a work area cuBLAS would allocate one that the plan does not count. */
template <class... A> cublasStatus_t any_product(cublasHandle_t h, A...)
{
    return h->work ? blas(h) : CUBLAS_STATUS_NOT_INITIALIZED;
}
#define cublasSgemmStridedBatched any_product
#define cublasDgemmStridedBatched any_product

cufftResult cufftCreate(cufftHandle *f) { return created(f) ? CUFFT_SUCCESS : CUFFT_INTERNAL_ERROR; }
void cufftDestroy(cufftHandle f) { destroyed(f); }
cufftResult cufftSetAutoAllocation(cufftHandle f, int) { return fft(f); }
cufftResult cufftMakePlanMany(cufftHandle f, int, int *size, int *, int, int, int *, int, int, int, int many,
                              size_t *bytes)
{
    *bytes = f->needs = (size_t)size[0] * (size_t)many * 2 * sizeof(real);
    return fft(f);
}
cufftResult cufftSetWorkArea(cufftHandle f, void *at) { f->work = at; return fft(f); }
cufftResult cufftSetStream(cufftHandle f, cudaStream_t) { return fft(f); }
template <class T> cufftResult transform(cufftHandle f, T *, T *, int)
{
    return f->work && memory.at(f->work).second >= f->needs ? fft(f) : CUFFT_INTERNAL_ERROR;
}
#define cufftExecC2C transform
#define cufftExecZ2Z transform

/* Runs no kernel.  A failed launch sets the last error. */
auto launched(dim3, int, size_t, cudaStream_t s)
{
    (void)wrong(true, s);
    return [](auto...) {};
}

} // namespace gpu

/* ---- device_gpu.cu, compiled against it ----------------------------------------------------- */

#define __CUDACC__
#define __global__
#define __device__
#define __align__(bytes) alignas(bytes)
#define DEVICE_LAUNCH(kernel, ...) launched(__VA_ARGS__)

namespace gpu {
#include "../../fast/cuda/device_gpu.cu"
}

/* ---- a form, and access for the suite ------------------------------------------------------- */

namespace gpu {

struct copying : device {
    array<real> w, b, other, points;
};

const size_t size[] = {3};
const real weights[9] = {}, *const given = weights;

status prepare(struct plan *plan)
{
    struct copying *on = (struct copying *)plan->state;
    on->plan = plan;
    on->forks = true;
    device_reals(on, &on->x, "x", 2, 3);
    device_reals(on, &on->y, "y", 2, 3);
    device_tensor(on, &on->w, "w", &given, 3, 3);
    device_tensor(on, &on->b, "b", &given, 3);
    device_reals(on, &on->other, "the branch's y", 2, 3);
    device_reals(on, &on->points, "points", 3, 4, 2);
    device_fourier_reals(on, 0, 1, size, 4);
    return arena_status(&plan->arena);
}

void load_points(struct copying *on, const void *) { device_fourier_load(on, 0, on->points, 1, size, 4); }

void branch(struct plan *plan)
{
    struct copying *on = (struct copying *)plan->state;
    device_linear(on, on->other, on->x, on->w, on->b, 2, 3, 3);
}

status run(struct plan *plan, real *y, const real *x)
{
    struct copying *on = (struct copying *)plan->state;
    device_upload(on, on->x, x, RUNTIME_REALS);
    for (int n = first; n < first + 3; n++) {
        if (n % 3 == 0) LAUNCH(on, add_bias, 1, 32, DEVICE_SHARED + 1, on->y, on->b, 6, 3);
        if (n % 3 == 1) device_fourier(on, 0, on->points, false);
        if (n % 3 < 2) continue;
        device_fork(plan, branch);
        device_linear(on, on->y, on->x, on->w, on->b, 2, 3, 3);
        device_join(on);
    }
    device_download(on, y, on->x, RUNTIME_REALS);
    return device_status(on);
}

void release(struct plan *plan) { device_release((struct device *)plan->state); }

} // namespace gpu

extern "C" {

const struct form on_the_runtime = {"copying", sizeof(struct gpu::copying), gpu::prepare,
                                     gpu::device_form_load<gpu::load_points>, gpu::run, gpu::release, nullptr};

void runtime_open(int of)
{
    using namespace gpu;
    capability = of;
    current = calls = failing = first = 0;
    last = cudaSuccess;
    state = {};
}
void runtime_fail(int call)
{
    gpu::calls = 0;
    gpu::failing = call;
    gpu::state.came = gpu::state.failed = false;
}
void runtime_first(int step) { gpu::first = step; }
struct runtime_state runtime_state(void)
{
    gpu::state.error_left = gpu::last != gpu::cudaSuccess;
    return gpu::state;
}

const struct cuda_plugin *runtime_plugin(void) { return gpu::twicetold_cuda_plugin(); }
size_t runtime_shared_bytes(int blocks) { return gpu::device_shared_bytes(blocks); }
status runtime_tensor_cores(const struct plan *plan) { return gpu::device_tensor_cores(plan); }

}
