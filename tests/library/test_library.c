/* test_library.c -- the C interface, twicetold.h: results, descriptions, errors; the host's locale, threads and forks
 *
 * test_installed.py tests the installed library and the Python module. */

#define _POSIX_C_SOURCE 200809L
#include <cjson/cJSON.h>
#include <glob.h>
#include <locale.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../support/golden.h"
#include "../../reference/runtime/bytes.h"
#include "../../reference/io/tokens.h"
#include "../../reference/library/interface.h"
#include "../../reference/networks/layers/layers.h"
#include "../../reference/networks/network.h"

static void done(twicetold_status s)
{
    ck_assert_msg(!s.code, "%s", s.message);
    ck_assert_str_eq(s.message, "");
}

/* The error has this code and one line that begins with `line`. */
static void says(twicetold_status s, int code, const char *line)
{
    ck_assert_msg(s.code == code && !strncmp(s.message, line, strlen(line)) && !strchr(s.message, '\n'),
                  "status %d '%s', expected %d '%s...'", s.code, s.message, code, line);
}

/* ---- golden vectors ----------------------------------------------------------- */

#define OPERATORS 16            /* at most */

static glob_t vectors;          /* the golden vectors of operators, sorted */
static int operators;

struct caller {
    struct golden golden;
    twicetold_request request;
    const char *options[33];
    API(tensor) tensor[PROBLEM_TENSORS];
    size_t count;
    real *y;
};

static void open_caller(struct caller *c, const char *name)
{
    char operator[32];
    *c = (struct caller){.count = 0};
    snprintf(operator, sizeof operator, "%.*s", (int)strcspn(name, "_"), name);
    golden_open(&c->golden, operator_find(operator), name);
    memcpy(c->options, c->golden.word, sizeof c->golden.word);
    c->request = (twicetold_request){.name = operator_find(operator)->name, .options = c->options, .threads = 2};
    for (; c->count < c->golden.file.count; c->count++) {
        const struct tensor *t = &c->golden.file.tensor[c->count];
        c->tensor[c->count] = (API(tensor)){.name = t->name, .data = t->data, .axes = t->axes};
        memcpy(c->tensor[c->count].size, t->size, sizeof t->size);
    }
    c->y = zeros(c->golden.expected->count);
}

static void close_caller(struct caller *c) { golden_close(&c->golden); }

/* The name of golden vector n, without folder and ".safetensors". */
static const char *vector_name(size_t n)
{
    const char *name = strrchr(vectors.gl_pathv[n], '/') + 1;
    size_t length = strcspn(name, ".");
    return memcpy(keep(length + 1, 1), name, length);
}

static API(tensor) *tensor_named(struct caller *c, const char *name)
{
    size_t t = 0;
    while (t + 1 < c->count && strcmp(c->tensor[t].name, name)) t++;
    ck_assert_str_eq(c->tensor[t].name, name);
    return &c->tensor[t];
}

/* Creates, loads, runs and releases a plan; returns the first error. */
static twicetold_status all_in_one(struct caller *c)
{
    API(plan) *plan;
    twicetold_status s = API(plan_create)(&plan, &c->request, c->tensor, c->count);
    if (!s.code) s = API(plan_load)(plan, c->tensor, c->count);
    if (!s.code) s = API(plan_run)(plan, c->y, c->golden.x->data);
    API(plan_release)(plan);
    return s;
}

/* ---- tests ------------------------------------------------------------------ */

/* y, its shape, bytes, parameters and multiply-adds, for each golden vector and form.  The caller's options are
 * overwritten before the plan is loaded. */
