/* test_lookup.c -- names and limits of a declaration, for an invented operator with options of five kinds */

#include "../support/fixture.h"

static int checks;

static status check(const struct problem *p)
{
    checks++;
    double first = (double)problem_tensor(p, "w")[0];
    return first > 0 ? status_ok() : bad_input("tensor w: found %g", first);
}

static const struct option options[] = {
    {.name = "grid", .kind = OPTION_GRID, .low = 1, .high = 3, .meaning = "a grid"},
    {.name = "heads", .kind = OPTION_INTEGER, .default_value = "1", .low = 1, .high = 9, .letter = "h",
     .meaning = "heads"},
    {.name = "scale", .kind = OPTION_REAL, .default_value = "", .low = -1, .high = 1, .meaning = "a real"},
    {.name = "way", .kind = OPTION_CHOICE, .default_value = "4", .choices = "4|16|four", .meaning = "a choice"},
    {.name = "terms", .kind = OPTION_CHOICE, .default_value = "", .meaning = "any words"},
    {.name = "both", .kind = OPTION_FLAG, .meaning = "a flag"},
    {0}
};

static const struct tensor_row tensors[] = {
    {.name = "x", .shape = "B N C", .meaning = "tokens"},
    {.name = "w", .shape = "C D", .fan_in = "C", .meaning = "weights"},
    {.name = "b", .shape = "D", .optional = true, .fan_in = "C", .meaning = "bias"},
    {.name = "e", .shape = "2*D", .when = "way=16", .fan_in = "1", .meaning = "only with --way 16"},
    {0}
};

static const struct declaration made_up = {
    .name = "made-up", .summary = "nothing", .output = "B N D", .options = options, .tensors = tensors, .check = check,
};

/* The operator with B 1, C 4, D 5, without a bias and without data. */
static struct problem problem(const char *words) { return shaped(words, &made_up, 1, 4, "D=5", "b"); }

/* An absent tensor reads as NULL, a missing axis as 0, a tensor without data as NaN. */
TEST(names_are_looked_up)
{
    struct problem p = problem("--grid 2x3 --way 16 --both --terms a+bc");
    struct lookup names = {.problem = &p};
    real data[20] = {0};
    ck_assert_uint_eq(lookup_size(&names, "N"), 6);
    ck_assert_uint_eq(lookup_size(&names, "h"), 1);
    ck_assert_uint_eq(lookup_whole(&names, "heads"), 1);
    ck_assert(lookup_number(&names, "way") == 16);
    ck_assert_int_eq(lookup_choice(&names, "way"), 1);
    ck_assert_int_eq(lookup_choice(&names, "terms"), -1);
    ck_assert_str_eq(lookup_text(&names, "terms"), "a+bc");
    ck_assert_str_eq(lookup_text(&names, "scale"), "");
    ck_assert(lookup_given(&names, "both") && lookup_given(&names, "way") && lookup_given(&names, "grid"));
    ck_assert(!lookup_given(&names, "heads") && !lookup_given(&names, "scale"));

    ck_assert(isnan((double)*lookup_tensor(&names, "x")) && isnan((double)*lookup_tensor(&names, "w")));
    ck_assert_ptr_null(problem_tensor(&p, "w"));
    p.tensor[1].data = data;
    ck_assert_ptr_eq(lookup_tensor(&names, "w"), data);
    ck_assert_ptr_null(lookup_tensor(&names, "b"));
    ck_assert_uint_eq(lookup_axis(&names, "w", 1), 5);
    ck_assert_uint_eq(lookup_axis(&names, "e", 0), 10);
    ck_assert_uint_eq(lookup_axis(&names, "w", 2), 0);
    ck_assert_uint_eq(lookup_axis(&names, "b", 0), 0);
    succeeds(names.error);

    struct problem other = problem("--grid 6");
    struct lookup others = {.problem = &other};
    ck_assert_ptr_null(lookup_tensor(&others, "e"));
    ck_assert_int_eq(lookup_choice(&others, "way"), 0);
    succeeds(others.error);
}

TEST(unknown_names_are_failures)
{
    static const char *const said[] = {
        "no size of the name 'Z'", "no option of the name 'head'", "no option of the name 'headss'",
        "no option of the name 'wy'", "no option of the name ''", "no option of the name 'x'",
        "no tensor of the name 'way'", "no tensor of the name 'ww'",
    };
    struct problem p = problem("--grid 2x3");
    struct lookup names[COUNT(said)];
    for (size_t n = 0; n < COUNT(said); n++) names[n] = (struct lookup){.problem = &p};
    ck_assert(lookup_size(&names[0], "Z") == 0 && lookup_number(&names[1], "head") == 0);
    ck_assert(lookup_whole(&names[2], "headss") == 0 && lookup_choice(&names[3], "wy") == -1);
    ck_assert(!*lookup_text(&names[4], "") && !lookup_given(&names[5], "x"));
    ck_assert(!lookup_tensor(&names[6], "way") && lookup_axis(&names[7], "ww", 0) == 0);
    (void)lookup_tensor(&names[0], "later");
    for (size_t n = 0; n < COUNT(said); n++) rejected(names[n].error, STATUS_FAILURE, said[n]);
    rejected(names[0].error, STATUS_FAILURE, "made-up has ");
    ck_assert(isnan(problem_number(&p, "head")) && !problem_text(&p, "wy") && !problem_tensor(&p, "ww"));
    ck_assert(!problem_given(&p, "x") && problem_axis(&p, "ww", 0) == 0);
}

