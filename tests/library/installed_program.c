/* installed_program.c -- prints the largest difference between self-attention in float and in double */

#include <stdio.h>
#include <stdlib.h>
#include <twicetold/twicetold.h>

enum { N = 196, C = 64 };                       /* tokens of a 14 x 14 grid, channels */

static float x[N * C], w_qkv[3 * C * C], y[N * C];
static double x_double[N * C], w_qkv_double[3 * C * C], y_double[N * C];

/* Random numbers from -1 to 1, equal in both precisions. */
static void fill(float *a, double *a_double, int count)
{
    for (int i = 0; i < count; i++) a_double[i] = a[i] = (float)(2.0 * rand() / RAND_MAX - 1);
}

/* Exits with the message and code of an error. */
static void expect(twicetold_status s)
{
    if (!s.code) return;
    fprintf(stderr, "%s\n", s.message);
    exit(s.code);
}

static void in_float(const twicetold_request *request)
{
    const twicetold_tensor tensors[] = {
        {.name = "x", .axes = 3, .size = {1, N, C}},
        {.name = "w_qkv", .axes = 2, .size = {3 * C, C}, .data = w_qkv},
    };
    twicetold_plan *plan;
    expect(twicetold_plan_create(&plan, request, tensors, 2));
    expect(twicetold_plan_load(plan, tensors, 2));
    expect(twicetold_plan_run(plan, y, x));
    twicetold_plan_release(plan);
}

static void in_double(const twicetold_request *request)
{
    const twicetold_double_tensor tensors[] = {
        {.name = "x", .axes = 3, .size = {1, N, C}},
        {.name = "w_qkv", .axes = 2, .size = {3 * C, C}, .data = w_qkv_double},
    };
    twicetold_double_plan *plan;
    expect(twicetold_double_plan_create(&plan, request, tensors, 2));
    expect(twicetold_double_plan_load(plan, tensors, 2));
    expect(twicetold_double_plan_run(plan, y_double, x_double));
    twicetold_double_plan_release(plan);
}

int main(void)
{
    static const char *const options[] = {"--grid", "14x14", "--heads", "4", NULL};
    const twicetold_request request = {.name = "msa", .options = options};
    double apart = 0;

    fill(x, x_double, N * C);
    fill(w_qkv, w_qkv_double, 3 * C * C);
    in_float(&request);
    in_double(&request);
    for (int i = 0; i < N * C; i++) {
        double difference = y[i] > y_double[i] ? y[i] - y_double[i] : y_double[i] - y[i];
        if (difference > apart || difference != difference) apart = difference;     /* NaN stays */
    }
    printf("float and double lie %.1e apart\n", apart);
    return 0;
}
