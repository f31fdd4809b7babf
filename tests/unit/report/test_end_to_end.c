/* The page from end to end by the public calls: the same bytes on every run and with however
 * many threads; and where memory ends, or a participant has had enough, nothing is left of it. */
#include <pthread.h>

#include "support/calls.h"
#include "support/failing.h"
#include "support/folders.h"

#include "base/context.h"
#include "base/random.h"

static kn_ctx *ctx;
static kn_model *model;

enum { N = 40, NEW = 12, T = 5 };

static void write_participants(const char *path, ptrdiff_t n, uint64_t seed)
{
    kn_rng rng;
    FILE *f = fopen(path, "w");
    ref_rng_init(&rng, seed, 0);
    fputs("participant_id,age,sex,group,lh_insula_thickness,rh_insula_thickness,a,b,c\n", f);
    for (ptrdiff_t i = 0; i < n; i++) {
        double age = 20 + 50 * kn_rng_uniform(&rng);
        fprintf(f, "s%d-%td,%.1f,%s,%s", (int)seed, i, age, i % 2 ? "M" : "F",
                i % 3 ? "control" : "patient");
        for (int j = 0; j < T; j++)
            fprintf(f, ",%.4f", age / 20 + kn_rng_normal(&rng));
        fputc('\n', f);
    }
    fclose(f);
}

static int prepare(void **state)
{
    kn_data *data;
    kn_scores *scores;
    if (scratch_enter(state) != 0)
        return -1;
    write_participants("train.csv", N, 1);
    write_participants("new.csv", NEW, 2);
    assert_ok(ctx, fit_files(ctx,
                             "covariates=train.csv responses=train.csv use=age,sex "
                             "targets=?h_*,a,b,c",
                             &model));
    kn_options *o =
        options_of(ctx, "score",
                   "covariates=new.csv responses=new.csv cases=group=patient output=scored");
    assert_ok(ctx, kn_data_read(ctx, o, &data));
    assert_ok(ctx, kn_score(ctx, model, data, o, &scores));
    kn_scores_free(scores);
    kn_data_free(data);
    kn_options_free(o);
    return 0;
}

static int clear(void **state)
{
    folder_remove("scored");
    kn_model_free(model);
    return scratch_leave(state);
}

/* Page, figures and JSON. */
static kn_status whole(kn_ctx *c, const char *text, bool stop)
{
    kn_status status;
    kn_report *report = NULL;
    const char *json;
    char words[256];
    kn_report_info info = {.size = sizeof info};
    snprintf(words, sizeof words, "scored=scored title=t %s", text);
    kn_options *o = options_of(ctx, "report", words); /* by the context that nothing fails in */
    KN_TRY(kn_report_compute(c, model, o, &report));
    KN_TRY(kn_report_json(c, report, &json));
    assert_true(strlen(json) > 1000);
    if (stop)
        kn_cancel(c);
    KN_TRY(kn_report_write(c, report, o, &info));
    assert_int_equal(info.participants, NEW);
    assert_int_equal(info.responses, T);
out:
    kn_report_free(report);
    kn_options_free(o);
    return status;
}

static void forget(void)
{
    folder_remove("figures");
    unlink("page.html");
}

static void a_run_that_is_stopped_leaves_nothing(void **state)
{
    (void)state;
    const int files = scratch_count();
    kn_ctx *c = kn_ctx_new();
    assert_int_equal(whole(c, "output=page.html", true), KN_ERR_CANCELLED);
    assert_int_equal(whole(c, "output=page.html", false), KN_ERR_CANCELLED); /* still */
    kn_cancel_clear(c);
    assert_int_equal(whole(c, "figures=figures", true), KN_ERR_CANCELLED);
    kn_cancel_clear(c);
    assert_int_equal(whole(c, "figures=figures output=page.html", true), KN_ERR_CANCELLED);
    assert_int_equal(scratch_count(), files);
    kn_ctx_free(c);
}

typedef struct job {
    const char *dir;
    int threads;
    kn_status status;
} job;

/* In a folder of its own, whose name is not in the page: the command line of it says report.html.
 */
