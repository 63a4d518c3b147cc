/* operator.c -- options, letters and words by name; see operator.h */

#include "operator.h"
#include <ctype.h>
#include <stdio.h>
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

/* The next letter of a shape; moves *at past it.  False at the end. */
static bool next_letter(char letter[4], const char **at)
{
    for (;;) {
        *at += strspn(*at, " *+|");
        size_t length = strcspn(*at, " *+|");
        if (!length) return false;
        snprintf(letter, 4, "%.*s", (int)length, *at);
        *at += length;
        if (!isdigit((unsigned char)*letter)) return true;
    }
}

bool declaration_letter(char letter[4], const struct declaration *d, int at)
{
    char seen[PROBLEM_LETTERS][4];
    int count = 0;
    const struct tensor_row *t = d->tensors;
    do {
        for (const char *shape = t->name ? t->shape : d->output; next_letter(letter, &shape);) {
            int n = 0;
            while (n < count && strcmp(seen[n], letter)) n++;
            if (n < count) continue;
            if (count == at) return true;
            if (count < PROBLEM_LETTERS) memcpy(seen[count++], letter, strlen(letter) + 1);
        }
    } while ((t++)->name);
    return false;
}

static const char *listed_meaning(const struct letter *letters, const char *letter)
{
    for (; letters && letters->name; letters++)
        if (!strcmp(letters->name, letter)) return letters->meaning;
    return NULL;
}

const char *letter_meaning(const struct declaration *d, const char *letter)
{
    static const struct letter common[] = {
        {"B", "images of the batch"},
        {"N", "tokens of the grid"},
        {"C", "channels"},
        {"h", "heads"},
        {"c", "channels of a head, C/h"},
        {"P", "offsets on the grid: the product of 2n - 1 over its axes of n points"},
        {"M", "entries of the kernel: the product of its sizes"},
        {0}
    };
    const char *meaning = listed_meaning(d->letters, letter);
    if (!meaning) meaning = listed_meaning(common, letter);
    for (const struct option *o = d->options; !meaning && o->name; o++)
        if (o->letter && !strcmp(o->letter, letter)) meaning = o->meaning;
    return meaning;
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

bool word_is_value(const char *word)
{
    return word && (strncmp(word, "--", 2) || word[2] < 'a' || word[2] > 'z');
}
