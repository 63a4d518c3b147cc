/* test_arena.c -- arenas, and how threads share a batch of images */

#define _POSIX_C_SOURCE 200809L
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include "../support/support.h"
#include "../../reference/runtime/batch.h"
#include "../../reference/runtime/arena.h"
#if ARENA_GUARD
#include <sanitizer/asan_interface.h>
#endif

#define THREADS 3

/* Two arrays of each lifetime; most sizes are no multiple of a line. */
static const struct { enum lifetime time; size_t a, b, c, d; } asked[] = {
    {PERSISTENT, 3, 5, 1, 1}, {PER_RUN, 1, 1, 1, 1}, {PER_THREAD, 7, 1, 3, 1}, {LOAD_SCRATCH, 2, 2, 2, 5},
    {PER_THREAD, 1, 1, 1, 17}, {PER_RUN, 16, 1, 1, 1}, {PERSISTENT, 33, 1, 1, 1}, {LOAD_SCRATCH, 1, 1, 9, 1},
};

static size_t reals_of(size_t n) { return asked[n].a * asked[n].b * asked[n].c * asked[n].d; }

static struct arena ask_all(real *array[COUNT(asked)])
{
    struct arena arena = arena_open(THREADS);
    for (size_t n = 0; n < COUNT(asked); n++)
        arena_reals(&arena, asked[n].time, &array[n], "an array", asked[n].a, asked[n].b, asked[n].c, asked[n].d);
    succeeds(arena_status(&arena));
    return arena;
}

/* An array, or the part of one thread. */
struct part { real *entry; size_t count; enum lifetime time; };

/* The parts in use during a load or a run. */
static size_t parts_in_use(struct part part[COUNT(asked) * THREADS], const struct arena *arena,
                           real *array[COUNT(asked)], bool loading)
{
    size_t parts = 0;
    for (size_t n = 0; n < COUNT(asked); n++) {
        if (asked[n].time != PERSISTENT && loading != (asked[n].time == LOAD_SCRATCH)) continue;
        for (size_t thread = 0; thread < (asked[n].time == PER_THREAD ? THREADS : 1); thread++) {
            real *entry = asked[n].time == PER_THREAD ? arena_thread(arena, array[n], thread) : array[n];
            ck_assert_uint_eq((uintptr_t)entry % 64, 0);
            part[parts++] = (struct part){entry, reals_of(n), asked[n].time};
        }
    }
    return parts;
}

static void write_and_read(const struct arena *arena, real *array[COUNT(asked)], bool loading)
{
    struct part part[COUNT(asked) * THREADS];
    size_t parts = parts_in_use(part, arena, array, loading);
    for (size_t n = 0; n < parts; n++)
        for (size_t i = 0; i < part[n].count; i++) part[n].entry[i] = (real)(100 * n + i);
    for (size_t n = 0; n < parts; n++)
        for (size_t i = 0; i < part[n].count; i++) ck_assert(part[n].entry[i] == (real)(100 * n + i));
}

/* Parts of different threads do not overlap either; arrays of a load share memory with those of a run.  arena_allocate
 * allocates exactly arena_bytes; nothing is allocated before. */
TEST(arrays_do_not_overlap)
{
    real *array[COUNT(asked)] = {0};
    size_t before = memory_in_use();
    struct arena arena = ask_all(array);
    ck_assert_uint_eq(memory_in_use(), before);
    size_t said = arena_bytes(&arena);
    succeeds(arena_allocate(&arena, NULL));
    ck_assert_uint_eq(memory_in_use() - before, said);
    write_and_read(&arena, array, true);
    write_and_read(&arena, array, false);
    ck_assert_ptr_eq(array[3], array[1]);
    arena_release(&arena);
    arena_release(&arena);
    ck_assert_uint_eq(memory_in_use(), before);
}

/* Persistent lines, plus those of a load or a run, whichever has more; one part per thread.  AddressSanitizer adds a
 * line to each array. */
TEST(bytes_are_added_up)
{
    enum { G = ARENA_GUARD };
    struct arena arena = arena_open(THREADS);
    char *array;
    arena_objects(&arena, PERSISTENT, &array, "65 bytes", 5, 13, 1);
    ck_assert_uint_eq(arena_bytes(&arena), 128 + G);
    ck_assert_uint_eq(arena_scratch_bytes(&arena), 0);
    arena_objects(&arena, PER_RUN, &array, "64 bytes", 8, 1, 8);
    arena_objects(&arena, PER_THREAD, &array, "1 byte", 1, 1, 1);
    ck_assert_uint_eq(arena_scratch_bytes(&arena), 64 + G + THREADS * (64 + G));
    arena_objects(&arena, LOAD_SCRATCH, &array, "256 bytes", 1, 256, 1);
    ck_assert_uint_eq(arena_scratch_bytes(&arena), G ? 4 * 128 : 256);
    arena_objects(&arena, LOAD_SCRATCH, &array, "1 byte", 1, 1, 1);
    arena_objects(&arena, LOAD_SCRATCH, &array, "129 bytes", 129, 1, 1);
    ck_assert_uint_eq(arena_scratch_bytes(&arena), 512 + 3 * G);
    ck_assert_uint_eq(arena_bytes(&arena), 128 + 512 + 4 * G);
    ck_assert_int_eq(arena_open(0).threads, 1);
}

