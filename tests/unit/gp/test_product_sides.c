/* Principal components, folds and whole-map deviance follow from YY' or from Y'Y: both give the
 * same numbers, whichever is smaller [METHOD 1, 5b, 8b]. */
#include "support/cohorts.h"
#include "support/fits.h"

#include "model/model.h"
#include "norm/deviance/fit.h"

/* What a study is like. rank: of the responses, 0: full. */
typedef struct shape {
    ptrdiff_t N, T, rank;
    bool groups, missing, sites;
} shape;

static const shape SHAPES[] = {
    /* fewer responses than participants */
    {40, 12, 0, 0, 0, 0},
    {60, 12, 0, 0, 0, 1},
    {60, 12, 0, 1, 0, 0},
    {60, 12, 0, 1, 0, 1},
    {60, 20, 0, 0, 1, 0},
    {60, 20, 0, 1, 1, 0},
    {60, 20, 0, 0, 1, 1},
    {80, 30, 4, 0, 0, 0},
    {80, 30, 4, 1, 0, 1},
    {80, 79, 0, 0, 0, 0},
    {120, 40, 0, 1, 0, 1},
    {90, 7, 6, 0, 0, 0},
    /* as many */
    {30, 30, 0, 0, 0, 0},
    {31, 31, 5, 0, 0, 0},
    {40, 40, 0, 1, 0, 0},
    {40, 40, 0, 0, 1, 0},
    {40, 40, 0, 0, 0, 1},
    /* more */
    {30, 31, 0, 0, 0, 0},
    {24, 60, 0, 0, 0, 0},
    {24, 60, 3, 0, 0, 0},
    {40, 90, 0, 1, 0, 0},
    {40, 90, 0, 0, 1, 0},
    {40, 90, 0, 0, 0, 1},
    {40, 90, 6, 1, 0, 1},
    /* few of them */
    {40, 1, 0, 0, 0, 0},
    {60, 1, 0, 1, 0, 0},
    {60, 1, 0, 0, 0, 1},
    {40, 2, 0, 0, 0, 0},
    {40, 2, 1, 0, 0, 0},
    {60, 3, 0, 0, 1, 0},
};
enum { N_SHAPES = sizeof SHAPES / sizeof *SHAPES, PARTICIPANTS = 0, RESPONSES = 1 };

/* The responses from column rank on are sums of two before. */
static void lower_rank(cohort *c, ptrdiff_t rank)
{
    for (ptrdiff_t j = rank; rank > 0 && j < c->T; j++)
        for (ptrdiff_t i = 0; i < c->N; i++)
            kn_col(c->Y, j)[i] =
                kn_at(c->Y, i, j % rank) + (1 + (double)j) * kn_at(c->Y, i, (j + 1) % rank);
}

/* One cell in twenty is missing. */
static void leave_cells(cohort *c)
{
    for (ptrdiff_t j = 0; j < c->T; j++)
        for (ptrdiff_t i = 0; i < c->N; i++)
            if ((7 * i + 3 * j) % 20 == 0)
                kn_col(c->Y, j)[i] = NAN;
}

static cohort study_of(const shape *s, uint64_t seed)
{
    cohort c = cohort_new((cohort_plan){.N = s->N,
                                        .T = s->T,
                                        .sites = s->sites ? 3 : 0,
                                        .kind = s->sites ? COHORT_SITES : COHORT_SMOOTH,
                                        .strength = 1,
                                        .group_noise = s->groups ? 0.5 : 0,
                                        .members = s->groups ? 2 : 0,
                                        .seed = seed});
    lower_rank(&c, s->rank);
    if (s->missing)
        leave_cells(&c);
    return c;
}

static kn_model *fit_by(cohort *c, kn_settings o, int side, kn_fit_info *info)
{
    o.product_side = side == RESPONSES ? KN_SIDE_RESPONSES : KN_SIDE_PARTICIPANTS;
    return fit(c->X, c->Y, &o, info);
}

/* Largest difference, relative to the largest entry of b, or to `least` if that is more; NaN at the
 * same places count as equal. */
static double relative(const double *a, const double *b, ptrdiff_t n, double least)
{
    double most = least, off = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (isnan(a[i]) && isnan(b[i]))
            continue;
        if (!(fabs(a[i] - b[i]) <= DBL_MAX))
            return INFINITY;
        most = fmax(most, fabs(b[i]));
        off = fmax(off, fabs(a[i] - b[i]));
    }
    return most > 0 ? off / most : off;
}

#define assert_agree(what, a, b, n, tolerance) assert_agree_beyond(what, a, b, n, 0, tolerance)
#define assert_agree_beyond(what, a, b, n, least, tolerance)                                       \
    do {                                                                                           \
        double off_ = relative(a, b, n, least);                                                    \
        if (!(off_ <= (tolerance)))                                                                \
            fail_msg("shape %d: %s differ by %.3g, allowed %.3g", k, what, off_, tolerance);       \
    } while (0)

