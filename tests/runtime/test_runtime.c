/* test_runtime.c -- memory, statuses, units, tensors, grids, windows, random numbers, plain steps */

#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <unistd.h>
#include "../support/support.h"
#include "../../reference/runtime/bytes.h"
#include "../../reference/runtime/grid.h"
#include "../../reference/cli/units.h"
#include "../../reference/runtime/random.h"
#include "../../reference/runtime/steps.h"
#include "../../reference/runtime/tensor.h"
#include "../../reference/runtime/windows.h"

/* Sizes that overflow are rejected; memory is aligned to 64 bytes and counted in whole lines. */
TEST(memory_is_checked_aligned_and_counted)
{
    size_t product = 7, before = memory_in_use();
    ck_assert(!size_multiply(&product, SIZE_MAX / 2, 4));
    ck_assert_uint_eq(product, 7);
    ck_assert(size_multiply(&product, 0, SIZE_MAX));
    ck_assert_uint_eq(product, 0);
    ck_assert_ptr_null(memory_get(SIZE_MAX / 2, 4));
    ck_assert_ptr_null(memory_get(SIZE_MAX, 1));
    ck_assert_ptr_null(memory_reals(SIZE_MAX / 8, 3, 5, 7));

    memory_reset_peak();
    real *a = memory_reals(3, 5, 1, 1), *b = memory_get(100, 1);
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_nonnull(b);
    ck_assert_uint_eq((uintptr_t)a % 64, 0);
    ck_assert_uint_eq((uintptr_t)b % 64, 0);
    size_t lines = (15 * sizeof(real) + 63) / 64 * 64 + 128;
    ck_assert_uint_eq(memory_in_use() - before, lines);
    memory_free(a);
    memory_free(b);
    memory_free(NULL);
    ck_assert_uint_eq(memory_in_use(), before);
    ck_assert_uint_eq(memory_peak() - before, lines);
}

/* Requests fail beyond a limit of bytes in use, or when chosen by number. */
TEST(memory_runs_out_on_request)
{
    size_t limit = memory_in_use() + 64;
    memory_set_limit(limit);
    ck_assert_ptr_null(memory_get(65, 1));
    void *exact = memory_get(64, 1);
    ck_assert_ptr_nonnull(exact);
    ck_assert_uint_eq(memory_in_use(), limit);
    ck_assert_ptr_null(memory_get(1, 1));
    memory_free(exact);
    memory_set_limit(0);
    for (int once = 0; once < 2; once++) {
        (once ? memory_fail_once : memory_fail_after)(1);
        void *before = memory_get(1, 1), *failed = memory_get(1, 1), *after = memory_get(1, 1);
        memory_fail_after(-1);
        ck_assert(before && !failed && !after == !once);
        memory_free(before);
        memory_free(after);
    }
}

TEST(size_sums_saturate)
{
    static const struct { size_t from, a, b, sum; } row[] = {
        {5, 3, 4, 17}, {17, 0, SIZE_MAX, 17}, {17, SIZE_MAX - 17, 1, SIZE_MAX}, {SIZE_MAX, 1, 1, SIZE_MAX},
        {0, SIZE_MAX / 2, 3, SIZE_MAX},
    };
    for (size_t r = 0; r < COUNT(row); r++) {
        size_t sum = row[r].from;
        size_add(&sum, row[r].a, row[r].b);
        ck_assert_uint_eq(sum, row[r].sum);
    }
}

/* Linux's MemAvailable; 0 elsewhere. */
static uint64_t bytes_of_meminfo(void)
{
    char line[128];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %llu", &kilobytes) < 1) {
    }
    if (file) fclose(file);
    return 1024 * (uint64_t)kilobytes;
}

/* The default limit is at most 3/4 of the machine's memory and more than half of the available memory.  The error
 * states both numbers; a size that overflows is always an error. */
