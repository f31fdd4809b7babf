/* Contexts in several threads: each gets the bits that it gets alone, and the host program's BLAS
 * stays as it was. Runs under ThreadSanitizer too. And what the number of threads may change. */
#include "support/test.h"
#include "support/views.h"

#include <cblas.h>
#include <pthread.h>

#include "base/random.h"

typedef struct outcome {
    void *model; /* its bytes */
    size_t n;
    kn_mat mean, var; /* of the training samples, as if new */
} outcome;

typedef struct job {
    kn_view X, Y;
    int threads;
    kn_settings s;
    int rounds;
    outcome *out; /* rounds */
    char why[256];
} job;

static void participants(ptrdiff_t N, ptrdiff_t T, uint64_t seed, kn_mat *X, kn_mat *Y)
{
    kn_rng rng;
    ref_rng_init(&rng, seed, 0);
    *X = ref_new(N, 2);
    *Y = ref_new(N, T);
    for (ptrdiff_t i = 0; i < N; i++) {
        double age = kn_rng_normal(&rng), shared = kn_rng_normal(&rng);
        kn_col(*X, 0)[i] = age;
        kn_col(*X, 1)[i] = kn_rng_uniform(&rng) < 0.5;
        for (ptrdiff_t j = 0; j < T; j++)
            kn_col(*Y, j)[i] = sin(age + 0.01 * (double)j) + 0.5 * shared + kn_rng_normal(&rng);
    }
}

static void outcome_clear(outcome *o)
{
    kn_bytes_free(o->model);
    free(o->mean.data);
    free(o->var.data);
}

static kn_status fit_and_predict(kn_ctx *ctx, const job *b, outcome *out)
{
    kn_status status;
    kn_model *model = NULL;
    kn_maps *maps = NULL;
    out->mean = ref_new(b->Y.rows, b->Y.cols);
    out->var = ref_new(b->Y.rows, b->Y.cols);
    KN_TRY(kn_fit_arrays(ctx, b->X, b->Y, &b->s, &model));
    KN_TRY(kn_model_to_bytes(ctx, model, &out->model, &out->n));
    KN_TRY(kn_maps_predict(ctx, model, b->X, &maps));
    KN_TRY(kn_maps_block(ctx, maps, 0, b->Y.cols, out->mean, out->var));
out:
    kn_maps_free(maps);
    kn_model_free(model);
    return status;
}

/* No assertions: they may not leave a thread. */
static void *work(void *self)
{
    job *b = self;
    kn_ctx *ctx = kn_ctx_new();
    kn_set_threads(ctx, b->threads);
    for (int k = 0; k < b->rounds; k++)
        if (fit_and_predict(ctx, b, &b->out[k]) != KN_OK)
            snprintf(b->why, sizeof b->why, "%s", kn_message(ctx));
    kn_ctx_free(ctx);
    return NULL;
}

static outcome alone(const job *b)
{
    job one = *b;
    outcome out = {0};
    one.rounds = 1;
    one.out = &out;
    work(&one);
    assert_string_equal(one.why, "");
    return out;
}

static bool same_values(kn_mat a, kn_mat b)
{
    return memcmp(a.data, b.data, (size_t)(a.rows * a.cols) * sizeof(double)) == 0;
}

static bool same_bits(const outcome *a, const outcome *b)
{
    return a->n == b->n && memcmp(a->model, b->model, a->n) == 0 && same_values(a->mean, b->mean) &&
           same_values(a->var, b->var);
}

