/* test_runtime.c -- memory, statuses, units, tensors, grids, windows, random numbers, plain steps */

#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "../support/support.h"
#include "../../reference/runtime/bytes.h"
#include "../../reference/runtime/grid.h"
#include "../../reference/runtime/linear.h"
#include "../../reference/cli/units.h"
#include "../../reference/runtime/random.h"
#include "../../reference/runtime/steps.h"
#include "../../reference/runtime/tensor.h"
#include "../../reference/runtime/windows.h"

/* Sizes that overflow are rejected; blocks are aligned to 64 bytes and counted in whole lines. */
START_TEST(memory_is_checked_aligned_and_counted)
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
END_TEST

/* A limit on the bytes in use, reached exactly or exceeded, and counts of requests. */
START_TEST(memory_runs_out_on_request)
{
    memory_set_limit(memory_in_use() + 1000);
    void *small = memory_get(900, 1);
    ck_assert_ptr_nonnull(small);
    ck_assert_ptr_null(memory_get(900, 1));
    size_t room = memory_in_use() + 64;     /* one line: a block that reaches the limit exactly is granted */
    memory_set_limit(room);
    ck_assert_ptr_null(memory_get(65, 1));
    void *exact = memory_get(64, 1);
    ck_assert_ptr_nonnull(exact);
    ck_assert_uint_eq(memory_in_use(), room);
    memory_free(exact);
    memory_set_limit(0);
    memory_fail_after(1);
    void *granted = memory_get(1, 1);
    ck_assert_ptr_nonnull(granted);
    ck_assert_ptr_null(memory_get(1, 1));
    memory_fail_after(-1);
    memory_fail_once(1);
    void *before = memory_get(1, 1), *failed = memory_get(1, 1), *after = memory_get(1, 1);
    ck_assert(before && !failed && after);
    memory_free(small);
    memory_free(granted);
    memory_free(before);
    memory_free(after);
}
END_TEST

START_TEST(sums_stop_at_the_largest_size)
{
    size_t sum = 5;
    size_add(&sum, 3, 4);
    ck_assert_uint_eq(sum, 17);
    size_add(&sum, 0, SIZE_MAX);
    ck_assert_uint_eq(sum, 17);
    size_add(&sum, SIZE_MAX - 17, 1);
    ck_assert_uint_eq(sum, SIZE_MAX);
    size_add(&sum, 1, 1);
    ck_assert_uint_eq(sum, SIZE_MAX);
    sum = 0;
    size_add(&sum, SIZE_MAX / 2, 3);
    ck_assert_uint_eq(sum, SIZE_MAX);
}
END_TEST

/* Available memory by Linux; 0 elsewhere. */
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

/* The default limit is at most three quarters of the machine's memory, and more than half of the available memory.  The
 * error states both numbers; a size that overflows is always one. */
START_TEST(bytes_are_read_and_compared)
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
        refused(bytes_allowed(&allowed, wrong[w]), STATUS_BAD_INPUT, "--max-memory: found '");
    succeeds(bytes_allowed(&allowed, NULL));
    ck_assert(allowed > 0 && allowed <= all / 4 * 3);
    ck_assert(allowed > (available < SIZE_MAX ? available : SIZE_MAX) / 2);

    succeeds(bytes_fit(7, 7));
    refused(bytes_fit(8, 7), STATUS_BAD_INPUT, "needs 8 bytes of memory, allowed are 7 (option --max-memory)");
    refused(bytes_fit(SIZE_MAX, 7), STATUS_BAD_INPUT, "needs more than");
    refused(bytes_fit(SIZE_MAX, SIZE_MAX), STATUS_BAD_INPUT, "needs more than");
    succeeds(work_fits(1e13, 1e13));
    refused(work_fits(2e16, 1e13), STATUS_BAD_INPUT,
            "makes 2e+16 multiply-adds, allowed are 1e+13 (option --max-work)");
}
END_TEST

/* Whatever bytes a message quotes. UTF-8 spells C1 controls C2 80 to C2 9F; C2 A0 stays, and so does a C2 with
 * nothing to follow it. */
