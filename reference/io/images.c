/* images.c -- read IDX, PNG and JPEG, scale; see images.h */

#define _POSIX_C_SOURCE 200809L

#include "images.h"
#include <errno.h>
#include <fcntl.h>
#include <png.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tgmath.h>
#include <unistd.h>
#include <zlib.h>
#include "../runtime/bytes.h"
#include "atomic_file.h"
#ifdef TWICETOLD_JPEG
#include <jpeglib.h>
#include <jerror.h>
#endif

#define HEADER 16               /* bytes of an IDX header with three axes */
#define CHUNK 4096              /* bytes read at a time */

status image_create(struct image *im, size_t rows, size_t columns, size_t channels)
{
    *im = (struct image){rows, columns, channels, NULL};
    if (rows == 0 || columns == 0 || channels == 0)
        return bad_input("image of %zu x %zu pixels and %zu channels, expected at least 1 of each",
                         rows, columns, channels);
    im->pixels = memory_reals(rows, columns, channels, 1);
    return im->pixels ? status_ok() : out_of_memory("an image");
}

void image_release(struct image *im)
{
    memory_free(im->pixels);
    im->pixels = NULL;
}

/* *descriptor = a regular file, open for reading.  Without O_NONBLOCK, opening a pipe would wait for its writer. */
static status open_regular(int *descriptor, const char *path)
{
    struct stat about;
    *descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (*descriptor < 0) return bad_input("cannot be opened: %s", strerror(errno));
    if (fstat(*descriptor, &about) == 0 && S_ISREG(about.st_mode)) return status_ok();
    close(*descriptor);
    return bad_input("is not a regular file");
}

/* ------------------------------------------------------------------ IDX */

/* Read up to `count` bytes; *got = how many there were. */
static status read_bytes(gzFile stream, unsigned char *bytes, unsigned count, unsigned *got)
{
    int error, n = gzread(stream, bytes, count);
    const char *why = gzerror(stream, &error);
    *got = n < 0 ? 0 : (unsigned)n;
    if (n >= 0 && (error == Z_OK || error == Z_STREAM_END)) return status_ok();
    if (error == Z_ERRNO) return failure("cannot be read: %s", strerror(errno));
    if (error == Z_MEM_ERROR) return out_of_memory("zlib");
    return bad_input("is broken gzip (%s)", why);
}

