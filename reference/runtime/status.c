/* status.c -- errors are values; see status.h */

#include "status.h"
#include <stdarg.h>
#include <stdio.h>

/* Control characters are those below 0x20, 0x7f, and in UTF-8 also C2 80 ... C2 9F. */
void status_one_line(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++)
        if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)) *p = '?';
}

static status compose(int code, const char *format, va_list arguments)
{
    status s = {.code = code};
    vsnprintf(s.message, sizeof s.message, format, arguments);
    status_one_line(s.message);
    return s;
}

status status_ok(void)
{
    return (status){.code = STATUS_OK};
}

status bad_input(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status s = compose(STATUS_BAD_INPUT, format, arguments);
    va_end(arguments);
    return s;
}

status failure(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status s = compose(STATUS_FAILURE, format, arguments);
    va_end(arguments);
    return s;
}

status out_of_memory(const char *what)
{
    return failure("not enough memory for %s", what);
}

status status_at(status s, const char *where)
{
    status longer = {.code = s.code};
    if (!s.code) return s;
    snprintf(longer.message, sizeof longer.message, "%.60s: %.180s", *where ? where : "''", s.message);
    status_one_line(longer.message);
    return longer;
}
