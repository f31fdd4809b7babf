/* The null model, and the gain of the covariates over it: the formula by slow versions, and what it
 * says of covariates that are random and of covariates that matter. */
#include "support/remakes.h"

#include "model/file/file.h"

static kn_ctx *ctx;
static kn_rng rng;

/* ---- the formula ----------------------------------------------------------------------------- */

/* y_i minus the mean of the participants that fold f(i) does not hold out; NaN without any. */
static double slow_residual(const double *y, const int *fold, ptrdiff_t n, ptrdiff_t i)
{
    double sum = 0, count = 0;
    for (ptrdiff_t k = 0; k < n; k++)
        if (fold[k] != fold[i] && isfinite(y[k])) {
            sum += y[k];
            count++;
        }
    return count > 0 ? y[i] - sum / count : NAN;
}

static void residuals_match_a_slow_version(void **state)
{
    (void)state;
    enum { N = 23, FOLDS = 4 };
    double y[N], e[N], sums[2 * FOLDS];
    int fold[N];
    for (int draw = 0; draw < 20; draw++) {
        for (int i = 0; i < N; i++) {
            fold[i] = draw == 0 ? 1 : (int)(FOLDS * kn_rng_uniform(&rng)); /* 0: all in one fold */
            y[i] = kn_rng_uniform(&rng) < 0.2 ? NAN : 1e3 + kn_rng_normal(&rng);
        }
        kn_null_residuals(&(kn_null_sample){N, N, fold, FOLDS}, y, 0, sums, e);
        for (int i = 0; i < N; i++) {
            double slow = slow_residual(y, fold, N, i);
            assert_true(isnan(slow) ? isnan(e[i]) : fabs(e[i] - slow) < 1e-10);
        }
    }
}

/* The first n of N participants are held out at once: their mean is that of the others. */
static void residuals_of_one_held_out_set_are_from_the_others(void **state)
{
    (void)state;
    enum { N = 40, HELD_OUT = 12 };
    double y[N], e[HELD_OUT], sums[2], mean = 0, others = 0;
    for (int i = 0; i < N; i++) {
        y[i] = 5 + kn_rng_normal(&rng);
        mean += y[i] / N;
        others += i >= HELD_OUT ? y[i] / (N - HELD_OUT) : 0;
    }
    kn_null_residuals(&(kn_null_sample){HELD_OUT, N, NULL, 1}, y, mean, sums, e);
    for (int i = 0; i < HELD_OUT; i++)
        assert_close(e[i], y[i] - others, 1e-12);
}

/* Losses of response t (n) among T responses, and its noise. */
static double null_losses(ptrdiff_t n, ptrdiff_t T, const int *fold, int folds, ptrdiff_t t,
                          const double *y, double *loss)
{
    kn_null_learner l;
    kn_null_calibration null = {0};
    kn_exclusion_groups apart;
    double *zeros, *ones, *work;
    assert_ok(ctx, kn_alloc_d(ctx, T, &zeros));
    assert_ok(ctx, kn_alloc_d(ctx, T, &ones));
    for (ptrdiff_t j = 0; j < T; j++)
        ones[j] = 1;
    kn_scaling scaling = {.mean = zeros, .mean0 = zeros, .sd = ones, .sd0 = ones};
    assert_ok(ctx, kn_exclusion_groups_new(ctx, n, NULL, &apart));
    kn_learner_job job = {.how = KN_CALIBRATE_STUDENT,
                          .n = n,
                          .T = T,
                          .fold = fold,
                          .folds = folds,
                          .exclusions = &apart};
    assert_ok(ctx, kn_null_learner_init(ctx, &job, n, &scaling, &null, &l));
    assert_ok(ctx, kn_alloc_d(ctx, kn_null_work(&l), &work));
    kn_block b = {.first = t, .count = 1, .y = {(double *)y, n, 1, n}};
    kn_null_learn(&l, &b, 0, work, loss);
    double noise = null.noise[t];
    kn_null_learner_clear(&l);
    kn_null_calibration_clear(&null);
    kn_exclusion_groups_clear(&apart);
    kn_free(work), kn_free(zeros), kn_free(ones);
    return noise;
}

/* With 40,000 responses every second one has losses, the same as among few; all have noise. */
static void of_many_responses_an_even_sample_has_losses(void **state)
{
    (void)state;
    enum { N = 20, FOLDS = 4, FEW = 10, MANY = 40000 };
    double y[N], few[N], many[N];
    int fold[N];
    for (int i = 0; i < N; i++) {
        fold[i] = i % FOLDS;
        y[i] = kn_rng_normal(&rng);
    }
    for (ptrdiff_t t = 6; t < FEW; t++) {
        double noise = null_losses(N, FEW, fold, FOLDS, t, y, few);
        assert_close(null_losses(N, MANY, fold, FOLDS, MANY - FEW + t, y, many), noise, 1e-14);
        for (int i = 0; i < N; i++)
            assert_true(t % 2 == 0 ? many[i] == few[i] : isnan(many[i]));
    }
}

