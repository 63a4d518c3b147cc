/* safetensors.c -- tensors in files, read as if every file were hostile; see safetensors.h
 *
 * cJSON accepts more than JSON: any control character counts as a blank, 1. and 01 are numbers, and \u0000 and \uzzzz
 * end a string.  scan rejects these first.  It looks at tokens and never at grammar, which is left to cJSON.  Then each
 * entry of the header is checked by itself, and all of them together.  Data are read last. */

#define _XOPEN_SOURCE 700       /* fseeko */

#include "safetensors.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "atomic_file.h"

#define HEADER_LIMIT ((size_t)100000000)
#define NESTING 3                       /* file, tensor, shape */
#define WHOLE_LIMIT 9007199254740992.0  /* 2^53: a double represents every whole number below it */
#define METADATA "__metadata__"

_Static_assert(sizeof(off_t) == sizeof(uint64_t), "a file may be longer than there are addresses");
_Static_assert(sizeof(real) == 4 || sizeof(real) == 8, "a real is stored as F32 or F64");

/* ---- The scan: what cJSON accepts and JSON does not ---- */

/* The number of leading bytes that are UTF-8 (RFC 3629): no overlong form, no surrogate, nothing beyond U+10FFFF. */
static size_t utf8_prefix(const char *text, size_t length)
{
    const unsigned char *t = (const unsigned char *)text;
    size_t i = 0;
    while (i < length) {
        unsigned char c = t[i], low = 0x80, high = 0xbf;
        size_t more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || length - i <= more) return i;

        /* After these first bytes the second one has a narrower range. */
        if (c == 0xe0) low = 0xa0;
        if (c == 0xed) high = 0x9f;
        if (c == 0xf0) low = 0x90;
        if (c == 0xf4) high = 0x8f;
        for (size_t k = 1; k <= more; k++, low = 0x80, high = 0xbf)
            if (t[i + k] < low || t[i + k] > high) return i;
        i += more + 1;
    }
    return length;
}

/* Move *at from the first byte of a string to the byte after its closing quote. */
static status scan_string(const char *text, size_t length, size_t *at)
{
    size_t i = *at;
    for (; i < length && text[i] != '"'; i++) {
        if ((unsigned char)text[i] < 0x20)
            return bad_input("header byte %zu: byte 0x%02x in a string, expected it escaped",
                             i, (unsigned)(unsigned char)text[i]);
        if (text[i] != '\\') continue;
        i++;
        if (text[i] == 'u') {
            if (strspn(text + i + 1, "0123456789abcdefABCDEF") < 4)
                return bad_input("header byte %zu: \\u, expected four hexadecimal digits after it", i - 1);
            if (strncmp(text + i + 1, "0000", 4) == 0)
                return bad_input("header byte %zu: \\u0000 in a string, expected no zero byte", i - 1);
        } else if (text[i] == '\0' || !strchr("\"\\/bfnrt", text[i])) {
            return bad_input("header byte %zu: an escape that JSON does not have", i - 1);
        }
    }
    if (i >= length) return bad_input("header byte %zu: a string begins and does not end", *at - 1);
    *at = i + 1;
    return status_ok();
}

/* Reject what cJSON would accept.  text[length] is a zero byte.  An error in a number names the tensor: the last string
 * outside all tensors. */