/* Not prefixes or suffixes of words. */
TEST(words_are_found_whole)
{
    static const struct { const char *list, *word; int place; } row[] = {
        {"4|16|four", "16", 1}, {"4|16|four", "four", 2}, {"4|16|four", "1", -1}, {"4|16|four", "fourth", -1},
        {"4|16|four", "", -1}, {"", "", 0},
    };
    for (size_t r = 0; r < COUNT(row); r++) ck_assert_int_eq(word_place(row[r].list, row[r].word), row[r].place);
    ck_assert(words_have("qk+r+b", "r", 1) && words_have("qk+r+b", "b", 1) && words_have("qk+r+b", "qk+r", 2));
    ck_assert(!words_have("qk+r+b", "q", 1) && !words_have("qk+r+b", "k", 1));
    ck_assert(declaration_has_letter(&made_up, "D") && !declaration_has_letter(&made_up, "2D"));
    ck_assert(!declaration_has_letter(&made_up, "") && !declaration_has_letter(&made_up, "h"));
    ck_assert(declaration_option(&made_up, "way") == 3 && declaration_option(&made_up, "wa") == -1);
}

/* Of "heads", "grid", "head-channels" and "wa", the nearest name, or none. */
TEST(near_names_are_suggested)
{
    static const char *const known[] = {"heads", "grid", "head-channels", "wa"}, *const row[][2] = {
        {"gird", "grid"}, {"grd", "grid"}, {"griid", "grid"}, {"grad", "grid"}, {"GRID", "grid"}, {"rgdi", NULL},
        {"num_heads", "heads"}, {"head", "heads"}, {"heads2", "heads"}, {"Head_Chanels", "head-channels"},
        {"wb", NULL}, {"", NULL}, {"depth", NULL},
        {"a-name-of-more-than-63-letters-in-which-there-is-also-that-of-grid", NULL},
    };
    for (size_t r = 0; r < COUNT(row); r++) {
        struct nearest n = {.found = row[r][0], .before = "--"};
        char said[60] = "?";
        for (size_t k = 0; k < COUNT(known); k++) nearest_try(&n, known[k]);
        if (row[r][1]) snprintf(said, sizeof said, "?; did you mean --%s?", row[r][1]);
        ck_assert_str_eq(nearest_suggest(bad_input("?"), &n).message, said);
    }
    struct nearest n = {.found = "grid", .name = "grid"};
    status full = bad_input("%0232d", 0);
    ck_assert_str_eq(nearest_suggest(full, &n).message, full.message);
    rejected(problem_create(&(struct problem){0}, &made_up, 1, (const char *[]){"--haeds"}), STATUS_BAD_INPUT,
             "expected an option ('twicetold help made-up'); did you mean --heads?");
    ck_assert(same_letters("LiSA", "lisa") && !same_letters("lisa", "lis") && !same_letters("lis", "lisa"));
}

/* The maximum of options, tensors and resolved bytes is accepted; one more of each is an error. */
TEST(declarations_are_limited)
{
    static const char *const said[] = {
        "large: 17 options, 24 tensors and 768 bytes resolved", "large: 16 options, 25 tensors",
        "769 bytes resolved, expected at most 16, 24 and 768",
    };
    for (int more = -1; more < 3; more++) {
        struct option many[PROBLEM_OPTIONS + 2] = {{0}};
        struct tensor_row rows[PROBLEM_TENSORS + 2] = {{0}};
        struct declaration d = {.name = "large", .output = "B", .options = many, .tensors = rows,
                                .resolved = PROBLEM_RESOLVED + (more == 2)};
        struct problem p;
        for (int o = 0; o < PROBLEM_OPTIONS + (more == 0); o++)
            many[o] = (struct option){.name = "flag", .kind = OPTION_FLAG};
        for (int t = 0; t < PROBLEM_TENSORS + (more == 1); t++)
            rows[t] = (struct tensor_row){.name = "t", .shape = "B", .fan_in = "1"};
        status s = problem_create(&p, &d, 0, NULL);
        if (more < 0) succeeds(s);
        else rejected(s, STATUS_FAILURE, said[more]);
    }
}

/* Without data a file binds sizes; with data, also the data, which the declaration then checks. */
TEST(files_bind_before_they_have_data)
{
    struct tensor list[2];
    struct tensors file = {2, list};
    struct problem p;
    succeeds(tensor_describe(&list[0], "x", 3, (size_t[]){1, 6, 4}));
    succeeds(tensor_describe(&list[1], "w", 2, (size_t[]){4, 5}));
    succeeds(problem_create(&p, &made_up, 2, (const char *[]){"--grid", "2x3"}));
    checks = 0;
    succeeds(problem_bind(&p, &file));
    ck_assert_uint_eq(problem_size(&p, "D"), 5);
    ck_assert_uint_eq(problem_output_count(&p), 30);
    ck_assert_ptr_null(problem_tensor(&p, "w"));
    ck_assert_int_eq(checks, 0);

    for (int t = 0; t < 2; t++) succeeds(tensor_allocate(&list[t]));
    list[1].data[0] = 1;
    succeeds(problem_bind(&p, &file));
    ck_assert_ptr_eq(problem_tensor(&p, "w"), list[1].data);
    ck_assert_int_eq(checks, 1);
    list[1].data[0] = -1;
    rejected(problem_bind(&p, &file), STATUS_BAD_INPUT, "tensor w: found -1");
    for (int t = 0; t < 2; t++) tensor_release(&list[t]);
}

int main(void) { return run_tests("lookup"); }
