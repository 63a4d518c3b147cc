/* arena.h -- the memory of a plan, declared by name and shape before it is allocated
 *
 * A form declares its arrays in prepare; arena_allocate allocates all of them.  So the bytes of a plan are known before
 * any is allocated, and plans that run one after another can share their scratch memory.  If a size overflows,
 * allocation fails.
 *
 *     arena_reals(arena, PERSISTENT, &f->R, "the Toeplitz tensor R", N, N, D);
 *     arena_reals(arena, PER_THREAD, &f->a, "the structure vectors", N, D);
 *     return arena_status(arena);
 *
 * arena_allocate sets the pointers.  Arrays are aligned to 64 bytes and not initialised.  An array with an axis of 0 is
 * NULL.  Each array has one of four lifetimes:
 *
 *     PERSISTENT     from load to the end of the plan: tables, repacked weights
 *     PER_RUN        one run
 *     PER_THREAD     one run, one array for each thread (arena_thread)
 *     LOAD_SCRATCH   one load
 *
 * All but PERSISTENT is scratch memory: runs and loads use the same bytes. */

#pragma once
#include "memory.h"
#include "status.h"

BEGIN_C_DECLS

#define ARENA_ARRAYS 48

/* Bytes reserved after each array: 0, or one cache line with AddressSanitizer, which reports every access to them while
 * a plan loads or runs.  arena_bytes counts them. */
#if defined __SANITIZE_ADDRESS__
#define ARENA_GUARD 64
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define ARENA_GUARD 64
#endif
#endif
#ifndef ARENA_GUARD
#define ARENA_GUARD 0
#endif

enum lifetime { PERSISTENT, PER_RUN, PER_THREAD, LOAD_SCRATCH, LIFETIMES };

struct arena_array {
    void *pointer;              /* address of the pointer that will be set */
    enum lifetime time;
    unsigned slack;             /* bytes between its end and the next array of its lifetime */
    size_t offset;              /* from the first array of its lifetime */
};

struct arena {
    int threads;
    status error;               /* the first error */
    int arrays;
    struct arena_array array[ARENA_ARRAYS];
    size_t bytes[LIFETIMES];    /* of each lifetime; PER_THREAD: of one thread */
    const char *largest;        /* name of the largest array */
    size_t largest_bytes;       /* its bytes, of all threads */
    void *persistent, *scratch; /* memory that the arena owns, or NULL */
    void *work;                 /* the scratch memory in use: its own, or the caller's */
};

struct arena arena_open(int threads);

/* Reserves an array of reals with one to four axes, or a*b objects of `size` bytes.  `pointer` is the address of the
 * pointer to set; `name` appears in the error if allocation fails. */
#define arena_reals(arena, lifetime, pointer, name, ...) \
    arena_array_of_reals(arena, lifetime, pointer, name, ARENA_FOUR(__VA_ARGS__, 1, 1, 1, 0))
#define ARENA_FOUR(a, b, c, d, ...) a, b, c, d
void arena_array_of_reals(struct arena *arena, enum lifetime time, real **pointer, const char *name,
                          size_t a, size_t b, size_t c, size_t d);
void arena_objects(struct arena *arena, enum lifetime time, void *pointer, const char *name,
                   size_t a, size_t b, size_t size);

/* Records an error, unless there is one already. */
void arena_fail(struct arena *arena, status s);
status arena_status(const struct arena *arena);

/* Bytes of scratch memory, and of everything; SIZE_MAX after an overflow. */
size_t arena_scratch_bytes(const struct arena *arena);
size_t arena_bytes(const struct arena *arena);

/* Allocates the arrays and sets their pointers.  If `scratch` is not NULL, the arena uses it as scratch memory:
 * arena_scratch_bytes bytes, aligned to 64, valid as long as the arena. */
status arena_allocate(struct arena *arena, void *scratch);

/* A load calls arena_begin(arena, LOAD_SCRATCH) first and arena_end last; a run does the same with PER_RUN.  In tests
 * arena_begin fills the scratch memory with junk (memory.h).  Between the two calls AddressSanitizer guards the bytes
 * after each array. */
void arena_begin(struct arena *arena, enum lifetime time);
void arena_end(struct arena *arena);

/* Frees everything; also for an arena that was never allocated. */
void arena_release(struct arena *arena);

/* The copy of a PER_THREAD array that belongs to thread 0 ... threads - 1. */
void *arena_thread(const struct arena *arena, const void *array, size_t thread);

/* array + n, or NULL if array is NULL (C does not define NULL + n). */
static inline real *arena_at(real *array, size_t n)
{
    return array ? array + n : NULL;
}

END_C_DECLS
