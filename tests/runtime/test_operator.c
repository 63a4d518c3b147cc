/* test_operator.c -- declarations: options, shapes, tensors of a file, random parameters */

#include <limits.h>
#include "../support/fixture.h"
#include "../../reference/dfc.h"
#include "../../reference/networks/layers/layers.h"
#include "../../reference/lisa.h"
#include "../../reference/msa.h"
#include "../../reference/runtime/sizes.h"
#include "../../reference/runtime/shape.h"

/* Options of lisa as a user types them, and the error. */
static const struct { const char *word[8]; const char *message; } rejected_words[] = {
    {{0}, "--grid: missing"},
    {{"--grid"}, "no value"},
    {{"--grid", "4x"}, "--grid: found '4x'"},
    {{"--grid", "0"}, "size 0"},
    {{"--grid", "2x2x2x2"}, "expected N, HxW or TxHxW"},
    {{"--grid", ""}, "--grid: found ''"},
    {{"--grid", "4294967297"}, "grid too large"},
    {{"--grid", "4", "--grid", "4"}, "given twice"},
    {{"--grid", "4", "--window", "2"}, "found '--window', expected an option"},
    {{"--grid", "4", "stray"}, "found 'stray'"},
};

/* Values of an option that give the same error. */
static const struct { const struct declaration *d; const char *option, *message, *value[9]; } values[] = {
    {&lisa, "--heads", "--heads: found '0'", {"0"}},
    {&lisa, "--heads", "whole number", {"+2", " 2", "2.0", "0x2", "", "99999999999999999999"}},
    {&lisa, "--equation", "expected one of 4|5|6|7|10", {"", "8", "1"}},
    {&msa, "--scale", "finite number", {"inf", "nan", "0x1p3", "1e999", "1 ", "", "--", "1,5"}},
};

TEST(options_are_read_strictly)
{
    struct problem p;
    for (size_t r = 0; r < COUNT(rejected_words); r++) {
        int words = 0;
        while (rejected_words[r].word[words]) words++;
        rejected(problem_create(&p, &lisa, words, rejected_words[r].word), STATUS_BAD_INPUT, rejected_words[r].message);
    }
    for (size_t r = 0; r < COUNT(values); r++)
        for (const char *const *value = values[r].value; *value; value++)
            rejected(problem_create(&p, values[r].d, 4, (const char *[]){"--grid", "4", values[r].option, *value}),
                    STATUS_BAD_INPUT, values[r].message);
    succeeds(problem_create(&p, &msa, 4, (const char *[]){"--grid", "4", "--scale", "-2.5e-1"}));
    ck_assert(problem_number(&p, "scale") == -0.25);
    ck_assert(!problem_given(&p, "window") && problem_given(&p, "scale"));
}

/* Changes of a file for lisa, Eq. 10, with a 2x3 grid, B 2, C 4, h 2, D 3, and the error. */
static const struct { const char *name; int axes; size_t size[3]; const char *message; } changes[] = {
    {NULL, 0, {0}, NULL},
    {"x", 2, {6, 4}, "tensor x: found [6, 4], expected [B, N, C] = [B, 6, C]"},
    {"x", 3, {2, 5, 4}, "tensor x: found [2, 5, 4], expected [B, N, C]"},
    {"x", 3, {2, 6, 5}, "--heads: found 2, expected a divisor of C = 5"},
    {"w_qkv", 2, {4, 12}, "tensor w_qkv: found [4, 12], expected [3C, C] = [12, 4]"},
    {"wa", 3, {6, 4, 3}, "tensor wa: found [6, 4, 3], expected [M, c, D] = [6, 2, D]"},
    {"wb", 2, {6, 2}, "tensor wb: found [6, 2], expected [M, D] = [6, 3]"},
    {"wb", 1, {18, 0}, "tensor wb: found [18]"},
    {"b_o", 1, {4}, "tensor b_o: found without w_o"},
    {"extra", 1, {4}, "tensor extra: not of this operator"},
    {"ea", 3, {15, 2, 3}, "tensor ea: not of this operator with these options"},
    {"-wb", 0, {0}, "tensor wb: missing, expected [M, D] = [6, 3]"},
};

