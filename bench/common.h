/* Shared by the benchmarks: data of the paper's shape, and the unit that travels between machines:
 * one dsyevd of size N with vectors, timed in the same run. */
#ifndef KN_BENCH_COMMON_H
#define KN_BENCH_COMMON_H

#include "base/clock.h"
#include "base/rng.h"
#include "gp/gp.h"
#include "la/la.h"

typedef struct bench_data {
    kn_mat X, Y, Xs; /* N x F, N x T, N* x F */
} bench_data;

/* Binary patterns as covariates, local receptive fields, shared and private noise; mean R2 ~ 0.1.
 */
bench_data bench_paper(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T, ptrdiff_t F, ptrdiff_t Ns,
                       uint64_t seed);
void bench_free(bench_data *d);

/* Seconds of the fastest of several dsyevd of size N. */
double bench_unit(kn_ctx *ctx, ptrdiff_t N);

kn_view bench_view(kn_mat m);
double bench_peak_mb(void);
void bench_die(kn_ctx *ctx, kn_status status, const char *what);

#endif