static bool poisoned(const char *byte)
{
#if ARENA_GUARD
    return __asan_address_is_poisoned(byte);
#else
    (void)byte;
    return false;
#endif
}

/* AddressSanitizer detects accesses between arrays from arena_begin to arena_end.  With memory_set_junk, scratch arrays
 * are NaN at each arena_begin, persistent ones at the first. */
TEST(arrays_are_guarded_and_begin_as_nan)
{
    real *array[COUNT(asked)];
    struct part part[COUNT(asked) * THREADS];
    struct arena arena = ask_all(array);
    succeeds(arena_allocate(&arena, NULL));
    for (int loading = 1; loading >= 0; loading--) {
        arena_begin(&arena, loading ? LOAD_SCRATCH : PER_RUN);
        size_t parts = parts_in_use(part, &arena, array, loading);
        for (size_t n = 0; n < parts; n++) {
            const char *byte = (const char *)part[n].entry, *end = byte + part[n].count * sizeof(real);
            for (size_t i = 0; i < part[n].count; i++)
                ck_assert(isnan((double)part[n].entry[i]) == (loading || part[n].time != PERSISTENT));
            for (; byte < end; byte++) ck_assert(!poisoned(byte));
            for (; byte < end + ARENA_GUARD || (ARENA_GUARD && (uintptr_t)byte % 64); byte++) ck_assert(poisoned(byte));
        }
        write_and_read(&arena, array, loading);
        arena_end(&arena);
        for (size_t b = 0; b < arena_scratch_bytes(&arena); b++) ck_assert(!poisoned((const char *)arena.work + b));
    }
    arena_release(&arena);
}

/* If one axis is 0, the array is NULL, even if other axes are SIZE_MAX. */
TEST(empty_arrays_take_no_memory)
{
    struct arena arena = arena_open(THREADS);
    real *array[4] = {NULL, NULL, NULL, NULL};
    for (int n = 0; n < 4; n++) {
        size_t axis[4] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
        axis[n] = 0;
        arena_reals(&arena, (enum lifetime)n, &array[n], "nothing", axis[0], axis[1], axis[2], axis[3]);
    }
    succeeds(arena_status(&arena));
    ck_assert_uint_eq(arena_bytes(&arena), 0);
    succeeds(arena_allocate(&arena, NULL));
    for (int n = 0; n < 4; n++) ck_assert_ptr_null(array[n]);
    ck_assert_ptr_null(arena_thread(&arena, array[PER_THREAD], 2));
    arena_release(&arena);
}

/* Sizes whose bytes overflow a size_t: in a product, a rounding, a sum, or over the threads. */
static const struct { enum lifetime time; int threads; size_t a, b, c, d; } large[] = {
    {PERSISTENT, 1, SIZE_MAX, 2, 1, 1}, {PER_RUN, 1, (size_t)1 << 22, (size_t)1 << 22, (size_t)1 << 22, 1},
    {PER_THREAD, 1, 1, 1, SIZE_MAX / 2, 3}, {LOAD_SCRATCH, 1, SIZE_MAX / sizeof(real) + 1, 1, 1, 1},
    {PERSISTENT, 1, SIZE_MAX / sizeof(real), 1, 1, 1}, {PER_THREAD, 1024, (size_t)1 << 31, (size_t)1 << 22, 1, 1},
    {PER_RUN, 1, SIZE_MAX / sizeof(real) - 64, 1, 1, 1},
};

/* Allocation then fails and names the array. */
TESTS(overflow_counts_as_size_max, COUNT(large))
{
    real *array = NULL, *other;
    size_t before = memory_in_use();
    struct arena arena = arena_open(large[_i].threads);
    arena_reals(&arena, PERSISTENT, &other, "a few", 64);
    arena_reals(&arena, PER_RUN, &other, "a few", 64);
    arena_reals(&arena, large[_i].time, &array, "the largest", large[_i].a, large[_i].b, large[_i].c, large[_i].d);
    arena_reals(&arena, large[_i].time, &other, "a few", 64);
    succeeds(arena_status(&arena));
    ck_assert_uint_eq(arena_bytes(&arena), SIZE_MAX);
    rejected(arena_allocate(&arena, NULL), STATUS_FAILURE, "most of them the largest");
    ck_assert_ptr_null(array);
    ck_assert_uint_eq(memory_in_use(), before);
    arena_release(&arena);
}

/* arena_status reports the first error, and arena_allocate fails. */
TEST(too_many_arrays_are_an_error)
{
    struct arena arena = arena_open(1);
    real *array[ARENA_ARRAYS + 1];
    for (int n = 0; n < ARENA_ARRAYS; n++) arena_reals(&arena, PER_RUN, &array[n], "one of many", 1);
    succeeds(arena_status(&arena));
    arena_reals(&arena, PER_RUN, &array[ARENA_ARRAYS], "the one too many", 1);
    arena_fail(&arena, bad_input("later"));
    arena_reals(&arena, PER_RUN, &array[ARENA_ARRAYS], "the next", 1);
    rejected(arena_status(&arena), STATUS_FAILURE, "the one too many: more than 48 arrays");
    rejected(arena_allocate(&arena, NULL), STATUS_FAILURE, "the one too many");
    ck_assert_ptr_null(arena.scratch);
}

