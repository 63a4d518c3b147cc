/* test_safetensors.c -- safetensors files: the C interface, damaged files; test_tensor_files.py tests the format */

#define _XOPEN_SOURCE 700       /* mkdtemp, truncate, fseeko */

#include <errno.h>
#include "../support/folder.h"
#include "../../reference/io/safetensors.h"

#ifdef TWICETOLD_DOUBLE
#define DTYPE "F64"
#else
#define DTYPE "F32"
#endif

static void add(struct tensors *list, const char *name, int axes, const size_t *size)
{
    succeeds(tensor_create(&list->tensor[list->count++], name, axes, size));
}

/* Two tensors: a name with escapes, and one in UTF-8. */
static struct tensors small_list(void)
{
    struct tensors list = {.tensor = memory_get(2, sizeof *list.tensor)};
    ck_assert_ptr_nonnull(list.tensor);
    add(&list, "a \"quoted\" \\ word\n\n", 2, (size_t[]){2, 3});
    add(&list, "\xce\xbb", 0, NULL);
    for (int i = 0; i < 6; i++) list.tensor[0].data[i] = (real)(i - 2);
    list.tensor[1].data[0] = (real)0.1;
    return list;
}

/* ---- Reading what was written ---- */

/* Writes and reads a file.  Once opened, it has equal names and shapes; once loaded, equal bits. */
static void round_trip(const struct tensors *list)
{
    struct safetensors opened;
    size_t before = memory_in_use();
    succeeds(safetensors_write("file", list->tensor, list->count));
    succeeds(safetensors_open(&opened, "file"));
    ck_assert_uint_eq(opened.tensors.count, list->count);
    for (int loaded = 0; loaded < 2; loaded++) {
        if (loaded) succeeds(safetensors_load(&opened));
        for (size_t i = 0; i < list->count; i++) {
            const struct tensor *a = &list->tensor[i], *b = &opened.tensors.tensor[i];
            ck_assert_str_eq(a->name, b->name);
            ck_assert(a->axes == b->axes && a->count == b->count && !memcmp(a->size, b->size, sizeof a->size));
            if (loaded) ck_assert_mem_eq(a->data, b->data, a->count * sizeof(real));
            else ck_assert_ptr_null(b->data);
        }
    }
    safetensors_close(&opened);
    safetensors_close(&opened);
    ck_assert_uint_eq(memory_in_use(), before);
}

/* Unusual names, 0 to 8 axes, a NaN with a payload; no tensor; a tensor longer than any buffer. */
TEST(written_tensors_come_back)
{
    static const char *const names[] = {
        "x", "", "with space", "\"", "\\u0041", "\xf0\x9f\x90\xa6 and \xe2\x88\x91", "tab\tbell\x07 delete\x7f",
        "__metadata", "a name of the length of a path: ........................................................",
    };
    static const size_t size[8] = {2, 1, 3, 2, 1, 5, 2, 3}, many = 100003;
    const real extremes[] = {(real)NAN, -(real)INFINITY, -(real)0.0, REAL_EPSILON * REAL_EPSILON};
    struct tensors list = {.tensor = memory_get(COUNT(names), sizeof *list.tensor)};
    for (size_t i = 0; i < COUNT(names); i++) {
        add(&list, names[i], (int)(i + 4) % 9, size);
        struct tensor *t = &list.tensor[i];
        memcpy(t->data, normal(i, t->count), t->count * sizeof(real));
        t->data[0] = extremes[i % 4];
    }
    ((unsigned char *)list.tensor[0].data)[sizeof(real) == 8 ? 0 : 1] ^= 0x2a;
    round_trip(&list);
    tensors_release(&list);

    round_trip(&(struct tensors){0});
    struct tensor long_one;
    succeeds(tensor_create(&long_one, "long", 1, &many));
    for (size_t i = 0; i < many; i++) long_one.data[i] = (real)i;
    round_trip(&(struct tensors){1, &long_one});
    tensor_release(&long_one);
}