/* The message names the tensor, whichever tensor is first in the file. */
TESTS(files_are_checked_against_the_table, COUNT(changes))
{
    static const struct { const char *name; int axes; size_t size[3]; } plain[] = {
        {"bb", 2, {2, 3}},    {"x", 3, {2, 6, 4}}, {"w_qkv", 2, {12, 4}},
        {"wa", 3, {6, 2, 3}}, {"wb", 2, {6, 3}},   {"ba", 2, {2, 3}},
    };
    struct tensor tensor[8];
    struct tensors file = {.tensor = tensor};
    struct problem p;
    const char *change = changes[_i].name;
    bool changed = false;

    for (size_t t = 0; t < COUNT(plain); t++) {
        bool here = change && !strcmp(change, plain[t].name);
        if (change && change[0] == '-' && !strcmp(change + 1, plain[t].name)) continue;
        changed = changed || here;
        succeeds(tensor_create(&tensor[file.count++], plain[t].name, here ? changes[_i].axes : plain[t].axes,
                               here ? changes[_i].size : plain[t].size));
    }
    if (change && change[0] != '-' && !changed)
        succeeds(tensor_create(&tensor[file.count++], change, changes[_i].axes, changes[_i].size));

    for (size_t turn = 0; turn < file.count; turn++) {
        succeeds(problem_create(&p, &lisa, 4, (const char *[]){"--grid", "2x3", "--heads", "2"}));
        status s = problem_bind(&p, &file);
        if (changes[_i].message) rejected(s, STATUS_BAD_INPUT, changes[_i].message);
        else {
            succeeds(s);
            ck_assert_uint_eq(problem_size(&p, "D"), 3);
            ck_assert_uint_eq(problem_parameters(&p), 48 + 36 + 18 + 6 + 6);
            ck_assert_ptr_eq(problem_tensor(&p, "wb"), tensors_find(&file, "wb")->data);
            ck_assert_ptr_null(problem_tensor(&p, "w_o"));
        }
        struct tensor first = tensor[0];
        memmove(tensor, tensor + 1, (file.count - 1) * sizeof *tensor);
        tensor[file.count - 1] = first;
    }
    for (size_t t = 0; t < file.count; t++) tensor_release(&tensor[t]);
}

/* A problem with these options, B images and C channels. */
static void create(struct problem *p, const struct declaration *d, const char *options, size_t B, size_t C)
{
    const char *word[16];
    int words = words_of(options, word, COUNT(word));
    succeeds(problem_create(p, d, words, word));
    succeeds(problem_set_size(p, "B", B));
    succeeds(problem_set_size(p, "C", C));
}

static bool is_w_o(const char *name, void *context)
{
    (void)context;
    return !strcmp(name, "w_o");
}

/* Shapes; variance 1 / fan-in; no b_o without w_o.  Tolerance: five standard errors of a variance of n normal numbers,
 * 5 sqrt(2/n). */
TEST(random_parameters_follow_the_table)
{
    struct problem p;
    real *block;
    create(&p, &lisa, "--grid 8x8", 1, 32);
    rejected(problem_shape(&p, NULL, NULL), STATUS_BAD_INPUT, "size D is not known");
    succeeds(problem_set_size(&p, "D", 4));
    succeeds(problem_shape(&p, is_w_o, NULL));
    ck_assert_uint_eq(problem_parameters(&p), 96 * 32 + 96 + 64 * 32 * 4 + 64 * 4 + 2 * 32 * 4);
    ck_assert_uint_eq(problem_axis(&p, "w_o", 0), 0);
    succeeds(problem_draw(&p, 1, &block));
    ck_assert_ptr_null(problem_tensor(&p, "b_o"));
    const real *wa = problem_tensor(&p, "wa");
    double squares = 0, n = 64 * 32 * 4;
    for (size_t i = 0; i < 64 * 32 * 4; i++) squares += (double)wa[i] * (double)wa[i];
    within("variance of wa times its fan N, from one", fabs(squares / n * 64 - 1), 5 * sqrt(2 / n));
    memory_free(block);
}

