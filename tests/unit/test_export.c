/* A model to give away: it predicts as the model does, and nobody is in it. */
#include "test.h"
#include "views.h"

#include "base/rng.h"
#include "cov/interpolate.h"
#include "cov/lowrank.h"
#include "cov/synthetic.h"
#include "gp/method.h"
#include "gp/stgpr.h"
#include "model/file.h"
#include "norm/order.h"
#include "norm/quantiles.h"
#include "work/export.h"
#include "work/predictions.h"

static kn_ctx *ctx;
static kn_rng rng;

enum { NUMBERS = 3, SEX = NUMBERS, SITE, COLUMNS, SITES = 3, T = 7 };

typedef struct people {
    ptrdiff_t n;
    int numbers; /* of them in use; then sex and site, where there are levels */
    bool levels;
    kn_mat X, Y;
    int level[COLUMNS];
    int *group;
    kn_interaction slope;
    kn_design_options design;
    kn_settings s;
} people;

/* Numbers from 20 to 80, a course over the first that is no polynomial, shared by pairs. */
static people people_new(ptrdiff_t n, int numbers, bool levels)
{
    people p = {.n = n, .numbers = numbers, .levels = levels};
    int C = numbers + (levels ? 2 : 0);
    p.X = ref_new(n, C);
    p.Y = ref_normal(&rng, n, T);
    p.group = calloc((size_t)n, sizeof *p.group);
    for (ptrdiff_t i = 0; i < n; i++) {
        for (int k = 0; k < numbers; k++)
            kn_col(p.X, k)[i] = 20 + 60 * kn_rng_uniform(&rng);
        double x = (kn_at(p.X, i, 0) - 50) / 17, other = numbers > 1 ? kn_at(p.X, i, 1) / 30 : 0;
        int sex = (int)kn_rng_below(&rng, 2), site = (int)(i % SITES);
        if (levels) {
            kn_col(p.X, numbers)[i] = sex;
            kn_col(p.X, numbers + 1)[i] = site;
        }
        p.group[i] = (int)i / 2;
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(p.Y, j)[i] +=
                (j % 2 ? 2 : -1) * sin(2.5 * x) + 0.5 * x * x + other * other + (levels ? site : 0);
    }
    for (int k = 0; k < C; k++)
        p.level[k] = k < numbers ? 0 : k == numbers ? 2 : SITES;
    kn_settings_init(&p.s);
    p.s.folds = n < 10 ? 3 : 5;
    return p;
}

/* The defaults, by the design of the people, who stay where they are. */
static void by_design(people *p)
{
    p->design = (kn_design_options){.levels = p->level, .quadratic = -1};
    p->s.design = &p->design;
}

static kn_model *fit(const people *p)
{
    kn_model *m;
    assert_ok(ctx, kn_fit_arrays(ctx, view(p->X), view(p->Y), &p->s, &m));
    return m;
}

static void people_free(people *p)
{
    free(p->X.data), free(p->Y.data), free(p->group);
}

static kn_model *share(const kn_model *m, kn_export_info *info)
{
    kn_model *shared;
    *info = (kn_export_info){0};
    assert_ok(ctx, kn_export_model(ctx, m, 20, &shared, info));
    return shared;
}

/* By way of a file, as who is given it has it. */
static kn_model *given(kn_model *m)
{
    void *bytes, *again;
    size_t n, n_again;
    kn_model *out;
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &n));
    kn_model_free(m);
    assert_ok(ctx, kn_model_from_bytes(ctx, bytes, n, &out));
    assert_ok(ctx, kn_model_to_bytes(ctx, out, &again, &n_again));
    assert_int_equal(n, n_again);
    assert_memory_equal(bytes, again, n);
    kn_bytes_free(bytes), kn_bytes_free(again);
    return out;
}

/* ---- predictions ------------------------------------------------------------------------------
 */

/* People on a grid within the range of training, of all levels. */
static kn_mat grid_of(const people *p, const kn_model *m)
{
    enum { N = 777 };
    kn_mat X = ref_new(N, p->X.cols);
    for (ptrdiff_t i = 0; i < N; i++) {
        for (int k = 0; k < p->numbers; k++) {
            double low = m->x.column[k].min, high = m->x.column[k].max;
            double t = k == 0 ? (double)i / (N - 1) : kn_rng_uniform(&rng);
            kn_col(X, k)[i] = low + (high - low) * t;
        }
        if (p->levels) {
            kn_col(X, p->numbers)[i] = (double)(i % 2);
            kn_col(X, p->numbers + 1)[i] = (double)(i / 2 % SITES);
        }
    }
    return X;
}

