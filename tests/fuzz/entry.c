/* entry.c -- the entry of libFuzzer; TARGET in the environment names the target */

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

/* Abort on a fault: libFuzzer then keeps the input. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *fault = target_run(target, bytes, size);
    if (!fault) return 0;
    fprintf(stderr, "%s: %s\n", target->name, fault);
    abort();
}
