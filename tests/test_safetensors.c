/* test_safetensors.c -- reading and writing safetensors files
 *
 * Every test writes into a temporary folder, which is removed when the case ends, however it ends. */

#define _XOPEN_SOURCE 700       /* mkdtemp, mkfifo, setrlimit */

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "support.h"
#include "../reference/instruments/safetensors.h"

#ifdef TWICETOLD_DOUBLE
#define DTYPE "F64"
#else
#define DTYPE "F32"
#endif

/* ---- The folder ---- */

static char folder[1024];

static void make_folder(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/safetensors-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static int entries_of_folder(bool and_remove)
{
    int count = 0;
    char path[2048];
    DIR *open_folder = opendir(folder);
    if (!open_folder) return -1;
    for (struct dirent *e; (e = readdir(open_folder));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        count++;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (and_remove) remove(path);
    }
    closedir(open_folder);
    return count;
}

static void remove_folder(void)
{
    entries_of_folder(true);
    rmdir(folder);
}

/* A path in the folder; the last four stay valid. */
static const char *in_folder(const char *name)
{
    static char path[4][2048];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

/* ---- Files made by hand ---- */

struct bytes { size_t count; unsigned char at[4096]; };

static void append(struct bytes *b, const void *more, size_t count)
{
    ck_assert(count <= sizeof b->at - b->count);
    memcpy(b->at + b->count, more, count);
    b->count += count;
}

static void append_little_endian(struct bytes *b, uint64_t n, int width)
{
    for (int i = 0; i < width; i++, n >>= 8) append(b, &(unsigned char){n & 0xff}, 1);
}

static void append_float(struct bytes *b, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    append_little_endian(b, bits, 4);
}

static void append_double(struct bytes *b, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    append_little_endian(b, bits, 8);
}

/* A file: the header's length, the header, this many zeros. */
static struct bytes file_of(const char *header, size_t length, size_t zeros)
{
    struct bytes b = {0};
    append_little_endian(&b, length, 8);
    append(&b, header, length);
    while (zeros-- > 0) append(&b, "", 1);
    return b;
}

static const char *stored(const void *bytes, size_t count)
{
    const char *path = in_folder("file");
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, count, f), count);
    ck_assert_int_eq(fclose(f), 0);
    return path;
}

static status read_bytes(struct tensors *list, const struct bytes *b)
{
    return safetensors_read(list, stored(b->at, b->count));
}

static struct bytes contents(const char *path)
{
    struct bytes b = {0};
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    b.count = fread(b.at, 1, sizeof b.at, f);
    fclose(f);
    return b;
}

/* Fails unless the list is valid; reads every byte of it. */
static void consistent(const struct tensors *list)
{
    double sum = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct tensor *t = &list->tensor[i];
        size_t count = 1;
        ck_assert_int_ge(t->axes, 0);
        ck_assert_int_le(t->axes, TENSOR_AXES);
        for (int a = 0; a < t->axes; a++) count *= t->size[a];
        ck_assert_uint_gt(count, 0);
        ck_assert_uint_eq(count, t->count);
        for (size_t n = 0; n < count; n++) sum += (double)t->data[n];
        sum += (double)strlen(t->name);
        for (size_t j = 0; j < i; j++) ck_assert_str_ne(list->tensor[j].name, t->name);
    }
    ck_assert(isnan(sum) || sum <= HUGE_VAL);
}

/* Two tensors whose names must be escaped. */
static struct tensors small_list(void)
{
    struct tensors list = {.count = 2, .tensor = memory_get(2, sizeof *list.tensor)};
    ck_assert_ptr_nonnull(list.tensor);
    succeeds(tensor_create(&list.tensor[0], "a \"quoted\" \\ word\n\n", 2, (size_t[]){2, 3}));
    succeeds(tensor_create(&list.tensor[1], "\xce\xbb", 0, NULL));
    for (int i = 0; i < 6; i++) list.tensor[0].data[i] = (real)(i - 2);
    list.tensor[1].data[0] = (real)0.1;
    return list;
}

/* ---- Reading what was written ---- */

static const char *const odd_names[] = {
    "x", "", "with space", "\"", "\\u0041", "\xf0\x9f\x90\xa6 and \xe2\x88\x91", "tab\tbell\x07 delete\x7f",
    "__metadata", "a name of the length of a path: ........................................................",
};

/* To the bit: names, order, shapes of 0 to 8 axes, and data, NaN with its payload among them. */
START_TEST(written_tensors_come_back)
{
    struct tensors list = {.count = 9, .tensor = memory_get(9, sizeof *list.tensor)}, back;
    size_t before, size[8] = {2, 1, 3, 2, 1, 5, 2, 3};
    real extremes[] = {(real)NAN, -(real)INFINITY, -(real)0.0, REAL_EPSILON * REAL_EPSILON};

    for (int i = 0; i < 9; i++) {
        int axes = (i + 4) % 9;
        succeeds(tensor_create(&list.tensor[i], odd_names[i], axes, size));
        memcpy(list.tensor[i].data, normal((uint64_t)i, list.tensor[i].count),
               list.tensor[i].count * sizeof(real));
        list.tensor[i].data[0] = extremes[i % 4];
    }
    ((unsigned char *)list.tensor[0].data)[sizeof(real) == 8 ? 0 : 1] ^= 0x2a;

    succeeds(safetensors_write(in_folder("file"), list.tensor, list.count));
    before = memory_in_use();
    succeeds(safetensors_read(&back, in_folder("file")));
    ck_assert_uint_eq(back.count, list.count);
    for (int i = 0; i < 9; i++) {
        const struct tensor *a = &list.tensor[i], *b = &back.tensor[i];
        ck_assert_str_eq(a->name, b->name);
        ck_assert_int_eq(a->axes, b->axes);
        ck_assert_mem_eq(a->size, b->size, sizeof a->size);
        ck_assert_uint_eq(a->count, b->count);
        ck_assert_mem_eq(a->data, b->data, a->count * sizeof(real));
    }
    tensors_release(&back);
    ck_assert_uint_eq(memory_in_use(), before);

    /* The empty list, and a tensor longer than any buffer. */
    succeeds(safetensors_write(in_folder("file"), NULL, 0));
    succeeds(safetensors_read(&back, in_folder("file")));
    ck_assert_uint_eq(back.count, 0);
    tensors_release(&back);
    struct tensor long_one;
    succeeds(tensor_create(&long_one, "long", 1, (size_t[]){100003}));
    for (size_t i = 0; i < long_one.count; i++) long_one.data[i] = (real)i;
    succeeds(safetensors_write(in_folder("file"), &long_one, 1));
    succeeds(safetensors_read(&back, in_folder("file")));
    ck_assert_mem_eq(back.tensor[0].data, long_one.data, long_one.count * sizeof(real));
    tensors_release(&back);
    tensor_release(&long_one);
    tensors_release(&list);
}
END_TEST