START_TEST(messages_stay_on_one_line)
{
    static const char *const said[][2] = {
        {"\x1f \x7f~", "? ?~"}, {"\xc2\x80.", "?\x80."}, {"\xc2\x9f.", "?\x9f."}, {"\xc2\xa0.", "\xc2\xa0."},
        {"\xc2.", "\xc2."}, {"\xc2", "\xc2"}, {"\xc3\x80", "\xc3\x80"}, {"\xc2\x7e\x80", "\xc2\x7e\x80"},
    };
    for (size_t n = 0; n < COUNT(said); n++) ck_assert_str_eq(bad_input("%s", said[n][0]).message, said[n][1]);
    status s = bad_input("found '%s'", "two\nlines\033[31m"), t = bad_input("\xc2\x9b\xc3\xa9");
    ck_assert_int_eq(s.code, STATUS_BAD_INPUT);
    ck_assert_str_eq(s.message, "found 'two?lines?[31m'");
    ck_assert_str_eq(t.message, "?\x9b\xc3\xa9");
    ck_assert_str_eq(status_at(s, "here").message, "here: found 'two?lines?[31m'");
    ck_assert_str_eq(status_at(s, "").message, "'': found 'two?lines?[31m'");
    ck_assert_int_eq(status_at(status_ok(), "here").code, STATUS_OK);
    ck_assert_int_eq(out_of_memory("it").code, STATUS_FAILURE);
}
END_TEST

/* Rounding may carry a number into the next unit.  µ is two bytes and one column. */
START_TEST(numbers_have_three_digits_and_a_unit)
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
END_TEST

/* 2^30 tokens on a line have 2^31 - 1 offsets, and so has that line as a plane. */
START_TEST(grids_end_where_int_does)
{
    static const char *const fits[] = {"1073741824", "1073741824x1", "1x1073741824x1", "2x3x4", "14x14", "7"};
    static const char *const large[] = {"1073741825", "1073741825x1", "30000x30000", "2147483647", "2x1073741824"};
    char text[64];
    grid g;
    for (size_t n = 0; n < COUNT(fits); n++) {
        succeeds(grid_parse(&g, fits[n]));
        ck_assert_str_eq(grid_text(text, sizeof text, &g), fits[n]);
    }
    for (size_t n = 0; n < COUNT(large); n++) refused(grid_parse(&g, large[n]), STATUS_BAD_INPUT, "grid too large");
}
END_TEST

START_TEST(grids_are_read_strictly)
{
    static const char *const wrong[] = {"", "x", "3x", "x3", "3x4x5x6", "0", "3x0", "-3", "+3", " 3", "3 ", "3.0",
                                        "3X4", "99999999999999999999", "65536x65536", "1000000x1000x1000"};
    grid g;
    succeeds(grid_parse(&g, "8x14x7"));
    ck_assert_int_eq(g.axes, 3);
    ck_assert_uint_eq(g.tokens, 784);
    ck_assert_uint_eq(g.offsets, 15 * 27 * 13);
    for (size_t w = 0; w < COUNT(wrong); w++) refused(grid_parse(&g, wrong[w]), STATUS_BAD_INPUT, "expected");
}
END_TEST

static const char *const some_grids[] = {"1", "7", "1x1", "1x5", "5x1", "4x6", "2x3x4", "3x1x5"};

/* For all pairs of tokens, against arithmetic on coordinates. LiSA, Eq. 2, on a line: row i of T(e) begins at
 * e_{N-i}. */
START_TEST(grids_index_offsets_and_neighbours)
{
    grid g;
    succeeds(grid_parse(&g, some_grids[_i]));
    for (size_t i = 0; i < g.tokens; i++) {
        size_t at[GRID_AXES];
        grid_coordinates(at, &g, i);
        ck_assert_uint_eq(grid_index(&g, at), i);
        for (size_t j = 0; j < g.tokens; j++) {
            size_t to[GRID_AXES], back[GRID_AXES], entry = 0, k;
            ptrdiff_t step[GRID_AXES];
            grid_coordinates(to, &g, j);
            grid_coordinates(back, &g, grid_circular(&g, i, j));
            for (int a = 0; a < GRID_AXES; a++) {
                step[a] = (ptrdiff_t)to[a] - (ptrdiff_t)at[a];
                entry = entry * (2 * g.size[a] - 1) + (size_t)(step[a] + (ptrdiff_t)g.size[a] - 1);
                ck_assert_uint_eq((back[a] + to[a]) % g.size[a], at[a]);
            }
            ck_assert_uint_eq(grid_offset(&g, i, j), entry);
            ck_assert_uint_lt(entry, g.offsets);
            ck_assert(grid_neighbour(&g, i, step, &k));
            ck_assert_uint_eq(k, j);
        }
        size_t j;
        ck_assert(!grid_neighbour(&g, i, (ptrdiff_t[]){0, 0, (ptrdiff_t)g.size[2]}, &j));
        ck_assert(!grid_neighbour(&g, i, (ptrdiff_t[]){-(ptrdiff_t)g.size[0], 0, 0}, &j));
    }
}
END_TEST

