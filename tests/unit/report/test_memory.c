/* The memory that a page takes is said before anything is read for it, and no less than what is
 * then taken. */
#include "support/calls.h"
#include "support/folders.h"
#include "support/images.h"

#include "base/memory/alloc.h"
#include "base/random.h"
#include "commands/memory/memory_plan.h"
#include "report/internal.h"

static kn_ctx *ctx;

typedef struct trial {
    const char *name;
    ptrdiff_t N, n, T;      /* n 0: the page of a model alone */
    ptrdiff_t side;         /* of a cube of voxels, in the place of T columns */
    const char *fit, *page; /* further options */
} trial;

static const trial TRIALS[] = {
    {"few", 60, 20, 6, 0, "", ""},
    {"a model alone", 80, 0, 12, 0, "", ""},
    {"many responses", 40, 20, 3000, 0, "", ""},
    {"many people", 40, 500, 60, 0, "", ""},
    {"many in training", 500, 20, 20, 0, "", ""},
    {"labelled", 40, 120, 400, 0, "", "label"},
    {"many cards", 40, 80, 2000, 0, "", "people=60"},
    {"all shown", 60, 40, 100, 0, "", "show=r*"},
    {"each alone", 40, 30, 200, 0, "method=stgpr folds=3", ""},
    {"maps", 30, 8, 0, 11, "", ""},
};
enum { N_TRIALS = sizeof TRIALS / sizeof *TRIALS };

static void write_table(const char *path, const trial *t, ptrdiff_t n, uint64_t seed)
{
    kn_rng rng;
    FILE *f = fopen(path, "w");
    ref_rng_init(&rng, seed, 0);
    fputs("participant_id,age,sex,group", f);
    for (ptrdiff_t j = 0; j < t->T; j++)
        fprintf(f, ",r%td", j);
    for (ptrdiff_t i = 0; i < n; i++) {
        double age = 20 + 50 * kn_rng_uniform(&rng);
        fprintf(f, "\ns%d-%td,%.1f,%s,%s", (int)seed, i, age, i % 2 ? "M" : "F",
                i % 3 ? "control" : "patient");
        for (ptrdiff_t j = 0; j < t->T; j++)
            fprintf(f, ",%.4f", age / 20 * (double)(j % 3) + kn_rng_normal(&rng));
    }
    fputc('\n', f);
    assert_int_equal(fclose(f), 0);
}

/* One file of all participants. */
static void write_images(const char *path, const trial *t, ptrdiff_t n, uint64_t seed)
{
    static float value[IMAGE_ROOM / sizeof(float)];
    kn_rng rng;
    char one[64];
    FILE *list = fopen(path, "w");
    kn_nifti_header h = image_header(t->side, t->side, t->side);
    ref_rng_init(&rng, seed, 1);
    for (ptrdiff_t i = 0; i < n; i++) {
        ptrdiff_t voxels = t->side * t->side * t->side;
        for (ptrdiff_t v = 0; v < voxels; v++)
            value[v] = (float)(5 + kn_rng_normal(&rng));
        snprintf(one, sizeof one, "i%d-%td.nii", (int)seed, i);
        image_file(one, &h, 1, value, voxels);
        fprintf(list, "%s\n", one);
    }
    assert_int_equal(fclose(list), 0);
}

static void prepare(const trial *t)
{
    char options[512];
    const char *label = strcmp(t->page, "label") == 0 ? " cases=group=patient" : "";
    const char *train = "train.csv", *new = "new.csv";
    kn_model *model;
    kn_scores *scores;
    write_table("train.csv", t, t->N, 1);
    write_table("new.csv", t, t->n, 2);
    if (t->side > 0) {
        write_images("train.txt", t, t->N, 3);
        write_images("new.txt", t, t->n, 4);
        train = "train.txt", new = "new.txt";
    }
    snprintf(
        options, sizeof options,
        "covariates=train.csv responses=%s use=age,sex%s max_evals=2 output=model force=yes %s",
        train, t->side > 0 ? "" : " targets=r*", t->fit);
    assert_ok(ctx, fit_files(ctx, options, &model));
    kn_model_free(model);
    if (t->n == 0)
        return;
    snprintf(options, sizeof options,
             "model=model covariates=new.csv responses=%s output=scored force=yes%s", new, label);
    assert_ok(ctx, score_files(ctx, "score", options, 0, &scores));
    kn_scores_free(scores);
}

