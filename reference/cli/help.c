/* help.c -- list, help and the manual page, from the declarations */

#include <stdio.h>
#include <string.h>
#include "../library/describe.h"
#include "../networks/layers/layers.h"
#include "../runtime/memory.h"
#include "../runtime/lookup.h"
#include "../networks/photo.h"
#include "../runtime/shape.h"
#include "command.h"
#include "devices.h"
#include "units.h"
#include "../../fast/cuda/versions.h"

#define WIDTH 110               /* columns of a synopsis */

/* Prints a piece, on a new line if this one is full. */
static void print_piece(int *column, const char *open, const char *piece, const char *close)
{
    int length = (int)(strlen(open) + strlen(piece) + strlen(close)) + 1;
    if (*column + length > WIDTH) {
        printf("\n     ");
        *column = 5;
    }
    printf(" %s%s%s", open, piece, close);
    *column += length;
}

/* Prints "[D, D, ...]", each as describe.h has it. */
static status list_declarations(const struct declaration *(*at)(int))
{
    const struct declaration *d;
    for (int n = 0; (d = at(n)); n++) {
        size_t size = describe_operator(NULL, 0, d) + 1;
        char *text = memory_get(size, 1);
        if (!text) return out_of_memory(d->name);
        describe_operator(text, size, d);
        printf("%s%s", n ? ",\n" : "[\n", text);
        memory_free(text);
    }
    printf("]");
    return status_ok();
}

static status list_json(void)
{
    const struct network_table *t;
    printf("{\"operators\": ");
    status s = list_declarations(operator_at);
    if (!s.code) printf(",\n\"layers\": ");
    if (!s.code) s = list_declarations(layer_at);
    if (!s.code) printf(",\n\"networks\": [");
    for (int i = 0; !s.code && (t = network_at(i)); i++) {
        struct network n;
        if ((s = network_create(&n, t, &(struct network_request){.threads = 1})).code) return s;
        printf("%s{\"name\": \"%s\", \"summary\": \"%s\", \"grid\": \"%s\", \"parameters\": %zu, "
               "\"multiply_adds\": %.0f}", i ? ",\n" : "\n", t->name, t->summary, t->grid, network_parameters(&n),
               network_multiply_adds(&n));
        network_release(&n);
    }
    printf("]}\n");
    return s;
}

/* Every build has the CUDA versions, emulated; if there is a device, they also run there. */
static status list(const struct call *c)
{
    if (problem_given(&c->options, "json")) return list_json();
    const struct declaration *d;
    const struct form *form;
    const struct network_table *t;
    const char *place = device_present() ? "host, device" : "host";
    for (int o = 0; (d = operator_at(o)); o++) {
        printf("%-10s", d->name);
        for (int f = 0; (form = operator_form_at(d, f)); f++) printf(" %s", form->name);
        for (int r = 0; (form = operator_version_at(d, r)); r++) printf(" %s", form->name);
        printf(operator_version_at(d, 0) ? " (%s)\n" : "\n", place);
    }
    printf("\nlayers:");
    for (int l = 0; (d = layer_at(l)); l++) printf(" %s", d->name);
    printf("\n\nnetworks:");
    int column = 9;
    for (int n = 0; (t = network_at(n)); n++) print_piece(&column, "", t->name, "");
    printf("\n");
    return status_ok();
}

const struct command list_command = {
    .declaration = {.name = "list", .summary = "operators and their forms, layers, networks",
            .options = (const struct option[]){
                {.name = "json", .kind = OPTION_FLAG, .meaning = "options, tensors and sizes, as JSON"}, {0}}},
    .run = list,
};

/* ---- lines of a table --------------------------------------------------- */

static const char *value_of(const struct option *o)
{
    if (o->value) return o->value;
    switch (o->kind) {
    case OPTION_FLAG: return "";
    case OPTION_INTEGER: return "N";
    case OPTION_REAL: return "R";
    case OPTION_GRID: return "GRID";
    case OPTION_KERNEL: return "KERNEL";
    case OPTION_STEPS: return "STEPS";
    case OPTION_CHOICE: return o->choices ? o->choices : "WORDS";
    default: return "VALUE";
    }
}

/* "--grid GRID" */
static const char *typed(char *text, size_t size, const struct option *o)
{
    snprintf(text, size, "--%s%s%s", o->name, o->kind == OPTION_FLAG ? "" : " ", value_of(o));
    return text;
}

