/* test_cuda_chopd.c -- what the ladders of chapter 4 ask of a device's memory
 *
 * Exact numbers of the emulator (fast/cuda/counts.h): of requests, not of time.  That
 * every rung is its operator and has no race is proved in test_cuda.c. */

#include <stdio.h>
#include <string.h>
#include "support.h"
#include "trial.h"
#include "chopd_case.h"
#include "dfc_case.h"
#include "promises.h"
#include "../fast/cuda/counts.h"

static const double real_bytes = sizeof(real), sector = 32;

/* The one launch of a kernel in a run of a rung. */
static struct launch_counts watched(const struct trial *t, const char *rung, const char *kernel, unsigned seed)
{
    struct launch_counts found = {0};
    emulator_watch(true, seed);
    run_form(&t->problem, operator_rung(t->problem.declaration, rung), 1, t->x);
    for (size_t l = 0; l < emulator_launches(); l++)
        if (strstr(emulator_launch(l)->kernel, kernel)) {
            ck_assert_msg(!found.kernel, "%s launches %s twice", rung, kernel);
            found = *emulator_launch(l);
        }
    emulator_watch(false, 0);
    ck_assert_msg(found.kernel != NULL, "%s launches no %s", rung, kernel);
    printf("    %-6s %-18s %8llu requests %8llu sectors %9llu bytes asked, %8llu touched, %7llu wavefronts\n", rung,
           kernel, found.requests, found.sectors, found.asked, found.touched, found.wavefronts);
    return found;
}

/* Every box of a chopd around (y, x) from its token, with these sides; x moves by so many tokens from component to
 * component. */
static void set_boxes(struct trial *t, double y, double x, double down, double across, double move)
{
    size_t R = problem_size(&t->problem, "R"), G = problem_size(&t->problem, "G");
    for (size_t rg = 0; rg < R * G; rg++) {
        double left = x + move * (double)(rg / G);
        const double edge[4] = {y - down / 2, left - across / 2, y + down / 2, left + across / 2};
        for (size_t e = 0; e < 4; e++) trial_tensor(t, "boxes")[4 * rg + e] = (real)edge[e];
    }
}

/* ---- chopd -------------------------------------------------------------------- */

/* Claim      Where neighbouring threads are neighbouring components, whose boxes lie apart, each asks for a sector of
 *            its own; where they are neighbouring tokens, a warp asks for a run of numbers.
 * Paper      ChoP'D, Eq. 8; fast/cuda/chopd.cu, cuda1 and cuda2.
 * Measure    4 x 64 tokens, 32 components with a box of one token, 16 tokens to the left for the first and 15 to the
 *            right for the last: sectors of each_pooled, less those with all boxes off the grid, which read no token.
 *            cuda1: one for each pair of token and component whose box is on the grid.  cuda2: those that 32
 *            neighbours cover, cut where the row ends, for each component.
 * Would it fail?  cuda2 in the order of cuda1 touches 7168 sectors too. */
START_TEST(planes_let_neighbours_ask_for_neighbours)
{
    enum { H = 4, W = 64, R = 32 };
    struct trial t = trial("--grid 4x64 --gate-size 1", &chopd, 1, 1, "R=32 D=1 G=1 S=1", "");
    unsigned long long numbers[3], sectors[3];
    for (int rung = 1; rung <= 2; rung++) {
        const char *name = rung == 1 ? "cuda1" : "cuda2";
        set_boxes(&t, 1000, 0, 1, 1, 0);
        struct launch_counts none = watched(&t, name, "each_pooled", 1);
        set_boxes(&t, 0, -16, 1, 1, 1);
        struct launch_counts all = watched(&t, name, "each_pooled", 1);
        sectors[rung] = all.sectors - none.sectors;
        numbers[rung] = (all.asked - none.asked) / sizeof(real);
    }
    int pairs = 0, runs = 0, per = 32 / (int)sizeof(real);
    for (int r = 0; r < R; r++)
        for (int first = 0; first < W; first += 32) {
            int from = first + r - 16, to = from + 31;
            if (from < 0) from = 0;
            if (to > W - 1) to = W - 1;
            pairs += H * (to - from + 1);
            runs += H * (to / per - from / per + 1);
        }
    ck_assert_uint_eq(numbers[1], (unsigned)pairs);
    ck_assert_uint_eq(numbers[2], (unsigned)pairs);
    ck_assert_uint_eq(sectors[1], (unsigned)pairs);
    ck_assert_uint_eq(sectors[2], (unsigned)runs);
    printf("    sectors for %d numbers: %llu, and %llu in planes\n", pairs, sectors[1], sectors[2]);
}
END_TEST

