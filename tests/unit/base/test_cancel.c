/* A request to stop may come at any time: at every look that the library takes at it in turn, the
 * call returns with nothing or with a model that says so, holds no memory, and the context works
 * again. Linked with --wrap=kn_cancelled and --wrap=kn_check_cancel. */
#include "support/calls.h"

#include <stdatomic.h>

#include "base/random.h"

enum { N = 60, NEW = 8, T = 30 };

static double age[N], Y[N * T];
static const char *site[N], *other[NEW];
static atomic_long left; /* looks until one finds the request; 0: none does */

bool __real_kn_cancelled(const kn_ctx *ctx);
bool __wrap_kn_cancelled(const kn_ctx *ctx);
kn_status __real_kn_check_cancel(kn_ctx *ctx);
kn_status __wrap_kn_check_cancel(kn_ctx *ctx);

static void look(const kn_ctx *ctx)
{
    if (atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1)
        kn_cancel((kn_ctx *)ctx);
}

bool __wrap_kn_cancelled(const kn_ctx *ctx)
{
    look(ctx);
    return __real_kn_cancelled(ctx);
}

kn_status __wrap_kn_check_cancel(kn_ctx *ctx)
{
    look(ctx);
    return __real_kn_check_cancel(ctx);
}

static void make_participants(void)
{
    static const char *const sites[] = {"Oslo", "Rome", "Bern"};
    kn_rng rng;
    ref_rng_init(&rng, 8, 0);
    for (int i = 0; i < N; i++) {
        double shared = kn_rng_normal(&rng);
        age[i] = 20 + 60 * kn_rng_uniform(&rng);
        site[i] = sites[i % 3];
        for (int j = 0; j < T; j++)
            Y[i * T + j] = 0.02 * age[i] * (j % 4) + shared * (j % 3) + kn_rng_normal(&rng);
    }
    for (int i = 0; i < NEW; i++)
        other[i] = "Paris";
}

static kn_data *participants(kn_ctx *ctx, ptrdiff_t n, const char *const *sites)
{
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, n, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", age, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "site", sites));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(Y, n, T), NULL));
    return d;
}

typedef struct call {
    kn_status (*make)(kn_ctx *ctx, const kn_model *model, kn_data *data, const kn_options *options);
    const kn_model *model;
    kn_data *data;
    const kn_options *options;
} call;

static const char *stop; /* of the model that came back */

static kn_status fit(kn_ctx *ctx, const kn_model *model, kn_data *data, const kn_options *options)
{
    static char text[32];
    kn_model *m = NULL;
    kn_status status = kn_fit(ctx, data, options, &m);
    (void)model;
    assert_true((status == KN_OK) == (m != NULL));
    if (m)
        snprintf(text, sizeof text, "%s", kn_model_text(m, "stop"));
    stop = text;
    kn_model_free(m);
    return status;
}

static kn_status score(kn_ctx *ctx, const kn_model *model, kn_data *data, const kn_options *options)
{
    kn_scores *s = NULL;
    kn_status status = kn_score(ctx, model, data, options, &s);
    assert_true((status == KN_OK) == (s != NULL));
    kn_scores_free(s);
    return status;
}

static kn_status adapt(kn_ctx *ctx, const kn_model *model, kn_data *data, const kn_options *options)
{
    kn_model *m = NULL;
    kn_status status = kn_adapt(ctx, model, data, options, &m);
    assert_true((status == KN_OK) == (m != NULL));
    kn_model_free(m);
    return status;
}

/* At each look in turn, farther apart as they become many; how often it was stopped. */
static int stop_everywhere(kn_ctx *ctx, const call *c, bool keeps_best)
{
    int stopped = 0;
    assert_ok(ctx, c->make(ctx, c->model, c->data, c->options)); /* the data are settled by it */
    size_t before = kn_memory_now(ctx);
    for (long k = 1;; k += 1 + k / repeat(20, 5)) {
        atomic_store(&left, k);
        kn_status status = c->make(ctx, c->model, c->data, c->options);
        bool found = atomic_exchange(&left, 0) == 0;
        kn_cancel_clear(ctx);
        assert_int_equal(kn_memory_now(ctx), before);
        if (!found) {
            assert_int_equal(status, KN_OK);
            return stopped;
        }
        if (status == KN_OK) /* the best so far, or all but the last look's work was done */
            assert_true(keeps_best);
        else
            assert_refused(ctx, status, KN_ERR_CANCELLED, "stopped on request");
        stopped++;
    }
}

static void a_fit_stops_wherever_it_looks(void **state)
{
    (void)state;
    static const char *const how[] = {"folds=3", "folds=3 batch=site components=2",
                                      "method=stgpr folds=3", "noise=iso folds=3 components=2"};
    kn_ctx *ctx = kn_ctx_new();
    kn_data *d = participants(ctx, N, site);
    for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
        kn_options *o = options_of(ctx, "fit", how[k]);
        assert_true(stop_everywhere(ctx, &(call){fit, NULL, d, o}, true) > 10);
        assert_ok(ctx, fit(ctx, NULL, d, o));
        assert_string_not_equal(stop, "cancelled");
        kn_options_free(o);
    }
    kn_data_free(d);
    kn_ctx_free(ctx);
}

static void so_do_scoring_and_adapting(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_data *d = participants(ctx, N, site), *strangers = participants(ctx, NEW, other);
    kn_options *o = options_of(ctx, "fit", "folds=3 batch=site");
    kn_model *m;
    assert_ok(ctx, kn_fit(ctx, d, o, &m));
    assert_true(stop_everywhere(ctx, &(call){score, m, d, NULL}, false) > 2);
    assert_true(stop_everywhere(ctx, &(call){adapt, m, strangers, NULL}, false) > 0);
    kn_model_free(m);
    kn_options_free(o);
    kn_data_free(strangers);
    kn_data_free(d);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(base_cancel)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fit_stops_wherever_it_looks),
        cmocka_unit_test(so_do_scoring_and_adapting),
    };
    make_participants();
    return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
