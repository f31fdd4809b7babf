/* The calibration as it is applied: each step against its own function, the density against
 * its integral, both against tests/golden/norms. */
#include "support/test.h"

#include "base/random.h"
#include "norm/calibration/calibration_transform.h"
#include "stats/normal.h"

static kn_ctx *ctx;

static kn_calibration_transform calibration_of(double nu)
{
    kn_calibration_transform l = {.nu = nu};
    assert_ok(ctx, kn_calibration_prepare(ctx, &l));
    return l;
}

/* z and loss of one cell */
typedef struct cell {
    double z, loss;
} cell;

static cell one(const kn_calibration_transform *l, const kn_shash *distribution, double e, double V)
{
    cell c;
    kn_calibration_z(l, distribution, &(kn_calibration_cells){1, &e, &V, &c.z, &c.loss});
    return c;
}

static const double NUS[] = {0, 1, 2, 9, 59, 500, 10000, 10001, 1e7};
enum { N_NUS = sizeof NUS / sizeof *NUS, CELLS = 700 };
static const double THETAS[][2] = {{0, 0}, {0.35, -0.34}, {-0.8, 0.2}, {0.1, -0.7}};

static void z_and_loss_are_the_steps_one_by_one(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 3, 0);
    for (int k = 0; k < N_NUS; k++)
        for (int shape = -1; shape < 4; shape++) {
            kn_calibration_transform l = calibration_of(NUS[k]);
            kn_shash distribution;
            double e[CELLS], V[CELLS], z[CELLS], bare[CELLS], loss[CELLS];
            if (shape >= 0)
                distribution = kn_shash_at(&l.nodes, THETAS[shape]);
            for (int i = 0; i < CELLS; i++) {
                V[i] = exp(kn_rng_normal(&rng));
                e[i] = 2 * kn_rng_normal(&rng) * (i % 50 == 0 ? 10 : 1);
            }
            const kn_shash *used = shape < 0 ? NULL : &distribution;
            kn_calibration_z(&l, used, &(kn_calibration_cells){CELLS, e, V, z, loss});
            kn_calibration_z(&l, used, &(kn_calibration_cells){CELLS, e, V, bare, NULL});
            for (int i = 0; i < CELLS; i++) {
                double z1 = e[i] / sqrt(V[i]);
                double zt = NUS[k] > 0 ? kn_student_to_normal(z1, NUS[k]) : z1;
                double lp =
                    NUS[k] > 0 ? kn_student_log_density(z1, NUS[k]) : -0.5 * (z1 * z1 + KN_LOG_2PI);
                double expected = shape < 0 ? zt : kn_shash_forward(&distribution, zt);
                lp += -0.5 * log(V[i]);
                if (shape >= 0)
                    lp += 0.5 * (zt * zt + KN_LOG_2PI) - kn_shash_nll(&distribution, zt);
                assert_close(z[i], expected, 1e-10);
                assert_close(loss[i], -lp - 0.5 * KN_LOG_2PI, 1e-10);
                assert_true(bare[i] == z[i]); /* asking for the loss changes nothing */
            }
            kn_calibration_clear(&l);
        }
}

/* Simpson's rule over z1 = sinh(u), as far as the tails of zt are 1e-9. */
static void density_integrates_to_one(void **state)
{
    (void)state;
    static const double nus[] = {0, 3, 9, 59, 20000};
    enum { STEPS = 20000 };
    for (int k = 0; k < 5; k++)
        for (int shape = -1; shape < 4; shape++) {
            kn_calibration_transform l = calibration_of(nus[k]);
            kn_shash distribution;
            double V = 2.5, sum = 0, end = nus[k] == 0 || nus[k] > 1000 ? 12 : 60;
            double h = 2 * end / STEPS;
            if (shape >= 0)
                distribution = kn_shash_at(&l.nodes, THETAS[shape]);
            for (int i = 0; i <= STEPS; i++) {
                double u = -end + h * i, w = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
                cell c = one(&l, shape < 0 ? NULL : &distribution, sqrt(V) * sinh(u), V);
                double p = exp(-c.loss - 0.5 * KN_LOG_2PI) * sqrt(V) * cosh(u);
                sum += isfinite(p) ? w * p : 0;
            }
            assert_close(sum * h / 3, 1, 1e-6);
            kn_calibration_clear(&l);
        }
}