static void *work(void *of)
{
    job *j = of;
    kn_report *report = NULL;
    kn_ctx *c = kn_ctx_new();
    char text[256];
    snprintf(text, sizeof text, "figures=%s output=%s/report.html scored=scored", j->dir, j->dir);
    kn_options *o = NULL;
    kn_set_threads(c, j->threads);
    j->status = kn_options_new(c, "report", &o);
    for (char *save, *w = strtok_r(text, " ", &save); w && j->status == KN_OK;
         w = strtok_r(NULL, " ", &save)) {
        char *value = strchr(w, '=');
        *value = '\0';
        j->status = kn_options_set(c, o, w, value + 1);
    }
    if (j->status == KN_OK)
        j->status = kn_report_compute(c, model, o, &report);
    if (j->status == KN_OK)
        j->status = kn_report_write(c, report, o, NULL);
    kn_report_free(report);
    kn_options_free(o);
    kn_ctx_free(c);
    return NULL;
}

static size_t read_without(const char *path, const char *dir, char *bytes, size_t room)
{
    size_t n = scratch_read(path, bytes, room - 1), cut = strlen(dir);
    bytes[n] = '\0';
    for (char *at = bytes; (at = strstr(at, dir));) {
        memmove(at, at + cut, n - (size_t)(at - bytes) - cut + 1);
        n -= cut;
    }
    return n;
}

static void two_contexts_make_the_same_bytes(void **state)
{
    (void)state;
    enum { JOBS = 3, ROOM = 1 << 21 };
    job jobs[JOBS] = {{"made-a", 1, KN_OK}, {"made-b", 1, KN_OK}, {"made-c", 2, KN_OK}};
    pthread_t thread[JOBS];
    char *page[2] = {malloc(ROOM), malloc(ROOM)};
    for (int k = 0; k < JOBS; k++)
        assert_int_equal(pthread_create(&thread[k], NULL, work, &jobs[k]), 0);
    for (int k = 0; k < JOBS; k++)
        pthread_join(thread[k], NULL);
    for (int k = 0; k < JOBS; k++) {
        char path[64];
        assert_int_equal(jobs[k].status, KN_OK);
        snprintf(path, sizeof path, "%s/report.html", jobs[k].dir);
        size_t n = read_without(path, jobs[k].dir, page[k > 0], ROOM);
        assert_true(n > 10000 && n < ROOM - 1);
        unlink(path);
        if (k > 0) {
            assert_string_equal(page[0], page[1]);
            assert_true(folder_compare(jobs[0].dir, jobs[k].dir) > 20);
        }
    }
    for (int k = 0; k < JOBS; k++)
        folder_remove(jobs[k].dir);
    free(page[0]), free(page[1]);
}

static int open_fixture(void **state)
{
    ctx = kn_ctx_new();
    return prepare(state);
}

static int close_fixture(void **state)
{
    int status = clear(state);
    kn_ctx_free(ctx);
    return status;
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(report_end_to_end, open_fixture, close_fixture)
{
    const int files = scratch_count();
    long k = 0, tries = 0;
    kn_status status = KN_ERR_MEMORY;
    kn_ctx *c = kn_ctx_new();
    kn_set_threads(c, 1);
    while (status == KN_ERR_MEMORY && tries < 20000) { /* the sanitizer run looks for leaks */
        const size_t before = kn_memory_now(c);
        k += getenv("KN_EVERY") || k < 50 ? 1 : 1 + k / 23; /* every one takes minutes */
        tries++;
        kn_fail_allocation(c, k);
        status = whole(c, "figures=figures output=page.html", false);
        assert_true(kn_memory_now(c) == before);
        if (status != KN_OK)
            assert_int_equal(scratch_count(), files);
    }
    kn_fail_allocation(c, 0);
    assert_int_equal(status, KN_OK);
    assert_true(k > 500);
    kn_ctx_free(c);
    forget();
}

TEST_PROGRAM(report_end_to_end)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_is_stopped_leaves_nothing),
        cmocka_unit_test(two_contexts_make_the_same_bytes),
    };
    return cmocka_run_group_tests_name("report_whole", tests, open_fixture, close_fixture);
}