/* True if the operator has an option of this name, too. */
static bool shadowed(const struct option *o, const struct declaration *d)
{
    return d && declaration_option(d, o->name) >= 0;
}

/* "optional", "required" or "default 1" */
static const char *presence_of(char *text, size_t size, const struct option *o)
{
    if (o->default_value && *o->default_value) snprintf(text, size, "default %s", o->default_value);
    else snprintf(text, size, "%s", o->default_value || o->kind == OPTION_FLAG ? "optional" : "required");
    return text;
}

static void print_option(const struct option *o)
{
    char text[64], presence[64];
    printf("  %-26s %-14s %s\n", typed(text, sizeof text, o), presence_of(presence, sizeof presence, o), o->meaning);
}

/* The number of blanks that pad a text to a width.  A dot between letters is two bytes and one column. */
static int pad(const char *text, int width)
{
    for (; *text; text++) width -= (*text & 0xc0) != 0x80;
    return width > 0 ? width : 0;
}

/* "equation=6|7" from "equation=6|7 & variant=".  Conditions that an option is not given are left out. */
static void condition_text(char *text, size_t size, const char *when)
{
    *text = '\0';
    for (size_t at = 0; when; ) {
        size_t length = strcspn(when, " ");
        if (when[length - 1] != '=')
            at += (size_t)snprintf(text + at, size - at, "%s%.*s", at ? ", " : "", (int)length, when);
        when = when[length] ? when + length + 3 : NULL;
    }
}

static void print_tensor(const struct tensor_row *t)
{
    char shape[80], presence[96], condition[48];
    shape_letters(shape, sizeof shape, t->shape);
    condition_text(condition, sizeof condition, t->when);
    snprintf(presence, sizeof presence, "%s%s%s%s%s", condition, *condition && t->optional ? ", " : "",
             t->optional ? "optional" : "", t->needs ? ", with " : "", t->needs ? t->needs : "");
    printf("  %-10s %s%*s %-24s  %s\n", t->name, shape, pad(shape, 16), "", presence, t->meaning);
}

/* ---- the synopsis of a command -------------------------------------------- */

static void print_options_of(int *column, const struct declaration *d, const struct declaration *but, bool required)
{
    char text[64];
    for (const struct option *o = d->options; o->name; o++) {
        bool needed = !o->default_value && o->kind != OPTION_FLAG;
        if (needed == required && !shadowed(o, but))
            print_piece(column, needed ? "" : "[", typed(text, sizeof text, o), needed ? "" : "]");
    }
}

/* "twicetold apply msa --grid GRID [--heads N] ... INPUT.safetensors -o OUTPUT.safetensors" */
static void print_synopsis(const struct command *c, const struct declaration *d)
{
    int column = printf("  twicetold %s", c->declaration.name);
    if (c->operator) print_piece(&column, "", d ? d->name : "OPERATOR", "");
    if (c->network) print_piece(&column, "", "NETWORK", "");
    if (d) print_options_of(&column, d, NULL, true);
    print_options_of(&column, &c->declaration, d, true);
    if (d) print_options_of(&column, d, NULL, false);
    else if (c->operator) print_piece(&column, "[", "options of the operator", "]");
    print_options_of(&column, &c->declaration, d, false);
    for (int i = 0; i < 2 && c->inputs[i]; i++) print_piece(&column, "", c->inputs[i], "");
    if (c->output) print_piece(&column, "", "-o OUTPUT.safetensors", "");
    printf("\n");
}

/* ---- a command, an operator ------------------------------------------------ */

static void print_usage(const struct command *const *commands)
{
    const struct declaration *d;
    printf("usage: twicetold COMMAND [WORDS]\n\n");
    for (; *commands; commands++)
        printf("  %-11s %s\n", (*commands)->declaration.name, (*commands)->declaration.summary);
    printf("\noperators:");
    for (int o = 0; (d = operator_at(o)); o++) printf(" %s", d->name);
    printf("\nlayers:   ");
    for (int l = 0; (d = layer_at(l)); l++) printf(" %s", d->name);
    printf("\n\n--key=value is the same as --key value; --help, -h, --version and -V may follow any command.\n");
}

