#include "report/compute/compute.h"

#include "report/pictures/internal.h"
#include "support/images.h"

/* A material made by hand: what kn_compute_space takes of it. */
typedef struct page {
    kn_ctx *ctx;
    kn_report_input m;
    kn_settings s;
    kn_report r;
} page;

static void begin(page *p)
{
    *p = (page){.ctx = kn_ctx_new()};
    kn_settings_init(&p->s);
}

static void end(page *p)
{
    for (int k = 0; k < p->r.space.meshes; k++)
        kn_surface_clear(&p->r.space.mesh[k].surface);
    kn_arena_clear(&p->r.arena);
    kn_ctx_free(p->ctx);
}

static kn_status compute(page *p)
{
    const kn_report_job job = {.m = &p->m, .s = &p->s, .r = &p->r};
    return kn_compute_space(p->ctx, &job);
}

/* ---- volumes
 * ------------------------------------------------------------------------------------- */

enum { NX = 4, NY = 5, NZ = 3, VOXELS = NX * NY * NZ };
static ptrdiff_t voxel[VOXELS];
static double y_mean[VOXELS];

/* 2 mm voxels from (-10, -20, -30) on; every second one is a response. */
static void volume(page *p)
{
    const kn_nifti_header h = image_header(NX, NY, NZ);
    begin(p);
    p->m.space.kind = KN_SPACE_IMAGE;
    p->m.space.parts = 1;
    assert_ok(p->ctx, kn_geometry_of(p->ctx, "x", &h, &p->m.space.geometry));
    p->m.space.part[0].geometry = p->m.space.geometry;
    p->m.T = p->m.space.T = VOXELS / 2;
    for (ptrdiff_t t = 0; t < p->m.T; t++) {
        voxel[t] = 2 * t;
        y_mean[t] = 100 + (double)t;
    }
    p->m.space.voxel = voxel;
    p->m.y_mean = y_mean;
}

static void the_mean_map_is_the_ground(void **state)
{
    (void)state;
    page p;
    volume(&p);
    y_mean[3] = NAN;
    assert_ok(p.ctx, compute(&p));
    const kn_report_space *s = &p.r.space;
    assert_int_equal(s->kind, KN_REPORT_VOLUME);
    assert_int_equal(s->dim[1], NY);
    assert_true(s->affine[0][0] == 2 && s->affine[2][3] == -30);
    assert_memory_equal(s->voxel, voxel, (size_t)p.m.T * sizeof *voxel);
    assert_int_equal(s->background[1], 0); /* no response */
    assert_int_equal(s->background[6], 0); /* not known */
    assert_int_equal(s->background[0], 1);
    assert_int_equal(s->background[2 * 29], 255);
    for (ptrdiff_t t = 5; t < p.m.T; t++)
        assert_true(s->background[2 * t] >= s->background[2 * t - 2]);
    end(&p);
    volume(&p); /* cv has no mean map */
    p.m.y_mean = NULL;
    assert_ok(p.ctx, compute(&p));
    assert_true(p.r.space.background[0] == 128 && p.r.space.background[1] == 0);
    end(&p);
}

/* A background of 1 mm voxels with another orientation and another origin: values are found by mm.
 */
static void backgrounds_are_found_through_affines(void **state)
{
    (void)state;
    enum { M = 16 };
    static float value[M * M * M];
    page p;
    kn_nifti_header h = image_header(M, M, M);
    const double srow[3][4] = {{-1, 0, 0, 2},
                               {0, 0, 1, -22},
                               {0, 1, 0, -33}}; /* x reversed, y and z swapped */
    memcpy(h.srow, srow, sizeof srow);
    for (int i = 0; i < M * M * M; i++) /* the value is x in mm + 100 */
        value[i] = (float)(100 + 2 - i % M);
    image_file("bg.nii", &h, 0, value, M * M * M);
    volume(&p);
    p.s.background = "bg.nii";
    assert_ok(p.ctx, compute(&p));
    for (ptrdiff_t v = 0; v < VOXELS; v++) {
        const double x = -10 + 2 * (double)(v % NX); /* of responses -10 and -6 */
        assert_int_equal(p.r.space.background[v],
                         (int)fmax(1, fmin(255, round(255 * (x + 10) / 4))));
    }
    end(&p);
    h.srow[0][3] = 500;
    image_file("far.nii", &h, 0, value, M * M * M);
    volume(&p);
    p.s.background = "far.nii";
    assert_sentence(
        p.ctx, compute(&p), KN_ERR_SHAPE,
        "far.nii does not overlap the maps: it contains none of their 30 voxels; give an image "
        "in the space of the responses");
    end(&p);
    h.srow[0][3] = 2;
    h.srow[0][0] = 0;
    image_file("flat.nii", &h, 0, value, M * M * M);
    volume(&p);
    p.s.background = "flat.nii";
    assert_sentence(p.ctx, compute(&p), KN_ERR_FORMAT,
                    "flat.nii: its affine is singular, so its voxels have no position");
    end(&p);
}

