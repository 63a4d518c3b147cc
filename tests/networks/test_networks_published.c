/* test_networks_published.c -- the papers' parameters and FLOPs against the library's counts
 *
 * reference/published/networks.tsv holds networks that run here; layers.tsv, single layers and networks with another
 * mixer.  Their heads explain the columns.  One multiply-add is one FLOP.  Parameters are in M; FLOPs in G, or in M for
 * single layers. */

#include "../support/published.h"
#include "../../reference/lisa.h"
#include "../../reference/sra.h"
#include "../../reference/networks/network.h"

static const char *const files[] = {"reference/published/networks.tsv", "reference/published/layers.tsv"};
static const char left_out[] = "reference/published/left-out.tsv";

/* ---- the network of a row ---------------------------------------------------- */

/* A changed table: mixers are one operator, a sequence of operators, or two that alternate from block to block. */
struct variant {
    struct network_table table;
    struct network_step entry[NETWORK_STAGES][4], block[NETWORK_STAGES][16];
    char text[5][3][160];
};

static const char *or_null(const char *text) { return strcmp(text, "-") ? text : NULL; }

/* Part `which` of a cell with parts separated by | or +; the last part if there are fewer. */
static const char *part_of(char text[160], const struct tsv *t, const char *name, int which)
{
    const char *at = tsv_cell(t, name);
    while (which-- && strpbrk(at, "|+")) at = strpbrk(at, "|+") + 1;
    snprintf(text, 160, "%.*s", (int)strcspn(at, "|+"), at);
    return or_null(text);
}

static struct network_step mixer_of(struct variant *v, const struct tsv *t, int which, enum turn turn)
{
    return (struct network_step){
        .name = "mixer", .move = JOIN, .turn = turn,
        .what = part_of(v->text[0][which], t, "operator", which),
        .options = part_of(v->text[1][which], t, "options", which),
        .sizes = part_of(v->text[2][which], t, "sizes", which),
        .without = part_of(v->text[3][which], t, "without", which),
        .last_shape = part_of(v->text[4][which], t, "second", which)};
}

static struct network_step *put_mixers(struct network_step *to, struct variant *v, const struct tsv *t)
{
    const char *operators = tsv_cell(t, "operator");
    for (int which = 0; operators; which++) {
        ck_assert(which < (int)COUNT(v->text[0]));
        *to++ = mixer_of(v, t, which, !strchr(tsv_cell(t, "operator"), '|') ? ALWAYS : which ? EVEN : ODD);
        if ((operators = strpbrk(operators, "|+")) && *operators++ == '+') to[-1].move = ALONG;
    }
    return to;
}

/* The entry for a name in the cell `changes`, or NULL. */
static char *changed(const struct tsv *t, const char *name)
{
    char *words = keep(160, 1);
    size_t length = strlen(name);
    for (const char *at = tsv_cell(t, "changes"); at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL) {
        if (strncmp(at, name, length) || at[length] != '=') continue;
        at += length + 1;
        snprintf(words, 160, "%.*s", (int)strcspn(at, ";"), at);
        return words;
    }
    return NULL;
}

/* Appends a step with its changes; an empty change drops it. */
static struct network_step *put(struct network_step *to, const struct network_step *from, const struct tsv *t)
{
    char *words = changed(t, from->name), *options = words ? strchr(words, ' ') : NULL;
    if (words && !*words) return to;
    if (options) *options++ = '\0';
    *to = *from;
    if (words) *to = (struct network_step){from->name, from->move, words, options, .turn = from->turn};
    return to + 1;
}

static const struct network_table *varied(const struct network_table *base, const struct tsv *t)
{
    struct variant *v = keep(1, sizeof *v);
    v->table = *base;
    for (int s = 0; s < NETWORK_STAGES && base->stage[s].block; s++) {
        bool mixed = strchr(tsv_cell(t, "stages"), '1' + s) != NULL;
        const struct network_step *from = base->stage[s].entry;
        struct network_step *to = v->entry[s];
        for (; from && from->name; from++) to = put(to, from, t);
        ck_assert(to < v->entry[s] + COUNT(v->entry[s]));
        for (from = base->stage[s].block, to = v->block[s]; from->name; from++) {
            ck_assert(to < v->block[s] + COUNT(v->block[s]) - 3);
            if (!mixed || strcmp(from->name, "mixer")) to = put(to, from, t);
            else if (from->turn != EVEN) to = put_mixers(to, v, t);
        }
        v->table.stage[s].entry = v->entry[s];
        v->table.stage[s].block = v->block[s];
    }
    return &v->table;
}

/* ---- counts -------------------------------------------------------------------- */

struct count { double parameters, bare, norms; };

/* LiSA's Tab. 3 counts N log2 N for a transform, and does not count products of spectra. */
static double flops_of(const struct form *form, const struct problem *p)
{
    if (p->declaration == &lisa) {
        struct lisa_problem l;
        succeeds(lisa.resolve(&l, p));
        double N = (double)problem_size(p, "N"), C = (double)problem_size(p, "C"), D = (double)l.D;
        if (l.wraps) return 4 * N * C * C + 2 * C * (1 + D) * N * log2(N) + 2 * N * C * D;
    }
    return form_multiply_adds(form, p);
}

