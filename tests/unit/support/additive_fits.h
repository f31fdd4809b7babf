/* Whole fits of the additive model, and all that comes of one. */
#ifndef KN_TEST_ADDITIVE_FITS_H
#define KN_TEST_ADDITIVE_FITS_H

#include "support/calls.h"
#include "support/cohorts.h"

#include "model/model.h"

static kn_ctx *ctx;

enum { FRESH = 40 }; /* new participants */

typedef struct outcome {
    kn_mat mean, var, cv_mean, cv_var, noise;
    kn_fit_info info;
} outcome;

static inline void free_outcome(outcome *o)
{
    free(o->mean.data), free(o->var.data), free(o->noise.data);
    free(o->cv_mean.data), free(o->cv_var.data);
}

static inline kn_model *fit(kn_mat X, kn_mat Y, const kn_settings *s)
{
    kn_model *m;
    assert_ok(ctx, kn_fit_arrays(ctx, cohort_view(X), cohort_view(Y), s, &m));
    return m;
}

static inline void predict(const kn_model *m, kn_mat Xs, kn_mat mean, kn_mat var)
{
    kn_maps *maps;
    assert_ok(ctx, kn_maps_predict(ctx, m, cohort_view(Xs), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, mean.cols, mean, var));
    kn_maps_free(maps);
}

/* fold NULL: no cross-validation */
static inline outcome outcome_of(const kn_model *m, kn_mat Xs, kn_mat Y, int folds, const int *fold)
{
    ptrdiff_t T = Y.cols, N = Y.rows;
    kn_maps *maps;
    outcome o = {.mean = ref_new(Xs.rows, T),
                 .var = ref_new(Xs.rows, T),
                 .cv_mean = ref_new(N, T),
                 .cv_var = ref_new(N, T),
                 .noise = ref_new(T, 1)};
    kn_model_info(m, &o.info);
    predict(m, Xs, o.mean, o.var);
    assert_ok(ctx, kn_model_noise(ctx, m, o.noise.data));
    if (fold) {
        assert_ok(ctx, kn_maps_cv(ctx, m, cohort_view(Y), folds, fold, &maps));
        assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, o.cv_mean, o.cv_var));
        kn_maps_free(maps);
    }
    return o;
}

static inline cohort fresh_participants(const cohort *c)
{
    return cohort_new((cohort_plan){
        .N = FRESH, .T = c->T, .sites = c->levels[SITE], .kind = COHORT_NONE, .seed = 99});
}

static inline cohort some_participants(cohort_kind kind, ptrdiff_t N, bool groups)
{
    return cohort_new((cohort_plan){.N = N,
                                    .T = 10,
                                    .sites = 4,
                                    .kind = kind,
                                    .strength = 0.7,
                                    .group_noise = 0.5,
                                    .members = groups ? 3 : 0,
                                    .seed = 3});
}

#endif
