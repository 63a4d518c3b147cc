/* twicetold.c -- the program: its commands, and their command line
 *
 * The library returns statuses; only the program prints them: one line on stderr.  The exit status is 2 after bad
 * input, 1 after a failure. */

#define _POSIX_C_SOURCE 200809L

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../io/atomic_file.h"
#include "../io/safetensors.h"
#include "../networks/layers/layers.h"
#include "../runtime/lookup.h"
#include "command.h"

static const struct command *const commands[] = {
    &list_command, &help_command, &apply_command, &parameters_command, &verify_command,
    &measure_command, &compare_command, &tokens_command, &spectrum_command, &resample_command, &network_command, NULL,
};

static status take_input(struct call *c, const char *word)
{
    const char *const *names = c->command->inputs;
    const struct declaration *command = &c->command->declaration;
    if (!names[0]) return unknown_option(word, command, command);
    if (c->command->many) {
        c->file[c->files++] = word;
        return status_ok();
    }
    for (int i = 0; i < 2 && names[i]; i++)
        if (!c->input[i]) {
            c->input[i] = word;
            return status_ok();
        }
    return bad_input("found a %s input '%.60s', expected %s", names[1] ? "third" : "second", word,
                     names[1] ? "two" : "one");
}

/* The declaration that has this option, or NULL.  If both have it, it is the operator's, unless the command requires
 * it: --channels of a layer is its output channels, but `parameters` needs those of x.  An
 * optional grid of the operator is the command's, too, and gives open sizes. */
static const struct declaration *owner(const struct call *c, const char *name)
{
    int in_operator = c->operator ? declaration_option(c->operator, name) : -1;
    int in_command = declaration_option(&c->command->declaration, name);
    bool required = in_command >= 0 && !c->command->declaration.options[in_command].default_value
                    && c->command->declaration.options[in_command].letter;
    const struct option *o = in_operator >= 0 ? &c->operator->options[in_operator] : NULL;
    if (o && o->kind == OPTION_GRID && o->default_value && in_command >= 0) required = true;
    if (o && !required) return c->operator;
    return in_command >= 0 ? &c->command->declaration : NULL;
}

/* True if the next word is this option's value: = joins them, or it does not look like an option. */
static bool has_value(const struct words *w, int i)
{
    return i + 1 < w->count && (w->joined[i + 1] || word_is_value(w->word[i + 1]));
}

/* Takes -o FILE, -oFILE or --output FILE, at word i. */
static status take_output(struct call *c, const struct words *w, int *i)
{
    const char *word = w->word[*i];
    bool attached = word[1] == 'o' && word[2];
    if (c->output) return bad_input("option -o: given twice, expected once");
    if (!attached && !has_value(w, *i)) return bad_input("option -o: found no value, expected one");
    c->output = attached ? word + 2 + (word[2] == '=') : w->word[++*i];
    return status_ok();
}

/* Sorts the words into files, options of the operator, and options of the command (into `option`). */
static status sort_words(struct call *c, const char **option, int *options, const struct words *w, int first)
{
    for (int i = first; i < w->count; i++) {
        const char *word = w->word[i];
        const struct declaration *d = NULL;
        bool is_output = c->command->output && (!strncmp(word, "-o", 2) || !strcmp(word, "--output"));
        if (w->joined[i]) return bad_input("option %s: found a value, expected none", w->word[i - 1]);
        if (is_output || word[0] != '-' || !word[1]) {
            status s = is_output ? take_output(c, w, &i) : take_input(c, word);
            if (s.code) return s;
            continue;
        }
        if (strncmp(word, "--", 2) || !(d = owner(c, word + 2)))
            return unknown_option(word, c->operator ? c->operator : &c->command->declaration, &c->command->declaration);
        const char **list = d == c->operator ? c->word : option;
        int *count = d == c->operator ? &c->words : options;
        bool flag = d->options[declaration_option(d, word + 2)].kind == OPTION_FLAG;
        if (!flag && !has_value(w, i)) return bad_input("option %s: found no value, expected one", word);
        if (c->command->repeats && !strcmp(word + 2, c->command->repeats)) {
            c->repeated[c->repetitions++] = w->word[++i];
            continue;
        }
        list[(*count)++] = word;
        if (!flag) list[(*count)++] = w->word[++i];
    }
    return status_ok();
}

/* True if the output or its temporary file (atomic_file.h) would replace this input. */
static bool is_output(const struct call *c, const char *input)
{
    char temporary[4096];
    if (is_stream(c->output)) return false;
    snprintf(temporary, sizeof temporary, "%s.tmp", c->output);
    return input && (same_file(input, c->output) || same_file(input, temporary));
}

static status same_path(const struct call *c)
{
    return bad_input("output: found the input's own path '%.100s', expected another", c->output);
}

