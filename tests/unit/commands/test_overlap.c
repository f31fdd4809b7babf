/* Shares of participants beyond a threshold, and what permuting labels says of two groups, against
 * slow and obvious versions. */
#include "support/failing.h"
#include "support/test.h"

#include "base/random.h"
#include "norm/metrics/permutation_test.h"
#include "stats/p_values.h"

static kn_ctx *ctx;
static kn_rng rng;

enum { MAX_COUNT = 130, WIDE = 700 };

typedef struct sample {
    ptrdiff_t n, T;
    float z[MAX_COUNT][WIDE];
    bool second[MAX_COUNT];
} sample;

static sample data; /* large for a stack */

/* n participants, of whom m are of the second group and deviate by `shift` at the first tenth. */
static void make(ptrdiff_t n, ptrdiff_t m, ptrdiff_t T, double missing, double shift)
{
    data.n = n;
    data.T = T;
    for (ptrdiff_t i = 0; i < n; i++) {
        data.second[i] = (i * m) / n != ((i + 1) * m) / n;
        double own = kn_rng_normal(&rng);
        for (ptrdiff_t j = 0; j < T; j++) {
            double z = 0.7 * own + 0.7 * kn_rng_normal(&rng);
            z += data.second[i] && 10 * j < T ? shift : 0;
            data.z[i][j] = (float)(kn_rng_uniform(&rng) < missing ? NAN : z);
        }
    }
}

static kn_exceedance collect(double threshold)
{
    kn_exceedance e;
    assert_ok(ctx, kn_exceedance_new(ctx, data.n, data.T, threshold, &e));
    for (ptrdiff_t i = 0; i < data.n; i++)
        kn_exceedance_row(&e, i, data.z[i]);
    return e;
}

/* One response and labels, by counting. */
typedef struct counts {
    ptrdiff_t n[2], beyond[2];
} counts;

static counts count(ptrdiff_t j, kn_sign sign, double t, const bool *second)
{
    counts c = {{0, 0}, {0, 0}};
    for (ptrdiff_t i = 0; i < data.n; i++) {
        double z = (double)data.z[i][j];
        c.n[second[i]] += isfinite(z);
        c.beyond[second[i]] += isfinite(z) && (sign == KN_SIGN_NEGATIVE ? z < -t : z > t);
    }
    return c;
}

static double slow_difference(ptrdiff_t j, kn_sign sign, double t, const bool *second)
{
    counts c = count(j, sign, t, second);
    return (double)c.beyond[1] / (double)c.n[1] - (double)c.beyond[0] / (double)c.n[0];
}

typedef struct outcome {
    double difference[WIDE], p[WIDE], p_fdr[WIDE];
} outcome;

static void permute_labels(const kn_exceedance *e, kn_sign sign, ptrdiff_t B, uint64_t seed,
                           outcome *out)
{
    kn_labels labels;
    assert_ok(ctx, kn_labels_new(ctx, data.second, data.n, NULL, B, seed, &labels));
    assert_ok(ctx,
              kn_permutation_test(ctx, e, sign, &labels,
                                  (kn_permutation_result){out->difference, out->p, out->p_fdr}));
    kn_labels_clear(&labels);
}

static void proportions_are_counts(void **state)
{
    (void)state;
    static const ptrdiff_t SIZE[] = {2, 63, 64, 65, 128, MAX_COUNT};
    double n[WIDE], negative[WIDE], positive[WIDE];
    for (int round = 0; round < 12; round++) {
        make(SIZE[round % 6], SIZE[round % 6] / 2, 40, round % 2 ? 0.3 : 0, 1);
        for (ptrdiff_t i = 0; i < data.n;
             i++) /* no participant has a value at 7; one is infinite */
            data.z[i][7] = NAN;
        data.z[0][8] = INFINITY;
        data.z[1][9] = 1; /* at the threshold is not beyond it */
        kn_exceedance e = collect(1);
        for (int g = 0; g < 2; g++) {
            uint64_t set[3] = {0};
            for (ptrdiff_t i = 0; i < data.n; i++)
                if (data.second[i] == (g == 1))
                    kn_set_add(set, i);
            kn_exceedance_group(&e, set, (kn_exceedance_proportions){n, {negative, positive}});
            for (ptrdiff_t j = 0; j < data.T; j++) {
                counts low = count(j, KN_SIGN_NEGATIVE, 1, data.second);
                counts high = count(j, KN_SIGN_POSITIVE, 1, data.second);
                assert_true(n[j] == (double)low.n[g]);
                if (low.n[g] == 0) {
                    assert_true(isnan(negative[j]) && isnan(positive[j]));
                    continue;
                }
                assert_close(negative[j], (double)low.beyond[g] / (double)low.n[g], 1e-15);
                assert_close(positive[j], (double)high.beyond[g] / (double)high.n[g], 1e-15);
            }
            assert_true(n[7] == 0);
        }
        kn_exceedance_clear(&e);
    }
}

