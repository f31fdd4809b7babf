/* Covariates become columns: which, and what is in them. */
#include "support/designs.h"

#include "base/random.h"

static void columns_go_where_they_belong(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const kn_interaction by_site[] = {{1, 0}};
    kn_mat raw = cohort();
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = COHORT_LEVELS,
                           .quadratic = 1,
                           .interactions = by_site,
                           .n_interactions = 1};
    kn_design d = made(ctx, raw, &o);
    assert_int_equal(d.C, 4);
    assert_int_equal(d.Fc, 2);
    assert_int_equal(d.Fq, 1); /* dose has three values */
    assert_int_equal(d.F, 2 + 1 + 4 + 4);
    assert_int_equal(d.n_constant, 1);
    assert_true(d.column[2].constant && d.column[2].x == -1);
    assert_true(d.mean[1] == 0 && d.sd[1] == 1);
    static const kn_design_block expected[] = {{KN_DESIGN_LINEAR, 0, 2, -1, -1},
                                               {KN_DESIGN_QUADRATIC, 2, 1, -1, -1},
                                               {KN_DESIGN_CATEGORY, 3, 4, 1, -1},
                                               {KN_DESIGN_INTERACTION, 7, 4, 1, 0}};
    kn_design_block block[4] = {0};
    assert_int_equal(kn_design_blocks(&d, block, 4), 4);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(block[k].kind, expected[k].kind);
        assert_int_equal(block[k].first, expected[k].first);
        assert_int_equal(block[k].count, expected[k].count);
        assert_int_equal(block[k].column, expected[k].column);
        assert_int_equal(block[k].second, expected[k].second);
    }
    kn_design_block few[1];
    assert_int_equal(kn_design_blocks(&d, few, 1), 4);
    assert_int_equal(few[0].count, 2);

    kn_mat X = applied(ctx, &d, raw, false, NULL);
    double mean = 275. / 6, sd = 0, q_mean = 0, q_sd = 0, x[6];
    for (int i = 0; i < 6; i++)
        sd += pow(kn_at(raw, i, 0) - mean, 2) / 6;
    for (int i = 0; i < 6; i++) {
        x[i] = (kn_at(raw, i, 0) - mean) / sqrt(sd);
        q_mean += x[i] * x[i] / 6;
    }
    for (int i = 0; i < 6; i++)
        q_sd += pow(x[i] * x[i] - q_mean, 2) / 6;
    for (int i = 0; i < 6; i++) {
        assert_close(kn_at(X, i, 0), x[i], 1e-14);
        assert_close(kn_at(X, i, 1), (kn_at(raw, i, 3) - 1) / sqrt(2. / 3), 1e-14);
        assert_close(kn_at(X, i, 2), (x[i] * x[i] - q_mean) / sqrt(q_sd), 1e-13);
        for (int l = 0; l < 4; l++) {
            static const double shares[] = {.2, .4, .4, 0};
            double e = i == 5 ? shares[l] : kn_at(raw, i, 1) == l;
            assert_close(kn_at(X, i, 3 + l), e, 1e-15);
            assert_close(kn_at(X, i, 7 + l), e * x[i], 1e-14);
        }
    }
    free(X.data);
    kn_design_clear(&d);

    /* As they are: the slope is over age itself, the parabola still about its mean. */
    o.standardise = false;
    d = made(ctx, raw, &o);
    X = applied(ctx, &d, raw, false, NULL);
    double sum = 0, squares = 0;
    for (int i = 0; i < 6; i++) {
        assert_true(kn_at(X, i, 0) == kn_at(raw, i, 0));
        sum += kn_at(X, i, 2);
        squares += pow(kn_at(X, i, 2), 2);
    }
    assert_close(sum, 0, 1e-12);
    assert_close(squares, 6, 1e-12);
    free(X.data);
    kn_design_clear(&d);
    free(raw.data);
    kn_ctx_free(ctx);
}

