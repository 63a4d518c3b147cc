/* room.c -- what a plan works in, asked for by name and shape; see room.h */

#include "room.h"
#include <stdint.h>
#include <string.h>

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
    room->array[room->arrays++] = (struct room_array){where, time, room->bytes[time]};
    size_add(&room->bytes[time], (bytes - 1) / LINE + 1, LINE);
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
    char *work = workspace ? workspace : room->workspace;
    char *const part[ROOM_TIMES] = {room->kept, work, work ? work + room->bytes[OF_RUN] : NULL, work};
    for (int n = 0; n < room->arrays; n++) {
        void *array = part[room->array[n].time] + room->array[n].at;
        memcpy(room->array[n].where, &array, sizeof array);
    }
    return status_ok();
}

void room_release(struct room *room)
{
    memory_free(room->kept);
    memory_free(room->workspace);
    room->kept = room->workspace = NULL;
}

void *room_own(const struct room *room, const void *array, size_t thread)
{
    return array ? (char *)array + thread * room->bytes[OF_THREAD] : NULL;
}