typedef struct maps_of {
    kn_mat mean, var;
} maps_of;

static maps_of predict(const kn_model *m, kn_mat X)
{
    kn_maps *maps;
    maps_of out = {ref_new(X.rows, T), ref_new(X.rows, T)};
    assert_ok(ctx, kn_maps_predict(ctx, m, view(X), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, out.mean, out.var));
    kn_maps_free(maps);
    return out;
}

/* Fits, exports, and compares what the two say of people between those of training with what the
 * export said of its error; a few roundings more, because its points are others. */
static void agrees(people *p, double limit)
{
    kn_export_info info;
    kn_model *m = fit(p), *shared = given(share(m, &info));
    kn_mat X = grid_of(p, m);
    maps_of a = predict(m, X), b = predict(shared, X);
    double mean = 2 * fmax(info.mean, info.mean_between) + 1e-7;
    double sd = 2 * fmax(info.sd, info.sd_between) + 1e-7;
    assert_true(info.mean <= limit && info.mean_between <= limit);
    assert_true(info.sd <= limit && info.sd_between <= limit);
    assert_true(shared->shareable && !shared->ids && !shared->gp.latent.X.data);
    assert_int_equal(shared->info.n_samples, p->n);
    for (ptrdiff_t k = 0; k < m->y.n_kept; k++)
        for (ptrdiff_t i = 0; i < X.rows; i++) {
            ptrdiff_t j = m->y.kept[k];
            double one = m->y.sd[k], noise = m->gp.noise[k];
            assert_true(fabs(kn_at(a.mean, i, j) - kn_at(b.mean, i, j)) <= mean * one);
            assert_true(fabs(sqrt(kn_at(a.var, i, j) / one / one + noise) -
                             sqrt(kn_at(b.var, i, j) / one / one + noise)) <= sd);
        }
    free(a.mean.data), free(a.var.data), free(b.mean.data), free(b.var.data), free(X.data);
    kn_model_free(shared);
    kn_model_free(m);
}

static void one_number(void **state)
{
    (void)state;
    people p = people_new(60, 1, false);
    by_design(&p);
    agrees(&p, 1e-3);
    p.s.rank = -1; /* dense */
    agrees(&p, 1e-3);
    people_free(&p);
}

static void categories_and_interactions(void **state)
{
    (void)state;
    people p = people_new(90, 1, true);
    by_design(&p);
    agrees(&p, 1e-3);
    p.slope = (kn_interaction){2, 0};
    p.design.interactions = &p.slope;
    p.design.n_interactions = 1;
    agrees(&p, 1e-3);
    people_free(&p);
}

static void two_and_three_numbers(void **state)
{
    (void)state;
    for (int k = 2; k <= 3; k++) {
        people p = people_new(80, k, k == 2);
        by_design(&p);
        agrees(&p, KN_EXPORT_ERROR);
        people_free(&p);
    }
}

/* Else the variance without noise would be 0 at people and nowhere else, and tell where they are.
 */
static void what_no_prediction_sees_is_left_out(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        kn_export_info info;
        people p = people_new(60, 1, false);
        by_design(&p);
        p.s.rank = -1;
        p.s.method = k ? "stgpr" : "smtgpr";
        kn_model *m = fit(&p), *shared = share(m, &info);
        const kn_latent *l = &shared->gp.latent;
        const kn_stgpr *s = shared->gp.own;
        const kn_decomp *R0 = k ? &s->shared[(ptrdiff_t)s->cell[0]].R0 : &l->cell[0].R0;
        double delta = INFINITY;
        for (ptrdiff_t j = 0; k && j < T; j++)
            delta = s->cell[j] == s->cell[0] ? fmin(delta, s->delta[j]) : delta;
        for (ptrdiff_t j = 0; !k && j < l->P; j++)
            delta = fmin(delta, l->d[j] / l->c[j]);
        assert_true(isfinite(delta) && R0->r[0] > KN_EXPORT_CUT * delta);
        assert_true(2 * R0->m < p.n);
        kn_model_free(shared), kn_model_free(m);
        people_free(&p);
    }
}