/* Claim      The direct sum asks for every token of a box; by running sums a box over the whole grid costs what a box
 *            over one token costs.
 * Paper      ChoP'D, Sec. 2.3, "constant computational cost even when the receptive field is global".
 * Measure    6 x 32 tokens, 2 components of 2 boxes, all of one token and all larger than twice the grid: numbers that
 *            each_pooled asks for, N^2 - N for each box more; all counts of plane_kept, the same, but that lanes that
 *            read one double take one turn for two.  The passes of cuda3 do not read the sum before the first token,
 *            which is 0, and so ask for less.
 * Would it fail?  Step 3 of plane_kept with a loop over the tokens of a box takes more wavefronts. */
START_TEST(running_sums_cost_the_same_for_all_boxes)
{
    static const char *const passes[] = {"columns_summed", "edges_gathered"}, *const kept[] = {"cuda4", "cuda5"};
    struct trial t = trial("--grid 6x32 --gate-size 2", &chopd, 1, 1, "R=2 D=1 G=2 S=1", "");
    struct launch_counts direct[2], pass[2][2], plane[2][2];
    for (int whole = 0; whole < 2; whole++) {
        set_boxes(&t, 0, 0, whole ? 13 : 1, whole ? 65 : 1, 0);
        direct[whole] = watched(&t, "cuda2", "each_pooled", 1);
        for (int k = 0; k < 2; k++) pass[k][whole] = watched(&t, "cuda3", passes[k], 1);
        for (int k = 0; k < 2; k++) plane[k][whole] = watched(&t, kept[k], "plane_kept", 1);
    }
    const unsigned long long N = 6 * 32;
    ck_assert_uint_eq(direct[1].asked - direct[0].asked, 4 * (N * N - N) * sizeof(real));
    for (int k = 0; k < 2; k++) {
        const struct launch_counts *one = &plane[k][0], *all = &plane[k][1];
        ck_assert(pass[k][1].asked < pass[k][0].asked && pass[k][1].sectors < pass[k][0].sectors);
        ck_assert(all->requests == one->requests && all->sectors == one->sectors && all->asked == one->asked);
        ck_assert(all->touched == one->touched && all->barriers == one->barriers);
        ck_assert(sizeof(real) == 4 ? all->wavefronts == one->wavefronts : all->wavefronts < one->wavefronts);
    }
}
END_TEST

/* Two images of 8 x 32 tokens, 3 components of 8 boxes of one token, phi on 4 x 4 cells: all arrays are whole
 * sectors. */
enum { IMAGES = 2, ROWS = 8, COLUMNS = 32, COMPONENTS = 3, BOXES = 8, CELLS = 4, TOKENS = ROWS * COLUMNS,
       PLANES = IMAGES * COMPONENTS };

static struct trial whole_sectors(void)
{
    struct trial t = trial("--grid 8x32 --gate-size 4", &chopd, IMAGES, 2, "R=3 D=2 G=8 S=1", "");
    set_boxes(&t, 0, 0, 1, 1, 0);
    return t;
}

