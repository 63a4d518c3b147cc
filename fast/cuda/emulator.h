/* emulator.h -- run kernels on the processor, with checks that no device makes; only device.h includes it
 *
 * The threads of a block are fibers of one thread; each runs until it must wait for others.  The seed sets a random
 * order of fibers and blocks.  Errors:
 *
 *   - A barrier that a thread of the block misses, or that threads reach at different lines; a shuffle whose mask names
 *     an absent lane; a product on tensor cores without all lanes of the warp.
 *   - A race: two threads use one word, one of them writes, and no barrier separates them.  In device memory, blocks of
 *     a launch race too, and two branches (device_fork) before their join.  __syncwarp orders the threads that it
 *     synchronizes; a shuffle does not.  Atomics do not race with each other.
 *   - An index out of range, and a wide access that is not aligned.
 *
 * Shared memory holds NaN before each block, and device memory before each load.  The first error ends the launch and
 * names its file and line.  A race is found in every order of threads, since each word records its users; its effects
 * are found in the orders tried.
 *
 * Not emulated: time, occupancy, registers, order and rounding of sums on tensor cores, overlap of restricted pointers,
 * blocks that wait for each other. */

#pragma once
#include "../../reference/runtime/status.h"
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    dim3(size_t across = 1, size_t down = 1, size_t deep = 1) : x(whole(across)), y(whole(down)), z(whole(deep)) {}
    static unsigned whole(size_t n) { return n > UINT32_MAX ? 0 : (unsigned)n; }    /* launches reject 0 */
};

#define __global__ static
#define __device__ static
#define __host__
#define __launch_bounds__(...)

using std::exp; using std::exp2; using std::log; using std::sqrt; using std::erf;
using std::fmax; using std::fabs; using std::floor;