START_TEST(the_file_is_what_the_format_says)
{
    struct tensors list = small_list();
    struct bytes expected = {0}, found;
    size_t w = sizeof(real);
    char header[512];

    snprintf(header, sizeof header,
             "{\"a \\\"quoted\\\" \\\\ word\\n\\n\":"
             "{\"dtype\":\"" DTYPE "\",\"shape\":[2, 3],\"data_offsets\":[0, %zu]},"
             "\"\xce\xbb\":{\"dtype\":\"" DTYPE "\",\"shape\":[],\"data_offsets\":[%zu, %zu]}}",
             6 * w, 6 * w, 7 * w);
    ck_assert_uint_ne(strlen(header) % 8, 0);
    while (strlen(header) % 8) strcat(header, " ");
    append_little_endian(&expected, strlen(header), 8);
    append(&expected, header, strlen(header));
    for (int i = 0; i < 7; i++) {
        double x = i < 6 ? i - 2 : 0.1;
        if (w == 4) append_float(&expected, (float)x);
        else append_double(&expected, x);
    }

    succeeds(safetensors_write(in_folder("file"), list.tensor, list.count));
    found = contents(in_folder("file"));
    ck_assert_uint_eq(found.count, expected.count);
    ck_assert_mem_eq(found.at, expected.at, found.count);
    tensors_release(&list);
}
END_TEST

/* F32 and F64 in one file, with data in another order than the header. */
START_TEST(either_precision_is_converted)
{
    static const char header[] =
        "{\"d\":{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[8,40]},"
        "\"f\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    static const double d[4] = {0.1, -1e300, 1.0 + 0x1p-30, 3};
    struct bytes b = file_of(header, sizeof header - 1, 0);
    struct tensors list;

    append_float(&b, 0.1f);
    append_float(&b, -7);
    for (int i = 0; i < 4; i++) append_double(&b, d[i]);
    succeeds(read_bytes(&list, &b));
    ck_assert_uint_eq(list.count, 2);
    for (int i = 0; i < 4; i++) ck_assert(list.tensor[0].data[i] == (real)d[i]);
    ck_assert(list.tensor[1].data[0] == (real)0.1f);
    ck_assert(list.tensor[1].data[1] == -7);
    tensors_release(&list);
}
END_TEST

/* The library reads pieces of 1024 numbers of F32, or 512 of F64. */
START_TEST(doubles_are_read_from_the_middle)
{
    enum { MANY = 1500 };
    static const char header[] = "{\"f\":{\"dtype\":\"F32\",\"shape\":[30,50],\"data_offsets\":[12000,18000]},"
                                 "\"d\":{\"dtype\":\"F64\",\"shape\":[1500],\"data_offsets\":[0,12000]}}";
    static const size_t length[] = {1, 7, 511, 512, 513, 1024, 1025, MANY};
    static double values[MANY];
    struct safetensors opened;
    struct bytes b = file_of(header, sizeof header - 1, 0);
    FILE *f = fopen(in_folder("file"), "wb");
    ck_assert_ptr_nonnull(f);
    for (int i = 0; i < 2 * MANY; i++) {
        ck_assert_uint_eq(fwrite(b.at, 1, b.count, f), b.count);
        b.count = 0;
        if (i < MANY) append_double(&b, i + 0.5);
        else append_float(&b, (float)i);
    }
    ck_assert_uint_eq(fwrite(b.at, 1, b.count, f), b.count);
    ck_assert_int_eq(fclose(f), 0);

    succeeds(safetensors_open(&opened, in_folder("file")));
    for (size_t t = 0; t < 2; t++) {
        ck_assert_uint_eq(safetensors_width(&opened, t), t ? 8 : 4);
        for (size_t first = 0; first < MANY; first += 10)
            for (size_t n = 0; n < COUNT(length); n++) {
                size_t count = length[n] < MANY - first ? length[n] : MANY - first;
                succeeds(safetensors_doubles(values, &opened, t, first, count));
                for (size_t i = 0; i < count; i++)
                    ck_assert(values[i] == (double)(first + i) + (t ? 0.5 : MANY));
            }
    }
    safetensors_close(&opened);
}
END_TEST

/* Two tensors of 2 GiB, holes of the file, come before the three others.  They are not loaded: it would take 4 GiB. */
START_TEST(tensors_beyond_4_gib_are_read)
{
    static const char header[] =
        "{\"p\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[2147483648,2147483672]},"
        "\"q\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[4294967320,4294967336]},"
        "\"r\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[4294967336,4294967352]},"
        "\"hole\":{\"dtype\":\"F32\",\"shape\":[536870912],\"data_offsets\":[0,2147483648]},"
        "\"gap\":{\"dtype\":\"F32\",\"shape\":[536870912],\"data_offsets\":[2147483672,4294967320]}}";
    static const double expected[3][4] = {{1.5, -2.5, 3}, {0.5, 7, -8, 9}, {11, -12.25}};
    static const size_t count[3] = {3, 4, 2};
    struct bytes head = file_of(header, sizeof header - 1, 0), p = {0}, last = {0};
    const char *path = stored(head.at, head.count);
    const off_t at = (off_t)head.count, whole = at + 4294967352;
    size_t before = memory_in_use();
    struct safetensors opened;
    double values[4];

    for (int i = 0; i < 3; i++) append_double(&p, expected[0][i]);
    for (int i = 0; i < 4; i++) append_float(&last, (float)expected[1][i]);
    for (int i = 0; i < 2; i++) append_double(&last, expected[2][i]);
    int fd = open(path, O_WRONLY);
    ck_assert_int_ge(fd, 0);
    if (ftruncate(fd, whole) != 0 || pwrite(fd, p.at, p.count, at + 2147483648) != (ssize_t)p.count
        || pwrite(fd, last.at, last.count, at + 4294967320) != (ssize_t)last.count) {
        printf("skipped: no file of 4 GiB can be written: %s\n", strerror(errno));
        close(fd);
        unlink(path);
        return;
    }
    ck_assert_int_eq(close(fd), 0);

    succeeds(safetensors_open(&opened, path));
    ck_assert_uint_eq(opened.tensors.count, 5);
    for (size_t t = 0; t < 3; t++)
        for (size_t first = 0; first < count[t]; first++) {
            succeeds(safetensors_doubles(values, &opened, t, first, count[t] - first));
            for (size_t i = first; i < count[t]; i++) ck_assert(values[i - first] == expected[t][i]);
        }
    succeeds(safetensors_doubles(values, &opened, 4, 536870911, 1));
    ck_assert(values[0] == 0);
    opened.tensors.count = 3;
    succeeds(safetensors_load(&opened));
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < count[t]; i++) ck_assert(opened.tensors.tensor[t].data[i] == (real)expected[t][i]);
    opened.tensors.count = 5;
    safetensors_close(&opened);
    ck_assert_uint_eq(memory_in_use(), before);
    unlink(path);
}
END_TEST

