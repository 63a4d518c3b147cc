/* fixture.c -- a random problem that any form can run; see fixture.h */

#include "fixture.h"
#include "../../reference/runtime/heads.h"
#include "../../reference/runtime/sizes.h"

int words_of(const char *text, const char *word[], int most)
{
    int words = 0;
    char *copied = keep(strlen(text) + 1, 1);
    strcpy(copied, text);
    for (char *w = strtok(copied, " "); w && words < most; w = strtok(NULL, " ")) word[words++] = w;
    return words;
}

struct tensors file_of(const char *text, const char *without)
{
    const char *word[32], *dropped[8];
    int words = words_of(text, word, 32), drops = words_of(without, dropped, 8);
    struct tensor *t = (struct tensor *)keep(16, sizeof *t);
    struct tensors file = {0, t};
    for (int w = 0; w < words; w += 2) {
        int n = 0;
        while (n < drops && strcmp(word[w], dropped[n])) n++;
        if (n < drops) continue;
        t->name = strcpy((char *)keep(strlen(word[w]) + 1, 1), word[w]);
        t->count = 1;
        for (const char *at = word[w + 1]; *at; at += *at == 'x') {
            t->count *= t->size[t->axes++] = strtoul(at, NULL, 10);
            at += strspn(at, "0123456789");
        }
        t->data = filled(t->count, 1);
        file.count = (size_t)(++t - file.tensor);
    }
    return file;
}

status bound_to(struct problem *p, const char *options, const struct declaration *d, const struct tensors *file)
{
    const char *word[32];
    int words = words_of(options, word, 32);
    status s = problem_create(p, d, words, word);
    return s.code ? s : problem_bind(p, file);
}

/* The words of a list such as "D=16 R=4" or "rpe w_o" that an operator knows: several operators may share a list. */
static char *known_words(const char *list, const struct declaration *d)
{
    const char *word[16];
    char *known = keep(strlen(list) + 2, 1);
    for (int w = 0, words = words_of(list, word, 16); w < words; w++) {
        char letter[4];
        const struct tensor_row *t = d->tensors;
        while (t->name && (strcmp(t->name, word[w]) || !t->optional)) t++;
        snprintf(letter, sizeof letter, "%.*s", (int)strcspn(word[w], "="), word[w]);
        if (strchr(word[w], '=') ? declaration_has_letter(d, letter) : t->name != NULL)
            strcat(strcat(known, *known ? " " : ""), word[w]);
    }
    return known;
}

void own_parameters(struct problem *p)
{
    for (size_t r = 0; r < PROBLEM_TENSORS; r++)
        if (p->tensor[r].data) p->tensor[r].data = copy(p->tensor[r].data, p->tensor[r].count);
}

void draw_parameters(struct problem *p, uint64_t seed)
{
    real *block;
    succeeds(problem_draw(p, seed, &block));
    own_parameters(p);
    memory_free(block);
}

/* Numbers before and after y that no run may write; none with AddressSanitizer, which watches these bytes itself. */
enum { MARGIN = ARENA_GUARD ? 0 : 4096, MARGIN_BYTE = 0x5a };

static bool untouched(const real *margin)
{
    const unsigned char *byte = (const unsigned char *)margin;
    size_t b = 0;
    while (b != MARGIN * sizeof *margin && byte[b] == MARGIN_BYTE) b++;
    return b == MARGIN * sizeof *margin;
}

real *run_form(const struct problem *p, const struct form *form, int threads, const real *x)
{
    struct plan plan;
    size_t count = problem_output_count(p);
    real *before_y = zeros(count + 2 * MARGIN), *y = before_y + MARGIN;
    memset((void *)before_y, MARGIN_BYTE, MARGIN * sizeof *y);
    memset((void *)(y + count), MARGIN_BYTE, MARGIN * sizeof *y);
    size_t before = memory_in_use();
    succeeds(plan_create(&plan, p, form, threads));
    size_t prepared = memory_in_use();
    memory_reset_peak();
    succeeds(plan_run(&plan, y, x));
    ck_assert_msg(memory_peak() == prepared, "%s: run allocated %zu bytes, expected none", form->name,
                  memory_peak() - prepared);
    plan_release(&plan);
    ck_assert_uint_eq(memory_in_use(), before);
    ck_assert_msg(untouched(before_y) && untouched(y + count), "%s: writes next to y", form->name);
    return y;
}

struct problem shaped(const char *options, const struct declaration *d, size_t batch, size_t channels,
                      const char *sizes, const char *without)
{
    struct problem p;
    const char *word[32];
    const struct problem_sizes o = {.words = words_of(options, word, 32), .word = word, .batch = batch,
                                    .channels = channels, .sizes = known_words(sizes, d),
                                    .without = known_words(without, d)};
    succeeds(problem_from_sizes(&p, d, &o));
    return p;
}

status shaped_openly(struct problem *p, const char *options, const struct declaration *d, size_t batch,
                     size_t channels, const char *sizes, const char *without, size_t factor)
{
    static const size_t primes[] = {3, 5, 7, 11, 13, 17, 19, 23};
    const char *word[32];
    char letter[4], *all = keep(256, 1);
    struct problem_sizes o = {.words = words_of(options, word, 32), .word = word, .batch = batch,
                              .channels = channels, .sizes = all, .without = known_words(without, d)};
    snprintf(all, 256, "%s", known_words(sizes, d));
    status s = problem_from_sizes(p, d, &o);
    for (size_t n = 0; n < COUNT(primes) && s.code && problem_open_letter(letter, p); n++) {
        size_t at = strlen(all);
        snprintf(all + at, 256 - at, " %s=%zu", letter, primes[n] * factor);
        s = problem_from_sizes(p, d, &o);
    }
    return s;
}