/* -ln p - 1/2 ln 2pi of a residual with variance V, nu degrees of freedom and shape theta. */
static double slow_loss(double e, double V, double nu, const kn_shash *shash)
{
    double z1 = e / sqrt(V), loss = 0.5 * log(V) - 0.5 * log(2 * M_PI);
    if (!(nu > 0))
        return loss + 0.5 * z1 * z1 + 0.5 * log(2 * M_PI);
    loss -= kn_student_log_density(z1, nu);
    if (shash) {
        double zt = kn_student_to_normal(z1, nu);
        loss += kn_shash_nll(shash, zt) - 0.5 * zt * zt - 0.5 * log(2 * M_PI);
    }
    return loss;
}

static crowd skewed_crowd(uint64_t stream, ptrdiff_t n, ptrdiff_t T, double effect)
{
    kn_rng own;
    ref_rng_init(&own, 77, stream);
    crowd c = crowd_new(&own, n, T);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(c.Y, j)[i] =
                effect * crowd_age(&c, i) * (double)(1 + j % 3) + exp(0.4 * kn_rng_normal(&own));
    return c;
}

/* Of training, with the Student step alone: every participant by the noise of the others. gain +
 * MSLL is the loss of the null model minus that of the trivial one. */
static void the_gain_of_training_is_the_difference_of_two_densities(void **state)
{
    (void)state;
    enum { N = 40, T = 7 };
    crowd c = skewed_crowd(1, N, T, 0.5);
    remake r = remake_new(ctx, &c, NULL, 5);
    for (int how = KN_CALIBRATE_NONE; how <= KN_CALIBRATE_STUDENT; how++) {
        kn_calibration_transform l = {0};
        kn_null_calibration null = {0};
        kn_reference z;
        double sum = 0;
        r.how = (kn_calibrate)how;
        r.null = &null;
        assert_ok(ctx, remake_run(ctx, &r, &l, &z));
        for (int j = 0; j < T; j++) {
            double e[N], all = 0, sd0 = r.m->y.sd0[j], mean0 = r.m->y.mean0[j];
            for (int i = 0; i < N; i++) {
                e[i] = slow_residual(kn_col(c.Y, j), r.fold, N, i) / sd0;
                all += e[i] * e[i];
            }
            assert_close(null.noise[j], all / N, 1e-12);
            for (int i = 0; i < N; i++) {
                double d = (kn_at(c.Y, i, j) - mean0) / sd0, V = (all - e[i] * e[i]) / (N - 1);
                double nu = how == KN_CALIBRATE_NONE ? 0 : N - 1;
                sum += slow_loss(e[i], V, nu, NULL) - 0.5 * d * d;
            }
        }
        assert_close(r.summary.gain + r.summary.msll, sum / (N * T), 1e-10);
        kn_calibration_clear(&l);
        kn_null_calibration_clear(&null);
        kn_reference_clear(&z);
    }
    remake_clear(&r);
    crowd_free(&c);
}

/* Of new participants, with the shape. */
static void the_gain_of_new_participants_is_the_difference_of_two_densities(void **state)
{
    (void)state;
    enum { T = 9, NEW = 30 };
    crowd train = skewed_crowd(2, 150, T, 0.5), fresh = skewed_crowd(3, NEW, T, 0.5);
    kn_model *m = crowd_fit(ctx, &train, "calibrate=full");
    kn_scores *s = crowd_score(ctx, m, &fresh, "");
    const double *gain = kn_scores_responses(s, "gain"), *msll = kn_scores_responses(s, "MSLL");
    assert_non_null(m->null.transform.theta.data);
    for (int j = 0; j < T; j++) {
        double sum = 0;
        kn_shash shash = kn_calibration_distribution(&m->null.transform, j);
        for (int i = 0; i < NEW; i++) {
            double d = (kn_at(fresh.Y, i, j) - m->y.mean0[j]) / m->y.sd0[j];
            sum += slow_loss(d, m->null.noise[j], m->null.transform.nu, &shash) - 0.5 * d * d;
        }
        assert_close(gain[j] + msll[j], sum / NEW, 1e-9);
    }
    kn_scores_free(s);
    kn_model_free(m);
    crowd_free(&train), crowd_free(&fresh);
}

/* ---- what it says ---------------------------------------------------------------------------- */

