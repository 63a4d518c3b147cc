/* measure_command.c -- the command that starts the program measure
 *
 * measure.c is a program of its own, because it is linked with naive and plain forms that are not vectorised. */

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "command.h"
#include "devices.h"

status measure_start(char *const *argv)
{
    char path[2200];
    if (!program_file(path, sizeof path, (const char *const[]){"measure", "../libexec/twicetold-measure", NULL}))
        return failure("measure: the program measure is neither next to twicetold nor in ../libexec");
    execv(path, argv);
    return failure("measure: %.150s: %s", path, strerror(errno));
}

static const struct option options[] = {
    {.name = "channels", .kind = OPTION_INTEGER, .low = 1, .high = 1e6, .value = "C", .meaning = "channels of a token"},
    {.name = "batch", .kind = OPTION_INTEGER, .default_value = "1", .low = 1, .high = 1e6, .meaning = "images"},
    {.name = "form", .kind = OPTION_CHOICE, .default_value = "", .value = "FORM",
     .meaning = "one or several forms (all; with --device also all CUDA versions)"},
    {.name = "threads", .kind = OPTION_INTEGER, .default_value = "1", .low = 1, .high = PLAN_THREADS,
     .meaning = "one or several numbers of threads; all combinations, also of several grids, are measured"},
    {.name = "judge", .kind = OPTION_CHOICE, .default_value = "", .value = "FORM",
     .meaning = "a form to compare with, run before and after, and not timed (the first that is timed)"},
    {.name = "device", .kind = OPTION_CHOICE, .default_value = "", .value = "N",
     .meaning = "the CUDA device of the forms cuda, cuda1, ... (0)"},
    OPTIONS_SIZES,
    {.name = "images", .kind = OPTION_CHOICE, .default_value = "", .value = "FILE", .meaning = "the same as IMAGE"},
    {.name = "repeats", .kind = OPTION_INTEGER, .default_value = "9", .low = 1, .high = 1e5,
     .meaning = "timed runs; if only --seconds is given, as many as fit"},
    {.name = "seconds", .kind = OPTION_REAL, .default_value = "", .meaning = "time for the runs of one combination"},
    {.name = "max-seconds", .kind = OPTION_REAL, .default_value = "",
     .meaning = "leave out forms whose run is expected to take longer, judging by the last grid"},
    {.name = "max-memory", .kind = OPTION_CHOICE, .default_value = "", .value = "BYTES",
     .meaning = "leave out what needs more, as 512M or 8G (3/4 of the free memory); an error if nothing fits"},
    {.name = "keep", .kind = OPTION_CHOICE, .default_value = "", .value = "FILE",
     .meaning = "write x, the parameters and y of one timed run, chosen at random, as safetensors"},
    {.name = "tsv", .kind = OPTION_FLAG, .meaning = "tab-separated values also on a terminal"},
    {.name = "yes", .kind = OPTION_FLAG, .meaning = "also measure what takes hours; left out on a terminal"},
    {0}
};

const struct command measure_command = {
    .declaration = {.name = "measure", .summary = "time the forms of an operator, and count their memory",
                    .options = options},
    .what = "Times are those of one run on the whole batch: median and quartiles. If other programs disturb most\n"
            "runs, there are none. Memory does not include x, y and the parameters. IMAGE is what x is cut from.",
    .operator = true,
    .inputs = {"[IMAGE]"},
};
