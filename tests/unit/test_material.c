/* What the page is made of: a folder of score, cv or change and a model come back as the numbers
 * that went in, and what does not belong together is refused. */
#include <sys/stat.h>

#include "calls.h"
#include "folders.h"
#include "images.h"

#include "base/rng.h"
#include "io/table.h"
#include "model/model.h"
#include "norm/normal.h"
#include "work/material.h"

static kn_ctx *ctx;

enum { MOST = 70, T = 6, N = 60, NEW = 8, LEFT_OUT = 2 };

typedef struct people {
    ptrdiff_t n;
    const char *id[MOST], *sex[MOST], *site[MOST], *visit[MOST], *state[MOST];
    double age[MOST], y[MOST * T];
    char name[MOST][16];
} people;

static const char *const RESPONSES[T] = {"thick", "</script>", "constant", "a\tb", "\"q\"", "last"};
static char long_id[100001];

static void make(people *p, ptrdiff_t n, uint64_t seed)
{
    static const char *const SITES[] = {"A", "B", "C"};
    kn_rng rng;
    kn_rng_init(&rng, seed, 0);
    p->n = n;
    for (ptrdiff_t i = 0; i < n; i++) {
        snprintf(p->name[i], sizeof p->name[i], "s%d-%td", (int)seed, i);
        p->id[i] = p->name[i];
        p->age[i] = floor(200 + 600 * kn_rng_uniform(&rng)) / 10;
        p->sex[i] = i % 2 ? "M" : "F";
        p->site[i] = SITES[i % 3];
        for (int j = 0; j < T; j++)
            p->y[i * T + j] = j == LEFT_OUT ? 7
                                            : 10 * (j + 1) + 0.05 * (j + 1) * p->age[i] +
                                                  (double)(i % 2) + kn_rng_normal(&rng);
    }
}

static kn_data *data_of(const people *p)
{
    kn_data *d;
    assert_ok(ctx, kn_data_new(ctx, p->n, &d));
    assert_ok(ctx, kn_data_ids(ctx, d, p->id));
    assert_ok(ctx, kn_data_numbers(ctx, d, "age", p->age, 1));
    assert_ok(ctx, kn_data_texts(ctx, d, "sex", p->sex));
    assert_ok(ctx, kn_data_texts(ctx, d, "site", p->site));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(p->y, p->n, T), RESPONSES));
    return d;
}

static kn_model *fit(const people *p, const char *text)
{
    kn_model *m;
    kn_options *o = options_of(ctx, "fit", text);
    kn_data *d = data_of(p);
    assert_ok(ctx, kn_fit(ctx, d, o, &m));
    kn_data_free(d);
    kn_options_free(o);
    return m;
}

static kn_scores *score(const kn_model *m, const people *p, const char *text)
{
    kn_scores *s;
    kn_options *o = options_of(ctx, "score", text);
    kn_data *d = data_of(p);
    assert_ok(ctx, kn_score(ctx, m, d, o, &s));
    kn_data_free(d);
    kn_options_free(o);
    return s;
}

static people training, scored;
static kn_model *model; /* of training */

static const kn_material_column *column(const kn_material *m, const char *name)
{
    for (ptrdiff_t c = 0; c < m->C; c++)
        if (strcmp(m->column[c].name, name) == 0)
            return &m->column[c];
    fail_msg("no column %s", name);
    return NULL;
}

static const char *level(const kn_material_column *c, double code)
{
    assert_true(code >= 0 && code < (double)c->levels);
    return c->level[(ptrdiff_t)code];
}

/* z of everybody in the material is that of the scores, at the responses of the model, to the bit;
 * read twice, backwards the second time. */
static void assert_z(kn_material *m, const kn_scores *s, const ptrdiff_t *kept)
{
    float z[4096];
    ptrdiff_t all = kn_scores_n_responses(s);
    double *expected = malloc((size_t)(m->n * all) * sizeof *expected);
    assert_ok(ctx, kn_scores_block(ctx, s, "z", 0, all, kn_mat_cols(expected, m->n, all)));
    for (ptrdiff_t k = 0; k < 2 * m->n; k++) {
        ptrdiff_t i = k < m->n ? k : 2 * m->n - 1 - k;
        assert_ok(ctx, kn_material_z(ctx, m, i, z));
        for (ptrdiff_t j = 0; j < m->T; j++) {
            double x = expected[i + (kept ? kept[j] : j) * m->n];
            assert_true(isnan(x) ? isnan(z[j]) : (double)z[j] == (double)(float)x);
        }
    }
    free(expected);
}

/* In a file, once. */
static void replace(const char *path, const char *from, const char *to)
{
    static char text[1 << 20];
    size_t n = scratch_read(path, text, sizeof text - 1);
    text[n] = '\0';
    char *at = strstr(text, from);
    assert_non_null(at);
    size_t tail = (size_t)(at - text) + strlen(from);
    FILE *f = fopen(path, "wb");
    fwrite(text, 1, (size_t)(at - text), f);
    fputs(to, f);
    fwrite(text + tail, 1, n - tail, f);
    fclose(f);
}