/* Claim      A plane that stays in shared memory is asked for once and written once.  By passes it is read, summed and
 *            written, read G times, and G planes are written and read.
 * Paper      fast/cuda/chopd.cu, cuda3 to cuda5.
 * Measure    Bytes asked and touched, a box being 12 numbers and the gate's taps 2 a row or column.
 *            rows_summed: 2 N a plane.  columns_summed: for each column of each box 8 of the box and, for each row, 4
 *            sums and 1 written; but in the first column 1 of the 4 is before the first token.  edges_gathered: for
 *            each token 8 and 4 a box, the same 1 less in the first row, 4 of taps, 4 of the map, 1 written.
 *            plane_kept: the boxes; 4 for each of s W gates; for each token 1 read, 2 of taps, 1 written.
 *            Touched: each array once, whole; but of a box the passes read 8 numbers, and 4 doubles are a sector.
 * Would it fail?  plane_kept that reads z once more before it writes it asks for 5 N. */
START_TEST(kept_plane_is_read_once_and_written_once)
{
    struct trial t = whole_sectors();
    const double N = TOKENS, taps = 2 * (ROWS + COLUMNS), map = PLANES * CELLS * CELLS;
    const double lies = COMPONENTS * BOXES * 12, used = sizeof(real) == 4 ? lies : lies / 12 * 8;
    struct launch_counts rows = watched(&t, "cuda3", "rows_summed", 1);
    ck_assert((double)rows.asked == PLANES * 2 * N * real_bytes && (double)rows.touched == PLANES * N * real_bytes);
    struct launch_counts columns = watched(&t, "cuda3", "columns_summed", 1);
    ck_assert((double)columns.asked == PLANES * BOXES * (COLUMNS * (8 + 5. * ROWS) - ROWS) * real_bytes);
    ck_assert((double)columns.touched == (PLANES * N * (1 + BOXES) + used) * real_bytes);
    struct launch_counts edges = watched(&t, "cuda3", "edges_gathered", 1);
    ck_assert((double)edges.asked == PLANES * (N * (12 * BOXES + 9) - BOXES * COLUMNS) * real_bytes);
    ck_assert((double)edges.touched == (PLANES * N * (1 + BOXES) + used + taps + map) * real_bytes);

    for (int rung = 4; rung <= 5; rung++) {
        struct launch_counts kept = watched(&t, rung == 4 ? "cuda4" : "cuda5", "plane_kept", 1);
        ck_assert((double)kept.asked == PLANES * (12 * BOXES + 4 * CELLS * COLUMNS + 4 * N) * real_bytes);
        ck_assert((double)kept.touched == (PLANES * N + lies + taps + map) * real_bytes);
        ck_assert(fmod((double)kept.touched, sector) == 0);
    }
}
END_TEST

/* Claim      No access to the kept plane has bank conflicts, and a token whose thread has the one above too costs
 *            half the reads down the columns.
 * Paper      fast/cuda/chopd.cu, cuda4 and cuda5.
 * Measure    Wavefronts of plane_kept against shared_requests, the cycles without conflicts: 8 x 32 tokens;
 *            13 x 27 and, in three strips, 5 x 96 tokens with random boxes; three seeds.  On the first against the
 *            sum, with u cycles for 32 reals: 12 G / 32 u for the boxes, s u for the gates; for each row 1 for the
 *            zero before it and u; for each box 4 u for its eight numbers, the same for all lanes, u for a zero, and
 *            5 u for each row; then for each ROWS tokens of a column and each box 4 u and 2 (ROWS + 1) u, and 2 u for
 *            the gate of each token.  Barriers: 3.
 *            Shuffles: 6 a row.
 * Would it fail?  With S [G][32][H + 1], 13 x 27 tokens have conflicts.  Each of the three barriers left
 *            out is a race, told with its line; so is a fourth row where H has three. */