/* ---- Valid and invalid headers ---- */

#define TEXT(text) text, sizeof text - 1
#define X "\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define ENTRY(dtype, shape, offsets) \
    "{\"x\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static const struct { const char *header; size_t length, zeros, tensors; } accepted[] = {
    {TEXT("{" X "}"), 8, 1},
    {TEXT("{" X "}      "), 8, 1},
    {TEXT("{}"), 0, 0},
    {TEXT("{\"__metadata__\":{}}"), 0, 0},
    {TEXT("{\"__metadata__\":{\"format\":\"pt\",\"1\":\"-1e5\"}," X "}"), 8, 1},
    {TEXT("{" X ",\"__met\\u0061data__\":{\"[[[[\":\"}}}}\"}}"), 8, 1},
    {TEXT("\x7b\t\"x\" : {\r\n\"shape\" : [ 2 ] , \"data_offsets\":[ 0, 8],\n\"dtype\":\"F32\" } }"), 8, 1},
    {TEXT(ENTRY("\"F64\"", "[]", "[0,8]")), 8, 1},
    {TEXT(ENTRY("\"\\u0046\\u0036\\u0034\"", "[1,1,1,1,1,1,1,1]", "[0,8]")), 8, 1},
    {TEXT("{\"\\ud83d\\ude00\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8]},"
          "\"\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}"), 8, 2},
    {TEXT("{\"__metadata__\":{\"\":\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x80\xbf\xee\x80\x80\xef\xbf\xbf"
          "\xf0\x90\x80\x80\xf1\x80\xbf\xbf\xf4\x8f\xbf\xbf\"}}"), 0, 0},
};

START_TEST(what_the_format_allows_is_read)
{
    struct bytes b = file_of(accepted[_i].header, accepted[_i].length, accepted[_i].zeros);
    struct tensors list;
    succeeds(read_bytes(&list, &b));
    ck_assert_uint_eq(list.count, accepted[_i].tensors);
    consistent(&list);
    tensors_release(&list);
}
END_TEST