static void responses_that_are_zero_for_all_participants_are_dropped(void **state)
{
    (void)state;
    ptrdiff_t kept[40];
    double n[40], negative[40], positive[40];
    uint64_t all[2] = {UINT64_MAX, UINT64_MAX};
    make(70, 30, 40, 0, 0);
    for (ptrdiff_t i = 0; i < data.n; i++) {
        data.z[i][0] = data.z[i][17] = 0;
        data.z[i][18] = NAN;
        data.z[i][19] = i == 69 ? -3 : 0;
    }
    kn_exceedance e = collect(1.96);
    kn_exceedance_drop_zeros(&e, kept);
    assert_int_equal(e.T, 38);
    assert_int_equal(kept[0], 1);
    assert_int_equal(kept[15], 16);
    assert_int_equal(kept[16], 18);
    assert_int_equal(kept[37], 39);
    kn_exceedance_group(&e, all, (kn_exceedance_proportions){n, {negative, positive}});
    assert_true(n[16] == 0 && n[17] == 70);
    assert_close(negative[17], 1.0 / 70, 1e-15);
    for (ptrdiff_t k = 18; k < 38; k++)
        assert_close(positive[k],
                     (double)(count(kept[k], KN_SIGN_POSITIVE, 1.96, data.second).beyond[0] +
                              count(kept[k], KN_SIGN_POSITIVE, 1.96, data.second).beyond[1]) /
                         70,
                     1e-15);
    kn_exceedance_clear(&e);
}

/* The labels that were drawn, met one by one with every response. */
static void p_is_that_of_the_slow_version(void **state)
{
    (void)state;
    enum { B = 60 };
    static outcome out;
    for (int round = 0; round < 8; round++) {
        double t = 0.8;
        make(round % 2 ? 70 : 21, round % 2 ? 30 : 8, round % 3 ? 30 : 300, round < 4 ? 0 : 0.2, 1);
        kn_sign sign = round % 2 ? KN_SIGN_POSITIVE : KN_SIGN_NEGATIVE;
        kn_exceedance e = collect(t);
        kn_labels labels;
        double limit[B] = {0};
        assert_ok(ctx, kn_labels_new(ctx, data.second, data.n, NULL, B, 5, &labels));
        for (int b = 0; b < B; b++) {
            bool second[MAX_COUNT];
            ptrdiff_t m = 0;
            for (ptrdiff_t i = 0; i < data.n; i++) {
                second[i] = labels.drawn[b * labels.words + i / 64] >> (i % 64) & 1;
                m += second[i];
            }
            assert_int_equal(m, labels.m);
            for (ptrdiff_t j = 0; j < data.T; j++)
                limit[b] = fmax(limit[b], fabs(slow_difference(j, sign, t, second)));
        }
        kn_labels_clear(&labels);
        permute_labels(&e, sign, B, 5, &out);
        for (ptrdiff_t j = 0; j < data.T; j++) {
            double d = slow_difference(j, sign, t, data.second);
            int reach = 0;
            for (int b = 0; b < B; b++)
                reach += limit[b] >= fabs(d) - 1e-12;
            assert_close(out.difference[j], d, 1e-14);
            assert_close(out.p[j], (1.0 + reach) / (B + 1), 1e-15);
        }
        kn_exceedance_clear(&e);
    }
}

/* Every one of the C(n, m) relabellings. */
static void p_is_near_that_of_all_relabellings(void **state)
{
    (void)state;
    enum { N = 9, M = 4, T = 6, B = 20000 };
    static outcome out;
    for (int round = 0; round < 3; round++) {
        double t = 0.5, own[T], adjusted[T];
        int all = 0, family[T] = {0}, alone[T] = {0};
        make(N, M, T, 0, 1);
        kn_exceedance e = collect(t);
        permute_labels(&e, KN_SIGN_POSITIVE, B, 1, &out);
        for (unsigned bits = 0; bits < 1u << N; bits++) {
            bool second[MAX_COUNT] = {0};
            double limit = 0;
            if (__builtin_popcount(bits) != M)
                continue;
            for (int i = 0; i < N; i++)
                second[i] = bits >> i & 1;
            for (int j = 0; j < T; j++)
                limit = fmax(limit, fabs(slow_difference(j, KN_SIGN_POSITIVE, t, second)));
            for (int j = 0; j < T; j++) {
                double d = fabs(out.difference[j]) - 1e-12;
                family[j] += limit >= d;
                alone[j] += fabs(slow_difference(j, KN_SIGN_POSITIVE, t, second)) >= d;
            }
            all++;
        }
        assert_int_equal(all, 126);
        for (int j = 0; j < T; j++) {
            double p = (double)family[j] / all, sd = sqrt(p * (1 - p) / B);
            if (!(fabs(out.p[j] - p) <= 4 * sd + 1.0 / B))
                fail_msg("p %g, of all relabellings %g", out.p[j], p);
            own[j] = (double)alone[j] / all;
        }
        assert_ok(ctx, kn_fdr_adjust(ctx, T, own, adjusted));
        for (int j = 0; j < T; j++)
            assert_close(out.p_fdr[j], adjusted[j], 1e-12);
        kn_exceedance_clear(&e);
    }
}