/* ---- surfaces
 * ------------------------------------------------------------------------------------ */

#define ARRAY(INTENT, TYPE, DIMS, DATA)                                                            \
    "<DataArray Intent=\"NIFTI_INTENT_" INTENT "\" DataType=\"NIFTI_TYPE_" TYPE "\" " DIMS         \
    " Encoding=\"ASCII\" Endian=\"LittleEndian\" ArrayIndexingOrder=\"RowMajorOrder\"><Data>" DATA \
    "</Data></DataArray>"
#define GII(TABLE, ARRAYS)                                                                         \
    "<GIFTI Version=\"1.0\"><LabelTable>" TABLE "</LabelTable>" ARRAYS "</GIFTI>"
#define ROWS(N, M) "Dimensionality=\"2\" Dim0=\"" N "\" Dim1=\"" M "\""
#define FLAT(N)    "Dimensionality=\"1\" Dim0=\"" N "\""
#define LEFT                                                                                       \
    GII("", ARRAY("POINTSET", "FLOAT32", ROWS("4", "3"), "-40 0 0 -30 10 0 -30 0 10 -20 -10 -10")  \
                ARRAY("TRIANGLE", "INT32", ROWS("2", "3"), "0 1 2 1 2 3"))
#define RIGHT                                                                                      \
    GII("", ARRAY("POINTSET", "FLOAT32", ROWS("3", "3"), "40 0 0 30 10 0 30 0 10")                 \
                ARRAY("TRIANGLE", "INT32", ROWS("1", "3"), "0 1 2"))

static void surface_files(void)
{
    static unsigned char packed[IMAGE_ROOM];
    scratch_text("lh.gii", LEFT);
    scratch_file("rh.gii.gz", packed,
                 image_gzip((const unsigned char *)RIGHT, strlen(RIGHT), packed));
    scratch_text("one.gii", LEFT);
    scratch_text("two.gii", RIGHT);
    scratch_text("lh.sulc.gii", GII("", ARRAY("SHAPE", "FLOAT32", FLAT("4"), "1 2 3 4")));
    scratch_text("rh.sulc.gii", GII("", ARRAY("SHAPE", "FLOAT32", FLAT("3"), "5 6 7")));
    scratch_text("lh.label.gii", GII("<Label Key=\"0\">unknown</Label><Label "
                                     "Key=\"1\">insula</Label><Label Key=\"2\">cuneus</Label>",
                                     ARRAY("LABEL", "INT32", FLAT("4"), "1 0 2 1")));
    scratch_text("rh.label.gii", GII("<Label Key=\"1\">insula</Label>",
                                     ARRAY("LABEL", "INT32", FLAT("3"), "1 1 8")));
}

static ptrdiff_t vertex[7] = {0, 2, 3, 4, 6};

/* 4 vertices of the left, then 3 of the right; 1 and 5 are no responses. parts 1: in one file. */
static void vertices(page *p, int parts, const char *first)
{
    begin(p);
    p->m.space.kind = KN_SPACE_IMAGE;
    p->m.space.parts = parts;
    p->m.space.geometry.dim[0] = 7;
    p->m.space.part[0].geometry.dim[0] = parts == 1 ? 7 : strcmp(first, "rh") == 0 ? 3 : 4;
    p->m.space.part[1].geometry.dim[0] = 7 - p->m.space.part[0].geometry.dim[0];
    for (int i = 1; i < 3; i++)
        p->m.space.geometry.dim[i] = p->m.space.part[0].geometry.dim[i] =
            p->m.space.part[1].geometry.dim[i] = 1;
    snprintf(p->m.space.part[0].side, KN_SIDE_SIZE, "%s", first);
    p->m.T = p->m.space.T = 5;
    p->m.space.voxel = vertex;
    p->s.surface = "lh.gii,rh.gii.gz";
}