/* Bad input if an input or the output is missing, or if an input (or the FILE of an option) is the output. */
static status check_files(const struct call *c)
{
    for (int i = 0; i < 2 && c->command->inputs[i] && !c->command->many; i++)
        if (!c->input[i] && *c->command->inputs[i] != '[')
            return bad_input("input: missing, expected %s", c->command->inputs[i]);
    if (c->input[0] && option_text(c, "images", NULL))
        return bad_input("found '%.60s' with --images, expected one or the other", c->input[0]);
    if (!c->command->output) return status_ok();
    if (!c->output) return bad_input("option -o: missing, expected -o OUTPUT.safetensors");
    status s = tensor_file_check(c->output);
    if (s.code) return status_at(s, "option -o");
    for (int i = 0; i < 2 + c->files; i++)
        if (is_output(c, i < 2 ? c->input[i] : c->file[i - 2])) return same_path(c);
    for (const struct option *o = c->command->declaration.options; o->name; o++)
        if (o->value && !strcmp(o->value, "FILE") && is_output(c, option_text(c, o->name, NULL))) return same_path(c);
    return status_ok();
}

static status perform(const struct command *command, const struct words *w)
{
    struct call c = {.commands = commands, .command = command};
    int first = 1, options = 0;
    if (command->operator) {
        status s = operator_named(&c.operator, w->count > first ? w->word[first] : NULL);
        if (s.code) return status_at(s, command->declaration.name);
        first++;
    }
    if (command->network) {
        status s = network_named(&c.network, w->count > first ? w->word[first] : NULL);
        if (s.code) return status_at(s, command->declaration.name);
        first++;
    }
    const char **option = calloc((size_t)w->count + 1, sizeof *option);
    c.word = calloc((size_t)w->count + 1, sizeof *c.word);
    c.file = calloc((size_t)w->count + 1, sizeof *c.file);
    c.repeated = calloc((size_t)w->count + 1, sizeof *c.repeated);
    bool allocated = option && c.word && c.file && c.repeated;
    status s = allocated ? sort_words(&c, option, &options, w, first) : out_of_memory("the command line");
    if (!s.code) s = problem_create(&c.options, &command->declaration, options, option);
    if (!s.code) s = check_files(&c);
    if (!s.code) s = command->run(&c);
    free(c.repeated);
    free(c.file);
    free(c.word);
    free(option);
    return status_at(s, c.operator ? c.operator->name : c.network ? c.network->name : command->declaration.name);
}

static status unknown_command(const char *name)
{
    const struct declaration *d = operator_find(name);
    const struct network_table *t = network_find(name);
    struct nearest n = {.found = name};
    char names[120] = "";
    size_t at = 0;
    const char *kind = t ? "network" : layer_find(name) ? "layer" : "operator", *found = t ? t->name : d ? d->name : "";
    if (t || d)
        return bad_input("found the %s %s, expected a command first: twicetold %s %s ...", kind, found,
                         t ? "network" : "apply", found);
    for (const struct command *const *c = commands; *c && at < sizeof names; c++) {
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at ? c[1] ? ", " : " or " : "",
                               (*c)->declaration.name);
        nearest_try(&n, (*c)->declaration.name);
    }
    if (!*name) return bad_input("found no command, expected %s", names);
    return nearest_suggest(bad_input("command %.40s: not known, expected %s", name, names), &n);
}

static status dispatch(const struct words *w)
{
    const char *name = w->count ? w->word[0] : "";
    const struct command *command = command_find(commands, name);
    if (!strcmp(name, "complete")) {
        print_completions(commands, w->count - 1, w->word + 1);
        return status_ok();
    }
    if (w->help) return print_help(commands, command, w);
    if (w->version) {
        print_version("twicetold");
        return status_ok();
    }
    return command && command->run ? perform(command, w) : unknown_command(name);
}

/* Removes the unfinished output, and then lets the signal end the process. */
static void interrupted(int number)
{
    atomic_file_remove();
    raise(number);
}

static void expect_interruptions(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU};
    struct sigaction before, action = {.sa_handler = interrupted, .sa_flags = SA_RESETHAND};
    for (size_t n = 0; n < sizeof ends / sizeof *ends; n++)
        if (sigaction(ends[n], NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(ends[n], &action, NULL);
    signal(SIGXFSZ, SIG_IGN);       /* a file that is too large is then an error of write */
}

int main(int argc, char **argv)
{
    struct words w;
    expect_interruptions();
    status s = words_take(&w, argc > 0 ? argc - 1 : 0, (const char *const *)argv + (argc > 0));
    bool measure = argc > 1 && !strcmp(argv[1], measure_command.declaration.name);
    if (!s.code) s = measure ? measure_start(argv + 1) : dispatch(&w);
    if (!s.code && (fflush(stdout) || ferror(stdout))) s = failure("standard output: cannot be written");
    if (s.code) fprintf(stderr, "twicetold: %s\n", s.message);
    words_release(&w);
    return s.code;
}
