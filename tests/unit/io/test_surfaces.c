/* Surfaces: brain models of CIFTI, sides by name, and what is written read again. */
#include "data/response_space.h"
#include "io/formats/cifti.h"
#include "io/formats/internal.h"
#include "io/image/image.h"
#include "io/image/image_set.h"
#include "support/failing.h"
#include "support/images.h"

#define MODEL(OFFSET, COUNT, LIST)                                                                 \
    "<BrainModel IndexOffset=\"" OFFSET "\" IndexCount=\"" COUNT                                   \
    "\" BrainStructure=\"CIFTI_STRUCTURE_CORTEX_LEFT\" SurfaceNumberOfVertices=\"9\">"             \
    "<VertexIndices>" LIST "</VertexIndices></BrainModel>"
#define SCALARS                                                                                    \
    "<MatrixIndicesMap AppliesToMatrixDimension=\"0\" "                                            \
    "IndicesMapToDataType=\"CIFTI_INDEX_TYPE_SCALARS\"><NamedMap><MapName>a</MapName></NamedMap>"  \
    "</MatrixIndicesMap>"
#define BRAIN(MODELS)                                                                              \
    "<MatrixIndicesMap AppliesToMatrixDimension=\"1\" "                                            \
    "IndicesMapToDataType=\"CIFTI_INDEX_TYPE_BRAIN_MODELS\">" MODELS "</MatrixIndicesMap>"
#define CIFTI(MAPS) "<?xml version=\"1.0\"?><CIFTI Version=\"2\"><Matrix>" MAPS "</Matrix></CIFTI>"
#define FIVE        MODEL("0", "3", "0 2 4") MODEL("3", "2", "1 5")

static kn_status parse(kn_ctx *ctx, const char *xml, kn_brain *out)
{
    return kn_cifti_parse(ctx, "x.dscalar.nii", xml, (ptrdiff_t)strlen(xml), 5, out);
}

static void brain_models_differ_by_their_content(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_brain a, b;
    assert_ok(ctx, parse(ctx, CIFTI(SCALARS BRAIN(FIVE)), &a));
    assert_string_equal(a.xml, BRAIN(FIVE));
    assert_ok(ctx, parse(ctx, a.xml, &b)); /* the element alone, as a model keeps it */
    assert_true(a.hash == b.hash && a.hash != 0);
    kn_brain_clear(&b);
    const char *laid_out =
        CIFTI(BRAIN("\n  <BrainModel SurfaceNumberOfVertices='9' IndexCount='3' IndexOffset='0' "
                    "BrainStructure='CIFTI_STRUCTURE_CORTEX_LEFT'>\n<VertexIndices>0\n2\t4 "
                    "</VertexIndices></BrainModel>" MODEL("3", "2", "1 5")) SCALARS);
    assert_ok(ctx, parse(ctx, laid_out, &b));
    assert_ok(ctx, kn_brain_compare(ctx, "b", &b, "a", &a));
    kn_brain_clear(&b);
    assert_ok(ctx,
              parse(ctx, CIFTI(SCALARS BRAIN(MODEL("0", "3", "0 2 4") MODEL("3", "2", "15 5"))),
                    &b));
    assert_sentence(
        ctx, kn_brain_compare(ctx, "b", &b, "a", &a), KN_ERR_SHAPE,
        "b: the brain models differ from those of a; resample the files to the same grayordinates");
    kn_brain_clear(&b);
    assert_sentence(
        ctx, kn_brain_compare(ctx, "b", &b, "a", &a), KN_ERR_SHAPE,
        "b: there are no brain models as in a; resample the files to the same grayordinates");
    assert_ok(ctx, kn_brain_compare(ctx, "a", &a, "b", &b)); /* not kept: nothing to compare */
    assert_ok(ctx, parse(ctx, CIFTI(BRAIN(FIVE)), &b)); /* of no scalars: another kind of matrix */
    assert_true(b.hash == 0 && !b.xml);
    kn_brain_clear(&a);
    kn_ctx_free(ctx);
}

