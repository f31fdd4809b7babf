/* Sites whose noise is not the same: what the calibration promises for participants of each, and
 * what the terms of sites must not depend on. */
#include "support/failing.h"
#include "support/remakes.h"

static kn_ctx *ctx;

/* A line in age, and noise of twice the deviation at the second site. */
static crowd two_scanners(uint64_t seed, ptrdiff_t n, ptrdiff_t T, double ratio, int *site)
{
    kn_rng rng;
    ref_rng_init(&rng, seed, 0);
    crowd c = crowd_new(&rng, n, T);
    for (ptrdiff_t i = 0; i < n; i++) {
        site[i] = kn_rng_uniform(&rng) < 0.4;
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(c.Y, j)[i] = 0.5 * crowd_age(&c, i) * sin((double)j) +
                                (site[i] ? ratio : 1) * kn_rng_normal(&rng);
    }
    return c;
}

static kn_data *data_at(const crowd *c, const int *site)
{
    static const char *const NAMES[] = {"north", "south"};
    kn_data *d = crowd_data(ctx, c);
    const char **text = calloc((size_t)c->n, sizeof *text);
    for (ptrdiff_t i = 0; i < c->n; i++)
        text[i] = NAMES[site[i]];
    assert_ok(ctx, kn_data_texts(ctx, d, "site", text));
    free(text);
    return d;
}

static kn_model *fit_at(const crowd *c, const int *site, const char *text)
{
    kn_data *d = data_at(c, site);
    kn_model *m = fit_data(ctx, d, text);
    kn_data_free(d);
    return m;
}

/* z of new participants, n x T. */
static kn_mat score_at(const kn_model *m, const crowd *c, const int *site)
{
    kn_data *d = data_at(c, site);
    kn_options *o = options_of(ctx, "score", "write=z");
    kn_scores *s;
    kn_mat z = ref_new(c->n, c->Y.cols);
    assert_ok(ctx, kn_score(ctx, m, d, o, &s));
    assert_ok(ctx, kn_scores_block(ctx, s, "z", 0, z.cols, z));
    kn_scores_free(s);
    kn_options_free(o);
    kn_data_free(d);
    return z;
}

/* Of ln noise of one site to the other, each with about so many participants: 5.5 standard errors,
 * that of ln variance of n normal values being sqrt(2/n). */
static double ratio_error(double participants, double others, double T)
{
    return 5.5 * sqrt(2 / (participants * T) + 2 / (others * T));
}

/* Mean z^2 of the reference at a site. */
static double square_at(const kn_reference *r, ptrdiff_t T, const int *site, int s)
{
    double sum = 0, cells = 0;
    for (ptrdiff_t i = 0; i < r->n; i++)
        for (ptrdiff_t j = 0; j < T && site[i] == s; j++)
            if (!isnan(r->z[i * T + j])) {
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
            kn_calibration_transform l = {0};
            kn_reference z;
            r.how = HOW[k];
            r.site = with ? site : NULL;
            assert_ok(ctx, remake_run(ctx, &r, &l, &z));
            double first = square_at(&z, T, site, 0), second = square_at(&z, T, site, 1);
            print_message("# %s: z^2 %.3f %.3f\n", with ? "with" : "without", first, second);
            if (with) {
                assert_true(first > 0.9 && first < 1.1 && second > 0.9 && second < 1.1);
                assert_true(fabs(l.batch[1] - l.batch[0] - log(4)) <
                            ratio_error(0.6 * N, 0.4 * N, T));
                const kn_calibration_component *part = &l.component[KN_CALIBRATION_SITE];
                assert_true(part->tried && part->kept && part->gain > 10 * part->se);
            } else {
                assert_true(first < 0.75 && second > 1.25);
                assert_true(l.S == 0 && !l.batch && !l.component[KN_CALIBRATION_SITE].tried);
            }
            kn_calibration_clear(&l);
            kn_reference_clear(&z);
        }
    remake_clear(&r);
    crowd_free(&c);
}

