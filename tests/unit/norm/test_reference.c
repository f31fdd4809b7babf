/* What is normal may be known from some of the training samples only: nothing may change for them.
 */
#include "gp/assign_folds.h"
#include "gp/cv/cv.h"
#include "gp/predict/gp_maps.h"
#include "support/test.h"
#include "support/views.h"

#include <unistd.h>

#include "base/random.h"
#include "model/file/file.h"
#include "norm/reference/loo.h"
#include "norm/reference/memory.h"

static kn_ctx *ctx;

enum { N = 120, T = 300, FOLDS = 3 }; /* 40 a fold: enough for an extreme value distribution */

static void participants(ptrdiff_t responses, kn_mat *X, kn_mat *Y)
{
    kn_rng rng;
    ref_rng_init(&rng, 5, 0);
    *X = ref_new(N, 2);
    *Y = ref_new(N, responses);
    for (ptrdiff_t i = 0; i < N; i++) {
        double age = kn_rng_normal(&rng), s = kn_rng_normal(&rng);
        kn_col(*X, 0)[i] = age;
        kn_col(*X, 1)[i] = kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < responses; j++)
            kn_col(*Y, j)[i] = 0.5 * age * sin(0.1 * (double)j) + 0.4 * s * cos(0.05 * (double)j) +
                               kn_rng_normal(&rng);
    }
}

/* The first fold's maps alone, as those of one held-out set are. */
static kn_gp_maps only_first_fold(kn_gp_maps *all)
{
    kn_gp_maps some = *all;
    some.n_parts = 1;
    some.n = all->part[0].n;
    some.sample = all->part[0].rows;
    for (int k = 1; k < FOLDS; k++)
        kn_fold_prediction_clear(&all->part[k]);
    some.part[0].rows = NULL;
    *all = (kn_gp_maps){0};
    return some;
}

static kn_status make(const kn_model *m, const kn_gp_maps *cv, const int *fold, bool keep_z,
                      kn_reference *out)
{
    kn_reference_job job = {
        .gp = &m->gp, .cv = cv, .fold = fold, .folds = FOLDS, .top = 0.05, .keep_z = keep_z};
    kn_cv_summary summary;
    return kn_reference_make(ctx, &job, out, &summary);
}

static void some_samples_have_the_reference_they_had_among_all(void **state)
{
    (void)state;
    kn_mat X, Y;
    kn_settings o;
    kn_model *m, *back;
    kn_gp_maps cv, some;
    kn_cv_summary summary;
    kn_reference all;
    int fold[N], deal[N];
    participants(T, &X, &Y);
    plain_settings(&o);
    o.components = 4;
    o.folds = FOLDS;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    kn_responses R = kn_responses_of(view(Y), &m->y);
    int folds = FOLDS;
    assert_ok(ctx, kn_folds_assign(ctx, N, NULL, NULL, m->seed, &folds, fold));
    assert_ok(ctx,
              kn_gp_cv(ctx, &m->gp, &(kn_cv_problem){.Y = &R, .folds = FOLDS, .fold = fold}, &cv));
    assert_ok(ctx, make(m, &cv, fold, true, &all));
    double shift[N]; /* by which the noise of some is larger: theirs, wherever they stand */
    for (int i = 0; i < N; i++)
        shift[i] = 0.01 * i;
    kn_loo_job loo = {.gp = &m->gp, .Y = &R, .calibration = &m->calibration, .shift = shift};
    assert_ok(ctx, kn_reference_loo(ctx, &loo, &all, &summary));
    some = only_first_fold(&cv);
    for (ptrdiff_t i = 0; i < some.n; i++)
        deal[i] = (int)i % FOLDS;
    assert_int_equal(m->reference.neighbours.pairs, N - 1);
    kn_reference_clear(&m->reference);
    kn_reference *r = &m->reference;
    assert_ok(ctx, make(m, &some, deal, true, r));
    assert_ok(ctx, kn_reference_loo(ctx, &loo, r, &summary));

    assert_int_equal(r->n, N / FOLDS);
    assert_true(r->has_gev && r->has_deviance && r->has_loo_gev);
    assert_int_equal(r->deviance.n_ref, r->n);
    assert_int_equal(r->neighbours.pairs, 0); /* neighbours of some are unknown */
    for (ptrdiff_t i = 0; i < r->n; i++) {
        ptrdiff_t t = r->sample[i];
        assert_close(r->statistic[i], all.statistic[t], 1e-12);
        assert_close(r->loo_statistic[i], all.loo_statistic[t], 1e-12);
        assert_close(r->y_sum[i], all.y_sum[t], 1e-12);
        for (ptrdiff_t j = 0; j < T; j++)
            assert_close((double)r->z[i * T + j], (double)all.z[t * T + j], 1e-6);
    }
    ptrdiff_t found = 0;
    for (ptrdiff_t t = -1; t <= N; t++) {
        ptrdiff_t row = kn_reference_row(r, t);
        assert_true(row < 0 || r->sample[row] == t);
        assert_int_equal(kn_reference_row(&all, t), t < N ? t : -1);
        found += row >= 0;
    }
    assert_int_equal(found, r->n);

    char path[] = "/tmp/kn_reference_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    kn_write_options w = {.force = true};
    assert_ok(ctx, kn_model_write(ctx, m, path, &w));
    assert_ok(ctx, kn_model_read(ctx, path, &back));
    assert_int_equal(back->reference.n, r->n);
    assert_memory_equal(back->reference.sample, r->sample, (size_t)r->n * sizeof *r->sample);
    assert_memory_equal(back->reference.statistic, r->statistic, (size_t)r->n * sizeof(double));
    unlink(path);
    kn_model_free(back);
    kn_reference_clear(&all);
    kn_gp_maps_clear(&some);
    kn_model_free(m);
    free(X.data), free(Y.data);
}

