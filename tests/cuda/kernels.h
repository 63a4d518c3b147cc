/* kernels.h -- small kernels that test the emulator
 *
 * Those of `faults` have one fault each; those of `correct` have none, and known outputs; those of `counted` have
 * accesses that can be counted by hand.  All take x and y of KERNEL_REALS entries. */

#ifndef TWICETOLD_TESTS_KERNELS_H
#define TWICETOLD_TESTS_KERNELS_H

#include "../../fast/cuda/counts.h"
#include "../../reference/runtime/real.h"
#include "../../reference/runtime/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KERNEL_REALS 4096

struct fault {
    const char *name, *message;                     /* a part of the message */
    status (*run)(real *y, const real *x);
    unsigned launches_before;                       /* at most, that are correct */
    bool library;                                   /* the library may report it: the message names no line */
};

struct correct {
    const char *name;
    status (*run)(real *y, const real *x);
    double (*expected)(const real *x, int i);       /* y[i] */
    int outputs;
};

struct counted {
    const char *name;
    status (*run)(real *y, const real *x);
    struct launch_counts expected;
};

extern struct fault faults[];
extern struct correct correct[], misplaced[];       /* the latter: products whose fragments lie wrong */
extern struct counted counted[];
extern int fault_count, correct_count, misplaced_count, counted_count;

/* A float as tensor cores take it: of 11 digits (TF32) or 8 (BF16). */
float rounded(float value, int digits);

/* True if the message names a line that this thread's last fault marked. */
bool names_a_marked_line(const char *message);

/* A launch of a kernel that does nothing; one that writes the order of its threads. */
status launch_nothing(size_t x, size_t y, size_t z, size_t across, size_t down, size_t deep, size_t bytes);
status take_tickets(real *y);

/* A launch that multiplies on tensor cores. */
status tensor_product(real *y, const real *x);

/* True if a branch ran before what was launched beside it. */
bool branch_comes_first(void);

#define TICKETS 192             /* of 3 blocks of 64 threads: y[n] is the thread that came as number n */

#ifdef __cplusplus
}
#endif

#endif
