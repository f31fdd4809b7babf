#include "support/test.h"

#include "base/random.h"
#include "norm/metrics/extrapolation.h"
#include "norm/metrics/metrics.h"

static kn_ctx *ctx;
static kn_rng rng;

static void metrics_match_golden(void **state)
{
    (void)state;
    kn_mat y = golden_matrix("normative/npm", "y"), mean = golden_matrix("normative/npm", "mean");
    kn_mat v = golden_matrix("normative/npm", "var"),
           noise = golden_matrix("normative/npm", "noise");
    kn_mat train = golden_matrix("normative/npm", "train_mean_var");
    kn_mat e = golden_matrix("normative/npm", "metrics"), out = ref_new(12, KN_N_METRICS);
    kn_mat zs = golden_matrix("normative/npm", "expected");
    double mean0[12], var0[12];
    for (int j = 0; j < 12; j++) {
        mean0[j] = kn_at(train, 0, j);
        var0[j] = kn_at(train, 1, j);
    }
    kn_metrics(ctx, &(kn_measured){y, mean, v, noise.data, mean0, var0, NULL}, out);
    for (ptrdiff_t j = 0; j < 12; j++) {
        double z2 = 0;
        for (ptrdiff_t i = 0; i < 8; i++)
            z2 += kn_at(zs, i, j) * kn_at(zs, i, j) / 8;
        assert_close(kn_at(out, j, KN_METRIC_RHO2), kn_at(e, 0, j), 1e-12);
        assert_close(kn_at(out, j, KN_METRIC_R2), kn_at(e, 1, j), 1e-12);
        assert_close(kn_at(out, j, KN_METRIC_SMSE), kn_at(e, 2, j), 1e-12);
        assert_close(kn_at(out, j, KN_METRIC_MSLL), kn_at(e, 3, j), 1e-12);
        assert_close(kn_at(out, j, KN_METRIC_Z2), z2, 1e-12);
    }
    free(y.data), free(mean.data), free(v.data), free(noise.data), free(train.data), free(e.data),
        free(out.data), free(zs.data);
}

/* Five samples that can be worked by hand. */
static void metrics_match_hand_values(void **state)
{
    (void)state;
    double y[5] = {1, 2, 3, 4, 5}, m[5] = {2, 2, 3, 4, 9}, v[5] = {1, 1, 1, 1, 1};
    double noise = 1, mean0 = 0, var0 = 1, out[KN_N_METRICS];
    kn_metrics(ctx,
               &(kn_measured){kn_mat_cols(y, 5, 1), kn_mat_cols(m, 5, 1), kn_mat_cols(v, 5, 1),
                              &noise, &mean0, &var0, NULL},
               kn_mat_cols(out, 1, KN_N_METRICS));
    assert_close(out[KN_METRIC_RMSE], sqrt(17.0 / 5), 1e-15);
    assert_close(out[KN_METRIC_R2], 1 - 17.0 / 10, 1e-15);
    assert_close(out[KN_METRIC_SMSE], 1.7, 1e-15);
    assert_close(out[KN_METRIC_EXPV], 1 - 12.0 / 10, 1e-15); /* errors -1 0 0 0 -4: mean -1 */
    assert_close(out[KN_METRIC_RHO], 16 / sqrt(10 * 34.0), 1e-15);
    assert_close(out[KN_METRIC_RHO2], 256 / 340.0, 1e-15);
    assert_close(out[KN_METRIC_Z2], 17.0 / 10, 1e-15);
    assert_close(out[KN_METRIC_MSLL], 0.5 * log(2) + 17.0 / 20 - 55.0 / 10, 1e-14);
    for (int i = 0; i < 5; i++) /* far from 0: nothing may cancel */
        y[i] += 1e8, m[i] += 1e8;
    kn_metrics(ctx,
               &(kn_measured){kn_mat_cols(y, 5, 1), kn_mat_cols(m, 5, 1), kn_mat_cols(v, 5, 1),
                              &noise, &mean0, &var0, NULL},
               kn_mat_cols(out, 1, KN_N_METRICS));
    assert_close(out[KN_METRIC_R2], 1 - 17.0 / 10, 1e-12);
    assert_close(out[KN_METRIC_RHO], 16 / sqrt(10 * 34.0), 1e-12);
    assert_string_equal(kn_metric_name[KN_METRIC_EXPV], "EXPV");
}

