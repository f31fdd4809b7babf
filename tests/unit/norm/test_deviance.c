#include "support/failing.h"
#include "support/test.h"

#include "base/random.h"
#include "la/la.h"
#include "norm/deviance/fit.h"
#include "norm/deviance/missing.h"
#include "norm/deviance/restricted.h"
#include "ref/deviance.h"

static kn_ctx *ctx;
static kn_rng rng;

/* n x T: a few shared directions, noise that differs between responses. */
static kn_mat cohort(ptrdiff_t n, ptrdiff_t T)
{
    kn_mat z = ref_new(n, T), load = ref_new(T, 3);
    for (ptrdiff_t i = 0; i < T * 3; i++)
        load.data[i] = kn_rng_normal(&rng);
    for (ptrdiff_t i = 0; i < n; i++) {
        double f[3] = {kn_rng_normal(&rng), kn_rng_normal(&rng), kn_rng_normal(&rng)};
        for (ptrdiff_t j = 0; j < T; j++) {
            double v = (0.5 + (double)(j % 3)) * kn_rng_normal(&rng);
            for (int k = 0; k < 3; k++)
                v += (3 - k) * 0.5 * f[k] * kn_at(load, j, k);
            kn_col(z, j)[i] = v;
        }
    }
    free(load.data);
    return z;
}

static void deal(int *fold, ptrdiff_t n, int folds)
{
    for (ptrdiff_t i = 0; i < n; i++)
        fold[i] = (int)((7 * i + 3) % folds); /* rows of a fold are not neighbours */
}

static void assert_column(const double *x, json_t *expected, const char *path)
{
    kn_mat e = golden_column(expected, path);
    for (ptrdiff_t i = 0; i < e.rows; i++)
        assert_close(x[i], e.data[i], 1e-9); /* the README asks for 1e-6 */
    free(e.data);
}

static void deviance_matches_golden(void **state)
{
    (void)state;
    for (int c = 1; c <= 2; c++) {
        char dir[32];
        snprintf(dir, sizeof dir, "structured/case%d", c);
        json_t *e = golden_json(dir, "expected");
        kn_mat z = golden_matrix(dir, "z"), missing = golden_matrix(dir, "z");
        ptrdiff_t N = z.rows, T = z.cols, K = (ptrdiff_t)golden_number(e, "deviance.K");
        int fold[40], folds = (int)golden_number(e, "folds");
        double dev[40];
        for (ptrdiff_t i = 0; i < N; i++)
            fold[i] = (int)i % folds;
        for (ptrdiff_t j = 0; j < T; j += 3)
            for (ptrdiff_t i = 0; i < N; i++)
                kn_col(missing, j)[i] = NAN;
        kn_z_source s = kn_z_from_mat(&z), sm = kn_z_from_mat(&missing);
        kn_deviance d;
        assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, folds, K, &d));
        assert_column(d.lam, e, "deviance.lam");
        assert_column(d.psi, e, "deviance.psi");
        assert_close(d.logdet, golden_number(e, "deviance.logdet"), 1e-9);
        assert_ok(ctx, kn_deviance_score(ctx, &d, &s, dev));
        assert_column(dev, e, "deviance.dev");
        assert_ok(ctx, kn_deviance_score(ctx, &d, &sm, dev));
        assert_column(dev, e, "deviance.dev_missing");
        kn_deviance_clear(&d);
        free(z.data), free(missing.data);
        json_decref(e);
    }
}

/* K = 0, middling, as many as responses (psi at its floor, so that M is huge), more than the rank.
 */
static void deviance_matches_dense_inverse_also_with_missing_z(void **state)
{
    (void)state;
    static const struct {
        ptrdiff_t n, T, K;
    } cases[] = {{30, 20, 0}, {30, 20, 3}, {12, 70, 8}, {40, 7, 7}, {30, 150, 5}, {9, 1, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        ptrdiff_t n = cases[c].n, T = cases[c].T, K = cases[c].K;
        kn_mat z = cohort(n, T), fresh = cohort(11, T);
        int fold[40], all[40];
        double psi[150], lam[150], dev[11];
        deal(fold, n, 4);
        for (int i = 0; i < 40; i++)
            all[i] = 1;
        for (ptrdiff_t j = 0; j < T; j++) {
            for (int i = 1; i < 5; i++)
                if (kn_rng_uniform(&rng) < 0.15 * i)
                    kn_col(fresh, j)[i] = i % 2 ? NAN : INFINITY;
            kn_col(fresh, j)[5] = j < T / 2 ? NAN : 1;     /* half: still scored */
            kn_col(fresh, j)[6] = j < T / 2 + 1 ? NAN : 1; /* more than half */
            kn_col(fresh, j)[7] = NAN;
            kn_col(fresh, j)[8] = j == T - 1 ? NAN : 2;
            kn_col(fresh, j)[9] = j == T - 1 ? NAN : -1; /* the same set as its neighbour */
        }
        kn_z_source s = kn_z_from_mat(&z), sf = kn_z_from_mat(&fresh);
        kn_deviance d;
        assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, 4, K, &d));
        assert_int_equal(d.K, K);
        assert_ok(ctx, kn_deviance_score(ctx, &d, &sf, dev));
        kn_mat Sigma = ref_deviance_sigma(z, all, K, psi, lam);
        for (ptrdiff_t i = 0; i < 11; i++) {
            double e = ref_deviance(Sigma, fresh, i);
            if (isnan(e))
                assert_true(isnan(dev[i]));
            else
                assert_close(dev[i], e, 1e-9);
        }
        kn_mat chol = ref_deviance_sigma(z, all, K, psi, lam);
        double logdet = 0;
        assert_true(ref_chol(chol));
        for (ptrdiff_t j = 0; j < T; j++)
            logdet += 2 * log(kn_at(chol, j, j));
        assert_close(d.logdet, logdet, 1e-9);
        kn_deviance_clear(&d);
        free(z.data), free(fresh.data), free(Sigma.data), free(chol.data);
    }
}