static const struct { const char *grid; size_t edge, rows, columns, entries; } some_windows[] = {
    {"6x4", 2, 3, 2, 4}, {"5x7", 3, 2, 3, 9}, {"5x7", 1, 5, 7, 1}, {"3x2", 4, 1, 1, 16}, {"1x9", 2, 1, 5, 4},
    {"5x7", 0, 1, 1, 35}, {"8", 0, 1, 1, 8}, {"2x3x4", 0, 1, 1, 24},
};

/* Windows are row-major, and so are their tokens; other entries are padding. Window and entry of a token lead back to
 * it. */
START_TEST(windows_hold_every_token_once)
{
    struct windows w;
    grid g;
    succeeds(grid_parse(&g, some_windows[_i].grid));
    succeeds(windows_create(&w, &g, some_windows[_i].edge));
    ck_assert_uint_eq(w.rows, some_windows[_i].rows);
    ck_assert_uint_eq(w.columns, some_windows[_i].columns);
    ck_assert_uint_eq(w.count, w.rows * w.columns);
    ck_assert_uint_eq(w.entries, some_windows[_i].entries);
    real *seen = zeros(g.tokens);
    size_t padding = 0;
    for (size_t window = 0; window < w.count; window++) {
        size_t last = 0;
        for (size_t entry = 0; entry < w.entries; entry++) {
            size_t token = windows_token(&w, window, entry);
            padding += token == WINDOW_PADDING;
            if (token == WINDOW_PADDING) continue;
            ck_assert_uint_lt(token, g.tokens);
            ck_assert(entry == 0 || token > last);
            ck_assert_uint_eq(windows_of(&w, token), window);
            ck_assert_uint_eq(windows_entry(&w, token), entry);
            seen[token] += 1;
            last = token;
        }
    }
    equal(seen, filled(g.tokens, 1), g.tokens);
    ck_assert_uint_eq(padding, w.count * w.entries - g.tokens);
    if (!w.edge) return;
    ck_assert_uint_eq(windows_token(&w, 0, 0), 0);
    if (w.columns > 1) ck_assert_uint_eq(windows_token(&w, 1, 0), w.edge);
    if (w.rows > 1) ck_assert_uint_eq(windows_token(&w, w.columns, 0), w.edge * g.size[1]);
}
END_TEST

static const struct { const char *grid; size_t edge; } rolled_windows[] = {
    {"6x9", 3}, {"4x2", 2}, {"5x5", 5}, {"1x3", 1}, {"8x12", 4},
};

/* They begin at the token (shift, shift). The sides of a window are boxes of its entries, and of the plane, and hold
 * each entry once; pairs on one side are counted one by one. */