START_TEST(kept_plane_meets_no_bank_twice)
{
    struct trial t = whole_sectors(), odd = trial("--grid 13x27", &chopd, 1, 3, "R=2 D=2 G=3 S=2", "");
    struct trial wide = trial("--grid 5x96 --gate-size 3", &chopd, 1, 1, "R=1 D=1 G=6 S=1", "");
    const unsigned u = sizeof(real) / 4, H = ROWS;
    for (unsigned seed = 1; seed <= 3; seed++)
        for (unsigned rung = 4; rung <= 5; rung++) {
            const char *name = rung == 4 ? "cuda4" : "cuda5";
            unsigned rows = rung == 4 ? 1 : 4;
            unsigned before = 12 * BOXES / 32 * u + CELLS * u + H * (1 + u) + BOXES * (4 * u + u + 5 * u * H);
            unsigned after = H / rows * BOXES * (4 + 2 * (rows + 1)) * u + H * 2 * u;
            unsigned reals = 12 * BOXES + CELLS * COLUMNS + H * 33 + 32 * BOXES * (H + 1);
            struct launch_counts kept = watched(&t, name, "plane_kept", seed);
            struct launch_counts any = watched(&odd, name, "plane_kept", seed);
            struct launch_counts strips = watched(&wide, name, "plane_kept", seed);
            ck_assert_uint_eq(kept.shared_requests, PLANES * (before + after));
            ck_assert_uint_eq(kept.wavefronts, kept.shared_requests);
            ck_assert_uint_eq(any.wavefronts, any.shared_requests);
            ck_assert_uint_eq(strips.wavefronts, strips.shared_requests);
            ck_assert_uint_eq(strips.barriers, 1 + 2 * 3);
            ck_assert_uint_eq(kept.barriers, PLANES * 3);
            ck_assert_uint_eq(kept.exchanges, PLANES * H * 6);
            ck_assert_uint_eq(kept.shared_bytes, reals * sizeof(real));
        }
}
END_TEST

/* Cycles of shared memory of one block without conflicts, in float: this many planes of side x side tokens with 4 boxes
 * and a gate of 7 rows, ROWS of 4.  Neighbouring numbers by warps; for each row of all planes the zero before it and
 * the row; for each box its numbers, a zero, and 4 sums and 1 written a row; then box and sums, and the gates.  The
 * numbers are two loads of 16 bytes: 2 cycles each where lanes n and n ^ 1 have one plane, 4 on planes of 7 columns. */
static unsigned cycles_of_block(unsigned planes, unsigned side)
{
    unsigned numbers = planes > 1 && side % 2 ? 8 : 4;
    unsigned written = (planes * 4 * 12 + 31) / 32 + (planes * 7 * side + 31) / 32 + 2 * planes * side;
    return written + 4 * (numbers + 1 + 5 * side) + (side + 3) / 4 * 4 * (numbers + 10) + 2 * side;
}

/* Claim      Small planes share a warp: a block asks the device for as much as its planes alone, and takes little more
 *            cycles of shared memory than one of them.
 * Paper      fast/cuda/chopd.cu, cuda5 and cuda6.
 * Measure    14 x 14 tokens, two planes together, and 7 x 7, four; 8 planes of 4 random boxes; bytes asked and
 *            touched, barriers, shared_requests.  Wavefronts: at worst planes are served one after another where
 *            their boxes differ, which is at 4 sums a row of T, at the gates and at the boxes' numbers, and not at S;
 *            that is still fewer than one plane a block takes.  In double the sum is not held, only that it is less.
 * Would it fail?  The last block, which has no other plane, with lanes for one reads and writes beyond the end; the
 *            boxes of the first plane for all give another function (test_cuda.c). */
