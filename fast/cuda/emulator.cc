/* emulator.cc -- blocks, fibers and races; see emulator.h
 *
 * makecontext starts each fiber.  After that setjmp and longjmp switch fibers: they save no signal mask and so need no
 * system call.  A fiber runs one thread of each block.  All state but the atomic `epochs` belongs to the calling
 * thread, so several threads may emulate concurrently. */

/* The checked longjmp aborts on a jump between stacks. */
#undef _FORTIFY_SOURCE

#include "device.h"
#include "requests.h"
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <setjmp.h>
#include <ucontext.h>
#include <vector>

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_STACK_REGISTER(from, to) 0
#define VALGRIND_MAKE_MEM_DEFINED(from, bytes) 0
#endif

namespace emulator {

__thread const self_indices *self;

namespace {

constexpr unsigned THREADS_MAX = 1024, THREADS_DEEP = 64;
constexpr size_t STATIC_MAX = 48 << 10;

/* KiB of shared memory of a multiprocessor, and KiB that the system reserves in each block.  Source: NVIDIA, CUDA C++
 * Programming Guide, technical specifications per compute capability. */
struct limits { const char *name; int capability; size_t shared, reserved; };
constexpr limits devices[] = {
    {"sm_75", 75, 64, 0}, {"sm_80", 80, 164, 1}, {"sm_86", 86, 100, 1}, {"sm_90", 90, 228, 1}, {"sm_120", 120, 100, 1},
};
constexpr int DEVICES = sizeof devices / sizeof *devices, SM_90 = 3;

/* Bytes of a stack, and of the margin below it, whose marks show an overflow. */
constexpr size_t STACK = 128 << 10, MARGIN = 8 << 10;
constexpr unsigned char MARK = 0xa5;

/* Users of a word in its trace: the number of a thread; MANY_OF_WARP + a warp, whose lanes the trace lists; several
 * threads, blocks or branches.  ATOMIC marks atomics. */
constexpr uint16_t ATOMIC = 0x4000, MANY_OF_WARP = 0x8000, BOTH_BRANCHES = 0xbffc, MANY_BLOCKS = 0xbffd, MANY = 0xbffe;
constexpr uint32_t EPOCHS_MAX = 0xf0000000u;

enum waiting { RUNS, AT_BLOCK_BARRIER, AT_WARP_BARRIER, AT_EXCHANGE, AT_PRODUCT_TF32, AT_PRODUCT_BF16, DONE };

struct fragments { float *sums; const uint32_t *a, *b; };

struct fiber {
    self_indices indices;
    jmp_buf state;
    char *stack = nullptr;              /* of MARGIN + STACK bytes */
    bool started = false;
    waiting waits;
    unsigned number, warp, lane;
    place at = 0;                       /* where it waits */
    unsigned mask;                      /* lanes that it waits for */
    uint64_t sent;
    fragments product;
    uint16_t met[WARP];                 /* lane n's accesses before turn met[n] precede this fiber's next */
#if defined __SANITIZE_ADDRESS__
    void *fake;
#endif
};

struct warp {
    unsigned live;                      /* lanes that have not ended */
    uint16_t turn;                      /* __syncwarps of any of its lanes since the last barrier */
    uint64_t received[WARP];            /* values of the last exchange */
};

std::atomic<uint32_t> epochs{1};

struct machine {
    bool counting = false;
    uint64_t seed = 0;
    std::vector<launch_counts> launches;
    const limits *device = &devices[SM_90];
    uint32_t forked = 0, second = 0;    /* epochs at which the two branches began; 0 without branches */

    /* The launch and the block that run. */
    const std::function<void()> *body = nullptr;
    launch_counts now{};
    uint32_t launch_epoch = 0, block_epoch = 0, epoch = 0;
    unsigned count = 0;                 /* threads of a block */
    std::vector<fiber> fibers;          /* capacity THREADS_MAX, so that none ever moves */
    std::vector<warp> warps;
    std::vector<unsigned> order;
    fiber *running = nullptr;
    jmp_buf home;
    ucontext_t first;                   /* of a fiber that starts; not a local variable, since start never returns */
    status fault{};
    requests counter;
    uint64_t random_state = 0;
#if defined __SANITIZE_ADDRESS__
    void *fake = nullptr;
    const void *bottom = nullptr;
    size_t size = 0;
#endif