/* ---- the model ------------------------------------------------------------------------------- */

static void training_is_read_back(void **state)
{
    (void)state;
    kn_material m;
    float z[T];
    assert_ok(ctx, kn_material_open(ctx, model, NULL, &m));
    assert_int_equal(m.kind, KN_MATERIAL_MODEL);
    assert_int_equal(m.N, N);
    assert_int_equal(m.n, 0);
    assert_int_equal(m.T, T - 1);
    assert_int_equal(m.C, 3);
    assert_null(m.dir);
    assert_null(m.summary_json);
    const kn_material_column *age = column(&m, "age"), *sex = column(&m, "sex"),
                             *site = column(&m, "site");
    assert_true(age->numeric && !sex->numeric && site->batch && !sex->batch);
    assert_null(age->scored);
    for (ptrdiff_t i = 0; i < N; i++) {
        assert_string_equal(m.training_id[i], training.id[i]);
        assert_true(age->training[i] == training.age[i]); /* 34.2, to the bit */
        assert_string_equal(level(sex, sex->training[i]), training.sex[i]);
        assert_string_equal(level(site, site->training[i]), training.site[i]);
        assert_ok(ctx, kn_material_training_z(ctx, &m, i, z));
        assert_memory_equal(z, model->reference.z + i * (T - 1), sizeof(float) * (T - 1));
        assert_true(kn_material_training(&m, "statistic")[i] == model->reference.statistic[i]);
        assert_true(kn_material_training(&m, "deviance")[i] == model->reference.deviance.ref[i]);
    }
    assert_true(m.has_training_z);
    assert_null(kn_material_training(&m, "nothing"));
    assert_null(kn_material_people(&m, "statistic"));
    assert_null(kn_material_responses(&m, "R2"));
    for (ptrdiff_t j = 0, all = 0; j < m.T; j++, all++) {
        all += all == LEFT_OUT;
        assert_string_equal(m.name[j], RESPONSES[all]);
        assert_string_equal(m.space.name[j], RESPONSES[all]);
        double mean = 0;
        for (ptrdiff_t i = 0; i < N; i++)
            mean += training.y[i * T + all] / N;
        assert_close(m.y_mean[j], mean, 1e-12);
        assert_true(m.y_sd[j] > 0.5);
    }
    assert_non_null(strstr(m.model_json, "\"n_samples\""));
    assert_true(strlen(m.model_words) > 10);
    kn_material_clear(&m);
    kn_material_clear(&m);
}

/* Sums of kernels have indicators, and one column of two levels. */
static void covariates_of_indicators_are_levels_again(void **state)
{
    (void)state;
    kn_material m;
    kn_model *plain = fit(&training, "sample_kernel=linear+se components=1 categorical=sex,site");
    assert_false(plain->recipe.codes);
    assert_ok(ctx, kn_material_open(ctx, plain, NULL, &m));
    for (ptrdiff_t i = 0; i < N; i++) {
        const kn_material_column *sex = column(&m, "sex"), *site = column(&m, "site");
        assert_true(column(&m, "age")->training[i] == training.age[i]);
        assert_string_equal(level(sex, sex->training[i]), training.sex[i]);
        assert_string_equal(level(site, site->training[i]), training.site[i]);
    }
    kn_material_clear(&m);
    kn_model_free(plain);
}

static void a_model_of_numbers_has_names_by_number(void **state)
{
    (void)state;
    kn_rng rng;
    kn_rng_init(&rng, 8, 0);
    kn_mat X = ref_normal(&rng, 30, 2), Y = ref_normal(&rng, 30, 12);
    kn_model *numbers;
    kn_material m;
    const char *over;
    for (ptrdiff_t i = 0; i < 30; i++)
        kn_col(Y, 1)[i] = 3; /* left out */
    assert_ok(ctx, kn_fit_arrays(ctx, kn_view_cols(X.data, 30, 2), kn_view_cols(Y.data, 30, 12),
                                 NULL, &numbers));
    assert_ok(ctx, kn_material_open(ctx, numbers, NULL, &m));
    assert_int_equal(m.T, 11);
    assert_string_equal(m.name[0], "1");
    assert_string_equal(m.name[1], "3");
    assert_string_equal(m.name[10], "12");
    assert_string_equal(m.column[1].name, "x2");
    assert_null(m.training_id);
    for (ptrdiff_t i = 0; i < 30; i++)
        assert_close(m.column[1].training[i], kn_at(X, i, 1), 1e-14);
    assert_ok(ctx, kn_material_over(ctx, &m, NULL, &over));
    assert_null(over);
    kn_material_clear(&m);
    kn_model_free(numbers);
    free(X.data), free(Y.data);
}