struct fixture fixture(const char *options, const struct declaration *d, size_t batch, size_t channels,
                       const char *sizes, const char *without)
{
    return fixture_of(shaped(options, d, batch, channels, sizes, without));
}

struct fixture fixture_of(struct problem p)
{
    struct fixture t = {.problem = p};
    draw_parameters(&t.problem, 1);
    t.outputs = problem_output_count(&t.problem);
    t.inputs = problem_input_count(&t.problem);
    t.x = normal(2, t.inputs);
    return t;
}

real *fixture_run_on(const struct fixture *t, const char *form, int threads, const real *x)
{
    const struct form *f = operator_form(t->problem.declaration, form);
    ck_assert_msg(f != NULL, "%s has no form %s", t->problem.declaration->name, form);
    return run_form(&t->problem, f, threads, x);
}

real *fixture_run(const struct fixture *t, const char *form, int threads)
{
    return fixture_run_on(t, form, threads, t->x);
}

/* Bytes that guards (arena.h) add to a plan of one thread. */
static size_t guard_bytes(const struct problem *p, const struct form *form)
{
    struct plan plan;
    if (!ARENA_GUARD) return 0;
    succeeds(plan_prepare(&plan, p, form, 1));
    struct arena bare = plan.arena;
    for (int n = 0; n < bare.arrays; n++) bare.bytes[bare.array[n].time] -= ARENA_GUARD;
    size_t bytes = arena_bytes(&plan.arena) - arena_bytes(&bare);
    plan_release(&plan);
    return bytes;
}

double fixture_peak(const struct fixture *t, const struct form *form)
{
    size_t guards = guard_bytes(&t->problem, form), before = memory_in_use();
    memory_reset_peak();
    run_form(&t->problem, form, 1, t->x);
    return (double)(memory_peak() - before - guards);
}

double fixture_cores(const struct fixture *t, const struct form *form)
{
    return form_multiply_adds(form, &t->problem) - projections_multiply_adds(&t->problem);
}

double fixture_difference(struct fixture *t, const char *form, int threads)
{
    if (!t->y) t->y = fixture_run(t, "naive", 1);
    return relative_difference(fixture_run(t, form, threads), t->y, t->outputs);
}

double property_tolerance(const struct problem *p)
{
    const struct form *form;
    double most = 0;
    for (int f = 0; (form = operator_form_at(p->declaration, f)); f++) most = fmax(most, form_multiply_adds(form, p));
    return 32 * sqrt(fmax(1, most / (double)problem_output_count(p))) * UNIT_ROUNDOFF;
}

const char *fault_forms_equal(const struct fixture *t, const real *y)
{
    const char *wrong = NULL;
    const struct form *form;
    for (int f = 0; !wrong && (form = operator_form_at(t->problem.declaration, f)); f++)
        wrong = fault_equal(run_form(&t->problem, form, 1, t->x), y, t->outputs);
    return wrong;
}

const char *fault_forms_within(const struct fixture *t, const real *y, double tolerance)
{
    const char *wrong = NULL;
    const struct form *form;
    for (int f = 0; !wrong && (form = operator_form_at(t->problem.declaration, f)); f++)
        wrong = fault_within(form->name, relative_difference(run_form(&t->problem, form, 1, t->x), y, t->outputs),
                             tolerance);
    return wrong;
}

static int present_row(const struct fixture *t, const char *name)
{
    int row = problem_row(&t->problem, name);
    ck_assert_msg(row > 0 && t->problem.tensor[row].data, "%s has no tensor %s", t->problem.declaration->name, name);
    return row;
}

real *fixture_tensor(struct fixture *t, const char *name) { return t->problem.tensor[present_row(t, name)].data; }

size_t fixture_count(const struct fixture *t, const char *name)
{
    return t->problem.tensor[present_row(t, name)].count;
}

void fixture_put(struct fixture *t, const char *name, const real *values)
{
    memcpy(fixture_tensor(t, name), values, fixture_count(t, name) * sizeof *values);
}

void fixture_put_identity(struct fixture *t, const char *name, size_t n)
{
    ck_assert_uint_eq(fixture_count(t, name), n * n);
    fixture_put(t, name, identity_matrix(n));
}

void fixture_fill(struct fixture *t, const char *name, double value)
{
    fixture_put(t, name, filled(fixture_count(t, name), value));
}

void fixture_take(struct fixture *to, const struct fixture *from, const char *names)
{
    const char *word[32];
    for (int w = 0, words = words_of(names, word, 32); w < words; w++) {
        ck_assert_uint_eq(fixture_count(to, word[w]), fixture_count(from, word[w]));
        fixture_put(to, word[w], from->problem.tensor[present_row(from, word[w])].data);
    }
}

/* Fails one request for memory after another, in one of the two ways of memory.h; returns their number. */
static long fail_each(const struct fixture *t, const struct form *form, void (*allow)(long requests))
{
    size_t before = memory_in_use();
    for (long n = 0;; n++) {
        struct plan plan;
        ck_assert_int_lt(n, 10000);
        allow(n);
        status s = plan_create(&plan, &t->problem, form, 2);
        allow(-1);
        if (!s.code) succeeds(plan_run(&plan, zeros(t->outputs), t->x));
        plan_release(&plan);
        ck_assert_msg(memory_in_use() == before, "%s leaks when request %ld fails", form->name, n);
        if (!s.code) return n;
        ck_assert_int_eq(s.code, STATUS_FAILURE);
    }
}

void form_without_memory(const struct fixture *t, const struct form *form)
{
    long requests = fail_each(t, form, memory_fail_after);
    ck_assert_int_gt(requests, 0);
    ck_assert_int_eq(fail_each(t, form, memory_fail_once), requests);
}