static void new_participants_match_golden(void **state)
{
    (void)state;
    json_t *g = golden_json("norms/chain", "");
    kn_mat V = golden_rows(g, "compose.new.variance"), z1 = golden_rows(g, "compose.new.z1");
    kn_mat zt = golden_rows(g, "compose.new.z_student"), z = golden_rows(g, "compose.new.z");
    kn_mat ln_p = golden_rows(g, "compose.new.ln_p"), a = golden_column(g, "compose.inputs.a");
    kn_mat ln_b = golden_column(g, "compose.inputs.ln_b");
    kn_calibration_transform l = calibration_of(golden_number(g, "compose.new.nu"));
    for (ptrdiff_t j = 0; j < z.cols; j++)
        for (ptrdiff_t i = 0; i < z.rows; i++) {
            double theta[2] = {a.data[j], ln_b.data[j]};
            kn_shash distribution = kn_shash_at(&l.nodes, theta);
            double v = kn_at(V, i, j), e = kn_at(z1, i, j) * sqrt(v);
            cell full = one(&l, &distribution, e, v);
            assert_close(one(&l, NULL, e, v).z, kn_at(zt, i, j), 1e-9);
            assert_close(full.z, kn_at(z, i, j), 1e-9);
            /* golden's ln_p is of the standardised response: 1/2 ln 2 pi is in it */
            assert_close(-full.loss - 0.5 * KN_LOG_2PI, kn_at(ln_p, i, j), 1e-9);
        }
    kn_calibration_clear(&l);
    json_decref(g);
    free(V.data), free(z1.data), free(zt.data), free(z.data), free(ln_p.data), free(a.data);
    free(ln_b.data);
}

static void what_is_missing_or_has_no_variance_is_nan_and_nothing_else_is(void **state)
{
    (void)state;
    static const double nus[] = {0, 20, 20000};
    double e[8] = {1, NAN, 1, 0, 1, INFINITY, 1, -1};
    double V[8] = {1, 1, 0, 0, -1, 1, INFINITY, 1e-300};
    static const bool fine[8] = {true, false, false, false, false, false, false, true};
    for (int k = 0; k < 3; k++)
        for (int shape = 0; shape < 2; shape++) {
            kn_calibration_transform l = calibration_of(nus[k]);
            kn_shash distribution = kn_shash_at(&l.nodes, THETAS[1]);
            double z[8], loss[8];
            kn_calibration_z(&l, shape ? &distribution : NULL,
                             &(kn_calibration_cells){7, e, V, z, loss});
            for (int i = 0; i < 7; i++) {
                assert_true(isnan(z[i]) == !fine[i]);
                assert_true(isnan(loss[i]) == !fine[i]);
            }
            kn_calibration_z(&l, shape ? &distribution : NULL,
                             &(kn_calibration_cells){8, e, V, z, NULL});
            assert_true(!isnan(z[7]) && z[7] < 0);
            kn_calibration_clear(&l);
        }
}

static void z_may_take_the_place_of_residuals(void **state)
{
    (void)state;
    kn_calibration_transform l = calibration_of(30);
    kn_shash distribution = kn_shash_at(&l.nodes, THETAS[2]);
    double e[CELLS], V[CELLS], z[CELLS], loss[CELLS], again[CELLS];
    for (int i = 0; i < CELLS; i++) {
        e[i] = 0.01 * (i - CELLS / 2);
        V[i] = 1 + 0.001 * i;
    }
    kn_calibration_z(&l, &distribution, &(kn_calibration_cells){CELLS, e, V, z, loss});
    kn_calibration_z(&l, &distribution, &(kn_calibration_cells){CELLS, e, V, e, again});
    assert_memory_equal(e, z, sizeof z);
    assert_memory_equal(loss, again, sizeof loss);
    kn_calibration_clear(&l);
}