static const struct { const char *header; size_t length, zeros; const char *message; } hostile[] = {
    /* Not strict JSON, or not in UTF-8. */
    {TEXT("[]"), 0, "header byte 0: 0x5b, expected {"},
    {TEXT(" {" X "}"), 8, "header byte 0: 0x20, expected {"},
    {TEXT("\xef\xbb\xbf{" X "}"), 8, "header byte 0: 0xef, expected {"},
    {TEXT("{" X "} x"), 8, "0x78 after the JSON, expected only spaces"},
    {TEXT("{" X "}\n"), 8, "0x0a after the JSON, expected only spaces"},
    {TEXT("{" X "}{}"), 8, "0x7b after the JSON, expected only spaces"},
    {TEXT("{" X "}\0\0"), 8, "byte 0x00, expected JSON"},
    {TEXT("{" X), 8, "expected JSON"},
    {TEXT("{" X ","), 8, "expected JSON"},
    {TEXT("{" X ",}"), 8, "expected JSON"},
    {TEXT("{x:1}"), 0, "expected JSON"},
    {TEXT("{'x':1}"), 0, "expected JSON"},
    {TEXT("{\"x\":nul}"), 0, "expected JSON"},
    {TEXT("{\"x\" \"y\"}"), 0, "expected JSON"},
    {TEXT("{\x01" X "}"), 8, "header byte 1: byte 0x01, expected JSON"},
    {TEXT("{\0" X "}"), 8, "header byte 1: byte 0x00, expected JSON"},
    {TEXT("{\"x"), 0, "header byte 1: a string begins and does not end"},
    {TEXT("{\"x\\"), 0, "an escape that JSON does not have"},
    {TEXT("{\"x\\q\":1}"), 0, "an escape that JSON does not have"},
    {TEXT("{\"x\\u12\":1}"), 0, "header byte 3: \\u, expected four hexadecimal digits"},
    {TEXT("{\"x\\uzzzz\":1}"), 0, "\\u, expected four hexadecimal digits"},
    {TEXT("{\"x\\udc00\":1}"), 0, "expected JSON"},
    {TEXT("{\"x\\ud800\":1}"), 0, "expected JSON"},
    {TEXT("{\"x\\u0000y\":1}"), 0, "\\u0000 in a string, expected no zero byte"},
    {TEXT("{\"x\0y\":1}"), 0, "byte 0x00 in a string, expected it escaped"},
    {TEXT("{\"x\ny\":1}"), 0, "byte 0x0a in a string, expected it escaped"},
    {TEXT("{\"\x80\":1}"), 0, "header byte 2: 0x80 is not UTF-8"},
    {TEXT("{\"\xc0\xaf\":1}"), 0, "0xc0 is not UTF-8"},
    {TEXT("{\"\xe0\x80\xaf\":1}"), 0, "0xe0 is not UTF-8"},
    {TEXT("{\"\xed\xa0\x80\":1}"), 0, "0xed is not UTF-8"},
    {TEXT("{\"\xf0\x8f\xbf\xbf\":1}"), 0, "0xf0 is not UTF-8"},
    {TEXT("{\"\xf4\x90\x80\x80\":1}"), 0, "0xf4 is not UTF-8"},
    {TEXT("{\"\xf5\x80\x80\x80\":1}"), 0, "0xf5 is not UTF-8"},
    {TEXT("{\"\xe2\x88\":1}"), 0, "0xe2 is not UTF-8"},
    {TEXT("{\"x\":1}\xe2\x88"), 0, "0xe2 is not UTF-8"},
    {TEXT("{\"x\":{\"shape\":[[1]]}}"), 0, "nested 4 deep, expected at most 3"},
    {TEXT("{\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["), 0, "nested 4 deep, expected at most 3"},

    /* Names. */
    {TEXT("{" X "," X "}"), 8, "tensor x: named twice"},
    {TEXT("{" X ",\"\\u0078\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}"), 12,
     "tensor x: named twice"},
    {TEXT("{\"__metadata__\":{}," X ",\"__metadata__\":{}}"), 8, "__metadata__: named twice"},
    {TEXT("{\"__metadata__\":[]}"), 0, "__metadata__: an array, expected an object of strings"},
    {TEXT("{\"__metadata__\":{\"a\":\"b\",\"c\":1}}"), 0, "__metadata__: c is a number, expected a string"},
    {TEXT("{\"__metadata__\":{\"a\":null}}"), 0, "__metadata__: a is null, expected a string"},

    /* Fields. */
    {TEXT("{\"x\":[]}"), 0, "tensor x: an array, expected an object"},
    {TEXT("{\"x\":true}"), 0, "tensor x: true or false, expected an object"},
    {TEXT("{\"x\":{\"shape\":[2],\"data_offsets\":[0,8]}}"), 8, "tensor x: dtype is missing"},
    {TEXT("{\"x\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}"), 8, "tensor x: shape is missing"},
    {TEXT("{\"x\":{\"dtype\":\"F32\",\"shape\":[2]}}"), 8, "tensor x: data_offsets is missing"},
    {TEXT("{\"x\":{\"Dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"), 8,
     "tensor x: field Dtype, expected dtype"},
    {TEXT("{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"), 8,
     "tensor x: dtype given twice"},
    {TEXT("{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"more\":1}}"), 8,
     "tensor x: field more, expected dtype, shape and data_offsets"},

    /* Types. */
    {TEXT(ENTRY("\"F16\"", "[4]", "[0,8]")), 8, "tensor x: dtype F16, expected F32 or F64"},
    {TEXT(ENTRY("\"BF16\"", "[4]", "[0,8]")), 8, "tensor x: dtype BF16, expected F32 or F64"},
    {TEXT(ENTRY("\"f32\"", "[2]", "[0,8]")), 8, "tensor x: dtype f32, expected F32 or F64"},
    {TEXT(ENTRY("32", "[2]", "[0,8]")), 8, "tensor x: dtype is a number, expected a string"},

    /* Shapes. */
    {TEXT(ENTRY("\"F32\"", "2", "[0,8]")), 8, "tensor x: shape is a number, expected an array"},
    {TEXT(ENTRY("\"F32\"", "{\"0\":2}", "[0,8]")), 8, "tensor x: shape is an object, expected an array"},
    {TEXT(ENTRY("\"F32\"", "[\"2\"]", "[0,8]")), 8, "tensor x: shape holds a string, expected whole numbers"},
    {TEXT(ENTRY("\"F32\"", "[2,null]", "[0,8]")), 8, "tensor x: shape holds null, expected whole numbers"},
    {TEXT(ENTRY("\"F32\"", "[-2]", "[0,8]")), 8, "tensor x: number -2, expected a whole number"},
    {TEXT(ENTRY("\"F32\"", "[-0]", "[0,8]")), 8, "tensor x: number -0, expected a whole number"},
    {TEXT(ENTRY("\"F32\"", "[1.5]", "[0,8]")), 8, "tensor x: number 1.5, expected a whole number"},
    {TEXT(ENTRY("\"F32\"", "[2.0]", "[0,8]")), 8, "tensor x: number 2.0, expected a whole number"},
    {TEXT(ENTRY("\"F32\"", "[2e0]", "[0,8]")), 8, "tensor x: number 2e0, expected a whole number"},
    {TEXT(ENTRY("\"F32\"", "[02]", "[0,8]")), 8, "tensor x: number 02, expected a whole number"},
    {TEXT(ENTRY("\"F32\"", "[1e999]", "[0,8]")), 8, "tensor x: number 1e999, expected a whole number"},
    {TEXT(ENTRY("\"F32\"", "[NaN]", "[0,8]")), 8, "expected JSON"},
    {TEXT(ENTRY("\"F32\"", "[0x2]", "[0,8]")), 8, "expected JSON"},
    {TEXT(ENTRY("\"F32\"", "[18446744073709551618]", "[0,8]")), 8,
     "tensor x: number 18446744073709551618, expected"},
    {TEXT(ENTRY("\"F32\"", "[9007199254740992]", "[0,8]")), 8, "tensor x: shape holds a number beyond 2^53"},
    {TEXT(ENTRY("\"F32\"", "[9007199254740993]", "[0,8]")), 8, "tensor x: shape holds a number beyond 2^53"},
    {TEXT(ENTRY("\"F32\"", "[0]", "[0,0]")), 0, "tensor x: axis 0 has size 0, expected at least 1"},
    {TEXT(ENTRY("\"F32\"", "[2,0]", "[0,8]")), 8, "tensor x: axis 1 has size 0, expected at least 1"},
    {TEXT(ENTRY("\"F32\"", "[1,1,1,1,1,1,1,1,2]", "[0,8]")), 8, "tensor x: 9 axes, expected at most 8"},
    {TEXT(ENTRY("\"F32\"", "[4294967296,4294967296]", "[0,8]")), 8, "tensor x: its size overflows"},
    {TEXT(ENTRY("\"F32\"", "[4294967296,1073741824]", "[0,0]")), 8, "tensor x: its size overflows"},
    {TEXT(ENTRY("\"F32\"", "[1000000000]", "[0,8]")), 8, "tensor x: data_offsets [0, 8], expected 4000000000 bytes"},

    /* Places. */
    {TEXT(ENTRY("\"F32\"", "[2]", "8")), 8, "tensor x: data_offsets is a number, expected an array"},
    {TEXT(ENTRY("\"F32\"", "[2]", "[8]")), 8, "tensor x: data_offsets has 1 numbers, expected 2"},
    {TEXT(ENTRY("\"F32\"", "[2]", "[0,8,8]")), 8, "tensor x: data_offsets has 3 numbers, expected 2"},
    {TEXT(ENTRY("\"F32\"", "[2]", "[0,\"8\"]")), 8,
     "tensor x: data_offsets holds a string, expected whole numbers"},
    {TEXT(ENTRY("\"F32\"", "[2]", "[0,8.0]")), 8, "tensor x: number 8.0, expected a whole number"},
    {TEXT(ENTRY("\"F32\"", "[2]", "[8,0]")), 8,
     "tensor x: data_offsets [8, 0], expected them in order and within 8 bytes"},
    {TEXT(ENTRY("\"F32\"", "[2]", "[4,12]")), 8,
     "tensor x: data_offsets [4, 12], expected them in order and within 8 bytes"},
    {TEXT(ENTRY("\"F32\"", "[4503599627370496]", "[0,9007199254740991]")), 8,
     "tensor x: data_offsets [0, 9007199254740991], expected them in order and within 8 bytes"},
    {TEXT(ENTRY("\"F32\"", "[1]", "[0,8]")), 8,
     "tensor x: data_offsets [0, 8], expected 4 bytes for F32 [1]"},
    {TEXT(ENTRY("\"F64\"", "[2]", "[0,8]")), 8,
     "tensor x: data_offsets [0, 8], expected 16 bytes for F64 [2]"},
    {TEXT(ENTRY("\"F32\"", "[1]", "[0,0]")), 8,
     "tensor x: data_offsets [0, 0], expected 4 bytes for F32 [1]"},
    {TEXT(ENTRY("\"F32\"", "[1]", "[4,8]")), 8, "tensor x: begins at 4 and leaves a gap, expected 0"},
    {TEXT(ENTRY("\"F32\"", "[1]", "[0,4]")), 8, "4 bytes of data belong to no tensor"},
    {TEXT("{}"), 8, "8 bytes of data belong to no tensor"},
    {TEXT("{" X ",\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[12,16]}}"), 16,
     "tensor y: begins at 12 and leaves a gap, expected 8"},
    {TEXT("{\"y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}," X "}"), 12,
     "tensor y: begins at 4 and overlaps tensor x, which ends at 8"},
    {TEXT("{" X ",\"y\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}"), 8, "and overlaps tensor"},
    {TEXT("{" X ",\"y\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}"), 8, "and overlaps tensor"},
};

