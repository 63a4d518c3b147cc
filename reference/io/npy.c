/* npy.c -- arrays of NumPy, and files of tensors by their ending; see npy.h */

#define _XOPEN_SOURCE 700       /* fmemopen */

#include "npy.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "../runtime/bytes.h"
#include "atomic_file.h"

#define MAGIC "\x93NUMPY"
#define HEAD 65536              /* the longest header of an array that is read */
#define DEFLATED_MOST 1032      /* the most bytes that deflate makes of one */
#define ENTRY 46                /* bytes of an entry of the directory, without its name */

enum format { SAFETENSORS, NPY, NPZ };

static status format_of(enum format *format, const char *path)
{
    static const char *const endings[] = {".safetensors", ".npy", ".npz"};
    static const char *const torch[] = {".pt", ".pth", ".ckpt", ".bin"};
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    *format = SAFETENSORS;
    if (!dot || dot == base || !strcmp(base, "..")) return status_ok();
    for (int e = 0; e < 3; e++, ++*format)
        if (!strcmp(dot, endings[e])) return status_ok();
    for (int e = 0; e < 4; e++)
        if (!strcmp(dot, torch[e]))
            return bad_input("%.60s: found ending %s, expected .safetensors, .npy or .npz; in Python, "
                             "safetensors.torch.save_file(torch.load(FILE), 'x.safetensors') converts it", base, dot);
    return bad_input("%.100s: found ending %.20s, expected .safetensors, .npy, .npz or none", base, dot);
}

status tensor_file_check(const char *path)
{
    enum format format;
    return format_of(&format, path);
}

static uint64_t little(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    while (count--) value = value << 8 | bytes[count];
    return value;
}

static void put_little(unsigned char *bytes, uint64_t value, int count)
{
    for (int b = 0; b < count; b++) bytes[b] = (unsigned char)(value >> 8 * b);
}

/* ---- one array ---- */

/* The value of a key in the text of a header, or NULL. */
static const char *value_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (!at) return NULL;
    at += strlen(key);
    return at + strspn(at, ": ");
}

static status read_shape(int *axes, size_t *size, size_t *count, const char *at, const char *name)
{
    *axes = 0;
    *count = 1;
    if (*at++ != '(') return bad_input("tensor %.60s: shape '%.20s', expected sizes in ( )", name, at - 1);
    for (at += strspn(at, " "); *at != ')'; at += strspn(at, ", ")) {
        size_t digits = strspn(at, "0123456789");
        if (!digits || digits > 18) return bad_input("tensor %.60s: shape '%.20s', expected sizes", name, at);
        if (*axes == TENSOR_AXES) return bad_input("tensor %.60s: expected at most %d axes", name, TENSOR_AXES);
        uint64_t wide = strtoull(at, NULL, 10);
        if (wide > SIZE_MAX || !size_multiply(count, *count, (size_t)wide))
            return bad_input("tensor %.60s: its size overflows", name);
        size[(*axes)++] = (size_t)wide;
        at += digits;
    }
    return status_ok();
}

/* Describe the array whose text is `text`; its data are bytes at ... end of opened->file. */
static status read_text(struct safetensors *opened, const char *text, const char *name, uint64_t at, uint64_t end)
{
    const char *type = value_of(text, "'descr'"), *order = value_of(text, "'fortran_order'");
    const char *shape = value_of(text, "'shape'");
    size_t size[TENSOR_AXES], count;
    int axes;
    if (!type || !order || !shape)
        return bad_input("tensor %.60s: expected descr, fortran_order and shape in its header", name);
    bool big = !strncmp(type, "'>", 2);
    size_t width = 0;
    for (int f = 0; f < 4; f++)
        if (!strncmp(type, (const char *const[]){"'<f4'", "'>f4'", "'<f8'", "'>f8'"}[f], 5)) width = f < 2 ? 4 : 8;
    status s = read_shape(&axes, size, &count, shape, name);
    if (s.code) return s;
    if (tensor_ignored(opened, name, width && count)) return s;
    if (!width) return bad_input("tensor %.60s: type %.*s, expected f4 or f8", name, (int)strcspn(type, ","), type);
    if (strncmp(order, "False", 5) && axes > 1)
        return bad_input("tensor %.60s: Fortran order, expected C order (numpy.ascontiguousarray)", name);
    if (count > (end - at) / width || count * width != end - at)
        return bad_input("tensor %.60s: found %" PRIu64 " bytes of data, expected %zu numbers of %zu bytes", name,
                         end - at, count, width);
    struct tensor *t = &opened->tensors.tensor[opened->tensors.count];
    if ((s = tensor_describe(t, name, axes, size)).code) return s;
    opened->place[opened->tensors.count++] = (struct place){t->name, at, end, width, big};
    return s;
}

