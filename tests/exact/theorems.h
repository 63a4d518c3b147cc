/* theorems.h -- compiles a suite, unchanged, over the field
 *
 * The exact build includes it before the suite (tests/lisa/test_lisa_theorems.c, ...).  Each test runs once per draw.
 * `normal`, `uniform` and `integers` return random elements.  Two arrays differ by 0 or 1 (field_support.cc); `within`
 * accepts only 0, whatever its tolerance, and `beyond` only 1.  skipped.tsv lists the tests that are no identities of
 * rational functions, with the reason; they do not run. */

#pragma once
#include "exact.h"
#include "../support/support.h"

/* Runs a test once per draw, and prints what it compared. */
void exact_claim(const char *test, void (*once)(int index), int index);

#define run_tests exact_tests

#undef TESTS
#define TESTS(name, n) \
    static void name##_once(int _i); \
    static void name(int index) { exact_claim(#name, name##_once, index); } \
    REGISTER_TEST(name, name, n) \
    static void name##_once(int _i CK_ATTRIBUTE_UNUSED)