static status scan(const char *text, size_t length)
{
    size_t name = 0, name_length = 0, depth = 0;

    size_t good = utf8_prefix(text, length);
    if (good < length)
        return bad_input("header byte %zu: 0x%02x is not UTF-8 here", good, (unsigned)(unsigned char)text[good]);
    if (text[0] != '{') return bad_input("header byte 0: 0x%02x, expected {", (unsigned)(unsigned char)text[0]);

    for (size_t i = 0; i < length;) {
        char c = text[i];

        if (c == '"') {
            size_t begin = ++i;
            status s = scan_string(text, length, &i);
            if (s.code) return s;
            if (depth == 1) {
                name = begin;
                name_length = i - 1 - begin;
            }
            continue;
        }

        if (c == '-' || (c >= '0' && c <= '9')) {
            size_t digits = strspn(text + i, "0123456789+-.eE");
            bool plain = digits <= 16 && (digits == 1 || c != '0') && strspn(text + i, "0123456789") >= digits;
            if (!plain)
                return bad_input("tensor %.*s: number %.*s, expected a whole number below 2^53 in plain digits",
                                 (int)(name_length < 60 ? name_length : 60), text + name,
                                 (int)(digits < 40 ? digits : 40), text + i);
            i += digits;
            continue;
        }

        if ((unsigned char)c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            return bad_input("header byte %zu: byte 0x%02x, expected JSON", i, (unsigned)(unsigned char)c);
        if ((c == '{' || c == '[') && ++depth > NESTING)
            return bad_input("header byte %zu: nested %zu deep, expected at most %d", i, depth, NESTING);
        if ((c == '}' || c == ']') && depth > 0) depth--;
        i++;
    }
    return status_ok();
}

/* ---- The entries of the header ---- */

static const char *kind(const cJSON *item)
{
    return cJSON_IsString(item) ? "a string" : cJSON_IsNumber(item) ? "a number"
         : cJSON_IsArray(item) ? "an array" : cJSON_IsObject(item) ? "an object"
         : cJSON_IsBool(item) ? "true or false" : "null";
}

/* Up to `most` whole numbers of a field; *count is how many there are.  scan has rejected all others. */
static status read_sizes(uint64_t *sizes, size_t most, size_t *count,
                         const char *name, const char *field, const cJSON *array)
{
    const cJSON *item;
    *count = 0;
    if (!cJSON_IsArray(array))
        return bad_input("tensor %.60s: %s is %s, expected an array", name, field, kind(array));
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsNumber(item))
            return bad_input("tensor %.60s: %s holds %s, expected whole numbers", name, field, kind(item));
        if (item->valuedouble >= WHOLE_LIMIT)
            return bad_input("tensor %.60s: %s holds a number beyond 2^53", name, field);
        if (*count < most) sizes[*count] = (uint64_t)item->valuedouble;
        ++*count;
    }
    return status_ok();
}

void tensor_ignore(struct safetensors *opened, const char *name)
{
    if (!opened->ignored++) snprintf(opened->first_ignored, sizeof opened->first_ignored, "%s", name);
}

bool tensor_ignored(struct safetensors *opened, const char *name, bool readable)
{
    if (readable || !opened->asked || opened->asked(opened->params, name)) return false;
    tensor_ignore(opened, name);
    return true;
}

/* Bytes of one element of a dtype that is not read; 0 if the format has no such type. */
static size_t other_width(const char *dtype)
{
    static const char *const types[] = {"BOOL U8 I8 F8_E4M3 F8_E5M2 F8_E8M0", "U16 I16 F16 BF16", "U32 I32",
                                        "U64 I64 C64"};
    for (size_t t = 0; t < 4; t++)
        for (const char *at = types[t]; *dtype && (at = strstr(at, dtype)); at++)
            if ((at == types[t] || at[-1] == ' ') && strchr(" ", at[strlen(dtype)])) return (size_t)1 << t;
    return 0;
}

/* The dtype, shape and data_offsets of an entry. */
static status find_fields(const cJSON *fields[3], const cJSON *entry)
{
    static const char *const names[3] = {"dtype", "shape", "data_offsets"};
    const char *name = entry->string;
    const cJSON *field;
    if (!cJSON_IsObject(entry)) return bad_input("tensor %.60s: %s, expected an object", name, kind(entry));
    cJSON_ArrayForEach(field, entry) {
        int f = 0;
        while (f < 3 && strcmp(field->string, names[f]) != 0) f++;
        if (f == 3)
            return bad_input("tensor %.60s: field %.40s, expected dtype, shape and data_offsets", name, field->string);
        if (fields[f]) return bad_input("tensor %.60s: %s given twice, expected once", name, names[f]);
        fields[f] = field;
    }
    for (int f = 0; f < 3; f++)
        if (!fields[f]) return bad_input("tensor %.60s: %s is missing", name, names[f]);
    return status_ok();
}

