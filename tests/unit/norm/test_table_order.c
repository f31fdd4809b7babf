/* Participants next to each other in the table who resemble each other are found, and only they. */
#include "support/failing.h"
#include "support/test.h"

#include "base/random.h"
#include "norm/reference/table_order_test.h"

static kn_ctx *ctx;

enum { N = 100, T = 30, BATCH = 10 };

/* A table without any resemblance is reported with probability .01. By the Poisson distribution
 * with mean 1, 10 or more of 100 such tables are reported with probability 1e-7. */
enum { TABLES = 100, FALSE_ALARMS = 9 };

static const char SENTENCE[] =
    "the residual maps of participants in adjacent rows have a correlation of ";

/* z = shared in batches of `size` neighbours + a component that all have + noise */
static kn_mat draw(uint64_t seed, ptrdiff_t rows, ptrdiff_t size, double shared, double common)
{
    kn_rng rng;
    ref_rng_init(&rng, seed, 0);
    kn_mat z = ref_new(rows, T);
    for (ptrdiff_t j = 0; j < T; j++) {
        double batch = 0, all = common * kn_rng_normal(&rng);
        for (ptrdiff_t i = 0; i < rows; i++) {
            batch = i % size == 0 ? shared * kn_rng_normal(&rng) : batch;
            kn_col(z, j)[i] = kn_rng_normal(&rng) + batch + all;
        }
    }
    return z;
}

/* The lower triangle; what is above it is not read. */
static kn_mat square(kn_mat z)
{
    kn_mat zz = ref_new(z.rows, z.rows);
    for (ptrdiff_t k = 0; k < z.rows; k++)
        for (ptrdiff_t i = 0; i < z.rows; i++) {
            double sum = 0;
            for (ptrdiff_t j = 0; i >= k && j < z.cols; j++)
                sum += kn_at(z, i, j) * kn_at(z, k, j);
            kn_col(zz, k)[i] = i >= k ? sum : NAN;
        }
    return zz;
}

static kn_resemblance ask(kn_mat z, const ptrdiff_t *order, const int *group)
{
    kn_resemblance r;
    kn_mat zz = square(z);
    assert_ok(ctx, kn_table_order_test(ctx, zz, order, group, 1, &r));
    free(zz.data);
    return r;
}

static void assert_alike(kn_resemblance a, kn_resemblance b)
{
    assert_int_equal(a.pairs, b.pairs);
    assert_true(a.correlation == b.correlation && a.chance == b.chance && a.limit == b.limit);
    assert_int_equal(a.resemble, b.resemble);
}

static int found(int tables, double shared, double common, bool shuffled)
{
    int n = 0;
    for (uint64_t seed = 1; seed <= (uint64_t)tables; seed++) {
        kn_rng rng;
        ptrdiff_t order[N];
        kn_mat z = draw(seed, N, BATCH, shared, common);
        ref_rng_init(&rng, seed, 1);
        kn_rng_permutation(&rng, N, order);
        kn_resemblance r = ask(z, shuffled ? order : NULL, NULL);
        assert_int_equal(r.pairs, N - 1);
        n += r.resemble;
        free(z.data);
    }
    return n;
}

static void independent_rows_do_not_resemble_each_other(void **state)
{
    (void)state;
    assert_true(found(TABLES, 0, 0, false) <= FALSE_ALARMS);
    assert_true(found(TABLES, 0, 1, false) <=
                FALSE_ALARMS); /* nor does what all have in common make them */
}

static void batches_of_neighbours_are_found(void **state)
{
    (void)state;
    /* Neighbours correlate by .49/1.49 and 9 of 10 pairs are of one batch: .3 with a standard error
     * of .03, and the limit is about .08. */
    assert_int_equal(found(20, 0.7, 0, false), 20);
    assert_int_equal(found(20, 0.7, 0.5, false), 20);
}

static void batches_all_over_the_table_are_not(void **state)
{
    (void)state;
    assert_true(found(TABLES, 0.5, 0, true) <= FALSE_ALARMS);
}

static void a_resemblance_too_small_to_matter_is_not_reported(void **state)
{
    (void)state;
    enum { MANY = 1200, WIDE = 20 };
    kn_mat wide = ref_new(MANY, T * WIDE); /* 1.5 % of the variance: far above the limit */
    for (int b = 0; b < WIDE; b++) {
        kn_mat z = draw((uint64_t)b + 1, MANY, BATCH, 0.1234, 0);
        for (ptrdiff_t j = 0; j < T; j++)
            memcpy(kn_col(wide, b * T + j), kn_col(z, j), MANY * sizeof(double));
        free(z.data);
    }
    kn_resemblance r = ask(wide, NULL, NULL);
    /* .0137 with a standard error of sqrt(1/600/1199) = .0012; the limit is about .003 */
    assert_true(r.correlation < 0.02 && r.correlation > r.limit);
    assert_false(r.resemble);
    free(wide.data);
}

