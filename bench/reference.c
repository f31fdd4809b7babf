#include <string.h>
#include <time.h>

#include "common.h"
#include "gp/assign_folds.h"
#include "gp/cv/cv.h"
#include "gp/predict/gp_maps.h"
#include "gp/predict/noise.h"
#include "model/model.h"
#include "norm/reference/loo.h"

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

/* Of both deviances: see norm/deviance/fit.h. */
static double deviance_flops(double N, double T)
{
    double K = N * 0.8 < 128 ? 0.8 * N : 128;
    return 2 * (N * N * T + 2 * N * K * T * (N_FOLDS - 1) + 4.0 / 3 * K * K * T * N_FOLDS +
                6 * N * K * T);
}

/* The products of both deviances are in float32 at these sizes [norm/deviance/fit.h], so the limit
 * is SGEMM: of all threads by the clock, of one for the seconds of all threads together. */
static void report(bench *b, const stopwatch *w, ptrdiff_t N, ptrdiff_t T, int P)
{
    double peak = bench_peak_mb();
    for (int k = WALL; k <= CPU; k++) {
        const double(*s)[2] = w->seconds;
        double all = s[FOLDS][k] + s[NOISE][k] + s[MAPS][k] + s[DEVIANCE][k] + s[LOO][k];
        double flops = deviance_flops((double)N, (double)T), both = s[MAPS][k] + s[DEVIANCE][k];
        bench_threads(b, k == WALL ? b->all : 1);
        bench_row(b, "%s|%td|%td|%d|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f|%.2f|%.1f|%.1f|%.0f %%|%.0f",
                  k == WALL ? "wall" : "processor", N, T, P, s[FIT][k], s[FOLDS][k], s[NOISE][k],
                  s[MAPS][k], s[DEVIANCE][k], s[LOO][k], all, all / s[FIT][k], 1e-9 * flops / both,
                  bench_of_gemm(b, 0, flops, both), peak);
    }
    bench_threads(b, b->all);
}

static void run(bench *b, const bench_data *d, int P)
{
    kn_settings o;
    kn_model *m;
    kn_gp_maps cv;
    kn_gram gram;
    kn_reference r;
    kn_cv_summary summary;
    ptrdiff_t N = d->Y.rows;
    void *memory;
    stopwatch w = {0};
    BENCH_TRY(b, kn_alloc(b->ctx, N, sizeof(int), &memory));
    int *fold = memory;
    kn_settings_init(&o);
    o.components = P;
    o.folds = 0;
    bench_peak_reset(b);
    lap(&w, -1);
    BENCH_TRY(b, kn_fit_arrays(b->ctx, d->X, d->Y, &o, &m));
    lap(&w, FIT);
    kn_responses R = kn_responses_of(d->Y, &m->y);
    BENCH_TRY(b, kn_gram_new(b->ctx, &R, &gram)); /* the fit has it at hand */
    int dealt = N_FOLDS;
    BENCH_TRY(b, kn_folds_assign(b->ctx, N, NULL, NULL, 1, &dealt, fold));
    lap(&w, -1);
    BENCH_TRY(b, kn_gp_cv(b->ctx, &m->gp,
                          &(kn_cv_problem){.Y = &R, .gram = &gram, .folds = N_FOLDS, .fold = fold},
                          &cv));
    lap(&w, FOLDS);
    BENCH_TRY(b, kn_gp_set_noise(b->ctx, &m->gp, &R, &cv));
    lap(&w, NOISE);
    bool keep = 4.0 * (double)N * (double)m->gp.T <= 1e9;
    kn_set_progress(b->ctx, on_progress, &w);
    kn_reference_job job = {
        .gp = &m->gp, .cv = &cv, .fold = fold, .folds = N_FOLDS, .top = 0.05, .keep_z = keep};
    BENCH_TRY(b, kn_reference_make(b->ctx, &job, &r, &summary));
    kn_set_progress(b->ctx, NULL, NULL);
    lap(&w, DEVIANCE);
    BENCH_TRY(b,
              kn_reference_loo(b->ctx,
                               &(kn_loo_job){.gp = &m->gp, .Y = &R, .calibration = &m->calibration},
                               &r, &summary));
    lap(&w, LOO);
    report(b, &w, N, m->gp.T, P);
    kn_reference_clear(&r);
    kn_gp_maps_clear(&cv);
    kn_gram_clear(&gram);
    kn_model_free(m);
    kn_free(fold);
}

int main(int argc, char **argv)
{
    static const struct {
        ptrdiff_t N, T, F;
        int P;
    } sizes[] = {{600, 5438, 100, 25}, {600, 5438, 100, 500}, {200, 230000, 5, 25}};
    bench b;
    bench_data d;
    bench_begin(
        &b, argc, argv, "reference",
        "What does \"what is normal\" cost, next to the fit it follows? Seconds of the fit "
        "and of each part of the reference, all of it over the fit, and for the two deviances "
        "the rate at which the flops of norm/deviance/fit.h are done, in float32. processor: "
        "seconds of all threads together.");
    bench_table(&b,
                "time     |    N|     T|   P| fit s| folds| noise|  maps|deviance|   loo|   all|"
                "/ fit|GFLOP/s|of SGEMM|peak MB");
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        bench_paper(&b, bench_size(&b, sizes[k].N, 40), bench_size(&b, sizes[k].T, 60),
                    bench_size(&b, sizes[k].F, 3), 0, &d);
        run(&b, &d, b.quick ? 2 : sizes[k].P);
        bench_free(&d);
    }
    return bench_end(&b);
}