static void bad_xml_is_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *xml, *sentence;
    } cases[] = {
        {"", ": the CIFTI XML is invalid in line 1 (no element found)"},
        {"<CIFTI Version=\"2\"><Matrix>",
         ": the CIFTI XML is invalid in line 1 (no element found)"},
        {"<GIFTI/>", ": its XML is not CIFTI"},
        {"<CIFTI Version=\"1.0\"/>", " is CIFTI version 1.0, but only version 2 is read"},
        {"<CIFTI/>", " is CIFTI version none, but only version 2 is read"},
        {CIFTI(SCALARS), ": its CIFTI XML does not describe its 5 grayordinates"},
        {CIFTI(SCALARS BRAIN(MODEL("0", "3", "0 2 4"))),
         ": its brain models have 3 grayordinates, but the matrix has 5"},
        {CIFTI(SCALARS BRAIN(MODEL("0", "6", "0 1 2 3 4 5"))),
         ": a brain model is outside the 5 grayordinates of the matrix"},
        {CIFTI(SCALARS BRAIN(MODEL("-1", "5", "0 1 2 3 4"))),
         ": a brain model is outside the 5 grayordinates of the matrix"},
        {CIFTI(SCALARS BRAIN(MODEL("0", "99999999999999999999999", "0"))),
         ": a brain model is outside the 5 grayordinates of the matrix"},
        {CIFTI(SCALARS BRAIN(MODEL("0", "5", "0 1 2 3"))),
         ": a brain model of 5 grayordinates lists 4 indices instead of 5"},
        {CIFTI(SCALARS BRAIN(FIVE) BRAIN(FIVE)), ": its CIFTI XML maps one dimension twice"},
        {"<!DOCTYPE x [<!ENTITY a \"b\">]><CIFTI Version=\"2\"/>",
         " declares entities, which are not supported"},
    };
    kn_ctx *ctx = kn_ctx_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sentence[256];
        kn_brain brain;
        snprintf(sentence, sizeof sentence, "x.dscalar.nii%s", cases[i].sentence);
        assert_sentence(ctx, parse(ctx, cases[i].xml, &brain), KN_ERR_FORMAT, sentence);
        assert_null(brain.xml);
    }
    kn_ctx_free(ctx);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    static unsigned char file[IMAGE_ROOM];
    kn_ctx *ctx = kn_ctx_new();
    kn_image image;
    kn_image_writer *w;
    const float values[5] = {1, 2, 3, 4, 5};
    const char *const names[1] = {"a"};
    kn_geometry g = {.dim = {5, 1, 1}};
    kn_image_target target = {
        .geometry = &g, .volumes = 1, .description = "x", .names = names, .brain = BRAIN(FIVE)};
    assert_ok(ctx, kn_image_writer_new(ctx, "a.dscalar.nii", &target, NULL, &w));
    assert_ok(ctx, kn_image_writer_volume(ctx, w, &(kn_volume){values, 1, NULL, 5, 0}));
    assert_ok(ctx, kn_image_writer_commit(ctx, w));
    kn_image_writer_free(w);
    ptrdiff_t n = (ptrdiff_t)scratch_read("a.dscalar.nii", (char *)file, sizeof file);
    assert_ok(ctx, kn_image_open_memory(ctx, "a.dscalar.nii", file, n, &image));
    assert_string_equal(image.brain.xml, BRAIN(FIVE));
    kn_image_clear(&image);
    for (ptrdiff_t cut = 0; cut < n; cut++) {
        assert_int_not_equal(kn_image_open_memory(ctx, "a.dscalar.nii", file, cut, &image), KN_OK);
        assert_true(strlen(kn_message(ctx)) > 10);
    }
    kn_store32(file + KN_NIFTI2_SIZE + 4, 7, KN_BIG_ENDIAN); /* the extension's own size */
    char sentence[128];
    snprintf(sentence, sizeof sentence,
             "a.dscalar.nii: a header extension declares 7 bytes, but %td are there",
             n - 20 - KN_NIFTI2_SIZE - 4);
    assert_sentence(ctx, kn_image_open_memory(ctx, "a.dscalar.nii", file, n, &image), KN_ERR_FORMAT,
                    sentence);
    file[KN_NIFTI2_SIZE] = 0;
    assert_sentence(ctx, kn_image_open_memory(ctx, "a.dscalar.nii", file, n, &image), KN_ERR_FORMAT,
                    "a.dscalar.nii is CIFTI without the XML that describes its grayordinates");
    for (size_t k = 0; k < 8; k++) /* dimensions that CIFTI does not have */
        kn_store64(file + 16 + 8 * k, k == 0 ? 3 : k == 1 ? 5 : 1, KN_BIG_ENDIAN);
    assert_sentence(ctx, kn_image_open_memory(ctx, "a.dscalar.nii", file, n, &image), KN_ERR_FORMAT,
                    "a.dscalar.nii is named as CIFTI, but is another kind of NIfTI file");
    unlink("a.dscalar.nii");
    kn_ctx_free(ctx);
}

