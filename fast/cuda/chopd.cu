/* chopd.cu -- the ChoP'D layer on the device
 *
 *     z_nr    = sum_c u4_cr x_nc                              a product, by the library
 *     z_nr   <- gate_nr sum_g E_rg mean of z_r over box g around n
 *     y_nd    = sigma(sum_r u5_dr z_nr + b_d)                 a product, and activation.h
 *
 * Versions of the middle line:
 *
 *   cuda1   The equation: a thread for each pooled number.  Adjacent threads are adjacent components with different
 *           boxes: a request of a warp can touch 32 sectors.
 *   cuda2   The tokens of a component are contiguous (a plane).  Adjacent threads are adjacent tokens with the same
 *           box: a request touches 4 sectors, or 5 if not aligned.
 *   cuda3   Prefix sums along rows, by shuffles in a warp.  They give each row's sum inside a box; these are summed
 *           down the columns.  A box of any size reads or writes at most 9 sums per token.
 *   cuda4   A block keeps a plane in shared memory for all steps: z is read once and written once.
 *   cuda5   A thread takes ROWS tokens of a column.  Each token reuses two of the four sums of the token above.  For 4
 *           tokens, a box takes 10 reads of shared memory instead of 16.
 *   cuda6   Planes of at most 16 columns share a warp: 2 of 14 x 14, 4 of 7 x 7.  Bank conflicts between them cost no
 *           more cycles than separate warps.
 *
 * A table of prefix sums along both axes would lose digits.  So both steps along x precede both along y, as in
 * fast/tuned/chopd/box_pool.c.
 *
 * The host computes the edges of boxes in double: a box may be narrower than the rounding error of its edges.
 *
 * Fallback: beyond 96 KiB of shared memory, or the device's limit, cuda4 to cuda6 are cuda3.  They need H (W + 1) + s W
 * + 12 G reals for each plane of a block, and 32 G (H + 1) for all.  With 4 boxes and s = 7, 96 x 96 tokens fit in
 * float.
 *
 * Contract: reference/chopd.h. */

#include "../../reference/chopd.h"
#include "../../reference/runtime/resample.h"
#include "activation.h"

