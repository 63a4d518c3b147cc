/* interface.h -- what the sources of twicetold.h share */

#pragma once
#include "twicetold.h"
#include "../runtime/plan.h"

#ifdef TWICETOLD_DOUBLE
#define API(name) twicetold_double_##name
#else
#define API(name) twicetold_##name
#endif

/* Converts a status to the public type, with the operator's name before its message, unless it is NULL. */
twicetold_status public_status(status s, const char *operator);

/* Lists the caller's tensors, with borrowed names and data; free the list by memory_free(all->tensor). */
status list_all(struct tensors *all, const API(tensor) *given, size_t count);

/* The threads and bytes of a request, or bad input. */
status request_limits(int *threads, size_t *allowed, const twicetold_request *request);
