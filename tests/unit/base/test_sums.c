/* Sums whose bits do not know the order of their addends. */
#include "support/test.h"

#include "base/parallel/parallel_for.h"
#include "base/random.h"
#include "base/sum/block_sums.h"

static kn_ctx *ctx;

/* Numbers of either sign over 60 binades below 1. */
static double wide(kn_rng *rng)
{
    double x = ldexp(kn_rng_uniform(rng) + 1, -1 - (int)(60 * kn_rng_uniform(rng)));
    return kn_rng_uniform(rng) < 0.5 ? -x : x;
}

static double sum_of_sizes(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += fabs(x[i]);
    return s * (1 + 1e-12);
}

/* x + y = *s + *e exactly (Knuth) */
static void two_sum(double x, double y, double *s, double *e)
{
    double t = x + y, z = t - x;
    *e = (x - (t - z)) + (y - z);
    *s = t;
}

/* The sum to 100 digits, as a rounded number and what is left over. */
static void oracle(const double *x, int n, double *sum, double *rest)
{
    *sum = *rest = 0;
    for (int i = 0; i < n; i++) {
        double e;
        two_sum(*sum, x[i], sum, &e);
        *rest += e;
    }
    two_sum(*sum, *rest, sum, rest);
}

enum { ADDENDS = 400, PERMUTATIONS = 2500 }; /* a million additions */

/* The addends in another order, dealt to up to 8 processes, whose limbs are then added up. */
static void any_order_and_any_partition_have_the_same_bits(void **state)
{
    (void)state;
    for (int limbs = 1; limbs <= 2; limbs++) {
        kn_rng rng;
        ref_rng_init(&rng, 17, (uint64_t)limbs);
        double x[ADDENDS], expected = 0, plain = 0;
        int differ = 0;
        for (int i = 0; i < ADDENDS; i++)
            x[i] = wide(&rng);
        double bound = sum_of_sizes(x, ADDENDS);
        for (int t = 0; t < PERMUTATIONS; t++) {
            ptrdiff_t order[ADDENDS];
            kn_exact_sum part[8];
            int parts = t == 0 ? 1 : 1 + (int)(8 * kn_rng_uniform(&rng));
            double naive = 0, value;
            kn_rng_permutation(&rng, ADDENDS, order);
            for (int p = 0; p < parts; p++)
                assert_ok(ctx, kn_exact_sum_new(ctx, 1, bound, limbs, &part[p]));
            for (int i = 0; i < ADDENDS; i++) {
                int p = (int)(parts * kn_rng_uniform(&rng));
                kn_exact_sum_add(&part[p], 0, 1, &x[order[i]]);
                naive += x[order[i]];
            }
            for (int p = 1; p < parts; p++)
                for (int l = 0; l < limbs; l++)
                    part[0].limb[l][0] += part[p].limb[l][0];
            assert_ok(ctx, kn_exact_sum_check(ctx, &part[0]));
            kn_exact_sum_value(&part[0], 0, 1, &value);
            if (t == 0)
                expected = value, plain = naive;
            assert_memory_equal(&value, &expected, sizeof value);
            differ += naive != plain;
            for (int p = 0; p < parts; p++)
                kn_exact_sum_clear(&part[p]);
        }
        assert_true(differ > PERMUTATIONS / 4); /* the addends are ones for which order matters */
    }
}

static void a_sum_is_off_by_half_a_unit_an_addend_at_most(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 19, 0);
    double largest[2] = {0, 0};
    for (int t = 0; t < 2000; t++)
        for (int limbs = 1; limbs <= 2; limbs++) {
            int n = 1 + (int)(ADDENDS * kn_rng_uniform(&rng));
            double x[ADDENDS], sum, rest;
            kn_exact_sum s;
            for (int i = 0; i < n; i++)
                x[i] = wide(&rng);
            assert_ok(ctx, kn_exact_sum_new(ctx, 1, sum_of_sizes(x, n), limbs, &s));
            for (int i = 0; i < n; i++)
                kn_exact_sum_add(&s, 0, 1, &x[i]);
            oracle(x, n, &sum, &rest);
            double lo = limbs == 2 ? s.limb[1][0] : 0, error;
            error = fabs((s.limb[0][0] - sum) + (lo - rest)) / s.d[limbs - 1];
            assert_true(error <= 0.5 * n);
            largest[limbs - 1] = fmax(largest[limbs - 1], error);
            kn_exact_sum_clear(&s);
        }
    assert_true(largest[0] > 0.5 && largest[1] > 0.5); /* else the units are finer than they say */
}

