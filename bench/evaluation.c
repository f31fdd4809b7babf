/* What does one likelihood with gradient cost at N = 600, and where does the time go? In units of
 * one dsyevd(600) of the same run. */
#include <math.h>
#include <stdio.h>

#include "common.h"

enum { N = 600, REPEATS = 7 };

static double best_of(double a, double b)
{
    return a < b ? a : b;
}

static void run(kn_ctx *ctx, const bench_data *d, const kn_gram *gram, kn_noise noise, ptrdiff_t P,
                double unit)
{
    kn_spec spec = {.noise = noise,
                    .sample_kernel = KN_LINEAR | KN_SE | (noise == KN_NOISE_ISO ? KN_ISO : 0u),
                    .task_kernel = noise == KN_NOISE_ISO ? KN_LINEAR | KN_ISO : 0u,
                    .F = d->X.cols};
    kn_mat Z = {0};
    kn_pairs pairs = {0};
    kn_engine e = {0};
    double total = 0, E, lml, g[2], whole = INFINITY, value = INFINITY, eig = INFINITY, r0[3];
    bench_die(ctx, kn_mat_new(ctx, N, P, &Z), "Z");
    for (ptrdiff_t p = 0; p < N; p++)
        total += gram->s2[p];
    E = total;
    for (ptrdiff_t p = 0; p < P; p++) {
        E -= gram->s2[p];
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(Z, p)[i] = kn_at(gram->U, i, p) * sqrt(gram->s2[p]);
    }
    bench_die(ctx, kn_pairs_within(ctx, d->X, KN_LINEAR | KN_SE, &pairs), "pairs");
    bench_die(ctx, kn_engine_new(ctx, &spec, &pairs, Z, d->Y.cols, E, total, N, NULL, &e),
              "engine");
    kn_theta_of_rho(KN_LINEAR | KN_SE, spec.F, 0.3, 6, r0);
    bench_die(ctx, kn_engine_nested(ctx, &e, 0.3, 6, &lml, g), "first"); /* and a warm start */
    int inner = e.inner_evals;
    for (int k = 0; k < REPEATS; k++) {
        double t0 = kn_clock();
        bench_die(ctx, kn_decomp_compute(ctx, &e.R0, &e.pairs, r0), "decomposition");
        double t1 = kn_clock();
        bench_die(ctx, kn_engine_nested(ctx, &e, 0.3, 6, &lml, NULL), "value");
        double t2 = kn_clock();
        bench_die(ctx, kn_engine_nested(ctx, &e, 0.3, 6, &lml, g), "gradient");
        double t3 = kn_clock();
        eig = best_of(eig, t1 - t0);
        value = best_of(value, t2 - t1);
        whole = best_of(whole, t3 - t2);
    }
    inner = (e.inner_evals - inner) / (2 * REPEATS);
    printf("%-10s %4td  %8.1f %6.2f  %12.2f %12.2f %12.2f  %5d\n",
           noise == KN_NOISE_ISO ? "iso" : "structured", P, 1e3 * whole, whole / unit, eig / unit,
           (value - eig) / unit, (whole - value) / unit, inner);
    kn_engine_clear(&e);
    kn_mat_clear(&Z);
}

int main(void)
{
    static const ptrdiff_t P[] = {10, 25, 100, 500};
    kn_ctx *ctx = kn_ctx_new();
    kn_scaling scaling;
    kn_gram gram;
    kn_la_use_threads(ctx);
    bench_data d = bench_paper(ctx, N, 5438, 100, 1, 1);
    double unit = bench_unit(ctx, N);
    bench_die(ctx, kn_scaling_new(ctx, bench_view(d.Y), true, &scaling), "scaling");
    kn_responses Y = kn_responses_of(bench_view(d.Y), &scaling);
    bench_die(ctx, kn_gram_new(ctx, &Y, &gram), "gram");
    printf("N %d, T 5438, F 100; one dsyevd(%d) = %.1f ms, %.1f GFLOP/s of 4/3 N^3\n", N, N,
           1e3 * unit, 4.0 / 3 * N * N * N / unit * 1e-9);
    printf("%-10s %4s  %8s %6s  %12s %12s %12s  %5s\n", "noise", "P", "ms", "units", "R0 and eig",
           "components", "gradient", "inner");
    for (int k = 0; k < 4; k++)
        for (int iso = 0; iso < 2; iso++)
            run(ctx, &d, &gram, iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED, P[k], unit);
    kn_gram_clear(&gram);
    kn_scaling_clear(&scaling);
    bench_free(&d);
    kn_ctx_free(ctx);
    return 0;
}
