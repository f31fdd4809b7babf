/* The additive model with groups that share noise, against dense matrices, term by term and pair by
 * pair, at shapes where little is left to chance. */
#include "support/additives.h"

#include "gp/predict/loo.h"
#include "gp/predict/predict.h"
#include "ref/slope.h"

/* ln N(vec Y; 0, sum_p b b' (x) K_p + s2 (I - BB') (x) I), T N numbers. */
static double whole_density(const problem *q, const kn_engine *e)
{
    ptrdiff_t n = q->N * q->T;
    kn_mat S = ref_new(n, n);
    for (ptrdiff_t p = 0; p < q->P; p++) {
        kn_mat K = component_covariance(q, e->c[p], e->d[p], gamma_of(e, p));
        kn_mat b = kn_cols(q->B, p, 1), bb = ref_mul(0, b, 1, b), all = ref_kron(bb, K);
        for (ptrdiff_t i = 0; i < n * n; i++)
            S.data[i] += all.data[i];
        free(K.data), free(bb.data), free(all.data);
    }
    for (ptrdiff_t t = 0; t < q->T; t++)
        for (ptrdiff_t u = 0; u < q->T; u++) {
            double outside = t == u;
            for (ptrdiff_t p = 0; p < q->P; p++)
                outside -= kn_at(q->B, t, p) * kn_at(q->B, u, p);
            for (ptrdiff_t i = 0; i < q->N; i++)
                kn_col(S, u * q->N + i)[t * q->N + i] += e->s2 * outside;
        }
    double l = ref_log_density(S, q->Y.data);
    free(S.data);
    return l;
}

/* No other c, d or gamma is better: a grid of ln(d/c), c in closed form. */
static void check_profile(const problem *q, const kn_engine *e, ptrdiff_t p)
{
    const double *z = kn_col(q->Z, p);
    for (int g = 0; g < e->n_cells; g++)
        for (double t = -8; t <= 15; t += 1.9) {
            bool infinite = t > 14;
            kn_mat K =
                component_covariance(q, infinite ? 0 : 1, infinite ? 1 : exp(t), kn_gamma[g]);
            double logdet = 0, scale = 0;
            kn_mat solved = ref_new(q->N, 1);
            assert_true(ref_chol(K));
            /* ln|K| and z'K^-1 z from the factor. The density itself would not do: z'K^-1 z is in
             * it at scale 1, 1e11 where the noise is 1e5, and removing it leaves 1e-5 of rounding.
             */
            for (ptrdiff_t i = 0; i < q->N; i++) {
                logdet += 2 * log(kn_at(K, i, i));
                double x = z[i];
                for (ptrdiff_t k = 0; k < i; k++)
                    x -= kn_at(K, i, k) * solved.data[k];
                solved.data[i] = x / kn_at(K, i, i);
                scale += solved.data[i] * solved.data[i];
            }
            double N = (double)q->N;
            double here = -0.5 * (N * (log(2 * acos(-1)) + 1 + log(scale / N)) + logdet);
            if (!(here <= e->lml[p] + 1e-7 * fmax(1, fabs(here))))
                fail_msg("component %td: %.10g at gamma %g, t %g, found %.10g", p, here,
                         kn_gamma[g], t, e->lml[p]);
            free(K.data), free(solved.data);
        }
}

typedef struct direction {
    kn_engine *e;
    const problem *q;
    int k;
} direction;

static double likelihood_along(void *self, double step)
{
    direction *d = self;
    double x[KN_COV_OUTER], lml;
    memcpy(x, d->q->x, sizeof x);
    x[d->k] += step;
    kn_cov_point at = kn_cov_point_at(&d->q->cov, x);
    assert_ok(ctx, kn_engine_nested(ctx, d->e, &at, &lml, NULL));
    return lml;
}

static void check_likelihood(const problem *q, bool low)
{
    kn_engine e = engine_for(q, low);
    double lml, g[KN_COV_OUTER];
    assert_ok(ctx, kn_engine_nested(ctx, &e, &q->at, &lml, g));
    assert_close(lml, whole_density(q, &e), low ? 1e-8 : 1e-9);
    for (ptrdiff_t p = 0; p < q->P; p++)
        check_profile(q, &e, p);
    for (int k = 0; k < kn_cov_n_outer(&q->cov); k++) {
        direction d = {&e, q, k};
        assert_slope(g[k], ref_slope_of(likelihood_along, &d, 1e-3), 1e-6);
    }
    kn_engine_clear(&e);
}

/* An engine that continues from another's state has the bits of one that starts there, and
 * elsewhere; of a dense one nothing is decomposed there. */
