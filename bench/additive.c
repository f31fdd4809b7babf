#include "cov/additive.h"
#include "base/rng.h"
#include "common.h"
#include "gp/engine.h"
#include "norm/layer.h"

enum { REPEATS = 5, SITES = 20, SCANS = 3 };

/* The additive R0 over a cohort, or over pixels that are as good as numbers. */
typedef struct study {
    bench_data d;
    kn_mat X;
    kn_spec spec;
    kn_box box;
} study;

static void study_new(bench *b, bool pixels, ptrdiff_t N, ptrdiff_t T, study *s)
{
    kn_design design;
    kn_pairs none = {0};
    if (pixels)
        bench_paper(b, N, T, bench_size(b, 100, 5), 0, &s->d);
    else
        bench_cohort(b, N, T, SITES, 0, &s->d);
    kn_design_options o = s->d.coded ? s->d.design : (kn_design_options){.quadratic = -1};
    o.additive = o.standardise = true;
    BENCH_TRY(b, kn_design_new(b->ctx, s->d.X, &o, &design));
    BENCH_TRY(b, kn_mat_new(b->ctx, N, design.F, &s->X));
    BENCH_TRY(b, kn_design_apply(b->ctx, &design, s->d.X, false, s->X, NULL));
    s->spec = (kn_spec){.additive = true};
    BENCH_TRY(b, kn_cov_of_design(b->ctx, &design, &s->spec.sample));
    BENCH_TRY(b, kn_box_new(b->ctx, &s->spec.sample, &none, s->X, &s->box));
    kn_design_clear(&design);
}

static void study_clear(study *s)
{
    kn_mat_clear(&s->X);
    bench_free(&s->d);
}

/* One likelihood with gradient, where a search begins. */
static void evaluation(bench *b, bool pixels, ptrdiff_t N, ptrdiff_t P, bool groups, bool dense,
                       double unit)
{
    study s;
    kn_mat Z;
    kn_engine e;
    kn_groups g = {0};
    kn_rng rng;
    void *code = NULL;
    double lml, grad[KN_COV_OUTER], seconds;
    study_new(b, pixels, N, 2, &s);
    kn_rng_init(&rng, 1, 9);
    BENCH_TRY(b, kn_mat_new(b->ctx, N, P, &Z));
    for (ptrdiff_t p = 0; p < P; p++) {
        double a = kn_rng_normal(&rng);
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(Z, p)[i] = a * kn_at(s.X, i, 0) + kn_rng_normal(&rng);
    }
    if (groups) {
        BENCH_TRY(b, kn_alloc(b->ctx, N, sizeof(int), &code));
        for (ptrdiff_t i = 0; i < N; i++)
            ((int *)code)[i] = (int)(i / SCANS);
        BENCH_TRY(b, kn_groups_new(b->ctx, N, code, &g));
    }
    s.spec.rank = dense ? 0 : N / 4;
    kn_engine_data data = {.X = s.X, .Z = Z, .groups = &g, .T = P, .total = 1};
    BENCH_TRY(b, kn_engine_new(b->ctx, &s.spec, &data, &e));
    BENCH_TIME(seconds, REPEATS,
               BENCH_TRY(b, kn_engine_nested(b->ctx, &e, &s.box.middle, &lml, grad)));
    bench_row(b, "%s|%td|%td|%s|%s|%td|%.2f|%.3f", pixels ? "100 pixels" : "age, sex, site", N, P,
              groups ? "yes" : "no", dense ? "dense" : "low rank", e.cell[0].R0.m, 1e3 * seconds,
              seconds / unit);
    kn_engine_clear(&e);
    kn_groups_clear(&g);
    kn_free(code);
    kn_mat_clear(&Z);
    study_clear(&s);
}

/* A whole fit: components given, or by the curve and with a reference. The seconds; `given`: those
 * of the fit to compare with, or 0. */
static double whole(bench *b, bool pixels, bool groups, int P, double given, double unit)
{
    ptrdiff_t N = bench_size(b, 600, 60), T = bench_size(b, 5438, 60);
    int folds = P == KN_COMPONENTS_AUTO ? 10 : 0;
    bench_data d;
    kn_settings o;
    bench_job j;
    void *code = NULL;
    if (pixels)
        bench_paper(b, N, T, bench_size(b, 100, 5), 0, &d);
    else
        bench_cohort(b, N, T, SITES, 0, &d);
    bench_settings(&d, &o);
    o.components = P;
    o.folds = folds;
    o.calibrate = KN_CALIBRATE_STUDENT;
    if (groups) {
        BENCH_TRY(b, kn_alloc(b->ctx, N, sizeof(int), &code));
        for (ptrdiff_t i = 0; i < N; i++)
            ((int *)code)[i] = (int)(i / SCANS);
        o.groups = code;
    }
    bench_run(b, &d, &o, &j);
    bench_row(b, "%s|%td|%td|%s|%td|%td|%d|%d|%.3f|%.1f|%.1f|%.1f|%.1f",
              pixels ? "100 pixels" : "age, sex, site", N, T, groups ? "yes" : "no",
              j.info.n_components, j.info.rank, j.info.evaluations, j.info.evaluations_subsample,
              j.fit, (j.info.seconds_basis + j.info.seconds_fit) / unit,
              j.info.seconds_reference / unit, j.fit / unit, given > 0 ? j.fit / given : 1);
    kn_free(code);
    bench_free(&d);
    return j.fit;
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "additive",
                "What does the additive model cost? One likelihood with gradient, by exact "
                "features and dense, with and without groups of three rows; then whole fits: "
                "components given, or by the curve and with the reference, student's calibration. "
                "In units of "
                "one dsyevd(600) of this run.");
    ptrdiff_t N = bench_size(&b, 600, 60);
    double unit = bench_unit(&b, N);
    int P = (int)bench_size(&b, 25, 2);
    bench_table(&b, "covariates    |     N|  P|groups|R0      |rank|     ms|  units");
    for (int groups = 0; groups < 2; groups++) {
        evaluation(&b, false, N, P, groups, false, unit);
        evaluation(&b, false, N, P, groups, true, unit);
        evaluation(&b, true, N, P, groups, true, unit);
        evaluation(&b, false, bench_size(&b, 50000, 200), bench_size(&b, 100, 3), groups, false,
                   unit);
    }
    bench_table(&b, "covariates    |  N|   T|groups|  P|rank|eig|sub|fit s|basis + search|"
                    "reference| units|x given");
    for (int groups = 0; groups < 2; groups++)
        for (int pixels = 0; pixels < 2; pixels++) {
            double given = whole(&b, pixels, groups, P, 0, unit);
            whole(&b, pixels, groups, KN_COMPONENTS_AUTO, given, unit);
        }
    return bench_end(&b);
}
