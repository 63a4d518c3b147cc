/* test_installed.c -- the library as others meet it: installed, linked, and from Python
 *
 * Each question is asked by tests/installed/check.sh, which answers with its exit
 * status.  Python is asked where there is one with NumPy, or with PyTorch; otherwise
 * those tests are skipped, and say so.  A library built for a sanitizer is no library for
 * Python, and its tests are not there at all. */

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
    snprintf(command, sizeof command, "sh tests/installed/check.sh %s %s 2>&1", question, PRECISION);
    fflush(stdout);
    int state = system(command);
    ck_assert(WIFEXITED(state));
    if (WEXITSTATUS(state) == 77) printf("skipped: %s: there is no Python with %s\n", question, module);
    else ck_assert_msg(WEXITSTATUS(state) == 0, "%s: exit status %d", question, WEXITSTATUS(state));
    fflush(stdout);
}

static void ask(const char *question) { ask_with("NumPy", question); }

/* Claim      One header is installed, in a folder of its own, and shadows none of the
 *            system's; it is C and C++.  Libraries, static and shared, show names that begin
 *            with twicetold_ or twicetold_double_ and no other.
 * Measure    nm over what install.sh staged.
 * Would it fail?  Seen with the names not made local, and with grid.h installed beside. */
START_TEST(no_name_leaves_the_library_without_its_prefix) { ask("names"); }
END_TEST

/* Claim      README's lines work as printed: they install, compile program.c and run it, which
 *            computes in float and in double in one process.
 * Tolerance  Of program.c's own numbers: 5e-3.  A sum of T = 3 C + 2 N = 584 products, in
 *            units of the largest, at most 8: (1 + 2 L) 32 sqrt(T) u as test_promises.c has it,
 *            with logits L up to 50 of products of 16 sums of 64 numbers below 1.  And more than
 *            zero: float is not double.
 * Would it fail?  Seen without PKG_CONFIG_PATH, and with the double library under float's name. */
START_TEST(readme_lines_work_as_printed) { ask("readme_lines"); }
END_TEST

/* Claim      The static libraries of both precisions link into one program.
 * Tolerance  As above.
 * Would it fail?  Seen with the names not made local: they are defined twice. */
START_TEST(static_libraries_link_together) { ask("static_too"); }
END_TEST

/* Claim      `make deps` says that it will call sudo before it does, and so does `make help`.
 * Measure    What depend.sh prints where no package is installed, for a user who is not root, and where the programs
 *            that it calls only print their names.
 * Would it fail?  Seen with the line that names only the packages. */
START_TEST(sudo_is_announced) { ask("sudo_said"); }
END_TEST

/* Claim      The Python module is found where it was installed, and finds the libraries in its
 *            prefix.
 * Would it fail?  Seen with the libraries in another folder. */
START_TEST(python_finds_what_was_installed) { ask("python_line"); }
END_TEST

/* Claim      Python computes what the program does, every operator in every form.
 * Measure    To the bit, for every golden vector in this precision, against `twicetold apply`,
 *            both with one thread.
 * Would it fail?  Seen with flags passed over, and with a library of float on numbers of double. */
START_TEST(python_is_the_program) { ask("agree"); }
END_TEST

/* Claim      What is wrong is an exception, with the line that the program prints.
 * Would it fail?  Seen with the operator's name left out of the line. */
START_TEST(python_says_what_the_program_says) { ask("errors"); }
END_TEST

/* Claim      Arrays need not be dense, of the library's type, writable, nor NumPy's; x decides
 *            the precision; other types, masks and misaligned numbers are rejected.
 * Measure    To the bit.
 * Would it fail?  Seen with arrays taken as they lie, and with the mask dropped. */
START_TEST(arrays_of_any_kind_are_one) { ask("arrays"); }
END_TEST

/* Claim      A PyTorch tensor whose memory holds other numbers than it stands for (negative, conjugate, zero) gives the
 *            right result, as x and as a parameter.  A tensor without memory of its own is rejected in one line:
 *            sparse, meta, quantized, nested, wrapped by vmap, grad, functionalize or a subclass.
 * Measure    To the bit, against the same numbers in memory.
 * Would it fail?  Seen with DLPack alone, which exported the negatives, and uninitialized memory for zeros. */
START_TEST(lazy_tensors_are_their_numbers) { ask_with("PyTorch", "lazy"); }
END_TEST

/* Claim      A plan is as good as new after a load, after a refused one, with any number of threads
 *            of its own, and under several threads of Python; its shape and type are fixed.
 * Measure    To the bit.
 * Would it fail?  Seen without the lock, and with a plan that forgot its parameters' memory. */
START_TEST(plans_are_used_again) { ask("plans"); }
END_TEST

/* Claim      In a child of fork a plan with default threads returns, although OpenMP has run in the parent: by three
 *            lines of C, NumPy or PyTorch; also if the module is imported after the fork.
 * Measure    The result, which is 6, within 20 seconds.
 * Would it fail?  Seen with OpenMP's own default, and with the process's number alone, without the kernel's flag. */
START_TEST(a_child_of_fork_computes) { ask("fork"); }
END_TEST

/* Claim      If a request of the library for memory fails, Python raises an Error of code 1.  A plan whose load failed
 *            can be loaded again, also after a second load that failed.
 * Measure    Every operator and form, each pair of requests; y to the bit.
 * Would it fail?  Seen with a form that stayed in a plan whose block could not be allocated: Python crashed. */
START_TEST(python_survives_requests_that_fail) { ask("faults"); }
END_TEST

/* Claim      Every operator has a function whose signature and page name all options and
 *            tensors that it declares.
 * Would it fail?  Seen with options whose names are words of Python. */
START_TEST(functions_are_documented) { ask("documented"); }
END_TEST

/* Claim      The chapter's lines of Python work as printed, beside PyTorch where that is there.
 * Tolerance  As forms_are_one_function has it, for two sides that both compute in float.
 * Would it fail?  Seen with w_o left out. */
START_TEST(the_chapter_runs_in_python) { ask("chapter"); }
END_TEST

/* Claim      The wheel holds what its record says, and what it holds computes.  On a processor that lacks a feature the
 *            wheel was built for, importing it fails with one line that names the feature, before a library is loaded.
 * Would it fail?  Seen with a library left out of it, and without the check. */
START_TEST(the_wheel_is_whole) { ask("wheel"); }
END_TEST

/* Claim      The weights that authors published come to lie under our paths: all of LITv2-S, M and B and of
 *            ELSA-Swin-T, S and B, and Swin-T, each number in its place; what is missing, extra or misshapen is
 *            named.  A checkpoint with two sets of weights, raw and averaged, is rejected unless one is named.
 * Paper      HiLo, Tab. 7, and ELSA, Sec. 6, as their public code lays the networks out; Swin's public code.
 * Measure    tests/pytorch/rename.py on checkpoints of their names and shapes, and of numbers that tell where
 *            they come from; the learnt numbers are 27,844,000, 48,830,368, 86,520,704 and 29,140,978,
 *            52,874,626, 92,682,464 and 28,288,354.                Tolerance  None.
 * Would it fail?  Seen with query first in ELSA-Swin's windows, with the table of positions not turned, with
 *            Swin's table not reversed, and with the first of two sets taken unasked. */
START_TEST(authors_weights_come_to_our_paths) { ask_with("PyTorch", "rename"); }
END_TEST

int main(int argc, char **argv)
{
    /* build/tests/test_installed and build/double/tests/test_installed both look at build. */
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