namespace emulator {

/* An index, and the source line that uses it: an integer converts to a place at the line of the conversion. */
struct place {
    long long at;
    const char *file;
    int line;
    template <class I, class = std::enable_if_t<std::is_integral<I>::value>>
    place(I index, const char *in = __builtin_FILE(), int number = __builtin_LINE())
        : at((long long)index), file(in), line(number) {}
};

/* Last writer and readers of a word. */
struct trace {
    uint32_t write_epoch, read_epoch;   /* of the counter `epochs` (emulator.cc) */
    uint32_t lanes;                     /* of the reader's warp that have read */
    uint16_t writer, reader;            /* a thread of the block, or a code for several (emulator.cc) */
    uint16_t write_turn, read_turn;     /* __syncwarps of the user's warp from the last barrier to the access */
};

/* The thread that runs now.  __thread, since an access to thread_local may call a function. */
struct self_indices { uint3 thread, block; dim3 block_size, grid_size; };
extern __thread const self_indices *self;

enum memory { DEVICE_MEMORY, SHARED_MEMORY };

/* The running thread accesses `bytes` at an address; `traces` are those of the words there.  A race is a fault. */
void access(memory where, const void *address, trace *traces, size_t bytes, bool write, const place &from);
void atomic(memory where, const void *address, trace *traces, size_t bytes, const place &from);

/* Ends the launch with a message; aborts if no kernel runs. */
[[noreturn]] void fault(const place &from, const char *format, ...) __attribute__((format(printf, 2, 3)));

constexpr size_t WORD = 4;
constexpr size_t words(size_t bytes) { return (bytes + WORD - 1) / WORD; }

/* Reference to an element: checks each read and write. */
template <class T> struct cell {
    T *element;
    trace *traces;
    memory where;
    place from;
    operator T() const { access(where, element, traces, sizeof(T), false, from); return *element; }
    const cell &operator=(T value) const
    {
        access(where, element, traces, sizeof(T), true, from);
        *element = value;
        return *this;
    }
    const cell &operator=(const cell &other) const { return *this = (T)other; }
    const cell &operator+=(T value) const { return *this = (T)*this + value; }
    const cell &operator-=(T value) const { return *this = (T)*this - value; }
    const cell &operator*=(T value) const { return *this = (T)*this * value; }
    const cell &operator/=(T value) const { return *this = (T)*this / value; }
};

/* A pointer with the bounds and traces of its array. */
template <class T, memory M> struct pointer {
    using plain = std::remove_const_t<T>;
    plain *base;
    trace *traces;              /* words(sizeof(T)) per element */
    size_t count;
    long long at;               /* position, in elements */

    operator pointer<const T, M>() const { return {base, traces, count, at}; }
    explicit operator bool() const { return base; }
    template <class I> pointer operator+(I by) const { return {base, traces, count, at + (long long)by}; }
    template <class I> pointer &operator+=(I by) { at += (long long)by; return *this; }

    size_t checked(const place &index, size_t width) const
    {
        long long i = at + index.at;
        if (!base) fault(index, "element %lld of an array that is not there", index.at);
        if (i < 0 || (unsigned long long)i + width > count)
            fault(index, "element %lld of an array of %zu", i, count);
        return (size_t)i;
    }
    auto operator[](place index) const
    {
        size_t i = checked(index, 1);
        if constexpr (std::is_const<T>::value) {
            access(M, base + i, traces + i * words(sizeof(T)), sizeof(T), false, index);
            return base[i];
        } else {
            return cell<plain>{base + i, traces + i * words(sizeof(T)), M, index};
        }
    }
    auto operator*() const { return (*this)[place(0)]; }
};

/* Shared memory of the block; name and line of the declaration identify it for all threads. */
void *shared_bytes(size_t bytes, trace **traces, const char *name, const place &from);
void *dynamic_bytes(size_t *bytes, trace **traces);

template <class T> pointer<T, SHARED_MEMORY> shared_array(size_t count, const char *name, place from = 0)
{
    trace *traces;
    T *base = (T *)shared_bytes(count * sizeof(T), &traces, name, from);
    return {base, traces, count, 0};
}
template <class T> pointer<T, SHARED_MEMORY> dynamic_array()
{
    trace *traces;
    size_t bytes;
    T *base = (T *)dynamic_bytes(&bytes, &traces);
    return {base, traces, bytes / sizeof(T), 0};
}

/* Runs a kernel, `body`, for all blocks; returns the first error. */
status launch(const char *kernel, dim3 blocks, dim3 threads, size_t bytes, const std::function<void()> &body);

/* Two branches of launches run one after the other: fork begins the first, next_branch the second, join ends both.
 * Until the join, accesses of one to device memory race with those of the other. */
void fork();
void next_branch();
void join();
bool branch_is_late();                  /* true if this seed runs the forked branch last */

/* Records that a library reads or writes words; false if that races with the other of two branches. */
bool library_access(trace *traces, size_t count, bool write);

/* As device_shared_bytes and device_capability, for the emulated device. */
size_t shared_most(int blocks);
int capability();

/* The running thread waits for the lanes of the mask, or for its block. */
void block_barrier(const place &from);
void warp_barrier(unsigned mask, const place &from);
uint64_t exchange(unsigned mask, uint64_t mine, int lane, const place &from);       /* the value of `lane` */
unsigned ballot(unsigned mask, bool mine, const place &from);
int lane_number();

/* A warp computes sums += a b on tensor cores; fragments as in device.h. */
enum digits { TF32, BF16 };
void warp_product(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], digits kind, const place &from);