/* 7 maps of 5 places in every format, and CIFTI with room for 1, 3 or all of them. */
static void what_is_written_is_read_back(void **state)
{
    (void)state;
    enum { MAPS = 7, PLACES = 5 };
    static const struct {
        const char *name;
        ptrdiff_t memory;
    } cases[] = {{"x.mgh", 0},          {"x.mgz", 0},    {"x.gii", 0},
                 {"x.func.gii", 0},     {"x.gii.gz", 0}, {"x.dscalar.nii", 1},
                 {"x.dscalar.nii", 60}, {"x.nii.gz", 0}, {"x.dscalar.nii", 0}};
    const char *const names[MAPS] = {"a", "b&c", "<d>", "e", "f", "g", "\"h\""};
    static const ptrdiff_t index[3] = {0, 2, 4};
    kn_ctx *ctx = kn_ctx_new();
    kn_nifti_header h = image_header(PLACES, 1, 1);
    kn_geometry g;
    assert_ok(ctx, kn_geometry_of(ctx, "x", &h, &g));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        kn_image_writer *w;
        kn_images *images;
        float values[3], back[MAPS * PLACES];
        kn_image_target target = {.geometry = &g,
                                  .volumes = MAPS,
                                  .description = "x",
                                  .names = names,
                                  .brain = BRAIN(FIVE),
                                  .memory = cases[c].memory,
                                  .side = "rh"};
        assert_ok(ctx, kn_image_writer_new(ctx, cases[c].name, &target, NULL, &w));
        for (int i = 0; i < MAPS; i++) {
            for (int j = 0; j < 3; j++)
                values[j] = (float)(10 * i + j) + 0.125f;
            assert_ok(ctx, kn_image_writer_volume(ctx, w, &(kn_volume){values, 1, index, 3, -1}));
        }
        assert_int_equal(kn_image_writer_volume(ctx, w, &(kn_volume){values, 1, index, 3, -1}),
                         KN_ERR_ARGUMENT);
        assert_ok(ctx, kn_image_writer_commit(ctx, w));
        kn_image_writer_free(w);
        assert_ok(ctx, kn_images_open(ctx, cases[c].name, 0, &images));
        assert_int_equal(kn_images_count(images), MAPS);
        assert_string_equal(kn_images_part(images, 0)->ending, cases[c].name + 1);
        assert_ok(ctx, kn_geometry_compare(ctx, "x", kn_images_geometry(images), "y", &g));
        assert_ok(ctx, kn_images_read(ctx, images, NULL, PLACES, back));
        for (int i = 0; i < MAPS; i++)
            for (int j = 0; j < PLACES; j++) {
                float expected = j % 2 ? -1 : (float)(10 * i + j / 2) + 0.125f;
                assert_true(back[i * PLACES + j] == expected);
            }
        kn_images_free(images);
        unlink(cases[c].name);
    }
    kn_ctx_free(ctx);
}

/* Two hemispheres opened and read, and a map of each format written, while the k-th allocation
 * fails.
 */
static kn_status much(kn_ctx *ctx, const kn_geometry *g, const char *name)
{
    kn_write_options force = {.force = true};
    const char *const names[2] = {"a", "b"};
    float values[20] = {0};
    static const ptrdiff_t index[4] = {0, 4, 5, 9};
    kn_image_target target = {.geometry = g,
                              .volumes = 2,
                              .description = "x",
                              .names = names,
                              .brain = BRAIN(FIVE),
                              .side = "lh"};
    kn_image_writer *w = NULL;
    kn_images *images = NULL;
    kn_space space = {.parts = 2};
    kn_status status;
    KN_TRY(kn_image_writer_new(ctx, name, &target, &force, &w));
    for (int i = 0; i < 2; i++)
        KN_TRY(kn_image_writer_volume(ctx, w, &(kn_volume){values, 1, NULL, 5, 0}));
    KN_TRY(kn_image_writer_commit(ctx, w));
    char both[64];
    snprintf(both, sizeof both, "%s,%s", name, name);
    KN_TRY(kn_images_open(ctx, both, 0, &images));
    for (int k = 0; k < 2; k++)
        KN_TRY(kn_image_part_copy(ctx, kn_images_part(images, k), &space.part[k]));
    KN_TRY(kn_images_read(ctx, images, index, 4, values));
out:
    kn_space_clear(&space);
    kn_images_free(images);
    kn_image_writer_free(w);
    return status;
}