static void the_statistic_is_the_mean_correlation_of_neighbours(void **state)
{
    (void)state;
    kn_mat z = draw(3, N, BATCH, 0.5, 0), zz = square(z);
    double sum = 0, all = 0;
    kn_resemblance r = ask(z, NULL, NULL);
    for (ptrdiff_t i = 1; i < N; i++)
        for (ptrdiff_t k = 0; k < i; k++) {
            double c = kn_at(zz, i, k) / sqrt(kn_at(zz, i, i) * kn_at(zz, k, k));
            sum += k == i - 1 ? c : 0;
            all += c;
        }
    assert_close(r.correlation, sum / (N - 1), 1e-14);
    /* The mean over all pairs, by 999 permutations whose standard deviation the limit, their 99th
     * percentile, tells: 5.5 standard errors. */
    assert_true(r.limit > r.chance);
    assert_close(r.chance, all / (N * (N - 1) / 2.0),
                 5.5 * (r.limit - r.chance) / 2.33 / sqrt(999));
    free(z.data), free(zz.data);
}

static void pairs_of_one_group_do_not_count(void **state)
{
    (void)state;
    int group[N], third[N];
    kn_mat z = draw(4, N, BATCH, 1, 0);
    for (int i = 0; i < N; i++) {
        group[i] = 7 - i / BATCH;
        third[i] = i / 2; /* half of the pairs; the others still tell */
    }
    kn_resemblance r = ask(z, NULL, group);
    kn_mat zz = square(z);
    double sum = 0;
    for (ptrdiff_t i = BATCH; i < N; i += BATCH)
        sum += kn_at(zz, i, i - 1) / sqrt(kn_at(zz, i, i) * kn_at(zz, i - 1, i - 1));
    assert_int_equal(r.pairs, N / BATCH - 1);
    assert_close(r.correlation, sum / (N / BATCH - 1), 1e-14);
    free(zz.data);
    r = ask(z, NULL, third);
    assert_int_equal(r.pairs, N / 2 - 1);
    assert_true(r.resemble);
    memset(group, 0, sizeof group);
    assert_int_equal(ask(z, NULL, group).pairs, 0);
    free(z.data);
}

/* Four scans of a participant one after the other: free rows would have four times as many pairs,
 * and one table in eight would be reported. */
static void groups_keep_the_rate_of_false_alarms(void **state)
{
    (void)state;
    enum { SCANS = 4 };
    int group[N], reported = 0;
    for (int i = 0; i < N; i++)
        group[i] = i / SCANS;
    for (uint64_t seed = 1; seed <= TABLES; seed++) {
        kn_mat z = draw(seed, N, SCANS, 1, 0);
        reported += ask(z, NULL, group).resemble;
        free(z.data);
    }
    assert_true(reported <= FALSE_ALARMS);
}

static void few_participants_have_no_sentence(void **state)
{
    (void)state;
    for (ptrdiff_t n = 0; n <= 8; n++) {
        kn_mat z = draw(5, n, BATCH, 10, 0);
        kn_resemblance r = ask(z, NULL, NULL);
        assert_int_equal(r.pairs, n < 6 ? 0 : n - 1);
        assert_false(r.resemble);
        if (n < 6)
            assert_true(r.correlation == 0 && r.chance == 0 && r.limit == 0);
        free(z.data);
    }
}

static void rows_of_zeros_are_passed_over(void **state)
{
    (void)state;
    kn_mat z = draw(6, N, BATCH, 0.5, 0), rest = ref_new(N - 3, T);
    ptrdiff_t at = 0;
    for (ptrdiff_t i = 0; i < N; i++) {
        bool gone = i == 0 || i == 41 || i == N - 1;
        for (ptrdiff_t j = 0; j < T; j++) {
            kn_col(z, j)[i] = gone ? 0 : kn_at(z, i, j);
            if (!gone)
                kn_col(rest, j)[at] = kn_at(z, i, j);
        }
        at += !gone;
    }
    kn_resemblance with = ask(z, NULL, NULL), without = ask(rest, NULL, NULL);
    assert_int_equal(with.pairs, N - 4);
    assert_alike(with, without);
    memset(z.data, 0, N * T * sizeof(double));
    assert_int_equal(ask(z, NULL, NULL).pairs, 0);
    free(z.data), free(rest.data);
}

static void samples_permuted_with_their_order_change_nothing(void **state)
{
    (void)state;
    kn_rng rng;
    ptrdiff_t order[N];
    int group[N], moved_group[N];
    kn_mat z = draw(7, N, BATCH, 0.4, 0), moved = ref_new(N, T);
    ref_rng_init(&rng, 8, 0);
    kn_rng_permutation(&rng, N, order);
    for (ptrdiff_t i = 0; i < N; i++) {
        group[i] = moved_group[order[i]] = (int)i / 3;
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(moved, j)[order[i]] = kn_at(z, i, j);
    }
    assert_alike(ask(z, NULL, NULL), ask(moved, order, NULL));
    assert_alike(ask(z, NULL, group), ask(moved, order, moved_group));
    free(z.data), free(moved.data);
}