namespace {

constexpr size_t SHARED_LIMIT = 96 << 10;

struct chopd_device : device {
    array<real> u4, u5, b, boxes, mix;
    array<real> phi_w1, phi_b1, phi_w2, phi_b2;
    array<real> mean, patches, hidden;          /* of phi: [B][s s][C], [B][s s][C][9], [B][s s][S] */
    array<real> map;                            /* [B][R][s s]; in cuda1 [B][s s][R] */
    array<real> z;                              /* [B][R][N]; in cuda1 [B][N][R] */
    array<real> pooled;                         /* as z; cuda1 and cuda2 */
    array<real> columns;                        /* [B][R][G][H][W]; cuda3 */
    array<real> edges;                          /* [R][G][EDGES] */
    array<real> taps;                           /* [H + W][2]: positions of tokens on phi's map */
    real *edges_host, *taps_host;               /* during a load */
};

struct layer {
    int H, W, N, R, G;
    int s, cells;               /* cells of phi's map: per row, and all */
};

layer layer_of(const struct chopd_problem *p)
{
    return {(int)p->H, (int)p->W, (int)p->N, (int)p->R, (int)p->G, (int)p->s, (int)(p->s * p->s)};
}

__device__ inline int clamped(int v, int low, int high) { return v < low ? low : v > high ? high : v; }

/* ---- phi ------------------------------------------------------------------------- */

/* x averaged to s x s cells: a thread for each channel of a cell. */
__global__ void averaged(layer p, array<real> mean, reals x, int C, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int c = (int)(at % C), cell = (int)(at / C % p.cells), i = cell / p.s, j = cell % p.s;
    size_t image = at / C / p.cells;
    int top = (int)((size_t)i * p.H / p.s), bottom = (int)(((size_t)(i + 1) * p.H + p.s - 1) / p.s);
    int left = (int)((size_t)j * p.W / p.s), right = (int)(((size_t)(j + 1) * p.W + p.s - 1) / p.s);
    real sum = 0;
    for (int y = top; y < bottom; y++)
        for (int across = left; across < right; across++) sum += x[(image * p.N + y * p.W + across) * C + c];
    mean[at] = sum / ((bottom - top) * (right - left));
}

/* The 3 x 3 patch [C][3][3] around each cell, zero off the map: a thread for each number. */
__global__ void patched(layer p, array<real> patches, reals mean, int C, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int k = (int)(at % 9), c = (int)(at / 9 % C), cell = (int)(at / 9 / C % p.cells);
    size_t image = at / 9 / C / p.cells;
    int i = cell / p.s + k / 3 - 1, j = cell % p.s + k % 3 - 1;
    bool inside = i >= 0 && i < p.s && j >= 0 && j < p.s;
    real v = 0;
    if (inside) v = mean[(image * p.cells + i * p.s + j) * C + c];
    patches[at] = v;
}

void phi(struct chopd_device *on, const struct chopd_problem *p, bool planes)
{
    size_t cells = p->s * p->s, all = p->B * cells, C = p->C, S = p->S, R = p->R;
    LAUNCH_EACH(on, averaged, all * C, layer_of(p), on->mean, on->x, (int)C, all * C);
    LAUNCH_EACH(on, patched, all * C * 9, layer_of(p), on->patches, on->mean, (int)C, all * C * 9);
    device_product(on, on->hidden, {on->patches, false, 0}, {on->phi_w1, true, 0}, all, 9 * C, S, 1);
    activate(on, GELU, on->hidden, on->phi_b1, all * S, 1, S);
    if (planes) device_product(on, on->map, {on->phi_w2, false, 0}, {on->hidden, true, cells * S}, R, S, cells, p->B);
    else device_product(on, on->map, {on->hidden, false, 0}, {on->phi_w2, true, 0}, all, S, R, 1);
    activate(on, LOGISTIC, on->map, on->phi_b2, all * R, planes ? cells : 1, R);
}

/* The gate at token (y, x), interpolated.  Entry e of the map is at first + e * step. */
__device__ inline real gate(const layer &p, reals map, size_t first, int step, reals taps, int y, int x)
{
    pack<real, 2> down = load<2>(taps, 2 * y), across = load<2>(taps, 2 * (p.H + x));
    int top = (int)down[0], bottom = top + 1 < p.s ? top + 1 : top;
    int left = (int)across[0], right = left + 1 < p.s ? left + 1 : left;
    real upper_left = map[first + (size_t)(top * p.s + left) * step];
    real upper_right = map[first + (size_t)(top * p.s + right) * step];
    real lower_left = map[first + (size_t)(bottom * p.s + left) * step];
    real lower_right = map[first + (size_t)(bottom * p.s + right) * step];
    real above = upper_left + across[1] * (upper_right - upper_left);
    real below = lower_left + across[1] * (lower_right - lower_left);
    return above + down[1] * (below - above);
}

/* ---- cuda1 and cuda2: a thread for each pooled number ------------------------------------ */

/* Length of the part of token d, counted from the box's own token, between lo and hi. */
__device__ inline real overlap(int d, real lo, real hi)
{
    real low = fmax((real)d - (real)0.5, lo), high = (real)d + (real)0.5;
    if (high > hi) high = hi;
    return low < high ? high - low : (real)0;
}

/* The first and last token of the grid that a box overlaps, correct even if lo + 1/2 rounds.  The grid has `before`
 * tokens before the box's own and `behind` after it. */
__device__ inline int first_token(real lo, int before, int behind)
{
    if (lo < (real)-before || lo > (real)behind + 1) return lo < 0 ? -before : behind + 1;
    int low = (int)floor(lo + (real)0.5);
    return (real)low - (real)0.5 > lo ? low - 1 : low;
}
__device__ inline int last_token(real hi, int before, int behind)
{
    if (hi < (real)-before - 1 || hi > (real)behind) return hi < 0 ? -before - 1 : behind;
    int high = -(int)floor(-hi - (real)0.5) - 1;
    return (real)high + (real)0.5 < hi ? high + 1 : high;
}

/* Requests every token of every box. */
template <bool PLANES>
__global__ void each_pooled(layer p, array<real> out, reals z, reals boxes,
                            reals mix, reals map, reals taps, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int r = (int)(PLANES ? at / p.N % p.R : at % p.R), n = (int)(PLANES ? at % p.N : at / p.R % p.N);
    int y = n / p.W, x = n % p.W;
    size_t image = at / p.N / p.R;

    /* Step 1: token 0 and cell 0 of the component, and the stride. */
    size_t token = PLANES ? at - n : image * p.N * p.R + r;
    size_t cell = PLANES ? at / p.N * p.cells : image * p.cells * p.R + r;
    int step = PLANES ? 1 : p.R;

    /* Step 2: every token of every box, weighted by its overlap. */
    real sum = 0;
    for (int g = 0; g < p.G; g++) {
        pack<real, 4> box = load<4>(boxes, 4 * (r * p.G + g));
        real down = box[2] - box[0], across = box[3] - box[1], mean = 0;
        int top = first_token(box[0], y, p.H - 1 - y), bottom = last_token(box[2], y, p.H - 1 - y);
        int left = first_token(box[1], x, p.W - 1 - x), right = last_token(box[3], x, p.W - 1 - x);
        for (int dy = top; dy <= bottom; dy++) {
            real row = 0;
            for (int dx = left; dx <= right; dx++)
                row += overlap(dx, box[1], box[3]) / across * z[token + (size_t)((y + dy) * p.W + x + dx) * step];
            mean += overlap(dy, box[0], box[2]) / down * row;
        }
        sum += mix[r * p.G + g] * mean;
    }
    out[at] = sum * gate(p, map, cell, step, taps, y, x);
}

/* ---- edges of boxes ------------------------------------------------------------------- */

/* Along an axis the edges of a box are in tokens `low` and `high`, counted from the box's own.  With prefix sums T_k of
 * all tokens before k, its mean at token t is
 *
 *     first (T[t+low+1] - T[t+low]) + middle (T[t+high] - T[t+low+1]) + last (T[t+high+1] - T[t+high]).
 *
 * If both edges are in one token, middle and last are 0.  The factors of y include E_rg.  EDGES reals per box. */
enum { LOW_Y, HIGH_Y, LOW_X, HIGH_X, FIRST_Y, MIDDLE_Y, LAST_Y, FIRST_X = 8, MIDDLE_X, LAST_X, EDGES = 12 };

/* The token that contains an edge, even if edge + 0.5 rounds up to the next one. */
double edge_token(double edge)
{
    double token = std::floor(edge + 0.5);
    return token - 0.5 > edge ? token - 1 : token;
}

void axis_edges(real *low_high, real *factors, double lo, double hi, size_t size, double weight)
{
    double limit = (double)size + 1, low = edge_token(lo), high = edge_token(hi), length = hi - lo;
    bool within = low == high;
    factors[0] = (real)(within ? weight : weight * (low + 0.5 - lo) / length);
    factors[1] = (real)(within ? 0 : weight / length);
    factors[2] = (real)(within ? 0 : weight * (hi - (high - 0.5)) / length);
    low_high[0] = (real)std::fmax(-limit, std::fmin(low, limit));
    low_high[1] = (real)std::fmax(-limit, std::fmin(high, limit));
}

void box_edges(real *edges, const real *box, real mix, const struct chopd_problem *p)
{
    axis_edges(edges + LOW_Y, edges + FIRST_Y, (double)box[0], (double)box[2], p->H, (double)mix);
    axis_edges(edges + LOW_X, edges + FIRST_X, (double)box[1], (double)box[3], p->W, 1);
    edges[LAST_Y + 1] = edges[LAST_X + 1] = 0;
}

/* Indices of the four prefix sums for token t, on an axis of `size` tokens. */
struct four { int a, b, c, d; };

__device__ inline four ends(int t, real low, real high, int size)
{
    int l = t + (int)low, h = t + (int)high;
    return {clamped(l, 0, size), clamped(l + 1, 0, size), clamped(h, 0, size), clamped(h + 1, 0, size)};
}

__device__ inline real box_sum(const pack<real, 4> &factors, real a, real b, real c, real d)
{
    return factors[0] * (b - a) + factors[1] * (c - b) + factors[2] * (d - c);
}

/* Prefix sum over the lanes of a warp, by doubling. */
__device__ inline real prefix_sum(real v, int lane)
{
    for (int by = 1; by < 32; by *= 2) {
        real before = __shfl_up_sync(~0u, v, by);
        if (lane >= by) v += before;
    }
    return v;
}

/* ---- cuda3: prefix sums in device memory ----------------------------------------------- */

/* Replaces z by T, a warp for each row: T[x] is the sum of entries 0 ... x. */
__global__ void rows_summed(array<real> z, int W, size_t rows)
{
    int lane = threadIdx.x % 32;
    size_t row = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows) return;
    real before = 0;
    for (int first = 0; first < W; first += 32) {
        int x = first + lane;
        real v = 0;
        if (x < W) v = z[row * W + x];
        v = before + prefix_sum(v, lane);
        if (x < W) z[row * W + x] = v;
        before = __shfl_sync(~0u, v, 31);
    }
}

