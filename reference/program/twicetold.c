/* twicetold.c -- the program: list, help, apply, tokens, spectrum, version
 *
 * The library returns statuses; only this file prints them.  Bad input gets
 * one line on stderr and exit status 2, a failing machine exit status 1. */

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../bytes.h"
#include "../forms.h"
#include "../lookup.h"
#include "../shape.h"
#include "../instruments/safetensors.h"
#include "../instruments/spectrum.h"
#include "../instruments/tokens.h"

#ifndef TWICETOLD_VERSION
#define TWICETOLD_VERSION "1.0"
#endif

static const char usage[] =
    "usage: twicetold list\n"
    "       twicetold help [OPERATOR]\n"
    "       twicetold apply OPERATOR [--form FORM] [--KEY VALUE ...] [--max-memory BYTES]\n"
    "                        INPUT.safetensors -o OUTPUT.safetensors\n"
    "       twicetold tokens --grid GRID --channels C [--batch B] [--images FILE] [--patch P] [--first I] [--seed S]\n"
    "                        [--max-memory BYTES] -o OUTPUT.safetensors\n"
    "       twicetold spectrum INPUT.safetensors -o OUTPUT.safetensors\n"
    "       twicetold version\n"
    "  --max-memory  what needs more is refused before work begins; bytes, as 512M or 8G (3/4 of what is free)\n";

/* ---- list and help --------------------------------------------------- */

static void print_forms(const struct declaration *d, const char *separator)
{
    const struct form *form;
    for (int f = 0; (form = operator_form_at(d, f)); f++) printf("%s%s", f ? separator : "", form->name);
}

static status list(void)
{
    const struct declaration *d;
    for (int o = 0; (d = operator_at(o)); o++) {
        printf("%-10s ", d->name);
        print_forms(d, " ");
        printf("\n");
    }
    return status_ok();
}