template <class T> T shuffled(unsigned mask, T value, int lane, const place &from)
{
    static_assert(sizeof(T) <= 8, "a shuffle carries at most eight bytes");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = exchange(mask, bits, lane, from);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace emulator

template <class T> using array = emulator::pointer<T, emulator::DEVICE_MEMORY>;
template <class T> using shared = emulator::pointer<T, emulator::SHARED_MEMORY>;

#define SHARED(type, name, count) shared<type> name = emulator::shared_array<type>(count, #name)
#define DYNAMIC_SHARED(type, name) shared<type> name = emulator::dynamic_array<type>()

#define threadIdx (emulator::self->thread)
#define blockIdx (emulator::self->block)
#define blockDim (emulator::self->block_size)
#define gridDim (emulator::self->grid_size)

#define __syncthreads() emulator::block_barrier(emulator::place(0))
#define __syncwarp(...) emulator::warp_barrier(emulator::mask_of(__VA_ARGS__), emulator::place(0))
namespace emulator { constexpr unsigned mask_of(unsigned mask = 0xffffffffu) { return mask; } }

#define SHUFFLE(name, source) \
    template <class T> T name(unsigned mask, T v, int by, emulator::place from = 0) \
    { \
        [[maybe_unused]] int lane = emulator::lane_number(); \
        return emulator::shuffled(mask, v, source, from); \
    }
SHUFFLE(__shfl_sync, by)
SHUFFLE(__shfl_xor_sync, lane ^ by)
SHUFFLE(__shfl_up_sync, lane < by ? lane : lane - by)
SHUFFLE(__shfl_down_sync, lane + by > 31 ? lane : lane + by)
#undef SHUFFLE

inline unsigned __ballot_sync(unsigned mask, bool v, emulator::place from = 0)
{
    return emulator::ballot(mask, v, from);
}
inline bool __any_sync(unsigned mask, bool v, emulator::place from = 0) { return emulator::ballot(mask, v, from) != 0; }
inline bool __all_sync(unsigned mask, bool v, emulator::place from = 0)
{
    return emulator::ballot(mask, !v, from) == 0;
}

inline float __uint_as_float(uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline uint32_t __float_as_uint(float value)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Rounds to the nearest float of 11 binary digits, halves away from zero; all NaN become one NaN. */
inline uint32_t tf32_of(float value)
{
    return value != value ? 0x7fffffffu : (__float_as_uint(value) + 0x1000u) & ~0x1fffu;
}

/* Rounds two numbers to 8 binary digits, halves to even, and packs them; `low` is the lower half of the word. */
inline uint32_t bf16_pair(float low, float high)
{
    auto each = [](float value) -> uint32_t {
        uint32_t bits = __float_as_uint(value);
        return value != value ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    };
    return each(low) | each(high) << 16;
}

inline void multiply_tf32(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], emulator::place from = 0)
{
    emulator::warp_product(sums, a, b, emulator::TF32, from);
}
inline void multiply_bf16(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], emulator::place from = 0)
{
    emulator::warp_product(sums, a, b, emulator::BF16, from);
}

/* Atomic addition; returns the old value. */
template <class T, emulator::memory M, class I>
T atomic_add(emulator::pointer<T, M> p, I index, T value, emulator::place from = 0)
{
    size_t i = p.checked(emulator::place(index, from.file, from.line), 1);
    emulator::atomic(M, p.base + i, p.traces + i * emulator::words(sizeof(T)), sizeof(T), from);
    T old = p.base[i];
    p.base[i] = old + value;
    return old;
}

/* W adjacent elements in one access, aligned to their size. */
template <class T, int W> struct pack {
    T element[W];
    T &operator[](int i) { return element[i]; }
    const T &operator[](int i) const { return element[i]; }
};

template <int W, class T, emulator::memory M>
size_t wide_access(const emulator::pointer<T, M> &p, const emulator::place &at, bool write)
{
    size_t i = p.checked(at, W);
    if ((p.at + at.at) % W)
        emulator::fault(at, "%d elements %s element %zu in one access: not aligned", W, write ? "to" : "from", i);
    emulator::access(M, p.base + i, p.traces + i * emulator::words(sizeof(T)), W * sizeof(T), write, at);
    return i;
}
template <int W, class T, emulator::memory M, class I>
pack<std::remove_const_t<T>, W> load(emulator::pointer<T, M> p, I index, emulator::place from = 0)
{
    pack<std::remove_const_t<T>, W> out;
    size_t i = wide_access<W>(p, emulator::place(index, from.file, from.line), false);
    std::memcpy(out.element, p.base + i, sizeof out);
    return out;
}
template <int W, class T, emulator::memory M, class I>
void store(emulator::pointer<T, M> p, I index, const pack<T, W> &value, emulator::place from = 0)
{
    size_t i = wide_access<W>(p, emulator::place(index, from.file, from.line), true);
    std::memcpy(p.base + i, value.element, sizeof value);
}