/* Prefix sum k of a row or column; sum 0 is not stored, the others are `step` apart. */
__device__ inline real sum_before(reals line, size_t first, size_t step, int k)
{
    real v = 0;
    if (k > 0) v = line[first + (k - 1) * step];
    return v;
}

/* Sums each row between the edges of a box, then down the columns: a thread for each column of each box. */
__global__ void columns_summed(layer p, array<real> columns, reals T, reals edges, size_t threads)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= threads) return;
    int x = (int)(at % p.W);
    size_t box = at / p.W, plane = box / p.G, edge = box % ((size_t)p.R * p.G) * EDGES;
    pack<real, 4> tokens = load<4>(edges, edge + LOW_Y), factors = load<4>(edges, edge + FIRST_X);
    four e = ends(x, tokens[LOW_X], tokens[HIGH_X], p.W);
    real sum = 0;
    for (int y = 0; y < p.H; y++) {
        size_t row = plane * p.N + (size_t)y * p.W;
        sum += box_sum(factors, sum_before(T, row, 1, e.a), sum_before(T, row, 1, e.b), sum_before(T, row, 1, e.c),
                       sum_before(T, row, 1, e.d));
        columns[(box * p.H + y) * p.W + x] = sum;
    }
}

/* Upper and lower edges, mix and gate: a thread for each pooled number.  Requests up to 9 + 12 G numbers each. */
__global__ void edges_gathered(layer p, array<real> out, reals columns, reals edges,
                               reals map, reals taps, size_t outputs)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= outputs) return;
    int n = (int)(at % p.N), y = n / p.W, x = n % p.W, r = (int)(at / p.N % p.R);
    size_t plane = at / p.N;
    real sum = 0;
    for (int g = 0; g < p.G; g++) {
        size_t edge = ((size_t)r * p.G + g) * EDGES, first = (plane * p.G + g) * p.N + x;
        pack<real, 4> tokens = load<4>(edges, edge + LOW_Y), factors = load<4>(edges, edge + FIRST_Y);
        four e = ends(y, tokens[LOW_Y], tokens[HIGH_Y], p.H);
        sum += box_sum(factors, sum_before(columns, first, p.W, e.a), sum_before(columns, first, p.W, e.b),
                       sum_before(columns, first, p.W, e.c), sum_before(columns, first, p.W, e.d));
    }
    out[at] = sum * gate(p, map, plane * p.cells, 1, taps, y, x);
}

