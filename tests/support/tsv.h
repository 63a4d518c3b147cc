/* tsv.h -- reads tables of tab-separated columns by column name
 *
 * The first line with tabs names the columns, and so does each line with # and tabs.  Other lines that begin with # are
 * comments. */

#pragma once
#include "support.h"
#include "../../reference/networks/operators.h"
#include "../../reference/runtime/sizes.h"

#define TSV_COLUMNS 32

struct tsv {
    FILE *file;
    const char *path;
    char header[1024], line[1024], *name[TSV_COLUMNS], *cell[TSV_COLUMNS];
    int columns;
};

static inline int tsv_split(char *text, char **part)
{
    int n = 0;
    text[strcspn(text, "\r\n")] = '\0';
    for (char *at = text; at && n < TSV_COLUMNS; n++) {
        part[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = '\0';
    }
    return n;
}

/* `path` must outlive the table. */
static inline struct tsv *tsv_open(const char *path)
{
    struct tsv *t = keep(1, sizeof *t);
    t->path = path;
    t->file = fopen(path, "r");
    ck_assert_msg(t->file != NULL, "%s: cannot be opened", path);
    return t;
}

/* Reads the next row; after the last row closes the file and returns false. */
static inline bool tsv_row(struct tsv *t)
{
    while (fgets(t->line, sizeof t->line, t->file)) {
        bool comment = *t->line == '#';
        if (strchr(t->line, '\t') && (comment || !t->columns)) {
            snprintf(t->header, sizeof t->header, "%s", t->line + comment);
            t->columns = tsv_split(t->header, t->name);
        } else if (!comment) {
            int found = tsv_split(t->line, t->cell);
            ck_assert_msg(found == t->columns, "%s: found %d columns after '%s', expected %d", t->path, found,
                          t->cell[0], t->columns);
            return true;
        }
    }
    fclose(t->file);
    return false;
}

static inline bool tsv_has(const struct tsv *t, const char *name)
{
    int c = 0;
    while (c < t->columns && strcmp(t->name[c], name)) c++;
    return c < t->columns;
}

static inline const char *tsv_cell(const struct tsv *t, const char *name)
{
    for (int c = 0; c < t->columns; c++)
        if (!strcmp(t->name[c], name)) return t->cell[c];
    ck_abort_msg("%s: found no column %s", t->path, name);
    return NULL;
}

static inline double tsv_number(const struct tsv *t, const char *name)
{
    const char *text = tsv_cell(t, name);
    char *end;
    double value = strtod(text, &end);
    ck_assert_msg(end > text && !*end && isfinite(value), "%s, %s: found '%s', expected a number", t->path, name, text);
    return value;
}

/* A copy of a cell; empty if the cell is empty or -. */
static inline char *tsv_words(const struct tsv *t, const char *name)
{
    const char *text = tsv_cell(t, name);
    char *words = keep(strlen(text) + 1, 1);
    return strcmp(text, "-") ? strcpy(words, text) : words;
}

/* The problem in columns operator, options, grid, channels, sizes and without. */
static inline struct problem tsv_problem(const struct tsv *t)
{
    struct problem p;
    const char *word[16];
    struct problem_sizes o = {.word = word, .grid = tsv_words(t, "grid"), .batch = 1,
                        .channels = (size_t)tsv_number(t, "channels"), .sizes = tsv_words(t, "sizes"),
                        .without = tsv_words(t, "without")};
    const struct declaration *d = operator_find(tsv_cell(t, "operator"));
    ck_assert_msg(d != NULL, "%s: found no operator %s", t->path, tsv_cell(t, "operator"));
    for (char *at = tsv_words(t, "options"); *at && o.words < 16;) {
        word[o.words++] = at;
        at += strcspn(at, " ");
        if (*at) *at++ = '\0';
    }
    succeeds(problem_from_sizes(&p, d, &o));
    return p;
}
