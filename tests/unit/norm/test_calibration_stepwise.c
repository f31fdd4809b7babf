/* The reference under a calibration, cell by cell, against the same steps taken in plain
 * loops: participants in the order in which they came, every response at once, folds by their
 * numbers. */
#include "support/remakes.h"

#include "norm/calibration/internal.h"
#include "stats/normal.h"

static kn_ctx *ctx;

enum { N = 90, T = 14, FOLDS = 6, SITES = 4 };

/* Spread that grows with age, and skew. */
static crowd participants(uint64_t seed)
{
    kn_rng rng;
    ref_rng_init(&rng, seed, 0);
    crowd c = crowd_new(&rng, N, T);
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(c.Y, j)[i] = 0.3 * crowd_age(&c, i) * (double)(j % 3) +
                                exp(0.25 * kn_rng_normal(&rng) * (1.6 + crowd_age(&c, i)));
    return c;
}

/* What the learner sees of each cell, and what comes of it. */
typedef struct cells {
    ptrdiff_t n;
    kn_mat e, v, others, z0, factor, zt, z;
} cells;

static cells cells_new(ptrdiff_t n)
{
    return (cells){n,
                   ref_new(n, T),
                   ref_new(n, T),
                   ref_new(n, T),
                   ref_new(n, T),
                   ref_new(n, T),
                   ref_new(n, T),
                   ref_new(n, T)};
}

static void cells_free(cells *c)
{
    free(c->e.data), free(c->v.data), free(c->others.data), free(c->z0.data);
    free(c->factor.data), free(c->zt.data), free(c->z.data);
}

/* noise^(-i) by the formula [METHOD 5b] */
static double others(const cells *c, ptrdiff_t i, ptrdiff_t j, const int *group)
{
    double square = 0, moment = 0, n = 0;
    for (ptrdiff_t k = 0; k < c->n; k++)
        if (group ? group[k] != group[i] : k != i) {
            double e2 = kn_at(c->e, k, j) * kn_at(c->e, k, j);
            n++;
            square += e2;
            moment += e2 - kn_at(c->v, k, j);
        }
    return fmax(moment, 0.5 * square) / n;
}

static cells held_out(const kn_gp_maps *maps, const int *group)
{
    cells c = cells_new(maps->n);
    kn_mat y = ref_new(maps->n, T);
    kn_responses Y = kn_gp_maps_y(maps);
    assert_ok(ctx, kn_gp_maps_block(ctx, maps, 0, c.e, c.v));
    kn_responses_block(ctx, &Y, 0, y);
    for (ptrdiff_t k = 0; k < c.n * T; k++)
        c.e.data[k] = y.data[k] - c.e.data[k];
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < c.n; i++) {
            kn_col(c.others, j)[i] = others(&c, i, j, group);
            kn_col(c.z0, j)[i] = kn_at(c.e, i, j) / sqrt(kn_at(c.v, i, j) + kn_at(c.others, i, j));
            kn_col(c.factor, j)[i] = 1;
        }
    free(y.data);
    return c;
}

/* kurt and T_sq without a fold; -1: of all */
static void squares(kn_mat z, const int *fold, int f, double *kurt, double *T_sq)
{
    kn_z2_moments s;
    kn_mat some = ref_new(z.rows, z.cols);
    for (ptrdiff_t k = 0; k < z.rows * z.cols; k++)
        some.data[k] = f >= 0 && fold[k % z.rows] == f ? NAN : z.data[k];
    assert_ok(ctx, kn_z2_moments_init(ctx, z.rows, &s));
    kn_z2_moments_add(&s, some);
    *kurt = kn_z2_moments_kurt(&s);
    *T_sq = kn_effective_responses(&s);
    kn_z2_moments_clear(&s);
    free(some.data);
}

/* score_i = mean_j (ln V + e^2/V)/2 */
static void gaussian(const cells *c, double *score)
{
    for (ptrdiff_t i = 0; i < c->n; i++) {
        score[i] = 0;
        for (ptrdiff_t j = 0; j < T; j++) {
            double V = kn_at(c->v, i, j) + kn_at(c->others, i, j) * kn_at(c->factor, i, j);
            score[i] += 0.5 * (log(V) + pow(kn_at(c->e, i, j), 2) / V) / T;
        }
    }
}