TESTS(c_interface_computes_what_each_form_computes, vectors.gl_pathc)
{
    struct caller c;
    const char *form;
    open_caller(&c, vector_name((size_t)_i));
    const struct problem *p = &c.golden.problem;
    for (int f = 0; (form = API(form)(c.request.name, f)); f++) {
        const struct form *inner = operator_form_at(p->declaration, f);
        char options[sizeof c.golden.options];
        const char *word[33] = {0};
        size_t size[TWICETOLD_AXES], before = memory_in_use();
        API(plan) *plan;

        memcpy(options, c.golden.options, sizeof options);
        for (int w = 0; c.options[w]; w++) word[w] = options + (c.options[w] - c.golden.options);
        c.request.options = word;
        c.request.form = f ? form : inner->name;
        done(API(plan_create)(&plan, &c.request, c.tensor, c.count));
        memset(options, '?', sizeof options);
        done(API(plan_load)(plan, c.tensor, c.count));
        done(API(plan_run)(plan, c.y, c.golden.x->data));

        equal(c.y, run_form(p, inner, 2, c.golden.x->data), c.golden.expected->count);
        ck_assert_int_eq(API(plan_shape)(plan, size), c.golden.expected->axes);
        for (int a = 0; a < c.golden.expected->axes; a++) ck_assert_uint_eq(size[a], c.golden.expected->size[a]);
        ck_assert_uint_eq(API(plan_parameters)(plan), problem_parameters(p));
        ck_assert(API(plan_multiply_adds)(plan) == form_multiply_adds(inner, p));
        struct plan asked;
        succeeds(plan_prepare(&asked, p, inner, 2));
        ck_assert_uint_eq(API(plan_bytes)(plan), arena_bytes(&asked.arena));
        ck_assert_int_eq(API(plan_threads)(plan), 2);
        plan_release(&asked);
        API(plan_release)(plan);
        ck_assert_uint_eq(memory_in_use(), before);
    }
    close_caller(&c);
}

TEST(c_interface_lists_operators_and_forms)
{
    int o = 0;
    for (; operator_at(o); o++) {
        int f = 0;
        ck_assert_str_eq(API(operator)(o), operator_at(o)->name);
        for (; operator_form_at(operator_at(o), f); f++)
            ck_assert_str_eq(API(form)(API(operator)(o), f), operator_form_at(operator_at(o), f)->name);
        ck_assert_ptr_null(API(form)(API(operator)(o), f));
        ck_assert_ptr_null(API(form)(API(operator)(o), -1));
    }
    ck_assert_ptr_null(API(operator)(o));
    ck_assert_ptr_null(API(operator)(-1));
    ck_assert_ptr_null(API(form)("nothing", 0));
    ck_assert_ptr_null(API(form)(NULL, 0));
    for (o = 0; layer_at(o); o++) ck_assert_str_eq(API(layer)(o), layer_at(o)->name);
    ck_assert(!API(layer)(o) && !API(layer)(-1));
    for (o = 0; network_at(o); o++) ck_assert_str_eq(API(network_name)(o), network_at(o)->name);
    ck_assert(!API(network_name)(o) && !API(network_name)(-1));

    char version[16];
    snprintf(version, sizeof version, "%d.%d", TWICETOLD_VERSION_MAJOR, TWICETOLD_VERSION_MINOR);
    ck_assert_str_eq(API(version)(), version);
    ck_assert_str_eq(TWICETOLD_VERSION, version);
}

/* Fails unless a member of a JSON object is this text, or null if `expected` is NULL. */
static void same(const cJSON *object, const char *key, const char *expected)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    const char *found = cJSON_GetStringValue(value);
    ck_assert_msg(expected ? found && !strcmp(found, expected) : cJSON_IsNull(value), "%s: found %s, expected %s", key,
                  found ? found : "no text", expected ? expected : "null");
}

static char *description(const struct declaration *d)
{
    size_t size = API(describe)(NULL, 0, d->name) + 1;
    char *text = keep(size, 1);
    API(describe)(text, size, d->name);
    return text;
}

