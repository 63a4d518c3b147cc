/* test_network.c -- whole networks: tables, weights by path, logits against PyTorch's
 *
 * Networks run with few channels and blocks; full tables are only counted. */

#define _POSIX_C_SOURCE 200809L

#include "../support/golden.h"
#include "../support/folder.h"
#include "../../reference/networks/layers/layers.h"
#include "../../reference/networks/photo.h"
#include "../../reference/networks/profile.h"
#include "../../reference/runtime/random.h"

/* ---- small networks ----------------------------------------------------------- */

static const char *const form[] = {"naive", "fast"};

struct small { const char *name, *grid, *depths, *widths, *heads; size_t batch; };

/* All transitions between stages, all mixers, images and video; widths that are no multiple of a vector. */
static const struct small small[] = {
    {"litv2-s", "64x64", "1,2,2,1", "6,12,24,48", "1,2,4,4", 2},
    {"elsa-swin-t", "64x32", "1,1,2,1", "6,12,24,48", "1,2,4,4", 2},
    {"elsa-swin-b", "32x64", "1,1,1,1", "8,16,32,64", "1,2,4,4", 1},
    {"swin-t", "224x224", "2,1,1,1", "2,4,8,16", "1,1,2,2", 1},
    {"lisanet-i-t", "48x64", "2", "12", "3", 2},
    {"lisanet-i-t-d1", "64x32", "1", "20", "4", 1},
    {"lisanet-h-t", "64x64", "1,1,2,1", "4,6,8,20", "1,2,4,5", 1},
    {"lisanet-h-b", "64x32", "1,1,1,1", "4,6,8,20", "2,3,4,4", 2},
    {"structvit-s-4-2", "64x64", "1,1,2,1", "4,6,8,20", "1,1,2,4", 2},
    {"structvit-b-8-1", "32x64", "1,1,1,1", "4,6,8,20", "1,1,2,4", 1},
    {"structvit-s-4-2-video", "4x64x32", "1,1,1,1", "4,6,8,20", "1,1,2,4", 1},
    {"structvit-b-4-1-video", "2x32x32", "1,1,1,1", "4,6,8,20", "1,1,2,4", 1},
    {"uniformer-s-video", "4x32x64", "1,1,2,1", "4,6,8,20", "1,1,2,4", 1},
    {"litv2-s-t-msa", "224x224", "1,1,2,1", "2,4,8,16", "1,1,2,4", 1},
    {"chopd-former-15m", "32x32", "1,1,2,1", "8,16,24,32", NULL, 2},
    {"chopd-former-fc-15m", "32x32", "1,1,2,1", "4,6,8,20", NULL, 2},
    {"chopd-former-depthwise-15m", "32x64", "1,1,2,1", "4,6,8,20", NULL, 2},
    {"chopd-former-pool-15m", "64x32", "1,1,2,1", "4,6,8,20", NULL, 2},
    {"chopd-former-linear-15m", "32x32", "1,1,2,1", "4,6,8,20", NULL, 1},
};

static struct network made(const struct small *s, size_t classes, const char *form_name, int threads)
{
    struct network n;
    const struct network_table *table;
    succeeds(network_named(&table, s->name));
    succeeds(network_create(&n, table, &(struct network_request){
        .form = form_name, .grid = s->grid, .batch = s->batch, .classes = classes, .depths = s->depths,
        .widths = s->widths, .heads = s->heads, .threads = threads}));
    return n;
}

static struct network ready(const struct small *s, const char *form_name, int threads)
{
    struct network n = made(s, 7, form_name, threads);
    succeeds(network_draw(&n, 5));
    succeeds(network_place(&n));
    return n;
}

static size_t logits_of(const struct network *n) { return n->batch * n->classes; }
static size_t pixels_of(const struct network *n) { return n->batch * n->grid.tokens * 3; }

/* Returns the logits; the run must allocate nothing. */
static real *run(struct network *n, const real *x)
{
    real *y = zeros(logits_of(n));
    memory_fail_after(0);
    status s = network_run(n, y, x, NULL);
    memory_fail_after(-1);
    succeeds(s);
    return y;
}

/* ---- tolerances ------------------------------------------------------------------- */

