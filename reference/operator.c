/* operator.c -- options, letters and words, found by name; see operator.h */

#include "operator.h"
#include <string.h>

int declaration_option(const struct declaration *d, const char *name)
{
    for (int o = 0; d->options[o].name; o++)
        if (!strcmp(d->options[o].name, name)) return o;
    return -1;
}

bool declaration_has_letter(const struct declaration *d, const char *letter)
{
    size_t length = strlen(letter);
    for (const struct tensor_row *t = d->tensors; t && t->name; t++)
        for (const char *at = t->shape; *at;) {
            size_t n = strcspn(at, " *+|");
            if (n == length && n && !strncmp(at, letter, n)) return true;
            at += n;
            at += strspn(at, " *+|");
        }
    return false;
}

int word_place(const char *list, const char *word)
{
    size_t length = strlen(word);
    int place = 0;
    for (const char *at = list;; at++, place++) {
        size_t n = strcspn(at, "|");
        if (n == length && !strncmp(at, word, n)) return place;
        at += n;
        if (!*at) return -1;
    }
}

bool words_have(const char *text, const char *word, size_t length)
{
    for (;; text++) {
        size_t n = strcspn(text, "+");
        if (n == length && !strncmp(text, word, n)) return true;
        text += n;
        if (!*text) return false;
    }
}
