/* arena.c -- what a plan works in, asked for by name and shape; see room.h */

#include "arena.h"
#include <stdint.h>
#include <string.h>

#if ROOM_GUARD
#include <sanitizer/asan_interface.h>
#endif

#define LINE ((size_t)64)

struct room room_open(int threads)
{
    return (struct room){.threads = threads < 1 ? 1 : threads};
}

void room_refuse(struct room *room, status s)
{
    if (!room->refusal.code) room->refusal = s;
}

status room_status(const struct room *room)
{
    return room->refusal;
}

static void ask(struct room *room, enum room_time time, void *where, const char *name, size_t bytes)
{
    size_t in_all = 0;
    if (room->refusal.code || bytes == 0) return;
    if (room->arrays == ROOM_ARRAYS) {
        room_refuse(room, failure("%s: more than %d arrays in a plan", name, ROOM_ARRAYS));
        return;
    }
    size_t lines = (bytes - 1) / LINE + 1 + ROOM_GUARD / LINE;
    room->array[room->arrays++] = (struct room_array){where, time, (unsigned)(lines * LINE - bytes), room->bytes[time]};
    size_add(&room->bytes[time], lines, LINE);
    size_add(&in_all, bytes, time == OF_THREAD ? (size_t)room->threads : 1);
    if (in_all <= room->largest_bytes) return;
    room->largest = name;
    room->largest_bytes = in_all;
}

void room_objects(struct room *room, enum room_time time, void *where, const char *name,
                  size_t a, size_t b, size_t size)
{
    size_t bytes;
    bool counted = size_multiply(&bytes, a, b) && size_multiply(&bytes, bytes, size);
    ask(room, time, where, name, counted ? bytes : SIZE_MAX);
}

void room_reals(struct room *room, enum room_time time, real **where, const char *name,
                size_t a, size_t b, size_t c, size_t d)
{
    size_t count;
    if (!a || !b || !c || !d) return;
    bool counted = size_multiply(&count, a, b) && size_multiply(&count, count, c);
    room_objects(room, time, where, name, counted ? count : SIZE_MAX, d, sizeof(real));
}

size_t room_workspace_bytes(const struct room *room)
{
    size_t run = room->bytes[OF_RUN];
    size_add(&run, (size_t)room->threads, room->bytes[OF_THREAD]);
    return run > room->bytes[WHILE_LOADING] ? run : room->bytes[WHILE_LOADING];
}

size_t room_bytes(const struct room *room)
{
    size_t all = room_workspace_bytes(room);
    size_add(&all, room->bytes[OF_LOAD], 1);
    return all;
}

/* The first byte of the arrays of one time. */
static char *part(const struct room *room, enum room_time time)
{
    char *work = room->work;
    if (time == OF_LOAD) return room->kept;
    return time == OF_THREAD ? work + room->bytes[OF_RUN] : work;
}

status room_place(struct room *room, void *workspace)
{
    size_t kept = room->bytes[OF_LOAD], own = workspace ? 0 : room_workspace_bytes(room);
    if (room->refusal.code) return room->refusal;

    /* Step 1: two blocks; none of SIZE_MAX bytes is to be had. */
    if (kept) room->kept = memory_get(kept, 1);
    if (own) room->workspace = memory_get(own, 1);
    if ((kept && !room->kept) || (own && !room->workspace)) {
        room_release(room);
        return failure("not enough memory for %zu bytes, most of them %s", room_bytes(room), room->largest);
    }

    /* Step 2: the pointers.  Each is some other type's, so its bytes are copied. */
    room->work = workspace ? workspace : room->workspace;
    for (int n = 0; n < room->arrays; n++) {
        void *array = part(room, room->array[n].time) + room->array[n].at;
        memcpy(room->array[n].where, &array, sizeof array);
    }
    return status_ok();
}

/* Poisons the bytes after each array that is used during a load (WHILE_LOADING) or a run (OF_RUN); ROOM_TIMES: none. */
static void guard(const struct room *room, enum room_time time)
{
#if ROOM_GUARD
    size_t end[ROOM_TIMES];
    memcpy(end, room->bytes, sizeof end);
    ASAN_UNPOISON_MEMORY_REGION(room->kept, room->bytes[OF_LOAD]);
    ASAN_UNPOISON_MEMORY_REGION(room->work, room_workspace_bytes(room));
    for (int n = room->arrays - 1; n >= 0 && time != ROOM_TIMES; n--) {
        const struct room_array *a = &room->array[n];
        bool used = a->time == OF_LOAD || (a->time == WHILE_LOADING) == (time == WHILE_LOADING);
        for (int t = 0; used && t < (a->time == OF_THREAD ? room->threads : 1); t++)
            ASAN_POISON_MEMORY_REGION(part(room, a->time) + (size_t)t * room->bytes[a->time] + end[a->time] - a->slack,
                                      a->slack);
        end[a->time] = a->at;
    }
#else
    (void)room, (void)time;
#endif
}

void room_begin(struct room *room, enum room_time time)
{
    memory_fill_junk(room->work, room_workspace_bytes(room));
    guard(room, time);
}

void room_end(struct room *room)
{
    guard(room, ROOM_TIMES);
}

void room_release(struct room *room)
{
    memory_free(room->kept);
    memory_free(room->workspace);
    room->kept = room->workspace = room->work = NULL;
}

void *room_own(const struct room *room, const void *array, size_t thread)
{
    return array ? (char *)array + thread * room->bytes[OF_THREAD] : NULL;
}
