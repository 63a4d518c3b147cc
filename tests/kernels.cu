/* kernels.cu -- small kernels that the emulator is proved on; see kernels.h
 *
 * AT marks the lines at which a mistake may be found: which of them it is depends on who
 * comes first. */

#include "../fast/cuda/device.h"
#include "kernels.h"
#include <cstdio>
#include <vector>

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

/* ---- with a mistake ---------------------------------------------------------------- */

__global__ void no_barrier(array<real> y, array<const real> x)
{
    SHARED(real, s, B);
    int t = threadIdx.x;
    AT s[t] = x[t];
    AT y[t] = s[B - 1 - t];
}

__global__ void no_barrier_before_the_next_tile(array<real> y, array<const real> x)
{
    SHARED(real, s, B);
    int t = threadIdx.x;
    real sum = 0;
    for (int tile = 0; tile < 2; tile++) {
        AT s[t] = x[tile * B + t];
        __syncthreads();
        AT sum += s[B - 1 - t];
    }
    y[t] = sum;
}

__global__ void no_barrier_in_device_memory(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    AT y[t] = x[t];
    AT y[B + t] = y[B - 1 - t];
}

__global__ void a_barrier_that_some_miss(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    if (t == 5) return;
    AT __syncthreads();
    y[t] = x[t];
}

__global__ void a_barrier_in_a_branch(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    if (t < 32) { AT __syncthreads(); }
    else if (t == 32) y[t] = x[t];
    else { AT __syncthreads(); }
}

__global__ void two_barriers(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    y[t] = x[t];
    if (t % 2) { AT __syncthreads(); }
    else { AT __syncthreads(); }
}

__global__ void blocks_that_write_one_word(array<real> y, array<const real> x)
{
    AT if (threadIdx.x == 0) y[0] = x[blockIdx.x];
}

__global__ void a_block_that_reads_anothers(array<real> y, array<const real> x)
{
    int i = blockIdx.x * B + threadIdx.x;
    AT y[i] = x[i];
    AT if (i >= B) y[1024 + i] = y[i - B];
    AT if (i < B) y[2048 + i] = y[i + B];
}

__global__ void a_warp_that_does_not_meet(array<real> y, array<const real> x)
{
    SHARED(real, s, 32);
    int t = threadIdx.x;
    AT s[t] = x[t];
    AT y[t] = s[t ^ 1];
}

/* Lanes 0 to 15 meet, and lane 16 reads what lane 0 wrote. */
__global__ void half_a_warp_that_meets(array<real> y, array<const real> x)
{
    SHARED(real, s, 32);
    int t = threadIdx.x;
    AT s[t] = x[t];
    if (t < 16) __syncwarp(0x0000ffffu);
    else __syncwarp(0xffff0000u);
    AT y[t] = s[t ^ 16];
}

/* A shuffle orders no memory. */
__global__ void a_shuffle_for_a_barrier(array<real> y, array<const real> x)
{
    SHARED(real, s, 32);
    int t = threadIdx.x;
    AT s[t] = x[t];
    real other = __shfl_xor_sync(~0u, (real)t, 1);
    AT y[t] = s[t ^ 1] + other;
}

__global__ void a_shuffle_with_absent_lanes(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    real v = x[t];
    if (t < 16) { AT v = __shfl_xor_sync(~0u, v, 1); }
    y[t] = v;
}

__global__ void a_shuffle_of_others(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    AT y[t] = __shfl_sync(0x0000ffffu, (real)x[t], 0);
}

__global__ void a_shuffle_from_outside_its_mask(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    real v = x[t];
    if (t < 16) { AT v = __shfl_sync(0x0000ffffu, v, 20); }
    y[t] = v;
}

__global__ void atomics_and_a_plain_read(array<real> y, array<const real> x)
{
    AT atomic_add(y, 0, (real)x[threadIdx.x]);
    AT if (threadIdx.x == 7) y[1] = y[0];
}

__global__ void atomics_and_a_plain_write(array<real> y, array<const real> x)
{
    AT if (threadIdx.x == 7) y[0] = 0;
    AT atomic_add(y, 0, (real)x[threadIdx.x]);
}

__global__ void atomics_of_blocks_and_a_plain_read(array<real> y, array<const real> x)
{
    AT if (threadIdx.x == 0) atomic_add(y, 0, (real)x[blockIdx.x]);
    __syncthreads();
    AT if (threadIdx.x == 1) y[1 + blockIdx.x] = y[0];
}

__global__ void below_the_array(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    AT y[t] = x[t - 1];
}

__global__ void a_tail_beyond_the_array(array<real> y, array<const real> x)
{
    int i = blockIdx.x * 96 + threadIdx.x;      /* 43 * 96 = 4128 > 4096 */
    AT y[i] = x[i];
}

/* Three neighbours of B outputs are B + 2 inputs, and not B + 1. */
__global__ void a_halo_off_by_one(array<real> y, array<const real> x)
{
    SHARED(real, s, B + 1);
    int t = threadIdx.x;
    s[t] = x[t];
    if (t < 1) s[B + t] = x[B + t];
    __syncthreads();
    AT y[t] = s[t] + s[t + 1] + s[t + 2];
}

__global__ void a_wide_load_off_its_place(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    AT pack<real, 4> v = load<4>(x, 4 * t + 2);
    y[t] = v[0];
}

__global__ void a_wide_store_beyond_the_array(array<real> y, array<const real> x)
{
    pack<real, 4> v = load<4>(x, 0);
    AT store(y, 4 * (KERNEL_REALS / 4 - B + 1 + threadIdx.x), v);
}

