/* More samples than folds are made of: one set held out, a basis by Y'Y, or of many responses by
 * the range finder [METHOD 1, 5b, 6b] */
#include "gp/assign_folds.h"
#include "support/test.h"
#include "support/views.h"

#include "base/random.h"
#include "data/scaling.h"
#include "gp/basis/gram.h"
#include "gp/cv/single_holdout.h"
#include "model/model.h"

static kn_ctx *ctx;

/* Two covariates, T responses with three common directions and noise of their own. */
static void participants(ptrdiff_t N, ptrdiff_t T, double noise, kn_mat *X, kn_mat *Y)
{
    kn_rng rng;
    ref_rng_init(&rng, 17, 0);
    kn_mat load = ref_normal(&rng, 3, T);
    *X = ref_normal(&rng, N, 2);
    *Y = ref_new(N, T);
    for (ptrdiff_t i = 0; i < N; i++) {
        double x = kn_at(*X, i, 0), w = kn_at(*X, i, 1);
        double f[3] = {x + 0.5 * kn_rng_normal(&rng), sin(x) + w + 0.5 * kn_rng_normal(&rng),
                       0.8 * kn_rng_normal(&rng)};
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(*Y, j)[i] = f[0] * kn_at(load, 0, j) + f[1] * kn_at(load, 1, j) +
                               f[2] * kn_at(load, 2, j) + noise * kn_rng_normal(&rng);
    }
    free(load.data);
}

/* Beyond 5000 participants one set is held out, and the reference consists of it: the public call
 * says which participants these are, before and after the model was in its file. */
static void assert_reference_is_described(kn_model *m)
{
    kn_model *both[2] = {m};
    void *bytes;
    size_t size;
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &size));
    assert_ok(ctx, kn_model_from_bytes(ctx, bytes, size, &both[1]));
    for (int k = 0; k < 2; k++) {
        const ptrdiff_t *sample;
        ptrdiff_t n = kn_model_reference(both[k], &sample);
        assert_int_equal(n, m->reference.n);
        assert_non_null(sample);
        assert_memory_equal(sample, m->reference.sample, (size_t)n * sizeof *sample);
        for (ptrdiff_t i = 0; i < n; i++)
            assert_true(sample[i] >= (i > 0 ? sample[i - 1] + 1 : 0) && sample[i] < m->gp.N);
    }
    kn_view z = kn_model_array(m, "z_cv");
    assert_true(z.rows == m->reference.n && z.cols == m->gp.T);
    for (ptrdiff_t i = 0; i < z.rows; i++)
        for (ptrdiff_t j = 0; j < z.cols; j++)
            assert_true(kn_view_at(z, i, j) == (double)m->reference.z[i * z.cols + j]);
    kn_model_free(both[1]);
    kn_bytes_free(bytes);
}

/* Leading P principal components of the columns of Y, T x P: eigenvectors of the T x T Gram matrix
 * of the standardised columns. Its "samples" are the responses, so it is small whatever N is. All T
 * eigenvalues go to s2, which may be NULL. */
static kn_mat components_by_gram(kn_mat Y, ptrdiff_t P, double *s2)
{
    ptrdiff_t N = Y.rows, T = Y.cols;
    kn_mat S = ref_new(N, T), B = ref_new(T, P);
    for (ptrdiff_t j = 0; j < T; j++) {
        double mean = 0, var = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            mean += kn_at(Y, i, j) / (double)N;
        for (ptrdiff_t i = 0; i < N; i++)
            var += pow(kn_at(Y, i, j) - mean, 2) / (double)N;
        for (ptrdiff_t i = 0; i < N; i++)
            kn_col(S, j)[i] = (kn_at(Y, i, j) - mean) / sqrt(var);
    }
    kn_view turned = kn_view_rows(S.data, T, N);
    kn_scaling as_it_is;
    kn_gram gram;
    assert_ok(ctx, kn_scaling_new(ctx, turned, false, &as_it_is));
    kn_responses R = kn_responses_of(turned, &as_it_is);
    assert_ok(ctx, kn_gram_new(ctx, &R, &gram));
    assert_int_equal(gram.G.rows, T);
    for (ptrdiff_t j = 0; j < T; j++) /* a correlation matrix, times N */
        assert_close(kn_at(gram.G, j, j), (double)N, 1e-9);
    for (ptrdiff_t p = 0; p < P; p++)
        memcpy(kn_col(B, p), kn_col(gram.U, p), (size_t)T * sizeof(double));
    for (ptrdiff_t j = 0; s2 && j < T; j++)
        s2[j] = gram.s2[j];
    kn_gram_clear(&gram);
    kn_scaling_clear(&as_it_is);
    free(S.data);
    return B;
}