/* ---- cuda4 to cuda6: planes in shared memory ------------------------------------------------ */

constexpr int PLANE_THREADS = 128;

size_t shared_limit() { return device_shared_bytes(1) < SHARED_LIMIT ? device_shared_bytes(1) : SHARED_LIMIT; }

size_t plane_bytes(const struct chopd_problem *p, size_t planes)
{
    double each = (double)EDGES * (double)p->G + (double)p->s * (double)p->W + (double)p->H * ((double)p->W + 1);
    double numbers = (double)planes * each + 32 * (double)p->G * ((double)p->H + 1);
    return numbers > (double)SHARED_LIMIT ? SIZE_MAX : (size_t)numbers * sizeof(real);
}

/* The gate at token (y, x), interpolated between two rows of `gates`. */
__device__ inline real gate_between(const layer &p, shared<const real> gates, reals taps, int y, int x)
{
    pack<real, 2> down = load<2>(taps, 2 * y);
    int top = (int)down[0], bottom = top + 1 < p.s ? top + 1 : top;
    real above = gates[top * p.W + x], below = gates[bottom * p.W + x];
    return above + down[1] * (below - above);
}

/* A block takes `planes` planes; several are side by side in the lanes of a warp.  In step 4 each thread takes ROWS
 * tokens of a column.  Requests 12 G + 4 s W + 4 N numbers per plane. */