/* Without shrinkage each site would get a term from chance alone: the ln variance of the 10 T
 * values of a site has variance f = 2/(10 T). A term is shrunk by 1 - f/s^2, where s^2 is the
 * variance over sites, so a small term remains in some draws. Measured in 25 draws of 8 samples,
 * the mean square of the terms was .03 f +- .03 f. */
static void sites_that_do_not_differ_hardly_have_a_term(void **state)
{
    (void)state;
    enum { N = 150, T = 30, S = 15, CROWDS = 8 };
    double square = 0, f = 2.0 / (N / S * T);
    for (uint64_t k = 0; k < CROWDS; k++) {
        int site[N];
        crowd c = two_scanners(200 + k, N, T, 1, site);
        remake r = remake_new(ctx, &c, NULL, 5);
        kn_calibration_transform l = {0};
        kn_reference z;
        for (int i = 0; i < N; i++)
            site[i] = i % S;
        r.how = KN_CALIBRATE_AUTO;
        r.site = site;
        r.S = S;
        assert_ok(ctx, remake_run(ctx, &r, &l, &z));
        const kn_calibration_component *part = &l.component[KN_CALIBRATION_SITE];
        assert_true(part->tried && part->kept); /* no gate */
        assert_true(part->gain > -0.005);
        for (int s = 0; s < S; s++)
            square += l.batch[s] * l.batch[s] / (S * CROWDS);
        kn_calibration_clear(&l);
        kn_reference_clear(&z);
        remake_clear(&r);
        crowd_free(&c);
    }
    print_message("# squares of terms: %.3f of those by chance\n", square / f);
    assert_true(square < 0.25 * f);
}

/* Without parts to choose, with one site, or with no known site, there is nothing to learn.
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
        kn_calibration_transform l[2];
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
            kn_calibration_clear(&l[with]);
            kn_reference_clear(&z[with]);
        }
        remake_clear(&r);
        crowd_free(&c);
    }
}

static void any_sites_and_folds_work(void **state)
{
    (void)state;
    enum { N = 60, T = 8, FOLDS = 4, MANY = 40, TRIALS = 4 };
    int of[N];
    crowd c = two_scanners(4, N, T, 4, of);
    remake r = remake_new(ctx, &c, NULL, FOLDS);
    for (int trial = 0; trial < TRIALS; trial++) {
        int site[N];
        for (int i = 0; i < N; i++) {
            const int at[TRIALS] = {-1, i % 2 - 1, i % MANY,
                                    of[i]}; /* no participant, some, each */
            site[i] = at[trial];
            if (trial == TRIALS - 1)
                r.fold[i] = of[i]; /* a site is a fold, and two folds are empty */
        }
        kn_calibration_transform l = {0};
        kn_reference z;
        r.site = site;
        r.S = trial == 2 ? MANY : 2;
        assert_ok(ctx, remake_run(ctx, &r, &l, &z));
        assert_int_equal(l.S, r.S);
        for (int i = 0; i < N; i++)
            assert_true(isfinite(z.statistic[i]));
        for (ptrdiff_t s = 0; s < l.S; s++)
            assert_true(isfinite(l.batch[s]) && (trial > 0 || l.batch[s] == 0));
        /* The sites of held-out participants were unknown, so the gain is negligible. The terms
         * differ by ln 16 before shrinkage, with a standard deviation of about .25. */
        if (trial == TRIALS - 1) {
            print_message("# terms differ by %.3f\n", l.batch[1] - l.batch[0]);
            assert_true(fabs(l.component[KN_CALIBRATION_SITE].gain) < 1e-12 &&
                        l.batch[1] > l.batch[0] + 1);
        }
        kn_calibration_clear(&l);
        kn_reference_clear(&z);
    }
    remake_clear(&r);
    crowd_free(&c);
}

static void hear(void *user, kn_log_level level, const char *message)
{
    *(int *)user += level == KN_LOG_INFO && strstr(message, "noise per site is kept") != NULL;
}

/* Each site is noisy in one fold and quiet in the others, so that a held-out participant gets the
 * wrong noise. */
