/* What models and scores hand out as it lies in memory: ids, names, voxels, who the reference is
 * of, held-out z, maps; and where the responses live, in JSON. */
#include "support/calls.h"
#include "support/images.h"

#include <jansson.h>

#include "base/random.h"

static kn_ctx *ctx;

enum { N = 40, T = 6 };

static const char *const NAMES[T] = {"a", "b", "c", "d", "e", "f"};
static double age[N], Y[N * T]; /* Y row by row; response 2 is constant */
static char id_text[N][8];
static const char *id[N];

static void make_participants(void)
{
    kn_rng rng;
    ref_rng_init(&rng, 4, 0);
    for (int i = 0; i < N; i++) {
        age[i] = 20 + 60 * kn_rng_uniform(&rng);
        snprintf(id_text[i], sizeof id_text[i], "p%02d", i);
        id[i] = id_text[i];
        for (int j = 0; j < T; j++)
            Y[i * T + j] = j == 2 ? 7 : 0.02 * j * age[i] + kn_rng_normal(&rng);
    }
}

static void write_participants(void)
{
    FILE *x = fopen("people.csv", "w");
    fprintf(x, "participant_id,age\n");
    for (int i = 0; i < N; i++)
        fprintf(x, "%s,%.17g\n", id[i], age[i]);
    if (fclose(x) != 0)
        fail_msg("cannot write people.csv");
}

static kn_data *participants(bool ids, const char *const *names)
{
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, N, &d));
    if (ids)
        assert_ok(ctx, kn_data_ids(ctx, d, id));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", age, 1));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(Y, N, T), names));
    return d;
}

/* As it comes out of its file. */
static kn_model *reopened(const kn_model *m)
{
    void *bytes;
    size_t n;
    kn_model *back;
    assert_ok(ctx, kn_model_to_bytes(ctx, m, &bytes, &n));
    assert_ok(ctx, kn_model_from_bytes(ctx, bytes, n, &back));
    kn_bytes_free(bytes);
    return back;
}

/* Of its JSON; to be freed. */
static json_t *space_of(const kn_model *m)
{
    char *text;
    assert_ok(ctx, kn_model_json(ctx, m, &text));
    json_t *all = json_loads(text, 0, NULL), *space = json_object_get(all, "space");
    assert_non_null(space);
    json_incref(space);
    json_decref(all);
    kn_text_free(text);
    return space;
}

static void assert_space(const kn_model *m, const char *expected)
{
    json_t *space = space_of(m), *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);
    assert_non_null(wanted);
    assert_true(json_equal(space, wanted));
    json_decref(space);
    json_decref(wanted);
}

static void a_model_of_a_table_has_ids_names_and_held_out_z(void **state)
{
    (void)state;
    kn_data *d = participants(true, NAMES);
    kn_model *m = fit_data(ctx, d, "components=1 folds=4"), *both[2] = {m, reopened(m)};
    const ptrdiff_t *sample, *voxel, *kept;
    assert_int_equal(kn_model_kept(m, &kept), T - 1);
    kn_scores *s;
    assert_ok(ctx, kn_score(ctx, m, d, NULL, &s)); /* training participants get these z again */
    kn_view z = kn_scores_array(s, "z");
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++)
            assert_string_equal(kn_model_ids(both[k])[i], id[i]);
        for (int j = 0; j < T; j++) /* of all, in use or not */
            assert_string_equal(kn_model_response_names(both[k])[j], NAMES[j]);
        assert_int_equal(kn_model_voxels(both[k], &voxel), 0);
        assert_null(voxel);
        assert_int_equal(kn_model_reference(both[k], &sample), N);
        assert_null(sample);
        kn_view cv = kn_model_array(both[k], "z_cv");
        assert_true(cv.type == KN_F32 && cv.rows == N && cv.cols == T - 1);
        for (ptrdiff_t i = 0; i < N; i++)
            for (ptrdiff_t j = 0; j < T - 1; j++)
                assert_true(kn_view_at(cv, i, j) == kn_view_at(z, i, kept[j]));
        assert_space(both[k], "{\"kind\": \"table\"}");
    }
    for (int k = 0; k < 2; k++) /* `kept` is the first's */
        kn_model_free(both[k]);
    kn_scores_free(s);
    kn_data_free(d);
}