/* A description is JSON.  Like snprintf, `describe` returns the full length for any size. */
TESTS(operators_are_described_as_declared, operators)
{
    const struct declaration *d = operator_at(_i);
    char *text = description(d), *less = description(d), letter[4];
    size_t length = strlen(text), n = 0;
    ck_assert_uint_eq(API(describe)(less, length, d->name), length);
    ck_assert(strlen(less) == length - 1 && !strncmp(text, less, length - 1));
    ck_assert_uint_eq(API(describe)(text, length + 1, "nothing"), 0);

    cJSON *page = cJSON_Parse(text);
    const cJSON *item;
    ck_assert_msg(page != NULL, "%s", text);
    same(page, "name", d->name);
    same(page, "summary", d->summary);
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(page, "forms")) {
        ck_assert_str_eq(cJSON_GetStringValue(item), operator_form_at(d, (int)n++)->name);
    }
    ck_assert_ptr_null(operator_form_at(d, (int)n));
    n = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(page, "options")) {
        const struct option *o = &d->options[n++];
        same(item, "name", o->name);
        same(item, "default", o->default_value);
        same(item, "choices", o->choices);
        same(item, "meaning", o->meaning);
        ck_assert(cJSON_GetObjectItem(item, "low")->valuedouble == o->low);
        ck_assert(cJSON_GetObjectItem(item, "high")->valuedouble == o->high);
        ck_assert_int_eq(!strcmp(cJSON_GetObjectItem(item, "kind")->valuestring, "flag"), o->kind == OPTION_FLAG);
    }
    ck_assert_ptr_null(d->options[n].name);
    n = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(page, "tensors")) {
        const struct tensor_row *t = &d->tensors[n++];
        same(item, "name", t->name);
        same(item, "when", t->when);
        same(item, "with", t->needs);
        same(item, "meaning", t->meaning);
        ck_assert_int_eq(cJSON_IsTrue(cJSON_GetObjectItem(item, "optional")), t->optional);
    }
    ck_assert_ptr_null(d->tensors[n].name);
    n = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(page, "letters")) {
        ck_assert(declaration_letter(letter, d, (int)n++));
        same(item, "name", letter);
        same(item, "meaning", letter_meaning(d, letter));
    }
    ck_assert(n > 1 && !declaration_letter(letter, d, (int)n));
    cJSON_Delete(page);
}

/* A change of a valid caller c leads to code 2 and this line, and leaks nothing. */
#define fails_after(change, line) \
    do { \
        struct caller c; \
        open_caller(&c, "lisa_eq10_paper"); \
        change; \
        size_t before = memory_in_use(); \
        twicetold_status s = all_in_one(&c); \
        says(s, 2, line); \
        ck_assert_msg(!strstr(s.message, "cuda2"), "forms of a device are listed: %s", s.message); \
        ck_assert_uint_eq(memory_in_use(), before); \
        close_caller(&c); \
    } while (0)

