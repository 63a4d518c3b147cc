/* status.h -- errors are values
 *
 * Functions that can fail return a status, or NULL or false in memory.h.  Nothing in our code prints, exits or aborts.
 * The programs print the message and exit with the code.
 *
 *     status s = grid_parse(&grid, text);
 *     if (s.code) return s;
 *
 * A message is one line: what was found, and what was expected. */

#pragma once
#include "linkage.h"

BEGIN_C_DECLS

enum status_code {
    STATUS_OK = 0,
    STATUS_FAILURE = 1,         /* the machine failed: out of memory, a file that cannot be written */
    STATUS_BAD_INPUT = 2        /* the caller has made an error */
};

typedef struct status {
    int code;                   /* an enum status_code, and the exit status of the programs */
    char message[252];          /* empty when code is STATUS_OK */
} status;

#ifdef __GNUC__
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#else
#define PRINTF_LIKE(text, first)
#endif

status status_ok(void);
status bad_input(const char *format, ...) PRINTF_LIKE(1, 2);
status failure(const char *format, ...) PRINTF_LIKE(1, 2);
status out_of_memory(const char *what);

/* The same status with "WHERE: " before its message.  An OK status does not change.  An empty WHERE is shown as ''. */
status status_at(status s, const char *where);

/* Replaces control characters by '?'.  A message may quote the bytes of a file; it must neither end the line nor
 * control the terminal. */
void status_one_line(char *text);

END_C_DECLS
