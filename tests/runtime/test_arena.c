/* test_arena.c -- arenas, and how threads share a batch of images */

#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "../support/support.h"
#include "../../reference/runtime/batch.h"
#include "../../reference/runtime/arena.h"
#if ROOM_GUARD
#include <sanitizer/asan_interface.h>
#endif

/* ---- rooms ------------------------------------------------------------- */

#define THREADS 3

/* Two arrays of each lifetime; sizes are no whole number of lines. */
static const struct { enum room_time time; size_t a, b, c, d; } asked[] = {
    {OF_LOAD, 3, 5, 1, 1}, {OF_RUN, 1, 1, 1, 1}, {OF_THREAD, 7, 1, 3, 1}, {WHILE_LOADING, 2, 2, 2, 5},
    {OF_THREAD, 1, 1, 1, 17}, {OF_RUN, 16, 1, 1, 1}, {OF_LOAD, 33, 1, 1, 1}, {WHILE_LOADING, 1, 1, 9, 1},
};

static size_t reals_of(size_t n) { return asked[n].a * asked[n].b * asked[n].c * asked[n].d; }

static struct room ask_all(real *array[COUNT(asked)])
{
    struct room room = room_open(THREADS);
    for (size_t n = 0; n < COUNT(asked); n++)
        room_reals(&room, asked[n].time, &array[n], "an array", asked[n].a, asked[n].b, asked[n].c, asked[n].d);
    succeeds(room_status(&room));
    return room;
}

/* True if array n is used during a load, or during a run. */
static bool in_use(size_t n, bool loading)
{
    return asked[n].time == OF_LOAD || loading == (asked[n].time == WHILE_LOADING);
}

/* An array, or the part of one thread. */
struct part { real *entry; size_t count; enum room_time time; };

/* The parts in use during a load, or during a run. */
static size_t parts_in_use(struct part part[COUNT(asked) * THREADS], const struct room *room,
                           real *array[COUNT(asked)], bool loading)
{
    size_t parts = 0;
    for (size_t n = 0; n < COUNT(asked); n++)
        for (size_t thread = 0; thread < (asked[n].time == OF_THREAD ? THREADS : 1) && in_use(n, loading); thread++) {
            real *entry = asked[n].time == OF_THREAD ? room_own(room, array[n], thread) : array[n];
            ck_assert_uint_eq((uintptr_t)entry % 64, 0);
            part[parts++] = (struct part){entry, reals_of(n), asked[n].time};
        }
    return parts;
}

/* Writes to all arrays in use, then reads what was written. */
static void write_and_read(const struct room *room, real *array[COUNT(asked)], bool loading)
{
    struct part part[COUNT(asked) * THREADS];
    size_t parts = parts_in_use(part, room, array, loading);
    for (size_t n = 0; n < parts; n++)
        for (size_t i = 0; i < part[n].count; i++) part[n].entry[i] = (real)(100 * n + i);
    for (size_t n = 0; n < parts; n++)
        for (size_t i = 0; i < part[n].count; i++) ck_assert(part[n].entry[i] == (real)(100 * n + i));
}

/* Also those of each thread; arrays of a load share the memory of a run. Nothing is allocated before the arena is
 * placed, then as many bytes as it said. */
START_TEST(arrays_do_not_overlap)
{
    real *array[COUNT(asked)] = {0};
    size_t before = memory_in_use();
    struct room room = ask_all(array);
    ck_assert_uint_eq(memory_in_use(), before);
    size_t said = room_bytes(&room);
    succeeds(room_place(&room, NULL));
    ck_assert_uint_eq(memory_in_use() - before, said);
    write_and_read(&room, array, true);
    write_and_read(&room, array, false);
    ck_assert_ptr_eq(array[3], array[1]);
    room_release(&room);
    room_release(&room);
    ck_assert_uint_eq(memory_in_use(), before);
}
END_TEST

/* The lines of what is persistent, and the larger of a load and a run, with one part for each thread. A build for
 * AddressSanitizer adds one line to each array. */