__global__ void an_array_that_is_not_there(array<real> y, array<const real> x)
{
    array<const real> bias = {};
    AT y[threadIdx.x] = x[threadIdx.x] + bias[threadIdx.x];
}

__global__ void too_much_static_memory(array<real> y, array<const real> x)
{
    AT SHARED(real, s, 12289);
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[threadIdx.x];
}

__global__ void too_much_memory_of_both_kinds(array<real> y, array<const real> x)
{
    AT SHARED(real, s, 1024);
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[threadIdx.x];
}

/* Of static shared memory; the launch has dynamic shared memory too. */
__global__ void sixteen_kibibytes(array<real> y, array<const real> x)
{
    AT SHARED(float, s, 4096);
    s[threadIdx.x] = (float)x[threadIdx.x];
    y[threadIdx.x] = (real)s[threadIdx.x];
}

__global__ void nothing()
{
}

__global__ void a_launch_in_a_launch(array<real>, array<const real> x)
{
    AT status s = emulator::launch("inner", 1, 1, 0, [] { nothing(); });
    emulator::fault(emulator::place(x ? 0 : 1, __FILE__, marked[0]), "%s", s.message);
}

/* Of a lane's part of a product: whole numbers have few digits. */
struct parts { uint32_t a[4], b[2]; float sums[4]; };
parts of_lane(int t) { return {{tf32_of((float)t), 0, 0, 0}, {tf32_of(1), 0}, {0, 0, 0, 0}}; }

__global__ void a_product_with_absent_lanes(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    parts p = of_lane(t);
    if (t != 31) { AT multiply_tf32(p.sums, p.a, p.b); }
    y[t] = x[t] + (real)p.sums[0];
}

/* Of two kinds, at one line. */
__global__ void half_a_product(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    parts p = of_lane(t);
    AT if (t < 16) multiply_tf32(p.sums, p.a, p.b); else multiply_bf16(p.sums, p.a, p.b);
    y[t] = x[t] + (real)p.sums[0];
}

__global__ void a_factor_that_is_not_rounded(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    parts p = of_lane(t);
    p.b[0] = __float_as_uint(1 + 0x1p-12f);
    AT multiply_tf32(p.sums, p.a, p.b);
    y[t] = x[t] + (real)p.sums[0];
}

/* A product orders no memory. */
__global__ void a_product_for_a_barrier(array<real> y, array<const real> x)
{
    SHARED(real, s, 32);
    int t = threadIdx.x;
    parts p = of_lane(t);
    AT s[t] = x[t];
    multiply_tf32(p.sums, p.a, p.b);
    AT y[t] = s[t ^ 1] + (real)p.sums[0];
}

#if !defined __SANITIZE_ADDRESS__
/* 130 of 128 KiB, and what they are read for. */
__global__ void too_much_stack(array<real> y, array<const real> x)
{
    volatile char deep[130 << 10];
    for (size_t n = 0; n < sizeof deep; n += 64) deep[n] = (char)n;
    y[threadIdx.x] = x[threadIdx.x] + deep[64 * threadIdx.x];
}
#endif

/* ---- right --------------------------------------------------------------------------- */

__global__ void copies(array<real> y, array<const real> x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1000) y[i] = x[i];
}
double copied(const real *x, int i) { return (double)x[i]; }

/* What nobody wrote is not a number. */
__global__ void reads_what_nobody_wrote(array<real> y, array<const real>)
{
    SHARED(real, s, B);
    y[threadIdx.x] = s[threadIdx.x];
}
double not_a_number(const real *, int) { return NAN; }

/* Halves a block's sum until it is one. */
__global__ void sums_a_block(array<real> y, array<const real> x)
{
    SHARED(real, s, 128);
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int by = 64; by > 0; by /= 2) {
        if (t < by) s[t] += s[t + by];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = s[0];
}
double sum_of_128(const real *x, int i)
{
    double sum = 0;
    for (int n = 0; n < 128; n++) sum += (double)x[128 * i + n];
    return sum;
}

/* The same of a warp, in shared memory: reads and writes of lanes parted by __syncwarp. */
__global__ void sums_a_warp(array<real> y, array<const real> x)
{
    SHARED(real, s, 128);
    int t = threadIdx.x, lane = t % 32;
    s[t] = x[t];
    for (int by = 16; by > 0; by /= 2) {
        __syncwarp();
        if (lane < by) s[t] += s[t + by];
    }
    __syncwarp();
    y[t] = s[t - lane];
}
double sum_of_32(const real *x, int i)
{
    double sum = 0;
    for (int n = 0; n < 32; n++) sum += (double)x[i / 32 * 32 + n];
    return sum;
}

/* Each lane adds one in its turn to a word that all read before and after. */
__global__ void counts_in_turn(array<real> y, array<const real>)
{
    SHARED(real, s, 1);
    int t = threadIdx.x;
    real seen = 0;
    if (t == 0) s[0] = 0;
    for (int turn = 0; turn < 32; turn++) {
        __syncwarp();
        seen = s[0];
        __syncwarp();
        if (t == turn) s[0] += 1;
    }
    y[t] = seen;
}
double thirty_one(const real *, int) { return 31; }

__global__ void sums_by_shuffles(array<real> y, array<const real> x)
{
    int t = threadIdx.x;
    real sum = x[t];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
    y[t] = sum;
}