static void an_exported_model_has_nobody(void **state)
{
    (void)state;
    kn_material m;
    kn_model *shared;
    float z[T];
    const char *over;
    kn_material_response r;
    kn_options *o = options_of(ctx, "export", "output=shared.safetensors");
    assert_ok(ctx, kn_export(ctx, model, o, NULL));
    assert_ok(ctx, kn_model_open(ctx, "shared.safetensors", &shared));
    assert_ok(ctx, kn_material_open(ctx, shared, NULL, &m));
    assert_int_equal(m.N, N);
    assert_null(m.training_id);
    assert_false(m.has_training_z);
    assert_null(column(&m, "age")->training);
    assert_int_equal(column(&m, "site")->levels, 3);
    assert_ok(ctx, kn_material_training_z(ctx, &m, 0, z));
    assert_true(isnan(z[0]));
    assert_ok(ctx, kn_material_over(ctx, &m, NULL, &over));
    assert_string_equal(over, "age");
    assert_ok(ctx, kn_material_curves(ctx, &m, over, (ptrdiff_t[]){1}, 1, &r));
    assert_int_equal(r.curves, 2);
    assert_int_equal(r.training.n, 0);
    assert_int_equal(r.scored.n, 0);
    kn_material_clear(&m);
    kn_model_free(shared);
    kn_options_free(o);
}

/* ---- a folder of score ------------------------------------------------------------------------
 */

static void assert_people(const kn_material *m, const kn_scores *s)
{
    static const char *const NAMES[] = {"statistic", "p_upper", "deviance_p", "extrapolation_pct",
                                        "mean_z",    "label",   "negative"};
    const kn_material_column *age = column(m, "age"), *sex = column(m, "sex"),
                             *site = column(m, "site");
    for (ptrdiff_t i = 0; i < m->n; i++) {
        assert_string_equal(m->id[i], scored.id[i]);
        assert_true(age->scored[i] == scored.age[i]);
        assert_string_equal(level(sex, sex->scored[i]), scored.sex[i]);
        assert_string_equal(level(site, site->scored[i]), scored.site[i]);
        assert_string_equal(kn_material_texts(m, "participant_id")[i], scored.id[i]);
        assert_string_equal(kn_material_texts(m, "sex")[i], scored.sex[i]);
    }
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        const double *expected = kn_scores_people(s, NAMES[k]),
                     *found = kn_material_people(m, NAMES[k]);
        for (ptrdiff_t i = 0; i < m->n; i++)
            assert_true(isnan(expected[i]) ? isnan(found[i]) : found[i] == expected[i]);
    }
    assert_null(kn_material_people(m, "nothing"));
    assert_null(kn_material_texts(m, "nothing"));
}

static void assert_metrics(const kn_material *m, const kn_scores *s, const ptrdiff_t *kept,
                           double tolerance)
{
    static const char *const NAMES[] = {"R2", "MSLL", "z2"};
    for (int k = 0; k < 3; k++)
        for (ptrdiff_t j = 0; j < m->T; j++)
            assert_close(kn_material_responses(m, NAMES[k])[j],
                         kn_scores_responses(s, NAMES[k])[kept ? kept[j] : j], tolerance);
}

/* Ids and levels are hostile: they pass through as they are. */
static void a_scored_table_is_read_back(void **state)
{
    (void)state;
    kn_material m;
    scored.id[1] = "<img src=x onerror=alert(1)>";
    scored.id[2] = "to be broken";
    scored.id[3] = "tab\tnew\nline\"quote\"";
    scored.id[4] = long_id;
    scored.site[5] = "new site";
    scored.sex[6] = "M";
    kn_scores *s = score(model, &scored, "output=out write=z,metrics format=csv unseen=prior");
    kn_scores *again = score(model, &scored, "write=z unseen=prior");
    scored.id[2] = "\x01\x1b[31m\xff\xfe"; /* as another program may have left it */
    replace("out/people.tsv", "to be broken", scored.id[2]);
    replace("out/abnormality.tsv", "to be broken", scored.id[2]);
    replace("out/z.csv", "to be broken", scored.id[2]);
    assert_ok(ctx, kn_material_open(ctx, model, "out", &m));
    assert_int_equal(m.kind, KN_MATERIAL_SCORE);
    assert_int_equal(m.n, NEW);
    assert_string_equal(m.dir, "out");
    assert_people(&m, s);
    assert_int_equal(column(&m, "site")->levels, 4);
    assert_true(column(&m, "site")->scored[5] == 3);
    assert_metrics(&m, s, model->y.kept, 1e-15);
    assert_z(&m, again, model->y.kept);
    assert_non_null(strstr(m.summary_json, "xxh64:"));
    assert_int_equal(m.n_dropped, 0);
    kn_material_clear(&m);
    kn_scores_free(s);
    kn_scores_free(again);
    folder_remove("out");
}

static void formats_and_split_are_one(void **state)
{
    (void)state;
    static const char *const HOW[] = {"format=npy", "format=csv split=true",
                                      "format=npy split=true"};
    kn_scores *expected = score(model, &scored, "write=z");
    for (size_t k = 0; k < sizeof HOW / sizeof *HOW; k++) {
        char text[128];
        kn_material m;
        snprintf(text, sizeof text, "output=out %s", HOW[k]);
        kn_scores_free(score(model, &scored, text));
        assert_ok(ctx, kn_material_open(ctx, model, "out", &m));
        assert_z(&m, expected, model->y.kept);
        kn_material_clear(&m);
        folder_remove("out");
    }
    kn_scores_free(expected);
}

