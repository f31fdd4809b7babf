#define _GNU_SOURCE /* sched_setaffinity */
#include "support/scratch.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/hash/xxh64.h"
#include "base/machine.h"
#include "base/memory/alloc.h"
#include "base/parallel/parallel_for.h"
#include "base/random.h"

static void random_numbers_are_the_same_everywhere(void **state)
{
    (void)state;
    kn_rng a, b;
    ref_rng_init(&a, 1, 0);
    ref_rng_init(&b, 1, 0);
    for (int i = 0; i < 100; i++)
        assert_true(kn_rng_next(&a) == kn_rng_next(&b));
    ref_rng_init(&b, 1, 1);
    assert_true(kn_rng_next(&a) != kn_rng_next(&b));
}

static void normal_numbers_have_unit_moments(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 3, 0);
    double m1 = 0, m2 = 0, m4 = 0, n = 200000;
    for (int i = 0; i < (int)n; i++) {
        double x = kn_rng_normal(&rng);
        m1 += x / n;
        m2 += x * x / n;
        m4 += x * x * x * x / n;
    }
    assert_close(m1, 0, 0.01);
    assert_close(m2, 1, 0.02);
    assert_close(m4, 3, 0.04);
}

static void a_permutation_holds_every_index_once(void **state)
{
    (void)state;
    kn_rng rng;
    ref_rng_init(&rng, 5, 0);
    ptrdiff_t p[50];
    int seen[50] = {0};
    kn_rng_permutation(&rng, 50, p);
    for (int i = 0; i < 50; i++)
        seen[p[i]]++;
    for (int i = 0; i < 50; i++)
        assert_int_equal(seen[i], 1);
}

static void an_impossible_size_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_mat m;
    void *p;
    assert_refused(ctx, kn_mat_new(ctx, PTRDIFF_MAX / 4, 8, &m), KN_ERR_MEMORY, "cannot exist");
    assert_refused(ctx, kn_alloc(ctx, -1, 8, &p), KN_ERR_MEMORY, "cannot exist");
    kn_fail_allocation(ctx, 2);
    assert_ok(ctx, kn_mat_new(ctx, 2, 2, &m));
    kn_mat_clear(&m);
    assert_refused(ctx, kn_mat_new(ctx, 2, 2, &m), KN_ERR_MEMORY, "out of memory");
    assert_null(m.data);
    assert_ok(ctx, kn_mat_new(ctx, 2, 2, &m));
    kn_mat_clear(&m);
    kn_ctx_free(ctx);
}

/* Bytes of a block of n doubles: whole lines of 64, and one in front. */
static size_t block(size_t n)
{
    return 64 + (8 * n + 63) / 64 * 64;
}

static void the_peak_is_the_largest_number_of_bytes_in_use(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new(), *other = kn_ctx_new();
    double *a, *b, *c, *foreign;
    assert_int_equal(kn_memory_peak(ctx), 0);
    assert_ok(ctx, kn_alloc_d(ctx, 1000, &a));
    assert_true((uintptr_t)a % 64 == 0);
    assert_ok(ctx, kn_alloc_d(ctx, 3000, &b));
    kn_free(b);
    assert_ok(ctx, kn_alloc_d(ctx, 1, &c));
    assert_ok(other, kn_alloc_d(other, 50000, &foreign));
    assert_int_equal(kn_memory_now(ctx), block(1000) + block(1));
    assert_int_equal(kn_memory_peak(ctx), block(1000) + block(3000));
    assert_int_equal(kn_memory_peak(other), block(50000));
    kn_memory_peak_reset(ctx);
    assert_int_equal(kn_memory_peak(ctx), block(1000) + block(1));
    kn_free(a);
    kn_free(c);
    kn_free(NULL);
    kn_fail_allocation(ctx, 1);
    assert_refused(ctx, kn_alloc_d(ctx, 9000, &a), KN_ERR_MEMORY, "out of memory");
    assert_int_equal(kn_memory_now(ctx), 0);
    assert_int_equal(kn_memory_peak(ctx), block(1000) + block(1));
    kn_free(foreign);
    kn_ctx_free(ctx);
    kn_ctx_free(other);
}

