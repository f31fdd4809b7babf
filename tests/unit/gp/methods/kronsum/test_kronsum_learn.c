/* MT-Kronsum learned: EM that never falls, maxima, floors, group noise, what judges a shrinkage.
 *                                                                               [METHOD 1g] */
#include "support/kronsums.h"

#include "gp/likelihood/engine.h"
#include "gp/predict/predict.h"
#include "la/la.h"

static void em_never_falls(void **state)
{
    (void)state;
    static const double NU[] = {0, 1, 30};
    for (int s = 0; s < N_SHAPES; s++)
        for (int l = 0; l < 3; l++) {
            problem p = draw(SHAPES[s]);
            ptrdiff_t T = p.Y.cols;
            kn_kronsum_prior prior = {NU[l], wishart(T, T + 1, 1), wishart(T, T + 1, 1)};
            double before = -INFINITY;
            if (NU[l] > 0)
                for (ptrdiff_t j = 0; j < T; j++)
                    kn_col(p.C, j)[j] += 0.1;
            solve(&p);
            for (int step = 0; step < 15; step++) {
                double now = p.k.lml + kn_kronsum_log_prior(ctx, &prior, &p.k, NULL, NULL);
                if (!(now >= before - 1e-9 * (1 + fabs(before))))
                    fail_msg("shape %d, nu %g, step %d: %.12g after %.12g", s, NU[l], step, now,
                             before);
                before = now;
                kn_kronsum_em(ctx, &p.data, &prior, &p.k, p.C, p.S);
                assert_ok(ctx, kn_kronsum_evaluate(ctx, &p.data, p.C, p.S, &p.k));
            }
            release(&p);
            free(prior.C0.data), free(prior.S0.data);
        }
}

static kn_kronsum_learned learn(problem *p, double nu, kn_kronsum_prior *prior, int em)
{
    kn_kronsum_learned out;
    prior->nu = nu;
    kn_kronsum_learning how = {.prior = *prior,
                               .floor = 1e-6,
                               .limits = {.evals_left = 2000},
                               .em = em};
    assert_ok(ctx,
              kn_kronsum_learn(ctx, &p->data, &how, &(kn_kronsum_point){p->C, p->S, &p->k}, &out));
    return out;
}

/* (I + A) M (I + A)', A of this norm, along `slope` or random where that is none. */
static kn_mat moved(kn_mat M, kn_mat slope, double norm)
{
    kn_mat A = slope.data ? ref_new(M.rows, M.rows) : ref_normal(&rng, M.rows, M.rows);
    if (slope.data)
        kn_mat_set(A, slope);
    double scale = norm / sqrt(kn_sumsq(A));
    for (ptrdiff_t j = 0; j < M.rows; j++)
        for (ptrdiff_t i = 0; i < M.rows; i++)
            kn_col(A, j)[i] = scale * kn_at(A, i, j) + (i == j);
    kn_mat AM = ref_mul(0, A, 0, M), out = ref_mul(0, AM, 1, A);
    free(A.data), free(AM.data);
    return out;
}

/* Neither uphill in C, uphill in S nor anywhere else. The likelihood rises fastest in (I + A) C (I
 * + A)' along A = G_C C. */
static void no_point_nearby_is_better(problem *p, const kn_kronsum_prior *prior, double best)
{
    ptrdiff_t T = p->C.rows;
    kn_mat GC = ref_new(T, T), GS = ref_new(T, T);
    kn_kronsum_gradient(ctx, &p->k, GC, GS);
    kn_kronsum_log_prior(ctx, prior, &p->k, &GC, &GS);
    kn_mat slopes[] = {ref_mul(0, GC, 0, p->C), ref_mul(0, GS, 0, p->S), kn_mat_none()};
    for (int k = 0; k < 60; k++) {
        double norm = 0.5 * pow(0.3, k / 3 % 5);
        int up = k % 3;
        kn_mat C = moved(p->C, slopes[up < 2 ? 0 : 2], up == 1 ? 0 : norm);
        kn_mat S = moved(p->S, slopes[up < 2 ? 1 : 2], up == 0 ? 0 : norm);
        assert_ok(ctx, kn_kronsum_evaluate(ctx, &p->data, C, S, &p->k));
        double value = p->k.lml + kn_kronsum_log_prior(ctx, prior, &p->k, NULL, NULL);
        if (!(value <= best))
            fail_msg("%.12g at a distance of %g, expected at most %.12g", value, norm, best);
        free(C.data), free(S.data);
    }
    for (int which = 0; which < 2; which++)
        free(slopes[which].data);
    free(GC.data), free(GS.data);
}