START_TEST(bytes_are_added_up)
{
    enum { G = ROOM_GUARD };
    struct room room = room_open(THREADS);
    char *array;
    room_objects(&room, OF_LOAD, &array, "65 bytes", 5, 13, 1);
    ck_assert_uint_eq(room_bytes(&room), 128 + G);
    ck_assert_uint_eq(room_workspace_bytes(&room), 0);
    room_objects(&room, OF_RUN, &array, "64 bytes", 8, 1, 8);
    room_objects(&room, OF_THREAD, &array, "1 byte", 1, 1, 1);
    ck_assert_uint_eq(room_workspace_bytes(&room), 64 + G + THREADS * (64 + G));
    room_objects(&room, WHILE_LOADING, &array, "256 bytes", 1, 256, 1);
    ck_assert_uint_eq(room_workspace_bytes(&room), G ? 4 * 128 : 256);
    room_objects(&room, WHILE_LOADING, &array, "1 byte", 1, 1, 1);
    room_objects(&room, WHILE_LOADING, &array, "129 bytes", 129, 1, 1);
    ck_assert_uint_eq(room_workspace_bytes(&room), 512 + 3 * G);
    ck_assert_uint_eq(room_bytes(&room), 128 + 512 + 4 * G);
    ck_assert_int_eq(room_open(0).threads, 1);
}
END_TEST

static bool poisoned(const char *byte)
{
#if ROOM_GUARD
    return __asan_address_is_poisoned(byte);
#else
    (void)byte;
    return false;
#endif
}

/* Between room_begin and room_end AddressSanitizer reports an access to any byte between two arrays, for every
 * thread. With junk, scratch arrays are NaN at each room_begin, persistent ones at the first. */
START_TEST(arrays_are_guarded_and_begin_as_nan)
{
    real *array[COUNT(asked)];
    struct part part[COUNT(asked) * THREADS];
    struct room room = ask_all(array);
    succeeds(room_place(&room, NULL));
    for (int loading = 1; loading >= 0; loading--) {
        room_begin(&room, loading ? WHILE_LOADING : OF_RUN);
        size_t parts = parts_in_use(part, &room, array, loading);
        for (size_t n = 0; n < parts; n++) {
            const char *byte = (const char *)part[n].entry, *end = byte + part[n].count * sizeof(real);
            for (size_t i = 0; i < part[n].count; i++)
                ck_assert(isnan((double)part[n].entry[i]) == (loading || part[n].time != OF_LOAD));
            for (; byte < end; byte++) ck_assert(!poisoned(byte));
            for (; byte < end + ROOM_GUARD || (ROOM_GUARD && (uintptr_t)byte % 64); byte++) ck_assert(poisoned(byte));
        }
        write_and_read(&room, array, loading);
        room_end(&room);
        for (size_t b = 0; b < room_workspace_bytes(&room); b++) ck_assert(!poisoned((const char *)room.work + b));
    }
    room_release(&room);
}
END_TEST

/* If one axis is 0, the array is NULL and takes nothing, whatever the other axes are. */
START_TEST(no_entries_are_no_array)
{
    struct room room = room_open(THREADS);
    real *array[4] = {NULL, NULL, NULL, NULL};
    for (int n = 0; n < 4; n++) {
        size_t axis[4] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
        axis[n] = 0;
        room_reals(&room, (enum room_time)n, &array[n], "nothing", axis[0], axis[1], axis[2], axis[3]);
    }
    succeeds(room_status(&room));
    ck_assert_uint_eq(room_bytes(&room), 0);
    succeeds(room_place(&room, NULL));
    for (int n = 0; n < 4; n++) ck_assert_ptr_null(array[n]);
    ck_assert_ptr_null(room_own(&room, array[OF_THREAD], 2));
    room_release(&room);
}
END_TEST

/* Sizes whose bytes do not fit into a size_t, each at another step. */
static const struct { enum room_time time; int threads; size_t a, b, c, d; } large[] = {
    {OF_LOAD, 1, SIZE_MAX, 2, 1, 1}, {OF_RUN, 1, (size_t)1 << 22, (size_t)1 << 22, (size_t)1 << 22, 1},
    {OF_THREAD, 1, 1, 1, SIZE_MAX / 2, 3}, {WHILE_LOADING, 1, SIZE_MAX / sizeof(real) + 1, 1, 1, 1},
    {OF_LOAD, 1, SIZE_MAX / sizeof(real), 1, 1, 1}, {OF_THREAD, 1024, (size_t)1 << 31, (size_t)1 << 22, 1, 1},
    {OF_RUN, 1, SIZE_MAX / sizeof(real) - 64, 1, 1, 1},
};