/* Residuals and variances of leave-one-out. */
static void compare_loo(int k, const cohort *c, kn_model *const m[2])
{
    maps_of loo[2];
    for (int side = 0; side < 2; side++) {
        kn_maps *maps;
        assert_ok(ctx, kn_maps_loo(ctx, m[side], view(c->Y), &maps));
        loo[side] = collect(maps, c->T);
        for (ptrdiff_t i = 0; i < c->N * c->T; i++)
            loo[side].mean.data[i] = c->Y.data[i] - loo[side].mean.data[i];
    }
    assert_agree("residuals", loo[1].mean.data, loo[0].mean.data, c->N * c->T, 1e-8);
    double square = kn_sumsq(loo[0].mean) / (double)(c->N * c->T); /* without a signal they are 0 */
    assert_agree_beyond("variances", loo[1].var.data, loo[0].var.data, c->N * c->T, square, 1e-8);
    release(loo[0]), release(loo[1]);
}

/* Up to the sign of each column: of two responses both entries have the same size. */
static void compare_bases(int k, kn_mat a, kn_mat b)
{
    for (ptrdiff_t p = 0; p < b.cols; p++) {
        double cosine = 0;
        for (ptrdiff_t j = 0; j < b.rows; j++)
            cosine += kn_at(a, j, p) * kn_at(b, j, p);
        for (ptrdiff_t j = 0; cosine < 0 && j < b.rows; j++)
            kn_col(a, p)[j] *= -1;
    }
    assert_agree("bases", a.data, b.data, b.rows * b.cols, 1e-8);
}

/* At most three. */
static int few_components(const shape *s)
{
    ptrdiff_t rank = s->rank > 0 ? s->rank : s->T;
    return rank < 3 ? (int)rank : 3;
}

/* The defaults, with site effects where there are sites. */
static kn_settings study_settings(cohort *c, const shape *s)
{
    static const bool SITES_ARE_BATCHES[COHORT_COLUMNS] = {false, false, true};
    kn_settings o = cohort_settings(c, s->groups);
    c->design.batch = s->sites ? SITES_ARE_BATCHES : NULL;
    return o;
}

static void numbers_at_the_same_parameters_do_not_depend_on_the_side(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        const shape *s = &SHAPES[k];
        cohort c = study_of(s, 40 + (uint64_t)k);
        kn_settings o = study_settings(&c, s);
        kn_model *m[2];
        kn_fit_info info[2];
        o.max_evals = 0;
        o.components = few_components(s);
        o.folds = 5;
        o.calibrate = KN_CALIBRATE_NONE;
        for (int side = 0; side < 2; side++)
            m[side] = fit_by(&c, o, side, &info[side]);
        const kn_gp *a = &m[1]->gp, *b = &m[0]->gp;
        assert_int_equal(a->P, b->P);
        assert_close(info[1].lml, info[0].lml, 1e-8);
        assert_close(info[1].complement, info[0].complement, 1e-8);
        assert_agree("signal variances", a->latent.c, b->latent.c, a->P, 1e-8);
        assert_agree("noise variances of components", a->latent.d, b->latent.d, a->P, 1e-8);
        if (s->T > 3) /* of few responses folds may predict nothing, and 0/0 is rounding */
            assert_agree("slopes", a->slope, b->slope, a->T, 1e-8);
        assert_agree("noise variances", a->noise, b->noise, a->T, 1e-8);
        if (!s->missing)
            compare_loo(k, &c, m);
        compare_bases(k, a->B, b->B);
        kn_model_free(m[0]), kn_model_free(m[1]);
        cohort_free(&c);
    }
}

/* z agrees to 1e-6 in most of these small studies, and to 2e-5 in one of 80: rounding of the
 * coordinates grows along the steps of a search that ends within 1e-5 nat of a flat maximum. It may
 * also end one step earlier, and parameters then differ by the root of that. */
static void compare_z(int k, const kn_model *a, const kn_model *b)
{
    bool same_steps = a->info.evaluations == b->info.evaluations;
    double tolerance = same_steps ? 1e-4 : 1e-2;
    assert_int_equal(a->reference.n, b->reference.n);
    for (ptrdiff_t i = 0; i < a->reference.n * a->gp.T; i++) {
        double x = (double)a->reference.z[i], y = (double)b->reference.z[i];
        if (!(isnan(x) && isnan(y)) && !(fabs(x - y) <= tolerance * fmax(1, fabs(y))))
            fail_msg("shape %d: z %.9g and %.9g after %d and %d evaluations", k, x, y,
                     a->info.evaluations, b->info.evaluations);
    }
}