static void check_going_on(const problem *q, bool low)
{
    kn_engine_core core = {0};
    double x[KN_COV_OUTER], f[3], g[3][KN_COV_OUTER] = {{0}};
    kn_cov_point at[2] = {q->at};
    memcpy(x, q->x, sizeof x);
    x[0] += 0.25;
    at[1] = kn_cov_point_at(&q->cov, x);
    for (int to = 0; to < 2; to++) {
        kn_engine first = engine_for(q, low), fresh = engine_for(q, low);
        assert_ok(ctx, kn_engine_nested(ctx, &first, &at[0], &f[0], g[0]));
        kn_engine_donate(&first, &core);
        assert_true(core.decomposed == !low);
        const double *U = core.R0[0].U.data;
        kn_engine_clear(&first);
        kn_engine next = engine_from(q, low, &core);
        assert_true(low || (next.cell[0].R0.U.data == U && !core.R0[0].U.data));
        assert_ok(ctx, kn_engine_nested(ctx, &next, &at[to], &f[1], g[1]));
        assert_ok(ctx, kn_engine_nested(ctx, &fresh, &at[to], &f[2], g[2]));
        assert_true(f[1] == f[2] && memcmp(g[1], g[2], sizeof g[1]) == 0);
        assert_true(next.evals == 1);
        bool moved = to == 1 && kn_cov_n_outer(&q->cov) > 0;
        assert_int_equal(next.decompositions, low || moved);
        kn_engine_clear(&next);
        kn_engine_clear(&fresh);
        kn_engine_core_clear(&core);
    }
}

/* The posterior of component p of a latent model for one more participant, from the rows that `use`
 * has: who is like training row i by c R0(i), and where group >= 0 a member of that group. */
static void posterior(const problem *q, const kn_latent *l, ptrdiff_t p, const int *use,
                      const double *r, double self, int code, double *mean, double *var)
{
    ptrdiff_t n = 0, *row = calloc((size_t)q->N + 1, sizeof *row);
    double c = l->c[p], d = l->d[p], gamma = kn_latent_gamma(l, p), *z;
    for (ptrdiff_t i = 0; i < q->N; i++)
        if (use[i])
            row[n++] = i;
    kn_mat K = ref_new(n, n), Ks = ref_new(1, n), all = component_covariance(q, c, d, gamma);
    z = calloc((size_t)n + 1, sizeof *z);
    for (ptrdiff_t a = 0; a < n; a++) {
        z[a] = kn_at(q->Z, row[a], p);
        kn_col(Ks, a)[0] = c * r[row[a]] + (code == q->code[row[a]] ? d * gamma : 0);
        for (ptrdiff_t b = 0; b < n; b++)
            kn_col(K, b)[a] = kn_at(all, row[a], row[b]);
    }
    double kss = c * self + (code >= 0 ? d * gamma : 0);
    ref_gp(K, z, Ks, &kss, mean, var);
    free(K.data), free(Ks.data), free(all.data), free(z), free(row);
}

static kn_latent latent_for(const problem *q, bool low)
{
    kn_engine e = engine_for(q, low);
    kn_latent l;
    kn_mat X;
    double lml;
    assert_ok(ctx, kn_engine_nested(ctx, &e, &q->at, &lml, NULL));
    assert_ok(ctx, kn_mat_copy(ctx, q->train.design, &X));
    assert_ok(ctx, kn_engine_latent(ctx, &X, &e, &l));
    kn_engine_clear(&e);
    return l;
}

/* What a component's numbers may be off by, of its own size. */
static double scale_of(const kn_latent *l, const problem *q, ptrdiff_t p)
{
    return l->c[p] * 3 + l->d[p] + sqrt(kn_sumsq(kn_cols(q->Z, p, 1)) / (double)q->N);
}

#define assert_within(a, b, room)                                                                  \
    do {                                                                                           \
        double a_ = (a), b_ = (b), r_ = (room);                                                    \
        if (!(fabs(a_ - b_) <= r_))                                                                \
            fail_msg("%s = %.12g, expected %.12g, off by %.3g of %.3g allowed", #a, a_, b_,        \
                     fabs(a_ - b_), r_);                                                           \
    } while (0)

static int code_of_group(const problem *q, const kn_latent *l, ptrdiff_t group)
{
    for (ptrdiff_t i = 0; group >= 0 && i < q->N; i++)
        if (l->groups.n > 0 && l->groups.of[i] == group)
            return q->code[i];
    return -1;
}