/* ---- in a fit ---- */

static void listen(void *user, kn_log_level level, const char *message)
{
    if (level == KN_LOG_WARNING && strncmp(message, SENTENCE, sizeof SENTENCE - 1) == 0)
        snprintf(user, 512, "%s", message);
}

/* Fits batches of ten neighbours, named by a covariate or not; what is said of neighbours. */
static kn_resemblance fit(bool named, char reported[512])
{
    kn_rng rng;
    kn_data *data;
    kn_model *m, *back;
    void *bytes;
    size_t count;
    double age[N];
    char word[N][8];
    const char *batch[N];
    kn_mat y = draw(10, N, BATCH, 0.7, 0);
    ref_rng_init(&rng, 10, 1);
    for (ptrdiff_t i = 0; i < N; i++) {
        age[i] = 20 + 60 * kn_rng_uniform(&rng);
        snprintf(word[i], sizeof word[i], "b%td", i / BATCH);
        batch[i] = word[i];
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(y, j)[i] += 0.05 * age[i];
    }
    reported[0] = 0;
    kn_set_log(ctx, listen, reported);
    assert_ok(ctx, kn_data_new(ctx, N, &data));
    assert_ok(ctx, kn_data_numbers(ctx, data, "age", age, 1));
    if (named)
        assert_ok(ctx, kn_data_texts(ctx, data, "batch", batch));
    assert_ok(ctx, kn_data_responses(ctx, data, kn_view_cols(y.data, N, T), NULL));
    assert_ok(ctx, kn_fit(ctx, data, NULL, &m));
    kn_set_log(ctx, NULL, NULL);
    kn_resemblance r = m->reference.neighbours;
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &count));
    assert_ok(ctx, kn_model_from_bytes(ctx, bytes, count, &back));
    assert_alike(back->reference.neighbours, r);
    kn_bytes_free(bytes);
    kn_model_free(back);
    kn_model_free(m);
    kn_data_free(data);
    free(y.data);
    return r;
}

static void a_fit_tells_of_neighbours_until_a_covariate_names_their_batch(void **state)
{
    (void)state;
    char reported[512], expected[512];
    kn_resemblance r = fit(false, reported);
    /* In 60 draws the correlation was .25 +- .024, and with the batch as a covariate -.04 +- .017.
     */
    assert_true(r.resemble && r.pairs == N - 1 && r.correlation > 0.1);
    snprintf(
        expected, sizeof expected,
        "%s%.2f (%.2f by chance); if the table is ordered by site, scanner or session, add that "
        "as a covariate",
        SENTENCE, r.correlation, fabs(r.chance) < 0.005 ? 0 : r.chance);
    assert_string_equal(reported, expected);
    r = fit(true, reported);
    assert_int_equal(r.pairs, N - 1);
    assert_true(r.correlation < 0.06);
    assert_int_equal(reported[0] != 0, r.resemble);
}

static int open_fixture(void **state)
{
    (void)state;
    ctx = kn_ctx_new();
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    kn_ctx_free(ctx);
    return 0;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(norm_table_order, open_fixture, close_fixture)
{
    kn_mat z = draw(9, N, BATCH, 1, 0), zz = square(z);
    kn_status status = KN_ERR_MEMORY;
    kn_resemblance r;
    double before = (double)kn_memory_now(ctx);
    long k = 0;
    while (status != KN_OK && k < 20) {
        kn_fail_allocation(ctx, ++k);
        status = kn_table_order_test(ctx, zz, NULL, NULL, 1, &r);
        assert_true(status == KN_OK || (status == KN_ERR_MEMORY && r.pairs == 0 && !r.resemble));
        assert_true((double)kn_memory_now(ctx) == before);
    }
    kn_fail_allocation(ctx, 0);
    assert_int_equal(status, KN_OK);
    assert_int_equal(k, 5);
    free(z.data), free(zz.data);
}

TEST_PROGRAM(norm_table_order)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_rows_do_not_resemble_each_other),
        cmocka_unit_test(batches_of_neighbours_are_found),
        cmocka_unit_test(batches_all_over_the_table_are_not),
        cmocka_unit_test(a_resemblance_too_small_to_matter_is_not_reported),
        cmocka_unit_test(the_statistic_is_the_mean_correlation_of_neighbours),
        cmocka_unit_test(pairs_of_one_group_do_not_count),
        cmocka_unit_test(groups_keep_the_rate_of_false_alarms),
        cmocka_unit_test(few_participants_have_no_sentence),
        cmocka_unit_test(rows_of_zeros_are_passed_over),
        cmocka_unit_test(samples_permuted_with_their_order_change_nothing),
        cmocka_unit_test(a_fit_tells_of_neighbours_until_a_covariate_names_their_batch),
    };
    return cmocka_run_group_tests_name("neighbours", tests, open_fixture, close_fixture);
}
