/* The noise from held-out residuals: against tests/golden/norms, against sums taken one participant
 * at a time, and where there are hardly any others. */
#include "support/test.h"

#include "base/random.h"
#include "gp/predict/noise.h"

static kn_ctx *ctx;

enum { MAX_COUNT = 64 };

/* noise^(-i) of one response; of: groups, or NULL */
static void without(ptrdiff_t n, const double *e, const double *v, const int *of, double known,
                    double *noise)
{
    kn_exclusion_groups apart;
    double work[3 * MAX_COUNT];
    kn_heldout_residuals job = {.n = n, .e = e, .v = v, .known = known};
    assert_ok(ctx, kn_exclusion_groups_new(ctx, n, of, &apart));
    kn_noise_leave_one_out(&job, &apart, work, noise);
    kn_exclusion_groups_clear(&apart);
}

/* The same by the formula, each participant in turn. */
static double slow(ptrdiff_t n, const double *e, const double *v, const int *of, ptrdiff_t i)
{
    double square = 0, moment = 0, count = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        bool leaves = of ? of[k] == of[i] : k == i;
        if (leaves || isnan(e[k]))
            continue;
        count++;
        square += e[k] * e[k];
        moment += e[k] * e[k] - v[k];
    }
    return fmax(moment, 0.5 * square) / count;
}

typedef struct golden {
    json_t *json;
    kn_mat y, m, v, group, slope, noise, participant, by_group, z, z_groups, z_own;
} golden;

static golden golden_read(void)
{
    golden g = {.json = golden_json("norms/chain", "")};
    g.y = golden_rows(g.json, "N1.inputs.y_minus_fold_mean");
    g.m = golden_rows(g.json, "N1.inputs.held_out_mean");
    g.v = golden_rows(g.json, "N1.inputs.held_out_variance");
    g.group = golden_column(g.json, "N1.inputs.group");
    g.slope = golden_column(g.json, "N1.slope");
    g.noise = golden_column(g.json, "N1.noise");
    g.participant = golden_rows(g.json, "N1.noise_without_person");
    g.by_group = golden_rows(g.json, "N1.noise_without_group");
    g.z = golden_rows(g.json, "N1.z_n1");
    g.z_groups = golden_rows(g.json, "N1.z_n1_groups");
    g.z_own = golden_rows(g.json, "N1.z_own");
    return g;
}

static void golden_free(golden *g)
{
    kn_mat *all[] = {&g->y,           &g->m,        &g->v, &g->group,    &g->slope, &g->noise,
                     &g->participant, &g->by_group, &g->z, &g->z_groups, &g->z_own};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->data);
    json_decref(g->json);
}

static void noise_and_z_match_golden(void **state)
{
    (void)state;
    golden g = golden_read();
    ptrdiff_t n = g.y.rows;
    int of[MAX_COUNT], floored = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        of[i] = (int)g.group.data[i];
    for (ptrdiff_t j = 0; j < g.y.cols; j++) {
        double e[MAX_COUNT], alone[MAX_COUNT], groups[MAX_COUNT], square = 0, moment = 0,
                                                                  slope = g.slope.data[j];
        /* model variances are scaled by nothing here: held_out_variance is that of slope m */
        const double *v = kn_col(g.v, j);
        for (ptrdiff_t i = 0; i < n; i++) {
            e[i] = kn_at(g.y, i, j) - slope * kn_at(g.m, i, j);
            square += e[i] * e[i] / (double)n;
            moment += (e[i] * e[i] - v[i]) / (double)n;
        }
        assert_close(fmax(moment, 0.5 * square), g.noise.data[j], 1e-9);
        floored += moment < 0.5 * square;
        without(n, e, v, NULL, NAN, alone);
        without(n, e, v, of, NAN, groups);
        for (ptrdiff_t i = 0; i < n; i++) {
            assert_close(alone[i], kn_at(g.participant, i, j), 1e-9);
            assert_close(groups[i], kn_at(g.by_group, i, j), 1e-9);
            assert_close(e[i] / sqrt(v[i] + alone[i]), kn_at(g.z, i, j), 1e-9);
            assert_close(e[i] / sqrt(v[i] + groups[i]), kn_at(g.z_groups, i, j), 1e-9);
            assert_close(e[i] / sqrt(v[i] + g.noise.data[j]), kn_at(g.z_own, i, j), 1e-9);
        }
    }
    assert_int_equal(floored, 1); /* the floor has been seen */
    golden_free(&g);
}