START_TEST(shifted_windows_have_sides)
{
    struct windows w;
    grid g;
    succeeds(grid_parse(&g, rolled_windows[_i].grid));
    succeeds(windows_create(&w, &g, rolled_windows[_i].edge));
    size_t s = w.edge, W = g.size[1];
    for (size_t shift = 0; shift < s; shift++) {
        succeeds(windows_shift(&w, shift));
        ck_assert_uint_eq(windows_token(&w, 0, 0), shift * W + shift);
        real *seen = zeros(g.tokens), *boxed = zeros(g.tokens);
        double pairs = 0;
        for (size_t window = 0; window < w.count; window++) {
            for (size_t entry = 0; entry < w.entries; entry++) {
                size_t token = windows_token(&w, window, entry);
                ck_assert_uint_eq(windows_of(&w, token), window);
                ck_assert_uint_eq(windows_entry(&w, token), entry);
                seen[token] += 1;
                for (size_t other = 0; other < w.entries; other++)
                    pairs += windows_side_of(&w, window, entry) == windows_side_of(&w, window, other);
            }
            bool last_row = window / w.columns == w.rows - 1, last_column = window % w.columns == w.columns - 1;
            size_t sides = !shift ? 1 : (last_row ? 2u : 1u) * (last_column ? 2u : 1u);
            ck_assert_uint_eq(windows_sides(&w, window), sides);
            for (size_t side = 0; side < windows_sides(&w, window); side++) {
                struct window_side box = windows_side(&w, window, side);
                size_t first = windows_token(&w, window, box.top * s + box.left);
                ck_assert(box.rows && box.columns);
                for (size_t n = 0; n < box.rows * box.columns; n++) {
                    size_t row = n / box.columns, column = n % box.columns;
                    size_t entry = (box.top + row) * s + box.left + column;
                    ck_assert_uint_eq(windows_side_of(&w, window, entry), side);
                    ck_assert_uint_eq(windows_token(&w, window, entry), first + row * W + column);
                    boxed[first + row * W + column] += 1;
                }
            }
        }
        equal(seen, filled(g.tokens, 1), g.tokens);
        equal(boxed, seen, g.tokens);
        ck_assert(pairs == windows_pairs(&w));
    }
    refused(windows_shift(&w, s), STATUS_BAD_INPUT, "expected less than the window's edge");
}
END_TEST

/* Windows are of planes, and int counts their tokens. */
START_TEST(windows_that_do_not_fit_are_errors)
{
    enum { HALF = CHAR_BIT * sizeof(size_t) / 2 };
    static const struct { const char *grid; size_t edge; const char *text; } bad_windows[] = {
        {"8", 2, "grid of 1 axes, expected two"}, {"2x3x4", 1, "grid of 3 axes, expected two"},
        {"2x2", 50000, "found 50000, which pads 2 x 2 tokens to more than 2147483647"},
        {"2x2", SIZE_MAX, "more than 2147483647"}, {"2x2", (size_t)1 << HALF, "more than 2147483647"},
        {"46000x1", 33000, "found 33000"},
    };
    struct windows w;
    grid g;
    for (size_t b = 0; b < COUNT(bad_windows); b++) {
        succeeds(grid_parse(&g, bad_windows[b].grid));
        refused(windows_create(&w, &g, bad_windows[b].edge), STATUS_BAD_INPUT, bad_windows[b].text);
    }
    succeeds(grid_parse(&g, "4x5"));
    succeeds(windows_create(&w, &g, 2));
    refused(windows_shift(&w, 1), STATUS_BAD_INPUT, "windows of 2 do not tile 4 x 5 tokens");
    succeeds(windows_create(&w, &g, 0));
    refused(windows_shift(&w, 1), STATUS_BAD_INPUT, "found 1");
}
END_TEST

/* Philox4x32-10, Salmon et al. 2011; their published answer for a counter and a key of zeros begins 6627e8d5
 * e169c58d. */
START_TEST(random_bits_are_philox)
{
    ck_assert_uint_eq(random_bits(0, 0, 0), 0xe169c58d6627e8d5u);
    ck_assert_uint_ne(random_bits(0, 0, 0), random_bits(0, 0, 1));
    ck_assert_uint_ne(random_bits(0, 0, 0), random_bits(0, 1, 0));
    ck_assert_uint_ne(random_bits(0, 0, 0), random_bits(1, 0, 0));
}
END_TEST

/* Tolerance: five standard errors. Those of a mean of z^k over n are sqrt((E z^2k - (E z^k)^2) / n), which is 1, 2
 * and 96 under the root for k = 1, 2, 4 of the normal distribution. */
START_TEST(random_draws_have_their_moments)
{
    size_t n = 200000;
    double u = 0, z1 = 0, z2 = 0, z4 = 0, far = 0;
    for (size_t i = 0; i < n; i++) {
        double r = random_uniform(3, 5, i), z = random_normal(3, 7, i);
        ck_assert(r >= 0 && r < 1);
        u += r;
        z1 += z;
        z2 += z * z;
        z4 += z * z * z * z;
        far += fabs(z) > 3;
    }
    double d = (double)n;
    within("mean of the uniform draws", fabs(u / d - 0.5), 5 * sqrt(1.0 / 12 / d));
    within("mean of the normal draws", fabs(z1 / d), 5 * sqrt(1 / d));
    within("variance of the normal draws", fabs(z2 / d - 1), 5 * sqrt(2 / d));
    within("fourth moment of the normal draws", fabs(z4 / d - 3), 5 * sqrt(96 / d));
    within("normal draws beyond three deviations", fabs(far / d - 0.0026998), 5 * sqrt(0.0027 / d));
}
END_TEST

