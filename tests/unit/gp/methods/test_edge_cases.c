/* Odd data for MTGPR and for whitened noise: a fit is refused with a sentence, or everything that
 * it says is finite and no variance is below zero, also of participants held out, left out and new,
 * and from its file. */
#include "base/random.h"
#include "gp/cv/cv.h"
#include "gp/predict/map_density.h"
#include "support/test.h"
#include "support/views.h"

static kn_ctx *ctx;

/* The models; components 0: as many as the curve says. */
static const struct kind {
    const char *name, *method;
    int noise, components, noise_rank, ppca;
    const char *kernel;
} KINDS[] = {
    {"mtgpr", "mtgpr", -1, 1, 0, 0, NULL},
    {"mtgpr, iso", "mtgpr", -1, 2, 0, 0, "additive+iso"},
    {"mtgpr, ppca", "mtgpr", -1, 1, 0, 1, NULL},
    {"mtgpr, noise", "mtgpr", -1, 1, 1, 0, NULL},
    {"mtgpr, all", "mtgpr", -1, 2, 2, 1, "linear+se+iso"},
    {"mtgpr, auto", "mtgpr", -1, 0, 0, 0, NULL},
    {"whitened", "smtgpr", KN_NOISE_WHITENED, 1, 0, 0, NULL},
    {"whitened, two", "smtgpr", KN_NOISE_WHITENED, 2, 0, 0, "linear+se"},
    {"whitened, as many as responses", "smtgpr", KN_NOISE_WHITENED, -1, 0, 0, NULL},
    {"whitened, auto", "smtgpr", KN_NOISE_WHITENED, 0, 0, 0, NULL},
    {"noise auto", "smtgpr", KN_NOISE_AUTO, 1, 0, 0, NULL},
    {"noise auto, auto", "smtgpr", KN_NOISE_AUTO, 0, 0, 0, NULL},
};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

static kn_settings settings(const struct kind *k, ptrdiff_t T, int folds)
{
    kn_settings s;
    kn_settings_init(&s);
    s.method = k->method;
    if (k->noise >= 0)
        s.noise = k->noise;
    s.components = k->components < 0 ? (int)T : k->components;
    s.noise_rank = k->noise_rank;
    s.ppca = k->ppca;
    if (k->kernel)
        s.sample_kernel = k->kernel;
    s.folds = folds;
    s.group = "none";
    s.calibrate = KN_CALIBRATE_NONE;
    s.max_evals = 30;
    return s;
}

typedef struct odd {
    char what[96];
    kn_mat X, Y;
    bool missing; /* some of Y is */
} odd;

static void odd_free(odd *o)
{
    free(o->X.data), free(o->Y.data);
}

/* A signal of the first covariate, something shared, noise of some size. */
static odd plain(uint64_t seed, ptrdiff_t N, ptrdiff_t T, double noise)
{
    kn_rng rng;
    odd o = {.what = "plain"};
    ref_rng_init(&rng, seed, 0);
    o.X = ref_normal(&rng, N, 2);
    o.Y = ref_normal(&rng, N, T);
    for (ptrdiff_t i = 0; i < N; i++) {
        double shared = kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(o.Y, j)[i] = noise * kn_at(o.Y, i, j) + shared * (double)(j % 3 - 1) +
                                kn_at(o.X, i, 0) * (double)(1 + j % 2);
    }
    return o;
}

static void check_block(const struct kind *k, const odd *o, const char *of, kn_maps *maps,
                        ptrdiff_t n, ptrdiff_t T)
{
    kn_mat mean = ref_new(n, T), var = ref_new(n, T);
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, mean, var));
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            if (!isfinite(kn_at(mean, i, j)) || !(kn_at(var, i, j) >= 0) ||
                !isfinite(kn_at(var, i, j)))
                fail_msg("%s, %s (N %td, T %td): %s of sample %td, response %td is %g, %g", k->name,
                         o->what, o->Y.rows, o->Y.cols, of, i, j, kn_at(mean, i, j),
                         kn_at(var, i, j));
    free(mean.data), free(var.data);
}

