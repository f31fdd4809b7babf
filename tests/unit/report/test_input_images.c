/* What the page is made of, of images: responses are those of the mask. */
#include "support/images.h"
#include "support/materials.h"

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
    ref_rng_init(&rng, 17, 0);
    for (int k = 0; k < 2; k++)
        fprintf(tables[k], "participant_id\tage\tsex\tsite\n");
    for (int i = 0; i < N + NEW; i++) {
        const participants *p = i < N ? &training : &scored;
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
            kn_report_input m;
            snprintf(text, sizeof text, "output=out %s", HOW[k]);
            kn_scores_free(score_images(text));
            if (k < 2)
                assert_int_equal(remove("out/metrics.tsv"), 0);
            assert_ok(ctx, kn_report_input_open(ctx, im, "out", &m));
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
            kn_report_input_clear(&m);
            folder_remove("out");
        }
        assert_true(outside > 0);
        kn_scores_free(expected);
        kn_model_free(im);
        scratch_empty();
    }
}

static void cv_of_images_finds_the_mask(void **state)
{
    (void)state;
    kn_report_input m;
    kn_data *d;
    write_images(1);
    kn_options *o = options_of(ctx, "cv",
                               "covariates=train.tsv responses=train.txt components=1 folds=3 "
                               "output=out");
    assert_ok(ctx, kn_data_read(ctx, o, &d));
    assert_ok(ctx, kn_cv(ctx, d, o, NULL));
    assert_ok(ctx, kn_report_input_open(ctx, NULL, "out", &m));
    assert_int_equal(m.T, VOXELS - VOXELS / 3);
    for (ptrdiff_t j = 0; j < m.T; j++) {
        assert_true(inside(m.space.voxel[j]));
        assert_true(isfinite(kn_report_input_responses(&m, "MSLL")[j]));
    }
    kn_report_input_clear(&m);
    kn_data_free(d);
    kn_options_free(o);
    folder_remove("out");
    scratch_empty();
}

TEST_PROGRAM(report_input_images)
{
    ctx = kn_ctx_new();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(maps_are_of_the_mask, fresh),
        cmocka_unit_test_setup(cv_of_images_finds_the_mask, fresh),
    };
    int failed = cmocka_run_group_tests(tests, begin, end);
    kn_ctx_free(ctx);
    return failed;
}
