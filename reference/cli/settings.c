/* settings.c -- an operator's problem from a command line, with random numbers; see settings.h */

#include "settings.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../runtime/memory.h"
#include "../runtime/random.h"

const char *setting_word(const struct setting *o) { return o->count ? o->word[0] : NULL; }

status setting_whole_at(size_t *number, const struct setting *o, int n, size_t low, size_t high)
{
    const char *text = o->word[n];
    double value = strtod(text, NULL);
    if (!*text || strspn(text, "0123456789") != strlen(text) || value < (double)low || value > (double)high)
        return bad_input("option %s: found '%.40s', expected a whole number from %zu to %zu", o->name, text, low, high);
    *number = (size_t)value;
    return status_ok();
}

status setting_whole(size_t *number, const struct setting *o, size_t low, size_t high)
{
    return o->count ? setting_whole_at(number, o, 0, low, high) : status_ok();
}

status setting_seconds(double *seconds, const struct setting *o)
{
    char *end = NULL;
    const char *text = setting_word(o);
    if (!text) return status_ok();
    *seconds = strtod(text, &end);
    if (!*text || strspn(text, "0123456789.e+-") != strlen(text) || *end || !(*seconds > 0) || !isfinite(*seconds))
        return bad_input("option %s: found '%.40s', expected seconds", o->name, text);
    return status_ok();
}

static status append(struct setting *o, const char *word)
{
    if (o->count == SETTING_WORDS) return bad_input("option %s: more than %d values", o->name, SETTING_WORDS);
    o->word[o->count++] = word;
    return status_ok();
}

static struct setting *find(struct setting *list, const char *name)
{
    while (list->name && strcmp(list->name, name)) list++;
    return list->name ? list : NULL;
}

/* Takes the values after *argv, and moves *argv to the last of them.  An option of several values takes all words up to
 * the next option or file: a word with a dot or a slash. */
static status take_values(struct setting *o, const char *const **argv)
{
    status s;
    if (!o->most) return append(o, **argv);
    if (o->most == 1 && o->count) return bad_input("option %s: given twice, expected once", o->name);
    if (!word_is_value((*argv)[1])) return bad_input("option %s: found no value, expected one", o->name);
    do {
        if ((s = append(o, *++*argv)).code) return s;
    } while (o->most > 1 && (*argv)[1] && (*argv)[1][0] != '-' && !strpbrk((*argv)[1], "./"));
    return s;
}

status settings_take(struct problem_sizes *o, struct setting *other, struct setting *options, const char *const *argv)
{
    enum { CHANNELS, BATCH, SIZES, WITHOUT };
    struct setting problem[] = {
        [CHANNELS] = {.name = "--channels", .most = 1}, [BATCH] = {.name = "--batch", .most = 1},
        [SIZES] = {.name = "--sizes", .most = 1}, [WITHOUT] = {.name = "--without", .most = 1}, {.name = NULL},
    };
    status s = status_ok();
    *other = (struct setting){.name = "of the operator", .most = SETTING_WORDS};
    for (; *argv && !s.code; argv++) {
        struct setting *found = find(options, *argv);
        if (!found) found = find(problem, *argv);
        s = found ? take_values(found, &argv) : append(other, *argv);
    }
    *o = (struct problem_sizes){.words = other->count, .word = other->word, .batch = 1,
                                .sizes = setting_word(&problem[SIZES]), .without = setting_word(&problem[WITHOUT])};
    if (!s.code && !problem[CHANNELS].count)
        s = bad_input("option --channels: missing, expected the channels of x");
    if (!s.code) s = setting_whole(&o->channels, &problem[CHANNELS], 1, 1000000);
    if (!s.code) s = setting_whole(&o->batch, &problem[BATCH], 1, 1000000);
    return s;
}

status sample_create(struct sample *s, const struct declaration *d, const struct problem_sizes *o, size_t results)
{
    enum { SEED = 1 };
    *s = (struct sample){.x = NULL};
    status result = problem_from_sizes(&s->problem, d, o);
    if (!result.code) result = problem_draw(&s->problem, SEED, &s->parameters);
    if (result.code) return result;
    s->inputs = problem_input_count(&s->problem);
    s->outputs = problem_output_count(&s->problem);
    s->x = memory_reals(s->inputs, 1, 1, 1);
    s->y = memory_reals(s->outputs, results, 1, 1);
    if (!s->x || !s->y) return out_of_memory("x and y");
    random_fill_normal(s->x, s->inputs, SEED, 1, 1);
    return result;
}

void sample_release(struct sample *s)
{
    memory_free(s->parameters);
    memory_free(s->x);
    memory_free(s->y);
}
