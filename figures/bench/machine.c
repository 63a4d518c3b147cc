/* machine.c -- comment lines for a TSV file that describe the machine: CPU, cores, memory, compiler, flags, oneDNN,
 * BLAS and FFTW; nothing that identifies the machine or its owner */

#define _POSIX_C_SOURCE 200809L

#include <cblas.h>
#include <fftw3.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "../../reference/runtime/product.h"

#ifndef TWICETOLD_FLAGS         /* the Makefile knows what it compiled with */
#define TWICETOLD_FLAGS "flags not said"
#endif

#ifdef __clang__
#define COMPILER ""             /* __VERSION__ names it */
#else
#define COMPILER "GCC "
#endif

/* The processor's name, from Linux. */
static void processor(char *name, int size)
{
    char line[256], *colon;
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(name, (size_t)size, "unnamed CPU");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10) && (colon = strchr(line, ':'))) {
            line[strcspn(line, "\n")] = 0;
            snprintf(name, (size_t)size, "%s", colon + 2);
            break;
        }
    if (f) fclose(f);
}

static const char *vectors(void)
{
#if defined __AVX512F__
    return "AVX-512";
#elif defined __AVX2__
    return "AVX2";
#elif defined __AVX__
    return "AVX";
#elif defined __ARM_NEON
    return "NEON";
#else
    return "baseline vectors";
#endif
}

int main(void)
{
    char name[200], products[60];
    processor(name, sizeof name);
    double gibibytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 0x1p30;
    printf("# machine: %s, %d core%s, %.0f GiB, %s\n", name, omp_get_num_procs(),
           omp_get_num_procs() == 1 ? "" : "s", gibibytes, vectors());
    printf("# built: %s%s, %s\n", COMPILER, __VERSION__, TWICETOLD_FLAGS);
    product_library(products, sizeof products);
    printf("# libraries: %s%s%.60s, its core %s; %s\n", products, *products ? "; " : "",
           openblas_get_config(), openblas_get_corename(), FFTW(version));
    return ferror(stdout) != 0;
}