/* One direction, w = 1e5, lies almost wholly on responses 0 to 2. M is near 1e10; with these three
 * missing it is near 2, and M less the missing part would be right to six digits only. */
static void a_direction_that_is_mostly_missing_keeps_its_digits(void **state)
{
    (void)state;
    enum { T = 6 };
    double Q[T] = {0.61, 0.53, 0, 0.7e-5, -0.4e-5, 0.55e-5}, psi[T] = {1, 1, 1, 1, 1, 1};
    double lam = 1e10 + 1, dev, q = 0, vz = 0, vv = 0;
    double z[T] = {NAN, NAN, NAN, 1.3, -0.8, 2.1};
    Q[2] = sqrt(1 - Q[0] * Q[0] - Q[1] * Q[1]);
    kn_mat row = {z, 1, T, 1};
    kn_z_source s = kn_z_from_mat(&row);
    kn_deviance d = {.T = T, .K = 1, .Q = {Q, T, 1, T}, .lam = &lam, .psi = psi};
    assert_ok(ctx, kn_deviance_prepare(ctx, &d));
    assert_ok(ctx, kn_deviance_score(ctx, &d, &s, &dev));
    for (int j = 3; j < T; j++) { /* Sigma_J = I + v v', inverted by Sherman and Morrison */
        double v = d.w[0] * Q[j];
        q += z[j] * z[j];
        vz += v * z[j];
        vv += v * v;
    }
    assert_close(dev, 2 * (q - vz * vz / (1 + vv)), 1e-12);
    d.Q = kn_mat_none(), d.lam = d.psi = NULL;
    kn_deviance_clear(&d);
}

/* Literal folds: for every K and fold, a dense model from the other rows alone. */
static void ladder_and_reference_match_literal_loops(void **state)
{
    (void)state;
    enum { N = 33, T = 40, FOLDS = 5 };
    kn_mat z = cohort(N, T);
    int fold[N];
    deal(fold, N, FOLDS);
    kn_z_source s = kn_z_from_mat(&z);
    kn_deviance d;
    assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, FOLDS, KN_DEVIANCE_AUTO, &d));
    static const ptrdiff_t LADDER[] = {0, 1, 2, 4, 8, 16}; /* 32 is not below 0.8 x 33 */
    assert_int_equal(d.n_ladder, 6);
    int best = 0;
    double density[6] = {0}, dev[6][N];
    for (int l = 0; l < 6; l++) {
        assert_int_equal(d.ladder[l], LADDER[l]);
        for (int f = 0; f < FOLDS; f++) {
            int use[N];
            double psi[T], lam[T];
            for (int i = 0; i < N; i++)
                use[i] = fold[i] != f;
            kn_mat Sigma = ref_deviance_sigma(z, use, LADDER[l], psi, lam);
            for (int i = 0; i < N; i++)
                if (fold[i] == f) {
                    dev[l][i] = ref_deviance(Sigma, z, i);
                    density[l] += ref_deviance_density(Sigma, z, i) / N;
                }
            free(Sigma.data);
        }
        assert_close(d.density[l], density[l], 1e-9);
        if (density[l] > density[best])
            best = l;
    }
    assert_int_equal(d.K, LADDER[best]);
    assert_true(best > 0 && best < 5);
    assert_int_equal(d.n_ref, N);
    for (int i = 0; i < N; i++)
        assert_close(d.ref[i], dev[best][i], 1e-9);
    kn_deviance_clear(&d);
    free(z.data);
}

/* Moving sample 4 must leave the references of its own fold untouched but for its own: none of
 * their models saw it. The other folds' models did. */