static void print_command(const struct command *c)
{
    printf("%s: %s\n\n", c->declaration.name, c->declaration.summary);
    print_synopsis(c, NULL);
    if (c->declaration.options->name) printf("\noptions\n");
    for (const struct option *o = c->declaration.options; o->name; o++) print_option(o);
    if (c->operator) printf("\n'twicetold help OPERATOR' lists the options of an operator.\n");
    if (c->what) printf("\n%s\n", c->what);
}

static void print_operator(const struct declaration *d, const struct command *c)
{
    char shape[80], letter[4];
    printf("%s: %s\n\n", d->name, d->summary);
    print_synopsis(c, d);
    if (d->options->name) printf("\noptions of %s\n", d->name);
    for (const struct option *o = d->options; o->name; o++) print_option(o);
    if (c->declaration.options->name) printf("\noptions of %s\n", c->declaration.name);
    for (const struct option *o = c->declaration.options; o->name; o++)
        if (!shadowed(o, d)) print_option(o);
    printf("\ntensors that %s reads (F32 or F64)\n", d->name);
    for (const struct tensor_row *t = d->tensors; t->name; t++) print_tensor(t);
    shape_letters(shape, sizeof shape, d->output);
    printf("\ntensor that it writes (%s)\n  %-10s %s\n\nletters\n", sizeof(real) == 8 ? "F64" : "F32", "y", shape);
    for (int at = 0; declaration_letter(letter, d, at); at++) {
        const char *meaning = letter_meaning(d, letter);
        printf("  %-4s %s\n", letter, meaning ? meaning : "as the file has it");
    }
}

/* ---- a network ------------------------------------------------------------- */

static void print_steps(const struct network_step *step)
{
    static const char *const moves[] = {"x = f(x)", "h = f(x)", "h = f(h)", "x += f(h)", "x += f(x)"};
    static const char *const turns[] = {"", ", blocks 1, 3, ...", ", blocks 2, 4, ..."};
    for (; step && step->name; step++) {
        printf("    %-12s %-10s %s%s%s%s%s%s%s%s\n", step->name, moves[step->move], step->what,
               step->options ? " " : "", step->options ? step->options : "", step->sizes ? " with " : "",
               step->sizes ? step->sizes : "", step->without ? " without " : "", step->without ? step->without : "",
               turns[step->turn]);
    }
}

static void print_network(const struct network_table *t, const struct command *c)
{
    struct network n;
    char parameters[UNITS_TEXT], cost[UNITS_TEXT], bare[UNITS_TEXT], bytes[UNITS_TEXT];
    printf("%s: %s\n\n", t->name, t->summary);
    print_synopsis(c, NULL);
    for (int i = 0; i < NETWORK_STAGES && t->stage[i].block; i++) {
        const struct network_stage *s = &t->stage[i];
        printf("\nstage %d: %zu channels, %zu head%s\n", i + 1, s->width, s->heads, s->heads == 1 ? "" : "s");
        print_steps(s->entry);
        printf("  and %zu times\n", s->depth);
        print_steps(s->block);
    }
    printf("\nthe end\n");
    print_steps(t->end);
    printf("\n%%C is the stage's channels, %%h its heads, %%s 1/sqrt(C/h), %%q query channels, %%K classes,\n"
           "%%7w the edge of a window, at most 7, and %%7t its shift.\n");
    char words[96];
    grid g;
    if (t->channels == 1) printf("\nphotographs: scaled to cover %s pixels, in grey\n", t->grid);
    else if (!grid_parse(&g, t->grid).code)
        printf("\nphotographs: %s\n",
               photo_text(words, sizeof words, &t->photo, g.size[g.axes - 2], g.size[g.axes - 1]));
    if (t->photo.squeezed)
        printf("at %zux%zu: %s\n", t->photo.squeezed, t->photo.squeezed,
               photo_text(words, sizeof words, &t->photo, t->photo.squeezed, t->photo.squeezed));

    if (network_create(&n, t, &(struct network_request){.threads = 1}).code) return;
    printf("\nat %s pixels, fast: %zu parameters (%s), %s multiply-adds, %s bare (without norms and positions), %s\n",
           t->grid, network_parameters(&n), units_count(parameters, 0, (double)network_parameters(&n)),
           units_count(cost, 0, network_multiply_adds(&n)), units_count(bare, 0, network_bare_multiply_adds(&n)),
           units_bytes(bytes, 0, (double)network_bytes(&n, true)));
    network_release(&n);
}

