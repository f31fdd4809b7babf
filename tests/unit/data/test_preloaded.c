/* Some of the participants of data that are read once: their fit and scores are, to the byte, those
 * of files that hold no other participant. */
#include "support/calls.h"
#include "support/failing.h"
#include "support/folders.h"
#include "support/images.h"
#include "support/same_model.h"

#include "base/random.h"
#include "commands/fit/fit.h"
#include "data/preloaded.h"
#include "io/npy/npy.h"

static kn_ctx *ctx;

enum { N = 48, T = 30, FLAT = 7 };

typedef enum kind { TABLE, ONE_TABLE, ARRAY, IMAGES, MEMORY, KINDS } kind;

static const char *const RESPONSES[] = {"%s_y.csv", "%s_x.csv", "%s_y.npy", "%s_y.nii", NULL};

static double age[N], Y[N][T]; /* FLAT varies among the left-out only */
static bool in_part[N];

static void make_participants(void)
{
    kn_rng rng;
    ref_rng_init(&rng, 11, 0);
    for (int i = 0; i < N; i++) {
        age[i] = 20 + 60 * kn_rng_uniform(&rng);
        in_part[i] = i % 5 != 2 && i != 30;
        double shared = kn_rng_normal(&rng);
        for (int j = 0; j < T; j++) {
            Y[i][j] = 50 + 0.05 * age[i] * (j % 3) + shared + kn_rng_normal(&rng);
            Y[i][j] = (double)(float)Y[i][j];
        }
        if (in_part[i])
            Y[i][FLAT] = 3;
    }
}

/* The file of the part has no flat voxel in its mask unless a mask says so. */
static void write_mask(void)
{
    kn_nifti_header h = image_header(T, 1, 1);
    float one[T];
    for (int j = 0; j < T; j++)
        one[j] = 1;
    image_file("mask.nii", &h, 1, one, T);
}

/* NAME_x.csv, NAME_y.csv, .npy, .nii of some participants, the rows of the responses turned round.
 */
static void write_files(const char *name, const bool *use)
{
    static float all[N * T];
    char path[64];
    int n = 0;
    snprintf(path, sizeof path, "%s_x.csv", name);
    FILE *x = fopen(path, "w");
    snprintf(path, sizeof path, "%s_y.csv", name);
    FILE *y = fopen(path, "w");
    assert_true(x && y);
    fprintf(x, "participant_id,age,site");
    fprintf(y, "participant_id");
    for (int j = 0; j < T; j++) {
        fprintf(x, ",r%d", j);
        fprintf(y, ",r%d", j);
    }
    fprintf(x, "\n");
    fprintf(y, "\n");
    for (int i = 0; i < N; i++) {
        if (use && !use[i])
            continue;
        fprintf(x, "p%02d,%.3f,%c", i, age[i], "ABC"[i % 3]);
        for (int j = 0; j < T; j++) {
            fprintf(x, ",%.9g", Y[i][j]);
            all[n * T + j] = (float)Y[i][j];
        }
        fprintf(x, "\n");
        n++;
    }
    for (int i = N - 1; i >= 0; i--) {
        if (use && !use[i])
            continue;
        fprintf(y, "p%02d", i);
        for (int j = 0; j < T; j++)
            fprintf(y, ",%.9g", Y[i][j]);
        fprintf(y, "\n");
    }
    assert_true(fclose(x) == 0 && fclose(y) == 0);
    kn_nifti_header h = image_header(T, 1, 1);
    snprintf(path, sizeof path, "%s_y.nii", name);
    image_file(path, &h, n, all, n * T);
    snprintf(path, sizeof path, "%s_y.npy", name);
    assert_ok(ctx, kn_npy_write(ctx, path, kn_view_rows_f32(all, n, T), KN_F32,
                                &(kn_write_options){.force = true}));
}

static char options_text[512];

