/* arena.c -- the memory of a plan; see arena.h */

#include "arena.h"
#include <stdint.h>
#include <string.h>

#if ARENA_GUARD
#include <sanitizer/asan_interface.h>
#endif

#define LINE ((size_t)64)

struct arena arena_open(int threads)
{
    return (struct arena){.threads = threads < 1 ? 1 : threads};
}

void arena_fail(struct arena *arena, status s)
{
    if (!arena->error.code) arena->error = s;
}

status arena_status(const struct arena *arena)
{
    return arena->error;
}

static void reserve(struct arena *arena, enum lifetime time, void *pointer, const char *name, size_t bytes)
{
    size_t total = 0;
    if (arena->error.code || bytes == 0) return;
    if (arena->arrays == ARENA_ARRAYS) {
        arena_fail(arena, failure("%s: more than %d arrays in a plan", name, ARENA_ARRAYS));
        return;
    }
    size_t lines = (bytes - 1) / LINE + 1 + ARENA_GUARD / LINE;
    arena->array[arena->arrays++] = (struct arena_array){
        .pointer = pointer, .time = time, .slack = (unsigned)(lines * LINE - bytes), .offset = arena->bytes[time],
    };
    size_add(&arena->bytes[time], lines, LINE);
    size_add(&total, bytes, time == PER_THREAD ? (size_t)arena->threads : 1);
    if (total <= arena->largest_bytes) return;
    arena->largest = name;
    arena->largest_bytes = total;
}

void arena_objects(struct arena *arena, enum lifetime time, void *pointer, const char *name,
                   size_t a, size_t b, size_t size)
{
    size_t bytes;
    bool counted = size_multiply(&bytes, a, b) && size_multiply(&bytes, bytes, size);
    reserve(arena, time, pointer, name, counted ? bytes : SIZE_MAX);
}

void arena_array_of_reals(struct arena *arena, enum lifetime time, real **pointer, const char *name,
                          size_t a, size_t b, size_t c, size_t d)
{
    size_t count;
    if (!a || !b || !c || !d) return;
    bool counted = size_multiply(&count, a, b) && size_multiply(&count, count, c);
    arena_objects(arena, time, pointer, name, counted ? count : SIZE_MAX, d, sizeof(real));
}

size_t arena_scratch_bytes(const struct arena *arena)
{
    size_t run = arena->bytes[PER_RUN];
    size_add(&run, (size_t)arena->threads, arena->bytes[PER_THREAD]);
    return run > arena->bytes[LOAD_SCRATCH] ? run : arena->bytes[LOAD_SCRATCH];
}

size_t arena_bytes(const struct arena *arena)
{
    size_t total = arena_scratch_bytes(arena);
    size_add(&total, arena->bytes[PERSISTENT], 1);
    return total;
}

/* Address of the first array of a lifetime. */
static char *arrays_of(const struct arena *arena, enum lifetime time)
{
    char *work = arena->work;
    if (time == PERSISTENT) return arena->persistent;
    return time == PER_THREAD ? work + arena->bytes[PER_RUN] : work;
}

status arena_allocate(struct arena *arena, void *scratch)
{
    size_t persistent = arena->bytes[PERSISTENT], taken = scratch ? 0 : arena_scratch_bytes(arena);
    if (arena->error.code) return arena->error;

    /* Step 1: allocate two blocks.  SIZE_MAX bytes are never available. */
    if (persistent) arena->persistent = memory_get(persistent, 1);
    if (taken) arena->scratch = memory_get(taken, 1);
    if ((persistent && !arena->persistent) || (taken && !arena->scratch)) {
        arena_release(arena);
        return failure("not enough memory for %zu bytes, most of them %s", arena_bytes(arena), arena->largest);
    }

    /* Step 2: set the pointers.  Their types differ, so copy bytes. */
    arena->work = scratch ? scratch : arena->scratch;
    for (int n = 0; n < arena->arrays; n++) {
        void *array = arrays_of(arena, arena->array[n].time) + arena->array[n].offset;
        memcpy(arena->array[n].pointer, &array, sizeof array);
    }
    return status_ok();
}

/* Poisons the bytes after each array of a load (LOAD_SCRATCH) or a run (PER_RUN).  LIFETIMES: only unpoisons. */
static void guard(const struct arena *arena, enum lifetime time)
{
#if ARENA_GUARD
    size_t end[LIFETIMES];
    memcpy(end, arena->bytes, sizeof end);
    ASAN_UNPOISON_MEMORY_REGION(arena->persistent, arena->bytes[PERSISTENT]);
    ASAN_UNPOISON_MEMORY_REGION(arena->work, arena_scratch_bytes(arena));
    for (int n = arena->arrays - 1; n >= 0 && time != LIFETIMES; n--) {
        const struct arena_array *a = &arena->array[n];
        bool used = a->time == PERSISTENT || (a->time == LOAD_SCRATCH) == (time == LOAD_SCRATCH);
        for (int t = 0; used && t < (a->time == PER_THREAD ? arena->threads : 1); t++)
            ASAN_POISON_MEMORY_REGION(
                arrays_of(arena, a->time) + (size_t)t * arena->bytes[a->time] + end[a->time] - a->slack, a->slack);
        end[a->time] = a->offset;
    }
#else
    (void)arena, (void)time;
#endif
}

void arena_begin(struct arena *arena, enum lifetime time)
{
    memory_fill_junk(arena->work, arena_scratch_bytes(arena));
    guard(arena, time);
}

void arena_end(struct arena *arena)
{
    guard(arena, LIFETIMES);
}

void arena_release(struct arena *arena)
{
    memory_free(arena->persistent);
    memory_free(arena->scratch);
    arena->persistent = arena->scratch = arena->work = NULL;
}

void *arena_thread(const struct arena *arena, const void *array, size_t thread)
{
    return array ? (char *)array + thread * arena->bytes[PER_THREAD] : NULL;
}
