/* describe.c -- a declaration as JSON; see describe.h */

#include "describe.h"
#include <stdarg.h>
#include <stdio.h>
#include "../runtime/decimal.h"
#include "../networks/operators.h"
#include "../runtime/shape.h"

/* A text: at most `size` bytes are written, all are counted. */
struct page {
    char *text;
    size_t size, length;
};

static void put(struct page *page, const char *format, ...) PRINTF_LIKE(2, 3);
static void put(struct page *page, const char *format, ...)
{
    size_t left = page->length < page->size ? page->size - page->length : 0;
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is the line above */
    int length = vsnprintf(left ? page->text + page->length : NULL, left, format, arguments);
    va_end(arguments);
    if (length > 0) page->length += (size_t)length;
}

static void put_string(struct page *page, const char *string)
{
    if (!string) {
        put(page, "null");
        return;
    }
    put(page, "\"");
    for (; *string; string++)
        if (*string == '"' || *string == '\\') put(page, "\\%c", *string);
        else if ((unsigned char)*string < 0x20) put(page, "\\u%04x", (unsigned)*string);
        else put(page, "%c", *string);
    put(page, "\"");
}

/* Puts "key": "value" after a separator. */
static void put_pair(struct page *page, const char *before, const char *key, const char *value)
{
    put(page, "%s\"%s\": ", before, key);
    put_string(page, value);
}

static void put_option(struct page *page, const struct option *o)
{
    static const char *const kind[] = {
        [OPTION_INTEGER] = "integer", [OPTION_REAL] = "real", [OPTION_CHOICE] = "choice", [OPTION_GRID] = "grid",
        [OPTION_KERNEL] = "kernel", [OPTION_STEPS] = "steps", [OPTION_FLAG] = "flag",
    };
    put_pair(page, "{", "name", o->name);
    put_pair(page, ", ", "kind", kind[o->kind]);
    put_pair(page, ", ", "default", o->default_value);
    char low[DECIMAL_TEXT], high[DECIMAL_TEXT];
    put(page, ", \"low\": %s, \"high\": %s", decimal_write(low, o->low), decimal_write(high, o->high));
    put_pair(page, ", ", "choices", o->choices);
    put_pair(page, ", ", "meaning", o->meaning);
    put(page, "}");
}

static void put_tensor(struct page *page, const struct tensor_row *t)
{
    char shape[80];
    shape_letters(shape, sizeof shape, t->shape);
    put_pair(page, "{", "name", t->name);
    put_pair(page, ", ", "shape", shape);
    put_pair(page, ", ", "when", t->when);
    put(page, ", \"optional\": %s", t->optional ? "true" : "false");
    put_pair(page, ", ", "with", t->needs);
    put_pair(page, ", ", "meaning", t->meaning);
    put(page, "}");
}

size_t describe_operator(char *text, size_t size, const struct declaration *d)
{
    struct page page = {.text = text, .size = size};
    const struct form *form;
    char shape[80];
    put_pair(&page, "{", "name", d->name);
    put_pair(&page, ", ", "summary", d->summary);
    put(&page, ", \"forms\": [");
    for (int f = 0; (form = operator_form_at(d, f)); f++) {
        put(&page, f ? ", " : "");
        put_string(&page, form->name);
    }
    put(&page, "], \"options\": [");
    for (const struct option *o = d->options; o->name; o++) {
        put(&page, o == d->options ? "" : ", ");
        put_option(&page, o);
    }
    put(&page, "], \"tensors\": [");
    for (const struct tensor_row *t = d->tensors; t->name; t++) {
        put(&page, t == d->tensors ? "" : ", ");
        put_tensor(&page, t);
    }
    shape_letters(shape, sizeof shape, d->output);
    put_pair(&page, "], ", "output", shape);
    put(&page, ", \"letters\": [");
    char letter[4];
    for (int l = 0; declaration_letter(letter, d, l); l++) {
        put_pair(&page, l ? ", {" : "{", "name", letter);
        put_pair(&page, ", ", "meaning", letter_meaning(d, letter));
        put(&page, "}");
    }
    put(&page, "]}");
    return page.length;
}