static void same_deviance(const kn_deviance *a, const kn_deviance *b)
{
    assert_int_equal(a->K, b->K);
    assert_memory_equal(a->ref, b->ref, N * sizeof *a->ref);
    assert_memory_equal(a->psi, b->psi, (size_t)a->T * sizeof *a->psi);
    for (ptrdiff_t k = 0; k < a->K; k++)
        assert_memory_equal(kn_col(a->Q, k), kn_col(b->Q, k), (size_t)a->T * sizeof(double));
}

/* Three blocks of responses; z of the deviances kept of all, of some and of none, as there is room:
 * what is kept, and what is made again, is the same to the last bit. */
static void keeping_z_or_not_gives_the_same_reference(void **state)
{
    (void)state;
    enum { WIDE = 2 * KN_BLOCK + 100 };
    kn_mat X, Y;
    kn_settings o;
    kn_model *m;
    kn_gp_maps cv;
    kn_reference with, without;
    int fold[N];
    participants(WIDE, &X, &Y);
    plain_settings(&o);
    o.components = 4;
    o.folds = 0;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    kn_responses R = kn_responses_of(view(Y), &m->y);
    int folds = FOLDS;
    assert_ok(ctx, kn_folds_assign(ctx, N, NULL, NULL, 1, &folds, fold));
    assert_ok(ctx,
              kn_gp_cv(ctx, &m->gp, &(kn_cv_problem){.Y = &R, .folds = FOLDS, .fold = fold}, &cv));
    assert_ok(ctx, make(m, &cv, fold, true, &with));
    assert_non_null(with.z);
    kn_deviance_sizes sizes = {N, WIDE, FOLDS, kn_threads(ctx)};
    size_t before = kn_memory(ctx), block = 2 * sizeof(float) * N * KN_BLOCK, enough = block;
    do { /* the least allowance that has room for some, on a grid finer than a block */
        enough += block / 4;
        kn_set_memory(ctx, enough);
    } while (kn_reference_cached_range(ctx, &R, &sizes, 0.05).last == 0);
    ptrdiff_t kept[] = {0, KN_BLOCK, WIDE};
    size_t memory[] = {enough - block, enough + block / 2, enough + 4 * block};
    for (int k = 0; k < 3; k++) {
        kn_set_memory(ctx, memory[k]);
        assert_int_equal(kn_reference_cached_range(ctx, &R, &sizes, 0.05).last, kept[k]);
        assert_ok(ctx, make(m, &cv, fold, false, &without));
        assert_null(without.z);
        assert_memory_equal(with.statistic, without.statistic, N * sizeof *with.statistic);
        same_deviance(&with.deviance, &without.deviance);
        same_deviance(&with.deviance_noise, &without.deviance_noise);
        kn_reference_clear(&without);
    }
    kn_set_memory(ctx, before);
    kn_reference_clear(&with);
    kn_gp_maps_clear(&cv);
    kn_model_free(m);
    free(X.data), free(Y.data);
}

TEST_PROGRAM(norm_reference)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_samples_have_the_reference_they_had_among_all),
        cmocka_unit_test(keeping_z_or_not_gives_the_same_reference),
    };
    int failed = cmocka_run_group_tests_name("reference", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
