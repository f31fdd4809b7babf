/* Sites whose noise is not the same: what the calibration layer promises for people of each, and
 * what the terms of sites must not depend on. */
#include "remakes.h"

static kn_ctx *ctx;

/* A line in age, and noise of twice the deviation at the second site. */
static crowd two_scanners(uint64_t seed, ptrdiff_t n, ptrdiff_t T, double ratio, int *site)
{
    kn_rng rng;
    kn_rng_init(&rng, seed, 0);
    crowd c = crowd_new(&rng, n, T);
    for (ptrdiff_t i = 0; i < n; i++) {
        site[i] = kn_rng_uniform(&rng) < 0.4;
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(c.Y, j)[i] = 0.5 * crowd_age(&c, i) * sin((double)j) +
                                (site[i] ? ratio : 1) * kn_rng_normal(&rng);
    }
    return c;
}

/* Mean z^2 of the reference at a site. */
static double square_at(const kn_reference *r, ptrdiff_t T, const int *site, int s)
{
    double sum = 0, cells = 0;
    for (ptrdiff_t i = 0; i < r->n; i++)
        for (ptrdiff_t j = 0; j < T && site[i] == s; j++) {
            sum += pow((double)r->z[i * T + j], 2);
            cells++;
        }
    return sum / cells;
}

static void the_reference_has_the_same_spread_at_every_site(void **state)
{
    (void)state;
    enum { N = 200, T = 40 };
    static const kn_calibrate HOW[] = {KN_CALIBRATE_AUTO, KN_CALIBRATE_FULL};
    int site[N];
    crowd c = two_scanners(1, N, T, 2, site);
    remake r = remake_new(ctx, &c, NULL, 5);
    r.S = 2;
    for (int k = 0; k < 2; k++)
        for (int with = 0; with < 2; with++) {
            kn_layer l = {0};
            kn_reference z;
            r.how = HOW[k];
            r.site = with ? site : NULL;
            assert_ok(ctx, remake_run(ctx, &r, &l, &z));
            double first = square_at(&z, T, site, 0), second = square_at(&z, T, site, 1);
            print_message("# %s: z^2 %.3f %.3f\n", with ? "with" : "without", first, second);
            if (with) {
                assert_true(first > 0.9 && first < 1.1 && second > 0.9 && second < 1.1);
                assert_true(fabs(l.batch[1] - l.batch[0] - log(4)) < 0.15);
                const kn_layer_part *part = &l.part[KN_LAYER_BATCH];
                assert_true(part->tried && part->kept && part->gain > 10 * part->se);
            } else {
                assert_true(first < 0.75 && second > 1.4);
                assert_true(l.S == 0 && !l.batch && !l.part[KN_LAYER_BATCH].tried);
            }
            kn_layer_clear(&l);
            kn_reference_clear(&z);
        }
    remake_clear(&r);
    crowd_free(&c);
}

/* A column of each site for everybody alike would have found what is not there. */
static void sites_that_do_not_differ_hardly_have_a_term(void **state)
{
    (void)state;
    enum { N = 150, T = 30, S = 15 };
    int site[N];
    crowd c = two_scanners(2, N, T, 1, site);
    remake r = remake_new(ctx, &c, NULL, 5);
    kn_layer l = {0};
    kn_reference z;
    for (int i = 0; i < N; i++)
        site[i] = i % S;
    r.how = KN_CALIBRATE_AUTO;
    r.site = site;
    r.S = S;
    assert_ok(ctx, remake_run(ctx, &r, &l, &z));
    const kn_layer_part *part = &l.part[KN_LAYER_BATCH];
    assert_true(part->tried && part->kept); /* no gate */
    assert_true(part->gain > -0.005);
    for (int s = 0; s < S; s++)
        assert_true(fabs(l.batch[s]) < 0.06);
    kn_layer_clear(&l);
    kn_reference_clear(&z);
    remake_clear(&r);
    crowd_free(&c);
}

/* Without parts to choose, with one site, or with nobody's site known, there is nothing to learn.
 */
static void no_terms_without_parts_or_with_one_site(void **state)
{
    (void)state;
    enum { N = 60, T = 12 };
    static const struct {
        kn_calibrate how;
        ptrdiff_t S, n;
        bool terms;
    } trials[] = {{KN_CALIBRATE_NONE, 2, N, false},      {KN_CALIBRATE_STUDENT, 2, N, false},
                  {KN_CALIBRATE_FULL, 1, N, false},      {KN_CALIBRATE_AUTO, 2, N, true},
                  {KN_CALIBRATE_AUTO, 2, N - 20, false}, {KN_CALIBRATE_FULL, 2, N - 20, true}};
    for (size_t k = 0; k < sizeof trials / sizeof *trials; k++) {
        int site[N];
        crowd c = two_scanners(3, trials[k].n, T, 2, site);
        remake r = remake_new(ctx, &c, NULL, 4);
        kn_layer l[2];
        kn_reference z[2];
        memset(l, 0, sizeof l);
        r.how = trials[k].how;
        for (int with = 0; with < 2; with++) {
            r.site = with ? site : NULL;
            r.S = with ? trials[k].S : 0;
            assert_ok(ctx, remake_run(ctx, &r, &l[with], &z[with]));
        }
        assert_int_equal(l[1].S, trials[k].terms ? 2 : 0);
        size_t bytes = (size_t)(trials[k].n * T) * sizeof(float);
        assert_true((memcmp(z[0].z, z[1].z, bytes) == 0) == !trials[k].terms);
        for (int with = 0; with < 2; with++) {
            kn_layer_clear(&l[with]);
            kn_reference_clear(&z[with]);
        }
        remake_clear(&r);
        crowd_free(&c);
    }
}