/* Above 10000 degrees of freedom the Student step is none. */
static void many_participants_make_no_student_step(void **state)
{
    (void)state;
    kn_calibration_transform l = calibration_of(10001), none = calibration_of(0);
    for (double e = -8; e <= 8; e += 0.25) {
        cell a = one(&l, NULL, e, 1.3), b = one(&none, NULL, e, 1.3);
        assert_true(a.z == b.z && a.loss == b.loss);
    }
    kn_calibration_clear(&l);
    kn_calibration_clear(&none);
}

static void factor_is_the_exponential_of_the_line(void **state)
{
    (void)state;
    double x[6] = {1, 1, 1, -0.5, 0.25, 2}, beta[2] = {0.3, -1.1}, factor[3];
    kn_calibration_factor((kn_mat){x, 3, 2, 3}, beta, 3, NULL, factor);
    for (int i = 0; i < 3; i++)
        assert_close(factor[i], exp(0.3 - 1.1 * x[3 + i]), 1e-14);
    kn_calibration_factor(kn_mat_none(), NULL, 3, NULL, factor);
    for (int i = 0; i < 3; i++)
        assert_true(factor[i] == 1);
}

static void a_shift_is_the_term_of_the_site(void **state)
{
    (void)state;
    double terms[3] = {0.2, -0.4, 1.5}, shift[5], factor[5], x[5] = {1, 2, 3, 4, 5}, beta = 0.1;
    int site[5] = {2, -1, 0, 1, 3};
    kn_calibration_transform l = {.S = 3, .batch = terms}, none = {0};
    kn_calibration_shift(&l, site, 5, shift);
    static const double EXPECTED[5] = {1.5, 0, 0.2, -0.4, 0}; /* a site that is not there: 0 */
    assert_memory_equal(shift, EXPECTED, sizeof shift);
    kn_calibration_factor((kn_mat){x, 5, 1, 5}, &beta, 5, shift, factor);
    for (int i = 0; i < 5; i++)
        assert_close(factor[i], exp(0.1 * x[i] + EXPECTED[i]), 1e-14);
    kn_calibration_factor(kn_mat_none(), NULL, 5, shift, factor);
    for (int i = 0; i < 5; i++)
        assert_close(factor[i], exp(EXPECTED[i]), 1e-14);
    kn_calibration_shift(&none, site, 5, shift);
    for (int i = 0; i < 5; i++)
        assert_true(shift[i] == 0);
}

/* A batch of two levels has terms, not a column; the columns after it keep their places. */
static void a_batch_is_no_column_of_the_scale(void **state)
{
    (void)state;
    kn_design_column column[4] = {{.levels = 2, .batch = true},
                                  {.levels = 0},
                                  {.levels = 2},
                                  {.levels = 3, .batch = true}};
    kn_design d = {.C = 4, .column = column};
    double raw[8] = {0, 1, 31, 62, 1, 0, 2, 0};
    kn_calibration_covariates x;
    ptrdiff_t numbers, levels;
    kn_calibration_covariates_count(&d, &numbers, &levels);
    assert_true(numbers == 1 && levels == 1);
    assert_ok(ctx, kn_calibration_covariates_new(ctx, &d, kn_view_cols(raw, 2, 4), NULL, 2, &x));
    assert_true(x.x.numeric.cols == 1 && x.x.level.cols == 1);
    assert_true(kn_at(x.x.numeric, 0, 0) == 31 && kn_at(x.x.numeric, 1, 0) == 62);
    assert_true(kn_at(x.x.level, 0, 0) == 1 && kn_at(x.x.level, 1, 0) == 0);
    kn_calibration_covariates_clear(&x);
}

TEST_PROGRAM(norm_calibration_transform)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(z_and_loss_are_the_steps_one_by_one),
        cmocka_unit_test(density_integrates_to_one),
        cmocka_unit_test(new_participants_match_golden),
        cmocka_unit_test(what_is_missing_or_has_no_variance_is_nan_and_nothing_else_is),
        cmocka_unit_test(z_may_take_the_place_of_residuals),
        cmocka_unit_test(many_participants_make_no_student_step),
        cmocka_unit_test(factor_is_the_exponential_of_the_line),
        cmocka_unit_test(a_shift_is_the_term_of_the_site),
        cmocka_unit_test(a_batch_is_no_column_of_the_scale),
    };
    int failed = cmocka_run_group_tests_name("layer", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