static void a_samples_own_row_never_enters_its_reference(void **state)
{
    (void)state;
    enum { N = 24, T = 30, FOLDS = 4, MOVED = 4 };
    kn_mat z = cohort(N, T);
    int fold[N];
    deal(fold, N, FOLDS);
    kn_z_source s = kn_z_from_mat(&z);
    kn_deviance before, after, doubled;
    assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, FOLDS, 2, &before));
    for (ptrdiff_t j = 0; j < T; j++)
        kn_col(z, j)[MOVED] *= 2;
    assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, FOLDS, 2, &doubled));
    for (ptrdiff_t j = 0; j < T; j++)
        kn_col(z, j)[MOVED] = 50 * kn_rng_normal(&rng);
    assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, FOLDS, 2, &after));
    /* Its deviance is a quadratic form of its own row in a matrix that does not know the row. */
    assert_close(doubled.ref[MOVED] / before.ref[MOVED], 4, 1e-10);
    for (int i = 0; i < N; i++) {
        if (i == MOVED)
            continue;
        if (fold[i] == fold[MOVED])
            assert_close(after.ref[i], before.ref[i], 1e-10);
        else
            assert_true(fabs(after.ref[i] - before.ref[i]) > 1e-6);
    }
    kn_deviance_clear(&before), kn_deviance_clear(&after), kn_deviance_clear(&doubled);
    free(z.data);
}

/* A wide map is cut into blocks; the cut must not show. Also: a response that is always 0. */
static void blocks_do_not_change_the_result(void **state)
{
    (void)state;
    enum { N = 20, T = 2500, MANY = 3000 };
    kn_mat z = cohort(N, T), tall = ref_new(MANY, T);
    int fold[N];
    double few[N], *many = calloc(MANY, sizeof *many);
    for (int i = 0; i < N; i++)
        kn_col(z, 17)[i] = 0;
    deal(fold, N, 5);
    kn_col(z, 250)[3] = -7;
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < MANY; i++)
            kn_col(tall, j)[i] = i % 20 == 3 && j == 250 ? NAN : kn_at(z, i % 20, j);
    kn_z_source s = kn_z_from_mat(&z), st = kn_z_from_mat(&tall);
    assert_int_equal(kn_z_plan(&s).blocks, 2);
    assert_int_equal(kn_z_plan(&st).width, 2048);
    kn_deviance d;
    assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, 5, 3, &d));
    assert_true(d.psi[17] > 0);
    kn_col(z, 250)[3] = NAN;
    assert_ok(ctx, kn_deviance_score(ctx, &d, &s, few));
    assert_ok(ctx, kn_deviance_score(ctx, &d, &st, many));
    for (ptrdiff_t i = 0; i < MANY; i++)
        assert_close(many[i], few[i % N], 1e-11);
    kn_deviance_clear(&d);
    free(z.data), free(tall.data), free(many);
}

static void a_fit_spans_its_blocks(void **state)
{
    (void)state;
    enum { N = 1200, T = 2200 };
    kn_mat z = ref_new(N, T);
    int *fold = calloc(N, sizeof *fold);
    for (ptrdiff_t i = 0; i < N; i++) {
        double f = kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(z, j)[i] = kn_rng_normal(&rng) + (j % 4 == 0) * f;
    }
    deal(fold, N, 3);
    kn_z_source s = kn_z_from_mat(&z);
    assert_int_equal(kn_z_plan(&s).blocks, 2);
    kn_deviance d;
    assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, 3, 1, &d));
    double ss = 0; /* of one response past the first block, and its residual */
    for (ptrdiff_t i = 0; i < N; i++)
        ss += kn_at(z, i, T - 1) * kn_at(z, i, T - 1);
    double q = kn_at(d.Q, T - 1, 0);
    assert_close(d.psi[T - 1], (ss - N * d.lam[0] * q * q) / (N - 1), 1e-9);
    double norm = 0, mean = 0;
    for (ptrdiff_t j = 0; j < T; j++)
        norm += kn_at(d.Q, j, 0) * kn_at(d.Q, j, 0);
    assert_close(norm, 1, 1e-10);
    for (ptrdiff_t i = 0; i < N; i++)
        mean += d.ref[i] / N;
    assert_close(mean / T, 1, 0.02);
    kn_deviance_clear(&d);
    free(z.data), free(fold);
}

static bool backwards; /* the second time, too */

/* Fed by the caller: blocks of `width`, in any order, by this precision; the first `stages` of the
 * ladder are tried first. Returns the number of times that pass 2 was made. */
static int feed_stages(kn_mat z, const int *fold, int folds, ptrdiff_t width,
                       kn_precision precision, int stages, kn_deviance *d)
{
    int passes = 0;
    kn_deviance_fitter *f;
    kn_deviance_shape shape = {.N = z.rows,
                               .T = z.cols,
                               .plan = {.blocks = (z.cols + width - 1) / width, .width = width},
                               .fold = fold,
                               .folds = folds,
                               .K = KN_DEVIANCE_AUTO,
                               .precision = precision,
                               .stages = stages};
    kn_mat zz;
    bool again;
    assert_ok(ctx, kn_deviance_fitter_new(ctx, &shape, &f));
    for (ptrdiff_t j = (z.cols - 1) / width * width; j >= 0; j -= width) /* the last first */
        assert_ok(ctx, kn_deviance_first(ctx, f, j,
                                         kn_cols(z, j, z.cols - j < width ? z.cols - j : width)));
    assert_ok(ctx, kn_deviance_gram(ctx, f, &again, &zz));
    assert_false(again);
    do {
        assert_ok(ctx, kn_deviance_begin_pass2(ctx, f));
        for (ptrdiff_t k = 0, last = (z.cols - 1) / width * width; k <= last; k += width) {
            ptrdiff_t j = backwards ? last - k : k;
            kn_mat block = kn_cols(z, j, z.cols - j < width ? z.cols - j : width);
            assert_ok(ctx, kn_deviance_second(ctx, f, j, block));
        }
        assert_ok(ctx, kn_deviance_finish(ctx, f, &again, d));
        passes++;
    } while (again);
    kn_deviance_fitter_free(f);
    return passes;
}

