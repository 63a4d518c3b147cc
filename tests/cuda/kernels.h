/* kernels.h -- small kernels that test the emulator
 *
 * Each kernel of `faults` has one fault; those of `correct` have known outputs; those of `counted` have accesses that
 * can be counted by hand.  All take x and y of KERNEL_REALS entries. */

#pragma once
#include "../../fast/cuda/counts.h"
#include "../../reference/runtime/real.h"
#include "../../reference/runtime/status.h"

BEGIN_C_DECLS

#define KERNEL_REALS 4096

struct fault {
    const char *name, *message;                     /* message: part of the expected one */
    status (*run)(real *y, const real *x);
    unsigned launches_before;                       /* correct launches before the fault, at most */
    bool library;                                   /* the library may report it, without a line */
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
extern struct correct correct[];
extern struct counted counted[];
extern int fault_count, correct_count, counted_count;

/* A float rounded to 11 (TF32) or 8 (BF16) binary digits. */
float rounded(float value, int digits);

/* True if the message names a line marked by AT in this thread's last run, or none was marked. */
bool names_a_marked_line(const char *message);

/* Launches an empty kernel; one whose threads record their order; one that multiplies on tensor cores. */
status launch_nothing(size_t x, size_t y, size_t z, size_t across, size_t down, size_t deep, size_t bytes);
status take_tickets(real *y);
status tensor_product(real *y, const real *x);

#define TICKETS 192             /* 3 blocks of 64 threads: y[n] is the thread that ran as number n */

/* True if a forked branch ran before the launches that follow the fork. */
bool branch_comes_first(void);

END_C_DECLS