template <int ROWS>
__global__ void plane_kept(layer p, array<real> z, reals edges, reals map, reals taps, int planes, size_t all)
{
    DYNAMIC_SHARED(real, memory);
    shared<real> boxes = memory;                            /* [planes][G][EDGES] */
    shared<real> gates = boxes + planes * EDGES * p.G;      /* [planes][s][W]: phi's rows, interpolated along x */
    shared<real> T = gates + planes * p.s * p.W;            /* [planes][H][W + 1]: prefix sums along rows */
    shared<real> S = T + planes * p.H * (p.W + 1);          /* [G][H + 1][32]: sums down 32 columns */
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    size_t plane = (size_t)blockIdx.x * planes;
    int here = all - plane < (size_t)planes ? (int)(all - plane) : planes;      /* the last block may have fewer */
    int own = planes > 1 ? lane / p.W : 0;                  /* the plane of this lane */
    shared<real> box = boxes + own * p.G * EDGES;

    /* Step 1: the boxes, and the gate interpolated along x. */
    for (int n = threadIdx.x; n < here * p.G * EDGES; n += blockDim.x)
        boxes[n] = edges[(plane * p.G * EDGES + n) % ((size_t)p.R * p.G * EDGES)];
    for (int n = threadIdx.x; n < here * p.s * p.W; n += blockDim.x) {
        pack<real, 2> across = load<2>(taps, 2 * (p.H + n % p.W));
        int left = (int)across[0], right = left + 1 < p.s ? left + 1 : left;
        size_t row = plane * p.cells + n / p.W * p.s;
        real low = map[row + left], high = map[row + right];
        gates[n] = low + across[1] * (high - low);
    }

    /* Step 2: T, a warp for each row of all planes. */
    for (int y = warp; y < here * p.H; y += warps) {
        real before = 0;
        if (lane == 0) T[y * (p.W + 1)] = 0;
        for (int first = 0; first < p.W; first += 32) {
            int x = first + lane;
            real v = 0;
            if (x < p.W) v = z[plane * p.N + y * p.W + x];
            v = before + prefix_sum(v, lane);
            if (x < p.W) T[y * (p.W + 1) + x + 1] = v;
            before = __shfl_sync(~0u, v, 31);
        }
    }
    __syncthreads();

    for (int first = 0; first < p.W; first += 32) {
        int x = first + lane - own * p.W;
        bool column_here = own < here && x < p.W;

        /* Step 3: S, a warp for each box and a lane for each column. */
        for (int g = warp; g < p.G && column_here; g += warps) {
            shared<real> column = S + (g * (p.H + 1) * 32 + lane);
            pack<real, 4> tokens = load<4>(box, g * EDGES + LOW_Y), factors = load<4>(box, g * EDGES + FIRST_X);
            four e = ends(x, tokens[LOW_X], tokens[HIGH_X], p.W);
            real sum = 0;
            column[0] = 0;
            for (int y = 0; y < p.H; y++) {
                shared<real> row = T + (own * p.H + y) * (p.W + 1);
                sum += box_sum(factors, row[e.a], row[e.b], row[e.c], row[e.d]);
                column[(y + 1) * 32] = sum;
            }
        }
        __syncthreads();

        /* Step 4: upper and lower edges, mix and gate.  b and d of a token are a and c of the next. */
        for (int top = warp * ROWS; top < p.H && column_here; top += warps * ROWS) {
            real sum[ROWS] = {};
            for (int g = 0; g < p.G; g++) {
                shared<real> column = S + (g * (p.H + 1) * 32 + lane);
                pack<real, 4> tokens = load<4>(box, g * EDGES + LOW_Y), factors = load<4>(box, g * EDGES + FIRST_Y);
                int low = top + (int)tokens[LOW_Y], high = top + (int)tokens[HIGH_Y];
                real a = column[clamped(low, 0, p.H) * 32], c = column[clamped(high, 0, p.H) * 32];
                for (int k = 0; k < ROWS; k++) {
                    real b = column[clamped(low + k + 1, 0, p.H) * 32], d = column[clamped(high + k + 1, 0, p.H) * 32];
                    sum[k] += box_sum(factors, a, b, c, d);
                    a = b;
                    c = d;
                }
            }
            for (int k = 0; k < ROWS; k++) {
                int y = top + k;
                if (y >= p.H) continue;
                z[(plane + own) * p.N + y * p.W + x] = sum[k] * gate_between(p, gates + own * p.s * p.W, taps, y, x);
            }
        }

        __syncthreads();                                    /* S is free again */
    }
}

