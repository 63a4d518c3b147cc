/* test_installed.c -- the installed library: linked, and used from Python
 *
 * tests/tools/installed.py answers each question with its exit status.  Questions for Python are skipped without
 * NumPy or PyTorch.  Python cannot load a library built for a sanitizer, so those builds do not have its tests. */

#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "support.h"

#if defined __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#define PRECISION (sizeof(real) == 8 ? "float64" : "float32")

static void ask_with(const char *module, const char *question)
{
    char command[256];
    snprintf(command, sizeof command, "${PYTHON:-python3} tests/tools/installed.py %s %s 2>&1", question, PRECISION);
    fflush(stdout);
    int state = system(command);
    ck_assert(WIFEXITED(state));
    if (WEXITSTATUS(state) == 77) printf("skipped: %s: there is no Python with %s\n", question, module);
    else ck_assert_msg(WEXITSTATUS(state) == 0, "%s: exit status %d", question, WEXITSTATUS(state));
    fflush(stdout);
}

static void ask(const char *question) { ask_with("NumPy", question); }

/* One header in a folder of its own, valid C and C++; libraries export only names that begin with twicetold_ or
 * twicetold_double_.  A manual page is there. */
START_TEST(no_name_leaves_the_library_without_its_prefix) { ask("names"); }
END_TEST

/* They install, compile program.c and run it, which computes in float and in double.
 * Tolerance 5e-3: (1 + 2 L) 32 sqrt(T) u as in test_promises.c, T = 584 products, logits L up to 50, in units of the
 * largest entry, at most 8; and more than 0. */
START_TEST(readme_lines_work_as_printed) { ask("readme_lines"); }
END_TEST

/* Both precisions in one program. */
START_TEST(static_libraries_link_together) { ask("static_too"); }
END_TEST

/* depend.sh and `make help` name sudo before it is called; the programs that depend.sh calls only print their names. */
START_TEST(sudo_is_announced) { ask("sudo_said"); }
END_TEST

/* The module finds the libraries in its prefix. */
START_TEST(python_finds_what_was_installed) { ask("python_line"); }
END_TEST

/* Each golden vector and form against `twicetold apply`, to the bit, with one thread. */
START_TEST(python_is_the_program) { ask("agree"); }
END_TEST

/* An exception has the line that the program prints. */
START_TEST(python_says_what_the_program_says) { ask("errors"); }
END_TEST

/* Strided, read-only, byte-swapped, DLPack; x decides the precision.  Other types, masks and unaligned numbers are
 * errors. */
START_TEST(arrays_of_any_kind_are_one) { ask("arrays"); }
END_TEST

/* PyTorch tensors whose memory differs from their values (negative, conjugate, zero) give the right result.  Tensors
 * without memory (sparse, meta, quantized, nested, wrapped) are errors of one line. */
START_TEST(lazy_tensors_are_their_numbers) { ask_with("PyTorch", "lazy"); }
END_TEST

/* After a load, after a load that is an error, with several threads of its own and of Python. */
START_TEST(plans_are_used_again) { ask("plans"); }
END_TEST

/* A plan with default threads returns after fork, although C, NumPy or PyTorch ran OpenMP in the parent. */
START_TEST(a_child_of_fork_computes) { ask("fork"); }
END_TEST

/* Each request for memory fails in turn, and each of the next load.  Then the plan can be loaded. */
START_TEST(python_survives_requests_that_fail) { ask("faults"); }
END_TEST

/* Signature and page of each operator's function name all options and tensors. */
START_TEST(functions_are_documented) { ask("documented"); }
END_TEST

/* Each block under "Use it from Python" whose imports are installed.
 * Tolerance: as in forms_are_one_function, for two sides in float. */
START_TEST(the_chapter_runs_in_python) { ask("chapter"); }
END_TEST

/* It holds what its record lists, and computes.  If the processor lacks a feature, the import fails and names it. */
START_TEST(the_wheel_is_whole) { ask("wheel"); }
END_TEST

/* HiLo, Tab. 7; ELSA, Sec. 6; Swin's public code: rename.py on checkpoints with their names and shapes.  Each number
 * has its place; missing, extra and misshapen tensors are named; two sets of weights need an option. */
START_TEST(authors_weights_come_to_our_paths) { ask_with("PyTorch", "rename"); }
END_TEST

int main(int argc, char **argv)
{
    /* BUILD is build, for build/tests/test_installed and build/double/tests/test_installed. */
    char build[4096], *slash;
    if (argc < 1 || !realpath(argv[0], build)) return EXIT_FAILURE;
    for (int up = 0; up < (sizeof(real) == 8 ? 3 : 2); up++) {
        if (!(slash = strrchr(build, '/'))) return EXIT_FAILURE;
        *slash = '\0';
    }
    setenv("BUILD", build, 1);
    if (SANITIZED) setenv("FLAGS", "-fsanitize=address,undefined", 1);

    Suite *suite = suite_create("installed");
    TCase *linked = add_case(suite, "linked");
    tcase_add_test(linked, no_name_leaves_the_library_without_its_prefix);
    tcase_add_test(linked, readme_lines_work_as_printed);
    tcase_add_test(linked, static_libraries_link_together);
    tcase_add_test(linked, sudo_is_announced);
    if (!SANITIZED) {
        TCase *python = add_case(suite, "python");
        tcase_add_test(python, python_finds_what_was_installed);
        tcase_add_test(python, python_is_the_program);
        tcase_add_test(python, python_says_what_the_program_says);
        tcase_add_test(python, arrays_of_any_kind_are_one);
        tcase_add_test(python, lazy_tensors_are_their_numbers);
        tcase_add_test(python, plans_are_used_again);
        tcase_add_test(python, a_child_of_fork_computes);
        tcase_add_test(python, python_survives_requests_that_fail);
        tcase_add_test(python, functions_are_documented);
        tcase_add_test(python, the_chapter_runs_in_python);
        tcase_add_test(python, the_wheel_is_whole);
        tcase_add_test(python, authors_weights_come_to_our_paths);
    }
    return run_suite(suite);
}