/* ---- the manual page, in roff ----------------------------------------------- */

static const char about[] =
    "Every operator is built in several forms, which compute the same function:\n"
    "naive is the equation of the paper in loops, fast computes the same at less cost,\n"
    "cuda1, cuda2 and so on are CUDA kernels, and cuda is the last of them.\n"
    "Tensors are read from and written to safetensors files.\n"
    "Output is F32 from the float build and F64 from the double build.\n\n"
    "A result is written to OUTPUT.tmp, which is renamed when it is complete.  It gets the permissions of the file\n"
    "that it replaces; a file that may not be written to is not replaced.  The output may not be an input.\n\n"
    "Before work begins, --max-memory counts the tensors of the file, x, y and all memory of the form, but not the\n"
    "memory of FFTW, oneDNN, OpenBLAS and libpng. On a CUDA device it also limits the device's memory.\n"
    "An option that is given twice, has no value, or is unknown to the operator is an error.\n"
    "--key=value is the same as --key value, and --output FILE or -oFILE as -o FILE.\n"
    "--help, -h, --version and -V may follow any command.\n";

static const char rest[] =
    ".SH EXIT STATUS\n.TP\n.B 0\nThe command succeeded.\n"
    ".TP\n.B 1\nThe machine failed: out of memory, or a file that could not be written; or\n"
    ".B compare\nfound a tensor beyond its tolerance.\n"
    ".TP\n.B 2\nBad input, or sizes that do not fit in memory or take too long. One line on standard error names the\n"
    "operator, the tensor or option, what was found and what was expected. No output file is written.\n"
    ".SH ENVIRONMENT\n.TP\n.B OMP_NUM_THREADS\nNumber of threads.\n"
    ".TP\n.B TWICETOLD_CUDA\nThe library with the kernels for a CUDA device, if it is neither in the folder of the\n"
    "program nor in ../lib.\n"
    ".SH FILES\nbash and zsh complete words with\n.IR share/bash\\-completion/completions/twicetold \" and \"\n"
    ".IR share/zsh/site\\-functions/_twicetold ,\nwhich ask\n.BR \"twicetold complete\" .\n"
    ".SH SEE ALSO\nThe header\n.IR <twicetold/twicetold.h> ,\nthe Python module\n.I twicetold\nand the book\n"
    ".I Attention, Twice Told\nthat comes with the sources.\n";

static const char examples[] =
    "twicetold tokens --grid 28x28 --channels 64 photo.png -o x.safetensors\n"
    "twicetold parameters lisa --grid=14x14 --heads=4 --channels=64 --sizes=D=16 -o in.safetensors\n"
    "twicetold apply lisa --grid=14x14 --heads=4 --form=naive in.safetensors -o naive.safetensors\n"
    "twicetold apply lisa --grid=14x14 --heads=4 in.safetensors -o fast.safetensors\n"
    "twicetold compare fast.safetensors naive.safetensors\n"
    "twicetold measure lisa --grid=14x14 --heads=4 --channels=64 --sizes=D=16\n";

/* Prints text between two pieces of roff.  Escapes hyphens, backslashes, and dots and quotes at the beginning of a
 * line. */
static void print_roff(const char *before, const char *text, const char *after)
{
    fputs(before, stdout);
    for (const char *c = text; *c; c++) {
        if ((*c == '.' || *c == '\'') && (c == text || c[-1] == '\n')) fputs("\\&", stdout);
        if (*c == '\\' || *c == '-') putchar('\\');
        putchar(*c == '\\' ? 'e' : *c);
    }
    fputs(after, stdout);
}

static void print_roff_synopsis(const struct command *c)
{
    print_roff(".SY \"twicetold ", c->declaration.name, "\"\n");
    if (c->operator) printf(".I OPERATOR\n.RI [ \"options of the operator\" ]\n");
    if (c->network) printf(".I NETWORK\n");
    for (const struct option *o = c->declaration.options; o->name; o++) {
        bool flag = o->kind == OPTION_FLAG, required = !o->default_value && !flag;
        print_roff(required ? ".BI \\-\\-" : ".OP \\-\\-", o->name, required ? " \" " : flag ? "" : " \"");
        print_roff("", value_of(o), flag ? "\n" : "\\&\"\n");
    }
    for (int i = 0; i < 2 && c->inputs[i]; i++) print_roff(".I ", c->inputs[i], "\n");
    if (c->output) printf(".BI \\-o \" OUTPUT.safetensors\"\n");
    printf(".YS\n");
}