/* Two limbs keep all that a double can tell of numbers down to 2^-29 of the bound. */
static void two_limbs_lose_nothing_of_ordinary_numbers(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 23, 0);
    for (int t = 0; t < 200; t++) {
        double x[ADDENDS], sum, rest, value;
        kn_exact_sum s;
        for (int i = 0; i < ADDENDS; i++)
            x[i] = kn_rng_normal(&rng) + 1e-3;
        assert_ok(ctx, kn_exact_sum_new(ctx, 1, sum_of_sizes(x, ADDENDS), 2, &s));
        for (int i = 0; i < ADDENDS; i++)
            kn_exact_sum_add(&s, 0, 1, &x[i]);
        oracle(x, ADDENDS, &sum, &rest);
        kn_exact_sum_value(&s, 0, 1, &value);
        assert_true(value == sum);
        kn_exact_sum_clear(&s);
    }
}

static void a_bound_that_does_not_hold_is_reported(void **state)
{
    (void)state;
    static const double too_much[] = {1.0000001, -1.0000001, INFINITY, -INFINITY, NAN};
    for (int limbs = 1; limbs <= 2; limbs++) {
        kn_exact_sum s;
        for (int k = 0; k < 5; k++) {
            double x[40] = {0};
            assert_ok(ctx, kn_exact_sum_new(ctx, 40, 1, limbs, &s));
            x[k] = 1;
            kn_exact_sum_add(&s, 0, 40, x);
            assert_ok(ctx, kn_exact_sum_check(ctx, &s));
            x[17 + k] = too_much[k];
            kn_exact_sum_add(&s, 0, 40, x);
            assert_refused(ctx, kn_exact_sum_check(ctx, &s), KN_ERR_NUMERIC,
                           "exceeded its bound 1");
            kn_exact_sum_clear(&s);
        }
        double one = 1, minus = -1; /* each is within, their sum leaves and comes back */
        assert_ok(ctx, kn_exact_sum_new(ctx, 1, 1, limbs, &s));
        for (int i = 0; i < 10; i++)
            kn_exact_sum_add(&s, 0, 1, &one);
        for (int i = 0; i < 10; i++)
            kn_exact_sum_add(&s, 0, 1, &minus);
        assert_refused(ctx, kn_exact_sum_check(ctx, &s), KN_ERR_NUMERIC, "exceeded its bound");
        kn_exact_sum_clear(&s);
        assert_refused(ctx, kn_exact_sum_new(ctx, 1, INFINITY, limbs, &s), KN_ERR_NUMERIC, "inf");
        assert_refused(ctx, kn_exact_sum_new(ctx, 1, NAN, limbs, &s), KN_ERR_NUMERIC, "nan");
        assert_refused(ctx, kn_exact_sum_new(ctx, 1, -1, limbs, &s), KN_ERR_NUMERIC, "-1");
    }
}

static void bounds_may_be_small_large_or_zero(void **state)
{
    (void)state;
    static const double bounds[] = {0, 1e-320, 1e-200, 1, 1024, 1e200, 1e300};
    for (int k = 0; k < 7; k++)
        for (int limbs = 1; limbs <= 2; limbs++) {
            kn_exact_sum s;
            double value, x[3] = {bounds[k], -bounds[k], bounds[k]};
            assert_ok(ctx, kn_exact_sum_new(ctx, 1, bounds[k], limbs, &s));
            for (int i = 0; i < 3; i++)
                kn_exact_sum_add(&s, 0, 1, &x[i]);
            assert_ok(ctx, kn_exact_sum_check(ctx, &s));
            kn_exact_sum_value(&s, 0, 1, &value);
            assert_true(fabs(value - bounds[k]) <= fmax(3 * s.d[limbs - 1], bounds[k] * 1e-15));
            kn_exact_sum_clear(&s);
        }
}