static double bound(struct network *n, const real *x, const real *y)
{
    return chance(logits_of(n)) * network_sensitivity(n, x, y) * sqrt(network_terms(n)) * UNIT_ROUNDOFF;
}

/* Independent errors exceed 8 root mean squares less than once in 10^14 times.  The largest y is at least the root mean
 * square. */
#define SAFE 8

/* ---- PyTorch ------------------------------------------------------------------------ */

static const char *const golden[] = {"litv2-s", "elsa-swin-t", "lisanet-i-t", "lisanet-h-t", "lisanet-h-b",
                                     "structvit-s-4-2", "structvit-s-4-2-video", "chopd-former-15m",
                                     "chopd-former-fc-15m", "chopd-former-depthwise-15m", "chopd-former-pool-15m",
                                     "chopd-former-linear-15m", "swin-t", "swin-t_224x448", "elsa-swin-t_224x448"};

/* A golden network: its file with weights, x and PyTorch's outputs (each stage, then the logits). */
struct answers {
    struct golden g;
    struct network n;
    struct tensors weights;
    const struct tensor *x, *answer[NETWORK_STAGES + 1];
    int count;
};

static const char *option_of(const struct answers *a, const char *key)
{
    for (int w = 1; w + 1 < 32 && a->g.word[w + 1]; w += 2)
        if (!strcmp(a->g.word[w] + 2, key)) return a->g.word[w + 1];
    return NULL;
}

static void open_answers(struct answers *a, const char *name, const char *form_name)
{
    char path[128];
    *a = (struct answers){.n = {0}};
    snprintf(path, sizeof path, "tests/golden/network_%s.safetensors", name);
    golden_options(&a->g, path);
    (void)words_of(a->g.options, a->g.word, COUNT(a->g.word) - 1);
    succeeds(safetensors_read(&a->g.file, path));

    a->weights.tensor = keep(a->g.file.count, sizeof *a->weights.tensor);
    for (size_t t = 0; t < a->g.file.count; t++)
        if (strchr(a->g.file.tensor[t].name, '.')) a->weights.tensor[a->weights.count++] = a->g.file.tensor[t];

    char stage[] = "stage1";
    a->x = tensors_find(&a->g.file, "x");
    for (; (a->answer[a->count] = tensors_find(&a->g.file, stage)); stage[5]++) a->count++;
    a->answer[a->count++] = tensors_find(&a->g.file, "logits");
    ck_assert(a->x && a->answer[a->count - 1]);
    ck_assert_uint_eq(a->weights.count + 1 + (size_t)a->count, a->g.file.count);

    const struct small sizes = {a->g.word[0], option_of(a, "grid"), option_of(a, "depths"), option_of(a, "widths"),
                                option_of(a, "heads"), a->x->size[0]};
    a->n = made(&sizes, a->answer[a->count - 1]->size[1], form_name, 1);
    ck_assert_int_eq(a->n.stages, a->count - 1);
    succeeds(network_bind(&a->n, &a->weights));
    succeeds(network_place(&a->n));
}

static void run_answers(struct answers *a, real *y[NETWORK_STAGES + 1])
{
    for (int i = 0; i < a->count; i++) y[i] = zeros(a->answer[i]->count);
    succeeds(network_run(&a->n, y[a->count - 1], a->x->data, y));
}

static void close_answers(struct answers *a)
{
    network_release(&a->n);
    tensors_release(&a->g.file);
}

/* LITv2 Tab. 7; ELSA Tab. 4-6; LiSA Tab. 2, 7, 8; StructSA Tab. 2; ChoP'D's blocks (tests/pytorch/networks.py).
 * Tolerance: twice the bound, since PyTorch rounds too; stages use the kappa of the logits. */
TESTS(networks_equal_pytorch, 2 * COUNT(golden))
{
    struct answers a;
    char what[80];
    real *y[NETWORK_STAGES + 1];
    open_answers(&a, golden[_i / 2], form[_i % 2]);
    run_answers(&a, y);
    for (int i = 0; i < a.n.stages; i++) {
        size_t size[3];
        network_stage_shape(&a.n, i, size);
        ck_assert(!memcmp(size, a.answer[i]->size, sizeof size));
    }
    double allowed = 2 * bound(&a.n, a.x->data, y[a.count - 1]);
    for (int i = 0; i < a.count; i++) {
        snprintf(what, sizeof what, "%s, %s, %s", golden[_i / 2], form[_i % 2], a.answer[i]->name);
        alike(what, y[i], a.answer[i]->data, a.answer[i]->count, SAFE * allowed, allowed);
    }
    close_answers(&a);
}

