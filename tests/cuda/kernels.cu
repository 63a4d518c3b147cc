/* kernels.cu -- small kernels that test the emulator; see kernels.h
 *
 * FAULT, CORRECT and COUNTED define a kernel and list its launch with the expected message, outputs or counts.  AT
 * marks the lines that a message may name; which of them depends on the order of threads. */

#include "../../fast/cuda/device.h"
#include "kernels.h"
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <vector>

struct fault faults[64];
struct correct correct[32];
struct counted counted[64];
int fault_count, correct_count, counted_count;

namespace {

constexpr int B = 64;                   /* threads of most blocks */
constexpr int W = sizeof(real) / 4;     /* words of a real */

thread_local int marked[4], marks;
#define AT mark(__LINE__);
void mark(int line)
{
    for (int n = 0; n < marks; n++) if (marked[n] == line) return;
    if (marks < 4) marked[marks++] = line;
}

/* ---- macros that define, run and list a kernel --------------------------------------------------- */

/* Copies x and y to emulated arrays, launches, and copies y back. */
template <class Launch> status with_arrays(real *y, const real *x, Launch launch)
{
    std::vector<emulator::trace> of_x(KERNEL_REALS * W), of_y(KERNEL_REALS * W);
    std::vector<real> to(KERNEL_REALS + 64), from(KERNEL_REALS + 64);
    auto lined_up = [](std::vector<real> &v) { return v.data() + (256 - (uintptr_t)v.data() % 256) / sizeof(real); };
    real *target = lined_up(to), *source = lined_up(from);
    memcpy(target, y, KERNEL_REALS * sizeof *y);
    memcpy(source, x, KERNEL_REALS * sizeof *x);
    marks = 0;
    status s = launch(array<real>{target, of_y.data(), KERNEL_REALS, 0},
                      reals{source, of_x.data(), KERNEL_REALS, 0});
    memcpy(y, target, KERNEL_REALS * sizeof *y);
    return s;
}

#define RUN(kernel, blocks, threads, bytes) \
    [](real *y, const real *x) { \
        return with_arrays(y, x, [](array<real> to, reals from) { \
            return emulator::launch(#kernel, blocks, threads, bytes, [=] { kernel(to, from, (int)threadIdx.x); }); \
        }); \
    }

template <class T, size_t SIZE> int listed(T (&table)[SIZE], int *count, std::initializer_list<T> rows)
{
    if (*count + rows.size() > SIZE) abort();
    for (const T &row : rows) table[(*count)++] = row;
    return *count;
}
#define LIST(table, count, id, ...) [[maybe_unused]] const int table##_##id = listed(table, &count, {__VA_ARGS__});
/* t: the thread's index. */
#define KERNEL(name) \
    __global__ void name([[maybe_unused]] array<real> y, [[maybe_unused]] reals x, [[maybe_unused]] int t)

#define FAULT(name, blocks, threads, bytes, message) \
    KERNEL(name); \
    LIST(faults, fault_count, name, {#name, message, RUN(name, blocks, threads, bytes), 0, false}) \
    KERNEL(name)

/* y[i] as a function of x and i, in double. */
struct doubles { const real *at; double operator[](int i) const { return (double)at[i]; } };
#define EXPECT(value) \
    [](const real *of, [[maybe_unused]] int i) -> double { [[maybe_unused]] doubles x = {of}; return value; }

#define CORRECT(name, blocks, threads, bytes, outputs, value) \
    KERNEL(name); \
    LIST(correct, correct_count, name, {#name, RUN(name, blocks, threads, bytes), EXPECT(value), outputs}) \
    KERNEL(name)

double sum(doubles x, int from, int count)
{
    double all = 0;
    for (int n = from; n < from + count; n++) all += x[n];
    return all;
}
int positive(doubles x, int from, int count)
{
    int all = 0;
    for (int n = from; n < from + count; n++) all += x[n] > 0;
    return all;
}
double squares(doubles x, int count)
{
    double all = 0;
    for (int n = 0; n < count; n++) all += x[n] * x[n];
    return all;
}

/* The counts in the order of `counts`, without zeros at the end. */
#define COUNTS(name, kernel, blocks, threads, ...) \
    {name, RUN(kernel, blocks, threads, 0), counts(blocks, threads, __VA_ARGS__)}
#define COUNTED(name, blocks, threads, ...) \
    KERNEL(name); \
    LIST(counted, counted_count, name, COUNTS(#name, name, blocks, threads, __VA_ARGS__)) \
    KERNEL(name)

struct launch_counts counts(unsigned blocks, unsigned threads, size_t shared_bytes, unsigned requests, unsigned sectors,
                            unsigned asked, unsigned touched, unsigned shared_requests = 0, unsigned wavefronts = 0,
                            unsigned partial = 0, unsigned barriers = 0, unsigned exchanges = 0, unsigned atomics = 0,
                            unsigned products = 0)
{
    return {"", blocks, threads, shared_bytes, requests, sectors, asked, touched, shared_requests, wavefronts, partial,
            barriers, exchanges, atomics, products};
}

/* ---- faults ------------------------------------------------------------------------------ */

FAULT(no_barrier, 1, B, 0, "and no barrier between")
{
    SHARED(real, s, B);
    AT s[t] = x[t];
    AT y[t] = s[B - 1 - t];
}

FAULT(no_barrier_before_the_next_tile, 1, B, 0, "and no barrier between")
{
    SHARED(real, s, B);
    real sum = 0;
    for (int tile = 0; tile < 2; tile++) {
        AT s[t] = x[tile * B + t];
        __syncthreads();
        AT sum += s[B - 1 - t];
    }
    y[t] = sum;
}

FAULT(no_barrier_in_device_memory, 1, B, 0, "and no barrier between")
{
    AT y[t] = x[t];
    AT y[B + t] = y[B - 1 - t];
}

FAULT(a_barrier_that_some_miss, 2, B, 0, "waits at a barrier that thread 5 does not reach")
{
    if (t == 5) return;
    AT __syncthreads();
    y[t] = x[t];
}

FAULT(two_barriers, 1, B, 0, "waits at this barrier, and thread")
{
    y[t] = x[t];
    if (t % 2) { AT __syncthreads(); }
    else { AT __syncthreads(); }
}

FAULT(blocks_that_write_one_word, 3, B, 0, "writes a word that another block wrote")
{
    AT if (t == 0) y[0] = x[blockIdx.x];
}

FAULT(a_block_that_reads_anothers, 2, B, 0, "a word that another block")
{
    int i = blockIdx.x * B + t;
    AT y[i] = x[i];
    AT if (i >= B) y[1024 + i] = y[i - B];
    AT if (i < B) y[2048 + i] = y[i + B];
}

/* Each half synchronizes, and reads the other half's words. */
FAULT(half_a_warp_that_meets, 1, 32, 0, "a word that another thread of the warp")
{
    SHARED(real, s, 32);
    AT s[t] = x[t];
    if (t < 16) __syncwarp(0x0000ffffu);
    else __syncwarp(0xffff0000u);
    AT y[t] = s[t ^ 16];
}

/* A shuffle orders no memory. */
FAULT(a_shuffle_for_a_barrier, 1, 32, 0, "and no barrier between")
{
    SHARED(real, s, 32);
    AT s[t] = x[t];
    real other = __shfl_xor_sync(~0u, (real)t, 1);
    AT y[t] = s[t ^ 1] + other;
}

FAULT(a_shuffle_with_absent_lanes, 1, 32, 0, "waits for lanes ffffffff of warp 0, and not all")
{
    real v = x[t];
    if (t < 16) { AT v = __shfl_xor_sync(~0u, v, 1); }
    y[t] = v;
}

FAULT(a_shuffle_of_others, 1, 32, 0, "is not in its own mask 0000ffff")
{
    AT y[t] = __shfl_sync(0x0000ffffu, (real)x[t], 0);
}

FAULT(a_shuffle_from_outside_its_mask, 1, 32, 0, "takes from lane 20, which mask 0000ffff does not name")
{
    real v = x[t];
    if (t < 16) { AT v = __shfl_sync(0x0000ffffu, v, 20); }
    y[t] = v;
}

FAULT(atomics_and_a_plain_read, 1, B, 0, "and no barrier between")
{
    AT atomic_add(y, 0, (real)x[t]);
    AT if (t == 7) y[1] = y[0];
}

FAULT(atomics_and_a_plain_write, 1, B, 0, "and no barrier between")
{
    AT if (t == 7) y[0] = 0;
    AT atomic_add(y, 0, (real)x[t]);
}

FAULT(atomics_of_blocks_and_a_plain_read, 2, B, 0, "another block")
{
    AT if (t == 0) atomic_add(y, 0, (real)x[blockIdx.x]);
    __syncthreads();
    AT if (t == 1) y[1 + blockIdx.x] = y[0];
}

FAULT(below_the_array, 1, B, 0, "element -1 of an array of 4096")
{
    AT y[t] = x[t - 1];
}

/* Sums of three neighbours: B outputs need B + 2 inputs, not B + 1. */
FAULT(a_halo_off_by_one, 1, B, 0, "element 65 of an array of 65")
{
    SHARED(real, s, B + 1);
    s[t] = x[t];
    if (t < 1) s[B + t] = x[B + t];
    __syncthreads();
    AT y[t] = s[t] + s[t + 1] + s[t + 2];
}

FAULT(a_wide_load_off_its_place, 1, B, 0, "4 elements from element")
{
    AT pack<real, 4> v = load<4>(x, 4 * t + 2);
    y[t] = v[0];
}

FAULT(a_wide_store_beyond_the_array, 1, B, 0, "element 4096 of an array of 4096")
{
    pack<real, 4> v = load<4>(x, 0);
    AT store(y, 4 * (KERNEL_REALS / 4 - B + 1 + t), v);
}

FAULT(an_array_that_is_not_there, 1, B, 0, "of an array that is not there")
{
    reals bias = {};
    AT y[t] = x[t] + bias[t];
}

FAULT(too_much_static_memory, 1, B, 0, "bytes of static shared memory, expected at most 49152")
{
    AT SHARED(real, s, 12289);
    s[t] = x[t];
    y[t] = s[t];
}

FAULT(too_much_memory_of_both_kinds, 1, B, 226 << 10, "bytes of shared memory, expected at most 232448")
{
    AT SHARED(real, s, 1024);
    s[t] = x[t];
    y[t] = s[t];
}

/* A lane's part of a product: small whole numbers, which TF32 represents exactly. */
struct parts { uint32_t a[4], b[2]; float sums[4]; };
parts of_lane(int t) { return {{tf32_of((float)t), 0, 0, 0}, {tf32_of(1), 0}, {0, 0, 0, 0}}; }

FAULT(half_a_product, 1, 32, 0, "waits for lanes ffffffff of warp 0, and not all")
{
    parts p = of_lane(t);
    AT if (t < 16) multiply_tf32(p.sums, p.a, p.b); else multiply_bf16(p.sums, p.a, p.b);
    y[t] = x[t] + (real)p.sums[0];
}

FAULT(a_factor_that_is_not_rounded, 1, 32, 0, "a factor of 1.00024414, which has more digits than TF32")
{
    parts p = of_lane(t);
    p.b[0] = __float_as_uint(1 + 0x1p-12f);
    AT multiply_tf32(p.sums, p.a, p.b);
    y[t] = x[t] + (real)p.sums[0];
}

/* A product orders no memory. */
FAULT(a_product_for_a_barrier, 1, 32, 0, "and no barrier between")
{
    SHARED(real, s, 32);
    parts p = of_lane(t);
    AT s[t] = x[t];
    multiply_tf32(p.sums, p.a, p.b);
    AT y[t] = s[t ^ 1] + (real)p.sums[0];
}

__global__ void nothing() {}

FAULT(a_launch_in_a_launch, 1, 1, 0, "launched from a kernel")
{
    AT status s = emulator::launch("inner", 1, 1, 0, [] { nothing(); });
    emulator::fault(emulator::place(x ? 0 : 1, __FILE__, marked[0]), "%s", s.message);
}

#if !defined __SANITIZE_ADDRESS__
/* 130 KiB on a stack of 128 KiB. */
FAULT(too_much_stack, 1, B, 0, "a thread needs more than 131072 bytes of stack")
{
    volatile char deep[130 << 10];
    for (size_t n = 0; n < sizeof deep; n += 64) deep[n] = (char)n;
    y[t] = x[t] + deep[64 * t];
}
#endif

/* ---- correct kernels ---------------------------------------------------------------------- */

CORRECT(copies, 8, 128, 0, 1000, x[i])
{
    int i = blockIdx.x * blockDim.x + t;
    if (i < 1000) y[i] = x[i];
}

/* 16 KiB static; launches add dynamic shared memory. */
CORRECT(sixteen_kibibytes, 1, B, 32 << 10, B, x[i])
{
    AT SHARED(float, s, 4096);
    s[t] = (float)x[t];
    y[t] = (real)s[t];
}

CORRECT(reads_what_nobody_wrote, 1, B, 0, B, NAN)
{
    SHARED(real, s, B);
    y[t] = s[t];
}

/* A sum by halving in shared memory: __syncwarp separates reads and writes. */
CORRECT(sums_a_warp, 1, 128, 0, 128, sum(x, i / 32 * 32, 32))
{
    SHARED(real, s, 128);
    int lane = t % 32;
    s[t] = x[t];
    for (int by = 16; by > 0; by /= 2) {
        __syncwarp();
        if (lane < by) s[t] += s[t + by];
    }
    __syncwarp();
    y[t] = s[t - lane];
}

CORRECT(sums_by_shuffles, 1, 128, 0, 128, sum(x, i / 32 * 32, 32))
{
    real sum = x[t];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
    y[t] = sum;
}

/* Each half of a warp exchanges and synchronizes by its own mask. */
CORRECT(halves_apart, 1, 32, 0, 32, x[i ^ 1] + x[i ^ 1 ^ 8])
{
    SHARED(real, s, 32);
    unsigned mask = t < 16 ? 0x0000ffffu : 0xffff0000u;
    s[t] = x[t];
    __syncwarp(mask);
    real sum = s[t ^ 8];
    sum += __shfl_xor_sync(mask, sum, 8);
    __syncwarp(mask);
    s[t] = sum;
    __syncwarp(mask);
    y[t] = s[t ^ 1];
}

/* __syncwarp does not wait for lanes that have ended. */
CORRECT(some_have_left, 1, 32, 0, 32, i % 4 == 3 ? 0 : x[i % 4 == 2 ? i - 2 : i + 1])
{
    SHARED(real, s, 32);
    if (t % 4 == 3) return;
    s[t] = x[t];
    __syncwarp();
    y[t] = s[t % 4 == 2 ? t - 2 : t + 1];
}

/* Two tiles take turns: a barrier per tile separates its reads from the writes two tiles later. */
CORRECT(adds_tiles, 1, B, 0, B, x[B - 1 - i] + x[2 * B - 1 - i] + x[3 * B - 1 - i])
{
    SHARED(real, s, 2 * B);
    real sum = 0;

    /* Step 1: a barrier for each tile. */
    for (int tile = 0; tile < 3; tile++) {
        s[tile % 2 * B + t] = x[tile * B + t];
        __syncthreads();
        sum += s[tile % 2 * B + B - 1 - t];
    }

    y[t] = sum;
}

/* 33 columns, so that a column of the tile has a word of each bank. */
CORRECT(transposes, 1, 32, 0, 1024, x[i % 32 * 32 + i / 32])
{
    SHARED(real, tile, 32 * 33);
    for (int r = 0; r < 32; r++) tile[33 * r + t] = x[32 * r + t];
    __syncwarp();
    for (int r = 0; r < 32; r++) y[32 * r + t] = tile[33 * t + r];
}

CORRECT(votes, 1, 96, 0, 96, 1000 + positive(x, i / 32 * 32, 32))
{
    unsigned all = __ballot_sync(~0u, x[t] > 0);
    bool any = __any_sync(~0u, x[t] > 1e9), each = __all_sync(~0u, x[t] < 1e9);
    y[t] = (real)(__builtin_popcount(all) + 100 * any + 1000 * each);
}

CORRECT(adds_atomically, 4, B, 0, 1, sum(x, 0, 4 * B))
{
    SHARED(real, sum, 1);
    if (t == 0) sum[0] = 0;
    __syncthreads();
    atomic_add(sum, 0, (real)x[blockIdx.x * B + t]);
    __syncthreads();
    if (t == 0) atomic_add(y, 0, (real)sum[0]);
}

/* sums [16][8] + a [16][K] b [K][8]; x holds a, b and the sums.  Fragments as in NVIDIA's PTX manual (m16n8k8 of .tf32,
 * m16n8k16 of .bf16). */
template <bool PAIRS> KERNEL(multiplies)
{
    constexpr int K = PAIRS ? 16 : 8;
    int group = t >> 2, place = t & 3;
    reals a = x, b = x + 16 * K, c = x + 24 * K;
    uint32_t of_a[4], of_b[2];
    float sums[4];
    auto word = [&](reals at, int first, int step) {
        float low = (float)(real)at[first], high = PAIRS ? (float)(real)at[first + step] : 0;
        return PAIRS ? bf16_pair(low, high) : tf32_of(low);
    };
    for (int i = 0; i < 4; i++) {
        int row = i & 1 ? group + 8 : group, column = PAIRS ? place * 2 + (i >= 2 ? 8 : 0) : place + (i >= 2 ? 4 : 0);
        of_a[i] = word(a, row * K + column, 1);
        sums[i] = (float)(real)c[(i >= 2 ? group + 8 : group) * 8 + place * 2 + (i & 1)];
    }
    for (int i = 0; i < 2; i++) {
        int row = PAIRS ? place * 2 + (i ? 8 : 0) : place + (i ? 4 : 0);
        of_b[i] = word(b, row * 8 + group, 8);
    }
    if (PAIRS) multiply_bf16(sums, of_a, of_b);
    else multiply_tf32(sums, of_a, of_b);
    for (int i = 0; i < 4; i++)
        y[(i < 2 ? group : group + 8) * 8 + place * 2 + (i & 1)] = (real)sums[i];
}
double product(doubles x, int depth, int i)
{
    double all = x[24 * depth + i];
    for (int k = 0; k < depth; k++) all += x[i / 8 * depth + k] * x[16 * depth + k * 8 + i % 8];
    return all;
}

#define PRODUCT(name, pairs) {name, RUN(multiplies<pairs>, 1, 32, 0), EXPECT(product(x, pairs ? 16 : 8, i)), 128}
LIST(correct, correct_count, products, PRODUCT("TF32", false), PRODUCT("BF16", true))
LIST(correct, correct_count, shapes,
     {"64 KiB of both kinds, requested", RUN(sixteen_kibibytes, 1, B, (48 << 10) + 4), EXPECT(x[i]), B},
     {"a full block", RUN(copies, 1, 1024, 0), EXPECT(x[i]), 1000},
     {"a thread alone", RUN(copies, 1000, 1, 0), EXPECT(x[i]), 1000})

/* device_place fills arrays with NaN. */
status placed_array(real *y, const real *)
{
    std::vector<emulator::trace> traces((size_t)(B * W));
    std::vector<real> memory(B, 1);
    array<real> a = {memory.data(), traces.data(), B, 0};
    struct device d = {};
    d.held[d.arrays++] = {&a, B * sizeof(real), "a", nullptr};
    device_place(&d);
    memcpy(y, memory.data(), B * sizeof(real));
    return status_ok();
}
LIST(correct, correct_count, placed, {"an array of the device that nobody wrote", placed_array, EXPECT(NAN), B})

/* ---- counted --------------------------------------------------------------------------------- */

/* 32 adjacent reals are 4 W sectors, 128 W bytes. */
COUNTED(in_step, 1, 64, 0, 4, 16 * W, 512 * W, 512 * W) { y[t] = x[t]; }
LIST(counted, counted_count, half_a_block, COUNTS("half a block", in_step, 1, 48, 0, 4, 12 * W, 384 * W, 384 * W))
COUNTED(in_strides, 1, 32, 0, 2, 32 + 4 * W, 256 * W, 32 * (32 + 4 * W)) { y[t] = x[32 * t]; }
COUNTED(one_word_for_all, 1, 32, 0, 2, 1 + 4 * W, 256 * W, 32 * (1 + 4 * W)) { y[t] = x[5]; }
COUNTED(off_by_one, 1, 32, 0, 2, 8 * W + 1, 256 * W, 32 * (8 * W + 1)) { y[t] = x[t + 1]; }
COUNTED(by_fours, 1, 32, 0, 2, 32 * W, 1024 * W, 1024 * W) { store(y, 4 * t, load<4>(x, 4 * t)); }
COUNTED(eight_of_a_warp, 1, 32, 0, 2, 2 * W, 64 * W, 64 * W, 0, 0, 2)
{
    if (t < 8) y[t] = x[t];
}
COUNTED(again_and_again, 1, 32, 0, 11, 44 * W, 11 * 128 * W, 256 * W)
{
    real sum = 0;
    for (int n = 0; n < 10; n++) sum += x[t];
    y[t] = sum;
}

LIST(counted, counted_count, tiles,
     COUNTS("two tiles", adds_tiles, 1, B, 128 * sizeof(real), 8, 32 * W, 1024 * W, 1024 * W, 12 * W, 12 * W, 0, 3),
     COUNTS("a transpose", transposes, 1, 32, 1056 * sizeof(real), 64, 256 * W, 8192 * W, 8192 * W, 64 * W, 64 * W))

template <int STRIDE> KERNEL(at_stride)
{
    SHARED(real, s, 32 * STRIDE + 1);
    s[STRIDE * t] = x[t];
    y[t] = s[STRIDE * t];
}
#define STRIDE(n, cycles) \
    COUNTS("stride " #n, at_stride<n>, 1, 32, (32 * n + 1) * sizeof(real), 2, 8 * W, 256 * W, 256 * W, 2 * W, cycles)
LIST(counted, counted_count, strides, STRIDE(1, 2 * W), STRIDE(2, 4 * W), STRIDE(32, 64), STRIDE(33, 2 * W))

COUNTED(one_shared_word, 1, 64, 4 * W, 3, 8 * W + 1, 260 * W, 256 * W + 32, 3, 3, 2, 1)
{
    SHARED(real, s, 1);
    if (t == 0) s[0] = x[0];
    __syncthreads();
    y[t] = s[0];
}

/* Half of the lanes read device memory, the others shared memory on the same line. */
COUNTED(both_memories_at_a_line, 1, 32, 128 * W, 3, 10 * W, 320 * W, 256 * W, 2 * W, 2 * W, 2)
{
    SHARED(real, s, 32);
    s[t] = x[t];
    __syncwarp();
    y[t] = t < 16 ? x[t] : (real)s[t];
}

/* The eight lanes of each quarter of the warp use the same four banks; no other quarter uses them. */
COUNTED(quarters_share_a_bank, 1, 32, 4096, 2, 8 * W, 256 * W, 256 * W, 4, 32)
{
    SHARED(float, s, 1024);
    store(s, t % 8 * 128 + t / 8 * 4, pack<float, 4>{{(float)x[t], 0, 0, 0}});
    y[t] = (real)0;
}

/* The first LANES lanes load WIDE adjacent floats each.  Lanes n and n ^ BY load the same ones (BY = 0: all lanes, 32:
 * none), except for lane ODD. */
template <int WIDE, int BY, int LANES = 32, int ODD = 32> KERNEL(wide_shared_loads)
{
    SHARED(float, s, 128);
    constexpr int PAIR = BY ? BY : 1;
    int from = BY ? t % PAIR + t / (2 * PAIR) * PAIR : 0;
    real v = x[t];
    for (int n = 0; n < 4; n++) s[32 * n + t] = (float)v;
    __syncwarp();
    if (t == ODD) from = 16;
    if (t < LANES) v += (real)load<WIDE>(s, WIDE * from)[0];
    y[t] = v;
}
/* Four stores of 4 bytes, and a load that takes `cycles`. */
#define WIDE(name, cycles, partial, ...) \
    COUNTS(name, (wide_shared_loads<__VA_ARGS__>), 1, 32, 512, 2, 8 * W, 256 * W, 256 * W, 4 + cycles, 4 + cycles, \
           partial)
LIST(counted, counted_count, wide,
     WIDE("16 bytes", 4, 0, 4, 32), WIDE("16 bytes, one address", 2, 0, 4, 0),
     WIDE("16 bytes, n and n ^ 1", 2, 0, 4, 1), WIDE("16 bytes, n and n ^ 2", 2, 0, 4, 2),
     WIDE("16 bytes, n and n ^ 4", 4, 0, 4, 4),
     WIDE("16 bytes, one pair differs", 4, 0, 4, 1, 32, 31), WIDE("16 bytes, half a warp", 4, 1, 4, 32, 16),
     WIDE("16 bytes, one lane of a pair", 2, 1, 4, 1, 31),
     WIDE("8 bytes", 2, 0, 2, 32), WIDE("8 bytes, one address", 1, 0, 2, 0), WIDE("8 bytes, n and n ^ 1", 1, 0, 2, 1),
     WIDE("8 bytes, n and n ^ 2", 1, 0, 2, 2), WIDE("8 bytes, n and n ^ 4", 2, 0, 2, 4),
     WIDE("8 bytes, half a warp", 2, 1, 2, 32, 16))

/* In each iteration more lanes read one word.  The warp synchronizes after each: a lane's first access is not grouped
 * with the first of other lanes. */
COUNTED(some_turns_of_a_loop, 1, 32, 0, 5, 4 + 4 * W, 448 * W, 128 + 128 * W, 0, 0, 3)
{
    real sum = 0;
    for (int turn = 0; turn < 4; turn++) {
        if (t / 8 <= turn) sum += x[32 * turn];
        __syncwarp();
    }
    y[t] = sum;
}

COUNTED(products_of_warps, 1, 64, 0, 4, 16 * W, 512 * W, 512 * W, 0, 0, 0, 0, 0, 0, 8)
{
    parts p = of_lane(t);
    for (int n = 0; n < 3; n++) multiply_tf32(p.sums, p.a, p.b);
    multiply_bf16(p.sums, p.a, p.b);
    y[t] = x[t] + (real)p.sums[0];
}

COUNTED(exchanges_and_atomics, 2, 32, 0, 4, 8 * W + 2, 512 * W, 128 * W + 32, 0, 0, 0, 4, 4, 64)
{
    real v = x[t];
    v += __shfl_xor_sync(~0u, v, 1);
    if (__any_sync(~0u, v > 0)) atomic_add(y, 0, v);
    __syncthreads();
    __syncthreads();
}

/* Kernels that are correct in launches of another shape. */
#define SHAPE(name, message, ...) {name, message, RUN(__VA_ARGS__), 0, false}
LIST(faults, fault_count, shapes,
     SHAPE("a shuffle in half a block", "waits for lanes ffffffff of warp 1, and not all", sums_by_shuffles, 1, 48, 0),
     SHAPE("a product in half a warp", "waits for lanes ffffffff of warp 1, and not all", products_of_warps, 1, 48, 0),
     SHAPE("static memory in addition to all of the dynamic",
           "found 65536 bytes of static and dynamic shared memory, expected at most 49152",
           sixteen_kibibytes, 1, B, 48 << 10),
     SHAPE("one word too much of both kinds",
           "found 49156 bytes of static and dynamic shared memory, expected at most 49152",
           sixteen_kibibytes, 1, B, (32 << 10) + 4))

/* ---- two branches --------------------------------------------------------------------------- */

/* State of a form with branches. */
struct forked {
    struct device device;
    array<real> y;
    reals x;
};
struct forked *forked_of(struct plan *plan) { return (struct forked *)plan->state; }

KERNEL(writes_first) { AT y[t] = x[t]; }
KERNEL(writes_second) { AT y[B + t] = x[t]; }
KERNEL(reads_first) { AT y[2 * B + t] = y[t]; }
KERNEL(reads_first_too) { AT y[3 * B + t] = y[t]; }
KERNEL(reads_both) { y[2 * B + t] = y[t] + y[B + t] + x[t]; }
KERNEL(adds_to_the_first) { AT atomic_add(y, 0, (real)1); }
__global__ void takes_a_ticket(array<real> y, real name) { y[(int)atomic_add(y, 2, (real)1)] = name; }

/* Branches that launch one kernel or two, or call the library. */
#define CALL(...) [](struct plan *p) { struct forked *f = forked_of(p); struct device *d = &f->device; __VA_ARGS__; }
#define LAUNCHED(kernel) LAUNCH(d, kernel, 1, B, 0, f->y, f->x, (int)threadIdx.x)
#define ONE(kernel) CALL(LAUNCHED(kernel))
#define TWO(first, then) CALL(LAUNCHED(first); LAUNCHED(then))
using branch_of = void (*)(struct plan *);

/* Forks `branch`, runs `other`, joins if `joins`, and runs `after`. */
status run_branches(array<real> y, reals x, branch_of branch, branch_of other, bool joins, branch_of after)
{
    struct plan plan = {};
    struct forked f = {};
    plan.state = &f;
    f.device.forks = true;
    f.y = y;
    f.x = x;
    device_fork(&plan, branch);
    if (other) other(&plan);
    if (joins) device_join(&f.device);
    if (after) after(&plan);
    return device_status(&f.device);
}
#define RUN_BRANCHES(...) \
    [](real *y, const real *x) { \
        return with_arrays(y, x, [](array<real> to, reals from) { \
            return run_branches(to, from, __VA_ARGS__); \
        }); \
    }

/* Library calls that access the first or second B numbers of y. */
const branch_of reads = CALL(device_linear(d, f->y + 2 * B, f->y, f->x, {}, 1, B, 1));
const branch_of writes = CALL(device_linear(d, f->y, f->x, f->x, {}, 1, B, 1));
#define PRODUCTS(...) CALL(device_product(d, f->y + 2 * B, __VA_ARGS__))
const branch_of left_of_both = PRODUCTS({f->y, false, 0}, {f->x, false, 0}, 8, B / 4, 1, 1);
const branch_of right_of_both = PRODUCTS({f->x, false, 0}, {f->y, false, 0}, 1, B / 4, 8, 1);
const branch_of second = PRODUCTS({f->y, false, B}, {f->x, false, 0}, 1, B / 4, 1, 2);

status fork_that_was_not_declared(real *, const real *)
{
    struct plan plan = {};
    struct forked f = {};
    plan.state = &f;
    device_fork(&plan, ONE(writes_first));
    return device_status(&f.device);
}

#define BRANCHES(name, message, launches_before, library, ...) \
    {name, message, RUN_BRANCHES(__VA_ARGS__), launches_before, library}
LIST(faults, fault_count, branches,
     BRANCHES("a join that is missing", "a word that the other branch", 1, false,
              ONE(writes_first), nullptr, false, ONE(reads_first)),
     BRANCHES("a join after the race", "a word that the other branch", 1, false,
              ONE(reads_first), ONE(writes_first), true, nullptr),
     BRANCHES("branches that write one word", "writes a word that the other branch wrote", 1, false,
              ONE(writes_first), ONE(writes_first), true, nullptr),
     BRANCHES("two branches read, then one writes", "a word that the other branch", 2, false,
              ONE(reads_first_too), TWO(reads_first, writes_first), true, nullptr),
     BRANCHES("one branch adds, the other reads", "a word that the other branch", 1, false,
              ONE(adds_to_the_first), ONE(reads_first), true, nullptr),
     BRANCHES("two branches add, then one reads", "a word that the other branch", 2, false,
              ONE(adds_to_the_first), TWO(adds_to_the_first, reads_first), true, nullptr),
     BRANCHES("the library reads what the other branch writes", "the other branch", 1, true,
              reads, ONE(writes_first), true, nullptr),
     BRANCHES("the library writes what the other branch reads", "the other branch", 1, true,
              ONE(reads_first), writes, true, nullptr),
     BRANCHES("the other branch writes the left factor", "the other branch", 1, true,
              left_of_both, ONE(writes_second), true, nullptr),
     BRANCHES("the other branch writes the right factor", "the other branch", 1, true,
              right_of_both, ONE(writes_second), true, nullptr),
     BRANCHES("the other branch writes a factor of the last of two products", "the other branch", 1, true,
              second, ONE(writes_second), true, nullptr),
     BRANCHES("the library in both branches", "an array: the library", 0, true, reads, writes, true, nullptr),
     BRANCHES("a branch in a branch", "a branch in a branch", 0, true,
              [](struct plan *plan) { device_fork(plan, ONE(writes_first)); }, nullptr, true, nullptr),
     {"a fork that was not declared", "of a form that does not declare that it forks", fork_that_was_not_declared, 0,
      true})

LIST(correct, correct_count, branches,
     {"branches that join", RUN_BRANCHES(ONE(writes_first), ONE(writes_second), true, ONE(reads_both)),
      EXPECT((i < 2 * B ? 1 : 3) * x[i % B]), 3 * B},
     {"branches that both add", RUN_BRANCHES(ONE(adds_to_the_first), ONE(adds_to_the_first), true, ONE(reads_first)),
      EXPECT(i % (2 * B) == 0 ? 128 : 0), 3 * B},
     {"libraries that join", RUN_BRANCHES(writes, ONE(writes_second), true, reads), EXPECT(squares(x, B)), 1})

/* Threads record their order. */
KERNEL(tickets) { y[(int)atomic_add(y, TICKETS, (real)1)] = (real)(blockIdx.x * blockDim.x + t); }

} // namespace

float rounded(float value, int digits)
{
    if (digits == 11) return __uint_as_float(tf32_of(value));
    uint32_t lower = bf16_pair(value, 0) << 16, upper = bf16_pair(0, value);
    return lower == upper ? __uint_as_float(upper) : 0;
}

bool names_a_marked_line(const char *message)
{
    char line[40];
    for (int n = 0; n < marks; n++) {
        snprintf(line, sizeof line, "kernels.cu:%d:", marked[n]);
        if (strstr(message, line)) return true;
    }
    return marks == 0;          /* a fault of the whole launch */
}

status launch_nothing(size_t x, size_t y, size_t z, size_t across, size_t down, size_t deep, size_t bytes)
{
    return emulator::launch("nothing", dim3(x, y, z), dim3(across, down, deep), bytes, [] { nothing(); });
}

status tensor_product(real *y, const real *x)
{
    status (*run)(real *, const real *) = RUN(products_of_warps, 1, 32, 0);
    return run(y, x);
}

bool branch_comes_first(void)
{
    real y[KERNEL_REALS] = {};
    status (*run)(real *, const real *) =
        RUN_BRANCHES(CALL(LAUNCH(d, takes_a_ticket, 1, 1, 0, f->y, (real)1)),
                     CALL(LAUNCH(d, takes_a_ticket, 1, 1, 0, f->y, (real)2)), true, nullptr);
    run(y, y);
    return y[0] == 1;
}

status take_tickets(real *y)
{
    status (*run)(real *, const real *) = RUN(tickets, 3, 64, 0);
    y[TICKETS] = 0;
    return run(y, y);
}