/* The array at byte `at` of opened->file, up to byte `end`.  The list is long enough for one more tensor. */
static status read_array(struct safetensors *opened, const char *name, uint64_t at, uint64_t end)
{
    unsigned char start[12];
    size_t bytes = end - at < sizeof start ? (size_t)(end - at) : sizeof start;
    if (fseeko(opened->file, (off_t)at, SEEK_SET) || fread(start, 1, bytes, opened->file) < bytes)
        return failure("tensor %.60s: cannot be read", name);
    if (bytes < sizeof start || memcmp(start, MAGIC, 6) || start[6] < 1 || start[6] > 3)
        return bad_input("tensor %.60s: found no array of NumPy, expected version 1.0 to 3.0", name);
    int field = start[6] == 1 ? 2 : 4;
    uint64_t length = little(start + 8, field);
    at += 8 + (unsigned)field;
    if (length > HEAD || length > end - at)
        return bad_input("tensor %.60s: a header of %" PRIu64 " bytes, expected fewer", name, length);
    char *text = memory_get((size_t)length + 1, 1);
    if (!text) return out_of_memory("the header");
    text[length] = '\0';
    bool read = !fseeko(opened->file, (off_t)at, SEEK_SET) && fread(text, 1, (size_t)length, opened->file) == length;
    status s = read ? read_text(opened, text, name, at + length, end) : failure("tensor %.60s: cannot be read", name);
    memory_free(text);
    return s;
}

static status make_room(struct safetensors *opened, size_t tensors)
{
    opened->tensors.tensor = memory_get(tensors, sizeof *opened->tensors.tensor);
    opened->place = memory_get(tensors, sizeof *opened->place);
    return opened->tensors.tensor && opened->place ? status_ok() : out_of_memory("the tensors");
}

/* ---- an archive ---- */

struct member {
    int method;                 /* 0 stored, 8 deflated */
    uint64_t packed, bytes, at; /* sizes; of its local header in the archive */
    unsigned long sum;
    char name[256];
};

/* The central directory: *first is its place, *members their number. */
static status find_directory(uint64_t *first, uint64_t *members, const unsigned char *zip, size_t size)
{
    size_t end = size < 22 ? 0 : size - 22;
    while (size >= 22 && end && little(zip + end, 4) != 0x06054b50 && size - end < 65557) end--;
    if (size < 22 || little(zip + end, 4) != 0x06054b50)
        return bad_input("found %zu bytes without a directory, expected a zip archive", size);
    *members = little(zip + end + 10, 2);
    *first = little(zip + end + 16, 4);
    if (*members == 0xffff || *first == 0xffffffff) return bad_input("found zip64, expected an archive below 4 GiB");
    if (*members > size / ENTRY)
        return bad_input("broken archive: %" PRIu64 " members in %zu bytes", *members, size);
    return status_ok();
}