static void print_roff_command(const struct command *c)
{
    char presence[64];
    print_roff(".SS ", c->declaration.name, "\n");
    print_roff("", c->declaration.summary, ".\n");
    if (c->what) print_roff(".PP\n", c->what, "\n");
    for (const struct option *o = c->declaration.options; o->name; o++) {
        print_roff(".TP\n.BI \\-\\-", o->name, " \" ");
        print_roff("", value_of(o), "\"\n");
        print_roff("", o->meaning, "\n");
        if (strcmp(presence_of(presence, sizeof presence, o), "optional")) print_roff("(", presence, ")\n");
    }
}

static void print_roff_entry(const struct declaration *d)
{
    print_roff(".TP\n.B ", d->name, "\n");
    print_roff("", d->summary, "\n");
}

static void print_manual(const struct command *const *commands)
{
    const struct command *const *c;
    const struct declaration *d;
    const struct network_table *t;
    printf(".TH TWICETOLD 1 \"\" \"twicetold %s\" \"User commands\"\n"
           ".SH NAME\ntwicetold \\- apply attention operators, naive or fast, to tensors in files\n"
           ".SH SYNOPSIS\n", TWICETOLD_VERSION);
    for (c = commands; *c; c++) print_roff_synopsis(*c);
    print_roff(".SH DESCRIPTION\n", about, ".SH COMMANDS\n");
    for (c = commands; *c; c++) print_roff_command(*c);
    printf(".SH OPERATORS, LAYERS AND NETWORKS\n");
    for (int o = 0; (d = operator_at(o)); o++) print_roff_entry(d);
    for (int l = 0; (d = layer_at(l)); l++) print_roff_entry(d);
    for (int n = 0; (t = network_at(n)); n++) print_roff(n ? ", " : ".PP\nNetworks: ", t->name, "");
    print_roff(".\n", "", rest);
    print_roff(".SH EXAMPLES\n.nf\n", examples, ".fi\n");
}

/* ---- help, and the answer to --help ------------------------------------------ */

static status print_topic(const struct command *const *commands, const char *name)
{
    const struct declaration *d = operator_find(name);
    const struct network_table *t = network_find(name);
    const struct command *c = command_find(commands, name);
    struct nearest n = {.found = name};
    if (d) print_operator(d, &apply_command);
    else if (c) print_command(c);
    else if (t) print_network(t, &network_command);
    if (d || c || t) return status_ok();
    for (; *commands; commands++) nearest_try(&n, (*commands)->declaration.name);
    for (int o = 0; (d = operator_at(o)); o++) nearest_try(&n, d->name);
    for (int l = 0; (d = layer_at(l)); l++) nearest_try(&n, d->name);
    for (int i = 0; (t = network_at(i)); i++) nearest_try(&n, t->name);
    return nearest_suggest(bad_input("found '%.40s', expected a command or a name that 'twicetold list' prints", name),
                           &n);
}

static status help(const struct call *c)
{
    if (problem_given(&c->options, "man")) print_manual(c->commands);
    else if (c->input[0]) return print_topic(c->commands, c->input[0]);
    else print_usage(c->commands);
    return status_ok();
}

const struct command help_command = {
    .declaration = {.name = "help",
            .summary = "describe a command, an operator (options, tensors, shapes), a layer or a network",
            .options = (const struct option[]){
                {.name = "man", .kind = OPTION_FLAG, .default_value = "", .meaning = "the manual page"}, {0}}},
    .inputs = {"[NAME]"},
    .run = help,
};

status print_help(const struct command *const *commands, const struct command *command, const struct words *w)
{
    const char *topic = w->count > 1 ? w->word[1] : "";
    const struct declaration *d = command && command->operator ? operator_find(topic) : NULL;
    const struct network_table *t = command && command->network ? network_find(topic) : NULL;
    if (d) print_operator(d, command);
    else if (t) print_network(t, command);
    else if (command == &help_command && *topic) return print_topic(commands, topic);
    else if (command) print_command(command);
    else print_usage(commands);
    return status_ok();
}
