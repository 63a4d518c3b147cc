/* roofline.c -- the limits of the machine, and the share of them that each form reaches
 *
 *     build/figures/bench/roofline [SECONDS [BYTES [alone]]]
 *
 * One thread.  The roofs are the multiply-adds per second of vectors in registers, and the bytes per second read from
 * each cache and from memory.  Then follow fast forms of nine layers, and naive forms on small grids.  The intensity of
 * a form is its multiply-adds, by formula, over the bytes of x, y, scratch and parameters (or persistent arrays, if
 * larger), once each.  Its roof is the intensity times the bandwidth of the level that holds those bytes, but at most
 * the peak.  Exponentials, roots and sums without a product are not counted.
 *
 * Times are wall time, the minimum of as many runs as fit in SECONDS (default 0.5).  Rates are the best of as many,
 * before and after the forms.  The best two must agree to 5 %, or the program fails.  BYTES (default 1 GiB, but at
 * most a quarter of the memory) is the size of the largest array read; "alone" measures only the roofs and the ports.
 *
 *     level   NAME  bytes read  G bytes per second, or G multiply-adds per second  capacity in bytes
 *     port    NAME  0  G operations of lanes per second, or G multiply-adds per second of a product in cache  0
 *     form    OPERATOR  OPTIONS  SIZES  FORM  GRID  CHANNELS  WITHOUT  ... (print_dot) */

#define _POSIX_C_SOURCE 200809L

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../fast/tuned/packed_linear.h"
#include "../../fast/tuned/vec.h"
#include "../../reference/networks/operators.h"
#include "../../reference/runtime/memory.h"
#include "../../reference/cli/harness.h"
#include "../../reference/cli/settings.h"

enum { LEVELS = 4, PORTS = 4 };

/* ---- the forms --------------------------------------------------------- */

/* Layers, most of them with the sizes of figures/bench/versus.py. */
static const struct layer {
    const char *name, *naive_grid;
    struct problem_sizes sizes;
} layers[] = {
    {"msa", "14x14", {.grid = "56x56", .batch = 1, .channels = 96, .without = "b_qkv,b_o,rpe,ghost_mul,ghost_add"}},
    {"msa", "14x14", {.grid = "56x56", .batch = 1, .channels = 96, .without = "b_qkv,b_o,rpe",
                      .words = 4, .word = (const char *const[]){"--heads", "3", "--window", "7"}}},
    {"lisa", "14x14", {.grid = "56x56", .batch = 1, .channels = 96, .sizes = "D=16", .without = "b_qkv,w_o,b_o"}},
    {"structsa", "6x6", {.grid = "28x28", .batch = 1, .channels = 384, .sizes = "D=8", .without = "b_qkv,w_o,b_o",
                         .words = 4, .word = (const char *const[]){"--heads", "6", "--kernel", "3x3"}}},
    {"elsa", "14x14", {.grid = "56x56", .batch = 1, .channels = 96, .without = "b_qkv,w_o,b_o",
                       .words = 4, .word = (const char *const[]){"--heads", "3", "--kernel", "7"}}},
    {"chopd", "3x3", {.grid = "56x56", .batch = 1, .channels = 96, .sizes = "D=96,R=96,G=4,S=24"}},
    {"dfc-cp", "3x3", {.grid = "56x56", .batch = 1, .channels = 96, .sizes = "D=96,R=96"}},
    {"hilo", "14x14", {.grid = "14x14", .batch = 1, .channels = 768,
                       .without = "h_qkv_b,h_proj_b,l_q_b,l_kv_b,l_proj_b",
                       .words = 2, .word = (const char *const[]){"--heads", "12"}}},
    {"sra", "4x4", {.grid = "14x14", .batch = 1, .channels = 768, .without = "b_q,b_kv,sr_b,b_o",
                    .words = 4, .word = (const char *const[]){"--heads", "12", "--reduction", "2"}}},
};

/* ---- the roofs --------------------------------------------------------- */

/* The best two readings of a rate, per second. */
struct best { double start, first, second; };

struct level {
    const char *name;
    double holds;               /* capacity in bytes */
    size_t through;             /* bytes read to measure it */
    struct best rate;           /* bytes per second */
};

struct roofs {
    struct best port[PORTS];    /* operations of lanes, or multiply-adds; the first is the peak */
    struct level level[LEVELS]; /* nearest first; the last is memory */
    int levels;
};

static volatile real sink, half = (real)0.5;    /* volatile: the compiler cannot fold the loops */