static void check_density(const struct kind *k, const odd *o, const char *of,
                          const kn_gp_maps *maps)
{
    kn_map_density_state density;
    assert_ok(ctx, kn_map_density_evaluate(ctx, maps, NULL, &density));
    for (ptrdiff_t i = 0; i < maps->n; i++)
        if (!isfinite(density.log_p[i]) || !(density.dev[i] >= 0))
            fail_msg("%s, %s (N %td, T %td): %s of sample %td has density %g, deviance %g", k->name,
                     o->what, o->Y.rows, o->Y.cols, of, i, density.log_p[i], density.dev[i]);
    kn_map_density_state_clear(&density);
}

static void check_model(const struct kind *k, const odd *o, const kn_model *m, int folds)
{
    ptrdiff_t N = m->gp.N, T = m->gp.T;
    kn_maps *maps;
    kn_gp_maps cv;
    kn_mat Xs = ref_new(N, o->X.cols);
    if (!isfinite(m->info.lml))
        fail_msg("%s, %s (N %td, T %td): LML %g", k->name, o->what, N, T, m->info.lml);
    for (ptrdiff_t j = 0; j < T; j++)
        if (!(m->gp.noise[j] > 0) || !isfinite(m->gp.noise[j]))
            fail_msg("%s, %s (N %td, T %td): noise %g", k->name, o->what, N, T, m->gp.noise[j]);
    for (ptrdiff_t i = 0; i < N * o->X.cols; i++)
        Xs.data[i] = 2 * o->X.data[i] + 0.1;
    assert_ok(ctx, kn_maps_predict(ctx, m, view(Xs), &maps));
    check_block(k, o, "prediction", maps, N, T);
    kn_maps_free(maps);
    if (!o->missing) {
        assert_ok(ctx, kn_maps_loo(ctx, m, view(o->Y), &maps));
        check_block(k, o, "left out", maps, N, T);
        kn_maps_free(maps);
        kn_responses Y = kn_responses_of(view(o->Y), &m->y);
        int *fold = calloc((size_t)N, sizeof *fold);
        for (ptrdiff_t i = 0; i < N; i++)
            fold[i] = (int)(i % (folds > 1 ? folds : 2));
        kn_cv_problem p = {.Y = &Y, .folds = folds > 1 ? folds : 2, .fold = fold};
        if (N > 3 && m->gp.psi) { /* else too few are left to train on; or it is structured noise */
            assert_ok(ctx, kn_gp_cv(ctx, &m->gp, &p, &cv));
            check_density(k, o, "held out", &cv);
            kn_gp_maps_clear(&cv);
        }
        free(fold);
    }
    free(Xs.data);
}

static void check_fit(const struct kind *k, const odd *o, int folds)
{
    kn_settings s = settings(k, o->Y.cols, folds);
    kn_model *m, *again;
    void *bytes;
    size_t n;
    kn_status status = kn_fit_arrays(ctx, view(o->X), view(o->Y), &s, &m);
    if (getenv("KN_SHOW"))
        print_message("%s, %s (N %td, T %td, %d folds): %s\n", k->name, o->what, o->Y.rows,
                      o->Y.cols, folds, status == KN_OK ? "fits" : kn_message(ctx));
    if (status != KN_OK) { /* what was asked for, or the data, are no good: never the numbers */
        if (status != KN_ERR_ARGUMENT && status != KN_ERR_DATA)
            fail_msg("%s, %s (N %td, T %td): %s", k->name, o->what, o->Y.rows, o->Y.cols,
                     kn_message(ctx));
        return;
    }
    check_model(k, o, m, folds);
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &n));
    assert_ok(ctx, kn_model_from_bytes(ctx, bytes, n, &again));
    kn_model_free(again);
    kn_bytes_free(bytes);
    kn_model_free(m);
}

static void check_all(odd o, int folds)
{
    for (int k = 0; k < N_KINDS; k++)
        check_fit(&KINDS[k], &o, folds);
    odd_free(&o);
}