static void sums_of_kernels_over_all_columns(void **state)
{
    (void)state;
    people p = people_new(70, 1, false);
    p.s.sample_kernel = "linear+se";
    agrees(&p, 1e-3);
    people_free(&p);
}

static void each_response_alone(void **state)
{
    (void)state;
    people p = people_new(60, 1, true);
    by_design(&p);
    p.s.method = "stgpr";
    agrees(&p, 1e-3);
    p.s.plain = true;
    agrees(&p, 1e-3);
    people_free(&p);
}

static void rows_that_share_noise(void **state)
{
    (void)state;
    people p = people_new(80, 1, true);
    for (ptrdiff_t i = 0; i < p.n; i += 2) /* what a pair has in common */
        for (ptrdiff_t j = 0; j < T; j++) {
            double e = 1.5 * kn_rng_normal(&rng);
            kn_col(p.Y, j)[i] += e;
            kn_col(p.Y, j)[i + 1] += e;
        }
    by_design(&p);
    p.s.groups = p.group;
    agrees(&p, 1e-3);
    kn_export_info info;
    kn_model *m = fit(&p), *shared = given(share(m, &info));
    double most = 0;
    for (ptrdiff_t k = 0; k < m->gp.P; k++) {
        most = fmax(most, m->gp.latent.gamma[k]);
        assert_true(shared->gp.latent.gamma[k] == m->gp.latent.gamma[k]);
    }
    assert_true(most > 0);
    assert_int_equal(shared->gp.latent.groups.n, 0);
    kn_model_free(m), kn_model_free(shared);
    p.s.method = "stgpr";
    agrees(&p, 1e-3);
    people_free(&p);
}

static void very_few_people_and_nothing_predicted(void **state)
{
    (void)state;
    people p = people_new(3, 1, false);
    by_design(&p);
    agrees(&p, 1e-3);
    people_free(&p);
    p = people_new(60, 1, false);
    free(p.Y.data);
    p.Y = ref_normal(&rng, p.n, T);
    by_design(&p);
    kn_model *m = fit(&p);
    assert_int_equal(m->gp.P, 0);
    kn_model_free(m);
    agrees(&p, 0);
    people_free(&p);
}

/* ---- nobody is in it --------------------------------------------------------------------------
 */

typedef struct haystack {
    const unsigned char *bytes;
    size_t n;
} haystack;

static bool holds(haystack h, const void *needle, size_t n)
{
    for (const unsigned char *at = h.bytes, *end = h.bytes + h.n; (size_t)(end - at) >= n; at++) {
        at = memchr(at, *(const unsigned char *)needle, (size_t)(end - at) - n + 1);
        if (!at)
            return false;
        if (memcmp(at, needle, n) == 0)
            return true;
    }
    return false;
}

/* As a double, a float or a text, at any byte. */
static void is_absent(haystack h, double x, const char *what)
{
    char text[40];
    float f = (float)x;
    int n = snprintf(text, sizeof text, "%.17g", x);
    if (!isfinite(x) || x == 0 || x == floor(x)) /* what everybody may have */
        return;
    if (holds(h, &x, sizeof x) || holds(h, &f, sizeof f) || (n > 8 && holds(h, text, (size_t)n)))
        fail_msg("%s %.17g is in the file", what, x);
}

static void are_absent(haystack h, const double *x, ptrdiff_t n, const char *what)
{
    for (ptrdiff_t i = 0; x && i < n; i++)
        is_absent(h, x[i], what);
}

static void search(const people *p, const kn_model *m, haystack h)
{
    const kn_reference *r = &m->reference;
    const kn_decomp *R0 = &m->gp.latent.cell[0].R0;
    for (ptrdiff_t c = 0; c < p->numbers; c++) {
        are_absent(h, kn_col(p->X, c), p->n, "a covariate");
        are_absent(h, kn_col(m->gp.latent.X, c), p->n, "a standardised covariate");
    }
    for (ptrdiff_t j = 0; j < T; j++)
        are_absent(h, kn_col(p->Y, j), p->n, "a response");
    if (m->gp.method->components) {
        kn_mat U = ref_new(p->n, R0->m);
        if (kn_decomp_is_low(R0))
            assert_ok(ctx, kn_decomp_vectors(ctx, R0, NULL, m->gp.latent.X, U));
        else
            kn_mat_set(U, R0->U);
        for (ptrdiff_t k = 0; k < R0->m; k++)
            are_absent(h, kn_col(U, k), p->n, "an entry of U");
        free(U.data);
    }
    are_absent(h, r->statistic, r->n, "a statistic");
    are_absent(h, r->mean_z, r->n, "a mean z");
    are_absent(h, r->extrapolation, r->n, "an extrapolation");
    are_absent(h, r->y_sum, r->n, "a sum of responses");
    are_absent(h, r->deviance.ref, r->n, "a deviance");
    are_absent(h, r->deviance_noise.ref, r->n, "a deviance by noise");
    for (ptrdiff_t i = 0; i < r->n * m->gp.T; i++)
        is_absent(h, (double)r->z[i], "a z");
}

