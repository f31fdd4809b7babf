/* Products and eigenproblems on several threads and in several contexts: the same bits as alone,
 * and the host program's BLAS as it was. */
#include "support/test.h"

#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/hash/xxh64.h"
#include "base/random.h"
#include "la/internal.h"
#include "la/la.h"

static kn_ctx *ctx;

static kn_mat noise(ptrdiff_t rows, ptrdiff_t cols)
{
    kn_rng rng;
    kn_mat m = ref_new(rows, cols);
    ref_rng_init(&rng, (uint64_t)(rows * 1000003 + cols), 0);
    for (ptrdiff_t i = 0; i < rows * cols; i++)
        m.data[i] = kn_rng_normal(&rng);
    return m;
}

static kn_fmat single(kn_mat m)
{
    kn_fmat f;
    assert_ok(ctx, kn_fmat_new(ctx, m.rows, m.cols, &f));
    kn_fmat_set(f, m);
    return f;
}

/* ---- cuts ---------------------------------------------------------------------------------- */

static void parts_cover_a_length_once_and_in_order(void **state)
{
    (void)state;
    static const ptrdiff_t lengths[] = {1, 15, 16, 17, 95, 600, 5438};
    for (int l = 0; l < 7; l++)
        for (ptrdiff_t parts = 1; parts <= 64; parts *= 2) {
            assert_int_equal(kn_tiles_at(lengths[l], parts, 0), 0);
            assert_int_equal(kn_tiles_at(lengths[l], parts, parts), lengths[l]);
            for (ptrdiff_t p = 0; p < parts; p++)
                assert_true(kn_tiles_at(lengths[l], parts, p) <=
                            kn_tiles_at(lengths[l], parts, p + 1));
        }
}

static void large_products_are_cut_and_small_ones_are_not(void **state)
{
    (void)state;
    kn_tiles t = kn_tiles_gemm(30, 30, 30);
    assert_true(t.rows == 1 && t.cols == 1 && t.depth == 1);
    t = kn_tiles_gemm(600, 5438, 25);
    assert_true(t.cols >= 4 && t.depth == 1);
    t = kn_tiles_gemm(5438, 25, 600);
    assert_true(t.rows >= 4 && t.cols == 1 && t.depth == 1);
    t = kn_tiles_gemm(110, 110, 200000);
    assert_true(t.depth >= 8 && t.rows == 1 && t.cols == 1);
    t = kn_tiles_syrk(110, 200000);
    assert_true(t.depth >= 8 && t.rows == 1 && t.cols == 1);
    t = kn_tiles_syrk(600, 2048);
    assert_true(t.rows >= 2 && t.cols == t.rows && t.depth == 1);
    t = kn_tiles_gemm(0, 5, 5);
    assert_true(t.rows == 1 && t.cols == 1 && t.depth == 1);
}

/* ---- products ------------------------------------------------------------------------------ */

typedef struct call {
    kn_mat A, B, C;
    kn_fmat Af, Bf, Cf;
    kn_trans ta, tb;
    int kind; /* 0 gemm, 1 syrk, 2 gemm_f32, 3 syrk_f32, 4 trsm_right, 5 trsm_left */
    double alpha, beta;
} call;

static void make(kn_ctx *c, const call *p)
{
    switch (p->kind) {
    case 0: kn_gemm(c, p->alpha, p->ta, p->A, p->tb, p->B, p->beta, p->C); break;
    case 1: kn_syrk(c, p->alpha, p->ta, p->A, p->beta, p->C); break;
    case 2:
        kn_gemm_f32(c, (float)p->alpha, p->ta, p->Af, p->tb, p->Bf, (float)p->beta, p->Cf);
        break;
    case 3: kn_syrk_f32(c, (float)p->alpha, p->ta, p->Af, (float)p->beta, p->Cf); break;
    case 4: kn_trsm_right(c, p->ta, p->A, p->C); break;
    default: kn_trsm_left(c, p->ta, p->A, p->C);
    }
}