/* MGH has its own way to say where an image is. */
static void an_mgh_volume_keeps_its_place(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_nifti_header h = image_header(4, 3, 2);
    double turned[3][4] = {{0, -1.5, 0.2, 7}, {2, 0, 0, -3}, {0, 0.3, 1, 11}};
    memcpy(h.srow, turned, sizeof turned);
    kn_geometry g;
    kn_image image;
    kn_image_writer *w;
    float values[24] = {0};
    assert_ok(ctx, kn_geometry_of(ctx, "x", &h, &g));
    kn_image_target target = {.geometry = &g, .volumes = 0, .description = "x"};
    assert_ok(ctx, kn_image_writer_new(ctx, "x.mgz", &target, NULL, &w));
    assert_ok(ctx, kn_image_writer_volume(ctx, w, &(kn_volume){values, 1, NULL, 24, 0}));
    assert_ok(ctx, kn_image_writer_commit(ctx, w));
    kn_image_writer_free(w);
    assert_ok(ctx, kn_image_open(ctx, "x.mgz", &image));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            assert_true(fabs(image.geometry.affine[i][j] - g.affine[i][j]) < 1e-5);
    kn_image_clear(&image);
    unlink("x.mgz");
    kn_ctx_free(ctx);
}

static void sides_are_known_by_name(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"lh.thickness.mgh", "lh"},
                                           {"a/rh.thickness.mgh", "rh"},
                                           {"s1.lh.mgz", "lh"},
                                           {"s1_rh.gii", "rh"},
                                           {"sub-1_hemi-L_x.gii", "lh"},
                                           {"x_hemi-R.gii", "rh"},
                                           {"100.L.thickness.gii", "lh"},
                                           {"100.R.gii", "rh"},
                                           {"rh/x.mgh", ""},
                                           {"L.mgh", ""},
                                           {"x_R_y.gii", ""},
                                           {"lh.rh.mgh", ""},
                                           {"mylh.mgh", ""},
                                           {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(kn_image_side(cases[i][0]), cases[i][1]) != 0)
            fail_msg("%s: %s", cases[i][0], kn_image_side(cases[i][0]));
}

static void names_are_text_of_xml(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    char *text;
    assert_ok(ctx,
              kn_xml_text(ctx, "a<b>&\"\x1b\x7f caf\xc3\xa9 \xff\xc0\x80 \xed\xa0\x80", &text));
    assert_string_equal(text, "a&lt;b&gt;&amp;\"?\x7f caf\xc3\xa9 ??? ???");
    kn_free(text);
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

FAILING_CASE(io_surfaces, scratch_enter, scratch_leave)
{
    static const char *const names[] = {"x.mgz", "x.gii", "x.dscalar.nii"};
    kn_nifti_header h = image_header(5, 1, 1);
    kn_geometry g;
    for (int f = 0; f < 3; f++)
        for (long k = 1;; k++) {
            kn_ctx *ctx = kn_ctx_new();
            assert_ok(ctx, kn_geometry_of(ctx, "x", &h, &g));
            kn_fail_allocation(ctx, k);
            kn_status status = much(ctx, &g, names[f]);
            assert_true(status == KN_OK || status == KN_ERR_MEMORY);
            if (status != KN_OK)
                assert_true(strlen(kn_message(ctx)) > 10);
            kn_ctx_free(ctx);
            if (status == KN_OK)
                break;
            assert_true(k < 1000);
        }
    for (int f = 0; f < 3; f++)
        unlink(names[f]);
}

TEST_PROGRAM(io_surfaces)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brain_models_differ_by_their_content),
        cmocka_unit_test(bad_xml_is_a_sentence),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(an_mgh_volume_keeps_its_place),
        cmocka_unit_test(sides_are_known_by_name),
        cmocka_unit_test(names_are_text_of_xml),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
