/* The canonical order of participants: by what rows are, not by where they stand. */
#include "support/test.h"

#include "base/matrix.h"
#include "base/random.h"
#include "data/canonical_order.h"
#include "support/views.h"

static kn_ctx *ctx;

enum { N = 40, F = 3, T = 7 };

/* Rows with few different ids and covariates, so that all three keys count. */
typedef struct rows {
    uint64_t key[N];
    double x[F * N], y[T * N]; /* column by column */
} rows;

static rows draw(kn_rng *rng)
{
    rows r;
    for (int i = 0; i < N; i++) {
        r.key[i] = (uint64_t)kn_rng_below(rng, 15);
        for (int f = 0; f < F; f++)
            r.x[f * N + i] = (double)kn_rng_below(rng, 2);
        for (int j = 0; j < T; j++)
            r.y[j * N + i] = kn_rng_normal(rng);
        r.y[i] = i % 5 == 0 ? NAN : r.y[i];
    }
    return r;
}

/* The same with rows, columns of x and columns of y in another order. */
static rows permuted(const rows *r, const ptrdiff_t *row, const ptrdiff_t *f, const ptrdiff_t *j)
{
    rows p;
    for (int i = 0; i < N; i++) {
        p.key[i] = r->key[row[i]];
        for (int k = 0; k < F; k++)
            p.x[k * N + i] = r->x[f[k] * N + row[i]];
        for (int k = 0; k < T; k++)
            p.y[k * N + i] = r->y[j[k] * N + row[i]];
    }
    return p;
}

static void order_of(rows *r, bool ids, bool covariates, ptrdiff_t *order)
{
    kn_row_source from = {.n = N,
                          .key = ids ? r->key : NULL,
                          .X = covariates ? kn_mat_cols(r->x, N, F) : kn_mat_none(),
                          .Y = kn_view_cols(r->y, N, T),
                          .own = {0, T}};
    assert_ok(ctx, kn_row_order(ctx, &from, order));
}

static void order_follows_the_rows(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 1, 1);
    for (int kind = 0; kind < 4; kind++) {
        ptrdiff_t row[N], f[F], j[T], a[N], b[N];
        rows r = draw(&rng);
        kn_rng_permutation(&rng, N, row);
        kn_rng_permutation(&rng, F, f);
        kn_rng_permutation(&rng, T, j);
        rows p = permuted(&r, row, f, j);
        order_of(&r, kind & 1, kind & 2, a);
        order_of(&p, kind & 1, kind & 2, b);
        for (int k = 0; k < N; k++)
            assert_int_equal(a[k], row[b[k]]);
    }
}

static void order_is_a_permutation_that_the_table_does_not_show(void **state)
{
    (void)state;
    kn_rng rng;
    ptrdiff_t order[N], stays = 0;
    bool met[N] = {false};
    ref_rng_init(&rng, 2, 1);
    rows r = draw(&rng);
    for (int i = 0; i < N; i++)
        r.x[i] = i; /* distinct, ascending */
    order_of(&r, false, true, order);
    for (int k = 0; k < N; k++) {
        assert_false(met[order[k]]);
        met[order[k]] = true;
        stays += order[k] == k;
    }
    assert_true(stays < N / 2);
}

static void equal_rows_keep_their_order(void **state)
{
    (void)state;
    rows r = {0};
    ptrdiff_t order[N];
    order_of(&r, true, true, order);
    for (int k = 0; k < N; k++)
        assert_int_equal(order[k], k);
}

static void precision_and_sign_of_zero_do_not_matter(void **state)
{
    (void)state;
    kn_rng rng;
    ptrdiff_t a[N], b[N];
    ref_rng_init(&rng, 3, 1);
    rows r = draw(&rng);
    for (int i = 0; i < N * F; i++)
        r.x[i] = r.x[i] > 0 ? (float)kn_rng_normal(&rng) : 0;
    rows s = r;
    for (int i = 0; i < N * F; i++)
        s.x[i] = s.x[i] == 0 ? -0.0 : s.x[i] * (1 + 1e-15);
    order_of(&r, false, true, a);
    order_of(&s, false, true, b);
    assert_memory_equal(a, b, sizeof a);
}

/* Keys and draws of `T` responses of which one is missing everywhere and another in half of the
 * rows. */
static void draws_follow_the_responses(void **state)
{
    (void)state;
    enum { WIDE = 90, FEW = 30 };
    static double y[N * WIDE], moved[N * WIDE];
    kn_rng rng;
    ptrdiff_t row[N], column[WIDE], order[N], another[N], kept[WIDE], a[FEW], b[FEW];
    uint64_t key[WIDE] = {0}, key_moved[WIDE] = {0};
    bool drawn[WIDE] = {false};
    ref_rng_init(&rng, 4, 1);
    kn_rng_permutation(&rng, N, row);
    kn_rng_permutation(&rng, WIDE, column);
    kn_rng_permutation(&rng, N, order);
    for (ptrdiff_t k = 0; k < N * WIDE; k++)
        y[k] = k / N == 3 || (k / N == 4 && k % 2) ? NAN : kn_rng_normal(&rng);
    for (int j = 0; j < WIDE; j++) {
        kept[j] = j;
        for (int i = 0; i < N; i++)
            moved[j * N + i] = y[column[j] * N + row[i]];
    }
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            if (row[i] == order[k])
                another[k] = i;
    kn_scaling scaling = {.n_all = WIDE, .n_kept = WIDE, .kept = kept};
    kn_responses Y = kn_responses_of(kn_view_cols(y, N, WIDE), &scaling), Z = Y;
    Z.Y = kn_view_cols(moved, N, WIDE);
    assert_ok(ctx, kn_response_keys(ctx, &Y, order, key));
    assert_ok(ctx, kn_response_keys(ctx, &Z, another, key_moved));
    for (int j = 0; j < WIDE; j++) {
        assert_true(key_moved[j] == key[column[j]]);
        for (int k = 0; k < j; k++)
            assert_true(key[j] != key[k]);
    }
    assert_ok(ctx, kn_responses_draw(ctx, key, WIDE, 5, FEW, a));
    assert_ok(ctx, kn_responses_draw(ctx, key_moved, WIDE, 5, FEW, b));
    for (int k = 0; k < FEW; k++) {
        drawn[a[k]] = true;
        assert_true(k == 0 || (a[k] > a[k - 1] && b[k] > b[k - 1]));
    }
    for (int k = 0; k < FEW; k++)
        assert_true(drawn[column[b[k]]]);
    assert_ok(ctx, kn_responses_draw(ctx, key, WIDE, 6, FEW, b));
    assert_true(memcmp(a, b, sizeof a) != 0);
}

TEST_PROGRAM(data_canonical_order)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_follows_the_rows),
        cmocka_unit_test(order_is_a_permutation_that_the_table_does_not_show),
        cmocka_unit_test(draws_follow_the_responses),
        cmocka_unit_test(equal_rows_keep_their_order),
        cmocka_unit_test(precision_and_sign_of_zero_do_not_matter),
    };
    ctx = kn_ctx_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