static void terms_that_lose_are_kept_and_reported(void **state)
{
    (void)state;
    enum { N = 80, T = 20, FOLDS = 2 };
    int site[N], fold[N], reports = 0;
    crowd c = two_scanners(12, N, T, 1, site);
    for (ptrdiff_t i = 0; i < N; i++) {
        fold[i] = (int)(i % FOLDS);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(c.Y, j)[i] *= fold[i] == site[i] ? 2 : 1;
    }
    remake r = remake_new(ctx, &c, fold, FOLDS);
    kn_calibration_transform l = {0};
    kn_reference z;
    r.site = site;
    r.S = 2;
    r.how = KN_CALIBRATE_AUTO;
    kn_set_log(ctx, hear, &reports);
    assert_ok(ctx, remake_run(ctx, &r, &l, &z));
    kn_set_log(ctx, NULL, NULL);
    const kn_calibration_component *part = &l.component[KN_CALIBRATION_SITE];
    assert_true(part->kept && part->gain < -part->se && l.S == 2);
    assert_int_equal(reports, 1);
    kn_calibration_clear(&l);
    kn_reference_clear(&z);
    remake_clear(&r);
    crowd_free(&c);
}

/* {"calibration": {"parts": {"batch": {"kept": true ...}}, "batch": [a, b]}}, null without */
static void assert_reported(const kn_model *m, bool terms)
{
    char *text, *words;
    assert_ok(ctx, kn_model_json(ctx, m, &text));
    assert_ok(ctx, kn_model_words(ctx, m, &words));
    json_t *json = json_loads(text, 0, NULL), *of = json_object_get(json, "calibration");
    json_t *part = json_object_get(json_object_get(of, "parts"), "batch");
    json_t *list = json_object_get(of, "batch");
    assert_true(json_is_true(json_object_get(part, "kept")) == terms);
    assert_int_equal(json_array_size(list), m->calibration.S);
    for (size_t s = 0; s < json_array_size(list); s++)
        assert_true(json_real_value(json_array_get(list, s)) == m->calibration.batch[s]);
    const kn_calibration_component *site = &m->calibration.component[KN_CALIBRATION_SITE];
    assert_true((strstr(words, site->gain > site->se
                                   ? "; used: noise per site (held-out gain"
                                   : "; used because the model has a batch effect: noise per site "
                                     "(held-out gain") != NULL) == terms);
    json_decref(json);
    kn_text_free(text);
    kn_text_free(words);
}

/* From the command's options to new participants: each site by its own noise, also out of a file.
 */
static void new_participants_are_scored_with_the_noise_of_their_site(void **state)
{
    (void)state;
    enum { N = 200, NEW = 300, T = 30 };
    static const struct {
        const char *text;
        bool terms;
    } trials[] = {{"batch=site", true}, {"batch=site calibrate=student", false}};
    int site[N], at[NEW];
    crowd train = two_scanners(8, N, T, 2, site), fresh = two_scanners(9, NEW, T, 2, at);
    for (int k = 0; k < 2; k++) {
        kn_model *m = fit_at(&train, site, trials[k].text), *back;
        kn_mat z = score_at(m, &fresh, at), again;
        void *bytes;
        size_t n;
        double sum[2] = {0}, cells[2] = {0};
        assert_int_equal(m->batch.S, 2);
        assert_int_equal(m->calibration.S, trials[k].terms ? 2 : 0);
        assert_reported(m, trials[k].terms);
        assert_true(m->calibration.columns.F <= 4); /* 1, age and its square, sex; no site */
        for (ptrdiff_t i = 0; i < NEW; i++)
            for (ptrdiff_t j = 0; j < T; j++) {
                sum[at[i]] += pow(kn_at(z, i, j), 2);
                cells[at[i]]++;
            }
        double first = sum[0] / cells[0], second = sum[1] / cells[1];
        print_message("# new people: z^2 %.3f %.3f\n", first, second);
        if (trials[k].terms) { /* both the noise that was learned and its square are of a sample */
            assert_true(fabs(log(first)) < ratio_error(0.6 * N, 0.6 * NEW, T));
            assert_true(fabs(log(second)) < ratio_error(0.4 * N, 0.4 * NEW, T));
        } else {
            assert_true(first < 0.75 && second > 1.25);
        }
        assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &n));
        assert_ok(ctx, kn_model_from_bytes(ctx, bytes, n, &back));
        again = score_at(back, &fresh, at);
        assert_memory_equal(z.data, again.data, (size_t)(NEW * T) * sizeof(double));
        assert_int_equal(back->calibration.S, m->calibration.S);
        for (ptrdiff_t s = 0; s < m->calibration.S; s++)
            assert_true(back->calibration.batch[s] == m->calibration.batch[s]);
        kn_bytes_free(bytes);
        kn_model_free(m), kn_model_free(back);
        free(z.data), free(again.data);
    }
    crowd_free(&train), crowd_free(&fresh);
}