#define ITEMS 5                 /* per image and loop */
#define IMAGES 7                /* at most */
#define BARRIERS 3
#define STEPS (TEAM_LOOPS * (BARRIERS + 1))

static atomic_int done[STEPS][IMAGES * ITEMS], slot_taken[40], wrong, waited;
static const real *all_x;
static real *all_y;

/* TEAM_LOOPS loops between two barriers, every other one in ranges of up to 3 items.  Each single item checks that its
 * mirror item in the loop before the last barrier is done. */
static void do_items(const struct team *t)
{
    size_t items = t->images * ITEMS, first = t->first * ITEMS;
    bool alone = t->parts == 1;     /* then other teams may run at the same time */
    if (t->x != all_x + 3 * t->first || t->y != all_y + 2 * t->first) wrong++;
    if (alone && atomic_fetch_add(&slot_taken[t->slot], 1)) wrong++;
    for (size_t step = 0; step < STEPS; step++) {
        if (step && step % TEAM_LOOPS == 0) team_barrier(t);
        size_t barrier = step / TEAM_LOOPS * TEAM_LOOPS, end;
        for (size_t i; step % 2 == 0 && team_next(t, items, &i); done[step][first + i]++)
            if (barrier && done[barrier - 1][first + items - 1 - i] != 1) wrong++;
        for (size_t i; step % 2 && team_next_range(t, items, 3, &i, &end);) {
            if (i >= end || end - i > 3) wrong++;
            for (; i < end; i++) done[step][first + i]++;
        }
    }
    if (!alone) return;
    for (int n = 0; n < 10; n++) sched_yield();
    slot_taken[t->slot]--;
}

static const int teams[] = {1, 2, 3, 4, 5, 40};

/* 1 to 40 threads, 0 to 7 images, items one by one or in ranges, chunks of several images or one image per thread.  No
 * loop starts before the previous barrier is complete; teams of one thread have separate slots. */
TESTS(every_item_is_done_once, COUNT(teams))
{
    struct plan plan = {.threads = teams[_i]};
    real *x = zeros(3 * IMAGES), *y = zeros(2 * IMAGES);
    all_x = x;
    all_y = y;
    for (size_t images = 0; images <= IMAGES; images++)
        for (size_t chunk = 0; chunk <= 3; chunk++) {
            struct batch batch = {
                .images = images, .x_image = 3, .y_image = 2, .chunk = chunk, .per_thread = !chunk,
            };
            memset(done, 0, sizeof done);
            succeeds(batch_run(&plan, y, x, &batch, do_items));
            for (size_t step = 0; step < STEPS; step++)
                for (size_t n = 0; n < IMAGES * ITEMS; n++) ck_assert_int_eq(done[step][n], n < images * ITEMS);
            ck_assert_int_eq(wrong, 0);
        }
}

static void do_items_with_one_slow(const struct team *t)
{
    for (size_t i; team_next(t, ITEMS * IMAGES, &i); done[0][i]++) {
        double begun = omp_get_wtime();
        while (i == 0 && waited < ITEMS * IMAGES - 1 && omp_get_wtime() < begun + 10) sched_yield();
        if (i == 0 && waited < ITEMS * IMAGES - 1) wrong++;
        waited++;
    }
}

TESTS(idle_threads_steal_work, 4)
{
    struct plan plan = {.threads = 2 + _i};
    const struct batch batch = {.images = 1, .chunk = 1};
    memset(done, 0, sizeof done);
    waited = 0;
    succeeds(batch_run(&plan, zeros(1), zeros(1), &batch, do_items_with_one_slow));
    for (size_t n = 0; n < IMAGES * ITEMS; n++) ck_assert_int_eq(done[0][n], 1);
    ck_assert_int_eq(wrong, 0);
}

/* Consecutive, from 0 to the end, and different by at most one item. */
TEST(shares_are_equal)
{
    for (size_t items = 0; items <= 20; items++)
        for (size_t parts = 1; parts <= 9; parts++) {
            ck_assert(share(items, 0, parts) == 0 && share(items, parts, parts) == items);
            for (size_t part = 0; part < parts; part++)
                ck_assert_uint_le(share(items, part + 1, parts) - share(items, part, parts) - items / parts, 1);
        }
}

/* At least one image, at most all. */
TEST(images_of_a_chunk_hold_1024_tokens)
{
    static const size_t row[][3] = {{196, 64, 5}, {196, 3, 3}, {1024, 64, 1}, {3136, 64, 1}, {1, 2000, 1024}};
    for (size_t r = 0; r < COUNT(row); r++) ck_assert_uint_eq(chunk_images(row[r][0], row[r][1]), row[r][2]);
}

int main(void) { return run_tests("arena"); }
