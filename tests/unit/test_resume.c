/* A fit that is interrupted and begun again: the same model, byte for byte. */
#include "covs.h"

#include "checkpoints.h"

#include "gp/search.h"

/* However much of the journal was written, the fit that goes on from it gives the model of one that
 * was never interrupted, and ends with the same journal. */
/* How many steps it keeps. */
static int resumes(ptrdiff_t N, ptrdiff_t T, const kn_settings *o)
{
    problem p = new_problem(N, T);
    kn_model *m;
    size_t size, all;
    counter first = {.cancel_after = -1};
    assert_ok(ctx, kn_fit_arrays(ctx, view(p.X), view(p.Y), o, &m));
    assert_ok(ctx, kn_model_save(ctx, m, "plain", 0));
    kn_model_free(m);
    void *plain = read_whole("plain", &size);
    assert_ok(ctx, fit_journalled(p, o, &first, &m));
    assert_ok(ctx, kn_model_save(ctx, m, "m", 1));
    kn_model_free(m);
    assert_same_file("m", plain, size);
    assert_int_equal(first.known, 0);
    assert_true(first.noted >= 3);
    char *journal = read_whole(FILE_NAME, &all), *line = memchr(journal, '\n', all);
    size_t head = (size_t)(line - journal) + 1;
    for (int part = 0; part <= 8; part += repeat(1, 4)) {
        counter again = {.cancel_after = -1};
        scratch_file(FILE_NAME, journal, head + (all - head) * (size_t)part / 8);
        lines.level = KN_LOG_INFO;
        assert_ok(ctx, fit_journalled(p, o, &again, &m));
        assert_ok(ctx, kn_model_save(ctx, m, "m", 1));
        kn_model_free(m);
        assert_same_file("m", plain, size);
        assert_same_file(FILE_NAME, journal, all);
        assert_int_equal(again.known + again.noted, first.noted);
        assert_true(part == 0 ? again.known == 0 : part < 4 || again.known > 0);
        assert_true(part < 8 || again.noted == 0);
    }
    free(journal);
    free(plain);
    free_problem(p);
    scratch_empty();
    return (int)first.noted;
}

static void structured_noise_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.components = 3;
    o.restarts = 1;
    resumes(40, 6, &o);
    o.restarts = 0;
    resumes(160, 6, &o); /* with a subsample */
    o.max_evals = 4;
    resumes(40, 6, &o);
}

/* Dense by way of a subsample, of low rank, and with groups; components by the curve. */
static void the_additive_model_resumes(void **state)
{
    (void)state;
    kn_settings o;
    int group[170];
    for (int i = 0; i < 170; i++)
        group[i] = i / 2;
    for (int low = 0; low < 2; low++)
        for (int groups = 0; groups < 2; groups++) {
            kn_settings_init(&o);
            o.folds = 2;
            o.rank = low ? 40 : KN_RANK_AUTO;
            o.groups = groups ? group : NULL;
            resumes(170, 6, &o);
        }
}

static void choice_of_components_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    resumes(40, 8, &o);
}

static void iso_noise_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.noise = KN_NOISE_ISO;
    o.components = 3;
    resumes(40, 6, &o);
    resumes(155, 6, &o);
    o.task_kernel = "linear+se+iso";
    o.restarts = 1;
    resumes(30, 6, &o);
    o.likelihood = KN_PAPER;
    o.sample_kernel = "se";
    resumes(30, 6, &o);
}

static void low_rank_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.components = 3;
    o.rank = 9;
    resumes(60, 6, &o);
    resumes(160, 6, &o);
    o.noise = KN_NOISE_ISO;
    o.optimiser = KN_LBFGS;
    o.max_evals = 30;
    resumes(60, 6, &o);
}

/* An engine whose few pivots do not suffice is dense from then on, also when it is told so. */
static void a_low_rank_that_turned_dense_resumes(void **state)
{
    (void)state;
    problem p = new_problem(60, 6);
    kn_settings fo = options();
    kn_spec spec = {.sample = cov_of("linear+se", 2), .rank = 12, .rank_auto = true};
    kn_search_options o = {
        .limits = {.evals_left = -1}, .optimise = true, .rho = 0.1, .length = 30, .seed = 1};
    kn_found found[10];
    double c[10][6];
    size_t all = 0, head = 0;
    char *journal = NULL;
    for (int part = 0; part < 10; part++) {
        kn_engine e = {0};
        kn_checkpoint *k;
        if (part > 0)
            scratch_file(FILE_NAME, journal, head + (all - head) * (size_t)(part - 1) / 8);
        assert_ok(ctx, kn_checkpoint_open(ctx, FILE_NAME, view(p.X), view(p.Y), &fo, &k));
        o.journal = kn_checkpoint_journal(k);
        assert_ok(ctx, engine_over(ctx, &spec, p.X, p.Y, 6, 0, 1, &e));
        assert_ok(ctx, kn_search(ctx, &e, &o, &found[part]));
        assert_int_equal(e.spec.rank, 0);
        memcpy(c[part], e.c, sizeof c[part]);
        kn_engine_clear(&e);
        kn_checkpoint_free(k);
        if (part == 0) {
            journal = read_whole(FILE_NAME, &all);
            head = (size_t)((char *)memchr(journal, '\n', all) - journal) + 1;
        }
        assert_same_file(FILE_NAME, journal, all);
        assert_memory_equal(c[part], c[0], sizeof c[0]);
        assert_true(found[part].lml == found[0].lml && found[part].evals == found[0].evals);
    }
    free(journal);
    free_problem(p);
    scratch_empty();
}