TEST(bytes_are_read_and_compared)
{
    static const struct { const char *text; uint64_t bytes; } right[] = {
        {"1", 1}, {"512", 512}, {"3K", 3072}, {"1.5M", 1572864}, {"8G", UINT64_C(8) << 30},
        {"2T", UINT64_C(2) << 40},
    };
    static const char *const wrong[] = {
        "", "0", "-1", "K", "1k", "1KB", "1 K", "1e9", "0x10", "inf", "nan", "9999999999T", ".",
    };
    uint64_t available = bytes_of_meminfo(), all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    size_t allowed;
    for (size_t r = 0; r < COUNT(right); r++) {
        succeeds(bytes_allowed(&allowed, right[r].text));
        ck_assert_uint_eq(allowed, right[r].bytes < SIZE_MAX ? right[r].bytes : SIZE_MAX);
    }
    for (size_t w = 0; w < COUNT(wrong); w++)
        rejected(bytes_allowed(&allowed, wrong[w]), STATUS_BAD_INPUT, "--max-memory: found '");
    succeeds(bytes_allowed(&allowed, NULL));
    ck_assert(allowed > 0 && allowed <= all / 4 * 3);
    ck_assert(allowed > (available < SIZE_MAX ? available : SIZE_MAX) / 2);

    succeeds(bytes_fit(7, 7));
    rejected(bytes_fit(8, 7), STATUS_BAD_INPUT, "needs 8 bytes of memory, allowed are 7 (option --max-memory)");
    rejected(bytes_fit(SIZE_MAX, 7), STATUS_BAD_INPUT, "needs more than");
    rejected(bytes_fit(SIZE_MAX, SIZE_MAX), STATUS_BAD_INPUT, "needs more than");
    succeeds(work_fits(1e13, 1e13));
    rejected(work_fits(2e16, 1e13), STATUS_BAD_INPUT,
            "makes 2e+16 multiply-adds, allowed are 1e+13 (option --max-work)");
}

/* Control characters that a message quotes become '?', also the first byte of C1 controls in UTF-8 (C2 80 to C2 9F). */
TEST(messages_stay_on_one_line)
{
    static const char *const said[][2] = {
        {"\x1f \x7f~", "? ?~"}, {"\xc2\x80.", "?\x80."}, {"\xc2\x9f.", "?\x9f."}, {"\xc2\xa0.", "\xc2\xa0."},
        {"\xc2.", "\xc2."}, {"\xc2", "\xc2"}, {"\xc3\x80", "\xc3\x80"}, {"\xc2\x7e\x80", "\xc2\x7e\x80"},
        {"\xc2\x9b\xc3\xa9", "?\x9b\xc3\xa9"}, {"'two\nlines\033[31m'", "'two?lines?[31m'"},
    };
    for (size_t n = 0; n < COUNT(said); n++)
        ck_assert_str_eq(bad_input("%s", said[n][0]).message, said[n][1]);
    ck_assert_str_eq(status_at(bad_input("found"), "here").message, "here: found");
    ck_assert_str_eq(status_at(bad_input("found"), "").message, "'': found");
    succeeds(status_at(status_ok(), "here"));
    ck_assert_int_eq(bad_input("it").code, STATUS_BAD_INPUT);
    ck_assert_int_eq(out_of_memory("it").code, STATUS_FAILURE);
}

/* µ is two bytes but one column. */
TEST(numbers_have_three_digits_and_a_unit)
{
    static const struct { const char *(*say)(char *, int, double); double number; const char *text; } row[] = {
        {units_seconds, 0, "    0 ns"}, {units_seconds, 999.4e-9, "  999 ns"}, {units_seconds, 999.6e-9, " 1.00 µs"},
        {units_seconds, 33.651e-6, " 33.7 µs"}, {units_seconds, 9.996e-3, " 10.0 ms"},
        {units_seconds, 3725, "  3725 s"},
        {units_bytes, 1023, "  1023 B"}, {units_bytes, 1536, "1.50 KiB"}, {units_bytes, 1023.7 * 1024, "1.00 MiB"},
        {units_bytes, 1.8e14, " 164 TiB"}, {units_count, 12, "      12"}, {units_count, 2.456e9, "  2.46 G"},
        {units_count, 999999, "  1.00 M"}, {units_count, 99.95, "     100"}, {units_seconds, NAN, "       -"},
        {units_count, INFINITY, "       -"},
    };
    char text[UNITS_TEXT];
    for (size_t r = 0; r < COUNT(row); r++) ck_assert_str_eq(row[r].say(text, 8, row[r].number), row[r].text);
}

/* A grid has at most 2^31 - 1 offsets: 2^30 tokens on a line. */
TEST(grids_are_read_strictly)
{
    static const char *const right[] = {"1073741824", "1073741824x1", "1x1073741824x1", "2x3x4", "14x14", "7"};
    static const struct { const char *message, *grid[17]; } wrong[] = {
        {"grid too large", {"1073741825", "1073741825x1", "30000x30000", "2147483647", "2x1073741824"}},
        {"expected", {"", "x", "3x", "x3", "3x4x5x6", "0", "3x0", "-3", "+3", " 3", "3 ", "3.0", "3X4",
                      "99999999999999999999", "65536x65536", "1000000x1000x1000"}},
    };
    char text[64];
    grid g;
    for (size_t n = 0; n < COUNT(right); n++) {
        succeeds(grid_parse(&g, right[n]));
        ck_assert_str_eq(grid_text(text, sizeof text, &g), right[n]);
    }
    for (size_t w = 0; w < COUNT(wrong); w++)
        for (const char *const *text_of = wrong[w].grid; *text_of; text_of++)
            rejected(grid_parse(&g, *text_of), STATUS_BAD_INPUT, wrong[w].message);
    succeeds(grid_parse(&g, "8x14x7"));
    ck_assert(g.axes == 3 && g.tokens == 784 && g.offsets == 15 * 27 * 13);
}