/* Components auto, search, calibration and reference. */
static void whole_fits_do_not_depend_on_the_side(void **state)
{
    (void)state;
    static const int WHICH[] = {1, 3, 5, 7, 10, 14, 18, 21, 26};
    for (size_t l = 0; l < sizeof WHICH / sizeof *WHICH; l++) {
        int k = WHICH[l];
        const shape *s = &SHAPES[k];
        cohort c = study_of(s, 80 + (uint64_t)k);
        kn_settings o = study_settings(&c, s);
        kn_model *m[2];
        kn_fit_info info[2];
        for (int side = 0; side < 2; side++)
            m[side] = fit_by(&c, o, side, &info[side]);
        assert_int_equal(info[1].n_curve, info[0].n_curve);
        if (m[1]->gp.P == m[0]->gp.P)
            compare_z(k, m[1], m[0]);
        else /* two numbers are as good as each other */
            for (int p = 0; p < info[1].n_curve; p++)
                assert_close(info[1].curve[p].msll, info[0].curve[p].msll, 1e-8);
        kn_model_free(m[0]), kn_model_free(m[1]);
        cohort_free(&c);
    }
}

static kn_deviance deviance_by(kn_mat z, const int *fold, int folds, int side, kn_precision digits)
{
    kn_deviance d;
    kn_deviance_fitter *f;
    bool again;
    kn_mat zz;
    kn_deviance_shape of = {.N = z.rows,
                            .T = z.cols,
                            .plan = {z.rows, z.cols, 1, z.cols},
                            .fold = fold,
                            .folds = folds,
                            .K = KN_DEVIANCE_AUTO,
                            .precision = digits};
    of.Y = (kn_responses){.N = z.rows, .T = z.cols};
    of.Y.side = side == RESPONSES ? KN_SIDE_RESPONSES : KN_SIDE_PARTICIPANTS;
    assert_ok(ctx, kn_deviance_fitter_new(ctx, &of, &f));
    do {
        assert_ok(ctx, kn_deviance_first(ctx, f, 0, z));
        assert_ok(ctx, kn_deviance_gram(ctx, f, &again, &zz));
    } while (again);
    do {
        assert_ok(ctx, kn_deviance_begin_pass2(ctx, f));
        assert_ok(ctx, kn_deviance_second(ctx, f, 0, z));
        assert_ok(ctx, kn_deviance_finish(ctx, f, &again, &d));
    } while (again);
    kn_deviance_fitter_free(f);
    return d;
}

/* K may differ where two K have the same density up to rounding: one response has the same variance
 * as one component and as noise. */
static void compare_deviances(int k, const shape *s, const kn_deviance *a, const kn_deviance *b,
                              double tolerance)
{
    if (a->K == b->K) {
        assert_agree("eigenvalues", a->lam, b->lam, b->K, tolerance);
        assert_agree("residual variances", a->psi, b->psi, s->T, tolerance);
    } else {
        assert_int_equal(s->T, 1);
    }
    assert_agree("densities", a->density, b->density, b->n_ladder, tolerance);
    assert_agree("deviances", a->ref, b->ref, s->N, tolerance);
}

/* Where the rank is low, psi is at its floor of 1e-6 and 1/psi magnifies the rounding of residuals.
 */
static void deviances_do_not_depend_on_the_side(void **state)
{
    (void)state;
    for (int k = 0; k < N_SHAPES; k++) {
        shape s = SHAPES[k];
        s.missing = false;
        cohort c = study_of(&s, 120 + (uint64_t)k);
        int *fold = malloc((size_t)s.N * sizeof *fold);
        for (ptrdiff_t i = 0; i < s.N; i++)
            fold[i] = (int)((s.groups ? c.group[i] : i) % 5);
        for (int single = 0; single < 2; single++) {
            double tolerance = single ? 1e-3 : s.rank > 0 ? 1e-6 : 1e-8; /* la/eig_leading.h */
            kn_deviance d[2];
            if (single && (s.rank > 0 || s.T <= 3))
                continue; /* psi at its floor, from residuals in float32 */
            for (int side = 0; side < 2; side++)
                d[side] = deviance_by(c.Y, fold, 5, side, single ? KN_SINGLE : KN_DOUBLE);
            compare_deviances(k, &s, &d[1], &d[0], tolerance);
            kn_deviance_clear(&d[0]), kn_deviance_clear(&d[1]);
        }
        free(fold);
        cohort_free(&c);
    }
}

TEST_PROGRAM(gp_product_sides)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_at_the_same_parameters_do_not_depend_on_the_side),
        cmocka_unit_test(whole_fits_do_not_depend_on_the_side),
        cmocka_unit_test(deviances_do_not_depend_on_the_side),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
