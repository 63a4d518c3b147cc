/* circulant.c -- a sum over tokens as a circular convolution; see circulant.h */

#include "circulant.h"
#include <limits.h>
#include <math.h>

bool smooth(size_t n)
{
    static const size_t prime[] = {2, 3, 5, 7};
    for (size_t p = 0; n && p < 4; p++)
        while (n % prime[p] == 0) n /= prime[p];
    return n == 1;
}

status circulant_create(struct circulant *circle, const grid *tokens, const grid *window, bool wraps, bool smooth_only)
{
    *circle = (struct circulant){.tokens = *tokens, .window = *window, .wraps = wraps, .points = 1};
    for (int a = 0; a < GRID_AXES; a++) {
        size_t size = tokens->size[a], reach = size - 1;
        if (window->axes && window->size[a] / 2 < reach) reach = window->size[a] / 2;
        if (!wraps || (smooth_only && !smooth(size))) {
            size += reach;
            while (!smooth(size)) size++;
        }
        circle->reach[a] = reach;
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): points is a product of sizes, and no size is 0 */
        if (size > INT_MAX / circle->points)
            return bad_input("grid too large, expected at most %d points with its zero padding", INT_MAX);
        circle->size[a] = size;
        circle->points *= size;
    }
    return status_ok();
}

size_t circulant_entry(const struct circulant *circle, size_t point)
{
    size_t entry = 0, place = 1;
    for (int a = GRID_AXES - 1; a >= 0; a--) {
        size_t n = circle->tokens.size[a], k = circle->window.size[a], size = circle->size[a], at = point % size;
        bool backward = at > circle->reach[a];          /* the offset i - j is at - size < 0 */
        point /= size;
        if (backward && size - at > circle->reach[a]) return NO_ENTRY;
        if (circle->wraps) {
            entry += place * (backward ? at + n - size : at);
            place *= n;
        } else if (circle->window.axes) {               /* entry number i - j + k / 2 */
            entry += place * (backward ? k / 2 + at - size : k / 2 + at);
            place *= k;
        } else {                                        /* entry number j - i + n - 1 */
            entry += place * (backward ? size - at + n - 1 : n - 1 - at);
            place *= 2 * n - 1;
        }
    }
    return entry;
}

size_t circulant_place(const struct circulant *circle, size_t n)
{
    size_t at[GRID_AXES];
    grid_coordinates(at, &circle->tokens, n);
    return (at[0] * circle->size[1] + at[1]) * circle->size[2] + at[2];
}

double circulant_multiply_adds(const struct lisa_problem *p, bool smooth_only)
{
    bool rpe = p->equation == 4;
    double N = (double)p->heads.N, c = (double)p->heads.c, heads = (double)p->heads.B * (double)p->heads.h;
    struct circulant circle;

    if (circulant_create(&circle, &p->grid, &p->window, p->wraps, smooth_only).code) return NAN;
    double P = (double)circle.points, pairs = ceil((rpe ? c : (double)p->D) / 2);
    double transforms = rpe ? 2 * c * pairs : 2 * c * (1 + pairs);
    double products = rpe ? c * pairs * (4 * P + 4 * N) : 2 * c * pairs * (4 * P + 2 * N);
    return heads_multiply_adds(&p->heads) + heads * (transforms * 2.5 * P * log2(P) + products);
}