/* z of new participants cell by cell, and the largest |z| by leave-one-out. */
static void a_site_has_its_term_in_the_noise(void **state)
{
    (void)state;
    enum { N = 90, T = 12 };
    int site[N];
    crowd c = two_scanners(10, N, T, 2, site);
    kn_model *m = fit_at(&c, site, "batch=site calibrate=full");
    kn_mat X = ref_new(N, 3), mean = ref_new(N, T), var = ref_new(N, T), D;
    double noise[T];
    kn_maps *maps;
    for (ptrdiff_t i = 0; i < N; i++) {
        X.data[i] = c.age.data[i];
        kn_col(X, 1)[i] = c.sex[i][0] == 'm'; /* levels in the order of their names */
        kn_col(X, 2)[i] = site[i];
    }
    assert_ok(ctx,
              kn_calibration_columns(ctx, &m->calibration, &m->x, kn_view_cols(X.data, N, 3), &D));
    assert_ok(ctx, kn_model_noise(ctx, m, noise));
    for (int loo = 0; loo < 2; loo++) {
        crowd other = two_scanners(11, N, T, 2, site); /* other participants of the same sites */
        kn_mat Y = loo ? c.Y : other.Y, z = {0};
        for (ptrdiff_t i = 0; i < N; i++)
            site[i] = (int)kn_at(X, i, 2);
        if (loo) {
            assert_ok(ctx, kn_maps_loo(ctx, m, kn_view_cols(Y.data, N, T), &maps));
        } else {
            memcpy(other.age.data, c.age.data, N * sizeof(double));
            memcpy(other.sex, c.sex, N * sizeof *c.sex);
            z = score_at(m, &other, site);
            assert_ok(ctx, kn_maps_predict(ctx, m, kn_view_cols(X.data, N, 3), &maps));
        }
        assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, mean, var));
        for (ptrdiff_t i = 0; i < N; i++) {
            double limit = 0;
            for (ptrdiff_t j = 0; j < T; j++) {
                kn_shash distribution = kn_calibration_distribution(&m->calibration, j);
                double eta = m->calibration.batch[site[i]];
                for (ptrdiff_t f = 0; f < D.cols; f++)
                    eta += kn_at(D, i, f) * kn_at(m->calibration.beta, f, j);
                double V = kn_at(var, i, j) + noise[j] * exp(eta);
                double z1 = (kn_at(Y, i, j) - kn_at(mean, i, j)) / sqrt(V);
                double expected = kn_shash_forward(&distribution, kn_student_to_normal(z1, N - 1));
                limit = fmax(limit, fabs(expected));
                if (!loo)
                    assert_close(kn_at(z, i, j), expected, 1e-6); /* floats */
            }
            if (loo)
                assert_close(m->reference.loo_statistic[i], limit, 1e-8);
        }
        kn_maps_free(maps);
        free(z.data);
        crowd_free(&other);
    }
    kn_mat_clear(&D);
    kn_model_free(m);
    free(X.data), free(mean.data), free(var.data);
    crowd_free(&c);
}