static void two_thousand_are_held_out_of_six(void **state)
{
    (void)state;
    enum { N = 6000, T = 40 };
    kn_mat X, Y;
    kn_settings o;
    kn_fit_info info;
    kn_model *m;
    participants(N, T, 1, &X, &Y);
    plain_settings(&o);
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &m));
    kn_model_info(m, &info);
    assert_int_equal(info.cv.folds, 1);
    assert_int_equal(m->reference.n, 2000);
    assert_true(m->reference.has_gev && m->reference.has_deviance);
    assert_close(info.cv.z2, 1, 0.03);
    assert_close(info.cv.coverage95, 0.95, 0.01);
    assert_true(info.cv.msll < -0.2);
    assert_true(info.n_components >= 2);
    assert_true(info.rank < N / 3 && info.rank_residual < 1e-11);
    assert_reference_is_described(m);
    /* their z by the stored reference are what a model of the others says */
    ptrdiff_t *train = malloc(N * sizeof *train), n = 0, at = 0;
    for (ptrdiff_t i = 0; i < N; i++)
        if (at < 2000 && m->reference.sample[at] == i)
            at++;
        else
            train[n++] = i;
    assert_int_equal(n, 4000);
    kn_mat Xt = ref_new(n, 2), Yt = ref_new(n, T), Xs = ref_new(2000, 2);
    kn_mat_rows(X, train, Xt);
    kn_mat_rows(Y, train, Yt);
    kn_mat_rows(X, m->reference.sample, Xs);
    kn_model *others;
    kn_maps *maps;
    kn_mat mean = ref_new(2000, T), var = ref_new(2000, T), z = ref_new(2000, T),
           own = ref_new(2000, T);
    kn_mat B =
        components_by_gram(Yt, info.n_components, NULL); /* sooner than the one of 4000 samples */
    o.basis_view = view(B);
    o.rho = info.rho;
    o.length = info.length;
    o.max_evals = 0;
    o.folds = 0;
    assert_ok(ctx, kn_fit_arrays(ctx, view(Xt), view(Yt), &o, &others));
    assert_ok(ctx, kn_maps_predict(ctx, others, view(Xs), &maps));
    assert_ok(ctx, kn_maps_block(ctx, maps, 0, T, mean, var));
    double noise[T];
    assert_ok(ctx, kn_model_noise(ctx, m, noise));
    for (ptrdiff_t j = 0; j < T; j++)
        for (ptrdiff_t i = 0; i < 2000; i++) {
            double y = kn_at(Y, m->reference.sample[i], j);
            kn_col(own, j)[i] = (y - kn_at(mean, i, j)) / sqrt(kn_at(var, i, j) + noise[j]);
            kn_col(z, j)[i] = (double)m->reference.z[i * T + j];
        }
    /* the scaling of responses and covariates is held in the reference, but not in `others` */
    assert_same(z, own, 0.03);
    kn_maps_free(maps);
    kn_model_free(others);
    kn_model_free(m);
    free(train), free(X.data), free(Y.data), free(Xt.data), free(Yt.data), free(Xs.data);
    free(mean.data), free(var.data), free(z.data), free(own.data), free(B.data);
}