static size_t big_endian(const unsigned char *b)
{
    return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

/* The name of another image format that begins with these 16 bytes, or NULL. */
static const char *other_format(const unsigned char *header)
{
    static const struct { size_t at; const char *bytes, *name; } formats[] = {
        {0, "GIF8", "a GIF image"}, {0, "BM", "a BMP image"}, {8, "WEBP", "a WebP image"},
        {0, "II*", "a TIFF image"}, {0, "MM", "a TIFF image"}, {4, "ftyp", "a HEIF image"},
    };
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        if (!memcmp(header + formats[f].at, formats[f].bytes, strlen(formats[f].bytes))) return formats[f].name;
    return NULL;
}

static status check_header(struct image_set *set, const unsigned char *header)
{
    const char *other = other_format(header);
    if (other) return bad_input("is %s, expected PNG, JPEG or IDX: convert it to PNG first", other);
    if (header[0] != 0 || header[1] != 0)
        return bad_input("begins with 0x%02x%02x, expected a PNG, a JPEG, or 0x0000 as in IDX", header[0], header[1]);
    if (header[2] != 0x08)
        return bad_input("holds IDX elements of type 0x%02x, expected 0x08 (unsigned bytes)", header[2]);
    if (header[3] != 3)
        return bad_input("holds an IDX array of %d axes, expected 3 (images, rows, columns)", header[3]);

    /* Sizes below 2^32: the product of two fits 64 bits. */
    unsigned long long count = big_endian(header + 4), rows = big_endian(header + 8), columns = big_endian(header + 12);
    if (count == 0 || rows == 0 || columns == 0)
        return bad_input("states %llu images of %llu x %llu pixels, expected at least 1 of each", count, rows, columns);
    if (rows * columns > IMAGE_PIXELS_MAX || count > IMAGE_SET_BYTES_MAX / (rows * columns))
        return bad_input("states %llu images of %llu x %llu pixels, expected at most %zu pixels and %zu in all",
                         count, rows, columns, IMAGE_PIXELS_MAX, IMAGE_SET_BYTES_MAX);
    set->count = (size_t)count;
    set->rows = (size_t)rows;
    set->columns = (size_t)columns;
    return status_ok();
}

/* Read the whole file: the header, as many bytes as it states, the end. */
static status check_set(struct image_set *set)
{
    unsigned char bytes[CHUNK];
    unsigned got;
    status s = read_bytes(set->stream, bytes, HEADER, &got);
    if (s.code) return s;
    if (got < HEADER) return bad_input("ends after %u bytes, expected an IDX header of %d", got, HEADER);
    s = check_header(set, bytes);
    if (s.code) return s;

    size_t expected = set->count * set->rows * set->columns, seen = 0;
    do {
        s = read_bytes(set->stream, bytes, CHUNK, &got);
        if (s.code) return s;
        seen += got;
    } while (got > 0 && seen <= expected);
    if (seen > expected)
        return bad_input("goes on after the %zu bytes of its %zu images", expected, set->count);
    if (seen < expected)
        return bad_input("holds %zu bytes of pixels, expected %zu for %zu images of %zu x %zu",
                         seen, expected, set->count, set->rows, set->columns);
    return status_ok();
}

status image_set_open(struct image_set *set, const char *path)
{
    int descriptor;
    *set = (struct image_set){0};
    status s = open_regular(&descriptor, path);
    if (s.code) return status_at(s, path);
    set->stream = gzdopen(descriptor, "rb");
    if (!set->stream) {
        close(descriptor);
        return out_of_memory("zlib");
    }
    s = check_set(set);
    if (s.code) image_set_close(set);
    return status_at(s, path);
}

status image_set_read(real *pixels, struct image_set *set, size_t first, size_t count)
{
    if (first > set->count || count > set->count - first)
        return bad_input("images %zu and %zu more asked for, the file has %zu", first, count, set->count);
    size_t size = set->rows * set->columns, wanted = count * size;
    unsigned char bytes[CHUNK];

    if (gzseek(set->stream, (z_off_t)(HEADER + first * size), SEEK_SET) < 0)
        return failure("image %zu cannot be reached in its file", first);
    for (size_t at = 0; at < wanted;) {
        unsigned got, next = wanted - at < CHUNK ? (unsigned)(wanted - at) : CHUNK;
        status s = read_bytes(set->stream, bytes, next, &got);
        if (s.code) return s;
        if (got < next) return bad_input("an image file became shorter while it was read");
        for (unsigned i = 0; i < next; i++) pixels[at + i] = (real)bytes[i] / 255;
        at += next;
    }
    return status_ok();
}

void image_set_close(struct image_set *set)
{
    if (set->stream) gzclose_r(set->stream);
    *set = (struct image_set){0};
}

/* ------------------------------------------------------------------ PNG */

/* A PNG file that is being read.  libpng returns from an error by longjmp, which loses the local variables that changed
 * after setjmp: so the state is here. */
struct png_reading {
    png_structp png;
    png_infop info;
    unsigned char *bytes;               /* [rows][columns][samples] */
    size_t rows, columns, samples;      /* grey, grey and alpha, RGB, or RGB and alpha */
    const char *what;                   /* our words for an error at this point */
    char message[100];                  /* libpng's own words */
};

static void png_failed(png_structp png, png_const_charp message)
{
    struct png_reading *r = png_get_error_ptr(png);
    snprintf(r->message, sizeof r->message, "%s", message);
    png_longjmp(png, 1);
}

/* A warning is about a chunk that is not used. */
static void png_warned(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* The error that libpng reported.  Only its words distinguish a broken file from lack of memory. */
static status png_rejected(const struct png_reading *r)
{
    static const char *const memory[] = {"ut of memory", "ut of Memory", "nsufficient memory", "llocation failed"};
    for (size_t m = 0; m < sizeof memory / sizeof *memory; m++)
        if (strstr(r->message, memory[m])) return out_of_memory("libpng");
    return bad_input("%s (%s)", r->what, r->message);
}

/* Pixels from bytes; alpha is a factor on the file's own scale, rounded to a byte. */
static void png_pixels(struct image *im, const struct png_reading *r)
{
    bool alpha = r->samples > im->channels;
    for (size_t i = 0; i < r->rows * r->columns; i++) {
        const unsigned char *from = r->bytes + i * r->samples;
        unsigned opacity = alpha ? from[im->channels] : 255;
        for (size_t c = 0; c < im->channels; c++)
            im->pixels[i * im->channels + c] = (real)((from[c] * opacity + 127) / 255) / 255;
    }
}

/* The image in a file; the caller releases what r holds.  Only IHDR, PLTE, tRNS and IDAT are used. */
static status decode_png(struct image *im, struct png_reading *r, FILE *file)
{
    r->what = "is not a PNG";
    if (setjmp(png_jmpbuf(r->png))) return png_rejected(r);

    /* The header, before memory is allocated for the sizes that it states. */
    png_init_io(r->png, file);
    png_set_benign_errors(r->png, 1);
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_read_info(r->png, r->info);
    r->rows = png_get_image_height(r->png, r->info);
    r->columns = png_get_image_width(r->png, r->info);
    if (r->rows == 0 || r->columns == 0 || r->rows > IMAGE_PIXELS_MAX / r->columns)
        return bad_input("states %zu x %zu pixels, expected at most %zu in all", r->rows, r->columns, IMAGE_PIXELS_MAX);

    /* Ask for bytes: palettes looked up, 1, 2 and 4 bits expanded, 16 rounded, tRNS as alpha. */
    r->what = "is a broken PNG";
    png_set_expand(r->png);
    png_set_scale_16(r->png);
    (void)png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    r->samples = png_get_channels(r->png, r->info);
    r->bytes = memory_get(r->rows * r->columns, r->samples);
    if (!r->bytes) return out_of_memory("a PNG image");

    /* Each pass of an interlaced image adds its pixels to the rows of the passes before. */
    for (int pass = png_get_interlace_type(r->png, r->info) == PNG_INTERLACE_NONE ? 1 : 7; pass > 0; pass--)
        for (size_t y = 0; y < r->rows; y++) png_read_row(r->png, r->bytes + y * r->columns * r->samples, NULL);
    status s = image_create(im, r->rows, r->columns, r->samples < 3 ? 1 : 3);
    if (!s.code) png_pixels(im, r);
    return s;
}

static status read_png(struct image *im, FILE *file)
{
    struct png_reading r = {0};
    r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, png_failed, png_warned);
    r.info = r.png ? png_create_info_struct(r.png) : NULL;
    status s = r.info ? decode_png(im, &r, file) : out_of_memory("libpng");
    png_destroy_read_struct(&r.png, &r.info, NULL);
    memory_free(r.bytes);
    return s;
}

/* ----------------------------------------------------------------- JPEG */

#ifdef TWICETOLD_JPEG
/* A JPEG file that is being read.  As with libpng, an error returns by longjmp; so the state is here. */
struct jpeg_reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    jmp_buf failed;
};