/* ---- launches ---------------------------------------------------------------------------- */

bool by_passes(int version, const struct chopd_problem *p)
{
    return version == 3 || (version > 3 && plane_bytes(p, 1) > shared_limit());
}

/* Planes of a block: as many as fit in the lanes of a warp and in shared memory. */
size_t planes_together(int version, const struct chopd_problem *p)
{
    size_t planes = version > 5 && p->W < 32 ? 32 / p->W : 1;
    while (plane_bytes(p, planes) > shared_limit()) planes--;
    return planes;
}

template <int version> void prepare(struct chopd_device *on, const struct chopd_problem *p)
{
    size_t B = p->B, N = p->N, C = p->C, D = p->D, R = p->R, G = p->G, S = p->S, cells = p->s * p->s;
    size_t direct = version < 3;
    device_tensor(on, &on->u4, "u4", &p->u4, C, R);
    device_tensor(on, &on->u5, "u5", &p->u5, D, R);
    device_tensor(on, &on->b, "b", &p->b, D);
    device_tensor(on, &on->phi_w1, "phi_w1", &p->phi_w1, S, C, 9);
    device_tensor(on, &on->phi_b1, "phi_b1", &p->phi_b1, S);
    device_tensor(on, &on->phi_w2, "phi_w2", &p->phi_w2, R, S);
    device_tensor(on, &on->phi_b2, "phi_b2", &p->phi_b2, R);
    device_tensor(on, &on->boxes, "the boxes", &p->boxes, direct, R, G, 4);
    device_tensor(on, &on->mix, "mix", &p->mix, direct, R, G);
    device_reals(on, &on->mean, "the cells of phi", B, cells, C);
    device_reals(on, &on->patches, "the patches of phi's convolution", B, cells, C, 9);
    device_reals(on, &on->hidden, "phi's channels", B, cells, S);
    device_reals(on, &on->map, "phi's map", B, cells, R);
    device_reals(on, &on->z, "the components", B, R, N);
    device_reals(on, &on->pooled, "the pooled components", direct, B, R, N);
    device_reals(on, &on->columns, "sums down the columns", by_passes(version, p) ? B : 0, R, G, N);
    device_reals(on, &on->edges, "the edges of the boxes", 1 - direct, R, G, EDGES);
    device_reals(on, &on->taps, "the positions of tokens on phi's map", p->H + p->W, 2);
    arena_reals(&on->plan->arena, LOAD_SCRATCH, &on->edges_host, "the edges of the boxes", R, G, EDGES);
    arena_reals(&on->plan->arena, LOAD_SCRATCH, &on->taps_host, "the positions of tokens on phi's map", p->H + p->W, 2);
}

