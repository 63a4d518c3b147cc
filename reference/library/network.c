/* network.c -- networks in the C interface; see twicetold.h */

#include "interface.h"
#include <stdio.h>
#include <string.h>
#include "../networks/network.h"
#include "../runtime/bytes.h"
#include "../runtime/lookup.h"

struct API(network) {
    struct network network;
    bool loaded;
    size_t bytes;
    char name[NETWORK_PATH];    /* of the tensor that was last asked for */
};

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .default_value = "", .low = 2, .high = 3},
    {.name = "classes", .kind = OPTION_INTEGER, .default_value = "", .low = 1, .high = 1e6, .letter = "K"},
    {.name = "depths", .kind = OPTION_CHOICE, .default_value = ""},
    {.name = "widths", .kind = OPTION_CHOICE, .default_value = ""},
    {.name = "heads", .kind = OPTION_CHOICE, .default_value = ""},
    {.name = "random", .kind = OPTION_INTEGER, .default_value = "", .low = 0, .high = 1e9},
    {0}
};
static const struct declaration command = {.name = "network", .options = options};

const char *API(network_name)(int at)
{
    const struct network_table *table = network_at(at);
    return table ? table->name : NULL;
}

static const char *text(const struct problem *words, const char *option)
{
    return problem_given(words, option) ? problem_text(words, option) : NULL;
}

/* Creates it; draws or binds the weights, if there are any; allocates and loads. */
static status create(struct API(network) *new, const struct network_table *table, const twicetold_request *request,
                     size_t batch, const struct tensors *weights)
{
    struct problem words;
    struct network *n = &new->network;
    struct network_request r = {.form = request->form, .batch = batch};
    int count = 0;
    while (request->options && request->options[count]) count++;
    status s = request_limits(&r.threads, &r.allowed, request);
    if (!s.code) s = problem_create(&words, &command, count, request->options);
    if (!s.code && !batch) s = bad_input("batch: found 0, expected at least 1");
    if (s.code) return s;
    bool drawn = problem_given(&words, "random");
    if (drawn && weights->count) return bad_input("option --random: found with weights, expected one or the other");
    for (size_t t = 0; t < weights->count; t++)
        if (!weights->tensor[t].data)
            return bad_input("tensor %.60s: found no data, expected some", weights->tensor[t].name);
    r.grid = text(&words, "grid");
    r.classes = problem_size(&words, "K");
    r.depths = text(&words, "depths");
    r.widths = text(&words, "widths");
    r.heads = text(&words, "heads");
    s = network_create(n, table, &r);
    if (s.code) return s;
    new->bytes = network_bytes(n, drawn);
    s = bytes_fit(new->bytes, r.allowed);
    if (s.code || !(drawn || weights->count)) return s;
    s = drawn ? network_draw(n, (uint64_t)problem_number(&words, "random")) : network_bind(n, weights);
    if (!s.code) s = network_place(n);
    new->loaded = !s.code;
    return s;
}

twicetold_status API(network_create)(API(network) **network, const twicetold_request *request, size_t batch,
                                     const API(tensor) *weights, size_t count)
{
    const struct network_table *table;
    struct tensors listed = {0};
    if (!network) return public_status(bad_input("found NULL, expected the address of a network"), NULL);
    *network = NULL;
    if (!request) return public_status(bad_input("found no request, expected one"), NULL);
    status s = network_named(&table, request->name);
    if (s.code) return public_status(s, NULL);
    API(network) *new = memory_get(1, sizeof *new);
    if (!new) return public_status(out_of_memory("a network"), table->name);
    memset(new, 0, sizeof *new);
    s = list_all(&listed, weights, count);
    if (!s.code) s = create(new, table, request, batch, &listed);
    memory_free(listed.tensor);
    if (s.code) API(network_release)(new);
    else *network = new;
    return public_status(s, table->name);
}

int API(network_tensor)(API(network) *network, API(tensor) *tensor, size_t at)
{
    if (!network || !tensor) return 0;
    const struct network *n = &network->network;
    size_t stages = (size_t)n->stages;
    struct tensor t = {.axes = 3};
    if (at == 0) {
        snprintf(network->name, sizeof network->name, "x");
        network_input_shape(n, t.size);
    } else if (at == 1) {
        snprintf(network->name, sizeof network->name, "logits");
        t = (struct tensor){.axes = 2, .size = {n->batch, n->classes}};
    } else if (at < 2 + stages) {
        snprintf(network->name, sizeof network->name, "stage%zu", at - 1);
        network_stage_shape(n, (int)at - 2, t.size);
    } else if (!network_weight(&t, network->name, n, at - 2 - stages)) {
        return 0;
    }
    *tensor = (API(tensor)){.name = network->name, .data = t.data, .axes = t.axes};
    memcpy(tensor->size, t.size, sizeof tensor->size);
    return 1;
}

twicetold_status API(network_run)(API(network) *network, real *logits, const real *x, real *const *stage)
{
    if (!network) return public_status(bad_input("found no network, expected one"), NULL);
    struct network *n = &network->network;
    status s;
    if (!network->loaded) s = bad_input("the network has no weights, expected some, or --random SEED");
    else if (!x || !logits) s = bad_input("tensor %s: found no data, expected some", x ? "logits" : "x");
    else s = network_run(n, logits, x, stage);
    return public_status(s, n->table->name);
}

void API(network_release)(API(network) *network)
{
    if (!network) return;
    network_release(&network->network);
    memory_free(network);
}

size_t API(network_bytes)(const API(network) *network) { return network ? network->bytes : 0; }

size_t API(network_parameters)(const API(network) *network)
{
    return network ? network_parameters(&network->network) : 0;
}