TEST(wrong_calls_are_errors_of_one_line)
{
    const char *words[2 * PROBLEM_OPTIONS + 2] = {NULL};
    for (size_t w = 0; w + 1 < COUNT(words); w++) words[w] = "--heads";
    fails_after(c.request.name = NULL, "found no operator");
    fails_after(c.request.name = "nothing", "operator nothing: not known");
    fails_after(c.request.form = "cuba", "lisa: form 'cuba': not known");
    fails_after(c.request.form = "cuda1", "lisa: form 'cuda1': not known, expected one of naive, plain, fast, fftw");
    fails_after(c.request.max_memory = "1K", "lisa: needs ");
    fails_after(c.request.max_memory = "much", "lisa: option --max-memory: found 'much'");
    fails_after(c.request.threads = 1025, "lisa: threads: found 1025, expected at most 1024, or 0");
    fails_after(c.request.threads = -1, "lisa: threads: found -1, expected");
    fails_after(c.request.options = NULL, "lisa: option --grid: missing");
    fails_after(c.request.options = words, "lisa: found 33 words of options");
    fails_after(c.options[0] = "--gird", "lisa: found '--gird', expected an option");
    fails_after(c.options[1] = NULL, "lisa: option --grid: found no value");
    fails_after(c.options[5] = "5", "lisa: option --heads: found 5, expected a divisor");
    fails_after(c.count = 0, "lisa: tensor x: missing");
    fails_after(c.count = 1, "lisa: tensor w_qkv: missing");
    fails_after(c.tensor[2] = c.tensor[1], "lisa: tensor w_qkv: given twice");
    fails_after(c.tensor[1].name = NULL, "lisa: tensor 1: found no name");
    fails_after(c.tensor[1].name = "w_kqv", "lisa: tensor w_qkv: missing");
    fails_after(c.tensor[1].axes = 9, "lisa: tensor w_qkv: found 9 axes");
    fails_after(c.tensor[1].size[1] = 0, "lisa: tensor w_qkv: found 0 on axis 1");
    fails_after(c.tensor[1].size[0] = c.tensor[1].size[1] = SIZE_MAX,
                BY_ADDRESSES("lisa: tensor w_qkv: found 18446744073709551615 on axis 1",
                             "lisa: tensor w_qkv: found 4294967295 on axis 1"));
    fails_after(c.tensor[1].size[0]++, "lisa: tensor w_qkv: found [");
    fails_after(c.tensor[1].data = NULL, "lisa: tensor w_qkv: found no data");
}

/* A status has code 2 and one line; other functions return 0.  A loaded plan stays unchanged. */
TEST(a_null_argument_is_bad_input)
{
    struct caller c;
    API(plan) *plan;
    size_t size[TWICETOLD_AXES];
    open_caller(&c, "lisa_eq10_paper");
    real *x = c.golden.x->data;
    says(API(plan_create)(NULL, &c.request, c.tensor, c.count), 2, "found NULL, expected the address of a plan");
    plan = (API(plan) *)&c;
    says(API(plan_create)(&plan, NULL, c.tensor, c.count), 2, "found no request, expected one");
    ck_assert_ptr_null(plan);
    says(API(plan_create)(&plan, &c.request, NULL, c.count), 2, "lisa: tensors: found NULL, expected ");
    ck_assert_ptr_null(plan);
    says(API(plan_create)(&plan, &c.request, NULL, 0), 2, "lisa: tensor x: missing");
    says(API(plan_load)(NULL, c.tensor, c.count), 2, "found no plan, expected one");
    says(API(plan_run)(NULL, c.y, x), 2, "found no plan, expected one");

    done(API(plan_create)(&plan, &c.request, c.tensor, c.count));
    done(API(plan_load)(plan, c.tensor, c.count));
    done(API(plan_run)(plan, c.y, x));
    real *y = copy(c.y, c.golden.expected->count);
    says(API(plan_load)(plan, NULL, c.count), 2, "lisa: tensors: found NULL, expected ");
    says(API(plan_run)(plan, NULL, x), 2, "lisa: tensor y: found no data, expected some");
    says(API(plan_run)(plan, c.y, NULL), 2, "lisa: tensor x: found no data, expected some");
    ck_assert_int_eq(API(plan_shape)(plan, NULL), 0);
    memset(c.y, 0, c.golden.expected->count * sizeof *c.y);
    done(API(plan_run)(plan, c.y, x));
    equal(c.y, y, c.golden.expected->count);
    API(plan_release)(plan);
    API(plan_release)(NULL);

    API(tensor) tensor;
    API(network) *network = (API(network) *)&c;
    says(API(network_create)(NULL, &c.request, 1, NULL, 0), 2, "found NULL, expected the address of a network");
    says(API(network_create)(&network, NULL, 1, NULL, 0), 2, "found no request, expected one");
    ck_assert_ptr_null(network);
    says(API(network_run)(NULL, c.y, x, NULL), 2, "found no network, expected one");
    ck_assert(!API(network_tensor)(NULL, &tensor, 0) && !API(network_bytes)(NULL) && !API(network_parameters)(NULL));
    API(network_release)(NULL);

    ck_assert_int_eq(API(plan_threads)(NULL), 0);
    ck_assert_int_eq(API(plan_shape)(NULL, size), 0);
    ck_assert_uint_eq(API(plan_bytes)(NULL), 0);
    ck_assert_uint_eq(API(plan_parameters)(NULL), 0);
    ck_assert(API(plan_multiply_adds)(NULL) == 0);
    ck_assert_uint_eq(API(describe)(NULL, 99, "lisa"), API(describe)(NULL, 0, "lisa"));
    ck_assert_uint_eq(API(describe)(NULL, 99, NULL), 0);
    close_caller(&c);
}