/* Halves of warps exchange by masks of their own, and meet by them. */
__global__ void halves_apart(array<real> y, array<const real> x)
{
    SHARED(real, s, 32);
    int t = threadIdx.x;
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
double pair_of_eights(const real *x, int i) { return (double)x[i ^ 1] + (double)x[i ^ 1 ^ 8]; }

/* Lanes that have ended are not waited for. */
__global__ void some_have_left(array<real> y, array<const real> x)
{
    SHARED(real, s, 32);
    int t = threadIdx.x;
    if (t % 4 == 3) return;
    s[t] = x[t];
    __syncwarp();
    y[t] = s[t % 4 == 2 ? t - 2 : t + 1];
}
double neighbour_of_three(const real *x, int i) { return i % 4 == 3 ? 0 : (double)x[i % 4 == 2 ? i - 2 : i + 1]; }

__global__ void votes(array<real> y, array<const real> x)
{
    unsigned all = __ballot_sync(~0u, x[threadIdx.x] > 0);
    bool any = __any_sync(~0u, x[threadIdx.x] > 1e9), each = __all_sync(~0u, x[threadIdx.x] < 1e9);
    y[threadIdx.x] = (real)(__builtin_popcount(all) + 100 * any + 1000 * each);
}
double positive_of_32(const real *x, int i)
{
    int count = 1000;
    for (int n = 0; n < 32; n++) count += x[i / 32 * 32 + n] > 0;
    return count;
}

__global__ void neighbours_of_a_tile(array<real> y, array<const real> x)
{
    SHARED(real, s, B + 2);
    int t = threadIdx.x, i = blockIdx.x * B + t;
    s[t + 1] = x[i];
    if (t == 0) s[0] = i > 0 ? x[i - 1] : (real)0;
    if (t == B - 1) s[B + 1] = x[i + 1];
    __syncthreads();
    y[i] = s[t] + s[t + 1] + s[t + 2];
}
double three_neighbours(const real *x, int i) { return (i ? (double)x[i - 1] : 0) + (double)x[i] + (double)x[i + 1]; }

__global__ void adds_atomically(array<real> y, array<const real> x)
{
    SHARED(real, sum, 1);
    if (threadIdx.x == 0) sum[0] = 0;
    __syncthreads();
    atomic_add(sum, 0, (real)x[blockIdx.x * B + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) atomic_add(y, 0, (real)sum[0]);
}
double sum_of_256(const real *x, int) { return sum_of_128(x, 0) + sum_of_128(x, 1); }

__global__ void transposes(array<real> y, array<const real> x)
{
    DYNAMIC_SHARED(real, s);
    int across = threadIdx.x, down = threadIdx.y;
    for (int r = down; r < 32; r += 8) s[r * 33 + across] = x[r * 32 + across];
    __syncthreads();
    for (int r = down; r < 32; r += 8) y[r * 32 + across] = s[across * 33 + r];
}
double transposed(const real *x, int i) { return (double)x[i % 32 * 32 + i / 32]; }

__global__ void four_at_once(array<real> y, array<const real> x)
{
    SHARED(real, s, 256);
    int t = threadIdx.x;
    store(s, 4 * t, load<4>(x, 4 * t));
    __syncthreads();
    store(y, 4 * (63 - t), load<4>(s, 4 * (63 - t)));
}

/* sums [16][8] + a [16][K] b [K][8] of x, one matrix behind the other, fragment by fragment as
 * NVIDIA's manual of PTX draws them (m16n8k8 of .tf32, m16n8k16 of .bf16).  FLAW takes one for
 * another: 1 rows of a, 2 columns of a, 3 rows of b, 4 rows of the sums, 5 halves of b's words. */
template <bool PAIRS, int FLAW> __global__ void multiplies(array<real> y, array<const real> x)
{
    constexpr int K = PAIRS ? 16 : 8;
    int lane = threadIdx.x, group = lane >> 2, place = lane & 3;
    array<const real> a = x, b = x + 16 * K, c = x + 24 * K;
    uint32_t of_a[4], of_b[2];
    float sums[4];
    auto word = [&](array<const real> at, int first, int step, bool turned) {
        float low = (float)(real)at[first], high = PAIRS ? (float)(real)at[first + step] : 0;
        return !PAIRS ? tf32_of(low) : turned ? bf16_pair(high, low) : bf16_pair(low, high);
    };
    for (int i = 0; i < 4; i++) {
        int low = FLAW == 1 ? i >= 2 : i & 1, right = FLAW == 2 ? i & 1 : i >= 2;
        int row = low ? group + 8 : group, column = PAIRS ? place * 2 + (right ? 8 : 0) : place + (right ? 4 : 0);
        of_a[i] = word(a, row * K + column, 1, false);
        int down = FLAW == 4 ? i & 1 : i >= 2;
        sums[i] = (float)(real)c[(down ? group + 8 : group) * 8 + place * 2 + (FLAW == 4 ? i >= 2 : i & 1)];
    }
    for (int i = 0; i < 2; i++) {
        int lower = FLAW == 3 ? !i : i;
        int row = PAIRS ? place * 2 + (lower ? 8 : 0) : place + (lower ? 4 : 0);
        of_b[i] = word(b, row * 8 + group, 8, FLAW == 5);
    }
    if (PAIRS) multiply_bf16(sums, of_a, of_b);
    else multiply_tf32(sums, of_a, of_b);
    for (int i = 0; i < 4; i++)
        y[(i < 2 ? group : group + 8) * 8 + place * 2 + (i & 1)] = (real)sums[i];
}
template <int K> double product_of_warp(const real *x, int i)
{
    double sum = (double)x[24 * K + i];
    for (int k = 0; k < K; k++) sum += (double)x[i / 8 * K + k] * (double)x[16 * K + k * 8 + i % 8];
    return sum;
}

/* ---- counted --------------------------------------------------------------------------- */

__global__ void in_step(array<real> y, array<const real> x) { y[threadIdx.x] = x[threadIdx.x]; }
__global__ void in_strides(array<real> y, array<const real> x) { y[threadIdx.x] = x[32 * threadIdx.x]; }
__global__ void one_word_for_all(array<real> y, array<const real> x) { y[threadIdx.x] = x[5]; }
__global__ void off_by_one(array<real> y, array<const real> x) { y[threadIdx.x] = x[threadIdx.x + 1]; }
__global__ void by_fours(array<real> y, array<const real> x) { store(y, 4 * threadIdx.x, load<4>(x, 4 * threadIdx.x)); }
__global__ void eight_of_a_warp(array<real> y, array<const real> x)
{
    if (threadIdx.x < 8) y[threadIdx.x] = x[threadIdx.x];
}
__global__ void again_and_again(array<real> y, array<const real> x)
{
    real sum = 0;
    for (int n = 0; n < 10; n++) sum += x[threadIdx.x];
    y[threadIdx.x] = sum;
}

/* x[t] to a place of shared memory, and from there. */
template <int STRIDE> __global__ void at_stride(array<real> y, array<const real> x)
{
    SHARED(real, s, 32 * STRIDE + 1);
    s[STRIDE * threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[STRIDE * threadIdx.x];
}
__global__ void one_shared_word(array<real> y, array<const real> x)
{
    SHARED(real, s, 1);
    if (threadIdx.x == 0) s[0] = x[0];
    __syncthreads();
    y[threadIdx.x] = s[0];
}
/* Half of the lanes read device memory at a line at which the others read shared memory. */
__global__ void both_memories_at_a_line(array<real> y, array<const real> x)
{
    SHARED(real, s, 32);
    int t = threadIdx.x;
    s[t] = x[t];
    __syncwarp();
    y[t] = t < 16 ? x[t] : (real)s[t];
}
/* Eight lanes at one bank, another eight at another: no bank is asked by more than eight
 * lanes, but each quarter of the warp by itself is in its own way. */
__global__ void quarters_in_their_own_way(array<real> y, array<const real> x)
{
    SHARED(float, s, 1024);
    int t = threadIdx.x;
    store(s, t % 8 * 128 + t / 8 * 4, pack<float, 4>{{(float)x[t], 0, 0, 0}});
    y[t] = (real)0;
}
/* The first LANES lanes load W neighbours each: lanes n and n ^ BY the same ones (all lanes if
 * BY is 0, none if it is 32), except for lane ODD. */
template <int W, unsigned BY, unsigned LANES = 32, unsigned ODD = 32>
__global__ void wide_shared_loads(array<real> y, array<const real> x)
{
    SHARED(float, s, 128);
    constexpr unsigned PAIR = BY ? BY : 1;
    unsigned t = threadIdx.x, from = BY ? t % PAIR + t / (2 * PAIR) * PAIR : 0;
    real v = x[t];
    for (unsigned n = 0; n < 4; n++) s[32 * n + t] = (float)v;
    __syncwarp();
    if (t == ODD) from = 16;
    if (t < LANES) v += (real)load<W>(s, W * from)[0];
    y[t] = v;
}
/* More and more lanes take part in a loop, at whose end the warp meets: in its turn all read
 * one word, and those that come late are not with those that read another before. */
__global__ void some_turns_of_a_loop(array<real> y, array<const real> x)
{
    real sum = 0;
    for (int turn = 0; turn < 4; turn++) {
        if ((int)threadIdx.x / 8 <= turn) sum += x[32 * turn];
        __syncwarp();
    }
    y[threadIdx.x] = sum;
}
__global__ void products_of_warps(array<real> y, array<const real> x)
{
    parts p = of_lane(threadIdx.x);
    for (int n = 0; n < 3; n++) multiply_tf32(p.sums, p.a, p.b);
    multiply_bf16(p.sums, p.a, p.b);
    y[threadIdx.x] = x[threadIdx.x] + (real)p.sums[0];
}
__global__ void exchanges_and_atomics(array<real> y, array<const real> x)
{
    real v = x[threadIdx.x];
    v += __shfl_xor_sync(~0u, v, 1);
    if (__any_sync(~0u, v > 0)) atomic_add(y, 0, v);
    __syncthreads();
    __syncthreads();
}

/* ---- branches ------------------------------------------------------------------------------ */

/* What a form would be that launches in branches. */
struct forked {
    struct device device;
    array<real> y;
    array<const real> x;
};
struct forked *forked_of(struct plan *plan) { return (struct forked *)plan->state; }

__global__ void writes_first(array<real> y, array<const real> x) { AT y[threadIdx.x] = x[threadIdx.x]; }
__global__ void writes_second(array<real> y, array<const real> x) { AT y[B + threadIdx.x] = x[threadIdx.x]; }
__global__ void reads_first(array<real> y, array<const real>)
{
    AT y[2 * B + threadIdx.x] = y[threadIdx.x];
}
__global__ void reads_first_too(array<real> y, array<const real>)
{
    AT y[3 * B + threadIdx.x] = y[threadIdx.x];
}
__global__ void reads_both(array<real> y, array<const real> x)
{
    y[2 * B + threadIdx.x] = y[threadIdx.x] + y[B + threadIdx.x] + x[threadIdx.x];
}
__global__ void adds_to_the_first(array<real> y, array<const real>) { AT atomic_add(y, 0, (real)1); }
__global__ void takes_a_ticket(array<real> y, real name)
{
    int number = (int)atomic_add(y, 2, (real)1);
    y[number] = name;
}

double copies_of_64(const real *x, int i) { return (i < 2 * B ? 1 : 3) * (double)x[i % B]; }
double counts_to_128(const real *, int i) { return i % (2 * B) == 0 ? 128 : 0; }
double products_of_64(const real *x, int)
{
    double sum = 0;
    for (int n = 0; n < B; n++) sum += (double)x[n] * (double)x[n];
    return sum;
}

#define BRANCH(kernel) \
    [](struct plan *plan) { \
        struct forked *f = forked_of(plan); \
        LAUNCH(&f->device, kernel, 1, B, 0, f->y, f->x); \
    }

/* Launches in a branch, beside it, and after the join, each where it is given; without a
 * join, what comes after is beside the branch too. */
using branch_of = void (*)(struct plan *);
status run_branches(array<real> y, array<const real> x, branch_of branch, branch_of beside, bool joins, branch_of after)
{
    struct plan plan = {};
    struct forked f = {};
    plan.state = &f;
    f.device.forks = true;
    f.y = y;
    f.x = x;
    device_fork(&plan, branch);
    if (beside) beside(&plan);
    if (joins) device_join(&f.device);
    if (after) after(&plan);
    return device_status(&f.device);
}

/* Copies an array of the device as device_place leaves it. */
status placed_array(real *y, const real *)
{
    std::vector<emulator::trace> traces((size_t)(B * W));
    std::vector<real> room(B, 1);
    array<real> a = {room.data(), traces.data(), B, 0};
    struct device d = {};
    d.held[d.arrays++] = {&a, B * sizeof(real), "a"};
    device_place(&d);
    memcpy(y, room.data(), B * sizeof(real));
    return status_ok();
}

/* The library reads what is written beside it, and writes what is read. */
void product_of_the_first(struct plan *plan)
{
    struct forked *f = forked_of(plan);
    device_linear(&f->device, f->y + 2 * B, f->y, f->x, {}, 1, B, 1);
}
void product_into_the_first(struct plan *plan)
{
    struct forked *f = forked_of(plan);
    device_linear(&f->device, f->y, f->x, f->x, {}, 1, B, 1);
}
/* A product of which a factor begins with the first B numbers of y and ends in the second. */
void left_factor_of_both(struct plan *plan)
{
    struct forked *f = forked_of(plan);
    device_product(&f->device, f->y + 2 * B, {f->y, false, 0}, {f->x, false, 0}, 8, B / 4, 1, 1);
}
void right_factor_of_both(struct plan *plan)
{
    struct forked *f = forked_of(plan);
    device_product(&f->device, f->y + 2 * B, {f->x, false, 0}, {f->y, false, 0}, 1, B / 4, 8, 1);
}
void second_product_of_the_second(struct plan *plan)
{
    struct forked *f = forked_of(plan);
    device_product(&f->device, f->y + 2 * B, {f->y, false, B}, {f->x, false, 0}, 1, B / 4, 1, 2);
}
status branch_unsaid(real *, const real *)
{
    struct plan plan = {};
    struct forked f = {};
    plan.state = &f;
    device_fork(&plan, BRANCH(writes_first));
    return device_status(&f.device);
}
void branch_in_a_branch(struct plan *plan) { device_fork(plan, BRANCH(writes_first)); }

/* ---- how they are run -------------------------------------------------------------------- */

/* x and y as the emulator's arrays, and y back. */
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
                      array<const real>{source, of_x.data(), KERNEL_REALS, 0});
    memcpy(y, target, KERNEL_REALS * sizeof *y);
    return s;
}

#define RUN(kernel, blocks, threads, bytes) \
    [](real *y, const real *x) { \
        return with_arrays(y, x, [](array<real> to, array<const real> from) { \
            return emulator::launch(#kernel, blocks, threads, bytes, [=] { kernel(to, from); }); \
        }); \
    }

#define RUN_BRANCHES(branch, beside, joins, after) \
    [](real *y, const real *x) { \
        return with_arrays(y, x, [](array<real> to, array<const real> from) { \
            return run_branches(to, from, branch, beside, joins, after); \
        }); \
    }

} // namespace

const struct planted planted[] = {
    {"no barrier", "and no barrier between", RUN(no_barrier, 1, B, 0)},
    {"no barrier before the next tile", "and no barrier between", RUN(no_barrier_before_the_next_tile, 1, B, 0)},
    {"no barrier in device memory", "and no barrier between", RUN(no_barrier_in_device_memory, 1, B, 0)},
    {"a barrier that some miss", "waits at a barrier that thread 5 does not reach",
     RUN(a_barrier_that_some_miss, 2, B, 0)},
    {"two barriers", "waits at this barrier, and thread", RUN(two_barriers, 1, B, 0)},
    {"a barrier in a branch", "waits at this barrier, and thread", RUN(a_barrier_in_a_branch, 1, B, 0)},
    {"blocks that write one word", "writes a word that another block wrote", RUN(blocks_that_write_one_word, 3, B, 0)},
    {"a block that reads another's", "a word that another block", RUN(a_block_that_reads_anothers, 2, B, 0)},
    {"a warp that does not meet", "and no barrier between", RUN(a_warp_that_does_not_meet, 1, 32, 0)},
    {"half a warp that meets", "a word that another thread of the warp", RUN(half_a_warp_that_meets, 1, 32, 0)},
    {"a shuffle for a barrier", "and no barrier between", RUN(a_shuffle_for_a_barrier, 1, 32, 0)},
    {"a shuffle with absent lanes", "waits for lanes ffffffff of warp 0, and not all",
     RUN(a_shuffle_with_absent_lanes, 1, 32, 0)},
    {"a shuffle of others", "is not in its own mask 0000ffff", RUN(a_shuffle_of_others, 1, 32, 0)},
    {"a shuffle from outside its mask", "takes from lane 20, which mask 0000ffff does not name",
     RUN(a_shuffle_from_outside_its_mask, 1, 32, 0)},
    {"a shuffle in half a block", "waits for lanes ffffffff of warp 1, and not all", RUN(sums_by_shuffles, 1, 48, 0)},
    {"atomics and a plain read", "and no barrier between", RUN(atomics_and_a_plain_read, 1, B, 0)},
    {"atomics and a plain write", "and no barrier between", RUN(atomics_and_a_plain_write, 1, B, 0)},
    {"atomics of blocks and a plain read", "another block", RUN(atomics_of_blocks_and_a_plain_read, 2, B, 0)},
    {"below the array", "element -1 of an array of 4096", RUN(below_the_array, 1, B, 0)},
    {"a tail beyond the array", "of an array of 4096", RUN(a_tail_beyond_the_array, 43, 96, 0)},
    {"a halo off by one", "element 65 of an array of 65", RUN(a_halo_off_by_one, 1, B, 0)},
    {"a wide load off its place", "4 elements at once from element", RUN(a_wide_load_off_its_place, 1, B, 0)},
    {"a wide store beyond the array", "element 4096 of an array of 4096", RUN(a_wide_store_beyond_the_array, 1, B, 0)},
    {"an array that is not there", "of an array that is not there", RUN(an_array_that_is_not_there, 1, B, 0)},
    {"too much static memory", "bytes of static shared memory, of which there are 49152",
     RUN(too_much_static_memory, 1, B, 0)},
    {"too much memory of both kinds", "bytes of shared memory, of which there are 232448",
     RUN(too_much_memory_of_both_kinds, 1, B, 226 << 10)},
    {"static memory beside all of the dynamic",
     "found 65536 bytes of static and dynamic shared memory, expected at most 49152",
     RUN(sixteen_kibibytes, 1, B, 48 << 10)},
    {"one word too much of both kinds", "found 49156 bytes of static and dynamic shared memory, expected at most 49152",
     RUN(sixteen_kibibytes, 1, B, (32 << 10) + 4)},
    {"a product with absent lanes", "waits for lanes ffffffff of warp 0, and not all",
     RUN(a_product_with_absent_lanes, 1, 32, 0)},
    {"a product in half a warp", "waits for lanes ffffffff of warp 1, and not all", RUN(products_of_warps, 1, 48, 0)},
    {"half a product", "waits for lanes ffffffff of warp 0, and not all", RUN(half_a_product, 1, 32, 0)},
    {"a factor that is not rounded", "a factor of 1.00024414, which has more digits than TF32",
     RUN(a_factor_that_is_not_rounded, 1, 32, 0)},
    {"a product for a barrier", "and no barrier between", RUN(a_product_for_a_barrier, 1, 32, 0)},
    {"a launch in a launch", "launched from a kernel", RUN(a_launch_in_a_launch, 1, 1, 0)},
#if !defined __SANITIZE_ADDRESS__
    {"too much stack", "a thread needs more than 131072 bytes of stack", RUN(too_much_stack, 1, B, 0)},
#endif
};
const int planted_count = sizeof planted / sizeof *planted;

const struct meeting_branches meeting_branches[] = {
    {{"a join that is missing", "a word that the other branch",
     RUN_BRANCHES(BRANCH(writes_first), nullptr, false, BRANCH(reads_first))}, 1, false},
    {{"a join that comes too late", "a word that the other branch",
     RUN_BRANCHES(BRANCH(reads_first), BRANCH(writes_first), true, nullptr)}, 1, false},
    {{"branches that write one word", "writes a word that the other branch wrote",
     RUN_BRANCHES(BRANCH(writes_first), BRANCH(writes_first), true, nullptr)}, 1, false},
    {{"branches that read, and one that writes then", "a word that the other branch",
     RUN_BRANCHES(BRANCH(reads_first_too), [](struct plan *plan) {
         BRANCH(reads_first)(plan);
         BRANCH(writes_first)(plan);
     }, true, nullptr)}, 2, false},
    {{"branches of which one adds and one reads", "a word that the other branch",
     RUN_BRANCHES(BRANCH(adds_to_the_first), BRANCH(reads_first), true, nullptr)}, 1, false},
    {{"branches that add, and one that reads then", "a word that the other branch",
     RUN_BRANCHES(BRANCH(adds_to_the_first), [](struct plan *plan) {
         BRANCH(adds_to_the_first)(plan);
         BRANCH(reads_first)(plan);
     }, true, nullptr)}, 2, false},
    {{"a library that reads what is written beside it", "the other branch",
     RUN_BRANCHES(product_of_the_first, BRANCH(writes_first), true, nullptr)}, 1, true},
    {{"a library that writes what is read beside it", "the other branch",
     RUN_BRANCHES(BRANCH(reads_first), product_into_the_first, true, nullptr)}, 1, true},
    {{"a product whose left factor is written beside it", "the other branch",
     RUN_BRANCHES(left_factor_of_both, BRANCH(writes_second), true, nullptr)}, 1, true},
    {{"a product whose right factor is written beside it", "the other branch",
     RUN_BRANCHES(right_factor_of_both, BRANCH(writes_second), true, nullptr)}, 1, true},
    {{"products of which the last reads what is written beside it", "the other branch",
     RUN_BRANCHES(second_product_of_the_second, BRANCH(writes_second), true, nullptr)}, 1, true},
    {{"libraries that meet", "an array: the library",
     RUN_BRANCHES(product_of_the_first, product_into_the_first, true, nullptr)}, 0, true},
    {{"a branch in a branch", "a branch in a branch",
      RUN_BRANCHES(branch_in_a_branch, nullptr, true, nullptr)}, 0, true},
    {{"a branch that was not said", "of a form that does not say that it forks", branch_unsaid}, 0, true},
};
const int meeting_count = sizeof meeting_branches / sizeof *meeting_branches;

const struct right right[] = {
    {"copies", RUN(copies, 8, 128, 0), copied, 1000},
    {"both kinds, to the word", RUN(sixteen_kibibytes, 1, B, 32 << 10), copied, B},
    {"both kinds, asked for", RUN(sixteen_kibibytes, 1, B, (48 << 10) + 4), copied, B},
    {"reads what nobody wrote", RUN(reads_what_nobody_wrote, 1, B, 0), not_a_number, B},
    {"an array of the device that nobody wrote", placed_array, not_a_number, B},
    {"sums a block", RUN(sums_a_block, 7, 128, 0), sum_of_128, 7},
    {"sums a warp", RUN(sums_a_warp, 1, 128, 0), sum_of_32, 128},
    {"counts in turn", RUN(counts_in_turn, 1, 32, 0), thirty_one, 32},
    {"sums by shuffles", RUN(sums_by_shuffles, 1, 128, 0), sum_of_32, 128},
    {"halves apart", RUN(halves_apart, 1, 32, 0), pair_of_eights, 32},
    {"some have left", RUN(some_have_left, 1, 32, 0), neighbour_of_three, 32},
    {"votes", RUN(votes, 1, 96, 0), positive_of_32, 96},
    {"neighbours of a tile", RUN(neighbours_of_a_tile, 5, B, 0), three_neighbours, 5 * B},
    {"adds atomically", RUN(adds_atomically, 4, B, 0), sum_of_256, 1},
    {"transposes", RUN(transposes, 1, dim3(32, 8), 32 * 33 * sizeof(real)), transposed, 1024},
    {"four at once", RUN(four_at_once, 1, B, 0), copied, 256},
    {"multiplies, TF32", RUN((multiplies<false, 0>), 1, 32, 0), product_of_warp<8>, 128},
    {"multiplies, BF16", RUN((multiplies<true, 0>), 1, 32, 0), product_of_warp<16>, 128},
    {"a full block", RUN(copies, 1, 1024, 0), copied, 1000},
    {"a thread alone", RUN(copies, 1000, 1, 0), copied, 1000},
    {"branches that join",
     RUN_BRANCHES(BRANCH(writes_first), BRANCH(writes_second), true, BRANCH(reads_both)), copies_of_64, 3 * B},
    {"branches that both add",
     RUN_BRANCHES(BRANCH(adds_to_the_first), BRANCH(adds_to_the_first), true, BRANCH(reads_first)),
     counts_to_128, 3 * B},
    {"libraries that join", RUN_BRANCHES(product_into_the_first, BRANCH(writes_second), true, product_of_the_first),
     products_of_64, 1},
};
const int right_count = sizeof right / sizeof *right;

/* Four stores of 4 bytes, and one load that takes this many cycles. */
#define WIDE(cycles, partial, ...) \
    RUN((wide_shared_loads<__VA_ARGS__>), 1, 32, 0), \
    {"", 1, 32, 512, 2, 8 * W, 256 * W, 256 * W, 4 + cycles, 4 + cycles, partial, 0, 0, 0, 0}

/* Per warp of 32 reals: 4 W sectors in step, 128 W bytes asked.  kernel, blocks, threads,
 * shared_bytes, requests, sectors, asked, touched, shared_requests, wavefronts, partial,
 * barriers, exchanges, atomics, products. */
const struct counted counted[] = {
    {"in step", RUN(in_step, 1, 64, 0), {"", 1, 64, 0, 4, 16 * W, 512 * W, 512 * W, 0, 0, 0, 0, 0, 0, 0}},
    {"in strides",
     RUN(in_strides, 1, 32, 0), {"", 1, 32, 0, 2, 32 + 4 * W, 256 * W, 32 * (32 + 4 * W), 0, 0, 0, 0, 0, 0, 0}},
    {"one word for all", RUN(one_word_for_all, 1, 32, 0),
     {"", 1, 32, 0, 2, 1 + 4 * W, 256 * W, 32 * (1 + 4 * W), 0, 0, 0, 0, 0, 0, 0}},
    {"off by one",
     RUN(off_by_one, 1, 32, 0), {"", 1, 32, 0, 2, 8 * W + 1, 256 * W, 32 * (8 * W + 1), 0, 0, 0, 0, 0, 0, 0}},
    {"by fours", RUN(by_fours, 1, 32, 0), {"", 1, 32, 0, 2, 32 * W, 1024 * W, 1024 * W, 0, 0, 0, 0, 0, 0, 0}},
    {"eight of a warp", RUN(eight_of_a_warp, 1, 32, 0), {"", 1, 32, 0, 2, 2 * W, 64 * W, 64 * W, 0, 0, 2, 0, 0, 0, 0}},
    {"half a block", RUN(in_step, 1, 48, 0), {"", 1, 48, 0, 4, 12 * W, 384 * W, 384 * W, 0, 0, 0, 0, 0, 0, 0}},
    {"again and again",
     RUN(again_and_again, 1, 32, 0), {"", 1, 32, 0, 11, 44 * W, 11 * 128 * W, 256 * W, 0, 0, 0, 0, 0, 0, 0}},
    {"stride 1",
     RUN(at_stride<1>, 1, 32, 0), {"", 1, 32, 33 * 4 * W, 2, 8 * W, 256 * W, 256 * W, 2 * W, 2 * W, 0, 0, 0, 0, 0}},
    {"stride 2",
     RUN(at_stride<2>, 1, 32, 0), {"", 1, 32, 65 * 4 * W, 2, 8 * W, 256 * W, 256 * W, 2 * W, 4 * W, 0, 0, 0, 0, 0}},
    {"stride 32", RUN(at_stride<32>, 1, 32, 0),
     {"", 1, 32, 1025 * 4 * W, 2, 8 * W, 256 * W, 256 * W, 2 * W, 64, 0, 0, 0, 0, 0}},
    {"stride 33", RUN(at_stride<33>, 1, 32, 0),
     {"", 1, 32, 1057 * 4 * W, 2, 8 * W, 256 * W, 256 * W, 2 * W, 2 * W, 0, 0, 0, 0, 0}},
    {"one shared word", RUN(one_shared_word, 1, 64, 0),
     {"", 1, 64, 4 * W, 3, 8 * W + 1, 260 * W, 256 * W + 32, 3, 3, 2, 1, 0, 0, 0}},
    {"both memories at a line", RUN(both_memories_at_a_line, 1, 32, 0),
     {"", 1, 32, 128 * W, 3, 10 * W, 320 * W, 256 * W, 2 * W, 2 * W, 2, 0, 0, 0, 0}},
    {"quarters in their own way", RUN(quarters_in_their_own_way, 1, 32, 0),
     {"", 1, 32, 4096, 2, 8 * W, 256 * W, 256 * W, 4, 32, 0, 0, 0, 0, 0}},
    {"16 bytes", WIDE(4, 0, 4, 32)},
    {"16 bytes, one address", WIDE(2, 0, 4, 0)},
    {"16 bytes, n and n ^ 1", WIDE(2, 0, 4, 1)},
    {"16 bytes, n and n ^ 2", WIDE(2, 0, 4, 2)},
    {"16 bytes, n and n ^ 4", WIDE(4, 0, 4, 4)},
    {"16 bytes, one pair differs", WIDE(4, 0, 4, 1, 32, 31)},
    {"16 bytes, half a warp", WIDE(4, 1, 4, 32, 16)},
    {"16 bytes, one lane of a pair", WIDE(2, 1, 4, 1, 31)},
    {"8 bytes", WIDE(2, 0, 2, 32)},
    {"8 bytes, one address", WIDE(1, 0, 2, 0)},
    {"8 bytes, n and n ^ 1", WIDE(1, 0, 2, 1)},
    {"8 bytes, n and n ^ 2", WIDE(1, 0, 2, 2)},
    {"8 bytes, n and n ^ 4", WIDE(2, 0, 2, 4)},
    {"8 bytes, half a warp", WIDE(2, 1, 2, 32, 16)},
    {"some turns of a loop", RUN(some_turns_of_a_loop, 1, 32, 0),
     {"", 1, 32, 0, 5, 4 + 4 * W, 448 * W, 128 + 128 * W, 0, 0, 3, 0, 0, 0, 0}},
    {"products of warps", RUN(products_of_warps, 1, 64, 0),
     {"", 1, 64, 0, 4, 16 * W, 512 * W, 512 * W, 0, 0, 0, 0, 0, 0, 8}},
    {"exchanges and atomics", RUN(exchanges_and_atomics, 2, 32, 0),
     {"", 2, 32, 0, 4, 8 * W + 2, 512 * W, 128 * W + 32, 0, 0, 0, 4, 4, 64, 0}},
};
const int counted_count = sizeof counted / sizeof *counted;

const struct right misplaced[] = {
    {"rows of a, TF32", RUN((multiplies<false, 1>), 1, 32, 0), product_of_warp<8>, 128},
    {"columns of a, TF32", RUN((multiplies<false, 2>), 1, 32, 0), product_of_warp<8>, 128},
    {"rows of b, TF32", RUN((multiplies<false, 3>), 1, 32, 0), product_of_warp<8>, 128},
    {"rows of the sums, TF32", RUN((multiplies<false, 4>), 1, 32, 0), product_of_warp<8>, 128},
    {"rows of a, BF16", RUN((multiplies<true, 1>), 1, 32, 0), product_of_warp<16>, 128},
    {"columns of a, BF16", RUN((multiplies<true, 2>), 1, 32, 0), product_of_warp<16>, 128},
    {"rows of b, BF16", RUN((multiplies<true, 3>), 1, 32, 0), product_of_warp<16>, 128},
    {"rows of the sums, BF16", RUN((multiplies<true, 4>), 1, 32, 0), product_of_warp<16>, 128},
    {"halves of a word, BF16", RUN((multiplies<true, 5>), 1, 32, 0), product_of_warp<16>, 128},
};
const int misplaced_count = sizeof misplaced / sizeof *misplaced;

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
    return marks == 0;          /* a mistake of the whole launch */
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

namespace {
__global__ void tickets(array<real> y)
{
    int number = (int)atomic_add(y, TICKETS, (real)1);
    y[number] = (real)(blockIdx.x * blockDim.x + threadIdx.x);
}
}

bool branch_comes_first(void)
{
    real y[KERNEL_REALS] = {};
    with_arrays(y, y, [](array<real> to, array<const real> from) {
        return run_branches(to, from, [](struct plan *plan) {
            struct forked *f = forked_of(plan);
            LAUNCH(&f->device, takes_a_ticket, 1, 1, 0, f->y, (real)1);
        }, [](struct plan *plan) {
            struct forked *f = forked_of(plan);
            LAUNCH(&f->device, takes_a_ticket, 1, 1, 0, f->y, (real)2);
        }, true, nullptr);
    });
    return y[0] == 1;
}

status take_tickets(real *y)
{
    y[TICKETS] = 0;
    return with_arrays(y, y, [](array<real> to, array<const real>) {
        return emulator::launch("tickets", 3, 64, 0, [=] { tickets(to); });
    });
}