/* Read the entry of the directory at *at, and move on. */
static status read_member(struct member *m, uint64_t *at, const unsigned char *zip, size_t size)
{
    if (*at > size || size - *at < ENTRY || little(zip + *at, 4) != 0x02014b50)
        return bad_input("broken archive: expected a directory at byte %" PRIu64, *at);
    const unsigned char *e = zip + *at;
    size_t name = (size_t)little(e + 28, 2), extra = (size_t)little(e + 30, 2), more = (size_t)little(e + 32, 2);
    if (size - *at - ENTRY < name + extra + more) return bad_input("broken archive: its directory ends too early");
    *m = (struct member){.method = (int)little(e + 10, 2), .packed = little(e + 20, 4), .bytes = little(e + 24, 4),
                         .at = little(e + 42, 4), .sum = (unsigned long)little(e + 16, 4)};
    snprintf(m->name, sizeof m->name, "%.*s", (int)(name < 255 ? name : 255), (const char *)e + ENTRY);
    char *ending = strlen(m->name) > 4 ? m->name + strlen(m->name) - 4 : m->name;
    if (strlen(m->name) != name || strcmp(ending, ".npy"))
        return bad_input("member '%.60s', expected names of arrays, NAME.npy", m->name);
    *ending = '\0';
    *at += ENTRY + name + extra + more;
    if (m->bytes == 0xffffffff || m->packed == 0xffffffff || m->at == 0xffffffff)
        return bad_input("tensor %.60s: found zip64, expected an archive below 4 GiB", m->name);
    if ((little(e + 8, 2) & 1) || (m->method != 0 && m->method != 8))
        return bad_input("tensor %.60s: encrypted, or compressed by method %d, expected 0 or 8", m->name, m->method);
    if (m->at > size || size - m->at < 30 || little(zip + m->at, 4) != 0x04034b50)
        return bad_input("tensor %.60s: broken archive, no member where it is said to be", m->name);
    m->at += 30 + little(zip + m->at + 26, 2) + little(zip + m->at + 28, 2);
    bool longer = m->method ? m->bytes / DEFLATED_MOST > m->packed : m->bytes != m->packed;
    if (m->at > size || m->packed > size - m->at || longer)
        return bad_input("tensor %.60s: broken archive, %" PRIu64 " bytes of %" PRIu64, m->name, m->bytes, m->packed);
    return status_ok();
}

/* Copy the bytes of a member, which are below SIZE_MAX. */
static status unpack(unsigned char *to, const struct member *m, const unsigned char *zip)
{
    z_stream z = {.next_in = (unsigned char *)(size_t)(zip + m->at), .next_out = to};
    uint64_t in = m->packed, out = m->bytes;
    int code = Z_OK;
    if (!m->method) memcpy(to, zip + m->at, (size_t)m->bytes);
    else if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return out_of_memory("zlib");
    while (m->method && code == Z_OK) {         /* zlib counts in 32 bits */
        uInt more_in = in > 1 << 30 ? 1 << 30 : (uInt)in, more_out = out > 1 << 30 ? 1 << 30 : (uInt)out;
        z.avail_in = more_in;
        z.avail_out = more_out;
        code = inflate(&z, Z_NO_FLUSH);
        in -= more_in - z.avail_in;
        out -= more_out - z.avail_out;
    }
    if (m->method) inflateEnd(&z);
    if (m->method && (code != Z_STREAM_END || out)) return bad_input("tensor %.60s: its data are broken", m->name);
    if (crc32_z(0, to, (size_t)m->bytes) != m->sum)
        return bad_input("tensor %.60s: its data do not have their CRC", m->name);
    return status_ok();
}

static status from_memory(struct safetensors *opened, void *bytes, size_t size)
{
    opened->bytes = bytes;
    opened->file = fmemopen(bytes, size ? size : 1, "rb");
    return opened->file ? status_ok() : out_of_memory("a file in memory");
}

/* Replace the archive in memory by its unpacked members. */
static status read_archive(struct safetensors *opened, size_t size, size_t allowed)
{
    const unsigned char *zip = opened->bytes;
    uint64_t first = 0, members = 0, at;
    size_t bytes = 1, begin = 0;
    struct member m = {0};
    status s = find_directory(&first, &members, zip, size);
    if (s.code || (s = make_room(opened, (size_t)members + 1)).code) return s;
    at = first;
    for (uint64_t n = 0; n < members; n++) {
        if ((s = read_member(&m, &at, zip, size)).code) return s;
        size_add(&bytes, m.bytes < SIZE_MAX ? (size_t)m.bytes : SIZE_MAX, 1);
    }
    if ((s = bytes_fit(bytes, allowed)).code) return s;
    unsigned char *unpacked = memory_get(bytes, 1);
    if (!unpacked) return out_of_memory("the archive");
    fclose(opened->file);
    s = from_memory(opened, unpacked, bytes);
    at = first;
    for (uint64_t n = 0; n < members && !s.code; n++, begin += (size_t)m.bytes) {
        s = read_member(&m, &at, zip, size);
        if (!s.code) s = unpack(unpacked + begin, &m, zip);
        if (!s.code) s = read_array(opened, m.name, begin, begin + m.bytes);
    }
    memory_free((void *)(size_t)zip);
    return s.code ? s : tensor_names_check(opened->tensors.tensor, opened->tensors.count);
}