/* Each row differs from an accepted file in one thing.  No memory is allocated for what a header claims: less than
 * 64 KiB. */
START_TEST(what_the_header_says_wrongly_is_refused)
{
    struct bytes b = file_of(hostile[_i].header, hostile[_i].length, hostile[_i].zeros);
    struct tensors list = {.count = 77};
    size_t before = memory_in_use();

    memory_reset_peak();
    refused(read_bytes(&list, &b), STATUS_BAD_INPUT, hostile[_i].message);
    ck_assert_uint_eq(list.count, 0);
    ck_assert_ptr_null(list.tensor);
    ck_assert_uint_eq(memory_in_use(), before);
    ck_assert_uint_lt(memory_peak() - before, 65536);
}
END_TEST

static const struct { const char *bytes; size_t count; const char *message; } misshapen[] = {
    {TEXT(""), "the file has 0 bytes, expected at least 8"},
    {TEXT("\2\0\0\0\0\0\0"), "the file has 7 bytes, expected at least 8"},
    {TEXT("\0\0\0\0\0\0\0\0{}"), "a header of 0 bytes, expected 1 to 2"},
    {TEXT("\3\0\0\0\0\0\0\0{}"), "a header of 3 bytes, expected 1 to 2"},
    {TEXT("\2\0\0\0\0\0\0\0"), "a header of 2 bytes, expected 1 to 0"},
    {TEXT("\xff\xff\xff\xff\xff\xff\xff\xff{}"), "a header of 18446744073709551615 bytes, expected 1 to 2"},
    {TEXT("\xfa\xff\xff\xff\xff\xff\xff\xff{}"), "a header of 18446744073709551610 bytes, expected 1 to 2"},
    {TEXT("\0\0\0\0\0\0\0\2{}"), "a header of 144115188075855872 bytes, expected 1 to 2"},
};

START_TEST(what_is_no_header_is_refused)
{
    struct tensors list;
    refused(safetensors_read(&list, stored(misshapen[_i].bytes, misshapen[_i].count)),
            STATUS_BAD_INPUT, misshapen[_i].message);
}
END_TEST

/* The format's limit is 100 000 000 bytes; this file is long enough for more. */
START_TEST(a_header_beyond_the_limit_is_refused)
{
    struct tensors list;
    const char *path = stored("\1\xe1\xf5\5\0\0\0\0{}", 10);
    ck_assert_int_eq(truncate(path, 200000000), 0);
    memory_reset_peak();
    refused(safetensors_read(&list, path), STATUS_BAD_INPUT, "a header of 100000001 bytes, expected 1 to 100000000");
    ck_assert_uint_lt(memory_peak(), 65536);
}
END_TEST

START_TEST(a_file_is_opened_before_its_data_are_read)
{
    static const char vast[] = "{\"x\":{\"dtype\":\"F64\",\"shape\":[1000000000],\"data_offsets\":[0,8000000000]}}";
    struct tensors list = small_list();
    struct safetensors opened;
    size_t before = memory_in_use();

    /* Step 1: names and shapes, then data. */
    succeeds(safetensors_write(in_folder("file"), list.tensor, list.count));
    succeeds(safetensors_open(&opened, in_folder("file")));
    ck_assert_uint_eq(opened.tensors.count, list.count);
    for (size_t t = 0; t < list.count; t++) {
        ck_assert_str_eq(opened.tensors.tensor[t].name, list.tensor[t].name);
        ck_assert_uint_eq(opened.tensors.tensor[t].count, list.tensor[t].count);
        ck_assert_ptr_null(opened.tensors.tensor[t].data);
    }
    succeeds(safetensors_load(&opened));
    for (size_t t = 0; t < list.count; t++)
        ck_assert_mem_eq(opened.tensors.tensor[t].data, list.tensor[t].data, list.tensor[t].count * sizeof(real));
    safetensors_close(&opened);
    safetensors_close(&opened);
    ck_assert_uint_eq(memory_in_use(), before);

    /* Step 2: 8 GB of tensors are opened in 64 KiB. */
    struct bytes b = file_of(vast, sizeof vast - 1, 0);
    const char *path = stored(b.at, b.count);
    ck_assert_int_eq(truncate(path, (off_t)b.count + 8000000000), 0);
    memory_reset_peak();
    succeeds(safetensors_open(&opened, path));
    ck_assert_uint_eq(opened.tensors.tensor[0].count, 1000000000);
    ck_assert_uint_lt(memory_peak() - before, 65536);
    safetensors_close(&opened);

    /* Step 3: the file was cut after it was opened. */
    succeeds(safetensors_write(in_folder("file"), list.tensor, list.count));
    succeeds(safetensors_open(&opened, in_folder("file")));
    ck_assert_int_eq(truncate(in_folder("file"), 8), 0);
    refused(safetensors_load(&opened), STATUS_FAILURE, "the file ended or failed while it was read");
    ck_assert_uint_eq(memory_in_use(), before);
    tensors_release(&list);
}
END_TEST