/* Both parts of the learner rise, and end at a maximum: neither points nearby nor a second search
 * from there are better. The search stops at a step that gains less than 1e-7 NT nats; where it
 * converges linearly, at a rate of .999, 1000 times that is left. */
static void learning_ends_at_a_maximum(void **state)
{
    (void)state;
    for (int low = 0; low < 2; low++)
        for (int l = 0; l < 2; l++) {
            problem p = draw((shape){30, 3, 2, 3, 0, 1, low});
            ptrdiff_t T = 3;
            double left = 1000 * 1e-7 * 30 * 3;
            kn_kronsum_prior prior = {0, wishart(T, 5, 1), wishart(T, 5, 1)};
            solve(&p);
            kn_kronsum_learned a = learn(&p, l ? 20 : 0, &prior, 20);
            assert_true(a.evals > a.em_steps + 1 && a.em_steps <= 20);
            assert_int_equal(a.stop, KN_STOP_CONVERGED);
            assert_true(l || a.lml >= a.em_lml);
            double value = kn_kronsum_log_prior(ctx, &prior, &p.k, NULL, NULL);
            assert_close(a.objective, p.k.lml + value, 1e-12);
            no_point_nearby_is_better(&p, &prior, a.objective + left);
            kn_kronsum_learned b = learn(&p, l ? 20 : 0, &prior, 200);
            if (!(b.objective <= a.objective + left))
                fail_msg("%.12g, and %.12g from there", a.objective, b.objective);
            release(&p);
            free(prior.C0.data), free(prior.S0.data);
        }
}

/* Two responses that are one: S stays at its floor, and nothing is infinite. */
static void duplicate_responses_end_at_the_floor(void **state)
{
    (void)state;
    problem p = draw((shape){30, 3, 2, 3, 0, 1, false});
    kn_kronsum_prior prior = {0};
    for (ptrdiff_t i = 0; i < 30; i++)
        kn_col(p.Y, 2)[i] = kn_at(p.Y, i, 1);
    for (int k = 0; k < 3; k++) {
        kn_col(p.C, 2)[k] = kn_col(p.C, 1)[k];
        kn_col(p.S, 2)[k] = kn_col(p.S, 1)[k];
    }
    for (int k = 0; k < 3; k++) {
        kn_col(p.C, k)[2] = kn_col(p.C, k)[1];
        kn_col(p.S, k)[2] = kn_col(p.S, k)[1];
    }
    kn_kronsum_problem of = {
        .spec = &p.spec, .theta = p.theta, .X = p.X, .Y = p.Y, .groups = &p.groups};
    assert_ok(ctx, kn_kronsum_side_new(ctx, &of, &p.side));
    p.data = kn_kronsum_side_data(&p.side);
    assert_ok(ctx, kn_kronsum_new(ctx, 3, p.side.A.rows, &p.k));
    kn_kronsum_learned a = learn(&p, 0, &prior, 50);
    assert_true(a.floored && isfinite(a.lml));
    double along = kn_at(p.S, 1, 1) + kn_at(p.S, 2, 2) - 2 * kn_at(p.S, 1, 2);
    assert_true(along >= 1.99e-6 && along < 1e-5);
    release(&p);
}

/* At its C and (1 + tau) S no other tau is likelier. */
static void is_at_its_maximum(kn_kronsum_fit *f, double tau)
{
    kn_mat S = ref_new(f->S.rows, f->S.cols);
    double lml[3];
    for (int k = 0; k < 3; k++) {
        double at = tau * (1 + 0.005 * (k - 1));
        for (ptrdiff_t j = 0; j < S.cols; j++)
            for (ptrdiff_t i = 0; i < S.rows; i++)
                kn_col(S, j)[i] = kn_at(f->S, i, j) * (1 + tau) / (1 + at);
        assert_ok(ctx, kn_kronsum_side_at(ctx, &f->side, at));
        kn_kronsum_data data = kn_kronsum_side_data(&f->side);
        assert_ok(ctx, kn_kronsum_evaluate(ctx, &data, f->C, S, &f->k));
        lml[k] = f->k.lml;
    }
    assert_true(lml[1] > lml[0] && lml[1] > lml[2]);
    free(S.data);
}