/* A plan runs only after a load.  A load with other tensors or shapes is an error and does not change the plan. */
TEST(a_plan_is_loaded_again)
{
    struct caller c;
    API(plan) *plan;
    open_caller(&c, "lisa_eq4_plane");
    size_t count = c.golden.expected->count;
    real *first = zeros(count), *x = c.golden.x->data;
    done(API(plan_create)(&plan, &c.request, c.tensor, c.count));
    says(API(plan_run)(plan, c.y, x), 2, "lisa: the plan is not loaded");
    done(API(plan_load)(plan, c.tensor, c.count));
    done(API(plan_run)(plan, first, x));

    API(tensor) *w = tensor_named(&c, "w_qkv"), *e = tensor_named(&c, "e"), keep_w = *w, keep_e = *e;
    w->data = NULL;
    says(API(plan_load)(plan, c.tensor, c.count), 2, "lisa: tensor w_qkv: found no data");
    *w = keep_w;
    e->size[1] = 1;                 /* one table for all heads: valid for the operator, not for this plan */
    says(API(plan_load)(plan, c.tensor, c.count), 2, "lisa: tensor e: found [");
    *e = keep_e;
    API(tensor) more[PROBLEM_TENSORS];
    memcpy(more, c.tensor, sizeof more);
    size_t C = c.golden.x->size[2];
    more[c.count] = (API(tensor)){.name = "b_qkv", .data = zeros(3 * C), .axes = 1, .size = {3 * C}};
    says(API(plan_load)(plan, more, c.count + 1), 2, "lisa: tensor b_qkv: found one");
    done(API(plan_run)(plan, c.y, x));
    equal(c.y, first, count);

    /* Other numbers at another address. */
    real *other = copy(w->data, 3 * C * C);
    for (size_t n = 0; n < 3 * C * C; n++) other[n] *= (real)0.75;
    w->data = other;
    done(API(plan_load)(plan, c.tensor, c.count));
    done(API(plan_run)(plan, c.y, x));
    unequal(c.y, first, count);
    done(all_in_one(&c));
    real *anew = copy(c.y, count);
    done(API(plan_run)(plan, c.y, x));
    equal(c.y, anew, count);
    API(plan_release)(plan);
    close_caller(&c);
}

/* Each request for memory fails in turn; after each failed load, also each request of the next load.  A later load
 * succeeds, y is equal to the bit, and nothing leaks. */
