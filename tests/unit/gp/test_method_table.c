/* The table of methods. */
#include "support/test.h"

#include "gp/method.h"

static kn_ctx *ctx;

static void every_row_is_complete(void **state)
{
    (void)state;
    assert_true(kn_method_count() > 0);
    for (int i = 0; i < kn_method_count(); i++) {
        const kn_method *m = kn_method_at(i);
        assert_non_null(m);
        assert_true(m->name && m->name[0] && m->title && m->title[0]);
        assert_true(m->words && m->cite && m->paper);
        assert_ptr_equal(kn_method_find(m->name), m);
        assert_true(m->fit && m->predict && m->loo && m->cv && m->block && m->covariance);
        assert_true(m->arrays && m->bytes);
        assert_true(!m->independent_responses ||
                    m->clear); /* something of its own, and who clears it */
        assert_false(m->independent_responses &&
                     (m->components || m->identity || m->held_out_once));
    }
}

static void unknown_methods_are_not_found(void **state)
{
    (void)state;
    assert_null(kn_method_find("smtgp"));
    assert_null(kn_method_find(""));
    assert_null(kn_method_at(-1));
    assert_null(kn_method_at(kn_method_count()));
}

static void what_a_method_has_no_use_for_is_refused_by_name(void **state)
{
    (void)state;
    kn_settings s;
    struct {
        const char *sentence; /* NULL: fine */
        kn_settings s;
    } cases[16];
    int n = 0;
#define CASE(method_name, said, change)                                                            \
    (plain_settings(&s), s.method = method_name, (change), cases[n].sentence = said,               \
     cases[n++].s = s)
    static const double theta[1];
    CASE("smtgpr", NULL, s.rank = 5);
    CASE("smtgpr", "S-MTGPR does not use plain: only STGPR has it", s.plain = true);
    CASE("kronprod", "MT-Kronprod does not use components: every response is its own task",
         s.components = 3);
    CASE("kronprod", NULL, s.noise = KN_NOISE_ISO);
    CASE("stgpr", "STGPR does not use noise iso: each response is modelled separately",
         s.noise = KN_NOISE_ISO);
    CASE("stgpr", "STGPR does not use theta: it starts from rho and length", s.theta_start = theta);
    CASE("stgpr", NULL, (s.theta_start = theta, s.plain = true));
    CASE("stgpr", NULL, s.rho = 0.5);
    CASE("stgpr", "STGPR does not use rho: a plain fit starts from theta",
         (s.rho = 0.5, s.plain = true));
    CASE("kronsum",
         "MT-Kronsum does not use components: its covariances of signal and noise are free",
         s.components = 3);
    CASE("kronsum", NULL, s.shrinkage = KN_SHRINKAGE_INF);
    CASE("smtgpr", "smtgpr does not use {shrinkage}: only kronsum has it", s.shrinkage = 100);
#undef CASE
    for (int i = 0; i < n; i++) {
        kn_status status = kn_settings_check_method(ctx, &cases[i].s);
        if (cases[i].sentence)
            assert_refused(ctx, status, KN_ERR_ARGUMENT, cases[i].sentence);
        else
            assert_ok(ctx, status);
    }
}

TEST_PROGRAM(gp_method_table)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_complete),
        cmocka_unit_test(unknown_methods_are_not_found),
        cmocka_unit_test(what_a_method_has_no_use_for_is_refused_by_name),
    };
    int failed = cmocka_run_group_tests_name("method", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