static void feed(kn_mat z, const int *fold, int folds, ptrdiff_t width, kn_precision precision,
                 kn_deviance *d)
{
    (void)feed_stages(z, fold, folds, width, precision, 0, d);
}

/* psi is what the factors leave of the mean square of z. In single precision a factor's product
 * with z, a sum of N terms, is off by N u |v| |z| at most, its square by twice as much: this, over
 * psi. */
static double single_bound(kn_mat z, const kn_deviance *d)
{
    double limit = 0;
    for (ptrdiff_t j = 0; j < z.cols; j++) {
        double ss = 0;
        for (ptrdiff_t i = 0; i < z.rows; i++)
            ss += kn_at(z, i, j) * kn_at(z, i, j);
        limit = fmax(limit, ss / (double)z.rows / d->psi[j]);
    }
    return (double)z.rows * FLT_EPSILON * limit;
}

static void assert_agree(const kn_deviance *d, const kn_deviance *e, double tol, double tol_psi)
{
    assert_int_equal(d->K, e->K);
    assert_int_equal(d->n_ladder, e->n_ladder);
    for (int l = 0; l < d->n_ladder; l++)
        assert_close(d->density[l], e->density[l], tol);
    for (ptrdiff_t i = 0; i < d->n_ref; i++)
        assert_close(d->ref[i], e->ref[i], tol);
    for (ptrdiff_t k = 0; k < d->K; k++)
        assert_close(d->lam[k], e->lam[k], tol);
    for (ptrdiff_t j = 0; j < d->T; j++)
        assert_close(d->psi[j], e->psi[j], tol_psi);
    assert_close(d->logdet, e->logdet, tol);
}

static void the_order_of_blocks_has_no_part_in_any_bit(void **state)
{
    (void)state;
    enum { N = 40, T = 700, FOLDS = 4 };
    kn_mat z = cohort(N, T);
    int fold[N];
    deal(fold, N, FOLDS);
    for (int p = 0; p < 2; p++) {
        kn_deviance a, b;
        kn_precision precision = p == 0 ? KN_DOUBLE : KN_SINGLE;
        backwards = false;
        feed(z, fold, FOLDS, 128, precision, &a);
        backwards = true;
        feed(z, fold, FOLDS, 128, precision, &b);
        backwards = false;
        assert_int_equal(a.K, b.K);
        assert_true(a.K > 0);
        assert_memory_equal(a.density, b.density, sizeof *a.density * (size_t)a.n_ladder);
        assert_memory_equal(a.ref, b.ref, sizeof *a.ref * N);
        assert_memory_equal(a.psi, b.psi, sizeof *a.psi * T);
        kn_deviance_clear(&a);
        kn_deviance_clear(&b);
    }
    free(z.data);
}

static void blocks_may_be_fed_in_any_order_and_in_single_precision(void **state)
{
    (void)state;
    enum { N = 90, T = 1100, FOLDS = 5 }; /* chunks, tiles and ladder all have remainders */
    kn_mat z = cohort(N, T);
    int fold[N];
    deal(fold, N, FOLDS);
    kn_z_source s = kn_z_from_mat(&z);
    kn_deviance whole, fed, single;
    assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, FOLDS, KN_DEVIANCE_AUTO, &whole));
    assert_int_equal(whole.n_ladder, 8);
    assert_true(whole.K > 0);
    feed(z, fold, FOLDS, 300, KN_BY_SIZE, &fed);
    assert_agree(&fed, &whole, 1e-10, 1e-9);
    feed(z, fold, FOLDS, T, KN_SINGLE, &single);
    double bound = single_bound(z, &whole);
    assert_agree(&single, &whole, bound, bound);
    kn_deviance_clear(&whole), kn_deviance_clear(&fed), kn_deviance_clear(&single);
    free(z.data);
}

/* z (n x T) of `factors` strong factors and noise of variance 1. */
static kn_mat with_factors(ptrdiff_t n, ptrdiff_t T, int factors)
{
    kn_mat z = {0}, s = {0}, l = {0};
    assert_ok(ctx, kn_mat_new(ctx, n, T, &z));
    assert_ok(ctx, kn_mat_new(ctx, n, factors, &s));
    assert_ok(ctx, kn_mat_new(ctx, T, factors, &l));
    kn_mat *m[] = {&z, &s, &l};
    for (size_t k = 0; k < sizeof m / sizeof *m; k++)
        for (ptrdiff_t i = 0; i < m[k]->rows * m[k]->cols; i++)
            m[k]->data[i] = kn_rng_normal(&rng);
    kn_gemm(ctx, 1, KN_N, s, KN_T, l, 1, z);
    kn_mat_clear(&s), kn_mat_clear(&l);
    return z;
}