static void make_alone(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    (void)worker, (void)first, (void)last;
    make(NULL, self);
}

/* C of `start` after the product: by one call of the BLAS, or cut up on so many threads. */
static kn_mat outcome(call p, kn_mat start, int threads)
{
    kn_mat C = ref_new(start.rows, start.cols);
    kn_mat_set(C, start);
    p.C = C;
    if (p.kind == 2 || p.kind == 3)
        p.Cf = single(start);
    kn_set_threads(ctx, threads ? threads : 1);
    if (threads)
        make(ctx, &p);
    else
        kn_la_parallel(ctx, 1, 1, make_alone, &p);
    if (p.kind == 2 || p.kind == 3) {
        for (ptrdiff_t i = 0; i < C.rows * C.cols; i++)
            C.data[i] = (double)p.Cf.data[i];
        kn_fmat_clear(&p.Cf);
    }
    return C;
}

/* Whole matrices are compared: of a triangle, what lies above it must be as it was. */
static void check(const call *p, kn_mat start, double tol)
{
    kn_mat whole = outcome(*p, start, 0), one = outcome(*p, start, 1);
    double largest = 0;
    for (ptrdiff_t i = 0; i < start.rows * start.cols; i++)
        largest = fmax(largest, fabs(whole.data[i]));
    for (ptrdiff_t i = 0; i < start.rows * start.cols; i++)
        if (!(fabs(one.data[i] - whole.data[i]) <= tol * largest))
            fail_msg("kind %d, %td x %td: element %td is %g, not %g", p->kind, start.rows,
                     start.cols, i, one.data[i], whole.data[i]);
    for (int threads = 2; threads <= 5; threads += threads - 1) { /* 2, 3, 5 */
        kn_mat more = outcome(*p, start, threads);
        assert_memory_equal(one.data, more.data,
                            (size_t)(start.rows * start.cols) * sizeof(double));
        free(more.data);
    }
    free(whole.data), free(one.data);
}

static void products_have_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    static const struct {
        ptrdiff_t m, n, k;
    } sizes[] = {{600, 600, 40}, {300, 1111, 31}, {1111, 25, 300}, {50, 60, 9000}, {600, 500, 400}};
    for (int s = 0; s < 5; s++)
        for (int t = 0; t < 4; t++) {
            ptrdiff_t m = sizes[s].m, n = sizes[s].n, k = sizes[s].k;
            kn_tiles cut = kn_tiles_gemm(m, n, k);
            assert_true(cut.rows * cut.cols * cut.depth > 1);
            call p = {.ta = t & 1 ? KN_T : KN_N, .tb = t & 2 ? KN_T : KN_N, .alpha = 2};
            p.A = p.ta == KN_N ? noise(m, k) : noise(k, m);
            p.B = p.tb == KN_N ? noise(k, n) : noise(n, k);
            p.beta = s % 2 ? -0.5 : 0;
            kn_mat start = noise(m, n);
            check(&p, start, 1e-14);
            p.kind = 2;
            p.Af = single(p.A);
            p.Bf = single(p.B);
            check(&p, start, 1e-5);
            kn_fmat_clear(&p.Af), kn_fmat_clear(&p.Bf);
            free(p.A.data), free(p.B.data), free(start.data);
        }
}

static void symmetric_products_have_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    static const ptrdiff_t n[] = {601, 70, 500}, k[] = {40, 9000, 4100};
    for (int s = 0; s < 3; s++)
        for (int t = 0; t < 2; t++) {
            kn_tiles cut = kn_tiles_syrk(n[s], k[s]);
            assert_true(cut.rows * cut.depth > 1);
            call p = {.kind = 1, .ta = t ? KN_T : KN_N, .alpha = -0.5, .beta = s == 1 ? 0 : 3};
            p.A = t ? noise(k[s], n[s]) : noise(n[s], k[s]);
            kn_mat start = noise(n[s], n[s]);
            check(&p, start, 1e-14);
            p.kind = 3;
            p.Af = single(p.A);
            check(&p, start, 1e-5);
            kn_fmat_clear(&p.Af);
            free(p.A.data), free(start.data);
        }
}

