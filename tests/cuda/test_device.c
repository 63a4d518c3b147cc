/* test_device.c -- the host code of CUDA forms, on a fake runtime (runtime.h)
 *
 * Not tested here: kernels, and the behaviour of CUDA, cuBLAS and cuFFT. */

#define _XOPEN_SOURCE 700
#include "runtime.h"
#include "../support/support.h"

/* Prepares a plan on a device with a limit of `allowed` bytes (0: that of plugin.h). */
static status prepared(struct plan *plan, int device, size_t allowed)
{
    *plan = (struct plan){.form = &on_the_runtime, .threads = 1};
    plan->arena = arena_open(1);
    plan->state = keep(1, on_the_runtime.state);
    status s = runtime_plugin()->choose(device, allowed);
    return s.code ? s : on_the_runtime.prepare(plan);
}

static status loaded_and_run(struct plan *plan, real *y, const real *x)
{
    memset(y, 0, RUNTIME_REALS * sizeof *y);
    status s = on_the_runtime.load(plan);
    return s.code ? s : on_the_runtime.run(plan, y, x);
}

static void nothing_is_left(void)
{
    struct runtime_state left = runtime_state();
    ck_assert_int_eq(left.handles, 0);
    ck_assert_uint_eq(left.bytes[0] + left.bytes[1], 0);
    ck_assert(!left.error_left);
    ck_assert_int_eq(left.foreign, 0);
}

/* Makes one call during a plan's life fail.  The plan reports it, waits for its copies, and leaves no error to a later
 * launch.  Release frees everything, with a second load and run (again) or without. */
static bool fails_at(int call, bool again)
{
    real *x = integers(1, RUNTIME_REALS, 9), *y = zeros(RUNTIME_REALS);
    struct plan plan;
    runtime_open(90);
    runtime_fail(call);
    status s = prepared(&plan, 0, 0);
    bool there = s.code == STATUS_OK;
    if (there) s = loaded_and_run(&plan, y, x);
    struct runtime_state now = runtime_state();
    ck_assert_msg(!now.error_left, "call %d: its error was not cleared", call);
    ck_assert_msg(now.copies == 0, "call %d: a copy was not waited for", call);
    ck_assert_msg(now.failed == (s.code != STATUS_OK), "call %d: %s", call, s.code ? s.message : "not reported");
    if (there && now.came && again) {
        succeeds(loaded_and_run(&plan, y, x));
        equal(y, x, RUNTIME_REALS);
    }
    on_the_runtime.release(&plan);
    nothing_is_left();
    return runtime_state().came;
}

TEST(any_call_of_the_runtime_may_fail)
{
    int call = 1;
    while (fails_at(call, true) && fails_at(call, false)) call++;
    printf("    %d calls\n", call - 1);
    ck_assert_int_gt(call, 60);
}

/* Two plans on two devices run alternately, later without copies and with each kind of call first.  The runtime rejects
 * handles of a device that is not current. */
TEST(a_plan_keeps_its_device)
{
    real *x = integers(2, RUNTIME_REALS, 9), *y = zeros(RUNTIME_REALS);
    struct plan plan[2];
    runtime_open(80);
    for (int d = 0; d < 2; d++) succeeds(prepared(&plan[d], d, 0));
    for (int d = 0; d < 2; d++) {
        succeeds(loaded_and_run(&plan[d], y, x));
        equal(y, x, RUNTIME_REALS);
    }
    for (int d = 0; d < 2; d++) {
        ck_assert_uint_eq(runtime_state().bytes[d], runtime_plugin()->bytes(&plan[d]));
        runtime_plugin()->stay(&plan[d], true);
    }
    for (int step = 0; step < 6; step++) {
        runtime_first(step / 2);
        succeeds(on_the_runtime.run(&plan[step % 2], y, x));
    }
    for (int d = 0; d < 2; d++) on_the_runtime.release(&plan[d]);
    nothing_is_left();
}

/* The plug-in and the runtime count the same bytes, work areas of cuBLAS (NVIDIA: 4 MiB, 32 MiB from 9.0 on) and cuFFT
 * included.  A limit of that many bytes is enough; one byte less is an error. */
TESTS(work_areas_are_counted, 4)
{
    static const struct { int capability; size_t blas; } device[] = {{75, 4}, {80, 4}, {90, 32}, {120, 32}};
    real *x = integers(3, RUNTIME_REALS, 9), *y = zeros(RUNTIME_REALS);
    struct plan plan;
    runtime_open(device[_i].capability);
    succeeds(prepared(&plan, 0, 0));
    succeeds(loaded_and_run(&plan, y, x));
    size_t bytes = runtime_plugin()->bytes(&plan);
    ck_assert_uint_eq(bytes, runtime_state().bytes[0]);
    ck_assert_uint_eq(bytes >> 20, 2 * device[_i].blas);
    on_the_runtime.release(&plan);
    succeeds(prepared(&plan, 0, bytes));
    on_the_runtime.release(&plan);
    rejected(prepared(&plan, 0, bytes - 1), STATUS_BAD_INPUT, "--max-memory");
    on_the_runtime.release(&plan);
    nothing_is_left();
}

/* KiB per capability, from the CUDA C++ Programming Guide, less what the driver reserves for every block. */
TESTS(two_blocks_share_a_multiprocessor, 4)
{
    static const struct { int capability; size_t one, two; } device[] = {
        {75, 64, 32}, {80, 163, 81}, {86, 99, 49}, {90, 227, 113},
    };
    runtime_open(device[_i].capability);
    ck_assert_uint_eq(runtime_shared_bytes(1), device[_i].one << 10);
    ck_assert_uint_eq(runtime_shared_bytes(2), device[_i].two << 10);
}

TEST(tensor_cores_need_capability_8)
{
    struct form form = {.name = "cuda-tf32"};
    struct plan plan = {.form = &form};
    runtime_open(80);
    succeeds(runtime_tensor_cores(&plan));
    runtime_open(75);
    rejected(runtime_tensor_cores(&plan), STATUS_BAD_INPUT,
            "form cuda-tf32: found a device of compute capability 7.5, expected at least 8.0");
}

/* An nvcc that exits 1, one that knows only old architectures, and one that compiles nothing.  make reports the reason
 * in one line and succeeds. */
static const struct { const char *nvcc, *why; } toolkit[] = {
    {"exit 1", "it knows none of sm_75, sm_80 and sm_90"},
    {"echo compute_35; echo compute_61", "it knows none of sm_75, sm_80 and sm_90"},
    {"test $1 != --list-gpu-arch || exec echo compute_80; echo fatal: no compiler >&2; exit 1", "fatal: no compiler"},
};

TESTS(make_goes_on_without_a_toolkit, 3)
{
    char command[800], said[200] = "", more[200] = "";
    snprintf(command, sizeof command,
             "unset MAKEFLAGS MAKELEVEL; d=$(mktemp -d) && echo '%s' >$d/nvcc && chmod +x $d/nvcc && "
             "make --no-print-directory plug-in CUDA=$d/nvcc BUILD=$d/build 2>&1; status=$?; rm -rf $d; exit $status",
             toolkit[_i].nvcc);
    FILE *make = popen(command, "r");
    ck_assert_ptr_nonnull(make);
    ck_assert(fgets(said, sizeof said, make) && !fgets(more, sizeof more, make));
    ck_assert_int_eq(pclose(make), 0);
    ck_assert_msg(!strncmp(said, "built without CUDA: ", 20) && strstr(said, toolkit[_i].why), "%s", said);
}

int main(void) { return run_tests("device"); }
