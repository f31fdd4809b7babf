#include "io/formats/internal.h"

#include "support/failing.h"
#include "support/images.h"

/* Made files: big-endian numbers and texts, one behind the other. */
static unsigned char file[4096];
static size_t size;

static void number(long x)
{
    kn_store32(file + size, (uint32_t)x, !KN_BIG_ENDIAN);
    size += 4;
}

static void text(const char *s)
{
    const size_t n = strlen(s) + 1; /* FreeSurfer counts the 0 */
    number((long)n);
    memcpy(file + size, s, n);
    size += n;
}

enum { RED = 255, INSULA = 32 + (192 << 8) + (255 << 16), VERTICES = 5 };

/* Vertices in any order; one is left out, one has a colour that the table lacks. */
static void begin(void)
{
    static const long pair[VERTICES][2] = {
        {3, INSULA}, {0, RED}, {1, INSULA}, {4, 77}, {1, INSULA}};
    size = 0;
    number(VERTICES);
    for (int i = 0; i < VERTICES; i++) {
        number(pair[i][0]);
        number(pair[i][1]);
    }
}

static void entry(long place, const char *name, long colour)
{
    if (place >= 0)
        number(place);
    text(name);
    number(colour & 255);
    number(colour >> 8 & 255);
    number(colour >> 16 & 255);
    number(0);
}

static void first_version(void)
{
    begin();
    number(1);
    number(2);
    text("/some/colours.txt");
    entry(-1, "unknown", RED);
    entry(-1, "insula", INSULA);
}

static void second_version(void)
{
    begin();
    number(1);
    number(-2);
    number(36); /* places are sparse */
    text("/some/colours.txt");
    number(2);
    entry(0, "unknown", RED);
    entry(35, "insula", INSULA);
}

static kn_status parse(kn_ctx *ctx, size_t n, kn_vertex_labels *out)
{
    const kn_byte_source source = kn_byte_source_of("lh.annot", file, (ptrdiff_t)n);
    return kn_annot_read_source(ctx, &source, out);
}

static void check(const kn_vertex_labels *l)
{
    static const ptrdiff_t region[VERTICES] = {0, 1, -1, 1, -1};
    assert_int_equal(l->vertices, VERTICES);
    assert_int_equal(l->count, 2);
    assert_string_equal(l->name[0], "unknown");
    assert_string_equal(l->name[1], "insula");
    assert_memory_equal(l->region, region, sizeof region);
}

static void both_versions_give_the_same_labels(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int version = 1; version <= 2; version++) {
        kn_vertex_labels l;
        (version == 1 ? first_version : second_version)();
        assert_ok(ctx, parse(ctx, size, &l));
        check(&l);
        kn_vertex_labels_clear(&l);
        scratch_file("lh.aparc.annot", file, size);
        assert_ok(ctx, kn_vertex_labels_read(ctx, "lh.aparc.annot", &l));
        check(&l);
        kn_vertex_labels_clear(&l);
    }
    kn_ctx_free(ctx);
}

/* Whatever is missing at the end is a sentence, and no byte beyond it is looked at (the sanitiser
 * would see: the bytes are in a block of their own). */
static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    for (int version = 1; version <= 2; version++) {
        (version == 1 ? first_version : second_version)();
        for (size_t n = 0; n < size; n++) {
            kn_vertex_labels l;
            unsigned char *part = malloc(n > 0 ? n : 1);
            memcpy(part, file, n);
            const kn_byte_source source = kn_byte_source_of("lh.annot", part, (ptrdiff_t)n);
            assert_refused(ctx, kn_annot_read_source(ctx, &source, &l), KN_ERR_FORMAT,
                           "lh.annot ends within its ");
            assert_null(l.region);
            free(part);
        }
    }
    kn_ctx_free(ctx);
}

static void refuse(const char *sentence)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_vertex_labels l;
    assert_sentence(ctx, parse(ctx, size, &l), KN_ERR_FORMAT, sentence);
    assert_null(l.region);
    kn_ctx_free(ctx);
}

static void lies_are_sentences(void **state)
{
    (void)state;
    begin();
    number(0);
    refuse("lh.annot has no colour table, which contains the names of regions");
    begin();
    number(1);
    number(-3);
    refuse("lh.annot: the colour table has version 3, but must have version 1 or 2");
    first_version();
    kn_store32(file + 4, 5, !KN_BIG_ENDIAN); /* the first vertex */
    refuse("lh.annot refers to vertex 5, but the vertices are 0 to 4");
    static const char *const CUT =
        "lh.annot ends within its colour table; the file is incomplete, or is not an annotation";
    static const long sizes[] = {-1, 1L << 24, 0x7fffffff};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        begin(); /* more names than bytes */
        number(1);
        number(-2);
        number(1);
        text("x");
        number(sizes[i]);
        refuse(CUT);
        begin(); /* a longer text than bytes */
        number(1);
        number(1);
        number(sizes[i]);
        refuse(CUT);
        first_version(); /* more vertices than bytes */
        kn_store32(file, (uint32_t)sizes[i], !KN_BIG_ENDIAN);
        refuse("lh.annot ends within its list of vertices; the file is incomplete, or is not an "
               "annotation");
    }
}

/* ---- GIFTI
 * --------------------------------------------------------------------------------------- */