/* Options of fit without files; of tables the columns need distinct names. */
static const char *model_options(kind k)
{
    snprintf(options_text, sizeof options_text, "use=age,site folds=4 components=3%s",
             k <= ONE_TABLE ? " targets=r*" : "");
    return options_text;
}

static kn_data *read_files(kind k, const char *name)
{
    char text[256], path[64];
    kn_data *data;
    snprintf(path, sizeof path, RESPONSES[k], name);
    snprintf(text, sizeof text, "covariates=%s_x.csv responses=%s%s%s", name, path,
             k == IMAGES ? " mask=mask.nii" : "", k <= ONE_TABLE ? " targets=r*" : "");
    kn_options *o = options_of(ctx, "fit", text);
    assert_ok(ctx, kn_data_read(ctx, o, &data));
    kn_options_free(o);
    return data;
}

/* The caller's own values, which may not change. */
static double given[N * T];

static kn_data *from_memory(const bool *use)
{
    static double ages[N];
    const char *ids[N], *sites[N];
    static char id[N][8], site[N][2];
    static double part[N * T];
    kn_data *data;
    ptrdiff_t n = 0;
    double *values = use ? part : given;
    for (int i = 0; i < N; i++) {
        if (use && !use[i])
            continue;
        snprintf(id[n], sizeof id[n], "p%02d", i);
        snprintf(site[n], sizeof site[n], "%c", "ABC"[i % 3]);
        ids[n] = id[n];
        sites[n] = site[n];
        ages[n] = age[i];
        memcpy(values + n++ * T, Y[i], sizeof Y[i]);
    }
    assert_ok(ctx, kn_data_new(ctx, n, &data));
    assert_ok(ctx, kn_data_ids(ctx, data, ids));
    assert_ok(ctx, kn_data_numbers(ctx, data, "age", ages, 1));
    assert_ok(ctx, kn_data_texts(ctx, data, "site", sites));
    assert_ok(ctx, kn_data_responses(ctx, data, kn_view_rows(values, n, T), NULL));
    return data;
}

static kn_data *data_of(kind k, const bool *use)
{
    return k == MEMORY ? from_memory(use) : read_files(k, use ? "some" : "all");
}

static void fit(kn_data *data, kind k, const char *path, kn_model **model)
{
    char text[600];
    snprintf(text, sizeof text, "%s output=%s force=yes", model_options(k), path);
    kn_options *o = options_of(ctx, "fit", text);
    assert_ok(ctx, kn_fit(ctx, data, o, model));
    kn_options_free(o);
}

static kn_scores *score(kn_data *data, const kn_model *model)
{
    kn_options *o = options_of(ctx, "score", "write=z");
    kn_scores *scores;
    assert_ok(ctx, kn_score(ctx, model, data, o, &scores));
    kn_options_free(o);
    return scores;
}

static void assert_same_files(const char *a, const char *b)
{
    enum { CAPACITY = 1 << 20 };
    static char x[CAPACITY], y[CAPACITY];
    size_t n = scratch_read(a, x, CAPACITY), m = scratch_read(b, y, CAPACITY);
    assert_true(n > 0 && n < CAPACITY);
    assert_same_model(x, n, y, m);
}

static void assert_same_z(const kn_scores *a, const kn_scores *b)
{
    ptrdiff_t n = kn_scores_n_participants(a);
    kn_mat x = ref_new(n, T), y = ref_new(n, T);
    assert_int_equal(kn_scores_n_participants(b), n);
    assert_ok(ctx, kn_scores_block(ctx, a, "z", 0, T, x));
    assert_ok(ctx, kn_scores_block(ctx, b, "z", 0, T, y));
    assert_memory_equal(x.data, y.data, (size_t)(n * T) * sizeof(double));
    for (ptrdiff_t i = 0; i < n; i++) {
        assert_string_equal(kn_scores_ids(a)[i], kn_scores_ids(b)[i]);
        assert_true(isnan(x.data[i + FLAT * n]) && isfinite(x.data[i]));
    }
    free(x.data), free(y.data);
}

