/* twicetold.c -- the program: list, help, apply, tokens, spectrum, version
 *
 * The library returns statuses; only this file prints them.  Bad input gets
 * one line on stderr and exit status 2, a failing machine exit status 1. */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "operator.h"
#include "safetensors.h"
#include "shape.h"
#include "spectrum.h"
#include "tokens.h"

#ifndef TWICETOLD_VERSION
#define TWICETOLD_VERSION "1.0"
#endif

static const char usage[] =
    "usage: twicetold list\n"
    "       twicetold help [OPERATOR]\n"
    "       twicetold apply OPERATOR [--form FORM] [--KEY VALUE ...] INPUT.safetensors -o OUTPUT.safetensors\n"
    "       twicetold tokens --grid GRID --channels C [--batch B] [--images FILE] [--patch P] [--first I] [--seed S]\n"
    "                        -o OUTPUT.safetensors\n"
    "       twicetold spectrum INPUT.safetensors -o OUTPUT.safetensors\n"
    "       twicetold version\n";

/* ---- list and help --------------------------------------------------- */

static void print_forms(const struct declaration *d, const char *separator)
{
    for (int f = 0; f < OPERATOR_FORMS && d->forms[f]; f++)
        printf("%s%s", f ? separator : "", d->forms[f]->name);
}

static status list(void)
{
    for (int o = 0; operators[o]; o++) {
        printf("%-10s ", operators[o]->name);
        print_forms(operators[o], " ");
        printf("\n");
    }
    return status_ok();
}

/* How an option is typed, and what stands for it when it is not. */
static void print_option(const struct option *o)
{
    static const char *const value[] = {"N", "R", NULL, "GRID", "KERNEL", ""};
    char typed[64], otherwise[64] = "optional";
    snprintf(typed, sizeof typed, "--%s %s", o->name,
             o->kind != OPTION_CHOICE ? value[o->kind] : o->choices ? o->choices : "WORDS");
    if (!o->fallback && o->kind != OPTION_FLAG) strcpy(otherwise, "required");
    else if (o->fallback && *o->fallback) snprintf(otherwise, sizeof otherwise, "default %s", o->fallback);
    printf("  %-26s %-14s %s\n", typed, otherwise, o->meaning);
}

/* Blanks that bring a text to a width; a dot between letters is two bytes wide
 * and one column. */
static int pad(const char *text, int width)
{
    for (; *text; text++) width -= (*text & 0xc0) != 0x80;
    return width > 0 ? width : 0;
}

/* "equation=6|7" out of "equation=6|7 & variant=": that an option is not given
 * goes without saying. */
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
             t->optional ? "optional" : "", t->with ? ", with " : "", t->with ? t->with : "");
    printf("  %-10s %s%*s %-24s  %s\n", t->name, shape, pad(shape, 16), "", presence, t->meaning);
}

static status help(const char *name)
{
    if (!name) {
        fputs(usage, stdout);
        return status_ok();
    }
    const struct declaration *d = operator_find(name);
    if (!d) return bad_input("operator %.40s: not known, expected one that 'twicetold list' names", name);
    printf("%s: %s\n\n  twicetold apply %s [--form ", d->name, d->summary, d->name);
    print_forms(d, "|");
    printf("] [options] INPUT.safetensors -o OUTPUT.safetensors\n\noptions\n");
    for (const struct option *o = d->options; o->name; o++) print_option(o);
    printf("\ntensors in INPUT (F32 or F64)\n");
    for (const struct tensor_row *t = d->tensors; t->name; t++) print_tensor(t);
    char shape[80];
    shape_letters(shape, sizeof shape, d->output);
    printf("\ntensor in OUTPUT (%s)\n  %-10s %s\n", sizeof(real) == 8 ? "F64" : "F32", "y", shape);
    printf("\nB batch, N tokens of the grid, C channels, h heads, c = C/h channels per head,\n"
           "P entries of an offset table: the product of 2n - 1 over the axes of n points,\n"
           "M entries of the kernel: the product of its sizes.\n"
           "Other letters take the size that the file gives them.\n");
    return status_ok();
}

/* ---- apply ----------------------------------------------------------- */

/* The words of a command, sorted: files, a form, and what is the operator's. */
struct command {
    const char *input, *output, *form;
    int words;
    const char **word;          /* room for as many as the command line has */
};

static status set_once(const char **slot, const char *option, const char *value)
{
    if (*slot) return bad_input("option %s: given twice, expected once", option);
    if (!value) return bad_input("option %s: found no value, expected one", option);
    *slot = value;
    return status_ok();
}