START_TEST(small_planes_share_a_warp)
{
    for (unsigned side = 14; side >= 7; side /= 2) {
        unsigned together = side == 14 ? 2 : 4, planes = 8;
        struct trial t = trial(side == 14 ? "--grid 14x14" : "--grid 7x7", &chopd, 2, 1, "R=4 D=1 G=4 S=1", "");
        struct launch_counts one = watched(&t, "cuda5", "plane_kept", 1), few = watched(&t, "cuda6", "plane_kept", 1);
        ck_assert(one.asked == few.asked && one.touched == few.touched);
        ck_assert(one.blocks == planes && few.blocks == planes / together && few.barriers == planes / together * 3);
        ck_assert(few.wavefronts < one.wavefronts);
        if (sizeof(real) != 4) continue;
        ck_assert_uint_eq(one.wavefronts, planes * cycles_of_block(1, side));
        ck_assert_uint_eq(few.shared_requests, planes / together * cycles_of_block(together, side));
        unsigned apart = 4 * (4 * side + 2) + (side + 3) / 4 * 4 * 2 + 2 * side;
        unsigned worst = planes / together * (cycles_of_block(together, side) + (together - 1) * apart);
        ck_assert(few.wavefronts <= worst && worst < one.wavefronts);
    }
}
END_TEST

/* Claim      A plane that fills shared memory to the byte is kept there still.
 * Paper      fast/cuda/chopd.cu, cuda5 and cuda6.
 * Measure    12 G + s W + H (W + 1) + 32 G (H + 1) numbers in 96 KiB: blocks of plane_kept, and y against cuda1's.
 * Tolerance  That of all rungs (promises.h).
 * Would it fail?  Seen with a plane fewer at the limit: with none in a block. */
START_TEST(plane_that_fills_shared_memory_is_kept)
{
    struct trial t = sizeof(real) == 4 ? trial("--grid 20x28 --gate-size 2", &chopd, 1, 1, "R=1 D=1 G=35 S=1", "")
                                       : trial("--grid 15x13 --gate-size 2", &chopd, 1, 1, "R=1 D=1 G=23 S=1", "");
    real *y = run_form(&t.problem, operator_rung(&chopd, "cuda1"), 1, t.x);
    for (int n = 5; n <= 6; n++) {
        const struct form *rung = operator_rung(&chopd, n == 5 ? "cuda5" : "cuda6");
        struct launch_counts kept = watched(&t, rung->name, "plane_kept", 1);
        ck_assert_uint_eq(kept.blocks, 1);
        ck_assert_uint_eq(kept.shared_bytes, 96 << 10);
        within(rung->name, relative_difference(run_form(&t.problem, rung, 1, t.x), y, t.outputs),
               promise_rung_tolerance(&t.problem, rung));
    }
}
END_TEST

/* Claim      Means over small boxes keep their digits on the device too.
 * Paper      ChoP'D, Sec. 2.3.
 * Measure    Every rung against the sum in double, 64 x 64 tokens between 0 and 1: boxes of one token, on the grid and
 *            between, and of 1e-3, inside one token and across the corner of four.
 * Tolerance  (2 W + 2 H + 160) u, derived for the same boxes in test_chopd_theorems.c; running sums by doubling are
 *            rounded less often than those from left to right.
 * Would it fail?  Sums down the columns of T, and edges of both axes of those, are off by six times the tolerance. */
START_TEST(small_boxes_keep_their_digits_on_the_device)
{
    enum { SIDE = 64 };
    const real lo = (real)0.2, up = (real)0.201, left = (real)-0.3, right = (real)-0.299;
    const real before = (real)0.4995, behind = (real)0.5005;
    const struct box box[] = {
        {-.5, -.5, .5, .5}, {-.25, -.375, .75, .625}, {(double)lo, (double)left, (double)up, (double)right},
        {(double)before, (double)before, (double)behind, (double)behind},
    };
    const struct form *rung;
    char line[80];
    real *plane = uniform(46, SIDE * SIDE, 0, 1);
    struct trial t = pooling(SIDE, SIDE, box, COUNT(box));
    for (int f = 0; (rung = operator_rung_at(&chopd, f)); f++) {
        real *y = run_form(&t.problem, rung, 1, plane);
        for (size_t r = 0; r < COUNT(box); r++) {
            double worst = 0;
            for (size_t n = 0; n < SIDE * SIDE; n++)
                worse(&worst, fabs((double)y[n * COUNT(box) + r] - direct_near(&box[r], plane, SIDE, SIDE, n)));
            snprintf(line, sizeof line, "%s, box %zu", rung->name, r);
            within(line, worst, (4 * SIDE + 160) * UNIT_ROUNDOFF);
        }
    }
}
END_TEST