static void missing_cells_leave_the_terms(void **state)
{
    (void)state;
    enum { N = 120, T = 20 };
    int site[N];
    crowd c = two_scanners(5, N, T, 2, site);
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            if ((i * 7 + j * 3) % 10 == 0)
                kn_col(c.Y, j)[i] = NAN;
    kn_model *m = fit_at(&c, site, "batch=site calibrate=full");
    double first = square_at(&m->reference, T, site, 0);
    double second = square_at(&m->reference, T, site, 1);
    print_message("# with holes: z^2 %.3f %.3f\n", first, second);
    assert_true(fabs(m->calibration.batch[1] - m->calibration.batch[0] - log(4)) <
                ratio_error(0.9 * 0.6 * N, 0.9 * 0.4 * N, T));
    assert_true(first > 0.88 && first < 1.12 && second > 0.88 && second < 1.12);
    kn_model_free(m);
    crowd_free(&c);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    enum { N = 80, T = 700, THREADS = 3 };
    int site[N];
    crowd c = two_scanners(6, N, T, 1.5, site);
    kn_model *m[THREADS];
    for (int k = 0; k < THREADS; k++) {
        kn_set_threads(ctx, k + 1);
        m[k] = fit_at(&c, site, "batch=site calibrate=full components=3");
    }
    kn_set_threads(ctx, 0);
    for (int k = 1; k < THREADS; k++) {
        const kn_reference *a = &m[0]->reference, *b = &m[k]->reference;
        assert_true(m[0]->calibration.S == 2 && m[k]->calibration.S == 2);
        assert_memory_equal(m[0]->calibration.batch, m[k]->calibration.batch, 2 * sizeof(double));
        assert_true(m[0]->calibration.component[KN_CALIBRATION_SITE].gain ==
                    m[k]->calibration.component[KN_CALIBRATION_SITE].gain);
        assert_memory_equal(a->z, b->z, (size_t)N * T * sizeof(float));
        assert_memory_equal(a->statistic, b->statistic, N * sizeof(double));
        assert_memory_equal(a->loo_statistic, b->loo_statistic, N * sizeof(double));
        assert_memory_equal(a->deviance.ref, b->deviance.ref, N * sizeof(double));
    }
    for (int k = 0; k < THREADS; k++)
        kn_model_free(m[k]);
    crowd_free(&c);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(norm_calibration_sites, open_fixture, close_fixture)
{
    int site[60];
    crowd c = two_scanners(7, 60, 9, 2, site);
    remake r = remake_new(ctx, &c, NULL, 3);
    r.site = site;
    r.S = 2;
    kn_status status = KN_ERR_MEMORY;
    failing f = failing_by(11);
    while (failing_next(&f, status)) {
        kn_calibration_transform l = {0};
        kn_reference z;
        kn_fail_allocation(ctx, f.k);
        status = remake_run(ctx, &r, &l, &z);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        assert_true(status == KN_OK || (z.n == 0 && l.S == 0 && !l.batch));
        kn_calibration_clear(&l);
        kn_reference_clear(&z);
    }
    assert_int_equal(status, KN_OK);
    assert_true(f.k > 50);
    remake_clear(&r);
    crowd_free(&c);
}

TEST_PROGRAM(norm_calibration_sites)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_has_the_same_spread_at_every_site),
        cmocka_unit_test(sites_that_do_not_differ_hardly_have_a_term),
        cmocka_unit_test(no_terms_without_parts_or_with_one_site),
        cmocka_unit_test(any_sites_and_folds_work),
        cmocka_unit_test(terms_that_lose_are_kept_and_reported),
        cmocka_unit_test(new_participants_are_scored_with_the_noise_of_their_site),
        cmocka_unit_test(a_site_has_its_term_in_the_noise),
        cmocka_unit_test(missing_cells_leave_the_terms),
        cmocka_unit_test(threads_do_not_change_a_bit),
    };
    return cmocka_run_group_tests_name("learner_batch", tests, open_fixture, close_fixture);
}