/* 12 factors: the whole ladder, the part that the data suggest (0 .. 32), and one that is too
 * short and is followed by the whole agree. */
static void a_shortened_ladder_finds_the_same(void **state)
{
    (void)state;
    enum { N = 180, T = 260, FOLDS = 5, ALL = KN_DEVIANCE_LADDER, FACTORS = 12, SHORT = 6 };
    kn_mat z = with_factors(N, T, FACTORS);
    int fold[N];
    deal(fold, N, FOLDS);
    for (int p = 0; p < 2; p++) {
        kn_deviance whole, some, repeated;
        kn_precision precision = p == 0 ? KN_DOUBLE : KN_SINGLE;
        assert_int_equal(feed_stages(z, fold, FOLDS, T, precision, ALL, &whole), 1);
        double tolerance = p == 0 ? 1e-9 : single_bound(z, &whole);
        assert_int_equal(whole.n_ladder, ALL);
        assert_int_equal(whole.K, 16);
        assert_int_equal(feed_stages(z, fold, FOLDS, T, precision, 0, &some), 1);
        assert_int_equal(some.n_ladder, 7);
        assert_int_equal(some.K, whole.K);
        for (int l = 0; l < some.n_ladder; l++)
            assert_close(some.density[l], whole.density[l], tolerance);
        for (int i = 0; i < N; i++)
            assert_close(some.ref[i], whole.ref[i], tolerance);
        assert_int_equal(feed_stages(z, fold, FOLDS, T, precision, SHORT, &repeated), 2);
        assert_int_equal(repeated.n_ladder, ALL);
        assert_memory_equal(repeated.density, whole.density, sizeof whole.density);
        assert_memory_equal(repeated.ref, whole.ref, N * sizeof(double));
        assert_memory_equal(repeated.psi, whole.psi, T * sizeof(double));
        kn_deviance_clear(&whole), kn_deviance_clear(&some), kn_deviance_clear(&repeated);
    }
    kn_mat_clear(&z);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    enum { N = 70, T = 900, FOLDS = 5 };
    kn_mat z = cohort(N, T);
    int fold[N];
    deal(fold, N, FOLDS);
    for (int single = 0; single < 2; single++) {
        kn_deviance one, many;
        kn_set_threads(ctx, 1);
        feed(z, fold, FOLDS, 256, single ? KN_SINGLE : KN_DOUBLE, &one);
        kn_set_threads(ctx, 3);
        feed(z, fold, FOLDS, 256, single ? KN_SINGLE : KN_DOUBLE, &many);
        kn_set_threads(ctx, 0);
        assert_int_equal(one.K, many.K);
        assert_memory_equal(one.ref, many.ref, N * sizeof(double));
        assert_memory_equal(one.psi, many.psi, T * sizeof(double));
        assert_memory_equal(one.density, many.density, sizeof one.density);
        kn_deviance_clear(&one), kn_deviance_clear(&many);
    }
    free(z.data);
}

static void p_counts_the_reference_at_or_above(void **state)
{
    (void)state;
    double ref[4] = {3, 1, 2, 2}, psi[1] = {1};
    kn_deviance d = {.T = 1, .n_ref = 4, .psi = psi, .ref = ref, .Q = {NULL, 1, 0, 1}};
    assert_ok(ctx, kn_deviance_prepare(ctx, &d));
    assert_close(kn_deviance_p(&d, 0), 1, 0);
    assert_close(kn_deviance_p(&d, 2), 4.0 / 5, 1e-15);
    assert_close(kn_deviance_p(&d, 2.5), 2.0 / 5, 1e-15);
    assert_close(kn_deviance_p(&d, 9), 1.0 / 5, 1e-15);
    assert_true(isnan(kn_deviance_p(&d, NAN)));
    d.psi = NULL, d.ref = NULL, d.Q = kn_mat_none();
    kn_deviance_clear(&d);
}

/* What a file must hold is enough: Q, lam, psi, ref. */
static void a_deviance_is_rebuilt_from_its_saved_arrays(void **state)
{
    (void)state;
    enum { N = 20, T = 25 };
    kn_mat z = cohort(N, T);
    int fold[N];
    double a[N], b[N];
    deal(fold, N, 4);
    kn_z_source s = kn_z_from_mat(&z);
    kn_deviance d;
    assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, 4, 2, &d));
    assert_ok(ctx, kn_deviance_score(ctx, &d, &s, a));
    kn_deviance loaded = {
        .T = T, .K = 2, .n_ref = N, .Q = d.Q, .lam = d.lam, .psi = d.psi, .ref = d.ref};
    assert_ok(ctx, kn_deviance_prepare(ctx, &loaded));
    assert_ok(ctx, kn_deviance_prepare(ctx, &loaded)); /* twice does no harm */
    assert_ok(ctx, kn_deviance_score(ctx, &loaded, &s, b));
    assert_memory_equal(a, b, sizeof a);
    assert_close(loaded.logdet, d.logdet, 0);
    d.psi[3] = 0;
    assert_refused(ctx, kn_deviance_prepare(ctx, &loaded), KN_ERR_DATA, "response 4 is 0");
    d.psi[3] = 1, d.ref[7] = NAN; /* a participant with too few responses has no comparison */
    assert_ok(ctx, kn_deviance_prepare(ctx, &loaded));
    assert_int_equal(loaded.n_sorted, N - 1);
    d.ref[7] = INFINITY;
    assert_refused(ctx, kn_deviance_prepare(ctx, &loaded), KN_ERR_DATA, "reference participant 8");
    d.ref[7] = 1, loaded.K = 3;
    assert_refused(ctx, kn_deviance_prepare(ctx, &loaded), KN_ERR_SHAPE, "Q is 25 x 2");
    loaded.Q = kn_mat_none(), loaded.lam = loaded.psi = loaded.ref = NULL;
    kn_deviance_clear(&loaded);
    kn_deviance_clear(&d);
    free(z.data);
}