static kn_status in_file(const kn_memory_policy *self, kn_ctx *c, const kn_response_shape *s,
                         bool at_least, bool *file)
{
    (void)self, (void)c, (void)s, (void)at_least;
    *file = true;
    return KN_OK;
}

/* As one of the kinds, in memory or in a scratch file. */
static kn_preloaded *hold(kn_data *data, kind k, bool scratch)
{
    kn_preloaded *preloaded;
    kn_settings s;
    kn_options *o = options_of(ctx, "fit", model_options(k));
    kn_memory_policy policy = {.choose_storage = in_file, .bytes = 1e6, .scratch = scratch_dir};
    assert_ok(ctx, kn_settings_of(ctx, o, "fit", &s));
    if (scratch)
        assert_ok(ctx, kn_data_preload(ctx, data, &s, &policy, &preloaded));
    else
        assert_ok(ctx, kn_preload_for_fit(ctx, data, o, 0, &preloaded));
    kn_options_free(o);
    return preloaded;
}

static void a_subset_is_fitted_and_scored_like_data_of_its_own(void **state)
{
    (void)state;
    bool others[N];
    for (int i = 0; i < N; i++)
        others[i] = !in_part[i];
    for (int k = 0; k < KINDS; k++)
        for (int scratch = 0; scratch < 2; scratch++) {
            write_files("all", NULL);
            write_files("some", in_part);
            kn_data *some = data_of((kind)k, in_part), *part, *rest, *left;
            kn_model *alone, *preloaded_model;
            fit(some, (kind)k, "alone.safetensors", &alone);
            write_files("some", others);
            left = data_of((kind)k, others);
            kn_scores *expected = score(left, alone);
            kn_data *all = data_of((kind)k, NULL);
            kn_preloaded *preloaded = hold(all, (kind)k, scratch);
            assert_int_equal(kn_preloaded_sample(preloaded)->n, N);
            remove("all_y.csv"), remove("all_y.npy"), remove("all_y.nii"); /* not read again */
            assert_ok(ctx, kn_data_subset_new(ctx, preloaded, in_part, &part));
            assert_ok(ctx, kn_data_subset_new(ctx, preloaded, others, &rest));
            for (int round = 0; round < 2; round++) { /* in turn: rows move to and fro */
                fit(part, (kind)k, "held.safetensors", &preloaded_model);
                assert_same_files("alone.safetensors", "held.safetensors");
                kn_scores *scores = score(rest, preloaded_model);
                assert_same_z(scores, expected);
                kn_scores_free(scores);
                kn_model_free(preloaded_model);
            }
            for (int i = 0; k == MEMORY && i < N; i++)
                assert_memory_equal(given + i * T, Y[i], sizeof Y[i]);
            kn_scores_free(expected);
            kn_data_free(part), kn_data_free(rest), kn_preloaded_free(preloaded);
            kn_data_free(all), kn_data_free(some), kn_data_free(left);
            kn_model_free(alone);
        }
}

static void a_participant_outside_every_job_part_has_a_reason(void **state)
{
    (void)state;
    bool nobody[N] = {false};
    write_files("all", NULL);
    kn_data *all = data_of(TABLE, NULL), *part;
    kn_preloaded *preloaded = hold(all, TABLE, false);
    assert_ok(ctx, kn_data_subset_new(ctx, preloaded, in_part, &part));
    assert_int_equal(kn_data_count(part), 37);
    for (int i = 0; i < N; i++)
        assert_int_equal(part->left[i], in_part[i] ? KN_LEFT_NOT : KN_LEFT_BY_FOLD);
    assert_refused(ctx, kn_data_numbers(ctx, part, "x", age, 1), KN_ERR_ARGUMENT,
                   "data from files cannot be combined with data from memory");
    kn_data_free(part);
    assert_refused(ctx, kn_data_subset_new(ctx, preloaded, nobody, &part), KN_ERR_DATA,
                   "all_x.csv: none of 48 participants is left");
    assert_null(part);
    kn_preloaded_free(preloaded);
    kn_data_free(all);
}