static void vertices_know_their_responses(void **state)
{
    (void)state;
    static const ptrdiff_t left[4] = {0, -1, 1, 2}, right[3] = {3, -1, 4};
    static const ptrdiff_t turned_right[3] = {0, -1, 1}, turned_left[4] = {2, 3, -1, 4};
    page p;
    for (int k = 0; k < 4; k++) {
        vertices(&p, k == 0 ? 1 : 2, k == 1 ? "lh" : k == 3 ? "rh" : k == 2 ? "1" : "");
        p.s.sulc = k == 1 ? "lh.sulc.gii,rh.sulc.gii" : NULL;
        p.s.surface = k == 2 ? "one.gii,two.gii" : p.s.surface;
        assert_ok(p.ctx, compute(&p));
        const kn_report_space *s = &p.r.space;
        assert_int_equal(s->kind, KN_REPORT_SURFACE);
        assert_int_equal(s->meshes, 2);
        assert_true(s->mesh[0].side == 0 && s->mesh[1].side == 1);
        assert_memory_equal(s->mesh[0].response, k == 3 ? turned_left : left, sizeof left);
        assert_memory_equal(s->mesh[1].response, k == 3 ? turned_right : right, sizeof right);
        if (k == 1)
            assert_true(s->mesh[0].sulc[3] == 4 && s->mesh[1].sulc[0] == 5);
        else
            assert_null(s->mesh[0].sulc);
        end(&p);
    }
    vertices(&p, 1, ""); /* one hemisphere: where it lies says which */
    p.m.space.geometry.dim[0] = p.m.space.part[0].geometry.dim[0] = 3;
    p.m.T = 2;
    p.s.surface = "two.gii";
    assert_ok(p.ctx, compute(&p));
    assert_int_equal(p.r.space.mesh[0].side, 1);
    end(&p);
    vertices(&p, 1, ""); /* without a surface they are a table */
    p.s.surface = NULL;
    assert_ok(p.ctx, compute(&p));
    assert_int_equal(p.r.space.kind, KN_REPORT_TABLE_SPACE);
    assert_non_null(strstr(p.r.space.surface_note, "--surface LEFT.gii,RIGHT.gii"));
    end(&p);
}

static void cifti_places_are_vertices(void **state)
{
    (void)state;
    static char xml[] =
        "<MatrixIndicesMap AppliesToMatrixDimension=\"1\" "
        "IndicesMapToDataType=\"CIFTI_INDEX_TYPE_BRAIN_MODELS\">"
        "<BrainModel IndexOffset=\"0\" IndexCount=\"3\" "
        "BrainStructure=\"CIFTI_STRUCTURE_CORTEX_RIGHT\" "
        "SurfaceNumberOfVertices=\"3\"><VertexIndices>2 0\n1</VertexIndices></BrainModel>"
        "<BrainModel IndexOffset=\"3\" IndexCount=\"4\" "
        "BrainStructure=\"CIFTI_STRUCTURE_CORTEX_LEFT\" "
        "SurfaceNumberOfVertices=\"4\"><VertexIndices>0 1 3 "
        "2</VertexIndices></BrainModel></MatrixIndicesMap>";
    static const ptrdiff_t left[4] = {2, 3, 4, -1}, right[3] = {-1, 1, 0}; /* vertex: 0 2 3 4 6 */
    page p;
    vertices(&p, 1, "");
    p.m.space.part[0].brain.xml = xml;
    assert_ok(p.ctx, compute(&p));
    assert_memory_equal(p.r.space.mesh[0].response, left, sizeof left);
    assert_memory_equal(p.r.space.mesh[1].response, right, sizeof right);
    end(&p);
    char *seen = strstr(xml, "0 1 3 2"); /* lies of the model's own XML are sentences too */
    seen[4] = '9';
    vertices(&p, 1, "");
    p.m.space.part[0].brain.xml = xml;
    assert_refused(p.ctx, compute(&p), KN_ERR_FORMAT, "a brain model lists vertex 9 as its 3 of 4");
    end(&p);
    strstr(xml, "Vertices=\"4\"")[10] = '8';
    vertices(&p, 1, "");
    p.m.space.part[0].brain.xml = xml;
    assert_sentence(p.ctx, compute(&p), KN_ERR_SHAPE,
                    "the model: its left cortex has 8 vertices, but the surface has 4");
    end(&p);
}