/* Check one entry of the header by itself; describe its tensor and place.  The data section begins at data_at. */
static status read_entry(struct safetensors *opened, struct place *p, const cJSON *entry, uint64_t data_at,
                         uint64_t data_bytes)
{
    const cJSON *fields[3] = {NULL, NULL, NULL};
    const char *name = entry->string;
    uint64_t sizes[TENSOR_AXES], offsets[2];
    size_t axes, count, size[TENSOR_AXES];
    char shape[61];

    status s = find_fields(fields, entry);
    if (s.code) return s;
    if (!cJSON_IsString(fields[0]))
        return bad_input("tensor %.60s: dtype is %s, expected a string", name, kind(fields[0]));
    const char *dtype = fields[0]->valuestring;
    size_t width = strcmp(dtype, "F32") == 0 ? 4 : strcmp(dtype, "F64") == 0 ? 8 : 0;
    bool readable = width > 0;
    if (!readable) width = other_width(dtype);
    if (width == 0) return bad_input("tensor %.60s: dtype %.20s, expected F32 or F64", name, dtype);

    s = read_sizes(sizes, TENSOR_AXES, &axes, name, "shape", fields[1]);
    if (s.code) return s;
    for (size_t a = 0; a < axes && a < TENSOR_AXES; a++) readable = readable && sizes[a] > 0;
    bool ignored = tensor_ignored(opened, name, readable);
    if (!ignored && strcmp(dtype, "F32") && strcmp(dtype, "F64"))
        return bad_input("tensor %.60s: dtype %.20s, expected F32 or F64", name, dtype);
    if (axes > TENSOR_AXES)
        return bad_input("tensor %.60s: %zu axes, expected at most %d", name, axes, TENSOR_AXES);
    uint64_t bytes = width;
    for (size_t a = 0; a < axes; a++) {
        if (sizes[a] == 0 && !ignored)
            return bad_input("tensor %.60s: axis %zu has size 0, expected at least 1", name, a);
        if (sizes[a] && bytes > UINT64_MAX / sizes[a])
            return bad_input("tensor %.60s: its size overflows", name);
        bytes *= sizes[a];
        size[a] = (size_t)sizes[a];
    }

    s = read_sizes(offsets, 2, &count, name, "data_offsets", fields[2]);
    if (s.code) return s;
    if (count != 2)
        return bad_input("tensor %.60s: data_offsets has %zu numbers, expected 2", name, count);
    uint64_t begin = offsets[0], end = offsets[1];
    if (begin > end || end > data_bytes)
        return bad_input("tensor %.60s: data_offsets [%" PRIu64 ", %" PRIu64 "], expected them in order"
                         " and within %" PRIu64 " bytes of data", name, begin, end, data_bytes);
    if (bytes / width > SIZE_MAX) return bad_input("tensor %.60s: its size overflows", name);
    if (end - begin != bytes)
        return bad_input("tensor %.60s: data_offsets [%" PRIu64 ", %" PRIu64 "], expected %" PRIu64
                         " bytes for %s %s", name, begin, end, bytes,
                         dtype, shape_text(shape, sizeof shape, (int)axes, size));
    *p = (struct place){name, data_at + begin, data_at + end, width, false};
    if (ignored) return s;
    struct tensor *t = &opened->tensors.tensor[opened->tensors.count];
    s = tensor_describe(t, name, (int)axes, size);
    p->name = t->name;
    opened->tensors.count += !s.code;
    return s;
}

static status check_metadata(const cJSON *entry)
{
    const cJSON *item;
    if (!cJSON_IsObject(entry)) return bad_input(METADATA ": %s, expected an object of strings", kind(entry));
    cJSON_ArrayForEach(item, entry)
        if (!cJSON_IsString(item))
            return bad_input(METADATA ": %.60s is %s, expected a string", item->string, kind(item));
    return status_ok();
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_place(const void *a, const void *b)
{
    const struct place *x = *(const struct place *const *)a, *y = *(const struct place *const *)b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->end > y->end) - (x->end < y->end);
}

static status check_names(const char **names, size_t count)
{
    qsort(names, count, sizeof *names, by_text);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return bad_input("tensor %.60s: named twice, expected every name once", names[i]);
    return status_ok();
}