static void squares_need_values_and_participants(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const int two[] = {5, 5}, four[] = {4, 5};
    for (ptrdiff_t n = 39; n <= 40; n++) {
        kn_mat raw = ref_new(n, 2);
        for (ptrdiff_t i = 0; i < n; i++) {
            kn_col(raw, 0)[i] = (double)(i % 5);
            kn_col(raw, 1)[i] = (double)i;
        }
        kn_design_options o = {.additive = true, .standardise = true, .quadratic = -1};
        for (int k = 0; k < 5; k++) {
            o.quadratic = k == 1 ? 0 : k == 2 ? 1 : -1;
            o.values = k == 3 ? two : k == 4 ? four : NULL;
            kn_design d = made(ctx, raw, &o);
            assert_int_equal(d.Fq, k == 1 ? 0 : k == 2 ? 2 : k == 4 ? 1 : n == 40 ? 2 : 0);
            kn_design_clear(&d);
        }
        o = (kn_design_options){.additive = false, .standardise = true, .quadratic = 1};
        kn_design d = made(ctx, raw, &o);
        assert_true(d.Fq == 0 && d.F == 2);
        kn_design_clear(&d);
        free(raw.data);
    }
    kn_ctx_free(ctx);
}

/* Without a constant among them, the columns are what they were. */
static void a_plain_design_is_standardised_columns(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_rng rng;
    ref_rng_init(&rng, 4, 0);
    kn_mat raw = ref_normal(&rng, 9, 4), with = ref_new(9, 5);
    for (ptrdiff_t f = 0; f < 5; f++)
        for (ptrdiff_t i = 0; i < 9; i++)
            kn_col(with, f)[i] = f == 2 ? 1.5 : kn_at(raw, i, f > 2 ? f - 1 : f);
    for (int standardise = 0; standardise < 2; standardise++) {
        kn_mat old = ref_new(9, 4);
        for (ptrdiff_t f = 0; f < 4; f++) {
            double mean = 0, v = 0;
            for (ptrdiff_t i = 0; i < 9; i++)
                mean += kn_at(raw, i, f) / 9;
            for (ptrdiff_t i = 0; i < 9; i++)
                v += (kn_at(raw, i, f) - mean) * (kn_at(raw, i, f) - mean) / 9;
            for (ptrdiff_t i = 0; i < 9; i++)
                kn_col(old, f)[i] =
                    standardise ? (kn_at(raw, i, f) - mean) / sqrt(v) : kn_at(raw, i, f);
        }
        kn_design_options o = {.standardise = standardise, .quadratic = -1};
        kn_design d = made(ctx, with, &o);
        kn_design_block block;
        assert_int_equal(kn_design_blocks(&d, &block, 1), 1);
        assert_int_equal(block.count, 4);
        assert_int_equal(d.n_constant, 1);
        kn_mat X = applied(ctx, &d, with, true, NULL);
        assert_same(X, old, 1e-14);
        free(X.data), free(old.data);
        kn_design_clear(&d);
    }
    free(raw.data), free(with.data);
    kn_ctx_free(ctx);
}