TESTS(lack_of_memory_is_code_one, operators)
{
    struct caller c;
    API(plan) *plan;
    const char *form, *name = operator_at(_i)->name;
    char line[64], start[64];
    size_t n = 0;
    snprintf(line, sizeof line, "%s: not enough memory for ", name);
    snprintf(start, sizeof start, "%s_", name);
    while (strncmp(vector_name(n), start, strlen(start))) n++;      /* its first golden vector */
    open_caller(&c, vector_name(n));
    for (int f = 0; (form = API(form)(name, f)); f++) {
        size_t before = memory_in_use(), count = c.golden.expected->count;
        long request = 0, pairs = 0;
        c.request.form = form;
        done(all_in_one(&c));
        real *y = copy(c.y, count);

        for (twicetold_status s = {.code = 1}; s.code; request++) {
            memory_fail_after(request);
            s = all_in_one(&c);
            memory_fail_after(-1);
            if (s.code) says(s, 1, line);
            ck_assert_uint_eq(memory_in_use(), before);
        }
        ck_assert_int_gt(request, 4);

        /* Two failed loads, then a successful one. */
        for (long first = 0, second = 0;; second++, pairs++) {
            done(API(plan_create)(&plan, &c.request, c.tensor, c.count));
            memory_fail_once(first);
            twicetold_status s = API(plan_load)(plan, c.tensor, c.count), again;
            memory_fail_once(second);
            again = API(plan_load)(plan, c.tensor, c.count);
            memory_fail_once(-1);
            if (s.code) says(s, 1, line);
            if (again.code) says(again, 1, line);
            if (s.code && again.code) says(API(plan_run)(plan, c.y, c.golden.x->data), 2, "");
            if (again.code) done(API(plan_load)(plan, c.tensor, c.count));
            memset(c.y, 0, count * sizeof *c.y);
            done(API(plan_run)(plan, c.y, c.golden.x->data));
            equal(c.y, y, count);
            API(plan_release)(plan);
            ck_assert_uint_eq(memory_in_use(), before);
            if (!s.code) break;
            if (!again.code) first++, second = -1;
        }
        ck_assert_int_gt(pairs, 1);
    }
    close_caller(&c);
}

/* ---- networks ------------------------------------------------------------------ */

static const char *const small[] = {"--grid", "28x28", "--classes", "3", "--depths", "1", "--random", "5", NULL};

/* Weights drawn by one network and given to another make the same logits and stage, of two images. */
TEST(a_network_takes_weights_by_their_paths)
{
    const char *open[COUNT(small)];
    size_t before = memory_in_use(), count = 0, numbers = 0;
    long failed = 0;
    API(network) *drawn, *given, *empty;
    API(tensor) weight[64], t;
    twicetold_request request = {.name = "learned-hilo", .options = small, .threads = 2};
    done(API(network_create)(&drawn, &request, 2, NULL, 0));
    ck_assert(API(network_tensor)(drawn, &t, 0) && !strcmp(t.name, "x") && t.axes == 3 && t.size[1] == 28 * 28);
    ck_assert(API(network_tensor)(drawn, &t, 1) && !strcmp(t.name, "logits") && t.axes == 2 && t.size[1] == 3);
    ck_assert(API(network_tensor)(drawn, &t, 2) && !strcmp(t.name, "stage1") && t.size[1] == 196 && t.size[2] == 32);
    for (; count < 64 && API(network_tensor)(drawn, &weight[count], 3 + count); count++)
        weight[count].name = strcpy(keep(NETWORK_PATH, 1), weight[count].name);
    ck_assert_str_eq(weight[0].name, "stage1.embed.w");
    for (size_t w = 0; w < count; w++) {
        size_t n = 1;
        for (int a = 0; a < weight[w].axes; a++) n *= weight[w].size[a];
        numbers += n;
    }
    ck_assert_uint_eq(API(network_parameters)(drawn), numbers);

    const real *x = normal(3, 2 * 784);
    real *y = zeros(6), *stage = zeros(2 * 196 * 32), *y2 = zeros(6), *stage2 = zeros(2 * 196 * 32);
    done(API(network_run)(drawn, y, x, &stage));
    memcpy(open, small, sizeof small);
    open[6] = NULL;
    request.options = open;
    done(API(network_create)(&given, &request, 2, weight, count));
    ck_assert_uint_eq(API(network_bytes)(drawn), API(network_bytes)(given) + (numbers * sizeof(real) + 63) / 64 * 64);
    done(API(network_run)(given, y2, x, &stage2));
    equal(y2, y, 6);
    equal(stage2, stage, 2 * 196 * 32);
    says(API(network_run)(given, y2, NULL, NULL), 2, "learned-hilo: tensor x: found no data");
    says(API(network_run)(given, NULL, x, NULL), 2, "learned-hilo: tensor logits: found no data");

    done(API(network_create)(&empty, &request, 2, NULL, 0));
    says(API(network_run)(empty, y, x, NULL), 2, "learned-hilo: the network has no weights");
    API(network_release)(empty);
    weight[1].data = NULL;
    says(API(network_create)(&empty, &request, 2, weight, count), 2, "learned-hilo: tensor stage1.embed.b: found no");
    says(API(network_create)(&empty, &request, 0, NULL, 0), 2, "learned-hilo: batch: found 0, expected at least 1");
    request.options = small;
    for (twicetold_status s = {.code = 1}; s.code; failed++) {
        memory_fail_after(failed);
        s = API(network_create)(&empty, &request, 2, NULL, 0);
        memory_fail_after(-1);
        if (s.code) says(s, 1, "learned-hilo: ");
        ck_assert(!s.code == (empty != NULL));
    }
    ck_assert_int_gt(failed, 10);
    API(network_release)(empty);
    API(network_release)(given);
    API(network_release)(drawn);
    ck_assert_uint_eq(memory_in_use(), before);
}