/* Claim      A box that no float tells from a line, and boxes far off the grid, are pooled as the equation has it.
 * Paper      ChoP'D, Eq. 8.
 * Measure    fast and every rung against the naive form, 5 x 6 tokens: boxes from the number below a token's border
 *            to one above it, which are a third in one token and two in the next; boxes 1e30 wide and 1e30 away.
 * Tolerance  That of all forms (promises.h) on entries of about 1.
 * Would it fail?  With edges plus one half, rounded, both lie in one token: the error is 0.8. */
START_TEST(boxes_at_the_limits_are_boxes)
{
    const double tiny = sizeof(real) == 4 ? 0x1p-25 : 0x1p-54, far = 1e30;
    const struct box box[] = {
        {0.5 - tiny, -.5, 0.5 + 2 * tiny, .5}, {-.5, 0.5 - tiny, .5, 0.5 + 2 * tiny}, {-far, -1.5, far, 1.5},
        {-2, far, 3, 2 * far}, {-2 * far, -1, -far, 1}, {far, -far, 2 * far, far},
    };
    const struct form *rung;
    struct trial t = pooling(5, 6, box, COUNT(box));
    real *y = trial_run(&t, "naive", 1);
    double tolerance = promise_tolerance(&t.problem) * largest(t.x, t.inputs);
    within("fast", largest_difference(trial_run(&t, "fast", 1), y, t.outputs), tolerance);
    for (int f = 0; (rung = operator_rung_at(&chopd, f)); f++)
        within(rung->name, largest_difference(run_form(&t.problem, rung, 1, t.x), y, t.outputs), tolerance);
    ck_assert(largest(y, t.outputs) > 0.5);
}
END_TEST

/* ---- fc and dfc-cp ---------------------------------------------------------------- */

/* Claim      A thread that takes an output of eight images reads every weight once for all of them.
 * Paper      ChoP'D, Eq. 2; fast/cuda/dfc.cu.
 * Measure    Bytes asked, 9 images, M = 3, N = 4, C = 5, D = 32.  cuda1: a weight and a number of x for each of
 *            B M N C D products.  cuda2: as many numbers of x, but weights for two groups of images.
 * Would it fail?  The weight read in the loop over the images asks for as much as cuda1. */
START_TEST(weights_serve_eight_images)
{
    enum { B = 9, M = 3, N = 4, C = 5, D = 32 };
    struct trial t = trial("", &fc, B, C, "M=3 N=4 D=32", "");
    const double outputs = N * D, inputs = M * C;
    struct launch_counts each = watched(&t, "cuda1", "each_output", 1);
    struct launch_counts groups = watched(&t, "cuda2", "images_together", 1);
    ck_assert((double)each.asked == B * outputs * (2 * inputs + 1) * real_bytes);
    ck_assert((double)groups.asked == (2 * outputs * inputs + B * outputs * (inputs + 1)) * real_bytes);
}
END_TEST

/* Claim      What an image is, multiplied to u5, takes nothing that grows with the tokens out.
 * Paper      ChoP'D, Eq. 6; fast/cuda/dfc.cu.
 * Measure    Bytes asked, 2 images, M = 19, N = 50 and 100, D = 3, R = 40.  cuda2: 2 M + 2 for each component of an
 *            image, and 3 for each of a token out.  cuda3: 2 M, 8 for u1 and 2 D, whatever N; its sums meet no bank
 *            twice.
 * Would it fail?  Sums over all tokens in every row of threads ask for 101760 bytes for 16640; the parts of one
 *            component side by side take 2304 wavefronts for 288. */
