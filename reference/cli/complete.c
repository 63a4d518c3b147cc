/* complete.c -- candidates for the next word, for shells
 *
 *     twicetold complete WORD...
 *
 * prints all candidates for the last WORD, one a line, and nothing if a file is expected.  The shell selects those that
 * begin with WORD. */

#include <stdio.h>
#include <string.h>
#include "../../fast/cuda/counts.h"
#include "../networks/layers/layers.h"
#include "command.h"
#include "../../fast/cuda/versions.h"

static void print_operators(void)
{
    const struct declaration *d;
    for (int o = 0; (d = operator_at(o)); o++) printf("%s\n", d->name);
    for (int l = 0; (d = layer_at(l)); l++) printf("%s\n", d->name);
}

static void print_networks(void)
{
    const struct network_table *t;
    for (int n = 0; (t = network_at(n)); n++) printf("%s\n", t->name);
}

static void print_commands(const struct command *const *commands)
{
    printf("--help\n--version\n");
    for (; *commands; commands++) printf("%s\n", (*commands)->declaration.name);
}

/* The options of a declaration that `but` does not have. */
static void print_options(const struct declaration *d, const struct declaration *but)
{
    for (const struct option *o = d->options; o->name; o++)
        if (!but || declaration_option(but, o->name) < 0) printf("--%s\n", o->name);
}

/* The values of an option that can be listed. */
static void print_values(const struct option *o, const struct declaration *d)
{
    const struct form *form;
    if (o->choices)
        for (const char *c = o->choices; *c; c += strspn(c, "|")) {
            printf("%.*s\n", (int)strcspn(c, "|"), c);
            c += strcspn(c, "|");
        }
    if (d && !strcmp(o->name, "form")) {
        for (int f = 0; (form = operator_form_at(d, f)); f++) printf("%s\n", form->name);
        for (int f = 0; (form = operator_version_at(d, f)); f++) printf("%s\n", form->name);
        if (operator_version_at(d, 0)) printf("cuda\n");
    }
    if (!strcmp(o->name, "device")) {
        printf("host\n");
        for (int at = 0; emulator_device_name(at); at++) printf("host:%s\n", emulator_device_name(at));
        printf("0\n");
    }
    if (d && !strcmp(o->name, "sizes"))
        for (const struct letter *l = d->letters; l && l->name; l++)
            if (declaration_has_letter(d, l->name)) printf("%s=\n", l->name);
    if (d && !strcmp(o->name, "without"))
        for (const struct tensor_row *t = d->tensors; t->name; t++)
            if (t->optional) printf("%s\n", t->name);
}

void print_completions(const struct command *const *commands, int count, const char *const *word)
{
    if (count <= 1) {
        print_commands(commands);
        return;
    }
    const char *last = word[count - 1], *before = word[count - 2];
    const struct command *c = command_find(commands, word[0]);
    if (!c) return;
    if (c == &help_command && count == 2) {
        print_commands(commands);
        print_operators();
        print_networks();
    }
    const struct declaration *d = c->operator && count > 2 ? operator_find(word[1]) : NULL;
    if (c->operator && count == 2) {
        print_operators();
        return;
    }
    if (c->network && count == 2) {
        print_networks();
        return;
    }

    /* For some shells "=" is a word, possibly the last. */
    if (!strcmp(before, "=") && count > 3) before = word[count - 3];
    else if (!strcmp(last, "=")) last = "";
    if (!strcmp(before, "-o")) return;
    for (int own = 0; own < 2 && !strncmp(before, "--", 2); own++) {
        const struct declaration *declared = own ? &c->declaration : d;
        int o = declared ? declaration_option(declared, before + 2) : -1;
        if (o < 0 || declared->options[o].kind == OPTION_FLAG) continue;
        print_values(&declared->options[o], d);
        return;
    }

    /* An option; if a file is possible, only after a dash. */
    if (c->inputs[0] && *last != '-') return;
    if (d) print_options(d, NULL);
    print_options(&c->declaration, d);
    printf("%s--help\n", c->output ? "-o\n" : "");
}