static void assert_gain(const kn_calibration_component *part, ptrdiff_t n, const double *before,
                        const double *after)
{
    double mean = 0, var = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        mean += (before[i] - after[i]) / (double)n;
    for (ptrdiff_t i = 0; i < n; i++)
        var += pow(before[i] - after[i] - mean, 2) / (double)(n - 1);
    assert_true(part->tried);
    assert_close(part->gain, mean, 1e-9);
    assert_close(part->se, sqrt(var / (double)n), 1e-9);
}

/* By how much z of the others are larger where a fold has no part in the noise. */
static double spread(const cells *c, const int *fold, int f, ptrdiff_t j)
{
    double all = 0, rest = 0, n = 0;
    for (ptrdiff_t i = 0; i < c->n; i++) {
        double e2 = pow(kn_at(c->e, i, j), 2);
        all += e2 / (double)c->n;
        rest += fold[i] == f ? 0 : e2;
        n += fold[i] != f;
    }
    return sqrt(all / (rest / n));
}

/* factor of all participants without its fold; beta (F x T) of all */
static void scale(const remake *r, cells *c, const kn_noise_scale_columns *columns, kn_mat beta)
{
    ptrdiff_t F = columns->F, n = c->n;
    kn_mat D = ref_new(n, F), b = ref_new(F, T), apart = ref_new(F, FOLDS);
    double *work = calloc((size_t)kn_noise_scale_refit_work(n, F, FOLDS), sizeof *work);
    kn_noise_scale_prior prior, without[FOLDS];
    kn_mat spreads = ref_new(FOLDS, T);
    kn_noise_scale_folds rows = {r->fold, FOLDS, without, NULL};
    for (ptrdiff_t j = 0; j < T; j++)
        for (int f = 0; f < FOLDS; f++)
            kn_col(spreads, j)[f] = spread(c, r->fold, f, j);
    kn_noise_scale_columns_apply(columns, &r->x.x, D);
    assert_ok(ctx, kn_noise_scale_prior_init(ctx, F, &prior));
    squares(c->z0, r->fold, -1, &prior.kurt, &prior.T_sq);
    assert_ok(ctx, kn_noise_scale_prior_fit(ctx, D, c->z0, b, &prior));
    for (int f = 0; f < FOLDS; f++) {
        assert_ok(ctx, kn_noise_scale_prior_init(ctx, F, &without[f]));
        squares(c->z0, r->fold, f, &without[f].kurt, &without[f].T_sq);
    }
    assert_ok(ctx,
              kn_noise_scale_priors_without(ctx, &(kn_noise_scale_sample){D, c->z0, b, spreads},
                                            &rows, without));
    assert_ok(ctx, kn_noise_scale_fit(ctx, D, c->z0, &prior, beta));
    for (ptrdiff_t j = 0; j < T; j++) {
        rows.spread = kn_col(spreads, j);
        kn_noise_scale_refit(D, kn_col(c->z0, j), &rows, kn_col(beta, j), work, apart);
        for (ptrdiff_t i = 0; i < n; i++) {
            double eta = 0;
            for (ptrdiff_t f = 0; f < F; f++)
                eta += kn_at(D, i, f) * kn_at(apart, f, r->fold[i]);
            kn_col(c->factor, j)[i] = exp(eta);
        }
    }
    for (int f = 0; f < FOLDS; f++)
        kn_noise_scale_prior_clear(&without[f]);
    kn_noise_scale_prior_clear(&prior);
    free(D.data), free(b.data), free(apart.data), free(work), free(spreads.data);
}

static void student(cells *c)
{
    for (ptrdiff_t k = 0; k < c->n * T; k++) {
        double V = c->v.data[k] + c->others.data[k] * c->factor.data[k];
        c->z.data[k] = c->zt.data[k] =
            kn_student_to_normal(c->e.data[k] / sqrt(V), (double)(c->n - 1));
    }
}

/* z without each fold; theta (2 x T) of all; scores by the normal distribution and by that without
 * the fold
 */