static void people_of_no_site_and_folds_of_one_site_work(void **state)
{
    (void)state;
    enum { N = 60, T = 8, FOLDS = 4 };
    int site[N], fold[N];
    crowd c = two_scanners(4, N, T, 2, site);
    for (int trial = 0; trial < 4; trial++) {
        for (int i = 0; i < N; i++) {
            fold[i] = trial == 0 ? site[i] * 2 + i % 2 : i % FOLDS; /* sites leave with folds */
            site[i] = trial == 1 ? -1 : trial == 2 ? i % 2 - 1 : site[i];
        }
        remake r = remake_new(ctx, &c, fold, FOLDS);
        kn_layer l = {0};
        kn_reference z;
        r.site = site;
        r.S = trial == 3 ? 40 : 2;
        if (trial == 3)
            for (int i = 0; i < N; i++)
                site[i] = i % 40; /* of one or two people */
        if (trial == 0)
            for (int i = 0; i < N; i++) /* of the layer; maps need both sites */
                r.fold[i] = site[i];
        assert_ok(ctx, remake_run(ctx, &r, &l, &z));
        for (int i = 0; i < N; i++)
            assert_true(isfinite(z.statistic[i]));
        for (ptrdiff_t s = 0; s < l.S; s++)
            assert_true(isfinite(l.batch[s]) && (trial != 1 || l.batch[s] == 0));
        kn_layer_clear(&l);
        kn_reference_clear(&z);
        remake_clear(&r);
    }
    crowd_free(&c);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    enum { N = 80, T = 700, THREADS = 3 };
    int site[N];
    crowd c = two_scanners(6, N, T, 1.5, site);
    remake r = remake_new(ctx, &c, NULL, 5);
    kn_layer l[THREADS];
    kn_reference z[THREADS];
    memset(l, 0, sizeof l);
    r.site = site;
    r.S = 2;
    for (int k = 0; k < THREADS; k++) {
        kn_set_threads(ctx, k + 1);
        assert_ok(ctx, remake_run(ctx, &r, &l[k], &z[k]));
    }
    kn_set_threads(ctx, 0);
    for (int k = 1; k < THREADS; k++) {
        assert_memory_equal(l[0].batch, l[k].batch, 2 * sizeof(double));
        assert_memory_equal(&l[0].part, &l[k].part, sizeof l[0].part);
        assert_memory_equal(z[0].z, z[k].z, (size_t)N * T * sizeof(float));
        assert_memory_equal(z[0].statistic, z[k].statistic, N * sizeof(double));
        assert_memory_equal(z[0].deviance.ref, z[k].deviance.ref, N * sizeof(double));
    }
    for (int k = 0; k < THREADS; k++) {
        kn_layer_clear(&l[k]);
        kn_reference_clear(&z[k]);
    }
    remake_clear(&r);
    crowd_free(&c);
}

static void any_failing_allocation_leaves_nothing(void **state)
{
    (void)state;
    int site[60];
    crowd c = two_scanners(7, 60, 9, 2, site);
    remake r = remake_new(ctx, &c, NULL, 3);
    r.site = site;
    r.S = 2;
    kn_status status = KN_ERR_MEMORY;
    long k = 0;
    for (; status != KN_OK && k < 20000; k++) {
        kn_layer l = {0};
        kn_reference z;
        kn_fail_allocation(ctx, k + 1);
        status = remake_run(ctx, &r, &l, &z);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        assert_true(status == KN_OK || (z.n == 0 && l.S == 0 && !l.batch));
        kn_layer_clear(&l);
        kn_reference_clear(&z);
    }
    assert_int_equal(status, KN_OK);
    assert_true(k > 50);
    remake_clear(&r);
    crowd_free(&c);
}

int main(void)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_has_the_same_spread_at_every_site),
        cmocka_unit_test(sites_that_do_not_differ_hardly_have_a_term),
        cmocka_unit_test(no_terms_without_parts_or_with_one_site),
        cmocka_unit_test(people_of_no_site_and_folds_of_one_site_work),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(any_failing_allocation_leaves_nothing),
    };
    int failed = cmocka_run_group_tests_name("learner_batch", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