/* tau of data made with it, and none of data without. */
static void group_noise_is_found(void **state)
{
    (void)state;
    enum { N = 120, T = 3, EACH = 3 };
    for (int with = 0; with < 2; with++) {
        problem p = draw((shape){N, T, 1, 3, 0, 1, true});
        int code[N];
        double tau = with ? 2 : 0, found;
        kn_mat shared = ref_normal(&rng, N / EACH, T);
        for (int i = 0; i < N; i++) {
            code[i] = i / EACH;
            for (int j = 0; j < T; j++)
                kn_col(p.Y, j)[i] += sqrt(tau) * kn_at(shared, i / EACH, j);
        }
        assert_ok(ctx, kn_groups_new(ctx, N, code, &p.groups));
        kn_kronsum_problem of = {.spec = &p.spec,
                                 .theta = p.theta,
                                 .P = 2,
                                 .X = p.X,
                                 .Y = p.Y,
                                 .groups = &p.groups,
                                 .limits = {.evals_left = -1}};
        kn_kronsum_fit f;
        assert_ok(ctx, kn_kronsum_fit_new(ctx, &of, &f));
        assert_ok(ctx, kn_kronsum_fit_tau(ctx, &f, &found));
        /* Variances between and within groups have a ratio F of 1 + EACH tau, of T responses with
         * G - 1 and N - G degrees of freedom each: ln F is known to 5 standard errors of
         * sqrt(2/(T (G - 1)) + 2/(T (N - G))). */
        double G = (double)N / EACH, wide = exp(5 * sqrt(2 / (T * (G - 1)) + 2 / (T * (N - G))));
        double F = 1 + EACH * tau;
        if (!(1 + EACH * found <= F * wide && 1 + EACH * found >= F / wide))
            fail_msg("tau is %g, expected %g", found, tau);
        if (with)
            is_at_its_maximum(&f, found);
        kn_kronsum_fit_clear(&f);
        release(&p);
        free(shared.data);
    }
}

static kn_kronsum_problem case_of(const problem *p, ptrdiff_t P)
{
    return (kn_kronsum_problem){.spec = &p->spec,
                                .theta = p->theta,
                                .tau = p->tau,
                                .P = P,
                                .X = p->X,
                                .Y = p->Y,
                                .groups = &p->groups,
                                .limits = {.evals_left = 3}};
}

/* What judges the shrinkage: the density of maps of new samples, in groups of their own. */
static void density_of_new_maps_is_a_dense_gaussian(void **state)
{
    (void)state;
    for (int s = 0; s < 2; s++) {
        problem p = draw((shape){24, 4, 2, 4, s ? 6 : 0, 1, false});
        kn_kronsum_problem of = case_of(&p, 2);
        kn_kronsum_fit f;
        kn_mat Ys = ref_normal(&rng, p.Xs.rows, 4), lat = ref_new(p.Xs.rows, 4);
        kn_mat v = ref_new(p.Xs.rows, 4);
        double density, expected = 0, clamped = 0;
        assert_ok(ctx, kn_kronsum_fit_new(ctx, &of, &f));
        assert_ok(ctx, kn_kronsum_fit_learn(ctx, &f, 5));
        assert_ok(ctx, kn_kronsum_fit_density(ctx, &f, p.Xs, Ys, &density));
        assert_ok(ctx, kn_latent_predict(ctx, &f.latent, &(kn_predict_input){.X = p.Xs}, lat, v,
                                         &clamped));
        kn_mat mean = ref_mul(0, lat, 1, f.k.Q);
        for (ptrdiff_t i = 0; i < p.Xs.rows; i++) {
            kn_mat K = ref_new(4, 4); /* Q diag(v) Q' + (1 + tau) S */
            double e[4];
            for (int j = 0; j < 4; j++) {
                e[j] = kn_at(Ys, i, j) - kn_at(mean, i, j);
                for (int k = 0; k < 4; k++) {
                    kn_col(K, k)[j] = (1 + p.tau) * kn_at(f.S, j, k);
                    for (int q = 0; q < 4; q++)
                        kn_col(K, k)[j] += kn_at(f.k.Q, j, q) * kn_at(v, i, q) * kn_at(f.k.Q, k, q);
                }
            }
            expected += ref_log_density(K, e) / (double)p.Xs.rows;
            free(K.data);
        }
        assert_close(density, expected, 1e-9);
        kn_kronsum_fit_clear(&f);
        release(&p);
        free(Ys.data), free(lat.data), free(v.data), free(mean.data);
    }
}