static void who_was_dropped_is_told(void **state)
{
    (void)state;
    kn_material m;
    kn_scores *s;
    kn_options *o = options_of(ctx, "score", "output=out missing=drop label=sex=M");
    scored.age[3] = NAN;
    kn_data *d = data_of(&scored);
    assert_ok(ctx, kn_score(ctx, model, d, o, &s));
    assert_ok(ctx, kn_material_open(ctx, model, "out", &m));
    assert_int_equal(m.n, NEW - 1);
    assert_int_equal(m.n_dropped, 1);
    assert_string_equal(m.dropped_id[0], scored.id[3]);
    assert_non_null(strstr(m.dropped_why[0], "age"));
    assert_string_equal(m.id[3], scored.id[4]);
    assert_true(kn_material_people(&m, "label")[0] == 0 && kn_material_people(&m, "label")[1] == 1);
    kn_material_clear(&m);
    kn_scores_free(s);
    kn_data_free(d);
    kn_options_free(o);
    folder_remove("out");
}

/* ---- images ------------------------------------------------------------------------------------
 */

enum { X = 4, Y = 3, Z = 3, VOXELS = X * Y * Z };

static bool inside(ptrdiff_t v)
{
    return v % 3 != 0;
}

/* N + NEW images of one or two parts, the right one first, and tables of who they are. */
static void write_images(int parts)
{
    FILE *lists[2] = {fopen("train.txt", "w"), fopen("new.txt", "w")};
    FILE *tables[2] = {fopen("train.tsv", "w"), fopen("new.tsv", "w")};
    kn_rng rng;
    kn_rng_init(&rng, 17, 0);
    for (int k = 0; k < 2; k++)
        fprintf(tables[k], "participant_id\tage\tsex\tsite\n");
    for (int i = 0; i < N + NEW; i++) {
        const people *p = i < N ? &training : &scored;
        int k = i < N ? 0 : 1, at = i < N ? i : i - N;
        fprintf(tables[k], "%s\t%.1f\t%s\t%s\n", p->id[at], p->age[at], p->sex[at], p->site[at]);
        fprintf(lists[k], "%s", p->id[at]);
        for (int part = 0; part < parts; part++) {
            static const char *const SIDES[] = {"rh", "lh"};
            float y[VOXELS];
            char name[64];
            ptrdiff_t n = part ? VOXELS - 6 : VOXELS;
            kn_nifti_header h = parts > 1 ? image_header(n, 1, 1) : image_header(X, Y, Z);
            for (ptrdiff_t v = 0; v < n; v++)
                y[v] = inside(v) ? (float)(3 * part + 0.02 * p->age[at] * (double)(v % 5) + 5 +
                                           kn_rng_normal(&rng))
                                 : 0;
            snprintf(name, sizeof name, "i%d_%s.nii", i, SIDES[part]);
            image_file(name, &h, 1, y, n);
            fprintf(lists[k], "\t%s", name);
        }
        fprintf(lists[k], "\n");
    }
    for (int k = 0; k < 2; k++)
        fclose(lists[k]), fclose(tables[k]);
}

static kn_model *fit_images(void)
{
    kn_model *m;
    assert_ok(ctx, fit_files(ctx,
                             "covariates=train.tsv responses=train.txt components=1 folds=4 "
                             "output=images.safetensors",
                             &m));
    return m;
}

static kn_scores *score_images(const char *more)
{
    kn_scores *s;
    char text[256];
    snprintf(text, sizeof text, "model=images.safetensors covariates=new.tsv responses=new.txt %s",
             more);
    assert_ok(ctx, score_files(ctx, "score", text, 3, &s));
    return s;
}

/* Of the mask alone; without the table metrics come from maps, as floats. */
static void maps_are_of_the_mask(void **state)
{
    (void)state;
    static const char *const HOW[] = {"", "split=true", "format=csv", "format=npy"};
    for (int parts = 1; parts <= 2; parts++) {
        write_images(parts);
        kn_model *im = fit_images();
        kn_scores *expected = score_images("write=z");
        ptrdiff_t outside = 0;
        for (size_t k = 0; k < sizeof HOW / sizeof *HOW; k++) {
            char text[64];
            kn_material m;
            snprintf(text, sizeof text, "output=out %s", HOW[k]);
            kn_scores_free(score_images(text));
            if (k < 2)
                assert_int_equal(remove("out/metrics.tsv"), 0);
            assert_ok(ctx, kn_material_open(ctx, im, "out", &m));
            assert_int_equal(m.space.kind, KN_SPACE_IMAGE);
            assert_int_equal(m.T, im->y.n_kept);
            assert_z(&m, expected, im->y.kept);
            assert_metrics(&m, expected, im->y.kept, k < 2 ? 1e-6 : 1e-15);
            for (ptrdiff_t j = 0; parts == 1 && j < m.T; j++) {
                char name[64];
                ptrdiff_t v = m.space.voxel[j];
                assert_true(inside(v));
                snprintf(name, sizeof name, "%td,%td,%td", v % X, v / X % Y, v / (X * Y));
                assert_string_equal(m.name[j], name);
            }
            outside += kn_geometry_voxels(&m.space.geometry) - m.T;
            kn_material_clear(&m);
            folder_remove("out");
        }
        assert_true(outside > 0);
        kn_scores_free(expected);
        kn_model_free(im);
        scratch_empty();
    }
}