/* ---- the host ------------------------------------------------------------------ */

/* Makes and sets a locale with a decimal comma; false if the system cannot. */
static bool set_locale_with_comma(void)
{
    char folder[] = "/tmp/twicetold-test-XXXXXX", command[200];
    ck_assert(mkdtemp(folder) != NULL);
    snprintf(command, sizeof command, "localedef -c -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/said 2>&1", folder, folder);
    bool made = system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 && setlocale(LC_ALL, "de_DE.UTF-8");
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
    return made;
}

/* Tests options (0.5, 1.5G) and all descriptions. */
TEST(decimal_comma_of_the_locale_is_ignored)
{
    char *before[OPERATORS] = {NULL};
    struct caller c;
    ck_assert_ptr_null(operator_at(OPERATORS));
    for (int o = 0; o < OPERATORS && operator_at(o); o++) before[o] = description(operator_at(o));
    if (!set_locale_with_comma()) {
        printf("skipped: decimal_comma_of_the_locale_is_ignored: no locale with a comma\n");
        return;
    }
    ck_assert_str_eq(localeconv()->decimal_point, ",");
    open_caller(&c, "hilo_both");
    c.request.max_memory = "1.5G";
    done(all_in_one(&c));
    close_caller(&c);
    for (int o = 0; o < OPERATORS && operator_at(o); o++)
        ck_assert_str_eq(description(operator_at(o)), before[o]);
    ck_assert_str_eq(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
}

/* The bytes of a plan with this many threads. */
static size_t bytes_with(struct caller *c, int threads)
{
    API(plan) *plan;
    c->request.threads = threads;
    done(API(plan_create)(&plan, &c->request, c->tensor, c->count));
    size_t bytes = API(plan_bytes)(plan);
    API(plan_release)(plan);
    return bytes;
}

/* At most PLAN_THREADS.  The plan's bytes, which grow with its threads, show their number. */
TEST(default_threads_are_those_of_openmp)
{
    struct caller c;
    const char *form;
    int before = omp_get_max_threads();
    default_threads_here();
    open_caller(&c, "lisa_eq10_paper");
    for (int f = 0; (form = API(form)(c.request.name, f)); f++) {
        c.request.form = form;
        omp_set_num_threads(3);
        ck_assert_int_eq(plan_threads(), 3);
        size_t of_three = bytes_with(&c, 3);
        done(all_in_one(&c));
        real *y = copy(c.y, c.golden.expected->count);
        ck_assert(bytes_with(&c, 1) < of_three && bytes_with(&c, 4) > of_three);
        ck_assert_uint_eq(bytes_with(&c, 0), of_three);
        memset(c.y, 0, c.golden.expected->count * sizeof *c.y);
        done(all_in_one(&c));
        equal(c.y, y, c.golden.expected->count);

        omp_set_num_threads(5000);
        ck_assert_int_eq(plan_threads(), PLAN_THREADS);
        ck_assert_uint_eq(bytes_with(&c, 0), bytes_with(&c, PLAN_THREADS));
    }
    omp_set_num_threads(before);
    close_caller(&c);
}

/* Five numbers by each of four functions with OpenMP threads: a plan, image_fit, random_fill_normal, tokens_make. */
enum { NUMBERS = 20, MANY = 70000 };
static real *numbers_of_threads(void)
{
    real *y = zeros(NUMBERS);
    struct caller c;
    struct image image, fitted;
    grid g;
    open_caller(&c, "msa_ghost");
    c.request.threads = 0;
    done(all_in_one(&c));
    memcpy(y, c.y, 5 * sizeof *y);
    close_caller(&c);

    succeeds(image_create(&image, 1, 1, 1));
    image.pixels[0] = 6;
    succeeds(image_fit(&fitted, &image, 5, 1));
    memcpy(y + 5, fitted.pixels, 5 * sizeof *y);
    image_release(&image);
    image_release(&fitted);

    memcpy(y + 10, normal(1, MANY) + MANY - 5, 5 * sizeof *y);
    succeeds(grid_parse(&g, "5"));
    succeeds(tokens_make(y + 15, 1, &g, 1, &(struct token_source){.kind = TOKENS_NOISE}, NULL, 0));
    return y;
}

/* Runs `passes` in a child of fork, for at most 10 seconds. */
static void child_passes(bool (*passes)(void *), void *data)
{
    int state;
    fflush(stdout);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        alarm(10);
        _exit(passes(data) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert_msg(state == 0, "%s", WIFSIGNALED(state) ? "did not return" : "wrong");
}

static bool makes_the_numbers(void *parents)
{
    return plan_threads() == 1 && !memcmp(numbers_of_threads(), parents, NUMBERS * sizeof(real));
}

/* The child does not have the parent's OpenMP threads, and must not wait for them. */
TEST(a_child_of_fork_has_one_thread)
{
    int sum = 0;
    omp_set_num_threads(2);
    #pragma omp parallel reduction(+ : sum)
    sum += 1;
    ck_assert_int_eq(sum, 2);
    child_passes(makes_the_numbers, numbers_of_threads());
}

struct inherited { struct caller c; API(plan) *plan; };

static bool rejects_two_threads(void *data)
{
    static const char line[] = "msa: threads: found 2, expected 1 in a child of fork";
    struct inherited *i = data;
    twicetold_status old = API(plan_run)(i->plan, i->c.y, i->c.golden.x->data), anew = all_in_one(&i->c);
    i->c.request.threads = 1;
    return !all_in_one(&i->c).code && old.code == 2 && anew.code == 2 && !strncmp(old.message, line, strlen(line))
        && !strncmp(anew.message, line, strlen(line));
}

/* If a plan used several threads before a fork, they are an error in the child; one thread is not. */
TEST(threads_of_the_parent_are_an_error_after_fork)
{
    struct inherited i;
    open_caller(&i.c, "msa_ghost");
    done(API(plan_create)(&i.plan, &i.c.request, i.c.tensor, i.c.count));
    done(API(plan_load)(i.plan, i.c.tensor, i.c.count));
    done(API(plan_run)(i.plan, i.c.y, i.c.golden.x->data));
    child_passes(rejects_two_threads, &i);
    API(plan_release)(i.plan);
    close_caller(&i.c);
}

int main(void)
{
    while (operator_at(operators)) operators++;
    if (glob("tests/golden/[!n]*_*.safetensors", 0, NULL, &vectors)) return EXIT_FAILURE;
    return run_tests("library");
}