/* A model whose responses are others is refused before its maps are mixed up with these. */
static void another_space_is_refused(void **state)
{
    (void)state;
    write_files("all", NULL);
    kn_data *all = data_of(TABLE, NULL), *part;
    kn_data *array = data_of(ARRAY, NULL);
    kn_model *model;
    fit(array, ARRAY, "other.safetensors", &model);
    kn_preloaded *preloaded = hold(all, TABLE, false);
    assert_ok(ctx, kn_data_subset_new(ctx, preloaded, in_part, &part));
    kn_options *o = options_of(ctx, "score", "write=z");
    kn_scores *scores;
    assert_refused(ctx, kn_score(ctx, model, part, o, &scores), KN_ERR_SHAPE,
                   "is a table, but the model was trained on an array");
    kn_options_free(o);
    kn_data_free(part), kn_preloaded_free(preloaded), kn_data_free(all), kn_data_free(array);
    kn_model_free(model);
}

/* All values are in memory while some are fitted: that is counted, and refused with its sentence.
 */
static void memory_of_all_ranks_is_counted(void **state)
{
    (void)state;
    write_files("all", NULL);
    kn_data *all = data_of(MEMORY, NULL), *part;
    kn_preloaded *preloaded;
    kn_model *model;
    kn_options *o = options_of(ctx, "fit", model_options(MEMORY));
    assert_refused(ctx, kn_preload_for_fit(ctx, all, o, 1e15, &preloaded), KN_ERR_MEMORY,
                   "this fit needs");
    assert_null(preloaded);
    assert_ok(ctx, kn_preload_for_fit(ctx, all, o, 0, &preloaded));
    assert_ok(ctx, kn_data_subset_new(ctx, preloaded, in_part, &part));
    assert_ok(ctx, kn_options_set(ctx, o, "memory", "1M"));
    assert_refused(ctx, kn_fit(ctx, part, o, &model), KN_ERR_MEMORY, "this fit needs");
    kn_options_free(o);
    kn_data_free(part), kn_preloaded_free(preloaded), kn_data_free(all);
}

static int enter(void **state)
{
    if (scratch_enter(state) != 0 || !(ctx = kn_ctx_new()))
        return -1;
    make_participants();
    write_mask();
    return 0;
}

static int leave(void **state)
{
    kn_ctx_free(ctx);
    return scratch_leave(state);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(data_preloaded, enter, leave)
{
    write_files("all", NULL);
    kn_data *all = data_of(TABLE, NULL);
    kn_options *o = options_of(ctx, "fit", model_options(TABLE));
    kn_status status = KN_ERR_MEMORY;
    for (long k = 1; status != KN_OK; k++) {
        kn_preloaded *preloaded = NULL;
        kn_data *part = NULL;
        kn_fail_allocation(ctx, k);
        status = kn_preload_for_fit(ctx, all, o, 0, &preloaded);
        if (status == KN_OK)
            status = kn_data_subset_new(ctx, preloaded, in_part, &part);
        kn_fail_allocation(ctx, 0);
        assert_true(status == KN_OK || status == KN_ERR_MEMORY);
        kn_data_free(part);
        kn_preloaded_free(preloaded);
    }
    kn_options_free(o);
    kn_data_free(all);
}

TEST_PROGRAM(data_preloaded)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_subset_is_fitted_and_scored_like_data_of_its_own),
        cmocka_unit_test(a_participant_outside_every_job_part_has_a_reason),
        cmocka_unit_test(another_space_is_refused),
        cmocka_unit_test(memory_of_all_ranks_is_counted),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
