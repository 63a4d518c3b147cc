/* arena.h -- what a plan works in, asked for by name and shape
 *
 * A form asks for its arrays while it is prepared.  Nothing is taken then: the
 * room adds up what was asked for and takes all of it at once when it is
 * placed.  So the bytes of a plan are known before a byte is taken, and several
 * plans that run one after another may be placed in one workspace.  What
 * overflows counts as SIZE_MAX bytes, and cannot be placed.
 *
 *     room_reals(room, OF_LOAD, &f->R, "the Toeplitz tensor R", 1, N, N, D);
 *     room_reals(room, OF_THREAD, &f->a, "the structure vectors", 1, 1, N, D);
 *     return room_status(room);
 *
 * Each pointer is set when the room is placed; an array with an axis of 0 is
 * NULL and takes nothing.  What arrays hold before they are written is
 * anything.  All are aligned to 64 bytes.
 *
 * An array belongs to one of four times:
 *
 *     OF_LOAD     from load on: tables, repacked weights
 *     OF_RUN      one run
 *     OF_THREAD   one run, and one array for each thread: room_own finds it
 *     WHILE_LOADING   one load, and gone when it is done
 *
 * What is of a run or of a loading is the workspace: it holds nothing from one
 * to the next, and both may lie in the same place. */

#ifndef TWICETOLD_ROOM_H
#define TWICETOLD_ROOM_H

#include "memory.h"
#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ROOM_ARRAYS 48

/* Bytes reserved after each array: none, or one line in a build for AddressSanitizer, which then reports every
 * access to them while a plan loads or runs.  room_bytes counts them. */
#if defined __SANITIZE_ADDRESS__
#define ROOM_GUARD 64
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define ROOM_GUARD 64
#endif
#endif
#ifndef ROOM_GUARD
#define ROOM_GUARD 0
#endif

enum room_time { OF_LOAD, OF_RUN, OF_THREAD, WHILE_LOADING, ROOM_TIMES };

struct room_array {
    void *where;                /* the pointer that will be set */
    enum room_time time;
    unsigned slack;             /* bytes between its end and the next array of its time */
    size_t at;                  /* bytes from the beginning of its time's part */
};

struct room {
    int threads;
    status refusal;             /* the first thing that went wrong */
    int arrays;
    struct room_array array[ROOM_ARRAYS];
    size_t bytes[ROOM_TIMES];   /* of each part; of OF_THREAD, for one thread */
    const char *largest;        /* the name of the largest array, and its bytes in all */
    size_t largest_bytes;
    void *kept, *workspace;     /* NULL until placed, and where there is nothing of its own */
    void *work;                 /* the workspace in use: its own, or one that was lent */
};

struct room room_open(int threads);

/* Asks for a*b*c*d reals, or a*b objects of `size` bytes.  `where` is the
 * address of a pointer to them; `name` goes into the message where they cannot
 * be had. */
void room_reals(struct room *room, enum room_time time, real **where, const char *name,
                size_t a, size_t b, size_t c, size_t d);
void room_objects(struct room *room, enum room_time time, void *where, const char *name,
                  size_t a, size_t b, size_t size);

/* Refuses; only the first refusal is kept. */
void room_refuse(struct room *room, status s);
status room_status(const struct room *room);

/* Bytes of the workspace, and of all; SIZE_MAX where they cannot be counted. */
size_t room_workspace_bytes(const struct room *room);
size_t room_bytes(const struct room *room);

/* Takes what was asked for and sets the pointers.  The workspace is taken too,
 * or lies in `workspace`, aligned to 64 bytes and of at least
 * room_workspace_bytes, which must outlive the room.  Fails when memory is
 * out. */
status room_place(struct room *room, void *workspace);

/* Each load lies between room_begin(room, WHILE_LOADING) and room_end, each run between room_begin(room, OF_RUN) and
 * room_end.  In tests room_begin fills the workspace with junk (memory.h).  Under AddressSanitizer the bytes between
 * arrays are poisoned from room_begin to room_end. */
void room_begin(struct room *room, enum room_time time);
void room_end(struct room *room);

/* Lets go of all; accepts a room that was never placed. */
void room_release(struct room *room);

/* An array of OF_THREAD as this thread's own, number 0 ... threads - 1. */
void *room_own(const struct room *room, const void *array, size_t thread);

/* Number n of an array, and NULL of an array that is NULL: C knows not even NULL + 0. */
static inline real *room_at(real *array, size_t n)
{
    return array ? array + n : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