/* ---- cv -----------------------------------------------------------------------------------------
 */

static void cv_has_no_model(void **state)
{
    (void)state;
    kn_material m;
    kn_options *o = options_of(ctx, "cv", "output=out folds=3 format=csv");
    kn_data *d = data_of(&training);
    assert_ok(ctx, kn_cv(ctx, d, o, NULL));
    assert_sentence(ctx, kn_material_open(ctx, model, "out", &m), KN_ERR_ARGUMENT,
                    "out: was written by cv, which has no one model, expected no model beside it");
    assert_ok(ctx, kn_material_open(ctx, NULL, "out", &m));
    assert_int_equal(m.kind, KN_MATERIAL_CV);
    assert_int_equal(m.n, N);
    assert_int_equal(m.N, 0);
    assert_int_equal(m.T, T);
    assert_int_equal(m.C, 3);
    assert_null(m.y_mean);
    const kn_material_column *age = column(&m, "age"), *sex = column(&m, "sex"),
                             *site = column(&m, "site");
    assert_true(age->numeric && !sex->numeric && !site->numeric && site->batch);
    kn_table *z;
    assert_ok(ctx, kn_table_read(ctx, "out/z.csv", &z));
    for (ptrdiff_t i = 0; i < N; i++) {
        float row[T];
        assert_string_equal(m.id[i], training.id[i]);
        assert_true(age->scored[i] == training.age[i]);
        assert_string_equal(level(sex, sex->scored[i]), training.sex[i]);
        assert_string_equal(level(site, site->scored[i]), training.site[i]);
        assert_ok(ctx, kn_material_z(ctx, &m, i, row));
        for (ptrdiff_t j = 0; j < T; j++) {
            double x;
            kn_table_number(z, i, j + 1, &x);
            assert_true(isnan(x) ? isnan(row[j]) : row[j] == (float)x);
        }
    }
    for (ptrdiff_t l = 0; l < 3; l++)
        assert_string_equal(site->level[l], ((const char *[]){"A", "B", "C"})[l]);
    for (ptrdiff_t j = 0; j < T; j++)
        assert_string_equal(m.name[j], RESPONSES[j]);
    assert_true(isfinite(kn_material_responses(&m, "z2")[0]));
    kn_table_free(z);
    kn_material_clear(&m);
    kn_data_free(d);
    kn_options_free(o);
    folder_remove("out");
}

static void cv_of_images_finds_the_mask(void **state)
{
    (void)state;
    kn_material m;
    kn_data *d;
    write_images(1);
    kn_options *o = options_of(ctx, "cv",
                               "covariates=train.tsv responses=train.txt components=1 folds=3 "
                               "output=out");
    assert_ok(ctx, kn_data_read(ctx, o, &d));
    assert_ok(ctx, kn_cv(ctx, d, o, NULL));
    assert_ok(ctx, kn_material_open(ctx, NULL, "out", &m));
    assert_int_equal(m.T, VOXELS - VOXELS / 3);
    for (ptrdiff_t j = 0; j < m.T; j++) {
        assert_true(inside(m.space.voxel[j]));
        assert_true(isfinite(kn_material_responses(&m, "MSLL")[j]));
    }
    kn_material_clear(&m);
    kn_data_free(d);
    kn_options_free(o);
    folder_remove("out");
    scratch_empty();
}

/* ---- change -------------------------------------------------------------------------------------
 */

/* Two visits of 12 people. */
static kn_data *visits_of(people *p)
{
    kn_data *d;
    make(p, 24, 5);
    for (ptrdiff_t i = 0; i < p->n; i++) {
        p->id[i] = p->name[i / 2];
        p->sex[i] = i / 2 % 2 ? "M" : "F";
        p->site[i] = "A";
        p->visit[i] = i % 2 ? "v2" : "v1";
        p->state[i] = i < 20 ? "stable" : "ill";
        if (i % 2)
            p->age[i] = p->age[i - 1] + 1.5;
    }
    d = data_of(p);
    assert_ok(ctx, kn_data_texts(ctx, d, "visit", p->visit));
    assert_ok(ctx, kn_data_texts(ctx, d, "state", p->state));
    return d;
}