/* The least of n numbers lies 12 / n of the way in once in e^12 seeds. Tolerance of each number: three roundings. */
START_TEST(uniform_numbers_fill_their_limits)
{
    enum { n = 10000 };
    const double low = _i ? 2 : -3, high = _i ? 3 : 5, in = 12 * (high - low) / n;
    real *a = zeros(n), least = (real)high, largest_one = (real)low;
    random_fill_uniform(a, n, 4, 9, low, high);
    for (size_t i = 0; i < n; i++) {
        ck_assert(fabs((double)a[i] - low - (high - low) * random_uniform(4, 9, i)) <= 4 * high * UNIT_ROUNDOFF);
        if (a[i] < least) least = a[i];
        if (a[i] > largest_one) largest_one = a[i];
    }
    ck_assert((double)least >= low && (double)least < low + in);
    ck_assert((double)largest_one <= high && (double)largest_one > high - in);
}
END_TEST

/* The same doubles on every platform: comparisons, one division and one sum, all exactly rounded. */
START_TEST(random_normals_are_the_same_everywhere)
{
    static const double drawn[] = {-0x1.0ebf93afd81a3p-1, 0x1.a9653f48b052fp-1, 0x1.c21c9ef7776d4p-2,
                                   -0x1.629fc799a8c74p-2, 0x1.a19e4c2e1b354p-2, -0x1.0e623973caa58p-4};
    for (size_t i = 0; i < COUNT(drawn); i++) ck_assert(random_normal(1, 2, i) == drawn[i]);
}
END_TEST

/* A common shift has no effect, and large scores do not overflow. Tolerance: n entries, each e_j (1 + 3 u), over a sum
 * with n rounding errors. */
START_TEST(softmax_sums_to_one)
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
END_TEST

/* A norm below 1e-12 counts as 1e-12. */
START_TEST(l2_normalise_clamps_the_norm)
{
    real zero[3] = {0}, tiny[2] = {(real)3e-14, (real)4e-14}, row[2] = {-3, 4};
    l2_normalise(zero, 3);
    l2_normalise(tiny, 2);
    l2_normalise(row, 2);
    ck_assert(zero[0] == 0 && zero[1] == 0 && zero[2] == 0);
    within("tiny row over 1e-12", fabs((double)tiny[0] - 0.03), 0.03 * 4 * UNIT_ROUNDOFF);
    within("row of length one", fabs((double)row[0] + 0.6), 4 * UNIT_ROUNDOFF);
}
END_TEST

/* x Phi(x), not the tanh fit, which is off by 1e-4 near x = 2. Phi(1) = 0.841344746068543, Phi(2) =
 * 0.977249868051821. */
START_TEST(gelu_is_exact)
{
    within("gelu(1)", fabs((double)gelu(1) - 0.841344746068543), 4 * UNIT_ROUNDOFF);
    within("gelu(2)", fabs((double)gelu(2) - 2 * 0.977249868051821), 8 * UNIT_ROUNDOFF);
    within("gelu(-2)", fabs((double)gelu(-2) + 2 * (1 - 0.977249868051821)), 8 * UNIT_ROUNDOFF);
}
END_TEST

/* Mean 0 and variance 1 before gain and bias; equal entries are exactly 0. Tolerance: n = 4 roundings in each sum. */
START_TEST(layer_norm_standardises)
{
    real x[] = {1, 2, 3, 4}, gain[] = {2, 2, 2, 2}, bias[] = {1, 1, 1, 1}, *same = filled(49, 1000.7);
    layer_norm(x, gain, bias, 4, 0);
    double expected = 1 - 2 * 1.5 / sqrt(1.25);
    within("first entry of the normalised row", fabs((double)x[0] - expected), 32 * UNIT_ROUNDOFF);
    within("sum of the row, from n times the bias", fabs((double)(x[0] + x[1] + x[2] + x[3]) - 4), 32 * UNIT_ROUNDOFF);
    layer_norm(same, NULL, NULL, 49, 1e-10);
    equal(same, zeros(49), 49);
}
END_TEST