/* Sums, products, alternatives; axes beyond TENSOR_AXES are ignored. */
TEST(shapes_are_described)
{
    char text[120];
    shape_letters(text, sizeof text, "2*Q+C h*K*K");
    ck_assert_str_eq(text, "[2Q+C, h·K·K]");
    shape_letters(text, sizeof text, "P 1 | P h");
    ck_assert_str_eq(text, "[P, 1] or [P, h]");

    struct problem p;
    int axes;
    size_t size[TENSOR_AXES + 1] = {0};
    succeeds(problem_create(&p, &fc, 0, NULL));
    succeeds(problem_set_size(&p, "B", 7));
    succeeds(shape_sizes(&axes, size, &p, "B B B B B B B B B B B B"));
    ck_assert_int_eq(axes, TENSOR_AXES);
    ck_assert(size[TENSOR_AXES - 1] == 7 && size[TENSOR_AXES] == 0);
}

/* BLAS counts in int: larger sizes and products are rejected before allocation. */
TEST(sizes_beyond_int_are_errors)
{
    struct problem p;
    create(&p, &msa, "--grid 20000x20000", 6, 1);
    rejected(problem_shape(&p, NULL, NULL), STATUS_BAD_INPUT, "B N is too large");
    rejected(problem_set_size(&p, "D", (size_t)INT_MAX + 1), STATUS_BAD_INPUT, "at most 2147483647");
    create(&p, &msa, "--grid 1", INT_MAX, 1);
    succeeds(problem_shape(&p, NULL, NULL));
    for (size_t D = 1; D <= 2; D++) {
        create(&p, &fc, "", 1, 1);
        succeeds(problem_set_size(&p, "M", 1));
        succeeds(problem_set_size(&p, "D", D));
        succeeds(problem_set_size(&p, "N", D == 1 ? INT_MAX : (size_t)INT_MAX / 2 + 1));
        if (D == 1) succeeds(fc.check(&p));
        else rejected(fc.check(&p), STATUS_BAD_INPUT, "N D: found 1073741824 x 2, expected a product of at most");
    }
}

/* An operator or layer whose size `letter` may be `largest`, but not `beyond` (0: no such value). */
static const struct { const char *name, *options, *letter; size_t largest, beyond; const char *message; } ends[] = {
    {"patch", "--grid 1 --size 1 --channels 1", "C", INT_MAX, 0, ""},
    {"patch", "--grid 2 --size 2 --channels 1", "C", INT_MAX / 2, INT_MAX / 2 + 1, "numbers in each"},
    {"patch", "--grid 1 --size 1 --channels 1", "B", INT_MAX, 0, ""},
    {"patch", "--grid 2 --size 1 --channels 1", "B", INT_MAX / 2, INT_MAX / 2 + 1, "B N' is too large"},
    {"patch", "--grid 3 --size 5 --pad 1 --channels 1", "C", 1, 0, ""},
    {"patch", "--grid 3 --size 6 --pad 1 --channels 1", "C", 0, 1, "expected at most 5, the padded grid"},
    {"mlp", "--grid 1 --ratio 1", "C", INT_MAX, 0, ""},
    {"mlp", "--grid 1 --ratio 2", "C", INT_MAX / 2, INT_MAX / 2 + 1, "hidden channels"},
    {"merge", "--grid 2x2", "C", INT_MAX / 8, INT_MAX / 8 + 1, "tensor x: C is"},
    {"sra", "--grid 1x1 --reduction 1", "C", INT_MAX, 0, ""},
    {"sra", "--grid 2x2 --reduction 2", "C", INT_MAX / 4, INT_MAX / 4 + 1, "numbers in a patch"},
    {"hilo", "--grid 1x1 --window 1", "B", INT_MAX, 0, ""},
    {"hilo", "--grid 1x1 --window 2", "B", INT_MAX / 4, INT_MAX / 4 + 1,
     "pads 536870912 images of 1 x 1 tokens to more than 21474"},
    {"chopd", "--grid 1x1", "C", INT_MAX / 9, INT_MAX / 9 + 1, "9 C is too large"},
};

TESTS(products_end_at_the_largest_int, COUNT(ends))
{
    const struct declaration *d = operator_find(ends[_i].name);
    for (int beyond = 0; beyond < 2; beyond++) {
        size_t size = beyond ? ends[_i].beyond : ends[_i].largest;
        bool images = *ends[_i].letter == 'B';
        struct problem p;
        if (!size) continue;
        create(&p, d, ends[_i].options, images ? size : 1, images ? 1 : size);
        status s = d->derive ? d->derive(&p) : d->check(&p);
        if (beyond) rejected(s, STATUS_BAD_INPUT, ends[_i].message);
        else succeeds(s);
    }
}