/* Without a held-out set, against a basis that is given. */
static void assert_basis_is_by_gram(ptrdiff_t N, ptrdiff_t T)
{
    kn_mat X, Y;
    kn_settings o;
    kn_model *by_range, *by_gram;
    double *s2 = malloc((size_t)T * sizeof *s2), *a = malloc((size_t)T * sizeof *a),
           *b = malloc((size_t)T * sizeof *b);
    participants(N, T, 0.3, &X, &Y);
    plain_settings(&o);
    o.components = 3;
    o.max_evals = 0;
    o.rho = 0.5;
    o.length = 2;
    o.folds = 0;
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &by_range));
    kn_mat B = components_by_gram(Y, 3, s2);
    o.basis_view = view(B);
    assert_ok(ctx, kn_fit_arrays(ctx, view(X), view(Y), &o, &by_gram));
    kn_fit_info range, gram;
    kn_model_info(by_range, &range);
    kn_model_info(by_gram, &gram);
    assert_true(kn_heldout_by_products(T) ? range.basis_residual == 0
                                          : range.basis_residual < 1e-2);
    kn_view found = kn_model_array(by_range, "B");
    /* With residual r of u_p, eigenvalues l of Y'Y and the gap between l_p and its neighbours, u_p
     * is turned by at most r l_p / gap (Davis and Kahan), and b_p = Y'u_p, half a step later, by at
     * most sqrt(l_1/l_p) times that. The cosine of an angle is within its square of 1. */
    double turned = 0;
    for (int p = 0; p < 3; p++) {
        double dot = 0; /* of two unit vectors, of either sign */
        double gap = fmin(s2[p] - s2[p + 1], p > 0 ? s2[p - 1] - s2[p] : INFINITY);
        double angle = range.basis_residual * sqrt(s2[0] / s2[p]) * s2[p] / gap;
        for (ptrdiff_t j = 0; j < T; j++)
            dot += kn_view_at(found, j, p) * kn_at(B, j, p);
        assert_close(fabs(dot), 1, angle * angle + 1e-12);
        turned += angle;
    }
    /* z_p changes by the angle times a z_w of the complement, and the likelihood by
     * angle z_p'K_p^-1 z_w. At the maximum z_p'K_p^-1 z_p = N, and z_w'K_p^-1 z_w <= N because the
     * noise of component p is no less than that outside the basis. */
    assert_close(range.lml, gram.lml, (double)N * turned / fabs(gram.lml) + 1e-10);
    assert_ok(ctx, kn_model_noise(ctx, by_range, a));
    assert_ok(ctx, kn_model_noise(ctx, by_gram, b));
    for (ptrdiff_t j = 0; j < T; j++)
        assert_close(a[j], b[j], 1e-3); /* from sums, up to the residual; and exactly */
    kn_model_free(by_range);
    kn_model_free(by_gram);
    free(X.data), free(Y.data), free(B.data), free(s2), free(a), free(b);
}

static void a_few_responses_have_the_basis_of_the_gram_matrix(void **state)
{
    (void)state;
    assert_basis_is_by_gram(5001, 30);
}

static void range_finder_and_gram_give_the_same_model(void **state)
{
    (void)state;
    assert_basis_is_by_gram(5001, KN_BLOCK + 2);
}

static void the_range_finder_finds_the_basis_of_those_not_held_out(void **state)
{
    (void)state;
    enum { N = 80, T = KN_BLOCK + 52, P = 3 };
    kn_mat X, Y, sketch = {0};
    kn_scaling scaling;
    int fold[N];
    kn_heldout h;
    kn_fold exact = {0};
    participants(N, T, 0.1, &X, &Y);
    assert_ok(ctx, kn_scaling_new(ctx, view(Y), true, &scaling));
    kn_responses R = kn_responses_of(view(Y), &scaling);
    for (int i = 0; i < N; i++)
        fold[i] = i % 3 == 0 ? 0 : -1;
    assert_ok(ctx,
              kn_heldout_new(ctx, &(kn_heldout_input){.Y = &R, .fold = fold, .seed = 1}, P, &h));
    kn_responses train = kn_responses_rows(&R, h.rows.train, h.rows.n_train);
    exact.n_train = h.rows.n_train;
    train.side = KN_SIDE_RESPONSES;
    assert_ok(ctx, kn_fold_completed(ctx, &train, P, &exact));
    assert_int_equal(h.basis.B.cols, P);
    for (ptrdiff_t p = 0; p < P; p++) {
        double dot = 0;
        for (ptrdiff_t j = 0; j < T; j++)
            dot += kn_at(h.basis.B, j, p) * kn_at(exact.B, j, p);
        assert_close(fabs(dot), 1, fmax(h.range.residual * h.range.residual, 1e-6));
    }
    for (ptrdiff_t j = 0; j < T; j++)
        assert_close(h.mean[j], exact.mu[j], 1e-6); /* the last reading is in float32 */
    assert_ok(ctx, kn_heldout_sketch(ctx, &h, &R, P, &sketch));
    kn_mat y = ref_new(N, T);
    kn_responses_block(ctx, &R, 0, y);
    kn_mat Z = ref_mul(0, y, 0, h.basis.B);
    assert_same(sketch, Z, 1e-3 * sqrt((double)T));
    kn_fold_clear(&exact);
    kn_heldout_clear(&h);
    kn_mat_clear(&sketch);
    kn_scaling_clear(&scaling);
    free(X.data), free(Y.data), free(y.data), free(Z.data);
}