TEST(names_are_escaped_and_checked)
{
    static const char *const wrong[][2] = {
        {"\xce\xbb", "named twice"}, {"__metadata__", "the format keeps this name for itself"},
        {"\xff", "its name is not UTF-8"},
    };
    struct tensors list = small_list();
    struct tensor again[2] = {list.tensor[1], list.tensor[1]};
    size_t w = sizeof(real);
    char header[512], file[512] = "";
    int length = snprintf(header, sizeof header,
        "{\"a \\\"quoted\\\" \\\\ word\\n\\n\":{\"dtype\":\"" DTYPE "\",\"shape\":[2, 3],\"data_offsets\":[0, %zu]},"
        "\"\xce\xbb\":{\"dtype\":\"" DTYPE "\",\"shape\":[],\"data_offsets\":[%zu, %zu]}}%7s", 6 * w, 6 * w, 7 * w, "");
    size_t padded = (size_t)length / 8 * 8;
    succeeds(safetensors_write("file", list.tensor, list.count));
    ck_assert_uint_eq(file_read("file", file, sizeof file), 8 + padded + 7 * w);
    ck_assert_mem_eq(file, ((char[]){(char)padded, 0, 0, 0, 0, 0, 0, 0}), 8);
    ck_assert_mem_eq(file + 8, header, padded);
    for (size_t n = 0; n < COUNT(wrong); n++) {
        again[0].name = (char *)wrong[n][0];
        rejected(safetensors_write("file", again, 2), STATUS_BAD_INPUT, wrong[n][1]);
    }
    ck_assert_int_eq(folder_files(false), 1);
    tensors_release(&list);
}

/* ---- Reading without loading ---- */

/* Two tensors of 2 GiB are holes in the file.  Only the three others are loaded. */
TEST(tensors_beyond_4_gib_are_read)
{
    static const struct { off_t at; size_t width, count; double value[4]; const char *bytes; } expected[] = {
        {2147483648, 8, 3, {1.5, -2.5, 3}, "\0\0\0\0\0\0\xf8\x3f" "\0\0\0\0\0\0\4\xc0" "\0\0\0\0\0\0\x08\x40"},
        {4294967320, 4, 4, {0.5, 7, -8, 9}, "\0\0\0\x3f" "\0\0\xe0\x40" "\0\0\0\xc1" "\0\0\x10\x41"},
        {4294967336, 8, 2, {11, -12.25}, "\0\0\0\0\0\0\x26\x40" "\0\0\0\0\0\x80\x28\xc0"},
    };
    static const char header[] = "\x70\x01\0\0\0\0\0\0"
        "{\"p\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[2147483648,2147483672]},"
        "\"q\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[4294967320,4294967336]},"
        "\"r\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[4294967336,4294967352]},"
        "\"hole\":{\"dtype\":\"F32\",\"shape\":[536870912],\"data_offsets\":[0,2147483648]},"
        "\"gap\":{\"dtype\":\"F32\",\"shape\":[536870912],\"data_offsets\":[2147483672,4294967320]}}";
    size_t before = memory_in_use();
    struct safetensors opened;
    double values[4];
    memory_reset_peak();
    file_write("file", header, sizeof header - 1);
    FILE *f = fopen("file", "r+b");
    ck_assert_ptr_nonnull(f);
    bool written = true;
    for (size_t t = 0; t < COUNT(expected); t++) {
        written = written && fseeko(f, (off_t)sizeof header - 1 + expected[t].at, SEEK_SET) == 0;
        fwrite(expected[t].bytes, expected[t].width, expected[t].count, f);
    }
    written = !ferror(f) && written;
    if (fclose(f) != 0 || !written) {
        printf("skipped: no file of 4 GiB can be written\n");
        return;
    }

    succeeds(safetensors_open(&opened, "file"));
    ck_assert_uint_eq(opened.tensors.count, 5);
    ck_assert_uint_lt(memory_peak() - before, 65536);
    for (size_t t = 0; t < COUNT(expected); t++)
        for (size_t first = 0; first < expected[t].count; first++) {
            size_t count = expected[t].count - first;
            ck_assert_uint_eq(safetensors_width(&opened, t), expected[t].width);
            succeeds(safetensors_doubles(values, &opened, t, first, count));
            for (size_t i = 0; i < count; i++) ck_assert(values[i] == expected[t].value[first + i]);
        }
    succeeds(safetensors_doubles(values, &opened, 4, 536870911, 1));
    ck_assert(values[0] == 0);
    opened.tensors.count = 3;
    succeeds(safetensors_load(&opened));
    for (size_t t = 0; t < COUNT(expected); t++)
        for (size_t i = 0; i < expected[t].count; i++)
            ck_assert(opened.tensors.tensor[t].data[i] == (real)expected[t].value[i]);
    opened.tensors.count = 5;
    safetensors_close(&opened);
    ck_assert_uint_eq(memory_in_use(), before);
}