/* How an option is typed, and what stands for it when it is not. */
static void print_option(const struct option *o)
{
    static const char *const value[] = {
        [OPTION_INTEGER] = "N", [OPTION_REAL] = "R", [OPTION_GRID] = "GRID", [OPTION_KERNEL] = "KERNEL",
        [OPTION_FLAG] = "",
    };
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
    printf("] [options] [--max-memory BYTES] INPUT.safetensors -o OUTPUT.safetensors\n\noptions\n");
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

/* ---- the words of a command ------------------------------------------- */

/* A command, sorted: files, what every such command takes, and what its
 * declaration says, which is an operator's or the command's own. */
struct command {
    const struct declaration *declaration;
    const char *input, *output, *form, *max_memory;
    int words;
    const char **word;          /* room for as many as the command line has */
};

/* What a command takes beside -o and the options of its declaration. */
struct job {
    const char *name;
    const struct declaration *declaration;      /* NULL: of the operator that the first word names */
    bool input, form, max_memory;
    status (*run)(const struct command *);
};

/* Takes the value of an option, which is argv[1]; argv ends in NULL. */
static status set_once(const char **slot, const char *const *argv)
{
    if (*slot) return bad_input("option %s: given twice, expected once", argv[0]);
    if (!argv[1]) return bad_input("option %s: found no value, expected one", argv[0]);
    *slot = argv[1];
    return status_ok();
}

static status sort_words(struct command *c, const struct job *job, const char *const *argv)
{
    const struct { const char *option; const char **slot; bool taken; } own[] = {
        {"-o", &c->output, true}, {"--form", &c->form, job->form},
        {"--max-memory", &c->max_memory, job->max_memory},
    };
    status s = status_ok();

    for (; !s.code && *argv; argv++) {
        const char **slot = NULL;
        int o = strncmp(*argv, "--", 2) ? -1 : declaration_option(c->declaration, *argv + 2);
        for (size_t n = 0; n < sizeof own / sizeof *own; n++)
            if (own[n].taken && !strcmp(*argv, own[n].option)) slot = own[n].slot;
        if (slot) {
            s = set_once(slot, argv);
            argv++;
        } else if (o >= 0) {
            c->word[c->words++] = *argv;
            if (c->declaration->options[o].kind != OPTION_FLAG && argv[1]) c->word[c->words++] = *++argv;
        } else if (!job->input || !strncmp(*argv, "--", 2)) {
            s = bad_input("found '%.60s', expected an option of this command", *argv);
        } else {
            if (c->input) s = bad_input("found a second input '%.60s', expected one", *argv);
            c->input = *argv;
        }
    }
    if (s.code) return s;
    if (job->input && !c->input) return bad_input("input: missing, expected INPUT.safetensors");
    if (!c->output) return bad_input("option -o: missing, expected -o OUTPUT.safetensors");
    if (c->input && same_file(c->input, c->output))
        return bad_input("output: found the input's own path '%.100s', expected another", c->output);
    return status_ok();
}

static status perform(const struct job *job, int argc, const char *const *argv)
{
    struct command c = {.declaration = job->declaration};
    if (!c.declaration) {
        if (argc < 1) return bad_input("%s: found no operator, expected one that 'twicetold list' names", job->name);
        c.declaration = operator_find(*argv);
        if (!c.declaration)
            return bad_input("operator %.40s: not known, expected one that 'twicetold list' names", *argv);
        argv++;
    }
    c.word = calloc((size_t)argc + 1, sizeof *c.word);
    status s = c.word ? sort_words(&c, job, argv) : out_of_memory("the command line");
    if (!s.code) s = job->run(&c);
    free(c.word);
    return status_at(s, c.declaration->name);
}

/* ---- apply ----------------------------------------------------------- */

/* All that will be in memory: what is there, the tensors of the file, y, and
 * what the plan asked for. */
static status fits(const struct plan *plan, const struct tensors *file, size_t allowed)
{
    size_t needed = memory_in_use();
    for (size_t t = 0; t < file->count; t++) size_add(&needed, file->tensor[t].count, sizeof(real));
    size_add(&needed, problem_output_count(plan->problem), sizeof(real));
    size_add(&needed, room_bytes(&plan->room), 1);
    return bytes_fit(needed, allowed);
}

/* Runs a loaded plan and leaves its result in y, which the caller releases. */
static status compute(struct tensor *y, struct plan *plan)
{
    int axes;
    size_t size[TENSOR_AXES];
    status s = problem_output_shape(plan->problem, &axes, size);
    if (!s.code) s = tensor_create(y, "y", axes, size);
    return s.code ? s : plan_run(plan, y->data, problem_tensor(plan->problem, "x"));
}

static status apply(const struct command *c)
{
    const struct declaration *d = c->declaration;
    struct problem p;
    struct plan plan = {0};
    struct safetensors file = {0};
    struct tensor y = {0};
    size_t allowed;

    /* Step 1: the form and the options, before any file is touched. */
    const char *name = c->form ? c->form : "fast";
    const struct form *form = operator_form(d, name);
    if (!form)
        return bad_input("option --form: found '%.40s', which is not built in; expected one that 'twicetold list' names"
                         " for %s", name, d->name);
    status s = bytes_allowed(&allowed, c->max_memory);
    if (s.code || (s = problem_create(&p, d, c->words, c->word)).code) return s;

    /* Step 2: what is in the file, and whether there is memory for it. */
    s = safetensors_open(&file, c->input);
    if (!s.code) s = problem_bind(&p, &file.tensors);
    if (!s.code) s = plan_prepare(&plan, &p, form, omp_get_max_threads());
    if (!s.code) s = fits(&plan, &file.tensors, allowed);

    /* Step 3: read, compute, write; whatever happens, let go. */
    if (!s.code) s = safetensors_load(&file);
    if (!s.code) s = problem_bind(&p, &file.tensors);
    if (!s.code) s = plan_place(&plan, NULL);
    if (!s.code) s = plan_load(&plan);
    if (!s.code) s = compute(&y, &plan);
    if (!s.code) s = safetensors_write(c->output, &y, 1);
    plan_release(&plan);
    tensor_release(&y);
    safetensors_close(&file);
    return s;
}

/* ---- tokens and spectrum --------------------------------------------- */

/* The options of `tokens`, declared like an operator's. */
static const struct option token_options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "the token grid: N, HxW or TxHxW"},
    {.name = "channels", .kind = OPTION_INTEGER, .low = 1, .high = 65536, .letter = "C",
     .meaning = "channels of a token"},
    {.name = "batch", .kind = OPTION_INTEGER, .fallback = "1", .low = 1, .high = 65536, .letter = "B",
     .meaning = "images"},
    {.name = "images", .kind = OPTION_CHOICE, .fallback = "", .meaning = "an IDX file, gzipped or not, or a PNG"},
    {.name = "patch", .kind = OPTION_INTEGER, .fallback = "4", .low = 1, .high = 64, .meaning = "pixels along a patch"},
    {.name = "first", .kind = OPTION_INTEGER, .fallback = "0", .low = 0, .high = 1e9,
     .meaning = "the first image taken"},
    {.name = "seed", .kind = OPTION_INTEGER, .fallback = "1", .low = 0, .high = 1e9,
     .meaning = "of the projection and the noise"},
    {0}
};
static const struct declaration token_maker = {.name = "tokens", .options = token_options};

