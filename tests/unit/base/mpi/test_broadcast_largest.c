/* The largest of all ranks' numbers against a loop over the responses of all ranks. Ranks
 * are threads of this process, who meet at a barrier; ranks that are processes are in tests/mpi. */
#include "support/test.h"

#include <pthread.h>

#include "base/mpi/comm.h"
#include "base/random.h"
#include "data/mpi/gather_responses.h"

enum { RANKS = 5, RESPONSES = 12, SIZE = 3 }; /* at most; numbers are whole, -SIZE .. SIZE */
static const ptrdiff_t PLACES[] = {0, 1, 2, 7, 300};
enum { N_PLACES = sizeof PLACES / sizeof *PLACES, MAX_PLACES = 300 };
static const double UNTOUCHED = 77;

/* ---- ranks that are threads -------------------------------------------------------------------
 */

static pthread_barrier_t meeting;
static const void *said[RANKS]; /* between two meetings */

typedef double (*joined)(double a, double b);

static double plus(double a, double b)
{
    return a + b;
}

static const char *reduce(const kn_comm *c, double *x, ptrdiff_t n, joined with)
{
    double *all = calloc((size_t)n + 1, sizeof *all);
    said[c->rank] = x;
    pthread_barrier_wait(&meeting);
    for (int r = 0; r < c->size; r++)
        for (ptrdiff_t i = 0; i < n; i++)
            all[i] =
                r == 0 ? ((const double *)said[r])[i] : with(all[i], ((const double *)said[r])[i]);
    pthread_barrier_wait(&meeting);
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = all[i];
    free(all);
    return NULL;
}

static const char *sum(const kn_comm *c, double *x, ptrdiff_t n)
{
    return reduce(c, x, n, plus);
}

static const char *max(const kn_comm *c, double *x, ptrdiff_t n)
{
    return reduce(c, x, n, fmax);
}

static const char *share(const kn_comm *c, void *x, ptrdiff_t bytes, int root)
{
    said[c->rank] = x;
    pthread_barrier_wait(&meeting);
    if (c->rank != root)
        memcpy(x, said[root], (size_t)bytes);
    pthread_barrier_wait(&meeting);
    return NULL;
}

/* One of them: with its own numbers, and with all ranks' when it has come back. */
typedef struct member {
    kn_comm comm;
    kn_ctx *ctx;
    bool starved; /* its first allocation fails */
    ptrdiff_t n;
    double top[MAX_PLACES + 1]; /* [n] is of no rank */
    kn_status status;
} member;

static void *live(void *self)
{
    member *m = self;
    kn_ctx_set_comm(m->ctx, &m->comm);
    kn_fail_allocation(m->ctx, m->starved);
    m->status = kn_comm_agree_status(m->ctx, kn_allreduce_largest(m->ctx, m->top, m->n));
    kn_fail_allocation(m->ctx, 0);
    return NULL;
}

static void run(member *m, int ranks)
{
    pthread_t thread[RANKS];
    assert_int_equal(pthread_barrier_init(&meeting, NULL, (unsigned)ranks), 0);
    for (int r = 0; r < ranks; r++) {
        m[r].comm = kn_comm_serial;
        m[r].comm.rank = r;
        m[r].comm.size = m[r].comm.local_size = ranks;
        m[r].comm.sum = sum;
        m[r].comm.max = max;
        m[r].comm.broadcast = share;
        assert_int_equal(pthread_create(&thread[r], NULL, live, &m[r]), 0);
    }
    for (int r = 0; r < ranks; r++)
        pthread_join(thread[r], NULL);
    pthread_barrier_destroy(&meeting);
}

static member *members_new(ptrdiff_t n)
{
    member *m = calloc(RANKS, sizeof *m);
    assert_non_null(m);
    for (int r = 0; r < RANKS; r++) {
        m[r].n = n;
        m[r].top[n] = UNTOUCHED;
        m[r].ctx = kn_ctx_new();
        assert_non_null(m[r].ctx);
    }
    return m;
}