static kn_status broken(void *self, kn_ctx *c, ptrdiff_t first, ptrdiff_t count, kn_mat z)
{
    (void)self, (void)count, (void)z;
    return kn_fail(c, KN_ERR_IO, "response %td cannot be read", first);
}

/* zz' is summed on a grid for |z| of a thousand; beyond it is summed again on a coarser one. The
 * deviance of z does not depend on its units. */
static void z_beyond_the_guessed_bound_are_summed_again(void **state)
{
    (void)state;
    enum { N = 60, T = 2500 };
    kn_mat z = cohort(N, T), large = ref_new(N, T);
    int fold[N];
    deal(fold, N, 5);
    for (ptrdiff_t i = 0; i < N * T; i++)
        large.data[i] = 0x1p14 * z.data[i];
    kn_z_source s = kn_z_from_mat(&z), l = kn_z_from_mat(&large);
    kn_deviance d, e;
    assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, 5, KN_DEVIANCE_AUTO, &d));
    assert_ok(ctx, kn_deviance_fit(ctx, &l, fold, 5, KN_DEVIANCE_AUTO, &e));
    assert_int_equal(d.K, e.K);
    for (int i = 0; i < N; i++)
        assert_close(e.ref[i], d.ref[i], 1e-9);
    kn_deviance_clear(&d), kn_deviance_clear(&e);
    for (ptrdiff_t i = 0; i < N * T; i++)
        large.data[i] = 1e200 * z.data[i];
    assert_refused(ctx, kn_deviance_fit(ctx, &l, fold, 5, 2, &d), KN_ERR_NUMERIC, "overflow");
    free(z.data), free(large.data);
}

static void eigenvectors_have_their_largest_entry_positive(void **state)
{
    (void)state;
    enum { N = 30, T = 40 };
    kn_mat z = cohort(N, T);
    int fold[N];
    deal(fold, N, 3);
    kn_z_source s = kn_z_from_mat(&z);
    for (int sign = 0; sign < 2; sign++) {
        kn_deviance d;
        assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, 3, 4, &d));
        for (ptrdiff_t k = 0; k < 4; k++) {
            double top = 0;
            for (ptrdiff_t j = 0; j < T; j++)
                top = fabs(kn_at(d.Q, j, k)) > fabs(top) ? kn_at(d.Q, j, k) : top;
            assert_true(top > 0);
        }
        kn_deviance_clear(&d);
        for (ptrdiff_t i = 0; i < N * T; i++)
            z.data[i] = -z.data[i];
    }
    free(z.data);
}