static void shape(const remake *r, cells *c, kn_mat theta, double *before, double *after)
{
    kn_shash_nodes nodes;
    kn_shash_prior prior;
    kn_mat apart = ref_new(2, FOLDS);
    double kurt, T_sq, rest[N];
    kn_shash_nodes_init(&nodes);
    squares(c->zt, r->fold, -1, &kurt, &T_sq);
    assert_ok(ctx, kn_shash_prior_fit(ctx, &nodes, c->zt, T_sq, theta, &prior));
    for (ptrdiff_t i = 0; i < c->n; i++)
        before[i] = after[i] = 0;
    for (ptrdiff_t j = 0; j < T; j++) {
        for (int f = 0; f < FOLDS; f++) {
            ptrdiff_t n = 0;
            for (ptrdiff_t i = 0; i < c->n; i++) {
                double V = kn_at(c->v, i, j) + kn_at(c->others, i, j) * kn_at(c->factor, i, j);
                if (r->fold[i] != f)
                    rest[n++] =
                        kn_student_to_normal(spread(c, r->fold, f, j) * kn_at(c->e, i, j) / sqrt(V),
                                             (double)(c->n - 1));
            }
            kn_shash_point at = kn_shash_point_at(&nodes, kn_col(theta, j));
            kn_shash_step(&at, &prior, n, rest, kn_col(theta, j), kn_col(apart, f));
        }
        for (ptrdiff_t i = 0; i < c->n; i++) {
            kn_shash distribution = kn_shash_at(&nodes, kn_col(apart, r->fold[i]));
            double zt = kn_at(c->zt, i, j);
            kn_col(c->z, j)[i] = kn_shash_forward(&distribution, zt);
            before[i] += 0.5 * (zt * zt + KN_LOG_2PI) / T;
            after[i] += kn_shash_nll(&distribution, zt) / T;
        }
    }
    free(apart.data);
}

static void assert_z(const kn_reference *made, const cells *c)
{
    for (ptrdiff_t i = 0; i < c->n; i++) {
        double sum = 0;
        for (ptrdiff_t j = 0; j < T; j++) {
            assert_close((double)made->z[i * T + j], kn_at(c->z, i, j), 2e-6); /* floats */
            sum += kn_at(c->z, i, j) / T;
        }
        assert_close(made->mean_z[i], sum, 1e-6);
    }
}

/* The terms of sites by their formula, each cell of the participants outside fold f by itself; -1:
 * of all participants. term: S */
static void site_terms(const remake *r, const cells *c, int f, double *term)
{
    kn_mat z1 = ref_new(c->n, T);
    double kurt, T_sq, a[SITES], n[SITES], q[SITES], all = 0, mean = 0, var = 0, mean_q = 0;
    for (ptrdiff_t k = 0; k < c->n * T; k++)
        z1.data[k] = c->e.data[k] / sqrt(c->v.data[k] + c->others.data[k] * c->factor.data[k]);
    squares(z1, r->fold, f, &kurt, &T_sq);
    for (int s = 0; s < SITES; s++) {
        double sum = 0;
        n[s] = 0;
        for (ptrdiff_t i = 0; i < c->n; i++) {
            if (r->site[i] != s || r->fold[i] == f)
                continue;
            n[s]++;
            for (ptrdiff_t j = 0; j < T; j++)
                sum += pow(kn_at(z1, i, j) * (f < 0 ? 1 : spread(c, r->fold, f, j)), 2);
        }
        a[s] = n[s] > 0 ? log(sum / (n[s] * T)) : 0;
        q[s] = n[s] > 0 ? kurt / (n[s] * T_sq) : 1;
        all += n[s];
    }
    for (int s = 0; s < SITES; s++) {
        mean += n[s] / all * a[s];
        mean_q += n[s] / all * q[s];
    }
    for (int s = 0; s < SITES; s++)
        var += n[s] / all * pow(a[s] - mean, 2);
    double v_a = fmax(var - mean_q, 1e-4);
    for (int s = 0; s < SITES; s++)
        term[s] = a[s] * v_a / (v_a + q[s]);
    free(z1.data);
}

/* Into the factor of all participants the term of its site without its fold. */
static void batch(const remake *r, cells *c, double *term)
{
    double without[FOLDS][SITES];
    for (int f = 0; f < FOLDS; f++)
        site_terms(r, c, f, without[f]);
    site_terms(r, c, -1, term);
    for (ptrdiff_t i = 0; i < c->n; i++)
        for (ptrdiff_t j = 0; j < T && r->site[i] >= 0; j++)
            kn_col(c->factor, j)[i] *= exp(without[r->fold[i]][r->site[i]]);
}

/* Two large sites of different noise, one of three participants in one fold, one of no participant,
 * and participants of no site. */
static void put_at_sites(const remake *r, crowd *c, int *site)
{
    int few = 0;
    for (ptrdiff_t i = 0; i < c->n; i++) {
        site[i] = i % 9 == 0 ? -1 : (int)(i % 2);
        if (r->fold[i] == 2 && few < 3) {
            site[i] = 3;
            few++;
        }
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(c->Y, j)[i] *= site[i] == 1 ? 2 : 1;
    }
}