/* The largest error of any stage or the logits: in some networks little passes on to the logits. */
static double farthest(struct answers *a)
{
    double most = 0;
    real *y[NETWORK_STAGES + 1];
    run_answers(a, y);
    for (int i = 0; i < a->count; i++)
        worse(&most, mean_difference(y[i], a->answer[i]->data, a->answer[i]->count));
    return most;
}

/* networks_equal_pytorch detects wrong numbers in any tensor of any step: N(0, 1) / 8 is added, |N(0, 1)| / 8 to
 * variances, one |N(0, 1)| / 8 to all edges of boxes. */
TESTS(every_weight_of_a_network_counts, COUNT(golden))
{
    struct answers a;
    char path[NETWORK_PATH];
    struct tensor t;
    open_answers(&a, golden[_i], "fast");
    double allowed = 2 * bound(&a.n, a.x->data, run(&a.n, a.x->data));
    for (size_t w = 0; network_weight(&t, path, &a.n, w); w++) {
        real *kept = copy(t.data, t.count);
        bool boxes = strstr(path, "boxes"), positive = boxes || strstr(path, "var");
        for (size_t i = 0; i < t.count; i++) {
            double move = random_normal(1, w, boxes ? 0 : i) / 8;
            t.data[i] += (real)(positive ? fabs(move) : move);
        }
        status s = network_load(&a.n);
        if (!s.code) beyond(path, farthest(&a), allowed);
        memcpy(t.data, kept, t.count * sizeof *t.data);
        succeeds(s);
    }
    close_answers(&a);
}

/* ---- counts ---------------------------------------------------------------------------- */

static struct network whole(const char *name, const char *form_name, const char *pixels)
{
    struct network n;
    succeeds(network_create(&n, network_find(name), &(struct network_request){.form = form_name, .grid = pixels}));
    return n;
}

/* Tolerance: 2^-40 of the sum of 500 numbers in double. */
TESTS(profile_kinds_sum_the_steps, COUNT(small))
{
    struct network_kind kind[NETWORK_KINDS], all;
    struct network n = ready(&small[_i], form[_i % 2], 1);
    succeeds(network_profile(&n, zeros(logits_of(&n)), normal(3, pixels_of(&n)), 2));
    int kinds = network_kinds(kind, &all, &n);
    double seconds = n.adding, cost = 0, whole_cost = network_multiply_adds(&n);
    size_t steps = 0;
    for (int k = 0; k < kinds; k++) {
        size_t found = 0;
        for (size_t p = 0; p < n.parts; p++) found += !strcmp(n.part[p].step->what, kind[k].what);
        ck_assert_uint_eq(kind[k].steps, found);
        ck_assert(k == 0 || kind[k].seconds <= kind[k - 1].seconds);
        ck_assert(kind[k].seconds <= 0 || network_if_free(&kind[k], &all) > 1);
        steps += found;
        cost += kind[k].multiply_adds;
    }
    for (size_t p = 0; p < n.parts; p++) seconds += n.part[p].seconds;
    ck_assert(steps == n.parts && all.steps == n.parts);
    within("multiply-adds", fabs(cost / whole_cost - 1) + fabs(all.multiply_adds / whole_cost - 1), ldexp(1, -40));
    within("seconds", fabs(all.seconds / seconds - 1), ldexp(1, -40));
    network_release(&n);
}