static void changes_are_of_pairs(void **state)
{
    (void)state;
    static people visits;
    kn_material m;
    kn_table *table, *z;
    const char *over;
    kn_material_response r;
    kn_options *o = options_of(
        ctx, "change",
        "visit=visit reference=state=stable output=out format=csv save=saved.safetensors");
    kn_data *d = visits_of(&visits);
    kn_model *saved;
    assert_ok(ctx, kn_change(ctx, model, d, o, NULL));
    assert_ok(ctx, kn_model_open(ctx, "saved.safetensors", &saved));
    assert_ok(ctx, kn_material_open(ctx, saved, "out", &m)); /* the same one, with a reference */
    kn_material_clear(&m);
    kn_model_free(saved);
    assert_ok(ctx, kn_material_open(ctx, model, "out", &m));
    assert_int_equal(m.kind, KN_MATERIAL_CHANGE);
    assert_int_equal(m.n, 12);
    assert_null(m.column[0].scored);
    assert_ok(ctx, kn_table_read(ctx, "out/change.tsv", &table));
    assert_ok(ctx, kn_table_read(ctx, "out/change_z.csv", &z));
    for (ptrdiff_t i = 0; i < m.n; i++) {
        char id[64];
        float row[T];
        double x;
        snprintf(id, sizeof id, "%s v1 to v2", kn_table_cell(table, i, 0));
        assert_string_equal(m.id[i], id);
        assert_string_equal(kn_material_texts(&m, "person")[i], kn_table_cell(table, i, 0));
        kn_table_number(table, i, kn_table_find(table, "statistic_p"), &x);
        assert_true(kn_material_people(&m, "statistic_p")[i] == x);
        assert_ok(ctx, kn_material_z(ctx, &m, i, row));
        for (ptrdiff_t j = 0; j < m.T; j++) {
            kn_table_number(z, i, 1 + model->y.kept[j], &x);
            assert_true(row[j] == (float)x);
        }
    }
    assert_ok(ctx, kn_material_over(ctx, &m, NULL, &over));
    assert_ok(ctx, kn_material_curves(ctx, &m, over, (ptrdiff_t[]){0}, 1, &r));
    assert_int_equal(r.training.n, N);
    assert_int_equal(r.scored.n, 0);
    kn_material_clear(&m);
    kn_table_free(table);
    kn_table_free(z);
    kn_data_free(d);
    kn_options_free(o);
    folder_remove("out");
}

/* ---- curves
 * -------------------------------------------------------------------------------------- */

static void assert_short(double x, const kn_table *t, ptrdiff_t row, const char *name)
{
    char text[KN_NUMBER_SIZE];
    kn_number_short(x, text);
    assert_string_equal(text, kn_table_cell(t, row, kn_table_find(t, name)));
}

/* centiles.tsv has a response after the other, curves, points and centiles. */
static void assert_curves(const kn_material *m, const kn_table *t, const kn_material_response *r)
{
    ptrdiff_t row = r->response * 2 * KN_MATERIAL_GRID * KN_MATERIAL_CENTILES;
    assert_int_equal(r->curves, 2);
    for (ptrdiff_t k = 0; k < r->curves; k++) {
        const kn_material_curve *c = &r->curve[k];
        assert_string_equal(c->level, k ? "M" : "F");
        assert_string_equal(c->label, k ? "sex=M,site=mean" : "sex=F,site=mean");
        for (int i = 0; i < KN_MATERIAL_GRID; i++)
            for (int p = 0; p < KN_MATERIAL_CENTILES; p++, row++) {
                char x[KN_NUMBER_SIZE];
                kn_number_text(c->x[i], x);
                assert_string_equal(kn_table_cell(t, row, 0), m->name[r->response]);
                assert_string_equal(kn_table_cell(t, row, kn_table_find(t, "age")), x);
                assert_string_equal(kn_table_cell(t, row, kn_table_find(t, "sex")), c->level);
                assert_short(c->value[p][i], t, row, "value");
                assert_short(c->low[p][i], t, row, "lower");
                assert_short(c->high[p][i], t, row, "upper");
                assert_short(c->extrapolation[i], t, row, "extrapolation_pct");
            }
    }
}

static void assert_points(const kn_table *t, const kn_material_points *p, const people *who,
                          ptrdiff_t response)
{
    assert_int_equal(p->n, who->n);
    for (ptrdiff_t i = 0; i < p->n; i++) {
        ptrdiff_t row = i * (T - 1) + response;
        double value, z;
        kn_table_number(t, row, kn_table_find(t, "value"), &value);
        kn_table_number(t, row, kn_table_find(t, "z"), &z);
        assert_string_equal(kn_table_cell(t, row, 0), who->id[i]);
        assert_true(p->x[i] == who->age[i]);
        assert_true(p->z[i] == z);
        assert_close(p->value[i], value, 1e-13);
        assert_int_equal(p->curve[i], who->sex[i][0] == 'M');
    }
}

static void centiles_into(const people *p, const char *dir)
{
    char text[64];
    snprintf(text, sizeof text, "over=age output=%s", dir);
    kn_options *o = options_of(ctx, "centiles", text);
    kn_data *d = data_of(p);
    assert_ok(ctx, kn_centiles(ctx, model, NULL, d, o, NULL));
    kn_data_free(d);
    kn_options_free(o);
}