#define GII(TABLE, ARRAYS)                                                                         \
    "<?xml version=\"1.0\"?><GIFTI Version=\"1.0\"><LabelTable>" TABLE "</LabelTable>" ARRAYS      \
    "</GIFTI>"
#define ARRAY(INTENT, TYPE, DIMS, DATA)                                                            \
    "<DataArray Intent=\"" INTENT "\" DataType=\"" TYPE "\" " DIMS                                 \
    " Encoding=\"ASCII\" Endian=\"LittleEndian\" ArrayIndexingOrder=\"RowMajorOrder\"><Data>" DATA \
    "</Data></DataArray>"
#define LABELS                                                                                     \
    ARRAY("NIFTI_INTENT_LABEL", "NIFTI_TYPE_INT32", "Dimensionality=\"1\" Dim0=\"4\"", "7 0 -3 9")
#define TABLE                                                                                      \
    "<Label Key=\"0\" Red=\"0\">?\?\?</Label><Label Key=\"7\"><![CDATA[L_G&S_x]]></Label>"         \
    "<Label Key=\"-3\">R &amp; D</Label><Label Key=\"x\">no number</Label><Label "                 \
    "Key=\"7\">again</Label>"

static void gifti_labels_have_names(void **state)
{
    (void)state;
    static const char *const texts[] = {GII(TABLE, LABELS),
                                        GII(TABLE,
                                            ARRAY("NIFTI_INTENT_SHAPE", "NIFTI_TYPE_FLOAT32",
                                                  "Dimensionality=\"1\" Dim0=\"1\"", "1") LABELS)};
    static unsigned char packed[IMAGE_ROOM];
    kn_ctx *ctx = kn_ctx_new();
    for (int i = 0; i < 4; i++) {
        kn_vertex_labels l;
        const char *name = i < 2 ? "lh.x.label.gii" : "lh.x.label.gii.gz", *gii = texts[i % 2];
        if (i < 2)
            scratch_text(name, gii);
        else
            scratch_file(name, packed, image_gzip((const unsigned char *)gii, strlen(gii), packed));
        assert_ok(ctx, kn_vertex_labels_read(ctx, name, &l));
        assert_int_equal(l.vertices, 4);
        assert_int_equal(l.count, 4);
        assert_string_equal(l.name[l.region[0]], "L_G&S_x");
        assert_string_equal(l.name[l.region[1]], "???");
        assert_string_equal(l.name[l.region[2]], "R & D");
        assert_int_equal(l.region[3], -1);
        kn_vertex_labels_clear(&l);
    }
    kn_ctx_free(ctx);
}

static void refuse_gii(const char *gii, const char *sentence)
{
    kn_ctx *ctx = kn_ctx_new();
    kn_vertex_labels l;
    scratch_text("x.label.gii", gii);
    assert_sentence(ctx, kn_vertex_labels_read(ctx, "x.label.gii", &l), KN_ERR_FORMAT, sentence);
    assert_null(l.region);
    kn_ctx_free(ctx);
}

static void what_has_no_labels_is_a_sentence(void **state)
{
    (void)state;
    kn_ctx *ctx = kn_ctx_new();
    kn_vertex_labels l;
    refuse_gii(GII("", LABELS),
               "x.label.gii has no label table, but labels of vertices and their names are needed");
    refuse_gii(GII(TABLE, ""),
               "x.label.gii has no data arrays, but labels of vertices and their names are needed");
    refuse_gii(GII(TABLE, ARRAY("NIFTI_INTENT_SHAPE", "NIFTI_TYPE_FLOAT32",
                                "Dimensionality=\"1\" Dim0=\"1\"", "1")),
               "x.label.gii: its labels are 1 x 1 of float32; there must be one int32 per vertex");
    scratch_text("x.txt", "1");
    assert_sentence(ctx, kn_vertex_labels_read(ctx, "x.txt", &l), KN_ERR_FORMAT,
                    "x.txt is not a label file (.label.gii or .annot)");
    kn_ctx_free(ctx);
}

/* ---- failing allocations: cases of base_failing_allocations ---- */

/* The k-th allocation fails: a sentence, and nothing is left (the sanitiser would see). */
FAILING_CASE(io_annot, scratch_enter, scratch_leave)
{
    scratch_text("x.label.gii", GII(TABLE, LABELS));
    first_version();
    scratch_file("x.annot", file, size);
    static const char *const names[] = {"x.label.gii", "x.annot"};
    for (int f = 0; f < 2; f++) {
        kn_status status = KN_ERR_MEMORY;
        for (long k = 1; status != KN_OK && k < 100; k++) {
            kn_ctx *ctx = kn_ctx_new();
            kn_vertex_labels l;
            kn_fail_allocation(ctx, k);
            status = kn_vertex_labels_read(ctx, names[f], &l);
            assert_true(status == KN_OK || (status == KN_ERR_MEMORY && !l.region && !l.name));
            kn_vertex_labels_clear(&l);
            kn_ctx_free(ctx);
        }
        assert_int_equal(status, KN_OK);
    }
}

TEST_PROGRAM(io_annot)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_give_the_same_labels),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(lies_are_sentences),
        cmocka_unit_test(gifti_labels_have_names),
        cmocka_unit_test(what_has_no_labels_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