/* Reject data that do not cover the data section, each byte once; sort the places. */
static status check_tiles(const struct place **places, size_t count, uint64_t data_at, uint64_t data_bytes)
{
    uint64_t end = data_at;
    qsort(places, count, sizeof *places, by_place);
    for (size_t i = 0; i < count; i++) {
        const struct place *p = places[i];
        if (p->at < end)
            return bad_input("tensor %.60s: begins at %" PRIu64 " and overlaps tensor %.60s, which ends at %" PRIu64,
                             p->name, p->at - data_at, places[i - 1]->name, end - data_at);
        if (p->at > end)
            return bad_input("tensor %.60s: begins at %" PRIu64 " and leaves a gap, expected %" PRIu64,
                             p->name, p->at - data_at, end - data_at);
        end = p->end;
    }
    if (end != data_at + data_bytes)
        return bad_input("%" PRIu64 " bytes of data belong to no tensor, expected none after byte %" PRIu64,
                         data_at + data_bytes - end, end - data_at);
    return status_ok();
}

static status read_entries(struct safetensors *opened, const cJSON *header, uint64_t data_at, uint64_t data_bytes)
{
    struct tensors *list = &opened->tensors;
    const cJSON *entry;
    size_t entries = (size_t)cJSON_GetArraySize(header), n = 0, places = 0, out = entries;
    const char **names = memory_get(entries, sizeof *names);
    const struct place **order = memory_get(entries, sizeof *order);

    list->tensor = memory_get(entries, sizeof *list->tensor);
    opened->place = memory_get(entries, sizeof *opened->place);
    status s = names && order && list->tensor && opened->place ? status_ok() : out_of_memory("the header");
    for (entry = header->child; entry && !s.code; entry = entry->next) {
        names[n++] = entry->string;
        if (strcmp(entry->string, METADATA) == 0) {
            s = check_metadata(entry);
            continue;
        }
        struct place place;
        size_t at = list->count;
        s = read_entry(opened, &place, entry, data_at, data_bytes);
        if (s.code) break;
        if (at == list->count) at = --out;          /* places of ignored tensors are at the end */
        opened->place[at] = place;
        order[places++] = &opened->place[at];
    }
    if (!s.code) s = check_names(names, entries);
    if (!s.code) s = check_tiles(order, places, data_at, data_bytes);
    memory_free(names);
    memory_free(order);
    return s;
}

/* The caller deletes *header. */
static status parse(cJSON **header, const char *text, size_t length)
{
    const char *end = text;

    /* cJSON 1.7.15 reads one byte beyond a text that ends in a comma: the zero byte.  It does not distinguish lack of
     * memory from bad JSON, but malloc sets errno. */
    errno = 0;
    #pragma omp critical(cjson)             /* its last error is in a static variable */
    *header = cJSON_ParseWithLengthOpts(text, length, &end, false);
    if (!*header && errno == ENOMEM) return out_of_memory("the header");
    if (!*header) return bad_input("header byte %zu: expected JSON", (size_t)(end - text));

    end += strspn(end, " ");
    if (end < text + length)
        return bad_input("header byte %zu: 0x%02x after the JSON, expected only spaces",
                         (size_t)(end - text), (unsigned)(unsigned char)*end);
    return status_ok();
}

/* ---- Reading ---- */

union chunk {                   /* numbers that are converted together */
    float floats[4096];
    double doubles[2048];
};

/* Reverse the bytes of each number, if the file's order is not the host's. */
static void order_bytes(void *numbers, size_t count, size_t width, bool big_endian)
{
    unsigned char *bytes = numbers;
    if (*(const unsigned char *)&(const uint16_t){1} == !big_endian) return;
    for (size_t i = 0; i < count; i++, bytes += width)
        for (size_t low = 0, high = width - 1; low < high; low++, high--) {
            unsigned char kept = bytes[low];
            bytes[low] = bytes[high];
            bytes[high] = kept;
        }
}

/* Read count numbers of tensor t, from number `first` on, as floats or doubles: `to` has to_width bytes for each. */
static status read_numbers(void *to, size_t to_width, struct safetensors *opened, size_t t, size_t first, size_t count)
{
    struct place place = opened->place[t];
    union chunk chunk;
    if (fseeko(opened->file, (off_t)(place.at + (uint64_t)first * place.width), SEEK_SET) != 0)
        return failure("tensor %.60s: cannot be read: %s", place.name, strerror(errno));
    for (size_t done = 0, n; done < count; done += n) {
        float *floats = (float *)to + done;
        double *doubles = (double *)to + done;
        n = sizeof chunk / place.width;
        if (n > count - done) n = count - done;
        if (fread(&chunk, place.width, n, opened->file) != n)
            return failure("tensor %.60s: the file ended or failed while it was read", place.name);
        order_bytes(&chunk, n, place.width, place.big_endian);
        for (size_t i = 0; i < n && to_width > place.width; i++) doubles[i] = (double)chunk.floats[i];
        for (size_t i = 0; i < n && to_width < place.width; i++) floats[i] = (float)chunk.doubles[i];
        if (to_width == place.width) memcpy((unsigned char *)to + done * to_width, &chunk, n * to_width);
    }
    return status_ok();
}