/* y = x W^T + b over strided rows of small whole numbers. */
START_TEST(linear_map_is_the_sum)
{
    size_t tokens = 5, in = 7, out = 3, x_stride = 9, y_stride = 4;
    real *x = integers(1, tokens * x_stride, 9), *w = integers(2, out * in, 9), *b = integers(3, out, 9);
    real *y = integers(4, tokens * y_stride, 9), *before = copy(y, tokens * y_stride);
    linear_map(y, y_stride, x, x_stride, w, b, tokens, in, out);
    for (size_t n = 0; n < tokens; n++) {
        for (size_t o = 0; o < out; o++) {
            real sum = b[o];
            for (size_t i = 0; i < in; i++) sum += x[n * x_stride + i] * w[o * in + i];
            ck_assert(y[n * y_stride + o] == sum);
        }
        ck_assert(y[n * y_stride + out] == before[n * y_stride + out]);
    }
    linear_map(y, y_stride, x, x_stride, w, NULL, tokens, in, out);
    real sum = 0;
    for (size_t i = 0; i < in; i++) sum += x[i] * w[i];
    ck_assert(y[0] == sum);
}
END_TEST

START_TEST(tensors_own_what_they_hold)
{
    struct tensor t;
    size_t before = memory_in_use(), size[9] = {2, 3, 4, 1, 1, 1, 1, 1, 1};
    succeeds(tensor_create(&t, "name", 3, size));
    ck_assert_uint_eq(t.count, 24);
    tensor_release(&t);
    tensor_release(&t);
    refused(tensor_create(&t, "name", 9, size), STATUS_BAD_INPUT, "9 axes");
    refused(tensor_create(&t, "name", 2, (size_t[]){SIZE_MAX, 2}), STATUS_BAD_INPUT, "overflows");
    refused(tensor_create(&t, "name", 2, (size_t[]){0, 2}), STATUS_BAD_INPUT, "size 0");
    for (long n = 0; n < 2; n++) {
        memory_fail_after(n);
        refused(tensor_create(&t, "name", 3, size), STATUS_FAILURE, "not enough memory");
        memory_fail_after(-1);
        ck_assert_uint_eq(memory_in_use(), before);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ground");
    TCase *memory = add_case(suite, "memory, statuses, units, tensors");
    tcase_add_test(memory, memory_is_checked_aligned_and_counted);
    tcase_add_test(memory, memory_runs_out_on_request);
    tcase_add_test(memory, sums_stop_at_the_largest_size);
    tcase_add_test(memory, bytes_are_read_and_compared);
    tcase_add_test(memory, messages_stay_on_one_line);
    tcase_add_test(memory, numbers_have_three_digits_and_a_unit);
    tcase_add_test(memory, tensors_own_what_they_hold);
    TCase *grids = add_case(suite, "grids");
    tcase_add_test(grids, grids_are_read_strictly);
    tcase_add_test(grids, grids_end_where_int_does);
    tcase_add_loop_test(grids, grids_index_offsets_and_neighbours, 0, (int)COUNT(some_grids));
    tcase_add_loop_test(grids, shifted_windows_have_sides, 0, (int)COUNT(rolled_windows));
    tcase_add_loop_test(grids, windows_hold_every_token_once, 0, (int)COUNT(some_windows));
    tcase_add_test(grids, windows_that_do_not_fit_are_errors);
    TCase *random = add_case(suite, "random numbers");
    tcase_add_test(random, random_bits_are_philox);
    tcase_add_test(random, random_draws_have_their_moments);
    tcase_add_loop_test(random, uniform_numbers_fill_their_limits, 0, 2);
    tcase_add_test(random, random_normals_are_the_same_everywhere);
    TCase *steps = add_case(suite, "plain steps");
    tcase_add_test(steps, softmax_sums_to_one);
    tcase_add_test(steps, l2_normalise_clamps_the_norm);
    tcase_add_test(steps, gelu_is_exact);
    tcase_add_test(steps, layer_norm_standardises);
    tcase_add_test(steps, linear_map_is_the_sum);
    return run_suite(suite);
}