static void members_free(member *m)
{
    for (int r = 0; r < RANKS; r++)
        kn_ctx_free(m[r].ctx);
    free(m);
}

/* ---- responses dealt to them ------------------------------------------------------------------
 */

typedef struct distributed {
    ptrdiff_t T, cut[RANKS + 1]; /* rank r has responses cut[r] .. cut[r + 1] - 1, or none */
    double v[RESPONSES][MAX_PLACES];
} distributed;

static void deal(kn_rng *rng, int ranks, ptrdiff_t n, distributed *d)
{
    d->T = kn_rng_below(rng, RESPONSES + 1);
    d->cut[0] = 0;
    d->cut[ranks] = d->T;
    for (int r = ranks - 1; r > 0; r--)
        d->cut[r] = kn_rng_below(rng, d->cut[r + 1] + 1);
    for (ptrdiff_t j = 0; j < d->T; j++)
        for (ptrdiff_t i = 0; i < n; i++)
            d->v[j][i] = (double)kn_rng_below(rng, 2 * SIZE + 1) - SIZE;
}

/* Of responses from first to last the first one of the largest size there is; 0 of none. */
static double largest(const distributed *d, ptrdiff_t first, ptrdiff_t last, ptrdiff_t place)
{
    for (int size = SIZE; size > 0; size--)
        for (ptrdiff_t j = first; j < last; j++)
            if (d->v[j][place] == size || d->v[j][place] == -size)
                return d->v[j][place];
    return 0;
}

/* What makes the rule: how often it was needed. */
typedef struct needed {
    int signs, sizes, nobody; /* ties of other signs; a negative one before a positive; no part */
} needed;

static void count(const member *m, int ranks, needed *so_far)
{
    for (ptrdiff_t i = 0; i < m->n; i++)
        for (int a = 0; a < ranks; a++)
            for (int b = a + 1; b < ranks; b++) {
                double x = m[a].top[i], y = m[b].top[i];
                so_far->signs += x != 0 && x == -y;
                so_far->sizes += x * y < 0 && fabs(x) != fabs(y);
            }
}

static void what_one_process_finds_is_known_to_all(void **state)
{
    (void)state;
    enum { ROUNDS = 20 };
    static distributed d;
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        needed rule = {0};
        for (int k = 0; k < N_PLACES * ROUNDS; k++) {
            ptrdiff_t n = PLACES[k % N_PLACES];
            member *m = members_new(n);
            kn_rng rng;
            ref_rng_init(&rng, (uint64_t)ranks, (uint64_t)k);
            deal(&rng, ranks, n, &d);
            for (int r = 0; r < ranks; r++) {
                rule.nobody += d.cut[r] == d.cut[r + 1];
                for (ptrdiff_t i = 0; i < n; i++)
                    m[r].top[i] = largest(&d, d.cut[r], d.cut[r + 1], i);
            }
            count(m, ranks, &rule);
            run(m, ranks);
            for (int r = 0; r < ranks; r++) {
                assert_ok(m[r].ctx, m[r].status);
                for (ptrdiff_t i = 0; i < n; i++)
                    if (m[r].top[i] != largest(&d, 0, d.T, i))
                        fail_msg("rank %d of %d, place %td of %td: %g, expected %g", r, ranks, i, n,
                                 m[r].top[i], largest(&d, 0, d.T, i));
                assert_true(m[r].top[n] == UNTOUCHED);
            }
            members_free(m);
        }
        assert_true(rule.nobody > 0);
        assert_true(ranks == 1 || (rule.signs > 100 && rule.sizes > 100));
    }
}

static void out_of_memory_on_one_rank_fails_on_all_ranks(void **state)
{
    (void)state;
    for (int starved = 0; starved < RANKS; starved++) {
        member *m = members_new(7);
        m[starved].starved = true;
        run(m, RANKS);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(m[r].status, KN_ERR_MEMORY);
        members_free(m);
    }
}

TEST_PROGRAM(mpi_broadcast_largest)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_process_finds_is_known_to_all),
        cmocka_unit_test(out_of_memory_on_one_rank_fails_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