static void what_is_not_kept_is_null(void **state)
{
    (void)state;
    const ptrdiff_t *sample;
    kn_data *d = participants(true, NULL), *nobody = participants(false, NULL);
    kn_model *m = fit_data(ctx, d, "components=1 folds=4 strip_ids=yes"), *back = reopened(m);
    assert_null(kn_model_ids(m));
    assert_null(kn_model_ids(back));
    assert_null(kn_model_response_names(back));
    assert_non_null(kn_model_array(m, "z_cv").data); /* in memory, and in no file without ids */
    assert_null(kn_model_array(back, "z_cv").data);
    assert_int_equal(kn_model_reference(back, &sample), N);
    assert_space(back, "null");
    kn_model_free(back);
    kn_model_free(m);

    m = fit_data(ctx, nobody, "components=1 folds=0");
    assert_null(kn_model_ids(m));
    assert_null(kn_model_array(m, "z_cv").data);
    assert_int_equal(kn_model_reference(m, &sample), 0);
    assert_null(sample);
    kn_model_free(m);

    m = fit_data(ctx, d, "components=1 folds=4"); /* as if they had been too many */
    assert_true(kn_reference_keeps_z(1000, 250000) && !kn_reference_keeps_z(1000, 250001));
    kn_free(m->reference.z);
    m->reference.z = NULL;
    back = reopened(m);
    assert_null(kn_model_array(m, "z_cv").data);
    assert_null(kn_model_array(back, "z_cv").data);
    assert_non_null(kn_model_ids(back));
    kn_model_free(back);
    kn_model_free(m);
    kn_data_free(nobody);
    kn_data_free(d);
}

/* Beyond 5000 participants one set is held out, and the reference consists of it. */
static void a_reference_of_some_tells_which(void **state)
{
    (void)state;
    enum { MANY = 5002, R = 3 };
    double *x = malloc(MANY * sizeof *x), *y = malloc(MANY * R * sizeof *y);
    kn_rng rng;
    ref_rng_init(&rng, 9, 0);
    for (ptrdiff_t i = 0; i < MANY; i++) {
        x[i] = kn_rng_normal(&rng);
        for (int j = 0; j < R; j++)
            y[i * R + j] = 0.5 * x[i] + kn_rng_normal(&rng);
    }
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, MANY, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "x", x, 1));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(y, MANY, R), NULL));
    kn_model *m = fit_data(ctx, d, "components=1 calibrate=none"), *both[2] = {m, reopened(m)};
    for (int k = 0; k < 2; k++) {
        const ptrdiff_t *sample;
        ptrdiff_t n = kn_model_reference(both[k], &sample);
        assert_true(n > MANY / 4 && n < MANY);
        assert_non_null(sample);
        for (ptrdiff_t i = 0; i < n; i++)
            assert_true(sample[i] >= (i > 0 ? sample[i - 1] + 1 : 0) && sample[i] < MANY);
        if (k > 0)
            break; /* no ids, no z in the bytes */
        kn_view z = kn_model_array(m, "z_cv");
        assert_true(z.rows == n && z.cols == R);
        /* each z belongs to the y of the participant that `sample` names */
        double sum = 0, one = 0, other = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            const ptrdiff_t t = sample[i];
            double e = y[t * R] - 0.5 * x[t];
            sum += e * kn_view_at(z, i, 0);
            one += e * e;
            other += kn_view_at(z, i, 0) * kn_view_at(z, i, 0);
        }
        assert_true(sum / sqrt(one * other) > 0.9);
    }
    kn_model_free(both[0]);
    kn_model_free(both[1]);
    kn_data_free(d);
    free(x), free(y);
}

/* ---- images --------------------------------------------------------------------------------- */

/* A 4D image of N participants, 2 x 3 x 2, of which 7 voxels are in the mask. */
static kn_model *of_images(const ptrdiff_t voxel[7])
{
    enum { V = 12 };
    static float values[N * V];
    float mask[V] = {0};
    kn_nifti_header h = image_header(2, 3, 2);
    kn_model *m;
    for (int i = 0; i < N * V; i++)
        values[i] = (float)(Y[i / V * T + i % T + (i % T == 2)] + 0.1 * (i % V));
    for (int k = 0; k < 7; k++)
        mask[voxel[k]] = 1;
    image_file("all.nii.gz", &h, N, values, N * V);
    image_file("mask.nii", &h, 0, mask, V);
    assert_ok(ctx, fit_files(ctx,
                             "covariates=people.csv responses=all.nii.gz mask=mask.nii "
                             "components=1 folds=0",
                             &m));
    return m;
}