static const char *const grids[] = {"", "4", "4x4", "4x4x4"};

/* Creates a problem with the operator's required options and one option with this value. */
static status with_value(const struct declaration *d, const struct option *tested, const char *value)
{
    static const char *const odd[] = {"", "3", "3x3", "3x3x3"};
    const char *word[32];
    char name[16][32];
    int words = 0, axes = 1;
    struct problem p;
    for (const struct option *o = d->options; o->name; o++) {
        if (o != tested && (o->default_value || o->kind == OPTION_FLAG)) continue;
        if (o->kind == OPTION_GRID) axes = (int)o->low;
        snprintf(name[words / 2], sizeof name[0], "--%s", o->name);
        word[words] = name[words / 2];
        const char *usual = o->kind == OPTION_GRID ? grids[axes] : o->kind == OPTION_KERNEL ? odd[axes] : "1";
        word[words + 1] = o == tested ? value : usual;
        words += 2;
    }
    return problem_create(&p, d, words, word);
}

/* Every numeric option of every operator and layer accepts its limits and rejects numbers beyond: the next integer, or
 * for reals 2 |limit| + 1.  A grid of fewer or more axes is an error, and so is an unknown word. */
TEST(options_end_at_their_limits)
{
    const struct declaration *d;
    int tried = 0;
    for (int n = 0, layers = 0; (d = layers ? layer_at(n) : operator_at(n)) || !layers++; n = d ? n + 1 : 0) {
        for (const struct option *o = d ? d->options : NULL; o && o->name; o++) {
            bool whole = o->kind == OPTION_INTEGER || o->kind == OPTION_STEPS;
            const double below = whole ? o->low - 1 : -2 * fabs(o->low) - 1;
            const double above = whole ? o->high + 1 : 2 * fabs(o->high) + 1;
            char text[40];
            for (int a = 1; o->kind == OPTION_GRID && a <= 3; a++)
                if (a < o->low || a > o->high) rejected(with_value(d, o, grids[a]), STATUS_BAD_INPUT, "--grid");
            if (o->choices) rejected(with_value(d, o, "no-such-word"), STATUS_BAD_INPUT, "expected one of");
            if (!whole && o->kind != OPTION_REAL) continue;
            for (int end = 0; end < 2; end++) {
                snprintf(text, sizeof text, "%.17g", end ? o->high : o->low);
                succeeds(with_value(d, o, text));
                snprintf(text, sizeof text, "%.17g", end ? above : below);
                rejected(with_value(d, o, text), STATUS_BAD_INPUT, o->name);
            }
            tried++;
        }
    }
    ck_assert_int_gt(tried, 20);
}

TEST(typed_sizes_end_at_a_billion)
{
    static const char *const word[] = {"--grid", "4"}, *const bad[] = {"D=1000000001", "D=0", "D=", "D=2x", "D= 2"};
    struct problem_sizes o = {.words = 2, .word = word, .batch = 1, .channels = 6, .sizes = "D=1000000000"};
    struct problem p;
    succeeds(problem_from_sizes(&p, &lisa, &o));
    ck_assert_uint_eq(problem_size(&p, "D"), 1000000000);
    for (size_t n = 0; n < COUNT(bad); n++) {
        o.sizes = bad[n];
        rejected(problem_from_sizes(&p, &lisa, &o), STATUS_BAD_INPUT, "a whole number from 1 to 1000000000 behind D=");
    }
}

/* TF32 factors have 11 bits, BF16 factors 8. */
TEST(form_names_state_their_rounding)
{
    static const struct { const char *name; double unit; } row[] = {
        {"naive", 0}, {"cuda", 0}, {"cuda3", 0}, {"cuda-tf32", 1. / 2048}, {"cuda-bf16", 1. / 256}, {"cuda-other", 0},
    };
    for (size_t n = 0; n < COUNT(row); n++)
        ck_assert_msg(form_rounding(&(struct form){.name = row[n].name}) == row[n].unit, "%s", row[n].name);
}

int main(void) { return run_tests("operator"); }
