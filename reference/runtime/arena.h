/* arena.h -- what a plan works in, asked for by name and shape
 *
 * A form asks for its arrays while it is prepared.  Nothing is taken then: the
 * room adds up what was asked for and takes all of it at once when it is
 * placed.  So the bytes of a plan are known before a byte is taken, and several
 * plans that run one after another may be placed in one workspace.  What
 * overflows counts as SIZE_MAX bytes, and cannot be placed.
 *
 *     arena_reals(room, PERSISTENT, &f->R, "the Toeplitz tensor R", 1, N, N, D);
 *     arena_reals(room, PER_THREAD, &f->a, "the structure vectors", 1, 1, N, D);
 *     return arena_status(room);
 *
 * Each pointer is set when the room is placed; an array with an axis of 0 is
 * NULL and takes nothing.  What arrays hold before they are written is
 * anything.  All are aligned to 64 bytes.
 *
 * An array belongs to one of four times:
 *
 *     PERSISTENT     from load on: tables, repacked weights
 *     PER_RUN      one run
 *     PER_THREAD   one run, and one array for each thread: arena_thread finds it
 *     LOAD_SCRATCH   one load, and gone when it is done
 *
 * What is of a run or of a loading is the workspace: it holds nothing from one
 * to the next, and both may lie in the same place. */

#ifndef TWICETOLD_ARENA_H
#define TWICETOLD_ARENA_H

#include "memory.h"
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ARENA_ARRAYS 48

/* Bytes reserved after each array: none, or one line in a build for AddressSanitizer, which then reports every
 * access to them while a plan loads or runs.  arena_bytes counts them. */
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
    void *where;                /* the pointer that will be set */
    enum lifetime time;
    unsigned slack;             /* bytes between its end and the next array of its time */
    size_t at;                  /* bytes from the beginning of its time's part */
};

struct arena {
    int threads;
    status error;             /* the first thing that went wrong */
    int arrays;
    struct arena_array array[ARENA_ARRAYS];
    size_t bytes[LIFETIMES];   /* of each part; of PER_THREAD, for one thread */
    const char *largest;        /* the name of the largest array, and its bytes in all */
    size_t largest_bytes;
    void *persistent, *scratch;     /* NULL until placed, and where there is nothing of its own */
    void *work;                 /* the workspace in use: its own, or one that was lent */
};

struct arena arena_open(int threads);

/* Asks for a*b*c*d reals, or a*b objects of `size` bytes.  `where` is the
 * address of a pointer to them; `name` goes into the message where they cannot
 * be had. */
void arena_reals(struct arena *arena, enum lifetime time, real **where, const char *name,
                size_t a, size_t b, size_t c, size_t d);
void arena_objects(struct arena *arena, enum lifetime time, void *where, const char *name,
                  size_t a, size_t b, size_t size);

/* Refuses; only the first refusal is kept. */
void arena_fail(struct arena *arena, status s);
status arena_status(const struct arena *arena);

/* Bytes of the workspace, and of all; SIZE_MAX where they cannot be counted. */
size_t arena_scratch_bytes(const struct arena *arena);
size_t arena_bytes(const struct arena *arena);

/* Takes what was asked for and sets the pointers.  The workspace is taken too,
 * or lies in `workspace`, aligned to 64 bytes and of at least
 * arena_scratch_bytes, which must outlive the room.  Fails when memory is
 * out. */
status arena_allocate(struct arena *arena, void *scratch);

/* Each load lies between arena_begin(room, LOAD_SCRATCH) and arena_end, each run between arena_begin(room, PER_RUN) and
 * arena_end.  In tests arena_begin fills the workspace with junk (memory.h).  Under AddressSanitizer the bytes between
 * arrays are poisoned from arena_begin to arena_end. */
void arena_begin(struct arena *arena, enum lifetime time);
void arena_end(struct arena *arena);

/* Lets go of all; accepts a room that was never placed. */
void arena_release(struct arena *arena);

/* An array of PER_THREAD as this thread's own, number 0 ... threads - 1. */
void *arena_thread(const struct arena *arena, const void *array, size_t thread);

/* Number n of an array, and NULL of an array that is NULL: C knows not even NULL + 0. */
static inline real *arena_at(real *array, size_t n)
{
    return array ? array + n : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