static void regions_are_put_on_surfaces(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"rh_insula_area", "lh_insula_area", "lh_cuneus_area",
                                        "rh_cuneus_area"};
    static const ptrdiff_t left[4] = {1, -1, 2, 1}, right[3] = {0, 0, -1};
    page p;
    begin(&p);
    p.m.space.kind = KN_SPACE_TABLE;
    p.m.T = 4;
    p.m.name = NAMES;
    p.s.surface = "lh.gii,rh.gii.gz";
    p.s.labels = "lh.label.gii,rh.label.gii";
    assert_ok(p.ctx, compute(&p));
    const kn_report_space *s = &p.r.space;
    assert_int_equal(s->kind, KN_REPORT_SURFACE);
    assert_memory_equal(s->mesh[0].response, left, sizeof left);
    assert_memory_equal(s->mesh[1].response, right, sizeof right);
    assert_int_equal(s->unmatched, 1);
    assert_string_equal(s->surface_note,
                        "1 of 4 responses has no region on the surface and is not drawn there: "
                        "rh_cuneus_area.");
    assert_int_equal(p.r.good.n, 0); /* it is neither fine nor a warning */
    assert_int_equal(p.r.warnings.n, 0);
    assert_string_equal(s->atlas, "Desikan-Killiany");
    assert_string_equal(s->measure, "area");
    assert_string_equal(s->mesh[1].region[1], "right insula");
    end(&p);
}

static void refuse_table(const char *surface, const char *labels, const char *sulc,
                         kn_status status, const char *sentence)
{
    static const char *const NAMES[] = {"a", "b"};
    page p;
    begin(&p);
    p.m.space.kind = KN_SPACE_TABLE;
    p.m.T = 2;
    p.m.name = NAMES;
    p.s.surface = surface;
    p.s.labels = labels;
    p.s.sulc = sulc;
    assert_sentence(p.ctx, compute(&p), status, sentence);
    end(&p);
}

