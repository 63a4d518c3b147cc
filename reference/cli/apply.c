/* apply.c -- the command that computes an operator */

#include <string.h>
#include "../runtime/bytes.h"
#include "../runtime/lookup.h"
#include "command.h"
#include "devices.h"

/* Checks the bytes in use, of the file's tensors, y and the plan, together against the limit. */
static status fits(const struct plan *plan, const struct tensors *file, size_t allowed)
{
    size_t needed = memory_in_use();
    for (size_t t = 0; t < file->count; t++) size_add(&needed, file->tensor[t].count, sizeof(real));
    size_add(&needed, problem_output_count(plan->problem), sizeof(real));
    size_add(&needed, arena_bytes(&plan->arena), 1);
    return bytes_fit(needed, allowed);
}

/* Runs a loaded plan; the caller releases y. */
static status compute(struct tensor *y, struct plan *plan)
{
    int axes;
    size_t size[TENSOR_AXES];
    status s = problem_output_shape(plan->problem, &axes, size);
    if (!s.code) s = tensor_create(y, "y", axes, size);
    return s.code ? s : plan_run(plan, y->data, plan->problem->tensor[0].data);
}

/* Two minutes on an emulated device, which computes 10^7 multiply-adds per second. */
#define WORK_EMULATED 1e9

double work_allowed(const struct call *c)
{
    if (problem_given(&c->options, "max-work")) return problem_number(&c->options, "max-work");
    return device_is_emulated(option_text(c, "device", NULL)) ? WORK_EMULATED : WORK_OF_HOURS;
}

static bool asked(const void *problem, const char *name)
{
    return problem_row(problem, name) >= 0;
}

static status apply(const struct call *c)
{
    struct problem p;
    struct plan plan = {0};
    struct safetensors file = {0};
    struct tensor y = {0};
    const struct form *form;
    size_t allowed;

    const char *limit = option_text(c, "max-memory", NULL);
    status s = bytes_allowed(&allowed, limit);
    if (!s.code)
        s = form_on(&form, c->operator, option_text(c, "form", NULL), option_text(c, "device", NULL),
                    limit ? allowed : 0);
    if (s.code || (s = problem_create(&p, c->operator, c->words, c->word)).code) return s;
    struct tensor_request r = {.allowed = allowed, .asked = asked, .params = &p};
    s = tensor_file_open(&file, c->input[0], &r);
    if (!s.code) s = problem_bind(&p, &file.tensors);
    if (!s.code) s = plan_prepare(&plan, &p, form, call_threads(c));
    if (!s.code) s = fits(&plan, &file.tensors, allowed);
    if (!s.code) s = work_fits(form_multiply_adds(form, &p), work_allowed(c));
    if (!s.code) s = safetensors_load(&file);
    if (!s.code) s = problem_bind(&p, &file.tensors);
    if (!s.code) s = plan_allocate(&plan, NULL);
    if (!s.code) s = plan_load(&plan);
    if (!s.code) s = compute(&y, &plan);
    if (!s.code) s = tensor_file_write(c->output, &y, 1);
    if (!s.code) print_ignored(&file, c->input[0]);
    plan_release(&plan);
    tensor_release(&y);
    safetensors_close(&file);
    return s;
}

static const struct option options[] = {
    {.name = "form", .kind = OPTION_CHOICE, .default_value = "fast", .value = "FORM",
     .meaning = "a form of 'twicetold list'; naive is the paper's equation, cuda the last version in full precision"},
    OPTION_THREADS,
    OPTION_DEVICE,
    OPTION_MAX_MEMORY,
    OPTION_MAX_WORK,
    {0}
};

const struct command apply_command = {
    .declaration = {.name = "apply", .summary = "compute y = OPERATOR(x) from a file of x and parameters",
                    .options = options},
    .what = "The input has x and the operator's parameters, F32 or F64; the output has y.",
    .operator = true,
    .inputs = {"INPUT.safetensors"},
    .output = true,
    .run = apply,
};