/* The option that "--word" names, or NULL; no operator has no options. */
static const struct option *option_named(const struct declaration *d, const char *word)
{
    for (const struct option *o = d ? d->options : NULL; o && o->name; o++)
        if (!strcmp(o->name, word + 2)) return o;
    return NULL;
}

/* argv ends in NULL, so the word after the last is one. */
static status sort_words(struct command *c, const struct declaration *d, const char *const *argv)
{
    for (status s; *argv; argv++) {
        if (!strcmp(*argv, "-o")) {
            if ((s = set_once(&c->output, "-o", argv[1])).code) return s;
            argv++;
        } else if (!strcmp(*argv, "--form")) {
            if ((s = set_once(&c->form, "--form", argv[1])).code) return s;
            argv++;
        } else if (!strncmp(*argv, "--", 2)) {
            const struct option *o = option_named(d, *argv);
            if (!o) return bad_input("found '%.60s', expected an option of this command", *argv);
            c->word[c->words++] = *argv;
            if (o->kind != OPTION_FLAG && argv[1]) c->word[c->words++] = *++argv;
        } else if (c->input) {
            return bad_input("found a second input '%.60s', expected one", *argv);
        } else {
            c->input = *argv;
        }
    }
    if (!c->input) return bad_input("input: missing, expected INPUT.safetensors");
    if (!c->output) return bad_input("option -o: missing, expected -o OUTPUT.safetensors");
    if (same_file(c->input, c->output))
        return bad_input("output: found the input's own path '%.100s', expected another", c->output);
    return status_ok();
}

/* Runs a bound problem and leaves its result in y, which the caller releases. */
static status compute(struct tensor *y, const struct problem *p, const struct form *form, const real *x)
{
    int axes;
    size_t size[TENSOR_AXES];
    struct plan plan;
    status s = problem_output_shape(p, &axes, size);
    if (s.code) return s;
    if ((s = tensor_create(y, "y", axes, size)).code) return s;
    if ((s = plan_create(&plan, p, form, omp_get_max_threads())).code) return s;
    s = plan_run(&plan, y->data, x);
    plan_release(&plan);
    return s;
}

static status apply_sorted(const struct declaration *d, struct command *c, const char *const *argv)
{
    struct problem p;
    struct tensors file = {0};
    struct tensor y = {0};
    status s = sort_words(c, d, argv);
    if (s.code) return s;

    /* Step 1: the form and the options, before any file is touched. */
    const char *name = c->form ? c->form : "fast";
    const struct form *form = operator_form(d, name);
    if (!form)
        return bad_input("option --form: found '%.40s', which is not built in; expected one that 'twicetold list' names for %s",
                         name, d->name);
    if ((s = problem_create(&p, d, c->words, c->word)).code) return s;

    /* Step 2: read, bind, compute, write; whatever happens, let go. */
    s = safetensors_read(&file, c->input);
    if (!s.code) s = problem_bind(&p, &file);
    if (!s.code) s = compute(&y, &p, form, problem_tensor(&p, "x"));
    if (!s.code) s = safetensors_write(c->output, &y, 1);
    tensor_release(&y);
    tensors_release(&file);
    return s;
}

static status apply(int argc, const char *const *argv)
{
    if (argc < 1) return bad_input("apply: found no operator, expected one that 'twicetold list' names");
    const struct declaration *d = operator_find(argv[0]);
    if (!d) return bad_input("operator %.40s: not known, expected one that 'twicetold list' names", argv[0]);
    struct command c = {.word = calloc((size_t)argc, sizeof *c.word)};
    status s = c.word ? apply_sorted(d, &c, argv + 1) : out_of_memory("the command line");
    free(c.word);
    return status_at(s, d->name);
}

/* ---- tokens and spectrum --------------------------------------------- */

/* The options of `tokens`, declared like an operator's. */
static const struct option token_options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    {.name = "channels", .kind = OPTION_INTEGER, .low = 1, .high = 65536, .letter = "C", .meaning = "channels of a token"},
    {.name = "batch", .kind = OPTION_INTEGER, .fallback = "1", .low = 1, .high = 65536, .letter = "B", .meaning = "images"},
    {.name = "images", .kind = OPTION_CHOICE, .fallback = "", .meaning = "an IDX file, gzipped or not, or a PNG"},
    {.name = "patch", .kind = OPTION_INTEGER, .fallback = "4", .low = 1, .high = 64, .meaning = "pixels along a patch"},
    {.name = "first", .kind = OPTION_INTEGER, .fallback = "0", .low = 0, .high = 1e9, .meaning = "the first image taken"},
    {.name = "seed", .kind = OPTION_INTEGER, .fallback = "1", .low = 0, .high = 1e9, .meaning = "of the projection and the noise"},
    {0}
};
static const struct declaration token_maker = {.name = "tokens", .options = token_options};