static void two_contexts_at_once_get_the_bits_of_single_contexts(void **state)
{
    (void)state;
    enum { JOBS = 2, MAX_COUNT = 4 };
    kn_mat X[JOBS], Y[JOBS];
    outcome expected[JOBS], out[JOBS][MAX_COUNT] = {0};
    job jobs[JOBS] = {0};
    pthread_t thread[JOBS];
    int before = openblas_get_num_threads();
    for (int k = 0; k < JOBS; k++) {
        participants(repeat(280, 150), repeat(400, 150), 7 + (uint64_t)k, &X[k], &Y[k]);
        jobs[k].X = view(X[k]);
        jobs[k].Y = view(Y[k]);
        jobs[k].threads = k + 1; /* one asks for one BLAS thread, the other for two */
        jobs[k].rounds = repeat(MAX_COUNT, 2);
        jobs[k].out = out[k];
        plain_settings(&jobs[k].s);
        jobs[k].s.components = 4;
        jobs[k].s.folds = 3;
        jobs[k].s.noise = k == 0 ? KN_NOISE_STRUCTURED : KN_NOISE_ISO;
        jobs[k].s.sample_kernel = k == 0 ? "linear+se" : "linear+se+iso";
        expected[k] = alone(&jobs[k]);
    }
    for (int k = 0; k < JOBS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, work, &jobs[k]), 0);
    for (int k = 0; k < JOBS; k++)
        pthread_join(thread[k], NULL);
    for (int k = 0; k < JOBS; k++) {
        assert_string_equal(jobs[k].why, "");
        for (int r = 0; r < jobs[k].rounds; r++) {
            assert_true(same_bits(&out[k][r], &expected[k]));
            outcome_clear(&out[k][r]);
        }
        outcome_clear(&expected[k]);
        free(X[k].data);
        free(Y[k].data);
    }
    assert_int_equal(openblas_get_num_threads(), before);
}

/* R0 of low rank: no eigenproblem is large enough for the BLAS's own threads. */
static void low_rank_has_the_same_bytes_for_any_number_of_threads(void **state)
{
    (void)state;
    static const struct {
        int N, rank;                    /* 0: auto, which it is from 1000 samples on */
    } cases[] = {{240, 20}, {5001, 0}}; /* principal components by Gram matrix, by range finder */
    for (int c = 0; c < repeat(2, 1); c++) {
        kn_mat X, Y;
        outcome out[3] = {0};
        participants(cases[c].N, 60, 11, &X, &Y);
        for (int k = 0; k < 3; k++) {
            job b = {.X = view(X), .Y = view(Y), .threads = k + 1};
            plain_settings(&b.s);
            b.s.components = 3;
            b.s.rank = cases[c].rank;
            b.s.max_evals = 6;
            out[k] = alone(&b);
        }
        for (int k = 1; k < 3; k++)
            assert_true(same_bits(&out[0], &out[k]));
        for (int k = 0; k < 3; k++)
            outcome_clear(&out[k]);
        free(X.data);
        free(Y.data);
    }
}

/* Dense: eigenproblems of 300 run on the BLAS's threads. In units of the responses' sd, about 1.2.
 */
static void dense_predictions_agree_for_any_number_of_threads(void **state)
{
    (void)state;
    kn_mat X, Y;
    outcome out[2];
    participants(300, 60, 12, &X, &Y);
    for (int k = 0; k < 2; k++) {
        job b = {.X = view(X), .Y = view(Y), .threads = k + 1};
        plain_settings(&b.s);
        b.s.components = 3;
        b.s.folds = 0;
        b.s.max_evals = 1; /* rounding grows along a search: 6e-6 after six steps with one seed */
        out[k] = alone(&b);
    }
    assert_same(out[0].mean, out[1].mean, 1e-6);
    assert_same(out[0].var, out[1].var, 1e-6);
    for (int k = 0; k < 2; k++)
        outcome_clear(&out[k]);
    free(X.data);
    free(Y.data);
}

/* ---- one model, many threads ------------------------------------------------------------------
 */

enum { PARTICIPANTS = 60, RESPONSES = 30, SCORERS = 4 };

typedef struct scorer {
    const kn_model *model; /* everybody's */
    kn_view X, Y;
    int threads, rounds;
    float *z; /* of the last round */
    bool same;
    char why[256];
} scorer;

