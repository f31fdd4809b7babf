/* Host programs fork: a child fits and scores as its parent did, byte for byte, whether the parent
 * had fitted before, or other threads of it were fitting at that moment. */
#include "support/calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash/xxh64.h"
#include "base/random.h"
#include "la/openblas.h"

enum { N = 320, T = 40, THREADS = 2 }; /* eigenproblems of 320 are for the BLAS's own threads */
enum { PATIENCE = 120 };               /* seconds that a child may take before it is killed */

static double age[N], Y[N * T];

static void make_participants(void)
{
    kn_rng rng;
    ref_rng_init(&rng, 6, 0);
    for (int i = 0; i < N; i++) {
        double shared = kn_rng_normal(&rng);
        age[i] = 20 + 60 * kn_rng_uniform(&rng);
        for (int j = 0; j < T; j++)
            Y[i * T + j] = 0.02 * age[i] * (j % 4) + shared * (j % 3) + kn_rng_normal(&rng);
    }
}

typedef struct outcome {
    kn_status status;
    uint64_t model, z; /* hashes of their bytes */
} outcome;

/* No assertions: it runs in threads and in children. */
static outcome fit_and_score(const kn_model *given)
{
    kn_status status;
    outcome out = {0};
    kn_ctx *ctx = kn_ctx_new();
    kn_data *d = NULL;
    kn_options *o = NULL;
    kn_model *m = NULL;
    kn_scores *s = NULL;
    void *bytes = NULL;
    size_t n = 0;
    kn_set_threads(ctx, THREADS);
    KN_TRY(kn_data_new(ctx, N, &d));
    KN_TRY(kn_data_numbers(ctx, d, "age", age, 1));
    KN_TRY(kn_data_responses(ctx, d, kn_view_rows(Y, N, T), NULL));
    KN_TRY(kn_options_new(ctx, "fit", &o));
    KN_TRY(kn_options_set(ctx, o, "components", "2"));
    KN_TRY(kn_options_set(ctx, o, "folds", "3"));
    if (!given)
        KN_TRY(kn_fit(ctx, d, o, &m));
    KN_TRY(kn_model_to_bytes(ctx, given ? given : m, &bytes, &n));
    out.model = kn_hash(bytes, n, 0);
    KN_TRY(kn_score(ctx, given ? given : m, d, NULL, &s));
    out.z = kn_hash(kn_scores_array(s, "z").data, sizeof(float) * N * T, 0);
out:
    out.status = status;
    kn_bytes_free(bytes);
    kn_scores_free(s);
    kn_model_free(m);
    kn_options_free(o);
    kn_data_free(d);
    kn_ctx_free(ctx);
    return out;
}

/* What a child finds, with a model of its parent's or by a fit of its own. */
static outcome in_a_child(const kn_model *given)
{
    int pipes[2], how;
    outcome out = {.status = KN_ERR_IO};
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(PATIENCE);
        out = fit_and_score(given);
        _exit(write(pipes[1], &out, sizeof out) == sizeof out ? 0 : 1);
    }
    close(pipes[1]);
    ssize_t got = read(pipes[0], &out, sizeof out);
    close(pipes[0]);
    assert_int_equal(waitpid(child, &how, 0), child);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0 || got != sizeof out)
        fail_msg("the child ended by signal %d", WIFSIGNALED(how) ? WTERMSIG(how) : 0);
    return out;
}

static void assert_outcome(outcome expected, outcome out)
{
    assert_int_equal(out.status, KN_OK);
    assert_true(out.model == expected.model);
    assert_true(out.z == expected.z);
}

static void a_child_fits_and_scores_as_its_parent_did(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_data *d;
    kn_model *m;
    kn_options *o = options_of(ctx, "fit", "components=2 folds=3");
    kn_set_threads(ctx, THREADS);
    assert_ok(ctx, kn_data_new(ctx, N, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", age, 1));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(Y, N, T), NULL));
    assert_ok(ctx, kn_fit(ctx, d, o, &m));
    outcome expected = fit_and_score(NULL);
    assert_int_equal(expected.status, KN_OK);
    assert_outcome(expected, in_a_child(NULL));
    assert_outcome(expected, in_a_child(m)); /* a model of before */
    assert_outcome(expected, fit_and_score(NULL));
    kn_model_free(m);
    kn_options_free(o);
    kn_data_free(d);
    kn_ctx_free(ctx);
}

/* Not with gcc 12's address sanitizer: its allocator takes no notice of forks, and a child waits
 * for ever for a lock of it that another thread held. glibc's allocator and clang's later ones do.
 */
#ifndef __SANITIZE_ADDRESS__
typedef struct busy {
    atomic_bool stop;
    atomic_int rounds, wrong;
    outcome expected;
} busy;

static void *keep_fitting(void *self)
{
    busy *b = self;
    while (!atomic_load(&b->stop)) {
        outcome out = fit_and_score(NULL);
        if (out.status != KN_OK || out.model != b->expected.model || out.z != b->expected.z)
            atomic_fetch_add(&b->wrong, 1);
        atomic_fetch_add(&b->rounds, 1);
    }
    return NULL;
}

/* Some of these moments are inside the BLAS, where another thread will never leave in the child. */
static void a_child_is_free_of_what_other_threads_were_doing(void **state)
{
    (void)state;
    enum { BUSY = 2 };
    static busy b; /* not of this frame, which a failing assertion leaves */
    pthread_t thread[BUSY];
    b.expected = fit_and_score(NULL);
    for (int k = 0; k < BUSY; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, keep_fitting, &b), 0);
    while (atomic_load(&b.rounds) == 0)
        usleep(1000);
    for (int k = 0; k < repeat(12, 4); k++) {
        usleep(1000 * (unsigned)(7 * k % 23));
        assert_outcome(b.expected, in_a_child(NULL));
    }
    atomic_store(&b.stop, true);
    for (int k = 0; k < BUSY; k++)
        pthread_join(thread[k], NULL);
    assert_int_equal(atomic_load(&b.wrong), 0);
}

#endif

/* The section is the child's too, and both go on. */
static void a_fork_inside_a_section_does_not_wait_for_it(void **state)
{
    (void)state;
    int how;
    kn_blas_begin(1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        alarm(PATIENCE);
    for (int k = 0; k < 3; k++) {
        kn_blas_end();
        kn_blas_begin(1 + k % 2);
    }
    kn_blas_end();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
}

TEST_PROGRAM(base_fork)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_fits_and_scores_as_its_parent_did),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(a_child_is_free_of_what_other_threads_were_doing),
#endif
        cmocka_unit_test(a_fork_inside_a_section_does_not_wait_for_it),
    };
    make_participants();
    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