/* amount / seconds since `started`; 0 if other programs disturbed the reading. */
static double rate_since(const struct stopwatch *started, double amount)
{
    struct contestant reading = {.run = NULL};
    stopwatch_stop(started, &reading);
    return reading.disturbed ? 0 : amount / reading.last;
}

static bool agree(const struct best *b) { return b->first > 0 && b->second >= 0.95 * b->first; }

/* Records a reading.  True if another is needed: for `seconds`, then until the best two agree or time runs out. */
static bool again(struct best *b, double rate, double seconds)
{
    double passed = omp_get_wtime() - b->start;
    b->second = fmax(b->second, fmin(b->first, rate));
    b->first = fmax(b->first, rate);
    return passed < seconds || (!agree(b) && passed < 1 + 10 * seconds);
}

static status check_best(const struct best *b, const char *name)
{
    if (agree(b)) return status_ok();
    return bad_input("%s: the best two readings differ by %.0f %%, expected at most 5 %%: close other programs", name,
                     b->first > 0 ? 100 * (1 - b->second / b->first) : 100);
}

/* Operations of lanes per second: `fma` and `add` alternately, those that are not 0.  Twelve independent chains hide the
 * latency; if fma and add share 16 registers, eight and six do. */
INLINED double operations(int fma, int add)
{
    enum { ROUNDS = 100000, STEPS = 24, CHAINS = 12 };
    const bool tight = fma && add && LANE_REGISTERS < 32;
    const size_t fmas = tight ? 8 : CHAINS, adds = tight ? 6 : CHAINS;
    struct stopwatch started = stopwatch_start(1);      /* before the first vector: a call would spill them */
    vec f[CHAINS], a[CHAINS], by = (vec){0} + half;
    for (size_t i = 0; i < CHAINS; i++) f[i] = a[i] = by * (real)i;
    for (size_t r = 0; r < ROUNDS; r++)
        for (size_t step = 0; step < STEPS; step += fmas)
            for (size_t i = 0; i < fmas; i++) {
                const size_t k = (step + i) % adds;
                if (fma) f[i] = vec_in_register(f[i] * by + by);
                if (add) a[k] = vec_in_register(a[k] + by);
            }
    for (size_t i = 0; i < CHAINS; i++) by += f[i] + a[i];
    sink = vec_sum(by);
    return rate_since(&started, (double)ROUNDS * STEPS * LANES * (fma + add));
}

static double fma_rate(void) { return operations(1, 0); }
static double add_rate(void) { return operations(0, 1); }
static double fma_add_rate(void) { return operations(1, 1); }

/* Multiply-adds per second of the packed product, with all its numbers in the second cache. */
static double product_rate(void)
{
    enum { TOKENS = 192, IN = 96, OUT = 96, PRODUCTS = 20 };
    static _Alignas(64) real x[TOKENS * IN], y[TOKENS * OUT], weight[OUT * IN], panels[(IN + 1) * OUT];
    struct linear map = {.kind = &linear_packed, .in = IN, .out = OUT, .panels = panels};
    for (size_t i = 0; i < TOKENS * IN; i++) x[i] = half;       /* untouched pages share one page of zeros */
    linear_load(&map, 0, OUT, weight, NULL);
    struct stopwatch started = stopwatch_start(1);
    for (int n = 0; n < PRODUCTS; n++) linear_apply(y, OUT, x, IN, &map, TOKENS, 0, 1);
    return rate_since(&started, (double)PRODUCTS * TOKENS * IN * OUT);
}

static const struct { const char *name; double (*rate)(void); } ports[PORTS] = {
    {"fma", fma_rate}, {"add", add_rate}, {"fma+add", fma_add_rate}, {"product", product_rate},
};

/* Bytes per second of reading `bytes`, several times if they are few. */
static double read_rate(const real *from, size_t bytes)
{
    enum { ABREAST = 8 };
    size_t count = bytes / sizeof *from, passes = 1 + ((size_t)1 << 23) / bytes;
    vec sum[ABREAST] = {{0}};
    struct stopwatch started = stopwatch_start(1);
    for (size_t p = 0; p < passes; p++) {
        const real *at = from;
        for (size_t n = count / (ABREAST * LANES); n; n--, at += ABREAST * LANES) {
#pragma GCC unroll 8
            for (size_t i = 0; i < ABREAST; i++) sum[i] += vec_load(at + i * LANES);
        }
        __asm__ volatile("" ::: "memory");              /* the next pass reads again */
    }
    double rate = rate_since(&started, (double)(count * passes * sizeof *from));
    for (size_t i = 0; i < ABREAST; i++) sink = vec_sum(sum[i]);
    return rate;
}