static kn_options *page_options(const trial *t, const char *more)
{
    char text[256];
    snprintf(text, sizeof text, "output=page.html force=yes %s %s%s",
             t->n > 0 ? "scored=scored" : "", strcmp(t->page, "label") == 0 ? "" : t->page, more);
    return options_of(ctx, "report", text);
}

/* Bytes beside the model: as taken, and as said. */
static void take(const trial *t, const kn_model *model, double *peak, double *said)
{
    kn_options *o = page_options(t, "");
    kn_settings s;
    kn_report *report;
    kn_mem_plan r = {0};
    kn_report_info info = {.size = sizeof info};
    assert_ok(ctx, kn_settings_of(ctx, o, "report", &s));
    kn_report_need(ctx, &s, model, &r);
    *said = kn_mem_usage_sum(&r.peak) - r.peak.bytes[KN_NEED_BASIS];
    kn_memory_peak_reset(ctx);
    double before = (double)kn_memory_now(ctx);
    assert_ok(ctx, kn_report_compute(ctx, model, o, &report));
    assert_ok(ctx, kn_report_write(ctx, report, o, &info));
    *peak = (double)kn_memory_peak(ctx) - before;
    kn_report_free(report);
    kn_options_free(o);
}

static void a_page_takes_at_most_the_predicted_memory_and_not_much_less(void **state)
{
    static const double MAX_COUNT = 2.2, SMALL = 1e6, PICTURE = 22e6; /* one of a million pixels */
    bool wrong = false;
    (void)state;
    for (int k = 0; k < N_TRIALS; k++) {
        const trial *t = &TRIALS[k];
        kn_model *model;
        double peak, said;
        prepare(t);
        assert_ok(ctx, kn_model_open(ctx, "model", &model));
        take(t, model, &peak, &said);
        bool bad = said < peak || said > MAX_COUNT * peak + SMALL + (t->side > 0 ? PICTURE : 0);
        if (bad || getenv("KN_SHOW"))
            print_message("%-20s said %.0f kB, taken %.0f kB, %.2f times\n", t->name, said / 1e3,
                          peak / 1e3, said / peak);
        wrong = wrong || bad;
        kn_model_free(model);
        folder_remove("scored");
    }
    assert_false(wrong);
}

static void a_page_beyond_the_limit_is_refused_before_it_begins(void **state)
{
    const trial *t = &TRIALS[0];
    kn_model *model;
    kn_report *report;
    (void)state;
    prepare(t);
    assert_ok(ctx, kn_model_open(ctx, "model", &model));
    kn_options *o = page_options(t, " memory=20M");
    kn_memory_peak_reset(ctx);
    size_t before = kn_memory_now(ctx);
    assert_refused(ctx, kn_report_compute(ctx, model, o, &report), KN_ERR_MEMORY,
                   ", but {memory} allows 20.0 MB");
    assert_null(report);
    assert_true(kn_memory_peak(ctx) - before < 64000); /* nothing was read */
    kn_options_free(o);
    o = page_options(t, " memory=2G");
    assert_ok(ctx, kn_report_compute(ctx, model, o, &report));
    kn_report_free(report);
    kn_options_free(o);
    kn_model_free(model);
    folder_remove("scored");
}

TEST_PROGRAM(report_memory)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_takes_at_most_the_predicted_memory_and_not_much_less),
        cmocka_unit_test(a_page_beyond_the_limit_is_refused_before_it_begins),
    };
    ctx = kn_ctx_new();
    kn_set_threads(ctx, 2);
    int failed = cmocka_run_group_tests_name("report_need", tests, scratch_enter, scratch_leave);
    kn_ctx_free(ctx);
    return failed;
}