static status tokens(const struct command *c)
{
    struct problem p;
    struct tensor x;
    char origin[200];
    size_t allowed, needed;

    /* Step 1: what they are made of, and whether there is memory for them; what a
     * file brings is known when it is open. */
    status s = bytes_allowed(&allowed, c->max_memory);
    if (s.code || (s = problem_create(&p, &token_maker, c->words, c->word)).code) return s;
    struct token_source source = {
        .kind = problem_given(&p, "images") ? TOKENS_IMAGES : TOKENS_IMAGES_OR_NOISE,
        .path = problem_given(&p, "images") ? problem_text(&p, "images") : NULL,
        .patch = (size_t)problem_number(&p, "patch"),
        .first = (size_t)problem_number(&p, "first"),
        .seed = (uint64_t)problem_number(&p, "seed"),
    };
    size_t size[] = {problem_size(&p, "B"), p.grid.tokens, problem_size(&p, "C")};
    if ((s = tokens_bytes(&needed, &p.grid, size[2], &source)).code) return s;
    size_add(&needed, size[0] * size[1], size[2] * sizeof(real));
    if ((s = bytes_fit(needed, allowed)).code) return s;
    memory_set_limit(allowed);

    /* Step 2: make them, write them, say what they are. */
    s = tensor_create(&x, "x", 3, size);
    if (!s.code) s = tokens_make(x.data, size[0], &p.grid, size[2], &source, origin, sizeof origin);
    if (!s.code) s = safetensors_write(c->output, &x, 1);
    if (!s.code) printf("%s\n", origin);
    tensor_release(&x);
    return s;
}

static const struct option no_options[] = {{0}};
static const struct declaration spectrum_maker = {.name = "spectrum", .options = no_options};

static status spectrum_of_file(const struct command *c)
{
    struct tensors file;
    struct tensor out = {0};
    char found[120];
    status s = safetensors_read(&file, c->input);
    if (s.code) return s;
    const struct tensor *y = tensors_find(&file, "y");
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

/* ---- the program ----------------------------------------------------- */

static const struct job jobs[] = {
    {.name = "apply", .input = true, .form = true, .max_memory = true, .run = apply},
    {.name = "tokens", .declaration = &token_maker, .max_memory = true, .run = tokens},
    {.name = "spectrum", .declaration = &spectrum_maker, .input = true, .run = spectrum_of_file},
};

static status dispatch(int argc, const char *const *argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++)
        if (!strcmp(command, jobs[j].name)) return perform(&jobs[j], argc - 2, argv + 2);
    if (!strcmp(command, "list") && argc == 2) return list();
    if (!strcmp(command, "help") && argc <= 3) return help(argc == 3 ? argv[2] : NULL);
    if (!strcmp(command, "version") && argc == 2) {
        printf("twicetold %s, %s\n", TWICETOLD_VERSION, REAL_NAME);
        return status_ok();
    }
    return bad_input("found '%.40s', expected list, help, apply, tokens, spectrum or version ('twicetold help')",
                     command);
}

int main(int argc, char **argv)
{
    status s = dispatch(argc, (const char *const *)argv);
    if (!s.code && fflush(stdout)) s = failure("standard output: cannot be written");
    if (s.code) fprintf(stderr, "twicetold: %s\n", s.message);
    return s.code;
}