/* ---- Invalid files ---- */

static void is_rejected(const void *bytes, size_t count, off_t more)
{
    struct tensors list = {.count = 77};
    size_t before = memory_in_use();
    file_write("file", bytes, count);
    ck_assert(!more || truncate("file", (off_t)count + more) == 0);
    memory_reset_peak();
    rejected(safetensors_read(&list, "file"), STATUS_BAD_INPUT, "");
    ck_assert_uint_lt(memory_peak() - before, 65536);
    ck_assert(list.count == 0 && !list.tensor && memory_in_use() == before);
}

/* A truncated file and a header that claims too much are errors and take no memory; test_fuzz.c inverts each bit. */
TEST(damaged_files_do_no_harm)
{
    static const struct { const char *bytes; off_t data; } claims[] = {
        {"\x3f\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"F32\",\"shape\":[1000000000],\"data_offsets\":[0,8]}}", 8},
        {"\1\xe1\xf5\5\0\0\0\0{}", 200000000},
        {"\xfa\xff\xff\xff\xff\xff\xff\xff{}", 0},
    };
    struct tensors list = small_list();
    struct safetensors opened;
    unsigned char bytes[512] = {0};
    size_t before = memory_in_use();
    succeeds(safetensors_write("file", list.tensor, list.count));
    succeeds(safetensors_open(&opened, "file"));
    size_t whole = file_read("file", bytes, sizeof bytes - 1);
    ck_assert_int_eq(truncate("file", 8), 0);
    rejected(safetensors_load(&opened), STATUS_FAILURE, "the file ended or failed while it was read");
    ck_assert_uint_eq(memory_in_use(), before);
    tensors_release(&list);

    for (size_t n = 0; n < COUNT(claims); n++)
        is_rejected(claims[n].bytes, 8 + strlen(claims[n].bytes + 8), claims[n].data);
    for (size_t n = 0; n <= whole + 1; n++)
        if (n != whole) is_rejected(bytes, n, 0);
}

/* ---- Writing ---- */

/* Replaces the C library's fsync. */
static bool disk_fails;

int fsync(int fd)
{
    if (!disk_fails) return fdatasync(fd);
    errno = EIO;
    return -1;
}

/* If fsync fails, the old file stays.  an_interrupted_command_leaves_no_file tests that all data are written before. */
TEST(a_new_file_is_flushed_before_it_is_renamed)
{
    struct tensors list = small_list();
    char bytes[3];
    file_write("file", "old", 3);
    disk_fails = true;
    rejected(safetensors_write("file", list.tensor, 2), STATUS_FAILURE, "cannot be written: Input/output error");
    disk_fails = false;
    ck_assert_int_eq(folder_files(false), 1);
    ck_assert_uint_eq(file_read("file", bytes, sizeof bytes), 3);
    ck_assert_mem_eq(bytes, "old", 3);
    tensors_release(&list);
}

int main(void)
{
    Suite *suite = suite_create("safetensors");
    add_tests(add_folder_case(suite, "safetensors"));
    return run_suite(suite);
}