static void assert_steps(bool sites)
{
    crowd crowd_ = participants(1);
    remake r = remake_new(ctx, &crowd_, NULL, FOLDS);
    kn_calibration_transform l = {0};
    kn_reference made;
    double none[N], line[N], curve[N], with[N], before[N], after[N], term[SITES];
    int site[N];
    kn_mat beta = ref_new(10, T), theta = ref_new(2, T);
    r.how = KN_CALIBRATE_FULL;
    if (sites) {
        put_at_sites(&r, &crowd_, site);
        remake other = remake_new(ctx, &crowd_, r.fold, FOLDS);
        remake_clear(&r);
        r = other;
        r.site = site;
        r.S = SITES;
    }
    assert_ok(ctx, remake_run(ctx, &r, &l, &made));
    cells c = held_out(&r.cv, NULL);
    gaussian(&c, none);
    for (int quadratic = 0; quadratic < 2; quadratic++) {
        kn_noise_scale_columns columns;
        assert_ok(ctx, kn_noise_scale_columns_new(ctx, &r.x.x, quadratic, &columns));
        assert_int_equal(columns.F, quadratic ? 4 : 3);
        scale(&r, &c, &columns, kn_sub(beta, 0, 0, columns.F, T));
        gaussian(&c, quadratic ? curve : line);
        kn_noise_scale_columns_clear(&columns);
    }
    assert_gain(&l.component[KN_CALIBRATION_LINE], N, none, line);
    assert_gain(&l.component[KN_CALIBRATION_SQUARE], N, line, curve);
    assert_int_equal(l.S, sites ? SITES : 0);
    assert_true(l.component[KN_CALIBRATION_SITE].tried == sites);
    if (sites) {
        batch(&r, &c, term);
        gaussian(&c, with);
        assert_gain(&l.component[KN_CALIBRATION_SITE], N, curve, with);
        for (int s = 0; s < SITES; s++)
            assert_close(l.batch[s], term[s], 1e-9);
        assert_true(term[1] > term[0] + 0.5 && term[2] == 0 && term[3] != 0);
    }
    student(&c);
    shape(&r, &c, theta, before, after);
    assert_gain(&l.component[KN_CALIBRATION_SHAPE], N, before, after);
    assert_same(l.beta, kn_sub(beta, 0, 0, 4, T), 1e-8);
    assert_same(l.theta, theta, 1e-7);
    assert_z(&made, &c);
    kn_calibration_clear(&l);
    kn_reference_clear(&made);
    cells_free(&c);
    remake_clear(&r);
    crowd_free(&crowd_);
    free(beta.data), free(theta.data);
}

static void a_whole_calibration_is_its_steps_one_by_one(void **state)
{
    (void)state;
    assert_steps(false);
}

static void the_noise_of_sites_is_one_of_the_steps(void **state)
{
    (void)state;
    assert_steps(true);
}

static void without_parts_it_is_the_student_step(void **state)
{
    (void)state;
    crowd crowd_ = participants(2);
    remake r = remake_new(ctx, &crowd_, NULL, FOLDS);
    int group[N];
    for (int i = 0; i < N; i++)
        group[i] = r.fold[i] * 10 + i % 3;
    for (int grouped = 0; grouped < 2; grouped++)
        for (int student_ = 0; student_ < 2; student_++) {
            kn_calibration_transform l = {0};
            kn_reference made;
            r.group = grouped ? group : NULL;
            r.how = student_ ? KN_CALIBRATE_STUDENT : KN_CALIBRATE_NONE;
            assert_ok(ctx, remake_run(ctx, &r, &l, &made));
            cells c = held_out(&r.cv, r.group);
            student(&c);
            for (ptrdiff_t k = 0; !student_ && k < N * T; k++)
                c.z.data[k] = c.z0.data[k];
            assert_z(&made, &c);
            kn_calibration_clear(&l);
            kn_reference_clear(&made);
            cells_free(&c);
        }
    remake_clear(&r);
    crowd_free(&crowd_);
}

