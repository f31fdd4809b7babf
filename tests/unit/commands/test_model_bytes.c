/* Models of participants in memory: bytes and back, progress of the search, and what goes
 * wrong. */
#include "support/failing.h"
#include "support/participants.h"

static void a_model_with_one_byte_changed_is_refused(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, d, "noise=iso components=2 folds=4 max_evals=20"), *none;
    void *bytes;
    size_t n;
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &n));
    unsigned char *b = bytes;
    /* Each bit in turn, and once all of them. A step of 7 meets all nine changes, too. */
    for (size_t at = 0; at < n; at += (size_t)repeat(1, 7)) {
        unsigned char change = at % 9 == 8 ? 0xff : (unsigned char)(1 << at % 9);
        b[at] ^= change;
        none = (kn_model *)&ctx;
        if (kn_model_from_bytes(ctx, b, n, &none) == KN_OK)
            fail_msg("byte %zu of %zu", at, n);
        assert_null(none);
        assert_true(strlen(kn_message(ctx)) > 10);
        b[at] ^= change;
    }
    assert_ok(ctx, kn_model_from_bytes(ctx, b, n, &none));
    kn_model_free(none);
    kn_bytes_free(bytes);
    kn_model_free(m);
    kn_data_free(d);
}

static void a_model_goes_to_bytes_and_back(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, d, "noise=iso components=2 folds=4 max_evals=20"), *back;
    void *a, *b;
    size_t n, k;
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &a, &n));
    assert_ok(ctx, kn_model_from_bytes(ctx, a, n, &back));
    assert_ok(ctx, kn_model_to_bytes(ctx, back, &b, &k));
    assert_int_equal(n, k);
    assert_memory_equal(a, b, n);
    assert_ok(ctx, kn_model_save(ctx, m, "m.safetensors", 0));
    char *file = malloc(n + 1);
    assert_int_equal(scratch_read("m.safetensors", file, n + 1), n);
    assert_memory_equal(a, file, n);
    free(file);
    unlink("m.safetensors");
    assert_true(kn_model_number(back, "lml") == kn_model_number(m, "lml"));
    assert_string_equal(kn_model_text(back, "noise"), "iso");
    assert_string_equal(kn_model_text(back, "method"), "smtgpr");
    assert_null(kn_model_text(back, "lml"));
    assert_true(isnan(kn_model_number(back, "beauty")));
    assert_true(isfinite(kn_model_number(m, "seconds.fit")));
    assert_true(isnan(kn_model_number(back, "seconds.fit"))); /* not in the bytes */
    kn_view theta = kn_model_array(back, "theta"), gradient = kn_model_array(back, "gradient");
    assert_int_equal(theta.rows, (int)kn_model_number(back, "n_theta"));
    assert_int_equal(gradient.rows, theta.rows);
    assert_non_null(kn_model_text(back, "theta.0"));
    assert_null(kn_model_text(back, "theta.99"));
    assert_null(kn_model_array(back, "beauty").data);
    for (size_t cut = 0; cut < n; cut += 1 + n / 50) {
        kn_model *none = (kn_model *)&ctx;
        assert_int_not_equal(kn_model_from_bytes(ctx, a, cut, &none), KN_OK);
        assert_null(none);
    }
    kn_bytes_free(a);
    kn_bytes_free(b);
    kn_bytes_free(NULL);
    kn_model_free(back);
    kn_model_free(m);
    kn_data_free(d);
}

static void progress_names_the_search_for_components(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES);
    kn_model *m = fit_data(ctx, d, "folds=0");
    int n = (int)kn_model_number(m, "n_curve");
    kn_view P = kn_model_array(m, "curve.components"), msll = kn_model_array(m, "curve.msll");
    assert_true(n >= 2 && P.rows == n && msll.rows == n);
    for (int k = 0; k < n; k++) {
        assert_true(kn_view_at(P, k, 0) == m->info.curve[k].components);
        assert_true(kn_view_at(msll, k, 0) == m->info.curve[k].msll);
    }
    kn_model_free(m);
    kn_data_free(d);
}

