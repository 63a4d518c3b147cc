/* folder.h -- a temporary working folder for test cases that write files
 *
 * Each test starts in an empty folder; the end of the test case removes it, even after a crash. */

#pragma once
#include <dirent.h>
#include <png.h>
#include <unistd.h>
#include "support.h"
#include "../../reference/io/images.h"

static char folder_path[1024];

/* The number of files in the folder; may remove them. */
static inline int folder_files(bool and_remove)
{
    int count = 0;
    DIR *entries = opendir(".");
    ck_assert_ptr_nonnull(entries);
    for (struct dirent *e; (e = readdir(entries));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        count++;
        if (and_remove) remove(e->d_name);
    }
    closedir(entries);
    return count;
}

static inline void folder_make(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder_path, sizeof folder_path, "%s/twicetold-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    ck_assert(mkdtemp(folder_path) && chdir(folder_path) == 0);
}

static inline void folder_empty(void) { folder_files(true); }

static inline void folder_remove(void)
{
    folder_empty();
    ck_assert(chdir("/") == 0 && rmdir(folder_path) == 0);
}

static inline TCase *add_folder_case(Suite *suite, const char *name)
{
    TCase *c = add_case(suite, name);
    tcase_add_unchecked_fixture(c, folder_make, folder_remove);
    tcase_add_checked_fixture(c, folder_empty, NULL);
    return c;
}

static inline void file_write(const char *path, const void *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, count, f), count);
    ck_assert_int_eq(fclose(f), 0);
}

/* Writes an 8-bit PNG: grey (1 channel) or RGB (3). */
static inline void png_write(const char *path, const struct image *im)
{
    png_image png = {.version = PNG_IMAGE_VERSION, .width = (png_uint_32)im->columns, .height = (png_uint_32)im->rows,
                     .format = im->channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY};
    size_t count = im->rows * im->columns * im->channels;
    unsigned char *bytes = malloc(count);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)(255 * im->pixels[i] + (real)0.5);
    ck_assert(png_image_write_to_file(&png, path, 0, bytes, 0, NULL));
    free(bytes);
}

static inline size_t file_read(const char *path, void *bytes, size_t most)
{
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    size_t count = fread(bytes, 1, most, f);
    ck_assert_int_eq(getc(f), EOF);
    ck_assert_int_eq(fclose(f), 0);
    return count;
}