static void a_response_that_one_group_lacks_has_no_p(void **state)
{
    (void)state;
    static outcome out;
    make(20, 10, 12, 0, 0);
    for (ptrdiff_t i = 0; i < 20; i++)
        for (ptrdiff_t j = 3; j < 6; j++)
            if (j == 5 || data.second[i] == (j == 4))
                data.z[i][j] = NAN;
    kn_exceedance e = collect(0.5);
    permute_labels(&e, KN_SIGN_POSITIVE, 100, 1, &out);
    for (ptrdiff_t j = 0; j < 12; j++) {
        bool lacks = j >= 3 && j < 6;
        assert_int_equal(isnan(out.difference[j]) != 0, lacks);
        assert_int_equal(isnan(out.p[j]) != 0, lacks);
        assert_int_equal(isnan(out.p_fdr[j]) != 0, lacks);
    }
    kn_exceedance_clear(&e);
}

/* Not one of the responses is below .05 in 95 of 100 studies in which the labels say nothing; and
 * what is there is found. */
static void family_wise_error_keeps_its_level(void **state)
{
    (void)state;
    enum { STUDIES = 400, T = 60 };
    static outcome out;
    int studies = repeat(STUDIES, 100), wrong = 0, found = 0;
    for (int k = 0; k < studies; k++) {
        make(40, 15, T, k % 2 ? 0.1 : 0, 0);
        kn_exceedance e = collect(1);
        permute_labels(&e, (kn_sign)(k % 2), 199, (uint64_t)k + 1, &out);
        double lowest = 1;
        for (ptrdiff_t j = 0; j < T; j++)
            lowest = fmin(lowest, out.p[j]);
        wrong += lowest <= 0.05;
        kn_exceedance_clear(&e);
    }
    /* .05 and two standard errors: the statistic has ties, which only help */
    if (wrong > studies * (0.05 + 2 * sqrt(0.05 * 0.95 / studies)))
        fail_msg("%d of %d studies have a finding where there is none", wrong, studies);
    make(60, 30, T, 0, 3);
    kn_exceedance e = collect(1.96);
    permute_labels(&e, KN_SIGN_POSITIVE, 499, 1, &out);
    for (ptrdiff_t j = 0; j < T; j++)
        found += out.p[j] < 0.05 && out.p_fdr[j] < 0.05;
    assert_int_equal(found, T / 10);
    kn_exceedance_clear(&e);
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    static outcome one, some;
    for (int round = 0; round < 2; round++) {
        make(100, 40, WIDE, round ? 0.1 : 0, 1);
        kn_exceedance e = collect(1);
        kn_set_threads(ctx, 1);
        permute_labels(&e, KN_SIGN_POSITIVE, 300, 3, &one);
        kn_set_threads(ctx, 3);
        permute_labels(&e, KN_SIGN_POSITIVE, 300, 3, &some);
        kn_set_threads(ctx, 0);
        assert_memory_equal(&one, &some, sizeof one);
        permute_labels(&e, KN_SIGN_POSITIVE, 300, 4, &some); /* the seed has a say */
        assert_memory_not_equal(one.p, some.p, sizeof one.p);
        assert_memory_equal(one.p_fdr, some.p_fdr, sizeof one.p_fdr);
        kn_exceedance_clear(&e);
    }
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    ref_rng_init(&rng, 11, 1);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(commands_overlap, open_fixture, close_fixture)
{
    static outcome out;
    kn_labels labels;
    kn_exceedance e, none;
    make(20, 8, 30, 0, 0);
    e = collect(1);
    for (long k = 1; k <= 4; k++) {
        kn_fail_allocation(ctx, k);
        assert_int_equal(kn_exceedance_new(ctx, 20, 30, 1, &none), KN_ERR_MEMORY);
        assert_null(none.observed);
    }
    for (long k = 1; k <= 3; k++) {
        kn_fail_allocation(ctx, k);
        assert_int_equal(kn_labels_new(ctx, data.second, 20, NULL, 9, 1, &labels), KN_ERR_MEMORY);
        assert_null(labels.drawn);
    }
    kn_fail_allocation(ctx, 0);
    assert_ok(ctx, kn_labels_new(ctx, data.second, 20, NULL, 9, 1, &labels));
    for (long k = 1; k <= 8; k++) {
        kn_fail_allocation(ctx, k);
        assert_int_equal(kn_permutation_test(ctx, &e, KN_SIGN_POSITIVE, &labels,
                                             (kn_permutation_result){out.difference, out.p,
                                                                     out.p_fdr}),
                         KN_ERR_MEMORY);
    }
    kn_fail_allocation(ctx, 0);
    kn_labels_clear(&labels);
    kn_exceedance_clear(&e);
}

TEST_PROGRAM(commands_overlap)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proportions_are_counts),
        cmocka_unit_test(responses_that_are_zero_for_all_participants_are_dropped),
        cmocka_unit_test(p_is_that_of_the_slow_version),
        cmocka_unit_test(p_is_near_that_of_all_relabellings),
        cmocka_unit_test(a_response_that_one_group_lacks_has_no_p),
        cmocka_unit_test(family_wise_error_keeps_its_level),
        cmocka_unit_test(bits_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