/* The block that chapter 7 counts by hand, 4 channels on 2 x 2 tokens, and LITv2-S's own, 384 channels on 14 x 14. */
TEST(networks_by_hand)
{
    static const struct { struct network_request request; size_t parameters[4], multiply_adds[4]; } hand[] = {
        {{.grid = "32x32", .depths = "1,1,1,1", .widths = "1,2,4,8", .heads = "1,1,2,2"},
         {8, 72, 8, 308}, {48, 256, 48, 1088}},
        {{.grid = "224x224"}, {768, 550400, 768, 1196928}, {225792, 77697536, 225792, 233920512}}};
    static const char *const step[] = {"norm1", "mixer", "norm2", "mlp"};
    for (size_t n = 0; n < COUNT(hand); n++) {
        struct network net;
        size_t parameters = 0, found = 0;
        double multiply_adds = 0;
        succeeds(network_create(&net, network_find("litv2-s"), &hand[n].request));
        for (size_t i = 0; i < net.parts; i++) {
            const struct part *p = &net.part[i];
            char path[NETWORK_PATH];
            snprintf(path, sizeof path, "stage3.block1.%s", step[found % COUNT(step)]);
            if (strcmp(p->path, path)) continue;
            size_t numbers = problem_parameters(&p->problem);
            double sums = form_multiply_adds(p->plan.form, &p->problem);
            printf("    %s: %zu parameters, %.0f multiply-adds\n", p->path, numbers, sums);
            ck_assert_uint_eq(numbers, hand[n].parameters[found]);
            ck_assert(sums == (double)hand[n].multiply_adds[found++]);
            parameters += numbers;
            multiply_adds += sums;
        }
        printf("    the block: %zu parameters, %.0f multiply-adds\n", parameters, multiply_adds);
        ck_assert_uint_eq(found, COUNT(step));
        ck_assert_uint_eq(parameters, n ? 1748864 : 396);
        ck_assert(multiply_adds == (n ? 312069632 : 1440));
        network_release(&net);
    }
}

/* One pixel of a linear ChoP'D Former changes one token of each stage: that whose pools cover it.  Pools are means: two
 * pixels of one token may change places.  Tolerance: 16 roundoffs, one for each pixel, times kappa of the logits. */
TEST(linear_former_sees_what_its_pools_cover)
{
    const struct small linear = {"chopd-former-linear-15m", "64x96", "1,1,2,1", "4,6,8,20", NULL, 1};
    struct network n = ready(&linear, "fast", 1);
    real *x = normal(3, pixels_of(&n)), *before[NETWORK_STAGES], *after[NETWORK_STAGES], *logits = zeros(7);
    real *here = x + (37 * 96 + 51) * 3, *there = here - (96 + 2) * 3, kept[3];
    size_t size[NETWORK_STAGES][3] = {{0}};
    for (int s = 0; s < n.stages; s++) {
        network_stage_shape(&n, s, size[s]);
        before[s] = zeros(size[s][1] * size[s][2]);
        after[s] = zeros(size[s][1] * size[s][2]);
    }
    succeeds(network_run(&n, logits, x, before));
    double allowed = 16 * UNIT_ROUNDOFF * network_sensitivity(&n, x, logits);
    *here += 1;
    succeeds(network_run(&n, NULL, x, after));
    for (int s = 0; s < n.stages; s++) {
        size_t covers = (size_t)4 << s, seen = 37 / covers * (96 / covers) + 51 / covers, C = size[s][2];
        for (size_t i = 0; i < size[s][1]; i++) {
            bool changed = memcmp(before[s] + i * C, after[s] + i * C, C * sizeof(real)) != 0;
            ck_assert_msg(changed == (i == seen), "stage %d, token %zu, expected only %zu to change", s + 1, i, seen);
        }
    }
    memcpy(kept, here, sizeof kept);
    memcpy(here, there, sizeof kept);
    memcpy(there, kept, sizeof kept);
    succeeds(network_run(&n, NULL, x, before));
    within("two pixels exchanged", mean_difference(before[3], after[3], size[3][1] * size[3][2]), allowed);
    network_release(&n);
}

/* ---- errors ------------------------------------------------ */

/* The message names the path if a weight is missing, unknown or of another shape, also before any number is read. */
TEST(wrong_weights_are_named_by_their_paths)
{
    struct network n = ready(&small[0], "fast", 1);
    struct tensors all = {.tensor = keep(512, sizeof *all.tensor)};
    while (network_weight(&all.tensor[all.count], keep(NETWORK_PATH, 1), &n, all.count)) all.count++;
    for (int loaded = 1; loaded >= 0; loaded--) {
        for (size_t w = 0; w < all.count && !loaded; w++) all.tensor[w].data = NULL;
        succeeds(network_bind(&n, &all));
        for (size_t w = 0; w < all.count; w++) {
            struct tensor kept = all.tensor[w];
            char message[160];
            for (int absent = 0; absent < 2; absent++) {
                snprintf(message, sizeof message, "tensor %s: %s", kept.name, absent ? "missing" : "found [");
                if (absent) all.tensor[w].name = "nobody";
                else all.tensor[w].size[0]++;
                rejected(network_bind(&n, &all), STATUS_BAD_INPUT, message);
                all.tensor[w] = kept;
            }
        }
        all.tensor[all.count] = all.tensor[0];
        all.tensor[all.count++].name = "stage1.embed.gain";
        rejected(network_bind(&n, &all), STATUS_BAD_INPUT, "tensor stage1.embed.gain: not of this network");
        all.count--;
    }
    network_release(&n);
}