/* Overflow of a product, a rounding, the threads or a sum counts as SIZE_MAX bytes. Allocation fails and names the
 * array. */
START_TEST(overflow_counts_as_more_than_there_is)
{
    real *array = NULL, *other;
    size_t before = memory_in_use();
    struct room room = room_open(large[_i].threads);
    room_reals(&room, OF_LOAD, &other, "a few", 64, 1, 1, 1);
    room_reals(&room, OF_RUN, &other, "a few", 64, 1, 1, 1);
    room_reals(&room, large[_i].time, &array, "the largest", large[_i].a, large[_i].b, large[_i].c, large[_i].d);
    room_reals(&room, large[_i].time, &other, "a few", 64, 1, 1, 1);
    succeeds(room_status(&room));
    ck_assert_uint_eq(room_bytes(&room), SIZE_MAX);
    refused(room_place(&room, NULL), STATUS_FAILURE, "most of them the largest");
    ck_assert_ptr_null(array);
    ck_assert_uint_eq(memory_in_use(), before);
    room_release(&room);
}
END_TEST

/* The first error is reported, and the arena cannot be placed. */
START_TEST(too_many_arrays_are_an_error)
{
    struct room room = room_open(1);
    real *array[ROOM_ARRAYS + 1];
    for (int n = 0; n < ROOM_ARRAYS; n++) room_reals(&room, OF_RUN, &array[n], "one of many", 1, 1, 1, 1);
    succeeds(room_status(&room));
    room_reals(&room, OF_RUN, &array[ROOM_ARRAYS], "the one too many", 1, 1, 1, 1);
    room_refuse(&room, bad_input("later"));
    room_reals(&room, OF_RUN, &array[ROOM_ARRAYS], "the next", 1, 1, 1, 1);
    refused(room_status(&room), STATUS_FAILURE, "the one too many: more than 48 arrays");
    refused(room_place(&room, NULL), STATUS_FAILURE, "the one too many");
    ck_assert_ptr_null(room.workspace);
}
END_TEST

/* ---- flights ----------------------------------------------------------- */

#define ITEMS 5                 /* of an image, in each loop */
#define IMAGES 7                /* at most */
#define MEETINGS 3
#define STEPS (FLIGHT_LOOPS * (MEETINGS + 1))

static atomic_int done[STEPS][IMAGES * ITEMS], slot_taken[40], wrong, waited;
static const real *all_x;
static real *all_y;

/* The most loops that there may be between two barriers, every other one in ranges of up to 3.  An item checks an item
 * of another thread, of the loop before the last barrier. */
static void do_items(const struct flight *t)
{
    size_t items = t->images * ITEMS, first = t->first * ITEMS;
    bool alone = t->parts == 1;     /* then others may be on their way */
    if (t->x != all_x + 3 * t->first || t->y != all_y + 2 * t->first) wrong++;
    if (alone && atomic_fetch_add(&slot_taken[t->slot], 1)) wrong++;
    for (size_t step = 0; step < STEPS; step++) {
        if (step && step % FLIGHT_LOOPS == 0) flight_meet(t);
        size_t met = step / FLIGHT_LOOPS * FLIGHT_LOOPS, end;
        for (size_t i; step % 2 == 0 && flight_next(t, items, &i); done[step][first + i]++)
            if (met && done[met - 1][first + items - 1 - i] != 1) wrong++;
        for (size_t i; step % 2 && flight_run(t, items, 3, &i, &end);) {
            if (i >= end || end - i > 3) wrong++;
            for (; i < end; i++) done[step][first + i]++;
        }
    }
    if (!alone) return;
    for (int n = 0; n < 10; n++) sched_yield();
    slot_taken[t->slot]--;
}

static const int teams[] = {1, 2, 3, 4, 5, 40};