static void raise_level(struct best *b, const real *from, size_t bytes, double seconds)
{
    b->start = omp_get_wtime();
    while (again(b, read_rate(from, bytes), seconds));
}

/* Fills in the sizes of the caches that the system reports, nearest first, and returns how many. */
static int caches_reported(size_t holds[LEVELS - 1])
{
    int found = 0;
#if defined _SC_LEVEL1_DCACHE_SIZE && defined _SC_LEVEL2_CACHE_SIZE && defined _SC_LEVEL3_CACHE_SIZE
    const int name[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    for (int i = 0; i < LEVELS - 1; i++) {
        long bytes = sysconf(name[i]);
        if (bytes > 0) holds[found++] = (size_t)bytes;
    }
#else
    (void)holds;
#endif
    return found;
}

/* The same by measurement.  A size is that of a cache if twice and four times as many bytes are read at less than two
 * thirds of the best rate so far, in the best of three sweeps. */
static int caches_measured(size_t holds[LEVELS - 1], const real *from, size_t most)
{
    double rate[40] = {0}, best = 0;
    int found = 0, steps = 0;
    for (int sweep = 0; sweep < 3; sweep++) {
        steps = 0;
        for (size_t bytes = 1 << 12; bytes <= most; bytes *= 2, steps++) {
            struct best now = {0};
            raise_level(&now, from, bytes, 0.01);
            rate[steps] = fmax(rate[steps], now.first);
        }
    }
    for (int n = 0; n + 2 < steps && found < LEVELS - 1; n++) {
        if (rate[n] > best) best = rate[n];
        if (3 * rate[n + 1] >= 2 * best || 3 * rate[n + 2] >= 2 * best) continue;
        holds[found++] = (size_t)1 << (12 + n);
        best = 0;
    }
    return found;
}

/* Chooses the bytes read to measure each level: half the level, or four times the level before if that is less; for
 * memory `most`. */
static void find_levels(struct roofs *r, const real *from, size_t most)
{
    static const char *const name[] = {"L1", "L2", "L3", "memory"};
    size_t holds[LEVELS - 1];
    int caches = caches_reported(holds);
    if (!caches) caches = caches_measured(holds, from, most);
    for (int i = 0; i < caches; i++) {
        size_t through = i && 4 * holds[i - 1] < holds[i] / 2 ? 4 * holds[i - 1] : holds[i] / 2;
        r->level[r->levels++] =
            (struct level){.name = name[i], .holds = (double)holds[i], .through = through < most ? through : most};
    }
    r->level[r->levels++] = (struct level){.name = name[LEVELS - 1], .holds = 1e300, .through = most};
}

/* Measures all rates again, and keeps the larger ones. */
static status raise_roofs(struct roofs *r, const real *from, double seconds)
{
    status s = status_ok();
    bool more = true;
    for (int i = 0; i < PORTS; i++) r->port[i].start = omp_get_wtime();
    while (more) {                      /* alternately, since the clock rate changes */
        more = false;
        for (int i = 0; i < PORTS; i++) more |= again(&r->port[i], ports[i].rate(), seconds);
    }
    for (int i = 0; i < PORTS && !s.code; i++) s = check_best(&r->port[i], ports[i].name);
    for (int i = 0; i < r->levels && !s.code; i++) {
        struct level *l = &r->level[i];
        raise_level(&l->rate, from, l->through, seconds);
        s = check_best(&l->rate, l->name);
    }
    return s;
}

/* ---- a form ------------------------------------------------------------ */

struct dot {
    const char *name, *form;
    struct problem_sizes sizes;
    double multiply_adds, x, weights, y, scratch;     /* x to scratch in bytes */
    double seconds;
};

/* The minimum of as many runs as fit in `limit` seconds, after a warm-up. */
static status least_seconds(double *least, struct plan *plan, const struct sample *sample, double limit)
{
    status s = plan_run(plan, sample->y, sample->x);
    struct best rate = {.start = omp_get_wtime()};
    struct stopwatch started;
    do {
        started = stopwatch_start(1);
        if (!s.code) s = plan_run(plan, sample->y, sample->x);
    } while (again(&rate, rate_since(&started, 1), limit) && !s.code);
    *least = 1 / rate.first;
    return s.code ? s : status_at(check_best(&rate, plan->form->name), plan->problem->declaration->name);
}

/* Counts and times one form. */
static status place_dot(struct dot *d, double seconds)
{
    const struct declaration *operator = operator_find(d->name);
    const struct form *form = operator_form(operator, d->form);
    struct sample sample;
    struct plan plan = {0};
    status s = sample_create(&sample, operator, &d->sizes, 1);
    if (!s.code) s = plan_create(&plan, &sample.problem, form, 1);
    if (!s.code) {
        const size_t *bytes = plan.arena.bytes;
        double parameters = (double)(problem_parameters(&sample.problem) * sizeof(real));
        d->multiply_adds = form_multiply_adds(form, &sample.problem);
        d->x = (double)(sample.inputs * sizeof(real));
        d->y = (double)(sample.outputs * sizeof(real));
        d->weights = parameters > (double)bytes[PERSISTENT] ? parameters : (double)bytes[PERSISTENT];
        d->scratch = (double)(bytes[PER_RUN] + bytes[PER_THREAD]);
        s = least_seconds(&d->seconds, &plan, &sample, seconds);
    }
    plan_release(&plan);
    sample_release(&sample);
    return s;
}

static void print_dot(const struct dot *d, const struct roofs *r)
{
    const struct problem_sizes *o = &d->sizes;
    double bytes = d->x + d->weights + d->y + d->scratch, intensity = d->multiply_adds / bytes;
    int at = 0;
    while (r->level[at].holds < bytes) at++;
    double roof = fmin(intensity * r->level[at].rate.first, r->port[0].first), reached = d->multiply_adds / d->seconds;
    printf("form\t%s\t", d->name);
    for (int w = 0; w < o->words; w++) printf("%s%s", w ? " " : "", o->word[w]);
    printf("\t%s\t%s\t%s\t%zu\t%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.3g\t%s\t%.3g\t%.5g\t%.3g\t%.1f\n",
           o->sizes ? o->sizes : "", d->form, o->grid, o->channels, o->without ? o->without : "", d->multiply_adds,
           d->x, d->weights, d->y, d->scratch, intensity, r->level[at].name, roof / 1e9, d->seconds, reached / 1e9,
           100 * reached / roof);
}

/* ---- all --------------------------------------------------------------- */

static status draw_all(double seconds, size_t most, bool alone)
{
    static struct dot dot[2 * sizeof layers / sizeof *layers];
    size_t dots = alone ? 0 : sizeof dot / sizeof *dot;
    struct roofs r = {0};

    /* Step 1: the roofs. */
    real *from = memory_get(most, 1);
    if (!from) return out_of_memory("the array that is read");
    memset(from, 0, most);
    find_levels(&r, from, most);
    status s = raise_roofs(&r, from, seconds);

    /* Step 2: the forms, and the roofs again. */
    for (size_t d = 0; d < dots && !s.code; d++) {
        const struct layer *l = &layers[d / 2];
        dot[d] = (struct dot){.name = l->name, .form = d % 2 ? "fast" : "naive", .sizes = l->sizes};
        if (d % 2 == 0) dot[d].sizes.grid = l->naive_grid;
        s = place_dot(&dot[d], seconds);
    }
    if (!s.code) s = raise_roofs(&r, from, seconds);
    memory_free(from);
    if (s.code) return s;

    /* Step 3: rows. */
    printf("level\tmultiply-adds\t0\t%.5g\t0\n", r.port[0].first / 1e9);
    for (int i = 0; i < r.levels; i++)
        printf("level\t%s\t%zu\t%.5g\t%.7g\n", r.level[i].name, r.level[i].through, r.level[i].rate.first / 1e9,
               r.level[i].holds);
    for (int i = 0; i < PORTS; i++) printf("port\t%s\t0\t%.5g\t0\n", ports[i].name, r.port[i].first / 1e9);
    for (size_t d = 0; d < dots; d++) print_dot(&dot[d], &r);
    return s;
}

/* Bytes of the largest array, in whole pages: `asked`, or else the lesser of 1 GiB and a quarter of the memory. */
static size_t read_through(const char *asked)
{
    size_t most = (size_t)1 << 30, quarter = (size_t)sysconf(_SC_PHYS_PAGES) / 4 * (size_t)sysconf(_SC_PAGESIZE);
    if (asked) return strtoul(asked, NULL, 10) / 4096 * 4096;
    return most < quarter ? most : quarter / 4096 * 4096;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.5;
    size_t most = read_through(argc > 2 ? argv[2] : NULL);
    bool alone = argc == 4 && !strcmp(argv[3], "alone");
    status s = bad_input("expected [SECONDS [BYTES [alone]]], at least 65536 bytes");
    omp_set_num_threads(1);
    openblas_set_num_threads(1);
    if ((argc <= 3 || alone) && seconds > 0 && most >= 65536) s = draw_all(seconds, most, alone);
    if (s.code) fprintf(stderr, "roofline: %s\n", s.message);
    return s.code;
}