/* ---- files ---- */

/* All bytes of a stream or file; the caller frees them. */
static status read_all(void **bytes, size_t *size, int fd, const char *path, size_t allowed)
{
    size_t room = 0;
    char *all = NULL;
    ssize_t got = 1;
    for (*size = 0; got > 0; *size += (size_t)got) {
        if (*size == room) {
            room = room ? 2 * room : 65536;
            status s = bytes_fit(room, allowed);
            char *larger = s.code ? NULL : memory_get(room, 1);
            if (larger && *size) memcpy(larger, all, *size);
            memory_free(all);
            if (!(all = larger)) return s.code ? s : out_of_memory(path);
        }
        while ((got = read(fd, all + *size, room - *size)) < 0 && errno == EINTR) continue;
        if (got < 0) {
            memory_free(all);
            return path_error("read", path, errno);
        }
    }
    *bytes = all;
    return status_ok();
}

static status read_stream(struct safetensors *opened, size_t *size, const char *path, size_t allowed)
{
    void *bytes = NULL;
    bool standard = !strcmp(path, "-");
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return path_error("opened", path, errno);
    status s = read_all(&bytes, size, fd, standard ? "standard input" : path, allowed);
    if (!standard) close(fd);
    return s.code ? s : from_memory(opened, bytes, *size);
}

status tensor_file_open(struct safetensors *opened, const char *path, const struct tensor_request *request)
{
    struct stat found;
    enum format format;
    size_t allowed = request->allowed, size = 0;
    *opened = (struct safetensors){.asked = request->asked, .params = request->params};
    status s = format_of(&format, path);
    if (!s.code && !allowed) s = bytes_allowed(&allowed, NULL);
    if (s.code) return s;
    bool standard = !strcmp(path, "-"), exists = !standard && stat(path, &found) == 0;
    bool stream = standard || (exists && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode)));
    if (!stream && (!exists || !S_ISREG(found.st_mode))) return safetensors_open(opened, path);     /* an error */
    if (stream || format == NPZ) {
        s = read_stream(opened, &size, path, allowed);
    } else {
        size = (size_t)found.st_size;
        opened->file = fopen(path, "rb");
        if (!opened->file) s = path_error("opened", path, errno);
    }
    if (!s.code && format == SAFETENSORS) s = safetensors_header(opened, standard ? "standard input" : path, size);
    if (!s.code && format == NPZ) s = status_at(read_archive(opened, size, allowed), path);
    if (!s.code && format == NPY) s = make_room(opened, 1);
    if (!s.code && format == NPY) s = status_at(read_array(opened, request->name ? request->name : "x", 0, size), path);
    if (s.code) safetensors_close(opened);
    return s;
}

status tensor_file_read(struct tensors *list, const char *path, const char *name)
{
    struct safetensors opened;
    status s = tensor_file_open(&opened, path, &(struct tensor_request){.name = name});
    if (!s.code) s = safetensors_load(&opened);
    *list = opened.tensors;
    opened.tensors = (struct tensors){0};
    safetensors_close(&opened);
    return s;
}

/* ---- writing ---- */

/* The header of an array, with its padding; the number of bytes. */
static size_t array_header(unsigned char header[512], const struct tensor *t)
{
    char shape[8 + 24 * TENSOR_AXES];
    shape_text(shape, sizeof shape, t->axes, t->size);
    size_t inside = strlen(shape) - 2;
    int length = snprintf((char *)header + 10, 500, "{'descr': '<f%zu', 'fortran_order': False, 'shape': (%.*s%s), }",
                          sizeof(real), (int)inside, shape + 1, t->axes == 1 ? "," : "");
    size_t whole = (10 + (size_t)length + 1 + 63) / 64 * 64;
    memcpy(header, MAGIC "\1", 8);
    put_little(header + 8, whole - 10, 2);
    memset(header + 10 + length, ' ', whole - 10 - (size_t)length);
    header[whole - 1] = '\n';
    return whole;
}