TEST(networks_reject_wrong_requests)
{
    static const struct { const char *name; struct network_request request; const char *says; } wrong[] = {
        {"litv2-s", {.grid = "60x60"}, "stage2.deform: option --grid"},
        {"litv2-s", {.depths = "1,1,1"}, "option --depths: found '1,1,1', expected 4"},
        {"litv2-s", {.depths = "1,1,1,1,"}, "option --depths"},
        {"litv2-s", {.depths = "1,0,1,1"}, "option --depths"},
        {"litv2-s", {.widths = "8,16,32,60"}, "stage4: found 64 channels, expected 60"},
        {"litv2-s", {.heads = "1,1,5,1"}, "stage3.block1.mixer: option --heads"},
        {"lisanet-i-t", {.grid = "64x3"}, "stage1.embed: option --size"},
        {"swin-t", {.grid = "64x64"}, "stage1.block1.mixer: option --window"},
        {"elsa-swin-t", {.grid = "256x256"}, "stage4.block1.mixer: option --window: found 7, expected a divisor of 8"},
        {"structvit-s-4-2", {.grid = "0x4"}, "option --grid"},
        {"structvit-s-4-1", {.form = "fftw"}, "form 'fftw': not known to "},
        /* More memory than allowed: detected before any is allocated. */
        {"litv2-s", {.depths = "65536,65536,65536,65536", .allowed = 1 << 20}, "allowed are 1048576"},
    };
    const struct network_table *table;
    size_t before = memory_in_use();
    rejected(network_named(&table, "litv3"), STATUS_BAD_INPUT, "network litv3: not known");
    rejected(network_named(&table, NULL), STATUS_BAD_INPUT, "found no network");
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct network n;
        memory_reset_peak();
        rejected(network_create(&n, network_find(wrong[i].name), &wrong[i].request), STATUS_BAD_INPUT, wrong[i].says);
        ck_assert_uint_eq(memory_in_use(), before);
        if (wrong[i].request.allowed) ck_assert_uint_eq(memory_peak(), before);
    }
}

/* ---- properties -------------------------------------------------------------------------- */

/* With one to three threads, the fast forms give the naive forms' logits.  Their bits do not change after another
 * input, after scratch is overwritten, or in a second network; x stays.  network_bytes predicts the peak of memory. */
TESTS(networks_agree_repeat_and_state_their_bytes, COUNT(small))
{
    const struct small *s = &small[_i];
    struct network naive = ready(s, "naive", 1);
    const size_t logits = logits_of(&naive), pixels = pixels_of(&naive);
    const real *x = normal(3, pixels), *y = run(&naive, x);
    double allowed = bound(&naive, x, y);
    network_release(&naive);
    ck_assert(largest(y, logits) > 0);
    for (int threads = 1; threads <= 3; threads++)
        for (int f = 0; f < 2; f++) {
            struct network sized = made(s, 7, form[f], threads), n, other;
            size_t said = network_bytes(&sized, true);
            real *first = zeros(logits), *before = copy(x, pixels);
            network_release(&sized);
            size_t in_use = memory_in_use();
            memory_reset_peak();
            n = ready(s, form[f], threads);
            succeeds(network_run(&n, first, x, NULL));
            ck_assert_uint_eq(memory_peak() - in_use, said);
            if (f) {
                alike(s->name, first, y, logits, SAFE * allowed, allowed);
                other = ready(s, form[f], threads);
                unequal(run(&n, normal(4, pixels)), first, logits);
                memset(n.shared, 0xff, n.scratch);
                equal(run(&n, x), first, logits);
                equal(run(&other, x), first, logits);
                equal(x, before, pixels);
                network_release(&other);
            }
            network_release(&n);
            ck_assert_uint_eq(memory_in_use(), in_use);
        }
}