static void triangular_solves_have_the_same_bits_for_any_number_of_threads(void **state)
{
    (void)state;
    kn_mat L = noise(150, 150), wide = noise(150, 1500), tall = noise(1500, 150);
    assert_true(kn_tiles_trsm(1500, 150) > 1);
    for (ptrdiff_t j = 0; j < 150; j++)
        kn_col(L, j)[j] = 40;
    for (int t = 0; t < 2; t++) {
        call p = {.kind = 4, .A = L, .ta = t ? KN_T : KN_N};
        check(&p, tall, 1e-14);
        p.kind = 5;
        check(&p, wide, 1e-14);
    }
    free(L.data), free(wide.data), free(tall.data);
}

/* A NaN in C must not live on when beta is 0. */
static void a_product_without_beta_does_not_read_its_result(void **state)
{
    (void)state;
    kn_mat A = noise(9000, 50), C = ref_new(50, 50);
    for (int i = 0; i < 2500; i++)
        C.data[i] = NAN;
    kn_gemm(ctx, 1, KN_T, A, KN_N, A, 0, C);
    for (int i = 0; i < 2500; i++)
        assert_true(isfinite(C.data[i]));
    free(A.data), free(C.data);
}

/* ---- sections ------------------------------------------------------------------------------ */

static void the_process_keeps_its_thread_count(void **state)
{
    (void)state;
    kn_mat A = noise(600, 600), S = ref_mul(0, A, 1, A);
    double w[600];
    int before = openblas_get_num_threads();
    kn_set_threads(ctx, 2);
    for (int host = 1; host <= 3; host++) {
        openblas_set_num_threads(host);
        kn_mat U = noise(600, 600);
        kn_syrk(ctx, 1, KN_N, A, 0, U);
        assert_int_equal(openblas_get_num_threads(), host);
        assert_ok(ctx, kn_chol(ctx, U, "test"));
        assert_int_equal(openblas_get_num_threads(), host);
        assert_ok(ctx, kn_eig(ctx, S, w));
        assert_int_equal(openblas_get_num_threads(), host);
        S.data[0] = NAN;
        assert_int_equal(kn_eig(ctx, S, w), KN_ERR_NUMERIC);
        S.data[0] = 1;
        assert_int_equal(openblas_get_num_threads(), host);
        kn_blas_begin(2);
        assert_int_equal(openblas_get_num_threads(), 2);
        kn_blas_end();
        assert_int_equal(openblas_get_num_threads(), host);
        free(U.data);
    }
    openblas_set_num_threads(before);
    free(A.data), free(S.data);
}

typedef struct guest {
    int threads;
    atomic_int asked, in, left;
    int seen; /* the process's count inside */
} guest;

static void *visit(void *self)
{
    guest *g = self;
    atomic_store(&g->asked, 1);
    kn_blas_begin(g->threads);
    g->seen = openblas_get_num_threads();
    atomic_store(&g->in, 1);
    while (!atomic_load(&g->left))
        usleep(100);
    kn_blas_end();
    return NULL;
}

/* Has it asked, and then had 0.1 s to get in? */
static bool gets_in(guest *g)
{
    while (!atomic_load(&g->asked))
        usleep(100);
    for (int i = 0; i < 100 && !atomic_load(&g->in); i++)
        usleep(1000);
    return atomic_load(&g->in);
}

/* While this thread is in a section of one thread: an eigenproblem asks, then a product. The
 * product could join at once, and others after it for ever. */