static void few_of_everything(void **state)
{
    (void)state;
    for (ptrdiff_t N = 1; N <= 5; N++)
        for (ptrdiff_t T = 1; T <= 4; T++)
            for (int folds = 0; folds <= 3; folds++)
                if (folds != 1)
                    check_all(plain((uint64_t)(10 * N + T), N, T, 1), folds);
}

static void more_responses_than_participants_and_fewer(void **state)
{
    (void)state;
    check_all(plain(1, 8, 30, 1), 4);
    check_all(plain(2, 30, 8, 1), 4);
    check_all(plain(3, 12, 9, 1), 2); /* as a whole more participants, in a fold fewer */
    check_all(plain(4, 10, 10, 1), 5);
}

static void hardly_any_noise_and_a_lot(void **state)
{
    (void)state;
    static const double SIZE[] = {0, 1e-8, 1e-3, 1e4};
    for (int s = 0; s < 4; s++) {
        odd o = plain(5, 20, 6, SIZE[s]), p = plain(6, 7, 16, SIZE[s]);
        snprintf(o.what, sizeof o.what, "noise of %g", SIZE[s]);
        snprintf(p.what, sizeof p.what, "noise of %g", SIZE[s]);
        check_all(o, 4);
        check_all(p, 3);
    }
}

/* The same response twice, the sum of others, and nothing but copies. */
static void responses_that_depend_on_others(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        for (ptrdiff_t N = 6; N <= 24; N += 18) {
            odd o = plain(7, N, 8, 1);
            snprintf(o.what, sizeof o.what, "dependence %d", kind);
            for (ptrdiff_t i = 0; i < N; i++) {
                kn_col(o.Y, 7)[i] = kn_at(o.Y, i, 0);
                if (kind > 0)
                    kn_col(o.Y, 6)[i] = kn_at(o.Y, i, 1) + kn_at(o.Y, i, 2);
                for (ptrdiff_t j = 2; kind == 2 && j < 8; j++)
                    kn_col(o.Y, j)[i] = kn_at(o.Y, i, j % 2);
            }
            check_all(o, 3);
        }
}

/* One participant alone has another value: where they are held out nothing varies. */
static void a_response_that_varies_by_one_participant(void **state)
{
    (void)state;
    for (ptrdiff_t T = 3; T <= 24; T += 21)
        for (int what = 0; what < 2; what++) {
            odd o = plain(8, 12, T, 1);
            snprintf(o.what, sizeof o.what, "one person, %d", what);
            for (ptrdiff_t i = 0; i < 12; i++)
                kn_col(o.Y, 1)[i] = (what ? 0.1 : 0) + (i == 4 ? 1 : 0);
            check_all(o, 3);
        }
}

static void covariates_without_information(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 9, 0);
    for (ptrdiff_t T = 5; T <= 25; T += 20) {
        odd o = plain(9, 15, T, 1);
        free(o.X.data);
        o.X = ref_normal(&rng, 15, 3);
        snprintf(o.what, sizeof o.what, "covariates of no use");
        check_all(o, 5);
    }
}

static void missing_cells(void **state)
{
    (void)state;
    for (ptrdiff_t T = 6; T <= 26; T += 20) {
        odd o = plain(10, 16, T, 1);
        o.missing = true;
        snprintf(o.what, sizeof o.what, "missing cells");
        for (ptrdiff_t i = 0; i < 16; i++)
            if (i % 3 == 0)
                kn_col(o.Y, (5 * i) % T)[i] = NAN;
        check_all(o, 4);
    }
}

TEST_PROGRAM(methods_edge_cases)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_of_everything),
        cmocka_unit_test(more_responses_than_participants_and_fewer),
        cmocka_unit_test(hardly_any_noise_and_a_lot),
        cmocka_unit_test(responses_that_depend_on_others),
        cmocka_unit_test(a_response_that_varies_by_one_participant),
        cmocka_unit_test(covariates_without_information),
        cmocka_unit_test(missing_cells),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