static void nobody_is_in_the_file(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        kn_export_info info;
        void *bytes;
        size_t n;
        people p = people_new(60, k == 1 ? 2 : 1, true);
        by_design(&p);
        p.s.method = k == 2 ? "stgpr" : "smtgpr";
        p.s.rank = k == 1 ? -1 : 0;
        kn_model *m = fit(&p);
        assert_non_null(m->reference.z);
        /* what is searched for is there in the model itself */
        assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &n));
        assert_true(holds((haystack){bytes, n}, &m->reference.statistic[3], sizeof(double)));
        assert_true(holds((haystack){bytes, n}, &m->gp.latent.X.data[3], sizeof(double)));
        kn_bytes_free(bytes);
        kn_model *shared = share(m, &info);
        assert_ok(ctx, kn_model_to_bytes(ctx, shared, &bytes, &n));
        search(&p, m, (haystack){bytes, n});
        kn_bytes_free(bytes);
        kn_model_free(shared), kn_model_free(m);
        people_free(&p);
    }
}

static void ranges_are_rounded_outward(void **state)
{
    (void)state;
    double low = 18.37, high = 88.91;
    kn_round_outward(&low, &high);
    assert_close(low, 18, 1e-12);
    assert_close(high, 89, 1e-12);
    low = -0.00213, high = 0.00871;
    kn_round_outward(&low, &high);
    assert_close(low, -0.0022, 1e-12);
    assert_close(high, 0.0088, 1e-12);
    low = high = 3.3;
    kn_round_outward(&low, &high);
    assert_true(low == 3.3 && high == 3.3);
    for (int k = 0; k < 1000; k++) {
        double a = 1000 * kn_rng_normal(&rng), b = a + exp(5 * kn_rng_normal(&rng)), x = a, y = b;
        kn_round_outward(&x, &y);
        assert_true(x <= a && y >= b && a - x <= 0.02 * (b - a) && y - b <= 0.02 * (b - a));
    }
}

/* Of sites that a model was adapted to: twentieths of what the model says of training. */
static void ranges_of_controls_are_not_theirs(void **state)
{
    (void)state;
    kn_design_column column[2] = {{.min = 20, .max = 80}, {.min = 3, .max = 3, .constant = true}};
    kn_design d = {.C = 2, .column = column};
    double low = 33.37, high = 88.91;
    kn_adapted_round(&d, 0, &low, &high);
    assert_close(low, 32, 1e-12);
    assert_close(high, 89, 1e-12);
    low = high = 1.57;
    kn_adapted_round(&d, 1, &low, &high);
    assert_true(isnan(low) && isnan(high));
}

/* ---- quantiles --------------------------------------------------------------------------------
 */

/* How wrong ranks are, in people: of values between, and of those themselves. */
static ptrdiff_t rank_error(const double *x, ptrdiff_t n, bool whole)
{
    kn_quantiles q;
    ptrdiff_t worst = 0;
    double *s = calloc((size_t)n, sizeof *s), *e = calloc((size_t)n, sizeof *e);
    memcpy(s, x, (size_t)n * sizeof *s);
    kn_sort(s, n);
    assert_ok(ctx, kn_quantiles_new(ctx, x, n, &q));
    assert_int_equal(q.n, n);
    assert_true(q.K == kn_quantiles_count(n) && q.K <= KN_QUANTILES);
    kn_quantiles_spread(&q, whole, e);
    for (ptrdiff_t i = 1; i < n; i++)
        assert_true(e[i] >= e[i - 1]);
    for (ptrdiff_t i = 0; i < 4 * n; i++) {
        double v = i < n ? x[i] : whole ? (double)(i % 30) : 4 * kn_rng_normal(&rng);
        ptrdiff_t d = kn_count_below(s, n, v, 0) - kn_count_below(e, n, v, 0);
        worst = labs(d) > worst ? labs(d) : worst;
    }
    for (ptrdiff_t k = 0; k < q.K && !whole; k++)
        for (ptrdiff_t i = 0; i < n; i++)
            assert_true(q.knot[k] != x[i]);
    kn_quantiles_clear(&q);
    free(s), free(e);
    return worst;
}