/* All logits of NaN's image become NaN; no bit of another image's logits changes. */
TESTS(nan_reaches_the_logits_of_its_image, 2 * COUNT(small))
{
    struct network n = ready(&small[_i / 2], form[_i % 2], 1);
    size_t in = n.grid.tokens * 3, K = n.classes;
    real *x = normal(3, 2 * in);
    const real *y = run(&n, x);
    ck_assert(n.batch == 1 || n.batch == 2);
    for (size_t image = 0; image < n.batch; image++) {
        real *touched = copy(x, 2 * in);
        touched[image * in + in / 2] = (real)NAN;
        const real *z = run(&n, touched);
        for (size_t k = 0; k < K; k++) ck_assert(isnan((double)z[image * K + k]) && !isnan((double)y[image * K + k]));
        if (n.batch == 2) equal(z + (1 - image) * K, y + (1 - image) * K, K);
    }
    network_release(&n);
}

static int table_count(void)
{
    int tables = 0;
    while (network_at(tables)) tables++;
    return tables;
}

/* At the table's grid: steps fit each other, classes are as stated, bytes do not overflow on 64 bits. */
TESTS(network_tables_are_consistent, table_count())
{
    const struct network_table *t = network_at(_i);
    ck_assert_ptr_eq(network_find(t->name), t);
    ck_assert_ptr_null(operator_find(t->name));
    for (int f = 0; f < 2; f++) {
        struct network n = whole(t->name, form[f], NULL);
        ck_assert_uint_eq(problem_output_count(&n.part[n.parts - 1].problem), t->classes ? t->classes : 1000);
        ck_assert(network_bytes(&n, true) < SIZE_MAX || sizeof(size_t) == 4);
        network_release(&n);
    }
}

/* ELSA's public code: ELSASwinBlock passes qk_scale=1; no published model uses the default, 1/sqrt(c). */
TEST(published_elsa_models_state_a_scale_of_one)
{
    static const struct { const char *name; size_t blocks; } row[] = {
        {"elsa-swin-t", 10}, {"elsa-swin-s", 22}, {"elsa-swin-b", 22}};
    for (size_t i = 0; i < COUNT(row); i++) {
        struct network n = whole(row[i].name, "fast", NULL);
        size_t stated = 0;
        for (size_t p = 0; p < n.parts; p++)
            if (!strcmp(n.part[p].step->what, "elsa") && problem_given(&n.part[p].problem, "scale"))
                stated += problem_number(&n.part[p].problem, "scale") == 1;
        ck_assert_uint_eq(stated, row[i].blocks);
        network_release(&n);
    }
}

/* Swin's public code: windows of 7, or of the shorter side if that is less; no shift unless it exceeds 7.  Weights for
 * 224 pixels serve all larger grids. */
TEST(swin_windows_follow_the_plane)
{
    static const struct { const char *grid; double edge, shift; } plane[] = {
        {"224x224", 7, 0}, {"224x448", 7, 0}, {"672x224", 7, 0}, {"448x448", 7, 3}, {"160x160", 5, 0},
        {"64x128", 2, 0}};
    for (size_t i = 0; i < 2 * COUNT(plane); i++) {
        size_t at = i / 2, mixers = 0;
        struct small s = {i % 2 ? "swin-t" : "elsa-swin-t", "224x224", "1,1,1,2", "4,8,16,32", NULL, 1};
        if (i % 2 && at > 3) continue;          /* stage 1 of Swin-T has no windows of 7 there */
        struct network first = made(&s, 7, "naive", 1);
        s.grid = plane[at].grid;
        struct network n = made(&s, 7, "naive", 1);
        struct tensors all = {.tensor = keep(512, sizeof *all.tensor)};
        while (network_weight(&all.tensor[all.count], keep(NETWORK_PATH, 1), &first, all.count)) all.count++;
        if (at < 4) succeeds(network_bind(&n, &all));
        for (size_t p = 0; p < n.parts; p++)
            if (n.part[p].stage == 4 && !strcmp(n.part[p].step->what, "msa")) {
                ck_assert(problem_number(&n.part[p].problem, "window") == plane[at].edge);
                ck_assert(problem_number(&n.part[p].problem, "shift") == (mixers++ ? plane[at].shift : 0));
            }
        ck_assert_uint_eq(mixers, 2);
        network_release(&first);
        network_release(&n);
    }
}