static bool write_array(FILE *file, const struct tensor *t)
{
    unsigned char header[512];
    size_t length = array_header(header, t);
    return fwrite(header, 1, length, file) == length && tensor_write(file, t, NULL);
}

/* Append a member at byte *at of an archive.  `entry`: its ENTRY bytes of the directory, most of them also before the
 * member. */
static bool write_member(FILE *file, unsigned char *entry, size_t *at, const struct tensor *t)
{
    /* Version 2.0, names in UTF-8, stored. */
    static const unsigned char fixed[] = {'P', 'K', 1, 2, 20, 0, 20, 0, 0, 8, 0, 0, 0, 0, 33};
    unsigned char header[512];
    size_t length = array_header(header, t), bytes = length + t->count * sizeof(real);
    unsigned long sum = crc32_z(0, header, length);
    tensor_write(NULL, t, &sum);
    memset(entry, 0, ENTRY);
    memcpy(entry, fixed, sizeof fixed);
    put_little(entry + 16, sum, 4);
    put_little(entry + 20, bytes, 4);
    put_little(entry + 24, bytes, 4);
    put_little(entry + 28, strlen(t->name) + 4, 2);
    put_little(entry + 42, *at, 4);
    *at += 30 + strlen(t->name) + 4 + bytes;
    return fwrite("PK\3\4", 1, 4, file) == 4 && fwrite(entry + 6, 1, 26, file) == 26
           && fprintf(file, "%s.npy", t->name) > 0 && write_array(file, t);
}

static bool write_archive(FILE *file, const struct tensor *tensors, size_t count, unsigned char *entries)
{
    unsigned char end[22] = "PK\5\6";
    size_t at = 0, directory = 0;
    for (size_t i = 0; i < count; i++)
        if (!write_member(file, entries + ENTRY * i, &at, &tensors[i])) return false;
    for (size_t i = 0; i < count; i++) {
        if (fwrite(entries + ENTRY * i, 1, ENTRY, file) != ENTRY) return false;
        if (fprintf(file, "%s.npy", tensors[i].name) < 0) return false;
        directory += ENTRY + strlen(tensors[i].name) + 4;
    }
    put_little(end + 8, count, 2);
    put_little(end + 10, count, 2);
    put_little(end + 12, directory, 4);
    put_little(end + 16, at, 4);
    return fwrite(end, 1, sizeof end, file) == sizeof end;
}

static status check_archive(const struct tensor *tensors, size_t count)
{
    size_t bytes = 1024;
    status s = tensor_names_check(tensors, count);
    for (size_t i = 0; i < count && !s.code; i++) {
        size_add(&bytes, tensors[i].count, sizeof(real));
        size_add(&bytes, 2 * strlen(tensors[i].name) + 1024, 1);
        if (strlen(tensors[i].name) > 251)
            s = bad_input("tensor %.60s: expected a name of at most 251 bytes", tensors[i].name);
    }
    if (!s.code && (bytes >= 0xffffffff || count > 65534))
        s = bad_input("found %zu tensors of %zu bytes, expected fewer in an .npz file: use .safetensors", count, bytes);
    return s;
}

status tensor_file_write(const char *path, const struct tensor *tensors, size_t count)
{
    enum format format;
    struct atomic_file f = {0};
    unsigned char *entries = NULL;
    status s = format_of(&format, path);
    if (s.code || format == SAFETENSORS) return s.code ? s : safetensors_write(path, tensors, count);
    if (format == NPY && count != 1)
        return bad_input("%.100s: found %zu tensors, expected one; .npz and .safetensors hold several", path, count);
    if (format == NPZ && (s = check_archive(tensors, count)).code) return s;
    if (format == NPZ && !(entries = memory_get(count, ENTRY))) return out_of_memory("the archive");
    s = atomic_file_open(&f, path);
    if (!s.code) {
        errno = 0;
        bool done = entries ? write_archive(f.file, tensors, count, entries) : write_array(f.file, tensors);
        s = atomic_file_close(&f, done ? s : path_error("written", path, errno ? errno : EIO));
    }
    memory_free(entries);
    return s;
}