static void ranks_among_quantiles_are_right_to_one_interval(void **state)
{
    (void)state;
    const ptrdiff_t sizes[] = {2, 3, 40, 200, 201, 202, 403, 1000, 2500};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        ptrdiff_t n = sizes[k], K = kn_quantiles_count(n), step = (n + K) / (K + 1);
        for (ptrdiff_t i = 1; i < K; i++) /* no value is part of two knots */
            assert_true((i + 1) * n / (K + 1) - i * n / (K + 1) >= 2);
        assert_true(n < 6 || step <= 3 || K == KN_QUANTILES);
        double *x = calloc((size_t)n, sizeof *x);
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = exp(kn_rng_normal(&rng));
        assert_true(rank_error(x, n, false) <= step);
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = floor(3 * exp(kn_rng_normal(&rng)));
        assert_true(rank_error(x, n, true) <= step);
        free(x);
    }
}

static void who_has_no_value_is_in_no_quantile(void **state)
{
    (void)state;
    double x[8] = {3, NAN, 1, 2, NAN, 5, 9, 7}, e[8];
    kn_quantiles q;
    assert_ok(ctx, kn_quantiles_new(ctx, x, 8, &q));
    assert_int_equal(q.n, 6);
    assert_true(q.K == 2 && q.knot[0] == 2.5 && q.knot[1] == 6);
    kn_quantiles_spread(&q, false, e);
    assert_true(e[0] == -0.125 && e[1] == 1.625 && e[2] == 3.375 && e[5] == 8.625);
    kn_quantiles_clear(&q);
    assert_ok(ctx, kn_quantiles_new(ctx, x, 1, &q)); /* of one person nothing may be said */
    assert_true(q.n == 1 && q.K == 0);
    kn_quantiles_spread(&q, false, e);
    assert_true(isnan(e[0]));
    kn_quantiles_clear(&q);
}

/* ---- points -----------------------------------------------------------------------------------
 */

static void points_cover_what_new_people_are_held_to(void **state)
{
    (void)state;
    people p = people_new(50, 1, true);
    by_design(&p);
    kn_model *m = fit(&p);
    kn_features f = kn_features_of(&m->gp.spec.sample);
    kn_synthetic_plan plan = {.X = m->gp.latent.X, .cov = &f.rest, .points = 20};
    kn_mat S;
    bool last;
    double low, high, least = INFINITY, most = -INFINITY;
    assert_ok(ctx, kn_synthetic_new(ctx, &plan, 0, &S, &last));
    assert_true(!last && S.rows == 40 && S.cols == m->x.F);
    kn_design_range(&m->x, 0, &low, &high);
    for (ptrdiff_t i = 0; i < S.rows; i++) {
        double x = kn_at(S, i, 0) * m->x.sd[0] + m->x.mean[0];
        least = fmin(least, x);
        most = fmax(most, x);
        for (ptrdiff_t k = 0; k < p.n; k++)
            assert_true(kn_at(S, i, 0) != kn_at(m->gp.latent.X, k, 0));
        for (ptrdiff_t k = 1; k < S.cols; k++)
            assert_true(kn_at(S, i, k) == 0);
    }
    assert_true(least <= low && most >= high && least > low - 10 && most < high + 10);
    double first = kn_at(S, 0, 0), end[2] = {INFINITY, -INFINITY};
    for (ptrdiff_t i = 0; i < S.rows; i++) {
        end[0] = fmin(end[0], kn_at(S, i, 0));
        end[1] = fmax(end[1], kn_at(S, i, 0));
    }
    kn_mat_clear(&S);
    assert_ok(ctx,
              kn_synthetic_between(ctx, &plan, 50, &S)); /* the error is seen at the ends too */
    assert_close(kn_at(S, 0, 0), first, 1e-12);
    assert_close(kn_at(S, 1, 0), end[0], 1e-12);
    assert_close(kn_at(S, 3, 0), end[1], 1e-12);
    kn_mat_clear(&S);
    kn_model_free(m);
    people_free(&p);
}

/* ---- what is refused --------------------------------------------------------------------------
 */