static void a_block_may_outlive_its_context(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    double *p[20];
    for (int i = 0; i < 20; i++)
        assert_ok(ctx, kn_alloc_d(ctx, 100 + i, &p[i]));
    kn_ctx_free(ctx);
    for (int i = 0; i < 20; i++) {
        assert_true(p[i][99 + i] == 0);
        kn_free(p[i]); /* the last takes the meter along: the address sanitizer would tell */
    }
}

/* Each item holds two blocks at once; ctx's message is not theirs to write, so nothing may fail. */
static void take_and_give(void *self, ptrdiff_t first, ptrdiff_t last)
{
    for (ptrdiff_t i = first; i < last; i++) {
        double *a = NULL, *b = NULL;
        if (kn_alloc_d(self, 64, &a) != KN_OK || kn_alloc_d(self, 128, &b) != KN_OK)
            abort();
        kn_free(a);
        kn_free(b);
    }
}

static void threads_share_one_meter(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    double *kept;
    kn_set_threads(ctx, 4);
    assert_ok(ctx, kn_alloc_d(ctx, 10, &kept));
    kn_parallel(ctx, 20000, 10, take_and_give, ctx);
    size_t each = block(64) + block(128);
    assert_int_equal(kn_memory_now(ctx), block(10));
    assert_true(kn_memory_peak(ctx) >= block(10) + each);
    assert_true(kn_memory_peak(ctx) <= block(10) + 4 * each);
    kn_free(kept);
    kn_ctx_free(ctx);
}

static void a_view_reads_rows_columns_and_floats(void **state)
{
    (void)state;
    double rows[6] = {1, 2, 3, 4, 5, 6};
    float floats[6] = {1, 2, 3, 4, 5, 6};
    double out[4];
    kn_mat m = kn_mat_cols(out, 2, 2);
    kn_view_block(kn_view_rows(rows, 2, 3), 1, m);
    assert_true(out[0] == 2 && out[1] == 5 && out[2] == 3 && out[3] == 6);
    kn_view_block(kn_view_rows_f32(floats, 2, 3), 1, m);
    assert_true(out[0] == 2 && out[1] == 5 && out[2] == 3 && out[3] == 6);
    kn_view_block(kn_view_cols(rows, 2, 3), 1, m);
    assert_true(out[0] == 3 && out[1] == 4 && out[2] == 5 && out[3] == 6);
}

static void add_one(void *self, ptrdiff_t first, ptrdiff_t last)
{
    for (ptrdiff_t i = first; i < last; i++)
        ((int *)self)[i]++;
}

static void a_parallel_loop_visits_every_item_once(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int threads = 1; threads <= 4; threads++) {
        int visits[1000] = {0};
        kn_set_threads(ctx, threads);
        kn_parallel(ctx, 1000, 7, add_one, visits);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(visits[i], 1);
    }
    kn_parallel(ctx, 0, 7, add_one, NULL);
    kn_ctx_free(ctx);
}

typedef struct crew {
    int visits[1000];
    atomic_int busy[64];
    atomic_int clash;
} crew;

static void count_and_check(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    crew *c = self;
    if (atomic_fetch_add(&c->busy[worker], 1) != 0)
        atomic_store(&c->clash, 1);
    for (ptrdiff_t i = first; i < last; i++)
        c->visits[i]++;
    atomic_fetch_sub(&c->busy[worker], 1);
}

static void no_two_threads_share_a_workers_number(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int threads = 1; threads <= 5; threads += 2)
        for (ptrdiff_t grain = 1; grain <= 2000; grain *= 11) {
            crew c = {0};
            kn_set_threads(ctx, threads);
            int workers = kn_workers(ctx, 1000, grain);
            assert_true(workers >= 1 && workers <= threads);
            kn_parallel_workers(ctx, 1000, grain, count_and_check, &c);
            for (int i = 0; i < 1000; i++)
                assert_int_equal(c.visits[i], 1);
            for (int w = workers; w < 64; w++)
                assert_int_equal(atomic_load(&c.busy[w]), 0);
            assert_int_equal(atomic_load(&c.clash), 0);
        }
    assert_int_equal(kn_workers(ctx, 0, 1), 1);
    kn_parallel_workers(ctx, 0, 1, count_and_check, NULL);
    kn_ctx_free(ctx);
}