static const struct { const char *grid; size_t edge, rows, columns, entries; } some_windows[] = {
    {"6x4", 2, 3, 2, 4}, {"5x7", 3, 2, 3, 9}, {"5x7", 1, 5, 7, 1}, {"3x2", 4, 1, 1, 16}, {"1x9", 2, 1, 5, 4},
    {"5x7", 0, 1, 1, 35}, {"8", 0, 1, 1, 8}, {"2x3x4", 0, 1, 1, 24},
};

/* Windows and their entries are row-major; entries outside the grid are padding; windows_of and windows_entry invert
 * windows_token. */
TESTS(windows_hold_every_token_once, COUNT(some_windows))
{
    struct windows w;
    grid g;
    succeeds(grid_parse(&g, some_windows[_i].grid));
    succeeds(windows_create(&w, &g, some_windows[_i].edge));
    ck_assert(w.rows == some_windows[_i].rows && w.columns == some_windows[_i].columns);
    ck_assert(w.count == w.rows * w.columns && w.entries == some_windows[_i].entries);
    for (size_t n = 0; n < w.count * w.entries; n++) {
        size_t window = n / w.entries, entry = n % w.entries, token = windows_token(&w, window, entry);
        size_t row = window / w.columns * w.edge + (w.edge ? entry / w.edge : 0);
        size_t column = window % w.columns * w.edge + (w.edge ? entry % w.edge : 0);
        bool inside = row < g.size[0] && column < g.size[1];
        ck_assert_uint_eq(token, !w.edge ? n : inside ? row * g.size[1] + column : WINDOW_PADDING);
        if (token == WINDOW_PADDING) continue;
        ck_assert(windows_of(&w, token) == window && windows_entry(&w, token) == entry);
    }
}

/* The grid must be a plane; padded tokens must fit into an int; shifted windows must tile the grid. */
TEST(windows_that_do_not_fit_are_errors)
{
    enum { HALF = CHAR_BIT * sizeof(size_t) / 2 };
    static const struct { const char *grid; size_t edge, shift; const char *text; } bad_windows[] = {
        {"8", 2, 0, "grid of 1 axes, expected two"}, {"2x3x4", 1, 0, "grid of 3 axes, expected two"},
        {"2x2", 50000, 0, "found 50000, which pads 2 x 2 tokens to more than 2147483647"},
        {"2x2", SIZE_MAX, 0, "more than 2147483647"}, {"2x2", (size_t)1 << HALF, 0, "more than 2147483647"},
        {"46000x1", 33000, 0, "found 33000"}, {"4x5", 2, 1, "windows of 2 do not tile 4 x 5 tokens"},
        {"4x5", 0, 1, "found 1"},
    };
    for (size_t b = 0; b < COUNT(bad_windows); b++) {
        struct windows w;
        grid g;
        succeeds(grid_parse(&g, bad_windows[b].grid));
        status s = windows_create(&w, &g, bad_windows[b].edge);
        if (bad_windows[b].shift) {
            succeeds(s);
            s = windows_shift(&w, bad_windows[b].shift);
        }
        rejected(s, STATUS_BAD_INPUT, bad_windows[b].text);
    }
}

/* Philox4x32-10: Salmon et al. 2011 publish 6627e8d5 e169c58d ... for a zero counter and key. */
TEST(random_bits_are_philox)
{
    const uint64_t first = random_bits(0, 0, 0);
    ck_assert_uint_eq(first, 0xe169c58d6627e8d5u);
    ck_assert(first != random_bits(0, 0, 1) && first != random_bits(0, 1, 0) && first != random_bits(1, 0, 0));
}

/* Tolerance: five standard errors sqrt(v / n) of a mean of z^k, with v = E z^2k - (E z^k)^2 = 1, 2, 96 for normal z and
 * k = 1, 2, 4. */
