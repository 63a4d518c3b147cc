/* kernels.h -- small kernels that the emulator is proved on
 *
 * Those of `planted` have one mistake each; those of `right` have none, and an answer that
 * is known; those of `counted` have accesses that can be counted by hand.  All take x and
 * y of KERNEL_REALS entries. */

#ifndef TWICETOLD_TESTS_KERNELS_H
#define TWICETOLD_TESTS_KERNELS_H

#include "../fast/cuda/counts.h"
#include "../reference/real.h"
#include "../reference/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KERNEL_REALS 4096

struct planted {
    const char *name, *complaint;
    status (*run)(real *y, const real *x);
};

/* The mistake is what two branches do to each other. */
struct meeting_branches {
    struct planted planted;
    unsigned launches_before;                       /* that are right, at most */
    bool library;                                   /* it may be a library that complains, which has no line */
};
extern const struct meeting_branches meeting_branches[];
extern const int meeting_count;

struct right {
    const char *name;
    status (*run)(real *y, const real *x);
    double (*expected)(const real *x, int i);       /* y[i] */
    int outputs;
};

struct counted {
    const char *name;
    status (*run)(real *y, const real *x);
    struct launch_counts expected;                  /* sizes of the launch left out */
};

extern const struct planted planted[];
extern const struct right right[], misplaced[];     /* the latter: products whose fragments lie wrong */
extern const struct counted counted[];
extern const int planted_count, right_count, counted_count, misplaced_count;

/* A float as tensor cores take it: of 11 digits (TF32) or 8 (BF16). */
float rounded(float value, int digits);

/* Whether the message names a line that the last planted mistake of this thread marked. */
bool names_a_marked_line(const char *message);

/* A launch of a kernel that does nothing; one of which every thread says when it came. */
status launch_nothing(size_t x, size_t y, size_t z, size_t across, size_t down, size_t deep, size_t bytes);
status take_tickets(real *y);

/* A launch that multiplies on tensor cores. */
status tensor_product(real *y, const real *x);

/* Whether a branch was run before what was launched beside it. */
bool branch_comes_first(void);

#define TICKETS 192             /* of 3 blocks of 64 threads: y[n] is the thread that came as number n */

#ifdef __cplusplus
}
#endif

#endif