    /* Shared memory. */
    std::vector<char> bytes_of_block;   /* 128 more than used, to align them to the banks */
    char *memory_of_block = nullptr;
    std::vector<trace> traces_of_block;
    struct declared { const char *name, *file; int line; size_t at; };
    std::vector<declared> declarations;
    size_t used = 0, dynamic_size = 0;

    ~machine() { for (fiber &f : fibers) free(f.stack); }
};

/* The calling thread's machine; during a launch, m points to it for faster access. */
machine &thread_machine()
{
    thread_local machine kept;
    return kept;
}
__thread machine *m;

uint64_t next_random()                  /* splitmix64 */
{
    uint64_t z = (m->random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

size_t random_below(size_t n) { return n > UINT32_MAX ? next_random() % n : (next_random() >> 32) * n >> 32; }

bool same(const char *a, const char *b) { return a == b || !strcmp(a, b); }
bool same_line(const place &a, const place &b) { return a.line == b.line && same(a.file, b.file); }

/* ---- switching -------------------------------------------------------------- */

/* Returns to the scheduler until it resumes the fiber. */
void yield()
{
    fiber &f = *m->running;
#if defined __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&f.fake, m->bottom, m->size);
#endif
    if (!_setjmp(f.state)) _longjmp(m->home, 1);
#if defined __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(f.fake, &m->bottom, &m->size);
#endif
}

/* Runs the thread of this number in block after block. */
void fiber_main()
{
#if defined __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &m->bottom, &m->size);
#endif
    for (;;) {
        try {
            (*m->body)();
        } catch (const std::bad_alloc &) {
            m->fault = out_of_memory("the emulation of a kernel");
        }
        m->running->waits = DONE;
        yield();
    }
}

__attribute__((noinline)) void start(fiber &f)
{
    f.started = true;
    getcontext(&m->first);
    m->first.uc_stack.ss_sp = f.stack + MARGIN;
    m->first.uc_stack.ss_size = STACK;
    m->first.uc_link = nullptr;
    makecontext(&m->first, fiber_main, 0);
    setcontext(&m->first);
}

__attribute__((noinline)) void resume(fiber &f)
{
    m->running = &f;
    self = &f.indices;
#if defined __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&m->fake, f.stack + MARGIN, STACK);
#endif
    if (!_setjmp(m->home)) {
        if (f.started) _longjmp(f.state, 1);
        start(f);
    }
#if defined __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(m->fake, nullptr, nullptr);
#endif
    m->running = nullptr;
    self = nullptr;
}

/* ---- blocks ----------------------------------------------------------------- */

unsigned lanes_of(unsigned warp)
{
    unsigned left = m->count - warp * WARP;
    return left < WARP ? left : WARP;
}

/* __syncwarp: all accesses so far of these lanes, and those ordered before them, precede the lanes' later accesses. */
void order_lanes(warp &w, fiber *lanes, unsigned mask)
{
    uint16_t met[WARP] = {}, turn = ++w.turn;
    const place &at = lanes[__builtin_ctz(mask)].at;
    if (turn == 0)
        m->fault = failure("%s:%d: %s: a warp meets more than 65535 times between barriers of its block", at.file,
                           at.line, m->now.kernel);
    for (unsigned left = mask; left; left &= left - 1)
        for (unsigned o = 0; o < WARP; o++) {
            uint16_t known = lanes[__builtin_ctz(left)].met[o];
            if (known > met[o]) met[o] = known;
        }
    for (unsigned left = mask; left; left &= left - 1) met[__builtin_ctz(left)] = turn;
    for (unsigned left = mask; left; left &= left - 1) memcpy(lanes[__builtin_ctz(left)].met, met, sizeof met);
}

/* A product on tensor cores; fragments as in device.h.  Exact products are added one after another. */
void multiply(fiber *lanes, waiting kind)
{
    const int halves = kind == AT_PRODUCT_BF16 ? 2 : 1, depth = 8 * halves;
    float a[16][16], b[16][8];
    for (int l = 0; l < (int)WARP; l++)
        for (int n = 0; n < 6 * halves; n++) {
            int r = n / halves, g = l / 4, t = l % 4, half = n % halves;
            uint32_t word = r < 4 ? lanes[l].product.a[r] : lanes[l].product.b[r - 4];
            float factor = __uint_as_float(halves == 1 ? word : half ? word & 0xffff0000u : word << 16);
            int eights = r < 4 ? r / 2 : r - 4, inner = halves == 1 ? t + 4 * eights : 2 * t + half + 8 * eights;
            if (r < 4) a[g + 8 * (r % 2)][inner] = factor;
            else b[inner][g] = factor;
        }
    for (int l = 0; l < (int)WARP; l++)
        for (int r = 0; r < 4; r++)
            for (int k = 0; k < depth; k++)
                lanes[l].product.sums[r] += a[l / 4 + 8 * (r / 2)][k] * b[k][l % 4 * 2 + r % 2];
    m->now.products++;
}

/* Completes one synchronization of a warp if all its lanes wait there; else false.  __syncwarp ignores ended lanes. */
bool complete(unsigned number)
{
    warp &w = m->warps[number];
    fiber *lanes = &m->fibers[number * WARP];
    unsigned size = lanes_of(number);
    for (unsigned l = 0; l < size; l++) {
        waiting what = lanes[l].waits;
        if (what == RUNS || what == AT_BLOCK_BARRIER || what == DONE) continue;
        unsigned here = 0, wanted = what == AT_WARP_BARRIER ? lanes[l].mask & w.live : lanes[l].mask;
        for (unsigned k = l; k < size; k++)
            if (lanes[k].waits == what && lanes[k].mask == lanes[l].mask && same_line(lanes[k].at, lanes[l].at))
                here |= 1u << k;
        if (here != wanted) continue;
        if (what == AT_WARP_BARRIER) order_lanes(w, lanes, here);
        if (what == AT_PRODUCT_TF32 || what == AT_PRODUCT_BF16) multiply(lanes, what);
        if (m->counting && here == w.live) m->counter.warp_met(number);
        for (; here; here &= here - 1) {
            unsigned k = (unsigned)__builtin_ctz(here);
            w.received[k] = lanes[k].sent;
            lanes[k].waits = RUNS;
        }
        return true;
    }
    return false;
}

status deadlock()
{
    const fiber *waits = nullptr, *ended = nullptr;
    for (unsigned t = 0; t < m->count; t++) {
        const fiber &f = m->fibers[t];
        if (f.waits != DONE && f.waits != AT_BLOCK_BARRIER)
            return failure("%s:%d: %s: thread %u waits for lanes %08x of warp %u, and not all of them come", f.at.file,
                           f.at.line, m->now.kernel, f.number, f.mask, f.warp);
        if (f.waits == DONE) { if (!ended) ended = &f; }
        else if (!waits) waits = &f;
        else if (!same_line(f.at, waits->at))
            return failure("%s:%d: %s: thread %u waits at this barrier, and thread %u at that of line %d",
                           waits->at.file, waits->at.line, m->now.kernel, waits->number, f.number, f.at.line);
    }
    return failure("%s:%d: %s: thread %u waits at a barrier that thread %u does not reach", waits->at.file,
                   waits->at.line, m->now.kernel, waits->number, ended->number);
}

bool all_at_one_barrier()
{
    for (unsigned t = 0; t < m->count; t++)
        if (m->fibers[t].waits != AT_BLOCK_BARRIER || !same_line(m->fibers[t].at, m->fibers[0].at)) return false;
    return true;
}

/* False if the fiber overflowed its stack; restores the marks. */
bool stack_intact(const fiber &f)
{
    size_t at = 0;
    (void)VALGRIND_MAKE_MEM_DEFINED(f.stack, MARGIN);       /* valgrind forbids reads below the stack pointer */
    while (at < MARGIN && (unsigned char)f.stack[at] == MARK) at += 256;
    if (at < MARGIN) memset(f.stack, MARK, MARGIN);
    return at >= MARGIN;
}

/* Puts the threads in a new random order.  When counting, those of a warp stay consecutive, so that only one warp has
 * open requests. */
void shuffle_threads()
{
    std::vector<unsigned> &order = m->order;
    if (!m->counting) {
        for (unsigned t = m->count; t > 1; t--) std::swap(order[t - 1], order[random_below(t)]);
        return;
    }
    unsigned warps = (unsigned)m->warps.size(), filled = 0, turn[THREADS_MAX / WARP];
    for (unsigned w = 0; w < warps; w++) turn[w] = w;
    for (unsigned w = warps; w > 1; w--) std::swap(turn[w - 1], turn[random_below(w)]);
    for (unsigned w = 0; w < warps; w++) {
        unsigned *lane = &order[filled], lanes = lanes_of(turn[w]);
        for (unsigned l = 0; l < lanes; l++) lane[l] = turn[w] * WARP + l;
        for (unsigned l = lanes; l > 1; l--) std::swap(lane[l - 1], lane[random_below(l)]);
        filled += lanes;
    }
}

/* At a block barrier or a new block: all earlier accesses of the block precede its later ones. */
void next_epoch()
{
    m->epoch = epochs++;
    for (unsigned t = 0; t < m->count; t++) memset(m->fibers[t].met, 0, sizeof m->fibers[t].met);
    for (warp &w : m->warps) w.turn = 0;
}

void begin_block(const uint3 &block, const dim3 &blocks, const dim3 &threads)
{
    m->declarations.clear();
    m->used = 0;
    memset(m->memory_of_block, 0xff, STATIC_MAX + m->dynamic_size);
    for (unsigned w = 0; w < m->warps.size(); w++)
        m->warps[w].live = lanes_of(w) == WARP ? ~0u : (1u << lanes_of(w)) - 1;
    for (unsigned t = 0; t < m->count; t++) {
        fiber &f = m->fibers[t];
        f.indices = {{t % threads.x, t / threads.x % threads.y, t / threads.x / threads.y}, block, threads, blocks};
        f.number = t;
        f.warp = t / WARP;
        f.lane = t % WARP;
        f.waits = RUNS;
    }
    next_epoch();
    m->block_epoch = m->epoch;
    if (m->counting) m->counter.begin_block(m->count);
}

/* Runs a block until all threads have ended or one has failed. */
void run_block(const uint3 &block, const dim3 &blocks, const dim3 &threads)
{
    begin_block(block, blocks, threads);
    for (unsigned done = 0; done < m->count;) {
        /* Step 1: run each thread until it waits. */
        bool moved = false;
        shuffle_threads();
        for (unsigned t : m->order) {
            fiber &f = m->fibers[t];
            if (f.waits != RUNS) continue;
            resume(f);
            if (m->fault.code) return;
            moved = true;
            if (f.waits != DONE) continue;
            if (!stack_intact(f)) {
                m->fault = failure("%s: a thread needs more than %zu bytes of stack", m->now.kernel, STACK);
                return;
            }
            done++;
            m->warps[f.warp].live &= ~(1u << f.lane);
            if (m->counting) m->counter.ended(f.warp, f.lane);
        }

        /* Step 2: complete the synchronizations of warps. */
        for (unsigned w = 0; w < m->warps.size(); w++) while (complete(w)) moved = true;
        if (m->fault.code) return;
        if (moved || done == m->count) continue;

        /* Step 3: if no thread can run, complete the barrier of the block, or report a deadlock. */
        if (!all_at_one_barrier()) {
            m->fault = deadlock();
            return;
        }
        for (unsigned t = 0; t < m->count; t++) m->fibers[t].waits = RUNS;
        next_epoch();
        m->now.barriers++;
        if (m->counting) m->counter.met();
    }
    if (m->counting) m->counter.met();
}

} // namespace

/* ---- what kernels call ------------------------------------------------------ */

/* The fiber never returns from here; the next launch restarts it. */
void fault(const place &from, const char *format, ...)
{
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!m || !m->running) {
        fprintf(stderr, "%s:%d: outside of any kernel: %s\n", from.file, from.line, text);
        abort();                /* like host code that accesses device memory */
    }
    const uint3 &b = self->block;
    m->fault = failure("%s:%d: %s: block %u,%u,%u, thread %u: %s", from.file, from.line, m->now.kernel, b.x, b.y, b.z,
                       m->running->number, text);
    yield();
    abort();
}

constexpr char OTHER_BRANCH[] = "the other branch";
static const char *missing(const char *other) { return other == OTHER_BRANCH ? "join" : "barrier"; }

/* True if an access belongs to the first of two branches, or to both, and the second one runs now. */
static inline bool of_other_branch(const machine &k, uint32_t epoch, uint16_t who)
{
    return k.second && epoch >= k.forked && (epoch < k.second || who == BOTH_BRANCHES);
}

/* NULL if an earlier access is ordered before the running thread's; else the name of its user. */
static inline const char *conflict(memory where, uint32_t epoch, uint16_t who, uint16_t turn, uint32_t lanes)
{
    const machine &k = *m;
    if (epoch < (where == SHARED_MEMORY ? k.block_epoch : k.launch_epoch))
        return where == DEVICE_MEMORY && of_other_branch(k, epoch, who) ? OTHER_BRANCH : nullptr;
    if (who == BOTH_BRANCHES) return OTHER_BRANCH;
    if (who == MANY_BLOCKS || epoch < k.block_epoch) return "another block";
    if (epoch != k.epoch) return nullptr;
    if (who == MANY) return "other threads";
    const fiber &f = *k.running;
    if (who == f.number) return nullptr;
    unsigned w = who >= MANY_OF_WARP ? who - MANY_OF_WARP : who / WARP;
    if (w != f.warp) return "another thread";
    for (lanes &= ~(1u << f.lane); lanes; lanes &= lanes - 1)
        if (turn >= f.met[__builtin_ctz(lanes)]) return "another thread of the warp";
    return nullptr;
}

static inline const char *writer_conflict(memory where, const trace &t)
{
    uint16_t who = t.writer & (uint16_t)~ATOMIC;
    return conflict(where, t.write_epoch, who, t.write_turn, 1u << who % WARP);
}

static inline const char *readers_conflict(memory where, const trace &t)
{
    return conflict(where, t.read_epoch, t.reader, t.read_turn, t.lanes);
}

static inline void record_writer(trace &t, uint16_t who)
{
    t.write_epoch = m->epoch;
    t.write_turn = m->warps[m->running->warp].turn;
    t.writer = who;
}

/* Adds a reader.  Readers ordered before it need no record any more. */
static inline void record_reader(memory where, trace &t)
{
    const fiber &f = *m->running;
    if (!readers_conflict(where, t)) {
        t.reader = (uint16_t)f.number;
        t.lanes = 1u << f.lane;
    } else if (t.reader == BOTH_BRANCHES || of_other_branch(*m, t.read_epoch, t.reader)) {
        t.reader = BOTH_BRANCHES;
    } else if (t.reader == MANY_BLOCKS || t.read_epoch < m->block_epoch) {
        t.reader = MANY_BLOCKS;
    } else if (t.reader != MANY) {
        unsigned w = t.reader >= MANY_OF_WARP ? t.reader - MANY_OF_WARP : t.reader / WARP;
        t.reader = w == f.warp ? (uint16_t)(MANY_OF_WARP + w) : MANY;
        t.lanes |= 1u << f.lane;
    }
    t.read_epoch = m->epoch;
    t.read_turn = m->warps[f.warp].turn;
}

void access(memory where, const void *address, trace *traces, size_t bytes, bool write, const place &from)
{
    if (!m || !m->running) fault(from, "device memory is accessed");
    const fiber &f = *m->running;
    for (size_t n = 0; n < words(bytes); n++) {
        trace &t = traces[n];
        const char *other;
        if ((other = writer_conflict(where, t)))
            fault(from, "%s a word that %s wrote, and no %s between", write ? "writes" : "reads", other,
                  missing(other));
        if (!write) record_reader(where, t);
        else if ((other = readers_conflict(where, t)))
            fault(from, "writes a word that %s read, and no %s between", other, missing(other));
        else record_writer(t, (uint16_t)f.number);
    }
    if (m->counting) m->counter.add(f.warp, f.lane, where, !write, address, bytes, from);
}

/* An atomic races with plain accesses as a write does, and not with other atomics. */
void atomic(memory where, const void *address, trace *traces, size_t bytes, const place &from)
{
    if (!m || !m->running) fault(from, "device memory is accessed");
    const fiber &f = *m->running;
    for (size_t n = 0; n < words(bytes); n++) {
        trace &t = traces[n];
        const char *other = writer_conflict(where, t), *reader = readers_conflict(where, t);
        if (other && !(t.writer & ATOMIC))
            fault(from, "adds to a word that %s wrote, and no %s between", other, missing(other));
        if (reader) fault(from, "adds to a word that %s read, and no %s between", reader, missing(reader));
        bool branches = other && (t.writer == (BOTH_BRANCHES | ATOMIC) || of_other_branch(*m, t.write_epoch, 0));
        bool blocks = other && (t.write_epoch < m->block_epoch || t.writer == (MANY_BLOCKS | ATOMIC));
        unsigned who = branches ? BOTH_BRANCHES : blocks ? MANY_BLOCKS : other ? MANY : f.number;
        record_writer(t, (uint16_t)(who | ATOMIC));
    }
    m->now.atomics++;
    if (m->counting) m->counter.add(f.warp, f.lane, where, false, address, bytes, from);
}

void *shared_bytes(size_t bytes, trace **traces, const char *name, const place &from)
{
    for (const machine::declared &d : m->declarations)
        if (d.line == from.line && same(d.name, name) && same(d.file, from.file)) {
            *traces = m->traces_of_block.data() + d.at / WORD;
            return m->memory_of_block + d.at;
        }
    size_t at = (m->used + 15) / 16 * 16;
    if (bytes > STATIC_MAX || at + bytes > STATIC_MAX)
        fault(from, "found %zu bytes of static shared memory, expected at most %zu", at + bytes, STATIC_MAX);
    size_t all = at + bytes + m->dynamic_size;
    if (m->dynamic_size <= DEVICE_SHARED && all > DEVICE_SHARED)
        fault(from, "found %zu bytes of static and dynamic shared memory, expected at most %zu: no more was requested",
              all, DEVICE_SHARED);
    if (all > shared_most(1))
        fault(from, "found %zu bytes of shared memory, expected at most %zu", all, shared_most(1));
    m->declarations.push_back({name, from.file, from.line, at});
    m->used = at + bytes;
    if (m->used + m->dynamic_size > m->now.shared_bytes) m->now.shared_bytes = m->used + m->dynamic_size;
    *traces = m->traces_of_block.data() + at / WORD;
    return m->memory_of_block + at;
}

void *dynamic_bytes(size_t *bytes, trace **traces)
{
    *bytes = m->dynamic_size;
    *traces = m->traces_of_block.data() + STATIC_MAX / WORD;
    return m->memory_of_block + STATIC_MAX;
}

/* The running thread waits for the lanes of the mask, or AT_BLOCK_BARRIER for its block. */
static void wait(waiting what, unsigned mask, uint64_t mine, const place &from)
{
    fiber &f = *m->running;
    if (what != AT_BLOCK_BARRIER && !(mask >> f.lane & 1))
        fault(from, "lane %u is not in its own mask %08x", f.lane, mask);
    f.waits = what;
    f.at = from;
    f.mask = mask;
    f.sent = mine;
    yield();
}

void block_barrier(const place &from) { wait(AT_BLOCK_BARRIER, 0, 0, from); }
void warp_barrier(unsigned mask, const place &from) { wait(AT_WARP_BARRIER, mask, 0, from); }

/* Returns the values of all lanes.  Counted once per exchange. */
static const uint64_t *exchange_all(unsigned mask, uint64_t mine, const place &from)
{
    const fiber &f = *m->running;
    wait(AT_EXCHANGE, mask, mine, from);
    if (f.lane == (unsigned)__builtin_ctz(mask)) m->now.exchanges++;
    return m->warps[f.warp].received;
}

uint64_t exchange(unsigned mask, uint64_t mine, int lane, const place &from)
{
    const uint64_t *received = exchange_all(mask, mine, from);
    if (lane < 0 || lane > 31 || !(mask >> lane & 1))
        fault(from, "takes from lane %d, which mask %08x does not name", lane, mask);
    return received[lane];
}

unsigned ballot(unsigned mask, bool mine, const place &from)
{
    const uint64_t *received = exchange_all(mask, mine, from);
    unsigned all = 0;
    for (unsigned k = 0; k < WARP; k++)
        if (mask >> k & 1 && received[k]) all |= 1u << k;
    return all;
}

/* A factor that was not rounded to TF32 is an error here; a device ignores the extra digits. */
void warp_product(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], digits kind, const place &from)
{
    if (capability() < 80)
        fault(from, "a product in TF32 or BF16: found compute capability %d.%d, expected at least 8.0",
              capability() / 10, capability() % 10);
    for (int r = 0; r < 6 && kind == TF32; r++) {
        float factor = __uint_as_float(r < 4 ? a[r] : b[r - 4]);
        if (factor == factor && __float_as_uint(factor) & 0x1fffu)
            fault(from, "a factor of %.9g, which has more digits than TF32", (double)factor);
    }
    m->running->product = {sums, a, b};
    wait(kind == TF32 ? AT_PRODUCT_TF32 : AT_PRODUCT_BF16, ~0u, 0, from);
}

size_t shared_most(int blocks)
{
    const limits &limit = *thread_machine().device;
    return (limit.shared << 10) / (size_t)blocks - (limit.reserved << 10);
}

int capability() { return thread_machine().device->capability; }

int lane_number() { return (int)m->running->lane; }

/* ---- branches --------------------------------------------------------------- */

void fork() { thread_machine().forked = thread_machine().second = epochs++; }
void next_branch() { thread_machine().second = epochs++; }
void join() { thread_machine().forked = thread_machine().second = 0; }

bool branch_is_late() { return (thread_machine().seed + 1) * 0x9e3779b97f4a7c15u >> 63; }

bool library_access(trace *traces, size_t count, bool write)
{
    const machine &k = thread_machine();
    uint32_t epoch = epochs++;
    for (size_t n = 0; n < count; n++) {
        trace &t = traces[n];
        uint16_t writer = t.writer & (uint16_t)~ATOMIC;
        bool read = of_other_branch(k, t.read_epoch, t.reader);
        if (of_other_branch(k, t.write_epoch, writer) || (write && read)) return false;
        if (write) {
            t.write_epoch = epoch;
            t.writer = 0;
        } else {
            t.read_epoch = epoch;
            t.reader = read ? BOTH_BRANCHES : (uint16_t)0;
        }
    }
    return true;
}

/* ---- launching -------------------------------------------------------------- */

/* Grows the fibers, which later launches reuse, to `count`. */
static status allocate_stacks(unsigned count)
{
    m->fibers.reserve(THREADS_MAX);
    while (m->fibers.size() < count) {
        char *stack = (char *)malloc(MARGIN + STACK);
        if (!stack) return out_of_memory("the stack of an emulated thread");
        memset(stack, MARK, MARGIN);
        (void)VALGRIND_STACK_REGISTER(stack, stack + MARGIN + STACK);
        m->fibers.emplace_back();
        m->fibers.back().stack = stack;
    }
    return status_ok();
}

/* Runs the blocks in a random order: from a random first one, at a random stride coprime to their number. */
static void run_blocks(const dim3 &blocks, const dim3 &threads, size_t grid)
{
    size_t stride = grid > 1 ? 1 + random_below(grid - 1) : 1, first = random_below(grid);
    auto common_divisor = [](size_t a, size_t b) { while (b) { size_t t = a % b; a = b; b = t; } return a; };
    while (common_divisor(grid, stride) != 1) stride++;
    for (size_t n = 0, b = first; n < grid && !m->fault.code; n++, b = (b + stride) % grid)
        run_block({(unsigned)(b % blocks.x), (unsigned)(b / blocks.x % blocks.y), (unsigned)(b / blocks.x / blocks.y)},
                  blocks, threads);
}

status launch(const char *kernel, dim3 blocks, dim3 threads, size_t bytes, const std::function<void()> &body)
{
    size_t count = (size_t)threads.x * threads.y * threads.z, grid = (size_t)blocks.x * blocks.y * blocks.z;
    if (m) return failure("%s: launched from a kernel", kernel);
    if (!threads.x || !threads.y || threads.x > THREADS_MAX || threads.y > THREADS_MAX || threads.z > THREADS_DEEP ||
        count == 0 || count > THREADS_MAX || grid == 0 || blocks.x > INT32_MAX || blocks.y > 65535 || blocks.z > 65535)
        return failure("%s: launched with %u x %u x %u blocks of %u x %u x %u threads, which no device takes", kernel,
                       blocks.x, blocks.y, blocks.z, threads.x, threads.y, threads.z);
    if (bytes > shared_most(1))
        return failure("%s: found %zu bytes of dynamic shared memory, expected at most %zu", kernel, bytes,
                       shared_most(1));
    if (epochs > EPOCHS_MAX) return failure("%s: too many barriers and launches in this process", kernel);

    m = &thread_machine();
    try {
        m->body = &body;
        m->now = {};
        m->now.kernel = kernel;
        m->now.blocks = (unsigned)grid;
        m->now.threads = (unsigned)count;
        m->now.shared_bytes = m->dynamic_size = bytes;
        m->bytes_of_block.resize(STATIC_MAX + bytes + 128);
        m->memory_of_block = m->bytes_of_block.data() + (128 - (uintptr_t)m->bytes_of_block.data() % 128);
        m->traces_of_block.resize(words(STATIC_MAX + bytes));
        m->count = (unsigned)count;
        m->warps.resize((count + WARP - 1) / WARP);
        m->order.resize(count);
        for (unsigned t = 0; t < count; t++) m->order[t] = t;
        m->launch_epoch = epochs++;
        m->random_state = m->seed + 0x632be59bd9b4e019u;
        if (m->counting) m->counter.begin_launch(&m->now);
        m->fault = allocate_stacks(m->count);
        if (!m->fault.code) run_blocks(blocks, threads, grid);
        if (m->counting && !m->fault.code) {
            m->counter.end_launch();
            m->launches.push_back(m->now);
        }
    } catch (const std::bad_alloc &) {
        m->fault = out_of_memory("the emulation of a kernel");
    }
    status s = m->fault;
    if (s.code)
        for (fiber &f : m->fibers) f.started = false;   /* they stopped in the middle of a kernel */
    m->running = nullptr;
    m = nullptr;
    self = nullptr;
    return s;
}

} // namespace emulator

void emulator_watch(bool counting, uint64_t seed)
{
    emulator::machine &thread_machine = emulator::thread_machine();
    thread_machine.counting = counting;
    thread_machine.seed = seed;
    thread_machine.launches.clear();
}

const char *emulator_device_name(int at)
{
    return at < emulator::DEVICES ? emulator::devices[at].name : NULL;
}

bool emulator_device(const char *name)
{
    for (const emulator::limits &d : emulator::devices)
        if (!strcmp(d.name, name ? name : "sm_90")) {
            emulator::thread_machine().device = &d;
            return true;
        }
    return false;
}

size_t emulator_launches(void) { return emulator::thread_machine().launches.size(); }

const struct launch_counts *emulator_launch(size_t at)
{
    const std::vector<launch_counts> &all = emulator::thread_machine().launches;
    return at < all.size() ? &all[at] : NULL;
}
