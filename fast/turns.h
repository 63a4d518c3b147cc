/* turns.h -- cosine and sine of k / n of a turn, rounded once from long double
 *
 * The transforms take all angles from here, as k and n.  So tests/exact can replace them by points of a circle over a
 * finite field. */

#ifndef TWICETOLD_TURNS_H    /* a guard: tests/exact/library_stubs.h replaces this file */
#define TWICETOLD_TURNS_H

#include <math.h>
#include "../reference/runtime/real.h"

/* cos and sin of 2 pi k / n. */
static inline real turn_cosine(size_t k, size_t n)
{
    return (real)cosl(6.283185307179586476925286766559L * (long double)k / (long double)n);
}

static inline real turn_sine(size_t k, size_t n)
{
    return (real)sinl(6.283185307179586476925286766559L * (long double)k / (long double)n);
}

/* cos and sin of an eighth of a turn: sqrt(1/2). */
static const real eighth = (real)0.70710678118654752440L;

/* cos and sin of a sixteenth of a turn. */
static const real sixteenth[] = {(real)0.923879532511286756128L, (real)0.382683432365089771728L};

/* cos and sin of 2 pi m / p at [p][m] for m = 0 ... p-1, p = 3, 5, 7: constants, so that loops over them unroll. */
static const real cosine[8][7] = {
    {0}, {0}, {0},
    {1, -0.5L, -0.5L},
    {0},
    {1, 0.309016994374947424102L, -0.809016994374947424102L,
     -0.809016994374947424102L, 0.309016994374947424102L},
    {0},
    {1, 0.623489801858733530525L, -0.222520933956314404289L, -0.900968867902419126236L,
     -0.900968867902419126236L, -0.222520933956314404289L, 0.623489801858733530525L},
};
static const real sine[8][7] = {
    {0}, {0}, {0},
    {0, 0.866025403784438646764L, -0.866025403784438646764L},
    {0},
    {0, 0.951056516295153572116L, 0.587785252292473129169L,
     -0.587785252292473129169L, -0.951056516295153572116L},
    {0},
    {0, 0.781831482468029808708L, 0.974927912181823607018L, 0.433883739117558120475L,
     -0.433883739117558120475L, -0.974927912181823607018L, -0.781831482468029808708L},
};

#endif
