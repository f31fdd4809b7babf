/* The optimiser for many variables: maxima that are known, bounds, limits, cancellation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "gp/optimise/optimise.h"
#include "support/test.h"

typedef struct problem {
    ptrdiff_t n;
    int calls, cancel_at;
    bool wall; /* not a number beyond 3 in any variable */
} problem;

/* Rosenbrock's valleys, pair by pair, upside down: the maximum is 0 at ones. */
static kn_status valleys(void *self, kn_ctx *ctx, const double *x, double *value, double *grad)
{
    problem *p = self;
    *value = 0;
    if (++p->calls == p->cancel_at)
        kn_cancel(ctx);
    for (ptrdiff_t i = 0; i < p->n; i += 2) {
        double a = 1 - x[i], b = x[i + 1] - x[i] * x[i];
        *value -= a * a + 100 * b * b;
        grad[i] = 2 * a + 400 * b * x[i];
        grad[i + 1] = -200 * b;
    }
    for (ptrdiff_t i = 0; p->wall && i < p->n; i++)
        if (fabs(x[i]) > 3)
            *value = NAN;
    return KN_OK;
}

/* -1/2 sum i (x_i - i)^2: the maximum in a box is the nearest point, each variable alone. */
static kn_status bowl(void *self, kn_ctx *ctx, const double *x, double *value, double *grad)
{
    problem *p = self;
    (void)ctx;
    p->calls++;
    *value = 0;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        double w = (double)(1 + i), e = x[i] - (double)i;
        *value -= 0.5 * w * e * e;
        grad[i] = -w * e;
    }
    return KN_OK;
}

static void start(ptrdiff_t n, double *x)
{
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = i % 2 ? 1 : -1.2;
}

static void finds_the_end_of_a_curved_valley(void **state)
{
    kn_ctx *ctx = kn_ctx_new();
    double x[200];
    (void)state;
    for (int wall = 0; wall < 2; wall++) {
        problem p = {.n = 200, .wall = wall};
        kn_limits limits = {.evals_left = -1};
        kn_large_options o = {.n = 200, .unit = 1, .f_tolerance = 1e-14};
        kn_large_optimum best = {.x = x};
        start(200, x);
        assert_int_equal(kn_maximise_large(ctx, &o, &limits, valleys, &p, &best), KN_OK);
        assert_int_equal(best.stop, KN_STOP_CONVERGED);
        assert_true(best.value > -1e-8 && best.evals < 300 && best.evals <= p.calls);
        for (int i = 0; i < 200; i++)
            assert_true(fabs(x[i] - 1) < 1e-3);
    }
    kn_ctx_free(ctx);
}

static void stays_inside_its_bounds(void **state)
{
    enum { N = 40 };
    kn_ctx *ctx = kn_ctx_new();
    double x[N] = {0}, lower[N], upper[N];
    problem p = {.n = N};
    kn_limits limits = {.evals_left = -1};
    kn_large_options o = {.n = N, .lower = lower, .upper = upper, .unit = 1, .f_tolerance = 1e-14};
    kn_large_optimum best = {.x = x};
    (void)state;
    for (int i = 0; i < N; i++) {
        lower[i] = i % 3 == 0 ? (double)i + 1 : -HUGE_VAL;
        upper[i] = i % 3 == 1 ? (double)i - 1 : HUGE_VAL;
    }
    assert_int_equal(kn_maximise_large(ctx, &o, &limits, bowl, &p, &best), KN_OK);
    for (int i = 0; i < N; i++) {
        double want = i % 3 == 0 ? i + 1 : i % 3 == 1 ? i - 1 : i;
        assert_true(fabs(x[i] - want) < (i % 3 == 2 ? 1e-5 : 1e-12));
    }
    assert_true(best.projected < 1e-5);
    kn_ctx_free(ctx);
}

static void stops_at_its_limits_with_the_best_point(void **state)
{
    kn_ctx *ctx = kn_ctx_new();
    double x[10], g[10], value;
    kn_large_options o = {.n = 10, .unit = 1, .f_tolerance = 1e-14};
    (void)state;
    for (int cancel = 0; cancel < 2; cancel++) {
        problem p = {.n = 10, .cancel_at = cancel ? 7 : 0};
        kn_limits limits = {.evals_left = cancel ? -1 : 7};
        kn_large_optimum best = {.x = x};
        start(10, x);
        assert_int_equal(kn_maximise_large(ctx, &o, &limits, valleys, &p, &best), KN_OK);
        assert_int_equal(best.stop, cancel ? KN_STOP_CANCELLED : KN_STOP_MAX_EVALS);
        assert_int_equal(best.evals, 7);
        problem again = {.n = 10};
        valleys(&again, ctx, x, &value, g);
        assert_true(value == best.value);
    }
    kn_large_optimum best = {.x = x};
    problem p = {.n = 10};
    kn_limits limits = {.evals_left = -1};
    assert_int_equal(kn_maximise_large(ctx, &o, &limits, valleys, &p, &best), KN_ERR_CANCELLED);
    kn_ctx_free(ctx);
}

static void refuses_a_start_without_a_value(void **state)
{
    kn_ctx *ctx = kn_ctx_new();
    double x[10];
    problem p = {.n = 10, .wall = true};
    kn_limits limits = {.evals_left = -1};
    kn_large_options o = {.n = 10, .unit = 1, .f_tolerance = 1e-14};
    kn_large_optimum best = {.x = x};
    (void)state;
    for (int i = 0; i < 10; i++)
        x[i] = 5;
    assert_int_equal(kn_maximise_large(ctx, &o, &limits, valleys, &p, &best), KN_ERR_NUMERIC);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(gp_lbfgs)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_end_of_a_curved_valley),
        cmocka_unit_test(stays_inside_its_bounds),
        cmocka_unit_test(stops_at_its_limits_with_the_best_point),
        cmocka_unit_test(refuses_a_start_without_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
