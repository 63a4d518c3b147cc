/* entry.c -- entry point of libFuzzer; the environment variable TARGET names the target */

#include <stdio.h>
#include <stdlib.h>
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const struct target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("TARGET");
    (void)argc, (void)argv;
    if ((target = target_named(name ? name : ""))) return 0;
    fprintf(stderr, "TARGET: found '%s', expected safetensors, images, command or forms\n", name ? name : "");
    exit(2);
}

/* Aborts on a fault, so that libFuzzer keeps the input. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *fault = target_run(target, bytes, size);
    if (!fault) return 0;
    fprintf(stderr, "%s: %s\n", target->name, fault);
    abort();
}
