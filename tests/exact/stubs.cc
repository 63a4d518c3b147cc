/* stubs.cc -- replacements for images, counters and layers, which have no meaning over the field
 *
 * Tests that need them are in skipped.tsv.  Tokens of an image are random. */

#include "exact.h"
#include "../support/support.h"
#include "../support/fixture.h"
#include "../../reference/chopd.h"
#include "../../reference/cli/regrid.h"
#include "../../reference/io/tokens.h"
#include "../../reference/networks/layers/layers.h"
#include "../../reference/runtime/random.h"

extern "C" {

status tokens_make(real *x, size_t batch, const grid *g, size_t channels, const struct token_source *, char *origin,
                   size_t size)
{
    random_fill_normal(x, batch * g->tokens * channels, 11, 0, 1);
    if (size) *origin = '\0';
    return status_ok();
}

status spectrum(real *, const real *, size_t, size_t, size_t, size_t)
{
    return failure("a field has no magnitudes");
}

status regrid(real *, const real *, size_t, const size_t[GRID_AXES], const size_t[GRID_AXES], size_t, enum regrid_rule)
{
    return failure("angles of a transform have no place in a field");
}

const struct form_row layer_forms[] = {{NULL, NULL}};
const struct declaration *layer_find(const char *) { return NULL; }
const struct declaration *layer_at(int) { return NULL; }

}

unsigned long long multiplications(void) { return 0; }
const struct form *counted_form(const struct declaration *, const char *) { return NULL; }
void counted_chopd_larger(real *, const real *, const struct chopd_problem *) {}
