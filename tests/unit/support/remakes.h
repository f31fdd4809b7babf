/* The reference of a crowd, made by kn_reference_make from maps that a test can change. */
#ifndef KN_TEST_REMAKES_H
#define KN_TEST_REMAKES_H

#include "support/crowds.h"

#include "gp/assign_folds.h"
#include "gp/cv/cv.h"
#include "norm/reference/reference.h"

/* Maps, folds and covariates of a model as kn_reference_make takes them. */
typedef struct remake {
    kn_model *m;
    kn_view X, Y;
    kn_responses R;
    int *fold, folds;
    kn_calibration_covariates x;
    kn_gp_maps cv;
    bool keep_z;
    const int *group;
    const int *site; /* NULL: none */
    ptrdiff_t S;
    kn_calibrate how;
    kn_null_calibration *null; /* NULL: none is learned */
    kn_cv_summary summary;     /* of the last run */
} remake;

static inline kn_status remake_run(kn_ctx *ctx, remake *r, kn_calibration_transform *calibration,
                                   kn_reference *out)
{
    kn_status status;
    kn_noise_builder *maker = NULL;
    kn_reference_job job = {.gp = &r->m->gp,
                            .cv = &r->cv,
                            .fold = r->fold,
                            .folds = r->folds,
                            .top = 0.05,
                            .keep_z = r->keep_z,
                            .group = r->group,
                            .calibrate = r->how,
                            .x = r->x.x.numeric.data ? &r->x.x : NULL,
                            .site = r->site,
                            .S = r->S,
                            .calibration = calibration,
                            .null = r->null};
    *out = (kn_reference){0};
    KN_TRY(kn_noise_builder_new(ctx, &r->m->gp, &r->R, &r->cv, &maker));
    job.noise = maker;
    KN_TRY(kn_reference_make(ctx, &job, out, &r->summary));
out:
    kn_noise_builder_free(maker);
    return status;
}

/* A fit of arrays without a reference of its own. fold NULL: folds are drawn. evals: evaluations of
 * the search, 0: R0 stays where the search would start. */
static inline remake remake_after(kn_ctx *ctx, const crowd *c, const int *fold, int folds,
                                  int evals)
{
    remake r = {.folds = folds, .keep_z = true, .how = KN_CALIBRATE_FULL};
    static int levels[2] = {0, 2};
    static kn_design_options design = {.levels = levels, .quadratic = -1};
    kn_settings s;
    kn_mat X = ref_new(c->n, 2);
    for (ptrdiff_t i = 0; i < c->n; i++) {
        X.data[i] = c->age.data[i];
        kn_col(X, 1)[i] = c->sex[i][0] == 'f';
    }
    r.X = kn_view_cols(X.data, c->n, 2);
    r.Y = kn_view_cols(c->Y.data, c->n, c->Y.cols);
    kn_settings_init(&s);
    s.folds = 0;
    s.max_evals = evals;
    s.components = 2;
    s.design = &design;
    assert_ok(ctx, kn_fit_arrays(ctx, r.X, r.Y, &s, &r.m));
    r.R = kn_responses_of(r.Y, &r.m->y);
    r.fold = calloc((size_t)c->n, sizeof *r.fold);
    if (!fold)
        assert_ok(ctx, kn_folds_assign(ctx, c->n, NULL, NULL, 1, &r.folds, r.fold));
    for (ptrdiff_t i = 0; fold && i < c->n; i++)
        r.fold[i] = fold[i];
    assert_ok(ctx, kn_calibration_covariates_new(ctx, &r.m->x, r.X, NULL, c->n, &r.x));
    assert_ok(ctx, kn_gp_cv(ctx, &r.m->gp,
                            &(kn_cv_problem){.Y = &r.R, .folds = r.folds, .fold = r.fold}, &r.cv));
    return r;
}

static inline remake remake_new(kn_ctx *ctx, const crowd *c, const int *fold, int folds)
{
    return remake_after(ctx, c, fold, folds, -1);
}

static inline void remake_clear(remake *r)
{
    kn_gp_maps_clear(&r->cv);
    kn_calibration_covariates_clear(&r->x);
    kn_model_free(r->m);
    free(r->fold);
    free((void *)(uintptr_t)r->X.data);
}

#endif