static void any_size_grouping_and_gap_match_the_slow_sums(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 17, 0);
    for (int trial = 0; trial < 200; trial++) {
        ptrdiff_t n = 2 + kn_rng_below(&rng, 30), groups = 1 + kn_rng_below(&rng, n);
        double e[MAX_COUNT], v[MAX_COUNT], noise[MAX_COUNT], size = exp(4 * kn_rng_normal(&rng));
        int of[MAX_COUNT];
        for (ptrdiff_t i = 0; i < n; i++) {
            e[i] = kn_rng_uniform(&rng) < 0.2 ? NAN : size * kn_rng_normal(&rng);
            v[i] = size * size * kn_rng_uniform(&rng);
            of[i] = (int)(1000 * kn_rng_below(&rng, groups)) - 7; /* any numbers */
        }
        for (int by_group = 0; by_group < 2; by_group++) {
            const int *used = by_group ? of : NULL;
            without(n, e, v, used, NAN, noise);
            for (ptrdiff_t i = 0; i < n; i++) {
                double expected = slow(n, e, v, used, i);
                if (isnan(expected))
                    assert_true(isnan(noise[i]));
                else
                    assert_true(fabs(noise[i] - expected) <= 1e-10 * size * size);
            }
        }
    }
}

static void a_single_rank_has_no_messages_of_others(void **state)
{
    (void)state;
    double e[3] = {2, -1, 0.5}, v[3] = {0.1, 0.1, 0.1}, noise[3];
    int one[3] = {4, 4, 4}, two[3] = {4, 4, 9};
    without(1, e, v, NULL, NAN, noise);
    assert_true(isnan(noise[0]));
    without(2, e, v, NULL, NAN, noise);
    assert_close(noise[0], 1 - 0.1, 1e-15);
    assert_close(noise[1], 4 - 0.1, 1e-15);
    without(3, e, v, NULL, NAN, noise);
    assert_close(noise[0], (1.25 - 0.2) / 2, 1e-15);
    without(3, e, v, one, NAN, noise); /* all of one group: no others */
    for (int i = 0; i < 3; i++)
        assert_true(isnan(noise[i]));
    without(3, e, v, two, NAN, noise);
    assert_close(noise[0], 0.25 - 0.1, 1e-15);
    assert_close(noise[1], noise[0], 0);
    assert_close(noise[2], (5 - 0.2) / 2, 1e-15);
    e[1] = e[2] = NAN; /* all missing but one: the others hear of it, it hears of no participant */
    without(3, e, v, NULL, NAN, noise);
    assert_true(isnan(noise[0]));
    assert_close(noise[1], 4 - 0.1, 1e-15);
    assert_close(noise[2], 4 - 0.1, 1e-15);
    e[0] = NAN;
    without(3, e, v, NULL, NAN, noise);
    for (int i = 0; i < 3; i++)
        assert_true(isnan(noise[i]));
}

/* What leaves may be nearly everything: the sum of the others must not be what rounding left. */
static void one_enormous_residual_leaves_the_others_as_they_are(void **state)
{
    (void)state;
    double e[6] = {1e9, 1, -1, 2, -2, 0.5}, v[6] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, noise[6];
    int of[6] = {0, 1, 2, 0, 1, 2};
    without(6, e, v, NULL, NAN, noise);
    assert_close(noise[0], slow(6, e, v, NULL, 0), 1e-12);
    without(6, e, v, of, NAN, noise);
    assert_close(noise[0], slow(6, e, v, of, 0), 1e-12);
    assert_close(noise[3], noise[0], 0);
}

/* The noise of a fit scales with the mean squares: without held-out participants it stays. */
static void known_noise_goes_as_the_mean_squares_do(void **state)
{
    (void)state;
    double e[4] = {1, -2, 0.5, 1.5}, v[4] = {9, 9, 9, 9}, noise[4], zero[4] = {0};
    double all = (1 + 4 + 0.25 + 2.25) / 4;
    int of[4] = {0, 0, 1, 1};
    without(4, e, v, NULL, 0.8, noise);
    for (int i = 0; i < 4; i++)
        assert_close(noise[i], 0.8 * (all * 4 - e[i] * e[i]) / 3 / all, 1e-14);
    without(4, e, v, of, 0.8, noise);
    assert_close(noise[0], 0.8 * (2.5 / 2) / all, 1e-14);
    assert_close(noise[3], 0.8 * (5.0 / 2) / all, 1e-14);
    without(4, zero, v, NULL, 0.8, noise);
    assert_close(noise[2], 0.8, 0);
    without(1, e, v, NULL, 0.8, noise); /* no participant left: the noise of the fit */
    assert_close(noise[0], 0.8, 0);
}

TEST_PROGRAM(gp_noise_leave_one_out)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_and_z_match_golden),
        cmocka_unit_test(any_size_grouping_and_gap_match_the_slow_sums),
        cmocka_unit_test(a_single_rank_has_no_messages_of_others),
        cmocka_unit_test(one_enormous_residual_leaves_the_others_as_they_are),
        cmocka_unit_test(known_noise_goes_as_the_mean_squares_do),
    };
    int failed = cmocka_run_group_tests_name("noise_without", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