static _Noreturn void jpeg_failed(j_common_ptr jpeg)
{
    longjmp(((struct jpeg_reading *)jpeg->client_data)->failed, 1);
}

/* A warning (level -1) is about damaged data.  Only bytes between segments, which some cameras leave, are harmless. */
static void jpeg_warned(j_common_ptr jpeg, int level)
{
    if (level < 0 && jpeg->err->msg_code != JWRN_EXTRANEOUS_DATA) jpeg_failed(jpeg);
}

static status decode_jpeg(struct image *im, struct jpeg_reading *r, FILE *file)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    jpeg->err = jpeg_std_error(&r->errors);
    jpeg->client_data = r;
    r->errors.error_exit = jpeg_failed;
    r->errors.emit_message = jpeg_warned;
    if (setjmp(r->failed)) {
        char message[JMSG_LENGTH_MAX];
        if (r->errors.msg_code == JERR_OUT_OF_MEMORY) return out_of_memory("libjpeg");
        r->errors.format_message((j_common_ptr)jpeg, message);
        return bad_input("cannot be read as a JPEG (%.100s)", message);
    }
    jpeg_create_decompress(jpeg);
    jpeg_stdio_src(jpeg, file);
    (void)jpeg_read_header(jpeg, TRUE);

    /* The image first: it limits the sizes for which libjpeg allocates. */
    size_t rows = jpeg->image_height, columns = jpeg->image_width;
    if (rows > IMAGE_PIXELS_MAX / columns)
        return bad_input("states %zu x %zu pixels, expected at most %zu in all", rows, columns, IMAGE_PIXELS_MAX);
    bool grey = jpeg->jpeg_color_space == JCS_GRAYSCALE;
    if (!grey && jpeg->jpeg_color_space != JCS_YCbCr && jpeg->jpeg_color_space != JCS_RGB)
        return bad_input("has %d channels (CMYK has 4), expected grey or RGB: convert it", jpeg->num_components);
    status s = image_create(im, rows, columns, grey ? 1 : 3);
    if (s.code) return s;
    size_t width = columns * im->channels;
    JSAMPARRAY row = jpeg->mem->alloc_sarray((j_common_ptr)jpeg, JPOOL_IMAGE, (JDIMENSION)width, 1);

    jpeg->out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
    (void)jpeg_start_decompress(jpeg);
    for (size_t y = 0; y < rows; y++) {
        (void)jpeg_read_scanlines(jpeg, row, 1);
        for (size_t i = 0; i < width; i++) im->pixels[y * width + i] = (real)row[0][i] / 255;
    }
    (void)jpeg_finish_decompress(jpeg);
    return s;
}

