/* command.h -- the commands of the program
 *
 * A command is declared like an operator, with a table of options.  Help and completion read that table, too.
 * twicetold.c has the list of commands. */

#pragma once
#include "../io/npy.h"
#include "../networks/operators.h"
#include "../networks/network.h"
#include "../runtime/sizes.h"
#include "words.h"

/* A parsed command line. */
struct call {
    const struct command *const *commands;      /* all commands; NULL at the end */
    const struct command *command;
    const struct declaration *operator;         /* or NULL */
    const struct network_table *network;        /* or NULL */
    int words;
    const char **word;                          /* the operator's options */
    struct problem options;                     /* the command's options */
    const char *input[2], *output;
    const char **file;                          /* all inputs of a command that takes many */
    int files;
    const char **repeated;                      /* values of the option that may be repeated */
    int repetitions;
};

struct command {
    struct declaration declaration;             /* name, summary, options */
    const char *what;                           /* more text for help; or NULL */
    bool operator;                              /* its first word is an operator, whose options it takes */
    bool network;                               /* its first word is a network */
    const char *inputs[2];                      /* names of its files for help; one in [ ] is optional */
    bool many;                                  /* takes any number of the first input */
    bool output;                                /* writes a file, -o */
    const char *repeats;                        /* an option that may be given several times; or NULL */
    status (*run)(const struct call *);         /* NULL for measure */
};

extern const struct command list_command, help_command, apply_command, tokens_command,
    parameters_command, verify_command, measure_command, compare_command, spectrum_command, resample_command,
    network_command;

/* Replaces the process by the program measure with these words; returns only if that fails (measure_command.c). */
status measure_start(char *const *argv);

/* The command of that name, or NULL. */
const struct command *command_find(const struct command *const *commands, const char *name);

/* The value of --threads, or the library's default. */
int call_threads(const struct call *c);

/* The value of an option of the command; `missing` if it is not given and has no default. */
const char *option_text(const struct call *c, const char *option, const char *missing);

/* Says on stderr which tensors of a file were left out, if any. */
void print_ignored(const struct safetensors *file, const char *path);

/* Where a command that writes tensors to this path prints: stderr if they go to a stream. */
FILE *printed_beside(const char *path);

/* The sizes from the operator's options, --channels, --batch and OPTIONS_SIZES. */
struct problem_sizes call_sizes(const struct call *c);

/* The value of --max-work, or the default for this --device (apply.c). */
double work_allowed(const struct call *c);

/* Makes x and random parameters of a problem with sizes, by OPTIONS_IMAGES (tokens.c).  The caller frees
 * p->tensor[0].data and *block.  --max-memory limits the bytes of these and of `more` reals. */
#define ORIGIN_TEXT 200
status draw_input(struct problem *p, const struct call *c, size_t more, real **block, char origin[ORIGIN_TEXT]);

#define OPTION_MAX_MEMORY \
    {.name = "max-memory", .kind = OPTION_CHOICE, .default_value = "", .value = "BYTES", \
     .meaning = "stop before work begins if it needs more; as 512M or 8G (3/4 of the free memory)"}
#define OPTION_MAX_WORK \
    {.name = "max-work", .kind = OPTION_REAL, .default_value = "", .low = 1, .high = 1e300, .value = "N", \
     .meaning = "stop before work begins if it needs more multiply-adds (1e13, which take hours; emulated 1e9)"}
#define OPTION_THREADS \
    {.name = "threads", .kind = OPTION_INTEGER, .default_value = "", .low = 1, .high = PLAN_THREADS, \
     .meaning = "number of threads (all cores)"}
#define OPTION_DEVICE \
    {.name = "device", .kind = OPTION_CHOICE, .default_value = "", .value = "N", \
     .meaning = "where the forms cuda, cuda1, ... run: a CUDA device (0), or host, which emulates sm_90, slowly, " \
                "or host:sm_75, host:sm_80, host:sm_86, host:sm_120"}
#define OPTIONS_TOKENS \
    {.name = "channels", .kind = OPTION_INTEGER, .low = 1, .high = 65536, .letter = "C", .value = "C", \
     .meaning = "channels of a token"}, \
    {.name = "batch", .kind = OPTION_INTEGER, .default_value = "1", .low = 1, .high = 65536, .letter = "B", \
     .value = "B", .meaning = "images"}, \
    OPTIONS_IMAGES
#define OPTIONS_IMAGES \
    {.name = "images", .kind = OPTION_CHOICE, .default_value = "", .value = "FILE", \
     .meaning = "the same as IMAGE: IDX, gzipped or not, or a picture (Fashion-MNIST; noise without it)"}, \
    {.name = "patch", .kind = OPTION_INTEGER, .default_value = "4", .low = 1, .high = 64, \
     .meaning = "pixels along a patch"}, \
    {.name = "first", .kind = OPTION_INTEGER, .default_value = "0", .low = 0, .high = 1e9, \
     .meaning = "the first image taken"}, \
    {.name = "seed", .kind = OPTION_INTEGER, .default_value = "1", .low = 0, .high = 1e9, \
     .meaning = "of all random numbers: same seed, same bytes"}
#define OPTIONS_SIZES \
    {.name = "sizes", .kind = OPTION_CHOICE, .default_value = "", .value = "LETTER=n,...", \
     .meaning = "sizes that grid and channels leave open"}, \
    {.name = "without", .kind = OPTION_CHOICE, .default_value = "", .value = "NAME,...", \
     .meaning = "optional tensors to leave out"}, \
    {.name = "grid", .kind = OPTION_GRID, .default_value = "", .low = 1, .high = 3, \
     .meaning = "the grid of the tokens, for operators without this option"}

/* Prints the answer to --help after these words.  command is NULL if they do not begin with one. */
status print_help(const struct command *const *commands, const struct command *command, const struct words *w);

void print_completions(const struct command *const *commands, int count, const char *const *word);