static void curves_are_those_of_centiles(void **state)
{
    (void)state;
    static const ptrdiff_t WHICH[] = {0, 2, 4};
    kn_material m;
    kn_material_response r[3];
    kn_table *curves, *points, *trained;
    const char *over;
    kn_scores_free(score(model, &scored, "output=out"));
    centiles_into(&scored, "new");
    centiles_into(&training, "old");
    assert_ok(ctx, kn_material_open(ctx, model, "out", &m));
    assert_ok(ctx, kn_material_over(ctx, &m, "AGE", &over));
    assert_string_equal(over, "age");
    assert_ok(ctx, kn_material_over(ctx, &m, NULL, &over));
    assert_string_equal(over, "age");
    assert_ok(ctx, kn_table_read(ctx, "new/centiles.tsv", &curves));
    assert_ok(ctx, kn_table_read(ctx, "new/points.tsv", &points));
    assert_ok(ctx, kn_table_read(ctx, "old/points.tsv", &trained));
    assert_ok(ctx, kn_material_curves(ctx, &m, over, WHICH, 3, r));
    for (int k = 0; k < 3; k++) {
        assert_int_equal(r[k].response, WHICH[k]);
        assert_curves(&m, curves, &r[k]);
        assert_points(points, &r[k].scored, &scored, WHICH[k]);
        assert_points(trained, &r[k].training, &training, WHICH[k]);
    }
    assert_refused(ctx, kn_material_over(ctx, &m, "sex", &over), KN_ERR_ARGUMENT,
                   "{over}: sex is a category, expected a number");
    assert_refused(ctx, kn_material_over(ctx, &m, "bmi", &over), KN_ERR_ARGUMENT,
                   "{over}: the model has no covariate 'bmi'");
    kn_material_clear(&m);
    kn_table_free(curves);
    kn_table_free(points);
    kn_table_free(trained);
    folder_remove("out");
    folder_remove("new");
    folder_remove("old");
}

/* Without an age the covariate that says the most. */
static void over_is_what_moves_responses(void **state)
{
    (void)state;
    enum { n = 60 };
    double dull[n], telling[n], y[n * 3];
    kn_rng rng;
    kn_rng_init(&rng, 21, 0);
    for (int i = 0; i < n; i++) {
        dull[i] = kn_rng_normal(&rng);
        telling[i] = kn_rng_normal(&rng);
        for (int j = 0; j < 3; j++)
            y[3 * i + j] = telling[i] + 0.3 * kn_rng_normal(&rng);
    }
    kn_data *d;
    kn_model *two;
    kn_material m;
    const char *over;
    kn_options *o = options_of(ctx, "fit", "components=1 folds=4");
    assert_ok(ctx, kn_data_new(ctx, n, &d));
    assert_ok(ctx, kn_data_numbers(ctx, d, "dull", dull, 1));
    assert_ok(ctx, kn_data_numbers(ctx, d, "telling", telling, 1));
    assert_ok(ctx, kn_data_responses(ctx, d, kn_view_rows(y, n, 3), NULL));
    assert_ok(ctx, kn_fit(ctx, d, o, &two));
    assert_ok(ctx, kn_material_open(ctx, two, NULL, &m));
    assert_ok(ctx, kn_material_over(ctx, &m, NULL, &over));
    assert_string_equal(over, "telling");
    kn_material_clear(&m);
    kn_model_free(two);
    kn_data_free(d);
    kn_options_free(o);
}

/* ---- what is refused
 * ------------------------------------------------------------------------------ */

static void other_folders_are_refused(void **state)
{
    (void)state;
    kn_material m;
    kn_model *other = fit(&training, "components=1 folds=5");
    assert_sentence(ctx, kn_material_open(ctx, NULL, NULL, &m), KN_ERR_ARGUMENT,
                    "there is neither a model nor a folder, expected a model or {scored}");
    assert_int_equal(mkdir("out", 0777), 0);
    assert_sentence(ctx, kn_material_open(ctx, model, "out", &m), KN_ERR_IO,
                    "out: has no summary.json, expected a folder that score, cv or change wrote");
    scratch_text("out/summary.json", "{\"over\": \"age\"}");
    assert_sentence(ctx, kn_material_open(ctx, model, "out", &m), KN_ERR_DATA,
                    "out: its summary.json is of another kind, expected a folder that score, cv or "
                    "change wrote");
    folder_remove("out");
    kn_scores_free(score(model, &scored, "output=out format=csv"));
    assert_refused(ctx, kn_material_open(ctx, other, "out", &m), KN_ERR_DATA,
                   "out: was scored by another model (xxh64:");
    assert_refused(ctx, kn_material_open(ctx, other, "out", &m), KN_ERR_DATA,
                   "), expected a folder of this one");
    assert_sentence(ctx, kn_material_open(ctx, NULL, "out", &m), KN_ERR_ARGUMENT,
                    "out: was written by score, expected the model that it was made by");
    replace("out/abnormality.tsv", scored.id[2], "nobody");
    assert_sentence(ctx, kn_material_open(ctx, model, "out", &m), KN_ERR_DATA,
                    "out/abnormality.tsv line 4: participant_id is 'nobody', expected 's2-2' as in "
                    "people.tsv");
    replace("out/summary.json", "\"model\": \"xxh64:", "\"once\": \"xxh64:");
    assert_sentence(ctx, kn_material_open(ctx, model, "out", &m), KN_ERR_DATA,
                    "out: its summary.json does not say which model it was made by, as those of "
                    "older versions (run score again)");
    assert_null(m.files);
    folder_remove("out");
    kn_model_free(other);
}

