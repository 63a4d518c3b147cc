/* safetensors.c -- fuzz target: the readers and writers of tensor files
 *
 * If the first byte is y or z, the others are an .npy or .npz file; otherwise, if it is even, a safetensors file.  Else
 * they are a header; its length is added, and as many bytes of data as the largest number in it, up to MOST. */

#include "fuzz.h"
#include <stdlib.h>
#include <string.h>
#include "../../reference/io/npy.h"

#define MOST 65536              /* bytes of an added data section */

/* The largest number up to MOST in a header. */
static size_t longest(const uint8_t *header, size_t size)
{
    size_t most = 0, number = 0;
    for (size_t n = 0; n <= size; n++) {
        bool digit = n < size && header[n] >= '0' && header[n] <= '9';
        if (digit && number < MOST) number = 10 * number + (size_t)(header[n] - '0');
        if (digit) continue;
        if (number > most && number <= MOST) most = number;
        number = 0;
    }
    return most;
}

/* The file that these bytes describe; the caller frees it. */
static uint8_t *file_of(size_t *length, const uint8_t *bytes, size_t size)
{
    bool whole = size == 0 || bytes[0] % 2 == 0 || bytes[0] == 'y';
    size_t inside = size ? size - 1 : 0, data = whole ? 0 : longest(bytes + 1, inside);
    uint8_t *file = calloc(8 + inside + data, 1), *header = file ? file + (whole ? 0 : 8) : NULL;
    if (!file) return NULL;
    if (inside) memcpy(header, bytes + 1, inside);
    for (int b = 0; b < 8 && !whole; b++) file[b] = (uint8_t)((uint64_t)inside >> 8 * b);
    for (size_t n = 0; n < data; n++) header[inside + n] = (uint8_t)(n * 37 + n / 5);
    *length = (whole ? 0 : 8) + inside + data;
    return file;
}

/* Compares names, shapes, and numbers to the bit. */
static const char *same(const struct tensors *a, const struct tensors *b)
{
    if (a->count != b->count) return wrong("%zu tensors became %zu", a->count, b->count);
    for (size_t t = 0; t < a->count; t++) {
        const struct tensor *x = &a->tensor[t], *y = &b->tensor[t];
        if (strcmp(x->name, y->name) || x->axes != y->axes || x->count != y->count
            || memcmp(x->size, y->size, (size_t)x->axes * sizeof *x->size))
            return wrong("name or shape of tensor %zu changed", t);
        if (memcmp(x->data, y->data, x->count * sizeof *x->data)) return wrong("the numbers of tensor %zu changed", t);
    }
    return NULL;
}

const char *fuzz_safetensors(const uint8_t *bytes, size_t size)
{
    struct tensors list = {0}, again = {0};
    size_t length = 0, before = memory_in_use();
    uint8_t *file = file_of(&length, bytes, size);
    char first = size ? (char)bytes[0] : 0;
    const char *in = first == 'y' ? "in.npy" : first == 'z' ? "in.npz" : "in";
    const char *out = first == 'y' ? "out.npy" : first == 'z' ? "out.npz" : "out";
    const char *fault = file ? write_file(in, file, length) : wrong("no memory");
    free(file);
    if (fault) return fault;
    status s = tensor_file_read(&list, in, NULL);
    fault = wrong_status(s);
    if (!fault && s.code && (list.count || memory_in_use() != before)) fault = wrong("an error leaks memory");
    if (!fault && !s.code) {
        s = tensor_file_write(out, list.tensor, list.count);
        if (!s.code) s = tensor_file_read(&again, out, NULL);
        fault = s.code ? wrong("cannot be written and read again: %s", s.message) : same(&list, &again);
    }
    tensors_release(&list);
    tensors_release(&again);
    return fault;
}
