/* standalone.c -- self-attention with h heads on one image, complete in this file
 *
 *     cc -O2 naive/standalone.c -lm -o standalone
 *
 * A token is a vector of C numbers that describes one patch of the image.  Each head a turns it into three shorter
 * vectors of c numbers: a query q (what the token looks for), a key k (how others find it), a value v (what it gives).
 *
 *     q_i = W_q x_i + b_q          k_j = W_k x_j + b_k          v_j = W_v x_j + b_v
 *
 *     A_ij = exp(q_i . k_j / sqrt(c)) / sum_j' exp(q_i . k_j' / sqrt(c))          the softmax along j
 *     z_i = sum_j A_ij v_j                                                        the weighted mean of all values
 *     y_i = W_o (z_i of all heads) + b_o                                          the output projection
 *
 *     i, j  tokens, N     a  heads, h     ch  channels of a head, c     n  channels of a token, C = h c
 *
 * W_q, W_k and W_v of all heads are one tensor, w_qkv.  The cost is 4 N C^2 + 2 N^2 C multiply-adds. */

#include <math.h>
#include <stdio.h>

enum { N = 4, h = 2, c = 4, C = h * c };

static double dot(const double *u, const double *v, int length)
{
    double sum = 0;
    for (int n = 0; n < length; n++) sum += u[n] * v[n];
    return sum;
}

/* Scores become weights: positive, and their sum is one.  exp(score - top) cannot overflow, and the factor cancels. */
static void softmax(double *score, int length)
{
    double top = score[0], sum = 0;
    for (int j = 1; j < length; j++) top = fmax(top, score[j]);
    for (int j = 0; j < length; j++) sum += score[j] = exp(score[j] - top);
    for (int j = 0; j < length; j++) score[j] /= sum;
}

/* Tokens x become y, one head after the other. */
static void attention(double y[N][C], double x[N][C], double w_qkv[3][h][c][C], double b_qkv[3][h][c],
                      double w_o[C][C], double b_o[C])
{
    double q[N][c], k[N][c], v[N][c], A[N][N], z[N][C];

    for (int a = 0; a < h; a++) {
        /* Step 1: the query, the key and the value of each token. */
        for (int i = 0; i < N; i++)
            for (int ch = 0; ch < c; ch++) {
                q[i][ch] = dot(w_qkv[0][a][ch], x[i], C) + b_qkv[0][a][ch];
                k[i][ch] = dot(w_qkv[1][a][ch], x[i], C) + b_qkv[1][a][ch];
                v[i][ch] = dot(w_qkv[2][a][ch], x[i], C) + b_qkv[2][a][ch];
            }

        /* Step 2: the weight that token i gives to token j. */
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) A[i][j] = dot(q[i], k[j], c) / sqrt(c);
            softmax(A[i], N);
        }

        /* Step 3: the mean of the values under these weights, in the channels of head a. */
        for (int i = 0; i < N; i++)
            for (int ch = 0; ch < c; ch++) {
                double sum = 0;
                for (int j = 0; j < N; j++) sum += A[i][j] * v[j][ch];
                z[i][a * c + ch] = sum;
            }
    }

    /* Step 4: the output projection. */
    for (int i = 0; i < N; i++)
        for (int n = 0; n < C; n++) y[i][n] = dot(w_o[n], z[i], C) + b_o[n];
}

/* Numbers for the example: multiples of 1/8 from -5/8 to 5/8. */
static void fill(void *tensor, int count, int step)
{
    for (int n = 0; n < count; n++) ((double *)tensor)[n] = (step * n % 11 - 5) / 8.0;
}

int main(void)
{
    double x[N][C], w_qkv[3][h][c][C], b_qkv[3][h][c], w_o[C][C], b_o[C], y[N][C];

    fill(x, N * C, 10);
    fill(w_qkv, 3 * C * C, 5);
    fill(b_qkv, 3 * C, 9);
    fill(w_o, C * C, 6);
    fill(b_o, C, 3);

    /* Token 3 equals token 0.  Attention does not see where a token lies, so their outputs are equal, too. */
    for (int n = 0; n < C; n++) x[3][n] = x[0][n];

    attention(y, x, w_qkv, b_qkv, w_o, b_o);
    for (int i = 0; i < N; i++) {
        printf("y_%d", i);
        for (int n = 0; n < C; n++) printf("%9.4f", y[i][n]);
        printf("\n");
    }
    return 0;
}