TEST(random_draws_have_their_moments)
{
    static const struct { const char *what; double mean, variance; } moment[] = {
        {"mean of the uniform draws", 0.5, 1.0 / 12}, {"mean of the normal draws", 0, 1},
        {"mean of the sums", 0, 1}, {"variance of the sums", 1, 1.7},
        {"variance of the normal draws", 1, 2}, {"fourth moment of the normal draws", 3, 96},
        {"normal draws beyond three deviations", 0.0026998, 0.0027},
    };
    real *sums = zeros(200000);
    random_fill_sums(sums, 200000, 3, 8, 2);
    double n = 200000, sum[COUNT(moment)] = {0};
    for (size_t i = 0; i < (size_t)n; i++) {
        double r = random_uniform(3, 5, i), z = random_normal(3, 7, i);
        double s = (double)sums[i] / 2;
        ck_assert(r >= 0 && r < 1 && fabs(s) <= 2 * sqrt(3));
        const double value[] = {r, z, s, s * s, z * z, z * z * z * z, fabs(z) > 3};
        for (size_t m = 0; m < COUNT(moment); m++) sum[m] += value[m];
    }
    for (size_t m = 0; m < COUNT(moment); m++)
        within(moment[m].what, fabs(sum[m] / n - moment[m].mean), 5 * sqrt(moment[m].variance / n));
}

/* The extremes are within 12 / n of the range from the limits, except for one seed in e^12.  Tolerance of each number:
 * three roundings. */
TESTS(uniform_numbers_fill_their_limits, 2)
{
    enum { n = 10000 };
    const double low = _i ? 2 : -3, high = _i ? 3 : 5, in = 12 * (high - low) / n;
    real *a = zeros(n), least = (real)high, most = (real)low;
    random_fill_uniform(a, n, 4, 9, low, high);
    for (size_t i = 0; i < n; i++) {
        ck_assert(fabs((double)a[i] - low - (high - low) * random_uniform(4, 9, i)) <= 4 * high * UNIT_ROUNDOFF);
        if (a[i] < least) least = a[i];
        if (a[i] > most) most = a[i];
    }
    ck_assert((double)least >= low && (double)least < low + in);
    ck_assert((double)most <= high && (double)most > high - in);
}

/* The same doubles on every platform, since every operation is rounded correctly. */
TEST(random_normals_are_the_same_everywhere)
{
    static const double known[] = {-0x1.0ebf93afd81a3p-1, 0x1.a9653f48b052fp-1, 0x1.c21c9ef7776d4p-2,
                                   -0x1.629fc799a8c74p-2, 0x1.a19e4c2e1b354p-2, -0x1.0e623973caa58p-4};
    for (size_t i = 0; i < COUNT(known); i++) ck_assert(random_normal(1, 2, i) == known[i]);
}

/* A common shift has no effect, large scores do not overflow, NaN spreads.  Tolerance: n entries e_j (1 + 3 u) over a
 * sum with n roundings. */
TEST(softmax_sums_to_one)
{
    real x[] = {1000, 1001, 999, -1000}, y[] = {0, 1, -1, -2000}, sum = 0;
    softmax(x, 4);
    softmax(y, 4);
    for (int j = 0; j < 4; j++) sum += x[j];
    within("sum of a softmax, from one", fabs((double)sum - 1), 8 * UNIT_ROUNDOFF);
    within("shifted softmax, from the plain one", largest_difference(x, y, 4), 8 * UNIT_ROUNDOFF);
    real lost[] = {0, (real)NAN, 1};
    softmax(lost, 3);
    ck_assert(isnan((double)lost[0]) && isnan((double)lost[2]));
}

/* A norm below 1e-12 counts as 1e-12. */
TEST(l2_normalise_clamps_the_norm)
{
    static const struct { double row[2], first; } table[] = {{{0, 0}, 0}, {{3e-14, 4e-14}, 0.03}, {{-3, 4}, -0.6}};
    for (size_t r = 0; r < COUNT(table); r++) {
        real row[] = {(real)table[r].row[0], (real)table[r].row[1]};
        l2_normalise(row, 2);
        within("first entry", fabs((double)row[0] - table[r].first), fabs(table[r].first) * 4 * UNIT_ROUNDOFF);
    }
}

TEST(tensors_are_checked_and_freed)
{
    static const struct { int axes; size_t size[9]; const char *text; } wrong[] = {
        {9, {2, 3, 4, 1, 1, 1, 1, 1, 1}, "9 axes"}, {2, {SIZE_MAX, 2}, "overflows"}, {2, {0, 2}, "size 0"},
    };
    static const size_t size[] = {2, 3, 4};
    struct tensor t;
    size_t before = memory_in_use();
    succeeds(tensor_create(&t, "name", 3, size));
    ck_assert_uint_eq(t.count, 24);
    tensor_release(&t);
    tensor_release(&t);
    for (size_t n = 0; n < COUNT(wrong); n++)
        rejected(tensor_create(&t, "name", wrong[n].axes, wrong[n].size), STATUS_BAD_INPUT, wrong[n].text);
    for (long n = 0; n < 2; n++) {
        memory_fail_after(n);
        rejected(tensor_create(&t, "name", 3, size), STATUS_FAILURE, "not enough memory");
        memory_fail_after(-1);
        ck_assert_uint_eq(memory_in_use(), before);
    }
}

int main(void) { return run_tests("runtime"); }