static void joint_optimisers_resume(void **state)
{
    (void)state;
    kn_settings o = options();
    o.noise = KN_NOISE_ISO;
    o.likelihood = KN_PAPER;
    o.components = 3;
    o.optimiser = KN_TNEWTON;
    o.task_kernel = "linear+se+iso";
    o.max_evals = 60;
    resumes(30, 6, &o);
    o.likelihood = KN_EXACT;
    o.task_kernel = NULL;
    o.optimiser = KN_LBFGS;
    o.restarts = 1;
    resumes(30, 6, &o);
}

static void stgpr_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.method = "stgpr";
    resumes(30, 5, &o);
    o.max_evals = 30;
    resumes(30, 5, &o);
}

static void plain_stgpr_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.method = "stgpr";
    o.plain = 1;
    o.restarts = 2;
    resumes(25, 5, &o);
    o.max_evals = 60;
    resumes(25, 5, &o);
}

static void kronprod_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.method = "kronprod";
    resumes(30, 6, &o);
    o.task_kernel = "se+iso";
    resumes(25, 5, &o);
}

static void kronsum_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.method = "kronsum";
    o.folds = 3;
    o.max_evals = 30;
    resumes(30, 4, &o);
    o.shrinkage = 0;
    resumes(25, 3, &o);
}

static void convolved_processes_resume(void **state)
{
    (void)state;
    kn_settings o;
    kn_settings_init(&o);
    o.method = "convolved";
    o.folds = 2;
    o.components = 2;
    o.max_evals = 12;
    resumes(30, 5, &o);
    o.inducing = KN_INDUCING_PITC;
    o.restarts = 1;
    o.max_evals = 4;
    resumes(25, 5, &o);
}

static void mtgpr_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    o.method = "mtgpr";
    o.components = 2;
    int steps = resumes(30, 6, &o);
    o.folds = 0;
    assert_true(steps >= resumes(30, 6, &o) + 2); /* each fold keeps its own */
    o.folds = 2;
    o.noise_rank = 1;
    o.ppca = true;
    resumes(25, 5, &o);
}

/* What a step gives after kn_cancel need not be what it would have given. */
static void a_cancelled_fit_resumes(void **state)
{
    (void)state;
    kn_settings o = options();
    problem p = new_problem(40, 6);
    kn_model *m;
    size_t size;
    o.components = 3;
    for (int noise = 0; noise < 2; noise++) {
        o.noise = noise;
        counter count = {.cancel_after = -1};
        assert_ok(ctx, fit_journalled(p, &o, &count, &m));
        assert_ok(ctx, kn_model_save(ctx, m, "plain", 1));
        kn_model_free(m);
        void *plain = read_whole("plain", &size);
        unlink(FILE_NAME);
        for (int after = 1; after < count.noted; after += repeat(9, 40)) {
            counter cut = {.cancel_after = after}, rest = {.cancel_after = -1};
            kn_status status = fit_journalled(p, &o, &cut, &m);
            assert_true(status == KN_OK || status == KN_ERR_CANCELLED);
            kn_model_free(m);
            kn_cancel_clear(ctx);
            assert_ok(ctx, fit_journalled(p, &o, &rest, &m));
            assert_true(rest.known == after);
            assert_ok(ctx, kn_model_save(ctx, m, "m", 1));
            kn_model_free(m);
            assert_same_file("m", plain, size);
            unlink(FILE_NAME);
        }
        free(plain);
    }
    free_problem(p);
    scratch_empty();
}

TEST_PROGRAM(resume)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structured_noise_resumes),
        cmocka_unit_test(the_additive_model_resumes),
        cmocka_unit_test(choice_of_components_resumes),
        cmocka_unit_test(iso_noise_resumes),
        cmocka_unit_test(low_rank_resumes),
        cmocka_unit_test(a_low_rank_that_turned_dense_resumes),
        cmocka_unit_test(joint_optimisers_resume),
        cmocka_unit_test(stgpr_resumes),
        cmocka_unit_test(plain_stgpr_resumes),
        cmocka_unit_test(kronprod_resumes),
        cmocka_unit_test(kronsum_resumes),
        cmocka_unit_test(convolved_processes_resume),
        cmocka_unit_test(mtgpr_resumes),
        cmocka_unit_test(a_cancelled_fit_resumes),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