status safetensors_header(struct safetensors *opened, const char *path, uint64_t bytes)
{
    FILE *file = opened->file;
    uint64_t stated;
    cJSON *header = NULL;
    if (bytes < sizeof stated)
        return bad_input("%.100s: found %" PRIu64 " bytes, expected a safetensors file, at least 8", path, bytes);
    if (fread(&stated, sizeof stated, 1, file) != 1) return failure("the file cannot be read");
    order_bytes(&stated, 1, sizeof stated, false);
    if (stated == 0 || stated > bytes - sizeof stated || stated > HEADER_LIMIT)
        return bad_input("%.100s: no safetensors file, a header of %" PRIu64 " bytes, expected 1 to %" PRIu64, path,
                         stated, bytes - sizeof stated < HEADER_LIMIT ? bytes - sizeof stated : HEADER_LIMIT);
    size_t length = (size_t)stated, data_at = sizeof stated + length;

    char *text = memory_get(length + 1, 1);
    if (!text) return out_of_memory("the header");
    text[length] = '\0';
    status s = fread(text, 1, length, file) == length ? scan(text, length) : failure("the file cannot be read");
    if (!s.code) s = parse(&header, text, length);
    if (!s.code) s = read_entries(opened, header, data_at, bytes - data_at);
    cJSON_Delete(header);
    memory_free(text);
    return s;
}

status safetensors_open(struct safetensors *opened, const char *path)
{
    struct stat found;

    /* A regular file.  Without O_NONBLOCK, opening a pipe would wait for its writer. */
    *opened = (struct safetensors){0};
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return path_error("opened", path, errno);
    status s = fstat(fd, &found) != 0 ? path_error("read", path, errno) : status_ok();
    if (!s.code && !S_ISREG(found.st_mode))
        s = bad_input("%.120s is %s, expected a file", path, S_ISDIR(found.st_mode) ? "a folder" : "no regular file");
    if (!s.code) opened->file = fdopen(fd, "rb");
    if (!s.code && !opened->file) s = path_error("read", path, errno);
    if (!opened->file) {
        close(fd);
        return s;
    }
    s = safetensors_header(opened, path, (uint64_t)found.st_size);
    if (s.code) safetensors_close(opened);
    return s;
}

status safetensors_load(struct safetensors *opened)
{
    status s = status_ok();
    for (size_t i = 0; i < opened->tensors.count && !s.code; i++) {
        struct tensor *t = &opened->tensors.tensor[i];
        s = tensor_allocate(t);
        if (!s.code) s = read_numbers(t->data, sizeof *t->data, opened, i, 0, t->count);
    }
    if (s.code) safetensors_close(opened);
    return s;
}

status safetensors_doubles(double *values, struct safetensors *opened, size_t t, size_t first, size_t count)
{
    return read_numbers(values, sizeof *values, opened, t, first, count);
}

size_t safetensors_width(const struct safetensors *opened, size_t t)
{
    return opened->place[t].width;
}

void safetensors_close(struct safetensors *opened)
{
    tensors_release(&opened->tensors);
    memory_free(opened->place);
    if (opened->file) fclose(opened->file);
    memory_free(opened->bytes);
    *opened = (struct safetensors){0};
}

status safetensors_read(struct tensors *list, const char *path)
{
    struct safetensors opened;
    status s = safetensors_open(&opened, path);
    if (!s.code) s = safetensors_load(&opened);
    *list = opened.tensors;
    opened.tensors = (struct tensors){0};
    safetensors_close(&opened);
    return s;
}

/* ---- Writing ---- */