START_TEST(image_in_u5_takes_nothing_for_tokens_out)
{
    enum { B = 2, M = 19, D = 3, R = 40 };
    for (int N = 50; N <= 100; N *= 2) {
        struct trial t = trial("", &dfc_cp, B, 4, N == 50 ? "M=19 N=50 D=3 R=40" : "M=19 N=100 D=3 R=40", "");
        struct launch_counts sums = watched(&t, "cuda2", "tokens_summed", 1);
        struct launch_counts gated = watched(&t, "cuda2", "tokens_gated", 1);
        struct launch_counts image = watched(&t, "cuda3", "image_in_u5", 1);
        ck_assert_uint_eq(sums.asked, B * R * (2 * M + 2) * sizeof(real));
        ck_assert_uint_eq(gated.asked, (size_t)(B * N * R * 3) * sizeof(real));
        ck_assert_uint_eq(image.asked, B * R * (2 * M + 8 + 2 * D) * sizeof(real));
        ck_assert_uint_eq(image.wavefronts, image.shared_requests);
        ck_assert_uint_eq(image.barriers, 2 * B);
    }
}
END_TEST

/* Claim      A rung of dfc-cp states the multiply-adds of the order in which it takes the sums: cuda1 those of the
 *            naive form, cuda2 those of the fast one, cuda3 those with what an image is on u5's D rows, not on N
 *            tokens.
 * Paper      ChoP'D, Eq. 5 and 6; fast/cuda/dfc.cu.
 * Measure    What each states, 2 images, M = 5, N = 4, D = 3, R = 7: the forms' own are counted in
 *            chopd/naive_form_multiplies_as_its_formula_says and eq6_multiplies_as_its_formula_says.
 * Would it fail?  Seen with B M + N ... for B M N .... */
START_TEST(rungs_of_dfc_cp_cost_what_their_order_does)
{
    enum { B = 2, N = 4, D = 3, R = 7 };
    struct trial t = trial("", &dfc_cp, B, 2, "M=5 N=4 D=3 R=7", "");
    static const char *const rung[] = {"cuda1", "cuda2", "cuda3"}, *const form[] = {"naive", "fast", "fast"};
    for (int n = 0; n < 3; n++) {
        double of_form = form_multiply_adds(operator_form(&dfc_cp, form[n]), &t.problem);
        double of_rung = form_multiply_adds(operator_rung(&dfc_cp, rung[n]), &t.problem);
        ck_assert_msg(of_rung == of_form + (n == 2 ? B * (D - N) * R : 0), "%s: %.0f", rung[n], of_rung);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("the ladders of chapter 4");
    TCase *pools = add_case(suite, "chopd");
    tcase_add_test(pools, planes_let_neighbours_ask_for_neighbours);
    tcase_add_test(pools, running_sums_cost_the_same_for_all_boxes);
    tcase_add_test(pools, kept_plane_is_read_once_and_written_once);
    tcase_add_test(pools, kept_plane_meets_no_bank_twice);
    tcase_add_test(pools, small_planes_share_a_warp);
    tcase_add_test(pools, plane_that_fills_shared_memory_is_kept);
    tcase_add_test(pools, small_boxes_keep_their_digits_on_the_device);
    tcase_add_test(pools, boxes_at_the_limits_are_boxes);
    TCase *layers = add_case(suite, "fc and dfc-cp");
    tcase_add_test(layers, weights_serve_eight_images);
    tcase_add_test(layers, image_in_u5_takes_nothing_for_tokens_out);
    tcase_add_test(layers, rungs_of_dfc_cp_cost_what_their_order_does);
    return run_suite(suite);
}
