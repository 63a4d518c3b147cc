/* theorems.h -- a suite of the float proofs, read as exact proofs
 *
 * Read before a suite (tests/test_lisa_theorems.c, ...) that is compiled for the field, its
 * source unchanged.  Each test runs once for each draw.  What `normal`, `uniform` and
 * `integers` draw are elements of the field; two arrays differ by 0 or by 1 (field_support.cc),
 * and `within` accepts 0 alone, whatever its tolerance.  So a claim that two things are
 * equal is proved with no tolerance, and `beyond` says that they are not equal.
 *
 * Claims that are no identities of rational functions - of sizes, of costs, of rounding, of
 * order - are listed in left_out.tsv, each with its reason, and do not run here. */

#ifndef TWICETOLD_TESTS_THEOREMS_H
#define TWICETOLD_TESTS_THEOREMS_H

#include "exact.h"
#include <check.h>

/* Runs a test for all draws, and says what it compared. */
void exact_claim(const char *test, void (*once)(int index), int index);

/* add_case, for tests that run so many times. */
TCase *exact_case(Suite *suite, const char *name);
#define add_case exact_case

#undef START_TEST
#define START_TEST(name) \
    static void name##_once(int _i); \
    static void name##_fn(int index) { exact_claim(#name, name##_once, index); } \
    static const TTest name##_ttest = {#name, name##_fn, __FILE__, __LINE__}; \
    static const TTest *name = &name##_ttest; \
    static void name##_once(int _i)

#endif