static void covariates_of_new_participants_are_clamped_to_the_training_range(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const kn_interaction by_site[] = {{1, 0}};
    kn_mat raw = cohort();
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = COHORT_LEVELS,
                           .quadratic = 1,
                           .interactions = by_site,
                           .n_interactions = 1};
    kn_design d = made(ctx, raw, &o);
    double low, high;
    kn_design_range(&d, 0, &low, &high);
    assert_true(low == 20 - 27.5 && high == 75 + 27.5);
    /* inside; beyond training; at and beyond the end; below; other constant; unseen; all of it */
    kn_mat new = MATRIX(4, 50, 1, 7, 1, 80, 1, 7, 1, 102.5, 1, 7, 1, 200, 1, 7, 1, -90, 1, 7, 1, 50,
                        1, 8, 1, 50, 3, 7, 1, 50, NAN, 7 + 1e-10, 1, 1e300, 3, -7, -99);
    static const int expected[] = {0, 0, 0, 1, 1, 1, 1, 0, 4};
    static const ptrdiff_t by_column[] = {3, 2, 2, 1};
    int held_out[9];
    ptrdiff_t participants[4];
    kn_mat X = applied(ctx, &d, new, true, held_out), free_X = applied(ctx, &d, new, false, NULL);
    kn_mat as_clamped = ref_new(9, 4);
    for (ptrdiff_t i = 0; i < 9; i++) {
        assert_int_equal(held_out[i], expected[i]);
        for (ptrdiff_t c = 0; c < 4; c++)
            kn_col(as_clamped, c)[i] = kn_at(new, i, c);
        kn_col(as_clamped, 0)[i] = fmin(fmax(kn_at(new, i, 0), -7.5), 102.5);
        kn_col(as_clamped, 3)[i] = fmin(fmax(kn_at(new, i, 3), -1), 3);
    }
    assert_ok(ctx, kn_design_count_clamped(ctx, &d, view(new), participants));
    for (int c = 0; c < 4; c++)
        assert_int_equal(participants[c], by_column[c]);
    kn_mat X2 = applied(ctx, &d, as_clamped, false, NULL);
    for (ptrdiff_t i = 0; i < 9; i++) {
        for (ptrdiff_t f = 0; f < d.F; f++)
            if (f != d.column[0].q)
                assert_true(kn_at(X, i, f) == kn_at(X2, i, f));
        double x = (fmin(fmax(kn_at(new, i, 0), 20), 75) - d.mean[0]) / d.sd[0];
        assert_close(kn_at(X, i, d.column[0].q), (x * x - d.column[0].q_mean) / d.column[0].q_sd,
                     1e-14);
    }
    assert_close(kn_at(free_X, 3, 0), (200 - d.mean[0]) / d.sd[0], 1e-14);
    assert_true(kn_at(X, 6, 6) == 1 && kn_at(X, 6, 3) + kn_at(X, 6, 4) + kn_at(X, 6, 5) == 0);
    free(X.data), free(free_X.data), free(X2.data), free(as_clamped.data), free(new.data);

    /* A level that training did not have is in no term of those that it had, also alone. */
    kn_mat one = MATRIX(4, 50, 4, 7, 1);
    X = ref_new(1, d.F);
    assert_refused(ctx, kn_design_apply(ctx, &d, view(one), true, X, NULL), KN_ERR_DATA,
                   "covariates row 1, column 2 is 4, but must be a level, 0 to 3");
    kn_col(one, 1)[0] = 0;
    kn_col(one, 2)[0] = NAN; /* constant in training, and still to be a number */
    assert_refused(ctx, kn_design_apply(ctx, &d, view(one), true, X, NULL), KN_ERR_DATA,
                   "covariates row 1, column 3 is nan, but must be a finite number");
    free(X.data), free(one.data), free(raw.data);
    kn_design_clear(&d);
    kn_ctx_free(ctx);
}

static void a_category_of_one_level_is_nowhere(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const int levels[] = {1, 0, 3};
    kn_mat raw = MATRIX(3, 0, 1, 1, 0, 2, 1, NAN, 3, 1); /* of three levels one is there */
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = levels,
                           .quadratic = -1};
    kn_design d = made(ctx, raw, &o);
    assert_true(d.F == 1 && d.n_constant == 2 && d.column[0].constant && d.column[2].constant);
    kn_mat new = MATRIX(3, 1, 2, 1, 0, 2, 3);
    int held_out[2];
    kn_mat X = applied(ctx, &d, new, true, held_out);
    assert_true(held_out[0] == 1 && held_out[1] == 1);
    free(X.data), free(new.data), free(raw.data);
    kn_design_clear(&d);
    kn_ctx_free(ctx);
}

static void what_cannot_be_used_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const int category[] = {2, 0};
    kn_design_options o = {.additive = true, .standardise = true, .quadratic = -1};
    refuse_new(ctx, MATRIX(2, 1, 2, 3, NAN), &o, KN_ERR_DATA,
               "covariates row 2, column 2 is nan, but must be a finite number");
    refuse_new(ctx, MATRIX(2, 1, 2, 1, 2), &o, KN_ERR_DATA,
               "every covariate is constant; at least one must vary");
    refuse_new(ctx, MATRIX(1, 1e300, -1e300), &o, KN_ERR_DATA,
               "covariates column 1 has values too large to square");
    o.levels = category;
    refuse_new(ctx, MATRIX(2, 0, 1, 2, 2), &o, KN_ERR_DATA,
               "covariates row 2, column 1 is 2, but must be a level, 0 to 1");
    refuse_new(ctx, MATRIX(2, 0, 1, .5, 2), &o, KN_ERR_DATA,
               "covariates row 2, column 1 is 0.5, but must be a level, 0 to 1");
    refuse_new(ctx, MATRIX(2, 0, 1, INFINITY, 2), &o, KN_ERR_DATA,
               "covariates row 2, column 1 is inf, but must be a level, 0 to 1");
    refuse_new(ctx, MATRIX(2, NAN, 1, NAN, 2), &o, KN_ERR_DATA,
               "covariates column 1 has no values");
    refuse_new(ctx, MATRIX(2, 1, 1, 1, 1), &o, KN_ERR_DATA,
               "every covariate is constant; at least one must vary");
    static const kn_interaction pairs[] = {{0, 1}, {1, 0}};
    o.interactions = pairs;
    o.n_interactions = 1;
    refuse_new(ctx, MATRIX(2, 0, 1, 0, 2), &o, KN_ERR_ARGUMENT,
               "the interaction of covariates 1 and 2 needs a category with two or more levels and "
               "a number that varies");
    refuse_new(ctx, MATRIX(2, 0, 1, 1, 1), &o, KN_ERR_ARGUMENT,
               "the interaction of covariates 1 and 2 needs a category with two or more levels and "
               "a number that varies");
    o.n_interactions = 2;
    refuse_new(ctx, MATRIX(2, 0, 1, 1, 2), &o, KN_ERR_ARGUMENT,
               "the interaction of covariates 2 and 1 needs a category with two or more levels and "
               "a number that varies");
    kn_ctx_free(ctx);
}