static void check_prediction(const problem *q, bool low)
{
    kn_latent l = latent_for(q, low);
    kn_mat mean = ref_new(NEW, q->P), var = ref_new(NEW, q->P);
    double clamped = 0, tol = low ? LIKE_NOBODY : 1e-8, m, v;
    double *r = calloc((size_t)q->N + 1, sizeof *r);
    int *use = calloc((size_t)q->N + 1, sizeof *use);
    for (ptrdiff_t i = 0; i < q->N; i++)
        use[i] = 1;
    for (int known = 0; known < 2; known++) {
        kn_predict_input who = {q->new.design, known && q->grouped ? q->known : NULL};
        assert_ok(ctx, kn_latent_predict(ctx, &l, &who, mean, var, &clamped));
        for (int k = 0; k < NEW; k++) {
            int code = who.group ? code_of_group(q, &l, q->known[k]) : -1;
            for (ptrdiff_t i = 0; i < q->N; i++)
                r[i] = relation(q->terms, &q->at, &q->new, k, &q->train, i);
            double self = relation(q->terms, &q->at, &q->new, k, &q->new, k);
            for (ptrdiff_t p = 0; p < q->P; p++) {
                double room = tol * scale_of(&l, q, p) * (1 + self);
                posterior(q, &l, p, use, r, self, code, &m, &v);
                assert_within(kn_at(mean, k, p), m, room);
                assert_within(kn_at(var, k, p), v, room);
                assert_true(kn_at(var, k, p) >= 0);
            }
        }
    }
    kn_latent_clear(&l);
    free(mean.data), free(var.data), free(r), free(use);
}

static void check_leaving(const problem *q, bool low)
{
    kn_latent l = latent_for(q, low);
    kn_mat mean = ref_new(q->N, q->P), var = ref_new(q->N, q->P);
    double clamped = 0, tol = low ? 1e-7 : 1e-8, m, v;
    int *use = calloc((size_t)q->N + 1, sizeof *use);
    for (int group = 0; group < 2; group++) {
        bool whole = group && l.groups.n > 0;
        assert_ok(ctx, kn_latent_loo(ctx, &l, group ? KN_LEAVE_GROUP : KN_LEAVE_ROW, q->Z, mean,
                                     var, &clamped));
        for (ptrdiff_t k = 0; k < q->N; k++) {
            for (ptrdiff_t i = 0; i < q->N; i++)
                use[i] = whole ? q->code[i] != q->code[k] : i != k;
            for (ptrdiff_t p = 0; p < q->P; p++) {
                double room = tol * scale_of(&l, q, p) * (1 + kn_at(q->R, k, k));
                posterior(q, &l, p, use, kn_col(q->R, k), kn_at(q->R, k, k),
                          whole ? -1 : q->code[k], &m, &v);
                assert_within(kn_at(mean, k, p), m, room);
                assert_within(kn_at(var, k, p), v, room);
                assert_true(kn_at(var, k, p) >= 0);
            }
        }
    }
    kn_latent_clear(&l);
    free(mean.data), free(var.data), free(use);
}

static void likelihood_and_gradient_are_those_of_dense_matrices(void **state)
{
    (void)state;
    for_all_shapes(check_likelihood);
}

static void new_participants_of_new_and_known_groups_equal_dense_matrices(void **state)
{
    (void)state;
    for_all_shapes(check_prediction);
}

static void leaving_rows_and_groups_out_equals_deleting_them(void **state)
{
    (void)state;
    for_all_shapes(check_leaving);
}

/* Noise of 1e-5 and of 1e5, and participants who are all the same. */
static void extremes_hold_what_the_rest_holds(void **state)
{
    (void)state;
    kn_rng rng;
    for (int s = 0; s < N_SUMS; s++)
        for (int grouped = 0; grouped < 2; grouped++)
            for (int kind = 0; kind < 3; kind++) {
                bool alike = kind == 2;
                ref_rng_init(&rng, 12, (uint64_t)(20 * s + 4 * grouped + kind));
                problem q = problem_new(&rng, SUMS[s], 14, 3, 2, grouped,
                                        alike  ? USUAL
                                        : kind ? HUGE
                                               : TINY,
                                        alike);
                for (int low = 0; low < 2; low++) {
                    check_likelihood(&q, low);
                    check_going_on(&q, low);
                    check_prediction(&q, low);
                    check_leaving(&q, low);
                }
                problem_free(&q);
            }
}

TEST_PROGRAM(cov_additive)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likelihood_and_gradient_are_those_of_dense_matrices),
        cmocka_unit_test(new_participants_of_new_and_known_groups_equal_dense_matrices),
        cmocka_unit_test(leaving_rows_and_groups_out_equals_deleting_them),
        cmocka_unit_test(extremes_hold_what_the_rest_holds),
    };
    return cmocka_run_group_tests_name("additive", tests, begin, end);
}