/* A pipe without a writer must not block, and /dev/zero has no end. */
START_TEST(what_is_no_file_is_refused)
{
    struct tensors list;
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    refused(safetensors_read(&list, in_folder("pipe")), STATUS_BAD_INPUT, "is no regular file, expected a file");
    refused(safetensors_read(&list, "/dev/zero"), STATUS_BAD_INPUT, "/dev/zero is no regular file");
    refused(safetensors_read(&list, folder), STATUS_BAD_INPUT, "is a folder, expected a file");
    refused(safetensors_read(&list, in_folder("absent")), STATUS_BAD_INPUT, "cannot be opened: No such file");
    refused(safetensors_read(&list, ""), STATUS_BAD_INPUT, "cannot be opened: No such file");
    stored("", 0);
    refused(safetensors_read(&list, in_folder("file/file")), STATUS_BAD_INPUT, "cannot be opened: Not a directory");
}
END_TEST

START_TEST(a_file_cut_off_is_refused)
{
    struct tensors list = small_list(), back;
    succeeds(safetensors_write(in_folder("whole"), list.tensor, list.count));
    struct bytes whole = contents(in_folder("whole"));
    size_t before = memory_in_use();

    for (size_t n = 0; n < whole.count; n++) {
        refused(safetensors_read(&back, stored(whole.at, n)), STATUS_BAD_INPUT, "");
        ck_assert_uint_eq(memory_in_use(), before);
    }
    succeeds(safetensors_read(&back, stored(whole.at, whole.count)));
    tensors_release(&back);
    append(&whole, "", 1);
    refused(read_bytes(&back, &whole), STATUS_BAD_INPUT, "1 bytes of data belong to no tensor");
    tensors_release(&list);
}
END_TEST

/* The inverted bit may make another name, or 2 x 3 of 3 x 2: an error, or a valid list. */
START_TEST(one_bit_turned_does_no_harm)
{
    struct tensors list = small_list(), back;
    succeeds(safetensors_write(in_folder("whole"), list.tensor, list.count));
    struct bytes b = contents(in_folder("whole"));
    size_t before = memory_in_use(), turned_away = 0;

    for (size_t bit = 0; bit < 8 * b.count; bit++) {
        b.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
        status s = read_bytes(&back, &b);
        if (!s.code) {
            consistent(&back);
            ck_assert_uint_le(memory_in_use() - before, 16384);
        } else {
            ck_assert_int_eq(s.code, STATUS_BAD_INPUT);
            ck_assert_str_ne(s.message, "");
            turned_away++;
        }
        tensors_release(&back);
        ck_assert_uint_eq(memory_in_use(), before);
        b.at[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    printf("    %zu bits turned one at a time, %zu refused\n", 8 * b.count, turned_away);
    ck_assert_uint_gt(turned_away, 0);
    tensors_release(&list);
}
END_TEST

/* ---- Writing ---- */

/* Replaces the C library's fsync: notes the sizes of the new file and of the one that has its name; fails if asked. */
static bool disk_fails;
static int synchronised;
static off_t size_then, old_size_then;

int fsync(int fd)
{
    struct stat found, old;
    synchronised++;
    size_then = fstat(fd, &found) == 0 ? found.st_size : -1;
    old_size_then = stat(in_folder("file"), &old) == 0 ? old.st_size : -1;
    if (!disk_fails) return fdatasync(fd);
    errno = EIO;
    return -1;
}

/* At the one fsync the new file has its whole size, and the old one still its name. */
START_TEST(a_new_file_is_on_the_disk_before_it_is_renamed)
{
    struct tensors list = small_list();
    const char *path = stored("old", 3);
    disk_fails = true;
    refused(safetensors_write(path, list.tensor, 2), STATUS_FAILURE, "cannot be written: Input/output error");
    ck_assert_int_eq(entries_of_folder(false), 1);
    ck_assert_uint_eq(contents(path).count, 3);
    disk_fails = false;
    synchronised = 0;
    succeeds(safetensors_write(path, list.tensor, 2));
    ck_assert_int_eq(synchronised, 1);
    ck_assert_int_eq(old_size_then, 3);
    ck_assert_int_gt(size_then, 3);
    ck_assert_uint_eq(contents(path).count, (size_t)size_then);
    ck_assert_int_eq(entries_of_folder(false), 1);
    ck_assert_int_eq(unlink(path), 0);
    tensors_release(&list);
}
END_TEST

/* No file may pass 4096 bytes.  The larger tensor fails while it is written; the smaller, behind a buffered header,
 * when the file is closed. */
START_TEST(a_failed_write_leaves_the_old_file)
{
    struct tensors list = small_list();
    struct tensor large, again[2] = {list.tensor[1], list.tensor[1]};
    const char *path = stored("old", 3);

    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, RLIM_INFINITY});
    for (int i = 0; i < 2; i++) {
        size_t n = (i == 0 ? 4040 : 100000) / sizeof(real);
        succeeds(tensor_create(&large, "large", 1, &n));
        memset(large.data, 0, n * sizeof(real));
        refused(safetensors_write(path, &large, 1), STATUS_FAILURE, "cannot be written: File too large");
        tensor_release(&large);
    }
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});

    refused(safetensors_write(path, again, 2), STATUS_BAD_INPUT, "named twice");
    again[0].name = (char[]){"__metadata__"};
    refused(safetensors_write(path, again, 2), STATUS_BAD_INPUT, "the format keeps this name for itself");
    again[0].name = (char[]){"\xff"};
    refused(safetensors_write(path, again, 2), STATUS_BAD_INPUT, "its name is not UTF-8");

    ck_assert_int_eq(entries_of_folder(false), 1);
    struct bytes old = contents(path);
    ck_assert_uint_eq(old.count, 3);
    ck_assert_mem_eq(old.at, "old", 3);
    tensors_release(&list);
}
END_TEST

