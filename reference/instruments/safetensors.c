/* safetensors.c -- tensors in files, read as if every file were hostile; see safetensors.h
 *
 * cJSON reads JSON, and kindly: it takes any control character for a blank,
 * 1. and 01 for numbers, and \u0000 or \uzzzz for the end of a string.  So the
 * header is scanned first for what cJSON would let pass (scan), then parsed,
 * then taken at its word (claims), and only when all claims agree with each
 * other and with the length of the file are data read.
 *
 * This is not a JSON parser: scan looks at tokens, never at grammar. */

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
#include "atomic_file.h"

#define HEADER_LIMIT ((size_t)100000000)
#define NESTING 3                       /* file, tensor, shape */
#define WHOLE_LIMIT 9007199254740992.0  /* 2^53: below it a double tells every whole number apart */
#define CHUNK ((size_t)65536)           /* bytes converted at a time */
#define METADATA "__metadata__"

_Static_assert(sizeof(off_t) == sizeof(uint64_t), "a file may be longer than there are addresses");
_Static_assert(sizeof(real) == 4 || sizeof(real) == 8, "a real is stored as F32 or F64");

/* Where the file keeps a tensor, and in how many bytes an element. */
struct place {
    uint64_t at;
    size_t width;
};

/* What the header claims of one tensor; the name belongs to the JSON tree. */
struct claim {
    const char *name;
    int axes;
    size_t size[TENSOR_AXES];
    size_t width;               /* bytes of one element: 4 for F32, 8 for F64 */
    uint64_t begin, end;        /* in the data section */
};

/* ---- The scan: what cJSON would let pass ---- */

/* The number of leading bytes that are UTF-8 as RFC 3629 has it: no overlong
 * form, no surrogate, nothing beyond U+10FFFF. */
