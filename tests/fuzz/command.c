/* command.c -- fuzz target: a command of the program, in this process
 *
 * The bytes are words, one per line, up to an empty line, then the file "in".  "drawn" is a file of random tensors for
 * the operator and options in the words.  Bytes are skipped if a word has a slash or a limit is large. */

#define main twicetold_main
#include "../../reference/cli/twicetold.c"      /* NOLINT(bugprone-suspicious-include): its main is renamed */
#undef main

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../../reference/runtime/bytes.h"
#include "fuzz.h"

#define WORDS 64
#define MEMORY "4M"
#define WORK "1e6"

/* Splits lines into words; *file is the offset of the file. */
static int cut(const char *word[], char *text, size_t size, size_t *file)
{
    int words = 0;
    size_t begin = 0, at = 0;
    for (; at < size && words < WORDS; at++) {
        if (text[at] != '\n' && text[at] != '\0') continue;
        if (at == begin) break;
        text[at] = '\0';
        word[words++] = text + begin;
        begin = at + 1;
    }
    *file = at < size ? at + 1 : size;
    return words;
}

/* False for words that lead out of the folder or may take long. */
static bool harmless(const char *word, const char *before)
{
    size_t bytes, most;
    if (strchr(word, '/') || strlen(word) > 200) return false;
    const char *value = strchr(word, '=');
    const char *key = value ? word : before;
    value = value ? value + 1 : word;
    if (!strncmp(key, "--max-memory", 12) && !bytes_allowed(&most, MEMORY).code)
        return bytes_allowed(&bytes, value).code || bytes <= most;
    if (!strncmp(key, "--max-work", 10)) return strtod(value, NULL) <= strtod(WORK, NULL);
    if (!strncmp(key, "--threads", 9)) return strlen(value) == 1;
    return true;
}

/* The output that an option names: -o FILE, -oFILE, -o=FILE, --output FILE or --output=FILE; or NULL. */
static const char *named_output(const char *word, const char *next)
{
    if (!strcmp(word, "-o") || !strcmp(word, "--output")) return next;
    if (!strncmp(word, "-o", 2)) return word + 2 + (word[2] == '=');
    return strncmp(word, "--output=", 9) ? NULL : word + 9;
}

/* Writes "drawn" for the operator and options of `apply`, if small. */
static void write_tensors(const char *const *word, int words)
{
    struct problem p;
    const char *list[WORDS];
    struct bytes sizes = {(const uint8_t[]){2, 4, 1, 3, 6}, 5};
    int taken = 0;
    const struct declaration *d = words > 1 ? operator_find(word[1]) : NULL;
    if (!d) return;
    for (int w = 2; w < words; w++)
        if (!strncmp(word[w], "--", 2) && declaration_option(d, word[w] + 2) >= 0) {
            list[taken++] = word[w];
            if (d->options[declaration_option(d, word[w] + 2)].kind != OPTION_FLAG && w + 1 < words)
                list[taken++] = word[++w];
        }
    status s = choose_sizes(&p, d, (struct problem_sizes){.words = taken, .word = list, .batch = 2, .channels = 12},
                            &sizes);
    if (s.code || problem_parameters(&p) > 40000 || problem_input_count(&p) > 20000) return;

    real *block = NULL, *x = memory_reals(problem_input_count(&p), 1, 1, 1);
    struct tensor all[PROBLEM_TENSORS];
    if (x) s = problem_draw(&p, 1, &block);
    for (size_t n = 0; n < problem_input_count(&p) && x; n++) x[n] = (real)(n % 7) - 3;
    p.tensor[0].data = x;
    if (x && !s.code) (void)safetensors_write("drawn", all, problem_list(all, &p));
    memory_free(block);
    memory_free(x);
}

/* Runs the command; discards standard output. */
static status perform_words(const char *const *word, int words)
{
    struct words w;
    status s = words_take(&w, words, word);
    int shown = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fflush(stdout);
    dup2(nowhere, STDOUT_FILENO);
    if (!s.code) s = dispatch(&w);
    fflush(stdout);
    dup2(shown, STDOUT_FILENO);
    close(shown);
    close(nowhere);
    words_release(&w);
    return s;
}

/* A fault unless the file still has these bytes. */
static const char *unchanged(const char *name, const uint8_t *bytes, size_t size)
{
    FILE *f = fopen(name, "rb");
    size_t same = 0;
    while (f && same < size && getc(f) == bytes[same]) same++;
    bool all = f && same == size && getc(f) == EOF;
    if (f) fclose(f);
    return all ? NULL : wrong("%s has changed", name);
}

const char *fuzz_command(const uint8_t *bytes, size_t size)
{
    const char *word[WORDS + 4], *fault = NULL, *output = NULL;
    size_t file;
    bool most_memory = false, most_work = false;

    /* Step 1: split the words; add limits of memory and work. */
    char *text = malloc(size + 2);
    if (!text) return NULL;
    memcpy(text, bytes, size);
    text[size] = '\n';
    int words = cut(word, text, size + 1, &file), given = words;
    for (int w = 0; w < words; w++) {
        if (!harmless(word[w], w ? word[w - 1] : "")) {
            free(text);
            return NULL;
        }
        most_memory |= !strncmp(word[w], "--max-memory", 12);
        most_work |= !strncmp(word[w], "--max-work", 10);
        const char *named = named_output(word[w], w + 1 < words ? word[w + 1] : NULL);
        if (named) output = named;
    }
    const struct command *command = words ? command_find(commands, word[0]) : NULL;
    if (command && !most_memory && declaration_option(&command->declaration, "max-memory") >= 0)
        word[words++] = "--max-memory=" MEMORY;
    if (command && !most_work && declaration_option(&command->declaration, "max-work") >= 0)
        word[words++] = "--max-work=" WORK;

    /* Step 2: write the files and run the command. */
    if (file < size) fault = write_file("in", bytes + file, size - file);
    write_tensors(word, given);
    status s = {0};
    if (!fault) s = perform_words(word, words);
    if (!fault) fault = wrong_status(s);

    /* Step 3: an output file exists only after success; "in" changes only if it is the output. */
    struct stat found;
    if (!fault && s.code && output && strcmp(output, "in") && strcmp(output, "drawn") && !stat(output, &found)
        && S_ISREG(found.st_mode))
        fault = wrong("an error (%.200s), and %.40s is written", s.message, output);
    bool replaced = !s.code && output && !strcmp(output, "in");
    if (!fault && file < size && !replaced) fault = unchanged("in", bytes + file, size - file);
    if (output && !s.code) unlink(output);
    free(text);
    return fault;
}