/* ---- photographs ------------------------------------------------------------------------- */

/* A grey picture with pixels fill(p), prepared by a recipe for a network of side x side pixels. */
static real *prepared(size_t rows, size_t columns, real (*fill)(size_t p), const struct photo_recipe *recipe,
                      size_t side)
{
    struct image im;
    real *x = zeros(side * side * 3);
    succeeds(image_create(&im, rows, columns, 1));
    for (size_t p = 0; p < rows * columns; p++) im.pixels[p] = fill(p);
    succeeds(photo_prepare(x, &im, recipe, side, side));
    image_release(&im);
    return x;
}

static real ramps(size_t p) { return (real)(p / 384) / 256 + (real)(p % 384) / 2048; }

/* A black square in a white frame. */
static size_t framed, frame;
static real square(size_t p)
{
    size_t row = p / framed, column = p % framed, end = framed - frame;
    return row < frame || row >= end || column < frame || column >= end;
}

/* data/build.py of LITv2 and Swin, crop_pct of ELSA, TEST.CROP of LITv2-B at 384.  If the white frame is as wide as the
 * recipe crops, the result is all black; if wider, it is not.  Tolerance: 16 u. */
TEST(photographs_are_prepared_as_their_authors_do)
{
    static const struct { const char *name; size_t side, covered; } model[] = {
        {"litv2-s", 224, 256}, {"litv2-m", 224, 256}, {"litv2-b", 224, 256}, {"swin-t", 224, 256},
        {"elsa-swin-t", 224, 248}, {"elsa-swin-s", 224, 248}, {"elsa-swin-b", 224, 248}, {"litv2-s", 384, 438},
        {"litv2-b", 384, 384}};
    enum { W = 384, H = W / 2 };
    for (size_t i = 0; i < COUNT(model); i++)
        for (size_t wider = 0; wider < 2; wider++) {
            double worst = 0;
            size_t side = model[i].side, all = model[i].covered;
            framed = all;
            frame = (all - side) / 2 + wider;
            real *x = prepared(all, all, square, &network_find(model[i].name)->photo, side);
            for (size_t p = 0; p < side * side; p++) worse(&worst, fabs((double)x[p * 3] + 0.485 / 0.229));
            if (wider) ck_assert(worst > 1);
            else within(model[i].name, worst, 16 * UNIT_ROUNDOFF);
        }

    double worst = 0;
    real *x = prepared(H, W, ramps, &network_find("litv2-b")->photo, W);
    for (size_t p = 0; p < W * W; p++) {
        double row = fmin(fmax((double)(p / W) / 2 - 0.25, 0), (double)(H - 1));
        worse(&worst, fabs((double)x[p * 3] - (row / 256 + (double)(p % W) / 2048 - 0.485) / 0.229));
    }
    within("ramps", worst, 16 * UNIT_ROUNDOFF);
}

/* A network of one channel gets the mean, within 16 u.  The message about a file that is no PNG names it. */
START_TEST(a_grey_picture_is_the_mean_of_its_colours)
{
    static const real tone[] = {(real)(51. / 255), (real)(102. / 255), (real)(204. / 255)};
    struct image im;
    real x[28 * 28];
    const char *path = "picture.png";
    file_write(path, "", 0);
    rejected(photo_read(x, path, &(struct photo_recipe){0}, 28, 28, 1), STATUS_BAD_INPUT, path);
    succeeds(image_create(&im, 30, 40, 3));
    for (size_t i = 0; i < 30 * 40 * 3; i++) im.pixels[i] = tone[i % 3];
    png_write(path, &im);
    image_release(&im);
    succeeds(photo_read(x, path, &(struct photo_recipe){0}, 28, 28, 1));
    within("grey", largest_difference(x, filled(COUNT(x), 357. / 765), COUNT(x)), 16 * UNIT_ROUNDOFF);
}

int main(void)
{
    Suite *suite = suite_of_tests("network");
    tcase_add_test(add_folder_case(suite, "files"), a_grey_picture_is_the_mean_of_its_colours);
    return run_suite(suite);
}