static void a_model_of_images_tells_voxels_and_space(void **state)
{
    (void)state;
    static const ptrdiff_t voxel[7] = {0, 1, 3, 6, 7, 10, 11};
    kn_model *m = of_images(voxel), *both[2] = {m, reopened(m)};
    for (int k = 0; k < 2; k++) {
        const ptrdiff_t *index;
        assert_int_equal(kn_model_voxels(both[k], &index), 7);
        assert_memory_equal(index, voxel, sizeof voxel);
        assert_null(kn_model_response_names(both[k]));
        assert_space(both[k], "{\"kind\": \"image\", \"shape\": [2, 3, 2], \"parts\": 1, "
                              "\"affine\": [[2.0, 0.0, 0.0, -10.0], [0.0, 2.0, 0.0, -20.0], "
                              "[0.0, 0.0, 2.0, -30.0], [0.0, 0.0, 0.0, 1.0]]}");
        kn_model_free(both[k]);
    }
}

static void vertices_of_surfaces_are_nowhere(void **state)
{
    (void)state;
    static float values[N * T];
    kn_nifti_header h = image_header(T, 1, 1);
    kn_model *one, *two;
    for (int i = 0; i < N * T; i++)
        values[i] = (float)(Y[i] + (i % T == 2 ? Y[i + 1] : 0));
    image_file("lh.all.nii", &h, N, values, N * T);
    h.dim[0] = T - 1;
    image_file("rh.all.nii", &h, N, values, N * (T - 1));
    assert_ok(ctx, fit_files(ctx, "covariates=people.csv responses=lh.all.nii components=1 folds=0",
                             &one));
    assert_ok(ctx, fit_files(ctx,
                             "covariates=people.csv responses=lh.all.nii,rh.all.nii "
                             "components=1 folds=0",
                             &two));
    assert_space(one,
                 "{\"kind\": \"image\", \"shape\": [6, 1, 1], \"parts\": 1, \"affine\": null}");
    assert_space(two,
                 "{\"kind\": \"image\", \"shape\": [11, 1, 1], \"parts\": 2, \"affine\": null, "
                 "\"shapes\": [[6, 1, 1], [5, 1, 1]]}");
    kn_model_free(one);
    kn_model_free(two);
}

/* ---- scores --------------------------------------------------------------------------------- */

static void maps_in_memory_are_views_of_what_blocks_copy(void **state)
{
    (void)state;
    static const char *const maps[] = {"z", "yhat", "ys2_model", "fdr"};
    double out[N * T];
    kn_data *d = participants(true, NAMES);
    kn_model *m = fit_data(ctx, d, "components=1 folds=4");
    kn_options *o = options_of(ctx, "score", "write=z,yhat,ys2_model,fdr");
    kn_scores *s, *few, *predicted;
    assert_ok(ctx, kn_score(ctx, m, d, o, &s));
    assert_ok(ctx, kn_score(ctx, m, d, NULL, &few));
    assert_ok(ctx, kn_predict(ctx, m, d, NULL, &predicted));
    kn_model_free(m);
    for (int k = 0; k < 4; k++) {
        kn_view v = kn_scores_array(s, maps[k]);
        assert_true(v.data && v.type == KN_F32 && v.rows == N && v.cols == T);
        assert_true(v.row_stride == T && v.col_stride == 1);
        assert_ok(ctx, kn_scores_block(ctx, s, maps[k], 0, T, kn_mat_cols(out, N, T)));
        for (ptrdiff_t i = 0; i < N; i++)
            for (ptrdiff_t j = 0; j < T; j++) {
                double a = kn_view_at(v, i, j), b = out[i + j * N];
                assert_true(a == b || (isnan(a) && isnan(b)));
            }
        assert_true(isnan(kn_view_at(v, 3, 2))); /* left out */
    }
    assert_null(kn_scores_array(few, "yhat").data);
    assert_null(kn_scores_array(few, "beauty").data);
    assert_non_null(kn_scores_array(few, "z").data);
    assert_null(kn_scores_array(predicted, "z").data);
    assert_non_null(kn_scores_array(predicted, "ys2_model").data);
    kn_scores_free(s);
    kn_scores_free(few);
    kn_scores_free(predicted);
    kn_options_free(o);
    kn_data_free(d);
}

TEST_PROGRAM(commands_accessors)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_of_a_table_has_ids_names_and_held_out_z),
        cmocka_unit_test(what_is_not_kept_is_null),
        cmocka_unit_test(a_reference_of_some_tells_which),
        cmocka_unit_test(a_model_of_images_tells_voxels_and_space),
        cmocka_unit_test(vertices_of_surfaces_are_nowhere),
        cmocka_unit_test(maps_in_memory_are_views_of_what_blocks_copy),
    };
    if (scratch_enter(NULL) != 0)
        return 1;
    make_participants();
    write_participants();
    int failed = cmocka_run_group_tests_name("told", tests, NULL, NULL);
    scratch_leave(NULL);
    kn_ctx_free(ctx);
    return failed;
}