static void unusable_references_are_refused(void **state)
{
    (void)state;
    enum { N = 12, T = 9 };
    kn_mat z = cohort(N, T), wide = ref_new(2, T + 1), zero = ref_new(N, T);
    int fold[N];
    double dev[N];
    deal(fold, N, 3);
    kn_z_source s = kn_z_from_mat(&z), w = kn_z_from_mat(&wide), o = kn_z_from_mat(&zero), b = s;
    kn_deviance d;
    b.block = broken;
    assert_refused(ctx, kn_deviance_fit(ctx, &s, fold, 1, 0, &d), KN_ERR_SHAPE, "1 folds");
    assert_refused(ctx, kn_deviance_fit(ctx, &s, fold, 2, 0, &d), KN_ERR_ARGUMENT,
                   "expected 0 to 1");
    assert_refused(ctx, kn_deviance_fit(ctx, &s, fold, 4, 0, &d), KN_ERR_ARGUMENT,
                   "fold 3 has 0 of 12");
    assert_refused(ctx, kn_deviance_fit(ctx, &s, fold, 3, 8, &d), KN_ERR_ARGUMENT,
                   "8 components, expected 0 to 7");
    assert_refused(ctx, kn_deviance_fit(ctx, &s, fold, 3, -2, &d), KN_ERR_ARGUMENT,
                   "-2 components");
    assert_refused(ctx, kn_deviance_fit(ctx, &o, fold, 3, 1, &d), KN_ERR_DATA,
                   "every reference z-score is zero");
    assert_refused(ctx, kn_deviance_fit(ctx, &b, fold, 3, 1, &d), KN_ERR_IO, "cannot be read");
    kn_cancel(ctx); /* before the first block is asked for */
    assert_refused(ctx, kn_deviance_fit(ctx, &b, fold, 3, 1, &d), KN_ERR_CANCELLED, "stopped");
    kn_cancel_clear(ctx);
    kn_col(z, 5)[7] = NAN;
    assert_refused(ctx, kn_deviance_fit(ctx, &s, fold, 3, 1, &d), KN_ERR_DATA,
                   "reference participant 8, response 6 is not finite");
    assert_null(d.Q.data);
    kn_col(z, 5)[7] = 0;
    assert_ok(ctx, kn_deviance_fit(ctx, &s, fold, 3, KN_DEVIANCE_AUTO, &d));
    assert_refused(ctx, kn_deviance_score(ctx, &d, &w, dev), KN_ERR_SHAPE,
                   "10 responses, the reference 9");
    assert_refused(ctx, kn_deviance_score(ctx, &d, &b, dev), KN_ERR_IO, "cannot be read");
    kn_deviance_clear(&d);
    free(z.data), free(wide.data), free(zero.data);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 21, 0);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(norm_deviance, open_fixture, close_fixture)
{
    enum { N = 12, T = 9 };
    kn_mat z = cohort(N, T);
    int fold[N];
    double dev[N];
    deal(fold, N, 3);
    kn_z_source s = kn_z_from_mat(&z);
    kn_deviance d;
    kn_col(z, 5)[7] = 0;
    long k = 0;
    kn_status status = KN_ERR_MEMORY;
    while (status != KN_OK && k < 500) {
        kn_fail_allocation(ctx, ++k);
        status = kn_deviance_fit(ctx, &s, fold, 3, KN_DEVIANCE_AUTO, &d);
        assert_true(status == KN_OK || (status == KN_ERR_MEMORY && !d.Q.data));
    }
    assert_int_equal(status, KN_OK);
    kn_col(z, 5)[7] = NAN;
    status = KN_ERR_MEMORY;
    for (k = 1; status != KN_OK && k < 50; k++) {
        kn_fail_allocation(ctx, k);
        status = kn_deviance_score(ctx, &d, &s, dev);
    }
    assert_int_equal(status, KN_OK);
    kn_fail_allocation(ctx, 0);
    kn_deviance_clear(&d);
    free(z.data);
}

/* The reference values of a fold come from the other folds alone: those of a fit to the other folds
 * only, scored on the fold. K is chosen by each fit, so samples are drawn until both agree. */
static void a_fold_with_missing_cells_is_scored_by_a_fit_to_the_others(void **state)
{
    (void)state;
    enum { n = 30, T = 40, FOLDS = 3, m = n - n / FOLDS, DRAWS = 40 };
    bool compared = false;
    for (int draw = 0; draw < DRAWS && !compared; draw++) {
        float z[n * T], others[m * T];
        int fold[n], two[m];
        double dev[n / FOLDS];
        kn_mat full = cohort(n, T), test = ref_new(n / FOLDS, T);
        for (ptrdiff_t i = 0; i < n; i++)
            fold[i] = i < m ? 1 + (int)i % 2 : 0; /* the last rows are fold 0 */
        for (ptrdiff_t i = 0; i < m; i++)
            two[i] = (int)i % 2;
        for (ptrdiff_t j = 0; j < T; j++)
            for (ptrdiff_t i = 0; i < n; i++) {
                bool hole = (3 * i + 7 * j) % 11 == 0;
                z[j * n + i] = hole ? NAN : (float)kn_at(full, i, j);
                if (i < m)
                    others[j * m + i] = z[j * n + i];
                else
                    kn_col(test, j)[i - m] = (double)z[j * n + i];
            }
        kn_deviance all, rest;
        assert_ok(ctx, kn_deviance_fit_missing(ctx,
                                               &(kn_deviance_missing_cells){n, T, z, fold, FOLDS,
                                                                            KN_SIDE_BY_SIZE},
                                               NULL, &all));
        assert_ok(ctx, kn_deviance_fit_missing(ctx,
                                               &(kn_deviance_missing_cells){m, T, others, two, 2,
                                                                            KN_SIDE_BY_SIZE},
                                               NULL, &rest));
        compared = all.K == rest.K && all.K > 0;
        if (compared) {
            kn_z_source s = kn_z_from_mat(&test);
            assert_ok(ctx, kn_deviance_score(ctx, &rest, &s, dev));
            for (ptrdiff_t i = 0; i < n - m; i++)
                assert_close(all.ref[m + i], dev[i], 1e-9);
        }
        kn_deviance_clear(&all);
        kn_deviance_clear(&rest);
        free(full.data), free(test.data);
    }
    assert_true(compared);
}

/* z as floats, row by row. */
static float *float_rows(kn_mat z)
{
    float *rows = calloc((size_t)(z.rows * z.cols), sizeof *rows);
    for (ptrdiff_t i = 0; i < z.rows; i++)
        for (ptrdiff_t j = 0; j < z.cols; j++) {
            rows[i * z.cols + j] = (float)kn_at(z, i, j);
            kn_col(z, j)[i] = (double)rows[i * z.cols + j];
        }
    return rows;
}

