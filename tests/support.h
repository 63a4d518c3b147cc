/* support.h -- what every proof needs: reproducible inputs, and comparisons
 * that NaN cannot pass.
 *
 * A test file defines one Suite and ends in
 *
 *     int main(void) { return run_suite(suite); }
 *
 * which prints Check's closing line, writes a TAP report for the table of
 * claims, and returns 0 when every test passed. */

#ifndef TWICETOLD_TESTS_SUPPORT_H
#define TWICETOLD_TESTS_SUPPORT_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include "../reference/memory.h"
#include "../reference/real.h"
#include "../reference/status.h"

#ifdef __FAST_MATH__
#error "-ffast-math lets the compiler assume there is no NaN; tests need one to be seen"
#endif

/* u: the largest relative error of one rounding. */
#define UNIT_ROUNDOFF ((double)REAL_EPSILON / 2)

/* An array of so many things that lives as long as the statement it stands in, for C and
 * for C++ (tests/exact). */
#ifdef __cplusplus
#define LIST(type, ...) (std::initializer_list<type>{__VA_ARGS__}.begin())
#else
#define LIST(type, ...) ((type[]){__VA_ARGS__})
#endif

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Room for count objects of this size, all bytes zero, freed when the test ends;
 * and arrays in such room: zeros, standard normal draws, draws from [low, high),
 * whole numbers from -bound to bound, a copy. */
void *keep(size_t count, size_t size);
real *zeros(size_t n);
real *normal(uint64_t seed, size_t n);
real *uniform(uint64_t seed, size_t n, double low, double high);
real *integers(uint64_t seed, size_t n, int bound);
real *copy(const real *a, size_t n);

/* More arrays in such room: n times one value; the identity [n][n]; a + factor b.  Matrices lie row by row. */
real *filled(size_t n, double value);
real *identity_matrix(size_t n);
real *sum_of(const real *a, double factor, const real *b, size_t n);

/* Of a [rows][columns]: row r of the result is row from[r] of a; one column; a b, where b is [columns][others]. */
real *rows_in_order(const real *a, const size_t *from, size_t rows, size_t columns);
real *column_of(const real *a, size_t rows, size_t columns, size_t which);
real *matrix_product(const real *a, const real *b, size_t rows, size_t columns, size_t others);

/* The rank of a [rows][columns], by elimination in double with the largest pivot; pivots up to `least` count as 0. */
size_t matrix_rank(const real *a, size_t rows, size_t columns, double least);

/* The largest |a|, the largest |a - b|, and the latter over the largest |b|
 * (0 where both vanish).  NaN if any entry that takes part is. */
double largest(const real *a, size_t n);
double largest_difference(const real *a, const real *b, size_t n);
double relative_difference(const real *a, const real *b, size_t n);

/* *worst = the larger of both; NaN, once there, stays. */
void worse(double *worst, double error);

/* A test fails where it stands: each assertion below is a function that says what is
 * wrong, or NULL, and a macro that hands this to Check with its own file and line. */
#define FAILS_IF(wrong) \
    do { \
        const char *fault_ = (wrong); \
        ck_assert_msg(!fault_, "%s", fault_); \
    } while (0)

/* Fails unless error <= tolerance; prints the share of the tolerance used.
 * `beyond` fails unless error > tolerance: the difference must be seen. */
#define within(...) FAILS_IF(fault_within(__VA_ARGS__))
#define beyond(...) FAILS_IF(fault_beyond(__VA_ARGS__))
const char *fault_within(const char *what, double error, double tolerance);
const char *fault_beyond(const char *what, double error, double tolerance);

/* Fails unless all entries are equal, to the bit but for the sign of zero; or
 * unless some differ. */
#define equal(...) FAILS_IF(fault_equal(__VA_ARGS__))
#define unequal(...) FAILS_IF(fault_unequal(__VA_ARGS__))
const char *fault_equal(const real *a, const real *b, size_t n);
const char *fault_unequal(const real *a, const real *b, size_t n);

/* Fails, with its message, unless the status is OK; or unless it has this
 * code and its message contains this text. */
#define succeeds(...) FAILS_IF(fault_succeeds(__VA_ARGS__))
#define refused(...) FAILS_IF(fault_refused(__VA_ARGS__))
const char *fault_succeeds(status s);
const char *fault_refused(status s, int code, const char *text);

/* Whether the data set is there that images are taken from; otherwise noise stands in for them, and what is claimed of
 * images is skipped, which this says. */
bool images_there(const char *claim);

/* A case of the suite whose arrays are freed after each test. */
TCase *add_case(Suite *suite, const char *name);

int run_suite(Suite *suite);

#endif