/* With infinite shrinkage a new group's noise is that of structured noise, d_p (1 + gamma_p) along
 * its components, whatever tau is; with P = T nothing is outside them. */
static void the_structured_model_keeps_the_noise_of_new_groups(void **state)
{
    (void)state;
    enum { T = 3 };
    problem p = draw((shape){30, T, 2, 3, 10, 1, false});
    kn_kronsum_problem of = case_of(&p, T);
    kn_mat noise[2], shared = ref_normal(&rng, 10, T);
    for (int j = 0; j < T; j++)
        for (int i = 0; i < 30; i++) /* the groups of draw, with a variance of 100 in common */
            kn_col(p.Y, j)[i] += 10 * kn_at(shared, i % 10, j);
    for (int k = 0; k < 2; k++) {
        kn_kronsum_fit f;
        of.tau = k ? 2.5 : 0.1;
        noise[k] = ref_new(T, T);
        assert_ok(ctx, kn_kronsum_fit_new(ctx, &of, &f));
        assert_ok(ctx, kn_kronsum_fit_learn(ctx, &f, INFINITY));
        for (int j = 0; j < T; j++)
            for (int i = 0; i < T; i++)
                kn_col(noise[k], j)[i] = (1 + of.tau) * kn_at(f.S, i, j);
        kn_kronsum_fit_clear(&f);
    }
    assert_same(noise[0], noise[1], 1e-10);
    kn_groups groups = {0};
    kn_engine e = {0};
    kn_mat YY = ref_mul(1, p.Y, 0, p.Y), B = {0};
    double w[T], lml;
    assert_ok(ctx, kn_mat_copy(ctx, YY, &B));
    assert_ok(ctx, kn_eig(ctx, B, w));
    kn_mat Z = ref_mul(0, p.Y, 0, B);
    kn_engine_data data = {
        .X = p.X, .Z = Z, .groups = &groups, .T = T, .total = w[0] + w[1] + w[2]};
    assert_ok(ctx, kn_groups_subset(ctx, &p.groups, NULL, 30, &groups));
    assert_ok(ctx, kn_engine_new(ctx, &p.spec, &data, &e));
    assert_ok(ctx, kn_engine_at(ctx, &e, p.theta, &lml));
    for (int q = 0; q < T; q++) {
        double along = 0;
        assert_true(e.cell[e.in[q]].R0.gamma > 0.1);
        for (int j = 0; j < T; j++)
            for (int i = 0; i < T; i++)
                along += kn_at(B, i, q) * kn_at(noise[0], i, j) * kn_at(B, j, q);
        assert_close(along, e.d[q] * (1 + e.cell[e.in[q]].R0.gamma), 1e-9);
    }
    kn_engine_clear(&e);
    kn_groups_clear(&groups);
    kn_mat_clear(&B);
    release(&p);
    free(YY.data), free(Z.data), free(noise[0].data), free(noise[1].data), free(shared.data);
}

TEST_PROGRAM(kronsum_learn)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(em_never_falls),
        cmocka_unit_test(learning_ends_at_a_maximum),
        cmocka_unit_test(duplicate_responses_end_at_the_floor),
        cmocka_unit_test(group_noise_is_found),
        cmocka_unit_test(density_of_new_maps_is_a_dense_gaussian),
        cmocka_unit_test(the_structured_model_keeps_the_noise_of_new_groups),
    };
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 12, 3);
    int failed = cmocka_run_group_tests_name("kronsum_learn", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