/* FLOPs of a layer norm, and of SRA's norm before keys and values. */
static double norms_of(const struct problem *p)
{
    if (!strcmp(p->declaration->name, "norm")) return 5 * (double)problem_output_count(p);
    if (p->declaration != &sra) return 0;
    struct sra_problem s;
    succeeds(sra.resolve(&s, p));
    return 5 * (double)(s.M * s.C);
}

static struct count network_count(const struct network_table *table, const struct network_request *request)
{
    struct network n;
    struct count c = {0};
    succeeds(network_create(&n, table, request));
    c.parameters = (double)network_parameters(&n);
    for (size_t i = 0; i < n.parts; i++) {
        const struct problem *p = &n.part[i].problem;
        const char *what = n.part[i].step->what;
        c.norms += norms_of(p);
        if (strcmp(what, "norm") && strcmp(what, "position")) c.bare += flops_of(n.part[i].plan.form, p);
    }
    network_release(&n);
    return c;
}

static struct count layer_count(const struct tsv *t)
{
    struct problem p = tsv_problem(t);
    const struct form *form = operator_form(p.declaration, tsv_cell(t, "form"));
    return (struct count){(double)problem_parameters(&p), flops_of(form, &p), norms_of(&p)};
}

static struct count count(const struct tsv *t)
{
    const char *name = tsv_cell(t, "network"), *less, *numbers;
    struct network_request request = {.grid = tsv_cell(t, "grid"), .form = tsv_cell(t, "form")};
    const struct network_table *table;
    if (!or_null(name)) return layer_count(t);
    succeeds(network_named(&table, name));
    if (!tsv_has(t, "operator")) return network_count(table, &request);

    request.classes = (size_t)tsv_number(t, "classes");
    request.depths = changed(t, "depths");
    request.widths = changed(t, "widths");
    struct count c = network_count(varied(table, t), &request);
    if ((numbers = changed(t, "numbers"))) c.parameters += atof(numbers);
    if ((less = or_null(tsv_cell(t, "less_network")))) {
        succeeds(network_named(&table, less));
        struct count other = network_count(table, &request);
        c.parameters -= other.parameters;
        c.bare -= other.bare;
        c.norms -= other.norms;
    }
    return c;
}

/* ---- rows ------------------------------------------------------------------------ */

/* A printed number and the unit of its last digit, doubled for a difference of two rows. */
struct printed { double number, unit; };

static struct printed printed_of(const struct tsv *t)
{
    const char *text = tsv_cell(t, "printed"), *point = strchr(text, '.'), *paper = tsv_cell(t, "paper");
    const char *table = tsv_cell(t, "table"), *quantity = tsv_cell(t, "quantity");
    const char *less = tsv_has(t, "less_row") ? or_null(tsv_cell(t, "less_row")) : NULL;
    struct printed p = {tsv_number(t, "printed"), point ? pow(10, -(double)strlen(point + 1)) : 1};
    double in_file = published(paper, table, tsv_cell(t, "row"), quantity);
    if (less) {
        in_file -= published(paper, table, less, quantity);
        p.unit *= 2;
    }
    ck_assert_msg(fabs(in_file - p.number) < 1e-9, "%s, Table %s, %s: found %g, expected %g as in %s.tsv", paper, table,
                  tsv_cell(t, "row"), p.number, in_file, paper);
    return p;
}

/* True if some value from low to high rounds to the printed number. */
static bool prints_between(double low, double high, struct printed p)
{
    double half = p.unit / 2 * (1 + 1e-9);
    return low - half <= p.number && p.number <= high + half;
}

/* LiSA, Tab. 3, 4, 8b, 9; StructSA, Tab. 3 to 5a; ELSA, Tab. 4 to 6; HiLo, Tab. 1 to 4, 8 to 10.  A row follows if some
 * value between the counts without and with norms rounds to it, since papers do not say whether they count norms.
 * Tolerance: half of the last digit; our counts must equal those of the file. */