/* Skewed responses with no effect of age or sex: calibration gains, the covariates do not. The
 * gain of a cohort is a sum over few participants, so cohorts are averaged; the tolerance is three
 * standard errors of that mean. */
static void random_covariates_gain_nothing(void **state)
{
    (void)state;
    enum { COHORTS = 12, N = 80, T = 20 };
    double mean = 0, square = 0, msll = 0;
    for (uint64_t k = 0; k < COHORTS; k++) {
        crowd c = skewed_crowd(100 + k, N, T, 0);
        kn_model *m = crowd_fit(ctx, &c, "");
        mean += m->info.cv.gain / COHORTS;
        square += m->info.cv.gain * m->info.cv.gain / COHORTS;
        msll += m->info.cv.msll / COHORTS;
        assert_true(m->info.cv.gain <= 0 || m->info.n_components > 0);
        kn_model_free(m);
        crowd_free(&c);
    }
    double se = sqrt(fmax(square - mean * mean, 0) / (COHORTS - 1));
    print_message("# gain %.4f +- %.4f, MSLL %.4f\n", mean, se, msll);
    assert_true(mean <= 3 * se + 1e-12);
    assert_true(msll < -0.02); /* what MSLL says of the same covariates */
}

static void real_covariates_gain(void **state)
{
    (void)state;
    crowd train = skewed_crowd(4, 120, 15, 0.6), fresh = skewed_crowd(5, 120, 15, 0.6);
    kn_model *m = crowd_fit(ctx, &train, "");
    kn_scores *s = crowd_score(ctx, m, &fresh, "");
    /* age explains at least 1/4 of the variance: -1/2 ln(1 - 1/4) = .14 nats */
    assert_true(m->info.cv.gain > 0.1 && m->info.cv.R2 > 0.2);
    assert_true(kn_scores_number(s, "metrics.gain") > 0.1);
    kn_scores_free(s);
    kn_model_free(m);
    crowd_free(&train), crowd_free(&fresh);
}

static void a_model_without_components_gains_nothing(void **state)
{
    (void)state;
    enum { N = 60, T = 10 };
    crowd c = crowd_new(&rng, N, T);
    for (ptrdiff_t k = 0; k < N * T; k++)
        c.Y.data[k] = kn_rng_normal(&rng);
    kn_model *m = crowd_fit(ctx, &c, "calibrate=student");
    if (m->info.n_components == 0)
        assert_close(m->info.cv.gain, 0, 1e-12);
    kn_model_free(m);
    crowd_free(&c);
}

static void the_model_file_keeps_the_null_model(void **state)
{
    (void)state;
    crowd c = skewed_crowd(6, 60, 5, 0.3);
    kn_model *m = crowd_fit(ctx, &c, "calibrate=full"), *copy;
    assert_ok(ctx, kn_model_copy(ctx, m, &copy));
    for (int j = 0; j < 5; j++)
        assert_true(copy->null.noise[j] == m->null.noise[j]);
    assert_same(copy->null.transform.theta, m->null.transform.theta, 0);
    assert_true(copy->null.transform.nu == m->null.transform.nu);
    assert_true(copy->info.cv.gain == m->info.cv.gain && copy->info.cv.R2 == m->info.cv.R2);
    kn_model_free(m);
    kn_model_free(copy);
    crowd_free(&c);
}

static void a_model_without_a_null_model_has_no_gain(void **state)
{
    (void)state;
    crowd c = skewed_crowd(7, 40, 5, 0.3);
    kn_model *m = crowd_fit(ctx, &c, "folds=0");
    kn_scores *s = crowd_score(ctx, m, &c, "training_rows=plain");
    assert_null(m->null.noise);
    assert_true(isnan(kn_scores_number(s, "metrics.gain")));
    assert_true(isfinite(kn_scores_number(s, "metrics.MSLL")));
    kn_scores_free(s);
    kn_model_free(m);
    crowd_free(&c);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 31, 0);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

TEST_PROGRAM(norm_null_model)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_match_a_slow_version),
        cmocka_unit_test(residuals_of_one_held_out_set_are_from_the_others),
        cmocka_unit_test(of_many_responses_an_even_sample_has_losses),
        cmocka_unit_test(the_gain_of_training_is_the_difference_of_two_densities),
        cmocka_unit_test(the_gain_of_new_participants_is_the_difference_of_two_densities),
        cmocka_unit_test(random_covariates_gain_nothing),
        cmocka_unit_test(real_covariates_gain),
        cmocka_unit_test(a_model_without_components_gains_nothing),
        cmocka_unit_test(the_model_file_keeps_the_null_model),
        cmocka_unit_test(a_model_without_a_null_model_has_no_gain),
    };
    return cmocka_run_group_tests_name("null_model", tests, open_fixture, close_fixture);
}