/* In a child, because what is pinned stays pinned. */
static int threads_of_a_child(int processors)
{
    pid_t child = fork();
    if (child == 0) {
        cpu_set_t may, few;
        CPU_ZERO(&few);
        sched_getaffinity(0, sizeof may, &may);
        for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&few) < processors; i++)
            if (CPU_ISSET(i, &may))
                CPU_SET(i, &few);
        if (sched_setaffinity(0, sizeof few, &few) != 0)
            _exit(255);
        kn_ctx *ctx = kn_ctx_new();
        int before = kn_threads(ctx);
        kn_set_threads(ctx, 7);
        kn_set_threads(ctx, 0);
        _exit(kn_threads(ctx) == before ? before : 254);
    }
    int state = 0;
    assert_true(child > 0 && waitpid(child, &state, 0) == child && WIFEXITED(state));
    return WEXITSTATUS(state);
}

static void default_threads_are_the_processors_that_are_allowed(void **state)
{
    (void)state;
    int all = kn_processors("");
    assert_int_equal(threads_of_a_child(1), 1);
    assert_int_equal(threads_of_a_child(all), all);
}

static void default_threads_are_what_a_cgroup_pays_for(void **state)
{
    (void)state;
    static const char *const folders[] = {"r",
                                          "r/proc",
                                          "r/proc/self",
                                          "r/sys",
                                          "r/sys/fs",
                                          "r/sys/fs/cgroup",
                                          "r/sys/fs/cgroup/job",
                                          "r/sys/fs/cgroup/job/step",
                                          "r/sys/fs/cgroup/cpu",
                                          "r/sys/fs/cgroup/cpu/old"};
    int all = kn_processors("nowhere");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        mkdir(folders[i], 0777);
    scratch_text("r/proc/self/cgroup", "0::/job/step\n");
    scratch_text("r/sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
    assert_int_equal(kn_processors("r"), all);
    scratch_text("r/sys/fs/cgroup/job/cpu.max", "90000 100000\n");
    assert_int_equal(kn_processors("r"), 1);
    scratch_text("r/sys/fs/cgroup/job/cpu.max", "9000000 100000\n");
    assert_int_equal(kn_processors("r"), all < 90 ? all : 90);
    scratch_text("r/proc/self/cgroup", "5:cpuset:/old\n7:cpu,cpuacct:/old\n");
    scratch_text("r/sys/fs/cgroup/cpu/old/cpu.cfs_quota_us", "-1\n");
    scratch_text("r/sys/fs/cgroup/cpu/old/cpu.cfs_period_us", "50000\n");
    assert_int_equal(kn_processors("r"), all);
    scratch_text("r/sys/fs/cgroup/cpu/old/cpu.cfs_quota_us", "45000\n");
    assert_int_equal(kn_processors("r"), 1);
    assert_int_equal(system("rm -r r"), 0);
}

static void cancelling_is_seen_and_can_be_taken_back(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    assert_ok(ctx, kn_check_cancel(ctx));
    kn_cancel(ctx);
    assert_refused(ctx, kn_check_cancel(ctx), KN_ERR_CANCELLED, "stopped");
    kn_cancel_clear(ctx);
    assert_ok(ctx, kn_check_cancel(ctx));
    kn_ctx_free(ctx);
}

static void hash_matches_the_published_values(void **state)
{
    (void)state;
    static const char text[] = "Nobody inspects the spammish repetition";
    assert_true(kn_hash("", 0, 0) == 0xEF46DB3751D8E999u);
    assert_true(kn_hash("a", 1, 0) == 0xD24EC4F1A98C6E5Bu);
    assert_true(kn_hash("abc", 3, 0) == 0x44BC2CF5AD770999u);
    assert_true(kn_hash(text, sizeof text - 1, 0) == 0xFBCEA83C8A378BF1u);
}

/* The numbers are those of the reference implementation: xxhsum -H1 (and xxhsum of nothing). */
static void a_checksum_does_not_depend_on_how_bytes_are_cut(void **state)
{
    (void)state;
    enum { N = 300 };
    unsigned char bytes[N];
    assert_true(kn_hash("", 0, 0) == 0xef46db3751d8e999u);
    assert_true(kn_hash("abc", 3, 0) == 0x44bc2cf5ad770999u);
    for (int i = 0; i < N; i++)
        bytes[i] = (unsigned char)(i * 37 + i / 7);
    for (size_t n = 0; n <= N; n += 13)
        for (size_t step = 1; step < 70; step += 3) {
            kn_hashing h = kn_hashing_begin(5);
            for (size_t at = 0; at < n; at += step)
                kn_hashing_add(&h, bytes + at, n - at < step ? n - at : step);
            assert_true(kn_hashing_end(&h) == kn_hash(bytes, n, 5));
        }
}

/* Whatever was asked for, and however far it got, one call takes all of it back. */
static void an_arena_goes_all_at_once(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_arena arena = {0};
    size_t before = kn_memory_now(ctx);
    const char *text, *printed;
    double *d;
    float *f;
    ptrdiff_t *index;
    void *none = &arena;
    char given[] = "a text";
    assert_ok(ctx, kn_arena_d(ctx, &arena, 1000, &d));
    assert_ok(ctx, kn_arena_f(ctx, &arena, 3, &f));
    assert_ok(ctx, kn_arena_i(ctx, &arena, 5, &index));
    assert_ok(ctx, kn_arena_text(ctx, &arena, given, &text));
    assert_ok(ctx, kn_arena_print(ctx, &arena, &printed, "%s and %d", given, 17));
    assert_ok(ctx, kn_arena_alloc(ctx, &arena, 0, 8, &none));
    assert_null(none);
    for (int i = 0; i < 1000; i++)
        assert_true(d[i] == 0);
    assert_true((uintptr_t)d % _Alignof(max_align_t) == 0);
    given[0] = 'b'; /* it was copied */
    assert_string_equal(text, "a text");
    assert_string_equal(printed, "a text and 17");
    assert_ok(ctx, kn_arena_text(ctx, &arena, NULL, &text));
    assert_null(text);
    assert_refused(ctx, kn_arena_alloc(ctx, &arena, PTRDIFF_MAX / 4, 8, &none), KN_ERR_MEMORY,
                   "too many");
    assert_null(none);
    kn_fail_allocation(ctx, 1);
    assert_int_equal(kn_arena_d(ctx, &arena, 10, &d), KN_ERR_MEMORY);
    kn_fail_allocation(ctx, 0);
    assert_true(kn_memory_now(ctx) > before);
    kn_arena_clear(&arena);
    assert_true(kn_memory_now(ctx) == before);
    kn_arena_clear(&arena);
    kn_ctx_free(ctx);
}

static void a_grain_is_whole_and_worth_a_thread(void **state)
{
    (void)state;
    assert_int_equal(kn_chunk_size(64, 300), 53 * 64); /* one row of z: more than a block */
    assert_int_equal(kn_chunk_size(64, 300 * 200), 64);
    assert_int_equal(kn_chunk_size(256, 1000), 1024);
    assert_int_equal(kn_chunk_size(1, 0), 1000000);
    assert_int_equal(kn_chunk_size(16, PTRDIFF_MAX), 16);
}

/* Items that have been made; the one at `stop` asks for an end. */
typedef struct stopping {
    kn_ctx *ctx;
    ptrdiff_t stop;
    int visits[1000];
} stopping;

static void visit_and_stop(void *self, int worker, ptrdiff_t first, ptrdiff_t last)
{
    stopping *s = self;
    (void)worker;
    for (ptrdiff_t i = first; i < last; i++) {
        s->visits[i]++;
        if (i == s->stop)
            kn_cancel(s->ctx);
    }
}

static void a_loop_that_can_be_cancelled_reports_it(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int threads = 1; threads <= 4; threads++) {
        kn_set_threads(ctx, threads);
        for (ptrdiff_t stop = 100; stop <= 1000; stop += 900) {
            stopping s = {.ctx = ctx, .stop = stop};
            kn_status status = kn_parallel_or_stop(ctx, 1000, 7, visit_and_stop, &s);
            int made = 0;
            for (int i = 0; i < 1000; i++) {
                assert_true(s.visits[i] <= 1);
                made += s.visits[i];
            }
            assert_int_equal(status, stop < 1000 ? KN_ERR_CANCELLED : KN_OK);
            assert_true(stop < 1000 ? made > 100 && made < 1000 : made == 1000);
            if (stop < 1000)
                assert_string_equal(kn_message(ctx), "stopped on request");
            kn_cancel_clear(ctx);
        }
        stopping s = {.ctx = ctx, .stop = 999}; /* in the last chunk: all were begun */
        if (threads == 1)
            assert_ok(ctx, kn_parallel_or_stop(ctx, 1000, 7, visit_and_stop, &s));
        kn_cancel_clear(ctx);
    }
    assert_ok(ctx, kn_parallel_or_stop(ctx, 0, 7, visit_and_stop, NULL));
    kn_ctx_free(ctx);
}