/* No device is tried: as root, a failing test would replace it. */
START_TEST(what_cannot_be_written_is_refused)
{
    struct tensors list = small_list();
    const struct tensor *t = list.tensor;
    char long_name[400];

    ck_assert_int_eq(mkdir(in_folder("inner"), 0700), 0);
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    ck_assert_int_eq(symlink("nowhere", in_folder("link")), 0);
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    stored("", 0);

    refused(safetensors_write(in_folder("inner"), t, 2), STATUS_BAD_INPUT, "is a folder, expected a file");
    refused(safetensors_write(in_folder("inner/"), t, 2), STATUS_BAD_INPUT, "does not name a file");
    refused(safetensors_write(in_folder("inner/."), t, 2), STATUS_BAD_INPUT, "is a folder, expected a file");
    refused(safetensors_write(in_folder("inner/.."), t, 2), STATUS_BAD_INPUT, "is a folder, expected a file");
    refused(safetensors_write(in_folder("pipe"), t, 2), STATUS_BAD_INPUT, "is no regular file, expected a file");
    refused(safetensors_write(in_folder("link"), t, 2), STATUS_BAD_INPUT, "cannot be written: No such file");
    refused(safetensors_write(in_folder("absent/y"), t, 2), STATUS_BAD_INPUT, "cannot be written: No such file");
    refused(safetensors_write(in_folder("file/y"), t, 2), STATUS_BAD_INPUT, "cannot be written: Not a directory");
    refused(safetensors_write(in_folder(long_name), t, 2), STATUS_BAD_INPUT, "cannot be written: File name too long");
    refused(safetensors_write("", t, 2), STATUS_BAD_INPUT, "'' does not name a file");
    ck_assert_int_eq(entries_of_folder(false), 4);
    tensors_release(&list);
}
END_TEST

/* A link where the temporary file would be, left by a killed process or in malice, is not written through.  The longest
 * name works also in the working folder. */
START_TEST(the_new_file_takes_the_old_ones_place)
{
    struct tensors list = small_list(), back;
    struct stat found;
    char long_name[256], left_behind[64];

    umask(027);
    stored("old", 3);
    ck_assert_int_eq(chmod(in_folder("file"), 0600), 0);
    ck_assert_int_eq(symlink("file", in_folder("link")), 0);
    succeeds(safetensors_write(in_folder("link"), list.tensor, 2));
    ck_assert_int_eq(lstat(in_folder("link"), &found), 0);
    ck_assert(S_ISLNK(found.st_mode));
    ck_assert_int_eq(lstat(in_folder("file"), &found), 0);
    ck_assert(S_ISREG(found.st_mode));
    succeeds(safetensors_read(&back, in_folder("link")));
    ck_assert_uint_eq(back.count, 2);
    tensors_release(&back);

    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    ck_assert_int_eq(chdir(folder), 0);
    snprintf(left_behind, sizeof left_behind, ".twicetold-%ld-0", (long)getpid());
    ck_assert_int_eq(symlink("victim", left_behind), 0);
    succeeds(safetensors_write(long_name, list.tensor, 2));
    succeeds(safetensors_read(&back, in_folder(long_name)));
    tensors_release(&back);
    ck_assert_int_eq(lstat(left_behind, &found), 0);
    ck_assert_int_ne(lstat("victim", &found), 0);
    ck_assert_int_eq(entries_of_folder(false), 4);
    tensors_release(&list);
}
END_TEST

START_TEST(a_replaced_file_hands_its_permissions_on)
{
    struct tensors list = small_list();
    struct stat found;
    bool root = geteuid() == 0;

    umask(027);
    succeeds(safetensors_write(in_folder("new"), list.tensor, 2));
    ck_assert_int_eq(stat(in_folder("new"), &found), 0);
    ck_assert_uint_eq(found.st_mode & 07777, 0640);

    for (int n = 0; n < 2; n++) {
        static const mode_t mode[] = {0600, 0664};
        stored("old", 3);
        ck_assert_int_eq(chmod(in_folder("file"), mode[n]), 0);
        if (root) ck_assert_int_eq(chown(in_folder("file"), 1234, 4321), 0);
        succeeds(safetensors_write(in_folder("file"), list.tensor, 2));
        ck_assert_int_eq(stat(in_folder("file"), &found), 0);
        ck_assert_uint_eq(found.st_mode & 07777, mode[n]);
        if (root) ck_assert(found.st_uid == 1234 && found.st_gid == 4321);
        ck_assert_int_gt((int)found.st_size, 3);
        ck_assert_int_eq(unlink(in_folder("file")), 0);
    }

    stored("old", 3);
    ck_assert_int_eq(chmod(in_folder("file"), 0444), 0);
    ck_assert_int_eq(chmod(folder, 0777), 0);
    if (root) ck_assert_int_eq(seteuid(1234), 0);
    status refusal = safetensors_write(in_folder("file"), list.tensor, 2);
    if (root) ck_assert_int_eq(seteuid(0), 0);
    refused(refusal, STATUS_BAD_INPUT, "cannot be written: Permission denied");
    ck_assert_uint_eq(contents(in_folder("file")).count, 3);
    ck_assert_int_eq(entries_of_folder(false), 2);
    tensors_release(&list);
}
END_TEST