/* Missing values and samples not to be used leave the same numbers as removing the rows. */
static void missing_values_count_as_absent(void **state)
{
    (void)state;
    enum { N = 20, T = 100, KEPT = 14 };
    kn_mat y = ref_new(N, T), m = ref_new(N, T), v = ref_new(N, T), out = ref_new(T, KN_N_METRICS);
    kn_mat y2 = ref_new(KEPT, T), m2 = ref_new(KEPT, T), v2 = ref_new(KEPT, T);
    kn_mat out2 = ref_new(T, KN_N_METRICS);
    double noise[T], mean0[T], var0[T];
    bool use[N];
    for (ptrdiff_t j = 0; j < T; j++) {
        noise[j] = 0.3, mean0[j] = 0.1, var0[j] = 1.2;
        for (ptrdiff_t i = 0, k = 0; i < N; i++) {
            kn_col(y, j)[i] = kn_rng_normal(&rng);
            kn_col(m, j)[i] = kn_rng_normal(&rng);
            kn_col(v, j)[i] = kn_rng_uniform(&rng) + 0.1;
            use[i] = i != 3 && i != 17;
            if (i < 16 && use[i] && i != 8) {
                kn_col(y2, j)[k] = kn_at(y, i, j);
                kn_col(m2, j)[k] = kn_at(m, i, j);
                kn_col(v2, j)[k++] = kn_at(v, i, j);
            }
        }
        kn_col(y, j)[8] = NAN, kn_col(y, j)[16] = INFINITY;
        kn_col(m, j)[18] = NAN, kn_col(v, j)[19] = NAN;
    }
    kn_metrics(ctx, &(kn_measured){y, m, v, noise, mean0, var0, use}, out);
    kn_metrics(ctx, &(kn_measured){y2, m2, v2, noise, mean0, var0, NULL}, out2);
    for (ptrdiff_t j = 0; j < T; j++) { /* without a null model there is no gain */
        assert_true(isnan(kn_at(out, j, KN_METRIC_GAIN)));
        kn_col(out, KN_METRIC_GAIN)[j] = kn_col(out2, KN_METRIC_GAIN)[j] = 0;
    }
    assert_same(out, out2, 1e-14);
    double mean[KN_N_METRICS], sum = 0;
    kn_col(out, KN_METRIC_R2)[5] = NAN;
    kn_metrics_mean(out, mean);
    for (ptrdiff_t j = 0; j < T; j++)
        sum += j == 5 ? 0 : kn_at(out, j, KN_METRIC_R2) / (T - 1);
    assert_close(mean[KN_METRIC_R2], sum, 1e-14);
    free(y.data), free(m.data), free(v.data), free(out.data);
    free(y2.data), free(m2.data), free(v2.data), free(out2.data);
}

