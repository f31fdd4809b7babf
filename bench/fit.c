/* How long does a whole fit take at the paper's size, in units of one dsyevd(600)?
 * fit (no reference maps) + mean + variance for 1440 samples + z + top 5 % */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

static void run(kn_ctx *ctx, const bench_data *d, kn_noise noise, int P, double unit)
{
    kn_fit_options o;
    kn_model *model;
    kn_maps *maps;
    kn_fit_info info;
    ptrdiff_t Ns = d->Xs.rows, T = d->Y.cols;
    double *mean = malloc((size_t)(Ns * T) * sizeof *mean), *var = malloc((size_t)(Ns * T) * 8);
    kn_fit_options_init(&o);
    o.noise = noise;
    o.components = P;
    o.folds = 0;
    double t0 = kn_clock();
    bench_die(ctx, kn_fit(ctx, bench_view(d->X), bench_view(d->Y), &o, &model), "fit");
    double t1 = kn_clock();
    bench_die(ctx, kn_predict(ctx, model, bench_view(d->Xs), &maps), "predict");
    bench_die(ctx,
              kn_maps_block(ctx, maps, 0, T, kn_mat_cols(mean, Ns, T), kn_mat_cols(var, Ns, T)),
              "maps");
    double t2 = kn_clock();
    kn_model_info(model, &info);
    printf("%-10s %4d  %6.3f %6.3f  %6.1f  %4d %4d %6d  %8.3f %7.3f  %.4f %.4g  %.2e\n",
           noise == KN_NOISE_ISO ? "iso" : "structured", P, t1 - t0, t2 - t1, (t2 - t0) / unit,
           info.evaluations, info.evaluations_subsample, info.evaluations_inner, info.seconds_basis,
           info.seconds_fit, info.rho, info.length, info.projected_gradient);
    kn_maps_free(maps);
    kn_model_free(model);
    free(mean);
    free(var);
}

int main(void)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_la_use_threads(ctx);
    bench_data d = bench_paper(ctx, 600, 5438, 100, 1440, 1);
    double unit = bench_unit(ctx, 600);
    printf("N 600, T 5438, F 100, N* 1440; one dsyevd(600) = %.1f ms\n", 1e3 * unit);
    printf("%-10s %4s  %6s %6s  %6s  %4s %4s %6s  %8s %7s\n", "noise", "P", "fit s", "maps s",
           "units", "eval", "sub", "inner", "basis s", "fit s");
    static const int P[] = {10, 25, 100, 500};
    for (int k = 0; k < 4; k++)
        for (int iso = 0; iso < 2; iso++)
            run(ctx, &d, iso ? KN_NOISE_ISO : KN_NOISE_STRUCTURED, P[k], unit);
    printf("peak %.0f MB\n", bench_peak_mb());
    bench_free(&d);
    kn_ctx_free(ctx);
    return 0;
}