typedef struct team_log {
    void *block[8];
    int threads[8];
    ptrdiff_t fails_from;
} team_log;

static kn_status team_item(kn_ctx *ctx, void *self, int worker, ptrdiff_t item)
{
    team_log *l = self;
    (void)worker;
    l->threads[item] = kn_threads(ctx);
    if (item >= l->fails_from)
        return kn_fail(ctx, KN_ERR_DATA, "item %td is wrong", item);
    return kn_alloc(ctx, 1000, 1, &l->block[item]);
}

static void workers_of_a_team_have_the_memory_and_the_stop_of_their_context(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    team_log log = {.fails_from = 8};
    kn_worker_pool team = {.workers = 2, .fn = team_item, .self = &log};
    kn_set_threads(ctx, 5);
    size_t before = kn_memory_now(ctx);
    assert_ok(ctx, kn_worker_pool_run(ctx, &team, 0, 8));
    assert_true(kn_memory_now(ctx) - before >= 8000);
    assert_int_equal(kn_threads(ctx), 5);
    for (int k = 0; k < 8; k++) {
        assert_int_equal(log.threads[k], 2); /* five among two */
        kn_free(log.block[k]);
    }
    assert_true(kn_memory_now(ctx) == before);
    for (long k = 1; k < 9; k++) {
        log = (team_log){.fails_from = 8};
        kn_fail_allocation(ctx, k);
        kn_status status = kn_worker_pool_run(ctx, &team, 0, 8);
        kn_fail_allocation(ctx, 0);
        assert_int_equal(status, KN_ERR_MEMORY);
        for (int i = 0; i < 8; i++)
            kn_free(log.block[i]);
    }
    log = (team_log){.fails_from = 0};
    team.workers = 1;
    assert_int_equal(kn_worker_pool_run(ctx, &team, 3, 5), KN_ERR_DATA);
    assert_string_equal(kn_message(ctx), "item 3 is wrong");
    kn_cancel(ctx);
    assert_int_equal(kn_worker_pool_run(ctx, &team, 0, 8), KN_ERR_CANCELLED);
    kn_ctx_free(ctx);
}