static bool product_waits_for_eigenproblem(void)
{
    guest product = {.threads = 1}, eigenproblem = {.threads = 2};
    pthread_t first, second;
    kn_blas_begin(1);
    assert_int_equal(pthread_create(&first, NULL, visit, &eigenproblem), 0);
    assert_false(gets_in(&eigenproblem));
    assert_int_equal(pthread_create(&second, NULL, visit, &product), 0);
    bool waits = !gets_in(&product);
    atomic_store(&eigenproblem.left, 1);
    atomic_store(&product.left, 1);
    kn_blas_end();
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert_int_equal(eigenproblem.seen, 2);
    assert_int_equal(product.seen, 1);
    return waits;
}

/* Thrice, for on a busy machine the first may not have come to its place in the queue. */
static void the_first_caller_is_served_first(void **state)
{
    (void)state;
    bool waits = false;
    for (int k = 0; k < 3 && !waits; k++)
        waits = product_waits_for_eigenproblem();
    assert_true(waits);
}

static void sections_of_one_thread_run_side_by_side(void **state)
{
    (void)state;
    guest other = {.threads = 1};
    pthread_t thread;
    kn_blas_begin(1);
    assert_int_equal(pthread_create(&thread, NULL, visit, &other), 0);
    for (int k = 0; k < 100 && !gets_in(&other); k++)
        ;
    assert_true(atomic_load(&other.in));
    kn_blas_end();
    assert_int_equal(openblas_get_num_threads(), 1); /* not before the last */
    atomic_store(&other.left, 1);
    pthread_join(thread, NULL);
}

static void sections_of_more_threads_run_one_at_a_time(void **state)
{
    (void)state;
    guest other = {.threads = 2}, one = {.threads = 1};
    pthread_t first, second;
    kn_blas_begin(2);
    assert_int_equal(pthread_create(&first, NULL, visit, &other), 0);
    assert_int_equal(pthread_create(&second, NULL, visit, &one), 0);
    assert_false(gets_in(&other));
    assert_false(gets_in(&one));
    atomic_store(&other.left, 1);
    atomic_store(&one.left, 1);
    kn_blas_end();
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    assert_true(other.seen == 2 && one.seen == 1);
}

/* ---- two contexts -------------------------------------------------------------------------- */

/* What a fit does, in small: products, factors, eigenproblems below and above the size from which
 * they run on the BLAS's threads. `bits` takes up every result. */
typedef struct session {
    int threads, rounds;
    uint64_t bits;
    kn_status status;
} session;

static void take_up(session *s, kn_mat m)
{
    for (ptrdiff_t j = 0; j < m.cols; j++)
        s->bits = kn_hash(kn_col(m, j), (size_t)m.rows * sizeof(double), s->bits);
}

static void column_of(void *self, ptrdiff_t j, double *column)
{
    kn_mat *A = self;
    memcpy(column, kn_col(*A, j), (size_t)A->rows * sizeof(double));
}

static kn_status low_rank(kn_ctx *c, session *s, kn_mat K, kn_mat Y)
{
    kn_status status;
    ptrdiff_t n = K.rows, m = 60, rank, pivot[60];
    double *diag = NULL, w[60], residual;
    kn_mat L = {0}, S = {0}, A = {0};
    KN_TRY(kn_alloc_d(c, n, &diag));
    KN_TRY(kn_mat_new(c, n, m, &L));
    KN_TRY(kn_mat_new(c, m, m, &S));
    KN_TRY(kn_mat_new(c, m, Y.cols, &A));
    for (ptrdiff_t i = 0; i < n; i++)
        diag[i] = kn_at(K, i, i);
    KN_TRY(kn_pivoted_chol(c, diag, NULL, column_of, &K, 1e-12, L, pivot, &rank, &residual));
    kn_syrk(c, 1, KN_T, L, 0, S);
    kn_gemm(c, 1, KN_T, L, KN_N, Y, 0, A);
    KN_TRY(kn_eig(c, S, w));
    take_up(s, S);
    take_up(s, A);
out:
    kn_free(diag);
    kn_mat_clear(&L);
    kn_mat_clear(&S);
    kn_mat_clear(&A);
    return status;
}