/* Files that another process has locked stay, and so do names that only look similar. */
START_TEST(what_a_killed_process_left_is_removed)
{
    static const char *const stays[] = {".twicetold-1-0", ".twicetold-12-3.txt", ".twicetold-x-1", ".twicetold-12",
                                        "twicetold-12-3", ".twicetold-7-7"};
    struct tensors list = small_list();
    for (size_t n = 0; n < COUNT(stays); n++) fclose(fopen(in_folder(stays[n]), "wb"));
    ck_assert_int_eq(unlink(in_folder(stays[5])), 0);
    ck_assert_int_eq(mkdir(in_folder(stays[5]), 0700), 0);
    int held = open(in_folder(stays[0]), O_RDONLY);
    ck_assert_int_eq(flock(held, LOCK_EX), 0);
    fclose(fopen(in_folder(".twicetold-99999-0"), "wb"));
    fclose(fopen(in_folder(".twicetold-1-17"), "wb"));

    succeeds(safetensors_write(in_folder("y"), list.tensor, 2));
    for (size_t n = 0; n < COUNT(stays); n++) ck_assert_msg(access(in_folder(stays[n]), F_OK) == 0, "%s", stays[n]);
    ck_assert_int_eq(entries_of_folder(false), (int)COUNT(stays) + 1);
    close(held);
    succeeds(safetensors_write(in_folder("y"), list.tensor, 2));
    ck_assert_int_eq(entries_of_folder(false), (int)COUNT(stays));
    rmdir(in_folder(stays[5]));
    tensors_release(&list);
}
END_TEST

START_TEST(links_to_one_file_are_one_file)
{
    const char *file = stored("", 0);
    ck_assert_int_eq(symlink("file", in_folder("soft")), 0);
    ck_assert_int_eq(link(file, in_folder("hard")), 0);
    ck_assert_int_eq(symlink(".", in_folder("here")), 0);
    fclose(fopen(in_folder("other"), "wb"));
    file = in_folder("file");

    ck_assert(same_file(file, file));
    ck_assert(same_file(file, in_folder("soft")));
    ck_assert(same_file(in_folder("soft"), file));
    ck_assert(same_file(file, in_folder("hard")));
    ck_assert(same_file(file, in_folder("here/./hard")));
    ck_assert(same_file("absent", "absent"));
    ck_assert(!same_file(in_folder("file"), in_folder("other")));
    ck_assert(!same_file(in_folder("file"), in_folder("absent")));
    ck_assert(!same_file("absent", "absent, too"));
}
END_TEST

/* ---- Lack of memory ---- */

/* cJSON's malloc: `left` requests succeed. */
static long left;

static void *scarce(size_t size)
{
    if (left == 0) {
        errno = ENOMEM;
        return NULL;
    }
    left--;
    return malloc(size);
}

static status read_small(void)
{
    struct tensors back = {.count = 77};
    status s = safetensors_read(&back, in_folder("file"));
    if (!s.code) ck_assert_uint_eq(back.count, 2);
    else ck_assert(back.count == 0 && !back.tensor);
    tensors_release(&back);
    return s;
}

static struct tensors to_write;

static status write_small(void)
{
    return safetensors_write(in_folder("file"), to_write.tensor, to_write.count);
}

/* The leak sanitizer counts what cJSON does not free. */
START_TEST(any_request_for_memory_may_fail)
{
    status (*const runs[])(void) = {write_small, read_small};
    const char *const names[] = {"write", "read"};

    to_write = small_list();
    succeeds(write_small());
    for (int r = 0; r < 2; r++) {
        size_t before = memory_in_use();
        for (int theirs = 0; theirs < 2; theirs++) {
            status s = {.code = STATUS_FAILURE};
            long n = 0;
            for (; s.code; n++) {
                ck_assert_int_lt(n, 1000);
                left = n;
                if (theirs) cJSON_InitHooks(&(cJSON_Hooks){scarce, free});
                else memory_fail_after(n);
                s = runs[r]();
                memory_fail_after(-1);
                cJSON_InitHooks(NULL);
                ck_assert_msg(!s.code || s.code == STATUS_FAILURE, "%s", s.message);
                if (s.code) ck_assert_ptr_nonnull(strstr(s.message, "not enough memory"));
                ck_assert_uint_eq(memory_in_use(), before);
                ck_assert_int_eq(entries_of_folder(false), 1);
            }
            printf("    %s: each of %ld requests %s failed once\n", names[r], n - 1, theirs ? "of cJSON" : "of ours");
            ck_assert_int_gt(n, 3);
        }
    }
    tensors_release(&to_write);
}
END_TEST

static TCase *add_folder_case(Suite *suite, const char *name)
{
    TCase *c = add_case(suite, name);
    tcase_add_unchecked_fixture(c, make_folder, remove_folder);
    return c;
}

int main(void)
{
    Suite *suite = suite_create("safetensors");
    TCase *c;

    c = add_folder_case(suite, "what comes back");
    tcase_add_test(c, written_tensors_come_back);
    tcase_add_test(c, the_file_is_what_the_format_says);
    tcase_add_test(c, either_precision_is_converted);
    tcase_add_test(c, doubles_are_read_from_the_middle);
    tcase_add_test(c, tensors_beyond_4_gib_are_read);
    tcase_add_loop_test(c, what_the_format_allows_is_read, 0, COUNT(accepted));

    c = add_folder_case(suite, "what is turned away");
    tcase_add_loop_test(c, what_the_header_says_wrongly_is_refused, 0, COUNT(hostile));
    tcase_add_loop_test(c, what_is_no_header_is_refused, 0, COUNT(misshapen));
    tcase_add_test(c, a_header_beyond_the_limit_is_refused);
    tcase_add_test(c, a_file_is_opened_before_its_data_are_read);
    tcase_add_test(c, what_is_no_file_is_refused);
    tcase_add_test(c, a_file_cut_off_is_refused);
    tcase_add_test(c, one_bit_turned_does_no_harm);

    c = add_folder_case(suite, "what is written");
    tcase_add_test(c, a_new_file_is_on_the_disk_before_it_is_renamed);
    tcase_add_test(c, a_failed_write_leaves_the_old_file);
    c = add_folder_case(suite, "where nothing can be written");
    tcase_add_test(c, what_cannot_be_written_is_refused);
    c = add_folder_case(suite, "the new file");
    tcase_add_test(c, the_new_file_takes_the_old_ones_place);
    c = add_folder_case(suite, "an old file's permissions");
    tcase_add_test(c, a_replaced_file_hands_its_permissions_on);
    c = add_folder_case(suite, "what was left");
    tcase_add_test(c, what_a_killed_process_left_is_removed);
    c = add_folder_case(suite, "one file by two names");
    tcase_add_test(c, links_to_one_file_are_one_file);
    c = add_folder_case(suite, "when memory is out");
    tcase_add_test(c, any_request_for_memory_may_fail);
    return run_suite(suite);
}