typedef struct nested {
    kn_worker_pool team; /* of a worker */
    team_log log;
    bool stops;
    kn_ctx *whole;
} nested;

static kn_status team_inside(kn_ctx *ctx, void *self, int worker, ptrdiff_t item)
{
    nested *n = self;
    (void)worker, (void)item;
    if (kn_memory(ctx) != 12345)
        return kn_fail(ctx, KN_ERR_ARGUMENT, "a worker has %zu bytes", kn_memory(ctx));
    if (n->stops)
        kn_cancel(n->whole);
    return kn_worker_pool_run(ctx, &n->team, 0, 8);
}

/* Both items are begun before either fails, the second first. */
static kn_status fail_together(kn_ctx *ctx, void *self, int worker, ptrdiff_t item)
{
    (void)worker;
    atomic_int *failed = self;
    atomic_fetch_add(failed, 1);
    while (atomic_load(failed) < 2 + (item == 0))
        sched_yield();
    kn_status status = kn_fail(ctx, KN_ERR_DATA, "item %td", item);
    atomic_fetch_add(failed, 1);
    return status;
}

static void the_sentence_of_a_team_is_that_of_the_lowest_item_that_failed(void **state)
{
    (void)state;
    atomic_int failed = 0;
    kn_ctx *ctx = kn_ctx_new();
    kn_worker_pool team = {.workers = 2, .fn = fail_together, .self = &failed};
    kn_set_threads(ctx, 2);
    for (int k = 0; k < 20; k++) {
        atomic_store(&failed, 0);
        assert_int_equal(kn_worker_pool_run(ctx, &team, 0, 2), KN_ERR_DATA);
        assert_string_equal(kn_message(ctx), "item 0");
    }
    kn_ctx_free(ctx);
}

