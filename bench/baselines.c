/* What do the baselines cost at the paper's size? Fit without reference maps, then mean and
 * variance for 1440 samples. The authors' code: STGPR 4257 s, MT-Kronprod 60 s for one evaluation
 * and 34 h for the variance, all extrapolated [SCALE 2]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"

static void maps(kn_ctx *ctx, const kn_model *model, const bench_data *d, double *seconds)
{
    ptrdiff_t Ns = d->Xs.rows, T = d->Y.cols;
    kn_maps *m;
    double *mean = malloc((size_t)(Ns * T) * sizeof *mean), *var = malloc((size_t)(Ns * T) * 8);
    double t = kn_clock();
    bench_die(ctx, kn_predict(ctx, model, bench_view(d->Xs), &m), "predict");
    bench_die(ctx, kn_maps_block(ctx, m, 0, T, kn_mat_cols(mean, Ns, T), kn_mat_none()), "mean");
    seconds[0] = kn_clock() - t;
    bench_die(ctx, kn_maps_block(ctx, m, 0, T, kn_mat_none(), kn_mat_cols(var, Ns, T)), "variance");
    seconds[1] = kn_clock() - t - seconds[0];
    kn_maps_free(m);
    free(mean);
    free(var);
}

static void run(kn_ctx *ctx, const bench_data *d, const char *name, kn_fit_options o, bool predict)
{
    kn_model *model;
    kn_fit_info info;
    double s[2] = {NAN, NAN}, t = kn_clock();
    bench_die(ctx, kn_fit(ctx, bench_view(d->X), bench_view(d->Y), &o, &model), name);
    t = kn_clock() - t;
    kn_model_info(model, &info);
    if (predict)
        maps(ctx, model, d, s);
    printf("%-32s %8.2f %8.2f %8.2f  %5d %6d  %5td  %12.2f  %6.0f\n", name, t, s[0], s[1],
           info.evaluations, info.evaluations_inner, kn_model_array(model, "cells").rows, info.lml,
           bench_peak_mb());
    fflush(stdout);
    kn_model_free(model);
}

int main(int argc, char **argv)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_la_use_threads(ctx);
    bench_data d = bench_paper(ctx, 600, 5438, 100, 1440, 1);
    bool all = argc < 2, dense = argc < 2 || argv[1][0] == 'd';
    printf("N 600, T 5438, F 100, N* 1440; one dsyevd(600) = %.1f ms\n",
           1e3 * bench_unit(ctx, 600));
    printf("%-32s %8s %8s %8s  %5s %6s  %5s  %12s  %6s\n", "", "fit s", "mean s", "var s", "eval",
           "inner", "cells", "LML", "MB");
    kn_fit_options o;
    kn_fit_options_init(&o);
    o.folds = 0;
    o.method = KN_STGPR;
    if (all || argv[1][0] == 's')
        run(ctx, &d, "STGPR", o, true);
    o.method = KN_KRONPROD;
    if (all || argv[1][0] == 'k') {
        run(ctx, &d, "MT-Kronprod linear+iso", o, true);
        static const double theta[] = {-4, -2, -2.65, -0.35, 2, -1, -0.5};
        o.theta = theta;
        o.n_theta = 7;
        o.max_evals = 0;
        run(ctx, &d, "MT-Kronprod, one evaluation", o, false);
    }
    static const double full[] = {-4, -1, 3.5, -2, -2.65, -0.35, 2, -1, -0.5};
    o.task_kernel = o.sample_kernel = KN_LINEAR | KN_SE | KN_ISO;
    o.theta = full;
    o.n_theta = 9;
    o.max_evals = 0;
    if (dense)
        run(ctx, &d, "MT-Kronprod with se, 1 evaluation", o, true);
    bench_free(&d);
    kn_ctx_free(ctx);
    return 0;
}
