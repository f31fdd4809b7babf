/* The table of methods. */
#include "test.h"

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
        assert_ptr_equal(kn_method_find(m->name), m);
        assert_int_equal(kn_method_number(m), i);
        assert_true(m->fit && m->predict && m->loo && m->cv && m->block && m->covariance);
        assert_true(m->known_noise && m->arrays && m->bytes && m->batch);
        assert_true(m->alone == (m->clear != NULL)); /* something of its own, and who clears it */
        assert_false(m->alone && (m->components || m->identity || m->held_out_once));
        assert_non_null(m->misfits);
        for (const kn_misfit *f = m->misfits; f->key; f++)
            assert_true(f->key[0] && f->said && f->said[0] && f->reason && f->reason[0]);
    }
}

static void unknown_methods_are_not_found(void **state)
{
    (void)state;
    assert_null(kn_method_find("mtgpr"));
    assert_null(kn_method_find(""));
    assert_null(kn_method_at(-1));
    assert_null(kn_method_at(kn_method_count()));
}

typedef struct options {
    const char *set[3]; /* ends with NULL */
} options;

static bool is_set(const void *self, const char *key)
{
    const options *o = self;
    for (const char *const *s = o->set; *s; s++)
        if (strcmp(*s, key) == 0)
            return true;
    return false;
}

static void what_a_method_has_no_use_for_is_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        options o;
        const char *sentence; /* NULL: fine */
    } cases[] = {
        {"smtgpr", {{0}}, NULL},
        {"smtgpr", {{"components", "rank"}}, NULL},
        {"smtgpr", {{"plain"}}, "S-MTGPR has no use for plain: it is STGPR's"},
        {"kronprod",
         {{"components"}},
         "MT-Kronprod has no use for components: every response is its own task"},
        {"kronprod", {{"noise"}}, NULL},
        {"stgpr", {{"noise"}}, "STGPR has no use for noise iso: each response is modelled alone"},
        {"stgpr", {{"theta"}}, "STGPR has no use for theta: it starts from rho and length"},
        {"stgpr", {{"theta", "plain"}}, NULL},
        {"stgpr", {{"rho"}}, NULL},
        {"stgpr", {{"rho", "plain"}}, "STGPR has no use for rho: a plain fit starts from theta"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const kn_method *m = kn_method_find(cases[i].method);
        if (cases[i].sentence)
            assert_refused(ctx, kn_method_check(ctx, m, is_set, &cases[i].o), KN_ERR_ARGUMENT,
                           cases[i].sentence);
        else
            assert_ok(ctx, kn_method_check(ctx, m, is_set, &cases[i].o));
    }
}

int main(void)
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
