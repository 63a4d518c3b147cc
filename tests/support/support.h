/* support.h -- reproducible inputs, and comparisons that fail for NaN
 *
 * A suite is a file of tests and `int main(void) { return run_tests("name"); }`. */

#pragma once
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../reference/runtime/memory.h"
#include "../../reference/runtime/real.h"
#include "../../reference/runtime/status.h"

#ifdef __FAST_MATH__
#error "-ffast-math lets the compiler assume there is no NaN; tests must detect NaN"
#endif

/* u: the largest relative error of a rounding. */
#define UNIT_ROUNDOFF ((double)REAL_EPSILON / 2)

/* An array that lives at least as long as its statement, in C and in C++ (tests/exact). */
#ifdef __cplusplus
#define LIST(type, ...) (std::initializer_list<type>{__VA_ARGS__}.begin())
#else
#define LIST(type, ...) ((type[]){__VA_ARGS__})
#endif

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Zeroed memory that is freed when the test ends, and arrays in such memory: zeros; standard normal numbers; uniform
 * numbers from [low, high); integers from -bound to bound; a copy. */
void *keep(size_t count, size_t size);
real *zeros(size_t n);
real *normal(uint64_t seed, size_t n);
real *uniform(uint64_t seed, size_t n, double low, double high);
real *integers(uint64_t seed, size_t n, int bound);
real *copy(const real *a, size_t n);

/* n times a value; |a|; the identity [n][n]; a + factor b.  Matrices are row-major. */
real *filled(size_t n, double value);
real *absolute(const real *a, size_t n);
real *identity_matrix(size_t n);
real *sum_of(const real *a, double factor, const real *b, size_t n);

/* For a [rows][columns]: row r is row from[r] of a; the rows in reverse; one column; the transpose; a b with b
 * [columns][others]. */
real *rows_in_order(const real *a, const size_t *from, size_t rows, size_t columns);
real *rows_reversed(const real *a, size_t rows, size_t columns);
real *column_of(const real *a, size_t rows, size_t columns, size_t which);
real *transposed(const real *a, size_t rows, size_t columns);
real *matrix_product(const real *a, const real *b, size_t rows, size_t columns, size_t others);

/* The rank of a [rows][columns] by elimination with full pivoting, in double; pivots up to `least` count as 0. */
size_t matrix_rank(const real *a, size_t rows, size_t columns, double least);

/* max |a|; max |a - b|; max |a - b| / max |b|, or 0 if a = b.  NaN if any entry is NaN. */
double largest(const real *a, size_t n);
double largest_difference(const real *a, const real *b, size_t n);
double relative_difference(const real *a, const real *b, size_t n);

/* *worst = max(*worst, error); NaN stays NaN. */
void worse(double *worst, double error);

/* Each assertion is a function that returns an error text or NULL, and a macro that passes it to Check with the
 * caller's line. */
#define FAILS_IF(wrong) \
    do { \
        const char *fault_ = (wrong); \
        ck_assert_msg(!fault_, "%s", fault_); \
    } while (0)

/* `within` fails unless error <= tolerance, and prints their ratio; `beyond` fails unless error > tolerance. */
#define within(...) FAILS_IF(fault_within(__VA_ARGS__))
#define beyond(...) FAILS_IF(fault_beyond(__VA_ARGS__))
const char *fault_within(const char *what, double error, double tolerance);
const char *fault_beyond(const char *what, double error, double tolerance);

/* Fails unless all entries are equal (0 = -0); or unless some differ. */
#define equal(...) FAILS_IF(fault_equal(__VA_ARGS__))
#define unequal(...) FAILS_IF(fault_unequal(__VA_ARGS__))
const char *fault_equal(const real *a, const real *b, size_t n);
const char *fault_unequal(const real *a, const real *b, size_t n);

static inline bool same_bits(const real *a, const real *b, size_t n) { return memcmp(a, b, n * sizeof *a) == 0; }

/* Fails unless the status is OK; or unless it has this code and its message contains `text`. */
#define succeeds(...) FAILS_IF(fault_succeeds(__VA_ARGS__))
#define rejected(...) FAILS_IF(fault_rejected(__VA_ARGS__))
const char *fault_succeeds(status s);
const char *fault_rejected(status s, int code, const char *text);

/* True if the data set of images exists.  If not, prints that the claim is skipped; noise then replaces images. */
bool images_there(const char *claim);

/* TEST(name) { ... } defines a test of the suite; TESTS(name, n), one that runs n times, with _i from 0 to n - 1. */
#define TEST(name) TESTS(name, 1)
#define TESTS(name, n) \
    static void name(int _i); \
    REGISTER_TEST(name, name, n) \
    static void name(int _i CK_ATTRIBUTE_UNUSED)

/* Registers a test before main; n is evaluated in add_tests. */
#define REGISTER_TEST(name, run, n) \
    static int name##_count(void) { return (int)(n); } \
    __attribute__((constructor)) static void name##_register(void) \
    { \
        static const TTest test_ = {#name, run, __FILE__, __LINE__}; \
        static struct test entry_ = {&test_, name##_count, NULL}; \
        test_register(&entry_); \
    }
struct test { const TTest *test; int (*count)(void); struct test *next; };
void test_register(struct test *t);

/* add_case makes a test case that frees the arrays above after each test; add_tests adds the registered tests to it;
 * suite_of_tests makes a suite of them. */
TCase *add_case(Suite *suite, const char *name);
void add_tests(TCase *c);
Suite *suite_of_tests(const char *name);

/* The exit status: 0 if every test passed. */
int run_suite(Suite *suite);
int run_tests(const char *name);
