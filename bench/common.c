#include "common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

void bench_die(kn_ctx *ctx, kn_status status, const char *what)
{
    if (status == KN_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, kn_message(ctx));
    exit(1);
}

kn_view bench_view(kn_mat m)
{
    return kn_view_cols(m.data, m.rows, m.cols);
}

double bench_peak_mb(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static void patterns(kn_rng *rng, kn_mat X)
{
    for (ptrdiff_t i = 0; i < X.rows; i++)
        for (ptrdiff_t f = 0; f < X.cols; f++)
            kn_col(X, f)[i] = kn_rng_uniform(rng) < 0.5;
}

bench_data bench_paper(kn_ctx *ctx, ptrdiff_t N, ptrdiff_t T, ptrdiff_t F, ptrdiff_t Ns,
                       uint64_t seed)
{
    enum { SHARED = 20 };
    bench_data d = {0};
    kn_rng rng;
    kn_mat S = {0}, L = {0};
    kn_rng_init(&rng, seed, 7);
    bench_die(ctx, kn_mat_new(ctx, N, F, &d.X), "X");
    bench_die(ctx, kn_mat_new(ctx, N, T, &d.Y), "Y");
    bench_die(ctx, kn_mat_new(ctx, Ns, F, &d.Xs), "X*");
    bench_die(ctx, kn_mat_new(ctx, N, SHARED, &S), "S");
    bench_die(ctx, kn_mat_new(ctx, T, SHARED, &L), "L");
    patterns(&rng, d.X);
    patterns(&rng, d.Xs);
    for (ptrdiff_t k = 0; k < SHARED; k++) {
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(S, k)[i] = kn_rng_normal(&rng);
        double phase = 6.28 * kn_rng_uniform(&rng), rate = 0.002 * (double)(k + 1);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(L, k)[j] = 0.25 * sin(phase + rate * (double)j);
    }
    kn_gemm(1, KN_N, S, KN_T, L, 0, d.Y);
    for (ptrdiff_t j = 0; j < T; j++) {
        double centre = (double)F * kn_rng_uniform(&rng), gain = kn_rng_uniform(&rng);
        for (ptrdiff_t f = 0; f < F; f++) {
            double w = 0.5 * gain * exp(-0.5 * pow(((double)f - centre) / 3, 2));
            for (ptrdiff_t i = 0; w > 1e-3 && i < N; i++)
                kn_col(d.Y, j)[i] += w * (kn_at(d.X, i, f) - 0.5);
        }
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(d.Y, j)[i] += kn_rng_normal(&rng);
    }
    kn_mat_clear(&S);
    kn_mat_clear(&L);
    return d;
}

void bench_free(bench_data *d)
{
    kn_mat_clear(&d->X);
    kn_mat_clear(&d->Y);
    kn_mat_clear(&d->Xs);
}

double bench_unit(kn_ctx *ctx, ptrdiff_t N)
{
    kn_mat X = {0}, R = {0}, A = {0};
    double *w = NULL, best = INFINITY;
    kn_rng rng;
    kn_rng_init(&rng, 1, 9);
    bench_die(ctx, kn_mat_new(ctx, N, 2 * N, &X), "X");
    bench_die(ctx, kn_mat_new(ctx, N, N, &R), "R");
    bench_die(ctx, kn_mat_new(ctx, N, N, &A), "A");
    bench_die(ctx, kn_alloc_d(ctx, N, &w), "w");
    for (ptrdiff_t i = 0; i < 2 * N * N; i++)
        X.data[i] = kn_rng_normal(&rng);
    kn_syrk(1.0 / (double)N, KN_N, X, 0, R);
    for (int k = 0; k < 7; k++) {
        kn_mat_set(A, R);
        double t = kn_clock();
        bench_die(ctx, kn_eig(ctx, A, w), "dsyevd");
        t = kn_clock() - t;
        best = t < best ? t : best;
    }
    kn_mat_clear(&X);
    kn_mat_clear(&R);
    kn_mat_clear(&A);
    kn_free(w);
    return best;
}