/* ---- what must not matter -----------------------------------------------------------------------
 */

static void order_and_names_change_nothing_but_order(void **state)
{
    (void)state;
    enum { N = 60, L = 4 };
    static const int levels[] = {0, L, 0}, relabelled[L] = {2, 0, 3, 1};
    static const kn_interaction by[] = {{1, 2}};
    kn_ctx *ctx = kn_ctx_new();
    kn_rng rng;
    ref_rng_init(&rng, 7, 0);
    kn_mat raw = ref_normal(&rng, N, 3), other = ref_new(N, 3);
    ptrdiff_t order[N];
    for (ptrdiff_t i = 0; i < N; i++) {
        kn_col(raw, 1)[i] = (double)(i * 7 % L);
        order[i] = (i * 37 + 11) % N;
    }
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t c = 0; c < 3; c++)
            kn_col(other, c)[i] =
                c == 1 ? relabelled[(int)kn_at(raw, order[i], 1)] : kn_at(raw, order[i], c);
    kn_design_options o = {.additive = true,
                           .standardise = true,
                           .levels = levels,
                           .quadratic = -1,
                           .interactions = by,
                           .n_interactions = 1};
    kn_design a = made(ctx, raw, &o), b = made(ctx, other, &o);
    kn_mat A = applied(ctx, &a, raw, true, NULL), B = applied(ctx, &b, other, true, NULL);
    assert_int_equal(a.F, 2 + 2 + 2 * (L + 1));
    for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t f = 0; f < a.F; f++) {
            ptrdiff_t at = f < 4 ? 0 : f < 4 + L + 1 ? 4 : 4 + L + 1;
            ptrdiff_t to = at == 0 || f - at == L ? f : at + relabelled[f - at];
            assert_close(kn_at(B, i, to), kn_at(A, order[i], f), 1e-13);
        }
    free(A.data), free(B.data), free(raw.data), free(other.data);
    kn_design_clear(&a);
    kn_design_clear(&b);
    kn_ctx_free(ctx);
}

static void few_participants_are_enough(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    static const int levels[] = {0, 2};
    kn_design_options o = {.additive = true, .standardise = true, .levels = levels, .quadratic = 1};
    refuse_new(ctx, MATRIX(2, 4, 1), &o, KN_ERR_DATA,
               "every covariate is constant; at least one must vary");
    kn_mat raw = MATRIX(2, 4, 1, 6, 0, 8, 1);
    for (ptrdiff_t n = 2; n <= 3; n++) {
        kn_view first = view(raw);
        kn_design d;
        first.rows = n;
        assert_ok(ctx, kn_design_new(ctx, first, &o, &d));
        assert_true(d.Fc == 1 && d.Fq == 0 && d.F == 4);
        assert_close(d.mean[0], n == 2 ? 5 : 6, 1e-15);
        assert_close(d.sd[0], n == 2 ? 1 : sqrt(8. / 3), 1e-15);
        assert_close(d.column[1].proportions[0], 1. / (double)n, 1e-15);
        kn_design_clear(&d);
    }
    free(raw.data);
    kn_ctx_free(ctx);
}

TEST_PROGRAM(data_design)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_go_where_they_belong),
        cmocka_unit_test(squares_need_values_and_participants),
        cmocka_unit_test(a_plain_design_is_standardised_columns),
        cmocka_unit_test(covariates_of_new_participants_are_clamped_to_the_training_range),
        cmocka_unit_test(a_category_of_one_level_is_nowhere),
        cmocka_unit_test(what_cannot_be_used_is_a_sentence),
        cmocka_unit_test(order_and_names_change_nothing_but_order),
        cmocka_unit_test(few_participants_are_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