/* ---- matrices and slots --------------------------------------------------------------------- */

static kn_mat noise(kn_rng *rng, ptrdiff_t rows, ptrdiff_t cols)
{
    kn_mat m = ref_new(rows, cols);
    for (ptrdiff_t i = 0; i < rows * cols; i++)
        m.data[i] = wide(rng);
    return m;
}

static void matrices_add_up_in_any_order_and_on_any_threads(void **state)
{
    (void)state;
    enum { N = 61, BLOCKS = 12 };
    kn_rng rng;
    ref_rng_init(&rng, 29, 0);
    kn_mat part[BLOCKS], first[2], E = ref_new(N, N);
    for (int b = 0; b < BLOCKS; b++) {
        part[b] = noise(&rng, N, N);
        for (ptrdiff_t i = 0; i < N * N; i++)
            E.data[i] += part[b].data[i];
    }
    for (int t = 0; t < 20; t++)
        for (int lower = 0; lower < 2; lower++) {
            ptrdiff_t order[BLOCKS];
            kn_sum s;
            kn_mat out = ref_new(N, N);
            kn_set_threads(ctx, 1 + t % 3);
            kn_rng_permutation(&rng, BLOCKS, order);
            assert_ok(ctx, lower ? kn_sum_new_lower(ctx, N, BLOCKS, 2, &s)
                                 : kn_sum_new(ctx, N, N, BLOCKS, 2, &s));
            for (int b = 0; b < BLOCKS; b++)
                kn_sum_add(ctx, &s, part[order[b]]);
            assert_ok(ctx, kn_sum_value(ctx, &s, out));
            for (ptrdiff_t j = 0; j < N; j++)
                for (ptrdiff_t i = 0; i < N; i++) {
                    bool above = lower && i < j; /* is left alone */
                    assert_close(kn_at(out, i, j), above ? 0 : kn_at(E, i, j), 1e-14);
                }
            if (t == 0)
                first[lower] = out;
            else {
                assert_memory_equal(out.data, first[lower].data, N * N * sizeof(double));
                free(out.data);
            }
            kn_sum_clear(&s);
        }
    for (int b = 0; b < BLOCKS; b++)
        free(part[b].data);
    free(first[0].data), free(first[1].data), free(E.data);
}

static void a_large_matrix_is_added_on_threads(void **state)
{
    (void)state;
    enum { ROWS = 700, COLS = 900 };
    kn_rng rng;
    ref_rng_init(&rng, 31, 0);
    kn_mat part = noise(&rng, ROWS, COLS), out = ref_new(ROWS, COLS);
    kn_sum s;
    kn_set_threads(ctx, 3);
    assert_ok(ctx, kn_sum_new(ctx, ROWS, COLS, 4, 2, &s));
    for (int k = 0; k < 3; k++)
        kn_sum_add(ctx, &s, part);
    assert_ok(ctx, kn_sum_value(ctx, &s, out));
    for (ptrdiff_t i = 0; i < ROWS * COLS; i++)
        assert_true(fabs(out.data[i] - 3 * part.data[i]) <= 1e-15 * fabs(part.data[i]) + 2e-24);
    kn_col(part, 899)[699] = 5;
    kn_sum_add(ctx, &s, part);
    assert_refused(ctx, kn_sum_value(ctx, &s, out), KN_ERR_NUMERIC, "exceeded its bound 4");
    kn_sum_clear(&s);
    free(part.data), free(out.data);
}