status tensor_names_check(const struct tensor *tensors, size_t count)
{
    const char **names = memory_get(count, sizeof *names);
    if (!names) return out_of_memory("the header");

    status s = status_ok();
    for (size_t i = 0; i < count && !s.code; i++) {
        const char *name = names[i] = tensors[i].name;
        if (utf8_prefix(name, strlen(name)) < strlen(name))
            s = bad_input("tensor %.60s: its name is not UTF-8", name);
        if (strcmp(name, METADATA) == 0)
            s = bad_input("tensor " METADATA ": the format keeps this name for itself");
    }
    if (!s.code) s = check_names(names, count);
    memory_free(names);
    return s;
}

/* The header's JSON; *text is freed by cJSON_free.  Numbers are raw text: cJSON would print 10^15 as 1e+15. */
static status compose_header(char **text, const struct tensor *tensors, size_t count)
{
    cJSON *header = cJSON_CreateObject();
    bool complete = header != NULL;
    size_t end = 0;
    *text = NULL;
    for (size_t i = 0; i < count && complete; i++) {
        char shape[8 + 24 * TENSOR_AXES], offsets[64];
        size_t begin = end;
        end += tensors[i].count * sizeof(real);
        shape_text(shape, sizeof shape, tensors[i].axes, tensors[i].size);
        snprintf(offsets, sizeof offsets, "[%zu, %zu]", begin, end);
        cJSON *entry = cJSON_AddObjectToObject(header, tensors[i].name);
        complete = entry && cJSON_AddStringToObject(entry, "dtype", sizeof(real) == 4 ? "F32" : "F64")
                   && cJSON_AddRawToObject(entry, "shape", shape)
                   && cJSON_AddRawToObject(entry, "data_offsets", offsets);
    }
    if (complete) *text = cJSON_PrintUnformatted(header);
    cJSON_Delete(header);
    if (!*text) return out_of_memory("the header");
    if (strlen(*text) + 8 <= HEADER_LIMIT) return status_ok();

    size_t length = strlen(*text);
    cJSON_free(*text);
    *text = NULL;
    return bad_input("a header of %zu bytes, expected at most %zu", length, HEADER_LIMIT);
}

bool tensor_write(FILE *file, const struct tensor *t, unsigned long *sum)
{
    union chunk chunk;
    for (size_t done = 0, n; done < t->count; done += n) {
        n = sizeof chunk / sizeof(real);
        if (n > t->count - done) n = t->count - done;
        memcpy(&chunk, t->data + done, n * sizeof(real));
        order_bytes(&chunk, n, sizeof(real), false);
        if (sum) *sum = crc32_z(*sum, (const unsigned char *)&chunk, n * sizeof(real));
        if (file && fwrite(&chunk, sizeof(real), n, file) != n) return false;
    }
    return true;
}

/* Write the file.  On failure return false and set errno; closing the file may report an error too. */
static bool write_all(FILE *file, const char *text, const struct tensor *tensors, size_t count)
{
    size_t length = strlen(text), padding = (8 - length % 8) % 8;
    uint64_t stated = length + padding;

    /* The header, padded so that the data are aligned. */
    order_bytes(&stated, 1, sizeof stated, false);
    if (fwrite(&stated, sizeof stated, 1, file) != 1) return false;
    if (fwrite(text, 1, length, file) != length) return false;
    if (fwrite("        ", 1, padding, file) != padding) return false;
    for (size_t i = 0; i < count; i++)
        if (!tensor_write(file, &tensors[i], NULL)) return false;
    return true;
}

status safetensors_write(const char *path, const struct tensor *tensors, size_t count)
{
    struct atomic_file f = {0};
    char *text;

    /* The header, before any file is touched. */
    status s = tensor_names_check(tensors, count);
    if (!s.code) s = compose_header(&text, tensors, count);
    if (s.code) return s;
    s = atomic_file_open(&f, path);
    if (!s.code) {
        errno = 0;
        if (!write_all(f.file, text, tensors, count)) s = path_error("written", path, errno ? errno : EIO);
        s = atomic_file_close(&f, s);
    }
    cJSON_free(text);
    return s;
}

bool same_file(const char *a, const char *b)
{
    struct stat found_a, found_b;
    if (strcmp(a, b) == 0) return true;
    return stat(a, &found_a) == 0 && stat(b, &found_b) == 0
           && found_a.st_dev == found_b.st_dev && found_a.st_ino == found_b.st_ino;
}
