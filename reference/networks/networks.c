/* networks.c -- the list of networks; see network.h */

#include "network.h"
#include "../runtime/lookup.h"

extern const struct network_table lisanet[], structvit[], elsa_swin[], chopd_former[], litv2[], learned[];

const struct network_table *network_at(int at)
{
    const struct network_table *const families[] = {lisanet, structvit, elsa_swin, chopd_former, litv2, learned};
    for (size_t f = 0; at >= 0 && f < sizeof families / sizeof *families; f++)
        for (const struct network_table *t = families[f]; t->name; t++)
            if (at-- == 0) return t;
    return NULL;
}

const struct network_table *network_find(const char *name)
{
    const struct network_table *t;
    for (int n = 0; (t = network_at(n)); n++)
        if (same_letters(t->name, name)) return t;
    return NULL;
}

status network_named(const struct network_table **table, const char *name)
{
    *table = name ? network_find(name) : NULL;
    if (*table) return status_ok();
    if (!name) return bad_input("found no network, expected one that 'twicetold list' names");
    struct nearest nearest = {.found = name};
    for (int n = 0; (*table = network_at(n)); n++) nearest_try(&nearest, (*table)->name);
    return nearest_suggest(bad_input("network %.40s: not known, expected one that 'twicetold list' names", name),
                           &nearest);
}