/* Of its own context and data; and what it reads of the model beside. */
static kn_status score_once(kn_ctx *ctx, scorer *b)
{
    kn_status status;
    kn_data *d = NULL;
    kn_scores *s = NULL;
    char *json = NULL;
    void *bytes = NULL;
    size_t n;
    KN_TRY(kn_data_new(ctx, b->Y.rows, &d));
    KN_TRY(kn_data_numbers(ctx, d, "age", b->X.data, 1));
    KN_TRY(kn_data_responses(ctx, d, b->Y, NULL));
    KN_TRY(kn_score(ctx, b->model, d, NULL, &s));
    KN_TRY(kn_model_json(ctx, b->model, &json));
    KN_TRY(kn_model_to_bytes(ctx, b->model, &bytes, &n));
    kn_view z = kn_scores_array(s, "z");
    size_t size = (size_t)(z.rows * z.cols) * sizeof *b->z;
    b->same = b->same && memcmp(b->z, z.data, size) == 0;
    memcpy(b->z, z.data, size);
out:
    kn_bytes_free(bytes);
    kn_text_free(json);
    kn_scores_free(s);
    kn_data_free(d);
    return status;
}

static void *score_some(void *self)
{
    scorer *b = self;
    kn_ctx *ctx = kn_ctx_new();
    kn_set_threads(ctx, b->threads);
    for (int k = 0; k < b->rounds; k++)
        if (score_once(ctx, b) != KN_OK)
            snprintf(b->why, sizeof b->why, "%s", kn_message(ctx));
    kn_ctx_free(ctx);
    return NULL;
}

static kn_model *shared_model(kn_ctx *ctx, kn_view X, kn_view Y)
{
    kn_data *d;
    kn_options *o;
    kn_model *m;
    assert_ok(ctx, kn_data_new(ctx, Y.rows, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", X.data, 1));
    assert_ok(ctx, kn_data_responses(ctx, d, Y, NULL));
    assert_ok(ctx, kn_options_new(ctx, "fit", &o));
    assert_ok(ctx, kn_options_set(ctx, o, "folds", "3"));
    assert_ok(ctx, kn_fit(ctx, d, o, &m));
    kn_options_free(o);
    kn_data_free(d);
    return m;
}

static void threads_with_one_model_get_the_z_of_a_single_thread(void **state)
{
    (void)state;
    kn_mat X, Y;
    kn_ctx *ctx = kn_ctx_new();
    scorer scorers[SCORERS];
    pthread_t thread[SCORERS];
    participants(PARTICIPANTS, RESPONSES, 21, &X, &Y);
    kn_model *m = shared_model(ctx, view(X), view(Y));
    for (int k = 0; k < SCORERS; k++) { /* parts of them, all of different participants */
        ptrdiff_t n = PARTICIPANTS / SCORERS;
        scorers[k] = (scorer){.model = m,
                              .X = view(kn_sub(X, k * n, 0, n, 1)),
                              .Y = {kn_col(Y, 0) + k * n, KN_F64, n, RESPONSES, 1, Y.ld},
                              .threads = 1 + k % 2,
                              .rounds = 1,
                              .z = calloc((size_t)(n * RESPONSES), sizeof(float))};
        score_some(&scorers[k]);
        assert_string_equal(scorers[k].why, "");
        scorers[k].same = true;
        scorers[k].rounds = repeat(20, 5);
    }
    for (int k = 0; k < SCORERS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, score_some, &scorers[k]), 0);
    for (int k = 0; k < SCORERS; k++)
        pthread_join(thread[k], NULL);
    for (int k = 0; k < SCORERS; k++) {
        assert_string_equal(scorers[k].why, "");
        assert_true(scorers[k].same);
        free(scorers[k].z);
    }
    kn_model_free(m);
    kn_ctx_free(ctx);
    free(X.data), free(Y.data);
}

TEST_PROGRAM(base_contexts)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_contexts_at_once_get_the_bits_of_single_contexts),
        cmocka_unit_test(low_rank_has_the_same_bytes_for_any_number_of_threads),
        cmocka_unit_test(dense_predictions_agree_for_any_number_of_threads),
        cmocka_unit_test(threads_with_one_model_get_the_z_of_a_single_thread),
    };
    return cmocka_run_group_tests_name("contexts", tests, NULL, NULL);
}
