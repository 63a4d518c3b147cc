/* tensor.c -- a name, a shape, and dense row-major reals; see tensor.h */

#include "tensor.h"
#include <stdio.h>
#include <string.h>

status tensor_describe(struct tensor *t, const char *name, int axes, const size_t *size)
{
    *t = (struct tensor){.axes = axes, .count = 1};
    if (axes < 0 || axes > TENSOR_AXES)
        return bad_input("tensor %.60s: %d axes, expected at most %d", name, axes, TENSOR_AXES);
    for (int a = 0; a < axes; a++) {
        t->size[a] = size[a];
        if (size[a] == 0) return bad_input("tensor %.60s: axis %d has size 0", name, a);
        if (!size_multiply(&t->count, t->count, size[a]))
            return bad_input("tensor %.60s: its size overflows", name);
    }
    size_t length = strlen(name) + 1;
    t->name = memory_get(length, 1);
    if (!t->name) return out_of_memory(name);
    memcpy(t->name, name, length);
    return status_ok();
}

status tensor_allocate(struct tensor *t)
{
    t->data = memory_reals(t->count, 1, 1, 1);
    return t->data ? status_ok() : out_of_memory(t->name);
}

status tensor_create(struct tensor *t, const char *name, int axes, const size_t *size)
{
    status s = tensor_describe(t, name, axes, size);
    if (!s.code) s = tensor_allocate(t);
    if (s.code) tensor_release(t);
    return s;
}

void tensor_release(struct tensor *t)
{
    memory_free(t->name);
    memory_free(t->data);
    t->name = NULL;
    t->data = NULL;
}

void tensors_release(struct tensors *list)
{
    for (size_t i = 0; i < list->count; i++) tensor_release(&list->tensor[i]);
    memory_free(list->tensor);
    *list = (struct tensors){0};
}

struct tensor *tensors_find(const struct tensors *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->tensor[i].name, name) == 0) return &list->tensor[i];
    return NULL;
}

status tensor_missing(const char *name, const char *expected, const struct tensors *list)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < list->count; i++) {
        const char *found = list->tensor[i].name;
        size_t prefix = strlen(found) > length ? strlen(found) - length : 0;
        if (prefix && found[prefix - 1] == '.' && !strcmp(found + prefix, name))
            return bad_input("tensor %s: missing; found '%.80s', expected names without '%.*s'", name, found,
                             (int)(prefix < 60 ? prefix : 60), found);
    }
    return bad_input("tensor %s: missing, expected %s", name, expected);
}

char *shape_text(char *text, size_t size, int axes, const size_t *shape)
{
    size_t at = (size_t)snprintf(text, size, "[");
    for (int a = 0; a < axes && at < size; a++)
        at += (size_t)snprintf(text + at, size - at, a ? ", %zu" : "%zu", shape[a]);
    if (at < size) snprintf(text + at, size - at, "]");
    return text;
}
