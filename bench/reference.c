/* What does "what is normal" cost, next to the fit it follows?                 [METHOD 5b, 8, 8b]
 *
 * Seconds of the fit and of each part of the reference, the ratio of the two, and for the two
 * deviances the rate at which the flops counted in stat/deviance.h are done. The second line of
 * each size is seconds of processor time on all threads together. Sizes may be given: N T F P. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common.h"
#include "la/core.h"
#include "model/model.h"

enum { FIT, FOLDS, NOISE, MAPS, DEVIANCE, LOO, PARTS, WALL = 0, CPU = 1, N_FOLDS = 10 };

typedef struct stopwatch {
    double last[2], seconds[PARTS][2];
} stopwatch;

static void lap(stopwatch *w, int part)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    double now[2] = {kn_clock(), (double)t.tv_sec + 1e-9 * (double)t.tv_nsec};
    for (int k = 0; k < 2; k++) {
        if (part >= 0)
            w->seconds[part][k] += now[k] - w->last[k];
        w->last[k] = now[k];
    }
}

static void on_progress(void *user, const kn_progress *p)
{
    lap(user, strcmp(p->stage, "deviance") == 0 ? DEVIANCE : MAPS);
}

/* Of both deviances: see stat/deviance.h. */
static double deviance_flops(double N, double T)
{
    double K = N * 0.8 < 128 ? 0.8 * N : 128;
    return 2 * (N * N * T + 2 * N * K * T * (N_FOLDS - 1) + 4.0 / 3 * K * K * T * N_FOLDS +
                6 * N * K * T);
}

static void report(const stopwatch *w, ptrdiff_t N, ptrdiff_t T, int P, double gemm)
{
    for (int k = WALL; k <= CPU; k++) {
        double all = 0;
        if (k == WALL)
            printf("%5td %7td %4d", N, T, P);
        else
            printf("%18s", "processor");
        for (int part = 0; part < PARTS; part++) {
            printf(" %7.2f", w->seconds[part][k]);
            all += part == FIT ? 0 : w->seconds[part][k];
        }
        printf("  %7.2f %6.1f", all, all / w->seconds[FIT][k]);
        double both = w->seconds[MAPS][k] + w->seconds[DEVIANCE][k];
        double rate = deviance_flops((double)N, (double)T) / both * 1e-9;
        printf("  %7.1f %4.0f %%\n", rate, 100 * rate / gemm);
    }
}

static void run(kn_ctx *ctx, const bench_data *d, int P, double gemm)
{
    kn_fit_options o;
    kn_model *m;
    kn_gp_maps cv;
    kn_gram gram;
    kn_reference r;
    kn_cv_summary summary;
    kn_view Y = bench_view(d->Y);
    ptrdiff_t N = d->Y.rows;
    int *fold = malloc((size_t)N * sizeof *fold);
    stopwatch w = {0};

    kn_fit_options_init(&o);
    o.components = P;
    o.folds = 0;
    lap(&w, -1);
    bench_die(ctx, kn_fit(ctx, bench_view(d->X), Y, &o, &m), "fit");
    lap(&w, FIT);
    kn_responses R = kn_responses_of(Y, &m->y);
    bench_die(ctx, kn_gram_new(ctx, &R, &gram), "gram"); /* the fit has it at hand */
    kn_folds_deal(N, N_FOLDS, 1, fold);
    lap(&w, -1);
    bench_die(ctx, kn_gp_cv(ctx, &m->gp, &R, &gram, N_FOLDS, fold, &cv), "folds");
    lap(&w, FOLDS);
    bench_die(ctx, kn_gp_set_noise(ctx, &m->gp, &R, &cv, &summary), "noise");
    lap(&w, NOISE);
    bool keep = 4.0 * (double)N * (double)m->gp.T <= 1e9;
    kn_set_progress(ctx, on_progress, &w);
    bench_die(ctx, kn_reference_make(ctx, &m->gp, &cv, fold, N_FOLDS, 0.05, keep, &r), "reference");
    kn_set_progress(ctx, NULL, NULL);
    lap(&w, DEVIANCE);
    bench_die(ctx, kn_reference_loo(ctx, &m->gp, &R, &r, &summary), "leave-one-out");
    lap(&w, LOO);
    report(&w, N, m->gp.T, P, gemm);
    printf("%18s K %td %td  deviance %.9g %.9g  statistic %.9g %.9g\n", "", r.deviance.K,
           r.deviance_noise.K, r.deviance.ref[1], r.deviance_noise.ref[1], r.statistic[1],
           r.loo_statistic[1]);
    fflush(stdout);
    kn_reference_clear(&r);
    kn_gp_maps_clear(&cv);
    kn_gram_clear(&gram);
    kn_model_free(m);
    free(fold);
}

/* GFLOP/s of a large product: what the machine can do. */
static double best_rate(kn_ctx *ctx)
{
    enum { N = 1500 };
    kn_mat A, B;
    double best = 0;
    bench_die(ctx, kn_mat_new(ctx, N, N, &A), "A");
    bench_die(ctx, kn_mat_new(ctx, N, N, &B), "B");
    for (ptrdiff_t i = 0; i < (ptrdiff_t)N * N; i++)
        A.data[i] = 1.0 / (double)(i + 1);
    for (int k = 0; k < 5; k++) {
        double t = kn_clock();
        kn_gemm(1, KN_N, A, KN_N, A, 0, B);
        double rate = 2.0 * N * N * N / (kn_clock() - t) * 1e-9;
        best = rate > best ? rate : best;
    }
    kn_mat_clear(&A);
    kn_mat_clear(&B);
    return best;
}

int main(int argc, char **argv)
{
    static const struct {
        ptrdiff_t N, T, F;
        int P;
    } sizes[] = {{600, 5438, 100, 25}, {600, 5438, 100, 500}, {200, 230000, 5, 25}};
    kn_ctx *ctx = kn_ctx_new();
    kn_la_use_threads(ctx);
    double gemm = best_rate(ctx);
    printf("dgemm %.1f GFLOP/s on %s, %d threads\n", gemm, kn_la_core(), kn_threads(ctx));
    printf("%5s %7s %4s %7s %7s %7s %7s %7s %7s  %7s %6s  %7s of dgemm\n", "N", "T", "P", "fit s",
           "folds", "noise", "maps", "dev", "loo", "all", "/fit", "GFLOP/s");
    if (argc == 5) {
        bench_data d = bench_paper(ctx, atol(argv[1]), atol(argv[2]), atol(argv[3]), 1, 1);
        run(ctx, &d, atoi(argv[4]), gemm);
        bench_free(&d);
    }
    for (size_t k = 0; argc != 5 && k < sizeof sizes / sizeof *sizes; k++) {
        bench_data d = bench_paper(ctx, sizes[k].N, sizes[k].T, sizes[k].F, 1, 1);
        run(ctx, &d, sizes[k].P, gemm);
        bench_free(&d);
    }
    printf("peak %.0f MB\n", bench_peak_mb());
    kn_ctx_free(ctx);
    return 0;
}
