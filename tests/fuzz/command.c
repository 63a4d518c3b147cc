/* command.c -- the whole program in this process, given any words
 *
 * The bytes are words, one a line, up to an empty line; what follows is the file "in".
 * "drawn" is a file for the operator that the second word names, with the options that
 * follow it.  Paths lie in a folder of one's own: what a slash leads out of it is not
 * tried, nor what may take long. */

#define main twicetold_main
#include "../../reference/program/twicetold.c"      /* NOLINT(bugprone-suspicious-include): its main, by another name */
#undef main

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../../reference/bytes.h"
#include "../../reference/outline.h"
#include "fuzz.h"

#define WORDS 64
#define MEMORY "4M"
#define WORK "1e6"

/* Cuts lines into words, and says where the file begins. */
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

/* Whether a word is harmless here. */
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

/* Small tensors, for the operator and options of apply. */
static void draw(const char *const *word, int words)
{
    struct problem p;
    char sizes[80] = "";
    const char *list[WORDS], *letters[] = {"3", "5", "2", "4", "7"};
    char letter[4];
    int taken = 0;
    const struct declaration *d = words > 1 ? operator_find(word[1]) : NULL;
    if (!d) return;
    for (int w = 2; w < words; w++)
        if (!strncmp(word[w], "--", 2) && declaration_option(d, word[w] + 2) >= 0) {
            list[taken++] = word[w];
            if (d->options[declaration_option(d, word[w] + 2)].kind != OPTION_FLAG && w + 1 < words)
                list[taken++] = word[++w];
        }
    struct outline o = {.words = taken, .word = list, .batch = 2, .channels = 12, .sizes = sizes};
    status s = outline_problem(&p, d, &o);
    for (int l = 0; l < 5 && s.code && outline_open_letter(letter, &p); l++) {
        size_t at = strlen(sizes);
        snprintf(sizes + at, sizeof sizes - at, " %s=%s", letter, letters[l]);
        s = outline_problem(&p, d, &o);
    }
    if (s.code || problem_parameters(&p) > 40000 || problem_input_count(&p) > 20000) return;

    real *block = NULL, *x = memory_reals(problem_input_count(&p), 1, 1, 1);
    struct tensor all[PROBLEM_TENSORS];
    if (x) s = problem_draw(&p, 1, &block);
    for (size_t n = 0; n < problem_input_count(&p) && x; n++) x[n] = (real)(n % 7) - 3;
    p.tensor[0].data = x;
    if (x && !s.code) (void)safetensors_write("drawn", all, problem_list(all, &p)); /* without it the program says so */
    memory_free(block);
    memory_free(x);
}

/* What the program does with the words; *out: whether there is a file "out". */
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

/* An input is only read. */
static const char *still_there(const char *name, const uint8_t *bytes, size_t size)
{
    FILE *f = fopen(name, "rb");
    size_t same = 0;
    while (f && same < size && getc(f) == bytes[same]) same++;
    bool all = f && same == size && getc(f) == EOF;
    if (f) fclose(f);
    return all ? NULL : wrong("%s is no longer what it was", name);
}

const char *fuzz_command(const uint8_t *bytes, size_t size)
{
    const char *word[WORDS + 4], *fault, *output = NULL;
    struct scratch here;
    size_t file, before = memory_in_use();
    bool most_memory = false, most_work = false;

    /* Step 1: the words, and two that bound what they may take. */
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
        if (!strcmp(word[w], "-o") && w + 1 < words) output = word[w + 1];
    }
    const struct command *command = words ? command_find(word[0]) : NULL;
    if (command && !most_memory && declaration_option(&command->own, "max-memory") >= 0)
        word[words++] = "--max-memory=" MEMORY;
    if (command && !most_work && declaration_option(&command->own, "max-work") >= 0)
        word[words++] = "--max-work=" WORK;

    /* Step 2: the files, and the program. */
    if ((fault = scratch_enter(&here))) {
        free(text);
        return fault;
    }
    if (file < size) fault = scratch_write("in", bytes + file, size - file);
    draw(word, given);
    status s = {0};
    if (!fault) s = perform_words(word, words);
    if (!fault) fault = wrong_status(s);
    memory_set_limit(0);

    /* Step 3: nothing is left but what was asked for; words may ask for an output over "in". */
    struct stat found;
    if (!fault && s.code && output && strcmp(output, "in") && strcmp(output, "drawn") && !stat(output, &found)
        && S_ISREG(found.st_mode))
        fault = wrong("refused (%.200s), and %.40s is written", s.message, output);
    bool replaced = !s.code && output && !strcmp(output, "in");
    if (!fault && file < size && !replaced) fault = still_there("in", bytes + file, size - file);
    if (!fault && memory_in_use() != before) fault = wrong("memory is left");
    char expected[256];
    snprintf(expected, sizeof expected, "in drawn %s", output && !s.code ? output : "");
    const char *left = scratch_leave(&here, expected);
    free(text);
    return fault ? fault : left;
}