static void what_does_not_fit_is_a_sentence(void **state)
{
    (void)state;
    page p;
    refuse_table("lh.gii,rh.gii.gz", "lh.label.gii,rh.label.gii", NULL, KN_ERR_DATA,
                 "lh.label.gii,rh.label.gii: no region is a response; regions have names such as "
                 "'cuneus', but responses such as 'a'; use labels of the same atlas");
    refuse_table("lh.gii,rh.gii.gz", NULL, NULL, KN_ERR_SHAPE,
                 "lh.gii,rh.gii.gz has 7 vertices in all, but the responses have 2 (a table of "
                 "regions needs {labels})");
    refuse_table("lh.gii,rh.gii.gz", "rh.label.gii,lh.label.gii", NULL, KN_ERR_SHAPE,
                 "rh.label.gii has labels of 3 vertices, but its surface has 4");
    refuse_table("lh.gii,rh.gii.gz", "lh.label.gii", NULL, KN_ERR_ARGUMENT,
                 "{labels} names 1 file, but {surface} 2");
    refuse_table("lh.gii", NULL, "lh.sulc.gii,rh.sulc.gii", KN_ERR_ARGUMENT,
                 "{sulc} names 2 files, but {surface} 1");
    refuse_table("lh.gii", NULL, "rh.sulc.gii", KN_ERR_SHAPE,
                 "rh.sulc.gii has 3 values, but its surface has 4 vertices");
    refuse_table(NULL, "lh.label.gii", NULL, KN_ERR_ARGUMENT,
                 "{labels} also needs {surface}, with the surfaces that it belongs to");
    refuse_table("two.gii,one.gii", NULL, NULL, KN_ERR_DATA,
                 "two.gii is the right hemisphere, but {surface} needs the left one first, then "
                 "the right one");
    refuse_table("lh.gii,", NULL, NULL, KN_ERR_ARGUMENT,
                 "{surface} is 'lh.gii,', but must be LEFT,RIGHT or one file");
    vertices(&p, 2, "lh");
    p.s.surface = "lh.gii,lh.gii";
    assert_sentence(p.ctx, compute(&p), KN_ERR_DATA,
                    "lh.gii is the left hemisphere, but {surface} needs the left one first, then "
                    "the right one");
    end(&p);
    vertices(&p, 2, "lh");
    p.m.space.part[1].geometry.dim[0] = 9;
    p.m.space.geometry.dim[0] = 13;
    assert_sentence(p.ctx, compute(&p), KN_ERR_SHAPE,
                    "rh.gii.gz has 3 vertices, but the right hemisphere of the responses has 9");
    end(&p);
    vertices(&p, 2, "lh");
    p.s.surface = "lh.gii";
    assert_refused(p.ctx, compute(&p), KN_ERR_SHAPE, "needs two surfaces");
    end(&p);
    volume(&p);
    p.s.surface = "lh.gii";
    assert_refused(p.ctx, compute(&p), KN_ERR_ARGUMENT,
                   "{surface} is for responses that are vertices");
    end(&p);
    vertices(&p, 1, "");
    p.s.surface = NULL;
    p.s.background = "bg.nii";
    assert_sentence(p.ctx, compute(&p), KN_ERR_ARGUMENT,
                    "{background} is for responses that are voxels of a volume; omit it");
    end(&p);
}

/* ---- a real template, where it is there
 * ---------------------------------------------------------- */

static void a_template_is_drawn(void **state)
{
    (void)state;
    char folder[1024], left[1100], surface[2200], sulc[2200];
    snprintf(folder, sizeof folder, "%s/../../shared/data/fsaverage5_surfaces", getenv("KN_TESTS"));
    snprintf(left, sizeof left, "%s/pial_left.gii.gz", folder);
    snprintf(surface, sizeof surface, "%s,%s/pial_right.gii.gz", left, folder);
    snprintf(sulc, sizeof sulc, "%s/sulc_left.gii.gz,%s/sulc_right.gii.gz", folder, folder);
    page p;
    kn_picture_tables out = {0};
    if (access(left, R_OK) != 0) {
        print_message("# skipped: there is no %s\n", left);
        return;
    }
    begin(&p);
    p.m.T = 20484;
    p.s.surface = surface;
    p.s.sulc = sulc;
    assert_ok(p.ctx, compute(&p));
    assert_ok(p.ctx, kn_raster_build(p.ctx, &p.r.space, p.m.T, &out));
    ptrdiff_t wrong = 0, seen = 0;
    for (ptrdiff_t i = 0; i < out.whole.width * out.whole.height; i++) {
        const ptrdiff_t t = out.whole.response[i];
        if (t < 0)
            continue;
        const double *x = p.r.space.mesh[t >= 10242].surface.xyz + 3 * (t % 10242);
        const bool on_left = i % out.whole.width < out.whole.width / 2;
        seen++;
        wrong += on_left != (t < 10242) || (on_left ? x[0] > 2 : x[0] < -2);
    }
    assert_true(seen > out.whole.width * out.whole.height / 2);
    assert_int_equal(wrong, 0);
    kn_arena_clear(&out.arena);
    end(&p);
}

static int enter(void **state)
{
    int failed = scratch_enter(state);
    if (!failed)
        surface_files();
    return failed;
}

TEST_PROGRAM(report_space)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_map_is_the_ground),
        cmocka_unit_test(backgrounds_are_found_through_affines),
        cmocka_unit_test(vertices_know_their_responses),
        cmocka_unit_test(cifti_places_are_vertices),
        cmocka_unit_test(regions_are_put_on_surfaces),
        cmocka_unit_test(what_does_not_fit_is_a_sentence),
        cmocka_unit_test(a_template_is_drawn),
    };
    return cmocka_run_group_tests(tests, enter, scratch_leave);
}