static void what_is_not_defined_is_nan(void **state)
{
    (void)state;
    double y[2] = {1, 2}, m[2] = {3, 3}, v[2] = {1, 1}, noise = 1, mean0 = 0, var0 = 1;
    double out[KN_N_METRICS], none[KN_N_METRICS];
    kn_metrics(ctx,
               &(kn_measured){kn_mat_cols(y, 1, 1), kn_mat_cols(m, 1, 1), kn_mat_cols(v, 1, 1),
                              &noise, &mean0, &var0, NULL},
               kn_mat_cols(out, 1, KN_N_METRICS));
    for (int k = 0; k < KN_N_METRICS; k++) {
        bool defined = k == KN_METRIC_RMSE || k == KN_METRIC_MSLL || k == KN_METRIC_Z2;
        assert_true(defined ? isfinite(out[k]) : isnan(out[k])); /* not infinite either */
    }
    kn_metrics(ctx,
               &(kn_measured){kn_mat_cols(y, 2, 1), kn_mat_cols(m, 2, 1), kn_mat_cols(v, 2, 1),
                              &noise, &mean0, &var0, NULL},
               kn_mat_cols(out, 1, KN_N_METRICS));
    assert_true(isnan(out[KN_METRIC_RHO]) && isnan(out[KN_METRIC_RHO2]));
    assert_true(isfinite(out[KN_METRIC_R2]));
    var0 = 0;
    y[0] = NAN;
    kn_metrics(ctx,
               &(kn_measured){kn_mat_cols(y, 2, 1), kn_mat_cols(m, 2, 1), kn_mat_cols(v, 2, 1),
                              &noise, &mean0, &var0, NULL},
               kn_mat_cols(out, 1, KN_N_METRICS));
    assert_true(isnan(out[KN_METRIC_MSLL]) && isfinite(out[KN_METRIC_Z2]));
    y[1] = NAN;
    kn_metrics(ctx,
               &(kn_measured){kn_mat_cols(y, 2, 1), kn_mat_cols(m, 2, 1), kn_mat_cols(v, 2, 1),
                              &noise, &mean0, &var0, NULL},
               kn_mat_cols(out, 1, KN_N_METRICS));
    kn_metrics_mean(kn_mat_cols(out, 1, KN_N_METRICS), none);
    for (int k = 0; k < KN_N_METRICS; k++)
        assert_true(isnan(out[k]) && isnan(none[k]));
}

static void extrapolation_is_the_ratio_of_mean_variances(void **state)
{
    (void)state;
    enum { N = 3, T = 7 };
    kn_mat v = ref_new(N, T);
    double noise[T], iso[T], model[N] = {0}, noise_sum = 0;
    for (ptrdiff_t j = 0; j < T; j++) {
        noise[j] = 0.5 + (double)j, iso[j] = j % 2 ? 0.1 : 0;
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(v, j)[i] = 0.1 + kn_rng_uniform(&rng);
    }
    kn_col(v, 3)[1] = iso[3] - 1e-17; /* rounding below the iso term is no variance */
    kn_extrapolation_add(kn_cols(v, 0, 3), iso, noise, model, &noise_sum);
    kn_extrapolation_add(kn_cols(v, 3, 4), iso + 3, noise + 3, model, &noise_sum);
    kn_extrapolation_ratio(model, N, noise_sum);
    for (ptrdiff_t i = 0; i < N; i++) {
        double mv = 0, mn = 0;
        for (ptrdiff_t j = 0; j < T; j++) {
            mv += fmax(kn_at(v, i, j) - iso[j], 0) / T;
            mn += noise[j] / T;
        }
        assert_close(model[i], mv / mn, 1e-14);
    }
    kn_extrapolation_ratio(model, N, 0);
    assert_true(isnan(model[0]));
    free(v.data);
}

static void percentile_is_the_midrank(void **state)
{
    (void)state;
    double ref[5] = {1, 2, 2, 3, 4};
    assert_close(kn_percentile(ref, 5, 0), 0, 0);
    assert_close(kn_percentile(ref, 5, 2), 40, 1e-13);
    assert_close(kn_percentile(ref, 5, 3.5), 80, 1e-13);
    assert_close(kn_percentile(ref, 5, 9), 100, 0);
    assert_true(isnan(kn_percentile(ref, 0, 1)) && isnan(kn_percentile(ref, 5, NAN)));
}

TEST_PROGRAM(norm_metrics)
{
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 41, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_match_golden),
        cmocka_unit_test(metrics_match_hand_values),
        cmocka_unit_test(missing_values_count_as_absent),
        cmocka_unit_test(what_is_not_defined_is_nan),
        cmocka_unit_test(extrapolation_is_the_ratio_of_mean_variances),
        cmocka_unit_test(percentile_is_the_midrank),
    };
    int failed = cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