static kn_status one_round(kn_ctx *c, session *s, kn_mat Y)
{
    kn_status status;
    kn_mat K = {0}, U = {0}, Z = {0};
    double w[600];
    KN_TRY(kn_mat_new(c, 600, 600, &K));
    KN_TRY(kn_mat_new(c, 300, 300, &U));
    KN_TRY(kn_mat_new(c, 600, 900, &Z));
    kn_syrk(c, 1, KN_N, Y, 0, K);
    kn_mirror(K);
    take_up(s, K);
    kn_mat_set(U, kn_sub(K, 0, 0, 300, 300));
    KN_TRY(kn_eig(c, U, w)); /* on the BLAS's threads */
    take_up(s, U);
    kn_gemm(c, 1, KN_N, K, KN_N, Y, 0, Z);
    take_up(s, Z);
    KN_TRY(low_rank(c, s, K, Y));
    KN_TRY(kn_chol(c, K, "test")); /* so is this */
    take_up(s, K);
    kn_trsm_left(c, KN_N, K, Z);
    take_up(s, Z);
out:
    kn_mat_clear(&K);
    kn_mat_clear(&U);
    kn_mat_clear(&Z);
    return status;
}

static void *run(void *self)
{
    session *s = self;
    kn_ctx *c = kn_ctx_new();
    kn_mat Y = noise(600, 900);
    kn_set_threads(c, s->threads);
    s->bits = 0;
    s->status = KN_OK;
    for (int k = 0; k < s->rounds && s->status == KN_OK; k++)
        s->status = one_round(c, s, Y);
    free(Y.data);
    kn_ctx_free(c);
    return NULL;
}

static void two_contexts_at_once_have_the_bits_of_single_contexts(void **state)
{
    (void)state;
    static const int threads[][2] = {{1, 2}, {2, 2}, {3, 2}, {1, 1}};
    const int ROUNDS = repeat(2, 1);
    uint64_t alone[4];
    for (int t = 1; t <= 3; t++) {
        session s = {.threads = t, .rounds = ROUNDS};
        run(&s);
        assert_int_equal(s.status, KN_OK);
        alone[t] = s.bits;
    }
    int before = openblas_get_num_threads();
    for (int k = 0; k < 4; k++) {
        session s[2] = {{.threads = threads[k][0], .rounds = ROUNDS},
                        {.threads = threads[k][1], .rounds = ROUNDS}};
        pthread_t other;
        assert_int_equal(pthread_create(&other, NULL, run, &s[1]), 0);
        run(&s[0]);
        pthread_join(other, NULL);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(s[i].status, KN_OK);
            assert_true(s[i].bits == alone[s[i].threads]);
        }
    }
    assert_int_equal(openblas_get_num_threads(), before);
}

TEST_PROGRAM(la_blas_threads)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_cover_a_length_once_and_in_order),
        cmocka_unit_test(large_products_are_cut_and_small_ones_are_not),
        cmocka_unit_test(products_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(symmetric_products_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(triangular_solves_have_the_same_bits_for_any_number_of_threads),
        cmocka_unit_test(a_product_without_beta_does_not_read_its_result),
        cmocka_unit_test(the_process_keeps_its_thread_count),
        cmocka_unit_test(the_first_caller_is_served_first),
        cmocka_unit_test(sections_of_one_thread_run_side_by_side),
        cmocka_unit_test(sections_of_more_threads_run_one_at_a_time),
        cmocka_unit_test(two_contexts_at_once_have_the_bits_of_single_contexts),
    };
    int failed = cmocka_run_group_tests_name("threads", tests, NULL, NULL);
    kn_ctx_free(ctx);
    return failed;
}