static void a_team_inside_a_team_has_them_too(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    nested n = {.team = {.workers = 1, .fn = team_item}, .log = {.fails_from = 8}, .whole = ctx};
    kn_worker_pool team = {.workers = 1, .fn = team_inside, .self = &n};
    n.team.self = &n.log;
    kn_set_threads(ctx, 2);
    kn_set_memory(ctx, 12345);
    for (int run = 0; run < 3; run++) {
        n.stops = run == 2;
        kn_fail_allocation(ctx, run == 1 ? 5 : 0); /* two are the teams' */
        kn_status status = kn_worker_pool_run(ctx, &team, 0, 1);
        kn_fail_allocation(ctx, 0);
        assert_int_equal(status, run == 0 ? KN_OK : run == 1 ? KN_ERR_MEMORY : KN_ERR_CANCELLED);
        for (int i = 0; i < 8; i++) {
            assert_true((n.log.block[i] == NULL) == (run == 1 ? i >= 2 : run == 2));
            kn_free(n.log.block[i]);
            n.log.block[i] = NULL;
        }
    }
    kn_ctx_free(ctx);
}

TEST_PROGRAM(base)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_numbers_are_the_same_everywhere),
        cmocka_unit_test(hash_matches_the_published_values),
        cmocka_unit_test(a_checksum_does_not_depend_on_how_bytes_are_cut),
        cmocka_unit_test(an_arena_goes_all_at_once),
        cmocka_unit_test(normal_numbers_have_unit_moments),
        cmocka_unit_test(a_permutation_holds_every_index_once),
        cmocka_unit_test(an_impossible_size_is_a_sentence),
        cmocka_unit_test(the_peak_is_the_largest_number_of_bytes_in_use),
        cmocka_unit_test(a_block_may_outlive_its_context),
        cmocka_unit_test(threads_share_one_meter),
        cmocka_unit_test(a_view_reads_rows_columns_and_floats),
        cmocka_unit_test(a_parallel_loop_visits_every_item_once),
        cmocka_unit_test(a_grain_is_whole_and_worth_a_thread),
        cmocka_unit_test(a_loop_that_can_be_cancelled_reports_it),
        cmocka_unit_test(workers_of_a_team_have_the_memory_and_the_stop_of_their_context),
        cmocka_unit_test(a_team_inside_a_team_has_them_too),
        cmocka_unit_test(the_sentence_of_a_team_is_that_of_the_lowest_item_that_failed),
        cmocka_unit_test(no_two_threads_share_a_workers_number),
        cmocka_unit_test(default_threads_are_the_processors_that_are_allowed),
        cmocka_unit_test(default_threads_are_what_a_cgroup_pays_for),
        cmocka_unit_test(cancelling_is_seen_and_can_be_taken_back),
    };
    return cmocka_run_group_tests_name("base", tests, scratch_enter, scratch_leave);
}
