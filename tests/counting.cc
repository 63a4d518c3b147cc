/* counting.cc -- the counter of counting.h, for C to read */

#include "counting.h"

unsigned long long real::multiplications;

/* Multiplications since the last call. */
extern "C" unsigned long long multiplications(void);

unsigned long long multiplications(void)
{
    unsigned long long counted = real::multiplications;
    real::multiplications = 0;
    return counted;
}