static void groups_never_part(void **state)
{
    (void)state;
    static const ptrdiff_t sizes[] = {3, 10, 99, 1000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int once = 0; once < 2; once++) {
            ptrdiff_t N = sizes[k], count[10] = {0}, out = 0;
            int *group = calloc((size_t)N, sizeof *group), *fold = calloc((size_t)N, sizeof *fold);
            int folds = once ? KN_HELD_OUT_ONCE : 10;
            for (ptrdiff_t i = 0; i < N; i++)
                group[i] = (int)(i * 7919 % N / 3) - 5;
            assert_ok(ctx, kn_folds_assign(ctx, N, N > 3 ? group : NULL, NULL, 1, &folds, fold));
            for (ptrdiff_t i = 0; i < N; i++)
                for (ptrdiff_t j = 0; N > 3 && j < i; j++)
                    if (group[i] == group[j])
                        assert_int_equal(fold[i], fold[j]);
            for (ptrdiff_t i = 0; i < N; i++)
                if (fold[i] >= 0)
                    count[fold[i]]++, out++;
            for (int f = 0; f < folds; f++)
                assert_true(count[f] > 0);
            assert_true(once ? out >= N / 2 && out < N : out == N);
            if (!once && N >= 99)
                for (int f = 0; f < folds; f++)
                    assert_true(labs((long)(count[f] - N / folds)) <= 3);
            free(group), free(fold);
        }
    int same[4] = {1, 1, 1, 1}, fold[4], folds = 2;
    assert_refused(ctx, kn_folds_assign(ctx, 4, same, NULL, 1, &folds, fold), KN_ERR_DATA,
                   "one group");
}

static void folds_follow_the_rows(void **state)
{
    (void)state;
    enum { N = 53, FOLDS = 4 };
    kn_rng rng;
    ptrdiff_t order[N], place[N], moved[N], another[N];
    int group[N], renamed[N], a[N], b[N], folds;
    ref_rng_init(&rng, 9, 1);
    for (int kind = 0; kind < 4; kind++) { /* with and without groups, one set or several */
        int many = kind & 1 ? KN_HELD_OUT_ONCE : FOLDS;
        const int *of = kind & 2 ? group : NULL, *other = kind & 2 ? renamed : NULL;
        kn_rng_permutation(&rng, N, order);
        kn_rng_permutation(&rng, N, place); /* row i becomes row place[i] */
        for (int i = 0; i < N; i++)
            group[i] = (int)kn_rng_below(&rng, 20);
        for (int i = 0; i < N; i++) {
            renamed[place[i]] = 100 - group[i];
            moved[i] = place[order[i]];
            another[i] = order[N - 1 - i];
        }
        folds = many;
        assert_ok(ctx, kn_folds_assign(ctx, N, of, order, 1, &folds, a));
        folds = many;
        assert_ok(ctx, kn_folds_assign(ctx, N, other, moved, 1, &folds, b));
        for (int i = 0; i < N; i++)
            assert_int_equal(a[i], b[place[i]]);
        folds = many;
        assert_ok(ctx, kn_folds_assign(ctx, N, of, another, 1, &folds, b));
        assert_true(memcmp(a, b, sizeof a) != 0);
    }
}

TEST_PROGRAM(gp_single_holdout)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_never_part),
        cmocka_unit_test(folds_follow_the_rows),
        cmocka_unit_test(a_few_responses_have_the_basis_of_the_gram_matrix),
        cmocka_unit_test(range_finder_and_gram_give_the_same_model),
        cmocka_unit_test(the_range_finder_finds_the_basis_of_those_not_held_out),
        cmocka_unit_test(two_thousand_are_held_out_of_six),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