/* The hash is that of the file: of a model saved and opened again, and of its bytes. */
static void a_model_is_known_again(void **state)
{
    (void)state;
    kn_material m;
    kn_model *opened;
    kn_scores_free(score(model, &scored, "output=out"));
    assert_ok(ctx, kn_model_save(ctx, model, "m.safetensors", 1));
    assert_ok(ctx, kn_model_open(ctx, "m.safetensors", &opened));
    assert_ok(ctx, kn_material_open(ctx, opened, "out", &m));
    kn_material_clear(&m);
    kn_scores_free(score(opened, &scored, "output=out force=true"));
    assert_ok(ctx, kn_material_open(ctx, model, "out", &m));
    kn_material_clear(&m);
    kn_model_free(opened);
    folder_remove("out");
}

/* ---- memory
 * --------------------------------------------------------------------------------------- */

static kn_status everything(const kn_model *of, const char *dir)
{
    kn_material m;
    kn_material_response r[2];
    const char *over = NULL;
    float z[T];
    kn_status status = kn_material_open(ctx, of, dir, &m);
    if (status == KN_OK)
        status = kn_material_z(ctx, &m, 1, z);
    if (status == KN_OK)
        status = kn_material_over(ctx, &m, NULL, &over);
    if (status == KN_OK && over)
        status = kn_material_curves(ctx, &m, over, (ptrdiff_t[]){1, 3}, 2, r);
    kn_material_clear(&m);
    return status;
}

static void any_failing_allocation_leaks_nothing(void **state)
{
    (void)state;
    kn_options *o = options_of(ctx, "cv", "output=crossed folds=3 format=csv");
    kn_data *d = data_of(&training);
    assert_ok(ctx, kn_cv(ctx, d, o, NULL));
    kn_scores_free(score(model, &scored, "output=out split=true format=csv"));
    for (int n = 0; n < 2; n++) {
        kn_status status = KN_ERR_MEMORY;
        long k = 0;
        size_t before = kn_memory_now(ctx);
        while (status == KN_ERR_MEMORY && k < 20000) {
            kn_fail_allocation(ctx, ++k);
            status = everything(n ? NULL : model, n ? "crossed" : "out");
            assert_true(kn_memory_now(ctx) == before);
        }
        kn_fail_allocation(ctx, 0);
        assert_ok(ctx, status);
        assert_true(k > 50);
    }
    kn_data_free(d);
    kn_options_free(o);
    folder_remove("out");
    folder_remove("crossed");
}

static int begin(void **state)
{
    memset(long_id, 'x', sizeof long_id - 1);
    make(&training, N, 1);
    make(&scored, NEW, 2);
    if (scratch_enter(state) != 0)
        return -1;
    model = fit(&training, "components=2 folds=4 batch=site");
    return 0;
}

static int end(void **state)
{
    kn_model_free(model);
    return scratch_leave(state);
}

/* What a test leaves when it fails is not the next one's. */
static int fresh(void **state)
{
    (void)state;
    make(&scored, NEW, 2);
    folder_remove("out");
    scratch_empty();
    return 0;
}

int main(void)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(training_is_read_back, fresh),
        cmocka_unit_test_setup(covariates_of_indicators_are_levels_again, fresh),
        cmocka_unit_test_setup(a_model_of_numbers_has_names_by_number, fresh),
        cmocka_unit_test_setup(an_exported_model_has_nobody, fresh),
        cmocka_unit_test_setup(a_scored_table_is_read_back, fresh),
        cmocka_unit_test_setup(formats_and_split_are_one, fresh),
        cmocka_unit_test_setup(who_was_dropped_is_told, fresh),
        cmocka_unit_test_setup(maps_are_of_the_mask, fresh),
        cmocka_unit_test_setup(cv_has_no_model, fresh),
        cmocka_unit_test_setup(cv_of_images_finds_the_mask, fresh),
        cmocka_unit_test_setup(changes_are_of_pairs, fresh),
        cmocka_unit_test_setup(curves_are_those_of_centiles, fresh),
        cmocka_unit_test_setup(over_is_what_moves_responses, fresh),
        cmocka_unit_test_setup(other_folders_are_refused, fresh),
        cmocka_unit_test_setup(a_model_is_known_again, fresh),
        cmocka_unit_test_setup(any_failing_allocation_leaks_nothing, fresh),
    };
    int failed = cmocka_run_group_tests(tests, begin, end);
    kn_ctx_free(ctx);
    return failed;
}