static status tokens_sorted(struct command *c, const char *const *argv)
{
    struct problem p;
    struct tensor x = {0};
    char origin[200];
    status s = status_ok();

    /* Step 1: sort the words; there is no input file, so its slot must stay empty. */
    for (; *argv && !s.code; argv++) {
        if (!strcmp(*argv, "-o")) {
            s = set_once(&c->output, "-o", argv[1]);
            if (!s.code) argv++;
        } else c->word[c->words++] = *argv;
    }
    if (s.code || (s = problem_create(&p, &token_maker, c->words, c->word)).code) return s;
    if (!c->output) return bad_input("option -o: missing, expected -o OUTPUT.safetensors");

    /* Step 2: make them, say of what, write them. */
    struct token_source source = {
        .kind = problem_given(&p, "images") ? TOKENS_IMAGES : TOKENS_IMAGES_OR_NOISE,
        .path = problem_given(&p, "images") ? problem_text(&p, "images") : NULL,
        .patch = (size_t)problem_number(&p, "patch"),
        .first = (size_t)problem_number(&p, "first"),
        .seed = (uint64_t)problem_number(&p, "seed"),
    };
    size_t size[] = {problem_size(&p, "B"), p.grid.tokens, problem_size(&p, "C")};
    s = tensor_create(&x, "x", 3, size);
    if (!s.code) s = tokens_make(x.data, size[0], &p.grid, size[2], &source, origin, sizeof origin);
    if (!s.code) s = safetensors_write(c->output, &x, 1);
    if (!s.code) printf("%s\n", origin);
    tensor_release(&x);
    return s;
}

static status tokens(int argc, const char *const *argv)
{
    struct command c = {.word = calloc((size_t)argc + 1, sizeof *c.word)};
    status s = c.word ? tokens_sorted(&c, argv) : out_of_memory("the command line");
    free(c.word);
    return status_at(s, "tokens");
}

static status spectrum_sorted(struct command *c, const char *const *argv)
{
    struct tensors file = {0};
    struct tensor out = {0};
    status s = sort_words(c, NULL, argv);
    if (s.code) return s;
    if (c->form) return bad_input("option --form: not of this command, expected none");
    if ((s = safetensors_read(&file, c->input)).code) return s;
    const struct tensor *y = tensors_find(&file, "y");
    char found[120];
    if (!y || file.count != 1)
        s = bad_input("tensor y: found %zu tensors%s, expected y alone", file.count, y ? "" : " and not y");
    else if (y->axes != 4)
        s = bad_input("tensor y: found %s, expected [B, H, W, C]", shape_text(found, sizeof found, y->axes, y->size));
    else if (!(s = tensor_create(&out, "y", 3, (size_t[]){y->size[3], y->size[1], y->size[2]})).code)
        s = spectrum(out.data, y->data, y->size[0], y->size[1], y->size[2], y->size[3]);
    if (!s.code) s = safetensors_write(c->output, &out, 1);
    tensor_release(&out);
    tensors_release(&file);
    return s;
}

static status spectrum_of_file(int argc, const char *const *argv)
{
    struct command c = {.word = calloc((size_t)argc + 1, sizeof *c.word)};
    status s = c.word ? spectrum_sorted(&c, argv) : out_of_memory("the command line");
    free(c.word);
    return status_at(s, "spectrum");
}

/* ---- the program ----------------------------------------------------- */

static status dispatch(int argc, const char *const *argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    if (!strcmp(command, "apply")) return apply(argc - 2, argv + 2);
    if (!strcmp(command, "tokens")) return tokens(argc - 2, argv + 2);
    if (!strcmp(command, "spectrum")) return spectrum_of_file(argc - 2, argv + 2);
    if (!strcmp(command, "list") && argc == 2) return list();
    if (!strcmp(command, "help") && argc <= 3) return help(argc == 3 ? argv[2] : NULL);
    if (!strcmp(command, "version") && argc == 2) {
        printf("twicetold %s, %s\n", TWICETOLD_VERSION, REAL_NAME);
        return status_ok();
    }
    return bad_input("found '%.40s', expected list, help, apply, tokens, spectrum or version ('twicetold help')", command);
}

int main(int argc, char **argv)
{
    status s = dispatch(argc, (const char *const *)argv);
    if (!s.code && fflush(stdout)) s = failure("standard output: cannot be written");
    if (s.code) fprintf(stderr, "twicetold: %s\n", s.message);
    return s.code;
}