TESTS(printed_networks_are_counted_by_their_tables, COUNT(files))
{
    int checked = 0, follow = 0;
    for (struct tsv *t = tsv_open(files[_i]); tsv_row(t);) {
        const char *row = tsv_cell(t, "row"), *quantity = tsv_cell(t, "quantity"), *result = tsv_cell(t, "result");
        bool layer = !or_null(tsv_cell(t, "network")), flops = strstr(quantity, "flops") != NULL;
        bool chosen = !strcmp(result, "chosen"), follows = !strcmp(result, "follows");
        struct printed printed = printed_of(t);
        struct count c = count(t);
        double views = tsv_number(t, "views"), unit = flops && !layer ? 1e9 : 1e6;
        double low = flops ? views * c.bare / unit : c.parameters / unit;
        double high = flops ? low + views * c.norms / unit : low;
        printf("%s\t%s\t%s\t%s\t%g: %.6g to %.6g\n", tsv_cell(t, "paper"), tsv_cell(t, "table"), row, quantity,
               printed.number, low, high);
        ck_assert(flops || strstr(quantity, "parameters"));
        ck_assert_msg(follows || chosen || !strcmp(result, "does not"), "%s: found result '%s'", row, result);
        bool our_widths = !strncmp(tsv_cell(t, "network"), "chopd-former", strlen("chopd-former"));
        ck_assert(our_widths ? !follows : !chosen);

        double counted = flops ? c.bare / unit : c.parameters, norms = flops ? c.norms / unit : 0;
        double exactly = flops ? 0.00051 : 0;
        ck_assert_msg(fabs(tsv_number(t, "counted") - counted) <= exactly
                      && fabs(tsv_number(t, "norms") - norms) <= exactly,
                      "%s, %s: counted %.3f and %.3f, expected %s and %s", row, quantity, counted, norms,
                      tsv_cell(t, "counted"), tsv_cell(t, "norms"));
        bool prints = prints_between(low, high, printed);
        ck_assert_msg(prints == (follows || chosen), "Table %s, %s, %s: %g is%s printed of %g to %g, but '%s'",
                      tsv_cell(t, "table"), row, quantity, printed.number, prints ? "" : " not", low, high, result);
        follow += follows;
        checked += !chosen;
    }
    printf("    %d of %d rows follow\n", follow, checked);
    ck_assert(follow > 0 && checked > follow);
}

/* True if a list, separated by "; ", has an entry, or is "all". */
static bool lists(const char *list, const char *entry)
{
    size_t length = strlen(entry);
    for (const char *at = list; at; at = strstr(at, "; ") ? strstr(at, "; ") + 2 : NULL)
        if (!strncmp(at, entry, length) && (!at[length] || !strncmp(at + length, "; ", 2))) return true;
    return !strcmp(list, "all");
}

static bool is_count(const char *quantity) { return strstr(quantity, "parameters") || strstr(quantity, "flops"); }

/* Rows of `file` for a paper's row; their cells may be lists. */
static int holding(const char *file, const char *paper, const struct tsv *row)
{
    int count = 0;
    for (struct tsv *t = tsv_open(file); tsv_row(t);)
        count += !strcmp(tsv_cell(t, "paper"), paper) && !strcmp(tsv_cell(t, "table"), tsv_cell(row, "table"))
                 && lists(tsv_cell(t, "row"), tsv_cell(row, "row"))
                 && lists(tsv_cell(t, "quantity"), tsv_cell(row, "quantity"));
    return count;
}

/* Each name that is left out is printed with such a quantity. */
static void check_left_out(const struct tsv *row, const char *printed)
{
    char names[1024];
    snprintf(names, sizeof names, "%s", tsv_cell(row, "row"));
    for (char *name = strtok(names, ";"); name; name = strtok(NULL, ";")) {
        int found = 0;
        name += *name == ' ';
        for (struct tsv *t = tsv_open(printed); tsv_row(t);)
            found += !strcmp(tsv_cell(t, "table"), tsv_cell(row, "table")) && is_count(tsv_cell(t, "quantity"))
                     && lists(tsv_cell(row, "quantity"), tsv_cell(t, "quantity"))
                     && (!strcmp(name, "all") || !strcmp(name, tsv_cell(t, "row")));
        ck_assert_msg(found, "%s: found no row %s in Table %s", printed, name, tsv_cell(row, "table"));
    }
}

/* Each network has a printed row, except those trained here. */
TEST(networks_have_a_printed_row)
{
    const struct network_table *table;
    for (int at = 0; (table = network_at(at)); at++) {
        bool found = !strncmp(table->name, "learned", strlen("learned"));
        for (struct tsv *t = tsv_open(files[0]); tsv_row(t);) found |= !strcmp(tsv_cell(t, "network"), table->name);
        ck_assert_msg(found, "%s has no printed row", table->name);
    }
}

/* All tables with parameters or FLOPs: a row is counted, or left-out.tsv says once why not. */
TESTS(printed_rows_are_counted_or_left_out, 5)
{
    const char *paper = (const char *[]){"lisa", "structsa", "elsa", "hilo", "chopd"}[_i];
    char path[64];
    snprintf(path, sizeof path, "reference/published/%s.tsv", paper);
    for (struct tsv *t = tsv_open(path); tsv_row(t);) {
        if (!is_count(tsv_cell(t, "quantity"))) continue;
        bool counted = holding(files[0], paper, t) + holding(files[1], paper, t) > 0;
        int excused = holding(left_out, paper, t);
        ck_assert_msg(counted + excused == 1, "%s, Table %s, %s, %s: counted is %d, rows of left-out.tsv %d", paper,
                      tsv_cell(t, "table"), tsv_cell(t, "row"), tsv_cell(t, "quantity"), counted, excused);
    }
    for (struct tsv *t = tsv_open(left_out); tsv_row(t);)
        if (!strcmp(tsv_cell(t, "paper"), paper)) check_left_out(t, path);
}

int main(void) { return run_tests("networks, published numbers"); }