/* By 1 to 40 threads for 0 to 7 images, one item at a time or in ranges, chunks of a few images or one image per
 * thread. No loop begins before the last barrier; chunks of one thread have their own slots. */
START_TEST(every_item_is_done_once)
{
    struct plan plan = {.threads = teams[_i]};
    real *x = zeros(3 * IMAGES), *y = zeros(2 * IMAGES);
    all_x = x;
    all_y = y;
    for (size_t images = 0; images <= IMAGES; images++)
        for (size_t in_flight = 0; in_flight <= 3; in_flight++) {
            struct batch batch = {
                .images = images, .x_image = 3, .y_image = 2, .in_flight = in_flight, .apart = !in_flight,
            };
            memset(done, 0, sizeof done);
            succeeds(flights_run(&plan, y, x, &batch, do_items));
            for (size_t step = 0; step < STEPS; step++)
                for (size_t n = 0; n < IMAGES * ITEMS; n++) ck_assert_int_eq(done[step][n], n < images * ITEMS);
            ck_assert_int_eq(wrong, 0);
        }
}
END_TEST

/* The first item is done when all others are, or ten seconds later. */
static void do_items_with_one_slow(const struct flight *t)
{
    for (size_t i; flight_next(t, ITEMS * IMAGES, &i); done[0][i]++) {
        double begun = omp_get_wtime();
        while (i == 0 && waited < ITEMS * IMAGES - 1 && omp_get_wtime() < begun + 10) sched_yield();
        if (i == 0 && waited < ITEMS * IMAGES - 1) wrong++;
        waited++;
    }
}

/* The first item ends when all others are done. Threads without work stealing would take ten seconds, and fail. */
START_TEST(idle_threads_steal_work)
{
    struct plan plan = {.threads = _i};
    const struct batch batch = {.images = 1, .in_flight = 1};
    memset(done, 0, sizeof done);
    waited = 0;
    succeeds(flights_run(&plan, zeros(1), zeros(1), &batch, do_items_with_one_slow));
    for (size_t n = 0; n < IMAGES * ITEMS; n++) ck_assert_int_eq(done[0][n], 1);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* Shares follow each other from 0 to the end, and differ by at most one item. */
START_TEST(shares_are_equal)
{
    for (size_t items = 0; items <= 20; items++)
        for (size_t parts = 1; parts <= 9; parts++) {
            ck_assert_uint_eq(share(items, 0, parts), 0);
            ck_assert_uint_eq(share(items, parts, parts), items);
            for (size_t part = 0; part < parts; part++) {
                size_t size = share(items, part + 1, parts) - share(items, part, parts);
                ck_assert(size == items / parts || size == items / parts + 1);
            }
        }
}
END_TEST

/* As many images as make 1024 tokens, at least one, at most all. */
START_TEST(images_of_a_chunk_hold_1024_tokens)
{
    ck_assert_uint_eq(images_in_flight(196, 64), 5);
    ck_assert_uint_eq(images_in_flight(196, 3), 3);
    ck_assert_uint_eq(images_in_flight(1024, 64), 1);
    ck_assert_uint_eq(images_in_flight(3136, 64), 1);
    ck_assert_uint_eq(images_in_flight(1, 2000), 1024);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("room");
    TCase *rooms = add_case(suite, "rooms");
    tcase_add_test(rooms, arrays_do_not_overlap);
    tcase_add_test(rooms, bytes_are_added_up);
    tcase_add_test(rooms, arrays_are_guarded_and_begin_as_nan);
    tcase_add_test(rooms, no_entries_are_no_array);
    tcase_add_loop_test(rooms, overflow_counts_as_more_than_there_is, 0, (int)COUNT(large));
    tcase_add_test(rooms, too_many_arrays_are_an_error);
    TCase *flights = add_case(suite, "flights");
    tcase_add_loop_test(flights, every_item_is_done_once, 0, (int)COUNT(teams));
    tcase_add_loop_test(flights, idle_threads_steal_work, 2, 6);
    tcase_add_test(flights, shares_are_equal);
    tcase_add_test(flights, images_of_a_chunk_hold_1024_tokens);
    return run_suite(suite);
}