static size_t utf8_prefix(const char *text, size_t length)
{
    const unsigned char *t = (const unsigned char *)text;
    size_t i = 0;

    while (i < length) {
        unsigned char c = t[i], low = 0x80, high = 0xbf;
        size_t more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || length - i <= more) return i;

        /* The second byte has the narrower range that the first one leaves it. */
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

/* Moves *at from the first byte of a string to behind its closing quote. */
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

/* Whether these bytes are a whole number in plain digits, no more than 2^53 has. */
static bool plain_digits(const char *text, size_t length)
{
    if (length == 0 || length > 16 || (length > 1 && text[0] == '0')) return false;
    return strspn(text, "0123456789") >= length;
}

/* Refuses what cJSON would let pass; text ends in a zero byte at text[length].
 * Numbers are reported with the tensor they belong to, the last string met
 * outside all tensors. */
static status scan(const char *text, size_t length)
{
    size_t name = 0, name_length = 0, depth = 0;

    /* Step 1: UTF-8, an object. */
    size_t good = utf8_prefix(text, length);
    if (good < length)
        return bad_input("header byte %zu: 0x%02x is not UTF-8 here",
                         good, (unsigned)(unsigned char)text[good]);
    if (text[0] != '{') return bad_input("header byte 0: 0x%02x, expected {", (unsigned)(unsigned char)text[0]);

    for (size_t i = 0; i < length;) {
        char c = text[i];

        /* Step 2: strings. */
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

        /* Step 3: numbers. */
        if (c == '-' || (c >= '0' && c <= '9')) {
            size_t digits = strspn(text + i, "0123456789+-.eE");
            if (!plain_digits(text + i, digits))
                return bad_input("tensor %.*s: number %.*s, expected a whole number below 2^53 in plain digits",
                                 (int)(name_length < 60 ? name_length : 60), text + name,
                                 (int)(digits < 40 ? digits : 40), text + i);
            i += digits;
            continue;
        }

        /* Step 4: blanks and brackets; words and commas are cJSON's to judge. */
        if ((unsigned char)c < 0x20 && c != '\t' && c != '\n' && c != '\r')
            return bad_input("header byte %zu: byte 0x%02x, expected JSON", i, (unsigned)(unsigned char)c);
        if ((c == '{' || c == '[') && ++depth > NESTING)
            return bad_input("header byte %zu: nested %zu deep, expected at most %d", i, depth, NESTING);
        if ((c == '}' || c == ']') && depth > 0) depth--;
        i++;
    }
    return status_ok();
}

/* ---- The claims: what the header says ---- */

static const char *kind(const cJSON *item)
{
    return cJSON_IsString(item) ? "a string" : cJSON_IsNumber(item) ? "a number"
         : cJSON_IsArray(item) ? "an array" : cJSON_IsObject(item) ? "an object"
         : cJSON_IsBool(item) ? "true or false" : "null";
}

/* Up to `most` whole numbers of a field; *count is how many there are.  The
 * scan has left no fraction, sign or exponent. */
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

/* What one entry of the header claims, checked against itself and against the
 * bytes of the data section. */
static status read_claim(struct claim *c, const cJSON *entry, uint64_t data_bytes)
{
    static const char *const names[3] = {"dtype", "shape", "data_offsets"};
    const cJSON *fields[3] = {NULL, NULL, NULL}, *field;
    const char *name = entry->string;
    uint64_t sizes[TENSOR_AXES], offsets[2], bytes;
    size_t axes, count;
    char shape[61];
    status s;

    /* Step 1: the three fields, each once, and no fourth. */
    if (!cJSON_IsObject(entry)) return bad_input("tensor %.60s: %s, expected an object", name, kind(entry));
    cJSON_ArrayForEach(field, entry) {
        int f = 0;
        while (f < 3 && strcmp(field->string, names[f]) != 0) f++;
        if (f == 3)
            return bad_input("tensor %.60s: field %.40s, expected dtype, shape and data_offsets",
                             name, field->string);
        if (fields[f]) return bad_input("tensor %.60s: %s given twice, expected once", name, names[f]);
        fields[f] = field;
    }
    for (int f = 0; f < 3; f++)
        if (!fields[f]) return bad_input("tensor %.60s: %s is missing", name, names[f]);

    /* Step 2: the type. */
    if (!cJSON_IsString(fields[0]))
        return bad_input("tensor %.60s: dtype is %s, expected a string", name, kind(fields[0]));
    const char *dtype = fields[0]->valuestring;
    *c = (struct claim){.name = name};
    c->width = strcmp(dtype, "F32") == 0 ? 4 : strcmp(dtype, "F64") == 0 ? 8 : 0;
    if (c->width == 0) return bad_input("tensor %.60s: dtype %.20s, expected F32 or F64", name, dtype);

    /* Step 3: the shape, and the bytes it asks for. */
    s = read_sizes(sizes, TENSOR_AXES, &axes, name, "shape", fields[1]);
    if (s.code) return s;
    if (axes > TENSOR_AXES)
        return bad_input("tensor %.60s: %zu axes, expected at most %d", name, axes, TENSOR_AXES);
    c->axes = (int)axes;
    bytes = c->width;
    for (size_t a = 0; a < axes; a++) {
        if (sizes[a] == 0)
            return bad_input("tensor %.60s: axis %zu has size 0, expected at least 1", name, a);
        if (bytes > UINT64_MAX / sizes[a])
            return bad_input("tensor %.60s: its size overflows", name);
        bytes *= sizes[a];
        c->size[a] = (size_t)sizes[a];
    }

    /* Step 4: the place of its data, of which a file may have more than there are addresses. */
    s = read_sizes(offsets, 2, &count, name, "data_offsets", fields[2]);
    if (s.code) return s;
    if (count != 2)
        return bad_input("tensor %.60s: data_offsets has %zu numbers, expected 2", name, count);
    c->begin = offsets[0];
    c->end = offsets[1];
    if (c->begin > c->end || c->end > data_bytes)
        return bad_input("tensor %.60s: data_offsets [%" PRIu64 ", %" PRIu64 "], expected them in order"
                         " and within %" PRIu64 " bytes of data", name, c->begin, c->end, data_bytes);
    if (bytes / c->width > SIZE_MAX) return bad_input("tensor %.60s: its size overflows", name);
    if (c->end - c->begin != bytes)
        return bad_input("tensor %.60s: data_offsets [%" PRIu64 ", %" PRIu64 "], expected %" PRIu64
                         " bytes for %s %s", name, c->begin, c->end, bytes,
                         dtype, shape_text(shape, sizeof shape, c->axes, c->size));
    return status_ok();
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

static int by_begin(const void *a, const void *b)
{
    uint64_t x = (*(const struct claim *const *)a)->begin, y = (*(const struct claim *const *)b)->begin;
    return (x > y) - (x < y);
}

/* Whether no name occurs twice; sorts them. */
static status check_names(const char **names, size_t count)
{
    qsort(names, count, sizeof *names, by_text);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            return bad_input("tensor %.60s: named twice, expected every name once", names[i]);
    return status_ok();
}

/* Whether the data of all tensors cover the data section, each byte once; sorts
 * them by where they begin. */
static status check_tiles(const struct claim **claims, size_t count, uint64_t data_bytes)
{
    uint64_t end = 0;

    qsort(claims, count, sizeof *claims, by_begin);
    for (size_t i = 0; i < count; i++) {
        const struct claim *c = claims[i];
        if (c->begin < end)
            return bad_input("tensor %.60s: begins at %" PRIu64 " and overlaps tensor %.60s, which ends at %" PRIu64,
                             c->name, c->begin, claims[i - 1]->name, end);
        if (c->begin > end)
            return bad_input("tensor %.60s: begins at %" PRIu64 " and leaves a gap, expected %" PRIu64,
                             c->name, c->begin, end);
        end = c->end;
    }
    if (end != data_bytes)
        return bad_input("%" PRIu64 " bytes of data belong to no tensor, expected none after byte %" PRIu64,
                         data_bytes - end, end);
    return status_ok();
}

/* All claims of the header, in its order, checked; *claims is freed by the caller. */
static status read_claims(struct claim **claims, size_t *count, const cJSON *header, uint64_t data_bytes)
{
    const cJSON *entry;
    size_t entries = 0;
    status s = status_ok();

    /* Step 1: room. */
    cJSON_ArrayForEach(entry, header) entries++;
    const char **names = memory_get(entries, sizeof *names);
    const struct claim **order = memory_get(entries, sizeof *order);
    *claims = memory_get(entries, sizeof **claims);
    *count = 0;
    if (!names || !order || !*claims) s = out_of_memory("the header");

    /* Step 2: each entry by itself. */
    if (!s.code) {
        entries = 0;
        cJSON_ArrayForEach(entry, header) {
            names[entries++] = entry->string;
            if (strcmp(entry->string, METADATA) == 0) {
                s = check_metadata(entry);
            } else {
                s = read_claim(*claims + *count, entry, data_bytes);
                order[*count] = *claims + *count;
                ++*count;
            }
            if (s.code) break;
        }
    }

    /* Step 3: all of them together. */
    if (!s.code) s = check_names(names, entries);
    if (!s.code) s = check_tiles(order, *count, data_bytes);
    memory_free(names);
    memory_free(order);
    return s;
}

/* The JSON tree of a scanned header; deleted by the caller. */
static status parse(cJSON **header, const char *text, size_t length)
{
    const char *end = text;

    /* cJSON 1.7.15 looks one byte beyond a text that ends in a comma; a zero
     * byte lies there.  Lack of memory and bad JSON are one to it, and told
     * apart by errno, which malloc sets. */
    errno = 0;
    #pragma omp critical(cjson)             /* it keeps the place of its last error in a static */
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

/* The unsigned number in `width` bytes, the lowest first, and back. */
static inline uint64_t from_little_endian(const unsigned char *bytes, size_t width)
{
    uint64_t n = 0;
    for (size_t b = width; b-- > 0;) n = n << 8 | bytes[b];
    return n;
}

static inline void to_little_endian(unsigned char *bytes, uint64_t n, size_t width)
{
    for (size_t b = 0; b < width; b++, n >>= 8) bytes[b] = n & 0xff;
}

static void reals_from_bytes(real *to, const unsigned char *from, size_t count, size_t width)
{
    if (width == 4) {
        for (size_t i = 0; i < count; i++) {
            uint32_t bits = (uint32_t)from_little_endian(from + 4 * i, 4);
            float x;
            memcpy(&x, &bits, sizeof x);
            to[i] = (real)x;
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            uint64_t bits = from_little_endian(from + 8 * i, 8);
            double x;
            memcpy(&x, &bits, sizeof x);
            to[i] = (real)x;
        }
    }
}

/* A number of the file, F32 or F64. */
static double number_from_bytes(const unsigned char *from, size_t width)
{
    uint64_t bits = from_little_endian(from, width);
    uint32_t low = (uint32_t)bits;
    double wide;
    float narrow;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &low, sizeof narrow);
    return width == 4 ? (double)narrow : wide;
}

static void bytes_from_reals(unsigned char *to, const real *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
#ifdef TWICETOLD_DOUBLE
        uint64_t bits;
#else
        uint32_t bits;
#endif
        memcpy(&bits, &from[i], sizeof bits);
        to_little_endian(to + sizeof bits * i, bits, sizeof bits);
    }
}

/* The data of one tensor. */
static status read_data(struct tensor *t, FILE *file, struct place place, unsigned char *chunk)
{
    if (fseeko(file, (off_t)place.at, SEEK_SET) != 0)
        return failure("tensor %.60s: cannot be read: %s", t->name, strerror(errno));
    for (size_t done = 0, n; done < t->count; done += n) {
        n = CHUNK / place.width;
        if (n > t->count - done) n = t->count - done;
        if (fread(chunk, place.width, n, file) != n)
            return failure("tensor %.60s: the file ended or failed while it was read", t->name);
        reals_from_bytes(t->data + done, chunk, n, place.width);
    }
    return status_ok();
}

/* The tensors that checked claims describe, and where the file keeps them. */
static status describe(struct safetensors *opened, const struct claim *claims, size_t count, uint64_t data_at)
{
    struct tensors *list = &opened->tensors;
    status s = status_ok();

    list->tensor = memory_get(count, sizeof *list->tensor);
    opened->place = memory_get(count, sizeof *opened->place);
    if (!list->tensor || !opened->place) s = out_of_memory("the tensors");
    for (size_t i = 0; i < count && !s.code; i++) {
        opened->place[i] = (struct place){data_at + claims[i].begin, claims[i].width};
        s = tensor_describe(&list->tensor[i], claims[i].name, claims[i].axes, claims[i].size);
        if (!s.code) list->count++;
    }
    return s;
}

/* What the header of an open file of this many bytes says. */
static status read_header(struct safetensors *opened, uint64_t bytes)
{
    FILE *file = opened->file;
    unsigned char first[8];
    struct claim *claims = NULL;
    size_t count = 0;
    cJSON *header = NULL;

    /* Step 1: how long the header is. */
    if (bytes < sizeof first) return bad_input("the file has %" PRIu64 " bytes, expected at least 8", bytes);
    if (fread(first, 1, sizeof first, file) != sizeof first) return failure("the file cannot be read");
    uint64_t stated = from_little_endian(first, sizeof first);
    if (stated == 0 || stated > bytes - sizeof first || stated > HEADER_LIMIT)
        return bad_input("a header of %" PRIu64 " bytes, expected 1 to %" PRIu64, stated,
                         bytes - sizeof first < HEADER_LIMIT ? bytes - sizeof first : HEADER_LIMIT);
    size_t length = (size_t)stated, data_at = sizeof first + length;

    /* Step 2: the header, with a zero byte behind it. */
    char *text = memory_get(length + 1, 1);
    if (!text) return out_of_memory("the header");
    text[length] = '\0';
    status s = fread(text, 1, length, file) == length ? scan(text, length) : failure("the file cannot be read");

    /* Step 3: what it claims, and if that holds, the tensors. */
    if (!s.code) s = parse(&header, text, length);
    if (!s.code) s = read_claims(&claims, &count, header, bytes - data_at);
    if (!s.code) s = describe(opened, claims, count, data_at);
    memory_free(claims);
    cJSON_Delete(header);
    memory_free(text);
    return s;
}

status safetensors_open(struct safetensors *opened, const char *path)
{
    struct stat found;

    /* Step 1: a regular file; O_NONBLOCK, as opening a pipe would wait for its writer. */
    *opened = (struct safetensors){0};
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return path_error("opened", path, errno);
    status s = fstat(fd, &found) != 0 ? path_error("read", path, errno) : status_ok();
    if (!s.code && !S_ISREG(found.st_mode))
        s = bad_input("%.120s is %s, expected a file", path,
                      S_ISDIR(found.st_mode) ? "a folder" : "no regular file");

    /* Step 2: its header. */
    if (!s.code) opened->file = fdopen(fd, "rb");
    if (!s.code && !opened->file) s = path_error("read", path, errno);
    if (!opened->file) {
        close(fd);
        return s;
    }
    s = read_header(opened, (uint64_t)found.st_size);
    if (s.code) safetensors_close(opened);
    return s;
}

status safetensors_load(struct safetensors *opened)
{
    status s = status_ok();
    unsigned char *chunk = memory_get(CHUNK, 1);

    if (!chunk) s = out_of_memory("the tensors");
    for (size_t i = 0; i < opened->tensors.count && !s.code; i++) {
        s = tensor_allocate(&opened->tensors.tensor[i]);
        if (!s.code) s = read_data(&opened->tensors.tensor[i], opened->file, opened->place[i], chunk);
    }
    memory_free(chunk);
    if (s.code) safetensors_close(opened);
    return s;
}

status safetensors_doubles(double *values, struct safetensors *opened, size_t t, size_t first, size_t count)
{
    struct place place = opened->place[t];
    unsigned char chunk[4096];
    if (fseeko(opened->file, (off_t)(place.at + (uint64_t)first * place.width), SEEK_SET) != 0)
        return failure("tensor %.60s: cannot be read: %s", opened->tensors.tensor[t].name, strerror(errno));
    for (size_t done = 0, n; done < count; done += n) {
        n = sizeof chunk / place.width;
        if (n > count - done) n = count - done;
        if (fread(chunk, place.width, n, opened->file) != n)
            return failure("tensor %.60s: the file ended or failed while it was read", opened->tensors.tensor[t].name);
        for (size_t i = 0; i < n; i++) values[done + i] = number_from_bytes(chunk + i * place.width, place.width);
    }
    return status_ok();
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

/* Whether these names can stand in a header. */
static status check_own_names(const struct tensor *tensors, size_t count)
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

/* The header's JSON; *text is freed by cJSON_free.  Numbers go in as text, for
 * cJSON would print 10^15 as 1e+15. */
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

/* False, and errno says why, where the disk did not take everything; what is
 * still on its way is heard of when the file is closed. */
static bool put(FILE *file, const char *text, const struct tensor *tensors, size_t count,
                unsigned char *chunk)
{
    size_t length = strlen(text), padding = (8 - length % 8) % 8;
    unsigned char first[8];

    /* Step 1: the header, padded so that the data are aligned. */
    to_little_endian(first, length + padding, sizeof first);
    if (fwrite(first, 1, sizeof first, file) != sizeof first) return false;
    if (fwrite(text, 1, length, file) != length) return false;
    if (fwrite("        ", 1, padding, file) != padding) return false;

    /* Step 2: the data. */
    for (size_t i = 0; i < count; i++) {
        for (size_t done = 0, n; done < tensors[i].count; done += n) {
            n = CHUNK / sizeof(real);
            if (n > tensors[i].count - done) n = tensors[i].count - done;
            bytes_from_reals(chunk, tensors[i].data + done, n);
            if (fwrite(chunk, sizeof(real), n, file) != n) return false;
        }
    }
    return true;
}

static status write_file(struct atomic_file *f, const char *text, const struct tensor *tensors, size_t count)
{
    unsigned char *chunk = memory_get(CHUNK, 1);
    status s = chunk ? status_ok() : out_of_memory("the file");
    errno = 0;
    if (!s.code && !put(f->file, text, tensors, count, chunk)) s = path_error("written", f->path, errno ? errno : EIO);
    memory_free(chunk);
    return s;
}

status safetensors_write(const char *path, const struct tensor *tensors, size_t count)
{
    struct atomic_file f;
    char *text;

    /* Step 1: the header, before any file is touched. */
    status s = check_own_names(tensors, count);
    if (!s.code) s = compose_header(&text, tensors, count);
    if (s.code) return s;

    /* Step 2: the file. */
    s = atomic_file_open(&f, path);
    if (!s.code) s = atomic_file_close(&f, write_file(&f, text, tensors, count));
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