static void single_products_add_up_like_double_ones(void **state)
{
    (void)state;
    enum { ROWS = 1100, COLS = 3 };
    kn_rng rng;
    ref_rng_init(&rng, 37, 0);
    kn_fmat single;
    kn_mat part = noise(&rng, ROWS, COLS), a = ref_new(ROWS, COLS), b = ref_new(ROWS, COLS);
    kn_sum s, t;
    assert_ok(ctx, kn_fmat_new(ctx, ROWS, COLS, &single));
    kn_fmat_set(single, part);
    for (ptrdiff_t i = 0; i < ROWS * COLS; i++)
        part.data[i] = (double)single.data[i];
    assert_ok(ctx, kn_sum_new(ctx, ROWS, COLS, 2, 1, &s));
    assert_ok(ctx, kn_sum_new(ctx, ROWS, COLS, 2, 1, &t));
    kn_sum_add(ctx, &s, part);
    kn_sum_add_f32(ctx, &t, single);
    assert_ok(ctx, kn_sum_value(ctx, &s, a));
    assert_ok(ctx, kn_sum_value(ctx, &t, b));
    assert_memory_equal(a.data, b.data, ROWS * COLS * sizeof(double));
    kn_sum_clear(&s), kn_sum_clear(&t), kn_fmat_clear(&single);
    free(part.data), free(a.data), free(b.data);
}

static void an_empty_sum_is_nothing(void **state)
{
    (void)state;
    kn_sum s;
    kn_slots slots;
    assert_ok(ctx, kn_sum_new_lower(ctx, 0, 1, 2, &s));
    kn_sum_add(ctx, &s, kn_mat_none());
    assert_ok(ctx, kn_sum_value(ctx, &s, kn_mat_none()));
    kn_sum_clear(&s);
    double out[2] = {7, 7};
    assert_ok(ctx, kn_slots_new(ctx, 0, 2, &slots));
    assert_ok(ctx, kn_slots_sum(ctx, &slots, out));
    assert_true(out[0] == 0 && out[1] == 0);
    kn_slots_clear(&slots);
}

typedef struct slots_job {
    const kn_slots *s;
    const double *x;
} slots_job;

static void fill_slots(void *self, ptrdiff_t first, ptrdiff_t last)
{
    slots_job *b = self;
    for (ptrdiff_t k = first; k < last; k++)
        for (ptrdiff_t i = 0; i < b->s->n; i++)
            kn_slot(b->s, k)[i] = b->x[k * b->s->n + i];
}

static void slots_are_added_up_in_the_order_of_blocks(void **state)
{
    (void)state;
    enum { BLOCKS = 300, N = 5 };
    kn_rng rng;
    ref_rng_init(&rng, 41, 0);
    double x[BLOCKS * N], expected[N] = {0}, out[N];
    for (int i = 0; i < BLOCKS * N; i++) {
        x[i] = wide(&rng);
        expected[i % N] += x[i];
    }
    for (int threads = 1; threads <= 4; threads++) {
        kn_slots s;
        kn_set_threads(ctx, threads);
        assert_ok(ctx, kn_slots_new(ctx, BLOCKS, N, &s));
        kn_parallel(ctx, BLOCKS, 1, fill_slots, &(slots_job){&s, x});
        assert_ok(ctx, kn_slots_sum(ctx, &s, out));
        assert_memory_equal(out, expected, sizeof out);
        kn_slots_clear(&s);
    }
}

TEST_PROGRAM(base_sums)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_and_any_partition_have_the_same_bits),
        cmocka_unit_test(a_sum_is_off_by_half_a_unit_an_addend_at_most),
        cmocka_unit_test(two_limbs_lose_nothing_of_ordinary_numbers),
        cmocka_unit_test(a_bound_that_does_not_hold_is_reported),
        cmocka_unit_test(bounds_may_be_small_large_or_zero),
        cmocka_unit_test(matrices_add_up_in_any_order_and_on_any_threads),
        cmocka_unit_test(a_large_matrix_is_added_on_threads),
        cmocka_unit_test(single_products_add_up_like_double_ones),
        cmocka_unit_test(an_empty_sum_is_nothing),
        cmocka_unit_test(slots_are_added_up_in_the_order_of_blocks),
    };
    int failed = cmocka_run_group_tests_name("reduce", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