static status read_jpeg(struct image *im, FILE *file)
{
    struct jpeg_reading r = {0};
    status s = decode_jpeg(im, &r, file);
    jpeg_destroy_decompress(&r.jpeg);
    if (s.code) image_release(im);
    return s;
}
#else
#define read_jpeg(im, file) bad_input("is a JPEG image, and this build has no libjpeg: convert it to PNG, or " \
                                      "install libjpeg ('make deps') and build again")
#endif

/* ------------------------------------------------------------- pictures */

static enum { OTHER, PNG, JPEG } format_of(int descriptor)
{
    unsigned char begin[8] = {0};
    if (pread(descriptor, begin, sizeof begin, 0) < 3) return OTHER;
    return memcmp(begin, "\xff\xd8\xff", 3) == 0 ? JPEG : png_sig_cmp(begin, 0, sizeof begin) == 0 ? PNG : OTHER;
}

status image_is_picture(bool *picture, const char *path)
{
    int descriptor;
    status s = open_regular(&descriptor, path);
    if (s.code) return status_at(s, path);
    *picture = format_of(descriptor) != OTHER;
    close(descriptor);
    return status_ok();
}

status image_read_picture(struct image *im, const char *path)
{
    int descriptor;
    *im = (struct image){0};
    status s = open_regular(&descriptor, path);
    if (s.code) return status_at(s, path);
    FILE *file = fdopen(descriptor, "rb");
    if (!file) {
        close(descriptor);
        return out_of_memory("a file");
    }
    s = format_of(descriptor) == JPEG ? read_jpeg(im, file) : read_png(im, file);
    fclose(file);
    return status_at(s, path);
}

/* -------------------------------------------------------------- scaling */

/* The pixels of one source axis that a tent around `centre` covers. */
struct span {
    size_t begin, end, nearest;
    double centre, radius;
};

static struct span span_under(size_t i, size_t to, size_t from, double scale)
{
    double centre = ((double)i + 0.5 - (double)to / 2) / scale + (double)from / 2 - 0.5;
    double radius = scale < 1 ? 1 / scale : 1, last = (double)from - 1;
    return (struct span){
        .begin = (size_t)fmax(ceil(centre - radius), 0),
        .end = (size_t)fmin(floor(centre + radius), last) + 1,
        .nearest = (size_t)fmin(fmax(floor(centre + 0.5), 0), last),
        .centre = centre,
        .radius = radius,
    };
}

static double tent(struct span s, size_t j)
{
    double height = 1 - fabs((double)j - s.centre) / s.radius;
    return height > 0 ? height : 0;
}

/* One pixel of im is down_by pixels of fitted along a column, and across_by along a row. */
static status scale_by(struct image *fitted, const struct image *im, size_t rows, size_t columns, double down_by,
                       double across_by)
{
    size_t channels = im->channels;
    status s = image_create(fitted, rows, columns, channels);
    if (s.code) return s;

    #pragma omp parallel for num_threads(default_threads())
    for (size_t y = 0; y < rows; y++)
    for (size_t x = 0; x < columns; x++) {
        struct span down = span_under(y, rows, im->rows, down_by);
        struct span across = span_under(x, columns, im->columns, across_by);
        for (size_t c = 0; c < channels; c++) {
            /* The nearest pixel plus the mean difference from it: a constant image stays exactly constant. */
            double nearest = (double)im->pixels[(down.nearest * im->columns + across.nearest) * channels + c];
            double sum = 0, weights = 0;
            for (size_t j = down.begin; j < down.end; j++)
            for (size_t k = across.begin; k < across.end; k++) {
                double w = tent(down, j) * tent(across, k);
                sum += w * ((double)im->pixels[(j * im->columns + k) * channels + c] - nearest);
                weights += w;
            }
            fitted->pixels[(y * columns + x) * channels + c] = (real)(nearest + sum / weights);
        }
    }
    return status_ok();
}

status image_fit(struct image *fitted, const struct image *im, size_t rows, size_t columns)
{
    double scale = fmax((double)rows / (double)im->rows, (double)columns / (double)im->columns);
    return scale_by(fitted, im, rows, columns, scale, scale);
}

status image_stretch(struct image *fitted, const struct image *im, size_t rows, size_t columns)
{
    return scale_by(fitted, im, rows, columns, (double)rows / (double)im->rows, (double)columns / (double)im->columns);
}