template <int version> void load_tables(struct chopd_device *on, const struct chopd_problem *p)
{
    size_t H = p->H, W = p->W, boxes = version < 3 ? 0 : p->R * p->G;
    for (size_t at = 0; at < boxes; at++) box_edges(on->edges_host + at * EDGES, p->boxes + 4 * at, p->mix[at], p);
    device_upload(on, on->edges, on->edges_host, boxes * EDGES);
    for (size_t t = 0; t < H + W; t++) {
        struct tap tap = t < H ? bilinear_tap(t, p->s, H) : bilinear_tap(t - H, p->s, W);
        on->taps_host[2 * t] = (real)tap.low;
        on->taps_host[2 * t + 1] = tap.weight;
    }
    device_upload(on, on->taps, on->taps_host, 2 * (H + W));
}

template <int version> array<real> pool(struct chopd_device *on, const struct chopd_problem *p)
{
    const layer sizes = layer_of(p);
    size_t planes = p->B * p->R, outputs = planes * p->N, threads = planes * p->G * p->W;
    if (version < 3) {
        LAUNCH_EACH(on, each_pooled<version == 2>, outputs, sizes, on->pooled, on->z, on->boxes, on->mix, on->map,
                    on->taps, outputs);
        return on->pooled;
    } else if (by_passes(version, p)) {
        LAUNCH(on, rows_summed, device_blocks(planes * p->H, 4), 128, 0, on->z, sizes.W, planes * p->H);
        LAUNCH_EACH(on, columns_summed, threads, sizes, on->columns, on->z, on->edges, threads);
        LAUNCH_EACH(on, edges_gathered, outputs, sizes, on->z, on->columns, on->edges, on->map, on->taps, outputs);
    } else {
        size_t few = planes_together(version, p);
        LAUNCH(on, plane_kept<version == 4 ? 1 : 4>, device_blocks(planes, few), PLANE_THREADS, plane_bytes(p, few),
               sizes, on->z, on->edges, on->map, on->taps, (int)few, planes);
    }
    return on->z;
}

template <int version> void run(struct chopd_device *on, const struct chopd_problem *p)
{
    size_t B = p->B, N = p->N, C = p->C, D = p->D, R = p->R;
    phi(on, p, version > 1);
    if (version > 1) device_product(on, on->z, {on->u4, true, 0}, {on->x, true, N * C}, R, C, N, B);
    else device_product(on, on->z, {on->x, false, 0}, {on->u4, false, 0}, B * N, C, R, 1);
    array<real> pooled = pool<version>(on, p);
    if (version > 1) device_product(on, on->y, {pooled, true, R * N}, {on->u5, true, 0}, N, R, D, B);
    else device_product(on, on->y, {pooled, false, 0}, {on->u5, true, 0}, B * N, R, D, 1);
    activate(on, p->gelu ? GELU : IDENTITY, on->y, on->b, B * N * D, 1, D);
}

/* cuda1 and cuda2 count as if all boxes were as large as the grid. */
template <int version> double multiply_adds(const void *params)
{
    const struct chopd_problem *p = (const struct chopd_problem *)params;
    double N = (double)p->N, R = (double)p->R, G = (double)p->G;
    double pooling = version < 3 ? N * G * 3 + G : 6 * G;
    return (double)p->B * (N * R * ((double)p->C + (double)p->D + pooling + 4) + chopd_gate_multiply_adds(p));
}

} // namespace

DEVICE_FORM(chopd_cuda1, "cuda1", chopd_device, prepare<1>, load_tables<1>, run<1>, multiply_adds<1>);
DEVICE_FORM(chopd_cuda2, "cuda2", chopd_device, prepare<2>, load_tables<2>, run<2>, multiply_adds<2>);
DEVICE_FORM(chopd_cuda3, "cuda3", chopd_device, prepare<3>, load_tables<3>, run<3>, multiply_adds<3>);
DEVICE_FORM(chopd_cuda4, "cuda4", chopd_device, prepare<4>, load_tables<4>, run<4>, multiply_adds<4>);
DEVICE_FORM(chopd_cuda5, "cuda5", chopd_device, prepare<5>, load_tables<5>, run<5>, multiply_adds<5>);
DEVICE_FORM(chopd_cuda6, "cuda6", chopd_device, prepare<6>, load_tables<6>, run<6>, multiply_adds<6>);