/* ---- what goes wrong ---------------------------------------------------------------------------
 */

static kn_status everything(void)
{
    kn_data *d = NULL;
    kn_options *o = NULL;
    kn_model *m = NULL, *back = NULL;
    kn_scores *s = NULL, *predicted = NULL;
    void *bytes = NULL;
    size_t n;
    kn_status status;
    KN_TRY(kn_data_new(ctx, 12, &d));
    KN_TRY(kn_data_ids(ctx, d, p.id));
    KN_TRY(kn_data_numbers(ctx, d, "age", p.age, 1));
    KN_TRY(kn_data_responses(ctx, d, kn_view_rows(p.y, 12, T), NAMES));
    KN_TRY(kn_options_new(ctx, "fit", &o));
    KN_TRY(kn_options_set(ctx, o, "components", "1"));
    KN_TRY(kn_options_set(ctx, o, "folds", "3"));
    KN_TRY(kn_fit(ctx, d, o, &m));
    KN_TRY(kn_model_to_bytes(ctx, m, &bytes, &n));
    KN_TRY(kn_model_from_bytes(ctx, bytes, n, &back));
    KN_TRY(kn_score(ctx, back, d, NULL, &s));
    KN_TRY(kn_predict(ctx, back, d, NULL, &predicted));
out:
    kn_scores_free(predicted);
    kn_scores_free(s);
    kn_bytes_free(bytes);
    kn_model_free(back);
    kn_model_free(m);
    kn_options_free(o);
    kn_data_free(d);
    return status;
}

static void cancel(void *user, const kn_progress *progress)
{
    assert_true(progress->size >= sizeof *progress);
    (void)user;
    kn_cancel(ctx);
}

static void a_cancelled_fit_is_the_best_model_so_far_or_none(void **state)
{
    (void)state;
    kn_data *d = in_memory(N, NAMES);
    kn_options *o = options_of(ctx, "fit", "components=2 output=m.safetensors");
    kn_model *m = NULL;
    kn_set_progress(ctx, cancel, NULL);
    kn_status status = kn_fit(ctx, d, NULL, &m);
    assert_true(status == KN_ERR_CANCELLED ||
                (status == KN_OK && strcmp(kn_model_text(m, "stop"), "cancelled") == 0));
    kn_model_free(m);
    kn_cancel_clear(ctx);
    assert_refused(ctx, kn_fit(ctx, d, o, &m), KN_ERR_CANCELLED, "stopped on request");
    assert_null(m);
    assert_int_not_equal(access("m.safetensors", F_OK), 0);
    kn_set_progress(ctx, NULL, NULL);
    kn_cancel_clear(ctx);
    kn_options_free(o);
    kn_data_free(d);
}

static int open_fixture(void **state)
{
    ctx = kn_ctx_new();
    if (scratch_enter(state) != 0)
        return -1;
    make_participants();
    return 0;
}

static int close_fixture(void **state)
{
    int status = scratch_leave(state);
    kn_ctx_free(ctx);
    return status;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(commands_model_bytes, open_fixture, close_fixture)
{
    kn_status status = KN_ERR_MEMORY;
    long k = 1;
    for (; status == KN_ERR_MEMORY && k < 20000; k += 1 + k / 40) { /* the sanitizer looks on */
        kn_fail_allocation(ctx, k);
        status = everything();
    }
    kn_fail_allocation(ctx, 0);
    assert_int_equal(status, KN_OK);
    assert_true(k > 200);
}

TEST_PROGRAM(commands_model_bytes)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_goes_to_bytes_and_back),
        cmocka_unit_test(a_model_with_one_byte_changed_is_refused),
        cmocka_unit_test(progress_names_the_search_for_components),
        cmocka_unit_test(a_cancelled_fit_is_the_best_model_so_far_or_none),
    };
    return cmocka_run_group_tests_name("data_models", tests, open_fixture, close_fixture);
}
