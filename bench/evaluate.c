#include "evaluate.h"

#include "base/random.h"
#include "cov/additive.h"

void bench_points(const kn_cov *cov, const kn_cov_point *from, int n, kn_cov_point *points)
{
    static const double STEP =
        0.01; /* of eta and of the logarithms of shapes [cov/simplex_weights.h] */
    double x[KN_COV_OUTER];
    kn_cov_coordinates(cov, from, x);
    for (int k = 0; k < n; k++) {
        points[k] = kn_cov_point_at(cov, x);
        for (int i = 0; i < kn_cov_n_outer(cov); i++)
            x[i] += STEP;
    }
}

/* One evaluation, its parts by the clock; inner is that of this evaluation alone. */
static kn_status time_parts(kn_ctx *ctx, kn_engine *e, const kn_cov_point *at,
                            bench_evaluation *out)
{
    kn_status status;
    double lml, g[KN_COV_OUTER], t[4];
    int inner = e->inner_evals;
    t[0] = kn_clock();
    KN_TRY(kn_engine_decompose(ctx, e, at));
    t[1] = kn_clock();
    KN_TRY(kn_engine_maximise(ctx, e, &lml));
    t[2] = kn_clock();
    KN_TRY(kn_engine_gradient(ctx, e, at, g));
    t[3] = kn_clock();
    *out = (bench_evaluation){.whole = t[3] - t[0],
                              .decompose = t[1] - t[0],
                              .maximise = t[2] - t[1],
                              .gradient = t[3] - t[2],
                              .inner = e->inner_evals - inner};
out:
    return status;
}

kn_status bench_evaluate(bench *b, kn_engine *e, const kn_cov_point *points, int n,
                         bench_evaluation *out)
{
    kn_status status = KN_OK;
    double inner = 0;
    int before = e->decompositions;
    *out = (bench_evaluation){.whole = INFINITY};
    for (int k = 0; k < n; k++) {
        bench_evaluation one;
        KN_TRY(time_parts(b->ctx, e, &points[k], &one));
        if (k == 0) /* memory is touched, and iso noise has a start */
            continue;
        inner += one.inner;
        if (one.whole < out->whole)
            *out = one;
    }
    out->inner = inner / (n - 1);
    if (e->decompositions - before != n)
        status = kn_fail(b->ctx, KN_ERR_ARGUMENT, "%d decompositions in %d evaluations",
                         e->decompositions - before, n);
out:
    return status;
}

/* ---- an engine of the additive model ------------------------------------------------------ */

int *bench_groups(bench *b, ptrdiff_t N)
{
    void *memory;
    BENCH_TRY(b, kn_alloc(b->ctx, N, sizeof(int), &memory));
    int *code = memory;
    for (ptrdiff_t i = 0; i < N; i++)
        code[i] = (int)(i / BENCH_SCANS);
    return code;
}

/* X and the terms of R0 that the additive model has for the covariates of the data. */
static void make_covariance(bench *b, bench_additive *a, kn_spec *spec)
{
    kn_design design;
    kn_pairs none = {0};
    kn_design_options o = a->d.coded ? a->d.design : (kn_design_options){.quadratic = -1};
    o.additive = o.standardise = true;
    BENCH_TRY(b, kn_design_new(b->ctx, a->d.X, &o, &design));
    BENCH_TRY(b, kn_mat_new(b->ctx, a->d.X.rows, design.F, &a->X));
    BENCH_TRY(b, kn_design_apply(b->ctx, &design, a->d.X, false, a->X, NULL));
    BENCH_TRY(b, kn_cov_of_design(b->ctx, &design, &spec->sample));
    BENCH_TRY(b, kn_box_new(b->ctx, &spec->sample, &none, a->X, &a->box));
    kn_design_clear(&design);
}

static void make_coordinates(bench *b, ptrdiff_t P, bench_additive *a)
{
    kn_rng rng;
    kn_rng_init(&rng, 1, 9);
    BENCH_TRY(b, kn_mat_new(b->ctx, a->X.rows, P, &a->Z));
    for (ptrdiff_t p = 0; p < P; p++) {
        double slope = kn_rng_normal(&rng);
        for (ptrdiff_t i = 0; i < a->Z.rows; i++)
            kn_col(a->Z, p)[i] = slope * kn_at(a->X, i, 0) + kn_rng_normal(&rng);
    }
}

void bench_additive_new(bench *b, const bench_shape *shape, bench_additive *out)
{
    enum { RESPONSES = 2 }; /* the engine sees coordinates only */
    kn_spec spec = {.additive = true, .rank = shape->dense ? 0 : shape->N / 4};
    kn_groups groups = {0};
    if (shape->pixels)
        bench_paper(b, shape->N, RESPONSES, bench_size(b, 100, 5), 0, &out->d);
    else
        bench_cohort(b, shape->N, RESPONSES, shape->sites, 0, &out->d);
    make_covariance(b, out, &spec);
    make_coordinates(b, shape->P, out);
    if (shape->groups) {
        int *code = bench_groups(b, shape->N);
        BENCH_TRY(b, kn_groups_new(b->ctx, shape->N, code, &groups));
        kn_free(code);
    }
    kn_engine_data data = {.X = out->X, .Z = out->Z, .groups = &groups, .T = shape->P, .total = 1};
    BENCH_TRY(b, kn_engine_new(b->ctx, &spec, &data, &out->e));
}

void bench_additive_clear(bench_additive *a)
{
    kn_engine_clear(&a->e);
    kn_mat_clear(&a->X);
    kn_mat_clear(&a->Z);
    bench_free(&a->d);
}