static void restricted_ratios_are_those_of_the_dense_covariance(void **state)
{
    (void)state;
    enum { N = 26, T = 300, FOLDS = 4 }; /* more than one block of responses */
    static const ptrdiff_t SIZES[] = {1, 7, T};
    static double psi[T], lam[T], ratio[N];
    for (int round = 0; round < 9; round++) {
        ptrdiff_t n_T = SIZES[round % 3], K = round / 3 < n_T ? round / 3 : 0;
        int fold[N], use[N];
        bool missing[T] = {false};
        kn_mat z = cohort(N, n_T), some = ref_new(N, n_T);
        float *rows = float_rows(z);
        deal(fold, N, FOLDS);
        for (ptrdiff_t j = 0; j < n_T; j++) {
            missing[j] = n_T > 1 && kn_rng_uniform(&rng) < 0.4;
            for (ptrdiff_t i = 0; i < N; i++)
                kn_col(some, j)[i] = missing[j] ? NAN : kn_at(z, i, j);
        }
        missing[0] = false;
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(some, 0)[i] = kn_at(z, i, 0);
        kn_restricted_source of = {rows, N, n_T, K, fold, FOLDS, NULL};
        kn_restricted_deviance w;
        assert_ok(ctx, kn_restricted_deviance_new(ctx, &of, &w));
        assert_ok(ctx, kn_restricted_deviance_ratio(ctx, &w, missing, ratio));
        for (int f = 0; f < FOLDS; f++) {
            for (int i = 0; i < N; i++)
                use[i] = fold[i] != f;
            kn_mat Sigma = ref_deviance_sigma(z, use, K, psi, lam);
            for (ptrdiff_t i = 0; i < N; i++) {
                double dev = ref_deviance(Sigma, some, i);
                if (fold[i] == f && isfinite(dev)) /* NaN: less than half of the responses */
                    assert_close(ratio[i], dev / ref_deviance(Sigma, z, i), 1e-8);
            }
            free(Sigma.data);
        }
        kn_restricted_deviance_clear(&w);
        free(rows), free(z.data), free(some.data);
    }
}

static void restricted_ratios_need_half_of_the_responses(void **state)
{
    (void)state;
    enum { N = 20, T = 12, FOLDS = 5 };
    int fold[N];
    double ratio[N];
    bool missing[T] = {true, true, true, true};
    kn_mat z = cohort(N, T);
    for (ptrdiff_t j = 4; j < T; j++) { /* of eight one lacks four, one five */
        kn_col(z, j)[3] = j < 8 ? NAN : kn_at(z, 3, j);
        kn_col(z, j)[4] = j < 9 ? NAN : kn_at(z, 4, j);
    }
    float *rows = float_rows(z);
    deal(fold, N, FOLDS);
    kn_restricted_source of = {rows, N, T, 90, fold, FOLDS, NULL};
    for (int k = 1;; k++) { /* the k-th allocation fails */
        kn_restricted_deviance w;
        kn_fail_allocation(ctx, k);
        kn_status status = kn_restricted_deviance_new(ctx, &of, &w);
        if (status == KN_OK)
            status = kn_restricted_deviance_ratio(ctx, &w, missing, ratio);
        kn_fail_allocation(ctx, 0);
        assert_true(status != KN_OK || w.of.K == T); /* of 16 rows, .8 are 12 */
        kn_restricted_deviance_clear(&w);
        if (status == KN_OK)
            break;
        assert_int_equal(status, KN_ERR_MEMORY);
        assert_true(k < 99);
    }
    for (int i = 0; i < N; i++)
        assert_true(i == 4 ? isnan(ratio[i]) : ratio[i] > 0);
    free(rows), free(z.data);
}

TEST_PROGRAM(norm_deviance)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restricted_ratios_are_those_of_the_dense_covariance),
        cmocka_unit_test(restricted_ratios_need_half_of_the_responses),
        cmocka_unit_test(deviance_matches_golden),
        cmocka_unit_test(a_fold_with_missing_cells_is_scored_by_a_fit_to_the_others),
        cmocka_unit_test(deviance_matches_dense_inverse_also_with_missing_z),
        cmocka_unit_test(a_direction_that_is_mostly_missing_keeps_its_digits),
        cmocka_unit_test(ladder_and_reference_match_literal_loops),
        cmocka_unit_test(a_samples_own_row_never_enters_its_reference),
        cmocka_unit_test(blocks_do_not_change_the_result),
        cmocka_unit_test(a_fit_spans_its_blocks),
        cmocka_unit_test(blocks_may_be_fed_in_any_order_and_in_single_precision),
        cmocka_unit_test(the_order_of_blocks_has_no_part_in_any_bit),
        cmocka_unit_test(a_shortened_ladder_finds_the_same),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(p_counts_the_reference_at_or_above),
        cmocka_unit_test(a_deviance_is_rebuilt_from_its_saved_arrays),
        cmocka_unit_test(z_beyond_the_guessed_bound_are_summed_again),
        cmocka_unit_test(eigenvectors_have_their_largest_entry_positive),
        cmocka_unit_test(unusable_references_are_refused),
    };
    return cmocka_run_group_tests_name("deviance", tests, open_fixture, close_fixture);
}