/* Maps of some participants only, as of very many: groups, covariates and folds are theirs. */
static void members_of_known_groups_use_the_noise_of_their_group(void **state)
{
    (void)state;
    enum { EVERY = 2 };
    crowd crowd_ = participants(3);
    remake r = remake_new(ctx, &crowd_, NULL, EVERY);
    int group[N], own[N];
    kn_gp_maps *cv = &r.cv;
    for (int k = 1; k < EVERY; k++) /* the first fold's alone */
        kn_fold_prediction_clear(&cv->part[k]);
    cv->n_parts = 1;
    cv->n = cv->part[0].n;
    cv->sample = cv->part[0].rows;
    cv->part[0].rows = NULL;
    for (int i = 0; i < N; i++)
        group[i] = i / 3; /* of all participants, by their own numbers */
    for (ptrdiff_t i = 0; i < cv->n; i++) {
        own[i] = group[cv->sample[i]];
        r.fold[i] = own[i] % FOLDS;
    }
    r.folds = FOLDS;
    r.group = group;
    kn_calibration_covariates_clear(&r.x);
    assert_ok(ctx, kn_calibration_covariates_new(ctx, &r.m->x, r.X, cv->sample, cv->n, &r.x));
    kn_calibration_transform l = {0};
    kn_reference made;
    double before[N], after[N];
    kn_mat beta = ref_new(10, T), theta = ref_new(2, T);
    r.how = KN_CALIBRATE_FULL;
    assert_ok(ctx, remake_run(ctx, &r, &l, &made));
    assert_true(l.nu == (double)(cv->n - 1) && l.columns.F == 4);
    cells c = held_out(cv, own);
    scale(&r, &c, &l.columns, kn_sub(beta, 0, 0, 4, T));
    student(&c);
    shape(&r, &c, theta, before, after);
    assert_same(l.beta, kn_sub(beta, 0, 0, 4, T), 1e-8);
    assert_z(&made, &c);
    kn_calibration_clear(&l);
    kn_reference_clear(&made);
    cells_free(&c);
    remake_clear(&r);
    crowd_free(&crowd_);
    free(beta.data), free(theta.data);
}

/* Of T = 14 responses the statistic is the largest |z|. */
static void leave_one_out_uses_the_calibration_as_it_is(void **state)
{
    (void)state;
    crowd c = participants(4);
    kn_model *m = crowd_fit(ctx, &c, "calibrate=full");
    kn_mat X = ref_new(N, 2), mean = ref_new(N, T), var = ref_new(N, T), D;
    double noise[T];
    kn_maps *maps;
    for (ptrdiff_t i = 0; i < N; i++) {
        X.data[i] = c.age.data[i];
        kn_col(X, 1)[i] = c.sex[i][0] == 'm'; /* levels in the order of their names */
    }
    assert_ok(ctx,
              kn_calibration_columns(ctx, &m->calibration, &m->x, kn_view_cols(X.data, N, 2), &D));
    assert_ok(ctx, kn_maps_loo(ctx, m, kn_view_cols(c.Y.data, N, T), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, mean, var));
    assert_ok(ctx, kn_model_noise(ctx, m, noise));
    for (ptrdiff_t i = 0; i < N; i++) {
        double limit = 0;
        for (ptrdiff_t j = 0; j < T; j++) {
            kn_shash distribution = kn_calibration_distribution(&m->calibration, j);
            double eta = 0, e = kn_at(c.Y, i, j) - kn_at(mean, i, j);
            for (ptrdiff_t f = 0; f < D.cols; f++)
                eta += kn_at(D, i, f) * kn_at(m->calibration.beta, f, j);
            double z1 = e / sqrt(kn_at(var, i, j) + noise[j] * exp(eta));
            limit =
                fmax(limit, fabs(kn_shash_forward(&distribution, kn_student_to_normal(z1, N - 1))));
        }
        assert_close(m->reference.loo_statistic[i], limit, 1e-8);
    }
    kn_mat_clear(&D);
    kn_maps_free(maps);
    kn_model_free(m);
    free(X.data), free(mean.data), free(var.data);
    crowd_free(&c);
}

TEST_PROGRAM(norm_calibration_stepwise)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_calibration_is_its_steps_one_by_one),
        cmocka_unit_test(the_noise_of_sites_is_one_of_the_steps),
        cmocka_unit_test(without_parts_it_is_the_student_step),
        cmocka_unit_test(members_of_known_groups_use_the_noise_of_their_group),
        cmocka_unit_test(leave_one_out_uses_the_calibration_as_it_is),
    };
    int failed = cmocka_run_group_tests_name("learner_steps", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