static void refusals(void **state)
{
    (void)state;
    kn_model *out, *shared;
    kn_maps *maps;
    kn_export_info info = {0};
    people p = people_new(40, 1, false);
    by_design(&p);
    kn_model *m = fit(&p);
    shared = share(m, &info);
    assert_refused(ctx, kn_export_model(ctx, shared, 20, &out, &info), KN_ERR_ARGUMENT,
                   "already: nobody of training is in it");
    assert_refused(ctx, kn_maps_loo(ctx, shared, view(p.Y), &maps), KN_ERR_ARGUMENT,
                   "without its training samples");
    assert_refused(ctx, kn_maps_cv(ctx, shared, view(p.Y), 5, NULL, &maps), KN_ERR_ARGUMENT,
                   "without its training samples");
    kn_model_free(shared), kn_model_free(m);
    p.s.noise = KN_NOISE_ISO;
    p.s.design = NULL;
    m = fit(&p);
    assert_refused(ctx, kn_export_model(ctx, m, 20, &out, &info), KN_ERR_ARGUMENT,
                   "a model with iso noise cannot be exported");
    assert_null(out);
    kn_model_free(m);
    p.s.method = "kronprod";
    m = fit(&p);
    assert_refused(ctx, kn_export_model(ctx, m, 20, &out, &info), KN_ERR_ARGUMENT,
                   "MT-Kronprod models cannot be exported");
    kn_model_free(m);
    people_free(&p);
}

/* Two values of a number cannot say what happens in a fiftieth of its range. */
static void too_coarse_is_refused(void **state)
{
    (void)state;
    kn_model *out;
    kn_export_info info = {0};
    people p = people_new(60, 1, false);
    for (ptrdiff_t i = 0; i < p.n; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(p.Y, j)[i] = 3 * sin(kn_at(p.X, i, 0)) + 0.1 * kn_at(p.Y, i, j);
    p.s.sample_kernel = "linear+se";
    p.s.length = 0.05;
    p.s.rho = 0.9;
    p.s.max_evals = 0;
    kn_model *m = fit(&p);
    assert_refused(ctx, kn_export_model(ctx, m, 2, &out, &info), KN_ERR_DATA,
                   "expected at most 0.01 (try {points=16})");
    assert_null(out);
    assert_true(fmax(info.mean, info.sd) > KN_EXPORT_ERROR);
    kn_model_free(m);
    people_free(&p);
}

static void any_failing_allocation_leaks_nothing(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        kn_status status = KN_ERR_MEMORY;
        kn_model *out = NULL;
        kn_export_info info = {0};
        people p = people_new(12, 1, true);
        by_design(&p);
        p.s.method = k ? "stgpr" : "smtgpr";
        kn_model *m = fit(&p);
        for (long a = 1; status == KN_ERR_MEMORY && a < 20000; a++) {
            kn_fail_allocation(ctx, a);
            status = kn_export_model(ctx, m, 20, &out, &info);
            if (status != KN_OK)
                assert_null(out);
        }
        kn_fail_allocation(ctx, 0);
        assert_ok(ctx, status);
        kn_model_free(out), kn_model_free(m);
        people_free(&p);
    }
}

int main(void)
{
    ctx = kn_ctx_new();
    kn_rng_init(&rng, 8, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number),
        cmocka_unit_test(categories_and_interactions),
        cmocka_unit_test(two_and_three_numbers),
        cmocka_unit_test(what_no_prediction_sees_is_left_out),
        cmocka_unit_test(sums_of_kernels_over_all_columns),
        cmocka_unit_test(each_response_alone),
        cmocka_unit_test(rows_that_share_noise),
        cmocka_unit_test(very_few_people_and_nothing_predicted),
        cmocka_unit_test(nobody_is_in_the_file),
        cmocka_unit_test(ranges_are_rounded_outward),
        cmocka_unit_test(ranges_of_controls_are_not_theirs),
        cmocka_unit_test(ranks_among_quantiles_are_right_to_one_interval),
        cmocka_unit_test(who_has_no_value_is_in_no_quantile),
        cmocka_unit_test(points_cover_what_new_people_are_held_to),
        cmocka_unit_test(refusals),
        cmocka_unit_test(too_coarse_is_refused),
        cmocka_unit_test(any_failing_allocation_leaks_nothing),
    };
    int failed = cmocka_run_group_tests_name("export", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
